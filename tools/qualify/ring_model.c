/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/ring_model.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "recorder/target.h"
#include "tools/qualify/statistics.h"

#define SAMPLES_MAX ((size_t)4096) /* levels that the median is taken of */

struct departure {
	double at_s, bytes;
};

struct lane {
	const struct services *services;
	size_t next;
	double free_s;
};

static size_t count_writes(const struct ring_model *model)
{
	size_t count = 0;

	for (unsigned d = 0; d < model->disk_count; d++)
		count += model->disks[d].count;
	return count;
}

static unsigned make_lanes(const struct ring_model *model, struct lane *lanes)
{
	unsigned count = 0;

	for (unsigned d = 0; d < model->disk_count && count < TARGET_MAX; d++)
		if (model->disks[d].count)
			lanes[count++] = (struct lane){ .services = &model->disks[d] };
	return count;
}

static struct lane *first_free(struct lane *lanes, unsigned count)
{
	struct lane *best = &lanes[0];

	for (unsigned i = 1; i < count; i++)
		if (lanes[i].free_s < best->free_s)
			best = &lanes[i];
	return best;
}

static int by_time(const void *a, const void *b)
{
	const struct departure *left = a, *right = b;

	return (left->at_s > right->at_s) - (left->at_s < right->at_s);
}

/* When each block is gone. Return: bytes of them all. */
static double send(const struct ring_model *model, double rate_bps, struct departure *departures,
		   size_t count)
{
	struct lane lanes[TARGET_MAX];
	unsigned lane_count = make_lanes(model, lanes);
	double bytes = 0;

	assert(lane_count > 0);
	for (size_t i = 0; i < count; i++) {
		struct lane *lane = model->stripe == STRIPE_ROUND ? &lanes[i % lane_count] :
								    first_free(lanes, lane_count);
		const struct service *service = &lane->services->items[lane->next];

		lane->next = (lane->next + 1) % lane->services->count;
		bytes += (double)service->bytes;
		lane->free_s =
			fmax(lane->free_s, bytes * 8 / rate_bps) + (double)service_ns(service) / 1e9;
		departures[i] = (struct departure){ lane->free_s, (double)service->bytes };
	}
	if (lane_count > 1)
		qsort(departures, count, sizeof(departures[0]), by_time);
	return bytes;
}

int ring_model_replay(const struct ring_model *model, double rate_bps, struct ring_model_level *level)
{
	size_t count = count_writes(model), step = count / SAMPLES_MAX + 1, sampled = 0;
	struct departure *departures;
	double *levels, bytes, gone = 0;
	int ret = -ENOMEM;

	*level = (struct ring_model_level){ 0 };
	if (count == 0)
		return -ENODATA;
	departures = calloc(count, sizeof(departures[0]));
	levels = calloc(count / step + 1, sizeof(levels[0]));
	if (!departures || !levels)
		goto out;
	bytes = send(model, rate_bps, departures, count);
	for (size_t i = 0; i < count; i++) {
		/* the source ends with the last block: behind that nothing comes any more */
		double held = fmin(rate_bps / 8 * departures[i].at_s, bytes) - gone;

		if (i % step == 0)
			levels[sampled++] = held;
		level->highest_bytes = fmax(level->highest_bytes, held);
		gone += departures[i].bytes;
	}
	level->usual_bytes = statistics_quantile(levels, sampled, 0.5);
	level->duration_s = bytes * 8 / rate_bps;
	ret = 0;
out:
	free(levels);
	free(departures);
	return ret;
}
