/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A former run to compare with: what is read of it, and whose is refused with which sentence.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/made_trial.h"
#include "tests/scratch.h"
#include "tools/qualify/baseline.h"
#include "tools/json_file.h"
#include "tools/qualify/qualify_html.h"
#include "tools/qualify/qualify_json.h"

static char folder[256], path[300], error[BASELINE_ERROR_LEN];

static int set_up(void **state)
{
	(void)state;
	if (scratch_make(folder, sizeof(folder), NULL) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/old.json", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

static void write_text(const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void write_report(const struct made_trial *made)
{
	json_t *report = qualify_json(&made->trial, &made->judgement);

	assert_int_equal(json_file_write(report, path), 0);
	json_decref(report);
}

static void expect_refused(const struct made_trial *made, int ret, const char *words)
{
	struct baseline *baseline = NULL;

	assert_int_equal(baseline_read(&baseline, path, &made->trial, error), ret);
	assert_null(baseline);
	if (!strstr(error, words))
		fail_msg("'%s' does not say '%s'", error, words);
}

static void a_former_run_of_the_same_disk_is_read_and_compared(void **state)
{
	struct made_trial *then = made_trial(MADE_CLIFF), *now = made_trial(MADE_PASS);
	struct baseline *baseline;
	char text[TRIAL_TEXT_LEN];

	(void)state;
	write_report(then);
	assert_int_equal(baseline_read(&baseline, path, &now->trial, error), 0);
	assert_string_equal(baseline->result, "MARGINAL");
	assert_true(fabs(baseline->capability_bps - 300e6) < 1);
	assert_in_range(baseline->ring.count, 100, 600);
	assert_in_range(baseline->disks[0].rate.count, 50, 130);
	assert_int_equal(baseline->disks[0].blocks.count, 13);
	assert_int_equal(baseline->disks[0].depths.count, 6);
	baseline_compare(text, baseline, &now->judgement);
	assert_string_equal(
		text,
		"Former run of 2026-01-01T00:00:00Z: capability 300.0 Mbit/s then, 900.0 now: +200.0 %; verdict MARGINAL then, PASS now.");
	baseline_free(baseline);
	made_trial_free(then);
	made_trial_free(now);
}

static void a_former_run_lies_dashed_in_the_figures(void **state)
{
	struct made_trial *then = made_trial(MADE_DEVICE), *now = made_trial(MADE_DEVICE);
	struct figures figures = { &now->trial, &now->judgement, NULL };
	struct baseline *baseline;
	const char *ids[] = { "ring", "rate", "position", "needed", "blocks-1", "depth-1" };
	char *text;

	(void)state;
	write_report(then);
	assert_int_equal(baseline_read(&baseline, path, &now->trial, error), 0);
	figures.baseline = baseline;
	assert_int_equal(qualify_html(&text, &figures), 0);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char id[64];
		const char *figure, *dashed;

		snprintf(id, sizeof(id), "id=\"figure-%s\"", ids[i]);
		figure = strstr(text, id);
		assert_non_null(figure);
		dashed = strstr(figure, "class=\"line former");
		assert_non_null(dashed);
		assert_true(dashed < strstr(figure, "</figure>"));
	}
	assert_non_null(strstr(text, "id=\"comparison\""));
	free(text);
	baseline_free(baseline);
	made_trial_free(then);
	made_trial_free(now);
}

static void another_disk_is_refused(void **state)
{
	struct made_trial *then = made_trial(MADE_PASS), *now = made_trial(MADE_PASS);

	(void)state;
	snprintf(then->trial.disks[0].environment.serial, TARGET_TEXT_LEN, "OTHER-7");
	write_report(then);
	expect_refused(now, -ENODEV,
		       "the serial number at /media/usb1 is EX4T-1001, and that run had OTHER-7");
	made_trial_free(then);
	then = made_trial(MADE_PASS);
	write_report(then);
	made_trial_free(now);
	now = made_trial(MADE_SHARED); /* three disks, and a report of one */
	expect_refused(now, -ENODEV, "/media/usb2 is EX4T-1002");
	made_trial_free(then);
	made_trial_free(now);
}

static void without_a_serial_the_file_system_tells(void **state)
{
	struct made_trial *made = made_trial(MADE_PASS);
	struct baseline *baseline;

	(void)state;
	made->trial.disks[0].environment.serial[0] = '\0';
	write_report(made);
	assert_int_equal(baseline_read(&baseline, path, &made->trial, error), 0);
	baseline_free(baseline);
	made->trial.disks[0].target.fs_uuid[0] = '\0';
	expect_refused(made, -ENODEV, "neither a serial number nor a UUID");
	made_trial_free(made);
}

static void a_damaged_file_is_refused_with_a_sentence(void **state)
{
	struct made_trial *made = made_trial(MADE_PASS);

	(void)state;
	unlink(path);
	expect_refused(made, -ENOENT, "No such file or directory; --baseline wants");
	write_text("");
	expect_refused(made, -EBADMSG, "is damaged: line 1");
	write_text("{\"schema\":\"vsib-qualify/1\",\"verdict\":{");
	expect_refused(made, -EBADMSG, "is damaged: line 1");
	write_text("[1]");
	expect_refused(made, -EBADMSG, "its schema is ''");
	write_text("{\"schema\":\"vsib-report/1\"}");
	expect_refused(made, -EBADMSG, "its schema is 'vsib-report/1' and not 'vsib-qualify/1'");
	write_text("{\"schema\":\"vsib-qualify/1\",\"verdict\":{},\"disks\":[]}");
	expect_refused(made, -EBADMSG, "no verdict or no disks");
	snprintf(path, sizeof(path), "%s", folder);
	expect_refused(made, -EBADMSG, "no regular file");
	snprintf(path, sizeof(path), "%s/old.json", folder);
	made_trial_free(made);
}

static void numbers_that_no_disk_has_are_left_out(void **state)
{
	struct made_trial *made = made_trial(MADE_PASS);
	struct baseline *baseline;
	char text[TRIAL_TEXT_LEN];

	(void)state;
	write_text(
		"{\"schema\":\"vsib-qualify/1\",\"verdict\":{\"result\":7,\"capability_bps\":-1e300},"
		"\"disks\":[{\"serial\":\"EX4T-1001\",\"blocks\":{\"points\":[{\"block_bytes\":1e300,\"rate_bps\":1},"
		"{\"block_bytes\":4096,\"rate_bps\":1e6},4,{\"block_bytes\":\"x\"}]},\"full\":[],\"depths\":3}],"
		"\"series\":{\"t_s\":[1,null,3,4],\"ring_bytes\":[5,6,-7]},\"replay\":{\"a\":1}}");
	assert_int_equal(baseline_read(&baseline, path, &made->trial, error), 0);
	assert_int_equal(baseline->disks[0].blocks.count, 1);
	assert_int_equal(baseline->ring.count, 1);
	assert_int_equal(baseline->needed.count, 0);
	baseline_compare(text, baseline, &made->judgement);
	assert_non_null(strstr(text, "can't be compared"));
	baseline_free(baseline);
	made_trial_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_former_run_of_the_same_disk_is_read_and_compared),
		cmocka_unit_test(a_former_run_lies_dashed_in_the_figures),
		cmocka_unit_test(another_disk_is_refused),
		cmocka_unit_test(without_a_serial_the_file_system_tells),
		cmocka_unit_test(a_damaged_file_is_refused_with_a_sentence),
		cmocka_unit_test(numbers_that_no_disk_has_are_left_out),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
