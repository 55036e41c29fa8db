/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark6_file.h - one file of a Mark6 set, walked from block to block
 *
 *   mark6_file_identify() -> mark6_file_walk() -> look at the survey
 *
 * Reads the files of any writer: version 2 and version 1, whose blocks have a number only and are all as
 * long as the file header says. Headers are read, payloads are not (but for the end of the last block,
 * and what stands where a header should be).
 *
 * The files are input from outside: whatever stands in them, a walk ends, each of its steps goes forward,
 * and no block reaches beyond the end of its file.
 *
 * Threads: none shared; one caller a file.
 */
#ifndef VSIB_TOOLS_MARK6_FILE_H
#define VSIB_TOOLS_MARK6_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/mark6.h"

#define MARK6_FILE_TEXT_LEN 256
#define MARK6_FILE_BYTES_MAX ((uint64_t)1 << 48)

struct mark6_file_block {
	uint64_t payload_offset; /* in the file */
	uint32_t number;
	uint32_t payload_bytes; /* that are there; of a block that is cut, its whole packets */
	uint32_t lacking_bytes; /* of a block that is cut; 0 = it is whole */
	uint32_t broken_bytes; /* of a block that is cut: of its last packet, not in payload_bytes */
};

/* What stands behind the last block. */
enum mark6_file_tail {
	MARK6_FILE_ENDS,    /* nothing */
	MARK6_FILE_ZEROS,   /* zeros: space that was only allocated */
	MARK6_FILE_TORN,    /* a block that is not whole, or less than a block that can't be read */
	MARK6_FILE_DAMAGED, /* more than that, and no block in it can be found */
};

struct mark6_file_survey {
	struct mark6_file_header header; /* packet_bytes 0: not known; format as it is known here */
	uint64_t bytes;                  /* of the file */
	bool is_complete;                /* the walk came to its end */
	uint64_t block_count;            /* that were found, the one that is cut among them */
	uint64_t whole_end;              /* offset behind the last whole block */
	enum mark6_file_tail tail;
	char tail_words[MARK6_FILE_TEXT_LEN]; /* "" when it ends there */
	uint64_t damage_count; /* headers that can't be true, before others that can */
	char damage_words[MARK6_FILE_TEXT_LEN]; /* the first of them */
	uint64_t uneven_count;                  /* whole blocks with other than whole packets */
	uint64_t uneven_offset;                 /* of the first of them: of its header */
};

/**
 * mark6_file_identify() - does a file begin with the sync word?
 * Return: 1 yes; 0 no; -errno.
 */
int mark6_file_identify(int fd);

/** mark6_file_is_blank() - is all of it zeros, or is it empty? Return: 1 yes; 0 no; -errno. */
int mark6_file_is_blank(int fd, uint64_t bytes);

/**
 * mark6_file_walk() - visit all blocks in the order in which they lie there
 * @bytes: length of the file
 * @visit: its result below 0 ends the walk
 *
 * Where a header can't be true the next one is looked for one block further on, where it is unless the
 * block was a short one, and one block behind the header before, whose size may be the wrong one.
 * Return: 0; -EBADMSG the file header makes no sense, survey->damage_words says why; -errno of the file;
 *         what @visit returned.
 */
int mark6_file_walk(int fd, uint64_t bytes, struct mark6_file_survey *survey,
		    int (*visit)(void *context, const struct mark6_file_block *block), void *context);

/**
 * mark6_file_block_end() - where the block ends that a place is in
 * @bytes: length of the file
 *
 * Return: the end, when the block is whole; @at itself when it is not, when it is between two blocks, or
 *         when the file can't be read that far.
 */
uint64_t mark6_file_block_end(int fd, uint64_t bytes, uint64_t at);

/** mark6_file_block_header_bytes() - 8; 4 in version 1 */
uint32_t mark6_file_block_header_bytes(const struct mark6_file_header *header);

/**
 * mark6_file_is_name() - can a file of the recording @name be called @file: NAME, NAME.vdif, NAME.m5b or
 * NAME.mark6?
 */
bool mark6_file_is_name(const char *name, const char *file);

#endif
