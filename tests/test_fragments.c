/* SPDX-License-Identifier: BSD-2-Clause */
/* test_fragments.c - what does not fit together is never handed out, and each fragment is counted once */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/fragments.h"

static unsigned char stream[2][FRAGMENTS_BYTES_MAX]; /* two datagrams that differ in each byte */
static struct fragments *fragments;
static struct fragments_whole whole;
static uint64_t taken;
static uint32_t version; /* of IP */

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < FRAGMENTS_BYTES_MAX; i++) {
		stream[0][i] = (unsigned char)(i * 7 + i / 256);
		stream[1][i] = (unsigned char)~stream[0][i];
	}
	taken = 0;
	version = 4;
	return fragments_create(&fragments);
}

/* Whatever came: each fragment is in one of the counts when all is over. */
static int tear_down(void **state)
{
	const struct fragments_counts *counts = fragments_counts(fragments);

	(void)state;
	fragments_end(fragments);
	assert_int_equal(counts->whole_fragments + counts->incomplete_fragments +
				 counts->refused_fragments + counts->duplicate_fragments,
			 taken);
	fragments_free(fragments);
	return 0;
}

static struct fragment make(uint32_t id, size_t offset, size_t len, bool is_last)
{
	return (struct fragment){
		.key = { .source = { 10, 0, 0, 1 }, .id = id, .version = version },
		.data = stream[0] + offset,
		.len = len,
		.offset = offset,
		.is_last = is_last,
		.protocol = 17,
	};
}

static enum fragments_step take_this(const struct fragment *fragment)
{
	enum fragments_step step = fragments_take(fragments, fragment, &whole);

	taken += step != FRAGMENTS_IMPOSSIBLE;
	return step;
}

static enum fragments_step take(uint32_t id, size_t offset, size_t len, bool is_last)
{
	const struct fragment fragment = make(id, offset, len, is_last);

	return take_this(&fragment);
}

static void assert_whole(size_t len, int which)
{
	assert_int_equal(whole.len, len);
	assert_int_equal(whole.protocol, 17);
	assert_memory_equal(whole.data, stream[which], len);
}

static void the_longest_datagram_is_put_together(void **state)
{
	(void)state;
	for (size_t offset = 0; offset < 65520; offset += 728)
		assert_int_equal(take(1, offset, 728, false), FRAGMENTS_HELD);
	assert_int_equal(take(1, 65520, 15, true), FRAGMENTS_WHOLE);
	assert_whole(65535, 0);
}

static void what_lies_nowhere_is_impossible(void **state)
{
	(void)state;
	assert_int_equal(take(1, 0, 0, false), FRAGMENTS_IMPOSSIBLE);
	assert_int_equal(take(1, 4, 8, false), FRAGMENTS_IMPOSSIBLE);
	assert_int_equal(take(1, 65528, 8, true), FRAGMENTS_IMPOSSIBLE);
	assert_int_equal(take(1, 8, SIZE_MAX, true), FRAGMENTS_IMPOSSIBLE);
	assert_int_equal(take(1, SIZE_MAX - 7, 8, true), FRAGMENTS_IMPOSSIBLE);
	version = 6;
	assert_int_equal(take(1, 0, 12, false), FRAGMENTS_IMPOSSIBLE);
}

static void the_same_twice_does_no_harm(void **state)
{
	(void)state;
	assert_int_equal(take(1, 0, 800, false), FRAGMENTS_HELD);
	assert_int_equal(take(1, 0, 800, false), FRAGMENTS_HELD);
	assert_int_equal(take(1, 1600, 90, true), FRAGMENTS_HELD);
	assert_int_equal(take(1, 1600, 90, true), FRAGMENTS_HELD);
	assert_int_equal(take(1, 800, 800, false), FRAGMENTS_WHOLE);
	assert_whole(1690, 0);
	assert_int_equal(fragments_counts(fragments)->duplicate_fragments, 2);
}

struct place {
	size_t offset, len;
	bool is_last;
};

/* Of each pair in either order; what else comes of the datagram is refused as well. */
static void assert_refused(const struct place (*pairs)[2], size_t count)
{
	for (uint32_t id = 0; id < count * 2; id++) {
		for (uint32_t i = 0; i < 2; i++) {
			const struct place *place = &pairs[id / 2][(id + i) % 2];

			assert_int_equal(take(id, place->offset, place->len, place->is_last),
					 i == 0 ? FRAGMENTS_HELD : FRAGMENTS_REFUSED);
		}
		assert_int_equal(take(id, 8000, 800, false), FRAGMENTS_REFUSED);
	}
}

static void what_overlaps_is_refused_of_ipv6(void **state)
{
	static const struct place pairs[][2] = {
		{ { 8, 800, false }, { 800, 800, false } }, /* by 8 bytes */
		{ { 8, 800, false }, { 80, 160, false } },  /* inside */
		{ { 8, 800, false }, { 8, 808, false } },   /* the same begin */
	};

	(void)state;
	version = 6;
	assert_refused(pairs, sizeof(pairs) / sizeof(pairs[0]));
	assert_int_equal(fragments_counts(fragments)->overlapping_fragments, 0);
}

static void contradictions_are_refused(void **state)
{
	static const struct place pairs[][2] = {
		{ { 8, 800, false }, { 8, 800, true } },   /* the last one, and not */
		{ { 8, 800, true }, { 808, 800, false } }, /* behind the end */
		{ { 800, 80, true }, { 1600, 80, true } }, /* two ends */
		{ { 800, 80, true }, { 800, 88, true } },  /* two ends, the same begin */
	};

	(void)state;
	version = 6;
	assert_refused(pairs, sizeof(pairs) / sizeof(pairs[0]));
	tear_down(state);
	set_up(state);
	assert_refused(pairs, sizeof(pairs) / sizeof(pairs[0]));
}

/* Those of the second stream, in each byte other than the first. */
static enum fragments_step take_other(uint32_t id, size_t offset, size_t len, bool is_last)
{
	struct fragment other = make(id, offset, len, is_last);

	other.data = stream[1] + offset;
	return take_this(&other);
}

static void of_ipv4_the_first_byte_is_kept(void **state)
{
	(void)state;
	assert_int_equal(take(1, 80, 160, false), FRAGMENTS_HELD);
	assert_int_equal(take(1, 320, 80, false), FRAGMENTS_HELD);
	assert_int_equal(take_other(1, 88, 16, false), FRAGMENTS_HELD);  /* brings nothing */
	assert_int_equal(take_other(1, 80, 160, false), FRAGMENTS_HELD); /* nor in its very place */
	assert_int_equal(take_other(1, 0, 400, false), FRAGMENTS_HELD);  /* before, between */
	assert_int_equal(take_other(1, 392, 168, true), FRAGMENTS_WHOLE); /* behind */
	assert_int_equal(whole.len, 560);
	assert_int_equal(whole.protocol, 17);
	for (size_t i = 0; i < whole.len; i++) {
		bool is_first = (i >= 80 && i < 240) || (i >= 320 && i < 400);

		assert_int_equal(whole.data[i], stream[is_first ? 0 : 1][i]);
	}
	assert_int_equal(fragments_counts(fragments)->overlapping_fragments, 4);
	assert_int_equal(fragments_counts(fragments)->duplicate_fragments, 2);
}

/* A first fragment of odd length, the last one, and one that goes on behind the end. */
static void of_ipv4_nothing_lies_behind_the_end(void **state)
{
	(void)state;
	assert_int_equal(take(242, 0, 18, false), FRAGMENTS_HELD);
	assert_int_equal(take(242, 48, 116, true), FRAGMENTS_HELD);
	assert_int_equal(take_other(242, 0, 304, false), FRAGMENTS_WHOLE);
	assert_int_equal(whole.len, 164);
	assert_memory_equal(whole.data, stream[0], 18);
	assert_memory_equal(whole.data + 18, stream[1] + 18, 30);
	assert_memory_equal(whole.data + 48, stream[0] + 48, 116);
	version = 6;
	assert_int_equal(take(242, 0, 18, false), FRAGMENTS_IMPOSSIBLE);
}

/* What comes first says what is carried, and an end may come with bytes that are there. */
static void of_ipv4_the_end_alone_may_be_new(void **state)
{
	struct fragment begin = make(1, 0, 808, false);

	(void)state;
	assert_int_equal(take(1, 0, 800, false), FRAGMENTS_HELD);
	begin.protocol = 6;
	assert_int_equal(take_this(&begin), FRAGMENTS_HELD);
	assert_int_equal(take(1, 800, 8, true), FRAGMENTS_WHOLE);
	assert_whole(808, 0);
}

static void too_many_pieces_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < FRAGMENTS_PIECES; i++)
		assert_int_equal(take(1, i * 8, 8, false), FRAGMENTS_HELD);
	assert_int_equal(take(1, FRAGMENTS_PIECES * 8, 8, true), FRAGMENTS_REFUSED);
	assert_int_equal(fragments_counts(fragments)->refused_fragments, FRAGMENTS_PIECES + 1);
}

/* Instruments that number all their datagrams 0: one that lost its end doesn't spoil the next one. */
static void a_number_may_be_used_again(void **state)
{
	struct fragment other = make(0, 0, 800, false);

	(void)state;
	other.data = stream[1];
	assert_int_equal(take(0, 0, 800, false), FRAGMENTS_HELD);
	assert_int_equal(take_this(&other), FRAGMENTS_HELD);
	other.data = stream[1] + 800;
	other.offset = 800;
	other.is_last = true;
	assert_int_equal(take_this(&other), FRAGMENTS_WHOLE);
	assert_whole(1600, 1);
	assert_int_equal(fragments_counts(fragments)->incomplete_count, 1);
	assert_int_equal(take(0, 0, 800, false), FRAGMENTS_HELD);
	assert_int_equal(take(0, 800, 800, true), FRAGMENTS_WHOLE);
	assert_whole(1600, 0);
}

/* Numbers come round long before the time is over: what is left of a datagram doesn't meet its successor. */
static void what_many_fragments_have_passed_is_given_up(void **state)
{
	(void)state;
	for (uint32_t span = FRAGMENTS_SPAN - 1; span <= FRAGMENTS_SPAN; span++) {
		assert_int_equal(take(1, 0, 800, false), FRAGMENTS_HELD);
		for (uint32_t i = 1; i < span; i += 2) {
			assert_int_equal(take(2, 0, 800, false), FRAGMENTS_HELD);
			assert_int_equal(take(2, 800, 8, true), FRAGMENTS_WHOLE);
		}
		assert_int_equal(take(1, 800, 8, true),
				 span < FRAGMENTS_SPAN ? FRAGMENTS_WHOLE : FRAGMENTS_HELD);
	}
	assert_int_equal(fragments_counts(fragments)->incomplete_count, 1);
}

static void keys_tell_datagrams_apart(void **state)
{
	struct fragment end = make(1, 800, 8, true);

	(void)state;
	assert_int_equal(take(1, 0, 800, false), FRAGMENTS_HELD);
	end.key.source[15] = 1;
	assert_int_equal(take_this(&end), FRAGMENTS_HELD);
	end = make(1, 800, 8, true);
	end.key.version = 6;
	assert_int_equal(take_this(&end), FRAGMENTS_HELD);
	assert_int_equal(take(2, 800, 8, true), FRAGMENTS_HELD);
	assert_int_equal(take(1, 800, 8, true), FRAGMENTS_WHOLE);
}

static void the_time_of_packets_gives_up_what_is_old(void **state)
{
	const int64_t times[] = { FRAGMENTS_TIMEOUT_NS, FRAGMENTS_TIMEOUT_NS + 1,
				  -FRAGMENTS_TIMEOUT_NS - 1, INT64_MAX, INT64_MIN };

	(void)state;
	for (uint32_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct fragment end = make(i, 800, 8, true);

		end.utc_ns = times[i];
		assert_int_equal(take(i, 0, 800, false), FRAGMENTS_HELD);
		assert_int_equal(take_this(&end), i == 0 ? FRAGMENTS_WHOLE : FRAGMENTS_HELD);
	}
}

static void the_oldest_goes_when_there_are_too_many(void **state)
{
	(void)state;
	for (uint32_t id = 0; id <= FRAGMENTS_SETS; id++)
		assert_int_equal(take(id, 0, 800, false), FRAGMENTS_HELD);
	assert_int_equal(fragments_counts(fragments)->incomplete_count, 1);
	for (uint32_t id = 1; id <= FRAGMENTS_SETS; id++)
		assert_int_equal(take(id, 800, 8, true), FRAGMENTS_WHOLE);
	assert_int_equal(take(0, 800, 8, true), FRAGMENTS_HELD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_longest_datagram_is_put_together, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_lies_nowhere_is_impossible, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_same_twice_does_no_harm, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_overlaps_is_refused_of_ipv6, set_up, tear_down),
		cmocka_unit_test_setup_teardown(contradictions_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_ipv4_the_first_byte_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_ipv4_nothing_lies_behind_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_ipv4_the_end_alone_may_be_new, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_many_fragments_have_passed_is_given_up, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(too_many_pieces_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_number_may_be_used_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_tell_datagrams_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_time_of_packets_gives_up_what_is_old, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_oldest_goes_when_there_are_too_many, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
