/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge_parts.h - what the files of the judgement share; not for others
 *
 *   judge_evidence.c   what the traces and series say, disk by disk and together
 *   judge_predict.c    the ring: what it needs, at this rate and at others; the trend of its level
 *   judge_rules.c      the reasons
 *   judge_rules_disks.c   those that lie in the disks themselves and in what they hang on
 *   judge_text.c       numbers as people read them; the headline
 *
 * Threads: one.
 */
#ifndef VSIB_TOOLS_QUALIFY_JUDGE_PARTS_H
#define VSIB_TOOLS_QUALIFY_JUDGE_PARTS_H

#include "tools/qualify/capability.h"
#include "tools/qualify/judge.h"
#include "tools/qualify/ring_model.h"
#include "tools/qualify/service.h"
#include "tools/qualify/stalls.h"

#define JUDGE_RING_FACTOR_LEAST \
	1.5 /* the ring is that much more than what was seen, however long the test */
#define JUDGE_SPACE_FACTOR 1.02

/* What one kind of run says of each disk. */
struct evidence_of_run {
	const struct trial_run *run[TARGET_MAX]; /* by disk; NULL = none */
	struct services services[TARGET_MAX];
	struct capability disks[TARGET_MAX];
	struct capability all;
	struct stalls stalls;
};

struct evidence {
	const struct trial *trial;
	const struct trial_run *paced; /* NULL = no paced run */
	unsigned disk_count;
	double rate_bps;  /* judged; 0 = none */
	double horizon_s; /* H */
	double tested_s; /* T: all paced runs; without one the full-speed run, or the paced run that was asked for */
	double ring_bytes;
	double block_bytes;
	double hold_bytes; /* what the ring keeps of written blocks until they are durable */
	double rho_pass, rho_fail;
	double stall_share; /* of the disks' time together */
	double low_bps;     /* c_low; 0 = not known */
	struct evidence_of_run at_rate, full;
};

/* judge_evidence.c */

/**
 * evidence_make() - all of it; also sets what is plainly measured in @judgement: capabilities, stalls, cliffs
 * Return: 0; -ENOMEM.
 */
int evidence_make(struct evidence **out, const struct trial *trial, struct judgement *judgement);

/** evidence_free() - NULL is fine */
void evidence_free(struct evidence *evidence);

/** evidence_times() - those to be replayed: of the paced run, or else of the full-speed run */
struct ring_model evidence_times(const struct evidence *evidence);

/* judge_predict.c */

/** predict_ring() - q, base, q95, H_max, what is needed, the trend. Return: 0; -ENOMEM. */
int predict_ring(const struct evidence *evidence, struct judgement *judgement);

/** predict_rho() - of a rate; infinite = the disks write nothing; 0 = not known */
double predict_rho(const struct evidence *evidence, double rate_bps);

/** predict_row() - Return: as judge_rate(). */
int predict_row(const struct evidence *evidence, uint64_t rate_bps, struct judgement_row *row);

/** predict_best_rate() - Return: as judge_best_rate(). */
int predict_best_rate(const struct evidence *evidence, uint64_t *rate_bps);

/** predict_curve() - Return: 0; -ENOMEM. */
int predict_curve(const struct evidence *evidence, struct judgement *judgement);

/** predict_factor() - max(1.5, sqrt(19 H / T)) */
double predict_factor(double horizon_s, double tested_s);

/** predict_space_bytes() - what a recording at that rate takes on the disks, and what they have; free: -1 = not known */
double predict_space_bytes(const struct evidence *evidence, double rate_bps, double *free_bytes);

/** predict_has_room() - have the disks room for the planned time at that rate? true also when that is not known */
bool predict_has_room(const struct evidence *evidence, double rate_bps);

/* judge_rules.c */

/** rules_apply() - every reason there is; sets the result. eta and shared_node are set here, too */
void rules_apply(const struct evidence *evidence, struct judgement *judgement);

struct reason_numbers {
	double value, limit;
	const char *unit;
};

/**
 * reason_add() - a reason whose text and advice are for the caller to write: SAY(), ADVISE()
 *
 * When there are too many, the last one is overwritten; the result is by all of them.
 */
struct judgement_reason *reason_add(struct judgement *judgement, const char *code,
				    enum verdict weight, int disk, struct reason_numbers numbers);

#define SAY(reason, ...) text_append((reason)->text, sizeof((reason)->text), __VA_ARGS__)
#define ADVISE(reason, ...) text_append((reason)->advice, sizeof((reason)->advice), __VA_ARGS__)

/** reason_path() - of a disk's target */
const char *reason_path(const struct evidence *evidence, int disk);

/* judge_rules_disks.c */

/** rule_...() - each adds its reason, if there is one */
void rule_cliffs(const struct evidence *evidence, struct judgement *judgement);
void rule_not_steady(const struct evidence *evidence, struct judgement *judgement);
void rule_untested_zones(const struct evidence *evidence, struct judgement *judgement);
void rule_shared_bus(const struct evidence *evidence, struct judgement *judgement);
void rule_link_slow(const struct evidence *evidence, struct judgement *judgement);
void rule_cached(const struct evidence *evidence, struct judgement *judgement);

/* judge_rules_trust.c */

/** rule_...() - each adds its reason, if there is one */
void rule_further_runs(const struct evidence *evidence, struct judgement *judgement);
void rule_slow_stream(const struct evidence *evidence, struct judgement *judgement);
void rule_not_read_back(const struct evidence *evidence, struct judgement *judgement);
void rule_untraced(const struct evidence *evidence, struct judgement *judgement);
void rule_memory(const struct evidence *evidence, struct judgement *judgement);

/* judge_text.c */

#define JUDGE_TEXT_LEN 32

/** text_rate() "256 Mbit/s", text_time() "2.1 h", text_size() "1.2 GiB" - three digits or so; @buf: JUDGE_TEXT_LEN */
char *text_rate(char *buf, double bps);
char *text_time(char *buf, double seconds);
char *text_size(char *buf, double bytes);

/** text_targets() - "/media/usb1", "/a and /b", "/a and 3 others"; @buf: TRIAL_TEXT_LEN */
char *text_targets(char *buf, const struct trial *trial);

/** text_append() - behind what is in @buf, cut where it ends */
void text_append(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** text_headline() - headline and evidence, when all else stands */
void text_headline(const struct evidence *evidence, struct judgement *judgement);

#endif
