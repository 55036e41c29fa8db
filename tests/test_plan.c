/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tools/qualify/plan.h"

#define SECOND UNITS_NS_PER_S
#define GB UINT64_C(1000000000)
#define BIT(phase) (1U << (phase))

static struct trial_asked asked;
static struct plan_disk disks[TARGET_MAX];
static struct plan_wanted wanted;
static struct plan plan;

static int setup(void **state)
{
	(void)state;
	asked = (struct trial_asked){ .rate_bps = 256000000, .use_direct = true, .length = TRIAL_NORMAL };
	for (unsigned i = 0; i < TARGET_MAX; i++)
		disks[i] = (struct plan_disk){ .path = "/disk",
					       .free_bytes = 101 * GB,
					       .room_bytes = 100 * GB,
					       .file_most = UINT64_MAX };
	wanted = (struct plan_wanted){
		.asked = &asked, .paced_count = 1, .disks = disks, .disk_count = 1
	};
	return 0;
}

static void make(void)
{
	if (plan_make(&plan, &wanted) < 0)
		fail_msg("%s", plan.error);
}

static unsigned count_of(enum trial_phase phase)
{
	unsigned count = 0;

	for (unsigned i = 0; i < plan.count; i++)
		count += plan.steps[i].phase == phase;
	return count;
}

static const struct plan_step *step_of(enum trial_phase phase)
{
	for (unsigned i = 0; i < plan.count; i++)
		if (plan.steps[i].phase == phase)
			return &plan.steps[i];
	fail_msg("there is no step %s", trial_phase_name(phase));
	return NULL;
}

static void assert_between_s(int64_t ns, int64_t least_s, int64_t most_s)
{
	assert_in_range(ns, least_s * SECOND, most_s * SECOND);
}

static void one_disk_takes_as_long_as_is_promised(void **state)
{
	(void)state;
	make();
	assert_between_s(plan.total_ns, 11 * 60, 13 * 60);
	asked.length = TRIAL_QUICK;
	make();
	assert_between_s(plan.total_ns, 75, 95);
	assert_true(step_of(PHASE_PACED)->duration_ns >= 60 * SECOND); /* less is no evidence */
	asked.length = TRIAL_SOAK;
	asked.paced_ns = 8 * 3600 * SECOND;
	make();
	assert_int_equal(step_of(PHASE_PACED)->duration_ns, 8 * 3600 * SECOND);
	assert_between_s(plan.total_ns, 8 * 3600 + 120, 8 * 3600 + 360);
}

static void phases_come_in_their_order(void **state)
{
	(void)state;
	wanted.disk_count = 3;
	wanted.paced_count = 2;
	asked.source = "sim:";
	asked.has_interference = true;
	make();
	for (unsigned i = 1; i < plan.count; i++)
		assert_true(plan.steps[i].phase >= plan.steps[i - 1].phase);
	assert_int_equal(plan.steps[0].phase, PHASE_IDENTIFY);
	assert_int_equal(plan.steps[plan.count - 1].phase, PHASE_VERDICT);
	assert_string_equal(plan.left_out, "");
}

static void several_disks_are_tried_each_alone_and_all_together(void **state)
{
	(void)state;
	make();
	assert_int_equal(count_of(PHASE_ALONE), 0);
	assert_int_equal(count_of(PHASE_TOGETHER), 0);
	assert_string_equal(plan.left_out, ""); /* nobody misses it */
	wanted.disk_count = 3;
	make();
	assert_int_equal(count_of(PHASE_ALONE), 3);
	assert_int_equal(count_of(PHASE_TOGETHER), 1);
	assert_int_equal(count_of(PHASE_BLOCKS), 3);
	assert_int_equal(step_of(PHASE_TOGETHER)->disk, -1);
	assert_between_s(plan.total_ns, 11 * 60, 14 * 60);
}

static void with_more_disks_each_gets_less_but_never_too_little(void **state)
{
	(void)state;
	asked.length = TRIAL_QUICK;
	wanted.disk_count = TARGET_MAX;
	make();
	assert_true(step_of(PHASE_FULL)->duration_ns >= 3 * SECOND);
	assert_int_equal(count_of(PHASE_FULL), TARGET_MAX);
	assert_int_equal(plan.steps[plan.count - 1].phase, PHASE_VERDICT); /* all found a place */
}

static void only_what_is_asked_for_and_what_it_needs_runs(void **state)
{
	(void)state;
	wanted.only = BIT(PHASE_BLOCKS);
	make();
	assert_int_equal(count_of(PHASE_BLOCKS), 1);
	assert_int_equal(count_of(PHASE_FULL) + count_of(PHASE_PACED) + count_of(PHASE_REPLAY), 0);
	assert_int_equal(count_of(PHASE_IDENTIFY), 1);
	assert_int_equal(count_of(PHASE_VERDICT), 1);
	assert_non_null(strstr(plan.left_out, "paced"));
	wanted.only = BIT(PHASE_READ_BACK);
	make();
	assert_int_equal(count_of(PHASE_PACED), 1);
	assert_int_equal(count_of(PHASE_FULL), 0);
	asked.is_rate_auto = true; /* the rate is found from the full run */
	make();
	assert_int_equal(count_of(PHASE_FULL), 1);
	wanted.disk_count = 2;
	wanted.only = BIT(PHASE_TOGETHER);
	make();
	assert_int_equal(count_of(PHASE_ALONE), 2);
}

static void what_does_not_apply_is_left_out_and_told(void **state)
{
	(void)state;
	wanted.only = BIT(PHASE_PACED) | BIT(PHASE_TOGETHER);
	make();
	assert_int_equal(count_of(PHASE_PACED), 1);
	assert_non_null(strstr(plan.left_out, "together (there is one disk)"));
	wanted.only = BIT(PHASE_TOGETHER);
	assert_int_equal(plan_make(&plan, &wanted), -EINVAL);
	assert_non_null(strstr(plan.error, "together (there is one disk)"));
}

static void a_device_is_only_read(void **state)
{
	(void)state;
	disks[0] =
		(struct plan_disk){ .path = "/dev/sdx", .device_bytes = 500 * GB, .is_device = true };
	make();
	for (unsigned i = 0; i < plan.count; i++)
		assert_int_equal(plan.steps[i].room_bytes, 0);
	assert_int_equal(count_of(PHASE_READ), 1);
	assert_int_equal(count_of(PHASE_PACED), 0);
	assert_int_equal(count_of(PHASE_READ_BACK), 0);
	assert_non_null(strstr(plan.left_out, "paced"));
	disks[0].room_bytes = 500 * GB; /* --destroy */
	make();
	assert_int_equal(count_of(PHASE_PACED), 1);
	assert_int_equal(count_of(PHASE_BLOCKS), 0); /* which makes files */
	assert_int_equal(step_of(PHASE_FULL)->room_bytes, 500 * GB);
}

static void a_full_disk_is_refused_with_its_numbers(void **state)
{
	(void)state;
	disks[0].free_bytes = 5000000;
	disks[0].room_bytes = 4000000;
	assert_int_equal(plan_make(&plan, &wanted), -ENOSPC);
	assert_non_null(strstr(plan.error, "/disk has 5"));
	assert_non_null(strstr(plan.error, "16 MiB"));
}

static void what_is_compared_with_the_paced_run_needs_it(void **state)
{
	(void)state;
	asked.has_interference = true;
	wanted.only = 1U << PHASE_INTERFERE;
	make();
	assert_non_null(step_of(PHASE_PACED));
	assert_non_null(step_of(PHASE_INTERFERE));
	assert_int_equal(plan_paced_ns(&plan), step_of(PHASE_PACED)->duration_ns);
}

static void a_limit_of_files_is_told_from_a_full_disk(void **state)
{
	(void)state;
	disks[0].file_most = UINT64_C(1) << 20;
	assert_int_equal(plan_make(&plan, &wanted), -ENOSPC);
	assert_non_null(strstr(plan.error, "no file may have more than 1 MiB (see ulimit -f)"));
}

static void rates_are_tried_downwards_upwards_and_between(void **state)
{
	(void)state;
	assert_int_equal(plan_next_rate(0, 0, 123456789), 120000000); /* first what is foretold */
	assert_int_equal(plan_next_rate(0, 0, 0), 0);
	assert_int_equal(plan_next_rate(0, 100000000, 300000000), 80000000);
	assert_int_equal(plan_next_rate(0, 100000000, 50000000), 50000000);
	assert_int_equal(plan_next_rate(100000000, 0, 150000000), 150000000);
	assert_int_equal(plan_next_rate(100000000, 0, 1000000000), 200000000);
	assert_int_equal(plan_next_rate(100000000, 0, 105000000), 0); /* not worth a run */
	assert_int_equal(plan_next_rate(100000000, 200000000, 150000000), 140000000);
	assert_int_equal(plan_next_rate(100000000, 120000000, 0), 0);
}

static void the_smallest_disk_limits_what_all_take_together(void **state)
{
	(void)state;
	wanted.disk_count = 2;
	disks[1].room_bytes = 3 * GB;
	make();
	assert_int_equal(step_of(PHASE_PACED)->room_bytes, 3 * GB);
	assert_int_equal(step_of(PHASE_FULL)->room_bytes, 100 * GB);
}

static void a_whole_disk_is_written_without_a_limit_of_time(void **state)
{
	(void)state;
	asked.length = TRIAL_WHOLE_DISK;
	make();
	assert_int_equal(step_of(PHASE_FULL)->duration_ns, INT64_MAX);
	assert_between_s(step_of(PHASE_FULL)->expected_ns, 3125, 3125); /* 100 GB at 32 MB/s */
	assert_int_equal(step_of(PHASE_READ_BACK)->duration_ns, INT64_MAX);
	assert_between_s(plan.total_ns, 6250 + 480, 6250 + 700);
	/* and read again before anything else needs the room */
	assert_int_equal(step_of(PHASE_FULL)[1].phase, PHASE_READ_BACK);
	assert_int_equal(count_of(PHASE_READ_BACK), 1);
	wanted.only = BIT(PHASE_FULL) | BIT(PHASE_READ_BACK);
	make();
	assert_int_equal(count_of(PHASE_PACED), 0);
	assert_int_equal(count_of(PHASE_READ_BACK), 1);
}

static void the_source_runs_no_longer_than_the_run_it_is_compared_with(void **state)
{
	(void)state;
	asked.source = "sim:";
	asked.paced_ns = 2 * SECOND;
	make();
	assert_int_equal(step_of(PHASE_SOURCE)->duration_ns, 2 * SECOND);
}

static void the_time_left_shrinks_to_nothing(void **state)
{
	(void)state;
	make();
	assert_int_equal(plan_left_ns(&plan, 0, 0), plan.total_ns);
	assert_int_equal(plan_left_ns(&plan, plan.count, 0), 0);
	for (unsigned i = 0; i < plan.count; i++) {
		assert_int_equal(plan_left_ns(&plan, i, 1), plan_left_ns(&plan, i + 1, 0));
		assert_true(plan_left_ns(&plan, i, 7.0) >= 0);
	}
}

static void rates_are_rounded_down_to_two_digits(void **state)
{
	(void)state;
	assert_int_equal(plan_rate_below(1234567890), 1200000000);
	assert_int_equal(plan_rate_below(99.9), 99);
	assert_int_equal(plan_rate_below(256e6), 250000000);
	assert_int_equal(plan_rate_below(9.5), 9);
	assert_int_equal(plan_rate_below(0), 0);
	assert_int_equal(plan_rate_below(-5), 0);
}

static void the_user_is_told_what_is_about_to_be_written(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&text, &len);

	(void)state;
	wanted.disk_count = 2;
	disks[1] = (struct plan_disk){ .path = "/dev/sdx", .room_bytes = 500 * GB, .is_device = true };
	make();
	plan_describe(stream, &plan, &wanted);
	fclose(stream);
	assert_non_null(strstr(text, "it takes about"));
	assert_non_null(strstr(text, "/disk: files without a name take at most 100 GB"));
	assert_non_null(strstr(text, "ALL DATA on /dev/sdx are lost"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_disk_takes_as_long_as_is_promised, setup),
		cmocka_unit_test_setup(phases_come_in_their_order, setup),
		cmocka_unit_test_setup(several_disks_are_tried_each_alone_and_all_together, setup),
		cmocka_unit_test_setup(with_more_disks_each_gets_less_but_never_too_little, setup),
		cmocka_unit_test_setup(only_what_is_asked_for_and_what_it_needs_runs, setup),
		cmocka_unit_test_setup(what_does_not_apply_is_left_out_and_told, setup),
		cmocka_unit_test_setup(a_device_is_only_read, setup),
		cmocka_unit_test_setup(a_full_disk_is_refused_with_its_numbers, setup),
		cmocka_unit_test_setup(rates_are_tried_downwards_upwards_and_between, setup),
		cmocka_unit_test_setup(a_limit_of_files_is_told_from_a_full_disk, setup),
		cmocka_unit_test_setup(what_is_compared_with_the_paced_run_needs_it, setup),
		cmocka_unit_test_setup(the_smallest_disk_limits_what_all_take_together, setup),
		cmocka_unit_test_setup(a_whole_disk_is_written_without_a_limit_of_time, setup),
		cmocka_unit_test_setup(the_source_runs_no_longer_than_the_run_it_is_compared_with, setup),
		cmocka_unit_test_setup(the_time_left_shrinks_to_nothing, setup),
		cmocka_unit_test_setup(rates_are_rounded_down_to_two_digits, setup),
		cmocka_unit_test_setup(the_user_is_told_what_is_about_to_be_written, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
