/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outbox.h - what one disk has been given to do: files being opened and finished, writes in flight
 *
 *   outbox_open() -> outbox_start() -> { outbox_take(); file = outbox_file(); outbox_write();
 *   flight = outbox_first() ... outbox_pop(); outbox_sync(); outbox_end() ...; outbox_wait() } ->
 *   outbox_close()
 *
 * Shape:   Two files at a time, so that the next can be opened and written while the last one is being
 *          finished. Writes come back in any order; they are looked at in the order they were made.
 *          Nothing here waits for the disk, except outbox_wait() for a while.
 * Threads: outbox_open() and outbox_close() by whoever sets up; all else the disk's writer.
 * Errors:  the first one is kept with its sentence: outbox_error(). From then on nothing new is begun.
 */
#ifndef VSIB_RECORDER_OUTBOX_H
#define VSIB_RECORDER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/engine.h"
#include "recorder/sink.h"

#define OUTBOX_FILES 2

struct outbox;
struct outbox_file;

struct outbox_config {
	struct sink_config sink;
	struct engine_config engine; /* io is taken from sink */
};

/* One write. */
struct flight {
	uint32_t block;           /* the caller's */
	struct outbox_file *file; /* NULL: no files on this target */
	uint64_t file_offset;
	size_t bytes; /* true ones */
	int64_t started_ns, ended_ns;
	bool is_back;
	bool is_counted, is_kept; /* the caller's */
	int error;                /* -errno; 0 */
	/* the outbox's */
	struct engine_op op;
	struct sink_piece piece;
};

/**
 * outbox_open() - nothing is created on the disk yet
 * Return: 0; -errno of the engine or -ENOMEM.
 */
int outbox_open(struct outbox **out, const struct outbox_config *config);

/**
 * outbox_stop() - ends the engine; the rest stays for the report
 * Return: 0; -EBUSY: the disk still holds something, nothing was done.
 */
int outbox_stop(struct outbox *outbox);

/** outbox_close() - NULL is fine. Return: 0; -EBUSY: the disk still holds something, nothing was done. */
int outbox_close(struct outbox *outbox);

/** outbox_start() - the calling thread is the writer. Return: 0; -errno. */
int outbox_start(struct outbox *outbox);

/**
 * outbox_file() - the file in which a block goes
 * @offset: of the block in the whole file
 * @stream_offset: of its first byte
 *
 * Begins it when it isn't open. A file that is open and doesn't go on there must have been ended.
 * Return: the file, ready to be written to; NULL: not yet, or something has failed.
 */
struct outbox_file *outbox_file(struct outbox *outbox, uint64_t number, uint64_t offset,
				uint64_t stream_offset);

/** outbox_open_file() - the file that was written to last and goes on; NULL = none */
struct outbox_file *outbox_open_file(const struct outbox *outbox);

/** outbox_goes_on() - does this file go on with that offset of that number? */
bool outbox_goes_on(const struct outbox_file *file, uint64_t number, uint64_t offset);

/** outbox_has_room() - can another write be made now? */
bool outbox_has_room(const struct outbox *outbox);

/**
 * outbox_write() - start writing a block
 * @file: from outbox_file(), or NULL where there are none
 * @room: as sink_prepare()
 * Return: the flight; NULL: not now (space is being got, or dirty memory written back).
 */
struct flight *outbox_write(struct outbox *outbox, struct outbox_file *file, uint32_t block,
			    void *data, size_t bytes, size_t room);

/** outbox_first() - the oldest write; NULL = none */
struct flight *outbox_first(struct outbox *outbox);

/** outbox_flight() - the write @index behind the oldest; outbox_count() how many there are */
struct flight *outbox_flight(struct outbox *outbox, unsigned index);
unsigned outbox_count(const struct outbox *outbox);

/** outbox_accept() - the write is back and good: its bytes belong to the file. In order. */
void outbox_accept(struct flight *flight);

/** outbox_pop() - the oldest write, which is back, is done with */
void outbox_pop(struct outbox *outbox);

/**
 * outbox_sync() - what was accepted of the file shall be durable
 * @bytes: of it that are ours for good then: what has come since may yet go elsewhere
 * Return: true: asked for; false: something else is being done with the file now.
 */
bool outbox_sync(struct outbox_file *file, uint64_t bytes);

/** outbox_finish() - true size, sync, final name; nothing may be in flight to it. As outbox_sync(). */
bool outbox_finish(struct outbox_file *file);

/**
 * outbox_drop() - the file goes elsewhere: it is removed, or, if some of it is durable, cut to that and
 *                 finished, or else left. Nothing may be in flight to it. As outbox_sync().
 */
bool outbox_drop(struct outbox_file *file);

/**
 * outbox_cut() - the file goes on behind what of it is durable: the rest, which others have, is cut off
 *                before anything else is written to it. To be called until it says that it is so.
 * Return: true: it is so; false: not yet, or it has failed.
 */
bool outbox_cut(struct outbox_file *file);

/** outbox_end() - nothing more goes to the file: it will be finished or dropped */
void outbox_end(struct outbox_file *file);

/**
 * outbox_disown() - others will have what was written to the file and is not durable: should it be
 *                   finished all the same (that was under way), that is taken back
 */
void outbox_disown(struct outbox_file *file);

/** What a file is at. */
bool outbox_is_free(const struct outbox_file *file); /* there is none */
int outbox_result(const struct outbox_file *file); /* of what was done with it last: 0 or -errno */
uint64_t outbox_finished_count(const struct outbox_file *file); /* of syncs, finishes and drops that have come back */
uint64_t outbox_file_number(const struct outbox_file *file);
uint64_t outbox_file_base(const struct outbox_file *file);
size_t outbox_file_head(const struct outbox_file *file); /* bytes in front of its data, once it is ready */
uint64_t outbox_file_given(const struct outbox_file *file);   /* bytes written to it, back or not */
uint64_t outbox_file_bytes(const struct outbox_file *file);   /* accepted */
uint64_t outbox_file_durable(const struct outbox_file *file); /* safe by a sync */
/* Bytes of the disk that a file has got; writes in flight may have got theirs or not. */
struct outbox_space {
	uint64_t least, most;
	bool is_changing; /* just now space is got, or given back */
};

struct outbox_space outbox_file_space(const struct outbox_file *file);
struct outbox_file *outbox_file_at(struct outbox *outbox, unsigned index); /* 0 .. OUTBOX_FILES - 1 */

/** outbox_take() - looks at what has come back. Return: true when there was something. */
bool outbox_take(struct outbox *outbox);

/** outbox_is_idle() - the disk holds nothing of ours */
bool outbox_is_idle(const struct outbox *outbox);

/** outbox_since_ns() - CLOCK_MONOTONIC since when the disk has not moved though it has something to do; 0 = it has nothing */
int64_t outbox_since_ns(const struct outbox *outbox);

/** outbox_writing_since_ns() - the same of its writes alone */
int64_t outbox_writing_since_ns(const struct outbox *outbox);

/** outbox_wait() - see engine_wait(); writes made since the last time get on their way */
void outbox_wait(struct outbox *outbox, uint32_t ticket, int64_t deadline_ns);

/** outbox_error() - the first thing that failed; 0 = nothing; outbox_text() its sentence */
int outbox_error(const struct outbox *outbox);
const char *outbox_text(const struct outbox *outbox);

/** For the report: how it is really done; "none" without an engine; notes of sinks and engine, "" = nothing. */
const char *outbox_io_name(const struct outbox *outbox);
const char *outbox_engine_name(const struct outbox *outbox);
unsigned outbox_depth(const struct outbox *outbox);
const char *outbox_note(const struct outbox *outbox, unsigned index); /* NULL behind the last */
const struct engine *outbox_engine(const struct outbox *outbox);

#endif
