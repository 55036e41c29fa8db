/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_udp.c - datagrams through real sockets of the loopback interface
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
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

#include "drivers/source.h"
#include "drivers/units.h"

#define FRAME 1000
#define MS INT64_C(1000000)
#define BUF_BYTES (200 * FRAME)

static struct source *source;
static int sender = -1;
static uint16_t port;
static unsigned char buf[BUF_BYTES];
static struct source_mark mark;

/* ---- a sender and a receiver ----------------------------------------------------------------- */

static struct sockaddr_in local(uint16_t at)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(at),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

/* One that nobody has at the moment. */
static uint16_t free_port(void)
{
	struct sockaddr_in address = local(0);
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	close(fd);
	return ntohs(address.sin_port);
}

static void open_only(const char *details)
{
	char name[128];

	port = free_port();
	snprintf(name, sizeof(name), "udp:127.0.0.1:%u%s", port, details);
	if (source_open(&source, name, NULL))
		fail_msg("%s", source->error);
	sender = socket(AF_INET, SOCK_DGRAM, 0);
	assert_true(sender >= 0);
}

static void open_started(const char *details)
{
	open_only(details);
	assert_int_equal(source_start(source), 0);
}

static int close_all(void **state)
{
	(void)state;
	source_close(source);
	source = NULL;
	if (sender >= 0)
		close(sender);
	sender = -1;
	return 0;
}

/* Byte @i of the payload of number @number. */
static unsigned char byte_of(uint64_t number, size_t i)
{
	return (unsigned char)(number * 7 + i);
}

static void send_bytes(const void *data, size_t len, uint16_t to)
{
	struct sockaddr_in address = local(to);

	assert_int_equal(sendto(sender, data, len, 0, (struct sockaddr *)&address, sizeof(address)),
			 len);
}

static void send_frame(uint64_t number, bool has_number)
{
	unsigned char data[8 + FRAME];
	uint64_t value = htole64(number);

	memcpy(data, &value, sizeof(value));
	for (size_t i = 0; i < FRAME; i++)
		data[8 + i] = byte_of(number, i);
	if (has_number)
		send_bytes(data, sizeof(data), port);
	else
		send_bytes(data + 8, FRAME, port);
}

static void send_range(uint64_t first, uint64_t last)
{
	for (uint64_t number = first; number <= last; number++)
		send_frame(number, true);
}

static ssize_t read_for(int64_t ms, size_t len)
{
	return source_read(source, buf, len, units_monotonic_ns() + ms * MS, &mark);
}

static void check_frames(uint64_t first, uint64_t last)
{
	const unsigned char *at = buf;

	for (uint64_t number = first; number <= last; number++, at += FRAME)
		for (size_t i = 0; i < FRAME; i++)
			if (at[i] != byte_of(number, i))
				fail_msg("byte %zu of number %" PRIu64 " is wrong", i, number);
}

static void expect_frames(uint64_t first, uint64_t last, uint64_t lost)
{
	size_t bytes = (size_t)(last - first + 1) * FRAME, got = 0;
	uint64_t lost_bytes = 0;

	while (got < bytes) {
		ssize_t n = source_read(source, buf + got, bytes - got,
					units_monotonic_ns() + 10000 * MS, &mark);

		if (n <= 0)
			fail_msg("%zd after %zu bytes: %s", n, got, source->error);
		assert_true(mark.lost_bytes == 0 || got == 0);
		lost_bytes += mark.lost_bytes;
		got += (size_t)n;
	}
	assert_int_equal(lost_bytes, lost * FRAME);
	check_frames(first, last);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void what_is_sent_is_read(void **state)
{
	(void)state;
	open_started(",psn=le64,frame=1000");
	assert_int_equal(source->frame_bytes, FRAME);
	assert_false(source->can_wait);
	send_range(1, 150);
	expect_frames(1, 150, 0);
	send_range(151, 152);
	expect_frames(151, 152, 0);
	assert_int_equal(get(&source->stats.packets.received_count), 152);
}

static void any_length_of_read_will_do(void **state)
{
	unsigned char all[5 * FRAME];
	size_t got = 0;

	(void)state;
	open_started(",psn=le64,frame=1000");
	send_range(1, 5);
	for (size_t len = 1; got < sizeof(all); len = len * 2 + 1) {
		ssize_t n = read_for(10000, len < sizeof(all) - got ? len : sizeof(all) - got);

		assert_true(n > 0);
		memcpy(all + got, buf, (size_t)n);
		got += (size_t)n;
	}
	memcpy(buf, all, sizeof(all));
	check_frames(1, 5);
}

static void what_comes_before_the_start_is_not_of_the_stream(void **state)
{
	(void)state;
	open_only(",psn=none,frame=1000");
	for (uint64_t number = 1; number < 5; number++)
		send_frame(number, false);
	assert_int_equal(source_start(source), 0);
	send_frame(5, false);
	send_frame(6, false);
	expect_frames(5, 6, 0);
	source_stop(source);
	assert_int_equal(read_for(1000, BUF_BYTES), SOURCE_END);
	assert_int_equal(mark.lost_bytes, 0);
	assert_int_equal(get(&source->stats.packets.dropped_count), 0);
}

static void what_came_before_the_stop_is_still_read(void **state)
{
	(void)state;
	open_started(",psn=le64,frame=1000");
	send_range(1, 3);
	send_frame(5, true); /* held back for want of 4 */
	source_stop(source);
	send_range(6, 7); /* too late */
	expect_frames(1, 3, 0);
	expect_frames(5, 5, 1);
	assert_int_equal(read_for(1000, BUF_BYTES), SOURCE_END);
	assert_int_equal(mark.lost_bytes, 0);
	assert_int_equal(read_for(1000, BUF_BYTES), SOURCE_END);
	assert_int_equal(get(&source->stats.packets.lost_count), 1);
}

static void order_is_mended_within_a_call(void **state)
{
	static const uint64_t order[] = { 1, 3, 2, 4, 5, 8, 7, 6, 9 };

	(void)state;
	open_started(",psn=le64,frame=1000");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		send_frame(order[i], true);
	expect_frames(1, 9, 0);
	assert_int_equal(get(&source->stats.packets.reordered_count), 3);
}

static void a_hole_is_given_up_when_nothing_comes(void **state)
{
	(void)state;
	open_started(",psn=le64,frame=1000");
	send_range(1, 2);
	send_range(5, 6);
	expect_frames(1, 2, 0);
	expect_frames(5, 6, 2);
}

static void what_is_thrown_away_is_told_with_the_next_bytes(void **state)
{
	static const unsigned char stray[3 * FRAME];

	(void)state;
	open_started(",psn=le64,frame=1000");
	send_frame(1, true);
	expect_frames(1, 1, 0);
	send_bytes(stray, sizeof(stray), port); /* longer */
	send_bytes(stray, 20, port);
	send_bytes(stray, 0, port);
	send_frame(1, true);
	assert_int_equal(read_for(30, BUF_BYTES), SOURCE_NOT_YET);
	assert_int_equal(mark.discarded_bytes, 0);
	send_frame(2, true);
	expect_frames(2, 2, 0);
	assert_int_equal(mark.discarded_bytes, sizeof(stray) - 8 + 12 + FRAME);
	assert_int_equal(get(&source->stats.packets.stray_count), 3);
	assert_int_equal(get(&source->stats.packets.duplicate_count), 1);
	assert_int_equal(get(&source->stats.discarded_bytes), mark.discarded_bytes);
}

static void drops_of_the_kernel_are_told_at_the_end_as_well(void **state)
{
	static const char *const details[] = { ",psn=none,frame=1000,rcvbuf=8Ki",
					       ",psn=le64,frame=1000,rcvbuf=8Ki" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint64_t received = 0, lost = 0;
		ssize_t n;

		open_started(details[i]);
		for (uint64_t number = 0; number < 500; number++)
			send_frame(number, i == 1);
		source_stop(source);
		while ((n = read_for(1000, BUF_BYTES)) > 0) {
			received += (uint64_t)n / FRAME;
			lost += mark.lost_bytes / FRAME;
		}
		assert_int_equal(n, SOURCE_END);
		lost += mark.lost_bytes / FRAME;
		assert_true(lost > 0);
		assert_int_equal(received + lost, 500);
		assert_int_equal(get(&source->stats.packets.dropped_count), lost);
		assert_int_equal(get(&source->stats.packets.lost_count), lost);
		close_all(NULL);
	}
}

static void an_interrupted_read_still_gives_what_is_there(void **state)
{
	(void)state;
	open_started(",psn=le64,frame=1000");
	send_frame(1, true);
	source_interrupt(source);
	assert_int_equal(read_for(1000000, BUF_BYTES), FRAME);
	assert_int_equal(read_for(1000000, BUF_BYTES), SOURCE_NOT_YET);
}

/* Who is not root gets what the sysctl allows. */
static void a_small_buffer_is_told_with_what_to_do(void **state)
{
	uid_t me = geteuid();
	uint64_t most = UINT64_MAX;
	FILE *file = fopen("/proc/sys/net/core/rmem_max", "re");

	(void)state;
	if (file) {
		if (fscanf(file, "%" SCNu64, &most) != 1)
			most = UINT64_MAX;
		fclose(file);
	}
	if (most > UINT64_C(512) << 20) {
		print_message("net.core.rmem_max can't be read, or is large\n");
		skip();
	}
	if (me == 0)
		assert_int_equal(seteuid(65534), 0);
	open_started(",rcvbuf=1Gi,psn=le64,frame=1000");
	if (me == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(get(&source->stats.packets.buffer_bytes), most);
	send_range(1, 2);
	expect_frames(1, 2, 0);
	close_all(NULL);
	if (me == 0)
		assert_int_equal(seteuid(65534), 0);
	open_only(",rcvbuf=1Gi");
	if (me == 0)
		assert_int_equal(seteuid(0), 0);
	assert_non_null(strstr(source->note, "as root: sysctl -w net.core.rmem_max=1073741824"));
}

static void expect_refused(const char *name, int error, const char *words)
{
	assert_int_equal(source_open(&source, name, NULL), -error);
	if (!strstr(source->error, words))
		fail_msg("%s: %s", name, source->error);
	source_close(source);
	source = NULL;
}

static void names_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	expect_refused("udp:", EINVAL, "is missing behind");
	expect_refused("udp:5000", EINVAL, "port is missing");
	expect_refused("udp::0", EINVAL, "is no port");
	expect_refused("udp::65536", EINVAL, "is no port");
	expect_refused("udp::5000-", EINVAL, "is no port");
	expect_refused("udp::5000+", EINVAL, "is no port");
	expect_refused("udp::5001-5000", EINVAL, "goes backward");
	expect_refused("udp::5000+4999-5001", EINVAL, "given twice");
	expect_refused("udp:::1:5000", EINVAL, "in brackets");
	expect_refused("udp:[::1:5000", EINVAL, "is no address");
	expect_refused("udp:localhost:5000", EINVAL, "is no address");
	expect_refused("udp:192.0.2.77:5000", EADDRNOTAVAIL, "doesn't have that address");
	expect_refused("udp::5000,iface=", EINVAL, "name of an interface");
	expect_refused("udp::5000,iface=nonesuch0", ENODEV, "no such interface");
	expect_refused("udp::5000,psn=16", EINVAL, "expected auto");
	expect_refused("udp::5000,frame=1.5", EINVAL, "frame=");
	expect_refused("udp::5000,window=0", EINVAL, "at least 1");
	expect_refused("udp::5000,rcvbuf=2Gi", ERANGE, "more than 1 GiB");
	expect_refused("udp::5000,from=me", EINVAL, "address, first or any");
}

static void a_port_in_use_is_refused(void **state)
{
	struct source *second;
	char name[64];

	(void)state;
	open_started("");
	snprintf(name, sizeof(name), "udp::%u", port);
	assert_int_equal(source_open(&second, name, NULL), -EADDRINUSE);
	assert_non_null(strstr(second->error, "in use"));
	source_close(second);
}

/* Whatever comes over a network begins when it was wanted. */
static void a_wanted_start_is_waited_for(void **state)
{
	static const struct {
		const char *name;
		bool wants_packets;
	} sources[] = { { "udp:127.0.0.1:", false },
			{ "pcap:lo,buffer=8Mi,port=", false },
			{ "pcap:lo,filter=port ", true } };

	(void)state;
	port = free_port();
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct source_config config = { .wants_packets = sources[i].wants_packets };
		char name[64];
		int ret;

		snprintf(name, sizeof(name), "%s%u", sources[i].name, port);
		config.start_utc_ns = units_realtime_ns() + UNITS_NS_PER_S; /* to open it takes less */
		ret = source_open(&source, name, &config);
		if (ret == -EACCES || ret == -EPERM) {
			print_message("%s needs CAP_NET_RAW\n", name);
		} else {
			assert_int_equal(ret, 0);
			assert_int_equal(source_start(source), 0);
			assert_true(units_realtime_ns() >= config.start_utc_ns);
			assert_int_equal(source->start_utc_ns, config.start_utc_ns);
		}
		source_close(source);
		source = NULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_is_sent_is_read, close_all),
		cmocka_unit_test_teardown(any_length_of_read_will_do, close_all),
		cmocka_unit_test_teardown(what_comes_before_the_start_is_not_of_the_stream, close_all),
		cmocka_unit_test_teardown(what_came_before_the_stop_is_still_read, close_all),
		cmocka_unit_test_teardown(order_is_mended_within_a_call, close_all),
		cmocka_unit_test_teardown(a_hole_is_given_up_when_nothing_comes, close_all),
		cmocka_unit_test_teardown(what_is_thrown_away_is_told_with_the_next_bytes, close_all),
		cmocka_unit_test_teardown(drops_of_the_kernel_are_told_at_the_end_as_well, close_all),
		cmocka_unit_test_teardown(an_interrupted_read_still_gives_what_is_there, close_all),
		cmocka_unit_test_teardown(a_small_buffer_is_told_with_what_to_do, close_all),
		cmocka_unit_test(a_wanted_start_is_waited_for),
		cmocka_unit_test(names_that_make_no_sense_are_refused),
		cmocka_unit_test_teardown(a_port_in_use_is_refused, close_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
