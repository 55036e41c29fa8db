/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_capability.c - what a disk can do, seen while it is asked for little; and where that falls
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/virtual_disk.h"
#include "tools/qualify/capability.h"
#include "tools/qualify/cliffs.h"
#include "tools/qualify/service.h"
#include "tools/qualify/statistics.h"

#define MIB 1048576.
#define NS INT64_C(1000000000)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void quantiles_and_trends(void **state)
{
	double values[] = { 5, 1, 4, 2, 3 };
	double x[20], y[20], slope;

	(void)state;
	assert_true(statistics_quantile(values, 5, 0.5) == 3);
	assert_true(statistics_quantile(values, 5, 0) == 1);
	assert_true(statistics_quantile(values, 5, 1) == 5);
	assert_true(fabs(statistics_quantile(values, 5, 0.125) - 1.5) < 1e-9);
	assert_true(statistics_quantile(values, 0, 0.5) == 0);
	for (int i = 0; i < 20; i++) {
		x[i] = i;
		y[i] = 3 * i + 7;
	}
	y[4] = 1e9;
	y[15] = -1e9;
	y[19] = 1e12;
	assert_int_equal(statistics_trend(x, y, 20, &slope), 0);
	assert_true(fabs(slope - 3) < 0.2);
	assert_int_equal(statistics_trend(x, y, 2, &slope), 0);
	assert_true(slope == 0);
}

static void overlapping_writes_share_the_disks_time(void **state)
{
	/* A waits behind B, which was submitted later and came back first; C has the disk for itself, later */
	static const struct trace_write writes[] = {
		{ .started_ns = 101, .ended_ns = 105, .bytes = 10 },
		{ .started_ns = 100, .ended_ns = 110, .bytes = 10 },
		{ .started_ns = 120, .ended_ns = 125, .bytes = 10 },
	};
	struct services services;
	struct trace *trace;

	(void)state;
	assert_int_equal(trace_create(&trace, 3), 0);
	for (size_t i = 0; i < COUNT(writes); i++)
		trace_add(trace, &writes[i]);
	assert_int_equal(services_make(&services, trace, 100), 0);
	assert_int_equal(services.count, 3);
	assert_int_equal(services.items[0].from_ns, 0);
	assert_int_equal(services.items[0].to_ns, 5);
	assert_int_equal(services.items[1].from_ns, 5);
	assert_int_equal(services.items[1].to_ns, 10);
	assert_int_equal(services.items[1].waited_ns, 10);
	assert_int_equal(services.items[2].from_ns, 20);
	assert_int_equal(service_ns(&services.items[2]), 5);
	services_free(&services);
	assert_int_equal(services_make(&services, NULL, 0), 0);
	assert_int_equal(services.count, 0);
	trace_free(trace);
}

/* Median capability of one virtual disk in a run. */
static double measure(const struct virtual_setup *setup, struct capability *capability)
{
	struct trial_run run = { 0 };
	struct services services;
	double median_bps;

	virtual_record(&run, setup, PHASE_PACED);
	assert_int_equal(services_make(&services, run.parts[0].trace, run.start_ns), 0);
	assert_int_equal(capability_measure(capability, &services, run.duration_ns,
					    capability_window_ns(run.duration_ns, run.block_bytes,
								 setup->rate_bps)),
			 0);
	median_bps = capability->median_bps;
	services_free(&services);
	trial_run_free(&run);
	return median_bps;
}

static void the_rate_asked_for_and_the_depth_do_not_matter(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 400e6 };
	static const double rates[] = { 8e6, 64e6, 256e6, 390e6, 600e6, 0 };
	struct virtual_setup setup = { .disks = &disk,
				       .disk_count = 1,
				       .ring_bytes = 64 * MIB,
				       .block_bytes = MIB,
				       .duration_s = 60 };
	struct capability capability;

	(void)state;
	for (size_t i = 0; i < COUNT(rates); i++)
		for (setup.depth = 1; setup.depth <= 16; setup.depth *= 4) {
			setup.rate_bps = rates[i];
			assert_true(fabs(measure(&setup, &capability) / 400e6 - 1) < 0.01);
			assert_true(fabs(capability.low_bps / 400e6 - 1) < 0.02);
			capability_free(&capability);
		}
}

static void windows_fit_the_run(void **state)
{
	(void)state;
	assert_int_equal(capability_window_ns(720 * NS, 1048576, 256e6), 10 * NS);
	assert_int_equal(capability_window_ns(20 * NS, 1048576, 256e6), NS);
	assert_int_equal(capability_window_ns(100 * NS, 1048576, 256e6), 5 * NS);
	/* 8 blocks of 4 MiB at 64 Mbit/s */
	assert_in_range(capability_window_ns(20 * NS, 4194304, 64e6), 4 * NS, 5 * NS);
}

static void disks_together_add_up_or_wait_for_the_slowest(void **state)
{
	struct capability_window fast[] = { { 0, 0, 300e6 }, { 10, 1e9, 300e6 } },
				 slow[] = { { 0, 0, 100e6 }, { 10, 1e9, 50e6 } };
	struct capability disks[] = { { .windows = fast, .count = 2, .window_s = 10 },
				      { .windows = slow, .count = 2, .window_s = 10 } };
	struct capability all;

	(void)state;
	assert_int_equal(capability_join(&all, disks, 2, STRIPE_ANY), 0);
	assert_true(all.windows[0].rate_bps == 400e6 && all.windows[1].rate_bps == 350e6);
	assert_true(all.windows[1].at_bytes == 2e9);
	capability_free(&all);
	assert_int_equal(capability_join(&all, disks, 2, STRIPE_ROUND), 0);
	assert_true(all.windows[0].rate_bps == 200e6 && all.windows[1].rate_bps == 100e6);
	capability_free(&all);
}

/* What happened beside the fall: windows that came out slower, up to the named one; the disk was hot from then on. */
struct besides {
	size_t slow_from, slow_to;
	double hot_from_s;
};

static const struct besides nothing_else = { .hot_from_s = INFINITY };

/* The first cliff of a run of a virtual disk; its number is in @judgement. */
static void look_for_cliffs(const struct virtual_setup *setup, struct judgement *judgement,
			    const struct besides *besides)
{
	struct trial_environment environment = { .is_rotational = setup->disks[0].zone_bytes > 0,
						 .temperature_limit_c = 80 };
	struct trial_run run = { 0 };
	struct services services;
	struct stalls stalls = { 0 };
	struct capability capability;
	struct cliff_view view = { .run = &run,
				   .environment = &environment,
				   .services = &services,
				   .capability = &capability,
				   .stalls = &stalls };

	memset(judgement, 0, sizeof(*judgement));
	virtual_record(&run, setup, PHASE_FULL);
	for (size_t i = 0; i < run.series.count; i++)
		run.series.samples[i].temperature_c =
			(double)run.series.samples[i].at_ns / 1e9 < besides->hot_from_s ? 45 : 78;
	assert_int_equal(services_make(&services, run.parts[0].trace, run.start_ns), 0);
	assert_int_equal(stalls_find(&stalls, &services, 0, 0), 0);
	assert_int_equal(capability_measure(&capability, &services, run.duration_ns,
					    capability_window_ns(run.duration_ns, run.block_bytes,
								 setup->rate_bps)),
			 0);
	for (size_t w = besides->slow_from; w < besides->slow_to; w++)
		capability.windows[w].rate_bps *= 0.4;
	assert_int_equal(cliffs_find(&view, judgement), 0);
	services_free(&services);
	capability_free(&capability);
	stalls_free(&stalls);
	trial_run_free(&run);
}

static void a_cliff_is_found_at_its_second(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 64 * 8 * MIB,
						  .cliff_bps = 8 * 8 * MIB,
						  .cliff_s = 5 };
	struct virtual_setup setup = { .disks = &disk,
				       .disk_count = 1,
				       .ring_bytes = 256 * MIB,
				       .block_bytes = MIB,
				       .depth = 4,
				       .duration_s = 20 };
	static const double rates[] = { 0, 128e6 };
	static struct judgement judgement;

	(void)state;
	for (size_t i = 0; i < COUNT(rates); i++) {
		setup.rate_bps = rates[i];
		look_for_cliffs(&setup, &judgement, &nothing_else);
		assert_int_equal(judgement.cliff_count, 1);
		assert_string_equal(judgement.cliffs[0].code, "SLC_CACHE");
		assert_true(fabs(judgement.cliffs[0].at_s - 5) < 0.3);
		assert_true(fabs(judgement.cliffs[0].before_bps / disk.rate_bps - 1) < 0.05);
		assert_true(fabs(judgement.cliffs[0].after_bps / disk.cliff_bps - 1) < 0.05);
		assert_false(judgement.cliffs[0].has_recovered);
	}
	/* in the first run it was after 320 MiB */
	setup.rate_bps = 0;
	look_for_cliffs(&setup, &judgement, &nothing_else);
	assert_true(fabs(judgement.cliffs[0].at_bytes / (320 * MIB) - 1) < 0.05);
	/* somebody else was there for a second, two seconds before */
	setup.rate_bps = 128e6;
	look_for_cliffs(&setup, &judgement,
			&(struct besides){ .slow_from = 3, .slow_to = 4, .hot_from_s = INFINITY });
	assert_int_equal(judgement.cliff_count, 1);
	assert_true(fabs(judgement.cliffs[0].at_s - 5) < 0.3);
	/* the same while the disk is hot */
	look_for_cliffs(&setup, &judgement, &(struct besides){ .hot_from_s = 4 });
	assert_string_equal(judgement.cliffs[0].code, "THERMAL");
}

static void a_cache_is_known_by_the_bytes_it_took(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 4e9,
						  .cliff_bps = 800e6,
						  .cliff_bytes = 40e9 };
	struct virtual_setup setup = { .disks = &disk,
				       .disk_count = 1,
				       .ring_bytes = 256 * MIB,
				       .block_bytes = 4 * MIB,
				       .depth = 4,
				       .duration_s = 200 };
	static struct judgement judgement;

	(void)state;
	look_for_cliffs(&setup, &judgement, &nothing_else);
	assert_int_equal(judgement.cliff_count, 1);
	assert_true(fabs(judgement.cliffs[0].at_bytes / 40e9 - 1) < 0.01);
	assert_true(fabs(judgement.cliffs[0].at_s - 80) < 1);
}

static void slow_zones_are_no_cliff(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 1e9,
						  .zone_bytes = 200e9,
						  .inner_ratio = 0.5 };
	static const struct virtual_disk steady = { .rate_bps = 1e9 };
	struct virtual_setup setup = { .disks = &disk,
				       .disk_count = 1,
				       .ring_bytes = 256 * MIB,
				       .block_bytes = 4 * MIB,
				       .depth = 4,
				       .duration_s = 600 };
	static struct judgement judgement;

	(void)state;
	look_for_cliffs(&setup, &judgement, &nothing_else);
	assert_int_equal(judgement.cliff_count, 1);
	assert_string_equal(judgement.cliffs[0].code, "ZONE");
	assert_true(judgement.cliffs[0].after_bps < 0.9 * judgement.cliffs[0].before_bps);
	setup.disks = &steady;
	look_for_cliffs(&setup, &judgement, &nothing_else);
	assert_int_equal(judgement.cliff_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_and_trends),
		cmocka_unit_test(overlapping_writes_share_the_disks_time),
		cmocka_unit_test(the_rate_asked_for_and_the_depth_do_not_matter),
		cmocka_unit_test(windows_fit_the_run),
		cmocka_unit_test(disks_together_add_up_or_wait_for_the_slowest),
		cmocka_unit_test(a_cliff_is_found_at_its_second),
		cmocka_unit_test(a_cache_is_known_by_the_bytes_it_took),
		cmocka_unit_test(slow_zones_are_no_cliff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
