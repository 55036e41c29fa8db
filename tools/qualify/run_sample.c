/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/run_sample.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"
#include "tools/qualify/run.h"

#define TEMPERATURE_NS UNITS_NS_PER_S
#define NO_TEMPERATURE (-1000.0)
#define RATE_NS UNITS_NS_PER_S /* the rate that is shown is of so long */

void sampler_init(struct sampler *sampler, double (*temperature)(void *context), void *context)
{
	memset(sampler, 0, sizeof(*sampler));
	sampler->interval_ns = RUN_SAMPLE_NS;
	sampler->newest.temperature_c = NO_TEMPERATURE;
	sampler->temperature = temperature;
	sampler->temperature_context = context;
}

void sampler_free(struct sampler *sampler)
{
	free(sampler->series.samples);
	memset(&sampler->series, 0, sizeof(sampler->series));
}

/* The one with the fuller ring, which is what must not be missed. */
static struct trial_sample higher(const struct trial_sample *a, const struct trial_sample *b)
{
	struct trial_sample sample = a->ring_bytes >= b->ring_bytes ? *a : *b;

	if (a->temperature_c > sample.temperature_c)
		sample.temperature_c = a->temperature_c;
	if (b->temperature_c > sample.temperature_c)
		sample.temperature_c = b->temperature_c;
	return sample;
}

void sampler_thin(struct trial_series *series)
{
	size_t kept = 0;

	for (size_t i = 0; i < series->count; i += 2)
		series->samples[kept++] =
			i + 1 < series->count ? higher(&series->samples[i], &series->samples[i + 1]) :
						series->samples[i];
	series->count = kept;
}

/* One more, or instead of the last of the same interval. */
static int keep(struct sampler *sampler, int64_t now_ns)
{
	struct trial_series *series = &sampler->series;

	if (series->count > 0 && now_ns - sampler->slot_ns < sampler->interval_ns) {
		struct trial_sample *last = &series->samples[series->count - 1];

		*last = higher(last, &sampler->newest);
		return 0;
	}
	if (series->count >= RUN_SAMPLES_MAX) {
		sampler_thin(series);
		sampler->interval_ns *= 2;
	}
	sampler->slot_ns = now_ns;
	return trial_series_add(series, &sampler->newest);
}

static void look(struct sampler *sampler, const struct session *session, int64_t now_ns)
{
	const struct account *account = &session->account;
	struct ring_level level = ring_level(session->ring);
	struct trial_sample *newest = &sampler->newest;

	newest->at_ns = now_ns;
	newest->received_bytes = account_get(&account->received_bytes);
	newest->ring_bytes = level.held_bytes;
	newest->written_bytes = 0;
	for (unsigned i = 0; i < session->disk_count; i++) {
		const struct disk *disk = &session->disks[i];
		/* relaxed: figures for people */
		int64_t worst = atomic_load_explicit(&disk->worst_write_ns, memory_order_relaxed);

		newest->written_bytes += account_get(&disk->accepted_bytes);
		sampler->worst_ns = worst > sampler->worst_ns ? worst : sampler->worst_ns;
	}
	sampler->high_bytes = level.high_water_bytes;
	sampler->capacity_bytes = session->plan.ring_bytes;
	sampler->overflow_bytes = account_get(&account->overflow_bytes);
}

static void note_rate(struct sampler *sampler, int64_t now_ns)
{
	int64_t took = now_ns - sampler->rate_ns;

	if (sampler->rate_ns && took < RATE_NS)
		return;
	if (sampler->rate_ns)
		sampler->rate_bps = (double)(sampler->newest.written_bytes - sampler->rate_bytes) *
				    8e9 / (double)took;
	sampler->rate_ns = now_ns;
	sampler->rate_bytes = sampler->newest.written_bytes;
}

int sampler_take(struct sampler *sampler, const struct session *session, int64_t now_ns)
{
	/* acquire: the reader sets it with the first bytes */
	int64_t started = atomic_load_explicit(&session->started_ns, memory_order_acquire);

	if (started == 0 || now_ns < started)
		return 0;
	sampler->first_ns = started;
	if (sampler->temperature && now_ns - sampler->warm_ns >= TEMPERATURE_NS) {
		sampler->newest.temperature_c = sampler->temperature(sampler->temperature_context);
		sampler->warm_ns = now_ns;
	}
	look(sampler, session, now_ns);
	note_rate(sampler, now_ns);
	return keep(sampler, now_ns);
}

bool sampler_is_to_tell(struct sampler *sampler, int64_t now_ns)
{
	if (now_ns - sampler->told_ns < SAMPLER_TELL_NS)
		return false;
	sampler->told_ns = now_ns;
	return true;
}

struct trial_progress sampler_progress(const struct sampler *sampler, int64_t duration_ns,
				       uint64_t limit_bytes)
{
	const struct trial_sample *newest = &sampler->newest;
	double by_time = 0, by_bytes = 0;
	struct trial_progress progress = {
		.rate_bps = sampler->rate_bps,
		.ring_bytes = newest->ring_bytes,
		.ring_high_bytes = sampler->high_bytes,
		.ring_capacity_bytes = sampler->capacity_bytes,
		.worst_ns = sampler->worst_ns,
		.overflow_bytes = sampler->overflow_bytes,
	};

	if (duration_ns && sampler->first_ns)
		by_time = (double)(newest->at_ns - sampler->first_ns) / (double)duration_ns;
	if (limit_bytes)
		by_bytes = (double)newest->received_bytes / (double)limit_bytes;
	progress.done = by_time > by_bytes ? by_time : by_bytes;
	if (progress.done > 1)
		progress.done = 1;
	return progress;
}

void sampler_finish(struct sampler *sampler, struct trial_series *series, int64_t start_ns)
{
	*series = sampler->series;
	memset(&sampler->series, 0, sizeof(sampler->series));
	for (size_t i = 0; i < series->count; i++)
		series->samples[i].at_ns -= start_ns;
}
