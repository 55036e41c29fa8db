/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_report.h - what vsib-sim adds to the report of a playback: the frames it made, and the faults
 *
 * Threads: pure.
 */
#ifndef VSIB_TOOLS_REPLAY_SIM_REPORT_H
#define VSIB_TOOLS_REPLAY_SIM_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "tools/replay/disturbance.h"
#include "tools/replay/sim_options.h"
#include "tools/replay/sim_plan.h"

/** sim_report_text() - @disturbance: NULL = none was asked for */
void sim_report_text(FILE *out, const struct disturbance *disturbance);

/** sim_report_json() - adds "format" and "faults" to an object */
void sim_report_json(json_t *object, const struct sim_options *options, const struct sim_plan *plan,
		     const struct disturbance *disturbance);

#endif
