/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_fill.c - whole recordings of a source that loses, with fill in place of what it lost
 *
 * kit_check() looks at every byte: what is told as filled is fill, and all else is what the source gave.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tests/session_kit.h"

#define MS INT64_C(1000000)
#define LONG (20 * UNITS_NS_PER_S)

struct shape {
	unsigned disks;
	enum layout_kind layout;
	enum stripe_policy stripe;
	uint64_t file_bytes, unit_bytes, packet_bytes;
	unsigned copies;
	bool use_parity;
};

static const struct shape shapes[] = {
	{ .disks = 1, .layout = LAYOUT_RAW },
	{ .disks = 1, .layout = LAYOUT_RAW, .file_bytes = 30000 },
	{ .disks = 1, .layout = LAYOUT_MARK6, .packet_bytes = 1000 },
	{ .disks = 2, .layout = LAYOUT_VBS },
	{ .disks = 2, .layout = LAYOUT_VBS, .copies = 2 },
	{ .disks = 3, .layout = LAYOUT_VBS, .stripe = STRIPE_ROUND },
	{ .disks = 2, .layout = LAYOUT_RAW, .stripe = STRIPE_ROUND, .unit_bytes = 1500 },
	{ .disks = 3, .layout = LAYOUT_RAW, .file_bytes = 20000 },
	{ .disks = 2, .layout = LAYOUT_MARK6, .packet_bytes = 1032 },
	{ .disks = 3, .layout = LAYOUT_RAW, .stripe = STRIPE_ROUND, .use_parity = true },
	{ .disks = 3, .layout = LAYOUT_RAW, .copies = 2, .file_bytes = 3 * KIT_BLOCK },
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void open_shape(struct kit *kit, const struct shape *shape)
{
	struct session_config *config = &kit->config;

	kit_open(kit, shape->disks);
	config->layout = shape->layout;
	config->stripe = shape->stripe;
	config->file_bytes = shape->file_bytes;
	config->unit_bytes = shape->unit_bytes;
	config->packet_bytes = shape->packet_bytes;
	config->copies = shape->copies;
	config->use_parity = shape->use_parity;
	config->fill = FILL_PATTERN;
	fake_source_script.piece_max = 3000;
	fake_source_script.loss_one_in = 7;
	fake_source_script.loss_max = 9000;
}

static uint64_t source_gaps(const struct kit *kit, bool is_filled)
{
	const struct account *account = &kit->session->account;
	uint64_t bytes = 0;

	for (size_t i = 0; i < account->gap_kept_count; i++)
		if (account->gaps[i].cause == GAP_SOURCE && account->gaps[i].is_filled == is_filled)
			bytes += account->gaps[i].bytes;
	return bytes;
}

/* Sums are looked at by the kit; here is what is lost, filled and closed up. */
static void run(struct kit *kit, uint64_t *lost, uint64_t *filled)
{
	const struct account *account;

	if (kit_start(kit) < 0)
		fail_msg("%s", kit->refusal.text);
	assert_true(kit_end(kit, LONG, LONG));
	if (kit_check(kit))
		fail_msg("%s", kit->error);
	account = &kit->session->account;
	*lost = account_get(&account->source_lost_bytes);
	*filled = account_get(&account->filled_bytes);
	assert_int_equal(source_gaps(kit, true), *filled);
	assert_int_equal(source_gaps(kit, false), *lost - *filled);
}

static void every_layout_keeps_the_time_axis(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++)
		for (enum fill_policy fill = FILL_PATTERN; fill <= FILL_VDIF_INVALID; fill++) {
			uint64_t lost, filled;
			struct kit kit;

			open_shape(&kit, &shapes[i]);
			kit.config.fill = fill;
			fake_source_script.gives_fill = fill == FILL_VDIF_INVALID;
			fake_source_script.loss_at_end = 777;
			run(&kit, &lost, &filled);
			assert_true(lost > 10000);
			assert_int_equal(filled, lost);
			/* nothing is missing, and all the same something is lost */
			assert_int_equal(session_written_bytes(kit.session) +
						 account_get(&kit.session->account.discarded_bytes),
					 account_stream_bytes(&kit.session->account));
			assert_int_equal(kit.outcome, OUTCOME_LOSS);
			assert_int_equal(kit.exit_status, 1);
			kit_close(&kit);
		}
}

static void without_fill_files_are_closed_up(void **state)
{
	uint64_t lost, filled;
	struct kit kit;

	(void)state;
	open_shape(&kit, &shapes[0]);
	kit.config.fill = FILL_NONE;
	run(&kit, &lost, &filled);
	assert_true(lost > 10000);
	assert_int_equal(filled, 0);
	kit_close(&kit);
}

/* More than the ring holds, again and again: a source that waits meanwhile has all of it filled ... */
static void a_source_that_can_wait_waits_for_its_fill(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		uint64_t lost, filled;
		struct kit kit;

		open_shape(&kit, &shapes[i]);
		fake_source_script.loss_max = 3 * kit.config.ring_bytes;
		fake_source_script.loss_one_in = 20;
		run(&kit, &lost, &filled);
		assert_true(lost > kit.config.ring_bytes);
		assert_int_equal(filled, lost);
		kit_close(&kit);
	}
}

/*
 * ... and for one that can't the rest stays a gap. The disks take nothing meanwhile: what comes behind the fill
 * has the room that was left for it.
 */
static void fill_leaves_room_for_a_source_that_can_not_wait(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		const struct account *account;
		struct kit kit;

		open_shape(&kit, &shapes[i]);
		kit.config.ring_bytes *= 4;
		fake_source_script.can_wait = false;
		fake_source_script.loss_one_in = 1;
		fake_source_script.loss_max = 2 * kit.config.ring_bytes;
		fake_source_script.bytes = 10 * kit.config.ring_bytes;
		for (unsigned disk = 0; disk < kit.disk_count; disk++)
			kit.disks[disk].stuck_at[FAKE_WRITE] = 1;
		if (kit_start(&kit) < 0)
			fail_msg("%s", kit.refusal.text);
		while (!atomic_load(&kit.session->has_stream_ended))
			nanosleep(&(struct timespec){ .tv_nsec = MS }, NULL);
		account = &kit.session->account;
		assert_int_equal(account_get(&account->overflow_bytes), 0);
		assert_true(account_get(&account->filled_bytes) >= kit.config.ring_bytes / 4);
		assert_true(account_get(&account->filled_bytes) < kit.config.ring_bytes);
		for (unsigned disk = 0; disk < kit.disk_count; disk++)
			fake_disk_release(&kit.disks[disk]);
		assert_true(kit_end(&kit, LONG, LONG));
		if (kit_check(&kit))
			fail_msg("shape %zu: %s", i, kit.error);
		kit_close(&kit);
	}
}

static void a_ring_that_is_full_takes_no_fill(void **state)
{
	uint64_t lost, filled;
	struct kit kit;

	(void)state;
	open_shape(&kit, &shapes[3]);
	fake_source_script.can_wait = false;
	fake_source_script.loss_max = 4 * kit.config.ring_bytes;
	fake_source_script.bytes = 100 * kit.config.ring_bytes;
	for (unsigned i = 0; i < kit.disk_count; i++)
		kit.disks[i].delay_ns[FAKE_WRITE] = 5 * MS;
	run(&kit, &lost, &filled);
	assert_true(filled < lost);
	kit_close(&kit);
}

static void a_limit_holds_whether_it_falls_into_fill_or_not(void **state)
{
	(void)state;
	for (uint64_t limit = 20000; limit < 30000; limit += 501) {
		uint64_t lost, filled;
		struct kit kit;

		open_shape(&kit, &shapes[limit % SHAPES]);
		kit.config.limit_bytes = limit;
		fake_source_script.loss_one_in = 3;
		run(&kit, &lost, &filled);
		assert_true(session_written_bytes(kit.session) <= limit);
		assert_int_equal(kit.session->stop_reason, STOP_BYTES);
		kit_close(&kit);
	}
}

static void a_disk_that_fails_with_fill_on_it_loses_it_like_all_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		uint64_t lost, filled;
		struct kit kit;

		open_shape(&kit, &shapes[i]);
		fake_disk_fail(&kit.disks[0], FAKE_WRITE, 6, 0, EIO);
		kit.disks[0].is_forgetful = true;
		run(&kit, &lost, &filled);
		assert_true(filled > 0);
		kit_close(&kit);
	}
}

static void a_stop_in_the_middle_of_fill_keeps_what_was_read(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 20; turn++) {
		struct kit kit;

		open_shape(&kit, &shapes[turn % SHAPES]);
		fake_source_script.bytes = 0;
		fake_source_script.loss_max = 5 * kit.config.ring_bytes;
		fake_source_script.loss_one_in = 2;
		for (unsigned i = 0; i < kit.disk_count; i++)
			kit.disks[i].delay_ns[FAKE_WRITE] = MS;
		if (kit_start(&kit) < 0)
			fail_msg("%s", kit.refusal.text);
		kit_wait(&kit, (5 + turn) * MS);
		if (turn % 2)
			session_abort(kit.session);
		else
			session_stop(kit.session, STOP_SIGNAL);
		assert_true(kit_end(&kit, LONG, LONG));
		if (kit_check(&kit))
			fail_msg("%s", kit.error);
		assert_int_equal(account_get(&kit.session->account.overflow_bytes), 0);
		kit_close(&kit);
	}
}

static void invalid_frames_want_a_source_that_gives_them(void **state)
{
	struct kit kit;

	(void)state;
	open_shape(&kit, &shapes[0]);
	kit.config.fill = FILL_VDIF_INVALID;
	assert_true(kit_start(&kit) < 0);
	assert_int_equal(kit.refusal.exit_status, EX_USAGE);
	assert_non_null(strstr(kit.refusal.text, "vdif-invalid"));
	kit_close(&kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_keeps_the_time_axis),
		cmocka_unit_test(without_fill_files_are_closed_up),
		cmocka_unit_test(a_source_that_can_wait_waits_for_its_fill),
		cmocka_unit_test(fill_leaves_room_for_a_source_that_can_not_wait),
		cmocka_unit_test(a_ring_that_is_full_takes_no_fill),
		cmocka_unit_test(a_limit_holds_whether_it_falls_into_fill_or_not),
		cmocka_unit_test(a_disk_that_fails_with_fill_on_it_loses_it_like_all_else),
		cmocka_unit_test(a_stop_in_the_middle_of_fill_keeps_what_was_read),
		cmocka_unit_test(invalid_frames_want_a_source_that_gives_them),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("fill", tests, NULL, NULL);
}
