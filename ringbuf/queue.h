/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.h - a bounded lock-free first-in first-out queue of block numbers
 *
 *   queue_create() -> queue_put() / queue_take() -> queue_free()
 *
 * Shape:    a power of two of slots. Each slot carries the last position published in it, plus
 *           one. 64-bit positions never wrap.
 * Threads:  any number of putters and takers, and none of them ever waits for another. A put
 *           claims its position by one addition, a take by compare-and-swap on the take position,
 *           after it has read the item: from then on nothing in the slot matters to it, so a
 *           taker that is held up after its claim keeps nobody out. A putter that is held up
 *           between its claim and its publication hides what was put behind it for that time:
 *           takers see an empty queue. Nothing is lost, for whoever puts rings the bell after it.
 * Ordering: DATA. queue_put() publishes the slot with release, queue_take() sees it with acquire:
 *           whatever was written before the put is visible after the take.
 * Room:     An item is in the queue once at a time, and there are no more items than slots: so
 *           when a position comes round to a slot, some item was put twice since the slot's last
 *           position, hence was taken and passed on between. The take position changes by acquire
 *           and release only, so that taker, and through it the putter, comes after the slot's
 *           last reader.
 * Closing:  Publication and the look at it are seq_cst too. So when a putter looks at a seq_cst
 *           flag after its put, and a taker looks into the queue after it set the flag, at least
 *           one of them sees the other.
 */
#ifndef VSIB_RINGBUF_QUEUE_H
#define VSIB_RINGBUF_QUEUE_H

#include <stdint.h>

#define QUEUE_EMPTY UINT32_MAX

struct queue;

/**
 * queue_create() - a queue that can hold @item_count items
 * Return: 0; -EINVAL (0 or more than 2^31 items); -ENOMEM.
 */
int queue_create(struct queue **out, uint32_t item_count);

/** queue_free() - NULL is fine */
void queue_free(struct queue *queue);

/**
 * queue_put() - append an item
 *
 * Wait-free. There is always room for an item that is one of item_count and not in the queue
 * already (asserted).
 */
void queue_put(struct queue *queue, uint32_t item);

/**
 * queue_take() - claim the oldest item
 * Return: the item, or QUEUE_EMPTY.
 */
uint32_t queue_take(struct queue *queue);

/**
 * queue_length() - items in the queue at about this moment; for display and for policies, never
 * for safety
 */
uint32_t queue_length(const struct queue *queue);

#endif
