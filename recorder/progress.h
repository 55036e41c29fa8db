/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - what the operator sees while a recording runs
 *
 *   progress_create() -> progress_tick() each second -> progress_free()
 *
 * On a terminal one live line, elsewhere one key=value line every interval; events at once on a line of their own, at most
 * PROGRESS_EVENTS a second, the rest counted. Everything goes to stderr.
 * The ticks also watch what nobody else does: the data (watch.h), the ring's rise, the free space, the wall clock.
 * Threads: progress_event() from any thread, one at a time (the session holds a lock); the rest from the supervisor.
 */
#ifndef VSIB_RECORDER_PROGRESS_H
#define VSIB_RECORDER_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/options.h"
#include "recorder/state.h"

#define PROGRESS_EVENTS 5

struct progress;

/** progress_create() - also makes itself the session's on_event. Return: 0; -ENOMEM */
int progress_create(struct progress **out, struct session *session, enum live_mode mode, int64_t interval_ns);

void progress_free(struct progress *progress);

/** progress_armed() - says what is about to run, on what */
void progress_armed(struct progress *progress);

/** progress_tick() - once a second */
void progress_tick(struct progress *progress);

/** progress_now() - a full line now: USR1 */
void progress_now(struct progress *progress);

/** progress_draining() - the stream is over; what is in the ring goes to the disks; @seconds_left < 0: unknown */
void progress_draining(struct progress *progress);

/** progress_clear() - take the live line away before other text */
void progress_clear(struct progress *progress);

/** progress_snapshot() - the state as JSON, schema vsib-status/1; a new reference, NULL without memory */
json_t *progress_snapshot(const struct progress *progress);

#endif
