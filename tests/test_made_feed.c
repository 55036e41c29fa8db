/* SPDX-License-Identifier: BSD-2-Clause */
/* test_made_feed.c - frames with the right numbers, times and contents, in blocks and as units */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/mark5b.h"
#include "drivers/sim.h"
#include "drivers/units.h"
#include "tools/replay/made_feed.h"

#define SEED 9
#define SECOND UNITS_NS_PER_S
#define START_S INT64_C(1796112000) /* 2026-12-01T08:00:00Z */
#define DAY INT64_C(86400)
#define BLOCK 65536
#define BLOCKS 5

static struct made_layout vdif(uint64_t rate_bps, unsigned thread_count)
{
	return (struct made_layout){
		.format = MADE_VDIF,
		.rate_bps = rate_bps,
		.frame_bytes = 8032,
		.thread_count = thread_count,
		.vdif = { .bits = 2, .station = 0x4566 },
		.is_edv_free = true,
		.start_utc_ns = START_S * SECOND,
	};
}

static struct made_layout mark5b(uint64_t rate_bps)
{
	return (struct made_layout){
		.format = MADE_MARK5B,
		.rate_bps = rate_bps,
		.frame_bytes = MARK5B_FRAME_BYTES,
		.thread_count = 1,
		.start_utc_ns = START_S * SECOND,
	};
}

static void complete(struct made_layout *layout)
{
	char error[MADE_ERROR_LEN] = "";

	assert_int_equal(made_layout_complete(layout, error), 0);
	assert_string_equal(error, "");
}

static void vdif_frames_count_by_thread_and_second(void **state)
{
	struct made_layout layout = vdif(64000 * 4 * 10, 4);
	unsigned char frame[8032];

	(void)state;
	complete(&layout);
	assert_int_equal(layout.frame_rate, 10);
	assert_int_equal(layout.stream_bps, 8032 * 8 * 40);
	for (uint64_t i = 0; i < 100; i++) {
		struct vdif_header header;

		made_layout_put(&layout, i, SEED, frame);
		assert_true(vdif_read(frame, &header));
		assert_int_equal(header.thread, i % 4);
		assert_int_equal(header.frame, i / 4 % 10);
		assert_int_equal(vdif_utc_s(&header), START_S + (int64_t)(i / 40));
		assert_int_equal(header.epoch, 53);
		assert_int_equal(header.station, 0x4566);
		assert_int_equal(header.edv, VDIF_EDV_NICT);
		assert_int_equal(vdif_frame_rate(&header), 10);
		assert_int_equal(sim_verify(frame + 32, 8000, i * 8000, SEED), 8000);
		assert_int_equal(made_layout_utc_ns(&layout, i),
				 START_S * SECOND + (int64_t)i * SECOND / 40);
	}
}

static void a_start_within_a_second_is_a_frame_within_it(void **state)
{
	struct made_layout layout = vdif(64000 * 3, 1);
	unsigned char frame[8032];
	struct vdif_header header;

	(void)state;
	layout.start_utc_ns += 700000000;
	complete(&layout);
	assert_int_equal(layout.start_utc_ns, START_S * SECOND + 666666666);
	assert_int_equal(made_layout_utc_ns(&layout, 0), layout.start_utc_ns);
	assert_int_equal(made_layout_utc_ns(&layout, 1), (START_S + 1) * SECOND);
	made_layout_put(&layout, 0, SEED, frame);
	assert_true(vdif_read(frame, &header));
	assert_int_equal(header.frame, 2);
	assert_int_equal(vdif_utc_s(&header), START_S);
	made_layout_put(&layout, 1, SEED, frame);
	assert_true(vdif_read(frame, &header));
	assert_int_equal(header.frame, 0);
	assert_int_equal(vdif_utc_s(&header), START_S + 1);
}

/* 8000 bytes at 1 frame a second are 32000 samples of 2 bits; of 1 bit and 3 frames 192000, in two channels 96000. */
static void the_sample_rate_is_told_where_it_can_be(void **state)
{
	struct made_layout layout = vdif(64000, 1);
	char error[MADE_ERROR_LEN];

	(void)state;
	complete(&layout);
	assert_int_equal(layout.vdif.edv, VDIF_EDV_NICT);
	assert_int_equal(layout.vdif.sample_rate_hz, 32000);
	layout = vdif(64000 * 3, 1);
	layout.vdif.bits = 1;
	layout.vdif.channels_log2 = 1;
	complete(&layout);
	assert_int_equal(layout.vdif.sample_rate_hz, 96000);
	layout = vdif(64000, 1);
	layout.vdif.channels_log2 = 7; /* 250 Hz */
	complete(&layout);
	assert_int_equal(layout.vdif.edv, VDIF_EDV_NONE);
	layout = vdif(64000, 1);
	layout.vdif.channels_log2 = 7;
	layout.vdif.edv = VDIF_EDV_NICT;
	layout.is_edv_free = false;
	assert_int_equal(made_layout_complete(&layout, error), -EINVAL);
	assert_non_null(strstr(error, "whole kHz"));
	layout = vdif(64000, 1);
	layout.vdif.edv = VDIF_EDV_VLBA;
	layout.is_edv_free = false;
	assert_int_equal(made_layout_complete(&layout, error), -EINVAL);
	assert_non_null(strstr(error, "5032 or 1032"));
}

static void mark5b_frames_have_their_time_and_crc(void **state)
{
	struct made_layout layout = mark5b(512000000);
	unsigned char frame[MARK5B_FRAME_BYTES];

	(void)state;
	complete(&layout);
	assert_int_equal(layout.frame_rate, 6400);
	for (uint64_t i = 0; i < 6400 * 2 + 2; i += i % 6400 < 4 || i % 6400 > 6390 ? 1 : 911) {
		struct mark5b_header header;

		made_layout_put(&layout, i, SEED, frame);
		assert_true(mark5b_read(frame, &header));
		assert_true(header.has_crc && header.is_crc_right);
		assert_int_equal(header.frame, i % 6400);
		assert_int_equal(header.time.day, (START_S / DAY + 40587) % 1000);
		assert_int_equal(header.time.second, START_S % DAY + (int64_t)(i / 6400));
		assert_int_equal(vlba_fraction_ns(&header.time, 156250), i % 6400 * 156250);
		assert_int_equal(sim_verify(frame + 16, 10000, i * 10000, SEED), 10000);
	}
}

/* The number has 15 bits. */
static void mark5b_numbers_begin_anew_within_a_fast_second(void **state)
{
	struct made_layout layout = mark5b(UINT64_C(4096000000));
	unsigned char frame[MARK5B_FRAME_BYTES];
	struct mark5b_header header;

	(void)state;
	complete(&layout);
	made_layout_put(&layout, 40000, SEED, frame);
	assert_true(mark5b_read(frame, &header));
	assert_int_equal(header.frame, 40000 - 32768);
	assert_int_equal(header.time.fraction, 7812);
}

static void what_is_impossible_is_said_with_what_would_do(void **state)
{
	static const struct {
		struct made_layout layout;
		const char *sentence;
	} cases[] = {
		{ { .format = MADE_VDIF, .rate_bps = 512300000, .frame_bytes = 8032, .thread_count = 1 },
		  "8000 bytes of samples; 512.256 or 512.32 Mbit/s would do" },
		{ { .format = MADE_VDIF, .rate_bps = 1000, .frame_bytes = 8032, .thread_count = 2 },
		  "; 0.128 Mbit/s of 2 threads would do" },
		{ { .format = MADE_MARK5B, .rate_bps = 100, .frame_bytes = 10016, .thread_count = 1 },
		  "; 0.08 Mbit/s would do" },
		{ { .format = MADE_VDIF, .rate_bps = 0, .frame_bytes = 8032, .thread_count = 1 },
		  "need a rate" },
		{ { .format = MADE_VDIF, .rate_bps = 64000, .frame_bytes = 8031, .thread_count = 1 },
		  "multiple of 8" },
		{ { .format = MADE_VDIF, .rate_bps = 64000, .frame_bytes = 32, .thread_count = 1 },
		  "40 at least" },
		{ { .format = MADE_VDIF, .rate_bps = 64000, .frame_bytes = 8032, .thread_count = 1025 },
		  "1 to 1024 threads" },
		{ { .format = MADE_MARK5B, .rate_bps = 80000, .frame_bytes = 10016, .thread_count = 2 },
		  "only VDIF" },
		{ { .format = MADE_MARK5B, .rate_bps = 80000, .frame_bytes = 5008, .thread_count = 1 },
		  "has 10016 bytes" },
		{ { .format = MADE_RAW, .frame_bytes = 0, .thread_count = 1 }, "1 to 1048576" },
		{ { .format = MADE_VDIF,
		    .rate_bps = 64000,
		    .frame_bytes = 8032,
		    .thread_count = 1,
		    .vdif = { .bits = 33 } },
		  "1 to 32 bits" },
		{ { .format = MADE_VDIF,
		    .rate_bps = 64000,
		    .frame_bytes = 8032,
		    .thread_count = 1,
		    .vdif = { .bits = 2, .channels_log2 = 10 } },
		  "1024 channels" },
		{ { .format = MADE_VDIF,
		    .rate_bps = 64000,
		    .frame_bytes = 8032,
		    .thread_count = 1,
		    .vdif = { .bits = 2 },
		    .start_utc_ns = INT64_C(900000000) * SECOND },
		  "2000 to 2065" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made_layout layout = cases[i].layout;
		char error[MADE_ERROR_LEN];

		assert_int_equal(made_layout_complete(&layout, error), -EINVAL);
		if (!strstr(error, cases[i].sentence))
			fail_msg("'%s' does not say '%s'", error, cases[i].sentence);
	}
}

/* ---- the feed ---- */

struct kit {
	struct ring *ring;
	void *memory;
	struct feed *feed;
};

static void open_kit(struct kit *kit, const struct made_feed_config *config)
{
	struct ring_config ring_config = {
		.block_bytes = BLOCK,
		.block_count = BLOCKS,
		.queue_count = 1,
		.label_bytes = sizeof(struct play_label),
	};
	struct feed_config feed_config;

	kit->memory = aligned_alloc(4096, (size_t)BLOCK * BLOCKS);
	assert_non_null(kit->memory);
	ring_config.memory = kit->memory;
	assert_int_equal(ring_create(&kit->ring, &ring_config), 0);
	feed_config = (struct feed_config){ .ring = kit->ring };
	assert_int_equal(made_feed_create(&kit->feed, &feed_config, config), 0);
	assert_int_equal(feed_start(kit->feed), 0);
}

static void close_kit(struct kit *kit)
{
	feed_free(kit->feed);
	ring_free(kit->ring);
	free(kit->memory);
}

static uint32_t claim(const struct kit *kit)
{
	for (;;) {
		uint32_t ticket = ring_listen(kit->ring, 0), block = ring_claim(kit->ring, 0);

		if (block != RING_NONE)
			return block;
		ring_sleep(kit->ring, 0, ticket, units_monotonic_ns() + SECOND);
	}
}

static void a_raw_feed_is_the_pattern(void **state)
{
	struct made_layout layout = { .format = MADE_RAW, .frame_bytes = 1000, .thread_count = 1 };
	struct kit kit;
	uint64_t offset = 0;
	const struct play_label *label;

	(void)state;
	complete(&layout);
	open_kit(&kit, &(struct made_feed_config){
			       .layout = &layout, .stream_bytes = 1000001, .seed = SEED });
	for (;;) {
		uint32_t block = claim(&kit);
		size_t bytes = ring_bytes(kit.ring, block);

		label = ring_label(kit.ring, block);
		if (label->kind == BLOCK_END)
			break;
		assert_int_equal(label->kind, BLOCK_BYTES);
		assert_int_equal(label->stream_offset, offset);
		assert_int_equal(sim_verify(ring_data(kit.ring, block), bytes, offset, SEED), bytes);
		offset += bytes;
		ring_give_back(kit.ring, block);
	}
	assert_int_equal(label->result, 0);
	assert_int_equal(offset, 1000001);
	assert_int_equal(atomic_load(&kit.feed->stats.planned_bytes), 1000001);
	assert_int_equal(atomic_load(&kit.feed->stats.data_bytes), 1000001);
	close_kit(&kit);
}

/* Return: how many units came; each of them is compared. */
static uint64_t walk_units(const struct kit *kit, const struct made_layout *layout, uint32_t unit_bytes)
{
	unsigned char *frame = malloc(layout->frame_bytes);
	uint32_t parts = layout->frame_bytes / unit_bytes;
	uint64_t count = 0;

	for (;;) {
		uint32_t block = claim(kit);
		const struct play_label *label = ring_label(kit->ring, block);
		const unsigned char *data = ring_data(kit->ring, block);

		if (label->kind == BLOCK_END)
			break;
		assert_int_equal(label->kind, BLOCK_PACKETS);
		assert_int_equal(label->stream_offset, count * unit_bytes);
		for (size_t at = 0; at < ring_bytes(kit->ring, block); count++) {
			struct block_packet packet;

			memcpy(&packet, data + at, sizeof(packet));
			assert_int_equal(packet.bytes, unit_bytes);
			assert_int_equal(packet.wire_bytes, unit_bytes);
			if (count % parts == 0)
				assert_int_equal(packet.utc_ns,
						 made_layout_utc_ns(layout, count / parts));
			made_layout_put(layout, count / parts, SEED, frame);
			assert_memory_equal(data + at + sizeof(packet),
					    frame + count % parts * unit_bytes, unit_bytes);
			at += block_packet_size(packet.bytes);
		}
		ring_give_back(kit->ring, block);
	}
	free(frame);
	return count;
}

static void units_are_frames_with_their_times(void **state)
{
	struct made_layout layout = vdif(128000000, 2);
	struct kit kit;

	(void)state;
	complete(&layout);
	open_kit(&kit, &(struct made_feed_config){ .layout = &layout,
						   .stream_bytes = 333 * 8032,
						   .seed = SEED,
						   .is_units = true });
	assert_int_equal(walk_units(&kit, &layout, 8032), 333);
	close_kit(&kit);
}

static void a_frame_may_be_two_units(void **state)
{
	struct made_layout layout = mark5b(256000000);
	struct kit kit;

	(void)state;
	complete(&layout);
	open_kit(&kit, &(struct made_feed_config){ .layout = &layout,
						   .stream_bytes = 33 * MARK5B_FRAME_BYTES,
						   .seed = SEED,
						   .is_units = true,
						   .unit_bytes = MARK5B_HALF_BYTES });
	assert_int_equal(walk_units(&kit, &layout, MARK5B_HALF_BYTES), 66);
	close_kit(&kit);
}

static void one_without_an_end_is_stopped(void **state)
{
	struct made_layout layout = vdif(128000000, 1);
	struct kit kit;
	int kind;

	(void)state;
	complete(&layout);
	open_kit(&kit, &(struct made_feed_config){ .layout = &layout });
	for (int i = 0; i < 20; i++)
		ring_give_back(kit.ring, claim(&kit));
	feed_stop(kit.feed);
	do {
		uint32_t block = claim(&kit);
		const struct play_label *label = ring_label(kit.ring, block);

		kind = label->kind;
		if (kind == BLOCK_END)
			assert_int_equal(label->result, -EINTR);
		ring_give_back(kit.ring, block);
	} while (kind != BLOCK_END);
	close_kit(&kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vdif_frames_count_by_thread_and_second),
		cmocka_unit_test(a_start_within_a_second_is_a_frame_within_it),
		cmocka_unit_test(the_sample_rate_is_told_where_it_can_be),
		cmocka_unit_test(mark5b_frames_have_their_time_and_crc),
		cmocka_unit_test(mark5b_numbers_begin_anew_within_a_fast_second),
		cmocka_unit_test(what_is_impossible_is_said_with_what_would_do),
		cmocka_unit_test(a_raw_feed_is_the_pattern),
		cmocka_unit_test(units_are_frames_with_their_times),
		cmocka_unit_test(a_frame_may_be_two_units),
		cmocka_unit_test(one_without_an_end_is_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
