/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/judge_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "drivers/units.h"
#include "tools/qualify/cliffs.h"
#include "tools/qualify/statistics.h"

#define BEYOND \
	1.2 /* a paced run that wrote so much more than the full-speed run before it fell disproves the fall */
#define HOLD_SHARE 0.95

static double seconds(int64_t ns)
{
	return (double)ns / (double)UNITS_NS_PER_S;
}

static const struct trial_part *part_of(const struct trial_run *run, unsigned disk)
{
	for (unsigned i = 0; run && i < run->part_count; i++)
		if (run->parts[i].disk == disk)
			return &run->parts[i];
	return NULL;
}

/* The full-speed run that tells most about a disk in this company. */
static const struct trial_run *full_run_of(const struct trial *trial, unsigned disk)
{
	const struct trial_disk *of = &trial->disks[disk];

	if (trial->disk_count > 1 && trial->together.was_run)
		return &trial->together;
	if (of->full.was_run)
		return &of->full;
	return of->alone.was_run ? &of->alone : NULL;
}

static int64_t length_ns(const struct trial_run *run)
{
	return run->duration_ns > 0 ? run->duration_ns : run->written_ns;
}

static int read_disk(struct evidence_of_run *of, unsigned disk, int64_t window_ns, double known_bps)
{
	const struct trial_run *run = of->run[disk];
	const struct trial_part *part = part_of(run, disk);
	int ret;

	if (!part)
		return 0;
	ret = services_make(&of->services[disk], part->trace, run->start_ns);
	if (ret == 0)
		ret = stalls_find(&of->stalls, &of->services[disk], disk, known_bps);
	if (ret == 0)
		ret = capability_measure(&of->disks[disk], &of->services[disk], length_ns(run),
					 window_ns);
	return ret;
}

/* All windows are equally long, so that they can be joined. */
static int64_t window_of(const struct evidence *evidence, const struct evidence_of_run *of)
{
	int64_t shortest_ns = INT64_MAX;

	for (unsigned d = 0; d < evidence->disk_count; d++) {
		const struct trial_run *run = of->run[d];
		int64_t window_ns;

		if (!run)
			continue;
		window_ns =
			capability_window_ns(length_ns(run), run->block_bytes, (double)run->rate_bps);
		if (window_ns < shortest_ns)
			shortest_ns = window_ns;
	}
	return shortest_ns;
}

/* Without a trace there is still an average. */
static void fall_back(struct evidence_of_run *of, const struct trial_run *run)
{
	if (of->all.count > 0 || !run || run->written_ns <= 0 || run->rate_bps)
		return;
	of->all.median_bps = of->all.low_bps =
		8 * (double)run->written_bytes / seconds(run->written_ns);
}

static int read_runs(const struct evidence *evidence, struct evidence_of_run *of,
		     const struct evidence_of_run *known)
{
	int64_t window_ns = window_of(evidence, of);
	int ret;

	for (unsigned d = 0; d < evidence->disk_count; d++) {
		ret = read_disk(of, d, window_ns, known ? known->disks[d].median_bps : 0);
		if (ret < 0)
			return ret;
	}
	ret = capability_join(&of->all, of->disks, evidence->disk_count, evidence->trial->asked.stripe);
	if (ret == 0 && evidence->disk_count)
		fall_back(of, of->run[0]);
	return ret;
}

/* Of the full-speed run: before it fell, if it did; its cliffs are known already. */
static double known_rate(const struct evidence *evidence, const struct judgement *judgement,
			 unsigned disk)
{
	for (unsigned i = 0; i < judgement->cliff_count; i++)
		if (judgement->cliffs[i].disk == (int)disk && judgement->cliffs[i].phase != PHASE_PACED)
			return judgement->cliffs[i].before_bps;
	return evidence->full.disks[disk].median_bps;
}

static int find_cliffs(const struct evidence *evidence, const struct evidence_of_run *of,
		       struct judgement *judgement)
{
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		struct cliff_view view = {
			.disk = (int)d,
			.run = of->run[d],
			.environment = &evidence->trial->disks[d].environment,
			.services = &of->services[d],
			.capability = &of->disks[d],
			.stalls = &of->stalls,
			.known_bps = of == &evidence->at_rate ? known_rate(evidence, judgement, d) : 0,
		};
		int ret = of->run[d] ? cliffs_find(&view, judgement) : 0;

		if (ret < 0)
			return ret;
	}
	return 0;
}

static bool fell_while_paced(const struct judgement *judgement, int disk)
{
	for (unsigned i = 0; i < judgement->cliff_count; i++)
		if (judgement->cliffs[i].disk == disk && judgement->cliffs[i].phase == PHASE_PACED)
			return true;
	return false;
}

/*
 * How much of the full-speed run counts: what lies beyond the planned recording does not, nor what comes behind a
 * fall that the paced run, with its pauses, went past without falling. Such a cliff is forgotten.
 */
static double full_limit_bytes(const struct evidence *evidence, struct judgement *judgement)
{
	double limit = evidence->rate_bps > 0 ? evidence->rate_bps / 8 * evidence->horizon_s : INFINITY;
	unsigned kept = 0;

	for (unsigned i = 0; i < judgement->cliff_count; i++) {
		struct judgement_cliff *cliff = &judgement->cliffs[i];
		const struct trial_part *part = part_of(evidence->paced, (unsigned)cliff->disk);

		if (cliff->phase != PHASE_PACED && part && !fell_while_paced(judgement, cliff->disk) &&
		    (double)part->written_bytes > BEYOND * cliff->at_bytes) {
			limit = fmin(limit, cliff->at_bytes * evidence->disk_count);
			continue;
		}
		judgement->cliffs[kept++] = *cliff;
	}
	judgement->cliff_count = kept;
	return limit;
}

static int weigh_capability(struct evidence *evidence, struct judgement *judgement)
{
	const struct capability *paced = &evidence->at_rate.all, *full = &evidence->full.all;
	double limit, full_low_bps = full->low_bps;
	int ret;

	limit = full_limit_bytes(evidence, judgement);
	if (full->count > 0) {
		ret = capability_low_until(full, limit, &full_low_bps);
		if (ret < 0)
			return ret;
	}
	judgement->capability_paced_bps = paced->median_bps;
	judgement->capability_full_bps = full->median_bps;
	judgement->capability_bps = full->median_bps > 0 ? full->median_bps : paced->median_bps;
	if (paced->low_bps > 0 && full_low_bps > 0)
		evidence->low_bps = fmin(paced->low_bps, full_low_bps);
	else
		evidence->low_bps = fmax(paced->low_bps, full_low_bps);
	judgement->capability_low_bps = evidence->low_bps;
	return 0;
}

/* Where disks take turns, each waits for the one that stands still. */
static void weigh_stalls(struct evidence *evidence, struct judgement *judgement)
{
	struct evidence_of_run *of = evidence->paced ? &evidence->at_rate : &evidence->full;
	const struct trial_run *run = evidence->disk_count ? of->run[0] : NULL;
	double length_s = run ? seconds(length_ns(run)) : 0;
	double turns = evidence->trial->asked.stripe == STRIPE_ROUND ? 1 : evidence->disk_count;

	judgement->stalls = (struct judgement_stalls){ .worst_disk = -1, .mean_interval_s = INFINITY };
	if (!run)
		return;
	stalls_sum(&of->stalls, run, evidence->rate_bps, &judgement->stalls);
	if (length_s > 0)
		evidence->stall_share = fmin(judgement->stalls.total_s / turns / length_s, 1);
}

static int weigh_hold(struct evidence *evidence)
{
	const struct trial_series *series = evidence->paced ? &evidence->paced->series : NULL;
	double *held;
	size_t count = 0;

	if (!series || series->count == 0 || evidence->disk_count < 2)
		return 0;
	held = calloc(series->count, sizeof(held[0]));
	if (!held)
		return -ENOMEM;
	for (size_t i = 0; i < series->count; i++) {
		const struct trial_sample *sample = &series->samples[i];
		double waits = (double)sample->received_bytes - (double)sample->written_bytes;

		held[count++] = fmax((double)sample->ring_bytes - fmax(waits, 0), 0);
	}
	evidence->hold_bytes = statistics_quantile(held, count, HOLD_SHARE);
	free(held);
	return 0;
}

static double tested_s(const struct evidence *evidence)
{
	const struct trial *trial = evidence->trial;
	double longest = seconds(trial->asked.paced_ns), sum;

	if (!evidence->paced) {
		for (unsigned d = 0; d < evidence->disk_count; d++)
			if (evidence->full.run[d])
				longest = fmax(longest, seconds(length_ns(evidence->full.run[d])));
		return longest;
	}
	sum = seconds(evidence->paced->duration_ns);
	for (unsigned i = 0; i < trial->repeat_count; i++)
		if (trial->repeats[i].was_run)
			sum += seconds(trial->repeats[i].duration_ns);
	return sum;
}

static void take_what_was_asked(struct evidence *evidence)
{
	const struct trial_asked *asked = &evidence->trial->asked;
	const struct trial_run *paced = evidence->paced;

	evidence->disk_count =
		evidence->trial->disk_count < TARGET_MAX ? evidence->trial->disk_count : TARGET_MAX;
	evidence->rate_bps = (double)asked->rate_bps;
	if (paced && paced->rate_bps)
		evidence->rate_bps = (double)paced->rate_bps;
	evidence->horizon_s = seconds(asked->horizon_ns);
	evidence->ring_bytes = (double)asked->ring_bytes;
	if (evidence->ring_bytes == 0 && paced)
		evidence->ring_bytes = (double)paced->ring_bytes;
	evidence->rho_pass = asked->rho_pass > 0 ? asked->rho_pass : 0.80;
	evidence->rho_fail = asked->rho_fail > 0 ? asked->rho_fail : 0.95;
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		evidence->full.run[d] = full_run_of(evidence->trial, d);
		evidence->at_rate.run[d] = paced;
		if (evidence->full.run[d])
			evidence->block_bytes = (double)evidence->full.run[d]->block_bytes;
	}
	if (paced)
		evidence->block_bytes = (double)paced->block_bytes;
}

int evidence_make(struct evidence **out, const struct trial *trial, struct judgement *judgement)
{
	struct evidence *evidence = calloc(1, sizeof(*evidence));
	int ret;

	*out = evidence;
	if (!evidence)
		return -ENOMEM;
	evidence->trial = trial;
	evidence->paced = trial->paced.was_run ? &trial->paced : NULL;
	take_what_was_asked(evidence);
	evidence->tested_s = tested_s(evidence);
	ret = read_runs(evidence, &evidence->full, NULL);
	if (ret == 0)
		ret = read_runs(evidence, &evidence->at_rate, &evidence->full);
	if (ret == 0)
		ret = find_cliffs(evidence, &evidence->full, judgement);
	if (ret == 0)
		ret = find_cliffs(evidence, &evidence->at_rate, judgement);
	if (ret == 0)
		ret = weigh_capability(evidence, judgement);
	if (ret == 0)
		ret = weigh_hold(evidence);
	weigh_stalls(evidence, judgement);
	return ret;
}

static void free_runs(struct evidence_of_run *of)
{
	for (unsigned d = 0; d < TARGET_MAX; d++) {
		services_free(&of->services[d]);
		capability_free(&of->disks[d]);
	}
	capability_free(&of->all);
	stalls_free(&of->stalls);
}

void evidence_free(struct evidence *evidence)
{
	if (!evidence)
		return;
	free_runs(&evidence->at_rate);
	free_runs(&evidence->full);
	free(evidence);
}

struct ring_model evidence_times(const struct evidence *evidence)
{
	return (struct ring_model){
		.disks = evidence->at_rate.all.count ? evidence->at_rate.services :
						       evidence->full.services,
		.disk_count = evidence->disk_count,
		.stripe = evidence->trial->asked.stripe,
	};
}
