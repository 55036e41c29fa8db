/* SPDX-License-Identifier: BSD-2-Clause */
/* rd.c - the historical playback program's command line over the same player; see rd.1 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/board.h"
#include "drivers/units.h"
#include "recorder/host.h"
#include "recorder/values.h"
#include "recorder/version.h"
#include "recorder/wr_args.h"
#include "tools/option_rows.h"
#include "tools/replay/feed_report.h"
#include "tools/replay/play_report.h"
#include "tools/replay/playback.h"
#include "tools/replay/replay_input.h"
#include "tools/replay/replay_shape.h"

#define NAME "rd"
#define DEFAULT_RING (UINT64_C(256) << 20)
#define WORDS_MAX (7 + 2 * TARGET_MAX)
#define DESTINATION_LEN (4 * WR_LINE_LEN)

struct rd {
	char *words[WORDS_MAX + 1];
	int word_count;
	struct wr_args args;
	const char *given; /* --destination */
	struct replay_options options;
	struct replay_input input;
	struct replay_shape shape;
	struct schedule schedule;
	struct playback playback;
	char destination[DESTINATION_LEN];
};

/* Return: @status */
static int say(int status, const char *text)
{
	fprintf(stderr, NAME ": %s\n", text);
	return status;
}

/* ---- the command line ---------------------------------------------------------------------------- */

static int set_destination(void *context, const char *value)
{
	((struct rd *)context)->given = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_rate(void *context, const char *value)
{
	return units_parse_rate(value, &((struct rd *)context)->options.rate_bps);
}

static int set_ring(void *context, const char *value)
{
	return values_bytes(value, &((struct rd *)context)->options.ring_bytes);
}

static int set_json(void *context, const char *value)
{
	((struct rd *)context)->options.json = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_live(void *context, const char *value)
{
	int index = values_pick(value, "auto|line|log|none");

	if (index >= 0)
		((struct rd *)context)->options.live = (enum live_mode)index;
	return index < 0 ? index : 0;
}

static const struct option_row rows[] = {
	{ "destination", OPTION_ROWS_LONG, "DEST", "play to this instead of standard output",
	  set_destination, NULL, NULL },
	{ "rate", OPTION_ROWS_LONG, "RATE", "to what is no board: so fast", set_rate, NULL, NULL },
	{ "ring", OPTION_ROWS_LONG, "SIZE", "memory between disks and board; default 256Mi",
	  set_ring, NULL, NULL },
	{ "json", OPTION_ROWS_LONG, "FILE|-", "write the report as JSON", set_json, NULL, NULL },
	{ "live", OPTION_ROWS_LONG, "auto|line|log|none",
	  "a live line, log lines, or neither (default)", set_live, NULL, NULL },
};

static int add_word(void *context, const char *text)
{
	struct rd *rd = context;

	if (rd->word_count == WORDS_MAX)
		return -E2BIG;
	rd->words[rd->word_count++] = (char *)text;
	return 0;
}

/* Return: 0; the exit status. */
static int parse(struct rd *rd, int argc, char **argv)
{
	static const struct option_rows table = {
		.rows = rows,
		.count = sizeof(rows) / sizeof(rows[0]),
		.version = "rd " VSIB_VERSION,
		.arguments_doc =
			"BLOCK NBLOCKS MODE SKIP EMBED GIGA NDIRS {TEMPLATE BLOCKS_PER_FILE}... > DEVICE",
		.doc = "Plays NBLOCKS blocks of BLOCK bytes to the VSIB board, block by block in turn from NDIRS directories.\v"
		       "Exit status: 0 complete, 1 complete with gaps or underruns, 2 stopped early; 64 usage, 66 no input, 74 I/O, 77 permission.",
		.add = add_word,
		.full = "too many arguments",
	};
	char error[OPTIONS_ERROR_LEN], why[WR_ERROR_LEN];
	int status;

	rd->options = (struct replay_options){
		.speed = 1,
		.loop_count = 1,
		.burst = PLAYER_BURST,
		.ring_bytes = DEFAULT_RING,
		.use_direct = true,
		.live = LIVE_NONE,
	};
	status = option_rows_parse(&table, argc, argv, rd, error);
	if (status)
		return say(status, error);
	return wr_args_parse(&rd->args, rd->word_count, rd->words, why) < 0 ? say(EX_USAGE, why) : 0;
}

/* ---- the run ------------------------------------------------------------------------------------- */

/* What the options of vsib-replay would be. Return: 0; the exit status. */
static int translate(struct rd *rd)
{
	struct replay_options *o = &rd->options;
	struct arguments *arguments = &o->arguments;
	const struct wr_args *args = &rd->args;

	o->round_bytes = args->block_bytes;
	o->stop = (struct replay_place){ .kind = REPLAY_PLACE_BYTES, .bytes = args->total_bytes };
	for (unsigned i = 0; i < args->dir_count; i++)
		arguments_add(arguments, NULL, args->dirs[i].given);
	/* of the source's names too: a board's gets mode, skip, embed and giga */
	wr_source_name(rd->destination, sizeof(rd->destination), args, rd->given,
		       !rd->given && board_is_behind(STDOUT_FILENO));
	o->destination = rd->destination;
	if (strncmp(rd->destination, "vsib:", 5) != 0 &&
	    (args->mode || args->skip || args->is_embed || args->is_giga))
		fprintf(stderr,
			NAME ": %s is no VSIB board: MODE, SKIP, EMBED and GIGA have no effect\n",
			rd->given ? rd->given : "standard output");
	if (strcmp(rd->destination, "-") == 0 && o->json && strcmp(o->json, "-") == 0)
		return say(EX_USAGE, "--json - and the stream can't both go to standard output");
	return 0;
}

static void tell_missing(const struct rd *rd)
{
	const struct recording_note *notes;
	const struct recording_missing *missing;
	size_t count;

	notes = recording_notes(rd->input.recording, &count);
	for (size_t i = 0; i < count; i++)
		say(0, notes[i].text);
	missing = recording_missing(rd->input.recording, &count);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, NAME ": %s/%s %s\n", missing[i].target, missing[i].file,
			missing[i].reason);
}

static int prepare(struct rd *rd)
{
	struct replay_options *o = &rd->options;
	const struct destination_config to = { .rate_bps = o->rate_bps };
	struct playback *playback = &rd->playback;
	int status = replay_input_open(&rd->input, o), ret;

	if (!status) {
		tell_missing(rd);
		status = replay_input_plan(&rd->input, o, &rd->schedule);
	}
	if (status)
		return say(status, rd->input.error);
	status = replay_shape_begin(&rd->shape, &rd->input, o);
	if (status)
		return say(status, rd->shape.error);
	ret = destination_open(&playback->destination, o->destination, &to);
	if (ret < 0)
		return say(playback_destination_status(ret),
			   playback->destination ? playback->destination->error : "out of memory");
	status = replay_shape_finish(&rd->shape, &rd->input, o, playback->destination);
	if (status)
		return say(status, rd->shape.error);
	playback->program = NAME;
	playback->json = o->json;
	playback->ring_bytes = o->ring_bytes;
	playback->is_ring_default = o->ring_bytes == DEFAULT_RING;
	playback->block_bytes = rd->shape.block_bytes;
	playback->live = o->live;
	playback->log_interval_ns = 10 * UNITS_NS_PER_S;
	playback->input = rd->shape.text;
	playback->player_config = (struct player_config){
		.schedule = &rd->schedule,
		.lump_bytes = rd->shape.lump_bytes,
		.frame_bytes = rd->shape.frame_bytes,
		.burst = o->burst,
		.patience_ns = 10 * UNITS_NS_PER_S,
	};
	status = playback_open(playback);
	return status ? say(status, playback->error) : 0;
}

static void report(const struct rd *rd)
{
	const struct playback *playback = &rd->playback;
	char line[WR_LINE_LEN];

	wr_report_line(
		line, atomic_load_explicit(&playback->player->stats.sent_bytes, memory_order_relaxed),
		(double)playback_duration_ns(playback) / 1e9,
		atomic_load_explicit(&playback->destination->stats.busy_count, memory_order_relaxed));
	fprintf(stderr, "%s\n", line);
	if (playback->exit_status == 0)
		return;
	play_report_text(stderr, playback);
	feed_report_text(stderr, playback->feed);
}

static int play(void *context)
{
	struct rd *rd = context;
	struct playback *playback = &rd->playback;
	struct feed_config config;
	json_t *json = NULL;
	int status = prepare(rd);

	if (!status) {
		config = playback_feed_config(playback);
		status = replay_input_feed(&rd->input, &rd->options, &config, false,
					   playback->memory.base, playback->memory.bytes,
					   &playback->feed);
		if (status)
			say(status, rd->input.error);
	}
	if (!status) {
		status = playback_run(playback);
		if (status)
			say(status, playback->error);
		else
			report(rd);
		json = status ? NULL : playback_json(playback, "vsib-replay/1");
		if (json)
			feed_report_json(json, playback->feed);
		status = status ? status : playback->exit_status;
	}
	status = playback_close(playback, json, status);
	replay_input_close(&rd->input);
	schedule_free(&rd->schedule);
	return status;
}

int main(int argc, char **argv)
{
	static const struct host_child player = {
		.name = "player",
		.remains = "what was sent before is sent",
		.killed_status = PLAYBACK_STOPPED_STATUS,
	};
	struct rd *rd = calloc(1, sizeof(*rd));
	int status;

	if (!rd)
		return say(EX_OSERR, "no memory");
	status = parse(rd, argc, argv);
	if (!status)
		status = translate(rd);
	if (!status)
		status = host_run(play, rd, &player);
	replay_options_free(&rd->options);
	free(rd);
	return status;
}
