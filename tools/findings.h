/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings.h - what a check has found: words for people, items for the report, and the status
 *
 *   findings_create() -> findings_add(), findings_say() ... -> findings_status(), findings_items()
 *   -> findings_free()
 *
 * Of each kind the first FINDINGS_LINES are words on standard error, and the first FINDINGS_ITEMS
 * are kept for the report; all are counted.
 *
 * Threads: one caller at a time.
 */
#ifndef VSIB_TOOLS_FINDINGS_H
#define VSIB_TOOLS_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define FINDINGS_LINES 20
#define FINDINGS_ITEMS 100000

enum finding {
	FINDING_BAD,        /* a wrong checksum */
	FINDING_UNREADABLE, /* a file that can't be read */
	FINDING_GAP,
	FINDING_MISSING, /* a file that is not there, or too short */
	FINDING_TAIL,    /* a file that is longer than the journal says */
	FINDING_UNUSED,
	FINDING_JOURNAL,
	FINDING_ACCOUNT, /* totals that don't come out */
	FINDING_WARNING,
	FINDING_STEP, /* of a recovery */
	FINDING_COUNT,
};

enum findings_status { FINDINGS_GOOD, FINDINGS_DIFFERENCES, FINDINGS_TROUBLE };

struct findings;

/** findings_create() - @program: begins each line. Return: 0; -ENOMEM. */
int findings_create(struct findings **out, const char *program, bool is_quiet);

/** findings_free() - NULL is fine */
void findings_free(struct findings *findings);

/**
 * findings_add() - @item: for the report; taken over, NULL: no memory
 * @format: the words, without end of line
 */
void findings_add(struct findings *findings, enum finding kind, enum findings_status status,
		  json_t *item, const char *format, ...) __attribute__((format(printf, 5, 6)));

/** findings_say() - words only, unless quiet */
void findings_say(struct findings *findings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** findings_insist() - words also when quiet */
void findings_insist(struct findings *findings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** findings_show() - a line that the next words, or the next such line, wipe out; "" = none */
void findings_show(struct findings *findings, const char *line);

/** findings_worsen() - the worst counts */
void findings_worsen(struct findings *findings, enum findings_status status);

enum findings_status findings_status(const struct findings *findings);
uint64_t findings_count(const struct findings *findings, enum finding kind);

/** findings_items() - array, borrowed */
json_t *findings_items(const struct findings *findings, enum finding kind);

#endif
