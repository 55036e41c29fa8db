/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_spread.c - each duration has its bucket, and a quantile is never too small
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/replay/spread.h"

static void buckets_follow_each_other_and_are_an_eighth_wide_at_most(void **state)
{
	unsigned last = spread_bucket(INT64_MAX);
	int64_t begin = 0;

	(void)state;
	assert_true(last < SPREAD_BUCKETS);
	for (unsigned i = 0; i <= last; i++) {
		int64_t edge = spread_edge_ns(i);

		assert_int_equal(spread_bucket(begin), i);
		assert_int_equal(spread_bucket(i < last ? edge - 1 : edge), i);
		assert_true(edge - begin <= 1 || edge - begin <= begin / 8 + (i == last));
		begin = edge;
	}
	assert_int_equal(begin, INT64_MAX);
	assert_int_equal(spread_edge_ns(SPREAD_BUCKETS - 1), INT64_MAX);
	assert_int_equal(spread_bucket(-1), 0);
	assert_int_equal(spread_bucket(INT64_MIN), 0);
}

static void an_empty_one_has_no_quantile_and_no_mean(void **state)
{
	static struct spread spread;

	(void)state;
	assert_int_equal(spread_quantile_ns(&spread, 0.5), 0);
	assert_int_equal(spread_mean_ns(&spread), 0);
}

static void quantiles_are_edges_and_no_more_than_the_maximum(void **state)
{
	static struct spread spread;

	(void)state;
	for (int64_t ns = 1; ns <= 1000; ns++)
		spread_add(&spread, ns * 1000);
	assert_int_equal(spread.count, 1000);
	assert_int_equal(spread_mean_ns(&spread), 500500);
	for (int percent = 1; percent <= 100; percent++) {
		int64_t exact = (int64_t)percent * 10000;
		int64_t quantile = spread_quantile_ns(&spread, percent / 100.);

		assert_true(quantile >= exact);
		assert_true(quantile <= exact + exact / 8 + 1);
	}
	assert_int_equal(spread_quantile_ns(&spread, 1), 1000000);
	assert_true(spread_quantile_ns(&spread, 0) <= 1125);
}

static void one_duration_is_all_its_quantiles(void **state)
{
	static struct spread spread;

	(void)state;
	spread_add(&spread, 12345);
	assert_int_equal(spread_quantile_ns(&spread, 0), 12345);
	assert_int_equal(spread_quantile_ns(&spread, 0.999), 12345);
	spread_add(&spread, -5);
	assert_int_equal(spread_quantile_ns(&spread, 0.5), 1);
	assert_int_equal(spread.sum_ns, 12345);
	assert_int_equal(spread.max_ns, 12345);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_follow_each_other_and_are_an_eighth_wide_at_most),
		cmocka_unit_test(an_empty_one_has_no_quantile_and_no_mean),
		cmocka_unit_test(quantiles_are_edges_and_no_more_than_the_maximum),
		cmocka_unit_test(one_duration_is_all_its_quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
