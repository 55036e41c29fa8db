/* SPDX-License-Identifier: BSD-2-Clause */
/* wr.c - the historical recording program's command line over the same recorder; see wr.1 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "drivers/board.h"
#include "drivers/units.h"
#include "recorder/options.h"
#include "recorder/program.h"
#include "recorder/report.h"
#include "recorder/version.h"
#include "recorder/wr_args.h"

#define DEFAULT_RING (UINT64_C(256) << 20)

struct wr {
	struct wr_args args;
	struct session_config config;
	const char *targets[TARGET_MAX];
	const char *templates[TARGET_MAX];
	uint64_t file_bytes[TARGET_MAX];
	const char *given_source; /* --source */
	const char *given_ring, *given_live;
	char source[WR_LINE_LEN * 4];
	char name[96];
	const char *json;
	enum live_mode live;
	bool is_explain;
};

enum {
	OPT_EXPLAIN = 256,
	OPT_JOURNAL,
	OPT_INDEX,
	OPT_RING,
	OPT_SOURCE,
	OPT_JSON,
	OPT_LIVE,
	OPT_HELP,
	OPT_VERSION
};

static const struct {
	struct option option;
	const char *arg, *help;
} wr_options[] = {
	{ { "explain", no_argument, NULL, OPT_EXPLAIN },
	  "",
	  "print the vsib-record line this stands for, and end" },
	{ { "journal", no_argument, NULL, OPT_JOURNAL }, "", "keep a journal in each directory" },
	{ { "index", required_argument, NULL, OPT_INDEX },
	  "=directory|global",
	  "count files by the directory's blocks (default) or by all blocks" },
	{ { "ring", required_argument, NULL, OPT_RING },
	  "=SIZE",
	  "memory between board and disks; default 256Mi" },
	{ { "source", required_argument, NULL, OPT_SOURCE }, "=SOURCE", "record from this instead of stdin" },
	{ { "json", required_argument, NULL, OPT_JSON }, "=FILE|-", "write the report as JSON" },
	{ { "live", required_argument, NULL, OPT_LIVE },
	  "=auto|line|log|none",
	  "a live line, log lines, or neither (default)" },
	{ { "help", no_argument, NULL, OPT_HELP }, "", "this help" },
	{ { "version", no_argument, NULL, OPT_VERSION }, "", "the program's version" },
};

#define OPTION_COUNT (sizeof(wr_options) / sizeof(wr_options[0]))

static void help(void)
{
	puts("Usage: wr [OPTION...] BLOCK NBLOCKS MODE SKIP EMBED GIGA NDIRS {TEMPLATE BLOCKS_PER_FILE}... < DEVICE\n"
	     "Record NBLOCKS blocks of BLOCK bytes from the VSIB board, block by block in turn over NDIRS directories.\n");
	for (size_t i = 0; i < OPTION_COUNT; i++)
		printf("      --%s%s\n                             %s\n", wr_options[i].option.name,
		       wr_options[i].arg, wr_options[i].help);
	puts("\nExit status: 0 complete, 1 complete with loss, 2 stopped early; 64 usage, 66 no input, 73 can't create,\n"
	     "77 permission.");
}

static int say(int exit_status, const char *text)
{
	return program_say("wr", exit_status, text);
}

/* An option's value; 0 or the exit status. */
static int take_option(struct wr *wr, int key, const char *value)
{
	char why[OPTIONS_ERROR_LEN];
	struct options parsed;
	int ret = 0;

	options_defaults(&parsed); /* the values that vsib-record has too are read by its table */
	switch (key) {
	case OPT_EXPLAIN:
		wr->is_explain = true;
		break;
	case OPT_JOURNAL:
		wr->config.use_journal = true;
		break;
	case OPT_INDEX:
		if (strcmp(value, "directory") != 0 && strcmp(value, "global") != 0)
			return say(EX_USAGE, "--index: directory or global is expected");
		wr->config.is_index_global = strcmp(value, "global") == 0;
		break;
	case OPT_RING:
		ret = options_set(&parsed, "ring", value, why);
		wr->config.ring_bytes = parsed.session.ring_bytes;
		wr->given_ring = value;
		break;
	case OPT_SOURCE:
		wr->given_source = value;
		break;
	case OPT_JSON:
		wr->json = value;
		break;
	case OPT_LIVE:
		ret = options_set(&parsed, "live", value, why);
		wr->live = parsed.live;
		wr->given_live = value;
		break;
	default:
		return say(EX_USAGE, "see wr --help");
	}
	options_free(&parsed);
	return ret ? say(ret, why) : 0;
}

static int parse_command_line(struct wr *wr, int argc, char **argv)
{
	struct option table[OPTION_COUNT + 1] = { { 0 } };
	char error[WR_ERROR_LEN];
	int key, ret;

	for (size_t i = 0; i < OPTION_COUNT; i++)
		table[i] = wr_options[i].option;
	/* '+': options stand before the positional arguments, whose values may begin with a '-' */
	while ((key = getopt_long(argc, argv, "+", table, NULL)) != -1) {
		if (key == OPT_HELP || key == OPT_VERSION) {
			if (key == OPT_HELP)
				help();
			else
				puts("wr (vsib-record) " VSIB_VERSION);
			exit(0);
		}
		ret = take_option(wr, key, optarg);
		if (ret)
			return ret;
	}
	if (wr_args_parse(&wr->args, argc - optind, argv + optind, error) < 0)
		return say(EX_USAGE, error);
	return 0;
}

static void make_config(struct wr *wr, bool is_board)
{
	const struct wr_args *args = &wr->args;
	struct session_config *config = &wr->config;
	time_t now = (time_t)(units_realtime_ns() / UNITS_NS_PER_S);
	struct tm tm;
	char utc[32];

	gmtime_r(&now, &tm);
	/* the number of the process too: two boards may be started in the same second */
	strftime(utc, sizeof(utc), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(wr->name, sizeof(wr->name), "wr_%s_%d", utc, (int)getpid());
	wr_source_name(wr->source, sizeof(wr->source), args, wr->given_source, is_board);
	for (unsigned i = 0; i < args->dir_count; i++) {
		wr->targets[i] = args->dirs[i].path;
		wr->templates[i] = args->dirs[i].name_template;
		/* one file under a plain name: it ends with the run */
		if (__builtin_mul_overflow(args->dirs[i].blocks_per_file, args->block_bytes,
					   &wr->file_bytes[i]) ||
		    wr->file_bytes[i] >= wr_dir_bytes(args, i))
			wr->file_bytes[i] = 0;
	}
	config->program = "wr";
	config->source_name = wr->source;
	config->targets = wr->targets;
	config->templates = wr->templates;
	config->target_file_bytes = wr->file_bytes;
	config->target_count = args->dir_count;
	config->name = wr->name;
	config->limit_bytes = args->total_bytes;
	config->layout = LAYOUT_RAW;
	config->stripe = args->dir_count > 1 ? STRIPE_ROUND : STRIPE_ANY;
	config->unit_bytes = args->block_bytes;
	config->is_index_per_target = true;
	config->allow_same_device = true;
	config->use_direct = true;
	config->use_huge_pages = true;
	config->use_lock = true;
	config->use_checksums = config->use_journal;
	config->numa_node = MEMORY_ANY_NODE;
	config->silence_ns = 10 * UNITS_NS_PER_S;
	config->is_ring_default = !wr->given_ring;
	if (!config->ring_bytes)
		config->ring_bytes = DEFAULT_RING;
}

/* ---- --explain ---- */

/* A word as a shell wants it: in quotes when it has anything but harmless characters. */
static void print_word(const char *word)
{
	if (word[0] &&
	    strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=/.,:") ==
		    strlen(word)) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*word);
	}
	putchar('\'');
}

static void print_option(const char *name, const char *value)
{
	if (!value)
		return;
	printf(" --%s ", name);
	print_word(value);
}

static void explain(const struct wr *wr, bool is_board)
{
	const struct wr_args *args = &wr->args;
	bool is_equal = true;

	fputs("vsib-record -s ", stdout);
	print_word(wr->config.source_name);
	printf(" -n %" PRIu64 " --layout raw", args->total_bytes);
	if (args->dir_count > 1)
		printf(" --stripe round --unit %" PRIu64, args->block_bytes);
	if (wr->file_bytes[0])
		printf(" --file-size %" PRIu64, wr->file_bytes[0]);
	fputs(" --template ", stdout);
	print_word(args->dirs[0].name_template);
	for (unsigned i = 0; i < args->dir_count; i++) {
		fputs(" -o ", stdout);
		print_word(args->dirs[i].path);
		is_equal = is_equal &&
			   strcmp(args->dirs[i].name_template, args->dirs[0].name_template) == 0 &&
			   wr->file_bytes[i] == wr->file_bytes[0];
	}
	printf(" --allow-same-device --journal %s", wr->config.use_journal ? "yes" : "no");
	print_option("ring", wr->given_ring);
	print_option("json", wr->json);
	print_option("live", wr->given_live);
	putchar('\n');
	if (!is_equal)
		puts("# wr has a template and a file size of its own for each directory; vsib-record has one for all");
	if (args->dir_count > 1)
		printf("# wr counts the files %s, vsib-record all files together\n",
		       wr->config.is_index_global ? "by the numbers of their first blocks" :
						    "of each directory by itself");
	if (!is_board && !wr->given_source)
		puts("# standard input is no VSIB board here: without one, -s - instead");
}

/* ---- the run ---- */

static void report(const struct program *program, const struct session *session)
{
	const struct wr *wr = program->context;
	int64_t last = 0;
	int status;
	char line[WR_LINE_LEN];
	double longest_fill =
		(double)atomic_load_explicit(&session->longest_fill_ns, memory_order_relaxed) / 1e9;

	for (unsigned i = 0; i < session->disk_count; i++) {
		int64_t written =
			atomic_load_explicit(&session->disks[i].last_write_ns, memory_order_relaxed);

		last = written > last ? written : last;
	}
	if (last == 0)
		last = session->ended_ns;
	wr_report_line(
		line, session_written_bytes(session),
		(double)(last - atomic_load_explicit(&session->running_ns, memory_order_relaxed)) / 1e9,
		account_get(&session->source->stats.wait_count));
	fprintf(stderr, "%s\n", line);
	for (unsigned i = 0; i < session->disk_count; i++) {
		wr_max_line(line, wr->args.dirs[i].given,
			    (double)atomic_load_explicit(&session->disks[i].longest_turn_ns,
							 memory_order_relaxed) /
				    1e9);
		fprintf(stderr, "%s\n", line);
	}
	wr_max_line(line, "call-to-call", longest_fill);
	fprintf(stderr, "%s\n", line);
	fprintf(stderr, "vsib: big secondary ring buffer filled to %" PRIu64 " bytes\n",
		ring_level(session->ring).high_water_bytes);
	fprintf(stderr, "sync %f seconds.\n", (double)session->sync_ns / 1e9);
	session_outcome(session, &status);
	if (status != 0)
		report_text(stderr, session);
}

int main(int argc, char **argv)
{
	static struct wr wr = { .live = LIVE_NONE };
	struct program program = {
		.name = "wr",
		.config = &wr.config,
		.report = report,
		.if_it_exists = "; another TEMPLATE, or move the old files away",
		.context = &wr,
	};
	bool is_board;
	int status = parse_command_line(&wr, argc, argv);

	if (status != 0)
		return status;
	is_board = board_is_behind(STDIN_FILENO);
	make_config(&wr, is_board || wr.is_explain);
	if (wr.is_explain) {
		explain(&wr, is_board);
		return 0;
	}
	if (strncmp(wr.source, "vsib:", 5) != 0 &&
	    (wr.args.mode || wr.args.skip || wr.args.is_embed || wr.args.is_giga))
		fprintf(stderr, "wr: %s is no VSIB board: MODE, SKIP, EMBED and GIGA have no effect\n",
			wr.given_source ? wr.given_source : "standard input");
	program.json = wr.json;
	program.live = wr.live;
	program.log_interval_ns = 10 * UNITS_NS_PER_S;
	return program_run(&program);
}
