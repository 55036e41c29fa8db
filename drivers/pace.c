/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pace.c - see pace.h
 */
#include "drivers/pace.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "drivers/source.h"
#include "drivers/units.h"

#define LUMP_NS INT64_C(8000000)      /* about 125 turns a second ... */
#define LUMP_MIN_BYTES UINT64_C(4096) /* ... and fewer when the rate is very low */

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Relaxed: the flag carries no data, it only has to be seen soon. */
static bool is_set(const _Atomic bool *flag)
{
	return atomic_load_explicit(flag, memory_order_relaxed);
}

void pace_init(struct pace *pace, const struct source *source)
{
	*pace = (struct pace){ .end = UINT64_MAX, .is_interrupted = &source->is_interrupted };
}

int pace_begin(struct pace *pace, struct source *source, int64_t wanted_utc_ns)
{
	int64_t late = 0;

	source->start_utc_ns = units_realtime_ns();
	if (wanted_utc_ns > source->start_utc_ns) {
		if (!pace_wait_utc(wanted_utc_ns, pace->is_interrupted))
			return -EINTR;
		/* waking takes a moment: the schedule starts when it was wanted all the same */
		late = units_realtime_ns() - wanted_utc_ns;
		source->start_utc_ns = wanted_utc_ns;
	} else if (wanted_utc_ns) {
		source_note(source, "the start time is past; started at once");
	}
	pace->start_ns = units_monotonic_ns() - late;
	return 0;
}

int pace_start(struct source *source, int64_t wanted_utc_ns)
{
	struct pace pace;

	pace_init(&pace, source);
	return pace_begin(&pace, source, wanted_utc_ns);
}

static bool is_in_stall(const struct pace *pace, int64_t ns)
{
	return ns > pace->stall_at_ns && ns - pace->stall_at_ns < pace->stall_ns;
}

uint64_t pace_visible(const struct pace *pace, int64_t now_ns)
{
	int64_t ns = now_ns - pace->start_ns;
	bool is_silent = pace->silence_at_ns && ns > pace->silence_at_ns;
	uint64_t due;

	if (ns < 0)
		return 0;
	if (is_silent)
		ns = pace->silence_at_ns;
	if (is_in_stall(pace, ns)) {
		is_silent = true;
		ns = pace->stall_at_ns;
	}
	if (!pace->rate_bps)
		return is_silent ? 0 : UINT64_MAX;
	due = units_bytes_at(pace->rate_bps, ns);
	if (due >= pace->end)
		return pace->end;
	return pace->burst_bytes ? due - due % pace->burst_bytes : due;
}

int64_t pace_time_of(const struct pace *pace, uint64_t position, int64_t now_ns)
{
	int64_t ns = now_ns - pace->start_ns;

	if (pace->burst_bytes && position % pace->burst_bytes)
		position += pace->burst_bytes - position % pace->burst_bytes;
	if (position > pace->end)
		position = pace->end;
	if (ns < 0)
		ns = 0;
	if (pace->rate_bps && units_time_for(position, pace->rate_bps) > ns)
		ns = units_time_for(position, pace->rate_bps);
	if (is_in_stall(pace, ns))
		ns = pace->stall_at_ns + pace->stall_ns;
	if ((pace->silence_at_ns && ns > pace->silence_at_ns) || ns > PACE_NEVER - pace->start_ns)
		return PACE_NEVER;
	return pace->start_ns + ns;
}

/* What is worth waking up for. */
static uint64_t lump_bytes(const struct pace *pace, uint64_t position, uint64_t len, uint64_t lump_max)
{
	uint64_t lump = units_bytes_at(pace->rate_bps, LUMP_NS);

	if (!pace->rate_bps)
		return 1;
	if (lump < LUMP_MIN_BYTES)
		lump = LUMP_MIN_BYTES;
	if (pace->burst_bytes >= lump) /* the bursts are lumps already: take what is left of one at once */
		return 1;
	if (lump_max && lump > lump_max)
		lump = lump_max;
	if (lump > len)
		lump = len;
	if (lump > pace->end - position)
		lump = pace->end - position;
	return lump;
}

size_t pace_wait(const struct pace *pace, uint64_t position, size_t len, uint64_t lump_max,
		 int64_t deadline_ns, _Atomic uint64_t *wait_count)
{
	uint64_t lump = lump_bytes(pace, position, len, lump_max);

	for (;;) {
		int64_t now = units_monotonic_ns();
		uint64_t visible = pace_visible(pace, now);
		uint64_t available = visible > position ? visible - position : 0;

		if (available >= lump || now >= deadline_ns || is_set(pace->is_interrupted))
			return available < len ? (size_t)available : len;
		source_count(wait_count, 1);
		pace_sleep_until(smaller(pace_time_of(pace, position + lump, now), deadline_ns),
				 pace->is_interrupted);
	}
}

bool pace_sleep_until(int64_t when_ns, const _Atomic bool *is_interrupted)
{
	for (;;) {
		int64_t now = units_monotonic_ns();
		int64_t until = smaller(when_ns, now + PACE_SLICE_NS);
		struct timespec at = { until / UNITS_NS_PER_S, until % UNITS_NS_PER_S };

		if (is_set(is_interrupted))
			return false;
		if (now >= when_ns)
			return true;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	}
}

bool pace_wait_utc(int64_t utc_ns, const _Atomic bool *is_interrupted)
{
	for (;;) {
		int64_t left = utc_ns - units_realtime_ns();

		if (is_set(is_interrupted))
			return false;
		if (left <= 0)
			return true;
		/* in slices: the wall clock may be stepped under us */
		pace_sleep_until(units_monotonic_ns() + smaller(left, PACE_SLICE_NS), is_interrupted);
	}
}

static int poll_for(int fd, short events, int64_t deadline_ns, const _Atomic bool *is_interrupted)
{
	for (;;) {
		struct pollfd descriptor = { .fd = fd, .events = events };
		int64_t left = smaller(deadline_ns - units_monotonic_ns(), PACE_SLICE_NS);
		struct timespec timeout = { 0, left > 0 && !is_set(is_interrupted) ? left : 0 };
		int count = ppoll(&descriptor, 1, &timeout, NULL);

		if (count > 0)
			return descriptor.revents;
		if (count < 0 && errno != EINTR)
			return -errno;
		if (!timeout.tv_nsec)
			return 0;
	}
}

int pace_poll(int fd, int64_t deadline_ns, const _Atomic bool *is_interrupted)
{
	return poll_for(fd, POLLIN, deadline_ns, is_interrupted);
}

int pace_poll_room(int fd, int64_t deadline_ns, const _Atomic bool *is_interrupted)
{
	return poll_for(fd, POLLOUT, deadline_ns, is_interrupted);
}
