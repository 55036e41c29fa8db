/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/feed.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE 0 /* the player's */
#define SENTENCE_LEN FEED_ERROR_LEN

int feed_create(struct feed **out, const struct feed_ops *ops, const struct feed_config *config)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	*out = feed;
	if (!feed)
		return -ENOMEM;
	feed->ops = ops;
	feed->config = *config;
	feed->end_block = RING_NONE;
	return 0;
}

/* ---- its thread ---- */

static void put(struct feed *feed, uint32_t block, struct play_label label, size_t used_bytes)
{
	label.is_anew = feed->is_anew;
	feed->is_anew = false;
	memcpy(ring_label(feed->config.ring, block), &label, sizeof(label));
	ring_put(feed->config.ring, QUEUE, block, used_bytes, true);
}

static void *feed_main(void *arg)
{
	struct feed *feed = arg;
	struct play_label label = { .kind = BLOCK_END };

	pthread_setname_np(pthread_self(), "feed");
	label.result = feed->ops->run(feed);
	put(feed, feed->end_block, label, 1);
	/* release: who sees it sees the sentence and the counters as they are in the end */
	atomic_store_explicit(&feed->is_ended, true, memory_order_release);
	return NULL;
}

int feed_start(struct feed *feed)
{
	int ret;

	/* one that is certain to be there in the end, also when nobody empties the ring any more */
	feed->end_block = ring_take(feed->config.ring);
	assert(feed->end_block != RING_NONE);
	ret = pthread_create(&feed->thread, NULL, feed_main, feed);
	if (ret) {
		ring_give_back(feed->config.ring, feed->end_block);
		return feed_fail(feed, -ret, "cannot start a thread: %s", strerror(ret));
	}
	feed->is_started = true;
	return 0;
}

void feed_stop(struct feed *feed)
{
	/* relaxed: nothing travels with the flag; who sleeps is woken after it */
	atomic_store_explicit(&feed->is_stopped, true, memory_order_relaxed);
	ring_wake(feed->config.ring, RING_PRODUCER);
	if (feed->ops->wake)
		feed->ops->wake(feed);
}

void feed_free(struct feed *feed)
{
	if (!feed)
		return;
	if (feed->is_started) {
		feed_stop(feed);
		pthread_join(feed->thread, NULL);
	}
	if (feed->ops->free)
		feed->ops->free(feed);
	free(feed);
}

/* ---- for feeds, in their thread ---- */

uint32_t feed_take(struct feed *feed)
{
	struct ring *ring = feed->config.ring;

	for (;;) {
		uint32_t ticket = ring_listen(ring, RING_PRODUCER), block;

		if (feed_is_stopped(feed))
			return RING_NONE;
		block = ring_take(ring);
		if (block != RING_NONE)
			return block;
		ring_sleep(ring, RING_PRODUCER, ticket, INT64_MAX);
	}
}

void feed_begin_anew(struct feed *feed)
{
	feed->is_anew = true;
}

void feed_put_bytes(struct feed *feed, uint32_t block, uint64_t stream_offset, size_t lead_bytes,
		    size_t bytes)
{
	struct play_label label = {
		.kind = BLOCK_BYTES,
		.lead_bytes = (uint32_t)lead_bytes,
		.stream_offset = stream_offset,
	};

	assert(bytes > 0 && lead_bytes <= UINT32_MAX);
	feed_count(&feed->stats.data_bytes, bytes);
	put(feed, block, label, lead_bytes + bytes);
}

void feed_put_packets(struct feed *feed, uint32_t block, uint64_t stream_offset, size_t bytes)
{
	struct play_label label = { .kind = BLOCK_PACKETS, .stream_offset = stream_offset };

	assert(bytes > 0);
	feed_count(&feed->stats.data_bytes,
		   block_packets_bytes(ring_data(feed->config.ring, block), bytes));
	put(feed, block, label, bytes);
}

void feed_note_gap(struct feed *feed, uint64_t stream_offset, uint64_t bytes, enum recording_cause cause)
{
	uint64_t count = atomic_load_explicit(&feed->stats.gap_count, memory_order_relaxed); /* our own */

	if (count < FEED_GAPS_MAX)
		feed->gaps[count] = (struct feed_gap){ stream_offset, bytes, cause };
	feed_count(&feed->stats.gap_bytes, bytes);
	feed_count(&feed->stats.gap_count, 1);
}

int feed_put_gap(struct feed *feed, uint64_t stream_offset, uint64_t bytes, enum recording_cause cause)
{
	struct play_label label = {
		.kind = BLOCK_GAP,
		.stream_offset = stream_offset,
		.gap_bytes = bytes,
		.cause = cause,
	};
	uint32_t block = feed_take(feed);

	if (block == RING_NONE)
		return -EINTR;
	feed_note_gap(feed, stream_offset, bytes, cause);
	put(feed, block, label, 1); /* no run is empty */
	return 0;
}

int feed_fail(struct feed *feed, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(feed->error, sizeof(feed->error), format, args);
	va_end(args);
	return ret;
}

void feed_say(struct feed *feed, const char *format, ...)
{
	char sentence[SENTENCE_LEN];
	va_list args;

	if (!feed->config.say)
		return;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	feed->config.say(feed->config.context, sentence);
}
