/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disturbance.h - faults on demand: units that are lost, doubled, swapped, late
 *
 *   disturbance_create() -> disturbance_next() for each unit in its order -> disturbance_free()
 *
 * What happens to a unit is decided by its place and the seed alone: the same faults each time. One fault a unit: it is
 * lost, doubled, or comes behind later ones, of which at least one goes out in its turn and so overtakes it. The first
 * one and, where it is known, the last are spared. So who receives them counts the same.
 * Threads: the player's alone; the counters may be read by any.
 */
#ifndef VSIB_TOOLS_REPLAY_DISTURBANCE_H
#define VSIB_TOOLS_REPLAY_DISTURBANCE_H

#include <stdatomic.h>
#include <stdint.h>

#define DISTURBANCE_DISTANCE_MAX 64

struct disturbance_config {
	double loss, duplicate, reorder; /* share of units, 0 .. 1, and so their sum */
	unsigned reorder_distance; /* a unit that is reordered comes behind so many later ones; 1 .. DISTURBANCE_DISTANCE_MAX */
	int64_t jitter_ns; /* each unit comes up to this much after its time */
	int64_t stall_ns,
		stall_every_ns; /* nothing comes for so long, so often; what was due comes at once then */
	uint64_t seed;
	uint64_t unit_count; /* there will be; 0 = not known: a fault of the last ones may show to nobody */
};

struct disturbance_stats {
	_Atomic uint64_t unit_count, lost_count, lost_bytes, duplicate_count, reordered_count,
		stall_count;
};

/* What becomes of one unit. */
struct disturbance_fate {
	unsigned copies; /* 0 = lost, 1, 2 = doubled */
	unsigned behind; /* to go out behind so many later units; 0 = in its turn */
	int64_t due_ns;  /* when, with jitter and stall: never before an earlier unit */
};

struct disturbance;

/** disturbance_create() - Return: 0; -EINVAL: shares beyond 0 .. 1, distance, or stalls longer than they are apart; -ENOMEM. */
int disturbance_create(struct disturbance **out, const struct disturbance_config *config);
void disturbance_free(struct disturbance *disturbance);

/** disturbance_next() - @number: of the unit, from 0; @due_ns: since the start, or SCHEDULE_NOW; @bytes: of it. Counts. */
void disturbance_next(struct disturbance *disturbance, uint64_t number, int64_t due_ns,
		      uint64_t bytes, struct disturbance_fate *fate);

const struct disturbance_stats *disturbance_stats(const struct disturbance *disturbance);

#endif
