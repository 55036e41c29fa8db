/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_trial.h - trials that nobody has run, with a judgement, for tests of what is shown of them
 *
 *   made_trial() -> look at it, change it -> made_trial_free()
 *
 * Disks are made up by their rate, their stalls and a cliff; the ring follows from the writes as it would in a run.
 * The same kind is the same trial each time.
 */
#ifndef VSIB_TESTS_MADE_TRIAL_H
#define VSIB_TESTS_MADE_TRIAL_H

#include "tools/qualify/judge.h"

enum made_kind {
	MADE_PASS,        /* one disk, a stall of 0.4 s, PASS */
	MADE_CLIFF,       /* a cache that is full after 3 GB: MARGINAL */
	MADE_OVERFLOW,    /* too slow: FAIL */
	MADE_SHARED,      /* three disks behind one bus: MARGINAL */
	MADE_DEVICE,      /* a rotating disk that was read from end to end, with its temperature */
	MADE_INTERRUPTED, /* after two phases: INCONCLUSIVE */
	MADE_HOSTILE,     /* as MADE_SHARED, with names that try to be markup */
	MADE_KINDS,
};

struct made_trial {
	struct trial trial;
	struct judgement judgement;
};

/** made_trial() - ends the program when there is no memory */
struct made_trial *made_trial(enum made_kind kind);

/** made_trial_free() - all of it */
void made_trial_free(struct made_trial *made);

/** made_kind_name() - "pass", "cliff" ... NULL: there is no such kind */
const char *made_kind_name(unsigned kind);

#endif
