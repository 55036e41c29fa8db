/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qualification.h - runs the phases of a trial, one after the other
 *
 *   qualification_run() -> trial has what was measured, for judge()
 *
 * A phase that can't be run, or ends before its time, leaves its reason in its part of the trial, and the next one runs. A
 * cancel ends the running phase, and no other one begins.
 * Threads: the main thread.
 */
#ifndef VSIB_TOOLS_QUALIFY_QUALIFICATION_H
#define VSIB_TOOLS_QUALIFY_QUALIFICATION_H

#include "tools/end_signals.h"
#include "tools/qualify/plan.h"
#include "tools/qualify/qualify_options.h"
#include "tools/qualify/qualify_progress.h"
#include "tools/sysfs.h"

struct qualification {
	const struct qualify_options *options;
	const struct sysfs *sysfs;
	const struct plan *plan;
	const struct plan_disk *disks;
	struct trial *trial;
	struct trial_control *control;
	struct end_signals *signals;
	struct qualify_progress progress;
};

/**
 * qualification_run() - all steps of the plan
 * Return: 0; 1: the kernel holds threads or writes of a disk: the process can only leave by host_report(status, true)
 *         and _exit(); -ENOMEM.
 */
int qualification_run(struct qualification *qualification);

#endif
