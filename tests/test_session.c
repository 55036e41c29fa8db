/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_session.c - whole recordings with a source that does what it is told and disks that fail when they are told
 *
 * After each of them every byte of the stream is looked for: in the files where the journal says it is, or in a gap.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/un.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "recorder/status.h"
#include "tests/session_kit.h"

#define MS INT64_C(1000000)
#define LONG (20 * UNITS_NS_PER_S)

static uint64_t chance_state = 88172645463325252;

static uint64_t chance(uint64_t below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return chance_state % below;
}

static void sleep_ns(int64_t ns)
{
	struct timespec pause = { .tv_sec = ns / UNITS_NS_PER_S, .tv_nsec = ns % UNITS_NS_PER_S };

	nanosleep(&pause, NULL);
}

#define start(kit) start_at(kit, __LINE__)
#define finish(kit, ...) finish_at(kit, __LINE__, __VA_ARGS__)

static void start_at(struct kit *kit, int line)
{
	int ret = kit_start(kit);

	if (ret < 0)
		fail_msg("line %d: %s", line, kit->refusal.text);
}

static void wait_for_data(const struct kit *kit)
{
	while (account_stream_bytes(&kit->session->account) == 0)
		sleep_ns(MS);
}

static void wait_for_state(const struct kit *kit, unsigned disk, int state)
{
	int64_t deadline = units_monotonic_ns() + LONG;

	while (atomic_load(&kit->session->disks[disk].state) != state) {
		if (units_monotonic_ns() > deadline)
			fail_msg("disk %u does not come to state %d", disk, state);
		sleep_ns(MS);
	}
}

/* Waits for the end, looks for every byte, and removes it all. */
static void finish_at(struct kit *kit, int line, enum session_outcome outcome, int exit_status)
{
	bool is_free = kit_end(kit, LONG, LONG);
	const char *error = kit_check(kit);
	enum session_outcome found = kit->outcome;
	int status = kit->exit_status;
	char text[1024];

	snprintf(text, sizeof(text), "%s", error ? error : "");
	kit_close(kit);
	if (error)
		fail_msg("line %d: %s", line, text);
	if (!is_free)
		fail_msg("line %d: a thread was left behind", line);
	if (found != outcome || status != exit_status)
		fail_msg("line %d: outcome %s and status %d; expected are %s and %d", line,
			 session_outcome_name(found), status, session_outcome_name(outcome),
			 exit_status);
}

/* ---- layouts ---- */

enum shape {
	VBS_ANY,
	VBS_ROUND,
	RAW_ROUND,
	RAW_ROUND_FILES,
	RAW_ROUND_UNITS,
	RAW_FILES,
	RAW_SMALL_FILES,
	MARK6_ANY,
	MARK6_ROUND,
	PCAP_FILES,
	SHAPE_COUNT
};

static void set_shape(struct kit *kit, enum shape shape)
{
	struct session_config *config = &kit->config;

	config->layout = shape <= VBS_ROUND ? LAYOUT_VBS :
			 shape < MARK6_ANY  ? LAYOUT_RAW :
			 shape < PCAP_FILES ? LAYOUT_MARK6 :
					      LAYOUT_PCAP;
	config->stripe = (shape >= VBS_ROUND && shape <= RAW_ROUND_UNITS) || shape == MARK6_ROUND ?
				 STRIPE_ROUND :
				 STRIPE_ANY;
	config->packet_bytes = shape == MARK6_ANY ? 1000 : 24;
	config->unit_bytes = shape == RAW_ROUND_UNITS ? 5000 : 0;
	if (shape == PCAP_FILES) {
		config->block_bytes = 4 * KIT_BLOCK; /* so that some are filled in part */
		fake_source_script.bytes = 245 * KIT_BLOCK;
	}
	if (shape == RAW_ROUND_FILES || shape == RAW_FILES || shape == PCAP_FILES)
		config->file_bytes = 100000; /* several runs, and no whole number of blocks */
	if (shape == RAW_SMALL_FILES)
		config->file_bytes = 5000;
}

static void every_layout_has_every_byte(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= KIT_DISKS; disks++) {
		for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
			struct kit kit;

			kit_open(&kit, disks);
			set_shape(&kit, shape);
			fake_source_script.piece_max = shape % 2 ? 0 : 6000;
			fake_source_script.idle_one_in = 50;
			start(&kit);
			finish(&kit, OUTCOME_COMPLETE, 0);
		}
	}
}

/* The fake disks have locks of their own, which would hide a lock that is missing in what is tested. */
static void the_systems_own_calls_do_as_well(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 3; disks++) {
		for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
			struct kit kit;

			if (disks == 1 && shape == VBS_ROUND)
				shape = RAW_FILES;
			kit_open(&kit, disks);
			set_shape(&kit, shape);
			kit.config.io = NULL;
			fake_source_script.bytes = 300000;
			fake_source_script.piece_max = 7000;
			start(&kit);
			finish(&kit, OUTCOME_COMPLETE, 0);
		}
	}
}

static void one_endless_file_is_as_long_as_the_stream(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 1);
	kit.config.on_overflow = OVERFLOW_WAIT;
	start(&kit);
	assert_true(kit_wait(&kit, LONG));
	assert_int_equal(kit_count(&kit, 0, ".raw"), 1);
	finish(&kit, OUTCOME_COMPLETE, 0);
}

static void buffered_files_have_every_byte(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 2; disks++) {
		struct kit kit;

		kit_open(&kit, disks);
		kit.config.use_direct = false;
		fake_source_script.piece_max = 10000;
		start(&kit);
		finish(&kit, OUTCOME_COMPLETE, 0);
	}
}

static void a_long_name_has_a_directory_of_the_same_name(void **state)
{
	char name[LAYOUT_NAME_MAX + 1];
	struct kit kit;
	int status;

	(void)state;
	memset(name, '%', LAYOUT_NAME_MAX);
	name[LAYOUT_NAME_MAX] = '\0';
	kit_open(&kit, 2);
	kit.config.name = name;
	start(&kit);
	assert_true(kit_end(&kit, LONG, LONG));
	session_outcome(kit.session, &status);
	assert_int_equal(status, 0);
	assert_int_equal(session_written_bytes(kit.session), 1000003);
	kit_close(&kit);
}

/* ---- what the source does ---- */

static void losses_of_the_source_are_gaps_at_their_place(void **state)
{
	(void)state;
	for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
		for (unsigned disks = 1; disks <= 3 && shape != PCAP_FILES; disks += 2) {
			struct kit kit;

			kit_open(&kit, disks);
			set_shape(&kit, shape);
			fake_source_script.piece_max = 3000;
			fake_source_script.loss_one_in = 7;
			fake_source_script.loss_max = 9000;
			fake_source_script.loss_at_end = 777;
			start(&kit);
			finish(&kit, OUTCOME_LOSS, 1);
		}
	}
}

static void what_the_source_threw_away_has_no_place_in_the_stream(void **state)
{
	(void)state;
	for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
		const struct account *account;
		struct kit kit;

		if (shape == PCAP_FILES) /* whole packets: it throws none away */
			continue;
		kit_open(&kit, 2);
		set_shape(&kit, shape);
		fake_source_script.piece_max = 3000;
		fake_source_script.discard_one_in = 3;
		fake_source_script.discard_max = 9000;
		start(&kit);
		assert_true(kit_wait(&kit, LONG));
		account = &kit.session->account;
		assert_true(account_get(&kit.session->source->stats.discarded_bytes) > 0);
		/* with layout mark6 more: what is no whole packet */
		assert_true(account_get(&account->discarded_bytes) >=
			    account_get(&kit.session->source->stats.discarded_bytes));
		assert_int_equal(account->gap_count, 0);
		finish(&kit, OUTCOME_COMPLETE, 0);
	}
}

/* Each read a gap: blocks go on with little in them, and a chunk by bytes would need more blocks than there are. */
static void very_many_losses_do_not_jam_the_ring(void **state)
{
	(void)state;
	for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
		struct kit kit;

		if (shape == PCAP_FILES)
			continue;
		kit_open(&kit, 2);
		set_shape(&kit, shape);
		fake_source_script.bytes = 200000;
		fake_source_script.piece_max = 40;
		fake_source_script.loss_one_in = 1;
		fake_source_script.loss_max = 20;
		start(&kit);
		finish(&kit, OUTCOME_LOSS, 1);
	}
}

static void an_error_of_the_source_ends_with_all_before_it_safe(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 2; disks++) {
		struct kit kit;

		kit_open(&kit, disks);
		fake_source_script.error_at = 123457;
		fake_source_script.piece_max = 1000;
		start(&kit);
		assert_true(kit_wait(&kit, LONG));
		assert_true(account_stream_bytes(&kit.session->account) >= 123457);
		assert_int_equal(kit.session->stop_reason, STOP_SOURCE_ERROR);
		finish(&kit, OUTCOME_STOPPED, 2);
	}
}

static void a_source_that_does_not_start_gives_no_input(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 2);
	fake_source_script.start_error = ENODEV;
	start(&kit);
	finish(&kit, OUTCOME_STOPPED, EX_NOINPUT);
}

static void an_empty_source_gives_no_input(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 2; disks++) {
		struct kit kit;

		kit_open(&kit, disks);
		fake_source_script.bytes = 1;
		fake_source_script.is_silent = true;
		kit.config.silence_ns = 20 * MS;
		start(&kit);
		sleep_ns(150 * MS);
		session_stop(kit.session, STOP_SIGNAL);
		assert_true(kit_wait(&kit, LONG));
		assert_true(kit.session->warning_count > 0);
		assert_non_null(strstr(kit.session->warnings[0], "nothing has come"));
		finish(&kit, OUTCOME_STOPPED, EX_NOINPUT);
	}
}

static void a_source_whose_blocks_a_stuck_disk_has_is_not_called_silent(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 1);
	set_shape(&kit, PCAP_FILES);
	fake_source_script.bytes = 0;
	kit.config.silence_ns = 20 * MS;
	kit.disks[0].stuck_at[FAKE_WRITE] = 3;
	start(&kit);
	while (!atomic_load(&kit.disks[0].is_stuck))
		sleep_ns(MS);
	sleep_ns(300 * MS);
	fake_disk_release(&kit.disks[0]);
	sleep_ns(20 * MS);
	session_stop(kit.session, STOP_SIGNAL);
	assert_true(kit_wait(&kit, LONG));
	for (unsigned i = 0; i < kit.session->warning_count; i++)
		assert_null(strstr(kit.session->warnings[i], "nothing has come"));
	finish(&kit, OUTCOME_COMPLETE, 0);
}

static void a_slow_source_is_on_disk_up_to_its_last_byte(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 2);
	fake_source_script.bytes = 5000;
	fake_source_script.piece_max = 100;
	fake_source_script.pause_ns = MS;
	start(&kit);
	finish(&kit, OUTCOME_COMPLETE, 0);
}

/* More than the ring has room for: the device has been stopped, so it can wait, whatever it could before. */
static void what_a_device_holds_at_a_stop_is_taken_without_loss(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 4; turn++) {
		struct kit kit;

		kit_open(&kit, 1 + turn % 2);
		fake_source_script.bytes = 0;
		fake_source_script.device_bytes = 300000;
		fake_source_script.piece_max = 3000;
		fake_source_script.pause_ns = MS / 4;
		fake_source_script.can_wait = turn / 2;
		for (unsigned i = 0; i < kit.disk_count; i++)
			kit.disks[i].delay_ns[FAKE_WRITE] = MS;
		start(&kit);
		sleep_ns(10 * MS);
		session_stop(kit.session, STOP_SIGNAL);
		assert_true(kit_wait(&kit, LONG));
		assert_true(account_stream_bytes(&kit.session->account) >= 300000);
		finish(&kit, OUTCOME_COMPLETE, 0);
	}
}

static void a_stop_at_the_moment_of_the_limit_does_no_harm(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 60; turn++) {
		struct kit kit;
		uint64_t bytes;

		kit_open(&kit, 1);
		fake_source_script.device_bytes = 300000;
		kit.config.limit_bytes = 1000 * (1 + turn);
		fake_source_script.piece_max = 100;
		start(&kit);
		while (account_stream_bytes(&kit.session->account) + 50 < kit.config.limit_bytes &&
		       !atomic_load(&kit.session->has_stream_ended))
			;
		session_stop(kit.session, STOP_SIGNAL);
		assert_true(kit_wait(&kit, LONG));
		bytes = account_stream_bytes(&kit.session->account);
		assert_true(bytes <= kit.config.limit_bytes);
		finish(&kit, bytes == kit.config.limit_bytes ? OUTCOME_COMPLETE : OUTCOME_STOPPED,
		       bytes == kit.config.limit_bytes ? 0 : 2);
	}
}

/* ---- limits, stop, abort ---- */

static void a_limit_in_bytes_is_kept_to_the_byte(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 3; disks++) {
		for (unsigned losses = 0; losses < 2; losses++) {
			struct kit kit;
			uint64_t written;

			kit_open(&kit, disks);
			fake_source_script.bytes = 0;
			fake_source_script.piece_max = 5000;
			fake_source_script.loss_one_in = losses * 3;
			fake_source_script.loss_max = 20000;
			kit.config.limit_bytes = 200001;
			start(&kit);
			assert_true(kit_wait(&kit, LONG));
			assert_true(kit_end(&kit, LONG, LONG));
			written = session_written_bytes(kit.session);
			assert_int_equal(kit.session->stop_reason, STOP_BYTES);
			if (!losses)
				assert_int_equal(written, 200001);
			finish(&kit, losses ? OUTCOME_LOSS : OUTCOME_COMPLETE, (int)losses);
		}
	}
}

static void a_limit_in_time_that_is_not_reached_is_a_stop(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 2);
	kit.config.duration_ns = LONG;
	start(&kit);
	finish(&kit, OUTCOME_STOPPED, 2);
	kit_open(&kit, 2);
	fake_source_script.bytes = 0;
	fake_source_script.pause_ns = MS;
	kit.config.duration_ns = 50 * MS;
	start(&kit);
	finish(&kit, OUTCOME_COMPLETE, 0);
}

/* From before the first byte to behind the last one. */
static void a_stop_at_any_moment_keeps_what_has_come(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 60; turn++) {
		struct kit kit;
		bool is_empty;

		kit_open(&kit, 1 + turn % 3);
		set_shape(&kit, turn % SHAPE_COUNT);
		fake_source_script.bytes = 0;
		fake_source_script.piece_max = turn % 4 ? 9000 : 100;
		fake_source_script.start_ns = turn % 5 == 0 ? 5 * MS : 0;
		start(&kit);
		sleep_ns((int64_t)chance((uint64_t)(turn % 2 ? 10 * MS : 100000)));
		session_stop(kit.session, STOP_SIGNAL);
		assert_true(kit_wait(&kit, LONG));
		is_empty = account_stream_bytes(&kit.session->account) == 0;
		finish(&kit, is_empty ? OUTCOME_STOPPED : OUTCOME_COMPLETE, is_empty ? EX_NOINPUT : 0);
	}
}

static void an_abort_at_any_moment_accounts_for_every_byte(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 60; turn++) {
		struct kit kit;
		bool is_empty;

		kit_open(&kit, 1 + turn % 3);
		set_shape(&kit, turn % SHAPE_COUNT);
		fake_source_script.bytes = 0;
		fake_source_script.piece_max = 9000;
		for (unsigned i = 0; i < kit.disk_count; i++)
			kit.disks[i].delay_ns[FAKE_SYNC] = (int64_t)chance(4 * MS);
		start(&kit);
		sleep_ns((int64_t)chance((uint64_t)(turn % 2 ? 20 * MS : 200000)));
		session_abort(kit.session);
		assert_true(kit_wait(&kit, LONG));
		is_empty = account_stream_bytes(&kit.session->account) == 0;
		finish(&kit, OUTCOME_STOPPED, is_empty ? EX_NOINPUT : 2);
	}
}

/* With all disks busy the runs of one file go to whoever is free, who then has pieces of several files, one after the other. */
static void an_abort_between_pieces_of_files_leaves_no_junk(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 30; turn++) {
		struct kit kit;

		kit_open(&kit, 2);
		set_shape(&kit, RAW_FILES);
		fake_source_script.bytes = 0;
		for (unsigned i = 0; i < 2; i++)
			kit.disks[i].delay_ns[FAKE_WRITE] = MS;
		start(&kit);
		wait_for_data(&kit);
		sleep_ns(20 * MS + (int64_t)chance(20 * MS));
		session_abort(kit.session);
		finish(&kit, OUTCOME_STOPPED, 2);
	}
}

/* ---- a full ring ---- */

static void a_source_that_can_wait_is_never_dropped_from(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 2);
	fake_source_script.bytes = 300000;
	for (unsigned i = 0; i < 2; i++)
		kit.disks[i].delay_ns[FAKE_SYNC] = 10 * MS;
	start(&kit);
	finish(&kit, OUTCOME_COMPLETE, 0);
}

static uint64_t held_bytes(const struct kit *kit)
{
	return ring_level(kit->session->ring).held_bytes;
}

/* Only as far ahead as the cache reaches; but when the disk stalls, as far as the ring does. */
static void a_source_that_is_faster_than_its_disk_is_kept_near_it(void **state)
{
	enum { RING = 32 << 20, BLOCK = 1 << 20, NEAR = 8 << 20, CALM_WRITES = 150 };
	unsigned near_count = 0, far_count = 0;
	struct kit kit;

	(void)state;
	kit_open(&kit, 1);
	kit.config.ring_bytes = RING;
	kit.config.block_bytes = BLOCK;
	kit.config.engine = ENGINE_PWRITE;
	fake_source_script.bytes = UINT64_C(250) << 20;
	kit.disks[0].delay_ns[FAKE_WRITE] = 8 * MS; /* whatever it costs to make the stream */
	kit.disks[0].stuck_at[FAKE_WRITE] = CALM_WRITES;
	start(&kit);
	while (atomic_load(&kit.disks[0].calls[FAKE_WRITE]) < RING / BLOCK)
		sleep_ns(MS);
	while (held_bytes(&kit) > NEAR && atomic_load(&kit.disks[0].calls[FAKE_WRITE]) <
						  CALM_WRITES) /* it was full once, and runs down */
		sleep_ns(MS);
	while (atomic_load(&kit.disks[0].calls[FAKE_WRITE]) < CALM_WRITES - 10) {
		*(held_bytes(&kit) <= NEAR ? &near_count : &far_count) += 1;
		sleep_ns(MS / 2);
	}
	assert_true(near_count > far_count); /* a machine that stands still for a moment looks like a stall */
	while (held_bytes(&kit) < RING)
		sleep_ns(MS);
	assert_true(atomic_load(&kit.disks[0].is_stuck));
	fake_disk_release(&kit.disks[0]);
	finish(&kit, OUTCOME_COMPLETE, 0);
}

/* Near is a few blocks at least: with one alone reader and disk would wait for each other in turn. */
static void large_blocks_keep_reader_and_disk_at_work_together(void **state)
{
	enum { BLOCK = 8 << 20, RING = 8 * BLOCK, WRITES = 30 };
	unsigned busy_count = 0, count = 0;
	struct kit kit;

	(void)state;
	kit_open(&kit, 1);
	kit.config.ring_bytes = RING;
	kit.config.block_bytes = BLOCK;
	kit.config.engine = ENGINE_PWRITE;
	kit.config.use_checksums = false;
	fake_source_script.bytes = (uint64_t)WRITES * BLOCK;
	kit.disks[0].delay_ns[FAKE_WRITE] = 80 * MS; /* as above */
	start(&kit);
	while (atomic_load(&kit.disks[0].calls[FAKE_WRITE]) < WRITES / 2)
		sleep_ns(MS);
	while (atomic_load(&kit.disks[0].calls[FAKE_WRITE]) < WRITES - 8) {
		count++;
		busy_count += held_bytes(&kit) > BLOCK;
		sleep_ns(MS);
	}
	assert_true(busy_count > count / 2);
	finish(&kit, OUTCOME_COMPLETE, 0);
}

static void a_full_ring_drops_from_a_source_that_cannot_wait(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 6; turn++) {
		struct kit kit;

		kit_open(&kit, 1 + turn % 3);
		set_shape(&kit, turn % SHAPE_COUNT);
		fake_source_script.bytes = 2000000;
		fake_source_script.piece_max = 8000;
		fake_source_script.loss_one_in = 9;
		fake_source_script.loss_max = 500;
		fake_source_script.can_wait = false;
		for (unsigned i = 0; i < kit.disk_count; i++) {
			kit.disks[i].delay_ns[FAKE_WRITE] = 2 * MS;
			kit.disks[i].delay_ns[FAKE_SYNC] = 2 * MS;
		}
		start(&kit);
		assert_true(kit_wait(&kit, LONG));
		assert_true(account_get(&kit.session->account.overflow_bytes) > 0);
		assert_true(account_get(&kit.session->account.overflow_count) > 0);
		finish(&kit, OUTCOME_LOSS, 1);
	}
}

static void an_overflow_stops_when_it_was_asked_to(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 2);
	kit.config.on_overflow = OVERFLOW_STOP;
	fake_source_script.bytes = 0;
	for (unsigned i = 0; i < 2; i++)
		kit.disks[i].delay_ns[FAKE_WRITE] = 5 * MS;
	start(&kit);
	assert_true(kit_wait(&kit, LONG));
	assert_int_equal(kit.session->stop_reason, STOP_OVERFLOW);
	finish(&kit, OUTCOME_STOPPED, 2);
}

/* ---- disks under two copies and under parity ---- */

static const enum fake_call faulty_calls[] = { FAKE_OPEN,           FAKE_WRITE, FAKE_SYNC,
					       FAKE_SYNC_DIRECTORY, FAKE_CUT,   FAKE_RENAME };
#define FAULTY_CALLS (sizeof(faulty_calls) / sizeof(faulty_calls[0]))

/* One of its calls fails, which by the turn and when by chance. Return: false: it was not called so often. */
static bool run_with_failing_disk(struct kit *kit, unsigned disk, unsigned turn)
{
	fake_disk_fail(&kit->disks[disk], faulty_calls[turn % FAULTY_CALLS], 1 + chance(20), 0, EIO);
	kit->disks[disk].is_forgetful = true;
	start(kit);
	assert_true(kit_wait(kit, LONG));
	return atomic_load(&kit->session->usable_count) < kit->disk_count;
}

/* It is left, comes back, and takes part again for a while. */
static void run_with_stuck_disk(struct kit *kit, unsigned disk)
{
	kit->config.disk_timeout_ns = 100 * MS;
	fake_source_script.bytes = 0;
	kit->disks[disk].stuck_at[FAKE_WRITE] = 7;
	start(kit);
	wait_for_state(kit, disk, DISK_STUCK);
	fake_disk_release(&kit->disks[disk]);
	wait_for_state(kit, disk, DISK_OK);
	sleep_ns(50 * MS);
	session_stop(kit->session, STOP_SIGNAL);
	assert_true(kit_wait(kit, LONG));
}

static void start_with_all_failing(struct kit *kit)
{
	fake_source_script.bytes = 0;
	for (unsigned i = 0; i < kit->disk_count; i++) {
		fake_disk_fail(&kit->disks[i], FAKE_WRITE, 5 + chance(40), 0, EIO);
		kit->disks[i].is_forgetful = true;
	}
	start(kit);
}

/* ---- two copies ---- */

/* VBS_ANY, VBS_ROUND, RAW_SMALL_FILES in turn: what can be written twice. */
static void open_with_copies(struct kit *kit, unsigned disk_count, unsigned shape)
{
	static const enum shape shapes[] = { VBS_ANY, VBS_ROUND, RAW_SMALL_FILES };

	kit_open(kit, disk_count);
	set_shape(kit, shapes[shape % 3]);
	kit->config.copies = 2;
}

static void two_copies_are_on_two_disks_each(void **state)
{
	(void)state;
	for (unsigned shape = 0; shape < 3; shape++)
		for (unsigned disks = 2; disks <= KIT_DISKS; disks++) {
			struct kit kit;

			open_with_copies(&kit, disks, shape);
			fake_source_script.loss_one_in = 9;
			fake_source_script.loss_max = 500;
			start(&kit);
			assert_true(kit_wait(&kit, LONG));
			assert_int_equal(session_single_bytes(kit.session), 0);
			finish(&kit, OUTCOME_LOSS, 1);
		}
}

/* Whichever call fails, and whenever: what the others have is all of it, and no disk has both copies. */
static void a_disk_failing_under_two_copies_loses_nothing(void **state)
{
	unsigned failed_count = 0;

	(void)state;
	for (unsigned turn = 0; turn < 36; turn++) {
		struct kit kit;

		open_with_copies(&kit, 2 + turn % 3, turn / 6);
		if (!run_with_failing_disk(&kit, turn % 2, turn)) {
			finish(&kit, OUTCOME_COMPLETE, 0);
			continue;
		}
		failed_count++;
		if (kit.disk_count == 2)
			assert_true(session_single_bytes(kit.session) > 0);
		else
			assert_int_equal(session_single_bytes(kit.session), 0);
		finish(&kit, OUTCOME_DEGRADED, 1);
	}
	assert_true(failed_count > 18);
}

static void with_two_copies_a_loss_is_what_both_have_lost(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 12; turn++) {
		struct kit kit;

		open_with_copies(&kit, 2 + turn % 3, turn / 3);
		start_with_all_failing(&kit);
		assert_true(kit_wait(&kit, LONG));
		assert_int_equal(kit.session->stop_reason, STOP_LAST_DISK);
		finish(&kit, OUTCOME_STOPPED, 2);
	}
}

static void an_abort_under_two_copies_accounts_for_every_byte(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 12; turn++) {
		struct kit kit;

		open_with_copies(&kit, 2 + turn % 3, turn / 3);
		fake_source_script.bytes = 0;
		fake_source_script.can_wait = turn % 2;
		kit.disks[0].delay_ns[FAKE_WRITE] = MS;
		start(&kit);
		wait_for_data(&kit);
		sleep_ns((int64_t)chance(30) * MS);
		session_abort(kit.session);
		finish(&kit, OUTCOME_STOPPED, 2);
	}
}

static void a_stuck_disk_under_two_copies_is_left_and_comes_back(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 6; turn++) {
		struct kit kit;

		open_with_copies(&kit, 2 + turn % 2, turn / 2);
		run_with_stuck_disk(&kit, 1);
		if (kit.disk_count == 2)
			finish(&kit, OUTCOME_DEGRADED, 1); /* for a while there was one copy */
		else
			finish(&kit, OUTCOME_COMPLETE, 0);
	}
}

/* A source that can't wait, and a disk that takes a fraction of it: the other one has all of it. */
static void a_slow_disk_costs_second_copies_and_not_the_stream(void **state)
{
	struct kit kit;
	bool has_loss;

	(void)state;
	for (unsigned shape = 0; shape < 3; shape += 2) { /* in strict turn the slow one has its turn */
		open_with_copies(&kit, 2, shape);
		kit.config.depth = 1;
		fake_source_script.can_wait = false;
		fake_source_script.pause_ns = MS;
		fake_source_script.piece_max = 4096;
		kit.disks[1].delay_ns[FAKE_WRITE] = 40 * MS;
		start(&kit);
		assert_true(kit_wait(&kit, LONG));
		assert_true(session_single_bytes(kit.session) > 100000);
		/* all of it, unless this machine is too busy for the fast one */
		assert_true(session_written_bytes(kit.session) > 500000);
		has_loss = session_written_bytes(kit.session) < 1000003;
		finish(&kit, has_loss ? OUTCOME_LOSS : OUTCOME_DEGRADED, 1);
	}
}

/*
 * Runs of one block each, and disks that are busy: both copies of nearly all that the ring holds wait for
 * whoever comes first, in one queue.
 */
static void both_copies_of_all_blocks_have_room_in_one_queue(void **state)
{
	struct kit kit;

	(void)state;
	open_with_copies(&kit, 2, 0);
	kit.config.ring_bytes = 16 * KIT_BLOCK;
	kit.config.chunk_bytes = KIT_BLOCK;
	fake_source_script.bytes = 50 * KIT_BLOCK;
	for (unsigned i = 0; i < 2; i++)
		kit.disks[i].delay_ns[FAKE_SYNC] = 5 * MS;
	start(&kit);
	finish(&kit, OUTCOME_COMPLETE, 0);
}

static void two_copies_want_two_disks(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 1);
	kit.config.copies = 2;
	assert_int_equal(kit_start(&kit), -EINVAL);
	assert_non_null(strstr(kit.refusal.text, "two directories"));
	kit_close(&kit);
	kit_open(&kit, 2);
	kit.config.copies = 2;
	set_shape(&kit, RAW_FILES);
	assert_int_equal(kit_start(&kit), -EINVAL);
	assert_non_null(strstr(kit.refusal.text, "--file-size of at most"));
	kit_close(&kit);
}

/* ---- parity ---- */

static void open_with_parity(struct kit *kit, unsigned disk_count, bool has_files)
{
	kit_open(kit, disk_count);
	kit->config.layout = LAYOUT_RAW;
	kit->config.use_parity = true;
	kit->config.file_bytes = has_files ? 5 * KIT_BLOCK : 0;
}

static void parity_is_that_of_each_row(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 8; turn++) {
		struct kit kit;

		open_with_parity(&kit, 3 + turn % 2, turn / 4);
		fake_source_script.bytes = 100000 + chance(900000);
		if (turn % 4 >= 2) {
			fake_source_script.loss_one_in = 9;
			fake_source_script.loss_max = 500;
			fake_source_script.piece_max = 3000;
		}
		start(&kit);
		assert_true(kit_wait(&kit, LONG));
		assert_int_equal(session_unprotected_bytes(kit.session), 0);
		if (turn % 4 >= 2)
			finish(&kit, OUTCOME_LOSS, 1);
		else
			finish(&kit, OUTCOME_COMPLETE, 0);
	}
}

/* Of a disk of the row, or of the parity's own. */
static void a_disk_failing_under_parity_loses_nothing(void **state)
{
	unsigned failed_count = 0;

	(void)state;
	for (unsigned turn = 0; turn < 36; turn++) {
		struct kit kit;
		bool has_failed;

		open_with_parity(&kit, 3 + turn / 12 % 2, turn / 18);
		has_failed = run_with_failing_disk(&kit, turn / FAULTY_CALLS % 2 ? 0 : 2, turn);
		failed_count += has_failed;
		finish(&kit, has_failed ? OUTCOME_DEGRADED : OUTCOME_COMPLETE, has_failed ? 1 : 0);
	}
	assert_true(failed_count > 18);
}

static void a_stuck_disk_under_parity_is_left_and_comes_back(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 6; turn++) {
		struct kit kit;

		open_with_parity(&kit, 3, turn / 3);
		run_with_stuck_disk(&kit, turn % 3);
		if (session_unprotected_bytes(kit.session))
			finish(&kit, OUTCOME_DEGRADED, 1);
		else
			finish(&kit, OUTCOME_COMPLETE, 0);
	}
}

static void all_disks_failing_under_parity_end_it_with_an_exact_account(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 12; turn++) {
		struct kit kit;

		open_with_parity(&kit, 3 + turn % 2, turn / 6);
		start_with_all_failing(&kit);
		if (turn % 3 == 0) {
			wait_for_data(&kit);
			session_abort(kit.session);
		}
		assert_true(kit_wait(&kit, LONG));
		finish(&kit, OUTCOME_STOPPED, 2);
	}
}

static void parity_wants_three_disks_and_whole_blocks(void **state)
{
	struct kit kit;

	(void)state;
	open_with_parity(&kit, 2, false);
	assert_int_equal(kit_start(&kit), -EINVAL);
	assert_non_null(strstr(kit.refusal.text, "three directories"));
	kit_close(&kit);
	open_with_parity(&kit, 3, true);
	kit.config.file_bytes++;
	assert_int_equal(kit_start(&kit), -EINVAL);
	assert_non_null(strstr(kit.refusal.text, "whole blocks"));
	kit_close(&kit);
	open_with_parity(&kit, 3, false);
	kit.config.layout = LAYOUT_VBS;
	assert_int_equal(kit_start(&kit), -EINVAL);
	assert_non_null(strstr(kit.refusal.text, "layout raw"));
	kit_close(&kit);
}

/* ---- disks that fail ---- */

static const int faults[] = { EIO, ENOSPC, EROFS };

/* Which call, the how many-th, with which errno: all of them, on every shape. With other disks left nothing is lost. */
static void with_others_left_a_failing_disk_loses_nothing(void **state)
{
	(void)state;
	for (size_t c = 0; c < FAULTY_CALLS; c++) {
		for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
			unsigned victim = (unsigned)chance(3);
			struct kit kit;
			bool has_failed;

			kit_open(&kit, 2 + (unsigned)c % 2);
			victim %= kit.disk_count;
			set_shape(&kit, shape);
			fake_disk_fail(&kit.disks[victim], faulty_calls[c], 1 + chance(6), 0,
				       faults[(c + shape) % 3]);
			start(&kit);
			assert_true(kit_wait(&kit, LONG));
			has_failed = atomic_load(&kit.session->disks[victim].state) != DISK_OK;
			if (has_failed)
				assert_true(kit.session->disks[victim].error[0]);
			finish(&kit, has_failed ? OUTCOME_DEGRADED : OUTCOME_COMPLETE,
			       has_failed ? 1 : 0);
		}
	}
}

static void a_failing_disk_has_the_state_of_its_error(void **state)
{
	static const struct {
		int error;
		enum disk_state state;
	} cases[] = { { ENOSPC, DISK_FULL },
		      { EDQUOT, DISK_FULL },
		      { EROFS, DISK_READONLY },
		      { EIO, DISK_FAILED },
		      { ENXIO, DISK_FAILED } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kit kit;

		kit_open(&kit, 2);
		fake_disk_fail(&kit.disks[1], FAKE_WRITE, 3, 0, cases[i].error);
		start(&kit);
		assert_true(kit_wait(&kit, LONG));
		assert_int_equal(atomic_load(&kit.session->disks[1].state), cases[i].state);
		assert_non_null(strstr(kit.session->disks[1].error, strerror(cases[i].error)));
		assert_non_null(strstr(kit.session->disks[1].error, kit.targets[1]));
		finish(&kit, OUTCOME_DEGRADED, 1);
	}
}

static void a_disk_that_fills_up_hands_on_what_does_not_fit(void **state)
{
	(void)state;
	for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
		struct kit kit;

		kit_open(&kit, 3);
		set_shape(&kit, shape);
		for (unsigned i = 0; i < 2; i++) /* whichever gets what, two of three have not room for it */
			kit.disks[i].room_bytes = 20000 + chance(100000);
		start(&kit);
		finish(&kit, OUTCOME_DEGRADED, 1);
	}
}

static void the_only_disk_failing_ends_it_with_an_exact_account(void **state)
{
	(void)state;
	for (size_t c = 0; c < FAULTY_CALLS; c++) {
		for (unsigned shape = 0; shape < 4; shape++) {
			struct kit kit;
			bool has_failed;

			kit_open(&kit, 1);
			if (shape == 1)
				set_shape(&kit, RAW_FILES);
			if (shape == 2)
				set_shape(&kit, RAW_SMALL_FILES);
			if (shape == 3)
				set_shape(&kit, VBS_ANY);
			/* a single endless file is named once, synced now and then, and cut at the end */
			fake_disk_fail(&kit.disks[0], faulty_calls[c],
				       shape == 0 && faulty_calls[c] != FAKE_WRITE ? 1 : 1 + chance(6),
				       0, faults[(c + shape) % 3]);
			start(&kit);
			assert_true(kit_wait(&kit, LONG));
			assert_true(kit_end(&kit, LONG, LONG));
			has_failed = atomic_load(&kit.session->disks[0].state) != DISK_OK;
			if (has_failed)
				assert_int_equal(kit.session->usable_count, 0);
			else /* it has the one call that never comes */
				assert_true(shape == 0 && faulty_calls[c] == FAKE_RENAME);
			finish(&kit, has_failed ? OUTCOME_STOPPED : OUTCOME_COMPLETE,
			       has_failed ? 2 : 0);
		}
	}
}

/* What a failing sync does not make durable is lost here for good, so a wrong claim shows in the content. */
static void a_sync_that_fails_is_never_taken_for_a_success(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 3; disks++) {
		for (uint64_t at = 1; at <= 12; at++) {
			struct kit kit;

			kit_open(&kit, disks);
			if (disks == 1)
				set_shape(&kit, at % 2 ? VBS_ANY : RAW_SMALL_FILES);
			for (unsigned i = 0; i < disks; i++) /* one call fails, those after it would not */
				fake_disk_fail(&kit.disks[i], FAKE_SYNC, at + i, 1, EIO);
			start(&kit);
			finish(&kit, OUTCOME_STOPPED, 2);
		}
	}
}

static void two_disks_of_three_failing_at_once_lose_nothing(void **state)
{
	unsigned both_count = 0;

	(void)state;
	for (unsigned turn = 0; turn < 4 * SHAPE_COUNT; turn++) {
		enum fake_call call = turn % 2 ? FAKE_SYNC : FAKE_WRITE;
		unsigned failed_count = 0;
		struct kit kit;

		kit_open(&kit, 3);
		set_shape(&kit, turn % SHAPE_COUNT);
		for (unsigned i = 0; i < 2; i++)
			fake_disk_fail(&kit.disks[(turn + i) % 3], call, 1 + turn / SHAPE_COUNT, 0,
				       EIO);
		start(&kit);
		assert_true(kit_wait(&kit, LONG));
		/* a disk that got little to do may not come to the call that fails; who did is out */
		for (unsigned i = 0; i < 2; i++)
			failed_count += kit.disks[(turn + i) % 3].calls[call] > turn / SHAPE_COUNT;
		assert_int_equal(kit.session->usable_count, 3 - failed_count);
		both_count += failed_count == 2;
		finish(&kit, failed_count ? OUTCOME_DEGRADED : OUTCOME_COMPLETE, failed_count ? 1 : 0);
	}
	assert_true(both_count > 0);
}

static void all_disks_failing_end_it_with_an_exact_account(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 4 * SHAPE_COUNT; turn++) {
		struct kit kit;

		kit_open(&kit, 2 + turn % 3);
		set_shape(&kit, turn % SHAPE_COUNT);
		for (unsigned i = 0; i < kit.disk_count; i++)
			fake_disk_fail(&kit.disks[i], turn % 2 ? FAKE_SYNC : FAKE_WRITE,
				       1 + chance(6), 0, faults[i % 3]);
		fake_source_script.bytes = 0;
		start(&kit);
		assert_true(kit_wait(&kit, LONG));
		assert_int_equal(kit.session->stop_reason, STOP_LAST_DISK);
		finish(&kit, OUTCOME_STOPPED, 2);
	}
}

/* The sick disk has the ring full of complete runs, and the good one is in the middle of a run that can't go on. */
static void a_disk_failing_with_the_ring_full_does_not_jam_it(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 2 * SHAPE_COUNT; turn++) {
		struct kit kit;

		kit_open(&kit, 2 + turn / SHAPE_COUNT);
		set_shape(&kit, turn % SHAPE_COUNT);
		kit.config.ring_bytes = (kit.disk_count + 1) * KIT_CHUNK;
		kit.config.chunk_bytes = KIT_CHUNK;
		for (unsigned i = 0; i + 1 < kit.disk_count; i++) {
			fake_disk_fail(&kit.disks[i], FAKE_WRITE, 2, 0, EIO);
			kit.disks[i].delay_ns[FAKE_WRITE] = 50 * MS;
		}
		start(&kit);
		finish(&kit, OUTCOME_DEGRADED, 1);
	}
}

static void short_and_interrupted_calls_are_continued(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 2; disks++) {
		struct kit kit;

		kit_open(&kit, disks);
		for (unsigned i = 0; i < disks; i++) {
			kit.disks[i].write_max = i ? 4096 : 1000; /* 1000 ends direct writing */
			fake_disk_fail(&kit.disks[i], FAKE_WRITE, 3, 2, EINTR);
			fake_disk_fail(&kit.disks[i], FAKE_SYNC, 1, 3, EINTR);
			fake_disk_fail(&kit.disks[i], FAKE_ALLOCATE, 1, 0, EOPNOTSUPP);
		}
		kit.config.block_bytes = 8192;
		kit.config.ring_bytes *= 2;
		start(&kit);
		finish(&kit, OUTCOME_COMPLETE, 0);
	}
}

/* ---- disks that hold us ---- */

/* After an error the file is cut to what is safe, on a disk that may be dying: the others have the run by then. */
static void a_failed_disk_that_holds_us_afterwards_keeps_nothing_from_the_others(void **state)
{
	unsigned stuck_count = 0;

	(void)state;
	for (unsigned turn = 0; turn < 4; turn++) {
		unsigned waits = 0;
		struct account_sum sum;
		struct kit kit;
		char error[512];

		kit_open(&kit, 2 + turn % 2);
		set_shape(&kit, RAW_FILES);
		/* in the second run of a file, or behind it: a write may also fail before the first one is safe */
		fake_disk_fail(&kit.disks[1], turn / 2 ? FAKE_WRITE : FAKE_SYNC, turn / 2 ? 6 : 2,
			       0, EIO);
		kit.disks[1].stuck_at[FAKE_CUT] = 1;
		kit.disks[0].delay_ns[FAKE_WRITE] = MS;
		start(&kit);
		while (!atomic_load(&kit.disks[1].is_stuck) && waits++ < (turn / 2 ? 500U : 20000U))
			sleep_ns(MS);
		stuck_count += atomic_load(&kit.disks[1].is_stuck);
		for (unsigned i = 0; i < 5000 && session_written_bytes(kit.session) < 1000003; i++)
			sleep_ns(MS);
		assert_int_equal(session_written_bytes(kit.session), 1000003);
		kit_end(&kit, 0, 200 * MS);
		sum = session_sum(kit.session);
		if (!account_check(&kit.session->account, &sum, error, sizeof(error)))
			fail_msg("turn %u: %s", turn, error);
		assert_int_equal(sum.disk_bytes, 0);
		assert_int_equal(kit.outcome, OUTCOME_DEGRADED);
		kit_close(&kit);
	}
	assert_true(stuck_count >= 2);
}

static void a_stuck_only_disk_ends_in_bounded_time(void **state)
{
	static const enum fake_call calls[] = { FAKE_WRITE, FAKE_SYNC, FAKE_OPEN, FAKE_CUT };

	(void)state;
	for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
		for (unsigned shape = 0; shape < 3; shape++) {
			struct kit kit;
			const char *error;

			kit_open(&kit, 1);
			if (shape == 1)
				set_shape(&kit, RAW_FILES);
			if (shape == 2)
				set_shape(&kit, VBS_ANY);
			kit.disks[0].stuck_at[calls[c]] = calls[c] == FAKE_WRITE || shape ? 3 : 1;
			start(&kit);
			while (!atomic_load(&kit.disks[0].is_stuck))
				sleep_ns(MS);
			session_stop(kit.session, STOP_SIGNAL);
			sleep_ns(20 * MS);
			assert_false(kit_end(&kit, 0, 200 * MS));
			assert_true(kit.end_ns < 2 * UNITS_NS_PER_S);
			assert_int_equal(atomic_load(&kit.session->disks[0].state), DISK_STUCK);
			assert_int_equal(kit.exit_status, 2);
			/* it comes back: nothing may be counted twice */
			fake_disk_release(&kit.disks[0]);
			sleep_ns(30 * MS);
			error = kit_check(&kit);
			/* the keeper was held too: the journal may end early, the account may not be wrong */
			if (error && strstr(error, "account"))
				fail_msg("call %zu, shape %u: %s", c, shape, error);
			assert_int_equal(kit.session->error[0], '\0');
			kit_close(&kit);
		}
	}
}

static void a_stuck_disk_beside_others_does_not_keep_them_from_ending(void **state)
{
	static const enum fake_call calls[] = { FAKE_WRITE, FAKE_SYNC, FAKE_RENAME };

	(void)state;
	for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
		for (enum shape shape = c % 2; shape < SHAPE_COUNT; shape += 2) {
			struct kit kit;
			struct account_sum sum;
			char error[512];

			kit_open(&kit, 2);
			set_shape(&kit, shape);
			fake_source_script.bytes = 60000;
			kit.disks[1].stuck_at[calls[c]] = 1;
			start(&kit);
			wait_for_data(&kit);
			sleep_ns(20 * MS);
			session_stop(kit.session, STOP_SIGNAL);
			sleep_ns(20 * MS);
			if (kit_end(&kit, 0, 600 * MS)) { /* no such call: nothing was renamed */
				finish(&kit, OUTCOME_COMPLETE, 0);
				continue;
			}
			assert_true(kit.end_ns < 3 * UNITS_NS_PER_S);
			assert_int_equal(atomic_load(&kit.session->disks[0].state), DISK_OK);
			assert_int_equal(atomic_load(&kit.session->disks[1].state), DISK_STUCK);
			assert_false(kit.session->disks[0].has_writer);
			assert_int_equal(kit_count(&kit, 0, ".part"), 0);
			fake_disk_release(&kit.disks[1]);
			sleep_ns(20 * MS);
			sum = session_sum(kit.session);
			if (!account_check(&kit.session->account, &sum, error, sizeof(error)))
				fail_msg("call %zu, shape %d: %s", c, shape, error);
			kit_close(&kit);
		}
	}
}

static const enum fake_call stallable[] = { FAKE_WRITE,  FAKE_SYNC,           FAKE_OPEN,
					    FAKE_RENAME, FAKE_SYNC_DIRECTORY, FAKE_ALLOCATE };

/* It never moves again, whatever it was asked: the others have everything, and nobody waits for it. */
static void a_disk_that_does_not_move_is_left_and_nothing_is_lost(void **state)
{
	unsigned left_count = 0;

	(void)state;
	for (size_t c = 0; c < sizeof(stallable) / sizeof(stallable[0]); c++) {
		for (enum shape shape = c % 3; shape < SHAPE_COUNT;
		     shape += 3) { /* stress_disks has the others */
			struct kit kit;
			const char *error;

			kit_open(&kit, 2 + (unsigned)c % 2);
			set_shape(&kit, shape);
			kit.config.disk_timeout_ns = 50 * MS;
			kit.disks[1].stuck_at[stallable[c]] = 1 + chance(4);
			start(&kit);
			if (!kit_wait(&kit, 10 * UNITS_NS_PER_S))
				fail_msg("call %zu, shape %d: it does not end", c, shape);
			kit_end(&kit, 0, 200 * MS);
			error = kit_check(&kit);
			if (error)
				fail_msg("call %zu, shape %d: %s", c, shape, error);
			assert_int_equal(session_written_bytes(kit.session) +
						 account_get(&kit.session->account.discarded_bytes),
					 fake_source_script.bytes);
			if (atomic_load(&kit.session->disks[1].state) == DISK_STUCK) {
				left_count++;
				assert_int_equal(kit.outcome, OUTCOME_DEGRADED);
			} else { /* no such call came */
				assert_int_equal(kit.outcome, OUTCOME_COMPLETE);
			}
			kit_close(&kit);
		}
	}
	assert_true(left_count > SHAPE_COUNT / 2);
}

static void a_disk_whose_stall_is_over_takes_part_again(void **state)
{
	(void)state;
	for (size_t c = 0; c < sizeof(stallable) / sizeof(stallable[0]); c++) {
		for (enum shape shape = c % 2; shape < SHAPE_COUNT;
		     shape += 2) { /* each with half of the calls */
			struct kit kit;
			const struct disk *disk;
			uint64_t before;

			kit_open(&kit, 2 + (unsigned)c % 2);
			set_shape(&kit, shape);
			fake_source_script.bytes = 0;
			fake_source_script.pause_ns = MS;
			kit.config.disk_timeout_ns = 30 * MS;
			kit.disks[1].stuck_at[stallable[c]] = 1 + chance(3);
			start(&kit);
			disk = &kit.session->disks[1];
			for (unsigned i = 0; i < 1000 && atomic_load(&disk->state) != DISK_STUCK; i++)
				sleep_ns(MS);
			before = atomic_load(&disk->durable_bytes);
			fake_disk_release(&kit.disks[1]);
			if (atomic_load(&disk->state) == DISK_STUCK) {
				for (unsigned i = 0;
				     i < 10000 && atomic_load(&disk->durable_bytes) == before; i++)
					sleep_ns(MS);
				assert_int_equal(atomic_load(&disk->state), DISK_OK);
				assert_true(atomic_load(&disk->durable_bytes) > before);
			}
			session_stop(kit.session, STOP_SIGNAL);
			finish(&kit, OUTCOME_COMPLETE, 0);
		}
	}
}

/* The last one is never left for being slow. */
static void of_two_disks_that_do_not_move_one_is_waited_for(void **state)
{
	struct kit kit;

	(void)state;
	kit_open(&kit, 2);
	kit.config.disk_timeout_ns = 30 * MS;
	kit.disks[0].stuck_at[FAKE_WRITE] = kit.disks[1].stuck_at[FAKE_WRITE] = 2;
	start(&kit);
	sleep_ns(300 * MS);
	assert_int_equal(atomic_load(&kit.session->usable_count), 1);
	assert_int_equal(atomic_load(&kit.session->stop_reason), STOP_NONE);
	fake_disk_release(&kit.disks[0]);
	fake_disk_release(&kit.disks[1]);
	finish(&kit, OUTCOME_COMPLETE, 0);
}

/*
 * One writes, the other is in the middle of its first run for as long as it takes. What waits in its queue
 * when the stream has ended the first one takes over: all but that one run.
 */
static void after_the_stream_an_idle_disk_takes_what_waits_for_a_slow_one(void **state)
{
	struct kit kit;
	uint64_t fast_bytes = 0;

	(void)state;
	kit_open(&kit, 2);
	kit.config.depth = 2; /* fewer than blocks in a run: the next one is not begun */
	kit.disks[0].delay_ns[FAKE_WRITE] = MS;
	kit.disks[1].stuck_at[FAKE_WRITE] = 1;
	fake_source_script.bytes = 40 * KIT_CHUNK;
	start(&kit);
	for (int64_t waited = 0; waited < LONG; waited += MS) {
		fast_bytes = account_get(&kit.session->disks[0].accepted_bytes);
		if (fast_bytes == 39 * KIT_CHUNK)
			break;
		sleep_ns(MS);
	}
	fake_disk_release(&kit.disks[1]);
	assert_int_equal(fast_bytes, 39 * KIT_CHUNK);
	assert_int_equal(kit.disks[1].calls[FAKE_OPEN], 1);
	finish(&kit, OUTCOME_COMPLETE, 0);
}

/* Written off at the very moment it comes back: whoever counts, it is counted once. */
static void a_disk_that_comes_back_while_it_is_written_off_is_counted_once(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 40; turn++) {
		int64_t patience = 8 * MS;
		struct account_sum sum;
		char error[512];
		struct kit kit;

		kit_open(&kit, 1 + turn % 3);
		set_shape(&kit, turn % SHAPE_COUNT);
		fake_source_script.bytes = 0;
		for (unsigned i = 0; i < kit.disk_count; i++) {
			kit.disks[i].delay_ns[FAKE_WRITE] = (int64_t)chance(12 * MS);
			kit.disks[i].delay_ns[FAKE_SYNC] = (int64_t)chance(12 * MS);
		}
		start(&kit);
		sleep_ns((int64_t)chance(30 * MS));
		session_abort(kit.session);
		kit_end(&kit, 0, patience);
		sum = session_sum(kit.session);
		if (!account_check(&kit.session->account, &sum, error, sizeof(error)))
			fail_msg("turn %u: %s", turn, error);
		kit_close(&kit);
	}
}

/* ---- journals, refusals ---- */

static void a_recording_that_exists_is_refused_and_left_alone(void **state)
{
	struct kit kit;

	(void)state;
	for (unsigned disks = 1; disks <= 2; disks++) {
		struct session *again;

		kit_open(&kit, disks);
		start(&kit);
		assert_true(kit_end(&kit, LONG, LONG));
		assert_int_equal(session_create(&again, &kit.config, &kit.refusal), -EEXIST);
		assert_int_equal(kit.refusal.exit_status, EX_CANTCREAT);
		assert_true(kit.refusal.is_name_taken);
		finish(&kit, OUTCOME_COMPLETE, 0);
	}
}

static void force_replaces_a_recording(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 2; disks++) {
		struct kit kit;

		kit_open(&kit, disks);
		start(&kit);
		assert_true(kit_end(&kit, LONG, LONG));
		session_free(kit.session);
		kit.session = NULL;
		kit.config.use_force = true;
		fake_source_script.bytes = 54321;
		start(&kit);
		finish(&kit, OUTCOME_COMPLETE, 0);
	}
}

static void name_recording(struct kit *kit, const char *name, const char *name_template)
{
	set_shape(kit, RAW_FILES);
	kit->config.name = name;
	kit->config.name_template = name_template;
}

static void record(struct kit *kit)
{
	start(kit);
	assert_true(kit_end(kit, LONG, LONG));
	session_free(kit->session);
	kit->session = NULL;
}

static void force_removes_no_file_of_another_recording(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 2; disks++) {
		struct kit kit;
		unsigned count = 0;

		kit_open(&kit, disks);
		name_recording(&kit, "monday", "t%03d");
		record(&kit);
		for (unsigned i = 0; i < disks; i++)
			count += kit_count(&kit, i, "");
		name_recording(&kit, "tuesday", "t%d");
		kit.config.use_force = true;
		assert_int_equal(session_create(&kit.session, &kit.config, &kit.refusal), -EEXIST);
		assert_int_equal(kit.refusal.exit_status, EX_CANTCREAT);
		assert_false(kit.refusal.is_name_taken); /* another name would not help, nor --force */
		assert_non_null(strstr(kit.refusal.text, "not a file of the recording tuesday"));
		for (unsigned i = 0; i < disks; i++)
			count -= kit_count(&kit, i, "");
		assert_int_equal(count, 0);
		/* its own files, which have nothing of its name, are replaced, all of them */
		name_recording(&kit, "monday", "t%03d");
		fake_source_script.bytes = 150000;
		record(&kit);
		for (unsigned i = 0; i < disks; i++)
			count += kit_count(&kit, i, "");
		assert_int_equal(count, disks + 2); /* journals, and two files */
		kit_close(&kit);
	}
}

/* Which the second copy would be named as; but an old second copy is replaced. */
static void force_removes_no_recording_for_a_second_copy(void **state)
{
	(void)state;
	for (unsigned shape = 0; shape < 3; shape++) {
		struct kit kit;
		unsigned count;

		open_with_copies(&kit, 2, shape);
		kit.config.copies = 1;
		kit.config.name = "scan-copy";
		record(&kit);
		count = kit_count(&kit, 0, "") + kit_count(&kit, 1, "");
		kit.config.copies = 2;
		kit.config.name = "scan";
		kit.config.use_force = true;
		assert_int_equal(session_create(&kit.session, &kit.config, &kit.refusal), -EEXIST);
		assert_int_equal(kit.refusal.exit_status, EX_CANTCREAT);
		assert_non_null(strstr(kit.refusal.text, "scan-copy is a recording of its own"));
		assert_int_equal(kit_count(&kit, 0, "") + kit_count(&kit, 1, ""), count);
		kit_close(&kit);
		open_with_copies(&kit, 2, shape);
		record(&kit);
		kit.config.use_force = true;
		start(&kit);
		finish(&kit, OUTCOME_COMPLETE, 0);
	}
}

static void a_refusal_with_force_leaves_the_old_recording_on_every_target(void **state)
{
	struct kit kit;
	char path[128];
	unsigned count;

	(void)state;
	kit_open(&kit, 2);
	record(&kit);
	count = kit_count(&kit, 0, "") + kit_count(&kit, 1, "");
	kit.config.use_force = true;
	assert_int_equal(session_create(&kit.session, &kit.config, &kit.refusal), 0);
	snprintf(path, sizeof(path), "%s/scan/notes", kit.targets[1]);
	close(open(path, O_WRONLY | O_CREAT, 0644));
	assert_int_equal(session_arm(kit.session, &kit.refusal), -EEXIST);
	assert_int_equal(kit.refusal.exit_status, EX_CANTCREAT);
	assert_non_null(strstr(kit.refusal.text, "scan/notes"));
	assert_int_equal(kit_count(&kit, 0, "") + kit_count(&kit, 1, ""), count + 1);
	kit_close(&kit);
}

/* The lines of the first target's journal. */
static json_t *read_lines(const struct kit *kit)
{
	json_t *lines = json_array();
	char path[128], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%sscan" JOURNAL_SUFFIX, kit->targets[0],
		 kit->session->plan.kind == LAYOUT_VBS ? "scan/" : "");
	f = fopen(path, "r");
	assert_non_null(f);
	while (getline(&line, &room, f) > 0)
		json_array_append_new(lines, json_loads(line, 0, NULL));
	free(line);
	fclose(f);
	return lines;
}

/* What a disk says of itself may be any bytes; a target less in the start line would shift all indices behind it. */
static void text_that_is_not_utf8_costs_no_target_its_place(void **state)
{
	json_t *lines, *targets;
	struct kit kit;

	(void)state;
	kit_open(&kit, 3);
	assert_int_equal(session_create(&kit.session, &kit.config, &kit.refusal), 0);
	strcpy(kit.session->disks[0].target.serial, "\xff\xfe 1");
	strcpy(kit.session->disks[1].target.fs_uuid, "\x80");
	assert_int_equal(session_arm(kit.session, &kit.refusal), 0);
	assert_int_equal(session_start(kit.session, &kit.refusal), 0);
	assert_true(kit_end(&kit, LONG, LONG));
	lines = read_lines(&kit);
	targets = json_object_get(json_array_get(lines, 0), "targets");
	assert_int_equal(json_array_size(targets), 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(targets, i), "path")),
			kit.targets[i]);
	assert_string_equal(json_string_value(json_object_get(json_array_get(targets, 0), "serial")),
			    "?? 1");
	json_decref(lines);
	finish(&kit, OUTCOME_COMPLETE, 0);
}

/* Also of those that begin behind a gap in the middle of a block. */
static void each_segment_has_the_time_of_its_own_first_byte(void **state)
{
	char last[64] = "";
	unsigned count = 0;
	json_t *lines, *line;
	struct kit kit;
	size_t i;

	(void)state;
	kit_open(&kit, 1);
	fake_source_script.bytes = 40000;
	fake_source_script.piece_max = 500;
	fake_source_script.loss_one_in = 5;
	fake_source_script.loss_max = 100;
	fake_source_script.pause_ns = MS / 10;
	start(&kit);
	assert_true(kit_end(&kit, LONG, LONG));
	lines = read_lines(&kit);
	json_array_foreach(lines, i, line)
	{
		if (strcmp(json_string_value(json_object_get(line, "type")), "segment") != 0)
			continue;
		assert_true(strcmp(json_string_value(json_object_get(line, "utc")), last) > 0);
		snprintf(last, sizeof(last), "%s", json_string_value(json_object_get(line, "utc")));
		count++;
	}
	assert_true(count > 10);
	json_decref(lines);
	finish(&kit, OUTCOME_LOSS, 1);
}

/* The default suits most machines; where it doesn't fit, a recording with less is better than none. */
static void a_ring_nobody_asked_for_is_lowered_to_what_fits(void **state)
{
	struct sysinfo info;
	struct kit kit;

	(void)state;
	assert_int_equal(sysinfo(&info), 0);
	kit_open(&kit, 2);
	kit.config.block_bytes = 4 << 20;
	kit.config.ring_bytes = (uint64_t)info.totalram * info.mem_unit * 2;
	assert_int_equal(session_create(&kit.session, &kit.config, &kit.refusal), -ENOMEM);
	assert_int_equal(kit.refusal.exit_status, EX_CONFIG);
	assert_non_null(strstr(kit.refusal.text, "the largest ring here is"));
	kit.config.is_ring_default = true;
	assert_int_equal(session_create(&kit.session, &kit.config, &kit.refusal), 0);
	assert_true(kit.session->plan.ring_bytes < kit.config.ring_bytes / 2);
	assert_true(kit.session->plan.ring_bytes > 0);
	assert_int_equal(kit.session->warning_count, 1);
	assert_non_null(strstr(kit.session->warnings[0], "ring lowered to "));
	kit_close(&kit);
}

/* wr's templates are paths of files: "-/x.%d" is in the directory "-". */
static void where_only_directories_are_meant_nothing_else_is_taken(void **state)
{
	static const char *const other[] = { "null:", "-" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct kit kit;

		kit_open(&kit, 1);
		kit.config.targets = &other[i];
		kit.config.is_index_per_target = true;
		assert_int_equal(session_create(&kit.session, &kit.config, &kit.refusal), -EINVAL);
		assert_int_equal(kit.refusal.exit_status, EX_USAGE);
		assert_non_null(strstr(kit.refusal.text, other[i]));
		kit.session = NULL;
		kit_close(&kit);
	}
}

/* Who can't be answered for want of a descriptor is turned away; else the socket would stay readable for ever. */
static void without_descriptors_a_question_is_turned_away(void **state)
{
	struct rlimit before, none;
	struct status *status;
	struct pollfd poll_fd;
	char why[256];
	struct sockaddr_un address;
	struct kit kit;
	socklen_t len = sizeof(address);
	int fd;

	(void)state;
	kit_open(&kit, 1);
	setenv("XDG_RUNTIME_DIR", kit.root, 1);
	assert_int_equal(status_open(&status, "scan", why), 0);
	assert_int_equal(getsockname(status_fd(status), (struct sockaddr *)&address, &len), 0);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, len), 0);
	poll_fd = (struct pollfd){ .fd = status_fd(status), .events = POLLIN };
	assert_int_equal(poll(&poll_fd, 1, 0), 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ (rlim_t)fd + 1, before.rlim_max }; /* all below are open */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	status_answer(status, json_object());
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	assert_int_equal(read(fd, why, sizeof(why)), 0);
	close(fd);
	/* and the next one is answered */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, len), 0);
	status_answer(status, json_object());
	assert_int_equal(read(fd, why, sizeof(why)), 3);
	close(fd);
	status_close(status);
	unsetenv("XDG_RUNTIME_DIR");
	kit_close(&kit);
}

static void a_refused_start_leaves_no_trace(void **state)
{
	struct kit kit;
	char path[128];

	(void)state;
	kit_open(&kit, 2);
	/* the second target's journal can't be made: something has its directory's name, unseen when it was looked for */
	assert_int_equal(session_create(&kit.session, &kit.config, &kit.refusal), 0);
	snprintf(path, sizeof(path), "%s/scan", kit.targets[1]);
	assert_int_equal(symlink("nowhere", path), 0);
	assert_true(session_arm(kit.session, &kit.refusal) < 0);
	assert_int_equal(kit.refusal.exit_status, EX_CANTCREAT);
	snprintf(path, sizeof(path), "%s/scan", kit.targets[0]);
	assert_int_equal(access(path, F_OK), -1);
	kit_close(&kit);
}

static void nothing_is_written_to_null_and_all_is_counted(void **state)
{
	static const char *const null[] = { "null:" };
	struct account_sum sum;
	struct kit kit;
	char error[512];

	(void)state;
	kit_open(&kit, 1);
	kit.config.targets = null;
	start(&kit);
	assert_true(kit_end(&kit, LONG, LONG));
	sum = session_sum(kit.session);
	assert_true(account_check(&kit.session->account, &sum, error, sizeof(error)));
	assert_int_equal(session_written_bytes(kit.session), 1000003);
	assert_int_equal(kit.exit_status, 0);
	kit_close(&kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_has_every_byte),
		cmocka_unit_test(the_systems_own_calls_do_as_well),
		cmocka_unit_test(one_endless_file_is_as_long_as_the_stream),
		cmocka_unit_test(buffered_files_have_every_byte),
		cmocka_unit_test(a_long_name_has_a_directory_of_the_same_name),
		cmocka_unit_test(losses_of_the_source_are_gaps_at_their_place),
		cmocka_unit_test(what_the_source_threw_away_has_no_place_in_the_stream),
		cmocka_unit_test(very_many_losses_do_not_jam_the_ring),
		cmocka_unit_test(an_error_of_the_source_ends_with_all_before_it_safe),
		cmocka_unit_test(a_source_that_does_not_start_gives_no_input),
		cmocka_unit_test(an_empty_source_gives_no_input),
		cmocka_unit_test(a_source_whose_blocks_a_stuck_disk_has_is_not_called_silent),
		cmocka_unit_test(a_slow_source_is_on_disk_up_to_its_last_byte),
		cmocka_unit_test(what_a_device_holds_at_a_stop_is_taken_without_loss),
		cmocka_unit_test(a_stop_at_the_moment_of_the_limit_does_no_harm),
		cmocka_unit_test(a_limit_in_bytes_is_kept_to_the_byte),
		cmocka_unit_test(a_limit_in_time_that_is_not_reached_is_a_stop),
		cmocka_unit_test(a_stop_at_any_moment_keeps_what_has_come),
		cmocka_unit_test(an_abort_at_any_moment_accounts_for_every_byte),
		cmocka_unit_test(an_abort_between_pieces_of_files_leaves_no_junk),
		cmocka_unit_test(a_source_that_can_wait_is_never_dropped_from),
		cmocka_unit_test(a_source_that_is_faster_than_its_disk_is_kept_near_it),
		cmocka_unit_test(large_blocks_keep_reader_and_disk_at_work_together),
		cmocka_unit_test(a_full_ring_drops_from_a_source_that_cannot_wait),
		cmocka_unit_test(an_overflow_stops_when_it_was_asked_to),
		cmocka_unit_test(with_others_left_a_failing_disk_loses_nothing),
		cmocka_unit_test(a_failing_disk_has_the_state_of_its_error),
		cmocka_unit_test(a_disk_that_fills_up_hands_on_what_does_not_fit),
		cmocka_unit_test(the_only_disk_failing_ends_it_with_an_exact_account),
		cmocka_unit_test(a_sync_that_fails_is_never_taken_for_a_success),
		cmocka_unit_test(two_disks_of_three_failing_at_once_lose_nothing),
		cmocka_unit_test(all_disks_failing_end_it_with_an_exact_account),
		cmocka_unit_test(a_disk_failing_with_the_ring_full_does_not_jam_it),
		cmocka_unit_test(short_and_interrupted_calls_are_continued),
		cmocka_unit_test(a_failed_disk_that_holds_us_afterwards_keeps_nothing_from_the_others),
		cmocka_unit_test(a_stuck_only_disk_ends_in_bounded_time),
		cmocka_unit_test(a_stuck_disk_beside_others_does_not_keep_them_from_ending),
		cmocka_unit_test(a_disk_that_does_not_move_is_left_and_nothing_is_lost),
		cmocka_unit_test(a_disk_whose_stall_is_over_takes_part_again),
		cmocka_unit_test(of_two_disks_that_do_not_move_one_is_waited_for),
		cmocka_unit_test(after_the_stream_an_idle_disk_takes_what_waits_for_a_slow_one),
		cmocka_unit_test(a_disk_that_comes_back_while_it_is_written_off_is_counted_once),
		cmocka_unit_test(two_copies_are_on_two_disks_each),
		cmocka_unit_test(a_disk_failing_under_two_copies_loses_nothing),
		cmocka_unit_test(with_two_copies_a_loss_is_what_both_have_lost),
		cmocka_unit_test(an_abort_under_two_copies_accounts_for_every_byte),
		cmocka_unit_test(a_stuck_disk_under_two_copies_is_left_and_comes_back),
		cmocka_unit_test(a_slow_disk_costs_second_copies_and_not_the_stream),
		cmocka_unit_test(both_copies_of_all_blocks_have_room_in_one_queue),
		cmocka_unit_test(two_copies_want_two_disks),
		cmocka_unit_test(parity_is_that_of_each_row),
		cmocka_unit_test(a_disk_failing_under_parity_loses_nothing),
		cmocka_unit_test(a_stuck_disk_under_parity_is_left_and_comes_back),
		cmocka_unit_test(all_disks_failing_under_parity_end_it_with_an_exact_account),
		cmocka_unit_test(parity_wants_three_disks_and_whole_blocks),
		cmocka_unit_test(a_recording_that_exists_is_refused_and_left_alone),
		cmocka_unit_test(force_replaces_a_recording),
		cmocka_unit_test(force_removes_no_file_of_another_recording),
		cmocka_unit_test(force_removes_no_recording_for_a_second_copy),
		cmocka_unit_test(a_refusal_with_force_leaves_the_old_recording_on_every_target),
		cmocka_unit_test(text_that_is_not_utf8_costs_no_target_its_place),
		cmocka_unit_test(each_segment_has_the_time_of_its_own_first_byte),
		cmocka_unit_test(a_ring_nobody_asked_for_is_lowered_to_what_fits),
		cmocka_unit_test(where_only_directories_are_meant_nothing_else_is_taken),
		cmocka_unit_test(without_descriptors_a_question_is_turned_away),
		cmocka_unit_test(a_refused_start_leaves_no_trace),
		cmocka_unit_test(nothing_is_written_to_null_and_all_is_counted),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
