/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/own_network.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool own_network_ip(const char *format, ...)
{
	char arguments[200], command[300];
	va_list list;

	va_start(list, format);
	vsnprintf(arguments, sizeof(arguments), format, list);
	va_end(list);
	snprintf(command, sizeof(command), "PATH=$PATH:/usr/sbin:/sbin ip %s", arguments);
	return system(command) == 0;
}

bool own_network(void)
{
	static bool is_there;

	if (!is_there)
		is_there = unshare(CLONE_NEWNET) == 0 && own_network_ip("link set lo up");
	return is_there;
}

bool own_network_cable(unsigned mtu)
{
	/* an address of IPv6 would be looked for elsewhere before it is used: nodad */
	return own_network_ip("link add near mtu %u type veth peer name far mtu %u", mtu, mtu) &&
	       own_network_ip("link set near up") && own_network_ip("link set far up") &&
	       own_network_ip("address add 192.0.2.1/24 dev near") &&
	       own_network_ip("address add fd00:77::1/64 dev near nodad");
}
