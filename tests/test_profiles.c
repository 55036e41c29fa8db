/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profiles.c - the disks of the early recorders, in virtual time: when they overflow, and what is said of them
 *                   before they do
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/virtual_disk.h"
#include "tools/qualify/judge.h"

#define MB 1e6
#define GIB (1024. * 1024 * 1024)
#define LUMP 144000. /* what a driver of that time hands on at once */
#define NEVER INFINITY

struct profile {
	const char *name;
	double disk_mbps, source_mbps;
};

static const struct profile carries[] = {
	{ "fw", 178.15, 128 },     { "fw by time", 204.71, 128 }, { "usbA", 228.21, 128 },
	{ "md2hdd", 369.38, 256 }, { "md2sticks", 240, 128 },
};

static const struct profile falls_short[] = {
	{ "stick1", 62.55, 64 },    { "stick1", 62.55, 128 },      { "stick1", 62.55, 256 },
	{ "fw", 178.15, 256 },      { "fw by time", 204.71, 256 }, { "usbA", 228.21, 256 },
	{ "usbA", 228.21, 266.67 }, { "usbB", 234.20, 256 },       { "md2hdd", 369.38, 512 },
};

static const double rings[] = { 8 * MB, 64 * MB, 144 * MB, GIB, 16 * GIB };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct judgement judgement;

static struct virtual_setup setup_of(const struct virtual_disk *disk, double source_mbps,
				     double ring, double duration_s)
{
	return (struct virtual_setup){
		.disks = disk,
		.disk_count = 1,
		.rate_bps = source_mbps * 1e6,
		.ring_bytes = ring,
		.block_bytes = ring <= GIB ? 65536 : 131072,
		.depth = 4,
		.duration_s = duration_s,
	};
}

static bool has_reason(const char *code, enum verdict weight)
{
	for (unsigned i = 0; i < judgement.reason_count; i++)
		if (strcmp(judgement.reasons[i].code, code) == 0 && judgement.reasons[i].weight == weight)
			return true;
	return false;
}

static void show(void)
{
	print_message("%s\n", judgement.headline);
	for (unsigned i = 0; i < judgement.reason_count; i++)
		print_message("  %s %s: %s; %s\n", verdict_name(judgement.reasons[i].weight),
			      judgement.reasons[i].code, judgement.reasons[i].text,
			      judgement.reasons[i].advice);
}

static void record(struct trial *trial, const struct virtual_setup *setup, double horizon_s)
{
	virtual_trial_make(trial, setup, horizon_s);
	virtual_record(&trial->paced, setup, PHASE_PACED);
}

static void judge_it(const struct virtual_setup *setup, double horizon_s)
{
	struct trial trial;

	record(&trial, setup, horizon_s);
	assert_int_equal(judge(&trial, &judgement), 0);
	virtual_trial_free(&trial);
}

static void disks_that_are_too_slow_overflow_when_they_must(void **state)
{
	(void)state;
	for (size_t p = 0; p < COUNT(falls_short); p++)
		for (size_t r = 0; r < COUNT(rings); r++) {
			const struct profile *profile = &falls_short[p];
			struct virtual_disk disk = { .rate_bps = profile->disk_mbps * 1e6 };
			double deficit = (profile->source_mbps - profile->disk_mbps) * 1e6 / 8;
			struct virtual_setup setup = setup_of(&disk, profile->source_mbps, rings[r],
							      rings[r] / deficit * 1.01 + 1);
			double whole = floor(setup.ring_bytes / setup.block_bytes) * setup.block_bytes,
			       due_s = whole / deficit, first_s;
			struct trial trial;

			record(&trial, &setup, 3600);
			first_s = (double)trial.paced.first_overflow_ns / 1e9;
			if (fabs(first_s - due_s) > (LUMP + setup.block_bytes) / deficit)
				fail_msg("%s at %.2f with %.0f bytes: %f s, not %f", profile->name,
					 profile->source_mbps, rings[r], first_s, due_s);
			virtual_trial_free(&trial);
		}
}

static void disks_that_are_too_slow_fail_before_they_overflow(void **state)
{
	(void)state;
	for (size_t p = 0; p < COUNT(falls_short); p++)
		for (size_t r = 0; r < COUNT(rings); r++) {
			const struct profile *profile = &falls_short[p];
			struct virtual_disk disk = { .rate_bps = profile->disk_mbps * 1e6 };
			struct virtual_setup setup =
				setup_of(&disk, profile->source_mbps, rings[r], 60);

			judge_it(&setup, 3600);
			if (judgement.result != VERDICT_FAIL || !has_reason("RHO", VERDICT_FAIL)) {
				show();
				fail_msg("%s at %.2f with %.0f bytes: %s", profile->name,
					 profile->source_mbps, rings[r], judgement.headline);
			}
		}
}

static void disks_that_are_fast_enough_pass_with_every_ring(void **state)
{
	(void)state;
	for (size_t p = 0; p < COUNT(carries); p++)
		for (size_t r = 0; r < COUNT(rings); r++) {
			const struct profile *profile = &carries[p];
			struct virtual_disk disk = { .rate_bps = profile->disk_mbps * 1e6 };
			struct virtual_setup setup =
				setup_of(&disk, profile->source_mbps, rings[r], 300);

			judge_it(&setup, 3600);
			assert_true(fabs(judgement.capability_bps / disk.rate_bps - 1) < 0.01);
			if (judgement.result != VERDICT_PASS) {
				show();
				fail_msg("%s at %.2f with %.0f bytes: %s", profile->name,
					 profile->source_mbps, rings[r], judgement.headline);
			}
		}
}

/* 309 s are needed to fill the ring: in 300 s nothing is lost, and still the disk does not carry it. */
static void a_deficit_that_the_ring_hides_is_found(void **state)
{
	struct virtual_disk disk = { .rate_bps = 228.21e6 };
	struct virtual_setup setup = setup_of(&disk, 256, GIB, 300);

	(void)state;
	judge_it(&setup, 3600);
	assert_false(has_reason("OVERFLOW", VERDICT_FAIL));
	assert_true(has_reason("DEFICIT", VERDICT_FAIL));
	assert_true(has_reason("RHO", VERDICT_FAIL));
	assert_int_equal(judgement.result, VERDICT_FAIL);
	assert_true(fabs(judgement.full_in_s - 309) < 2);
	assert_true(fabs(judgement.slope_bps - 27.79e6) < 0.3e6);
	assert_true(isinf(judgement.ring_needed_bytes));
}

/* Two sticks: 240 Mbit/s, and once 1.268 s of nothing: 20.3 MB at 128 Mbit/s. */
static void a_stall_overflows_a_ring_that_is_shorter(void **state)
{
	struct virtual_disk disk = { .rate_bps = 240e6, .stall_s = 1.268, .stall_at_s = 60 };
	struct virtual_setup setup = setup_of(&disk, 128, 16 * MB, 150);

	(void)state;
	judge_it(&setup, 150);
	assert_true(has_reason("OVERFLOW", VERDICT_FAIL));

	setup = setup_of(&disk, 128, 24 * MB, 150);
	judge_it(&setup, 150);
	assert_false(has_reason("OVERFLOW", VERDICT_FAIL));
	assert_true(fabs(judgement.q_bytes - 20.3 * MB) < LUMP + setup.block_bytes);
	assert_true(has_reason("RING", VERDICT_FAIL)); /* a sixth more is too little */

	setup = setup_of(&disk, 128, 144 * MB, 150);
	judge_it(&setup, 150);
	assert_int_equal(judgement.result, VERDICT_PASS);
	assert_int_equal(judgement.stalls.count, 1);
	assert_true(fabs(judgement.stalls.worst_s - 1.268) < 0.2);
}

/* 330 Mbit/s, and every 50 s 5.2 s of nothing: 166.7 MB at 256 Mbit/s. */
static void stalls_that_come_again_overflow_each_time(void **state)
{
	struct virtual_disk disk = {
		.rate_bps = 330e6, .stall_s = 5.2, .stall_at_s = 30, .stall_every_s = 50
	};
	static const double short_rings[] = { 144 * MB, 160 * MB };
	struct virtual_setup setup;

	(void)state;
	for (size_t i = 0; i < COUNT(short_rings); i++) {
		setup = setup_of(&disk, 256, short_rings[i], 240);
		judge_it(&setup, 3600);
		assert_true(has_reason("OVERFLOW", VERDICT_FAIL));
	}
	setup = setup_of(&disk, 256, 192 * MB, 240);
	judge_it(&setup, 3600);
	assert_false(has_reason("OVERFLOW", VERDICT_FAIL));
	assert_true(fabs(judgement.q_bytes - 166.7 * MB) < LUMP + setup.block_bytes);
	assert_true(has_reason("RING", VERDICT_FAIL));

	/* a ring that is long enough: what is left is that the disk works nearly all the time */
	setup = setup_of(&disk, 256, 16 * GIB, 240);
	judge_it(&setup, 3600);
	assert_int_equal(judgement.result, VERDICT_MARGINAL);
	assert_true(has_reason("RHO", VERDICT_MARGINAL));
	assert_int_equal(judgement.stalls.count, 5);
	assert_true(fabs(judgement.rho - (256. / 330 + 5.2 / 50)) < 0.02);
	assert_true(fabs(judgement.stalls.mean_interval_s - 50) < 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disks_that_are_too_slow_overflow_when_they_must),
		cmocka_unit_test(disks_that_are_too_slow_fail_before_they_overflow),
		cmocka_unit_test(disks_that_are_fast_enough_pass_with_every_ring),
		cmocka_unit_test(a_deficit_that_the_ring_hides_is_found),
		cmocka_unit_test(a_stall_overflows_a_ring_that_is_shorter),
		cmocka_unit_test(stalls_that_come_again_overflow_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
