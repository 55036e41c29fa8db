/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_events.h - sentences from any thread on their way to stderr
 *
 *   play_events_init() -> play_events_add() by any thread, play_events_take() by the main thread -> play_events_destroy()
 *
 * Who has something to say never waits for a terminal: the main thread prints. What comes while PLAY_EVENTS_KEPT are
 * waiting is counted only.
 */
#ifndef VSIB_TOOLS_REPLAY_PLAY_EVENTS_H
#define VSIB_TOOLS_REPLAY_PLAY_EVENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PLAY_EVENTS_KEPT 32
#define PLAY_EVENT_LEN 1024

struct play_events {
	pthread_mutex_t lock;
	char texts[PLAY_EVENTS_KEPT][PLAY_EVENT_LEN];
	unsigned first, count;
	uint64_t hidden_count; /* since the last play_events_take_hidden() */
};

void play_events_init(struct play_events *events);
void play_events_destroy(struct play_events *events);

/** play_events_add() - one sentence; of more than PLAY_EVENT_LEN the begin */
void play_events_add(struct play_events *events, const char *sentence);

/** play_events_take() - the oldest; @text: PLAY_EVENT_LEN. Return: false: there is none. */
bool play_events_take(struct play_events *events, char *text);

/** play_events_take_hidden() - how many have not been kept; they are told now */
uint64_t play_events_take_hidden(struct play_events *events);

#endif
