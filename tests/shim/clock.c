/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c - a wall clock that is stepped, for one program: to be preloaded, the real clock is never touched
 *
 *   cc -shared -fPIC -o clock.so tests/shim/clock.c
 *   CLOCK_STEPS="1.5:-3600 3:7200" LD_PRELOAD=$PWD/clock.so PROGRAM...
 *
 * 1.5 s after the program's start the wall clock goes back by an hour, at 3 s it leaps forward by two. What the
 * program forks goes on with the same clock. CLOCK_MONOTONIC and all waiting are the kernel's own.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define STEP_MAX 8
#define NS_PER_S INT64_C(1000000000)
#define VISIBLE __attribute__((visibility("default")))

static struct {
	int64_t at_ns; /* CLOCK_MONOTONIC */
	int64_t by_ns;
} steps[STEP_MAX];
static int step_count;

static int64_t kernel_ns(clockid_t clock)
{
	struct timespec now;

	syscall(SYS_clock_gettime, clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static __attribute__((constructor)) void read_steps(void)
{
	const char *text = getenv("CLOCK_STEPS");
	int64_t start = kernel_ns(CLOCK_MONOTONIC);
	double at, by;
	int len;

	while (text && step_count < STEP_MAX && sscanf(text, "%lf:%lf%n", &at, &by, &len) == 2) {
		steps[step_count].at_ns = start + (int64_t)(at * 1e9);
		steps[step_count++].by_ns = (int64_t)(by * 1e9);
		text += len;
	}
}

static int64_t wall_ns(void)
{
	int64_t wall = kernel_ns(CLOCK_REALTIME), now = kernel_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < step_count; i++)
		if (now >= steps[i].at_ns)
			wall += steps[i].by_ns;
	return wall;
}

VISIBLE int clock_gettime(clockid_t clock, struct timespec *now)
{
	int64_t wall;

	if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
		return (int)syscall(SYS_clock_gettime, clock, now);
	wall = wall_ns();
	now->tv_sec = wall / NS_PER_S;
	now->tv_nsec = wall % NS_PER_S;
	return 0;
}

VISIBLE int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int64_t wall = wall_ns();

	(void)zone;
	now->tv_sec = wall / NS_PER_S;
	now->tv_usec = wall % NS_PER_S / 1000;
	return 0;
}

VISIBLE time_t time(time_t *seconds)
{
	time_t now = wall_ns() / NS_PER_S;

	if (seconds)
		*seconds = now;
	return now;
}
