/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * units.c - see units.h
 *
 * No strtod(), no printf("%f"): both follow the locale's decimal point, and a double cannot hold
 * every 64-bit size. Numbers are kept as whole digits and a count of decimals.
 */
#include "drivers/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

__extension__ typedef unsigned __int128 units_wide;

#define DECIMALS_MAX 18 /* 10^18 fits in 64 bits; nobody types more */
#define SECONDS_A_DAY 86400
#define NS_PER_BIT_BYTE UINT64_C(8000000000) /* bits a byte times nanoseconds a second */

/* A decimal number as typed: whole + fraction / scale. */
struct number {
	uint64_t whole;
	uint64_t fraction;
	uint64_t scale;      /* 10 to the number of decimals; 1 = no decimal point */
	bool has_overflowed; /* told only after the rest was found to make sense */
};

struct unit {
	const char *name;
	uint64_t factor;
};

/* Longer names first where one begins another. */
static const struct unit multiples[] = {
	{ "Ki", UINT64_C(1) << 10 },
	{ "Mi", UINT64_C(1) << 20 },
	{ "Gi", UINT64_C(1) << 30 },
	{ "Ti", UINT64_C(1) << 40 },
	{ "Pi", UINT64_C(1) << 50 },
	{ "Ei", UINT64_C(1) << 60 },
	{ "k", UINT64_C(1000) },
	{ "K", UINT64_C(1000) },
	{ "M", UINT64_C(1000000) },
	{ "G", UINT64_C(1000000000) },
	{ "T", UINT64_C(1000000000000) },
	{ "P", UINT64_C(1000000000000000) },
	{ "E", UINT64_C(1000000000000000000) },
	{ NULL, 1 },
};

/* Longer names first where one begins another; a combined time must come with falling factors. */
static const struct unit time_units[] = {
	{ "d", UINT64_C(86400000000000) }, { "h", UINT64_C(3600000000000) },
	{ "ms", UINT64_C(1000000) },       { "m", UINT64_C(60000000000) },
	{ "us", UINT64_C(1000) },          { "ns", UINT64_C(1) },
	{ "s", UINT64_C(1000000000) },     { NULL, 0 },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Appends a digit; the value stays at its last good one when it would no longer fit. */
static bool append_digit(uint64_t *value, unsigned base, unsigned digit)
{
	uint64_t larger;

	if (__builtin_mul_overflow(*value, (uint64_t)base, &larger) ||
	    __builtin_add_overflow(larger, (uint64_t)digit, &larger))
		return false;
	*value = larger;
	return true;
}

/* Reads "12" or "12.5" and moves *text behind it. */
static int take_number(const char **text, struct number *number)
{
	const char *p = *text;
	unsigned decimal_count = 0;

	*number = (struct number){ .scale = 1 };
	if (!is_digit(*p))
		return -EINVAL;
	for (; is_digit(*p); p++)
		if (!append_digit(&number->whole, 10, (unsigned)(*p - '0')))
			number->has_overflowed = true;
	if (*p == '.') {
		for (p++; is_digit(*p); p++) {
			if (++decimal_count > DECIMALS_MAX)
				return -EINVAL;
			number->fraction = number->fraction * 10 + (uint64_t)(*p - '0');
			number->scale *= 10;
		}
		if (!decimal_count)
			return -EINVAL;
	}
	*text = p;
	return 0;
}

static const struct unit *take_unit(const char **text, const struct unit *units)
{
	while (units->name && strncmp(*text, units->name, strlen(units->name)))
		units++;
	if (units->name)
		*text += strlen(units->name);
	return units;
}

/*
 * number x factor. A rest that is no whole is rounded when asked for, else refused. The two halves
 * are multiplied apart, so that each stays below 128 bits: factor is below 2^64.
 */
static int scale_number(const struct number *number, uint64_t factor, bool is_rounded, uint64_t *value)
{
	units_wide fraction = (units_wide)number->fraction * factor;
	units_wide sum;

	if (!is_rounded && fraction % number->scale)
		return -EINVAL;
	if (number->has_overflowed)
		return -ERANGE;
	if (is_rounded)
		fraction += number->scale / 2;
	sum = (units_wide)number->whole * factor + fraction / number->scale;
	if (sum > UINT64_MAX)
		return -ERANGE;
	*value = (uint64_t)sum;
	return 0;
}

int units_parse_bytes(const char *text, uint64_t *bytes)
{
	struct number number;
	uint64_t factor;

	if (take_number(&text, &number))
		return -EINVAL;
	factor = take_unit(&text, multiples)->factor;
	if (*text == 'B')
		text++;
	if (*text || (factor == 1 && number.scale > 1))
		return -EINVAL;
	return scale_number(&number, factor, false, bytes);
}

int units_parse_rate(const char *text, uint64_t *bps)
{
	static const struct unit kinds[] = {
		{ "B/s", 8 },
		{ "bps", 1 },
		{ "bit/s", 1 },
		{ NULL, 1 },
	};
	const struct unit *multiple, *kind;
	struct number number;
	uint64_t factor, value;
	int ret;

	if (take_number(&text, &number))
		return -EINVAL;
	multiple = take_unit(&text, multiples);
	kind = take_unit(&text, kinds);
	if (*text)
		return -EINVAL;
	factor = multiple->factor;
	if (!multiple->name && !kind->name)
		factor = 1000000;
	if (__builtin_mul_overflow(factor, kind->factor, &factor))
		return -ERANGE;
	ret = scale_number(&number, factor, true, &value);
	if (ret)
		return ret;
	if (!value)
		return -EINVAL;
	*bps = value;
	return 0;
}

int units_parse_frequency(const char *text, uint64_t *hz)
{
	struct number number;
	uint64_t factor;

	if (take_number(&text, &number))
		return -EINVAL;
	factor = take_unit(&text, multiples)->factor;
	if (!strncmp(text, "Hz", 2))
		text += 2;
	if (*text || (!number.whole && !number.fraction))
		return -EINVAL;
	return scale_number(&number, factor, false, hz);
}

int units_parse_time(const char *text, int64_t *ns)
{
	uint64_t sum = 0, previous = UINT64_MAX;
	struct number number;
	bool is_too_large = false;

	do {
		const struct unit *unit;
		uint64_t part = 0, factor;
		int ret;

		if (take_number(&text, &number))
			return -EINVAL;
		unit = take_unit(&text, time_units);
		factor = unit->factor;
		if (!unit->name) {
			/*
			 * A bare number is seconds, but not behind a unit: is "1h30" minutes or
			 * seconds?
			 */
			if (previous != UINT64_MAX)
				return -EINVAL;
			factor = (uint64_t)UNITS_NS_PER_S;
		}
		if (factor >= previous || (*text && number.scale > 1))
			return -EINVAL;
		previous = factor;
		ret = scale_number(&number, factor, false, &part);
		if (ret == -EINVAL)
			return ret;
		is_too_large |= ret || __builtin_add_overflow(sum, part, &sum) || sum > INT64_MAX;
		if (!unit->name && *text)
			return -EINVAL;
	} while (*text);
	if (is_too_large)
		return -ERANGE;
	*ns = (int64_t)sum;
	return 0;
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int units_parse_count(const char *text, uint64_t *count)
{
	unsigned base = 10;
	bool has_overflowed = false;
	uint64_t value = 0;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
	}
	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		int digit = hex_digit(*text);

		if (digit < 0 || (unsigned)digit >= base)
			return -EINVAL;
		if (!append_digit(&value, base, (unsigned)digit))
			has_overflowed = true;
	}
	if (has_overflowed)
		return -ERANGE;
	*count = value;
	return 0;
}

/* ---- dates: without timegm(), which counts leap seconds when the system's zone file has them - */

static bool is_leap_year(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int64_t units_days_before_year(int year)
{
	int64_t past = year - 1;

	return past * 365 + past / 4 - past / 100 + past / 400 - 719162;
}

static int days_of_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return days[month - 1] + (month == 2 && is_leap_year(year));
}

/* Exactly @digit_count digits, then @behind (0 = anything); moves *text behind both. */
static bool take_field(const char **text, int digit_count, char behind, int *value)
{
	*value = 0;
	for (int i = 0; i < digit_count; i++, (*text)++) {
		if (!is_digit(**text))
			return false;
		*value = *value * 10 + (**text - '0');
	}
	if (behind && *(*text)++ != behind)
		return false;
	return true;
}

/* ".5" up to nine digits; nothing is 0. */
static bool take_fraction_ns(const char **text, int64_t *ns)
{
	int64_t digit_value = UNITS_NS_PER_S / 10;

	*ns = 0;
	if (**text != '.')
		return true;
	(*text)++;
	if (!is_digit(**text))
		return false;
	for (; is_digit(**text); (*text)++, digit_value /= 10) {
		if (!digit_value)
			return false;
		*ns += (**text - '0') * digit_value;
	}
	return true;
}

static int parse_epoch(const char *text, int64_t *utc_ns)
{
	uint64_t seconds = 0;
	int64_t fraction, ns;
	bool has_overflowed = false;

	if (!is_digit(*text))
		return -EINVAL;
	for (; is_digit(*text); text++)
		has_overflowed |= !append_digit(&seconds, 10, (unsigned)(*text - '0'));
	if (!take_fraction_ns(&text, &fraction) || *text)
		return -EINVAL;
	if (has_overflowed || seconds > INT64_MAX ||
	    __builtin_mul_overflow((int64_t)seconds, UNITS_NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, fraction, &ns))
		return -ERANGE;
	*utc_ns = ns;
	return 0;
}

int units_parse_utc(const char *text, int64_t *utc_ns)
{
	int year, month, day, hour, minute, second;
	int64_t days, seconds, fraction, ns;

	if (*text == '@')
		return parse_epoch(text + 1, utc_ns);
	if (!take_field(&text, 4, '-', &year) || !take_field(&text, 2, '-', &month) ||
	    !take_field(&text, 2, 'T', &day) || !take_field(&text, 2, ':', &hour) ||
	    !take_field(&text, 2, ':', &minute) || !take_field(&text, 2, 0, &second) ||
	    !take_fraction_ns(&text, &fraction) || strcmp(text, "Z"))
		return -EINVAL;
	if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month) || hour > 23 ||
	    minute > 59 || second > 59)
		return -EINVAL;
	if (year < 1678 || year > 2262) /* the whole years that 64 bits of nanoseconds reach */
		return -ERANGE;
	days = units_days_before_year(year) + day - 1;
	for (int m = 1; m < month; m++)
		days += days_of_month(year, m);
	seconds = (int64_t)hour * 3600 + (int64_t)minute * 60 + second;
	if (__builtin_mul_overflow(days * SECONDS_A_DAY + seconds, UNITS_NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, fraction, &ns))
		return -ERANGE;
	*utc_ns = ns;
	return 0;
}

char *units_format_utc(char *buf, int64_t utc_ns)
{
	int64_t seconds = utc_ns / UNITS_NS_PER_S, ns = utc_ns % UNITS_NS_PER_S;
	int64_t days, rest;
	int year, month = 1;

	if (ns < 0) {
		ns += UNITS_NS_PER_S;
		seconds--;
	}
	days = seconds / SECONDS_A_DAY;
	rest = seconds % SECONDS_A_DAY;
	if (rest < 0) {
		rest += SECONDS_A_DAY;
		days--;
	}
	/* 146097 days are 400 years; the guess is at most one year off */
	year = (int)(1970 + days * 400 / 146097);
	while (units_days_before_year(year) > days)
		year--;
	while (units_days_before_year(year + 1) <= days)
		year++;
	days -= units_days_before_year(year);
	while (days >= days_of_month(year, month))
		days -= days_of_month(year, month++);
	/* % 100 changes nothing, but the compiler then knows that the text fits */
	snprintf(buf, UNITS_UTC_LEN, "%04u-%02u-%02uT%02u:%02u:%02u.%09uZ", (unsigned)year % 10000,
		 (unsigned)month % 100, (unsigned)(days + 1) % 100, (unsigned)(rest / 3600) % 100,
		 (unsigned)(rest / 60 % 60), (unsigned)(rest % 60), (unsigned)ns % 1000000000);
	return buf;
}

/* ---- for people ------------------------------------------------------------------------------ */

static uint64_t divide_rounded(uint64_t value, uint64_t divisor)
{
	return value / divisor + (value % divisor >= divisor - value % divisor);
}

/* Three digits of value / unit, "1.50", "16.8", "256"; false when it rounds to 1000 or more. */
static bool print_three_digits(char *buf, uint64_t value, uint64_t unit, const char *name)
{
	static const unsigned powers[] = { 1, 10, 100 };

	for (int decimals = 2; decimals >= 0; decimals--) {
		unsigned power = powers[decimals];
		uint64_t scaled = divide_rounded(value, unit / power);
		unsigned whole = (unsigned)(scaled / power), fraction = (unsigned)(scaled % power);

		if (scaled >= 1000)
			continue;
		if (fraction)
			snprintf(buf, UNITS_TEXT_LEN, "%u.%0*u %s", whole, decimals, fraction, name);
		else
			snprintf(buf, UNITS_TEXT_LEN, "%u %s", whole, name);
		return true;
	}
	return false;
}

char *units_format_bytes(char *buf, uint64_t bytes)
{
	static const struct unit units[] = {
		{ "kB", UINT64_C(1000) },
		{ "MB", UINT64_C(1000000) },
		{ "GB", UINT64_C(1000000000) },
		{ "TB", UINT64_C(1000000000000) },
		{ "PB", UINT64_C(1000000000000000) },
		{ "EB", UINT64_C(1000000000000000000) },
		{ NULL, 1 },
	};

	if (bytes < 10000) {
		snprintf(buf, UNITS_TEXT_LEN, "%u B", (unsigned)bytes);
		return buf;
	}
	for (const struct unit *unit = units; unit->name; unit++)
		if (print_three_digits(buf, bytes, unit->factor, unit->name))
			break;
	return buf;
}

/* The largest unit that divides @bytes evenly and leaves at most four digits. */
static const struct unit *even_unit(uint64_t bytes, const struct unit *units)
{
	while (units->name && (bytes % units->factor || bytes / units->factor >= 10000))
		units++;
	return units;
}

char *units_format_size(char *buf, uint64_t bytes)
{
	static const struct unit binary[] = {
		{ "EiB", UINT64_C(1) << 60 },
		{ "PiB", UINT64_C(1) << 50 },
		{ "TiB", UINT64_C(1) << 40 },
		{ "GiB", UINT64_C(1) << 30 },
		{ "MiB", UINT64_C(1) << 20 },
		{ "KiB", UINT64_C(1) << 10 },
		{ NULL, 1 },
	};
	static const struct unit decimal[] = {
		{ "EB", UINT64_C(1000000000000000000) },
		{ "PB", UINT64_C(1000000000000000) },
		{ "TB", UINT64_C(1000000000000) },
		{ "GB", UINT64_C(1000000000) },
		{ "MB", UINT64_C(1000000) },
		{ "kB", UINT64_C(1000) },
		{ NULL, 1 },
	};
	const struct unit *unit = bytes ? even_unit(bytes, binary) : &binary[6];

	if (!unit->name && bytes >= 10000)
		unit = even_unit(bytes, decimal);
	snprintf(buf, UNITS_TEXT_LEN, "%llu %s", (unsigned long long)(bytes / unit->factor),
		 unit->name ? unit->name : "B");
	return buf;
}

/*
 * "1h30m": two neighbouring units, the second one rounded and left out when zero. A day begins when its hours and
 * minutes round up to it, and not half an hour earlier.
 */
static void print_span(char *buf, uint64_t seconds)
{
	static const struct {
		char name;
		unsigned seconds;
	} spans[] = {
		{ 'd', 86400 },
		{ 'h', 3600 },
		{ 'm', 60 },
		{ 's', 1 },
	};

	for (int i = 0; i < 3; i++) {
		unsigned large = spans[i].seconds, small = spans[i + 1].seconds;
		unsigned finer = i < 2 ? spans[i + 2].seconds : small;
		uint64_t rounded = divide_rounded(seconds, small) * small;
		unsigned whole = (unsigned)(rounded / large),
			 rest = (unsigned)(rounded % large / small);

		if (divide_rounded(seconds, finer) * finer < large)
			continue;
		if (rest)
			snprintf(buf, UNITS_TEXT_LEN, "%u%c%02u%c", whole, spans[i].name, rest,
				 spans[i + 1].name);
		else
			snprintf(buf, UNITS_TEXT_LEN, "%u%c", whole, spans[i].name);
		return;
	}
}

char *units_format_time(char *buf, int64_t ns)
{
	uint64_t value = ns < 0 ? UINT64_C(0) - (uint64_t)ns : (uint64_t)ns;
	char text[UNITS_TEXT_LEN];

	if (value < 1000)
		snprintf(text, sizeof(text), "%u ns", (unsigned)value);
	else if (value >= UINT64_C(59950000000))
		print_span(text, divide_rounded(value, (uint64_t)UNITS_NS_PER_S));
	else if (!print_three_digits(text, value, 1000, "us") &&
		 !print_three_digits(text, value, 1000000, "ms"))
		print_three_digits(text, value, 1000000000, "s");
	snprintf(buf, UNITS_TEXT_LEN, "%s%.30s", ns < 0 ? "-" : "", text);
	return buf;
}

/* ---- arithmetic and clocks ------------------------------------------------------------------- */

uint64_t units_bytes_at(uint64_t bps, int64_t ns)
{
	units_wide bytes;

	if (ns < 0)
		return 0;
	bytes = (units_wide)bps * (uint64_t)ns / NS_PER_BIT_BYTE;
	return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

int64_t units_time_for(uint64_t bytes, uint64_t bps)
{
	units_wide ns;

	if (!bps)
		return INT64_MAX;
	ns = ((units_wide)bytes * NS_PER_BIT_BYTE + bps - 1) / bps;
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * UNITS_NS_PER_S + now.tv_nsec;
}

int64_t units_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t units_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}
