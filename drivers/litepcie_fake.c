/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * litepcie_fake.c - a stand-in for a LitePCIe device, for tests and for trials without hardware
 *
 * It does what the device and its driver do, the traps included: the count of filled buffers moves with interrupts only;
 * a reader more than half a ring behind loses the older buffers, and read() leaves their places in the memory
 * it was given as they were and counts them as read; less room than a buffer gives 0; switching the DMA off
 * clears the counters and what was not read yet. The samples are the simulator's pattern (sim.h) at their true
 * offset.
 *
 * The path is a list of settings, "fake:rate=64M:late=64Ki@1M":
 *
 *   rate=RATE      of the stream, 512 Mbit/s; it flows while the DMA is on
 *   seed=N         of the pattern
 *   buffer=SIZE    8192
 *   buffers=N      in the ring, 256
 *   irq=N          an interrupt after each N buffers, 32
 *   info=0|1       whether the driver tells its ring, 1
 *   late=SIZE@AT   a reader that has come to stream offset AT finds itself SIZE bytes too far behind, as if it had been away
 *   copy=TIME      read() takes so long for each buffer that it copies
 *   stop=TIME      the sampler stops so long after the start
 *   busy=0|1       whether another program has the DMA, 0
 *   error=N@SIZE   after SIZE bytes everything fails with errno N; 19 is ENODEV, unplugged
 *   virtual=0|1    1: time stands still except in read(), poll() and wait(); for unit tests
 */
#include "drivers/node.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include "drivers/fake.h"
#include "drivers/pace.h"
#include "drivers/sim.h"
#include "drivers/units.h"

#define POLL_COUNT 2 /* poll() calls it ready when more buffers than these are there */

struct fake {
	struct fake_clock clock;
	uint64_t rate_bps, seed, buffer_bytes, buffer_count, interrupt_count;
	uint64_t knows_info, is_busy;
	uint64_t late_bytes, late_at;
	uint64_t error, error_at;
	int64_t copy_ns, stop_ns;

	bool is_nonblocking, is_on;
	int64_t first_ns;      /* when the DMA was switched on */
	uint64_t read_count;   /* buffers read, the driver's sw_count */
	uint64_t jumped_count; /* the device is so far at least, whatever the clock says */
};

/* ---- opening --------------------------------------------------------------------------------- */

static int take_settings(struct fake *fake, const char *path)
{
	const struct fake_setting list[] = {
		{ .key = "rate", .parse = units_parse_rate, .number = &fake->rate_bps },
		{ .key = "seed", .parse = units_parse_count, .number = &fake->seed },
		{ .key = "buffer", .parse = units_parse_bytes, .number = &fake->buffer_bytes },
		{ .key = "buffers", .parse = units_parse_count, .number = &fake->buffer_count },
		{ .key = "irq", .parse = units_parse_count, .number = &fake->interrupt_count },
		{ .key = "info", .parse = units_parse_count, .number = &fake->knows_info },
		{ "late", units_parse_bytes, &fake->late_bytes, &fake->late_at, NULL },
		{ .key = "copy", .time_ns = &fake->copy_ns },
		{ .key = "stop", .time_ns = &fake->stop_ns },
		{ .key = "busy", .parse = units_parse_count, .number = &fake->is_busy },
		{ "error", units_parse_count, &fake->error, &fake->error_at, NULL },
		{ .key = "virtual", .parse = units_parse_count, .number = &fake->clock.is_virtual },
		{ .key = NULL },
	};
	int ret = fake_take_settings(path, list);

	if (!ret && (!fake->buffer_bytes || !fake->buffer_count || !fake->interrupt_count))
		ret = -EINVAL;
	return ret;
}

static int litepcie_open(const char *path, int flags, void **node)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	int ret;

	if (!fake)
		return -ENOMEM;
	*fake = (struct fake){
		.rate_bps = 512000000,
		.buffer_bytes = 8192,
		.buffer_count = 256,
		.interrupt_count = 32,
		.knows_info = 1,
		.stop_ns = FAKE_NEVER,
		.is_nonblocking = flags & O_NONBLOCK,
	};
	fake_clock_init(&fake->clock);
	ret = take_settings(fake, path);
	if (ret) {
		free(fake);
		return ret;
	}
	*node = fake;
	return 0;
}

static void litepcie_close(void *node)
{
	free(node);
}

/* ---- the device ------------------------------------------------------------------------------ */

/* Buffers filled, as of the last interrupt: the driver's hw_count. */
static uint64_t filled_count(const struct fake *fake)
{
	int64_t ns = fake_monotonic_ns(&fake->clock) - fake->first_ns;
	uint64_t count;

	if (!fake->is_on)
		return 0;
	count = units_bytes_at(fake->rate_bps, ns < fake->stop_ns ? ns : fake->stop_ns) /
		fake->buffer_bytes;
	count -= count % fake->interrupt_count;
	return count > fake->jumped_count ? count : fake->jumped_count;
}

static bool is_broken(const struct fake *fake)
{
	return fake->error && fake->read_count * fake->buffer_bytes >= fake->error_at;
}

static bool is_late_due(const struct fake *fake)
{
	return fake->late_bytes && fake->read_count * fake->buffer_bytes >= fake->late_at;
}

static void control_writer(struct fake *fake, struct node_litepcie_writer *counters)
{
	if (counters->enable && !fake->is_on)
		fake->first_ns = fake_monotonic_ns(&fake->clock);
	if (!counters->enable)
		fake->read_count = fake->jumped_count = 0;
	fake->is_on = counters->enable;
	if (fake->is_on && is_late_due(fake)) {
		fake->jumped_count = fake->read_count + fake->buffer_count / 2 +
				     fake->late_bytes / fake->buffer_bytes;
		fake->late_bytes = 0;
	}
	counters->hw_count = (int64_t)filled_count(fake);
	counters->sw_count = (int64_t)fake->read_count;
}

static void control_lock(const struct fake *fake, struct node_litepcie_lock *lock)
{
	lock->reader_status = 1;
	lock->writer_status = !(lock->writer_request && fake->is_busy);
}

static int litepcie_control(void *node, unsigned long request, void *argument)
{
	struct fake *fake = node;
	struct node_litepcie_info *info = argument;

	if (is_broken(fake))
		return -(int)fake->error;
	switch (request) {
	case NODE_LITEPCIE_WRITER:
		control_writer(fake, argument);
		return 0;
	case NODE_LITEPCIE_LOCK:
		control_lock(fake, argument);
		return 0;
	case NODE_LITEPCIE_INFO:
		if (!fake->knows_info)
			return -ENOTTY;
		*info = (struct node_litepcie_info){
			.rx_offset = fake->buffer_bytes * fake->buffer_count,
			.rx_buffer_bytes = fake->buffer_bytes,
			.rx_buffer_count = fake->buffer_count,
		};
		return 0;
	}
	return -ENOTTY;
}

/* Another buffer, unless there is none or the stand-in has something else in mind first. */
static bool has_buffer(const struct fake *fake)
{
	return filled_count(fake) > fake->read_count && !is_late_due(fake) && !is_broken(fake);
}

static ssize_t litepcie_read(void *node, void *buf, size_t len)
{
	struct fake *fake = node;
	unsigned char *to = buf, *end = to + len - len % fake->buffer_bytes;

	if (is_broken(fake))
		return -(ssize_t)fake->error;
	if (filled_count(fake) == fake->read_count)
		return fake->is_nonblocking ? -EAGAIN : -EINTR; /* nobody here waits in read() */
	for (; to < end && has_buffer(fake); to += fake->buffer_bytes) {
		if (filled_count(fake) - fake->read_count <= fake->buffer_count / 2) {
			sim_fill(to, fake->buffer_bytes, fake->read_count * fake->buffer_bytes,
				 fake->seed);
			fake_wait(&fake->clock, fake->copy_ns);
		}
		fake->read_count++;
	}
	return to - (unsigned char *)buf;
}

/* When more buffers than POLL_COUNT are there; they come with an interrupt. */
static int64_t ready_time(const struct fake *fake)
{
	uint64_t count = fake->read_count + POLL_COUNT + fake->interrupt_count;
	int64_t ns;

	count -= count % fake->interrupt_count;
	ns = units_time_for(count * fake->buffer_bytes, fake->rate_bps);
	return ns > fake->stop_ns ? FAKE_NEVER : fake->first_ns + ns;
}

static int litepcie_poll(void *node, int64_t deadline_ns, const _Atomic bool *is_interrupted)
{
	struct fake *fake = node;
	int64_t when = ready_time(fake);

	for (;;) {
		int64_t now = fake_monotonic_ns(&fake->clock);
		int64_t left = (when < deadline_ns ? when : deadline_ns) - now;

		if (filled_count(fake) > fake->read_count + POLL_COUNT || is_broken(fake))
			return POLLIN;
		/* relaxed: nothing travels with the flag */
		if (left <= 0 || atomic_load_explicit(is_interrupted, memory_order_relaxed))
			return 0;
		fake_wait(&fake->clock, left < PACE_SLICE_NS ? left : PACE_SLICE_NS);
	}
}

static void litepcie_wait(void *node, int64_t ns)
{
	fake_wait(&((struct fake *)node)->clock, ns);
}

static int64_t litepcie_monotonic_ns(void *node)
{
	return fake_monotonic_ns(&((struct fake *)node)->clock);
}

const struct node_ops litepcie_fake = {
	.open = litepcie_open,
	.read = litepcie_read,
	.control = litepcie_control,
	.poll = litepcie_poll,
	.wait = litepcie_wait,
	.monotonic_ns = litepcie_monotonic_ns,
	.close = litepcie_close,
};
