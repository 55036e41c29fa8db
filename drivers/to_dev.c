/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * to_dev.c - `dev:PATH`, a character device or a FIFO, written to as it takes it
 *
 * A device is opened at once, a FIFO when somebody reads it: until then there is nothing to open. How full ones are waited
 * for, see outlet.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/destination.h"
#include "drivers/device_kind.h"
#include "drivers/outlet.h"
#include "drivers/pace.h"
#include "drivers/units.h"

#define READER_TURN_NS INT64_C(20000000) /* how often a FIFO is tried that nobody reads yet */

struct to_dev {
	struct outlet outlet;
	bool is_fifo;
};

static int fail_open(struct destination *destination)
{
	return destination_fail(destination, errno, "cannot open: %s", strerror(errno));
}

/* Return: 0; -ENXIO: a FIFO that nobody reads, and of some devices: there is none. */
static int open_node(struct destination *destination, struct to_dev *dev)
{
	struct device_voice voice = destination_voice(destination);
	struct stat status;
	int fd, ret;

	fd = open(destination->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return fail_open(destination);
	ret = outlet_own(&dev->outlet, fd);
	if (ret < 0)
		return destination_fail(destination, -ret, "cannot make it blocking: %s",
					strerror(-ret));
	/* what is there now may be another thing than what was looked at before */
	if (fstat(fd, &status) < 0)
		return fail_open(destination);
	ret = device_kind_check_node(&voice, destination->path, &status);
	destination->device = S_ISCHR(status.st_mode) ? status.st_rdev : 0;
	return ret;
}

static int dev_open(struct destination *destination, const struct destination_config *config)
{
	struct device_voice voice = destination_voice(destination);
	struct to_dev *dev = calloc(1, sizeof(*dev));
	struct stat status;
	int ret;

	(void)config;
	if (!dev)
		return destination_fail(destination, ENOMEM, "out of memory");
	dev->outlet.fd = -1;
	destination->state = dev;
	destination->takes = DESTINATION_BYTES;
	destination->is_paced_by_device = true;
	if (stat(destination->path, &status) < 0)
		return fail_open(destination);
	ret = device_kind_check_node(&voice, destination->path, &status);
	if (ret < 0)
		return ret;
	dev->is_fifo = S_ISFIFO(status.st_mode);
	if (!dev->is_fifo)
		return open_node(destination, dev);
	if (access(destination->path, W_OK) < 0)
		return fail_open(destination);
	return 0;
}

/* A FIFO can't be waited for with poll() before it is open; it is tried now and then. */
static int dev_start(struct destination *destination)
{
	struct to_dev *dev = destination->state;
	int ret = 0;

	while (dev->outlet.fd < 0 && (ret = open_node(destination, dev)) == -ENXIO)
		if (!pace_sleep_until(units_monotonic_ns() + READER_TURN_NS,
				      &destination->is_interrupted))
			return destination_fail(destination, EINTR,
						"interrupted before anybody read the FIFO");
	if (ret == 0)
		destination->error[0] = '\0'; /* of the turns before */
	return ret;
}

static ssize_t dev_write(struct destination *destination, const void *data, size_t bytes,
			 int64_t deadline_ns)
{
	struct to_dev *dev = destination->state;

	return outlet_write(destination, &dev->outlet, data, bytes, deadline_ns);
}

static void dev_close(struct destination *destination)
{
	struct to_dev *dev = destination->state;

	outlet_close(&dev->outlet);
	free(dev);
}

const struct destination_ops destination_dev = {
	.prefix = "dev:",
	.summary = "dev:PATH  a character device, or a FIFO as soon as somebody reads it",
	.takes_path = true,
	.open = dev_open,
	.start = dev_start,
	.write = dev_write,
	.close = dev_close,
};
