/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/source_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"

#define SLICE_NS \
	INT64_C(50000000) /* so soon a stop is seen, where feed_stop() can't interrupt the source */

struct source_feed {
	struct source_feed_config config;
	uint64_t offset;  /* of the stream, behind what was read */
	uint32_t block;   /* being filled; RING_NONE */
	size_t used;      /* of it */
	uint64_t first;   /* offset of its first byte */
	int64_t since_ns; /* when that came */
};

/* ---- blocks -------------------------------------------------------------------------------------- */

/* What is before the start is thrown away. */
static void hand_over(struct feed *feed, struct source_feed *own)
{
	uint64_t start = own->config.start_offset, end = own->first + own->used;
	size_t skip = 0;

	if (own->used == 0)
		return;
	if (start > own->first)
		skip = end > start ? (size_t)(start - own->first) : own->used;
	if (skip < own->used) {
		feed_put_bytes(feed, own->block, own->first + skip, skip, own->used - skip);
		own->block = RING_NONE;
	}
	own->used = 0; /* the same block again, where nothing of it is wanted */
}

/* What the source lost comes first. Return: 0; -EINTR. */
static int take_loss(struct feed *feed, struct source_feed *own, uint64_t lost_bytes)
{
	uint64_t from = own->offset, to = own->offset + lost_bytes;

	if (lost_bytes == 0)
		return 0;
	hand_over(feed, own);
	own->offset = to;
	if (from < own->config.start_offset)
		from = own->config.start_offset;
	if (to > own->config.stop_offset)
		to = own->config.stop_offset;
	return to > from ? feed_put_gap(feed, from, to - from, RECORDING_SOURCE) : 0;
}

/*
 * Reads come in behind what the block has; a loss that is told with them parts them from it.
 * Return: 0; -EINTR.
 */
static int take_bytes(struct feed *feed, struct source_feed *own, size_t bytes, uint64_t lost_bytes)
{
	char *data = ring_data(feed->config.ring, own->block);
	size_t at = own->used;
	int ret = take_loss(feed, own, lost_bytes);

	if (ret < 0)
		return ret;
	if (own->block == RING_NONE) {
		own->block = feed_take(feed);
		if (own->block == RING_NONE)
			return -EINTR;
	}
	/* the player only reads the block that was handed over, and nobody else takes blocks: they still lie there */
	if (lost_bytes > 0)
		memmove(ring_data(feed->config.ring, own->block), data + at, bytes);
	if (own->used == 0) {
		own->first = own->offset;
		own->since_ns = units_monotonic_ns();
	}
	own->used += bytes;
	own->offset += bytes;
	return 0;
}

/* ---- the thread ---------------------------------------------------------------------------------- */

static int read_error(struct feed *feed, const struct source *source, ssize_t got)
{
	return feed_fail(feed, (int)got, "%s", source->error[0] ? source->error : strerror((int)-got));
}

/* Return: 1 go on; 0 the end; -errno. */
static int turn(struct feed *feed, struct source_feed *own)
{
	struct source *source = own->config.source;
	size_t block_bytes = ring_block_bytes(feed->config.ring);
	uint64_t left = own->config.stop_offset - own->offset;
	struct source_mark mark;
	int64_t now;
	ssize_t got;
	size_t room;

	if (left == 0 || feed_is_stopped(feed))
		return feed_is_stopped(feed) ? -EINTR : 0;
	if (own->block == RING_NONE)
		own->block = feed_take(feed);
	if (own->block == RING_NONE)
		return -EINTR;
	room = block_bytes - own->used;
	if (room > left)
		room = (size_t)left;
	got = source_read(source, (char *)ring_data(feed->config.ring, own->block) + own->used,
			  room, units_monotonic_ns() + SLICE_NS, &mark);
	if (got > 0) {
		int ret = take_bytes(feed, own, (size_t)got, mark.lost_bytes);

		if (ret < 0)
			return ret;
	} else if (got != SOURCE_NOT_YET) {
		int ret = take_loss(feed, own, mark.lost_bytes);

		if (ret < 0)
			return ret;
		return got == SOURCE_END ? 0 : read_error(feed, source, got);
	}
	now = units_monotonic_ns();
	if (own->used == block_bytes || (own->used > 0 && now - own->since_ns >= SOURCE_FEED_NS))
		hand_over(feed, own);
	return 1;
}

static int run(struct feed *feed)
{
	struct source_feed *own = feed->state;
	int ret = source_start(own->config.source);

	if (ret < 0)
		return feed_is_stopped(feed) ? -EINTR : read_error(feed, own->config.source, ret);
	own->offset = 0;
	while ((ret = turn(feed, own)) == 1)
		;
	hand_over(feed, own);
	source_stop(own->config.source);
	if (own->block != RING_NONE)
		ring_give_back(feed->config.ring, own->block);
	own->block = RING_NONE;
	return ret;
}

static void wake(struct feed *feed)
{
	struct source_feed *own = feed->state;

	source_interrupt(own->config.source);
}

static void release(struct feed *feed)
{
	free(feed->state);
}

static const struct feed_ops ops = {
	.run = run,
	.wake = wake,
	.free = release,
};

int source_feed_create(struct feed **out, const struct feed_config *config,
		       const struct source_feed_config *source)
{
	struct source_feed *own = calloc(1, sizeof(*own));
	int ret = own ? feed_create(out, &ops, config) : -ENOMEM;

	if (ret < 0) {
		free(own);
		return ret;
	}
	own->config = *source;
	own->block = RING_NONE;
	(*out)->state = own;
	return 0;
}
