/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recover_parts.h - what recover.c and recover_collect.c share; not for others
 *
 *   recover.c          opening with the targets locked, what the journals know, and doing it
 *   recover_collect.c  what lies there, and the plan for each file
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_RECOVER_PARTS_H
#define VSIB_TOOLS_RECOVER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/place.h"
#include "tools/recover.h"
#include "tools/recover_apply.h"

struct recovery {
	struct recording *recording;
	const struct recording_info *info;
	const struct recover_config *config;
	struct recover_result *result;
	int *locks; /* descriptors of the targets' directories */
	size_t lock_count;
	struct recover_item *items;
	size_t item_count;
	uint64_t *promised;     /* of each of the history's files */
	uint32_t *last_segment; /* of each: the history_stored() that ends last */
	bool *known;            /* of each of the history's targets: its whole journal is there */
	bool is_complete;       /* no journal that isn't there could promise more */
	bool is_disturbed;      /* somebody else changes the files */
};

/** recover_fail() - the sentence of a recovery that can't go on. Return: @ret */
int recover_fail(struct recover_result *result, int ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** recover_tell_failed() - @file can't be @what ("opened"), -errno says why; the others go on */
void recover_tell_failed(struct recovery *recovery, const char *target, const char *file,
			 const char *what, int ret);

/** recover_place() - a place of the recording, borrowed; fd -1: there is none */
struct place recover_place(const struct recovery *recovery, int index);

/** recover_has_entry() - is there anything of that name, relative to the place? */
bool recover_has_entry(const struct recovery *recovery, int place_index, const char *file);

/**
 * recover_collect() - recovery->items, each with its plan; the journals must have been looked at
 * Return: 0; -errno, and the sentence in the result.
 */
int recover_collect(struct recovery *recovery);

#endif
