/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_to_file.c - `null:`, `file:` and the standard output as destinations
 */
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
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/destination.h"
#include "drivers/sim.h"
#include "drivers/units.h"
#include "tests/scratch.h"

#define MS INT64_C(1000000)
#define BUF_BYTES ((size_t)4 << 20)
#define SEED 3
#define TMPFS_MAGIC 0x01021994

static unsigned char buf[BUF_BYTES];
static char folder[PATH_MAX];
static int kept_stdout = -1;

static int64_t in_ms(int64_t ms)
{
	return units_monotonic_ns() + ms * MS;
}

/* ---- the disk, which can be told to fail ----------------------------------------------------- */

static int sync_error, range_error; /* told once, as the kernel does */

static int fail_once(int *error)
{
	errno = *error;
	*error = 0;
	return -1;
}

int fdatasync(int fd)
{
	return sync_error ? fail_once(&sync_error) : (int)syscall(SYS_fdatasync, fd);
}

int sync_file_range(int fd, off_t offset, off_t bytes, unsigned flags)
{
	return range_error && flags & SYNC_FILE_RANGE_WAIT_AFTER ?
		       fail_once(&range_error) :
		       (int)syscall(SYS_sync_file_range, fd, offset, bytes, flags);
}

/* ---- helpers --------------------------------------------------------------------------------- */

static const char *path_of(const char *name)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int try_file(struct destination **destination, const char *name, bool is_force)
{
	struct destination_config config = { .is_force = is_force };
	char text[PATH_MAX + 80];

	snprintf(text, sizeof(text), "file:%s", path_of(name));
	return destination_open(destination, text, &config);
}

static struct destination *open_named(const char *name)
{
	struct destination *destination;

	if (destination_open(&destination, name, NULL) || destination_start(destination))
		fail_msg("%s", destination->error);
	assert_int_equal(destination->takes, DESTINATION_BYTES);
	return destination;
}

static struct destination *open_file(const char *name, bool is_force)
{
	struct destination *destination;

	if (try_file(&destination, name, is_force) || destination_start(destination))
		fail_msg("%s", destination->error);
	return destination;
}

/* The pattern from @from to @end, in pieces of up to @piece. */
static void play(struct destination *destination, uint64_t from, uint64_t end, size_t piece)
{
	while (from < end) {
		size_t len = end - from < piece ? (size_t)(end - from) : piece;
		ssize_t taken;

		sim_fill(buf, len, from, SEED);
		taken = destination_write(destination, buf, len, in_ms(10000));
		if (taken <= 0)
			fail_msg("%zd at %llu: %s", taken, (unsigned long long)from,
				 destination->error);
		from += (uint64_t)taken;
	}
}

static void finish(struct destination *destination)
{
	if (destination_finish(destination, in_ms(10000)))
		fail_msg("%s", destination->error);
	destination_close(destination);
}

/* The file holds the pattern from @skipped on, and ends with @bytes of it. */
static void check_file(const char *name, size_t skipped, uint64_t bytes)
{
	int fd = open(path_of(name), O_RDONLY);
	uint64_t position = 0;
	ssize_t got;

	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, (off_t)skipped, SEEK_SET), skipped);
	while ((got = read(fd, buf, sizeof(buf))) > 0) {
		assert_int_equal(sim_verify(buf, (size_t)got, position, SEED), got);
		position += (uint64_t)got;
	}
	close(fd);
	assert_int_equal(position, bytes);
}

/* ---- null: ----------------------------------------------------------------------------------- */

static void null_counts_and_does_nothing(void **state)
{
	struct destination *destination = open_named("null:");

	(void)state;
	/* memory that can't be read: nobody looks at it */
	assert_int_equal(destination_write(destination, (void *)16, SSIZE_MAX, 0), SSIZE_MAX);
	assert_int_equal(atomic_load(&destination->stats.sent_bytes), SSIZE_MAX);
	assert_false(destination->is_paced_by_device);
	finish(destination);
}

static void null_takes_packets_too(void **state)
{
	struct destination_config config = { .gives_packets = true };
	struct destination_unit units[] = { { .bytes = 60 }, { .bytes = 1500 } };
	struct destination *destination;

	(void)state;
	assert_int_equal(destination_open(&destination, "null:", &config), 0);
	assert_int_equal(destination->takes, DESTINATION_PACKETS);
	assert_int_equal(destination_send(destination, units, 2), 2);
	assert_int_equal(atomic_load(&destination->stats.sent_bytes), 1560);
	destination_close(destination);
}

/* ---- file: ----------------------------------------------------------------------------------- */

static void a_file_gets_exactly_the_bytes(void **state)
{
	struct destination *destination = open_file("exact", false);

	(void)state;
	play(destination, 0, 5000001, 70001);
	assert_int_equal(atomic_load(&destination->stats.sent_bytes), 5000001);
	finish(destination);
	check_file("exact", 0, 5000001);
}

static void a_file_that_is_there_is_kept_unless_forced(void **state)
{
	struct destination *destination;
	int fd;

	(void)state;
	play(destination = open_file("there", false), 0, 1000, 1000);
	finish(destination);
	assert_int_equal(try_file(&destination, "there", false), -EEXIST);
	assert_non_null(strstr(destination->error, "there is a file of this name"));
	destination_close(destination);
	check_file("there", 0, 1000);

	fd = open(path_of("there"), O_RDONLY);
	play(destination = open_file("there", true), 0, 77, 77);
	finish(destination);
	check_file("there", 0, 77);
	assert_int_equal(read(fd, buf, sizeof(buf)), 1000); /* who had it open still has the old one */
	close(fd);
}

static void an_unfinished_file_has_its_true_size(void **state)
{
	struct destination *destination = open_file("broken-off", false);

	(void)state;
	play(destination, 0, 12345, 5000);
	destination_close(destination);
	check_file("broken-off", 0, 12345);
}

static void refuse_path(const char *name, int error, const char *reason)
{
	struct destination *destination;

	assert_int_equal(try_file(&destination, name, true), -error);
	if (!strstr(destination->error, reason))
		fail_msg("%s lacks \"%s\"", destination->error, reason);
	destination_close(destination);
}

static void what_is_no_file_is_refused_and_left_alone(void **state)
{
	struct destination *destination;

	(void)state;
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	refuse_path("fifo", EINVAL, "use dev:");
	assert_int_equal(access(path_of("fifo"), F_OK), 0);
	refuse_path("", EISDIR, "is a directory");
	refuse_path("nowhere/file", ENOENT, "directory");
	assert_int_equal(destination_open(&destination, "file:/dev/null", NULL), -EINVAL);
	assert_non_null(strstr(destination->error, "use dev:/dev/null"));
	destination_close(destination);
}

static size_t cached_bytes(const char *name, size_t size)
{
	int fd = open(path_of(name), O_RDONLY);
	size_t pages = size / 4096, count = 0;
	unsigned char *is_there = malloc(pages);
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	assert_true(map != MAP_FAILED && is_there);
	assert_int_equal(mincore(map, size, is_there), 0);
	for (size_t i = 0; i < pages; i++)
		count += is_there[i] & 1;
	munmap(map, size);
	free(is_there);
	close(fd);
	return count * 4096;
}

static void a_long_file_leaves_little_in_the_page_cache(void **state)
{
	const size_t size = (size_t)96 << 20;
	struct destination *destination;
	struct statfs disk;

	(void)state;
	assert_int_equal(statfs(folder, &disk), 0);
	if (disk.f_type == TMPFS_MAGIC) {
		print_message("there is no disk behind %s\n", folder);
		skip();
	}
	destination = open_file("long", false);
	for (size_t done = 0; done < size; done += BUF_BYTES)
		assert_int_equal(destination_write(destination, buf, BUF_BYTES, in_ms(10000)),
				 BUF_BYTES);
	/* pages that somebody else is looking at just then may stay */
	assert_true(cached_bytes("long", size) <= (size_t)48 << 20);
	finish(destination);
	assert_int_equal(unlink(path_of("long")), 0);
}

static void an_error_of_a_sync_is_kept(void **state)
{
	struct destination *destination = open_file("lost", false);

	(void)state;
	play(destination, 0, 1000, 1000);
	sync_error = EIO;
	assert_int_equal(destination_finish(destination, in_ms(1000)), -EIO);
	assert_non_null(strstr(destination->error, "not safely on the disk"));
	assert_int_equal(destination_finish(destination, in_ms(1000)), -EIO);
	destination_close(destination);
}

static void an_error_of_writing_back_ends_it(void **state)
{
	struct destination *destination = open_file("lost-early", false);
	ssize_t taken = 1;

	(void)state;
	range_error = EIO;
	for (int i = 0; i < 16 && taken > 0; i++)
		taken = destination_write(destination, buf, BUF_BYTES, in_ms(10000));
	assert_int_equal(taken, -EIO);
	assert_int_equal(destination_finish(destination, in_ms(1000)), -EIO);
	destination_close(destination);
	assert_int_equal(unlink(path_of("lost-early")), 0);
}

/* ---- the standard output --------------------------------------------------------------------- */

static int keep_stdout(void **state)
{
	(void)state;
	fflush(stdout);
	kept_stdout = fcntl(1, F_DUPFD_CLOEXEC, 10);
	return kept_stdout < 0;
}

static int give_stdout_back(void **state)
{
	(void)state;
	fflush(stdout);
	dup2(kept_stdout, 1);
	close(kept_stdout);
	return 0;
}

static void become_stdout(int fd)
{
	assert_int_equal(dup2(fd, 1), 1);
	close(fd);
}

struct reader {
	int fd;
	uint64_t bytes, wrong_count;
};

static void *read_slowly(void *argument)
{
	static unsigned char data[50000];
	struct reader *reader = argument;
	ssize_t got;

	for (unsigned turn = 0; (got = read(reader->fd, data, sizeof(data))) > 0; turn++) {
		if (sim_verify(data, (size_t)got, reader->bytes, SEED) != (size_t)got)
			reader->wrong_count++;
		reader->bytes += (uint64_t)got;
		if (turn % 50 == 0)
			usleep(2000);
	}
	close(reader->fd);
	return NULL;
}

static void play_to_reader(int read_end, int write_end)
{
	struct reader reader = { .fd = read_end };
	int flags = fcntl(write_end, F_GETFL);
	struct destination *destination;
	pthread_t thread;

	become_stdout(write_end);
	destination = open_named("-");
	assert_true(destination->is_paced_by_device);
	assert_int_equal(fcntl(1, F_GETFL), flags); /* it is others', too */
	assert_int_equal(pthread_create(&thread, NULL, read_slowly, &reader), 0);
	play(destination, 0, 6000001, 700001);
	finish(destination);
	close(1);
	pthread_join(thread, NULL);
	assert_int_equal(reader.wrong_count, 0);
	assert_int_equal(reader.bytes, 6000001);
}

static void stdout_may_be_a_pipe(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	play_to_reader(ends[0], ends[1]);
}

static void stdout_may_be_a_pipe_that_does_not_block(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	fcntl(ends[0], F_SETFL, 0);
	play_to_reader(ends[0], ends[1]);
}

static void stdout_may_be_a_socket(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	play_to_reader(ends[0], ends[1]);
}

static void stdout_may_be_a_file_that_has_something_already(void **state)
{
	struct destination *destination;

	(void)state;
	for (int append = 0; append < 2; append++) {
		int fd = open(path_of("stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

		assert_int_equal(write(fd, "before", 6), 6);
		if (append) {
			close(fd);
			fd = open(path_of("stdout"), O_WRONLY | O_APPEND);
		}
		become_stdout(fd);
		destination = open_named("-");
		assert_false(destination->is_paced_by_device);
		play(destination, 0, 300001, 70001);
		finish(destination);
		check_file("stdout", 6, 300001);
	}
}

/* Until it takes no more. Return: how much that was. */
static uint64_t fill(struct destination *destination)
{
	uint64_t bytes = 0;
	ssize_t taken;

	while ((taken = destination_write(destination, buf, 65536, in_ms(20))) > 0)
		bytes += (uint64_t)taken;
	if (taken < 0)
		fail_msg("%s", destination->error);
	assert_true(atomic_load(&destination->stats.busy_count) > 0);
	return bytes;
}

static void a_full_pipe_is_waited_for_until_the_deadline(void **state)
{
	struct destination *destination;
	int64_t begin;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	become_stdout(ends[1]);
	destination = open_named("-");
	assert_int_equal(fill(destination), fcntl(1, F_GETPIPE_SZ));
	begin = units_monotonic_ns();
	assert_int_equal(destination_write(destination, buf, 1, begin + 30 * MS), 0);
	assert_true(units_monotonic_ns() - begin >= 30 * MS);
	assert_true(read(ends[0], buf, 8192) == 8192);
	assert_int_equal(fill(destination), 8192);
	destination_interrupt(destination);
	assert_int_equal(destination_write(destination, buf, 1, in_ms(60000)), 0);
	close(ends[0]);
	destination_close(destination);
}

static void a_terminal_that_was_stopped_does_not_keep_us(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct destination *destination;

	(void)state;
	if (master < 0 || grantpt(master) || unlockpt(master))
		skip();
	become_stdout(open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC));
	destination = open_named("-");
	assert_true(destination->device != 0);
	assert_true(fill(destination) > 0);
	assert_int_equal(fcntl(1, F_GETFL) & O_NONBLOCK, 0);
	destination_close(destination);
	close(master);
}

/* No terminal, no pipe: a device that is shared, and polled. */
static void stdout_may_be_a_device(void **state)
{
	struct destination *destination;

	(void)state;
	become_stdout(open("/dev/null", O_WRONLY));
	destination = open_named("-");
	play(destination, 0, 300001, 70001);
	finish(destination);
	become_stdout(open("/dev/full", O_WRONLY));
	destination = open_named("-");
	assert_int_equal(destination_write(destination, buf, 1, in_ms(1000)), -ENOSPC);
	assert_non_null(strstr(destination->error, "No space left"));
	destination_close(destination);
}

static void a_reader_that_left_is_told(void **state)
{
	struct destination *destination;
	int ends[2];

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		if (kind == 2)
			assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		else
			assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		become_stdout(ends[1]);
		if (kind == 1) /* before we open it once more */
			close(ends[0]);
		destination = open_named("-");
		if (kind != 1)
			close(ends[0]);
		assert_int_equal(destination_write(destination, buf, 1, in_ms(1000)), -EPIPE);
		assert_non_null(strstr(destination->error, "nobody reads it any more"));
		destination_close(destination);
	}
}

static void refuse_stdout(int error, const char *reason)
{
	struct destination *destination;

	assert_int_equal(destination_open(&destination, "-", NULL), -error);
	if (!strstr(destination->error, reason))
		fail_msg("%s lacks \"%s\"", destination->error, reason);
	destination_close(destination);
}

static void a_stdout_that_cannot_be_written_to_is_refused(void **state)
{
	(void)state;
	become_stdout(open("/dev/null", O_RDONLY));
	refuse_stdout(EBADF, "not open for writing");
	close(1);
	refuse_stdout(EBADF, "is closed");
}

static int make_folder(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	return scratch_make(folder, sizeof(folder), NULL);
}

static int remove_folder(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

#define STDOUT_TEST(function) \
	cmocka_unit_test_setup_teardown(function, keep_stdout, give_stdout_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_counts_and_does_nothing),
		cmocka_unit_test(null_takes_packets_too),
		cmocka_unit_test(a_file_gets_exactly_the_bytes),
		cmocka_unit_test(a_file_that_is_there_is_kept_unless_forced),
		cmocka_unit_test(an_unfinished_file_has_its_true_size),
		cmocka_unit_test(what_is_no_file_is_refused_and_left_alone),
		cmocka_unit_test(a_long_file_leaves_little_in_the_page_cache),
		cmocka_unit_test(an_error_of_a_sync_is_kept),
		cmocka_unit_test(an_error_of_writing_back_ends_it),
		STDOUT_TEST(stdout_may_be_a_pipe),
		STDOUT_TEST(stdout_may_be_a_pipe_that_does_not_block),
		STDOUT_TEST(stdout_may_be_a_socket),
		STDOUT_TEST(stdout_may_be_a_file_that_has_something_already),
		STDOUT_TEST(a_full_pipe_is_waited_for_until_the_deadline),
		STDOUT_TEST(a_terminal_that_was_stopped_does_not_keep_us),
		STDOUT_TEST(stdout_may_be_a_device),
		STDOUT_TEST(a_reader_that_left_is_told),
		STDOUT_TEST(a_stdout_that_cannot_be_written_to_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
