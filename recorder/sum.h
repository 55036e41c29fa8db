/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sum.h - the checksum of a segment to be, made while its bytes come in
 *
 *   sum_open() -> { sum_look() at a block -> sum_begin() an extent -> sum_add() ... -> sum_end() } ... -> sum_close()
 *
 * The reader keeps it because what it has just filled is in the cache; by the time a disk is through with it, it
 * is not. It runs over blocks, since its start.
 * Threads: the reader only.
 */
#ifndef VSIB_RECORDER_SUM_H
#define VSIB_RECORDER_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/layout.h"
#include "recorder/segment.h"
#include "recorder/xxh3.h"

struct sum {
	XXH3_state_t *state; /* NULL = none is made here */
	uint64_t bytes;
	uint64_t stream_end;
	int64_t began_ns;
	bool is_due; /* what comes next starts a new one */
};

/** sum_open() - Return: 0; -ENOMEM */
int sum_open(struct sum *sum);

/** sum_close() - of one that was never opened, too */
void sum_close(struct sum *sum);

/** sum_look() - a block is about to be filled: what comes of it stays one segment */
void sum_look(struct sum *sum, const struct layout_plan *plan);

/** sum_begin() - an extent begins. Return: what its label says; see enum segment_sum. */
enum segment_sum sum_begin(struct sum *sum, uint64_t stream_offset);

/** sum_add() - these bytes have come */
void sum_add(struct sum *sum, const void *data, size_t bytes, uint64_t stream_offset);

/** sum_end() - the extent ends. Return: false: it has none, or lost its end after it was summed up, so that a new one is due */
bool sum_end(const struct sum *sum, uint64_t *xxh3);

#endif
