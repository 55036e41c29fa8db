/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/scratch_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/sim.h"
#include "drivers/units.h"
#include "ringbuf/memory.h"
#include "tools/qualify/errands.h"
#include "tools/qualify/processor_time.h"
#include "tools/qualify/scratch.h"

#define PAGE ((size_t)LAYOUT_ALIGN)
#define SEED 2007

struct flight {
	struct engine_op op; /* the first member */
	int64_t started_ns;
	size_t bytes; /* of the write, of which op has what is left */
	bool is_direct;
};

/* A step, as the hand takes it. */
struct step {
	struct engine_op op; /* the first member */
	struct scratch_writer *writer;
	enum scratch_step kind;
	uint64_t bytes;
	int64_t took_ns;
};

struct scratch_writer {
	struct scratch_writer_config config; /* constant */
	const struct sink_io *io;            /* constant */
	struct errands errands;
	struct memory memory;
	int fd; /* -1 = no file */
	bool can_direct, is_direct, can_allocate;
	uint64_t allocated;
	struct step step;
	struct flight flights[ENGINE_DEPTH_MAX];
	unsigned idle[ENGINE_DEPTH_MAX], idle_count; /* numbers of the flights that are on the ground */
	char error[SCRATCH_ERROR_LEN];
};

/* ---- errors ---- */

static int fail(struct scratch_writer *w, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct scratch_writer *w, int code, const char *format, ...)
{
	char asked[200];
	va_list ap;

	if (code == -ECANCELED)
		return code;
	va_start(ap, format);
	vsnprintf(asked, sizeof(asked), format, ap);
	va_end(ap);
	snprintf(w->error, sizeof(w->error), "%.250s: %s a scratch file: %s", w->config.target->path,
		 asked, code == -ETIMEDOUT ? "the disk has not answered for 30 s" : strerror(-code));
	return code;
}

/* ---- open and close ---- */

static int make_memory(struct scratch_writer *w, char *error)
{
	struct memory_config config = {
		.bytes = w->config.memory_bytes,
		.numa_node = MEMORY_ANY_NODE,
		.use_huge_pages = true,
	};
	int ret = memory_allow(&w->memory, &config);

	if (ret == 0)
		ret = memory_map(&w->memory, &config);
	if (ret < 0)
		snprintf(error, SCRATCH_ERROR_LEN, "no memory for the writes: %.400s", w->memory.error);
	else
		sim_fill(w->memory.base, w->memory.bytes, 0, SEED);
	return ret;
}

int scratch_writer_open(struct scratch_writer **out, const struct scratch_writer_config *config,
			char *error)
{
	struct scratch_writer *w = calloc(1, sizeof(*w));
	int ret = -ENOMEM;

	*out = NULL;
	snprintf(error, SCRATCH_ERROR_LEN, "no memory");
	if (!w)
		return ret;
	assert(config->memory_bytes <= SCRATCH_MEMORY_MAX && config->depth <= ENGINE_DEPTH_MAX);
	w->config = *config;
	w->io = config->io ? config->io : &sink_system_io;
	w->fd = -1;
	w->can_direct = config->use_direct;
	w->can_allocate = true;
	ret = make_memory(w, error);
	if (ret == 0) {
		ret = errands_open(&w->errands,
				   &(struct engine_config){
					   .kind = config->engine,
					   .depth = config->depth,
					   .io = w->io,
					   .memory = w->memory.base,
					   .memory_bytes = w->memory.bytes,
					   .block_bytes = config->block_bytes,
				   },
				   config->teller);
		if (ret < 0)
			snprintf(error, SCRATCH_ERROR_LEN, "%.250s: the writer can't be set up: %s",
				 config->target->path, strerror(-ret));
	}
	if (ret < 0) {
		memory_unmap(&w->memory);
		free(w);
		return ret;
	}
	error[0] = '\0';
	*out = w;
	return 0;
}

void scratch_writer_close(struct scratch_writer *w)
{
	if (!w)
		return;
	if (w->errands.out == 0 && w->fd >= 0)
		scratch_writer_do(w, SCRATCH_CLOSE, 0, NULL);
	if (errands_close(&w->errands) < 0)
		return;
	memory_unmap(&w->memory);
	free(w);
}

/* ---- steps ---- */

/* As the sink decides it: what the file system wants must not be more than our pages are. */
static bool fits_direct(struct scratch_writer *w, int fd)
{
	struct sink_alignment alignment;

	return w->io->align(w->io, fd, &alignment) < 0 ||
	       (alignment.offset_bytes > 0 && PAGE % alignment.offset_bytes == 0 &&
		alignment.memory_bytes <= PAGE);
}

static int create(struct scratch_writer *w)
{
	int dir_fd = w->config.target->dir_fd;
	int fd = w->can_direct ? scratch_open(dir_fd, O_DIRECT) : -EINVAL;

	if (fd >= 0 && !fits_direct(w, fd)) {
		close(fd);
		fd = -EINVAL;
	}
	w->is_direct = fd >= 0;
	if (fd == -EINVAL) {
		w->can_direct = false;
		fd = scratch_open(dir_fd, 0);
	}
	if (fd < 0)
		return fd;
	w->fd = fd;
	w->allocated = 0;
	return 0;
}

static int cut(struct scratch_writer *w, uint64_t bytes)
{
	if (w->io->cut(w->io, w->fd, (off_t)bytes) < 0)
		return -errno;
	if (w->allocated > bytes)
		w->allocated = bytes;
	return 0;
}

static int grow(struct scratch_writer *w, uint64_t bytes)
{
	uint64_t most = scratch_file_most(w->config.target), room;
	int code;

	if (w->config.most_bytes && w->config.most_bytes < most)
		most = w->config.most_bytes;
	if (most <= w->allocated)
		return 0;
	room = scratch_room_bytes(w->config.target, most - w->allocated);
	bytes = (bytes < room ? bytes : room) / PAGE * PAGE;
	if (bytes == 0)
		return 0;
	if (w->can_allocate && w->io->allocate(w->io, w->fd, (off_t)w->allocated, (off_t)bytes) < 0) {
		code = errno;
		if (code == ENOSPC || code == EDQUOT || code == EFBIG) /* ext4 keeps what it got */
			return cut(w, w->allocated);
		if (code == EINTR || code == EIO || code == EROFS)
			return -code;
		w->can_allocate = false;
	}
	w->allocated += bytes;
	return 0;
}

/*
 * fsync, and not fdatasync: it is about what the latter may leave out. Where a file without a name can't be
 * changed (FUSE) it is the sync alone.
 */
static int commit(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (fchmod(fd, (st.st_mode & 07777) ^ S_IRGRP) < 0 && errno == EIO)
		return -errno;
	return fsync(fd) < 0 ? -errno : 0;
}

static int close_file(struct scratch_writer *w)
{
	int fd = w->fd;

	w->fd = -1;
	w->allocated = 0;
	return close(fd) < 0 ? -errno : 0;
}

static int do_step(struct scratch_writer *w, const struct step *step)
{
	switch (step->kind) {
	case SCRATCH_CREATE:
		return create(w);
	case SCRATCH_GROW:
		return grow(w, step->bytes);
	case SCRATCH_CUT:
		return cut(w, step->bytes);
	case SCRATCH_SYNC:
		return w->io->sync(w->io, w->fd) < 0 ? -errno : 0;
	case SCRATCH_COMMIT:
		return commit(w->fd);
	case SCRATCH_CLOSE:
		return close_file(w);
	}
	return -EINVAL;
}

/* Closing a recording's file doesn't give its space back: a second descriptor does, behind the time. */
static void run_step(struct engine_op *op)
{
	struct step *step = (struct step *)op;
	int last_fd = step->kind == SCRATCH_CLOSE ? fcntl(step->writer->fd, F_DUPFD_CLOEXEC, 0) : -1;
	int64_t from_ns = units_monotonic_ns();

	op->result = do_step(step->writer, step);
	step->took_ns = units_monotonic_ns() - from_ns;
	if (last_fd >= 0)
		close(last_fd);
}

int scratch_writer_do(struct scratch_writer *w, enum scratch_step kind, uint64_t bytes, int64_t *took_ns)
{
	static const char *const asked[] = {
		[SCRATCH_CREATE] = "making",
		[SCRATCH_GROW] = "preallocating",
		[SCRATCH_CUT] = "cutting",
		[SCRATCH_SYNC] = "syncing",
		[SCRATCH_COMMIT] = "changing the mode of",
		[SCRATCH_CLOSE] = "closing",
	};
	int ret;

	if (w->errands.out > 0) /* it was given up */
		return -ETIMEDOUT;
	if (kind == SCRATCH_CLOSE)
		engine_set_file(w->errands.engine, 0, -1);
	w->step = (struct step){ .op.run = run_step, .writer = w, .kind = kind, .bytes = bytes };
	ret = errands_run(&w->errands, &w->step.op, kind == SCRATCH_CLOSE);
	if (ret == 0)
		ret = (int)w->step.op.result;
	if (ret < 0)
		return fail(w, ret, "%s", asked[kind]);
	if (took_ns)
		*took_ns = w->step.took_ns;
	if (kind == SCRATCH_CREATE)
		engine_set_file(w->errands.engine, 0, w->fd);
	return 0;
}

uint64_t scratch_writer_allocated_bytes(const struct scratch_writer *w)
{
	return w->allocated;
}

/* ---- writing ---- */

/* One span under way. */
struct writing {
	const struct scratch_span *span;
	struct scratch_tally *tally;
	uint64_t offset; /* of the next write */
	int64_t deadline_ns;
	uint64_t begun_count;
	unsigned in_flight;
	int error; /* the first */
};

/* The first word of each page says where it is. */
static void stamp(char *data, size_t bytes, uint64_t position)
{
	for (size_t at = 0; at < bytes; at += PAGE)
		sim_fill(data + at, sizeof(uint64_t), position + at, SEED);
}

static void begin_write(struct scratch_writer *w, struct writing *writing, int64_t now_ns)
{
	size_t bytes = writing->span->block_bytes;
	unsigned number = w->idle[--w->idle_count];
	struct flight *flight = &w->flights[number];
	char *data = (char *)w->memory.base + number * bytes;

	stamp(data, bytes, writing->offset);
	*flight = (struct flight){
		.op = {
			.slot = 0,
			.fd = w->fd,
			.data = data,
			.bytes = bytes,
			.offset = (off_t)writing->offset,
			.may_block = !w->is_direct || !sink_keeps_promises(w->config.target),
		},
		.started_ns = now_ns,
		.bytes = bytes,
		.is_direct = w->is_direct,
	};
	writing->offset += bytes;
	writing->begun_count++;
	writing->in_flight++;
	errands_write(&w->errands, &flight->op);
}

/* Accepted at open, refused at transfer: as in a recording, the rest goes through the page cache. */
static void stop_direct(struct scratch_writer *w)
{
	int flags = fcntl(w->fd, F_GETFL);

	if (flags >= 0)
		fcntl(w->fd, F_SETFL, flags & ~O_DIRECT);
	w->is_direct = w->can_direct = false;
}

/* Return: true: what is left of it is on its way again. */
static bool goes_on(struct scratch_writer *w, struct flight *flight)
{
	ssize_t result = flight->op.result;
	bool is_refused = result == -EINVAL && flight->is_direct;

	if (is_refused) {
		stop_direct(w);
		flight->is_direct = false;
		flight->op.may_block = true;
	}
	if (is_refused || result == -EINTR || result == -EAGAIN)
		result = 0;
	else if (result <= 0 || (size_t)result >= flight->op.bytes)
		return false;
	flight->op.data = (const char *)flight->op.data + result;
	flight->op.bytes -= (size_t)result;
	flight->op.offset += result;
	errands_write(&w->errands, &flight->op);
	return true;
}

static void count_write(struct scratch_tally *tally, const struct flight *flight)
{
	int64_t took_ns = flight->op.ended_ns - flight->started_ns;

	tally->bytes += flight->bytes;
	tally->count++;
	if (took_ns > tally->worst_ns)
		tally->worst_ns = took_ns;
	if (tally->took_count < tally->took_capacity)
		tally->took_ns[tally->took_count++] = took_ns;
}

static void end_write(struct scratch_writer *w, struct writing *writing, struct flight *flight)
{
	ssize_t result = flight->op.result;

	writing->in_flight--;
	w->idle[w->idle_count++] = (unsigned)(flight - w->flights);
	if (result > 0)
		count_write(writing->tally, flight);
	else if (!writing->error)
		writing->error = fail(w, result < 0 ? (int)result : -EIO,
				      "writing %zu bytes at %" PRIu64 " of", flight->bytes,
				      (uint64_t)flight->op.offset);
}

static bool may_begin(const struct scratch_writer *w, const struct writing *writing, int64_t now_ns)
{
	const struct scratch_span *span = writing->span;

	return !writing->error && writing->in_flight < span->depth &&
	       writing->offset + span->block_bytes <= span->offset + span->bytes &&
	       (now_ns < writing->deadline_ns || writing->begun_count < span->least) &&
	       !teller_is_cancelled(w->config.teller);
}

static int write_all_of(struct scratch_writer *w, struct writing *writing)
{
	struct trial_progress *progress = &w->config.teller->progress;
	int64_t now_ns = units_monotonic_ns();
	struct engine_op *op;
	int ret;

	for (w->idle_count = 0; w->idle_count < writing->span->depth; w->idle_count++)
		w->idle[w->idle_count] = w->idle_count;
	for (;;) {
		while (may_begin(w, writing, now_ns))
			begin_write(w, writing, now_ns);
		if (writing->in_flight == 0)
			return writing->error;
		ret = errands_next(&w->errands, &op);
		if (ret < 0)
			return fail(w, ret, "writing %zu bytes at a time to",
				    writing->span->block_bytes);
		now_ns = op->ended_ns;
		if (!goes_on(w, (struct flight *)op))
			end_write(w, writing, (struct flight *)op);
		if (writing->tally->worst_ns > progress->worst_ns)
			progress->worst_ns = writing->tally->worst_ns;
	}
}

int scratch_writer_write(struct scratch_writer *w, const struct scratch_span *span,
			 struct scratch_tally *tally)
{
	struct writing writing = { .span = span, .tally = tally, .offset = span->offset };
	double cpu_before_s = processor_time_s();
	int64_t from_ns;
	int ret;

	assert(span->depth * span->block_bytes <= w->memory.bytes && span->depth <= w->config.depth);
	if (w->errands.out > 0)
		return -ETIMEDOUT;
	from_ns = units_monotonic_ns();
	writing.deadline_ns = from_ns + span->time_ns;
	ret = write_all_of(w, &writing);
	tally->elapsed_ns += units_monotonic_ns() - from_ns;
	tally->cpu_s += processor_time_s() - cpu_before_s;
	if (ret == 0 && teller_is_cancelled(w->config.teller))
		ret = -ECANCELED;
	return ret;
}

int scratch_writer_fd(const struct scratch_writer *w)
{
	return w->fd;
}

bool scratch_writer_is_direct(const struct scratch_writer *w)
{
	return w->is_direct;
}

const char *scratch_writer_error(const struct scratch_writer *w)
{
	return w->error;
}

static int by_time(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

int64_t scratch_tally_median_ns(struct scratch_tally *tally)
{
	if (tally->took_count == 0)
		return 0;
	qsort(tally->took_ns, tally->took_count, sizeof(tally->took_ns[0]), by_time);
	return tally->took_ns[tally->took_count / 2];
}
