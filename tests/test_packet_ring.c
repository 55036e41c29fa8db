/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_packet_ring.c - whole packets of the loopback interface, in blocks that are lent: read back with libpcap
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pcap/pcap.h>
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

#define BLOCK_BYTES ((size_t)65536)
#define BLOCK_COUNT 4
#define PAYLOAD_BYTES 5000
#define HEADERS_BYTES 42
#define MS INT64_C(1000000)

static struct source *source;
static char *memory;
static int sender = -1;
static struct sockaddr_in address;
static char *file; /* the blocks that were taken, one behind the other */
static size_t file_bytes;
static uint64_t lost_packets;

/* ---- help ------------------------------------------------------------------------------------ */

/* A port that is nobody else's: what this test sends is what passes the filter. */
static void open_sender(void)
{
	socklen_t len = sizeof(address);

	sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	address = (struct sockaddr_in){ .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(sender, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(sender, (struct sockaddr *)&address, &len), 0);
}

static int set_up(void **state)
{
	const struct source_config config = { .wants_packets = true };
	char name[100];
	void *lent;
	int ret;

	(void)state;
	open_sender();
	snprintf(name, sizeof(name), "pcap:lo,filter=udp dst port %u", ntohs(address.sin_port));
	ret = source_open(&source, name, &config);
	if (ret == -EACCES || ret == -EPERM) {
		print_message("needs CAP_NET_RAW\n");
		return 0;
	}
	assert_int_equal(ret, 0);
	assert_int_equal(source_lend(source, BLOCK_BYTES, BLOCK_COUNT, &lent), 0);
	memory = lent;
	for (uint32_t block = 0; block < BLOCK_COUNT; block++)
		source_give(source, block);
	file = malloc(64 * BLOCK_BYTES);
	file_bytes = 0;
	lost_packets = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	source_close(source);
	close(sender);
	free(file);
	source = NULL;
	file = NULL;
	memory = NULL;
	return 0;
}

static void need_rights(void)
{
	if (!memory)
		skip();
}

static void start(void)
{
	need_rights();
	assert_int_equal(source_start(source), 0);
}

static void send_payload(const void *payload, size_t len)
{
	assert_int_equal(
		sendto(sender, payload, len, 0, (struct sockaddr *)&address, sizeof(address)), len);
}

static void send_datagrams(unsigned from, unsigned count)
{
	char payload[PAYLOAD_BYTES];

	for (unsigned i = from; i < from + count; i++) {
		memset(payload, (int)i, sizeof(payload));
		send_payload(payload, sizeof(payload));
	}
}

/* Return: as source_take(); the block is copied away, and is still ours. */
static ssize_t take(uint32_t *block, int64_t wait_ns)
{
	struct source_mark mark;
	ssize_t got = source_take(source, block, units_monotonic_ns() + wait_ns, &mark);

	if (got > 0) {
		assert_int_equal(got % 4096, 0);
		assert_true((size_t)got <= BLOCK_BYTES);
		memcpy(file + file_bytes, memory + *block * BLOCK_BYTES, (size_t)got);
		file_bytes += (size_t)got;
	}
	lost_packets += mark.lost_packets;
	return got;
}

/* The next one, which is on its way. */
static uint32_t take_next(void)
{
	uint32_t block;

	assert_true(take(&block, 2000 * MS) > 0);
	return block;
}

/* @count blocks, retired by the clock: four datagrams in each, from number @from on. */
static void fill_blocks(uint32_t *blocks, unsigned count, unsigned from)
{
	for (unsigned i = 0; i < count; i++) {
		send_datagrams(from + i * 4, 4);
		blocks[i] = take_next();
	}
}

/* Stops, and takes all that there is until the end. */
static void take_rest(void)
{
	uint32_t block;
	ssize_t got;

	source_stop(source);
	while ((got = take(&block, 0)) > 0)
		source_give(source, block);
	assert_int_equal(got, SOURCE_END);
}

/* libpcap reads them, and @check sees each packet with its number from 0 on. Return: how many. */
static unsigned read_with(void (*check)(unsigned number, const struct pcap_pkthdr *header,
					const unsigned char *data))
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_fopen_offline(fmemopen(file, file_bytes, "r"), error);
	struct pcap_pkthdr *header;
	const unsigned char *data;
	unsigned count = 0;

	assert_non_null(pcap);
	while (pcap_next_ex(pcap, &header, &data) == 1)
		check(count++, header, data);
	assert_string_equal(pcap_geterr(pcap), "");
	pcap_close(pcap);
	return count;
}

static void check_payload(unsigned number, const struct pcap_pkthdr *header, const unsigned char *data)
{
	assert_int_equal(header->caplen, HEADERS_BYTES + PAYLOAD_BYTES);
	for (unsigned i = HEADERS_BYTES; i < header->caplen; i++)
		assert_int_equal(data[i], number & 0xff);
}

static unsigned read_back(void)
{
	return read_with(check_payload);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void packets_come_whole_and_once(void **state)
{
	uint32_t block;

	(void)state;
	need_rights();
	send_datagrams(100, 3); /* before the start: not of the stream */
	start();
	for (unsigned i = 0; i < 5; i++) {
		send_datagrams(i * 20, 20);
		while (take(&block, 300 * MS) > 0)
			source_give(source, block);
	}
	take_rest();
	assert_int_equal(read_back(), 100);
	assert_int_equal(source->stats.packets.received_count, 100);
	assert_int_equal(lost_packets, 0);
}

static void what_came_before_the_stop_is_handed_out_behind_it(void **state)
{
	(void)state;
	start();
	send_datagrams(0, 5);
	source_interrupt(source);
	source_stop(source);
	send_datagrams(5, 5);
	take_rest();
	assert_int_equal(read_back(), 5);
}

static void blocks_come_back_in_any_order(void **state)
{
	uint32_t blocks[3];

	(void)state;
	start();
	for (unsigned round = 0; round < 3; round++) {
		fill_blocks(blocks, 3, round * 12);
		source_give(source, blocks[1]);
		source_give(source, blocks[2]);
		source_give(source, blocks[0]);
	}
	take_rest();
	assert_int_equal(read_back(), 36);
}

/* The kernel waits for the first of them, and so does who takes. */
static void a_block_is_handed_out_once_though_later_ones_came_back(void **state)
{
	uint32_t blocks[BLOCK_COUNT], other;

	(void)state;
	start();
	fill_blocks(blocks, BLOCK_COUNT, 0);
	for (unsigned i = 1; i < BLOCK_COUNT; i++) {
		source_give(source, blocks[i]);
		assert_int_equal(take(&other, 5 * MS), SOURCE_NOT_YET);
	}
	source_give(source, blocks[0]);
	send_datagrams(BLOCK_COUNT * 4, 4);
	take_rest();
	assert_int_equal(read_back(), (BLOCK_COUNT + 1) * 4);
}

static void what_finds_no_room_is_told_to_the_packet(void **state)
{
	(void)state;
	start();
	send_datagrams(0, 200);
	source_give(source, take_next());
	take_rest();
	assert_true(lost_packets > 100);
	assert_int_equal(lost_packets, source->stats.packets.dropped_count);
	assert_int_equal(source->stats.packets.received_count + lost_packets, 200);
	assert_int_equal(read_back(), source->stats.packets.received_count);
}

static void what_is_dropped_is_counted_while_nothing_comes(void **state)
{
	uint32_t blocks[BLOCK_COUNT], other;

	(void)state;
	start();
	fill_blocks(blocks, BLOCK_COUNT, 0);
	send_datagrams(0, 50);
	assert_int_equal(take(&other, 5 * MS), SOURCE_NOT_YET);
	assert_int_equal(source->stats.packets.dropped_count, 50);
	assert_int_equal(lost_packets, 0);
	send_datagrams(0, 50);
	source_give(source, blocks[0]);
	send_datagrams(BLOCK_COUNT * 4, 4);
	take_next();
	assert_int_equal(lost_packets, 100);
	assert_int_equal(source->stats.packets.dropped_count, 100);
}

static const char longest[65507];

static void check_cut(unsigned number, const struct pcap_pkthdr *header, const unsigned char *data)
{
	(void)number;
	(void)data;
	assert_int_equal(header->len, HEADERS_BYTES + sizeof(longest));
	assert_in_range(header->caplen, BLOCK_BYTES - 4096, BLOCK_BYTES);
}

/* Two of the longest there are, each in a block of its own; it is told once. */
static void what_is_longer_than_a_block_is_cut(void **state)
{
	uint32_t block;

	(void)state;
	start();
	for (unsigned i = 0; i < 2; i++) {
		send_payload(longest, sizeof(longest));
		assert_int_equal(take(&block, 2000 * MS), BLOCK_BYTES);
		assert_int_equal(strstr(source->note, "a packet was cut") != NULL, i == 0);
		source_give(source, block);
	}
	assert_true(source->is_incomplete);
	assert_int_equal(read_with(check_cut), 2);
}

static void silence_is_not_an_end(void **state)
{
	uint32_t block;
	int64_t begin = units_monotonic_ns();

	(void)state;
	start();
	assert_int_equal(take(&block, 150 * MS), SOURCE_NOT_YET);
	assert_true(units_monotonic_ns() - begin >= 150 * MS);
}

static void what_has_no_packets_is_refused(void **state)
{
	static const struct {
		const char *name;
		int error;
	} refused[] = {
		{ "pcap:nonesuch0", -ENODEV },
		{ "pcap:any", -EINVAL },
		{ "sim:", -EINVAL },
		{ "pcap:lo,filter=udp prot", -EINVAL },
		{ "pcap:lo,psn=le64", -EINVAL },
	};
	const struct source_config config = { .wants_packets = true };

	(void)state;
	need_rights();
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct source *other;

		assert_int_equal(source_open(&other, refused[i].name, &config), refused[i].error);
		assert_true(other->error[0]);
		source_close(other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(packets_come_whole_and_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_came_before_the_stop_is_handed_out_behind_it,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(blocks_come_back_in_any_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_block_is_handed_out_once_though_later_ones_came_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_finds_no_room_is_told_to_the_packet, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_dropped_is_counted_while_nothing_comes,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_longer_than_a_block_is_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(silence_is_not_an_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_has_no_packets_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
