/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/sim_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "drivers/units.h"
#include "recorder/values.h"
#include "recorder/version.h"
#include "tools/option_rows.h"
#include "tools/replay/player.h"

#define LOG_INTERVAL (INT64_C(10) * UNITS_NS_PER_S)
#define PPM_MAX 100000
#define BURST_MAX 65536
#define BITS_MAX 32
#define CHANNELS_MAX (1U << 31)
#define THREADS_MAX 1024
#define SPLIT_LEN 64

static int set_destination(void *options, const char *value)
{
	struct sim_options *o = options;

	if (o->destination)
		return -EBUSY;
	o->destination = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_rate(void *options, const char *value)
{
	struct sim_options *o = options;

	return units_parse_rate(value, &o->rate_bps);
}

static int set_duration(void *options, const char *value)
{
	struct sim_options *o = options;

	return values_time(value, &o->duration_ns);
}

static int set_bytes(void *options, const char *value)
{
	struct sim_options *o = options;

	return values_bytes(value, &o->bytes);
}

static int set_format(void *options, const char *value)
{
	struct sim_options *o = options;
	int index = values_pick(value, "raw|vdif|mark5b");

	if (index >= 0)
		o->format = (enum made_format)index;
	return index < 0 ? index : 0;
}

static int set_frame(void *options, const char *value)
{
	struct sim_options *o = options;
	uint64_t bytes;
	int ret = values_bytes(value, &bytes);

	if (ret == 0 && bytes > MADE_FRAME_BYTES_MAX)
		ret = -ERANGE;
	if (ret == 0)
		o->frame_bytes = (uint32_t)bytes;
	return ret;
}

static int set_threads(void *options, const char *value)
{
	struct sim_options *o = options;

	return values_count(value, 1, THREADS_MAX, &o->thread_count);
}

static int set_station(void *options, const char *value)
{
	struct sim_options *o = options;
	uint16_t station;

	o->station = value;
	return vdif_station_of(value, &station) ? 0 : -EINVAL;
}

static int set_bits(void *options, const char *value)
{
	struct sim_options *o = options;

	return values_count(value, 1, BITS_MAX, &o->bits);
}

static int set_channels(void *options, const char *value)
{
	struct sim_options *o = options;
	int ret = values_count(value, 1, CHANNELS_MAX, &o->channels);

	return ret == 0 && (o->channels & (o->channels - 1)) != 0 ? -EINVAL : ret;
}

static int set_edv(void *options, const char *value)
{
	struct sim_options *o = options;
	static const int versions[] = { VDIF_EDV_NONE, VDIF_EDV_NICT, VDIF_EDV_VLBA };
	int index = values_pick(value, "0|1|3");

	if (index >= 0)
		o->edv = versions[index];
	return index < 0 ? index : 0;
}

static int set_start(void *options, const char *value)
{
	struct sim_options *o = options;

	o->is_start_now = strcmp(value, "now") == 0;
	return o->is_start_now ? 0 : units_parse_utc(value, &o->start_utc_ns);
}

static int set_seed(void *options, const char *value)
{
	struct sim_options *o = options;

	return units_parse_count(value, &o->seed);
}

/* A number with a sign, which no other option has; in millionths, which the parser of sizes reads. */
static int set_ppm(void *options, const char *value)
{
	struct sim_options *o = options;
	bool is_slow = value[0] == '-';
	char millionths[SPLIT_LEN];
	uint64_t number;
	int ret;

	if ((size_t)snprintf(millionths, sizeof(millionths), "%sM",
			     value + (is_slow || value[0] == '+')) >= sizeof(millionths))
		return -EINVAL;
	ret = units_parse_bytes(millionths, &number);
	if (ret < 0)
		return ret;
	o->ppm = (double)number / (is_slow ? -1e6 : 1e6);
	return number <= PPM_MAX * UINT64_C(1000000) ? 0 : -ERANGE;
}

/* Here a share may be 0: a script counts from there. */
static int take_share(const char *value, double *share)
{
	if (strcmp(value, "0") != 0)
		return values_share(value, share);
	*share = 0;
	return 0;
}

static int set_loss(void *options, const char *value)
{
	struct sim_options *o = options;

	return take_share(value, &o->faults.loss);
}

static int set_duplicate(void *options, const char *value)
{
	struct sim_options *o = options;

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

static int set_reorder(void *options, const char *value)
{
	struct sim_options *o = options;
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

static int set_jitter(void *options, const char *value)
{
	struct sim_options *o = options;

	return values_time(value, &o->faults.jitter_ns);
}

static int set_stall(void *options, const char *value)
{
	struct sim_options *o = options;
	char length[SPLIT_LEN];
	const char *every = split(value, length);
	int ret = every ? values_time(length, &o->faults.stall_ns) : -EINVAL;

	return ret < 0 ? ret : values_time(every, &o->faults.stall_every_ns);
}

static int set_pace(void *options, const char *value)
{
	struct sim_options *o = options;
	int index = values_pick(value, "none|sleep|precise");

	if (index >= 0)
		o->pace = (enum sim_pace)index;
	return index < 0 ? index : 0;
}

static int set_burst(void *options, const char *value)
{
	struct sim_options *o = options;

	return values_count(value, 1, BURST_MAX, &o->burst);
}

static int set_ring(void *options, const char *value)
{
	struct sim_options *o = options;

	return values_bytes(value, &o->ring_bytes);
}

static int set_force(void *options, const char *value)
{
	struct sim_options *o = options;

	(void)value;
	o->use_force = true;
	return 0;
}

static int set_json(void *options, const char *value)
{
	struct sim_options *o = options;

	o->json = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_live(void *options, const char *value)
{
	struct sim_options *o = options;
	int index = values_pick(value, "auto|line|log|none");

	if (index >= 0)
		o->live = (enum live_mode)index;
	return index < 0 ? index : 0;
}

static int set_log_interval(void *options, const char *value)
{
	struct sim_options *o = options;

	return values_time(value, &o->log_interval_ns);
}

static int set_list(void *options, const char *value)
{
	struct sim_options *o = options;

	(void)value;
	o->is_list = true;
	return 0;
}

static const struct option_row rows[] = {
	{ "to", 't', "DEST", "where to; --list-destinations says what there is", set_destination,
	  "there is one destination", NULL },
	{ "rate", 'r', "RATE",
	  "of the samples, without headers; bare number = Mbit/s. Without: as fast as possible, --format raw only",
	  set_rate, NULL, NULL },
	{ "duration", 'd', "TIME", "so long: 90, 30s, 10m, 1h30m", set_duration, NULL, NULL },
	{ "bytes", 'n', "BYTES", "so many bytes, rounded down to whole frames: 64Mi, 2G", set_bytes,
	  NULL, NULL },
	{ "format", OPTION_ROWS_LONG, "raw|vdif|mark5b",
	  "the pattern as it is (default), or in frames with time codes", set_format, NULL, NULL },
	{ "frame", OPTION_ROWS_LONG, "SIZE",
	  "of a frame with its header; raw: of a datagram. Default 8032 with vdif, 10016 with mark5b, 8000 with raw, or what the destination says",
	  set_frame, NULL, NULL },
	{ "threads", OPTION_ROWS_LONG, "N", "VDIF: threads, which take turns; default 1",
	  set_threads, NULL, NULL },
	{ "station", OPTION_ROWS_LONG, "XX", "VDIF: two letters, or a number; default VS",
	  set_station, NULL, ": two letters or a number, such as Ef or 0xfffc" },
	{ "bits", OPTION_ROWS_LONG, "N", "VDIF: of a sample; default 2", set_bits, NULL, NULL },
	{ "channels", OPTION_ROWS_LONG, "N", "VDIF: in each thread, a power of two; default 1",
	  set_channels, NULL, ", a power of two" },
	{ "edv", OPTION_ROWS_LONG, "0|1|3",
	  "VDIF: extended data version; default 1, which tells the sample rate, or 0 where it can't be told",
	  set_edv, NULL, NULL },
	{ "start", OPTION_ROWS_LONG, "UTC|now",
	  "time code of the first frame, which goes out then; default: the next whole second",
	  set_start, NULL, ", such as 2026-11-30T08:15:00Z" },
	{ "seed", OPTION_ROWS_LONG, "N", "of the pattern and the faults; default 0", set_seed, NULL,
	  ", a whole number" },
	{ "ppm", OPTION_ROWS_LONG, "X", "the clock is so many millionths too fast, or with - too slow",
	  set_ppm, NULL, ", such as 3.5 or -20, at most 100000" },
	{ "loss", OPTION_ROWS_LONG, "SHARE", "so many of the frames or datagrams are lost: 0.001",
	  set_loss, NULL, NULL },
	{ "reorder", OPTION_ROWS_LONG, "SHARE[:N]",
	  "so many come behind N later ones; default 1, at most 64", set_reorder, NULL,
	  ", such as 0.01 or 0.01:8" },
	{ "duplicate", OPTION_ROWS_LONG, "SHARE", "so many come twice", set_duplicate, NULL, NULL },
	{ "jitter", OPTION_ROWS_LONG, "TIME", "each comes up to so much after its time", set_jitter,
	  NULL, NULL },
	{ "stall", OPTION_ROWS_LONG, "TIME:TIME",
	  "nothing comes for the first time, each second time: 200ms:5s", set_stall, NULL,
	  ", such as 200ms:5s" },
	{ "pace", OPTION_ROWS_LONG, "none|sleep|precise",
	  "keep the rate by sleeping (default), by spinning for the last 50 us, or not at all (default with file: and pcapfile:)",
	  set_pace, NULL, NULL },
	{ "burst", OPTION_ROWS_LONG, "N",
	  "who is late sends no more than so many datagrams back to back; default 32", set_burst,
	  NULL, NULL },
	{ "ring", OPTION_ROWS_LONG, "SIZE", "memory between making and sending; default 64Mi",
	  set_ring, NULL, NULL },
	{ "force", OPTION_ROWS_LONG, NULL, "an existing file may be written over", set_force, NULL,
	  NULL },
	{ "json", OPTION_ROWS_LONG, "FILE|-", "write the report as JSON (vsib-sim/1)", set_json,
	  NULL, NULL },
	{ "live", OPTION_ROWS_LONG, "auto|line|log|none",
	  "a live line, a log line every --log-interval, or neither", set_live, NULL, NULL },
	{ "log-interval", OPTION_ROWS_LONG, "TIME", "time between log lines; default 10s",
	  set_log_interval, NULL, NULL },
	{ "list-destinations", OPTION_ROWS_LONG, NULL, "print the kinds of destinations and end",
	  set_list, NULL, NULL },
};

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

static int refuse_argument(void *options, const char *text)
{
	(void)options;
	(void)text;
	return -EINVAL;
}

int sim_options_parse(struct sim_options *options, int argc, char **argv, char *error)
{
	static const struct option_rows table = {
		.rows = rows,
		.count = sizeof(rows) / sizeof(rows[0]),
		.version = "vsib-sim " VSIB_VERSION,
		.arguments_doc = "-t DEST",
		.doc = "The simulator: sends a pattern that tells its own position, as it is or in frames of VDIF or Mark5B with true time codes, "
		       "into a file, a FIFO, datagrams or a savefile; with faults on demand, which are counted.\v"
		       "Rates: 512 = 512 Mbit/s, 1.6G, 64MB/s. Sizes: 4096, 64Ki, 1.5G. Times: 90, 30s, 1h30m.\n"
		       "Exit status: 0 complete, 1 with underruns, 2 stopped early; 64 usage, 73 can't open the destination or create a report, 74 I/O, 77 permission, 78 configuration.",
		.add = refuse_argument,
		.full = "is no option; the destination stands behind -t",
	};
	const char *mistake;
	int status = option_rows_parse(&table, argc, argv, options, error);

	if (status || options->is_list)
		return status;
	mistake = find_mistake(options);
	if (mistake)
		snprintf(error, OPTIONS_ERROR_LEN, "%s", mistake);
	return mistake ? EX_USAGE : 0;
}
