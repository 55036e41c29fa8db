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

struct interfere {
	int fd;
	uint64_t file_bytes;
	char *data;      /* FILL_BYTES */
	uint64_t chance; /* the thread's */
	pthread_t thread;
	struct bell bell;
	_Atomic uint64_t due_count;     /* whoever tells */
	_Atomic bool is_over;           /* the same */
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

static void *interfere_main(void *arg)
{
	struct interfere *x = arg;
	uint64_t done = 0;

	pthread_setname_np(pthread_self(), "interfere");
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

/* Written, not only allocated: what was never written is read without the disk. */
static int fill_file(struct interfere *x, uint64_t most_bytes)
{
	int64_t until_ns = units_monotonic_ns() + INTERFERE_FILL_NS;

	while (x->file_bytes + FILL_BYTES <= most_bytes && units_monotonic_ns() < until_ns) {
		ssize_t n;

		sim_fill(x->data, FILL_BYTES, x->file_bytes, 0);
		n = pwrite(x->fd, x->data, FILL_BYTES, (off_t)x->file_bytes);
		if (n < 0 && errno != EINTR)
			return -errno;
		x->file_bytes += n > 0 ? (uint64_t)n / PAGE_BYTES * PAGE_BYTES : 0;
	}
	return x->file_bytes < FILL_BYTES ? -ENOSPC : 0;
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

int interfere_start(struct interfere **out, const struct target *target, uint64_t most_bytes)
{
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
	x->data = aligned_alloc(PAGE_BYTES, FILL_BYTES);
	x->fd = x->data ? open_file(target) : -ENOMEM;
	if (most_bytes == 0)
		most_bytes = INTERFERE_FILE_BYTES;
	if (scratch_file_most(target) < most_bytes)
		most_bytes = scratch_file_most(target);
	ret = x->fd < 0 ? x->fd : fill_file(x, scratch_room_bytes(target, most_bytes));
	if (ret == 0)
		ret = -pthread_create(&x->thread, NULL, interfere_main, x);
	if (ret < 0) {
		free_all(x);
		return ret;
	}
	*out = x;
	return 0;
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
