/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_options.h - the command line of vsib-check
 */
#ifndef VSIB_TOOLS_CHECK_OPTIONS_H
#define VSIB_TOOLS_CHECK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/arguments.h"

struct check_options {
	struct arguments arguments;
	bool is_format_left_out;
	bool has_not_after;
	int64_t not_after_ns; /* the data were taken not later, since 1970 */
	uint32_t frame_rate;  /* frames a second of each thread; 0 = not given */
	const char *json;     /* NULL: none */
	bool is_recovery;
	bool is_dry;
	bool is_missing_lost;
	bool is_quiet;
};

/**
 * check_options_parse() - ends the program on --help, --version and (64) on mistakes; free() the
 * targets
 */
void check_options_parse(struct check_options *options, int argc, char **argv);

#endif
