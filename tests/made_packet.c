/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/made_packet.h"

#include <assert.h>
#include <string.h>

void made_payload(struct made_packet *made, size_t len, unsigned seed)
{
	made->end = made->at = made->room + MADE_ROOM;
	made_front(made, len);
	for (size_t i = 0; i < len; i++)
		made->at[i] = (unsigned char)(i * 7 + i / 251 + seed * 31);
}

void made_bytes(struct made_packet *made, const void *bytes, size_t len)
{
	made->end = made->at = made->room + MADE_ROOM;
	memcpy(made_front(made, len), bytes, len);
}

size_t made_len(const struct made_packet *made)
{
	return (size_t)(made->end - made->at);
}

unsigned char *made_front(struct made_packet *made, size_t len)
{
	assert((size_t)(made->at - made->room) >= len);
	made->at -= len;
	memset(made->at, 0, len);
	return made->at;
}

void made_put16(unsigned char *to, unsigned value)
{
	to[0] = (unsigned char)(value >> 8);
	to[1] = (unsigned char)value;
}

void made_put32(unsigned char *to, uint32_t value)
{
	made_put16(to, value >> 16);
	made_put16(to + 2, value & 0xffff);
}

void made_udp(struct made_packet *made, unsigned port)
{
	size_t len = made_len(made) + 8;
	unsigned char *header = made_front(made, 8);

	made_put16(header, 1000);
	made_put16(header + 2, port);
	made_put16(header + 4, len <= UINT16_MAX ? (unsigned)len : 0);
}

void made_ipv4(struct made_packet *made, unsigned protocol, unsigned id, unsigned place)
{
	size_t len = made_len(made) + 20;
	unsigned char *header = made_front(made, 20);

	header[0] = 0x45;
	made_put16(header + 2, (unsigned)len);
	made_put16(header + 4, id);
	made_put16(header + 6, place);
	header[8] = 64;
	header[9] = (unsigned char)protocol;
	made_put32(header + 12, 0x0a000001);
	made_put32(header + 16, 0x0a000002);
}

void made_ipv6(struct made_packet *made, unsigned next)
{
	size_t len = made_len(made);
	unsigned char *header = made_front(made, 40);

	header[0] = 0x60;
	made_put16(header + 4, len <= UINT16_MAX ? (unsigned)len : 0);
	header[6] = (unsigned char)next;
	header[7] = 64;
	header[8] = header[24] = 0xfd;
	header[23] = 1;
	header[39] = 2;
}

void made_extension(struct made_packet *made, unsigned kind, unsigned next, size_t len)
{
	unsigned char *header = made_front(made, len);

	header[0] = (unsigned char)next;
	header[1] = (unsigned char)(kind == 51 ? len / 4 - 2 : len / 8 - 1);
}

void made_fragment(struct made_packet *made, unsigned next, uint32_t id, unsigned place)
{
	unsigned char *header = made_front(made, 8);

	header[0] = (unsigned char)next;
	made_put16(header + 2, place);
	made_put32(header + 4, id);
}

void made_tag(struct made_packet *made, unsigned inner_type)
{
	unsigned char *tag = made_front(made, 4);

	made_put16(tag, 100);
	made_put16(tag + 2, inner_type);
}

void made_ethernet(struct made_packet *made, unsigned type)
{
	unsigned char *header = made_front(made, 14);

	memset(header, 2, 12);
	made_put16(header + 12, type);
}
