/* SPDX-License-Identifier: BSD-2-Clause */
#include "ringbuf/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ringbuf/bell.h"
#include "ringbuf/queue.h"

#define CACHE_LINE 64

/*
 * The word on top of the stack of free blocks: block number in the low half, a count in the high
 * half that changes with every push and pop, so that a compare-and-swap can't mistake a block
 * that went and came back for one that stayed. With one taker that can't happen; the count makes
 * it safe for more.
 */
#define TOP_BLOCK(top) ((uint32_t)(top))
#define TOP_NEW(top, block) ((((top) >> 32) + 1) << 32 | (block))

struct block {
	_Atomic uint32_t next_free;   /* below this one on the free stack; the pusher writes */
	_Atomic uint32_t next_in_run; /* RING_NONE, RING_END or a block; the producer writes */
	_Atomic uint32_t owner_count; /* give-backs until it is free; who has the block writes */
	size_t bytes;                 /* used bytes; the producer writes before the put */
	uint64_t run_number;          /* of the run it belongs to, from 1 on; the producer alone */
};

struct sleeper {
	alignas(CACHE_LINE) struct bell bell;
};

struct ring {
	/* constant after ring_create() */
	char *memory;
	char *labels;
	size_t block_bytes;
	size_t label_stride;
	uint32_t block_count;
	uint32_t queue_count;
	struct block *blocks;
	struct queue **queues;    /* [queue_count] is the rescue queue */
	struct sleeper *sleepers; /* [queue_count] is the producer's */

	/* whoever hands over or rescues sets it, the producer takes it back; rare */
	_Atomic bool has_moved; /* runs may be owned by somebody else than they were put to */

	/* consumers write */
	alignas(CACHE_LINE) _Atomic uint64_t free_top;
	_Atomic uint64_t returned_count;
	_Atomic uint64_t returned_bytes;

	/* the producer writes */
	alignas(CACHE_LINE) _Atomic uint64_t taken_count;
	_Atomic uint64_t put_bytes;
	_Atomic uint64_t high_water_bytes;
	_Atomic int64_t high_water_ns;
	uint64_t run_count;        /* put; nobody else looks */
	uint64_t moved_run_number; /* runs up to this one may be anybody's; nobody else looks */
};

static size_t round_to_lines(size_t bytes)
{
	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static void *alloc_lines(size_t count, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - CACHE_LINE)
		return NULL;
	bytes = round_to_lines(bytes);
	p = aligned_alloc(CACHE_LINE, bytes ? bytes : CACHE_LINE);
	if (p)
		memset(p, 0, bytes);
	return p;
}

static int create_parts(struct ring *ring)
{
	ring->blocks = alloc_lines(ring->block_count, sizeof(ring->blocks[0]));
	ring->labels = alloc_lines(ring->block_count, ring->label_stride);
	ring->sleepers = alloc_lines(ring->queue_count + (size_t)1, sizeof(ring->sleepers[0]));
	ring->queues = calloc(ring->queue_count + (size_t)1, sizeof(struct queue *));
	if (!ring->blocks || !ring->labels || !ring->sleepers || !ring->queues)
		return -ENOMEM;
	for (uint32_t i = 0; i <= ring->queue_count; i++) {
		/* in the rescue queue a run may stand beside its second */
		uint32_t times = i < ring->queue_count ? 1 : 2;
		int ret = queue_create(&ring->queues[i], times * ring->block_count);

		if (ret < 0)
			return ret;
		bell_init(&ring->sleepers[i].bell);
	}
	for (uint32_t b = 0; b < ring->block_count; b++) {
		atomic_init(&ring->blocks[b].next_free, b + 1 < ring->block_count ? b + 1 : RING_NONE);
		atomic_init(&ring->blocks[b].next_in_run, RING_NONE);
	}
	return 0;
}

int ring_create(struct ring **out, const struct ring_config *config)
{
	struct ring *ring;
	size_t ring_bytes;
	int ret;

	*out = NULL;
	if (!config->memory || config->block_bytes == 0 || config->block_count == 0 ||
	    config->block_count > RING_BLOCK_COUNT_MAX || config->queue_count == 0 ||
	    config->queue_count >= RING_PRODUCER || config->label_bytes > SIZE_MAX - CACHE_LINE ||
	    __builtin_mul_overflow(config->block_bytes, (size_t)config->block_count, &ring_bytes) ||
	    ring_bytes > UINTPTR_MAX - (uintptr_t)config->memory)
		return -EINVAL;
	ring = alloc_lines(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->memory = config->memory;
	ring->block_bytes = config->block_bytes;
	ring->block_count = config->block_count;
	ring->queue_count = config->queue_count;
	ring->label_stride = round_to_lines(config->label_bytes);
	ret = create_parts(ring);
	if (ret < 0) {
		ring_free(ring);
		return ret;
	}
	*out = ring;
	return 0;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	for (uint32_t i = 0; ring->queues && i <= ring->queue_count; i++)
		queue_free(ring->queues[i]);
	free(ring->queues);
	free(ring->sleepers);
	free(ring->labels);
	free(ring->blocks);
	free(ring);
}

void *ring_data(const struct ring *ring, uint32_t block)
{
	assert(block < ring->block_count);
	return ring->memory + block * ring->block_bytes;
}

void *ring_label(const struct ring *ring, uint32_t block)
{
	assert(block < ring->block_count);
	return ring->labels + block * ring->label_stride;
}

size_t ring_bytes(const struct ring *ring, uint32_t block)
{
	return ring->blocks[block].bytes;
}

size_t ring_block_bytes(const struct ring *ring)
{
	return ring->block_bytes;
}

uint32_t ring_block_count(const struct ring *ring)
{
	return ring->block_count;
}

uint32_t ring_take(struct ring *ring)
{
	/* ROOM, second half: the last owner's reads of this block are over */
	uint64_t top = atomic_load_explicit(&ring->free_top, memory_order_acquire);
	uint32_t block, below;

	do {
		block = TOP_BLOCK(top);
		if (block == RING_NONE)
			return RING_NONE;
		/*
		 * relaxed: written before the push that we acquired; if it is stale, the count in
		 * top has moved
		 */
		below = atomic_load_explicit(&ring->blocks[block].next_free, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&ring->free_top, &top, TOP_NEW(top, below),
							memory_order_acquire, memory_order_acquire));
	/* relaxed: only we write it, others look */
	atomic_store_explicit(&ring->taken_count,
			      atomic_load_explicit(&ring->taken_count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	/* relaxed: the put that follows releases both */
	atomic_store_explicit(&ring->blocks[block].next_in_run, RING_NONE, memory_order_relaxed);
	atomic_store_explicit(&ring->blocks[block].owner_count, 1, memory_order_relaxed);
	ring->blocks[block].bytes = 0;
	return block;
}

uint32_t ring_free_count(const struct ring *ring)
{
	/*
	 * acquire: a block is counted after it was pushed, so what is counted here can be taken.
	 * Returned first: a race shows too few free, never too many. Seen from outside, more may
	 * seem taken than there are.
	 */
	uint64_t returned = atomic_load_explicit(&ring->returned_count, memory_order_acquire);
	/* relaxed: a figure, or our own */
	uint64_t taken = atomic_load_explicit(&ring->taken_count, memory_order_relaxed);

	return taken - returned < ring->block_count ?
		       ring->block_count - (uint32_t)(taken - returned) :
		       0;
}

static int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Producer: the level rises here and nowhere else, so its maximum is found here and is exact. */
static void raise_level(struct ring *ring, size_t bytes)
{
	/* relaxed: only we write put_bytes and high_water_bytes */
	uint64_t put = atomic_load_explicit(&ring->put_bytes, memory_order_relaxed) + bytes;
	uint64_t high = atomic_load_explicit(&ring->high_water_bytes, memory_order_relaxed);
	/*
	 * relaxed: a block's bytes are counted before it can be taken, so held is never more than
	 * the ring holds
	 */
	uint64_t held = put - atomic_load_explicit(&ring->returned_bytes, memory_order_relaxed);

	if (held > high) {
		atomic_store_explicit(&ring->high_water_bytes, held, memory_order_relaxed);
		atomic_store_explicit(&ring->high_water_ns, monotonic_ns(), memory_order_relaxed);
	}
	/* release: who sees these bytes sees the mark that they made */
	atomic_store_explicit(&ring->put_bytes, put, memory_order_release);
}

static struct bell *bell_of(struct ring *ring, uint32_t who)
{
	assert(who == RING_PRODUCER || who < ring->queue_count);
	return &ring->sleepers[who == RING_PRODUCER ? ring->queue_count : who].bell;
}

static void wake_consumers(struct ring *ring)
{
	for (uint32_t i = 0; i < ring->queue_count; i++)
		bell_ring(&ring->sleepers[i].bell);
}

/* Who takes from this queue. */
static void wake(struct ring *ring, uint32_t queue)
{
	if (queue == RING_RESCUE)
		wake_consumers(ring);
	else
		bell_ring(bell_of(ring, queue));
}

/*
 * Producer: whose is this run now? The consumer's it was put to; or, when runs have been handed over
 * since it was put, perhaps another's. The order of has_moved against the chain must be the same for all threads
 * (seq_cst here, in ring_append(), ring_end_run(), ring_next() and ring_hand_over()): either we see the
 * flag and wake everybody, or the new owner, who looks at the chain after the flag was set, sees the
 * block. Whatever was handed over before the flag is taken back was put before: it has a number up to
 * run_count, and is anybody's until it ends.
 */
static bool is_anybodys(struct ring *ring, uint64_t run_number)
{
	if (atomic_load_explicit(&ring->has_moved, memory_order_seq_cst)) {
		atomic_store_explicit(&ring->has_moved, false, memory_order_seq_cst);
		ring->moved_run_number = ring->run_count;
	}
	return run_number <= ring->moved_run_number;
}

static struct queue *queue_of(const struct ring *ring, uint32_t queue)
{
	assert(queue == RING_RESCUE || queue < ring->queue_count);
	return ring->queues[queue == RING_RESCUE ? ring->queue_count : queue];
}

static void fill_block(struct ring *ring, uint32_t block, size_t bytes, bool is_last)
{
	assert(bytes > 0 && bytes <= ring->block_bytes);
	ring->blocks[block].bytes = bytes;
	if (is_last) /* relaxed: the put or append that follows releases it */
		atomic_store_explicit(&ring->blocks[block].next_in_run, RING_END, memory_order_relaxed);
	raise_level(ring, bytes);
}

static void begin_run(struct ring *ring, uint32_t queue, uint32_t run)
{
	queue_put(queue_of(ring, queue), run); /* DATA, first half */
	wake(ring, queue);
}

void ring_put(struct ring *ring, uint32_t queue, uint32_t block, size_t bytes, bool is_last)
{
	fill_block(ring, block, bytes, is_last);
	ring->blocks[block].run_number = ++ring->run_count;
	begin_run(ring, queue, block);
}

void ring_put_second(struct ring *ring, uint32_t queue, uint32_t first)
{
	begin_run(ring, queue, first | RING_SECOND);
}

void ring_append(struct ring *ring, uint32_t queue, uint32_t previous, uint32_t block, size_t bytes,
		 bool is_last)
{
	uint64_t run_number = ring->blocks[previous].run_number;

	fill_block(ring, block, bytes, is_last);
	ring->blocks[block].run_number = run_number;
	/*
	 * DATA, first half: the block is whole before it is seen in the chain; seq_cst for
	 * is_anybodys()
	 */
	atomic_store_explicit(&ring->blocks[previous].next_in_run, block, memory_order_seq_cst);
	wake(ring, is_anybodys(ring, run_number) ? RING_RESCUE : queue);
}

void ring_end_run(struct ring *ring, uint32_t queue, uint32_t last)
{
	uint64_t run_number = ring->blocks[last].run_number;

	atomic_store_explicit(&ring->blocks[last].next_in_run, RING_END, memory_order_seq_cst);
	wake(ring, is_anybodys(ring, run_number) ? RING_RESCUE : queue);
}

uint32_t ring_claim(struct ring *ring, uint32_t queue)
{
	uint32_t block = queue_take(queue_of(ring, queue)); /* DATA, second half */

	return block == QUEUE_EMPTY ? RING_NONE : block;
}

uint32_t ring_next(const struct ring *ring, uint32_t block)
{
	/* DATA, second half: the block named here is whole; seq_cst for is_anybodys() */
	return atomic_load_explicit(&ring->blocks[block].next_in_run, memory_order_seq_cst);
}

void ring_hold(struct ring *ring, uint32_t block)
{
	/* relaxed: the caller has the block, so that the count can't reach zero meanwhile */
	atomic_fetch_add_explicit(&ring->blocks[block].owner_count, 1, memory_order_relaxed);
}

void ring_give_back(struct ring *ring, uint32_t block)
{
	uint64_t top;

	/* release: an owner's reads are over; acquire: the last one takes the others' word for it */
	if (atomic_fetch_sub_explicit(&ring->blocks[block].owner_count, 1, memory_order_acq_rel) > 1)
		return;
	top = atomic_load_explicit(&ring->free_top, memory_order_relaxed);
	/*
	 * Bytes before the push, so that the producer never fills a block that still counts as
	 * held; the block after it, so that what counts as free can be taken. release: for
	 * ring_level(), the put comes before this.
	 */
	atomic_fetch_add_explicit(&ring->returned_bytes, ring->blocks[block].bytes,
				  memory_order_release);
	do {
		atomic_store_explicit(&ring->blocks[block].next_free, TOP_BLOCK(top),
				      memory_order_relaxed);
		/* ROOM, first half: our reads of the block come before this */
	} while (!atomic_compare_exchange_weak_explicit(&ring->free_top, &top, TOP_NEW(top, block),
							memory_order_release, memory_order_relaxed));
	/* release: pairs with ring_free_count() */
	atomic_fetch_add_explicit(&ring->returned_count, 1, memory_order_release);
	bell_ring(bell_of(ring, RING_PRODUCER));
}

void ring_put_back(struct ring *ring, uint32_t who, uint32_t run)
{
	queue_put(queue_of(ring, RING_RESCUE), run);
	for (uint32_t i = 0; i < ring->queue_count; i++)
		if (i != who)
			bell_ring(&ring->sleepers[i].bell);
}

void ring_hand_over(struct ring *ring, uint32_t run)
{
	/*
	 * before the put, so that whoever claims the run looks at its chain after this; see
	 * is_anybodys()
	 */
	atomic_store_explicit(&ring->has_moved, true, memory_order_seq_cst);
	queue_put(queue_of(ring, RING_RESCUE), run);
	wake_consumers(ring);
}

uint32_t ring_rescue(struct ring *ring, uint32_t queue)
{
	uint32_t moved_count = 0, block;

	assert(queue != RING_RESCUE);
	while ((block = ring_claim(ring, queue)) != RING_NONE) {
		ring_hand_over(ring, block);
		moved_count++;
	}
	return moved_count;
}

uint32_t ring_queue_length(const struct ring *ring, uint32_t queue)
{
	return queue_length(queue_of(ring, queue));
}

struct ring_level ring_level(const struct ring *ring)
{
	struct ring_level level;
	/*
	 * acquire, and returned first: all that was given back was put, so held never comes out
	 * negative
	 */
	uint64_t returned = atomic_load_explicit(&ring->returned_bytes, memory_order_acquire);
	/* acquire: pairs with raise_level() */
	uint64_t put = atomic_load_explicit(&ring->put_bytes, memory_order_acquire);

	level.high_water_bytes = atomic_load_explicit(&ring->high_water_bytes, memory_order_relaxed);
	level.high_water_ns = atomic_load_explicit(&ring->high_water_ns, memory_order_relaxed);
	/* what came and went between the two loads must not show as a level that never was */
	level.held_bytes =
		put - returned < level.high_water_bytes ? put - returned : level.high_water_bytes;
	return level;
}

uint32_t ring_listen(struct ring *ring, uint32_t who)
{
	return bell_listen(bell_of(ring, who));
}

bool ring_sleep(struct ring *ring, uint32_t who, uint32_t ticket, int64_t deadline_ns)
{
	return bell_sleep(bell_of(ring, who), ticket, deadline_ns);
}

struct bell *ring_bell(struct ring *ring, uint32_t who)
{
	return bell_of(ring, who);
}

void ring_wake(struct ring *ring, uint32_t who)
{
	bell_ring(bell_of(ring, who));
}

void ring_wake_all(struct ring *ring)
{
	wake_consumers(ring);
	ring_wake(ring, RING_PRODUCER);
}
