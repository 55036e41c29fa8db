/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/array.h"

#define RATE_WINDOWS 120
#define SURVIVAL_STEPS 160

int curve_add(struct curve *curve, double x, double y)
{
	struct curve_point *point;

	if (!isfinite(x) || !isfinite(y))
		return 0;
	point = array_room(&curve->points, curve->count, sizeof(*point));
	if (!point)
		return -ENOMEM;
	*point = (struct curve_point){ x, y };
	curve->count++;
	return 0;
}

void curve_free(struct curve *curve)
{
	free(curve->points);
	*curve = (struct curve){ 0 };
}

/* ---- over time ---- */

static size_t fullest(const struct trial_series *series, size_t from, size_t to)
{
	size_t found = from;

	for (size_t i = from + 1; i < to; i++)
		if (series->samples[i].ring_bytes > series->samples[found].ring_bytes)
			found = i;
	return found;
}

size_t curve_thin(const struct trial_series *series, size_t *kept, size_t most)
{
	size_t stretches = (most - 1) / 2, count = 0, from = 1;

	if (series->count <= most) {
		for (size_t i = 0; i < series->count; i++)
			kept[i] = i;
		return series->count;
	}
	kept[count++] = 0;
	for (size_t i = 0; i < stretches; i++) {
		size_t to = 1 + (series->count - 1) * (i + 1) / stretches;
		size_t high = fullest(series, from, to);

		kept[count++] = high;
		if (high != to - 1)
			kept[count++] = to - 1;
		from = to;
	}
	return count;
}

static double ring_of(const struct trial_sample *sample)
{
	return (double)sample->ring_bytes;
}

static double temperature_of(const struct trial_sample *sample)
{
	return sample->temperature_c > -1000 ? sample->temperature_c : NAN;
}

static int over_time(struct curve *curve, const struct trial_run *run,
		     double (*value)(const struct trial_sample *))
{
	size_t kept[CURVE_POINTS_MAX], count = curve_thin(&run->series, kept, CURVE_POINTS_MAX);
	int ret = 0;

	for (size_t i = 0; i < count && ret == 0; i++) {
		const struct trial_sample *sample = &run->series.samples[kept[i]];

		ret = curve_add(curve, (double)sample->at_ns / 1e9, value(sample));
	}
	return ret;
}

int curve_ring(struct curve *curve, const struct trial_run *run)
{
	return over_time(curve, run, ring_of);
}

int curve_temperature(struct curve *curve, const struct trial_run *run)
{
	return over_time(curve, run, temperature_of);
}

/* ---- of the writes ---- */

static size_t write_count(const struct trial_part *part)
{
	return part->trace ? trace_count(part->trace) : 0;
}

int curve_rate(struct curve *curve, const struct trial_part *part)
{
	size_t count = write_count(part);
	const struct trace_write *writes = count ? part->trace->writes : NULL;
	uint64_t all_bytes = 0, done_bytes = 0, from_bytes = 0;
	int64_t from_ns = count ? writes[0].started_ns : 0;
	int ret = 0;

	for (size_t i = 0; i < count; i++)
		all_bytes += writes[i].bytes;
	for (size_t i = 0; i < count && ret == 0; i++) {
		uint64_t window_bytes;

		done_bytes += writes[i].bytes;
		window_bytes = done_bytes - from_bytes;
		if (window_bytes < all_bytes / RATE_WINDOWS && i + 1 < count)
			continue;
		/* What is left over in the end would be a window of chance. */
		if (window_bytes < all_bytes / RATE_WINDOWS / 2 || writes[i].ended_ns <= from_ns)
			continue;
		ret = curve_add(curve, (double)done_bytes,
				(double)window_bytes * 8e9 / (double)(writes[i].ended_ns - from_ns));
		from_bytes = done_bytes;
		from_ns = writes[i].ended_ns;
	}
	return ret;
}

static int by_value(const void *a, const void *b)
{
	int64_t left, right;

	memcpy(&left, a, sizeof(left));
	memcpy(&right, b, sizeof(right));
	return (left > right) - (left < right);
}

int curve_survival(struct curve *curve, const struct trial_part *part)
{
	size_t count = write_count(part), left = SIZE_MAX;
	int64_t *took = count ? malloc(count * sizeof(*took)) : NULL;
	int ret = 0;

	if (count == 0)
		return 0;
	if (!took)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		took[i] = part->trace->writes[i].ended_ns - part->trace->writes[i].started_ns;
	qsort(took, count, sizeof(*took), by_value);
	/* Steps of equal ratio in what is left: the few long ones at the end each have a point. */
	for (unsigned step = 0; step <= SURVIVAL_STEPS && ret == 0; step++) {
		size_t now = (size_t)llround(pow((double)count, 1.0 - (double)step / SURVIVAL_STEPS));

		if (now == left)
			continue;
		left = now;
		if (took[count - left] > 0)
			ret = curve_add(curve, (double)took[count - left] / 1e9,
					(double)left / (double)count);
	}
	free(took);
	return ret;
}

static int64_t duration_ns(const struct trace_write *write)
{
	return write->ended_ns - write->started_ns;
}

size_t curve_worst_writes(const struct trial_run *run, int64_t least_ns, struct worst_write *worst,
			  size_t most)
{
	size_t found = 0;

	for (unsigned p = 0; p < run->part_count; p++) {
		const struct trial_part *part = &run->parts[p];

		for (size_t i = 0, count = write_count(part); i < count; i++) {
			const struct trace_write *write = &part->trace->writes[i];
			size_t at = found;

			if (duration_ns(write) < least_ns)
				continue;
			while (at > 0 && duration_ns(&worst[at - 1].write) < duration_ns(write))
				at--;
			if (at == most)
				continue;
			if (found < most)
				found++;
			memmove(&worst[at + 1], &worst[at], (found - at - 1) * sizeof(*worst));
			worst[at] = (struct worst_write){ *write, part->disk };
		}
	}
	return found;
}
