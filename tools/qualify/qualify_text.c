/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/qualify_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qualify/chart_axis.h"
#include "tools/qualify/markup.h"
#include "tools/qualify/qualify_json.h"

#define COLUMNS 96
#define INDENT 15
#define WORST_WRITES 3

/* A label and words behind it, broken between words. Columns are bytes: a name that is not ASCII breaks a bit early. */
static void put(FILE *out, const char *label, const char *words)
{
	size_t column = INDENT;

	fprintf(out, "  %-*s", INDENT - 2, label);
	while (*words) {
		size_t len = strcspn(words, " ");
		char *word = strndup(words, len);

		if (column > INDENT && column + len > COLUMNS) {
			fprintf(out, "\n%*s", INDENT, "");
			column = INDENT;
		}
		if (word)
			markup_plain(out, word);
		free(word);
		column += len + 1;
		words += len;
		words += strspn(words, " ");
		if (*words && column + strcspn(words, " ") <= COLUMNS)
			fputc(' ', out);
	}
	fputc('\n', out);
}

__attribute__((format(printf, 3, 4))) static void say(FILE *out, const char *label,
						      const char *format, ...)
{
	char text[2 * TRIAL_TEXT_LEN];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	put(out, label, text);
}

/* ---- verdict ---- */

static void text_verdict(FILE *out, const struct figures *of)
{
	const struct judgement *judgement = of->judgement;
	char text[TRIAL_TEXT_LEN];

	markup_plain(out, judgement->headline);
	fputc('\n', out);
	for (unsigned i = 0; i < judgement->reason_count; i++) {
		const struct judgement_reason *reason = &judgement->reasons[i];

		say(out,
		    reason->weight == VERDICT_INCONCLUSIVE ? "UNKNOWN" : verdict_name(reason->weight),
		    "%s: %s", reason->code, reason->text);
		if (reason->advice[0])
			put(out, "", reason->advice);
	}
	if (judgement->reason_count == 0)
		put(out, verdict_name(judgement->result), "Nothing speaks against it.");
	put(out, "evidence", judgement->evidence);
	if (of->baseline) {
		baseline_compare(text, of->baseline, judgement);
		put(out, "former run", text);
	}
	if (of->trial->is_interrupted)
		put(out, "interrupted",
		    "The trial ended before its time; what it had measured by then counts.");
	if (of->trial->only_part[0])
		put(out, "left out", of->trial->only_part);
}

/* ---- the run at the rate ---- */

static void text_worst(FILE *out, const struct figures *of)
{
	const struct trial_run *run = &of->trial->paced;
	struct worst_write worst[WORST_WRITES];
	size_t count = curve_worst_writes(run, 0, worst, WORST_WRITES);

	for (size_t i = 0; i < count; i++) {
		const struct trace_write *write = &worst[i].write;

		say(out, i ? "" : "worst writes",
		    "%.3f s, begun after %.1f s, at file offset %" PRIu64 ": %.300s",
		    (double)(write->ended_ns - write->started_ns) / 1e9,
		    (double)(write->started_ns - run->start_ns) / 1e9, write->file_offset,
		    of->trial->disks[worst[i].disk].target.path);
	}
}

static void text_bins(FILE *out, const struct figures *of)
{
	const struct trial_run *run = &of->trial->paced;

	for (unsigned p = 0; p < run->part_count; p++) {
		const uint64_t *bins = run->parts[p].mark5_bins;

		if (p == 0)
			put(out, "Mark5 bins",
			    "1.125 ms and less, 2.25, 4.5, 9, 18, 36, 72 ms, more, of 65528 bytes:");
		say(out, "",
		    "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		    " %" PRIu64 " %" PRIu64 "  %.300s",
		    bins[0], bins[1], bins[2], bins[3], bins[4], bins[5], bins[6], bins[7],
		    run->part_count > 1 ? of->trial->disks[run->parts[p].disk].target.path : "");
	}
}

static void text_run(FILE *out, const struct figures *of)
{
	const struct trial_run *run = &of->trial->paced;
	double seconds = (double)run->synced_ns / 1e9, rate;
	char high[CHART_VALUE_LEN], capacity[CHART_VALUE_LEN], lost[CHART_VALUE_LEN];

	if (run->error[0])
		put(out, "run", run->error);
	if (!run->was_run)
		return;
	rate = seconds > 0 ? (double)run->written_bytes * 8 / seconds : 0;
	say(out, "run", "%.100s at %.3f Mbit/s for %.1f s, %s I/O, %u in flight, %.1f s of CPU%s",
	    run->source, (double)run->rate_bps / 1e6, (double)run->duration_ns / 1e9, run->io,
	    run->depth, run->cpu_s, run->is_interrupted ? ", interrupted" : "");
	say(out, "sustained", "%.3f Mbit/s (%.2f MiB/s) with %.3f s of final sync", rate / 1e6,
	    rate / 8 / 1048576, (double)(run->synced_ns - run->written_ns) / 1e9);
	say(out, "ring", "high-water mark %s (%.1f %% of %s) after %.3f s; %" PRIu64 " overflow%s%s%s",
	    chart_axis_known(high, CHART_BYTES, (double)run->high_water_bytes),
	    run->ring_bytes ? (double)run->high_water_bytes * 100 / (double)run->ring_bytes : 0,
	    chart_axis_known(capacity, CHART_BYTES, (double)run->ring_bytes),
	    (double)run->high_water_at_ns / 1e9, run->overflow_count,
	    run->overflow_count == 1 ? "" : "s", run->overflow_bytes ? ", lost " : "",
	    run->overflow_bytes ? chart_axis_known(lost, CHART_BYTES, (double)run->overflow_bytes) :
				  "");
	text_worst(out, of);
	text_bins(out, of);
	for (unsigned i = 0; i < run->warning_count; i++)
		put(out, "warning", run->warnings[i]);
}

/* ---- capability ---- */

static void text_capability(FILE *out, const struct figures *of)
{
	const struct judgement *j = of->judgement;
	char value[CHART_VALUE_LEN], other[CHART_VALUE_LEN];

	if (j->capability_bps > 0)
		say(out, "capability",
		    "%s, at its worst %s: the rate is %.2f of that; up to %.0f Mbit/s would pass%s",
		    chart_axis_known(value, CHART_RATE, j->capability_bps),
		    chart_axis_known(other, CHART_RATE, j->capability_low_bps), j->rho,
		    (double)j->best_rate_bps / 1e6,
		    j->is_best_by_room ? ", and for more there is no room in the planned time" : "");
	if (of->trial->paced.was_run && j->ring_needed_bytes > 0)
		say(out, "ring needed", "%s for the planned time; with the one asked for %s%s",
		    isfinite(j->ring_needed_bytes) ?
			    chart_axis_known(value, CHART_BYTES, j->ring_needed_bytes) :
			    "no ring is enough",
		    isfinite(j->h_max_s) ? "the test is good for " : "any time will do",
		    isfinite(j->h_max_s) ? chart_axis_known(other, CHART_SECONDS, j->h_max_s) : "");
	if (j->stalls.count)
		say(out, "stalls", "%zu, %.2f s together, the worst %.3f s", j->stalls.count,
		    j->stalls.total_s, j->stalls.worst_s);
	if (j->eta >= 0)
		say(out, "together", "%.2f of what the disks carry each alone%s%s", j->eta,
		    j->shared_node[0] ? "; they share " : "", j->shared_node);
}

/* ---- disks ---- */

static void text_sweep(FILE *out, const char *label, const struct trial_sweep *sweep, bool is_depth)
{
	const struct trial_point *best = NULL;
	char size[CHART_VALUE_LEN], rate[CHART_VALUE_LEN], most[CHART_VALUE_LEN];

	for (unsigned i = 0; i < sweep->count; i++)
		if (!best || sweep->points[i].rate_bps > best->rate_bps)
			best = &sweep->points[i];
	if (best && sweep->knee >= 0 && (unsigned)sweep->knee < sweep->count) {
		const struct trial_point *knee = &sweep->points[sweep->knee];

		if (is_depth)
			snprintf(size, sizeof(size), "%u in flight", knee->depth);
		else
			chart_axis_known(size, CHART_BYTES, (double)knee->block_bytes);
		say(out, label, "knee at %s: %s with %.0f %% CPU; the best is %s", size,
		    chart_axis_known(rate, CHART_RATE, knee->rate_bps), knee->cpu_share * 100,
		    chart_axis_known(most, CHART_RATE, best->rate_bps));
	}
	if (sweep->note[0])
		put(out, label, sweep->note);
	if (sweep->error[0])
		put(out, label, sweep->error);
}

static void text_read(FILE *out, const struct trial_disk *disk)
{
	const struct trial_read *read = &disk->read;
	char a[CHART_VALUE_LEN], b[CHART_VALUE_LEN];

	if (read->was_run)
		say(out, "read", "%s in sequence, %s of what is cached",
		    chart_axis_known(a, CHART_RATE, read->sequential_bps),
		    chart_axis_known(b, CHART_RATE, read->repeated_bps));
	if (read->was_run && read->count)
		say(out, "", "over the device: its slowest part has %.2f of the fastest",
		    read->inner_ratio);
	if (read->note[0])
		put(out, "", read->note);
	if (read->error[0])
		put(out, "read", read->error);
	if (disk->read_back.was_run)
		say(out, "read back", "%s", disk->read_back.text);
}

static void text_rollover(FILE *out, const struct trial_rollover *rollover)
{
	char size[CHART_VALUE_LEN];

	if (rollover->was_run)
		say(out, "a new file",
		    "%.3f s between two of %s, %.3f s at worst (create %.3f, sync %.3f, close %.3f)",
		    (double)rollover->median_change_ns / 1e9,
		    chart_axis_known(size, CHART_BYTES, (double)rollover->file_bytes),
		    (double)rollover->worst_change_ns / 1e9, (double)rollover->worst_create_ns / 1e9,
		    (double)rollover->worst_sync_ns / 1e9, (double)rollover->worst_close_ns / 1e9);
	if (rollover->note[0])
		put(out, "", rollover->note);
	if (rollover->error[0])
		put(out, "a new file", rollover->error);
}

static void text_disk(FILE *out, const struct figures *of, unsigned number)
{
	uint64_t written = qualify_written_bytes(of->trial, number);
	const struct trial_disk *disk = &of->trial->disks[number];
	const struct trial_environment *e = &disk->environment;
	char link[CHART_VALUE_LEN], capable[CHART_VALUE_LEN], bytes[CHART_VALUE_LEN];

	markup_plain(out, disk->target.path);
	fputc('\n', out);
	say(out, "disk", "%s %s, serial %s, %s, by %s", e->model[0] ? e->model : "model not known",
	    e->disk_name, e->serial[0] ? e->serial : "not known", trial_fs_text(disk),
	    e->transport[0] ? e->transport : "a way that is not known");
	if (e->link_bps >= 0)
		say(out, "link", "%s by %s, of %s possible",
		    chart_axis_known(link, CHART_RATE, e->link_bps), e->link_node,
		    chart_axis_known(capable, CHART_RATE, e->capable_bps));
	text_sweep(out, "block size", &disk->blocks, false);
	text_sweep(out, "depth", &disk->depths, true);
	text_read(out, disk);
	text_rollover(out, &disk->rollover);
	for (unsigned i = 0; i < e->note_count; i++)
		put(out, "note", e->notes[i]);
	say(out, "written", "%s, %s", chart_axis_known(bytes, CHART_BYTES, (double)written),
	    trial_written_text(disk, written));
}

/* ---- will it work ---- */

/* The share of the time that the disks have to work. @text: CHART_VALUE_LEN. Return: @text. */
static char *busy_text(char *text, double rho)
{
	if (rho > 1)
		snprintf(text, CHART_VALUE_LEN, "> 100 %%");
	else
		snprintf(text, CHART_VALUE_LEN, "%.0f %%", rho * 100);
	return text;
}

static void text_rates(FILE *out, const struct figures *of)
{
	const struct judgement *judgement = of->judgement;
	char ring[CHART_VALUE_LEN], horizon[CHART_VALUE_LEN], busy[CHART_VALUE_LEN];

	if (judgement->row_count == 0)
		return;
	fprintf(out, "Will it work, with a ring of %s? Wanted: %s\n",
		chart_axis_known(ring, CHART_BYTES, (double)of->trial->asked.ring_bytes),
		chart_axis_known(horizon, CHART_SECONDS, (double)of->trial->asked.horizon_ns / 1e9));
	fprintf(out, "  %8s  %-12s  %6s  %14s  %13s\n", "Mbit/s", "verdict", "busy", "ring needed",
		"good for");
	for (unsigned i = 0; i < judgement->row_count; i++) {
		const struct judgement_row *row = &judgement->rows[i];

		fprintf(out, "  %8.0f  %-12s  %6s  %14s  %13s  %s%s\n", (double)row->rate_bps / 1e6,
			verdict_name(row->result), busy_text(busy, row->rho),
			isfinite(row->ring_bytes) ?
				chart_axis_known(ring, CHART_BYTES, row->ring_bytes) :
				"none is enough",
			chart_axis_known(horizon, CHART_SECONDS, row->h_max_s),
			row->is_measured ? "measured" : "predicted",
			row->has_room ? "" : ", no room for it");
	}
}

void qualify_text(FILE *out, const struct figures *figures)
{
	text_verdict(out, figures);
	text_run(out, figures);
	text_capability(out, figures);
	for (unsigned i = 0; i < figures->trial->disk_count; i++)
		text_disk(out, figures, i);
	text_rates(out, figures);
}
