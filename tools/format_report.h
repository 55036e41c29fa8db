/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format_report.h - what a scan has found, in words and as JSON
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_FORMAT_REPORT_H
#define VSIB_TOOLS_FORMAT_REPORT_H

#include <jansson.h>

#include "tools/findings.h"
#include "tools/format_stats.h"

/** format_report_say() - no more than a screen of lines; @stats: of a known format */
void format_report_say(const struct format_stats *stats, struct findings *findings);

/** format_report_json() - an object; of an unknown format only that. Return: NULL: no memory. */
json_t *format_report_json(const struct format_stats *stats);

#endif
