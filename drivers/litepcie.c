/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * litepcie.c - `dev:PATH,type=litepcie`, a LitePCIe device (/dev/litepcieN, /dev/m2sdrN)
 *
 *   dev:/dev/m2sdr0
 *   dev:fake[:...],type=litepcie    a stand-in, see litepcie_fake.c
 *
 * The device fills a ring of buffers, 256 of 8192 bytes where it doesn't tell, and its driver gives whole ones. A reader
 * that is more than half a ring behind has lost what is older: read() passes over these buffers, leaves the memory
 * they were to fill as it was, and counts them among the bytes it returns. So before each read() the counters tell how many
 * are lost for certain, and these are read away. More may be lost while read() copies; what it left as it
 * was is found by a stamp that each buffer's place gets before.
 *
 * A read with such holes, the rest of a buffer that the caller had no room for, and what is still there when the
 * DMA is switched off (which clears the counters) go through memory of our own.
 */
#include "drivers/dev.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/fake.h"
#include "drivers/node.h"
#include "drivers/pace.h"
#include "drivers/source.h"

#define BUFFER_BYTES 8192
#define BUFFER_COUNT 256
#define BUFFER_MAX_BYTES (UINT64_C(1) << 24)
#define RING_MAX_BYTES (UINT64_C(1) << 30)
#define NAP_NS INT64_C(10000000) /* when poll() returns at once and yet there is nothing */

/* Nothing a device sends: fractions of e and of pi. */
static const uint64_t stamp[2] = { UINT64_C(0xb7e151628aed2a6a), UINT64_C(0x243f6a8885a308d3) };

struct litepcie {
	const struct node_ops *ops;
	void *node;
	int64_t wanted_start_utc_ns;
	size_t buffer_bytes, buffer_count;
	uint64_t untold_bytes; /* lost, not yet said in a mark */
	bool is_running;
	bool has_stopped;
	/* came, but not yet handed out: buffer_count buffers' room, [from, count x buffer_bytes) */
	unsigned char *kept;
	bool *is_lost; /* of each buffer kept */
	size_t kept_from, kept_count;
};

/* So far behind may a reader be without a loss. */
static size_t safe_count(const struct litepcie *dev)
{
	return dev->buffer_count / 2;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int take_lock(struct source *source, struct litepcie *dev)
{
	struct node_litepcie_lock lock = { .writer_request = 1 };
	int ret = dev->ops->control(dev->node, NODE_LITEPCIE_LOCK, &lock);

	if (ret == -ENOTTY || ret == -EINVAL)
		return source_fail(
			source, ENOTTY,
			"this is no LitePCIe device (it doesn't know its requests); use type=plain");
	if (ret)
		return node_fail(source, ret, "cannot ask for the DMA");
	if (!lock.writer_status)
		return source_fail(source, EBUSY,
				   "another program has the DMA from this device; end that program");
	return 0;
}

static int ask_ring(struct source *source, struct litepcie *dev)
{
	struct node_litepcie_info info = { 0 };
	int ret = dev->ops->control(dev->node, NODE_LITEPCIE_INFO, &info);

	dev->buffer_bytes = BUFFER_BYTES;
	dev->buffer_count = BUFFER_COUNT;
	if (ret) /* an older driver: they all had the same ring */
		return 0;
	if (info.rx_buffer_bytes < sizeof(stamp) || info.rx_buffer_bytes > BUFFER_MAX_BYTES ||
	    info.rx_buffer_count < 2 || info.rx_buffer_count > RING_MAX_BYTES / info.rx_buffer_bytes)
		return source_fail(source, EIO, "the driver tells a ring of %llu buffers of %llu bytes",
				   (unsigned long long)info.rx_buffer_count,
				   (unsigned long long)info.rx_buffer_bytes);
	dev->buffer_bytes = (size_t)info.rx_buffer_bytes;
	dev->buffer_count = (size_t)info.rx_buffer_count;
	return 0;
}

static int make_room(struct source *source, struct litepcie *dev)
{
	size_t bytes = dev->buffer_count * dev->buffer_bytes;

	dev->kept = malloc(bytes);
	dev->is_lost = calloc(dev->buffer_count, sizeof(*dev->is_lost));
	if (!dev->kept || !dev->is_lost)
		return source_fail(source, ENOMEM, "out of memory");
	/* now, and not when there is no time */
	memset(dev->kept, 0, bytes);
	return 0;
}

int litepcie_open_node(struct source *source, const struct source_config *config,
		       const struct node_ops *ops)
{
	struct litepcie *dev = calloc(1, sizeof(*dev));
	int ret;

	if (!dev)
		return source_fail(source, ENOMEM, "out of memory");
	source->state = dev;
	source->rate_bps = config->rate_bps;
	source->can_wait = false;
	dev->ops = ops;
	dev->wanted_start_utc_ns = config->start_utc_ns;
	ret = ops->open(source->path, O_RDWR | O_NONBLOCK, &dev->node);
	if (ret)
		return node_fail(source, ret, "cannot open");
	ret = take_lock(source, dev);
	if (!ret)
		ret = ask_ring(source, dev);
	if (!ret)
		ret = make_room(source, dev);
	if (ret)
		return ret;
	/* relaxed: a figure by itself */
	atomic_store_explicit(&source->stats.device_ring_bytes, safe_count(dev) * dev->buffer_bytes,
			      memory_order_relaxed);
	return 0;
}

static int litepcie_open(struct source *source, const struct source_config *config)
{
	return litepcie_open_node(source, config,
				  fake_is_meant(source->path) ? &litepcie_fake : &node_kernel);
}

static int switch_dma(struct litepcie *dev, bool is_on, struct node_litepcie_writer *counters)
{
	*counters = (struct node_litepcie_writer){ .enable = is_on };
	return dev->ops->control(dev->node, NODE_LITEPCIE_WRITER, counters);
}

/* Closing gives the lock back. */
static void litepcie_close(struct source *source)
{
	struct litepcie *dev = source->state;
	struct node_litepcie_writer ignored;

	if (dev->is_running)
		switch_dma(dev, false, &ignored);
	if (dev->node)
		dev->ops->close(dev->node);
	free(dev->is_lost);
	free(dev->kept);
	free(dev);
}

static int litepcie_start(struct source *source)
{
	struct litepcie *dev = source->state;
	struct node_litepcie_writer ignored;
	int ret = pace_start(source, dev->wanted_start_utc_ns);

	if (ret)
		return ret;
	ret = switch_dma(dev, true, &ignored);
	dev->is_running = !ret;
	return ret ? node_fail(source, ret, "cannot start the DMA") : 0;
}

/* ---- the driver's ring ----------------------------------------------------------------------- */

/* How many buffers are behind us. */
static int look(struct source *source, struct litepcie *dev, size_t *ready_count)
{
	struct node_litepcie_writer counters;
	int ret = switch_dma(dev, true, &counters);
	size_t held_count;

	if (ret)
		return node_fail(source, ret, "cannot ask for the counters");
	if (counters.hw_count < counters.sw_count)
		return source_fail(source, EIO,
				   "the counters make no sense: %lld buffers read, %lld filled",
				   (long long)counters.sw_count, (long long)counters.hw_count);
	*ready_count = (size_t)(counters.hw_count - counters.sw_count);
	held_count = *ready_count < safe_count(dev) ? *ready_count : safe_count(dev);
	source_tell_fill(source, held_count * dev->buffer_bytes);
	return 0;
}

/*
 * Reads up to @count buffers, and says of each whether it was lost on the way.
 * Return: buffers; 0 = nothing there; -EINTR = ask again; another -errno with source->error set.
 */
static ssize_t read_buffers(struct source *source, struct litepcie *dev, unsigned char *to,
			    size_t count, bool *is_lost)
{
	ssize_t got;

	for (size_t i = 0; i < count; i++)
		memcpy(to + i * dev->buffer_bytes, stamp, sizeof(stamp));
	got = dev->ops->read(dev->node, to, count * dev->buffer_bytes);
	if (got == -EAGAIN)
		return 0;
	if (got == -EINTR)
		return got;
	if (got < 0)
		return node_fail(source, got, "cannot read");
	if ((size_t)got > count * dev->buffer_bytes || (size_t)got % dev->buffer_bytes)
		return source_fail(
			source, EIO,
			"the device returned %zd bytes when %zu buffers of %zu bytes were asked for",
			got, count, dev->buffer_bytes);
	count = (size_t)got / dev->buffer_bytes;
	for (size_t i = 0; i < count; i++)
		is_lost[i] = !memcmp(to + i * dev->buffer_bytes, stamp, sizeof(stamp));
	return (ssize_t)count;
}

/* What is lost for certain: read away, in as many turns as it takes. Return: 0 or -errno. */
static ssize_t skip(struct source *source, struct litepcie *dev, size_t count)
{
	ssize_t got;

	if (count > dev->buffer_count)
		count = dev->buffer_count;
	got = read_buffers(source, dev, dev->kept, count, dev->is_lost);
	if (got <= 0)
		return got;
	dev->untold_bytes += (uint64_t)got * dev->buffer_bytes;
	return 0;
}

/* Behind what is kept already. Return: 0 or -errno. */
static ssize_t keep(struct source *source, struct litepcie *dev, size_t count)
{
	unsigned char *end = dev->kept + dev->kept_count * dev->buffer_bytes;
	ssize_t got = read_buffers(source, dev, end, count, dev->is_lost + dev->kept_count);

	if (got <= 0)
		return got;
	dev->kept_count += (size_t)got;
	return 0;
}

/*
 * Nothing is kept. Reads to the caller's memory as far as whole buffers fit.
 * Return: bytes in the caller's memory; 0 = none there, look at what is kept; -errno.
 */
static ssize_t fetch(struct source *source, struct litepcie *dev, void *buf, size_t len,
		     size_t ready_count)
{
	size_t count = len / dev->buffer_bytes;
	ssize_t got;

	if (ready_count > safe_count(dev))
		return skip(source, dev, ready_count - safe_count(dev));
	if (!count)
		return keep(source, dev, 1);
	if (count > ready_count)
		count = ready_count;
	got = read_buffers(source, dev, buf, count, dev->is_lost);
	if (got <= 0)
		return got;
	if (!memchr(dev->is_lost, true, (size_t)got))
		return got * (ssize_t)dev->buffer_bytes;
	dev->kept_count = (size_t)got;
	memcpy(dev->kept, buf, dev->kept_count * dev->buffer_bytes);
	return 0;
}

/* What is kept, up to the next loss. */
static size_t hand_out(struct litepcie *dev, void *buf, size_t len)
{
	size_t bytes = dev->buffer_bytes, index = dev->kept_from / bytes, run;

	for (; index < dev->kept_count && dev->is_lost[index]; index++) {
		dev->untold_bytes += bytes;
		dev->kept_from += bytes;
	}
	while (index < dev->kept_count && !dev->is_lost[index])
		index++;
	run = index * bytes - dev->kept_from;
	if (run > len)
		run = len;
	memcpy(buf, dev->kept + dev->kept_from, run);
	dev->kept_from += run;
	if (dev->kept_from == dev->kept_count * bytes)
		dev->kept_from = dev->kept_count = 0;
	return run;
}

/* ---- reading and stopping -------------------------------------------------------------------- */

static ssize_t tell_loss(struct litepcie *dev, ssize_t result, struct source_mark *mark)
{
	mark->lost_bytes = dev->untold_bytes;
	dev->untold_bytes = 0;
	return result;
}

/*
 * Also when there were said to be buffers and read() gave none: poll() doesn't wait then.
 * Return: 0 = look again; else what source_read() returns.
 */
static int wait_for_data(struct source *source, struct litepcie *dev, int64_t deadline_ns,
			 bool is_false_alarm)
{
	int64_t left;
	int events;

	source_count(&source->stats.wait_count, 1);
	events = dev->ops->poll(dev->node, deadline_ns, &source->is_interrupted);
	if (events < 0)
		return node_fail(source, events, "cannot wait");
	if (events && (is_false_alarm || !(events & POLLIN))) {
		left = deadline_ns - dev->ops->monotonic_ns(dev->node);
		dev->ops->wait(dev->node, left < NAP_NS ? left : NAP_NS);
	}
	return 0;
}

static ssize_t litepcie_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			     struct source_mark *mark)
{
	struct litepcie *dev = source->state;

	for (;;) {
		ssize_t got = (ssize_t)hand_out(dev, buf, len);
		uint64_t lost_before = dev->untold_bytes;
		size_t ready_count = 0;

		if (got)
			return tell_loss(dev, got, mark);
		if (dev->has_stopped)
			return tell_loss(dev, SOURCE_END, mark);
		got = look(source, dev, &ready_count);
		if (!got && ready_count)
			got = fetch(source, dev, buf, len, ready_count);
		if (got && got != -EINTR)
			return tell_loss(dev, got, mark);
		if (dev->kept_count)
			continue;
		if (source_is_interrupted(source) || dev->ops->monotonic_ns(dev->node) >= deadline_ns)
			return SOURCE_NOT_YET;
		if (got == -EINTR || dev->untold_bytes != lost_before)
			continue;
		got = wait_for_data(source, dev, deadline_ns, ready_count > 0);
		if (got)
			return tell_loss(dev, got, mark);
	}
}

/*
 * What is still in the ring, behind what is kept; there is room for both. What is lost for certain
 * before it is read away first, unless something is kept: then the stamps find it.
 */
static void save_rest(struct source *source, struct litepcie *dev)
{
	size_t ready_count = 0, room = dev->buffer_count - dev->kept_count;

	while (!look(source, dev, &ready_count) && ready_count) {
		uint64_t lost_before = dev->untold_bytes;

		if (ready_count <= safe_count(dev) || dev->kept_count) {
			keep(source, dev, ready_count < room ? ready_count : room);
			return;
		}
		if (skip(source, dev, ready_count - safe_count(dev)) || dev->untold_bytes == lost_before)
			return;
	}
}

static void litepcie_stop(struct source *source)
{
	struct litepcie *dev = source->state;
	struct node_litepcie_writer ignored;

	save_rest(source, dev);
	switch_dma(dev, false, &ignored);
	dev->is_running = false;
	dev->has_stopped = true;
}

const struct source_ops source_litepcie = {
	.prefix = "dev:",
	.keys = "type",
	.takes_path = true,
	.open = litepcie_open,
	.start = litepcie_start,
	.read = litepcie_read,
	.stop = litepcie_stop,
	.close = litepcie_close,
};
