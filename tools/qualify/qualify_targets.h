/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qualify_targets.h - the disks of a trial: opened, looked at, and whether they may be tried
 *
 *   qualify_targets_open() -> qualify_targets_room() -> the trial -> qualify_targets_close()
 *
 * Nothing is written. Threads: the main thread; may wait for a disk.
 */
#ifndef VSIB_TOOLS_QUALIFY_QUALIFY_TARGETS_H
#define VSIB_TOOLS_QUALIFY_QUALIFY_TARGETS_H

#include "tools/qualify/plan.h"
#include "tools/qualify/qualify_options.h"
#include "tools/sysfs.h"

/**
 * qualify_targets_open() - fills in trial->disks and trial->host
 * @error: TARGET_ERROR_LEN: the sentence
 * Return: 0, or the exit status.
 */
int qualify_targets_open(struct trial *trial, const struct qualify_options *options,
			 const struct sysfs *sysfs, char *error);

/** qualify_targets_room() - what the plan wants to know of each. @disks: trial->disk_count of them */
void qualify_targets_room(const struct trial *trial, const struct qualify_options *options,
			  struct plan_disk *disks);

/** qualify_targets_close() - and frees what the trial has measured */
void qualify_targets_close(struct trial *trial);

#endif
