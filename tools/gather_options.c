/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/gather_options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "drivers/units.h"
#include "recorder/version.h"

enum {
	OPTION_TARGET = 256,
	OPTION_FILL,
	OPTION_ROUND,
	OPTION_STRICT,
	OPTION_FORCE,
	OPTION_LIST,
	OPTION_JSON,
};

static const struct argp_option option_table[] = {
	{ "output", 'o', "FILE", 0,
	  "Write the stream to FILE, which must not exist; - is standard output (default)", 0 },
	{ "target", OPTION_TARGET, "DIR", 0, "Look for pieces in DIR, too; may be given often", 0 },
	{ "fill", OPTION_FILL, "WHAT", OPTION_ARG_OPTIONAL,
	  "What stands for gaps: none (they are closed up, default), pattern (the fill pattern; --fill alone means this) or vdif-invalid (the missing VDIF frames, marked invalid)",
	  0 },
	{ "strict", OPTION_STRICT, NULL, 0,
	  "Treat bytes with a bad checksum like a gap instead of writing them", 0 },
	{ "force", OPTION_FORCE, NULL, 0, "Overwrite FILE", 0 },
	{ "list", OPTION_LIST, NULL, 0, "Print the pieces in their order and copy nothing", 0 },
	{ "json", OPTION_JSON, "FILE", 0,
	  "Write a report (vsib-gather/1) to FILE; - is standard output", 0 },
	{ "round", OPTION_ROUND, "UNIT", 0,
	  "No journal: the files take UNIT bytes of the stream in turn, as wr writes them to several directories; the arguments are their templates",
	  0 },
	{ 0 },
};

static const char arguments_doc[] = "TARGET/NAME|JOURNAL [TARGET...]\n"
				    "NAME -o FILE TARGET...\n"
				    "--round=UNIT -o FILE TARGET/TEMPLATE...";

static const char program_doc[] =
	"Joins the pieces of a recording, or of a Mark6 set, into one stream, in order, and compares their checksums on the way.\v"
	"UNIT: bytes, or with k M G (decimal), Ki Mi Gi (binary).\n"
	"Exit status: 0 whole, 1 gaps or missing pieces, 2 trouble, 64 usage, 66 no such recording, 73 can't create FILE, 74 I/O error, 77 no permission.";

static bool is_fill_word(const char *word)
{
	return strcmp(word, "none") == 0 || strcmp(word, "pattern") == 0 ||
	       strcmp(word, "vdif-invalid") == 0;
}

/*
 * The word is optional, so argp only sees it behind a '='; people also write it as the next
 * argument.
 */
static void parse_fill(struct argp_state *state, struct gather_options *options, const char *word)
{
	if (!word && state->next < state->argc && is_fill_word(state->argv[state->next]))
		word = state->argv[state->next++];
	if (!word || strcmp(word, "pattern") == 0)
		options->fill = GATHER_PATTERN;
	else if (strcmp(word, "none") == 0)
		options->fill = GATHER_CLOSE_UP;
	else if (strcmp(word, "vdif-invalid") == 0)
		options->fill = GATHER_VDIF;
	else
		argp_error(state, "--fill=%s: none, pattern or vdif-invalid", word);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct gather_options *options = state->input;

	switch (key) {
	case 'o':
		options->output = arg;
		options->is_output_given = true;
		return 0;
	case OPTION_TARGET:
		arguments_add_target(&options->arguments, state, arg);
		return 0;
	case OPTION_FILL:
		parse_fill(state, options, arg);
		return 0;
	case OPTION_ROUND:
		if (units_parse_bytes(arg, &options->round_bytes) < 0 || options->round_bytes == 0)
			argp_error(state, "--round=%s: not a number of bytes", arg);
		return 0;
	case OPTION_STRICT:
		options->is_strict = true;
		return 0;
	case OPTION_FORCE:
		options->is_forced = true;
		return 0;
	case OPTION_LIST:
		options->is_list = true;
		return 0;
	case OPTION_JSON:
		options->json = arg;
		return 0;
	case ARGP_KEY_ARG:
		arguments_add(&options->arguments, state, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check_options(const struct gather_options *options, const struct argp *argp)
{
	const char *mistake = NULL;

	if (options->arguments.given_count == 0)
		mistake = options->round_bytes ?
				  "--round needs the templates of the files, one for each directory" :
				  "no recording given";
	else if (options->round_bytes && options->arguments.target_count)
		mistake = "--target doesn't go with --round: the templates say where the files are";
	else if (options->json && options->is_list)
		mistake = "--json doesn't go with --list: the report is of what was copied";
	else if (options->json && strcmp(options->json, "-") == 0 && strcmp(options->output, "-") == 0)
		mistake = "--json=- and the stream can't both go to standard output";
	if (!mistake)
		return;
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, mistake);
	argp_help(argp, stderr, ARGP_HELP_SEE, program_invocation_short_name);
	exit(EX_USAGE);
}

static void print_version(FILE *stream, struct argp_state *state)
{
	(void)state;
	fprintf(stream, "vsib-gather %s\n", VSIB_VERSION);
}

void gather_options_parse(struct gather_options *options, int argc, char **argv)
{
	static const struct argp argp = { option_table, parse_option, arguments_doc, program_doc,
					  NULL,         NULL,         NULL };

	*options = (struct gather_options){ .output = "-" };
	argp_program_version_hook = print_version;
	argp_parse(&argp, argc, argv, 0, NULL, options);
	check_options(options, &argp);
	arguments_settle(&options->arguments, options->round_bytes == 0);
}
