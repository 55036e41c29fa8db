/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/arguments.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "tools/array.h"
#include "tools/history.h"

static void add_text(struct argp_state *state, const char ***texts, size_t *count, const char *text)
{
	const char **room = array_room(texts, *count, sizeof(*room));

	if (!room) {
		argp_failure(state, EX_OSERR, 0, "out of memory"); /* ends the program */
		return;
	}
	*room = text;
	(*count)++;
}

void arguments_add(struct arguments *arguments, struct argp_state *state, const char *text)
{
	add_text(state, &arguments->given, &arguments->given_count, text);
}

void arguments_add_target(struct arguments *arguments, struct argp_state *state, const char *text)
{
	add_text(state, &arguments->targets, &arguments->target_count, text);
}

void arguments_settle(struct arguments *arguments, bool has_recording)
{
	bool has_targets = arguments->given_count > 1 || arguments->target_count > 0;
	const char **told = arguments->targets;
	size_t told_count = arguments->target_count;
	const char *first = has_recording ? arguments->given[0] : NULL;

	if (first && (strchr(first, '/') || history_is_journal(first) || !has_targets))
		arguments->recording = first;
	else
		arguments->name = first;
	arguments->targets = NULL;
	arguments->target_count = 0;
	for (size_t i = has_recording; i < arguments->given_count; i++)
		arguments_add_target(arguments, NULL, arguments->given[i]);
	for (size_t i = 0; i < told_count; i++)
		arguments_add_target(arguments, NULL, told[i]);
	free(told);
}

void arguments_free(struct arguments *arguments)
{
	free(arguments->given);
	free(arguments->targets);
}
