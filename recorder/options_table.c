/* SPDX-License-Identifier: BSD-2-Clause */
/* options_table.c - each option: its name, its words for --help, and what its value sets */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/options_parts.h"
#include "recorder/values.h"

#define CHANNELS_MAX 65536

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

/* "no" and its like give 0, "yes" and its like 1 */
static int pick_truth(const char *value)
{
	int index = values_pick(value, "no|yes|false|true|off|on|0|1");

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

static int set_duration(struct options *o, const char *value)
{
	return values_time(value, &o->session.duration_ns);
}

static int set_bytes(struct options *o, const char *value)
{
	return values_bytes(value, &o->session.limit_bytes);
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
	int index = values_pick(value, "raw|vbs|mark6|pcap");

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
	return values_bytes(value, &o->session.file_bytes);
}

static int set_file_time(struct options *o, const char *value)
{
	return values_time(value, &o->session.file_ns);
}

static int set_chunk(struct options *o, const char *value)
{
	return values_bytes(value, &o->session.chunk_bytes);
}

static int set_packet_format(struct options *o, const char *value)
{
	int index = values_pick(value, "vdif|mark5b|unknown");

	if (index >= 0)
		o->session.packet_format = (enum mark6_format)index;
	return index < 0 ? index : 0;
}

static int set_packet_size(struct options *o, const char *value)
{
	return values_bytes(value, &o->session.packet_bytes);
}

static int set_stripe(struct options *o, const char *value)
{
	int index = values_pick(value, "any|round");

	if (index >= 0)
		o->session.stripe = (enum stripe_policy)index;
	return index < 0 ? index : 0;
}

static int set_unit(struct options *o, const char *value)
{
	return values_bytes(value, &o->session.unit_bytes);
}

static int set_ring(struct options *o, const char *value)
{
	int ret = values_bytes(value, &o->session.ring_bytes);

	o->is_ring_given = o->is_ring_given || ret == 0;
	return ret;
}

static int set_block(struct options *o, const char *value)
{
	return values_bytes(value, &o->session.block_bytes);
}

static int set_io(struct options *o, const char *value)
{
	int index = values_pick(value, "buffered|direct");

	if (index >= 0)
		o->session.use_direct = index == 1;
	return index < 0 ? index : 0;
}

static int set_engine(struct options *o, const char *value)
{
	int index = values_pick(value, "auto|io_uring|pwrite");

	if (index >= 0)
		o->session.engine = (enum engine_kind)index;
	return index < 0 ? index : 0;
}

static int set_copies(struct options *o, const char *value)
{
	int index = values_pick(value, "1|2");

	if (index >= 0)
		o->session.copies = (unsigned)index + 1;
	return index < 0 ? index : 0;
}

static int set_depth(struct options *o, const char *value)
{
	return values_count(value, 1, ENGINE_DEPTH_MAX, &o->session.depth);
}

static int set_disk_timeout(struct options *o, const char *value)
{
	return units_parse_time(value, &o->session.disk_timeout_ns);
}

static int set_on_overflow(struct options *o, const char *value)
{
	int index = values_pick(value, "auto|drop|wait|stop");

	if (index >= 0)
		o->session.on_overflow = (enum overflow_policy)index;
	return index < 0 ? index : 0;
}

static int set_fill(struct options *o, const char *value)
{
	int index = values_pick(value, "none|pattern|vdif-invalid");

	if (index >= 0)
		o->session.fill = (enum fill_policy)index;
	return index < 0 ? index : 0;
}

static int set_checksum(struct options *o, const char *value)
{
	int index = values_pick(value, "none|xxh3");

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
	return values_count(value, 1, CHANNELS_MAX, &o->session.metadata.words.channels);
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
	int index = values_pick(value, "no|try|require");

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
	int index = values_pick(value, "auto|line|log|none");

	if (index >= 0)
		o->live = (enum live_mode)index;
	return index < 0 ? index : 0;
}

static int set_log_interval(struct options *o, const char *value)
{
	return values_time(value, &o->log_interval_ns);
}

static int set_config(struct options *o, const char *value)
{
	o->config = keep(o, value);
	return 0;
}

const struct option_row option_rows[] = {
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
	{ "file-time", KEY_FILE_TIME, "TIME",
	  "layouts raw and pcap: begin a new file after so long, by the stream's or the packets' time",
	  set_file_time, false },
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

_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) == OPTION_COUNT,
	       "a key and no row, or a row and no key");
