/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial_control.h - what a phase and whoever runs it tell each other while it runs
 *
 * A phase looks at is_cancelled at least ten times a second, and then ends early: what it has measured counts, and
 * nothing of it stays on a disk. It tells how far it is at most ten times a second.
 * Threads: is_cancelled may be set by any thread and by a signal handler; tell() is called by the main thread.
 */
#ifndef VSIB_TOOLS_QUALIFY_TRIAL_CONTROL_H
#define VSIB_TOOLS_QUALIFY_TRIAL_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "tools/qualify/trial.h"

struct trial_progress {
	enum trial_phase phase;
	int disk;    /* index; -1 = all */
	double done; /* 0 .. 1 of this phase */
	double rate_bps;
	uint64_t ring_bytes, ring_high_bytes, ring_capacity_bytes; /* 0 = no ring in this phase */
	int64_t worst_ns;                                          /* of a write so far */
	uint64_t overflow_bytes;
	const char *detail; /* "block 256 KiB"; NULL */
};

struct trial_control {
	_Atomic bool is_cancelled;
	void (*tell)(const struct trial_control *control,
		     const struct trial_progress *progress); /* NULL = nobody */
	void *context;
};

#endif
