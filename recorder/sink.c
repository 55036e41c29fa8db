/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SINK_ERROR_LEN 1024
#define GROW_BYTES \
	(UINT64_C(256) << 20) /* a step of preallocation: endless files, and those larger than the free space */
#define GROW_MAX_BYTES (UINT64_C(4) << 30)
#define ALLOCATE_MAX \
	((uint64_t)INT64_MAX / LAYOUT_ALIGN * LAYOUT_ALIGN) /* what an off_t can say, in whole pages */

struct sink {
	struct sink_config config; /* constant */
	const struct sink_io *io;  /* constant */
	int fd;                    /* -1 = no file */
	/* where the files lie, and the others: the target's own, or ours below it; -1 = no such file begun yet */
	int directory_fds[2];
	char name[LAYOUT_NAME_LEN]; /* final name of the file begun last */
	uint64_t number;
	uint64_t base;
	uint64_t size;          /* true bytes of data in the file, all of them written */
	char *head;             /* memory for what is in front of them; NULL = there is nothing */
	size_t head_bytes;      /* of the file begun last */
	uint64_t origin;        /* where that begins, see sink_io */
	uint64_t stream_offset; /* where it begins */
	_Atomic uint64_t allocated; /* preallocated up to here, head included */
	_Atomic bool is_stepwise;   /* the open file is preallocated step by step, not as a whole */
	bool is_part;               /* the open file is still named .part */
	bool is_entry_durable; /* a sync of the open file succeeded: its directory entry is on the disk */
	uint32_t align_bytes; /* of the open file: of offsets and lengths of direct writes */
	bool is_direct;       /* of the open file */
	bool can_direct;      /* of this target, as far as we know */
	bool can_allocate;
	bool keeps_promises; /* constant: the file system is known not to wait when it is told so */
	_Atomic int sync_error; /* the first sync that failed: kept, because the kernel tells it once */
	char note[SINK_ERROR_LEN];
	char sync_text[SINK_ERROR_LEN]; /* its sentence, whole before sync_error is set; whoever syncs writes */
	char error[SINK_ERROR_LEN]; /* of anything else; who has the file in hand writes */
};

/* ---- errors ---- */

static int write_sentence(char *text, int code, const char *format, va_list ap)
{
	size_t used;

	vsnprintf(text, SINK_ERROR_LEN, format, ap);
	used = strlen(text);
	snprintf(text + used, SINK_ERROR_LEN - used, ": %s", strerror(code));
	return -code;
}

static int fail(struct sink *sink, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct sink *sink, int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	write_sentence(sink->error, code, format, ap);
	va_end(ap);
	return -code;
}

static int fail_sync(struct sink *sink, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The first one is kept: what was written before it is not safe, and never will be. */
static int fail_sync(struct sink *sink, int code, const char *format, ...)
{
	int kept = atomic_load_explicit(&sink->sync_error, memory_order_relaxed); /* our own */
	va_list ap;

	if (kept < 0)
		return kept;
	va_start(ap, format);
	write_sentence(sink->sync_text, code, format, ap);
	va_end(ap);
	/* release: the sentence is whole before sink_error() takes it */
	atomic_store_explicit(&sink->sync_error, -code, memory_order_release);
	return -code;
}

/* ---- open and close ---- */

/*
 * io_uring asks the file system not to wait, and hands what would have to over to threads of the
 * kernel. FUSE, and others that the kernel only passes on to, say yes and wait.
 */
bool sink_keeps_promises(const struct target *target)
{
	static const char *const names[] = { "ext4", "xfs", "btrfs", "f2fs" };

	if (target->kind == TARGET_DEVICE)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(target->fs, names[i]) == 0)
			return true;
	return false;
}

int sink_open(struct sink **out, const struct sink_config *config)
{
	struct sink *sink = calloc(1, sizeof(*sink));

	*out = sink;
	if (!sink)
		return -ENOMEM;
	sink->config = *config;
	sink->io = config->io ? config->io : &sink_system_io;
	sink->fd = sink->directory_fds[0] = sink->directory_fds[1] = -1;
	sink->can_direct = config->use_direct;
	sink->can_allocate = true;
	sink->keeps_promises = sink_keeps_promises(config->target);
	if (!config->head)
		return 0;
	sink->head = aligned_alloc(LAYOUT_ALIGN, config->head->bytes);
	return sink->head ? 0 : -ENOMEM;
}

void sink_close(struct sink *sink)
{
	if (!sink)
		return;
	sink_leave_file(sink);
	for (int i = 0; i < 2; i++)
		if (sink->directory_fds[i] >= 0 && sink->directory_fds[i] != sink->config.target->dir_fd)
			close(sink->directory_fds[i]);
	free(sink->head);
	free(sink);
}

bool sink_has_files(const struct sink *sink)
{
	return target_has_files(sink->config.target);
}

bool sink_is_file_open(const struct sink *sink)
{
	return sink->fd >= 0;
}

uint64_t sink_file_number(const struct sink *sink)
{
	return sink->number;
}

uint64_t sink_file_base(const struct sink *sink)
{
	return sink->base;
}

uint64_t sink_file_bytes(const struct sink *sink)
{
	return sink->size;
}

size_t sink_head_bytes(const struct sink *sink)
{
	return sink->head_bytes;
}

void sink_set_start(struct sink *sink, uint64_t stream_offset)
{
	sink->stream_offset = stream_offset;
}

/* The name the open file has now. */
static const char *present_name(const struct sink *sink, char *buf)
{
	snprintf(buf, LAYOUT_NAME_LEN + 8, "%s%s", sink->name, sink->is_part ? ".part" : "");
	return buf;
}

static void close_file(struct sink *sink)
{
	if (sink->fd >= 0)
		close(sink->fd);
	sink->fd = -1;
	sink->is_entry_durable = false;
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* As far as the file may be preallocated. Whole pages, because the last write may be padded. */
static uint64_t expected_end(const struct sink *sink)
{
	uint64_t file_bytes = sink->config.file_bytes;

	if (file_bytes == 0)
		return ALLOCATE_MAX;
	if (file_bytes <= sink->base)
		return 0;
	file_bytes -= sink->base;
	return file_bytes < ALLOCATE_MAX - sink->head_bytes ?
		       round_up(sink->head_bytes + file_bytes, LAYOUT_ALIGN) :
		       ALLOCATE_MAX;
}

/*
 * Sets the size and gets the space in one go. Return: 0, also when the file system can't do that
 * at all; -errno.
 */
static int preallocate(struct sink *sink, uint64_t end)
{
	int code;

	if (!sink->can_allocate || end <= sink->allocated)
		return 0;
	if (sink->io->allocate(sink->io, sink->fd, (off_t)sink->allocated,
			       (off_t)(end - sink->allocated)) == 0) {
		sink->allocated = end;
		return 0;
	}
	code = errno;
	if (code == EINTR)
		return -code;
	if (code != ENOSPC && code != EDQUOT && code != EFBIG) {
		sink->can_allocate = false; /* exfat, jfs, some FUSE */
		return 0;
	}
	/*
	 * ext4 keeps what it got before the space ran out. If it can't be given back, the end of
	 * the file does it.
	 */
	sink->io->cut(sink->io, sink->fd, (off_t)sink->allocated);
	return -code;
}

/* Up to the end of the step of this size that @needed lies in, but not behind the file's own end. */
static int preallocate_to(struct sink *sink, uint64_t needed, uint64_t step)
{
	uint64_t end = round_up(needed, step), last = expected_end(sink);

	return preallocate(sink, end < last ? end : last);
}

/*
 * ext4 waits for all direct writes in flight before it gives space: the longer the file has become, the
 * larger the step. No space for the step is no error here: the write that really has no room will say so.
 */
static void preallocate_step(struct sink *sink, uint64_t needed)
{
	uint64_t step = sink->allocated < GROW_BYTES     ? GROW_BYTES :
			sink->allocated < GROW_MAX_BYTES ? sink->allocated / GROW_BYTES * GROW_BYTES :
							   GROW_MAX_BYTES;
	int ret = preallocate_to(sink, needed, step);

	if (ret < 0 && ret != -EINTR && step > GROW_BYTES)
		ret = preallocate_to(sink, needed, GROW_BYTES);
	if ((ret < 0 && ret != -EINTR) || !sink->can_allocate)
		sink->is_stepwise = false; /* don't ask again for this file */
}

/* From now on, for this target: why is said once. */
static void give_up_direct(struct sink *sink, const char *why)
{
	sink->can_direct = false;
	if (!sink->note[0])
		snprintf(sink->note, sizeof(sink->note), "%.500s: %s; buffered writes instead",
			 sink->config.target->path, why);
}

static int open_new(struct sink *sink, const char *name)
{
	int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
	int dir = sink->config.target->dir_fd, fd;

	if (sink->can_direct) {
		fd = sink->io->open(sink->io, dir, name, flags | O_DIRECT);
		if (fd >= 0 || errno != EINVAL)
			return fd;
		sink->io->remove(sink->io, dir, name); /* some kernels create it before they refuse O_DIRECT */
		give_up_direct(sink, "the file system refuses direct I/O");
	}
	return sink->io->open(sink->io, dir, name, flags);
}

/* That of the file begun last. */
static int *directory_fd(struct sink *sink)
{
	return &sink->directory_fds[(sink->number & LAYOUT_OTHER) != 0];
}

/*
 * The directory of the files, which may lie one below the target; made after sink_open(), so
 * opened with the first file. It stays open: a sync must not fail because the process is out of
 * descriptors.
 */
static int open_directory(struct sink *sink)
{
	char parent[LAYOUT_NAME_LEN], *slash;
	int *fd = directory_fd(sink);

	if (*fd >= 0)
		return 0;
	snprintf(parent, sizeof(parent), "%s", sink->name);
	slash = strrchr(parent, '/');
	if (!slash) {
		*fd = sink->config.target->dir_fd;
		return 0;
	}
	*slash = '\0';
	*fd = openat(sink->config.target->dir_fd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return fail(sink, errno, "can't open %s/%s", sink->config.target->path, parent);
	return 0;
}

/* The rest of the open file is buffered. */
static void stop_direct(struct sink *sink)
{
	int flags = fcntl(sink->fd, F_GETFL);

	if (flags >= 0)
		fcntl(sink->fd, F_SETFL, flags & ~O_DIRECT);
	sink->is_direct = false;
}

/* What the ring's memory and blocks are good for is LAYOUT_ALIGN. */
static void learn_alignment(struct sink *sink)
{
	struct sink_alignment alignment;
	char why[128];

	sink->align_bytes = LAYOUT_ALIGN;
	if (!sink->is_direct || sink->io->align(sink->io, sink->fd, &alignment) < 0)
		return; /* the first write that is refused will tell */
	if (alignment.offset_bytes > 0 && LAYOUT_ALIGN % alignment.offset_bytes == 0 &&
	    alignment.memory_bytes <= LAYOUT_ALIGN) {
		sink->align_bytes = alignment.offset_bytes;
		return;
	}
	if (alignment.offset_bytes == 0)
		snprintf(why, sizeof(why), "the file system says that it has no direct I/O");
	else
		snprintf(why, sizeof(why),
			 "direct I/O wants multiples of %" PRIu32 " bytes in the file and %" PRIu32
			 " in memory, there are %d",
			 alignment.offset_bytes, alignment.memory_bytes, (int)LAYOUT_ALIGN);
	stop_direct(sink);
	give_up_direct(sink, why);
}

/* ---- the head ---- */

static size_t head_bytes_of(const struct sink *sink, uint64_t number, uint64_t base)
{
	return sink->head && base == 0 && !(number & LAYOUT_PARITY) ? sink->config.head->bytes : 0;
}

/* @data_bytes: 0 = not known yet. Return: 0 or -errno. */
static int write_head(struct sink *sink, uint64_t data_bytes)
{
	const struct sink_head *head = sink->config.head;
	struct sink_piece piece = {
		.data = sink->head,
		.bytes = sink->head_bytes,
		.offset = sink->origin,
		.is_direct = sink->is_direct,
	};
	int ret = piece.bytes > 0;

	if (ret)
		head->make(head,
			   &(struct sink_file){ .name = sink->name,
						.number = sink->number & ~LAYOUT_OTHER,
						.stream_offset = sink->stream_offset,
						.bytes = data_bytes },
			   sink->head);
	while (ret > 0) {
		ssize_t n = sink->io->write(sink->io, sink->fd, piece.data, piece.bytes,
					    (off_t)piece.offset);

		ret = sink_continue(sink, &piece, n < 0 ? -errno : n);
	}
	return ret;
}

/* Only a size is missing in the one that is there already: no reason to call the data lost. */
static void complete_head(struct sink *sink)
{
	if (write_head(sink, sink->size) < 0 && !sink->note[0])
		snprintf(sink->note, sizeof(sink->note), "the header has no file size: %.900s",
			 sink->error);
}

/* Whoever has no room for the head has none for the data. */
static int begin_head(struct sink *sink, const char *name)
{
	int ret = write_head(sink, 0);

	if (ret < 0) {
		close_file(sink);
		sink->io->remove(sink->io, sink->config.target->dir_fd, name);
	}
	return ret;
}

int sink_begin_file(struct sink *sink, uint64_t number, uint64_t base)
{
	char name[LAYOUT_NAME_LEN + 8];
	int fd, ret;

	assert(sink->fd < 0);
	sink->number = number;
	sink->base = base;
	sink->head_bytes = head_bytes_of(sink, number, base);
	sink->size = 0;
	sink->allocated = 0;
	if (!sink_has_files(sink)) {
		snprintf(sink->name, sizeof(sink->name), "%s", sink_io_name(sink));
		return 0;
	}
	layout_file_name(sink->name,
			 number & LAYOUT_OTHER ? sink->config.other_template : sink->config.name_template,
			 number, base);
	sink->is_part = sink->config.is_part_first;
	ret = open_directory(sink);
	if (ret < 0)
		return ret;
	fd = open_new(sink, present_name(sink, name));
	if (fd < 0)
		return fail(sink, errno, "can't create %s/%s", sink->config.target->path, name);
	sink->is_direct = sink->can_direct;
	sink->fd = fd;
	sink->origin = sink->io->origin ? sink->io->origin(sink->io, fd) : 0;
	learn_alignment(sink);
	ret = begin_head(sink, name); /* first: a file that has a size has a head */
	if (ret < 0)
		return ret;
	/* one endless file, or no space for all of it: in steps */
	sink->is_stepwise = sink->config.file_bytes == 0 || preallocate(sink, expected_end(sink)) < 0;
	return 0;
}

int sink_prepare(struct sink *sink, void *data, size_t bytes, size_t room, uint64_t offset,
		 bool is_alone, struct sink_piece *piece)
{
	size_t padded = round_up(bytes, sink->align_bytes);

	assert(sink->fd >= 0);
	if (sink->is_direct && (offset % sink->align_bytes || padded > room)) {
		/* behind a short piece in mid-file, whose padding lies where this one begins */
		if (!is_alone)
			return -EAGAIN;
		stop_direct(sink);
	}
	piece->data = data;
	piece->bytes = sink->is_direct ? padded : bytes;
	piece->offset = sink->origin + sink->head_bytes + offset;
	piece->is_direct = sink->is_direct;
	return 0;
}

int sink_continue(struct sink *sink, struct sink_piece *piece, ssize_t result)
{
	if (result > 0) {
		piece->data += result;
		piece->bytes -= (size_t)result < piece->bytes ? (size_t)result : piece->bytes;
		piece->offset += (uint64_t)result;
		piece->is_direct = sink->is_direct;
		return piece->bytes > 0;
	}
	if (result == -EINTR || result == -EAGAIN) {
		piece->is_direct = sink->is_direct;
		return 1;
	}
	if (result == -EINVAL && piece->is_direct) { /* several may be in flight, and all are told so */
		/* accepted at open, refused at transfer; or the rest of a short write is no longer aligned */
		stop_direct(sink);
		piece->is_direct = false;
		give_up_direct(sink, "direct writes are refused (EINVAL)");
		return 1;
	}
	return fail(sink, result < 0 ? (int)-result : ENOSPC, "writing %s/%s at offset %" PRIu64,
		    sink->config.target->path, sink->name, piece->offset);
}

void sink_written(struct sink *sink, size_t bytes)
{
	sink->size += bytes;
}

bool sink_wants_room(const struct sink *sink, uint64_t end)
{
	end += sink->head_bytes;
	/* relaxed: the hand is through, or a step is asked for too often */
	return atomic_load_explicit(&sink->is_stepwise, memory_order_relaxed) &&
	       end > atomic_load_explicit(&sink->allocated, memory_order_relaxed) &&
	       atomic_load_explicit(&sink->allocated, memory_order_relaxed) < expected_end(sink);
}

void sink_make_room(struct sink *sink, uint64_t end)
{
	if (sink_wants_room(sink, end))
		preallocate_step(sink, sink->head_bytes + end);
}

uint64_t sink_allocated_bytes(const struct sink *sink)
{
	/* relaxed: whose job it was is through, or it is not asked for */
	return atomic_load_explicit(&sink->allocated, memory_order_relaxed);
}

uint64_t sink_step_bytes(const struct sink *sink)
{
	uint64_t file_bytes = sink->config.file_bytes;
	size_t head_bytes = head_bytes_of(sink, 0, 0);

	if (file_bytes == 0)
		return GROW_MAX_BYTES;
	return file_bytes < ALLOCATE_MAX - head_bytes ?
		       round_up(head_bytes + file_bytes, LAYOUT_ALIGN) :
		       ALLOCATE_MAX;
}

bool sink_is_buffered(const struct sink *sink)
{
	return sink->fd >= 0 && !sink->is_direct;
}

/* What it waits for is told here and to no sync behind it: an error of the disk is a sync that failed. */
void sink_write_back(struct sink *sink, uint64_t from, uint64_t end)
{
	from += sink->origin + sink->head_bytes;
	end += sink->origin + sink->head_bytes;
	if (sync_file_range(sink->fd, (off_t)from, (off_t)(end - from),
			    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				    SYNC_FILE_RANGE_WAIT_AFTER) < 0 &&
	    (errno == EIO || errno == ENOSPC || errno == EDQUOT))
		fail_sync(sink, errno, "%s/%s is not safely on disk: writing back",
			  sink->config.target->path, sink->name);
	posix_fadvise(sink->fd, (off_t)from, (off_t)(end - from), POSIX_FADV_DONTNEED);
}

ssize_t sink_write_stream(const void *data, size_t bytes)
{
	for (;;) {
		struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };
		ssize_t n = write(STDOUT_FILENO, data, bytes);

		if (n >= 0)
			return n;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (errno == EAGAIN)
			poll(&p, 1, 1000);
	}
}

bool sink_may_block(const struct sink *sink)
{
	return !sink->keeps_promises || !sink->is_direct;
}

int sink_fd(const struct sink *sink)
{
	return sink->fd;
}

static int sync_data(struct sink *sink)
{
	while (sink->io->sync(sink->io, sink->fd) < 0)
		if (errno != EINTR)
			return fail_sync(sink, errno, "%s/%s is not safely on disk: fdatasync",
					 sink->config.target->path, sink->name);
	return 0;
}

static int sync_directory(struct sink *sink)
{
	if (sink->io->sync_directory(sink->io, *directory_fd(sink)) < 0)
		return fail_sync(sink, errno, "the directory of %s/%s is not safely on disk",
				 sink->config.target->path, sink->name);
	return 0;
}

static int sync_open_file(struct sink *sink)
{
	int ret;

	if (sink->fd < 0)
		return 0;
	ret = sync_data(sink);
	if (ret < 0 || sink->is_entry_durable)
		return ret;
	ret = sync_directory(sink);
	sink->is_entry_durable = ret == 0;
	return ret;
}

int sink_sync(struct sink *sink)
{
	/* relaxed: our own; a sync that failed is not tried again, to be told that all is well */
	int kept = atomic_load_explicit(&sink->sync_error, memory_order_relaxed);

	return kept < 0 ? kept : sync_open_file(sink);
}

/*
 * The true size, and all of it on the disk. The size is set whatever became of earlier syncs: that
 * promises nothing, and nobody wants the zeros behind the end.
 */
static int seal(struct sink *sink)
{
	int ret = atomic_load_explicit(&sink->sync_error, memory_order_relaxed); /* our own */

	if (sink->io->cut(sink->io, sink->fd, (off_t)(sink->head_bytes + sink->size)) < 0 && ret == 0)
		ret = fail_sync(sink, errno, "can't cut %s/%s to its %" PRIu64 " bytes",
				sink->config.target->path, sink->name, sink->head_bytes + sink->size);
	if (ret < 0)
		return ret;
	complete_head(sink);
	/* the directory is synced when it has the final name */
	return sink->is_part ? sync_data(sink) : sync_open_file(sink);
}

static int give_name(struct sink *sink)
{
	char name[LAYOUT_NAME_LEN + 8];

	if (sink->io->rename(sink->io, sink->config.target->dir_fd, present_name(sink, name),
			     sink->name) < 0)
		return fail_sync(sink, errno, "can't rename %s/%s to its final name",
				 sink->config.target->path, name);
	sink->is_part = false;
	return sync_directory(sink);
}

int sink_finish_file(struct sink *sink)
{
	int ret;

	if (!sink_has_files(sink))
		return 0;
	if (sink->fd < 0)
		return atomic_load_explicit(&sink->sync_error,
					    memory_order_relaxed); /* the caller has the sentence already */
	ret = seal(sink);
	if (ret == 0 && sink->is_part)
		ret = give_name(sink);
	if (ret == 0)
		close_file(sink);
	return ret;
}

int sink_cut_file(struct sink *sink, uint64_t bytes)
{
	if (!sink_has_files(sink) || sink->fd < 0)
		return 0;
	if (sink->io->cut(sink->io, sink->fd, (off_t)(sink->head_bytes + bytes)) < 0)
		return fail(sink, errno, "can't cut %s/%s to %" PRIu64 " bytes",
			    sink->config.target->path, sink->name, sink->head_bytes + bytes);
	sink->size = bytes;
	sink->allocated = sink->head_bytes + bytes;
	return 0;
}

void sink_abandon_file(struct sink *sink)
{
	char name[LAYOUT_NAME_LEN + 8];

	if (!sink_has_files(sink) || sink->fd < 0)
		return;
	close_file(sink);
	sink->io->remove(sink->io, sink->config.target->dir_fd, present_name(sink, name));
}

void sink_take_back_file(struct sink *sink, uint64_t bytes)
{
	char name[LAYOUT_NAME_LEN + 8];
	int dir = sink->config.target->dir_fd, fd;

	if (!sink_has_files(sink) || sink->fd >= 0)
		return;
	if (bytes == 0) {
		sink->io->remove(sink->io, dir, present_name(sink, name));
		return;
	}
	fd = sink->io->open(sink->io, dir, present_name(sink, name), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	sink->io->cut(sink->io, fd, (off_t)(sink->head_bytes + bytes));
	close(fd);
}

void sink_leave_file(struct sink *sink)
{
	if (sink->fd >= 0) /* what is preallocated, padded or half written behind its end */
		sink->io->cut(sink->io, sink->fd, (off_t)(sink->head_bytes + sink->size));
	close_file(sink);
}

const char *sink_io_name(const struct sink *sink)
{
	switch (sink->config.target->kind) {
	case TARGET_DIRECTORY:
	case TARGET_DEVICE:
		return sink->can_direct ? "direct" : "buffered";
	case TARGET_STDOUT:
		return "stream";
	default:
		return "none";
	}
}

const char *sink_note(const struct sink *sink)
{
	return sink->note;
}

const char *sink_error(const struct sink *sink)
{
	/* acquire: pairs with fail_sync() */
	if (atomic_load_explicit(&sink->sync_error, memory_order_acquire) < 0)
		return sink->sync_text;
	return sink->error;
}
