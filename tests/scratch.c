/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORIES_MAX 16

/* The directories that are there. A signal may come at any time: what is_there says is true of a whole path. */
static struct {
	char path[PATH_MAX];
	atomic_bool is_there;
} directories[DIRECTORIES_MAX];

static pid_t owner; /* of them: what the test forks leaves them alone */

/* ---- at the end ---- */

/* What a test that fails has not come to remove. */
static void remove_all(void)
{
	for (int i = 0; i < DIRECTORIES_MAX && getpid() == owner; i++)
		if (atomic_load(&directories[i].is_there))
			scratch_remove(directories[i].path);
}

/* Removes them with a program of its own, once the test's threads, which may be writing there, are gone. */
static void remove_behind(pid_t test)
{
	static char *arguments[DIRECTORIES_MAX + 4] = { "rm", "-rf", "--" };
	int count = 3;

	for (int i = 0; i < DIRECTORIES_MAX; i++)
		if (atomic_load(&directories[i].is_there))
			arguments[count++] = directories[i].path;
	while (getppid() == test)
		poll(NULL, 0, 1);
	execv("/bin/rm", arguments);
	_exit(127);
}

/* _Fork(), and not fork(): the latter may wait for a lock of whom the signal has interrupted. */
static void end_by_signal(int number)
{
	pid_t test = getpid();

	signal(number, SIG_DFL);
	if (test == owner && _Fork() == 0) { /* NOLINT(bugprone-signal-handler): it is made for that */
		signal(number, SIG_IGN);     /* it goes to the whole group */
		remove_behind(test);
	}
	raise(number); /* blocked until we return */
}

static void begin(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

	if (owner == getpid())
		return;
	owner = getpid();
	atexit(remove_all);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signal(numbers[i], end_by_signal);
}

/* ---- making and removing ---- */

int scratch_make(char *path, size_t size, const char *parent)
{
	const char *chosen = parent ? parent : getenv("TMPDIR");
	int i = 0, len = snprintf(path, size, "%s/vsib-test.XXXXXX", chosen ? chosen : "/tmp");

	if (len < 0 || (size_t)len >= size || len >= PATH_MAX)
		return -ENAMETOOLONG;
	while (i < DIRECTORIES_MAX && atomic_load(&directories[i].is_there))
		i++;
	if (i == DIRECTORIES_MAX)
		return -ENOSPC;
	begin();
	if (!mkdtemp(path))
		return -errno;
	memcpy(directories[i].path, path, (size_t)len + 1);
	atomic_store(&directories[i].is_there, true);
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int scratch_remove(const char *path)
{
	int ret = nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) ? -errno : 0;

	for (int i = 0; i < DIRECTORIES_MAX; i++)
		if (atomic_load(&directories[i].is_there) && strcmp(directories[i].path, path) == 0)
			atomic_store(&directories[i].is_there, false);
	return ret;
}
