/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "recorder/dada.h"

#define START_NS (INT64_C(1796026500) * UNITS_NS_PER_S) /* 2026-11-30T08:15:00Z */

static struct dada_fields fields;
static char error[DADA_ERROR_LEN];
static char header[DADA_HEADER_BYTES];

static int parse(const char *text)
{
	error[0] = '\0';
	return dada_parse(&fields, text, strlen(text), error);
}

static void compose(const struct dada_facts *facts)
{
	memset(header, 0x55, sizeof(header));
	dada_compose(header, &fields, facts);
}

static bool has_line(const char *line)
{
	const char *at = strstr(header, line);

	return at && at[strlen(line)] == '\n' && (at == header || at[-1] == '\n');
}

static void assert_value(const char *key, const char *value)
{
	char found[256];

	assert_true(dada_get(&fields, key, found, sizeof(found)));
	assert_string_equal(found, value);
}

static void keys_are_read_with_comments_and_blanks(void **state)
{
	(void)state;
	assert_int_equal(
		parse("# a file\n\nTELESCOPE  \tEffelsberg   # where\r\n  SOURCE 3C 84\nFREQ 1420.4"),
		0);
	assert_value("TELESCOPE", "Effelsberg");
	assert_value("SOURCE", "3C 84");
	assert_value("FREQ", "1420.4");
	assert_false(dada_get(&fields, "FRE", error, sizeof(error)));
	assert_false(dada_get(&fields, "BW", error, sizeof(error)));
	assert_int_equal(parse(""), 0);
	assert_int_equal(fields.len, 0);
}

static void what_is_no_key_or_the_recorders_own_is_refused_by_line(void **state)
{
	static const char *const bad[] = {
		"A 1\nfreq 1",        "A 1\nFREQ",       "A 1\nFREQ # none",  "A 1\nA 2",
		"A 1\nUTC_START now", "A 1\nHDR_SIZE 8", "A 1\nOBS_OFFSET 0", "A 1\nFILE_SIZE 1",
		"A 1\nB \xc3\xa4",    "A 1\nB a\tb\x01", "A 1\nHEADER DADA",  "A 1\nFILE_NAME x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i]), -EINVAL);
		assert_non_null(strstr(error, "line 2"));
	}
	assert_int_equal(dada_parse(&fields, "A\0 1", 4, error), -EINVAL);
}

static void more_than_a_header_holds_is_refused(void **state)
{
	char text[8192] = "";
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 400; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "KEY_%d value\n", i);
	assert_int_equal(parse(text), -E2BIG);
	/* what was let in leaves room for the longest of ours */
	memset(text, 'x', 255);
	text[255] = '\0';
	compose(&(struct dada_facts){ text, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX - 7,
				      INT64_MAX });
	assert_int_equal(header[DADA_HEADER_BYTES - 1], 0);
	assert_non_null(strstr(header, fields.text));
}

static void a_header_says_what_the_recorder_knows(void **state)
{
	(void)state;
	assert_int_equal(parse("NBIT 8\nNDIM 2\nNPOL 2\nNCHAN 1\nTELESCOPE Ef\n"), 0);
	compose(&(struct dada_facts){ "n.000003", 3, 6000000, 0, 512000000, START_NS + 250000001 });
	assert_true(has_line("HEADER DADA"));
	assert_true(has_line("HDR_VERSION 1.0"));
	assert_true(has_line("HDR_SIZE 4096"));
	assert_true(has_line("UTC_START 2026-11-30-08:15:00"));
	assert_true(has_line("PICOSECONDS 250000001000"));
	assert_true(has_line("OBS_OFFSET 6000000"));
	assert_true(has_line("OBS_OVERLAP 0"));
	assert_true(has_line("FILE_NAME n.000003"));
	assert_true(has_line("FILE_NUMBER 3"));
	assert_true(has_line("BYTES_PER_SECOND 64000000"));
	assert_true(has_line("TSAMP 0.0625"));
	assert_true(has_line("TELESCOPE Ef"));
	assert_null(strstr(header, "FILE_SIZE"));
	for (size_t i = strlen(header); i < sizeof(header); i++)
		assert_int_equal(header[i], 0);
	compose(&(struct dada_facts){ "a b#c.raw", 0, 0, 1234, 0, START_NS });
	assert_true(has_line("FILE_SIZE 1234"));
	assert_true(has_line("PICOSECONDS 0"));
	assert_true(has_line("FILE_NAME a_b_c.raw"));
	assert_null(strstr(header, "BYTES_PER_SECOND"));
	assert_null(strstr(header, "TSAMP"));
}

static void the_users_word_on_rate_and_interval_stands(void **state)
{
	(void)state;
	assert_int_equal(parse("NBIT 8\nNDIM 1\nNPOL 1\nNCHAN 1\nTSAMP 0.5\nBYTES_PER_SECOND 7\n"), 0);
	compose(&(struct dada_facts){ "n", 0, 0, 0, 512000000, START_NS });
	assert_true(has_line("TSAMP 0.5"));
	assert_true(has_line("BYTES_PER_SECOND 7"));
	assert_ptr_equal(strstr(strstr(header, "TSAMP") + 1, "TSAMP"), NULL);
}

static void what_dspsr_misses_is_told(void **state)
{
	(void)state;
	assert_int_equal(
		parse("INSTRUMENT i\nTELESCOPE t\nSOURCE s\nFREQ 1\nBW 1\nNPOL 1\nNBIT 8\nNDIM 1\nNCHAN 1\n"),
		0);
	dada_missing(error, &fields, 8000000);
	assert_string_equal(error, "");
	dada_missing(error, &fields, 0);
	assert_string_equal(error, "TSAMP");
	assert_int_equal(parse("SOURCE s\nNBIT many\n"), 0);
	dada_missing(error, &fields, 8000000);
	assert_string_equal(error, "INSTRUMENT TELESCOPE FREQ BW NPOL TSAMP");
}

static void only_our_own_headers_are_known_again(void **state)
{
	static const char foreign[DADA_HEADER_BYTES] =
		"HEADER DADA\nHDR_VERSION 1.0\nHDR_SIZE 4096\nTELESCOPE Ef\n";

	(void)state;
	assert_int_equal(parse(""), 0);
	compose(&(struct dada_facts){ "n", 0, 0, 0, 0, START_NS });
	assert_true(dada_is_ours(header, sizeof(header)));
	assert_false(dada_is_ours(header, sizeof(header) - 1));
	assert_false(dada_is_ours(foreign, sizeof(foreign)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_read_with_comments_and_blanks),
		cmocka_unit_test(what_is_no_key_or_the_recorders_own_is_refused_by_line),
		cmocka_unit_test(more_than_a_header_holds_is_refused),
		cmocka_unit_test(a_header_says_what_the_recorder_knows),
		cmocka_unit_test(the_users_word_on_rate_and_interval_stands),
		cmocka_unit_test(what_dspsr_misses_is_told),
		cmocka_unit_test(only_our_own_headers_are_known_again),
	};

	return cmocka_run_group_tests_name("dada", tests, NULL, NULL);
}
