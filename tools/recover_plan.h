/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recover_plan.h - what a recovery does to a file, and what it writes into the journals
 *
 * Decides only; recover.h finds out the facts and does it. Nothing that a journal promises is ever
 * cut or removed, nor are whole blocks of a Mark6 set without a journal; nothing of unclear origin is
 * touched, and what is kept has its reason.
 *
 * Threads: pure functions.
 */
#ifndef VSIB_TOOLS_RECOVER_PLAN_H
#define VSIB_TOOLS_RECOVER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/history.h"

/* A file as it lies there. */
struct recover_file {
	bool is_listed; /* the journal has segments of it, and means this very file; or its blocks tell */
	bool is_part; /* its name ends in .part */
	bool is_endless; /* not listed: the recording's or target's single file, which has its name from the start */
	bool is_of_name; /* not listed: its name is made of the recording's, or of one of its files' */
	bool is_meant; /* not listed: the journal names a file like that here, and found another one */
	bool is_proven; /* in its own target's directory, or a checksum tells that it is the one */
	bool has_final; /* is_part: there is a file with the final name */
	uint64_t bytes;
	uint64_t promised_bytes; /* up to here the journal has segments; 0 = not listed */
	uint64_t link_count;
	const char *doubt; /* why what is behind promised_bytes can't be judged; NULL: it can */
};

/* In this order. */
struct recover_plan {
	bool is_cut;     /* to promised_bytes */
	bool is_renamed; /* to its final name */
	bool is_removed;
	const char *kept; /* why something that might be done isn't; NULL */
};

/**
 * recover_plan_file() - @is_complete: no journal that isn't there could promise more
 */
void recover_plan_file(struct recover_plan *plan, const struct recover_file *file, bool is_complete);

/**
 * recover_tail() - the lines that a journal without an end lacks: event, gaps, end
 * @known: for each target if its whole journal was there: the event names the others, so that later recoveries
 *         don't take the journal for all that those knew. NULL: what they knew is given up
 * @text: free() it
 *
 * Return: the length; -ENOMEM.
 */
int64_t recover_tail(const struct history *history, int64_t now_utc_ns, const bool *known, char **text);

#endif
