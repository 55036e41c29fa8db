/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_source_file.c - names and details, what is checked of every driver, `file:` and stdin
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/sim.h"
#include "drivers/source.h"
#include "drivers/units.h"

#define MS INT64_C(1000000)
#define BUF_BYTES ((size_t)1 << 20)

static unsigned char buf[BUF_BYTES];
static char folder[] = "/tmp/test_source_file_XXXXXX";
static int kept_stdin = -1;

static int64_t in_ms(int64_t ms)
{
	return units_monotonic_ns() + ms * MS;
}

static int64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * UNITS_NS_PER_S + used.tv_nsec;
}

/* ---- names ----------------------------------------------------------------------------------- */

static struct source_ops mine; /* what each test wants */
static ssize_t result;
static struct source_mark given_mark;

static ssize_t give_result(struct source *source, void *out, size_t len, int64_t deadline_ns,
			   struct source_mark *mark)
{
	(void)source;
	(void)out;
	(void)len;
	(void)deadline_ns;
	*mark = given_mark;
	return result;
}

static struct source *open_mine(const char *name)
{
	struct source *source;

	if (source_open_with(&source, &mine, name, NULL))
		fail_msg("%s", source->error);
	return source;
}

static int reset_mine(void **state)
{
	(void)state;
	mine = (struct source_ops){
		.prefix = "mine:", .keys = "a bc d", .takes_path = true, .read = give_result
	};
	given_mark = (struct source_mark){ 0 };
	return 0;
}

static void a_name_is_split_into_path_and_details(void **state)
{
	static const struct {
		const char *name, *path, *details;
	} list[] = {
		{ "mine:/dev/vsib", "/dev/vsib", "" },
		{ "mine:/dev/vsib,a=0,bc=1", "/dev/vsib", "a=0,bc=1" },
		{ "mine:x,,y,a=1", "x,y", "a=1" },
		{ "mine:x,,,a=1", "x,", "a=1" },
		{ "mine:,,", ",", "" },
		{ "mine:x,", "x", "" },
		{ "mine:[::1]:46227,d", "[::1]:46227", "d" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct source *source = open_mine(list[i].name);

		assert_string_equal(source->name, list[i].name);
		assert_string_equal(source->path, list[i].path);
		assert_string_equal(source->details, list[i].details);
		source_close(source);
	}
}

static void details_come_one_by_one(void **state)
{
	struct source *source = open_mine("mine:p,a=1,bc,d=x=y,a=u,,v,");
	const char *cursor = NULL;
	char text[SOURCE_DETAIL_LEN];
	struct source_detail detail;

	(void)state;
	assert_true(source_next_detail(source, &cursor, text, sizeof(text), &detail));
	assert_string_equal(detail.key, "a");
	assert_string_equal(detail.value, "1");
	assert_true(source_next_detail(source, &cursor, text, sizeof(text), &detail));
	assert_string_equal(detail.key, "bc");
	assert_string_equal(detail.value, "");
	assert_true(source_next_detail(source, &cursor, text, sizeof(text), &detail));
	assert_string_equal(detail.key, "d");
	assert_string_equal(detail.value, "x=y");
	assert_true(source_next_detail(source, &cursor, text, sizeof(text), &detail));
	assert_string_equal(detail.key, "a");
	assert_string_equal(detail.value, "u,v");
	assert_false(source_next_detail(source, &cursor, text, sizeof(text), &detail));
	source_close(source);
}

static void refuse(const char *name, int error, const char *reason)
{
	struct source *source;

	assert_int_equal(source_open(&source, name, NULL), -error);
	assert_non_null(source);
	if (!strstr(source->error, reason))
		fail_msg("%s lacks \"%s\": %s", name, reason, source->error);
	source_close(source);
}

static void an_unknown_name_is_answered_with_the_known_ones(void **state)
{
	(void)state;
	refuse("tape:/dev/nst0", EINVAL, "sim: file: - dev: vsib:");
	refuse("/dev/vsib", EINVAL, "one of sim:");
	refuse("-x", EINVAL, "one of sim:");
	refuse("", EINVAL, "one of sim:");
	refuse("file:", EINVAL, "is missing behind");
	refuse("file:,a=b", EINVAL, "is missing behind");
	refuse("file:/etc/passwd,speed=1", EINVAL, "unknown detail \"speed\"; file: knows none");
	refuse("-,speed=1", EINVAL, "unknown detail \"speed\"");
	for (const struct source_ops *const *ops = source_table(); *ops; ops++) {
		/* one of two that share a prefix is silent, and gives whole packets */
		if ((*ops)->summary)
			assert_non_null(strstr((*ops)->summary, (*ops)->prefix));
		else
			assert_non_null((*ops)->lend);
	}
	refuse("tape:", EINVAL, "vsib: udp: pcap: pcapfile:"); /* each once */
}

static void a_detail_that_is_too_long_is_refused(void **state)
{
	char name[600] = "mine:p,a=";
	struct source *source;

	(void)state;
	memset(name + strlen(name), 'x', 300);
	assert_int_equal(source_open_with(&source, &mine, name, NULL), -EINVAL);
	assert_non_null(strstr(source->error, "too long"));
	source_close(source);
}

/* ---- the checks on every driver -------------------------------------------------------------- */

static void more_bytes_than_asked_for_are_a_fatal_error(void **state)
{
	struct source *source = open_mine("mine:p");
	struct source_mark mark;

	(void)state;
	result = 4097;
	assert_int_equal(source_read(source, buf, 4096, 0, &mark), -EIO);
	assert_non_null(strstr(source->error, "returned 4097 bytes when 4096 were asked for"));
	assert_int_equal(atomic_load(&source->stats.received_bytes), 0);
	result = 4096;
	assert_int_equal(source_read(source, buf, 4096, 0, &mark), 4096);
	assert_string_equal(source->error, "");
	source_close(source);
}

static void an_unknown_errno_is_a_fatal_error_with_text(void **state)
{
	struct source *source = open_mine("mine:p");
	struct source_mark mark;

	(void)state;
	result = -512; /* what a kernel driver must not, but some do, let out */
	assert_int_equal(source_read(source, buf, 4096, 0, &mark), -EIO);
	assert_non_null(strstr(source->error, "unknown error 512"));
	result = -1000000;
	assert_int_equal(source_read(source, buf, 4096, 0, &mark), -EIO);
	result = -ENODEV; /* known, but the driver wrote no sentence */
	assert_int_equal(source_read(source, buf, 4096, 0, &mark), -ENODEV);
	assert_non_null(strstr(source->error, "mine:p: "));
	result = -EINTR;
	assert_int_equal(source_read(source, buf, 4096, 0, &mark), SOURCE_NOT_YET);
	source_close(source);
}

static void losses_are_counted_from_the_marks(void **state)
{
	struct source *source = open_mine("mine:p");
	struct source_mark mark;

	(void)state;
	result = 10;
	given_mark = (struct source_mark){ .lost_bytes = 5 };
	source_read(source, buf, 4096, 0, &mark);
	given_mark = (struct source_mark){ .lost_bytes = 7, .is_estimated = true };
	source_read(source, buf, 4096, 0, &mark);
	result = SOURCE_END;
	given_mark = (struct source_mark){ .lost_bytes = 1 };
	source_read(source, buf, 4096, 0, &mark);
	result = SOURCE_NOT_YET;
	source_read(source, buf, 4096, 0, &mark);
	assert_int_equal(mark.lost_bytes, 0);
	assert_int_equal(atomic_load(&source->stats.received_bytes), 20);
	assert_int_equal(atomic_load(&source->stats.lost_bytes), 13);
	assert_int_equal(atomic_load(&source->stats.estimated_bytes), 7);
	source_close(source);
}

static int stop_count, close_count;

static int open_and_fail(struct source *source, const struct source_config *config)
{
	(void)config;
	source->state = source;
	return -ENXIO;
}

static void count_stop(struct source *source)
{
	(void)source;
	stop_count++;
}

static void count_close(struct source *source)
{
	(void)source;
	close_count++;
}

static void stop_and_close_happen_once(void **state)
{
	struct source *source;

	(void)state;
	stop_count = close_count = 0;
	mine.stop = count_stop;
	mine.close = count_close;
	source = open_mine("mine:p");
	source_stop(source);
	assert_int_equal(stop_count, 0);
	source_start(source);
	source_stop(source);
	source_stop(source);
	source_close(source);
	assert_int_equal(stop_count, 1);
	assert_int_equal(close_count, 0); /* it never had a state */

	mine.open = open_and_fail;
	assert_int_equal(source_open_with(&source, &mine, "mine:p", NULL), -ENXIO);
	assert_true(strlen(source->error) > 0);
	source_close(source);
	assert_int_equal(stop_count, 1);
	assert_int_equal(close_count, 1);
	source_close(NULL);
}

static void notes_of_one_call_stand_in_lines(void **state)
{
	struct source *source = open_mine("mine:p");

	(void)state;
	source_note(source, "number %d", 1);
	source_note(source, "number %d", 2);
	assert_string_equal(source->note, "mine:p: number 1\nmine:p: number 2");
	for (int i = 0; i < 100; i++)
		source_note(source, "and so on");
	assert_true(strlen(source->note) < SOURCE_ERROR_LEN);
	source_start(source);
	assert_string_equal(source->note, "");
	source_close(source);
}

/* ---- file: ----------------------------------------------------------------------------------- */

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_file(const char *path, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	sim_fill(buf, len, 0, 3);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, buf, len), len);
	close(fd);
}

static struct source *open_named(const char *prefix, const char *path, uint64_t rate_bps)
{
	struct source_config config = { .rate_bps = rate_bps };
	struct source *source;
	char name[256];

	snprintf(name, sizeof(name), "%s%s", prefix, path);
	if (source_open(&source, name, &config))
		fail_msg("%s", source->error);
	assert_int_equal(source_start(source), 0);
	return source;
}

/* Everything up to the end must be the pattern; returns its length. */
static uint64_t read_all(struct source *source, size_t len)
{
	struct source_mark mark;
	uint64_t position = 0;
	ssize_t got;

	while ((got = source_read(source, buf, len, in_ms(5000), &mark)) > 0) {
		assert_int_equal(sim_verify(buf, (size_t)got, position, 3), got);
		position += (uint64_t)got;
	}
	if (got != SOURCE_END)
		fail_msg("%zd: %s", got, source->error);
	assert_int_equal(atomic_load(&source->stats.received_bytes), position);
	return position;
}

static void a_file_is_read_to_its_end_in_any_pieces(void **state)
{
	static const size_t lens[] = { 1000, 4096, 70001, BUF_BYTES };

	(void)state;
	make_file(path_of("samples"), 300001);
	for (size_t i = 0; i < 4; i++) {
		struct source *source = open_named("file:", path_of("samples"), 0);

		assert_true(source->can_wait);
		assert_true(source->is_paced_by_us);
		assert_int_equal(source->device, 0);
		assert_int_equal(read_all(source, lens[i]), 300001);
		source_close(source);
	}
	make_file(path_of("empty"), 0);
	struct source *source = open_named("file:", path_of("empty"), 0);
	assert_int_equal(read_all(source, 4096), 0);
	source_close(source);
}

static void a_file_given_a_rate_is_paced(void **state)
{
	struct source *source;
	int64_t before;

	(void)state;
	make_file(path_of("samples"), 500000);
	before = units_monotonic_ns();
	source = open_named("file:", path_of("samples"), 20000000); /* 200 ms */
	assert_true(source->can_wait);
	assert_int_equal(source->rate_bps, 20000000);
	assert_int_equal(read_all(source, BUF_BYTES), 500000);
	assert_true(units_monotonic_ns() - before >= 200 * MS);
	assert_true(atomic_load(&source->stats.wait_count) < 100);
	source_close(source);
}

static void what_is_no_file_is_refused_in_words(void **state)
{
	char name[160];

	(void)state;
	snprintf(name, sizeof(name), "file:%s", folder);
	refuse(name, EISDIR, "is a directory");
	snprintf(name, sizeof(name), "file:%s", path_of("not-there"));
	refuse(name, ENOENT, "No such file");
	refuse("file:/dev/null", EINVAL, "use dev:/dev/null");
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	snprintf(name, sizeof(name), "file:%s", path_of("fifo"));
	refuse(name, EINVAL, "use dev:"); /* and doesn't wait for a writer */
}

/* ---- the standard input ---------------------------------------------------------------------- */

static int keep_stdin(void **state)
{
	(void)state;
	kept_stdin = fcntl(0, F_DUPFD_CLOEXEC, 10);
	return 0;
}

static int give_stdin_back(void **state)
{
	(void)state;
	if (kept_stdin >= 0) {
		dup2(kept_stdin, 0);
		close(kept_stdin);
	} else {
		close(0);
	}
	return 0;
}

static void become_stdin(int fd)
{
	/* where 0 was closed, open() gives just that */
	if (fd == 0)
		return;
	assert_int_equal(dup2(fd, 0), 0);
	close(fd);
}

static int write_end;

/* Sets *@written to what it wrote into write_end. */
static void *write_chunks(void *written)
{
	unsigned char data[70000];
	uint64_t position = 0;
	unsigned seed = 1;

	for (int i = 0; i < 40; i++) {
		size_t len = (size_t)rand_r(&seed) % sizeof(data) + 1, done = 0;

		sim_fill(data, len, position, 3);
		while (done < len) {
			ssize_t put = write(write_end, data + done, len - done);

			if (put > 0)
				done += (size_t)put;
		}
		position += len;
		if (i % 10 == 0)
			usleep(3000);
	}
	close(write_end);
	*(uint64_t *)written = position;
	return NULL;
}

static void read_stdin_from(const int *ends)
{
	struct source *source;
	pthread_t thread;
	uint64_t written = 0, got;

	write_end = ends[1];
	become_stdin(ends[0]);
	source = open_named("-", "", 0);
	assert_true(source->can_wait);
	assert_false(source->is_paced_by_us);
	pthread_create(&thread, NULL, write_chunks, &written);
	got = read_all(source, 100000);
	pthread_join(thread, NULL);
	assert_int_equal(got, written);
	source_close(source);
	assert_int_not_equal(fcntl(0, F_GETFD), -1); /* it was never ours */
}

static void stdin_may_be_a_pipe(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	read_stdin_from(ends);
}

static void stdin_may_be_a_pipe_that_does_not_block(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	read_stdin_from(ends);
	assert_true(fcntl(0, F_GETFL) & O_NONBLOCK);
}

static void stdin_may_be_a_socket(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	read_stdin_from(ends);
	assert_false(fcntl(0, F_GETFL) & O_NONBLOCK);
}

static void stdin_may_be_a_file(void **state)
{
	struct source *source;

	(void)state;
	make_file(path_of("samples"), 300001);
	become_stdin(open(path_of("samples"), O_RDONLY));
	source = open_named("-", "", 8000); /* for a stdin the rate is only a check */
	assert_int_equal(source->rate_bps, 8000);
	assert_int_equal(read_all(source, BUF_BYTES), 300001);
	source_close(source);
}

static void a_silent_stdin_ends_its_reads_at_the_deadline(void **state)
{
	for (int flags = 0; flags <= O_NONBLOCK; flags += O_NONBLOCK) {
		struct source_mark mark;
		struct source *source;
		int64_t cpu, before;
		int ends[2];

		(void)state;
		assert_int_equal(pipe(ends), 0);
		fcntl(ends[0], F_SETFL, flags);
		become_stdin(ends[0]);
		source = open_named("-", "", 0);
		cpu = cpu_ns();
		before = units_monotonic_ns();
		assert_int_equal(source_read(source, buf, 4096, before + 150 * MS, &mark),
				 SOURCE_NOT_YET);
		assert_true(units_monotonic_ns() >= before + 150 * MS);
		assert_true(cpu_ns() - cpu < 20 * MS);
		assert_int_equal(write(ends[1], "x", 1), 1);
		assert_int_equal(source_read(source, buf, 4096, in_ms(5000), &mark), 1);
		close(ends[1]);
		assert_int_equal(source_read(source, buf, 4096, in_ms(5000), &mark), SOURCE_END);
		source_close(source);
	}
}

static void an_empty_stdin_ends_at_once(void **state)
{
	struct source *source;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	close(ends[1]);
	become_stdin(ends[0]);
	source = open_named("-", "", 0);
	assert_int_equal(read_all(source, 4096), 0);
	source_close(source);
}

static void *interrupt_later(void *source)
{
	usleep(50000);
	source_interrupt(source);
	return NULL;
}

static void an_interrupt_ends_a_wait_for_stdin(void **state)
{
	int64_t before = units_monotonic_ns();
	struct source_mark mark;
	struct source *source;
	pthread_t thread;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	become_stdin(ends[0]);
	source = open_named("-", "", 0);
	pthread_create(&thread, NULL, interrupt_later, source);
	assert_int_equal(source_read(source, buf, 4096, in_ms(60000), &mark), SOURCE_NOT_YET);
	pthread_join(thread, NULL);
	assert_true(units_monotonic_ns() - before < 5000 * MS);
	source_close(source);
	close(ends[1]);
}

static void a_stdin_that_cannot_be_read_is_refused(void **state)
{
	(void)state;
	close(0);
	refuse("-", EBADF, "closed");
	become_stdin(open("/dev/null", O_WRONLY));
	refuse("-", EBADF, "not open for reading");
	become_stdin(open(folder, O_RDONLY | O_DIRECTORY));
	refuse("-", EISDIR, "directory");
}

/* ---------------------------------------------------------------------------------------------- */

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path_of("samples"));
	unlink(path_of("empty"));
	unlink(path_of("fifo"));
	return rmdir(folder);
}

#define STDIN_TEST(function) cmocka_unit_test_setup_teardown(function, keep_stdin, give_stdin_back)
#define MINE_TEST(function) cmocka_unit_test_setup(function, reset_mine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MINE_TEST(a_name_is_split_into_path_and_details),
		MINE_TEST(details_come_one_by_one),
		cmocka_unit_test(an_unknown_name_is_answered_with_the_known_ones),
		MINE_TEST(a_detail_that_is_too_long_is_refused),
		MINE_TEST(more_bytes_than_asked_for_are_a_fatal_error),
		MINE_TEST(an_unknown_errno_is_a_fatal_error_with_text),
		MINE_TEST(losses_are_counted_from_the_marks),
		MINE_TEST(stop_and_close_happen_once),
		MINE_TEST(notes_of_one_call_stand_in_lines),
		cmocka_unit_test(a_file_is_read_to_its_end_in_any_pieces),
		cmocka_unit_test(a_file_given_a_rate_is_paced),
		cmocka_unit_test(what_is_no_file_is_refused_in_words),
		STDIN_TEST(stdin_may_be_a_pipe),
		STDIN_TEST(stdin_may_be_a_pipe_that_does_not_block),
		STDIN_TEST(stdin_may_be_a_socket),
		STDIN_TEST(stdin_may_be_a_file),
		STDIN_TEST(a_silent_stdin_ends_its_reads_at_the_deadline),
		STDIN_TEST(an_empty_stdin_ends_at_once),
		STDIN_TEST(an_interrupt_ends_a_wait_for_stdin),
		STDIN_TEST(a_stdin_that_cannot_be_read_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
