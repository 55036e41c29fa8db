/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fake_disk.h"
#include "tests/scratch.h"
#include "tools/qualify/rollover.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define MS INT64_C(1000000)

static char folder[64];
static struct target target;
static struct trial_rollover result;
static struct fake_disk disk;

static int setup(void **state)
{
	char error[TARGET_ERROR_LEN];

	(void)state;
	fake_disk_init(&disk);
	return scratch_make(folder, sizeof(folder), NULL) < 0 ? -1 :
								target_open(&target, folder, error);
}

static int teardown(void **state)
{
	(void)state;
	fake_disk_free(&disk);
	target_close(&target);
	return scratch_remove(folder);
}

static struct rollover_config config_of(const struct sink_io *io)
{
	return (struct rollover_config){
		.target = &target,
		.file_bytes = 4 * MIB,
		.block_bytes = MIB,
		.count = 3,
		.time_ns = 10000 * MS,
		.use_direct = true,
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

static void check_cost(const struct trial_file_cost *cost, uint64_t bytes)
{
	int64_t sum_ns = 0;

	assert_int_equal(cost->file_bytes, bytes);
	assert_int_equal(cost->count, 3);
	assert_true(cost->median_ns > 0 && cost->median_ns <= cost->worst_ns);
	for (unsigned i = 0; i < FILE_STEP_COUNT; i++) {
		assert_true(cost->worst_step_ns[i] > 0 && cost->worst_step_ns[i] <= cost->worst_ns);
		sum_ns += cost->worst_step_ns[i];
	}
	assert_true(cost->worst_ns <= sum_ns);
}

static void files_of_each_size_are_made_and_gone(void **state)
{
	struct rollover_config config = config_of(NULL);

	(void)state;
	assert_int_equal(rollover_measure(&config, &result), 0);
	assert_true(result.was_run);
	assert_string_equal(result.error, "");
	assert_int_equal(result.count, 3);
	assert_int_equal(result.file_bytes, 4 * MIB);
	check_cost(&result.recorded, 4 * MIB);
	assert_int_equal(result.worst_ns, result.recorded.worst_ns);
	assert_int_equal(result.worst_sync_ns, result.recorded.worst_step_ns[FILE_SYNC]);
	assert_true(result.median_change_ns < result.worst_ns &&
		    result.worst_change_ns < result.worst_ns);
	assert_int_equal(result.size_count, 13);
	for (unsigned i = 0; i < result.size_count; i++)
		check_cost(&result.sizes[i], 2 * KIB << i);
	assert_int_equal(count_names(), 0);
}

/* Each step is told by itself, and writing is not what a new file costs. */
static void what_is_slow_is_told(void **state)
{
	struct rollover_config config = config_of(&disk.io);

	(void)state;
	config.count = 1;
	config.depth = 1;
	disk.delay_ns[FAKE_WRITE] = 3 * MS;
	disk.delay_ns[FAKE_SYNC] = 7 * MS;
	disk.delay_ns[FAKE_ALLOCATE] = 5 * MS;
	assert_int_equal(rollover_measure(&config, &result), 0);
	assert_true(result.recorded.worst_step_ns[FILE_WRITE] >= 4 * 3 * MS);
	assert_true(result.worst_sync_ns >= 7 * MS);
	assert_true(result.recorded.worst_step_ns[FILE_ALLOCATE] >= 5 * MS);
	assert_true(result.worst_change_ns >= 12 * MS);
	assert_int_equal(result.worst_change_ns,
			 result.worst_ns - result.recorded.worst_step_ns[FILE_WRITE]);
	/* as many writes as blocks: 4; one for each small file up to 1 MiB, then 2, 4 and 8 */
	assert_int_equal(disk.calls[FAKE_WRITE], 4 + 10 + 2 + 4 + 8);
	assert_int_equal(disk.calls[FAKE_SYNC], 14);
}

static void files_end_with_their_last_byte(void **state)
{
	struct rollover_config config = config_of(&disk.io);

	(void)state;
	config.count = 1;
	config.file_bytes = 2 * MIB + 5000; /* two blocks and two pages */
	assert_int_equal(rollover_measure(&config, &result), 0);
	assert_int_equal(disk.calls[FAKE_CUT], 14);
	assert_int_equal(disk.written_bytes, 2 * MIB + 8192 + 4096 /* 2 KiB */ +
						     (16 * MIB - 4 * KIB) /* 4 KiB to 8 MiB */);
	assert_int_equal(result.recorded.count, 1);
}

static void without_room_large_files_are_left_out(void **state)
{
	struct rollover_config config = config_of(NULL);

	(void)state;
	config.most_bytes = 100 * KIB;
	assert_int_equal(rollover_measure(&config, &result), 0);
	assert_int_equal(result.count, 0);
	assert_int_equal(result.size_count, 6); /* 2 KiB to 64 KiB */
	assert_non_null(strstr(result.note, "no room for a file of 4 MiB"));
	assert_int_equal(count_names(), 0);
}

static void an_error_names_path_step_and_reason(void **state)
{
	struct rollover_config config = config_of(&disk.io);

	(void)state;
	fake_disk_fail(&disk, FAKE_SYNC, 5, 1, EIO); /* the second of the smallest */
	assert_int_equal(rollover_measure(&config, &result), -EIO);
	assert_non_null(strstr(result.error, folder));
	assert_non_null(strstr(result.error, "syncing a scratch file: Input/output error"));
	assert_int_equal(result.count, 3);
	assert_int_equal(result.size_count, 1);
	assert_int_equal(count_names(), 0);
}

static void cancel(const struct trial_control *control, const struct trial_progress *progress)
{
	if (progress->done > 0.5)
		atomic_store(&((struct trial_control *)control)->is_cancelled, true);
}

static void it_is_cancelled_with_what_it_has(void **state)
{
	struct trial_control control = { .tell = cancel };
	struct rollover_config config = config_of(&disk.io);

	(void)state;
	disk.delay_ns[FAKE_SYNC] = 20 * MS;
	config.control = &control;
	config.count = 100;
	config.time_ns = 1000 * MS;
	assert_int_equal(rollover_measure(&config, &result), -ECANCELED);
	assert_string_equal(result.error, "");
	assert_true(result.was_run && result.count > 0 && result.size_count < 13);
	assert_int_equal(count_names(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_of_each_size_are_made_and_gone),
		TEST(what_is_slow_is_told),
		TEST(files_end_with_their_last_byte),
		TEST(without_room_large_files_are_left_out),
		TEST(an_error_names_path_step_and_reason),
		TEST(it_is_cancelled_with_what_it_has),
	};

	return cmocka_run_group_tests_name("rollover", tests, NULL, NULL);
}
