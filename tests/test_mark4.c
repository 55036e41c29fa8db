/* SPDX-License-Identifier: BSD-2-Clause */
/* test_mark4.c - every track of real files, and tracks made here: Mark4 and VLBA of each width */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/mark4.h"
#include "tests/sample.h"

static void every_track_of_real_files_is_right(void **state)
{
	static const struct {
		const char *name;
		int tracks;
		size_t at;
		int frames;
		int64_t utc_s;
		uint32_t ns, step_ns;
	} files[] = {
		{ "radio/sample_32track.m4", 32, 9656, 2, 1420939390, 485000000, 2500000 },
		{ "radio/sample_16track.m4", 16, 22124, 2, 1383458400, 770000000, 2500000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t len, frame_bytes = (size_t)MARK4_TRACK_BYTES * files[i].tracks;
		unsigned char *bytes = sample_read(files[i].name, &len);

		for (int frame = 0; frame < files[i].frames; frame++) {
			const unsigned char *at = bytes + files[i].at + frame * frame_bytes;
			struct mark4_header header;
			int year;

			assert_true(mark4_read(at, files[i].tracks, false, &header));
			assert_int_equal(header.bad_tracks, 0);
			year = mark4_year_before(header.year, header.day, 1577836800);
			assert_int_equal(mark4_utc_s(&header, year), files[i].utc_s);
			assert_int_equal(header.ns, files[i].ns + frame * files[i].step_ns);
		}
		free(bytes);
	}
}

/* x^12 + x^11 + x^3 + x^2 + x + 1, from 0, of one track; the driver works on all tracks at once. */
static uint16_t crc12(const unsigned char *bytes, int count)
{
	unsigned int crc = 0;

	for (int i = 0; i < count; i++) {
		unsigned int bit = bytes[i / 8] >> (7 - i % 8) & 1;
		unsigned int feedback = (crc >> 11 ^ bit) & 1;

		crc = (crc << 1 & 0xfff) ^ (feedback ? 0x80f : 0);
	}
	return (uint16_t)crc;
}

static void the_published_crc_comes_out(void **state)
{
	static const unsigned char bits[] = { 0x00, 0x00, 0x00, 0x2d, 0x03, 0x30, 0x00,
					      0x00, 0xff, 0xff, 0xff, 0xff, 0x40, 0x53,
					      0x21, 0x43, 0x38, 0x05, 0x50 };

	(void)state;
	assert_int_equal(crc12(bits, 148), 0x284);
}

/* The same bits on all tracks. */
static void lay(unsigned char *header, int tracks, const unsigned char *bits, int count)
{
	for (int i = 0; i < count; i++)
		memset(header + (size_t)i * tracks / 8, bits[i / 8] >> (7 - i % 8) & 1 ? 0xff : 0,
		       tracks / 8);
}

static void make_mark4(unsigned char *header, int tracks, const char *time)
{
	unsigned char bits[20] = { 0, 0, 0, 0x2d, 3, 0x30, 0, 0, 0xff, 0xff, 0xff, 0xff };
	uint16_t crc;

	for (int i = 0; i < 13; i++)
		bits[12 + i / 2] |= (time[i] - '0') << (i % 2 ? 0 : 4);
	crc = crc12(bits, 148);
	bits[18] |= crc >> 8;
	bits[19] = crc & 0xff;
	lay(header, tracks, bits, MARK4_HEADER_BITS);
}

static void every_width_is_read(void **state)
{
	unsigned char bytes[MARK4_HEADER_BYTES_MAX];
	struct mark4_header header;

	(void)state;
	for (int tracks = 8; tracks <= 64; tracks *= 2) {
		make_mark4(bytes, tracks, "4053214338055");
		assert_true(mark4_has_sync(bytes, tracks, false));
		assert_true(mark4_read(bytes, tracks, false, &header));
		assert_int_equal(header.bad_tracks, 0);
		assert_int_equal(header.year, 4);
		assert_int_equal(header.day, 53);
		assert_int_equal(header.second, (21 * 60 + 43) * 60 + 38);
		assert_int_equal(header.ns, 55000000);
		/* the lowest track is damaged: the next one tells the time, and one is counted */
		bytes[100 * tracks / 8] ^= 1;
		assert_true(mark4_read(bytes, tracks, false, &header));
		assert_int_equal(header.bad_tracks, 1);
		assert_int_equal(header.day, 53);
		memset(bytes + 100 * tracks / 8, 0xff, tracks / 8);
		assert_false(mark4_read(bytes, tracks, false, &header));
	}
}

static void the_last_digit_is_a_quarter_of_a_millisecond(void **state)
{
	static const uint32_t ns[10] = { 120000000, 121250000, 122500000, 123750000, 0,
					 125000000, 126250000, 127500000, 128750000, 0 };
	unsigned char bytes[MARK4_HEADER_BYTES_MAX];
	struct mark4_header header;

	(void)state;
	for (int digit = 0; digit < 10; digit++) {
		char time[] = "4053214338120";

		time[12] = (char)('0' + digit);
		make_mark4(bytes, 8, time);
		assert_int_equal(mark4_read(bytes, 8, false, &header), ns[digit] > 0);
		if (ns[digit])
			assert_int_equal(header.ns, ns[digit]);
	}
	make_mark4(bytes, 8, "4000214338120");
	assert_false(mark4_read(bytes, 8, false, &header));
	make_mark4(bytes, 8, "4367214338120");
	assert_false(mark4_read(bytes, 8, false, &header));
	make_mark4(bytes, 8, "4053244338120");
	assert_false(mark4_read(bytes, 8, false, &header));
	make_mark4(bytes, 8, "4053214338:20"); /* a digit of 10 */
	assert_false(mark4_read(bytes, 8, false, &header));
}

static void vlba_has_its_time_behind_the_sync(void **state)
{
	static const unsigned char bits[] = { 0xff, 0xff, 0xff, 0xff, 0x82, 0x11,
					      0x98, 0x01, 0x00, 0x00, 0x97, 0x5d };
	unsigned char bytes[MARK4_HEADER_BYTES_MAX];
	struct mark4_header header;

	(void)state;
	for (int tracks = 8; tracks <= 64; tracks *= 2) {
		lay(bytes, tracks, bits, VLBA_HEADER_BITS);
		assert_true(mark4_read(bytes, tracks, true, &header));
		assert_int_equal(header.bad_tracks, 0);
		assert_int_equal(header.vlba.day, 821);
		assert_int_equal(header.second, 19801);
		assert_int_equal(header.ns, 0);
		bytes[40 * tracks / 8] ^= 0x80;
		assert_true(mark4_read(bytes, tracks, true, &header));
		assert_int_equal(header.bad_tracks, 1);
	}
}

static void a_year_is_one_digit(void **state)
{
	(void)state;
	assert_int_equal(mark4_year_before(4, 167, 1577836800), 2014); /* 2020-01-01 */
	assert_int_equal(mark4_year_before(9, 365, 1577836800), 2019);
	assert_int_equal(mark4_year_before(0, 1, 1577836800), 2020);
	assert_int_equal(mark4_year_before(0, 2, 1577836800), 2010);
	assert_int_equal(mark4_year_near(9, 2020), 2019);
	assert_int_equal(mark4_year_near(0, 2019), 2020);
	assert_int_equal(mark4_year_near(4, 2014), 2014);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_track_of_real_files_is_right),
		cmocka_unit_test(the_published_crc_comes_out),
		cmocka_unit_test(every_width_is_read),
		cmocka_unit_test(the_last_digit_is_a_quarter_of_a_millisecond),
		cmocka_unit_test(vlba_has_its_time_behind_the_sync),
		cmocka_unit_test(a_year_is_one_digit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
