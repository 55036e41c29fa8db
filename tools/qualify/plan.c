/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "drivers/units.h"

#define MS INT64_C(1000000)
#define SETTLE_NS (INT64_C(500) * MS) /* a step's beginning and end: ring, files, sync */
#define STEP_DOWN 0.8                 /* of rates, where the replay has no better idea */
#define STEP_UP \
	2.0 /* at most: times that were measured at one rate say little of a far higher one */
#define STEP_LEAST 1.1
#define BIT(phase) (1U << (phase))

/* What is done disk by disk, and what to all of them at once. */
enum scope { SCOPE_NONE, SCOPE_DISK, SCOPE_ALL };

/* Milliseconds by enum trial_length, of one disk; several share them, but no one gets less than the least. */
static const struct {
	enum scope scope;
	bool is_writing;
	int64_t ms[4];
	int64_t least_ms;
} phases[PHASE_COUNT] = {
	[PHASE_IDENTIFY] = { SCOPE_NONE, false, { 0, 0, 0, 0 }, 0 },
	[PHASE_ENVIRONMENT] = { SCOPE_NONE, false, { 0, 0, 0, 0 }, 0 },
	[PHASE_BLOCKS] = { SCOPE_DISK, true, { 5200, 39000, 39000, 39000 }, 2600 },
	[PHASE_DEPTH] = { SCOPE_DISK, true, { 2400, 18000, 18000, 18000 }, 1200 },
	[PHASE_FULL] = { SCOPE_DISK, true, { 5000, 90000, 90000, 90000 }, 3000 },
	[PHASE_READ] = { SCOPE_DISK, false, { 3000, 20000, 20000, 20000 }, 1500 },
	[PHASE_ALONE] = { SCOPE_DISK, true, { 4000, 40000, 40000, 40000 }, 3000 },
	[PHASE_TOGETHER] = { SCOPE_ALL, true, { 4000, 20000, 20000, 20000 }, 4000 },
	[PHASE_PACED] = { SCOPE_ALL, true, { 61000, 480000, 480000, 480000 }, 61000 },
	[PHASE_READ_BACK] = { SCOPE_DISK, false, { 4000, 30000, 60000, 60000 }, 2000 },
	[PHASE_SOURCE] = { SCOPE_ALL, true, { 15000, 120000, 120000, 120000 }, 15000 },
	[PHASE_INTERFERE] = { SCOPE_ALL, true, { 15000, 120000, 120000, 120000 }, 15000 },
	[PHASE_ROLLOVER] = { SCOPE_DISK, true, { 1000, 8000, 8000, 8000 }, 500 },
	[PHASE_REPLAY] = { SCOPE_NONE, false, { 0, 0, 0, 0 }, 0 },
	[PHASE_VERDICT] = { SCOPE_NONE, false, { 0, 0, 0, 0 }, 0 },
};

/* ---- which ---- */

/* What the phases asked for rest on. */
static unsigned with_needed(unsigned only, const struct trial_asked *asked)
{
	if (only & BIT(PHASE_TOGETHER))
		only |= BIT(PHASE_ALONE);
	if ((only & (BIT(PHASE_READ_BACK) | BIT(PHASE_REPLAY))) &&
	    !(asked->length == TRIAL_WHOLE_DISK && (only & BIT(PHASE_FULL))))
		only |= BIT(PHASE_PACED);
	if (only & (BIT(PHASE_SOURCE) | BIT(PHASE_INTERFERE))) /* they are compared with it */
		only |= BIT(PHASE_PACED);
	if ((only & BIT(PHASE_PACED)) && asked->is_rate_auto)
		only |= BIT(PHASE_FULL);
	return only | BIT(PHASE_IDENTIFY) | BIT(PHASE_ENVIRONMENT) | BIT(PHASE_REPLAY) |
	       BIT(PHASE_VERDICT);
}

static unsigned writable_count(const struct plan_wanted *wanted)
{
	unsigned count = 0;

	for (unsigned i = 0; i < wanted->disk_count; i++)
		count += wanted->disks[i].room_bytes > 0;
	return count;
}

static bool has_device(const struct plan_wanted *wanted)
{
	for (unsigned i = 0; i < wanted->disk_count; i++)
		if (wanted->disks[i].is_device)
			return true;
	return false;
}

/* Why a phase makes no sense here; NULL = it does. */
static const char *find_obstacle(const struct plan_wanted *wanted, enum trial_phase phase)
{
	unsigned count = writable_count(wanted);

	switch (phase) {
	case PHASE_BLOCKS:
	case PHASE_DEPTH:
	case PHASE_ROLLOVER:
		if (has_device(wanted))
			return "for directories only";
		return NULL;
	case PHASE_ALONE:
	case PHASE_TOGETHER:
		return count < 2 ? "there is one disk" : NULL;
	case PHASE_SOURCE:
		return wanted->asked->source ? NULL : "no --source was given";
	case PHASE_INTERFERE:
		return wanted->asked->has_interference ? NULL : "no --interfere was given";
	default:
		return phases[phase].is_writing && count < wanted->disk_count ?
			       "a device without --destroy is only read" :
			       NULL;
	}
}

static void leave_out(struct plan *plan, const char *what, const char *why)
{
	size_t len = strlen(plan->left_out);

	snprintf(plan->left_out + len, sizeof(plan->left_out) - len, "%s%s (%s)", len ? ", " : "",
		 what, why);
}

/*
 * The set of phases that run. Of what was left out only that is told which somebody may miss: with --phase what
 * was named, else what a verdict has less to rest on for.
 */
static unsigned choose_phases(struct plan *plan, const struct plan_wanted *wanted)
{
	unsigned all = BIT(PHASE_COUNT) - 1, chosen = 0;
	unsigned asked = wanted->only ? with_needed(wanted->only, wanted->asked) : all;

	for (unsigned phase = 0; phase < PHASE_COUNT; phase++) {
		const char *obstacle = find_obstacle(wanted, (enum trial_phase)phase);
		const char *name = trial_phase_name((enum trial_phase)phase);

		if ((asked & BIT(phase)) && !obstacle)
			chosen |= BIT(phase);
		else if ((wanted->only & BIT(phase)) && obstacle)
			leave_out(plan, name, obstacle);
	}
	if (!(chosen & BIT(PHASE_PACED)))
		leave_out(plan, trial_phase_name(PHASE_PACED),
			  wanted->only ? "not among the phases asked for" :
					 "a device without --destroy is only read");
	if (!(chosen & (BIT(PHASE_PACED) | BIT(PHASE_FULL))))
		chosen &= ~(BIT(PHASE_READ_BACK) | BIT(PHASE_REPLAY));
	return chosen;
}

/* ---- how long ---- */

static int64_t duration_of(const struct plan_wanted *wanted, enum trial_phase phase)
{
	const struct trial_asked *asked = wanted->asked;
	int64_t ns = phases[phase].ms[asked->length] * MS, least = phases[phase].least_ms * MS;

	if (phase == PHASE_PACED && asked->paced_ns)
		return asked->paced_ns;
	/* no longer than the run that they are compared with, or that is read again */
	if ((phase == PHASE_SOURCE || phase == PHASE_INTERFERE || phase == PHASE_READ_BACK) &&
	    asked->paced_ns && asked->paced_ns < ns)
		return asked->paced_ns;
	if (phases[phase].scope == SCOPE_DISK)
		ns /= wanted->disk_count;
	return ns > least ? ns : least;
}

/* Writing all of a disk takes as long as the disk likes; at the rate asked for it takes so long, if it is not too slow. */
static int64_t whole_disk_ns(const struct plan_wanted *wanted, uint64_t room_bytes)
{
	uint64_t rate = wanted->asked->rate_bps / wanted->disk_count;

	return units_time_for(room_bytes, rate ? rate : UINT64_C(800000000));
}

static void add_step(struct plan *plan, const struct plan_wanted *wanted, enum trial_phase phase,
		     int disk, unsigned turn)
{
	struct plan_step *step;

	if (plan->count == PLAN_STEPS_MAX)
		return;
	step = &plan->steps[plan->count++];
	*step = (struct plan_step){
		.phase = phase,
		.disk = disk,
		.turn = turn,
		.duration_ns = duration_of(wanted, phase),
	};
	if (phases[phase].is_writing && disk >= 0)
		step->room_bytes = wanted->disks[disk].room_bytes;
	for (unsigned i = 0; phases[phase].is_writing && disk < 0 && i < wanted->disk_count; i++)
		if (step->room_bytes == 0 || wanted->disks[i].room_bytes < step->room_bytes)
			step->room_bytes = wanted->disks[i].room_bytes;
	if (phases[phase].scope != SCOPE_NONE)
		step->expected_ns = step->duration_ns + SETTLE_NS;
	if (wanted->asked->length == TRIAL_WHOLE_DISK && disk >= 0 && phase == PHASE_FULL) {
		step->duration_ns = INT64_MAX; /* until the room is full */
		step->expected_ns = whole_disk_ns(wanted, step->room_bytes);
	}
	if (wanted->asked->length == TRIAL_WHOLE_DISK && phase == PHASE_READ_BACK) {
		step->duration_ns = INT64_MAX;
		step->expected_ns = whole_disk_ns(wanted, wanted->disks[disk].room_bytes);
	}
	plan->total_ns += step->expected_ns;
}

/* A whole disk is read again at once, as long as it is full: the paced run needs the room. */
static bool is_read_back_at_once(const struct plan_wanted *wanted, unsigned chosen)
{
	return wanted->asked->length == TRIAL_WHOLE_DISK && (chosen & BIT(PHASE_FULL)) &&
	       (chosen & BIT(PHASE_READ_BACK));
}

static void add_phase(struct plan *plan, const struct plan_wanted *wanted, enum trial_phase phase,
		      unsigned chosen)
{
	bool is_at_once = is_read_back_at_once(wanted, chosen);
	unsigned turns = phase == PHASE_PACED ? wanted->paced_count : 1;

	if (phase == PHASE_READ_BACK && is_at_once)
		return;
	if (phases[phase].scope == SCOPE_DISK) {
		for (unsigned i = 0; i < wanted->disk_count; i++) {
			add_step(plan, wanted, phase, (int)i, 0);
			if (phase == PHASE_FULL && is_at_once)
				add_step(plan, wanted, PHASE_READ_BACK, (int)i, 0);
		}
		return;
	}
	for (unsigned turn = 0; turn < turns; turn++)
		add_step(plan, wanted, phase, -1, turn);
}

static int check_room(struct plan *plan, const struct plan_wanted *wanted)
{
	char free_text[UNITS_TEXT_LEN], room_text[UNITS_TEXT_LEN], least_text[UNITS_TEXT_LEN];

	for (unsigned i = 0; i < wanted->disk_count; i++) {
		const struct plan_disk *disk = &wanted->disks[i];

		if (disk->is_device)
			continue;
		if (disk->file_most < PLAN_ROOM_MIN) {
			snprintf(plan->error, sizeof(plan->error),
				 "%.200s: no file may have more than %s (see ulimit -f), and %s are needed at least",
				 disk->path, units_format_size(room_text, disk->file_most),
				 units_format_size(least_text, PLAN_ROOM_MIN));
			return -ENOSPC;
		}
		if (disk->room_bytes >= PLAN_ROOM_MIN)
			continue;
		snprintf(plan->error, sizeof(plan->error),
			 "%.200s has %s free, and with the reserve for others %s may be written: at least %s are needed",
			 disk->path, units_format_bytes(free_text, disk->free_bytes),
			 units_format_bytes(room_text, disk->room_bytes),
			 units_format_size(least_text, PLAN_ROOM_MIN));
		return -ENOSPC;
	}
	return 0;
}

int plan_make(struct plan *plan, const struct plan_wanted *wanted)
{
	unsigned chosen;
	int ret;

	memset(plan, 0, sizeof(*plan));
	ret = check_room(plan, wanted);
	if (ret < 0)
		return ret;
	chosen = choose_phases(plan, wanted);
	if (wanted->only && !(chosen & wanted->only)) {
		snprintf(plan->error, sizeof(plan->error),
			 "none of the phases asked for applies here: %.400s", plan->left_out);
		return -EINVAL;
	}
	for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
		if (chosen & BIT(phase))
			add_phase(plan, wanted, (enum trial_phase)phase, chosen);
	return 0;
}

/* ---- in words ---- */

static bool has_phase(const struct plan *plan, enum trial_phase phase)
{
	for (unsigned i = 0; i < plan->count; i++)
		if (plan->steps[i].phase == phase)
			return true;
	return false;
}

static bool is_written(const struct plan *plan, int disk)
{
	for (unsigned i = 0; i < plan->count; i++)
		if (phases[plan->steps[i].phase].is_writing &&
		    (plan->steps[i].disk == disk || plan->steps[i].disk < 0))
			return true;
	return false;
}

void plan_describe(FILE *stream, const struct plan *plan, const struct plan_wanted *wanted)
{
	const struct trial_asked *asked = wanted->asked;
	char text[UNITS_TEXT_LEN], paced[UNITS_TEXT_LEN];
	bool is_paced = has_phase(plan, PHASE_PACED);

	fprintf(stream, "it takes about %s", units_format_time(text, plan->total_ns));
	if (is_paced && !asked->is_rate_auto)
		fprintf(stream, ", of which %s at the rate",
			units_format_time(paced, duration_of(wanted, PHASE_PACED)));
	else if (is_paced)
		fprintf(stream, ", and %s more for each further rate that is tried, %u at most",
			units_format_time(paced, duration_of(wanted, PHASE_PACED)), PLAN_TRIES - 1);
	fputc('\n', stream);
	for (unsigned i = 0; i < wanted->disk_count; i++) {
		const struct plan_disk *disk = &wanted->disks[i];

		if (!is_written(plan, (int)i))
			fprintf(stream, "%s is only read\n", disk->path);
		else if (disk->is_device)
			fprintf(stream, "ALL DATA on %s are lost: %s of it may be written over\n",
				disk->path, units_format_bytes(text, disk->room_bytes));
		else
			fprintf(stream,
				"%s: files without a name take at most %s of it at a time, and are gone at the end\n",
				disk->path, units_format_bytes(text, disk->room_bytes));
	}
	if (plan->left_out[0])
		fprintf(stream, "left out: %s\n", plan->left_out);
}

int64_t plan_left_ns(const struct plan *plan, unsigned done, double done_share)
{
	int64_t left = 0;

	for (unsigned i = done; i < plan->count; i++)
		left += plan->steps[i].expected_ns;
	if (done < plan->count)
		left -= (int64_t)((double)plan->steps[done].expected_ns *
				  (done_share < 0 ? 0 :
				   done_share > 1 ? 1 :
						    done_share));
	return left;
}

uint64_t plan_rate_below(double bps)
{
	uint64_t unit = 1;

	if (!(bps >= 10))
		return bps > 0 ? (uint64_t)bps : 0;
	while (bps / (double)unit >= 100)
		unit *= 10;
	return (uint64_t)(bps / (double)unit) * unit;
}

uint64_t plan_next_rate(uint64_t good_bps, uint64_t bad_bps, uint64_t best_bps)
{
	double next = (double)best_bps;

	if (good_bps && bad_bps)
		next = sqrt((double)good_bps * (double)bad_bps);
	else if (good_bps)
		next = fmin(next, (double)good_bps * STEP_UP);
	else if (bad_bps)
		next = fmin(next, (double)bad_bps * STEP_DOWN);
	return next < (double)good_bps * STEP_LEAST ? 0 : plan_rate_below(next);
}

int64_t plan_paced_ns(const struct plan *plan)
{
	for (unsigned i = 0; i < plan->count; i++)
		if (plan->steps[i].phase == PHASE_PACED)
			return plan->steps[i].duration_ns;
	return 0;
}
