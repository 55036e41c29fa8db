/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/capability.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"
#include "tools/qualify/statistics.h"

#define WINDOW_MOST_NS (INT64_C(10) * UNITS_NS_PER_S)
#define WINDOW_LEAST_NS UNITS_NS_PER_S
#define WINDOWS_LEAST 20
#define BLOCKS_LEAST 8
#define LOW_SHARE 0.05

int64_t capability_window_ns(int64_t duration_ns, uint64_t block_bytes, double rate_bps)
{
	int64_t window_ns = duration_ns / WINDOWS_LEAST;
	double blocks_ns = rate_bps > 0 ? BLOCKS_LEAST * 8 * (double)block_bytes / rate_bps * 1e9 : 0;

	if (window_ns > WINDOW_MOST_NS)
		window_ns = WINDOW_MOST_NS;
	if (window_ns < WINDOW_LEAST_NS)
		window_ns = WINDOW_LEAST_NS;
	if ((double)window_ns < blocks_ns)
		window_ns = (int64_t)fmin(blocks_ns, (double)WINDOW_MOST_NS);
	return window_ns;
}

struct tally {
	double bytes, busy_ns;
};

/* A write's bytes go to the windows by the time that they took; a stall's excess comes before, and counts nowhere. */
static void spread(struct tally *tallies, size_t count, int64_t window_ns, const struct service *service)
{
	int64_t from_ns = service->from_ns + service->stalled_ns;
	double length_ns = fmax((double)(service->to_ns - from_ns), 1);

	if (from_ns < 0)
		from_ns = 0;
	for (size_t w = (size_t)(from_ns / window_ns); w < count; w++) {
		int64_t begin_ns = (int64_t)w * window_ns, end_ns = begin_ns + window_ns;
		double part_ns;

		if (begin_ns < from_ns)
			begin_ns = from_ns;
		if (end_ns > service->to_ns)
			end_ns = service->to_ns;
		part_ns = fmax((double)(end_ns - begin_ns), 1);
		tallies[w].busy_ns += part_ns;
		tallies[w].bytes += (double)service->bytes * fmin(part_ns / length_ns, 1);
		if (end_ns >= service->to_ns)
			break;
	}
}

static void fill_windows(struct capability *capability, const struct tally *tallies)
{
	double bytes = 0, last_bps = 0;

	for (size_t w = 0; w < capability->count; w++) {
		struct capability_window *window = &capability->windows[w];

		window->at_s = (double)w * capability->window_s;
		window->at_bytes = bytes;
		if (tallies[w].busy_ns > 0)
			last_bps = 8e9 * tallies[w].bytes / tallies[w].busy_ns;
		window->rate_bps = last_bps;
		bytes += tallies[w].bytes;
	}
	/* those before the first write */
	for (size_t w = capability->count; w-- > 0;) {
		if (capability->windows[w].rate_bps > 0)
			last_bps = capability->windows[w].rate_bps;
		else
			capability->windows[w].rate_bps = last_bps;
	}
}

static int sum_up(struct capability *capability)
{
	double *rates;
	int ret;

	if (capability->count == 0)
		return 0;
	ret = capability_low_until(capability, INFINITY, &capability->low_bps);
	if (ret < 0)
		return ret;
	rates = calloc(capability->count, sizeof(rates[0]));
	if (!rates)
		return -ENOMEM;
	for (size_t w = 0; w < capability->count; w++)
		rates[w] = capability->windows[w].rate_bps;
	capability->median_bps = statistics_quantile(rates, capability->count, 0.5);
	free(rates);
	return 0;
}

static int make_windows(struct capability *capability, size_t count, double window_s)
{
	memset(capability, 0, sizeof(*capability));
	if (count == 0)
		return 0;
	capability->windows = calloc(count, sizeof(capability->windows[0]));
	if (!capability->windows)
		return -ENOMEM;
	capability->count = count;
	capability->window_s = window_s;
	return 0;
}

int capability_measure(struct capability *capability, const struct services *services,
		       int64_t duration_ns, int64_t window_ns)
{
	int64_t end_ns = services->count ? services->items[services->count - 1].to_ns : 0;
	struct tally *tallies;
	size_t count;
	int ret;

	/* what came back after the stream's end counts as well; a window that has hardly begun does not */
	if (end_ns < duration_ns)
		end_ns = duration_ns;
	count = services->count ? (size_t)((end_ns + window_ns / 2) / window_ns) : 0;
	if (services->count && count == 0)
		count = 1;
	ret = make_windows(capability, count, (double)window_ns / (double)UNITS_NS_PER_S);
	if (ret < 0 || count == 0)
		return ret;
	tallies = calloc(count, sizeof(tallies[0]));
	if (!tallies)
		return -ENOMEM;
	for (size_t i = 0; i < services->count; i++)
		spread(tallies, count, window_ns, &services->items[i]);
	fill_windows(capability, tallies);
	free(tallies);
	return sum_up(capability);
}

int capability_join(struct capability *all, const struct capability *disks, unsigned disk_count,
		    enum stripe_policy stripe)
{
	size_t count = 0;
	double window_s = 0;
	int ret;

	for (unsigned d = 0; d < disk_count; d++) {
		if (disks[d].count > count)
			count = disks[d].count;
		if (disks[d].count)
			window_s = disks[d].window_s;
	}
	ret = make_windows(all, count, window_s);
	if (ret < 0)
		return ret;
	for (size_t w = 0; w < count; w++) {
		double least_bps = INFINITY, sum_bps = 0;

		all->windows[w].at_s = (double)w * window_s;
		for (unsigned d = 0; d < disk_count; d++) {
			size_t last = disks[d].count ? disks[d].count - 1 : 0;
			const struct capability_window *window =
				disks[d].count ? &disks[d].windows[w < last ? w : last] : NULL;

			least_bps = fmin(least_bps, window ? window->rate_bps : 0);
			sum_bps += window ? window->rate_bps : 0;
			all->windows[w].at_bytes += window ? window->at_bytes : 0;
		}
		all->windows[w].rate_bps = stripe == STRIPE_ROUND ? least_bps * disk_count : sum_bps;
	}
	return sum_up(all);
}

int capability_low_until(const struct capability *capability, double bytes, double *low_bps)
{
	double *rates = calloc(capability->count ? capability->count : 1, sizeof(rates[0]));
	size_t count = 0;

	if (!rates)
		return -ENOMEM;
	for (size_t w = 0; w < capability->count; w++)
		if (w == 0 || capability->windows[w].at_bytes < bytes)
			rates[count++] = capability->windows[w].rate_bps;
	*low_bps = statistics_quantile(rates, count, LOW_SHARE);
	free(rates);
	return 0;
}

void capability_free(struct capability *capability)
{
	free(capability->windows);
	memset(capability, 0, sizeof(*capability));
}
