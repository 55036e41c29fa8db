/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/qualify_html.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/version.h"
#include "tools/qualify/chart.h"
#include "tools/qualify/markup.h"
#include "tools/qualify/qualify_json.h"

#define WORST_WRITES 5
#define VALUE_LEN 96

static const char page_css[] =
	"*{box-sizing:border-box}\n"
	":root{color-scheme:light dark;--pass:#116329;--marginal:#8a4b00;--fail:#a40e26;--inconclusive:#3d4b5c;"
	"--shade:#f3f5f7}\n"
	"@media (prefers-color-scheme:dark){:root{--pass:#56d364;--marginal:#f0b450;--fail:#ff7b72;"
	"--inconclusive:#a9bacd;--shade:#1d232a}}\n"
	"@media print{:root{color-scheme:light;--pass:#116329;--marginal:#8a4b00;--fail:#a40e26;"
	"--inconclusive:#3d4b5c;--shade:#fff}}\n"
	"body{margin:0 auto;padding:12px;max-width:1400px;background:var(--paper);color:var(--ink);"
	"font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.3rem;line-height:1.3;margin:.3em 0}h2{font-size:1.1rem;margin:1.6em 0 .4em}"
	"h3{font-size:1rem;margin:1.2em 0 .3em}figure h3{margin-top:0}.words th{white-space:nowrap}\n"
	"p{margin:.4em 0;max-width:75em}.soft,figcaption,.absent{color:var(--soft)}\n"
	".badge{display:inline-block;padding:.1em .6em;border:2px solid currentColor;border-radius:.4em;"
	"margin-right:.4em;letter-spacing:.03em;white-space:nowrap}\n"
	".pass{color:var(--pass)}.marginal{color:var(--marginal)}.fail{color:var(--fail)}"
	".inconclusive{color:var(--inconclusive)}\n"
	".verdict{border-left:6px solid;padding:.2em 0 .2em .9em;margin:.6em 0}.verdict>*{color:var(--ink)}"
	".verdict .badge{color:inherit}.verdict h1 span.text{color:var(--ink)}\n"
	".verdict h1{color:inherit}\n"
	"dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(145px,1fr));gap:8px;margin:1em 0}\n"
	"dl div{background:var(--shade);border:1px solid var(--grid);border-radius:.4em;padding:.4em .7em}"
	"dt{color:var(--soft);font-size:.87rem}dd{margin:0;font-weight:600}\n"
	"dd small{display:block;font-weight:400;color:var(--soft);font-size:.8rem}\n"
	"table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
	"th,td{text-align:left;vertical-align:top;padding:.35em .7em .35em 0;border-bottom:1px solid var(--grid)}"
	"th{font-weight:600;color:var(--soft);font-size:.87rem}\n"
	"td.n,th.n{text-align:right}.fit{width:auto}.fit td,.fit th{padding-right:1.2em;overflow-wrap:normal}.fit td.n:not(.loose){white-space:nowrap}"
	"@media (max-width:500px){.fit{font-size:.87rem}.fit td,.fit th{padding-right:.7em}}\n"
	"tr.measured td{font-weight:600;background:var(--shade)}tr.measured td:first-child{padding-left:.4em}\n"
	".wide{overflow-x:auto}.wide table{overflow-wrap:normal}\n"
	".reasons td:first-child{white-space:nowrap;font-weight:600}.reasons .code{display:block;color:var(--soft);"
	"font-weight:400;font-size:.8rem}\n"
	".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:28px 30px;"
	"align-items:start}\n"
	"figure{margin:0;min-width:0;break-inside:avoid}figcaption{font-size:.87rem;margin-top:.4em}\n"
	".absent{font-size:.87rem;padding-left:1.2em}\n"
	".tree ul{list-style:none;margin:0 0 0 9px;padding:0 0 0 14px;border-left:2px solid var(--grid)}\n"
	".tree li{position:relative;padding-top:6px}.tree li:before{content:'';position:absolute;left:-14px;top:20px;"
	"width:11px;border-top:2px solid var(--grid)}\n"
	".node{display:inline-block;border:1px solid var(--grid);border-radius:.4em;padding:.15em .6em;font-size:.87rem}\n"
	".node.end{border-color:var(--c0);border-width:2px}.node.shared{border:2px solid var(--limit)}"
	".warn{color:var(--limit)}\n"
	"@media print{body{font-size:10pt;padding:0}.figures{grid-template-columns:1fr 1fr;gap:5mm}"
	"tr{break-inside:avoid}h2{break-after:avoid}}\n";

static const char *verdict_class(enum verdict verdict)
{
	static const char *const names[] = { "pass", "marginal", "fail", "inconclusive" };

	return names[verdict];
}

static void write_cell(FILE *out, const char *class, const char *text)
{
	fprintf(out, "<td%s>", class);
	markup_text(out, text);
	fputs("</td>", out);
}

static void write_paragraph(FILE *out, const char *class, const char *text)
{
	if (!text[0])
		return;
	fprintf(out, "<p%s>", class);
	markup_text(out, text);
	fputs("</p>\n", out);
}

/* ---- verdict ---- */

/* The headline begins with the verdict, which has a place of its own here. */
static const char *headline_rest(const struct judgement *judgement)
{
	const char *name = verdict_name(judgement->result), *text = judgement->headline;

	if (strncmp(text, name, strlen(name)) == 0)
		text += strlen(name);
	return text + strspn(text, " ");
}

static void write_verdict(FILE *out, const struct figures *of)
{
	const struct judgement *judgement = of->judgement;
	char text[TRIAL_TEXT_LEN];

	fprintf(out,
		"<div class=\"verdict %s\">\n<h1><span class=\"badge\">%s</span><span class=\"text\">",
		verdict_class(judgement->result), verdict_name(judgement->result));
	markup_text(out, headline_rest(judgement));
	fputs("</span></h1>\n", out);
	write_paragraph(out, "", judgement->evidence);
	if (of->baseline) {
		baseline_compare(text, of->baseline, judgement);
		write_paragraph(out, " id=\"comparison\"", text);
	}
	if (of->trial->is_interrupted)
		write_paragraph(out, "", "The trial was interrupted before its end.");
	write_paragraph(out, "", of->trial->only_part);
	fputs("</div>\n", out);
}

static void write_fact(FILE *out, const char *name, const char *value, const char *more)
{
	fputs("<div><dt>", out);
	markup_text(out, name);
	fputs("</dt><dd>", out);
	markup_text(out, value);
	if (more[0]) {
		fputs("<small>", out);
		markup_text(out, more);
		fputs("</small>", out);
	}
	fputs("</dd></div>\n", out);
}

/* A rate that is 0 where it is not known. */
static double if_any(double rate_bps)
{
	return rate_bps > 0 ? rate_bps : -1;
}

static void write_facts(FILE *out, const struct figures *of)
{
	const struct judgement *j = of->judgement;
	const struct trial_run *run = &of->trial->paced;
	char value[CHART_VALUE_LEN], more[VALUE_LEN], other[CHART_VALUE_LEN];

	fputs("<dl>\n", out);
	snprintf(more, sizeof(more), "%.2f MiB/s", (double)j->rate_bps / 8 / 1048576);
	write_fact(out, of->trial->asked.is_rate_auto ? "Rate found" : "Rate asked for",
		   chart_axis_known(value, CHART_RATE, if_any((double)j->rate_bps)), more);
	snprintf(more, sizeof(more), "at its worst %s",
		 chart_axis_known(other, CHART_RATE, if_any(j->capability_low_bps)));
	write_fact(out, "The disks carry",
		   chart_axis_known(value, CHART_RATE, if_any(j->capability_bps)), more);
	chart_axis_known(value, CHART_PERCENT, j->rho);
	snprintf(more, sizeof(more), "up to %.0f %% is a pass", of->trial->asked.rho_pass * 100);
	write_fact(out, "Utilisation", value, more);
	snprintf(more, sizeof(more), "of %s",
		 chart_axis_known(other, CHART_BYTES, (double)of->trial->asked.ring_bytes));
	write_fact(out, "Most in the ring", chart_axis_known(value, CHART_BYTES, j->q_bytes), more);
	write_fact(out, "Ring for the planned time",
		   chart_axis_known(value, CHART_BYTES, j->ring_needed_bytes), "");
	snprintf(more, sizeof(more), "planned: %s",
		 chart_axis_known(other, CHART_SECONDS, (double)of->trial->asked.horizon_ns / 1e9));
	write_fact(out, "This test is good for", chart_axis_known(value, CHART_SECONDS, j->h_max_s),
		   more);
	snprintf(value, sizeof(value), "%s",
		 run->was_run ? run->overflow_count ? "yes" : "none" : "not known");
	snprintf(more, sizeof(more), "%s lost",
		 chart_axis_known(other, CHART_BYTES, (double)run->overflow_bytes));
	write_fact(out, "Overflows", value, run->was_run && run->overflow_count ? more : "");
	snprintf(value, sizeof(value), "not known");
	if (run->was_run)
		snprintf(value, sizeof(value), "%zu", j->stalls.count);
	snprintf(more, sizeof(more), "the worst %s",
		 chart_axis_known(other, CHART_SECONDS, j->stalls.worst_s));
	write_fact(out, "Stalls", value, j->stalls.count ? more : "");
	fputs("</dl>\n", out);
}

static void write_reasons(FILE *out, const struct figures *of)
{
	const struct judgement *judgement = of->judgement;

	fputs("<h2>Reasons</h2>\n", out);
	if (judgement->reason_count == 0) {
		write_paragraph(out, "", "Nothing speaks against it.");
		return;
	}
	fputs("<table class=\"reasons\" id=\"reasons\">\n<thead><tr><th>Weight</th><th>Reason and advice</th></tr></thead>\n<tbody>\n",
	      out);
	for (unsigned i = 0; i < judgement->reason_count; i++) {
		const struct judgement_reason *reason = &judgement->reasons[i];

		fprintf(out, "<tr><td><span class=\"%s\">%s</span><span class=\"code\">",
			verdict_class(reason->weight), verdict_name(reason->weight));
		markup_text(out, reason->code);
		fputs("</span></td><td>", out);
		markup_text(out, reason->text);
		if (reason->advice[0]) {
			fputs("<br/><strong>", out);
			markup_text(out, reason->advice);
			fputs("</strong>", out);
		}
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table>\n", out);
}

/* ---- will it work ---- */

static void write_rates(FILE *out, const struct figures *of)
{
	const struct judgement *judgement = of->judgement;
	char value[CHART_VALUE_LEN];

	fputs("<h2>Will it work?</h2>\n", out);
	if (judgement->row_count == 0) {
		write_paragraph(out, " class=\"soft\"",
				"No writes were measured that could be replayed at other rates.");
		return;
	}
	markup_format(out,
		      "With a ring of %s. One rate was measured; the others are predicted from its times.",
		      chart_axis_known(value, CHART_BYTES, (double)of->trial->asked.ring_bytes));
	fputs("<div class=\"wide\"><table class=\"fit\" id=\"rates\">\n<thead><tr><th class=\"n\">Mbit/s</th><th>Verdict</th>"
	      "<th class=\"n\">Ring needed</th><th class=\"n\">Good for</th></tr></thead>\n<tbody>\n",
	      out);
	for (unsigned i = 0; i < judgement->row_count; i++) {
		const struct judgement_row *row = &judgement->rows[i];

		fprintf(out, "<tr%s><td class=\"n\">%.0f</td><td><span class=\"%s\">%s</span>%s%s</td>",
			row->is_measured ? " class=\"measured\"" : "", (double)row->rate_bps / 1e6,
			verdict_class(row->result), verdict_name(row->result),
			row->is_measured ? " <small>measured</small>" : "",
			row->has_room ? "" : " <small>no room</small>");
		write_cell(out, isfinite(row->ring_bytes) ? " class=\"n\"" : " class=\"n loose\"",
			   isfinite(row->ring_bytes) ?
				   chart_axis_known(value, CHART_BYTES, row->ring_bytes) :
				   "none is enough");
		write_cell(out, " class=\"n\"", chart_axis_known(value, CHART_SECONDS, row->h_max_s));
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

/* ---- the run at the rate ---- */

static void write_worst(FILE *out, const struct figures *of)
{
	const struct trial_run *run = &of->trial->paced;
	struct worst_write worst[WORST_WRITES];
	size_t count = curve_worst_writes(run, 0, worst, WORST_WRITES);
	char value[CHART_VALUE_LEN];

	if (count == 0)
		return;
	fputs("<h3>The longest writes</h3>\n<div class=\"wide\"><table class=\"fit\">\n<thead><tr><th class=\"n\">took</th><th class=\"n\">begun at</th>"
	      "<th class=\"n\">file offset</th><th>disk</th></tr></thead>\n<tbody>\n",
	      out);
	for (size_t i = 0; i < count; i++) {
		const struct trace_write *write = &worst[i].write;

		fprintf(out, "<tr><td class=\"n\">%.3f s</td><td class=\"n\">%.1f s</td>",
			(double)(write->ended_ns - write->started_ns) / 1e9,
			(double)(write->started_ns - run->start_ns) / 1e9);
		write_cell(out, " class=\"n\"",
			   chart_axis_known(value, CHART_BYTES, (double)write->file_offset));
		write_cell(out, "", of->trial->disks[worst[i].disk].target.path);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

static void write_bins(FILE *out, const struct figures *of)
{
	const struct trial_run *run = &of->trial->paced;

	fputs("<h3>Mark 5 bins</h3>\n<p class=\"soft\">Writes by their time, scaled to 65528 bytes as a Mark 5 counts them.</p>\n"
	      "<div class=\"wide\"><table class=\"fit\">\n<thead><tr><th class=\"n\">up to</th>",
	      out);
	for (unsigned p = 0; p < run->part_count; p++) {
		fputs("<th class=\"n\">", out);
		markup_text(out, of->trial->disks[run->parts[p].disk].target.path);
		fputs("</th>", out);
	}
	fputs("</tr></thead>\n<tbody>\n", out);
	for (unsigned i = 0; i < SESSION_MARK5_BINS; i++) {
		if (i + 1 < SESSION_MARK5_BINS)
			fprintf(out, "<tr><td class=\"n\">%.4g ms</td>", 1.125 * (1 << i));
		else
			fputs("<tr><td class=\"n\">more</td>", out);
		for (unsigned p = 0; p < run->part_count; p++)
			fprintf(out, "<td class=\"n\">%" PRIu64 "</td>", run->parts[p].mark5_bins[i]);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

static void write_run(FILE *out, const struct figures *of)
{
	const struct trial_run *run = &of->trial->paced;
	double seconds = (double)run->synced_ns / 1e9, rate;
	char value[CHART_VALUE_LEN];

	fputs("<h2>The run at the rate</h2>\n", out);
	write_paragraph(out, " class=\"warn\"", run->error);
	for (unsigned i = 0; i < run->warning_count; i++)
		write_paragraph(out, "", run->warnings[i]);
	if (!run->was_run) {
		write_paragraph(out, " class=\"soft\"", "There was none.");
		return;
	}
	rate = seconds > 0 ? (double)run->written_bytes * 8 / seconds : 0;
	fputs("<p>", out);
	markup_format(
		out, "%s for %s: %.3f Mbit/s (%.2f MiB/s) sustained, with %.3f s of final sync; ",
		run->source, chart_axis_known(value, CHART_SECONDS, (double)run->duration_ns / 1e9),
		rate / 1e6, rate / 8 / 1048576, (double)(run->synced_ns - run->written_ns) / 1e9);
	markup_format(out, "blocks of %s, ",
		      chart_axis_known(value, CHART_BYTES, (double)run->block_bytes));
	markup_format(out, "%u in flight, %s I/O by %s, %.1f s of CPU.", run->depth, run->io,
		      run->engine, run->cpu_s);
	fputs("</p>\n", out);
	write_worst(out, of);
	write_bins(out, of);
}

/* ---- disks ---- */

static void write_row(FILE *out, const char *name, const char *value)
{
	if (!value[0])
		return;
	fputs("<tr><th>", out);
	markup_text(out, name);
	fputs("</th>", out);
	write_cell(out, "", value);
	fputs("</tr>\n", out);
}

static void write_disk_measures(FILE *out, const struct trial_disk *disk)
{
	char text[TRIAL_TEXT_LEN], a[CHART_VALUE_LEN], b[CHART_VALUE_LEN], c[CHART_VALUE_LEN];

	if (disk->read.was_run) {
		snprintf(text, sizeof(text), "%s in sequence; %s of what is cached",
			 chart_axis_known(a, CHART_RATE, disk->read.sequential_bps),
			 chart_axis_known(b, CHART_RATE, disk->read.repeated_bps));
		write_row(out, "read", text);
	}
	if (disk->rollover.was_run) {
		snprintf(text, sizeof(text), "%s from one file of %s to the next, %s at worst",
			 chart_axis_known(a, CHART_SECONDS,
					  (double)disk->rollover.median_change_ns / 1e9),
			 chart_axis_known(b, CHART_BYTES, (double)disk->rollover.file_bytes),
			 chart_axis_known(c, CHART_SECONDS,
					  (double)disk->rollover.worst_change_ns / 1e9));
		write_row(out, "a new file", text);
	}
	if (disk->read_back.was_run)
		write_row(out, "read back", disk->read_back.text);
}

/* By the size of a file, however small: what a recording of many files pays. */
static void write_file_costs(FILE *out, const struct trial_rollover *rollover)
{
	char value[CHART_VALUE_LEN];

	if (rollover->size_count == 0)
		return;
	fputs("<div class=\"wide\"><table class=\"fit\">\n<thead><tr><th class=\"n\">a file of</th>"
	      "<th class=\"n\">median</th><th class=\"n\">worst</th></tr></thead>\n<tbody>\n",
	      out);
	for (unsigned i = 0; i < rollover->size_count; i++) {
		const struct trial_file_cost *cost = &rollover->sizes[i];

		fputs("<tr>", out);
		write_cell(out, " class=\"n\"",
			   chart_axis_value(value, CHART_BYTES, (double)cost->file_bytes));
		write_cell(out, " class=\"n\"",
			   chart_axis_value(value, CHART_SECONDS, (double)cost->median_ns / 1e9));
		write_cell(out, " class=\"n\"",
			   chart_axis_value(value, CHART_SECONDS, (double)cost->worst_ns / 1e9));
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

static void write_notes(FILE *out, const struct trial_disk *disk)
{
	for (unsigned i = 0; i < disk->environment.note_count; i++)
		write_row(out, "note", disk->environment.notes[i]);
	write_row(out, "block sizes", disk->blocks.note);
	write_row(out, "block sizes", disk->blocks.error);
	write_row(out, "depths", disk->depths.note);
	write_row(out, "depths", disk->depths.error);
	write_row(out, "read", disk->read.note);
	write_row(out, "read", disk->read.error);
	write_row(out, "a new file", disk->rollover.note);
	write_row(out, "a new file", disk->rollover.error);
}

/* What others did on it during the run at the rate. */
static void write_foreign(FILE *out, const struct figures *of, unsigned disk)
{
	const struct trial_run *run = &of->trial->paced;
	char text[VALUE_LEN], share[CHART_VALUE_LEN];

	for (unsigned i = 0; i < run->part_count; i++) {
		if (run->parts[i].disk != disk)
			continue;
		snprintf(text, sizeof(text), "%s of its sectors",
			 chart_axis_known(share, CHART_PERCENT, run->parts[i].pressure.foreign_share));
		write_row(out, "others", text);
	}
}

static void write_disk(FILE *out, const struct figures *of, unsigned number)
{
	uint64_t written = qualify_written_bytes(of->trial, number);
	const struct trial_disk *disk = &of->trial->disks[number];
	const struct trial_environment *e = &disk->environment;
	char text[TRIAL_TEXT_LEN], a[CHART_VALUE_LEN], b[CHART_VALUE_LEN];

	fputs("<figure><h3>", out);
	markup_text(out, disk->target.path);
	fputs("</h3>\n<table class=\"words\">\n<tbody>\n", out);
	write_row(out, "device", disk->target.device[0] ? disk->target.device : e->disk_name);
	write_row(out, "model", e->model);
	write_row(out, "serial", e->serial);
	write_row(out, "firmware", e->firmware);
	snprintf(text, sizeof(text), "%s, %s free",
		 chart_axis_known(a, CHART_BYTES, (double)e->size_bytes),
		 chart_axis_known(b, CHART_BYTES, (double)e->free_bytes));
	write_row(out, "size", text);
	snprintf(text, sizeof(text), "%s %.400s", trial_fs_text(disk), e->mount_options);
	write_row(out, "file system", text);
	snprintf(text, sizeof(text), "%s, %s%s%s", e->transport,
		 e->is_rotational < 0 ? "rotating or not: not known" :
		 e->is_rotational     ? "rotating" :
					"not rotating",
		 e->write_cache[0] ? ", cache " : "", e->write_cache);
	write_row(out, "kind", text);
	if (e->link_bps >= 0) {
		snprintf(text, sizeof(text), "%s by %s, of %s possible",
			 chart_axis_known(a, CHART_RATE, e->link_bps), e->link_node,
			 chart_axis_known(b, CHART_RATE, e->capable_bps));
		write_row(out, "link", text);
	}
	write_row(out, "scheduler", e->scheduler);
	write_disk_measures(out, disk);
	write_foreign(out, of, number);
	write_notes(out, disk);
	snprintf(text, sizeof(text), "%s for this trial, %s",
		 chart_axis_known(a, CHART_BYTES, (double)written), trial_written_text(disk, written));
	write_row(out, "written", text);
	fputs("</tbody></table>\n", out);
	write_file_costs(out, &disk->rollover);
	fputs("</figure>\n", out);
}

static void write_disks(FILE *out, const struct figures *of)
{
	fputs("<h2>Disks</h2>\n<div class=\"figures\" id=\"disks\">\n", out);
	for (unsigned i = 0; i < of->trial->disk_count; i++)
		write_disk(out, of, i);
	fputs("</div>\n", out);
}

/* ---- page ---- */

static void write_head(FILE *out, const struct figures *of)
{
	fputs("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n<title>",
	      out);
	markup_text(out, of->judgement->headline);
	fprintf(out, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", chart_css, page_css);
}

static void write_origin(FILE *out, const struct trial *trial)
{
	char utc[UNITS_UTC_LEN];

	fputs("<p class=\"soft\">", out);
	markup_format(out, "vsib-qualify %s on %s (%s), %.19s UTC, in %.0f s.", VSIB_VERSION,
		      trial->host.name, trial->host.kernel, units_format_utc(utc, trial->begin_utc_ns),
		      (double)(trial->end_utc_ns - trial->begin_utc_ns) / 1e9);
	fputs("</p>\n", out);
}

int qualify_html(char **text, const struct figures *figures)
{
	size_t len = 0;
	FILE *out = open_memstream(text, &len);
	int ret;

	if (!out)
		return -ENOMEM;
	write_head(out, figures);
	write_verdict(out, figures);
	write_origin(out, figures->trial);
	write_facts(out, figures);
	write_reasons(out, figures);
	write_rates(out, figures);
	fputs("<h2>Figures</h2>\n", out);
	ret = figures_write(out, figures);
	write_run(out, figures);
	write_disks(out, figures);
	fputs("</body>\n</html>", out);
	if (ferror(out) && ret == 0)
		ret = -ENOMEM;
	if (fclose(out) != 0 && ret == 0)
		ret = -ENOMEM;
	if (ret < 0) {
		free(*text);
		*text = NULL;
	}
	return ret;
}
