/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_units.c - what people may type, what is refused, and what they get to read
 */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/units.h"

#define UNTOUCHED UINT64_C(0x1234567890abcdef)

struct expectation {
	const char *text;
	int ret;
	uint64_t value;
};

typedef int parser(const char *text, uint64_t *value);

static int parse_time(const char *text, uint64_t *value)
{
	return units_parse_time(text, (int64_t *)value);
}

static int parse_utc(const char *text, uint64_t *value)
{
	return units_parse_utc(text, (int64_t *)value);
}

static void check(parser *parse, const struct expectation *list)
{
	for (; list->text; list++) {
		uint64_t value = UNTOUCHED;
		int ret = parse(list->text, &value);

		if (ret != list->ret || value != (ret ? UNTOUCHED : list->value))
			fail_msg("\"%s\" gives %d and %llu", list->text, ret,
				 (unsigned long long)value);
	}
}

static void sizes_are_parsed_strictly(void **state)
{
	static const struct expectation list[] = {
		{ "0", 0, 0 },
		{ "512", 0, 512 },
		{ "512B", 0, 512 },
		{ "1k", 0, 1000 },
		{ "1K", 0, 1000 },
		{ "1kB", 0, 1000 },
		{ "1Ki", 0, 1024 },
		{ "1KiB", 0, 1024 },
		{ "2G", 0, UINT64_C(2000000000) },
		{ "3GiB", 0, UINT64_C(3) << 30 },
		{ "1.5k", 0, 1500 },
		{ "1.5Ki", 0, 1536 },
		{ "0.000001M", 0, 1 },
		{ "00012", 0, 12 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18.446744073709551615E", 0, UINT64_MAX },
		{ "15EiB", 0, UINT64_C(15) << 60 },
		{ "16EiB", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999T", -ERANGE, 0 },
		{ "99999999999999999999x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1 k", -EINVAL, 0 },
		{ "1e9", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "4x", -EINVAL, 0 },
		{ "k", -EINVAL, 0 },
		{ ".5k", -EINVAL, 0 },
		{ "1.k", -EINVAL, 0 },
		{ "1,5k", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "1.5B", -EINVAL, 0 },
		{ "1.0001k", -EINVAL, 0 },
		{ "1.0000000000000000001k", -EINVAL, 0 },
		{ "1ki", -EINVAL, 0 },
		{ "1Kib", -EINVAL, 0 },
		{ "1kk", -EINVAL, 0 },
		{ "1BB", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
		{ NULL, 0, 0 },
	};

	(void)state;
	check(units_parse_bytes, list);
}

static void rates_are_mbit_unless_they_say_otherwise(void **state)
{
	static const struct expectation list[] = {
		{ "512", 0, 512000000 },
		{ "512M", 0, 512000000 },
		{ "266.67", 0, 266670000 },
		{ "0.0000014", 0, 1 },
		{ "1.6Gbps", 0, 1600000000 },
		{ "1.6Gbit/s", 0, 1600000000 },
		{ "64MB/s", 0, 512000000 },
		{ "32MiB/s", 0, UINT64_C(32) * 8 << 20 },
		{ "32Mi", 0, UINT64_C(32) << 20 },
		{ "8000bps", 0, 8000 },
		{ "1000B/s", 0, 8000 },
		{ "128k", 0, 128000 },
		{ "0", -EINVAL, 0 },
		{ "0.0000001", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "-5", -EINVAL, 0 },
		{ "5Mb", -EINVAL, 0 },
		{ "5MB", -EINVAL, 0 },
		{ "5Mbps/s", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "99999999999999", -ERANGE, 0 },
		{ "18446744073709551616bps", -ERANGE, 0 },
		{ "4EiB/s", -ERANGE, 0 },
		{ NULL, 0, 0 },
	};

	(void)state;
	check(units_parse_rate, list);
}

static void frequencies_are_hz(void **state)
{
	static const struct expectation list[] = {
		{ "32M", 0, 32000000 },      { "32MHz", 0, 32000000 }, { "12.5MHz", 0, 12500000 },
		{ "50000000", 0, 50000000 }, { "50Hz", 0, 50 },        { "0", -EINVAL, 0 },
		{ "0.0", -EINVAL, 0 },       { "32MB", -EINVAL, 0 },   { "32mhz", -EINVAL, 0 },
		{ "", -EINVAL, 0 },          { NULL, 0, 0 },
	};

	(void)state;
	check(units_parse_frequency, list);
}

static void times_combine_from_large_to_small(void **state)
{
	static const struct expectation list[] = {
		{ "0", 0, 0 },
		{ "90", 0, UINT64_C(90000000000) },
		{ "1.5", 0, UINT64_C(1500000000) },
		{ "30s", 0, UINT64_C(30000000000) },
		{ "1.5s", 0, UINT64_C(1500000000) },
		{ "500ms", 0, 500000000 },
		{ "250us", 0, 250000 },
		{ "7ns", 0, 7 },
		{ "10m", 0, UINT64_C(600000000000) },
		{ "8h", 0, UINT64_C(28800000000000) },
		{ "1h30m", 0, UINT64_C(5400000000000) },
		{ "1h30m1.5s", 0, UINT64_C(5401500000000) },
		{ "2d", 0, UINT64_C(172800000000000) },
		{ "1m500ms", 0, UINT64_C(60500000000) },
		{ "9223372036.854775807", 0, INT64_MAX },
		{ "9223372036.854775808", -ERANGE, 0 },
		{ "106752d", -ERANGE, 0 },
		{ "106751d24h", -ERANGE, 0 },
		{ "99999999999999999999h", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "1h30", -EINVAL, 0 },
		{ "30m1h", -EINVAL, 0 },
		{ "1h1h", -EINVAL, 0 },
		{ "1.5h30m", -EINVAL, 0 },
		{ "0.5ns", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1w", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ NULL, 0, 0 },
	};

	(void)state;
	check(parse_time, list);
}

static void counts_are_decimal_or_hexadecimal(void **state)
{
	static const struct expectation list[] = {
		{ "0", 0, 0 },
		{ "010", 0, 10 },
		{ "0x10", 0, 16 },
		{ "0XfF", 0, 255 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "0xffffffffffffffff", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "0x10000000000000000", -ERANGE, 0 },
		{ "0x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1k", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "f", -EINVAL, 0 },
		{ NULL, 0, 0 },
	};

	(void)state;
	check(units_parse_count, list);
}

static void moments_are_parsed_to_the_nanosecond(void **state)
{
	static const struct expectation list[] = {
		{ "1970-01-01T00:00:00Z", 0, 0 },
		{ "@0", 0, 0 },
		{ "@1.5", 0, 1500000000 },
		{ "2026-11-30T08:15:00Z", 0, UINT64_C(1796026500000000000) },
		{ "2026-11-30T08:15:00.000000001Z", 0, UINT64_C(1796026500000000001) },
		{ "2026-11-30T08:15:00.5Z", 0, UINT64_C(1796026500500000000) },
		{ "2024-02-29T23:59:59Z", 0, UINT64_C(1709251199000000000) },
		{ "2000-02-29T00:00:00Z", 0, UINT64_C(951782400000000000) },
		{ "1969-12-31T23:59:59Z", 0, (uint64_t)-INT64_C(1000000000) },
		{ "2023-02-29T00:00:00Z", -EINVAL, 0 },
		{ "2100-02-29T00:00:00Z", -EINVAL, 0 },
		{ "2026-13-01T00:00:00Z", -EINVAL, 0 },
		{ "2026-00-01T00:00:00Z", -EINVAL, 0 },
		{ "2026-01-00T00:00:00Z", -EINVAL, 0 },
		{ "2026-01-01T24:00:00Z", -EINVAL, 0 },
		{ "2026-01-01T00:60:00Z", -EINVAL, 0 },
		{ "2026-01-01T00:00:60Z", -EINVAL, 0 },
		{ "2026-01-01T00:00:00", -EINVAL, 0 },
		{ "2026-01-01T00:00:00.Z", -EINVAL, 0 },
		{ "2026-01-01T00:00:00.0000000001Z", -EINVAL, 0 },
		{ "2026-01-01 00:00:00Z", -EINVAL, 0 },
		{ "2026-1-1T00:00:00Z", -EINVAL, 0 },
		{ "2026-01-01T00:00:00Z ", -EINVAL, 0 },
		{ "@-1", -EINVAL, 0 },
		{ "@", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "now", -EINVAL, 0 },
		{ "9999-01-01T00:00:00Z", -ERANGE, 0 },
		{ "2262-12-31T00:00:00Z", -ERANGE, 0 },
		{ "@9223372037", -ERANGE, 0 },
		{ "@99999999999999999999", -ERANGE, 0 },
		{ NULL, 0, 0 },
	};

	(void)state;
	check(parse_utc, list);
}

static void moments_are_formatted_as_they_are_parsed(void **state)
{
	static const char *const list[] = {
		"1970-01-01T00:00:00.000000000Z", "2026-11-30T08:15:00.123456789Z",
		"2024-02-29T23:59:59.999999999Z", "1969-12-31T23:59:59.999999999Z",
		"2000-12-31T00:00:00.000000000Z", "1678-01-01T00:00:00.000000000Z",
		"2262-04-11T23:47:16.854775807Z",
	};
	char text[UNITS_UTC_LEN];
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		assert_int_equal(units_parse_utc(list[i], &ns), 0);
		assert_string_equal(units_format_utc(text, ns), list[i]);
	}
	/* every day of 400 years, both ways */
	for (int64_t day = -100000; day < 100000; day++) {
		int64_t back = 1;

		units_format_utc(text, day * 86400 * UNITS_NS_PER_S);
		assert_int_equal(units_parse_utc(text, &back), 0);
		assert_int_equal(back, day * 86400 * UNITS_NS_PER_S);
	}
}

static void people_read_short_texts(void **state)
{
	char text[UNITS_TEXT_LEN];

	(void)state;
	assert_string_equal(units_format_bytes(text, 0), "0 B");
	assert_string_equal(units_format_bytes(text, 4096), "4096 B");
	assert_string_equal(units_format_bytes(text, 16800000000), "16.8 GB");
	assert_string_equal(units_format_bytes(text, 144000000), "144 MB");
	assert_string_equal(units_format_bytes(text, 1500000), "1.50 MB");
	assert_string_equal(units_format_bytes(text, 1050000), "1.05 MB");
	assert_string_equal(units_format_bytes(text, 999499), "999 kB");
	assert_string_equal(units_format_bytes(text, 999500), "1 MB");
	assert_string_equal(units_format_bytes(text, 9995000), "10 MB");
	assert_string_equal(units_format_bytes(text, UINT64_MAX), "18.4 EB");

	assert_string_equal(units_format_size(text, 0), "0 B");
	assert_string_equal(units_format_size(text, 1000), "1000 B");
	assert_string_equal(units_format_size(text, 4096), "4 KiB");
	assert_string_equal(units_format_size(text, 256 << 20), "256 MiB");
	assert_string_equal(units_format_size(text, 1028096), "1004 KiB");
	assert_string_equal(units_format_size(text, 144000000), "144 MB");
	assert_string_equal(units_format_size(text, 16000), "16 kB");
	assert_string_equal(units_format_size(text, (UINT64_C(16) << 30) + 4096), "17179873280 B");
	assert_string_equal(units_format_size(text, UINT64_C(1) << 63), "8 EiB");

	assert_string_equal(units_format_time(text, 0), "0 ns");
	assert_string_equal(units_format_time(text, 30000000), "30 ms");
	assert_string_equal(units_format_time(text, 1500), "1.50 us");
	assert_string_equal(units_format_time(text, 12400000000), "12.4 s");
	assert_string_equal(units_format_time(text, -12400000000), "-12.4 s");
	assert_string_equal(units_format_time(text, 59960000000), "1m");
	assert_string_equal(units_format_time(text, 90000000000), "1m30s");
	assert_string_equal(units_format_time(text, 5400000000000), "1h30m");
	assert_string_equal(units_format_time(text, 3599600000000), "1h");
	assert_string_equal(units_format_time(text, 3595000000000), "59m55s");
	assert_string_equal(units_format_time(text, 84615000000000), "23h30m");
	assert_string_equal(units_format_time(text, 86369000000000), "23h59m");
	assert_string_equal(units_format_time(text, 86370000000000), "1d");
	assert_string_equal(units_format_time(text, 183600000000000), "2d03h");
	assert_string_equal(units_format_time(text, INT64_MAX), "106752d");
	assert_string_equal(units_format_time(text, INT64_MIN), "-106752d");
}

/* Skips itself where no comma locale is installed. */
static void the_decimal_point_is_a_point_in_every_locale(void **state)
{
	char text[UNITS_TEXT_LEN];
	uint64_t value = 0;

	(void)state;
	if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8")) {
		print_message("no locale with a decimal comma is installed\n");
		skip();
	}
	assert_int_equal(units_parse_rate("266.67", &value), 0);
	assert_int_equal(value, 266670000);
	assert_int_equal(units_parse_rate("266,67", &value), -EINVAL);
	assert_string_equal(units_format_bytes(text, 16800000000), "16.8 GB");
	setlocale(LC_ALL, "C");
}

static void bytes_and_time_go_both_ways_without_overflow(void **state)
{
	(void)state;
	assert_int_equal(units_bytes_at(512000000, UNITS_NS_PER_S), 64000000);
	assert_int_equal(units_bytes_at(512000000, -1), 0);
	assert_int_equal(units_bytes_at(8, UNITS_NS_PER_S - 1), 0);
	assert_int_equal(units_bytes_at(8, UNITS_NS_PER_S), 1);
	assert_int_equal(units_bytes_at(100000000000, INT64_C(31536000) * UNITS_NS_PER_S),
			 UINT64_C(394200000000000000));
	assert_int_equal(units_bytes_at(UINT64_MAX, INT64_MAX), UINT64_MAX);
	assert_int_equal(units_time_for(64000000, 512000000), UNITS_NS_PER_S);
	assert_int_equal(units_time_for(1, 7), INT64_C(1142857143));
	assert_int_equal(units_time_for(1, 0), INT64_MAX);
	assert_int_equal(units_time_for(UINT64_MAX, 1), INT64_MAX);
	for (uint64_t bytes = 1; bytes < 100000; bytes += 37) {
		int64_t ns = units_time_for(bytes, 266666667);

		assert_int_equal(units_bytes_at(266666667, ns), bytes);
		assert_true(units_bytes_at(266666667, ns - 1) < bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_parsed_strictly),
		cmocka_unit_test(rates_are_mbit_unless_they_say_otherwise),
		cmocka_unit_test(frequencies_are_hz),
		cmocka_unit_test(times_combine_from_large_to_small),
		cmocka_unit_test(counts_are_decimal_or_hexadecimal),
		cmocka_unit_test(moments_are_parsed_to_the_nanosecond),
		cmocka_unit_test(moments_are_formatted_as_they_are_parsed),
		cmocka_unit_test(people_read_short_texts),
		cmocka_unit_test(the_decimal_point_is_a_point_in_every_locale),
		cmocka_unit_test(bytes_and_time_go_both_ways_without_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
