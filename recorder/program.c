/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "recorder/host.h"
#include "recorder/report.h"
#include "recorder/supervise.h"

#define EXIT_STOPPED 2

int program_say(const char *name, int exit_status, const char *text)
{
	fprintf(stderr, "%s: %s\n", name, text);
	return exit_status;
}

/* After the account: report, status to the parent, and out. */
static int finish(const struct program *program, struct session *session, struct report_file *json,
		  bool is_free)
{
	int status, ret;

	session_outcome(session, &status);
	if (!is_free) /* a sick disk may hold the report as well */
		host_report(status, true);
	ret = report_json(json, session);
	program->report(program, session);
	if (ret < 0) {
		fprintf(stderr, "%s: the JSON report %s could not be written: %s\n", program->name,
			json->path, strerror(-ret));
		status = status ? status : EX_IOERR;
	}
	host_report(status, !is_free);
	if (!is_free) /* threads are held by the kernel: nothing of theirs may be freed */
		_exit(status);
	session_free(session);
	return status;
}

static void refuse(const struct program *program, const struct refusal *refusal)
{
	fprintf(stderr, "%s: %s%s\n", program->name, refusal->text,
		refusal->is_name_taken ? program->if_it_exists : "");
}

static int record(void *context)
{
	const struct program *program = context;
	struct session *session = NULL;
	struct report_file json;
	struct refusal refusal = { .exit_status = EX_SOFTWARE };
	int signal_fd = supervise_signals(), ret;

	if (signal_fd < 0)
		return program_say(program->name, EX_OSERR, "can't take signals");
	ret = report_prepare(&json, program->json);
	if (ret < 0) {
		fprintf(stderr, "%s: can't write the report to %s: %s\n", program->name,
			program->json, strerror(-ret));
		return EX_CANTCREAT;
	}
	ret = session_create(&session, program->config, &refusal);
	if (ret == 0)
		ret = session_arm(session, &refusal);
	if (ret == 0 && supervise_is_cancelled(signal_fd)) {
		session_discard(session);
		snprintf(refusal.text, sizeof(refusal.text),
			 "ended by a signal before the start: nothing was recorded");
		refusal.exit_status = EXIT_STOPPED;
		ret = -EINTR;
	}
	if (ret == 0)
		ret = supervise(session, signal_fd, program->live, program->log_interval_ns, &refusal);
	if (ret >= 0)
		return finish(program, session, &json, ret == 1);
	report_discard(&json);
	refuse(program, &refusal);
	if (session && session_has_threads(session))
		_exit(refusal.exit_status); /* not started as a whole, and something of it does not end */
	session_free(session);
	return refusal.exit_status;
}

int program_run(const struct program *program)
{
	static const struct host_child recorder = {
		.name = "recorder",
		.remains = "what its journal calls durable is on the disks",
		.killed_status = 2,
	};

	return host_run(record, (void *)program, &recorder);
}
