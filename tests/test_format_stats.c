/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_format_stats.c - what single frames add up to: rates by their fractions, times that jump, what is held against them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/format_stats.h"

#define RATE 50

static struct format_stats *stats;
static uint64_t offset;

static int set_up(void **state)
{
	(void)state;
	offset = 0;
	return format_stats_create(&stats);
}

static int tear_down(void **state)
{
	(void)state;
	format_stats_free(stats);
	return 0;
}

static void begin(enum format format, uint32_t rate)
{
	const struct format_layout layout = {
		.format = format,
		.interval_s = 1,
		.stride_bytes = 1000,
		.payload_bytes = 1000,
	};

	format_stats_begin(stats, &layout, rate);
}

static void take(const struct format_frame *frame)
{
	format_stats_take(stats, frame, offset);
	offset += 1000;
	stats->scanned_bytes = offset;
}

static void take_at(uint16_t thread, uint64_t interval, uint32_t number)
{
	take(&(struct format_frame){
		.thread = thread, .interval = interval, .number = number, .is_ordered = true });
}

static void take_fraction(uint32_t number, uint16_t fraction)
{
	take(&(struct format_frame){
		.interval = 100, .number = number, .fraction = fraction, .is_ordered = true });
}

/* Number 1 at 0.1 ms may be 6400 to 10000 frames a second; number 3 at 0.4 ms leaves one of the doublings of 25. */
static void fractions_of_mark5b_leave_one_rate(void **state)
{
	(void)state;
	begin(FORMAT_MARK5B, 0);
	take_fraction(0, 0);
	take_fraction(1, 1);
	take_fraction(2, 3);
	take_fraction(3, 4);
	format_stats_end(stats);
	assert_int_equal(stats->rate, 6400);
	assert_int_equal(stats->rate_source, FORMAT_RATE_HEADER);
}

static void fractions_that_contradict_each_other_leave_none(void **state)
{
	(void)state;
	begin(FORMAT_MARK5B, 0);
	take_fraction(1, 1); /* more than 5000 */
	take_fraction(2, 9); /* at most 2222 */
	format_stats_end(stats);
	assert_int_equal(stats->rate, 0);
	assert_int_equal(stats->rate_source, FORMAT_RATE_UNKNOWN);
}

static void numbers_of_mark5b_begin_again_within_a_second(void **state)
{
	(void)state;
	begin(FORMAT_MARK5B, 51200);
	for (uint32_t number = 32766; number < 32770; number++)
		take(&(struct format_frame){
			.interval = 100, .number = number % 32768, .is_ordered = true });
	format_stats_end(stats);
	assert_int_equal(stats->count[FORMAT_MISSING], 0);
	assert_true(format_stats_are_good(stats, false));
}

static void threads_may_be_one_frame_apart_and_no_more(void **state)
{
	(void)state;
	begin(FORMAT_VDIF, RATE);
	for (uint32_t number = 0; number < 9; number++) {
		take_at(0, 100, number + 1);
		take_at(1, 100, number);
	}
	assert_int_equal(stats->count[FORMAT_DISORDER], 0);
	take_at(0, 100, 11);
	take_at(1, 100, 9);
	assert_int_equal(stats->count[FORMAT_DISORDER], 1);
	assert_int_equal(stats->faults[stats->fault_count - 1].thread, 1);
}

static void one_frame_with_a_time_of_its_own_is_a_stray(void **state)
{
	(void)state;
	begin(FORMAT_VDIF, RATE);
	for (uint32_t number = 0; number < 9; number++)
		take_at(0, number == 5 ? 100000 : 100, number);
	format_stats_end(stats);
	assert_int_equal(stats->stray_count, 1);
	assert_int_equal(stats->count[FORMAT_MISSING], 1);
	assert_int_equal(stats->length_ns, INT64_C(9) * 1000000000 / RATE);
	assert_false(format_stats_are_good(stats, true));
}

static void a_thread_that_goes_back_goes_on_from_there(void **state)
{
	(void)state;
	begin(FORMAT_VDIF, RATE);
	for (uint32_t number = 0; number < 9; number++)
		take_at(0, 100, number);
	for (uint32_t number = 0; number < 9; number++)
		take_at(0, 90, number);
	assert_int_equal(stats->count[FORMAT_BACK], 1);
	assert_int_equal(stats->streams[0].newest.interval, 90);
	assert_int_equal(stats->streams[0].newest.number, 8);
	format_stats_end(stats);
	assert_false(format_stats_are_good(stats, true));
}

/* The rate is known behind the loss only, and the place has its count all the same. */
static void a_loss_over_a_second_is_counted_in_the_end(void **state)
{
	(void)state;
	begin(FORMAT_VDIF, 0);
	take_at(0, 100, 0);
	take_at(0, 102, 0);
	for (uint32_t number = 1; number <= RATE; number++)
		take_at(0, 102 + number / RATE, number % RATE);
	format_stats_end(stats);
	assert_int_equal(stats->rate, RATE);
	assert_int_equal(stats->rate_source, FORMAT_RATE_COUNTED);
	assert_int_equal(stats->count[FORMAT_MISSING], 2 * RATE - 1);
	assert_int_equal(stats->fault_count, 1);
	assert_int_equal(stats->faults[0].count, 2 * RATE - 1);
}

/* A thread that begins or ends further from the others than any thread is long has another clock. */
static void what_no_thread_is_long_enough_for_is_not_missing(void **state)
{
	(void)state;
	begin(FORMAT_VDIF, RATE);
	for (uint32_t number = 0; number < 9; number++) {
		take_at(0, 100, number);
		take_at(1, 200, number);
	}
	format_stats_end(stats);
	assert_int_equal(stats->count[FORMAT_MISSING], 0);
}

static void counts_of_hostile_times_are_capped(void **state)
{
	(void)state;
	begin(FORMAT_VDIF, UINT32_MAX);
	for (uint16_t thread = 0; thread < 3; thread++)
		for (uint64_t i = 0; i < 8; i++)
			take_at(thread, i / 4 * (UINT64_MAX / 4), (uint32_t)i);
	format_stats_end(stats);
	assert_int_equal(stats->streams[2].missing_count, INT64_MAX);
	assert_int_equal(stats->count[FORMAT_MISSING], INT64_MAX);
}

static void a_cut_is_fine_only_where_it_was_expected(void **state)
{
	(void)state;
	begin(FORMAT_VDIF, RATE);
	take_at(0, 100, 0);
	stats->trailing_bytes = 1;
	format_stats_end(stats);
	assert_true(format_stats_are_good(stats, true));
	assert_false(format_stats_are_good(stats, false));
	stats->trailing_bytes = 0;
	stats->leading_bytes = 1;
	assert_false(format_stats_are_good(stats, false));
	stats->layout.format = FORMAT_MARK4;
	assert_true(format_stats_are_good(stats, false));
}

static void what_a_header_says_against_its_frame_is_counted(void **state)
{
	(void)state;
	begin(FORMAT_MARK5B, RATE);
	take(&(struct format_frame){
		.interval = 100, .is_ordered = true, .is_fill = true, .is_invalid = true });
	take(&(struct format_frame){ .is_crc_wrong = true });
	format_stats_end(stats);
	assert_int_equal(stats->streams[0].fill_count, 1);
	assert_int_equal(stats->streams[0].invalid_count, 1);
	assert_int_equal(stats->fill_count, 1);
	assert_int_equal(stats->invalid_count, 1);
	assert_int_equal(stats->count[FORMAT_CRC], 1);
	assert_int_equal(stats->faults[0].kind, FORMAT_CRC);
	assert_int_equal(stats->faults[0].offset, 1000);
	assert_false(format_stats_are_good(stats, true));
}

/* The frames are right, and only the numbers of their packets are not: twice, late, back, and one that is alone. */
static void packets_out_of_order_are_not_good(void **state)
{
	static const uint64_t last[][2] = { { 504, 504 }, { 506, 505 }, { 1000, 1001 }, { 1000, 505 } };

	(void)state;
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
		format_stats_free(stats);
		assert_int_equal(set_up(NULL), 0);
		begin(FORMAT_VDIF, RATE);
		stats->layout.number_count = 1;
		for (uint32_t number = 0; number < 7; number++)
			take(&(struct format_frame){
				.interval = 100,
				.number = number,
				.is_ordered = true,
				.packet_number[0] = number < 5 ? 500 + number : last[i][number - 5],
			});
		format_stats_end(stats);
		assert_int_equal(stats->count[FORMAT_MISSING], 0);
		assert_false(format_stats_are_good(stats, true));
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fractions_of_mark5b_leave_one_rate),
		TEST(fractions_that_contradict_each_other_leave_none),
		TEST(numbers_of_mark5b_begin_again_within_a_second),
		TEST(threads_may_be_one_frame_apart_and_no_more),
		TEST(one_frame_with_a_time_of_its_own_is_a_stray),
		TEST(a_thread_that_goes_back_goes_on_from_there),
		TEST(a_loss_over_a_second_is_counted_in_the_end),
		TEST(what_no_thread_is_long_enough_for_is_not_missing),
		TEST(counts_of_hostile_times_are_capped),
		TEST(a_cut_is_fine_only_where_it_was_expected),
		TEST(what_a_header_says_against_its_frame_is_counted),
		TEST(packets_out_of_order_are_not_good),
	};

	return cmocka_run_group_tests_name("format_stats", tests, NULL, NULL);
}
