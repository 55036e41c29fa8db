/* SPDX-License-Identifier: BSD-2-Clause */
/* test_packet.c - the payload is found whatever lies around it, and what has none is counted by its reason */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pcap/dlt.h>

#include "drivers/packet.h"
#include "tests/made_packet.h"

#define PORT 46227

static struct made_packet made;

static struct packet_finder *make_finder(int link_type, unsigned port)
{
	const struct packet_finder_config config = {
		.link_type = link_type,
		.port = (uint16_t)port,
	};
	struct packet_finder *finder;

	assert_int_equal(packet_finder_create(&finder, &config), 0);
	return finder;
}

/* In memory of its own, so that a byte too far is seen by the sanitizers. */
static enum packet_fate find_captured(struct packet_finder *finder, size_t caplen, size_t len,
				      struct packet_udp *udp)
{
	static unsigned char *copy; /* the payload points into it until the next call */
	struct packet packet = { .caplen = caplen, .len = len };

	free(copy);
	copy = malloc(caplen ? caplen : 1);
	assert_non_null(copy);
	memcpy(copy, made.at, caplen);
	packet.data = copy;
	return packet_find(finder, &packet, udp);
}

static enum packet_fate find(struct packet_finder *finder, struct packet_udp *udp)
{
	return find_captured(finder, made_len(&made), made_len(&made), udp);
}

/* The same packet with a finder that has seen nothing. */
static enum packet_fate find_alone(int link_type, struct packet_udp *udp)
{
	struct packet_finder *finder = make_finder(link_type, 0);
	enum packet_fate fate = find(finder, udp);

	packet_finder_free(finder);
	return fate;
}

static void make_datagram_of(size_t payload_len)
{
	made_payload(&made, payload_len, 1);
	made_udp(&made, PORT);
}

static void make_ipv4_packet(size_t payload_len)
{
	make_datagram_of(payload_len);
	made_ipv4(&made, 17, 1, 0);
}

static void assert_payload(const struct packet_udp *udp, size_t len, unsigned seed)
{
	static struct made_packet expected;

	made_payload(&expected, len, seed);
	assert_int_equal(udp->len, len);
	assert_memory_equal(udp->payload, expected.at, len);
}

static void assert_found(int link_type, size_t len)
{
	struct packet_udp udp;

	assert_int_equal(find_alone(link_type, &udp), PACKET_DATAGRAM);
	assert_payload(&udp, len, 1);
	assert_int_equal(udp.source_port, 1000);
	assert_int_equal(udp.destination_port, PORT);
}

static void assert_fate(int link_type, enum packet_fate fate)
{
	struct packet_udp udp;

	assert_int_equal(find_alone(link_type, &udp), fate);
}

/* ---- links --------------------------------------------------------------------------------------- */

static void ethernet_with_any_number_of_tags(void **state)
{
	static const unsigned tags[] = { 0x8100, 0x88a8, 0x9100, 0x9200 };

	(void)state;
	for (unsigned count = 0; count <= 4; count++) {
		unsigned type = 0x0800;

		make_ipv4_packet(100);
		for (unsigned i = 0; i < count; i++) {
			made_tag(&made, type);
			type = tags[i];
		}
		made_ethernet(&made, type);
		assert_found(DLT_EN10MB, 100);
	}
}

static void cooked_captures(void **state)
{
	(void)state;
	make_ipv4_packet(100);
	made_put16(made_front(&made, 16) + 14, 0x0800);
	assert_found(DLT_LINUX_SLL, 100);

	make_ipv4_packet(100);
	made_put16(made_front(&made, 20), 0x0800);
	assert_found(DLT_LINUX_SLL2, 100);

	make_ipv4_packet(100);
	made_tag(&made, 0x0800);
	made_put16(made_front(&made, 16) + 14, 0x8100);
	assert_found(DLT_LINUX_SLL, 100);
}

static void raw_ip_of_either_version(void **state)
{
	static const int types[] = { DLT_RAW, 101, 14, DLT_IPV4, DLT_IPV6 };

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		make_ipv4_packet(100);
		assert_found(types[i], 100);
		make_datagram_of(100);
		made_ipv6(&made, 17);
		assert_found(types[i], 100);
		made.at[0] = 0x50;
		assert_fate(types[i], PACKET_NOT_IP);
	}
}

static void loopback_in_either_order_of_bytes(void **state)
{
	static const unsigned char families[] = { 10, 24, 28, 30 };

	(void)state;
	make_ipv4_packet(100);
	made_front(&made, 4)[0] = 2;
	assert_found(DLT_NULL, 100);
	assert_fate(DLT_LOOP, PACKET_NOT_IP);
	make_ipv4_packet(100);
	made_front(&made, 4)[3] = 2;
	assert_found(DLT_NULL, 100);
	assert_found(DLT_LOOP, 100);
	for (size_t i = 0; i < sizeof(families); i++) {
		make_datagram_of(100);
		made_ipv6(&made, 17);
		made_front(&made, 4)[0] = families[i];
		assert_found(DLT_NULL, 100);
	}
	made.at[2] = 8;
	assert_fate(DLT_NULL, PACKET_NOT_IP);
}

static void what_is_not_udp_is_told_apart(void **state)
{
	(void)state;
	make_ipv4_packet(100);
	made_ethernet(&made, 0x0806);
	assert_fate(DLT_EN10MB, PACKET_NOT_IP);
	made_payload(&made, 40, 1);
	made_ipv4(&made, 6, 1, 0);
	assert_fate(DLT_RAW, PACKET_NOT_UDP);
	made_payload(&made, 40, 1);
	made_ipv4(&made, 6, 1, 0x2000); /* nobody waits for the rest of it */
	assert_fate(DLT_RAW, PACKET_NOT_UDP);
	made_payload(&made, 40, 1);
	made_ipv6(&made, 58);
	assert_fate(DLT_RAW, PACKET_NOT_UDP);
	make_ipv4_packet(100);
	assert_fate(253, PACKET_UNKNOWN_LINK);
}

/* ---- lengths ------------------------------------------------------------------------------------- */

static void padding_is_no_payload(void **state)
{
	(void)state;
	make_ipv4_packet(4);
	memmove(made.at - 14, made.at, made_len(&made)); /* 14 bytes of padding behind */
	made.at -= 14;
	made_ethernet(&made, 0x0800);
	assert_int_equal(made_len(&made), 60);
	assert_found(DLT_EN10MB, 4);
}

static void options_of_ipv4_are_skipped(void **state)
{
	(void)state;
	make_datagram_of(100);
	made_front(&made, 40);
	made_ipv4(&made, 17, 1, 0);
	made.at[0] = 0x4f;
	assert_found(DLT_RAW, 100);
}

static void a_length_of_0_means_all_of_it(void **state)
{
	(void)state;
	make_ipv4_packet(100);
	made_put16(made.at + 2, 0);
	assert_found(DLT_RAW, 100);
	made_put16(made.at + 24, 0); /* UDP's, too */
	assert_found(DLT_RAW, 100);
	make_datagram_of(70000);
	made_ipv6(&made, 17);
	assert_found(DLT_RAW, 70000);
}

static void jumbograms_say_their_length_in_an_option(void **state)
{
	struct packet_finder *finder = make_finder(DLT_RAW, 0);
	struct packet_udp udp;

	(void)state;
	make_datagram_of(70000);
	made_extension(&made, 0, 17, 16);
	made.at[2] = 1; /* PadN of 4 bytes in all */
	made.at[3] = 2;
	made.at[8] = 0xc2;
	made.at[9] = 4;
	made_put32(made.at + 10, (uint32_t)made_len(&made));
	made_ipv6(&made, 0);
	assert_found(DLT_RAW, 70000);
	/* a snapshot length of 65536 cuts it, and nothing in UDP says so */
	assert_int_equal(find_captured(finder, 65536, made_len(&made), &udp), PACKET_CUT);
	packet_finder_free(finder);
}

static void lengths_that_contradict_are_bad_headers(void **state)
{
	(void)state;
	make_ipv4_packet(100);
	made.at[0] = 0x44;
	assert_fate(DLT_RAW, PACKET_BAD_HEADER);
	made.at[0] = 0x45;
	made_put16(made.at + 2, 19);
	assert_fate(DLT_RAW, PACKET_BAD_HEADER);
	made_put16(made.at + 2, 120); /* the datagram is longer than its packet */
	assert_fate(DLT_RAW, PACKET_BAD_HEADER);
	made_put16(made.at + 2, 128);
	made_put16(made.at + 24, 7);
	assert_fate(DLT_RAW, PACKET_BAD_HEADER);
	make_datagram_of(100);
	made_extension(&made, 60, 17, 8);
	made.at[1] = 255;
	made_ipv6(&made, 60);
	assert_fate(DLT_RAW, PACKET_BAD_HEADER);
}

static void a_datagram_shorter_than_its_packet_is_whole(void **state)
{
	(void)state;
	make_ipv4_packet(100);
	made_put16(made.at + 24, 58);
	assert_found(DLT_RAW, 50);
	made_put16(made.at + 24, 8);
	assert_found(DLT_RAW, 0);
}

/* ---- IPv6 ---------------------------------------------------------------------------------------- */

static void extension_headers_are_walked(void **state)
{
	(void)state;
	make_datagram_of(100);
	made_fragment(&made, 17, 77, 0); /* the first one, and the last */
	made_extension(&made, 60, 44, 24);
	made_extension(&made, 51, 60, 24);
	made_extension(&made, 43, 51, 8);
	made_extension(&made, 0, 43, 8);
	made_ipv6(&made, 0);
	made_ethernet(&made, 0x86dd);
	assert_found(DLT_EN10MB, 100);
}

/* ---- captures that are cut ----------------------------------------------------------------------- */

/* Whatever the snapshot length: a packet is cut, or nothing but padding was lost. */
static void cut_at_every_byte(int link_type, size_t needed)
{
	struct packet_finder *finder = make_finder(link_type, 0);
	size_t len = made_len(&made);

	for (size_t caplen = 0; caplen <= len; caplen++) {
		struct packet_udp udp;
		enum packet_fate fate = find_captured(finder, caplen, len, &udp);

		assert_int_equal(fate, caplen < needed ? PACKET_CUT : PACKET_DATAGRAM);
		if (caplen + 100 >= needed)
			assert_int_equal(udp.len, 100); /* known from the header on */
	}
	packet_finder_free(finder);
}

static void packets_cut_at_every_byte(void **state)
{
	(void)state;
	make_ipv4_packet(100);
	made_tag(&made, 0x0800);
	made_ethernet(&made, 0x8100);
	cut_at_every_byte(DLT_EN10MB, made_len(&made));

	make_datagram_of(100);
	made_extension(&made, 60, 17, 24);
	made_extension(&made, 0, 60, 8);
	made_ipv6(&made, 0);
	made_put16(made_front(&made, 20), 0x86dd);
	cut_at_every_byte(DLT_LINUX_SLL2, made_len(&made));

	make_ipv4_packet(100);
	made_front(&made, 4)[0] = 2;
	cut_at_every_byte(DLT_NULL, made_len(&made));
}

/* Each byte of a packet takes every value: nothing outside is read, and every packet is counted. */
static void any_byte_may_be_wrong(void **state)
{
	struct packet_finder *finder = make_finder(DLT_EN10MB, 0);
	struct packet_counts counts;
	uint64_t count = 0;

	(void)state;
	make_datagram_of(16);
	made_fragment(&made, 17, 7, 0);
	made_extension(&made, 0, 44, 8);
	made_ipv6(&made, 0);
	made_ethernet(&made, 0x86dd);
	for (unsigned char *at = made.at; at < made.end; at++) {
		unsigned char right = *at;

		for (unsigned value = 0; value < 256; value++) {
			struct packet_udp udp;

			*at = (unsigned char)value;
			find(finder, &udp);
			count++;
		}
		*at = right;
	}
	packet_finder_end(finder);
	packet_finder_counts(finder, &counts);
	assert_int_equal(packet_count(&counts), count);
	packet_finder_free(finder);
}

/* ---- fragments ----------------------------------------------------------------------------------- */

#define PIECE 1480
#define PIECES 6
#define FRAGMENTED_LEN (PIECES * PIECE - 8 - 300)

/* The @index-th fragment of a datagram. */
static void make_piece(unsigned index, bool is_ipv6, unsigned id, unsigned seed)
{
	static struct made_packet whole;
	bool is_last = index == PIECES - 1;

	made_payload(&whole, FRAGMENTED_LEN, seed);
	made_udp(&whole, PORT);
	made_bytes(&made, whole.at + (size_t)index * PIECE,
		   is_last ? made_len(&whole) - (size_t)index * PIECE : PIECE);
	if (is_ipv6) {
		made_fragment(&made, 17, id, index * PIECE | !is_last);
		made_ipv6(&made, 44);
	} else {
		made_ipv4(&made, 17, id, index * PIECE / 8 | (is_last ? 0 : 0x2000));
	}
}

static void fragments_in_any_order(void **state)
{
	static const unsigned orders[][PIECES] = {
		{ 0, 1, 2, 3, 4, 5 },
		{ 5, 4, 3, 2, 1, 0 },
		{ 3, 5, 0, 4, 1, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]) * 2; i++) {
		struct packet_finder *finder = make_finder(DLT_RAW, PORT);
		struct packet_counts counts;
		struct packet_udp udp;

		for (unsigned k = 0; k < PIECES; k++) {
			make_piece(orders[i / 2][k], i % 2, 9, 3);
			assert_int_equal(find(finder, &udp),
					 k < PIECES - 1 ? PACKET_FRAGMENT : PACKET_DATAGRAM);
		}
		assert_payload(&udp, FRAGMENTED_LEN, 3);
		packet_finder_end(finder);
		packet_finder_counts(finder, &counts);
		assert_int_equal(counts.packets[PACKET_DATAGRAM], 1);
		assert_int_equal(counts.packets[PACKET_FRAGMENT], PIECES - 1);
		assert_int_equal(counts.payload_bytes, FRAGMENTED_LEN);
		assert_int_equal(counts.fragments.whole_fragments, PIECES);
		assert_int_equal(counts.fragments.incomplete_count, 0);
		packet_finder_free(finder);
	}
}

static void a_fragment_that_was_cut_is_not_taken(void **state)
{
	struct packet_finder *finder = make_finder(DLT_RAW, 0);
	struct packet_udp udp;

	(void)state;
	make_piece(0, false, 9, 3);
	assert_int_equal(find_captured(finder, 1000, made_len(&made), &udp), PACKET_CUT);
	for (unsigned k = 1; k < PIECES; k++) {
		make_piece(k, false, 9, 3);
		assert_int_equal(find(finder, &udp), PACKET_FRAGMENT);
	}
	packet_finder_free(finder);
}

/* Extension headers behind that of the fragment are part of what is put together. */
static void extension_headers_in_fragments(void **state)
{
	struct packet_finder *finder = make_finder(DLT_RAW, 0);
	static struct made_packet whole;
	struct packet_udp udp;

	(void)state;
	made_payload(&whole, 100, 1);
	made_udp(&whole, PORT);
	made_extension(&whole, 60, 17, 8);
	made_bytes(&made, whole.at, 64);
	made_fragment(&made, 60, 5, 0 | 1);
	made_ipv6(&made, 44);
	assert_int_equal(find(finder, &udp), PACKET_FRAGMENT);
	made_bytes(&made, whole.at + 64, made_len(&whole) - 64);
	made_fragment(&made, 60, 5, 64);
	made_ipv6(&made, 44);
	assert_int_equal(find(finder, &udp), PACKET_DATAGRAM);
	assert_payload(&udp, 100, 1);
	packet_finder_free(finder);
}

/* ---- what is wanted, what is told ---------------------------------------------------------------- */

static void other_ports_are_counted_apart(void **state)
{
	struct packet_finder *finder = make_finder(DLT_RAW, PORT + 1);
	struct packet_udp udp;

	(void)state;
	make_ipv4_packet(100);
	assert_int_equal(find(finder, &udp), PACKET_OTHER_PORT);
	assert_int_equal(find_captured(finder, 40, made_len(&made), &udp), PACKET_OTHER_PORT);
	made_put16(made.at + 22, PORT + 1);
	assert_int_equal(find(finder, &udp), PACKET_DATAGRAM);
	packet_finder_free(finder);
}

static void times_are_those_of_all_packets(void **state)
{
	static const int64_t times[] = { 0, 500, 900, 700 };
	struct packet_finder *finder = make_finder(DLT_RAW, 0);
	struct packet_counts counts;
	struct packet_udp udp;

	(void)state;
	packet_finder_counts(finder, &counts);
	assert_int_equal(counts.first_utc_ns, 0);
	for (int i = 0; i < 4; i++) {
		const struct packet packet = { .data = "", .utc_ns = times[i] };

		if (i == 2)
			assert_int_equal(packet_find(finder, &packet, &udp), PACKET_BAD_HEADER);
		else
			packet_leave_out(finder, &packet);
	}
	packet_finder_counts(finder, &counts);
	assert_int_equal(counts.first_utc_ns, 500);
	assert_int_equal(counts.last_utc_ns, 700);
	assert_int_equal(counts.packets[PACKET_FILTERED], 3);
	assert_int_equal(packet_count(&counts), 4);
	packet_finder_free(finder);
}

static void what_was_left_out_is_told_in_words(void **state)
{
	struct packet_finder *finder = make_finder(DLT_RAW, 0);
	struct packet_counts counts;
	struct packet_udp udp;
	char text[200], little[16];

	(void)state;
	make_ipv4_packet(100);
	find(finder, &udp);
	packet_finder_counts(finder, &counts);
	assert_false(packet_tell_left_out(&counts, text, sizeof(text)));
	assert_string_equal(text, "");
	find_captured(finder, 60, made_len(&made), &udp);
	made.at[9] = 6;
	find(finder, &udp);
	make_piece(0, false, 9, 3);
	find(finder, &udp);
	make_piece(1, false, 9, 3);
	find(finder, &udp);
	packet_finder_end(finder);
	packet_finder_counts(finder, &counts);
	assert_int_equal(packet_count(&counts), 5);
	assert_true(packet_tell_left_out(&counts, text, sizeof(text)));
	assert_string_equal(
		text, "1 not UDP, 1 cut short by the capture, 2 fragments of 1 incomplete datagram");
	assert_true(packet_tell_left_out(&counts, little, sizeof(little)));
	assert_string_equal(little, "1 not UDP, 1 cu");
	packet_finder_free(finder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ethernet_with_any_number_of_tags),
		cmocka_unit_test(cooked_captures),
		cmocka_unit_test(raw_ip_of_either_version),
		cmocka_unit_test(loopback_in_either_order_of_bytes),
		cmocka_unit_test(what_is_not_udp_is_told_apart),
		cmocka_unit_test(padding_is_no_payload),
		cmocka_unit_test(options_of_ipv4_are_skipped),
		cmocka_unit_test(a_length_of_0_means_all_of_it),
		cmocka_unit_test(jumbograms_say_their_length_in_an_option),
		cmocka_unit_test(lengths_that_contradict_are_bad_headers),
		cmocka_unit_test(a_datagram_shorter_than_its_packet_is_whole),
		cmocka_unit_test(extension_headers_are_walked),
		cmocka_unit_test(packets_cut_at_every_byte),
		cmocka_unit_test(any_byte_may_be_wrong),
		cmocka_unit_test(fragments_in_any_order),
		cmocka_unit_test(a_fragment_that_was_cut_is_not_taken),
		cmocka_unit_test(extension_headers_in_fragments),
		cmocka_unit_test(other_ports_are_counted_apart),
		cmocka_unit_test(times_are_those_of_all_packets),
		cmocka_unit_test(what_was_left_out_is_told_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
