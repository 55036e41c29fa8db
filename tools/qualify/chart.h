/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chart.h - small charts as SVG inside of a page: lines, areas and bars on one or two axes
 *
 *   chart_add(), chart_mark() ... -> chart_write() -> chart_free()
 *
 * A chart is CHART_WIDTH units wide whatever the page: it is laid out for a telephone held upright, where its
 * smallest letters are 11 px, and is scaled up from there. Colours are custom properties of the page (chart_css), so
 * that a dark screen and paper have their own. No script. Text is escaped here.
 * Threads: pure.
 */
#ifndef VSIB_TOOLS_QUALIFY_CHART_H
#define VSIB_TOOLS_QUALIFY_CHART_H

#include <stdio.h>

#include "tools/qualify/chart_axis.h"
#include "tools/qualify/curve.h"

#define CHART_WIDTH 360
#define CHART_HEIGHT 240
#define CHART_SERIES_MAX 16
#define CHART_MARKS_MAX 12
#define CHART_NAME_LEN 64
#define CHART_COLOURS 6 /* chart_css has so many */

enum chart_style { CHART_LINE, CHART_AREA, CHART_DOTTED_LINE, CHART_BARS };

struct chart_series {
	char name[CHART_NAME_LEN];
	enum chart_style style;
	unsigned colour;
	bool is_dashed; /* a former run */
	bool is_second; /* on the second axis */
	struct curve curve;
};

struct chart_mark {
	char text[CHART_NAME_LEN];
	bool is_vertical, is_limit;
	double at;
};

struct chart {
	const char *id; /* of the element, and in front of its parts' ids */
	const char *title;
	struct chart_axis x, y, second;
	struct chart_series series[CHART_SERIES_MAX];
	unsigned series_count;
	struct chart_mark marks[CHART_MARKS_MAX];
	unsigned mark_count;
	int emphasised; /* a bar of the first series; -1 = none */
};

/** chart_css - colours and strokes, for the page's style sheet */
extern const char *const chart_css;

/** chart_begin() - empty, with an id and a title that outlive it; then set its axes */
void chart_begin(struct chart *chart, const char *id, const char *title);

/**
 * chart_add() - a curve
 * @curve: its points become the chart's; it is empty afterwards. An empty one is left out.
 * Return: the series, to say more of it; NULL: it was empty, or there are CHART_SERIES_MAX.
 */
struct chart_series *chart_add(struct chart *chart, struct curve *curve, enum chart_style style,
			       unsigned colour, const char *name);

/**
 * chart_mark() - a line across at a value
 * @text: a few words; a value beyond the axis' end is told at its end, with an arrow
 */
void chart_mark(struct chart *chart, bool is_vertical, bool is_limit, double at, const char *text);

/** chart_write() - the svg element with title and description, and the legend behind it */
void chart_write(FILE *out, struct chart *chart);

/** chart_free() - its curves */
void chart_free(struct chart *chart);

#endif
