/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/account.h"

static struct account account;
static char error[512];

static int setup(void **state)
{
	(void)state;
	return account_init(&account);
}

static int teardown(void **state)
{
	(void)state;
	account_free(&account);
	account_free(&account); /* twice does no harm */
	return 0;
}

static void note(uint64_t offset, uint64_t bytes, enum gap_cause cause, bool is_estimated)
{
	account_gap(&account, &(struct gap){ .stream_offset = offset,
					     .bytes = bytes,
					     .cause = cause,
					     .is_estimated = is_estimated });
}

static void the_sum_closes_only_when_each_byte_has_its_place(void **state)
{
	struct account_sum sum = { .written_bytes = 1000, .disk_bytes = 20, .aborted_bytes = 3 };
	account_counter *terms[] = { &account.overflow_bytes, &account.discarded_bytes };
	uint64_t *sums[] = { &sum.disk_bytes, &sum.aborted_bytes };

	(void)state;
	account_add(&account.received_bytes, 1023);
	assert_true(account_check(&account, &sum, error, sizeof(error)));
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		account_add(terms[i], 1);
		assert_false(account_check(&account, &sum, error, sizeof(error)));
		assert_non_null(strstr(error, "doesn't close"));
		account_add(&account.received_bytes, 1);
		assert_true(account_check(&account, &sum, error, sizeof(error)));
	}
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		++*sums[i];
		assert_false(account_check(&account, &sum, error, sizeof(error)));
		account_add(&account.received_bytes, 1);
		assert_true(account_check(&account, &sum, error, sizeof(error)));
	}
	sum.written_bytes--;
	assert_false(account_check(&account, &sum, error, sizeof(error)));
	assert_non_null(strstr(error, "1027"));
	assert_non_null(strstr(error, "999"));
}

static void what_the_source_lost_is_stream_but_not_received(void **state)
{
	struct account_sum sum = { .written_bytes = 10 };

	(void)state;
	account_add(&account.received_bytes, 10);
	account_add(&account.source_lost_bytes, 7);
	assert_int_equal(account_stream_bytes(&account), 17);
	assert_true(account_check(&account, &sum, error, sizeof(error)));
}

static void fill_is_stream_that_was_lost_and_is_written_all_the_same(void **state)
{
	struct account_sum sum = { .written_bytes = 15, .disk_bytes = 1 };

	(void)state;
	account_add(&account.received_bytes, 10);
	account_add(&account.source_lost_bytes, 7);
	assert_false(account_check(&account, &sum, error, sizeof(error)));
	account_add(&account.filled_bytes, 6);
	assert_true(account_check(&account, &sum, error, sizeof(error)));
	assert_int_equal(account_stream_bytes(&account), 17);
	sum.written_bytes = 10;
	assert_false(account_check(&account, &sum, error, sizeof(error)));
	assert_non_null(strstr(error, "received 10 + filled 6, but written 10"));
}

static void a_gap_that_is_filled_is_one_of_its_own(void **state)
{
	struct gap gap = { .stream_offset = 100, .bytes = 10, .cause = GAP_SOURCE, .is_filled = true };

	(void)state;
	account_gap(&account, &gap);
	gap.stream_offset = 110;
	account_gap(&account, &gap);
	note(120, 5, GAP_SOURCE, false);
	assert_int_equal(account.gap_count, 2);
	assert_int_equal(account.gaps[0].bytes, 20);
	assert_true(account.gaps[0].is_filled);
	assert_false(account.gaps[1].is_filled);
	assert_int_equal(account.gap_bytes[GAP_SOURCE], 25);
}

static void gaps_that_touch_are_one_gap(void **state)
{
	(void)state;
	note(100, 10, GAP_DISK, false);
	note(110, 5, GAP_DISK, false);
	assert_int_equal(account.gap_count, 1);
	assert_int_equal(account.gaps[0].bytes, 15);
	note(115, 5, GAP_ABORTED, false);  /* another cause */
	note(120, 5, GAP_ABORTED, true);   /* not counted but guessed */
	note(126, 1, GAP_ABORTED, true);   /* not where it ended */
	note(120, 0, GAP_OVERFLOW, false); /* nothing */
	assert_int_equal(account.gap_count, 4);
	assert_int_equal(account.gap_kept_count, 4);
	assert_int_equal(account.gap_bytes[GAP_DISK], 15);
	assert_int_equal(account.gap_bytes[GAP_ABORTED], 11);
	assert_int_equal(account.gap_bytes[GAP_OVERFLOW], 0);
}

static void more_gaps_than_are_kept_are_still_counted(void **state)
{
	uint64_t count = ACCOUNT_GAP_MAX + 500;

	(void)state;
	for (uint64_t i = 0; i < count; i++)
		note(i * 10, 3, GAP_SOURCE, false);
	assert_int_equal(account.gap_count, count);
	assert_int_equal(account.gap_kept_count, ACCOUNT_GAP_MAX);
	assert_int_equal(account.gap_bytes[GAP_SOURCE], count * 3);
	/* behind the last one kept, but not the last one noted: not to be joined to it */
	note((ACCOUNT_GAP_MAX - 1) * 10 + 3, 3, GAP_SOURCE, false);
	assert_int_equal(account.gaps[ACCOUNT_GAP_MAX - 1].bytes, 3);
}

static void causes_have_the_names_of_the_report(void **state)
{
	(void)state;
	assert_string_equal(account_cause_name(GAP_OVERFLOW), "overflow");
	assert_string_equal(account_cause_name(GAP_SOURCE), "source");
	assert_string_equal(account_cause_name(GAP_DISK), "disk");
	assert_string_equal(account_cause_name(GAP_ABORTED), "aborted");
}

static void *note_many(void *arg)
{
	uint64_t base = *(uint64_t *)arg;

	for (uint64_t i = 0; i < 1000; i++)
		note(base + 2 * i, 1, GAP_DISK, false);
	return NULL;
}

static void gaps_from_several_threads_all_count(void **state)
{
	uint64_t bases[4] = { 0, 10000, 20000, 30000 };
	pthread_t threads[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, note_many, &bases[i]), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(account.gap_count, 4000);
	assert_int_equal(account.gap_bytes[GAP_DISK], 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_sum_closes_only_when_each_byte_has_its_place,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_the_source_lost_is_stream_but_not_received,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			fill_is_stream_that_was_lost_and_is_written_all_the_same, setup, teardown),
		cmocka_unit_test_setup_teardown(a_gap_that_is_filled_is_one_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(gaps_that_touch_are_one_gap, setup, teardown),
		cmocka_unit_test_setup_teardown(more_gaps_than_are_kept_are_still_counted, setup,
						teardown),
		cmocka_unit_test(causes_have_the_names_of_the_report),
		cmocka_unit_test_setup_teardown(gaps_from_several_threads_all_count, setup, teardown),
	};

	return cmocka_run_group_tests_name("account", tests, NULL, NULL);
}
