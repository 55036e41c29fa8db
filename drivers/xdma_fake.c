/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xdma_fake.c - a stand-in for a channel of the XDMA driver, for tests and for trials without hardware
 *
 * It does what the driver does, the traps included: a read() is one transfer and waits until all of it has come, a
 * packet ends or the time is up; addresses and lengths that are not aligned are refused with EINVAL; between
 * two read()s only the device's FIFO holds the stream, and what is too much for it is gone without a word. The
 * samples are the simulator's pattern (sim.h) at their true offset.
 *
 * The path is a list of settings, "fake:rate=64M:fifo=1M":
 *
 *   rate=RATE      of the stream, 512 Mbit/s; it flows from the first read() on
 *   seed=N         of the pattern
 *   align=N        what addresses and lengths must be multiples of, and what the driver tells, 64
 *   fifo=SIZE      the device's FIFO, 16M; it keeps the latest that fits
 *   packet=SIZE    length of a packet: a read() ends there when the channel was opened to do so
 *   pause=TIME@SIZE nothing comes for so long at stream offset SIZE
 *   timeout=TIME   the driver gives a transfer up, 10 s; 0 = never
 *   partial=0|1    whether it then gives what has come, 1; else it fails
 *   expired=N      ... with this errno, 110 (ETIMEDOUT)
 *   busy=0|1       whether another program has the channel open, 0
 *   error=N@SIZE   after SIZE bytes each read() fails with errno N; 19 is ENODEV, unplugged
 *   virtual=0|1    1: time stands still except in read() and wait(); for unit tests
 */
#include "drivers/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "drivers/fake.h"
#include "drivers/sim.h"
#include "drivers/units.h"

#define SLICE_NS INT64_C(10000000)
#define READ_MAX_BYTES ((size_t)0x7ffff000) /* no read(2) is longer */

struct fake {
	struct fake_clock clock;
	uint64_t rate_bps, seed, align, fifo_bytes, packet_bytes;
	uint64_t gives_partial, expired_error, is_busy;
	uint64_t error, error_at;
	int64_t pause_ns, timeout_ns;
	uint64_t pause_at;

	bool ends_at_packets;
	int64_t first_ns;  /* when the stream began to flow; FAKE_NEVER = not yet */
	uint64_t position; /* stream offset of the next byte */
};

/* ---- opening --------------------------------------------------------------------------------- */

static int parse_time(const char *text, uint64_t *ns)
{
	int64_t time_ns;
	int ret = units_parse_time(text, &time_ns);

	*ns = (uint64_t)time_ns;
	return ret;
}

static int take_settings(struct fake *fake, const char *path)
{
	uint64_t pause_ns = 0;
	const struct fake_setting list[] = {
		{ .key = "rate", .parse = units_parse_rate, .number = &fake->rate_bps },
		{ .key = "seed", .parse = units_parse_count, .number = &fake->seed },
		{ .key = "align", .parse = units_parse_bytes, .number = &fake->align },
		{ .key = "fifo", .parse = units_parse_bytes, .number = &fake->fifo_bytes },
		{ .key = "packet", .parse = units_parse_bytes, .number = &fake->packet_bytes },
		{ "pause", parse_time, &pause_ns, &fake->pause_at, NULL },
		{ .key = "timeout", .time_ns = &fake->timeout_ns },
		{ .key = "partial", .parse = units_parse_count, .number = &fake->gives_partial },
		{ .key = "expired", .parse = units_parse_count, .number = &fake->expired_error },
		{ .key = "busy", .parse = units_parse_count, .number = &fake->is_busy },
		{ "error", units_parse_count, &fake->error, &fake->error_at, NULL },
		{ .key = "virtual", .parse = units_parse_count, .number = &fake->clock.is_virtual },
		{ .key = NULL },
	};
	int ret = fake_take_settings(path, list);

	fake->pause_ns = (int64_t)pause_ns;
	if (!ret && (!fake->align || fake->align > (1 << 20)))
		ret = -EINVAL;
	return ret;
}

static int xdma_open(const char *path, int flags, void **node)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	int ret;

	if (!fake)
		return -ENOMEM;
	*fake = (struct fake){
		.rate_bps = 512000000,
		.align = 64,
		.fifo_bytes = 16000000,
		.gives_partial = 1,
		.expired_error = ETIMEDOUT,
		.timeout_ns = 10 * UNITS_NS_PER_S,
		.ends_at_packets = flags & O_TRUNC,
		.first_ns = FAKE_NEVER,
	};
	fake_clock_init(&fake->clock);
	ret = take_settings(fake, path);
	if (!ret && fake->is_busy)
		ret = -EBUSY;
	if (ret) {
		free(fake);
		return ret;
	}
	*node = fake;
	return 0;
}

static void xdma_close(void *node)
{
	free(node);
}

static int xdma_control(void *node, unsigned long request, void *argument)
{
	if (request != NODE_XDMA_ALIGN_GET)
		return -ENOTTY;
	*(int *)argument = (int)((struct fake *)node)->align;
	return 0;
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* Bytes that have come from the sampler; in whole words of the pattern. */
static uint64_t produced_bytes(const struct fake *fake)
{
	int64_t ns = fake_monotonic_ns(&fake->clock) - fake->first_ns;
	uint64_t bytes = units_bytes_at(fake->rate_bps, ns);

	if (fake->pause_ns && bytes > fake->pause_at) {
		bytes = units_bytes_at(fake->rate_bps, ns - fake->pause_ns);
		if (bytes < fake->pause_at)
			bytes = fake->pause_at;
	}
	return bytes - bytes % 8;
}

static int64_t time_of(const struct fake *fake, uint64_t position)
{
	int64_t pause_ns = fake->pause_ns && position > fake->pause_at ? fake->pause_ns : 0;

	return fake->first_ns + units_time_for(position + 7, fake->rate_bps) + pause_ns;
}

/* Where a transfer of @len ends. */
static uint64_t transfer_end(const struct fake *fake, size_t len)
{
	uint64_t end = fake->position + len, packet_end;

	if (fake->ends_at_packets && fake->packet_bytes) {
		packet_end = (fake->position / fake->packet_bytes + 1) * fake->packet_bytes;
		if (packet_end < end)
			end = packet_end;
	}
	if (fake->error && fake->error_at < end)
		end = fake->error_at;
	return end;
}

/* Return: 0; -ETIMEDOUT when the time was up; -EINTR after a signal. */
static int wait_for(struct fake *fake, uint64_t end)
{
	int64_t when = time_of(fake, end), now = fake_monotonic_ns(&fake->clock);
	int64_t limit = fake->timeout_ns ? now + fake->timeout_ns : FAKE_NEVER;
	int64_t until = when < limit ? when : limit;
	int ret = 0;

	while (!ret && now < until) {
		ret = fake_wait(&fake->clock, until - now < SLICE_NS ? until - now : SLICE_NS);
		now = fake_monotonic_ns(&fake->clock);
	}
	return ret || now >= when ? ret : -ETIMEDOUT;
}

static ssize_t give(struct fake *fake, void *buf, uint64_t end)
{
	size_t len = (size_t)(end - fake->position);

	sim_fill(buf, len, fake->position, fake->seed);
	fake->position = end;
	return (ssize_t)len;
}

static ssize_t xdma_read(void *node, void *buf, size_t len)
{
	struct fake *fake = node;
	uint64_t come, end;
	int ret;

	if ((uintptr_t)buf % fake->align || len % fake->align || !len || len > READ_MAX_BYTES)
		return -EINVAL;
	if (fake->first_ns == FAKE_NEVER)
		fake->first_ns = fake_monotonic_ns(&fake->clock);
	come = produced_bytes(fake);
	if (come > fake->position + fake->fifo_bytes)
		fake->position = come - fake->fifo_bytes;
	if (fake->error && fake->position >= fake->error_at)
		return -(ssize_t)fake->error;
	end = transfer_end(fake, len);
	ret = wait_for(fake, end);
	if (!ret)
		return give(fake, buf, end);
	come = produced_bytes(fake);
	if (ret == -ETIMEDOUT && fake->gives_partial)
		return give(fake, buf, come < end ? come : end);
	/* the engine is stopped, and what has come of the transfer is thrown away */
	fake->position = come < end ? come : end;
	return ret == -ETIMEDOUT ? -(ssize_t)fake->expired_error : ret;
}

static void xdma_wait(void *node, int64_t ns)
{
	fake_wait(&((struct fake *)node)->clock, ns);
}

static int64_t xdma_monotonic_ns(void *node)
{
	return fake_monotonic_ns(&((struct fake *)node)->clock);
}

const struct node_ops xdma_fake = {
	.open = xdma_open,
	.read = xdma_read,
	.control = xdma_control,
	.wait = xdma_wait,
	.monotonic_ns = xdma_monotonic_ns,
	.close = xdma_close,
};
