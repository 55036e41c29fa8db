/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vsib.c - the vsib source on the stand-in board, nearly all of it in virtual time
 *
 * The stand-in's samples tell their true place, so that a loss is checked against what is really
 * missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/board.h"
#include "drivers/sim.h"
#include "drivers/source.h"
#include "drivers/units.h"
#include "drivers/vsib.h"

#define MS INT64_C(1000000)
#define S UNITS_NS_PER_S
#define NOW_S INT64_C(1790000000) /* wall clock of "virtual=1" */
#define BUF_BYTES ((size_t)1 << 20)

static unsigned char buf[BUF_BYTES + 8];

/* ---- a board between the source and the stand-in --------------------------------------------- */

static struct board_ops mine;
static void *board;
#define REQUESTS_MAX 512

static unsigned requests[REQUESTS_MAX]; /* in the order they came, without the looks at the fill */
static unsigned request_count;
static uint32_t run_command;
static int64_t run_utc_ns;
static int64_t hold_up_run_ns;  /* passes once, before RUN reaches the board */
static int64_t hold_up_read_ns; /* passes once, between look and read */
static size_t extra_bytes;      /* read() claims so many more */
static int interruption_count;  /* so often read() gives EINTR */

static int mine_open(const char *path, int flags, void **out)
{
	int ret = board_fake.open(path, flags, out);

	board = ret ? NULL : *out;
	return ret;
}

static int mine_control(void *handle, enum board_request request, unsigned long value,
			unsigned long *result)
{
	if (request != BOARD_GET_BIGBUF_BYTES && request_count < REQUESTS_MAX)
		requests[request_count++] = request;
	if (request == BOARD_SET_MODE && value & BOARD_RUN) {
		board_fake.wait(handle, hold_up_run_ns);
		hold_up_run_ns = 0;
		run_command = (uint32_t)value;
		run_utc_ns = board_fake.realtime_ns(handle);
	}
	return board_fake.control(handle, request, value, result);
}

static ssize_t mine_read(void *handle, void *out, size_t len)
{
	board_fake.wait(handle, hold_up_read_ns);
	hold_up_read_ns = 0;
	if (interruption_count > 0) {
		interruption_count--;
		return -EINTR;
	}
	return board_fake.read(handle, out, len) + (ssize_t)extra_bytes;
}

static int open_on_mine(struct source *source, const struct source_config *config)
{
	return vsib_open_board(source, config, &mine);
}

static int reset_board(void **state)
{
	(void)state;
	mine = board_fake;
	mine.open = mine_open;
	mine.control = mine_control;
	mine.read = mine_read;
	request_count = 0;
	hold_up_run_ns = hold_up_read_ns = 0;
	extra_bytes = 0;
	interruption_count = 0;
	return 0;
}

static int64_t now(void)
{
	return mine.monotonic_ns(board);
}

static void let_pass(int64_t ns)
{
	mine.wait(board, ns);
}

/* @board_settings go to the stand-in, @details to the source */
static int try_open(struct source **source, const char *board_settings, const char *details,
		    const struct source_config *config)
{
	static struct source_ops ops;
	char name[256];

	ops = source_vsib;
	ops.open = open_on_mine;
	snprintf(name, sizeof(name), "vsib:fake:virtual=1%s%s,%s", *board_settings ? ":" : "",
		 board_settings, details);
	return source_open_with(source, &ops, name, config);
}

static struct source *open_vsib(const char *board_settings, const char *details)
{
	struct source *source;

	if (try_open(&source, board_settings, details, NULL))
		fail_msg("%s", source->error);
	return source;
}

static struct source *start_vsib(const char *board_settings, const char *details)
{
	struct source *source = open_vsib(board_settings, details);

	if (source_start(source))
		fail_msg("%s", source->error);
	return source;
}

/* Reads and checks that the bytes are the ones that belong there. */
static ssize_t read_at(struct source *source, uint64_t *position, size_t len, struct source_mark *mark)
{
	ssize_t got = source_read(source, buf, len, now() + 3 * S, mark);

	*position += mark->lost_bytes;
	if (got > 0) {
		assert_int_equal(sim_verify(buf, (size_t)got, *position, 0), got);
		*position += (uint64_t)got;
	}
	return got;
}

static void read_up_to(struct source *source, uint64_t *position, uint64_t end)
{
	struct source_mark mark;

	while (*position < end) {
		assert_true(read_at(source, position, BUF_BYTES, &mark) > 0);
		assert_int_equal(mark.lost_bytes, 0);
	}
}

/* ---- opening --------------------------------------------------------------------------------- */

static void refuse(const char *details, uint64_t rate_bps, const char *reason)
{
	struct source_config config = { .rate_bps = rate_bps };
	struct source *source;
	int ret = try_open(&source, "", details, &config);

	assert_true(ret == -EINVAL || ret == -ERANGE);
	if (!strstr(source->error, reason))
		fail_msg("%s lacks \"%s\": %s", details, reason, source->error);
	source_close(source);
}

static void settings_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	refuse("mode=16", 0, "more than 15");
	refuse("skip=65536", 0, "more than 65535");
	refuse("embed=2", 0, "more than 1");
	refuse("clock=32", 0, "did you mean clock=32M?");
	refuse("clock=fast", 0, "expected a frequency");
	refuse("bigbuf=-1", 0, "expected a size");
	refuse("speed=1", 0, "vsib: knows mode skip clock embed giga bigbuf");
	refuse("mode=0,clock=32M", 512000000, "-r says 512000000");
}

static void what_is_no_board_is_refused_in_words(void **state)
{
	static const char *const names[] = { "vsib:/dev/null", "vsib:/dev/zero", "vsib:/etc/passwd",
					     "vsib:/" };
	int kept = fcntl(0, F_DUPFD_CLOEXEC, 10), ends[2];
	struct source *source;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(source_open(&source, names[i], NULL), -ENOTTY);
		assert_non_null(strstr(source->error, "no VSIB board"));
		source_close(source);
	}
	assert_int_equal(source_open(&source, "vsib:/not/there", NULL), -ENOENT);
	source_close(source);

	/* wr ... < something else */
	assert_int_equal(pipe(ends), 0);
	dup2(ends[0], 0);
	assert_int_equal(source_open(&source, "vsib:-", NULL), -ENOTTY);
	source_close(source);
	assert_int_not_equal(fcntl(0, F_GETFD), -1);
	close(0);
	assert_int_equal(source_open(&source, "vsib:-", NULL), -EBADF);
	source_close(source);
	close(ends[0]);
	close(ends[1]);
	if (kept >= 0) {
		dup2(kept, 0);
		close(kept);
	}
}

static void the_rate_comes_from_mode_clock_and_skip(void **state)
{
	static const struct {
		const char *details;
		uint64_t bps;
		unsigned word_bytes;
	} list[] = {
		{ "mode=0,clock=32M", 1024000000, 4 },
		{ "mode=1,clock=50M,skip=2", 266666667, 2 },
		{ "mode=2,clock=32MHz", 512000000, 2 },
		{ "mode=3,clock=32M", 256000000, 1 },
		{ "mode=4,clock=16M,skip=1", 64000000, 1 },
		{ "mode=6,clock=32M", 128000000, 1 },
		{ "mode=9,clock=32M", 0, 4 },
		{ "", 0, 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct source *source = open_vsib("", list[i].details);

		assert_int_equal(source->rate_bps, list[i].bps);
		assert_int_equal(source->word_bytes, list[i].word_bytes);
		assert_false(source->can_wait);
		assert_false(source->is_paced_by_us);
		if (list[i].bps)
			assert_string_equal(source->note, "");
		else
			assert_non_null(strstr(source->note, "rate isn't known"));
		source_close(source);
	}
}

static void the_ring_size_is_asked_given_or_guessed(void **state)
{
	struct source *source = open_vsib("ring=8M", "mode=1,clock=32M");

	(void)state;
	assert_int_equal(atomic_load(&source->stats.device_ring_bytes), 8000000);
	assert_string_equal(source->note, "");
	source_close(source);
	source = open_vsib("ring=8M", "mode=1,clock=32M,bigbuf=9M");
	assert_int_equal(atomic_load(&source->stats.device_ring_bytes), 8000000);
	assert_non_null(strstr(source->note, "is not used"));
	source_close(source);
	source = open_vsib("ring=8M:size=0", "mode=1,clock=32M,bigbuf=8M");
	assert_int_equal(atomic_load(&source->stats.device_ring_bytes), 8000000);
	assert_string_equal(source->note, "");
	source_close(source);
	source = open_vsib("size=0", "mode=1,clock=32M");
	assert_int_equal(atomic_load(&source->stats.device_ring_bytes), 144000000);
	assert_non_null(strstr(source->note, "usual 144000000 bytes"));
	source_close(source);
}

/* ---- starting -------------------------------------------------------------------------------- */

static void the_first_sample_is_the_next_full_second(void **state)
{
	static const struct {
		const char *now;
		int64_t start_s;
	} list[] = {
		{ "now=1790000000", 1 },     { "now=1790000000.1", 1 },  { "now=1790000000.3", 1 },
		{ "now=1790000000.5", 1 },   { "now=1790000000.79", 1 }, { "now=1790000000.81", 2 },
		{ "now=1790000000.999", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct source *source = start_vsib(list[i].now, "mode=1,clock=32M");
		struct source_mark mark;
		uint64_t position = 0;

		assert_int_equal(source->start_utc_ns, (NOW_S + list[i].start_s) * S);
		assert_true(run_utc_ns % S >= 300 * MS && run_utc_ns % S <= 800 * MS);
		assert_true(run_utc_ns / S + 1 == source->start_utc_ns / S);
		assert_true(read_at(source, &position, BUF_BYTES, &mark) > 0);
		assert_int_equal(mark.utc_ns, source->start_utc_ns);
		assert_true(mine.realtime_ns(board) > source->start_utc_ns);
		assert_string_equal(source->note, "");
		source_close(source);
	}
}

static void a_start_time_is_met(void **state)
{
	struct source_config config = { .start_utc_ns = (NOW_S + 100) * S };
	struct source *source;

	(void)state;
	assert_int_equal(try_open(&source, "", "mode=1,clock=32M", &config), 0);
	assert_int_equal(source_start(source), 0);
	assert_int_equal(source->start_utc_ns, (NOW_S + 100) * S);
	assert_true(run_utc_ns >= (NOW_S + 100) * S - 500 * MS);
	assert_true(run_utc_ns < (NOW_S + 100) * S - 400 * MS);
	assert_string_equal(source->note, "");
	source_close(source);

	config.start_utc_ns = (NOW_S + 100) * S + 1;
	assert_int_equal(try_open(&source, "", "mode=1,clock=32M", &config), 0);
	assert_int_equal(source_start(source), 0);
	assert_int_equal(source->start_utc_ns, (NOW_S + 101) * S);
	assert_non_null(strstr(source->note, "rounded up"));
	source_close(source);

	config.start_utc_ns = (NOW_S - 100) * S;
	assert_int_equal(try_open(&source, "", "mode=1,clock=32M", &config), 0);
	assert_int_equal(source_start(source), 0);
	assert_int_equal(source->start_utc_ns, (NOW_S + 1) * S);
	assert_non_null(strstr(source->note, "too late for a start at 2026-09-21T14:11:40"));
	source_close(source);
}

static void a_run_that_came_too_late_is_taken_back(void **state)
{
	struct source *source = open_vsib("", "mode=1,clock=32M");
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	hold_up_run_ns = 650 * MS; /* RUN at .95: this second or the next? */
	assert_int_equal(source_start(source), 0);
	assert_int_equal(source->start_utc_ns, (NOW_S + 2) * S);
	assert_true(read_at(source, &position, BUF_BYTES, &mark) > 0);
	assert_int_equal(source->start_utc_ns, (NOW_S + 2) * S);
	source_close(source);
}

static void the_command_word_says_everything(void **state)
{
	struct source *source = start_vsib("", "mode=3,skip=5,embed=1,giga=1,clock=32M");

	(void)state;
	assert_int_equal(run_command, 0xe0030005);
	source_close(source);
	source = start_vsib("", "mode=13,skip=65535");
	assert_int_equal(run_command, 0x800dffff);
	source_close(source);
}

static void a_second_that_was_missed_is_noticed_at_the_first_sample(void **state)
{
	/*
	 * the 1PPS comes 0.4 s after the wall clock's second, and RUN at .3: the board begins a
	 * second early
	 */
	struct source *source = start_vsib("pps=400ms", "mode=1,clock=32M");
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	assert_int_equal(source->start_utc_ns, (NOW_S + 1) * S);
	assert_true(read_at(source, &position, BUF_BYTES, &mark) > 0);
	assert_int_equal(source->start_utc_ns, NOW_S * S);
	assert_int_equal(mark.utc_ns, NOW_S * S);
	assert_non_null(strstr(source->note, "1 s earlier than planned"));
	read_up_to(source, &position, 200000000);
	assert_int_equal(atomic_load(&source->stats.lost_bytes), 0);
	source_close(source);
}

static void an_interrupt_ends_start_and_read(void **state)
{
	struct source *source = open_vsib("", "mode=1,clock=32M");
	struct source_mark mark;

	(void)state;
	source_interrupt(source);
	assert_int_equal(source_start(source), -EINTR);
	source_close(source);
	source = start_vsib("", "mode=1,clock=32M");
	source_interrupt(source);
	assert_int_equal(source_read(source, buf, 4096, now() + 60 * S, &mark), SOURCE_NOT_YET);
	source_close(source);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void a_zero_read_means_not_yet(void **state)
{
	struct source *source = start_vsib("ring=8M", "mode=1,clock=32M");
	struct source_mark mark;
	int64_t deadline = now() + 100 * MS;

	(void)state;
	/* 1PPS comes in 0.7 s */
	assert_int_equal(source_read(source, buf, 4096, deadline, &mark), SOURCE_NOT_YET);
	assert_int_equal(now(), deadline);
	assert_true(atomic_load(&source->stats.wait_count) >= 10);
	assert_true(source_read(source, buf, 4096, now() + S, &mark) > 0);
	source_close(source);
}

static void without_samples_the_user_is_told_once(void **state)
{
	struct source *source = start_vsib("stop=0", "mode=1,clock=32M");
	struct source_mark mark;
	int told_count = 0;

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(source_read(source, buf, 4096, now() + S, &mark), SOURCE_NOT_YET);
		told_count += strstr(source->note, "are 1PPS and VSI clock connected?") != NULL;
	}
	assert_int_equal(told_count, 1);
	assert_int_equal(atomic_load(&source->stats.lost_bytes), 0);
	source_close(source);
}

static void samples_arrive_whole_and_in_order_round_the_ring(void **state)
{
	static const char *const boards[] = { "ring=1M", "ring=8M:read=1000", "ring=8M:descrs=50" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct source *source = start_vsib(boards[i], "mode=1,clock=32M");
		uint64_t position = 0, max;

		read_up_to(source, &position, 20000000);
		assert_int_equal(atomic_load(&source->stats.received_bytes), position);
		assert_int_equal(atomic_load(&source->stats.lost_bytes), 0);
		max = atomic_load(&source->stats.device_fill_max_bytes);
		assert_true(max > 0 && max < atomic_load(&source->stats.device_ring_bytes));
		source_close(source);
	}
}

static void a_late_reader_loses_exactly_k_rings(void **state)
{
	static const struct {
		int64_t percent; /* of a ring's time that the reader is away */
		uint64_t ring_count;
	} list[] = {
		{ 50, 0 },  { 95, 0 },  { 105, 1 },   { 150, 1 }, { 195, 1 },
		{ 205, 2 }, { 260, 2 }, { 1050, 10 }, { 20, 0 },  { 100075, 1000 },
	};
	struct source *source = start_vsib("ring=8M", "mode=1,clock=32M");
	const int64_t ring_ns = 125 * MS;
	uint64_t position = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct source_mark mark;
		ssize_t got;

		read_up_to(source, &position, position + 4000000);
		/* empty it to the last lump */
		do {
			got = source_read(source, buf, BUF_BYTES, now(), &mark);
			position += got > 0 ? (uint64_t)got : 0;
		} while (got > 0);
		let_pass(ring_ns * list[i].percent / 100);
		assert_true(read_at(source, &position, 5000, &mark) > 0);
		assert_int_equal(mark.lost_bytes, list[i].ring_count * 8000000);
		assert_int_equal(mark.is_estimated, list[i].ring_count > 0);
		assert_int_equal(mark.utc_ns,
				 source->start_utc_ns + units_time_for(position - 5000, 512000000));
	}
	assert_int_equal(atomic_load(&source->stats.estimated_bytes), UINT64_C(8000000) * 1017);
	source_close(source);
}

static void a_reader_that_is_always_too_slow_keeps_its_place(void **state)
{
	struct source *source = start_vsib("ring=1M", "mode=1,clock=32M");
	struct source_mark mark;
	uint64_t position = 0, made;

	(void)state;
	read_up_to(source, &position, 100000);
	for (int i = 0; i < 1000; i++) {
		let_pass(2 * MS); /* 128,000 bytes come, 60,000 are taken */
		assert_true(read_at(source, &position, 60000, &mark) > 0);
		assert_true(mark.lost_bytes == 0 || mark.lost_bytes == 1000000);
	}
	made = units_bytes_at(512000000, mine.realtime_ns(board) - source->start_utc_ns);
	assert_true(position <= made && made - position <= 1000000);
	assert_true(atomic_load(&source->stats.lost_bytes) > 60000000);
	source_close(source);
}

static void a_wrap_between_look_and_read_is_told_before_its_data(void **state)
{
	struct source *source = start_vsib("ring=8M", "mode=1,clock=32M");
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	read_up_to(source, &position, 1000000);
	hold_up_read_ns = 150 * MS;
	assert_true(read_at(source, &position, 5000, &mark) > 0);
	assert_int_equal(mark.lost_bytes, 8000000);
	read_up_to(source, &position, position + 20000000);
	source_close(source);
}

static void clocks_that_drift_apart_are_no_loss(void **state)
{
	/* 0.2 % apart: in 100 s two rings */
	static const char *const boards[] = { "ring=100k:clock=998k", "ring=100k:clock=1002k" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct source *source = start_vsib(boards[i], "mode=3,clock=1M");
		uint64_t position = 0;

		read_up_to(source, &position, 100000000);
		assert_int_equal(atomic_load(&source->stats.lost_bytes), 0);
		source_close(source);
	}
}

static void a_clock_that_stops_is_no_loss_but_a_silence(void **state)
{
	struct source *source = start_vsib("ring=1M:stop=1s", "mode=1,clock=32M");
	struct source_mark mark;
	uint64_t position = 0;
	int64_t before;

	(void)state;
	while (read_at(source, &position, BUF_BYTES, &mark) > 0)
		;
	assert_true(position > 63000000 && position <= 64000000);
	for (int i = 0; i < 20; i++)
		assert_int_equal(source_read(source, buf, 4096, now() + S, &mark), SOURCE_NOT_YET);
	assert_int_equal(atomic_load(&source->stats.lost_bytes), 0);
	before = now();
	source_stop(source);
	assert_true(now() - before >= 2500 * MS && now() - before < 2600 * MS);
	assert_non_null(strstr(source->note, "didn't end within 2.5 s"));
	source_close(source);
}

static void a_wrong_ring_size_is_found_out(void **state)
{
	struct source *source = start_vsib("ring=8M:size=0", "mode=1,clock=32M,bigbuf=1M");
	struct source_mark mark;

	(void)state;
	assert_true(source_read(source, buf, 100, now() + 2 * S, &mark) > 0);
	assert_non_null(strstr(source->note, "its size is wrong"));
	let_pass(10 * S);
	assert_true(source_read(source, buf, 100, now() + 2 * S, &mark) > 0);
	assert_int_equal(mark.lost_bytes, 0);
	source_close(source);
}

static void an_errno_of_the_board_is_fatal_and_told(void **state)
{
	struct source *source = start_vsib("ring=8M:error=5@1000001", "mode=1,clock=32M");
	struct source_mark mark;
	uint64_t position = 0;
	ssize_t got;

	(void)state;
	while ((got = read_at(source, &position, 70000, &mark)) > 0)
		;
	assert_int_equal(got, -EIO);
	assert_int_equal(position, 1000001);
	assert_non_null(strstr(source->error, "cannot read the board: Input/output error"));
	source_close(source);
}

static void an_interrupted_read_is_repeated_and_an_unknown_errno_is_named(void **state)
{
	struct source *source = start_vsib("error=512@1000", "mode=1,clock=32M");
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	interruption_count = 5;
	assert_int_equal(read_at(source, &position, 70000, &mark), 1000);
	assert_int_equal(interruption_count, 0);
	assert_int_equal(source_read(source, buf, 4096, now() + S, &mark), -EIO);
	assert_non_null(strstr(source->error, "unknown error 512"));
	source_close(source);
}

static void more_bytes_than_asked_for_are_a_fatal_error(void **state)
{
	struct source *source = start_vsib("", "mode=1,clock=32M,embed=1");
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	while (position < 100)
		position += (uint64_t)source_read(source, buf, 4096, now() + 2 * S, &mark);
	let_pass(100 * MS);
	extra_bytes = 1;
	assert_int_equal(source_read(source, buf, 4096, now() + S, &mark), -EIO);
	assert_non_null(strstr(source->error, "4097 bytes when 4096"));
	source_close(source);
}

/* ---- 1PPS markers ---------------------------------------------------------------------------- */

static void markers_are_found_where_they_belong(void **state)
{
	static const struct {
		const char *details;
		size_t len;
	} list[] = {
		{ "mode=0,clock=1M,embed=1", 65536 },
		{ "mode=1,clock=1M,embed=1", 7777 },
		{ "mode=3,clock=1M,embed=1", 1001 },
		{ "mode=0,clock=2M,embed=1,skip=1", 999 },
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct source *source = start_vsib("ring=1M:clock=1M", list[i].details);
		struct source_mark mark;
		int64_t end;

		if (i == 3) {
			source_close(source);
			source = start_vsib("ring=1M:clock=2M", list[i].details);
		}
		end = source->start_utc_ns + 5 * S + 500 * MS;
		while (mine.realtime_ns(board) < end)
			source_read(source, buf, list[i].len, now() + S, &mark);
		assert_int_equal(atomic_load(&source->stats.marker_count), 6);
		assert_int_equal(atomic_load(&source->stats.marker_missing_count), 0);
		source_close(source);
	}
}

static void an_absent_marker_is_told_and_missing_samples_are_counted(void **state)
{
	/*
	 * 4 MB/s; 125 samples vanish in second 2, so the marker of second 3 comes that much
	 * early
	 */
	struct source *source = start_vsib("ring=1M:clock=1M:slip=500@10M", "mode=0,clock=1M,embed=1");
	struct source_mark mark;
	bool has_noted_absence = false, has_noted_loss = false;
	uint64_t lost = 0;

	(void)state;
	while (atomic_load(&source->stats.received_bytes) < 25000000) {
		if (source_read(source, buf, 65536, now() + S, &mark) <= 0)
			continue;
		lost += mark.lost_bytes;
		has_noted_absence |=
			strstr(source->note, "absent at second 3, found 125 samples too early") != NULL;
		has_noted_loss |= strstr(source->note, "come 125 samples early") != NULL;
	}
	assert_true(has_noted_absence);
	assert_true(has_noted_loss);
	assert_int_equal(lost, 500);
	assert_int_equal(atomic_load(&source->stats.marker_missing_count), 2);
	assert_int_equal(atomic_load(&source->stats.marker_count), 3 + 2);
	source_close(source);
}

static void absent_markers_are_told_once_in_ten_seconds(void **state)
{
	/*
	 * the board's second is longer than the source was told: only the first marker is in
	 * its place
	 */
	struct source *source = start_vsib("ring=1M:clock=1001k", "mode=0,clock=1M,embed=1");
	struct source_mark mark;
	int note_count = 0;

	(void)state;
	while (atomic_load(&source->stats.received_bytes) < 82000000) {
		source_read(source, buf, 65536, now() + S, &mark);
		note_count += strstr(source->note, "marker absent") != NULL;
	}
	assert_int_equal(atomic_load(&source->stats.marker_missing_count), 20);
	assert_true(note_count >= 2 && note_count <= 3);
	source_close(source);
}

static void markers_that_cannot_be_placed_are_not_checked(void **state)
{
	struct source *source = open_vsib("", "mode=1,clock=50M,skip=2,embed=1");

	(void)state;
	assert_non_null(strstr(source->note, "no whole number of samples"));
	source_close(source);
	source = open_vsib("", "mode=1,embed=1");
	assert_non_null(strstr(source->note, "markers are not checked: the rate isn't known"));
	source_close(source);
}

static void markers_stay_in_place_behind_a_ring_loss(void **state)
{
	struct source *source = start_vsib("ring=1M:clock=1M", "mode=0,clock=1M,embed=1");
	struct source_mark mark;

	(void)state;
	while (atomic_load(&source->stats.received_bytes) < 9000000)
		source_read(source, buf, 65536, now() + S, &mark);
	let_pass(2600 * MS); /* 10.4 rings, and seconds 3 and 4 with them */
	while (atomic_load(&source->stats.received_bytes) < 20000000)
		source_read(source, buf, 65536, now() + S, &mark);
	assert_int_equal(atomic_load(&source->stats.lost_bytes), 10000000);
	assert_int_equal(atomic_load(&source->stats.marker_missing_count), 0);
	assert_true(atomic_load(&source->stats.marker_count) >= 5);
	source_close(source);
}

/* ---- stopping -------------------------------------------------------------------------------- */

static void stopping_waits_for_the_dma_and_leaves_the_rest_to_be_read(void **state)
{
	struct source *source = start_vsib("ring=8M", "mode=1,clock=32M");
	struct source_mark mark;
	uint64_t position = 0;
	ssize_t got;
	unsigned first;

	(void)state;
	read_up_to(source, &position, 1000000);
	let_pass(50 * MS);
	request_count = 0;
	source_stop(source);
	source_stop(source);
	assert_int_equal(requests[0], BOARD_DELAYED_STOP_DMA);
	for (first = 1; requests[first] == BOARD_IS_DMA_DONE; first++)
		;
	assert_true(first >= 2);
	assert_int_equal(requests[first], BOARD_SET_MODE);
	assert_int_equal(request_count, first + 1);
	assert_string_equal(source->note, "");

	let_pass(60 * S); /* nothing comes any more, so nothing is lost either */
	while ((got = read_at(source, &position, 100000, &mark)) > 0)
		assert_int_equal(mark.lost_bytes, 0);
	assert_int_equal(got, SOURCE_END);
	assert_true(position > 3000000);
	source_close(source);
}

static void a_board_that_runs_is_stopped_by_close(void **state)
{
	struct source *source = start_vsib("", "mode=1,clock=32M");

	(void)state;
	source_close(source);
	assert_int_equal(requests[request_count - 1], BOARD_SET_MODE);
}

/* ---- in real time, as a user has it ---------------------------------------------------------- */

static void the_stand_in_runs_in_real_time_by_its_name(void **state)
{
	struct source *source;
	struct source_mark mark;
	uint64_t position = 0;
	int64_t end;

	(void)state;
	assert_int_equal(source_open(&source, "vsib:fake:ring=16M,mode=3,clock=32M", NULL), 0);
	assert_int_equal(source_start(source), 0);
	assert_int_equal(source->start_utc_ns % S, 0);
	end = units_monotonic_ns() + (source->start_utc_ns - units_realtime_ns()) + 200 * MS;
	while (units_monotonic_ns() < end) {
		ssize_t got = source_read(source, buf, BUF_BYTES, end, &mark);

		if (got == SOURCE_NOT_YET)
			continue;
		assert_true(got > 0);
		position += mark.lost_bytes;
		assert_int_equal(sim_verify(buf, (size_t)got, position, 0), got);
		position += (uint64_t)got;
	}
	assert_true(position > 0);
	assert_true(atomic_load(&source->stats.wait_count) < 2000);
	source_close(source);
}

#define BOARD_TEST(function) cmocka_unit_test_setup(function, reset_board)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOARD_TEST(settings_that_make_no_sense_are_refused),
		BOARD_TEST(what_is_no_board_is_refused_in_words),
		BOARD_TEST(the_rate_comes_from_mode_clock_and_skip),
		BOARD_TEST(the_ring_size_is_asked_given_or_guessed),
		BOARD_TEST(the_first_sample_is_the_next_full_second),
		BOARD_TEST(a_start_time_is_met),
		BOARD_TEST(a_run_that_came_too_late_is_taken_back),
		BOARD_TEST(the_command_word_says_everything),
		BOARD_TEST(a_second_that_was_missed_is_noticed_at_the_first_sample),
		BOARD_TEST(an_interrupt_ends_start_and_read),
		BOARD_TEST(a_zero_read_means_not_yet),
		BOARD_TEST(without_samples_the_user_is_told_once),
		BOARD_TEST(samples_arrive_whole_and_in_order_round_the_ring),
		BOARD_TEST(a_late_reader_loses_exactly_k_rings),
		BOARD_TEST(a_reader_that_is_always_too_slow_keeps_its_place),
		BOARD_TEST(a_wrap_between_look_and_read_is_told_before_its_data),
		BOARD_TEST(clocks_that_drift_apart_are_no_loss),
		BOARD_TEST(a_clock_that_stops_is_no_loss_but_a_silence),
		BOARD_TEST(a_wrong_ring_size_is_found_out),
		BOARD_TEST(an_errno_of_the_board_is_fatal_and_told),
		BOARD_TEST(an_interrupted_read_is_repeated_and_an_unknown_errno_is_named),
		BOARD_TEST(more_bytes_than_asked_for_are_a_fatal_error),
		BOARD_TEST(markers_are_found_where_they_belong),
		BOARD_TEST(an_absent_marker_is_told_and_missing_samples_are_counted),
		BOARD_TEST(absent_markers_are_told_once_in_ten_seconds),
		BOARD_TEST(markers_that_cannot_be_placed_are_not_checked),
		BOARD_TEST(markers_stay_in_place_behind_a_ring_loss),
		BOARD_TEST(stopping_waits_for_the_dma_and_leaves_the_rest_to_be_read),
		BOARD_TEST(a_board_that_runs_is_stopped_by_close),
		BOARD_TEST(the_stand_in_runs_in_real_time_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
