/* SPDX-License-Identifier: BSD-2-Clause */
/* san: skip
 *
 * bench_ring - what the ring costs: blocks a second from a producer to its consumers and back, and how long the
 * memory takes to touch. The blocks are empty: it is the ring that is measured, not the copying of samples.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ringbuf/memory.h"
#include "ringbuf/ring.h"

#define GOAL 2e6 /* blocks a second through filled and free, sleeping when there is nothing to do */
#define GOAL_BLOCKS \
	256 /* a ring of a few blocks hands over a few blocks a wake-up, whatever it does */
#define RUN_NS INT64_C(1000000000)
#define BLOCK_BYTES 4096
#define CONSUMER_MAX 2
#define ROUNDS 3

struct bench {
	struct ring *ring;
	uint32_t consumer_count;
	bool may_sleep;
	_Atomic bool is_over;
	_Atomic uint64_t sleep_count;
	uint64_t handed_count;
};

struct consumer {
	pthread_t thread;
	struct bench *bench;
	uint32_t number;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void *consume(void *arg)
{
	struct consumer *c = arg;
	struct ring *ring = c->bench->ring;

	while (!atomic_load(&c->bench->is_over)) {
		uint32_t ticket = ring_listen(ring, c->number);
		uint32_t block = ring_claim(ring, c->number);

		if (block != RING_NONE) {
			ring_give_back(ring, block);
		} else if (c->bench->may_sleep && !atomic_load(&c->bench->is_over)) {
			atomic_fetch_add(&c->bench->sleep_count, 1);
			ring_sleep(ring, c->number, ticket, INT64_MAX);
		}
	}
	return NULL;
}

static void produce(struct bench *bench)
{
	int64_t end_ns = now_ns() + RUN_NS;
	struct ring *ring = bench->ring;

	/* the clock costs as much as the hand-over: look at it now and then */
	while (bench->handed_count % 1024 != 0 || now_ns() < end_ns) {
		uint32_t ticket = ring_listen(ring, RING_PRODUCER);
		uint32_t block = ring_take(ring);

		if (block != RING_NONE) {
			ring_put(ring, (uint32_t)(bench->handed_count % bench->consumer_count),
				 block, BLOCK_BYTES, true);
			bench->handed_count++;
		} else if (bench->may_sleep) {
			atomic_fetch_add(&bench->sleep_count, 1);
			ring_sleep(ring, RING_PRODUCER, ticket, INT64_MAX);
		}
	}
}

/* Return: blocks a second; what of it were sleeps through @sleeps. */
static double run_ring(uint32_t block_count, uint32_t consumer_count, bool may_sleep, double *sleeps)
{
	struct bench bench = { .consumer_count = consumer_count, .may_sleep = may_sleep };
	struct consumer consumers[CONSUMER_MAX];
	struct ring_config config = { .block_bytes = BLOCK_BYTES,
				      .block_count = block_count,
				      .queue_count = consumer_count };
	int64_t start_ns;
	double seconds;

	config.memory = aligned_alloc(4096, (size_t)BLOCK_BYTES * block_count);
	if (!config.memory || ring_create(&bench.ring, &config) < 0)
		exit(1);
	for (uint32_t i = 0; i < consumer_count; i++) {
		consumers[i] = (struct consumer){ .bench = &bench, .number = i };
		if (pthread_create(&consumers[i].thread, NULL, consume, &consumers[i]) != 0)
			exit(1);
	}
	start_ns = now_ns();
	produce(&bench);
	seconds = (double)(now_ns() - start_ns) / 1e9;
	atomic_store(&bench.is_over, true);
	ring_wake_all(bench.ring);
	for (uint32_t i = 0; i < consumer_count; i++)
		pthread_join(consumers[i].thread, NULL);
	ring_free(bench.ring);
	free(config.memory);
	*sleeps = (double)atomic_load(&bench.sleep_count) / seconds;
	return (double)bench.handed_count / seconds;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void report_ring(uint32_t block_count, uint32_t consumer_count, bool may_sleep)
{
	double rates[ROUNDS], sleeps = 0;

	for (int i = 0; i < ROUNDS; i++)
		rates[i] = run_ring(block_count, consumer_count, may_sleep, &sleeps);
	qsort(rates, ROUNDS, sizeof(rates[0]), by_value);
	printf("ring of %4u blocks, %u consumer%s, %s  %6.2f million blocks/s (%.2f .. %.2f)",
	       block_count, consumer_count, consumer_count > 1 ? "s" : " ",
	       may_sleep ? "sleeping" : "polling ", rates[ROUNDS / 2] / 1e6, rates[0] / 1e6,
	       rates[ROUNDS - 1] / 1e6);
	if (may_sleep)
		printf(", %.0f sleeps/s", sleeps);
	if (may_sleep && block_count >= GOAL_BLOCKS)
		printf(", goal %.0f million: %s", GOAL / 1e6,
		       rates[ROUNDS / 2] >= GOAL ? "reached" : "not reached");
	printf("\n");
}

/* The same through a lock and two condition variables, as a peer to compare with. */
struct locked {
	pthread_mutex_t mutex;
	pthread_cond_t filled, free;
	uint32_t filled_count, block_count;
	bool is_over;
};

static void *consume_locked(void *arg)
{
	struct locked *l = arg;
	bool is_over = false;

	while (!is_over) {
		pthread_mutex_lock(&l->mutex);
		while (l->filled_count == 0 && !l->is_over)
			pthread_cond_wait(&l->filled, &l->mutex);
		is_over = l->is_over;
		l->filled_count -= !is_over;
		pthread_mutex_unlock(&l->mutex);
		pthread_cond_signal(&l->free);
	}
	return NULL;
}

static double run_locked(uint32_t block_count)
{
	struct locked l = { .mutex = PTHREAD_MUTEX_INITIALIZER,
			    .filled = PTHREAD_COND_INITIALIZER,
			    .free = PTHREAD_COND_INITIALIZER,
			    .block_count = block_count };
	int64_t start_ns = now_ns();
	uint64_t count = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, consume_locked, &l) != 0)
		exit(1);
	while (count % 1024 != 0 || now_ns() < start_ns + RUN_NS) {
		pthread_mutex_lock(&l.mutex);
		while (l.filled_count == l.block_count)
			pthread_cond_wait(&l.free, &l.mutex);
		l.filled_count++;
		pthread_mutex_unlock(&l.mutex);
		pthread_cond_signal(&l.filled);
		count++;
	}
	pthread_mutex_lock(&l.mutex);
	l.is_over = true;
	pthread_mutex_unlock(&l.mutex);
	pthread_cond_signal(&l.filled);
	pthread_join(thread, NULL);
	return (double)count / ((double)(now_ns() - start_ns) / 1e9);
}

static void report_memory(bool use_huge_pages)
{
	struct memory_config config = { .bytes = (size_t)1 << 30,
					.numa_node = MEMORY_ANY_NODE,
					.use_huge_pages = use_huge_pages };
	struct memory memory = { 0 };
	int64_t start_ns;

	if (memory_allow(&memory, &config) < 0) {
		printf("memory: not measured: %s\n", memory.error);
		return;
	}
	start_ns = now_ns();
	if (memory_map(&memory, &config) < 0) {
		printf("memory: not measured: %s\n", memory.error);
		return;
	}
	printf("memory: 1 GiB in %s pages mapped and touched: %.2f s/GB\n",
	       memory_pages_name(memory.pages),
	       (double)(now_ns() - start_ns) / 1e9 / ((double)config.bytes / 1e9));
	memory_unmap(&memory);
}

int main(void)
{
	printf("%ld CPUs (polling threads, one more than consumers, want a CPU each); median of %d runs of %.0f s (least .. most)\n",
	       sysconf(_SC_NPROCESSORS_ONLN), ROUNDS, (double)RUN_NS / 1e9);
	for (uint32_t consumers = 1; consumers <= CONSUMER_MAX; consumers++) {
		report_ring(256, consumers, true);
		report_ring(16, consumers, true);
		report_ring(256, consumers, false);
	}
	printf("lock and condition variables, 256 blocks, 1 consumer  %6.2f million blocks/s\n",
	       run_locked(256) / 1e6);
	report_memory(false);
	report_memory(true);
	return 0;
}
