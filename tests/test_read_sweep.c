/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tests/scratch.h"
#include "tools/qualify/read_sweep.h"

#define MIB (UINT64_C(1) << 20)
#define MS INT64_C(1000000)
#define DEVICE_BYTES (210 * MIB)
#define OUTER_RATE \
	(1024 * MIB) /* bytes/s at the beginning of the disk below, and half of it at the end */

static char folder[64], device[80];
static struct target target;
static struct trial_read result;
static int64_t free_ns; /* when the disk has read what it was asked for */
static uint64_t bad_from, bad_end, lowest, highest; /* can't be read; what was asked for */

static int setup(void **state)
{
	char error[TARGET_ERROR_LEN];

	(void)state;
	free_ns = 0;
	bad_from = bad_end = highest = 0;
	lowest = UINT64_MAX;
	return scratch_make(folder, sizeof(folder), NULL) < 0 ? -1 :
								target_open(&target, folder, error);
}

static int teardown(void **state)
{
	(void)state;
	target_close(&target);
	return scratch_remove(folder);
}

/* A file stands for the device. */
static void make_device(void)
{
	int fd;

	snprintf(device, sizeof(device), "%s/device", folder);
	fd = open(device, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, DEVICE_BYTES), 0);
	close(fd);
	fd = open(device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0) {
		print_message("no direct I/O in %s\n", folder);
		skip();
	}
	close(fd);
}

/* Its time is that of its bytes, and they take longer the further in they lie; it keeps up with the clock. */
static ssize_t paced_read(int fd, void *buf, size_t bytes, off_t offset)
{
	double rate = (double)OUTER_RATE * (1 - 0.5 * (double)offset / DEVICE_BYTES);
	int64_t now_ns = units_monotonic_ns();
	struct timespec until;

	(void)fd;
	(void)buf;
	if ((uint64_t)offset < bad_end && (uint64_t)offset + bytes > bad_from) {
		errno = EIO;
		return -1;
	}
	lowest = (uint64_t)offset < lowest ? (uint64_t)offset : lowest;
	highest = (uint64_t)offset + bytes > highest ? (uint64_t)offset + bytes : highest;
	free_ns = (free_ns < now_ns ? now_ns : free_ns) + (int64_t)((double)bytes / rate * 1e9);
	until = (struct timespec){ free_ns / UNITS_NS_PER_S, free_ns % UNITS_NS_PER_S };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	return (ssize_t)bytes;
}

static struct read_sweep_config config_of(void)
{
	return (struct read_sweep_config){
		.device = device,
		.time_ns = 50 * MS,
		.position_ns = 10 * MS,
		.read = paced_read,
	};
}

static void every_part_of_a_device_is_read(void **state)
{
	struct read_sweep_config config = config_of();

	(void)state;
	make_device();
	assert_int_equal(read_sweep(&config, &result), 0);
	assert_true(result.was_run);
	assert_string_equal(result.error, "");
	assert_int_equal(result.count, READ_SWEEP_POSITIONS);
	assert_true(lowest == 0 && highest > DEVICE_BYTES - 10 * MIB && highest <= DEVICE_BYTES);
	assert_true(result.sequential_bps > 0 && result.repeated_bps > 0);
	for (unsigned i = 0; i < result.count; i++) {
		double position = i / 20.0;
		/* no faster than the disk is where the stretch begins */
		double most = 8.0 * OUTER_RATE * (1 - 0.5 * position * 200 / 210) * 1.01;

		assert_true(result.points[i].position == position);
		assert_true(result.points[i].rate_bps > 0 && result.points[i].rate_bps <= most);
	}
	assert_true(result.inner_ratio > 0 && result.inner_ratio <= 1);
}

static void the_ratio_is_that_of_the_medians(void **state)
{
	struct trial_read read = { .count = 5 };

	(void)state;
	assert_true(read_sweep_inner_ratio(&read) == -1);
	for (read.count = 0; read.count < 21; read.count++)
		read.points[read.count].rate_bps = 200 - 5 * read.count;
	read.points[0].rate_bps = 1; /* one that something came between */
	assert_true(read_sweep_inner_ratio(&read) == 105.0 / 190);
	read.points[1].rate_bps = read.points[2].rate_bps = 50; /* either end may be the slower one */
	assert_true(read_sweep_inner_ratio(&read) == 50.0 / 105);
}

static void what_cannot_be_read_is_named_and_the_rest_is_read(void **state)
{
	struct read_sweep_config config = config_of();

	(void)state;
	make_device();
	bad_from = 100 * MIB + 4096;
	bad_end = 120 * MIB;
	assert_int_equal(read_sweep(&config, &result), -EIO);
	assert_int_equal(result.count,
			 READ_SWEEP_POSITIONS - 2); /* the 10th and the 11th tenth of all, see there */
	assert_non_null(strstr(result.error, device));
	assert_non_null(strstr(result.error, "reading at byte 104857600: Input/output error"));
	assert_non_null(strstr(result.error, "1 more of 21 places"));
	assert_true(highest > DEVICE_BYTES - 10 * MIB);
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

static void a_target_is_read_in_a_file_that_leaves_nothing(void **state)
{
	struct read_sweep_config config = config_of();

	(void)state;
	config.target = &target;
	config.device = NULL;
	config.read = NULL;
	config.most_bytes = 16 * MIB;
	assert_int_equal(read_sweep(&config, &result), 0);
	assert_true(result.was_run && result.sequential_bps > 0);
	assert_true(result.note[0]); /* 16 MiB prove little */
	assert_int_equal(result.count, 0);
	assert_true(result.inner_ratio == -1);
	assert_int_equal(count_names(), 0);
}

static void without_the_device_the_target_is_read(void **state)
{
	struct read_sweep_config config = config_of();

	(void)state;
	config.target = &target;
	config.read = NULL;
	config.most_bytes = 4 * MIB;
	config.device = "/nonexistent/disk";
	assert_int_equal(read_sweep(&config, &result), -ENOENT);
	assert_true(result.sequential_bps > 0);
	assert_non_null(strstr(result.error,
			       "/nonexistent/disk: it can't be opened for reading: No such file"));
	config.target = NULL;
	config.device = folder;
	assert_true(read_sweep(&config, &result) < 0);
	assert_non_null(strstr(result.error, folder));
}

static void cancel(const struct trial_control *control, const struct trial_progress *progress)
{
	if (progress->done > 0.6)
		atomic_store(&((struct trial_control *)control)->is_cancelled, true);
}

static void it_is_cancelled_with_what_it_has(void **state)
{
	struct trial_control control = { .tell = cancel };
	struct read_sweep_config config = config_of();

	(void)state;
	make_device();
	config.control = &control;
	config.position_ns = 100 * MS;
	assert_int_equal(read_sweep(&config, &result), -ECANCELED);
	assert_string_equal(result.error, "");
	assert_true(result.was_run && result.count > 0 && result.count < READ_SWEEP_POSITIONS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_part_of_a_device_is_read),
		TEST(the_ratio_is_that_of_the_medians),
		TEST(what_cannot_be_read_is_named_and_the_rest_is_read),
		TEST(a_target_is_read_in_a_file_that_leaves_nothing),
		TEST(without_the_device_the_target_is_read),
		TEST(it_is_cancelled_with_what_it_has),
	};

	return cmocka_run_group_tests_name("read_sweep", tests, NULL, NULL);
}
