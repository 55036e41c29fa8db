/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - the options of vsib-record: one table for the command line, the configuration file
 * and --help
 *
 *   options_parse() -> use -> options_free()
 *
 * Precedence: command line over --config FILE over the built-in defaults. A key of the
 * configuration file is a long option's name. Threads: main thread.
 */
#ifndef VSIB_RECORDER_OPTIONS_H
#define VSIB_RECORDER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/config.h"
#include "recorder/names.h"
#include "recorder/session.h"

#define OPTIONS_ERROR_LEN CONFIG_ERROR_LEN

enum live_mode { LIVE_AUTO, LIVE_LINE, LIVE_LOG, LIVE_NONE };

struct options {
	struct session_config session;
	const char *targets[TARGET_MAX];
	unsigned target_count;
	bool is_layout_given;
	bool is_ring_given;
	const char *json; /* report: file, "-" or NULL */
	const char *config;
	enum live_mode live;
	int64_t log_interval_ns;
	struct names_scan scan;
	char name[LAYOUT_NAME_LEN]; /* default name, or the scan's, when none is given */
	struct option_text *texts;  /* strings that live as long as the options */
};

/** options_defaults() - what counts when nothing is given */
void options_defaults(struct options *options);

/**
 * options_parse() - command line and configuration file
 * @error: OPTIONS_ERROR_LEN, the sentence when it doesn't work out
 *
 * --help and --version print and exit 0; an unknown option prints and exits 64, as argp does it.
 * Return: 0, or the exit status for a bad value (64) or a bad configuration file (78).
 */
int options_parse(struct options *options, int argc, char **argv, char *error);

/**
 * options_set() - one value by its long name, as if it stood in the configuration file. Return: 0
 * or exit status.
 */
int options_set(struct options *options, const char *name, const char *value, char *error);

/**
 * options_complete() - what follows from the rest: layout by the number of targets, name by the
 * clock, ring by memory
 */
void options_complete(struct options *options);

void options_free(struct options *options);

#endif
