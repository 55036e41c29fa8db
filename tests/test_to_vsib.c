/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_to_vsib.c - playing to the stand-in board, nearly all of it in virtual time
 *
 * 16 bits at 32 MHz are 64 MB/s; the ring of 8 MB lasts an eighth of a second.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/board.h"
#include "drivers/destination.h"
#include "drivers/sim.h"
#include "drivers/to_vsib.h"
#include "drivers/units.h"

#define MS INT64_C(1000000)
#define S UNITS_NS_PER_S
#define NOW_S INT64_C(1790000000) /* wall clock of "virtual=1" */
#define RATE_BPS UINT64_C(512000000)
#define RING UINT64_C(8000000)
#define LUMP (RING / 1000)
#define BUF_BYTES ((size_t)1 << 20)
#define SEED 3
#define FAST "mode=1,clock=32M"

static unsigned char buf[BUF_BYTES];

/* ---- a board between the destination and the stand-in ---------------------------------------- */

struct step {
	unsigned request; /* 0: bytes were written */
	unsigned long value;
};

#define STEPS_MAX 512

static struct board_ops mine;
static void *board;
static struct step steps[STEPS_MAX]; /* in their order, without the looks at the fill; writes running are one */
static unsigned step_count;
static uint64_t taken_bytes, wrong_count;
static unsigned look_count;
static uint32_t run_command;
static int64_t run_utc_ns, run_ns;
static int64_t hold_up_run_ns; /* passes once, before RUN reaches the board */
static size_t extra_bytes;     /* write() claims so many more */
static int write_error;        /* so often ... */
static int write_error_count;
static int64_t interrupt_at_ns; /* virtual moment; 0 = never */
static struct destination *interrupted;
static int adopted_fd, adopted_flags;

static void keep_step(unsigned request, unsigned long value)
{
	if (request == 0 && step_count && steps[step_count - 1].request == 0)
		return;
	if (step_count < STEPS_MAX)
		steps[step_count++] = (struct step){ request, value };
}

static int mine_open(const char *path, int flags, void **out)
{
	int ret = board_fake.open(path, flags, out);

	board = ret ? NULL : *out;
	return ret;
}

static int mine_adopt(int fd, int flags, void **out)
{
	adopted_fd = fd;
	adopted_flags = flags;
	return mine_open("fake:virtual=1:ring=8M", flags, out);
}

static int mine_control(void *handle, enum board_request request, unsigned long value,
			unsigned long *result)
{
	if (request == BOARD_GET_BIGBUF_BYTES)
		look_count++;
	else
		keep_step(request, value);
	if (request == BOARD_SET_MODE && value & BOARD_RUN) {
		board_fake.wait(handle, hold_up_run_ns);
		hold_up_run_ns = 0;
		run_command = (uint32_t)value;
		run_utc_ns = board_fake.realtime_ns(handle);
		run_ns = board_fake.monotonic_ns(handle);
	}
	return board_fake.control(handle, request, value, result);
}

static ssize_t mine_write(void *handle, const void *data, size_t len)
{
	ssize_t taken;

	if (write_error_count > 0) {
		write_error_count--;
		return -write_error;
	}
	taken = board_fake.write(handle, data, len);
	if (taken > 0) {
		keep_step(0, 0);
		wrong_count += sim_verify(data, (size_t)taken, taken_bytes, SEED) != (size_t)taken;
		taken_bytes += (uint64_t)taken;
		taken += (ssize_t)extra_bytes;
	}
	return taken;
}

static void mine_wait(void *handle, int64_t ns)
{
	assert_true(ns >= 0);
	board_fake.wait(handle, ns);
	if (interrupt_at_ns && board_fake.monotonic_ns(handle) >= interrupt_at_ns)
		destination_interrupt(interrupted);
}

static int open_on_mine(struct destination *destination, const struct destination_config *config)
{
	return to_vsib_open_board(destination, config, &mine, destination->path);
}

static int reset_board(void **state)
{
	(void)state;
	mine = board_fake;
	mine.open = mine_open;
	mine.adopt = mine_adopt;
	mine.control = mine_control;
	mine.write = mine_write;
	mine.wait = mine_wait;
	step_count = look_count = 0;
	taken_bytes = wrong_count = 0;
	hold_up_run_ns = interrupt_at_ns = 0;
	extra_bytes = 0;
	write_error_count = 0;
	run_command = 0;
	run_utc_ns = run_ns = 0;
	return 0;
}

static int64_t now(void)
{
	return mine.monotonic_ns(board);
}

static int64_t in_ms(int64_t ms)
{
	return now() + ms * MS;
}

/* ---- helpers --------------------------------------------------------------------------------- */

static int try_name(struct destination **destination, const char *name,
		    const struct destination_config *config)
{
	static struct destination_ops ops;

	ops = destination_vsib;
	ops.open = open_on_mine;
	return destination_open_with(destination, &ops, name, config);
}

/* @settings go to the stand-in, @details to the destination */
static int try_open(struct destination **destination, const char *settings, const char *details,
		    const struct destination_config *config)
{
	char name[256];

	snprintf(name, sizeof(name), "vsib:fake:virtual=1:ring=8M%s%s,%s", *settings ? ":" : "",
		 settings, details);
	return try_name(destination, name, config);
}

static struct destination *open_at(const char *settings, const char *details, int64_t start_utc_ns)
{
	struct destination_config config = { .start_utc_ns = start_utc_ns };
	struct destination *destination;

	if (try_open(&destination, settings, details, &config) || destination_start(destination))
		fail_msg("%s", destination->error);
	assert_int_equal(destination->takes, DESTINATION_BYTES);
	assert_true(destination->is_paced_by_device);
	return destination;
}

static struct destination *open_vsib(const char *settings, const char *details)
{
	return open_at(settings, details, 0);
}

/* One piece of the pattern. */
static ssize_t put(struct destination *destination, size_t len, int64_t deadline_ns)
{
	sim_fill(buf, len, taken_bytes, SEED);
	return destination_write(destination, buf, len, deadline_ns);
}

/* The pattern, up to @end. */
static void play_to(struct destination *destination, uint64_t end)
{
	while (taken_bytes < end) {
		size_t len = end - taken_bytes < BUF_BYTES ? (size_t)(end - taken_bytes) : BUF_BYTES;
		ssize_t taken = put(destination, len, in_ms(20000));

		if (taken <= 0)
			fail_msg("%zd at %llu: %s", taken, (unsigned long long)taken_bytes,
				 destination->error);
	}
}

static void finish(struct destination *destination)
{
	if (destination_finish(destination, in_ms(10000)))
		fail_msg("%s", destination->error);
	assert_int_equal(wrong_count, 0);
	assert_int_equal(atomic_load(&destination->stats.sent_bytes), taken_bytes);
}

static void check_steps(const struct step *expected, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (i >= step_count || steps[i].request != expected[i].request ||
		    steps[i].value != expected[i].value)
			fail_msg("step %u is %x %lx, not %x %lx", i, steps[i].request,
				 steps[i].value, expected[i].request, expected[i].value);
}

static uint64_t starved_count(const struct destination *destination)
{
	return atomic_load(&destination->stats.starved_count);
}

static uint64_t least_fill(const struct destination *destination)
{
	return atomic_load(&destination->stats.device_fill_min_bytes);
}

/* The moment of the first sample: the full second behind RUN. */
static int64_t first_ns(void)
{
	return run_ns + S - run_utc_ns % S;
}

/* ---- filling and starting -------------------------------------------------------------------- */

static void the_ring_is_filled_then_the_board_started(void **state)
{
	const struct step expected[] = {
		{ BOARD_SET_MODE, 0 },
		{ BOARD_GET_BIGBUF_SIZE, 0 },
		{ 0, 0 }, /* the ring is filled */
		{ BOARD_RESET_DMA, 1 },
		{ BOARD_SET_MODE, BOARD_RUN | BOARD_GIGABIT | BOARD_EMBED_1PPS | 1 << 16 | 3 },
		{ 0, 0 }, /* the rest, as there is room */
		{ BOARD_DELAYED_STOP_DMA, 0 },
		{ BOARD_IS_DMA_DONE, 0 },
	};
	struct destination *destination = open_vsib("", FAST ",skip=3,giga=1,embed=1");

	(void)state;
	play_to(destination, RING - LUMP); /* it takes no more than that */
	assert_int_equal(step_count, 3);
	assert_int_equal(atomic_load(&destination->stats.device_fill_bytes), RING - LUMP);
	assert_int_equal(least_fill(destination), UINT64_MAX);
	play_to(destination, 2 * RING);
	finish(destination);
	check_steps(expected, sizeof(expected) / sizeof(expected[0]));
	assert_int_equal(steps[step_count - 1].request, BOARD_SET_MODE);
	assert_int_equal(steps[step_count - 1].value, 0);
	assert_int_equal(atomic_load(&destination->stats.device_ring_bytes), RING);
	destination_close(destination);
}

static void what_fits_into_the_ring_is_started_by_the_end(void **state)
{
	struct destination *destination = open_vsib("", FAST);

	(void)state;
	play_to(destination, 1000001);
	assert_int_equal(step_count, 3);
	finish(destination);
	assert_true(now() >= first_ns() + units_time_for(1000001, RATE_BPS));
	assert_true(now() < first_ns() + 200 * MS);
	destination_close(destination);
}

static void without_data_the_board_is_never_started(void **state)
{
	struct destination *destination = open_vsib("", FAST);

	(void)state;
	finish(destination);
	assert_int_equal(step_count, 2);
	destination_close(destination);
}

static void run_is_set_when_the_second_is_clear(void **state)
{
	static const char *const nows[] = { "now=1790000000.05", "now=1790000000.45",
					    "now=1790000000.79", "now=1790000000.95" };

	for (size_t i = 0; i < 4; i++) {
		struct destination *destination;
		int64_t fraction;

		reset_board(state);
		destination = open_vsib(nows[i], FAST);
		play_to(destination, 2 * RING);
		fraction = run_utc_ns % S;
		assert_true(fraction >= 300 * MS && fraction <= 800 * MS);
		destination_close(destination);
	}
}

static void a_start_that_is_held_up_is_taken_back(void **state)
{
	const struct step expected[] = {
		{ BOARD_RESET_DMA, 1 },
		{ BOARD_SET_MODE, BOARD_RUN | 1 << 16 },
		{ BOARD_SET_MODE, 0 },
		{ BOARD_RESET_DMA, 1 },
		{ BOARD_SET_MODE, BOARD_RUN | 1 << 16 },
	};
	struct destination *destination = open_vsib("", FAST);

	(void)state;
	hold_up_run_ns = 650 * MS;
	play_to(destination, RING);
	memmove(steps, steps + 3, sizeof(steps) - 3 * sizeof(steps[0]));
	check_steps(expected, 5);
	finish(destination);
	destination_close(destination);
}

static void it_starts_at_the_wanted_second(void **state)
{
	struct destination *destination = open_at("", FAST, (NOW_S + 10) * S);

	(void)state;
	play_to(destination, RING);
	assert_int_equal(run_utc_ns, (NOW_S + 10) * S - 500 * MS);
	finish(destination);
	destination_close(destination);
}

static void the_wanted_second_does_not_wait_for_a_full_ring(void **state)
{
	struct destination *destination = open_at("", FAST, (NOW_S + 10) * S);

	(void)state;
	for (int i = 0; i < 100 && !run_command; i++) {
		assert_int_equal(put(destination, 1000, in_ms(5000)), 1000);
		mine.wait(board, 200 * MS);
	}
	assert_true(run_utc_ns >= (NOW_S + 10) * S - 500 * MS);
	assert_true(run_utc_ns < (NOW_S + 10) * S);
	destination_close(destination);
}

static void a_start_in_the_past_is_told(void **state)
{
	struct destination *destination = open_at("", FAST, (NOW_S - 10) * S + 1);

	(void)state;
	play_to(destination, 1000);
	finish(destination);
	assert_non_null(strstr(destination->note, "start time rounded up\n"));
	assert_non_null(strstr(destination->note, "it is too late for a start at"));
	destination_close(destination);
}

static void the_wait_for_the_second_ends_at_the_deadline(void **state)
{
	struct destination *destination = open_at("", FAST, (NOW_S + 10) * S);
	int64_t begin;

	(void)state;
	play_to(destination, RING - LUMP);
	begin = now();
	for (int i = 1; i < 5; i++) {
		assert_int_equal(put(destination, 1000, begin + i * 100 * MS), 0);
		assert_int_equal(now(), begin + i * 100 * MS);
	}
	assert_int_equal(destination_finish(destination, begin + S), -ETIMEDOUT);
	assert_non_null(strstr(destination->error, "start second didn't come"));
	destination_close(destination);
}

/* ---- running --------------------------------------------------------------------------------- */

static void a_steady_run_never_starves_and_is_not_busy(void **state)
{
	struct destination *destination = open_vsib("", FAST);

	(void)state;
	play_to(destination, 10 * RATE_BPS / 8); /* ten seconds */
	assert_int_equal(starved_count(destination), 0);
	assert_true(least_fill(destination) > RING / 2);
	assert_true(least_fill(destination) < RING);
	assert_true(atomic_load(&destination->stats.busy_count) < 1500);
	assert_true(look_count < 4000);
	finish(destination);
	assert_true(now() - first_ns() >= 10 * S);
	assert_true(now() - first_ns() < 10 * S + 100 * MS);
	assert_true(least_fill(destination) > RING / 2); /* the end is no hole */
	assert_int_equal(starved_count(destination), 0);
	destination_close(destination);
}

static void holes_are_counted(void **state)
{
	for (int round = 0; round < 2; round++) {
		struct destination *destination;

		reset_board(state);
		destination = open_vsib(round ? "round=1" : "", FAST);
		play_to(destination, 2 * RING);
		assert_int_equal(starved_count(destination), 0);
		mine.wait(board, 160 * MS); /* more than the ring lasts */
		play_to(destination, 2 * RING + 1000);
		assert_int_equal(starved_count(destination), 1);
		assert_int_equal(least_fill(destination), 0);
		play_to(destination, 4 * RING);
		assert_int_equal(starved_count(destination), 1);
		mine.wait(board, 160 * MS);
		play_to(destination, 5 * RING);
		assert_int_equal(starved_count(destination), 2);
		finish(destination);
		destination_close(destination);
	}
}

static void a_feed_that_is_too_slow_starves_it_again_and_again(void **state)
{
	struct destination *destination = open_vsib("", FAST);

	(void)state;
	play_to(destination, RING);
	mine.wait(board, 150 * MS);
	for (int i = 0; i < 50; i++) { /* 50 MB/s into 64 MB/s */
		play_to(destination, taken_bytes + 500000);
		mine.wait(board, 10 * MS);
	}
	assert_int_equal(starved_count(destination), 50);
	finish(destination);
	destination_close(destination);
}

static void a_write_ends_at_its_deadline(void **state)
{
	struct destination *destination = open_vsib("", FAST);
	int64_t deadline;

	(void)state;
	play_to(destination, RING - LUMP);
	while (!run_command)
		assert_int_equal(put(destination, BUF_BYTES, in_ms(10)), 0);
	/* the board waits for its second */
	deadline = in_ms(3);
	assert_int_equal(put(destination, BUF_BYTES, deadline), 0);
	assert_int_equal(now(), deadline);
	destination_close(destination);
}

static void interrupted_writes_go_on(void **state)
{
	struct destination *destination = open_vsib("read=1000", FAST);

	(void)state;
	write_error = EINTR;
	write_error_count = 3;
	assert_int_equal(put(destination, 5000, in_ms(1000)), 1000);
	destination_close(destination);
}

static void more_than_was_given_is_an_error(void **state)
{
	struct destination *destination = open_vsib("", FAST);

	(void)state;
	extra_bytes = 4;
	assert_int_equal(put(destination, 5000, in_ms(1000)), -EIO);
	assert_non_null(strstr(destination->error, "took 5004 when 5000 were given"));
	destination_close(destination);
}

static void an_error_of_the_board_is_told(void **state)
{
	struct destination *destination = open_vsib("error=19@10M", FAST);

	(void)state;
	play_to(destination, 10000000);
	assert_int_equal(put(destination, 1000, in_ms(5000)), -ENODEV);
	assert_non_null(strstr(destination->error, "cannot write to the board: No such device"));
	destination_close(destination);
	assert_int_equal(steps[step_count - 1].request, BOARD_SET_MODE); /* stopped all the same */
	assert_int_equal(steps[step_count - 1].value, 0);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void the_ring_is_sent_out_before_the_board_stops(void **state)
{
	for (int round = 0; round < 2; round++) {
		struct destination *destination;
		int64_t sent_ns;

		reset_board(state);
		destination = open_vsib(round ? "round=1" : "", FAST);
		play_to(destination, 3 * RING + 77);
		sent_ns = first_ns() + units_time_for(3 * RING + 77, RATE_BPS);
		assert_true(now() < sent_ns - 100 * MS);
		finish(destination);
		assert_true(now() >= sent_ns);
		assert_true(now() < sent_ns + 60 * MS);
		assert_int_equal(destination_finish(destination, in_ms(0)), 0); /* once is enough */
		destination_close(destination);
	}
}

static void a_clock_that_stops_ends_the_wait_for_the_end(void **state)
{
	struct destination *destination = open_vsib("stop=50ms", FAST);
	int64_t deadline;

	(void)state;
	play_to(destination, RING);
	deadline = in_ms(3000);
	assert_int_equal(destination_finish(destination, deadline), -ETIMEDOUT);
	assert_non_null(strstr(destination->error, "are 1PPS and VSI clock there?"));
	assert_non_null(strstr(destination->error, "bytes were left in the board's ring"));
	assert_int_equal(steps[step_count - 1].request, BOARD_SET_MODE);
	destination_close(destination);
}

static void a_small_ring_whose_clock_stops_is_not_taken_for_empty(void **state)
{
	struct destination *destination = open_vsib("ring=500k:stop=10ms", FAST);

	(void)state;
	play_to(destination, 1000000);
	assert_int_equal(destination_finish(destination, in_ms(3000)), -ETIMEDOUT);
	destination_close(destination);
}

static void a_dma_that_never_ends_is_told(void **state)
{
	struct destination *destination = open_vsib("done=0", FAST);

	(void)state;
	play_to(destination, 1000);
	finish(destination);
	assert_non_null(strstr(destination->note, "DMA didn't end within 2.5 s"));
	destination_close(destination);
}

/* ---- interruptions --------------------------------------------------------------------------- */

static void interrupt_in(struct destination *destination, int64_t ns)
{
	interrupted = destination;
	interrupt_at_ns = now() + ns;
}

static void an_interruption_ends_every_wait(void **state)
{
	struct destination *destination = open_at("", FAST, (NOW_S + 100) * S);
	int64_t begin = now();

	play_to(destination, RING - LUMP);
	interrupt_in(destination, 300 * MS); /* while it waits for the second */
	assert_int_equal(put(destination, 1000, in_ms(90000)), 0);
	assert_true(now() - begin < 400 * MS);
	assert_int_equal(destination_finish(destination, in_ms(90000)), -EINTR);
	assert_non_null(strstr(destination->error, "before the board was started"));
	assert_true(now() - begin < 400 * MS);
	destination_close(destination);

	reset_board(state);
	destination = open_vsib("stop=10ms", FAST);
	play_to(destination, RING);
	interrupt_in(destination, 2 * S); /* while it waits for room */
	while (put(destination, BUF_BYTES, in_ms(90000)) > 0)
		;
	assert_true(destination_is_interrupted(destination));
	assert_true(now() < interrupt_at_ns + 100 * MS);
	assert_int_equal(destination_finish(destination, in_ms(90000)), -EINTR);
	assert_non_null(strstr(destination->error, "bytes were left in the board's ring"));
	assert_true(now() < interrupt_at_ns + 3 * S);
	destination_close(destination);
}

static void an_interruption_ends_the_sending_of_the_rest(void **state)
{
	struct destination *destination = open_vsib("stop=10ms", FAST);

	(void)state;
	play_to(destination, RING);
	interrupt_in(destination, 2 * S);
	assert_int_equal(destination_finish(destination, in_ms(90000)), -EINTR);
	assert_true(now() < interrupt_at_ns + 3 * S);
	assert_int_equal(steps[step_count - 1].request, BOARD_SET_MODE);
	destination_close(destination);
}

/* ---- drivers that know less ------------------------------------------------------------------ */

static void a_driver_that_does_not_tell_its_ring(void **state)
{
	struct destination *destination;

	(void)state;
	assert_int_equal(try_open(&destination, "size=0", FAST, NULL), 0);
	assert_non_null(strstr(destination->note, "taken for the usual 144000000 bytes"));
	destination_start(destination);
	play_to(destination, 3 * RING);
	finish(destination);
	destination_close(destination);

	assert_int_equal(try_open(&destination, "size=0", FAST ",bigbuf=8M", NULL), 0);
	assert_string_equal(destination->note, "");
	destination_close(destination);
	assert_int_equal(try_open(&destination, "", FAST ",bigbuf=9M", NULL), 0);
	assert_non_null(strstr(destination->note, "bigbuf=9000000 is not used"));
	destination_close(destination);
}

static void a_ring_that_is_taken_for_too_small_is_found_out(void **state)
{
	struct destination *destination;

	(void)state;
	assert_int_equal(try_open(&destination, "size=0", FAST ",bigbuf=1M", NULL), 0);
	destination_start(destination);
	play_to(destination, RING - LUMP);
	put(destination, 1000, in_ms(5000));
	assert_non_null(strstr(destination->note, "its size is wrong (give bigbuf=)"));
	assert_int_equal(least_fill(destination), UINT64_MAX);
	destination_close(destination);
}

static void a_driver_that_does_not_tell_its_fill_is_drained_by_the_clock(void **state)
{
	struct destination *destination = open_vsib("fill=0", FAST);
	int64_t deadline;

	play_to(destination, RING - LUMP);
	put(destination, 1000, in_ms(5000));
	assert_non_null(strstr(destination->note, "a ring that runs empty cannot be found out"));
	play_to(destination, 3 * RING);
	finish(destination);
	assert_true(now() >= first_ns() + units_time_for(3 * RING, RATE_BPS));
	assert_true(now() < first_ns() + units_time_for(3 * RING, RATE_BPS) + 60 * MS);
	assert_int_equal(least_fill(destination), UINT64_MAX);
	destination_close(destination);

	reset_board(state);
	destination = open_vsib("fill=0", "mode=1"); /* nor the rate */
	play_to(destination, 3 * RING);
	deadline = in_ms(2000);
	assert_int_equal(destination_finish(destination, deadline), -ETIMEDOUT);
	assert_non_null(strstr(destination->error, "nor is the rate (give clock=)"));
	destination_close(destination);
}

static void without_a_rate_it_plays_all_the_same(void **state)
{
	struct destination *destination = open_vsib("", "mode=1");

	(void)state;
	play_to(destination, 4 * RING);
	assert_int_equal(starved_count(destination), 0);
	finish(destination);
	assert_true(now() >= first_ns() + units_time_for(4 * RING, RATE_BPS));
	destination_close(destination);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void refuse(const char *name, int error, const char *reason)
{
	struct destination *destination;

	assert_int_equal(destination_open(&destination, name, NULL), -error);
	if (!strstr(destination->error, reason))
		fail_msg("%s lacks \"%s\"", destination->error, reason);
	destination_close(destination);
}

static void what_is_no_board_is_refused_in_words(void **state)
{
	(void)state;
	refuse("vsib:/dev/null", ENOTTY, "this is no VSIB board");
	refuse("vsib:/etc/passwd", ENOTTY, "this is no VSIB board");
	refuse("vsib:/dev/no-such-board", ENOENT, "cannot open the board: No such file");
	refuse("vsib:fake,mode=16", ERANGE, "mode=16 is more than 15");
	refuse("vsib:fake,clock=32", EINVAL, "did you mean clock=32M?");
	refuse("vsib:fake,speed=1", EINVAL, "unknown detail \"speed\"");
	refuse("vsib:fake:colour=1", EINVAL, "cannot open the board");
	refuse("-,mode=1", EINVAL, "the standard output is none");
}

static void rates_must_agree(void **state)
{
	struct destination_config config = { .rate_bps = 100000000 };
	struct destination *destination;

	(void)state;
	assert_int_equal(try_open(&destination, "", FAST, &config), -EINVAL);
	assert_non_null(strstr(destination->error, "make 512000000 bit/s, -r says 100000000"));
	destination_close(destination);
	config.rate_bps = RATE_BPS;
	assert_int_equal(try_open(&destination, "", FAST, &config), 0);
	destination_close(destination);
}

static void a_board_on_descriptor_1_is_adopted(void **state)
{
	struct destination *destination;

	(void)state;
	assert_int_equal(try_name(&destination, "vsib:-," FAST, NULL), 0);
	assert_int_equal(adopted_fd, STDOUT_FILENO);
	assert_int_equal(adopted_flags, O_WRONLY);
	play_to(destination, 2 * RING);
	finish(destination);
	destination_close(destination);
}

/* ---- the standard output --------------------------------------------------------------------- */

static bool is_null_a_board; /* then /dev/null knows the board's requests */

int ioctl(int fd, unsigned long request, ...)
{
	void *argument;
	va_list arguments;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (!is_null_a_board || request < BOARD_SET_MODE || request > BOARD_GET_BIGBUF_SIZE)
		return (int)syscall(SYS_ioctl, fd, request, argument);
	keep_step((unsigned)request, 0);
	if (request == BOARD_GET_BIGBUF_SIZE)
		*(unsigned long *)argument = RING;
	else if (request == BOARD_IS_DMA_DONE)
		*(unsigned long *)argument = 1;
	return 0;
}

/* Plays to /dev/null as the standard output; nothing is asserted meanwhile, as that prints. */
static int with_stdout(int flags, struct destination **destination)
{
	int kept = fcntl(1, F_DUPFD_CLOEXEC, 10), null = open("/dev/null", flags), ret;

	fflush(stdout);
	dup2(null, 1);
	close(null);
	is_null_a_board = true;
	ret = destination_open(destination, "-,mode=1,clock=32M", NULL);
	if (!ret)
		ret = destination_start(*destination);
	if (!ret && destination_write(*destination, buf, 5000, units_monotonic_ns() + S) != 5000)
		ret = 1;
	if (!ret)
		ret = destination_finish(*destination, units_monotonic_ns() + 5 * S);
	is_null_a_board = false;
	dup2(kept, 1);
	close(kept);
	return ret;
}

static void a_stdout_that_is_a_board_is_played_to_as_one(void **state)
{
	const struct step expected[] = {
		{ BOARD_GET_STATUS, 0 }, { BOARD_SET_MODE, 0 }, { BOARD_GET_BIGBUF_SIZE, 0 },
		{ BOARD_RESET_DMA, 0 },  { BOARD_SET_MODE, 0 },
	};
	struct destination *destination;

	(void)state;
	if (with_stdout(O_WRONLY, &destination))
		fail_msg("%s", destination->error);
	assert_ptr_equal(destination->ops, &destination_vsib);
	assert_true(destination->device != 0);
	check_steps(expected, 5);
	destination_close(destination);
	assert_int_equal(with_stdout(O_RDWR, &destination), -EBADF);
	assert_non_null(strstr(destination->error, "play with >"));
	destination_close(destination);
}

#define BOARD_TEST(function) cmocka_unit_test_setup(function, reset_board)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOARD_TEST(the_ring_is_filled_then_the_board_started),
		BOARD_TEST(what_fits_into_the_ring_is_started_by_the_end),
		BOARD_TEST(without_data_the_board_is_never_started),
		BOARD_TEST(run_is_set_when_the_second_is_clear),
		BOARD_TEST(a_start_that_is_held_up_is_taken_back),
		BOARD_TEST(it_starts_at_the_wanted_second),
		BOARD_TEST(the_wanted_second_does_not_wait_for_a_full_ring),
		BOARD_TEST(a_start_in_the_past_is_told),
		BOARD_TEST(the_wait_for_the_second_ends_at_the_deadline),
		BOARD_TEST(a_steady_run_never_starves_and_is_not_busy),
		BOARD_TEST(holes_are_counted),
		BOARD_TEST(a_feed_that_is_too_slow_starves_it_again_and_again),
		BOARD_TEST(a_write_ends_at_its_deadline),
		BOARD_TEST(interrupted_writes_go_on),
		BOARD_TEST(more_than_was_given_is_an_error),
		BOARD_TEST(an_error_of_the_board_is_told),
		BOARD_TEST(the_ring_is_sent_out_before_the_board_stops),
		BOARD_TEST(a_clock_that_stops_ends_the_wait_for_the_end),
		BOARD_TEST(a_small_ring_whose_clock_stops_is_not_taken_for_empty),
		BOARD_TEST(a_dma_that_never_ends_is_told),
		BOARD_TEST(an_interruption_ends_every_wait),
		BOARD_TEST(an_interruption_ends_the_sending_of_the_rest),
		BOARD_TEST(a_driver_that_does_not_tell_its_ring),
		BOARD_TEST(a_ring_that_is_taken_for_too_small_is_found_out),
		BOARD_TEST(a_driver_that_does_not_tell_its_fill_is_drained_by_the_clock),
		BOARD_TEST(without_a_rate_it_plays_all_the_same),
		BOARD_TEST(what_is_no_board_is_refused_in_words),
		BOARD_TEST(rates_must_agree),
		BOARD_TEST(a_board_on_descriptor_1_is_adopted),
		BOARD_TEST(a_stdout_that_is_a_board_is_played_to_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
