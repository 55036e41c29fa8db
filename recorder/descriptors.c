/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "recorder/outbox.h"

#define OF_A_TARGET \
	(4 + 3 * OUTBOX_FILES) /* its directory, journal, ring, bell; each file, the directories of both copies */
#define OF_THE_REST \
	12 /* source, board, status and who asks, report, and what is open for a moment */

/* Of this process, without the one that looks. */
static unsigned count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned count = 0;

	while (dir && (entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count ? count - 1 : 0;
}

int descriptors_check(unsigned target_count, char *error, size_t error_len)
{
	unsigned open_count = count_open(), needed = OF_THE_REST + target_count * OF_A_TARGET;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= (rlim_t)open_count + needed)
		return 0;
	snprintf(error, error_len,
		 "%u targets need %u file descriptors, and %u are open already; the limit is %" PRIuMAX
		 ": raise it to %u (ulimit -Hn, LimitNOFILE=), or give fewer targets",
		 target_count, needed, open_count, (uintmax_t)limit.rlim_cur, open_count + needed);
	return -EMFILE;
}
