/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - what the operator sees while a recording runs
 *
 *   progress_create() -> progress_tick() each second -> progress_free()
 *
 * On a terminal one live line, elsewhere one key=value line every interval; events at once on a
 * line of their own, at most PROGRESS_EVENTS a second, the rest counted. Everything goes to
 * stderr. The ticks also watch what nobody else does: the data (watch.h), the ring's rise, the
 * free space, the wall clock. A stderr that can't take a line at this moment doesn't get it: the
 * supervisor never waits for a terminal. Threads: supervisor.
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

/** progress_create() - Return: 0; -ENOMEM */
int progress_create(struct progress **out, struct session *session, enum live_mode mode,
		    int64_t interval_ns);

void progress_free(struct progress *progress);

/** progress_armed() - says what is about to run, on what */
void progress_armed(struct progress *progress);

/** progress_events() - show what the session has to say; after each poke */
void progress_events(struct progress *progress);

/** progress_tick() - once a second */
void progress_tick(struct progress *progress);

/** progress_now() - a full line now: USR1 */
void progress_now(struct progress *progress);

/**
 * progress_draining() - the stream is over; what is in the ring goes to the disks; @seconds_left
 * < 0: unknown
 */
void progress_draining(struct progress *progress);

/** progress_clear() - take the live line away before other text */
void progress_clear(struct progress *progress);

/**
 * progress_snapshot() - the state as JSON, schema vsib-status/1; a new reference, NULL without
 * memory
 */
json_t *progress_snapshot(const struct progress *progress);

#endif
