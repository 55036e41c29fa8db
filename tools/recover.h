/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recover.h - bring a recording that was cut short into order
 *
 *   recover_run() -> recording_open() again, to see what it is now
 *
 * In this order: files are cut to what the journals promise of them, finished ones get their final
 * names, those with nothing promised are removed; then each target gets the same journal, whole,
 * with an end. Each step is made durable before the next, and none depends on an earlier one: broken
 * off at any moment, it can be done again, and done twice it changes nothing.
 *
 * The files of a Mark6 set that has no journal are cut to their last whole block.
 *
 * Refused while somebody writes to the recording, while another recovery is at work on one of its
 * targets, and when its journals contradict each other.
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_RECOVER_H
#define VSIB_TOOLS_RECOVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/recording.h"

#define RECOVER_ERROR_LEN 1024

enum recover_what {
	RECOVER_CUT,
	RECOVER_RENAME,
	RECOVER_REMOVE,
	RECOVER_JOURNAL, /* written whole; @other: where the damaged one is kept, or NULL */
	RECOVER_KEPT,    /* not touched, and reason says why */
	RECOVER_FAILED,  /* reason says what; the others go on */
};

struct recover_step {
	enum recover_what what;
	const char *target;
	const char *file;
	const char *other;      /* RECOVER_RENAME: the final name */
	const char *reason;     /* NULL: none */
	uint64_t from_bytes;    /* length before */
	uint64_t to_bytes;      /* and after */
	uint64_t written_bytes; /* of what goes: not only allocated, as far as the file system tells */
	bool is_by_blocks;      /* no journal: what goes is behind the last whole block */
};

struct recover_config {
	bool is_dry;            /* only say what would be done */
	bool is_missing_lost;   /* what only journals that aren't there could promise is given up */
	const atomic_int *stop; /* not 0: end between two steps; NULL is fine */
	void (*say)(void *context, const struct recover_step *step);
	void *context;
};

struct recover_result {
	uint64_t step_count; /* done, or to be done */
	uint64_t failed_count;
	char error[RECOVER_ERROR_LEN];
};

/**
 * recover_run() - look, plan and do
 *
 * Return: 0, with failed_count steps that could not be done; with a sentence in result->error:
 *         -EBUSY still being written, or recovered by somebody else; -ENODATA no journal to go by;
 *         -EBADMSG journals contradict each other, or as recording_open(); -EINTR stopped; -ENOENT,
 *         -EACCES and others from the targets.
 */
int recover_run(const struct recording_query *query, const struct recover_config *config,
		struct recover_result *result);

/** recover_what_name() - "cut", "rename" ...: the word for reports */
const char *recover_what_name(enum recover_what what);

#endif
