/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_destination.c - names and details, and what is checked of every driver
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/destination.h"

static unsigned char data[4096];
static struct destination_ops mine; /* what each test wants */
static ssize_t result;
static struct destination_config given_config;
static int close_count;

static ssize_t give_result(struct destination *destination, const void *bytes, size_t len,
			   int64_t deadline_ns)
{
	(void)destination;
	(void)bytes;
	(void)len;
	(void)deadline_ns;
	return result;
}

static ssize_t send_result(struct destination *destination, const struct destination_unit *units,
			   size_t count)
{
	(void)destination;
	(void)units;
	(void)count;
	return result;
}

static int keep_config(struct destination *destination, const struct destination_config *config)
{
	(void)destination;
	given_config = *config;
	return 0;
}

static int open_and_fail(struct destination *destination, const struct destination_config *config)
{
	(void)config;
	destination->state = destination;
	return -ENXIO;
}

static int fail_plainly(struct destination *destination)
{
	(void)destination;
	return -ENODEV;
}

static int finish_with_result(struct destination *destination, int64_t deadline_ns)
{
	(void)destination;
	(void)deadline_ns;
	return (int)result;
}

static void count_close(struct destination *destination)
{
	(void)destination;
	close_count++;
}

static int reset_mine(void **state)
{
	(void)state;
	mine = (struct destination_ops){
		.prefix = "mine:", .keys = "a bc d", .takes_path = true, .write = give_result, .send = send_result
	};
	close_count = 0;
	return 0;
}

static struct destination *open_mine(const char *name)
{
	struct destination *destination;

	if (destination_open_with(&destination, &mine, name, NULL))
		fail_msg("%s", destination->error);
	return destination;
}

static void refuse(const char *name, int error, const char *reason)
{
	struct destination *destination;

	assert_int_equal(destination_open(&destination, name, NULL), -error);
	assert_non_null(destination);
	if (!strstr(destination->error, reason))
		fail_msg("%s lacks \"%s\": %s", name, reason, destination->error);
	destination_close(destination);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void a_name_is_split_as_a_source_s_is(void **state)
{
	static const struct {
		const char *name, *path, *details;
	} list[] = {
		{ "mine:/dev/vsib,a=0,bc=1", "/dev/vsib", "a=0,bc=1" },
		{ "mine:x,,y,a=1", "x,y", "a=1" },
		{ "mine:[::1]:46227,d", "[::1]:46227", "d" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct destination *destination = open_mine(list[i].name);

		assert_string_equal(destination->name, list[i].name);
		assert_string_equal(destination->path, list[i].path);
		assert_string_equal(destination->details, list[i].details);
		destination_close(destination);
	}
}

static void details_come_one_by_one(void **state)
{
	struct destination *destination = open_mine("mine:p,a=1,bc,d=u,,v,");
	static const char *const expected[][2] = { { "a", "1" }, { "bc", "" }, { "d", "u,v" } };
	char text[DESTINATION_DETAIL_LEN];
	struct destination_detail detail;
	const char *cursor = NULL;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_true(destination_next_detail(destination, &cursor, text, sizeof(text), &detail));
		assert_string_equal(detail.key, expected[i][0]);
		assert_string_equal(detail.value, expected[i][1]);
	}
	assert_false(destination_next_detail(destination, &cursor, text, sizeof(text), &detail));
	destination_close(destination);
}

static void an_unknown_name_is_answered_with_the_known_ones(void **state)
{
	(void)state;
	refuse("tape:/dev/nst0", EINVAL, "one of null: - file:");
	refuse("", EINVAL, "one of null:");
	refuse("-x", EINVAL, "unknown destination");
	refuse("file:", EINVAL, "where to play to is missing behind file:");
	refuse("file:,a=b", EINVAL, "is missing behind");
	refuse("null:,speed=1", EINVAL, "unknown detail \"speed\"; null: knows none");
	for (const struct destination_ops *const *ops = destination_table(); *ops; ops++) {
		assert_non_null(strstr((*ops)->summary, (*ops)->prefix));
		assert_true((*ops)->write || (*ops)->send);
	}
}

static void a_prefix_that_is_not_the_driver_s_is_refused(void **state)
{
	struct destination *destination;

	(void)state;
	assert_int_equal(destination_open_with(&destination, &mine, "yours:p", NULL), -EINVAL);
	assert_non_null(strstr(destination->error, "doesn't begin with mine:"));
	destination_close(destination);
}

static void the_driver_gets_the_configuration_or_nothing_asked(void **state)
{
	struct destination_config config = { .rate_bps = 7, .start_utc_ns = 9 };
	struct destination *destination;

	(void)state;
	mine.open = keep_config;
	assert_int_equal(destination_open_with(&destination, &mine, "mine:p", &config), 0);
	assert_int_equal(given_config.rate_bps, 7);
	assert_int_equal(given_config.start_utc_ns, 9);
	destination_close(destination);
	destination_close(open_mine("mine:p"));
	assert_int_equal(given_config.rate_bps, 0);
}

/* ---- the checks on every driver -------------------------------------------------------------- */

static void bytes_and_writes_are_counted(void **state)
{
	struct destination *destination = open_mine("mine:p");

	(void)state;
	assert_int_equal(atomic_load(&destination->stats.device_fill_min_bytes), UINT64_MAX);
	result = 4096;
	assert_int_equal(destination_write(destination, data, 4096, 0), 4096);
	result = 1;
	assert_int_equal(destination_write(destination, data, 4096, 0), 1);
	result = 0;
	assert_int_equal(destination_write(destination, data, 4096, 0), 0);
	assert_int_equal(atomic_load(&destination->stats.sent_bytes), 4097);
	assert_int_equal(atomic_load(&destination->stats.sent_count), 2);
	destination_close(destination);
}

static void of_units_those_that_went_out_are_counted(void **state)
{
	struct destination_unit units[] = { { .bytes = 100, .prefix_bytes = 8 },
					    { .bytes = 20 },
					    { .bytes = 3 } };
	struct destination *destination = open_mine("mine:p");

	(void)state;
	result = 2;
	assert_int_equal(destination_send(destination, units, 3), 2);
	result = 0;
	assert_int_equal(destination_send(destination, units, 3), 0);
	result = -EMSGSIZE;
	assert_int_equal(destination_send(destination, units, 3), -EMSGSIZE);
	assert_int_equal(atomic_load(&destination->stats.sent_bytes), 120);
	assert_int_equal(atomic_load(&destination->stats.sent_count), 2);
	destination_close(destination);
}

static void more_than_was_given_is_a_fatal_error(void **state)
{
	struct destination_unit unit = { .bytes = 1 };
	struct destination *destination = open_mine("mine:p");

	(void)state;
	result = 4097;
	assert_int_equal(destination_write(destination, data, 4096, 0), -EIO);
	assert_non_null(strstr(destination->error, "took 4097 when 4096 were given"));
	result = 2;
	assert_int_equal(destination_send(destination, &unit, 1), -EIO);
	assert_int_equal(atomic_load(&destination->stats.sent_bytes), 0);
	result = 4096;
	assert_int_equal(destination_write(destination, data, 4096, 0), 4096);
	assert_string_equal(destination->error, "");
	destination_close(destination);
}

static void every_error_has_a_sentence(void **state)
{
	struct destination *destination = open_mine("mine:p");

	(void)state;
	result = -512; /* what a kernel driver must not, but some do, let out */
	assert_int_equal(destination_write(destination, data, 1, 0), -EIO);
	assert_non_null(strstr(destination->error, "unknown error 512"));
	result = -ENODEV; /* known, but the driver wrote no sentence */
	assert_int_equal(destination_write(destination, data, 1, 0), -ENODEV);
	assert_non_null(strstr(destination->error, "mine:p: cannot write: No such device"));
	result = -EINTR;
	assert_int_equal(destination_write(destination, data, 1, 0), 0);
	result = -EAGAIN;
	assert_int_equal(destination_write(destination, data, 1, 0), 0);
	mine.start = fail_plainly;
	assert_int_equal(destination_start(destination), -ENODEV);
	assert_non_null(strstr(destination->error, "cannot start: No such device"));
	mine.finish = finish_with_result;
	result = -ETIMEDOUT;
	assert_int_equal(destination_finish(destination, 0), -ETIMEDOUT);
	assert_non_null(strstr(destination->error, "cannot finish: "));
	result = 0;
	assert_int_equal(destination_finish(destination, 0), 0);
	assert_string_equal(destination->error, "");
	destination_close(destination);
}

static void what_a_failed_open_left_is_closed_once(void **state)
{
	struct destination *destination;

	(void)state;
	mine.close = count_close;
	destination_close(open_mine("mine:p"));
	assert_int_equal(close_count, 0); /* it never had a state */
	mine.open = open_and_fail;
	assert_int_equal(destination_open_with(&destination, &mine, "mine:p", NULL), -ENXIO);
	assert_non_null(strstr(destination->error, "cannot open: "));
	destination_close(destination);
	assert_int_equal(close_count, 1);
	destination_close(NULL);
}

static void notes_are_those_of_one_call(void **state)
{
	struct destination *destination = open_mine("mine:p");

	(void)state;
	destination_note(destination, "number %d", 1);
	destination_note(destination, "number %d", 2);
	assert_string_equal(destination->note, "mine:p: number 1\nmine:p: number 2");
	for (int i = 0; i < 100; i++)
		destination_note(destination, "and so on");
	assert_true(strlen(destination->note) < DESTINATION_ERROR_LEN);
	assert_int_equal(destination_start(destination), 0);
	assert_string_equal(destination->note, "");
	destination_close(destination);
}

static void an_interruption_is_seen(void **state)
{
	struct destination *destination = open_mine("mine:p");

	(void)state;
	assert_false(destination_is_interrupted(destination));
	destination_interrupt(destination);
	assert_true(destination_is_interrupted(destination));
	destination_close(destination);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_name_is_split_as_a_source_s_is, reset_mine),
		cmocka_unit_test_setup(details_come_one_by_one, reset_mine),
		cmocka_unit_test(an_unknown_name_is_answered_with_the_known_ones),
		cmocka_unit_test_setup(a_prefix_that_is_not_the_driver_s_is_refused, reset_mine),
		cmocka_unit_test_setup(the_driver_gets_the_configuration_or_nothing_asked, reset_mine),
		cmocka_unit_test_setup(bytes_and_writes_are_counted, reset_mine),
		cmocka_unit_test_setup(of_units_those_that_went_out_are_counted, reset_mine),
		cmocka_unit_test_setup(more_than_was_given_is_a_fatal_error, reset_mine),
		cmocka_unit_test_setup(every_error_has_a_sentence, reset_mine),
		cmocka_unit_test_setup(what_a_failed_open_left_is_closed_once, reset_mine),
		cmocka_unit_test_setup(notes_are_those_of_one_call, reset_mine),
		cmocka_unit_test_setup(an_interruption_is_seen, reset_mine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
