/* SPDX-License-Identifier: BSD-2-Clause */
/* test_mark5b.c - the headers of a real file, the CRC, and which day three digits mean */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/mark5b.h"
#include "tests/sample.h"

#define DAY INT64_C(86400)
#define JUNE_13_2014 16234 /* days since 1970: MJD 56821 */

static void a_real_file_has_right_headers(void **state)
{
	static const struct {
		uint16_t fraction, crc;
		uint32_t ns;
	} frames[] = {
		{ 0, 0x975d, 0 }, { 1, 0x1758, 156250 }, { 3, 0x9757, 312500 }, { 4, 0x1746, 468750 }
	};
	size_t len;
	unsigned char *bytes = sample_read("radio/sample.m5b", &len);

	(void)state;
	assert_int_equal(len, 4 * MARK5B_FRAME_BYTES);
	for (size_t i = 0; i < 4; i++) {
		const unsigned char *frame = bytes + i * MARK5B_FRAME_BYTES;
		struct mark5b_header header;

		assert_true(mark5b_read(frame, &header));
		assert_int_equal(header.user, 0xbead);
		assert_false(header.is_test);
		assert_int_equal(header.frame, i);
		assert_int_equal(header.time.day, 821);
		assert_int_equal(header.time.second, 19801);
		assert_int_equal(header.time.fraction, frames[i].fraction);
		assert_int_equal(frame[12] | frame[13] << 8, frames[i].crc);
		assert_true(header.has_crc && header.is_crc_right);
		assert_int_equal(vlba_fraction_ns(&header.time, 156250), frames[i].ns);
		assert_false(mark5b_is_fill(frame));
	}
	free(bytes);
}

static void the_published_crc_comes_out(void **state)
{
	(void)state;
	assert_int_equal(mark5b_crc16(UINT64_C(0x821198010000), 48), 0x975d);
}

static void a_wrong_bit_is_seen(void **state)
{
	unsigned char good[16] = { 0xed, 0xde, 0xad, 0xab, 0,    0,    0xad, 0xbe,
				   0x01, 0x98, 0x11, 0x82, 0x5d, 0x97, 0,    0 };
	struct mark5b_header header;

	(void)state;
	assert_true(mark5b_read(good, &header) && header.is_crc_right);
	for (int bit = 64; bit < 128; bit++) {
		good[bit / 8] ^= 1 << bit % 8;
		assert_false(mark5b_read(good, &header) && header.is_crc_right);
		good[bit / 8] ^= 1 << bit % 8;
	}
	good[12] = good[13] = 0;
	assert_true(mark5b_read(good, &header));
	assert_false(header.has_crc);
	good[8] = 0x0a; /* no decimal digit */
	assert_false(mark5b_read(good, &header));
	good[8] = 0x01;
	good[0] = 0;
	assert_false(mark5b_read(good, &header));
}

static void a_day_needs_to_be_told_the_thousand(void **state)
{
	(void)state;
	assert_int_equal(vlba_day_before(821, JUNE_13_2014 * DAY), JUNE_13_2014);
	assert_int_equal(vlba_day_before(821, JUNE_13_2014 * DAY - 1), JUNE_13_2014 - 1000);
	assert_int_equal(vlba_day_before(821, (JUNE_13_2014 + 999) * DAY + 5), JUNE_13_2014);
	assert_int_equal(vlba_day_before(821, -1), JUNE_13_2014 - 17000);
	assert_int_equal(vlba_day_near(821, JUNE_13_2014 + 499), JUNE_13_2014);
	assert_int_equal(vlba_day_near(821, JUNE_13_2014 - 500), JUNE_13_2014);
	assert_int_equal(vlba_day_near(0, 59999 - 40587), 60000 - 40587);
	assert_int_equal(vlba_day_near(999, 60000 - 40587), 59999 - 40587);
}

static void a_real_files_headers_are_put_as_they_were(void **state)
{
	size_t len;
	unsigned char *bytes = sample_read("radio/sample.m5b", &len);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const unsigned char *frame = bytes + i * MARK5B_FRAME_BYTES;
		unsigned char made[MARK5B_HEADER_BYTES];
		struct mark5b_header header;
		struct vlba_time time;

		assert_true(mark5b_read(frame, &header));
		assert_true(mark5b_put_header(made, &header));
		assert_memory_equal(made, frame, sizeof(made));
		vlba_time_of((JUNE_13_2014 * DAY + 19801) * 1000000000 + (int64_t)i * 156250, &time);
		assert_int_equal(vlba_time_digits(&time), vlba_time_digits(&header.time));
	}
	free(bytes);
}

static void what_has_no_room_is_not_put(void **state)
{
	unsigned char bytes[MARK5B_HEADER_BYTES] = { 0 };
	struct mark5b_header header = { .frame = 0x8000 };

	(void)state;
	assert_false(mark5b_put_header(bytes, &header));
	header = (struct mark5b_header){ .time = { .day = 1000 } };
	assert_false(mark5b_put_header(bytes, &header));
	header = (struct mark5b_header){ .time = { .second = 86401 } };
	assert_false(mark5b_put_header(bytes, &header));
	header = (struct mark5b_header){ .time = { .fraction = 10000 } };
	assert_false(mark5b_put_header(bytes, &header));
	assert_int_equal(bytes[0], 0);
	header = (struct mark5b_header){
		.frame = 0x7fff, .is_test = true, .user = 0xffff, .time = { 999, 86400, 9999 }
	};
	assert_true(mark5b_put_header(bytes, &header));
	assert_true(mark5b_read(bytes, &header));
	assert_false(header.has_crc);
	assert_true(header.is_test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_real_file_has_right_headers),
		cmocka_unit_test(the_published_crc_comes_out),
		cmocka_unit_test(a_wrong_bit_is_seen),
		cmocka_unit_test(a_real_files_headers_are_put_as_they_were),
		cmocka_unit_test(what_has_no_room_is_not_put),
		cmocka_unit_test(a_day_needs_to_be_told_the_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
