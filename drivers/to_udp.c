/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * to_udp.c - `udp:HOST:PORT`, one datagram for each unit
 *
 *   psn=none|le64|be64|le32|be32   number in front of each
 *   frame=SIZE           payload of each, without the number
 *   from=ADDR[:PORT]     source address; default: the kernel's choice
 *   iface=NAME           by this interface alone; a multicast group's, or that of a link-local address
 *   ttl=N                routers it may pass; default of multicast 1, so that it stays in this network
 *   dscp=N               class of service, 0 to 63
 *   loop=no              multicast isn't heard on this machine
 *   buffer=SIZE          asked of the kernel; default 4Mi
 *   gso=auto|yes|no      several datagrams in one message
 *
 * Equal datagrams go to the kernel in messages of up to 64 KiB, which it cuts where they leave (UDP_SEGMENT, Linux 4.18): one
 * way through its layers instead of eight. Where that is refused, each is a message of its own; either way many of
 * them go with one call.
 */
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
#include "drivers/endpoint.h"
#include "drivers/framing.h"
#include "drivers/psn.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define MESSAGE_BYTES_MAX 65000 /* of datagrams in one message, safely below what IP can say */
#define SEGMENTS_MAX 64         /* the kernel's own limit */
#define IPV4_HEADERS 28
#define IPV6_HEADERS 48
#define DSCP_SHIFT 2

struct to_udp {
	int fd;
	struct endpoint to, from;
	unsigned interface; /* 0 = the kernel chooses */
	char interface_name[IF_NAMESIZE];
	uint64_t ttl, dscp, buffer_bytes;
	bool has_ttl, is_loop;
	int family;
	size_t datagram_max; /* without fragments; SIZE_MAX = not known */
	bool is_gso;         /* messages of several datagrams */
	int gso_errno; /* such a message was refused: is it that, or the way? The next one tells. 0 = no doubt */

	struct mmsghdr messages[DESTINATION_BATCH];
	struct iovec pieces[DESTINATION_BATCH * FRAMING_PARTS_MAX];
	unsigned counts[DESTINATION_BATCH]; /* units of each message */
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} controls[DESTINATION_BATCH];
};

/* ---- details --------------------------------------------------------------------------------- */

static int take_interface(struct destination *destination, struct to_udp *udp, const char *value)
{
	udp->interface = if_nametoindex(value);
	if (!udp->interface)
		return destination_fail(destination, ENODEV, "there is no interface %s", value);
	snprintf(udp->interface_name, sizeof(udp->interface_name), "%s", value);
	return 0;
}

/* auto is for who writes down that he doesn't mind: as yes. */
static int take_gso(struct destination *destination, struct to_udp *udp, const char *value)
{
	udp->is_gso = strcmp(value, "no") != 0;
	if (!udp->is_gso || strcmp(value, "yes") == 0 || strcmp(value, "auto") == 0)
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

static int take_ttl(struct destination *destination, struct to_udp *udp, const char *value)
{
	const struct device_voice voice = destination_voice(destination);
	int ret = device_detail_count(&voice, "ttl", value, &udp->ttl, 255);

	udp->has_ttl = ret == 0;
	return ret;
}

static int take_from(struct destination *destination, struct to_udp *udp, const char *value)
{
	if (endpoint_split(value, false, &udp->from))
		return 0;
	return destination_fail(destination, EINVAL,
				"from=%s: expected ADDR or ADDR:PORT, of IPv6 [ADDR]:PORT", value);
}

static int take_detail(struct destination *destination, struct to_udp *udp, const char *key,
		       const char *value)
{
	const struct device_voice voice = destination_voice(destination);

	if (strcmp(key, "psn") == 0)
		return framing_detail_psn(destination, value);
	if (strcmp(key, "frame") == 0)
		return framing_detail_frame(destination, key, value);
	if (strcmp(key, "iface") == 0)
		return take_interface(destination, udp, value);
	if (strcmp(key, "gso") == 0)
		return take_gso(destination, udp, value);
	if (strcmp(key, "loop") == 0)
		return take_loop(destination, udp, value);
	if (strcmp(key, "ttl") == 0)
		return take_ttl(destination, udp, value);
	if (strcmp(key, "dscp") == 0)
		return device_detail_count(&voice, key, value, &udp->dscp, 63);
	if (strcmp(key, "from") == 0)
		return take_from(destination, udp, value);
	return framing_detail_buffer(destination, value, &udp->buffer_bytes);
}

static int take_details(struct destination *destination, struct to_udp *udp)
{
	char buf[DESTINATION_DETAIL_LEN];
	struct destination_detail detail;
	const char *cursor = NULL;
	int ret = 0;

	destination->psn = PSN_NONE;
	udp->ttl = 1;
	udp->is_loop = udp->is_gso = true;
	udp->buffer_bytes = FRAMING_BUFFER_DEFAULT;
	if (!endpoint_split(destination->path, true, &udp->to) || atoi(udp->to.port) == 0)
		return destination_fail(destination, EINVAL,
					"expected HOST:PORT, of IPv6 [ADDR]:PORT, behind udp:");
	while (!ret && destination_next_detail(destination, &cursor, buf, sizeof(buf), &detail))
		ret = take_detail(destination, udp, detail.key, detail.value);
	return ret;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int set_number(const struct to_udp *udp, int option_ipv4, int option_ipv6, int value)
{
	bool is_ipv4 = udp->family == AF_INET;

	return setsockopt(udp->fd, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
			  is_ipv4 ? option_ipv4 : option_ipv6, &value, sizeof(value));
}

static int set_multicast(struct destination *destination, const struct to_udp *udp)
{
	const struct ip_mreqn request = { .imr_ifindex = (int)udp->interface };
	int index = (int)udp->interface;

	if (set_number(udp, IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, (int)udp->ttl) < 0 ||
	    set_number(udp, IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, udp->is_loop) < 0)
		return destination_fail(destination, errno, "multicast: %s", strerror(errno));
	if (!udp->interface)
		return 0;
	if (udp->family == AF_INET ?
		    setsockopt(udp->fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request)) < 0 :
		    setsockopt(udp->fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof(index)) < 0)
		return destination_fail(destination, errno, "multicast by %s: %s",
					udp->interface_name, strerror(errno));
	return 0;
}

static int set_unicast(struct destination *destination, const struct to_udp *udp)
{
	if (udp->has_ttl && set_number(udp, IP_TTL, IPV6_UNICAST_HOPS, (int)udp->ttl) < 0)
		return destination_fail(destination, errno, "ttl=%d: %s", (int)udp->ttl,
					strerror(errno));
	if (udp->interface && setsockopt(udp->fd, SOL_SOCKET, SO_BINDTODEVICE, udp->interface_name,
					 (socklen_t)strlen(udp->interface_name)) < 0)
		return destination_fail(destination, errno, "cannot send by %s alone: %s",
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

	if (!udp->from.host[0])
		return 0;
	ret = getaddrinfo(udp->from.host, udp->from.port, &hints, &found);
	if (ret != 0)
		return destination_fail(destination, EINVAL, "from=%s: %s", udp->from.host,
					gai_strerror(ret));
	ret = bind(udp->fd, found->ai_addr, found->ai_addrlen) < 0 ? errno : 0;
	freeaddrinfo(found);
	return ret ? destination_fail(destination, ret, "cannot send from %s: %s", udp->from.host,
				      strerror(ret)) :
		     0;
}

/* Of the way that the socket's datagrams take, which the kernel knows once it is connected. Return: 0: it isn't known. */
static size_t mtu_of(const struct to_udp *udp)
{
	bool is_ipv4 = udp->family == AF_INET;
	int mtu = 0;
	socklen_t len = sizeof(mtu);

	if (getsockopt(udp->fd, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, is_ipv4 ? IP_MTU : IPV6_MTU,
		       &mtu, &len) < 0 ||
	    mtu < 0)
		return 0;
	return (size_t)mtu;
}

static void find_room(struct destination *destination, struct to_udp *udp)
{
	size_t headers = udp->family == AF_INET ? IPV4_HEADERS : IPV6_HEADERS;
	size_t prefix_bytes = psn_prefix_bytes(destination->psn), mtu = mtu_of(udp);

	udp->datagram_max = SIZE_MAX;
	if (mtu <= headers + prefix_bytes)
		return;
	udp->datagram_max = mtu - headers;
	destination->frame_bytes_max = udp->datagram_max - prefix_bytes;
}

/* Of IPv6 the interface is a part of an address that is only valid there. */
static void set_scope(const struct to_udp *udp, struct sockaddr_in6 *address)
{
	if (udp->interface && (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr) ||
			       IN6_IS_ADDR_MULTICAST(&address->sin6_addr)))
		address->sin6_scope_id = udp->interface;
}

static int connect_to(struct destination *destination, struct to_udp *udp, const struct addrinfo *found)
{
	struct sockaddr_storage to = { 0 };
	int yes = 1, ret;

	memcpy(&to, found->ai_addr, found->ai_addrlen);
	udp->family = found->ai_family;
	udp->fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (udp->fd < 0)
		return destination_fail(destination, errno, "cannot open a socket: %s",
					strerror(errno));
	setsockopt(udp->fd, SOL_SOCKET, SO_BROADCAST, &yes, sizeof(yes));
	set_number(udp, IP_TOS, IPV6_TCLASS, (int)udp->dscp << DSCP_SHIFT);
	ret = bind_to(destination, udp);
	if (ret == 0)
		ret = endpoint_is_multicast(&to) ? set_multicast(destination, udp) :
						   set_unicast(destination, udp);
	if (ret < 0)
		return ret;
	if (udp->family == AF_INET6)
		set_scope(udp, (struct sockaddr_in6 *)&to);
	if (connect(udp->fd, (const struct sockaddr *)&to, found->ai_addrlen) < 0)
		return destination_fail(destination, errno, "cannot reach %s: %s", udp->to.host,
					strerror(errno));
	framing_set_buffer(destination, udp->fd, udp->buffer_bytes);
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
	ret = getaddrinfo(udp->to.host, udp->to.port, &hints, &found);
	if (ret != 0)
		return destination_fail(destination, ret == EAI_SERVICE ? EINVAL : EHOSTUNREACH,
					"%s, port %s: %s", udp->to.host, udp->to.port,
					gai_strerror(ret));
	ret = connect_to(destination, udp, found);
	freeaddrinfo(found);
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

	/* the kernel cuts messages into datagrams, but these not into fragments */
	if (!udp->is_gso || first > udp->datagram_max)
		return 1;
	while (alike < count && alike < SEGMENTS_MAX && wire_bytes(&units[alike]) <= first &&
	       sum + wire_bytes(&units[alike]) <= MESSAGE_BYTES_MAX) {
		sum += wire_bytes(&units[alike++]);
		if (wire_bytes(&units[alike - 1]) < first)
			break;
	}
	return alike;
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
			piece += framing_unit_parts(&units[at + i], piece);
		header->msg_iovlen = (size_t)(piece - header->msg_iov);
		if (alike > 1)
			set_segments(udp, message_count, wire_bytes(&units[at]));
		udp->counts[message_count] = alike;
		at += alike;
	}
	return message_count;
}

static int fail_too_long(struct destination *destination, const struct to_udp *udp,
			 const struct destination_unit *unit)
{
	size_t mtu = mtu_of(udp);

	return destination_fail(
		destination, EMSGSIZE,
		"a datagram of %zu bytes can't be sent there, where the MTU is %zu bytes: a smaller frame=, or a larger MTU",
		wire_bytes(unit), mtu);
}

/*
 * A message of several datagrams was refused, for one of two reasons: it can't be cut on this way, or the way itself is
 * bad, which the same datagrams will tell by themselves.
 */
static bool is_doubtful(struct to_udp *udp, int error)
{
	if (udp->counts[0] == 1 ||
	    (error != EIO && error != EINVAL && error != EOPNOTSUPP && error != EMSGSIZE))
		return false;
	udp->gso_errno = error;
	udp->is_gso = false;
	return true;
}

/* How the datagrams went by themselves. */
static void settle_doubt(struct destination *destination, struct to_udp *udp, bool was_sent)
{
	if (was_sent)
		destination_note(
			destination,
			"several datagrams in one message, which the kernel cuts, are refused here (%s): each is sent by itself",
			strerror(udp->gso_errno));
	udp->is_gso = !was_sent;
	udp->gso_errno = 0;
}

/* Nothing has gone out. Return: 0: to be tried again later; 1: at once; -errno: it is over. */
static int judge(struct destination *destination, struct to_udp *udp,
		 const struct destination_unit *unit, int error)
{
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
	case ENXIO:
	case EADDRNOTAVAIL:
	case EINVAL: /* our address is gone with its interface */
		destination_count(&destination->stats.down_count, 1);
		return 0;
	case EMSGSIZE:
		return fail_too_long(destination, udp, unit);
	case EPERM:
	case EACCES:
		return destination_fail(
			destination, error,
			"sending there is not allowed (%s): a firewall or a route of this machine forbids it",
			strerror(error));
	default:
		return destination_fail(destination, error, "cannot send: %s", strerror(error));
	}
}

/* Return: units that have gone out; -errno. */
static ssize_t send_messages(struct to_udp *udp, const struct destination_unit *units, size_t count)
{
	unsigned message_count = make_messages(udp, units, count);
	int sent = sendmmsg(udp->fd, udp->messages, message_count, 0);
	ssize_t unit_count = 0;

	if (sent < 0)
		return -errno;
	for (int i = 0; i < sent; i++)
		unit_count += udp->counts[i];
	return unit_count;
}

/* A refusal that was told of an earlier datagram must not be waited for more often than there are datagrams. */
static ssize_t udp_send(struct destination *destination, const struct destination_unit *units,
			size_t count)
{
	struct to_udp *udp = destination->state;

	for (unsigned turn = 0; turn <= DESTINATION_BATCH; turn++) {
		ssize_t sent = send_messages(udp, units, count);
		int ret;

		if (sent < 0 && is_doubtful(udp, (int)-sent))
			continue;
		if (udp->gso_errno && sent != -EINTR && sent != -ECONNREFUSED)
			settle_doubt(destination, udp, sent > 0);
		if (sent > 0)
			return sent;
		ret = judge(destination, udp, units, (int)-sent);
		if (ret <= 0)
			return ret;
	}
	return 0;
}

const struct destination_ops destination_udp = {
	.prefix = "udp:",
	.summary = "udp:HOST:PORT[,psn=le64,frame=SIZE,from=ADDR,iface=..]  a datagram for each frame; multicast, too",
	.keys = "psn frame from iface ttl dscp loop buffer gso",
	.takes_path = true,
	.open = udp_open,
	.send = udp_send,
	.close = udp_close,
};
