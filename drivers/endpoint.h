/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * endpoint.h - addresses with a port, as users write them: "10.0.0.2:46227", "[fd00::2]:46227"
 *
 * Threads: no state.
 */
#ifndef VSIB_DRIVERS_ENDPOINT_H
#define VSIB_DRIVERS_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ENDPOINT_HOST_LEN 256
#define ENDPOINT_PORT_LEN 8

/* The two parts, as they were written. */
struct endpoint {
	char host[ENDPOINT_HOST_LEN];
	char port[ENDPOINT_PORT_LEN]; /* "0" = none was given */
};

/**
 * endpoint_split() - host and port, without the brackets of IPv6
 * @needs_port: one must be there; without it an address of IPv6 may stand without brackets, too
 *
 * Return: false: it is written in another way.
 */
bool endpoint_split(const char *text, bool needs_port, struct endpoint *endpoint);

/**
 * endpoint_read() - an address of numbers; its port is 0 where none was given
 * Return: false: it is none.
 */
bool endpoint_read(const char *text, struct sockaddr_storage *address);

/** endpoint_port() - of IPv4 or IPv6; endpoint_set_port() changes it */
uint16_t endpoint_port(const struct sockaddr_storage *address);
void endpoint_set_port(struct sockaddr_storage *address, uint16_t port);

/** endpoint_is_multicast() - a group's address, of IPv4 or IPv6 */
bool endpoint_is_multicast(const struct sockaddr_storage *address);

#endif
