/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page and the words of a qualification: well-formed whatever names say, the verdict first, each figure there or why
 * it isn't.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/made_trial.h"
#include "tools/qualify/qualify_html.h"
#include "tools/qualify/qualify_text.h"

#define DEPTH_MAX 64

/* Not inlined: gcc would take what it returns for something of its own. */
__attribute__((noinline)) static char *page(const struct made_trial *made)
{
	struct figures figures = { &made->trial, &made->judgement, NULL };
	char *text = NULL;

	assert_int_equal(qualify_html(&text, &figures), 0);
	return text;
}

static char *words(const struct made_trial *made)
{
	struct figures figures = { &made->trial, &made->judgement, NULL };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	qualify_text(out, &figures);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* ---- a small reader of XML: elements that are closed in order, attributes in quotes, entities that are known ---- */

static const char *read_text(const char *at)
{
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };

	for (; *at && *at != '<'; at++) {
		bool is_known = *at != '&';

		for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]) && !is_known; i++)
			is_known = strncmp(at, entities[i], strlen(entities[i])) == 0;
		assert_true(is_known);
		assert_true((unsigned char)*at >= ' ' || *at == '\n' || *at == '\t');
	}
	return at;
}

/* From behind the name to the end of the tag. */
static const char *read_attributes(const char *at)
{
	while (*at != '>' && *at != '/') {
		size_t len = strspn(at, " \n");

		assert_true(len > 0);
		at += len;
		len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789");
		assert_true(len > 0 && at[len] == '=' && at[len + 1] == '"');
		at = strpbrk(at + len + 2, "\"<");
		assert_non_null(at);
		assert_true(*at == '"');
		at++;
	}
	return at;
}

static void expect_well_formed(const char *text)
{
	static char names[DEPTH_MAX][16];
	unsigned depth = 0;
	const char *at = strchr(text, '>') + 1; /* behind the doctype */

	while (*(at = read_text(at))) {
		bool is_end = at[1] == '/';
		size_t len = strspn(at + 1 + is_end, "abcdefghijklmnopqrstuvwxyz123456");
		char name[16];

		assert_in_range(len, 1, sizeof(name) - 1);
		snprintf(name, sizeof(name), "%.*s", (int)len, at + 1 + is_end);
		at = read_attributes(at + 1 + is_end + len);
		if (is_end) {
			assert_true(depth > 0);
			assert_string_equal(names[--depth], name);
		} else if (*at != '/') {
			assert_true(depth < DEPTH_MAX);
			memcpy(names[depth++], name, sizeof(name));
		}
		at += *at == '/' ? 2 : 1;
		assert_true(at[-1] == '>');
	}
	assert_int_equal(depth, 0);
}

/* ---- tests ---- */

static void every_page_is_well_formed_and_begins_with_the_verdict(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < MADE_KINDS; kind++) {
		struct made_trial *made = made_trial((enum made_kind)kind);
		char *text = page(made), badge[64];
		const char *found;

		expect_well_formed(text);
		snprintf(badge, sizeof(badge), "<span class=\"badge\">%s</span>",
			 verdict_name(made->judgement.result));
		found = strstr(text, badge);
		assert_non_null(found);
		assert_true(found < strstr(text, "<h2>"));
		assert_null(strstr(text, "<script"));
		assert_null(strstr(text, "\"nan"));
		assert_null(strstr(text, "nan\""));
		assert_null(strstr(text, "inf\""));
		free(text);
		made_trial_free(made);
	}
}

static const char *const ids[] = { "ring",     "rate",    "position",    "survival", "needed",
				   "blocks-1", "depth-1", "temperature", "topology" };

/* @present: which of the figures, as a text of 0 and 1 */
static void expect_figures(enum made_kind kind, const char *present)
{
	struct made_trial *made = made_trial(kind);
	char *text = page(made);

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char id[64];
		const char *found;

		snprintf(id, sizeof(id), "<figure id=\"figure-%s\">", ids[i]);
		found = strstr(text, id);
		assert_int_equal(found != NULL, present[i] == '1');
		if (found)
			assert_true(strstr(found, "<figcaption>") < strstr(found, "</figure>"));
	}
	free(text);
	made_trial_free(made);
}

static void each_figure_is_there_when_it_has_data(void **state)
{
	(void)state;
	expect_figures(MADE_PASS, "110111101");
	expect_figures(MADE_CLIFF, "110111101");
	expect_figures(MADE_DEVICE, "111111111");
	expect_figures(MADE_INTERRUPTED, "000001101");
}

static void a_figure_without_data_says_why(void **state)
{
	struct made_trial *made = made_trial(MADE_INTERRUPTED);
	char *text = page(made);

	(void)state;
	assert_non_null(strstr(text, "<li>Ring level over time: there was no run at the rate.</li>"));
	assert_non_null(strstr(text, "<li>Temperature: no disk tells its temperature.</li>"));
	free(text);
	made_trial_free(made);
}

static void each_of_several_disks_has_its_sweeps_and_their_bus_stands_out(void **state)
{
	struct made_trial *made = made_trial(MADE_SHARED);
	char *text = page(made);

	(void)state;
	assert_non_null(strstr(text, "id=\"figure-blocks-3\""));
	assert_non_null(strstr(text, "id=\"figure-depth-3\""));
	assert_non_null(strstr(text, "<span class=\"node shared\"><b>2-1</b>"));
	/* the hub once, and each disk below it */
	assert_null(strstr(strstr(text, "<b>2-1</b>") + 1, "<b>2-1</b>"));
	assert_non_null(strstr(text, "<b>/media/usb3</b>"));
	free(text);
	made_trial_free(made);
}

static void a_trial_without_disks_makes_a_page(void **state)
{
	struct made_trial *made = made_trial(MADE_INTERRUPTED);
	char *text;
	unsigned count = made->trial.disk_count;

	(void)state;
	made->trial.disk_count = 0;
	text = page(made);
	expect_well_formed(text);
	free(text);
	text = words(made);
	assert_non_null(strstr(text, "INCONCLUSIVE"));
	free(text);
	made->trial.disk_count = count;
	made_trial_free(made);
}

static void a_trial_without_the_full_speed_run_shows_the_rate_of_the_paced_one(void **state)
{
	struct made_trial *made = made_trial(MADE_CLIFF);
	char *text;

	(void)state;
	trial_run_free(&made->trial.disks[0].full);
	text = page(made);
	assert_non_null(strstr(text, "<figure id=\"figure-rate\">"));
	assert_non_null(strstr(text, "usb1, run at the rate"));
	free(text);
	made_trial_free(made);
}

static void the_cost_of_files_and_the_limit_of_heat_are_told(void **state)
{
	struct made_trial *made = made_trial(MADE_DEVICE);
	char *text;

	(void)state;
	snprintf(made->trial.disks[0].depths.note, TRIAL_TEXT_LEN, "32 in flight were left out");
	text = page(made);
	assert_non_null(strstr(text, "limit 60 °C"));
	assert_non_null(strstr(text, "<td class=\"n\">2.00 KiB</td><td class=\"n\">10.0 ms</td>"));
	assert_non_null(strstr(text, "32 in flight were left out"));
	free(text);
	made_trial_free(made);
}

static void names_are_text_and_never_markup(void **state)
{
	struct made_trial *made = made_trial(MADE_HOSTILE);
	char *text = page(made);

	(void)state;
	assert_non_null(strstr(
		text,
		"&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;&lt;!--]]&gt;?[31m??"));
	assert_null(strstr(text, "alert(1)</"));
	free(text);
	made_trial_free(made);
}

static void the_tested_row_is_marked(void **state)
{
	struct made_trial *made = made_trial(MADE_PASS);
	char *text = page(made);
	const char *row = strstr(text, "<tr class=\"measured\"><td class=\"n\">256</td>");

	(void)state;
	assert_non_null(row);
	assert_non_null(strstr(row, "measured</small>"));
	free(text);
	made_trial_free(made);
}

/* ---- words ---- */

static void the_words_fit_a_screen_and_control_nothing(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < MADE_KINDS; kind++) {
		struct made_trial *made = made_trial((enum made_kind)kind);
		char *text = words(made);
		unsigned lines = 0;

		assert_int_equal(strncmp(text, verdict_name(made->judgement.result), 4), 0);
		for (const char *line = text; *line; lines++) {
			size_t len = strcspn(line, "\n");

			if (kind != MADE_HOSTILE)
				assert_in_range(len, 1, 100);
			line += len + 1;
		}
		if (made->trial.disk_count == 1)
			assert_in_range(lines, 8, 44);
		assert_null(strchr(text, '\x1b'));
		free(text);
		made_trial_free(made);
	}
}

static void the_words_say_what_was_measured(void **state)
{
	struct made_trial *made = made_trial(MADE_OVERFLOW);
	char *text = words(made);

	(void)state;
	assert_true(strstr(text, "OVERFLOW: The ring was full") < strstr(text, "evidence"));
	assert_non_null(strstr(text, "Use two such disks, or a faster one."));
	assert_non_null(strstr(text, "1 overflow, lost"));
	assert_non_null(strstr(text, "(100.0 % of 1.00 GiB)"));
	assert_non_null(strstr(text, "knee at 4.00 MiB"));
	assert_non_null(strstr(text, "none is enough"));
	assert_non_null(strstr(text, "nothing of it is left"));
	free(text);
	made_trial_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_page_is_well_formed_and_begins_with_the_verdict),
		cmocka_unit_test(each_figure_is_there_when_it_has_data),
		cmocka_unit_test(a_figure_without_data_says_why),
		cmocka_unit_test(each_of_several_disks_has_its_sweeps_and_their_bus_stands_out),
		cmocka_unit_test(a_trial_without_disks_makes_a_page),
		cmocka_unit_test(a_trial_without_the_full_speed_run_shows_the_rate_of_the_paced_one),
		cmocka_unit_test(the_cost_of_files_and_the_limit_of_heat_are_told),
		cmocka_unit_test(names_are_text_and_never_markup),
		cmocka_unit_test(the_tested_row_is_marked),
		cmocka_unit_test(the_words_fit_a_screen_and_control_nothing),
		cmocka_unit_test(the_words_say_what_was_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
