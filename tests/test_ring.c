/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ringbuf/bell.h"
#include "ringbuf/ring.h"

#define PAGE ((size_t)4096)
#define MS INT64_C(1000000)
#define GIB ((size_t)1 << 30)

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* A ring over address space that costs nothing until it is touched. */
static struct ring *make_ring(uint32_t block_count, size_t block_bytes, uint32_t queue_count)
{
	struct ring_config config = { .block_bytes = block_bytes,
				      .block_count = block_count,
				      .queue_count = queue_count,
				      .label_bytes = 24 };
	struct ring *ring;

	config.memory = mmap(NULL, block_bytes * block_count, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(config.memory, MAP_FAILED);
	assert_int_equal(ring_create(&ring, &config), 0);
	return ring;
}

static void drop_ring(struct ring *ring)
{
	munmap(ring_data(ring, 0), ring_block_bytes(ring) * ring_block_count(ring));
	ring_free(ring);
}

/* A block taken, marked with @word, and put as a run of its own. */
static uint32_t put_word(struct ring *ring, uint32_t queue, uint32_t word)
{
	uint32_t block = ring_take(ring);

	assert_int_not_equal(block, RING_NONE);
	*(uint32_t *)ring_data(ring, block) = word;
	ring_put(ring, queue, block, sizeof(word), true);
	return block;
}

static uint32_t word_of(struct ring *ring, uint32_t block)
{
	assert_int_not_equal(block, RING_NONE);
	return *(uint32_t *)ring_data(ring, block);
}

static void impossible_shapes_are_refused(void **state)
{
	static char memory[PAGE];
	const struct ring_config good = {
		.memory = memory, .block_bytes = PAGE, .block_count = 1, .queue_count = 1
	};
	struct ring_config bad[] = { good, good, good, good, good, good, good, good };
	struct ring *ring;

	(void)state;
	bad[0].memory = NULL;
	bad[1].block_bytes = 0;
	bad[2].block_count = 0;
	bad[3].block_count = RING_BLOCK_COUNT_MAX + 1;
	bad[4].queue_count = 0;
	bad[5].queue_count = RING_PRODUCER;
	bad[6].block_bytes = SIZE_MAX / 2; /* bytes overflow size_t */
	bad[6].block_count = 3;
	bad[7].label_bytes = SIZE_MAX;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ring = (struct ring *)memory;
		assert_int_equal(ring_create(&ring, &bad[i]), -EINVAL);
		assert_null(ring);
	}
	assert_int_equal(ring_create(&ring, &good), 0);
	ring_free(ring);
	ring_free(NULL);
}

static void a_ring_of_one_block_works(void **state)
{
	struct ring *ring = make_ring(1, PAGE, 1);

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t block;

		assert_int_equal(ring_free_count(ring), 1);
		put_word(ring, 0, i);
		assert_int_equal(ring_take(ring), RING_NONE);
		assert_int_equal(ring_free_count(ring), 0);
		block = ring_claim(ring, 0);
		assert_int_equal(word_of(ring, block), i);
		assert_int_equal(ring_take(ring), RING_NONE);
		ring_give_back(ring, block);
	}
	drop_ring(ring);
}

static void blocks_go_round_whole_and_in_order(void **state)
{
	enum { BLOCKS = 7, ROUNDS = 1000 };
	struct ring *ring = make_ring(BLOCKS, PAGE, 2);

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t count = round % BLOCKS + 1;

		for (uint32_t i = 0; i < count; i++)
			put_word(ring, i % 2, round * BLOCKS + i);
		assert_int_equal(ring_free_count(ring), BLOCKS - count);
		assert_int_equal(ring_queue_length(ring, 0), (count + 1) / 2);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t block = ring_claim(ring, i % 2);

			assert_int_equal(word_of(ring, block), round * BLOCKS + i);
			assert_int_equal(ring_bytes(ring, block), sizeof(uint32_t));
			assert_int_equal(ring_next(ring, block), RING_END);
			ring_give_back(ring, block);
		}
		assert_int_equal(ring_claim(ring, 0), RING_NONE);
		assert_int_equal(ring_claim(ring, 1), RING_NONE);
	}
	assert_int_equal(ring_free_count(ring), BLOCKS);
	drop_ring(ring);
}

static void the_block_that_came_back_last_is_filled_next(void **state)
{
	struct ring *ring = make_ring(100, PAGE, 1);
	uint32_t first = put_word(ring, 0, 0);

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		ring_give_back(ring, ring_claim(ring, 0));
		assert_int_equal(put_word(ring, 0, i), first);
	}
	drop_ring(ring);
}

static void blocks_may_be_given_back_in_any_order(void **state)
{
	enum { BLOCKS = 16 };
	struct ring *ring = make_ring(BLOCKS, PAGE, 1);
	unsigned seed = 4711;

	(void)state;
	for (uint32_t round = 0; round < 200; round++) {
		uint32_t held[BLOCKS];
		uint32_t seen = 0;

		for (uint32_t i = 0; i < BLOCKS; i++)
			put_word(ring, 0, i);
		for (uint32_t i = 0; i < BLOCKS; i++) {
			held[i] = ring_claim(ring, 0);
			assert_int_equal(word_of(ring, held[i]), i);
			seen |= UINT32_C(1) << held[i];
		}
		assert_int_equal(seen, (UINT32_C(1) << BLOCKS) - 1);
		for (uint32_t left = BLOCKS; left > 0; left--) {
			uint32_t i = (uint32_t)rand_r(&seed) % left;

			ring_give_back(ring, held[i]);
			held[i] = held[left - 1];
			assert_int_equal(ring_free_count(ring), BLOCKS - left + 1);
		}
	}
	drop_ring(ring);
}

static void a_block_that_is_kept_keeps_only_itself_busy(void **state)
{
	struct ring *ring = make_ring(3, PAGE, 2);
	uint32_t kept;

	(void)state;
	put_word(ring, 1, 1234567);
	kept = ring_claim(ring, 1);
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t a = put_word(ring, 0, i), b = put_word(ring, 0, i + 1);

		assert_int_not_equal(a, kept);
		assert_int_not_equal(b, kept);
		assert_int_equal(ring_take(ring), RING_NONE);
		assert_int_equal(word_of(ring, ring_claim(ring, 0)), i);
		assert_int_equal(word_of(ring, ring_claim(ring, 0)), i + 1);
		ring_give_back(ring, a);
		ring_give_back(ring, b);
	}
	assert_int_equal(word_of(ring, kept), 1234567);
	drop_ring(ring);
}

static void a_held_block_goes_round_when_all_have_given_it_back(void **state)
{
	struct ring *ring = make_ring(2, PAGE, 2);
	uint32_t block;

	(void)state;
	for (int turn = 0; turn < 3; turn++) {
		block = put_word(ring, 0, 1);
		assert_int_equal(ring_claim(ring, 0), block);
		ring_hold(ring, block);
		ring_hand_over(ring, block); /* another writes it, while the kernel still reads it */
		assert_int_equal(ring_claim(ring, RING_RESCUE), block);
		ring_give_back(ring, block);
		assert_int_equal(ring_free_count(ring), 1);
		assert_int_equal(ring_level(ring).held_bytes, sizeof(uint32_t));
		ring_give_back(ring, block);
		assert_int_equal(ring_free_count(ring), 2);
		assert_int_equal(ring_level(ring).held_bytes, 0);
	}
	drop_ring(ring);
}

static void the_bell_can_be_heard_through_a_descriptor(void **state)
{
	struct ring *ring = make_ring(4, PAGE, 2);
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct pollfd heard = { .fd = fd, .events = POLLIN };
	uint32_t ticket;
	int64_t from;

	(void)state;
	assert_true(fd >= 0);
	bell_use_fd(ring_bell(ring, 1), fd);
	ticket = ring_listen(ring, 1);
	put_word(ring, 1, 1); /* nobody listens: no call is made */
	assert_int_equal(poll(&heard, 1, 0), 0);
	assert_false(bell_announce(ring_bell(ring, 1), ticket)); /* it has rung since */
	ticket = ring_listen(ring, 1);
	assert_true(bell_announce(ring_bell(ring, 1), ticket));
	put_word(ring, 1, 2);
	assert_int_equal(poll(&heard, 1, 0), 1);
	bell_hush(ring_bell(ring, 1));
	assert_int_equal(poll(&heard, 1, 0), 0);
	from = now_ns(); /* and who only sleeps, sleeps */
	ticket = ring_listen(ring, 1);
	assert_false(ring_sleep(ring, 1, ticket, from + 20 * MS));
	assert_true(now_ns() - from >= 20 * MS);
	put_word(ring, 1, 3);
	assert_true(ring_sleep(ring, 1, ticket, INT64_MAX));
	bell_use_fd(ring_bell(ring, 1), -1);
	close(fd);
	drop_ring(ring);
}

static void a_block_not_put_goes_back_without_a_trace(void **state)
{
	struct ring *ring = make_ring(4, PAGE, 1);

	(void)state;
	put_word(ring, 0, 1);
	ring_give_back(ring, ring_claim(ring, 0));
	ring_give_back(ring, ring_take(ring));
	assert_int_equal(ring_free_count(ring), 4);
	assert_int_equal(ring_level(ring).held_bytes, 0);
	assert_int_equal(ring_level(ring).high_water_bytes, sizeof(uint32_t));
	drop_ring(ring);
}

static void labels_belong_to_their_block_and_do_not_touch(void **state)
{
	struct ring *ring = make_ring(5, PAGE, 1);

	(void)state;
	for (uint32_t b = 0; b < 5; b++) {
		assert_int_equal((uintptr_t)ring_label(ring, b) % 64, 0);
		memset(ring_label(ring, b), (int)b + 1, 24);
	}
	for (uint32_t b = 0; b < 5; b++)
		for (size_t i = 0; i < 24; i++)
			assert_int_equal(((char *)ring_label(ring, b))[i], b + 1);
	drop_ring(ring);
}

/* ---- runs ---- */

static uint32_t take_word(struct ring *ring, uint32_t word)
{
	uint32_t block = ring_take(ring);

	assert_int_not_equal(block, RING_NONE);
	*(uint32_t *)ring_data(ring, block) = word;
	return block;
}

/* Words 0 .. count - 1 as one run. Return: its last block. */
static uint32_t put_run(struct ring *ring, uint32_t queue, uint32_t count, bool is_ended)
{
	uint32_t block = take_word(ring, 0), next;

	ring_put(ring, queue, block, PAGE, is_ended && count == 1);
	for (uint32_t i = 1; i < count; i++, block = next) {
		next = take_word(ring, i);
		ring_append(ring, queue, block, next, PAGE, is_ended && i + 1 == count);
	}
	return block;
}

/* Follows the run that starts with @block to its end, asserts its words, gives all back. */
static void follow_run(struct ring *ring, uint32_t block, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t next = ring_next(ring, block);

		assert_int_equal(word_of(ring, block), i);
		assert_int_equal(next == RING_END, i + 1 == count);
		ring_give_back(ring, block);
		block = next;
	}
}

static void a_run_is_claimed_by_its_first_block_and_ends(void **state)
{
	struct ring *ring = make_ring(8, PAGE, 1);

	(void)state;
	for (uint32_t count = 1; count <= 8; count++) {
		put_run(ring, 0, count, true);
		assert_int_equal(ring_queue_length(ring, 0), 1);
		follow_run(ring, ring_claim(ring, 0), count);
		assert_int_equal(ring_claim(ring, 0), RING_NONE);
		assert_int_equal(ring_free_count(ring), 8);
	}
	drop_ring(ring);
}

static void a_run_grows_after_it_was_claimed(void **state)
{
	struct ring *ring = make_ring(3, PAGE, 1);
	uint32_t block, last;

	(void)state;
	last = put_run(ring, 0, 1, false);
	block = ring_claim(ring, 0);
	/* longer than the ring: what lies behind is given back while it grows */
	for (uint32_t i = 1; i < 50; i++) {
		uint32_t next = take_word(ring, i);

		assert_int_equal(ring_next(ring, block), RING_NONE);
		ring_append(ring, 0, last, next, PAGE, false);
		assert_int_equal(ring_next(ring, block), next);
		assert_int_equal(word_of(ring, next), i);
		ring_give_back(ring, block);
		block = last = next;
	}
	assert_int_equal(ring_next(ring, block), RING_NONE);
	ring_end_run(ring, 0, last);
	assert_int_equal(ring_next(ring, block), RING_END);
	ring_give_back(ring, block);
	assert_int_equal(ring_free_count(ring), 3);
	drop_ring(ring);
}

static void a_handed_over_run_stays_whole_and_goes_on_growing(void **state)
{
	struct ring *ring = make_ring(6, PAGE, 2);
	uint32_t first, last, next;

	(void)state;
	last = put_run(ring, 0, 3, false);
	first = ring_claim(ring, 0);
	assert_int_equal(word_of(ring, ring_next(ring, first)), 1); /* the owner came so far, and fails */
	ring_hand_over(ring, first);
	next = take_word(ring, 3);
	ring_append(ring, 0, last, next, PAGE, true);
	assert_int_equal(ring_claim(ring, 0), RING_NONE);
	assert_int_equal(ring_claim(ring, RING_RESCUE), first);
	assert_int_equal(ring_claim(ring, RING_RESCUE), RING_NONE);
	follow_run(ring, first, 4);
	assert_int_equal(ring_free_count(ring), 6);
	drop_ring(ring);
}

static void each_run_can_be_in_the_rescue_queue_twice(void **state)
{
	enum { BLOCKS = 8 };
	struct ring *ring = make_ring(BLOCKS, PAGE, 2);

	(void)state;
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint32_t block = ring_take(ring);

		ring_hold(ring, block);
		ring_put(ring, RING_RESCUE, block, 1, true);
		ring_put_second(ring, RING_RESCUE, block);
	}
	assert_int_equal(ring_queue_length(ring, RING_RESCUE), 2 * BLOCKS);
	for (uint32_t i = 0; i < 2 * BLOCKS; i++) {
		uint32_t run = ring_claim(ring, RING_RESCUE);

		assert_int_equal(ring_is_second(run), i % 2);
		ring_give_back(ring, ring_first(run));
		assert_int_equal(ring_free_count(ring), (i + 1) / 2);
	}
	assert_int_equal(ring_claim(ring, RING_RESCUE), RING_NONE);
	drop_ring(ring);
}

static void a_rescue_moves_each_run_in_order(void **state)
{
	struct ring *ring = make_ring(9, PAGE, 2);

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		put_word(ring, 1, i);
	put_word(ring, 0, 100);
	assert_int_equal(ring_rescue(ring, 1), 4);
	assert_int_equal(ring_rescue(ring, 1), 0);
	assert_int_equal(ring_queue_length(ring, 1), 0);
	assert_int_equal(ring_queue_length(ring, RING_RESCUE), 4);
	put_word(ring, RING_RESCUE, 4);
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t block = ring_claim(ring, RING_RESCUE);

		assert_int_equal(word_of(ring, block), i);
		ring_give_back(ring, block);
	}
	assert_int_equal(word_of(ring, ring_claim(ring, 0)), 100);
	drop_ring(ring);
}

struct claimer {
	struct ring *ring;
	uint32_t queue;
	_Atomic bool *is_over;
	uint32_t *claims; /* by word: how often claimed */
	uint32_t count;
};

static void *claim_until_over(void *arg)
{
	struct claimer *c = arg;
	bool is_over;

	do {
		uint32_t block;

		is_over = atomic_load(c->is_over);
		while ((block = ring_claim(c->ring, c->queue)) != RING_NONE) {
			c->claims[*(uint32_t *)ring_data(c->ring, block)]++;
			c->count++;
			ring_give_back(c->ring, block);
		}
	} while (!is_over);
	return NULL;
}

static void a_queue_is_rescued_while_it_is_claimed_from(void **state)
{
	enum { WORDS = 30000 };
	struct ring *ring = make_ring(8, PAGE, 2);
	_Atomic bool is_over = false;
	struct claimer claimers[3]; /* the owner of queue 1, and two that look at the rescued runs */
	pthread_t threads[3];
	uint32_t moved = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		claimers[i] = (struct claimer){ .ring = ring,
						.queue = i == 0 ? 1 : RING_RESCUE,
						.is_over = &is_over,
						.claims = calloc(WORDS, sizeof(uint32_t)) };
		assert_non_null(claimers[i].claims);
		assert_int_equal(pthread_create(&threads[i], NULL, claim_until_over, &claimers[i]), 0);
	}
	for (uint32_t word = 0; word < WORDS;) {
		uint32_t ticket = ring_listen(ring, RING_PRODUCER), block = ring_take(ring);

		if (block == RING_NONE) {
			ring_sleep(ring, RING_PRODUCER, ticket, INT64_MAX);
			continue;
		}
		*(uint32_t *)ring_data(ring, block) = word++;
		ring_put(ring, 1, block, sizeof(word), true);
		if (word % 2)
			moved += ring_rescue(ring, 1);
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(claimers[0].count + claimers[1].count + claimers[2].count, WORDS);
	assert_int_equal(claimers[1].count + claimers[2].count, moved);
	for (uint32_t word = 0; word < WORDS; word++)
		assert_int_equal(claimers[0].claims[word] + claimers[1].claims[word] +
					 claimers[2].claims[word],
				 1);
	assert_int_equal(ring_free_count(ring), 8);
	for (int i = 0; i < 3; i++)
		free(claimers[i].claims);
	drop_ring(ring);
}

/* ---- levels ---- */

static void the_high_water_mark_is_exact_in_bytes_and_keeps_its_time(void **state)
{
	struct ring *ring = make_ring(4, PAGE, 1);
	int64_t before_ns, after_ns;
	struct ring_level level;

	(void)state;
	level = ring_level(ring);
	assert_int_equal(level.held_bytes, 0);
	assert_int_equal(level.high_water_bytes, 0);
	assert_int_equal(level.high_water_ns, 0);

	ring_put(ring, 0, ring_take(ring), 1, true);
	ring_put(ring, 0, ring_take(ring), 4096, true);
	before_ns = now_ns();
	ring_put(ring, 0, ring_take(ring), 777, true);
	after_ns = now_ns();
	level = ring_level(ring);
	assert_int_equal(level.held_bytes, 1 + 4096 + 777);
	assert_int_equal(level.high_water_bytes, 1 + 4096 + 777);
	assert_in_range(level.high_water_ns, before_ns, after_ns);

	/* neither what leaves nor what stays below changes the mark or its time */
	ring_give_back(ring, ring_claim(ring, 0));
	ring_give_back(ring, ring_claim(ring, 0));
	assert_int_equal(ring_level(ring).held_bytes, 777);
	ring_put(ring, 0, ring_take(ring), 4000, true);
	level = ring_level(ring);
	assert_int_equal(level.held_bytes, 777 + 4000);
	assert_int_equal(level.high_water_bytes, 1 + 4096 + 777);
	assert_in_range(level.high_water_ns, before_ns, after_ns);
	drop_ring(ring);
}

static void an_equal_level_keeps_the_first_time(void **state)
{
	struct ring *ring = make_ring(2, PAGE, 1);
	struct ring_level first, level;

	(void)state;
	ring_put(ring, 0, ring_take(ring), 1000, true);
	first = ring_level(ring);
	for (int i = 0; i < 10; i++) {
		ring_give_back(ring, ring_claim(ring, 0));
		ring_put(ring, 0, ring_take(ring), 1000, true);
	}
	level = ring_level(ring);
	assert_int_equal(level.high_water_bytes, 1000);
	assert_int_equal(level.high_water_ns, first.high_water_ns);
	ring_put(ring, 0, ring_take(ring), 1, true);
	level = ring_level(ring);
	assert_int_equal(level.high_water_bytes, 1001);
	assert_true(level.high_water_ns > first.high_water_ns);
	drop_ring(ring);
}

static void a_full_ring_has_its_whole_size_as_mark(void **state)
{
	struct ring *ring = make_ring(33, 3 * PAGE, 1);
	uint32_t block;

	(void)state;
	while ((block = ring_take(ring)) != RING_NONE)
		ring_put(ring, 0, block, 3 * PAGE, true);
	assert_int_equal(ring_level(ring).high_water_bytes, 33 * 3 * PAGE);
	assert_int_equal(ring_level(ring).held_bytes, 33 * 3 * PAGE);
	drop_ring(ring);
}

struct watcher {
	struct ring *ring;
	_Atomic bool is_over;
	uint64_t wrong_count;
};

static void *watch_level(void *arg)
{
	struct watcher *w = arg;
	uint64_t capacity = (uint64_t)ring_block_bytes(w->ring) * ring_block_count(w->ring);

	while (!atomic_load(&w->is_over)) {
		struct ring_level level = ring_level(w->ring);

		w->wrong_count += level.held_bytes > level.high_water_bytes;
		w->wrong_count += level.high_water_bytes > capacity;
		w->wrong_count += ring_free_count(w->ring) > ring_block_count(w->ring);
	}
	return NULL;
}

static void levels_seen_from_outside_are_never_impossible(void **state)
{
	struct ring *ring = make_ring(4, PAGE, 1);
	struct watcher watcher = { .ring = ring };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, watch_level, &watcher), 0);
	for (int i = 0; i < 200000; i++) {
		ring_put(ring, 0, ring_take(ring), (size_t)i % PAGE + 1, true);
		ring_give_back(ring, ring_claim(ring, 0));
	}
	atomic_store(&watcher.is_over, true);
	pthread_join(thread, NULL);
	assert_int_equal(watcher.wrong_count, 0);
	assert_int_equal(ring_level(ring).held_bytes, 0);
	drop_ring(ring);
}

/* ---- sizes ---- */

static void more_than_4_gib_go_through_and_are_counted_exactly(void **state)
{
	struct ring *ring = make_ring(5, 3 * GIB, 1); /* never touched */
	uint64_t held = 0;

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		ring_put(ring, 0, ring_take(ring), 3 * GIB - i, true);
		held += 3 * GIB - i;
	}
	assert_true(held > UINT64_C(14) << 30);
	assert_int_equal(ring_level(ring).held_bytes, held);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t block = ring_claim(ring, 0);

		held -= ring_bytes(ring, block);
		ring_give_back(ring, block);
		assert_int_equal(ring_level(ring).held_bytes, held);
		ring_put(ring, 0, ring_take(ring), GIB + i, true);
		held += GIB + i;
		assert_int_equal(ring_level(ring).held_bytes, held);
	}
	assert_int_equal(ring_level(ring).high_water_bytes, 15 * (uint64_t)GIB - 10);
	drop_ring(ring);
}

static void blocks_beyond_4_gib_are_where_they_belong(void **state)
{
	const size_t odd = 1028096;   /* whole frames of 8032 bytes and whole pages */
	const uint32_t count = 10000; /* 9.6 GiB of addresses */
	struct ring *ring = make_ring(count, odd, 1);
	char *base = ring_data(ring, 0), *last = ring_data(ring, count - 1);

	(void)state;
	assert_int_equal(last - base, (ptrdiff_t)(odd * (count - 1)));
	for (uint32_t b = 0; b < count; b += count - 1) {
		((char *)ring_data(ring, b))[0] = (char)(b + 1);
		((char *)ring_data(ring, b))[odd - 1] = (char)(b + 2);
	}
	assert_int_equal(base[0], 1);
	assert_int_equal(base[odd * count - 1], (char)(count - 1 + 2));
	assert_int_equal(base[odd * (count - 1)], (char)(count - 1 + 1));
	/* 2^32 bytes further on lies another block */
	assert_int_equal(base[odd * count - 1 - (UINT64_C(1) << 32)], 0);
	drop_ring(ring);
}

/* ---- sleeping ---- */

static void a_sleep_ends_at_its_deadline(void **state)
{
	struct ring *ring = make_ring(2, PAGE, 2);
	const uint32_t whos[] = { 0, 1, RING_PRODUCER };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		int64_t deadline_ns = now_ns() + 20 * MS;

		assert_false(ring_sleep(ring, whos[i], ring_listen(ring, whos[i]), deadline_ns));
		assert_true(now_ns() >= deadline_ns);
		assert_false(ring_sleep(ring, whos[i], ring_listen(ring, whos[i]), 0)); /* long past */
	}
	drop_ring(ring);
}

/* Each step rings between listen and sleep, so that a lost ring would sleep for ever (the run would time out). */
static void nothing_that_comes_between_look_and_sleep_is_lost(void **state)
{
	struct ring *ring = make_ring(4, PAGE, 2);
	uint32_t ticket, other, last, block;

	(void)state;
	ticket = ring_listen(ring, 0);
	other = ring_listen(ring, 1);
	last = put_run(ring, 0, 1, false);
	assert_true(ring_sleep(ring, 0, ticket, INT64_MAX));
	assert_false(ring_sleep(ring, 1, other, now_ns() + MS)); /* not for him */

	ticket = ring_listen(ring, 0);
	block = take_word(ring, 1);
	ring_append(ring, 0, last, block, PAGE, false);
	assert_true(ring_sleep(ring, 0, ticket, INT64_MAX));

	ticket = ring_listen(ring, 0);
	ring_end_run(ring, 0, block);
	assert_true(ring_sleep(ring, 0, ticket, INT64_MAX));

	ticket = ring_listen(ring, RING_PRODUCER);
	follow_run(ring, ring_claim(ring, 0), 2);
	assert_true(ring_sleep(ring, RING_PRODUCER, ticket, INT64_MAX));

	ticket = ring_listen(ring, 1);
	ring_wake(ring, 1);
	assert_true(ring_sleep(ring, 1, ticket, INT64_MAX));

	ticket = ring_listen(ring, 1);
	other = ring_listen(ring, RING_PRODUCER);
	ring_wake_all(ring);
	assert_true(ring_sleep(ring, 1, ticket, INT64_MAX));
	assert_true(ring_sleep(ring, RING_PRODUCER, other, INT64_MAX));
	drop_ring(ring);
}

static void after_a_rescue_growth_wakes_every_consumer(void **state)
{
	struct ring *ring = make_ring(4, PAGE, 2);
	uint32_t ticket, last;

	(void)state;
	last = put_run(ring, 0, 1, false);
	ticket = ring_listen(ring, 1);
	assert_int_equal(ring_rescue(ring, 0), 1);
	assert_true(ring_sleep(ring, 1, ticket, INT64_MAX));
	assert_int_not_equal(ring_claim(ring, RING_RESCUE), RING_NONE);
	ticket = ring_listen(ring, 1);
	ring_append(ring, 0, last, take_word(ring, 1), PAGE, true); /* the producer still names consumer 0 */
	assert_true(ring_sleep(ring, 1, ticket, INT64_MAX));
	drop_ring(ring);
}

/* Two runs grow; one is rescued. That one wakes everybody to its end, the next ones only whose they are. */
static void growth_wakes_everybody_only_for_runs_that_may_be_anybodys(void **state)
{
	struct ring *ring = make_ring(8, PAGE, 2);
	uint32_t ticket, moved, later;

	(void)state;
	moved = put_run(ring, 0, 1, false);
	assert_int_equal(ring_rescue(ring, 0), 1);
	for (int i = 0; i < 2; i++) {
		uint32_t next = take_word(ring, 1);

		ticket = ring_listen(ring, 1);
		ring_append(ring, 0, moved, next, PAGE, false);
		assert_true(ring_sleep(ring, 1, ticket, 0));
		moved = next;
	}
	ticket = ring_listen(ring, 1);
	later = put_run(ring, 0, 1, false);
	ring_append(ring, 0, later, take_word(ring, 1), PAGE, true);
	assert_false(ring_sleep(ring, 1, ticket, 0));
	ring_end_run(ring, 0, moved);
	assert_true(ring_sleep(ring, 1, ticket, 0));
	drop_ring(ring);
}

static void *sleep_for_rescue(void *arg)
{
	struct claimer *c = arg;

	for (;;) {
		uint32_t ticket = ring_listen(c->ring, c->queue);
		uint32_t block = ring_claim(c->ring, RING_RESCUE);

		if (block != RING_NONE) {
			c->count++;
			ring_give_back(c->ring, block);
		} else if (atomic_load(c->is_over)) {
			return NULL;
		} else {
			ring_sleep(c->ring, c->queue, ticket, INT64_MAX);
		}
	}
}

static void sleepers_wake_for_what_is_theirs(void **state)
{
	struct ring *ring = make_ring(2, PAGE, 2);
	_Atomic bool is_over = false;
	struct claimer claimers[2];
	pthread_t threads[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		claimers[i] = (struct claimer){ .ring = ring, .queue = i, .is_over = &is_over };
		assert_int_equal(pthread_create(&threads[i], NULL, sleep_for_rescue, &claimers[i]), 0);
	}
	for (uint32_t word = 0; word < 2000;) {
		uint32_t ticket = ring_listen(ring, RING_PRODUCER), block = ring_take(ring);

		if (block == RING_NONE) {
			ring_sleep(ring, RING_PRODUCER, ticket, INT64_MAX);
			continue;
		}
		ring_put(ring, RING_RESCUE, block, 1, true);
		word++;
	}
	atomic_store(&is_over, true);
	ring_wake_all(ring);
	for (uint32_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(claimers[0].count + claimers[1].count, 2000);
	drop_ring(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible_shapes_are_refused),
		cmocka_unit_test(a_ring_of_one_block_works),
		cmocka_unit_test(blocks_go_round_whole_and_in_order),
		cmocka_unit_test(the_block_that_came_back_last_is_filled_next),
		cmocka_unit_test(blocks_may_be_given_back_in_any_order),
		cmocka_unit_test(a_block_that_is_kept_keeps_only_itself_busy),
		cmocka_unit_test(a_held_block_goes_round_when_all_have_given_it_back),
		cmocka_unit_test(the_bell_can_be_heard_through_a_descriptor),
		cmocka_unit_test(a_block_not_put_goes_back_without_a_trace),
		cmocka_unit_test(labels_belong_to_their_block_and_do_not_touch),
		cmocka_unit_test(a_run_is_claimed_by_its_first_block_and_ends),
		cmocka_unit_test(a_run_grows_after_it_was_claimed),
		cmocka_unit_test(a_handed_over_run_stays_whole_and_goes_on_growing),
		cmocka_unit_test(each_run_can_be_in_the_rescue_queue_twice),
		cmocka_unit_test(a_rescue_moves_each_run_in_order),
		cmocka_unit_test(a_queue_is_rescued_while_it_is_claimed_from),
		cmocka_unit_test(the_high_water_mark_is_exact_in_bytes_and_keeps_its_time),
		cmocka_unit_test(an_equal_level_keeps_the_first_time),
		cmocka_unit_test(a_full_ring_has_its_whole_size_as_mark),
		cmocka_unit_test(levels_seen_from_outside_are_never_impossible),
		cmocka_unit_test(more_than_4_gib_go_through_and_are_counted_exactly),
		cmocka_unit_test(blocks_beyond_4_gib_are_where_they_belong),
		cmocka_unit_test(a_sleep_ends_at_its_deadline),
		cmocka_unit_test(nothing_that_comes_between_look_and_sleep_is_lost),
		cmocka_unit_test(after_a_rescue_growth_wakes_every_consumer),
		cmocka_unit_test(growth_wakes_everybody_only_for_runs_that_may_be_anybodys),
		cmocka_unit_test(sleepers_wake_for_what_is_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
