/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_litepcie.c - dev:PATH,type=litepcie on the stand-in, in virtual time
 *
 * The stand-in's samples tell their true place, so that a loss is checked against what is really
 * missing, buffer by buffer.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/dev.h"
#include "drivers/node.h"
#include "drivers/sim.h"
#include "drivers/source.h"
#include "drivers/units.h"

#define MS INT64_C(1000000)
#define S UNITS_NS_PER_S
#define BUFFER ((size_t)8192)
#define SAFE 128
#define BUFFER_NS INT64_C(128000) /* at 512 Mbit/s */
#define BUF_BYTES ((size_t)1 << 21)

static unsigned char buf[BUF_BYTES];

/* ---- a node between the source and the stand-in ---------------------------------------------- */

static struct node_ops mine;
static void *node;
static int64_t hold_up_ns;     /* passes once, between look and read */
static int interruption_count; /* so often read() gives EINTR */
static size_t odd_bytes;       /* read() claims so many more */
static int64_t counter_error;  /* added to the count of filled buffers */
static uint64_t longest_read;

static int mine_open(const char *path, int flags, void **out)
{
	int ret = litepcie_fake.open(path, flags, out);

	node = ret ? NULL : *out;
	return ret;
}

static ssize_t mine_read(void *handle, void *out, size_t len)
{
	litepcie_fake.wait(handle, hold_up_ns);
	hold_up_ns = 0;
	if (len > longest_read)
		longest_read = len;
	if (interruption_count > 0) {
		interruption_count--;
		return -EINTR;
	}
	return litepcie_fake.read(handle, out, len) + (ssize_t)odd_bytes;
}

static int mine_control(void *handle, unsigned long request, void *argument)
{
	int ret = litepcie_fake.control(handle, request, argument);

	if (request == NODE_LITEPCIE_WRITER)
		((struct node_litepcie_writer *)argument)->hw_count += counter_error;
	return ret;
}

static int open_on_mine(struct source *source, const struct source_config *config)
{
	return litepcie_open_node(source, config, &mine);
}

static int reset(void **state)
{
	(void)state;
	mine = litepcie_fake;
	mine.open = mine_open;
	mine.read = mine_read;
	mine.control = mine_control;
	hold_up_ns = counter_error = 0;
	interruption_count = 0;
	odd_bytes = 0;
	longest_read = 0;
	return 0;
}

static int64_t now(void)
{
	return mine.monotonic_ns(node);
}

static int try_open(struct source **source, const char *settings)
{
	static struct source_ops ops;
	char name[256];

	ops = source_litepcie;
	ops.open = open_on_mine;
	snprintf(name, sizeof(name), "dev:fake:virtual=1%s%s", *settings ? ":" : "", settings);
	return source_open_with(source, &ops, name, NULL);
}

static struct source *start(const char *settings)
{
	struct source *source;

	if (try_open(&source, settings) || source_start(source))
		fail_msg("%s", source->error);
	return source;
}

/* Reads and checks that the bytes are the ones that belong there. */
static ssize_t read_at(struct source *source, uint64_t *position, size_t len, struct source_mark *mark)
{
	ssize_t got = source_read(source, buf, len, now() + S, mark);

	*position += mark->lost_bytes;
	assert_false(mark->is_estimated);
	if (got > 0) {
		assert_int_equal(sim_verify(buf, (size_t)got, *position, 0), got);
		*position += (uint64_t)got;
	}
	return got;
}

static void read_up_to(struct source *source, uint64_t *position, uint64_t end, size_t len)
{
	struct source_mark mark;

	while (*position < end) {
		assert_true(read_at(source, position, len, &mark) > 0);
		assert_int_equal(mark.lost_bytes, 0);
	}
}

static uint64_t lost(const struct source *source)
{
	return atomic_load(&source->stats.lost_bytes);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void refuse(const char *settings, int error, const char *reason)
{
	struct source *source;

	assert_int_equal(try_open(&source, settings), -error);
	if (!strstr(source->error, reason))
		fail_msg("%s lacks \"%s\": %s", settings, reason, source->error);
	source_close(source);
}

static void what_cannot_be_opened_is_refused_in_words(void **state)
{
	struct source *source;

	(void)state;
	refuse("busy=1", EBUSY, "another program has the DMA");
	refuse("error=19@0", ENODEV, "the device is gone");
	refuse("buffers=1", EIO, "a ring of 1 buffers");
	refuse("nonsense=1", EINVAL, "Invalid argument");
	assert_int_equal(source_open(&source, "dev:/dev/zero,type=litepcie", NULL), -ENOTTY);
	assert_non_null(strstr(source->error, "no LitePCIe device"));
	source_close(source);
	assert_int_equal(source_open(&source, "dev:fake,type=litepcie,eop", NULL), -EINVAL);
	assert_non_null(strstr(source->error, "eop goes with type=xdma"));
	source_close(source);
}

static void the_ring_is_asked_for_or_known(void **state)
{
	static const struct {
		const char *settings;
		uint64_t bytes;
	} list[] = {
		{ "", 1 << 20 },
		{ "info=0", 1 << 20 },
		{ "buffer=16Ki:buffers=64", 1 << 19 },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct source *source;
		uint64_t position = 0;

		source = start(list[i].settings);
		assert_int_equal(atomic_load(&source->stats.device_ring_bytes), list[i].bytes);
		assert_false(source->can_wait);
		assert_false(source->is_paced_by_us);
		read_up_to(source, &position, 10000000, BUF_BYTES);
		source_close(source);
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

static void samples_arrive_whole_and_in_order(void **state)
{
	static const size_t lens[] = { BUF_BYTES, 65536, BUFFER, 12345, 4096, 1, BUFFER + 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct source *source = start("");
		uint64_t position = 0, end = lens[i] == 1 ? 20000 : 3000000;
		uint64_t max;

		read_up_to(source, &position, end, lens[i]);
		assert_int_equal(atomic_load(&source->stats.received_bytes), position);
		assert_int_equal(longest_read % BUFFER, 0);
		max = atomic_load(&source->stats.device_fill_max_bytes);
		assert_true(max >= 32 * BUFFER && max <= SAFE * BUFFER);
		assert_int_equal(lost(source), 0);
		source_close(source);
	}
}

static void nothing_comes_before_the_first_interrupt(void **state)
{
	struct source *source = start("");
	struct source_mark mark;
	int64_t deadline = now() + 31 * BUFFER_NS;

	(void)state;
	assert_int_equal(source_read(source, buf, BUF_BYTES, deadline, &mark), SOURCE_NOT_YET);
	assert_int_equal(now(), deadline);
	assert_int_equal(source_read(source, buf, BUF_BYTES, now() + BUFFER_NS, &mark), 32 * BUFFER);
	assert_int_equal(now(), deadline + BUFFER_NS);
	assert_true(atomic_load(&source->stats.wait_count) > 0);
	source_close(source);
}

static void an_interrupt_ends_a_wait_but_gives_what_is_there(void **state)
{
	struct source *source = start("");
	struct source_mark mark;
	int64_t before = now();

	(void)state;
	source_interrupt(source);
	assert_int_equal(source_read(source, buf, BUF_BYTES, now() + 60 * S, &mark), SOURCE_NOT_YET);
	assert_int_equal(now(), before);
	mine.wait(node, 40 * BUFFER_NS);
	assert_int_equal(source_read(source, buf, BUF_BYTES, now() + 60 * S, &mark), 32 * BUFFER);
	source_close(source);
}

static void a_signal_in_a_read_is_no_loss(void **state)
{
	struct source *source = start("");
	uint64_t position = 0;

	(void)state;
	interruption_count = 5;
	read_up_to(source, &position, 1000000, BUF_BYTES);
	assert_int_equal(interruption_count, 0);
	source_close(source);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void a_late_reader_loses_exactly_what_the_counters_tell(void **state)
{
	static const struct {
		int64_t away; /* in buffers, from a ring just emptied; interrupts come each 32 */
		uint64_t lost_count;
	} list[] = {
		{ 96, 0 },    { 128, 0 },   { 160, 32 },       { 256, 128 }, { 288, 160 },
		{ 320, 192 }, { 512, 384 }, { 100000, 99872 }, { 32, 0 },
	};
	static const size_t lens[] = { BUF_BYTES, BUFFER, 4096, 3 * BUFFER - 1 };

	(void)state;
	for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
		struct source *source = start("");
		uint64_t position = 0;

		for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
			struct source_mark mark;
			uint64_t before;

			/* up to date, at an interrupt */
			read_up_to(source, &position, position + 32 * BUFFER, BUF_BYTES);
			assert_int_equal(position % (32 * BUFFER), 0);
			before = position;
			mine.wait(node, list[i].away * BUFFER_NS);
			assert_true(read_at(source, &position, lens[k], &mark) > 0);
			assert_int_equal(mark.lost_bytes, list[i].lost_count * BUFFER);
			/* none of the rest of these is missing */
			read_up_to(source, &position, before + (uint64_t)list[i].away * BUFFER,
				   lens[k]);
			if (position % BUFFER)
				read_up_to(source, &position, position + BUFFER - position % BUFFER,
					   BUFFER - position % BUFFER);
		}
		source_close(source);
	}
}

static void a_full_ring_is_seen_in_the_fill(void **state)
{
	struct source *source = start("");
	uint64_t position = 0;

	(void)state;
	mine.wait(node, 1000 * BUFFER_NS);
	read_at(source, &position, BUF_BYTES, &(struct source_mark){ 0 });
	assert_int_equal(atomic_load(&source->stats.device_fill_max_bytes),
			 atomic_load(&source->stats.device_ring_bytes));
	source_close(source);
}

static void what_is_lost_between_look_and_read_is_found(void **state)
{
	struct source *source = start("");
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	mine.wait(node, 128 * BUFFER_NS);
	hold_up_ns = 64 * BUFFER_NS; /* the first 64 of the 128 that were there */
	assert_int_equal(read_at(source, &position, BUF_BYTES, &mark), 64 * BUFFER);
	assert_int_equal(mark.lost_bytes, 64 * BUFFER);
	read_up_to(source, &position, 192 * BUFFER, BUF_BYTES);
	assert_int_equal(lost(source), 64 * BUFFER);

	mine.wait(node, 128 * BUFFER_NS);
	hold_up_ns = 512 * BUFFER_NS; /* all of them, and more */
	assert_true(read_at(source, &position, BUF_BYTES, &mark) > 0);
	assert_int_equal(mark.lost_bytes, 512 * BUFFER);
	source_close(source);
}

static void holes_in_the_middle_of_a_read_are_each_at_their_place(void **state)
{
	/* a buffer's copying takes longer than its coming: the reader falls behind for ever */
	static const char *const settings[] = { "copy=150us", "copy=200us", "copy=1ms",
						"copy=140us:irq=1", "copy=300us:info=0:irq=7" };
	static const size_t lens[] = { BUF_BYTES, 100000, 4096 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		for (size_t k = 0; k < 3; k++) {
			struct source *source = start(settings[i]);
			uint64_t position = 0;
			unsigned hole_count = 0;

			while (position < 40000000) {
				struct source_mark mark;

				assert_true(read_at(source, &position, lens[k], &mark) > 0);
				hole_count += mark.lost_bytes > 0;
				assert_int_equal(mark.lost_bytes % BUFFER, 0);
			}
			assert_true(hole_count > 10);
			assert_int_equal(lost(source) + atomic_load(&source->stats.received_bytes),
					 position);
			source_close(source);
		}
	}
}

static void a_planned_loss_is_exact(void **state)
{
	struct source *source = start("late=80Ki@1Mi");
	uint64_t position = 0;
	struct source_mark mark;

	(void)state;
	read_up_to(source, &position, 1 << 20, 100000);
	assert_int_equal(position, 1 << 20);
	assert_true(read_at(source, &position, 100000, &mark) > 0);
	assert_int_equal(mark.lost_bytes, 80 << 10);
	read_up_to(source, &position, 5000000, 100000);
	source_close(source);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void what_is_in_the_ring_at_the_stop_is_still_given(void **state)
{
	struct source *source = start("");
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	mine.wait(node, 64 * BUFFER_NS);
	assert_int_equal(read_at(source, &position, 1000, &mark), 1000);
	mine.wait(node, 64 * BUFFER_NS);
	source_stop(source);
	mine.wait(node, S);
	read_up_to(source, &position, 128 * BUFFER, 100000);
	assert_int_equal(position, 128 * BUFFER);
	assert_int_equal(read_at(source, &position, 100000, &mark), SOURCE_END);
	assert_int_equal(mark.lost_bytes, 0);
	source_close(source);
}

static void a_loss_before_the_stop_is_told(void **state)
{
	static const int64_t away[] = { 64, 400 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct source *source = start("");
		struct source_mark mark;
		uint64_t position = 0;

		/* once with half a buffer kept, once with nothing */
		if (i == 0) {
			mine.wait(node, 32 * BUFFER_NS);
			assert_int_equal(read_at(source, &position, 4096, &mark), 4096);
			mine.wait(node, 128 * BUFFER_NS);
		}
		mine.wait(node, away[i] * BUFFER_NS);
		source_stop(source);
		while (read_at(source, &position, 50000, &mark) > 0)
			;
		assert_true(lost(source) >= 64 * BUFFER);
		assert_int_equal(lost(source) + atomic_load(&source->stats.received_bytes), position);
		source_close(source);
	}
}

static void a_device_that_is_unplugged_is_an_error_in_words(void **state)
{
	struct source *source = start("error=19@1Mi");
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	read_up_to(source, &position, 1 << 20, BUF_BYTES);
	assert_int_equal(position, 1 << 20);
	assert_int_equal(read_at(source, &position, BUF_BYTES, &mark), -ENODEV);
	assert_non_null(strstr(source->error, "was it unplugged"));
	source_close(source);
}

static void what_makes_no_sense_is_an_error(void **state)
{
	struct source *source = start("stop=5ms"); /* 32 buffers and no more */
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	mine.wait(node, 32 * BUFFER_NS);
	odd_bytes = 100;
	assert_int_equal(read_at(source, &position, BUF_BYTES, &mark), -EIO);
	assert_non_null(strstr(source->error, "buffers of 8192 bytes were asked for"));
	odd_bytes = 0;
	counter_error = -100;
	assert_int_equal(read_at(source, &position, BUF_BYTES, &mark), -EIO);
	assert_non_null(strstr(source->error, "the counters make no sense"));
	counter_error = 64; /* buffers that aren't there: no spinning, no data */
	assert_int_equal(read_at(source, &position, BUF_BYTES, &mark), SOURCE_NOT_YET);
	source_close(source);
}

static void a_sampler_that_stops_is_silence(void **state)
{
	struct source *source = start("stop=20ms");
	struct source_mark mark;
	uint64_t position = 0;
	int64_t deadline;

	(void)state;
	read_up_to(source, &position, 128 * BUFFER, BUF_BYTES);
	deadline = now() + 5 * S;
	assert_int_equal(source_read(source, buf, BUF_BYTES, deadline, &mark), SOURCE_NOT_YET);
	assert_int_equal(now(), deadline);
	source_close(source);
}

/* ---------------------------------------------------------------------------------------------- */

#define TEST(function) cmocka_unit_test_setup(function, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_cannot_be_opened_is_refused_in_words),
		TEST(the_ring_is_asked_for_or_known),
		TEST(samples_arrive_whole_and_in_order),
		TEST(nothing_comes_before_the_first_interrupt),
		TEST(an_interrupt_ends_a_wait_but_gives_what_is_there),
		TEST(a_signal_in_a_read_is_no_loss),
		TEST(a_late_reader_loses_exactly_what_the_counters_tell),
		TEST(a_full_ring_is_seen_in_the_fill),
		TEST(what_is_lost_between_look_and_read_is_found),
		TEST(holes_in_the_middle_of_a_read_are_each_at_their_place),
		TEST(a_planned_loss_is_exact),
		TEST(what_is_in_the_ring_at_the_stop_is_still_given),
		TEST(a_loss_before_the_stop_is_told),
		TEST(a_device_that_is_unplugged_is_an_error_in_words),
		TEST(what_makes_no_sense_is_an_error),
		TEST(a_sampler_that_stops_is_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
