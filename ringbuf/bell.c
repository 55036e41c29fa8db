/* SPDX-License-Identifier: BSD-2-Clause */
#include "ringbuf/bell.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

void bell_init(struct bell *bell)
{
	atomic_init(&bell->count, 0);
	atomic_init(&bell->sleeper_count, 0);
}

uint32_t bell_listen(struct bell *bell)
{
	return atomic_load_explicit(&bell->count, memory_order_acquire);
}

bool bell_sleep(struct bell *bell, uint32_t ticket, int64_t deadline_ns)
{
	struct timespec until, *timeout = NULL;

	if (deadline_ns != INT64_MAX) {
		until.tv_sec = deadline_ns / NS_PER_S;
		until.tv_nsec = deadline_ns % NS_PER_S;
		timeout = &until;
	}
	atomic_fetch_add_explicit(&bell->sleeper_count, 1, memory_order_seq_cst);
	/* From here on a ringer sees us; a ring before that is seen here. */
	if (atomic_load_explicit(&bell->count, memory_order_seq_cst) == ticket)
		/* FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, so no drift on early returns */
		syscall(SYS_futex, &bell->count, FUTEX_WAIT_BITSET_PRIVATE, ticket, timeout, NULL,
			FUTEX_BITSET_MATCH_ANY);
	atomic_fetch_sub_explicit(&bell->sleeper_count, 1, memory_order_relaxed);
	return atomic_load_explicit(&bell->count, memory_order_acquire) != ticket;
}

void bell_ring(struct bell *bell)
{
	atomic_fetch_add_explicit(&bell->count, 1, memory_order_seq_cst);
	if (atomic_load_explicit(&bell->sleeper_count, memory_order_seq_cst) > 0)
		syscall(SYS_futex, &bell->count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
