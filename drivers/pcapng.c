/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/pcapng.h"

#include <assert.h>
#include <string.h>

#define BLOCK_SECTION UINT32_C(0x0a0d0d0a)
#define BLOCK_INTERFACE UINT32_C(1)
#define BLOCK_PACKET UINT32_C(6)
#define BYTE_ORDER_MAGIC UINT32_C(0x1a2b3c4d)
#define VERSION_MAJOR 1
#define VERSION_MINOR 0

#define OPTION_END 0
#define OPTION_COMMENT 1
#define OPTION_INTERFACE_NAME 2
#define OPTION_PROGRAM 4
#define OPTION_TIME_RESOLUTION 9
#define OPTION_FILTER 11
#define OPTION_CUSTOM 19373 /* bytes, of no use in a copy */
#define OPTION_HEAD_BYTES ((size_t)4)
#define ENTERPRISE UINT32_C(32473)
#define CUSTOM_BYTES_MAX UINT16_C(65532) /* of one option, a multiple of PCAPNG_ALIGN */
#define NANOSECONDS 9                    /* 10 to the power of minus that */

#define NAME_MAX_BYTES 63
#define FILTER_MAX_BYTES 127

static char *put_16(char *to, uint16_t value)
{
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

static char *put_32(char *to, uint32_t value)
{
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

static size_t padded(size_t bytes)
{
	return (bytes + PCAPNG_ALIGN - 1) / PCAPNG_ALIGN * PCAPNG_ALIGN;
}

static char *put_option(char *to, uint16_t code, const void *value, size_t bytes)
{
	to = put_16(put_16(to, code), (uint16_t)bytes);
	memcpy(to, value, bytes);
	memset(to + bytes, 0, padded(bytes) - bytes);
	return to + padded(bytes);
}

static char *put_text(char *to, uint16_t code, const char *text, size_t max)
{
	size_t bytes = strnlen(text, max);

	return bytes ? put_option(to, code, text, bytes) : to;
}

/*
 * Options that mean nothing, and the end of a block whose length is in its second word: all of it up to
 * @until. What was there before doesn't leave this machine.
 */
static void finish_block(char *block, char *from, char *until)
{
	size_t left = (size_t)(until - from) - PCAPNG_TAIL_BYTES;

	assert(until >= from + PCAPNG_TAIL_BYTES && left % PCAPNG_ALIGN == 0);
	memset(from, 0, left); /* the last word of it is the end of the options */
	while (left >= 3 * OPTION_HEAD_BYTES) {
		size_t bytes = left - 2 * OPTION_HEAD_BYTES;

		if (bytes > CUSTOM_BYTES_MAX)
			bytes = CUSTOM_BYTES_MAX;
		put_32(put_16(put_16(from, OPTION_CUSTOM), (uint16_t)bytes), ENTERPRISE);
		from += OPTION_HEAD_BYTES + bytes;
		left -= OPTION_HEAD_BYTES + bytes;
	}
	if (left == 2 * OPTION_HEAD_BYTES)
		put_16(from, OPTION_COMMENT); /* an empty one */
	put_32(block + sizeof(uint32_t), (uint32_t)(until - block));
	put_32(until - PCAPNG_TAIL_BYTES, (uint32_t)(until - block));
}

static char *put_section(char *block, const struct pcapng_interface *interface)
{
	char *to = put_32(put_32(block, BLOCK_SECTION), 0);

	to = put_16(put_16(put_32(to, BYTE_ORDER_MAGIC), VERSION_MAJOR), VERSION_MINOR);
	memset(to, 0xff, sizeof(uint64_t)); /* its length is not told */
	to += sizeof(uint64_t);
	to = put_text(to, OPTION_PROGRAM, interface->program, NAME_MAX_BYTES);
	finish_block(block, to, to + OPTION_HEAD_BYTES + PCAPNG_TAIL_BYTES);
	return to + OPTION_HEAD_BYTES + PCAPNG_TAIL_BYTES;
}

void pcapng_begin(void *to, size_t bytes, const struct pcapng_interface *interface)
{
	static const unsigned char resolution = NANOSECONDS;
	char *until = (char *)to + bytes, *block, *end;
	char filter[1 + FILTER_MAX_BYTES] = { 0 }; /* behind its kind: an expression of libpcap */
	size_t filter_bytes = strnlen(interface->filter, FILTER_MAX_BYTES);

	assert(bytes >= PCAPNG_BEGIN_BYTES && bytes % PCAPNG_ALIGN == 0);
	block = put_section(to, interface);
	end = put_32(put_32(block, BLOCK_INTERFACE), 0);
	end = put_32(put_16(put_16(end, interface->link_type), 0), interface->snap_len);
	end = put_text(end, OPTION_INTERFACE_NAME, interface->name, NAME_MAX_BYTES);
	end = put_option(end, OPTION_TIME_RESOLUTION, &resolution, sizeof(resolution));
	memcpy(filter + 1, interface->filter, filter_bytes);
	if (filter_bytes)
		end = put_option(end, OPTION_FILTER, filter, 1 + filter_bytes);
	finish_block(block, end, until);
}

void pcapng_packet(void *data, void *until, const struct pcapng_packet *packet)
{
	uint64_t stamp = packet->utc_ns > 0 ? (uint64_t)packet->utc_ns : 0;
	char *block = (char *)data - PCAPNG_HEAD_BYTES;
	char *end = (char *)data + packet->captured_bytes;
	char *to = put_32(put_32(block, BLOCK_PACKET), 0);

	to = put_32(to, 0); /* the section's only interface */
	to = put_32(put_32(to, (uint32_t)(stamp >> 32)), (uint32_t)stamp);
	put_32(put_32(to, packet->captured_bytes), packet->wire_bytes);
	memset(end, 0, padded(packet->captured_bytes) - packet->captured_bytes);
	finish_block(block, (char *)data + padded(packet->captured_bytes), until);
}
