/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/sum.h"

#include <errno.h>

#include "drivers/units.h"
#include "recorder/journal.h"

#define SUM_AGE_NS INT64_C(1500000000) /* it spans so much time at most: the journal follows */

int sum_open(struct sum *sum)
{
	sum->state = XXH3_createState();
	sum->is_due = true;
	return sum->state ? 0 : -ENOMEM;
}

void sum_close(struct sum *sum)
{
	XXH3_freeState(sum->state);
	sum->state = NULL;
}

void sum_look(struct sum *sum, const struct layout_plan *plan)
{
	if (sum->state && (plan->head_bytes || /* its header parts it from the one before */
			   sum->bytes + plan->block_bytes > JOURNAL_SEGMENT_MAX ||
			   units_monotonic_ns() - sum->began_ns > SUM_AGE_NS))
		sum->is_due = true;
}

enum segment_sum sum_begin(struct sum *sum, uint64_t stream_offset)
{
	if (!sum->state)
		return SUM_OURS;
	if (!sum->is_due && stream_offset == sum->stream_end)
		return SUM_GOES_ON;
	sum->is_due = false;
	sum->bytes = 0;
	sum->began_ns = units_monotonic_ns();
	XXH3_64bits_reset(sum->state);
	return SUM_STARTS;
}

void sum_add(struct sum *sum, const void *data, size_t bytes, uint64_t stream_offset)
{
	if (!sum->state)
		return;
	XXH3_64bits_update(sum->state, data, bytes);
	sum->bytes += bytes;
	sum->stream_end = stream_offset + bytes;
}

bool sum_end(const struct sum *sum, uint64_t *xxh3)
{
	if (!sum->state || sum->is_due)
		return false;
	*xxh3 = XXH3_64bits_digest(sum->state);
	return true;
}
