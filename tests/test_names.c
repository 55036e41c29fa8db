/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/names.h"

static char label[NAMES_LABEL_LEN];
static char error[NAMES_ERROR_LEN];

static int make(const char *experiment, const char *station, const char *scan)
{
	const struct names_scan parts = { experiment, station, scan };

	error[0] = '\0';
	return names_label(label, &parts, error);
}

static void a_label_is_experiment_station_and_scan_in_lower_case(void **state)
{
	(void)state;
	assert_int_equal(make("GP052D", "Ar", "No0021"), 0);
	assert_string_equal(label, "gp052d_ar_no0021");
	assert_int_equal(make("r11", "mh", "123-4567+8"), 0);
	assert_string_equal(label, "r11_mh_123-4567+8");
}

static void what_is_not_given_has_its_null_name(void **state)
{
	(void)state;
	assert_int_equal(make(NULL, NULL, "no1"), 0);
	assert_string_equal(label, "EXP_STN_no1");
	assert_int_equal(make("e", NULL, "no1"), 0);
	assert_string_equal(label, "e_STN_no1");
	assert_int_equal(make(NULL, "s", "no1"), 0);
	assert_string_equal(label, "EXP_s_no1");
	assert_int_equal(make("e", "s", NULL), -EINVAL);
	assert_non_null(strstr(error, "--scan"));
	assert_false(names_is_given(&(struct names_scan){ 0 }));
	assert_true(names_is_given(&(struct names_scan){ .station = "s" }));
}

static void parts_have_their_greatest_lengths(void **state)
{
	(void)state;
	assert_int_equal(make("12345678", "12345678", "1234567890123456789012345678901"), 0);
	assert_int_equal(strlen(label), 49);
	assert_int_equal(make("123456789", "s", "n"), -EINVAL);
	assert_int_equal(make("e", "123456789", "n"), -EINVAL);
	assert_int_equal(make("e", "s", "12345678901234567890123456789012"), -EINVAL);
	assert_int_equal(make("", "s", "n"), -EINVAL);
	assert_int_equal(make("e", "s", ""), -EINVAL);
}

static void other_characters_are_refused_and_a_dot_with_its_reason(void **state)
{
	static const char *const bad[] = { "a_b", "a b", "a/b", "a%b", "\xc3\xa4", "a\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(make(bad[i], "s", "n"), -EINVAL);
		assert_int_equal(make("e", bad[i], "n"), -EINVAL);
		assert_int_equal(make("e", "s", bad[i]), -EINVAL);
		assert_non_null(strstr(error, "--scan"));
	}
	assert_int_equal(make("a+b", "s", "n"), -EINVAL);
	assert_int_equal(make("e", "a-b", "n"), -EINVAL);
	assert_int_equal(make("e", "s", "no.1"), -EINVAL);
	assert_non_null(strstr(error, "readers of VBS recordings"));
}

static void a_repeated_scan_gets_small_letters_then_capitals(void **state)
{
	(void)state;
	assert_true(names_repeat(label, "e_s_n", 0));
	assert_string_equal(label, "e_s_na");
	assert_true(names_repeat(label, "e_s_n", 25));
	assert_string_equal(label, "e_s_nz");
	assert_true(names_repeat(label, "e_s_n", 26));
	assert_string_equal(label, "e_s_nA");
	assert_true(names_repeat(label, "e_s_n", 51));
	assert_string_equal(label, "e_s_nZ");
	assert_false(names_repeat(label, "e_s_n", 52));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_label_is_experiment_station_and_scan_in_lower_case),
		cmocka_unit_test(what_is_not_given_has_its_null_name),
		cmocka_unit_test(parts_have_their_greatest_lengths),
		cmocka_unit_test(other_characters_are_refused_and_a_dot_with_its_reason),
		cmocka_unit_test(a_repeated_scan_gets_small_letters_then_capitals),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
