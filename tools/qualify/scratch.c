/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "drivers/units.h"

#define RESERVE_SHARE 50
#define RESERVE_MOST (UINT64_C(1) << 30)
#define NAMES_TRIED 100
#define FAT_MOST (UINT64_C(1) << 32) /* and less than that */
#define MIB (UINT64_C(1) << 20)

/* The file system can't make one without a name. */
static int open_and_remove(int dir_fd, int flags)
{
	char name[64];

	for (unsigned i = 0; i < NAMES_TRIED; i++) {
		int fd, ret;

		snprintf(name, sizeof(name), ".vsib-scratch-%d-%" PRId64, (int)getpid(),
			 units_realtime_ns());
		fd = openat(dir_fd, name,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
		ret = fd >= 0 ? fd : -errno;
		if (ret == -EEXIST)
			continue;
		/* with flags that are refused there may be a file all the same, see open(2) */
		if (unlinkat(dir_fd, name, 0) < 0 && fd >= 0) {
			ret = -errno;
			close(fd);
		}
		return ret;
	}
	return -EEXIST;
}

int scratch_open(int dir_fd, int flags)
{
	int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);

	if (fd >= 0)
		return fd;
	/* EISDIR: a kernel that doesn't know O_TMPFILE takes it for O_DIRECTORY */
	if (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)
		return open_and_remove(dir_fd, flags);
	return -errno;
}

uint64_t scratch_reserve_bytes(uint64_t total_bytes)
{
	uint64_t share = total_bytes / RESERVE_SHARE;

	return share < RESERVE_MOST ? share : RESERVE_MOST;
}

uint64_t scratch_room_bytes(const struct target *target, uint64_t most)
{
	uint64_t free_bytes = target->free_bytes, total_bytes = target->total_bytes, reserve;

	target_room(target, &free_bytes, &total_bytes);
	reserve = scratch_reserve_bytes(total_bytes);
	free_bytes = free_bytes > reserve ? free_bytes - reserve : 0;
	return most && most < free_bytes ? most : free_bytes;
}

/* A direct write ends at a page: an odd end is of no use. */
static uint64_t round_down(uint64_t bytes)
{
	return bytes >= MIB ? bytes / MIB * MIB : bytes;
}

uint64_t scratch_file_most(const struct target *target)
{
	uint64_t most = UINT64_MAX;
	struct rlimit limit;

	if (target->kind == TARGET_DEVICE)
		return most;
	if (strcmp(target->fs, "vfat") == 0 || strcmp(target->fs, "msdos") == 0)
		most = round_down(FAT_MOST - 1);
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < most)
		most = round_down(limit.rlim_cur);
	return most;
}
