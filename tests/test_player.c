/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_player.c - each byte goes out once, in its order, never before it is due; what stands in the way is counted
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "drivers/bytes.h"
#include "drivers/units.h"
#include "tools/replay/disturbance.h"
#include "tools/replay/feed.h"
#include "tools/replay/player.h"

#define S UNITS_NS_PER_S
#define MS INT64_C(1000000)
#define BLOCK ((size_t)4096)
#define BLOCKS 8
#define SENT_MAX 20000
#define NEVER INT64_MAX
#define ANY_RATE UINT64_C(1000000000000) /* is a pace: the ring is filled first */

/* ---- a destination that keeps what it gets --------------------------------------------------------- */

struct sent {
	uint64_t number; /* of the prefix */
	uint64_t offset; /* in the stream, as the bytes tell */
	size_t bytes, wire_bytes;
	int64_t utc_ns, ns; /* stamp, and when the call came */
	unsigned batch;     /* so many came together */
};

static struct {
	/* what it does */
	enum destination_takes takes;
	enum psn_kind psn;
	bool is_paced_by_device;
	unsigned batch_max;  /* takes no more units at once; 0 = all */
	size_t write_max;    /* nor bytes */
	uint64_t busy_at;    /* at this unit or write it takes nothing ... */
	unsigned busy_count; /* ... so many times */
	bool is_down;        /* and says that it can't be reached */
	uint64_t error_at;   /* here it fails with -EPIPE; UINT64_MAX = never */
	uint64_t sleep_at;   /* here it takes its time */
	int64_t sleep_ns;
	bool holds_start; /* until it is interrupted */
	uint64_t starved_at;
	int finish_error;
	/* what it got */
	struct sent sent[SENT_MAX];
	uint64_t count, wrong_bytes, end;
	_Atomic unsigned starts;
	unsigned finishes;
	char said[4000];
} fake;

/* The stream: each 8 bytes tell where they are. */
static unsigned char byte_at(uint64_t offset)
{
	return (unsigned char)((offset / 8 * UINT64_C(0x9e3779b97f4a7c15)) >> (offset % 8 * 8));
}

static void check_bytes(const unsigned char *data, size_t bytes, uint64_t offset)
{
	for (size_t i = 0; i < bytes; i++)
		fake.wrong_bytes += data[i] != byte_at(offset + i);
}

/* Units begin with where they lie in the stream, written over their first bytes by the feed. */
static int fake_open(struct destination *destination, const struct destination_config *config)
{
	(void)config;
	destination->takes = fake.takes;
	destination->psn = fake.psn;
	destination->is_paced_by_device = fake.is_paced_by_device;
	return 0;
}

static int fake_start(struct destination *destination)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	fake.starts++;
	while (fake.holds_start && !destination_is_interrupted(destination))
		nanosleep(&moment, NULL);
	return fake.holds_start ? -EINTR : 0;
}

/* Return: 1 it may go on; 0 it takes nothing; -EPIPE. */
static int meet_fate(struct destination *destination)
{
	const struct timespec pause = { .tv_sec = fake.sleep_ns / S, .tv_nsec = fake.sleep_ns % S };

	if (fake.count >= fake.error_at)
		return destination_fail(destination, EPIPE, "nobody reads");
	if (fake.count >= fake.busy_at && fake.busy_count > 0) {
		fake.busy_count--;
		destination_count(fake.is_down ? &destination->stats.down_count :
						 &destination->stats.busy_count,
				  1);
		return 0;
	}
	if (fake.sleep_ns && fake.count >= fake.sleep_at) {
		fake.sleep_ns = 0;
		nanosleep(&pause, NULL);
	}
	if (fake.starved_at && fake.count >= fake.starved_at) {
		fake.starved_at = 0;
		destination_count(&destination->stats.starved_count, 1);
	}
	return 1;
}

static ssize_t fake_write(struct destination *destination, const void *data, size_t bytes,
			  int64_t deadline_ns)
{
	int64_t now = units_monotonic_ns();
	int ret = meet_fate(destination);

	(void)deadline_ns;
	if (ret <= 0)
		return ret;
	if (fake.write_max && bytes > fake.write_max)
		bytes = fake.write_max;
	check_bytes(data, bytes, fake.end);
	if (fake.count < SENT_MAX)
		fake.sent[fake.count] = (struct sent){ .offset = fake.end, .bytes = bytes, .ns = now };
	fake.count++;
	fake.end += bytes;
	return (ssize_t)bytes;
}

static void keep(const struct destination_unit *unit, int64_t now, unsigned batch)
{
	struct sent *sent = &fake.sent[fake.count < SENT_MAX ? fake.count : SENT_MAX - 1];
	unsigned char *data = unit->parts[0].iov_base;

	*sent = (struct sent){
		.number = unit->prefix_bytes == 8 ? bytes_le64(unit->prefix) : 0,
		.bytes = unit->bytes,
		.wire_bytes = unit->wire_bytes,
		.utc_ns = unit->utc_ns,
		.ns = now,
		.batch = batch,
	};
	fake.wrong_bytes += unit->part_count != 1 || unit->parts[0].iov_len != unit->bytes;
	/* the pattern's inverse tells where it lies: every unit here begins at a multiple of 8 */
	sent->offset = bytes_le64(data) * UINT64_C(0xf1de83e19937733d) * 8;
	check_bytes(data, unit->bytes, sent->offset);
	fake.count++;
}

static ssize_t fake_send(struct destination *destination, const struct destination_unit *units,
			 size_t count)
{
	int64_t now = units_monotonic_ns();
	int ret = meet_fate(destination);

	if (ret <= 0)
		return ret;
	if (fake.batch_max && count > fake.batch_max)
		count = fake.batch_max;
	for (size_t i = 0; i < count; i++)
		keep(&units[i], now, (unsigned)count);
	return (ssize_t)count;
}

static int fake_finish(struct destination *destination, int64_t deadline_ns)
{
	(void)deadline_ns;
	fake.finishes++;
	return fake.finish_error ? destination_fail(destination, fake.finish_error, "not safe") : 0;
}

static const struct destination_ops fake_ops = {
	.prefix = "fake:",
	.open = fake_open,
	.start = fake_start,
	.write = fake_write,
	.send = fake_send,
	.finish = fake_finish,
};

/* ---- a feed that does what a script says ----------------------------------------------------------- */

enum act { END, BYTES, GAP, ANEW, PAUSE, PACKETS, FAIL };

struct line {
	enum act act;
	uint64_t amount; /* bytes, packets, ms */
	uint64_t each;   /* most bytes of a block; of a packet */
};

static const struct line *script;
static struct ring *ring;
static void *memory;
static struct feed *feed;
static struct player *player;
static struct destination *destination;
static struct schedule schedule;
static struct player_config config;

static int put_bytes(uint64_t *offset, uint64_t bytes, size_t most)
{
	while (bytes > 0) {
		size_t part = bytes < most ? (size_t)bytes : most;
		uint32_t block = feed_take(feed);
		unsigned char *data;

		if (block == RING_NONE)
			return -EINTR;
		data = ring_data(ring, block);
		for (size_t i = 0; i < part; i++)
			data[i + BLOCK - most] = byte_at(*offset + i);
		feed_put_bytes(feed, block, *offset, BLOCK - most, part);
		*offset += part;
		bytes -= part;
	}
	return 0;
}

/* Of a second each. */
static int put_packets(uint64_t *offset, uint64_t count, uint32_t bytes)
{
	for (uint64_t i = 0; i < count; i++) {
		struct block_packet packet = { 1000 * S + (int64_t)i * MS, bytes, bytes + 4 };
		uint32_t block = feed_take(feed);
		unsigned char *data;

		if (block == RING_NONE)
			return -EINTR;
		data = ring_data(ring, block);
		for (int half = 0; half < 2; half++) {
			memcpy(data, &packet, sizeof(packet));
			for (uint32_t b = 0; b < bytes; b++)
				data[sizeof(packet) + b] = byte_at(*offset + b);
			data += block_packet_size(bytes);
			*offset += bytes;
		}
		feed_put_packets(feed, block, *offset - 2 * bytes, 2 * block_packet_size(bytes));
	}
	return 0;
}

static int run(struct feed *self)
{
	uint64_t offset = 0;
	int ret = 0;

	for (const struct line *line = script; line->act != END && ret == 0; line++) {
		const struct timespec pause = { .tv_nsec = (long)line->amount * 1000000 };

		if (line->act == BYTES)
			ret = put_bytes(&offset, line->amount, line->each ? line->each : BLOCK);
		if (line->act == PACKETS)
			ret = put_packets(&offset, line->amount, (uint32_t)line->each);
		if (line->act == GAP) {
			ret = feed_put_gap(self, offset, line->amount, RECORDING_DISK);
			offset += line->amount;
		}
		if (line->act == ANEW)
			feed_begin_anew(self);
		if (line->act == PAUSE)
			nanosleep(&pause, NULL);
		if (line->act == FAIL)
			ret = feed_fail(self, -EIO, "broken");
	}
	return ret;
}

static const struct feed_ops feed_ops = { .run = run };

static void say(void *context, const char *sentence)
{
	(void)context;
	strncat(fake.said, sentence, sizeof(fake.said) - strlen(fake.said) - 2);
	strcat(fake.said, "\n");
}

/* ---- both together --------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct ring_config ring_config = { .block_bytes = BLOCK,
					   .block_count = BLOCKS,
					   .queue_count = 1,
					   .label_bytes = sizeof(struct play_label) };

	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.error_at = UINT64_MAX;
	fake.takes = DESTINATION_DATAGRAMS;
	fake.psn = PSN_LE64;
	memory = aligned_alloc(4096, BLOCK * BLOCKS);
	ring_config.memory = memory;
	schedule_init_none(&schedule);
	config = (struct player_config){
		.schedule = &schedule,
		.frame_bytes = 1000,
		.lump_bytes = 1000,
		.burst = PLAYER_BURST,
		.patience_ns = 5 * S,
		.say = say,
	};
	return !memory || ring_create(&ring, &ring_config);
}

static int tear_down(void **state)
{
	(void)state;
	player_free(player);
	feed_free(feed);
	destination_close(destination);
	schedule_free(&schedule);
	ring_free(ring);
	free(memory);
	player = NULL;
	feed = NULL;
	destination = NULL;
	return 0;
}

static void start(const struct line *lines)
{
	struct feed_config feed_config = { .ring = ring };

	script = lines;
	assert_int_equal(destination_open_with(&destination, &fake_ops, "fake:", NULL), 0);
	assert_int_equal(feed_create(&feed, &feed_ops, &feed_config), 0);
	config.ring = ring;
	config.destination = destination;
	assert_int_equal(player_create(&player, &config), 0);
	assert_int_equal(feed_start(feed), 0);
	assert_int_equal(player_start(player), 0);
}

static void play(const struct line *lines)
{
	start(lines);
	assert_true(player_wait(player, NEVER));
}

/* All was played, and each byte was right. */
static void assert_whole(void)
{
	assert_int_equal(player->result, 0);
	assert_int_equal(fake.wrong_bytes, 0);
	assert_int_equal(player->stats.unsent_bytes, 0);
	assert_int_equal(fake.finishes, 1);
	assert_int_equal(ring_free_count(ring), BLOCKS);
	assert_true(player->stats.ended_ns > 0);
}

static void assert_never_early(int64_t rate_bps, uint64_t unit_bytes)
{
	for (uint64_t i = 0; i < fake.count; i++)
		assert_true(fake.sent[i].ns >=
			    player->stats.started_ns +
				    units_time_for(i * unit_bytes, (uint64_t)rate_bps));
}

/* ---- frames ---------------------------------------------------------------------------------------- */

static void frames_are_whole_wherever_blocks_end(void **state)
{
	static const struct line lines[] = { { BYTES, 100345, 0 }, { END, 0, 0 } };

	(void)state;
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 100);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(fake.sent[i].number, i);
		assert_int_equal(fake.sent[i].offset, i * 1000);
		assert_int_equal(fake.sent[i].bytes, 1000);
	}
	assert_int_equal(player->stats.sent_bytes, 100000);
	assert_int_equal(player->stats.sent_count, 100);
	assert_int_equal(player->stats.rest_bytes, 345);
	assert_int_equal(player->stats.spacing.count, 99);
	assert_int_equal(player->stats.error.count, 0);
}

static void a_frame_may_lie_in_many_blocks(void **state)
{
	static const struct line lines[] = { { BYTES, 40000, 96 }, { BYTES, 40000, 4000 }, { END, 0, 0 } };

	(void)state;
	fake.batch_max = 3;
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 80);
	for (uint64_t i = 0; i < 80; i++)
		assert_int_equal(fake.sent[i].offset, i * 1000);
}

static void frames_in_gaps_count_and_torn_ones_are_no_frames(void **state)
{
	static const struct line lines[] = { { BYTES, 2500, 0 }, { GAP, 4800, 0 },
					     { BYTES, 100, 0 },  { GAP, 5, 0 },
					     { BYTES, 2595, 0 }, { GAP, 3000, 0 },
					     { BYTES, 2000, 0 }, { END, 0, 0 } };

	(void)state;
	play(lines);
	assert_whole();
	/* 0 1 | 2500 .. 7300, 7400 .. 7405 | 8 9 | 10000 .. 13000 | 13 14 */
	assert_int_equal(fake.count, 6);
	for (int i = 0; i < 6; i++) {
		static const uint64_t numbers[] = { 0, 1, 8, 9, 13, 14 };

		assert_int_equal(fake.sent[i].number, numbers[i]);
		assert_int_equal(fake.sent[i].offset, numbers[i] * 1000);
	}
	assert_int_equal(player->stats.rest_bytes, 500 + 100 + 595);
	assert_int_equal(player->stats.gap_bytes, 7805);
	assert_int_equal(player->stats.gap_count, 3);
	assert_int_equal(player->stats.stream_offset, 15000);
}

static void gaps_that_are_closed_up_take_no_numbers_and_no_time(void **state)
{
	static const struct line lines[] = {
		{ BYTES, 2504, 0 }, { GAP, 100000000, 0 }, { BYTES, 3496, 0 }, { END, 0, 0 }
	};

	(void)state;
	config.gaps = PLAYER_GAPS_SKIP;
	schedule_init_rate(&schedule, 8000000, 1, 0);
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 5);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(fake.sent[i].number, i);
	assert_int_equal(fake.sent[2].offset, 100003000);
	assert_int_equal(schedule.last_due_ns, 4 * MS);
	assert_int_equal(player->stats.rest_bytes, 504 + 496);
}

static void each_round_begins_with_a_frame(void **state)
{
	static const struct line lines[] = {
		{ BYTES, 4504, 0 }, { ANEW, 0, 0 }, { BYTES, 4504, 0 }, { END, 0, 0 }
	};

	(void)state;
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 8);
	assert_int_equal(fake.sent[4].offset, 4504);
	assert_int_equal(fake.sent[4].number, 4);
	assert_int_equal(player->stats.rest_bytes, 1008);
}

static void datagrams_need_a_length(void **state)
{
	static const struct line lines[] = { { BYTES, 100, 0 }, { END, 0, 0 } };

	(void)state;
	config.frame_bytes = 0;
	play(lines);
	assert_int_equal(player->result, -EINVAL);
	assert_non_null(strstr(player->error, "how long"));
	assert_int_equal(player->stats.unsent_bytes, 100);
}

/* ---- packets --------------------------------------------------------------------------------------- */

static void packets_are_units_as_they_are(void **state)
{
	static const struct line lines[] = { { PACKETS, 20, 1048 }, { PACKETS, 20, 16 }, { END, 0, 0 } };

	(void)state;
	fake.psn = PSN_NONE;
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 80);
	for (int i = 0; i < 80; i++) {
		assert_int_equal(fake.sent[i].bytes, i < 40 ? 1048 : 16);
		assert_int_equal(fake.sent[i].wire_bytes, fake.sent[i].bytes + 4);
		assert_int_equal(fake.sent[i].utc_ns, 1000 * S + i % 40 / 2 * MS);
	}
	assert_int_equal(player->stats.sent_bytes, 40 * (1048 + 16));
}

static void packets_come_at_their_stamps_round_by_round(void **state)
{
	static const struct line lines[] = {
		{ PACKETS, 10, 16 }, { ANEW, 0, 0 }, { PACKETS, 10, 16 }, { END, 0, 0 }
	};

	(void)state;
	schedule_init_stamps(&schedule, 1);
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 40);
	for (int i = 0; i < 40; i++)
		assert_true(fake.sent[i].ns >=
			    player->stats.started_ns + i % 20 / 2 * MS + i / 20 * 9 * MS);
	assert_int_equal(schedule.backward_count, 0);
}

/* ---- bytes ----------------------------------------------------------------------------------------- */

static void without_a_pace_whole_blocks_are_written(void **state)
{
	static const struct line lines[] = { { BYTES, 100000, 0 }, { GAP, 5, 0 }, { END, 0, 0 } };

	(void)state;
	fake.takes = DESTINATION_BYTES;
	play(lines);
	assert_whole();
	assert_int_equal(fake.end, 100000);
	assert_int_equal(fake.sent[0].bytes, BLOCK);
	assert_int_equal(player->stats.sent_count, (100000 + BLOCK - 1) / BLOCK);
	assert_int_equal(player->stats.gap_bytes, 5);
	assert_int_equal(player->stats.rest_bytes, 0);
}

static void writes_may_take_a_part(void **state)
{
	static const struct line lines[] = { { BYTES, 100000, 0 }, { END, 0, 0 } };

	(void)state;
	fake.takes = DESTINATION_BYTES;
	fake.write_max = 777;
	fake.busy_at = 10;
	fake.busy_count = 5;
	play(lines);
	assert_whole();
	assert_int_equal(player->stats.sent_bytes, 100000);
	assert_int_equal(player->stats.sent_count, (100000 + BLOCK - 1) / BLOCK);
}

static void a_pace_cuts_lumps(void **state)
{
	static const struct line lines[] = { { BYTES, 40960, 0 }, { END, 0, 0 } };

	(void)state;
	fake.takes = DESTINATION_BYTES;
	config.lump_bytes = 1024;
	schedule_init_rate(&schedule, 8 * 1024000, 1, 0); /* one each ms */
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 40);
	assert_never_early(8 * 1024000, 1024);
	assert_int_equal(player->stats.error.count, 40);
	assert_int_equal(player->stats.underrun_count, 0);
}

/* ---- pace ------------------------------------------------------------------------------------------ */

static void no_unit_goes_out_before_its_time(void **state)
{
	static const struct line lines[] = { { BYTES, 500000, 0 }, { END, 0, 0 } };

	(void)state;
	schedule_init_rate(&schedule, 40000000, 1, 0); /* one each 200 us */
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 500);
	assert_never_early(40000000, 1000);
	assert_int_equal(player->stats.error.count, 500);
	assert_true(player->stats.error_sum_ns >= 0);
	assert_int_equal(player->stats.spacing.count, 499);
}

static void a_precise_one_is_not_early_either(void **state)
{
	static const struct line lines[] = { { BYTES, 200000, 0 }, { END, 0, 0 } };

	(void)state;
	config.is_precise = true;
	schedule_init_rate(&schedule, 80000000, 1, 0);
	play(lines);
	assert_whole();
	assert_never_early(80000000, 1000);
}

static void units_that_go_together_are_not_early_and_no_more_than_a_burst(void **state)
{
	static const struct line lines[] = { { BYTES, 500000, 0 }, { END, 0, 0 } };
	uint64_t lonely = 0;

	(void)state;
	config.grain_ns = 2 * MS; /* ten of them */
	config.burst = 7;
	schedule_init_rate(&schedule, 40000000, 1, 0);
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 500);
	assert_never_early(40000000, 1000);
	for (uint64_t i = 0; i < fake.count; i++) {
		assert_in_range(fake.sent[i].batch, 1, 7);
		lonely += fake.sent[i].batch == 1;
	}
	/* who is late on a busy machine may send one by itself */
	assert_true(lonely < fake.count / 2);
}

static void a_group_goes_when_its_last_is_due(void **state)
{
	static const struct line lines[] = { { BYTES, 5000, 0 }, { END, 0, 0 } };

	(void)state;
	config.grain_ns = 500 * MS;
	schedule_init_rate(&schedule, 160000, 1, 0); /* 50 ms apart */
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 5);
	assert_int_equal(fake.sent[0].batch, 5);
	assert_true(fake.sent[0].ns >= player->stats.started_ns + 200 * MS);
	assert_int_equal(player->stats.burst_count, 0);
}

static void a_late_burst_is_bounded_and_counted(void **state)
{
	static const struct line lines[] = { { BYTES, 400000, 0 }, { END, 0, 0 } };
	unsigned batch_max = 0;

	(void)state;
	config.burst = 5;
	fake.sleep_at = 50;
	fake.sleep_ns = 40 * MS; /* 200 units */
	schedule_init_rate(&schedule, 40000000, 1, 0);
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 400);
	assert_never_early(40000000, 1000);
	for (uint64_t i = 0; i < fake.count; i++)
		if (fake.sent[i].batch > batch_max)
			batch_max = fake.sent[i].batch;
	assert_true(batch_max <= 5);
	assert_true(player->stats.burst_count >= 1);
	assert_int_equal(player->stats.burst_longest, 5);
	assert_true(player->stats.late_count >= 100);
	assert_true(player->stats.error_max_ns >= 30 * MS);
}

static void who_catches_up_goes_at_twice_the_rate(void **state)
{
	static const struct line lines[] = { { BYTES, 400000, 0 }, { END, 0, 0 } };
	int64_t begin;

	(void)state;
	config.burst = 5;
	fake.sleep_at = 10;
	fake.sleep_ns = 100 * MS; /* 100 units of a ms each */
	schedule_init_rate(&schedule, 8000000, 1, 0);
	play(lines);
	assert_whole();
	/* those behind the burst take half a ms each at least: within the catching-up no ten come in less than 4 ms */
	begin = fake.sent[9].ns + 100 * MS;
	for (uint64_t i = 20; i + 10 < 100 && fake.sent[i + 10].ns < begin + 30 * MS; i++)
		assert_true(fake.sent[i + 10].ns - fake.sent[i].ns >= 2 * MS);
	assert_never_early(8000000, 1000);
	/* the schedule is the same as ever */
	assert_int_equal(schedule.last_due_ns, 399 * MS);
}

static void the_start_is_waited_for(void **state)
{
	static const struct line lines[] = { { BYTES, 3000, 0 }, { END, 0, 0 } };
	int64_t wanted = units_realtime_ns() + 150 * MS;

	(void)state;
	config.start_utc_ns = wanted;
	schedule_init_rate(&schedule, 800000000, 1, 0);
	play(lines);
	assert_whole();
	assert_int_equal(player->stats.start_utc_ns, wanted);
	assert_never_early(800000000, 1000);
	assert_int_equal(fake.sent[0].utc_ns, wanted);
	assert_int_equal(fake.sent[1].utc_ns, wanted + 10000);
}

static void nothing_goes_out_behind_the_duration(void **state)
{
	static const struct line lines[] = { { BYTES, 100000, 0 }, { END, 0, 0 } };

	(void)state;
	config.duration_ns = 20 * MS;
	schedule_init_rate(&schedule, 8000000, 1, 0);
	play(lines);
	assert_int_equal(player->result, 0);
	assert_int_equal(fake.count, 21);
	assert_true(player->stats.unsent_bytes > 0);
}

/* ---- underruns ------------------------------------------------------------------------------------- */

static void an_empty_ring_is_an_underrun(void **state)
{
	static const struct line lines[] = {
		{ BYTES, 7 * BLOCK, 0 }, { PAUSE, 60, 0 }, { BYTES, 8000, 0 }, { END, 0, 0 }
	};

	(void)state;
	schedule_init_rate(&schedule, 80000000, 1, 0);
	play(lines);
	assert_whole();
	assert_int_equal(player->stats.underrun_count, 1);
	assert_int_equal(player->underruns[0].cause, PLAYER_STARVED_RING);
	assert_int_equal(player->underruns[0].stream_offset, 28000);
	assert_true(player->underruns[0].length_ns > 0);
	assert_int_equal(player->stats.underrun_ns, player->underruns[0].length_ns);
	assert_true(player->underruns[0].utc_ns > player->stats.start_utc_ns);
	assert_non_null(strstr(fake.said, "the ring was empty"));
	assert_string_equal(player_starved_name(PLAYER_STARVED_RING), "ring");
}

static void a_device_found_empty_is_an_underrun(void **state)
{
	static const struct line lines[] = { { BYTES, 50000, 0 }, { END, 0, 0 } };

	(void)state;
	fake.takes = DESTINATION_BYTES;
	fake.is_paced_by_device = true;
	fake.starved_at = 4;
	play(lines);
	assert_whole();
	assert_int_equal(player->stats.underrun_count, 1);
	assert_int_equal(player->underruns[0].cause, PLAYER_STARVED_DEVICE);
	assert_non_null(strstr(fake.said, "fake: was found empty"));
}

/* ---- patience -------------------------------------------------------------------------------------- */

static void what_passes_is_waited_for(void **state)
{
	static const struct line lines[] = { { BYTES, 50000, 0 }, { END, 0, 0 } };

	(void)state;
	fake.busy_at = 20;
	fake.busy_count = 12;
	play(lines);
	assert_whole();
	assert_int_equal(fake.count, 50);
	assert_int_equal(destination->stats.busy_count, 12);
}

static void patience_ends(void **state)
{
	static const struct line lines[] = { { BYTES, 20000, 0 }, { END, 0, 0 } };

	(void)state;
	config.patience_ns = 20 * MS;
	fake.batch_max = 1;
	fake.busy_at = 4;
	fake.busy_count = UINT32_MAX;
	fake.is_down = true;
	schedule_init_rate(&schedule, ANY_RATE, 1, 0);
	play(lines);
	assert_int_equal(player->result, -ETIMEDOUT);
	assert_non_null(strstr(player->error, "fake: has taken nothing for"));
	assert_non_null(strstr(player->error, "cannot be reached"));
	assert_int_equal(player->stats.sent_bytes, 4000);
	assert_int_equal(player->stats.unsent_bytes, 16000);
}

static void a_destination_that_is_gone_ends_it(void **state)
{
	static const struct line lines[] = { { BYTES, 20000, 0 }, { END, 0, 0 } };

	(void)state;
	fake.takes = DESTINATION_BYTES;
	fake.write_max = 1000;
	fake.error_at = 6;
	schedule_init_rate(&schedule, ANY_RATE, 1, 0);
	play(lines);
	assert_int_equal(player->result, -EPIPE);
	assert_non_null(strstr(player->error, "nobody reads"));
	assert_int_equal(player->stats.sent_bytes, 5096);
	assert_int_equal(player->stats.unsent_bytes, 14904);
}

static void what_is_not_safe_in_the_end_is_an_error(void **state)
{
	static const struct line lines[] = { { BYTES, 20000, 0 }, { END, 0, 0 } };

	(void)state;
	fake.finish_error = EIO;
	play(lines);
	assert_int_equal(player->result, -EIO);
	assert_non_null(strstr(player->error, "not safe"));
	assert_int_equal(player->stats.sent_bytes, 20000);
}

/* ---- ends ------------------------------------------------------------------------------------------ */

static void nothing_is_nothing(void **state)
{
	static const struct line lines[] = { { END, 0, 0 } };

	(void)state;
	play(lines);
	assert_int_equal(player->result, 0);
	assert_int_equal(player->stats.started_ns, 0);
	assert_int_equal(fake.starts, 0);
	assert_int_equal(ring_free_count(ring), BLOCKS);
}

static void the_feeds_result_is_told(void **state)
{
	static const struct line lines[] = { { BYTES, 3000, 0 }, { FAIL, 0, 0 }, { END, 0, 0 } };

	(void)state;
	play(lines);
	assert_whole();
	assert_int_equal(player->feed_result, -EIO);
	assert_int_equal(player->stats.sent_bytes, 3000);
}

static void a_stop_ends_a_long_sleep(void **state)
{
	static const struct line lines[] = { { BYTES, 3000, 0 }, { END, 0, 0 } };

	(void)state;
	schedule_init_rate(&schedule, 8, 1, 0); /* the second is due in 1000 s */
	start(lines);
	while (!atomic_load_explicit(&player->stats.sent_count, memory_order_relaxed))
		sched_yield();
	assert_false(player_wait(player, 0));
	player_stop(player);
	player_stop(player);
	assert_true(player_wait(player, NEVER));
	assert_int_equal(player->result, -EINTR);
	assert_int_equal(player->stats.sent_bytes, 1000);
	assert_int_equal(player->stats.unsent_bytes, 2000);
	assert_int_equal(fake.finishes, 1);
}

static void a_stop_ends_a_start_that_waits(void **state)
{
	static const struct line lines[] = { { BYTES, 3000, 0 }, { END, 0, 0 } };

	(void)state;
	fake.holds_start = true;
	schedule_init_rate(&schedule, ANY_RATE, 1, 0);
	start(lines);
	while (fake.starts == 0)
		sched_yield();
	player_stop(player);
	assert_true(player_wait(player, NEVER));
	assert_int_equal(player->result, -EINTR);
	assert_int_equal(player->stats.started_ns, 0);
	assert_int_equal(player->stats.unsent_bytes, 3000);
	assert_int_equal(fake.finishes, 0);
}

static void a_stop_ends_a_wait_for_the_feed(void **state)
{
	static const struct line lines[] = { { PAUSE, 200, 0 }, { END, 0, 0 } };

	(void)state;
	start(lines);
	player_stop(player);
	assert_true(player_wait(player, NEVER));
	assert_int_equal(player->result, -EINTR);
}

static void what_does_not_fit_is_refused(void **state)
{
	static struct destination stream = { .name = "x", .takes = DESTINATION_BYTES };

	(void)state;
	config.ring = ring;
	config.destination = &stream;
	config.burst = 0;
	assert_int_equal(player_create(&player, &config), -EINVAL);
	assert_non_null(strstr(player->error, "burst"));
}

/* ---- disturbed ------------------------------------------------------------------------------------- */

static void disturb(struct disturbance_config what)
{
	static const struct line lines[] = { { BYTES, 2000000, 0 }, { END, 0, 0 } };

	what.seed = 5;
	assert_int_equal(disturbance_create(&config.disturbance, &what), 0);
	play(lines);
	assert_whole();
	assert_int_equal(fake.wrong_bytes, 0);
}

static void units_are_lost_and_doubled(void **state)
{
	const struct disturbance_stats *stats;
	uint64_t last = UINT64_MAX, doubles = 0;

	(void)state;
	disturb((struct disturbance_config){ .loss = 0.1, .duplicate = 0.1 });
	stats = disturbance_stats(config.disturbance);
	for (uint64_t i = 0; i < fake.count; i++) {
		assert_int_equal(fake.sent[i].number * 1000, fake.sent[i].offset);
		doubles += fake.sent[i].number == last;
		last = fake.sent[i].number;
	}
	assert_true(stats->lost_count > 100 && stats->duplicate_count > 100);
	assert_int_equal(doubles, stats->duplicate_count);
	assert_int_equal(fake.count, 2000 - stats->lost_count + stats->duplicate_count);
	assert_int_equal(player->stats.sent_count, fake.count);
	disturbance_free(config.disturbance);
}

static void units_come_behind_later_ones(void **state)
{
	uint64_t overtaken = 0, sum = 0;

	(void)state;
	disturb((struct disturbance_config){ .reorder = 0.05, .reorder_distance = 4 });
	assert_int_equal(fake.count, 2000);
	for (uint64_t i = 0; i < fake.count; i++) {
		overtaken += i > 0 && fake.sent[i].number < fake.sent[i - 1].number;
		sum += fake.sent[i].number;
		assert_true(fake.sent[i].number <= i + 4 && i <= fake.sent[i].number + 4);
	}
	assert_true(overtaken > 10);
	assert_int_equal(sum, 1999 * 1000);
	disturbance_free(config.disturbance);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_are_whole_wherever_blocks_end),
		TEST(a_frame_may_lie_in_many_blocks),
		TEST(frames_in_gaps_count_and_torn_ones_are_no_frames),
		TEST(gaps_that_are_closed_up_take_no_numbers_and_no_time),
		TEST(each_round_begins_with_a_frame),
		TEST(datagrams_need_a_length),
		TEST(packets_are_units_as_they_are),
		TEST(packets_come_at_their_stamps_round_by_round),
		TEST(without_a_pace_whole_blocks_are_written),
		TEST(writes_may_take_a_part),
		TEST(a_pace_cuts_lumps),
		TEST(no_unit_goes_out_before_its_time),
		TEST(a_precise_one_is_not_early_either),
		TEST(units_that_go_together_are_not_early_and_no_more_than_a_burst),
		TEST(a_group_goes_when_its_last_is_due),
		TEST(a_late_burst_is_bounded_and_counted),
		TEST(who_catches_up_goes_at_twice_the_rate),
		TEST(the_start_is_waited_for),
		TEST(nothing_goes_out_behind_the_duration),
		TEST(an_empty_ring_is_an_underrun),
		TEST(a_device_found_empty_is_an_underrun),
		TEST(what_passes_is_waited_for),
		TEST(patience_ends),
		TEST(a_destination_that_is_gone_ends_it),
		TEST(what_is_not_safe_in_the_end_is_an_error),
		TEST(nothing_is_nothing),
		TEST(the_feeds_result_is_told),
		TEST(a_stop_ends_a_long_sleep),
		TEST(a_stop_ends_a_start_that_waits),
		TEST(a_stop_ends_a_wait_for_the_feed),
		TEST(what_does_not_fit_is_refused),
		TEST(units_are_lost_and_doubled),
		TEST(units_come_behind_later_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
