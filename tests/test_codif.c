/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/codif.h"
#include "drivers/vtp.h"

static const unsigned char header_bytes[CODIF_HEADER_BYTES] = {
	7,    0,    0,    0,    0x40, 0, 0,   0,   /* frame 7, second 64 */
	43,   8,    0x04, 0x21, 0,    0, 27,  0,   /* epoch, bits, complex, version 1, period */
	3,    0,    2,    0,    1,    0, 'B', 'A', /* thread, group, secondary, station */
	4,    0,    64,   0,    0,    4, 0,   0,   /* 4 channels, 1024 * 8 bytes */
	0,    0,    0xa0, 0,    0,    0, 0,   0,   /* 10485760 samples */
	0xfe, 0xca, 0xed, 0xfe, 0,    0, 0,   0,
};

static void the_fields_are_where_they_should_be(void **state)
{
	struct codif_header header;

	(void)state;
	assert_true(codif_read(header_bytes, &header));
	assert_int_equal(header.frame, 7);
	assert_int_equal(header.second, 64);
	assert_int_equal(header.epoch, 43);
	assert_int_equal(header.bits, 8);
	assert_false(header.is_invalid);
	assert_true(header.is_complex);
	assert_int_equal(header.version, 1);
	assert_int_equal(header.period_s, 27);
	assert_int_equal(header.thread, 3);
	assert_int_equal(header.group, 2);
	assert_int_equal(header.secondary, 1);
	assert_int_equal(header.station, 0x4142);
	assert_int_equal(header.channels, 4);
	assert_int_equal(header.frame_bytes, 64 + 8192);
	assert_int_equal(codif_frames_a_period(&header), 10485760 / 1024);
}

static void what_is_none_is_refused(void **state)
{
	static const int places[] = { 40, 43, 14, 29 };
	unsigned char bytes[CODIF_HEADER_BYTES];
	struct codif_header header;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		memcpy(bytes, header_bytes, sizeof(bytes));
		bytes[places[i]] = 0;
		assert_false(codif_read(bytes, &header));
	}
	memcpy(bytes, header_bytes, sizeof(bytes));
	bytes[9] = 0; /* bits: no samples, no rate */
	assert_true(codif_read(bytes, &header));
	assert_int_equal(codif_frames_a_period(&header), 0);
}

static void time_and_thread_make_no_difference_in_form(void **state)
{
	unsigned char bytes[CODIF_HEADER_BYTES];

	(void)state;
	memcpy(bytes, header_bytes, sizeof(bytes));
	bytes[0] = 8;
	bytes[4] = 0x80;
	bytes[10] |= 2; /* invalid */
	bytes[16] = 9;
	assert_true(codif_is_alike(bytes, header_bytes));
	bytes[9] = 4;
	assert_false(codif_is_alike(bytes, header_bytes));
}

static void packet_numbers_have_64_bits_or_the_upper_32(void **state)
{
	static const unsigned char whole[] = { 0xe8, 3, 0, 0, 1, 0, 0, 0 };
	static const unsigned char half[] = { 0, 0, 0, 0, 0xe8, 3, 0, 0 };

	(void)state;
	assert_int_equal(vtp_number(whole), UINT64_C(0x1000003e8));
	assert_int_equal(vtp_number(half), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fields_are_where_they_should_be),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(time_and_thread_make_no_difference_in_form),
		cmocka_unit_test(packet_numbers_have_64_bits_or_the_upper_32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
