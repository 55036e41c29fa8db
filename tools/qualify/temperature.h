/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * temperature.h - how warm a disk is, as its own sensor says (drivers drivetemp and nvme)
 *
 *   temperature_find() -> temperature_read() again and again
 *
 * Threads: any; a read may wait for the disk (drivetemp asks it).
 */
#ifndef VSIB_TOOLS_QUALIFY_TEMPERATURE_H
#define VSIB_TOOLS_QUALIFY_TEMPERATURE_H

#include <sys/types.h>

#include "tools/sysfs.h"

#define TEMPERATURE_UNKNOWN (-1000.0)
#define TEMPERATURE_SENSORS_MAX 16

struct temperature {
	char sensors[TEMPERATURE_SENSORS_MAX][SYSFS_PATH_LEN]; /* hwmon directories */
	unsigned count;
	double limit_c; /* the lowest that a sensor calls critical, or else its maximum; TEMPERATURE_UNKNOWN */
};

/** temperature_find() - the sensors of all disks below @disk; none is fine */
void temperature_find(struct temperature *temperature, const struct sysfs *sysfs, dev_t disk);

/** temperature_read() - of the hottest, in degrees Celsius; TEMPERATURE_UNKNOWN */
double temperature_read(const struct temperature *temperature, const struct sysfs *sysfs);

#endif
