/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark6_set.h - the blocks of all files of a Mark6 set, in the order of their numbers
 *
 *   mark6_set_add() each block of each file -> mark6_set_settle() -> mark6_set_next() until false ->
 *   mark6_set_free()
 *
 * Numbers count from 0; those that no block has are missing. How many are missing behind the last one
 * nobody can tell. A block takes 16 bytes here, whatever is in it.
 *
 * Threads: one caller at a time.
 */
#ifndef VSIB_TOOLS_MARK6_SET_H
#define VSIB_TOOLS_MARK6_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/mark6_file.h"

#define MARK6_SET_FILES_MAX ((uint32_t)1 << 16)

/* File and place in it share a word: 16 and 48 bits. */
struct mark6_set_block {
	uint64_t where;
	uint32_t number;
	uint32_t bytes : 31; /* of payload that are there */
	uint32_t is_cut : 1;
};

/* A block that its file has a part of only; there is no more than one a file. */
struct mark6_set_cut {
	uint64_t where;
	uint32_t lacking_bytes;
	uint32_t broken_bytes;
};

/* All zeros at first. */
struct mark6_set {
	struct mark6_set_block *blocks;
	size_t count;
	struct mark6_set_cut *cuts;
	size_t cut_count;

	/* of mark6_set_settle() */
	uint32_t nominal_bytes; /* the longest payload, which the missing blocks are taken to have */
	uint64_t doubled_count;  /* blocks that were dropped: the same bytes are in another one */
	uint64_t replaced_count; /* blocks that are cut and were dropped: another one has more */
	struct mark6_set_block doubled[2]; /* the first such pair, or the pair that contradicts itself */
	struct mark6_set_block replaced; /* the first one that was dropped so */
	bool is_last_short; /* version 1: the last block is short, and no packet of it is broken */
};

enum mark6_set_kind {
	MARK6_SET_BLOCK,
	MARK6_SET_LACKING, /* the rest of the block before, which is cut */
	MARK6_SET_MISSING, /* whole blocks */
};

/* A step through the stream. */
struct mark6_set_step {
	enum mark6_set_kind kind;
	const struct mark6_set_block *block; /* NULL: MARK6_SET_MISSING */
	uint64_t bytes;
	uint64_t first_number;
	uint64_t count; /* of blocks that are missing, else 1 */
};

/* All zeros: at the begin. */
struct mark6_set_cursor {
	size_t next;
	uint64_t expected_number;
	bool owes_rest;
};

/** mark6_set_add() - @file: below MARK6_SET_FILES_MAX. Return: 0; -ENOMEM. */
int mark6_set_add(struct mark6_set *set, uint32_t file, const struct mark6_file_block *block);

/** mark6_set_join() - all blocks of @part, too, which is empty then. Return: 0; -ENOMEM. */
int mark6_set_join(struct mark6_set *set, struct mark6_set *part);

/**
 * mark6_set_settle() - sort, and keep one block of each number
 * @version: of the files
 * @compare: do these two blocks of the same length have the same bytes? 1 yes, 0 no, -errno
 *
 * A whole block is kept before one that is cut, which is not compared: who writes a block again after a
 * write that failed leaves both.
 * Return: 0; -EBADMSG: set->doubled are two blocks of one number and with different bytes, or lengths;
 *         what @compare returned.
 */
int mark6_set_settle(struct mark6_set *set, uint32_t version,
		     int (*compare)(void *context, const struct mark6_set_block *a,
				    const struct mark6_set_block *b),
		     void *context);

/** mark6_set_next() - Return: false at the end. */
bool mark6_set_next(const struct mark6_set *set, struct mark6_set_cursor *cursor,
		    struct mark6_set_step *step);

/** mark6_set_free() - what the set holds, not itself; it is empty then */
void mark6_set_free(struct mark6_set *set);

static inline uint32_t mark6_set_file(const struct mark6_set_block *block)
{
	return (uint32_t)(block->where >> 48);
}

/** mark6_set_offset() - of the payload in its file */
static inline uint64_t mark6_set_offset(const struct mark6_set_block *block)
{
	return block->where & (MARK6_FILE_BYTES_MAX - 1);
}

#endif
