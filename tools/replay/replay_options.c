/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/replay_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "drivers/destination.h"
#include "drivers/units.h"
#include "recorder/values.h"
#include "recorder/version.h"
#include "tools/option_rows.h"
#include "tools/replay/player.h"

#define DEFAULT_RING (UINT64_C(256) << 20)
#define DEFAULT_PATIENCE (INT64_C(10) * UNITS_NS_PER_S)
#define LUMP_NS INT64_C(400000)
#define LOOPS_MAX 1000000000
#define BURST_MAX 1000000
#define FRAME_RATE_MAX 16777216 /* that VDIF has numbers for */
#define SPEED_MIN 0.001
#define SPEED_MAX 1000

static int set_destination(void *options, const char *value)
{
	struct replay_options *o = options;

	if (o->destination)
		return -EBUSY;
	o->destination = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_rate(void *options, const char *value)
{
	struct replay_options *o = options;

	return units_parse_rate(value, &o->rate_bps);
}

static int set_as_recorded(void *options, const char *value)
{
	struct replay_options *o = options;

	(void)value;
	o->is_as_recorded = true;
	return 0;
}

/* In thousandths, which the parser of sizes reads without floating point. */
static int set_speed(void *options, const char *value)
{
	struct replay_options *o = options;
	char thousandths[64];
	uint64_t number;

	if ((size_t)snprintf(thousandths, sizeof(thousandths), "%sk", value) >= sizeof(thousandths) ||
	    units_parse_bytes(thousandths, &number) < 0)
		return -EINVAL;
	o->speed = (double)number / 1000;
	return o->speed < SPEED_MIN || o->speed > SPEED_MAX ? -ERANGE : 0;
}

/* A moment has a T or an @, a time ends in its unit, and a bare number is one of bytes. */
static int set_place(struct replay_place *place, const char *value)
{
	size_t len = strlen(value);

	if (value[0] == '@' || strchr(value, 'T') != NULL) {
		place->kind = REPLAY_PLACE_UTC;
		if (units_parse_utc(value, &place->ns) == 0)
			return 0;
	}
	place->kind = REPLAY_PLACE_TIME;
	if (len > 0 && strchr("smhd", value[len - 1]))
		return units_parse_time(value, &place->ns);
	place->kind = REPLAY_PLACE_BYTES;
	return units_parse_bytes(value, &place->bytes);
}

static int set_start(void *options, const char *value)
{
	return set_place(&((struct replay_options *)options)->start, value);
}

static int set_stop(void *options, const char *value)
{
	return set_place(&((struct replay_options *)options)->stop, value);
}

static int set_loop(void *options, const char *value)
{
	struct replay_options *o = options;
	unsigned count;
	int ret;

	if (strcmp(value, "forever") == 0) {
		o->loop_count = 0;
		return 0;
	}
	ret = values_count(value, 1, LOOPS_MAX, &count);
	if (ret == 0)
		o->loop_count = count;
	return ret;
}

static int set_at(void *options, const char *value)
{
	return units_parse_utc(value, &((struct replay_options *)options)->at_utc_ns);
}

static int set_duration(void *options, const char *value)
{
	return values_time(value, &((struct replay_options *)options)->duration_ns);
}

static int set_gaps(void *options, const char *value)
{
	int index = values_pick(value, "time|fill|skip");

	if (index >= 0)
		((struct replay_options *)options)->gaps = (enum replay_gaps)index;
	return index < 0 ? index : 0;
}

static int set_fill(void *options, const char *value)
{
	struct replay_options *o = options;
	int index = values_pick(value, "none|pattern|vdif-invalid");

	if (index < 0)
		return index;
	o->gaps = index == 0 ? REPLAY_GAPS_TIME : REPLAY_GAPS_FILL;
	o->fill = index == 2 ? GATHER_VDIF : GATHER_PATTERN;
	return 0;
}

static int set_port(void *options, const char *value)
{
	struct replay_options *o = options;
	unsigned port;
	int ret = values_count(value, 1, UINT16_MAX, &port);

	if (ret == 0)
		o->port = (uint16_t)port;
	return ret;
}

static int set_filter(void *options, const char *value)
{
	((struct replay_options *)options)->filter = value;
	return 0;
}

static int set_pace(void *options, const char *value)
{
	struct replay_options *o = options;
	int index = values_pick(value, "lumps|sleep|precise");

	if (index < 0)
		return index;
	o->grain_ns = index == 0 ? LUMP_NS : 0;
	o->is_precise = index == 2;
	return 0;
}

static int set_frame_rate(void *options, const char *value)
{
	return values_count(value, 1, FRAME_RATE_MAX, &((struct replay_options *)options)->frame_rate);
}

static int set_burst(void *options, const char *value)
{
	return values_count(value, 1, BURST_MAX, &((struct replay_options *)options)->burst);
}

static int set_lump(void *options, const char *value)
{
	return values_bytes(value, &((struct replay_options *)options)->lump_bytes);
}

static int set_patience(void *options, const char *value)
{
	return units_parse_time(value, &((struct replay_options *)options)->patience_ns);
}

static int set_ring(void *options, const char *value)
{
	return values_bytes(value, &((struct replay_options *)options)->ring_bytes);
}

static int set_block(void *options, const char *value)
{
	return values_bytes(value, &((struct replay_options *)options)->block_bytes);
}

static int set_depth(void *options, const char *value)
{
	return values_count(value, 1, ENGINE_DEPTH_MAX, &((struct replay_options *)options)->depth);
}

static int set_engine(void *options, const char *value)
{
	int index = values_pick(value, "auto|io_uring|pread");

	if (index >= 0)
		((struct replay_options *)options)->engine = (enum engine_kind)index;
	return index < 0 ? index : 0;
}

static int set_io(void *options, const char *value)
{
	int index = values_pick(value, "buffered|direct");

	if (index >= 0)
		((struct replay_options *)options)->use_direct = index == 1;
	return index < 0 ? index : 0;
}

static int set_verify(void *options, const char *value)
{
	int index = values_pick(value, "no|yes");

	if (index >= 0)
		((struct replay_options *)options)->is_verified = index == 1;
	return index < 0 ? index : 0;
}

static int set_target(void *options, const char *value)
{
	arguments_add_target(&((struct replay_options *)options)->arguments, NULL, value);
	return 0;
}

static int set_round(void *options, const char *value)
{
	return values_bytes(value, &((struct replay_options *)options)->round_bytes);
}

static int set_force(void *options, const char *value)
{
	(void)value;
	((struct replay_options *)options)->is_forced = true;
	return 0;
}

static int set_dry_run(void *options, const char *value)
{
	(void)value;
	((struct replay_options *)options)->is_dry_run = true;
	return 0;
}

static int set_json(void *options, const char *value)
{
	((struct replay_options *)options)->json = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_live(void *options, const char *value)
{
	int index = values_pick(value, "auto|line|log|none");

	if (index >= 0)
		((struct replay_options *)options)->live = (enum live_mode)index;
	return index < 0 ? index : 0;
}

static int set_quiet(void *options, const char *value)
{
	(void)value;
	((struct replay_options *)options)->is_quiet = true;
	return 0;
}

#define PLACE_EXPECTED \
	", bytes such as 1.5G, a time such as 30s, or a moment such as 2026-11-30T08:15:00Z"

static const struct option_row rows[] = {
	{ "to", 't', "DEST", "where to; see below", set_destination, "one destination only", NULL },
	{ "rate", 'r', "RATE", "so fast; bare number = Mbit/s. Default: as fast as it goes",
	  set_rate, NULL, NULL },
	{ "as-recorded", OPTION_ROWS_LONG, NULL,
	  "as fast as it was recorded: by time codes in the frames, time stamps of packets, or the journal's clock",
	  set_as_recorded, NULL, NULL },
	{ "speed", OPTION_ROWS_LONG, "FACTOR", "with --as-recorded: so many times as fast",
	  set_speed, NULL, ", such as 2 or 0.5" },
	{ "frame-rate", OPTION_ROWS_LONG, "N",
	  "so many frames a second of each thread; default as headers tell, else they are counted",
	  set_frame_rate, NULL, NULL },
	{ "start", OPTION_ROWS_LONG, "PLACE",
	  "begin there: bytes, a time (30s), or a moment (UTC) of data that tell the time",
	  set_start, NULL, PLACE_EXPECTED },
	{ "stop", OPTION_ROWS_LONG, "PLACE", "end before it", set_stop, NULL, PLACE_EXPECTED },
	{ "loop", OPTION_ROWS_LONG, "N|forever", "play it so many times, one behind the other",
	  set_loop, NULL, NULL },
	{ "at", OPTION_ROWS_LONG, "UTC", "the first byte goes out at this moment", set_at, NULL, NULL },
	{ "duration", 'd', "TIME", "end after this time", set_duration, NULL, NULL },
	{ "gaps", OPTION_ROWS_LONG, "time|fill|skip",
	  "what stands for bytes that are not there: as much time without data (default), fill, or nothing: closed up",
	  set_gaps, NULL, NULL },
	{ "fill", OPTION_ROWS_LONG, "none|pattern|vdif-invalid",
	  "with --gaps fill: the fill pattern (default), or the missing VDIF frames, marked invalid; says --gaps fill by itself",
	  set_fill, NULL, NULL },
	{ "port", OPTION_ROWS_LONG, "N", "of a savefile only the datagrams to this port", set_port,
	  NULL, NULL },
	{ "filter", OPTION_ROWS_LONG, "EXPRESSION",
	  "of a savefile only these packets, as tcpdump knows them", set_filter, NULL, NULL },
	{ "pace", OPTION_ROWS_LONG, "lumps|sleep|precise",
	  "of datagrams and packets: those due within 0.4 ms go together (default, and cheapest); each by itself; or each by itself, awake for the last 50 us where there is more than one CPU",
	  set_pace, NULL, NULL },
	{ "burst", OPTION_ROWS_LONG, "N",
	  "who is late sends at most so many back to back; default 32", set_burst, NULL, NULL },
	{ "lump", OPTION_ROWS_LONG, "SIZE",
	  "of a stream, write so much at a time; default what comes in 1 ms", set_lump, NULL, NULL },
	{ "patience", OPTION_ROWS_LONG, "TIME",
	  "so long is tried what a destination doesn't take at the moment; default 10s",
	  set_patience, NULL, NULL },
	{ "target", OPTION_ROWS_LONG, "DIR", "look for pieces in DIR, too; may be given often",
	  set_target, NULL, NULL },
	{ "round", OPTION_ROWS_LONG, "UNIT",
	  "no journal: the files take UNIT bytes of the stream in turn, as wr writes them to several directories; the arguments are their templates",
	  set_round, NULL, ", a number of bytes" },
	{ "ring", OPTION_ROWS_LONG, "SIZE", "memory to read ahead into; default 256Mi", set_ring,
	  NULL, NULL },
	{ "block", OPTION_ROWS_LONG, "SIZE", "unit of reading; default by frame and ring",
	  set_block, NULL, NULL },
	{ "depth", OPTION_ROWS_LONG, "N", "reads in flight on each disk; default by the block",
	  set_depth, NULL, NULL },
	{ "engine", OPTION_ROWS_LONG, "auto|io_uring|pread", "how reads are made", set_engine, NULL,
	  NULL },
	{ "io", OPTION_ROWS_LONG, "direct|buffered",
	  "read past the page cache where that can be (default), or through it", set_io, NULL, NULL },
	{ "verify", OPTION_ROWS_LONG, "yes|no",
	  "compare the journal's checksums before anything is sent (default), or don't", set_verify,
	  NULL, NULL },
	{ "force", OPTION_ROWS_LONG, NULL, "write over a file", set_force, NULL, NULL },
	{ "dry-run", OPTION_ROWS_LONG, NULL,
	  "send nothing: how fast can these disks be read, and is it enough for the rate?",
	  set_dry_run, NULL, NULL },
	{ "json", OPTION_ROWS_LONG, "FILE|-", "write the report as JSON (vsib-replay/1)", set_json,
	  NULL, NULL },
	{ "live", OPTION_ROWS_LONG, "auto|line|log|none",
	  "a live line, a key=value line every 10 s, or neither", set_live, NULL, NULL },
	{ "quiet", 'q', NULL, "say only what is wrong", set_quiet, NULL, NULL },
};

static int add_argument(void *options, const char *text)
{
	arguments_add(&((struct replay_options *)options)->arguments, NULL, text);
	return 0;
}

/* What doesn't go together; NULL = all is well. */
static const char *find_mistake(const struct replay_options *o)
{
	bool is_stdout = o->destination && strcmp(o->destination, "-") == 0;

	if (o->arguments.given_count == 0)
		return o->round_bytes ?
			       "--round needs the templates of the files, one for each directory" :
			       "nothing to play given: a recording, files, savefiles, or - for standard input";
	if (!o->destination && !o->is_dry_run)
		return "no destination given: -t DEST";
	if (o->destination && o->is_dry_run)
		return "--dry-run sends nothing: no -t then";
	if (o->rate_bps && o->is_as_recorded && !o->is_dry_run)
		return "--rate and --as-recorded are two ways to say when: one of them";
	if (o->speed != 1 && !o->is_as_recorded)
		return "--speed goes with --as-recorded";
	if (o->round_bytes && o->arguments.target_count)
		return "--target doesn't go with --round: the templates say where the files are";
	if (is_stdout && o->json && strcmp(o->json, "-") == 0)
		return "--json - and the stream can't both go to standard output";
	if (o->start.kind == o->stop.kind && o->start.kind != REPLAY_PLACE_NONE &&
	    (o->start.kind == REPLAY_PLACE_BYTES ? o->stop.bytes <= o->start.bytes :
						   o->stop.ns <= o->start.ns))
		return "--stop is not behind --start";
	return NULL;
}

/* The destinations, as their table has them. */
static void describe(char *doc, size_t size)
{
	size_t used = (size_t)snprintf(
		doc, size,
		"Plays what was recorded: a recording (TARGET/NAME, a journal, or the files of a Mark6 set), files one behind the other, savefiles, or standard input (-).\v"
		"DEST:\n");

	for (const struct destination_ops *const *ops = destination_table(); *ops && used < size; ops++)
		used += (size_t)snprintf(doc + used, size - used, "  %s\n", (*ops)->summary);
	if (used < size)
		snprintf(doc + used, size - used,
			 "Rates: 512 = 512 Mbit/s, 1.6G, 64MB/s. Sizes: 4096, 64Ki, 1.5G. Times: 90, 30s, 1h30m.\n"
			 "Exit status: 0 complete, 1 complete with gaps or underruns, 2 stopped early; 64 usage, 66 no such input, 73 can't create, 74 I/O, 77 permission, 78 configuration.");
}

int replay_options_parse(struct replay_options *options, int argc, char **argv, char *error)
{
	static char doc[4096];
	const struct option_rows table = {
		.rows = rows,
		.count = sizeof(rows) / sizeof(rows[0]),
		.version = "vsib-replay " VSIB_VERSION,
		.arguments_doc = "RECORDING|FILE... -t DEST",
		.doc = doc,
		.add = add_argument,
	};
	const char *mistake;
	int status;

	describe(doc, sizeof(doc));
	*options = (struct replay_options){
		.speed = 1,
		.loop_count = 1,
		.fill = GATHER_PATTERN,
		.burst = PLAYER_BURST,
		.grain_ns = LUMP_NS,
		.patience_ns = DEFAULT_PATIENCE,
		.ring_bytes = DEFAULT_RING,
		.use_direct = true,
		.is_verified = true,
	};
	status = option_rows_parse(&table, argc, argv, options, error);
	if (status)
		return status;
	mistake = find_mistake(options);
	if (mistake) {
		snprintf(error, OPTIONS_ERROR_LEN, "%s", mistake);
		return EX_USAGE;
	}
	return 0;
}

void replay_options_free(struct replay_options *options)
{
	arguments_free(&options->arguments);
}
