/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spread.c - see spread.h
 *
 * Buckets as of a floating point number: eight to each power of two; below eight nanoseconds one to each.
 */
#include "tools/replay/spread.h"

#include <math.h>

#define STEPS_LOG2 3 /* of a power of two: an eighth is the widest */
#define STEPS (1U << STEPS_LOG2)

unsigned spread_bucket(int64_t ns)
{
	unsigned shift;

	if (ns < (int64_t)STEPS)
		return ns < 0 ? 0 : (unsigned)ns;
	shift = 63 - (unsigned)__builtin_clzll((uint64_t)ns) - STEPS_LOG2;
	return (shift + 1) * STEPS + ((unsigned)(ns >> shift) & (STEPS - 1));
}

int64_t spread_edge_ns(unsigned bucket)
{
	if (bucket < STEPS)
		return bucket + 1;
	if (bucket >= spread_bucket(INT64_MAX))
		return INT64_MAX;
	return (int64_t)(STEPS + bucket % STEPS + 1) << (bucket / STEPS - 1);
}

/* relaxed throughout: one thread writes, and each counter stands for itself */
void spread_add(struct spread *spread, int64_t ns)
{
	_Atomic uint64_t *bucket = &spread->counts[spread_bucket(ns)];

	if (ns < 0)
		ns = 0;
	atomic_store_explicit(bucket, atomic_load_explicit(bucket, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	atomic_store_explicit(&spread->count,
			      atomic_load_explicit(&spread->count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	atomic_store_explicit(&spread->sum_ns,
			      atomic_load_explicit(&spread->sum_ns, memory_order_relaxed) + ns,
			      memory_order_relaxed);
	if (ns > atomic_load_explicit(&spread->max_ns, memory_order_relaxed))
		atomic_store_explicit(&spread->max_ns, ns, memory_order_relaxed);
}

int64_t spread_quantile_ns(const struct spread *spread, double share)
{
	uint64_t count = atomic_load_explicit(&spread->count, memory_order_relaxed), seen = 0;
	int64_t max_ns = atomic_load_explicit(&spread->max_ns, memory_order_relaxed);
	double wanted = ceil(share * (double)count);

	if (count == 0)
		return 0;
	for (unsigned i = 0; i < SPREAD_BUCKETS; i++) {
		seen += atomic_load_explicit(&spread->counts[i], memory_order_relaxed);
		if (seen > 0 && (double)seen >= wanted)
			return spread_edge_ns(i) < max_ns ? spread_edge_ns(i) : max_ns;
	}
	return max_ns;
}

int64_t spread_mean_ns(const struct spread *spread)
{
	uint64_t count = atomic_load_explicit(&spread->count, memory_order_relaxed);

	return count ? atomic_load_explicit(&spread->sum_ns, memory_order_relaxed) / (int64_t)count : 0;
}
