/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_path.h - the devices from a disk, or from the device of a source, up to where its bus begins
 *
 *   device_path_look() -> device_path_narrowest(), device_path_capable(), device_path_shared()
 *
 * Threads: any.
 */
#ifndef VSIB_TOOLS_QUALIFY_DEVICE_PATH_H
#define VSIB_TOOLS_QUALIFY_DEVICE_PATH_H

#include "tools/sysfs.h"
#include "tools/qualify/trial.h"

/**
 * device_path_look() - from @directory upwards
 * @directory: resolved: of a disk, or of any other device
 * @nodes:     TRIAL_PATH_MAX; what doesn't fit is left out at the upper end
 *
 * The path goes on below a loop device's file and below md and dm. Where these lie on several disks, only what all
 * of them have in common follows, and the node of the md has the links of its members together, as the level uses
 * them (raid0 of two: twice the slower one).
 * Return: so many nodes.
 */
unsigned device_path_look(const struct sysfs *sysfs, const char *directory, struct trial_node *nodes);

/**
 * device_path_up() - to the directory above; from an NVMe disk of several controllers, to the first of them
 * @directory: resolved; changed
 * Return: false: there is no device above.
 */
bool device_path_up(const struct sysfs *sysfs, char *directory);

/** device_path_narrowest() - the node with the slowest link, the lowest of several. Return: NULL: none is known. */
const struct trial_node *device_path_narrowest(const struct trial_node *nodes, unsigned count);

/**
 * device_path_capable() - what the whole way could carry, were all its links as fast as their two ends can do
 * Return: payload in bit/s; -1: not known of its narrowest link.
 */
double device_path_capable(const struct trial_node *nodes, unsigned count);

/** device_path_shared() - the lowest node that both have. Return: one of @a; NULL: none. */
const struct trial_node *device_path_shared(const struct trial_node *a, unsigned a_count,
					    const struct trial_node *b, unsigned b_count);

#endif
