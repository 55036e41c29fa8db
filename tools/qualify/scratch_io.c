/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/scratch_io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/qualify/scratch.h"

#define NAME_LEN 128
#define PART ".part"

struct kept_file {
	char name[NAME_LEN]; /* the final one */
	int fd;              /* a second descriptor: the sink closes its own */
	int sink_fd;         /* that one's number, while it may be open */
	uint64_t origin;
	struct segment *segments;
	size_t segment_count, segment_capacity;
};

struct scratch_io {
	struct sink_io io;               /* the first member: what the session gets */
	struct scratch_io_config config; /* constant */
	pthread_mutex_t lock;            /* guards what follows */
	struct kept_file *files;         /* oldest first */
	size_t count, capacity;
	uint64_t gone_bytes;
	uint64_t next_origin; /* of a device; whoever begins files: one thread */
};

static struct scratch_io *scratch_of(const struct sink_io *io)
{
	return (struct scratch_io *)io;
}

static const struct sink_io *lower_of(const struct sink_io *io)
{
	return scratch_of(io)->config.lower;
}

/* ---- letting go ---- */

static void close_file(struct kept_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->segments);
}

static struct kept_file take_oldest(struct scratch_io *scratch)
{
	struct kept_file file = scratch->files[0];

	for (size_t i = 0; i < file.segment_count; i++)
		scratch->gone_bytes += file.segments[i].bytes;
	scratch->count--;
	memmove(scratch->files, scratch->files + 1, scratch->count * sizeof(file));
	return file;
}

static bool has_room(const struct scratch_io *scratch)
{
	const struct scratch_io_config *config = &scratch->config;

	return config->budget_bytes == 0 ||
	       (scratch->count + 1) * config->file_bytes <= config->budget_bytes;
}

/* A stretch of a device is overwritten by the next that lies there. */
static bool is_overwritten(const struct scratch_io *scratch, uint64_t origin)
{
	const struct kept_file *oldest = &scratch->files[0];

	return scratch->config.target->kind == TARGET_DEVICE &&
	       oldest->origin < origin + scratch->config.file_bytes &&
	       origin < oldest->origin + scratch->config.file_bytes;
}

/* Closed without the lock: to give back the space of a large file takes a while, and the writer is not to wait. */
static void make_room(struct scratch_io *scratch, uint64_t origin)
{
	for (;;) {
		struct kept_file file;
		bool is_enough;

		pthread_mutex_lock(&scratch->lock);
		is_enough = scratch->count == 0 ||
			    (has_room(scratch) && !is_overwritten(scratch, origin));
		if (!is_enough)
			file = take_oldest(scratch);
		pthread_mutex_unlock(&scratch->lock);
		if (is_enough)
			return;
		close_file(&file);
	}
}

void scratch_io_let_go(struct scratch_io *scratch)
{
	while (scratch->count > 0) {
		struct kept_file file = take_oldest(scratch);

		close_file(&file);
	}
}

/* ---- files ---- */

static int grow(struct scratch_io *scratch)
{
	size_t capacity = scratch->capacity ? scratch->capacity * 2 : 16;
	struct kept_file *files;

	if (scratch->count < scratch->capacity)
		return 0;
	files = realloc(scratch->files, capacity * sizeof(files[0]));
	if (!files)
		return -ENOMEM;
	scratch->files = files;
	scratch->capacity = capacity;
	return 0;
}

/* Where the next stretch of a device begins: behind the last, or at the beginning when it doesn't fit there. */
static uint64_t place(struct scratch_io *scratch)
{
	const struct scratch_io_config *config = &scratch->config;
	uint64_t origin = scratch->next_origin;
	uint64_t step = (config->file_bytes + LAYOUT_ALIGN - 1) / LAYOUT_ALIGN * LAYOUT_ALIGN;

	if (config->target->kind != TARGET_DEVICE)
		return 0;
	if (origin + step > config->target->total_bytes)
		origin = 0;
	scratch->next_origin = origin + step;
	return origin;
}

static int open_target(const struct target *target, int flags)
{
	char path[64];
	int fd;

	if (target->kind != TARGET_DEVICE)
		return scratch_open(target->dir_fd, flags);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", target->dir_fd);
	fd = open(path, O_RDWR | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

static int keep(struct scratch_io *scratch, const struct kept_file *file)
{
	int ret;

	pthread_mutex_lock(&scratch->lock);
	ret = grow(scratch);
	if (ret == 0)
		scratch->files[scratch->count++] = *file;
	pthread_mutex_unlock(&scratch->lock);
	return ret;
}

/* Return: the descriptor for the sink; -errno. */
static int begin_file(struct scratch_io *scratch, const char *name, int flags)
{
	const char *end = strstr(name, PART);
	int length = end ? (int)(end - name) : (int)strlen(name);
	struct kept_file file = { .origin = place(scratch) };
	int ret;

	if (length >= NAME_LEN)
		return -ENAMETOOLONG;
	make_room(scratch, file.origin);
	file.sink_fd = open_target(scratch->config.target, flags & O_DIRECT);
	if (file.sink_fd < 0)
		return file.sink_fd;
	snprintf(file.name, sizeof(file.name), "%.*s", length, name);
	file.fd = fcntl(file.sink_fd, F_DUPFD_CLOEXEC, 0);
	ret = file.fd < 0 ? -errno : keep(scratch, &file);
	if (ret == 0)
		return file.sink_fd;
	close_file(&file);
	close(file.sink_fd);
	return ret;
}

static int scratch_io_open(const struct sink_io *io, int dir_fd, const char *name, int flags)
{
	/* what is opened once more has no name to be found by */
	int fd = flags & O_CREAT ? begin_file(scratch_of(io), name, flags) : -ENOENT;

	(void)dir_fd;
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

static uint64_t scratch_io_origin(const struct sink_io *io, int fd)
{
	struct scratch_io *scratch = scratch_of(io);
	uint64_t origin = 0;

	pthread_mutex_lock(&scratch->lock);
	for (size_t i = scratch->count; i-- > 0;) {
		if (scratch->files[i].sink_fd != fd)
			continue;
		origin = scratch->files[i].origin;
		break;
	}
	pthread_mutex_unlock(&scratch->lock);
	return origin;
}

/* ---- the other calls ---- */

static int nothing_to_sync(const struct sink_io *io, int fd)
{
	(void)io;
	(void)fd;
	return 0;
}

static int nothing_to_rename(const struct sink_io *io, int dir_fd, const char *from, const char *to)
{
	(void)io;
	(void)dir_fd;
	(void)from;
	(void)to;
	return 0;
}

static int nothing_to_remove(const struct sink_io *io, int dir_fd, const char *name)
{
	(void)io;
	(void)dir_fd;
	(void)name;
	return 0;
}

/* A device has its space. */
static int nothing_to_allocate(const struct sink_io *io, int fd, off_t offset, off_t bytes)
{
	(void)io;
	(void)fd;
	(void)offset;
	(void)bytes;
	return 0;
}

static int nothing_to_cut(const struct sink_io *io, int fd, off_t bytes)
{
	(void)io;
	(void)fd;
	(void)bytes;
	return 0;
}

static ssize_t lower_write(const struct sink_io *io, int fd, const void *data, size_t bytes, off_t offset)
{
	return lower_of(io)->write(lower_of(io), fd, data, bytes, offset);
}

static int lower_sync(const struct sink_io *io, int fd)
{
	return lower_of(io)->sync(lower_of(io), fd);
}

static int lower_allocate(const struct sink_io *io, int fd, off_t offset, off_t bytes)
{
	return lower_of(io)->allocate(lower_of(io), fd, offset, bytes);
}

static int lower_cut(const struct sink_io *io, int fd, off_t bytes)
{
	return lower_of(io)->cut(lower_of(io), fd, bytes);
}

static int lower_align(const struct sink_io *io, int fd, struct sink_alignment *alignment)
{
	return lower_of(io)->align(lower_of(io), fd, alignment);
}

static void fill_table(struct scratch_io *scratch)
{
	bool is_device = scratch->config.target->kind == TARGET_DEVICE;

	scratch->io = sink_system_io;
	if (scratch->config.lower) {
		scratch->io.write = lower_write;
		scratch->io.sync = lower_sync;
		scratch->io.allocate = lower_allocate;
		scratch->io.cut = lower_cut;
		scratch->io.align = lower_align;
	}
	if (is_device) {
		scratch->io.allocate = nothing_to_allocate;
		scratch->io.cut = nothing_to_cut;
		scratch->io.origin = scratch_io_origin;
	}
	scratch->io.open = scratch_io_open;
	scratch->io.sync_directory = nothing_to_sync;
	scratch->io.rename = nothing_to_rename;
	scratch->io.remove = nothing_to_remove;
}

/* ---- for who runs the session ---- */

int scratch_io_create(struct scratch_io **out, const struct scratch_io_config *config)
{
	struct scratch_io *scratch;

	*out = NULL;
	if (config->budget_bytes && config->file_bytes > config->budget_bytes / SCRATCH_IO_FILES_LEAST)
		return -EINVAL;
	scratch = calloc(1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	scratch->config = *config;
	pthread_mutex_init(&scratch->lock, NULL);
	fill_table(scratch);
	*out = scratch;
	return 0;
}

void scratch_io_free(struct scratch_io *scratch)
{
	if (!scratch)
		return;
	for (size_t i = 0; i < scratch->count; i++)
		close_file(&scratch->files[i]);
	free(scratch->files);
	pthread_mutex_destroy(&scratch->lock);
	free(scratch);
}

const struct sink_io *scratch_io_table(const struct scratch_io *scratch)
{
	return &scratch->io;
}

static int add_segment(struct kept_file *file, const struct segment *segment)
{
	if (file->segment_count == file->segment_capacity) {
		size_t capacity = file->segment_capacity ? file->segment_capacity * 2 : 16;
		struct segment *segments = realloc(file->segments, capacity * sizeof(segments[0]));

		if (!segments)
			return -ENOMEM;
		file->segments = segments;
		file->segment_capacity = capacity;
	}
	file->segments[file->segment_count++] = *segment;
	return 0;
}

/* The newest of that name: a file that broke off elsewhere may have been begun anew. */
void scratch_io_note(struct scratch_io *scratch, const char *file, const struct segment *segment)
{
	int ret = -ENOENT;

	pthread_mutex_lock(&scratch->lock);
	for (size_t i = scratch->count; i-- > 0 && ret == -ENOENT;)
		if (strcmp(scratch->files[i].name, file) == 0)
			ret = add_segment(&scratch->files[i], segment);
	if (ret < 0)
		scratch->gone_bytes += segment->bytes;
	pthread_mutex_unlock(&scratch->lock);
}

size_t scratch_io_count(const struct scratch_io *scratch)
{
	return scratch->count;
}

struct scratch_file scratch_io_file(const struct scratch_io *scratch, size_t index)
{
	const struct kept_file *file = &scratch->files[index];

	return (struct scratch_file){
		.fd = file->fd,
		.origin = file->origin,
		.segments = file->segments,
		.segment_count = file->segment_count,
	};
}

uint64_t scratch_io_gone_bytes(const struct scratch_io *scratch)
{
	return scratch->gone_bytes;
}

/* FUSE can't open once more what has no name any more: then it is read through what is open, if that can be set so. */
static int share(const struct scratch_file *file, int flags)
{
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0), has = fd < 0 ? -1 : fcntl(fd, F_GETFL), code;

	if (has >= 0 && fcntl(fd, F_SETFL, (has & ~O_DIRECT) | flags) == 0)
		return fd;
	code = -errno;
	if (fd >= 0)
		close(fd);
	return code;
}

int scratch_io_reopen(const struct scratch_file *file, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | flags);
	if (fd < 0 && (errno == ESTALE || errno == ENOENT))
		return share(file, flags);
	return fd < 0 ? -errno : fd;
}
