/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <time.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tests/fake_disk.h"
#include "tests/scratch.h"
#include "tools/qualify/scratch.h"
#include "tools/qualify/sweeps.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define MS INT64_C(1000000)
#define DISK_RATE (512 * MIB) /* bytes/s of the disk below */
#define SIZES 13              /* 4 KiB .. 16 MiB */

/*
 * A disk whose time is that of its bytes: each write comes back when all before it are through. It keeps no
 * data. So much of them it takes at once, into its cache, which is never emptied.
 */
struct paced_disk {
	struct sink_io io; /* the first member */
	pthread_mutex_t lock;
	uint64_t cache_bytes, written_bytes, end_bytes; /* the last: behind all that was written */
	int64_t free_ns;                                /* when it has done what it was given */
	uint64_t error_at, count; /* the write that fails, from 1 on; 0 = none */
	int error;
};

static char folder[64];
static struct target target;
static struct trial_sweep sweep;

static int setup(void **state)
{
	char error[TARGET_ERROR_LEN];

	(void)state;
	memset(&sweep, 0, sizeof(sweep));
	return scratch_make(folder, sizeof(folder), NULL) < 0 ? -1 :
								target_open(&target, folder, error);
}

static int teardown(void **state)
{
	(void)state;
	target_close(&target);
	return scratch_remove(folder);
}

static ssize_t paced_write(const struct sink_io *io, int fd, const void *data, size_t bytes, off_t offset)
{
	struct paced_disk *disk = (struct paced_disk *)io;
	int64_t now_ns = units_monotonic_ns(), until_ns;
	struct timespec until;
	int code = 0;

	(void)fd;
	(void)data;
	pthread_mutex_lock(&disk->lock);
	if (++disk->count == disk->error_at)
		code = disk->error;
	disk->written_bytes += bytes;
	if ((uint64_t)offset + bytes > disk->end_bytes)
		disk->end_bytes = (uint64_t)offset + bytes;
	if (disk->free_ns < now_ns)
		disk->free_ns = now_ns;
	if (disk->written_bytes > disk->cache_bytes)
		disk->free_ns += (int64_t)bytes * UNITS_NS_PER_S / (int64_t)DISK_RATE;
	until_ns = disk->free_ns;
	pthread_mutex_unlock(&disk->lock);
	until = (struct timespec){ until_ns / UNITS_NS_PER_S, until_ns % UNITS_NS_PER_S };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	errno = code;
	return code ? -1 : (ssize_t)bytes;
}

static int paced_allocate(const struct sink_io *io, int fd, off_t offset, off_t bytes)
{
	(void)io;
	(void)fd;
	(void)offset;
	(void)bytes;
	return 0;
}

static void paced_disk_init(struct paced_disk *disk)
{
	*disk = (struct paced_disk){ .io = sink_system_io };
	disk->io.write = paced_write;
	disk->io.allocate = paced_allocate;
	pthread_mutex_init(&disk->lock, NULL);
}

static struct sweep_config config_of(const struct sink_io *io, int64_t point_ns)
{
	return (struct sweep_config){
		.target = &target,
		.point_ns = point_ns,
		.most_bytes = 128 * MIB,
		.use_direct = true,
		.block_bytes = MIB,
		.io = io,
	};
}

static unsigned count_names(void)
{
	DIR *dir = opendir(folder);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2; /* . and .. */
}

/* ---- rates ---- */

/* It can't be faster than the disk; how near it comes depends on who else wants the processors. */
static bool is_near_from(unsigned first)
{
	bool is_near = true;

	assert_int_equal(sweep.count, SIZES);
	for (unsigned i = 0; i < SIZES; i++) {
		const struct trial_point *point = &sweep.points[i];

		assert_int_equal(point->block_bytes, 4 * KIB << i);
		assert_int_equal(point->depth, engine_usual_depth(point->block_bytes));
		assert_true(point->bytes >= 2 * point->block_bytes &&
			    point->median_ns <= point->worst_ns);
		assert_true(point->rate_bps <= 1.01 * 8 * DISK_RATE);
		if (i >= first && point->rate_bps < 0.9 * 8 * DISK_RATE)
			is_near = false;
	}
	return is_near;
}

static void a_slow_disk_is_found_slow_with_every_size(void **state)
{
	bool is_near = false;

	(void)state;
	for (int attempt = 0; attempt < 3 && !is_near; attempt++) {
		struct paced_disk disk;
		struct sweep_config config;

		paced_disk_init(&disk);
		config = config_of(&disk.io, 60 * MS);
		assert_int_equal(sweep_blocks(&config, &sweep), 0);
		assert_string_equal(sweep.error, "");
		assert_true(disk.end_bytes <= 128 * MIB); /* it began again when there was no more room */
		is_near = is_near_from(4);
	}
	assert_true(is_near);
	assert_true(sweep.knee >= 0 && sweep.points[sweep.knee].block_bytes <= 128 * KIB);
}

/* Going up alone, all blocks that fit into the cache would look as if they were the fast ones. */
static void what_a_cache_takes_once_does_not_count(void **state)
{
	struct paced_disk disk;
	struct sweep_config config;

	(void)state;
	paced_disk_init(&disk);
	disk.cache_bytes = 100 * MIB;
	config = config_of(&disk.io, 20 * MS);
	assert_int_equal(sweep_blocks(&config, &sweep), 0);
	assert_true(disk.written_bytes > disk.cache_bytes);
	(void)is_near_from(SIZES); /* none is faster than the disk */
}

static void depths_go_from_one_to_thirty_two(void **state)
{
	struct paced_disk disk;
	struct sweep_config config;

	(void)state;
	paced_disk_init(&disk);
	config = config_of(&disk.io, 40 * MS);
	assert_int_equal(sweep_depths(&config, &sweep), 0);
	assert_int_equal(sweep.count, 6);
	for (unsigned i = 0; i < sweep.count; i++) {
		assert_int_equal(sweep.points[i].depth, 1 << i);
		assert_int_equal(sweep.points[i].block_bytes, MIB);
		assert_true(sweep.points[i].rate_bps > 0 &&
			    sweep.points[i].rate_bps <= 1.01 * 8 * DISK_RATE);
	}
	disk.cache_bytes = UINT64_MAX;
	config.point_ns = 4 * MS;
	config.block_bytes = 16 * MIB; /* 32 of them are more than there is memory for */
	assert_int_equal(sweep_depths(&config, &sweep), 0);
	assert_int_equal(sweep.count, 5);
	assert_non_null(strstr(sweep.note, "16 MiB, 32 in flight"));
}

static void the_knee_is_the_smallest_that_is_nearly_the_best(void **state)
{
	const double rates[] = { 10, 94, 95.1, 90, 100 };

	(void)state;
	assert_int_equal(sweep_knee(&sweep), -1);
	for (unsigned i = 0; i < 5; i++)
		sweep.points[sweep.count++].rate_bps = rates[i];
	assert_int_equal(sweep_knee(&sweep), 2);
}

/* ---- real writes ---- */

static void real_writes_leave_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sweep_config config = config_of(NULL, 4 * MS);

		config.engine = i == 0 ? ENGINE_AUTO : ENGINE_PWRITE;
		config.use_direct = i == 0;
		config.most_bytes = 64 * MIB;
		assert_int_equal(sweep_blocks(&config, &sweep), 0);
		assert_int_equal(sweep.count, SIZES);
		for (unsigned k = 0; k < SIZES; k++)
			assert_true(sweep.points[k].rate_bps > 0 && sweep.points[k].cpu_share > 0);
		assert_true(sweep.knee >= 0);
		assert_int_equal(count_names(), 0);
	}
}

/* ---- when it does not go well ---- */

static void an_error_names_path_write_and_reason(void **state)
{
	struct paced_disk disk;
	struct sweep_config config;

	(void)state;
	paced_disk_init(&disk);
	disk.error = EIO;
	config = config_of(&disk.io, 20 * MS);
	config.depth = 1;
	disk.error_at = 1;
	assert_int_equal(sweep_blocks(&config, &sweep), -EIO);
	assert_non_null(strstr(sweep.error, folder));
	assert_non_null(strstr(sweep.error,
			       "writing 4096 bytes at 0 of a scratch file: Input/output error"));
	assert_int_equal(sweep.count, 0);
	assert_int_equal(sweep.knee, -1);
}

/* As a recording does: through the page cache, and synced. */
static void direct_writes_may_be_refused_late(void **state)
{
	struct paced_disk disk;
	struct sweep_config config;

	(void)state;
	paced_disk_init(&disk);
	disk.cache_bytes = UINT64_MAX;
	disk.error_at = 10;
	disk.error = EINVAL;
	config = config_of(&disk.io, 2 * MS);
	assert_int_equal(sweep_blocks(&config, &sweep), 0);
	assert_int_equal(sweep.count, SIZES);
	assert_non_null(strstr(sweep.note, "refuses direct I/O"));
	disk.error_at = disk.count + 10; /* of a write that is not direct it is an error */
	config.use_direct = false;
	assert_int_equal(sweep_blocks(&config, &sweep), -EINVAL);
}

static void without_room_large_blocks_are_left_out(void **state)
{
	struct paced_disk disk;
	struct sweep_config config;

	(void)state;
	paced_disk_init(&disk);
	disk.cache_bytes = UINT64_MAX;
	config = config_of(&disk.io, 2 * MS);
	config.most_bytes = MIB;
	assert_int_equal(sweep_blocks(&config, &sweep), 0);
	assert_int_equal(sweep.points[sweep.count - 1].block_bytes, MIB);
	assert_true(disk.end_bytes <= MIB);
	assert_non_null(strstr(sweep.note, "left out for want of room: "));
	config.most_bytes = 4 * KIB - 1;
	assert_int_equal(sweep_blocks(&config, &sweep), -ENOSPC);
	assert_non_null(strstr(sweep.error, folder));
}

struct watched {
	struct trial_control control; /* the first member */
	unsigned told_count;
	double done;
};

static void tell(const struct trial_control *control, const struct trial_progress *progress)
{
	struct watched *watched = (struct watched *)control;

	watched->told_count++;
	assert_true(progress->done >= watched->done && progress->done <= 1);
	watched->done = progress->done;
	assert_non_null(progress->detail);
	if (progress->done > 0.05) /* the second point */
		atomic_store(&watched->control.is_cancelled, true);
}

static void it_tells_and_is_cancelled(void **state)
{
	struct watched watched = { .control.tell = tell };
	struct sweep_config config = config_of(NULL, 400 * MS);
	int64_t from_ns = units_monotonic_ns();

	(void)state;
	config.control = &watched.control;
	assert_int_equal(sweep_blocks(&config, &sweep), -ECANCELED);
	assert_string_equal(sweep.error, "");
	assert_true(watched.told_count >= 1);
	assert_true(watched.told_count <= (uint64_t)(units_monotonic_ns() - from_ns) / (100 * MS) + 1);
	assert_true(sweep.count >= 1 && sweep.count < SIZES); /* what it had counts */
	assert_int_equal(count_names(), 0);
}

static void *cancel_when_stuck(void *arg)
{
	struct watched *watched = arg;

	while (!atomic_load(&((struct fake_disk *)watched->control.context)->is_stuck))
		sched_yield();
	atomic_store(&watched->control.is_cancelled, true);
	return NULL;
}

/* A write that doesn't come back holds nobody; its memory stays. */
static void a_dead_disk_does_not_hold_who_is_cancelled(void **state)
{
	static struct fake_disk disk; /* longer than the test: the writes are in there */
	struct watched watched = { .control.context = &disk };
	struct sweep_config config;
	pthread_t thread;

	(void)state;
	fake_disk_init(&disk);
	disk.stuck_at[FAKE_WRITE] = 100;
	config = config_of(&disk.io, 1000 * MS);
	config.control = &watched.control;
	assert_int_equal(pthread_create(&thread, NULL, cancel_when_stuck, &watched), 0);
	assert_int_equal(sweep_blocks(&config, &sweep), -ECANCELED);
	pthread_join(thread, NULL);
	fake_disk_release(&disk);
	assert_int_equal(count_names(), 0);
}

static _Atomic uint64_t least_free_bytes;

static int watched_allocate(const struct sink_io *io, int fd, off_t offset, off_t bytes)
{
	int ret = sink_system_io.allocate(io, fd, offset, bytes);
	struct statvfs vfs;

	if (fstatvfs(fd, &vfs) == 0 && vfs.f_bavail * vfs.f_frsize < atomic_load(&least_free_bytes))
		atomic_store(&least_free_bytes, vfs.f_bavail * vfs.f_frsize);
	return ret;
}

static void a_small_disk_is_never_filled(void **state)
{
	struct sink_io io = sink_system_io;
	struct sweep_config config;
	char error[TARGET_ERROR_LEN];
	uint64_t reserve;

	(void)state;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		print_message("mounting a small file system needs root\n");
		skip();
	}
	assert_int_equal(mount("none", folder, "tmpfs", 0, "size=40m"), 0);
	target_close(&target);
	assert_int_equal(target_open(&target, folder, error), 0);
	io.allocate = watched_allocate;
	config = config_of(&io, 4 * MS);
	config.most_bytes = 0;
	atomic_store(&least_free_bytes, UINT64_MAX);
	reserve = scratch_reserve_bytes(target.total_bytes);
	assert_int_equal(sweep_blocks(&config, &sweep), 0);
	assert_int_equal(sweep.count, SIZES);
	assert_true(atomic_load(&least_free_bytes) >= reserve);
	assert_true(atomic_load(&least_free_bytes) < reserve + MIB); /* and used up to there */
	target_close(&target);
	assert_int_equal(umount(folder), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_slow_disk_is_found_slow_with_every_size),
		TEST(what_a_cache_takes_once_does_not_count),
		TEST(depths_go_from_one_to_thirty_two),
		TEST(the_knee_is_the_smallest_that_is_nearly_the_best),
		TEST(real_writes_leave_nothing),
		TEST(an_error_names_path_write_and_reason),
		TEST(direct_writes_may_be_refused_late),
		TEST(without_room_large_blocks_are_left_out),
		TEST(it_tells_and_is_cancelled),
		TEST(a_dead_disk_does_not_hold_who_is_cancelled),
		TEST(a_small_disk_is_never_filled), /* last: it leaves the common name space */
	};

	return cmocka_run_group_tests_name("sweeps", tests, NULL, NULL);
}
