/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "recorder/stripe.h"

#define TB UINT64_C(1000000000000)
#define MAX UINT64_MAX

static const struct stripe_disk good = { .is_usable = true, .free_bytes = 100, .total_bytes = 200 };

static void the_largest_share_of_free_space_comes_first(void **state)
{
	struct stripe_disk disks[3] = { good, good, good };

	(void)state;
	assert_int_equal(stripe_any(disks, 3), 0); /* all alike: the first */
	disks[1].free_bytes = 101;
	assert_int_equal(stripe_any(disks, 3), 1);
	/* a share, not an amount: 60 of 100 beats 101 of 200 */
	disks[2] = (struct stripe_disk){ .is_usable = true, .free_bytes = 60, .total_bytes = 100 };
	assert_int_equal(stripe_any(disks, 3), 2);
	/* sizes up to the largest number, none of them known, nothing free */
	disks[0].free_bytes = disks[0].total_bytes = MAX;
	disks[1].free_bytes = MAX - 1;
	disks[1].total_bytes = MAX;
	disks[2].is_usable = false;
	assert_int_equal(stripe_any(disks, 3), 0);
	disks[0].free_bytes = 0;
	assert_int_equal(stripe_any(disks, 3), 1);
	disks[1].free_bytes = disks[1].total_bytes = 0;
	assert_true(stripe_any(disks, 3) < 2);
}

static void who_cannot_take_a_unit_gets_none(void **state)
{
	struct stripe_disk disks[2] = { good, good };

	(void)state;
	disks[0].free_bytes = 150;
	disks[0].is_usable = false;
	assert_int_equal(stripe_any(disks, 2), 1);
	disks[0].is_usable = true;
	disks[0].open_units = STRIPE_UNITS_MAX;
	assert_int_equal(stripe_any(disks, 2), 1);
	disks[0].open_units = 0;
	disks[0].write_age_ns = STRIPE_SLOW_NS + 1;
	assert_int_equal(stripe_any(disks, 2), 1);
	disks[0].write_age_ns = STRIPE_SLOW_NS;
	assert_int_equal(stripe_any(disks, 2), 0);
	disks[0].open_units = disks[1].open_units = STRIPE_UNITS_MAX;
	assert_int_equal(stripe_any(disks, 2), STRIPE_NOBODY);
	assert_int_equal(stripe_any(disks, 0), STRIPE_NOBODY);
}

static void an_idle_disk_comes_before_one_that_has_work(void **state)
{
	struct stripe_disk disks[2] = { good, good };

	(void)state;
	disks[0].free_bytes = 199;
	disks[0].open_units = 1;
	assert_int_equal(stripe_any(disks, 2), 1);
	disks[1].open_units = 1;
	assert_int_equal(stripe_any(disks, 2), 0);
}

/* Disks fast enough for the stream: at every moment all are filled to the same share, and at the end all are full. */
static void unequal_disks_fill_at_the_same_time(void **state)
{
	static const uint64_t unit = UINT64_C(256) << 20;
	struct stripe_disk disks[4] = {
		{ .is_usable = true, .free_bytes = 1 * TB, .total_bytes = 1 * TB },
		{ .is_usable = true, .free_bytes = 4 * TB, .total_bytes = 4 * TB },
		{ .is_usable = true, .free_bytes = 18 * TB, .total_bytes = 18 * TB },
		{ .is_usable = true, .free_bytes = 2 * TB, .total_bytes = 8 * TB }, /* three quarters are full already */
	};
	unsigned unit_count = 0;

	(void)state;
	for (;;) {
		uint32_t next = stripe_any(disks, 4);
		double least = 1, most = 0;

		if (disks[next].free_bytes < unit)
			break;
		disks[next].free_bytes -= unit;
		unit_count++;
		for (unsigned i = 0; i < 4; i++) {
			double share = (double)disks[i].free_bytes / (double)disks[i].total_bytes;

			least = share < least ? share : least;
			most = share > most ? share : most;
		}
		/* from the moment on when the others are down to the fuller one's share */
		if (most < 0.249)
			assert_true(most - least <= 2.0 * (double)unit / (double)TB);
	}
	assert_true(unit_count > 90000);
	for (unsigned i = 0; i < 4; i++)
		assert_true(disks[i].free_bytes < 20 * unit);
}

/* A disk that takes twice as long per unit gets half as many, without anybody having measured it. */
static void a_slow_disk_gets_less_and_a_stuck_one_nothing(void **state)
{
	struct stripe_disk disks[3] = { good, good, good };
	static const unsigned takes[3] = { 1, 2, 0 }; /* turns a unit; 0 = never done */
	unsigned counts[3] = { 0 }, work[3] = { 0 };

	(void)state;
	for (unsigned turn = 0; turn < 3000; turn++) {
		uint32_t next;

		while ((next = stripe_any(disks, 3)) != STRIPE_NOBODY) {
			disks[next].open_units++;
			counts[next]++;
		}
		for (unsigned i = 0; i < 2; i++) {
			if (disks[i].open_units && ++work[i] == takes[i]) {
				work[i] = 0;
				disks[i].open_units--;
			}
		}
	}
	assert_int_equal(counts[2], STRIPE_UNITS_MAX);
	assert_true(counts[0] >= 2999 && counts[1] >= 1499 && counts[1] <= 1502);
}

static void round_is_strict_turn_over_those_that_work(void **state)
{
	struct stripe_disk disks[3] = { good, good, good };

	(void)state;
	assert_int_equal(stripe_round(disks, 3, STRIPE_NOBODY), 0);
	assert_int_equal(stripe_round(disks, 3, 0), 1);
	assert_int_equal(stripe_round(disks, 3, 2), 0);
	disks[1].open_units = 99; /* slow or not, it is its turn */
	disks[1].write_age_ns = 10 * STRIPE_SLOW_NS;
	assert_int_equal(stripe_round(disks, 3, 0), 1);
	disks[1].is_usable = false;
	assert_int_equal(stripe_round(disks, 3, 0), 2);
	disks[2].is_usable = false;
	assert_int_equal(stripe_round(disks, 3, 0), 0);
	disks[0].is_usable = false;
	assert_int_equal(stripe_round(disks, 3, 0), STRIPE_NOBODY);
	assert_int_equal(stripe_round(disks, 3, STRIPE_NOBODY), STRIPE_NOBODY);
}

/* Against a count by hand: every byte of a short stream, for many shapes. */
static void a_byte_is_located_where_it_was_dealt(void **state)
{
	(void)state;
	for (uint32_t count = 1; count <= 5; count++) {
		for (uint64_t unit = 1; unit <= 7; unit++) {
			uint64_t dealt[5] = { 0 }, in_unit = 0;
			uint32_t at = 0;

			for (uint64_t offset = 0; offset < 500; offset++) {
				uint64_t disk_offset;
				uint32_t disk;

				stripe_locate(offset, unit, count, &disk, &disk_offset);
				assert_int_equal(disk, at);
				assert_int_equal(disk_offset, dealt[at]++);
				if (++in_unit == unit) {
					in_unit = 0;
					at = (at + 1) % count;
				}
			}
		}
	}
}

static void the_last_byte_of_a_stream_is_located_too(void **state)
{
	uint64_t offset;
	uint32_t disk;

	(void)state;
	stripe_locate(MAX, 1, 1, &disk, &offset);
	assert_int_equal(disk, 0);
	assert_int_equal(offset, MAX);
	stripe_locate(MAX, UINT64_C(1) << 63, 2, &disk, &offset);
	assert_int_equal(disk, 1);
	assert_int_equal(offset, MAX >> 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_share_of_free_space_comes_first),
		cmocka_unit_test(who_cannot_take_a_unit_gets_none),
		cmocka_unit_test(an_idle_disk_comes_before_one_that_has_work),
		cmocka_unit_test(unequal_disks_fill_at_the_same_time),
		cmocka_unit_test(a_slow_disk_gets_less_and_a_stuck_one_nothing),
		cmocka_unit_test(round_is_strict_turn_over_those_that_work),
		cmocka_unit_test(a_byte_is_located_where_it_was_dealt),
		cmocka_unit_test(the_last_byte_of_a_stream_is_located_too),
	};

	return cmocka_run_group_tests_name("stripe", tests, NULL, NULL);
}
