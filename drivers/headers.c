/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/headers.h"

#include <netinet/in.h>
#include <string.h>

#include "drivers/bytes.h"
#include "drivers/endpoint.h"

#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES 8
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define HOPS 64
#define IPV4_DONT_FRAGMENT 0x4000
#define IPV4_LENGTH_AT 2
#define IPV4_ID_AT 4
#define IPV4_SUM_AT 10
#define IPV4_ADDRESSES_AT 12
#define IPV6_LENGTH_AT 4
#define IPV6_ADDRESSES_AT 8
#define UDP_LENGTH_AT 4
#define UDP_SUM_AT 6

/* ---- checksums (RFC 1071) ------------------------------------------------------------------------ */

/*
 * Sums are of 16-bit words as they lie in memory, whatever the machine's order of bytes: what comes out is stored as it
 * is. The carries are added to the lowest bit, so that words of 64 bits serve as well; four of them at a time, since each
 * addition has to wait for the one before it.
 */
static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum = a + b;

	return sum + (sum < b);
}

static uint64_t word_at(const unsigned char *data)
{
	uint64_t word;

	memcpy(&word, data, sizeof(word));
	return word;
}

static uint64_t sum_of(const unsigned char *data, size_t bytes)
{
	uint64_t a = 0, b = 0, c = 0, d = 0, rest = 0;

	for (; bytes >= 4 * sizeof(a); bytes -= 4 * sizeof(a), data += 4 * sizeof(a)) {
		a = add(a, word_at(data));
		b = add(b, word_at(data + sizeof(a)));
		c = add(c, word_at(data + 2 * sizeof(a)));
		d = add(d, word_at(data + 3 * sizeof(a)));
	}
	for (; bytes >= sizeof(a); bytes -= sizeof(a), data += sizeof(a))
		a = add(a, word_at(data));
	memcpy(&rest, data, bytes);
	return add(add(add(a, b), add(c, d)), rest);
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* A part that begins at an odd byte has its bytes in the other halves of the words. */
static uint64_t sum_of_parts(const struct iovec *parts, unsigned part_count)
{
	uint64_t sum = 0;
	size_t at = 0;

	for (unsigned i = 0; i < part_count; i++) {
		uint16_t part = fold(sum_of(parts[i].iov_base, parts[i].iov_len));

		sum += at % 2 ? (uint16_t)(part << 8 | part >> 8) : part;
		at += parts[i].iov_len;
	}
	return sum;
}

static void put_sum(unsigned char *to, uint16_t sum)
{
	memcpy(to, &sum, sizeof(sum));
}

/* ---- headers ------------------------------------------------------------------------------------- */

static void init_ipv4(unsigned char *ip, const struct headers_config *config)
{
	const struct sockaddr_in *to = (const struct sockaddr_in *)&config->to;
	const struct sockaddr_in *from = (const struct sockaddr_in *)&config->from;

	ip[0] = 0x45; /* version, and length in words */
	bytes_put_be16(ip + 6, IPV4_DONT_FRAGMENT);
	ip[8] = HOPS;
	ip[9] = IPPROTO_UDP;
	memcpy(ip + IPV4_ADDRESSES_AT, &from->sin_addr, sizeof(from->sin_addr));
	memcpy(ip + IPV4_ADDRESSES_AT + sizeof(from->sin_addr), &to->sin_addr, sizeof(to->sin_addr));
}

static void init_ipv6(unsigned char *ip, const struct headers_config *config)
{
	const struct sockaddr_in6 *to = (const struct sockaddr_in6 *)&config->to;
	const struct sockaddr_in6 *from = (const struct sockaddr_in6 *)&config->from;

	ip[0] = 0x60; /* version */
	ip[6] = IPPROTO_UDP;
	ip[7] = HOPS;
	memcpy(ip + IPV6_ADDRESSES_AT, &from->sin6_addr, sizeof(from->sin6_addr));
	memcpy(ip + IPV6_ADDRESSES_AT + sizeof(from->sin6_addr), &to->sin6_addr, sizeof(to->sin6_addr));
}

static void init_ethernet(unsigned char *ethernet, const struct headers_config *config, bool is_ipv6)
{
	memcpy(ethernet, config->to_mac, HEADERS_MAC_BYTES);
	memcpy(ethernet + HEADERS_MAC_BYTES, config->from_mac, HEADERS_MAC_BYTES);
	bytes_put_be16(ethernet + (size_t)2 * HEADERS_MAC_BYTES, is_ipv6 ? TYPE_IPV6 : TYPE_IPV4);
}

/* Addresses, protocol and ports: all that the checksum covers besides lengths and payload. */
static uint64_t sum_constants(const struct headers *headers)
{
	const unsigned char *ip = headers->bytes + headers->ip_at;
	const unsigned char protocol[2] = { 0, IPPROTO_UDP };
	const unsigned char *udp = headers->bytes + headers->count - UDP_BYTES;
	size_t addresses_at = headers->is_ipv6 ? IPV6_ADDRESSES_AT : IPV4_ADDRESSES_AT;

	return fold(sum_of(ip + addresses_at, (size_t)(udp - ip) - addresses_at)) +
	       (uint64_t)fold(sum_of(protocol, sizeof(protocol))) + fold(sum_of(udp, UDP_LENGTH_AT));
}

void headers_init(struct headers *headers, const struct headers_config *config)
{
	unsigned char *ip, *udp;

	*headers = (struct headers){ .is_ipv6 = config->to.ss_family == AF_INET6 };
	if (config->is_ethernet)
		headers->ip_at = HEADERS_ETHERNET_BYTES;
	ip = headers->bytes + headers->ip_at;
	udp = ip + (headers->is_ipv6 ? IPV6_BYTES : IPV4_BYTES);
	headers->count = (size_t)(udp - headers->bytes) + UDP_BYTES;
	if (config->is_ethernet)
		init_ethernet(headers->bytes, config, headers->is_ipv6);
	if (headers->is_ipv6)
		init_ipv6(ip, config);
	else
		init_ipv4(ip, config);
	bytes_put_be16(udp, endpoint_port(&config->from));
	bytes_put_be16(udp + 2, endpoint_port(&config->to));
	headers->constant_sum = sum_constants(headers);
}

size_t headers_payload_max(const struct headers *headers)
{
	return UINT16_MAX - UDP_BYTES - (headers->is_ipv6 ? 0 : IPV4_BYTES);
}

static void put_ipv4(struct headers *headers, uint16_t udp_bytes, unsigned char *ip)
{
	bytes_put_be16(ip + IPV4_LENGTH_AT, (uint16_t)(IPV4_BYTES + udp_bytes));
	bytes_put_be16(ip + IPV4_ID_AT, headers->id++);
	put_sum(ip + IPV4_SUM_AT, (uint16_t)~fold(sum_of(ip, IPV4_BYTES)));
}

void headers_put(struct headers *headers, const struct iovec *parts, unsigned part_count,
		 size_t bytes, unsigned char *to)
{
	uint16_t udp_bytes = (uint16_t)(UDP_BYTES + bytes), sum;
	unsigned char *ip = to + headers->ip_at, *udp = to + headers->count - UDP_BYTES;
	uint16_t length;

	memcpy(to, headers->bytes, headers->count);
	if (headers->is_ipv6)
		bytes_put_be16(ip + IPV6_LENGTH_AT, udp_bytes);
	else
		put_ipv4(headers, udp_bytes, ip);
	bytes_put_be16(udp + UDP_LENGTH_AT, udp_bytes);
	memcpy(&length, udp + UDP_LENGTH_AT, sizeof(length));
	/* the length counts twice: in the header, and in what is thought to stand in front of it */
	sum = (uint16_t)~fold(headers->constant_sum + 2 * (uint64_t)length +
			      sum_of_parts(parts, part_count));
	/* 0 would say that there is none */
	put_sum(udp + UDP_SUM_AT, sum ? sum : UINT16_MAX);
}

bool headers_mac_of(const struct sockaddr_storage *to, unsigned char *mac)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)to;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)to;
	static const unsigned char ipv4_groups[] = { 0x01, 0x00, 0x5e };

	if (to->ss_family == AF_INET && v4->sin_addr.s_addr == htonl(INADDR_BROADCAST)) {
		memset(mac, 0xff, HEADERS_MAC_BYTES);
		return true;
	}
	if (!endpoint_is_multicast(to))
		return false;
	if (to->ss_family == AF_INET) {
		memcpy(mac, ipv4_groups, sizeof(ipv4_groups));
		memcpy(mac + 3, (const unsigned char *)&v4->sin_addr + 1, 3);
		mac[3] &= 0x7f;
	} else {
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, v6->sin6_addr.s6_addr + 12, 4);
	}
	return true;
}
