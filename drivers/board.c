/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board.c - the VSIB board as its kernel driver shows it; what its modes mean
 */
#include "drivers/board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "drivers/units.h"

struct kernel_board {
	int fd;
	bool is_ours; /* opened here, to be closed here */
};

unsigned board_mode_bits(unsigned mode)
{
	/* 7, 8 are test modes, 9 to 13 fan-outs whose rate the mode alone doesn't tell */
	static const unsigned char bits[] = { 32, 16, 16, 8, 8, 8, 4 };

	return mode < sizeof(bits) ? bits[mode] : 0;
}

bool board_is_behind(int fd)
{
	unsigned long status = 0;
	struct stat kind;

	return fstat(fd, &kind) == 0 && S_ISCHR(kind.st_mode) &&
	       ioctl(fd, (unsigned long)BOARD_GET_STATUS, &status) == 0;
}

static int kernel_new(int fd, bool is_ours, void **out)
{
	struct kernel_board *board = malloc(sizeof(*board));

	if (!board)
		return -ENOMEM;
	*board = (struct kernel_board){ .fd = fd, .is_ours = is_ours };
	*out = board;
	return 0;
}

static int kernel_open(const char *path, int flags, void **board)
{
	struct stat status;
	int fd, ret;

	/* Before it is opened: a FIFO would keep us waiting for the other end. */
	if (stat(path, &status))
		return -errno;
	if (!S_ISCHR(status.st_mode))
		return -ENOTTY;
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	ret = kernel_new(fd, true, board);
	if (ret)
		close(fd);
	return ret;
}

static int kernel_adopt(int fd, int flags, void **board)
{
	int mode = fcntl(fd, F_GETFL);
	struct stat status;

	if (mode < 0 || fstat(fd, &status))
		return -errno;
	if (!S_ISCHR(status.st_mode))
		return -ENOTTY;
	/* the driver takes O_WRONLY for playback, and all else for recording */
	if (((mode & O_ACCMODE) == O_WRONLY) != ((flags & O_ACCMODE) == O_WRONLY))
		return -EBADF;
	return kernel_new(fd, false, board);
}

static ssize_t kernel_read(void *board, void *buf, size_t len)
{
	ssize_t got = read(((struct kernel_board *)board)->fd, buf, len);

	return got < 0 ? -errno : got;
}

static ssize_t kernel_write(void *board, const void *data, size_t len)
{
	ssize_t taken = write(((struct kernel_board *)board)->fd, data, len);

	return taken < 0 ? -errno : taken;
}

static int kernel_control(void *board, enum board_request request, unsigned long value,
			  unsigned long *result)
{
	int fd = ((struct kernel_board *)board)->fd;
	/* zeroed: driver versions differ in whether they write all eight bytes or an int of them */
	unsigned long answer = 0;
	int ret;

	if (!result)
		return ioctl(fd, (unsigned long)request, value) < 0 ? -errno : 0;
	ret = ioctl(fd, (unsigned long)request, &answer);
	if (ret < 0)
		return -errno;
	*result = answer;
	return 0;
}

static void kernel_wait(void *board, int64_t ns)
{
	struct timespec span = { ns / UNITS_NS_PER_S, ns % UNITS_NS_PER_S };

	(void)board;
	/* a signal ends it early: the caller looks again */
	if (ns > 0)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}

static int64_t kernel_monotonic_ns(void *board)
{
	(void)board;
	return units_monotonic_ns();
}

static int64_t kernel_realtime_ns(void *board)
{
	(void)board;
	return units_realtime_ns();
}

static void kernel_close(void *board)
{
	struct kernel_board *kernel = board;

	if (kernel->is_ours)
		close(kernel->fd);
	free(kernel);
}

const struct board_ops board_kernel = {
	.open = kernel_open,
	.adopt = kernel_adopt,
	.read = kernel_read,
	.write = kernel_write,
	.control = kernel_control,
	.wait = kernel_wait,
	.monotonic_ns = kernel_monotonic_ns,
	.realtime_ns = kernel_realtime_ns,
	.close = kernel_close,
};
