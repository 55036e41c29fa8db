/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_ring - a producer and three consumers at full tilt, every word checked
 *
 * Rounds of a tenth of a second, each with a new ring. The producer lets several runs grow at a time. Consumers hold
 * blocks for random times and give them back in random order; one gets stuck with its runs, one fails in the
 * middle of its runs and hands them over, and queues are emptied into the rescue queue, those of the healthy too.
 * At the end each position of the stream must have been made final exactly once, and each run have ended where
 * the producer ended it. STRESS_SECONDS (3) and STRESS_SEED are taken from the environment.
 */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ringbuf/ring.h"

#define BLOCK_BYTES 1024
#define WORDS (BLOCK_BYTES / sizeof(uint64_t))
#define POSITION_MAX (UINT32_C(1) << 21)
#define RUN_LENGTH_MAX 6
#define GROWING_MAX 3
#define CONSUMERS 3
#define STUCK 1   /* the consumer that gets stuck in a round with a large ring */
#define FAILING 2 /* the consumer that fails in every other round */
#define HELD_MAX 8
#define OPEN_MAX (GROWING_MAX + 1) /* so that one that is whole can always be worked on */
#define ROUND_NS INT64_C(100000000)
#define PATIENCE_NS INT64_C(20000000000)

struct label {
	uint64_t position;
	uint32_t run;
	uint32_t index;
};

struct open_run {
	uint32_t first;  /* as claimed */
	uint32_t block;  /* reached; checked already */
	uint32_t length; /* blocks so far, with block */
	uint32_t run;
	uint64_t positions[RUN_LENGTH_MAX];
	bool is_kept; /* all blocks are kept and made final at the end, not one by one */
};

struct round;

struct consumer {
	pthread_t thread;
	struct round *round;
	uint32_t number;
	unsigned seed;
	uint32_t open_count, held_count;
	struct open_run open[OPEN_MAX];
	uint32_t held[HELD_MAX];
	uint32_t runs_left; /* until it gets stuck or fails; UINT32_MAX = never */
	uint64_t sleep_count;
};

struct round {
	struct ring *ring;
	bool is_small;
	bool is_shared; /* all runs go to the rescue queue, to whoever comes first */
	_Atomic bool is_served[CONSUMERS];
	_Atomic bool is_stuck; /* the stuck one stands still, its open runs may be looked at */
	_Atomic bool is_freed; /* it may go on */
	_Atomic bool is_over;
	_Atomic bool is_put; /* the producer is through */
	_Atomic uint64_t final_count;
	_Atomic uint64_t rescued_count;
	_Atomic uint64_t handed_over_count;
	uint64_t put_count, run_count;
	unsigned seed, watch_seed;
	int64_t end_ns;
	struct consumer consumers[CONSUMERS];
	pthread_t producer;
};

/* Big, hence outside of the rounds: by position and by run. */
static _Atomic uint8_t final_times[POSITION_MAX];
static _Atomic uint8_t final_lengths[POSITION_MAX]; /* of the run, as the consumer saw it end */
static uint8_t put_lengths[POSITION_MAX];
static _Atomic uint64_t wrong_count;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void sleep_us(long us)
{
	struct timespec time = { 0, us * 1000 };

	nanosleep(&time, NULL);
}

static void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void wrong(const char *format, ...)
{
	va_list ap;

	if (atomic_fetch_add(&wrong_count, 1) >= 20)
		return;
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
}

static uint32_t dice(unsigned *seed, uint32_t sides)
{
	return (uint32_t)rand_r(seed) % sides;
}

static uint64_t word_at(uint64_t position, size_t i)
{
	uint64_t x = (position * WORDS + i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	return x ^ x >> 29;
}

/* ---- producer ---- */

struct growing {
	uint32_t queue, last, run, length, goal;
};

static uint32_t fill(struct round *r, uint32_t block, const struct growing *g, size_t *bytes)
{
	uint64_t *words = ring_data(r->ring, block);
	struct label *label = ring_label(r->ring, block);
	size_t count = 1 + dice(&r->seed, WORDS);

	for (size_t i = 0; i < count; i++)
		words[i] = word_at(r->put_count, i);
	*label = (struct label){ .position = r->put_count, .run = g->run, .index = g->length };
	*bytes = count * sizeof(words[0]) - dice(&r->seed, 8);
	r->put_count++;
	return block;
}

/* Whom a new run goes to; who is no longer served gets no more, but that may change while we put. */
static uint32_t choose_queue(struct round *r)
{
	uint32_t queue = dice(&r->seed, CONSUMERS * 3 + 1);

	if (queue == CONSUMERS * 3 || r->is_shared)
		return RING_RESCUE;
	queue /= 3;
	return atomic_load(&r->is_served[queue]) ? queue : RING_RESCUE;
}

static void start_run(struct round *r, struct growing *g, uint32_t block)
{
	bool is_known = dice(&r->seed, 2); /* whether we know already that it is the last */
	size_t bytes;

	*g = (struct growing){ .queue = choose_queue(r),
			       .last = block,
			       .run = (uint32_t)r->run_count++,
			       .goal = 1 + dice(&r->seed, RUN_LENGTH_MAX) };
	fill(r, block, g, &bytes);
	put_lengths[g->run] = (uint8_t)g->goal;
	g->length = 1;
	ring_put(r->ring, g->queue, block, bytes, is_known && g->goal == 1);
	/* seq_cst, after the put: see ring_rescue() */
	if (g->queue != RING_RESCUE && !atomic_load(&r->is_served[g->queue]))
		atomic_fetch_add(&r->rescued_count, ring_rescue(r->ring, g->queue));
	if (!is_known && g->goal == 1)
		ring_end_run(r->ring, g->queue, block);
}

static void grow_run(struct round *r, struct growing *g, uint32_t block)
{
	bool is_last = g->length + 1 == g->goal;
	bool is_known = dice(&r->seed, 2);
	size_t bytes;

	fill(r, block, g, &bytes);
	g->length++;
	ring_append(r->ring, g->queue, g->last, block, bytes, is_last && is_known);
	g->last = block;
	if (is_last && !is_known)
		ring_end_run(r->ring, g->queue, block);
}

static void *produce(void *arg)
{
	struct round *r = arg;
	struct growing growing[GROWING_MAX];
	uint32_t count = 0;
	bool is_ending = false;

	while (!is_ending || count > 0) {
		uint32_t ticket = ring_listen(r->ring, RING_PRODUCER), block = ring_take(r->ring);
		uint32_t which = dice(&r->seed, GROWING_MAX);

		if (block == RING_NONE) {
			ring_sleep(r->ring, RING_PRODUCER, ticket, INT64_MAX);
			continue;
		}
		is_ending = is_ending || r->put_count > POSITION_MAX - 64 ||
			    (r->put_count % 16 == 0 && now_ns() > r->end_ns);
		if (which >= count && is_ending) {
			ring_give_back(r->ring, block);
			continue;
		}
		if (which >= count) {
			which = count++;
			start_run(r, &growing[which], block);
		} else {
			grow_run(r, &growing[which], block);
		}
		if (growing[which].length == growing[which].goal)
			growing[which] = growing[--count];
	}
	atomic_store(&r->is_put, true);
	return NULL;
}

/* ---- consumers ---- */

static void check_words(struct round *r, uint32_t block)
{
	const uint64_t *words = ring_data(r->ring, block);
	const struct label *label = ring_label(r->ring, block);
	size_t count = (ring_bytes(r->ring, block) + 7) / 8;

	for (size_t i = 0; i < count; i++)
		if (words[i] != word_at(label->position, i)) {
			wrong("torn: position %llu, word %zu", (unsigned long long)label->position, i);
			return;
		}
}

static void check_block(struct consumer *c, struct open_run *o)
{
	const struct label *label = ring_label(c->round->ring, o->block);

	check_words(c->round, o->block);
	if (dice(&c->seed, 8) == 0)
		sched_yield();
	if (dice(&c->seed, 512) == 0)
		sleep_us(50);
	check_words(c->round, o->block);
	if (o->length == 0)
		o->run = label->run;
	if (label->run != o->run || label->index != o->length || o->length == RUN_LENGTH_MAX ||
	    label->position >= POSITION_MAX) {
		wrong("run %u: block %u of it is block %u of run %u", o->run, o->length,
		      label->index, label->run);
		return;
	}
	o->positions[o->length++] = label->position;
}

static void give_one_back(struct consumer *c)
{
	uint32_t i = dice(&c->seed, c->held_count);

	ring_give_back(c->round->ring, c->held[i]);
	c->held[i] = c->held[--c->held_count];
}

static void hold(struct consumer *c, uint32_t block)
{
	if (c->held_count == HELD_MAX)
		give_one_back(c);
	c->held[c->held_count++] = block;
}

static void make_final(struct consumer *c, uint64_t position)
{
	atomic_fetch_add(&final_times[position], 1);
	atomic_fetch_add(&c->round->final_count, 1);
}

/* Return: whether the run went on by one block or ended (then it is removed from the list). */
static bool follow(struct consumer *c, uint32_t which)
{
	struct open_run *o = &c->open[which];
	uint32_t next = ring_next(c->round->ring, o->block), block = o->first;

	if (next == RING_NONE)
		return false;
	if (!o->is_kept) {
		make_final(c, o->positions[o->length - 1]);
		hold(c, o->block);
	}
	if (next != RING_END) {
		o->block = next;
		check_block(c, o);
		return true;
	}
	for (uint32_t i = 0; o->is_kept && i < o->length; i++, block = next) {
		next = ring_next(c->round->ring, block); /* before the block goes back */
		check_words(c->round, block);
		make_final(c, o->positions[i]);
		hold(c, block);
	}
	if (atomic_exchange(&final_lengths[o->run], (uint8_t)o->length) != 0)
		wrong("run %u ended twice", o->run);
	*o = c->open[--c->open_count];
	return true;
}

static bool claim(struct consumer *c)
{
	struct open_run *o = &c->open[c->open_count];
	uint32_t block;

	if (c->open_count == OPEN_MAX)
		return false;
	block = ring_claim(c->round->ring, RING_RESCUE);
	if (block == RING_NONE)
		block = ring_claim(c->round->ring, c->number);
	if (block == RING_NONE)
		return false;
	*o = (struct open_run){ .first = block, .block = block };
	o->is_kept = !c->round->is_small && (c->number == FAILING || dice(&c->seed, 2));
	c->open_count++;
	check_block(c, o);
	c->runs_left -= c->runs_left != UINT32_MAX && c->runs_left > 0;
	return true;
}

/* Hands over what nothing was given back of; in a small ring the others are finished first. */
static bool fail(struct consumer *c)
{
	struct ring *ring = c->round->ring;

	for (uint32_t i = 0; i < c->open_count; i++)
		if (!c->open[i].is_kept && c->open[i].length > 1)
			return false;
	atomic_store(&c->round->is_served[c->number], false);
	while (c->open_count > 0) {
		ring_hand_over(ring, c->open[--c->open_count].first);
		atomic_fetch_add(&c->round->handed_over_count, 1);
	}
	atomic_fetch_add(&c->round->rescued_count, ring_rescue(ring, c->number));
	while (c->held_count > 0)
		give_one_back(c);
	return true;
}

/* Keeps its open runs as they are until it is let go; all of it must still be whole then. */
static void be_stuck(struct consumer *c)
{
	while (c->held_count > 0)
		give_one_back(c);
	atomic_store(&c->round->is_stuck, true);
	while (!atomic_load(&c->round->is_freed))
		sleep_us(200);
	for (uint32_t i = 0; i < c->open_count; i++)
		check_words(c->round, c->open[i].block);
	c->runs_left = UINT32_MAX;
}

static void *consume(void *arg)
{
	struct consumer *c = arg;
	struct ring *ring = c->round->ring;

	for (;;) {
		uint32_t ticket = ring_listen(ring, c->number);
		bool has_moved = claim(c);

		if (c->runs_left == 0 && c->number == FAILING && fail(c))
			return NULL;
		if (c->runs_left == 0 && c->number == STUCK && c->open_count > 0)
			be_stuck(c);
		for (uint32_t i = c->open_count; i > 0; i--)
			has_moved |= follow(c, i - 1);
		if (c->held_count > 0 && (!has_moved || dice(&c->seed, 3) == 0))
			give_one_back(c);
		else if (!has_moved && atomic_load(&c->round->is_over))
			return NULL;
		else if (!has_moved) {
			c->sleep_count++;
			ring_sleep(ring, c->number, ticket, INT64_MAX);
		}
	}
}

/* ---- rounds ---- */

/* Blocks that the stuck consumer keeps from becoming final; the producer is through, so all runs have ended. */
static uint64_t count_kept(struct round *r)
{
	const struct consumer *c = &r->consumers[STUCK];
	uint64_t count = 0;

	for (uint32_t i = 0; atomic_load(&r->is_stuck) && i < c->open_count; i++)
		for (uint32_t block = c->open[i].is_kept ? c->open[i].first : c->open[i].block;
		     block != RING_END && block != RING_NONE; block = ring_next(r->ring, block))
			count++;
	return count;
}

/* The watchdog: finds the stuck one, and suspects healthy ones now and then. */
static void watch(struct round *r)
{
	while (!atomic_load(&r->is_put)) {
		uint32_t suspect = dice(&r->watch_seed, CONSUMERS);

		sleep_us(dice(&r->watch_seed, 2000));
		if (atomic_load(&r->is_stuck))
			atomic_store(&r->is_served[STUCK], false);
		if (!atomic_load(&r->is_served[suspect]) || dice(&r->watch_seed, 4) == 0)
			atomic_fetch_add(&r->rescued_count, ring_rescue(r->ring, suspect));
	}
	if (atomic_load(&r->is_stuck)) {
		atomic_store(&r->is_served[STUCK], false);
		atomic_fetch_add(&r->rescued_count, ring_rescue(r->ring, STUCK));
	}
}

static bool wait_for_final(struct round *r)
{
	int64_t deadline_ns = now_ns() + PATIENCE_NS;

	while (now_ns() < deadline_ns) {
		if (atomic_load(&r->final_count) + count_kept(r) == r->put_count)
			return true;
		if (atomic_load(&r->is_stuck) && ring_queue_length(r->ring, STUCK) > 0)
			ring_rescue(r->ring, STUCK); /* it got stuck after the watchdog's last look */
		sleep_us(200);
	}
	wrong("%llu blocks put, %llu final, %llu kept: somebody sleeps or they are lost",
	      (unsigned long long)r->put_count, (unsigned long long)atomic_load(&r->final_count),
	      (unsigned long long)count_kept(r));
	return false;
}

static void check_round(struct round *r)
{
	for (uint64_t p = 0; p < r->put_count; p++) {
		if (atomic_load(&final_times[p]) != 1)
			wrong("position %llu is final %d times", (unsigned long long)p,
			      atomic_load(&final_times[p]));
		atomic_store(&final_times[p], 0);
	}
	for (uint64_t run = 0; run < r->run_count; run++) {
		if (atomic_load(&final_lengths[run]) != put_lengths[run])
			wrong("run %llu had %d blocks, %d came", (unsigned long long)run,
			      put_lengths[run], atomic_load(&final_lengths[run]));
		atomic_store(&final_lengths[run], 0);
	}
	if (ring_free_count(r->ring) != ring_block_count(r->ring))
		wrong("%u of %u blocks came back", ring_free_count(r->ring), ring_block_count(r->ring));
	if (ring_level(r->ring).held_bytes != 0)
		wrong("%llu bytes are left in the ring",
		      (unsigned long long)ring_level(r->ring).held_bytes);
}

/* Return: false when threads are asleep for ever; then nothing more can be done. */
static bool run_round(struct round *r, unsigned seed)
{
	struct ring_config config = { .block_bytes = BLOCK_BYTES,
				      .queue_count = CONSUMERS,
				      .label_bytes = sizeof(struct label) };

	memset(r, 0, sizeof(*r));
	r->seed = seed;
	r->watch_seed = ~seed;
	r->is_small = seed % 2;
	r->is_shared = seed / 4 % 4 == 0;
	r->end_ns = now_ns() + ROUND_NS;
	config.block_count = r->is_small ? 4 + 2 * dice(&r->seed, 5) : 64 + dice(&r->seed, 64);
	config.memory = aligned_alloc(4096, (BLOCK_BYTES * config.block_count + 4095) / 4096 * 4096);
	if (!config.memory || ring_create(&r->ring, &config) < 0) {
		wrong("no ring");
		return false;
	}
	for (uint32_t i = 0; i < CONSUMERS; i++) {
		r->is_served[i] = true;
		r->consumers[i] = (struct consumer){
			.round = r, .number = i, .seed = seed * 31 + i, .runs_left = UINT32_MAX
		};
	}
	if (!r->is_small)
		r->consumers[STUCK].runs_left = 1 + dice(&r->seed, 3000);
	if (seed / 2 % 2)
		r->consumers[FAILING].runs_left = 1 + dice(&r->seed, 3000);
	for (uint32_t i = 0; i < CONSUMERS; i++)
		if (pthread_create(&r->consumers[i].thread, NULL, consume, &r->consumers[i]) != 0)
			abort();
	if (pthread_create(&r->producer, NULL, produce, r) != 0)
		abort();
	watch(r);
	pthread_join(r->producer, NULL);
	if (!wait_for_final(r))
		return false;
	atomic_store(&r->is_freed, true);
	atomic_store(&r->is_over, true);
	ring_wake_all(r->ring);
	for (uint32_t i = 0; i < CONSUMERS; i++)
		pthread_join(r->consumers[i].thread, NULL);
	check_round(r);
	ring_free(r->ring);
	free(config.memory);
	return true;
}

int main(void)
{
	const char *seconds = getenv("STRESS_SECONDS"), *wanted_seed = getenv("STRESS_SEED");
	int64_t end_ns = now_ns() + (int64_t)((seconds ? atof(seconds) : 3) * 1e9);
	unsigned seed = wanted_seed ? (unsigned)atoi(wanted_seed) : (unsigned)now_ns();
	uint64_t blocks = 0, runs = 0, rescued = 0, handed_over = 0, sleeps = 0, rounds = 0, stuck = 0;
	static struct round round;

	printf("seed %u\n", seed);
	fflush(stdout);
	do {
		if (!run_round(&round, seed + (unsigned)rounds))
			break;
		rounds++;
		blocks += round.put_count;
		runs += round.run_count;
		rescued += atomic_load(&round.rescued_count);
		handed_over += atomic_load(&round.handed_over_count);
		stuck += atomic_load(&round.is_stuck);
		for (uint32_t i = 0; i < CONSUMERS; i++)
			sleeps += round.consumers[i].sleep_count;
	} while (now_ns() < end_ns && atomic_load(&wrong_count) == 0);
	printf("%llu rounds: %llu blocks in %llu runs, %llu runs rescued, %llu handed over, %llu times stuck, %llu sleeps\n",
	       (unsigned long long)rounds, (unsigned long long)blocks, (unsigned long long)runs,
	       (unsigned long long)rescued, (unsigned long long)handed_over,
	       (unsigned long long)stuck, (unsigned long long)sleeps);
	if (atomic_load(&wrong_count) > 0)
		printf("FAILED: %llu things are wrong\n",
		       (unsigned long long)atomic_load(&wrong_count));
	return atomic_load(&wrong_count) > 0;
}
