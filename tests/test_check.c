/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Are recordings made by hand read whole, is every kind of damage found where it is, and do the
 * journals' totals and the journals among each other agree?
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/made_recording.h"
#include "tools/busy.h"
#include "tools/check.h"
#include "tools/journals.h"

#define CHUNK 5000

static struct recording *open_ok(const char *path)
{
	struct recording *recording;

	if (recording_open(&recording, &(struct recording_query){ .recording = path }) < 0)
		fail_msg("%s: %s", path, recording_error(recording));
	return recording;
}

static void run(const struct recording *recording, struct check_result *result)
{
	assert_int_equal(check_run(recording, &(struct check_config){ 0 }, result), 0);
}

/* d1 ... d3 with the chunks of scan in turn, and the same journal in each. */
static void build(unsigned chunks, bool has_end)
{
	const char *journal = made_path("d1/scan/scan.vsib.jsonl");
	char file[64];

	for (unsigned t = 1; t <= 3; t++) {
		made_make_dir(made_path("d%u", t));
		made_make_dir(made_path("d%u/scan", t));
	}
	made_start(journal, "vbs", CHUNK, "scan/scan.%08d", 3);
	for (unsigned i = 0; i < chunks; i++) {
		snprintf(file, sizeof(file), "scan/scan.%08u", i);
		made_write_samples(made_path("d%u/%s", i % 3 + 1, file), i * CHUNK, CHUNK, 0);
		made_segment(journal, i % 3, file, 0, i * CHUNK, CHUNK);
	}
	if (has_end)
		made_end(journal, chunks * CHUNK);
	for (unsigned t = 2; t <= 3; t++)
		made_copy(journal, made_path("d%u/scan/scan.vsib.jsonl", t));
}

static void change_byte(const char *path, off_t offset)
{
	unsigned char byte;
	int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
	close(fd);
}

/*
 * ---- the bytes
 * -----------------------------------------------------------------------------------
 */

static void every_byte_of_every_target_is_verified(void **state)
{
	struct check_result result;
	struct recording *recording;

	(void)state;
	build(20, true);
	recording = open_ok(made_path("d2/scan"));
	run(recording, &result);
	assert_int_equal(result.segment_count, 20);
	assert_int_equal(result.count[CHECK_GOOD], 20);
	assert_int_equal(result.verified_bytes, 20 * CHUNK);
	assert_int_equal(result.read_bytes, 20 * CHUNK);
	check_free(&result);
	recording_free(recording);
}

static void each_damage_is_found_in_its_segment_only(void **state)
{
	struct check_result result;
	struct recording *recording;

	(void)state;
	build(9, true);
	change_byte(made_path("d1/scan/scan.00000003"), 0);
	change_byte(made_path("d3/scan/scan.00000008"), CHUNK - 1);
	unlink(made_path("d2/scan/scan.00000004"));
	assert_int_equal(truncate(made_path("d2/scan/scan.00000001"), CHUNK - 1), 0);
	recording = open_ok(made_path("d1/scan"));
	run(recording, &result);
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(result.segments[i].state, i == 3 || i == 8 ? CHECK_BAD :
							   i == 4 || i == 1 ? CHECK_MISSING :
									      CHECK_GOOD);
	assert_int_equal(result.verified_bytes, 5 * CHUNK);
	check_free(&result);
	recording_free(recording);
}

static void a_file_that_changes_after_opening_is_unreadable_not_good(void **state)
{
	struct check_result result;
	struct recording *recording;

	(void)state;
	build(6, true);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(truncate(made_path("d1/scan/scan.00000000"), 100), 0);
	unlink(made_path("d2/scan/scan.00000001"));
	unlink(made_path("d3/scan/scan.00000002"));
	made_write_samples(made_path("d3/scan/scan.00000002"), 2 * CHUNK, CHUNK, 0);
	run(recording, &result);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(result.segments[i].state, CHECK_UNREADABLE);
	assert_int_equal(result.count[CHECK_GOOD], 3);
	check_free(&result);
	recording_free(recording);
}

static void a_stop_leaves_segments_pending(void **state)
{
	atomic_int stop = 1;
	struct check_result result;
	struct recording *recording;

	(void)state;
	build(6, true);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(check_run(recording, &(struct check_config){ .stop = &stop }, &result),
			 -EINTR);
	assert_int_equal(result.count[CHECK_PENDING], 6);
	check_free(&result);
	recording_free(recording);
}

static void copies_are_verified_too_and_tell_the_first_byte_that_differs(void **state)
{
	const char *journal = made_path("d1/scan/scan.vsib.jsonl");
	struct check_result result;
	struct recording *recording;
	uint64_t offset = 0;

	(void)state;
	build(3, false);
	for (unsigned t = 2; t <= 3; t++)
		unlink(made_path("d%u/scan/scan.vsib.jsonl", t));
	made_write_samples(made_path("d1/scan/scan.00000001@0"), CHUNK, CHUNK, 0);
	made_segment(journal, 0, "scan/scan.00000001@0", 0, CHUNK, CHUNK);
	made_copy(journal, made_path("d2/scan/scan.vsib.jsonl"));
	made_copy(journal, made_path("d3/scan/scan.vsib.jsonl"));
	change_byte(made_path("d2/scan/scan.00000001"), 1234);
	recording = open_ok(made_path("d1/scan"));
	run(recording, &result);
	assert_int_equal(result.count[CHECK_GOOD], 3);
	assert_int_equal(result.count[CHECK_BAD], 1);
	for (size_t i = 0; i < result.segment_count; i++)
		if (result.segments[i].state == CHECK_BAD)
			assert_int_equal(check_difference(recording, &result, i, &offset), 0);
	assert_int_equal(offset, 1234);
	check_free(&result);
	recording_free(recording);
}

static void without_a_copy_a_bad_segment_is_not_narrowed_down(void **state)
{
	struct check_result result;
	struct recording *recording;
	uint64_t offset = 0;

	(void)state;
	build(3, true);
	change_byte(made_path("d2/scan/scan.00000001"), 1234);
	recording = open_ok(made_path("d1/scan"));
	run(recording, &result);
	assert_int_equal(check_difference(recording, &result, 1, &offset), -ENOENT);
	check_free(&result);
	recording_free(recording);
}

static void without_a_journal_there_is_nothing_to_compare(void **state)
{
	struct check_result result;
	struct recording *recording;

	(void)state;
	made_make_dir(made_path("d1"));
	made_write_samples(made_path("d1/scan.raw"), 0, CHUNK, 0);
	recording = open_ok(made_path("d1/scan"));
	run(recording, &result);
	assert_int_equal(result.segment_count, 0);
	check_free(&result);
	recording_free(recording);
}

/*
 * ---- the account
 * ---------------------------------------------------------------------------------
 */

static void keep_sentence(void *context, const char *sentence)
{
	char *all = context;

	strncat(all, sentence, 2000);
	strncat(all, "\n", 2);
}

static int account(char *sentences)
{
	struct recording *recording = open_ok(made_path("d1/scan"));
	int count;

	sentences[0] = '\0';
	count = check_account(recording_info(recording)->history, keep_sentence, sentences);
	recording_free(recording);
	return count;
}

static const char *begin_raw(void)
{
	const char *journal = made_path("d1/scan.vsib.jsonl");

	made_make_dir(made_path("d1"));
	made_start(journal, "raw", 0, "scan.raw", 1);
	made_write_samples(made_path("d1/scan.raw"), 0, 3 * CHUNK, 0);
	made_segment(journal, 0, "scan.raw", 0, 0, CHUNK);
	made_segment(journal, 0, "scan.raw", CHUNK, CHUNK, CHUNK);
	return journal;
}

static void totals_that_come_out_are_not_spoken_of(void **state)
{
	char sentences[8192];

	(void)state;
	made_end(begin_raw(), 2 * CHUNK);
	assert_int_equal(account(sentences), 0);
}

static void each_total_that_does_not_come_out_is_said(void **state)
{
	const char *journal = begin_raw();
	char sentences[8192];

	(void)state;
	made_gap(journal, 2 * CHUNK, 100, "overflow");
	made_end(journal, 2 * CHUNK);
	assert_int_equal(account(sentences), 2);
	assert_non_null(strstr(sentences, "overflow_bytes 0, the lines before it come to 100"));
	assert_non_null(strstr(sentences, "stream_bytes 10000, the lines before it come to 10100"));
}

static void holes_and_doubled_gaps_are_said(void **state)
{
	const char *journal = begin_raw();
	char sentences[8192];

	(void)state;
	made_gap(journal, 0, 10, "disk");
	made_segment(journal, 0, "scan.raw", 2 * CHUNK, 3 * CHUNK, CHUNK);
	made_end(journal, 4 * CHUNK);
	assert_true(account(sentences) > 2);
	assert_non_null(strstr(sentences, "5000 bytes of the stream are neither"));
	assert_non_null(strstr(sentences, "10 bytes of gaps are said of bytes that are there"));
}

static void an_end_line_that_contradicts_itself_is_said(void **state)
{
	const char *journal = begin_raw();
	char sentences[8192];

	(void)state;
	made_append(journal,
		    "{\"type\":\"end\",\"stream_bytes\":10000,\"received_bytes\":9000,\"source_lost_bytes\":0,\"written_bytes\":10000,\"overflow_bytes\":0,\"disk_lost_bytes\":0,\"discarded_bytes\":-7,\"aborted_bytes\":0}\n");
	assert_true(account(sentences) >= 2);
	assert_non_null(strstr(sentences, "is not received_bytes 9000 + source_lost_bytes 0"));
}

/* Within the stream it has gaps; behind its end it has none, and nobody looks for it. */
static void what_is_discarded_behind_the_end_is_no_gap(void **state)
{
	const char *journal = begin_raw();
	char sentences[8192];
	struct recording *recording;

	(void)state;
	made_gap(journal, 2 * CHUNK, 30, "source");
	made_gap(journal, 2 * CHUNK + 30, 70, "discarded");
	made_append(journal,
		    "{\"type\":\"end\",\"stream_bytes\":10104,\"received_bytes\":10074,\"source_lost_bytes\":30,\"written_bytes\":10000,\"overflow_bytes\":0,\"disk_lost_bytes\":0,\"discarded_bytes\":74,\"aborted_bytes\":0}\n");
	assert_int_equal(account(sentences), 0);
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(recording_info(recording)->stream_bytes, 2 * CHUNK + 100);
	recording_free(recording);
}

/* A journal with as many ends as gaps is read in the time of its length, and their sum is no number. */
static void any_number_of_ends_and_discarded_gaps_is_read(void **state)
{
	enum { LINES = 2000 };
	const char *journal = begin_raw();
	struct recording *recording;

	(void)state;
	for (int i = 0; i < LINES; i++)
		made_gap(journal, 2 * CHUNK, INT64_MAX - 2 * CHUNK, "discarded");
	for (int i = 0; i < LINES; i++)
		made_append(journal,
			    "{\"type\":\"end\",\"stream_bytes\":10104,\"discarded_bytes\":74}\n");
	recording = open_ok(made_path("d1/scan"));
	assert_int_equal(recording_info(recording)->history->end_bytes, 10104);
	recording_free(recording);
}

/* Fill is in segments, or lost like other bytes; what it stands for counts as lost by the source. */
static void a_gap_that_is_filled_is_in_segments_or_other_gaps(void **state)
{
	const char *journal = begin_raw();
	char sentences[8192];

	(void)state;
	made_filled_gap(journal, 1000, 30);
	made_filled_gap(journal, 2 * CHUNK - 10, 20);
	made_gap(journal, 2 * CHUNK, 15, "disk");
	made_append(journal,
		    "{\"type\":\"end\",\"stream_bytes\":10015,\"received_bytes\":9965,\"source_lost_bytes\":50,\"written_bytes\":10000,\"overflow_bytes\":0,\"disk_lost_bytes\":15,\"discarded_bytes\":0,\"aborted_bytes\":0,\"filled_bytes\":50}\n");
	assert_int_equal(account(sentences), 0);
}

static void fill_that_is_nowhere_is_said(void **state)
{
	const char *journal = begin_raw();
	char sentences[8192];

	(void)state;
	made_filled_gap(journal, 2 * CHUNK, 30);
	made_append(journal,
		    "{\"type\":\"end\",\"stream_bytes\":10030,\"received_bytes\":10000,\"source_lost_bytes\":30,\"written_bytes\":10000,\"overflow_bytes\":0,\"disk_lost_bytes\":0,\"discarded_bytes\":0,\"aborted_bytes\":0,\"filled_bytes\":20}\n");
	assert_int_equal(account(sentences), 3);
	assert_non_null(strstr(sentences, "30 bytes of the stream are neither"));
	assert_non_null(strstr(sentences, "filled_bytes 20, the lines before it come to 30"));
	assert_non_null(strstr(sentences, "received_bytes 10000 + filled_bytes 20 are not"));
}

static void totals_that_are_not_there_are_not_missed(void **state)
{
	const char *journal = begin_raw();
	char sentences[8192];

	(void)state;
	made_append(journal, "{\"type\":\"end\",\"stream_bytes\":10000}\n");
	assert_int_equal(account(sentences), 0);
}

/*
 * ---- journals beside each other
 * ------------------------------------------------------------------
 */

/* How the journal of d2 compares with that of the others, when its text is changed to @text. */
static struct journals_found compare_second(const char *text, size_t len)
{
	struct recording *recording;
	struct journals_found found = { .state = JOURNALS_UNREADABLE };

	made_write(made_path("d2/scan/scan.vsib.jsonl"), text, len);
	recording = open_ok(made_path("d1/scan"));
	for (size_t i = 0; i < recording_info(recording)->journal_count; i++)
		if (strstr(recording_info(recording)->journals[i], "/d2/"))
			assert_int_equal(journals_compare(recording, i, &found), 0);
	recording_free(recording);
	return found;
}

static void journals_are_told_apart(void **state)
{
	struct journals_found found;
	char *text, *changed;
	size_t len, whole;

	(void)state;
	build(6, true);
	text = made_read(made_path("d1/scan/scan.vsib.jsonl"));
	len = strlen(text);
	changed = calloc(len + 1000, 1);
	assert_non_null(changed);
	found = compare_second(text, len);
	assert_int_equal(found.state, JOURNALS_SAME);
	assert_false(found.is_torn);
	for (size_t cut = len - 1; cut > len - 300; cut--) { /* cut anywhere: shorter, or torn */
		for (whole = cut; text[whole - 1] != '\n'; whole--)
			;
		found = compare_second(text, cut);
		assert_int_equal(found.state, JOURNALS_SHORTER);
		assert_int_equal(found.common_bytes, whole);
		assert_int_equal(found.is_torn, whole != cut);
	}
	memcpy(changed, text, len);
	*strstr(changed, "\"file_offset\":0") = '\'';
	found = compare_second(changed, len);
	assert_int_equal(found.state, JOURNALS_DAMAGED);
	memcpy(changed, text, len);
	strchr(strstr(changed, "\"bytes\":5000"), '5')[0] = '4';
	found = compare_second(changed, len);
	assert_int_equal(found.state, JOURNALS_CONTRADICTS);
	memset(changed, 0, len + 1000);
	memcpy(changed, text, len - 400);
	found = compare_second(changed, len + 1000);
	assert_int_equal(found.state, JOURNALS_SHORTER);
	assert_true(found.is_torn);
	free(changed);
	free(text);
}

/*
 * ---- who writes
 * ----------------------------------------------------------------------------------
 */

static void a_file_that_is_open_for_writing_makes_it_busy(void **state)
{
	char why[512];
	struct recording *recording;
	int fd, probe;

	(void)state;
	build(3, false);
	recording = open_ok(made_path("d1/scan"));
	probe = open(made_path("d1/scan/scan.vsib.jsonl"), O_RDONLY);
	if (busy_file(probe) < 0)
		skip(); /* no leases here */
	close(probe);
	assert_int_equal(busy_recording(recording, why, sizeof(why)), 0);
	fd = open(made_path("d3/scan/scan.vsib.jsonl"), O_WRONLY | O_APPEND);
	assert_int_equal(busy_recording(recording, why, sizeof(why)), 1);
	assert_non_null(strstr(why, "d3/scan/scan.vsib.jsonl is open for writing"));
	close(fd);
	fd = open(made_path("d2/scan/scan.00000001"), O_RDWR);
	assert_int_equal(busy_recording(recording, why, sizeof(why)), 1);
	close(fd);
	fd = open(made_path("d2/scan/scan.00000001"), O_RDONLY);
	assert_int_equal(busy_recording(recording, why, sizeof(why)), 0);
	close(fd);
	recording_free(recording);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, made_set_up, made_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(every_byte_of_every_target_is_verified),
		CASE(each_damage_is_found_in_its_segment_only),
		CASE(a_file_that_changes_after_opening_is_unreadable_not_good),
		CASE(a_stop_leaves_segments_pending),
		CASE(copies_are_verified_too_and_tell_the_first_byte_that_differs),
		CASE(without_a_copy_a_bad_segment_is_not_narrowed_down),
		CASE(without_a_journal_there_is_nothing_to_compare),
		CASE(totals_that_come_out_are_not_spoken_of),
		CASE(each_total_that_does_not_come_out_is_said),
		CASE(holes_and_doubled_gaps_are_said),
		CASE(an_end_line_that_contradicts_itself_is_said),
		CASE(what_is_discarded_behind_the_end_is_no_gap),
		CASE(any_number_of_ends_and_discarded_gaps_is_read),
		CASE(a_gap_that_is_filled_is_in_segments_or_other_gaps),
		CASE(fill_that_is_nowhere_is_said),
		CASE(totals_that_are_not_there_are_not_missed),
		CASE(journals_are_told_apart),
		CASE(a_file_that_is_open_for_writing_makes_it_busy),
	};

	return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
