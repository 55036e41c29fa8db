/* SPDX-License-Identifier: BSD-2-Clause */
/* vsib-record.c - records a stream to disks; see vsib-record.1 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "recorder/host.h"
#include "recorder/options.h"
#include "recorder/report.h"
#include "recorder/session.h"
#include "recorder/supervise.h"

static int say(int exit_status, const char *text)
{
	fprintf(stderr, "vsib-record: %s\n", text);
	return exit_status;
}

/* After the account: report, status to the parent, and out. */
static int finish(struct session *session, struct report_file *json, bool is_free)
{
	int status, ret;

	session_outcome(session, &status);
	report_text(stderr, session);
	ret = report_json(json, session);
	if (ret < 0) {
		fprintf(stderr, "vsib-record: the JSON report %s could not be written: %s\n", json->path, strerror(-ret));
		status = status ? status : EX_IOERR;
	}
	host_report(status);
	if (!is_free) /* threads are held by the kernel: nothing of theirs may be freed */
		_exit(status);
	session_free(session);
	return status;
}

static int record(void *context)
{
	struct options *options = context;
	struct session *session = NULL;
	struct report_file json;
	struct refusal refusal = { .exit_status = EX_SOFTWARE };
	int signal_fd = supervise_signals(), ret;

	if (signal_fd < 0)
		return say(EX_OSERR, "can't take signals");
	ret = report_prepare(&json, options->json);
	if (ret < 0) {
		fprintf(stderr, "vsib-record: can't write the report to %s: %s\n", options->json, strerror(-ret));
		return EX_CANTCREAT;
	}
	ret = session_create(&session, &options->session, &refusal);
	if (ret == 0)
		ret = session_arm(session, &refusal);
	if (ret == 0)
		ret = supervise(session, signal_fd, options->live, options->log_interval_ns, &refusal);
	if (ret >= 0)
		return finish(session, &json, ret == 1);
	report_discard(&json);
	session_free(session);
	return say(refusal.exit_status, refusal.text);
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
		say(status, error);
	} else if (is_stdout_wanted_twice(&options)) {
		status = say(EX_USAGE, "--json - and -o - both want stdout; give the report a file");
	} else {
		options_complete(&options);
		status = host_run(record, &options);
	}
	options_free(&options);
	return status;
}
