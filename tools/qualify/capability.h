/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capability.h - what a disk can do, seen from how long it works for what it gets
 *
 *   capability_measure() for each disk -> capability_join() -> capability_free()
 *
 * In each window: bytes / time with a write in flight, without the excess of stalls. So the head-room is known
 * without leaving the rate of the recording.
 * Threads: one.
 */
#ifndef VSIB_TOOLS_QUALIFY_CAPABILITY_H
#define VSIB_TOOLS_QUALIFY_CAPABILITY_H

#include "recorder/layout.h"
#include "tools/qualify/service.h"

struct capability_window {
	double at_s;     /* its beginning, since the run's */
	double at_bytes; /* written before it */
	double rate_bps; /* 0 = nothing was written in it; never at the end of capability_measure() */
};

struct capability {
	struct capability_window *windows;
	size_t count;
	double window_s;
	double median_bps, low_bps; /* low: the 5th percentile; 0 = there are no windows */
};

/** capability_window_ns() - 10 s, less for a run that is shorter than 200 s, but 1 s and eight blocks at the least */
int64_t capability_window_ns(int64_t duration_ns, uint64_t block_bytes, double rate_bps);

/**
 * capability_measure() - the windows of one disk
 *
 * A window in which nothing was written is told as the one before. Return: 0; -ENOMEM.
 */
int capability_measure(struct capability *capability, const struct services *services,
		       int64_t duration_ns, int64_t window_ns);

/**
 * capability_join() - of several disks together: the sum, or what the slowest makes of it in strict turn
 * @disks: with the same window
 *
 * Return: 0; -ENOMEM.
 */
int capability_join(struct capability *all, const struct capability *disks, unsigned disk_count,
		    enum stripe_policy stripe);

/** capability_low_until() - the 5th percentile of the windows that begin before @bytes were written; -ENOMEM < 0 */
int capability_low_until(const struct capability *capability, double bytes, double *low_bps);

/** capability_free() - a zeroed one is fine */
void capability_free(struct capability *capability);

#endif
