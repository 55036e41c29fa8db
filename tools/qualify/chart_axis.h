/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chart_axis.h - from the values of an axis to its ends, its ticks and their words
 *
 *   chart_axis_include() for each value -> chart_axis_settle() -> chart_axis_place(), ticks
 *
 * Threads: pure.
 */
#ifndef VSIB_TOOLS_QUALIFY_CHART_AXIS_H
#define VSIB_TOOLS_QUALIFY_CHART_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#define CHART_TICKS_MAX 16
#define CHART_TICK_LEN 16

enum chart_unit {
	CHART_NUMBER,
	CHART_PERCENT, /* of values 0 .. 1 */
	CHART_BYTES,   /* KiB, MiB ... */
	CHART_SECONDS, /* us, ms, s, min, h */
	CHART_RATE,    /* bit/s, shown as Mbit/s */
	CHART_CELSIUS,
};

enum chart_scale { CHART_LINEAR, CHART_LOG10, CHART_LOG2 };

struct chart_axis {
	const char *title; /* NULL = there is no such axis */
	enum chart_unit unit;
	enum chart_scale scale;
	bool is_tight; /* ends where its values end, and not at a tick */
	double most;   /* > 0: ends there, whatever comes */

	/* chart_axis_include() */
	bool has_values;
	double low, high;

	/* chart_axis_settle() */
	char unit_text[12]; /* that all ticks share; "" = each says its own */
	struct {
		double at;
		char text[CHART_TICK_LEN];
	} ticks[CHART_TICKS_MAX];
	unsigned tick_count;
};

/** chart_axis_include() - a value that the axis must reach; what a logarithm can't show is left out */
void chart_axis_include(struct chart_axis *axis, double value);

/**
 * chart_axis_settle() - its ends and ticks
 * @most: about so many ticks at most
 */
void chart_axis_settle(struct chart_axis *axis, unsigned most);

/** chart_axis_shows() - can the value be shown at all? */
bool chart_axis_shows(const struct chart_axis *axis, double value);

/** chart_axis_place() - where between the ends: 0 .. 1 */
double chart_axis_place(const struct chart_axis *axis, double value);

/** chart_axis_value() - a value in words, with its unit. Return: @text, CHART_VALUE_LEN bytes */
#define CHART_VALUE_LEN 48
char *chart_axis_value(char *text, enum chart_unit unit, double value);

/** chart_axis_known() - the same of a measure that is below 0 where it is not known */
char *chart_axis_known(char *text, enum chart_unit unit, double value);

#endif
