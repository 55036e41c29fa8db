/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A source as a feed: all its bytes in order, its losses as gaps at their places, a start and a stop wherever they lie, a
 * slow pipe that isn't kept back, and an end at any moment.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/sim.h"
#include "drivers/units.h"
#include "tests/feed_kit.h"
#include "tools/replay/source_feed.h"

#define BLOCK_BYTES 8192

static struct feed_kit kit;
static struct source *source;
static struct feed *feed;

static void start(const char *name, uint64_t start_offset, uint64_t stop_offset)
{
	const struct source_config nothing = { 0 };
	struct source_feed_config config = { .start_offset = start_offset, .stop_offset = stop_offset };
	struct feed_config feed_config;

	feed_kit_open(&kit, BLOCK_BYTES, 4);
	feed_config = feed_kit_config(&kit);
	assert_int_equal(source_open(&source, name, &nothing), 0);
	config.source = source;
	assert_int_equal(source_feed_create(&feed, &feed_config, &config), 0);
}

static void end(void)
{
	feed_free(feed);
	source_close(source);
	feed_kit_close(&kit);
}

static void expect_sim(uint64_t offset, uint64_t seed, size_t bytes)
{
	assert_int_equal(kit.bytes, bytes);
	assert_int_equal(sim_verify(kit.data, bytes, offset, seed), bytes);
}

static void test_all_of_it(void **state)
{
	(void)state;
	start("sim:bytes=100001,seed=5", 0, UINT64_MAX);
	feed_kit_drain(&kit, feed, SIZE_MAX);
	assert_int_equal(kit.result, 0);
	expect_sim(0, 5, 100001);
	assert_int_equal(atomic_load(&feed->stats.data_bytes), 100001);
	end();
}

static void test_start_and_stop(void **state)
{
	static const uint64_t places[][2] = { { 0, 1 },        { 1, 2 },          { 8191, 8193 },
					      { 8192, 16384 }, { 50000, 100000 }, { 99999, 100000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		start("sim:bytes=100000,seed=5", places[i][0], places[i][1]);
		feed_kit_drain(&kit, feed, SIZE_MAX);
		assert_int_equal(kit.result, 0);
		expect_sim(places[i][0], 5, places[i][1] - places[i][0]);
		end();
	}
}

/* A loss in the middle of a block, one at its edge, and one that the start cuts. */
static void test_losses_are_gaps(void **state)
{
	(void)state;
	start("sim:bytes=100000,gap=1000@20000,gap=500@32768,seed=5", 0, UINT64_MAX);
	feed_kit_drain(&kit, feed, SIZE_MAX);
	assert_int_equal(kit.result, 0);
	assert_int_equal(kit.gap_count, 2);
	assert_int_equal(kit.gaps[0].stream_offset, 20000);
	assert_int_equal(kit.gaps[0].bytes, 1000);
	assert_int_equal(kit.gaps[0].at, 20000);
	assert_int_equal(kit.gaps[0].cause, RECORDING_SOURCE);
	assert_int_equal(kit.gaps[1].stream_offset, 32768);
	assert_int_equal(sim_verify(kit.data, 20000, 0, 5), 20000);
	assert_int_equal(sim_verify(kit.data + 20000, 11768, 21000, 5), 11768);
	assert_int_equal(sim_verify(kit.data + 31768, kit.bytes - 31768, 33268, 5), kit.bytes - 31768);
	assert_int_equal(atomic_load(&feed->stats.gap_bytes), 1500);
	assert_int_equal(feed->gaps[0].bytes, 1000);
	end();
	start("sim:bytes=100000,gap=1000@20000,seed=5", 20400, 30000);
	feed_kit_drain(&kit, feed, SIZE_MAX);
	assert_int_equal(kit.gap_count, 1);
	assert_int_equal(kit.gaps[0].stream_offset, 20400);
	assert_int_equal(kit.gaps[0].bytes, 600);
	assert_int_equal(sim_verify(kit.data, kit.bytes, 21000, 5), 9000);
	end();
}

static void test_stopped_in_the_middle(void **state)
{
	(void)state;
	start("sim:seed=5", 0, UINT64_MAX);
	feed_kit_drain(&kit, feed, 50000);
	assert_int_equal(kit.result, -EINTR);
	assert_true(kit.bytes >= 50000);
	assert_int_equal(sim_verify(kit.data, kit.bytes, 0, 5), kit.bytes);
	end();
}

/* A few bytes of a pipe whose writer says no more come all the same, and a stop doesn't wait for him. */
static void test_slow_pipe(void **state)
{
	int ends[2], kept = dup(STDIN_FILENO);

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "hello", 5), 5);
	dup2(ends[0], STDIN_FILENO);
	start("-", 0, UINT64_MAX);
	feed_kit_drain(&kit, feed, 5);
	assert_int_equal(kit.bytes, 5);
	assert_memory_equal(kit.data, "hello", 5);
	assert_int_equal(kit.result, -EINTR);
	end();
	dup2(kept, STDIN_FILENO);
	close(kept);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_it),
		cmocka_unit_test(test_start_and_stop),
		cmocka_unit_test(test_losses_are_gaps),
		cmocka_unit_test(test_stopped_in_the_middle),
		cmocka_unit_test(test_slow_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
