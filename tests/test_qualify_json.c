/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A qualification as JSON: always one valid document, whatever names and numbers are; the schema's objects; thinned series.
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
#include "tools/json_file.h"
#include "tools/qualify/qualify_json.h"

/* As a program would see it: written and read again. */
static json_t *reread(const struct made_trial *made)
{
	json_t *report = qualify_json(&made->trial, &made->judgement), *again;
	char *text;
	json_error_t error;

	assert_non_null(report);
	text = json_dumps(report, JSON_REAL_PRECISION(9));
	assert_non_null(text);
	again = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	assert_non_null(again);
	free(text);
	json_decref(report);
	return again;
}

static const json_t *get(const json_t *at, const char *path)
{
	char key[64];

	while (at && *path) {
		size_t len = strcspn(path, ".");

		snprintf(key, sizeof(key), "%.*s", (int)len, path);
		at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10)) :
					 json_object_get(at, key);
		path += len + (path[len] == '.');
	}
	return at;
}

static void every_trial_is_one_valid_document(void **state)
{
	static const char *const keys[] = { "schema",
					    "program",
					    "version",
					    "exit_status",
					    "utc",
					    "host.name",
					    "config.rate_bps",
					    "verdict.result",
					    "verdict.reasons",
					    "verdict.evidence",
					    "ring.capacity_bytes",
					    "ring.high_water_bytes",
					    "ring.overflow_count",
					    "disks.0.target",
					    "disks.0.serial",
					    "disks.0.model",
					    "disks.0.link",
					    "disks.0.topology",
					    "disks.0.write_hist.edges_s",
					    "disks.0.mark5_bins.7",
					    "disks.0.state",
					    "disks.0.worst_write_s",
					    "series.t_s",
					    "series.in_bytes",
					    "series.ring_bytes",
					    "stalls",
					    "replay",
					    "scratch.0.removed",
					    "disks.0.environment.temperature_limit_c",
					    "verdict.tested_s" };

	(void)state;
	for (unsigned kind = 0; kind < MADE_KINDS; kind++) {
		struct made_trial *made = made_trial((enum made_kind)kind);
		json_t *report = reread(made);

		assert_string_equal(json_string_value(get(report, "schema")), QUALIFY_SCHEMA);
		assert_int_equal(json_integer_value(get(report, "exit_status")),
				 made->judgement.result);
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (!get(report, keys[i]))
				fail_msg("%s: no %s", made_kind_name(kind), keys[i]);
		json_decref(report);
		made_trial_free(made);
	}
}

static void what_is_not_a_number_is_null(void **state)
{
	struct made_trial *made = made_trial(MADE_OVERFLOW);
	json_t *report;

	(void)state;
	made->judgement.rho = NAN;
	made->judgement.reasons[0].value = INFINITY;
	made->judgement.eta = -1;
	made->trial.disks[0].blocks.points[3].rate_bps = NAN;
	report = reread(made);
	assert_true(json_is_null(get(report, "verdict.rho")));
	assert_true(json_is_null(get(report, "verdict.reasons.0.value")));
	assert_true(json_is_null(get(report, "verdict.eta")));
	assert_true(json_is_null(get(report, "verdict.rates.7.ring_bytes")));
	assert_true(json_is_null(get(report, "disks.0.blocks.points.3.rate_bps")));
	assert_true(json_is_null(get(report, "runs.source")));
	json_decref(report);
	made_trial_free(made);
}

static void series_are_thinned_and_keep_the_highest_level(void **state)
{
	struct made_trial *made = made_trial(MADE_PASS);
	json_t *report = reread(made);
	const json_t *levels = get(report, "series.ring_bytes");
	uint64_t highest = 0, sampled = 0;

	(void)state;
	for (size_t i = 0; i < made->trial.paced.series.count; i++)
		if (made->trial.paced.series.samples[i].ring_bytes > sampled)
			sampled = made->trial.paced.series.samples[i].ring_bytes;
	assert_in_range(json_array_size(levels), 100, 600);
	assert_int_equal(json_array_size(levels), json_array_size(get(report, "series.t_s")));
	for (size_t i = 0; i < json_array_size(levels); i++)
		if ((uint64_t)json_integer_value(json_array_get(levels, i)) > highest)
			highest = (uint64_t)json_integer_value(json_array_get(levels, i));
	assert_int_equal(highest, sampled);
	json_decref(report);
	made_trial_free(made);
}

static void stalls_come_with_the_longest_first(void **state)
{
	struct made_trial *made = made_trial(MADE_SHARED);
	json_t *report = reread(made);
	const json_t *stalls = get(report, "stalls");

	(void)state;
	assert_in_range(json_array_size(stalls), 2, 32);
	for (size_t i = 1; i < json_array_size(stalls); i++)
		assert_true(json_real_value(get(json_array_get(stalls, i - 1), "duration_s")) >=
			    json_real_value(get(json_array_get(stalls, i), "duration_s")));
	json_decref(report);
	made_trial_free(made);
}

static void it_says_what_was_written(void **state)
{
	struct made_trial *made = made_trial(MADE_SHARED);
	json_t *report = reread(made);
	const struct trial *trial = &made->trial;
	uint64_t wanted = trial->disks[1].full.parts[0].written_bytes +
			  trial->disks[1].alone.parts[0].written_bytes +
			  trial->together.parts[1].written_bytes + trial->paced.parts[1].written_bytes +
			  100 * (UINT64_C(64) << 20) + 13 * (UINT64_C(64) << 20) +
			  6 * (UINT64_C(256) << 20) + 20 * UINT64_C(2048) * 5461 /* small files */;

	(void)state;
	assert_int_equal(qualify_written_bytes(trial, 1), wanted);
	assert_int_equal(json_integer_value(get(report, "scratch.1.written_bytes")), wanted);
	assert_true(json_is_true(get(report, "scratch.1.removed")));
	json_decref(report);
	made_trial_free(made);
}

static void a_report_that_can_not_be_written_leaves_nothing(void **state)
{
	struct made_trial *made = made_trial(MADE_PASS);
	json_t *report = qualify_json(&made->trial, &made->judgement);
	char folder[256], path[300];

	(void)state;
	assert_int_equal(scratch_make(folder, sizeof(folder), NULL), 0);
	snprintf(path, sizeof(path), "%s/none/report.json", folder);
	assert_int_equal(json_file_write(report, path), -ENOENT);
	snprintf(path, sizeof(path), "%s/report.json", folder);
	assert_int_equal(json_file_write(report, path), 0);
	assert_int_equal(json_file_write(report, path), 0); /* over the older one */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0); /* nothing else is there */
	scratch_remove(folder);
	json_decref(report);
	made_trial_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_trial_is_one_valid_document),
		cmocka_unit_test(what_is_not_a_number_is_null),
		cmocka_unit_test(series_are_thinned_and_keep_the_highest_level),
		cmocka_unit_test(stalls_come_with_the_longest_first),
		cmocka_unit_test(it_says_what_was_written),
		cmocka_unit_test(a_report_that_can_not_be_written_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
