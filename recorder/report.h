/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - the final report: words for people on stderr, JSON (schema vsib-report/1) for programs
 *
 *   report_prepare() before the recording -> report_text(), report_json() after session_end()
 *
 * The JSON file is written whole or not at all: into a temporary file beside it, synced, then
 * renamed. report_prepare() makes that file, so that a place that can't be written to is found
 * before the recording and not after it. Threads: supervisor.
 */
#ifndef VSIB_RECORDER_REPORT_H
#define VSIB_RECORDER_REPORT_H

#include <stdio.h>

#include "recorder/settle.h"

struct report_file {
	const char *path; /* NULL = none; "-" = stdout */
	char temporary[4200];
	int fd; /* -1 = none */
};

/** report_prepare() - @path may be NULL. Return: 0; -errno (nothing is left behind) */
int report_prepare(struct report_file *file, const char *path);

/** report_json() - write it and give it its name. Return: 0; -errno */
int report_json(struct report_file *file, const struct session *session);

/** report_discard() - remove the temporary file, if there is one */
void report_discard(struct report_file *file);

/** report_text() - the report in words */
void report_text(FILE *out, const struct session *session);

#endif
