/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/format_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"

#define TEXT_LEN 256
#define STREAMS_SHOWN 6
#define FAULTS_SHOWN 6
#define RANGE_WORDS 6 /* of a list of threads: more is "..." */

static const char *const fault_names[FORMAT_FAULT_KINDS] = {
	[FORMAT_MISSING] = "missing",
	[FORMAT_DUPLICATE] = "duplicate",
	[FORMAT_LATE] = "late",
	[FORMAT_BACK] = "back",
	[FORMAT_DISORDER] = "disorder",
	[FORMAT_DAMAGED] = "damaged",
	[FORMAT_CRC] = "crc",
	[FORMAT_SKIPPED] = "skipped",
	[FORMAT_TORN] = "torn",
	[FORMAT_OVERWRITTEN] = "overwritten",
	[FORMAT_PACKETS] = "packets",
	[FORMAT_WRONG_BYTES] = "wrong_bytes",
	[FORMAT_LOST_BYTES] = "lost_bytes",
	[FORMAT_REPEATED_BYTES] = "repeated_bytes",
};

static const char *const fault_words[FORMAT_FAULT_KINDS] = {
	[FORMAT_MISSING] = "frames missing before it",
	[FORMAT_DUPLICATE] = "frame there twice",
	[FORMAT_LATE] = "frame behind younger ones",
	[FORMAT_BACK] = "step back in time",
	[FORMAT_DISORDER] = "frame older than another thread's before it",
	[FORMAT_DAMAGED] = "damaged header",
	[FORMAT_CRC] = "header with a wrong CRC",
	[FORMAT_SKIPPED] = "bytes that are no frame",
	[FORMAT_TORN] = "frame cut by a gap",
	[FORMAT_OVERWRITTEN] = "frame overwritten with fill",
	[FORMAT_PACKETS] = "packets missing before it",
	[FORMAT_WRONG_BYTES] = "wrong bytes",
	[FORMAT_LOST_BYTES] = "bytes of the pattern missing",
	[FORMAT_REPEATED_BYTES] = "bytes of the pattern again",
};

static const char *const rate_words[] = { "unknown", "header", "given", "counted" };

static bool has_stations(const struct format_stats *stats)
{
	return stats->layout.format == FORMAT_VDIF || stats->layout.format == FORMAT_CODIF;
}

static bool has_samples(const struct format_stats *stats, int *channels, int *bits, bool *is_complex)
{
	const struct format_layout *layout = &stats->layout;

	if (layout->format == FORMAT_VDIF && layout->vdif.channels_log2 < 31) {
		*channels = 1 << layout->vdif.channels_log2;
		*bits = layout->vdif.bits;
		*is_complex = layout->vdif.is_complex;
	} else if (layout->format == FORMAT_CODIF) {
		*channels = layout->codif.channels;
		*bits = layout->codif.bits;
		*is_complex = layout->codif.is_complex;
	} else {
		return false;
	}
	return true;
}

static bool knows_rate(const struct format_stats *stats)
{
	return stats->rate_source != FORMAT_RATE_UNKNOWN;
}

static bool has_frames(const struct format_stats *stats)
{
	return stats->has_first;
}

/* ---- words --------------------------------------------------------------------------------------- */

static void append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(char *text, const char *format, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, TEXT_LEN - len, format, args);
	va_end(args);
}

static void describe_format(const struct format_stats *stats, char *text)
{
	const struct format_layout *layout = &stats->layout;
	const char *edv;

	switch (layout->format) {
	case FORMAT_VDIF:
		edv = vdif_edv_name(layout->vdif.edv);
		append(text, "VDIF version %d, ", layout->vdif.version);
		if (layout->vdif.is_legacy)
			append(text, "legacy headers");
		else
			append(text, "EDV %d%s%s%s", layout->vdif.edv, edv ? " (" : "",
			       edv ? edv : "", edv ? ")" : "");
		break;
	case FORMAT_MARK5B:
		append(text, "Mark5B, user bits 0x%04x%s", layout->mark5b.user,
		       layout->mark5b.is_test ? ", test vector" : "");
		break;
	case FORMAT_MARK4:
	case FORMAT_VLBA:
		append(text, "%s, %d tracks", layout->format == FORMAT_MARK4 ? "Mark4" : "VLBA",
		       layout->track_count);
		break;
	case FORMAT_CODIF:
		append(text, "CODIF version %d, periods of %d s", layout->codif.version,
		       layout->codif.period_s);
		break;
	default:
		append(text, "the simulator's pattern, seed %" PRIu64, layout->seed);
		break;
	}
}

/* "0-7", "1, 3": the threads of one station, in ascending order. */
static void describe_threads(const struct format_stats *stats, char *text)
{
	bool is_there[1 << 16] = { false };
	int words = 0, begin = -1;

	for (size_t i = 0; i < stats->stream_count; i++)
		is_there[stats->streams[i].thread] = true;
	for (int thread = 0; thread <= 1 << 16 && words <= RANGE_WORDS; thread++) {
		bool is_in = thread < 1 << 16 && is_there[thread];

		if (is_in && begin < 0)
			begin = thread;
		if (is_in || begin < 0)
			continue;
		if (words == RANGE_WORDS)
			append(text, ", ...");
		else if (thread - 1 > begin)
			append(text, "%s%d-%d", words ? ", " : "", begin, thread - 1);
		else
			append(text, "%s%d", words ? ", " : "", begin);
		words++;
		begin = -1;
	}
}

static void describe_stations(const struct format_stats *stats, char *text)
{
	char name[VDIF_STATION_LEN];
	int words = 0;

	for (size_t i = 0; i < stats->stream_count; i++) {
		size_t before = 0;

		while (before < i && stats->streams[before].station != stats->streams[i].station)
			before++;
		if (before < i)
			continue;
		if (words++ == RANGE_WORDS) {
			append(text, ", ...");
			return;
		}
		append(text, "%s%s", words > 1 ? ", " : "",
		       vdif_station_name(name, stats->streams[i].station));
	}
}

static void say_layout(const struct format_stats *stats, struct findings *findings)
{
	const struct format_layout *layout = &stats->layout;
	char text[TEXT_LEN] = "", streams[TEXT_LEN] = "";
	int channels, bits;
	bool is_complex;

	describe_format(stats, text);
	if (layout->format == FORMAT_SIM) {
		findings_say(findings, "%s", text);
		return;
	}
	append(text, "; frames of %" PRIu32 " bytes, %" PRIu32 " of them payload",
	       layout->frame_bytes, layout->payload_bytes);
	if (layout->number_count)
		append(text, ", %s with a packet number in front",
		       layout->number_count == 2 ? "in halves, each" : "each");
	else if (layout->prefix_bytes)
		append(text, ", each with %" PRIu32 " bytes in front", layout->prefix_bytes);
	findings_say(findings, "%s", text);
	if (!has_stations(stats))
		return;
	if (has_samples(stats, &channels, &bits, &is_complex))
		append(streams, "channels: %d, bits: %d, %s; ", channels, bits,
		       is_complex ? "complex" : "real");
	append(streams, "threads: ");
	describe_threads(stats, streams);
	append(streams, "; station: ");
	describe_stations(stats, streams);
	findings_say(findings, "%s", streams);
}

static void say_time(const struct format_stats *stats, struct findings *findings)
{
	const struct format_frame *first = &stats->first;
	char start[UNITS_UTC_LEN], end[UNITS_UTC_LEN], raw[TEXT_LEN] = "";

	if (has_stations(stats))
		append(raw, " (epoch %d, second %" PRIu32 ", frame %" PRIu32 ")", first->epoch,
		       first->second, first->number);
	else if (stats->layout.format == FORMAT_MARK5B)
		append(raw, " (frame %" PRIu32 ")", first->number);
	findings_say(findings, "first frame: %s%s%s", units_format_utc(start, stats->start_utc_ns),
		     raw, stats->rate ? "" : ", fraction unknown");
	if (!knows_rate(stats)) {
		findings_say(findings, "frames a second: not in the data; --frame-rate tells it");
		return;
	}
	findings_say(findings, "end: %s; by time %.6f s, by bytes %.6f s",
		     units_format_utc(end, stats->end_utc_ns), (double)stats->length_ns / 1e9,
		     (double)stats->bytes_length_ns / 1e9);
	findings_say(findings, "rate: %g frames/s%s (%s), %.6g Mbit/s of payload",
		     (double)stats->rate / stats->layout.interval_s,
		     stats->stream_count > 1 ? " a thread" : "", rate_words[stats->rate_source],
		     (double)stats->payload_bps / 1e6);
}

static void say_streams(const struct format_stats *stats, struct findings *findings)
{
	char station[VDIF_STATION_LEN];

	for (size_t i = 0; i < stats->stream_count && i < STREAMS_SHOWN; i++) {
		const struct format_stream *s = &stats->streams[i];

		findings_say(findings,
			     "  station %s thread %d: %" PRIu64 " frames, %" PRIu64 " missing, %" PRIu64
			     " twice, %" PRIu64 " late, %" PRIu64 " invalid, %" PRIu64 " fill",
			     vdif_station_name(station, s->station), s->thread,
			     s->order.frame_count, s->missing_count, s->order.duplicate_count,
			     s->order.late_count, s->invalid_count, s->fill_count);
	}
	if (stats->stream_count > STREAMS_SHOWN)
		findings_say(findings, "  and %zu threads more; --json has them",
			     stats->stream_count - STREAMS_SHOWN);
}

/* Only what there is, but always what is missing. */
static void say_counts(const struct format_stats *stats, struct findings *findings)
{
	char text[TEXT_LEN] = "";

	if (has_frames(stats))
		append(text,
		       "frames: %" PRIu64 "; missing: %" PRIu64 ", out of order: %" PRIu64
		       ", twice: %" PRIu64 ", invalid: %" PRIu64 ", fill: %" PRIu64,
		       stats->frame_count, stats->count[FORMAT_MISSING],
		       stats->count[FORMAT_LATE] + stats->count[FORMAT_BACK] +
			       stats->count[FORMAT_DISORDER],
		       stats->count[FORMAT_DUPLICATE], stats->invalid_count, stats->fill_count);
	if (stats->stray_count)
		append(text, ", with a time that doesn't fit: %" PRIu64, stats->stray_count);
	if (text[0])
		findings_say(findings, "%s", text);
	if (stats->layout.number_count)
		findings_say(findings,
			     "packet numbers: %" PRIu64 " missing, %" PRIu64 " twice, %" PRIu64
			     " late, %" PRIu64 " steps back, %" PRIu64 " that don't fit",
			     stats->count[FORMAT_PACKETS], stats->packets.duplicate_count,
			     stats->packets.late_count, stats->packets.back_count,
			     stats->packets.stray_count);
	if (stats->untracked_count)
		findings_say(findings, "threads beyond %d were not followed: %" PRIu64 " frames",
			     FORMAT_STREAMS_MAX, stats->untracked_count);
	if (stats->leading_bytes || stats->trailing_bytes)
		findings_say(findings,
			     "%" PRIu64 " bytes before the first frame, %" PRIu64
			     " behind the last whole one",
			     stats->leading_bytes, stats->trailing_bytes);
}

static void say_faults(const struct format_stats *stats, struct findings *findings)
{
	char station[VDIF_STATION_LEN], stream[64];
	int shown = 0;

	for (size_t i = 0; i < stats->fault_count && shown < FAULTS_SHOWN; i++) {
		const struct format_fault *fault = &stats->faults[i];

		if (fault->count == 0)
			continue;
		stream[0] = '\0';
		if (fault->has_stream && has_stations(stats))
			snprintf(stream, sizeof(stream), ", station %s thread %d",
				 vdif_station_name(station, fault->station), fault->thread);
		findings_say(findings, "  at byte %" PRIu64 "%s: %" PRIu64 " %s", fault->offset,
			     stream, fault->count, fault_words[fault->kind]);
		shown++;
	}
}

void format_report_say(const struct format_stats *stats, struct findings *findings)
{
	say_layout(stats, findings);
	if (has_frames(stats))
		say_time(stats, findings);
	say_counts(stats, findings);
	if (!format_stats_are_good(stats, true) && has_stations(stats))
		say_streams(stats, findings);
	say_faults(stats, findings);
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

/* NULL becomes null. */
static json_t *utc(int64_t ns)
{
	char text[UNITS_UTC_LEN];

	return json_string(units_format_utc(text, ns));
}

static json_t *list_streams(const struct format_stats *stats)
{
	json_t *list = json_array();
	char station[VDIF_STATION_LEN];

	for (size_t i = 0; i < stats->stream_count; i++) {
		const struct format_stream *s = &stats->streams[i];
		json_t *item = json_pack(
			"{s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:I, s:I, s:o}",
			"station", vdif_station_name(station, s->station), "thread", (int)s->thread,
			"frames", (json_int_t)s->order.frame_count, "missing",
			(json_int_t)s->missing_count, "duplicate", (json_int_t)s->order.duplicate_count,
			"late", (json_int_t)s->order.late_count, "back",
			(json_int_t)s->order.back_count, "stray", (json_int_t)s->order.stray_count,
			"invalid", (json_int_t)s->invalid_count, "fill", (json_int_t)s->fill_count,
			"epoch", (int)s->first_epoch, "second", (json_int_t)s->first_second,
			"frame", (json_int_t)s->first.number, "start_utc",
			utc(format_utc_ns(&stats->layout, s->first.interval, s->first.number,
					  stats->rate)));

		if (item && stats->layout.format == FORMAT_CODIF) {
			json_object_set_new(item, "group", json_integer(s->group));
			json_object_set_new(item, "secondary", json_integer(s->secondary));
		}
		json_array_append_new(list, item);
	}
	return list;
}

static json_t *list_faults(const struct format_stats *stats)
{
	json_t *list = json_array();
	char station[VDIF_STATION_LEN];

	for (size_t i = 0; i < stats->fault_count; i++) {
		const struct format_fault *fault = &stats->faults[i];
		json_t *item;

		if (fault->count == 0)
			continue;
		item = json_pack("{s:s, s:I, s:I}", "kind", fault_names[fault->kind], "stream_offset",
				 (json_int_t)fault->offset, "count", (json_int_t)fault->count);
		if (item && fault->has_stream && has_stations(stats)) {
			json_object_set_new(item, "station",
					    json_string(vdif_station_name(station, fault->station)));
			json_object_set_new(item, "thread", json_integer(fault->thread));
		}
		json_array_append_new(list, item);
	}
	return list;
}

static void add_layout(json_t *report, const struct format_stats *stats)
{
	const struct format_layout *layout = &stats->layout;
	int channels, bits;
	bool is_complex;

	if (layout->format == FORMAT_VDIF) {
		json_object_set_new(report, "vdif_version", json_integer(layout->vdif.version));
		json_object_set_new(report, "edv", json_integer(layout->vdif.edv));
		json_object_set_new(report, "legacy", json_boolean(layout->vdif.is_legacy));
	}
	if (has_samples(stats, &channels, &bits, &is_complex)) {
		json_object_set_new(report, "channels", json_integer(channels));
		json_object_set_new(report, "bits", json_integer(bits));
		json_object_set_new(report, "complex", json_boolean(is_complex));
	}
	if (layout->track_count)
		json_object_set_new(report, "tracks", json_integer(layout->track_count));
	if (layout->format == FORMAT_MARK5B) {
		json_object_set_new(report, "user", json_integer(layout->mark5b.user));
		json_object_set_new(report, "test", json_boolean(layout->mark5b.is_test));
	}
	if (layout->format == FORMAT_SIM && layout->seed <= INT64_MAX) /* JSON's integers end there */
		json_object_set_new(report, "seed", json_integer((json_int_t)layout->seed));
}

static void add_time(json_t *report, const struct format_stats *stats)
{
	json_object_set_new(report, "start_utc", utc(stats->start_utc_ns));
	json_object_set_new(report, "frame_rate_from", json_string(rate_words[stats->rate_source]));
	if (!knows_rate(stats))
		return;
	json_object_set_new(report, "end_utc", utc(stats->end_utc_ns));
	json_object_set_new(report, "frame_rate",
			    json_real((double)stats->rate / stats->layout.interval_s));
	json_object_set_new(report, "payload_bps", json_integer((json_int_t)stats->payload_bps));
	json_object_set_new(report, "length_s", json_real((double)stats->length_ns / 1e9));
	json_object_set_new(report, "bytes_length_s", json_real((double)stats->bytes_length_ns / 1e9));
}

static void add_counts(json_t *report, const struct format_stats *stats)
{
	char key[32];

	for (int kind = 0; kind < FORMAT_FAULT_KINDS; kind++) {
		snprintf(key, sizeof(key), "%s_count", fault_names[kind]);
		json_object_set_new(report, key, json_integer((json_int_t)stats->count[kind]));
	}
	json_object_set_new(report, "invalid_count", json_integer((json_int_t)stats->invalid_count));
	json_object_set_new(report, "fill_count", json_integer((json_int_t)stats->fill_count));
	json_object_set_new(report, "stray_count", json_integer((json_int_t)stats->stray_count));
	json_object_set_new(report, "untracked_count",
			    json_integer((json_int_t)stats->untracked_count));
	json_object_set_new(report, "bad_track_count",
			    json_integer((json_int_t)stats->bad_track_count));
	if (!stats->layout.number_count)
		return;
	json_object_set_new(report, "packets_duplicate_count",
			    json_integer((json_int_t)stats->packets.duplicate_count));
	json_object_set_new(report, "packets_late_count",
			    json_integer((json_int_t)stats->packets.late_count));
	json_object_set_new(report, "packets_back_count",
			    json_integer((json_int_t)stats->packets.back_count));
	json_object_set_new(report, "packets_stray_count",
			    json_integer((json_int_t)stats->packets.stray_count));
}

json_t *format_report_json(const struct format_stats *stats)
{
	const struct format_layout *layout = &stats->layout;
	json_t *report = json_pack("{s:s}", "format", format_name(layout->format));

	if (!report || layout->format == FORMAT_UNKNOWN)
		return report;
	add_layout(report, stats);
	json_object_set_new(report, "frame_bytes", json_integer(layout->frame_bytes));
	json_object_set_new(report, "payload_bytes", json_integer(layout->payload_bytes));
	json_object_set_new(report, "prefix_bytes", json_integer(layout->prefix_bytes));
	json_object_set_new(report, "frame_count", json_integer((json_int_t)stats->frame_count));
	json_object_set_new(report, "thread_count", json_integer((json_int_t)stats->stream_count));
	if (has_frames(stats))
		add_time(report, stats);
	json_object_set_new(report, "leading_bytes", json_integer((json_int_t)stats->leading_bytes));
	json_object_set_new(report, "trailing_bytes", json_integer((json_int_t)stats->trailing_bytes));
	add_counts(report, stats);
	json_object_set_new(report, "threads", list_streams(stats));
	json_object_set_new(report, "faults", list_faults(stats));
	return report;
}
