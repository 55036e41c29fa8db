/* SPDX-License-Identifier: BSD-2-Clause */
/* vsib-record.c - records a stream to disks; see vsib-record.1 */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "recorder/options.h"
#include "recorder/program.h"
#include "recorder/report.h"

static void report(const struct program *program, const struct session *session)
{
	(void)program;
	report_text(stderr, session);
}

static bool is_stdout_wanted_twice(const struct options *options)
{
	if (!options->json || strcmp(options->json, "-") != 0)
		return false;
	for (unsigned i = 0; i < options->target_count; i++)
		if (strcmp(options->targets[i], "-") == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct options options;
	char error[OPTIONS_ERROR_LEN];
	int status;

	options_defaults(&options);
	status = options_parse(&options, argc, argv, error);
	if (status != 0) {
		program_say("vsib-record", status, error);
	} else if (is_stdout_wanted_twice(&options)) {
		status = program_say("vsib-record", EX_USAGE,
				     "--json - and -o - both want stdout; give the report a file");
	} else {
		struct program program = {
			.name = "vsib-record",
			.config = &options.session,
			.json = options.json,
			.live = options.live,
			.log_interval_ns = options.log_interval_ns,
			.report = report,
			.if_it_exists = "; another --name, or --force to remove the old one first",
		};

		options_complete(&options);
		status = program_run(&program);
	}
	options_free(&options);
	return status;
}
