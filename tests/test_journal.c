/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/journal.h"
#include "tests/scratch.h"

#define COPIES 3

static char folder[64];
static int dir_fd = -1;
static struct journal *journal;

static const char *file_of(unsigned copy)
{
	static char name[32];

	snprintf(name, sizeof(name), "%u" JOURNAL_SUFFIX, copy);
	return name;
}

static void begin(unsigned copies)
{
	assert_int_equal(journal_create(&journal, copies), 0);
	for (unsigned i = 0; i < copies; i++)
		assert_int_equal(journal_open(journal, i, dir_fd, file_of(i)), 0);
}

static int setup(void **state)
{
	(void)state;
	if (scratch_make(folder, sizeof(folder), NULL) < 0)
		return -1;
	dir_fd = open(folder, O_RDONLY | O_DIRECTORY);
	return dir_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	journal_free(journal);
	journal = NULL;
	close(dir_fd);
	return scratch_remove(folder);
}

/* The copy's text, without end of string in @len. */
static char *read_copy(unsigned copy, size_t *len)
{
	int fd = openat(dir_fd, file_of(copy), O_RDONLY);
	struct stat st;
	char *text;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
	close(fd);
	*len = (size_t)st.st_size;
	return text;
}

/* All whole lines as an array; each must parse. */
static json_t *read_lines(unsigned copy)
{
	size_t len;
	char *text = read_copy(copy, &len), *line = text, *end;
	json_t *lines = json_array();

	while ((end = strchr(line, '\n')) != NULL) {
		json_t *object = json_loadb(line, (size_t)(end - line), 0, NULL);

		assert_non_null(object);
		json_array_append_new(lines, object);
		line = end + 1;
	}
	free(text);
	return lines;
}

static void flush_all(unsigned copies)
{
	for (unsigned i = 0; i < copies; i++)
		assert_int_equal(journal_flush(journal, i), 0);
}

static const char *text_at(const json_t *lines, size_t index, const char *key)
{
	return json_string_value(json_object_get(json_array_get(lines, index), key));
}

static json_int_t number_at(const json_t *lines, size_t index, const char *key)
{
	return json_integer_value(json_object_get(json_array_get(lines, index), key));
}

/* ---- lines ---- */

static void every_kind_of_line_is_as_promised(void **state)
{
	struct journal_segment segment = { .target = 1,
					   .file = "scan/scan.00000003",
					   .file_offset = 4096,
					   .bytes = 8192,
					   .stream_offset = UINT64_C(0x7fffffffffffffff),
					   .xxh3 = 0xabc,
					   .has_xxh3 = true,
					   .utc_ns = 5 };
	json_t *lines;

	(void)state;
	begin(1);
	journal_say(journal, json_pack("{ss ss}", "type", "start", "schema", JOURNAL_SCHEMA));
	journal_say_segment(journal, &segment);
	segment.has_xxh3 = false;
	journal_say_segment(journal, &segment);
	journal_say_gap(journal, &(struct journal_gap){ 100, 50, "overflow", 1, false, false });
	journal_say_gap(journal, &(struct journal_gap){ 100, 50, "source", 1, true, true });
	journal_say_event(journal, "disk-failed", "it said \"no\"\n", 2, 1000000001);
	journal_say_event(journal, "clock-step", "by 1 s", -1, 0);
	flush_all(1);
	lines = read_lines(0);
	assert_int_equal(json_array_size(lines), 7);
	assert_string_equal(text_at(lines, 0, "type"), "start");
	assert_string_equal(text_at(lines, 1, "type"), "segment");
	assert_string_equal(text_at(lines, 1, "file"), "scan/scan.00000003");
	assert_string_equal(text_at(lines, 1, "xxh3"), "0000000000000abc");
	assert_string_equal(text_at(lines, 1, "utc"), "1970-01-01T00:00:00.000000005Z");
	assert_int_equal(number_at(lines, 1, "target"), 1);
	assert_int_equal(number_at(lines, 1, "file_offset"), 4096);
	assert_int_equal(number_at(lines, 1, "bytes"), 8192);
	assert_true(number_at(lines, 1, "stream_offset") == INT64_MAX);
	assert_null(text_at(lines, 2, "xxh3"));
	assert_string_equal(text_at(lines, 3, "cause"), "overflow");
	assert_null(json_object_get(json_array_get(lines, 3), "estimated"));
	assert_null(json_object_get(json_array_get(lines, 3), "filled"));
	assert_true(json_is_true(json_object_get(json_array_get(lines, 4), "estimated")));
	assert_true(json_is_true(json_object_get(json_array_get(lines, 4), "filled")));
	assert_string_equal(text_at(lines, 5, "text"), "it said \"no\"\n");
	assert_int_equal(number_at(lines, 5, "target"), 2);
	assert_string_equal(text_at(lines, 5, "utc"), "1970-01-01T00:00:01.000000001Z");
	assert_null(json_object_get(json_array_get(lines, 6), "target"));
	json_decref(lines);
}

static void text_that_is_not_utf8_loses_no_line(void **state)
{
	json_t *lines;

	(void)state;
	begin(1);
	journal_say_event(journal, "disk-failed",
			  "/mnt/Me\xdf"
			  "daten: gone",
			  0, 0);
	journal_say(journal, NULL); /* no memory for a line: nothing happens */
	flush_all(1);
	lines = read_lines(0);
	assert_int_equal(json_array_size(lines), 1);
	assert_string_equal(text_at(lines, 0, "text"), "/mnt/Me?daten: gone");
	json_decref(lines);
}

static void all_copies_have_all_lines_whenever_they_are_flushed(void **state)
{
	char *texts[COPIES];
	size_t lens[COPIES];

	(void)state;
	begin(COPIES);
	for (int i = 0; i < 5000;
	     i++) { /* some 500 KB: many pieces of the buffer, lines across their borders */
		journal_say_gap(journal,
				&(struct journal_gap){ (uint64_t)i, 1, "source", i, false, false });
		if (i % 100 == 0)
			assert_int_equal(journal_flush(journal, 0), 0);
		if (i == 3000)
			assert_int_equal(journal_flush(journal, 1), 0);
	}
	flush_all(COPIES);
	for (unsigned i = 0; i < COPIES; i++) {
		json_t *lines = read_lines(i);

		assert_int_equal(json_array_size(lines), 5000);
		assert_int_equal(number_at(lines, 4999, "stream_offset"), 4999);
		json_decref(lines);
		texts[i] = read_copy(i, &lens[i]);
		assert_int_equal(lens[i], lens[0]);
		assert_memory_equal(texts[i], texts[0], lens[0]);
	}
	for (unsigned i = 0; i < COPIES; i++)
		free(texts[i]);
}

static void a_line_longer_than_a_piece_of_the_buffer_is_whole(void **state)
{
	size_t len = 300000;
	char *text = calloc(1, len + 1);
	json_t *lines;

	(void)state;
	begin(2);
	memset(text, 'x', len);
	journal_say_event(journal, "long", text, -1, 0);
	journal_say_event(journal, "short", "", -1, 0);
	flush_all(2);
	lines = read_lines(1);
	assert_int_equal(json_array_size(lines), 2);
	assert_string_equal(text_at(lines, 0, "text"), text);
	json_decref(lines);
	free(text);
}

static void a_journal_never_goes_into_a_file_that_is_there(void **state)
{
	(void)state;
	begin(1);
	assert_int_equal(journal_open(journal, 0, dir_fd, file_of(0)), -EEXIST);
	assert_int_equal(journal_open(journal, 0, dir_fd, "nowhere/x"), -ENOENT);
}

/* ---- disks that fail ---- */

/* The descriptor behind a copy; the journal does not tell, the kernel does. */
static int descriptor_of(unsigned copy)
{
	char wanted[128], path[64], found[128];

	snprintf(wanted, sizeof(wanted), "%s/%s", folder, file_of(copy));
	for (int fd = 3; fd < 1024; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, found, sizeof(found) - 1);
		if (len > 0) {
			found[len] = '\0';
			if (strcmp(found, wanted) == 0)
				return fd;
		}
	}
	return -1;
}

static void a_copy_that_fails_is_an_event_in_the_others(void **state)
{
	int full = open("/dev/full", O_WRONLY), fd;
	json_t *lines;

	(void)state;
	begin(COPIES);
	journal_say_event(journal, "one", "", -1, 0);
	flush_all(COPIES);
	fd = descriptor_of(1);
	assert_true(fd >= 0 && full >= 0);
	assert_true(dup2(full, fd) >= 0);
	journal_say_event(journal, "two", "", -1, 0);
	assert_int_equal(journal_flush(journal, 1), -ENOSPC);
	assert_int_equal(journal_flush(journal, 1), -EBADF); /* for good */
	journal_say_event(journal, "three", "", -1, 0);
	assert_int_equal(journal_flush(journal, 0), 0);
	assert_int_equal(journal_flush(journal, 2), 0);
	lines = read_lines(0);
	assert_int_equal(json_array_size(lines), 4);
	assert_string_equal(text_at(lines, 2, "event"), "journal-failed");
	assert_int_equal(number_at(lines, 2, "target"), 1);
	assert_non_null(strstr(text_at(lines, 2, "text"), strerror(ENOSPC)));
	assert_string_equal(text_at(lines, 3, "event"), "three");
	json_decref(lines);
	lines = read_lines(1); /* what it had before stays */
	assert_int_equal(json_array_size(lines), 1);
	json_decref(lines);
	close(full);
}

/* A full disk takes a part of a line: what stands before it can be read, and nothing is written behind it. */
static void a_torn_line_is_the_last_one(void **state)
{
	struct rlimit old, limit;
	json_t *lines;
	char *text;
	size_t len;

	(void)state;
	begin(1);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 1000;
	for (int i = 0; i < 50; i++)
		journal_say_event(journal, "line", "some text", i, i);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(journal_flush(journal, 0), -EFBIG);
	journal_say_event(journal, "later", "", -1, 0);
	assert_int_equal(journal_flush(journal, 0), -EBADF);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	text = read_copy(0, &len);
	assert_int_equal(len, 1000);
	assert_int_not_equal(text[999], '\n');
	free(text);
	lines = read_lines(0); /* asserts that each whole line parses */
	assert_in_range(json_array_size(lines), 5, 49);
	for (size_t i = 0; i < json_array_size(lines); i++)
		assert_int_equal(number_at(lines, i, "target"), i);
	json_decref(lines);
}

/* ---- threads ---- */

#define SPEAKERS 4
#define LINES 2000

static _Atomic unsigned speaking;
static _Atomic unsigned flush_errors;

static void *speak(void *arg)
{
	int who = *(int *)arg;

	for (int i = 0; i < LINES; i++)
		journal_say_event(journal, "word", "from one of several", who, i);
	atomic_fetch_sub(&speaking, 1);
	return NULL;
}

static void *keep(void *arg)
{
	unsigned copy = *(unsigned *)arg;
	bool is_last;

	do {
		is_last = atomic_load(&speaking) == 0;
		if (journal_flush(journal, copy) < 0)
			atomic_fetch_add(&flush_errors, 1);
	} while (!is_last);
	return NULL;
}

static void nothing_stands_behind_the_end(void **state)
{
	json_t *lines;

	(void)state;
	begin(1);
	journal_say_event(journal, "before", "a word", -1, 0);
	journal_end(journal, json_pack("{ss}", "type", "end"));
	journal_say_event(journal, "behind", "a late word", -1, 0);
	flush_all(1);
	lines = read_lines(0);
	assert_int_equal(json_array_size(lines), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(lines, 1), "type")),
			    "end");
	json_decref(lines);
}

static void lines_of_many_threads_are_whole_in_every_copy(void **state)
{
	pthread_t speakers[SPEAKERS], keepers[COPIES];
	int who[SPEAKERS];
	unsigned copies[COPIES];

	(void)state;
	begin(COPIES);
	speaking = SPEAKERS;
	for (int i = 0; i < SPEAKERS; i++) {
		who[i] = i;
		assert_int_equal(pthread_create(&speakers[i], NULL, speak, &who[i]), 0);
	}
	for (unsigned i = 0; i < COPIES; i++) {
		copies[i] = i;
		assert_int_equal(pthread_create(&keepers[i], NULL, keep, &copies[i]), 0);
	}
	for (int i = 0; i < SPEAKERS; i++)
		pthread_join(speakers[i], NULL);
	for (unsigned i = 0; i < COPIES; i++)
		pthread_join(keepers[i], NULL);
	assert_int_equal(flush_errors, 0);
	for (unsigned i = 0; i < COPIES; i++) {
		json_t *lines = read_lines(i);
		char utc[SPEAKERS][64] = { "" };

		assert_int_equal(json_array_size(lines), SPEAKERS * LINES);
		for (size_t k = 0; k < json_array_size(lines);
		     k++) { /* each one's own lines are in its order */
			json_int_t target = number_at(lines, k, "target");

			assert_true(strcmp(utc[target], text_at(lines, k, "utc")) < 0);
			strcpy(utc[target], text_at(lines, k, "utc"));
		}
		json_decref(lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_kind_of_line_is_as_promised, setup, teardown),
		cmocka_unit_test_setup_teardown(text_that_is_not_utf8_loses_no_line, setup, teardown),
		cmocka_unit_test_setup_teardown(all_copies_have_all_lines_whenever_they_are_flushed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_line_longer_than_a_piece_of_the_buffer_is_whole,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_journal_never_goes_into_a_file_that_is_there,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_copy_that_fails_is_an_event_in_the_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nothing_stands_behind_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(a_torn_line_is_the_last_one, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_of_many_threads_are_whole_in_every_copy,
						setup, teardown),
	};

	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
