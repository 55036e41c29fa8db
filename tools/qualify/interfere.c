/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/interfere.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drivers/sim.h"
#include "drivers/units.h"
#include "ringbuf/bell.h"
#include "tools/qualify/scratch.h"

#define PAGE_BYTES 4096
#define PAGES_MAX 16 /* of an operation: 64 KiB */
#define FILL_BYTES (UINT64_C(1) << 20)
#define STOP_NS UNITS_NS_PER_S
#define FILLING 1
#define LOOK_NS (UNITS_NS_PER_S / 50)
#define GIVE_UP_NS (30 * UNITS_NS_PER_S)

struct interfere {
	int fd;
	uint64_t file_bytes;
	char *data;      /* FILL_BYTES */
	uint64_t chance; /* the thread's */
	pthread_t thread;
	struct bell bell;
	_Atomic uint64_t due_count;     /* whoever tells */
	_Atomic bool is_over;           /* the same */
	uint64_t most_bytes;            /* of the file */
	_Atomic int filled;             /* the thread's: FILLING; 0; -errno */
	struct interfere_counts counts; /* the thread's until it has been joined */
};

static uint64_t next_chance(struct interfere *x)
{
	x->chance ^= x->chance << 13;
	x->chance ^= x->chance >> 7;
	x->chance ^= x->chance << 17;
	return x->chance;
}

static void do_one(struct interfere *x, bool is_write)
{
	size_t bytes = (1 + next_chance(x) % PAGES_MAX) * PAGE_BYTES;
	uint64_t places = (x->file_bytes - bytes) / PAGE_BYTES + 1;
	off_t offset = (off_t)(next_chance(x) % places * PAGE_BYTES);
	ssize_t n = is_write ? pwrite(x->fd, x->data, bytes, offset) :
			       pread(x->fd, x->data, bytes, offset);

	if (n < 0) {
		x->counts.error_count++;
		if (!x->counts.error)
			x->counts.error = -errno;
		return;
	}
	*(is_write ? &x->counts.write_count : &x->counts.read_count) += 1;
	*(is_write ? &x->counts.write_bytes : &x->counts.read_bytes) += (uint64_t)n;
}

/* Written, not only allocated: what was never written is read without the disk. */
static int fill_file(struct interfere *x)
{
	int64_t until_ns = units_monotonic_ns() + INTERFERE_FILL_NS;

	/* relaxed: nothing travels with it */
	while (x->file_bytes + FILL_BYTES <= x->most_bytes && units_monotonic_ns() < until_ns &&
	       !atomic_load_explicit(&x->is_over, memory_order_relaxed)) {
		ssize_t n;

		sim_fill(x->data, FILL_BYTES, x->file_bytes, 0);
		n = pwrite(x->fd, x->data, FILL_BYTES, (off_t)x->file_bytes);
		if (n < 0 && errno != EINTR)
			return -errno;
		x->file_bytes += n > 0 ? (uint64_t)n / PAGE_BYTES * PAGE_BYTES : 0;
	}
	return x->file_bytes < FILL_BYTES ? -ENOSPC : 0;
}

static void *interfere_main(void *arg)
{
	struct interfere *x = arg;
	uint64_t done = 0;

	pthread_setname_np(pthread_self(), "interfere");
	/* release: whoever started us sees a file that is whole, see await_filled() */
	atomic_store_explicit(&x->filled, fill_file(x), memory_order_release);
	while (!atomic_load_explicit(&x->is_over, memory_order_acquire)) {
		uint32_t ticket = bell_listen(&x->bell);

		/* relaxed: nothing travels with the figure */
		if (done < atomic_load_explicit(&x->due_count, memory_order_relaxed))
			do_one(x, done++ % 2);
		else
			bell_sleep(&x->bell, ticket, units_monotonic_ns() + UNITS_NS_PER_S / 10);
	}
	return NULL;
}

static void free_all(struct interfere *x)
{
	if (x->fd >= 0)
		close(x->fd);
	free(x->data);
	free(x);
}

static int open_file(const struct target *target)
{
	int fd = scratch_open(target->dir_fd, O_DIRECT);

	return fd == -EINVAL ? scratch_open(target->dir_fd, O_DSYNC) : fd;
}

/* The disk may never answer. Return: 0; -ECANCELED; -ETIMEDOUT; -errno of filling the file. */
static int await_filled(const struct interfere *x, const struct trial_control *control)
{
	int64_t until_ns = units_monotonic_ns() + GIVE_UP_NS;
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	int filled;

	/* acquire: pairs with interfere_main() */
	while ((filled = atomic_load_explicit(&x->filled, memory_order_acquire)) == FILLING) {
		/* relaxed: nothing travels with it */
		if (control && atomic_load_explicit(&control->is_cancelled, memory_order_relaxed))
			return -ECANCELED;
		if (units_monotonic_ns() > until_ns)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return filled;
}

int interfere_start(struct interfere **out, const struct target *target, uint64_t most_bytes,
		    const struct trial_control *control)
{
	uint64_t file_most = scratch_file_most(target);
	struct interfere *x;
	int ret;

	*out = NULL;
	if (target->kind != TARGET_DIRECTORY)
		return -EINVAL;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	bell_init(&x->bell);
	x->chance = (uint64_t)units_realtime_ns() | 1;
	atomic_init(&x->filled, FILLING);
	if (most_bytes == 0)
		most_bytes = INTERFERE_FILE_BYTES;
	x->most_bytes = scratch_room_bytes(target, most_bytes < file_most ? most_bytes : file_most);
	x->data = aligned_alloc(PAGE_BYTES, FILL_BYTES);
	x->fd = x->data ? open_file(target) : -ENOMEM;
	ret = x->fd < 0 ? x->fd : -pthread_create(&x->thread, NULL, interfere_main, x);
	if (ret < 0) {
		free_all(x);
		return ret;
	}
	ret = await_filled(x, control);
	if (ret < 0)
		interfere_stop(x, NULL);
	else
		*out = x;
	return ret;
}

void interfere_tell(struct interfere *interfere, uint64_t stream_bytes)
{
	atomic_store_explicit(&interfere->due_count, stream_bytes / INTERFERE_EVERY_BYTES,
			      memory_order_relaxed);
	bell_ring(&interfere->bell);
}

bool interfere_stop(struct interfere *interfere, struct interfere_counts *counts)
{
	int64_t until = units_realtime_ns() + STOP_NS;
	struct timespec ts = { .tv_sec = until / UNITS_NS_PER_S, .tv_nsec = until % UNITS_NS_PER_S };

	if (counts)
		memset(counts, 0, sizeof(*counts));
	if (!interfere)
		return true;
	/* release: not needed for data; the thread's counts are ours when it is joined */
	atomic_store_explicit(&interfere->is_over, true, memory_order_release);
	bell_ring(&interfere->bell);
	if (pthread_timedjoin_np(interfere->thread, NULL, &ts) != 0)
		return false;
	if (counts) {
		*counts = interfere->counts;
		counts->due_count = atomic_load_explicit(&interfere->due_count, memory_order_relaxed);
	}
	free_all(interfere);
	return true;
}
