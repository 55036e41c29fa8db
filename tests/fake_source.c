/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fake_source.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "drivers/sim.h"
#include "drivers/units.h"

struct fake {
	struct fake_source_script script;
	uint64_t position; /* in the stream, losses counted */
	uint64_t chance;
	uint64_t device_left; /* after the stop */
	bool is_stopped;
};

struct fake_source_script fake_source_script;

static uint64_t chance(struct fake *fake)
{
	fake->chance ^= fake->chance << 13;
	fake->chance ^= fake->chance >> 7;
	fake->chance ^= fake->chance << 17;
	return fake->chance;
}

static bool is_interrupted(const struct source *source)
{
	return atomic_load_explicit(&source->is_interrupted, memory_order_relaxed);
}

/* Sleeps until @until_ns, or an interruption. */
static void doze(const struct source *source, int64_t until_ns)
{
	int64_t now;

	while ((now = units_monotonic_ns()) < until_ns && !is_interrupted(source)) {
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
	fake->device_left = fake->script.device_bytes;
	atomic_store_explicit(&source->stats.device_ring_bytes, fake->script.device_bytes,
			      memory_order_relaxed);
	return 0;
}

static int fake_start(struct source *source)
{
	const struct fake *fake = source->state;

	doze(source, units_monotonic_ns() + fake->script.start_ns);
	if (fake->script.start_ns && is_interrupted(source))
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

static void fake_stop(struct source *source)
{
	struct fake *fake = source->state;

	fake->is_stopped = true;
}

static void fake_close(struct source *source)
{
	free(source->state);
}

const struct source_ops fake_source_ops = {
	.prefix = "fake:",
	.summary = "fake: a source for tests",
	.open = fake_open,
	.start = fake_start,
	.read = fake_read,
	.stop = fake_stop,
	.close = fake_close,
};
