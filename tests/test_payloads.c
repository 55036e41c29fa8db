/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_payloads.c - datagrams of a capture: in reads of any length, of many ports, and what the kernel dropped
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/payloads.h"

#define FRAME 40
#define PREFIX 8
#define PORT 5000

static struct payloads *payloads;
static struct source source;
static struct source_mark mark; /* of all reads */
static unsigned char out[1 << 16];
static size_t out_bytes;
static uint64_t lost_packets, lost_bytes;

static void open_from(enum psn_kind psn, bool use_any_sender)
{
	const struct datagrams_config config = {
		.psn = psn,
		.frame_bytes = FRAME,
		.use_any_sender = use_any_sender,
	};

	assert_int_equal(payloads_create(&payloads, &config, &source.stats.packets), 0);
	memset(&source, 0, sizeof(source));
	out_bytes = 0;
	lost_packets = lost_bytes = 0;
}

static void open_payloads(enum psn_kind psn)
{
	open_from(psn, false);
}

static int close_payloads(void **state)
{
	(void)state;
	payloads_free(payloads);
	payloads = NULL;
	return 0;
}

/* A frame says its number in each byte. */
static struct packet_udp datagram(unsigned char *data, uint64_t number, uint16_t port, bool has_prefix)
{
	const uint64_t prefix = htole64(number);

	memcpy(data, &prefix, PREFIX);
	memset(data + PREFIX, (int)number, FRAME);
	return (struct packet_udp){
		.payload = has_prefix ? data : data + PREFIX,
		.len = has_prefix ? PREFIX + FRAME : FRAME,
		.destination_port = port,
		.sender = { 192, 0, 2, 2 },
		.sender_bytes = 4,
	};
}

static void begin(size_t len)
{
	memset(&mark, 0, sizeof(mark));
	payloads_begin(payloads, out + out_bytes, len, &mark);
}

static size_t end_read(void)
{
	size_t used = payloads_bytes(payloads);

	payloads_tell(payloads, &source, used > 0);
	out_bytes += used;
	lost_packets += mark.lost_packets;
	lost_bytes += mark.lost_bytes;
	return used;
}

/* In reads of @len bytes. */
static void feed_udp(const struct packet_udp *udp, int64_t utc_ns, size_t len)
{
	for (begin(len); payloads_bytes(payloads) > 0; begin(len))
		end_read();
	payloads_take(payloads, udp, utc_ns);
	end_read();
}

static void feed(uint64_t number, uint16_t port, bool has_prefix, int64_t utc_ns, size_t len)
{
	unsigned char data[PREFIX + FRAME];
	const struct packet_udp udp = datagram(data, number, port, has_prefix);

	feed_udp(&udp, utc_ns, len);
}

static void finish(void)
{
	payloads_end(payloads);
	do
		begin(sizeof(out) - out_bytes);
	while (end_read() > 0);
	payloads_tell(payloads, &source, true);
	lost_packets += mark.lost_packets;
}

static void assert_out(const char *numbers)
{
	size_t count = strlen(numbers);

	assert_int_equal(out_bytes, count * FRAME);
	for (size_t i = 0; i < count * FRAME; i++)
		assert_int_equal(out[i], numbers[i / FRAME]);
}

static void payloads_come_whole_in_reads_of_any_length(void **state)
{
	static const size_t lengths[] = { 1, 7, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		open_payloads(PSN_LE64);
		for (uint64_t number = 'a'; number <= 'h'; number++)
			feed(number, PORT, true, 1, lengths[i]);
		finish();
		assert_out("abcdefgh");
		assert_int_equal(source.stats.packets.received_count, 8);
		assert_int_equal(source.stats.packets.lost_count, 0);
		close_payloads(state);
	}
}

static void one_read_takes_as_many_as_have_room(void **state)
{
	unsigned char data[PREFIX + FRAME];
	struct packet_udp udp;

	(void)state;
	open_payloads(PSN_LE64);
	begin(2 * FRAME + FRAME / 2);
	udp = datagram(data, 'a', PORT, true);
	assert_true(payloads_take(payloads, &udp, 77));
	udp = datagram(data, 'b', PORT, true);
	assert_false(payloads_take(payloads, &udp, 78));
	assert_int_equal(end_read(), 2 * FRAME);
	assert_int_equal(mark.utc_ns, 77);
	assert_out("ab");
}

static void each_port_has_its_own_numbers(void **state)
{
	(void)state;
	open_payloads(PSN_LE64);
	for (uint64_t number = 'a'; number <= 'c'; number++)
		for (uint16_t port = PORT; port < PORT + 3; port++)
			feed(number, port, true, 1, FRAME);
	finish();
	assert_out("aaabbbccc");
	assert_int_equal(source.stats.packets.lost_count, 0);
}

static void from_any_sender_each_has_its_own_numbers(void **state)
{
	unsigned char data[PREFIX + FRAME];

	(void)state;
	open_from(PSN_LE64, true);
	for (uint64_t number = 'a'; number <= 'c'; number++) {
		for (unsigned char from = 1; from <= 3; from++) {
			struct packet_udp udp = datagram(data, number, PORT, true);

			udp.sender[3] = from;
			feed_udp(&udp, 1, FRAME);
		}
	}
	finish();
	assert_out("aaabbbccc");
	assert_int_equal(source.stats.packets.duplicate_count, 0);
}

static void more_ports_than_there_is_room_for_are_one(void **state)
{
	(void)state;
	open_payloads(PSN_NONE);
	for (uint16_t port = 1; port <= 2 * DATAGRAMS_PORT_MAX; port++)
		feed('x', port, false, 1, FRAME);
	finish();
	assert_int_equal(out_bytes, 2 * DATAGRAMS_PORT_MAX * FRAME);
}

static void numbers_tell_what_drops_took(void **state)
{
	(void)state;
	open_payloads(PSN_LE64);
	feed('a', PORT, true, 10, FRAME);
	payloads_dropped(payloads, 3, 20);
	feed('e', PORT, true, 30, FRAME);
	feed('f', PORT, true, 31, FRAME);
	finish();
	assert_out("aef");
	assert_int_equal(lost_bytes, 3 * FRAME);
	assert_int_equal(lost_packets, 0);
	assert_int_equal(source.stats.packets.lost_count, 3);
	assert_int_equal(source.stats.packets.dropped_count, 3);
}

static void drops_behind_the_last_datagram_are_lost_packets(void **state)
{
	(void)state;
	open_payloads(PSN_LE64);
	feed('a', PORT, true, 10, FRAME);
	payloads_dropped(payloads, 3, 20);
	feed('b', PORT, true, 15, FRAME); /* was in the buffer before */
	finish();
	assert_out("ab");
	assert_int_equal(lost_bytes, 0);
	assert_int_equal(lost_packets, 3);
	assert_int_equal(source.stats.packets.lost_count, 3);
}

static void drops_without_numbers_are_lost_packets_once(void **state)
{
	(void)state;
	open_payloads(PSN_NONE);
	feed('a', PORT, false, 10, FRAME);
	payloads_dropped(payloads, 2, 20);
	feed('e', PORT, false, 30, FRAME);
	payloads_dropped(payloads, UINT32_MAX, 40);
	feed('f', PORT, false, 50, FRAME);
	finish();
	assert_out("aef");
	assert_int_equal(lost_bytes, 0);
	assert_int_equal(lost_packets, UINT64_C(2) + UINT32_MAX);
	assert_int_equal(source.stats.packets.lost_count, UINT64_C(2) + UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payloads_come_whole_in_reads_of_any_length),
		cmocka_unit_test_teardown(one_read_takes_as_many_as_have_room, close_payloads),
		cmocka_unit_test_teardown(each_port_has_its_own_numbers, close_payloads),
		cmocka_unit_test_teardown(from_any_sender_each_has_its_own_numbers, close_payloads),
		cmocka_unit_test_teardown(more_ports_than_there_is_room_for_are_one, close_payloads),
		cmocka_unit_test_teardown(numbers_tell_what_drops_took, close_payloads),
		cmocka_unit_test_teardown(drops_behind_the_last_datagram_are_lost_packets,
					  close_payloads),
		cmocka_unit_test_teardown(drops_without_numbers_are_lost_packets_once, close_payloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
