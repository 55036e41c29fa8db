/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qualify_options.h - the command line of vsib-qualify
 *
 *   qualify_options_defaults() -> qualify_options_parse() -> use
 *
 * The texts are argv's own and live as long as it does. Threads: main thread.
 */
#ifndef VSIB_TOOLS_QUALIFY_QUALIFY_OPTIONS_H
#define VSIB_TOOLS_QUALIFY_QUALIFY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/options.h"
#include "tools/qualify/trial.h"

#define QUALIFY_REPEATS_MAX 20

struct qualify_options {
	struct trial_asked asked;
	const char *targets[TARGET_MAX];
	unsigned target_count;
	unsigned only;        /* phases given by --phase, 1 << each; 0 = all that apply */
	unsigned paced_count; /* --repeat: so many paced runs in all */
	bool is_device_read;  /* --read-device: also the disk below a directory, over its length */
	bool is_destruction;  /* --destroy: a block device may be written to ... */
	const char *serial;   /* ... if it is the one with this serial number; NULL */
	bool use_force;
	bool allow_same_device;
	enum engine_kind engine;
	const char *json, *html, *baseline; /* files; "-" for json; NULL = none */
	enum live_mode live;
	bool is_quiet;
	bool is_list; /* --list-phases */
};

/** qualify_options_defaults() - what counts when nothing is given */
void qualify_options_defaults(struct qualify_options *options);

/**
 * qualify_options_parse() - the command line
 * @error: OPTIONS_ERROR_LEN, the sentence when it doesn't work out
 *
 * --help and --version print and exit 0; an unknown option prints and exits 64, as argp does it.
 * Return: 0, or 64 for a bad value or values that don't go together.
 */
int qualify_options_parse(struct qualify_options *options, int argc, char **argv, char *error);

#endif
