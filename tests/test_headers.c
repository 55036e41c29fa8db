/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_headers.c - headers of datagrams: each field, and checksums as somebody else computes them, whatever the lengths
 * and wherever a part begins; and addresses as users write them
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/endpoint.h"
#include "drivers/headers.h"

#define PAYLOAD_MAX 9000

static unsigned char packet[HEADERS_BYTES_MAX + PAYLOAD_MAX];

static struct headers_config config_of(const char *to, const char *from, bool is_ethernet)
{
	struct headers_config config = {
		.is_ethernet = is_ethernet,
		.to_mac = { 2, 0, 0, 0, 0, 2 },
		.from_mac = { 2, 0, 0, 0, 0, 1 },
	};

	assert_true(endpoint_read(to, &config.to));
	assert_true(endpoint_read(from, &config.from));
	return config;
}

static unsigned word(const unsigned char *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* Slowly, two bytes at a time, as RFC 1071 puts it. Return: 0xffff where the checksum among them is right. */
static uint32_t add_up(uint32_t sum, const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		sum += i % 2 ? data[i] : (uint32_t)data[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* The packet that is there, whose IP begins at @ip. */
static void check_sums(const unsigned char *ip, size_t payload_bytes)
{
	bool is_ipv6 = ip[0] >> 4 == 6;
	const unsigned char *udp = ip + (is_ipv6 ? 40 : 20);
	size_t udp_bytes = 8 + payload_bytes;
	uint32_t sum = add_up(17 + (uint32_t)udp_bytes, is_ipv6 ? ip + 8 : ip + 12, is_ipv6 ? 32 : 8);

	assert_int_equal(add_up(sum, udp, udp_bytes), 0xffff);
	assert_int_not_equal(word(udp + 6), 0);
	assert_int_equal(word(udp + 4), udp_bytes);
	if (is_ipv6) {
		assert_int_equal(word(ip + 4), udp_bytes);
		return;
	}
	assert_int_equal(add_up(0, ip, 20), 0xffff);
	assert_int_equal(word(ip + 2), 20 + udp_bytes);
}

/* A payload of these bytes, in three parts that are cut at @first and @second. */
static void put(struct headers *headers, size_t bytes, size_t first, size_t second)
{
	unsigned char *payload = packet + headers->count;
	const struct iovec parts[] = {
		{ payload, first },
		{ payload + first, second - first },
		{ payload + second, bytes - second },
	};

	headers_put(headers, parts, 3, bytes, packet);
}

static void checksums_are_right(void **state)
{
	static const size_t lengths[] = { 1,  2,  3,   7,    8,    9,    31,  32,
					  33, 63, 100, 1471, 8032, 8040, 8999 };
	struct headers_config configs[] = {
		config_of("10.0.0.2:46227", "10.0.0.1:1000", true),
		config_of("[fd00::2]:46227", "[fd00::1]:65535", true),
		config_of("255.255.255.255:65535", "255.255.255.254:65535", false),
		config_of("[ffff:ffff::1]:1", "[fd00::1]:1", false),
	};

	(void)state;
	for (size_t c = 0; c < sizeof(configs) / sizeof(configs[0]); c++) {
		struct headers headers;

		headers_init(&headers, &configs[c]);
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			size_t bytes = lengths[i];

			for (size_t at = 0; at < bytes; at++)
				packet[headers.count + at] =
					i % 3 == 0 ? 0xff : (unsigned char)(at * 7 + at / 251 + i);
			for (size_t cut = 0; cut < 10 && cut <= bytes; cut++) {
				put(&headers, bytes, cut, cut + (bytes - cut) / 3);
				check_sums(packet + headers.ip_at, bytes);
			}
		}
	}
}

/* A sum that comes out as 0 is sent as its other form: 0 says that there is none. */
static void a_checksum_is_never_zero(void **state)
{
	struct headers_config config = config_of("10.0.0.2:46227", "10.0.0.1:1000", false);
	struct headers headers;
	uint16_t sum;

	(void)state;
	headers_init(&headers, &config);
	memset(packet, 0, sizeof(packet));
	put(&headers, 2, 0, 0);
	/* with the sum itself as payload all bits are set, and what is stored would be 0 */
	sum = (uint16_t)word(packet + 26);
	packet[headers.count] = (unsigned char)(sum >> 8);
	packet[headers.count + 1] = (unsigned char)sum;
	put(&headers, 2, 0, 0);
	assert_int_equal(word(packet + 26), 0xffff);
	check_sums(packet, 2);
}

static void fields_are_where_they_belong(void **state)
{
	static const unsigned char ethernet[] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0 };
	static const unsigned char addresses[] = { 10, 0, 0, 1, 10, 0, 0, 2 };
	struct headers_config config = config_of("10.0.0.2:46227", "10.0.0.1:1000", true);
	struct headers headers;

	(void)state;
	headers_init(&headers, &config);
	assert_int_equal(headers.count, 42);
	assert_int_equal(headers_payload_max(&headers), 65507);
	put(&headers, 100, 0, 0);
	put(&headers, 100, 0, 0);
	assert_memory_equal(packet, ethernet, sizeof(ethernet));
	assert_memory_equal(packet + 26, addresses, sizeof(addresses));
	assert_int_equal(packet[14], 0x45);
	assert_int_equal(word(packet + 18), 1); /* each has a number of its own */
	assert_int_equal(packet[22], 64);
	assert_int_equal(packet[23], 17);
	assert_int_equal(word(packet + 34), 1000);
	assert_int_equal(word(packet + 36), 46227);
	config = config_of("[fd00::2]:46227", "[fd00::1]:1000", true);
	headers_init(&headers, &config);
	assert_int_equal(headers.count, HEADERS_BYTES_MAX);
	assert_int_equal(headers_payload_max(&headers), 65527);
	put(&headers, 100, 0, 0);
	assert_int_equal(word(packet + 12), 0x86dd);
	assert_int_equal(packet[20], 17);
	assert_int_equal(packet[37], 1);
	assert_int_equal(packet[53], 2);
}

static void groups_have_addresses_of_ethernet(void **state)
{
	static const struct {
		const char *to;
		unsigned char mac[HEADERS_MAC_BYTES];
	} groups[] = {
		{ "239.129.2.3:1", { 0x01, 0x00, 0x5e, 0x01, 0x02, 0x03 } },
		{ "[ff02::1:ff00:1234]:1", { 0x33, 0x33, 0xff, 0x00, 0x12, 0x34 } },
		{ "255.255.255.255:1", { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
	};
	unsigned char mac[HEADERS_MAC_BYTES];
	struct sockaddr_storage address;

	(void)state;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		assert_true(endpoint_read(groups[i].to, &address));
		assert_true(headers_mac_of(&address, mac));
		assert_memory_equal(mac, groups[i].mac, sizeof(mac));
	}
	assert_true(endpoint_read("10.0.0.1:1", &address));
	assert_false(headers_mac_of(&address, mac));
}

static void addresses_are_read_as_they_are_written(void **state)
{
	static const struct {
		const char *text, *host, *port;
		bool needs_port;
	} right[] = {
		{ "host.example:46227", "host.example", "46227", true },
		{ "10.0.0.1", "10.0.0.1", "0", false },
		{ "[fd00::1]:80", "fd00::1", "80", true },
		{ "[fd00::1]", "fd00::1", "0", false },
		{ "fd00::1", "fd00::1", "0", false },
	};
	static const char *const wrong[] = { "",       ":1",          "host",   "host:",
					     "host:x", "host:123456", "[::1:1", "[::1]x1",
					     "[]:1",   "::1:1",       "host:1 " };
	struct endpoint endpoint;
	struct sockaddr_storage address;

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		assert_true(endpoint_split(right[i].text, right[i].needs_port, &endpoint));
		assert_string_equal(endpoint.host, right[i].host);
		assert_string_equal(endpoint.port, right[i].port);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(endpoint_split(wrong[i], true, &endpoint));
	assert_false(endpoint_read("localhost:1", &address));
	assert_false(endpoint_read("10.0.0.1:65536", &address));
	assert_true(endpoint_read("[fd00::1]:80", &address));
	assert_int_equal(endpoint_port(&address), 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksums_are_right),
		cmocka_unit_test(a_checksum_is_never_zero),
		cmocka_unit_test(fields_are_where_they_belong),
		cmocka_unit_test(groups_have_addresses_of_ethernet),
		cmocka_unit_test(addresses_are_read_as_they_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
