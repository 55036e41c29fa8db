/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/staging.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ready {
	uint32_t place;
	uint64_t lost;
};

struct staging {
	unsigned char *memory;
	size_t stride;
	size_t *bytes;       /* by place */
	uint32_t *free;      /* a stack, so that memory used before is used again */
	struct ready *ready; /* a ring */
	uint32_t count, free_count, first_ready, ready_count;
	size_t done; /* of the first ready one */
};

int staging_create(struct staging **out, uint32_t count, size_t bytes_max)
{
	struct staging *staging = calloc(1, sizeof(*staging));

	*out = staging;
	if (!staging)
		return -ENOMEM;
	staging->stride = bytes_max;
	staging->count = count;
	staging->free_count = count;
	staging->memory = malloc(count * bytes_max);
	staging->bytes = calloc(count, sizeof(staging->bytes[0]));
	staging->free = calloc(count, sizeof(staging->free[0]));
	staging->ready = calloc(count, sizeof(staging->ready[0]));
	if (!staging->memory || !staging->bytes || !staging->free || !staging->ready) {
		staging_free(staging);
		*out = NULL;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		staging->free[i] = count - 1 - i;
	return 0;
}

void staging_free(struct staging *staging)
{
	if (!staging)
		return;
	free(staging->ready);
	free(staging->free);
	free(staging->bytes);
	free(staging->memory);
	free(staging);
}

uint32_t staging_keep(struct staging *staging, const void *payload, size_t bytes)
{
	uint32_t place;

	assert(staging->free_count > 0 && bytes <= staging->stride);
	place = staging->free[--staging->free_count];
	staging->bytes[place] = bytes;
	memcpy(staging->memory + place * staging->stride, payload, bytes);
	return place;
}

void staging_drop(struct staging *staging, uint32_t place)
{
	staging->free[staging->free_count++] = place;
}

void staging_push(struct staging *staging, uint32_t place, uint64_t lost)
{
	uint32_t at = (staging->first_ready + staging->ready_count++) % staging->count;

	staging->ready[at] = (struct ready){ .place = place, .lost = lost };
}

bool staging_has_ready(const struct staging *staging)
{
	return staging->ready_count > 0;
}

const void *staging_front(const struct staging *staging)
{
	return staging->memory + staging->ready[staging->first_ready].place * staging->stride;
}

static void end_first(struct staging *staging)
{
	staging_drop(staging, staging->ready[staging->first_ready].place);
	staging->first_ready = (staging->first_ready + 1) % staging->count;
	staging->ready_count--;
	staging->done = 0;
}

size_t staging_get(struct staging *staging, void *buf, size_t len, uint64_t *lost)
{
	size_t used = 0;

	*lost = 0;
	while (staging->ready_count > 0 && used < len) {
		struct ready *first = &staging->ready[staging->first_ready];
		size_t bytes = staging->bytes[first->place] - staging->done;

		if (first->lost > 0 && used > 0)
			break;
		*lost += first->lost;
		first->lost = 0;
		if (bytes > len - used)
			bytes = len - used;
		memcpy((unsigned char *)buf + used,
		       staging->memory + first->place * staging->stride + staging->done, bytes);
		used += bytes;
		staging->done += bytes;
		if (staging->done == staging->bytes[first->place])
			end_first(staging);
	}
	return used;
}
