/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pressure.h - what others did to the disk and to the machine while a run lasted
 *
 *   pressure_begin() -> the run -> pressure_end()
 *
 * Read from /proc/diskstats and /proc/pressure, before and after. Threads: any.
 */
#ifndef VSIB_TOOLS_QUALIFY_PRESSURE_H
#define VSIB_TOOLS_QUALIFY_PRESSURE_H

#include <sys/types.h>

#include "tools/sysfs.h"
#include "tools/qualify/trial.h"

/* The counters at a moment; -1 = not known. */
struct pressure {
	dev_t disk;      /* whose sectors are counted; 0 = none */
	int64_t at_ns;   /* CLOCK_MONOTONIC */
	int64_t sectors; /* of 512 bytes, read and written */
	int64_t io_full_us, cpu_some_us, memory_some_us;
};

/**
 * pressure_begin() - just before a run
 * @disk: of the target: the whole disk, or a loop device; 0: only the machine. Partitions count with their disk, and
 *        where a device lies on one disk alone (encryption, a volume) that one counts, so that others' parts are seen.
 */
void pressure_begin(struct pressure *begun, const struct sysfs *sysfs, dev_t disk);

/**
 * pressure_end() - just after it, when all is synced
 * @own_bytes: what the run itself wrote to the disk and read from it
 *
 * A file system's own metadata count as others' do: some parts in a thousand of a long run.
 */
void pressure_end(const struct pressure *begun, const struct sysfs *sysfs, uint64_t own_bytes,
		  struct trial_pressure *result);

#endif
