/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/stalls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"

#define NEIGHBOURS 16
#define NEIGHBOURS_OUT 2 /* the longest of them are left out: they may be stalls themselves */
#define BUNCH_SHARE \
	0.25 /* a write that took less of its usual time came back with the one before */
#define NEARLY_EMPTY 0.05 /* of the ring */

struct cost {
	int64_t took_ns;
	uint64_t bytes;
};

/* Keeps the longest of the writes seen, longest first. */
static void keep_longest(struct cost *longest, struct cost cost)
{
	for (unsigned k = 0; k < NEIGHBOURS_OUT; k++) {
		struct cost shorter = longest[k];

		if (cost.took_ns <= shorter.took_ns)
			continue;
		longest[k] = cost;
		cost = shorter;
	}
}

/* ns per byte of the writes from @first to @end, without those that are stalls beside them; 0 = there are none */
static double usual_cost(const struct services *services, size_t first, size_t end)
{
	struct cost longest[NEIGHBOURS_OUT] = { 0 }, sum = { 0 }, rest;
	double mean;

	for (size_t i = first; i < end; i++) {
		struct cost cost = { service_ns(&services->items[i]), services->items[i].bytes };

		keep_longest(longest, cost);
		sum.took_ns += cost.took_ns;
		sum.bytes += cost.bytes;
	}
	if (sum.bytes == 0)
		return 0;
	mean = (double)sum.took_ns / (double)sum.bytes;
	rest = sum;
	for (unsigned k = 0; k < NEIGHBOURS_OUT; k++) {
		if ((double)longest[k].took_ns <= STALL_FACTOR * mean * (double)longest[k].bytes)
			continue;
		rest.took_ns -= longest[k].took_ns;
		rest.bytes -= longest[k].bytes;
	}
	return rest.bytes ? (double)rest.took_ns / (double)rest.bytes : mean;
}

/* ns per byte, of those before @from and those from @to on */
static double cost_around(const struct services *services, size_t from, size_t to, double known_cost)
{
	size_t first = from > NEIGHBOURS ? from - NEIGHBOURS : 0,
	       end = services->count - to > NEIGHBOURS ? to + NEIGHBOURS : services->count;
	double before = usual_cost(services, first, from), behind = usual_cost(services, to, end);

	return fmax(known_cost, fmax(before, behind));
}

static int add(struct stalls *stalls, const struct stall *stall)
{
	if (stalls->count == stalls->capacity) {
		size_t capacity = stalls->capacity ? stalls->capacity * 2 : 64;
		struct stall *items = realloc(stalls->items, capacity * sizeof(items[0]));

		if (!items)
			return -ENOMEM;
		stalls->items = items;
		stalls->capacity = capacity;
	}
	stalls->items[stalls->count++] = *stall;
	return 0;
}

/* The writes that came back with the one at @first, right behind it. Return: where they end. */
static size_t bunch_end(const struct services *services, size_t first, double cost, uint64_t *bytes)
{
	size_t end = first + 1;

	*bytes = services->items[first].bytes;
	while (end < services->count) {
		const struct service *next = &services->items[end];

		if (next->from_ns > next[-1].to_ns ||
		    (double)service_ns(next) > BUNCH_SHARE * cost * (double)next->bytes)
			break;
		*bytes += next->bytes;
		end++;
	}
	return end;
}

int stalls_find(struct stalls *stalls, struct services *services, unsigned disk, double known_bps)
{
	double known_cost = known_bps > 0 ? 8 * (double)UNITS_NS_PER_S / known_bps : 0;
	uint64_t after_bytes = 0;

	for (size_t i = 0; i < services->count; after_bytes += services->items[i++].bytes) {
		struct service *service = &services->items[i];
		int64_t took_ns = service_ns(service);
		uint64_t bytes;
		double cost;
		int ret;

		service->stalled_ns = 0;
		if (took_ns < STALL_LEAST_NS)
			continue;
		cost = cost_around(services, i, i + 1, known_cost);
		bunch_end(services, i, cost, &bytes);
		if (cost == 0 || (double)took_ns <= STALL_FACTOR * cost * (double)bytes)
			continue;
		service->stalled_ns = took_ns - (int64_t)(cost * (double)service->bytes);
		ret = add(stalls, &(struct stall){ .disk = disk,
						   .at_ns = service->from_ns,
						   .took_ns = took_ns,
						   .after_bytes = after_bytes });
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct stall *left = a, *right = b;

	return (left->at_ns > right->at_ns) - (left->at_ns < right->at_ns);
}

/* From the stall's beginning until the ring is nearly empty, or the run over. @sample goes forward. */
static int64_t cluster_ns(const struct stall *stall, const struct trial_run *run, size_t *sample)
{
	const struct trial_series *series = &run->series;
	double limit = fmax(NEARLY_EMPTY * (double)run->ring_bytes, 2 * (double)run->block_bytes);
	size_t at = *sample;

	while (at < series->count && series->samples[at].at_ns < stall->at_ns + stall->took_ns)
		at++;
	*sample = at;
	while (at < series->count && (double)series->samples[at].ring_bytes > limit)
		at++;
	return at < series->count && at > *sample ? series->samples[at].at_ns - stall->at_ns :
						    stall->took_ns;
}

static double largest_share(const struct stalls *stalls, const struct trial_run *run)
{
	int64_t lost_ns[TARGET_MAX] = { 0 };
	double largest = 0;

	if (run->duration_ns <= 0)
		return 0;
	for (size_t i = 0; i < stalls->count; i++) {
		unsigned disk = stalls->items[i].disk;

		if (disk >= TARGET_MAX)
			continue;
		lost_ns[disk] += stalls->items[i].took_ns;
		largest = fmax(largest, (double)lost_ns[disk] / (double)run->duration_ns);
	}
	return fmin(largest, 1);
}

void stalls_sum(struct stalls *stalls, const struct trial_run *run, double rate_bps,
		struct judgement_stalls *sum)
{
	size_t sample = 0;
	int64_t covered_ns = INT64_MIN;

	*sum = (struct judgement_stalls){ .worst_disk = -1, .mean_interval_s = INFINITY };
	if (stalls->count == 0)
		return;
	qsort(stalls->items, stalls->count, sizeof(stalls->items[0]), by_time);
	for (size_t i = 0; i < stalls->count; i++) {
		const struct stall *stall = &stalls->items[i];
		double took_s = (double)stall->took_ns / (double)UNITS_NS_PER_S;

		sum->count++;
		sum->total_s += took_s;
		if (took_s > sum->worst_s) {
			sum->worst_s = took_s;
			sum->worst_at_s = (double)stall->at_ns / (double)UNITS_NS_PER_S;
			sum->worst_disk = (int)stall->disk;
		}
		if (stall->at_ns >= covered_ns) { /* else it is part of the cluster before */
			int64_t length_ns = cluster_ns(stall, run, &sample);

			covered_ns = stall->at_ns + length_ns;
			sum->longest_cluster_s = fmax(sum->longest_cluster_s,
						      (double)length_ns / (double)UNITS_NS_PER_S);
		}
	}
	if (stalls->count > 1)
		sum->mean_interval_s =
			(double)(stalls->items[stalls->count - 1].at_ns - stalls->items[0].at_ns) /
			(double)UNITS_NS_PER_S / (double)(stalls->count - 1);
	sum->ring_need_bytes = rate_bps / 8 * sum->worst_s;
	sum->share = largest_share(stalls, run);
}

static int by_length(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

int stalls_survival(const struct services *disks, unsigned disk_count, struct judgement *judgement)
{
	size_t count = 0, at = 0, longer;
	int64_t *waited_ns;

	judgement->survival_count = 0;
	for (unsigned d = 0; d < disk_count; d++)
		count += disks[d].count;
	if (count == 0)
		return 0;
	waited_ns = calloc(count, sizeof(waited_ns[0]));
	if (!waited_ns)
		return -ENOMEM;
	for (unsigned d = 0; d < disk_count; d++)
		for (size_t i = 0; i < disks[d].count; i++)
			waited_ns[at++] = disks[d].items[i].waited_ns;
	qsort(waited_ns, count, sizeof(waited_ns[0]), by_length);
	/* the points lie evenly on a logarithmic axis, from all of them down to the longest alone */
	for (longer = count; longer > 0 && judgement->survival_count < JUDGEMENT_CURVE_MAX;) {
		size_t next = longer * 15 / 16;

		judgement->survival[judgement->survival_count].seconds =
			(double)waited_ns[count - longer] / (double)UNITS_NS_PER_S;
		judgement->survival[judgement->survival_count++].share = (double)longer / (double)count;
		longer = next < longer ? next : longer - 1;
	}
	free(waited_ns);
	return 0;
}

void stalls_free(struct stalls *stalls)
{
	free(stalls->items);
	memset(stalls, 0, sizeof(*stalls));
}
