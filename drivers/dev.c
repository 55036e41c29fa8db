/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dev.c - `dev:PATH`, a character device or a FIFO
 *
 *   type=plain     what the device is; plain: read() gives data, 0 is the end
 *
 * Three ways to wait. A FIFO and a device that can be polled are opened with O_NONBLOCK and polled
 * when they have nothing. A device that cannot be polled is read blocking, as the kernel wants it;
 * only a signal gets the reader out of such a read() before its data come.
 */
#include "drivers/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/pace.h"
#include "drivers/units.h"

#define PIPE_BYTES (1 << 20)
#define NAP_NS INT64_C(10000000) /* when poll() returns at once and yet there is nothing */
#define READY_MAX 3              /* "ready" without data so often running: nap */

struct dev {
	int64_t wanted_start_utc_ns;
	int fd;
	bool is_fifo;
	bool has_poll;
	bool has_data; /* the first byte has come */
};

static bool is_interrupted(const struct source *source)
{
	/* relaxed: nothing travels with the flag */
	return atomic_load_explicit(&source->is_interrupted, memory_order_relaxed);
}

/*
 * poll() calls a device without poll support always ready, which would look like a device with
 * data; epoll refuses it.
 */
static bool can_poll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	bool is_refused;

	if (epoll < 0)
		return true;
	is_refused = epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) && errno == EPERM;
	close(epoll);
	return !is_refused;
}

/* Judged before it is opened: opening may wait, rewind or reset. */
static int check_kind(struct source *source, const struct stat *status)
{
	const char *path = source->path;

	if (S_ISCHR(status->st_mode) || S_ISFIFO(status->st_mode))
		return 0;
	if (S_ISREG(status->st_mode))
		return source_fail(source, EINVAL, "%s is a regular file; use file:%s", path, path);
	if (S_ISBLK(status->st_mode))
		return source_fail(source, EINVAL,
				   "%s is a block device; use file: for a file on it", path);
	if (S_ISDIR(status->st_mode))
		return source_fail(source, EISDIR, "%s is a directory; use file: for a file in it",
				   path);
	return source_fail(source, EINVAL,
			   "%s is no character device or FIFO; use file: for a file", path);
}

static int take_details(struct source *source)
{
	char buf[SOURCE_DETAIL_LEN];
	struct source_detail detail;
	const char *cursor = NULL;

	while (source_next_detail(source, &cursor, buf, sizeof(buf), &detail))
		if (strcmp(detail.value, "plain"))
			return source_fail(source, EINVAL, "unknown type \"%s\"; dev: knows plain",
					   detail.value);
	return 0;
}

static int open_node(struct source *source, struct dev *dev)
{
	struct stat status;
	int ret;

	if (stat(source->path, &status))
		return source_fail(source, errno, "cannot open: %s", strerror(errno));
	ret = check_kind(source, &status);
	if (ret)
		return ret;
	dev->fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (dev->fd < 0 || fstat(dev->fd, &status))
		return source_fail(source, errno, "cannot open: %s", strerror(errno));
	ret = check_kind(source, &status);
	if (ret)
		return ret;
	dev->is_fifo = S_ISFIFO(status.st_mode);
	if (!dev->is_fifo)
		source->device = status.st_rdev;
	return 0;
}

static int dev_open(struct source *source, const struct source_config *config)
{
	struct dev *dev = calloc(1, sizeof(*dev));
	int ret;

	if (!dev)
		return source_fail(source, ENOMEM, "out of memory");
	dev->fd = -1;
	dev->wanted_start_utc_ns = config->start_utc_ns;
	source->state = dev;
	ret = take_details(source);
	if (!ret)
		ret = open_node(source, dev);
	if (ret)
		return ret;
	source->rate_bps = config->rate_bps;
	/* a device with a rate of its own goes on whether we read or not */
	source->can_wait = dev->is_fifo || !config->rate_bps;
	dev->has_poll = dev->is_fifo || can_poll(dev->fd);
	if (dev->is_fifo) {
		/* room for the writer while we are busy; refused where the user's quota is spent */
		fcntl(dev->fd, F_SETPIPE_SZ, PIPE_BYTES);
	} else if (!dev->has_poll) {
		int flags = fcntl(dev->fd, F_GETFL);

		if (flags < 0 || fcntl(dev->fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
			return source_fail(source, errno, "cannot make it blocking: %s",
					   strerror(errno));
	}
	return 0;
}

static void dev_close(struct source *source)
{
	struct dev *dev = source->state;

	if (dev->fd >= 0)
		close(dev->fd);
	free(dev);
}

/*
 * What the device kept before the wanted moment is read all the same: only it knows how old
 * that is.
 */
static int dev_start(struct source *source)
{
	struct dev *dev = source->state;
	struct pace pace;

	pace_init(&pace, source);
	return pace_begin(&pace, source, dev->wanted_start_utc_ns);
}

/*
 * After a read() that gave nothing, for the @turn-th time running. A FIFO whose last writer left
 * before the first byte is hung up until another one comes, and some drivers call themselves ready
 * when they aren't: a nap keeps us from spinning on either.
 * Return: 0 = look again; else what source_read() returns.
 */
static int wait_for_data(struct source *source, struct dev *dev, int64_t deadline_ns, unsigned turn)
{
	int64_t nap_end;
	int events;

	if (is_interrupted(source) || units_monotonic_ns() >= deadline_ns)
		return SOURCE_NOT_YET;
	/* relaxed: a counter, exact by itself */
	atomic_fetch_add_explicit(&source->stats.wait_count, 1, memory_order_relaxed);
	events = pace_poll(dev->fd, deadline_ns, &source->is_interrupted);
	if (events < 0)
		return source_fail(source, -events, "cannot wait: %s", strerror(-events));
	if (events && (!(events & POLLIN) || turn > READY_MAX)) {
		nap_end = units_monotonic_ns() + NAP_NS;
		pace_sleep_until(nap_end < deadline_ns ? nap_end : deadline_ns,
				 &source->is_interrupted);
	}
	return 0;
}

static ssize_t dev_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			struct source_mark *mark)
{
	struct dev *dev = source->state;

	(void)mark;
	for (unsigned turn = 0;;) {
		ssize_t got;
		int ret;

		/* a blocking read() would wait, and the signal that was to end it may be past */
		if (!dev->has_poll && is_interrupted(source))
			return SOURCE_NOT_YET;
		got = read(dev->fd, buf, len);
		if (got > 0) {
			dev->has_data = true;
			return got;
		}
		if (!got && (!dev->is_fifo || dev->has_data))
			return SOURCE_END;
		if (got < 0 && errno == EINTR) {
			if (is_interrupted(source) || units_monotonic_ns() >= deadline_ns)
				return SOURCE_NOT_YET;
			continue;
		}
		if (got < 0 && errno != EAGAIN)
			return source_fail(source, errno, "cannot read: %s", strerror(errno));
		ret = wait_for_data(source, dev, deadline_ns, ++turn);
		if (ret)
			return ret;
	}
}

const struct source_ops source_dev = {
	.prefix = "dev:",
	.summary = "dev:PATH[,type=plain]  a character device or a FIFO",
	.keys = "type",
	.takes_path = true,
	.open = dev_open,
	.start = dev_start,
	.read = dev_read,
	.close = dev_close,
};
