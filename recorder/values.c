/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/values.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"

int values_pick(const char *value, const char *words)
{
	size_t len = strlen(value);
	int index = 0;

	for (const char *word = words; word; index++) {
		const char *bar = strchr(word, '|');
		size_t word_len = bar ? (size_t)(bar - word) : strlen(word);

		if (word_len == len && strncmp(word, value, len) == 0)
			return index;
		word = bar ? bar + 1 : NULL;
	}
	return -EINVAL;
}

int values_time(const char *value, int64_t *ns)
{
	int64_t time;
	int ret = units_parse_time(value, &time);

	if (ret == 0 && time == 0)
		ret = -EINVAL;
	if (ret == 0)
		*ns = time;
	return ret;
}

int values_bytes(const char *value, uint64_t *bytes)
{
	uint64_t size;
	int ret = units_parse_bytes(value, &size);

	if (ret == 0 && size == 0)
		ret = -EINVAL;
	if (ret == 0 && size > INT64_MAX)
		ret = -ERANGE;
	if (ret == 0)
		*bytes = size;
	return ret;
}

int values_count(const char *value, unsigned least, unsigned most, unsigned *count)
{
	uint64_t number;
	int ret = units_parse_count(value, &number);

	if (ret < 0)
		return ret;
	if (number < least || number > most)
		return -ERANGE;
	*count = (unsigned)number;
	return 0;
}

int values_share(const char *value, double *share)
{
	char millionths[64];
	uint64_t number;
	int ret;

	/* as a multiple of a million it is a whole number, for which there is a parser */
	if ((size_t)snprintf(millionths, sizeof(millionths), "%sM", value) >= sizeof(millionths))
		return -EINVAL;
	ret = units_parse_bytes(millionths, &number);
	if (ret < 0)
		return ret;
	if (number < 1 || number > 1000000)
		return -ERANGE;
	*share = (double)number / 1e6;
	return 0;
}

const char *values_describe(const char *arg)
{
	static const char *const words[][2] = {
		{ "SIZE", ", such as 4096, 64Ki or 1.5G" },
		{ "BYTES", ", such as 4096, 64Ki or 1.5G" },
		{ "TIME", ", such as 90, 30s, 10m or 1h30m" },
		{ "RATE", ", such as 512 (Mbit/s), 1.6G or 64MB/s" },
		{ "HZ", ", such as 1420.4M" },
		{ "UTC", ", such as 2026-11-30T08:15:00Z" },
		{ "FORMAT", ", such as ci8, ri16_le, cf32_be, or raw" },
		{ "SHARE", ", such as 0.8" },
		{ "N", ", a whole number from 1 on" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(arg, words[i][0]) == 0)
			return words[i][1];
	return "";
}
