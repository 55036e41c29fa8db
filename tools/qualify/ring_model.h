/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_model.h - the ring's level if the same disks got the samples at another rate
 *
 * Lindley's recursion, for any number of disks: block i is whole at (i+1) b / r; the disk that takes it begins when
 * it is whole and the disk is through with the one before, and needs what the trace says its next write took of its
 * time (service.h). What the ring holds just before a block goes is what has come by then less what has gone. With
 * policy any the disk that is free first takes the next block; with round they take turns.
 * Where a disk's times are used up they begin again.
 * Threads: one.
 */
#ifndef VSIB_TOOLS_QUALIFY_RING_MODEL_H
#define VSIB_TOOLS_QUALIFY_RING_MODEL_H

#include "recorder/layout.h"
#include "tools/qualify/service.h"

struct ring_model {
	const struct services *disks; /* disk_count, at least one with writes */
	unsigned disk_count;
	enum stripe_policy stripe;
};

struct ring_model_level {
	double highest_bytes;
	double usual_bytes; /* median over the blocks, just before each goes */
	double duration_s;  /* of the stream that was replayed */
};

/** ring_model_replay() - Return: 0; -ENODATA: no disk has a write; -ENOMEM. */
int ring_model_replay(const struct ring_model *model, double rate_bps, struct ring_model_level *level);

#endif
