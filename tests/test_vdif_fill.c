/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vdif_fill.c - frames before and behind one, over the ends of seconds, in pieces of any length */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/vdif.h"
#include "drivers/vdif_fill.h"

#define FRAME_BYTES 104
#define RATE 10

static struct vdif_fill *fill;

static int set_up(void **state)
{
	(void)state;
	return vdif_fill_create(&fill, FRAME_BYTES);
}

static int tear_down(void **state)
{
	(void)state;
	vdif_fill_free(fill);
	return 0;
}

/* A valid frame of thread 3. */
static void make_header(unsigned char *header, uint32_t second, uint32_t frame)
{
	const uint32_t words[VDIF_HEADER_BYTES / 4] = {
		second,
		UINT32_C(40) << 24 | frame,
		FRAME_BYTES / 8,
		UINT32_C(1) << 26 | 3 << 16 | 0x4566,
	};

	memcpy(header, words, sizeof(words));
}

static void expect_frames(uint32_t second, uint32_t frame, unsigned count, size_t piece)
{
	unsigned char bytes[20 * FRAME_BYTES];
	struct vdif_header header;

	assert_true(count * FRAME_BYTES <= sizeof(bytes));
	for (size_t done = 0; done < count * FRAME_BYTES; done += piece)
		vdif_fill_put(fill, bytes + done,
			      piece < count * FRAME_BYTES - done ? piece : count * FRAME_BYTES - done);
	for (unsigned i = 0; i < count; i++) {
		assert_true(vdif_read(bytes + i * FRAME_BYTES, &header));
		assert_true(header.is_invalid);
		assert_int_equal(header.thread, 3);
		assert_int_equal(header.second, second);
		assert_int_equal(header.frame, frame);
		assert_true(vdif_is_fill(bytes + i * FRAME_BYTES, &header));
		if (++frame == RATE) {
			frame = 0;
			second++;
		}
	}
}

static void frames_before_one_are_counted_back(void **state)
{
	static const struct {
		uint32_t frame, count, second, first;
	} cases[] = { { 5, 3, 100, 2 }, { 5, 5, 100, 0 }, { 5, 6, 99, 9 },  { 0, 1, 99, 9 },
		      { 0, 10, 99, 0 }, { 0, 11, 98, 9 }, { 9, 19, 99, 0 }, { 3, 14, 98, 9 } };
	unsigned char header[VDIF_HEADER_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_header(header, 100, cases[i].frame);
		vdif_fill_before(fill, header, cases[i].count, RATE);
		expect_frames(cases[i].second, cases[i].first, cases[i].count, 1 + 37 * i);
	}
}

static void frames_behind_one_go_on(void **state)
{
	unsigned char header[VDIF_HEADER_BYTES];

	(void)state;
	make_header(header, 100, 8);
	vdif_fill_behind(fill, header, RATE);
	expect_frames(100, 9, 1, 7);
	expect_frames(101, 0, 12, FRAME_BYTES);
	make_header(header, 7, 9);
	vdif_fill_behind(fill, header, RATE);
	expect_frames(8, 0, 1, 1000);
}

static void without_a_frame_there_is_the_fill_word(void **state)
{
	static const unsigned char word[] = { 0x44, 0x33, 0x22, 0x11, 0x44 };
	unsigned char bytes[sizeof(word)];

	(void)state;
	vdif_fill_put(fill, bytes, sizeof(bytes));
	assert_memory_equal(bytes, word, sizeof(word));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_before_one_are_counted_back),
		TEST(frames_behind_one_go_on),
		TEST(without_a_frame_there_is_the_fill_word),
	};

	return cmocka_run_group_tests_name("vdif_fill", tests, NULL, NULL);
}
