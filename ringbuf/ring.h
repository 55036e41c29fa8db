/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - a lock-free ring of equal blocks between one producer and any number of consumers
 *
 *   producer:  b = ring_take() -> fill ring_data(b) -> ring_put(queue, b)
 *   consumer:  b = ring_claim(queue) -> read ring_data(b) -> ring_give_back(b)
 *
 * Shape:    N page-aligned blocks in one mapping. A block's number goes round: from the stack of
 *           free blocks to the producer, by one of the filled queues (one a consumer) to whoever
 *           claims it, and back. Blocks come back in any order: one that is kept for long, even
 *           for ever, keeps only itself busy. The free blocks are a stack, not a queue, so that
 *           the block that came back last, whose bytes are still in the cache, is filled next: a
 *           ring of gigabytes that is nearly empty works in a few megabytes.
 * Runs:     Blocks that belong together (a chunk of a file) are chained. ring_put() starts a run
 *           with its first block, ring_append() adds the next, ring_end_run() says that no more
 *           will come. Who claimed the first block owns the run and follows it by ring_next()
 *           while it still grows. A run that its owner can't finish goes whole to another by
 *           ring_hand_over().
 *           A run may go to two consumers, each of which owns all of it: ring_put_second().
 * Rescue:   One more queue that every consumer looks at first. ring_rescue() empties the queue of
 *           a consumer that is stuck or has failed into it; the producer may put runs there that
 *           it doesn't want to assign.
 * Threads:  one producer; any number of consumers; ring_rescue(), ring_level_bytes() ... any
 *           thread. Nothing here blocks, locks or allocates after ring_create(), except
 *           ring_sleep().
 * Ordering: two edges, named here and at the code.
 *           DATA  producer -> consumer  the block is whole before it is seen
 *                                       ring_put(), ring_append() (release) / ring_claim(),
 *                                       ring_next() (acquire)
 *           ROOM  consumer -> producer  the consumer's reads are over before the block is refilled
 *                                       ring_give_back() (release) / ring_take() (acquire)
 * Proof:    ring.pml models this protocol for spin (make verify), hold.pml and second.pml what has two
 *           owners; stress_ring checks contents at
 *           full tilt.
 */
#ifndef VSIB_RINGBUF_RING_H
#define VSIB_RINGBUF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_NONE UINT32_MAX            /* no block (yet) */
#define RING_END (UINT32_MAX - 1)       /* ring_next(): the run ends here */
#define RING_RESCUE UINT32_MAX          /* the queue that every consumer looks at first */
#define RING_SECOND (UINT32_C(1) << 31) /* with a run's first block: see ring_put_second() */
#define RING_BLOCK_COUNT_MAX \
	(UINT32_C(1) << 30) /* none is a number above, and RING_RESCUE can hold each run twice */

struct bell;
struct ring;

struct ring_config {
	void *memory;         /* block_bytes x block_count, page aligned; stays the caller's */
	size_t block_bytes;   /* > 0 */
	uint32_t block_count; /* 1 .. RING_BLOCK_COUNT_MAX */
	uint32_t queue_count; /* consumers, >= 1 */
	size_t label_bytes;   /* private words of the producer for each block, see ring_label() */
};

struct ring_level {
	uint64_t held_bytes; /* put and not given back, now; never above the high-water mark */
	uint64_t high_water_bytes; /* the most of it that there ever was */
	int64_t high_water_ns;     /* CLOCK_MONOTONIC when that was; 0 = never */
};

/**
 * ring_create() - all blocks free
 * Return: 0; -EINVAL for an impossible shape; -ENOMEM.
 */
int ring_create(struct ring **out, const struct ring_config *config);

/** ring_free() - NULL is fine; nobody may use the ring any more */
void ring_free(struct ring *ring);

/** ring_data() - the block's memory, block_bytes long, page aligned when block_bytes is */
void *ring_data(const struct ring *ring, uint32_t block);

/**
 * ring_label() - label_bytes for what the producer wants to say about a block, 64-byte aligned
 *
 * Belongs to whoever has the block: the producer between take and put, the owner afterwards.
 */
void *ring_label(const struct ring *ring, uint32_t block);

/** ring_bytes() - how many bytes of the block are used, as given to ring_put() or ring_append() */
size_t ring_bytes(const struct ring *ring, uint32_t block);

size_t ring_block_bytes(const struct ring *ring);
uint32_t ring_block_count(const struct ring *ring);

/**
 * ring_take() - a free block to fill
 *
 * Thread:   producer only.
 * Ordering: acquires the last owner's give-back (ROOM).
 * Owns:     the caller has the block until ring_put(), ring_append() or ring_give_back().
 * Return:   block number, or RING_NONE when the ring is full.
 */
uint32_t ring_take(struct ring *ring);

/**
 * ring_free_count() - for the producer: at least so many ring_take() will succeed; for others a
 * figure to look at
 */
uint32_t ring_free_count(const struct ring *ring);

/**
 * ring_put() - start a run with its first block and hand it to a consumer
 * @queue: consumer number, or RING_RESCUE for whoever comes first
 * @bytes: bytes of the block that are used, 1 .. block_bytes
 * @is_last: the run has no other block
 *
 * Thread:   producer only.
 * Ordering: releases the block's bytes and label (DATA).
 */
void ring_put(struct ring *ring, uint32_t queue, uint32_t block, size_t bytes, bool is_last);

/**
 * ring_put_second() - hand the run that was begun by the last ring_put() to a second consumer as well
 * @queue: its number, another than the first's, or RING_RESCUE
 *
 * It comes out of ring_claim() with RING_SECOND in the number. Each block of such a run must have been held
 * (ring_hold()) before it was put or appended, and goes round when both have given it back. Who appends
 * wakes both (RING_RESCUE, or ring_wake() for the second). Thread: producer only.
 */
void ring_put_second(struct ring *ring, uint32_t queue, uint32_t first);

/** ring_first() - the first block of a run as ring_claim() gave it; RING_NONE and RING_END stay what they are */
static inline uint32_t ring_first(uint32_t run)
{
	return run == RING_NONE || run == RING_END ? run : run & ~RING_SECOND;
}

/** ring_is_second() - was it put by ring_put_second()? */
static inline bool ring_is_second(uint32_t run)
{
	return run != RING_NONE && run != RING_END && (run & RING_SECOND);
}

/**
 * ring_append() - the next block of a run that has not ended
 * @queue: whom to wake: the consumer the run was put to, or RING_RESCUE for all of them
 * @previous: the block put or appended last to this run
 *
 * Thread:   producer only. The run's owner may change meanwhile; that is no concern of the
 * producer's. Ordering: releases the block's bytes and label (DATA).
 */
void ring_append(struct ring *ring, uint32_t queue, uint32_t previous, uint32_t block, size_t bytes,
		 bool is_last);

/**
 * ring_end_run() - no block will follow @last; needed when ring_put() or ring_append() did not
 * say so
 */
void ring_end_run(struct ring *ring, uint32_t queue, uint32_t last);

/**
 * ring_claim() - the oldest run in a queue
 * @queue: the consumer's own, or RING_RESCUE; another's only when nothing is appended any more: the
 *         producer would wake that one
 *
 * Thread:   any consumer. Ordering: acquires the put (DATA).
 * Owns:     the caller owns the whole run, now and as it grows, until each block is given back.
 * Return:   the run's first block, with RING_SECOND when it was put by ring_put_second(), or RING_NONE.
 */
uint32_t ring_claim(struct ring *ring, uint32_t queue);

/**
 * ring_next() - the block behind @block in its run
 *
 * Thread:   the run's owner. Ordering: acquires the append (DATA).
 * Return:   block number; RING_NONE: not there yet; RING_END: the run is complete.
 */
uint32_t ring_next(const struct ring *ring, uint32_t block);

/**
 * ring_give_back() - the caller is through with a block; one by one, in any order, from any thread
 *
 * Take what is needed from ring_next() first. A run's last block must not be given back before
 * ring_next() said RING_END for it. Ordering: releases the reads of the block (ROOM, pairs with
 * ring_take()).
 */
void ring_give_back(struct ring *ring, uint32_t block);

/**
 * ring_hold() - keep a block for one more owner: it goes round only when ring_give_back() was called
 *               once more for it
 *
 * For memory that the kernel may still read although the run goes to another consumer.
 * Thread: an owner of the block.
 */
void ring_hold(struct ring *ring, uint32_t block);

/**
 * ring_hand_over() - give a claimed run, from its first block on, to whoever takes it from
 * RING_RESCUE
 * @run: what ring_claim() returned; no block of the run has been given back
 */
void ring_hand_over(struct ring *ring, uint32_t run);

/** ring_put_back() - the same, of a run from RING_RESCUE that is not for consumer @who: wakes the others only */
void ring_put_back(struct ring *ring, uint32_t who, uint32_t run);

/**
 * ring_rescue() - empty a consumer's queue into RING_RESCUE
 *
 * A put to that queue that is under way meanwhile may land behind this call. So: first make it
 * known that the queue is no longer served (a seq_cst store), then rescue; and the producer,
 * after each put, looks whether the queue is still served (a seq_cst load) and otherwise rescues
 * it itself. Thread: any, also while that consumer or others claim from it: each run goes to
 * exactly one of them. Return: how many runs were moved.
 */
uint32_t ring_rescue(struct ring *ring, uint32_t queue);

/**
 * ring_queue_length() - runs waiting in a queue (RING_RESCUE too); a figure for policies, not for
 * safety
 */
uint32_t ring_queue_length(const struct ring *ring, uint32_t queue);

/**
 * ring_level() - how full it is; exact high-water mark: the level rises only at a put, and is
 * taken there
 */
struct ring_level ring_level(const struct ring *ring);

/*
 * Sleeping. Who has nothing to do listens, looks once more, and sleeps: ticket =
 *   ring_listen(ring, who); if (ring_claim(...) == RING_NONE) ring_sleep(ring, who, ticket,
 *   deadline);
 * @who is a consumer's number, or RING_PRODUCER for the producer waiting for room.
 */
#define RING_PRODUCER (UINT32_MAX - 1)

uint32_t ring_listen(struct ring *ring, uint32_t who);

/** ring_bell() - a sleeper's bell, for who waits for other things as well: see bell_announce() */
struct bell *ring_bell(struct ring *ring, uint32_t who);

/** ring_sleep() - see bell_sleep(); @deadline_ns CLOCK_MONOTONIC, INT64_MAX = none */
bool ring_sleep(struct ring *ring, uint32_t who, uint32_t ticket, int64_t deadline_ns);

/** ring_wake() - wake one consumer, or the producer, for news that did not come through the ring */
void ring_wake(struct ring *ring, uint32_t who);

/** ring_wake_all() - every consumer and the producer */
void ring_wake_all(struct ring *ring);

#endif
