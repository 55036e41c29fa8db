/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/host.h"
#include "recorder/runtime.h"

#define ANSWER_BYTES (1 << 20) /* room asked for in the socket, so that one send takes it all */

struct status {
	int fd;
	int spare; /* given up to turn somebody away when there is no other descriptor left */
	struct sockaddr_un address;
};

static int dup_spare(const struct status *status)
{
	return fcntl(status->fd, F_DUPFD_CLOEXEC, 0);
}

int status_open(struct status **out, const char *name, char *why)
{
	struct status *status = calloc(1, sizeof(*status));
	char dir[PATH_MAX] = "";
	int ret;

	*out = NULL;
	if (!status) {
		snprintf(why, 256, "vsib-status can't look at this recorder: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	ret = runtime_dir(dir, sizeof(dir), true);
	if (ret == 0)
		ret = runtime_address(&status->address, dir, name, host_pid());
	if (ret < 0)
		goto fail;
	status->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (status->fd < 0) {
		ret = -errno;
		goto fail;
	}
	unlink(status->address.sun_path); /* of a process that had our number and was killed */
	if (bind(status->fd, (struct sockaddr *)&status->address, sizeof(status->address)) < 0 ||
	    listen(status->fd, 8) < 0) {
		ret = -errno;
		close(status->fd);
		goto fail;
	}
	status->spare = dup_spare(status);
	*out = status;
	return 0;
fail:
	snprintf(why, 256, "vsib-status can't look at this recorder: %.100s: %s", dir, strerror(-ret));
	free(status);
	return ret;
}

int status_fd(const struct status *status)
{
	return status ? status->fd : -1;
}

/*
 * Nobody accepted stays at the socket, which would stay readable, and the supervisor would do
 * nothing else any more.
 */
static void turn_away(struct status *status)
{
	int fd;

	if (status->spare >= 0)
		close(status->spare);
	fd = accept4(status->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		close(fd);
	status->spare = dup_spare(status);
}

void status_answer(struct status *status, json_t *snapshot)
{
	char *text = snapshot ? json_dumps(snapshot, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	int room = ANSWER_BYTES, fd = accept4(status->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		turn_away(status);
	json_decref(snapshot);
	if (fd >= 0 && text) {
		struct iovec parts[2] = {
			{ .iov_base = text, .iov_len = strlen(text) },
			{ .iov_base = (char *)"\n", .iov_len = 1 },
		};
		struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
		sendmsg(fd, &message, MSG_NOSIGNAL);
	}
	if (fd >= 0)
		close(fd);
	free(text);
}

void status_close(struct status *status)
{
	if (!status)
		return;
	unlink(status->address.sun_path);
	close(status->fd);
	if (status->spare >= 0)
		close(status->spare);
	free(status);
}
