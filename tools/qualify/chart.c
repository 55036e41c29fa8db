/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qualify/markup.h"

#define LETTER 12        /* of the smallest text: at 336 of 360 px that is 11.2 */
#define LETTER_WIDTH 6.7 /* a digit's, about */
#define TOP 26.0         /* above the plot: the titles of the axes upwards */
#define BOTTOM 38.0      /* below it: ticks and title */
#define X_TICKS 6
#define Y_TICKS 5
#define Y_LOG_TICKS 7
#define LABEL_ROWS 6
#define LABELS_MAX CHART_MARKS_MAX

const char *const chart_css =
	":root{--paper:#fff;--ink:#1b1f24;--soft:#57606a;--grid:#d9dee3;--limit:#b3161c;"
	"--c0:#1f64b4;--c1:#c2570c;--c2:#15806a;--c3:#7a45a8;--c4:#8a6d00;--c5:#b0336f}\n"
	"@media (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e6eaee;--soft:#a3adb8;"
	"--grid:#343c45;--limit:#ff7b72;--c0:#6cb0ff;--c1:#ffa657;--c2:#4fd1b0;--c3:#cba6f7;--c4:#e3c04d;"
	"--c5:#ff8fc0}}\n"
	"@media print{:root{--paper:#fff;--ink:#000;--soft:#333;--grid:#ccc;--limit:#b3161c;--c0:#1f64b4;"
	"--c1:#c2570c;--c2:#15806a;--c3:#7a45a8;--c4:#8a6d00;--c5:#b0336f}}\n"
	".chart{display:block;width:100%;height:auto;font:12px system-ui,sans-serif;fill:var(--ink)}\n"
	".chart .grid{stroke:var(--grid);stroke-width:1;fill:none}\n"
	".chart .frame{stroke:var(--soft);stroke-width:1;fill:none}\n"
	".chart .soft{fill:var(--soft)}\n"
	".chart .mark{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:1 3;stroke-linecap:round}\n"
	".chart .limit{stroke:var(--limit);stroke-width:1.6;stroke-dasharray:7 3}\n"
	".chart .halo{paint-order:stroke;stroke:var(--paper);stroke-width:4;stroke-linejoin:round}\n"
	".chart .beyond{fill:var(--limit)}\n"
	".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\n"
	".thin{stroke-width:1.3}\n"
	".former{stroke-dasharray:5 4;stroke-width:1.6;stroke-opacity:.75}\n"
	".area{stroke:none;fill-opacity:.16}\n"
	".s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}.s4{stroke:var(--c4)}"
	".s5{stroke:var(--c5)}\n"
	".f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}.f4{fill:var(--c4)}.f5{fill:var(--c5)}\n"
	".bar{fill-opacity:.55}.bar.best{fill-opacity:1}\n"
	".legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 14px;margin:2px 0 0;padding:0;font-size:13px}\n"
	".legend li{display:flex;align-items:center;gap:6px;min-width:0;overflow-wrap:anywhere}\n"
	".legend svg{flex:none;width:24px;height:10px}\n";

struct box {
	double left, top, right, bottom;
};

/* Where the plot lies, and which texts stand in it already. */
struct frame {
	struct box plot;
	struct box labels[LABELS_MAX];
	unsigned label_count;
};

void chart_begin(struct chart *chart, const char *id, const char *title)
{
	*chart = (struct chart){ .id = id, .title = title, .emphasised = -1 };
}

struct chart_series *chart_add(struct chart *chart, struct curve *curve, enum chart_style style,
			       unsigned colour, const char *name)
{
	struct chart_series *series = &chart->series[chart->series_count];

	if (curve->count == 0 || chart->series_count == CHART_SERIES_MAX) {
		curve_free(curve);
		return NULL;
	}
	*series = (struct chart_series){ .style = style,
					 .colour = colour % CHART_COLOURS,
					 .curve = *curve };
	snprintf(series->name, sizeof(series->name), "%s", name);
	*curve = (struct curve){ 0 };
	chart->series_count++;
	return series;
}

void chart_mark(struct chart *chart, bool is_vertical, bool is_limit, double at, const char *text)
{
	struct chart_mark *mark = &chart->marks[chart->mark_count];
	const struct chart_axis *axis = is_vertical ? &chart->x : &chart->y;

	if (chart->mark_count == CHART_MARKS_MAX || !chart_axis_shows(axis, at))
		return;
	*mark = (struct chart_mark){ .is_vertical = is_vertical, .is_limit = is_limit, .at = at };
	snprintf(mark->text, sizeof(mark->text), "%s", text);
	chart->mark_count++;
}

void chart_free(struct chart *chart)
{
	for (unsigned i = 0; i < chart->series_count; i++)
		curve_free(&chart->series[i].curve);
	chart->series_count = 0;
}

/* ---- layout ---- */

static struct chart_axis *upward(struct chart *chart, const struct chart_series *series)
{
	return series->is_second ? &chart->second : &chart->y;
}

static bool has_bars(const struct chart *chart)
{
	return chart->series_count > 0 && chart->series[0].style == CHART_BARS;
}

static void settle_axes(struct chart *chart)
{
	for (unsigned s = 0; s < chart->series_count; s++) {
		const struct curve *curve = &chart->series[s].curve;

		for (size_t i = 0; i < curve->count; i++) {
			chart_axis_include(&chart->x, curve->points[i].x);
			chart_axis_include(upward(chart, &chart->series[s]), curve->points[i].y);
		}
	}
	for (unsigned i = 0; i < chart->mark_count; i++)
		chart_axis_include(chart->marks[i].is_vertical ? &chart->x : &chart->y,
				   chart->marks[i].at);
	if (has_bars(chart)) { /* half a step at both ends: bars stand on powers of two */
		chart_axis_include(&chart->x, chart->x.low / M_SQRT2);
		chart_axis_include(&chart->x, chart->x.high * M_SQRT2);
	}
	chart_axis_settle(&chart->x, X_TICKS);
	chart_axis_settle(&chart->y, chart->y.scale == CHART_LINEAR ? Y_TICKS : Y_LOG_TICKS);
	chart_axis_settle(&chart->second, Y_TICKS);
}

/* In characters: UTF-8 has more bytes than those. */
static double text_width(const char *text)
{
	double count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count * LETTER_WIDTH;
}

static double widest_tick(const struct chart_axis *axis)
{
	double width = 0;

	for (unsigned i = 0; i < axis->tick_count; i++)
		width = fmax(width, text_width(axis->ticks[i].text));
	return width;
}

static struct frame make_frame(const struct chart *chart)
{
	double right = chart->second.title ? widest_tick(&chart->second) + 8 : 12;

	return (struct frame){ .plot = { widest_tick(&chart->y) + 9, TOP, CHART_WIDTH - right,
					 CHART_HEIGHT - BOTTOM } };
}

static double place_x(const struct chart *chart, const struct frame *frame, double value)
{
	return frame->plot.left +
	       chart_axis_place(&chart->x, value) * (frame->plot.right - frame->plot.left);
}

static double place_y(const struct chart_axis *axis, const struct frame *frame, double value)
{
	return frame->plot.bottom -
	       chart_axis_place(axis, value) * (frame->plot.bottom - frame->plot.top);
}

/* ---- axes ---- */

static void write_title(FILE *out, const struct chart_axis *axis, double x, double y, const char *anchor)
{
	fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	markup_text(out, axis->title);
	if (axis->unit_text[0])
		markup_format(out, ", %s", axis->unit_text);
	fputs("</text>\n", out);
}

/* Words that would run into the ones before are left out. */
static void write_x_axis(FILE *out, const struct chart *chart, const struct frame *frame)
{
	double taken = -1e9;

	for (unsigned i = 0; i < chart->x.tick_count; i++) {
		const char *text = chart->x.ticks[i].text;
		double x = place_x(chart, frame, chart->x.ticks[i].at), half = text_width(text) / 2;
		double at = fmin(fmax(x, half), CHART_WIDTH - half);

		if (!has_bars(chart))
			fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x,
				frame->plot.top, frame->plot.bottom);
		if (at - half < taken)
			continue;
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", at,
			frame->plot.bottom + LETTER + 4);
		markup_text(out, text);
		fputs("</text>\n", out);
		taken = at + half + 4;
	}
	write_title(out, &chart->x, (frame->plot.left + frame->plot.right) / 2, CHART_HEIGHT - 5,
		    "middle");
}

static void write_y_axis(FILE *out, const struct chart_axis *axis, const struct frame *frame,
			 bool is_second)
{
	for (unsigned i = 0; i < axis->tick_count; i++) {
		double y = place_y(axis, frame, axis->ticks[i].at);

		if (!is_second)
			fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n",
				frame->plot.left, y, frame->plot.right);
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
			is_second ? frame->plot.right + 5 : frame->plot.left - 5, y + 4,
			is_second ? "start" : "end");
		markup_text(out, axis->ticks[i].text);
		fputs("</text>\n", out);
	}
	write_title(out, axis, is_second ? CHART_WIDTH - 1 : 1, LETTER, is_second ? "end" : "start");
}

/* ---- curves ---- */

/* In steps of time there are more points than pixels: a line is enough there. */
static void write_path(FILE *out, const struct chart *chart, const struct chart_series *series,
		       const struct chart_axis *axis, const struct frame *frame)
{
	char command = 'M';

	for (size_t i = 0; i < series->curve.count; i++) {
		const struct curve_point *point = &series->curve.points[i];

		if (!chart_axis_shows(&chart->x, point->x) || !chart_axis_shows(axis, point->y))
			continue;
		fprintf(out, "%c%.1f %.1f", command, place_x(chart, frame, point->x),
			place_y(axis, frame, point->y));
		command = 'L';
	}
}

static void write_area(FILE *out, const struct chart *chart, const struct chart_series *series,
		       const struct chart_axis *axis, const struct frame *frame)
{
	const struct curve_point *points = series->curve.points;

	fprintf(out, "<path class=\"area f%u\" d=\"", series->colour);
	write_path(out, chart, series, axis, frame);
	fprintf(out, "L%.1f %.1fH%.1fZ\"/>\n",
		place_x(chart, frame, points[series->curve.count - 1].x), frame->plot.bottom,
		place_x(chart, frame, points[0].x));
}

static void write_line(FILE *out, const struct chart *chart, const struct chart_series *series,
		       const struct chart_axis *axis, const struct frame *frame)
{
	fprintf(out, "<path class=\"line%s%s s%u\" d=\"", series->is_dashed ? " former" : "",
		series->style == CHART_AREA ? " thin" : "", series->colour);
	write_path(out, chart, series, axis, frame);
	fputs("\"/>\n", out);
	/* A single point is no line. */
	for (size_t i = 0; i < series->curve.count; i++) {
		const struct curve_point *point = &series->curve.points[i];

		if (series->style != CHART_DOTTED_LINE && series->curve.count > 1)
			break;
		if (chart_axis_shows(&chart->x, point->x) && chart_axis_shows(axis, point->y))
			fprintf(out, "<circle class=\"f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>\n",
				series->colour, place_x(chart, frame, point->x),
				place_y(axis, frame, point->y), series->curve.count > 1 ? "2.6" : "4");
	}
}

/* The width that lets the closest two stand apart. */
static double bar_width(const struct chart *chart, const struct curve *curve, const struct frame *frame)
{
	double width = (frame->plot.right - frame->plot.left) / 3;

	for (size_t i = 1; i < curve->count; i++) {
		double apart = place_x(chart, frame, curve->points[i].x) -
			       place_x(chart, frame, curve->points[i - 1].x);

		width = fmin(width, fabs(apart) * 0.72);
	}
	return width;
}

static void write_bars(FILE *out, const struct chart *chart, const struct chart_series *series,
		       const struct chart_axis *axis, const struct frame *frame)
{
	double width = bar_width(chart, &series->curve, frame);

	for (size_t i = 0; i < series->curve.count; i++) {
		const struct curve_point *point = &series->curve.points[i];
		double y = place_y(axis, frame, point->y);

		if (chart_axis_shows(&chart->x, point->x))
			fprintf(out,
				"<rect class=\"bar%s f%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
				(int)i == chart->emphasised ? " best" : "", series->colour,
				place_x(chart, frame, point->x) - width / 2, y, width,
				frame->plot.bottom - y);
	}
}

static void write_series(FILE *out, struct chart *chart, const struct frame *frame)
{
	for (unsigned i = 0; i < chart->series_count; i++) {
		const struct chart_series *series = &chart->series[i];
		const struct chart_axis *axis = upward(chart, series);

		if (series->style == CHART_BARS) {
			write_bars(out, chart, series, axis, frame);
			continue;
		}
		if (series->style == CHART_AREA && series->curve.count > 1)
			write_area(out, chart, series, axis, frame);
		write_line(out, chart, series, axis, frame);
	}
}

/* ---- marks ---- */

static bool is_free(const struct frame *frame, const struct box *box)
{
	if (box->left < frame->plot.left || box->right > frame->plot.right ||
	    box->top < frame->plot.top || box->bottom > frame->plot.bottom)
		return false;
	for (unsigned i = 0; i < frame->label_count; i++) {
		const struct box *other = &frame->labels[i];

		if (box->left < other->right && other->left < box->right &&
		    box->top < other->bottom && other->top < box->bottom)
			return false;
	}
	return true;
}

static bool is_inside(const struct box *box, double x, double y)
{
	return x > box->left && x < box->right && y > box->top && y < box->bottom;
}

/* Does the line of a mark run through? */
static bool is_marked(const struct chart *chart, const struct frame *frame, const struct box *box)
{
	for (unsigned i = 0; i < chart->mark_count; i++) {
		const struct chart_mark *mark = &chart->marks[i];
		double x = mark->is_vertical ? place_x(chart, frame, mark->at) :
					       (box->left + box->right) / 2;
		double y = mark->is_vertical ? (box->top + box->bottom) / 2 :
					       place_y(&chart->y, frame, mark->at);

		if (is_inside(box, x, y))
			return true;
	}
	return false;
}

/* Looked at in steps of a few units. */
static bool runs_through(const struct box *box, const struct curve_point *from,
			 const struct curve_point *to)
{
	unsigned steps = 1 + (unsigned)(hypot(to->x - from->x, to->y - from->y) / 4);

	for (unsigned i = 0; i <= steps; i++)
		if (is_inside(box, from->x + (to->x - from->x) * i / steps,
			      from->y + (to->y - from->y) * i / steps))
			return true;
	return false;
}

static bool is_in_the_way(struct chart *chart, const struct chart_series *series,
			  const struct frame *frame, const struct box *box)
{
	const struct chart_axis *axis = upward(chart, series);
	struct curve_point last = { NAN, NAN };

	for (size_t i = 0; i < series->curve.count; i++) {
		const struct curve_point *point = &series->curve.points[i];
		struct curve_point here;

		if (!chart_axis_shows(&chart->x, point->x) || !chart_axis_shows(axis, point->y))
			continue;
		here.x = place_x(chart, frame, point->x);
		here.y = place_y(axis, frame, point->y);
		if (runs_through(box, isnan(last.x) ? &here : &last, &here))
			return true;
		last = here;
	}
	return false;
}

static bool is_crossed(struct chart *chart, const struct frame *frame, const struct box *box)
{
	for (unsigned i = 0; i < chart->series_count; i++)
		if (is_in_the_way(chart, &chart->series[i], frame, box))
			return true;
	return is_marked(chart, frame, box);
}

/* The candidates for a label beside its line: from the top on, or from the right on. */
static struct box candidate(const struct frame *frame, const struct chart_mark *mark, double at,
			    double width, unsigned number)
{
	const struct box *plot = &frame->plot;
	double height = LETTER + 3, row = floor(number / 2.0);
	struct box box;

	if (mark->is_vertical) {
		box.left = (number % 2) == (at < (plot->left + plot->right) / 2) ? at - width - 5 :
										   at + 5;
		box.top = plot->top + 2 + row * height;
	} else {
		box.left = plot->right - width - 4 -
			   (plot->right - plot->left - width - 8) * row / (LABEL_ROWS - 1);
		box.top = number % 2 == 0 ? at - height - 1 : at + 2;
	}
	box.right = box.left + width;
	box.bottom = box.top + height;
	return box;
}

/* The first that is free of labels, curves and lines; else the first that is free of labels. */
static struct box find_place(struct chart *chart, const struct frame *frame,
			     const struct chart_mark *mark, double at, double width)
{
	struct box found = { fmax(frame->plot.left + 2, frame->plot.right - width - 4),
			     frame->plot.top, frame->plot.right, frame->plot.top + LETTER + 3 };
	bool has_found = false;

	for (unsigned i = 0; i < LABEL_ROWS * 2; i++) {
		struct box box = candidate(frame, mark, at, width, i);

		if (!is_free(frame, &box))
			continue;
		if (!is_crossed(chart, frame, &box))
			return box;
		if (!has_found)
			found = box;
		has_found = true;
	}
	return found;
}

static void write_mark(FILE *out, struct chart *chart, struct frame *frame,
		       const struct chart_mark *mark)
{
	const struct chart_axis *axis = mark->is_vertical ? &chart->x : &chart->y;
	bool is_beyond = mark->at > axis->high * (1 + 1e-9);
	double at = mark->is_vertical ? place_x(chart, frame, mark->at) :
					place_y(axis, frame, mark->at);
	const char *arrow = !is_beyond ? "" : mark->is_vertical ? "→ " : "↑ ";
	struct box box =
		find_place(chart, frame, mark, at, text_width(mark->text) + text_width(arrow));

	if (!is_beyond && mark->is_vertical)
		fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n",
			mark->is_limit ? "limit" : "mark", at, frame->plot.top, frame->plot.bottom);
	else if (!is_beyond)
		fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>\n",
			mark->is_limit ? "limit" : "mark", frame->plot.left, at, frame->plot.right);
	frame->labels[frame->label_count++] = box;
	fprintf(out, "<text class=\"halo%s\" x=\"%.1f\" y=\"%.1f\"", mark->is_limit ? " beyond" : "",
		mark->is_vertical && box.left < at ? box.right : box.left, box.bottom - 4);
	fprintf(out, "%s>%s", mark->is_vertical && box.left < at ? " text-anchor=\"end\"" : "", arrow);
	markup_text(out, mark->text);
	fputs("</text>\n", out);
}

/* ---- words ---- */

static void describe_series(FILE *out, const struct chart *chart, const struct chart_series *series)
{
	const struct chart_axis *axis = series->is_second ? &chart->second : &chart->y;
	const struct curve_point *points = series->curve.points;
	size_t low = 0, high = 0, last = series->curve.count - 1;
	char value[CHART_VALUE_LEN], place[CHART_VALUE_LEN];

	for (size_t i = 0; i <= last; i++) {
		low = points[i].y < points[low].y ? i : low;
		high = points[i].y > points[high].y ? i : high;
	}
	markup_format(out, "%s: first %s", series->name,
		      chart_axis_value(value, axis->unit, points[0].y));
	markup_format(out, ", lowest %s at %s", chart_axis_value(value, axis->unit, points[low].y),
		      chart_axis_value(place, chart->x.unit, points[low].x));
	markup_format(out, ", highest %s at %s", chart_axis_value(value, axis->unit, points[high].y),
		      chart_axis_value(place, chart->x.unit, points[high].x));
	markup_format(out, ", last %s. ", chart_axis_value(value, axis->unit, points[last].y));
}

static void write_words(FILE *out, const struct chart *chart)
{
	fprintf(out, "<title id=\"%s-title\">", chart->id);
	markup_text(out, chart->title);
	fprintf(out, "</title>\n<desc id=\"%s-words\">", chart->id);
	for (unsigned i = 0; i < chart->series_count; i++)
		describe_series(out, chart, &chart->series[i]);
	for (unsigned i = 0; i < chart->mark_count; i++)
		markup_format(out, "Marked: %s. ", chart->marks[i].text);
	fputs("</desc>\n", out);
}

static void write_legend(FILE *out, const struct chart *chart)
{
	if (chart->series_count < 2)
		return;
	fputs("<ul class=\"legend\">\n", out);
	for (unsigned i = 0; i < chart->series_count; i++) {
		const struct chart_series *series = &chart->series[i];

		fputs("<li><svg viewBox=\"0 0 24 10\" aria-hidden=\"true\">", out);
		if (series->style == CHART_BARS)
			fprintf(out, "<rect class=\"bar f%u\" x=\"5\" width=\"14\" height=\"10\"/>",
				series->colour);
		else
			fprintf(out, "<path class=\"line%s s%u\" d=\"M1 5H23\"/>",
				series->is_dashed ? " former" : "", series->colour);
		if (series->style == CHART_DOTTED_LINE)
			fprintf(out, "<circle class=\"f%u\" cx=\"12\" cy=\"5\" r=\"3\"/>",
				series->colour);
		fputs("</svg><span>", out);
		markup_text(out, series->name);
		fputs("</span></li>\n", out);
	}
	fputs("</ul>\n", out);
}

void chart_write(FILE *out, struct chart *chart)
{
	struct frame frame;

	settle_axes(chart);
	frame = make_frame(chart);
	fprintf(out,
		"<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-title %s-words\">\n",
		CHART_WIDTH, CHART_HEIGHT, chart->id, chart->id);
	write_words(out, chart);
	write_y_axis(out, &chart->y, &frame, false);
	if (chart->second.title)
		write_y_axis(out, &chart->second, &frame, true);
	write_x_axis(out, chart, &frame);
	write_series(out, chart, &frame);
	fprintf(out, "<path class=\"frame\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", frame.plot.left,
		frame.plot.top, frame.plot.bottom, frame.plot.right);
	for (unsigned i = 0; i < chart->mark_count; i++)
		write_mark(out, chart, &frame, &chart->marks[i]);
	fputs("</svg>\n", out);
	write_legend(out, chart);
}
