/* SPDX-License-Identifier: BSD-2-Clause */
/* vsib-status: how the running recorders are */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/runtime.h"
#include "recorder/version.h"
#include "tools/observe.h"
#include "tools/status_screen.h"
#include "tools/stop_signal.h"

#define EXIT_RUNNING 0
#define EXIT_NONE 1

struct options {
	const char *select; /* NULL: all */
	bool is_once;
	bool is_json;
	int64_t interval_ns; /* 0: not given */
};

struct round {
	char *text; /* for stdout */
	size_t len;
	unsigned running_count;
	unsigned denied_count;
};

/*
 * ---- options
 * -------------------------------------------------------------------------------------
 */

enum { OPTION_ONCE = 256, OPTION_INTERVAL, OPTION_JSON };

static const struct argp_option option_table[] = {
	{ "once", OPTION_ONCE, NULL, 0,
	  "Print one snapshot and end (default when standard output is not a terminal)", 0 },
	{ "interval", OPTION_INTERVAL, "TIME", 0,
	  "Look again each TIME (default 1s) until the recorder ends; without a terminal, too", 0 },
	{ "json", OPTION_JSON, NULL, 0,
	  "Print the recorder's JSON object (vsib-status/1), one line each", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPTION_ONCE:
		options->is_once = true;
		return 0;
	case OPTION_INTERVAL:
		if (units_parse_time(arg, &options->interval_ns) < 0 || options->interval_ns <= 0)
			argp_error(state, "--interval=%s: not a time above 0", arg);
		return 0;
	case OPTION_JSON:
		options->is_json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (options->select)
			argp_error(state, "one NAME or PID, not %s too", arg);
		options->select = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_version(FILE *stream, struct argp_state *state)
{
	(void)state;
	fprintf(stream, "vsib-status %s\n", VSIB_VERSION);
}

static void parse_options(struct options *options, int argc, char **argv)
{
	static const struct argp argp = {
		option_table,
		parse_option,
		"[NAME|PID]",
		"Shows the running recorders: state, rates, ring, disks, losses. Looks only, and changes nothing.\v"
		"TIME: seconds, or with ms s m h.\n"
		"Exit status: 0 a recorder runs, 1 none does, 64 usage, 77 no permission.",
		NULL,
		NULL,
		NULL,
	};

	argp_program_version_hook = print_version;
	argp_parse(&argp, argc, argv, 0, NULL, options);
	if (!options->interval_ns && !isatty(STDOUT_FILENO))
		options->is_once = true;
	if (!options->interval_ns)
		options->interval_ns = UNITS_NS_PER_S;
}

/*
 * ---- one round
 * -----------------------------------------------------------------------------------
 */

static void say_error(const char *dir, const struct observed *one, struct round *round)
{
	const char *what;

	switch (one->error) {
	case -ECONNREFUSED:
		what = "nobody listens there any more (left over); skipped";
		break;
	case -ETIMEDOUT:
		what = "the recorder is there but doesn't answer within 2 s";
		round->running_count++;
		break;
	case -EBADMSG:
	case -EMSGSIZE:
		what = "its answer can't be understood";
		break;
	case -EACCES:
	case -EPERM:
		what = "no permission to ask";
		round->denied_count++;
		break;
	default:
		what = strerror(-one->error);
	}
	fprintf(stderr, "vsib-status: %s/%s: %s\n", dir, one->file, what);
}

static int look(const struct options *options, const char *dir, struct round *round)
{
	struct observed *list;
	size_t count;
	FILE *out;
	int ret;

	memset(round, 0, sizeof(*round));
	ret = observe_all(dir, options->select, &list, &count);
	if (ret < 0)
		return ret;
	out = open_memstream(&round->text, &round->len);
	if (!out) {
		observe_free(list, count);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		if (list[i].error) {
			say_error(dir, &list[i], round);
			continue;
		}
		if (options->is_json)
			fprintf(out, "%s\n", list[i].text);
		else
			status_screen_print(out, list[i].object);
		round->running_count++;
	}
	observe_free(list, count);
	return fclose(out) == 0 ? 0 : -errno;
}

static int show(const struct options *options, const struct round *round)
{
	if (!options->is_once && !options->is_json && isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	fwrite(round->text, 1, round->len, stdout);
	return fflush(stdout) == 0 ? 0 : -errno;
}

static int say_none(const struct options *options, const char *dir, const struct round *round)
{
	if (round->denied_count)
		return EX_NOPERM;
	fprintf(stderr, "vsib-status: no recorder%s%s runs (looked in %s)\n",
		options->select ? " " : "", options->select ? options->select : "", dir);
	return EXIT_NONE;
}

static int say_failure(const char *dir, int ret)
{
	if (ret == -ENOENT) {
		fprintf(stderr, "vsib-status: no recorder runs (there is no %s)\n", dir);
		return EXIT_NONE;
	}
	fprintf(stderr, "vsib-status: %s: %s\n", dir,
		ret == -EPERM ? "belongs to another user or is open to others: not trusted" :
				strerror(-ret));
	return ret == -EACCES || ret == -EPERM ? EX_NOPERM : EX_IOERR;
}

/*
 * ---- all of it
 * -----------------------------------------------------------------------------------
 */

static void wait_interval(int64_t interval_ns)
{
	struct timespec wait = { .tv_sec = interval_ns / UNITS_NS_PER_S,
				 .tv_nsec = interval_ns % UNITS_NS_PER_S };

	nanosleep(&wait, NULL);
}

static int watch(const struct options *options, const char *dir)
{
	bool was_running = false;

	for (;;) {
		struct round round;
		int ret = look(options, dir, &round), written;

		if (ret < 0)
			return was_running && ret == -ENOENT ? EXIT_RUNNING : say_failure(dir, ret);
		if (round.running_count == 0) {
			free(round.text);
			return was_running ? EXIT_RUNNING : say_none(options, dir, &round);
		}
		was_running = true;
		written = show(options, &round);
		free(round.text);
		if (written < 0 || options->is_once || *stop_signal())
			return written < 0 && written != -EPIPE ? EX_IOERR : EXIT_RUNNING;
		wait_interval(options->interval_ns);
		if (*stop_signal())
			return EXIT_RUNNING;
	}
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	char dir[PATH_MAX];
	int ret;

	parse_options(&options, argc, argv);
	ret = runtime_dir(dir, sizeof(dir), false);
	if (ret < 0)
		return say_failure(dir, ret);
	stop_signal_catch();
	signal(SIGPIPE, SIG_IGN);
	return watch(&options, dir);
}
