/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/gather_report.h"

#include "recorder/version.h"
#include "tools/json_file.h"

#define ITEMS_MAX 100000 /* of a list */

void gather_report_begin(struct gather_report *report)
{
	report->gaps = json_array();
	report->bad_sums = json_array();
}

void gather_report_end(struct gather_report *report)
{
	json_decref(report->gaps);
	json_decref(report->bad_sums);
}

void gather_report_gap(struct gather_report *report, const struct recording_piece *piece,
		       const char *cause)
{
	json_t *gap;

	if (json_array_size(report->gaps) >= ITEMS_MAX)
		return;
	gap = json_pack("{s:I, s:I, s:s}", "stream_offset", (json_int_t)piece->stream_offset,
			"bytes", (json_int_t)piece->bytes, "cause", cause);
	if (gap && piece->is_estimated)
		json_object_set_new(gap, "estimated", json_true());
	if (gap && !piece->is_length_known)
		json_object_set_new(gap, "bytes", json_null());
	json_array_append_new(report->gaps, gap);
}

void gather_report_bad_sum(struct gather_report *report, const struct recording_piece *piece)
{
	json_t *bad;

	if (json_array_size(report->bad_sums) >= ITEMS_MAX)
		return;
	bad = json_pack("{s:o, s:o, s:I, s:I, s:I}", "target", json_file_text(piece->target), "file",
			json_file_text(piece->file), "file_offset", (json_int_t)piece->sum_offset,
			"bytes", (json_int_t)piece->sum_bytes, "stream_offset",
			(json_int_t)(piece->stream_offset - (piece->file_offset - piece->sum_offset)));
	json_array_append_new(report->bad_sums, bad);
}

static json_t *missing_array(const struct recording_missing *missing, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count && i < ITEMS_MAX; i++)
		json_array_append_new(array, json_pack("{s:o, s:o, s:s, s:I, s:I, s:I}", "target",
						       json_file_text(missing[i].target), "file",
						       json_file_text(missing[i].file), "reason",
						       missing[i].reason, "stream_offset",
						       (json_int_t)missing[i].stream_offset,
						       "stream_end", (json_int_t)missing[i].stream_end,
						       "bytes", (json_int_t)missing[i].bytes));
	return array;
}

static json_t *unused_array(const struct recording *recording)
{
	const struct recording_unused *unused;
	json_t *array = json_array();
	size_t count;

	unused = recording_unused(recording, &count);
	for (size_t i = 0; i < count && i < ITEMS_MAX; i++)
		json_array_append_new(array, json_pack("{s:o, s:o, s:s}", "target",
						       json_file_text(unused[i].target), "file",
						       json_file_text(unused[i].file), "reason",
						       unused[i].reason));
	return array;
}

static json_t *warning_array(const struct recording *recording)
{
	const struct recording_info *info = recording_info(recording);
	const struct recording_note *notes;
	json_t *array = json_array();
	size_t count;

	notes = recording_notes(recording, &count);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_file_text(notes[i].text));
	if (info->journal && !info->has_end)
		json_array_append_new(array, json_string("the journal has no end line"));
	return array;
}

static json_t *journal_array(const struct recording_info *info)
{
	json_t *array = json_array();

	for (size_t i = 0; i < info->journal_count; i++)
		json_array_append_new(array, json_file_text(info->journals[i]));
	return array;
}

static json_t *filled_array(const struct recording *recording)
{
	const struct recording_filled *filled;
	json_t *array = json_array();
	size_t count;

	filled = recording_filled(recording, &count);
	for (size_t i = 0; i < count && i < ITEMS_MAX; i++) {
		json_t *item = json_pack("{s:I, s:I, s:s}", "stream_offset",
					 (json_int_t)filled[i].stream_offset, "bytes",
					 (json_int_t)filled[i].bytes, "cause",
					 recording_cause_name(filled[i].cause));

		if (item && filled[i].is_estimated)
			json_object_set_new(item, "estimated", json_true());
		json_array_append_new(array, item);
	}
	return array;
}

json_t *gather_report_json(const struct gather_report *report, const struct recording *recording,
			   const struct gather_options *options, const struct gather_result *result,
			   int status)
{
	static const char *const fills[] = { "none", "pattern", "vdif-invalid" };
	static const char *const outcomes[] = { "whole", "gaps", "trouble" };
	const struct recording_info *info = recording_info(recording);
	const struct recording_missing *missing, *rebuilt;
	size_t missing_count, rebuilt_count;

	missing = recording_missing(recording, &missing_count);
	rebuilt = recording_rebuilt(recording, &rebuilt_count);
	return json_pack(
		"{s:s, s:s, s:s, s:o, s:s, s:i, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:I, s:I, s:O, s:o, s:O, s:I, s:I, s:o?, s:o, s:o, s:o}",
		"schema", "vsib-gather/1", "program", "vsib-gather", "version", VSIB_VERSION,
		"name", json_file_text(info->name), "outcome", outcomes[status], "exit_status",
		status, "output", json_file_text(options->output), "fill", fills[options->fill],
		"stream_bytes", (json_int_t)info->stream_bytes, "bytes_out",
		(json_int_t)result->bytes_out, "filled_bytes", (json_int_t)result->filled_bytes,
		"invalid_bytes", (json_int_t)result->invalid_bytes, "unframed_gap_count",
		(json_int_t)result->unframed_count, "recorder_filled_bytes",
		(json_int_t)info->filled_bytes, "recorder_filled", filled_array(recording),
		"rebuilt_bytes", (json_int_t)result->rebuilt_bytes, "rebuilt",
		missing_array(rebuilt, rebuilt_count), "segments", (json_int_t)result->piece_count,
		"gap_count", (json_int_t)result->gap_count, "gaps", report->gaps, "missing",
		missing_array(missing, missing_count), "bad_checksums", report->bad_sums,
		"bad_checksum_count", (json_int_t)result->bad_sum_count, "unreadable_count",
		(json_int_t)result->unreadable_count, "journal", json_file_text(info->journal),
		"journals", journal_array(info), "unused", unused_array(recording), "warnings",
		warning_array(recording));
}
