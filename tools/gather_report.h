/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gather_report.h - the JSON report of vsib-gather, schema vsib-gather/1
 *
 *   gather_report_begin() -> { gather_report_gap(), gather_report_bad_sum() } while it copies ... ->
 *   gather_report_json() -> gather_report_end()
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_GATHER_REPORT_H
#define VSIB_TOOLS_GATHER_REPORT_H

#include <jansson.h>

#include "tools/gather.h"
#include "tools/gather_options.h"
#include "tools/recording.h"

/* What is noted while it copies; very long lists are cut. */
struct gather_report {
	json_t *gaps;
	json_t *bad_sums;
};

void gather_report_begin(struct gather_report *report);
void gather_report_end(struct gather_report *report);

/** gather_report_gap() - @cause: recording_cause_name(), or why a piece was left out */
void gather_report_gap(struct gather_report *report, const struct recording_piece *piece,
		       const char *cause);

/** gather_report_bad_sum() - @piece: its checksum is wrong */
void gather_report_bad_sum(struct gather_report *report, const struct recording_piece *piece);

/**
 * gather_report_json() - all of it
 * @status: 0 whole, 1 gaps, 2 trouble
 * Return: for json_decref(); NULL: no memory.
 */
json_t *gather_report_json(const struct gather_report *report, const struct recording *recording,
			   const struct gather_options *options, const struct gather_result *result,
			   int status);

#endif
