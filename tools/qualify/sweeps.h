/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweeps.h - how fast a disk takes sequential writes, by their size and by how many are in flight
 *
 *   sweep_blocks() -> its knee is the block -> sweep_depths()
 *
 * Shape:   scratch files, written as a recording's are (scratch_writer.h). Every point begins a
 *          file of its own, whose space is preallocated outside the measured time; when there is no
 *          room left it begins it anew. A point counts from its first write's beginning until its
 *          last one is back: what a disk holds in its queue is waited for. Buffered writes are
 *          synced while the time runs, every 32 MiB at most.
 * Order:   all points from small to large, then all from large to small, and of each the slower
 *          pass counts, with the worst write of both. A cache that is full half-way or a disk that
 *          grows hot slows down what comes after it: going up alone, that would be taken for the
 *          effect of large blocks, and going down for that of small ones. What a disk can do only
 *          once is nothing for a recording, hence the slower one. Before the first point it is
 *          written to for a while that does not count; between the points it has no time to rest.
 * Time:    point_ns for each point, half of it in each pass; but at least three writes, and 32 MiB,
 *          unless those take four times that long, or a second. A point whose writes would take this
 *          disk more than eight seconds is left out, and the note says so.
 * Threads: one.
 */
#ifndef VSIB_TOOLS_QUALIFY_SWEEPS_H
#define VSIB_TOOLS_QUALIFY_SWEEPS_H

#include "recorder/engine.h"
#include "recorder/sink.h"
#include "tools/qualify/trial_control.h"

struct sweep_config {
	const struct target *target;
	int disk; /* its index, for the progress */
	const struct trial_control *control;
	int64_t point_ns;
	uint64_t most_bytes; /* of the disk at a time; 0 = all but the reserve */
	bool use_direct;
	enum engine_kind engine;
	const struct sink_io *io; /* NULL = the system's calls */
	unsigned depth; /* of sweep_blocks(); 0 = for each size as the recorder would choose it */
	uint64_t block_bytes; /* of sweep_depths() */
};

/**
 * sweep_blocks() - 4 KiB to 16 MiB, each twice the last
 * sweep_depths() - 1 to 32 writes in flight, each twice the last
 *
 * What could not be measured is no point. The knee is the smallest within 5 % of the best.
 * Return: 0; -ECANCELED; -ETIMEDOUT, -ENOSPC, -ENOMEM, -errno with the sentence in @sweep->error. The points
 *         that were measured count all the same.
 */
int sweep_blocks(const struct sweep_config *config, struct trial_sweep *sweep);
int sweep_depths(const struct sweep_config *config, struct trial_sweep *sweep);

/** sweep_knee() - as above, of whatever points. Return: index; -1 = none. */
int sweep_knee(const struct trial_sweep *sweep);

#endif
