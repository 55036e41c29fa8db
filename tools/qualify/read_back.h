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
 * Threads: one, which waits for the disk; is_cancelled is looked at between two reads.
 */
#ifndef VSIB_TOOLS_QUALIFY_READ_BACK_H
#define VSIB_TOOLS_QUALIFY_READ_BACK_H

#include "tools/qualify/run.h"
#include "tools/qualify/trial_control.h"

/**
 * read_back() - all that is left of one disk
 * @out:     filled: bytes read; wrong ones, in words of 8 bytes, or whole segments where there are only sums;
 *           the first of them; the rate of the reads alone; a sentence
 * @index:   of the disk in run_config.disks
 * @number:  of the disk in trial.disks, for who is told
 * @control: NULL = nobody
 *
 * Return: 0: read; that something is wrong stands in @out; -ECANCELED: @out is of what had been read; -EIO,
 *         -errno: a read failed, the sentence in out->text.
 */
int read_back(struct trial_read_back *out, const struct run_files *files, unsigned index,
	      unsigned number, const struct trial_control *control);

#endif
