/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake.h - what the stand-ins for devices share: settings behind colons, and a clock
 *
 * A stand-in's path is a list of settings, "fake:rate=64M:seed=3". Its clock is the machine's, or a virtual one that
 * stands still except in fake_wait(): then a test has time in its hand.
 * Threads: whoever has the device.
 */
#ifndef VSIB_DRIVERS_FAKE_H
#define VSIB_DRIVERS_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_NEVER INT64_MAX

struct fake_clock {
	uint64_t is_virtual;
	int64_t monotonic_ns, realtime_ns; /* virtual only */
};

/* One setting. A list of them ends with a NULL key. */
struct fake_setting {
	const char *key;
	int (*parse)(const char *text, uint64_t *number); /* of units.h; NULL: a time */
	uint64_t *number;
	uint64_t *position; /* not NULL: the value is NUMBER@SIZE */
	int64_t *time_ns;
};

/** fake_is_meant() - does this path ask for a stand-in? "fake" or "fake:..." */
bool fake_is_meant(const char *path);

/**
 * fake_take_settings() - "fake:key=value:key=value"
 * Return: 0; -EINVAL unknown setting or a value that makes no sense; -ERANGE; -ENOMEM.
 */
int fake_take_settings(const char *path, const struct fake_setting *list);

/** fake_clock_init() - the machine's time; some virtual moment, if it becomes virtual */
void fake_clock_init(struct fake_clock *clock);

/** fake_wait() - lets time pass; Return: 0; -EINTR when a signal ended it */
int fake_wait(struct fake_clock *clock, int64_t ns);

int64_t fake_monotonic_ns(const struct fake_clock *clock);
int64_t fake_realtime_ns(const struct fake_clock *clock);

#endif
