/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/temperature.h"

#include <string.h>

#include "tools/qualify/block_device.h"
#include "tools/qualify/device_node.h"
#include "tools/qualify/device_path.h"

struct sensor_search {
	struct temperature *temperature;
	const struct sysfs *sysfs;
	const char *directory;
};

static double read_c(const struct sysfs *sysfs, const char *sensor, const char *name)
{
	int64_t milli = sysfs_number(sysfs, sensor, name, INT64_MIN);

	return milli == INT64_MIN ? TEMPERATURE_UNKNOWN : (double)milli / 1000;
}

static void add_sensor(struct temperature *temperature, const struct sysfs *sysfs, const char *sensor)
{
	double limit_c = read_c(sysfs, sensor, "temp1_crit");
	char driver[32];

	sysfs_line(sysfs, sensor, "name", driver, sizeof(driver));
	if (strcmp(driver, "drivetemp") != 0 && strcmp(driver, "nvme") != 0)
		return; /* a controller's own, or a board's */
	if (temperature->count == TEMPERATURE_SENSORS_MAX)
		return;
	snprintf(temperature->sensors[temperature->count++], SYSFS_PATH_LEN, "%s", sensor);
	if (limit_c == TEMPERATURE_UNKNOWN)
		limit_c = read_c(sysfs, sensor, "temp1_max");
	if (limit_c != TEMPERATURE_UNKNOWN &&
	    (temperature->limit_c == TEMPERATURE_UNKNOWN || limit_c < temperature->limit_c))
		temperature->limit_c = limit_c;
}

/* hwmon/hwmon3, or hwmon3 in a device that is of a class itself, as nvme's are. */
static int visit(void *context, const char *name)
{
	struct sensor_search *search = context;
	char sensor[SYSFS_PATH_LEN];

	if (strncmp(name, "hwmon", 5) == 0 && name[5] &&
	    snprintf(sensor, sizeof(sensor), "%s/%s", search->directory, name) < (int)sizeof(sensor))
		add_sensor(search->temperature, search->sysfs, sensor);
	return 0;
}

static void look_in(struct temperature *temperature, const struct sysfs *sysfs, const char *directory)
{
	struct sensor_search search = { temperature, sysfs, directory };
	char below[SYSFS_PATH_LEN + 8];

	sysfs_scan(sysfs, directory, visit, &search);
	snprintf(below, sizeof(below), "%s/hwmon", directory);
	search.directory = below;
	sysfs_scan(sysfs, below, visit, &search);
}

/* From the disk up to the first PCI device: there begins what others have as well. */
static void look_above(struct temperature *temperature, const struct sysfs *sysfs, const char *disk)
{
	char path[SYSFS_PATH_LEN];
	unsigned before = temperature->count;

	snprintf(path, sizeof(path), "%s", disk);
	while (temperature->count == before && device_path_up(sysfs, path)) {
		look_in(temperature, sysfs, path);
		if (device_node_is_at(sysfs, path, "pci"))
			return;
	}
}

void temperature_find(struct temperature *temperature, const struct sysfs *sysfs, dev_t disk)
{
	char directory[SYSFS_PATH_LEN];
	struct block_list disks;

	temperature->count = 0;
	temperature->limit_c = TEMPERATURE_UNKNOWN;
	if (!disk || !block_find(sysfs, disk, directory))
		return;
	block_lowest(sysfs, directory, &disks);
	for (unsigned i = 0; i < disks.count; i++)
		look_above(temperature, sysfs, disks.directories[i]);
}

double temperature_read(const struct temperature *temperature, const struct sysfs *sysfs)
{
	double hottest = TEMPERATURE_UNKNOWN;

	for (unsigned i = 0; i < temperature->count; i++) {
		double now = read_c(sysfs, temperature->sensors[i], "temp1_input");

		if (now > hottest)
			hottest = now;
	}
	return hottest;
}
