/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/packet.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/dlt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bytes.h"

#define LINK_TYPE_RAW_IN_FILES 101 /* what DLT_RAW is called in savefiles, on every system */
#define LINK_TYPE_RAW_OF_OPENBSD 14

#define ETHERNET_TYPE_IPV4 0x0800
#define ETHERNET_TYPE_IPV6 0x86dd
#define ETHERNET_TYPE_NONE 0 /* of no interest here */

#define IP_UDP 17
#define IPV6_HOP_BY_HOP 0
#define IPV6_ROUTING 43
#define IPV6_FRAGMENT 44
#define IPV6_AUTHENTICATION 51
#define IPV6_DESTINATION 60
#define IPV6_OPTION_PAD1 0
#define IPV6_OPTION_JUMBO 0xc2

#define UDP_HEADER_BYTES 8

struct packet_finder {
	struct packet_finder_config config;
	uint64_t packets[PACKET_FATE_COUNT];
	uint64_t payload_bytes;
	int64_t first_utc_ns, last_utc_ns;
	struct fragments *fragments;
};

/* What is left of a packet behind the headers that have been read. */
struct span {
	const unsigned char *data;
	size_t len;
	bool is_cut; /* there was more on the wire than was captured */
};

/* What the headers of IP say; rest is behind them. */
struct ip {
	struct span rest;
	uint8_t protocol; /* of rest */
	bool is_fragment; /* rest is a part: */
	bool is_last;
	size_t offset;
	struct fragment_key key;
};

int packet_finder_create(struct packet_finder **out, const struct packet_finder_config *config)
{
	struct packet_finder *finder = calloc(1, sizeof(*finder));

	*out = NULL;
	if (!finder || fragments_create(&finder->fragments) < 0) {
		free(finder);
		return -ENOMEM;
	}
	finder->config = *config;
	*out = finder;
	return 0;
}

void packet_finder_free(struct packet_finder *finder)
{
	if (!finder)
		return;
	fragments_free(finder->fragments);
	free(finder);
}

/* ---- spans --------------------------------------------------------------------------------------- */

static void skip(struct span *span, size_t bytes)
{
	span->data += bytes;
	span->len -= bytes;
}

/* A header says how long what follows is: padding is cut off, and what is missing was not captured. */
static void limit(struct span *span, size_t bytes)
{
	span->is_cut = bytes > span->len;
	if (!span->is_cut)
		span->len = bytes;
}

/* A header that isn't there as a whole: by the snapshot length, or because another header says so. */
static enum packet_fate missing(const struct span *span)
{
	return span->is_cut ? PACKET_CUT : PACKET_BAD_HEADER;
}

/* ---- the link layer ------------------------------------------------------------------------------ */

/* The numbers for IPv6 are those of Linux, of NetBSD and OpenBSD, of FreeBSD, and of macOS. */
static unsigned type_of_family(uint32_t family)
{
	switch (family) {
	case 2:
		return ETHERNET_TYPE_IPV4;
	case 10:
	case 24:
	case 28:
	case 30:
		return ETHERNET_TYPE_IPV6;
	default:
		return ETHERNET_TYPE_NONE;
	}
}

/* Its writer's order of bytes may be either; a family is a small number. */
static unsigned type_of_either_order(const unsigned char *data)
{
	uint32_t family = bytes_le32(data);

	return type_of_family(family <= UINT16_MAX ? family : bytes_be32(data));
}

static unsigned type_of_version(const unsigned char *data)
{
	switch (data[0] >> 4) {
	case 4:
		return ETHERNET_TYPE_IPV4;
	case 6:
		return ETHERNET_TYPE_IPV6;
	default:
		return ETHERNET_TYPE_NONE;
	}
}

static size_t link_header_bytes(int link_type)
{
	switch (link_type) {
	case DLT_EN10MB:
		return 14;
	case DLT_LINUX_SLL:
		return 16;
	case DLT_LINUX_SLL2:
		return 20;
	case DLT_NULL:
	case DLT_LOOP:
		return 4;
	default:
		return 0;
	}
}

/* @data: the link layer's header, as a whole; of raw IP, one byte. Return: an Ethernet type. */
static unsigned link_protocol(int link_type, const unsigned char *data)
{
	switch (link_type) {
	case DLT_EN10MB:
		return bytes_be16(data + 12);
	case DLT_LINUX_SLL:
		return bytes_be16(data + 14);
	case DLT_LINUX_SLL2:
		return bytes_be16(data);
	case DLT_NULL:
		return type_of_either_order(data);
	case DLT_LOOP:
		return type_of_family(bytes_be32(data));
	default:
		return type_of_version(data);
	}
}

bool packet_knows_link(int link_type)
{
	switch (link_type) {
	case DLT_RAW:
	case LINK_TYPE_RAW_IN_FILES:
	case LINK_TYPE_RAW_OF_OPENBSD:
	case DLT_IPV4:
	case DLT_IPV6:
		return true;
	default:
		return link_header_bytes(link_type) > 0;
	}
}

static bool is_tag(unsigned type)
{
	return type == 0x8100 || type == 0x88a8 || type == 0x9100 || type == 0x9200;
}

/* Up to the IP header. @type: what follows */
static enum packet_fate skip_link(int link_type, struct span *span, unsigned *type)
{
	size_t header_bytes = link_header_bytes(link_type);

	if (!packet_knows_link(link_type))
		return PACKET_UNKNOWN_LINK;
	if (span->len < (header_bytes ? header_bytes : 1))
		return missing(span);
	*type = link_protocol(link_type, span->data);
	skip(span, header_bytes);
	while (is_tag(*type)) {
		if (span->len < 4)
			return missing(span);
		*type = bytes_be16(span->data + 2);
		skip(span, 4);
	}
	return PACKET_DATAGRAM;
}

/* ---- IP ------------------------------------------------------------------------------------------ */

static enum packet_fate read_ipv4(struct ip *ip)
{
	const unsigned char *header = ip->rest.data;
	size_t header_bytes, total_bytes;
	unsigned place;

	if (ip->rest.len < 20)
		return missing(&ip->rest);
	header_bytes = (size_t)(header[0] & 15) * 4;
	total_bytes = bytes_be16(header + 2);
	if (header[0] >> 4 != 4 || header_bytes < 20)
		return PACKET_BAD_HEADER;
	/* 0: longer than the field can say, and taken before the card segments it; all of it then */
	if (total_bytes)
		limit(&ip->rest, total_bytes);
	if (ip->rest.len < header_bytes)
		return missing(&ip->rest);
	place = bytes_be16(header + 6);
	ip->protocol = header[9];
	ip->is_last = !(place & 0x2000);
	ip->offset = (size_t)(place & 0x1fff) * 8;
	ip->is_fragment = !ip->is_last || ip->offset > 0;
	ip->key = (struct fragment_key){ .id = bytes_be16(header + 4), .version = 4 };
	memcpy(ip->key.source, header + 12, 4);
	memcpy(ip->key.destination, header + 16, 4);
	skip(&ip->rest, header_bytes);
	return PACKET_DATAGRAM;
}

/* In the options of a hop-by-hop header. Return: the length of a jumbogram; 0 = it is none. */
static size_t jumbo_bytes(const struct span *span)
{
	size_t at = 2, end;

	if (span->len < 8)
		return 0;
	end = ((size_t)span->data[1] + 1) * 8;
	if (end > span->len)
		return 0;
	while (at + 2 <= end) {
		const unsigned char *option = span->data + at;

		if (option[0] == IPV6_OPTION_JUMBO && option[1] == 4 && at + 6 <= end)
			return bytes_be32(option + 2);
		at += option[0] == IPV6_OPTION_PAD1 ? 1 : 2 + (size_t)option[1];
	}
	return 0;
}

static void read_fragment_header(struct ip *ip)
{
	const unsigned char *header = ip->rest.data;
	unsigned place = bytes_be16(header + 2);

	ip->is_last = !(place & 1);
	ip->offset = place & 0xfff8;
	/* one that is first and last is a whole datagram with a header too many */
	ip->is_fragment = !ip->is_last || ip->offset > 0;
	ip->key.id = bytes_be32(header + 4);
}

static bool is_extension(uint8_t protocol)
{
	return protocol == IPV6_HOP_BY_HOP || protocol == IPV6_ROUTING || protocol == IPV6_FRAGMENT ||
	       protocol == IPV6_AUTHENTICATION || protocol == IPV6_DESTINATION;
}

static size_t extension_bytes(uint8_t protocol, const unsigned char *header)
{
	if (protocol == IPV6_FRAGMENT)
		return 8;
	if (protocol == IPV6_AUTHENTICATION)
		return ((size_t)header[1] + 2) * 4;
	return ((size_t)header[1] + 1) * 8;
}

/* Over the headers between IPv6 and what it carries; what is behind that of a fragment is data of it. */
static enum packet_fate skip_extensions(struct ip *ip)
{
	while (is_extension(ip->protocol) && !ip->is_fragment) {
		const unsigned char *header = ip->rest.data;
		size_t bytes;

		if (ip->rest.len < 8)
			return missing(&ip->rest);
		bytes = extension_bytes(ip->protocol, header);
		if (ip->rest.len < bytes)
			return missing(&ip->rest);
		if (ip->protocol == IPV6_FRAGMENT)
			read_fragment_header(ip);
		ip->protocol = header[0];
		skip(&ip->rest, bytes);
	}
	return PACKET_DATAGRAM;
}

static enum packet_fate read_ipv6(struct ip *ip)
{
	const unsigned char *header = ip->rest.data;
	size_t payload_bytes;

	if (ip->rest.len < 40)
		return missing(&ip->rest);
	if (header[0] >> 4 != 6)
		return PACKET_BAD_HEADER;
	payload_bytes = bytes_be16(header + 4);
	ip->protocol = header[6];
	ip->key = (struct fragment_key){ .version = 6 };
	memcpy(ip->key.source, header + 8, 16);
	memcpy(ip->key.destination, header + 24, 16);
	skip(&ip->rest, 40);
	if (payload_bytes == 0 && ip->protocol == IPV6_HOP_BY_HOP)
		payload_bytes = jumbo_bytes(&ip->rest);
	/* 0: as with IPv4 */
	if (payload_bytes)
		limit(&ip->rest, payload_bytes);
	return skip_extensions(ip);
}

/* ---- fragments, UDP ------------------------------------------------------------------------------ */

/* Return: PACKET_DATAGRAM: it is whole now, in rest. */
static enum packet_fate join(struct packet_finder *finder, struct ip *ip, int64_t utc_ns)
{
	const struct fragment fragment = {
		.key = ip->key,
		.data = ip->rest.data,
		.len = ip->rest.len,
		.offset = ip->offset,
		.is_last = ip->is_last,
		.protocol = ip->protocol,
		.utc_ns = utc_ns,
	};
	struct fragments_whole whole;

	if (ip->rest.is_cut)
		return PACKET_CUT;
	switch (fragments_take(finder->fragments, &fragment, &whole)) {
	case FRAGMENTS_WHOLE:
		break;
	case FRAGMENTS_HELD:
		return PACKET_FRAGMENT;
	case FRAGMENTS_REFUSED:
		return PACKET_REFUSED;
	default:
		return PACKET_BAD_HEADER;
	}
	ip->rest = (struct span){ .data = whole.data, .len = whole.len };
	ip->protocol = whole.protocol;
	ip->is_fragment = false;
	if (ip->key.version == 6) {
		enum packet_fate fate = skip_extensions(ip);

		return ip->is_fragment ? PACKET_BAD_HEADER : fate;
	}
	return PACKET_DATAGRAM;
}

static enum packet_fate read_udp(const struct packet_finder *finder, struct span *span,
				 struct packet_udp *udp)
{
	const unsigned char *header = span->data;
	size_t udp_bytes;

	if (span->len < UDP_HEADER_BYTES)
		return missing(span);
	udp->source_port = bytes_be16(header);
	udp->destination_port = bytes_be16(header + 2);
	if (finder->config.port && udp->destination_port != finder->config.port)
		return PACKET_OTHER_PORT;
	udp_bytes = bytes_be16(header + 4);
	if (udp_bytes == 0 && span->is_cut)
		return PACKET_CUT;
	if (udp_bytes == 0) /* a jumbogram, or longer than the field can say */
		udp_bytes = span->len;
	if (udp_bytes < UDP_HEADER_BYTES || (udp_bytes > span->len && !span->is_cut))
		return PACKET_BAD_HEADER;
	udp->len = udp_bytes - UDP_HEADER_BYTES;
	if (udp_bytes > span->len)
		return PACKET_CUT;
	udp->payload = header + UDP_HEADER_BYTES;
	return PACKET_DATAGRAM;
}

static enum packet_fate find(struct packet_finder *finder, struct span span, int64_t utc_ns,
			     struct packet_udp *udp)
{
	unsigned type = ETHERNET_TYPE_NONE;
	enum packet_fate fate = skip_link(finder->config.link_type, &span, &type);
	struct ip ip = { .rest = span };

	if (fate != PACKET_DATAGRAM)
		return fate;
	if (type != ETHERNET_TYPE_IPV4 && type != ETHERNET_TYPE_IPV6)
		return PACKET_NOT_IP;
	fate = type == ETHERNET_TYPE_IPV4 ? read_ipv4(&ip) : read_ipv6(&ip);
	if (fate == PACKET_DATAGRAM && ip.is_fragment &&
	    (ip.protocol == IP_UDP || (ip.key.version == 6 && is_extension(ip.protocol))))
		fate = join(finder, &ip, utc_ns);
	if (fate == PACKET_DATAGRAM && ip.protocol != IP_UDP)
		fate = PACKET_NOT_UDP;
	if (fate != PACKET_DATAGRAM)
		return fate;
	udp->sender_bytes = ip.key.version == 4 ? 4 : 16;
	memcpy(udp->sender, ip.key.source, sizeof(udp->sender));
	return read_udp(finder, &ip.rest, udp);
}

static void count(struct packet_finder *finder, const struct packet *packet, enum packet_fate fate)
{
	finder->packets[fate]++;
	if (finder->first_utc_ns == 0)
		finder->first_utc_ns = packet->utc_ns;
	if (packet->utc_ns)
		finder->last_utc_ns = packet->utc_ns;
}

enum packet_fate packet_find(struct packet_finder *finder, const struct packet *packet,
			     struct packet_udp *udp)
{
	const struct span all = {
		.data = packet->data,
		.len = packet->caplen,
		.is_cut = packet->caplen < packet->len,
	};
	enum packet_fate fate;

	*udp = (struct packet_udp){ 0 };
	fate = find(finder, all, packet->utc_ns, udp);
	count(finder, packet, fate);
	if (fate == PACKET_DATAGRAM)
		finder->payload_bytes += udp->len;
	return fate;
}

void packet_leave_out(struct packet_finder *finder, const struct packet *packet)
{
	count(finder, packet, PACKET_FILTERED);
}

void packet_finder_end(struct packet_finder *finder)
{
	fragments_end(finder->fragments);
}

/* ---- what was counted ---------------------------------------------------------------------------- */

void packet_finder_counts(const struct packet_finder *finder, struct packet_counts *counts)
{
	memcpy(counts->packets, finder->packets, sizeof(counts->packets));
	counts->payload_bytes = finder->payload_bytes;
	counts->first_utc_ns = finder->first_utc_ns;
	counts->last_utc_ns = finder->last_utc_ns;
	counts->fragments = *fragments_counts(finder->fragments);
}

uint64_t packet_count(const struct packet_counts *counts)
{
	uint64_t sum = 0;

	for (int fate = 0; fate < PACKET_FATE_COUNT; fate++)
		sum += counts->packets[fate];
	return sum;
}

static const struct {
	const char *key;
	const char *words;
} fates[PACKET_FATE_COUNT] = {
	[PACKET_DATAGRAM] = { "datagram", "UDP datagrams" },
	[PACKET_FRAGMENT] = { "fragment", "fragments" },
	[PACKET_FILTERED] = { "filtered", "left out by the filter" },
	[PACKET_OTHER_PORT] = { "other_port", "for another port" },
	[PACKET_NOT_UDP] = { "not_udp", "not UDP" },
	[PACKET_NOT_IP] = { "not_ip", "not IP" },
	[PACKET_CUT] = { "cut", "cut short by the capture" },
	[PACKET_BAD_HEADER] = { "bad_header", "with a bad header" },
	[PACKET_REFUSED] = { "refused_fragment", "fragments that contradict others" },
	[PACKET_UNKNOWN_LINK] = { "unknown_link", "of an unknown link type" },
};

const char *packet_fate_key(enum packet_fate fate)
{
	return fates[fate].key;
}

/* Appends like printf to the @*used characters of @text. */
static void __attribute__((format(printf, 4, 5)))
append(char *text, size_t size, size_t *used, const char *format, ...)
{
	va_list arguments;
	int len;

	va_start(arguments, format);
	len = vsnprintf(text + *used, size - *used, format, arguments);
	va_end(arguments);
	if (len > 0)
		*used = (size_t)len < size - *used ? *used + (size_t)len : size - 1;
}

bool packet_tell_left_out(const struct packet_counts *counts, char *text, size_t size)
{
	const struct fragments_counts *fragments = &counts->fragments;
	size_t used = 0;

	text[0] = '\0';
	for (int fate = PACKET_FILTERED; fate < PACKET_FATE_COUNT; fate++)
		if (counts->packets[fate])
			append(text, size, &used, "%s%" PRIu64 " %s", used ? ", " : "",
			       counts->packets[fate], fates[fate].words);
	if (fragments->incomplete_count)
		append(text, size, &used,
		       "%s%" PRIu64 " fragment%s of %" PRIu64 " incomplete datagram%s",
		       used ? ", " : "", fragments->incomplete_fragments,
		       fragments->incomplete_fragments == 1 ? "" : "s", fragments->incomplete_count,
		       fragments->incomplete_count == 1 ? "" : "s");
	return used > 0;
}

bool packet_tell_overlaps(const struct packet_counts *counts, char *text, size_t size)
{
	uint64_t count = counts->fragments.overlapping_fragments;

	text[0] = '\0';
	if (count)
		snprintf(text, size,
			 "%" PRIu64 " fragment%s others: of each byte the first one is kept", count,
			 count == 1 ? " overlaps" : "s overlap");
	return count > 0;
}
