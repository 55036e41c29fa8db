/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - each write to a disk: where, how much, from when to when
 *
 *   trace_create() -> session_config.traces -> read it when the session has ended -> trace_free()
 *
 * Shape:   an array made before the start; what doesn't fit any more is only counted.
 * Threads: the disk's writer adds; others may read the first trace_count() while it does.
 */
#ifndef VSIB_RECORDER_TRACE_H
#define VSIB_RECORDER_TRACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct trace_write {
	int64_t started_ns, ended_ns; /* CLOCK_MONOTONIC */
	uint64_t file_offset;
	uint64_t bytes;
};

struct trace {
	struct trace_write *writes; /* in the order in which they were begun; those still out at the end last, as long as that */
	size_t capacity;
	_Atomic size_t count;
	_Atomic uint64_t untraced_count; /* there was no room for */
};

/** trace_create() - room for so many writes, touched. Return: 0; -ENOMEM. */
int trace_create(struct trace **out, size_t capacity);

/** trace_free() - NULL is fine */
void trace_free(struct trace *trace);

/** trace_add() - writer only; never blocks, never allocates */
void trace_add(struct trace *trace, const struct trace_write *write);

/** trace_count() - so many are whole. Ordering: acquires what trace_add() released. */
size_t trace_count(const struct trace *trace);

#endif
