/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_schedule.c - when each unit is due: exact to the nanosecond, by rate, clock, time codes and stamps
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tools/replay/schedule.h"

#define S UNITS_NS_PER_S
#define MS INT64_C(1000000)
#define FRAME 1032     /* of VDIF here: 1000 bytes of payload */
#define RATE 1000U     /* frames a second of a thread */
#define MJD_2026 61041 /* 2026-01-01 */
#define DAYS_1970 40587

static unsigned char stream[64 * MARK5B_FRAME_BYTES];

/* ---- making frames --------------------------------------------------------------------------------- */

static void put32(unsigned char *to, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(word >> (8 * i));
}

static void make_vdif(unsigned char *at, unsigned epoch, uint32_t second, uint32_t frame, unsigned thread)
{
	memset(at, 0x5a, FRAME);
	memset(at, 0, 32);
	put32(at, second);
	put32(at + 4, epoch << 24 | frame);
	put32(at + 8, FRAME / 8);
	put32(at + 12, 1U << 26 | thread << 16 | 0x4142);
}

static uint32_t digits(uint32_t value)
{
	uint32_t bcd = 0;

	for (int i = 0; i < 8; i++, value /= 10)
		bcd |= value % 10 << (4 * i);
	return bcd;
}

/* @day: modified Julian, @fraction: 0.1 ms. Without a CRC. */
static void make_mark5b(unsigned char *at, uint32_t day, uint32_t second, uint32_t fraction,
			uint32_t frame)
{
	memset(at, 0x5a, MARK5B_FRAME_BYTES);
	put32(at, 0xabaddeed);
	put32(at + 4, frame);
	put32(at + 8, digits(day % 1000 * 100000 + second));
	put32(at + 12, digits(fraction) << 16);
}

static struct format_layout detect(size_t len, uint32_t rate)
{
	struct format_layout layout;

	assert_int_equal(format_detect(stream, len, true, INT64_C(1798000000), &layout), 0);
	assert_int_not_equal(layout.format, FORMAT_UNKNOWN);
	layout.rate = rate;
	return layout;
}

/* Two frames of VDIF tell the layout; what the stream is then is up to the test. */
static struct schedule by_vdif(double speed)
{
	struct format_layout layout;
	struct schedule schedule;

	make_vdif(stream, 50, 100, 0, 0);
	make_vdif(stream + FRAME, 50, 100, 1, 0);
	layout = detect((size_t)2 * FRAME, RATE);
	assert_int_equal(layout.format, FORMAT_VDIF);
	assert_int_equal(schedule_init_frames(&schedule, &layout, 0, speed, 0), 0);
	return schedule;
}

static uint64_t place; /* of the next frame in the stream */

static int64_t due_vdif(struct schedule *schedule, uint32_t second, uint32_t frame, unsigned thread)
{
	struct schedule_unit unit = { .stream_offset = place, .data = stream, .bytes = FRAME };

	make_vdif(stream, 50, second, frame, thread);
	place += FRAME;
	return schedule_due(schedule, &unit);
}

static int64_t due_bytes(struct schedule *schedule, uint64_t offset, size_t bytes)
{
	struct schedule_unit unit = { .stream_offset = offset, .data = stream, .bytes = bytes };

	return schedule_due(schedule, &unit);
}

static int64_t due_stamp(struct schedule *schedule, int64_t utc_ns)
{
	struct schedule_unit unit = { .bytes = 1, .utc_ns = utc_ns };

	return schedule_due(schedule, &unit);
}

static int set_up(void **state)
{
	(void)state;
	place = 0;
	return 0;
}

/* ---- none and rate --------------------------------------------------------------------------------- */

static void without_a_pace_all_is_due_at_once(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init_none(&schedule);
	assert_true(due_bytes(&schedule, 0, 10) == SCHEDULE_NOW);
	schedule_close_gap(&schedule, 5);
	schedule_loop(&schedule, 15);
	assert_true(due_bytes(&schedule, 15, 10) == SCHEDULE_NOW);
	assert_string_equal(schedule_name(SCHEDULE_NONE), "none");
	assert_string_equal(schedule_name(SCHEDULE_STAMPS), "stamps");
}

static void a_rate_is_exact_to_the_nanosecond_for_ever(void **state)
{
	struct schedule schedule;
	uint64_t sixty_s = UINT64_C(512000000) / 8 * 60;

	(void)state;
	schedule_init_rate(&schedule, 512000000, 1, 1000);
	assert_int_equal(due_bytes(&schedule, 1000, 8032), 0);
	assert_int_equal(due_bytes(&schedule, 1000 + 8032, 8032), 125500);
	assert_int_equal(due_bytes(&schedule, 1000 + sixty_s, 8032), 60 * S);
	/* a year */
	assert_int_equal(due_bytes(&schedule, 1000 + sixty_s * 60 * 24 * 365, 8032),
			 60 * 60 * 24 * 365 * S);
	schedule_init_rate(&schedule, 999999937, 1, 0);
	for (uint64_t offset = 0; offset < UINT64_C(1) << 62; offset = offset * 3 + 8032)
		assert_int_equal(due_bytes(&schedule, offset, 8032), units_time_for(offset, 999999937));
}

static void a_rate_some_millionths_off_is_exact_as_well(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init_rate(&schedule, 512000000, 1 + 100e-6, 0);
	assert_int_equal(due_bytes(&schedule, UINT64_C(64000000) * 10001, 1), 10000 * S);
	schedule_init_rate(&schedule, 8000, 0.5, 0);
	assert_int_equal(due_bytes(&schedule, 1000, 1), 2 * S);
	assert_int_equal(schedule_offset_at(&schedule, 2 * S), 1000);
}

static void offsets_and_moments_of_a_rate_fit(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init_rate(&schedule, 512000000, 1, 77);
	assert_int_equal(schedule_offset_at(&schedule, 0), 77);
	assert_int_equal(schedule_offset_at(&schedule, -5), 77);
	assert_int_equal(schedule_offset_at(&schedule, 60 * S), 77 + UINT64_C(64000000) * 60);
	assert_true(schedule_offset_at(&schedule, INT64_MAX) > INT64_MAX / 1000);
	schedule_init_rate(&schedule, UINT64_MAX, 1000, 77);
	assert_int_equal(schedule_offset_at(&schedule, INT64_MAX), UINT64_MAX);
	schedule_init_none(&schedule);
	assert_int_equal(schedule_offset_at(&schedule, S), 0);
}

static void a_gap_takes_its_time_unless_it_is_closed(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init_rate(&schedule, 8000, 1, 0);
	assert_int_equal(due_bytes(&schedule, 0, 1000), 0);
	assert_int_equal(due_bytes(&schedule, 3000, 1000), 3 * S);
	schedule_close_gap(&schedule, 5000);
	assert_int_equal(due_bytes(&schedule, 9000, 1000), 4 * S);
	/* it begins anew, its offsets go on; and where they don't */
	schedule_loop(&schedule, 10000);
	assert_int_equal(due_bytes(&schedule, 10000, 1000), 5 * S);
	schedule_loop(&schedule, 0);
	assert_int_equal(due_bytes(&schedule, 0, 1000), 6 * S);
	assert_int_equal(due_bytes(&schedule, 1000, 1000), 7 * S);
}

static void many_rounds_do_not_drift(void **state)
{
	struct schedule schedule;
	uint64_t offset = 0;

	(void)state;
	schedule_init_rate(&schedule, 3000000, 1, 0);
	for (int round = 0; round < 3000; round++) {
		assert_int_equal(due_bytes(&schedule, offset, 1000), units_time_for(offset, 3000000));
		offset += 1000;
		schedule_loop(&schedule, offset);
	}
}

/* ---- clock ----------------------------------------------------------------------------------------- */

static struct history_clock clocks[] = {
	{ .stream_offset = 3000, .utc_ns = 103 * S, .monotonic_ns = 30 * S },
	{ .stream_offset = 1000, .utc_ns = 101 * S, .monotonic_ns = 10 * S },
	{ .stream_offset = 2000, .utc_ns = 102 * S, .monotonic_ns = 15 * S },
	{ .stream_offset = 2000, .utc_ns = 102 * S, .monotonic_ns = 20 * S }, /* it stood still */
	{ .stream_offset = 1500, .utc_ns = 102 * S, .monotonic_ns = 22 * S }, /* impossible */
};

static struct history history = { .clocks = clocks, .clock_count = 5 };

static void a_clock_is_followed_line_by_line(void **state)
{
	struct schedule schedule;

	(void)state;
	assert_int_equal(schedule_init_clock(&schedule, &history, 1, 1000), 0);
	assert_true(schedule.has_first);
	assert_int_equal(schedule.first_utc_ns, 101 * S);
	assert_int_equal(due_bytes(&schedule, 1000, 100), 0);
	assert_int_equal(due_bytes(&schedule, 1500, 100), 2 * S + S / 2);
	assert_int_equal(due_bytes(&schedule, 1999, 1), 4995 * MS);
	assert_int_equal(due_bytes(&schedule, 2000, 100), 10 * S);
	assert_int_equal(due_bytes(&schedule, 2500, 100), 15 * S);
	assert_int_equal(due_bytes(&schedule, 3000, 100), 20 * S);
	/* behind the last one as before it */
	assert_int_equal(due_bytes(&schedule, 4000, 100), 30 * S);
	schedule_free(&schedule);
}

static void offsets_of_a_clock_fit_and_so_does_the_speed(void **state)
{
	struct schedule schedule;

	(void)state;
	assert_int_equal(schedule_init_clock(&schedule, &history, 2, 0), 0);
	/* before the first one as behind it: 5 ms a byte */
	assert_int_equal(schedule.first_utc_ns, 96 * S);
	assert_int_equal(due_bytes(&schedule, 0, 100), 0);
	assert_int_equal(due_bytes(&schedule, 1000, 100), 2 * S + S / 2);
	assert_int_equal(due_bytes(&schedule, 2500, 100), 10 * S);
	assert_int_equal(schedule_offset_at(&schedule, 0), 0);
	assert_int_equal(schedule_offset_at(&schedule, 2 * S + S / 2), 1000);
	assert_int_equal(schedule_offset_at(&schedule, 6 * S), 2000);
	assert_int_equal(schedule_offset_at(&schedule, 10 * S), 2500);
	schedule_free(&schedule);
}

static void a_clock_loops_and_closes_gaps(void **state)
{
	struct schedule schedule;

	(void)state;
	assert_int_equal(schedule_init_clock(&schedule, &history, 1, 1000), 0);
	assert_int_equal(due_bytes(&schedule, 1000, 100), 0);
	schedule_close_gap(&schedule, 400); /* 2 s */
	assert_int_equal(due_bytes(&schedule, 1500, 100), S / 2);
	assert_int_equal(due_bytes(&schedule, 2500, 500), 13 * S);
	schedule_loop(&schedule, 3000);
	assert_int_equal(due_bytes(&schedule, 3000, 100), 18 * S);
	assert_int_equal(due_bytes(&schedule, 3500, 100), 20 * S + S / 2);
	assert_int_equal(due_bytes(&schedule, 4500, 500), 33 * S);
	schedule_loop(&schedule, 5000);
	assert_int_equal(due_bytes(&schedule, 5000, 100), 38 * S);
	schedule_free(&schedule);
}

static void one_moment_is_no_clock(void **state)
{
	struct history_clock same[] = { { 5, 1, 1 }, { 5, 2, 2 } };
	struct history one = { .clocks = same, .clock_count = 1 };
	struct history two = { .clocks = same, .clock_count = 2 };
	struct history none = { 0 };
	struct schedule schedule;

	(void)state;
	assert_int_equal(schedule_init_clock(&schedule, &none, 1, 0), -ENODATA);
	none.start = json_pack("{ss}", "utc", "2026-01-01T00:00:00Z");
	assert_int_equal(schedule_init_clock(&schedule, &none, 1, 0), -ENODATA);
	json_decref(none.start);
	none.start = NULL;
	assert_int_equal(schedule_init_clock(&schedule, &one, 1, 0), -ENODATA);
	assert_int_equal(schedule_init_clock(&schedule, &two, 1, 0), -ENODATA);
	schedule_free(&schedule);
}

/* A recording of some seconds. */
static void a_short_recording_has_a_rate_or_a_length(void **state)
{
	struct history brief = {
		.start = json_pack("{ss sI sI}", "utc", "2026-01-01T00:00:00Z", "monotonic_ns",
				   (json_int_t)5000, "rate_bps", (json_int_t)8000000),
	};
	struct schedule schedule;

	(void)state;
	assert_int_equal(schedule_init_clock(&schedule, &brief, 1, 1000000), 0);
	assert_int_equal(schedule_offset_at(&schedule, 2 * S), 3000000);
	assert_int_equal(schedule.first_utc_ns, INT64_C(1767225600) * S + S);
	schedule_free(&schedule);
	/* no rate: by its length */
	json_object_del(brief.start, "rate_bps");
	brief.end = json_pack("{sf}", "duration_s", 2.0);
	brief.end_bytes = 4000000;
	assert_int_equal(schedule_init_clock(&schedule, &brief, 1, 0), 0);
	assert_int_equal(schedule_offset_at(&schedule, S), 2000000);
	schedule_free(&schedule);
	json_decref(brief.start);
	json_decref(brief.end);
}

/* ---- frames ---------------------------------------------------------------------------------------- */

static void frames_are_due_by_second_and_number(void **state)
{
	struct schedule schedule = by_vdif(1);

	(void)state;
	assert_int_equal(due_vdif(&schedule, 100, 998, 0), 0);
	assert_int_equal(schedule.first_utc_ns, vdif_epoch_utc_s(50) * S + 100 * S + 998 * MS);
	assert_int_equal(due_vdif(&schedule, 100, 999, 0), MS);
	assert_int_equal(due_vdif(&schedule, 101, 0, 0), 2 * MS);
	for (uint32_t i = 1; i < 70000; i++)
		assert_int_equal(due_vdif(&schedule, 101 + i / RATE, i % RATE, 0), (i + 2) * MS);
	assert_int_equal(schedule.backward_count, 0);
	assert_int_equal(schedule.timeless_count, 0);
}

static void frames_whose_step_is_no_whole_nanosecond_do_not_drift(void **state)
{
	struct schedule schedule = by_vdif(1);

	(void)state;
	schedule.layout.rate = 15625 * 3;
	assert_int_equal(due_vdif(&schedule, 100, 0, 0), 0);
	for (uint32_t s = 101; s < 300; s++) {
		place += (uint64_t)FRAME * 46873;
		assert_int_equal(due_vdif(&schedule, s - 1, 46874, 0), (s - 100) * S - 21334);
		assert_int_equal(due_vdif(&schedule, s, 0, 0), (s - 100) * S);
	}
}

static void threads_share_a_moment(void **state)
{
	struct schedule schedule = by_vdif(2);

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		for (unsigned thread = 0; thread < 4; thread++)
			assert_int_equal(due_vdif(&schedule, 100, i, thread), i * MS / 2);
	/* not in their order: none goes back */
	assert_int_equal(due_vdif(&schedule, 100, 21, 0), 21 * MS / 2);
	assert_int_equal(due_vdif(&schedule, 100, 20, 1), 21 * MS / 2);
	assert_int_equal(schedule.backward_count, 1);
	assert_int_equal(due_vdif(&schedule, 100, 22, 0), 22 * MS / 2);
}

static void an_epoch_turns_without_a_jump(void **state)
{
	struct schedule schedule = by_vdif(1);
	struct schedule_unit unit = { .data = stream, .bytes = FRAME };
	uint32_t last = (uint32_t)(vdif_epoch_utc_s(51) - vdif_epoch_utc_s(50)) - 1;

	(void)state;
	assert_int_equal(due_vdif(&schedule, last, 999, 0), 0);
	make_vdif(stream, 51, 0, 0, 0);
	unit.stream_offset = place;
	assert_int_equal(schedule_due(&schedule, &unit), MS);
}

static void a_wrong_bit_stops_nothing(void **state)
{
	struct schedule schedule = by_vdif(1);

	(void)state;
	assert_int_equal(due_vdif(&schedule, 100, 0, 0), 0);
	assert_int_equal(due_vdif(&schedule, 100, 1, 0), MS);
	assert_int_equal(due_vdif(&schedule, 100 + (1 << 20), 2, 0), 2 * MS);
	assert_int_equal(due_vdif(&schedule, 100, 3, 0), 3 * MS);
	assert_int_equal(due_vdif(&schedule, 100 - 64, 4, 0), 4 * MS);
	assert_int_equal(due_vdif(&schedule, 100, 5, 0), 5 * MS);
	assert_int_equal(schedule.timeless_count, 1);
	assert_int_equal(schedule.backward_count, 1);
}

static void fill_is_where_it_is_expected(void **state)
{
	struct schedule schedule = by_vdif(1);

	(void)state;
	assert_int_equal(due_vdif(&schedule, 100, 0, 0), 0);
	for (int i = 1; i < 5; i++) {
		memset(stream, 0x44, FRAME);
		assert_int_equal(due_bytes(&schedule, place, FRAME), i * MS);
		place += FRAME;
	}
	assert_int_equal(schedule.timeless_count, 4);
	assert_int_equal(due_vdif(&schedule, 100, 5, 0), 5 * MS);
}

static void frames_that_are_missing_leave_their_time(void **state)
{
	struct schedule schedule = by_vdif(1);

	(void)state;
	assert_int_equal(due_vdif(&schedule, 100, 0, 0), 0);
	place += (uint64_t)FRAME * 4999;
	assert_int_equal(due_vdif(&schedule, 105, 0, 0), 5 * S);
	place += (uint64_t)FRAME * 4999;
	schedule_close_gap(&schedule, (uint64_t)FRAME * 4999);
	assert_int_equal(due_vdif(&schedule, 110, 0, 0), 5 * S + MS);
	assert_int_equal(due_vdif(&schedule, 110, 1, 0), 5 * S + 2 * MS);
	assert_int_equal(schedule.timeless_count, 0);
}

static void another_scan_is_waited_for_when_it_is_borne_out(void **state)
{
	struct schedule schedule = by_vdif(1);

	(void)state;
	assert_int_equal(due_vdif(&schedule, 100, 0, 0), 0);
	assert_int_equal(due_vdif(&schedule, 160, 0, 0), MS);
	assert_int_equal(due_vdif(&schedule, 160, 1, 0), 60 * S + MS);
	assert_int_equal(due_vdif(&schedule, 160, 2, 0), 60 * S + 2 * MS);
}

static void a_clock_that_was_set_back_is_followed(void **state)
{
	struct schedule schedule = by_vdif(1);

	(void)state;
	assert_int_equal(due_vdif(&schedule, 100, 0, 0), 0);
	assert_int_equal(due_vdif(&schedule, 100, 1, 0), MS);
	assert_int_equal(due_vdif(&schedule, 50, 0, 0), 2 * MS);
	assert_int_equal(due_vdif(&schedule, 50, 1, 0), 3 * MS);
	assert_int_equal(due_vdif(&schedule, 50, 2, 0), 4 * MS);
	assert_int_equal(due_vdif(&schedule, 50, 3, 0), 5 * MS);
	assert_int_equal(schedule.backward_count, 2);
}

static void frames_loop_a_step_behind_the_last(void **state)
{
	struct schedule schedule = by_vdif(1);

	(void)state;
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < 10; i++)
			assert_int_equal(due_vdif(&schedule, 100, i, 0), (round * 10 + i) * MS);
		schedule_loop(&schedule, place);
	}
	assert_int_equal(schedule.first_utc_ns, vdif_epoch_utc_s(50) * S + 100 * S);
}

/* A unit of another length than a frame's, in a stream that begins amidst one. */
static void units_need_not_be_frames(void **state)
{
	enum { BYTES = 500, FRAMES = 20 };
	struct schedule schedule = by_vdif(1);
	int64_t due = -1, step = MS * BYTES / FRAME;

	(void)state;
	for (uint32_t i = 0; i < FRAMES; i++)
		make_vdif(stream + i * FRAME, 50, 100, i, 0);
	schedule.format_offset = 1000000 + FRAME;
	for (uint64_t at = 0; at + BYTES <= (uint64_t)FRAMES * FRAME; at += BYTES) {
		struct schedule_unit unit = { 1000000 + at, stream + at, BYTES, 0 };
		int64_t next = schedule_due(&schedule, &unit);

		if (due >= 0)
			assert_true(next - due >= step - 2 && next - due <= step + 2);
		else
			assert_int_equal(next, 0);
		due = next;
	}
	assert_int_equal(schedule.backward_count, 0);
	assert_int_equal(schedule.timeless_count, 0);
}

static void a_lump_of_frames_is_due_with_its_first(void **state)
{
	struct schedule schedule = by_vdif(1);

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		make_vdif(stream + i * FRAME, 50, 100, i, 0);
	assert_int_equal(schedule_due(&schedule, &(struct schedule_unit){ 0, stream, 5 * FRAME, 0 }),
			 0);
	assert_int_equal(schedule_due(&schedule, &(struct schedule_unit){ 5 * FRAME, stream + 5 * FRAME,
									  5 * FRAME, 0 }),
			 5 * MS);
}

static void a_format_without_time_is_refused(void **state)
{
	struct format_layout layout = { .format = FORMAT_SIM };
	struct schedule schedule = by_vdif(1);

	(void)state;
	assert_int_equal(schedule_init_frames(&schedule, &layout, 0, 1, 0), -ENOTSUP);
	layout = (struct format_layout){ .format = FORMAT_VDIF, .stride_bytes = 8, .interval_s = 1 };
	assert_int_equal(schedule_init_frames(&schedule, &layout, 0, 1, 0), -ENOTSUP);
}

/* ---- Mark5B ---------------------------------------------------------------------------------------- */

static struct schedule by_mark5b(uint32_t rate)
{
	struct format_layout layout;
	struct schedule schedule;

	make_mark5b(stream, MJD_2026, 86399, 0, 0);
	make_mark5b(stream + MARK5B_FRAME_BYTES, MJD_2026, 86399, 0, 1);
	layout = detect((size_t)2 * MARK5B_FRAME_BYTES, rate);
	assert_int_equal(layout.format, FORMAT_MARK5B);
	assert_int_equal(schedule_init_frames(&schedule, &layout, 0, 1, 0), 0);
	return schedule;
}

static int64_t due_mark5b(struct schedule *schedule, uint32_t day, uint32_t second,
			  uint32_t fraction, uint32_t frame)
{
	make_mark5b(stream, day, second, fraction, frame);
	place += MARK5B_FRAME_BYTES;
	return due_bytes(schedule, place - MARK5B_FRAME_BYTES, MARK5B_FRAME_BYTES);
}

static void mark5b_counts_over_midnight_and_a_thousand_days(void **state)
{
	struct schedule schedule = by_mark5b(6400);

	(void)state;
	assert_int_equal(due_mark5b(&schedule, MJD_2026, 86399, 9998, 6399), 0);
	assert_int_equal(schedule.first_utc_ns,
			 (MJD_2026 - DAYS_1970) * 86400 * S + 86399 * S + 6399 * INT64_C(156250));
	assert_int_equal(due_mark5b(&schedule, MJD_2026 + 1, 0, 0, 0), 156250);
	assert_int_equal(due_mark5b(&schedule, MJD_2026 + 1, 0, 1, 1), 2 * 156250);

	schedule = by_mark5b(6400);
	place = 0;
	assert_int_equal(due_mark5b(&schedule, 60999, 86399, 9998, 6399), 0);
	assert_int_equal(due_mark5b(&schedule, 61000, 0, 0, 0), 156250);
}

static void mark5b_numbers_wrap_within_a_fast_second(void **state)
{
	struct schedule schedule = by_mark5b(102400);

	(void)state;
	assert_int_equal(due_mark5b(&schedule, MJD_2026, 5, 0, 0), 0);
	for (int64_t i = 1; i < 102400; i++)
		assert_int_equal(due_mark5b(&schedule, MJD_2026, 5, (uint32_t)(i * 10000 / 102400),
					    (uint32_t)i % 32768),
				 i * S / 102400);
	assert_int_equal(due_mark5b(&schedule, MJD_2026, 6, 0, 0), S);
	assert_int_equal(schedule.backward_count, 0);
}

/* 23:59:60 and the next day's 0:00:00 are the same moment by their count; their frames go on at their rate. */
static void a_leap_second_takes_a_second(void **state)
{
	struct schedule schedule = by_mark5b(100);
	int64_t due = 0;

	(void)state;
	for (uint32_t i = 0; i < 400; i++, due += 10 * MS) {
		uint32_t day = MJD_2026 + (i >= 200), second = i < 200 ? 86399 + i / 100 : i / 100 - 2;

		assert_int_equal(due_mark5b(&schedule, day, second, i % 100 * 100, i % 100), due);
	}
	assert_int_equal(schedule.backward_count, 2);
	assert_int_equal(schedule.timeless_count, 0);
}

/* A frame that travels in two datagrams: the second is due half a frame behind the first. */
static void halves_of_a_frame_follow_each_other(void **state)
{
	struct schedule schedule = by_mark5b(1000);

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		uint64_t at = (uint64_t)i * MARK5B_FRAME_BYTES;

		make_mark5b(stream, MJD_2026, 7, i * 10, i);
		assert_int_equal(
			schedule_due(&schedule,
				     &(struct schedule_unit){ at, stream, MARK5B_HALF_BYTES, 0 }),
			i * MS);
		assert_int_equal(
			schedule_due(&schedule, &(struct schedule_unit){ at + MARK5B_HALF_BYTES,
									 stream + MARK5B_HALF_BYTES,
									 MARK5B_HALF_BYTES, 0 }),
			i * MS + MS / 2);
	}
	assert_int_equal(schedule.timeless_count, 0);
}

/* ---- stamps ---------------------------------------------------------------------------------------- */

static void stamps_are_followed_and_never_back(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init_stamps(&schedule, 1);
	assert_int_equal(due_stamp(&schedule, 1000 * S), 0);
	assert_int_equal(due_stamp(&schedule, 1001 * S), S);
	assert_int_equal(due_stamp(&schedule, 1001 * S - 5), S);
	assert_int_equal(due_stamp(&schedule, 0), S);
	assert_int_equal(due_stamp(&schedule, 1060 * S), 60 * S);
	assert_int_equal(schedule.backward_count, 1);
	assert_int_equal(schedule.timeless_count, 1);
	assert_int_equal(schedule.first_utc_ns, 1000 * S);
	/* a second file from before the first */
	assert_int_equal(due_stamp(&schedule, 100 * S), 60 * S);
	assert_true(due_stamp(&schedule, 100 * S + MS) >= 60 * S);
	assert_int_equal(due_stamp(&schedule, 101 * S) - schedule.anchor_due_ns, 999 * MS);
}

static void stamps_loop_at_their_mean_distance(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init_stamps(&schedule, 0.5);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 5; i++)
			assert_int_equal(due_stamp(&schedule, 1000 * S + i * MS),
					 (round * 5 + i) * 2 * MS);
		schedule_loop(&schedule, 0);
	}
	assert_int_equal(schedule.backward_count, 0);
}

static void without_any_stamp_all_is_due_at_the_begin(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init_stamps(&schedule, 1);
	assert_int_equal(due_stamp(&schedule, 0), 0);
	assert_int_equal(due_stamp(&schedule, 0), 0);
	schedule_loop(&schedule, 0);
	assert_int_equal(due_stamp(&schedule, 7), 0);
	assert_int_equal(due_stamp(&schedule, 9), 2);
	assert_int_equal(schedule.timeless_count, 2);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_pace_all_is_due_at_once),
		TEST(a_rate_is_exact_to_the_nanosecond_for_ever),
		TEST(a_rate_some_millionths_off_is_exact_as_well),
		TEST(offsets_and_moments_of_a_rate_fit),
		TEST(a_gap_takes_its_time_unless_it_is_closed),
		TEST(many_rounds_do_not_drift),
		TEST(a_clock_is_followed_line_by_line),
		TEST(offsets_of_a_clock_fit_and_so_does_the_speed),
		TEST(a_clock_loops_and_closes_gaps),
		TEST(one_moment_is_no_clock),
		TEST(a_short_recording_has_a_rate_or_a_length),
		TEST(frames_are_due_by_second_and_number),
		TEST(frames_whose_step_is_no_whole_nanosecond_do_not_drift),
		TEST(threads_share_a_moment),
		TEST(an_epoch_turns_without_a_jump),
		TEST(a_wrong_bit_stops_nothing),
		TEST(fill_is_where_it_is_expected),
		TEST(frames_that_are_missing_leave_their_time),
		TEST(another_scan_is_waited_for_when_it_is_borne_out),
		TEST(a_clock_that_was_set_back_is_followed),
		TEST(frames_loop_a_step_behind_the_last),
		TEST(units_need_not_be_frames),
		TEST(a_lump_of_frames_is_due_with_its_first),
		TEST(a_format_without_time_is_refused),
		TEST(mark5b_counts_over_midnight_and_a_thousand_days),
		TEST(mark5b_numbers_wrap_within_a_fast_second),
		TEST(a_leap_second_takes_a_second),
		TEST(halves_of_a_frame_follow_each_other),
		TEST(stamps_are_followed_and_never_back),
		TEST(stamps_loop_at_their_mean_distance),
		TEST(without_any_stamp_all_is_due_at_the_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
