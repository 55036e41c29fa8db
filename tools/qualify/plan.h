/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.h - which phases a qualification runs, in which order, and how long each may take
 *
 *   plan_make() -> plan_describe() to the user -> run the steps -> plan_next_rate() between paced runs of --rate auto
 *
 * Pure: what is asked, the disks and their room go in, a list comes out. Threads: any.
 */
#ifndef VSIB_TOOLS_QUALIFY_PLAN_H
#define VSIB_TOOLS_QUALIFY_PLAN_H

#include <stdio.h>

#include "tools/qualify/trial.h"

#define PLAN_STEPS_MAX (TARGET_MAX * 7 + 64)
#define PLAN_ROOM_MIN (UINT64_C(16) << 20) /* with less than this on a disk nothing is tried */
#define PLAN_TRIES 4                       /* paced runs of --rate auto, at most */

struct plan_disk {
	const char *path;
	uint64_t free_bytes;   /* of what it lies on */
	uint64_t room_bytes;   /* may be taken at a time; 0 = it is only read */
	uint64_t file_most;    /* of a single file; UINT64_MAX = without limit */
	uint64_t device_bytes; /* of a device that may be read over its length; 0 = none */
	bool is_device;        /* the target is the device itself */
};

struct plan_step {
	enum trial_phase phase;
	int disk;            /* index; -1 = all, or none */
	unsigned turn;       /* of paced runs: 0, 1 ... */
	int64_t duration_ns; /* of what is measured; 0 = no time of its own */
	int64_t expected_ns; /* with its beginning and its sync */
	uint64_t room_bytes; /* on each disk, at most; 0 = nothing is written */
};

struct plan {
	struct plan_step steps[PLAN_STEPS_MAX];
	unsigned count;
	int64_t total_ns;
	char left_out[TRIAL_TEXT_LEN]; /* what was left out, and why; "" = nothing */
	char error[TRIAL_TEXT_LEN];    /* why it can't be done at all */
};

struct plan_wanted {
	const struct trial_asked *asked;
	unsigned only;        /* phases, 1 << each; 0 = all that apply */
	unsigned paced_count; /* paced runs */
	const struct plan_disk *disks;
	unsigned disk_count;
};

/**
 * plan_make() - the steps
 * Return: 0; -ENOSPC: a disk hasn't the room to try anything; -EINVAL: none of the phases asked for applies. Then
 *         error has the sentence.
 */
int plan_make(struct plan *plan, const struct plan_wanted *wanted);

/** plan_describe() - what is about to be done: how long it takes, and what is written to which disk */
void plan_describe(FILE *stream, const struct plan *plan, const struct plan_wanted *wanted);

/** plan_left_ns() - what is still to come after @done steps, and @done_share of the next one */
int64_t plan_left_ns(const struct plan *plan, unsigned done, double done_share);

/**
 * plan_next_rate() - what --rate auto tries next
 * @good_bps: the highest that passed; @bad_bps: the lowest that did not; 0 = none yet
 * @best_bps: what the replay of the measured times says; 0 = nothing
 *
 * Down from what did not pass, up from what did, then between the two.
 * Return: a rate for people; 0 = nothing is worth it: it would be less than a tenth above @good_bps.
 */
uint64_t plan_next_rate(uint64_t good_bps, uint64_t bad_bps, uint64_t best_bps);

/** plan_paced_ns() - how long a paced run is to be; 0 = there is none */
int64_t plan_paced_ns(const struct plan *plan);

/**
 * plan_rate_below() - a rate for people: two digits, not above @bps
 * Return: 1.2 Gbit/s for 1.234; @bps itself below 10 bit/s.
 */
uint64_t plan_rate_below(double bps);

#endif
