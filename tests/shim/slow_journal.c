/* SPDX-License-Identifier: BSD-2-Clause */
/* slow_journal.c - preloaded: each sync of a journal takes 1.8 s, as on a disk that shingles or dozes */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int fdatasync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
	struct timespec pause = { .tv_sec = 1, .tv_nsec = 800000000 };
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (strstr(path, ".vsib.jsonl"))
		nanosleep(&pause, NULL);
	return real(fd);
}
