/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/mark6.h"

#include <endian.h>
#include <string.h>

#define VDIF_LENGTH_AT \
	8 /* of the word with the frame's length, in its lower 24 bits, as multiples of 8 bytes */
#define VDIF_LENGTH_MASK UINT32_C(0xffffff)
#define MARK5B_SYNC_WORD UINT32_C(0xabaddeed)

static unsigned char *put(unsigned char *to, uint32_t value)
{
	uint32_t stored = htole32(value);

	memcpy(to, &stored, sizeof(stored));
	return to + sizeof(stored);
}

static const unsigned char *get(const unsigned char *from, uint32_t *value)
{
	memcpy(value, from, sizeof(*value));
	*value = le32toh(*value);
	return from + sizeof(*value);
}

void mark6_put_file_header(void *to, const struct mark6_file_header *header)
{
	unsigned char *p = put(to, MARK6_SYNC_WORD);

	p = put(p, header->version);
	p = put(p, header->block_bytes);
	p = put(p, header->format);
	put(p, header->packet_bytes);
}

void mark6_put_block_header(void *to, const struct mark6_block_header *header)
{
	put(put(to, header->number), header->bytes);
}

bool mark6_get_file_header(const void *from, struct mark6_file_header *header)
{
	uint32_t sync_word;
	const unsigned char *p = get(from, &sync_word);

	memset(header, 0, sizeof(*header));
	if (sync_word != MARK6_SYNC_WORD)
		return false;
	p = get(p, &header->version);
	p = get(p, &header->block_bytes);
	p = get(p, &header->format);
	get(p, &header->packet_bytes);
	return header->version == MARK6_VERSION && header->format < MARK6_FORMAT_COUNT &&
	       header->packet_bytes > 0 && header->block_bytes <= MARK6_NUMBER_MAX &&
	       header->block_bytes >= MARK6_BLOCK_HEADER_BYTES &&
	       header->block_bytes - MARK6_BLOCK_HEADER_BYTES >= header->packet_bytes;
}

bool mark6_get_block_header(const void *from, const struct mark6_file_header *file,
			    struct mark6_block_header *header)
{
	const unsigned char *p = get(from, &header->number);

	get(p, &header->bytes);
	return header->number <= MARK6_NUMBER_MAX && header->bytes > MARK6_BLOCK_HEADER_BYTES &&
	       header->bytes <= file->block_bytes &&
	       (header->bytes - MARK6_BLOCK_HEADER_BYTES) % file->packet_bytes == 0;
}

bool mark6_is_packet(const void *data, enum mark6_format format, uint64_t packet_bytes)
{
	const unsigned char *packet = data;
	uint32_t word;

	if (format == MARK6_UNKNOWN)
		return true;
	if (packet_bytes < VDIF_LENGTH_AT + sizeof(word))
		return false;
	get(packet + (format == MARK6_VDIF ? VDIF_LENGTH_AT : 0), &word);
	return format == MARK6_VDIF ? UINT64_C(8) * (word & VDIF_LENGTH_MASK) == packet_bytes :
				      word == MARK5B_SYNC_WORD;
}

const char *mark6_format_name(enum mark6_format format)
{
	static const char *const names[MARK6_FORMAT_COUNT] = { "vdif", "mark5b", "unknown" };

	return names[format];
}

const char *mark6_format_suffix(enum mark6_format format)
{
	static const char *const suffixes[MARK6_FORMAT_COUNT] = { ".vdif", ".m5b", ".mark6" };

	return suffixes[format];
}
