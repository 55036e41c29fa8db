/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stalls.c - when a disk stood still, and when it only looks so
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/virtual_disk.h"
#include "tools/qualify/stalls.h"

#define MIB 1048576.
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct virtual_setup setup_of(const struct virtual_disk *disk, double rate_bps,
				     unsigned depth, double duration_s)
{
	return (struct virtual_setup){
		.disks = disk,
		.disk_count = 1,
		.rate_bps = rate_bps,
		.ring_bytes = 512 * MIB,
		.block_bytes = MIB,
		.depth = depth,
		.duration_s = duration_s,
	};
}

static void find(const struct virtual_setup *setup, double known_bps, struct judgement_stalls *sum)
{
	struct trial_run run = { 0 };
	struct services services;
	struct stalls stalls = { 0 };

	virtual_record(&run, setup, PHASE_PACED);
	assert_int_equal(services_make(&services, run.parts[0].trace, run.start_ns), 0);
	assert_int_equal(stalls_find(&stalls, &services, 0, known_bps), 0);
	stalls_sum(&stalls, &run, setup->rate_bps, sum);
	services_free(&services);
	stalls_free(&stalls);
	trial_run_free(&run);
}

/* Each of the writes in flight takes long, because it waits for the others; the disk is steady. */
static void writes_that_wait_for_each_other_are_no_stalls(void **state)
{
	static const struct virtual_disk disks[] = {
		{ .rate_bps = 8 * 8 * MIB },
		{ .rate_bps = 8 * 8 * MIB, .bunch_s = 0.1 },
		{ .rate_bps = 8 * 8 * MIB, .bunch_s = 0.3 },
		{ .rate_bps = 32 * 8 * MIB, .bunch_s = 0.1 },
		{ .rate_bps = 32 * 8 * MIB, .latency_s = 0.03 },
	};
	static const double rates[] = { 0, 50e6, 128e6 };

	(void)state;
	for (size_t i = 0; i < COUNT(disks); i++)
		for (size_t r = 0; r < COUNT(rates); r++)
			for (unsigned depth = 1; depth <= 16; depth *= 2) {
				struct virtual_setup setup = setup_of(&disks[i], rates[r], depth, 20);
				struct judgement_stalls sum;

				find(&setup, 0, &sum);
				if (sum.count)
					fail_msg("disk %zu at %.0f with %u: %zu stalls, the worst %f s",
						 i, rates[r], depth, sum.count, sum.worst_s);
				assert_true(isinf(sum.mean_interval_s));
				assert_int_equal(sum.worst_disk, -1);
			}
}

static void a_disk_that_has_become_slow_is_not_one_long_stall(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 64 * 8 * MIB,
						  .cliff_bps = 4 * 8 * MIB,
						  .cliff_s = 5 };

	(void)state;
	for (unsigned depth = 1; depth <= 16; depth *= 4) {
		struct virtual_setup setup = setup_of(&disk, 0, depth, 20);
		struct judgement_stalls sum;

		find(&setup, 0, &sum);
		assert_in_range(sum.count, 0, 2);
	}
}

static void a_stall_is_found_with_its_length_and_place(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 64 * 8 * MIB,
						  .stall_s = 3,
						  .stall_at_s = 8.5 };
	static const double rates[] = { 0, 50e6, 128e6, 400e6 };

	(void)state;
	for (size_t r = 0; r < COUNT(rates); r++)
		for (unsigned depth = 1; depth <= 16; depth *= 2) {
			struct virtual_setup setup = setup_of(&disk, rates[r], depth, 20);
			struct judgement_stalls sum;

			find(&setup, 0, &sum);
			assert_int_equal(sum.count, 1);
			assert_true(fabs(sum.worst_s - 3) < 0.2);
			assert_true(fabs(sum.worst_at_s - 8.5) < 0.2);
			assert_true(fabs(sum.ring_need_bytes - 3 * rates[r] / 8) <=
				    0.1 * 3 * rates[r] / 8);
			assert_int_equal(sum.worst_disk, 0);
		}
}

/* 3 s at 128 Mbit/s are 48 MB; the disk makes up for 51 MB/s a second: another 0.94 s */
static void a_cluster_lasts_until_the_ring_is_empty(void **state)
{
	static const struct virtual_disk disk = {
		.rate_bps = 64 * 8 * MIB, .stall_s = 3, .stall_at_s = 8, .stall_every_s = 30
	};
	struct virtual_setup setup = setup_of(&disk, 128e6, 4, 120);
	struct judgement_stalls sum;

	(void)state;
	find(&setup, 0, &sum);
	assert_int_equal(sum.count, 4);
	assert_true(fabs(sum.mean_interval_s - 30) < 0.2);
	assert_true(fabs(sum.total_s - 12) < 0.8);
	assert_true(fabs(sum.share - 0.1) < 0.01);
	assert_true(sum.longest_cluster_s > 3.1 && sum.longest_cluster_s < 4.1);
}

/* What a disk does at full speed may look like a stall beside the writes that its bucket let pass. */
static void what_is_known_of_the_disk_is_no_stall(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 2e9, .stall_s = 0.1, .stall_at_s = 10 };
	struct virtual_setup setup = setup_of(&disk, 100e6, 4, 20);
	struct judgement_stalls sum;

	(void)state;
	find(&setup, 0, &sum);
	assert_int_equal(sum.count, 1);
	find(&setup, 200e6, &sum);
	assert_int_equal(sum.count, 0);
}

static void the_survival_curve_only_falls(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 64 * 8 * MIB,
						  .stall_s = 3,
						  .stall_at_s = 8.5 };
	struct virtual_setup setup = setup_of(&disk, 128e6, 4, 20);
	static struct judgement judgement;
	struct trial_run run = { 0 };
	struct services services;

	(void)state;
	virtual_record(&run, &setup, PHASE_PACED);
	assert_int_equal(services_make(&services, run.parts[0].trace, run.start_ns), 0);
	assert_int_equal(stalls_survival(&services, 1, &judgement), 0);
	assert_true(judgement.survival_count > 20);
	assert_true(judgement.survival[0].share == 1);
	for (unsigned i = 1; i < judgement.survival_count; i++) {
		assert_true(judgement.survival[i].seconds >= judgement.survival[i - 1].seconds);
		assert_true(judgement.survival[i].share < judgement.survival[i - 1].share);
	}
	assert_true(judgement.survival[judgement.survival_count - 1].seconds > 2.9);
	services_free(&services);
	trial_run_free(&run);
	assert_int_equal(stalls_survival(&services, 1, &judgement), 0);
	assert_int_equal(judgement.survival_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_that_wait_for_each_other_are_no_stalls),
		cmocka_unit_test(a_disk_that_has_become_slow_is_not_one_long_stall),
		cmocka_unit_test(a_stall_is_found_with_its_length_and_place),
		cmocka_unit_test(a_cluster_lasts_until_the_ring_is_empty),
		cmocka_unit_test(what_is_known_of_the_disk_is_no_stall),
		cmocka_unit_test(the_survival_curve_only_falls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
