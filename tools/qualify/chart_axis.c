/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/chart_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KIB 1024.0

/* What a unit is counted in, from the smallest on. */
struct measure {
	double size; /* of one, in the unit of the values */
	const char *name;
};

static const struct measure bytes_measures[] = { { 1, "B" },
						 { KIB, "KiB" },
						 { KIB * KIB, "MiB" },
						 { KIB * KIB * KIB, "GiB" },
						 { KIB * KIB * KIB * KIB, "TiB" },
						 { KIB * KIB * KIB * KIB * KIB, "PiB" } };
static const struct measure seconds_measures[] = { { 1e-9, "ns" }, { 1e-6, "µs" }, { 1e-3, "ms" },
						   { 1, "s" },     { 60, "min" },  { 3600, "h" },
						   { 86400, "d" } };
static const struct measure rate_measures[] = { { 1e6, "Mbit/s" } };
static const struct measure percent_measures[] = { { 0.01, "%" } };
static const struct measure celsius_measures[] = { { 1, "°C" } };
static const struct measure number_measures[] = { { 1, "" } };

static const struct {
	const struct measure *list;
	unsigned count;
	double turn; /* the next larger is taken from so many of one on */
} measures[] = {
	[CHART_NUMBER] = { number_measures, 1, 1 }, [CHART_PERCENT] = { percent_measures, 1, 1 },
	[CHART_BYTES] = { bytes_measures, 6, 1 },   [CHART_SECONDS] = { seconds_measures, 7, 3 },
	[CHART_RATE] = { rate_measures, 1, 1 },     [CHART_CELSIUS] = { celsius_measures, 1, 1 },
};

/* The largest of which the value has so many. */
static const struct measure *measure_for(enum chart_unit unit, double value, double turn)
{
	const struct measure *found = &measures[unit].list[0];

	/* From the minute on a few of one are told in the smaller: 100 s, not 1.67 min. */
	for (unsigned i = 1; i < measures[unit].count; i++) {
		const struct measure *next = &measures[unit].list[i];
		bool is_long = unit == CHART_SECONDS && next->size > 1;

		if (value >= next->size * (is_long ? turn : 1) * (1 - 1e-9))
			found = next;
	}
	return found;
}

bool chart_axis_shows(const struct chart_axis *axis, double value)
{
	return isfinite(value) && (axis->scale == CHART_LINEAR || value > 0);
}

void chart_axis_include(struct chart_axis *axis, double value)
{
	if (!chart_axis_shows(axis, value))
		return;
	if (axis->most > 0)
		value = fmin(value, axis->most);
	axis->low = axis->has_values ? fmin(axis->low, value) : value;
	axis->high = axis->has_values ? fmax(axis->high, value) : value;
	axis->has_values = true;
}

/* ---- ticks ---- */

static void add_tick(struct chart_axis *axis, double at, const char *text)
{
	if (axis->tick_count == CHART_TICKS_MAX)
		return;
	axis->ticks[axis->tick_count].at = at;
	snprintf(axis->ticks[axis->tick_count++].text, CHART_TICK_LEN, "%s", text);
}

/* 1, 2 or 5 times a power of ten, so that the range has at most so many. */
static double nice_step(double range, unsigned most)
{
	double power, step = range / most;

	power = pow(10, floor(log10(step)));
	step /= power;
	return power * (step <= 1.0001 ? 1 : step <= 2.0001 ? 2 : step <= 5.0001 ? 5 : 10);
}

static void settle_linear(struct chart_axis *axis, unsigned most)
{
	const struct measure *measure = measure_for(
		axis->unit, fmax(fabs(axis->high), fabs(axis->low)), measures[axis->unit].turn);
	double step, first, last;
	int decimals;

	if (axis->unit != CHART_CELSIUS)
		axis->low = fmin(axis->low, 0);
	if (axis->high - axis->low < measure->size * 1e-9) {
		axis->high = axis->low + measure->size;
		axis->is_tight = false;
	}
	step = nice_step((axis->high - axis->low) / measure->size, most);
	first = ceil(axis->low / measure->size / step - 1e-6);
	last = floor(axis->high / measure->size / step + 1e-6);
	if (!axis->is_tight) {
		first = floor(axis->low / measure->size / step + 1e-6);
		last = ceil(axis->high / measure->size / step - 1e-6);
		axis->low = first * step * measure->size;
		axis->high = last * step * measure->size;
	}
	decimals = step < 1 ? (int)fmin(9, ceil(-log10(step) - 1e-9)) : 0;
	for (double i = first; i <= last && axis->tick_count < CHART_TICKS_MAX; i++) {
		char text[CHART_TICK_LEN];

		snprintf(text, sizeof(text), "%.*f", decimals, i == 0 ? 0.0 : i * step);
		add_tick(axis, i * step * measure->size, text);
	}
	snprintf(axis->unit_text, sizeof(axis->unit_text), "%s", measure->name);
}

/* A power is told by its own measure: 256 KiB, 1 MiB. Where all have one measure the axis tells it. */
static void settle_log(struct chart_axis *axis, unsigned most)
{
	double base = axis->scale == CHART_LOG2 ? 2 : 10, low, high;
	int first, last, stride = 1;
	double unit = measures[axis->unit].count == 1 ? measures[axis->unit].list[0].size : 1;
	bool has_measures = measures[axis->unit].count > 1;

	low = log(axis->low / unit) / log(base);
	high = log(axis->high / unit) / log(base);
	if (high - low < 1 && !axis->is_tight)
		high = floor(low + 1e-6) + 1;
	if (high - low < 0.01) {
		low -= 1;
		high += 1;
	}
	if (!axis->is_tight) {
		low = floor(low + 1e-6);
		high = ceil(high - 1e-6);
	}
	axis->low = pow(base, low) * unit;
	axis->high = pow(base, high) * unit;
	first = (int)ceil(low - 1e-6);
	last = (int)floor(high + 1e-6);
	while ((last - first) / stride + 1 > (int)most)
		stride++;
	if (!has_measures)
		snprintf(axis->unit_text, sizeof(axis->unit_text), "%s",
			 measures[axis->unit].list[0].name);
	for (int i = first; i <= last; i += stride) {
		double at = pow(base, i) * unit;
		const struct measure *measure = measure_for(axis->unit, at, 1);
		char text[CHART_TICK_LEN];

		snprintf(text, sizeof(text), "%.7g%s%s", at / measure->size,
			 has_measures ? " " : "", has_measures ? measure->name : "");
		add_tick(axis, at, text);
	}
}

void chart_axis_settle(struct chart_axis *axis, unsigned most)
{
	axis->tick_count = 0;
	axis->unit_text[0] = '\0';
	if (!axis->has_values) {
		axis->low = axis->scale == CHART_LINEAR ? 0 : 1;
		axis->high = axis->scale == CHART_LINEAR ? 1 : 10;
	}
	if (axis->scale == CHART_LINEAR)
		settle_linear(axis, most);
	else
		settle_log(axis, most);
}

double chart_axis_place(const struct chart_axis *axis, double value)
{
	double place;

	if (axis->scale == CHART_LINEAR)
		place = (value - axis->low) / (axis->high - axis->low);
	else
		place = log(value / axis->low) / log(axis->high / axis->low);
	return fmax(0, fmin(1, place));
}

char *chart_axis_value(char *text, enum chart_unit unit, double value)
{
	const struct measure *measure;

	if (!isfinite(value)) {
		snprintf(text, CHART_VALUE_LEN, "%s", isnan(value) ? "not known" : "without limit");
		return text;
	}
	/* 0 s, and not 0 ns */
	measure = measure_for(unit, value == 0 && unit == CHART_SECONDS ? 1 : fabs(value),
			      measures[unit].turn);
	value /= measure->size;
	snprintf(text, CHART_VALUE_LEN, "%.*f%s%s",
		 fabs(value) >= 100 || value == 0 ? 0 :
		 fabs(value) >= 10                ? 1 :
		 fabs(value) >= 1                 ? 2 :
						    3,
		 value, measure->name[0] ? " " : "", measure->name);
	return text;
}

char *chart_axis_known(char *text, enum chart_unit unit, double value)
{
	return chart_axis_value(text, unit, value < 0 ? NAN : value);
}
