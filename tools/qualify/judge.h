/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge.h - from what was measured to a verdict with reasons
 *
 *   judge() -> read the judgement
 *   judge_best_rate() -> a paced run at that rate -> judge()          (--rate auto)
 *
 * Pure: no clock, no file, no thread. The worst reason decides: FAIL outranks INCONCLUSIVE outranks MARGINAL outranks
 * PASS. How it is reckoned:
 *
 *   capability   bytes / time in which a write was in flight, in windows (capability.h), stalls set apart (stalls.h).
 *                c_low is their 5th percentile; of the paced run and of the full-speed run the lower one counts, since a
 *                disk with credit (a cache, a throttle's bucket) looks faster when it is asked for little.
 *   rho          rate / c_low + share of the time that was lost in stalls: the part of each second the disk must work.
 *                At 1 no ring is enough. So a long stall is a matter of the ring first, and of rho by what it costs.
 *   Q            the most the ring held. Its base, what it holds every time a block goes (and, with several disks,
 *                until a chunk is durable), does not grow with the time that one waits; only what is above it does:
 *   Q95(H)       base + (Q - base) x max(1.5, sqrt(19 H / T)), T being the time tried. H_max, test_needed_s and
 *                ring_needed_bytes are this turned round.
 *   deficit      the trend of the ring's level (Theil-Sen, so that stalls do not bend it): a ring that fills slowly is
 *                found however large it is.
 */
#ifndef VSIB_TOOLS_QUALIFY_JUDGE_H
#define VSIB_TOOLS_QUALIFY_JUDGE_H

#include "tools/qualify/trial.h"

/* Numbered as the exit statuses. */
enum verdict { VERDICT_PASS, VERDICT_MARGINAL, VERDICT_FAIL, VERDICT_INCONCLUSIVE };

#define JUDGEMENT_REASONS_MAX 64
#define JUDGEMENT_ROWS_MAX 16
#define JUDGEMENT_CURVE_MAX 256
#define JUDGEMENT_CODE_LEN 24

struct judgement_reason {
	char code[JUDGEMENT_CODE_LEN]; /* "OVERFLOW", "DEFICIT", "RHO", "SLC_CACHE", "SHARED_BUS" ... */
	enum verdict weight;
	double value, limit;
	char unit[16];               /* "bit/s", "bytes", "s", "" */
	int disk;                    /* index; -1 = all */
	char text[TRIAL_TEXT_LEN];   /* one sentence */
	char advice[TRIAL_TEXT_LEN]; /* one piece of advice; "" */
};

/* Will it work at another rate? */
struct judgement_row {
	uint64_t rate_bps;
	enum verdict result;
	bool is_measured; /* else predicted, from replayed times */
	bool has_room; /* for so much in the planned time, on the disks; true also when that is not known */
	double rho;
	double ring_bytes; /* needed for the planned time; infinite = no ring is enough */
	double h_max_s;    /* with the ring that was asked for */
};

struct judgement_stalls {
	size_t count;
	double total_s, worst_s, worst_at_s;
	int worst_disk;           /* -1 = there was none */
	double longest_cluster_s; /* until the ring was nearly empty again */
	double mean_interval_s;   /* between stalls; infinite = fewer than two */
	double ring_need_bytes;   /* rate x worst: what the worst alone fills */
	double share;             /* of the time, of the disk that lost most */
};

/* A fall of the capability: a cache that is full, heat, a slow zone. */
struct judgement_cliff {
	int disk;
	enum trial_phase phase; /* in the run of which it was seen */
	double at_s;            /* when, in the run */
	double at_bytes;        /* after so many bytes */
	double before_bps, after_bps;
	bool has_recovered;            /* later in that run it was as fast as before */
	char code[JUDGEMENT_CODE_LEN]; /* "SLC_CACHE", "THERMAL", "ZONE", "SMR_GC", "NOT_STEADY" */
};

struct judgement {
	enum verdict result;
	struct judgement_reason reasons[JUDGEMENT_REASONS_MAX]; /* worst first */
	unsigned reason_count;
	char headline[TRIAL_TEXT_LEN]; /* "MARGINAL  256 Mbit/s for 8 h on /media/usb1: ..." */
	char evidence[TRIAL_TEXT_LEN]; /* the model-free line, always */
	uint64_t rate_bps; /* judged: asked for, or found by --rate auto; 0 = none was */
	double tested_s;   /* T: paced runs at that rate */
	double capability_bps; /* all disks: at full speed if that was tried, else while paced; 0 = not known */
	double capability_paced_bps, capability_full_bps; /* medians of the windows; 0 = not measured */
	double capability_low_bps;                        /* c_low */
	double rho;                                       /* infinite = nothing was written */
	double q_bytes;                                   /* the most the ring held */
	double base_bytes;                                /* the part of it that is there always */
	double q95_bytes; /* what it may come to in the planned time */
	double h_max_s; /* so long is this trial evidence for, with that ring; infinite = nothing above the base */
	double test_needed_s; /* so long a trial would be, for the planned time; infinite = that ring is too small */
	double ring_needed_bytes; /* for the planned time, after this trial */
	double slope_bps;         /* the ring's trend; > 0: it fills */
	double full_in_s;         /* by that, from the run's beginning; infinite = never */
	double eta;               /* together / sum of each alone; -1 = not measured */
	char shared_node[64];     /* the lowest device all disks have in common; "" */
	struct judgement_stalls stalls;
	struct judgement_cliff cliffs[TARGET_MAX];
	unsigned cliff_count;
	struct judgement_row rows[JUDGEMENT_ROWS_MAX];
	unsigned row_count;
	struct {
		double rate_bps,
			ring_bytes; /* the level's highest point, nothing extrapolated; infinite = it only rises */
	} curve[JUDGEMENT_CURVE_MAX];
	unsigned curve_count;
	struct {
		double seconds, share;   /* so large a share of the writes took longer */
	} survival[JUDGEMENT_CURVE_MAX]; /* of the paced run, submitted to come back */
	unsigned survival_count;
	uint64_t best_rate_bps; /* the highest rate that would pass, by replay; 0 = none */
	bool is_best_by_room; /* it is no higher since the disks have no room for more in the planned time */
};

/** judge() - @trial is not changed. Return: 0; -ENOMEM. */
int judge(const struct trial *trial, struct judgement *judgement);

/**
 * judge_rate() - what would become of another rate, by replay of the times that were measured
 *
 * A prediction: a disk that is asked for more may behave otherwise. Return: 0; -ENODATA: no write was measured; -ENOMEM.
 */
int judge_rate(const struct trial *trial, uint64_t rate_bps, struct judgement_row *row);

/**
 * judge_best_rate() - the highest rate, in whole Mbit/s, that would pass; for --rate auto, which then confirms it
 * @rate_bps: 0 when not even 1 Mbit/s would
 *
 * Before the paced run it counts on one as long as asked. Return: as judge_rate().
 */
int judge_best_rate(const struct trial *trial, uint64_t *rate_bps);

/** verdict_name() - "PASS", "MARGINAL", "FAIL", "INCONCLUSIVE" */
const char *verdict_name(enum verdict verdict);

/** verdict_worse() - the one of both that decides */
enum verdict verdict_worse(enum verdict a, enum verdict b);

#endif
