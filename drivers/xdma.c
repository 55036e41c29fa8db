/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xdma.c - `dev:PATH,type=xdma`, a card-to-host channel of the XDMA driver (/dev/xdmaN_c2h_M)
 *
 *   dev:/dev/xdma0_c2h_0,eop
 *   dev:fake[:...],type=xdma    a stand-in, see xdma_fake.c
 *
 *   eop=0|1     each transfer ends with a packet of the stream (the driver's O_TRUNC)
 *
 * A read() is one transfer into the caller's pages, which must be aligned; it takes until all of it has come, a
 * packet ends, or the driver's own time-out. So little is asked for that this is soon at the rate given. Where the
 * caller's memory is not aligned, behind a short packet, and for a last piece that is less than the driver's
 * unit, the transfer goes to memory of our own and is handed out from there.
 *
 * The driver has no ring: between two read()s the stream waits in the device, and what that loses nobody tells.
 * One transfer at a time: the device has to bridge the microseconds between two.
 */
#include "drivers/dev.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/fake.h"
#include "drivers/node.h"
#include "drivers/pace.h"
#include "drivers/source.h"
#include "drivers/units.h"

#define PAGE_BYTES ((size_t)4096) /* what the driver pins; enough for every alignment it asks for */
#define UNIT_MAX_BYTES (1 << 20)
#define TRANSFER_NS INT64_C(20000000)
#define TRANSFER_BYTES ((size_t)1 << 20)       /* when the rate isn't known */
#define TRANSFER_MAX_BYTES (2048 * PAGE_BYTES) /* one chain of the driver's descriptors */
#define NAP_NS INT64_C(10000000)
#define ERESTARTSYS 512 /* kernel-internal; older drivers let it out when a transfer times out */

struct xdma {
	const struct node_ops *ops;
	void *node;
	int64_t wanted_start_utc_ns;
	uint64_t is_eop;
	size_t unit_bytes;     /* addresses and lengths of transfers are multiples of it */
	size_t transfer_bytes; /* the most that one asks for */
	unsigned char *kept; /* transfer_bytes, aligned: came, but not yet handed out: [from, to) */
	size_t kept_from, kept_to;
	bool has_told_timeout;
};

/* ---- opening --------------------------------------------------------------------------------- */

static int take_details(struct source *source, struct xdma *xdma)
{
	char buf[SOURCE_DETAIL_LEN];
	struct source_detail detail;
	const char *cursor = NULL;

	while (source_next_detail(source, &cursor, buf, sizeof(buf), &detail)) {
		if (strcmp(detail.key, "eop"))
			continue;
		if (!detail.value[0]) /* "eop" alone is yes */
			detail.value = "1";
		if (source_detail_count(source, &detail, &xdma->is_eop, 1))
			return -EINVAL;
	}
	return 0;
}

static int ask_alignment(struct source *source, struct xdma *xdma)
{
	int told = 0, ret = xdma->ops->control(xdma->node, NODE_XDMA_ALIGN_GET, &told);

	if (ret == -ENOTTY || ret == -EINVAL)
		return source_fail(
			source, ENOTTY,
			"this is no channel of the XDMA driver (it doesn't know its requests); use type=plain");
	if (ret)
		return node_fail(source, ret, "cannot ask for the alignment");
	if (told <= 0 || told > UNIT_MAX_BYTES || (told & (told - 1)))
		return source_fail(source, EIO, "the driver asks for an alignment of %d bytes", told);
	xdma->unit_bytes = (size_t)told > PAGE_BYTES ? (size_t)told : PAGE_BYTES;
	return 0;
}

static int open_node(struct source *source, struct xdma *xdma)
{
	int ret = xdma->ops->open(source->path, O_RDONLY | (xdma->is_eop ? O_TRUNC : 0), &xdma->node);

	if (ret == -EBUSY)
		return source_fail(
			source, EBUSY,
			"another program has this channel open, and it takes one; end that program");
	return ret ? node_fail(source, ret, "cannot open") : 0;
}

static int make_room(struct source *source, struct xdma *xdma)
{
	uint64_t bytes =
		source->rate_bps ? units_bytes_at(source->rate_bps, TRANSFER_NS) : TRANSFER_BYTES;

	if (bytes > TRANSFER_MAX_BYTES)
		bytes = TRANSFER_MAX_BYTES;
	bytes -= bytes % xdma->unit_bytes;
	xdma->transfer_bytes = bytes ? (size_t)bytes : xdma->unit_bytes;
	xdma->kept = aligned_alloc(xdma->unit_bytes, xdma->transfer_bytes);
	if (!xdma->kept)
		return source_fail(source, ENOMEM, "out of memory");
	/* now, and not when the first piece comes */
	memset(xdma->kept, 0, xdma->transfer_bytes);
	return 0;
}

int xdma_open_node(struct source *source, const struct source_config *config, const struct node_ops *ops)
{
	struct xdma *xdma = calloc(1, sizeof(*xdma));
	int ret;

	if (!xdma)
		return source_fail(source, ENOMEM, "out of memory");
	source->state = xdma;
	source->rate_bps = config->rate_bps;
	source->can_wait = false;
	xdma->ops = ops;
	xdma->wanted_start_utc_ns = config->start_utc_ns;
	ret = take_details(source, xdma);
	if (!ret)
		ret = open_node(source, xdma);
	if (!ret)
		ret = ask_alignment(source, xdma);
	if (!ret)
		ret = make_room(source, xdma);
	if (ret)
		return ret;
	source_note(source, "the XDMA driver has no ring and tells no loss: %s",
		    config->rate_bps ? "bytes against the clock, at the rate given, is the only check" :
				       "give -r, and bytes are compared with the clock");
	return 0;
}

static int xdma_open(struct source *source, const struct source_config *config)
{
	return xdma_open_node(source, config, fake_is_meant(source->path) ? &xdma_fake : &node_kernel);
}

static void xdma_close(struct source *source)
{
	struct xdma *xdma = source->state;

	if (xdma->node)
		xdma->ops->close(xdma->node);
	free(xdma->kept);
	free(xdma);
}

static int xdma_start(struct source *source)
{
	struct xdma *xdma = source->state;

	return pace_start(source, xdma->wanted_start_utc_ns);
}

/* ---- reading --------------------------------------------------------------------------------- */

static size_t hand_out(struct xdma *xdma, void *buf, size_t len)
{
	if (len > xdma->kept_to - xdma->kept_from)
		len = xdma->kept_to - xdma->kept_from;
	memcpy(buf, xdma->kept + xdma->kept_from, len);
	xdma->kept_from += len;
	return len;
}

static void note_timeout(struct source *source, struct xdma *xdma)
{
	if (xdma->has_told_timeout)
		return;
	xdma->has_told_timeout = true;
	source_note(source,
		    "the driver gave a transfer up (time-out): what had come of it is lost, and nobody tells how much; load the module with c2h_timeout=0 (in some versions c2h_timeout_ms) if the stream pauses");
}

/*
 * One transfer, to the caller's memory or our own.
 * Return: bytes in the caller's memory; 0 = none there, look at our own; -errno.
 */
static ssize_t transfer(struct source *source, struct xdma *xdma, void *buf, size_t len)
{
	size_t unit = xdma->unit_bytes;
	bool is_direct = (uintptr_t)buf % unit == 0 && len >= unit;
	size_t wanted = is_direct ? len - len % unit : (len + unit - 1) / unit * unit;
	ssize_t got;

	if (wanted > xdma->transfer_bytes)
		wanted = xdma->transfer_bytes;
	got = xdma->ops->read(xdma->node, is_direct ? buf : xdma->kept, wanted);
	if (got == -ETIMEDOUT || got == -ERESTARTSYS) {
		note_timeout(source, xdma);
		return 0;
	}
	if (got == -EINTR || got == -EAGAIN)
		return 0;
	if (got < 0)
		return node_fail(source, got, "cannot read");
	if ((size_t)got > wanted)
		return source_fail(source, EIO, "the device returned %zd bytes when %zu were asked for",
				   got, wanted);
	if (is_direct)
		return got;
	xdma->kept_from = 0;
	xdma->kept_to = (size_t)got;
	return 0;
}

/* A transfer that gave nothing took its time, as a rule; when it didn't, don't spin. */
static void nap(struct source *source, struct xdma *xdma, int64_t deadline_ns, int64_t since_ns)
{
	int64_t now = xdma->ops->monotonic_ns(xdma->node);

	source_count(&source->stats.wait_count, 1);
	if (now - since_ns < NAP_NS)
		xdma->ops->wait(xdma->node, deadline_ns - now < NAP_NS ? deadline_ns - now : NAP_NS);
}

static ssize_t xdma_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			 struct source_mark *mark)
{
	struct xdma *xdma = source->state;

	(void)mark;
	for (;;) {
		size_t kept = hand_out(xdma, buf, len);
		int64_t since;
		ssize_t got;

		if (kept)
			return (ssize_t)kept;
		/* a transfer waits, and the signal that was to end it may be past */
		if (source_is_interrupted(source))
			return SOURCE_NOT_YET;
		since = xdma->ops->monotonic_ns(xdma->node);
		got = transfer(source, xdma, buf, len);
		if (got)
			return got;
		if (xdma->kept_from < xdma->kept_to)
			continue;
		if (source_is_interrupted(source) || xdma->ops->monotonic_ns(xdma->node) >= deadline_ns)
			return SOURCE_NOT_YET;
		nap(source, xdma, deadline_ns, since);
	}
}

const struct source_ops source_xdma = {
	.prefix = "dev:",
	.keys = "type eop",
	.takes_path = true,
	.open = xdma_open,
	.start = xdma_start,
	.read = xdma_read,
	.close = xdma_close,
};
