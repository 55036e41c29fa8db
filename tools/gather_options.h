/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gather_options.h - the command line of vsib-gather
 */
#ifndef VSIB_TOOLS_GATHER_OPTIONS_H
#define VSIB_TOOLS_GATHER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/arguments.h"
#include "tools/gather.h"

struct gather_options {
	struct arguments arguments; /* with round_bytes its targets are templates */
	uint64_t round_bytes;       /* 0: not --round */
	const char *output;         /* "-" stdout */
	bool is_output_given;
	const char *json; /* NULL: none */
	enum gather_fill fill;
	bool is_strict;
	bool is_forced;
	bool is_list;
};

/**
 * gather_options_parse() - ends the program on --help, --version and (64) on mistakes; free() the
 * targets
 */
void gather_options_parse(struct gather_options *options, int argc, char **argv);

#endif
