/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_xdma.c - dev:PATH,type=xdma on the stand-in, in virtual time
 *
 * The stand-in refuses what is not aligned, and its samples tell their true place.
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
#define BUF_BYTES ((size_t)16 << 20)

static unsigned char buf[BUF_BYTES] __attribute__((aligned(1 << 20)));

/* ---- a node between the source and the stand-in ---------------------------------------------- */

static struct node_ops mine;
static void *node;
static unsigned misaligned_count;
static uint64_t longest_read;
static size_t extra_bytes; /* read() claims so many more */
static int answer;         /* read() gives this once, without a word of the stand-in */
static int told_alignment; /* instead of the stand-in's */

static int mine_open(const char *path, int flags, void **out)
{
	int ret = xdma_fake.open(path, flags, out);

	node = ret ? NULL : *out;
	return ret;
}

static ssize_t mine_read(void *handle, void *out, size_t len)
{
	int given = answer;

	answer = 0;
	misaligned_count += (uintptr_t)out % 4096 || len % 4096;
	if (len > longest_read)
		longest_read = len;
	return given ? given : xdma_fake.read(handle, out, len) + (ssize_t)extra_bytes;
}

static int mine_control(void *handle, unsigned long request, void *argument)
{
	int ret = xdma_fake.control(handle, request, argument);

	if (told_alignment)
		*(int *)argument = told_alignment;
	return ret;
}

static int open_on_mine(struct source *source, const struct source_config *config)
{
	return xdma_open_node(source, config, &mine);
}

static int reset(void **state)
{
	(void)state;
	mine = xdma_fake;
	mine.open = mine_open;
	mine.read = mine_read;
	mine.control = mine_control;
	misaligned_count = 0;
	longest_read = 0;
	extra_bytes = 0;
	answer = told_alignment = 0;
	return 0;
}

static int64_t now(void)
{
	return mine.monotonic_ns(node);
}

static int try_open(struct source **source, const char *settings, const char *details, uint64_t rate_bps)
{
	struct source_config config = { .rate_bps = rate_bps };
	static struct source_ops ops;
	char name[256];

	ops = source_xdma;
	ops.open = open_on_mine;
	snprintf(name, sizeof(name), "dev:fake:virtual=1%s%s,%s", *settings ? ":" : "", settings,
		 details);
	return source_open_with(source, &ops, name, &config);
}

static struct source *start(const char *settings, const char *details, uint64_t rate_bps)
{
	struct source *source;

	if (try_open(&source, settings, details, rate_bps) || source_start(source))
		fail_msg("%s", source->error);
	return source;
}

/* Reads behind @skip bytes of the memory, and checks that the bytes are the ones that belong there. */
static ssize_t read_at(struct source *source, uint64_t *position, size_t skip, size_t len)
{
	struct source_mark mark;
	ssize_t got = source_read(source, buf + skip, len, now() + S, &mark);

	assert_int_equal(mark.lost_bytes, 0);
	if (got > 0) {
		assert_int_equal(sim_verify(buf + skip, (size_t)got, *position, 0), got);
		*position += (uint64_t)got;
	}
	return got;
}

/* As the recorder does: one block after the other, each filled piece by piece. */
static void fill_blocks(struct source *source, uint64_t *position, uint64_t end, size_t block)
{
	for (size_t filled = 0; *position < end; filled %= block) {
		ssize_t got = read_at(source, position, filled, block - filled);

		if (got <= 0)
			fail_msg("%zd at %llu: %s", got, (unsigned long long)*position, source->error);
		filled += (size_t)got;
	}
}

/* ---- opening --------------------------------------------------------------------------------- */

static void refuse(const char *settings, const char *details, int error, const char *reason)
{
	struct source *source;

	assert_int_equal(try_open(&source, settings, details, 0), -error);
	if (!strstr(source->error, reason))
		fail_msg("%s,%s lacks \"%s\": %s", settings, details, reason, source->error);
	source_close(source);
}

static void what_cannot_be_opened_is_refused_in_words(void **state)
{
	struct source *source;

	(void)state;
	refuse("busy=1", "", EBUSY, "another program has this channel open");
	refuse("", "eop=2", EINVAL, "more than 1");
	refuse("nonsense=1", "", EINVAL, "Invalid argument");
	told_alignment = 48;
	refuse("", "", EIO, "an alignment of 48 bytes");
	told_alignment = -1;
	refuse("", "", EIO, "an alignment of -1 bytes");
	assert_int_equal(source_open(&source, "dev:/dev/zero,type=xdma", NULL), -ENOTTY);
	assert_non_null(strstr(source->error, "no channel of the XDMA driver"));
	source_close(source);
}

static void that_nothing_tells_a_loss_is_said(void **state)
{
	struct source *source = start("", "", 0);

	(void)state;
	assert_false(source->can_wait);
	assert_false(source->is_paced_by_us);
	assert_int_equal(atomic_load(&source->stats.device_ring_bytes), 0);
	source_close(source);
	assert_int_equal(try_open(&source, "", "", 0), 0);
	assert_non_null(strstr(source->note, "give -r"));
	source_close(source);
	assert_int_equal(try_open(&source, "", "", 512000000), 0);
	assert_non_null(strstr(source->note, "bytes against the clock"));
	source_close(source);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void every_transfer_is_aligned(void **state)
{
	static const size_t blocks[] = { 1 << 20, 65536, 4096, 1028096, 10000, 100, 12288 + 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct source *source = start("align=4Ki", "", 0);
		uint64_t position = 0;

		fill_blocks(source, &position, 5000000, blocks[i]);
		assert_int_equal(misaligned_count, 0);
		assert_true(longest_read <= 1 << 20);
		source_close(source);
	}
}

static void an_alignment_beyond_a_page_is_kept(void **state)
{
	struct source *source = start("align=64Ki", "", 0);
	uint64_t position = 0;

	(void)state;
	fill_blocks(source, &position, 5000000, 100000);
	fill_blocks(source, &position, 15000000, 1 << 20);
	source_close(source);
}

static void a_transfer_is_as_long_as_the_rate_makes_sensible(void **state)
{
	static const struct {
		uint64_t rate_bps, bytes;
	} list[] = { { 0, 1 << 20 },
		     { 1000, 4096 },
		     { 8000000, 16384 },
		     { 512000000, 1277952 },
		     { 100000000000, 8 << 20 } };

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct source *source = start("rate=10G:fifo=1G", "", list[i].rate_bps);
		uint64_t position = 0;

		longest_read = 0;
		read_at(source, &position, 0, BUF_BYTES);
		assert_int_equal(longest_read, list[i].bytes);
		source_close(source);
	}
}

static void short_reads_at_the_ends_of_packets_are_normal(void **state)
{
	static const char *const packets[] = { "packet=8032", "packet=5032", "packet=8",
					       "packet=4096", "packet=3000008:fifo=1G" };
	static const size_t blocks[] = { 1 << 20, 65536, 100 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		for (size_t k = 0; k < 3; k++) {
			struct source *source = start(packets[i], "eop", 0);
			uint64_t position = 0;

			fill_blocks(source, &position, i == 2 ? 10000 : 4000000, blocks[k]);
			assert_int_equal(misaligned_count, 0);
			source_close(source);
		}
	}
}

static void without_eop_packets_do_not_matter(void **state)
{
	static const char *const details[] = { "", "eop=0" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct source *source = start("packet=8032", details[i], 0);
		uint64_t position = 0;

		assert_int_equal(read_at(source, &position, 0, 65536), 65536);
		source_close(source);
	}
}

static void with_eop_a_packet_is_given_when_it_ends(void **state)
{
	struct source *source = start("packet=8032", "eop", 0);
	uint64_t position = 0;

	(void)state;
	assert_int_equal(read_at(source, &position, 0, 65536), 8032);
	assert_int_equal(read_at(source, &position, 8032, 57504), 8032);
	source_close(source);
}

/* ---- time-outs and losses -------------------------------------------------------------------- */

static void what_came_before_a_time_out_is_given(void **state)
{
	struct source *source = start("pause=5s@300000:timeout=1s", "", 0);
	uint64_t position = 0;
	struct source_mark mark;

	(void)state;
	assert_int_equal(read_at(source, &position, 0, 1 << 20), 300000);
	/* nothing in the next one: not yet, and no end */
	assert_int_equal(source_read(source, buf, 1 << 20, now() + 1, &mark), SOURCE_NOT_YET);
	while (read_at(source, &position, 0, 65536) == SOURCE_NOT_YET)
		;
	assert_true(position > 300000);
	fill_blocks(source, &position, 5000000, 65536);
	assert_string_equal(source->note, "");
	source_close(source);
}

static void a_time_out_that_fails_is_told_once_and_no_end(void **state)
{
	static const char *const settings[] = { "pause=5s@300000:timeout=1s:partial=0",
						"pause=5s@300000:timeout=1s:partial=0:expired=512" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct source *source = start(settings[i], "", 0);
		struct source_mark mark;
		unsigned told_count = 0;
		uint64_t position = 300000; /* what had come is gone, and nobody tells */
		ssize_t got = SOURCE_NOT_YET;

		for (int turn = 0; turn < 20 && got == SOURCE_NOT_YET; turn++) {
			got = source_read(source, buf, 1 << 20, now() + 1, &mark);
			told_count += strstr(source->note, "time-out") != NULL;
		}
		assert_int_equal(got, 1 << 20);
		assert_int_equal(sim_verify(buf, (size_t)got, position, 0), got);
		assert_int_equal(mark.lost_bytes, 0);
		assert_int_equal(told_count, 1);
		source_close(source);
	}
}

static void a_reader_too_slow_is_told_nothing(void **state)
{
	struct source *source = start("fifo=1Mi", "", 512000000);
	struct source_mark mark;
	uint64_t position = 0;
	ssize_t got;

	(void)state;
	fill_blocks(source, &position, 1 << 20, 65536);
	mine.wait(node, S); /* 64 MB, of which the FIFO keeps a MiB */
	got = source_read(source, buf, 65536, now() + S, &mark);
	assert_int_equal(got, 65536);
	assert_int_equal(mark.lost_bytes, 0);
	assert_int_not_equal(sim_verify(buf, 8, position, 0), 8);
	assert_true(sim_position(*(const uint64_t *)(const void *)buf, 0) * 8 > 60000000);
	source_close(source);
}

static void an_interrupt_ends_it_before_the_next_transfer(void **state)
{
	struct source *source = start("", "", 0);
	struct source_mark mark;
	uint64_t position = 0;
	int64_t before;

	(void)state;
	assert_int_equal(read_at(source, &position, 0, 100), 100);
	source_interrupt(source);
	/* what has come is still given */
	assert_int_equal(read_at(source, &position, 0, 65536), 3996);
	before = now();
	assert_int_equal(source_read(source, buf, 65536, now() + 60 * S, &mark), SOURCE_NOT_YET);
	assert_int_equal(now(), before);
	source_close(source);
}

static void a_signal_or_nothing_is_not_yet_and_the_deadline_is_kept(void **state)
{
	static const int answers[] = { -EINTR, -EAGAIN };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct source *source = start("", "", 0);
		struct source_mark mark;
		int64_t before = now();

		answer = answers[i];
		assert_int_equal(source_read(source, buf, 65536, before, &mark), SOURCE_NOT_YET);
		assert_int_equal(now(), before);
		answer = answers[i];
		assert_int_equal(source_read(source, buf, 65536, now() + S, &mark), 65536);
		source_close(source);
	}
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void a_device_that_is_unplugged_is_an_error_in_words(void **state)
{
	struct source *source = start("error=19@1000000", "", 0);
	uint64_t position = 0;
	ssize_t got;

	(void)state;
	while ((got = read_at(source, &position, 0, 65536)) > 0)
		;
	assert_int_equal(got, -ENODEV);
	assert_int_equal(position, 1000000);
	assert_non_null(strstr(source->error, "was it unplugged"));
	source_close(source);
}

static void more_than_asked_for_is_an_error(void **state)
{
	struct source *source = start("", "", 0);
	uint64_t position = 0;

	(void)state;
	extra_bytes = 1;
	/* also when it came to memory of our own, and the caller had asked for more */
	assert_int_equal(read_at(source, &position, 0, 65536), -EIO);
	assert_int_equal(read_at(source, &position, 1, 4097), -EIO);
	assert_non_null(strstr(source->error, "returned 8193 bytes when 8192 were asked for"));
	source_close(source);
}

/* ---------------------------------------------------------------------------------------------- */

#define TEST(function) cmocka_unit_test_setup(function, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_cannot_be_opened_is_refused_in_words),
		TEST(that_nothing_tells_a_loss_is_said),
		TEST(every_transfer_is_aligned),
		TEST(an_alignment_beyond_a_page_is_kept),
		TEST(a_transfer_is_as_long_as_the_rate_makes_sensible),
		TEST(short_reads_at_the_ends_of_packets_are_normal),
		TEST(without_eop_packets_do_not_matter),
		TEST(with_eop_a_packet_is_given_when_it_ends),
		TEST(what_came_before_a_time_out_is_given),
		TEST(a_time_out_that_fails_is_told_once_and_no_end),
		TEST(a_reader_too_slow_is_told_nothing),
		TEST(an_interrupt_ends_it_before_the_next_transfer),
		TEST(a_signal_or_nothing_is_not_yet_and_the_deadline_is_kept),
		TEST(a_device_that_is_unplugged_is_an_error_in_words),
		TEST(more_than_asked_for_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
