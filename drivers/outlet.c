/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/destination.h"
#include "drivers/device_kind.h"
#include "drivers/pace.h"
#include "drivers/units.h"

#define PIPE_BYTES (1 << 20)    /* what a pipe may hold while its reader is busy */
#define NAP_NS INT64_C(2000000) /* when poll() returns at once and yet there is no room */
#define READY_MAX 3             /* "ready" without room so often running: nap */

static int open_again(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void outlet_share(struct outlet *outlet, int fd)
{
	struct stat status;
	int ours = -1;

	*outlet = (struct outlet){ .fd = fd };
	if (fstat(fd, &status) == 0) {
		outlet->is_socket = S_ISSOCK(status.st_mode);
		if (S_ISFIFO(status.st_mode))
			fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
		if (S_ISFIFO(status.st_mode) || isatty(fd))
			ours = open_again(fd);
	}
	if (ours >= 0) {
		outlet->fd = ours;
		outlet->is_ours = true;
	} else if (!outlet->is_socket) {
		outlet->is_blocking = outlet->is_asked_first = true;
	}
}

int outlet_own(struct outlet *outlet, int fd)
{
	int flags;

	*outlet = (struct outlet){ .fd = fd, .is_ours = true };
	/* room for what comes while the reader is busy; refused where the user's quota is spent, and by devices */
	fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
	if (device_kind_can_poll(fd))
		return 0;
	outlet->is_blocking = true;
	flags = fcntl(fd, F_GETFL);
	return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

void outlet_close(struct outlet *outlet)
{
	if (outlet->is_ours && outlet->fd >= 0)
		close(outlet->fd);
	outlet->fd = -1;
}

static bool is_time_up(const struct destination *destination, int64_t deadline_ns)
{
	return destination_is_interrupted(destination) || units_monotonic_ns() >= deadline_ns;
}

/*
 * Until there may be room. Some drivers call themselves ready when they aren't: from the @turn-th time running on a nap
 * keeps us from spinning. Return: 1 = look again; 0 = not until the deadline, or interrupted; -errno.
 */
static int wait_for_room(struct destination *destination, const struct outlet *outlet,
			 int64_t deadline_ns, unsigned turn)
{
	int64_t nap_end;
	int events;

	if (is_time_up(destination, deadline_ns))
		return 0;
	destination_count(&destination->stats.busy_count, 1);
	events = pace_poll_room(outlet->fd, deadline_ns, &destination->is_interrupted);
	if (events < 0)
		return destination_fail(destination, -events, "cannot wait: %s", strerror(-events));
	if (events && turn > READY_MAX) {
		nap_end = units_monotonic_ns() + NAP_NS;
		pace_sleep_until(nap_end < deadline_ns ? nap_end : deadline_ns,
				 &destination->is_interrupted);
	}
	return 1;
}

static bool has_room(int fd)
{
	struct pollfd descriptor = { .fd = fd, .events = POLLOUT };

	return poll(&descriptor, 1, 0) != 0;
}

/* Bytes; 0 or -EAGAIN: full; -errno. */
static ssize_t write_piece(const struct outlet *outlet, const void *data, size_t bytes)
{
	ssize_t taken;

	if (outlet->is_asked_first && !has_room(outlet->fd))
		return -EAGAIN;
	if (outlet->is_asked_first && bytes > PIPE_BUF)
		bytes = PIPE_BUF;
	taken = outlet->is_socket ? send(outlet->fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) :
				    write(outlet->fd, data, bytes);
	return taken < 0 ? -errno : taken;
}

/* As much as goes out without waiting. */
static ssize_t write_pieces(struct destination *destination, const struct outlet *outlet,
			    const unsigned char *data, size_t bytes, int64_t deadline_ns)
{
	size_t done = 0;
	ssize_t taken;

	do {
		taken = write_piece(outlet, data + done, bytes - done);
		if (taken > 0)
			done += (size_t)taken;
	} while (taken > 0 && done < bytes && !is_time_up(destination, deadline_ns));
	return done ? (ssize_t)done : taken;
}

ssize_t outlet_write(struct destination *destination, const struct outlet *outlet, const void *data,
		     size_t bytes, int64_t deadline_ns)
{
	for (unsigned turn = 1;; turn++) {
		ssize_t taken;
		int ret;

		/* a write() might wait, and the signal that was to end it may be past */
		if (outlet->is_blocking && destination_is_interrupted(destination))
			return 0;
		taken = write_pieces(destination, outlet, data, bytes, deadline_ns);
		if (taken > 0)
			return taken;
		if (taken == -EPIPE)
			return destination_fail(destination, EPIPE, "nobody reads it any more");
		if (taken == -EINTR) {
			if (is_time_up(destination, deadline_ns))
				return 0;
			continue;
		}
		if (taken < 0 && taken != -EAGAIN)
			return destination_fail(destination, (int)-taken, "cannot write: %s",
						strerror((int)-taken));
		ret = wait_for_room(destination, outlet, deadline_ns, turn);
		if (ret <= 0)
			return ret;
	}
}
