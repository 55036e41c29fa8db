/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * die.c - preloaded: the call number $DIE_AT that changes something on a disk kills the process (a write
 * when half of it is done); with $FAIL_AT instead, that call fails with EIO. $DIE_COUNT: a file that gets
 * a byte for each call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static int call_number;

static int reaches(const char *variable)
{
	const char *value = getenv(variable);

	return value && call_number == atoi(value);
}

static void count(void)
{
	const char *path = getenv("DIE_COUNT");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;

	call_number++;
	if (fd >= 0) {
		ssize_t (*real)(int, const void *, size_t) =
			(ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");

		real(fd, ".", 1);
		close(fd);
	}
}

#define WRAP(name, declared, types, passed)                                    \
	int name declared                                                      \
	{                                                                      \
		int(*real) types = (int(*) types)dlsym(RTLD_NEXT, #name);      \
                                                                               \
		count();                                                       \
		if (reaches("DIE_AT"))                                         \
			kill(getpid(), SIGKILL);                               \
		if (reaches("FAIL_AT")) {                                      \
			errno = EIO;                                           \
			return -1;                                             \
		}                                                              \
		return real passed;                                            \
	}

WRAP(ftruncate, (int fd, off_t length), (int, off_t), (fd, length))
WRAP(fsync, (int fd), (int), (fd))
WRAP(renameat, (int from_fd, const char *from, int to_fd, const char *to),
     (int, const char *, int, const char *), (from_fd, from, to_fd, to))
WRAP(renameat2, (int from_fd, const char *from, int to_fd, const char *to, unsigned flags),
     (int, const char *, int, const char *, unsigned), (from_fd, from, to_fd, to, flags))
WRAP(linkat, (int from_fd, const char *from, int to_fd, const char *to, int flags),
     (int, const char *, int, const char *, int), (from_fd, from, to_fd, to, flags))
WRAP(unlinkat, (int fd, const char *name, int flags), (int, const char *, int), (fd, name, flags))

ssize_t write(int fd, const void *buf, size_t len)
{
	ssize_t (*real)(int, const void *, size_t) =
		(ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");

	if (fd <= STDERR_FILENO)
		return real(fd, buf, len);
	count();
	if (reaches("DIE_AT")) {
		real(fd, buf, len / 2);
		kill(getpid(), SIGKILL);
	}
	if (reaches("FAIL_AT")) {
		errno = EIO;
		return -1;
	}
	return real(fd, buf, len);
}
