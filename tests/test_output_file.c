/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/scratch.h"
#include "tools/output_file.h"

#define MS INT64_C(1000000)
#define LONG_TEXT 1000000 /* more than a pipe takes */

static char folder[64], path[128];

static int setup(void **state)
{
	int ret = scratch_make(folder, sizeof(folder), NULL);

	(void)state;
	snprintf(path, sizeof(path), "%s/report", folder);
	return ret;
}

static int teardown(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

static void a_report_replaces_an_older_one_whole(void **state)
{
	char text[64] = "";
	FILE *f;

	(void)state;
	assert_int_equal(output_file_write("the older, longer one", path), 0);
	assert_int_equal(output_file_check(path), 0);
	assert_int_equal(output_file_write("new", path), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fread(text, 1, sizeof(text) - 1, f), 4);
	fclose(f);
	assert_string_equal(text, "new\n");
}

static void a_pipe_without_a_reader_holds_nobody_for_ever(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(output_file_check(path), 0);
	assert_int_equal(output_file_write_within("{}", path, 100 * MS), -ETIMEDOUT);
	assert_non_null(strstr(output_file_error(-ETIMEDOUT), "nobody has read"));
}

static void nor_does_a_reader_who_does_not_read(void **state)
{
	char *text = malloc(LONG_TEXT);
	int fd;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', LONG_TEXT - 1);
	text[LONG_TEXT - 1] = '\0';
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0);
	assert_int_equal(output_file_write_within(text, path, 100 * MS), -ETIMEDOUT);
	close(fd);
	free(text);
}

/* Comes late and reads slowly. */
static void *read_all(void *context)
{
	static char buf[4096];
	size_t *total = context;
	ssize_t n;
	int fd;

	usleep(100000);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return NULL;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		*total += (size_t)n;
		usleep(100);
	}
	close(fd);
	return NULL;
}

static void a_late_and_slow_reader_gets_all_of_it(void **state)
{
	char *text = malloc(LONG_TEXT);
	pthread_t reader;
	size_t total = 0;
	int ret;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', LONG_TEXT - 1);
	text[LONG_TEXT - 1] = '\0';
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_all, &total), 0);
	ret = output_file_write(text, path);
	pthread_join(reader, NULL);
	assert_int_equal(ret, 0);
	assert_int_equal(total, LONG_TEXT); /* with its newline */
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_report_replaces_an_older_one_whole),
		TEST(a_pipe_without_a_reader_holds_nobody_for_ever),
		TEST(nor_does_a_reader_who_does_not_read),
		TEST(a_late_and_slow_reader_gets_all_of_it),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("output_file", tests, NULL, NULL);
}
