/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/copies.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct stretch {
	uint64_t begin, end;
};

/* Stretches of the stream, in order, that do not touch each other. */
struct set {
	struct stretch *stretches;
	size_t count, room;
};

struct copies {
	pthread_mutex_t lock; /* guards the rest */
	struct set lost[COPIES_MAX];
	struct copies_sum sum;
};

int copies_create(struct copies **out)
{
	struct copies *copies = calloc(1, sizeof(*copies));

	*out = copies;
	if (!copies)
		return -ENOMEM;
	pthread_mutex_init(&copies->lock, NULL);
	return 0;
}

void copies_free(struct copies *copies)
{
	if (!copies)
		return;
	for (unsigned i = 0; i < COPIES_MAX; i++)
		free(copies->lost[i].stretches);
	pthread_mutex_destroy(&copies->lock);
	free(copies);
}

/* The first stretch that ends at @at or behind it. */
static size_t find(const struct set *set, uint64_t at)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->stretches[middle].end < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int make_room(struct set *set)
{
	size_t room = set->room ? 2 * set->room : 16;
	struct stretch *stretches;

	if (set->count < set->room)
		return 0;
	stretches = reallocarray(set->stretches, room, sizeof(*stretches));
	if (!stretches)
		return -ENOMEM;
	set->stretches = stretches;
	set->room = room;
	return 0;
}

static int add(struct set *set, struct stretch new)
{
	size_t first = find(set, new.begin), end = first;
	int ret = make_room(set);

	if (ret < 0)
		return ret;
	for (; end < set->count && set->stretches[end].begin <= new.end; end++) {
		if (set->stretches[end].begin < new.begin)
			new.begin = set->stretches[end].begin;
		if (set->stretches[end].end > new.end)
			new.end = set->stretches[end].end;
	}
	memmove(&set->stretches[first + 1], &set->stretches[end],
		(set->count - end) * sizeof(set->stretches[0]));
	set->stretches[first] = new;
	set->count = set->count - (end - first) + 1;
	return 0;
}

/* Returns how many bytes of it are in the set. */
static uint64_t tell_common(const struct set *set, struct stretch with, copies_tell *tell, void *context)
{
	uint64_t common = 0;

	for (size_t i = find(set, with.begin); i < set->count && set->stretches[i].begin < with.end;
	     i++) {
		struct stretch piece = set->stretches[i];

		piece.begin = piece.begin > with.begin ? piece.begin : with.begin;
		piece.end = piece.end < with.end ? piece.end : with.end;
		if (piece.begin == piece.end)
			continue;
		tell(context, piece.begin, piece.end - piece.begin);
		common += piece.end - piece.begin;
	}
	return common;
}

int copies_lose(struct copies *copies, bool is_second, uint64_t stream_offset, uint64_t bytes,
		enum gap_cause cause, copies_tell *tell, void *context)
{
	struct stretch lost = { stream_offset, stream_offset + bytes };
	int ret;

	if (bytes == 0)
		return 0;
	pthread_mutex_lock(&copies->lock);
	ret = add(&copies->lost[is_second], lost);
	if (ret == 0) {
		copies->sum.lost_bytes[is_second] += bytes;
		copies->sum.gone_bytes[cause] +=
			tell_common(&copies->lost[!is_second], lost, tell, context);
	}
	pthread_mutex_unlock(&copies->lock);
	return ret;
}

struct copies_sum copies_sum(struct copies *copies)
{
	struct copies_sum sum;

	pthread_mutex_lock(&copies->lock);
	sum = copies->sum;
	pthread_mutex_unlock(&copies->lock);
	return sum;
}

uint64_t copies_gone_bytes(const struct copies_sum *sum)
{
	uint64_t bytes = 0;

	for (int cause = 0; cause < GAP_CAUSE_COUNT; cause++)
		bytes += sum->gone_bytes[cause];
	return bytes;
}
