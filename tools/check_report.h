/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_report.h - what the reports of vsib-check have in common
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_CHECK_REPORT_H
#define VSIB_TOOLS_CHECK_REPORT_H

#include <jansson.h>
#include <stdint.h>

#include "tools/findings.h"

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

#endif
