/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The player: what comes out is what was fed, in whole frames with numbers that count what is missing, wherever blocks begin
 * and end; moments are absolute; what is late is bounded and counted; a destination that is busy, slow or gone; an end at
 * any moment, with every byte accounted for; and faults on demand.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "drivers/bytes.h"
#include "drivers/sim.h"
#include "drivers/units.h"
#include "tests/feed_kit.h"
#include "tools/replay/disturbance.h"
#include "tools/replay/player.h"

#define BLOCK_BYTES 4096
#define BLOCK_COUNT 8
#define SEED 11
#define UNITS_MAX 20000

/* ---- a destination that remembers ---------------------------------------------------------------- */

struct seen {
	uint64_t number;
	size_t at, bytes; /* in data */
	int64_t ns;
};

static struct {
	enum destination_takes takes;
	enum psn_kind psn;
	unsigned char *data;
	size_t bytes;
	struct seen units[UNITS_MAX];
	size_t count;
	size_t write_max;    /* bytes taken by a write; 0 = all */
	unsigned busy_every; /* each so-many-th call takes nothing; 0 = none */
	unsigned call_count;
	size_t fail_at;  /* from this unit on: */
	int fail_error;  /* this; 0 = never */
	size_t stall_at; /* before this unit it sleeps once ... */
	int64_t stall_ns;
	size_t at_once; /* the most units in one call */
} sink;

static void nap(int64_t ns)
{
	const struct timespec time = { .tv_sec = ns / UNITS_NS_PER_S, .tv_nsec = ns % UNITS_NS_PER_S };

	nanosleep(&time, NULL);
}

static void keep(const void *data, size_t bytes)
{
	sink.data = realloc(sink.data, sink.bytes + bytes);
	memcpy(sink.data + sink.bytes, data, bytes);
	sink.bytes += bytes;
}

static int sink_open(struct destination *destination, const struct destination_config *config)
{
	(void)config;
	destination->takes = sink.takes;
	destination->psn = sink.psn;
	return 0;
}

static ssize_t sink_write(struct destination *destination, const void *data, size_t bytes,
			  int64_t deadline_ns)
{
	(void)deadline_ns;
	if (sink.fail_error && sink.bytes >= sink.fail_at)
		return destination_fail(destination, sink.fail_error, "gone");
	if (sink.busy_every && ++sink.call_count % sink.busy_every == 0)
		return 0;
	if (sink.write_max && bytes > sink.write_max)
		bytes = sink.write_max;
	keep(data, bytes);
	return (ssize_t)bytes;
}

static ssize_t sink_send(struct destination *destination, const struct destination_unit *units,
			 size_t count)
{
	if (sink.fail_error && sink.count >= sink.fail_at)
		return destination_fail(destination, sink.fail_error, "gone");
	if (sink.busy_every && ++sink.call_count % sink.busy_every == 0)
		return 0;
	if (sink.stall_ns && sink.count >= sink.stall_at) {
		nap(sink.stall_ns);
		sink.stall_ns = 0;
	}
	if (count > sink.at_once)
		sink.at_once = count;
	for (size_t i = 0; i < count; i++) {
		struct seen *seen = &sink.units[sink.count++];

		*seen = (struct seen){ .at = sink.bytes,
				       .bytes = units[i].bytes,
				       .ns = units_monotonic_ns() };
		if (units[i].prefix_bytes == 8)
			seen->number = bytes_le64(units[i].prefix);
		for (unsigned k = 0; k < units[i].part_count; k++)
			keep(units[i].parts[k].iov_base, units[i].parts[k].iov_len);
	}
	return (ssize_t)count;
}

static const struct destination_ops sink_ops = {
	.prefix = "sink:",
	.open = sink_open,
	.write = sink_write,
	.send = sink_send,
};

/* ---- a feed by a script -------------------------------------------------------------------------- */

struct step {
	uint64_t bytes;      /* of the stream, the simulator's pattern */
	uint64_t gap_bytes;  /* instead */
	uint64_t pause_ns;   /* before it */
	size_t packet_bytes; /* packets of this length each, instead of a stream */
};

static const struct step *script;
static size_t step_count;

static int put_stream(struct feed *feed, uint64_t *offset, uint64_t bytes)
{
	while (bytes > 0) {
		uint32_t block = feed_take(feed);
		size_t lead = *offset % 512, len = BLOCK_BYTES - lead;

		if (block == RING_NONE)
			return -EINTR;
		if (len > bytes)
			len = (size_t)bytes;
		sim_fill((char *)ring_data(feed->config.ring, block) + lead, len, *offset, SEED);
		feed_put_bytes(feed, block, *offset, lead, len);
		*offset += len;
		bytes -= len;
	}
	return 0;
}

static int put_packets(struct feed *feed, uint64_t *offset, const struct step *step)
{
	for (uint64_t left = step->bytes; left > 0;) {
		uint32_t block = feed_take(feed);
		struct block_packet packet = { .bytes = (uint32_t)step->packet_bytes,
					       .wire_bytes = (uint32_t)step->packet_bytes };
		size_t used = 0;
		uint64_t begin = *offset;

		if (block == RING_NONE)
			return -EINTR;
		while (left > 0 && used + block_packet_size(packet.bytes) <= BLOCK_BYTES) {
			char *to = (char *)ring_data(feed->config.ring, block) + used;

			packet.utc_ns = INT64_C(1000000000) + (int64_t)*offset * 1000;
			memcpy(to, &packet, sizeof(packet));
			sim_fill(to + sizeof(packet), packet.bytes, *offset, SEED);
			used += block_packet_size(packet.bytes);
			*offset += packet.bytes;
			left -= packet.bytes;
		}
		feed_put_packets(feed, block, begin, used);
	}
	return 0;
}

static int run_script(struct feed *feed)
{
	uint64_t offset = 0;
	int ret = 0;

	for (size_t i = 0; i < step_count && ret == 0; i++) {
		const struct step *step = &script[i];

		if (step->pause_ns)
			nap((int64_t)step->pause_ns);
		if (step->gap_bytes) {
			ret = feed_put_gap(feed, offset, step->gap_bytes, RECORDING_DISK);
			offset += step->gap_bytes;
		} else if (step->packet_bytes) {
			ret = put_packets(feed, &offset, step);
		} else {
			ret = put_stream(feed, &offset, step->bytes);
		}
	}
	return ret;
}

static const struct feed_ops script_ops = { .run = run_script };

/* ---- a run --------------------------------------------------------------------------------------- */

static struct feed_kit kit;
static struct feed *feed;
static struct destination *destination;
static struct schedule schedule;
static struct player *player;

static void setup(enum destination_takes takes, const struct step *steps, size_t count)
{
	struct feed_config config;

	free(sink.data);
	memset(&sink, 0, sizeof(sink));
	sink.takes = takes;
	sink.psn = takes == DESTINATION_BYTES ? PSN_NONE : PSN_LE64;
	script = steps;
	step_count = count;
	feed_kit_open(&kit, BLOCK_BYTES, BLOCK_COUNT);
	config = feed_kit_config(&kit);
	assert_int_equal(feed_create(&feed, &script_ops, &config), 0);
	schedule_init_none(&schedule);
	player = NULL;
}

static struct player_config usual(void)
{
	assert_int_equal(destination_open_with(&destination, &sink_ops, "sink:", NULL), 0);
	return (struct player_config){
		.ring = kit.ring,
		.destination = destination,
		.schedule = &schedule,
		.lump_bytes = BLOCK_BYTES,
		.frame_bytes = 1000,
		.burst = PLAYER_BURST,
		.patience_ns = UNITS_NS_PER_S,
	};
}

static void begin(const struct player_config *config)
{
	assert_int_equal(player_create(&player, config), 0);
	assert_int_equal(feed_start(feed), 0);
	assert_int_equal(player_start(player), 0);
}

static void finish(int result)
{
	assert_true(player_wait(player, units_monotonic_ns() + 60 * UNITS_NS_PER_S));
	assert_int_equal(player->result, result);
	feed_stop(feed);
	while (!atomic_load(&feed->is_ended))
		nap(1000000);
	player_drain(player);
	if (!player->config.disturbance)
		assert_int_equal(atomic_load(&feed->stats.data_bytes),
				 atomic_load(&player->stats.sent_bytes) +
					 atomic_load(&player->stats.rest_bytes) +
					 atomic_load(&player->stats.unsent_bytes));
}

static void teardown(void)
{
	player_free(player);
	feed_free(feed);
	destination_close(destination);
	schedule_free(&schedule);
	feed_kit_close(&kit);
}

static void expect_sim(size_t at, size_t bytes, uint64_t offset)
{
	assert_true(at + bytes <= sink.bytes);
	assert_int_equal(sim_verify(sink.data + at, bytes, offset, SEED), bytes);
}

/* ---- tests --------------------------------------------------------------------------------------- */

static void test_whole_frames(void **state)
{
	static const size_t frames[] = { 7, 1000, 4096, 5000, 9001 };
	static const struct step steps[] = { { .bytes = 100500 } };

	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct player_config config;
		size_t frame = frames[i], count;

		setup(DESTINATION_DATAGRAMS, steps, 1);
		config = usual();
		config.frame_bytes = frame;
		begin(&config);
		finish(0);
		count = 100500 / frame;
		assert_int_equal(sink.count, count);
		assert_int_equal(sink.bytes, count * frame);
		expect_sim(0, sink.bytes, 0);
		for (size_t k = 0; k < count; k++) {
			assert_int_equal(sink.units[k].number, k);
			assert_int_equal(sink.units[k].bytes, frame);
		}
		assert_int_equal(atomic_load(&player->stats.rest_bytes), 100500 % frame);
		assert_int_equal(ring_free_count(kit.ring), BLOCK_COUNT);
		teardown();
	}
}

/* A gap of whole frames leaves their numbers out; one that tears frames takes their rests with it. */
static void test_gaps_keep_their_numbers(void **state)
{
	static const struct step steps[] = { { .bytes = 10000 },
					     { .gap_bytes = 3000 },
					     { .bytes = 2500 },
					     { .gap_bytes = 700 },
					     { .bytes = 3800 } };
	struct player_config config;

	(void)state;
	setup(DESTINATION_DATAGRAMS, steps, 5);
	config = usual();
	begin(&config);
	finish(0);
	/* 10000 | 3000 | 13000..15500 | 700 | 16200..20000 */
	assert_int_equal(sink.count, 10 + 2 + 3);
	assert_int_equal(sink.units[9].number, 9);
	assert_int_equal(sink.units[10].number, 13);
	assert_int_equal(sink.units[11].number, 14);
	assert_int_equal(sink.units[12].number, 17);
	assert_int_equal(sink.units[14].number, 19);
	expect_sim(sink.units[12].at, 3000, 17000);
	assert_int_equal(atomic_load(&player->stats.rest_bytes), 500 + 800);
	assert_int_equal(atomic_load(&player->stats.gap_bytes), 3700);
	assert_int_equal(atomic_load(&player->stats.gap_count), 2);
	teardown();
}

static void test_gaps_closed_up(void **state)
{
	static const struct step steps[] = { { .bytes = 10000 },
					     { .gap_bytes = 3000 },
					     { .bytes = 5000 } };
	struct player_config config;

	(void)state;
	setup(DESTINATION_DATAGRAMS, steps, 3);
	config = usual();
	config.gaps = PLAYER_GAPS_SKIP;
	begin(&config);
	finish(0);
	assert_int_equal(sink.count, 15);
	for (size_t i = 0; i < 15; i++)
		assert_int_equal(sink.units[i].number, i);
	expect_sim(10000, 5000, 13000);
	teardown();
}

static void test_streams_and_short_writes(void **state)
{
	static const struct step steps[] = { { .bytes = 50000 }, { .gap_bytes = 10 }, { .bytes = 50001 } };
	static const size_t lumps[] = { 1, 100, 4096 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct player_config config;

		setup(DESTINATION_BYTES, steps, 3);
		sink.write_max = 777;
		sink.busy_every = 5;
		config = usual();
		config.lump_bytes = lumps[i];
		begin(&config);
		finish(0);
		assert_int_equal(sink.bytes, 100001);
		expect_sim(0, 50000, 0);
		expect_sim(50000, 50001, 50010);
		teardown();
	}
}

static void test_packets(void **state)
{
	static const struct step steps[] = { { .bytes = 30000, .packet_bytes = 300 },
					     { .bytes = 20000, .packet_bytes = 4000 } };
	struct player_config config;

	(void)state;
	setup(DESTINATION_PACKETS, steps, 2);
	config = usual();
	begin(&config);
	finish(0);
	assert_int_equal(sink.count, 105);
	assert_int_equal(sink.units[104].bytes, 4000);
	assert_int_equal(sink.units[104].number, 104);
	expect_sim(0, 50000, 0);
	teardown();
}

/* 8 Mbit/s, frames of 1000 bytes: one each millisecond, none before its moment, and the whole is no longer than that. */
static void test_moments(void **state)
{
	static const struct step steps[] = { { .bytes = 200000 } };
	struct player_config config;
	int64_t start;

	(void)state;
	setup(DESTINATION_DATAGRAMS, steps, 1);
	schedule_init_rate(&schedule, 8000000, 1, 0);
	config = usual();
	begin(&config);
	finish(0);
	start = atomic_load(&player->stats.started_ns);
	for (size_t i = 0; i < 200; i++)
		assert_true(sink.units[i].ns >= start + (int64_t)i * 1000000);
	assert_int_equal(atomic_load(&player->stats.error.count), 200);
	assert_int_equal(atomic_load(&player->stats.spacing.count), 199);
	teardown();
}

/* It is held up for 100 ms: then it catches up in bursts that are bounded, and the last one is not later for it. */
static void test_bursts_are_bounded(void **state)
{
	static const struct step steps[] = { { .bytes = 600000 } };
	struct player_config config;

	(void)state;
	setup(DESTINATION_DATAGRAMS, steps, 1);
	schedule_init_rate(&schedule, 16000000, 1, 0); /* two a millisecond */
	config = usual();
	config.burst = 10;
	sink.stall_at = 50;
	sink.stall_ns = 100000000;
	begin(&config);
	finish(0);
	assert_int_equal(sink.count, 600);
	assert_true(sink.at_once <= 10);
	assert_true(atomic_load(&player->stats.burst_count) > 0);
	assert_true(atomic_load(&player->stats.burst_longest) <= 10);
	assert_true(atomic_load(&player->stats.late_count) > 0);
	expect_sim(0, 600000, 0);
	teardown();
}

/* Nothing comes for 150 ms in the middle: one underrun, with its place and length. */
static void test_underrun(void **state)
{
	static const struct step steps[] = { { .bytes = 50000 },
					     { .bytes = 50000, .pause_ns = 450000000 } };
	struct player_config config;

	(void)state;
	setup(DESTINATION_DATAGRAMS, steps, 2);
	schedule_init_rate(&schedule, 8000000, 1, 0); /* 50 ms each */
	config = usual();
	config.say = feed_kit_config(&kit).say;
	config.context = &kit;
	begin(&config);
	finish(0);
	assert_int_equal(sink.bytes, 100000);
	assert_true(atomic_load(&player->stats.underrun_count) >= 1);
	assert_int_equal(player->underruns[0].cause, PLAYER_STARVED_RING);
	assert_true(player->underruns[0].stream_offset >= 50000 - BLOCK_BYTES);
	assert_true(player->underruns[0].length_ns > 10000000);
	assert_non_null(strstr(kit.words, "underrun"));
	teardown();
}

static void test_busy_destination(void **state)
{
	static const struct step steps[] = { { .bytes = 100000 } };
	struct player_config config;

	(void)state;
	setup(DESTINATION_DATAGRAMS, steps, 1);
	sink.busy_every = 2;
	config = usual();
	begin(&config);
	finish(0);
	assert_int_equal(sink.count, 100);
	expect_sim(0, 100000, 0);
	teardown();
	setup(DESTINATION_DATAGRAMS, steps, 1);
	sink.busy_every = 1;
	config = usual();
	config.patience_ns = 50000000;
	begin(&config);
	finish(-ETIMEDOUT);
	assert_int_equal(sink.count, 0);
	assert_true(player->error[0] != '\0');
	teardown();
}

static void test_destination_gone(void **state)
{
	static const struct step steps[] = { { .bytes = 100000 } };

	(void)state;
	for (int is_stream = 0; is_stream < 2; is_stream++) {
		struct player_config config;

		setup(is_stream ? DESTINATION_BYTES : DESTINATION_DATAGRAMS, steps, 1);
		sink.fail_at = is_stream ? 12288 : 20;
		sink.fail_error = EPIPE;
		sink.write_max = 1024;
		config = usual();
		begin(&config);
		finish(-EPIPE);
		assert_non_null(strstr(player->error, "gone"));
		teardown();
	}
}

static void test_stopped(void **state)
{
	static const struct step steps[] = { { .bytes = 100000000 } };
	struct player_config config;

	(void)state;
	setup(DESTINATION_DATAGRAMS, steps, 1);
	schedule_init_rate(&schedule, 8000000, 1, 0);
	config = usual();
	begin(&config);
	nap(50000000);
	player_stop(player);
	finish(-EINTR);
	expect_sim(0, sink.bytes, 0);
	assert_true(atomic_load(&player->stats.unsent_bytes) > 0);
	teardown();
}

static void test_duration(void **state)
{
	static const struct step steps[] = { { .bytes = 100000000 } };
	struct player_config config;

	(void)state;
	setup(DESTINATION_DATAGRAMS, steps, 1);
	schedule_init_rate(&schedule, 8000000, 1, 0);
	config = usual();
	config.duration_ns = 50500000;
	begin(&config);
	finish(0);
	assert_int_equal(sink.count, 51);
	teardown();
}

/* What was lost, doubled and held back is as many as the disturbance has counted, and the rest is what was fed. */
static void test_disturbance(void **state)
{
	static const size_t frames[] = { 1000, 3000, 1000 }; /* the second crosses blocks */
	static const double reorders[] = { 0.1, 0.1, 0.7 };
	static const unsigned distances[] = { 3, 3, DISTURBANCE_DISTANCE_MAX };
	static const struct step steps[] = { { .bytes = 3000000 } };

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		const struct disturbance_config faults = {
			.loss = 0.1,
			.duplicate = 0.1,
			.reorder = reorders[k],
			.reorder_distance = distances[k],
			.seed = 5,
			.unit_count = 3000000 / frames[k],
		};
		const struct disturbance_stats *stats;
		struct player_config config;
		size_t count = 3000000 / frames[k], back = 0;
		uint64_t newest = 0;

		setup(DESTINATION_DATAGRAMS, steps, 1);
		config = usual();
		config.frame_bytes = frames[k];
		assert_int_equal(disturbance_create(&config.disturbance, &faults), 0);
		begin(&config);
		finish(0);
		stats = disturbance_stats(config.disturbance);
		assert_int_equal(atomic_load(&stats->unit_count), count);
		assert_true(atomic_load(&stats->lost_count) > 0 &&
			    atomic_load(&stats->duplicate_count) > 0);
		assert_int_equal(sink.count, count - atomic_load(&stats->lost_count) +
						     atomic_load(&stats->duplicate_count));
		for (size_t i = 0; i < sink.count; i++) {
			expect_sim(sink.units[i].at, frames[k], sink.units[i].number * frames[k]);
			back += sink.units[i].number < newest;
			newest = sink.units[i].number > newest ? sink.units[i].number : newest;
		}
		assert_int_equal(back, atomic_load(&stats->reordered_count));
		assert_int_equal(ring_free_count(kit.ring), BLOCK_COUNT);
		disturbance_free(config.disturbance);
		teardown();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_frames),
		cmocka_unit_test(test_gaps_keep_their_numbers),
		cmocka_unit_test(test_gaps_closed_up),
		cmocka_unit_test(test_streams_and_short_writes),
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_bursts_are_bounded),
		cmocka_unit_test(test_underrun),
		cmocka_unit_test(test_busy_destination),
		cmocka_unit_test(test_destination_gone),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_disturbance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
