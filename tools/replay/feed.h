/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feed.h - what gives the player its blocks: a thread that fills the ring ahead of time
 *
 *   NAME_feed_create() -> feed_start() -> ... feed_stop() -> feed_free()
 *
 * There are several, each with a create function of its own:
 *   tape_feed.h    recordings and files, read from all their disks at once
 *   source_feed.h  a source of drivers/source.h: stdin, the simulator
 *   packet_feed.h  savefiles, packet by packet or the datagrams in them
 *   made_feed.h    frames of VDIF or Mark5B, made on the spot
 *
 * Threads: create, start, stop and free by who sets up; the feed's own thread runs ops->run and is the ring's producer;
 *          it may have more threads of its own. feed_stop() also by any other.
 * Errors:  -errno with the sentence in feed->error; when the thread has run, BLOCK_END's result and feed->error tell.
 */
#ifndef VSIB_TOOLS_REPLAY_FEED_H
#define VSIB_TOOLS_REPLAY_FEED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ringbuf/ring.h"
#include "tools/replay/play_block.h"
#include "tools/replay/spread.h"

#define FEED_ERROR_LEN 1024
#define FEED_DISKS_MAX 64
#define FEED_GAPS_MAX 1000

struct feed;

struct feed_ops {
	/* the thread's work: all blocks but BLOCK_END, which feed.c puts. Return: BLOCK_END's result. */
	int (*run)(struct feed *feed);
	void (*wake)(struct feed *feed); /* any thread: is_stopped was set; NULL = the ring's bell is enough */
	void (*free)(struct feed *feed); /* the thread has ended, or was never started */
};

/* A disk that is read from. Constants, and relaxed atomics written by its reader thread. */
struct feed_disk {
	char *path;         /* a directory, or the file that was given */
	const char *engine; /* "io_uring" or "pread" */
	const char *io;     /* "direct", "buffered", or "mixed" as its pieces wanted */
	_Atomic uint64_t read_bytes;
	_Atomic uint64_t read_count;
	_Atomic int64_t worst_read_ns, worst_read_at_ns; /* how long, and when: CLOCK_MONOTONIC */
	_Atomic int64_t busy_ns;                         /* during which something was being read */
	_Atomic uint64_t error_count;
	struct spread read_times;
};

/* Of the feed's thread. Relaxed atomics. */
struct feed_stats {
	_Atomic uint64_t planned_bytes; /* of the stream there will be, gaps too; 0 = not known */
	_Atomic uint64_t data_bytes;    /* given to the player */
	_Atomic uint64_t gap_bytes;     /* of the recording, as BLOCK_GAP or fill */
	_Atomic uint64_t gap_count;
	_Atomic uint64_t filled_bytes;  /* the part of data_bytes that is fill */
	_Atomic uint64_t rebuilt_bytes; /* made from parity */
	_Atomic uint64_t copied_bytes; /* taken from another copy because the first was bad or not there */
	_Atomic uint64_t bad_sum_count; /* pieces whose checksum was wrong, and no other was right: gaps */
	_Atomic uint64_t bad_sum_bytes;
	_Atomic uint64_t unreadable_count; /* pieces that couldn't be read: gaps */
	_Atomic uint64_t unreadable_bytes;
	_Atomic uint64_t unverified_bytes; /* played before their checksum could be compared, or having none */
};

/* Bytes of the stream that were not there, whatever stands for them. */
struct feed_gap {
	uint64_t stream_offset, bytes;
	enum recording_cause cause;
};

struct feed_config {
	struct ring *ring; /* label_bytes: sizeof(struct play_label); one queue */
	/* something to be told at once: "disk usb1: file x is corrupt ..."; from the feed's thread; NULL is fine */
	void (*say)(void *context, const char *sentence);
	void *context;
};

struct feed {
	const struct feed_ops *ops;
	void *state;
	struct feed_config config;
	struct feed_stats stats;
	struct feed_gap gaps[FEED_GAPS_MAX]; /* the first of stats.gap_count; whole when the thread has ended */
	struct feed_disk *disks;             /* NULL: none is known */
	unsigned disk_count;
	_Atomic bool is_stopped;
	_Atomic bool is_ended; /* BLOCK_END was put (release) */
	char error[FEED_ERROR_LEN];
	pthread_t thread;
	bool is_started;
	bool is_anew;       /* the next block begins the stream again */
	uint32_t end_block; /* kept for BLOCK_END from feed_start() on */
};

/** feed_create() - for the create functions: a feed without a thread. Return: 0; -ENOMEM. */
int feed_create(struct feed **out, const struct feed_ops *ops, const struct feed_config *config);

/** feed_start() - the ring has two blocks at least: one is kept for BLOCK_END, and can't be taken. Return: 0; -errno. */
int feed_start(struct feed *feed);

/** feed_stop() - no more than what is in the ring already, then BLOCK_END. Any thread, idempotent. */
void feed_stop(struct feed *feed);

/** feed_free() - stops it and waits for its thread; the ring is not needed by it any more. NULL is fine */
void feed_free(struct feed *feed);

/* ---- for feeds, in their thread ---- */

static inline bool feed_is_stopped(const struct feed *feed)
{
	/* relaxed: nothing travels with the flag; who sleeps is woken after it */
	return atomic_load_explicit(&feed->is_stopped, memory_order_relaxed);
}

/** feed_count() - so many more, in a counter of feed->stats or of a disk. Its one writer. */
static inline void feed_count(_Atomic uint64_t *counter, uint64_t more)
{
	/* relaxed: one writer, and nothing travels with it */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

/** feed_take() - a free block, waited for as long as need be. Return: its number; RING_NONE: stopped. */
uint32_t feed_take(struct feed *feed);

/** feed_begin_anew() - with the next block that is put the stream begins again: --loop. Its offsets go on. */
void feed_begin_anew(struct feed *feed);

/**
 * feed_put_bytes() - @bytes of the stream from @lead_bytes on are there
 * feed_put_packets() - struct block_packet one after the other, @bytes of them, from the block's begin on
 *
 * Both count data_bytes; feed_put_gap() counts gap_bytes and gap_count.
 */
void feed_put_bytes(struct feed *feed, uint32_t block, uint64_t stream_offset, size_t lead_bytes,
		    size_t bytes);
void feed_put_packets(struct feed *feed, uint32_t block, uint64_t stream_offset, size_t bytes);

/** feed_put_gap() - takes a block for it. Return: 0; -EINTR: stopped. */
int feed_put_gap(struct feed *feed, uint64_t stream_offset, uint64_t bytes, enum recording_cause cause);

/** feed_note_gap() - count one, and keep it for the report; for feeds that put fill instead of a gap */
void feed_note_gap(struct feed *feed, uint64_t stream_offset, uint64_t bytes,
		   enum recording_cause cause);

/** feed_fail() - keep the sentence. Return: @ret. */
int feed_fail(struct feed *feed, int ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** feed_say() - a sentence that can't wait for the report */
void feed_say(struct feed *feed, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
