/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gather.h - copy a recording's stream to a descriptor, comparing checksums on the way
 *
 *   recording_open() -> gather_copy() -> look at the result
 *
 * One pass, one copy: data are read into the buffer that is written. Only where a choice depends on
 * it (--strict, a second copy, a piece that is part of what a checksum covers) a piece is read
 * before it is copied.
 *
 * Threads: the caller's; gather_config.stop may be set by a signal handler.
 */
#ifndef VSIB_TOOLS_GATHER_H
#define VSIB_TOOLS_GATHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/gap_fill.h"
#include "tools/recording.h"

enum gather_what {
	GATHER_PROGRESS,   /* some bytes more are written; piece is NULL */
	GATHER_GAP,        /* of the recording */
	GATHER_BAD_SUM,    /* the bytes are not those that were recorded */
	GATHER_UNREADABLE, /* the rest of the piece can't be read here */
	GATHER_GIVEN_UP,   /* ... nor from another copy: it is left out or filled */
	GATHER_LEFT_OUT,   /* is_strict: the bad piece is left out or filled */
	GATHER_COPY,       /* another copy of the bad or unreadable piece is used instead */
	GATHER_REBUILT,    /* or it was made from the parity; not said of what is lost */
	GATHER_NOT_MADE,   /* it couldn't be: recording_error() says why */
	GATHER_NO_FRAMES,  /* a gap gets the pattern instead of frames: why says the reason */
};

struct gather_result;

struct gather_event {
	enum gather_what what;
	const struct recording_piece *piece; /* of GATHER_UNREADABLE: the unread rest */
	int error; /* of GATHER_UNREADABLE: -errno, -ENODATA the file became shorter */
	uint64_t stream_offset, bytes; /* of GATHER_NO_FRAMES, which has no piece */
	const char *why;
	const struct gather_result *result; /* so far */
};

struct gather_config {
	int fd; /* where to; written from its current position on */
	enum gather_fill fill;
	bool is_strict;         /* bytes with a bad checksum are left out like a gap */
	const atomic_int *stop; /* not 0: end soon; NULL is fine */
	void (*say)(void *context, const struct gather_event *event);
	void *context;
};

struct gather_result {
	uint64_t expected_bytes; /* bytes_out, when nothing goes wrong */
	uint64_t bytes_out;      /* written to fd */
	uint64_t filled_bytes; /* of them fill; not what the recorder has filled, which is data here */
	uint64_t invalid_bytes; /* of these, in frames marked invalid */
	uint64_t rebuilt_bytes; /* of them made from the parity */
	uint64_t piece_count;   /* of data, that were copied */
	uint64_t gap_count;     /* gaps of the recording, and pieces left out or unreadable */
	uint64_t bad_sum_count; /* pieces with a bad checksum for which there was no good copy */
	uint64_t unreadable_count;
	uint64_t unfilled_count; /* gaps of unknown length that fill can't close */
	uint64_t unframed_count; /* gaps that got the pattern instead of frames */
};

/**
 * gather_copy() - copy everything, and sync when fd is a file
 *
 * A file's space is allocated beforehand where the file system can.
 * Return: 0; -EINTR stopped by config.stop; -ENOMEM; -ENOSPC (with bytes_out 0: found out
 *         beforehand), -EPIPE, -EIO and others from fd; result says how far it came.
 */
int gather_copy(struct recording *recording, const struct gather_config *config,
		struct gather_result *result);

#endif
