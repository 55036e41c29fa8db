/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/judge_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "drivers/units.h"
#include "tools/qualify/statistics.h"

#define TAIL_FACTOR \
	19       /* (1 - p) / p with p = 5 %: so seldom may the future exceed what is foretold */
#define CHUNKS 8 /* of a span whose level is to rise all along */
#define CHUNKS_RISING 6
#define GROWTH_BLOCKS 4
#define CURVE_POINTS 64
#define CURVE_FIRST_BPS 8e6

double predict_factor(double horizon_s, double tested_s)
{
	if (tested_s <= 0)
		return INFINITY;
	return fmax(JUDGE_RING_FACTOR_LEAST, sqrt(TAIL_FACTOR * horizon_s / tested_s));
}

double predict_rho(const struct evidence *evidence, double rate_bps)
{
	const struct trial_run *paced = evidence->paced;

	if (evidence->low_bps > 0)
		return rate_bps / evidence->low_bps + evidence->stall_share;
	/* one that ended before it had anything to write says nothing */
	return paced && paced->written_bytes == 0 && paced->stream_bytes > 0 && !paced->is_interrupted ?
		       INFINITY :
		       0;
}

double predict_space_bytes(const struct evidence *evidence, double rate_bps, double *free_bytes)
{
	const struct trial_disk *disks = evidence->trial->disks;
	double sum = 0;
	bool is_known = false;

	for (unsigned d = 0; d < evidence->disk_count; d++) {
		bool is_counted = false;

		for (unsigned other = 0; other < d && disks[d].target.fs_device; other++)
			is_counted = is_counted ||
				     disks[other].target.fs_device == disks[d].target.fs_device;
		if (disks[d].environment.total_bytes == 0 || is_counted)
			continue;
		is_known = true;
		sum += (double)disks[d].environment.free_bytes;
	}
	*free_bytes = is_known ? sum : -1;
	return rate_bps / 8 * evidence->horizon_s * JUDGE_SPACE_FACTOR;
}

bool predict_has_room(const struct evidence *evidence, double rate_bps)
{
	double free_bytes, needed = predict_space_bytes(evidence, rate_bps, &free_bytes);

	return free_bytes < 0 || needed <= free_bytes;
}

/* ---- the ring that is needed ---- */

struct need {
	double base_bytes,
		above_bytes; /* what is there always, and what comes on top of it at the worst */
};

/* The ring counts whole blocks, and the one that is being filled. */
static double base_of(const struct evidence *evidence, double usual_bytes)
{
	double block = evidence->block_bytes;

	if (block <= 0)
		return usual_bytes + evidence->hold_bytes;
	return (ceil(usual_bytes / block) + 1) * block + evidence->hold_bytes;
}

static double ring_for(const struct need *need, double factor)
{
	return need->above_bytes > 0 ? need->base_bytes + need->above_bytes * factor : need->base_bytes;
}

/* How long that ring is good for, after a test of @tested_s; < 1.5 times what was seen: not at all. */
static double good_for_s(const struct need *need, double ring_bytes, double tested_s)
{
	double times;

	if (ring_bytes < ring_for(need, JUDGE_RING_FACTOR_LEAST))
		return 0;
	if (need->above_bytes <= 0)
		return INFINITY;
	times = (ring_bytes - need->base_bytes) / need->above_bytes;
	return tested_s * times * times / TAIL_FACTOR;
}

static double test_for_s(const struct need *need, double ring_bytes, double horizon_s)
{
	double times;

	if (ring_bytes < ring_for(need, JUDGE_RING_FACTOR_LEAST))
		return INFINITY;
	if (need->above_bytes <= 0)
		return 0;
	times = (ring_bytes - need->base_bytes) / need->above_bytes;
	return TAIL_FACTOR * horizon_s / (times * times);
}

static double highest_water(const struct evidence *evidence)
{
	const struct trial *trial = evidence->trial;
	double most = (double)evidence->paced->high_water_bytes;

	for (unsigned i = 0; i < trial->repeat_count; i++)
		if (trial->repeats[i].was_run)
			most = fmax(most, (double)trial->repeats[i].high_water_bytes);
	return most;
}

/* ---- the trend of its level ---- */

struct span {
	double x[STATISTICS_TREND_MAX], y[STATISTICS_TREND_MAX]; /* s; bytes */
	size_t count;
};

static void take_span(struct span *span, const struct trial_series *series, int64_t from_ns,
		      int64_t to_ns)
{
	size_t first = 0, end, step;

	while (first < series->count && series->samples[first].at_ns < from_ns)
		first++;
	for (end = first; end < series->count && series->samples[end].at_ns <= to_ns; end++)
		;
	step = (end - first) / STATISTICS_TREND_MAX + 1;
	span->count = 0;
	for (size_t i = first; i < end && span->count < STATISTICS_TREND_MAX; i += step) {
		span->x[span->count] = (double)series->samples[i].at_ns / (double)UNITS_NS_PER_S;
		span->y[span->count++] = (double)series->samples[i].ring_bytes;
	}
}

/* A ring with a deficit fills all along; behind a stall it is emptied again. */
static bool rises_throughout(const struct span *span, double least_bytes)
{
	double levels[CHUNKS], chunk[STATISTICS_TREND_MAX];
	unsigned rising = 0;

	if (span->count < CHUNKS)
		return false;
	for (unsigned c = 0; c < CHUNKS; c++) {
		size_t first = c * span->count / CHUNKS, end = (c + 1) * span->count / CHUNKS;

		for (size_t i = first; i < end; i++)
			chunk[i - first] = span->y[i];
		levels[c] = statistics_quantile(chunk, end - first, 0.5);
		rising += c > 0 && levels[c] > levels[c - 1];
	}
	return rising >= CHUNKS_RISING && levels[CHUNKS - 1] - levels[0] > least_bytes;
}

/* The whole run, and its second half alone: what has begun meanwhile goes on. */
static int find_trend(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial_run *run = evidence->paced;
	struct span span = { 0 };
	/* what is kept until it is durable comes and goes */
	double slope, least_bytes = GROWTH_BLOCKS * evidence->block_bytes + evidence->hold_bytes;

	judgement->full_in_s = INFINITY;
	judgement->slope_bps = 0;
	for (int half = 0; half < 2; half++) {
		double last_s, last_bytes, full_in_s;
		int ret;

		take_span(&span, &run->series, half ? run->duration_ns / 2 : 0, run->duration_ns);
		ret = statistics_trend(span.x, span.y, span.count, &slope);
		if (ret < 0)
			return ret;
		if (half == 0)
			judgement->slope_bps = slope * 8;
		if (slope <= 0 || !rises_throughout(&span, least_bytes))
			continue;
		last_s = span.x[span.count - 1];
		last_bytes = span.y[span.count - 1];
		full_in_s = last_s + fmax(evidence->ring_bytes - last_bytes, 0) / slope;
		if (full_in_s < judgement->full_in_s) {
			judgement->full_in_s = full_in_s;
			judgement->slope_bps = slope * 8;
		}
	}
	return 0;
}

/* ---- at the rate that was tried ---- */

static int measured_need(const struct evidence *evidence, double q_bytes, struct need *need)
{
	struct ring_model model = evidence_times(evidence);
	struct ring_model_level level;
	int ret = ring_model_replay(&model, evidence->rate_bps, &level);

	*need = (struct need){ .above_bytes = q_bytes };
	if (ret == -ENODATA)
		return 0;
	if (ret < 0)
		return ret;
	need->base_bytes = fmin(base_of(evidence, level.usual_bytes), q_bytes);
	need->above_bytes = fmax(q_bytes - need->base_bytes, level.highest_bytes - level.usual_bytes);
	return 0;
}

static void give_up_on_ring(struct judgement *judgement)
{
	judgement->base_bytes = 0;
	judgement->q95_bytes = judgement->ring_needed_bytes = judgement->test_needed_s = INFINITY;
	judgement->h_max_s = isfinite(judgement->full_in_s) ? judgement->full_in_s : 0;
}

int predict_ring(const struct evidence *evidence, struct judgement *judgement)
{
	struct need need = { 0 };
	int ret;

	judgement->rate_bps = (uint64_t)evidence->rate_bps;
	judgement->rho = predict_rho(evidence, evidence->rate_bps);
	judgement->full_in_s = INFINITY;
	if (!evidence->paced) {
		give_up_on_ring(judgement);
		return 0;
	}
	judgement->tested_s = evidence->tested_s;
	judgement->q_bytes = highest_water(evidence);
	ret = find_trend(evidence, judgement);
	if (ret == 0)
		ret = measured_need(evidence, judgement->q_bytes, &need);
	if (ret < 0)
		return ret;
	if (judgement->rho >= 1 || isfinite(judgement->full_in_s)) {
		give_up_on_ring(judgement);
		return 0;
	}
	judgement->base_bytes = need.base_bytes;
	judgement->q95_bytes =
		ring_for(&need, predict_factor(evidence->horizon_s, evidence->tested_s));
	judgement->ring_needed_bytes = judgement->q95_bytes;
	judgement->h_max_s = good_for_s(&need, evidence->ring_bytes, evidence->tested_s);
	judgement->test_needed_s = test_for_s(&need, evidence->ring_bytes, evidence->horizon_s);
	return 0;
}

/* ---- at other rates ---- */

static enum verdict weigh_row(const struct evidence *evidence, const struct judgement_row *row,
			      const struct need *need)
{
	if (row->rho > evidence->rho_fail || !row->has_room ||
	    ring_for(need, JUDGE_RING_FACTOR_LEAST) > evidence->ring_bytes)
		return VERDICT_FAIL;
	if (row->rho > evidence->rho_pass || row->ring_bytes > evidence->ring_bytes)
		return VERDICT_MARGINAL;
	return VERDICT_PASS;
}

int predict_row(const struct evidence *evidence, uint64_t rate_bps, struct judgement_row *row)
{
	struct ring_model model = evidence_times(evidence);
	double rate = (double)rate_bps, tested_s;
	struct ring_model_level level;
	struct need need;
	int ret = ring_model_replay(&model, rate, &level);

	*row = (struct judgement_row){
		.rate_bps = rate_bps,
		.has_room = predict_has_room(evidence, rate),
	};
	if (ret < 0)
		return ret;
	row->rho = predict_rho(evidence, rate);
	if (row->rho >= 1) {
		double left_bps = (1 - evidence->stall_share) * evidence->low_bps;

		row->result = VERDICT_FAIL;
		row->ring_bytes = INFINITY;
		row->h_max_s = rate > left_bps ? evidence->ring_bytes * 8 / (rate - left_bps) : 0;
		return 0;
	}
	/* a faster source is through with the same writes sooner; a paced run that is still to come is as long as asked */
	tested_s = evidence->paced ? fmin(evidence->tested_s, level.duration_s) : evidence->tested_s;
	need.base_bytes = base_of(evidence, level.usual_bytes);
	need.above_bytes = level.highest_bytes - level.usual_bytes;
	row->ring_bytes = ring_for(&need, predict_factor(evidence->horizon_s, tested_s));
	row->h_max_s = good_for_s(&need, evidence->ring_bytes, tested_s);
	row->result = weigh_row(evidence, row, &need);
	return 0;
}

int predict_best_rate(const struct evidence *evidence, uint64_t *rate_bps)
{
	uint64_t good = 0, bad = (uint64_t)(evidence->low_bps / 1e6) + 1;

	*rate_bps = 0;
	while (bad - good > 1) {
		uint64_t middle = good + (bad - good) / 2;
		struct judgement_row row;
		int ret = predict_row(evidence, middle * 1000000, &row);

		if (ret < 0)
			return ret;
		if (row.result == VERDICT_PASS)
			good = middle;
		else
			bad = middle;
	}
	*rate_bps = good * 1000000;
	return 0;
}

int predict_curve(const struct evidence *evidence, struct judgement *judgement)
{
	struct ring_model model = evidence_times(evidence);
	double last_bps = fmax(evidence->low_bps, 2 * CURVE_FIRST_BPS);
	double step = pow(last_bps / CURVE_FIRST_BPS, 1.0 / (CURVE_POINTS - 1));

	judgement->curve_count = 0;
	for (unsigned i = 0; i < CURVE_POINTS; i++) {
		double rate_bps = CURVE_FIRST_BPS * pow(step, i);
		struct ring_model_level level;
		int ret = ring_model_replay(&model, rate_bps, &level);

		if (ret == -ENODATA)
			return 0;
		if (ret < 0)
			return ret;
		judgement->curve[judgement->curve_count].rate_bps = rate_bps;
		judgement->curve[judgement->curve_count++].ring_bytes =
			predict_rho(evidence, rate_bps) >= 1 ? INFINITY : level.highest_bytes;
	}
	return 0;
}
