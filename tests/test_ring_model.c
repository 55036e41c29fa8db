/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_model.c - the ring's level by recursion: by hand, against the recordings of virtual disks, and at rates
 *                     that were never recorded
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/virtual_disk.h"
#include "tools/qualify/ring_model.h"

#define MIB 1048576.
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void the_recursion_by_hand(void **state)
{
	/* 1000 bytes a second in blocks of 1000; the second write takes 2.5 s, so two blocks wait behind it */
	struct service items[] = {
		{ .from_ns = 0, .to_ns = 500000000, .bytes = 1000 },
		{ .from_ns = 0, .to_ns = 2500000000, .bytes = 1000 },
		{ .from_ns = 0, .to_ns = 500000000, .bytes = 1000 },
		{ .from_ns = 0, .to_ns = 500000000, .bytes = 1000 },
		{ .from_ns = 0, .to_ns = 500000000, .bytes = 1000 },
		{ .from_ns = 0, .to_ns = 500000000, .bytes = 1000 },
	};
	struct services services = { .items = items, .count = COUNT(items) };
	struct ring_model model = { .disks = &services, .disk_count = 1 };
	struct ring_model_level level;

	(void)state;
	assert_int_equal(ring_model_replay(&model, 8000, &level), 0);
	/* it ends at 4.5 s, when one block is gone */
	assert_true(fabs(level.highest_bytes - 3500) < 1e-6);
	assert_true(fabs(level.duration_s - 6) < 1e-9);
	assert_true(level.usual_bytes >= 1500 && level.usual_bytes < 3000);
	services.count = 0;
	assert_int_equal(ring_model_replay(&model, 8000, &level), -ENODATA);
}

static void two_disks_take_turns_or_whoever_is_free(void **state)
{
	/* one disk of 1000 bytes in 0.5 s, the other in 3 s; a block each second */
	struct service fast[16], slow[16];
	struct services services[2] = { { fast, COUNT(fast) }, { slow, COUNT(slow) } };
	struct ring_model model = { .disks = services, .disk_count = 2, .stripe = STRIPE_ANY };
	struct ring_model_level any, round;

	(void)state;
	for (size_t i = 0; i < COUNT(fast); i++) {
		fast[i] = (struct service){ .to_ns = 500000000, .bytes = 1000 };
		slow[i] = (struct service){ .to_ns = 3000000000, .bytes = 1000 };
	}
	assert_int_equal(ring_model_replay(&model, 8000, &any), 0);
	model.stripe = STRIPE_ROUND;
	assert_int_equal(ring_model_replay(&model, 8000, &round), 0);
	assert_true(any.highest_bytes <= 4000);
	/* in turn the slow one gets a block each 2 s: after 32 s it is 16 s behind */
	assert_true(round.highest_bytes > 5000);
}

/* What a recording's ring came to, and what the model makes of its trace at the same rate. */
static void compare(const struct virtual_setup *setup)
{
	struct services services[2] = { 0 };
	struct ring_model model = { .disks = services,
				    .disk_count = setup->disk_count,
				    .stripe = setup->stripe };
	struct ring_model_level level;
	struct trial_run run = { 0 };
	double off;

	virtual_record(&run, setup, PHASE_PACED);
	assert_int_equal(run.overflow_bytes, 0);
	for (unsigned d = 0; d < setup->disk_count; d++)
		assert_int_equal(services_make(&services[d], run.parts[d].trace, run.start_ns), 0);
	assert_int_equal(ring_model_replay(&model, setup->rate_bps, &level), 0);
	off = fabs(level.highest_bytes - (double)run.high_water_bytes);
	if (off > 2 * setup->block_bytes + 0.02 * (double)run.high_water_bytes)
		fail_msg("%.0f bytes, not %llu", level.highest_bytes,
			 (unsigned long long)run.high_water_bytes);
	for (unsigned d = 0; d < setup->disk_count; d++)
		services_free(&services[d]);
	trial_run_free(&run);
}

static void a_replay_at_the_same_rate_gives_the_same_level(void **state)
{
	static const struct virtual_disk disks[] = {
		{ .rate_bps = 300e6 },
		{ .rate_bps = 300e6, .stall_s = 1.5, .stall_at_s = 7, .stall_every_s = 20 },
		{ .rate_bps = 300e6, .latency_s = 0.02, .stall_s = 3, .stall_at_s = 20 },
		{ .rate_bps = 300e6, .bunch_s = 0.1 },
	};
	static const struct virtual_disk pair[] = {
		{ .rate_bps = 200e6, .stall_s = 1, .stall_at_s = 9 },
		{ .rate_bps = 200e6, .stall_s = 2, .stall_at_s = 20 },
	};
	struct virtual_setup setup = { .disk_count = 1,
				       .rate_bps = 200e6,
				       .ring_bytes = 1024 * MIB,
				       .block_bytes = MIB,
				       .duration_s = 60 };

	(void)state;
	for (size_t i = 0; i < COUNT(disks); i++)
		for (setup.depth = 1; setup.depth <= 16; setup.depth *= 4) {
			setup.disks = &disks[i];
			compare(&setup);
		}
	setup.disks = pair;
	setup.disk_count = 2;
	setup.depth = 4;
	setup.stripe = STRIPE_ROUND;
	compare(&setup);
}

/* The stall that was seen at one rate fills the ring of another by that rate. */
static void other_rates_are_foretold(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 400e6, .stall_s = 2, .stall_at_s = 20 };
	static const double rates[] = { 64e6, 128e6, 300e6 };
	struct virtual_setup setup = { .disks = &disk,
				       .disk_count = 1,
				       .rate_bps = 200e6,
				       .ring_bytes = 1024 * MIB,
				       .block_bytes = MIB,
				       .depth = 4,
				       .duration_s = 60 };
	struct services services;
	struct ring_model model = { .disks = &services, .disk_count = 1 };
	struct trial_run seen = { 0 }, other = { 0 };

	(void)state;
	virtual_record(&seen, &setup, PHASE_PACED);
	assert_int_equal(services_make(&services, seen.parts[0].trace, seen.start_ns), 0);
	for (size_t i = 0; i < COUNT(rates); i++) {
		struct ring_model_level level;

		setup.rate_bps = rates[i];
		virtual_record(&other, &setup, PHASE_PACED);
		assert_int_equal(ring_model_replay(&model, rates[i], &level), 0);
		assert_true(fabs(level.highest_bytes / (double)other.high_water_bytes - 1) < 0.1);
	}
	services_free(&services);
	trial_run_free(&seen);
	trial_run_free(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_recursion_by_hand),
		cmocka_unit_test(two_disks_take_turns_or_whoever_is_free),
		cmocka_unit_test(a_replay_at_the_same_rate_gives_the_same_level),
		cmocka_unit_test(other_rates_are_foretold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
