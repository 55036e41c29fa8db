/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * account.h - every byte of the stream: where it is, or where and why it was lost
 *
 * The sum that must hold, to the byte, at the end of every run (account_check()):
 *   stream            = received + lost by the source
 *   received + filled = written + overflow + disk + discarded + aborted
 * Filled is what was put into the ring in place of bytes that the source lost: of the stream, but not received,
 * and still lost. From there on it goes the way of all bytes. Each term is counted where it happens and by one
 * thread; none is computed from the others.
 * Threads:  counters are relaxed atomics, each with the writer named; any thread reads.
 *           account_gap() from any thread (a mutex: a gap is an event, not the data path).
 */
#ifndef VSIB_RECORDER_ACCOUNT_H
#define VSIB_RECORDER_ACCOUNT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCOUNT_GAP_MAX 10000 /* gaps kept one by one; further ones are only counted */

enum gap_cause { GAP_OVERFLOW, GAP_SOURCE, GAP_DISK, GAP_ABORTED, GAP_DISCARDED, GAP_CAUSE_COUNT };

struct gap {
	uint64_t stream_offset;
	uint64_t bytes;
	enum gap_cause cause;
	int64_t utc_ns;
	bool is_estimated;
	bool is_filled; /* cause source: fill was recorded in its place; what else is lost of that is a gap of its own */
};

/* A counter with one writing thread; add and read by these two. */
typedef _Atomic uint64_t account_counter;

struct account {
	account_counter received_bytes;    /* reader: came out of the source */
	account_counter source_lost_bytes; /* reader: the source said they were lost */
	account_counter estimated_bytes;   /* reader: part of source_lost_bytes told by the clock */
	account_counter filled_bytes; /* reader: of source_lost_bytes, in whose place fill was put */
	account_counter overflow_bytes; /* reader: received, but the ring was full */
	account_counter overflow_count; /* reader: separate overflows */
	account_counter discarded_bytes; /* reader: received, but not of the recording; gaps only within it */
	account_counter unclaimed_disk_bytes; /* supervisor: left in the ring when the last disk was gone */
	account_counter unclaimed_aborted_bytes; /* supervisor: left in the ring when the operator aborted */

	pthread_mutex_t lock; /* guards the rest */
	struct gap *gaps;     /* ACCOUNT_GAP_MAX, in the order they became known */
	size_t gap_kept_count;
	uint64_t gap_count;
	uint64_t gap_bytes[GAP_CAUSE_COUNT];
};

/* What has become of it behind the ring, summed up by the caller of account_check(). */
struct account_sum {
	uint64_t written_bytes;
	uint64_t disk_bytes;
	uint64_t aborted_bytes;
};

static inline void account_add(account_counter *counter, uint64_t bytes)
{
	/* relaxed, no read-modify-write: one writer */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + bytes,
			      memory_order_relaxed);
}

static inline void account_subtract(account_counter *counter, uint64_t count)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) - count,
			      memory_order_relaxed);
}

static inline uint64_t account_get(const account_counter *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/** account_init() - Return: 0 or -ENOMEM */
int account_init(struct account *account);

void account_free(struct account *account);

/**
 * account_gap() - note a loss by position and cause
 *
 * A gap that goes on where the one noted last, of the same kind, ends is joined to it.
 */
void account_gap(struct account *account, const struct gap *gap);

/** account_stream_bytes() - received and lost by the source: the position in the stream */
uint64_t account_stream_bytes(const struct account *account);

const char *account_cause_name(enum gap_cause cause);

/**
 * account_check() - does every byte have its place?
 * @error: buffer for the sentence with both sides of the sum
 * Return: true when it does. False is a fault of this program, never of disk or source.
 */
bool account_check(const struct account *account, const struct account_sum *sum, char *error,
		   size_t len);

#endif
