/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * to_udp.c - `udp:HOST:PORT`, one datagram for each unit
 *
 *   psn=none|le64|be64|le32|be32   number in front of each
 *   frame=SIZE           payload of each, without the number
 *   from=ADDR[:PORT]     source address; default: the kernel's choice
 *   iface=NAME           a multicast group's interface, or that of a link-local address
 *   ttl=N                of multicast; default 1, so that it stays in this network
 *   loop=no              multicast isn't heard on this machine
 *   buffer=SIZE          asked of the kernel; default 4Mi
 *   gso=auto|yes|no      several datagrams in one message
 *
 * Equal datagrams go to the kernel in messages of up to 64 KiB, which it cuts where they leave (UDP_SEGMENT, Linux 4.18): one
 * way through its layers instead of eight. Where that is refused, each is a message of its own; either way many of
 * them go with one call.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/destination.h"
#include "drivers/device_name.h"
#include "drivers/psn.h"
#include "drivers/units.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define PARTS_MAX 3             /* number and two parts */
#define MESSAGE_BYTES_MAX 65000 /* of datagrams in one message, safely below what IP can say */
#define SEGMENTS_MAX 64         /* the kernel's own limit */
#define BUFFER_DEFAULT (UINT64_C(4) << 20)
#define BUFFER_MAX (UINT64_C(1) << 30)
#define IPV4_HEADERS 28
#define IPV6_HEADERS 48
#define HOST_LEN 256

enum gso { GSO_AUTO, GSO_YES, GSO_NO };

struct to_udp {
	int fd;
	char host[HOST_LEN], port[8];
	char from_host[HOST_LEN], from_port[8];
	unsigned interface;
	char interface_name[IF_NAMESIZE];
	uint64_t ttl, buffer_bytes;
	bool is_loop;
	enum gso gso;
	int family;
	bool is_gso; /* messages of several datagrams */

	struct mmsghdr messages[DESTINATION_BATCH];
	struct iovec pieces[DESTINATION_BATCH * PARTS_MAX];
	unsigned counts[DESTINATION_BATCH]; /* units of each message */
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} controls[DESTINATION_BATCH];
};

/* ---- details --------------------------------------------------------------------------------- */

/* "ADDR:PORT", "[ADDR]:PORT"; without a port, if that is allowed. Return: false: it is neither. */
static bool split_address(const char *text, bool needs_port, char *host, char *port)
{
	const char *end = text, *colon;
	size_t len;

	if (*text == '[') {
		end = strchr(++text, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
		colon = end[1] ? end + 1 : NULL;
	} else {
		colon = strrchr(text, ':');
		end = colon ? colon : text + strlen(text);
	}
	len = (size_t)(end - text);
	if (len == 0 || len >= HOST_LEN || (needs_port && !colon) || (colon && strlen(colon + 1) > 5))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	strcpy(port, colon ? colon + 1 : "0");
	return true;
}

static int take_psn(struct destination *destination, const char *value)
{
	if (psn_kind_of(value, &destination->psn) && psn_can_put(destination->psn))
		return 0;
	return destination_fail(destination, EINVAL, "psn=%s: expected " PSN_PUT_NAMES, value);
}

static int take_interface(struct destination *destination, struct to_udp *udp, const char *value)
{
	udp->interface = if_nametoindex(value);
	if (!udp->interface)
		return destination_fail(destination, ENODEV, "there is no interface %s", value);
	snprintf(udp->interface_name, sizeof(udp->interface_name), "%s", value);
	return 0;
}

static int take_gso(struct destination *destination, struct to_udp *udp, const char *value)
{
	udp->gso = strcmp(value, "yes") == 0 ? GSO_YES :
		   strcmp(value, "no") == 0  ? GSO_NO :
					       GSO_AUTO;
	if (udp->gso != GSO_AUTO || strcmp(value, "auto") == 0)
		return 0;
	return destination_fail(destination, EINVAL, "gso=%s: expected auto, yes or no", value);
}

static int take_loop(struct destination *destination, struct to_udp *udp, const char *value)
{
	udp->is_loop = strcmp(value, "yes") == 0;
	if (udp->is_loop || strcmp(value, "no") == 0)
		return 0;
	return destination_fail(destination, EINVAL, "loop=%s: expected yes or no", value);
}

static int take_detail(struct destination *destination, struct to_udp *udp, const char *key,
		       const char *value)
{
	const struct device_voice voice = destination_voice(destination);
	uint64_t bytes = 0;
	int ret;

	if (strcmp(key, "psn") == 0)
		return take_psn(destination, value);
	if (strcmp(key, "iface") == 0)
		return take_interface(destination, udp, value);
	if (strcmp(key, "gso") == 0)
		return take_gso(destination, udp, value);
	if (strcmp(key, "loop") == 0)
		return take_loop(destination, udp, value);
	if (strcmp(key, "ttl") == 0)
		return device_detail_count(&voice, key, value, &udp->ttl, 255);
	if (strcmp(key, "from") == 0)
		return split_address(value, false, udp->from_host, udp->from_port) ?
			       0 :
			       destination_fail(destination, EINVAL,
						"from=%s: expected ADDR or ADDR:PORT", value);
	ret = device_detail_bytes(&voice, key, value, &bytes);
	if (ret < 0)
		return ret;
	if (bytes == 0 || bytes > BUFFER_MAX)
		return destination_fail(destination, ERANGE, "%s=%s: expected 1 byte to 1 GiB", key,
					value);
	if (strcmp(key, "buffer") == 0)
		udp->buffer_bytes = bytes;
	else
		destination->frame_bytes = (size_t)bytes;
	return 0;
}

static int take_details(struct destination *destination, struct to_udp *udp)
{
	char buf[DESTINATION_DETAIL_LEN];
	struct destination_detail detail;
	const char *cursor = NULL;
	int ret = 0;

	destination->psn = PSN_NONE;
	udp->ttl = 1;
	udp->is_loop = true;
	udp->buffer_bytes = BUFFER_DEFAULT;
	if (!split_address(destination->path, true, udp->host, udp->port))
		return destination_fail(destination, EINVAL,
					"expected HOST:PORT, of IPv6 [ADDR]:PORT, behind udp:");
	while (!ret && destination_next_detail(destination, &cursor, buf, sizeof(buf), &detail))
		ret = take_detail(destination, udp, detail.key, detail.value);
	return ret;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool is_multicast(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return IN_MULTICAST(
			ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
	return IN6_IS_ADDR_MULTICAST(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static int set_multicast(struct destination *destination, const struct to_udp *udp)
{
	const struct ip_mreqn request = { .imr_ifindex = (int)udp->interface };
	int ttl = (int)udp->ttl, loop = udp->is_loop, index = (int)udp->interface;
	bool is_ipv4 = udp->family == AF_INET;
	int level = is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6;

	if (setsockopt(udp->fd, level, is_ipv4 ? IP_MULTICAST_TTL : IPV6_MULTICAST_HOPS, &ttl,
		       sizeof(ttl)) < 0 ||
	    setsockopt(udp->fd, level, is_ipv4 ? IP_MULTICAST_LOOP : IPV6_MULTICAST_LOOP, &loop,
		       sizeof(loop)) < 0)
		return destination_fail(destination, errno, "multicast: %s", strerror(errno));
	if (!udp->interface)
		return 0;
	if (is_ipv4 ? setsockopt(udp->fd, level, IP_MULTICAST_IF, &request, sizeof(request)) < 0 :
		      setsockopt(udp->fd, level, IPV6_MULTICAST_IF, &index, sizeof(index)) < 0)
		return destination_fail(destination, errno, "multicast by %s: %s",
					udp->interface_name, strerror(errno));
	return 0;
}

static int bind_to(struct destination *destination, const struct to_udp *udp)
{
	const struct addrinfo hints = { .ai_family = udp->family,
					.ai_socktype = SOCK_DGRAM,
					.ai_flags = AI_PASSIVE };
	struct addrinfo *found;
	int ret;

	if (!udp->from_host[0])
		return 0;
	ret = getaddrinfo(udp->from_host, udp->from_port, &hints, &found);
	if (ret != 0)
		return destination_fail(destination, EINVAL, "from=%s: %s", udp->from_host,
					gai_strerror(ret));
	ret = bind(udp->fd, found->ai_addr, found->ai_addrlen) < 0 ? errno : 0;
	freeaddrinfo(found);
	return ret ? destination_fail(destination, ret, "cannot send from %s: %s", udp->from_host,
				      strerror(ret)) :
		     0;
}

static void set_buffer(struct destination *destination, const struct to_udp *udp)
{
	int wanted = (int)udp->buffer_bytes, granted = 0;
	socklen_t len = sizeof(granted);
	char asked[UNITS_TEXT_LEN], got[UNITS_TEXT_LEN];

	if (setsockopt(udp->fd, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof(wanted)) < 0)
		setsockopt(udp->fd, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted));
	getsockopt(udp->fd, SOL_SOCKET, SO_SNDBUF, &granted, &len);
	/* the kernel says twice what it means for data */
	if ((uint64_t)granted / 2 < udp->buffer_bytes && udp->buffer_bytes != BUFFER_DEFAULT)
		destination_note(destination,
				 "the kernel gives a buffer of %s, not %s: net.core.wmem_max",
				 units_format_size(got, (uint64_t)granted / 2),
				 units_format_size(asked, udp->buffer_bytes));
}

/* What goes into a datagram without fragments: the kernel knows the way by now. */
static void find_room(struct destination *destination, const struct to_udp *udp)
{
	bool is_ipv4 = udp->family == AF_INET;
	int mtu = 0;
	socklen_t len = sizeof(mtu);
	size_t headers = (is_ipv4 ? IPV4_HEADERS : IPV6_HEADERS) + psn_prefix_bytes(destination->psn);

	if (getsockopt(udp->fd, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, is_ipv4 ? IP_MTU : IPV6_MTU,
		       &mtu, &len) == 0 &&
	    mtu > 0 && (size_t)mtu > headers)
		destination->frame_bytes_max = (size_t)mtu - headers;
}

static int connect_to(struct destination *destination, struct to_udp *udp, const struct addrinfo *found)
{
	int yes = 1, ret;

	udp->family = found->ai_family;
	udp->fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (udp->fd < 0)
		return destination_fail(destination, errno, "cannot open a socket: %s",
					strerror(errno));
	setsockopt(udp->fd, SOL_SOCKET, SO_BROADCAST, &yes, sizeof(yes));
	ret = bind_to(destination, udp);
	if (ret == 0 && is_multicast(found->ai_addr))
		ret = set_multicast(destination, udp);
	if (ret < 0)
		return ret;
	if (udp->interface && found->ai_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)found->ai_addr)->sin6_scope_id = udp->interface;
	if (connect(udp->fd, found->ai_addr, found->ai_addrlen) < 0)
		return destination_fail(destination, errno, "cannot reach %s: %s", udp->host,
					strerror(errno));
	set_buffer(destination, udp);
	find_room(destination, udp);
	return 0;
}

static int udp_open(struct destination *destination, const struct destination_config *config)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	struct to_udp *udp = calloc(1, sizeof(*udp));
	struct addrinfo *found;
	int ret;

	(void)config;
	if (!udp)
		return destination_fail(destination, ENOMEM, "out of memory");
	udp->fd = -1;
	destination->state = udp;
	destination->takes = DESTINATION_DATAGRAMS;
	ret = take_details(destination, udp);
	if (ret < 0)
		return ret;
	ret = getaddrinfo(udp->host, udp->port, &hints, &found);
	if (ret != 0)
		return destination_fail(destination, ret == EAI_SERVICE ? EINVAL : EHOSTUNREACH,
					"%s, port %s: %s", udp->host, udp->port, gai_strerror(ret));
	ret = connect_to(destination, udp, found);
	freeaddrinfo(found);
	udp->is_gso = udp->gso != GSO_NO;
	return ret;
}

static void udp_close(struct destination *destination)
{
	struct to_udp *udp = destination->state;

	if (udp->fd >= 0)
		close(udp->fd);
	free(udp);
}

/* ---- sending --------------------------------------------------------------------------------- */

static size_t wire_bytes(const struct destination_unit *unit)
{
	return unit->prefix_bytes + unit->bytes;
}

/* How many of them go into one message: all as long as the first, but for a last one that is shorter. */
static unsigned count_alike(const struct to_udp *udp, const struct destination_unit *units, size_t count)
{
	size_t first = wire_bytes(&units[0]), sum = first;
	unsigned alike = 1;

	if (!udp->is_gso)
		return 1;
	while (alike < count && alike < SEGMENTS_MAX && wire_bytes(&units[alike]) <= first &&
	       sum + wire_bytes(&units[alike]) <= MESSAGE_BYTES_MAX) {
		sum += wire_bytes(&units[alike++]);
		if (wire_bytes(&units[alike - 1]) < first)
			break;
	}
	return alike;
}

static struct iovec *add_pieces(struct iovec *piece, const struct destination_unit *unit)
{
	if (unit->prefix_bytes)
		*piece++ = (struct iovec){ .iov_base = (void *)(uintptr_t)unit->prefix,
					   .iov_len = unit->prefix_bytes };
	for (unsigned i = 0; i < unit->part_count; i++)
		*piece++ = unit->parts[i];
	return piece;
}

static void set_segments(struct to_udp *udp, unsigned index, size_t bytes)
{
	struct msghdr *header = &udp->messages[index].msg_hdr;
	struct cmsghdr *control;
	uint16_t segment = (uint16_t)bytes;

	header->msg_control = udp->controls[index].bytes;
	header->msg_controllen = sizeof(udp->controls[index].bytes);
	control = CMSG_FIRSTHDR(header);
	control->cmsg_level = IPPROTO_UDP;
	control->cmsg_type = UDP_SEGMENT;
	control->cmsg_len = CMSG_LEN(sizeof(segment));
	memcpy(CMSG_DATA(control), &segment, sizeof(segment));
}

/* Return: how many messages they make. */
static unsigned make_messages(struct to_udp *udp, const struct destination_unit *units, size_t count)
{
	struct iovec *piece = udp->pieces;
	unsigned message_count = 0;

	for (size_t at = 0; at < count; message_count++) {
		struct msghdr *header = &udp->messages[message_count].msg_hdr;
		unsigned alike = count_alike(udp, units + at, count - at);

		*header = (struct msghdr){ .msg_iov = piece };
		for (unsigned i = 0; i < alike; i++)
			piece = add_pieces(piece, &units[at + i]);
		header->msg_iovlen = (size_t)(piece - header->msg_iov);
		if (alike > 1)
			set_segments(udp, message_count, wire_bytes(&units[at]));
		udp->counts[message_count] = alike;
		at += alike;
	}
	return message_count;
}

/* Return: 0: to be tried again later; 1: at once; -errno: it is over. */
static int judge(struct destination *destination, struct to_udp *udp,
		 const struct destination_unit *unit, int error)
{
	bool was_gso = udp->counts[0] > 1;

	switch (error) {
	case EINTR:
		return 1;
	case ENOBUFS:
	case EAGAIN:
		destination_count(&destination->stats.busy_count, 1);
		return 0;
	case ECONNREFUSED: /* of an earlier one; this one has not been sent */
		destination_count(&destination->stats.refused_count, 1);
		return 1;
	case ENETDOWN:
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENODEV:
	case EADDRNOTAVAIL:
		destination_count(&destination->stats.down_count, 1);
		return 0;
	case EIO: /* this way does not segment */
	case EINVAL:
	case EOPNOTSUPP:
	case EMSGSIZE: /* a segment is longer than the MTU: the kernel would cut a datagram into fragments, but not these */
		if (was_gso) {
			udp->is_gso = false;
			if (udp->gso == GSO_YES)
				destination_note(
					destination,
					"gso=yes: the kernel refuses it here (%s): one datagram a message",
					strerror(error));
			return 1;
		}
		break;
	default:
		break;
	}
	if (error == EMSGSIZE)
		return destination_fail(
			destination, EMSGSIZE,
			"a datagram of %zu bytes is longer than can be sent there: a smaller frame=",
			wire_bytes(unit));
	return destination_fail(destination, error, "cannot send: %s", strerror(error));
}

/* A refusal that was told of an earlier datagram must not be waited for more often than there are datagrams. */
static ssize_t udp_send(struct destination *destination, const struct destination_unit *units,
			size_t count)
{
	struct to_udp *udp = destination->state;

	for (unsigned turn = 0;; turn++) {
		unsigned message_count = make_messages(udp, units, count);
		int sent = sendmmsg(udp->fd, udp->messages, message_count, 0), ret;
		ssize_t unit_count = 0;

		for (int i = 0; i < sent; i++)
			unit_count += udp->counts[i];
		if (unit_count > 0)
			return unit_count;
		ret = judge(destination, udp, units, errno);
		if (ret <= 0)
			return ret;
		if (turn == DESTINATION_BATCH)
			return 0;
	}
}

const struct destination_ops destination_udp = {
	.prefix = "udp:",
	.summary = "udp:HOST:PORT[,psn=le64,frame=SIZE,from=ADDR,iface=..]  a datagram for each frame; multicast, too",
	.keys = "psn frame from iface ttl loop buffer gso",
	.takes_path = true,
	.open = udp_open,
	.send = udp_send,
	.close = udp_close,
};
