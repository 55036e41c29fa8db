/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_gather_vdif.c - which frames are missing: of one thread and of several, over ends of seconds, and when it can't be told
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/bytes.h"
#include "tools/gather_vdif.h"

#define FRAME 72 /* bytes */

/* A stream of frames; the threads take turns in this order. */
struct stream {
	const uint16_t *threads;
	unsigned thread_count;
	uint32_t rate, first_frame;
	bool has_rate; /* the headers tell it */
};

static const uint16_t one[] = { 5 };
static const uint16_t three[] = { 7, 0, 1023 };

static struct gather_vdif *vdif;
static char why[GATHER_VDIF_WHY_LEN];

static int setup(void **state)
{
	(void)state;
	return gather_vdif_create(&vdif);
}

static int teardown(void **state)
{
	(void)state;
	gather_vdif_free(vdif);
	return 0;
}

static void restart(void)
{
	gather_vdif_free(vdif);
	assert_int_equal(gather_vdif_create(&vdif), 0);
}

static void put_word(unsigned char *frame, int index, uint32_t word)
{
	word = htole32(word);
	memcpy(frame + index * 4, &word, 4);
}

/* Each thread has something of its own in its header's extension: the station. */
static void make_frame(const struct stream *stream, uint64_t index, unsigned char *frame)
{
	uint64_t number = stream->first_frame + index / stream->thread_count;
	uint16_t thread = stream->threads[index % stream->thread_count];

	memset(frame, (int)index, FRAME);
	put_word(frame, 0, (uint32_t)(1000 + number / stream->rate));
	put_word(frame, 1, UINT32_C(50) << 24 | (uint32_t)(number % stream->rate));
	put_word(frame, 2, FRAME / 8);
	put_word(frame, 3, UINT32_C(7) << 26 | (uint32_t)thread << 16 | (0x4100u + thread % 16));
	/* 40 samples of 8 bits in a frame: kHz so that there are rate frames a second */
	put_word(frame, 4, stream->has_rate ? UINT32_C(1) << 24 | stream->rate * 40 / 2 / 1000 : 0);
	put_word(frame, 5, stream->has_rate ? 0xacabfeed : 0);
	put_word(frame, 6, 0);
	put_word(frame, 7, 0);
}

static void pass(const struct stream *stream, uint64_t from, uint64_t count)
{
	unsigned char frame[FRAME];

	for (uint64_t i = from; i < from + count; i++) {
		size_t cut = i * 13 % FRAME; /* pieces end anywhere */

		make_frame(stream, i, frame);
		gather_vdif_pass(vdif, frame, cut);
		gather_vdif_pass(vdif, frame + cut, FRAME - cut);
	}
}

static struct gather_vdif_ahead ahead_of(const struct stream *stream, uint64_t from, uint64_t index)
{
	struct gather_vdif_ahead ahead = { .is_known = true, .distance_bytes = (index - from) * FRAME };
	unsigned char frame[FRAME];

	make_frame(stream, index, frame);
	memcpy(ahead.header, frame, sizeof(ahead.header));
	return ahead;
}

static void assert_invalid(const struct stream *stream, uint64_t index, const unsigned char *frame)
{
	unsigned char expected[FRAME];

	make_frame(stream, index, expected);
	expected[3] |= 0x80;
	bytes_put_fill(expected + VDIF_HEADER_BYTES, FRAME - VDIF_HEADER_BYTES, 0);
	assert_memory_equal(frame, expected, FRAME);
}

/* The gap's frames are those of the stream, marked. */
static void fill(const struct stream *stream, uint64_t from, uint64_t count)
{
	unsigned char *bytes = malloc(count * FRAME);

	for (size_t at = 0; at < count * FRAME;) {
		size_t len = 1 + at % 100;

		len = len < count * FRAME - at ? len : count * FRAME - at;
		gather_vdif_fill(vdif, bytes + at, len);
		at += len;
	}
	for (uint64_t i = 0; i < count; i++)
		assert_invalid(stream, from + i, bytes + i * FRAME);
	free(bytes);
}

/* Gaps of many lengths one behind the other, with little between them; seconds end in and beside them. */
static void follow(const struct stream *stream, bool is_seen_ahead)
{
	uint64_t at = 2 * stream->thread_count;

	pass(stream, 0, at);
	for (uint64_t count = 1; count < 40; count++) {
		struct gather_vdif_ahead ahead = { 0 };

		if (is_seen_ahead)
			ahead = ahead_of(stream, at, at + count);
		why[0] = '\0';
		if (gather_vdif_begin(vdif, count * FRAME, &ahead, why) < 0)
			fail_msg("gap of %d frames at %d: %s", (int)count, (int)at, why);
		fill(stream, at, count);
		at += count;
		pass(stream, at, count % 3);
		at += count % 3;
	}
}

static void frames_go_on_from_those_before(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct stream stream = {
			.threads = i % 2 ? three : one,
			.thread_count = i % 2 ? 3 : 1,
			.rate = 1000,
			.first_frame = i < 2 ? 990 : 20,
			.has_rate = i >= 2,
		};

		for (int is_seen_ahead = !stream.has_rate; is_seen_ahead < 2; is_seen_ahead++) {
			restart();
			follow(&stream, is_seen_ahead);
		}
	}
}

/* Without a frame behind it and a rate in the headers, a second's end that has passed tells. */
static void a_seconds_end_tells_the_rate(void **state)
{
	const struct stream stream = { three, 3, 10, 7, false };
	const struct gather_vdif_ahead none = { 0 };

	(void)state;
	pass(&stream, 0, 6);
	assert_int_equal(gather_vdif_begin(vdif, FRAME, &none, why), -EINVAL);
	assert_non_null(strstr(why, "how many frames a second has"));
	pass(&stream, 6, 5);
	assert_int_equal(gather_vdif_begin(vdif, 80 * FRAME, &none, why), 0);
	fill(&stream, 11, 80);
}

/* Two gaps side by side: the frame behind both tells; and none of the frames between is needed. */
static void the_frame_behind_may_be_far(void **state)
{
	const struct stream stream = { three, 3, 10, 7, false };
	struct gather_vdif_ahead ahead = ahead_of(&stream, 6, 300);

	(void)state;
	pass(&stream, 0, 6);
	assert_int_equal(gather_vdif_begin(vdif, 100 * FRAME, &ahead, why), 0);
	fill(&stream, 6, 100);
	ahead = ahead_of(&stream, 106, 300);
	assert_int_equal(gather_vdif_begin(vdif, 194 * FRAME, &ahead, why), 0);
	fill(&stream, 106, 194);
}

static void refused(const struct stream *stream, uint64_t from, uint64_t bytes, uint64_t behind,
		    const char *words)
{
	struct gather_vdif_ahead ahead = ahead_of(stream, from, behind);

	assert_int_equal(gather_vdif_begin(vdif, bytes, &ahead, why), -EINVAL);
	if (!strstr(why, words))
		fail_msg("%s, and not: %s", why, words);
}

static void what_does_not_fit_is_refused_with_the_reason(void **state)
{
	const struct stream stream = { three, 3, 10, 7, false };

	(void)state;
	refused(&stream, 0, FRAME, 1, "no VDIF frames");
	pass(&stream, 0, 1);
	refused(&stream, 1, FRAME, 2, "no VDIF frames");
	pass(&stream, 1, 2);
	refused(&stream, 3, FRAME, 4, "take turns"); /* no thread has come again */
	pass(&stream, 3, 3);
	refused(&stream, 6, FRAME - 8, 7, "no whole number of frames of 72");
	refused(&stream, 7, FRAME, 8, "not the one that follows");     /* another thread's */
	refused(&stream, 3, 3 * FRAME, 6, "not the one that follows"); /* of a time that has been */
	gather_vdif_pass(vdif, "abcdefgh", 8);
	refused(&stream, 6, FRAME, 7, "no whole number of frames");
}

/* Frames that came out of order: no turn is like another. */
static void irregular_turns_are_refused(void **state)
{
	const struct stream stream = { three, 3, 10, 7, false };

	(void)state;
	pass(&stream, 0, 3);
	pass(&stream, 4, 1);
	pass(&stream, 3, 1);
	pass(&stream, 5, 1);
	refused(&stream, 6, FRAME, 7, "take turns");
	pass(&stream, 6, 6);
	assert_int_equal(gather_vdif_begin(vdif, FRAME,
					   &(struct gather_vdif_ahead){ .distance_bytes = 0 }, why),
			 0);
}

/* Fill in the place of frames keeps the places of those behind it, though it is none itself. */
static void frames_are_found_again_behind_the_pattern(void **state)
{
	const struct stream stream = { three, 3, 1000, 20, true };
	unsigned char pattern[3 * FRAME];

	(void)state;
	bytes_put_fill(pattern, sizeof(pattern), 0);
	gather_vdif_pass_pattern(vdif, pattern, FRAME + 5); /* before the first frame: any length */
	pass(&stream, 0, 6);
	gather_vdif_pass_pattern(vdif, pattern, sizeof(pattern));
	refused(&stream, 9, FRAME, 10, "no VDIF frames");
	pass(&stream, 9, 6);
	assert_int_equal(gather_vdif_begin(vdif, 5 * FRAME, &(struct gather_vdif_ahead){ 0 }, why), 0);
	fill(&stream, 15, 5);
}

static void other_data_are_never_taken_for_frames(void **state)
{
	unsigned char noise[4096];
	uint64_t word = 88172645463325252;

	(void)state;
	for (int turn = 0; turn < 200; turn++) {
		restart();
		for (size_t i = 0; i < sizeof(noise); i++) {
			word ^= word << 13;
			word ^= word >> 7;
			word ^= word << 17;
			noise[i] = (unsigned char)word;
		}
		for (int i = 0; i < 20; i++)
			gather_vdif_pass(vdif, noise, sizeof(noise));
		assert_int_equal(gather_vdif_begin(vdif, 8000, &(struct gather_vdif_ahead){ 0 }, why),
				 -EINVAL);
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(frames_go_on_from_those_before),
		CASE(a_seconds_end_tells_the_rate),
		CASE(the_frame_behind_may_be_far),
		CASE(what_does_not_fit_is_refused_with_the_reason),
		CASE(irregular_turns_are_refused),
		CASE(frames_are_found_again_behind_the_pattern),
		CASE(other_data_are_never_taken_for_frames),
	};

	return cmocka_run_group_tests_name("gather_vdif", tests, NULL, NULL);
}
