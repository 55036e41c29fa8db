/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/mark6_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/read_at.h"

#define SCAN_BYTES ((size_t)1 << 18)
#define VERSION_WITHOUT_LENGTHS 1
#define BLOCK_HEADER_BYTES_WITHOUT_LENGTHS 4
#define PACKET_END_BYTES 64 /* of samples, and all of them zero: not written */

struct walk {
	int fd;
	struct mark6_file_survey *survey;
	int (*visit)(void *context, const struct mark6_file_block *block);
	void *context;
	unsigned char *buf; /* SCAN_BYTES */
	uint32_t header_bytes;
	uint64_t offset;
	uint64_t not_zero_at; /* a byte further on that is known to be none */
	struct mark6_file_block pending;
	bool has_pending;
};

static __attribute__((format(printf, 2, 3))) void describe(char *words, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(words, MARK6_FILE_TEXT_LEN, format, args);
	va_end(args);
}

/*
 * ---- zeros
 * ---------------------------------------------------------------------------------------
 */

static bool is_zero(const unsigned char *buf, size_t len)
{
	return len == 0 || (buf[0] == 0 && memcmp(buf, buf + 1, len - 1) == 0);
}

/* Holes, and space that was only allocated, need not be read. */
static uint64_t skip_hole(int fd, uint64_t offset, uint64_t end)
{
	off_t data = lseek(fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? end : offset;
	return (uint64_t)data > offset ? (uint64_t)data : offset;
}

/* Return: 1 nothing but zeros; 0 others, and in *not_zero_at a place before which all are; -errno. */
static int scan_zeros(int fd, unsigned char *buf, uint64_t from, uint64_t end, uint64_t *not_zero_at)
{
	while (from < end) {
		size_t len;
		ssize_t n;

		from = skip_hole(fd, from, end);
		if (from >= end)
			break;
		len = end - from < SCAN_BYTES ? (size_t)(end - from) : SCAN_BYTES;
		n = read_at(fd, buf, len, from);
		if (n < 0)
			return (int)n;
		if (!is_zero(buf, (size_t)n)) {
			size_t zeros = 0;

			while (buf[zeros] == 0)
				zeros++;
			*not_zero_at = from + zeros;
			return 0;
		}
		if ((size_t)n < len)
			break;
		from += len;
	}
	return 1;
}

static int is_zero_from(struct walk *walk, uint64_t offset)
{
	if (offset <= walk->not_zero_at)
		return 0;
	return scan_zeros(walk->fd, walk->buf, offset, walk->survey->bytes, &walk->not_zero_at);
}

/*
 * The last block may be whole by its header, and not have been written: then zeros stand for packets,
 * which no packet of a known format is. Return: bytes of the payload before them; -errno.
 */
static int64_t count_written(const struct walk *walk, const struct mark6_file_block *block)
{
	uint64_t left = block->payload_bytes;

	while (left > 0) {
		size_t len = left < SCAN_BYTES ? (size_t)left : SCAN_BYTES;
		ssize_t n = read_at(walk->fd, walk->buf, len, block->payload_offset + left - len);

		if (n < 0)
			return n;
		for (; n > 0; n--)
			if (walk->buf[n - 1])
				return (int64_t)(left - len + (size_t)n);
		left -= len;
	}
	return 0;
}

/*
 * ---- headers
 * -------------------------------------------------------------------------------------
 */

uint32_t mark6_file_block_header_bytes(const struct mark6_file_header *header)
{
	return header->version == VERSION_WITHOUT_LENGTHS ? BLOCK_HEADER_BYTES_WITHOUT_LENGTHS :
							    MARK6_BLOCK_HEADER_BYTES;
}

int mark6_file_identify(int fd)
{
	unsigned char bytes[MARK6_FILE_HEADER_BYTES] = { 0 }, sync_word[MARK6_FILE_HEADER_BYTES];
	ssize_t n = read_at(fd, bytes, sizeof(bytes), 0);

	if (n < 0)
		return (int)n;
	mark6_put_file_header(sync_word, &(struct mark6_file_header){ 0 });
	return n >= 4 && memcmp(bytes, sync_word, 4) == 0;
}

int mark6_file_is_blank(int fd, uint64_t bytes)
{
	unsigned char *buf = malloc(SCAN_BYTES);
	uint64_t not_zero_at;
	int ret = buf ? scan_zeros(fd, buf, 0, bytes, &not_zero_at) : -ENOMEM;

	free(buf);
	return ret;
}

static int bad_header(struct walk *walk, const char *what, uint32_t value)
{
	describe(walk->survey->damage_words, "the file header makes no sense: %s %" PRId32, what,
		 (int32_t)value);
	return -EBADMSG;
}

static int read_file_header(struct walk *walk)
{
	struct mark6_file_header *header = &walk->survey->header;
	unsigned char bytes[MARK6_FILE_HEADER_BYTES];
	ssize_t n = read_at(walk->fd, bytes, sizeof(bytes), 0);

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(bytes)) {
		describe(walk->survey->damage_words,
			 "it ends within the file header, after %zd bytes", n);
		return -EBADMSG;
	}
	mark6_get_file_header(bytes, header); /* true is only what is written today */
	walk->header_bytes = mark6_file_block_header_bytes(header);
	if (header->version != MARK6_VERSION && header->version != VERSION_WITHOUT_LENGTHS)
		return bad_header(walk, "version", header->version);
	if (header->block_bytes <= walk->header_bytes || header->block_bytes > MARK6_NUMBER_MAX)
		return bad_header(walk, "block size", header->block_bytes);
	if (header->packet_bytes > header->block_bytes - walk->header_bytes)
		return bad_header(walk, "packet size", header->packet_bytes);
	if (header->format >= MARK6_FORMAT_COUNT)
		header->format = MARK6_UNKNOWN;
	return 0;
}

/* Return: 1; 0 the file ends before; -errno. In version 1 the length is the file header's. */
static int read_block_header(const struct walk *walk, uint64_t offset, struct mark6_block_header *header)
{
	/* any length of payload: what is wrong with it, we say ourselves */
	const struct mark6_file_header any = { .block_bytes = MARK6_NUMBER_MAX, .packet_bytes = 1 };
	unsigned char bytes[MARK6_BLOCK_HEADER_BYTES] = { 0 };
	ssize_t n;

	n = read_at(walk->fd, bytes, walk->header_bytes, offset);
	if (n < 0)
		return (int)n;
	mark6_get_block_header(bytes, &any, header);
	if (walk->header_bytes < MARK6_BLOCK_HEADER_BYTES)
		header->bytes = walk->survey->header.block_bytes;
	return (size_t)n == walk->header_bytes;
}

/* What can't be true of it; NULL: nothing. */
static const char *reason_to_doubt(const struct walk *walk, const struct mark6_block_header *header)
{
	if (header->number > MARK6_NUMBER_MAX)
		return "a number below 0";
	if (header->bytes > MARK6_NUMBER_MAX)
		return "a size below 0";
	if (header->bytes < walk->header_bytes)
		return "a size smaller than the header itself";
	if (header->bytes > walk->survey->header.block_bytes)
		return "a size larger than the file's block size";
	return NULL;
}

/*
 * ---- the walk
 * ------------------------------------------------------------------------------------
 */

static uint32_t whole_packets(const struct walk *walk, uint32_t bytes)
{
	uint32_t packet_bytes = walk->survey->header.packet_bytes;

	return packet_bytes ? bytes - bytes % packet_bytes : bytes;
}

/* Of @there payload bytes the whole packets are used. */
static void cut_block(const struct walk *walk, struct mark6_file_block *block, uint32_t there,
		      uint32_t nominal)
{
	block->payload_bytes = whole_packets(walk, there);
	block->broken_bytes = there - block->payload_bytes;
	block->lacking_bytes = nominal - block->payload_bytes;
}

static void tell_torn(const struct walk *walk, const struct mark6_file_block *block, const char *how)
{
	walk->survey->tail = MARK6_FILE_TORN;
	describe(walk->survey->tail_words,
		 "block %" PRIu32 " at offset %" PRIu64 " %s: %" PRIu32 " of %" PRIu64
		 " bytes of payload are whole packets",
		 block->number, block->payload_offset - walk->header_bytes, how,
		 block->payload_bytes, (uint64_t)block->payload_bytes + block->lacking_bytes);
}

static int visit_pending(struct walk *walk)
{
	if (!walk->has_pending)
		return 0;
	walk->has_pending = false;
	walk->survey->block_count++;
	if (walk->pending.lacking_bytes == 0) {
		uint32_t bytes = walk->pending.payload_bytes;

		walk->survey->whole_end = walk->pending.payload_offset + bytes;
		if (whole_packets(walk, bytes) != bytes && walk->survey->uneven_count++ == 0)
			walk->survey->uneven_offset = walk->pending.payload_offset - walk->header_bytes;
	}
	return walk->visit ? walk->visit(walk->context, &walk->pending) : 0;
}

/* Nothing follows: was all of the last block written? */
static int settle_last(struct walk *walk)
{
	const struct mark6_file_header *header = &walk->survey->header;
	struct mark6_file_block *block = &walk->pending;
	uint32_t nominal = block->payload_bytes, packets;
	int64_t written;

	if (!walk->has_pending || block->lacking_bytes || header->format == MARK6_UNKNOWN ||
	    header->packet_bytes == 0)
		return 0;
	written = count_written(walk, block);
	if (written < 0)
		return (int)written;
	packets = whole_packets(walk, (uint32_t)written);
	if (packets < written && packets + header->packet_bytes <= nominal &&
	    packets + header->packet_bytes - written < PACKET_END_BYTES)
		packets += header->packet_bytes;
	if (nominal - packets < header->packet_bytes)
		return 0;
	cut_block(walk, block, packets, nominal);
	tell_torn(walk, block, "ends in zeros and was not written to its end");
	return 0;
}

/* Samples look like a header now and then, and seldom like two that fit. Return: 1 yes; 0 no; -errno. */
static int is_block_at(const struct walk *walk, uint64_t offset)
{
	struct mark6_block_header header;
	int ret = read_block_header(walk, offset, &header);

	if (ret <= 0 || offset >= walk->survey->bytes)
		return ret < 0 ? ret : 0;
	if (reason_to_doubt(walk, &header) || header.bytes > walk->survey->bytes - offset)
		return 0;
	ret = read_block_header(walk, offset + header.bytes, &header);
	if (ret <= 0)
		return ret < 0 ? ret : 1;
	return !reason_to_doubt(walk, &header) || (header.number == 0 && header.bytes == 0);
}

static __attribute__((format(printf, 2, 3))) void tell_damage(struct walk *walk, const char *format, ...)
{
	va_list args;

	if (walk->survey->damage_count++)
		return;
	va_start(args, format);
	vsnprintf(walk->survey->damage_words, MARK6_FILE_TEXT_LEN, format, args);
	va_end(args);
}

/* What if not this header is wrong, but the size in the one before? Return: 1 so it is; 0; -errno. */
static int mend_pending(struct walk *walk)
{
	struct mark6_file_block *block = &walk->pending;
	uint32_t nominal = walk->survey->header.block_bytes;
	uint64_t start = block->payload_offset - walk->header_bytes, next = start + nominal;
	int ret = walk->has_pending && next > walk->offset ? is_block_at(walk, next) : 0;

	if (ret <= 0)
		return ret;
	tell_damage(walk,
		    "the block header at offset %" PRIu64 " has a wrong size (%" PRIu32
		    "): the next one is found at %" PRIu64,
		    start, block->payload_bytes + walk->header_bytes, next);
	block->payload_bytes = nominal - walk->header_bytes;
	walk->offset = next;
	return 1;
}

/* Return: 1 go on at walk->offset; 0 it is the end of the walk; -errno. */
static int find_next(struct walk *walk, const struct mark6_block_header *doubtful, const char *reason)
{
	struct mark6_file_survey *survey = walk->survey;
	uint64_t next = walk->offset + survey->header.block_bytes;
	int ret = is_block_at(walk, next);

	if (ret == 0) {
		ret = mend_pending(walk);
	} else if (ret == 1) {
		tell_damage(walk,
			    "the block header at offset %" PRIu64 " has %s (%" PRId32 ", %" PRId32
			    "); the next one is found at %" PRIu64,
			    walk->offset, reason, (int32_t)doubtful->number,
			    (int32_t)doubtful->bytes, next);
		walk->offset = next;
	}
	if (ret)
		return ret;
	ret = is_zero_from(walk, next);
	if (ret < 0)
		return ret;
	survey->tail = ret ? MARK6_FILE_TORN : MARK6_FILE_DAMAGED;
	describe(survey->tail_words,
		 "the block header at offset %" PRIu64 " has %s (%" PRId32 ", %" PRId32 ")%s",
		 walk->offset, reason, (int32_t)doubtful->number, (int32_t)doubtful->bytes,
		 ret ? ", and no block follows" : ", and what follows can't be told apart");
	return 0;
}

/* Zeros in place of a header are the end, if nothing but zeros follows. Return: as find_next(). */
static int pass_zeros(struct walk *walk, const struct mark6_block_header *header)
{
	int ret = is_zero_from(walk, walk->offset);
	const char *reason = reason_to_doubt(walk, header);

	if (ret < 0)
		return ret;
	if (ret == 0)
		return reason ? find_next(walk, header, reason) : 1;
	walk->survey->tail = MARK6_FILE_ZEROS;
	describe(walk->survey->tail_words,
		 "%" PRIu64 " bytes of zeros behind the last block, from offset %" PRIu64
		 " on: space that was only allocated",
		 walk->survey->bytes - walk->offset, walk->offset);
	return 0;
}

/* All of it, or what the file has of it. The one before is given to the visitor. Return: 0; -errno. */
static int take_block(struct walk *walk, const struct mark6_block_header *header)
{
	uint64_t left = walk->survey->bytes - walk->offset;
	struct mark6_file_block block = {
		.payload_offset = walk->offset + walk->header_bytes,
		.number = header->number,
		.payload_bytes = header->bytes - walk->header_bytes,
	};
	int ret = visit_pending(walk);

	if (ret < 0)
		return ret;
	if (header->bytes > left) {
		cut_block(walk, &block, (uint32_t)left - walk->header_bytes, block.payload_bytes);
		tell_torn(walk, &block, "is cut off by the end of the file");
	}
	walk->pending = block;
	walk->has_pending = true;
	walk->offset += header->bytes < left ? header->bytes : left;
	return 0;
}

/* Return: 1 go on; 0 the end; -errno. */
static int step(struct walk *walk)
{
	struct mark6_file_survey *survey = walk->survey;
	struct mark6_block_header header;
	bool is_first = walk->offset == MARK6_FILE_HEADER_BYTES;
	const char *reason;
	int ret;

	if (walk->offset >= survey->bytes)
		return 0;
	if (survey->bytes - walk->offset < walk->header_bytes) {
		survey->tail = MARK6_FILE_TORN;
		describe(survey->tail_words,
			 "%" PRIu64 " bytes at offset %" PRIu64 " are less than a block header",
			 survey->bytes - walk->offset, walk->offset);
		return 0;
	}
	ret = read_block_header(walk, walk->offset, &header);
	if (ret <= 0)
		return ret < 0 ? ret : -ENODATA;
	reason = reason_to_doubt(walk, &header);
	if (header.number == 0 && (reason ? header.bytes == 0 : !is_first && walk->header_bytes == 4)) {
		uint64_t from = walk->offset;

		ret = pass_zeros(walk, &header);
		if (ret <= 0 || walk->offset != from)
			return ret;
	} else if (reason) {
		return find_next(walk, &header, reason);
	}
	ret = take_block(walk, &header);
	return ret < 0 ? ret : 1;
}

static int walk_all(struct walk *walk)
{
	int ret = read_file_header(walk);

	if (ret < 0)
		return ret;
	walk->offset = walk->survey->whole_end = MARK6_FILE_HEADER_BYTES;
	do
		ret = step(walk);
	while (ret == 1);
	if (ret == 0)
		ret = settle_last(walk);
	if (ret == 0)
		ret = visit_pending(walk);
	walk->survey->is_complete = ret == 0;
	return ret;
}

int mark6_file_walk(int fd, uint64_t bytes, struct mark6_file_survey *survey,
		    int (*visit)(void *context, const struct mark6_file_block *block), void *context)
{
	struct walk walk = { .fd = fd, .survey = survey, .visit = visit, .context = context };
	int ret = -ENOMEM;

	memset(survey, 0, sizeof(*survey));
	survey->bytes = bytes < MARK6_FILE_BYTES_MAX ? bytes : MARK6_FILE_BYTES_MAX - 1;
	walk.buf = malloc(SCAN_BYTES);
	if (walk.buf)
		ret = walk_all(&walk);
	free(walk.buf);
	return ret;
}

struct place_in_file {
	uint64_t at;
	uint64_t end;
};

static int look_for_place(void *context, const struct mark6_file_block *block)
{
	struct place_in_file *place = context;
	uint64_t end = block->payload_offset + block->payload_bytes;

	if (end < place->at)
		return 0;
	if (block->lacking_bytes == 0 && block->payload_offset < place->at)
		place->end = end;
	return -ECANCELED;
}

uint64_t mark6_file_block_end(int fd, uint64_t bytes, uint64_t at)
{
	struct place_in_file place = { .at = at, .end = at };
	struct mark6_file_survey survey;

	mark6_file_walk(fd, bytes, &survey, look_for_place, &place);
	return place.end;
}

bool mark6_file_is_name(const char *name, const char *file)
{
	size_t len = strlen(name);

	if (strncmp(file, name, len) != 0)
		return false;
	for (int i = 0; i < MARK6_FORMAT_COUNT; i++)
		if (strcmp(file + len, mark6_format_suffix((enum mark6_format)i)) == 0)
			return true;
	return file[len] == '\0';
}
