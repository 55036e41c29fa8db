/* SPDX-License-Identifier: BSD-2-Clause */
/* test_disturbance.c - faults come as often as asked for, the same each time, and never where they can't be seen */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/replay/disturbance.h"
#include "tools/replay/schedule.h"

#define UNITS 100000
#define MS INT64_C(1000000)

static struct disturbance *make(const struct disturbance_config *config)
{
	struct disturbance *d;

	assert_int_equal(disturbance_create(&d, config), 0);
	return d;
}

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void nothing_asked_for_is_nothing_done(void **state)
{
	struct disturbance *d = make(&(struct disturbance_config){ .seed = 7 });

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		struct disturbance_fate fate;

		disturbance_next(d, i, (int64_t)i * MS, 8000, &fate);
		assert_int_equal(fate.copies, 1);
		assert_int_equal(fate.behind, 0);
		assert_int_equal(fate.due_ns, (int64_t)i * MS);
	}
	assert_int_equal(get(&disturbance_stats(d)->unit_count), 1000);
	disturbance_free(d);
}

static void shares_are_kept_and_counted(void **state)
{
	struct disturbance *d = make(&(struct disturbance_config){
		.loss = 0.1, .duplicate = 0.05, .reorder = 0.2, .reorder_distance = 3, .seed = 1 });
	const struct disturbance_stats *stats = disturbance_stats(d);
	uint64_t lost = 0, doubled = 0, behind = 0;

	(void)state;
	for (uint64_t i = 0; i < UNITS; i++) {
		struct disturbance_fate fate;

		disturbance_next(d, i, SCHEDULE_NOW, 100, &fate);
		assert_true(fate.due_ns == SCHEDULE_NOW);
		lost += fate.copies == 0;
		doubled += fate.copies == 2;
		behind += fate.behind == 3;
		assert_true(fate.behind == 0 || fate.copies == 1);
	}
	assert_int_equal(get(&stats->lost_count), lost);
	assert_int_equal(get(&stats->lost_bytes), lost * 100);
	assert_int_equal(get(&stats->duplicate_count), doubled);
	assert_int_equal(get(&stats->reordered_count), behind);
	assert_in_range(lost, 9500, 10500);
	assert_in_range(doubled, 4650, 5350);
	assert_in_range(behind, 18600, 20600);
	disturbance_free(d);
}

static void the_seed_decides(void **state)
{
	const struct disturbance_config config = { .loss = 0.5, .seed = 3 };
	struct disturbance_config other = config;
	struct disturbance *a = make(&config), *b = make(&config), *c;
	unsigned different = 0;

	(void)state;
	other.seed++;
	c = make(&other);
	for (uint64_t i = 0; i < 1000; i++) {
		struct disturbance_fate of_a, of_b, of_c;

		disturbance_next(a, i, SCHEDULE_NOW, 1, &of_a);
		disturbance_next(b, i, SCHEDULE_NOW, 1, &of_b);
		disturbance_next(c, i, SCHEDULE_NOW, 1, &of_c);
		assert_int_equal(of_a.copies, of_b.copies);
		different += of_a.copies != of_c.copies;
	}
	assert_in_range(different, 400, 600);
	disturbance_free(a);
	disturbance_free(b);
	disturbance_free(c);
}

/* Swapped with what is lost or comes late itself, it would look as if nothing had happened to it. */
static void what_is_reordered_is_overtaken(void **state)
{
	struct disturbance *d = make(&(struct disturbance_config){
		.loss = 0.3, .reorder = 0.4, .reorder_distance = 2, .unit_count = UNITS });
	static struct disturbance_fate fates[UNITS];

	(void)state;
	for (uint64_t i = 0; i < UNITS; i++)
		disturbance_next(d, i, SCHEDULE_NOW, 1, &fates[i]);
	for (uint64_t i = 0; i < UNITS; i++) {
		bool is_overtaken = false;

		for (uint64_t j = i + 1; j <= i + 2 && j < UNITS; j++)
			is_overtaken |= fates[j].copies == 1 && fates[j].behind == 0;
		if (fates[i].behind)
			assert_true(is_overtaken && i + 2 < UNITS);
	}
	disturbance_free(d);
}

/* Who never saw the first or the last one would not miss it. */
static void the_first_and_the_last_one_are_spared(void **state)
{
	struct disturbance *d = make(&(struct disturbance_config){ .loss = 1, .unit_count = 10 });

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		struct disturbance_fate fate;

		disturbance_next(d, i, SCHEDULE_NOW, 1, &fate);
		assert_int_equal(fate.copies, i == 0 || i == 9);
	}
	assert_int_equal(get(&disturbance_stats(d)->lost_count), 8);
	disturbance_free(d);
}

static void jitter_delays_and_never_swaps(void **state)
{
	struct disturbance *d = make(&(struct disturbance_config){ .jitter_ns = 5 * MS });
	int64_t last = 0, sum = 0;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++) {
		struct disturbance_fate fate;
		int64_t due = (int64_t)i * 10 * MS;

		disturbance_next(d, i, due, 1, &fate);
		assert_in_range(fate.due_ns, due, due + 5 * MS);
		assert_true(fate.due_ns >= last);
		last = fate.due_ns;
		sum += fate.due_ns - due;
	}
	assert_in_range(sum / 10000, 2 * MS, 3 * MS);
	disturbance_free(d);
}

static void a_stall_holds_what_is_due_in_it(void **state)
{
	struct disturbance *d =
		make(&(struct disturbance_config){ .stall_ns = 20 * MS, .stall_every_ns = 100 * MS });

	(void)state;
	for (uint64_t i = 0; i < 350; i++) {
		struct disturbance_fate fate;
		int64_t due = (int64_t)i * MS;

		disturbance_next(d, i, due, 1, &fate);
		if (i >= 100 && i % 100 < 20)
			assert_int_equal(fate.due_ns, (int64_t)(i / 100 * 100 + 20) * MS);
		else
			assert_int_equal(fate.due_ns, due);
	}
	assert_int_equal(get(&disturbance_stats(d)->stall_count), 3);
	disturbance_free(d);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct disturbance_config bad[] = {
		{ .loss = 1.1 },
		{ .loss = -0.1 },
		{ .loss = 0.6, .duplicate = 0.6 },
		{ .reorder = 0.1 },
		{ .reorder = 0.1, .reorder_distance = DISTURBANCE_DISTANCE_MAX + 1 },
		{ .stall_ns = MS },
		{ .stall_ns = MS, .stall_every_ns = MS },
		{ .jitter_ns = -1 },
	};
	struct disturbance *d;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(disturbance_create(&d, &bad[i]), -EINVAL);
		assert_null(d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_asked_for_is_nothing_done),
		cmocka_unit_test(shares_are_kept_and_counted),
		cmocka_unit_test(the_seed_decides),
		cmocka_unit_test(what_is_reordered_is_overtaken),
		cmocka_unit_test(the_first_and_the_last_one_are_spared),
		cmocka_unit_test(jitter_delays_and_never_swaps),
		cmocka_unit_test(a_stall_holds_what_is_due_in_it),
		cmocka_unit_test(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
