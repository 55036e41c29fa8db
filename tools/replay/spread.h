/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spread.h - how durations are spread, in constant memory: buckets that are at most an eighth wide
 *
 * Threads: one adds, any reads; relaxed atomics.
 */
#ifndef VSIB_TOOLS_REPLAY_SPREAD_H
#define VSIB_TOOLS_REPLAY_SPREAD_H

#include <stdatomic.h>
#include <stdint.h>

#define SPREAD_BUCKETS 512

struct spread {
	_Atomic uint64_t counts[SPREAD_BUCKETS];
	_Atomic uint64_t count;
	_Atomic int64_t max_ns;
	_Atomic int64_t sum_ns;
};

/** spread_add() - a duration below 0 counts as 0 */
void spread_add(struct spread *spread, int64_t ns);

/** spread_bucket() - which one is a duration in? spread_edge_ns() - the upper end of a bucket: the first duration not in it */
unsigned spread_bucket(int64_t ns);
int64_t spread_edge_ns(unsigned bucket);

/** spread_quantile_ns() - @share of them are no longer than this, an edge; the maximum where that is less; 0 without any */
int64_t spread_quantile_ns(const struct spread *spread, double share);

/** spread_mean_ns() - 0 without any */
int64_t spread_mean_ns(const struct spread *spread);

#endif
