/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "drivers/units.h"
#include "recorder/config.h"
#include "recorder/options_parts.h"
#include "recorder/values.h"
#include "recorder/version.h"

#define DEFAULT_RING (UINT64_C(256) << 20)
#define DEFAULT_SILENCE (INT64_C(10) * UNITS_NS_PER_S)
#define DEFAULT_DISK_TIMEOUT (INT64_C(10) * UNITS_NS_PER_S)

static const char *option_key(unsigned index, bool *is_list)
{
	/* a configuration file does not name another one */
	if (index >= OPTION_COUNT - 1)
		return NULL;
	*is_list = option_rows[index].is_list;
	return option_rows[index].name;
}

static int set_row(struct options *options, const struct option_row *row, const char *value, char *error)
{
	int ret = row->set(options, value);

	if (ret == 0)
		return 0;
	if (ret == -E2BIG)
		snprintf(error, OPTIONS_ERROR_LEN,
			 "--%s '%.200s': there are %d already, and more are not possible",
			 row->name, value, TARGET_MAX);
	else
		snprintf(error, OPTIONS_ERROR_LEN, "--%s '%.200s': %s; expected %s%s", row->name,
			 value, ret == -ERANGE ? "out of range" : "not understood",
			 row->arg ? row->arg : "yes or no", row->arg ? values_describe(row->arg) : "");
	return EX_USAGE;
}

int options_set(struct options *options, const char *name, const char *value, char *error)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strcmp(option_rows[i].name, name) == 0)
			return set_row(options, &option_rows[i], value, error);
	snprintf(error, OPTIONS_ERROR_LEN, "there is no option '%.100s'", name);
	return EX_USAGE;
}

static int set_option(void *context, const char *name, const char *value, char *error)
{
	return options_set(context, name, value, error);
}

/* ---- the command line ---- */

struct given {
	const struct option_row *row;
	const char *value;
};

struct command_line {
	struct given given[TARGET_MAX + OPTION_COUNT * 4];
	unsigned count;
	char stray[256];
};

static error_t note_option(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;

	if (key == ARGP_KEY_ARG) {
		argp_error(state, "'%s': targets are given by -o, sources by -s", arg);
		return EINVAL;
	}
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (option_rows[i].key != key)
			continue;
		if (line->count == sizeof(line->given) / sizeof(line->given[0])) {
			argp_error(state, "too many options");
			return EINVAL;
		}
		line->given[line->count++] = (struct given){ &option_rows[i], arg ? arg : "yes" };
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* Alone it means "yes". */
static int argp_flags(const struct option_row *row)
{
	return row->key == KEY_DADA ? OPTION_ARG_OPTIONAL : 0;
}

static const struct argp_option *argp_rows(void)
{
	static struct argp_option table[OPTION_COUNT + 1];

	for (size_t i = 0; i < OPTION_COUNT; i++)
		table[i] = (struct argp_option){ option_rows[i].name, option_rows[i].key,
						 option_rows[i].arg,  argp_flags(&option_rows[i]),
						 option_rows[i].help, 0 };
	return table;
}

/* The sources, one a line, from the drivers themselves. */
static char *help_filter(int key, const char *text, void *input)
{
	char *all = NULL;
	size_t len = 0;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	f = open_memstream(&all, &len);
	if (!f)
		return (char *)text;
	fputs("Sources (details follow the name after commas, \",,\" is a literal comma):\n", f);
	for (const struct source_ops *const *ops = source_table(); *ops; ops++)
		if ((*ops)->summary)
			fprintf(f, "  %s\n", (*ops)->summary);
	fputs("\nRates: 512 = 512 Mbit/s, 1.6G, 64MB/s. Sizes: 4096, 64Ki, 1.5G. Times: 90, 30s, 1h30m.\n"
	      "Exit status: 0 complete, 1 complete with loss or degraded, 2 stopped early; 64 usage, 66 no input, "
	      "73 can't create, 74 I/O, 77 permission, 78 configuration.\n",
	      f);
	fclose(f);
	return all;
}

void options_defaults(struct options *options)
{
	memset(options, 0, sizeof(*options));
	options->session.program = "vsib-record";
	options->session.ring_bytes = DEFAULT_RING;
	options->session.use_direct = true;
	options->session.use_checksums = true;
	options->session.use_journal = true;
	options->session.use_huge_pages = true;
	options->session.use_lock = true;
	options->session.numa_node = MEMORY_ANY_NODE;
	options->session.silence_ns = DEFAULT_SILENCE;
	sigmf_parse_format(&options->session.metadata.words.format, SIGMF_RAW);
	options->session.disk_timeout_ns = DEFAULT_DISK_TIMEOUT;
	options->log_interval_ns = 10 * UNITS_NS_PER_S;
}

static int apply(struct options *options, const struct command_line *line, char *error)
{
	bool is_target_seen = false;

	for (unsigned i = 0; i < line->count; i++) {
		const struct option_row *row = line->given[i].row;
		int ret;

		if (row->is_list && !is_target_seen) {
			options->target_count = 0; /* the command line's targets replace the file's */
			is_target_seen = true;
		}
		ret = set_row(options, row, line->given[i].value, error);
		if (ret != 0)
			return ret;
	}
	return 0;
}

/* A scan's name is made of its parts. */
static int name_scan(struct options *options, char *error)
{
	char why[NAMES_ERROR_LEN];

	if (!names_is_given(&options->scan))
		return 0;
	if (options->session.name) {
		snprintf(error, OPTIONS_ERROR_LEN,
			 "either --name, or --exp, --station and --scan, of which a name is made");
		return EX_USAGE;
	}
	if (names_label(options->name, &options->scan, why) < 0) {
		snprintf(error, OPTIONS_ERROR_LEN, "%s", why);
		return EX_USAGE;
	}
	options->session.name = options->name;
	options->session.is_scan = true;
	return 0;
}

int options_parse(struct options *options, int argc, char **argv, char *error)
{
	struct argp argp = {
		.options = argp_rows(),
		.parser = note_option,
		.doc = "Record a stream from a source through a ring in memory to one or several disks, every byte "
		       "accounted for.\v",
		.help_filter = help_filter,
	};
	struct config_reader reader = { .key = option_key, .set = set_option, .context = options };
	struct command_line line = { .count = 0 };
	int ret = 0;

	argp_program_version = "vsib-record " VSIB_VERSION;
	argp_err_exit_status = EX_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &line) != 0) {
		snprintf(error, OPTIONS_ERROR_LEN, "the command line was not understood; see --help");
		return EX_USAGE;
	}
	for (unsigned i = 0; i < line.count; i++)
		if (line.given[i].row->key == KEY_CONFIG)
			options->config = line.given[i].value;
	if (options->config)
		ret = config_load(&reader, options->config, error);
	if (ret == 0)
		ret = apply(options, &line, error);
	return ret == 0 ? name_scan(options, error) : ret;
}

void options_complete(struct options *options)
{
	int64_t moment =
		options->session.start_utc_ns ? options->session.start_utc_ns : units_realtime_ns();
	time_t seconds = (time_t)(moment / UNITS_NS_PER_S);
	struct tm tm;

	if (!options->session.name) {
		gmtime_r(&seconds, &tm);
		strftime(options->name, sizeof(options->name), "vsib_%Y%m%dT%H%M%SZ", &tm);
		options->session.name = options->name;
	}
	options->session.targets = options->targets;
	options->session.target_count = options->target_count;
	options->session.is_ring_default = !options->is_ring_given;
	if (!options->is_layout_given)
		options->session.layout = options->target_count > 1 && !options->session.use_parity ?
						  LAYOUT_VBS :
						  LAYOUT_RAW;
}

void options_free(struct options *options)
{
	while (options->texts) {
		struct option_text *next = options->texts->next;

		free(options->texts);
		options->texts = next;
	}
}
