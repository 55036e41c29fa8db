/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/figures.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tools/qualify/chart.h"
#include "tools/qualify/markup.h"
#include "tools/qualify/topology.h"

#define OFF_SCALE 10 /* a ring never fuller than a tenth: the axis ends far below its capacity */

/* A figure that is being made. */
struct drawing {
	const struct figures *of;
	struct chart *chart;
	unsigned disk; /* of a figure that each disk has */
	int ret;       /* -ENOMEM from one of the curves */
};

static void keep(struct drawing *drawing, int ret)
{
	if (ret < 0)
		drawing->ret = ret;
}

static struct chart_axis axis(const char *title, enum chart_unit unit, enum chart_scale scale)
{
	return (struct chart_axis){ .title = title, .unit = unit, .scale = scale };
}

static struct chart_axis tight(const char *title, enum chart_unit unit, enum chart_scale scale)
{
	return (struct chart_axis){ .title = title, .unit = unit, .scale = scale, .is_tight = true };
}

/* The part of a path that tells disks apart. */
static const char *disk_name(const struct figures *of, unsigned disk)
{
	const char *path = of->trial->disks[disk].target.path, *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A former run's curve, in the colour of its own disk. */
static void add_former(struct drawing *drawing, const struct curve *former, unsigned colour,
		       const char *name)
{
	struct curve curve = { 0 };
	struct chart_series *series;

	for (size_t i = 0; i < former->count; i++)
		keep(drawing, curve_add(&curve, former->points[i].x, former->points[i].y));
	series = chart_add(drawing->chart, &curve, CHART_LINE, colour, name);
	if (series)
		series->is_dashed = true;
}

static const struct baseline_disk *former_disk(const struct drawing *drawing, unsigned disk)
{
	const struct baseline *baseline = drawing->of->baseline;

	return baseline && disk < baseline->disk_count ? &baseline->disks[disk] : NULL;
}

static unsigned shown_disks(const struct figures *of)
{
	return of->trial->disk_count < FIGURES_DISKS_MAX ? of->trial->disk_count : FIGURES_DISKS_MAX;
}

/* ---- ring level over time ---- */

static void add_ring(struct drawing *drawing, const struct trial_run *run, enum chart_style style,
		     unsigned colour, const char *name)
{
	struct curve curve = { 0 };

	if (!run->was_run)
		return;
	keep(drawing, curve_ring(&curve, run));
	chart_add(drawing->chart, &curve, style, colour, name);
}

static const char *draw_ring(struct drawing *drawing)
{
	const struct trial_run *run = &drawing->of->trial->paced;
	const struct baseline *baseline = drawing->of->baseline;
	double high = (double)run->high_water_bytes, capacity = (double)run->ring_bytes;
	struct chart *chart = drawing->chart;
	char text[CHART_NAME_LEN], value[CHART_VALUE_LEN];

	chart->x = tight("time", CHART_SECONDS, CHART_LINEAR);
	chart->y = axis("ring level", CHART_BYTES, CHART_LINEAR);
	add_ring(drawing, run, CHART_AREA, 0, "ring level");
	add_ring(drawing, &drawing->of->trial->source, CHART_LINE, 2, "with the real source");
	add_ring(drawing, &drawing->of->trial->interfered, CHART_LINE, 3, "with foreign I/O");
	if (baseline) {
		add_former(drawing, &baseline->ring, 0, "former run");
		high = fmax(high, baseline->high_water_bytes);
	}
	if (chart->series_count == 0)
		return "there was no run at the rate";
	if (high < capacity / OFF_SCALE)
		chart->y.most = fmax(high * 1.2, 1);
	snprintf(text, sizeof(text), "capacity %s", chart_axis_value(value, CHART_BYTES, capacity));
	chart_mark(chart, false, true, capacity, text);
	if (run->was_run && high < capacity * 0.98) {
		snprintf(text, sizeof(text), "highest %s",
			 chart_axis_value(value, CHART_BYTES, (double)run->high_water_bytes));
		chart_mark(chart, false, false, (double)run->high_water_bytes, text);
	}
	if (run->first_overflow_ns >= 0)
		chart_mark(chart, true, true, (double)run->first_overflow_ns / 1e9, "overflow");
	return NULL;
}

/* ---- rate against bytes written ---- */

static void mark_cliffs(struct drawing *drawing, unsigned disk, enum trial_phase phase)
{
	const struct judgement *judgement = drawing->of->judgement;
	char text[CHART_NAME_LEN], value[CHART_VALUE_LEN];

	for (unsigned i = 0; i < judgement->cliff_count; i++) {
		const struct judgement_cliff *cliff = &judgement->cliffs[i];

		if (cliff->phase != phase || (cliff->disk >= 0 && cliff->disk != (int)disk))
			continue;
		snprintf(text, sizeof(text), "%s after %s", cliff->code,
			 chart_axis_value(value, CHART_BYTES, cliff->at_bytes));
		chart_mark(drawing->chart, true, true, cliff->at_bytes, text);
	}
}

/* What the disk wrote as fast as it went, or else in the run at the rate; NULL = neither. */
static const struct trial_part *rate_part(const struct trial *trial, unsigned disk, bool *is_paced)
{
	const struct trial_run *full = &trial->disks[disk].full;

	*is_paced = !full->part_count;
	if (full->part_count)
		return &full->parts[0];
	for (unsigned i = 0; trial->paced.was_run && i < trial->paced.part_count; i++)
		if (trial->paced.parts[i].disk == disk)
			return &trial->paced.parts[i];
	return NULL;
}

static void add_rate(struct drawing *drawing, unsigned disk)
{
	const struct baseline_disk *former = former_disk(drawing, disk);
	bool is_paced;
	const struct trial_part *part = rate_part(drawing->of->trial, disk, &is_paced);
	const char *name = disk_name(drawing->of, disk);
	struct curve curve = { 0 };
	char text[CHART_NAME_LEN];

	if (part)
		keep(drawing, curve_rate(&curve, part));
	snprintf(text, sizeof(text), "%.40s%s", name, is_paced ? ", run at the rate" : "");
	chart_add(drawing->chart, &curve, CHART_LINE, disk, text);
	snprintf(text, sizeof(text), "%.40s, former run", name);
	if (former)
		add_former(drawing, &former->rate, disk, text);
	mark_cliffs(drawing, disk, is_paced ? PHASE_PACED : PHASE_FULL);
}

static const char *draw_rate(struct drawing *drawing)
{
	const struct trial *trial = drawing->of->trial;
	struct chart *chart = drawing->chart;
	char text[CHART_NAME_LEN];
	double each = (double)drawing->of->judgement->rate_bps /
		      (trial->disk_count ? trial->disk_count : 1);

	chart->x = tight("written to a disk", CHART_BYTES, CHART_LINEAR);
	chart->y = axis("rate", CHART_RATE, CHART_LINEAR);
	for (unsigned i = 0; i < shown_disks(drawing->of); i++)
		add_rate(drawing, i);
	if (chart->series_count == 0)
		return "no writes were traced";
	snprintf(text, sizeof(text), "needed: %.0f Mbit/s%s", each / 1e6,
		 trial->disk_count > 1 ? " each" : "");
	chart_mark(chart, false, true, each, text);
	return NULL;
}

/* ---- rate against position ---- */

static const char *draw_position(struct drawing *drawing)
{
	const struct trial *trial = drawing->of->trial;
	struct chart *chart = drawing->chart;

	chart->x = tight("position on the device", CHART_PERCENT, CHART_LINEAR);
	chart->y = axis("read rate", CHART_RATE, CHART_LINEAR);
	for (unsigned i = 0; i < shown_disks(drawing->of); i++) {
		const struct trial_read *read = &trial->disks[i].read;
		const struct baseline_disk *former = former_disk(drawing, i);
		struct curve curve = { 0 };

		for (unsigned k = 0; k < read->count; k++)
			keep(drawing,
			     curve_add(&curve, read->points[k].position, read->points[k].rate_bps));
		chart_add(chart, &curve, CHART_DOTTED_LINE, i, disk_name(drawing->of, i));
		if (former)
			add_former(drawing, &former->position, i, "former run");
	}
	return chart->series_count ? NULL : "only a device that may be read as a whole has it";
}

/* ---- write times ---- */

static const char *draw_survival(struct drawing *drawing)
{
	const struct trial *trial = drawing->of->trial;
	const struct trial_run *run = &trial->paced;
	struct chart *chart = drawing->chart;
	char text[CHART_NAME_LEN], value[CHART_VALUE_LEN];
	double bytes_per_s = (double)drawing->of->judgement->rate_bps / 8, worst_s = 0;

	chart->x = axis("a write takes longer than", CHART_SECONDS, CHART_LOG10);
	chart->y = axis("share of the writes", CHART_PERCENT, CHART_LOG10);
	for (unsigned i = 0; run->was_run && i < run->part_count && i < FIGURES_DISKS_MAX; i++) {
		struct curve curve = { 0 };

		keep(drawing, curve_survival(&curve, &run->parts[i]));
		if (curve.count)
			worst_s = fmax(worst_s, curve.points[curve.count - 1].x);
		chart_add(chart, &curve, CHART_LINE, run->parts[i].disk,
			  disk_name(drawing->of, run->parts[i].disk));
	}
	if (chart->series_count == 0)
		return "there was no run at the rate, or its writes were not traced";
	if (bytes_per_s > 0) {
		snprintf(text, sizeof(text), "r·w = %s",
			 chart_axis_value(value, CHART_BYTES, bytes_per_s * worst_s));
		chart_mark(chart, true, false, worst_s, text);
		snprintf(text, sizeof(text), "R = %s",
			 chart_axis_value(value, CHART_BYTES, (double)run->ring_bytes));
		chart_mark(chart, true, true, (double)run->ring_bytes / bytes_per_s, text);
	}
	return NULL;
}

/* ---- ring against rate ---- */

static const char *draw_needed(struct drawing *drawing)
{
	const struct judgement *judgement = drawing->of->judgement;
	const struct baseline *baseline = drawing->of->baseline;
	struct chart *chart = drawing->chart;
	struct curve curve = { 0 }, measured = { 0 };
	char text[CHART_NAME_LEN], value[CHART_VALUE_LEN];
	double ring = (double)drawing->of->trial->asked.ring_bytes;

	chart->x = tight("rate", CHART_RATE, CHART_LOG2);
	chart->y = axis("ring needed", CHART_BYTES, CHART_LOG2);
	for (unsigned i = 0; i < judgement->curve_count; i++)
		keep(drawing,
		     curve_add(&curve, judgement->curve[i].rate_bps, judgement->curve[i].ring_bytes));
	chart_add(chart, &curve, CHART_LINE, 0, "replayed");
	/* Where the ring was full, more would have been needed. */
	if (drawing->of->trial->paced.was_run && drawing->of->trial->paced.overflow_count == 0 &&
	    judgement->q_bytes > 0)
		keep(drawing, curve_add(&measured, (double)judgement->rate_bps, judgement->q_bytes));
	chart_add(chart, &measured, CHART_DOTTED_LINE, 1, "measured");
	if (baseline)
		add_former(drawing, &baseline->needed, 0, "former run");
	if (chart->series_count == 0)
		return "no times of writes were measured that could be replayed";
	snprintf(text, sizeof(text), "ring R = %s", chart_axis_value(value, CHART_BYTES, ring));
	chart_mark(chart, false, true, ring, text);
	snprintf(text, sizeof(text), "asked: %.0f Mbit/s", (double)judgement->rate_bps / 1e6);
	chart_mark(chart, true, false, (double)judgement->rate_bps, text);
	return NULL;
}

/* ---- sweeps ---- */

static const char *draw_sweep(struct drawing *drawing, const struct trial_sweep *sweep, bool is_depth)
{
	const struct baseline_disk *former = former_disk(drawing, drawing->disk);
	struct chart *chart = drawing->chart;
	struct curve rate = { 0 }, cpu = { 0 };
	struct chart_series *series;

	chart->x = is_depth ? tight("writes in flight", CHART_NUMBER, CHART_LOG2) :
			      tight("size of a write", CHART_BYTES, CHART_LOG2);
	chart->y = axis("rate", CHART_RATE, CHART_LINEAR);
	chart->second = axis("CPU", CHART_PERCENT, CHART_LINEAR);
	for (unsigned i = 0; i < sweep->count; i++) {
		const struct trial_point *point = &sweep->points[i];
		double x = is_depth ? point->depth : (double)point->block_bytes;

		keep(drawing, curve_add(&rate, x, point->rate_bps));
		keep(drawing, curve_add(&cpu, x, point->cpu_share >= 0 ? point->cpu_share : NAN));
	}
	if (!chart_add(chart, &rate, CHART_BARS, 0, "rate")) {
		curve_free(&cpu);
		return "this sweep was not run";
	}
	chart->emphasised = sweep->knee;
	series = chart_add(chart, &cpu, CHART_DOTTED_LINE, 1, "CPU");
	if (series)
		series->is_second = true;
	else
		chart->second.title = NULL;
	if (former)
		add_former(drawing, is_depth ? &former->depths : &former->blocks, 2,
			   "rate, former run");
	return NULL;
}

static const char *draw_blocks(struct drawing *drawing)
{
	return draw_sweep(drawing, &drawing->of->trial->disks[drawing->disk].blocks, false);
}

static const char *draw_depths(struct drawing *drawing)
{
	return draw_sweep(drawing, &drawing->of->trial->disks[drawing->disk].depths, true);
}

/* ---- temperature ---- */

/* Of the disk that stands least. */
static void mark_temperature_limit(struct drawing *drawing)
{
	const struct trial *trial = drawing->of->trial;
	double limit_c = INFINITY;
	char text[CHART_NAME_LEN];

	for (unsigned i = 0; i < trial->disk_count; i++)
		if (trial->disks[i].environment.temperature_limit_c > 0)
			limit_c = fmin(limit_c, trial->disks[i].environment.temperature_limit_c);
	snprintf(text, sizeof(text), "limit %.0f °C", limit_c);
	chart_mark(drawing->chart, false, true, limit_c, text);
}

static const char *draw_temperature(struct drawing *drawing)
{
	struct chart *chart = drawing->chart;
	struct curve curve = { 0 };

	chart->x = tight("time", CHART_SECONDS, CHART_LINEAR);
	chart->y = axis("hottest disk", CHART_CELSIUS, CHART_LINEAR);
	keep(drawing, curve_temperature(&curve, &drawing->of->trial->paced));
	if (!chart_add(chart, &curve, CHART_LINE, 1, "temperature"))
		return "no disk tells its temperature";
	mark_temperature_limit(drawing);
	return NULL;
}

/* ---- all ---- */

static const struct figure {
	const char *id, *title, *caption;
	const char *(*draw)(struct drawing *drawing); /* NULL, or why it is not there */
	bool is_of_a_disk;
} all[] = {
	{ "ring", "Ring level over time",
	  "What waits in the ring during the run at the rate. Peaks are stalls of a disk; look whether it comes down again after each. A level that rises on and on means that the disks are too slow, and no ring is large enough.",
	  draw_ring, false },
	{ "rate", "Rate against bytes written",
	  "Each disk alone, as fast as it goes; where that was not tried, in the run at the rate. Look for a step down, where a cache is full, and whether what is left lies well above the line that is needed.",
	  draw_rate, false },
	{ "position", "Rate against position",
	  "Read over the whole device. Rotating disks fall to about half towards the end; a dip at one place is a weak region.",
	  draw_position, false },
	{ "survival", "How long writes take",
	  "So many of the writes take longer than that, both axes logarithmic. While a write takes w the ring gains r·w; at the line R one write alone would fill it. Look how far the end of the curve is from R.",
	  draw_survival, false },
	{ "needed", "Ring against rate",
	  "The measured times of the writes replayed at other rates: the ring that each would have needed. Where the curve ends no ring is enough. Only the marked point, if there is one, was measured.",
	  draw_needed, false },
	{ "blocks", "Rate by size of a write",
	  "Larger writes cost less CPU. The bar in full colour is the knee: the smallest size within 5 % of the best rate.",
	  draw_blocks, true },
	{ "depth", "Rate by writes in flight",
	  "With too few in flight the disk waits for the next one. The bar in full colour is the knee; more only makes each write wait longer.",
	  draw_depths, true },
	{ "temperature", "Temperature",
	  "Of the hottest disk during the run at the rate. Look whether it still rises at the end: a disk that is too hot slows down.",
	  draw_temperature, false },
};

/* A figure with data; without, why: for the list at the end. */
static const char *write_figure(FILE *out, const struct figures *of, const struct figure *figure,
				unsigned disk, int *error)
{
	struct chart chart;
	struct drawing drawing = { of, &chart, disk, 0 };
	char id[48], title[CHART_NAME_LEN + 64];
	const char *why;

	snprintf(id, sizeof(id), figure->is_of_a_disk ? "figure-%s-%u" : "figure-%s", figure->id,
		 disk + 1);
	if (figure->is_of_a_disk && of->trial->disk_count > 1)
		snprintf(title, sizeof(title), "%s: %.60s", figure->title, disk_name(of, disk));
	else
		snprintf(title, sizeof(title), "%s", figure->title);
	chart_begin(&chart, id, title);
	why = figure->draw(&drawing);
	if (!why) {
		fprintf(out, "<figure id=\"%s\">\n<h3>", id);
		markup_text(out, title);
		fputs("</h3>\n", out);
		chart_write(out, &chart);
		fputs("<figcaption>", out);
		markup_text(out, figure->caption);
		fputs("</figcaption>\n</figure>\n", out);
	}
	chart_free(&chart);
	if (drawing.ret < 0)
		*error = drawing.ret;
	return why;
}

static const char *write_topology(FILE *out, const struct figures *of)
{
	if (!topology_is_known(of->trial))
		return "the ways to the disks are not known";
	fputs("<figure id=\"figure-topology\">\n<h3>Source and disks</h3>\n", out);
	topology_write(out, of->trial, of->judgement);
	fputs("<figcaption>Which ways lead to the source and the disks. What hangs below one device shares its link: look whether all of it together fits.</figcaption>\n</figure>\n",
	      out);
	return NULL;
}

static void write_absent(FILE *out, const char *title, const char *why)
{
	fputs("<li>", out);
	markup_format(out, "%s: %s.", title, why);
	fputs("</li>\n", out);
}

int figures_write(FILE *out, const struct figures *figures)
{
	const char *absent[sizeof(all) / sizeof(all[0])], *topology;
	bool is_any_absent = false;
	int error = 0;

	fputs("<div class=\"figures\">\n", out);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		unsigned count = all[i].is_of_a_disk ? shown_disks(figures) : 1;

		absent[i] = "there are no disks";
		for (unsigned disk = 0; disk < count; disk++)
			absent[i] = write_figure(out, figures, &all[i], disk, &error);
		is_any_absent = is_any_absent || absent[i];
	}
	topology = write_topology(out, figures);
	fputs("</div>\n", out);
	if (!is_any_absent && !topology)
		return error;
	fputs("<ul class=\"absent\">\n", out);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (absent[i])
			write_absent(out, all[i].title, absent[i]);
	if (topology)
		write_absent(out, "Source and disks", topology);
	fputs("</ul>\n", out);
	return error;
}
