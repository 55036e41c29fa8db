/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EXPERIMENT_MAX 8
#define STATION_MAX 8
#define SCAN_MAX 31
#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

bool names_is_given(const struct names_scan *scan)
{
	return scan->experiment || scan->station || scan->scan;
}

/* @others: what may stand in it beside letters and digits */
static int check_part(const char *option, const char *part, size_t most, const char *others, char *error)
{
	char allowed[sizeof(LETTERS CAPITALS DIGITS) + 8];
	size_t good;

	snprintf(allowed, sizeof(allowed), "%s%s", LETTERS CAPITALS DIGITS, others);
	good = strspn(part, allowed);
	if (part[good] == '.')
		snprintf(error, NAMES_ERROR_LEN,
			 "--%s '%.60s': readers of VBS recordings can't open a name with a '.' in it",
			 option, part);
	else if (part[good])
		snprintf(error, NAMES_ERROR_LEN,
			 "--%s '%.60s': only letters and digits%s may stand in it", option, part,
			 others[0] ? ", '+' and '-'" : "");
	else if (good == 0)
		snprintf(error, NAMES_ERROR_LEN, "--%s is empty", option);
	else if (good > most)
		snprintf(error, NAMES_ERROR_LEN, "--%s '%.60s': it is longer than %zu characters",
			 option, part, most);
	else
		return 0;
	return -EINVAL;
}

/* No part of a name depends on the locale. */
static char *append_lower(char *to, const char *part)
{
	for (; *part; part++)
		*to++ = *part >= 'A' && *part <= 'Z' ? (char)(*part - 'A' + 'a') : *part;
	*to = '\0';
	return to;
}

int names_label(char *label, const struct names_scan *scan, char *error)
{
	char *to = label;
	int ret = 0;

	if (!scan->scan) {
		snprintf(error, NAMES_ERROR_LEN, "--exp and --station name a scan: --scan is missing");
		return -EINVAL;
	}
	if (scan->experiment)
		ret = check_part("exp", scan->experiment, EXPERIMENT_MAX, "", error);
	if (ret == 0 && scan->station)
		ret = check_part("station", scan->station, STATION_MAX, "", error);
	if (ret == 0)
		ret = check_part("scan", scan->scan, SCAN_MAX, "+-", error);
	if (ret < 0)
		return ret;
	to = scan->experiment ? append_lower(to, scan->experiment) : stpcpy(to, "EXP");
	*to++ = '_';
	to = scan->station ? append_lower(to, scan->station) : stpcpy(to, "STN");
	*to++ = '_';
	append_lower(to, scan->scan);
	return 0;
}

bool names_repeat(char *repeated, const char *label, unsigned index)
{
	static const char letters[] = LETTERS CAPITALS;

	if (index >= sizeof(letters) - 1)
		return false;
	snprintf(repeated, NAMES_LABEL_LEN, "%.*s%c", NAMES_LABEL_LEN - 2, label, letters[index]);
	return true;
}
