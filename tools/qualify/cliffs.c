/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/cliffs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/units.h"
#include "tools/qualify/statistics.h"

#define FALL 0.7
#define BACK 0.85 /* of the level before: it has recovered */
#define WINDOWS_BEHIND 3
#define NEAR_LIMIT_K 5
#define HOT_C 70
#define TIDYING_NS UNITS_NS_PER_S
#define TIDYING_COUNT 3
#define ZONE_FALL 0.1
#define ZONE_WINDOWS 10
#define STEADY_WINDOWS 5

/* Of a few windows: at most BEFORE_MOST of them. */
#define BEFORE_MOST 32
static double median_rate(const struct capability *capability, size_t first, size_t end)
{
	double rates[BEFORE_MOST];
	size_t count = 0;

	if (end - first > BEFORE_MOST)
		first = end - BEFORE_MOST;
	for (size_t w = first; w < end; w++)
		rates[count++] = capability->windows[w].rate_bps;
	return statistics_quantile(rates, count, 0.5);
}

/*
 * Return: the window that the first cliff behind @from begins in, which has something of both sides; count = there is
 * none.
 */
static size_t find_fall(const struct cliff_view *view, size_t from, double *before_bps, double *after_bps)
{
	const struct capability *capability = view->capability;

	for (size_t w = from + 1; w + WINDOWS_BEHIND <= capability->count; w++) {
		size_t end = w + 1 + WINDOWS_BEHIND;

		*before_bps = median_rate(capability, from, w);
		if (view->known_bps > 0)
			*before_bps = fmin(*before_bps, view->known_bps);
		*after_bps = median_rate(capability, w, w + WINDOWS_BEHIND);
		/* the next one lies whole behind it: one slow window before the fall is not its begin */
		if (capability->windows[w].rate_bps >= FALL * *before_bps ||
		    capability->windows[w + 1].rate_bps >= FALL * *before_bps ||
		    *after_bps >= FALL * *before_bps)
			continue;
		*after_bps = median_rate(capability, w + 1,
					 end < capability->count ? end : capability->count);
		if (*after_bps < FALL * *before_bps)
			return w;
	}
	return capability->count;
}

/* Of several falls one below the other the deepest is what a recording has to live with. */
static size_t find_deepest_fall(const struct cliff_view *view, struct judgement_cliff *cliff)
{
	size_t count = view->capability->count;
	size_t fall = find_fall(view, 0, &cliff->before_bps, &cliff->after_bps);
	size_t next = fall;

	while (next < count) {
		double before_bps, after_bps;

		next = find_fall(view, next, &before_bps, &after_bps);
		if (next == count || after_bps >= FALL * cliff->after_bps)
			continue;
		fall = next;
		cliff->before_bps = before_bps;
		cliff->after_bps = after_bps;
	}
	return fall;
}

/*
 * The write at which the line of what is written against the disk's time bends most: the one farthest above the
 * straight line from the first to the last write between two moments.
 */
static size_t find_bend(const struct services *services, int64_t from_ns, int64_t to_ns)
{
	double bytes = 0, busy_ns = 0, all_bytes = 0, all_ns = 0, farthest = -INFINITY;
	size_t first = 0, end, bend;

	while (first < services->count && services->items[first].to_ns < from_ns)
		first++;
	for (end = first; end < services->count && services->items[end].from_ns < to_ns; end++) {
		all_bytes += (double)services->items[end].bytes;
		all_ns += (double)(service_ns(&services->items[end]) - services->items[end].stalled_ns);
	}
	bend = first;
	for (size_t i = first; i < end && all_ns > 0; i++) {
		const struct service *service = &services->items[i];
		double above;

		bytes += (double)service->bytes;
		busy_ns += (double)(service_ns(service) - service->stalled_ns);
		above = bytes / all_bytes - busy_ns / all_ns;
		if (above > farthest) {
			farthest = above;
			bend = i;
		}
	}
	return bend;
}

static void locate(const struct cliff_view *view, size_t window, struct judgement_cliff *cliff)
{
	const struct services *services = view->services;
	double window_s = view->capability->window_s, at_s = view->capability->windows[window].at_s;
	size_t bend = find_bend(services, (int64_t)((at_s - 1.5 * window_s) * 1e9),
				(int64_t)((at_s + 1.5 * window_s) * 1e9));

	cliff->at_s = at_s;
	cliff->at_bytes = view->capability->windows[window].at_bytes;
	if (bend >= services->count)
		return;
	cliff->at_s = (double)services->items[bend].to_ns / 1e9;
	cliff->at_bytes = 0;
	for (size_t i = 0; i <= bend; i++)
		cliff->at_bytes += (double)services->items[i].bytes;
}

static bool has_recovered(const struct capability *capability, size_t window, double before_bps)
{
	for (size_t w = window + 1; w + WINDOWS_BEHIND <= capability->count; w++)
		if (median_rate(capability, w, w + WINDOWS_BEHIND) > BACK * before_bps)
			return true;
	return false;
}

static bool is_hot(const struct cliff_view *view, double at_s)
{
	const struct trial_series *series = &view->run->series;
	double limit_c = view->environment->temperature_limit_c;
	double hot_c = limit_c > 0 ? limit_c - NEAR_LIMIT_K : HOT_C;

	for (size_t i = 0; i < series->count; i++)
		if ((double)series->samples[i].at_ns / 1e9 >= at_s)
			return series->samples[i].temperature_c >= hot_c;
	return false;
}

static bool tidies_up(const struct cliff_view *view, double at_s)
{
	unsigned count = 0;

	if (view->environment->is_rotational != 1)
		return false;
	for (size_t i = 0; i < view->stalls->count; i++) {
		const struct stall *stall = &view->stalls->items[i];

		count += stall->disk == (unsigned)view->disk && stall->took_ns > TIDYING_NS &&
			 (double)stall->at_ns / 1e9 >= at_s;
	}
	return count >= TIDYING_COUNT;
}

static const char *name_of(const struct cliff_view *view, const struct judgement_cliff *cliff)
{
	if (is_hot(view, cliff->at_s))
		return "THERMAL";
	if (tidies_up(view, cliff->at_s))
		return "SMR_GC";
	return cliff->has_recovered ? "NOT_STEADY" : "SLC_CACHE";
}

static int find_zone(const struct cliff_view *view, struct judgement_cliff *cliff, bool *is_found)
{
	const struct capability *capability = view->capability;
	double x[STATISTICS_TREND_MAX], y[STATISTICS_TREND_MAX], slope, length_s;
	size_t step = capability->count / STATISTICS_TREND_MAX + 1, count = 0;
	int ret;

	*is_found = false;
	if (view->environment->is_rotational != 1 || capability->count < ZONE_WINDOWS)
		return 0;
	for (size_t w = 0; w < capability->count && count < STATISTICS_TREND_MAX; w += step) {
		x[count] = capability->windows[w].at_s;
		y[count++] = capability->windows[w].rate_bps;
	}
	ret = statistics_trend(x, y, count, &slope);
	if (ret < 0)
		return ret;
	length_s = capability->windows[capability->count - 1].at_s;
	cliff->before_bps = capability->median_bps - slope * length_s / 2;
	cliff->after_bps = capability->median_bps + slope * length_s / 2;
	*is_found = cliff->after_bps < (1 - ZONE_FALL) * cliff->before_bps;
	return 0;
}

int cliffs_find(const struct cliff_view *view, struct judgement *judgement)
{
	struct judgement_cliff cliff = { .disk = view->disk, .phase = view->run->phase };
	size_t window = find_deepest_fall(view, &cliff);
	bool is_zone = false;

	if (judgement->cliff_count >= TARGET_MAX)
		return 0;
	if (window < view->capability->count) {
		cliff.has_recovered = has_recovered(view->capability, window, cliff.before_bps);
		locate(view, window, &cliff);
		snprintf(cliff.code, sizeof(cliff.code), "%s", name_of(view, &cliff));
	} else {
		int ret = find_zone(view, &cliff, &is_zone);

		if (ret < 0 || !is_zone)
			return ret;
		snprintf(cliff.code, sizeof(cliff.code), "ZONE");
	}
	judgement->cliffs[judgement->cliff_count++] = cliff;
	return 0;
}

bool cliffs_steadiness(const struct capability *capability, struct cliff_steadiness *steadiness)
{
	double least = INFINITY, most = 0, sum = 0, sum_xy = 0, mean, slope;
	size_t first = capability->count - STEADY_WINDOWS;

	if (capability->count < STEADY_WINDOWS)
		return false;
	for (size_t w = 0; w < STEADY_WINDOWS; w++) {
		double rate_bps = capability->windows[first + w].rate_bps;

		least = fmin(least, rate_bps);
		most = fmax(most, rate_bps);
		sum += rate_bps;
		sum_xy += ((double)w - 2) * rate_bps;
	}
	mean = sum / STEADY_WINDOWS;
	if (mean <= 0)
		return false;
	slope = sum_xy / 10; /* the squares of -2 .. 2 are 10 together */
	*steadiness = (struct cliff_steadiness){
		.spread = (most - least) / mean,
		.excursion = fabs(slope) * (STEADY_WINDOWS - 1) / mean,
		.least_bps = least,
		.next_bps = least * least / most,
	};
	return true;
}
