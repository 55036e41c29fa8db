/* SPDX-License-Identifier: BSD-2-Clause */
/* test_wr.c - the historical command line and report of wr */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/wr_args.h"

static struct wr_args args;
static char error[WR_ERROR_LEN];

static int parse(const char *line)
{
	static char words[2048];
	char *argv[64], *save = NULL;
	int argc = 0;

	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok_r(words, " ", &save); word && argc < 64;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	return wr_args_parse(&args, argc, argv, error);
}

static void assert_refused(const char *line, const char *because)
{
	error[0] = '\0';
	assert_int_equal(parse(line), -EINVAL);
	if (!strstr(error, because))
		fail_msg("'%s' refused by '%s', which doesn't say '%s'", line, error, because);
}

/*
 * Lines that the program printed in 2007, by Metsahovi's tests of USB and FireWire disks. The two FireWire lines of that
 * page are not among them: their rates, percentages and times contradict each other.
 */
static const struct {
	uint64_t block, count;
	double seconds;
	unsigned usleeps;
	const char *line;
} runs[] = {
	{ 16000, 160000, 160.426336, 23103,
	  "Took 160.426336 seconds, 127.659838 Mbits(dec)/s (12.1% of PCI33), usleeps = 23103." },
	{ 16000, 3200000, 1794.831861, 15460,
	  "Took 1794.831861 seconds, 228.210792 Mbits(dec)/s (21.6% of PCI33), usleeps = 15460." },
	{ 20000, 120000, 150.766210, 19149,
	  "Took 150.766210 seconds, 127.349490 Mbits(dec)/s (12.1% of PCI33), usleeps = 19149." },
	{ 16000, 480000, 262.339687, 10418,
	  "Took 262.339687 seconds, 234.200173 Mbits(dec)/s (22.2% of PCI33), usleeps = 10418." },
	{ 16000, 480000, 240.906931, 31166,
	  "Took 240.906931 seconds, 255.036249 Mbits(dec)/s (24.2% of PCI33), usleeps = 31166." },
	{ 16000, 480000, 166.334955, 3739,
	  "Took 166.334955 seconds, 369.375156 Mbits(dec)/s (35.0% of PCI33), usleeps = 3739." },
};

static void six_lines_of_2007_come_out_digit_for_digit(void **state)
{
	char line[WR_LINE_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		wr_report_line(line, runs[i].block * runs[i].count, runs[i].seconds, runs[i].usleeps);
		assert_string_equal(line, runs[i].line);
	}
}

static void the_memory_stick_of_2007_comes_out_within_a_millionth(void **state)
{
	char line[WR_LINE_LEN];
	double seconds, mbps, percent;
	int usleeps;

	(void)state;
	wr_report_line(line, UINT64_C(8000) * 16000, 16.370638, 2738);
	assert_int_equal(sscanf(line, "Took %lf seconds, %lf Mbits(dec)/s (%lf%% of PCI33), usleeps = %d.",
				&seconds, &mbps, &percent, &usleeps),
			 4);
	assert_true(fabs(mbps - 62.551013) / 62.551013 < 1e-6);
	assert_true(percent == 5.9 && usleeps == 2738);
}

static void the_max_lines_look_as_they_did(void **state)
{
	char line[WR_LINE_LEN];

	(void)state;
	wr_max_line(line, "/media/usbdisk/t%06d", 1.26782);
	assert_string_equal(line, "/media/usbdisk/t%06d max. 1.267820 seconds.");
	wr_max_line(line, "call-to-call", 0.5);
	assert_string_equal(line, "call-to-call max. 0.500000 seconds.");
}

static void the_line_of_the_2007_tests_is_understood(void **state)
{
	char source[WR_LINE_LEN];

	(void)state;
	assert_int_equal(parse("16000 3200000 1 2 0 0 1 /media/usbdisk/t%06d 320000"), 0);
	assert_int_equal(args.block_bytes, 16000);
	assert_true(args.total_bytes == UINT64_C(51200000000));
	assert_int_equal(args.dir_count, 1);
	assert_string_equal(args.dirs[0].path, "/media/usbdisk");
	assert_string_equal(args.dirs[0].name_template, "t%06d");
	assert_int_equal(args.dirs[0].blocks_per_file, 320000);
	wr_source_name(source, sizeof(source), &args, NULL, true);
	assert_string_equal(source, "vsib:-,mode=1,skip=2,embed=0,giga=0");
	wr_source_name(source, sizeof(source), &args, NULL, false);
	assert_string_equal(source, "-");
	wr_source_name(source, sizeof(source), &args, "vsib:fake", false);
	assert_string_equal(source, "vsib:fake,mode=1,skip=2,embed=0,giga=0");
	wr_source_name(source, sizeof(source), &args, "sim:", true);
	assert_string_equal(source, "sim:");
}

static void paths_are_split_at_the_last_slash(void **state)
{
	(void)state;
	assert_int_equal(parse("4096 10 0 0 0 0 3 /%06d 1 t%d 1 a/b/x%03dy 1"), 0);
	assert_string_equal(args.dirs[0].path, "/");
	assert_string_equal(args.dirs[1].path, ".");
	assert_string_equal(args.dirs[2].path, "a/b");
	assert_string_equal(args.dirs[2].name_template, "x%03dy");
}

static void the_share_of_each_directory_is_by_block_number_modulo_directories(void **state)
{
	(void)state;
	assert_int_equal(parse("100 10 0 0 0 0 3 a/%d 1 b/%d 1 c/%d 1"), 0);
	assert_int_equal(wr_dir_bytes(&args, 0), 400);
	assert_int_equal(wr_dir_bytes(&args, 1), 300);
	assert_int_equal(wr_dir_bytes(&args, 2), 300);
}

static void any_conversion_but_one_decimal_number_is_refused(void **state)
{
	static const char *const templates[] = { "%s",    "%x",  "%n",   "%6d",    "%-6d", "%06u",
						 "%06ld", "%0d", "%00d", "%0123d", "%*d",  "%1$d",
						 "%",     "a%",  "%06",  "%.3d",   "% d" };
	char line[256];

	(void)state;
	for (size_t i = 0; i < sizeof(templates) / sizeof(templates[0]); i++) {
		if (strchr(templates[i], ' '))
			continue; /* our words are split at blanks */
		snprintf(line, sizeof(line), "4096 10 0 0 0 0 1 d/%s 1", templates[i]);
		assert_refused(line, "only one %d or %0Nd");
	}
	assert_refused("4096 10 0 0 0 0 1 d/%d%d 1", "more than one number");
	assert_int_equal(parse("4096 10 0 0 0 0 1 d/100%%_%05d 1"), 0);
}

static void a_plain_name_will_do_for_one_file_only(void **state)
{
	(void)state;
	assert_int_equal(parse("4096 10 0 0 0 0 1 d/all 10"), 0);
	assert_refused("4096 11 0 0 0 0 1 d/all 10", "several files need a number");
	assert_int_equal(parse("4096 11 0 0 0 0 2 d/all 6 e/all 5"), 0);
	assert_refused("4096 11 0 0 0 0 2 d/all 5 e/all 5", "several files need a number");
}

static void arguments_out_of_range_are_named(void **state)
{
	(void)state;
	assert_refused("", "BLOCK is missing");
	assert_refused("0 10 0 0 0 0 1 d/%d 1", "BLOCK '0'");
	assert_refused("-4096 10 0 0 0 0 1 d/%d 1", "BLOCK '-4096'");
	assert_refused("4k 10 0 0 0 0 1 d/%d 1", "BLOCK '4k'");
	assert_refused("4096 0 0 0 0 0 1 d/%d 1", "NBLOCKS '0'");
	assert_refused("4096 9223372036854775807 0 0 0 0 1 d/%d 1", "more than 2^63");
	assert_refused("4096 10 16 0 0 0 1 d/%d 1", "MODE '16'");
	assert_refused("4096 10 0 65536 0 0 1 d/%d 1", "SKIP '65536'");
	assert_refused("4096 10 0 0 2 0 1 d/%d 1", "EMBED '2'");
	assert_refused("4096 10 0 0 0 2 1 d/%d 1", "GIGA '2'");
	assert_refused("4096 10 0 0 0 0 0", "NDIRS '0'");
	assert_refused("4096 10 0 0 0 0 2 d/%d 1", "4 arguments");
	assert_refused("4096 10 0 0 0 0 1 d/%d 1 e/%d 1", "2 arguments");
	assert_refused("4096 10 0 0 0 0 1 d/%d 0", "BLOCKS_PER_FILE '0'");
}

static void one_template_twice_is_refused(void **state)
{
	(void)state;
	assert_refused("4096 10 0 0 0 0 2 d/%d 1 d/%d 1", "twice");
	assert_int_equal(parse("4096 10 0 0 0 0 2 d/a%d 1 d/b%d 1"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(six_lines_of_2007_come_out_digit_for_digit),
		cmocka_unit_test(the_memory_stick_of_2007_comes_out_within_a_millionth),
		cmocka_unit_test(the_max_lines_look_as_they_did),
		cmocka_unit_test(the_line_of_the_2007_tests_is_understood),
		cmocka_unit_test(paths_are_split_at_the_last_slash),
		cmocka_unit_test(the_share_of_each_directory_is_by_block_number_modulo_directories),
		cmocka_unit_test(any_conversion_but_one_decimal_number_is_refused),
		cmocka_unit_test(a_plain_name_will_do_for_one_file_only),
		cmocka_unit_test(arguments_out_of_range_are_named),
		cmocka_unit_test(one_template_twice_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
