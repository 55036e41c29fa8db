/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/engine.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/sink.h"

#define PIECE_MAX (UINT64_C(1) << 30) /* the kernel registers no more in one piece */
#define NOTE_LEN 256
/* writes or reads in flight on a disk, unless it is said: enough for a fast one, not too long a queue for a slow one */
#define DEPTH_BYTES (UINT64_C(16) << 20)
#define DEPTH_LEAST 2
#define DEPTH_MOST 32

/* Since Linux 6.12; older headers don't have it. */
#define REGISTER_CLONE_BUFFERS 30
struct clone_buffers {
	uint32_t source_fd, flags, source_offset, offset, count, pad[3];
};

/* Threads that do what may block, in the order it was given. */
struct crew {
	struct engine *engine;
	pthread_mutex_t lock; /* guards what follows; held for list work only */
	pthread_cond_t news;
	struct engine_op *first, **last;
	bool is_closing;
	unsigned thread_count; /* whoever opens and closes */
	pthread_t threads[ENGINE_DEPTH_MAX];
};

struct engine {
	struct engine_config config;      /* constant */
	char note[NOTE_LEN];              /* constant */
	const char *name;                 /* constant */
	int bell_fd;                      /* the bell's, where io_uring waits for it; -1 */
	bool has_uring;                   /* constant */
	bool has_slots;                   /* constant */
	bool has_slot[ENGINE_SLOTS];      /* user: what is registered there is the file */
	bool has_memory;                  /* constant: registered */
	size_t piece_bytes;               /* constant: of the registered memory */
	struct io_uring uring;            /* user */
	bool is_bell_watched;             /* user: a poll on bell_fd is under way */
	unsigned transfer_count;          /* user: writes and reads in flight */
	unsigned call_count;              /* user */
	struct engine_op *returned;       /* user: taken from done, oldest first */
	_Atomic(struct engine_op *) done; /* crews push, the user takes all: newest first */
	struct crew hand, movers;
};

/* ---- crews ---- */

/* Release: what the operation did is seen by who takes it. */
static void push_done(struct engine *engine, struct engine_op *op)
{
	struct engine_op *top = atomic_load_explicit(&engine->done, memory_order_relaxed);

	do
		op->next = top;
	while (!atomic_compare_exchange_weak_explicit(&engine->done, &top, op, memory_order_release,
						      memory_order_relaxed));
	bell_ring(engine->config.bell);
}

static void do_transfer(const struct sink_io *io, struct engine_op *op)
{
	ssize_t n = op->is_read ? pread(op->fd, op->room, op->bytes, op->offset) :
				  io->write(io, op->fd, op->data, op->bytes, op->offset);

	op->result = n < 0 ? -errno : n;
}

static struct engine_op *take_work(struct crew *crew)
{
	struct engine_op *op;

	pthread_mutex_lock(&crew->lock);
	while (!crew->first && !crew->is_closing)
		pthread_cond_wait(&crew->news, &crew->lock);
	op = crew->first;
	if (op) {
		crew->first = op->next;
		if (!crew->first)
			crew->last = &crew->first;
	}
	pthread_mutex_unlock(&crew->lock);
	return op;
}

static const char *thread_name(const struct engine *engine)
{
	return engine->config.is_for_reading ? "pread" : "pwrite";
}

static void *crew_main(void *arg)
{
	struct crew *crew = arg;
	struct engine *engine = crew->engine;
	struct engine_op *op;
	char name[16];

	snprintf(name, sizeof(name), "%s%u", crew == &engine->hand ? "hand" : thread_name(engine),
		 engine->config.number);
	pthread_setname_np(pthread_self(), name);
	while ((op = take_work(crew)) != NULL) {
		if (op->run)
			op->run(op);
		else
			do_transfer(engine->config.io, op);
		op->ended_ns = units_monotonic_ns();
		push_done(engine, op);
	}
	return NULL;
}

static void crew_add(struct crew *crew, struct engine_op *op)
{
	op->next = NULL;
	pthread_mutex_lock(&crew->lock);
	*crew->last = op;
	crew->last = &op->next;
	pthread_cond_signal(&crew->news);
	pthread_mutex_unlock(&crew->lock);
}

static int crew_start(struct crew *crew, struct engine *engine, unsigned thread_count)
{
	int ret;

	crew->engine = engine;
	crew->last = &crew->first;
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->news, NULL);
	while (crew->thread_count < thread_count) {
		ret = pthread_create(&crew->threads[crew->thread_count], NULL, crew_main, crew);
		if (ret != 0)
			return -ret;
		crew->thread_count++;
	}
	return 0;
}

static void crew_stop(struct crew *crew)
{
	if (!crew->engine)
		return;
	pthread_mutex_lock(&crew->lock);
	crew->is_closing = true;
	pthread_cond_broadcast(&crew->news);
	pthread_mutex_unlock(&crew->lock);
	while (crew->thread_count > 0)
		pthread_join(crew->threads[--crew->thread_count], NULL);
	pthread_cond_destroy(&crew->news);
	pthread_mutex_destroy(&crew->lock);
	crew->engine = NULL;
}

/* ---- io_uring ---- */

static void say(struct engine *engine, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct engine *engine, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(engine->note, sizeof(engine->note), format, ap);
	va_end(ap);
}

static int queue_init(struct engine *engine)
{
	/* two more than transfers: the bell, and one to spare */
	unsigned entries = engine->config.depth + 2;
	/* completions are looked at when we wait for them, and interrupt nobody: Linux 6.1 */
	unsigned flags = IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
	int ret = io_uring_queue_init(entries, &engine->uring, flags);

	if (ret == -EINVAL)
		ret = io_uring_queue_init(entries, &engine->uring, IORING_SETUP_R_DISABLED);
	return ret;
}

/* What another disk's engine has registered is the same memory: the kernel can share it. */
static int share_memory(struct engine *engine)
{
	const struct engine *other = engine->config.other;
	struct clone_buffers clone = { .source_fd = 0 };

	if (!other || !other->has_memory)
		return -ENOENT;
	clone.source_fd = (uint32_t)other->uring.ring_fd;
	engine->piece_bytes = other->piece_bytes;
	if (syscall(SYS_io_uring_register, engine->uring.ring_fd, REGISTER_CLONE_BUFFERS, &clone, 1) < 0)
		return -errno;
	return 0;
}

static int register_memory(struct engine *engine)
{
	const struct engine_config *config = &engine->config;
	struct iovec *pieces;
	size_t count;
	int ret;

	if (!config->memory || config->block_bytes > PIECE_MAX)
		return -ENOENT;
	engine->piece_bytes = PIECE_MAX / config->block_bytes * config->block_bytes;
	count = (config->memory_bytes + engine->piece_bytes - 1) / engine->piece_bytes;
	pieces = calloc(count, sizeof(pieces[0]));
	if (!pieces)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		size_t left = config->memory_bytes - i * engine->piece_bytes;

		pieces[i].iov_base = (char *)config->memory + i * engine->piece_bytes;
		pieces[i].iov_len = left < engine->piece_bytes ? left : engine->piece_bytes;
	}
	ret = io_uring_register_buffers(&engine->uring, pieces, (unsigned)count);
	free(pieces);
	return ret;
}

static int open_uring(struct engine *engine)
{
	int ret = queue_init(engine);

	if (ret < 0)
		return ret;
	engine->has_uring = true;
	engine->has_slots = io_uring_register_files_sparse(&engine->uring, ENGINE_SLOTS) == 0;
	ret = share_memory(engine);
	if (ret < 0)
		ret = register_memory(engine);
	engine->has_memory = ret == 0;
	if (ret < 0 && ret != -ENOENT)
		say(engine,
		    "the ring's memory can't be registered with io_uring (%s): each %s costs a little more",
		    strerror(-ret), engine->config.is_for_reading ? "read" : "write");
	engine->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (engine->bell_fd < 0)
		return -errno;
	bell_use_fd(engine->config.bell, engine->bell_fd);
	return 0;
}

static struct io_uring_sqe *get_entry(struct engine *engine)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&engine->uring);

	if (!sqe) { /* what was noted is on its way now, and its entries free */
		io_uring_submit(&engine->uring);
		sqe = io_uring_get_sqe(&engine->uring);
	}
	assert(sqe);
	return sqe;
}

static void move_by_uring(struct engine *engine, struct engine_op *op)
{
	struct io_uring_sqe *sqe = get_entry(engine);
	const char *memory = engine->config.memory;
	unsigned bytes = op->bytes < (1U << 30) ? (unsigned)op->bytes : 1U << 30;
	bool is_registered = engine->has_slot[op->slot];
	int fd = is_registered ? op->slot : op->fd;
	unsigned flags = (is_registered ? IOSQE_FIXED_FILE : 0) | (op->may_block ? IOSQE_ASYNC : 0);

	int piece = engine->has_memory ?
			    (int)((size_t)((const char *)op->data - memory) / engine->piece_bytes) :
			    0;

	if (op->is_read && engine->has_memory)
		io_uring_prep_read_fixed(sqe, fd, op->room, bytes, (uint64_t)op->offset, piece);
	else if (op->is_read)
		io_uring_prep_read(sqe, fd, op->room, bytes, (uint64_t)op->offset);
	else if (engine->has_memory)
		io_uring_prep_write_fixed(sqe, fd, op->data, bytes, (uint64_t)op->offset, piece);
	else
		io_uring_prep_write(sqe, fd, op->data, bytes, (uint64_t)op->offset);
	io_uring_sqe_set_flags(sqe, flags);
	io_uring_sqe_set_data(sqe, op);
}

static void watch_bell(struct engine *engine)
{
	struct io_uring_sqe *sqe;

	if (engine->is_bell_watched)
		return;
	sqe = get_entry(engine);
	io_uring_prep_poll_add(sqe, engine->bell_fd, POLLIN);
	io_uring_sqe_set_data(sqe, NULL);
	engine->is_bell_watched = true;
}

static struct engine_op *next_of_uring(struct engine *engine)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&engine->uring, &cqe) == 0) {
		struct engine_op *op = io_uring_cqe_get_data(cqe);
		int result = cqe->res;

		io_uring_cqe_seen(&engine->uring, cqe);
		if (!op) { /* the bell */
			engine->is_bell_watched = false;
			bell_hush(engine->config.bell);
			continue;
		}
		op->result = result;
		op->ended_ns = units_monotonic_ns();
		return op;
	}
	return NULL;
}

/* ---- open and close ---- */

unsigned engine_usual_depth(uint64_t block_bytes)
{
	uint64_t fit = DEPTH_BYTES / block_bytes;

	return fit < DEPTH_LEAST ? DEPTH_LEAST : fit > DEPTH_MOST ? DEPTH_MOST : (unsigned)fit;
}

static void end_all(struct engine *engine)
{
	crew_stop(&engine->hand);
	crew_stop(&engine->movers);
	if (engine->has_uring)
		io_uring_queue_exit(&engine->uring);
	engine->has_uring = false;
}

static void release(struct engine *engine)
{
	end_all(engine);
	if (engine->bell_fd >= 0) {
		bell_use_fd(engine->config.bell, -1);
		close(engine->bell_fd);
	}
	free(engine);
}

int engine_open(struct engine **out, const struct engine_config *config)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	/* the kernel writes for it: what else the table does is not asked here */
	bool may_use_uring = config->kind != ENGINE_PWRITE && config->io->write == sink_system_io.write;
	int ret = 0;

	*out = NULL;
	if (!engine)
		return -ENOMEM;
	assert(config->depth >= 1 && config->depth <= ENGINE_DEPTH_MAX);
	engine->config = *config;
	engine->bell_fd = -1;
	if (may_use_uring)
		ret = open_uring(engine);
	if (ret < 0 && config->kind == ENGINE_AUTO && !engine->has_uring) {
		say(engine, "io_uring is refused (%s): %s are done by threads with %s()",
		    strerror(-ret), config->is_for_reading ? "reads" : "writes", thread_name(engine));
		ret = 0;
	}
	if (ret == 0)
		ret = crew_start(&engine->hand, engine, 1);
	if (ret == 0 && !engine->has_uring)
		ret = crew_start(&engine->movers, engine, config->depth);
	if (ret < 0) {
		release(engine);
		return ret;
	}
	engine->name = engine->has_uring ? "io_uring" : thread_name(engine);
	*out = engine;
	return 0;
}

int engine_stop(struct engine *engine)
{
	if (!engine)
		return 0;
	while (engine_next(engine))
		;
	if (engine->transfer_count > 0 || engine->call_count > 0)
		return -EBUSY;
	end_all(engine);
	return 0;
}

int engine_close(struct engine *engine)
{
	int ret = engine_stop(engine);

	if (ret == 0 && engine)
		release(engine);
	return ret;
}

const char *engine_name(const struct engine *engine)
{
	return engine->name;
}

const char *engine_note(const struct engine *engine)
{
	return engine->note;
}

/* ---- use ---- */

int engine_start(struct engine *engine)
{
	/* not io_uring_enable_rings(): liburing 2.3 declares it and does not export it */
	if (engine->has_uring && syscall(SYS_io_uring_register, engine->uring.ring_fd,
					 IORING_REGISTER_ENABLE_RINGS, NULL, 0) < 0)
		return -errno;
	return 0;
}

void engine_set_file(struct engine *engine, int slot, int fd)
{
	/* where it can't be registered it is written to all the same */
	if (engine->has_slots)
		engine->has_slot[slot] =
			io_uring_register_files_update(&engine->uring, (unsigned)slot, &fd, 1) == 1 &&
			fd >= 0;
}

static void move(struct engine *engine, struct engine_op *op)
{
	assert(engine->transfer_count < engine->config.depth);
	op->run = NULL;
	engine->transfer_count++;
	if (engine->has_uring)
		move_by_uring(engine, op);
	else
		crew_add(&engine->movers, op);
}

void engine_write(struct engine *engine, struct engine_op *op)
{
	op->is_read = false;
	move(engine, op);
}

void engine_read(struct engine *engine, struct engine_op *op)
{
	op->is_read = true;
	move(engine, op);
}

void engine_call(struct engine *engine, struct engine_op *op)
{
	assert(op->run);
	engine->call_count++;
	crew_add(&engine->hand, op);
}

/* Acquire: pairs with push_done(). */
static void take_done(struct engine *engine)
{
	struct engine_op *newest = atomic_exchange_explicit(&engine->done, NULL, memory_order_acquire);

	while (newest) {
		struct engine_op *older = newest->next;

		newest->next = engine->returned;
		engine->returned = newest;
		newest = older;
	}
}

struct engine_op *engine_next(struct engine *engine)
{
	struct engine_op *op = NULL;

	if (engine->has_uring)
		op = next_of_uring(engine);
	if (!op) {
		if (!engine->returned)
			take_done(engine);
		op = engine->returned;
		if (op)
			engine->returned = op->next;
	}
	if (op && op->run)
		engine->call_count--;
	else if (op)
		engine->transfer_count--;
	return op;
}

static void flush(struct engine *engine)
{
	if (engine->has_uring && io_uring_sq_ready(&engine->uring) > 0)
		io_uring_submit(&engine->uring);
}

void engine_wait(struct engine *engine, uint32_t ticket, int64_t deadline_ns)
{
	int64_t left = deadline_ns - units_monotonic_ns();
	struct __kernel_timespec timeout;
	struct io_uring_cqe *cqe;

	if (!engine->has_uring || engine->transfer_count == 0) {
		flush(engine);
		bell_sleep(engine->config.bell, ticket, deadline_ns);
		return;
	}
	watch_bell(engine);
	if (left <= 0 || !bell_announce(engine->config.bell, ticket)) {
		flush(engine);
		return;
	}
	timeout.tv_sec = left / UNITS_NS_PER_S;
	timeout.tv_nsec = left % UNITS_NS_PER_S;
	io_uring_submit_and_wait_timeout(&engine->uring, &cqe, 1, &timeout, NULL);
}
