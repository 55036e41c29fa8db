/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/pressure.h"

#include <inttypes.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "drivers/units.h"
#include "tools/qualify/block_device.h"

#define SECTOR_BYTES 512 /* of the statistics, whatever the disk has */

static dev_t counted_disk(const struct sysfs *sysfs, dev_t disk)
{
	char directory[SYSFS_PATH_LEN];

	if (!disk || !block_find(sysfs, disk, directory))
		return disk;
	block_whole(sysfs, directory);
	block_mapped(sysfs, directory);
	return block_number(sysfs, directory);
}

static int64_t read_sectors(const struct sysfs *sysfs, dev_t disk)
{
	FILE *f = disk ? sysfs_open(sysfs, "proc/diskstats") : NULL;
	int64_t sectors = -1;
	char line[512];

	while (f && sectors < 0 && fgets(line, sizeof(line), f)) {
		unsigned major_number, minor_number;
		int64_t read, written;

		if (sscanf(line, "%u %u %*s %*u %*u %" SCNd64 " %*u %*u %*u %" SCNd64,
			   &major_number, &minor_number, &read, &written) == 4 &&
		    makedev(major_number, minor_number) == disk && read >= 0 && written >= 0 &&
		    written <= INT64_MAX - read)
			sectors = read + written;
	}
	if (f)
		fclose(f);
	return sectors;
}

/* The time that tasks ("some") or all of them ("full") have waited, in microseconds since the machine's start. */
static int64_t read_total(const struct sysfs *sysfs, const char *path, const char *which)
{
	FILE *f = sysfs_open(sysfs, path);
	size_t len = strlen(which);
	int64_t total = -1;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "total=");

		if (strncmp(line, which, len) == 0 && line[len] == ' ' && at &&
		    sscanf(at, "total=%" SCNd64, &total) == 1)
			break;
	}
	if (f)
		fclose(f);
	return total;
}

static void look(struct pressure *now, const struct sysfs *sysfs, dev_t disk)
{
	now->disk = disk;
	now->sectors = read_sectors(sysfs, disk);
	now->io_full_us = read_total(sysfs, "proc/pressure/io", "full");
	now->cpu_some_us = read_total(sysfs, "proc/pressure/cpu", "some");
	now->memory_some_us = read_total(sysfs, "proc/pressure/memory", "some");
	now->at_ns = units_monotonic_ns();
}

static double share_of_time(int64_t before_us, int64_t after_us, int64_t ns)
{
	if (before_us < 0 || after_us < before_us || ns <= 0)
		return -1;
	return (double)(after_us - before_us) * 1000 / (double)ns;
}

static double share_of_others(int64_t before, int64_t after, uint64_t own_bytes)
{
	double all;

	if (before < 0 || after < before)
		return -1;
	all = (double)(after - before) * SECTOR_BYTES;
	return all > (double)own_bytes ? (all - (double)own_bytes) / all : 0;
}

void pressure_begin(struct pressure *begun, const struct sysfs *sysfs, dev_t disk)
{
	look(begun, sysfs, counted_disk(sysfs, disk));
}

void pressure_end(const struct pressure *begun, const struct sysfs *sysfs, uint64_t own_bytes,
		  struct trial_pressure *result)
{
	struct pressure now;
	int64_t ns;

	look(&now, sysfs, begun->disk);
	ns = now.at_ns - begun->at_ns;
	result->foreign_share = share_of_others(begun->sectors, now.sectors, own_bytes);
	result->io_full_share = share_of_time(begun->io_full_us, now.io_full_us, ns);
	result->cpu_some_share = share_of_time(begun->cpu_some_us, now.cpu_some_us, ns);
	result->memory_some_share = share_of_time(begun->memory_some_us, now.memory_some_us, ns);
}
