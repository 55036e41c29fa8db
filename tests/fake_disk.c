/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fake_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GARBAGE 0xa5

static struct fake_disk *disk_of(const struct sink_io *io)
{
	return (struct fake_disk *)io;
}

static void sleep_ns(int64_t ns)
{
	struct timespec pause = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	while (nanosleep(&pause, &pause) < 0)
		;
}

/* Counts a call, holds it up as asked. Return: 0, or -1 with errno when it is to fail. */
static int begin(struct fake_disk *disk, enum fake_call call)
{
	uint64_t number = atomic_fetch_add(&disk->calls[call], 1) + 1;
	const struct fake_fault *fault = &disk->faults[call];

	if (disk->delay_ns[call])
		sleep_ns(disk->delay_ns[call]);
	if (disk->stuck_at[call] && number >= disk->stuck_at[call]) {
		while (!atomic_load(&disk->is_released)) {
			atomic_store(&disk->is_stuck, true);
			sleep_ns(1000000);
		}
	}
	if (fault->at && number >= fault->at &&
	    (fault->count == 0 || number < fault->at + fault->count)) {
		errno = fault->error;
		return -1;
	}
	return 0;
}

/* ---- what is not durable yet ---- */

static void remember(struct fake_disk *disk, int fd, off_t offset, size_t bytes)
{
	struct fake_range *last;

	pthread_mutex_lock(&disk->lock);
	last = disk->range_count ? &disk->ranges[disk->range_count - 1] : NULL;
	if (last && last->fd == fd && last->offset + (off_t)last->bytes == offset)
		last->bytes += bytes;
	else if (disk->range_count < FAKE_RANGES)
		disk->ranges[disk->range_count++] = (struct fake_range){ fd, offset, bytes };
	pthread_mutex_unlock(&disk->lock);
}

static void overwrite(const struct fake_range *range)
{
	char path[64], garbage[4096];
	struct stat st;
	int fd;

	/* by a descriptor of its own: that of the file may want aligned writes */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", range->fd);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	memset(garbage, GARBAGE, sizeof(garbage));
	for (size_t done = 0; done < range->bytes; done += sizeof(garbage)) {
		off_t at = range->offset + (off_t)done;
		size_t bytes = range->bytes - done < sizeof(garbage) ? range->bytes - done :
								       sizeof(garbage);

		if (at >= st.st_size)
			break;
		if (at + (off_t)bytes > st.st_size)
			bytes = (size_t)(st.st_size - at);
		if (pwrite(fd, garbage, bytes, at) < 0)
			break;
	}
	close(fd);
}

/* @is_good: what was written to @fd before is durable; else it is gone. */
static void settle(struct fake_disk *disk, int fd, unsigned count, bool is_good)
{
	unsigned kept = 0;

	pthread_mutex_lock(&disk->lock);
	for (unsigned i = 0; i < disk->range_count; i++) {
		struct fake_range range = disk->ranges[i];

		if (range.fd != fd || i >= count)
			disk->ranges[kept++] = range;
		else if (!is_good && disk->is_forgetful)
			overwrite(&range);
	}
	disk->range_count = kept;
	pthread_mutex_unlock(&disk->lock);
}

static unsigned count_ranges(struct fake_disk *disk)
{
	unsigned count;

	pthread_mutex_lock(&disk->lock);
	count = disk->range_count;
	pthread_mutex_unlock(&disk->lock);
	return count;
}

/* ---- the calls ---- */

static int fake_open(const struct sink_io *io, int dir_fd, const char *name, int flags)
{
	struct fake_disk *disk = disk_of(io);
	int fd;

	if (begin(disk, FAKE_OPEN) < 0)
		return -1;
	fd = sink_system_io.open(io, dir_fd, name, flags);
	if (fd >= 0)
		settle(disk, fd, FAKE_RANGES, true); /* another file had this number before */
	return fd;
}

static ssize_t fake_write(const struct sink_io *io, int fd, const void *data, size_t bytes, off_t offset)
{
	struct fake_disk *disk = disk_of(io);
	uint64_t written = atomic_load(&disk->written_bytes);
	ssize_t n;

	if (begin(disk, FAKE_WRITE) < 0)
		return -1;
	if (disk->write_max && bytes > disk->write_max)
		bytes = disk->write_max;
	if (disk->room_bytes && written >= disk->room_bytes) {
		errno = ENOSPC;
		return -1;
	}
	if (disk->room_bytes && bytes > disk->room_bytes - written)
		bytes = disk->room_bytes - written;
	n = sink_system_io.write(io, fd, data, bytes, offset);
	if (n > 0) {
		atomic_fetch_add(&disk->written_bytes, (uint64_t)n);
		remember(disk, fd, offset, (size_t)n);
	}
	return n;
}

static int fake_sync(const struct sink_io *io, int fd)
{
	struct fake_disk *disk = disk_of(io);
	unsigned count = count_ranges(disk);
	int ret = begin(disk, FAKE_SYNC), code = errno;

	/* a signal comes before anything is done */
	if (ret == 0 || code != EINTR)
		settle(disk, fd, ret == 0 ? count : FAKE_RANGES, ret == 0);
	errno = code;
	return ret;
}

static int fake_sync_directory(const struct sink_io *io, int fd)
{
	struct fake_disk *disk = disk_of(io);
	struct stat st;

	if (begin(disk, FAKE_SYNC_DIRECTORY) < 0 || fstat(fd, &st) < 0)
		return -1;
	atomic_store(&disk->synced_inode, st.st_ino);
	return 0;
}

/* The size is set; in a file system in memory the space itself would cost more time than all the rest. */
static int fake_allocate(const struct sink_io *io, int fd, off_t offset, off_t bytes)
{
	struct fake_disk *disk = disk_of(io);

	if (begin(disk, FAKE_ALLOCATE) < 0)
		return -1;
	if (disk->allocate_max && (uint64_t)bytes > disk->allocate_max) {
		if (ftruncate(fd, offset + (off_t)disk->allocate_max) == 0)
			errno = ENOSPC;
		return -1;
	}
	return ftruncate(fd, offset + bytes);
}

static int fake_cut(const struct sink_io *io, int fd, off_t bytes)
{
	if (begin(disk_of(io), FAKE_CUT) < 0)
		return -1;
	return sink_system_io.cut(io, fd, bytes);
}

static int fake_rename(const struct sink_io *io, int dir_fd, const char *from, const char *to)
{
	if (begin(disk_of(io), FAKE_RENAME) < 0)
		return -1;
	return sink_system_io.rename(io, dir_fd, from, to);
}

static int fake_align(const struct sink_io *io, int fd, struct sink_alignment *alignment)
{
	const struct fake_disk *disk = disk_of(io);

	(void)fd;
	*alignment = disk->alignment;
	errno = ENODATA;
	return disk->tells_alignment ? 0 : -1;
}

static int fake_remove(const struct sink_io *io, int dir_fd, const char *name)
{
	return sink_system_io.remove(io, dir_fd, name);
}

void fake_disk_init(struct fake_disk *disk)
{
	memset(disk, 0, sizeof(*disk));
	disk->io = (struct sink_io){
		.open = fake_open,
		.write = fake_write,
		.sync = fake_sync,
		.sync_directory = fake_sync_directory,
		.allocate = fake_allocate,
		.cut = fake_cut,
		.rename = fake_rename,
		.align = fake_align,
		.remove = fake_remove,
	};
	disk->is_forgetful = true;
	pthread_mutex_init(&disk->lock, NULL);
}

void fake_disk_free(struct fake_disk *disk)
{
	pthread_mutex_destroy(&disk->lock);
}

void fake_disk_fail(struct fake_disk *disk, enum fake_call call, uint64_t at, uint64_t count, int error)
{
	disk->faults[call] = (struct fake_fault){ .at = at, .count = count, .error = error };
}

void fake_disk_release(struct fake_disk *disk)
{
	atomic_store(&disk->is_released, true);
}
