/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_room.c - when the stream has to end for want of room: with one disk, with several, with shared ones
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/room.h"

#define MIB (UINT64_C(1) << 20)
#define BLOCK MIB
#define RUN (4 * MIB)
#define RESERVE (2 * MIB) /* more than what stays for the journal, with these sizes */

static struct session session;
static struct disk disks[3];

static void set_up(unsigned disk_count, bool is_held)
{
	memset(&session, 0, sizeof(session));
	memset(disks, 0, sizeof(disks));
	session.disks = disks;
	session.disk_count = disk_count;
	session.plan = (struct layout_plan){
		.block_bytes = BLOCK,
		.ring_bytes = 64 * MIB,
		.run_bytes = is_held ? RUN : 0,
		.is_held = is_held,
		.is_run_a_file = is_held,
	};
	for (unsigned i = 0; i < disk_count; i++) {
		disks[i].session = &session;
		disks[i].number = i;
		disks[i].target.fs_device = i + 1;
		disks[i].capacity_bytes = 100 * MIB;
	}
}

static void a_disk_takes_what_is_put_and_a_block_more(void **state)
{
	(void)state;
	set_up(1, false);
	disks[0].assigned_bytes = 100 * MIB - RESERVE - 2 * BLOCK;
	assert_true(room_is_left(&session, 1));
	disks[0].assigned_bytes = 100 * MIB - BLOCK;
	assert_false(room_is_left(&session, 1));
}

static void what_is_asked_for_may_fill_the_disk(void **state)
{
	(void)state;
	set_up(1, false);
	disks[0].assigned_bytes = 100 * MIB - BLOCK;
	session.config.limit_bytes = 100 * MIB;
	assert_true(room_is_left(&session, 1));
	session.config.limit_bytes = 100 * MIB + 1;
	assert_false(room_is_left(&session, 1));
}

static void nothing_ends_where_there_is_no_limit_or_none_is_known(void **state)
{
	(void)state;
	set_up(1, false);
	disks[0].assigned_bytes = 1000 * MIB;
	disks[0].capacity_bytes = ROOM_UNKNOWN;
	assert_true(room_is_left(&session, 1));
	disks[0].capacity_bytes = 0;
	disks[0].target.kind = TARGET_NULL;
	assert_true(room_is_left(&session, 1));
}

/* A run goes to one disk: 98 MiB are 24 of 4 MiB, whatever is left behind them. */
static void runs_go_whole_to_one_disk(void **state)
{
	(void)state;
	set_up(2, true);
	session.run_count = 48;
	assert_true(room_is_left(&session, 0));
	assert_false(room_is_left(&session, 1));
	disks[0].durable_bytes = 3 * RUN;
	session.run_count = 45;
	assert_true(room_is_left(&session, 0));
	assert_false(room_is_left(&session, 1));
}

static void a_disk_that_is_out_has_no_room_and_the_others_have(void **state)
{
	(void)state;
	set_up(3, true);
	session.run_count = 48;
	assert_true(room_is_left(&session, 1));
	disks[1].state = DISK_FULL;
	assert_true(room_is_left(&session, 0));
	assert_false(room_is_left(&session, 1));
	disks[2].capacity_bytes = 1000 * MIB;
	assert_true(room_is_left(&session, 1));
}

static void when_all_disks_have_failed_it_is_not_for_want_of_room(void **state)
{
	(void)state;
	set_up(2, true);
	disks[0].state = disks[1].state = DISK_FAILED;
	assert_true(room_is_left(&session, 1));
}

static void directories_on_one_disk_share_its_room(void **state)
{
	(void)state;
	set_up(2, true);
	disks[1].target.fs_device = disks[0].target.fs_device;
	disks[1].capacity_bytes = ROOM_UNKNOWN; /* the first one's counts */
	disks[0].durable_bytes = disks[1].durable_bytes = 10 * RUN;
	session.run_count = 4;
	assert_true(room_is_left(&session, 0));
	assert_false(room_is_left(&session, 1));
}

/* wr: the next block has its disk. */
static void with_nothing_held_the_first_full_disk_ends_it(void **state)
{
	(void)state;
	set_up(2, false);
	disks[0].capacity_bytes = 1000 * MIB;
	disks[0].assigned_bytes = disks[1].assigned_bytes = 50 * MIB;
	assert_true(room_is_left(&session, 1));
	disks[0].assigned_bytes = disks[1].assigned_bytes = 99 * MIB;
	assert_false(room_is_left(&session, 1));
}

/* Each of them has a block being filled and one being read, and a mebibyte stays for the journal's lines. */
static void directories_on_one_disk_want_room_for_each(void **state)
{
	(void)state;
	set_up(2, false);
	disks[1].target.fs_device = disks[0].target.fs_device;
	disks[0].assigned_bytes = 50 * MIB;
	disks[1].assigned_bytes = 100 * MIB - RESERVE - 4 * BLOCK - 50 * MIB;
	assert_true(room_is_left(&session, 1));
	disks[1].assigned_bytes += BLOCK;
	assert_false(room_is_left(&session, 1));
}

static void a_recording_shorter_than_a_run_takes_less(void **state)
{
	(void)state;
	set_up(2, true);
	assert_int_equal(room_run_bytes(&session), RUN);
	session.config.limit_bytes = 5000;
	assert_int_equal(room_run_bytes(&session), 8192);
	session.plan.is_held = false;
	assert_int_equal(room_run_bytes(&session), 0);
}

/* ---- looking ---- */

/* A file system where nothing is ever free: the capacity is what our files have. */
static void look(unsigned disk, uint64_t least_bytes, uint64_t most_bytes, bool is_changing)
{
	disks[disk].space_bytes = least_bytes;
	disks[disk].space_most_bytes = most_bytes;
	disks[disk].is_space_changing = is_changing;
	disks[disk].target.dir_fd = open("/proc", O_RDONLY | O_DIRECTORY);
	assert_true(disks[disk].target.dir_fd >= 0);
	room_look(&disks[disk]);
	close(disks[disk].target.dir_fd);
}

static void a_look_counts_what_all_our_files_there_have(void **state)
{
	(void)state;
	set_up(3, true);
	disks[2].target.fs_device = disks[0].target.fs_device;
	disks[1].space_bytes = 1000 * MIB;
	disks[2].space_bytes = 20 * MIB;
	look(0, 30 * MIB, 30 * MIB, false);
	assert_int_equal(disks[0].capacity_bytes, 50 * MIB);
	look(2, 20 * MIB, 20 * MIB, false);
	assert_int_equal(disks[2].capacity_bytes, 100 * MIB); /* the first one's counts */
}

static void while_a_writer_changes_its_files_no_look_counts(void **state)
{
	(void)state;
	set_up(2, true);
	disks[1].target.fs_device = disks[0].target.fs_device;
	room_begin(&disks[1]);
	look(0, 30 * MIB, 30 * MIB, false);
	assert_int_equal(disks[0].capacity_bytes, 100 * MIB);
	assert_int_equal(disks[0].looked_bytes, 0);
	disks[1].space_turn++;
	look(0, 30 * MIB, 30 * MIB, false);
	assert_int_equal(disks[0].capacity_bytes, 30 * MIB);
}

static void what_others_took_they_will_take_again(void **state)
{
	(void)state;
	set_up(1, true);
	look(0, 50 * MIB, 50 * MIB, false);
	assert_int_equal(disks[0].capacity_bytes, 50 * MIB);
	look(0, 40 * MIB, 40 * MIB, false);
	assert_int_equal(disks[0].capacity_bytes, 20 * MIB);
	look(0, 40 * MIB, 40 * MIB, false);
	assert_int_equal(disks[0].capacity_bytes, 40 * MIB);
}

static void while_a_file_gets_its_space_the_last_look_counts(void **state)
{
	(void)state;
	set_up(1, true);
	look(0, 50 * MIB, 50 * MIB, false);
	look(0, 30 * MIB, 60 * MIB, true);
	assert_int_equal(disks[0].capacity_bytes, 50 * MIB);
	look(0, 30 * MIB, 45 * MIB, true); /* of which others have taken some for certain */
	assert_int_equal(disks[0].capacity_bytes, 20 * MIB);
	look(0, 30 * MIB, 60 * MIB, false);
	assert_int_equal(disks[0].capacity_bytes, 30 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disk_takes_what_is_put_and_a_block_more),
		cmocka_unit_test(what_is_asked_for_may_fill_the_disk),
		cmocka_unit_test(nothing_ends_where_there_is_no_limit_or_none_is_known),
		cmocka_unit_test(runs_go_whole_to_one_disk),
		cmocka_unit_test(a_disk_that_is_out_has_no_room_and_the_others_have),
		cmocka_unit_test(when_all_disks_have_failed_it_is_not_for_want_of_room),
		cmocka_unit_test(directories_on_one_disk_share_its_room),
		cmocka_unit_test(with_nothing_held_the_first_full_disk_ends_it),
		cmocka_unit_test(directories_on_one_disk_want_room_for_each),
		cmocka_unit_test(a_recording_shorter_than_a_run_takes_less),
		cmocka_unit_test(a_look_counts_what_all_our_files_there_have),
		cmocka_unit_test(while_a_writer_changes_its_files_no_look_counts),
		cmocka_unit_test(what_others_took_they_will_take_again),
		cmocka_unit_test(while_a_file_gets_its_space_the_last_look_counts),
	};

	return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
