/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings of layout mark6, opened, read and recovered: by their blocks alone, and by a journal whose
 * segments point at what stands between the headers. Byte o of every stream is made_sample(o).
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/made_recording.h"
#include "tools/mark6_file.h"
#include "tools/recording.h"
#include "tools/recover.h"

#define PACKET 100
#define PAYLOAD (5 * PACKET)
#define BLOCK (PAYLOAD + 8)
#define HEADER 20

static void append32(const char *path, int64_t value)
{
	unsigned char bytes[4];

	for (unsigned i = 0; i < 4; i++)
		bytes[i] = (unsigned char)((uint64_t)value >> (8 * i));
	made_append_bytes(path, bytes, sizeof(bytes));
}

static void begin_file(const char *path)
{
	made_write(path, "\x66\x66\xed\xfe", 4);
	append32(path, 2);
	append32(path, BLOCK);
	append32(path, 0);
	append32(path, PACKET);
}

static void append_samples(const char *path, uint64_t from, size_t bytes)
{
	unsigned char buf[PAYLOAD];

	for (size_t i = 0; i < bytes; i++)
		buf[i] = made_sample(from + i);
	made_append_bytes(path, buf, bytes);
}

static void append_block(const char *path, uint32_t number, size_t bytes)
{
	append32(path, number);
	append32(path, (int64_t)bytes + 8);
	append_samples(path, (uint64_t)number * PAYLOAD, bytes);
}

/* @count blocks on d1 and d2 in turn. */
static void make_set(uint32_t count)
{
	for (unsigned d = 1; d <= 2; d++) {
		made_make_dir(made_path("d%u", d));
		begin_file(made_path("d%u/scan.vdif", d));
	}
	for (uint32_t i = 0; i < count; i++)
		append_block(made_path("d%u/scan.vdif", 1 + i % 2), i, PAYLOAD);
}

static int open_scan(struct recording **recording)
{
	const char *targets[] = { made_path("d1"), made_path("d2") };
	struct recording_query query = { .name = "scan", .targets = targets, .target_count = 2 };

	return recording_open(recording, &query);
}

/* Data pieces hold what the stream has there. Return: where the last piece ends. */
static uint64_t read_on(struct recording *recording, uint64_t position, uint64_t *gap_bytes)
{
	struct recording_piece piece;

	while (recording_next(recording, &piece) == 1) {
		assert_int_equal(piece.stream_offset, position);
		assert_true(piece.bytes > 0);
		position += piece.bytes;
		if (piece.kind == RECORDING_GAP) {
			*gap_bytes += piece.bytes;
			continue;
		}
		assert_true(piece.fd >= 0);
		for (uint64_t i = 0; i < piece.bytes; i++) {
			unsigned char byte;

			assert_int_equal(pread(piece.fd, &byte, 1, (off_t)(piece.file_offset + i)), 1);
			assert_int_equal(byte, made_sample(piece.stream_offset + i));
		}
	}
	return position;
}

static void a_set_is_read_from_any_place_on(void **state)
{
	struct recording *recording;
	uint64_t gap_bytes = 0;

	(void)state;
	make_set(7);
	assert_int_equal(open_scan(&recording), 0);
	assert_null(recording_info(recording)->journal);
	assert_non_null(recording_info(recording)->mark6);
	assert_int_equal(recording_info(recording)->mark6->block_count, 7);
	assert_int_equal(recording_info(recording)->stream_bytes, 7 * PAYLOAD);
	assert_int_equal(recording_info(recording)->data_bytes, 7 * PAYLOAD);
	assert_int_equal(read_on(recording, 0, &gap_bytes), 7 * PAYLOAD);
	for (uint64_t from = 0; from < 7 * PAYLOAD; from += 123) {
		recording_seek(recording, from);
		assert_int_equal(read_on(recording, from, &gap_bytes), 7 * PAYLOAD);
	}
	recording_seek(recording, 7 * PAYLOAD);
	assert_int_equal(read_on(recording, 7 * PAYLOAD, &gap_bytes), 7 * PAYLOAD);
	assert_int_equal(gap_bytes, 0);
	recording_free(recording);
}

static void gaps_are_read_from_any_place_on(void **state)
{
	const char *file = made_path("d1/scan.vdif");
	struct recording *recording;

	(void)state;
	made_make_dir(made_path("d1"));
	made_make_dir(made_path("d2"));
	begin_file(file);
	append_block(file, 2, PAYLOAD);
	append_block(file, 5, PAYLOAD);
	append_block(file, 6, PAYLOAD);
	assert_int_equal(truncate(file, HEADER + 3 * BLOCK - PACKET - 1), 0);
	assert_int_equal(open_scan(&recording), 0);
	assert_int_equal(recording_info(recording)->gap_bytes, 4 * PAYLOAD + 2 * PACKET);
	assert_int_equal(recording_info(recording)->gap_count, 3);
	assert_int_equal(recording_info(recording)->mark6->missing_count, 4);
	for (uint64_t from = 0; from < 7 * PAYLOAD; from += 77) {
		uint64_t gap_bytes = 0;

		recording_seek(recording, from);
		assert_int_equal(read_on(recording, from, &gap_bytes), 7 * PAYLOAD);
		assert_true(gap_bytes <= 4 * PAYLOAD + 2 * PACKET);
	}
	recording_free(recording);
}

static void more_ranges_than_can_be_said_become_one(void **state)
{
	const char *file = made_path("d1/scan.vdif");
	const struct recording_missing *missing;
	struct recording *recording;
	uint64_t bytes = 0;
	size_t count;

	(void)state;
	made_make_dir(made_path("d1"));
	made_make_dir(made_path("d2"));
	begin_file(file);
	for (uint32_t i = 0; i < 1100; i++)
		append_block(file, 2 * i + 1, PACKET);
	assert_int_equal(open_scan(&recording), 0);
	missing = recording_missing(recording, &count);
	assert_int_equal(count, 1001);
	for (size_t i = 0; i < count; i++)
		bytes += missing[i].bytes;
	assert_int_equal(bytes, 1100 * PACKET);
	assert_string_equal(missing[1000].file, "100 more blocks from 2000 to 2198");
	assert_int_equal(missing[1000].stream_end - missing[1000].stream_offset, 199 * PACKET);
	recording_free(recording);
}

static uint64_t random_state = 9;

static uint64_t any(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

static void corrupt(const char *path)
{
	static const unsigned char likely[] = { 0, 0xff, 0x7f, 0x80, 1, 8 };
	int fd = open(path, O_RDWR);
	uint64_t len = (uint64_t)made_length(path);

	assert_true(fd >= 0);
	for (uint64_t i = 1 + any(6); i > 0; i--) {
		/* headers more often than packets */
		uint64_t at = any(3) ? 4 + any(16) % len : HEADER + any(6) * BLOCK + any(8);
		unsigned char byte = any(2) ? likely[any(6)] : (unsigned char)any(256);

		if (any(4) == 0)
			at = any(len);
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	}
	if (any(3) == 0)
		assert_int_equal(ftruncate(fd, (off_t)any(len + 600)), 0);
	close(fd);
}

/* Whatever two files say: opening ends, and the pieces are the stream that it speaks of. */
static void nothing_in_the_files_makes_reading_go_astray(void **state)
{
	int opened = 0;

	(void)state;
	for (int round = 0; round < 1500; round++) {
		struct recording *recording;
		struct recording_piece piece;
		uint64_t position = 0, gap_bytes = 0;

		make_set(9);
		corrupt(made_path("d1/scan.vdif"));
		if (any(2))
			corrupt(made_path("d2/scan.vdif"));
		if (open_scan(&recording) < 0) {
			assert_int_not_equal(recording_error(recording)[0], '\0');
			recording_free(recording);
			continue;
		}
		opened++;
		while (recording_next(recording, &piece) == 1) {
			unsigned char byte;

			assert_int_equal(piece.stream_offset, position);
			position += piece.bytes;
			if (piece.kind == RECORDING_GAP)
				gap_bytes += piece.bytes;
			else
				assert_int_equal(pread(piece.fd, &byte, 1,
						       (off_t)(piece.file_offset + piece.bytes - 1)),
						 1);
		}
		assert_int_equal(position, recording_info(recording)->stream_bytes);
		assert_int_equal(gap_bytes, recording_info(recording)->gap_bytes);
		recording_free(recording);
	}
	assert_true(opened > 100);
}

/*
 * ---- with a journal
 * ------------------------------------------------------------------------------
 */

static void journal_line(const char *journal, uint32_t number)
{
	made_segment(journal, number % 2, "scan.vdif", HEADER + (uint64_t)(number / 2) * BLOCK + 8,
		     (uint64_t)number * PAYLOAD, PAYLOAD);
}

/* @count blocks lie there, the journal knows @known of them. */
static void make_recording(uint32_t count, uint32_t known, bool has_end)
{
	const char *journal = made_path("d1/scan.vsib.jsonl");

	make_set(count);
	made_start(journal, "mark6", 0, "scan.vdif", 2);
	for (uint32_t i = 0; i < known; i++)
		journal_line(journal, i);
	if (has_end)
		made_end(journal, (uint64_t)known * PAYLOAD);
	made_copy(journal, made_path("d2/scan.vsib.jsonl"));
}

static void segments_between_headers_are_read_as_the_journal_says(void **state)
{
	struct recording_query query = { .recording = made_path("d1/scan.vdif") };
	struct recording *recording;
	uint64_t gap_bytes = 0;

	(void)state;
	make_recording(6, 6, true);
	assert_int_equal(open_scan(&recording), 0);
	assert_non_null(recording_info(recording)->journal);
	assert_null(recording_info(recording)->mark6);
	assert_int_equal(read_on(recording, 0, &gap_bytes), 6 * PAYLOAD);
	recording_free(recording);

	/* one of its files is named: the journal is believed */
	assert_int_equal(recording_open(&recording, &query), 0);
	assert_non_null(recording_info(recording)->journal);
	assert_string_equal(recording_info(recording)->name, "scan");
	assert_int_equal(read_on(recording, 0, &gap_bytes), 6 * PAYLOAD);
	assert_int_equal(gap_bytes, 0);
	recording_free(recording);
}

static int recover(bool is_dry, struct recover_result *result)
{
	const char *targets[] = { made_path("d1"), made_path("d2") };
	struct recording_query query = { .name = "scan", .targets = targets, .target_count = 2 };
	struct recover_config config = { .is_dry = is_dry };

	return recover_run(&query, &config, result);
}

static void torn_and_allocated_tails_are_cut_to_what_the_journal_has(void **state)
{
	struct recover_result result;
	struct recording *recording;
	uint64_t gap_bytes = 0;

	(void)state;
	make_recording(8, 5, false);
	/* block 5 and 7 on d2, block 6 on d1 are not known to the journal */
	assert_int_equal(truncate(made_path("d1/scan.vdif"), HEADER + 4 * BLOCK - 150), 0);
	assert_int_equal(truncate(made_path("d2/scan.vdif"), 20000), 0);
	assert_int_equal(recover(true, &result), 0);
	assert_int_equal(made_length(made_path("d2/scan.vdif")), 20000);
	assert_int_equal(recover(false, &result), 0);
	assert_int_equal(result.failed_count, 0);
	assert_int_equal(made_length(made_path("d1/scan.vdif")), HEADER + 3 * BLOCK);
	assert_int_equal(made_length(made_path("d2/scan.vdif")), HEADER + 2 * BLOCK);
	assert_int_equal(open_scan(&recording), 0);
	assert_true(recording_info(recording)->has_end);
	assert_int_equal(read_on(recording, 0, &gap_bytes), 5 * PAYLOAD);
	recording_free(recording);

	/* other programs, which know no journal, find whole blocks */
	assert_int_equal(unlink(made_path("d1/scan.vsib.jsonl")), 0);
	assert_int_equal(unlink(made_path("d2/scan.vsib.jsonl")), 0);
	assert_int_equal(open_scan(&recording), 0);
	assert_int_equal(recording_info(recording)->mark6->block_count, 5);
	assert_int_equal(recording_mark6_file(recording, 0)->tail, MARK6_FILE_ENDS);
	assert_int_equal(recording_mark6_file(recording, 1)->tail, MARK6_FILE_ENDS);
	assert_int_equal(read_on(recording, 0, &gap_bytes), 5 * PAYLOAD);
	assert_int_equal(gap_bytes, 0);
	recording_free(recording);
	assert_int_equal(recover(false, &result), 0);
	assert_int_equal(result.step_count, 0);
}

/* Of a block with two segments the second one's line may be lost. */
static void a_block_that_is_half_promised_stays_whole(void **state)
{
	const char *journal = made_path("d1/scan.vsib.jsonl"), *file = made_path("d1/scan.vdif");
	struct recover_result result;
	struct recording *recording;

	(void)state;
	make_set(5);
	made_start(journal, "mark6", 0, "scan.vdif", 2);
	journal_line(journal, 0);
	made_segment(journal, 0, "scan.vdif", HEADER + BLOCK + 8, 2 * PAYLOAD, PACKET);
	made_copy(journal, made_path("d2/scan.vsib.jsonl"));
	assert_int_equal(recover(false, &result), 0);
	assert_int_equal(made_length(file), HEADER + 2 * BLOCK);
	assert_int_equal(recover(false, &result), 0);
	assert_int_equal(result.step_count, 0);

	/* ... if it is */
	assert_int_equal(truncate(file, HEADER + 2 * BLOCK - 1), 0);
	assert_int_equal(recover(false, &result), 0);
	assert_int_equal(made_length(file), HEADER + BLOCK + 8 + PACKET);
	assert_int_equal(open_scan(&recording), 0);
	assert_int_equal(recording_info(recording)->data_bytes, PAYLOAD + PACKET);
	recording_free(recording);
}

static void a_file_of_which_nothing_is_promised_is_removed(void **state)
{
	struct recover_result result;

	(void)state;
	make_recording(2, 1, false);
	made_write(made_path("d1/scan2.vdif"), "other", 5);
	assert_int_equal(recover(false, &result), 0);
	assert_int_equal(made_length(made_path("d1/scan.vdif")), HEADER + BLOCK);
	assert_int_equal(made_length(made_path("d2/scan.vdif")), -1);
	assert_int_equal(made_length(made_path("d1/scan2.vdif")), 5);
}

/*
 * ---- recovery without a journal
 * ------------------------------------------------------------------
 */

static void without_a_journal_files_are_cut_to_their_last_whole_block(void **state)
{
	struct recover_result result;

	(void)state;
	make_set(6);
	assert_int_equal(recover(false, &result), 0);
	assert_int_equal(result.step_count, 0);
	assert_int_equal(truncate(made_path("d1/scan.vdif"), HEADER + 3 * BLOCK - 1), 0);
	assert_int_equal(truncate(made_path("d2/scan.vdif"), 100000), 0);
	assert_int_equal(recover(true, &result), 0);
	assert_int_equal(result.step_count, 2);
	assert_int_equal(made_length(made_path("d1/scan.vdif")), HEADER + 3 * BLOCK - 1);
	assert_int_equal(recover(false, &result), 0);
	assert_int_equal(result.step_count, 2);
	assert_int_equal(made_length(made_path("d1/scan.vdif")), HEADER + 2 * BLOCK);
	assert_int_equal(made_length(made_path("d2/scan.vdif")), HEADER + 3 * BLOCK);
	assert_int_equal(recover(false, &result), 0);
	assert_int_equal(result.step_count, 0);
}

static void what_can_not_be_told_apart_is_never_cut(void **state)
{
	const char *file = made_path("d1/scan.vdif");
	struct recover_result result;
	int64_t len;

	(void)state;
	make_set(4);
	append32(file, -1);
	append_samples(file, 0, PAYLOAD);
	append_samples(file, 0, PAYLOAD);
	len = made_length(file);
	assert_int_equal(recover(false, &result), 0);
	assert_int_equal(result.step_count, 0);
	assert_int_equal(made_length(file), len);
}

static void a_set_that_somebody_writes_to_is_not_cut(void **state)
{
	const char *file = made_path("d1/scan.vdif");
	struct recover_result result;
	int fd;

	(void)state;
	make_set(4);
	assert_int_equal(truncate(file, HEADER + 2 * BLOCK - 1), 0);
	fd = open(file, O_WRONLY);
	assert_int_equal(recover(false, &result), -EBUSY);
	assert_int_equal(made_length(file), HEADER + 2 * BLOCK - 1);
	close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, made_set_up, made_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_set_is_read_from_any_place_on),
		CASE(gaps_are_read_from_any_place_on),
		CASE(more_ranges_than_can_be_said_become_one),
		CASE(nothing_in_the_files_makes_reading_go_astray),
		CASE(segments_between_headers_are_read_as_the_journal_says),
		CASE(torn_and_allocated_tails_are_cut_to_what_the_journal_has),
		CASE(a_block_that_is_half_promised_stays_whole),
		CASE(a_file_of_which_nothing_is_promised_is_removed),
		CASE(without_a_journal_files_are_cut_to_their_last_whole_block),
		CASE(what_can_not_be_told_apart_is_never_cut),
		CASE(a_set_that_somebody_writes_to_is_not_cut),
	};

	signal(SIGIO, SIG_IGN); /* see tools/busy.h */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
