/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/mark6.h"

#include <endian.h>
#include <string.h>

#include "drivers/mark5b.h"
#include "drivers/vdif.h"

#define PACKET_LOOK_BYTES 12 /* in which VDIF has its length, and Mark5B its sync word */

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
	if (format == MARK6_UNKNOWN)
		return true;
	if (packet_bytes < PACKET_LOOK_BYTES)
		return false;
	return format == MARK6_VDIF ? vdif_frame_bytes(data) == packet_bytes : mark5b_is_sync(data);
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
