/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_source.h - a source that comes in bursts, loses, falls silent, fails or ends, as a script says
 *
 *   fake_source_script = ...; session_config.source_ops = &fake_source_ops, source_name = "fake:"
 *
 * Its bytes are the simulator's pattern (drivers/sim.h): any piece of the stream tells whether it is the right one.
 * Threads: the script is set before the source is opened and belongs to the reader until it is closed.
 */
#ifndef VSIB_TESTS_FAKE_SOURCE_H
#define VSIB_TESTS_FAKE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/source.h"

struct fake_source_script {
	uint64_t seed;           /* of the pattern and of all chance */
	uint64_t bytes;          /* stream bytes until it ends (SOURCE_END); 0 = endless */
	uint64_t error_at;       /* at this position it fails with EIO; 0 = never */
	size_t piece_max;        /* a read gives 1 .. piece_max bytes; 0 = all that is asked for */
	unsigned loss_one_in;    /* one read in so many comes behind a loss; 0 = none */
	size_t loss_max;         /* of 1 .. loss_max bytes */
	unsigned discard_one_in; /* one read in so many threw something away; 0 = none */
	size_t discard_max;      /* 1 .. discard_max bytes, which have no place in the stream */
	size_t loss_at_end;      /* lost behind the last bytes */
	unsigned idle_one_in;    /* one read in so many has nothing yet */
	int64_t pause_ns;        /* before each read */
	int64_t start_ns;        /* the start takes so long, and is interruptible */
	int start_error;         /* errno */
	bool is_silent;          /* never gives anything */
	uint64_t device_bytes; /* it has a ring of its own, with so many bytes in it when it is stopped */
	bool can_wait;
	uint64_t rate_bps; /* as told; it does not pace */
	size_t frame_bytes;
};

extern struct fake_source_script fake_source_script;
extern const struct source_ops fake_source_ops;

#endif
