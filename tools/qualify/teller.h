/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * teller.h - how far a phase is, told at most ten times a second, and whether it shall go on
 *
 *   teller_init() -> { teller_begin() a step -> teller_turn() ... } ...
 *
 * Threads: the main thread.
 */
#ifndef VSIB_TOOLS_QUALIFY_TELLER_H
#define VSIB_TOOLS_QUALIFY_TELLER_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/qualify/trial_control.h"

struct teller {
	const struct trial_control *control; /* NULL = nobody listens, nobody cancels */
	struct trial_progress progress; /* what is told next; the phase's own fields are the caller's */
	char detail[64];
	double from, share;        /* this step: its beginning and its part of the phase */
	int64_t since_ns, time_ns; /* and when it began, how long it is to take */
	int64_t told_ns;
};

/** teller_init() - @disk: index; -1 = all */
void teller_init(struct teller *teller, const struct trial_control *control, enum trial_phase phase,
		 int disk);

/**
 * teller_begin() - a step of the phase
 * @from, @share: of the phase, 0 .. 1
 * @time_ns: it will take about that long
 * @detail:  for people
 */
void teller_begin(struct teller *teller, double from, double share, int64_t time_ns,
		  const char *detail);

/** teller_turn() - tells, when it is time. @now_ns: CLOCK_MONOTONIC */
void teller_turn(struct teller *teller, int64_t now_ns);

bool teller_is_cancelled(const struct teller *teller);

#endif
