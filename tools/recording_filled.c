/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "tools/array.h"
#include "tools/recording_parts.h"

static int compare_gaps(const void *a, const void *b)
{
	const struct history_gap *x = a, *y = b;

	if (x->stream_offset != y->stream_offset)
		return x->stream_offset < y->stream_offset ? -1 : 1;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Goes on with the last one, or begins another. */
static int add_filled(struct recording *recording, const struct recording_filled *filled)
{
	struct recording_filled *room,
		*last = recording->filled_count ? &recording->filled[recording->filled_count - 1] :
						  NULL;

	recording->info.filled_bytes += filled->bytes;
	if (last && last->stream_offset + last->bytes == filled->stream_offset &&
	    last->cause == filled->cause && last->is_estimated == filled->is_estimated) {
		last->bytes += filled->bytes;
		return 0;
	}
	room = array_room(&recording->filled, recording->filled_count, sizeof(*room));
	if (!room)
		return -ENOMEM;
	*room = *filled;
	recording->filled_count++;
	return 0;
}

/* What of it lies in data from part *next on; parts before @from are passed. */
static int add_parts(struct recording *recording, const struct history_gap *gap, uint64_t from,
		     size_t *next)
{
	uint64_t end = gap->stream_offset + gap->bytes;
	int ret = 0;

	while (ret == 0 && *next < recording->part_count) {
		const struct part *part = &recording->parts[*next];
		uint64_t part_end = part->stream_offset + part->bytes;
		struct recording_filled filled = {
			.stream_offset = part->stream_offset > from ? part->stream_offset : from,
			.cause = gap->cause,
			.is_estimated = gap->is_estimated,
		};

		if (part->stream_offset >= end)
			break;
		filled.bytes = (part_end < end ? part_end : end) - filled.stream_offset;
		if (part_end > from && part->segment != PART_GAP)
			ret = add_filled(recording, &filled);
		if (part_end > end)
			break;
		++*next;
	}
	return ret;
}

int recording_list_filled(struct recording *recording)
{
	const struct history *history = recording->history;
	struct history_gap *gaps = calloc(history->gap_count + 1, sizeof(*gaps));
	uint64_t position = 0;
	size_t count = 0, next = 0;
	int ret = gaps ? 0 : -ENOMEM;

	for (size_t i = 0; ret == 0 && i < history->gap_count; i++)
		if (history->gaps[i].is_filled)
			gaps[count++] = history->gaps[i];
	if (count)
		qsort(gaps, count, sizeof(gaps[0]), compare_gaps);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		uint64_t end = gaps[i].stream_offset + gaps[i].bytes;

		if (end <= position)
			continue;
		ret = add_parts(recording, &gaps[i],
				gaps[i].stream_offset > position ? gaps[i].stream_offset : position,
				&next);
		position = end;
	}
	free(gaps);
	return ret;
}

const struct recording_filled *recording_filled(const struct recording *recording, size_t *count)
{
	*count = recording->filled_count;
	return recording->filled;
}
