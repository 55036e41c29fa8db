/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark6.h - the headers in the files of a Mark6 scatter-gather recording, version 2
 *
 *   file:    a file header, then blocks one behind the other
 *   block:   a block header, then whole packets
 *
 * A recording has one such file a disk, all of the same name. Block numbers count from 0 over the whole
 * recording; each stands in one of the files, in any order, and who sorts the blocks by them has the
 * stream. A block may be shorter than the file header says, never longer. All numbers are 32 bits,
 * signed, little-endian, with nothing between them, wherever they come to lie in memory.
 *
 * Threads: pure functions.
 */
#ifndef VSIB_RECORDER_MARK6_H
#define VSIB_RECORDER_MARK6_H

#include <stdbool.h>
#include <stdint.h>

#define MARK6_SYNC_WORD UINT32_C(0xfeed6666)
#define MARK6_VERSION 2
#define MARK6_FILE_HEADER_BYTES 20
#define MARK6_BLOCK_HEADER_BYTES 8
#define MARK6_BLOCK_BYTES_CLASSIC 10000000     /* that Mark6 itself stays below, header included */
#define MARK6_NUMBER_MAX ((uint32_t)INT32_MAX) /* of block numbers and byte counts alike */

/* What the packets are; the values stand in the file. */
enum mark6_format { MARK6_VDIF, MARK6_MARK5B, MARK6_UNKNOWN };
#define MARK6_FORMAT_COUNT 3

struct mark6_file_header {
	uint32_t version;      /* 2; 1 has blocks with a number and no length */
	uint32_t block_bytes;  /* of a full block, its header included */
	uint32_t format;       /* enum mark6_format */
	uint32_t packet_bytes; /* as they are stored */
};

struct mark6_block_header {
	uint32_t number;
	uint32_t bytes; /* of this block, this header included */
};

/** mark6_put_file_header() - writes MARK6_FILE_HEADER_BYTES, wherever they are */
void mark6_put_file_header(void *to, const struct mark6_file_header *header);

/** mark6_put_block_header() - writes MARK6_BLOCK_HEADER_BYTES */
void mark6_put_block_header(void *to, const struct mark6_block_header *header);

/**
 * mark6_get_file_header() - reads MARK6_FILE_HEADER_BYTES
 *
 * Return: true: a header of version 2 that can be true (a block holds a packet at least); false: not
 *         that, and @header says what is there as far as the sync word is right, else all zeros.
 */
bool mark6_get_file_header(const void *from, struct mark6_file_header *header);

/**
 * mark6_get_block_header() - reads MARK6_BLOCK_HEADER_BYTES
 * @file: of the file it stands in
 *
 * Return: true: it can be true in such a file: whole packets, at least one, and not more than a block;
 *         false: not that, and @header says what is there.
 */
bool mark6_get_block_header(const void *from, const struct mark6_file_header *file,
			    struct mark6_block_header *header);

/**
 * mark6_is_packet() - can these be the first packet_bytes of packets of that format?
 *
 * VDIF frames tell their own length, Mark5B frames begin with a sync word; of unknown ones nobody knows.
 */
bool mark6_is_packet(const void *data, enum mark6_format format, uint64_t packet_bytes);

/** mark6_format_name() - "vdif", "mark5b" or "unknown" */
const char *mark6_format_name(enum mark6_format format);

/** mark6_format_suffix() - how the files' names end: ".vdif", ".m5b" or ".mark6" */
const char *mark6_format_suffix(enum mark6_format format);

#endif
