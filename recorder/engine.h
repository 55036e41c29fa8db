/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine.h - what a disk is asked to do while who asks goes on
 *
 *   engine_open() -> engine_start() by the thread that uses it -> { engine_write() | engine_read() | engine_call() ...
 *   engine_next() until NULL ... engine_wait() } -> engine_close() once nothing is in flight
 *
 * Shape:   An operation is the caller's struct and its own until engine_next() brings it back. Writes and
 *          reads go to io_uring, several at once, from and to registered memory and registered files; where
 *          io_uring is refused, or the write call is not the system's (a test's), to as many threads with
 *          that call, or with pread(). Calls that may take long (open, allocate, sync, rename) go to one more thread,
 *          the hand, in the order they were given. So no disk, however slow or dead, holds the
 *          thread that uses the engine.
 * Threads: engine_open(), engine_close(): whoever sets up. All else only the thread that called
 *          engine_start(). It is woken by the bell it was given, for this and for other things.
 * Errors:  an operation's result is a byte count or -errno.
 */
#ifndef VSIB_RECORDER_ENGINE_H
#define VSIB_RECORDER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ringbuf/bell.h"

#define ENGINE_DEPTH_MAX 128
#define ENGINE_SLOTS 4 /* files that can be registered at a time */

struct engine;
struct sink_io;

enum engine_kind { ENGINE_AUTO, ENGINE_URING, ENGINE_PWRITE };

struct engine_op {
	/* a write or a read: the caller sets */
	int slot; /* see engine_set_file() */
	int fd;
	union {
		const void *data; /* what is written */
		void *room;       /* where to what is read goes */
	};
	size_t bytes;
	off_t offset;
	bool may_block; /* the file system doesn't keep the promise not to: never in the caller's thread */
	/* a call: the hand calls it, and it sets result; NULL = a write or a read */
	void (*run)(struct engine_op *op);
	/* the engine sets */
	bool is_read;
	ssize_t result;
	int64_t ended_ns; /* CLOCK_MONOTONIC */
	struct engine_op *next;
};

struct engine_config {
	enum engine_kind kind;    /* ENGINE_URING: -errno where it is refused; AUTO: threads then */
	bool is_for_reading;      /* what engine_name() and engine_note() speak of */
	unsigned depth;           /* writes and reads in flight at most, 1 .. ENGINE_DEPTH_MAX */
	const struct sink_io *io; /* the calls; threads are used unless its write is the system's */
	struct bell *bell;        /* rings when something has come back */
	void *memory; /* where all data lie, to be registered; NULL = nowhere in particular */
	size_t memory_bytes;
	size_t block_bytes; /* no write's or read's data cross a multiple of it in the memory */
	const struct engine *other; /* has the same memory registered, to be shared; or NULL */
	unsigned number;            /* for the threads' names */
};

/** engine_usual_depth() - so many writes or reads in flight, where nobody wants another number: 16 MiB of them, 2 to 32 */
unsigned engine_usual_depth(uint64_t block_bytes);

/**
 * engine_open() - ready, its memory registered, its threads running
 * Return: 0; -errno.
 */
int engine_open(struct engine **out, const struct engine_config *config);

/**
 * engine_stop() - ends the threads and whatever the kernel keeps for it; its bell may still be rung
 * Return: 0; -EBUSY: something is still in flight, nothing was done: a disk holds it.
 */
int engine_stop(struct engine *engine);

/** engine_close() - the same, and frees all: nobody rings its bell any more; NULL is fine */
int engine_close(struct engine *engine);

/** engine_name() - "io_uring", "pwrite", or is_for_reading: "pread" */
const char *engine_name(const struct engine *engine);

/** engine_note() - why it is not what was wished for, for the user; "" = it is */
const char *engine_note(const struct engine *engine);

/** engine_start() - the calling thread uses it from now on. Return: 0; -errno. */
int engine_start(struct engine *engine);

/**
 * engine_set_file() - register a file for writes and reads with this slot
 * @fd: < 0: none any more; before it is closed, and with none of its operations in flight
 */
void engine_set_file(struct engine *engine, int slot, int fd);

/** engine_write() - a write; no more than depth at a time. It gets on its way by engine_wait() at the latest */
void engine_write(struct engine *engine, struct engine_op *op);

/** engine_read() - the same of a read: result is less than bytes at the file's end, and may be elsewhere */
void engine_read(struct engine *engine, struct engine_op *op);

/** engine_call() - let the hand call op->run */
void engine_call(struct engine *engine, struct engine_op *op);

/** engine_next() - an operation that has come back, in any order; NULL = none now. Never blocks. */
struct engine_op *engine_next(struct engine *engine);

/**
 * engine_wait() - sleep until the bell has rung since @ticket, something may have come back, or the
 *                 deadline; may return early
 */
void engine_wait(struct engine *engine, uint32_t ticket, int64_t deadline_ns);

#endif
