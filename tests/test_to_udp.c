/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp: as a destination: each unit is a datagram of its own with its number in front, in order, by IPv4, IPv6 and
 * multicast, in messages of several or of one; nobody who listens, an address that is none, and lengths that can't be.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/destination.h"

#define PAYLOAD_MAX 9000

static unsigned char payload[DESTINATION_BATCH][PAYLOAD_MAX];
static struct destination_unit units[DESTINATION_BATCH];

static void fill_units(enum psn_kind psn, size_t bytes)
{
	for (unsigned i = 0; i < DESTINATION_BATCH; i++) {
		memset(payload[i], (int)(i + 1), bytes);
		units[i] = (struct destination_unit){
			.prefix_bytes = psn_prefix_bytes(psn),
			.parts = { { payload[i], bytes / 2 },
				   { payload[i] + bytes / 2, bytes - bytes / 2 } },
			.part_count = 2,
			.bytes = bytes,
			.wire_bytes = bytes,
		};
		if (units[i].prefix_bytes)
			psn_put(psn, UINT64_C(0x100000000) + i, units[i].prefix);
	}
}

/* Return: the descriptor; its address, with the port that it got, for connecting to it. */
static int listen_at(int family, const char *text, char *name, size_t size)
{
	struct sockaddr_storage address = { .ss_family = (sa_family_t)family };
	socklen_t len = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	struct timeval patience = { .tv_sec = 5 };
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rcvbuf = 4 << 20;
	uint16_t port;

	if (fd < 0)
		return -1;
	if (family == AF_INET)
		inet_pton(AF_INET, text, &((struct sockaddr_in *)(void *)&address)->sin_addr);
	else
		inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)(void *)&address)->sin6_addr);
	if (bind(fd, (struct sockaddr *)&address, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
		close(fd);
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	port = ntohs(family == AF_INET ? ((struct sockaddr_in *)(void *)&address)->sin_port :
					 ((struct sockaddr_in6 *)(void *)&address)->sin6_port);
	snprintf(name, size, family == AF_INET ? "udp:%s:%u" : "udp:[%s]:%u", text, port);
	return fd;
}

static void send_all(struct destination *destination, size_t count)
{
	for (size_t at = 0; at < count;) {
		ssize_t sent = destination_send(destination, units + at, count - at);

		assert_true(sent >= 0);
		at += (size_t)sent;
	}
}

static void receive_all(int fd, size_t count, enum psn_kind psn, size_t bytes)
{
	static unsigned char got[PAYLOAD_MAX + 9];
	size_t prefix = psn_prefix_bytes(psn);

	for (size_t i = 0; i < count; i++) {
		ssize_t n = recv(fd, got, sizeof(got), 0);

		assert_int_equal(n, prefix + bytes);
		assert_memory_equal(got, units[i].prefix, prefix);
		assert_memory_equal(got + prefix, payload[i], bytes);
	}
	assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), -1);
}

static void check(int family, const char *address, const char *details, enum psn_kind psn,
		  size_t bytes, size_t count)
{
	char name[200];
	struct destination *destination;
	int fd = listen_at(family, address, name, sizeof(name)), ret;

	if (fd < 0)
		skip();
	strcat(name, details);
	ret = destination_open(&destination, name, NULL);
	assert_int_equal(ret, 0);
	assert_int_equal(destination->takes, DESTINATION_DATAGRAMS);
	assert_int_equal(destination->psn, psn);
	assert_int_equal(destination_start(destination), 0);
	fill_units(psn, bytes);
	send_all(destination, count);
	receive_all(fd, count, psn, bytes);
	assert_int_equal(atomic_load(&destination->stats.sent_bytes), count * bytes);
	assert_int_equal(atomic_load(&destination->stats.sent_count), count);
	assert_int_equal(destination_finish(destination, INT64_MAX), 0);
	destination_close(destination);
	close(fd);
}

static void test_each_unit_is_a_datagram(void **state)
{
	(void)state;
	check(AF_INET, "127.0.0.1", "", PSN_NONE, 100, DESTINATION_BATCH);
	check(AF_INET, "127.0.0.1", ",psn=le64,frame=8032", PSN_LE64, 8032, DESTINATION_BATCH);
	check(AF_INET, "127.0.0.1", ",psn=be64,gso=no", PSN_BE64, 8032, DESTINATION_BATCH);
	check(AF_INET, "127.0.0.1", ",psn=le32,gso=yes", PSN_LE32, 1000, DESTINATION_BATCH);
	check(AF_INET, "127.0.0.1", ",psn=be32,buffer=64Ki", PSN_BE32, 1, 1);
}

static void test_ipv6(void **state)
{
	(void)state;
	check(AF_INET6, "::1", ",psn=le64", PSN_LE64, 8032, DESTINATION_BATCH);
}

/* The last one of a message may be shorter; what is longer than the one before begins a new one. */
static void test_unequal_lengths(void **state)
{
	static const size_t lengths[] = { 1000, 1000, 10, 1000, 2000, 2000, 1, 1 };
	static unsigned char got[PAYLOAD_MAX];
	char name[200];
	struct destination *destination;
	int fd = listen_at(AF_INET, "127.0.0.1", name, sizeof(name));

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(destination_open(&destination, name, NULL), 0);
	fill_units(PSN_NONE, 2000);
	for (size_t i = 0; i < 8; i++) {
		units[i].part_count = 1;
		units[i].parts[0].iov_len = units[i].bytes = lengths[i];
	}
	send_all(destination, 8);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(recv(fd, got, sizeof(got), 0), lengths[i]);
		assert_memory_equal(got, payload[i], lengths[i]);
	}
	destination_close(destination);
	close(fd);
}

static void test_multicast(void **state)
{
	struct ip_mreqn group = { .imr_ifindex = 1 };
	char name[200];
	struct destination *destination;
	int fd = listen_at(AF_INET, "239.1.2.3", name, sizeof(name));

	(void)state;
	assert_true(fd >= 0);
	inet_pton(AF_INET, "239.1.2.3", &group.imr_multiaddr);
	if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		skip();
	strcat(name, ",iface=lo,ttl=0,psn=le64");
	assert_int_equal(destination_open(&destination, name, NULL), 0);
	fill_units(PSN_LE64, 500);
	send_all(destination, 20);
	receive_all(fd, 20, PSN_LE64, 500);
	destination_close(destination);
	close(fd);
}

/* It goes on when nobody listens, and says how often it was told. */
static void test_nobody_listens(void **state)
{
	char name[200];
	struct destination *destination;
	int fd = listen_at(AF_INET, "127.0.0.1", name, sizeof(name));

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	strcat(name, ",gso=no");
	assert_int_equal(destination_open(&destination, name, NULL), 0);
	fill_units(PSN_NONE, 100);
	send_all(destination, 10);
	send_all(destination, 10);
	assert_int_equal(atomic_load(&destination->stats.sent_count), 20);
	assert_true(atomic_load(&destination->stats.refused_count) > 0);
	destination_close(destination);
}

static void test_too_long(void **state)
{
	static unsigned char long_one[66000];
	struct destination_unit unit = {
		.parts = { { long_one, sizeof(long_one) } },
		.part_count = 1,
		.bytes = sizeof(long_one),
	};
	char name[200];
	struct destination *destination;
	int fd = listen_at(AF_INET, "127.0.0.1", name, sizeof(name));

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(destination_open(&destination, name, NULL), 0);
	assert_int_equal(destination_send(destination, &unit, 1), -EMSGSIZE);
	assert_non_null(strstr(destination->error, "66000"));
	destination_close(destination);
	close(fd);
}

static void test_names(void **state)
{
	static const char *const wrong[] = {
		"udp:",
		"udp:127.0.0.1",
		"udp::123",
		"udp:[::1:123",
		"udp:127.0.0.1:99999999",
		"udp:127.0.0.1:1,psn=vdif",
		"udp:127.0.0.1:1,ttl=256",
		"udp:127.0.0.1:1,gso=maybe",
		"udp:127.0.0.1:1,iface=there_is_none",
		"udp:127.0.0.1:1,frame=0",
		"udp:127.0.0.1:1,loop=2",
		"udp:127.0.0.1:1,mtu=3",
	};
	struct destination *destination;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_true(destination_open(&destination, wrong[i], NULL) < 0);
		assert_true(destination->error[0] != '\0');
		destination_close(destination);
	}
	assert_int_equal(destination_open(&destination, "udp:127.0.0.1:9,from=127.0.0.1", NULL), 0);
	assert_true(destination->frame_bytes_max > 1000);
	destination_close(destination);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_unit_is_a_datagram),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_unequal_lengths),
		cmocka_unit_test(test_multicast),
		cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
