/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dev.c - `dev:PATH`, a character device or a FIFO
 *
 *   type=plain|xdma|litepcie    what the device is; plain: read() gives data, 0 is the end
 *
 * Without it the type is that of the device's kernel driver. The other types have files of their
 * own; this one finds the type, and is plain itself.
 *
 * Three ways to wait. A FIFO and a device that can be polled are opened with O_NONBLOCK and polled
 * when they have nothing. A device that cannot be polled is read blocking, as the kernel wants it;
 * only a signal gets the reader out of such a read() before its data come.
 */
#include "drivers/dev.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "drivers/device_kind.h"
#include "drivers/fake.h"
#include "drivers/pace.h"
#include "drivers/source.h"
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

static int open_node(struct source *source, struct dev *dev)
{
	struct device_voice voice = source_voice(source);
	struct stat status;
	int ret;

	if (stat(source->path, &status))
		return source_fail(source, errno, "cannot open: %s", strerror(errno));
	ret = device_kind_check_node(&voice, source->path, &status);
	if (ret)
		return ret;
	dev->fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (dev->fd < 0 || fstat(dev->fd, &status))
		return source_fail(source, errno, "cannot open: %s", strerror(errno));
	ret = device_kind_check_node(&voice, source->path, &status);
	if (ret)
		return ret;
	dev->is_fifo = S_ISFIFO(status.st_mode);
	if (!dev->is_fifo)
		source->device = status.st_rdev;
	return 0;
}

static int plain_open(struct source *source, const struct source_config *config)
{
	struct dev *dev = calloc(1, sizeof(*dev));
	int ret;

	if (!dev)
		return source_fail(source, ENOMEM, "out of memory");
	dev->fd = -1;
	dev->wanted_start_utc_ns = config->start_utc_ns;
	source->state = dev;
	ret = open_node(source, dev);
	if (ret)
		return ret;
	source->rate_bps = config->rate_bps;
	/* a device with a rate of its own goes on whether we read or not */
	source->can_wait = dev->is_fifo || !config->rate_bps;
	dev->has_poll = dev->is_fifo || device_kind_can_poll(dev->fd);
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

static void plain_close(struct source *source)
{
	struct dev *dev = source->state;

	if (dev->fd >= 0)
		close(dev->fd);
	free(dev);
}

static int plain_start(struct source *source)
{
	return pace_start(source, ((struct dev *)source->state)->wanted_start_utc_ns);
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

	if (source_is_interrupted(source) || units_monotonic_ns() >= deadline_ns)
		return SOURCE_NOT_YET;
	source_count(&source->stats.wait_count, 1);
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

static ssize_t plain_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			  struct source_mark *mark)
{
	struct dev *dev = source->state;

	(void)mark;
	for (unsigned turn = 0;;) {
		ssize_t got;
		int ret;

		/* a blocking read() would wait, and the signal that was to end it may be past */
		if (!dev->has_poll && source_is_interrupted(source))
			return SOURCE_NOT_YET;
		got = read(dev->fd, buf, len);
		if (got > 0) {
			dev->has_data = true;
			return got;
		}
		if (!got && (!dev->is_fifo || dev->has_data))
			return SOURCE_END;
		if (got < 0 && errno == EINTR) {
			if (source_is_interrupted(source) || units_monotonic_ns() >= deadline_ns)
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

static const struct source_ops source_plain = {
	.prefix = "dev:",
	.takes_path = true,
	.open = plain_open,
	.start = plain_start,
	.read = plain_read,
	.close = plain_close,
};

/* ---- types ----------------------------------------------------------------------------------- */

struct type {
	const char *name;
	const struct source_ops *ops;
};

static const struct type types[] = {
	{ "plain", &source_plain },
	{ "xdma", &source_xdma },
	{ "litepcie", &source_litepcie },
};

#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

static const struct type *find_type(const char *name)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		if (!strcmp(name, types[i].name))
			return &types[i];
	return NULL;
}

static int refuse_type(struct source *source, const char *name)
{
	char known[64] = "";

	for (size_t i = 0; i < TYPE_COUNT; i++) {
		size_t used = strlen(known);

		snprintf(known + used, sizeof(known) - used, " %s", types[i].name);
	}
	return source_fail(source, EINVAL, "unknown type \"%s\"; dev: knows%s", name, known);
}

/* The last part of what a link in sysfs points to; "" when there is none. */
static void read_link(const char *link, char *name, size_t size)
{
	char target[PATH_MAX];
	ssize_t len = readlink(link, target, sizeof(target) - 1);

	target[len > 0 ? len : 0] = '\0';
	snprintf(name, size, "%s", basename(target));
}

const char *dev_guess_type(const char *sys, dev_t device, const char *path, char *reason, size_t size)
{
	/* where a driver has nodes of several kinds only the name tells */
	static const struct {
		const char *driver, *name, *type;
	} rules[] = {
		{ NULL, "xdma*_c2h_*", "xdma" },
		{ "litepcie", "litepcie*", "litepcie" },
		{ "m2sdr", "m2sdr*", "litepcie" },
	};
	char link[PATH_MAX], name[NAME_MAX + 1], driver[NAME_MAX + 1];

	snprintf(link, sizeof(link), "%s/dev/char/%u:%u", sys, major(device), minor(device));
	read_link(link, name, sizeof(name));
	if (!name[0])
		snprintf(name, sizeof(name), "%s", basename(path));
	snprintf(link, sizeof(link), "%s/dev/char/%u:%u/device/driver", sys, major(device),
		 minor(device));
	read_link(link, driver, sizeof(driver));
	reason[0] = '\0';
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].driver && !strcmp(driver, rules[i].driver))
			snprintf(reason, size, "its driver is %s", driver);
		else if (!fnmatch(rules[i].name, name, 0))
			snprintf(reason, size, "its name is %s", name);
		else
			continue;
		return rules[i].type;
	}
	return "plain";
}

static const struct type *guess_type(struct source *source)
{
	char reason[NAME_MAX + 20];
	struct stat status;
	const char *name;

	if (stat(source->path, &status) || !S_ISCHR(status.st_mode))
		return find_type("plain");
	name = dev_guess_type("/sys", status.st_rdev, source->path, reason, sizeof(reason));
	if (reason[0])
		source_note(source, "taken for type=%s: %s (give type= for another)", name, reason);
	return find_type(name);
}

/* A type of its own stands on a character device; the stand-ins' paths are no files. */
static int check_node(struct source *source, const struct type *type)
{
	struct device_voice voice = source_voice(source);
	struct stat status;
	int ret;

	if (fake_is_meant(source->path))
		return 0;
	if (stat(source->path, &status))
		return source_fail(source, errno, "cannot open: %s", strerror(errno));
	ret = device_kind_check_node(&voice, source->path, &status);
	if (!ret && !S_ISCHR(status.st_mode))
		ret = source_fail(source, EINVAL, "%s is a FIFO, and type=%s is for a device",
				  source->path, type->name);
	source->device = status.st_rdev;
	return ret;
}

/* From here on the source is its type's. */
static int dev_open(struct source *source, const struct source_config *config)
{
	char buf[SOURCE_DETAIL_LEN];
	const struct type *type = NULL;
	struct source_detail detail;
	const char *cursor = NULL;
	bool has_eop = false;
	int ret = 0;

	while (source_next_detail(source, &cursor, buf, sizeof(buf), &detail)) {
		has_eop |= !strcmp(detail.key, "eop");
		if (strcmp(detail.key, "type"))
			continue;
		type = find_type(detail.value);
		if (!type)
			return refuse_type(source, detail.value);
	}
	if (!type)
		type = guess_type(source);
	if (has_eop && type->ops != &source_xdma)
		return source_fail(source, EINVAL, "eop goes with type=xdma, and this is type=%s",
				   type->name);
	if (type->ops != &source_plain)
		ret = check_node(source, type);
	if (ret)
		return ret;
	source->ops = type->ops;
	return type->ops->open(source, config);
}

const struct source_ops source_dev = {
	.prefix = "dev:",
	.summary = "dev:PATH[,type=plain|xdma|litepcie,eop]  a character device or a FIFO",
	.keys = "type eop",
	.takes_path = true,
	.open = dev_open,
};
