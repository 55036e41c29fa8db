/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_options.h - the command line of vsib-check
 */
#ifndef VSIB_TOOLS_CHECK_OPTIONS_H
#define VSIB_TOOLS_CHECK_OPTIONS_H

#include <stdbool.h>

#include "tools/arguments.h"

struct check_options {
	struct arguments arguments;
	const char *json; /* NULL: none */
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
