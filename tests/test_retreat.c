/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_retreat.c - a disk fails, with several writes in flight: what is saved, what is counted, what is told
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "recorder/disk.h"
#include "tests/session_kit.h"

#define MS INT64_C(1000000)
#define LONG (20 * UNITS_NS_PER_S)

static void sleep_ns(int64_t ns)
{
	struct timespec pause = { .tv_sec = ns / UNITS_NS_PER_S, .tv_nsec = ns % UNITS_NS_PER_S };

	nanosleep(&pause, NULL);
}

static void start(struct kit *kit)
{
	if (kit_start(kit) < 0)
		fail_msg("%s", kit->refusal.text);
}

/* Account, journal and files, whatever the outcome. */
static void end(struct kit *kit, int64_t wait_ns, int64_t patience_ns, enum session_outcome outcome)
{
	const char *error;

	kit_end(kit, wait_ns, patience_ns);
	error = kit_check(kit);
	if (error)
		fail_msg("%s", error);
	assert_int_equal(kit->outcome, outcome);
	kit_close(kit);
}

/* ---- one disk ---- */

static ssize_t (*fake_write)(const struct sink_io *io, int fd, const void *data, size_t bytes,
			     off_t offset);
static off_t slow_offset;
static _Atomic bool has_been_slow;

static ssize_t write_with_a_hiccup(const struct sink_io *io, int fd, const void *data, size_t bytes,
				   off_t offset)
{
	if (offset == slow_offset && !atomic_exchange(&has_been_slow, true))
		sleep_ns(2500 * MS);
	return fake_write(io, fd, data, bytes, offset);
}

/*
 * The last write of a file takes so long that a sync is due in between, while the next file is open and
 * written to already: it must be a sync of the file whose segments are told then.
 */
static void a_sync_in_between_is_of_the_file_that_is_told(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 1);
	kit.config.file_bytes = 16 * KIT_BLOCK;
	kit.config.depth = 8;
	kit.config.ring_bytes = 64 * KIT_BLOCK;
	fake_write = kit.disks[0].io.write;
	kit.disks[0].io.write = write_with_a_hiccup;
	slow_offset = 15 * KIT_BLOCK;
	atomic_store(&has_been_slow, false);
	fake_disk_fail(&kit.disks[0], FAKE_SYNC, 2, 0, EIO);
	fake_source_script.bytes = 40 * KIT_BLOCK;
	start(&kit);
	end(&kit, LONG, LONG, OUTCOME_STOPPED);
}

static void what_was_good_before_a_bad_write_is_saved(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 1);
	kit.config.file_bytes = 40 * KIT_BLOCK;
	kit.config.depth = 8;
	kit.config.ring_bytes = 64 * KIT_BLOCK;
	kit.disks[0].delay_ns[FAKE_WRITE] = 5 * MS;
	fake_source_script.bytes = 100 * KIT_BLOCK;
	fake_disk_fail(&kit.disks[0], FAKE_WRITE, 30, 0, EIO);
	start(&kit);
	kit_wait(&kit, LONG);
	assert_true(session_written_bytes(kit.session) >= 20 * KIT_BLOCK);
	end(&kit, 0, LONG, OUTCOME_STOPPED);
}

/* All of them are told so, and only the first is the first. */
static void direct_writes_refused_with_several_in_flight_are_made_buffered(void **state)
{
	(void)state;
	for (unsigned refused = 1; refused <= 2; refused++) { /* so many are in flight at first */
		struct kit kit;

		kit_open(&kit, 1);
		kit.disks[0].delay_ns[FAKE_WRITE] = 20 * MS;
		fake_source_script.bytes = 80000;
		fake_disk_fail(&kit.disks[0], FAKE_WRITE, 1, refused, EINVAL);
		start(&kit);
		end(&kit, LONG, LONG, OUTCOME_COMPLETE);
	}
}

static void an_error_after_an_abort_is_told(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 1);
	kit.config.file_bytes = 1000 * KIT_BLOCK;
	kit.disks[0].delay_ns[FAKE_WRITE] = 5 * MS;
	fake_source_script.bytes = 0;
	fake_disk_fail(&kit.disks[0], FAKE_SYNC, 1, 0, EIO);
	start(&kit);
	sleep_ns(200 * MS);
	session_abort(kit.session);
	kit_wait(&kit, LONG);
	assert_int_equal(atomic_load(&kit.session->disks[0].state), DISK_FAILED);
	assert_non_null(strstr(kit.session->disks[0].error, "fdatasync"));
	end(&kit, 0, LONG, OUTCOME_STOPPED);
}

static unsigned read_count;

static ssize_t read_with_losses(struct source *source, void *buf, size_t len, int64_t deadline_ns,
				struct source_mark *mark)
{
	ssize_t n = fake_source_ops.read(source, buf, len, deadline_ns, mark);

	if (n > 0 && read_count++ < 16)
		mark->lost_bytes = 4;
	return n;
}

/* A short block, then whole ones that are larger than what may be dirty. */
static void a_block_larger_than_what_may_be_dirty_does_not_stop_a_buffered_disk(void **state)
{
	struct source_ops ops = fake_source_ops;
	struct kit kit;

	(void)state;
	read_count = 0;
	kit_open(&kit, 1);
	ops.read = read_with_losses;
	kit.config.source_ops = &ops;
	kit.config.use_direct = false;
	kit.config.block_bytes = UINT64_C(30) << 20;
	kit.config.ring_bytes = UINT64_C(120) << 20;
	fake_source_script.bytes = UINT64_C(100) << 20;
	start(&kit);
	assert_true(kit_wait(&kit, LONG));
	kit_end(&kit, 0, LONG);
	assert_int_equal(session_written_bytes(kit.session),
			 account_get(&kit.session->account.received_bytes));
	kit_close(&kit);
}

/* ---- two disks ---- */

/* One is stuck with writes in flight, and the others have its runs; then they are gone as well. */
static void what_a_stuck_disk_has_in_flight_is_counted_once(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 2);
	kit.config.disk_timeout_ns = 100 * MS;
	kit.disks[0].stuck_at[FAKE_WRITE] = 3;
	kit.disks[1].delay_ns[FAKE_WRITE] = 4 * MS;
	kit.config.depth = 2; /* not before the other one is left */
	fake_source_script.bytes = 0;
	fake_disk_fail(&kit.disks[1], FAKE_WRITE, 200, 0, EIO);
	start(&kit);
	while (atomic_load(&kit.session->usable_count) > 0)
		sleep_ns(MS);
	end(&kit, 0, 300 * MS, OUTCOME_STOPPED);
}

static void two_disks_stuck_at_once_end_with_an_exact_account(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 2);
	kit.config.disk_timeout_ns = 50 * MS;
	kit.config.depth = 4;
	kit.disks[0].stuck_at[FAKE_WRITE] = kit.disks[1].stuck_at[FAKE_WRITE] = 3;
	start(&kit);
	while (atomic_load(&kit.session->usable_count) > 1)
		sleep_ns(MS);
	sleep_ns(50 * MS);
	session_stop(kit.session, STOP_SIGNAL);
	end(&kit, 0, 300 * MS, OUTCOME_STOPPED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sync_in_between_is_of_the_file_that_is_told),
		cmocka_unit_test(what_was_good_before_a_bad_write_is_saved),
		cmocka_unit_test(direct_writes_refused_with_several_in_flight_are_made_buffered),
		cmocka_unit_test(an_error_after_an_abort_is_told),
		cmocka_unit_test(a_block_larger_than_what_may_be_dirty_does_not_stop_a_buffered_disk),
		cmocka_unit_test(what_a_stuck_disk_has_in_flight_is_counted_once),
		cmocka_unit_test(two_disks_stuck_at_once_end_with_an_exact_account),
	};

	return cmocka_run_group_tests_name("retreat", tests, NULL, NULL);
}
