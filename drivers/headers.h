/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * headers.h - what stands in front of a datagram on the wire: Ethernet, IPv4 or IPv6, UDP; with their checksums
 *
 *   headers_init() once -> headers_put() for each datagram
 *
 * Nobody behind us fills in a checksum: all of them are right in the bytes.
 * Threads: no state but the caller's.
 */
#ifndef VSIB_DRIVERS_HEADERS_H
#define VSIB_DRIVERS_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define HEADERS_BYTES_MAX 62 /* Ethernet 14, IPv6 40, UDP 8 */
#define HEADERS_MAC_BYTES 6
#define HEADERS_ETHERNET_BYTES 14

struct headers_config {
	bool is_ethernet; /* false: they begin with IP */
	unsigned char to_mac[HEADERS_MAC_BYTES], from_mac[HEADERS_MAC_BYTES];
	struct sockaddr_storage to, from; /* with ports; both IPv4, or both IPv6 */
};

struct headers {
	unsigned char bytes[HEADERS_BYTES_MAX]; /* as they are for a datagram of no bytes */
	size_t count;                           /* of these bytes */
	size_t ip_at;
	bool is_ipv6;
	uint64_t constant_sum; /* of what the checksum of UDP covers in each datagram alike */
	uint16_t id;           /* of the next packet of IPv4 */
};

/** headers_init() - for datagrams that all go the same way */
void headers_init(struct headers *headers, const struct headers_config *config);

/** headers_payload_max() - the most bytes that a datagram's length can say */
size_t headers_payload_max(const struct headers *headers);

/**
 * headers_put() - headers->count bytes for one datagram
 * @parts: its payload lies in these, one behind the other
 * @bytes: of them together, up to headers_payload_max()
 */
void headers_put(struct headers *headers, const struct iovec *parts, unsigned part_count,
		 size_t bytes, unsigned char *to);

/**
 * headers_mac_of() - where Ethernet sends what is for a group, or for all
 * Return: false: the address is that of one machine.
 */
bool headers_mac_of(const struct sockaddr_storage *to, unsigned char *mac);

#endif
