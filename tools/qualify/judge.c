/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qualify/judge_parts.h"

#define RATE_STEP_BPS 1e6 /* of judge_best_rate() */

static const char *const names[] = {
	[VERDICT_PASS] = "PASS",
	[VERDICT_MARGINAL] = "MARGINAL",
	[VERDICT_FAIL] = "FAIL",
	[VERDICT_INCONCLUSIVE] = "INCONCLUSIVE",
};

/* As exit statuses they are numbered otherwise than they weigh. */
static int weight_of(enum verdict verdict)
{
	static const int weights[] = {
		[VERDICT_PASS] = 0,
		[VERDICT_MARGINAL] = 1,
		[VERDICT_INCONCLUSIVE] = 2,
		[VERDICT_FAIL] = 3,
	};

	return weights[verdict];
}

const char *verdict_name(enum verdict verdict)
{
	return names[verdict];
}

enum verdict verdict_worse(enum verdict a, enum verdict b)
{
	return weight_of(a) >= weight_of(b) ? a : b;
}

/* Worst first, and as the rules found them. */
static void sort_reasons(struct judgement *judgement)
{
	for (unsigned i = 1; i < judgement->reason_count; i++) {
		struct judgement_reason reason = judgement->reasons[i];
		unsigned at = i;

		while (at > 0 &&
		       weight_of(judgement->reasons[at - 1].weight) < weight_of(reason.weight)) {
			judgement->reasons[at] = judgement->reasons[at - 1];
			at--;
		}
		judgement->reasons[at] = reason;
	}
}

static void put_measured_row(const struct evidence *evidence, struct judgement *judgement)
{
	if (!evidence->paced)
		return;
	judgement->rows[judgement->row_count++] = (struct judgement_row){
		.rate_bps = judgement->rate_bps,
		.result = judgement->result,
		.is_measured = true,
		.has_room = predict_has_room(evidence, (double)judgement->rate_bps),
		.rho = judgement->rho,
		.ring_bytes = judgement->ring_needed_bytes,
		.h_max_s = judgement->h_max_s,
	};
}

/* The rates of the field, and the one that was tried in its place among them. */
static int make_rows(const struct evidence *evidence, struct judgement *judgement)
{
	bool is_measured_put = false;

	for (uint64_t mbps = 64; mbps <= 8192; mbps *= 2) {
		uint64_t rate_bps = mbps * 1000000;
		int ret;

		if (!is_measured_put && judgement->rate_bps <= rate_bps) {
			put_measured_row(evidence, judgement);
			is_measured_put = true;
			if (evidence->paced && judgement->rate_bps == rate_bps)
				continue;
		}
		ret = predict_row(evidence, rate_bps, &judgement->rows[judgement->row_count]);
		if (ret == -ENODATA)
			continue;
		if (ret < 0)
			return ret;
		judgement->row_count++;
	}
	if (!is_measured_put)
		put_measured_row(evidence, judgement);
	return 0;
}

static int predict(const struct evidence *evidence, struct judgement *judgement)
{
	struct ring_model times = evidence_times(evidence);
	int ret = make_rows(evidence, judgement);

	if (ret == 0)
		ret = predict_curve(evidence, judgement);
	if (ret == 0)
		ret = predict_best_rate(evidence, &judgement->best_rate_bps);
	if (ret == -ENODATA)
		ret = 0;
	judgement->is_best_by_room =
		!predict_has_room(evidence, (double)judgement->best_rate_bps + RATE_STEP_BPS);
	if (ret == 0)
		ret = stalls_survival(times.disks, times.disk_count, judgement);
	return ret;
}

int judge(const struct trial *trial, struct judgement *judgement)
{
	struct evidence *evidence;
	int ret;

	memset(judgement, 0, sizeof(*judgement));
	judgement->eta = -1;
	ret = evidence_make(&evidence, trial, judgement);
	if (ret == 0)
		ret = predict_ring(evidence, judgement);
	if (ret == 0) {
		rules_apply(evidence, judgement);
		sort_reasons(judgement);
		ret = predict(evidence, judgement);
	}
	if (ret == 0)
		text_headline(evidence, judgement);
	evidence_free(evidence);
	return ret;
}

/* What the predictions need; the judgement itself is thrown away. */
static int gather(struct evidence **evidence, const struct trial *trial)
{
	struct judgement *judgement = calloc(1, sizeof(*judgement));
	int ret = -ENOMEM;

	*evidence = NULL;
	if (judgement)
		ret = evidence_make(evidence, trial, judgement);
	free(judgement);
	return ret;
}

int judge_rate(const struct trial *trial, uint64_t rate_bps, struct judgement_row *row)
{
	struct evidence *evidence;
	int ret = gather(&evidence, trial);

	if (ret == 0)
		ret = predict_row(evidence, rate_bps, row);
	evidence_free(evidence);
	return ret;
}

int judge_best_rate(const struct trial *trial, uint64_t *rate_bps)
{
	struct evidence *evidence;
	int ret = gather(&evidence, trial);

	*rate_bps = 0;
	if (ret == 0)
		ret = predict_best_rate(evidence, rate_bps);
	evidence_free(evidence);
	return ret;
}
