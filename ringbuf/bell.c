/* SPDX-License-Identifier: BSD-2-Clause */
#include "ringbuf/bell.h"

#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define SLEEPERS UINT32_C(1) /* bit 0 of the word */
#define ONE_RING UINT32_C(2)

void bell_init(struct bell *bell)
{
	bell->fd = -1;
	atomic_init(&bell->word, 0);
}

void bell_use_fd(struct bell *bell, int fd)
{
	bell->fd = fd;
}

uint32_t bell_listen(struct bell *bell)
{
	/* acquire: what was put before this ring is visible to the look that follows */
	return atomic_load_explicit(&bell->word, memory_order_acquire) & ~SLEEPERS;
}

bool bell_announce(struct bell *bell, uint32_t ticket)
{
	/*
	 * from here on a ringer sees us; a ring before that is seen here (acquire: with what it
	 * was for)
	 */
	uint32_t word = atomic_fetch_or_explicit(&bell->word, SLEEPERS, memory_order_acquire);

	return (word & ~SLEEPERS) == ticket;
}

void bell_hush(const struct bell *bell)
{
	uint64_t count;

	while (read(bell->fd, &count, sizeof(count)) == sizeof(count))
		;
}

bool bell_sleep(struct bell *bell, uint32_t ticket, int64_t deadline_ns)
{
	struct timespec until, now, *timeout = NULL;

	if (deadline_ns != INT64_MAX) {
		until.tv_sec = deadline_ns / NS_PER_S;
		until.tv_nsec = deadline_ns % NS_PER_S;
		timeout = &until;
	}
	if (!bell_announce(bell, ticket))
		return true;
	if (bell->fd >= 0) {
		struct pollfd poll = { .fd = bell->fd, .events = POLLIN };

		if (timeout) { /* ppoll() wants to know how long */
			clock_gettime(CLOCK_MONOTONIC, &now);
			deadline_ns -= now.tv_sec * NS_PER_S + now.tv_nsec;
			deadline_ns = deadline_ns > 0 ? deadline_ns : 0;
			until.tv_sec = deadline_ns / NS_PER_S;
			until.tv_nsec = deadline_ns % NS_PER_S;
		}
		if (ppoll(&poll, 1, timeout, NULL) > 0)
			bell_hush(bell);
	} else {
		/*
		 * FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, so no drift on early
		 * returns
		 */
		syscall(SYS_futex, &bell->word, FUTEX_WAIT_BITSET_PRIVATE, ticket | SLEEPERS,
			timeout, NULL, FUTEX_BITSET_MATCH_ANY);
	}
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
	if (!(word & SLEEPERS))
		return;
	if (bell->fd >= 0)
		(void)!write(bell->fd, &(uint64_t){ 1 }, sizeof(uint64_t));
	else
		syscall(SYS_futex, &bell->word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
