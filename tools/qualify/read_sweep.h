/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_sweep.h - how fast a disk is read: from the beginning on, the same again, and over its length
 *
 * Shape:   direct I/O, past the page cache, 4 MiB at a time. A target is read in a scratch file
 *          that is written before; a device from its beginning. The same MiB again and again comes
 *          from the disk's own memory: that is what the link can do. 21 positions of a device are
 *          read on the way there and back, every second one each way, so that whatever changes with
 *          time doesn't look like a matter of place. The first MiB at a position, which the heads
 *          have to find, doesn't count.
 * Safety:  the device is opened for reading only.
 * Threads: one. It never waits long: errands.h.
 */
#ifndef VSIB_TOOLS_QUALIFY_READ_SWEEP_H
#define VSIB_TOOLS_QUALIFY_READ_SWEEP_H

#include "recorder/engine.h"
#include "recorder/target.h"
#include "tools/qualify/trial_control.h"

#define READ_SWEEP_POSITIONS 21

struct read_sweep_config {
	const struct target *target; /* a directory; NULL: only the device */
	const char *device;          /* may be opened for reading; NULL: only the target */
	int disk;                    /* its index, for the progress */
	const struct trial_control *control;
	int64_t time_ns; /* of the sequential read, and as much for writing before; the ceiling: a quarter */
	int64_t position_ns; /* of each position; 8 MiB at least, but no more than a second. 0 = 100 ms */
	uint64_t most_bytes; /* of the scratch file; 0 = all but the reserve */
	enum engine_kind engine;
	/* a test's own pread(); NULL = the system's */
	ssize_t (*read)(int fd, void *buf, size_t bytes, off_t offset);
};

/**
 * read_sweep() - fills in @read
 *
 * A place that can't be read is named in @read->error, is no point, and the rest is read all the same.
 * Return: 0; -EIO: there were such places; -ECANCELED; -ETIMEDOUT: no answer any more; -EACCES, -errno: not
 *         opened, or not written. But for -ECANCELED with the sentence in @read->error.
 */
int read_sweep(const struct read_sweep_config *config, struct trial_read *read);

/**
 * read_sweep_inner_ratio() - slower end of the device / faster one, each the median of its last three
 *                            points; -1 = too few points
 */
double read_sweep_inner_ratio(const struct trial_read *read);

#endif
