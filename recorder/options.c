/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/config.h"
#include "recorder/version.h"

#define CHANNELS_MAX 65536
#define DEFAULT_RING (UINT64_C(256) << 20)
#define DEFAULT_SILENCE (INT64_C(10) * UNITS_NS_PER_S)
#define DEFAULT_DISK_TIMEOUT (INT64_C(10) * UNITS_NS_PER_S)

struct option_text {
	struct option_text *next;
	char text[];
};

struct option_row {
	const char *name; /* long option and configuration key */
	int key;          /* short option letter, or a number above 255 */
	const char *arg;  /* NULL = none: on the command line the option alone means "yes" */
	const char *help;
	int (*set)(struct options *options, const char *value); /* 0, -EINVAL, -ERANGE; -E2BIG: a target too many */
	bool is_list;
};

/* Keeps a copy for as long as the options live. */
static const char *keep(struct options *options, const char *value)
{
	struct option_text *text = malloc(sizeof(*text) + strlen(value) + 1);

	if (!text)
		return value; /* argv lives as long as we do; a configuration file's value is the only risk */
	strcpy(text->text, value);
	text->next = options->texts;
	options->texts = text;
	return text->text;
}

/* @words: "any|round" -> 0, 1 ...; -EINVAL when the value is none of them */
static int pick(const char *value, const char *words)
{
	size_t len = strlen(value);
	int index = 0;

	for (const char *word = words; word; index++) {
		const char *bar = strchr(word, '|');
		size_t word_len = bar ? (size_t)(bar - word) : strlen(word);

		if (word_len == len && strncmp(word, value, len) == 0)
			return index;
		word = bar ? bar + 1 : NULL;
	}
	return -EINVAL;
}

/* "no" and its like give 0, "yes" and its like 1 */
static int pick_truth(const char *value)
{
	int index = pick(value, "no|yes|false|true|off|on|0|1");

	return index < 0 ? index : index % 2;
}

static int set_truth(bool *truth, const char *value)
{
	int is_true = pick_truth(value);

	if (is_true >= 0)
		*truth = is_true;
	return is_true < 0 ? is_true : 0;
}

static int set_source(struct options *o, const char *value)
{
	o->session.source_name = keep(o, value);
	return 0;
}

static int set_target(struct options *o, const char *value)
{
	if (o->target_count == TARGET_MAX)
		return -E2BIG;
	o->targets[o->target_count++] = keep(o, value);
	return 0;
}

static int set_rate(struct options *o, const char *value)
{
	return units_parse_rate(value, &o->session.rate_bps);
}

static int positive_time(const char *value, int64_t *ns)
{
	int64_t time;
	int ret = units_parse_time(value, &time);

	if (ret == 0 && time == 0)
		ret = -EINVAL;
	if (ret == 0)
		*ns = time;
	return ret;
}

static int positive_bytes(const char *value, uint64_t *bytes)
{
	uint64_t size;
	int ret = units_parse_bytes(value, &size);

	if (ret == 0 && size == 0)
		ret = -EINVAL;
	if (ret == 0 && size > INT64_MAX)
		ret = -ERANGE;
	if (ret == 0)
		*bytes = size;
	return ret;
}

static int set_duration(struct options *o, const char *value)
{
	return positive_time(value, &o->session.duration_ns);
}

static int set_bytes(struct options *o, const char *value)
{
	return positive_bytes(value, &o->session.limit_bytes);
}

static int set_start(struct options *o, const char *value)
{
	return units_parse_utc(value, &o->session.start_utc_ns);
}

static int set_as_recorded(struct options *o, const char *value)
{
	return set_truth(&o->session.is_as_recorded, value);
}

static int set_name(struct options *o, const char *value)
{
	o->session.name = keep(o, value);
	return 0;
}

static int set_experiment(struct options *o, const char *value)
{
	o->scan.experiment = keep(o, value);
	return 0;
}

static int set_station(struct options *o, const char *value)
{
	o->scan.station = keep(o, value);
	return 0;
}

static int set_scan(struct options *o, const char *value)
{
	o->scan.scan = keep(o, value);
	return 0;
}

static int set_layout(struct options *o, const char *value)
{
	int index = pick(value, "raw|vbs|mark6|pcap");

	if (index >= 0)
		o->session.layout = (enum layout_kind)index;
	o->is_layout_given = index >= 0;
	return index < 0 ? index : 0;
}

static int set_template(struct options *o, const char *value)
{
	o->session.name_template = keep(o, value);
	return 0;
}

static int set_file_size(struct options *o, const char *value)
{
	return positive_bytes(value, &o->session.file_bytes);
}

static int set_chunk(struct options *o, const char *value)
{
	return positive_bytes(value, &o->session.chunk_bytes);
}

static int set_packet_format(struct options *o, const char *value)
{
	int index = pick(value, "vdif|mark5b|unknown");

	if (index >= 0)
		o->session.packet_format = (enum mark6_format)index;
	return index < 0 ? index : 0;
}

static int set_packet_size(struct options *o, const char *value)
{
	return positive_bytes(value, &o->session.packet_bytes);
}

static int set_stripe(struct options *o, const char *value)
{
	int index = pick(value, "any|round");

	if (index >= 0)
		o->session.stripe = (enum stripe_policy)index;
	return index < 0 ? index : 0;
}

static int set_unit(struct options *o, const char *value)
{
	return positive_bytes(value, &o->session.unit_bytes);
}

static int set_ring(struct options *o, const char *value)
{
	int ret = positive_bytes(value, &o->session.ring_bytes);

	o->is_ring_given = o->is_ring_given || ret == 0;
	return ret;
}

static int set_block(struct options *o, const char *value)
{
	return positive_bytes(value, &o->session.block_bytes);
}

static int set_io(struct options *o, const char *value)
{
	int index = pick(value, "buffered|direct");

	if (index >= 0)
		o->session.use_direct = index == 1;
	return index < 0 ? index : 0;
}

static int set_engine(struct options *o, const char *value)
{
	int index = pick(value, "auto|io_uring|pwrite");

	if (index >= 0)
		o->session.engine = (enum engine_kind)index;
	return index < 0 ? index : 0;
}

static int set_copies(struct options *o, const char *value)
{
	int index = pick(value, "1|2");

	if (index >= 0)
		o->session.copies = (unsigned)index + 1;
	return index < 0 ? index : 0;
}

static int set_depth(struct options *o, const char *value)
{
	uint64_t depth;
	int ret = units_parse_count(value, &depth);

	if (ret < 0)
		return ret;
	if (depth < 1 || depth > ENGINE_DEPTH_MAX)
		return -ERANGE;
	o->session.depth = (unsigned)depth;
	return 0;
}

static int set_disk_timeout(struct options *o, const char *value)
{
	return units_parse_time(value, &o->session.disk_timeout_ns);
}

static int set_on_overflow(struct options *o, const char *value)
{
	int index = pick(value, "auto|drop|wait|stop");

	if (index >= 0)
		o->session.on_overflow = (enum overflow_policy)index;
	return index < 0 ? index : 0;
}

static int set_fill(struct options *o, const char *value)
{
	int index = pick(value, "none|pattern|vdif-invalid");

	if (index >= 0)
		o->session.fill = (enum fill_policy)index;
	return index < 0 ? index : 0;
}

static int set_checksum(struct options *o, const char *value)
{
	int index = pick(value, "none|xxh3");

	if (index >= 0)
		o->session.use_checksums = index == 1;
	return index < 0 ? index : 0;
}

static int set_journal(struct options *o, const char *value)
{
	return set_truth(&o->session.use_journal, value);
}

static int set_allow_same_device(struct options *o, const char *value)
{
	return set_truth(&o->session.allow_same_device, value);
}

static int set_parity(struct options *o, const char *value)
{
	return set_truth(&o->session.use_parity, value);
}

static int set_sigmf(struct options *o, const char *value)
{
	return set_truth(&o->session.metadata.use_sigmf, value);
}

static int set_vbs_cfg(struct options *o, const char *value)
{
	return set_truth(&o->session.metadata.use_vbs_cfg, value);
}

/* "yes", "no", or a file of keys; a file of that name is ./yes. */
static int set_dada_header(struct options *o, const char *value)
{
	struct metadata_config *metadata = &o->session.metadata;

	metadata->dada_file = NULL;
	if (set_truth(&metadata->use_dada, value) == 0)
		return 0;
	metadata->dada_file = keep(o, value);
	metadata->use_dada = true;
	return value[0] ? 0 : -EINVAL;
}

static int set_sample_format(struct options *o, const char *value)
{
	return sigmf_parse_format(&o->session.metadata.words.format, value);
}

static int set_channels(struct options *o, const char *value)
{
	uint64_t channels;
	int ret = units_parse_count(value, &channels);

	if (ret == 0 && channels == 0)
		ret = -EINVAL;
	if (ret == 0 && channels > CHANNELS_MAX)
		ret = -ERANGE;
	if (ret == 0)
		o->session.metadata.words.channels = (unsigned)channels;
	return ret;
}

static int set_frequency(struct options *o, const char *value)
{
	return units_parse_frequency(value, &o->session.metadata.words.frequency_hz);
}

/* JSON is UTF-8, and so must be what stands in it. */
static int set_words(struct options *o, const char **words, const char *value)
{
	if (!layout_is_utf8(value))
		return -EINVAL;
	*words = keep(o, value);
	return 0;
}

static int set_author(struct options *o, const char *value)
{
	return set_words(o, &o->session.metadata.words.author, value);
}

static int set_description(struct options *o, const char *value)
{
	return set_words(o, &o->session.metadata.words.description, value);
}

static int set_hardware(struct options *o, const char *value)
{
	return set_words(o, &o->session.metadata.words.hardware, value);
}

static int set_force(struct options *o, const char *value)
{
	return set_truth(&o->session.use_force, value);
}

static int set_lock(struct options *o, const char *value)
{
	return set_truth(&o->session.use_lock, value);
}

static int set_huge_pages(struct options *o, const char *value)
{
	int index = pick(value, "no|try|require");

	if (index < 0)
		return index;
	o->session.use_huge_pages = index > 0;
	o->session.require_huge_pages = index == 2;
	return 0;
}

static int set_numa_node(struct options *o, const char *value)
{
	uint64_t node;
	int ret = units_parse_count(value, &node);

	if (strcmp(value, "auto") == 0) {
		o->session.numa_node = MEMORY_ANY_NODE;
		return 0;
	}
	if (ret == 0 && node > 1023)
		ret = -ERANGE;
	if (ret == 0)
		o->session.numa_node = (int)node;
	return ret;
}

static int set_silence(struct options *o, const char *value)
{
	return units_parse_time(value, &o->session.silence_ns);
}

static int set_json(struct options *o, const char *value)
{
	o->json = keep(o, value);
	return 0;
}

static int set_live(struct options *o, const char *value)
{
	int index = pick(value, "auto|line|log|none");

	if (index >= 0)
		o->live = (enum live_mode)index;
	return index < 0 ? index : 0;
}

static int set_log_interval(struct options *o, const char *value)
{
	return positive_time(value, &o->log_interval_ns);
}

static int set_config(struct options *o, const char *value)
{
	o->config = keep(o, value);
	return 0;
}

enum {
	KEY_NAME = 256,
	KEY_EXPERIMENT,
	KEY_STATION,
	KEY_SCAN,
	KEY_UNIT,
	KEY_LAYOUT,
	KEY_TEMPLATE,
	KEY_FILE_SIZE,
	KEY_CHUNK,
	KEY_PACKET_FORMAT,
	KEY_PACKET_SIZE,
	KEY_STRIPE,
	KEY_COPIES,
	KEY_PARITY,
	KEY_RING,
	KEY_BLOCK,
	KEY_IO,
	KEY_ENGINE,
	KEY_DEPTH,
	KEY_DISK_TIMEOUT,
	KEY_ON_OVERFLOW,
	KEY_FILL,
	KEY_CHECKSUM,
	KEY_JOURNAL,
	KEY_SIGMF,
	KEY_SAMPLE_FORMAT,
	KEY_CHANNELS,
	KEY_FREQUENCY,
	KEY_AUTHOR,
	KEY_DESCRIPTION,
	KEY_HARDWARE,
	KEY_DADA,
	KEY_VBS_CFG,
	KEY_SAME_DEVICE,
	KEY_FORCE,
	KEY_START,
	KEY_AS_RECORDED,
	KEY_LOCK,
	KEY_HUGE,
	KEY_NODE,
	KEY_SILENCE,
	KEY_JSON,
	KEY_LIVE,
	KEY_LOG_INTERVAL,
	KEY_CONFIG,
};

static const struct option_row rows[] = {
	{ "source", 's', "SOURCE", "where the stream comes from, see below", set_source, false },
	{ "target", 'o', "TARGET",
	  "a directory to record to (once for each disk), null: for none, - for stdout", set_target,
	  true },
	{ "rate", 'r', "RATE",
	  "rate of the stream; bare number = Mbit/s. Paces sim:, file: and pcapfile:, is a check for devices",
	  set_rate, false },
	{ "duration", 'd', "TIME", "record for so long: 90, 30s, 10m, 1h30m", set_duration, false },
	{ "bytes", 'n', "BYTES", "record so many bytes of the stream: 64Mi, 2G", set_bytes, false },
	{ "start", KEY_START, "UTC", "start at this moment: 2026-11-30T08:15:00Z", set_start, false },
	{ "as-recorded", KEY_AS_RECORDED, NULL,
	  "at the data's own time stamps, as they were captured: pcapfile:", set_as_recorded, false },
	{ "name", KEY_NAME, "NAME", "name of the recording; default vsib_ and the UTC start",
	  set_name, false },
	{ "exp", KEY_EXPERIMENT, "EXP",
	  "with --station and --scan: the name is EXP_STN_SCAN, as a VEX file spells it",
	  set_experiment, false },
	{ "station", KEY_STATION, "STN", "the station in that name", set_station, false },
	{ "scan", KEY_SCAN, "SCAN", "the scan in that name; of a repeated one a letter behind it",
	  set_scan, false },
	{ "layout", KEY_LAYOUT, "raw|vbs|mark6|pcap",
	  "files as the stream's bytes, FlexBuff chunks (default with several targets), Mark6 scatter-gather files, or savefiles of whole packets",
	  set_layout, false },
	{ "template", KEY_TEMPLATE, "NAME",
	  "layouts raw and pcap: file name with one %d or %0Nd for the file number; mark6: the files' name",
	  set_template, false },
	{ "file-size", KEY_FILE_SIZE, "SIZE", "layouts raw and pcap: begin a new file at this size",
	  set_file_size, false },
	{ "chunk", KEY_CHUNK, "SIZE",
	  "layout vbs: size of a chunk; default ring/(4 x disks), at most 256Mi", set_chunk, false },
	{ "packet-format", KEY_PACKET_FORMAT, "vdif|mark5b|unknown",
	  "layout mark6: what the stream's packets are (default vdif)", set_packet_format, false },
	{ "packet-size", KEY_PACKET_SIZE, "BYTES",
	  "layout mark6, and --vbs-cfg: bytes of a packet; default the source's frame",
	  set_packet_size, false },
	{ "stripe", KEY_STRIPE, "any|round",
	  "the next free disk takes the next unit (default), or strict turn", set_stripe, false },
	{ "unit", KEY_UNIT, "SIZE",
	  "stripe round, layout raw: bytes to each target in turn; default a block", set_unit, false },
	{ "copies", KEY_COPIES, "1|2",
	  "2: everything on two different disks; the loss of any one loses nothing", set_copies, false },
	{ "parity", KEY_PARITY, NULL,
	  "the last target gets the XOR of the others, which take turns by blocks: any one may be lost",
	  set_parity, false },
	{ "ring", KEY_RING, "SIZE", "memory between source and disks; default 256Mi, or what fits",
	  set_ring, false },
	{ "block", KEY_BLOCK, "SIZE",
	  "unit of reading and writing; default 2Mi, less in a small ring", set_block, false },
	{ "io", KEY_IO, "direct|buffered",
	  "write past the page cache (default), or through it with bounded dirty memory", set_io,
	  false },
	{ "engine", KEY_ENGINE, "auto|io_uring|pwrite",
	  "how writes are made: auto takes threads with pwrite() where io_uring is refused",
	  set_engine, false },
	{ "depth", KEY_DEPTH, "N", "writes in flight on each disk; default 16Mi of them, 2 to 32",
	  set_depth, false },
	{ "disk-timeout", KEY_DISK_TIMEOUT, "TIME",
	  "a disk that does not move for so long is left, while others can take over; default 10s, 0 = never",
	  set_disk_timeout, false },
	{ "on-overflow", KEY_ON_OVERFLOW, "auto|drop|wait|stop",
	  "full ring: drop and count, let the source wait, or stop; auto = by the kind of source",
	  set_on_overflow, false },
	{ "fill", KEY_FILL, "none|pattern|vdif-invalid",
	  "what is recorded in place of what the source lost: nothing (default), the fill pattern, or invalid VDIF frames",
	  set_fill, false },
	{ "checksum", KEY_CHECKSUM, "xxh3|none",
	  "checksums of all data in the journal (default xxh3)", set_checksum, false },
	{ "journal", KEY_JOURNAL, "yes|no", "keep NAME.vsib.jsonl beside the data (default yes)",
	  set_journal, false },
	{ "sigmf", KEY_SIGMF, NULL, "layout raw: write FILE.sigmf-meta beside each data file",
	  set_sigmf, false },
	{ "sample-format", KEY_SAMPLE_FORMAT, "FORMAT",
	  "a sample, as SigMF names it: ci8, ri16_le ...; raw (default): described as bytes",
	  set_sample_format, false },
	{ "channels", KEY_CHANNELS, "N", "samples of so many channels in turn (SigMF); default 1",
	  set_channels, false },
	{ "frequency", KEY_FREQUENCY, "HZ", "centre frequency (SigMF): 1420.4M", set_frequency, false },
	{ "author", KEY_AUTHOR, "TEXT", "who records (SigMF)", set_author, false },
	{ "description", KEY_DESCRIPTION, "TEXT", "what is recorded (SigMF)", set_description, false },
	{ "hardware", KEY_HARDWARE, "TEXT", "what it is received with (SigMF)", set_hardware, false },
	{ "dada-header", KEY_DADA, "FILE",
	  "layout raw: a DADA header of 4096 bytes in front of each file's data, with the keys of FILE",
	  set_dada_header, false },
	{ "vbs-cfg", KEY_VBS_CFG, NULL,
	  "layout vbs: write NAME/NAME.cfg for vlbi-streamer's readers", set_vbs_cfg, false },
	{ "allow-same-device", KEY_SAME_DEVICE, NULL,
	  "targets may share a device, or lie on the root file system", set_allow_same_device, false },
	{ "force", KEY_FORCE, NULL, "remove an existing recording of this name first", set_force, false },
	{ "lock", KEY_LOCK, "yes|no", "lock the ring in memory (default yes)", set_lock, false },
	{ "huge-pages", KEY_HUGE, "try|require|no", "huge pages for the ring (default try)",
	  set_huge_pages, false },
	{ "numa-node", KEY_NODE, "N|auto", "NUMA node of the ring; default the source device's",
	  set_numa_node, false },
	{ "silence", KEY_SILENCE, "TIME",
	  "say so when the source is silent for so long; default 10s, 0 = never", set_silence, false },
	{ "json", KEY_JSON, "FILE|-", "write the report as JSON", set_json, false },
	{ "live", KEY_LIVE, "auto|line|log|none",
	  "a live line, a log line every --log-interval, or neither", set_live, false },
	{ "log-interval", KEY_LOG_INTERVAL, "TIME", "time between log lines; default 10s",
	  set_log_interval, false },
	{ "config", KEY_CONFIG, "FILE", "read options from a file; the command line beats it",
	  set_config, false },
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static const char *option_key(unsigned index, bool *is_list)
{
	/* a configuration file does not name another one */
	if (index >= ROW_COUNT - 1)
		return NULL;
	*is_list = rows[index].is_list;
	return rows[index].name;
}

/* What is meant by the word that stands for an option's value; "": it says so itself. */
static const char *describe(const char *arg)
{
	static const char *const words[][2] = {
		{ "SIZE", ", such as 4096, 64Ki or 1.5G" },
		{ "BYTES", ", such as 4096, 64Ki or 1.5G" },
		{ "TIME", ", such as 90, 30s, 10m or 1h30m" },
		{ "RATE", ", such as 512 (Mbit/s), 1.6G or 64MB/s" },
		{ "HZ", ", such as 1420.4M" },
		{ "UTC", ", such as 2026-11-30T08:15:00Z" },
		{ "FORMAT", ", such as ci8, ri16_le, cf32_be, or raw" },
		{ "N", ", a whole number from 1 on" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(arg, words[i][0]) == 0)
			return words[i][1];
	return "";
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
			 row->arg ? row->arg : "yes or no", row->arg ? describe(row->arg) : "");
	return EX_USAGE;
}

int options_set(struct options *options, const char *name, const char *value, char *error)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (strcmp(rows[i].name, name) == 0)
			return set_row(options, &rows[i], value, error);
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
	struct given given[TARGET_MAX + ROW_COUNT * 4];
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
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].key != key)
			continue;
		if (line->count == sizeof(line->given) / sizeof(line->given[0])) {
			argp_error(state, "too many options");
			return EINVAL;
		}
		line->given[line->count++] = (struct given){ &rows[i], arg ? arg : "yes" };
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
	static struct argp_option table[ROW_COUNT + 1];

	for (size_t i = 0; i < ROW_COUNT; i++)
		table[i] = (struct argp_option){ rows[i].name,         rows[i].key,  rows[i].arg,
						 argp_flags(&rows[i]), rows[i].help, 0 };
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
