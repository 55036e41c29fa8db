/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "recorder/options.h"

#define ARGS_MAX 80

static struct options options;
static char error[OPTIONS_ERROR_LEN];
static char file[64];

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(file, "/tmp/vsib_options_XXXXXX");
	fd = mkstemp(file);
	return fd < 0 || close(fd) < 0;
}

static int teardown(void **state)
{
	(void)state;
	options_free(&options);
	memset(&options, 0, sizeof(options));
	return unlink(file);
}

static void write_file(const char *text)
{
	int fd = open(file, O_WRONLY | O_TRUNC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* A command line as the shell would cut it at single blanks; '@' stands for the configuration file. */
static int parse(const char *line)
{
	static char words[2000];
	char *argv[ARGS_MAX] = { (char *)"vsib-record" }, *rest = words, *word;
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	while ((word = strsep(&rest, " ")) != NULL)
		if (word[0])
			argv[argc++] = strcmp(word, "@") == 0 ? file : word;
	options_free(&options);
	options_defaults(&options);
	error[0] = '\0';
	return options_parse(&options, argc, argv, error);
}

static void assert_parsed(const char *line)
{
	if (parse(line) != 0)
		fail_msg("'%s': %s", line, error);
}

/* ---- values ---- */

static void every_value_lands_where_it_belongs(void **state)
{
	const struct session_config *session = &options.session;

	(void)state;
	assert_parsed(
		"-s sim: -o /a -o /b --target /c -r 512 -d 1h30m -n 64Mi --name scan --layout raw --template x.%d "
		"--file-size 2G --file-time 1m30s --chunk 8Mi --stripe round --ring 1Gi --block 1Mi --io buffered --on-overflow stop "
		"--checksum none --journal no --allow-same-device --parity --force --lock no --huge-pages require --numa-node 3 "
		"--engine pwrite --copies 2 --depth 7 --disk-timeout 0 --silence 0 --json out.json --live log --log-interval 500ms --start 2026-11-30T08:15:00Z");
	assert_string_equal(session->source_name, "sim:");
	assert_int_equal(options.target_count, 3);
	assert_string_equal(options.targets[2], "/c");
	assert_int_equal(session->rate_bps, 512000000);
	assert_int_equal(session->duration_ns, 5400 * UNITS_NS_PER_S);
	assert_int_equal(session->limit_bytes, 64 << 20);
	assert_string_equal(session->name, "scan");
	assert_int_equal(session->layout, LAYOUT_RAW);
	assert_string_equal(session->name_template, "x.%d");
	assert_int_equal(session->file_bytes, 2000000000);
	assert_int_equal(session->file_ns, 90 * UNITS_NS_PER_S);
	assert_int_equal(session->chunk_bytes, 8 << 20);
	assert_int_equal(session->stripe, STRIPE_ROUND);
	assert_int_equal(session->ring_bytes, 1 << 30);
	assert_true(options.is_ring_given);
	options_complete(&options);
	assert_false(session->is_ring_default);
	assert_int_equal(session->block_bytes, 1 << 20);
	assert_false(session->use_direct);
	assert_int_equal(session->on_overflow, OVERFLOW_STOP);
	assert_false(session->use_checksums);
	assert_false(session->use_journal);
	assert_true(session->allow_same_device);
	assert_true(session->use_force);
	assert_false(session->use_lock);
	assert_true(session->use_huge_pages && session->require_huge_pages);
	assert_int_equal(session->numa_node, 3);
	assert_int_equal(session->silence_ns, 0);
	assert_int_equal(session->engine, ENGINE_PWRITE);
	assert_int_equal(session->depth, 7);
	assert_int_equal(session->copies, 2);
	assert_true(session->use_parity);
	assert_int_equal(session->disk_timeout_ns, 0);
	assert_string_equal(options.json, "out.json");
	assert_int_equal(options.live, LIVE_LOG);
	assert_int_equal(options.log_interval_ns, 500000000);
	assert_true(session->start_utc_ns > 0);
}

static void what_metadata_are_wanted_is_kept(void **state)
{
	const struct metadata_config *metadata = &options.session.metadata;

	(void)state;
	assert_parsed("-s sim: -o /a");
	assert_false(metadata_is_wanted(metadata));
	assert_string_equal(metadata->words.format.word, "raw");
	assert_parsed("-s sim: -o /a --sigmf --sample-format ci16_le --channels 2 --frequency 1420.4M --author A --description D "
		      "--hardware H --vbs-cfg");
	assert_true(metadata->use_sigmf && metadata->use_vbs_cfg && !metadata->use_dada);
	assert_string_equal(metadata->words.format.word, "ci16_le");
	assert_int_equal(metadata->words.channels, 2);
	assert_int_equal(metadata->words.frequency_hz, 1420400000);
	assert_string_equal(metadata->words.author, "A");
	assert_string_equal(metadata->words.description, "D");
	assert_string_equal(metadata->words.hardware, "H");
	assert_parsed("-s sim: -o /a --dada-header");
	assert_true(metadata->use_dada);
	assert_null(metadata->dada_file);
	assert_parsed("-s sim: -o /a --dada-header=keys.txt");
	assert_true(metadata->use_dada);
	assert_string_equal(metadata->dada_file, "keys.txt");
	assert_parsed("-s sim: -o /a --dada-header=keys.txt --dada-header=no");
	assert_false(metadata->use_dada);
	write_file("sigmf = yes\ndada-header = \"k.txt\"\nsample-format = ru8\n");
	assert_parsed("-s sim: -o /a --config @");
	assert_true(metadata->use_sigmf && metadata->use_dada);
	assert_string_equal(metadata->dada_file, "k.txt");
	assert_int_equal(parse("-s sim: -o /a --author \xff"), EX_USAGE);
}

static void a_scan_has_its_name_from_its_parts(void **state)
{
	(void)state;
	assert_parsed("-s sim: -o /a --exp N26W1 --station Mh --scan No0001");
	options_complete(&options);
	assert_string_equal(options.session.name, "n26w1_mh_no0001");
	assert_true(options.session.is_scan);
	write_file("exp = n26w1\nstation = mh\n");
	assert_parsed("-s sim: -o /a --config @ --scan no0002");
	assert_string_equal(options.session.name, "n26w1_mh_no0002");
	assert_int_equal(parse("-s sim: -o /a --config @"), EX_USAGE);
	assert_non_null(strstr(error, "--scan"));
	assert_int_equal(parse("-s sim: -o /a --config @ --scan no1 --name x"), EX_USAGE);
	assert_non_null(strstr(error, "--name"));
	assert_int_equal(parse("-s sim: -o /a --scan no.1"), EX_USAGE);
	assert_non_null(strstr(error, "VBS"));
	assert_parsed("-s sim: -o /a --name x");
	assert_false(options.session.is_scan);
}

static void the_defaults_are_those_of_the_manual(void **state)
{
	(void)state;
	assert_parsed("-s sim: -o null:");
	assert_int_equal(options.session.ring_bytes, 256 << 20);
	assert_int_equal(options.session.stripe, STRIPE_ANY);
	assert_true(options.session.use_direct && options.session.use_checksums &&
		    options.session.use_journal);
	assert_false(options.session.use_force || options.session.allow_same_device ||
		     options.is_ring_given);
	assert_int_equal(options.session.silence_ns, 10 * UNITS_NS_PER_S);
	assert_int_equal(options.session.disk_timeout_ns, 10 * UNITS_NS_PER_S);
	assert_int_equal(options.session.engine, ENGINE_AUTO);
	assert_int_equal(options.session.depth, 0);
	assert_int_equal(options.session.numa_node, MEMORY_ANY_NODE);
	assert_int_equal(options.session.on_overflow, OVERFLOW_AUTO);
	options_complete(&options);
	assert_true(options.session.is_ring_default);
}

static void the_rest_follows_from_what_was_given(void **state)
{
	(void)state;
	assert_parsed("-s sim: -o /a --start 2026-11-30T08:15:00Z");
	options_complete(&options);
	assert_string_equal(options.session.name, "vsib_20261130T081500Z");
	assert_int_equal(options.session.layout, LAYOUT_RAW);
	assert_int_equal(options.session.target_count, 1);
	assert_parsed("-s sim: -o /a -o /b");
	options_complete(&options);
	assert_int_equal(options.session.layout, LAYOUT_VBS);
	assert_null(strchr(options.session.name, '.'));
	assert_parsed("-s sim: -o /a -o /b --layout raw --name n");
	options_complete(&options);
	assert_int_equal(options.session.layout, LAYOUT_RAW);
	assert_string_equal(options.session.name, "n");
	assert_parsed("-s sim: -o /a --layout vbs");
	options_complete(&options);
	assert_int_equal(options.session.layout, LAYOUT_VBS);
	assert_parsed("-s sim: -o /a -o /b --layout mark6 --packet-size 10016 --packet-format mark5b");
	options_complete(&options);
	assert_int_equal(options.session.layout, LAYOUT_MARK6);
	assert_int_equal(options.session.packet_bytes, 10016);
	assert_int_equal(options.session.packet_format, MARK6_MARK5B);
	assert_parsed("-s sim: -o /a --layout mark6");
	assert_int_equal(options.session.packet_bytes, 0);
	assert_int_equal(options.session.packet_format, MARK6_VDIF);
}

static void the_last_of_two_counts(void **state)
{
	(void)state;
	assert_parsed("-s sim: -o /a -r 100 -r 200 --stripe round --stripe any -s file:x");
	assert_int_equal(options.session.rate_bps, 200000000);
	assert_int_equal(options.session.stripe, STRIPE_ANY);
	assert_string_equal(options.session.source_name, "file:x");
}

static void bad_values_are_usage_errors_that_name_the_option(void **state)
{
	static const char *const lines[] = {
		"--sample-format i16",
		"--sample-format ci16",
		"--sample-format ci8_le",
		"--channels 0",
		"--frequency 0",
		"-r 0",
		"-r -5",
		"-r 5x",
		"-r 1,5",
		"-r nan",
		"-r 99999999999999999999",
		"-d 0",
		"-d 0s",
		"-d 5y",
		"-d -1",
		"-n 0",
		"-n 1.5",
		"-n 20E",
		"-n 9223372036854775808",
		"-n 0x10",
		"--ring 0",
		"--ring lots",
		"--ring 99999999999999999999E",
		"--block 4,5k",
		"--chunk -4Mi",
		"--file-size 1e9",
		"--file-time 0",
		"--file-time -1s",
		"--file-time 1G",
		"--file-time 99999999999999h",
		"--stripe all",
		"--stripe any|round",
		"--stripe an",
		"--io",
		"--layout mark7",
		"--on-overflow maybe",
		"--checksum md5",
		"--journal perhaps",
		"--lock 2",
		"--huge-pages yes",
		"--numa-node -1",
		"--numa-node 1024",
		"--numa-node x",
		"--start yesterday",
		"--start 2026-13-01T00:00:00Z",
		"--silence never",
		"--engine aio",
		"--copies 0",
		"--copies 3",
		"--depth 0",
		"--depth 129",
		"--depth some",
		"--disk-timeout soon",
		"--live on",
		"--log-interval 0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char name[64];
		int ret;

		if (strcmp(lines[i], "--io") == 0)
			continue; /* without its value argp says so itself, and exits */
		ret = parse(lines[i]);
		if (ret != EX_USAGE || !error[0])
			fail_msg("'%s' gave %d", lines[i], ret);
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(lines[i], " "), lines[i]);
		if (strncmp(name, "--", 2) == 0 && !strstr(error, name))
			fail_msg("'%s' is not in: %s", name, error);
	}
}

static void one_target_too_many_is_refused(void **state)
{
	char line[2000] = "-s sim:";

	(void)state;
	for (unsigned i = 0; i < TARGET_MAX; i++)
		sprintf(line + strlen(line), " -o/%u", i);
	assert_parsed(line);
	assert_int_equal(options.target_count, TARGET_MAX);
	strcat(line, " -o/x");
	assert_int_equal(parse(line), EX_USAGE);
	assert_string_equal(error, "--target '/x': there are 64 already, and more are not possible");
}

/* ---- what argp does itself: in a child, because it exits ---- */

static int status_of(const char *line)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		_exit(parse(line) == 0 ? 99 : 98);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void unknown_options_exit_with_64_and_help_with_0(void **state)
{
	(void)state;
	assert_int_equal(status_of("--unknown"), EX_USAGE);
	assert_int_equal(status_of("-Z"), EX_USAGE);
	assert_int_equal(status_of("-r"), EX_USAGE);
	assert_int_equal(status_of("--io"), EX_USAGE);
	assert_int_equal(status_of("--force=yes"), EX_USAGE);
	assert_int_equal(status_of("-s sim: stray"), EX_USAGE);
	assert_int_equal(status_of("-s sim: -- /a"), EX_USAGE);
	assert_int_equal(status_of("--help"), 0);
	assert_int_equal(status_of("--version"), 0);
	assert_int_equal(status_of("--usage"), 0);
	assert_int_equal(status_of("-s sim: --"), 99);
}

/* ---- the configuration file ---- */

static void a_file_gives_values_and_the_command_line_beats_it(void **state)
{
	(void)state;
	write_file("# a comment\n"
		   "source = \"sim:,rate=512\"\n"
		   "rate = 256\n"
		   "ring = 1Gi   # behind a value\n"
		   "target = {\"/a\", \"/b\"}\n"
		   "force = yes\n"
		   "journal = no\n");
	assert_parsed("--config @");
	assert_string_equal(options.session.source_name, "sim:,rate=512");
	assert_int_equal(options.session.rate_bps, 256000000);
	assert_int_equal(options.session.ring_bytes, 1 << 30);
	assert_int_equal(options.target_count, 2);
	assert_string_equal(options.targets[1], "/b");
	assert_true(options.session.use_force);
	assert_false(options.session.use_journal);
	/* wherever --config stands; targets replace the file's, they don't add to them */
	assert_parsed("-r 128 -o /c --config @ --ring 64Mi");
	assert_int_equal(options.session.rate_bps, 128000000);
	assert_int_equal(options.session.ring_bytes, 64 << 20);
	assert_int_equal(options.target_count, 1);
	assert_string_equal(options.targets[0], "/c");
	assert_string_equal(options.session.source_name, "sim:,rate=512");
}

static void a_fault_in_the_file_is_told_with_its_place(void **state)
{
	static const struct {
		const char *text, *word, *place;
	} cases[] = {
		{ "rate = 5\n\nspeed = 5\n", "speed", "3" },
		{ "rate = 5x\n", "rate", NULL },
		{ "ring = 0\n", "ring", NULL },
		{ "stripe = all\n", "any|round", NULL },
		{ "rate = 5\nrate 5\n", "", "2" },
		{ "target = {\"/a\"\n", "", "2" },
		{ "config = other\n", "config", "1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret;

		write_file(cases[i].text);
		ret = parse("-s sim: --config @");
		if (ret != EX_CONFIG || !error[0])
			fail_msg("case %zu gave %d", i, ret);
		if (!strstr(error, cases[i].word) || !strstr(error, file))
			fail_msg("'%s' or the file's name is not in: %s", cases[i].word, error);
		if (cases[i].place && !strstr(error, cases[i].place))
			fail_msg("line %s is not in: %s", cases[i].place, error);
	}
}

static void a_file_that_is_not_there_is_no_input(void **state)
{
	(void)state;
	assert_int_equal(parse("--config /nonexistent/x.conf"), EX_NOINPUT);
	assert_non_null(strstr(error, "/nonexistent/x.conf"));
}

static void one_value_by_its_name(void **state)
{
	(void)state;
	assert_parsed("");
	assert_int_equal(options_set(&options, "rate", "1.5G", error), 0);
	assert_int_equal(options.session.rate_bps, 1500000000);
	assert_int_equal(options_set(&options, "rate", "x", error), EX_USAGE);
	assert_int_equal(options_set(&options, "speed", "1", error), EX_USAGE);
	assert_non_null(strstr(error, "speed"));
}

static void a_decimal_comma_changes_nothing(void **state)
{
	static const char *const locales[] = { "de_DE.UTF-8", "de_DE.utf8",  "fr_FR.UTF-8",
					       "nl_NL.UTF-8", "fi_FI.UTF-8", "de_DE" };
	bool is_set = false;

	(void)state;
	for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]) && !is_set; i++)
		is_set = setlocale(LC_ALL, locales[i]) && strcmp(localeconv()->decimal_point, ",") == 0;
	if (!is_set) {
		setlocale(LC_ALL, "C");
		print_message("no locale with a decimal comma is installed\n");
		skip();
	}
	assert_parsed("-r 1.5 -d 0.5");
	assert_int_equal(options.session.rate_bps, 1500000);
	assert_int_equal(options.session.duration_ns, UNITS_NS_PER_S / 2);
	assert_int_equal(parse("-r 1,5"), EX_USAGE);
	setlocale(LC_ALL, "C");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_value_lands_where_it_belongs),
		TEST(what_metadata_are_wanted_is_kept),
		TEST(a_scan_has_its_name_from_its_parts),
		TEST(the_defaults_are_those_of_the_manual),
		TEST(the_rest_follows_from_what_was_given),
		TEST(the_last_of_two_counts),
		TEST(bad_values_are_usage_errors_that_name_the_option),
		TEST(one_target_too_many_is_refused),
		TEST(unknown_options_exit_with_64_and_help_with_0),
		TEST(a_file_gives_values_and_the_command_line_beats_it),
		TEST(a_fault_in_the_file_is_told_with_its_place),
		TEST(a_file_that_is_not_there_is_no_input),
		TEST(one_value_by_its_name),
		TEST(a_decimal_comma_changes_nothing),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
