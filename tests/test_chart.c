/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Axes, ticks and marks of charts; curves that keep what matters when they are thinned; text that must not become markup.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/made_trial.h"
#include "tools/qualify/chart.h"
#include "tools/qualify/markup.h"

/* ---- axes ---- */

static struct chart_axis settled(enum chart_unit unit, enum chart_scale scale, double low, double high)
{
	struct chart_axis axis = { .title = "x", .unit = unit, .scale = scale };

	chart_axis_include(&axis, low);
	chart_axis_include(&axis, high);
	chart_axis_settle(&axis, 6);
	return axis;
}

static void expect_ticks(const struct chart_axis *axis, const char *unit, const char *wanted)
{
	char text[256] = "";

	for (unsigned i = 0; i < axis->tick_count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? "|" : "",
			 axis->ticks[i].text);
	assert_string_equal(text, wanted);
	assert_string_equal(axis->unit_text, unit);
}

static void ticks_are_round_and_in_a_unit_that_people_read(void **state)
{
	struct chart_axis axis;

	(void)state;
	axis = settled(CHART_BYTES, CHART_LINEAR, 0, 44.0 * 1048576);
	expect_ticks(&axis, "MiB", "0|10|20|30|40|50");
	axis = settled(CHART_SECONDS, CHART_LINEAR, 0, 725);
	expect_ticks(&axis, "min", "0|5|10|15");
	axis = settled(CHART_SECONDS, CHART_LINEAR, 0, 90);
	expect_ticks(&axis, "s", "0|20|40|60|80|100");
	axis = settled(CHART_RATE, CHART_LINEAR, 0, 0.7e6);
	expect_ticks(&axis, "Mbit/s", "0.0|0.2|0.4|0.6|0.8");
	axis = settled(CHART_CELSIUS, CHART_LINEAR, 31, 48);
	expect_ticks(&axis, "°C", "30|35|40|45|50");
	axis = settled(CHART_BYTES, CHART_LOG2, 4096, 16777216);
	expect_ticks(&axis, "", "4 KiB|32 KiB|256 KiB|2 MiB|16 MiB");
	axis = settled(CHART_SECONDS, CHART_LOG10, 0.00003, 2);
	expect_ticks(&axis, "", "10 µs|1 ms|100 ms|10 s");
}

static void an_axis_takes_whatever_comes(void **state)
{
	static const double values[] = { NAN, INFINITY, -INFINITY, 0, -1, 1e-300, 1e300, 5 };

	(void)state;
	for (unsigned scale = CHART_LINEAR; scale <= CHART_LOG2; scale++)
		for (unsigned i = 0; i < 8; i++)
			for (unsigned k = 0; k < 8; k++) {
				struct chart_axis axis = settled(CHART_BYTES, (enum chart_scale)scale,
								 values[i], values[k]);

				assert_true(isfinite(axis.low) && isfinite(axis.high) &&
					    axis.low < axis.high);
				assert_in_range(axis.tick_count, 0, CHART_TICKS_MAX);
			}
}

static void values_are_told_with_three_digits(void **state)
{
	char text[CHART_VALUE_LEN];

	(void)state;
	assert_string_equal(chart_axis_value(text, CHART_BYTES, 1610612736), "1.50 GiB");
	assert_string_equal(chart_axis_value(text, CHART_RATE, 256e6), "256 Mbit/s");
	assert_string_equal(chart_axis_value(text, CHART_SECONDS, 0.0123), "12.3 ms");
	assert_string_equal(chart_axis_value(text, CHART_SECONDS, 0), "0 s");
	assert_string_equal(chart_axis_value(text, CHART_PERCENT, 0.5), "50.0 %");
	assert_string_equal(chart_axis_value(text, CHART_BYTES, INFINITY), "without limit");
	assert_string_equal(chart_axis_known(text, CHART_BYTES, -1), "not known");
}

/* ---- charts ---- */

static char *drawn(struct chart *chart)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	chart_write(out, chart);
	assert_int_equal(fclose(out), 0);
	chart_free(chart);
	return text;
}

static void begin(struct chart *chart)
{
	struct curve curve = { 0 };

	chart_begin(chart, "c", "A <title>");
	chart->x = (struct chart_axis){ .title = "time", .unit = CHART_SECONDS };
	chart->y = (struct chart_axis){ .title = "level", .unit = CHART_BYTES };
	assert_int_equal(curve_add(&curve, 0, 100), 0);
	assert_int_equal(curve_add(&curve, 10, 300), 0);
	assert_int_equal(curve_add(&curve, 11, NAN), 0);
	assert_int_equal(curve.count, 2);
	assert_non_null(chart_add(chart, &curve, CHART_LINE, 0, "a & b"));
}

static void a_chart_has_words_for_those_who_do_not_see_it(void **state)
{
	struct chart chart;
	char *text;

	(void)state;
	begin(&chart);
	text = drawn(&chart);
	assert_non_null(strstr(text, "role=\"img\" aria-labelledby=\"c-title c-words\""));
	assert_non_null(strstr(text, "<title id=\"c-title\">A &lt;title&gt;</title>"));
	assert_non_null(strstr(
		text,
		"a &amp; b: first 100 B, lowest 100 B at 0 s, highest 300 B at 10.0 s, last 300 B."));
	assert_null(strstr(text, "nan"));
	free(text);
}

static void a_mark_beyond_the_axis_is_told_with_an_arrow(void **state)
{
	struct chart chart;
	char *text;

	(void)state;
	begin(&chart);
	chart.y.most = 400;
	chart_mark(&chart, false, true, 100000, "capacity");
	chart_mark(&chart, true, false, INFINITY, "never");
	assert_int_equal(chart.mark_count, 1);
	text = drawn(&chart);
	assert_non_null(strstr(text, "↑ capacity"));
	assert_null(strstr(text, "class=\"limit\""));
	free(text);
}

static void a_single_point_is_a_dot_and_no_curve_is_none(void **state)
{
	struct chart chart;
	struct curve curve = { 0 };
	char *text;

	(void)state;
	chart_begin(&chart, "c", "t");
	chart.x = chart.y = (struct chart_axis){ .title = "n", .unit = CHART_NUMBER };
	assert_null(chart_add(&chart, &curve, CHART_LINE, 0, "empty"));
	assert_int_equal(curve_add(&curve, 3, 3), 0);
	assert_non_null(chart_add(&chart, &curve, CHART_LINE, 1, "one"));
	text = drawn(&chart);
	assert_non_null(strstr(text, "<circle class=\"f1\""));
	free(text);
}

/* ---- curves ---- */

static void thinning_keeps_the_highest_level_and_both_ends(void **state)
{
	struct trial_run run = { .was_run = true };
	struct curve curve = { 0 };
	double highest = 0;

	(void)state;
	for (int64_t i = 0; i < 100000; i++) {
		struct trial_sample sample = { .at_ns = i * 1000000,
					       .ring_bytes =
						       i == 77777 ? 1000000 : (uint64_t)(i % 10) };

		assert_int_equal(trial_series_add(&run.series, &sample), 0);
	}
	assert_int_equal(curve_ring(&curve, &run), 0);
	assert_in_range(curve.count, 2, CURVE_POINTS_MAX);
	for (size_t i = 1; i < curve.count; i++) {
		assert_true(curve.points[i].x > curve.points[i - 1].x);
		highest = fmax(highest, curve.points[i].y);
	}
	assert_true(highest == 1000000);
	assert_true(curve.points[0].x == 0);
	assert_true(curve.points[curve.count - 1].x > 99.998);
	curve_free(&curve);
	trial_run_free(&run);
}

static void the_cliff_and_the_worst_write_are_in_the_curves(void **state)
{
	struct made_trial *made = made_trial(MADE_CLIFF);
	const struct trial_run *full = &made->trial.disks[0].full, *paced = &made->trial.paced;
	struct curve rate = { 0 }, survival = { 0 };
	struct worst_write worst[3];

	(void)state;
	assert_int_equal(curve_rate(&rate, &full->parts[0]), 0);
	assert_in_range(rate.count, 50, 130);
	for (size_t i = 0; i < rate.count; i++) {
		if (rate.points[i].x < 2.9e9)
			assert_true(rate.points[i].y > 400e6);
		if (rate.points[i].x > 3.2e9)
			assert_true(rate.points[i].y < 360e6);
	}
	assert_int_equal(curve_survival(&survival, &paced->parts[0]), 0);
	assert_true(survival.points[0].y == 1);
	assert_true(fabs(survival.points[survival.count - 1].x -
			 (double)paced->parts[0].worst_ns / 1e9) < 1e-9);
	assert_int_equal(curve_worst_writes(paced, 0, worst, 3), 3);
	assert_true(worst[0].write.ended_ns - worst[0].write.started_ns == paced->parts[0].worst_ns);
	assert_true(worst[0].write.ended_ns - worst[0].write.started_ns >=
		    worst[1].write.ended_ns - worst[1].write.started_ns);
	assert_int_equal(curve_worst_writes(paced, INT64_MAX, worst, 3), 0);
	curve_free(&rate);
	curve_free(&survival);
	made_trial_free(made);
}

/* ---- text ---- */

static void expect_text(const char *text, const char *markup, const char *plain)
{
	char *got = NULL;
	size_t len;

	for (int i = 0; i < 2; i++) {
		FILE *out = open_memstream(&got, &len);

		assert_non_null(out);
		(i ? markup_plain : markup_text)(out, text);
		assert_int_equal(fclose(out), 0);
		assert_string_equal(got, i ? plain : markup);
		free(got);
	}
}

static void no_text_becomes_markup_or_moves_a_terminal(void **state)
{
	(void)state;
	expect_text("<b a=\"'\">&", "&lt;b a=&quot;&#39;&quot;&gt;&amp;", "<b a=\"'\">&");
	expect_text("µ €\xf0\x9f\x92\xbe", "µ €\xf0\x9f\x92\xbe", "µ €\xf0\x9f\x92\xbe");
	expect_text("a\x1b[31m\n\x7f", "a?[31m??", "a?[31m??");
	expect_text("\xff\xc3", "??", "??");                   /* no UTF-8, and a torn character */
	expect_text("\xc0\xbc\xe0\x80\xbc", "?????", "?????"); /* '<' in too many bytes */
	expect_text("\xed\xa0\x80", "???", "???");             /* half of a pair */
	/* NOLINTNEXTLINE(misc-misleading-bidirectional): it is meant to mislead */
	expect_text("\xe2\x80\xae\xc2\x9b\xef\xbf\xbf", "???", "???"); /* turns the line, CSI, no character */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_round_and_in_a_unit_that_people_read),
		cmocka_unit_test(an_axis_takes_whatever_comes),
		cmocka_unit_test(values_are_told_with_three_digits),
		cmocka_unit_test(a_chart_has_words_for_those_who_do_not_see_it),
		cmocka_unit_test(a_mark_beyond_the_axis_is_told_with_an_arrow),
		cmocka_unit_test(a_single_point_is_a_dot_and_no_curve_is_none),
		cmocka_unit_test(thinning_keeps_the_highest_level_and_both_ends),
		cmocka_unit_test(the_cliff_and_the_worst_write_are_in_the_curves),
		cmocka_unit_test(no_text_becomes_markup_or_moves_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
