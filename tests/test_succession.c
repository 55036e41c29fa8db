/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/succession.h"

#define RATE 100

static struct succession_loss loss;

/* Frames as positions: second = position / RATE. */
static enum succession_step take(struct succession *s, uint64_t position)
{
	return succession_take(s, 1000 + position / RATE, (uint32_t)(position % RATE), RATE, &loss);
}

static void frames_in_order_miss_nothing(void **state)
{
	struct succession s = { 0 };

	(void)state;
	for (uint64_t i = 17; i < 1000; i++) {
		assert_int_equal(take(&s, i), SUCCESSION_NEXT);
		assert_int_equal(succession_lost(&loss, RATE), 0);
	}
	succession_end(&s);
	assert_int_equal(succession_missing(&s, RATE), 0);
	assert_int_equal(s.frame_count, 983);
	assert_int_equal(s.stray_count + s.duplicate_count + s.late_count + s.back_count, 0);
}

static void each_kind_of_fault_is_counted_once(void **state)
{
	struct succession s = { 0 };

	(void)state;
	take(&s, 97);
	assert_int_equal(take(&s, 98), SUCCESSION_NEXT);
	assert_int_equal(take(&s, 98), SUCCESSION_DUPLICATE);
	assert_int_equal(take(&s, 101), SUCCESSION_LOST); /* 99 and 100, over the second's end */
	assert_int_equal(succession_lost(&loss, RATE), 2);
	assert_int_equal(take(&s, 99), SUCCESSION_LATE);
	assert_int_equal(take(&s, 99), SUCCESSION_DUPLICATE);
	assert_int_equal(succession_missing(&s, RATE), 1);
	assert_int_equal(take(&s, 102), SUCCESSION_NEXT);
	assert_int_equal(s.duplicate_count, 2);
	assert_int_equal(s.late_count, 1);
}

static void swapped_frames_are_late_and_not_missing(void **state)
{
	struct succession s = { 0 };

	(void)state;
	take(&s, 98);
	take(&s, 100);
	take(&s, 99);
	take(&s, 101);
	assert_int_equal(succession_missing(&s, RATE), 0);
	assert_int_equal(s.late_count, 1);
}

/* A stream is begun in the middle of a swap: 9 was not missing, and doesn't make up for 11. */
static void a_frame_from_before_the_first_fills_no_place(void **state)
{
	struct succession s = { 0 };

	(void)state;
	take(&s, 10);
	assert_int_equal(take(&s, 9), SUCCESSION_LATE);
	assert_int_equal(take(&s, 12), SUCCESSION_LOST);
	assert_int_equal(s.late_count, 1);
	assert_int_equal(succession_missing(&s, RATE), 1);
	assert_int_equal(take(&s, 11), SUCCESSION_LATE);
	assert_int_equal(succession_missing(&s, RATE), 0);
}

/* The same where the stream went back. */
static void a_frame_from_before_the_place_it_went_back_to_fills_no_place(void **state)
{
	struct succession s = { 0 };

	(void)state;
	take(&s, 5000);
	take(&s, 5002);
	take(&s, 1005);
	assert_int_equal(take(&s, 1006), SUCCESSION_BACK);
	assert_int_equal(take(&s, 1004), SUCCESSION_LATE);
	assert_int_equal(succession_missing(&s, RATE), 1);
}

static void one_wrong_time_is_a_stray(void **state)
{
	struct succession s = { 0 };

	(void)state;
	take(&s, 5);
	assert_int_equal(take(&s, 5000000), SUCCESSION_FAR);
	assert_int_equal(take(&s, 7), SUCCESSION_LOST); /* 6 is the one with the wrong time */
	take(&s, 8);
	assert_int_equal(take(&s, UINT64_MAX / 2), SUCCESSION_FAR);
	succession_end(&s);
	assert_int_equal(s.stray_count, 2);
	assert_int_equal(succession_missing(&s, RATE), 1);
}

static void a_long_loss_and_a_step_back_are_believed_when_the_next_agrees(void **state)
{
	struct succession s = { 0 };

	(void)state;
	take(&s, 5);
	assert_int_equal(take(&s, 70005), SUCCESSION_FAR);
	assert_int_equal(take(&s, 70006), SUCCESSION_LOST);
	assert_int_equal(succession_lost(&loss, RATE), 69999);
	assert_int_equal(take(&s, 1005), SUCCESSION_FAR);
	assert_int_equal(take(&s, 1006), SUCCESSION_BACK);
	assert_int_equal(take(&s, 1007), SUCCESSION_NEXT);
	assert_int_equal(s.back_count, 1);
	assert_int_equal(s.stray_count, 0);
	assert_int_equal(succession_missing(&s, RATE), 69999);
}

/* The rate is found on the way: losses at a second's end come out right in the end. */
static void the_rate_may_be_known_late(void **state)
{
	struct succession s = { 0 };

	(void)state;
	succession_take(&s, 1, 40, 41, &loss);
	succession_take(&s, 2, 3, 41, &loss);
	assert_int_equal(succession_missing(&s, 100), 62);
}

static void hostile_numbers_do_not_overflow(void **state)
{
	struct succession s = { 0 };
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t interval;

		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		interval = seed >> 60 < 4 ? seed : seed >> 62;
		succession_take(&s, interval, (uint32_t)(seed >> 20), UINT32_MAX >> (seed & 31), &loss);
		succession_lost(&loss, UINT32_MAX);
	}
	succession_end(&s);
	assert_true(succession_missing(&s, UINT32_MAX) <= INT64_MAX);
	assert_int_equal(s.frame_count, 200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_in_order_miss_nothing),
		cmocka_unit_test(each_kind_of_fault_is_counted_once),
		cmocka_unit_test(swapped_frames_are_late_and_not_missing),
		cmocka_unit_test(a_frame_from_before_the_first_fills_no_place),
		cmocka_unit_test(a_frame_from_before_the_place_it_went_back_to_fills_no_place),
		cmocka_unit_test(one_wrong_time_is_a_stray),
		cmocka_unit_test(a_long_loss_and_a_step_back_are_believed_when_the_next_agrees),
		cmocka_unit_test(the_rate_may_be_known_late),
		cmocka_unit_test(hostile_numbers_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
