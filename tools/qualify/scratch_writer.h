/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scratch_writer.h - nameless files, written as a recording's are: the engine, preallocated space, direct I/O
 *
 *   scratch_writer_open() -> { scratch_writer_do(SCRATCH_CREATE), do(SCRATCH_GROW) -> scratch_writer_write()
 *   ... scratch_writer_do(SCRATCH_SYNC), do(SCRATCH_CLOSE) } ... -> scratch_writer_close()
 *
 * Shape:   one file at a time, see scratch.h; writes of one size, one behind the other, several in
 *          flight. What is written looks like noise and each page is another one, so nobody gains
 *          by compressing or by keeping equal blocks once. It is made before: filling it takes
 *          nothing from the disk's time.
 * Threads: one. It never waits long: errands.h.
 * Errors:  -errno with the sentence in scratch_writer_error(): path, what was asked, what happened.
 *          -ECANCELED says nothing.
 */
#ifndef VSIB_TOOLS_QUALIFY_SCRATCH_WRITER_H
#define VSIB_TOOLS_QUALIFY_SCRATCH_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/sink.h"
#include "tools/qualify/teller.h"

#define SCRATCH_ERROR_LEN 512
#define SCRATCH_MEMORY_MAX (UINT64_C(256) << 20)

struct scratch_writer;

struct scratch_writer_config {
	const struct target *target; /* a directory */
	struct teller *teller;
	const struct sink_io *io; /* for all but making files; NULL = the system's calls */
	enum engine_kind engine;
	bool use_direct;
	unsigned depth;     /* most writes in flight */
	size_t block_bytes; /* the largest write */
	size_t memory_bytes; /* data that can be in flight, up to SCRATCH_MEMORY_MAX: block x depth of each write */
	uint64_t most_bytes; /* of the disk at a time; 0 = all but the reserve */
};

/* What is done to the file by the engine's hand. */
enum scratch_step {
	SCRATCH_CREATE, /* a new one; the one before must be closed */
	/*
	 * space for so many bytes more, or for as many as most_bytes and the reserve leave, maybe none. As in a
	 * recording the size is set with it. A file system that can't preallocate gives the space as it is written
	 */
	SCRATCH_GROW,
	SCRATCH_CUT,  /* to that size: what lies behind is given back */
	SCRATCH_SYNC, /* fdatasync */
	SCRATCH_COMMIT, /* the file system makes a change of the file's mode durable: what another name costs */
	SCRATCH_CLOSE,
};

/* Of so many writes. */
struct scratch_tally {
	uint64_t bytes, count;
	int64_t elapsed_ns; /* from the first one's beginning to the last one's end, without what lay between calls */
	double cpu_s; /* of this process meanwhile */
	int64_t worst_ns;
	int64_t *took_ns; /* of each, for the median: the caller's memory; NULL = none */
	size_t took_count, took_capacity;
};

struct scratch_span {
	uint64_t offset;
	uint64_t bytes;     /* no more than that */
	size_t block_bytes; /* of a write */
	unsigned depth;     /* in flight */
	int64_t time_ns;    /* no write is begun after it, */
	uint64_t least;     /* but so many are made all the same */
};

/**
 * scratch_writer_open() - no file yet
 * @error: SCRATCH_ERROR_LEN
 * Return: 0; -ENOMEM, -errno of the engine, with the sentence.
 */
int scratch_writer_open(struct scratch_writer **out, const struct scratch_writer_config *config,
			char *error);

/** scratch_writer_close() - file and all; what a disk still holds stays until the process ends. NULL is fine */
void scratch_writer_close(struct scratch_writer *writer);

/**
 * scratch_writer_do() - one step
 * @bytes:   SCRATCH_GROW, SCRATCH_CUT: see there
 * @took_ns: of the call alone; NULL
 * Return: 0; -ECANCELED; -ETIMEDOUT: no answer for ERRANDS_GIVE_UP_NS; -errno.
 */
int scratch_writer_do(struct scratch_writer *writer, enum scratch_step step, uint64_t bytes,
		      int64_t *took_ns);

/** scratch_writer_allocated_bytes() - the file may be written up to there */
uint64_t scratch_writer_allocated_bytes(const struct scratch_writer *writer);

/**
 * scratch_writer_write() - within what is allocated; all writes are back when it returns 0
 * @tally: what was done is added to it, also on an error
 * Return: 0; as above.
 */
int scratch_writer_write(struct scratch_writer *writer, const struct scratch_span *span,
			 struct scratch_tally *tally);

/** scratch_writer_fd() - of the file, for reading; -1 = none */
int scratch_writer_fd(const struct scratch_writer *writer);

/** scratch_writer_is_direct() - past the page cache: asked for, and not refused by the file system */
bool scratch_writer_is_direct(const struct scratch_writer *writer);

const char *scratch_writer_error(const struct scratch_writer *writer);

/** scratch_tally_median_ns() - sorts; 0 = none */
int64_t scratch_tally_median_ns(struct scratch_tally *tally);

#endif
