/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/feed_report.h"

#include <inttypes.h>

#include "drivers/units.h"
#include "recorder/report_objects.h"
#include "tools/json_file.h"
#include "tools/replay/play_report.h"

#define GAPS_SHOWN 10

void feed_report_text(FILE *out, const struct feed *feed)
{
	uint64_t count = atomic_load_explicit(&feed->stats.gap_count, memory_order_relaxed);
	char bytes[UNITS_TEXT_LEN];

	for (uint64_t i = 0; i < count && i < GAPS_SHOWN; i++)
		fprintf(out,
			"  gap             %" PRIu64 " bytes at byte %" PRIu64 " of the stream: %s\n",
			feed->gaps[i].bytes, feed->gaps[i].stream_offset,
			recording_cause_name(feed->gaps[i].cause));
	if (count > GAPS_SHOWN)
		fprintf(out, "  gaps            %" PRIu64 " in all; --json lists more of them\n",
			count);
	for (unsigned i = 0; i < feed->disk_count; i++) {
		const struct feed_disk *disk = &feed->disks[i];
		int64_t busy_ns = atomic_load_explicit(&disk->busy_ns, memory_order_relaxed);
		uint64_t read = atomic_load_explicit(&disk->read_bytes, memory_order_relaxed);

		fprintf(out,
			"  disk            %s: %s, %.1f Mbit/s while it was read, slowest read %.1f ms, %s, %s\n",
			disk->path, units_format_bytes(bytes, read),
			busy_ns > 0 ? (double)read * 8e3 / (double)busy_ns : 0,
			(double)atomic_load_explicit(&disk->worst_read_ns, memory_order_relaxed) / 1e6,
			disk->io ? disk->io : "", disk->engine ? disk->engine : "");
	}
}

static json_t *json_gaps(const struct feed *feed)
{
	uint64_t count = atomic_load_explicit(&feed->stats.gap_count, memory_order_relaxed);
	json_t *list = json_array();

	for (uint64_t i = 0; i < count && i < FEED_GAPS_MAX; i++)
		json_array_append_new(list, json_pack("{s:I, s:I, s:s}", "stream_offset",
						      (json_int_t)feed->gaps[i].stream_offset, "bytes",
						      (json_int_t)feed->gaps[i].bytes, "cause",
						      recording_cause_name(feed->gaps[i].cause)));
	return list;
}

/* What came from the disks, and what was wrong with it. */
static json_t *json_feed(const struct feed *feed)
{
	const struct feed_stats *stats = &feed->stats;
	const struct {
		const char *name;
		const _Atomic uint64_t *value;
	} figures[] = {
		{ "planned_bytes", &stats->planned_bytes },
		{ "data_bytes", &stats->data_bytes },
		{ "filled_bytes", &stats->filled_bytes },
		{ "rebuilt_bytes", &stats->rebuilt_bytes },
		{ "copied_bytes", &stats->copied_bytes },
		{ "bad_sum_count", &stats->bad_sum_count },
		{ "bad_sum_bytes", &stats->bad_sum_bytes },
		{ "unreadable_count", &stats->unreadable_count },
		{ "unreadable_bytes", &stats->unreadable_bytes },
		{ "unverified_bytes", &stats->unverified_bytes },
	};
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		json_object_set_new(object, figures[i].name,
				    report_object_number(atomic_load_explicit(figures[i].value,
									      memory_order_relaxed)));
	return object;
}

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

static json_t *json_disks(const struct feed *feed)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < feed->disk_count; i++) {
		const struct feed_disk *disk = &feed->disks[i];
		int64_t busy_ns = atomic_load_explicit(&disk->busy_ns, memory_order_relaxed);
		uint64_t bytes = atomic_load_explicit(&disk->read_bytes, memory_order_relaxed);
		json_t *object = json_pack(
			"{s:o, s:o, s:o, s:o, s:f, s:f, s:f}", "path", json_file_text(disk->path),
			"read_bytes", report_object_number(bytes), "read_count",
			report_object_number(
				atomic_load_explicit(&disk->read_count, memory_order_relaxed)),
			"error_count",
			report_object_number(
				atomic_load_explicit(&disk->error_count, memory_order_relaxed)),
			"busy_s", seconds(busy_ns), "rate_bps",
			busy_ns > 0 ? (double)bytes * 8e9 / (double)busy_ns : 0, "worst_read_s",
			seconds(atomic_load_explicit(&disk->worst_read_ns, memory_order_relaxed)));

		json_object_set_new(object, "io", json_string(disk->io ? disk->io : ""));
		json_object_set_new(object, "engine", json_string(disk->engine ? disk->engine : ""));
		json_object_set_new(object, "read_times", play_report_spread(&disk->read_times));
		json_array_append_new(list, object);
	}
	return list;
}

void feed_report_json(json_t *report, const struct feed *feed)
{
	json_object_set_new(report, "feed", json_feed(feed));
	json_object_set_new(report, "gaps", json_gaps(feed));
	json_object_set_new(report, "gap_count",
			    report_object_number(atomic_load_explicit(&feed->stats.gap_count,
								      memory_order_relaxed)));
	json_object_set_new(report, "disks", json_disks(feed));
}
