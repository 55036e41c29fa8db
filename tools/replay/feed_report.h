/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feed_report.h - what a feed has read, what was not there and what was wrong, in words and as JSON
 *
 * Threads: pure; the feed has ended.
 */
#ifndef VSIB_TOOLS_REPLAY_FEED_REPORT_H
#define VSIB_TOOLS_REPLAY_FEED_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "tools/replay/feed.h"

/** feed_report_text() - gaps and disks, a line each */
void feed_report_text(FILE *out, const struct feed *feed);

/** feed_report_json() - adds "feed", "gaps", "gap_count" and "disks" to a report */
void feed_report_json(json_t *report, const struct feed *feed);

#endif
