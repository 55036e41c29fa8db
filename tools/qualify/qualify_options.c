/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/qualify_options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "drivers/units.h"
#include "recorder/values.h"
#include "recorder/version.h"

#define DEFAULT_RING (UINT64_C(256) << 20)
#define DEFAULT_HORIZON (INT64_C(3600) * UNITS_NS_PER_S)
#define DEFAULT_RHO_PASS 0.80
#define DEFAULT_RHO_FAIL 0.95

enum {
	KEY_RING = 256,
	KEY_BLOCK,
	KEY_DEPTH,
	KEY_STRIPE,
	KEY_IO,
	KEY_ENGINE,
	KEY_QUICK,
	KEY_SOAK,
	KEY_WHOLE_DISK,
	KEY_TIME,
	KEY_PHASE,
	KEY_LIST,
	KEY_SOURCE,
	KEY_INTERFERE,
	KEY_REPEAT,
	KEY_SCRATCH,
	KEY_READ_DEVICE,
	KEY_DESTROY,
	KEY_SERIAL,
	KEY_FORCE,
	KEY_SAME_DEVICE,
	KEY_RHO_PASS,
	KEY_RHO_FAIL,
	KEY_JSON,
	KEY_HTML,
	KEY_BASELINE,
	KEY_LIVE,
};

static int set_rate(struct qualify_options *o, const char *value)
{
	int ret;

	if (strcmp(value, "auto") == 0) {
		o->asked.is_rate_auto = true;
		o->asked.rate_bps = 0;
		return 0;
	}
	ret = units_parse_rate(value, &o->asked.rate_bps);
	if (ret == 0)
		o->asked.is_rate_auto = false;
	return ret;
}

static int set_horizon(struct qualify_options *o, const char *value)
{
	return values_time(value, &o->asked.horizon_ns);
}

static int set_ring(struct qualify_options *o, const char *value)
{
	return values_bytes(value, &o->asked.ring_bytes);
}

static int set_block(struct qualify_options *o, const char *value)
{
	return values_bytes(value, &o->asked.block_bytes);
}

static int set_depth(struct qualify_options *o, const char *value)
{
	return values_count(value, 1, ENGINE_DEPTH_MAX, &o->asked.depth);
}

static int set_stripe(struct qualify_options *o, const char *value)
{
	int index = values_pick(value, "any|round");

	if (index >= 0)
		o->asked.stripe = (enum stripe_policy)index;
	return index < 0 ? index : 0;
}

static int set_io(struct qualify_options *o, const char *value)
{
	int index = values_pick(value, "buffered|direct");

	if (index >= 0)
		o->asked.use_direct = index == 1;
	return index < 0 ? index : 0;
}

static int set_engine(struct qualify_options *o, const char *value)
{
	int index = values_pick(value, "auto|io_uring|pwrite");

	if (index >= 0)
		o->engine = (enum engine_kind)index;
	return index < 0 ? index : 0;
}

/* How long it is to take is said once. */
static int set_length(struct qualify_options *o, enum trial_length length)
{
	if (o->asked.length != TRIAL_NORMAL && o->asked.length != length)
		return -EBUSY;
	o->asked.length = length;
	return 0;
}

static int set_quick(struct qualify_options *o, const char *value)
{
	(void)value;
	return set_length(o, TRIAL_QUICK);
}

static int set_whole_disk(struct qualify_options *o, const char *value)
{
	(void)value;
	return set_length(o, TRIAL_WHOLE_DISK);
}

static int set_soak(struct qualify_options *o, const char *value)
{
	int ret = values_time(value, &o->asked.paced_ns);

	return ret < 0 ? ret : set_length(o, TRIAL_SOAK);
}

static int set_time(struct qualify_options *o, const char *value)
{
	if (o->asked.length == TRIAL_SOAK)
		return -EBUSY;
	return values_time(value, &o->asked.paced_ns);
}

static int set_phase(struct qualify_options *o, const char *value)
{
	for (unsigned phase = 0; phase < PHASE_COUNT; phase++) {
		if (strcmp(value, trial_phase_name((enum trial_phase)phase)) != 0)
			continue;
		o->only |= 1U << phase;
		return 0;
	}
	return -EINVAL;
}

static int set_list(struct qualify_options *o, const char *value)
{
	(void)value;
	o->is_list = true;
	return 0;
}

static int set_source(struct qualify_options *o, const char *value)
{
	o->asked.source = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_interfere(struct qualify_options *o, const char *value)
{
	(void)value;
	o->asked.has_interference = true;
	return 0;
}

static int set_repeat(struct qualify_options *o, const char *value)
{
	return values_count(value, 1, QUALIFY_REPEATS_MAX, &o->paced_count);
}

static int set_scratch(struct qualify_options *o, const char *value)
{
	return values_bytes(value, &o->asked.scratch_bytes);
}

static int set_read_device(struct qualify_options *o, const char *value)
{
	(void)value;
	o->is_device_read = true;
	return 0;
}

static int set_destroy(struct qualify_options *o, const char *value)
{
	(void)value;
	o->is_destruction = true;
	return 0;
}

static int set_serial(struct qualify_options *o, const char *value)
{
	o->serial = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_force(struct qualify_options *o, const char *value)
{
	(void)value;
	o->use_force = true;
	return 0;
}

static int set_same_device(struct qualify_options *o, const char *value)
{
	(void)value;
	o->allow_same_device = true;
	return 0;
}

static int set_rho_pass(struct qualify_options *o, const char *value)
{
	return values_share(value, &o->asked.rho_pass);
}

static int set_rho_fail(struct qualify_options *o, const char *value)
{
	return values_share(value, &o->asked.rho_fail);
}

static int set_json(struct qualify_options *o, const char *value)
{
	o->json = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_html(struct qualify_options *o, const char *value)
{
	o->html = value;
	return value[0] && strcmp(value, "-") != 0 ? 0 : -EINVAL;
}

static int set_baseline(struct qualify_options *o, const char *value)
{
	o->baseline = value;
	return value[0] ? 0 : -EINVAL;
}

static int set_live(struct qualify_options *o, const char *value)
{
	int index = values_pick(value, "auto|line|log|none");

	if (index >= 0)
		o->live = (enum live_mode)index;
	return index < 0 ? index : 0;
}

static int set_quiet(struct qualify_options *o, const char *value)
{
	(void)value;
	o->is_quiet = true;
	return 0;
}

static const struct row {
	const char *name;
	int key;
	const char *arg; /* NULL = none */
	const char *help;
	/* 0, -EINVAL, -ERANGE; -EBUSY: another option has said so already */
	int (*set)(struct qualify_options *options, const char *value);
} rows[] = {
	{ "rate", 'r', "RATE|auto",
	  "the rate that the disks are to carry; bare number = Mbit/s. auto (default): the highest one that passes",
	  set_rate },
	{ "horizon", 'H', "TIME", "so long are the recordings to be; default 1h", set_horizon },
	{ "ring", KEY_RING, "SIZE",
	  "memory between source and disks of such a recording; default 256Mi", set_ring },
	{ "block", KEY_BLOCK, "SIZE", "unit of reading and writing; default as vsib-record chooses",
	  set_block },
	{ "depth", KEY_DEPTH, "N", "writes in flight on each disk; default as vsib-record chooses",
	  set_depth },
	{ "stripe", KEY_STRIPE, "any|round",
	  "several disks: the next free one takes the next unit (default), or strict turn", set_stripe },
	{ "io", KEY_IO, "direct|buffered",
	  "write past the page cache (default), or through it: judged with its sync", set_io },
	{ "engine", KEY_ENGINE, "auto|io_uring|pwrite", "how writes are made, as of vsib-record",
	  set_engine },
	{ "quick", KEY_QUICK, NULL, "about 90 s instead of 12 minutes", set_quick },
	{ "soak", KEY_SOAK, "TIME", "the paced run takes so long: a night", set_soak },
	{ "whole-disk", KEY_WHOLE_DISK, NULL,
	  "write, and read again, all the free space but the reserve: finds fake capacity and slow zones",
	  set_whole_disk },
	{ "time", KEY_TIME, "TIME", "of the paced run; the rest as it is", set_time },
	{ "phase", KEY_PHASE, "NAME",
	  "only this phase, and what it needs; may be given often, see --list-phases", set_phase },
	{ "list-phases", KEY_LIST, NULL, "print the phases in their order and end", set_list },
	{ "source", KEY_SOURCE, "SOURCE",
	  "one more run from the real source, as vsib-record -s names it: do both share a bus?",
	  set_source },
	{ "interfere", KEY_INTERFERE, NULL,
	  "one more run beside 5 % of random I/O by another program", set_interfere },
	{ "repeat", KEY_REPEAT, "N", "so many paced runs, which should not differ much", set_repeat },
	{ "scratch", KEY_SCRATCH, "SIZE",
	  "take at most so much of a disk at a time; default all its free space but the reserve (2 %, at most 1 GiB)",
	  set_scratch },
	{ "read-device", KEY_READ_DEVICE, NULL,
	  "also read the disk below a directory over its whole length (needs the right to read it)",
	  set_read_device },
	{ "destroy", KEY_DESTROY, NULL,
	  "a block device as target is written to; only with --device-serial, and if it is not in use",
	  set_destroy },
	{ "device-serial", KEY_SERIAL, "SERIAL", "of the device that --destroy is meant for",
	  set_serial },
	{ "force", KEY_FORCE, NULL,
	  "with --destroy: in spite of a file system, a partition or another signature on it",
	  set_force },
	{ "allow-same-device", KEY_SAME_DEVICE, NULL,
	  "targets may share a device, or lie on the root file system", set_same_device },
	{ "rho-pass", KEY_RHO_PASS, "SHARE",
	  "PASS up to this share of what the disks can do; default 0.80", set_rho_pass },
	{ "rho-fail", KEY_RHO_FAIL, "SHARE", "FAIL from this share on; default 0.95", set_rho_fail },
	{ "json", KEY_JSON, "FILE|-", "write the report as JSON (vsib-qualify/1)", set_json },
	{ "html", KEY_HTML, "FILE", "write the report as one HTML file, with its curves", set_html },
	{ "baseline", KEY_BASELINE, "FILE",
	  "show beside it a former run of the same disks, from its JSON report", set_baseline },
	{ "live", KEY_LIVE, "auto|line|log|none",
	  "a live line, a key=value line every 10 s and for each phase, or neither", set_live },
	{ "quiet", 'q', NULL, "say only the verdict, in one line", set_quiet },
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

struct command_line {
	struct qualify_options *options;
	char *error;
	int status;
};

static void set_row(struct command_line *line, const struct row *row, const char *value)
{
	int ret = row->set(line->options, value);

	if (ret == 0 || line->status)
		return;
	line->status = EX_USAGE;
	if (ret == -EBUSY)
		snprintf(line->error, OPTIONS_ERROR_LEN,
			 "--%s: only one of --quick, --soak and --whole-disk, and no --time with --soak, which says the time itself",
			 row->name);
	else
		snprintf(line->error, OPTIONS_ERROR_LEN, "--%s '%.200s': %s; expected %s%s", row->name,
			 value, ret == -ERANGE ? "out of range" : "not understood", row->arg,
			 row->key == KEY_PHASE ? ", one that --list-phases prints" :
			 row->key == 'r'       ? values_describe("RATE") :
						 values_describe(row->arg));
}

static void add_target(struct command_line *line, const char *text)
{
	struct qualify_options *o = line->options;

	if (o->target_count < TARGET_MAX) {
		o->targets[o->target_count++] = text;
	} else if (!line->status) {
		line->status = EX_USAGE;
		snprintf(line->error, OPTIONS_ERROR_LEN,
			 "'%.200s': there are %d targets already, and more are not possible", text,
			 TARGET_MAX);
	}
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;

	if (key == ARGP_KEY_ARG) {
		add_target(line, arg);
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
static const char *find_mistake(const struct qualify_options *o)
{
	const struct trial_asked *asked = &o->asked;

	if (o->target_count == 0)
		return "no target given: a directory on each disk, or a block device";
	if (o->is_destruction && !o->serial)
		return "--destroy needs --device-serial: the serial number of the device that may lose everything";
	if (o->serial && !o->is_destruction)
		return "--device-serial goes with --destroy";
	if (o->use_force && !o->is_destruction)
		return "--force goes with --destroy";
	if (o->is_destruction && o->target_count > 1)
		return "--destroy takes one device at a time";
	if (asked->rho_pass > asked->rho_fail)
		return "--rho-pass is to be less than --rho-fail";
	if (o->json && o->html && strcmp(o->json, o->html) == 0)
		return "--json and --html name the same file";
	if ((o->only & (1U << PHASE_SOURCE)) && !asked->source)
		return "--phase source needs --source";
	return NULL;
}

/* --source and --interfere ask for their phases, and --phase interfere for what it is about. */
static void add_phases(struct qualify_options *o)
{
	if (o->only && o->asked.source)
		o->only |= 1U << PHASE_SOURCE;
	if (o->only && o->asked.has_interference)
		o->only |= 1U << PHASE_INTERFERE;
	if (o->only & (1U << PHASE_INTERFERE))
		o->asked.has_interference = true;
}

void qualify_options_defaults(struct qualify_options *options)
{
	memset(options, 0, sizeof(*options));
	options->asked.is_rate_auto = true;
	options->asked.horizon_ns = DEFAULT_HORIZON;
	options->asked.ring_bytes = DEFAULT_RING;
	options->asked.use_direct = true;
	options->asked.length = TRIAL_NORMAL;
	options->asked.rho_pass = DEFAULT_RHO_PASS;
	options->asked.rho_fail = DEFAULT_RHO_FAIL;
	options->paced_count = 1;
}

int qualify_options_parse(struct qualify_options *options, int argc, char **argv, char *error)
{
	struct argp argp = {
		.options = argp_rows(),
		.parser = take_option,
		.args_doc = "TARGET...",
		.doc = "Can these disks carry this rate, for this long, with this ring? Records from the simulator to them, as vsib-record does, and gives a verdict with reasons. "
		       "TARGET: a directory on the disk, where nothing is left behind; or a block device, which is only read.\v"
		       "Rates: 512 = 512 Mbit/s, 1.6G, 64MB/s. Sizes: 4096, 64Ki, 1.5G. Times: 90, 30s, 1h30m.\n"
		       "Exit status: 0 PASS, 1 MARGINAL, 2 FAIL, 3 INCONCLUSIVE; 64 usage, 66 no such source or former report, 73 can't use a target or create a report, 74 I/O, 77 permission or refused, 78 configuration.",
	};
	struct command_line line = { .options = options, .error = error };
	const char *mistake;

	argp_program_version = "vsib-qualify " VSIB_VERSION;
	argp_err_exit_status = EX_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &line) != 0) {
		snprintf(error, OPTIONS_ERROR_LEN, "the command line was not understood; see --help");
		return EX_USAGE;
	}
	if (line.status || options->is_list)
		return line.status;
	add_phases(options);
	mistake = find_mistake(options);
	if (mistake)
		snprintf(error, OPTIONS_ERROR_LEN, "%s", mistake);
	return mistake ? EX_USAGE : 0;
}
