/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own_network.h - a network of a test's own: interfaces that it may make, take down and remove
 *
 *   own_network() -> own_network_ip() ...
 *
 * It goes with the program. Thread: the one that calls, and those it starts later.
 */
#ifndef VSIB_TESTS_OWN_NETWORK_H
#define VSIB_TESTS_OWN_NETWORK_H

#include <stdbool.h>

/** own_network() - from now on, with nothing in it but lo, which is up. Return: false: no right to it, or no program ip. */
bool own_network(void);

/** own_network_ip() - `ip ARGUMENTS`, with printf's format. Return: false: it failed. */
bool own_network_ip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** own_network_cable() - a pair of interfaces near and far, up, with this MTU; near is 192.0.2.1/24 and fd00:77::1/64. Return: as above */
bool own_network_cable(unsigned mtu);

#endif
