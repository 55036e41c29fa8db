/* SPDX-License-Identifier: BSD-2-Clause */
/* vsib-qualify: can these disks carry this rate, for this long, with this ring? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/host.h"
#include "ringbuf/memory.h"
#include "tools/end_signals.h"
#include "tools/json_file.h"
#include "tools/output_file.h"
#include "tools/qualify/baseline.h"
#include "tools/qualify/qualification.h"
#include "tools/qualify/qualify_html.h"
#include "tools/qualify/qualify_json.h"
#include "tools/qualify/qualify_options.h"
#include "tools/qualify/qualify_targets.h"
#include "tools/qualify/qualify_text.h"

#define NAME "vsib-qualify"

/* All that lives as long as the child. A run that is held by the kernel may still look at it, so it is never freed. */
struct program {
	struct qualify_options options;
	struct sysfs sysfs;
	struct trial trial;
	struct trial_control control;
	struct end_signals signals;
	struct plan_disk disks[TARGET_MAX];
	struct plan plan;
	struct judgement judgement;
	struct baseline *baseline;
};

/* Return: @exit_status */
static int say(int exit_status, const char *text)
{
	fprintf(stderr, NAME ": %s\n", text);
	return exit_status;
}

static int list_phases(void)
{
	for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
		printf("%-12s %s\n", trial_phase_name((enum trial_phase)phase),
		       trial_phase_text((enum trial_phase)phase));
	return fflush(stdout) == 0 ? 0 : EX_IOERR;
}

/* ---- before the first phase ---- */

static int check_place(const char *path, const char *what)
{
	int ret = path ? output_file_check(path) : 0;

	if (ret == 0)
		return 0;
	fprintf(stderr, NAME ": can't write the %s report to %s: %s\n", what, path, strerror(-ret));
	return json_file_exit_status(ret);
}

static int check_places(const struct qualify_options *options)
{
	int status = check_place(options->json, "JSON");

	return status ? status : check_place(options->html, "HTML");
}

static int read_baseline(struct program *program)
{
	char error[BASELINE_ERROR_LEN];
	int ret;

	if (!program->options.baseline)
		return 0;
	ret = baseline_read(&program->baseline, program->options.baseline, &program->trial, error);
	if (ret == 0)
		return 0;
	fprintf(stderr, NAME ": %s\n", error);
	return ret == -EBADMSG || ret == -ENODEV || ret == -EFBIG ? EX_CONFIG :
	       ret == -EACCES || ret == -EPERM                    ? EX_NOPERM :
	       ret == -ENOMEM                                     ? EX_OSERR :
								    EX_NOINPUT;
}

static int make_plan(struct program *program)
{
	const struct plan_wanted wanted = {
		.asked = &program->options.asked,
		.only = program->options.only,
		.paced_count = program->options.paced_count,
		.disks = program->disks,
		.disk_count = program->trial.disk_count,
	};
	int ret;

	qualify_targets_room(&program->trial, &program->options, program->disks);
	ret = plan_make(&program->plan, &wanted);
	if (ret < 0)
		return say(ret == -ENOSPC ? EX_CANTCREAT : EX_USAGE, program->plan.error);
	/* what is foretold before it counts on it */
	program->trial.asked.paced_ns = plan_paced_ns(&program->plan);
	snprintf(program->trial.only_part, sizeof(program->trial.only_part), "%s",
		 program->plan.left_out);
	if (!program->options.is_quiet && program->options.live != LIVE_NONE)
		plan_describe(stderr, &program->plan, &wanted);
	return 0;
}

/* Told now, and not after minutes: a ring that will not fit. */
static int check_ring(const struct program *program)
{
	const struct memory_config config = {
		.bytes = program->options.asked.ring_bytes,
		.numa_node = MEMORY_ANY_NODE,
		.use_huge_pages = true,
		.use_lock = true,
	};
	struct memory memory = { .numa_node = MEMORY_ANY_NODE };

	return memory_allow(&memory, &config) < 0 ? say(EX_CONFIG, memory.error) : 0;
}

/* Return: 0, or the exit status of what can't be done. */
static int prepare(struct program *program)
{
	char error[TARGET_ERROR_LEN];
	int status = check_places(&program->options);

	if (!status)
		status = check_ring(program);
	if (status)
		return status;
	if (sysfs_init_from_environment(&program->sysfs) < 0)
		return say(EX_CONFIG, "VSIB_SYSROOT names a directory that is not there");
	program->trial.asked = program->options.asked;
	program->trial.begin_utc_ns = units_realtime_ns();
	status = qualify_targets_open(&program->trial, &program->options, &program->sysfs, error);
	if (status)
		return say(status, error);
	status = read_baseline(program);
	return status ? status : make_plan(program);
}

/* ---- the reports ---- */

static int tell_unwritten(const char *path, const char *what, int error)
{
	fprintf(stderr, NAME ": the %s report %s could not be written: %s\n", what, path,
		output_file_error(error));
	return json_file_exit_status(error);
}

static int write_json(const struct program *program)
{
	json_t *report;
	int ret;

	if (!program->options.json)
		return 0;
	report = qualify_json(&program->trial, &program->judgement);
	ret = report ? json_file_write(report, program->options.json) : -ENOMEM;
	json_decref(report);
	return ret < 0 ? tell_unwritten(program->options.json, "JSON", ret) : 0;
}

static int write_html(const struct program *program, const struct figures *figures)
{
	char *text = NULL;
	int ret;

	if (!program->options.html)
		return 0;
	ret = qualify_html(&text, figures);
	if (ret == 0)
		ret = output_file_write(text, program->options.html);
	free(text);
	return ret < 0 ? tell_unwritten(program->options.html, "HTML", ret) : 0;
}

/* Return: the exit status. */
static int report(struct program *program)
{
	const struct figures figures = {
		.trial = &program->trial,
		.judgement = &program->judgement,
		.baseline = program->baseline,
	};
	int status, json_status;

	program->trial.end_utc_ns = units_realtime_ns();
	if (judge(&program->trial, &program->judgement) < 0)
		return say(EX_OSERR, "no memory for the verdict");
	if (program->options.is_quiet)
		fprintf(stderr, "%s\n", program->judgement.headline);
	else
		qualify_text(stderr, &figures);
	json_status = write_json(program);
	status = write_html(program, &figures);
	status = json_status ? json_status : status;
	return status ? status : (int)program->judgement.result;
}

static int finish(struct program *program, int status)
{
	qualify_targets_close(&program->trial);
	baseline_free(program->baseline);
	return status;
}

/* Of the signals' thread. */
static void cancel(void *context)
{
	struct program *program = context;

	atomic_store_explicit(&program->control.is_cancelled, true, memory_order_relaxed);
	end_signals_say(
		NAME,
		"ending: the report is of what was measured so far; a second signal ends at once");
}

static void leave_at_once(void *context)
{
	(void)context;
	end_signals_say(NAME, "ended by a second signal, without a report");
	host_report(VERDICT_INCONCLUSIVE, true);
	_exit(VERDICT_INCONCLUSIVE);
}

static int qualify(void *context)
{
	struct program *program = context;
	struct qualification qualification = {
		.options = &program->options,
		.sysfs = &program->sysfs,
		.plan = &program->plan,
		.disks = program->disks,
		.trial = &program->trial,
		.control = &program->control,
		.signals = &program->signals,
	};
	int status, ret;

	program->signals.end = cancel;
	program->signals.abort = leave_at_once;
	program->signals.context = program;
	if (end_signals_start(&program->signals) < 0)
		return say(EX_OSERR, "can't take signals");
	status = prepare(program);
	if (status)
		return status;
	qualify_progress_init(&qualification.progress,
			      program->options.is_quiet ? LIVE_NONE : program->options.live,
			      &program->plan, &program->trial);
	ret = qualification_run(&qualification);
	if (ret < 0)
		return say(EX_OSERR, "no memory");
	status = report(program);
	if (ret == 0)
		return finish(program, status);
	fflush(NULL);
	host_report(status, true);
	_exit(status);
}

int main(int argc, char **argv)
{
	static const struct host_child trial = {
		.name = "trial",
		.remains = "nothing of it is left in directories, and nothing is proved",
		.killed_status = VERDICT_INCONCLUSIVE,
	};
	struct program *program = calloc(1, sizeof(*program));
	char error[OPTIONS_ERROR_LEN];
	int status;

	if (!program)
		return say(EX_OSERR, "no memory");
	qualify_options_defaults(&program->options);
	status = qualify_options_parse(&program->options, argc, argv, error);
	if (status)
		status = say(status, error);
	else if (program->options.is_list)
		status = list_phases();
	else
		status = host_run(qualify, program, &trial);
	free(program);
	return status;
}
