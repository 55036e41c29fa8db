/* SPDX-License-Identifier: BSD-2-Clause */
/* The source itself, not the header: positions beyond 2^32 are set, not reached. */
#include "ringbuf/queue.c"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct queue *make_queue(uint32_t item_count, uint64_t position)
{
	struct queue *queue;

	assert_int_equal(queue_create(&queue, item_count), 0);
	atomic_store(&queue->put_position, position);
	atomic_store(&queue->take_position, position);
	return queue;
}

static void impossible_sizes_are_refused(void **state)
{
	struct queue *queue = (struct queue *)state;

	assert_int_equal(queue_create(&queue, 0), -EINVAL);
	assert_null(queue);
	assert_int_equal(queue_create(&queue, (UINT32_C(1) << 31) + 1), -EINVAL);
	queue_free(NULL);
}

static void items_come_out_in_the_order_they_went_in(void **state)
{
	(void)state;
	for (uint32_t size = 1; size < 10; size++) {
		struct queue *queue = make_queue(size, 0);

		for (uint32_t round = 0; round < 50; round++) {
			assert_int_equal(queue_take(queue), QUEUE_EMPTY);
			for (uint32_t i = 0; i < size; i++) {
				assert_int_equal(queue_length(queue), i);
				queue_put(queue, i);
			}
			for (uint32_t i = 0; i < size; i++)
				assert_int_equal(queue_take(queue), i);
		}
		queue_free(queue);
	}
}

static void positions_go_on_beyond_32_and_63_bits(void **state)
{
	const uint64_t edges[] = { UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 63 };

	(void)state;
	for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++) {
		struct queue *queue = make_queue(4, edges[e] - 6);

		for (uint32_t i = 0; i < 20; i++) {
			queue_put(queue, i);
			queue_put(queue, i + 100);
			assert_int_equal(queue_length(queue), 2);
			assert_int_equal(queue_take(queue), i);
			assert_int_equal(queue_take(queue), i + 100);
			assert_int_equal(queue_take(queue), QUEUE_EMPTY);
		}
		queue_free(queue);
	}
}

/* A taker that is held up between its look and its claim, while the queue goes round many times. */
static void a_late_claim_fails_and_looks_again(void **state)
{
	struct queue *queue = make_queue(2, 0);
	uint64_t late;

	(void)state;
	queue_put(queue, 0);
	late = atomic_load(&queue->take_position);
	for (uint32_t i = 0; i < 9; i++) {
		assert_int_equal(queue_take(queue), i % 2);
		queue_put(queue, (i + 1) % 2);
	}
	assert_false(atomic_compare_exchange_strong(&queue->take_position, &late, late + 1));
	assert_int_equal(late, 9);
	assert_int_equal(queue_take(queue), 1);
	queue_free(queue);
}

/* A put that has its position but is not published yet. */
static void a_put_under_way_hides_what_is_behind_it_until_it_lands(void **state)
{
	struct queue *queue = make_queue(4, 0);
	uint64_t position = atomic_fetch_add(&queue->put_position, 1);

	(void)state;
	queue_put(queue, 2);
	assert_int_equal(queue_take(queue), QUEUE_EMPTY);
	atomic_store(&queue->slots[position].item, 1);
	atomic_store(&queue->slots[position].published, position + 1);
	assert_int_equal(queue_take(queue), 1);
	assert_int_equal(queue_take(queue), 2);
	queue_free(queue);
}

/*
 * Several takers and putters pass a few items round between two queues with exactly as many slots: a taker that is
 * held up keeps nobody out (a queue whose takers free their slot in a second step ran full here).
 */
struct passers {
	struct queue *queues[2];
	_Atomic uint32_t holders[4]; /* by item: how many hold it now */
	_Atomic uint64_t wrong_count;
	_Atomic uint64_t pass_count;
	uint64_t goal;
};

static void *pass_items(void *arg)
{
	struct passers *p = arg;

	for (uint32_t turn = 0; atomic_load(&p->pass_count) < p->goal; turn++) {
		uint32_t item = queue_take(p->queues[turn % 2]);

		if (item == QUEUE_EMPTY)
			continue;
		if (item >= 4 || atomic_fetch_add(&p->holders[item], 1) != 0) {
			atomic_fetch_add(&p->wrong_count, 1);
			break;
		}
		atomic_fetch_sub(&p->holders[item], 1);
		queue_put(p->queues[(turn / 3 + 1) % 2], item);
		atomic_fetch_add(&p->pass_count, 1);
	}
	return NULL;
}

static void items_pass_between_threads_once_each(void **state)
{
	struct passers p = { .goal = 300000 };
	pthread_t threads[4];
	uint32_t seen = 0, item;

	(void)state;
	for (int i = 0; i < 2; i++)
		p.queues[i] = make_queue(4, (UINT64_C(1) << 32) - 1000);
	for (uint32_t i = 0; i < 4; i++)
		queue_put(p.queues[0], i);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, pass_items, &p), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&p.wrong_count), 0);
	for (int i = 0; i < 2; i++) {
		while ((item = queue_take(p.queues[i])) != QUEUE_EMPTY)
			seen |= UINT32_C(1) << item;
		queue_free(p.queues[i]);
	}
	assert_int_equal(seen, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(items_come_out_in_the_order_they_went_in),
		cmocka_unit_test(positions_go_on_beyond_32_and_63_bits),
		cmocka_unit_test(a_late_claim_fails_and_looks_again),
		cmocka_unit_test(a_put_under_way_hides_what_is_behind_it_until_it_lands),
		cmocka_unit_test(items_pass_between_threads_once_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
