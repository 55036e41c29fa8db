/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * option_rows.h - a program's options as rows of a table: one place for the name, the help and what it does
 *
 *   static const struct option_row rows[] = { { "rate", 'r', "RATE", "what it is for", set_rate }, ... };
 *   option_rows_parse(&(struct option_rows){ .rows = rows, .count = ... }, argc, argv, options, error)
 *
 * Threads: main thread; once a program.
 */
#ifndef VSIB_TOOLS_OPTION_ROWS_H
#define VSIB_TOOLS_OPTION_ROWS_H

#include <stddef.h>

#include "recorder/options.h"

#define OPTION_ROWS_MAX 64

/* Keys of options that have no short name: OPTION_ROWS_LONG + their place in the table, given by option_rows_parse(). */
#define OPTION_ROWS_LONG 0

struct option_row {
	const char *name;
	int key;         /* a letter, or OPTION_ROWS_LONG */
	const char *arg; /* what stands for its value in --help; NULL = it has none */
	const char *help;
	int (*set)(void *options,
		   const char *value); /* 0; -EINVAL not understood; -ERANGE out of range; -EBUSY: why, by conflict */
	const char *conflict; /* the sentence for -EBUSY, behind "--name: " */
	const char *expected; /* behind "expected ARG"; NULL = values_describe(arg) */
};

struct option_rows {
	const struct option_row *rows;
	size_t count;              /* at most OPTION_ROWS_MAX */
	const char *version;       /* "vsib-replay 1.0" */
	const char *arguments_doc; /* "RECORDING" */
	const char *doc; /* as argp takes it: \v between what comes before and behind the options */
	/* an argument that is no option; as set(). NULL = there are none */
	int (*add)(void *options, const char *text);
	const char *full; /* the sentence for what add() refuses, behind "'TEXT': " */
};

/**
 * option_rows_parse() - the command line
 * @error: OPTIONS_ERROR_LEN, the sentence when a value isn't right: the first one
 *
 * --help and --version print and exit 0; an unknown option prints and exits 64, as argp does it.
 * Return: 0; 64.
 */
int option_rows_parse(const struct option_rows *table, int argc, char **argv, void *options,
		      char *error);

#endif
