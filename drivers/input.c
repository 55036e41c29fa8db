/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/device_kind.h"

/*
 * Room for the writer of a pipe while we are busy; refused silently where the user's quota is
 * spent.
 */
#define PIPE_BYTES (1 << 20)

int input_open_file(struct source *source, const char *instead, int *fd)
{
	struct device_voice voice = source_voice(source);
	struct stat status;
	int ret;

	if (stat(source->path, &status))
		return source_fail(source, errno, "cannot open: %s", strerror(errno));
	ret = device_kind_check_file(&voice, source->path, &status, instead);
	if (ret)
		return ret;
	*fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0 || fstat(*fd, &status))
		return source_fail(source, errno, "cannot open: %s", strerror(errno));
	/* only a hint; a file system that doesn't know it reads on all the same */
	posix_fadvise(*fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return device_kind_check_file(&voice, source->path, &status, instead);
}

bool input_is_pipe(const struct source *source)
{
	static const char *const places[] = { "/dev/fd/", "/proc/self/fd/" };
	struct stat status;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strncmp(source->path, places[i], strlen(places[i])) == 0)
			return stat(source->path, &status) == 0 && S_ISFIFO(status.st_mode);
	return false;
}

int input_open_pipe(struct source *source, int *fd)
{
	*fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return source_fail(source, errno, "cannot open: %s", strerror(errno));
	fcntl(*fd, F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

int input_open_stdin(struct source *source, int *fd, bool *is_regular)
{
	struct stat status;
	int flags;

	*fd = STDIN_FILENO;
	flags = fcntl(*fd, F_GETFL);
	if (flags < 0 || fstat(*fd, &status))
		return source_fail(source, errno,
				   "the standard input is closed; give it data with < or |");
	if ((flags & O_ACCMODE) == O_WRONLY)
		return source_fail(source, EBADF, "the standard input is not open for reading");
	if (S_ISDIR(status.st_mode))
		return source_fail(source, EISDIR, "the standard input is a directory");
	/* a disk never keeps a reader waiting for a writer either */
	*is_regular = S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
	if (S_ISFIFO(status.st_mode))
		fcntl(*fd, F_SETPIPE_SZ, PIPE_BYTES);
	if (S_ISCHR(status.st_mode))
		source->device = status.st_rdev;
	return 0;
}
