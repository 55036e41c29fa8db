/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pace.h - waiting, for drivers: for a schedule, for a moment or for a descriptor
 *
 *   pace_init() -> pace_begin() -> pace_wait() ...    the bytes that are due by a schedule
 *   pace_sleep_until(), pace_wait_utc(), pace_poll()  a moment, a descriptor
 *
 * The schedule counts from its start and not from the last turn, so that it never drifts. Every
 * wait ends within PACE_SLICE_NS after source_interrupt() or destination_interrupt() and never lasts past its
 * deadline.
 * Threads: the reader's or the player's alone; @is_interrupted may be set by any.
 */
#ifndef VSIB_DRIVERS_PACE_H
#define VSIB_DRIVERS_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source;

#define PACE_SLICE_NS INT64_C(40000000)
#define PACE_NEVER INT64_MAX

/* When each byte of a stream becomes visible. Zero = not used, except for end. */
struct pace {
	uint64_t rate_bps;    /* 0 = as fast as it is asked for */
	uint64_t burst_bytes; /* bytes come in lumps of this size, at the same mean rate */
	uint64_t end; /* where the stream ends; its last lump may be short; UINT64_MAX = none */
	int64_t stall_at_ns;   /* from this moment after the start nothing comes ... */
	int64_t stall_ns;      /* ... for so long; then all that is due comes at once */
	int64_t silence_at_ns; /* from this moment after the start nothing ever comes */
	int64_t start_ns;      /* CLOCK_MONOTONIC, set by pace_begin() */
	const _Atomic bool *is_interrupted;
};

/** pace_init() - no rate, no end; heeds source_interrupt() */
void pace_init(struct pace *pace, const struct source *source);

/**
 * pace_begin() - the schedule starts, now or at a moment to come; sets source->start_utc_ns
 * @wanted_utc_ns: waits for this moment; 0 = now; past = now, with a note
 * Return: 0; -EINTR when interrupted before.
 */
int pace_begin(struct pace *pace, struct source *source, int64_t wanted_utc_ns);

/**
 * pace_start() - the same for a source that comes at a pace of its own: to be called before anything is let in
 *
 * What a device kept before that moment is read all the same: only it knows how old that is.
 */
int pace_start(struct source *source, int64_t wanted_utc_ns);

/**
 * pace_visible() - position up to which bytes are visible at @now_ns
 * Return: the position; without a rate UINT64_MAX, and 0 while nothing comes (before the start,
 * stall, silence).
 */
uint64_t pace_visible(const struct pace *pace, int64_t now_ns);

/**
 * pace_time_of() - first moment from @now_ns on at which pace_visible() is at least @position;
 * PACE_NEVER
 */
int64_t pace_time_of(const struct pace *pace, uint64_t position, int64_t now_ns);

/**
 * pace_wait() - how many bytes behind @position may be handed out
 * @len:         the most that the caller wants
 * @lump_max:    don't wait for more than this to come together; 0 = no limit
 * @deadline_ns: CLOCK_MONOTONIC
 * @wait_count:  counts the sleeps
 *
 * Sleeps until a sensible lump is due (some milliseconds of the rate), so that a slow stream
 * doesn't wake its reader for every byte; at the deadline what is there is handed out.
 * Return: 1..@len; 0 = nothing until the deadline, or interrupted with nothing there.
 */
size_t pace_wait(const struct pace *pace, uint64_t position, size_t len, uint64_t lump_max,
		 int64_t deadline_ns, _Atomic uint64_t *wait_count);

/** pace_sleep_until() - CLOCK_MONOTONIC; Return: true; false when interrupted before */
bool pace_sleep_until(int64_t when_ns, const _Atomic bool *is_interrupted);

/**
 * pace_wait_utc() - sleeps until the wall clock shows @utc_ns, also when the clock is stepped
 * meanwhile
 * Return: true; false when interrupted before.
 */
bool pace_wait_utc(int64_t utc_ns, const _Atomic bool *is_interrupted);

/**
 * pace_poll(), pace_poll_room() - waits until @fd can be read, or written to; has an error or has been hung up
 * Return: the poll events; 0 = nothing until the deadline, or interrupted; -errno.
 */
int pace_poll(int fd, int64_t deadline_ns, const _Atomic bool *is_interrupted);
int pace_poll_room(int fd, int64_t deadline_ns, const _Atomic bool *is_interrupted);

#endif
