/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stripe.h - which disk gets the next unit: arithmetic and policy alone, no disk needed to test it
 *
 * any    Of the disks that can take a unit now, the one with the largest share of free space, so
 *        that unequal disks fill at the same time. A disk can take one while it works, owns fewer
 *        than two and its oldest write is at most a second old. When none can, the unit goes to
 *        nobody: whichever disk is free first takes it from the ring.
 * round  Strict turn over the disks that work.
 * Threads: pure functions.
 */
#ifndef VSIB_RECORDER_STRIPE_H
#define VSIB_RECORDER_STRIPE_H

#include <stdbool.h>
#include <stdint.h>

#define STRIPE_NOBODY UINT32_MAX
#define STRIPE_UNITS_MAX 2
#define STRIPE_SLOW_NS INT64_C(1000000000)

/* What the policy looks at; a snapshot taken by the reader. */
struct stripe_disk {
	bool is_usable;       /* not failed, full, stuck or read-only */
	unsigned open_units;  /* units it owns that are not durable yet */
	int64_t write_age_ns; /* age of its oldest write in flight; 0 = none */
	uint64_t free_bytes;  /* left on it, less what is assigned to it already */
	uint64_t total_bytes; /* size of its file system */
};

/** stripe_can_take() - may this disk own one more unit now? */
bool stripe_can_take(const struct stripe_disk *disk);

/**
 * stripe_any() - the disk for the next unit under policy any
 * Return: its index, or STRIPE_NOBODY.
 */
uint32_t stripe_any(const struct stripe_disk *disks, uint32_t disk_count);

/**
 * stripe_round() - the disk after @previous in strict turn
 * @previous: the last one, STRIPE_NOBODY at the start Return: index of the next usable disk (may
 * be @previous itself), STRIPE_NOBODY when none is usable.
 */
uint32_t stripe_round(const struct stripe_disk *disks, uint32_t disk_count, uint32_t previous);

/**
 * stripe_locate() - where a byte of the stream lies when units go round over disks without loss
 * @offset: in the stream; @unit_bytes: > 0; @disk_count: > 0
 * @disk, @disk_offset: the disk, and the position in that disk's own sequence of bytes
 */
void stripe_locate(uint64_t offset, uint64_t unit_bytes, uint32_t disk_count, uint32_t *disk,
		   uint64_t *disk_offset);

#endif
