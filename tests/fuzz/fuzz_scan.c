/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk through a stream (tools/format_scan.h), and its report: any bytes, with a gap in them, in pieces of any length. What comes
 * of frames must not depend on the pieces.
 */
#include "tests/fuzz/input.h"

#include <stdlib.h>
#include <string.h>

#include "tools/format_report.h"
#include "tools/format_scan.h"

#define GAP_MAX (UINT64_C(1) << 20)
#define START_MAX (UINT64_C(1) << 40)

/* A stream: @len bytes, and behind @gap_at of them a gap. */
struct stream {
	const uint8_t *data;
	size_t len;
	size_t gap_at;
	uint64_t gap_bytes;
	uint64_t start;
};

/* As much as the room has, and no more than @most. */
static size_t feed(struct format_scan *scan, const struct stream *stream, size_t done, size_t most)
{
	size_t end = done < stream->gap_at ? stream->gap_at : stream->len;
	size_t room, bytes = end - done < most ? end - done : most;
	void *to = format_scan_room(scan, &room);

	bytes = bytes < room ? bytes : room;
	memcpy(to, stream->data + done, bytes);
	format_scan_feed(scan, stream->start + done + (done < stream->gap_at ? 0 : stream->gap_bytes),
			 bytes);
	return bytes;
}

/* @lengths: of the pieces, while there are any; NULL: as long as they can be */
static struct format_scan *walk(const struct stream *stream, uint32_t rate, struct input *lengths)
{
	const struct format_scan_config config = { .not_after_s = 1780000000, .rate = rate };
	struct format_scan *scan = NULL;

	input_expect(format_scan_create(&scan, &config) == 0);
	for (size_t done = 0; done < stream->len;)
		done += feed(scan, stream, done,
			     lengths && lengths->len ? 1 + input_take_below(lengths, 5000) : SIZE_MAX);
	format_scan_end(scan);
	return scan;
}

static void check(const struct format_stats *stats, size_t len)
{
	uint64_t in_streams = 0;

	input_expect(stats->scanned_bytes == len && stats->leading_bytes <= len &&
		     stats->trailing_bytes <= len);
	input_expect(stats->fault_count <= FORMAT_FAULTS_MAX);
	input_expect(stats->stream_count <= FORMAT_STREAMS_MAX);
	input_expect(stats->invalid_count <= stats->frame_count);
	for (size_t i = 0; i < stats->stream_count; i++)
		in_streams += stats->streams[i].order.frame_count;
	input_expect(in_streams <= stats->frame_count);
	format_stats_are_good(stats, true);
}

/* Counts of a report are 63 bits and no less than nothing, whatever the frames say. */
static void check_numbers(const json_t *value)
{
	const json_t *item;
	const char *key;
	size_t index;

	input_expect(!json_is_integer(value) || json_integer_value(value) >= 0);
	json_array_foreach(value, index, item) check_numbers(item);
	json_object_foreach((json_t *)value, key, item) check_numbers(item);
}

static void check_report(const struct format_stats *stats)
{
	struct findings *findings;
	json_t *report = format_report_json(stats);
	char *text = json_dumps(report, 0);

	input_expect(text != NULL);
	check_numbers(report);
	free(text);
	json_decref(report);
	if (stats->layout.format == FORMAT_UNKNOWN)
		return;
	input_expect(findings_create(&findings, "fuzz", true) == 0);
	format_report_say(stats, findings);
	findings_free(findings);
}

/* The simulator's pattern is looked for in what is there: wrong bytes are told piece by piece. */
static void compare(const struct format_stats *a, const struct format_stats *b)
{
	input_expect(a->layout.format == b->layout.format);
	if (a->layout.format == FORMAT_SIM)
		return;
	input_expect(a->frame_count == b->frame_count && a->stream_count == b->stream_count);
	input_expect(memcmp(a->count, b->count, sizeof(a->count)) == 0);
	input_expect(a->fault_count == b->fault_count);
	for (size_t i = 0; i < a->fault_count; i++)
		input_expect(a->faults[i].kind == b->faults[i].kind &&
			     a->faults[i].offset == b->faults[i].offset &&
			     a->faults[i].count == b->faults[i].count);
	input_expect(a->trailing_bytes == b->trailing_bytes);
	input_expect(a->start_utc_ns == b->start_utc_ns && a->end_utc_ns == b->end_utc_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len), lengths;
	struct stream stream = { .data = data };
	struct format_scan *at_once, *in_pieces;
	uint32_t rate = input_take_below(&input, 8) * 1000;

	stream.start = input_take_number(&input, 5) % START_MAX;
	stream.gap_bytes = 1 + input_take_number(&input, 3) % GAP_MAX;
	stream.gap_at = input_take_number(&input, 4);
	stream.len = input.len;
	stream.gap_at %= stream.len + 1;
	lengths = input_begin(data, stream.len);
	at_once = walk(&stream, rate, NULL);
	in_pieces = walk(&stream, rate, &lengths);
	check(format_scan_stats(at_once), stream.len);
	check(format_scan_stats(in_pieces), stream.len);
	check_report(format_scan_stats(at_once));
	compare(format_scan_stats(at_once), format_scan_stats(in_pieces));
	format_scan_free(at_once);
	format_scan_free(in_pieces);
	return 0;
}
