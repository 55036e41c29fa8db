/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments.h - which recording, and where to look for its pieces: TARGET/NAME, or NAME TARGET..., and --target
 *
 *   arguments_add(), arguments_add_target() while argp reads the line -> arguments_settle() -> arguments_free()
 *
 * Threads: one caller. Errors: without memory the program ends with a sentence, as argp does it.
 */
#ifndef VSIB_TOOLS_ARGUMENTS_H
#define VSIB_TOOLS_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

struct arguments {
	const char **given; /* arguments as they come, not options */
	size_t given_count;
	/* of arguments_settle(); until then what --target said */
	const char **targets;
	size_t target_count;
	const char *recording; /* TARGET/NAME, a journal or a file; NULL: by name */
	const char *name;
};

/** arguments_add() - one that is no option */
void arguments_add(struct arguments *arguments, struct argp_state *state, const char *text);

/** arguments_add_target() - what --target says */
void arguments_add_target(struct arguments *arguments, struct argp_state *state, const char *text);

/**
 * arguments_settle() - what they mean
 * @has_recording: the first one is a recording or its name; there must be one
 *
 * A slash tells a recording from a name, or that it is a journal, or that nothing says where to look for
 * a name. Targets are those given, then those of --target.
 */
void arguments_settle(struct arguments *arguments, bool has_recording);

void arguments_free(struct arguments *arguments);

#endif
