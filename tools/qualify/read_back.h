/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_back.h - is what was written there, and what is there instead?
 *
 *   run_execute(..., &files) -> read_back() of each disk -> run_files_free()
 *
 * Reads what the run has left, from the disk and not from memory: with direct I/O, or where that is refused,
 * with the page cache dropped before. The simulator's words tell their own place in the stream, so that not
 * only the place of a fault is found but what lies there: an older piece (a write that was lost, or never came
 * to the medium), a later one (the device has less room than it says, and goes round), zeros, or noise. Of
 * another source the sums of what was read from it are compared, segment by segment.
 * Threads: one; another one waits for the disk, which may never answer: see errands.h.
 */
#ifndef VSIB_TOOLS_QUALIFY_READ_BACK_H
#define VSIB_TOOLS_QUALIFY_READ_BACK_H

#include "tools/qualify/run.h"
#include "tools/qualify/trial_control.h"

struct read_back_config {
	const struct run_files *files;
	unsigned index;                      /* of the disk in run_config.disks */
	unsigned number;                     /* of the disk in trial.disks, for who is told */
	const struct trial_control *control; /* NULL = nobody */
	int64_t end_ns; /* CLOCK_MONOTONIC; what is left then is not read; INT64_MAX = all is */
};

/**
 * read_back() - what is left of one disk
 * @out: filled: bytes read; wrong ones, in words of 8 bytes, or whole segments where there are only sums; the first of
 *       them; the rate of the reads alone; a sentence
 *
 * Return: 0: read; that something is wrong stands in @out; -ECANCELED, also when the time is over: @out is of what had
 *         been read; -ETIMEDOUT: the disk does not answer, and what it has of the files must stay; -EIO, -errno: a read
 *         failed. Then out->text has the sentence.
 */
int read_back(struct trial_read_back *out, const struct read_back_config *config);

#endif
