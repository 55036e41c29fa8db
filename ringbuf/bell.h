/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bell.h - sleep until somebody has something for you; no lock, no spinning
 *
 *   sleeper:  ticket = bell_listen(b); look at the queues; nothing there: bell_sleep(b, ticket, deadline)
 *   waker:    put the thing into the queue; bell_ring(b)
 *
 * Threads:  any number of wakers, any number of sleepers.
 * Ordering: bell_ring() comes after the put and bell_listen() before the look. Both sides meet in the
 *           sequentially consistent order of count and sleeper_count: either the waker sees the
 *           sleeper, or the sleeper sees the new count and doesn't sleep. No wake-up is lost.
 */
#ifndef VSIB_RINGBUF_BELL_H
#define VSIB_RINGBUF_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct bell {
	_Atomic uint32_t count;         /* rings so far; wraps: only its change matters; wakers write */
	_Atomic uint32_t sleeper_count; /* threads inside bell_sleep(); sleepers write */
};

void bell_init(struct bell *bell);

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

/** bell_ring() - wake every sleeper; one atomic addition when nobody sleeps */
void bell_ring(struct bell *bell);

#endif
