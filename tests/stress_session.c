/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_session.c - whole recordings one after the other, each of another shape, with faults by chance, for some seconds
 *
 * Each has a seed of its own, told when it goes wrong: VSIB_STRESS_SEED=N runs that one alone, VSIB_STRESS_SECONDS=N runs for longer.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tests/session_kit.h"

#define SECONDS 6
#define MS INT64_C(1000000)
#define LONG (20 * UNITS_NS_PER_S)

static uint64_t chance_state;

static uint64_t chance(uint64_t below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return chance_state % below;
}

static bool is_one_in(uint64_t count)
{
	return chance(count) == 0;
}

static void sleep_ns(int64_t ns)
{
	struct timespec pause = { .tv_sec = ns / UNITS_NS_PER_S, .tv_nsec = ns % UNITS_NS_PER_S };

	nanosleep(&pause, NULL);
}

static void choose_shape(struct kit *kit)
{
	struct session_config *config = &kit->config;
	uint64_t chunk_blocks = 1 + chance(8);

	config->layout = is_one_in(2) ? LAYOUT_VBS : LAYOUT_RAW;
	config->stripe = is_one_in(2) ? STRIPE_ROUND : STRIPE_ANY;
	config->block_bytes = KIT_BLOCK << chance(5);
	if (is_one_in(4)) {
		config->layout = LAYOUT_MARK6;
		config->packet_bytes = 1 + chance(config->block_bytes / 2);
	}
	if (is_one_in(6)) {
		config->layout = LAYOUT_PCAP;
		config->stripe = STRIPE_ANY;
	}
	config->ring_bytes = 4 * kit->disk_count * chunk_blocks * config->block_bytes;
	if (kit->disk_count > 1 && is_one_in(2)) { /* as little ring as may be */
		config->chunk_bytes = chunk_blocks * config->block_bytes;
		config->ring_bytes = (kit->disk_count + 1) * config->chunk_bytes +
				     chance(2) * config->block_bytes;
	}
	if (kit->disk_count == 1)
		config->ring_bytes += config->block_bytes;
	if ((config->layout == LAYOUT_RAW || config->layout == LAYOUT_PCAP) &&
	    (config->stripe == STRIPE_ANY || is_one_in(2)))
		config->file_bytes =
			config->block_bytes + chance(20 * chunk_blocks * config->block_bytes);
	if (config->layout == LAYOUT_RAW && config->stripe == STRIPE_ROUND && is_one_in(2))
		config->unit_bytes = 1000 + chance(2 * config->block_bytes);
	config->use_direct = !is_one_in(4);
	config->use_checksums = !is_one_in(4);
	if (is_one_in(4))
		config->on_overflow = is_one_in(2) ? OVERFLOW_WAIT : OVERFLOW_DROP;
	if (config->layout != LAYOUT_PCAP)
		config->fill = (enum fill_policy)chance(3);
}

static void choose_source(uint64_t seed, const struct kit *kit)
{
	struct fake_source_script *script = &fake_source_script;
	size_t block = kit->config.block_bytes;

	*script = (struct fake_source_script){ .seed = seed,
					       .bytes = 1 + chance(200 * block),
					       .can_wait = !is_one_in(3) };
	if (is_one_in(2))
		script->piece_max = 1 + chance(3 * block);
	if (is_one_in(3)) {
		script->loss_one_in = 1 + (unsigned)chance(20);
		script->loss_max = 1 + chance((is_one_in(4) ? 100 : 3) * block);
	}
	script->gives_fill = kit->config.fill == FILL_VDIF_INVALID;
	if (is_one_in(5)) {
		script->discard_one_in = 1 + (unsigned)chance(20);
		script->discard_max = 1 + chance(block);
	}
	if (script->piece_max && script->piece_max < 500)
		script->bytes = 1 + script->bytes / 20;
	if (is_one_in(4))
		script->idle_one_in = 10;
	if (is_one_in(10))
		script->error_at = 1 + chance(script->bytes);
}

static void choose_faults(struct kit *kit)
{
	static const int errors[] = { EIO, ENOSPC, EROFS, ENXIO };

	for (unsigned i = 0; i < kit->disk_count; i++) {
		struct fake_disk *disk = &kit->disks[i];
		enum fake_call call = (enum fake_call)chance(FAKE_CALL_COUNT);

		if (is_one_in(3))
			fake_disk_fail(disk, call, 1 + chance(20), chance(2), errors[chance(4)]);
		if (is_one_in(4))
			disk->delay_ns[FAKE_WRITE] = (int64_t)chance(2 * MS);
		if (is_one_in(4))
			disk->delay_ns[FAKE_SYNC] = (int64_t)chance(4 * MS);
		if (is_one_in(6))
			disk->room_bytes = 1 + chance(50 * kit->config.block_bytes);
		if (is_one_in(4))
			disk->write_max = 4096;
	}
}

/* The sentence when something is wrong. */
static const char *judge(struct kit *kit, bool is_free, bool is_aborted)
{
	const struct session *session = kit->session;
	const char *error = kit_check(kit);
	struct account_sum sum = session_sum(session);
	bool is_usable = atomic_load(&session->usable_count) > 0;

	if (error)
		return error;
	if (!is_free)
		return "a thread was left behind";
	if (is_usable && sum.disk_bytes > 0 && !is_aborted) /* then nobody takes over */
		return "bytes were lost with a disk while another was left";
	if (!is_aborted && sum.aborted_bytes > 0)
		return "bytes were aborted without an abort";
	if (session->can_drop == false && account_get(&session->account.overflow_bytes) > 0)
		return "bytes were dropped from a source that waits";
	if (!is_usable && kit->exit_status != 2 && account_stream_bytes(&session->account) > 0)
		return "no disk is left and the status is not 2";
	return NULL;
}

static void record_once(uint64_t seed)
{
	bool is_aborted = false, is_free;
	const char *error;
	char text[1024];
	struct kit kit;

	chance_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (int i = 0; i < 8; i++) /* away from a seed with few bits */
		chance(1 + seed);
	kit_open(&kit, 1 + (unsigned)chance(KIT_DISKS));
	choose_shape(&kit);
	choose_source(seed, &kit);
	choose_faults(&kit);
	if (kit_start(&kit) < 0)
		fail_msg("seed %" PRIu64 ": %s", seed, kit.refusal.text);
	if (is_one_in(3)) {
		sleep_ns((int64_t)chance(20 * MS));
		is_aborted = is_one_in(2);
		if (is_aborted)
			session_abort(kit.session);
		else
			session_stop(kit.session, STOP_SIGNAL);
	}
	is_free = kit_end(&kit, LONG, LONG);
	error = judge(&kit, is_free, is_aborted);
	snprintf(text, sizeof(text), "%s", error ? error : "");
	kit_close(&kit);
	if (error)
		fail_msg("seed %" PRIu64 ": %s", seed, text);
}

static void every_byte_is_found_whatever_fails(void **state)
{
	const char *one = getenv("VSIB_STRESS_SEED"), *seconds = getenv("VSIB_STRESS_SECONDS");
	int64_t end = units_monotonic_ns() + (seconds ? atoll(seconds) : SECONDS) * UNITS_NS_PER_S;
	uint64_t seed = (uint64_t)units_realtime_ns() / 1000 % 1000000000, count = 0;

	(void)state;
	if (one) {
		record_once((uint64_t)atoll(one));
		return;
	}
	while (units_monotonic_ns() < end) {
		record_once(seed++);
		count++;
	}
	print_message("%" PRIu64 " recordings\n", count);
	assert_true(count > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_is_found_whatever_fails),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("stress_session", tests, NULL, NULL);
}
