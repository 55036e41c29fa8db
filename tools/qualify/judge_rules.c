/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/judge_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"

#define TAIL_LIMIT_S 2 /* one sync may take this, however short the run */
#define TAIL_RATE_LEAST 0.999
#define TEST_LEAST_S 60
#define FOREIGN_MOST 0.02
#define PRESSURE_MOST 0.05
#define SPREAD_MOST 2
#define SPREAD_RING_SHARE 8 /* what stays below an eighth of the ring may differ as it likes */
#define LARGE_STALL 0.5     /* of the worst */
#define BUFFERED_MEMORIES 2
#define ROLLOVER_RING_SHARE 1.5
#define RANDOM_LEAST 0.9 /* of the random operations that were due */
#define RANDOM_LATE 8
#define FOREIGN_LEAST_BYTES 1e6 /* a file system writes for itself as well */

struct judgement_reason *reason_add(struct judgement *judgement, const char *code,
				    enum verdict weight, int disk, struct reason_numbers numbers)
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

static double seconds(int64_t ns)
{
	return (double)ns / (double)UNITS_NS_PER_S;
}

const char *reason_path(const struct evidence *evidence, int disk)
{
	return evidence->trial->disks[disk].target.path;
}

/* ---- what went wrong ---- */

/* What has no room any more says nothing of how fast it is. */
static bool has_full_disk(const struct trial_run *run)
{
	for (unsigned i = 0; run->was_run && i < run->part_count; i++)
		if (run->parts[i].state == DISK_FULL)
			return true;
	return false;
}

/*
 * What neither was counted as lost nor came back as written is lost as well. Not of a run that broke off, which says
 * so; nor of a real source, which may send what is not of the recording.
 */
static double lost_in(const struct trial_run *run)
{
	uint64_t counted = run->overflow_bytes + run->lost_bytes + run->source_lost_bytes,
		 known = counted + run->written_bytes;

	if (!run->was_run || has_full_disk(run))
		return 0;
	if (!run->error[0] && run->phase != PHASE_SOURCE && run->stream_bytes > known)
		counted += run->stream_bytes - known;
	return (double)counted;
}

static void overflow_of(const struct trial_run *run, struct judgement *judgement)
{
	char lost[JUDGE_TEXT_LEN], when[JUDGE_TEXT_LEN];
	double bytes = lost_in(run);
	struct judgement_reason *reason;

	if ((bytes == 0 && run->overflow_count == 0) || has_full_disk(run))
		return;
	reason = reason_add(judgement, "OVERFLOW", VERDICT_FAIL, -1,
			    (struct reason_numbers){ bytes, 0, "bytes" });
	SAY(reason, "The recording lost %s", text_size(lost, bytes));
	if (run->first_overflow_ns >= 0 && run->overflow_count)
		SAY(reason, ", the first after %s", text_time(when, seconds(run->first_overflow_ns)));
	SAY(reason, ".");
	ADVISE(reason, "use a lower rate or faster disks, or more of them");
}

static void overflow(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial *trial = evidence->trial;

	overflow_of(evidence->paced, judgement);
	for (unsigned i = 0; i < trial->repeat_count; i++)
		overflow_of(&trial->repeats[i], judgement);
}

static void failed(const struct evidence *evidence, int disk, const char *why,
		   struct judgement *judgement)
{
	struct judgement_reason *reason = reason_add(judgement, "IO_ERROR", VERDICT_FAIL, disk,
						     (struct reason_numbers){ 1, 0, "" });

	SAY(reason, "%.150s: %.300s.", reason_path(evidence, disk), why);
	ADVISE(reason, "look at the kernel's log, at cable and power supply, then try again");
}

/* Somebody else took the room: the reserve is ours to keep, and runs are cut to what there is. */
static void filled(const struct evidence *evidence, int disk, const char *why,
		   struct judgement *judgement)
{
	struct judgement_reason *reason = reason_add(judgement, "FULL", VERDICT_INCONCLUSIVE, disk,
						     (struct reason_numbers){ 1, 0, "" });

	SAY(reason, "%.150s was filled by others while it was tried: %.300s.",
	    reason_path(evidence, disk), why);
	ADVISE(reason, "free some space, let nobody else write there, and test again");
}

static void io_error_of(const struct trial_run *run, const struct evidence *evidence,
			struct judgement *judgement)
{
	for (unsigned i = 0; run->was_run && i < run->part_count; i++) {
		const struct trial_part *part = &run->parts[i];

		if (part->state == DISK_FULL)
			filled(evidence, (int)part->disk, part->error, judgement);
		else if (part->state != DISK_OK || part->error[0])
			failed(evidence, (int)part->disk,
			       part->error[0] ? part->error : session_disk_state_name(part->state),
			       judgement);
	}
}

static void io_error(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial *trial = evidence->trial;

	for (unsigned d = 0; d < evidence->disk_count; d++) {
		if (trial->disks[d].failure[0])
			failed(evidence, (int)d, trial->disks[d].failure, judgement);
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
		reason = reason_add(judgement, "VERIFY", VERDICT_FAIL, (int)d,
				    (struct reason_numbers){ (double)back->wrong_bytes, 0, "bytes" });
		SAY(reason, "%.150s: %llu bytes are not what was written. %.250s",
		    reason_path(evidence, (int)d), (unsigned long long)back->wrong_bytes, back->text);
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
	reason = reason_add(judgement, "LAZY_TAIL", weight, -1,
			    (struct reason_numbers){ rate_bps, limit_bps, "bit/s" });
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
	reason = reason_add(
		judgement, "RHO", has_failed ? VERDICT_FAIL : VERDICT_MARGINAL, -1,
		(struct reason_numbers){ judgement->rho,
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
	reason = reason_add(judgement, "DEFICIT", is_in_time ? VERDICT_FAIL : VERDICT_MARGINAL, -1,
			    (struct reason_numbers){ judgement->full_in_s, evidence->horizon_s, "s" });
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
	reason = reason_add(judgement, "RING", VERDICT_FAIL, -1,
			    (struct reason_numbers){ judgement->q_bytes,
						     evidence->ring_bytes / JUDGE_RING_FACTOR_LEAST,
						     "bytes" });
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
		reason = reason_add(judgement, "SHORT_TEST", VERDICT_MARGINAL, -1,
				    (struct reason_numbers){ evidence->tested_s,
							     judgement->test_needed_s, "s" });
		SAY(reason,
		    "A test of %s with this ring is evidence for %s, not for %s; nothing is wrong with the disk.",
		    text_time(tested, evidence->tested_s), good, horizon);
		ADVISE(reason, "test for %s, or use a ring of %s",
		       text_time(test, ceil(judgement->test_needed_s / 60) * 60), need);
		return;
	}
	reason = reason_add(
		judgement, "Q95", VERDICT_MARGINAL, -1,
		(struct reason_numbers){ judgement->q95_bytes, evidence->ring_bytes, "bytes" });
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
	reason = reason_add(judgement, "SPACE", VERDICT_FAIL, -1,
			    (struct reason_numbers){ needed, free_bytes, "bytes" });
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
	reason = reason_add(judgement, "RECOVERY", VERDICT_MARGINAL, -1,
			    (struct reason_numbers){ recovery_s, interval_s, "s" });
	SAY(reason,
	    "After its worst stall the ring needs %s to be empty again, and such stalls come every %s.",
	    text_time(takes, recovery_s), text_time(every, interval_s));
	ADVISE(reason, "use faster disks or more of them");
}

/* ---- how good the evidence is ---- */

static void interrupted(const struct evidence *evidence, struct judgement *judgement)
{
	struct judgement_reason *reason;

	if (!evidence->trial->is_interrupted && !evidence->paced->is_interrupted)
		return;
	reason = reason_add(judgement, "INTERRUPTED", VERDICT_INCONCLUSIVE, -1,
			    (struct reason_numbers){ 1, 0, "" });
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
	reason = reason_add(judgement, "SHORT_TEST", VERDICT_INCONCLUSIVE, -1,
			    (struct reason_numbers){ evidence->tested_s, least_s, "s" });
	SAY(reason, "%s of recording tell nothing.", text_time(tested, evidence->tested_s));
	ADVISE(reason, "test for %s at least", text_time(least, least_s));
}

static double foreign_bytes(const struct trial_part *part, double share)
{
	return share < 1 ? share / (1 - share) * (double)part->written_bytes : INFINITY;
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

		if (share <= limit || (is_known && foreign_bytes(part, share) < FOREIGN_LEAST_BYTES))
			continue;
		reason = reason_add(judgement, "FOREIGN_IO", VERDICT_INCONCLUSIVE, (int)part->disk,
				    (struct reason_numbers){ share, limit, "" });
		if (is_known)
			SAY(reason, "%.150s: %.1f %% of the sectors were somebody else's.",
			    reason_path(evidence, (int)part->disk), share * 100);
		else
			SAY(reason, "%.150s: for %.1f %% of the time all that ran waited for disks.",
			    reason_path(evidence, (int)part->disk), share * 100);
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
	reason = reason_add(judgement, "BUFFERED_SHORT", VERDICT_INCONCLUSIVE, -1,
			    (struct reason_numbers){ bytes, limit, "bytes" });
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
	reason = reason_add(judgement, "SPREAD", VERDICT_MARGINAL, -1,
			    (struct reason_numbers){ most / fmax(least, 1), SPREAD_MOST, "" });
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
		reason = reason_add(judgement, "ROLLOVER", VERDICT_MARGINAL, (int)d,
				    (struct reason_numbers){ takes_s, holds_s, "s" });
		SAY(reason,
		    "%.150s: the end of one file and the beginning of the next took up to %s; two thirds of the ring hold %s.",
		    reason_path(evidence, (int)d), text_time(takes, takes_s),
		    text_time(holds, holds_s));
		ADVISE(reason, "use larger files or a larger ring");
	}
}

static void source(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial_run *run = &evidence->trial->source;
	struct judgement_reason *reason;
	char lost[JUDGE_TEXT_LEN];

	if (lost_in(run) == 0)
		return;
	reason = reason_add(judgement, "SOURCE", VERDICT_FAIL, -1,
			    (struct reason_numbers){ lost_in(run), 0, "bytes" });
	SAY(reason, "With the real source %.100s running %s were lost%s.", run->source,
	    text_size(lost, lost_in(run)),
	    lost_in(evidence->paced) == 0 ? ", and none with the simulator" : "");
	ADVISE(reason, "put source and disks on different buses");
}

/* A disk that had no time for the others was not tried beside them; a few are still under way at the end. */
static void not_interfered(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial_run *run = &evidence->trial->interfered;

	for (unsigned i = 0; run->was_run && !run->error[0] && i < run->part_count; i++) {
		const struct trial_part *part = &run->parts[i];
		double share =
			(double)part->random_done_count / fmax((double)part->random_due_count, 1);
		struct judgement_reason *reason;

		if (part->random_done_count + RANDOM_LATE >= part->random_due_count ||
		    share >= RANDOM_LEAST)
			continue;
		reason = reason_add(judgement, "NOT_INTERFERED", VERDICT_INCONCLUSIVE, (int)part->disk,
				    (struct reason_numbers){ share, RANDOM_LEAST, "" });
		SAY(reason,
		    "%.150s: only %.0f %% of the random I/O beside the recording was done: how the two get on with each other is not known.",
		    reason_path(evidence, (int)part->disk), share * 100);
		ADVISE(reason, "let nobody else use this disk while you record, or test a lower rate");
	}
}

static void interference(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial_run *run = &evidence->trial->interfered;
	struct judgement_reason *reason;
	char lost[JUDGE_TEXT_LEN];

	if (lost_in(run) == 0) {
		not_interfered(evidence, judgement);
		return;
	}
	reason = reason_add(judgement, "INTERFERENCE", VERDICT_MARGINAL, -1,
			    (struct reason_numbers){ lost_in(run), 0, "bytes" });
	SAY(reason, "With 5 %% of random I/O beside it the recording lost %s.",
	    text_size(lost, lost_in(run)));
	ADVISE(reason, "let nobody else use these disks while you record");
}

static bool has_device(const struct trial *trial)
{
	for (unsigned i = 0; i < trial->disk_count; i++)
		if (trial->disks[i].target.kind == TARGET_DEVICE)
			return true;
	return false;
}

static void not_run(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial *trial = evidence->trial;
	struct judgement_reason *reason;

	if (evidence->paced && !evidence->paced->error[0])
		return;
	reason = reason_add(judgement, "NOT_RUN", VERDICT_INCONCLUSIVE, -1,
			    (struct reason_numbers){ 0, 1, "" });
	if (trial->paced.error[0])
		SAY(reason, "The run at the rate did not come to its end: %.350s.", trial->paced.error);
	else
		SAY(reason, "There was no run at the rate, and only that decides.");
	if (trial->paced.error[0])
		ADVISE(reason, "do what it says, and test again");
	else if (has_device(trial))
		ADVISE(reason, "give a directory on the disk, or see --destroy");
	else
		ADVISE(reason, "run the paced phase");
}

struct rule {
	void (*apply)(const struct evidence *evidence, struct judgement *judgement);
	bool needs_paced;
};

/* Those that say most come first: among equals the order stays. */
static const struct rule rules[] = {
	{ io_error, false },
	{ verify, false },
	{ overflow, true },
	{ deficit, true },
	{ rule_cliffs, false },
	{ rho, true },
	{ ring, true },
	{ lazy_tail, true },
	{ space, false },
	{ source, true },
	{ not_run, false },
	{ rule_further_runs, false },
	{ rule_slow_stream, true },
	{ rule_not_read_back, false },
	{ interrupted, true },
	{ short_test, true },
	{ foreign_io, true },
	{ rule_memory, false },
	{ rule_cached, false },
	{ buffered_short, true },
	{ q95, true },
	{ recovery, true },
	{ rule_untraced, true },
	{ rule_not_steady, true },
	{ rule_untested_zones, true },
	{ rule_shared_bus, false },
	{ rule_link_slow, false },
	{ spread, true },
	{ rollover, true },
	{ interference, true },
};

void rules_apply(const struct evidence *evidence, struct judgement *judgement)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (evidence->paced || !rules[i].needs_paced)
			rules[i].apply(evidence, judgement);
}
