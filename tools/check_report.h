/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_report.h - the reports of vsib-check
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_CHECK_REPORT_H
#define VSIB_TOOLS_CHECK_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/check.h"
#include "tools/check_format.h"
#include "tools/check_options.h"
#include "tools/findings.h"
#include "tools/recording.h"

/** check_outcome() - "good", "differences" or "trouble" */
const char *check_outcome(const struct findings *findings);

/** check_show_progress() - a line on the terminal, "1.2 GB of 4 GB, 30 %" */
void check_show_progress(struct findings *findings, uint64_t done_bytes, uint64_t all_bytes);

/**
 * check_report_write() - and say why it can't be
 * @report: taken over; NULL: no memory
 * @path:   NULL: none is wanted
 *
 * Return: the exit status of the program: trouble that was found comes before a report that can't be written.
 */
int check_report_write(json_t *report, const char *path, struct findings *findings);

/** check_bytes_per_s() - how fast it was read */
double check_bytes_per_s(const struct check_result *result);

/* What is said of a recording. */
struct check_report {
	const struct check_options *options;
	const struct recording_info *info;
	const struct check_result *result;
	const struct check_format_report *format;
	struct findings *findings;
	bool is_running; /* still being recorded */
};

/** check_report_recording() - in JSON, schema vsib-check/1. Return: for json_decref(); NULL: no memory. */
json_t *check_report_recording(const struct check_report *report);

#endif
