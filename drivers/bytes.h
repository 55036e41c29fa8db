/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bytes.h - numbers of either byte order wherever they lie in memory, and the fill pattern
 *
 * Threads: pure functions.
 */
#ifndef VSIB_DRIVERS_BYTES_H
#define VSIB_DRIVERS_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What stands for bytes that were lost: 44 33 22 11, over and over. */
#define BYTES_FILL_WORD UINT32_C(0x11223344)

static inline uint32_t bytes_le32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

static inline uint64_t bytes_le64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return le64toh(value);
}

static inline void bytes_put_le32(void *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static inline uint16_t bytes_be16(const void *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return be16toh(value);
}

static inline uint32_t bytes_be32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return be32toh(value);
}

static inline uint64_t bytes_be64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return be64toh(value);
}

static inline void bytes_put_be16(void *to, uint16_t value)
{
	value = htobe16(value);
	memcpy(to, &value, sizeof(value));
}

/** bytes_fill_word() - four bytes of fill from byte @offset of it on, as a little-endian number */
static inline uint32_t bytes_fill_word(uint64_t offset)
{
	int turn = (int)(offset % 4) * 8;

	return BYTES_FILL_WORD >> turn | BYTES_FILL_WORD << ((32 - turn) & 31);
}

/** bytes_are_fill() - is it nothing but fill, begun at any of its four bytes? @len: 4 at least */
static inline bool bytes_are_fill(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint32_t word = bytes_le32(bytes);
	bool is_fill = false;

	for (uint64_t offset = 0; offset < 4; offset++)
		is_fill |= word == bytes_fill_word(offset);
	return is_fill && memcmp(bytes, bytes + 4, len - 4) == 0;
}

/** bytes_put_fill() - bytes [@offset, @offset + @len) of a stream of nothing but fill */
static inline void bytes_put_fill(void *data, size_t len, uint64_t offset)
{
	const uint32_t word = htole32(bytes_fill_word(offset));
	unsigned char *bytes = data;
	size_t at = 0;

	for (; at + sizeof(word) <= len; at += sizeof(word))
		memcpy(bytes + at, &word, sizeof(word));
	memcpy(bytes + at, &word, len - at);
}

#endif
