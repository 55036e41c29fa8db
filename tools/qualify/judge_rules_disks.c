/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/judge_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"
#include "tools/qualify/cliffs.h"

#define LINK_TOLERANCE 1.02
#define ETA_LEAST 0.9
#define SPREAD_WINDOWS 0.2
#define EXCURSION_WINDOWS 0.1

/* ---- disks that change ---- */

static const char *cliff_text(const struct judgement_cliff *cliff)
{
	if (strcmp(cliff->code, "THERMAL") == 0)
		return "hot";
	if (strcmp(cliff->code, "ZONE") == 0)
		return "on its way inwards";
	if (strcmp(cliff->code, "SMR_GC") == 0)
		return "tidying up, as shingled disks do";
	return cliff->has_recovered ? "for a while" : "its fast cache full";
}

static const char *cliff_advice(const struct judgement_cliff *cliff)
{
	if (strcmp(cliff->code, "THERMAL") == 0)
		return "cool the disk, and test as long as you will record";
	if (strcmp(cliff->code, "ZONE") == 0)
		return "judge the disk by its innermost part: --whole-disk";
	if (cliff->has_recovered)
		return "find out what else used the disk then, and test again";
	return "use a disk that holds its rate, or record less at a time";
}

/* Another fall as deep would still leave enough: told, but no reason to doubt. */
static enum verdict cliff_weight(const struct evidence *evidence,
				 const struct judgement_cliff *cliff, double share_bps)
{
	double next_bps = cliff->after_bps * cliff->after_bps / fmax(cliff->before_bps, 1);

	if (share_bps > evidence->rho_fail * cliff->after_bps && !cliff->has_recovered)
		return VERDICT_FAIL;
	return share_bps <= evidence->rho_pass * next_bps ? VERDICT_PASS : VERDICT_MARGINAL;
}

void rule_cliffs(const struct evidence *evidence, struct judgement *judgement)
{
	double share_bps = evidence->rate_bps / fmax(evidence->disk_count, 1);

	for (unsigned i = 0; i < judgement->cliff_count; i++) {
		const struct judgement_cliff *cliff = &judgement->cliffs[i];
		char when[JUDGE_TEXT_LEN], bytes[JUDGE_TEXT_LEN], before[JUDGE_TEXT_LEN],
			after[JUDGE_TEXT_LEN];
		enum verdict weight = cliff_weight(evidence, cliff, share_bps);
		struct judgement_reason *reason;

		/*
		 * The recording ends before it comes so far; or a disk with little to do was now quicker, now
		 * slower, which says nothing of it: how fast a single write is depends on more than the disk.
		 */
		if (cliff->at_bytes > share_bps / 8 * evidence->horizon_s ||
		    (weight == VERDICT_PASS && cliff->phase == PHASE_PACED))
			continue;
		reason = reason_add(judgement, cliff->code, weight, cliff->disk,
				    (struct reason_numbers){ cliff->after_bps, share_bps, "bit/s" });
		if (strcmp(cliff->code, "ZONE") == 0)
			SAY(reason, "%.150s fell evenly from %s to %s, %s.",
			    reason_path(evidence, cliff->disk), text_rate(before, cliff->before_bps),
			    text_rate(after, cliff->after_bps), cliff_text(cliff));
		else
			SAY(reason, "%.150s fell from %s to %s at %s, after %s, %s.",
			    reason_path(evidence, cliff->disk), text_rate(before, cliff->before_bps),
			    text_rate(after, cliff->after_bps), text_time(when, cliff->at_s),
			    text_size(bytes, cliff->at_bytes), cliff_text(cliff));
		ADVISE(reason, "%s", cliff_advice(cliff));
	}
}

/*
 * As long as one more such swing would still be enough, it does not matter; nor as long as the disk never does less
 * than what it is known to do at full speed.
 */
static bool is_unsteady(const struct evidence *evidence, const struct capability *capability,
			double known_bps, struct cliff_steadiness *steadiness)
{
	if (!cliffs_steadiness(capability, steadiness) ||
	    (known_bps > 0 && steadiness->least_bps > (1 - SPREAD_WINDOWS) * known_bps))
		return false;
	return (steadiness->spread > SPREAD_WINDOWS || steadiness->excursion > EXCURSION_WINDOWS) &&
	       evidence->rate_bps > evidence->rho_pass * steadiness->next_bps;
}

void rule_not_steady(const struct evidence *evidence, struct judgement *judgement)
{
	struct cliff_steadiness steadiness;
	char least[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;

	if (!is_unsteady(evidence, &evidence->at_rate.all, evidence->full.all.median_bps, &steadiness) &&
	    !is_unsteady(evidence, &evidence->full.all, 0, &steadiness))
		return;
	reason = reason_add(judgement, "NOT_STEADY", VERDICT_MARGINAL, -1,
			    (struct reason_numbers){ steadiness.spread, SPREAD_WINDOWS, "" });
	SAY(reason, "The rate was not steady at the end: it differed by %.0f %% and came down to %s.",
	    steadiness.spread * 100, text_rate(least, steadiness.least_bps));
	ADVISE(reason, "test longer, until it settles");
}

void rule_untested_zones(const struct evidence *evidence, struct judgement *judgement)
{
	double slowest = 1, used;
	int disk = -1;
	struct judgement_reason *reason;

	if (evidence->trial->asked.length == TRIAL_WHOLE_DISK)
		return;
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		double ratio = evidence->trial->disks[d].read.inner_ratio;

		if (evidence->trial->disks[d].read.was_run && ratio > 0 && ratio < slowest) {
			slowest = ratio;
			disk = (int)d;
		}
	}
	used = predict_rho(evidence, evidence->rate_bps / slowest);
	if (disk < 0 || used <= evidence->rho_pass || judgement->rho > evidence->rho_pass)
		return;
	reason = reason_add(judgement, "UNTESTED_ZONES", VERDICT_MARGINAL, disk,
			    (struct reason_numbers){ used, evidence->rho_pass, "" });
	SAY(reason,
	    "%.150s reads at %.0f %% of its best rate at its slowest place: there the disks would have to work %.0f %% of the time.",
	    reason_path(evidence, disk), slowest * 100, used * 100);
	ADVISE(reason, "do not fill the disk, or test it with --whole-disk");
}

/* ---- buses and links ---- */

static double full_rate(const struct trial_run *run)
{
	return run->was_run && run->written_ns > 0 ?
		       8 * (double)run->written_bytes /
			       ((double)run->written_ns / (double)UNITS_NS_PER_S) :
		       0;
}

static bool is_on_path(const struct trial_environment *environment, const char *name)
{
	for (unsigned i = 0; i < environment->path_count; i++)
		if (strcmp(environment->path[i].name, name) == 0)
			return true;
	return false;
}

/* The first device on the first disk's way up that all others pass as well. */
static void find_shared_node(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial_disk *disks = evidence->trial->disks;

	for (unsigned i = 0; i < disks[0].environment.path_count; i++) {
		const char *name = disks[0].environment.path[i].name;
		bool is_shared = true;

		for (unsigned d = 1; d < evidence->disk_count && is_shared; d++)
			is_shared = is_on_path(&disks[d].environment, name);
		if (is_shared) {
			snprintf(judgement->shared_node, sizeof(judgement->shared_node), "%s", name);
			return;
		}
	}
}

void rule_shared_bus(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial *trial = evidence->trial;
	char together[JUDGE_TEXT_LEN], apart[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;
	double sum = 0;

	if (evidence->disk_count < 2)
		return;
	find_shared_node(evidence, judgement);
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		double rate_bps = full_rate(trial->disks[d].alone.was_run ? &trial->disks[d].alone :
									    &trial->disks[d].full);

		if (rate_bps <= 0)
			return;
		sum += rate_bps;
	}
	if (full_rate(&trial->together) <= 0)
		return;
	judgement->eta = full_rate(&trial->together) / sum;
	if (judgement->eta >= ETA_LEAST)
		return;
	reason = reason_add(judgement, "SHARED_BUS", VERDICT_MARGINAL, -1,
			    (struct reason_numbers){ judgement->eta, ETA_LEAST, "" });
	SAY(reason, "Together the disks do %s, alone %s in sum: they share a bottleneck",
	    text_rate(together, full_rate(&trial->together)), text_rate(apart, sum));
	if (judgement->shared_node[0])
		SAY(reason, ", and the lowest thing all of them hang on is %s", judgement->shared_node);
	SAY(reason, ".");
	ADVISE(reason, "move one of them to another port, hub or controller");
}

void rule_link_slow(const struct evidence *evidence, struct judgement *judgement)
{
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		const struct trial_environment *at = &evidence->trial->disks[d].environment;
		char has[JUDGE_TEXT_LEN], could[JUDGE_TEXT_LEN];
		struct judgement_reason *reason;

		if (at->link_bps <= 0 || at->capable_bps <= at->link_bps * LINK_TOLERANCE)
			continue;
		reason = reason_add(judgement, "LINK_SLOW", VERDICT_MARGINAL, (int)d,
				    (struct reason_numbers){ at->link_bps, at->capable_bps, "bit/s" });
		SAY(reason, "%.150s: %s runs at %s and could do %s.", reason_path(evidence, (int)d),
		    at->link_node[0] ? at->link_node : "the link", text_rate(has, at->link_bps),
		    text_rate(could, at->capable_bps));
		ADVISE(reason, "try another cable or port");
	}
}

/* Faster than the link: something between took the bytes and not the disk. */
void rule_cached(const struct evidence *evidence, struct judgement *judgement)
{
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		double link_bps = evidence->trial->disks[d].environment.link_bps,
		       rate_bps = fmax(evidence->at_rate.disks[d].median_bps,
				       evidence->full.disks[d].median_bps);
		char has[JUDGE_TEXT_LEN], could[JUDGE_TEXT_LEN];
		struct judgement_reason *reason;

		if (link_bps <= 0 || rate_bps <= link_bps * LINK_TOLERANCE)
			continue;
		reason = reason_add(judgement, "CACHED", VERDICT_INCONCLUSIVE, (int)d,
				    (struct reason_numbers){ rate_bps, link_bps, "bit/s" });
		SAY(reason,
		    "%.150s seems to do %s over a link of %s: a cache was measured, not the disk.",
		    reason_path(evidence, (int)d), text_rate(has, rate_bps),
		    text_rate(could, link_bps));
		ADVISE(reason, "use --io direct, on the machine the disk belongs to");
	}
}
