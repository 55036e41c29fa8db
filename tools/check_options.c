/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/check_options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "drivers/units.h"
#include "recorder/version.h"

#define FRAME_RATE_MAX 16777216 /* that VDIF has numbers for */

enum {
	OPTION_TARGET = 256,
	OPTION_RECOVER,
	OPTION_GIVE_UP_MISSING,
	OPTION_JSON,
	OPTION_FRAME_RATE,
	OPTION_NOT_AFTER,
	OPTION_NO_FORMAT,
};

static const struct argp_option option_table[] = {
	{ "target", OPTION_TARGET, "DIR", 0, "Look for pieces in DIR, too; may be given often", 0 },
	{ "recover", OPTION_RECOVER, NULL, 0,
	  "Bring a recording that was cut short into order, then check it", 0 },
	{ "dry-run", 'n', NULL, 0, "With --recover: only say what would be done", 0 },
	{ "give-up-missing", OPTION_GIVE_UP_MISSING, NULL, 0,
	  "With --recover: targets that are not there are lost; don't keep what only their journals could promise",
	  0 },
	{ "frame-rate", OPTION_FRAME_RATE, "N", 0,
	  "Each thread has N frames a second, if the data don't say how many", 0 },
	{ "not-after", OPTION_NOT_AFTER, "UTC", 0,
	  "Mark5B, Mark4 and VLBA times leave out a part of the date: the latest before UTC is meant (default: now, or the day of the recording)",
	  0 },
	{ "no-format", OPTION_NO_FORMAT, NULL, 0,
	  "Of a recording only look at the checksums, not at the format of the data", 0 },
	{ "json", OPTION_JSON, "FILE", 0,
	  "Write a report (vsib-check/1) to FILE; - is standard output", 0 },
	{ "quiet", 'q', NULL, 0, "Say only why it can't be done; the exit status tells the rest", 0 },
	{ 0 },
};

static const char arguments_doc[] = "TARGET/NAME|JOURNAL|FILE [TARGET...]\n"
				    "NAME TARGET...";

static const char program_doc[] =
	"Compares every byte of a recording with the checksums in its journal, and says what is missing. Of its data, or of a plain file, it says the format, the time and what is wrong with the frames.\v"
	"Exit status: 0 good, 1 differences (bad checksums, missing pieces or frames, gaps, no end), 2 trouble (an unknown format, too), 64 usage, 66 no such recording, 73 can't create the report, 74 I/O error, 77 no permission.";

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct check_options *options = state->input;
	uint64_t count;

	switch (key) {
	case OPTION_TARGET:
		arguments_add_target(&options->arguments, state, arg);
		return 0;
	case OPTION_RECOVER:
		options->is_recovery = true;
		return 0;
	case 'n':
		options->is_dry = true;
		return 0;
	case OPTION_GIVE_UP_MISSING:
		options->is_missing_lost = true;
		return 0;
	case OPTION_FRAME_RATE:
		if (units_parse_count(arg, &count) < 0 || count == 0 || count > FRAME_RATE_MAX)
			argp_error(state, "--frame-rate: %s is not a number from 1 to %d", arg,
				   FRAME_RATE_MAX);
		options->frame_rate = (uint32_t)count;
		return 0;
	case OPTION_NOT_AFTER:
		if (units_parse_utc(arg, &options->not_after_ns) < 0)
			argp_error(state, "--not-after: %s is no time like 2026-11-30T08:15:00Z", arg);
		options->has_not_after = true;
		return 0;
	case OPTION_NO_FORMAT:
		options->is_format_left_out = true;
		return 0;
	case OPTION_JSON:
		options->json = arg;
		return 0;
	case 'q':
		options->is_quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		arguments_add(&options->arguments, state, arg);
		return 0;
	case ARGP_KEY_END:
		if (options->arguments.given_count == 0)
			argp_error(state, "no recording given");
		if ((options->is_dry || options->is_missing_lost) && !options->is_recovery)
			argp_error(state, "%s goes with --recover",
				   options->is_dry ? "--dry-run" : "--give-up-missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_version(FILE *stream, struct argp_state *state)
{
	(void)state;
	fprintf(stream, "vsib-check %s\n", VSIB_VERSION);
}

void check_options_parse(struct check_options *options, int argc, char **argv)
{
	static const struct argp argp = { option_table, parse_option, arguments_doc, program_doc,
					  NULL,         NULL,         NULL };

	*options = (struct check_options){ 0 };
	argp_program_version_hook = print_version;
	argp_err_exit_status = EX_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, options);
	arguments_settle(&options->arguments, true);
}
