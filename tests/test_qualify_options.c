/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tools/qualify/qualify_options.h"

#define ARGS_MAX 100
#define BIT(phase) (1U << (phase))

static struct qualify_options options;
static char error[OPTIONS_ERROR_LEN];

/* A command line as the shell would cut it at single blanks. */
static int parse(const char *line)
{
	static char words[4000];
	char *argv[ARGS_MAX] = { (char *)"vsib-qualify" }, *rest = words, *word;
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	while ((word = strsep(&rest, " ")) != NULL)
		if (word[0])
			argv[argc++] = word;
	qualify_options_defaults(&options);
	error[0] = '\0';
	return qualify_options_parse(&options, argc, argv, error);
}

static void assert_parsed(const char *line)
{
	if (parse(line) != 0)
		fail_msg("'%s': %s", line, error);
}

static void assert_refused(const char *line, const char *words)
{
	if (parse(line) != EX_USAGE)
		fail_msg("'%s' was taken", line);
	if (!strstr(error, words))
		fail_msg("'%s': \"%s\" has no \"%s\"", line, error, words);
}

static void every_value_lands_where_it_belongs(void **state)
{
	const struct trial_asked *asked = &options.asked;

	(void)state;
	assert_parsed(
		"-r 256 -H 8h --ring 1Gi --block 1Mi --depth 4 --stripe round --io buffered --engine pwrite "
		"--time 90 --source udp::46227 --interfere --repeat 3 --scratch 10G --read-device "
		"--allow-same-device --rho-pass 0.7 --rho-fail 0.9 --json - --html r.html --baseline old.json "
		"--live log -q /a /b");
	assert_int_equal(asked->rate_bps, 256000000);
	assert_false(asked->is_rate_auto);
	assert_int_equal(asked->horizon_ns, 8 * 3600 * UNITS_NS_PER_S);
	assert_int_equal(asked->ring_bytes, 1 << 30);
	assert_int_equal(asked->block_bytes, 1 << 20);
	assert_int_equal(asked->depth, 4);
	assert_int_equal(asked->stripe, 1);
	assert_false(asked->use_direct);
	assert_int_equal(options.engine, ENGINE_PWRITE);
	assert_int_equal(asked->paced_ns, 90 * UNITS_NS_PER_S);
	assert_string_equal(asked->source, "udp::46227");
	assert_true(asked->has_interference);
	assert_int_equal(options.paced_count, 3);
	assert_int_equal(asked->scratch_bytes, 10000000000);
	assert_true(options.is_device_read);
	assert_true(options.allow_same_device);
	assert_true(asked->rho_pass > 0.699999 && asked->rho_pass < 0.700001);
	assert_true(asked->rho_fail > 0.899999 && asked->rho_fail < 0.900001);
	assert_string_equal(options.json, "-");
	assert_string_equal(options.html, "r.html");
	assert_string_equal(options.baseline, "old.json");
	assert_int_equal(options.live, LIVE_LOG);
	assert_true(options.is_quiet);
	assert_int_equal(options.target_count, 2);
	assert_string_equal(options.targets[1], "/b");
	assert_int_equal(options.only, 0);
}

static void without_options_it_is_an_hour_at_the_rate_that_passes(void **state)
{
	(void)state;
	assert_parsed("/a");
	assert_true(options.asked.is_rate_auto);
	assert_int_equal(options.asked.rate_bps, 0);
	assert_int_equal(options.asked.horizon_ns, 3600 * UNITS_NS_PER_S);
	assert_int_equal(options.asked.ring_bytes, 256 << 20);
	assert_true(options.asked.use_direct);
	assert_int_equal(options.asked.length, TRIAL_NORMAL);
	assert_int_equal(options.asked.paced_ns, 0);
	assert_int_equal(options.paced_count, 1);
	assert_parsed("-r auto /a");
	assert_true(options.asked.is_rate_auto);
	assert_parsed("-r auto -r 64 /a");
	assert_false(options.asked.is_rate_auto);
}

static void its_length_is_said_once(void **state)
{
	(void)state;
	assert_parsed("--quick /a");
	assert_int_equal(options.asked.length, TRIAL_QUICK);
	assert_parsed("--quick --quick /a");
	assert_parsed("--quick --time 5s /a");
	assert_int_equal(options.asked.paced_ns, 5 * UNITS_NS_PER_S);
	assert_parsed("--soak 8h /a");
	assert_int_equal(options.asked.length, TRIAL_SOAK);
	assert_int_equal(options.asked.paced_ns, 8 * 3600 * UNITS_NS_PER_S);
	assert_parsed("--whole-disk --time 10m /a");
	assert_int_equal(options.asked.length, TRIAL_WHOLE_DISK);
	assert_refused("--quick --soak 8h /a", "--soak");
	assert_refused("--soak 8h --time 5s /a", "--time");
	assert_refused("--time 5s --soak 8h --whole-disk /a", "--whole-disk");
}

static void phases_are_chosen_by_name(void **state)
{
	(void)state;
	assert_parsed("--phase paced --phase read-back /a");
	assert_int_equal(options.only, BIT(PHASE_PACED) | BIT(PHASE_READ_BACK));
	assert_parsed("--phase paced --interfere --source sim: /a");
	assert_int_equal(options.only, BIT(PHASE_PACED) | BIT(PHASE_INTERFERE) | BIT(PHASE_SOURCE));
	assert_parsed("--phase interfere /a");
	assert_true(options.asked.has_interference);
	assert_refused("--phase pace /a", "--list-phases");
	assert_refused("--phase source /a", "--source");
	assert_parsed("--list-phases");
	assert_true(options.is_list);
}

static void what_destroys_is_asked_for_twice(void **state)
{
	(void)state;
	assert_parsed("--destroy --device-serial WD-1 --force /dev/sdx");
	assert_true(options.is_destruction);
	assert_true(options.use_force);
	assert_string_equal(options.serial, "WD-1");
	assert_refused("--destroy /dev/sdx", "--device-serial");
	assert_refused("--device-serial WD-1 /dev/sdx", "--destroy");
	assert_refused("--force /a", "--destroy");
	assert_refused("--destroy --device-serial WD-1 /dev/sdx /dev/sdy", "one device at a time");
}

static void bad_values_are_told_with_what_is_expected(void **state)
{
	static const char *const lines[][2] = {
		{ "-r fast /a", "RATE|auto, such as 512 (Mbit/s)" },
		{ "-r 0 /a", "RATE" },
		{ "-H 0 /a", "such as 90" },
		{ "-H -5 /a", "TIME" },
		{ "--ring 0 /a", "SIZE, such as" },
		{ "--ring 99999999999999999999 /a", "out of range" },
		{ "--block some /a", "SIZE" },
		{ "--depth 0 /a", "out of range" },
		{ "--depth 129 /a", "out of range" },
		{ "--stripe turn /a", "any|round" },
		{ "--io both /a", "direct|buffered" },
		{ "--engine aio /a", "auto|io_uring|pwrite" },
		{ "--time 5parsecs /a", "TIME" },
		{ "--soak 0 /a", "TIME" },
		{ "--repeat 0 /a", "out of range" },
		{ "--repeat 21 /a", "out of range" },
		{ "--scratch 1.5 /a", "SIZE" },
		{ "--rho-pass 80 /a", "out of range" },
		{ "--rho-pass 0 /a", "out of range" },
		{ "--rho-pass 0.9k /a", "SHARE, such as 0.8" },
		{ "--rho-pass 0,8 /a", "not understood" },
		{ "--rho-pass 0.9 --rho-fail 0.8 /a", "less than" },
		{ "--html - /a", "FILE" },
		{ "--live loud /a", "auto|line|log|none" },
		{ "-r 256", "no target" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_refused(lines[i][0], lines[i][1]);
}

static void one_target_too_many_is_refused(void **state)
{
	char line[1000] = "--quick";

	(void)state;
	for (unsigned i = 0; i < TARGET_MAX; i++)
		strcat(line, " /disk");
	assert_parsed(line);
	strcat(line, " /more");
	assert_refused(line, "/more");
}

/* argp ends the program itself. */
static int status_of(const char *line)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(99);
		_exit(parse(line));
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void help_and_unknown_options_end_the_program(void **state)
{
	(void)state;
	assert_int_equal(status_of("--help"), 0);
	assert_int_equal(status_of("--version"), 0);
	assert_int_equal(status_of("--erase /a"), EX_USAGE);
	assert_int_equal(status_of("-r"), EX_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_lands_where_it_belongs),
		cmocka_unit_test(without_options_it_is_an_hour_at_the_rate_that_passes),
		cmocka_unit_test(its_length_is_said_once),
		cmocka_unit_test(phases_are_chosen_by_name),
		cmocka_unit_test(what_destroys_is_asked_for_twice),
		cmocka_unit_test(bad_values_are_told_with_what_is_expected),
		cmocka_unit_test(one_target_too_many_is_refused),
		cmocka_unit_test(help_and_unknown_options_end_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
