/* SPDX-License-Identifier: BSD-2-Clause */
#include "ringbuf/bell.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define SLEEPERS UINT32_C(1) /* bit 0 of the word */
#define ONE_RING UINT32_C(2)

void bell_init(struct bell *bell)
{
	atomic_init(&bell->word, 0);
}

uint32_t bell_listen(struct bell *bell)
{
	/* acquire: what was put before this ring is visible to the look that follows */
	return atomic_load_explicit(&bell->word, memory_order_acquire) & ~SLEEPERS;
}

bool bell_sleep(struct bell *bell, uint32_t ticket, int64_t deadline_ns)
{
	struct timespec until, *timeout = NULL;
	uint32_t word;

	if (deadline_ns != INT64_MAX) {
		until.tv_sec = deadline_ns / NS_PER_S;
		until.tv_nsec = deadline_ns % NS_PER_S;
		timeout = &until;
	}
	/*
	 * from here on a ringer sees us; a ring before that is seen here (acquire: with what it
	 * was for)
	 */
	word = atomic_fetch_or_explicit(&bell->word, SLEEPERS, memory_order_acquire);
	if ((word & ~SLEEPERS) == ticket)
		/*
		 * FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, so no drift on early
		 * returns
		 */
		syscall(SYS_futex, &bell->word, FUTEX_WAIT_BITSET_PRIVATE, ticket | SLEEPERS,
			timeout, NULL, FUTEX_BITSET_MATCH_ANY);
	return bell_listen(bell) != ticket;
}

void bell_ring(struct bell *bell)
{
	/* relaxed: only a first guess */
	uint32_t word = atomic_load_explicit(&bell->word, memory_order_relaxed);

	/* release: what we put comes before it */
	while (!atomic_compare_exchange_weak_explicit(&bell->word, &word, (word + ONE_RING) & ~SLEEPERS,
						      memory_order_release, memory_order_relaxed))
		;
	if (word & SLEEPERS)
		syscall(SYS_futex, &bell->word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
