/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.c - device nodes as the kernel has them
 */
#include "drivers/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drivers/pace.h"
#include "drivers/source.h"
#include "drivers/units.h"

static int fd_of(void *node)
{
	return *(int *)node;
}

static int kernel_open(const char *path, int flags, void **node)
{
	int *fd = malloc(sizeof(*fd));
	int ret;

	if (!fd)
		return -ENOMEM;
	*fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	if (*fd < 0) {
		ret = -errno;
		free(fd);
		return ret;
	}
	*node = fd;
	return 0;
}

static ssize_t kernel_read(void *node, void *buf, size_t len)
{
	ssize_t got = read(fd_of(node), buf, len);

	return got < 0 ? -errno : got;
}

static int kernel_control(void *node, unsigned long request, void *argument)
{
	return ioctl(fd_of(node), request, argument) < 0 ? -errno : 0;
}

static int kernel_poll(void *node, int64_t deadline_ns, const _Atomic bool *is_interrupted)
{
	return pace_poll(fd_of(node), deadline_ns, is_interrupted);
}

static void kernel_wait(void *node, int64_t ns)
{
	struct timespec span = { ns / UNITS_NS_PER_S, ns % UNITS_NS_PER_S };

	(void)node;
	if (ns > 0)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}

static int64_t kernel_monotonic_ns(void *node)
{
	(void)node;
	return units_monotonic_ns();
}

static void kernel_close(void *node)
{
	close(fd_of(node));
	free(node);
}

const struct node_ops node_kernel = {
	.open = kernel_open,
	.read = kernel_read,
	.control = kernel_control,
	.poll = kernel_poll,
	.wait = kernel_wait,
	.monotonic_ns = kernel_monotonic_ns,
	.close = kernel_close,
};

int node_fail(struct source *source, ssize_t error, const char *what)
{
	bool is_gone = error == -ENODEV || error == -ENXIO || error == -ESHUTDOWN;

	if (error < -4095) /* no errno at all: source_read() names it */
		return (int)error;
	return source_fail(
		source, (int)-error, "%s: %s%s", what, strerror((int)-error),
		is_gone ? "; the device is gone: was it unplugged, or its driver unloaded?" : "");
}
