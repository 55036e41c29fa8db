/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include "drivers/sim.h"
#include "recorder/journal.h"
#include "recorder/segment.h"

#define MI (UINT64_C(1) << 20)

static struct segmenter *segmenter;

static int setup(void **state)
{
	(void)state;
	return segmenter_create(&segmenter, true, 0);
}

static int teardown(void **state)
{
	(void)state;
	segmenter_free(segmenter);
	segmenter_free(NULL);
	return 0;
}

static struct segment piece(uint64_t file, uint64_t file_offset, uint64_t stream_offset, uint64_t bytes)
{
	return (struct segment){ .file_number = file,
				 .file_offset = file_offset,
				 .stream_offset = stream_offset,
				 .bytes = bytes,
				 .utc_ns = 42 };
}

static void add(const struct segment *at, const void *data)
{
	assert_int_equal(segmenter_add(segmenter, at, data, 1000), 0);
}

static struct segment take(void)
{
	assert_true(segmenter_pending(segmenter) > 0);
	return segmenter_take(segmenter);
}

static void pieces_that_go_on_are_one_segment(void **state)
{
	static unsigned char data[10000];
	struct segment at, found;
	uint64_t done = 0;

	(void)state;
	sim_fill(data, sizeof(data), 0, 1);
	for (size_t bytes = 1; done < sizeof(data); bytes = bytes * 3 + 1) {
		if (bytes > sizeof(data) - done)
			bytes = sizeof(data) - done;
		at = piece(5, 4096 + done, 70000 + done, bytes);
		add(&at, data + done);
		done += bytes;
	}
	assert_int_equal(segmenter_pending(segmenter), 0);
	assert_int_equal(segmenter_open_offset(segmenter), 70000);
	assert_int_equal(segmenter_close(segmenter), 0);
	assert_int_equal(segmenter_close(segmenter), 0); /* nothing is open any more */
	assert_int_equal(segmenter_open_offset(segmenter), 0);
	assert_int_equal(segmenter_pending(segmenter), 1);
	found = take();
	assert_int_equal(found.file_number, 5);
	assert_int_equal(found.file_offset, 4096);
	assert_int_equal(found.stream_offset, 70000);
	assert_int_equal(found.bytes, sizeof(data));
	assert_int_equal(found.utc_ns, 42);
	assert_int_equal(found.xxh3, XXH3_64bits(data, sizeof(data)));
}

static void pieces_that_do_not_go_on_are_segments_of_their_own(void **state)
{
	static const unsigned char data[100];
	struct segment first = piece(1, 0, 0, 100), base;
	const struct segment others[] = {
		piece(2, 100, 100, 100), /* another file */
		piece(1, 101, 100, 100), /* a hole in the file */
		piece(1, 100, 101, 100), /* a hole in the stream */
		piece(1, 0, 0, 100),     /* again */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		add(&first, data);
		add(&others[i], data);
		assert_int_equal(segmenter_pending(segmenter), 1);
		segmenter_close(segmenter);
		assert_int_equal(take().bytes, 100);
		assert_int_equal(take().stream_offset, others[i].stream_offset);
	}
	base = piece(1, 100, 100, 100); /* goes on, but in a piece of the file that lies elsewhere */
	base.file_base = 4096;
	add(&first, data);
	add(&base, data);
	assert_int_equal(segmenter_pending(segmenter), 1);
}

static void segments_are_split_at_64_mib(void **state)
{
	uint64_t bytes = 3 * JOURNAL_SEGMENT_MAX / 2, done = 0;
	unsigned char *data = malloc(bytes);
	struct segment at = piece(0, 0, 999, bytes);

	(void)state;
	assert_non_null(data);
	sim_fill(data, bytes, 0, 3);
	for (int turn = 0; turn < 2;
	     turn++) { /* in one piece, then in blocks of 5 MiB that don't fit evenly */
		uint64_t step = turn ? 5 * MI : bytes;

		for (uint64_t offset = 0; offset < bytes; offset += step) {
			at = piece((uint64_t)turn, offset, 999 + offset,
				   bytes - offset < step ? bytes - offset : step);
			add(&at, data + offset);
		}
		segmenter_close(segmenter);
		assert_int_equal(segmenter_pending(segmenter), 2);
		done = 0;
		while (segmenter_pending(segmenter)) {
			struct segment found = take();

			assert_int_equal(found.file_offset, done);
			assert_int_equal(found.stream_offset, 999 + done);
			assert_true(found.bytes <= JOURNAL_SEGMENT_MAX);
			assert_int_equal(found.xxh3, XXH3_64bits(data + done, found.bytes));
			done += found.bytes;
		}
		assert_int_equal(done, bytes);
	}
	free(data);
}

static void a_later_piece_of_a_split_has_its_own_time_where_the_rate_is_known(void **state)
{
	unsigned char *data = calloc(1, JOURNAL_SEGMENT_MAX + MI);
	struct segment at = piece(0, 0, 0, JOURNAL_SEGMENT_MAX + MI);
	struct segmenter *paced;

	(void)state;
	assert_non_null(data);
	assert_int_equal(segmenter_create(&paced, true, 8 * JOURNAL_SEGMENT_MAX),
			 0); /* the longest segment takes a second */
	assert_int_equal(segmenter_add(paced, &at, data, 1000), 0);
	segmenter_close(paced);
	assert_int_equal(segmenter_take(paced).utc_ns, 42);
	assert_int_equal(segmenter_take(paced).utc_ns, 42 + 1000000000);
	segmenter_free(paced);
	add(&at, data);
	segmenter_close(segmenter);
	assert_int_equal(take().utc_ns, 42);
	assert_int_equal(take().utc_ns, 42);
	free(data);
}

static void a_segment_as_long_as_allowed_is_one(void **state)
{
	unsigned char *data = calloc(1, JOURNAL_SEGMENT_MAX + 1);
	struct segment at = piece(0, 0, 0, JOURNAL_SEGMENT_MAX);

	(void)state;
	assert_non_null(data);
	add(&at, data);
	segmenter_close(segmenter);
	assert_int_equal(segmenter_pending(segmenter), 1);
	take();
	at.bytes++;
	add(&at, data);
	segmenter_close(segmenter);
	assert_int_equal(segmenter_pending(segmenter), 2);
	assert_int_equal(take().bytes, JOURNAL_SEGMENT_MAX);
	assert_int_equal(take().bytes, 1);
	free(data);
}

static void without_room_nothing_is_added_and_what_is_open_can_still_be_closed(void **state)
{
	static const unsigned char data[1];
	uint64_t added = 0;
	struct segment at = piece(0, 0, 0, 1);

	(void)state;
	while (segmenter_add(segmenter, &at, data, 0) == 0) {
		added++;
		at.stream_offset += 2;
	}
	assert_true(added >= SEGMENT_PENDING_MAX - 2 && added <= SEGMENT_PENDING_MAX + 1);
	assert_int_equal(segmenter_add(segmenter, &at, data, 0), -ENOBUFS);
	assert_int_equal(segmenter_close(segmenter), 0);
	assert_int_equal(segmenter_pending(segmenter), added);
	for (uint64_t i = 0; i < added; i++)
		assert_int_equal(take().stream_offset, 2 * i);
	assert_int_equal(segmenter_add(segmenter, &at, data, 0), 0);
}

static void dropping_forgets_all(void **state)
{
	static const unsigned char data[10];
	struct segment at = piece(0, 0, 0, 10);

	(void)state;
	for (int i = 0; i < 5; i++) {
		at.stream_offset += 100;
		add(&at, data);
	}
	segmenter_drop(segmenter);
	assert_int_equal(segmenter_pending(segmenter), 0);
	assert_int_equal(segmenter_age_ns(segmenter, 5000), 0);
	segmenter_close(segmenter);
	assert_int_equal(segmenter_pending(segmenter), 0);
	add(&at, data); /* the checksum begins anew */
	segmenter_close(segmenter);
	assert_int_equal(take().xxh3, XXH3_64bits(data, sizeof(data)));
}

static void an_open_segment_has_an_age(void **state)
{
	static const unsigned char data[10];
	struct segment at = piece(0, 0, 0, 10);

	(void)state;
	assert_int_equal(segmenter_age_ns(segmenter, 5000), 0);
	add(&at, data);
	assert_int_equal(segmenter_age_ns(segmenter, 5000), 4000);
}

static void a_sum_that_comes_along_is_taken_and_not_made_again(void **state)
{
	static unsigned char data[300], other[300];
	struct segment at = piece(1, 0, 0, 100);

	(void)state;
	sim_fill(data, sizeof(data), 0, 9);
	for (int i = 0; i < 3; i++) {
		at.sum = i ? SUM_GOES_ON : SUM_STARTS;
		at.xxh3 = XXH3_64bits(data, 100 * (size_t)(i + 1));
		add(&at, other); /* not looked at */
		at.file_offset += 100;
		at.stream_offset += 100;
	}
	segmenter_close(segmenter);
	assert_int_equal(segmenter_pending(segmenter), 1);
	assert_int_equal(take().xxh3, XXH3_64bits(data, sizeof(data)));
}

static void a_sum_begins_with_a_segment_and_one_that_was_closed_is_not_taken_up(void **state)
{
	static unsigned char data[100];
	struct segment at = piece(1, 0, 0, 100);
	struct segment found;

	(void)state;
	sim_fill(data, sizeof(data), 0, 9);
	at.sum = SUM_STARTS;
	at.xxh3 = 1;
	add(&at, data);
	at.file_offset = at.stream_offset = 100; /* goes on, but another sum starts */
	at.xxh3 = 2;
	add(&at, data);
	assert_int_equal(segmenter_pending(segmenter), 1);
	assert_int_equal(take().xxh3, 1);
	segmenter_close(segmenter);
	assert_int_equal(take().xxh3, 2);
	for (int i = 0; i < 2; i++) { /* that sum is of bytes that stand in the journal already */
		at.file_offset = at.stream_offset = 200 + (uint64_t)i * 100;
		at.sum = SUM_GOES_ON;
		at.xxh3 = 3;
		add(&at, data);
	}
	segmenter_close(segmenter);
	found = take();
	assert_int_equal(found.bytes, 200);
	assert_int_not_equal(found.xxh3, 3);
	at.file_offset = at.stream_offset = 400; /* and back to sums that come along */
	at.sum = SUM_STARTS;
	at.xxh3 = 4;
	add(&at, data);
	at.file_offset = at.stream_offset = 500;
	at.sum = SUM_OURS; /* from here on there is none */
	at.xxh3 = 5;
	add(&at, data);
	assert_int_equal(take().xxh3, 4);
	segmenter_close(segmenter);
	assert_int_equal(take().xxh3, XXH3_64bits(data, sizeof(data)));
}

static void without_checksums_there_is_none(void **state)
{
	static const unsigned char data[10] = { 1 };
	struct segment at = piece(0, 0, 0, 10);
	struct segmenter *plain;

	(void)state;
	assert_int_equal(segmenter_create(&plain, false, 0), 0);
	assert_int_equal(segmenter_add(plain, &at, data, 0), 0);
	segmenter_close(plain);
	assert_int_equal(segmenter_take(plain).xxh3, 0);
	segmenter_free(plain);
}

/* ---- writer and keeper ---- */

#define PIECES 300000

static _Atomic bool is_through;
static uint64_t wrong_count, taken_count;

static void *take_all(void *arg)
{
	uint64_t expected = 0;

	(void)arg;
	for (;;) {
		bool is_last = atomic_load_explicit(&is_through, memory_order_acquire);
		uint32_t count = segmenter_pending(segmenter);

		while (count-- > 0) {
			struct segment found = segmenter_take(segmenter);

			wrong_count += found.stream_offset != expected || found.bytes != 8 ||
				       found.file_number != expected / 16 ||
				       found.xxh3 != XXH3_64bits(&expected, 8);
			expected += 16;
			taken_count++;
		}
		if (is_last)
			return NULL;
	}
}

static void a_keeper_takes_in_order_while_the_writer_adds(void **state)
{
	pthread_t keeper;

	(void)state;
	assert_int_equal(pthread_create(&keeper, NULL, take_all, NULL), 0);
	for (uint64_t i = 0; i < PIECES; i++) {
		uint64_t offset = i * 16;
		struct segment at = piece(i, 0, offset, 8);

		while (segmenter_add(segmenter, &at, &offset, 0) < 0)
			;
	}
	segmenter_close(segmenter);
	atomic_store_explicit(&is_through, true, memory_order_release);
	pthread_join(keeper, NULL);
	assert_int_equal(wrong_count, 0);
	assert_int_equal(taken_count, PIECES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pieces_that_go_on_are_one_segment, setup, teardown),
		cmocka_unit_test_setup_teardown(pieces_that_do_not_go_on_are_segments_of_their_own,
						setup, teardown),
		cmocka_unit_test_setup_teardown(segments_are_split_at_64_mib, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_later_piece_of_a_split_has_its_own_time_where_the_rate_is_known, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_segment_as_long_as_allowed_is_one, setup, teardown),
		cmocka_unit_test_setup_teardown(
			without_room_nothing_is_added_and_what_is_open_can_still_be_closed, setup,
			teardown),
		cmocka_unit_test_setup_teardown(dropping_forgets_all, setup, teardown),
		cmocka_unit_test_setup_teardown(an_open_segment_has_an_age, setup, teardown),
		cmocka_unit_test_setup_teardown(a_sum_that_comes_along_is_taken_and_not_made_again,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_sum_begins_with_a_segment_and_one_that_was_closed_is_not_taken_up, setup,
			teardown),
		cmocka_unit_test(without_checksums_there_is_none),
		cmocka_unit_test_setup_teardown(a_keeper_takes_in_order_while_the_writer_adds,
						setup, teardown),
	};

	return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
