/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/endpoint.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define PORT_DIGITS 5

/* Behind the host. Return: false: what is there is no ":PORT". */
static bool take_port(const char *rest, bool needs_port, struct endpoint *endpoint)
{
	size_t digits;

	if (*rest == '\0') {
		strcpy(endpoint->port, "0");
		return !needs_port;
	}
	digits = strspn(rest + 1, "0123456789");
	/* getaddrinfo() would take 65537 for 1 */
	if (*rest != ':' || digits == 0 || digits > PORT_DIGITS || rest[1 + digits] ||
	    atoi(rest + 1) > UINT16_MAX)
		return false;
	strcpy(endpoint->port, rest + 1);
	return true;
}

bool endpoint_split(const char *text, bool needs_port, struct endpoint *endpoint)
{
	const char *end, *rest;

	if (*text == '[') {
		end = strchr(++text, ']');
		if (!end)
			return false;
		rest = end + 1;
	} else {
		end = strchrnul(text, ':');
		/* more than one colon: IPv6, in which none of them is a port's */
		if (!needs_port && *end && strchr(end + 1, ':'))
			end = text + strlen(text);
		rest = end;
	}
	if (end == text || end - text >= ENDPOINT_HOST_LEN)
		return false;
	memcpy(endpoint->host, text, (size_t)(end - text));
	endpoint->host[end - text] = '\0';
	return take_port(rest, needs_port, endpoint);
}

bool endpoint_read(const char *text, struct sockaddr_storage *address)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	struct endpoint endpoint;
	struct addrinfo *found;

	if (!endpoint_split(text, false, &endpoint) ||
	    getaddrinfo(endpoint.host, endpoint.port, &hints, &found) != 0)
		return false;
	memset(address, 0, sizeof(*address));
	memcpy(address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return true;
}

static in_port_t *port_of(const struct sockaddr_storage *address)
{
	void *any = (void *)address;

	return address->ss_family == AF_INET ? &((struct sockaddr_in *)any)->sin_port :
					       &((struct sockaddr_in6 *)any)->sin6_port;
}

uint16_t endpoint_port(const struct sockaddr_storage *address)
{
	return ntohs(*port_of(address));
}

void endpoint_set_port(struct sockaddr_storage *address, uint16_t port)
{
	*port_of(address) = htons(port);
}

bool endpoint_is_multicast(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	return address->ss_family == AF_INET ? IN_MULTICAST(ntohl(v4->sin_addr.s_addr)) :
					       IN6_IS_ADDR_MULTICAST(&v6->sin6_addr);
}
