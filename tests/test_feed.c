/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_feed.c - blocks come in order, the end always comes, and a stop ends each wait
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/replay/feed.h"

#define BLOCK_BYTES_COUNT 4096
#define BLOCKS 4

static struct {
	uint64_t blocks; /* given; UINT64_MAX = until it is stopped */
	int result;
	int freed, woken;
	char said[FEED_ERROR_LEN];
} script;

static void *memory;
static struct ring *ring;

static int run(struct feed *feed)
{
	for (uint64_t i = 0; i < script.blocks; i++) {
		uint32_t block = feed_take(feed);

		if (block == RING_NONE)
			return -EINTR;
		memset(ring_data(ring, block), (int)i, BLOCK_BYTES_COUNT);
		feed_put_bytes(feed, block, i * 4000, 96, 4000);
	}
	if (script.result)
		return feed_fail(feed, script.result, "broken at %d", 7);
	return feed_put_gap(feed, script.blocks * 4000, 123, RECORDING_DISK);
}

static void wake(struct feed *feed)
{
	(void)feed;
	script.woken++;
}

static void end(struct feed *feed)
{
	(void)feed;
	script.freed++;
}

static const struct feed_ops ops = { .run = run, .wake = wake, .free = end };

static int set_up(void **state)
{
	struct ring_config config = { .block_bytes = BLOCK_BYTES_COUNT,
				      .block_count = BLOCKS,
				      .queue_count = 1,
				      .label_bytes = sizeof(struct play_label) };

	(void)state;
	memset(&script, 0, sizeof(script));
	memory = aligned_alloc(4096, (size_t)BLOCK_BYTES_COUNT * BLOCKS);
	config.memory = memory;
	return !memory || ring_create(&ring, &config);
}

static int tear_down(void **state)
{
	(void)state;
	ring_free(ring);
	free(memory);
	return 0;
}

static void say(void *context, const char *sentence)
{
	(void)context;
	strcpy(script.said, sentence);
}

static struct feed *start(void)
{
	struct feed_config config = { .ring = ring, .say = say };
	struct feed *feed;

	assert_int_equal(feed_create(&feed, &ops, &config), 0);
	assert_int_equal(feed_start(feed), 0);
	return feed;
}

/* The next block; its owner is the caller. */
static uint32_t claim(struct play_label *label)
{
	for (;;) {
		uint32_t ticket = ring_listen(ring, 0), block = ring_claim(ring, 0);

		if (block != RING_NONE) {
			memcpy(label, ring_label(ring, block), sizeof(*label));
			return block;
		}
		ring_sleep(ring, 0, ticket, INT64_MAX);
	}
}

static void blocks_come_in_order_and_then_the_end(void **state)
{
	struct play_label label;
	struct feed *feed;
	uint32_t block;

	(void)state;
	script.blocks = 20;
	feed = start();
	for (int i = 0; i < 20; i++) {
		block = claim(&label);
		assert_int_equal(label.kind, BLOCK_BYTES);
		assert_int_equal(label.stream_offset, i * 4000);
		assert_int_equal(label.lead_bytes, 96);
		assert_int_equal(ring_bytes(ring, block), 4096);
		assert_int_equal(((unsigned char *)ring_data(ring, block))[4095], i);
		ring_give_back(ring, block);
	}
	block = claim(&label);
	assert_int_equal(label.kind, BLOCK_GAP);
	assert_int_equal(label.gap_bytes, 123);
	assert_int_equal(label.stream_offset, 80000);
	assert_int_equal(label.cause, RECORDING_DISK);
	ring_give_back(ring, block);
	block = claim(&label);
	assert_int_equal(label.kind, BLOCK_END);
	assert_int_equal(label.result, 0);
	ring_give_back(ring, block);
	assert_int_equal(feed->stats.data_bytes, 80000);
	assert_int_equal(feed->stats.gap_bytes, 123);
	assert_int_equal(feed->stats.gap_count, 1);
	feed_free(feed);
	assert_int_equal(script.freed, 1);
	assert_int_equal(ring_free_count(ring), BLOCKS);
}

static void the_end_comes_though_nobody_empties_the_ring(void **state)
{
	struct play_label label;
	struct feed *feed;

	(void)state;
	script.blocks = UINT64_MAX;
	feed = start();
	while (ring_free_count(ring) > 0)
		sched_yield();
	feed_stop(feed);
	feed_stop(feed);
	assert_true(script.woken > 0);
	feed_free(feed);
	for (int i = 0; i < BLOCKS - 1; i++) {
		claim(&label);
		assert_int_equal(label.kind, BLOCK_BYTES);
	}
	claim(&label);
	assert_int_equal(label.kind, BLOCK_END);
	assert_int_equal(label.result, -EINTR);
}

static void a_failure_has_its_sentence(void **state)
{
	struct play_label label;
	struct feed *feed;

	(void)state;
	script.result = -EIO;
	feed = start();
	claim(&label);
	assert_int_equal(label.result, -EIO);
	while (!atomic_load_explicit(&feed->is_ended, memory_order_acquire))
		sched_yield();
	assert_string_equal(feed->error, "broken at 7");
	feed_free(feed);
}

static void one_that_was_never_started_is_freed(void **state)
{
	struct feed_config config = { .ring = ring, .say = say };
	struct feed *feed;

	(void)state;
	assert_int_equal(feed_create(&feed, &ops, &config), 0);
	feed_say(feed, "disk %d", 3);
	assert_string_equal(script.said, "disk 3");
	feed_free(feed);
	feed_free(NULL);
	assert_int_equal(script.freed, 1);
}

static void packets_are_counted_without_headers_and_padding(void **state)
{
	struct feed_config config = { .ring = ring };
	struct block_packet packet = { 0 };
	struct play_label label;
	struct feed *feed;
	size_t used = 0;
	uint32_t block;

	(void)state;
	assert_int_equal(feed_create(&feed, &ops, &config), 0);
	block = feed_take(feed);
	for (uint32_t bytes = 0; bytes < 20; bytes++) {
		packet.bytes = bytes;
		memcpy((char *)ring_data(ring, block) + used, &packet, sizeof(packet));
		used += block_packet_size(bytes);
	}
	feed_put_packets(feed, block, 55, used);
	assert_int_equal(feed->stats.data_bytes, 190);
	block = claim(&label);
	assert_int_equal(label.kind, BLOCK_PACKETS);
	assert_int_equal(label.stream_offset, 55);
	assert_int_equal(ring_bytes(ring, block), used);
	feed_free(feed);
}

static void a_round_begins_with_one_block(void **state)
{
	struct feed_config config = { .ring = ring };
	struct play_label label;
	struct feed *feed;

	(void)state;
	assert_int_equal(feed_create(&feed, &ops, &config), 0);
	for (uint64_t i = 0; i < 3; i++) {
		if (i == 1)
			feed_begin_anew(feed);
		feed_put_bytes(feed, feed_take(feed), i * 4000, 0, 4000);
		claim(&label);
		assert_int_equal(label.is_anew, i == 1);
	}
	feed_free(feed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(blocks_come_in_order_and_then_the_end),
		TEST(the_end_comes_though_nobody_empties_the_ring),
		TEST(a_failure_has_its_sentence),
		TEST(one_that_was_never_started_is_freed),
		TEST(a_round_begins_with_one_block),
		TEST(packets_are_counted_without_headers_and_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
