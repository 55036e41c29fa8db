/* SPDX-License-Identifier: BSD-2-Clause */
#include "ringbuf/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

#define CACHE_LINE 64

struct slot {
	_Atomic uint64_t published; /* the last position put here, plus one; 0 = none; putters write */
	_Atomic uint32_t item;      /* what was put there; putters write */
};

struct queue {
	alignas(CACHE_LINE) _Atomic uint64_t put_position;  /* putters write */
	alignas(CACHE_LINE) _Atomic uint64_t take_position; /* takers write */
	alignas(CACHE_LINE) uint64_t mask;                  /* slot count - 1; constant */
	struct slot slots[];
};

int queue_create(struct queue **out, uint32_t item_count)
{
	struct queue *queue;
	uint64_t slot_count = 2;
	size_t bytes;

	*out = NULL;
	if (item_count == 0 || item_count > UINT32_C(1) << 31)
		return -EINVAL;
	while (slot_count < item_count)
		slot_count *= 2;
	bytes = sizeof(*queue) + slot_count * sizeof(queue->slots[0]);
	bytes = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	queue = aligned_alloc(CACHE_LINE, bytes);
	if (!queue)
		return -ENOMEM;
	atomic_init(&queue->put_position, 0);
	atomic_init(&queue->take_position, 0);
	queue->mask = slot_count - 1;
	for (uint64_t i = 0; i < slot_count; i++) {
		atomic_init(&queue->slots[i].published, 0);
		atomic_init(&queue->slots[i].item, QUEUE_EMPTY);
	}
	*out = queue;
	return 0;
}

void queue_free(struct queue *queue)
{
	free(queue);
}

void queue_put(struct queue *queue, uint32_t item)
{
	/* acquire and release: passes on what earlier putters knew, see "Room" in queue.h */
	uint64_t position = atomic_fetch_add_explicit(&queue->put_position, 1, memory_order_acq_rel);
	struct slot *slot = &queue->slots[position & queue->mask];

	/* relaxed: the item's way back to us came after the take of whatever was in this slot */
	assert(position - atomic_load_explicit(&queue->take_position, memory_order_relaxed) <=
		       queue->mask &&
	       "an item was put that is in the queue already");
	atomic_store_explicit(&slot->item, item, memory_order_relaxed);
	/*
	 * DATA, first half: all that was written to the block comes before this; seq_cst for
	 * "Closing"
	 */
	atomic_store_explicit(&slot->published, position + 1, memory_order_seq_cst);
}

uint32_t queue_take(struct queue *queue)
{
	uint64_t position = atomic_load_explicit(&queue->take_position, memory_order_acquire);

	for (;;) {
		struct slot *slot = &queue->slots[position & queue->mask];
		/*
		 * DATA, second half: what the putter wrote before its release is visible after
		 * this; seq_cst for "Closing"
		 */
		uint64_t published = atomic_load_explicit(&slot->published, memory_order_seq_cst);
		uint32_t item;

		if (published <= position)
			return QUEUE_EMPTY;
		if (published > position + 1) { /* others were faster, by a whole lap */
			position = atomic_load_explicit(&queue->take_position, memory_order_acquire);
			continue;
		}
		/* relaxed: may belong to the next lap already, but then the claim fails */
		item = atomic_load_explicit(&slot->item, memory_order_relaxed);
		/*
		 * release: our read of the item comes before it; acquire: and those of earlier
		 * takers too ("Room")
		 */
		if (atomic_compare_exchange_weak_explicit(&queue->take_position, &position,
							  position + 1, memory_order_acq_rel,
							  memory_order_acquire))
			return item;
	}
}

uint32_t queue_length(const struct queue *queue)
{
	/* relaxed: a figure to look at; acquire, so that the puts of what was taken are counted */
	uint64_t taken = atomic_load_explicit(&queue->take_position, memory_order_acquire);
	uint64_t put = atomic_load_explicit(&queue->put_position, memory_order_relaxed);

	return put > taken ? (uint32_t)(put - taken) : 0;
}
