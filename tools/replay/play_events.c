/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/play_events.h"

#include <stdio.h>
#include <string.h>

void play_events_init(struct play_events *events)
{
	memset(events, 0, sizeof(*events));
	pthread_mutex_init(&events->lock, NULL);
}

void play_events_destroy(struct play_events *events)
{
	pthread_mutex_destroy(&events->lock);
}

void play_events_add(struct play_events *events, const char *sentence)
{
	pthread_mutex_lock(&events->lock);
	if (events->count < PLAY_EVENTS_KEPT)
		snprintf(events->texts[(events->first + events->count++) % PLAY_EVENTS_KEPT],
			 PLAY_EVENT_LEN, "%s", sentence);
	else
		events->hidden_count++;
	pthread_mutex_unlock(&events->lock);
}

bool play_events_take(struct play_events *events, char *text)
{
	bool is_taken = false;

	pthread_mutex_lock(&events->lock);
	if (events->count) {
		memcpy(text, events->texts[events->first], PLAY_EVENT_LEN);
		events->first = (events->first + 1) % PLAY_EVENTS_KEPT;
		events->count--;
		is_taken = true;
	}
	pthread_mutex_unlock(&events->lock);
	return is_taken;
}

uint64_t play_events_take_hidden(struct play_events *events)
{
	uint64_t count;

	pthread_mutex_lock(&events->lock);
	count = events->hidden_count;
	events->hidden_count = 0;
	pthread_mutex_unlock(&events->lock);
	return count;
}
