/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recovery decides, and what it makes of recordings that were cut short: nothing that a
 * journal promises is lost, nothing of unclear origin is touched, and done twice it changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/made_recording.h"
#include "tools/check.h"
#include "tools/recover.h"
#include "tools/recover_plan.h"

#define CHUNK 5000

/*
 * ---- the plan of one file
 * ------------------------------------------------------------------------
 */

static struct recover_plan plan(struct recover_file file, bool is_complete)
{
	struct recover_plan plan;

	if (file.link_count == 0)
		file.link_count = 1;
	recover_plan_file(&plan, &file, is_complete);
	/* whatever the facts: promised bytes stay */
	if (file.is_listed)
		assert_false(plan.is_removed);
	if (plan.is_cut)
		assert_true(file.is_listed && file.bytes > file.promised_bytes);
	return plan;
}

static void a_file_as_long_as_promised_is_left_alone(void **state)
{
	struct recover_plan p = plan(
		(struct recover_file){
			.is_listed = true, .is_proven = true, .bytes = 10, .promised_bytes = 10 },
		true);

	(void)state;
	assert_false(p.is_cut || p.is_renamed || p.is_removed || p.kept);
}

static void a_longer_one_is_cut_when_it_is_surely_the_one(void **state)
{
	struct recover_file file = {
		.is_listed = true, .is_proven = true, .bytes = 20, .promised_bytes = 10
	};

	(void)state;
	assert_true(plan(file, true).is_cut);
	assert_false(plan(file, false).is_cut);
	assert_non_null(plan(file, false).kept);
	file.is_proven = false;
	assert_false(plan(file, true).is_cut);
	file.is_proven = true;
	file.link_count = 2;
	assert_false(plan(file, true).is_cut);
	assert_non_null(plan(file, true).kept);
}

static void a_shorter_one_is_never_touched(void **state)
{
	struct recover_file file = {
		.is_listed = true, .is_part = true, .is_proven = true, .bytes = 9, .promised_bytes = 10
	};
	struct recover_plan p = plan(file, true);

	(void)state;
	assert_false(p.is_cut || p.is_renamed || p.is_removed);
	assert_non_null(p.kept);
}

static void a_part_file_gets_its_name_once_its_tail_is_off(void **state)
{
	struct recover_file file = {
		.is_listed = true, .is_part = true, .is_proven = true, .bytes = 20, .promised_bytes = 10
	};

	(void)state;
	assert_true(plan(file, true).is_cut && plan(file, true).is_renamed);
	assert_false(plan(file, false).is_renamed);
	file.has_final = true;
	assert_true(plan(file, true).is_cut);
	assert_false(plan(file, true).is_renamed);
	assert_non_null(plan(file, true).kept);
	file.has_final = false;
	file.link_count = 2; /* the tail stays, so does the name */
	assert_false(plan(file, true).is_renamed);
}

static void what_nothing_is_promised_of_goes_only_when_it_is_surely_ours(void **state)
{
	const struct recover_file part = { .is_part = true, .is_of_name = true, .bytes = 20 };
	struct recover_file file = part;

	(void)state;
	assert_true(plan(file, true).is_removed);
	assert_false(plan(file, false).is_removed);
	file.is_of_name = false;
	assert_false(plan(file, true).is_removed);
	file = part;
	file.is_meant = true;
	assert_false(plan(file, true).is_removed);
	file = part;
	file.link_count = 2;
	assert_false(plan(file, true).is_removed);
	file = part;
	file.is_part = false; /* it was finished */
	assert_false(plan(file, true).is_removed);
	assert_non_null(plan(file, true).kept);
	file.is_endless = true; /* that never is */
	assert_true(plan(file, true).is_removed);
}

/* Every combination of facts: the promises of plan() hold. */
static void no_combination_of_facts_breaks_the_rules(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 512; bits++)
		for (uint64_t bytes = 9; bytes <= 11; bytes++) {
			struct recover_file file = {
				.is_listed = bits & 1,
				.is_part = bits & 2,
				.is_endless = bits & 4,
				.is_of_name = bits & 8,
				.is_meant = bits & 16,
				.is_proven = bits & 32,
				.has_final = bits & 64,
				.link_count = bits & 128 ? 2 : 1,
				.bytes = bytes,
				.promised_bytes = bits & 1 ? 10 : 0,
			};
			struct recover_plan p = plan(file, bits & 256);

			assert_false(p.is_renamed && (file.has_final || !file.is_part));
			assert_false((p.is_cut || p.is_removed || p.is_renamed) && !(bits & 256));
			assert_false(p.is_removed && !file.is_of_name);
		}
}

/*
 * ---- recordings
 * ----------------------------------------------------------------------------------
 */

struct said {
	unsigned count[RECOVER_FAILED + 1];
	char text[16384];
};

static void on_step(void *context, const struct recover_step *step)
{
	struct said *said = context;
	size_t len = strlen(said->text);

	said->count[step->what]++;
	snprintf(said->text + len, sizeof(said->text) - len, "%s %s/%s: %s\n",
		 recover_what_name(step->what), step->target, step->file,
		 step->reason ? step->reason : "");
}

static int recover_with(const char *path, struct recover_config config, struct said *said,
			struct recover_result *result)
{
	memset(said, 0, sizeof(*said));
	config.say = on_step;
	config.context = said;
	return recover_run(&(struct recording_query){ .recording = path }, &config, result);
}

static void recover_ok(const char *path, struct said *said)
{
	struct recover_result result;
	int ret = recover_with(path, (struct recover_config){ 0 }, said, &result);

	if (ret < 0 || result.failed_count)
		fail_msg("%d: %s\n%s", ret, result.error, said->text);
}

/* The second time nothing is to be done. */
static void recover_twice(const char *path, struct said *said)
{
	struct said again;

	recover_ok(path, said);
	recover_ok(path, &again);
	for (int what = 0; what <= RECOVER_FAILED; what++)
		if (what != RECOVER_KEPT)
			assert_int_equal(again.count[what], 0);
}

/* All is there and right, the totals come out, and it has an end. Return: bytes of the stream. */
static uint64_t check_whole(const char *path, uint64_t *gap_bytes)
{
	struct recording *recording;
	struct check_result result;
	const struct recording_info *info;
	uint64_t stream;

	assert_int_equal(recording_open(&recording, &(struct recording_query){ .recording = path }), 0);
	info = recording_info(recording);
	assert_true(info->has_end);
	assert_int_equal(check_run(recording, &(struct check_config){ 0 }, &result), 0);
	assert_int_equal(result.count[CHECK_GOOD], result.segment_count);
	assert_int_equal(check_account(info->history, NULL, NULL), 0);
	stream = info->stream_bytes;
	*gap_bytes = info->gap_bytes;
	check_free(&result);
	recording_free(recording);
	return stream;
}

static const char *begin_raw(uint64_t file_bytes, const char *name_template)
{
	const char *journal = made_path("d1/scan.vsib.jsonl");

	made_make_dir(made_path("d1"));
	made_start(journal, "raw", file_bytes, name_template, 1);
	return journal;
}

static void an_endless_file_is_cut_to_its_last_promised_byte(void **state)
{
	const char *journal = begin_raw(0, "scan.raw");
	struct said said;
	uint64_t gaps;

	(void)state;
	made_write_samples(made_path("d1/scan.raw"), 0, 2 * CHUNK + 10, 100000);
	made_segment(journal, 0, "scan.raw", 0, 0, CHUNK);
	made_segment(journal, 0, "scan.raw", CHUNK, CHUNK, CHUNK);
	made_append(journal, "{\"type\":\"segment\",\"targ"); /* torn */
	recover_twice(made_path("d1/scan"), &said);
	assert_int_equal(said.count[RECOVER_CUT], 1);
	assert_int_equal(said.count[RECOVER_JOURNAL], 1);
	assert_int_equal(made_length(made_path("d1/scan.raw")), 2 * CHUNK);
	assert_int_equal(check_whole(made_path("d1/scan"), &gaps), 2 * CHUNK);
	assert_int_equal(gaps, 0);
}

static void an_endless_file_with_nothing_promised_goes(void **state)
{
	struct said said;
	uint64_t gaps;

	(void)state;
	begin_raw(0, "scan.raw");
	made_write_samples(made_path("d1/scan.raw"), 0, CHUNK, 100000);
	recover_twice(made_path("d1/scan"), &said);
	assert_int_equal(made_length(made_path("d1/scan.raw")), -1);
	assert_int_equal(check_whole(made_path("d1/scan"), &gaps), 0);
}

static void part_files_get_their_names_or_go(void **state)
{
	const char *journal = begin_raw(2 * CHUNK, "scan.%06d");
	struct said said;
	uint64_t gaps;

	(void)state;
	made_write_samples(made_path("d1/scan.000000"), 0, 2 * CHUNK, 0);
	made_segment(journal, 0, "scan.000000", 0, 0, 2 * CHUNK);
	made_write_samples(made_path("d1/scan.000001.part"), 2 * CHUNK, CHUNK, CHUNK);
	made_segment(journal, 0, "scan.000001", 0, 2 * CHUNK, CHUNK);
	made_write_samples(made_path("d1/scan.000002.part"), 0, 0, 2 * CHUNK);
	made_write_samples(made_path("d1/scan.000003"), 0, CHUNK, 0); /* finished, but not promised */
	made_write_samples(made_path("d1/scan2.000000.part"), 0, CHUNK, 0); /* another recording's */
	recover_twice(made_path("d1/scan"), &said);
	assert_int_equal(made_length(made_path("d1/scan.000001")), CHUNK);
	assert_int_equal(made_length(made_path("d1/scan.000001.part")), -1);
	assert_int_equal(made_length(made_path("d1/scan.000002.part")), -1);
	assert_int_equal(made_length(made_path("d1/scan.000003")), CHUNK);
	assert_int_equal(made_length(made_path("d1/scan2.000000.part")), CHUNK);
	assert_int_equal(check_whole(made_path("d1/scan"), &gaps), 3 * CHUNK);
}

static void files_of_a_template_without_the_name_are_not_removed(void **state)
{
	const char *journal = begin_raw(CHUNK, "data%06d");
	struct said said;

	(void)state;
	made_write_samples(made_path("d1/data000000"), 0, CHUNK, 0);
	made_segment(journal, 0, "data000000", 0, 0, CHUNK);
	made_write_samples(made_path("d1/data000001.part"), CHUNK, CHUNK, 0);
	recover_twice(made_path("d1/scan"), &said);
	assert_int_equal(made_length(made_path("d1/data000001.part")), CHUNK);
	assert_non_null(strstr(said.text, "may belong to another recording"));
}

/* Two targets with two chunks each; the journal of the second lacks the last line. */
static void build_two(void)
{
	const char *journal = made_path("d1/scan/scan.vsib.jsonl");

	for (unsigned t = 1; t <= 2; t++) {
		made_make_dir(made_path("d%u", t));
		made_make_dir(made_path("d%u/scan", t));
	}
	made_start(journal, "vbs", CHUNK, "scan/scan.%08d", 2);
	for (unsigned i = 0; i < 4; i++) {
		made_write_samples(made_path("d%u/scan/scan.%08u", i % 2 + 1, i),
				   (uint64_t)i * CHUNK, CHUNK, 0);
		if (i == 3)
			made_copy(journal, made_path("d2/scan/scan.vsib.jsonl"));
		made_segment(journal, i % 2,
			     i == 0 ? "scan/scan.00000000" :
			     i == 1 ? "scan/scan.00000001" :
			     i == 2 ? "scan/scan.00000002" :
				      "scan/scan.00000003",
			     0, (uint64_t)i * CHUNK, CHUNK);
	}
}

static void assert_same_text(const char *a, const char *b)
{
	char *x = made_read(a), *y = made_read(b);

	assert_non_null(x);
	assert_non_null(y);
	assert_string_equal(x, y);
	free(x);
	free(y);
}

static void all_journals_become_the_longest_one_with_an_end(void **state)
{
	struct said said;
	uint64_t gaps;

	(void)state;
	build_two();
	recover_twice(made_path("d2/scan"), &said);
	assert_int_equal(said.count[RECOVER_JOURNAL], 2);
	assert_same_text(made_path("d1/scan/scan.vsib.jsonl"), made_path("d2/scan/scan.vsib.jsonl"));
	assert_int_equal(check_whole(made_path("d1/scan"), &gaps), 4 * CHUNK);
}

static void stretches_that_nobody_knows_of_become_gaps(void **state)
{
	const char *journal = begin_raw(0, "scan.raw");
	struct said said;
	uint64_t gaps;
	char *text;

	(void)state;
	made_write_samples(made_path("d1/scan.raw"), 0, CHUNK, 0);
	made_segment(journal, 0, "scan.raw", 0, 0, 1000);
	made_gap(journal, 1000, 10, "overflow");
	made_gap(journal, 1010, 20, "source");
	made_append(journal,
		    "{\"type\":\"segment\",\"target\":0,\"file\":\"scan.raw\",\"file_offset\":1000,\"bytes\":500,\"stream_offset\":3030}\n");
	recover_twice(made_path("d1/scan"), &said);
	text = made_read(journal);
	assert_non_null(strstr(text, "\"stream_offset\":1030,\"bytes\":2000,\"cause\":\"aborted\""));
	assert_non_null(strstr(text, "\"stream_bytes\":3530,\"received_bytes\":3510"));
	assert_non_null(strstr(text, "\"written_bytes\":1500,\"overflow_bytes\":10"));
	assert_non_null(strstr(text, "\"source_lost_bytes\":20"));
	assert_non_null(strstr(text, "\"aborted_bytes\":2000"));
	free(text);
	assert_int_equal(made_length(made_path("d1/scan.raw")), 1500);
	(void)gaps;
}

/* A clock line of the year 2318: what it says of the stream's length is not taken. */
static void a_clock_beyond_all_time_is_not_believed(void **state)
{
	const char *journal = begin_raw(0, "scan.raw");
	struct said said;
	uint64_t gaps;
	char *text, *end;

	(void)state;
	made_write_samples(made_path("d1/scan.raw"), 0, CHUNK, 0);
	made_segment(journal, 0, "scan.raw", 0, 0, CHUNK);
	made_append(journal,
		    "{\"type\":\"clock\",\"stream_offset\":0,\"utc\":\"2026-11-30T08:15:00.0Z\",\"monotonic_ns\":9223372036854775807}\n");
	recover_twice(made_path("d1/scan"), &said);
	text = made_read(journal);
	end = strstr(text, "\"type\":\"end\"");
	assert_non_null(end);
	assert_non_null(strstr(end, "\"utc\":\"20"));
	free(text);
	assert_int_equal(check_whole(made_path("d1/scan"), &gaps), CHUNK);
}

/* The fill of the first is safe; of the second, at the end, nothing is: it is lost like other bytes. */
static void fill_stays_and_is_told(void **state)
{
	const char *journal = begin_raw(0, "scan.raw");
	struct said said;
	char *text;

	(void)state;
	made_write_samples(made_path("d1/scan.raw"), 0, 1000, 0);
	made_filled_gap(journal, 500, 100);
	made_segment(journal, 0, "scan.raw", 0, 0, 1000);
	made_filled_gap(journal, 1100, 40);
	recover_twice(made_path("d1/scan"), &said);
	text = made_read(journal);
	assert_non_null(strstr(text, "\"stream_offset\":1000,\"bytes\":140,\"cause\":\"aborted\""));
	assert_non_null(strstr(text, "\"stream_bytes\":1140,\"received_bytes\":1000"));
	assert_non_null(strstr(text, "\"written_bytes\":1000"));
	assert_non_null(strstr(text, "\"source_lost_bytes\":140"));
	assert_non_null(strstr(text, "\"aborted_bytes\":140,\"filled_bytes\":140"));
	free(text);
}

static void rescued_pieces_survive(void **state)
{
	const char *journal;
	struct said said;
	uint64_t gaps;

	(void)state;
	build_two();
	journal = made_path("d1/scan/scan.vsib.jsonl");
	made_write_samples(made_path("d1/scan/scan.00000004.part"), 4 * CHUNK, 2000, 5000);
	made_segment(journal, 0, "scan/scan.00000004", 0, 4 * CHUNK, 2000);
	made_write_samples(made_path("d2/scan/scan.00000004@2000.part"), 4 * CHUNK + 2000, 3000, 96);
	made_segment(journal, 1, "scan/scan.00000004@2000", 0, 4 * CHUNK + 2000, 3000);
	made_write_samples(made_path("d2/scan/scan.00000005@0"), 5 * CHUNK, 700, 0);
	made_write_samples(made_path("d2/scan/scan.00000006@100.part"), 5 * CHUNK, 700, 0);
	recover_twice(made_path("d2/scan"), &said);
	assert_int_equal(made_length(made_path("d1/scan/scan.00000004")), 2000);
	assert_int_equal(made_length(made_path("d2/scan/scan.00000004@2000")), 3000);
	assert_int_equal(made_length(made_path("d2/scan/scan.00000005@0")), 700);
	assert_int_equal(made_length(made_path("d2/scan/scan.00000006@100.part")), -1);
	assert_int_equal(check_whole(made_path("d1/scan"), &gaps), 5 * CHUNK);
}

/* The start line says whether they are of this recording. */
static void left_overs_of_the_second_copy_go_as_well(void **state)
{
	const char *journal;
	struct said said;

	for (int has_second = 0; has_second < 2; has_second++) {
		if (has_second)
			assert_int_equal(made_tear_down(state) + made_set_up(state), 0);
		build_two();
		journal = made_path("d1/scan/scan.vsib.jsonl");
		if (has_second)
			made_say_copies(journal);
		made_copy(journal, made_path("d2/scan/scan.vsib.jsonl"));
		made_make_dir(made_path("d1/scan-copy"));
		made_write_samples(made_path("d1/scan-copy/scan-copy.00000009.part"), 0, CHUNK, 0);
		made_write_samples(made_path("d1/scan-copy/scan-copy.00000008"), 0, CHUNK, 0);
		made_write_samples(made_path("d1/scan-copy2.00000009.part"), 0, CHUNK, 0);
		recover_twice(made_path("d1/scan"), &said);
		assert_int_equal(made_length(made_path("d1/scan-copy/scan-copy.00000009.part")),
				 has_second ? -1 : CHUNK);
		assert_int_equal(made_length(made_path("d1/scan-copy/scan-copy.00000008")), CHUNK);
		assert_int_equal(made_length(made_path("d1/scan-copy2.00000009.part")), CHUNK);
		assert_int_equal(strstr(said.text, "scan-copy.00000008") != NULL, has_second);
	}
}

static void without_one_target_nothing_is_cut_or_removed(void **state)
{
	struct recover_result result;
	struct said said;

	(void)state;
	build_two();
	made_write_samples(made_path("d1/scan/scan.00000009.part"), 0, CHUNK, 0);
	made_write_samples(made_path("d1/scan/scan.00000000"), 0, CHUNK, 50);
	assert_int_equal(rename(made_path("d2"), made_path("away")), 0);
	recover_twice(made_path("d1/scan"), &said);
	assert_int_equal(made_length(made_path("d1/scan/scan.00000009.part")), CHUNK);
	assert_int_equal(made_length(made_path("d1/scan/scan.00000000")), CHUNK + 50);
	assert_int_equal(said.count[RECOVER_JOURNAL], 1);
	assert_int_equal(recover_with(made_path("d1/scan"),
				      (struct recover_config){ .is_missing_lost = true }, &said,
				      &result),
			 0);
	assert_int_equal(made_length(made_path("d1/scan/scan.00000009.part")), -1);
	assert_int_equal(made_length(made_path("d1/scan/scan.00000000")), CHUNK);
}

/* A copy of one target's journal is not the other's: with d1 and its backup, d2 is still missing. */
static void a_second_copy_of_one_target_is_not_the_missing_one(void **state)
{
	struct recover_result result;

	(void)state;
	build_two();
	made_write_samples(made_path("d1/scan/scan.00000009.part"), 0, CHUNK, 0);
	made_make_dir(made_path("backup"));
	made_make_dir(made_path("backup/scan"));
	made_copy(made_path("d1/scan/scan.vsib.jsonl"), made_path("backup/scan/scan.vsib.jsonl"));
	made_copy(made_path("d1/scan/scan.00000000"), made_path("backup/scan/scan.00000000"));
	assert_int_equal(rename(made_path("d2"), made_path("away")), 0);
	assert_int_equal(recover_run(
				 &(struct recording_query){
					 .recording = made_path("d1/scan"),
					 .targets = (const char *const[]){ made_path("backup") },
					 .target_count = 1 },
				 &(struct recover_config){ 0 }, &result),
			 0);
	assert_int_equal(made_length(made_path("d1/scan/scan.00000009.part")), CHUNK);
	/* moved, it is found by its files */
	assert_int_equal(recover_run(
				 &(struct recording_query){
					 .recording = made_path("d1/scan"),
					 .targets = (const char *const[]){ made_path("away") },
					 .target_count = 1 },
				 &(struct recover_config){ 0 }, &result),
			 0);
	assert_int_equal(made_length(made_path("d1/scan/scan.00000009.part")), -1);
}

/* d2 was recovered alone, when less was known; then d1 comes back with one line more. */
static void a_journal_that_knows_more_beats_an_earlier_recovery(void **state)
{
	struct said said;
	uint64_t gaps;

	(void)state;
	build_two();
	assert_int_equal(rename(made_path("d1"), made_path("away")), 0);
	recover_ok(made_path("d2/scan"), &said);
	assert_int_equal(rename(made_path("away"), made_path("d1")), 0);
	recover_twice(made_path("d2/scan"), &said);
	assert_same_text(made_path("d1/scan/scan.vsib.jsonl"), made_path("d2/scan/scan.vsib.jsonl"));
	assert_int_equal(check_whole(made_path("d1/scan"), &gaps), 4 * CHUNK);
	assert_int_equal(gaps, 0);
}

static void an_end_of_the_recorder_itself_is_kept(void **state)
{
	struct said said;
	char *before, *after;

	(void)state;
	build_two();
	made_end(made_path("d1/scan/scan.vsib.jsonl"), 4 * CHUNK);
	before = made_read(made_path("d1/scan/scan.vsib.jsonl"));
	recover_twice(made_path("d1/scan"), &said);
	after = made_read(made_path("d2/scan/scan.vsib.jsonl"));
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void an_empty_journal_is_written_and_a_strange_one_is_kept(void **state)
{
	struct said said;
	char *text;

	(void)state;
	build_two();
	made_write(made_path("d2/scan/scan.vsib.jsonl"), "", 0);
	recover_ok(made_path("d1/scan"), &said); /* d2 isn't known to belong to it */
	assert_int_equal(made_length(made_path("d2/scan/scan.vsib.jsonl")), 0);
	assert_int_equal(
		recover_run(&(struct recording_query){ .recording = made_path("d1/scan"),
						       .targets = (const char *const[]){ made_path("d2") },
						       .target_count = 1 },
			    &(struct recover_config){ 0 }, &(struct recover_result){ 0 }),
		0);
	assert_same_text(made_path("d1/scan/scan.vsib.jsonl"), made_path("d2/scan/scan.vsib.jsonl"));
	made_write(made_path("d2/scan/scan.vsib.jsonl"), "not one of ours\n", 16);
	assert_int_equal(
		recover_run(&(struct recording_query){ .recording = made_path("d1/scan"),
						       .targets = (const char *const[]){ made_path("d2") },
						       .target_count = 1 },
			    &(struct recover_config){ 0 }, &(struct recover_result){ 0 }),
		0);
	text = made_read(made_path("d2/scan/scan.vsib.jsonl"));
	assert_string_equal(text, "not one of ours\n");
	free(text);
}

static void contradicting_journals_change_nothing(void **state)
{
	struct recover_result result;
	struct said said;
	char *before, *after;

	(void)state;
	build_two();
	made_gap(made_path("d2/scan/scan.vsib.jsonl"), 3 * CHUNK, 7, "disk");
	before = made_read(made_path("d1/scan/scan.vsib.jsonl"));
	assert_int_equal(
		recover_with(made_path("d1/scan"), (struct recover_config){ 0 }, &said, &result),
		-EBADMSG);
	assert_non_null(strstr(result.error, "contradict"));
	after = made_read(made_path("d1/scan/scan.vsib.jsonl"));
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void a_wrong_checksum_is_kept(void **state)
{
	struct said said;

	(void)state;
	build_two();
	made_write_samples(made_path("d1/scan/scan.00000002"), 99, CHUNK, 20);
	recover_twice(made_path("d1/scan"), &said);
	assert_int_equal(made_length(made_path("d1/scan/scan.00000002")), CHUNK);
}

static void two_recoveries_at_once_are_refused(void **state)
{
	struct recover_result result;
	struct said said;
	int fd;

	(void)state;
	build_two();
	fd = open(made_path("d2"), O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(
		recover_with(made_path("d1/scan"), (struct recover_config){ 0 }, &said, &result),
		-EBUSY);
	assert_non_null(strstr(result.error, "another recovery"));
	close(fd);
	recover_ok(made_path("d1/scan"), &said);
}

static void a_file_that_somebody_writes_is_not_touched(void **state)
{
	struct recover_result result;
	struct said said;
	int fd;

	(void)state;
	build_two();
	made_write_samples(made_path("d2/scan/scan.00000009.part"), 0, CHUNK, 0);
	fd = open(made_path("d2/scan/scan.00000009.part"), O_WRONLY);
	if (recover_with(made_path("d1/scan"), (struct recover_config){ 0 }, &said, &result) == 0)
		skip(); /* no leases here */
	assert_int_equal(made_length(made_path("d2/scan/scan.00000009.part")), CHUNK);
	assert_int_equal(said.count[RECOVER_JOURNAL], 0);
	close(fd);
	recover_twice(made_path("d1/scan"), &said);
	assert_int_equal(made_length(made_path("d2/scan/scan.00000009.part")), -1);
}

static void a_dry_run_says_the_same_and_does_nothing(void **state)
{
	struct recover_result result;
	struct said dry, wet;
	char *before, *after;

	(void)state;
	build_two();
	made_write_samples(made_path("d1/scan/scan.00000004.part"), 0, CHUNK, 0);
	made_write_samples(made_path("d1/scan/scan.00000000"), 0, CHUNK, 50);
	before = made_read(made_path("d1/scan/scan.vsib.jsonl"));
	assert_int_equal(recover_with(made_path("d1/scan"),
				      (struct recover_config){ .is_dry = true }, &dry, &result),
			 0);
	after = made_read(made_path("d1/scan/scan.vsib.jsonl"));
	assert_string_equal(before, after);
	free(before);
	free(after);
	assert_int_equal(made_length(made_path("d1/scan/scan.00000004.part")), CHUNK);
	assert_int_equal(made_length(made_path("d1/scan/scan.00000000")), CHUNK + 50);
	recover_ok(made_path("d1/scan"), &wet);
	assert_string_equal(dry.text, wet.text);
}

/* Links below a target, and names that are none: nothing outside is touched, nothing hangs. */
static void things_that_are_not_files_are_left_alone(void **state)
{
	const char *journal = begin_raw(CHUNK, "scan.%06d");
	struct said said;

	(void)state;
	made_write_samples(made_path("secret"), 0, 3 * CHUNK, 0);
	assert_int_equal(symlink(made_path("secret"), made_path("d1/scan.000000")), 0);
	made_segment(journal, 0, "scan.000000", 0, 0, CHUNK);
	assert_int_equal(symlink(made_path("secret"), made_path("d1/scan.000001.part")), 0);
	assert_int_equal(mkfifo(made_path("d1/scan.000002.part"), 0644), 0);
	made_make_dir(made_path("d1/scan.000003.part"));
	assert_int_equal(symlink(made_path("secret"), made_path("d1/scan.vsib.jsonl.recovery")), 0);
	made_segment(journal, 0, "../secret", 0, CHUNK, CHUNK);
	recover_ok(made_path("d1/scan"), &said);
	assert_int_equal(made_length(made_path("secret")), 3 * CHUNK);
	assert_int_equal(access(made_path("d1/scan.000002.part"), F_OK), 0);
	assert_int_equal(access(made_path("d1/scan.000003.part"), F_OK), 0);
	assert_int_equal(access(made_path("d1/scan.000001.part"), F_OK), 0);
}

/*
 * Bytes of the journal changed at random: whatever it makes of them, the files stay as long as the
 * journal that was believed says.
 */
/* Of two targets one has lost its journal. It gets the other's, which doesn't know what was in its own. */
static void a_journal_that_a_recovery_wrote_does_not_stand_for_a_lost_one(void **state)
{
	const char *const targets[] = { made_path("d2") };
	const struct recording_query query = { .recording = made_path("d1/scan"),
					       .targets = targets,
					       .target_count = 1 };
	struct recover_result result;

	(void)state;
	build_two();
	made_write_samples(made_path("d2/scan/scan.00000009.part"), 0, CHUNK, 0);
	assert_int_equal(rename(made_path("d2/scan/scan.vsib.jsonl"), made_path("lost")), 0);
	made_write(made_path("d2/scan/scan.vsib.jsonl"), "", 0);
	for (int turn = 0; turn < 3; turn++) {
		assert_int_equal(recover_run(&query, &(struct recover_config){ 0 }, &result), 0);
		assert_int_equal(result.failed_count, 0);
		assert_same_text(made_path("d1/scan/scan.vsib.jsonl"),
				 made_path("d2/scan/scan.vsib.jsonl"));
		assert_int_equal(made_length(made_path("d2/scan/scan.00000009.part")), CHUNK);
	}
	/* its own comes back, and knows no more */
	assert_int_equal(rename(made_path("lost"), made_path("d2/scan/scan.vsib.jsonl")), 0);
	assert_int_equal(recover_run(&query, &(struct recover_config){ 0 }, &result), 0);
	assert_int_equal(made_length(made_path("d2/scan/scan.00000009.part")), -1);
}

/* The first recovery writes a whole journal; the next one must not take it for all that there ever was. */
static void what_a_damaged_journal_may_have_promised_is_kept_for_good(void **state)
{
	const char *journal = begin_raw(0, "scan.raw");
	struct recover_result result;
	struct said said;

	(void)state;
	made_write_samples(made_path("d1/scan.raw"), 0, CHUNK, 0);
	made_append(journal, "{\"type\":\"segment\",\"target\":0l\"file\":\"scan.raw\"\n");
	made_segment(journal, 0, "scan.raw", 0, 0, CHUNK);
	recover_twice(made_path("d1/scan"), &said);
	assert_int_equal(said.count[RECOVER_JOURNAL], 1);
	assert_int_equal(said.count[RECOVER_KEPT], 1);
	assert_int_equal(made_length(made_path("d1/scan.raw")), CHUNK);
	assert_int_equal(recover_with(made_path("d1/scan"),
				      (struct recover_config){ .is_missing_lost = true }, &said,
				      &result),
			 0);
	assert_int_equal(said.count[RECOVER_REMOVE], 1);
}

static void a_damaged_journal_never_costs_what_it_still_promises(void **state)
{
	uint64_t random = 88172645463325252U;
	char *text, *damaged;
	size_t len;

	(void)state;
	begin_raw(0, "scan.raw");
	for (unsigned i = 0; i < 4; i++)
		made_segment(made_path("d1/scan.vsib.jsonl"), 0, "scan.raw", i * 100, i * 100, 100);
	text = made_read(made_path("d1/scan.vsib.jsonl"));
	len = strlen(text);
	damaged = malloc(len);
	assert_non_null(damaged);
	for (int turn = 0; turn < 300; turn++) {
		struct recover_result result;
		struct recording *recording;
		struct said said;
		uint64_t promised = 0;

		memcpy(damaged, text, len);
		for (int i = 0; i <= turn % 3; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			damaged[random % len] =
				turn % 2 ? (char)('0' + (random >> 40) % 10) : (char)(random >> 32);
		}
		made_write(made_path("d1/scan.vsib.jsonl"), damaged, len);
		made_write_samples(made_path("d1/scan.raw"), 0, 400, 50);
		if (recording_open(&recording,
				   &(struct recording_query){ .recording = made_path("d1/scan") }) == 0 &&
		    recording_info(recording)->history) {
			const struct history *history = recording_info(recording)->history;

			for (size_t i = 0; i < history->segment_count; i++)
				if (strcmp(history->files[history->segments[i].file]->name,
					   "scan.raw") == 0 &&
				    history->segments[i].file_offset + history->segments[i].bytes >
					    promised)
					promised = history->segments[i].file_offset +
						   history->segments[i].bytes;
		}
		recording_free(recording);
		recover_with(made_path("d1/scan"), (struct recover_config){ 0 }, &said, &result);
		if (promised > 450)
			promised = 450;
		if (made_length(made_path("d1/scan.raw")) < (int64_t)promised)
			fail_msg("%.*s", (int)len, damaged);
		for (int i = -1; i < 100; i++)
			if (unlink(i < 0 ? made_path("d1/scan.vsib.jsonl.damaged") :
					   made_path("d1/scan.vsib.jsonl.damaged.%d", i)) < 0 &&
			    i > 0)
				break;
	}
	free(damaged);
	free(text);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, made_set_up, made_tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_as_long_as_promised_is_left_alone),
		cmocka_unit_test(a_longer_one_is_cut_when_it_is_surely_the_one),
		cmocka_unit_test(a_shorter_one_is_never_touched),
		cmocka_unit_test(a_part_file_gets_its_name_once_its_tail_is_off),
		cmocka_unit_test(what_nothing_is_promised_of_goes_only_when_it_is_surely_ours),
		cmocka_unit_test(no_combination_of_facts_breaks_the_rules),
		CASE(an_endless_file_is_cut_to_its_last_promised_byte),
		CASE(an_endless_file_with_nothing_promised_goes),
		CASE(part_files_get_their_names_or_go),
		CASE(files_of_a_template_without_the_name_are_not_removed),
		CASE(all_journals_become_the_longest_one_with_an_end),
		CASE(stretches_that_nobody_knows_of_become_gaps),
		CASE(a_clock_beyond_all_time_is_not_believed),
		CASE(fill_stays_and_is_told),
		CASE(rescued_pieces_survive),
		CASE(left_overs_of_the_second_copy_go_as_well),
		CASE(without_one_target_nothing_is_cut_or_removed),
		CASE(a_second_copy_of_one_target_is_not_the_missing_one),
		CASE(a_journal_that_knows_more_beats_an_earlier_recovery),
		CASE(an_end_of_the_recorder_itself_is_kept),
		CASE(an_empty_journal_is_written_and_a_strange_one_is_kept),
		CASE(contradicting_journals_change_nothing),
		CASE(a_wrong_checksum_is_kept),
		CASE(two_recoveries_at_once_are_refused),
		CASE(a_file_that_somebody_writes_is_not_touched),
		CASE(a_dry_run_says_the_same_and_does_nothing),
		CASE(things_that_are_not_files_are_left_alone),
		CASE(a_journal_that_a_recovery_wrote_does_not_stand_for_a_lost_one),
		CASE(what_a_damaged_journal_may_have_promised_is_kept_for_good),
		CASE(a_damaged_journal_never_costs_what_it_still_promises),
	};

	return cmocka_run_group_tests_name("recover", tests, NULL, NULL);
}
