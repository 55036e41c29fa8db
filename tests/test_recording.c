/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings built by hand, journal line by journal line, and read back through tools/recording.h
 * and tools/gather.h. Byte o of every stream is made_sample(o), so that a byte in the wrong place is
 * seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "tools/gather.h"
#include "tools/history.h"
#include "tools/recording.h"
#include "tests/made_recording.h"
#include "tools/sequence.h"

#define CHUNK 4000

/*
 * ---- building
 * ------------------------------------------------------------------------------------
 */

static unsigned char *samples(uint64_t from, size_t bytes)
{
	unsigned char *buf = malloc(bytes ? bytes : 1);

	assert_non_null(buf);
	for (size_t i = 0; i < bytes; i++)
		buf[i] = made_sample(from + i);
	return buf;
}

static void append_json(const char *path, json_t *line)
{
	char *text;

	assert_non_null(line);
	text = json_dumps(line, JSON_COMPACT);
	made_append(path, text);
	made_append(path, "\n");
	free(text);
	json_decref(line);
}

static void say_start(const char *journal, const char *layout, int pid, unsigned count,
		      const char *const *targets)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(array,
				      json_pack("{s:s, s:s}", "path", targets[i], "fs_uuid", ""));
	append_json(journal, json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:i}", "type",
				       "start", "schema", "vsib-journal/1", "name", "scan",
				       "layout", layout, "stripe", "any", "targets", array, "utc",
				       "2026-11-30T08:15:00.000000000Z", "host", "vlbi1", "pid", pid));
}

struct line {
	unsigned target;
	const char *file;
	uint64_t file_offset;
	uint64_t stream_offset;
	size_t bytes;
};

static json_t *segment_line(const struct line *line)
{
	unsigned char *buf = samples(line->stream_offset, line->bytes);
	char sum[17];

	snprintf(sum, sizeof(sum), "%016" PRIx64, (uint64_t)XXH3_64bits(buf, line->bytes));
	free(buf);
	return json_pack("{s:s, s:i, s:s, s:I, s:I, s:I, s:s, s:s}", "type", "segment", "target",
			 (int)line->target, "file", line->file, "file_offset",
			 (json_int_t)line->file_offset, "bytes", (json_int_t)line->bytes,
			 "stream_offset", (json_int_t)line->stream_offset, "xxh3", sum, "utc",
			 "2026-11-30T08:15:00.000000000Z");
}

static void say_segment(const char *journal, unsigned target, const char *file,
			uint64_t file_offset, uint64_t stream_offset, size_t bytes)
{
	append_json(journal,
		    segment_line(&(struct line){ target, file, file_offset, stream_offset, bytes }));
}

static void say_gap(const char *journal, uint64_t stream_offset, uint64_t bytes, const char *cause)
{
	append_json(journal, json_pack("{s:s, s:I, s:I, s:s, s:s}", "type", "gap", "stream_offset",
				       (json_int_t)stream_offset, "bytes", (json_int_t)bytes,
				       "cause", cause, "utc", "2026-11-30T08:15:00.000000000Z"));
}

static void say_end(const char *journal, uint64_t stream_bytes)
{
	append_json(journal, json_pack("{s:s, s:s, s:i, s:I}", "type", "end", "outcome", "complete",
				       "exit_status", 0, "stream_bytes", (json_int_t)stream_bytes));
}

/* d1, d2 with the chunks of scan turn about; the same journal in both. */
static void build_vbs(unsigned chunks, bool has_end)
{
	const char *const targets[] = { made_path("d1"), made_path("d2") };
	const char *journal = made_path("d1/scan/scan.vsib.jsonl");
	char file[64];

	for (int t = 1; t <= 2; t++) {
		made_make_dir(made_path("d%d", t));
		made_make_dir(made_path("d%d/scan", t));
	}
	say_start(journal, "vbs", 100, 2, targets);
	for (unsigned i = 0; i < chunks; i++) {
		snprintf(file, sizeof(file), "scan/scan.%08u", i);
		made_write_samples(made_path("d%u/%s", i % 2 + 1, file), (uint64_t)i * CHUNK, CHUNK, 0);
		say_segment(journal, i % 2, file, 0, (uint64_t)i * CHUNK, CHUNK / 2);
		say_segment(journal, i % 2, file, CHUNK / 2, (uint64_t)i * CHUNK + CHUNK / 2,
			    CHUNK / 2);
	}
	if (has_end)
		say_end(journal, (uint64_t)chunks * CHUNK);
	made_copy(journal, made_path("d2/scan/scan.vsib.jsonl"));
}

/* One target, one file of @bytes in segments of CHUNK; no end line. Return: the journal's path. */
static const char *build_raw(uint64_t bytes)
{
	const char *const targets[] = { made_path("d1") };
	const char *journal = made_path("d1/scan.vsib.jsonl");

	made_make_dir(made_path("d1"));
	made_write_samples(made_path("d1/scan.raw"), 0, bytes, 0);
	say_start(journal, "raw", 100, 1, targets);
	for (uint64_t o = 0; o < bytes; o += CHUNK)
		say_segment(journal, 0, "scan.raw", o, o, bytes - o < CHUNK ? bytes - o : CHUNK);
	return journal;
}

/*
 * ---- looking
 * -------------------------------------------------------------------------------------
 */

static struct recording *open_ok(const char *path)
{
	struct recording *recording;
	int ret = recording_open(&recording, &(struct recording_query){ .recording = path });

	if (ret < 0)
		fail_msg("%s: %s", path, recording_error(recording));
	return recording;
}

static struct recording *open_at(const char *path, size_t count, const char *const *targets)
{
	struct recording *recording;
	int ret = recording_open(&recording, &(struct recording_query){ .recording = path,
									.targets = targets,
									.target_count = count });

	if (ret < 0)
		fail_msg("%s: %s", path, recording_error(recording));
	return recording;
}

static struct recording *open_names(size_t count, const char *const *targets)
{
	struct recording *recording;
	int ret = recording_open(&recording, &(struct recording_query){ .name = "scan",
									.targets = targets,
									.target_count = count });

	if (ret < 0)
		fail_msg("%s", recording_error(recording));
	return recording;
}

static void open_fails(const struct recording_query *query, int wanted, const char *word)
{
	struct recording *recording;
	int ret = recording_open(&recording, query);

	assert_int_equal(ret, wanted);
	if (!strstr(recording_error(recording), word))
		fail_msg("\"%s\" says nothing of \"%s\"", recording_error(recording), word);
	recording_free(recording);
}

/*
 * All pieces in turn: no byte twice, none left out, and data are the stream's. Return: bytes of
 * data.
 */
static uint64_t check_stream(struct recording *recording, uint64_t from)
{
	struct recording_piece piece;
	uint64_t position = from, data = 0;

	while (recording_next(recording, &piece) == 1) {
		unsigned char *buf;

		assert_int_equal(piece.stream_offset, position);
		position += piece.bytes;
		if (piece.kind == RECORDING_GAP)
			continue;
		assert_true(piece.fd >= 0);
		assert_true(piece.bytes > 0 && piece.bytes < 1 << 24);
		buf = malloc(piece.bytes);
		assert_int_equal(pread(piece.fd, buf, piece.bytes, (off_t)piece.file_offset),
				 (ssize_t)piece.bytes);
		for (uint64_t i = 0; i < piece.bytes; i++)
			if (buf[i] != made_sample(piece.stream_offset + i))
				fail_msg("%s: stream byte %" PRIu64 " is wrong", piece.file,
					 piece.stream_offset + i);
		free(buf);
		assert_int_equal(recording_verify(&piece), 0);
		data += piece.bytes;
	}
	if (from <= recording_info(recording)->stream_bytes)
		assert_int_equal(position, recording_info(recording)->stream_bytes);
	return data;
}

struct gap {
	uint64_t stream_offset;
	uint64_t bytes;
	enum recording_cause cause;
};

static void check_gaps(struct recording *recording, const struct gap *gaps, size_t count)
{
	struct recording_piece piece;
	size_t seen = 0;

	recording_seek(recording, 0);
	while (recording_next(recording, &piece) == 1) {
		if (piece.kind != RECORDING_GAP)
			continue;
		assert_true(seen < count);
		assert_int_equal(piece.stream_offset, gaps[seen].stream_offset);
		assert_int_equal(piece.bytes, gaps[seen].bytes);
		assert_int_equal(piece.cause, gaps[seen].cause);
		seen++;
	}
	assert_int_equal(seen, count);
	assert_int_equal(recording_info(recording)->gap_count, count);
}

static void check_missing(struct recording *recording, const char *file, uint64_t stream_offset,
			  uint64_t bytes)
{
	const struct recording_missing *missing;
	size_t count;

	missing = recording_missing(recording, &count);
	assert_int_equal(count, 1);
	assert_string_equal(missing->file, file);
	assert_int_equal(missing->stream_offset, stream_offset);
	assert_int_equal(missing->bytes, bytes);
}

static void check_nothing_missing(struct recording *recording)
{
	size_t count;

	recording_missing(recording, &count);
	assert_int_equal(count, 0);
	assert_int_equal(recording_info(recording)->gap_count, 0);
	assert_false(recording_info(recording)->has_trouble);
	assert_false(recording_info(recording)->is_incomplete);
}

static bool is_unused(struct recording *recording, const char *file, const char *word)
{
	const struct recording_unused *unused;
	size_t count;

	unused = recording_unused(recording, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(unused[i].file, file) == 0 && strstr(unused[i].reason, word))
			return true;
	return false;
}

static bool has_note(struct recording *recording, const char *word)
{
	const struct recording_note *notes;
	size_t count;

	notes = recording_notes(recording, &count);
	for (size_t i = 0; i < count; i++)
		if (strstr(notes[i].text, word))
			return true;
	return false;
}

/*
 * ---- with a journal
 * ------------------------------------------------------------------------------
 */

static void chunks_on_two_targets_come_in_the_order_of_the_stream(void **state)
{
	struct recording *recording;

	(void)state;
	build_vbs(7, true);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 7 * CHUNK);
	check_nothing_missing(recording);
	assert_true(recording_info(recording)->has_end);
	assert_int_equal(recording_info(recording)->journal_count, 2);
	recording_free(recording);
}

static void every_way_to_name_a_recording_finds_it(void **state)
{
	const char *const targets[] = { made_path("d2"), made_path("d1") };
	struct recording *recording;

	(void)state;
	build_vbs(3, true);
	recording = open_ok(made_path("d2/scan/"));
	assert_int_equal(check_stream(recording, 0), 3 * CHUNK);
	recording_free(recording);
	recording = open_ok(made_path("d2/scan/scan.vsib.jsonl"));
	assert_int_equal(check_stream(recording, 0), 3 * CHUNK);
	recording_free(recording);
	recording = open_names(2, targets);
	assert_int_equal(check_stream(recording, 0), 3 * CHUNK);
	recording_free(recording);
}

static void segments_out_of_order_in_the_journal_are_sorted(void **state)
{
	const char *const targets[] = { made_path("d1") };
	const char *journal = made_path("d1/scan.vsib.jsonl");
	struct recording *recording;

	(void)state;
	made_make_dir(made_path("d1"));
	say_start(journal, "raw", 100, 1, targets);
	made_write_samples(made_path("d1/scan.000001"), 1000, 500, 0);
	made_write_samples(made_path("d1/scan.000000"), 0, 1000, 0);
	say_segment(journal, 0, "scan.000001", 0, 1000, 500);
	say_segment(journal, 0, "scan.000000", 600, 600, 400);
	say_segment(journal, 0, "scan.000000", 0, 0, 600);
	say_end(journal, 1500);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 1500);
	check_nothing_missing(recording);
	recording_free(recording);
}

static void gaps_come_with_their_causes_and_the_end_line_tells_the_tail(void **state)
{
	static const struct gap gaps[] = {
		{ 0, 100, RECORDING_SOURCE },    { 600, 400, RECORDING_OVERFLOW },
		{ 1000, 50, RECORDING_DISK },    { 1050, 50, RECORDING_UNKNOWN },
		{ 1100, 20, RECORDING_ABORTED }, { 1620, 380, RECORDING_UNKNOWN },
	};
	const char *const targets[] = { made_path("d1") };
	const char *journal = made_path("d1/scan.vsib.jsonl");
	struct recording *recording;

	(void)state;
	made_make_dir(made_path("d1"));
	say_start(journal, "raw", 100, 1, targets);
	say_gap(journal, 0, 100, "source");
	made_write_samples(made_path("d1/scan.raw"), 100, 500, 0);
	say_segment(journal, 0, "scan.raw", 0, 100, 500);
	say_gap(journal, 600, 400, "overflow");
	say_gap(journal, 1000, 50, "disk");
	say_gap(journal, 1100, 20, "aborted");
	made_write_samples(made_path("d1/scan.000007"), 1120, 500, 0);
	say_segment(journal, 0, "scan.000007", 0, 1120, 500);
	say_end(journal, 2000);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 1000);
	check_gaps(recording, gaps, sizeof(gaps) / sizeof(gaps[0]));
	assert_int_equal(recording_info(recording)->stream_bytes, 2000);
	recording_free(recording);
}

static void data_count_more_than_a_gap_line_over_them(void **state)
{
	static const struct gap gaps[] = {
		{ CHUNK, 100, RECORDING_OVERFLOW },
		{ CHUNK + 100, 50, RECORDING_DISK },
	};
	const char *journal = build_raw(CHUNK);
	struct recording *recording;

	(void)state;
	say_gap(journal, CHUNK - 500, 600, "overflow");
	say_gap(journal, CHUNK + 20, 30, "disk");
	say_gap(journal, CHUNK + 50, 100, "disk");
	say_end(journal, CHUNK + 150);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), CHUNK);
	check_gaps(recording, gaps, 2);
	recording_free(recording);
}

/* As far as the fill is there; lines that go on with each other are one, and what they have in common counts once. */
static void gaps_that_are_filled_lie_in_data(void **state)
{
	static const struct gap gaps[] = { { 3 * CHUNK, 30, RECORDING_SOURCE } };
	const char *journal = build_raw(3 * CHUNK);
	const struct recording_filled *filled;
	struct recording *recording;
	size_t count;

	(void)state;
	made_filled_gap(journal, 160, 100);
	made_filled_gap(journal, 100, 50);
	made_filled_gap(journal, 150, 30);
	made_filled_gap(journal, 3 * CHUNK - 10, 40);
	say_gap(journal, 3 * CHUNK, 30, "disk"); /* and lost there */
	say_end(journal, 3 * CHUNK + 30);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 3 * CHUNK);
	check_gaps(recording, gaps, 1);
	filled = recording_filled(recording, &count);
	assert_int_equal(count, 2);
	assert_int_equal(filled[0].stream_offset, 100);
	assert_int_equal(filled[0].bytes, 160);
	assert_int_equal(filled[0].cause, RECORDING_SOURCE);
	assert_int_equal(filled[1].stream_offset, 3 * CHUNK - 10);
	assert_int_equal(filled[1].bytes, 10);
	assert_int_equal(recording_info(recording)->filled_bytes, 170);
	recording_free(recording);
}

static void a_torn_last_line_is_ignored(void **state)
{
	const char *journal = build_raw(3 * CHUNK);
	struct recording *recording;

	(void)state;
	made_append(journal, "{\"type\":\"segment\",\"target\":0,\"fi");
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 3 * CHUNK);
	check_nothing_missing(recording);
	assert_false(recording_info(recording)->has_end);
	assert_true(recording_info(recording)->history->is_torn);
	recording_free(recording);
}

static void a_whole_line_without_its_newline_is_torn_too(void **state)
{
	const char *journal = build_raw(CHUNK);
	struct recording *recording;

	(void)state;
	made_append(journal, "{\"type\":\"end\",\"stream_bytes\":99999}");
	recording = open_ok(made_path("d1/scan"));
	assert_false(recording_info(recording)->has_end);
	assert_int_equal(recording_info(recording)->stream_bytes, CHUNK);
	recording_free(recording);
}

static void reading_stops_at_the_first_line_that_is_not_json(void **state)
{
	const char *journal = build_raw(CHUNK);
	struct recording *recording;

	(void)state;
	made_write_samples(made_path("d1/scan.raw"), 0, 2 * CHUNK, 0);
	made_append(journal, "{\"type\":\"segm\n");
	say_segment(journal, 0, "scan.raw", CHUNK, CHUNK, CHUNK);
	say_end(journal, 2 * CHUNK);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), CHUNK);
	assert_false(recording_info(recording)->has_end);
	assert_true(has_note(recording, "line 3 is not a JSON object"));
	recording_free(recording);
}

static void zeros_behind_the_last_line_are_ignored(void **state)
{
	const char *journal = build_raw(CHUNK);
	static const char zeros[8192];
	struct recording *recording;

	(void)state;
	made_append_bytes(journal, zeros, sizeof(zeros));
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), CHUNK);
	recording_free(recording);
}

static void the_longest_valid_journal_wins(void **state)
{
	struct recording *recording;

	(void)state;
	build_vbs(6, true);
	/* d1's is longer, but broken early; d2's is shorter, and better */
	made_write(made_path("d1/scan/scan.vsib.jsonl"), "", 0);
	say_start(made_path("d1/scan/scan.vsib.jsonl"), "vbs", 100, 2,
		  (const char *const[]){ made_path("d1"), made_path("d2") });
	made_append(made_path("d1/scan/scan.vsib.jsonl"), "garbage\n");
	for (int i = 0; i < 200; i++)
		say_segment(made_path("d1/scan/scan.vsib.jsonl"), 0, "scan/scan.00000000", 0, 0, 10);
	recording = open_ok(made_path("d1/scan"));
	assert_string_equal(recording_info(recording)->journal, made_path("d2/scan/scan.vsib.jsonl"));
	assert_int_equal(check_stream(recording, 0), 6 * CHUNK);
	check_nothing_missing(recording);
	assert_true(recording_info(recording)->has_end);
	recording_free(recording);
}

static void an_empty_journal_beside_a_good_one_does_no_harm_but_is_said(void **state)
{
	struct recording *recording;

	(void)state;
	build_vbs(4, true);
	made_write(made_path("d1/scan/scan.vsib.jsonl"), "", 0);
	recording = open_at(made_path("d1/scan"), 1, (const char *const[]){ made_path("d2") });
	assert_int_equal(check_stream(recording, 0), 4 * CHUNK);
	assert_true(has_note(recording, "no start line"));
	recording_free(recording);
}

static void two_recordings_of_one_name_are_trouble(void **state)
{
	const char *const targets[] = { made_path("d1"), made_path("d2") };

	(void)state;
	build_raw(CHUNK);
	made_make_dir(made_path("d2"));
	say_start(made_path("d2/scan.vsib.jsonl"), "raw", 101, 1, targets + 1);
	open_fails(&(struct recording_query){ .name = "scan", .targets = targets, .target_count = 2 },
		   -EBADMSG, "different recordings");
}

static void a_target_of_another_recording_is_not_used(void **state)
{
	struct recording *recording;

	(void)state;
	build_vbs(4, true);
	made_write(made_path("d2/scan/scan.vsib.jsonl"), "", 0);
	say_start(made_path("d2/scan/scan.vsib.jsonl"), "vbs", 999, 1,
		  (const char *const[]){ made_path("d2") });
	recording = open_ok(made_path("d1/scan"));
	assert_true(has_note(recording, "another recording of that name"));
	assert_int_equal(check_stream(recording, 0), 2 * CHUNK);
	recording_free(recording);
}

static void a_missing_piece_is_named_with_its_place_in_the_stream(void **state)
{
	static const struct gap gaps[] = { { CHUNK, CHUNK, RECORDING_MISSING } };
	struct recording *recording;

	(void)state;
	build_vbs(4, true);
	unlink(made_path("d2/scan/scan.00000001"));
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 3 * CHUNK);
	check_missing(recording, "scan/scan.00000001", CHUNK, CHUNK);
	check_gaps(recording, gaps, 1);
	recording_free(recording);
}

static void of_a_short_file_what_is_there_is_given(void **state)
{
	static const struct gap gaps[] = { { 2 * CHUNK + 300, CHUNK - 300, RECORDING_MISSING } };
	struct recording *recording;

	(void)state;
	build_vbs(4, true);
	assert_int_equal(truncate(made_path("d1/scan/scan.00000002"), 300), 0);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 3 * CHUNK + 300);
	check_missing(recording, "scan/scan.00000002", 2 * CHUNK + 300, CHUNK - 300);
	check_gaps(recording, gaps, 1);
	recording_free(recording);
}

static void a_file_longer_than_the_journal_says_gives_only_what_it_says(void **state)
{
	struct recording *recording;

	(void)state;
	build_raw(CHUNK);
	made_write_samples(made_path("d1/scan.raw"), 0, 2 * CHUNK, 0);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), CHUNK);
	recording_free(recording);
}

static void a_part_file_is_used_when_the_final_one_is_not_there(void **state)
{
	struct recording *recording;

	(void)state;
	build_vbs(4, false);
	assert_int_equal(
		rename(made_path("d2/scan/scan.00000003"), made_path("d2/scan/scan.00000003.part")), 0);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 4 * CHUNK);
	check_nothing_missing(recording);
	assert_false(is_unused(recording, "scan/scan.00000003.part", ""));
	recording_free(recording);
}

static void a_stale_part_file_on_another_target_is_not_taken_for_the_chunk(void **state)
{
	struct recording *recording;
	static const char zeros[CHUNK];

	(void)state;
	build_vbs(4, true);
	unlink(made_path("d2/scan/scan.00000003"));
	made_write(made_path("d1/scan/scan.00000003.part"), zeros, sizeof(zeros));
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 3 * CHUNK);
	check_missing(recording, "scan/scan.00000003", 3 * CHUNK, CHUNK);
	assert_true(is_unused(recording, "scan/scan.00000003.part", "not the file"));
	recording_free(recording);
}

static void files_the_journal_does_not_name_are_named_and_not_used(void **state)
{
	struct recording *recording;

	(void)state;
	build_vbs(2, true);
	made_write_samples(made_path("d1/scan/scan.00000009"), 0, 10, 0);
	made_write_samples(made_path("d2/scan.000000"), 0, 10, 0);
	made_write_samples(made_path("d1/scan/notes.txt"), 0, 10, 0);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 2 * CHUNK);
	assert_true(is_unused(recording, "scan/scan.00000009", "not in the journal"));
	assert_true(is_unused(recording, "scan.000000", "not in the journal"));
	assert_false(is_unused(recording, "scan/notes.txt", ""));
	recording_free(recording);
}

static void a_chunk_rewritten_on_another_target_is_read_there(void **state)
{
	const char *const targets[] = { made_path("d1"), made_path("d2") };
	const char *journal = made_path("d2/scan/scan.vsib.jsonl");
	struct recording *recording;

	(void)state;
	for (int t = 1; t <= 2; t++) {
		made_make_dir(made_path("d%d", t));
		made_make_dir(made_path("d%d/scan", t));
	}
	say_start(journal, "vbs", 100, 2, targets);
	say_segment(journal, 0, "scan/scan.00000000", 0, 0, 1000);
	say_segment(journal, 1, "scan/scan.00000000", 0, 0, 1500);
	say_segment(journal, 1, "scan/scan.00000000", 1500, 1500, 500);
	say_end(journal, 2000);
	made_write_samples(made_path("d1/scan/scan.00000000.part"), 0, 1000, 0);
	made_write_samples(made_path("d2/scan/scan.00000000"), 0, 2000, 0);
	recording = open_ok(made_path("d2/scan"));
	assert_int_equal(check_stream(recording, 0), 2000);
	check_nothing_missing(recording);
	recording_free(recording);

	unlink(made_path("d1/scan/scan.00000000.part"));
	recording = open_ok(made_path("d2/scan"));
	assert_int_equal(check_stream(recording, 0), 2000);
	check_nothing_missing(recording);
	recording_free(recording);
}

static void a_moved_target_is_found_when_it_is_named(void **state)
{
	struct recording *recording;

	(void)state;
	build_vbs(6, true);
	made_make_dir(made_path("elsewhere"));
	assert_int_equal(rename(made_path("d2"), made_path("elsewhere/usb")), 0);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 3 * CHUNK);
	recording_free(recording);
	recording =
		open_at(made_path("d1/scan"), 1, (const char *const[]){ made_path("elsewhere/usb") });
	assert_int_equal(check_stream(recording, 0), 6 * CHUNK);
	check_nothing_missing(recording);
	recording_free(recording);
}

static void targets_that_moved_together_are_found(void **state)
{
	struct recording *recording;

	(void)state;
	build_vbs(6, true);
	made_make_dir(made_path("backup"));
	assert_int_equal(rename(made_path("d1"), made_path("backup/d1")), 0);
	assert_int_equal(rename(made_path("d2"), made_path("backup/d2")), 0);
	recording = open_ok(made_path("backup/d1/scan"));
	assert_int_equal(check_stream(recording, 0), 6 * CHUNK);
	check_nothing_missing(recording);
	recording_free(recording);
}

static void chunks_collected_in_one_directory_are_found(void **state)
{
	struct recording *recording;

	(void)state;
	build_vbs(4, true);
	assert_int_equal(
		rename(made_path("d2/scan/scan.00000001"), made_path("d1/scan/scan.00000001")), 0);
	assert_int_equal(
		rename(made_path("d2/scan/scan.00000003"), made_path("d1/scan/scan.00000003")), 0);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 4 * CHUNK);
	check_nothing_missing(recording);
	recording_free(recording);
}

static void equal_names_on_swapped_targets_are_told_apart_by_their_checksums(void **state)
{
	const char *const targets[] = { made_path("d1"), made_path("d2") };
	const char *const moved[] = { made_path("m/x"), made_path("m/y") };
	const char *journal = made_path("d1/scan.vsib.jsonl");
	struct recording *recording;

	(void)state;
	made_make_dir(made_path("d1"));
	made_make_dir(made_path("d2"));
	made_make_dir(made_path("m"));
	say_start(journal, "raw", 100, 2, targets);
	for (unsigned unit = 0; unit < 10; unit++) {
		unsigned char *buf = samples(unit * 100, 100);

		made_append_bytes(made_path("d%u/scan.000000", unit % 2 + 1), buf, 100);
		free(buf);
		say_segment(journal, unit % 2, "scan.000000", unit / 2 * 100, unit * 100, 100);
	}
	say_end(journal, 1000);
	made_copy(journal, made_path("d2/scan.vsib.jsonl"));
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 1000);
	recording_free(recording);

	assert_int_equal(rename(made_path("d1"), made_path("m/y")), 0);
	assert_int_equal(rename(made_path("d2"), made_path("m/x")), 0);
	recording = open_names(2, moved);
	assert_int_equal(check_stream(recording, 0), 1000);
	check_nothing_missing(recording);
	recording_free(recording);
}

static void reading_can_begin_anywhere(void **state)
{
	static const uint64_t places[] = {
		0, 1, CHUNK / 2 - 1, CHUNK / 2, CHUNK, 3 * CHUNK + 7, 5 * CHUNK - 1
	};
	struct recording *recording;
	struct recording_piece piece;

	(void)state;
	build_vbs(5, true);
	unlink(made_path("d2/scan/scan.00000003"));
	recording = open_ok(made_path("d1/scan"));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		recording_seek(recording, places[i]);
		check_stream(recording, places[i]);
	}
	recording_seek(recording, 5 * CHUNK);
	assert_int_equal(recording_next(recording, &piece), 0);
	recording_seek(recording, UINT64_MAX);
	assert_int_equal(recording_next(recording, &piece), 0);
	recording_free(recording);
}

static void the_pieces_themselves_are_recognised(void **state)
{
	struct recording *recording;
	struct stat st;

	(void)state;
	build_vbs(2, true);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(stat(made_path("d2/scan/scan.00000001"), &st), 0);
	assert_true(recording_uses(recording, st.st_dev, st.st_ino));
	assert_int_equal(stat(made_path("d2/scan/scan.vsib.jsonl"), &st), 0);
	assert_true(recording_uses(recording, st.st_dev, st.st_ino));
	assert_int_equal(stat(made_path("d2"), &st), 0);
	assert_false(recording_uses(recording, st.st_dev, st.st_ino));
	recording_free(recording);
}

static void more_files_than_may_be_open_are_read(void **state)
{
	struct recording *recording;

	(void)state;
	build_vbs(200, true);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 200 * CHUNK);
	recording_seek(recording, 0);
	assert_int_equal(check_stream(recording, 0), 200 * CHUNK);
	recording_free(recording);
}

/*
 * ---- without a journal
 * ---------------------------------------------------------------------------
 */

static void build_chunks(unsigned from, unsigned to)
{
	for (int t = 1; t <= 2; t++) {
		made_make_dir(made_path("d%d", t));
		made_make_dir(made_path("d%d/scan", t));
	}
	for (unsigned i = from; i < to; i++)
		made_write_samples(made_path("d%u/scan/scan.%08u", i % 2 + 1, i),
				   (uint64_t)i * CHUNK, CHUNK, 0);
}

static void without_a_journal_the_numbers_give_the_order(void **state)
{
	const char *const targets[] = { made_path("d2"), made_path("d1") };
	struct recording *recording;

	(void)state;
	build_chunks(0, 12);
	made_write_samples(made_path("d1/scan/scan.00000012"), 12 * CHUNK, 100, 0); /* the last is shorter */
	made_write_samples(made_path("d1/scan/scan.000000012"), 0, 100, 0); /* nine digits: not a chunk */
	recording = open_names(2, targets);
	assert_int_equal(check_stream(recording, 0), 12 * CHUNK + 100);
	check_nothing_missing(recording);
	assert_null(recording_info(recording)->journal);
	recording_free(recording);
}

static void raw_files_and_a_single_one_are_found_by_name(void **state)
{
	struct recording *recording;

	(void)state;
	made_make_dir(made_path("d1"));
	for (unsigned i = 0; i < 11; i++)
		made_write_samples(made_path("d1/scan.%06u", i), i * 100, 100, 0);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 1100);
	recording_free(recording);

	made_make_dir(made_path("d3"));
	made_write_samples(made_path("d3/scan.raw"), 0, 777, 0);
	recording = open_ok(made_path("d3/scan"));
	assert_int_equal(check_stream(recording, 0), 777);
	recording_free(recording);

	made_make_dir(made_path("d4"));
	made_write_samples(made_path("d4/scan.pcapng"), 0, 777, 0);
	recording = open_ok(made_path("d4/scan"));
	assert_int_equal(check_stream(recording, 0), 777);
	recording_free(recording);

	made_make_dir(made_path("d5"));
	for (unsigned i = 0; i < 11; i++)
		if (i != 5)
			made_write_samples(made_path("d5/scan.%06u.pcapng", i), i * 100, 100, 0);
	recording = open_ok(made_path("d5/scan"));
	assert_int_equal(check_stream(recording, 0), 1000);
	check_missing(recording, "scan.000005.pcapng", 500, 100);
	recording_free(recording);

	made_write_samples(made_path("d1/scan.raw"), 0, 777, 0);
	open_fails(&(struct recording_query){ .recording = made_path("d1/scan") }, -EBADMSG,
		   "more than one kind");
}

static void missing_numbers_are_named_and_have_the_length_of_the_others(void **state)
{
	static const struct gap gaps[] = { { 4 * CHUNK, 3 * CHUNK, RECORDING_MISSING } };
	const char *const targets[] = { made_path("d1"), made_path("d2") };
	struct recording *recording;

	(void)state;
	build_chunks(0, 4);
	build_chunks(7, 9);
	recording = open_names(2, targets);
	assert_int_equal(check_stream(recording, 0), 6 * CHUNK);
	check_missing(recording, "scan.00000004 to scan.00000006", 4 * CHUNK, 3 * CHUNK);
	check_gaps(recording, gaps, 1);
	assert_true(has_note(recording, "taken to be 4000 bytes"));
	recording_free(recording);
}

static void the_first_numbers_can_be_missing_too(void **state)
{
	const char *const targets[] = { made_path("d1"), made_path("d2") };
	struct recording *recording;

	(void)state;
	build_chunks(2, 5);
	recording = open_names(2, targets);
	assert_int_equal(check_stream(recording, 0), 3 * CHUNK);
	check_missing(recording, "scan.00000000 to scan.00000001", 0, 2 * CHUNK);
	recording_free(recording);
}

static void missing_numbers_among_unequal_files_have_no_known_length(void **state)
{
	const char *const targets[] = { made_path("d1"), made_path("d2") };
	struct recording_piece piece;
	struct recording *recording;

	(void)state;
	build_chunks(0, 2);
	made_write_samples(made_path("d1/scan/scan.00000000"), 0, 10, 0);
	build_chunks(3, 5);
	recording = open_names(2, targets);
	assert_int_equal(recording_next(recording, &piece), 1);
	assert_int_equal(recording_next(recording, &piece), 1);
	assert_int_equal(recording_next(recording, &piece), 1);
	assert_int_equal(piece.kind, RECORDING_GAP);
	assert_false(piece.is_length_known);
	assert_int_equal(piece.bytes, 0);
	check_missing(recording, "scan.00000002", 10 + CHUNK, 0);
	recording_free(recording);
}

static void equal_numbers_with_equal_bytes_are_used_once(void **state)
{
	const char *const targets[] = { made_path("d1"), made_path("d2") };
	struct recording *recording;

	(void)state;
	build_chunks(0, 4);
	made_write_samples(made_path("d2/scan/scan.00000002"), 2 * CHUNK, CHUNK, 0);
	recording = open_names(2, targets);
	assert_int_equal(check_stream(recording, 0), 4 * CHUNK);
	check_nothing_missing(recording);
	assert_true(is_unused(recording, "scan/scan.00000002", "the same bytes"));
	recording_free(recording);
}

static void equal_numbers_with_different_bytes_are_trouble(void **state)
{
	const char *const targets[] = { made_path("d1"), made_path("d2") };
	const struct recording_query query = { .name = "scan", .targets = targets, .target_count = 2 };

	(void)state;
	build_chunks(0, 4);
	made_write_samples(made_path("d2/scan/scan.00000002"), 2 * CHUNK + 1, CHUNK, 0);
	open_fails(&query, -EBADMSG, "same number and different contents");
	made_write_samples(made_path("d2/scan/scan.00000002"), 2 * CHUNK, CHUNK - 1, 0);
	open_fails(&query, -EBADMSG, "same number and different contents");
}

static void part_files_without_a_journal_are_named_and_not_used(void **state)
{
	const char *const targets[] = { made_path("d1"), made_path("d2") };
	struct recording *recording;

	(void)state;
	build_chunks(0, 4);
	made_write_samples(made_path("d2/scan/scan.00000002.part"), 0, 10, 0);
	recording = open_names(2, targets);
	assert_int_equal(check_stream(recording, 0), 4 * CHUNK);
	assert_true(is_unused(recording, "scan/scan.00000002.part", "not a final name"));
	assert_false(recording_info(recording)->is_incomplete);
	recording_free(recording);

	made_write_samples(made_path("d2/scan/scan.00000004.part"), 0, 10, 0);
	recording = open_names(2, targets);
	assert_int_equal(check_stream(recording, 0), 4 * CHUNK);
	assert_true(recording_info(recording)->is_incomplete);
	recording_free(recording);
}

static void what_is_not_there_is_said(void **state)
{
	const char *const targets[] = { made_path("d1"), made_path("d9") };

	(void)state;
	made_make_dir(made_path("d1"));
	open_fails(&(struct recording_query){ .recording = made_path("d1/scan") }, -ENOENT,
		   "no recording scan");
	open_fails(&(struct recording_query){ .name = "scan", .targets = targets, .target_count = 2 },
		   -ENOENT, "d9");
	open_fails(&(struct recording_query){ .recording = made_path("d9/scan") }, -ENOENT, "d9");
	open_fails(&(struct recording_query){ .recording = ".." }, -EINVAL, "not the name");
	open_fails(&(struct recording_query){ .recording = "/" }, -EINVAL, "not the name");
	open_fails(&(struct recording_query){ .name = "", .targets = targets, .target_count = 1 },
		   -EINVAL, "");
}

/*
 * ---- units in turn
 * -------------------------------------------------------------------------------
 */

/*
 * @total bytes in units of 100 over @dirs directories, @per_file units a file; numbers go up by
 * @step from @first.
 */
static void build_round(unsigned dirs, uint64_t total, unsigned per_file, unsigned step)
{
	for (unsigned k = 0; k < dirs; k++)
		made_make_dir(made_path("r%u", k));
	for (uint64_t o = 0, unit = 0; o < total; o += 100, unit++) {
		size_t len = total - o < 100 ? (size_t)(total - o) : 100;
		unsigned k = (unsigned)(unit % dirs);
		unsigned char *buf = samples(o, len);

		made_append_bytes(
			made_path("r%u/t%06u", k,
				  (unsigned)(unit / dirs / per_file) * step + (step > 1 ? k : 0)),
			buf, len);
		free(buf);
	}
}

static struct recording *open_round(unsigned dirs)
{
	static char texts[4][PATH_MAX];
	const char *templates[4];
	struct recording *recording;
	int ret;

	for (unsigned k = 0; k < dirs; k++) {
		snprintf(texts[k], sizeof(texts[k]), "%s/t%%06d", made_path("r%u", k));
		templates[k] = texts[k];
	}
	ret = recording_open_round(&recording, 100, templates, dirs);
	if (ret < 0)
		fail_msg("%s", recording_error(recording));
	return recording;
}

static void units_come_in_turn_and_a_short_last_one_is_fine(void **state)
{
	static const uint64_t totals[] = { 1, 99, 100, 101, 700, 750, 3000, 3050 };
	struct recording *recording;
	size_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		if (totals[i] < 201)
			continue; /* a directory without a file is "no such file", below */
		build_round(3, totals[i], 4, 1);
		recording = open_round(3);
		assert_int_equal(check_stream(recording, 0), totals[i]);
		assert_int_equal(recording_info(recording)->gap_bytes, 0);
		recording_notes(recording, &count);
		assert_int_equal(count, 0);
		recording_seek(recording, 150);
		check_stream(recording, 150);
		recording_free(recording);
		made_tear_down(NULL);
		made_set_up(NULL);
	}
}

static void one_directory_is_a_plain_sequence(void **state)
{
	struct recording *recording;

	(void)state;
	build_round(1, 1234, 3, 1);
	recording = open_round(1);
	assert_int_equal(check_stream(recording, 0), 1234);
	recording_free(recording);
}

static void digits_may_follow_the_number_in_a_template(void **state)
{
	struct recording *recording;
	char text[PATH_MAX];
	const char *name_template = text;

	(void)state;
	made_make_dir(made_path("r0"));
	made_write_samples(made_path("r0/t00020s"), 0, 100, 0);
	made_write_samples(made_path("r0/t00120s"), 100, 50, 0);
	snprintf(text, sizeof(text), "%s/t%%03d20s", made_path("r0"));
	assert_int_equal(recording_open_round(&recording, 100, &name_template, 1), 0);
	assert_int_equal(check_stream(recording, 0), 150);
	recording_free(recording);
}

static void numbers_of_all_directories_together_are_understood(void **state)
{
	struct recording *recording;
	size_t count;

	(void)state;
	build_round(2, 2000, 2, 2);
	recording = open_round(2);
	assert_int_equal(check_stream(recording, 0), 2000);
	recording_missing(recording, &count);
	assert_int_equal(count, 0);
	recording_free(recording);
}

static void a_missing_file_leaves_its_units_open(void **state)
{
	struct recording *recording;

	(void)state;
	build_round(2, 2000, 2, 1);
	unlink(made_path("r1/t000002"));
	recording = open_round(2);
	assert_int_equal(check_stream(recording, 0), 1800);
	assert_int_equal(recording_info(recording)->gap_bytes, 200);
	check_missing(recording, "t000002", 900, 200);
	recording_free(recording);
}

static void a_directory_that_ends_early_is_said(void **state)
{
	struct recording *recording;

	(void)state;
	build_round(2, 2000, 100, 1);
	assert_int_equal(truncate(made_path("r0/t000000"), 730), 0);
	recording = open_round(2);
	assert_int_equal(check_stream(recording, 0), 1730);
	assert_true(has_note(recording, "ends 270 bytes before its turn"));
	recording_free(recording);
}

static void plain_names_and_odd_templates(void **state)
{
	const char *templates[] = { made_path("r0/whole"), made_path("r1/whole") };
	struct recording *recording;
	struct sequence sequence;
	uint64_t number;

	(void)state;
	made_make_dir(made_path("r0"));
	made_make_dir(made_path("r1"));
	made_write_samples(made_path("r0/whole"), 0, 100, 0);
	made_write_samples(made_path("r1/whole"), 100, 60, 0);
	assert_int_equal(recording_open_round(&recording, 100, templates, 2), 0);
	assert_int_equal(check_stream(recording, 0), 160);
	recording_free(recording);

	templates[1] = made_path("r1/%%s");
	assert_int_equal(recording_open_round(&recording, 100, templates, 2), -EINVAL);
	recording_free(recording);
	templates[1] = made_path("r1/x%%06d");
	assert_int_equal(recording_open_round(&recording, 100, templates, 2), -ENOENT);
	recording_free(recording);
	assert_int_equal(recording_open_round(&recording, 0, templates, 1), -EINVAL);
	recording_free(recording);
	assert_int_equal(recording_open_round(&recording, UINT64_MAX, templates, 2), -EINVAL);
	recording_free(recording);

	assert_int_equal(sequence_parse(&sequence, "a%%b%04d.dat"), 0);
	assert_true(sequence_match(&sequence, "a%b0012.dat", &number));
	assert_int_equal(number, 12);
	assert_true(sequence_match(&sequence, "a%b00123.dat", &number));
	assert_false(sequence_match(&sequence, "a%b12.dat", &number));
	assert_false(sequence_match(&sequence, "a%b0012.dat~", &number));
	assert_false(sequence_match(&sequence, "a%b9999999999999999999999.dat", &number));
	assert_int_equal(sequence_parse(&sequence, "%d%d"), -EINVAL);
	assert_int_equal(sequence_parse(&sequence, "%n"), -EINVAL);
	assert_int_equal(sequence_parse(&sequence, "%6d"), -EINVAL);
	assert_int_equal(sequence_parse(&sequence, "%0999999999999d"), -EINVAL);
	assert_int_equal(sequence_parse(&sequence, "%"), -EINVAL);
}

/*
 * ---- gathering
 * -----------------------------------------------------------------------------------
 */

struct heard {
	unsigned count[GATHER_COPY + 1];
	struct recording_piece last[GATHER_COPY + 1];
	char file[256]; /* of the last bad one */
};

static void hear(void *context, const struct gather_event *event)
{
	struct heard *heard = context;

	heard->count[event->what]++;
	if (!event->piece)
		return;
	heard->last[event->what] = *event->piece;
	if (event->what == GATHER_BAD_SUM)
		snprintf(heard->file, sizeof(heard->file), "%s/%s", event->piece->target,
			 event->piece->file);
}

struct gathered {
	unsigned char *bytes;
	size_t len;
	struct gather_result result;
	struct heard heard;
};

static void gather(struct recording *recording, enum gather_fill fill, bool is_strict,
		   struct gathered *gathered)
{
	struct gather_config config = {
		.fill = fill, .is_strict = is_strict, .say = hear, .context = &gathered->heard
	};
	struct stat st;

	memset(gathered, 0, sizeof(*gathered));
	config.fd = open(made_path("out"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	assert_true(config.fd >= 0);
	assert_int_equal(gather_copy(recording, &config, &gathered->result), 0);
	assert_int_equal(fstat(config.fd, &st), 0);
	gathered->len = (size_t)st.st_size;
	gathered->bytes = malloc(gathered->len + 1);
	assert_int_equal(pread(config.fd, gathered->bytes, gathered->len, 0), st.st_size);
	assert_int_equal(gathered->result.bytes_out, gathered->len);
	close(config.fd);
}

static void check_samples(const struct gathered *gathered, size_t at_byte, uint64_t stream_offset,
			  size_t bytes)
{
	assert_true(at_byte + bytes <= gathered->len);
	for (size_t i = 0; i < bytes; i++)
		if (gathered->bytes[at_byte + i] != made_sample(stream_offset + i))
			fail_msg("byte %zu is not the stream's %" PRIu64, at_byte + i,
				 stream_offset + i);
}

static void spoil(const char *path, off_t offset)
{
	int fd = open(path, O_RDWR);
	unsigned char byte;

	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
	close(fd);
}

static void what_is_gathered_is_the_stream(void **state)
{
	struct recording *recording;
	struct gathered gathered;

	(void)state;
	build_vbs(9, true);
	recording = open_ok(made_path("d1/scan"));
	gather(recording, GATHER_CLOSE_UP, false, &gathered);
	assert_int_equal(gathered.len, 9 * CHUNK);
	check_samples(&gathered, 0, 0, 9 * CHUNK);
	assert_int_equal(gathered.result.gap_count + gathered.result.bad_sum_count, 0);
	free(gathered.bytes);
	recording_free(recording);
}

static void gaps_are_closed_up_or_filled_with_the_pattern(void **state)
{
	static const unsigned char pattern[4] = { 0x44, 0x33, 0x22, 0x11 };
	const char *journal = build_raw(1003);
	struct recording *recording;
	struct gathered gathered;

	(void)state;
	say_gap(journal, 1003, 501, "overflow");
	made_write_samples(made_path("d1/scan.000001"), 1504, 100, 0);
	say_segment(journal, 0, "scan.000001", 0, 1504, 100);
	say_end(journal, 1604 + 11);
	recording = open_ok(made_path("d1/scan"));
	gather(recording, GATHER_CLOSE_UP, false, &gathered);
	assert_int_equal(gathered.len, 1103);
	check_samples(&gathered, 0, 0, 1003);
	check_samples(&gathered, 1003, 1504, 100);
	assert_int_equal(gathered.result.gap_count, 2);
	assert_int_equal(gathered.heard.count[GATHER_GAP], 2);
	free(gathered.bytes);

	recording_seek(recording, 0);
	gather(recording, GATHER_PATTERN, false, &gathered);
	assert_int_equal(gathered.len, 1615);
	check_samples(&gathered, 0, 0, 1003);
	check_samples(&gathered, 1504, 1504, 100);
	for (size_t o = 1003; o < 1615; o++)
		if (o < 1504 || o >= 1604)
			assert_int_equal(gathered.bytes[o], pattern[o % 4]);
	assert_int_equal(gathered.result.filled_bytes, 512);
	free(gathered.bytes);
	recording_free(recording);
}

static void a_bad_checksum_is_found_at_its_place(void **state)
{
	struct recording *recording;
	struct gathered gathered;

	(void)state;
	build_vbs(6, true);
	spoil(made_path("d2/scan/scan.00000003"), CHUNK / 2 + 5);
	recording = open_ok(made_path("d1/scan"));
	gather(recording, GATHER_CLOSE_UP, false, &gathered);
	assert_int_equal(gathered.len, 6 * CHUNK);
	assert_int_equal(gathered.result.bad_sum_count, 1);
	assert_int_equal(gathered.heard.count[GATHER_BAD_SUM], 1);
	assert_string_equal(gathered.heard.file, made_path("d2/scan/scan.00000003"));
	assert_int_equal(gathered.heard.last[GATHER_BAD_SUM].sum_offset, CHUNK / 2);
	assert_int_equal(gathered.heard.last[GATHER_BAD_SUM].sum_bytes, CHUNK / 2);
	assert_int_equal(gathered.heard.last[GATHER_BAD_SUM].stream_offset, 3 * CHUNK + CHUNK / 2);
	check_samples(&gathered, 0, 0, 3 * CHUNK + CHUNK / 2 + 5);
	free(gathered.bytes);

	recording_seek(recording, 0);
	gather(recording, GATHER_CLOSE_UP, true, &gathered);
	assert_int_equal(gathered.len, 6 * CHUNK - CHUNK / 2);
	check_samples(&gathered, 3 * CHUNK + CHUNK / 2, 4 * CHUNK, 2 * CHUNK);
	assert_int_equal(gathered.result.bad_sum_count, 1);
	assert_int_equal(gathered.result.gap_count, 1);
	free(gathered.bytes);

	recording_seek(recording, 0);
	gather(recording, GATHER_PATTERN, true, &gathered);
	assert_int_equal(gathered.len, 6 * CHUNK);
	assert_int_equal(gathered.bytes[3 * CHUNK + CHUNK / 2], 0x44);
	assert_int_equal(gathered.result.filled_bytes, CHUNK / 2);
	free(gathered.bytes);
	recording_free(recording);
}

static void build_copies(void)
{
	const char *const targets[] = { made_path("d1"), made_path("d2") };
	const char *journal = made_path("d1/scan/scan.vsib.jsonl");

	made_make_dir(made_path("d1"));
	made_make_dir(made_path("d2"));
	made_make_dir(made_path("d1/scan"));
	made_make_dir(made_path("d2/scan-copy"));
	made_make_dir(made_path("d2/scan"));
	say_start(journal, "vbs", 100, 2, targets);
	for (unsigned i = 0; i < 4; i++) {
		char file[64], copy[64];

		snprintf(file, sizeof(file), "scan/scan.%08u", i);
		snprintf(copy, sizeof(copy), "scan-copy/scan-copy.%08u", i);
		made_write_samples(made_path("d1/%s", file), (uint64_t)i * CHUNK, CHUNK, 0);
		made_write_samples(made_path("d2/%s", copy), (uint64_t)i * CHUNK, CHUNK, 0);
		say_segment(journal, 0, file, 0, (uint64_t)i * CHUNK, CHUNK);
		say_segment(journal, 1, copy, 0, (uint64_t)i * CHUNK, CHUNK);
	}
	say_end(journal, 4 * CHUNK);
	made_copy(journal, made_path("d2/scan/scan.vsib.jsonl"));
}

/* One that is not there, and a short one. */
static void check_covered(const struct recording *recording)
{
	const struct recording_missing *covered;
	size_t count;

	covered = recording_covered(recording, &count);
	assert_int_equal(count, 2);
	assert_string_equal(covered[0].file, "scan/scan.00000002");
	assert_string_equal(covered[1].file, "scan/scan.00000003");
	assert_int_equal(covered[0].stream_offset, 2 * CHUNK);
	assert_int_equal(covered[0].stream_end, 3 * CHUNK);
	assert_int_equal(covered[1].stream_offset, 3 * CHUNK + 100);
	assert_int_equal(covered[1].stream_end, 4 * CHUNK);
	assert_int_equal(covered[0].bytes + covered[1].bytes, 0);
}

static void a_bad_piece_is_replaced_by_its_copy(void **state)
{
	struct recording *recording;
	struct gathered gathered;

	(void)state;
	build_copies();
	spoil(made_path("d1/scan/scan.00000001"), 7);
	unlink(made_path("d1/scan/scan.00000002"));
	assert_int_equal(truncate(made_path("d1/scan/scan.00000003"), 100), 0);
	recording = open_ok(made_path("d1/scan"));
	check_nothing_missing(recording);
	check_covered(recording);
	gather(recording, GATHER_CLOSE_UP, false, &gathered);
	assert_int_equal(gathered.len, 4 * CHUNK);
	check_samples(&gathered, 0, 0, 4 * CHUNK);
	assert_int_equal(gathered.heard.count[GATHER_BAD_SUM], 1);
	assert_int_equal(gathered.heard.count[GATHER_COPY], 1);
	assert_int_equal(gathered.result.bad_sum_count, 0);
	free(gathered.bytes);
	recording_free(recording);
}

/* Gone in both copies, and before it one that is gone in one. */
static void a_piece_without_a_copy_is_missing_and_those_with_one_are_not(void **state)
{
	struct recording *recording;
	size_t count;

	(void)state;
	build_copies();
	unlink(made_path("d2/scan-copy/scan-copy.00000000"));
	unlink(made_path("d1/scan/scan.00000001"));
	assert_int_equal(truncate(made_path("d2/scan-copy/scan-copy.00000001"), 100), 0);
	recording = open_ok(made_path("d1/scan"));
	recording_missing(recording, &count);
	assert_int_equal(count, 2);
	assert_int_equal(recording_missing(recording, &count)[0].stream_offset, CHUNK + 100);
	assert_int_equal(recording_missing(recording, &count)[0].bytes, CHUNK - 100);
	assert_string_equal(recording_covered(recording, &count)->file, "scan-copy/scan-copy.00000000");
	assert_int_equal(count, 1);
	recording_free(recording);
}

static void two_bad_copies_are_trouble_and_the_first_is_given(void **state)
{
	struct recording *recording;
	struct gathered gathered;

	(void)state;
	build_copies();
	spoil(made_path("d1/scan/scan.00000001"), 7);
	spoil(made_path("d2/scan-copy/scan-copy.00000001"), 9);
	recording = open_ok(made_path("d1/scan"));
	gather(recording, GATHER_CLOSE_UP, false, &gathered);
	assert_int_equal(gathered.len, 4 * CHUNK);
	assert_int_equal(gathered.result.bad_sum_count, 1);
	assert_int_equal(gathered.bytes[CHUNK + 7], made_sample(CHUNK + 7) ^ 0x10);
	assert_int_equal(gathered.bytes[CHUNK + 9], made_sample(CHUNK + 9));
	free(gathered.bytes);
	recording_free(recording);
}

static void a_file_that_shrinks_meanwhile_leaves_a_gap(void **state)
{
	struct recording *recording;
	struct gathered gathered;

	(void)state;
	build_vbs(4, true);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(truncate(made_path("d2/scan/scan.00000001"), 50), 0);
	gather(recording, GATHER_PATTERN, false, &gathered);
	assert_int_equal(gathered.len, 4 * CHUNK);
	check_samples(&gathered, 0, 0, CHUNK + 50);
	assert_int_equal(gathered.bytes[CHUNK + 52], 0x44);
	check_samples(&gathered, 2 * CHUNK, 2 * CHUNK, 2 * CHUNK);
	assert_int_equal(gathered.result.unreadable_count, 2);
	free(gathered.bytes);
	recording_free(recording);
}

static void a_piece_larger_than_the_buffer_is_copied_whole(void **state)
{
	const char *const targets[] = { made_path("d1") };
	const char *journal = made_path("d1/scan.vsib.jsonl");
	const size_t large = 9 * 1024 * 1024 + 5;
	struct recording *recording;
	struct gathered gathered;

	(void)state;
	made_make_dir(made_path("d1"));
	say_start(journal, "raw", 100, 1, targets);
	made_write_samples(made_path("d1/scan.raw"), 3, large, 0);
	say_gap(journal, 0, 3, "source");
	say_segment(journal, 0, "scan.raw", 0, 3, large);
	say_end(journal, large + 3);
	recording = open_ok(made_path("d1/scan"));
	gather(recording, GATHER_PATTERN, false, &gathered);
	assert_int_equal(gathered.len, large + 3);
	check_samples(&gathered, 3, 3, large);
	assert_int_equal(gathered.result.bad_sum_count, 0);
	free(gathered.bytes);
	recording_free(recording);
}

/*
 * ---- input that means harm
 * -----------------------------------------------------------------------
 */

static void say_evil(const char *journal, const char *rest)
{
	made_append(journal, "{\"type\":\"segment\",\"target\":0,");
	made_append(journal, rest);
	made_append(journal, "}\n");
}

static void impossible_lines_are_left_out_and_said(void **state)
{
	static const char *const lines[] = {
		"\"file\":\"/etc/passwd\",\"file_offset\":0,\"bytes\":10,\"stream_offset\":4000",
		"\"file\":\"../secret\",\"file_offset\":0,\"bytes\":10,\"stream_offset\":4000",
		"\"file\":\"a/../../secret\",\"file_offset\":0,\"bytes\":10,\"stream_offset\":4000",
		"\"file\":\"a//b\",\"file_offset\":0,\"bytes\":10,\"stream_offset\":4000",
		"\"file\":\"\",\"file_offset\":0,\"bytes\":10,\"stream_offset\":4000",
		"\"file\":\"\\u001b[2J\",\"file_offset\":0,\"bytes\":10,\"stream_offset\":4000",
		"\"file\":\"scan.raw\",\"file_offset\":-1,\"bytes\":10,\"stream_offset\":4000",
		"\"file\":\"scan.raw\",\"file_offset\":0,\"bytes\":-10,\"stream_offset\":4000",
		"\"file\":\"scan.raw\",\"file_offset\":0,\"bytes\":10,\"stream_offset\":-4000",
		"\"file\":\"scan.raw\",\"file_offset\":9223372036854775807,\"bytes\":10,\"stream_offset\":0",
		"\"file\":\"scan.raw\",\"file_offset\":0,\"bytes\":9223372036854775807,\"stream_offset\":1",
		"\"file\":\"scan.raw\",\"file_offset\":0.5,\"bytes\":10,\"stream_offset\":4000",
		"\"file\":\"scan.raw\",\"file_offset\":\"0\",\"bytes\":10,\"stream_offset\":4000",
		"\"file\":12,\"file_offset\":0,\"bytes\":10,\"stream_offset\":4000",
		"\"file\":\"scan.raw\",\"file_offset\":0,\"bytes\":10,\"stream_offset\":4000,\"xxh3\":\"zz\"",
		"\"file\":\"scan.raw\",\"file_offset\":0,\"bytes\":10,\"stream_offset\":4000,\"target\":77",
	};
	const char *journal = build_raw(CHUNK);
	struct recording *recording;

	(void)state;
	made_write_samples(made_path("secret"), 0, 100, 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		say_evil(journal, lines[i]);
	say_gap(journal, INT64_MAX, 1, "overflow");
	made_append(journal, "{\"type\":\"gap\",\"stream_offset\":-5,\"bytes\":10}\n");
	made_append(journal, "{\"type\":\"clock\",\"stream_offset\":0,\"utc\":\"yesterday\"}\n");
	made_append(journal, "{\"type\":\"end\",\"stream_bytes\":-1}\n");
	made_append(journal, "{\"type\":[1,2],\"bytes\":null}\n{}\n");
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), CHUNK);
	assert_int_equal(recording_info(recording)->history->invalid_count,
			 sizeof(lines) / sizeof(lines[0]) + 4);
	assert_true(recording_info(recording)->has_trouble);
	recording_free(recording);
}

static void huge_claims_are_gaps_not_memory(void **state)
{
	const char *journal = build_raw(CHUNK);
	struct recording *recording;

	(void)state;
	say_gap(journal, CHUNK, INT64_MAX - 2 * CHUNK, "overflow");
	say_evil(journal,
		 "\"file\":\"big\",\"file_offset\":9000000000000000000,\"bytes\":1000,\"stream_offset\":8000");
	say_end(journal, INT64_MAX);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), CHUNK);
	assert_int_equal(recording_info(recording)->stream_bytes, INT64_MAX);
	recording_free(recording);
}

static void overlapping_segments_give_each_byte_once(void **state)
{
	const char *journal = build_raw(CHUNK);
	struct recording *recording;

	(void)state;
	made_write_samples(made_path("d1/scan.000001"), 0, 3 * CHUNK, 0);
	say_segment(journal, 0, "scan.000001", 100, 100, 50);
	say_segment(journal, 0, "scan.000001", CHUNK - 100, CHUNK - 100, 200);
	say_segment(journal, 0, "scan.000001", CHUNK + 50, CHUNK + 50, CHUNK);
	say_segment(journal, 0, "scan.000001", CHUNK + 50, CHUNK + 50, 10);
	say_segment(journal, 0, "scan.000001", CHUNK - 10, CHUNK - 10, 20);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 2 * CHUNK + 50);
	assert_int_equal(recording_info(recording)->gap_count, 0);
	recording_free(recording);
}

static void a_line_of_any_length_is_survived(void **state)
{
	const char *journal = build_raw(CHUNK);
	const size_t len = 8 << 20;
	char *text = malloc(len);
	struct recording *recording;

	(void)state;
	memset(text, 'x', len);
	made_append_bytes(journal, text, len);
	made_append(journal, "\n");
	say_end(journal, 1);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), CHUNK);
	assert_true(has_note(recording, "longer than"));
	recording_free(recording);
	memset(text, '[', len);
	made_write(journal, text, len);
	open_fails(&(struct recording_query){ .recording = journal }, -EBADMSG, "no start line");
	made_write(journal, text, 900000);
	made_append(journal, "\n");
	open_fails(&(struct recording_query){ .recording = journal }, -EBADMSG, "no start line");
	free(text);
}

static void things_that_are_not_files_are_named_and_do_not_hang(void **state)
{
	const struct recording_missing *missing;
	struct recording *recording;
	size_t count;

	(void)state;
	build_vbs(5, true);
	made_write_samples(made_path("secret"), 0, CHUNK, 0);
	for (unsigned i = 0; i < 4; i++)
		unlink(made_path("d%u/scan/scan.%08u", i % 2 + 1, i));
	made_make_dir(made_path("d1/scan/scan.00000000"));
	assert_int_equal(mkfifo(made_path("d2/scan/scan.00000001"), 0644), 0);
	assert_int_equal(symlink(made_path("secret"), made_path("d1/scan/scan.00000002")), 0);
	assert_int_equal(symlink("/dev/zero", made_path("d2/scan/scan.00000003")), 0);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), CHUNK);
	missing = recording_missing(recording, &count);
	assert_int_equal(count, 4);
	assert_string_equal(missing[0].reason, "is a directory");
	assert_string_equal(missing[1].reason, "is not a regular file");
	assert_string_equal(missing[2].reason, "is a symbolic link");
	assert_string_equal(missing[3].reason, "is a symbolic link");
	recording_free(recording);

	unlink(made_path("d1/scan/scan.vsib.jsonl"));
	unlink(made_path("d2/scan/scan.vsib.jsonl"));
	recording = open_names(2, (const char *const[]){ made_path("d1"), made_path("d2") });
	assert_int_equal(recording_info(recording)->data_bytes, CHUNK);
	assert_true(recording_info(recording)->is_incomplete);
	recording_free(recording);
}

static void a_journal_that_is_no_file_does_not_hang(void **state)
{
	struct recording *recording;

	(void)state;
	build_raw(CHUNK);
	unlink(made_path("d1/scan.vsib.jsonl"));
	assert_int_equal(mkfifo(made_path("d1/scan.vsib.jsonl"), 0644), 0);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), CHUNK);
	assert_true(recording_info(recording)->has_trouble);
	recording_free(recording);
	open_fails(&(struct recording_query){ .recording = made_path("d1/scan.vsib.jsonl") },
		   -ENOENT, "");
}

static void a_folder_that_leads_away_is_not_followed(void **state)
{
	struct recording *recording;
	int ret;

	(void)state;
	build_vbs(2, true);
	made_make_dir(made_path("d3"));
	assert_int_equal(symlink(made_path("d1/scan"), made_path("d3/scan")), 0);
	ret = recording_open(&recording,
			     &(struct recording_query){ .recording = made_path("d3/scan") });
	assert_true(ret < 0);
	assert_non_null(strstr(recording_error(recording), "symbolic link"));
	recording_free(recording);
}

static void a_journal_alone_does_not_make_other_places_be_read(void **state)
{
	const char *const targets[] = { made_path("d1"), made_path("home"), "../../home", "/etc" };
	const char *journal = made_path("d1/scan.vsib.jsonl");
	const struct recording_missing *missing;
	struct recording *recording;
	size_t count;

	(void)state;
	made_make_dir(made_path("d1"));
	made_make_dir(made_path("home"));
	made_write_samples(made_path("home/secret"), 0, 100, 0);
	say_start(journal, "raw", 100, 4, targets);
	say_segment(journal, 1, "secret", 0, 0, 100);
	say_segment(journal, 2, "secret", 0, 100, 100);
	say_segment(journal, 3, "passwd", 0, 200, 100);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_stream(recording, 0), 0);
	missing = recording_missing(recording, &count);
	assert_int_equal(count, 3);
	assert_string_equal(missing[2].target, "/etc");
	recording_free(recording);
}

static void start_lines_that_mean_harm_are_refused(void **state)
{
	static const char *const starts[] = {
		"{\"type\":\"start\",\"schema\":\"vsib-journal/1\",\"name\":\"../scan\"}\n",
		"{\"type\":\"start\",\"schema\":\"vsib-journal/1\",\"name\":\"\"}\n",
		"{\"type\":\"start\",\"schema\":\"vsib-journal/1\"}\n",
		"{\"type\":\"start\",\"schema\":\"vsib-journal/2\",\"name\":\"scan\"}\n",
		"{\"type\":\"segment\",\"schema\":\"vsib-journal/1\",\"name\":\"scan\"}\n",
		"[]\n",
		"null\n",
		"\n",
		"",
		"\"\n",
	};
	const char *journal = made_path("d1/x.jsonl");

	(void)state;
	made_make_dir(made_path("d1"));
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		made_write(journal, starts[i], strlen(starts[i]));
		open_fails(&(struct recording_query){ .recording = journal }, -EBADMSG, "not used");
	}
	made_write(journal, "", 0);
	made_append(journal,
		    "{\"type\":\"start\",\"schema\":\"vsib-journal/1\",\"name\":\"scan\",\"targets\":{\"a\":1}}\n");
	made_append(journal,
		    "{\"type\":\"segment\",\"target\":0,\"file\":\"f\",\"file_offset\":0,\"bytes\":1,\"stream_offset\":0}\n");
	made_append(journal, "{\"type\":\"end\",\"stream_bytes\":0}\n");
	recording_free(open_ok(journal));
}

/*
 * Bytes changed at random: whatever it makes of them, it ends, and each byte of the stream comes
 * once.
 */
static void a_journal_with_random_damage_is_survived(void **state)
{
	const char *journal;
	char text[65536], damaged[65536];
	uint64_t random = 88172645463325252U;
	ssize_t len;
	int fd;

	(void)state;
	build_vbs(6, true);
	journal = made_path("d1/scan/scan.vsib.jsonl");
	unlink(made_path("d2/scan/scan.vsib.jsonl"));
	fd = open(journal, O_RDONLY);
	len = read(fd, text, sizeof(text));
	close(fd);
	assert_true(len > 0);
	for (int turn = 0; turn < 1500; turn++) {
		struct recording *recording;
		struct recording_piece piece;
		uint64_t position = 0;

		memcpy(damaged, text, (size_t)len);
		for (int i = 0; i <= turn % 5; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			damaged[random % (uint64_t)len] =
				turn % 2 ? (char)('0' + (random >> 40) % 10) : (char)(random >> 32);
		}
		made_write(made_path("d1/scan/scan.vsib.jsonl"), damaged, (size_t)len);
		if (recording_open(&recording, &(struct recording_query){
						       .recording = made_path("d1/scan") }) == 0)
			while (recording_next(recording, &piece) == 1) {
				assert_int_equal(piece.stream_offset, position);
				position += piece.bytes;
			}
		recording_free(recording);
	}
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, made_set_up, made_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(chunks_on_two_targets_come_in_the_order_of_the_stream),
		CASE(every_way_to_name_a_recording_finds_it),
		CASE(segments_out_of_order_in_the_journal_are_sorted),
		CASE(gaps_come_with_their_causes_and_the_end_line_tells_the_tail),
		CASE(data_count_more_than_a_gap_line_over_them),
		CASE(gaps_that_are_filled_lie_in_data),
		CASE(a_torn_last_line_is_ignored),
		CASE(a_whole_line_without_its_newline_is_torn_too),
		CASE(reading_stops_at_the_first_line_that_is_not_json),
		CASE(zeros_behind_the_last_line_are_ignored),
		CASE(the_longest_valid_journal_wins),
		CASE(an_empty_journal_beside_a_good_one_does_no_harm_but_is_said),
		CASE(two_recordings_of_one_name_are_trouble),
		CASE(a_target_of_another_recording_is_not_used),
		CASE(a_missing_piece_is_named_with_its_place_in_the_stream),
		CASE(of_a_short_file_what_is_there_is_given),
		CASE(a_file_longer_than_the_journal_says_gives_only_what_it_says),
		CASE(a_part_file_is_used_when_the_final_one_is_not_there),
		CASE(a_stale_part_file_on_another_target_is_not_taken_for_the_chunk),
		CASE(files_the_journal_does_not_name_are_named_and_not_used),
		CASE(a_chunk_rewritten_on_another_target_is_read_there),
		CASE(a_moved_target_is_found_when_it_is_named),
		CASE(targets_that_moved_together_are_found),
		CASE(chunks_collected_in_one_directory_are_found),
		CASE(equal_names_on_swapped_targets_are_told_apart_by_their_checksums),
		CASE(reading_can_begin_anywhere),
		CASE(the_pieces_themselves_are_recognised),
		CASE(more_files_than_may_be_open_are_read),
		CASE(without_a_journal_the_numbers_give_the_order),
		CASE(raw_files_and_a_single_one_are_found_by_name),
		CASE(missing_numbers_are_named_and_have_the_length_of_the_others),
		CASE(the_first_numbers_can_be_missing_too),
		CASE(missing_numbers_among_unequal_files_have_no_known_length),
		CASE(equal_numbers_with_equal_bytes_are_used_once),
		CASE(equal_numbers_with_different_bytes_are_trouble),
		CASE(part_files_without_a_journal_are_named_and_not_used),
		CASE(what_is_not_there_is_said),
		CASE(units_come_in_turn_and_a_short_last_one_is_fine),
		CASE(one_directory_is_a_plain_sequence),
		CASE(digits_may_follow_the_number_in_a_template),
		CASE(numbers_of_all_directories_together_are_understood),
		CASE(a_missing_file_leaves_its_units_open),
		CASE(a_directory_that_ends_early_is_said),
		CASE(plain_names_and_odd_templates),
		CASE(what_is_gathered_is_the_stream),
		CASE(gaps_are_closed_up_or_filled_with_the_pattern),
		CASE(a_bad_checksum_is_found_at_its_place),
		CASE(a_bad_piece_is_replaced_by_its_copy),
		CASE(a_piece_without_a_copy_is_missing_and_those_with_one_are_not),
		CASE(two_bad_copies_are_trouble_and_the_first_is_given),
		CASE(a_file_that_shrinks_meanwhile_leaves_a_gap),
		CASE(a_piece_larger_than_the_buffer_is_copied_whole),
		CASE(impossible_lines_are_left_out_and_said),
		CASE(huge_claims_are_gaps_not_memory),
		CASE(overlapping_segments_give_each_byte_once),
		CASE(a_line_of_any_length_is_survived),
		CASE(things_that_are_not_files_are_named_and_do_not_hang),
		CASE(a_journal_that_is_no_file_does_not_hang),
		CASE(a_folder_that_leads_away_is_not_followed),
		CASE(a_journal_alone_does_not_make_other_places_be_read),
		CASE(start_lines_that_mean_harm_are_refused),
		CASE(a_journal_with_random_damage_is_survived),
	};

	return cmocka_run_group_tests_name("recording", tests, NULL, NULL);
}
