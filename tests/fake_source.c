/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fake_source.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drivers/sim.h"
#include "drivers/units.h"

#define LENT_ALIGN ((size_t)4096)

struct fake {
	struct fake_source_script script;
	uint64_t position; /* in the stream, losses counted */
	uint64_t fill_at;  /* the same of what is filled next */
	uint64_t chance;
	uint64_t device_left; /* after the stop */
	bool is_stopped;

	/* of the one that lends */
	char *memory;
	size_t block_bytes;
	uint32_t block_count;
	uint32_t next; /* block that is filled next; it must have been given */
	bool *is_given;
};

struct fake_source_script fake_source_script;

static uint64_t chance(struct fake *fake)
{
	fake->chance ^= fake->chance << 13;
	fake->chance ^= fake->chance >> 7;
	fake->chance ^= fake->chance << 17;
	return fake->chance;
}

/* Sleeps until @until_ns, or an interruption. */
static void doze(const struct source *source, int64_t until_ns)
{
	int64_t now;

	while ((now = units_monotonic_ns()) < until_ns && !source_is_interrupted(source)) {
		int64_t left = until_ns - now;
		struct timespec pause = { .tv_nsec = left < 1000000 ? left : 1000000 };

		nanosleep(&pause, NULL);
	}
}

static int fake_open(struct source *source, const struct source_config *config)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	(void)config;
	if (!fake)
		return -ENOMEM;
	fake->script = fake_source_script;
	fake->chance = fake->script.seed * 2 + 1;
	source->state = fake;
	source->can_wait = fake->script.can_wait;
	source->rate_bps = fake->script.rate_bps;
	source->frame_bytes = fake->script.frame_bytes;
	source->gives_vdif_fill = fake->script.gives_fill;
	fake->device_left = fake->script.device_bytes;
	atomic_store_explicit(&source->stats.device_ring_bytes, fake->script.device_bytes,
			      memory_order_relaxed);
	return 0;
}

static int fake_start(struct source *source)
{
	const struct fake *fake = source->state;

	doze(source, units_monotonic_ns() + fake->script.start_ns);
	if (fake->script.start_ns && source_is_interrupted(source))
		return -EINTR;
	return -fake->script.start_error;
}

static bool is_turn(struct fake *fake, unsigned one_in)
{
	return one_in && chance(fake) % one_in == 0;
}

static ssize_t fake_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			 struct source_mark *mark)
{
	struct fake *fake = source->state;
	const struct fake_source_script *script = &fake->script;
	uint64_t end = script->bytes ? script->bytes : UINT64_MAX;

	if (fake->is_stopped && fake->device_left == 0)
		return SOURCE_NOT_YET;
	if (script->pause_ns)
		doze(source, units_monotonic_ns() + script->pause_ns);
	if (script->is_silent || is_turn(fake, script->idle_one_in)) {
		doze(source, script->is_silent ? deadline_ns : units_monotonic_ns());
		return SOURCE_NOT_YET;
	}
	if (script->error_at && fake->position >= script->error_at)
		return source_fail(source, EIO, "the board has burnt down");
	fake->fill_at = fake->position;
	if (is_turn(fake, script->loss_one_in)) {
		mark->lost_bytes = 1 + chance(fake) % script->loss_max;
		mark->is_estimated = chance(fake) % 2;
		fake->position += mark->lost_bytes;
	}
	if (is_turn(fake, script->discard_one_in))
		mark->discarded_bytes = 1 + chance(fake) % script->discard_max;
	if (fake->position >= end) {
		mark->lost_bytes += script->loss_at_end;
		return SOURCE_END;
	}
	if (script->piece_max && len > script->piece_max)
		len = script->piece_max;
	if (script->piece_max)
		len = 1 + chance(fake) % len;
	if (len > end - fake->position)
		len = (size_t)(end - fake->position);
	if (fake->is_stopped && len > fake->device_left)
		len = (size_t)fake->device_left;
	if (fake->is_stopped)
		fake->device_left -= len;
	sim_fill(buf, len, fake->position, script->seed);
	fake->position += len;
	return (ssize_t)len;
}

uint64_t fake_source_fill_seed(void)
{
	return fake_source_script.seed + 1;
}

static void fake_fill(struct source *source, void *buf, size_t len)
{
	struct fake *fake = source->state;

	sim_fill(buf, len, fake->fill_at, fake_source_fill_seed());
	fake->fill_at += len;
}

static void fake_stop(struct source *source)
{
	struct fake *fake = source->state;

	fake->is_stopped = true;
}

static void fake_close(struct source *source)
{
	struct fake *fake = source->state;

	free(fake->memory);
	free(fake->is_given);
	free(fake);
}

/* ---- lending ---- */

static int fake_lend(struct source *source, size_t block_bytes, uint32_t block_count, void **memory)
{
	struct fake *fake = source->state;

	fake->memory = aligned_alloc(LENT_ALIGN, block_bytes * block_count);
	fake->is_given = calloc(block_count, sizeof(fake->is_given[0]));
	fake->block_bytes = block_bytes;
	fake->block_count = block_count;
	*memory = fake->memory;
	return fake->memory && fake->is_given ? 0 : -ENOMEM;
}

static void fake_give(struct source *source, uint32_t block)
{
	const struct fake *fake = source->state;

	assert(!fake->is_given[block]);
	fake->is_given[block] = true;
	memset(fake->memory + block * fake->block_bytes, 0x5a, fake->block_bytes);
}

static ssize_t fake_take(struct source *source, uint32_t *block, int64_t deadline_ns,
			 struct source_mark *mark)
{
	struct fake *fake = source->state;
	const struct fake_source_script *script = &fake->script;
	uint64_t end = script->bytes ? script->bytes : UINT64_MAX - LENT_ALIGN;
	uint64_t pages = fake->block_bytes / LENT_ALIGN, left;
	size_t bytes;

	(void)mark;
	if (fake->is_stopped || fake->position >= end)
		return SOURCE_END;
	if (script->error_at && fake->position >= script->error_at)
		return source_fail(source, EIO, "the interface is gone");
	if (!fake->is_given[fake->next] || is_turn(fake, script->idle_one_in)) {
		doze(source, deadline_ns);
		return SOURCE_NOT_YET;
	}
	left = (end - fake->position + LENT_ALIGN - 1) / LENT_ALIGN;
	if (script->piece_max)
		pages = 1 + chance(fake) % pages;
	if (pages > left)
		pages = left;
	bytes = (size_t)pages * LENT_ALIGN;
	sim_fill(fake->memory + fake->next * fake->block_bytes, bytes, fake->position, script->seed);
	*block = fake->next;
	fake->is_given[fake->next] = false;
	fake->next = (fake->next + 1) % fake->block_count;
	fake->position += bytes;
	return (ssize_t)bytes;
}

const struct source_ops fake_lending_source_ops = {
	.prefix = "fake:",
	.summary = "fake: a source of packets for tests",
	.open = fake_open,
	.start = fake_start,
	.lend = fake_lend,
	.give = fake_give,
	.take = fake_take,
	.stop = fake_stop,
	.close = fake_close,
};

const struct source_ops fake_source_ops = {
	.prefix = "fake:",
	.summary = "fake: a source for tests",
	.open = fake_open,
	.start = fake_start,
	.read = fake_read,
	.fill = fake_fill,
	.stop = fake_stop,
	.close = fake_close,
};
