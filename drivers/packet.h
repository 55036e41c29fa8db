/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packet.h - the UDP payload in a captured packet
 *
 *   packet_finder_create() -> packet_find() for each packet, in the order of capture -> packet_finder_end()
 *   -> packet_finder_counts() -> packet_finder_free()
 *
 * Ethernet with any number of VLAN tags, Linux cooked captures (both versions), raw IP and the loopback
 * formats; IPv4, IPv6 with extension headers, jumbograms; fragments are put together (fragments.h). Checksums
 * are not looked at: a card may be about to put them in. What isn't a whole UDP datagram is counted by its
 * reason: the packets of all fates add up to the packets that were given.
 *
 * Threads: one caller at a time. Whatever the bytes are, none outside the packet is read. Memory is constant.
 */
#ifndef VSIB_DRIVERS_PACKET_H
#define VSIB_DRIVERS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/fragments.h"

#define PACKET_TEXT_LEN 400 /* for packet_tell_left_out() */

/* What became of a packet. */
enum packet_fate {
	PACKET_DATAGRAM, /* here is a whole datagram's payload; of a fragmented one, with its last packet */
	PACKET_FRAGMENT, /* part of a datagram that is not whole yet, or one that was there already */
	PACKET_FILTERED,   /* the caller didn't want it: packet_leave_out() */
	PACKET_OTHER_PORT, /* a whole datagram, for another port than the one wanted */
	PACKET_NOT_UDP,    /* IP, with something else in it */
	PACKET_NOT_IP,     /* ARP, or whatever */
	PACKET_CUT,        /* longer than what was captured of it (the snapshot length) */
	PACKET_BAD_HEADER, /* lengths that contradict each other */
	PACKET_REFUSED, /* a fragment that contradicts others (fragments.h), or of a datagram with such */
	PACKET_UNKNOWN_LINK, /* the capture's link type is not known here */
};
#define PACKET_FATE_COUNT 10

struct packet_finder_config {
	int link_type; /* DLT_..., as pcap_datalink() says */
	uint16_t port; /* of the destination; 0 = any */
};

/* As it was captured, from its link layer's header on, at any address. */
struct packet {
	const void *data;
	size_t caplen; /* of @data; 0 is fine */
	size_t len;    /* on the wire */
	int64_t utc_ns; /* its time stamp, which also says when a fragment is too old; 0 = not known */
};

struct packet_udp {
	const unsigned char *payload; /* in the packet, or where fragments are put together */
	size_t len; /* with PACKET_CUT: of the payload as it was sent; 0 = not known */
	uint16_t source_port;
	uint16_t destination_port;
	unsigned char sender[16]; /* its address; of IPv4 the first 4 bytes */
	unsigned sender_bytes;    /* 4 or 16 */
};

struct packet_counts {
	uint64_t packets[PACKET_FATE_COUNT];
	uint64_t payload_bytes; /* of the datagrams */
	int64_t first_utc_ns;   /* time stamps of the packets; 0 = none, or not known */
	int64_t last_utc_ns;
	struct fragments_counts fragments; /* what became of the fragments */
};

struct packet_finder;

/** packet_knows_link() - DLT_...; of others all packets are PACKET_UNKNOWN_LINK */
bool packet_knows_link(int link_type);

/** packet_finder_create() - Return: 0; -ENOMEM. */
int packet_finder_create(struct packet_finder **out, const struct packet_finder_config *config);

/** packet_finder_free() - NULL is fine */
void packet_finder_free(struct packet_finder *finder);

/**
 * packet_find() - the next packet
 * @udp: always written; the payload is valid until the next call, and as long as the packet's data
 *
 * No copy is made, but of fragments. A payload may be empty. Never blocks, never allocates.
 */
enum packet_fate packet_find(struct packet_finder *finder, const struct packet *packet,
			     struct packet_udp *udp);

/** packet_leave_out() - a packet that need not be looked at: PACKET_FILTERED */
void packet_leave_out(struct packet_finder *finder, const struct packet *packet);

/** packet_finder_end() - no more packets: fragments that are held are incomplete */
void packet_finder_end(struct packet_finder *finder);

/** packet_finder_counts() - so far */
void packet_finder_counts(const struct packet_finder *finder, struct packet_counts *counts);

/** packet_count() - packets of all fates */
uint64_t packet_count(const struct packet_counts *counts);

/** packet_fate_key() - "not_udp": a name for JSON */
const char *packet_fate_key(enum packet_fate fate);

/**
 * packet_tell_left_out() - "3 not UDP, 2 cut short by the capture, 4 fragments of 1 incomplete datagram"
 *
 * Return: false: nothing was left out, and @text is empty.
 */
bool packet_tell_left_out(const struct packet_counts *counts, char *text, size_t size);

/**
 * packet_tell_overlaps() - "2 fragments overlap others: of each byte the first one is kept"
 *
 * Return: false: none does, and @text is empty.
 */
bool packet_tell_overlaps(const struct packet_counts *counts, char *text, size_t size);

#endif
