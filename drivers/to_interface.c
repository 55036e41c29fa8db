/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * to_interface.c - `pcap:INTERFACE`, packets onto a network interface
 *
 *   psn= frame= to= from= mac= from-mac=   framing.h: of datagrams, which get headers. to= is needed; by default
 *                                          they come from the interface's own addresses, and go to the MAC of to=
 *                                          where it is known (a group's, or a neighbour's), else to all
 *   buffer=SIZE                            asked of the kernel; default 4Mi
 *
 * A packet socket, and many packets with one call (sendmmsg()). On a veth pair with packets of 8 KiB a ring that is shared
 * with the kernel (PACKET_TX_RING) is no faster, and going past the queueing discipline (PACKET_QDISC_BYPASS) isn't
 * either; so what `tc` has been told for the interface holds for these packets as for all others.
 * The interface may go down, or away, and come back: until then nothing is taken.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <pcap/dlt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/destination.h"
#include "drivers/endpoint.h"
#include "drivers/framing.h"

#define PIECES_MAX (FRAMING_PARTS_MAX + 1)
#define VERSION_SHIFT 4 /* in the first byte of IP */

struct to_interface {
	int fd;
	int index; /* of the interface */
	struct framing framing;
	int link_type; /* of the interface: DLT_EN10MB or DLT_RAW */
	uint64_t buffer_bytes;
	bool has_told_cut;

	struct mmsghdr messages[DESTINATION_BATCH];
	struct iovec pieces[DESTINATION_BATCH][PIECES_MAX];
	unsigned char headers[DESTINATION_BATCH][HEADERS_BYTES_MAX];
	struct sockaddr_ll names[DESTINATION_BATCH]; /* of raw IP, which says there what it is */
};

/* ---- the interface --------------------------------------------------------------------------- */

static void set_name(const struct destination *destination, struct ifreq *request)
{
	*request = (struct ifreq){ 0 };
	strncpy(request->ifr_name, destination->path, sizeof(request->ifr_name) - 1);
}

/* Return: 0: it isn't known. */
static size_t mtu_of(const struct destination *destination, const struct to_interface *to)
{
	struct ifreq request;

	set_name(destination, &request);
	return ioctl(to->fd, SIOCGIFMTU, &request) < 0 ? 0 : (size_t)request.ifr_mtu;
}

/* What kind of packets it has. Return: 0; -ENODEV; -EPFNOSUPPORT. */
static int ask_kind(struct destination *destination, struct to_interface *to)
{
	struct headers_config *config = &to->framing.config;
	struct ifreq request;

	set_name(destination, &request);
	if (ioctl(to->fd, SIOCGIFHWADDR, &request) < 0)
		return destination_fail(destination, errno,
					"there is no such interface; \"ip link\" shows them");
	switch (request.ifr_hwaddr.sa_family) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
		to->link_type = DLT_EN10MB;
		break;
	case ARPHRD_NONE:
	case ARPHRD_PPP:
	case ARPHRD_RAWIP:
	case ARPHRD_TUNNEL:
	case ARPHRD_TUNNEL6:
	case ARPHRD_SIT:
	case ARPHRD_IPGRE:
		to->link_type = DLT_RAW;
		break;
	default:
		return destination_fail(destination, EPFNOSUPPORT,
					"the interface is neither Ethernet nor raw IP (kind %d)",
					request.ifr_hwaddr.sa_family);
	}
	config->is_ethernet = to->link_type == DLT_EN10MB;
	if (!to->framing.has_from_mac)
		memcpy(config->from_mac, request.ifr_hwaddr.sa_data, HEADERS_MAC_BYTES);
	return 0;
}

static int bind_to(struct destination *destination, struct to_interface *to)
{
	/* of no protocol: nothing is received */
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_ifindex = (int)if_nametoindex(destination->path),
	};

	if (address.sll_ifindex == 0)
		return destination_fail(destination, ENODEV,
					"there is no such interface; \"ip link\" shows them");
	if (bind(to->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return destination_fail(destination, errno, "cannot send there: %s", strerror(errno));
	to->index = address.sll_ifindex;
	return 0;
}

static bool is_raw_ip(int link_type)
{
	return link_type == DLT_RAW || link_type == DLT_IPV4 || link_type == DLT_IPV6;
}

static int check_kind(struct destination *destination, const struct to_interface *to, int link_type)
{
	if (link_type == to->link_type || (is_raw_ip(link_type) && is_raw_ip(to->link_type)))
		return 0;
	return destination_fail(
		destination, EPFNOSUPPORT,
		"the interface has packets of %s, and those that are played are of another kind (link type %d): play their datagrams with udp:",
		to->link_type == DLT_EN10MB ? "Ethernet" : "raw IP", link_type);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool is_link_local(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* The interface's own of that family, of IPv6 rather one that is valid beyond it. Return: false: it has none. */
static bool find_own(const char *name, sa_family_t family, struct sockaddr_storage *address)
{
	struct ifaddrs *all = NULL;
	bool is_found = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
		if (!one->ifa_addr || one->ifa_addr->sa_family != family ||
		    strcmp(one->ifa_name, name) != 0 || (is_found && is_link_local(one->ifa_addr)))
			continue;
		memcpy(address, one->ifa_addr,
		       family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		is_found = true;
		if (!is_link_local(one->ifa_addr))
			break;
	}
	freeifaddrs(all);
	return is_found;
}

/* Of IPv4, if the kernel has spoken with it lately. */
static bool find_neighbour(const struct destination *destination, const struct to_interface *to,
			   unsigned char *mac)
{
	struct arpreq request = { 0 };

	if (to->framing.config.to.ss_family != AF_INET)
		return false;
	memcpy(&request.arp_pa, &to->framing.config.to, sizeof(struct sockaddr_in));
	strncpy(request.arp_dev, destination->path, sizeof(request.arp_dev) - 1);
	if (ioctl(to->fd, SIOCGARP, &request) < 0 || !(request.arp_flags & ATF_COM))
		return false;
	memcpy(mac, request.arp_ha.sa_data, HEADERS_MAC_BYTES);
	return true;
}

static void choose_mac(struct destination *destination, struct to_interface *to)
{
	struct headers_config *config = &to->framing.config;

	if (to->framing.has_mac || !config->is_ethernet || headers_mac_of(&config->to, config->to_mac) ||
	    find_neighbour(destination, to, config->to_mac))
		return;
	memset(config->to_mac, 0xff, HEADERS_MAC_BYTES);
	destination_note(
		destination,
		"the address of Ethernet behind to= isn't known: frames go to all; mac= says it");
}

static int choose_addresses(struct destination *destination, struct to_interface *to)
{
	struct headers_config *config = &to->framing.config;

	if (to->framing.is_whole)
		return 0;
	if (!to->framing.has_to)
		return destination_fail(destination, EINVAL,
					"whom are the datagrams for? to=ADDR:PORT is missing");
	if (!to->framing.has_from && !find_own(destination->path, config->to.ss_family, &config->from))
		return destination_fail(
			destination, EINVAL,
			"the interface has no address of that family: from=ADDR is missing");
	choose_mac(destination, to);
	return framing_begin(destination, &to->framing);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int take_details(struct destination *destination, struct to_interface *to)
{
	char buf[DESTINATION_DETAIL_LEN];
	struct destination_detail detail;
	const char *cursor = NULL;
	int ret = 0;

	to->buffer_bytes = FRAMING_BUFFER_DEFAULT;
	while (!ret && destination_next_detail(destination, &cursor, buf, sizeof(buf), &detail))
		ret = strcmp(detail.key, "buffer") == 0 ?
			      framing_detail_buffer(destination, detail.value, &to->buffer_bytes) :
			      framing_detail(destination, &to->framing, detail.key, detail.value);
	return ret;
}

static int open_socket(struct destination *destination, struct to_interface *to)
{
	to->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (to->fd >= 0)
		return 0;
	if (errno == EPERM || errno == EACCES)
		return destination_fail(destination, EACCES,
					"sending packets is not allowed: it needs root or CAP_NET_RAW");
	return destination_fail(destination, errno, "cannot open a packet socket: %s", strerror(errno));
}

static void find_room(struct destination *destination, const struct to_interface *to)
{
	size_t headers = to->framing.headers.count - to->framing.headers.ip_at +
			 psn_prefix_bytes(destination->psn);
	size_t mtu = mtu_of(destination, to);

	if (!to->framing.is_whole && mtu > headers)
		destination->frame_bytes_max = mtu - headers;
}

static int interface_open(struct destination *destination, const struct destination_config *config)
{
	struct to_interface *to = calloc(1, sizeof(*to));
	int ret;

	if (!to)
		return destination_fail(destination, ENOMEM, "out of memory");
	to->fd = -1;
	destination->state = to;
	framing_init(destination, &to->framing, config);
	ret = take_details(destination, to);
	if (!ret)
		ret = open_socket(destination, to);
	if (!ret)
		ret = ask_kind(destination, to);
	if (!ret && config->gives_packets)
		ret = check_kind(destination, to, config->link_type);
	if (!ret)
		ret = bind_to(destination, to);
	if (!ret)
		ret = choose_addresses(destination, to);
	if (ret < 0)
		return ret;
	framing_set_buffer(destination, to->fd, to->buffer_bytes);
	find_room(destination, to);
	return 0;
}

static void interface_close(struct destination *destination)
{
	struct to_interface *to = destination->state;

	if (to->fd >= 0)
		close(to->fd);
	free(to);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Raw IP says by its first byte which one it is, and the kernel wants to be told. */
static void set_protocol(struct to_interface *to, size_t index)
{
	struct msghdr *header = &to->messages[index].msg_hdr;
	const unsigned char *first = header->msg_iov[0].iov_base;

	to->names[index] = (struct sockaddr_ll){
		.sll_family = AF_PACKET,
		.sll_ifindex = to->index,
		.sll_protocol = htons(*first >> VERSION_SHIFT == 6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP),
	};
	header->msg_name = &to->names[index];
	header->msg_namelen = sizeof(to->names[index]);
}

/* A packet that was cut when it was captured goes out as short as it is: what was behind nobody knows. */
static void tell_cut(struct destination *destination, struct to_interface *to,
		     const struct destination_unit *unit)
{
	if (to->has_told_cut || unit->wire_bytes <= unit->bytes)
		return;
	to->has_told_cut = true;
	destination_note(
		destination,
		"packets that were cut short when they were captured go out as short as they are: first %zu bytes of %zu",
		unit->bytes, unit->wire_bytes);
}

/* Return: 0; -errno: it can't be sent at all. */
static int make_message(struct destination *destination, struct to_interface *to, size_t index,
			const struct destination_unit *unit)
{
	struct msghdr *header = &to->messages[index].msg_hdr;
	size_t bytes;
	int count = framing_put(destination, &to->framing, unit, to->headers[index],
				to->pieces[index], &bytes);

	if (count < 0)
		return count;
	if (to->link_type == DLT_EN10MB && bytes < HEADERS_ETHERNET_BYTES)
		return destination_fail(destination, EINVAL,
					"a packet of %zu bytes is shorter than a header of Ethernet",
					bytes);
	tell_cut(destination, to, unit);
	*header = (struct msghdr){ .msg_iov = to->pieces[index], .msg_iovlen = (size_t)count };
	if (to->link_type == DLT_RAW)
		set_protocol(to, index);
	return 0;
}

static int fail_too_long(struct destination *destination, const struct to_interface *to)
{
	const struct msghdr *header = &to->messages[0].msg_hdr;
	size_t bytes = 0;

	for (size_t i = 0; i < header->msg_iovlen; i++)
		bytes += header->msg_iov[i].iov_len;
	return destination_fail(
		destination, EMSGSIZE,
		"a packet of %zu bytes is longer than the interface takes, whose MTU is %zu bytes: \"ip link set %s mtu\" makes it larger%s",
		bytes, mtu_of(destination, to), destination->path,
		to->framing.is_whole ? "" : ", or a smaller frame=");
}

/* The interface may be there again, under another number. Return: 0; -errno: another kind of interface now. */
static int look_again(struct destination *destination, struct to_interface *to)
{
	int link_type = to->link_type, ret;

	destination_count(&destination->stats.down_count, 1);
	if (if_nametoindex(destination->path) == 0)
		return 0;
	ret = ask_kind(destination, to);
	if (!ret)
		ret = check_kind(destination, to, link_type);
	if (!ret)
		ret = bind_to(destination, to);
	return ret == -ENODEV ? 0 : ret;
}

/* Nothing has gone out. Return: 0: to be tried again later; -errno: it is over. */
static int judge(struct destination *destination, struct to_interface *to, int error)
{
	switch (error) {
	case EINTR:
		return 0;
	case ENOBUFS:
	case EAGAIN:
		destination_count(&destination->stats.busy_count, 1);
		return 0;
	case ENXIO:
	case ENODEV:
		return look_again(destination, to);
	case ENETDOWN:
	case ENETUNREACH:
		destination_count(&destination->stats.down_count, 1);
		return 0;
	case EMSGSIZE:
		return fail_too_long(destination, to);
	default:
		return destination_fail(destination, error, "cannot send: %s", strerror(error));
	}
}

static ssize_t interface_send(struct destination *destination, const struct destination_unit *units,
			      size_t count)
{
	struct to_interface *to = destination->state;
	unsigned made = 0;
	int ret = 0, sent;

	for (; made < count; made++) {
		ret = make_message(destination, to, made, &units[made]);
		if (ret < 0)
			break;
	}
	if (made == 0)
		return ret;
	/* what was wrong with a later one comes again, as that of the first */
	sent = sendmmsg(to->fd, to->messages, made, 0);
	return sent > 0 ? sent : judge(destination, to, errno);
}

const struct destination_ops destination_interface = {
	.prefix = "pcap:",
	.summary = "pcap:INTERFACE[,to=ADDR:PORT,psn=..,frame=SIZE]  packets onto an interface; datagrams get headers",
	.keys = FRAMING_KEYS " buffer",
	.takes_path = true,
	.open = interface_open,
	.send = interface_send,
	.close = interface_close,
};
