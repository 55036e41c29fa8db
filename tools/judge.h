/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge.h - from what was measured to a verdict with reasons
 *
 *   judge() -> judgement in words and numbers -> judgement_free()
 *
 * Pure: no clock, no file, no thread. facts and formulas: see each field. The worst reason decides:
 * FAIL outranks INCONCLUSIVE outranks MARGINAL outranks PASS.
 */
#ifndef VSIB_TOOLS_JUDGE_H
#define VSIB_TOOLS_JUDGE_H

#include "tools/trial.h"

enum verdict { VERDICT_PASS, VERDICT_MARGINAL, VERDICT_FAIL, VERDICT_INCONCLUSIVE }; /* as the exit statuses */

#define JUDGEMENT_REASONS_MAX 64
#define JUDGEMENT_ROWS_MAX 16
#define JUDGEMENT_CURVE_MAX 256

struct judgement_reason {
	char code[24]; /* "OVERFLOW", "DEFICIT", "RHO", "SLC_CACHE", "SHARED_BUS" ... */
	enum verdict weight;
	double value, limit;
	char unit[16]; /* "bit/s", "bytes", "s", "" */
	int disk;      /* index; -1 = all */
	char text[TRIAL_TEXT_LEN];   /* one sentence */
	char advice[TRIAL_TEXT_LEN]; /* one piece of advice; "" */
};

/* Will it work at another rate? */
struct judgement_row {
	uint64_t rate_bps;
	enum verdict result;
	bool is_measured;      /* else predicted, from replayed times */
	double ring_bytes;     /* needed; infinite = no ring is enough */
	double h_max_s;        /* with the ring that was asked for */
};

struct judgement_stalls {
	size_t count;
	double total_s, worst_s, worst_at_s;
	int worst_disk;
	double longest_cluster_s; /* until the ring was nearly empty again */
	double mean_interval_s;   /* between stalls; infinite = fewer than two */
	double ring_need_bytes;   /* rate x worst: what the worst alone fills */
};

/* A fall of the capability: a cache that is full, heat, a slow zone. */
struct judgement_cliff {
	int disk;
	double at_s;            /* when, in the run */
	double at_bytes;        /* after so many bytes */
	double before_bps, after_bps;
	char code[24];          /* "SLC_CACHE", "THERMAL", "ZONE" */
};

struct judgement {
	enum verdict result;
	struct judgement_reason reasons[JUDGEMENT_REASONS_MAX]; /* worst first */
	unsigned reason_count;
	char headline[TRIAL_TEXT_LEN]; /* "MARGINAL  256 Mbit/s for 8 h on /media/usb1: ..." */
	char evidence[TRIAL_TEXT_LEN]; /* the model-free line, always */
	uint64_t rate_bps;        /* judged: asked for, or found by --rate auto */
	double capability_bps;    /* median of the windows, all disks */
	double capability_low_bps; /* 5th percentile, c_low */
	double rho;               /* rate / c_low */
	double q_bytes;           /* the most the ring held */
	double q95_bytes;         /* what it may come to in the planned time */
	double h_max_s;           /* so long is this trial evidence for, with that ring */
	double test_needed_s;     /* so long a trial would be, for the planned time */
	double ring_needed_bytes; /* for the planned time, after this trial */
	double slope_bps;         /* the ring's trend; > 0: it fills */
	double full_in_s;         /* by that; infinite = never */
	double eta;               /* together / sum of each alone; -1 = not measured */
	char shared_node[64];     /* the lowest device all disks have in common; "" */
	struct judgement_stalls stalls;
	struct judgement_cliff cliffs[TARGET_MAX];
	unsigned cliff_count;
	struct judgement_row rows[JUDGEMENT_ROWS_MAX];
	unsigned row_count;
	struct {
		double rate_bps, ring_bytes;
	} curve[JUDGEMENT_CURVE_MAX]; /* ring needed by rate, replayed */
	unsigned curve_count;
	uint64_t best_rate_bps; /* the highest rate that would pass, by replay */
};

/** judge() - @trial is not changed. Return: 0; -ENOMEM. */
int judge(const struct trial *trial, struct judgement *judgement);

/** verdict_name() - "PASS", "MARGINAL", "FAIL", "INCONCLUSIVE" */
const char *verdict_name(enum verdict verdict);

#endif
