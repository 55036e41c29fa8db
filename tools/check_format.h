/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_format.h - what vsib-check says of the data themselves: their format, their frames
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_CHECK_FORMAT_H
#define VSIB_TOOLS_CHECK_FORMAT_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/check_options.h"
#include "tools/findings.h"
#include "tools/recording.h"

struct check_format_config {
	const struct check_options *options;
	const atomic_int *stop; /* a signal's number: the user has had enough; 0 */
	bool is_shown;          /* a line tells how far it is */
};

/**
 * check_format_file() - a plain file: says all there is to say and writes the report
 *
 * Return: the exit status.
 */
int check_format_file(const char *path, const struct check_format_config *config,
		      struct findings *findings);

/* For json_decref(); NULL: no memory, stopped, or there is nothing to say. */
struct check_format_report {
	json_t *format;
	json_t *capture; /* of a recording of packets */
};

/**
 * check_format_recording() - the stream of a recording, with its gaps; of one of packets what their datagrams carry
 * @report: set in every case
 *
 * An unknown format is said, and nothing against the recording; neither is a frame that is cut at its begin
 * or end.
 * Return: 0; -ENOMEM; -EINTR.
 */
int check_format_recording(struct recording *recording, const struct check_format_config *config,
			   struct findings *findings, struct check_format_report *report);

#endif
