/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake.c - see fake.h
 */
#include "drivers/fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drivers/units.h"

#define VIRTUAL_MONOTONIC_NS (1000 * UNITS_NS_PER_S)
#define VIRTUAL_REALTIME_NS (1790000000 * UNITS_NS_PER_S)

/* ---- settings -------------------------------------------------------------------------------- */

bool fake_is_meant(const char *path)
{
	return !strcmp(path, "fake") || !strncmp(path, "fake:", 5);
}

static int take_value(const struct fake_setting *setting, char *value)
{
	char *at = setting->position ? strchr(value, '@') : NULL;

	if (!setting->parse)
		return units_parse_time(value, setting->time_ns);
	if (!setting->position)
		return setting->parse(value, setting->number);
	if (!at)
		return -EINVAL;
	*at = '\0';
	return setting->parse(value, setting->number) || units_parse_bytes(at + 1, setting->position) ?
		       -EINVAL :
		       0;
}

static int take_item(const struct fake_setting *list, char *item)
{
	char *equals = strchr(item, '=');

	if (!equals)
		return strcmp(item, "fake") ? -EINVAL : 0;
	*equals = '\0';
	for (; list->key; list++)
		if (!strcmp(item, list->key))
			return take_value(list, equals + 1);
	return -EINVAL;
}

int fake_take_settings(const char *path, const struct fake_setting *list)
{
	char *text = strdup(path), *rest = NULL;
	int ret = text ? 0 : -ENOMEM;

	for (char *item = text ? strtok_r(text, ":", &rest) : NULL; item && !ret;
	     item = strtok_r(NULL, ":", &rest))
		ret = take_item(list, item);
	free(text);
	return ret;
}

/* ---- the clock ------------------------------------------------------------------------------- */

void fake_clock_init(struct fake_clock *clock)
{
	*clock = (struct fake_clock){ .monotonic_ns = VIRTUAL_MONOTONIC_NS,
				      .realtime_ns = VIRTUAL_REALTIME_NS };
}

int fake_wait(struct fake_clock *clock, int64_t ns)
{
	struct timespec span = { ns / UNITS_NS_PER_S, ns % UNITS_NS_PER_S };

	if (ns <= 0)
		return 0;
	if (!clock->is_virtual)
		return -clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
	clock->monotonic_ns += ns;
	clock->realtime_ns += ns;
	return 0;
}

int64_t fake_monotonic_ns(const struct fake_clock *clock)
{
	return clock->is_virtual ? clock->monotonic_ns : units_monotonic_ns();
}

int64_t fake_realtime_ns(const struct fake_clock *clock)
{
	return clock->is_virtual ? clock->realtime_ns : units_realtime_ns();
}
