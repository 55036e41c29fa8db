/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rollover.h - what it costs a disk to go from one file to the next
 *
 * Shape:   files as the recorder makes them: create, preallocate, write, cut to the true size,
 *          fdatasync, final name, close; each step's time is that of its calls alone. First files
 *          of the size that a recording will have, then the table of small ones, 2 KiB to 8 MiB.
 * Names:   these files have none, since a name could stay behind if the program is killed. What
 *          renaming and syncing the directory would cost is another commit of the file system's
 *          journal: in its place the file's mode is changed and that made durable (fsync). Not in
 *          it: the directory's own blocks, and where a directory holds very many files, finding the
 *          name's place. Nor is the removal, which a recording's files are spared.
 * Threads: one. It never waits long: errands.h.
 */
#ifndef VSIB_TOOLS_QUALIFY_ROLLOVER_H
#define VSIB_TOOLS_QUALIFY_ROLLOVER_H

#include "recorder/engine.h"
#include "recorder/sink.h"
#include "tools/qualify/trial_control.h"

struct rollover_config {
	const struct target *target;
	int disk; /* its index, for the progress */
	const struct trial_control *control;
	uint64_t file_bytes;  /* of a recording's files; 0: only the small ones */
	uint64_t block_bytes; /* of a write, whole pages */
	unsigned depth;       /* writes in flight; 0 = as the recorder would choose it */
	unsigned count;       /* files of each size at most; one is made in any case */
	int64_t time_ns;      /* of all: half for the large files, the rest for the table */
	bool use_direct;
	enum engine_kind engine;
	uint64_t most_bytes;      /* of the disk at a time; 0 = all but the reserve */
	const struct sink_io *io; /* NULL = the system's calls */
};

/**
 * rollover_measure() - fills in @rollover
 *
 * Files that there is no room for are left out, and the note says so.
 * Return: 0; -ECANCELED; -ETIMEDOUT, -ENOSPC: not even the smallest; -errno with the sentence in
 *         @rollover->error. What was measured counts all the same.
 */
int rollover_measure(const struct rollover_config *config, struct trial_rollover *rollover);

#endif
