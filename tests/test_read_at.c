/* SPDX-License-Identifier: BSD-2-Clause */
/* test_read_at.c - reading and comparing up to the end of a file, over it, and where nothing can be read */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/read_at.h"

#define FILE_BYTES ((size_t)3 << 20) /* more than is compared at a time */

static int make_file(size_t bytes)
{
	int fd = memfd_create("read_at", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	return fd;
}

static void put_byte(int fd, char byte, size_t at)
{
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
}

static void reading_ends_with_the_file(void **state)
{
	int fd = make_file(100);
	char buf[64];

	(void)state;
	put_byte(fd, 'x', 90);
	assert_int_equal(read_at(fd, buf, sizeof(buf), 80), 20);
	assert_int_equal(buf[10], 'x');
	assert_int_equal(read_at(fd, buf, sizeof(buf), 100), 0);
	assert_int_equal(read_whole_at(fd, buf, sizeof(buf), 36), 0);
	assert_int_equal(read_whole_at(fd, buf, sizeof(buf), 37), -ENODATA);
	close(fd);
}

static void what_cannot_be_read_is_told(void **state)
{
	int fds[2] = { make_file(100), open("/", O_RDONLY | O_CLOEXEC) };
	const uint64_t at[2] = { 0, 0 };
	uint64_t offset;
	char buf[64];

	(void)state;
	assert_true(fds[1] >= 0);
	assert_int_equal(read_at(fds[1], buf, sizeof(buf), 0), -EISDIR);
	assert_int_equal(read_whole_at(fds[1], buf, sizeof(buf), 0), -EISDIR);
	assert_int_equal(compare_at(fds, at, 100, &offset), -EISDIR);
	close(fds[0]);
	close(fds[1]);
}

static void the_first_difference_is_found(void **state)
{
	static const size_t places[] = { 0, ((size_t)1 << 20) - 1, (size_t)1 << 20, FILE_BYTES - 1 };
	int fds[2] = { make_file(FILE_BYTES), make_file(FILE_BYTES + 5) };
	const uint64_t at[2] = { 0, 5 };
	uint64_t offset;

	(void)state;
	assert_int_equal(compare_at(fds, at, FILE_BYTES, &offset), 1);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		put_byte(fds[1], 'x', 5 + places[i]);
		assert_int_equal(compare_at(fds, at, FILE_BYTES, &offset), 0);
		assert_int_equal(offset, places[i]);
		assert_int_equal(compare_at(fds, at, FILE_BYTES, NULL), 0);
		put_byte(fds[1], 0, 5 + places[i]);
	}
	close(fds[0]);
	close(fds[1]);
}

static void a_file_that_ends_before_is_not_equal(void **state)
{
	int fds[2] = { make_file(FILE_BYTES), make_file(FILE_BYTES - 1) };
	const uint64_t at[2] = { 0, 0 };
	uint64_t offset;

	(void)state;
	assert_int_equal(compare_at(fds, at, FILE_BYTES - 1, &offset), 1);
	assert_int_equal(compare_at(fds, at, FILE_BYTES, &offset), -ENODATA);
	assert_int_equal(compare_at((int[]){ fds[1], fds[0] }, at, FILE_BYTES, &offset), -ENODATA);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_ends_with_the_file),
		cmocka_unit_test(what_cannot_be_read_is_told),
		cmocka_unit_test(the_first_difference_is_found),
		cmocka_unit_test(a_file_that_ends_before_is_not_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
