/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pcapng.c - what is written round packets where they lie is read back by libpcap, whatever room there is
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pcap/pcap.h>

#include "drivers/pcapng.h"

#define PART_BYTES ((size_t)128 << 10)
#define PARTS 3

static const struct pcapng_interface interface = {
	.link_type = 1, .name = "eth7", .filter = "udp", .program = "test"
};

static _Alignas(16) char memory[PARTS * PART_BYTES];
static size_t used;

static int set_up(void **state)
{
	(void)state;
	memset(memory, 0x5a, sizeof(memory)); /* what was there before */
	used = 0;
	return 0;
}

static uint32_t bytes_of(unsigned i)
{
	return 1 + i * 37 % 1500;
}

/* Packets from number @first on, with @gap bytes more than is needed from each to the next. */
static void add_part(unsigned first, unsigned count, size_t gap)
{
	char *begin = memory + used, *data = begin + PCAPNG_BEGIN_BYTES + PCAPNG_HEAD_BYTES;

	pcapng_begin(begin, PCAPNG_BEGIN_BYTES, &interface);
	for (unsigned i = first; i < first + count; i++) {
		struct pcapng_packet packet = { .utc_ns = INT64_C(1796026500123456789) + i,
						.captured_bytes = bytes_of(i),
						.wire_bytes = bytes_of(i) + 3 };
		char *until = data + pcapng_tail(packet.captured_bytes) + gap;

		memset(data, (int)(i & 0xff), packet.captured_bytes);
		pcapng_packet(data, until, &packet);
		data = until + PCAPNG_HEAD_BYTES;
		used = (size_t)(until - memory);
		assert_true(used <= sizeof(memory));
	}
}

static pcap_t *open_all(void)
{
	char error[PCAP_ERRBUF_SIZE];
	FILE *file = fmemopen(memory, used, "r");
	pcap_t *pcap;

	assert_non_null(file);
	pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error);
	if (!pcap)
		fail_msg("%s", error);
	assert_int_equal(pcap_datalink(pcap), DLT_EN10MB);
	return pcap;
}

static void expect_packets(unsigned count)
{
	struct pcap_pkthdr *header;
	const unsigned char *data;
	pcap_t *pcap = open_all();

	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(pcap_next_ex(pcap, &header, &data), 1);
		assert_int_equal(header->caplen, bytes_of(i));
		assert_int_equal(header->len, bytes_of(i) + 3);
		assert_int_equal(header->ts.tv_sec, 1796026500);
		assert_int_equal(header->ts.tv_usec, 123456789 + i); /* nanoseconds */
		for (uint32_t k = 0; k < header->caplen; k++)
			assert_int_equal(data[k], i & 0xff);
	}
	assert_int_equal(pcap_next_ex(pcap, &header, &data), PCAP_ERROR_BREAK);
	pcap_close(pcap);
}

static void packets_are_read_back_with_any_gap_between_them(void **state)
{
	for (size_t gap = 0; gap < 96; gap += PCAPNG_ALIGN) {
		set_up(state);
		add_part(0, 40, gap);
		expect_packets(40);
	}
}

static void a_gap_longer_than_an_option_is_taken_up_by_several(void **state)
{
	(void)state;
	for (size_t gap = 65500; gap < 65600; gap += PCAPNG_ALIGN) {
		set_up(state);
		add_part(0, 1, gap);
		expect_packets(1);
	}
	set_up(state);
	add_part(0, 2, 140000);
	expect_packets(2);
}

/* Each is complete in itself: files can be cut between them, and put together again. */
static void parts_stand_behind_one_another(void **state)
{
	(void)state;
	add_part(0, 10, 24);
	add_part(10, 1, 4000);
	add_part(11, 30, 0);
	expect_packets(41);
}

/* The kernel's own words, or the packets that were there before, are no part of the file. */
static void nothing_that_was_there_before_is_left(void **state)
{
	(void)state;
	add_part(0, 1, 4000);
	for (size_t i = PCAPNG_BEGIN_BYTES + PCAPNG_HEAD_BYTES + 1; i < used; i++)
		assert_int_not_equal(memory[i], 0x5a);
	for (size_t i = 0; i < PCAPNG_BEGIN_BYTES; i++)
		assert_int_not_equal(memory[i], 0x5a);
}

static void long_names_are_cut(void **state)
{
	char name[300], filter[300];
	struct pcapng_interface wordy = { .link_type = 1, .name = name, .filter = filter, .program = name };
	struct pcapng_packet packet = { .captured_bytes = 4, .wire_bytes = 4 };
	char *data = memory + PCAPNG_BEGIN_BYTES + PCAPNG_HEAD_BYTES;

	(void)state;
	memset(name, 'n', sizeof(name));
	memset(filter, 'f', sizeof(filter));
	name[299] = filter[299] = '\0';
	pcapng_begin(memory, PCAPNG_BEGIN_BYTES, &wordy);
	pcapng_packet(data, data + pcapng_tail(4), &packet);
	used = PCAPNG_BEGIN_BYTES + PCAPNG_HEAD_BYTES + pcapng_tail(4);
	pcap_close(open_all());
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(packets_are_read_back_with_any_gap_between_them),
		TEST(a_gap_longer_than_an_option_is_taken_up_by_several),
		TEST(parts_stand_behind_one_another),
		TEST(nothing_that_was_there_before_is_left),
		TEST(long_names_are_cut),
	};

	return cmocka_run_group_tests_name("pcapng", tests, NULL, NULL);
}
