/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes, rates, times and moments (drivers/units.h): any text, and what is printed is read back as what it was.
 */
#include "tests/fuzz/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"

#define FIRST_UTC_NS INT64_C(-9214560000000000000) /* 1678-01-01, from which on moments are read */

/* "16.8 GB" is printed for people; options have no blank. */
static void close_up(char *text)
{
	char *blank = strchr(text, ' ');

	if (blank)
		memmove(blank, blank + 1, strlen(blank));
}

/* What was printed is at most a @part off. */
static bool is_near(uint64_t a, uint64_t b, uint64_t part)
{
	uint64_t apart = a > b ? a - b : b - a;

	return apart <= b / part + 1;
}

static void check_bytes(uint64_t bytes)
{
	char text[UNITS_TEXT_LEN];
	uint64_t again = 0;

	close_up(units_format_size(text, bytes));
	input_expect(units_parse_bytes(text, &again) == 0 && again == bytes);
	close_up(units_format_bytes(text, bytes));
	if (units_parse_bytes(text, &again) == 0)
		input_expect(is_near(again, bytes, 200)); /* half of the last of three digits */
	else
		input_expect(bytes > UINT64_MAX / 100 * 99); /* 18.4 EB is more than there is */
}

static void check_time(int64_t ns)
{
	char text[UNITS_TEXT_LEN];
	int64_t again = 0;
	int ret;

	close_up(units_format_time(text, ns));
	if (ns < 0)
		return;
	ret = units_parse_time(text, &again);
	input_expect(ret == 0 ? is_near((uint64_t)again, (uint64_t)ns, 48) : /* half an hour of a day */
			     ret == -ERANGE && ns > INT64_MAX / 100 * 99);
}

static void check_utc(int64_t utc_ns)
{
	char text[UNITS_UTC_LEN];
	int64_t again = 0;
	int ret = units_parse_utc(units_format_utc(text, utc_ns), &again);

	input_expect(ret == 0 ? again == utc_ns : ret == -ERANGE && utc_ns < FIRST_UTC_NS);
}

static void check_rate(uint64_t bps, uint64_t bytes, int64_t ns)
{
	int64_t until_ns = units_time_for(bytes, bps);

	if (until_ns < INT64_MAX)
		input_expect(units_bytes_at(bps, until_ns) >= bytes);
	if (bps && ns >= 0 && units_bytes_at(bps, ns) < UINT64_MAX)
		input_expect(units_time_for(units_bytes_at(bps, ns), bps) <= ns);
}

static void check_text(const char *text)
{
	static const uint64_t untouched = UINT64_C(0x5a5a5a5a5a5a5a5a);
	uint64_t value = untouched;
	int64_t ns = (int64_t)untouched;

	if (units_parse_bytes(text, &value) == 0)
		check_bytes(value);
	else
		input_expect(value == untouched);
	value = untouched;
	if (units_parse_rate(text, &value) == 0)
		check_rate(value, value, UNITS_NS_PER_S);
	else
		input_expect(value == untouched);
	value = untouched;
	input_expect(units_parse_frequency(text, &value) == 0 ? value > 0 : value == untouched);
	value = untouched;
	input_expect(units_parse_count(text, &value) == 0 || value == untouched);
	if (units_parse_time(text, &ns) == 0)
		check_time(ns);
	else
		input_expect(ns == (int64_t)untouched);
	ns = (int64_t)untouched;
	if (units_parse_utc(text, &ns) == 0)
		check_utc(ns);
	else
		input_expect(ns == (int64_t)untouched);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	char *text = input_take_text(&input, '\n');
	uint64_t number = input_take_number(&input, 8), other = input_take_number(&input, 8);

	check_text(text);
	free(text);
	check_bytes(number);
	check_time((int64_t)number);
	check_utc((int64_t)number);
	check_rate(number, other, (int64_t)other);
	return 0;
}
