/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_packet.h - packets for tests, made from the inside out
 *
 *   made_payload(), then the headers in front of it: made_udp(), made_ipv4(), made_ethernet() ...
 *   -> made.at, made_len()
 */
#ifndef VSIB_TESTS_MADE_PACKET_H
#define VSIB_TESTS_MADE_PACKET_H

#include <stddef.h>
#include <stdint.h>

#define MADE_ROOM 100000

struct made_packet {
	unsigned char room[MADE_ROOM];
	unsigned char *at; /* where it begins now */
	unsigned char *end;
};

/** made_payload() - @len bytes that tell their place, and @seed */
void made_payload(struct made_packet *made, size_t len, unsigned seed);

/** made_bytes() - the payload is a copy of these */
void made_bytes(struct made_packet *made, const void *bytes, size_t len);

/** made_len() - of what is there so far */
size_t made_len(const struct made_packet *made);

/** made_front() - room for a header in front, zeroed; Return: made->at */
unsigned char *made_front(struct made_packet *made, size_t len);

/** made_put16(), _put32() - big-endian */
void made_put16(unsigned char *to, unsigned value);
void made_put32(unsigned char *to, uint32_t value);

/** made_udp() - from port 1000, without a checksum */
void made_udp(struct made_packet *made, unsigned port);

/** made_ipv4() - @place: the field with the offset in units of 8 bytes; 0x2000: more follow */
void made_ipv4(struct made_packet *made, unsigned protocol, unsigned id, unsigned place);

/** made_ipv6() - @next: what follows */
void made_ipv6(struct made_packet *made, unsigned next);

/** made_extension() - an IPv6 header of @len bytes, padded; authentication (51) counts differently */
void made_extension(struct made_packet *made, unsigned kind, unsigned next, size_t len);

/** made_fragment() - the IPv6 header of a fragment; @place: offset in bytes, 1: more follow */
void made_fragment(struct made_packet *made, unsigned next, uint32_t id, unsigned place);

/** made_tag() - a VLAN tag; the outermost one's type goes to made_ethernet() */
void made_tag(struct made_packet *made, unsigned inner_type);

void made_ethernet(struct made_packet *made, unsigned type);

#endif
