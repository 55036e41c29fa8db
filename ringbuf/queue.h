/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.h - a bounded lock-free first-in first-out queue of block numbers
 *
 *   queue_create() -> queue_put() / queue_take() -> queue_free()
 *
 * Shape:    a power of two of slots. Each slot carries the position whose turn it is: p = free for the put at
 *           position p; p + 1 = holds the item of position p. 64-bit positions never wrap.
 * Threads:  any number of putters and takers. A position is claimed by compare-and-swap, so no item is taken
 *           twice. A putter that is held up between its claim and its publication hides what was put behind
 *           it for that time (takers see an empty queue, the bell rings after the publication); nothing is
 *           lost and nobody waits in here.
 * Ordering: DATA. queue_put() publishes the slot with release, queue_take() sees it with acquire: whatever
 *           was written before the put is visible after the take.
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
 * There must be room: the ring never has more block numbers than each queue has slots (asserted).
 */
void queue_put(struct queue *queue, uint32_t item);

/**
 * queue_take() - claim the oldest item
 * Return: the item, or QUEUE_EMPTY.
 */
uint32_t queue_take(struct queue *queue);

/** queue_length() - items in the queue at about this moment; for display and for policies, never for safety */
uint32_t queue_length(const struct queue *queue);

#endif
