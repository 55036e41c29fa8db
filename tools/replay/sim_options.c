/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/sim_options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "drivers/units.h"
#include "recorder/values.h"
#include "recorder/version.h"
#include "tools/replay/player.h"

#define LOG_INTERVAL (INT64_C(10) * UNITS_NS_PER_S)
#define PPM_MAX 100000
#define BURST_MAX 65536
#define BITS_MAX 32
#define CHANNELS_MAX (1U << 31)
#define THREADS_MAX 1024
#define SPLIT_LEN 64

enum {
	KEY_FORMAT = 256,
	KEY_FRAME,
	KEY_THREADS,
	KEY_STATION,
	KEY_BITS,
	KEY_CHANNELS,
	KEY_EDV,
	KEY_START,
	KEY_SEED,
	KEY_PPM,
	KEY_LOSS,
	KEY_REORDER,
	KEY_DUPLICATE,
	KEY_JITTER,
	KEY_STALL,
	KEY_PACE,
	KEY_BURST,
	KEY_RING,
	KEY_FORCE,
	KEY_JSON,
	KEY_LIVE,
	KEY_LOG_INTERVAL,
	KEY_LIST,
};

static int set_destination(struct sim_options *o, const char *value)
{
	if (o->destination)
		return -EBUSY;
	o->destination = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_rate(struct sim_options *o, const char *value)
{
	return units_parse_rate(value, &o->rate_bps);
}

static int set_duration(struct sim_options *o, const char *value)
{
	return values_time(value, &o->duration_ns);
}

static int set_bytes(struct sim_options *o, const char *value)
{
	return values_bytes(value, &o->bytes);
}

static int set_format(struct sim_options *o, const char *value)
{
	int index = values_pick(value, "raw|vdif|mark5b");

	if (index >= 0)
		o->format = (enum made_format)index;
	return index < 0 ? index : 0;
}

static int set_frame(struct sim_options *o, const char *value)
{
	uint64_t bytes;
	int ret = values_bytes(value, &bytes);

	if (ret == 0 && bytes > MADE_FRAME_BYTES_MAX)
		ret = -ERANGE;
	if (ret == 0)
		o->frame_bytes = (uint32_t)bytes;
	return ret;
}

static int set_threads(struct sim_options *o, const char *value)
{
	return values_count(value, 1, THREADS_MAX, &o->thread_count);
}

static int set_station(struct sim_options *o, const char *value)
{
	uint16_t station;

	o->station = value;
	return vdif_station_of(value, &station) ? 0 : -EINVAL;
}

static int set_bits(struct sim_options *o, const char *value)
{
	return values_count(value, 1, BITS_MAX, &o->bits);
}

static int set_channels(struct sim_options *o, const char *value)
{
	int ret = values_count(value, 1, CHANNELS_MAX, &o->channels);

	return ret == 0 && (o->channels & (o->channels - 1)) != 0 ? -EINVAL : ret;
}

static int set_edv(struct sim_options *o, const char *value)
{
	static const int versions[] = { VDIF_EDV_NONE, VDIF_EDV_NICT, VDIF_EDV_VLBA };
	int index = values_pick(value, "0|1|3");

	if (index >= 0)
		o->edv = versions[index];
	return index < 0 ? index : 0;
}

static int set_start(struct sim_options *o, const char *value)
{
	o->is_start_now = strcmp(value, "now") == 0;
	return o->is_start_now ? 0 : units_parse_utc(value, &o->start_utc_ns);
}

static int set_seed(struct sim_options *o, const char *value)
{
	return units_parse_count(value, &o->seed);
}

/* A number with a sign, which no other option has. */
static int set_ppm(struct sim_options *o, const char *value)
{
	const char *digits = value + (value[0] == '-' || value[0] == '+');
	size_t len = strspn(digits, "0123456789.");
	char *end;

	if (len == 0 || digits[len] != '\0')
		return -EINVAL;
	o->ppm = strtod(value, &end);
	if (*end != '\0')
		return -EINVAL;
	return o->ppm >= -PPM_MAX && o->ppm <= PPM_MAX ? 0 : -ERANGE;
}

/* Here a share may be 0: a script counts from there. */
static int take_share(const char *value, double *share)
{
	if (strcmp(value, "0") != 0)
		return values_share(value, share);
	*share = 0;
	return 0;
}

static int set_loss(struct sim_options *o, const char *value)
{
	return take_share(value, &o->faults.loss);
}

static int set_duplicate(struct sim_options *o, const char *value)
{
	return take_share(value, &o->faults.duplicate);
}

/* Cuts "A:B". Return: the part behind the colon; NULL: there is none, or it is too long. */
static const char *split(const char *value, char *first)
{
	const char *colon = strchr(value, ':');

	if (!colon || colon - value >= SPLIT_LEN)
		return NULL;
	snprintf(first, SPLIT_LEN, "%.*s", (int)(colon - value), value);
	return colon + 1;
}

static int set_reorder(struct sim_options *o, const char *value)
{
	char share[SPLIT_LEN];
	const char *distance = split(value, share);
	int ret;

	o->faults.reorder_distance = 1;
	if (!distance)
		return take_share(value, &o->faults.reorder);
	ret = take_share(share, &o->faults.reorder);
	return ret < 0 ? ret :
			 values_count(distance, 1, DISTURBANCE_DISTANCE_MAX,
				      &o->faults.reorder_distance);
}

static int set_jitter(struct sim_options *o, const char *value)
{
	return values_time(value, &o->faults.jitter_ns);
}

static int set_stall(struct sim_options *o, const char *value)
{
	char length[SPLIT_LEN];
	const char *every = split(value, length);
	int ret = every ? values_time(length, &o->faults.stall_ns) : -EINVAL;

	return ret < 0 ? ret : values_time(every, &o->faults.stall_every_ns);
}

static int set_pace(struct sim_options *o, const char *value)
{
	int index = values_pick(value, "none|sleep|precise");

	if (index >= 0)
		o->pace = (enum sim_pace)index;
	return index < 0 ? index : 0;
}

static int set_burst(struct sim_options *o, const char *value)
{
	return values_count(value, 1, BURST_MAX, &o->burst);
}

static int set_ring(struct sim_options *o, const char *value)
{
	return values_bytes(value, &o->ring_bytes);
}

static int set_force(struct sim_options *o, const char *value)
{
	(void)value;
	o->use_force = true;
	return 0;
}

static int set_json(struct sim_options *o, const char *value)
{
	o->json = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_live(struct sim_options *o, const char *value)
{
	int index = values_pick(value, "auto|line|log|none");

	if (index >= 0)
		o->live = (enum live_mode)index;
	return index < 0 ? index : 0;
}

static int set_log_interval(struct sim_options *o, const char *value)
{
	return values_time(value, &o->log_interval_ns);
}

static int set_list(struct sim_options *o, const char *value)
{
	(void)value;
	o->is_list = true;
	return 0;
}

static const struct row {
	const char *name;
	int key;
	const char *arg; /* NULL = none */
	const char *help;
	/* 0, -EINVAL, -ERANGE; -EBUSY: it was said before */
	int (*set)(struct sim_options *options, const char *value);
} rows[] = {
	{ "to", 't', "DEST", "where to; --list-destinations says what there is", set_destination },
	{ "rate", 'r', "RATE",
	  "of the samples, without headers; bare number = Mbit/s. Without: as fast as possible, --format raw only",
	  set_rate },
	{ "duration", 'd', "TIME", "so long: 90, 30s, 10m, 1h30m", set_duration },
	{ "bytes", 'n', "BYTES", "so many bytes, rounded down to whole frames: 64Mi, 2G", set_bytes },
	{ "format", KEY_FORMAT, "raw|vdif|mark5b",
	  "the pattern as it is (default), or in frames with time codes", set_format },
	{ "frame", KEY_FRAME, "SIZE",
	  "of a frame with its header; raw: of a datagram. Default 8032 with vdif, 10016 with mark5b, 8000 with raw, or what the destination says",
	  set_frame },
	{ "threads", KEY_THREADS, "N", "VDIF: threads, which take turns; default 1", set_threads },
	{ "station", KEY_STATION, "XX", "VDIF: two letters, or a number; default VS", set_station },
	{ "bits", KEY_BITS, "N", "VDIF: of a sample; default 2", set_bits },
	{ "channels", KEY_CHANNELS, "N", "VDIF: in each thread, a power of two; default 1",
	  set_channels },
	{ "edv", KEY_EDV, "0|1|3",
	  "VDIF: extended data version; default 1, which tells the sample rate, or 0 where it can't be told",
	  set_edv },
	{ "start", KEY_START, "UTC|now",
	  "time code of the first frame, which goes out then; default: the next whole second",
	  set_start },
	{ "seed", KEY_SEED, "N", "of the pattern and the faults; default 0", set_seed },
	{ "ppm", KEY_PPM, "X", "the clock is so many millionths too fast, or with - too slow", set_ppm },
	{ "loss", KEY_LOSS, "SHARE", "so many of the frames or datagrams are lost: 0.001", set_loss },
	{ "reorder", KEY_REORDER, "SHARE[:N]",
	  "so many come behind N later ones; default 1, at most 64", set_reorder },
	{ "duplicate", KEY_DUPLICATE, "SHARE", "so many come twice", set_duplicate },
	{ "jitter", KEY_JITTER, "TIME", "each comes up to so much after its time", set_jitter },
	{ "stall", KEY_STALL, "TIME:TIME",
	  "nothing comes for the first time, each second time: 200ms:5s", set_stall },
	{ "pace", KEY_PACE, "none|sleep|precise",
	  "keep the rate by sleeping (default), by spinning for the last 50 us, or not at all (default with file: and pcapfile:)",
	  set_pace },
	{ "burst", KEY_BURST, "N",
	  "who is late sends no more than so many datagrams back to back; default 32", set_burst },
	{ "ring", KEY_RING, "SIZE", "memory between making and sending; default 64Mi", set_ring },
	{ "force", KEY_FORCE, NULL, "an existing file may be written over", set_force },
	{ "json", KEY_JSON, "FILE|-", "write the report as JSON (vsib-sim/1)", set_json },
	{ "live", KEY_LIVE, "auto|line|log|none",
	  "a live line, a log line every --log-interval, or neither", set_live },
	{ "log-interval", KEY_LOG_INTERVAL, "TIME", "time between log lines; default 10s",
	  set_log_interval },
	{ "list-destinations", KEY_LIST, NULL, "print the kinds of destinations and end", set_list },
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

struct command_line {
	struct sim_options *options;
	char *error;
	int status;
};

/* What is meant by the words that stand for a value and are not those of all programs. */
static const char *describe(const struct row *row)
{
	switch (row->key) {
	case KEY_STATION:
		return ": two letters or a number, such as Ef or 0xfffc";
	case KEY_PPM:
		return ", such as 3.5 or -20, at most 100000";
	case KEY_REORDER:
		return ", such as 0.01 or 0.01:8";
	case KEY_STALL:
		return ", such as 200ms:5s";
	case KEY_SEED:
		return ", a whole number";
	case KEY_CHANNELS:
		return ", a power of two";
	case KEY_START:
		return ", such as 2026-11-30T08:15:00Z";
	default:
		return values_describe(row->arg);
	}
}

static void set_row(struct command_line *line, const struct row *row, const char *value)
{
	int ret = row->set(line->options, value);

	if (ret == 0 || line->status)
		return;
	line->status = EX_USAGE;
	if (ret == -EBUSY)
		snprintf(line->error, OPTIONS_ERROR_LEN, "--%s is given twice", row->name);
	else
		snprintf(line->error, OPTIONS_ERROR_LEN, "--%s '%.200s': %s; expected %s%s",
			 row->name, value, ret == -ERANGE ? "out of range" : "not understood",
			 row->arg, describe(row));
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;

	if (key == ARGP_KEY_ARG) {
		if (!line->status)
			snprintf(line->error, OPTIONS_ERROR_LEN,
				 "'%.200s' is no option; the destination stands behind -t", arg);
		line->status = EX_USAGE;
		return 0;
	}
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].key != key)
			continue;
		set_row(line, &rows[i], arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_option *argp_rows(void)
{
	static struct argp_option table[ROW_COUNT + 1];

	for (size_t i = 0; i < ROW_COUNT; i++)
		table[i] = (struct argp_option){ rows[i].name, rows[i].key,
						 rows[i].arg,  0,
						 rows[i].help, 0 };
	return table;
}

/* What doesn't go together; NULL = all is well. */
static const char *find_mistake(const struct sim_options *o)
{
	const struct disturbance_config *faults = &o->faults;

	if (!o->destination)
		return "no destination: -t DEST, for instance -t null: or -t udp:127.0.0.1:46227";
	if (o->format != MADE_VDIF &&
	    (o->thread_count || o->station || o->bits || o->channels || o->edv >= 0))
		return "--threads, --station, --bits, --channels and --edv go with --format vdif";
	if (faults->loss + faults->reorder + faults->duplicate > 1 + 1e-9)
		return "--loss, --reorder and --duplicate together are more than all there is";
	if (faults->stall_ns && faults->stall_every_ns <= faults->stall_ns)
		return "--stall: the second time is from one stall to the next and is to be the longer one";
	if (o->json && strcmp(o->json, "-") == 0 && strcmp(o->destination, "-") == 0)
		return "-t - and --json - both want the standard output";
	return NULL;
}

void sim_options_defaults(struct sim_options *options)
{
	memset(options, 0, sizeof(*options));
	options->edv = -1;
	options->pace = SIM_PACE_AUTO;
	options->burst = PLAYER_BURST;
	options->log_interval_ns = LOG_INTERVAL;
}

bool sim_options_has_faults(const struct sim_options *options)
{
	const struct disturbance_config *faults = &options->faults;

	return faults->loss > 0 || faults->duplicate > 0 || faults->reorder > 0 ||
	       faults->jitter_ns || faults->stall_ns;
}

int sim_options_parse(struct sim_options *options, int argc, char **argv, char *error)
{
	struct argp argp = {
		.options = argp_rows(),
		.parser = take_option,
		.doc = "The simulator: sends a pattern that tells its own position, as it is or in frames of VDIF or Mark5B with true time codes, "
		       "into a file, a FIFO, datagrams or a savefile; with faults on demand, which are counted.\v"
		       "Rates: 512 = 512 Mbit/s, 1.6G, 64MB/s. Sizes: 4096, 64Ki, 1.5G. Times: 90, 30s, 1h30m.\n"
		       "Exit status: 0 complete, 1 with underruns, 2 stopped early; 64 usage, 73 can't open the destination or create a report, 74 I/O, 77 permission, 78 configuration.",
	};
	struct command_line line = { .options = options, .error = error };
	const char *mistake;

	argp_program_version = "vsib-sim " VSIB_VERSION;
	argp_err_exit_status = EX_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &line) != 0) {
		snprintf(error, OPTIONS_ERROR_LEN, "the command line was not understood; see --help");
		return EX_USAGE;
	}
	if (line.status || options->is_list)
		return line.status;
	mistake = find_mistake(options);
	if (mistake)
		snprintf(error, OPTIONS_ERROR_LEN, "%s", mistake);
	return mistake ? EX_USAGE : 0;
}
