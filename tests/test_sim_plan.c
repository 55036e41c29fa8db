/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sim_plan.c - what vsib-sim's command line means, to which destination, and what is refused with which words */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tools/replay/sim_plan.h"

#define NOW (INT64_C(1796112000) * UNITS_NS_PER_S + 250000000)
#define ARGS 16

static struct destination file = { .name = (char *)"file:x", .takes = DESTINATION_BYTES };
static struct destination fifo = { .name = (char *)"dev:x", .takes = DESTINATION_BYTES };
static struct destination udp = { .name = (char *)"udp:x:1", .takes = DESTINATION_DATAGRAMS };

/* @line: words with one blank between them. Return: the exit status. */
static int parse(struct sim_options *options, const char *line, char *error)
{
	static char text[512];
	char *argv[ARGS + 2] = { (char *)"vsib-sim" };
	int argc = 1;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok(text, " "); word && argc <= ARGS; word = strtok(NULL, " "))
		argv[argc++] = word;
	sim_options_defaults(options);
	error[0] = '\0';
	return sim_options_parse(options, argc, argv, error);
}

static struct sim_plan plan_for(const char *line, const struct destination *destination)
{
	struct sim_options options;
	struct sim_plan plan;
	char error[OPTIONS_ERROR_LEN];

	assert_int_equal(parse(&options, line, error), 0);
	assert_int_equal(sim_plan_make(&plan, &options, destination, NOW, error), 0);
	return plan;
}

static void the_command_line_is_understood(void **state)
{
	struct sim_options options;
	char error[OPTIONS_ERROR_LEN];

	(void)state;
	assert_int_equal(parse(&options,
			       "-t null: -r 512 -d 10 --loss 0.01 --reorder 0.02:8 --stall 200ms:5s",
			       error),
			 0);
	assert_int_equal(options.rate_bps, 512000000);
	assert_true(sim_options_has_faults(&options));
	assert_int_equal(options.faults.reorder_distance, 8);
	assert_int_equal(options.faults.stall_ns, 200000000);
	assert_int_equal(options.faults.stall_every_ns, 5 * UNITS_NS_PER_S);
	assert_int_equal(parse(&options, "-t null: --ppm -2.5 --loss 0 --reorder 0.5", error), 0);
	assert_true(options.ppm < -2.49 && options.ppm > -2.51);
	assert_int_equal(options.faults.reorder_distance, 1);
}

static void absurd_options_are_refused_with_a_sentence(void **state)
{
	static const char *const cases[][2] = {
		{ "", "no destination" },
		{ "-t null: -t null:", "one destination" },
		{ "-t null: rest", "behind -t" },
		{ "-t null: --loss 1.5", "out of range" },
		{ "-t null: --loss -1", "not understood" },
		{ "-t null: --loss 0.6 --duplicate 0.6", "more than all" },
		{ "-t null: --reorder 0.1:65", "out of range" },
		{ "-t null: --reorder 0.1:", "0.01:8" },
		{ "-t null: --stall 5s", "200ms:5s" },
		{ "-t null: --stall 5s:5s", "longer one" },
		{ "-t null: --ppm 1e3", "not understood" },
		{ "-t null: --ppm 200000", "out of range" },
		{ "-t null: --ppm .", "not understood" },
		{ "-t null: --channels 3", "power of two" },
		{ "-t null: --station Effelsberg", "two letters" },
		{ "-t null: --bits 33", "out of range" },
		{ "-t null: --threads 0", "out of range" },
		{ "-t null: --threads 4", "--format vdif" },
		{ "-t null: --edv 3", "--format vdif" },
		{ "-t null: --edv 2", "expected 0|1|3" },
		{ "-t null: --format codif", "raw|vdif|mark5b" },
		{ "-t null: --frame 2Mi", "out of range" },
		{ "-t null: --pace fast", "none|sleep|precise" },
		{ "-t null: --start yesterday", "2026-11-30T08:15:00Z" },
		{ "-t null: -d 0", "not understood" },
		{ "-t - --json -", "standard output" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_options options;
		char error[OPTIONS_ERROR_LEN];

		assert_int_equal(parse(&options, cases[i][0], error), EX_USAGE);
		if (!strstr(error, cases[i][1]))
			fail_msg("%s: '%s' does not say '%s'", cases[i][0], error, cases[i][1]);
	}
}

static void plans_that_do_not_fit_the_destination_are_refused(void **state)
{
	static struct destination framed = { .name = (char *)"udp:x:1,frame=8032",
					     .takes = DESTINATION_DATAGRAMS,
					     .frame_bytes = 8032 };
	static const struct {
		const char *line;
		const struct destination *destination;
		const char *sentence;
	} cases[] = {
		{ "-t x --format vdif", &udp, "need a rate" },
		{ "-t x --format vdif -r 512.3", &udp, "512.256 or 512.32" },
		{ "-t x --frame 5032 --format vdif -r 512", &framed, "differ" },
		{ "-t x --pace precise", &udp, "needs a rate" },
		{ "-t x --ppm 3", &udp, "need a pace" },
		{ "-t x -r 512 --jitter 1ms", &file, "--pace sleep" },
		{ "-t x -r 512 -n 7999", &udp, "less than one frame" },
		{ "-t x --format mark5b -r 80k --frame 5008", &file, "10016" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_options options;
		struct sim_plan plan;
		char error[OPTIONS_ERROR_LEN];

		assert_int_equal(parse(&options, cases[i].line, error), 0);
		assert_int_equal(sim_plan_make(&plan, &options, cases[i].destination, NOW, error),
				 -EINVAL);
		if (!strstr(error, cases[i].sentence))
			fail_msg("%s: '%s' does not say '%s'", cases[i].line, error, cases[i].sentence);
	}
}

static void the_pattern_may_end_anywhere_in_a_stream(void **state)
{
	struct sim_plan plan = plan_for("-t x -n 1234567", &file);

	(void)state;
	assert_int_equal(plan.stream_bytes, 1234567);
	assert_false(plan.is_paced || plan.is_units);
	plan = plan_for("-t x -n 1234567", &udp);
	assert_int_equal(plan.stream_bytes, 1234567 / 8000 * 8000);
	assert_true(plan.is_units);
	plan = plan_for("-t x -d 5", &fifo);
	assert_int_equal(plan.limit_ns, 5 * UNITS_NS_PER_S);
	assert_int_equal(plan.stream_bytes, 0);
}

static void frames_are_whole_and_begin_with_a_second(void **state)
{
	struct sim_plan plan = plan_for("-t x --format vdif -r 512 --threads 4 -d 2", &udp);

	(void)state;
	assert_int_equal(plan.layout.frame_rate, 2000);
	assert_int_equal(plan.stream_bytes, 2 * 8000 * 8032);
	assert_int_equal(plan.layout.start_utc_ns, INT64_C(1796112001) * UNITS_NS_PER_S);
	assert_int_equal(plan.start_utc_ns, plan.layout.start_utc_ns);
	assert_int_equal(plan.unit_bytes, 8032);
	assert_true(plan.is_paced);
	plan = plan_for("-t x --format vdif -r 512 --start now", &udp);
	assert_int_equal(plan.layout.start_utc_ns, NOW);
	plan = plan_for("-t x --format vdif -r 512 --start 2014-06-16T05:56:07Z -n 10000", &file);
	assert_int_equal(plan.layout.start_utc_ns, INT64_C(1402898167) * UNITS_NS_PER_S);
	assert_int_equal(plan.start_utc_ns, 0);
	assert_int_equal(plan.stream_bytes, 8032);
	assert_non_null(strstr(plan.text, "2014-06-16T05:56:07"));
}

static void only_stores_are_filled_as_fast_as_possible(void **state)
{
	(void)state;
	assert_false(plan_for("-t x -r 512", &file).is_paced);
	assert_true(plan_for("-t x -r 512 --pace sleep", &file).is_paced);
	assert_true(plan_for("-t x -r 512", &fifo).is_paced);
	assert_false(plan_for("-t x -r 512 --pace none", &udp).is_paced);
	assert_false(plan_for("-t x", &udp).is_paced);
}

/* Frames that would go out in fragments are made smaller, or cut in the two halves that Mark5B knows. */
static void datagrams_need_no_fragments(void **state)
{
	struct destination small = udp, framed = udp;
	struct sim_plan plan;

	(void)state;
	small.frame_bytes_max = 1464;
	framed.frame_bytes = 5032;
	assert_int_equal(plan_for("-t x --format vdif -r 512", &small).unit_bytes, 1032);
	assert_int_equal(plan_for("-t x", &small).unit_bytes, 1000);
	assert_int_equal(plan_for("-t x --format vdif -r 512", &framed).unit_bytes, 5032);
	small.frame_bytes_max = 8972;
	plan = plan_for("-t x --format mark5b -r 512", &small);
	assert_int_equal(plan.unit_bytes, 5008);
	assert_int_equal(plan.layout.frame_bytes, 10016);
	assert_int_equal(plan_for("-t x --format mark5b -r 512", &udp).unit_bytes, 10016);
}

/* One write is one frame where it may have a fault; else about a millisecond of them. */
static void faults_befall_whole_frames(void **state)
{
	(void)state;
	assert_int_equal(plan_for("-t x --format vdif -r 512 --loss 0.1", &fifo).lump_bytes, 8032);
	assert_int_equal(plan_for("-t x -r 512", &fifo).lump_bytes, 64000 / 4096 * 4096);
	assert_int_equal(plan_for("-t x -r 1", &fifo).lump_bytes, 4096);
	assert_int_equal(plan_for("-t x", &fifo).lump_bytes, 1 << 20);
}

static void a_block_holds_the_largest_frame(void **state)
{
	struct sim_options options;
	char error[OPTIONS_ERROR_LEN];

	(void)state;
	assert_int_equal(parse(&options, "-t x", error), 0);
	assert_int_equal(sim_plan_block_bytes(&options), 1 << 20);
	assert_int_equal(parse(&options, "-t x --frame 1Mi", error), 0);
	assert_true(sim_plan_block_bytes(&options) >= (1 << 20) + 16);
	assert_int_equal(sim_plan_block_bytes(&options) % 4096, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_line_is_understood),
		cmocka_unit_test(absurd_options_are_refused_with_a_sentence),
		cmocka_unit_test(plans_that_do_not_fit_the_destination_are_refused),
		cmocka_unit_test(the_pattern_may_end_anywhere_in_a_stream),
		cmocka_unit_test(frames_are_whole_and_begin_with_a_second),
		cmocka_unit_test(only_stores_are_filled_as_fast_as_possible),
		cmocka_unit_test(datagrams_need_no_fragments),
		cmocka_unit_test(faults_befall_whole_frames),
		cmocka_unit_test(a_block_holds_the_largest_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
