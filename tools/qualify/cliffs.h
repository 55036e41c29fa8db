/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cliffs.h - where a disk's capability falls, and what that looks like
 *
 * A cliff: the median of three windows is below 0.7 of the level before. What it is called:
 *   THERMAL     the disk was within 5 K of its limit then, or above 70 C where no limit is known
 *   NOT_STEADY  it came back by itself later
 *   SMR_GC      a rotating disk, and stalls of over 1 s follow again and again: it tidies up
 *   SLC_CACHE   else: something that was fast is full
 *   ZONE        no cliff, but a rotating disk that lost more than a tenth of its rate evenly over the run
 * Threads: one.
 */
#ifndef VSIB_TOOLS_QUALIFY_CLIFFS_H
#define VSIB_TOOLS_QUALIFY_CLIFFS_H

#include "tools/qualify/capability.h"
#include "tools/qualify/judge.h"
#include "tools/qualify/stalls.h"

/* What is known of the disk in this run. */
struct cliff_view {
	int disk;
	const struct trial_run *run;
	const struct trial_environment *environment;
	const struct services *services;
	const struct capability *capability; /* of this disk */
	const struct stalls *stalls;         /* of the run */
	double known_bps; /* what it does at full speed: a fall counts from there only, not from what its credit let it do; 0 = not known */
};

/**
 * cliffs_find() - the deepest cliff, or the slope of the zones, is put behind those that @judgement has
 *
 * A cliff's second is looked up among the writes: it is exact to one of them. Return: 0; -ENOMEM.
 */
int cliffs_find(const struct cliff_view *view, struct judgement *judgement);

/* How steady the last windows are: shares of their mean, as in SNIA's performance test specification. */
struct cliff_steadiness {
	double spread;              /* largest - smallest */
	double excursion;           /* what the straight line through them rises or falls by */
	double least_bps, next_bps; /* the smallest; where one more such fall would lead */
};

/** cliffs_steadiness() - of the last five windows, or all there are. Return: false: fewer than five. */
bool cliffs_steadiness(const struct capability *capability, struct cliff_steadiness *steadiness);

#endif
