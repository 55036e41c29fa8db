/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_to_dev.c - FIFOs and character devices as destinations: full, gone, not yet there
 *
 * What real devices seldom do is done by a write() of our own, which stands in front of the system's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/destination.h"
#include "drivers/sim.h"
#include "drivers/units.h"
#include "tests/scratch.h"

#define MS INT64_C(1000000)
#define BUF_BYTES ((size_t)1 << 20)
#define SEED 3

static unsigned char buf[BUF_BYTES];
static char folder[PATH_MAX];
static char fifo[PATH_MAX + 8];

static int64_t in_ms(int64_t ms)
{
	return units_monotonic_ns() + ms * MS;
}

/* ---- what write() says ----------------------------------------------------------------------- */

/* The next answers: -errno; 0; > 0: at most so many bytes are really written. */
static ssize_t answers[8];
static unsigned answer_count, answer_at;
static bool is_always_full; /* behind them nothing but 0 */

ssize_t write(int fd, const void *data, size_t bytes)
{
	ssize_t answer = (ssize_t)bytes;

	if (answer_at < answer_count)
		answer = answers[answer_at++];
	else if (is_always_full)
		answer = 0;
	if (answer < 0) {
		errno = (int)-answer;
		return -1;
	}
	if (answer == 0 || (size_t)answer > bytes)
		return answer;
	return syscall(SYS_write, fd, data, (size_t)answer);
}

static void answer(ssize_t with)
{
	if (answer_at == answer_count)
		answer_at = answer_count = 0;
	answers[answer_count++] = with;
}

/* ---- helpers --------------------------------------------------------------------------------- */

static struct destination *open_dev(const char *path)
{
	struct destination *destination;
	char name[PATH_MAX + 16];

	snprintf(name, sizeof(name), "dev:%s", path);
	if (destination_open(&destination, name, NULL))
		fail_msg("%s", destination->error);
	assert_int_equal(destination->takes, DESTINATION_BYTES);
	assert_true(destination->is_paced_by_device);
	return destination;
}

static struct destination *start_dev(const char *path)
{
	struct destination *destination = open_dev(path);

	if (destination_start(destination))
		fail_msg("%s", destination->error);
	return destination;
}

static int make_fifo(void **state)
{
	(void)state;
	return mkfifo(fifo, 0600);
}

static int forget_answers(void **state)
{
	(void)state;
	answer_at = answer_count = 0;
	is_always_full = false;
	return 0;
}

static int remove_fifo(void **state)
{
	forget_answers(state);
	return unlink(fifo);
}

static uint64_t busy_count(struct destination *destination)
{
	return atomic_load(&destination->stats.busy_count);
}

/* ---- FIFOs ----------------------------------------------------------------------------------- */

struct reader {
	uint64_t bytes, wrong_count;
};

static void *read_fifo(void *argument)
{
	static unsigned char data[50000];
	struct reader *reader = argument;
	int fd = open(fifo, O_RDONLY);
	ssize_t got;

	for (unsigned turn = 0; (got = read(fd, data, sizeof(data))) > 0; turn++) {
		if (sim_verify(data, (size_t)got, reader->bytes, SEED) != (size_t)got)
			reader->wrong_count++;
		reader->bytes += (uint64_t)got;
		if (turn % 50 == 0)
			usleep(2000);
	}
	close(fd);
	return NULL;
}

static void *read_fifo_later(void *argument)
{
	usleep(60000);
	return read_fifo(argument);
}

static void a_fifo_is_waited_for_and_gets_every_byte(void **state)
{
	struct destination *destination = open_dev(fifo);
	struct reader reader = { 0 };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, read_fifo_later, &reader), 0);
	assert_int_equal(destination_start(destination), 0);
	assert_string_equal(destination->error, "");
	assert_int_equal(destination->device, 0);
	for (uint64_t position = 0; position < 6000001;) {
		size_t len = 6000001 - position < 700001 ? (size_t)(6000001 - position) : 700001;
		ssize_t taken;

		sim_fill(buf, len, position, SEED);
		taken = destination_write(destination, buf, len, in_ms(10000));
		if (taken <= 0)
			fail_msg("%zd: %s", taken, destination->error);
		position += (uint64_t)taken;
	}
	assert_int_equal(destination_finish(destination, in_ms(1000)), 0);
	destination_close(destination);
	pthread_join(thread, NULL);
	assert_int_equal(reader.wrong_count, 0);
	assert_int_equal(reader.bytes, 6000001);
}

static void *interrupt_later(void *destination)
{
	usleep(50000);
	destination_interrupt(destination);
	return NULL;
}

static void the_wait_for_a_reader_can_be_interrupted(void **state)
{
	struct destination *destination = open_dev(fifo);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, interrupt_later, destination), 0);
	assert_int_equal(destination_start(destination), -EINTR);
	assert_non_null(strstr(destination->error, "interrupted before anybody read"));
	pthread_join(thread, NULL);
	destination_close(destination);
}

static void a_full_fifo_is_waited_for_until_the_deadline(void **state)
{
	int reader = open(fifo, O_RDONLY | O_NONBLOCK);
	struct destination *destination = start_dev(fifo);
	int64_t begin;
	pthread_t thread;

	(void)state;
	while (destination_write(destination, buf, 65536, in_ms(10)) > 0)
		;
	begin = units_monotonic_ns();
	assert_int_equal(destination_write(destination, buf, 1, begin + 30 * MS), 0);
	assert_true(units_monotonic_ns() - begin >= 30 * MS);
	assert_true(busy_count(destination) > 0);
	assert_int_equal(pthread_create(&thread, NULL, interrupt_later, destination), 0);
	assert_int_equal(destination_write(destination, buf, 1, in_ms(60000)), 0);
	pthread_join(thread, NULL);
	close(reader);
	destination_close(destination);
}

static void a_reader_that_left_is_told(void **state)
{
	int reader = open(fifo, O_RDONLY | O_NONBLOCK);
	struct destination *destination = start_dev(fifo);

	(void)state;
	assert_int_equal(destination_write(destination, buf, 100, in_ms(1000)), 100);
	close(reader);
	assert_int_equal(destination_write(destination, buf, 100, in_ms(1000)), -EPIPE);
	assert_non_null(strstr(destination->error, "nobody reads it any more"));
	destination_close(destination);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void short_full_and_interrupted_writes_are_normal(void **state)
{
	int reader = open(fifo, O_RDONLY | O_NONBLOCK);
	struct destination *destination = start_dev(fifo);

	(void)state;
	sim_fill(buf, 5000, 0, SEED);
	answer(100); /* short ... */
	answer(0);   /* ... then full */
	assert_int_equal(destination_write(destination, buf, 5000, in_ms(5000)), 100);
	answer(0);
	answer(-EAGAIN);
	answer(0);
	answer(0);
	answer(0);
	answer(-EINTR);
	assert_int_equal(destination_write(destination, buf + 100, 4900, in_ms(5000)), 4900);
	assert_int_equal(busy_count(destination), 5);
	assert_int_equal(atomic_load(&destination->stats.sent_bytes), 5000);
	assert_int_equal(read(reader, buf, sizeof(buf)), 5000);
	assert_int_equal(sim_verify(buf, 5000, 0, SEED), 5000);
	close(reader);
	destination_close(destination);
}

/* poll() calls /dev/null ready all the time. */
static void a_device_that_stays_full_ends_at_the_deadline(void **state)
{
	struct destination *destination = start_dev("/dev/null");

	(void)state;
	is_always_full = true;
	assert_int_equal(destination_write(destination, buf, 1, 0), 0);
	assert_int_equal(busy_count(destination), 0);
	assert_int_equal(destination_write(destination, buf, 1, in_ms(30)), 0);
	assert_true(busy_count(destination) > 1 && busy_count(destination) < 30); /* it doesn't spin */
	destination_interrupt(destination);
	assert_int_equal(destination_write(destination, buf, 1, in_ms(60000)), 0);
	destination_close(destination);
}

static void what_no_device_may_say_is_an_error(void **state)
{
	struct destination *destination = start_dev("/dev/null");

	(void)state;
	answer(101);
	assert_int_equal(destination_write(destination, buf, 100, in_ms(1000)), -EIO);
	assert_non_null(strstr(destination->error, "took 101 when 100 were given"));
	answer(-512);
	assert_int_equal(destination_write(destination, buf, 100, in_ms(1000)), -EIO);
	assert_non_null(strstr(destination->error, "unknown error 512"));
	assert_int_equal(destination_write(destination, buf, 100, in_ms(1000)), 100);
	destination_close(destination);
}

static void a_device_that_went_away_is_told(void **state)
{
	struct destination *destination = start_dev("/dev/null");

	(void)state;
	answer(-ENXIO);
	assert_int_equal(destination_write(destination, buf, 100, in_ms(1000)), -ENXIO);
	assert_non_null(strstr(destination->error, "dev:/dev/null: cannot write: No such device"));
	destination_close(destination);
}

/* ---- devices --------------------------------------------------------------------------------- */

static void a_device_takes_what_it_is_given(void **state)
{
	struct destination *destination = start_dev("/dev/null");

	(void)state;
	assert_int_equal(destination->device, makedev(1, 3));
	assert_int_equal(destination_write(destination, buf, BUF_BYTES, in_ms(1000)), BUF_BYTES);
	destination_close(destination);
}

static void a_device_without_room_is_told(void **state)
{
	struct destination *destination = start_dev("/dev/full");

	(void)state;
	assert_int_equal(destination_write(destination, buf, 1, in_ms(1000)), -ENOSPC);
	assert_non_null(strstr(destination->error, "No space left"));
	destination_close(destination);
}

static void what_is_no_device_is_refused_in_words(void **state)
{
	static const struct {
		const char *path;
		int error;
		const char *reason;
	} list[] = {
		{ "/etc/passwd", EINVAL, "use file:/etc/passwd" },
		{ "/tmp", EISDIR, "is a directory" },
		{ "/dev/there-is-no-such-device", ENOENT, "No such file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct destination *destination;
		char name[80];

		snprintf(name, sizeof(name), "dev:%s", list[i].path);
		assert_int_equal(destination_open(&destination, name, NULL), -list[i].error);
		if (!strstr(destination->error, list[i].reason))
			fail_msg("%s lacks \"%s\"", destination->error, list[i].reason);
		destination_close(destination);
	}
}

static int make_folder(void **state)
{
	int ret = scratch_make(folder, sizeof(folder), NULL);

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	return ret;
}

static int remove_folder(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

#define FIFO_TEST(function) cmocka_unit_test_setup_teardown(function, make_fifo, remove_fifo)

#define NODE_TEST(function) cmocka_unit_test_teardown(function, forget_answers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIFO_TEST(a_fifo_is_waited_for_and_gets_every_byte),
		FIFO_TEST(the_wait_for_a_reader_can_be_interrupted),
		FIFO_TEST(a_full_fifo_is_waited_for_until_the_deadline),
		FIFO_TEST(a_reader_that_left_is_told),
		FIFO_TEST(short_full_and_interrupted_writes_are_normal),
		NODE_TEST(a_device_that_stays_full_ends_at_the_deadline),
		NODE_TEST(what_no_device_may_say_is_an_error),
		NODE_TEST(a_device_that_went_away_is_told),
		NODE_TEST(a_device_takes_what_it_is_given),
		NODE_TEST(a_device_without_room_is_told),
		NODE_TEST(what_is_no_device_is_refused_in_words),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
