/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/check_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/version.h"
#include "tools/check_mark6.h"
#include "tools/json_file.h"
#include "tools/output_file.h"

const char *check_outcome(const struct findings *findings)
{
	static const char *const names[] = { "good", "differences", "trouble" };

	return names[findings_status(findings)];
}

void check_show_progress(struct findings *findings, uint64_t done_bytes, uint64_t all_bytes)
{
	char line[256], done[UNITS_TEXT_LEN], all[UNITS_TEXT_LEN];

	if (all_bytes == 0)
		return;
	snprintf(line, sizeof(line), "%s of %s, %.0f %%", units_format_bytes(done, done_bytes),
		 units_format_bytes(all, all_bytes), 100.0 * (double)done_bytes / (double)all_bytes);
	findings_show(findings, line);
}

int check_report_write(json_t *report, const char *path, struct findings *findings)
{
	int ret = !path ? 0 : report ? json_file_write(report, path) : -ENOMEM;
	int status = (int)findings_status(findings);

	json_decref(report);
	if (ret == 0)
		return status;
	findings_insist(findings, "report %s: %s", path, output_file_error(ret));
	return status == FINDINGS_TROUBLE ? status : json_file_exit_status(ret);
}

double check_bytes_per_s(const struct check_result *result)
{
	double bytes = (double)atomic_load_explicit(&result->read_bytes, memory_order_relaxed);

	return result->duration_ns > 0 ? bytes / ((double)result->duration_ns / 1e9) : 0;
}

static void add_list(json_t *json, const struct check_report *report, const char *key, enum finding kind)
{
	json_object_set(json, key, findings_items(report->findings, kind));
}

static json_t *parity_report(const struct check_result *result)
{
	const uint64_t *states = result->parity_states;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "count", (json_int_t)result->parity_count,
			 "verified_count", (json_int_t)states[CHECK_GOOD], "unsummed_count",
			 (json_int_t)states[CHECK_UNSUMMED], "bad_count",
			 (json_int_t)states[CHECK_BAD], "unreadable_count",
			 (json_int_t)states[CHECK_UNREADABLE], "missing_count",
			 (json_int_t)states[CHECK_MISSING]);
}

json_t *check_report_recording(const struct check_report *report)
{
	const struct check_result *result = report->result;
	const struct recording_info *info = report->info;
	json_t *json = json_pack(
		"{s:s, s:s, s:s, s:o, s:s, s:i, s:o?, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}",
		"schema", "vsib-check/1", "program", "vsib-check", "version", VSIB_VERSION, "name",
		json_file_text(info->name), "outcome", check_outcome(report->findings), "exit_status",
		(int)findings_status(report->findings), "journal", json_file_text(info->journal),
		"has_end", info->has_end, "is_running", report->is_running, "stream_bytes",
		(json_int_t)info->stream_bytes, "data_bytes", (json_int_t)info->data_bytes,
		"filled_bytes", (json_int_t)info->filled_bytes, "gap_bytes",
		(json_int_t)info->gap_bytes, "verified_bytes", (json_int_t)result->verified_bytes,
		"segment_count", (json_int_t)result->segment_count, "verified_count",
		(json_int_t)result->count[CHECK_GOOD], "unsummed_count",
		(json_int_t)result->count[CHECK_UNSUMMED], "bad_count",
		(json_int_t)result->count[CHECK_BAD], "unreadable_count",
		(json_int_t)result->count[CHECK_UNREADABLE], "missing_count",
		(json_int_t)result->count[CHECK_MISSING], "gap_count",
		(json_int_t)findings_count(report->findings, FINDING_GAP), "duration_s",
		(double)result->duration_ns / 1e9, "bytes_per_s", check_bytes_per_s(result));

	if (json && result->parity_count) {
		json_object_set_new(json, "parity", parity_report(result));
		json_object_set_new(json, "rebuildable_bytes",
				    json_integer((json_int_t)result->rebuildable_bytes));
	}
	add_list(json, report, "bad", FINDING_BAD);
	add_list(json, report, "unreadable", FINDING_UNREADABLE);
	add_list(json, report, "missing", FINDING_MISSING);
	add_list(json, report, "gaps", FINDING_GAP);
	add_list(json, report, "tails", FINDING_TAIL);
	add_list(json, report, "unused", FINDING_UNUSED);
	add_list(json, report, "journals", FINDING_JOURNAL);
	add_list(json, report, "account", FINDING_ACCOUNT);
	add_list(json, report, "warnings", FINDING_WARNING);
	if (json && report->format->format)
		json_object_set(json, "format", report->format->format);
	if (json && report->format->capture)
		json_object_set(json, "capture", report->format->capture);
	if (json && info->mark6)
		json_object_set_new(json, "mark6", check_mark6_report(info->mark6));
	if (json && report->options->is_recovery)
		json_object_set_new(json, "recovery",
				    json_pack("{s:b, s:O}", "dry_run", report->options->is_dry, "steps",
					      findings_items(report->findings, FINDING_STEP)));
	return json;
}
