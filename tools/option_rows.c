/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/option_rows.h"

#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "recorder/values.h"

#define FIRST_LONG_KEY 256 /* no letter has it */

struct command_line {
	const struct option_rows *table;
	void *options;
	char *error;
	int status;
};

static int key_of(const struct option_rows *table, size_t index)
{
	int key = table->rows[index].key;

	return key == OPTION_ROWS_LONG ? FIRST_LONG_KEY + (int)index : key;
}

static void set_row(struct command_line *line, const struct option_row *row, const char *value)
{
	int ret = row->set(line->options, value);

	if (ret == 0 || line->status)
		return;
	line->status = EX_USAGE;
	if (ret == -EBUSY)
		snprintf(line->error, OPTIONS_ERROR_LEN, "--%s: %s", row->name, row->conflict);
	else
		snprintf(line->error, OPTIONS_ERROR_LEN, "--%s '%.200s': %s; expected %s%s", row->name,
			 value ? value : "", ret == -ERANGE ? "out of range" : "not understood",
			 row->arg ? row->arg : "no value",
			 row->expected ? row->expected :
			 row->arg      ? values_describe(row->arg) :
					 "");
}

static void add_argument(struct command_line *line, const char *text)
{
	if (line->table->add(line->options, text) == 0 || line->status)
		return;
	line->status = EX_USAGE;
	snprintf(line->error, OPTIONS_ERROR_LEN, "'%.200s': %s", text, line->table->full);
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;

	if (key == ARGP_KEY_ARG && line->table->add) {
		add_argument(line, arg);
		return 0;
	}
	for (size_t i = 0; i < line->table->count; i++) {
		if (key_of(line->table, i) != key)
			continue;
		set_row(line, &line->table->rows[i], arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

int option_rows_parse(const struct option_rows *table, int argc, char **argv, void *options, char *error)
{
	struct argp_option argp_table[OPTION_ROWS_MAX + 1] = { 0 };
	const struct argp argp = {
		.options = argp_table,
		.parser = take_option,
		.args_doc = table->arguments_doc,
		.doc = table->doc,
	};
	struct command_line line = { .table = table, .options = options, .error = error };

	assert(table->count <= OPTION_ROWS_MAX);
	for (size_t i = 0; i < table->count; i++) {
		argp_table[i].name = table->rows[i].name;
		argp_table[i].key = key_of(table, i);
		argp_table[i].arg = table->rows[i].arg;
		argp_table[i].doc = table->rows[i].help;
	}
	argp_program_version = table->version;
	argp_err_exit_status = EX_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &line) == 0)
		return line.status;
	snprintf(error, OPTIONS_ERROR_LEN, "the command line was not understood; see --help");
	return EX_USAGE;
}
