/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bell.h - sleep until somebody has something for you; no lock, no spinning
 *
 *   sleeper: ticket = bell_listen(b); look at the queues; nothing there: bell_sleep(b, ticket,
 *   deadline) waker: put the thing into the queue; bell_ring(b)
 *
 * Threads:  any number of wakers, any number of sleepers. Ordering: bell_ring() comes after the
 * put and bell_listen() before the look. Both sides change one and the same
 *           word: either the sleeper announces itself first, then the ring sees that and wakes
 *           it; or the bell rings first, then the sleeper sees a new count, doesn't sleep, and
 *           sees what was put (release in
 *           bell_ring(), acquire in bell_listen() and bell_sleep()). No wake-up is lost.
 * Cost:     the first ring after somebody lay down takes the announcement back and makes the
 *           system call; those that follow before the sleeper is up again are one atomic
 *           operation each.
 */
#ifndef VSIB_RINGBUF_BELL_H
#define VSIB_RINGBUF_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct bell {
	int fd; /* eventfd for sleepers who wait for other things as well; -1 = futex */
	_Atomic uint32_t word; /* bit 0: somebody sleeps or is about to; above it the rings so far, which wrap:
				   only their change matters, within one listen, look and sleep */
};

void bell_init(struct bell *bell);

/**
 * bell_use_fd() - from now on the bell is heard through a file descriptor
 * @fd: eventfd, non-blocking; stays the caller's. Before anybody sleeps or rings.
 */
void bell_use_fd(struct bell *bell, int fd);

/**
 * bell_announce() - what bell_sleep() does before it sleeps, for who sleeps elsewhere, with the bell's
 *                   descriptor among what it waits for
 *
 * Return: false when the bell has rung since @ticket: don't sleep. True: the next ring makes the
 *         descriptor readable; bell_hush() takes that back.
 */
bool bell_announce(struct bell *bell, uint32_t ticket);

void bell_hush(const struct bell *bell);

/** bell_listen() - the ticket for bell_sleep(); take it before looking at the queues */
uint32_t bell_listen(struct bell *bell);

/**
 * bell_sleep() - sleep until the bell has rung since @ticket, or the deadline
 * @deadline_ns: CLOCK_MONOTONIC; INT64_MAX = no deadline
 *
 * May also return early (a signal): look at the queues again.
 * Return: true when the bell has rung since @ticket.
 */
bool bell_sleep(struct bell *bell, uint32_t ticket, int64_t deadline_ns);

/** bell_ring() - wake every sleeper; no system call when nobody sleeps */
void bell_ring(struct bell *bell);

#endif
