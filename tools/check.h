/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h - is every byte that a recording's journal promises there, and the one it was?
 *
 *   recording_open() -> check_run() -> look at the result; check_difference(), check_account()
 *   -> check_free()
 *
 * Every segment line is verified, also one whose bytes are there a second time, and every line of parity: its
 * file is read and its XXH3 compared. One thread for each place (as a rule, a disk) reads that place's files one
 * after the other, from front to back.
 *
 * Threads: the caller's, and the readers while check_run() lasts.
 */
#ifndef VSIB_TOOLS_CHECK_H
#define VSIB_TOOLS_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/history.h"
#include "tools/recording.h"

enum check_state {
	CHECK_PENDING,    /* not looked at: stopped before */
	CHECK_GOOD,       /* the checksum is right */
	CHECK_UNSUMMED,   /* read to its end; the journal has no checksum */
	CHECK_BAD,        /* other bytes than were recorded */
	CHECK_UNREADABLE, /* error says why; -ENODATA: the file has become shorter */
	CHECK_MISSING,    /* the file is not there, or ends before */
};

struct check_segment {
	enum check_state state;
	int error;           /* -errno of CHECK_UNREADABLE */
	bool is_rebuildable; /* check_rebuilding() */
};

struct check_result {
	struct check_segment *segments; /* one for each history_stored() */
	uint64_t segment_count;         /* without the parity behind them */
	uint64_t parity_count;
	uint64_t total_bytes;                      /* of all that are there */
	uint64_t verified_bytes;                   /* segments with a right checksum */
	uint64_t count[CHECK_MISSING + 1];         /* segments by state */
	uint64_t parity_states[CHECK_MISSING + 1]; /* parity by state */
	uint64_t wrong_bytes; /* check_rebuilding(): of segments that are bad, unreadable or missing ... */
	uint64_t rebuildable_bytes; /* ... and those of them that are rebuildable */
	int64_t duration_ns;
	_Atomic uint64_t read_bytes; /* readers add */
};

struct check_config {
	const atomic_int *stop; /* not 0: end soon; NULL is fine */
	void (*progress)(void *context, const struct check_result *result); /* NULL, or every 0.25 s */
	void *context;
};

/**
 * check_run() - read and compare everything; nothing without a journal
 *
 * Return: 0, whatever was found; -EINTR stopped; -ENOMEM; -EAGAIN no thread. check_free() in every
 *         case.
 */
int check_run(const struct recording *recording, const struct check_config *config,
	      struct check_result *result);

/**
 * check_rebuilding() - which segments that are wrong can be made from the parity and all else that is there?
 *
 * Return: 0; -ENOMEM.
 */
int check_rebuilding(struct recording *recording, struct check_result *result);

/** check_free() - a zeroed one is fine */
void check_free(struct check_result *result);

/**
 * check_difference() - where in a bad segment is the first byte that differs?
 * @index:  of a segment that is CHECK_BAD
 * @offset: in the segment
 *
 * Only another good copy of the same bytes can tell. Return: 0; -ENOENT there is none; -errno.
 */
int check_difference(const struct recording *recording, const struct check_result *result,
		     size_t index, uint64_t *offset);

/* What the lines of a journal come to. */
struct check_sums {
	uint64_t stream_bytes;                 /* end of the last segment or gap */
	uint64_t written_bytes;                /* in segments, each byte of the stream once */
	uint64_t gap_bytes[HISTORY_OTHER + 1]; /* by enum history_cause */
	uint64_t filled_bytes; /* of gap_bytes: fill stands for them, and is in segments or other gaps */
	uint64_t hole_bytes;    /* neither in a segment nor in a gap, before others that are */
	uint64_t doubled_bytes; /* of gaps, over bytes that are there, or lost already */
};

/**
 * check_sum_up() - @hole: called for each hole, in their order; NULL is fine
 * Return: 0; -ENOMEM; what @hole returned below 0.
 */
int check_sum_up(const struct history *history, struct check_sums *sums,
		 int (*hole)(void *context, uint64_t offset, uint64_t bytes), void *context);

/**
 * check_account() - do the end line's totals come out of the lines before it?
 * @say: called with a sentence for each that doesn't
 *
 * Totals that the line doesn't have are not missed. Return: the number of sentences; 0 without an
 * end line; -ENOMEM.
 */
int check_account(const struct history *history, void (*say)(void *context, const char *sentence),
		  void *context);

#endif
