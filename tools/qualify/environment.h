/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * environment.h - what a disk is and lies on, and what machine it is in
 *
 *   environment_look() for each disk; host_look() -> trial.h
 *
 * Threads: any. Errors: none; what sysfs does not tell stays unknown.
 */
#ifndef VSIB_TOOLS_QUALIFY_ENVIRONMENT_H
#define VSIB_TOOLS_QUALIFY_ENVIRONMENT_H

#include "tools/sysfs.h"
#include "tools/qualify/trial.h"

/**
 * environment_look() - of one disk
 * @target: opened; or a block device: its disk_device, and no dir_fd
 *
 * A dm that lies on one disk alone is told of as that disk, but for its name, size and largest request. A loop
 * device's serial is the path of its file. May wait for the disk (its free space).
 */
void environment_look(const struct sysfs *sysfs, const struct target *target,
		      struct trial_environment *environment);

/**
 * environment_shared_node() - the name of the lowest device that all these disks lie on or behind
 * Return: "" = none, or one disk only; belongs to @disks.
 */
const char *environment_shared_node(const struct trial_disk *disks, unsigned count);

/**
 * host_look() - name, kernel, processors, memory, and the limits of unwritten memory as they work out now
 *
 * A limit that is a ratio counts of what may be unwritten: free memory and file pages.
 */
void host_look(const struct sysfs *sysfs, struct trial_host *host);

#endif
