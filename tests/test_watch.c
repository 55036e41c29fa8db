/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/sim.h"
#include "recorder/watch.h"

#define BLOCK ((size_t)1 << 16)
#define MS INT64_C(1000000)

static uint32_t block[BLOCK / 4];
static char text[WATCH_TEXT_LEN];

/* Noise, with the bits of @ones at 1 and those of @zeros at 0. */
static void fill(uint64_t turn, uint32_t ones, uint32_t zeros)
{
	sim_fill(block, BLOCK, turn * BLOCK, 5);
	for (size_t i = 0; i < BLOCK / 4; i++)
		block[i] = (block[i] | ones) & ~zeros;
}

/* So many milliseconds of a stream of one block a millisecond. */
static void look(struct watch *watch, int64_t from_ms, int64_t to_ms, uint32_t ones, uint32_t zeros)
{
	for (int64_t ms = from_ms; ms < to_ms; ms++) {
		fill((uint64_t)ms, ones, zeros);
		watch_look(watch, block, BLOCK, 1 + ms * MS);
	}
}

static void noise_is_fine(void **state)
{
	static const uint32_t word_bytes[] = { 1, 2, 4 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct watch watch;

		watch_init(&watch, word_bytes[i]);
		look(&watch, 0, 2500, 0, 0);
		assert_false(watch_verdict(&watch, text));
	}
}

static void constant_data_are_called_constant(void **state)
{
	static const struct {
		uint32_t word_bytes, value;
		const char *shown;
	} cases[] = { { 4, 0, "0x00000000" },
		      { 4, 0xdeadbeef, "0xdeadbeef" },
		      { 2, 0x80008000, "0x8000" },
		      { 1, 0x55555555, "0x55" },
		      { 1, 0xffffffff, "0xff" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct watch watch;

		watch_init(&watch, cases[i].word_bytes);
		look(&watch, 0, 1500, cases[i].value, ~cases[i].value);
		assert_true(watch_verdict(&watch, text));
		assert_non_null(strstr(text, "constant"));
		assert_non_null(strstr(text, cases[i].shown));
	}
}

static void one_stuck_bit_is_found_in_noise(void **state)
{
	(void)state;
	for (uint32_t bit = 0; bit < 32; bit++) {
		for (uint32_t word_bits = 8; word_bits <= 32; word_bits *= 2) {
			/* the same bit of every sample word in the 32 */
			uint32_t mask = word_bits == 32 ? UINT32_C(1) << bit :
					word_bits == 16 ? UINT32_C(0x10001) << bit % 16 :
							  UINT32_C(0x1010101) << bit % 8;
			uint32_t shown = UINT32_C(1) << bit % word_bits;
			char expected[64];
			struct watch watch;

			watch_init(&watch, word_bits / 8);
			look(&watch, 0, 1100, bit % 2 ? mask : 0, bit % 2 ? 0 : mask);
			assert_true(watch_verdict(&watch, text));
			snprintf(expected, sizeof(expected), "mask 0x%0*x at %u",
				 (int)word_bits / 4, shown, bit % 2);
			if (!strstr(text, expected))
				fail_msg("'%s' is not in: %s", expected, text);
		}
	}
}

/* Stuck in one of the two 16-bit words only: the sample's bit does change. */
static void a_bit_that_changes_in_another_word_is_not_stuck(void **state)
{
	struct watch watch;

	(void)state;
	watch_init(&watch, 2);
	look(&watch, 0, 1100, 1, 0);
	assert_false(watch_verdict(&watch, text));
}

static void a_verdict_follows_the_data_back_to_health(void **state)
{
	struct watch watch;

	(void)state;
	watch_init(&watch, 4);
	look(&watch, 0, 1100, 1, 0);
	assert_true(watch_verdict(&watch, text));
	look(&watch, 1100, 3300, 0, 0);
	assert_false(watch_verdict(&watch, text));
	look(&watch, 3300, 5500, 0, 1);
	assert_true(watch_verdict(&watch, text));
}

static void a_second_is_not_judged_before_it_is_over(void **state)
{
	struct watch watch;

	(void)state;
	watch_init(&watch, 4);
	look(&watch, 0, 900, UINT32_MAX, 0);
	assert_false(watch_verdict(&watch, text));
}

/* A few words a second prove nothing: more are waited for. */
static void a_slow_stream_is_watched_for_longer(void **state)
{
	struct watch watch;

	(void)state;
	watch_init(&watch, 4);
	memset(block, 0, BLOCK);
	for (int64_t s = 0; s < 8; s++) { /* 256 words, thus at most 256 looked at, each second */
		watch_look(&watch, block, 1024, 1 + s * WATCH_NS);
		assert_false(watch_verdict(&watch, text));
	}
	for (int64_t s = 8; s < 40; s++)
		watch_look(&watch, block, 1024, 1 + s * WATCH_NS);
	assert_true(watch_verdict(&watch, text));
}

static void pieces_too_short_to_look_at_do_no_harm(void **state)
{
	struct watch watch;

	(void)state;
	watch_init(&watch, 4);
	for (int64_t i = 0; i < 300; i++)
		watch_look(&watch, block, (size_t)i % 256, 1 + i * WATCH_NS);
	assert_false(watch_verdict(&watch, text));
}

/* A frame header that is the same in each frame, and a period that is a power of two: the places wander, so the data are seen. */
static void a_constant_header_in_each_frame_is_not_taken_for_the_data(void **state)
{
	struct watch watch;

	(void)state;
	watch_init(&watch, 4);
	for (int64_t ms = 0; ms < 1100; ms++) {
		fill((uint64_t)ms, 0, 0);
		for (size_t i = 0; i < BLOCK / 4; i += 2048)
			memset(&block[i], 0xab, 64);
		watch_look(&watch, block, BLOCK, 1 + ms * MS);
	}
	assert_false(watch_verdict(&watch, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_is_fine),
		cmocka_unit_test(constant_data_are_called_constant),
		cmocka_unit_test(one_stuck_bit_is_found_in_noise),
		cmocka_unit_test(a_bit_that_changes_in_another_word_is_not_stuck),
		cmocka_unit_test(a_verdict_follows_the_data_back_to_health),
		cmocka_unit_test(a_second_is_not_judged_before_it_is_over),
		cmocka_unit_test(a_slow_stream_is_watched_for_longer),
		cmocka_unit_test(pieces_too_short_to_look_at_do_no_harm),
		cmocka_unit_test(a_constant_header_in_each_frame_is_not_taken_for_the_data),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
