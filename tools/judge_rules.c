/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/judge_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"
#include "tools/cliffs.h"

#define TAIL_LIMIT_S \
	2 /* one sync of metadata and the last blocks may take this, however short the run */
#define TAIL_RATE_LEAST 0.999
#define TEST_LEAST_S 60
#define FOREIGN_MOST 0.02
#define PRESSURE_MOST 0.05
#define LINK_TOLERANCE 1.02
#define ETA_LEAST 0.9
#define SPREAD_MOST 2
#define SPREAD_RING_SHARE 8 /* what stays below an eighth of the ring may differ as it likes */
#define SPREAD_WINDOWS 0.2
#define EXCURSION_WINDOWS 0.1
#define LARGE_STALL 0.5 /* of the worst */
#define BUFFERED_MEMORIES 2
#define ROLLOVER_RING_SHARE 1.5

struct numbers {
	double value, limit;
	const char *unit;
};

/* Its text and advice are for the caller to write. When there are too many, the last one is overwritten. */
static struct judgement_reason *add(struct judgement *judgement, const char *code,
				    enum verdict weight, int disk, struct numbers numbers)
{
	struct judgement_reason *reason;

	if (judgement->reason_count < JUDGEMENT_REASONS_MAX)
		judgement->reason_count++;
	reason = &judgement->reasons[judgement->reason_count - 1];
	*reason = (struct judgement_reason){
		.weight = weight,
		.value = numbers.value,
		.limit = numbers.limit,
		.disk = disk,
	};
	snprintf(reason->code, sizeof(reason->code), "%s", code);
	snprintf(reason->unit, sizeof(reason->unit), "%s", numbers.unit);
	judgement->result = verdict_worse(judgement->result, weight);
	return reason;
}

#define SAY(reason, ...) text_append((reason)->text, sizeof((reason)->text), __VA_ARGS__)
#define ADVISE(reason, ...) text_append((reason)->advice, sizeof((reason)->advice), __VA_ARGS__)

static double seconds(int64_t ns)
{
	return (double)ns / (double)UNITS_NS_PER_S;
}

static const char *path_of(const struct evidence *evidence, int disk)
{
	return evidence->trial->disks[disk].target.path;
}

/* ---- what went wrong ---- */

static void overflow(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial_run *run = evidence->paced;
	char lost[JUDGE_TEXT_LEN], when[JUDGE_TEXT_LEN];
	double bytes = (double)run->overflow_bytes + (double)run->lost_bytes;
	struct judgement_reason *reason;

	if (bytes == 0 && run->overflow_count == 0)
		return;
	reason = add(judgement, "OVERFLOW", VERDICT_FAIL, -1, (struct numbers){ bytes, 0, "bytes" });
	SAY(reason, "The recording lost %s", text_size(lost, bytes));
	if (run->first_overflow_ns >= 0 && run->overflow_count)
		SAY(reason, ", the first after %s", text_time(when, seconds(run->first_overflow_ns)));
	SAY(reason, ".");
	ADVISE(reason, "use a lower rate or faster disks, or more of them");
}

static void io_error_of(const struct trial_run *run, const struct evidence *evidence,
			struct judgement *judgement)
{
	for (unsigned i = 0; run->was_run && i < run->part_count; i++) {
		const struct trial_part *part = &run->parts[i];
		struct judgement_reason *reason;

		if (part->state == DISK_OK && !part->error[0])
			continue;
		reason = add(judgement, "IO_ERROR", VERDICT_FAIL, (int)part->disk,
			     (struct numbers){ 1, 0, "" });
		SAY(reason, "%.150s: %.300s.", path_of(evidence, (int)part->disk),
		    part->error[0] ? part->error : session_disk_state_name(part->state));
		ADVISE(reason, "look at the kernel's log, at cable and power supply, then try again");
	}
}

static void io_error(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial *trial = evidence->trial;

	for (unsigned d = 0; d < evidence->disk_count; d++) {
		io_error_of(&trial->disks[d].full, evidence, judgement);
		io_error_of(&trial->disks[d].alone, evidence, judgement);
	}
	io_error_of(&trial->together, evidence, judgement);
	io_error_of(&trial->paced, evidence, judgement);
	for (unsigned i = 0; i < trial->repeat_count; i++)
		io_error_of(&trial->repeats[i], evidence, judgement);
	io_error_of(&trial->source, evidence, judgement);
	io_error_of(&trial->interfered, evidence, judgement);
}

static void verify(const struct evidence *evidence, struct judgement *judgement)
{
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		const struct trial_read_back *back = &evidence->trial->disks[d].read_back;
		struct judgement_reason *reason;

		if (!back->was_run || back->wrong_bytes == 0)
			continue;
		reason = add(judgement, "VERIFY", VERDICT_FAIL, (int)d,
			     (struct numbers){ (double)back->wrong_bytes, 0, "bytes" });
		SAY(reason, "%.150s: %llu bytes are not what was written. %.250s",
		    path_of(evidence, (int)d), (unsigned long long)back->wrong_bytes, back->text);
		ADVISE(reason, "do not use this disk");
	}
}

/*
 * What the sync takes when all writes are back, and not what the ring still held when the stream ended: that is
 * for the rules of the ring. A short run may take one sync's time; what counts is a disk that is behind.
 */
static void lazy_tail(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial_run *run = evidence->paced;
	double length_s = seconds(run->duration_ns),
	       tail_s = seconds(run->synced_ns - run->written_ns), rate_bps,
	       limit_bps = TAIL_RATE_LEAST * evidence->rate_bps;
	char tail[JUDGE_TEXT_LEN], rate[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;
	enum verdict weight;

	if (length_s <= 0 || tail_s <= TAIL_LIMIT_S)
		return;
	rate_bps = 8 * (double)(run->stream_bytes - run->overflow_bytes) / (length_s + tail_s);
	weight = rate_bps < limit_bps ? VERDICT_FAIL : VERDICT_MARGINAL;
	reason = add(judgement, "LAZY_TAIL", weight, -1,
		     (struct numbers){ rate_bps, limit_bps, "bit/s" });
	SAY(reason,
	    "When all was written, it took %s more until it was on the disks: with that they carried %s.",
	    text_time(tail, tail_s), text_rate(rate, rate_bps));
	ADVISE(reason, "%s",
	       evidence->trial->asked.use_direct ?
		       "use faster disks" :
		       "use --io direct, so that nothing waits in the page cache");
}

/* ---- rate and ring ---- */

static void rho(const struct evidence *evidence, struct judgement *judgement)
{
	char rate[JUDGE_TEXT_LEN], low[JUDGE_TEXT_LEN], most[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;
	bool has_failed = judgement->rho > evidence->rho_fail;

	if (judgement->rho <= evidence->rho_pass)
		return;
	reason = add(judgement, "RHO", has_failed ? VERDICT_FAIL : VERDICT_MARGINAL, -1,
		     (struct numbers){ judgement->rho,
				       has_failed ? evidence->rho_fail : evidence->rho_pass, "" });
	SAY(reason, "At %s the disks, which do %s in their worse times",
	    text_rate(rate, evidence->rate_bps), text_rate(low, evidence->low_bps));
	if (evidence->stall_share >= 0.005)
		SAY(reason, " and stall for %.0f %% of it", evidence->stall_share * 100);
	SAY(reason, ", would have to work %.0f %% of the time.", fmin(judgement->rho, 99.99) * 100);
	ADVISE(reason, "stay below %s, or use faster disks or more of them",
	       text_rate(most, fmax(evidence->rho_pass - evidence->stall_share, 0) * evidence->low_bps));
}

static void deficit(const struct evidence *evidence, struct judgement *judgement)
{
	bool is_in_time = judgement->full_in_s < evidence->horizon_s;
	char slope[JUDGE_TEXT_LEN], full[JUDGE_TEXT_LEN], less[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;

	if (!isfinite(judgement->full_in_s))
		return;
	reason = add(judgement, "DEFICIT", is_in_time ? VERDICT_FAIL : VERDICT_MARGINAL, -1,
		     (struct numbers){ judgement->full_in_s, evidence->horizon_s, "s" });
	SAY(reason, "The ring fills at %s, so it overflows %s after the start.",
	    text_rate(slope, judgement->slope_bps), text_time(full, judgement->full_in_s));
	ADVISE(reason, "no ring helps for long: stay below %s, or use faster disks",
	       text_rate(less, evidence->rate_bps - judgement->slope_bps));
}

static void ring(const struct evidence *evidence, struct judgement *judgement)
{
	double above = judgement->q_bytes - judgement->base_bytes,
	       needed = judgement->base_bytes + JUDGE_RING_FACTOR_LEAST * above;
	char held[JUDGE_TEXT_LEN], size[JUDGE_TEXT_LEN], more[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;

	if (needed <= evidence->ring_bytes)
		return;
	reason = add(judgement, "RING", VERDICT_FAIL, -1,
		     (struct numbers){ judgement->q_bytes,
				       evidence->ring_bytes / JUDGE_RING_FACTOR_LEAST, "bytes" });
	SAY(reason, "The ring held up to %s of its %s, and should have half as much again to spare.",
	    text_size(held, judgement->q_bytes), text_size(size, evidence->ring_bytes));
	if (isfinite(judgement->ring_needed_bytes))
		ADVISE(reason, "use a ring of %s", text_size(more, judgement->ring_needed_bytes));
}

/* The same shortage has two cures: a longer test, as long as that is no longer than the recording; or a larger ring. */
static void q95(const struct evidence *evidence, struct judgement *judgement)
{
	bool can_test = judgement->test_needed_s <= evidence->horizon_s;
	char need[JUDGE_TEXT_LEN], good[JUDGE_TEXT_LEN], horizon[JUDGE_TEXT_LEN],
		test[JUDGE_TEXT_LEN], tested[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;

	if (!isfinite(judgement->q95_bytes) || judgement->q95_bytes <= evidence->ring_bytes)
		return;
	text_size(need, judgement->ring_needed_bytes);
	text_time(horizon, evidence->horizon_s);
	text_time(good, judgement->h_max_s);
	if (can_test) {
		reason = add(judgement, "SHORT_TEST", VERDICT_MARGINAL, -1,
			     (struct numbers){ evidence->tested_s, judgement->test_needed_s, "s" });
		SAY(reason,
		    "A test of %s with this ring is evidence for %s, not for %s; nothing is wrong with the disk.",
		    text_time(tested, evidence->tested_s), good, horizon);
		ADVISE(reason, "test for %s, or use a ring of %s",
		       text_time(test, ceil(judgement->test_needed_s / 60) * 60), need);
		return;
	}
	reason = add(judgement, "Q95", VERDICT_MARGINAL, -1,
		     (struct numbers){ judgement->q95_bytes, evidence->ring_bytes, "bytes" });
	SAY(reason, "In %s the ring may have to hold %s; the one there is good for %s.", horizon,
	    need, good);
	ADVISE(reason, "use a ring of %s", need);
}

static void space(const struct evidence *evidence, struct judgement *judgement)
{
	double free_bytes, needed = predict_space_bytes(evidence, evidence->rate_bps, &free_bytes);
	char need[JUDGE_TEXT_LEN], has[JUDGE_TEXT_LEN], enough[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;

	if (free_bytes < 0 || needed <= free_bytes)
		return;
	reason = add(judgement, "SPACE", VERDICT_FAIL, -1,
		     (struct numbers){ needed, free_bytes, "bytes" });
	SAY(reason, "The recording takes %s, and %s are free.", text_size(need, needed),
	    text_size(has, free_bytes));
	ADVISE(reason, "make room, or record for no longer than %s",
	       text_time(enough, free_bytes * 8 / evidence->rate_bps / JUDGE_SPACE_FACTOR));
}

/* Is the ring empty again before the next one of the kind? */
static void recovery(const struct evidence *evidence, struct judgement *judgement)
{
	const struct stalls *stalls = &evidence->at_rate.stalls;
	double used = evidence->low_bps > 0 ? evidence->rate_bps / evidence->low_bps : 0,
	       least_ns = LARGE_STALL * judgement->stalls.worst_s * 1e9, first_s = 0, last_s = 0,
	       interval_s, recovery_s;
	char takes[JUDGE_TEXT_LEN], every[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;
	unsigned count = 0;

	for (size_t i = 0; i < stalls->count; i++) {
		if ((double)stalls->items[i].took_ns < least_ns)
			continue;
		last_s = seconds(stalls->items[i].at_ns);
		first_s = count++ ? first_s : last_s;
	}
	if (count < 2 || used >= 1)
		return;
	interval_s = (last_s - first_s) / (count - 1);
	recovery_s = judgement->stalls.worst_s * used / (1 - used);
	if (recovery_s <= interval_s)
		return;
	reason = add(judgement, "RECOVERY", VERDICT_MARGINAL, -1,
		     (struct numbers){ recovery_s, interval_s, "s" });
	SAY(reason,
	    "After its worst stall the ring needs %s to be empty again, and such stalls come every %s.",
	    text_time(takes, recovery_s), text_time(every, interval_s));
	ADVISE(reason, "use faster disks or more of them");
}

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

static void cliffs(const struct evidence *evidence, struct judgement *judgement)
{
	double share_bps = evidence->rate_bps / fmax(evidence->disk_count, 1);

	for (unsigned i = 0; i < judgement->cliff_count; i++) {
		const struct judgement_cliff *cliff = &judgement->cliffs[i];
		char when[JUDGE_TEXT_LEN], bytes[JUDGE_TEXT_LEN], before[JUDGE_TEXT_LEN],
			after[JUDGE_TEXT_LEN];
		struct judgement_reason *reason;

		/* the recording ends before it comes so far */
		if (cliff->at_bytes > share_bps / 8 * evidence->horizon_s)
			continue;
		reason = add(judgement, cliff->code, cliff_weight(evidence, cliff, share_bps),
			     cliff->disk, (struct numbers){ cliff->after_bps, share_bps, "bit/s" });
		if (strcmp(cliff->code, "ZONE") == 0)
			SAY(reason, "%.150s fell evenly from %s to %s, %s.",
			    path_of(evidence, cliff->disk), text_rate(before, cliff->before_bps),
			    text_rate(after, cliff->after_bps), cliff_text(cliff));
		else
			SAY(reason, "%.150s fell from %s to %s at %s, after %s, %s.",
			    path_of(evidence, cliff->disk), text_rate(before, cliff->before_bps),
			    text_rate(after, cliff->after_bps), text_time(when, cliff->at_s),
			    text_size(bytes, cliff->at_bytes), cliff_text(cliff));
		ADVISE(reason, "%s", cliff_advice(cliff));
	}
}

/* As long as one more such swing would still be enough, it does not matter. */
static bool is_unsteady(const struct evidence *evidence, const struct capability *capability,
			struct cliff_steadiness *steadiness)
{
	return cliffs_steadiness(capability, steadiness) &&
	       (steadiness->spread > SPREAD_WINDOWS || steadiness->excursion > EXCURSION_WINDOWS) &&
	       evidence->rate_bps > evidence->rho_pass * steadiness->next_bps;
}

static void not_steady(const struct evidence *evidence, struct judgement *judgement)
{
	struct cliff_steadiness steadiness;
	char least[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;

	if (!is_unsteady(evidence, &evidence->at_rate.all, &steadiness) &&
	    !is_unsteady(evidence, &evidence->full.all, &steadiness))
		return;
	reason = add(judgement, "NOT_STEADY", VERDICT_MARGINAL, -1,
		     (struct numbers){ steadiness.spread, SPREAD_WINDOWS, "" });
	SAY(reason, "The rate was not steady at the end: it differed by %.0f %% and came down to %s.",
	    steadiness.spread * 100, text_rate(least, steadiness.least_bps));
	ADVISE(reason, "test longer, until it settles");
}

static void untested_zones(const struct evidence *evidence, struct judgement *judgement)
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
	reason = add(judgement, "UNTESTED_ZONES", VERDICT_MARGINAL, disk,
		     (struct numbers){ used, evidence->rho_pass, "" });
	SAY(reason,
	    "%.150s reads at %.0f %% of its best rate at its slowest place: there the disks would have to work %.0f %% of the time.",
	    path_of(evidence, disk), slowest * 100, used * 100);
	ADVISE(reason, "do not fill the disk, or test it with --whole-disk");
}

/* ---- buses and links ---- */

static double full_rate(const struct trial_run *run)
{
	return run->was_run && run->written_ns > 0 ?
		       8 * (double)run->written_bytes / seconds(run->written_ns) :
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

static void shared_bus(const struct evidence *evidence, struct judgement *judgement)
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
	reason = add(judgement, "SHARED_BUS", VERDICT_MARGINAL, -1,
		     (struct numbers){ judgement->eta, ETA_LEAST, "" });
	SAY(reason, "Together the disks do %s, alone %s in sum: they share a bottleneck",
	    text_rate(together, full_rate(&trial->together)), text_rate(apart, sum));
	if (judgement->shared_node[0])
		SAY(reason, ", and the lowest thing all of them hang on is %s", judgement->shared_node);
	SAY(reason, ".");
	ADVISE(reason, "move one of them to another port, hub or controller");
}

static void link_slow(const struct evidence *evidence, struct judgement *judgement)
{
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		const struct trial_environment *at = &evidence->trial->disks[d].environment;
		char has[JUDGE_TEXT_LEN], could[JUDGE_TEXT_LEN];
		struct judgement_reason *reason;

		if (at->link_bps <= 0 || at->capable_bps <= at->link_bps * LINK_TOLERANCE)
			continue;
		reason = add(judgement, "LINK_SLOW", VERDICT_MARGINAL, (int)d,
			     (struct numbers){ at->link_bps, at->capable_bps, "bit/s" });
		SAY(reason, "%.150s: %s runs at %s and could do %s.", path_of(evidence, (int)d),
		    at->link_node[0] ? at->link_node : "the link", text_rate(has, at->link_bps),
		    text_rate(could, at->capable_bps));
		ADVISE(reason, "try another cable or port");
	}
}

/* Faster than the link: something between took the bytes and not the disk. */
static void cached(const struct evidence *evidence, struct judgement *judgement)
{
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		double link_bps = evidence->trial->disks[d].environment.link_bps,
		       rate_bps = fmax(evidence->at_rate.disks[d].median_bps,
				       evidence->full.disks[d].median_bps);
		char has[JUDGE_TEXT_LEN], could[JUDGE_TEXT_LEN];
		struct judgement_reason *reason;

		if (link_bps <= 0 || rate_bps <= link_bps * LINK_TOLERANCE)
			continue;
		reason = add(judgement, "CACHED", VERDICT_INCONCLUSIVE, (int)d,
			     (struct numbers){ rate_bps, link_bps, "bit/s" });
		SAY(reason,
		    "%.150s seems to do %s over a link of %s: a cache was measured, not the disk.",
		    path_of(evidence, (int)d), text_rate(has, rate_bps), text_rate(could, link_bps));
		ADVISE(reason, "use --io direct, on the machine the disk belongs to");
	}
}

/* ---- how good the evidence is ---- */

static void interrupted(const struct evidence *evidence, struct judgement *judgement)
{
	struct judgement_reason *reason;

	if (!evidence->trial->is_interrupted && !evidence->paced->is_interrupted)
		return;
	reason = add(judgement, "INTERRUPTED", VERDICT_INCONCLUSIVE, -1, (struct numbers){ 1, 0, "" });
	SAY(reason, "The test was interrupted.");
	ADVISE(reason, "let it run to its end");
}

/* A test as long as the recording is one. */
static void short_test(const struct evidence *evidence, struct judgement *judgement)
{
	double least_s = fmin(TEST_LEAST_S, evidence->horizon_s);
	char tested[JUDGE_TEXT_LEN], least[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;

	if (evidence->tested_s >= least_s * TAIL_RATE_LEAST)
		return;
	reason = add(judgement, "SHORT_TEST", VERDICT_INCONCLUSIVE, -1,
		     (struct numbers){ evidence->tested_s, least_s, "s" });
	SAY(reason, "%s of recording tell nothing.", text_time(tested, evidence->tested_s));
	ADVISE(reason, "test for %s at least", text_time(least, least_s));
}

/* Our own writes make io pressure as well: it only counts where the sectors are not known. */
static void foreign_io(const struct evidence *evidence, struct judgement *judgement)
{
	for (unsigned i = 0; i < evidence->paced->part_count; i++) {
		const struct trial_part *part = &evidence->paced->parts[i];
		const struct trial_pressure *pressure = &part->pressure;
		bool is_known = pressure->foreign_share >= 0;
		double share = is_known ? pressure->foreign_share : pressure->io_full_share,
		       limit = is_known ? FOREIGN_MOST : PRESSURE_MOST;
		struct judgement_reason *reason;

		if (share <= limit)
			continue;
		reason = add(judgement, "FOREIGN_IO", VERDICT_INCONCLUSIVE, (int)part->disk,
			     (struct numbers){ share, limit, "" });
		if (is_known)
			SAY(reason, "%.150s: %.1f %% of the sectors were somebody else's.",
			    path_of(evidence, (int)part->disk), share * 100);
		else
			SAY(reason, "%.150s: for %.1f %% of the time all that ran waited for disks.",
			    path_of(evidence, (int)part->disk), share * 100);
		ADVISE(reason, "stop what else uses the disk, and test again");
	}
}

static void buffered_short(const struct evidence *evidence, struct judgement *judgement)
{
	double limit = BUFFERED_MEMORIES * (double)evidence->trial->host.memory_bytes,
	       bytes = (double)evidence->paced->written_bytes;
	char has[JUDGE_TEXT_LEN], need[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;

	if (strcmp(evidence->paced->io, "buffered") != 0 || bytes >= limit)
		return;
	reason = add(judgement, "BUFFERED_SHORT", VERDICT_INCONCLUSIVE, -1,
		     (struct numbers){ bytes, limit, "bytes" });
	SAY(reason,
	    "%s were written through a page cache that can hold most of it; twice the memory, %s, would be a test.",
	    text_size(has, bytes), text_size(need, limit));
	ADVISE(reason, "use --io direct, or test longer");
}

static void spread(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial *trial = evidence->trial;
	double most = (double)trial->paced.high_water_bytes, least = most;
	char high[JUDGE_TEXT_LEN], low[JUDGE_TEXT_LEN];
	struct judgement_reason *reason;

	for (unsigned i = 0; i < trial->repeat_count; i++) {
		if (!trial->repeats[i].was_run)
			continue;
		most = fmax(most, (double)trial->repeats[i].high_water_bytes);
		least = fmin(least, (double)trial->repeats[i].high_water_bytes);
	}
	if (most <= SPREAD_MOST * least || most * SPREAD_RING_SHARE <= evidence->ring_bytes)
		return;
	reason = add(judgement, "SPREAD", VERDICT_MARGINAL, -1,
		     (struct numbers){ most / fmax(least, 1), SPREAD_MOST, "" });
	SAY(reason, "The same run filled the ring with %s once and with %s another time.",
	    text_size(low, least), text_size(high, most));
	ADVISE(reason, "test longer, and find out what differs");
}

/* ---- further trials ---- */

static void rollover(const struct evidence *evidence, struct judgement *judgement)
{
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		const struct trial_rollover *roll = &evidence->trial->disks[d].rollover;
		double takes_s = seconds(roll->worst_create_ns + roll->worst_sync_ns +
					 roll->worst_close_ns),
		       holds_s = evidence->ring_bytes * 8 / evidence->rate_bps / ROLLOVER_RING_SHARE;
		char takes[JUDGE_TEXT_LEN], holds[JUDGE_TEXT_LEN];
		struct judgement_reason *reason;

		if (!roll->was_run || takes_s <= holds_s)
			continue;
		reason = add(judgement, "ROLLOVER", VERDICT_MARGINAL, (int)d,
			     (struct numbers){ takes_s, holds_s, "s" });
		SAY(reason,
		    "%.150s: the end of one file and the beginning of the next took up to %s; two thirds of the ring hold %s.",
		    path_of(evidence, (int)d), text_time(takes, takes_s), text_time(holds, holds_s));
		ADVISE(reason, "use larger files or a larger ring");
	}
}

static double lost_in(const struct trial_run *run)
{
	return run->was_run ? (double)run->overflow_bytes + (double)run->lost_bytes : 0;
}

static void source(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial_run *run = &evidence->trial->source;
	struct judgement_reason *reason;
	char lost[JUDGE_TEXT_LEN];

	if (lost_in(run) == 0)
		return;
	reason = add(judgement, "SOURCE", VERDICT_FAIL, -1,
		     (struct numbers){ lost_in(run), 0, "bytes" });
	SAY(reason, "With the real source %.100s running %s were lost%s.", run->source,
	    text_size(lost, lost_in(run)),
	    lost_in(evidence->paced) == 0 ? ", and none with the simulator" : "");
	ADVISE(reason, "put source and disks on different buses");
}

static void interference(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial_run *run = &evidence->trial->interfered;
	struct judgement_reason *reason;
	char lost[JUDGE_TEXT_LEN];

	if (lost_in(run) == 0)
		return;
	reason = add(judgement, "INTERFERENCE", VERDICT_MARGINAL, -1,
		     (struct numbers){ lost_in(run), 0, "bytes" });
	SAY(reason, "With 5 %% of random I/O beside it the recording lost %s.",
	    text_size(lost, lost_in(run)));
	ADVISE(reason, "let nobody else use these disks while you record");
}

static void not_run(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial *trial = evidence->trial;
	struct judgement_reason *reason;

	if (evidence->paced && !evidence->paced->error[0])
		return;
	reason = add(judgement, "NOT_RUN", VERDICT_INCONCLUSIVE, -1, (struct numbers){ 0, 1, "" });
	if (trial->paced.error[0])
		SAY(reason, "The run at the rate did not come to its end: %.350s", trial->paced.error);
	else
		SAY(reason, "There was no run at the rate, and only that decides.");
	ADVISE(reason, "run the paced phase");
}

struct rule {
	void (*apply)(const struct evidence *evidence, struct judgement *judgement);
	bool needs_paced;
};

/* Those that say most come first: among equals the order stays. */
static const struct rule rules[] = {
	{ io_error, false },    { verify, false },
	{ overflow, true },     { deficit, true },
	{ cliffs, false },      { rho, true },
	{ ring, true },         { lazy_tail, true },
	{ space, false },       { source, true },
	{ not_run, false },     { interrupted, true },
	{ short_test, true },   { foreign_io, true },
	{ cached, false },      { buffered_short, true },
	{ q95, true },          { recovery, true },
	{ not_steady, true },   { untested_zones, true },
	{ shared_bus, false },  { link_slow, false },
	{ spread, true },       { rollover, true },
	{ interference, true },
};

void rules_apply(const struct evidence *evidence, struct judgement *judgement)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (evidence->paced || !rules[i].needs_paced)
			rules[i].apply(evidence, judgement);
}
