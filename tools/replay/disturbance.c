/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/disturbance.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tools/replay/schedule.h"

enum fault { FAULT_NONE, FAULT_LOSS, FAULT_DUPLICATE, FAULT_REORDER };

struct disturbance {
	struct disturbance_config config;
	struct disturbance_stats stats;
	int64_t last_due_ns;
	int64_t last_stall; /* which one a unit was held by */
};

/* The finalizer of splitmix64: each bit of the number changes every bit of what comes out. */
static uint64_t scramble(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Return: 0 .. 1, 1 not included; @lot: what it is drawn for. */
static double draw(const struct disturbance *d, uint64_t number, uint64_t lot)
{
	uint64_t x = scramble(scramble(d->config.seed + lot) + number);

	return (double)(x >> 11) * 0x1p-53;
}

static enum fault drawn_fault(const struct disturbance *d, uint64_t number)
{
	const struct disturbance_config *config = &d->config;
	double x = draw(d, number, 1);

	if (number == 0 || number + 1 == config->unit_count)
		return FAULT_NONE;
	return x < config->loss                                       ? FAULT_LOSS :
	       x < config->loss + config->duplicate                   ? FAULT_DUPLICATE :
	       x < config->loss + config->duplicate + config->reorder ? FAULT_REORDER :
									FAULT_NONE;
}

/* Will one of those that it is to come behind go out in its turn? */
static bool is_overtaken(const struct disturbance *d, uint64_t number)
{
	unsigned distance = d->config.reorder_distance;

	if (d->config.unit_count && number + distance >= d->config.unit_count)
		return false;
	for (unsigned i = 1; i <= distance; i++) {
		enum fault later = drawn_fault(d, number + i);

		if (later == FAULT_NONE || later == FAULT_DUPLICATE)
			return true;
	}
	return false;
}

int disturbance_create(struct disturbance **out, const struct disturbance_config *config)
{
	struct disturbance *d;
	double sum = config->loss + config->duplicate + config->reorder;

	*out = NULL;
	if (!(config->loss >= 0 && config->duplicate >= 0 && config->reorder >= 0 && sum <= 1 + 1e-9))
		return -EINVAL;
	if (config->reorder > 0 &&
	    (config->reorder_distance < 1 || config->reorder_distance > DISTURBANCE_DISTANCE_MAX))
		return -EINVAL;
	if (config->jitter_ns < 0 || config->stall_ns < 0 ||
	    (config->stall_ns && config->stall_every_ns <= config->stall_ns))
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->config = *config;
	*out = d;
	return 0;
}

void disturbance_free(struct disturbance *disturbance)
{
	free(disturbance);
}

static void count(_Atomic uint64_t *counter, uint64_t more)
{
	/* one writer: no read-modify-write is needed, and nothing travels with it */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

/* The first stall begins when the time between two is over, so that something comes before it. */
static int64_t hold_back(struct disturbance *d, int64_t due_ns)
{
	int64_t stall = d->config.stall_ns ? due_ns / d->config.stall_every_ns : 0;
	int64_t end = stall * d->config.stall_every_ns + d->config.stall_ns;

	if (stall < 1 || due_ns >= end)
		return due_ns;
	if (stall != d->last_stall)
		count(&d->stats.stall_count, 1);
	d->last_stall = stall;
	return end;
}

static int64_t delay(struct disturbance *d, uint64_t number, int64_t due_ns)
{
	if (due_ns == SCHEDULE_NOW)
		return due_ns;
	if (d->config.jitter_ns)
		due_ns += (int64_t)(draw(d, number, 2) * (double)d->config.jitter_ns);
	due_ns = hold_back(d, due_ns);
	if (due_ns < d->last_due_ns)
		due_ns = d->last_due_ns;
	d->last_due_ns = due_ns;
	return due_ns;
}

void disturbance_next(struct disturbance *disturbance, uint64_t number, int64_t due_ns,
		      uint64_t bytes, struct disturbance_fate *fate)
{
	struct disturbance_stats *stats = &disturbance->stats;
	enum fault fault = drawn_fault(disturbance, number);

	*fate = (struct disturbance_fate){ .copies = 1 };
	fate->due_ns = delay(disturbance, number, due_ns);
	count(&stats->unit_count, 1);
	if (fault == FAULT_LOSS) {
		fate->copies = 0;
		count(&stats->lost_count, 1);
		count(&stats->lost_bytes, bytes);
	} else if (fault == FAULT_DUPLICATE) {
		fate->copies = 2;
		count(&stats->duplicate_count, 1);
	} else if (fault == FAULT_REORDER && is_overtaken(disturbance, number)) {
		fate->behind = disturbance->config.reorder_distance;
		count(&stats->reordered_count, 1);
	}
}

const struct disturbance_stats *disturbance_stats(const struct disturbance *disturbance)
{
	return &disturbance->stats;
}
