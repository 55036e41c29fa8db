/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_copies.c - what is lost of both copies is told and counted, whatever the order and the pieces
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/copies.h"

#define STREAM 400

/* What has been told, byte by byte. */
static unsigned told[STREAM];

static void note(void *context, uint64_t stream_offset, uint64_t bytes)
{
	uint64_t *total = context;

	*total += bytes;
	for (uint64_t i = 0; i < bytes; i++)
		told[stream_offset + i]++;
}

static struct copies *new_copies(void)
{
	struct copies *copies;

	memset(told, 0, sizeof(told));
	assert_int_equal(copies_create(&copies), 0);
	return copies;
}

static void what_is_lost_once_is_not_missing(void **state)
{
	struct copies *copies = new_copies();
	uint64_t total = 0;
	struct copies_sum sum;

	(void)state;
	assert_int_equal(copies_lose(copies, false, 0, 100, GAP_DISK, note, &total), 0);
	assert_int_equal(copies_lose(copies, true, 100, 100, GAP_DISK, note, &total), 0);
	assert_int_equal(copies_lose(copies, true, 300, 0, GAP_DISK, note, &total), 0);
	assert_int_equal(total, 0);
	sum = copies_sum(copies);
	assert_int_equal(sum.lost_bytes[0], 100);
	assert_int_equal(sum.lost_bytes[1], 100);
	assert_int_equal(sum.gone_bytes[GAP_DISK], 0);
	copies_free(copies);
	copies_free(NULL);
}

static void what_is_lost_twice_has_the_later_cause(void **state)
{
	struct copies *copies = new_copies();
	uint64_t total = 0;
	struct copies_sum sum;

	(void)state;
	copies_lose(copies, false, 10, 20, GAP_DISK, note, &total);
	copies_lose(copies, false, 50, 20, GAP_DISK, note, &total);
	copies_lose(copies, true, 20, 40, GAP_ABORTED, note, &total);
	assert_int_equal(total, 20);
	for (unsigned i = 0; i < STREAM; i++)
		assert_int_equal(told[i], (i >= 20 && i < 30) || (i >= 50 && i < 60));
	sum = copies_sum(copies);
	assert_int_equal(sum.gone_bytes[GAP_ABORTED], 20);
	assert_int_equal(sum.gone_bytes[GAP_DISK], 0);
	copies_free(copies);
}

/* Against the plain truth: a flag for each byte of each copy. */
static void any_order_of_any_pieces_comes_to_the_same(void **state)
{
	(void)state;
	srand(7);
	for (unsigned round = 0; round < 300; round++) {
		struct copies *copies = new_copies();
		bool is_lost[COPIES_MAX][STREAM] = { { 0 } };
		uint64_t lost[COPIES_MAX] = { 0 }, gone = 0, total = 0;
		struct copies_sum sum;

		for (unsigned piece = 0; piece < 60; piece++) {
			unsigned copy = (unsigned)rand() % 2, from = (unsigned)rand() % STREAM;
			unsigned most = 1 + (unsigned)rand() % 30, bytes = 0;

			while (from + bytes < STREAM && bytes < most && !is_lost[copy][from + bytes])
				is_lost[copy][from + bytes++] = true;
			lost[copy] += bytes;
			assert_int_equal(
				copies_lose(copies, copy, from, bytes, GAP_DISK, note, &total), 0);
		}
		for (unsigned i = 0; i < STREAM; i++) {
			bool is_gone = is_lost[0][i] && is_lost[1][i];

			assert_int_equal(told[i], is_gone);
			gone += is_gone;
		}
		sum = copies_sum(copies);
		assert_int_equal(sum.lost_bytes[0], lost[0]);
		assert_int_equal(sum.lost_bytes[1], lost[1]);
		assert_int_equal(sum.gone_bytes[GAP_DISK], gone);
		assert_int_equal(total, gone);
		copies_free(copies);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_lost_once_is_not_missing),
		cmocka_unit_test(what_is_lost_twice_has_the_later_cause),
		cmocka_unit_test(any_order_of_any_pieces_comes_to_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
