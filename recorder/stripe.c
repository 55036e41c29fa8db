/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/stripe.h"

bool stripe_can_take(const struct stripe_disk *disk)
{
	return disk->is_usable && disk->open_units < STRIPE_UNITS_MAX &&
	       disk->write_age_ns <= STRIPE_SLOW_NS;
}

/* Is a's share of free space larger than b's? 128 bit, because sizes are up to 2^64. */
static bool has_larger_share(const struct stripe_disk *a, const struct stripe_disk *b)
{
	unsigned __int128 left =
		(unsigned __int128)a->free_bytes * (b->total_bytes ? b->total_bytes : 1);
	unsigned __int128 right =
		(unsigned __int128)b->free_bytes * (a->total_bytes ? a->total_bytes : 1);

	return left > right;
}

uint32_t stripe_any(const struct stripe_disk *disks, uint32_t disk_count)
{
	uint32_t best = STRIPE_NOBODY;

	for (uint32_t i = 0; i < disk_count; i++) {
		if (!stripe_can_take(&disks[i]))
			continue;
		/*
		 * an idle disk before one that has something to do: none idles while there is work
		 */
		if (best == STRIPE_NOBODY || disks[i].open_units < disks[best].open_units ||
		    (disks[i].open_units == disks[best].open_units &&
		     has_larger_share(&disks[i], &disks[best])))
			best = i;
	}
	return best;
}

uint32_t stripe_round(const struct stripe_disk *disks, uint32_t disk_count, uint32_t previous)
{
	for (uint32_t i = 1; i <= disk_count; i++) {
		uint32_t next = previous == STRIPE_NOBODY ? i - 1 : (previous + i) % disk_count;

		if (disks[next].is_usable)
			return next;
	}
	return STRIPE_NOBODY;
}

void stripe_locate(uint64_t offset, uint64_t unit_bytes, uint32_t disk_count, uint32_t *disk,
		   uint64_t *disk_offset)
{
	uint64_t unit = offset / unit_bytes;

	*disk = (uint32_t)(unit % disk_count);
	*disk_offset = unit / disk_count * unit_bytes + offset % unit_bytes;
}
