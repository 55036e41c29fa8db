/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_sample.h - how a running session stands, in no more than RUN_SAMPLES_MAX figures; for run.c
 *
 *   sampler_init() -> { sampler_take() } ... -> sampler_finish() -> sampler_free()
 *
 * Threads: the run's supervisor.
 */
#ifndef VSIB_TOOLS_QUALIFY_RUN_SAMPLE_H
#define VSIB_TOOLS_QUALIFY_RUN_SAMPLE_H

#include "recorder/state.h"
#include "tools/qualify/trial_control.h"

#define SAMPLER_TELL_NS INT64_C(100000000)

struct sampler {
	struct trial_series series; /* at_ns is CLOCK_MONOTONIC until the end */
	int64_t interval_ns;        /* of those that are kept: RUN_SAMPLE_NS, doubled and doubled */
	int64_t slot_ns;            /* the last one's interval began then */
	struct trial_sample newest;
	int64_t told_ns, warm_ns; /* when it was told, and the temperature read, last */
	int64_t first_ns;         /* of the stream; 0 = it has not begun */
	int64_t rate_ns;          /* newest_rate is of what has been written since */
	uint64_t rate_bytes;
	double rate_bps;
	int64_t worst_ns;
	uint64_t high_bytes, capacity_bytes, overflow_bytes;
	double (*temperature)(void *context);
	void *temperature_context;
};

void sampler_init(struct sampler *sampler, double (*temperature)(void *context), void *context);

void sampler_free(struct sampler *sampler);

/** sampler_take() - nothing before the stream's first byte. Return: 0; -ENOMEM: the series ends. */
int sampler_take(struct sampler *sampler, const struct session *session, int64_t now_ns);

/** sampler_is_to_tell() - at most each SAMPLER_TELL_NS: has that gone by? */
bool sampler_is_to_tell(struct sampler *sampler, int64_t now_ns);

/** sampler_progress() - all but phase and disk */
struct trial_progress sampler_progress(const struct sampler *sampler, int64_t duration_ns,
				       uint64_t limit_bytes);

/** sampler_finish() - gives the series away, its times since @start_ns */
void sampler_finish(struct sampler *sampler, struct trial_series *series, int64_t start_ns);

/** sampler_thin() - of each two the one with the fuller ring; the higher temperature */
void sampler_thin(struct trial_series *series);

#endif
