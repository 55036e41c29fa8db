/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The blocks of a Mark6 set: their order over all files, what is missing between them, and what becomes of
 * blocks that are there twice.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/mark6_set.h"

#define PAYLOAD 300

static struct mark6_set set;
static int same;     /* what comparing gives */
static int compared; /* how often */

static int set_up(void **state)
{
	(void)state;
	set = (struct mark6_set){ 0 };
	same = 1;
	compared = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	mark6_set_free(&set);
	return 0;
}

static int compare(void *context, const struct mark6_set_block *a, const struct mark6_set_block *b)
{
	assert_ptr_equal(context, &set);
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->bytes, b->bytes);
	compared++;
	return same;
}

static void add(uint32_t file, uint32_t number, uint32_t bytes, uint32_t lacking, uint32_t broken)
{
	struct mark6_file_block block = {
		.payload_offset = 28 + set.count * 1000,
		.number = number,
		.payload_bytes = bytes,
		.lacking_bytes = lacking,
		.broken_bytes = broken,
	};

	assert_int_equal(mark6_set_add(&set, file, &block), 0);
}

static void expect(struct mark6_set_cursor *cursor, enum mark6_set_kind kind, uint64_t number,
		   uint64_t count, uint64_t bytes)
{
	struct mark6_set_step step;

	assert_true(mark6_set_next(&set, cursor, &step));
	assert_int_equal(step.kind, kind);
	assert_int_equal(step.first_number, number);
	assert_int_equal(step.count, count);
	assert_int_equal(step.bytes, bytes);
}

static void expect_end(struct mark6_set_cursor *cursor)
{
	struct mark6_set_step step;

	assert_false(mark6_set_next(&set, cursor, &step));
	assert_false(mark6_set_next(&set, cursor, &step));
}

static int settle(void)
{
	return mark6_set_settle(&set, MARK6_VERSION, compare, &set);
}

static void an_empty_set_has_no_steps(void **state)
{
	struct mark6_set_cursor cursor = { 0 };

	(void)state;
	assert_int_equal(settle(), 0);
	expect_end(&cursor);
}

static void blocks_come_in_the_order_of_their_numbers_over_all_files(void **state)
{
	struct mark6_set_cursor cursor = { 0 };

	(void)state;
	add(0, 3, PAYLOAD, 0, 0);
	add(0, 0, PAYLOAD, 0, 0);
	add(7, 2, PAYLOAD, 0, 0);
	add(65535, 1, PAYLOAD, 0, 0);
	assert_int_equal(settle(), 0);
	for (uint32_t number = 0; number < 4; number++)
		expect(&cursor, MARK6_SET_BLOCK, number, 1, PAYLOAD);
	expect_end(&cursor);
	assert_int_equal(mark6_set_file(&set.blocks[1]), 65535);
	assert_int_equal(mark6_set_offset(&set.blocks[1]), 28 + 3 * 1000);
}

static void sets_of_two_files_are_joined(void **state)
{
	struct mark6_set_cursor cursor = { 0 };
	struct mark6_set part;

	(void)state;
	add(1, 0, 100, 200, 0);
	add(1, 3, PAYLOAD, 0, 0);
	part = set;
	set = (struct mark6_set){ 0 };
	add(0, 2, PAYLOAD, 0, 0);
	assert_int_equal(mark6_set_join(&set, &part), 0);
	assert_int_equal(part.count, 0);
	assert_null(part.blocks);
	assert_int_equal(settle(), 0);
	expect(&cursor, MARK6_SET_BLOCK, 0, 1, 100);
	expect(&cursor, MARK6_SET_LACKING, 0, 1, 200);
	expect(&cursor, MARK6_SET_MISSING, 1, 1, PAYLOAD);
	expect(&cursor, MARK6_SET_BLOCK, 2, 1, PAYLOAD);
	expect(&cursor, MARK6_SET_BLOCK, 3, 1, PAYLOAD);
	expect_end(&cursor);
}

static void missing_blocks_are_as_long_as_the_longest(void **state)
{
	struct mark6_set_cursor cursor = { 0 };

	(void)state;
	add(0, 2, PAYLOAD - 1, 0, 0);
	add(0, 3, PAYLOAD, 0, 0);
	add(1, INT32_MAX, 1, 0, 0);
	assert_int_equal(settle(), 0);
	expect(&cursor, MARK6_SET_MISSING, 0, 2, 2 * PAYLOAD);
	expect(&cursor, MARK6_SET_BLOCK, 2, 1, PAYLOAD - 1);
	expect(&cursor, MARK6_SET_BLOCK, 3, 1, PAYLOAD);
	expect(&cursor, MARK6_SET_MISSING, 4, (uint64_t)INT32_MAX - 4,
	       ((uint64_t)INT32_MAX - 4) * PAYLOAD);
	expect(&cursor, MARK6_SET_BLOCK, INT32_MAX, 1, 1);
	expect_end(&cursor);
}

static void a_cut_block_is_followed_by_what_it_lacks(void **state)
{
	struct mark6_set_cursor cursor = { 0 };

	(void)state;
	add(0, 0, 100, PAYLOAD - 100, 7);
	add(1, 1, PAYLOAD - 1, 0, 0);
	add(2, 3, PAYLOAD - 1, 0, 0);
	assert_int_equal(settle(), 0);
	assert_int_equal(set.nominal_bytes, PAYLOAD);
	expect(&cursor, MARK6_SET_BLOCK, 0, 1, 100);
	expect(&cursor, MARK6_SET_LACKING, 0, 1, PAYLOAD - 100);
	expect(&cursor, MARK6_SET_BLOCK, 1, 1, PAYLOAD - 1);
	expect(&cursor, MARK6_SET_MISSING, 2, 1, PAYLOAD);
	expect(&cursor, MARK6_SET_BLOCK, 3, 1, PAYLOAD - 1);
	expect_end(&cursor);
}

static void equal_blocks_of_one_number_are_used_once(void **state)
{
	(void)state;
	for (uint32_t file = 0; file < 3; file++)
		for (uint32_t number = 0; number < 2; number++)
			add(file, number, PAYLOAD, 0, 0);
	assert_int_equal(settle(), 0);
	assert_int_equal(set.count, 2);
	assert_int_equal(set.doubled_count, 4);
	assert_int_equal(compared, 4);
	assert_int_equal(set.doubled[0].number, 0);
	assert_int_equal(mark6_set_file(&set.doubled[0]), 0);
	assert_int_equal(mark6_set_file(&set.doubled[1]), 1);
}

static void different_blocks_of_one_number_are_named(void **state)
{
	(void)state;
	add(0, 5, PAYLOAD, 0, 0);
	add(1, 5, PAYLOAD, 0, 0);
	same = 0;
	assert_int_equal(settle(), -EBADMSG);
	assert_int_equal(mark6_set_file(&set.doubled[0]), 0);
	assert_int_equal(mark6_set_file(&set.doubled[1]), 1);
}

static void lengths_that_differ_are_different(void **state)
{
	(void)state;
	add(0, 5, PAYLOAD, 0, 0);
	add(1, 5, PAYLOAD - 1, 0, 0);
	assert_int_equal(settle(), -EBADMSG);
	assert_int_equal(compared, 0);
}

static void an_error_of_comparing_is_passed_on(void **state)
{
	(void)state;
	add(0, 5, PAYLOAD, 0, 0);
	add(1, 5, PAYLOAD, 0, 0);
	same = -EIO;
	assert_int_equal(settle(), -EIO);
}

static void of_cut_and_whole_blocks_the_whole_one_is_kept(void **state)
{
	struct mark6_set_cursor cursor = { 0 };

	(void)state;
	add(0, 0, 200, 100, 0);
	add(1, 0, PAYLOAD, 0, 0);
	add(2, 1, 100, 200, 0);
	add(3, 1, 200, 100, 0);
	same = 0;
	assert_int_equal(settle(), 0);
	assert_int_equal(compared, 0);
	assert_int_equal(set.replaced_count, 2);
	assert_int_equal(mark6_set_file(&set.replaced), 0);
	expect(&cursor, MARK6_SET_BLOCK, 0, 1, PAYLOAD);
	expect(&cursor, MARK6_SET_BLOCK, 1, 1, 200);
	expect(&cursor, MARK6_SET_LACKING, 1, 1, 100);
	expect_end(&cursor);
}

static void the_last_block_of_version_1_may_be_short(void **state)
{
	struct mark6_set_cursor cursor = { 0 };

	(void)state;
	add(0, 0, 200, 100, 0); /* not the last one */
	add(1, 1, 200, 100, 0);
	assert_int_equal(mark6_set_settle(&set, 1, compare, &set), 0);
	assert_true(set.is_last_short);
	expect(&cursor, MARK6_SET_BLOCK, 0, 1, 200);
	expect(&cursor, MARK6_SET_LACKING, 0, 1, 100);
	expect(&cursor, MARK6_SET_BLOCK, 1, 1, 200);
	expect_end(&cursor);
}

static void the_last_block_of_version_1_must_have_whole_packets(void **state)
{
	struct mark6_set_cursor cursor = { 0 };

	(void)state;
	add(1, 0, 200, 100, 1);
	assert_int_equal(mark6_set_settle(&set, 1, compare, &set), 0);
	assert_false(set.is_last_short);
	expect(&cursor, MARK6_SET_BLOCK, 0, 1, 200);
	expect(&cursor, MARK6_SET_LACKING, 0, 1, 100);
	expect_end(&cursor);
}

/* Any numbers in any order: each number up to the last one is in exactly one step. */
static void each_number_is_in_one_step(void **state)
{
	struct mark6_set_cursor cursor = { 0 };
	struct mark6_set_step step;
	bool has[500] = { false };
	uint64_t expected = 0;
	uint32_t last = 0;

	(void)state;
	srand(3);
	for (int i = 0; i < 300; i++) {
		uint32_t number = (uint32_t)rand() % 500;

		has[number] = true;
		last = number > last ? number : last;
		add((uint32_t)i % 9, number, PAYLOAD, 0, 0);
	}
	assert_int_equal(settle(), 0);
	while (mark6_set_next(&set, &cursor, &step)) {
		assert_int_equal(step.first_number, expected);
		for (uint64_t i = 0; i < step.count; i++)
			assert_int_equal(has[expected + i], step.kind == MARK6_SET_BLOCK);
		assert_int_equal(step.bytes, step.count * PAYLOAD);
		expected += step.count;
	}
	assert_int_equal(expected, last + 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_empty_set_has_no_steps),
		CASE(blocks_come_in_the_order_of_their_numbers_over_all_files),
		CASE(sets_of_two_files_are_joined),
		CASE(missing_blocks_are_as_long_as_the_longest),
		CASE(a_cut_block_is_followed_by_what_it_lacks),
		CASE(equal_blocks_of_one_number_are_used_once),
		CASE(different_blocks_of_one_number_are_named),
		CASE(lengths_that_differ_are_different),
		CASE(an_error_of_comparing_is_passed_on),
		CASE(of_cut_and_whole_blocks_the_whole_one_is_kept),
		CASE(the_last_block_of_version_1_may_be_short),
		CASE(the_last_block_of_version_1_must_have_whole_packets),
		CASE(each_number_is_in_one_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
