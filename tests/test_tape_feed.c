/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings made by hand, and files, as a feed gives them to the player: large pieces and small ones, with rings of very
 * few blocks, with what is damaged or not there, from anywhere to anywhere, in loops, and stopped in the middle.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/bytes.h"
#include "tests/feed_kit.h"
#include "tests/made_recording.h"
#include "tools/replay/tape_feed.h"

#define BLOCK_BYTES ((size_t)64 << 10)
#define SMALL 1000             /* of chunks that share a block */
#define LARGE ((size_t)300000) /* of chunks that have several each, and are read by an engine */

static struct feed_kit kit;
static struct feed *feed;
static struct recording *recording;
static struct tape_feed_config tape;
static unsigned block_count;
static bool is_stopped_early;

static int set_up(void **state)
{
	tape = (struct tape_feed_config){
		.stop_offset = UINT64_MAX,
		.loop_count = 1,
		.is_verified = true,
		.is_direct = true,
	};
	block_count = 16;
	is_stopped_early = false;
	return made_set_up(state);
}

static void forget(void)
{
	if (kit.ring) {
		feed_free(feed);
		feed_kit_close(&kit);
	}
	recording_free(recording);
	kit = (struct feed_kit){ 0 };
	feed = NULL;
	recording = NULL;
}

static int tear_down(void **state)
{
	forget();
	return made_tear_down(state);
}

/* ---- recordings ------------------------------------------------------------------------------ */

static const char *chunk_name(unsigned number)
{
	return made_path("d%u/scan/scan.%08u", number % 3 + 1, number);
}

/* Chunks on three disks in turn; every byte is the stream's. */
static void make_chunks(unsigned count, size_t bytes)
{
	const char *journal = made_path("d1/scan/scan.vsib.jsonl");

	for (unsigned i = 1; i <= 3; i++) {
		made_make_dir(made_path("d%u", i));
		made_make_dir(made_path("d%u/scan", i));
	}
	unlink(journal);
	made_start(journal, "vbs", bytes, "scan.%08d", 3);
	for (unsigned i = 0; i < count; i++) {
		char file[32];

		snprintf(file, sizeof(file), "scan/scan.%08u", i);
		made_write_samples(chunk_name(i), i * bytes, bytes, 0);
		made_segment(journal, i % 3, file, 0, i * bytes, bytes);
	}
	made_end(journal, count * bytes);
}

static void open_chunks(void)
{
	const char *targets[] = { made_path("d1"), made_path("d2"), made_path("d3") };
	const struct recording_query query = { .recording = made_path("d1/scan"),
					       .targets = targets,
					       .target_count = 3 };

	assert_int_equal(recording_open(&recording, &query), 0);
	tape.recording = recording;
}

static void damage(const char *path, long at)
{
	FILE *file = fopen(path, "r+b");

	assert_non_null(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	fputc(made_sample(0) ^ 0x5a, file);
	fputc(0xa5, file);
	fclose(file);
}

/* ---- what comes ------------------------------------------------------------------------------ */

static void play(void)
{
	struct feed_config config;

	feed_kit_open(&kit, BLOCK_BYTES, block_count);
	config = feed_kit_config(&kit);
	assert_int_equal(tape_feed_create(&feed, &config, &tape), 0);
	feed_kit_drain(&kit, feed, is_stopped_early ? BLOCK_BYTES : SIZE_MAX);
}

static void assert_samples(size_t at, uint64_t from, size_t bytes)
{
	assert_true(at + bytes <= kit.bytes);
	for (size_t i = 0; i < bytes; i++)
		if (kit.data[at + i] != made_sample(from + i))
			fail_msg("byte %zu is not that of the stream at %llu", at + i,
				 (unsigned long long)(from + i));
}

static void assert_stream(uint64_t from, uint64_t to)
{
	assert_int_equal(kit.result, 0);
	assert_int_equal(kit.bytes, to - from);
	assert_samples(0, from, kit.bytes);
	assert_int_equal(kit.gap_count, 0);
}

static uint64_t count_of(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- all is well ----------------------------------------------------------------------------- */

static void large_and_small_pieces_come_in_order(void **state)
{
	static const size_t sizes[] = { 1, 7, SMALL, 4096, 65536, 65537, LARGE };
	static const unsigned rings[] = { 4, 5, 16 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < sizeof(rings) / sizeof(rings[0]); k++) {
			make_chunks(10, sizes[i]);
			block_count = rings[k];
			open_chunks();
			play();
			assert_stream(0, 10 * sizes[i]);
			assert_int_equal(feed->disk_count, 1); /* all on one, here */
			forget();
		}
}

static void either_engine_reads_the_same(void **state)
{
	static const enum engine_kind engines[] = { ENGINE_URING, ENGINE_PWRITE };

	(void)state;
	make_chunks(7, LARGE);
	for (size_t i = 0; i < 4; i++) {
		open_chunks();
		tape.engine = engines[i % 2];
		tape.is_direct = i < 2;
		tape.depth = i == 3 ? 1 : 5;
		feed_kit_open(&kit, BLOCK_BYTES, block_count);
		tape.memory = i == 0 ? kit.memory : NULL;
		tape.memory_bytes = i == 0 ? BLOCK_BYTES * block_count : 0;
		if (i == 0) { /* registered: the ring is made before */
			struct feed_config config = feed_kit_config(&kit);

			if (tape_feed_create(&feed, &config, &tape) < 0)
				skip();
			feed_kit_drain(&kit, feed, SIZE_MAX);
		} else {
			feed_kit_close(&kit);
			play();
		}
		assert_stream(0, 7 * LARGE);
		forget();
	}
}

static void it_begins_and_ends_at_any_byte(void **state)
{
	static const uint64_t places[][2] = {
		{ 0, 1 },          { 1, 4097 },         { 299999, 300001 },
		{ 65536, 65537 },  { 123457, 1234567 }, { 2999999, 3000000 },
		{ 4095, 2999998 }, { 300000, 600000 },
	};

	(void)state;
	make_chunks(10, LARGE);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		open_chunks();
		tape.start_offset = places[i][0];
		tape.stop_offset = places[i][1];
		play();
		assert_stream(places[i][0], places[i][1]);
		forget();
	}
}

static void files_are_one_behind_the_other(void **state)
{
	const char *files[] = { made_path("a"), made_path("b"), made_path("c") };

	(void)state;
	made_write_samples(files[0], 0, 100001, 0);
	made_write_samples(files[1], 100001, 0, 0);
	made_write_samples(files[2], 100001, 500000, 0);
	tape.files = files;
	tape.file_count = 3;
	play();
	assert_stream(0, 600001);
	assert_int_equal(count_of(&feed->stats.unverified_bytes),
			 0); /* of files there is nothing to compare */
}

static void a_loop_begins_anew_and_offsets_go_on(void **state)
{
	(void)state;
	make_chunks(4, LARGE);
	open_chunks();
	tape.loop_count = 3;
	tape.start_offset = 1234;
	tape.stop_offset = 901234;
	play();
	assert_int_equal(kit.result, 0);
	assert_int_equal(kit.bytes, 3 * 900000);
	for (unsigned i = 0; i < 3; i++)
		assert_samples(i * 900000, 1234, 900000);
}

static void it_can_be_stopped_at_any_time(void **state)
{
	(void)state;
	make_chunks(10, LARGE);
	for (unsigned i = 4; i < 12; i++) {
		open_chunks();
		tape.loop_count = i % 2;
		block_count = i;
		is_stopped_early = true;
		play();
		assert_int_equal(kit.result, -EINTR);
		assert_true(kit.bytes >= BLOCK_BYTES && kit.bytes < 10 * LARGE);
		assert_samples(0, 0, kit.bytes);
		forget();
	}
}

static void an_empty_recording_is_nothing(void **state)
{
	(void)state;
	make_chunks(1, 10);
	open_chunks();
	tape.start_offset = 10;
	play();
	assert_int_equal(kit.result, 0);
	assert_int_equal(kit.bytes, 0);
	assert_int_equal(kit.gap_count, 0);
}

/* ---- gaps ------------------------------------------------------------------------------------ */

/* Stream: 1000 bytes, 500 lost, 1000 bytes. */
static void make_gap(void)
{
	const char *journal = made_path("d1/scan.vsib.jsonl");

	made_make_dir(made_path("d1"));
	made_start(journal, "raw", 0, "scan.raw", 1);
	made_write_samples(made_path("d1/scan.raw"), 0, 1000, 0);
	made_segment(journal, 0, "scan.raw", 0, 0, 1000);
	made_gap(journal, 1000, 500, "source");
	made_write_samples(made_path("rest"), 1500, 1000, 0);
	{
		char *rest = made_read(made_path("rest"));

		made_append_bytes(made_path("d1/scan.raw"), rest, 1000);
		free(rest);
	}
	made_segment(journal, 0, "scan.raw", 1000, 1500, 1000);
	made_end(journal, 2500);
}

static void open_gap(void)
{
	const struct recording_query query = { .recording = made_path("d1/scan") };

	assert_int_equal(recording_open(&recording, &query), 0);
	tape.recording = recording;
}

static void gaps_keep_their_place(void **state)
{
	(void)state;
	make_gap();
	open_gap();
	tape.loop_count = 2;
	play();
	assert_int_equal(kit.result, 0);
	assert_int_equal(kit.bytes, 4000);
	assert_int_equal(kit.gap_count, 2);
	assert_int_equal(kit.gaps[0].stream_offset, 1000);
	assert_int_equal(kit.gaps[0].bytes, 500);
	assert_int_equal(kit.gaps[0].at, 1000);
	assert_int_equal(kit.gaps[0].cause, RECORDING_SOURCE);
	assert_int_equal(kit.gaps[1].stream_offset, 3500);
	assert_int_equal(kit.gaps[1].at, 3000);
	assert_samples(0, 0, 1000);
	assert_samples(1000, 1500, 1000);
	assert_samples(2000, 0, 1000);
}

static void gaps_are_filled(void **state)
{
	unsigned char pattern[500];

	(void)state;
	make_gap();
	open_gap();
	tape.fill = GATHER_PATTERN;
	play();
	assert_int_equal(kit.result, 0);
	assert_int_equal(kit.bytes, 2500);
	assert_int_equal(kit.gap_count, 0);
	assert_int_equal(feed->stats.gap_count, 1);
	assert_int_equal(feed->gaps[0].stream_offset, 1000);
	bytes_put_fill(pattern, sizeof(pattern), 1000);
	assert_memory_equal(kit.data + 1000, pattern, sizeof(pattern));
	assert_samples(1500, 1500, 1000);
	assert_int_equal(count_of(&feed->stats.filled_bytes), 500);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

/* Chunks 3 and 6 of ten are bad, the others as they were. */
static void assert_two_bad(size_t bytes)
{
	assert_int_equal(kit.result, 0);
	assert_int_equal(kit.bytes, 8 * bytes);
	assert_int_equal(kit.gap_count, 2);
	assert_int_equal(kit.gaps[0].stream_offset, 3 * bytes);
	assert_int_equal(kit.gaps[0].bytes, bytes);
	assert_int_equal(kit.gaps[0].cause, RECORDING_DISK);
	assert_int_equal(kit.gaps[1].stream_offset, 6 * bytes);
	assert_samples(0, 0, 3 * bytes);
	assert_samples(3 * bytes, 4 * bytes, 2 * bytes);
	assert_samples(5 * bytes, 7 * bytes, 3 * bytes);
	assert_int_equal(count_of(&feed->stats.bad_sum_count), 2);
	assert_int_equal(count_of(&feed->stats.bad_sum_bytes), 2 * bytes);
	assert_non_null(strstr(kit.words, "scan.00000003"));
	assert_non_null(strstr(kit.words, "scan.00000006"));
}

static void a_wrong_checksum_makes_a_gap(void **state)
{
	static const size_t sizes[] = { SMALL, LARGE };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		make_chunks(10, sizes[i % 2]);
		damage(chunk_name(3), 0);
		damage(chunk_name(6), (long)sizes[i % 2] - 2);
		block_count = i < 2 ? 16 : 32;
		open_chunks();
		play();
		assert_two_bad(sizes[i % 2]);
		forget();
	}
}

/* What is behind what is bad in the same block goes out of other blocks, while fill is put into any. */
static void what_is_bad_is_filled_among_what_is_good(void **state)
{
	unsigned char pattern[SMALL];

	(void)state;
	for (unsigned blocks = 4; blocks < 8; blocks++) {
		make_chunks(60, SMALL);
		for (unsigned i = 1; i < 60; i += 3)
			damage(chunk_name(i), 10);
		open_chunks();
		block_count = blocks;
		tape.fill = GATHER_PATTERN;
		play();
		assert_int_equal(kit.result, 0);
		assert_int_equal(kit.bytes, 60 * SMALL);
		for (unsigned i = 0; i < 60; i++) {
			if (i % 3 != 1) {
				assert_samples(i * SMALL, i * SMALL, SMALL);
				continue;
			}
			bytes_put_fill(pattern, SMALL, i * SMALL);
			assert_memory_equal(kit.data + i * SMALL, pattern, SMALL);
		}
		forget();
	}
}

/* It can't be held back until it is compared: it is played, and said to be bad. */
static void what_a_small_ring_cannot_hold_back_is_said(void **state)
{
	(void)state;
	make_chunks(3, LARGE);
	damage(chunk_name(1), 100);
	block_count = 4;
	open_chunks();
	play();
	assert_int_equal(kit.result, 0);
	assert_int_equal(kit.bytes, 3 * LARGE);
	assert_int_equal(count_of(&feed->stats.bad_sum_count), 1);
	assert_int_equal(count_of(&feed->stats.unverified_bytes), 3 * LARGE);
	assert_non_null(strstr(kit.words, "scan.00000001"));
	assert_non_null(strstr(kit.words, "--ring"));
}

static void a_file_cut_short_is_a_gap(void **state)
{
	(void)state;
	make_chunks(4, LARGE);
	open_chunks();
	/* when all was planned: it shrinks while it is played */
	assert_int_equal(truncate(chunk_name(2), 100000), 0);
	play();
	assert_int_equal(kit.result, 0);
	assert_int_equal(kit.bytes, 3 * LARGE);
	assert_int_equal(kit.gap_count, 1);
	assert_int_equal(kit.gaps[0].stream_offset, 2 * LARGE);
	assert_int_equal(kit.gaps[0].bytes, LARGE);
	assert_samples(2 * LARGE, 3 * LARGE, LARGE);
	assert_int_equal(count_of(&feed->stats.unreadable_count), 1);
	assert_non_null(strstr(kit.words, "scan.00000002"));
}

static void a_missing_file_is_a_gap(void **state)
{
	(void)state;
	make_chunks(4, LARGE);
	unlink(chunk_name(1));
	open_chunks();
	play();
	assert_int_equal(kit.bytes, 3 * LARGE);
	assert_int_equal(kit.gap_count, 1);
	assert_int_equal(kit.gaps[0].cause, RECORDING_MISSING);
	assert_samples(LARGE, 2 * LARGE, 2 * LARGE);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Of two copies of each chunk one or the other is bad, or not there. */
static void make_copies(unsigned count, size_t bytes)
{
	const char *journal = made_path("d1/scan/scan.vsib.jsonl");

	for (unsigned i = 1; i <= 2; i++) {
		made_make_dir(made_path("d%u", i));
		made_make_dir(made_path("d%u/scan", i));
		made_make_dir(made_path("d%u/scan-copy", i));
	}
	unlink(journal);
	made_start(journal, "vbs", bytes, "scan.%08d", 2);
	for (unsigned i = 0; i < count; i++) {
		char file[48];

		snprintf(file, sizeof(file), "scan/scan.%08u", i);
		made_write_samples(made_path("d1/%s", file), i * bytes, bytes, 0);
		made_segment(journal, 0, file, 0, i * bytes, bytes);
		snprintf(file, sizeof(file), "scan-copy/scan-copy.%08u", i);
		made_write_samples(made_path("d2/%s", file), i * bytes, bytes, 0);
		made_segment(journal, 1, file, 0, i * bytes, bytes);
	}
	made_end(journal, count * bytes);
	made_say_copies(journal);
}

static void the_good_copy_is_played(void **state)
{
	const char *targets[] = { made_path("d1"), made_path("d2") };
	const struct recording_query query = { .recording = made_path("d1/scan"),
					       .targets = targets,
					       .target_count = 2 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		size_t bytes = i ? LARGE : SMALL;

		make_copies(6, bytes);
		damage(made_path("d1/scan/scan.%08u", 0), 5);
		damage(made_path("d2/scan-copy/scan-copy.%08u", 1), 5);
		unlink(made_path("d1/scan/scan.%08u", 2));
		unlink(made_path("d2/scan-copy/scan-copy.%08u", 3));
		assert_int_equal(recording_open(&recording, &query), 0);
		tape.recording = recording;
		play();
		assert_stream(0, 6 * bytes);
		assert_true(count_of(&feed->stats.copied_bytes) >= bytes);
		assert_true(strstr(kit.words, "scan.00000000") ||
			    strstr(kit.words, "scan-copy.00000001"));
		forget();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(large_and_small_pieces_come_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(either_engine_reads_the_same, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_begins_and_ends_at_any_byte, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_are_one_behind_the_other, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_loop_begins_anew_and_offsets_go_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_can_be_stopped_at_any_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_empty_recording_is_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gaps_keep_their_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gaps_are_filled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_wrong_checksum_makes_a_gap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_bad_is_filled_among_what_is_good, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_a_small_ring_cannot_hold_back_is_said, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_cut_short_is_a_gap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_missing_file_is_a_gap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_good_copy_is_played, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
