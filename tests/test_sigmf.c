/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/sigmf.h"
#include "recorder/vbs_cfg.h"

#define UTC_NS INT64_C(1796026500000000000)

static struct sigmf_words words;
static json_t *meta;

static int setup(void **state)
{
	(void)state;
	memset(&words, 0, sizeof(words));
	meta = NULL;
	return sigmf_parse_format(&words.format, "raw");
}

static int teardown(void **state)
{
	(void)state;
	json_decref(meta);
	return 0;
}

static void describe(const char *format, unsigned channels, const struct sigmf_file *file)
{
	json_decref(meta);
	assert_int_equal(sigmf_parse_format(&words.format, format), 0);
	words.channels = channels;
	meta = sigmf_meta(&words, file);
	assert_non_null(meta);
}

static json_t *global(const char *key)
{
	return json_object_get(json_object_get(meta, "global"), key);
}

static json_t *capture(size_t index, const char *key)
{
	return json_object_get(json_array_get(json_object_get(meta, "captures"), index), key);
}

static void assert_number(const json_t *value, json_int_t wanted)
{
	assert_true(json_is_integer(value));
	assert_int_equal(json_integer_value(value), wanted);
}

static void assert_text(const json_t *value, const char *wanted)
{
	assert_true(json_is_string(value));
	assert_string_equal(json_string_value(value), wanted);
}

static void formats_are_those_of_the_specification(void **state)
{
	static const char *const good[][2] = {
		{ "ci8", "2" },     { "ri8", "1" },      { "cu8", "2" },     { "ru8", "1" },
		{ "ci16_le", "4" }, { "ri16_be", "2" },  { "cf32_le", "8" }, { "rf64_be", "8" },
		{ "cu32_be", "8" }, { "cf64_le", "16" }, { "raw", "1" },
	};
	static const char *const bad[] = { "",         "c",       "i8",   "ci16", "ci8_le",
					   "xi8",      "cf16_le", "ci9",  "RI8",  "ci16_xe",
					   "ci16_le ", "cf32",    "ci8x", "raw8" };
	struct sigmf_format format;
	regex_t pattern;

	(void)state;
	assert_int_equal(
		regcomp(&pattern, "^(c|r)(f32|f64|i32|i16|u32|u16|i8|u8)(_le|_be)?$", REG_EXTENDED), 0);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(sigmf_parse_format(&format, good[i][0]), 0);
		assert_string_equal(format.word, good[i][0]);
		assert_int_equal(format.sample_bytes, atoi(good[i][1]));
		assert_true(format.is_raw || regexec(&pattern, format.word, 0, NULL, 0) == 0);
	}
	regfree(&pattern);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sigmf_parse_format(&format, bad[i]), -EINVAL);
}

static void the_name_of_metadata_follows_from_that_of_the_data(void **state)
{
	char name[64];

	(void)state;
	assert_true(sigmf_meta_name(name, sizeof(name), "n.000001"));
	assert_string_equal(name, "n.000001.sigmf-meta");
	assert_true(sigmf_meta_name(name, sizeof(name), "n_01.sigmf-data"));
	assert_string_equal(name, "n_01.sigmf-meta");
	assert_false(sigmf_meta_name(name, 19, "n.000001"));
	assert_true(sigmf_is_conforming("a.sigmf-data"));
	assert_false(sigmf_is_conforming("a.sigmf-data.raw") || sigmf_is_conforming(".sigmf-data"));
}

static void samples_are_counted_for_all_channels(void **state)
{
	static const struct sigmf_capture captures[] = {
		{ 0, 800, 16000, UTC_NS },
		{ 800, 404, 20000, UTC_NS + 1 },
	};
	const struct sigmf_file file = { "n.000001", "n", 0, 1204, 64000000, captures, 2 };

	(void)state;
	words.frequency_hz = 1420400000;
	words.author = "A";
	describe("ci16_le", 2, &file);
	assert_text(global("core:datatype"), "ci16_le");
	assert_text(global("core:version"), "1.2.5");
	assert_number(global("core:sample_rate"), 1000000);
	assert_number(global("core:num_channels"), 2);
	assert_number(global("core:trailing_bytes"), 4);
	assert_text(global("core:dataset"), "n.000001");
	assert_text(global("core:author"), "A");
	assert_null(global("core:hw"));
	assert_null(global("core:sha512"));
	assert_text(json_object_get(json_array_get(global("core:extensions"), 0), "name"), "vsib");
	assert_text(global("vsib:recording"), "n");
	assert_int_equal(json_array_size(json_object_get(meta, "captures")), 2);
	assert_number(capture(0, "core:sample_start"), 0);
	assert_number(capture(0, "core:global_index"), 2000);
	assert_number(capture(1, "core:sample_start"), 100);
	assert_number(capture(1, "core:global_index"), 2500);
	assert_number(capture(1, "core:frequency"), 1420400000);
	assert_number(capture(1, "vsib:stream_offset"), 20000);
	assert_text(capture(0, "core:datetime"), "2026-11-30T08:15:00.000000000Z");
	assert_true(json_is_array(json_object_get(meta, "annotations")));
}

static void what_begins_within_a_sample_is_described_by_bytes(void **state)
{
	static const struct sigmf_capture captures[] = { { 0, 801, 0, UTC_NS },
							 { 801, 99, 901, UTC_NS } };
	const struct sigmf_file file = { "n.raw", "n", 0, 900, 8000, captures, 2 };

	(void)state;
	describe("ri16_be", 0, &file);
	assert_text(global("core:datatype"), "ru8");
	assert_text(global("vsib:sample_format"), "ri16_be");
	assert_number(global("core:sample_rate"), 1000);
	assert_number(global("core:num_channels"), 1);
	assert_null(global("core:trailing_bytes"));
	assert_number(capture(1, "core:sample_start"), 801);
	assert_number(capture(1, "core:global_index"), 901);
}

static void raw_claims_no_samples(void **state)
{
	static const struct sigmf_capture one = { 0, 1000, 7, UTC_NS };
	const struct sigmf_file file = { "n.raw", "n", 4096, 1003, 0, &one, 1 };

	(void)state;
	describe("raw", 16, &file);
	assert_text(global("core:datatype"), "ru8");
	assert_text(global("vsib:sample_format"), "raw");
	assert_number(global("vsib:channels"), 16);
	assert_number(global("core:num_channels"), 1);
	assert_null(global("core:sample_rate"));
	assert_number(global("core:trailing_bytes"), 3);
	assert_number(capture(0, "core:header_bytes"), 4096);
	assert_number(capture(0, "core:global_index"), 7);
}

static void a_conforming_pair_names_no_dataset_and_has_whole_samples(void **state)
{
	static const struct sigmf_capture one = { 0, 1000, 0, UTC_NS }, odd = { 0, 1001, 0, UTC_NS };
	const struct sigmf_file whole = { "n.sigmf-data", "n", 0, 1000, 12000, &one, 1 };
	const struct sigmf_file torn = { "n.sigmf-data", "n", 0, 1001, 12000, &odd, 1 };

	(void)state;
	describe("ci8", 1, &whole);
	assert_text(global("core:datatype"), "ci8");
	assert_number(global("core:sample_rate"), 750);
	assert_null(global("core:dataset"));
	assert_null(global("core:trailing_bytes"));
	describe("ci8", 1, &torn);
	assert_text(global("core:datatype"), "ru8");
	assert_null(global("core:trailing_bytes"));
	describe("cf64_le", 1, &whole);
	assert_text(global("core:datatype"), "ru8"); /* 1000 is no multiple of 16 */
}

static void a_rate_may_be_a_fraction(void **state)
{
	static const struct sigmf_capture one = { 0, 1000, 0, UTC_NS };
	const struct sigmf_file file = { "n.raw", "n", 0, 1000, 1000, &one, 1 };

	(void)state;
	describe("ci8", 1, &file);
	assert_true(json_is_real(global("core:sample_rate")));
	assert_true(json_real_value(global("core:sample_rate")) == 62.5);
}

static void the_cfg_has_mib_only_where_its_readers_come_to_the_chunk(void **state)
{
	char text[256];
	size_t len;
	struct vbs_cfg cfg = { 8192, UINT64_C(128) << 20, 3, UINT64_C(300) << 20 };

	(void)state;
	assert_int_equal(vbs_cfg_mib(128 << 20, 8192), 128);
	assert_int_equal(vbs_cfg_mib((128 << 20) / 5016 * 5016, 5016), 128);
	assert_int_equal(vbs_cfg_mib(128 << 20, 5016), 0);
	len = vbs_cfg_text(text, sizeof(text), &cfg);
	assert_int_equal(len, strlen(text));
	assert_string_equal(text, "packet_size = 8192L;\ncumul = 3L;\ntotal_packets = 38400L;\n"
				  "filesize = 134217728L;\nfilesizemb = 128;\n");
	cfg.packet_bytes = 5016;
	vbs_cfg_text(text, sizeof(text), &cfg);
	assert_null(strstr(text, "filesizemb"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(formats_are_those_of_the_specification),
		TEST(the_name_of_metadata_follows_from_that_of_the_data),
		TEST(samples_are_counted_for_all_channels),
		TEST(what_begins_within_a_sample_is_described_by_bytes),
		TEST(raw_claims_no_samples),
		TEST(a_conforming_pair_names_no_dataset_and_has_whole_samples),
		TEST(a_rate_may_be_a_fraction),
		TEST(the_cfg_has_mib_only_where_its_readers_come_to_the_chunk),
	};

	return cmocka_run_group_tests_name("sigmf", tests, NULL, NULL);
}
