/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/udp_socket.h"

#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/endpoint.h"
#include "drivers/units.h"

#define PORT_LAST 65535

/* ---- names ----------------------------------------------------------------------------------- */

static int read_port(struct source *source, const char *text, uint64_t *port)
{
	if (units_parse_count(text, port) || *port < 1 || *port > PORT_LAST)
		return source_fail(
			source, EINVAL,
			"\"%.40s\" is no port; expected 1 to %d, a range (46227-46230) or several joined by +",
			text, PORT_LAST);
	return 0;
}

static int add_port(struct source *source, struct udp_address *address, uint64_t port)
{
	for (unsigned i = 0; i < address->port_count; i++)
		if (address->ports[i] == port)
			return source_fail(source, EINVAL, "port %llu is given twice",
					   (unsigned long long)port);
	if (address->port_count == UDP_PORT_MAX)
		return source_fail(source, EINVAL, "more than %d ports", UDP_PORT_MAX);
	address->ports[address->port_count++] = (uint16_t)port;
	return 0;
}

/* "46227", "46227-46230", "46227+46300" */
static int read_ports(struct source *source, char *text, struct udp_address *address)
{
	char *item;

	while ((item = strsep(&text, "+")) != NULL) {
		char *last_text = strchr(item, '-');
		uint64_t first, last;
		int ret;

		if (last_text)
			*last_text++ = '\0';
		ret = read_port(source, item, &first);
		last = first;
		if (!ret && last_text)
			ret = read_port(source, last_text, &last);
		if (!ret && last < first)
			ret = source_fail(source, EINVAL, "the range of ports %s-%s goes backward",
					  item, last_text);
		for (uint64_t port = first; !ret && port <= last; port++)
			ret = add_port(source, address, port);
		if (ret)
			return ret;
	}
	return 0;
}

static int read_host(struct source *source, const char *host, int family, struct udp_address *address)
{
	struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = AI_NUMERICHOST | AI_PASSIVE,
	};
	struct addrinfo *found;

	if (getaddrinfo(host, NULL, &hints, &found))
		return source_fail(
			source, EINVAL,
			"\"%s\" is no address; expected udp:[ADDR]:PORT with numbers, of IPv6 in brackets: udp:[ff02::1]:46227",
			host);
	memcpy(&address->address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	address->is_multicast = endpoint_is_multicast(&address->address);
	return 0;
}

int udp_address_read(struct source *source, struct udp_address *address)
{
	char *text = strdup(source->path), *host = text, *colon;
	int family = AF_INET, ret;

	*address = (struct udp_address){ 0 };
	if (!text)
		return source_fail(source, ENOMEM, "out of memory");
	colon = strrchr(text, ':');
	if (!colon) {
		ret = source_fail(source, EINVAL, "a port is missing; expected udp:[ADDR]:PORT");
		goto out;
	}
	*colon = '\0';
	if (colon > text + 1 && host[0] == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		host++;
		family = AF_INET6;
	}
	address->is_any = *host == '\0';
	if (address->is_any) {
		address->address.ss_family = AF_INET6;
		ret = 0;
	} else {
		ret = read_host(source, host, family, address);
	}
	if (!ret)
		ret = read_ports(source, colon + 1, address);
out:
	free(text);
	return ret;
}

int udp_interface_read(struct source *source, const char *name, struct udp_address *address)
{
	if (!*name)
		return source_fail(source, EINVAL, "iface=: expected the name of an interface");
	address->interface = if_nametoindex(name);
	if (address->interface == 0 || strlen(name) >= sizeof(address->interface_name))
		return source_fail(source, ENODEV,
				   "iface=%s: there is no such interface; `ip link` shows all", name);
	strcpy(address->interface_name, name);
	return 0;
}

struct datagram_sender udp_sender_of(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	struct datagram_sender sender = { .len = 0 };

	if (address->ss_family == AF_INET) {
		sender.len = sizeof(v4->sin_addr);
		memcpy(sender.bytes, &v4->sin_addr, sender.len);
	} else if (address->ss_family == AF_INET6) {
		size_t skipped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) ? 12 : 0;

		sender.len = (uint8_t)(sizeof(v6->sin6_addr) - skipped);
		memcpy(sender.bytes, v6->sin6_addr.s6_addr + skipped, sender.len);
	}
	return sender;
}

/* ---- the kernel's side ----------------------------------------------------------------------- */

static int set_flag(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) ? -errno : 0;
}

/* The kernel doubles what is asked for, and tells the double. */
static void ask_rcvbuf(int fd, uint64_t bytes)
{
	int wanted = bytes > INT_MAX / 2 ? INT_MAX / 2 : (int)bytes;

	if (set_flag(fd, SOL_SOCKET, SO_RCVBUFFORCE, wanted))
		set_flag(fd, SOL_SOCKET, SO_RCVBUF, wanted);
}

uint64_t udp_socket_rcvbuf(int fd)
{
	int bytes = 0;
	socklen_t len = sizeof(bytes);

	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len);
	return (uint64_t)bytes / 2;
}

void udp_socket_shut_out(int fd)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &nothing };

	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

int udp_socket_let_in(int fd)
{
	return set_flag(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
}

uint32_t udp_socket_dropped(int fd)
{
	uint32_t values[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(values);

	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, values, &len);
	return values[SK_MEMINFO_DROPS];
}

/* ---- opening --------------------------------------------------------------------------------- */

static socklen_t with_port(const struct udp_address *address, uint16_t port,
			   struct sockaddr_storage *full)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)full;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)full;

	*full = address->address;
	if (full->ss_family == AF_INET) {
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	v6->sin6_port = htons(port);
	if (v6->sin6_scope_id == 0 &&
	    (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&v6->sin6_addr)))
		v6->sin6_scope_id = address->interface;
	return sizeof(*v6);
}

static int refuse_bind(struct source *source, const struct udp_address *address, uint16_t port, int error)
{
	switch (error) {
	case EADDRINUSE:
		return source_fail(
			source, error,
			"port %u is in use by another program; `ss -ulpn` shows by which one", port);
	case EADDRNOTAVAIL:
		return source_fail(
			source, error,
			"this machine doesn't have that address; `ip address` shows those it has");
	case EINVAL:
		if (address->interface == 0) /* a link-local address */
			return source_fail(
				source, EADDRNOTAVAIL,
				"that address is only valid on an interface; give it with iface=");
		break;
	case EACCES:
		return source_fail(source, error, "port %u is for root only; take one above 1023",
				   port);
	}
	return source_fail(source, error == EINVAL ? EADDRNOTAVAIL : error,
			   "cannot listen at port %u: %s", port, strerror(error));
}

static int join(struct source *source, int fd, const struct udp_address *address)
{
	bool is_v4 = address->address.ss_family == AF_INET;
	int level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
	struct group_req request = { .gr_interface = address->interface, .gr_group = address->address };

	/* otherwise groups that other programs have joined come here as well */
	set_flag(fd, level, is_v4 ? IP_MULTICAST_ALL : IPV6_MULTICAST_ALL, 0);
	if (setsockopt(fd, level, MCAST_JOIN_GROUP, &request, sizeof(request)) == 0)
		return 0;
	return source_fail(source, errno, "cannot join the multicast group%s%s: %s%s",
			   address->interface ? " on " : "", address->interface_name, strerror(errno),
			   address->interface ? "" : "; give the interface with iface=");
}

static int set_up(struct source *source, int fd, const struct udp_address *address, uint16_t port)
{
	struct sockaddr_storage full;
	socklen_t len = with_port(address, port, &full);

	if (full.ss_family == AF_INET6)
		set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, !address->is_any);
	/* a group may have several listeners */
	if (address->is_multicast)
		set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	set_flag(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
	if (address->interface && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, address->interface_name,
					     (socklen_t)strlen(address->interface_name)))
		return source_fail(source, errno, "cannot listen on %s alone: %s",
				   address->interface_name, strerror(errno));
	udp_socket_shut_out(fd);
	if (bind(fd, (const struct sockaddr *)&full, len))
		return refuse_bind(source, address, port, errno);
	return address->is_multicast ? join(source, fd, address) : 0;
}

int udp_socket_open(struct source *source, const struct udp_address *address, uint16_t port,
		    uint64_t rcvbuf_bytes)
{
	struct udp_address v4_only = *address;
	int fd = socket(address->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), ret;

	if (fd < 0 && errno == EAFNOSUPPORT && address->is_any) {
		v4_only.address.ss_family = AF_INET;
		address = &v4_only;
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	if (fd < 0)
		return source_fail(source, errno, "cannot make a socket: %s", strerror(errno));
	ret = set_up(source, fd, address, port);
	if (ret) {
		close(fd);
		return ret;
	}
	ask_rcvbuf(fd, rcvbuf_bytes);
	return fd;
}
