/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/disk_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/sink.h"
#include "tools/read_at.h"

#define SECTOR_BYTES 512 /* the least that direct reads may be aligned to */

struct disk_reader {
	struct disk_reader_config config;
	struct engine *engine;
	struct bell bell;
	pthread_t thread;
	_Atomic bool is_closing;

	/* from the planner to the thread: a ring of pointers; one of each side writes its own position */
	struct disk_share **shares;
	_Atomic uint64_t added, taken;

	/* the thread's */
	struct disk_share *share; /* whose stretches are being begun; NULL = none */
	unsigned in_flight;
	int64_t busy_since_ns;
};

/* ---- figures ------------------------------------------------------------------------------------- */

static void add(_Atomic uint64_t *counter, uint64_t more)
{
	/* one writer: no read-modify-write is needed, and nothing travels with it */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

static void add_time(_Atomic int64_t *time, int64_t more_ns)
{
	atomic_store_explicit(time, atomic_load_explicit(time, memory_order_relaxed) + more_ns,
			      memory_order_relaxed);
}

static void note_read(struct disk_reader *reader, const struct disk_stretch *stretch, int64_t ended_ns)
{
	struct feed_disk *disk = reader->config.disk;
	int64_t took_ns = ended_ns - stretch->began_ns;

	add(&disk->read_count, 1);
	if (stretch->error)
		add(&disk->error_count, 1);
	else
		add(&disk->read_bytes, stretch->bytes);
	spread_add(&disk->read_times, took_ns);
	if (took_ns > atomic_load_explicit(&disk->worst_read_ns, memory_order_relaxed)) {
		atomic_store_explicit(&disk->worst_read_ns, took_ns, memory_order_relaxed);
		atomic_store_explicit(&disk->worst_read_at_ns, ended_ns, memory_order_relaxed);
	}
}

static void begin_busy(struct disk_reader *reader, int64_t now)
{
	if (reader->in_flight++ == 0)
		reader->busy_since_ns = now;
}

static void end_busy(struct disk_reader *reader, int64_t now)
{
	if (--reader->in_flight == 0)
		add_time(&reader->config.disk->busy_ns, now - reader->busy_since_ns);
}

/* ---- stretches ----------------------------------------------------------------------------------- */

static void end_stretch(struct disk_reader *reader, struct disk_stretch *stretch, int error, int64_t now)
{
	struct disk_share *share = stretch->share;

	stretch->error = error;
	note_read(reader, stretch, now);
	end_busy(reader, now);
	share->open--;
	if (share->open > 0 || share->next < share->count)
		return;
	/* DATA: what was read is seen by who finds it 0. The share is the planner's again behind this. */
	if (atomic_fetch_sub_explicit(share->left, 1, memory_order_acq_rel) == 1)
		ring_wake(reader->config.ring, RING_PRODUCER);
}

static void submit(struct disk_reader *reader, struct disk_stretch *stretch)
{
	struct engine_op *op = &stretch->op;
	size_t whole = stretch->ahead_bytes + stretch->bytes + stretch->behind_bytes;

	*op = (struct engine_op){
		.slot = 0, /* where no file is registered: the descriptor counts */
		.fd = stretch->fd,
		.room = stretch->to - stretch->ahead_bytes + stretch->done,
		.bytes = whole - stretch->done,
		.offset = (off_t)(stretch->file_offset - stretch->ahead_bytes + stretch->done),
		.may_block = !stretch->is_direct,
	};
	engine_read(reader->engine, op);
}

static struct disk_stretch *stretch_of(struct engine_op *op)
{
	return (struct disk_stretch *)(void *)((char *)op - offsetof(struct disk_stretch, op));
}

/* What came short is read on, unless the rest is not wanted. */
static void take_back(struct disk_reader *reader, struct engine_op *op)
{
	struct disk_stretch *stretch = stretch_of(op);
	size_t wanted = stretch->ahead_bytes + stretch->bytes;

	if (op->result == -EINTR || op->result == -EAGAIN) {
		submit(reader, stretch);
		return;
	}
	if (op->result > 0)
		stretch->done += (size_t)op->result;
	/* a direct read that ends in the middle of a sector has met the end of the file */
	if (op->result > 0 && stretch->done < wanted &&
	    !(stretch->is_direct && stretch->done % SECTOR_BYTES != 0)) {
		submit(reader, stretch);
		return;
	}
	end_stretch(reader, stretch,
		    stretch->done >= wanted ? 0 :
		    op->result < 0          ? (int)op->result :
					      -ENODATA,
		    op->ended_ns);
}

static void read_small(struct disk_reader *reader, struct disk_stretch *stretch)
{
	int error = read_whole_at(stretch->fd, stretch->to, stretch->bytes, stretch->file_offset);

	end_stretch(reader, stretch, error, units_monotonic_ns());
}

static void begin_stretch(struct disk_reader *reader)
{
	struct disk_share *share = reader->share;
	struct disk_stretch *stretch = &share->stretches[share->next++];

	if (share->next == share->count)
		reader->share = NULL;
	stretch->share = share;
	stretch->done = 0;
	stretch->began_ns = units_monotonic_ns();
	share->open++;
	begin_busy(reader, stretch->began_ns);
	if (stretch->fd < 0)
		end_stretch(reader, stretch, stretch->fd, stretch->began_ns);
	else if (stretch->bytes < DISK_READER_SMALL_BYTES && !stretch->is_direct)
		read_small(reader, stretch);
	else
		submit(reader, stretch);
}

/* ---- the thread ---------------------------------------------------------------------------------- */

static bool is_closing(const struct disk_reader *reader)
{
	return atomic_load_explicit(&reader->is_closing, memory_order_relaxed); /* the bell rings behind it */
}

/* Is there a stretch to begin? */
static bool has_work(struct disk_reader *reader)
{
	uint64_t taken = atomic_load_explicit(&reader->taken, memory_order_relaxed); /* our own */

	if (reader->share)
		return true;
	/* acquire: the share is whole, see disk_reader_add() */
	if (taken == atomic_load_explicit(&reader->added, memory_order_acquire))
		return false;
	reader->share = reader->shares[taken % reader->config.share_count];
	/* release: the place may be used again */
	atomic_store_explicit(&reader->taken, taken + 1, memory_order_release);
	return true;
}

static void *reader_main(void *arg)
{
	struct disk_reader *reader = arg;
	char name[16];

	snprintf(name, sizeof(name), "disk%u", reader->config.number);
	pthread_setname_np(pthread_self(), name);
	engine_start(reader->engine);
	while (!is_closing(reader) || reader->in_flight > 0) {
		uint32_t ticket = bell_listen(&reader->bell);
		struct engine_op *op;

		while ((op = engine_next(reader->engine)) != NULL)
			take_back(reader, op);
		if (!is_closing(reader) && reader->in_flight < reader->config.depth &&
		    has_work(reader)) {
			begin_stretch(reader);
			continue;
		}
		if (!is_closing(reader) || reader->in_flight > 0)
			engine_wait(reader->engine, ticket, INT64_MAX);
	}
	return NULL;
}

/* ---- from outside -------------------------------------------------------------------------------- */

int disk_reader_open(struct disk_reader **out, const struct disk_reader_config *config)
{
	struct disk_reader *reader = calloc(1, sizeof(*reader));
	struct engine_config engine = {
		.kind = config->engine,
		.is_for_reading = true,
		.depth = config->depth,
		.io = &sink_system_io,
		.memory = config->memory,
		.memory_bytes = config->memory_bytes,
		.block_bytes = config->block_bytes,
		.other = config->other ? config->other->engine : NULL,
		.number = config->number,
	};
	int ret;

	*out = NULL;
	if (!reader)
		return -ENOMEM;
	reader->config = *config;
	bell_init(&reader->bell);
	engine.bell = &reader->bell;
	reader->shares = calloc(config->share_count, sizeof(struct disk_share *));
	ret = reader->shares ? engine_open(&reader->engine, &engine) : -ENOMEM;
	if (ret == 0) {
		config->disk->engine = engine_name(reader->engine);
		ret = -pthread_create(&reader->thread, NULL, reader_main, reader);
	}
	if (ret < 0) {
		engine_close(reader->engine);
		free(reader->shares);
		free(reader);
		return ret;
	}
	*out = reader;
	return 0;
}

const char *disk_reader_note(const struct disk_reader *reader)
{
	return engine_note(reader->engine);
}

void disk_reader_add(struct disk_reader *reader, struct disk_share *share)
{
	uint64_t added = atomic_load_explicit(&reader->added, memory_order_relaxed); /* our own */

	share->next = share->open = 0;
	reader->shares[added % reader->config.share_count] = share;
	/* DATA: release: the share and its stretches are whole; pairs with has_work() */
	atomic_store_explicit(&reader->added, added + 1, memory_order_release);
	bell_ring(&reader->bell);
}

void disk_reader_close(struct disk_reader *reader)
{
	if (!reader)
		return;
	atomic_store_explicit(&reader->is_closing, true, memory_order_relaxed);
	bell_ring(&reader->bell);
	pthread_join(reader->thread, NULL);
	engine_close(reader->engine);
	free(reader->shares);
	free(reader);
}
