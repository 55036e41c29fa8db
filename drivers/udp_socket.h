/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_socket.h - a socket that receives datagrams at one address and port, and what its kernel side tells
 *
 *   udp_address_read() -> udp_socket_open() for each port -> udp_socket_let_in() -> ... -> udp_socket_shut_out()
 *
 * A socket is opened with a filter that lets nothing in: what comes before the stream is wanted is not of it,
 * and what it has at the end is what came until then.
 *
 * Threads:  one at a time.
 * Errors:   -errno, with source->error set.
 */
#ifndef VSIB_DRIVERS_UDP_SOCKET_H
#define VSIB_DRIVERS_UDP_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "drivers/datagrams.h"
#include "drivers/source.h"

#define UDP_PORT_MAX DATAGRAMS_PORT_MAX

/* Where to listen. */
struct udp_address {
	struct sockaddr_storage address; /* without a port */
	bool is_any;                     /* IPv4 and IPv6, where the kernel has both */
	bool is_multicast;
	unsigned interface; /* index; 0 = the kernel chooses */
	char interface_name[64];
	uint16_t ports[UDP_PORT_MAX];
	unsigned port_count;
};

/**
 * udp_address_read() - "[ADDR]:PORT" as it is in source->path
 *
 * ADDR is empty or numeric, of IPv6 in brackets; PORT is one, a range (A-B) or several of these joined by '+'.
 * Return: 0; -EINVAL.
 */
int udp_address_read(struct source *source, struct udp_address *address);

/** udp_interface_read() - iface=@name. Return: 0; -ENODEV; -EINVAL. */
int udp_interface_read(struct source *source, const char *name, struct udp_address *address);

/**
 * udp_socket_open() - @rcvbuf_bytes: wanted for its buffer
 * Return: the descriptor, non-blocking, with nothing let in; -errno.
 */
int udp_socket_open(struct source *source, const struct udp_address *address, uint16_t port,
		    uint64_t rcvbuf_bytes);

/** udp_socket_rcvbuf() - bytes of buffer that the kernel gave */
uint64_t udp_socket_rcvbuf(int fd);

/** udp_socket_let_in() - the stream begins. Return: 0 or -errno. */
int udp_socket_let_in(int fd);

/** udp_socket_shut_out() - from now on nothing more comes in; what did can still be received */
void udp_socket_shut_out(int fd);

/** udp_socket_dropped() - datagrams the socket has dropped so far, what was not let in among them; wraps */
uint32_t udp_socket_dropped(int fd);

/** udp_sender_of() - the address without its port; IPv4 as such, also where it comes through IPv6 */
struct datagram_sender udp_sender_of(const struct sockaddr_storage *address);

#endif
