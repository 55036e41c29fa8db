/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stalls.h - when a disk stood still
 *
 *   stalls_find() for each disk -> stalls_sum() -> stalls_free()
 *
 * A stall is a write that had the disk for more than four times what its bytes take there, and for 10 ms at least. What
 * they take is learned from the sixteen writes before and the sixteen behind it, whichever are slower, so that a disk
 * that has become slow is not one long stall. Writes that come back together, in a bunch, are taken together: a
 * throttled disk gives back what it held for a while all at once, and is steady for all that.
 * Threads: one.
 */
#ifndef VSIB_TOOLS_QUALIFY_STALLS_H
#define VSIB_TOOLS_QUALIFY_STALLS_H

#include "tools/qualify/judge.h"
#include "tools/qualify/service.h"

#define STALL_FACTOR 4
#define STALL_LEAST_NS INT64_C(10000000)

struct stall {
	unsigned disk;
	int64_t at_ns;        /* its beginning, since the run's start */
	int64_t took_ns;      /* until something came back */
	uint64_t after_bytes; /* written to that disk before */
};

struct stalls {
	struct stall *items;
	size_t count, capacity;
};

/**
 * stalls_find() - adds this disk's, and marks them in @services (stalled_ns)
 * @known_bps: what the disk does at full speed, if that is known: nothing it does within four times that is a stall;
 *             0 = not known
 *
 * Return: 0; -ENOMEM.
 */
int stalls_find(struct stalls *stalls, struct services *services, unsigned disk, double known_bps);

/**
 * stalls_sum() - their count, length, distance, and what they cost; sorts them by their time
 * @run: in which they were; its series tells when the ring was nearly empty again
 * @rate_bps: of the source; ring_need_bytes is by it
 */
void stalls_sum(struct stalls *stalls, const struct trial_run *run, double rate_bps,
		struct judgement_stalls *sum);

/**
 * stalls_survival() - how large a share of all writes took longer than so many seconds, from submission to return
 * @judgement: survival and survival_count are set
 *
 * Return: 0; -ENOMEM.
 */
int stalls_survival(const struct services *disks, unsigned disk_count, struct judgement *judgement);

void stalls_free(struct stalls *stalls);

#endif
