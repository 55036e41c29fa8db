/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/sim.h"
#include "tests/trial_kit.h"
#include "tools/qualify/read_back.h"

static struct spoiled_disk spoiled;

/* One disk, one file; an engine of threads, because the writes are the test's. */
static void run_spoiled(struct trial_kit *kit)
{
	kit->disks[0].lower = &spoiled.io;
	assert_int_equal(run_execute(&kit->run, &kit->config, &kit->files), 0);
	assert_string_equal(kit->run.error, "");
	assert_string_equal(kit->run.engine, "pwrite");
}

static struct trial_read_back read_it(const struct trial_kit *kit)
{
	struct trial_read_back found;

	assert_int_equal(read_back(&found, &(struct read_back_config){ .files = kit->files,
								       .index = 0,
								       .number = 3,
								       .control = NULL,
								       .end_ns = INT64_MAX }),
			 0);
	assert_true(found.was_run);
	assert_true(found.rate_bps > 0);
	return found;
}

static void what_was_written_is_found_right(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= TRIAL_KIT_DISKS; disks++) {
		struct trial_kit kit;
		uint64_t bytes = 0;

		trial_kit_open(&kit, disks);
		assert_int_equal(run_execute(&kit.run, &kit.config, &kit.files), 0);
		assert_string_equal(kit.run.error, "");
		for (unsigned i = 0; i < disks; i++) {
			struct trial_read_back found;

			assert_int_equal(
				read_back(&found, &(struct read_back_config){ .files = kit.files,
									      .index = i,
									      .number = i,
									      .control = NULL,
									      .end_ns = INT64_MAX }),
				0);
			assert_int_equal(found.wrong_bytes, 0);
			assert_int_equal(found.bytes, kit.run.parts[i].durable_bytes);
			bytes += found.bytes;
		}
		assert_int_equal(bytes, kit.run.stream_bytes);
		trial_kit_close(&kit);
	}
}

static void a_write_that_was_lost_is_found_and_located(void **state)
{
	struct trial_read_back found;
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	spoiled_disk_init(&spoiled);
	spoiled.lost_offset = 10 * TRIAL_KIT_BLOCK;
	/* one file: the offsets in it are those of the stream */
	kit.disks[0].budget_bytes = UINT64_C(128) << 20;
	run_spoiled(&kit);
	found = read_it(&kit);
	assert_int_equal(found.bytes, kit.run.stream_bytes);
	assert_int_equal(found.wrong_bytes, TRIAL_KIT_BLOCK);
	assert_int_equal(found.wrong_offset, 10 * TRIAL_KIT_BLOCK);
	assert_int_equal(found.wrong_position, UINT64_MAX);
	assert_non_null(strstr(found.text, "zeros are there"));
	trial_kit_close(&kit);
}

static void a_disk_with_less_room_than_it_says_is_found(void **state)
{
	const uint64_t wrap = 64 * TRIAL_KIT_BLOCK;
	struct trial_read_back found;
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	spoiled_disk_init(&spoiled);
	spoiled.wrap_bytes = wrap;
	kit.disks[0].budget_bytes = UINT64_C(128) << 20;
	kit.config.limit_bytes = 2 * wrap;
	kit.config.depth = 1; /* what comes later lies there */
	run_spoiled(&kit);
	found = read_it(&kit);
	assert_int_equal(found.wrong_bytes, 2 * wrap);
	assert_int_equal(found.wrong_offset, 0);
	assert_int_equal(found.wrong_position, wrap);
	assert_non_null(strstr(found.text, "less room than it says"));
	trial_kit_close(&kit);
}

static void writes_that_changed_places_are_found_and_told(void **state)
{
	struct trial_read_back found;
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	spoiled_disk_init(&spoiled);
	spoiled.swap_offset = 7 * TRIAL_KIT_BLOCK;
	kit.disks[0].budget_bytes = UINT64_C(128) << 20;
	run_spoiled(&kit);
	found = read_it(&kit);
	assert_int_equal(found.wrong_bytes, 2 * TRIAL_KIT_BLOCK);
	assert_int_equal(found.wrong_offset, 7 * TRIAL_KIT_BLOCK);
	assert_int_equal(found.wrong_position, 8 * TRIAL_KIT_BLOCK);
	trial_kit_close(&kit);
}

/* Written again behind the recorder's back: two bytes, not at the beginning of a word. */
static void a_few_bytes_of_noise_are_found(void **state)
{
	const uint64_t at = 123 * LAYOUT_ALIGN + 13;
	struct trial_read_back found;
	struct scratch_file file;
	struct trial_kit kit;
	char path[64];
	int fd;

	(void)state;
	trial_kit_open(&kit, 1);
	kit.disks[0].budget_bytes = UINT64_C(128) << 20;
	assert_int_equal(run_execute(&kit.run, &kit.config, &kit.files), 0);
	file = scratch_io_file(run_files_of(kit.files, 0), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file.fd);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "\x5a\xa5", 2, (off_t)at), 2);
	assert_int_equal(fsync(fd), 0);
	close(fd);
	found = read_it(&kit);
	assert_int_equal(found.wrong_bytes, 8);
	assert_int_equal(found.wrong_offset, at / 8 * 8);
	assert_int_equal(found.wrong_position, UINT64_MAX);
	assert_non_null(strstr(found.text, "noise is there"));
	trial_kit_close(&kit);
}

/* Its bytes tell nothing, but they were summed up when they came. */
static void another_source_is_compared_by_its_sums(void **state)
{
	(void)state;
	for (int is_bad = 0; is_bad < 2; is_bad++) {
		static char data[3000000];
		struct trial_read_back found;
		struct trial_kit kit;
		char path[96], name[128];
		int fd;

		trial_kit_open(&kit, 1);
		snprintf(path, sizeof(path), "%s/stream", kit.root);
		snprintf(name, sizeof(name), "file:%s", path);
		sim_fill(data, sizeof(data), 0, 5);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
		close(fd);
		spoiled_disk_init(&spoiled);
		spoiled.lost_offset = is_bad ? 5 * TRIAL_KIT_BLOCK : UINT64_MAX;
		kit.config.source = name;
		kit.config.limit_bytes = sizeof(data);
		kit.disks[0].budget_bytes = UINT64_C(128) << 20;
		run_spoiled(&kit);
		found = read_it(&kit);
		assert_int_equal(found.bytes, sizeof(data));
		assert_int_equal(found.wrong_bytes > 0, is_bad);
		assert_int_equal(strstr(found.text, "by their sums") != NULL, is_bad);
		trial_kit_close(&kit);
	}
}

static void a_cancelled_one_tells_what_it_has_read(void **state)
{
	struct trial_control control = { .is_cancelled = true };
	struct trial_read_back found;
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	assert_int_equal(run_execute(&kit.run, &kit.config, &kit.files), 0);
	assert_int_equal(read_back(&found, &(struct read_back_config){ .files = kit.files,
								       .index = 0,
								       .number = 0,
								       .control = &control,
								       .end_ns = INT64_MAX }),
			 -ECANCELED);
	assert_int_equal(found.bytes, 0);
	assert_false(found.was_run);
	trial_kit_close(&kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_found_right),
		cmocka_unit_test(a_write_that_was_lost_is_found_and_located),
		cmocka_unit_test(a_disk_with_less_room_than_it_says_is_found),
		cmocka_unit_test(writes_that_changed_places_are_found_and_told),
		cmocka_unit_test(a_few_bytes_of_noise_are_found),
		cmocka_unit_test(another_source_is_compared_by_its_sums),
		cmocka_unit_test(a_cancelled_one_tells_what_it_has_read),
	};

	return cmocka_run_group_tests_name("read_back", tests, NULL, NULL);
}
