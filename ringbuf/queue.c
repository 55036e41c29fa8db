/* SPDX-License-Identifier: BSD-2-Clause */
#include "ringbuf/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

#define CACHE_LINE 64

struct slot {
	_Atomic uint64_t turn;  /* whose turn it is, see queue.h */
	uint32_t item;          /* guarded by turn */
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
		atomic_init(&queue->slots[i].turn, i);
		queue->slots[i].item = QUEUE_EMPTY;
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
	/* relaxed: only a first guess; the slot's turn decides */
	uint64_t position = atomic_load_explicit(&queue->put_position, memory_order_relaxed);
	struct slot *slot;

	for (;;) {
		uint64_t turn;

		slot = &queue->slots[position & queue->mask];
		/* acquire: pairs with the release in queue_take(): the slot's last reader is through with it */
		turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
		assert(turn >= position && "a queue has a slot for every block, so it can't be full");
		if (turn != position)
			position = atomic_load_explicit(&queue->put_position, memory_order_relaxed);
		else if (atomic_compare_exchange_weak_explicit(&queue->put_position, &position,
							       position + 1, memory_order_relaxed,
							       memory_order_relaxed))
			break;
	}
	slot->item = item;
	/* DATA, first half: all that was written to the block comes before this */
	atomic_store_explicit(&slot->turn, position + 1, memory_order_release);
}

uint32_t queue_take(struct queue *queue)
{
	/* relaxed: only a first guess; the slot's turn decides */
	uint64_t position = atomic_load_explicit(&queue->take_position, memory_order_relaxed);
	struct slot *slot;
	uint32_t item;

	for (;;) {
		uint64_t turn;

		slot = &queue->slots[position & queue->mask];
		/* DATA, second half: what the putter wrote before its release is visible after this */
		turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
		if (turn == position)
			return QUEUE_EMPTY;
		if (turn != position + 1)
			position = atomic_load_explicit(&queue->take_position, memory_order_relaxed);
		else if (atomic_compare_exchange_weak_explicit(&queue->take_position, &position,
							       position + 1, memory_order_relaxed,
							       memory_order_relaxed))
			break;
	}
	item = slot->item;
	/* the slot is free for the put one lap later; release: our read of item comes before that */
	atomic_store_explicit(&slot->turn, position + queue->mask + 1, memory_order_release);
	return item;
}

uint32_t queue_length(const struct queue *queue)
{
	/* relaxed: a figure to look at; taken first so that it never exceeds what was put */
	uint64_t taken = atomic_load_explicit(&queue->take_position, memory_order_relaxed);
	uint64_t put = atomic_load_explicit(&queue->put_position, memory_order_relaxed);

	return put > taken ? (uint32_t)(put - taken) : 0;
}
