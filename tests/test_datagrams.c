/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_datagrams.c - what comes out of datagrams in any order: written as the numbers handed out, with the losses told
 * before them: "1 2 -3 6" is 1, 2, then 6 with a loss of three before it
 */
#include <endian.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/datagrams.h"
#include "drivers/mark5b.h"

#define FRAME 40
#define WINDOW 8
#define UNWANTED (UINT64_C(1) << 63)

static struct datagrams *d;
static struct source_packets counts;
static char handed_out[16384];
static uint64_t discarded_bytes;

/* ---- feeding --------------------------------------------------------------------------------- */

static void open_datagrams(const struct datagrams_config *asked)
{
	struct datagrams_config config = *asked;

	if (config.port_count == 0)
		config.port_count = 1;
	if (config.window == 0)
		config.window = WINDOW;
	memset(&counts, 0, sizeof(counts));
	handed_out[0] = '\0';
	discarded_bytes = 0;
	assert_int_equal(datagrams_create(&d, &config, &counts), 0);
}

static void open_psn(enum psn_kind psn)
{
	struct datagrams_config config = { .psn = psn, .frame_bytes = FRAME };

	open_datagrams(&config);
}

static int close_datagrams(void **state)
{
	(void)state;
	datagrams_free(d);
	d = NULL;
	return 0;
}

static void say(const char *format, ...)
{
	size_t used = strlen(handed_out);
	va_list arguments;

	if (used > 0)
		handed_out[used++] = ' ';
	va_start(arguments, format);
	vsnprintf(handed_out + used, sizeof(handed_out) - used, format, arguments);
	va_end(arguments);
}

/* Each payload says who it is in its first bytes, behind those of a header. */
#define NAME_AT 32

static void say_payload(const unsigned char *payload)
{
	say("%.8s", (const char *)payload + NAME_AT);
}

static void take_mark(const struct source_mark *mark)
{
	discarded_bytes += mark->discarded_bytes;
	if (mark->lost_bytes > 0)
		say("-%" PRIu64, mark->lost_bytes / datagrams_frame_bytes(d));
}

static void drain(void)
{
	unsigned char buf[DATAGRAMS_BYTES_MAX];

	while (datagrams_has_ready(d)) {
		struct source_mark mark = { 0 };

		assert_int_equal(datagrams_get(d, buf, datagrams_frame_bytes(d), &mark),
				 datagrams_frame_bytes(d));
		datagrams_tell(d, &mark, true);
		take_mark(&mark);
		say_payload(buf);
	}
}

static struct datagram_sender sender_of(unsigned char last)
{
	return (struct datagram_sender){ .bytes = { 192, 0, 2, last }, .len = 4 };
}

static enum datagram_step offer(const unsigned char *data, size_t bytes, unsigned port,
				unsigned char from)
{
	struct datagram_sender sender = sender_of(from);
	struct datagram datagram = { .bytes = bytes, .port = port, .sender = &sender };
	enum datagram_step step;

	datagram_split(d, &datagram, data);
	step = datagrams_take(d, &datagram, true);
	if (step == DATAGRAM_PASSED)
		say_payload(datagram.payload);
	drain();
	return step;
}

static size_t put_number(unsigned char *data, enum psn_kind kind, uint64_t number)
{
	uint64_t value64 = kind == PSN_BE64 ? htobe64(number) : htole64(number);
	uint32_t value32 = kind == PSN_BE32 ? htobe32((uint32_t)number) : htole32((uint32_t)number);
	size_t bytes = psn_prefix_bytes(kind);

	memcpy(data, bytes == sizeof(value32) ? (void *)&value32 : (void *)&value64, bytes);
	return bytes;
}

static enum datagram_step feed_as(enum psn_kind kind, uint64_t number)
{
	unsigned char data[8 + FRAME] = { 0 };
	size_t prefix_bytes = put_number(data, kind, number);

	snprintf((char *)data + prefix_bytes + NAME_AT, 8, "%u",
		 (unsigned)((number & ~UNWANTED) % 100000));
	return offer(data, prefix_bytes + FRAME, 0, 1);
}

static enum datagram_step feed(uint64_t number)
{
	return feed_as(datagrams_psn(d), number);
}

static void put_word(unsigned char *data, int index, uint32_t word)
{
	word = htole32(word);
	memcpy(data + index * 4, &word, sizeof(word));
}

static enum datagram_step feed_vdif(unsigned thread, uint32_t second, uint32_t frame)
{
	unsigned char data[FRAME] = { 0 };

	put_word(data, 0, second);
	put_word(data, 1, 30U << 24 | frame);
	put_word(data, 2, FRAME / 8);
	put_word(data, 3, 1U << 26 | thread << 16 | ('M' << 8 | 'h'));
	snprintf((char *)data + NAME_AT, 8, "%c%u.%u", 'a' + (int)(thread % 26), second % 10,
		 frame % 1000);
	return offer(data, sizeof(data), 0, 1);
}

static void feed_range(uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		feed(i);
}

static void end(void)
{
	struct source_mark mark = { 0 };

	datagrams_end(d);
	drain();
	datagrams_count(d);
	datagrams_tell(d, &mark, false);
	take_mark(&mark);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Everything is told, and each that came is handed out or counted. */
static void expect(const char *wanted)
{
	uint64_t out_count = 0;

	end();
	assert_string_equal(handed_out, wanted);
	for (const char *at = handed_out; *at; at++)
		out_count += (at == handed_out || at[-1] == ' ') && *at != '-';
	assert_int_equal(get(&counts.received_count),
			 out_count + get(&counts.late_count) + get(&counts.duplicate_count) +
				 get(&counts.stray_count) + get(&counts.unwanted_count));
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const enum psn_kind numbered[] = { PSN_LE64, PSN_BE64, PSN_LE32, PSN_BE32 };

static void in_order_all_pass_without_a_copy(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
		open_psn(numbered[i]);
		for (uint64_t number = 1000; number < 1005; number++)
			assert_int_equal(feed(number), DATAGRAM_PASSED);
		expect("1000 1001 1002 1003 1004");
		assert_int_equal(get(&counts.lost_count), 0);
		close_datagrams(NULL);
	}
}

static void what_is_missing_is_told_before_what_follows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
		open_psn(numbered[i]);
		feed_range(1, 3);
		feed_range(6, 30);
		expect("1 2 3 -2 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30");
		assert_int_equal(get(&counts.lost_count), 2);
		close_datagrams(NULL);
	}
}

static void after_the_window_they_pass_again(void **state)
{
	(void)state;
	open_psn(PSN_LE64);
	feed_range(1, 3);
	for (uint64_t number = 5; number < 5 + WINDOW - 1; number++)
		assert_int_equal(feed(number), DATAGRAM_KEPT);
	assert_string_equal(handed_out, "1 2 3");
	feed(4 + WINDOW);
	assert_string_equal(handed_out, "1 2 3 -1 5 6 7 8 9 10 11 12");
	assert_int_equal(feed(5 + WINDOW), DATAGRAM_PASSED);
	expect("1 2 3 -1 5 6 7 8 9 10 11 12 13");
}

static void out_of_order_they_are_put_in_their_place(void **state)
{
	static const uint64_t order[] = { 1, 3, 2, 4, 8, 7, 6, 5, 10, 9, 11 };

	(void)state;
	open_psn(PSN_LE64);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		feed(order[i]);
	expect("1 2 3 4 5 6 7 8 9 10 11");
	assert_int_equal(get(&counts.reordered_count), 1 + 3 + 1);
	assert_int_equal(get(&counts.lost_count), 0);
	assert_int_equal(discarded_bytes, 0);
}

static void one_that_comes_behind_the_window_is_late(void **state)
{
	(void)state;
	open_psn(PSN_LE64);
	feed_range(1, 3);
	feed_range(5, 20);
	assert_int_equal(feed(4), DATAGRAM_DISCARDED);
	assert_int_equal(feed(4), DATAGRAM_DISCARDED);
	feed(21);
	expect("1 2 3 -1 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21");
	assert_int_equal(get(&counts.late_count), 2);
	assert_int_equal(get(&counts.lost_count), 1);
	assert_int_equal(discarded_bytes, 2 * FRAME);
}

static void each_comes_out_once(void **state)
{
	static const uint64_t order[] = { 1, 1, 2, 4, 4, 3, 2, 3, 5, 4 };

	(void)state;
	open_psn(PSN_BE64);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		feed(order[i]);
	expect("1 2 3 4 5");
	assert_int_equal(get(&counts.duplicate_count), 5);
	assert_int_equal(get(&counts.reordered_count), 1);
	assert_int_equal(discarded_bytes, 5 * FRAME);
}

static void numbers_of_32_bits_go_on_behind_their_end(void **state)
{
	static const enum psn_kind kinds[] = { PSN_LE32, PSN_BE32 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		open_psn(kinds[i]);
		feed(UINT32_MAX - 1);
		feed(0);
		feed(UINT32_MAX);
		feed(1);
		feed(4);
		end();
		assert_string_equal(handed_out, "67294 67295 0 1 -2 4");
		assert_int_equal(get(&counts.restart_count) + get(&counts.late_count), 0);
		close_datagrams(NULL);
	}
}

static void numbers_of_64_bits_pass_2_to_the_32(void **state)
{
	static const enum psn_kind kinds[] = { PSN_LE64, PSN_BE64 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		open_psn(kinds[i]);
		for (uint64_t number = UINT32_MAX - UINT64_C(2); number < UINT32_MAX + UINT64_C(4);
		     number++)
			assert_int_equal(feed(number), DATAGRAM_PASSED);
		close_datagrams(NULL);
	}
}

/* 32 bits in the upper half of 8 bytes */
static void the_other_kind_of_number_wraps_as_well(void **state)
{
	(void)state;
	open_psn(PSN_LE64);
	for (uint64_t number = UINT32_MAX - UINT64_C(2); number < UINT32_MAX + UINT64_C(4); number++) {
		assert_int_equal(feed(number << 32), DATAGRAM_PASSED);
	}
	end();
	assert_int_equal(get(&counts.lost_count) + get(&counts.restart_count), 0);
}

static void what_is_not_to_be_recorded_is_no_loss(void **state)
{
	static const enum psn_kind kinds[] = { PSN_LE64, PSN_BE64 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		open_psn(kinds[i]);
		feed(UNWANTED | 1);
		feed_range(2, 3);
		assert_int_equal(feed(UNWANTED | 4), DATAGRAM_DISCARDED);
		feed(5);
		feed(UNWANTED | 7); /* out of order */
		feed(6);
		feed(UNWANTED | 9);
		feed_range(10, 11);
		expect("2 3 5 6 -1 10 11"); /* 8 */
		assert_int_equal(get(&counts.unwanted_count), 4);
		assert_int_equal(discarded_bytes, 4 * FRAME);
		close_datagrams(NULL);
	}
}

/* ---- far away -------------------------------------------------------------------------------- */

static void a_jump_is_believed_when_the_next_agrees(void **state)
{
	(void)state;
	open_psn(PSN_LE64);
	feed_range(1, 3);
	assert_int_equal(feed(5000), DATAGRAM_KEPT);
	assert_string_equal(handed_out, "1 2 3");
	feed(5001);
	assert_int_equal(feed(5002), DATAGRAM_PASSED);
	expect("1 2 3 -4996 5000 5001 5002");
	assert_int_equal(get(&counts.lost_count), 4996);
}

static void a_jump_is_no_end_of_reordering(void **state)
{
	(void)state;
	open_psn(PSN_LE64);
	feed_range(1, 3);
	feed(5); /* behind a hole when the stream jumps */
	feed(5001);
	feed(5001);
	feed(5000);
	feed(5003);
	feed(5002);
	expect("1 2 3 -1 5 -4994 5000 5001 5002 5003");
	assert_int_equal(get(&counts.reordered_count), 2);
	assert_int_equal(get(&counts.duplicate_count), 1);
}

static void a_number_nobody_agrees_with_is_stray(void **state)
{
	(void)state;
	open_psn(PSN_LE64);
	feed_range(1, 3);
	feed(70000);
	feed_range(4, 5);
	feed(80000);
	feed(90000);
	feed(6);
	feed(12345);
	expect("1 2 3 4 5 6");
	assert_int_equal(get(&counts.stray_count), 4);
	assert_int_equal(get(&counts.lost_count), 0);
	assert_int_equal(discarded_bytes, 4 * FRAME);
}

static void a_sender_that_begins_anew_loses_nothing(void **state)
{
	(void)state;
	open_psn(PSN_LE64);
	feed_range(100000, 100001);
	feed_range(0, 2);                                       /* back */
	feed_range(UINT64_C(1) << 50, (UINT64_C(1) << 50) + 1); /* farther than can be lost */
	end();
	assert_int_equal(get(&counts.restart_count), 2);
	assert_int_equal(get(&counts.lost_count), 0);
	assert_int_equal(get(&counts.stray_count), 0);
	assert_int_equal(get(&counts.received_count), 7);
	assert_int_equal(discarded_bytes, 0);
}

static void the_largest_numbers_do_no_harm(void **state)
{
	static const uint64_t order[] = { UINT64_MAX,        0, INT64_MAX, INT64_MAX - UINT64_C(1),
					  UINT64_C(1) << 62, 1, INT64_MAX, 2 };

	(void)state;
	for (size_t kind = 0; kind < sizeof(numbered) / sizeof(numbered[0]); kind++) {
		open_psn(numbered[kind]);
		for (int turn = 0; turn < 4; turn++)
			for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
				feed(order[i]);
		end();
		assert_int_equal(get(&counts.received_count), 32);
		close_datagrams(NULL);
	}
}

/* ---- giving up, and the end ------------------------------------------------------------------ */

static void who_gives_up_gets_what_was_kept(void **state)
{
	(void)state;
	open_psn(PSN_LE64);
	feed_range(1, 2);
	feed(4);
	feed(6);
	assert_true(datagrams_is_waiting(d));
	datagrams_give_up(d);
	assert_false(datagrams_is_waiting(d));
	drain();
	assert_string_equal(handed_out, "1 2 -1 4 -1 6");
	feed(5);
	feed(7);
	expect("1 2 -1 4 -1 6 7");
	assert_int_equal(get(&counts.late_count), 1);
}

static void drops_at_the_end_are_told_behind_the_last(void **state)
{
	(void)state;
	open_psn(PSN_LE64);
	feed_range(1, 2);
	datagrams_lost(d, 0, 3); /* seen in the numbers */
	feed_range(6, 7);
	datagrams_lost(d, 0, 5); /* seen by nobody else */
	expect("1 2 -3 6 7 -5");
	assert_int_equal(get(&counts.lost_count), 8);
}

static void drops_at_the_end_are_told_behind_what_was_kept_until_then(void **state)
{
	(void)state;
	open_psn(PSN_LE64);
	feed_range(1, 2);
	feed_range(4, 5);
	datagrams_lost(d, 0, 5);
	expect("1 2 -1 4 5 -5");
	assert_int_equal(get(&counts.lost_count), 6);
}

static void without_numbers_the_receiver_tells(void **state)
{
	(void)state;
	open_psn(PSN_NONE);
	feed_range(1, 2);
	datagrams_lost(d, 0, 3);
	assert_int_equal(feed(9), DATAGRAM_KEPT);
	assert_int_equal(feed(10), DATAGRAM_PASSED);
	datagrams_lost(d, 0, 2);
	expect("1 2 -3 9 10 -2");
	assert_int_equal(get(&counts.lost_count), 5);
}

static void a_buffer_too_short_gets_a_part(void **state)
{
	unsigned char data[8 + FRAME] = { 0 }, out[FRAME];
	struct datagram datagram = { .bytes = sizeof(data) };
	struct source_mark mark = { 0 };

	(void)state;
	open_psn(PSN_LE64);
	for (size_t i = 0; i < FRAME; i++)
		data[8 + i] = (unsigned char)i;
	datagram_split(d, &datagram, data);
	assert_int_equal(datagrams_take(d, &datagram, false), DATAGRAM_KEPT);
	assert_int_equal(datagrams_get(d, out, 10, &mark), 10);
	assert_int_equal(datagrams_get(d, out + 10, FRAME, &mark), FRAME - 10);
	assert_memory_equal(out, data + 8, FRAME);
	assert_false(datagrams_has_ready(d));
}

/* ---- strays ---------------------------------------------------------------------------------- */

static void other_lengths_and_senders_are_stray(void **state)
{
	unsigned char data[8 + FRAME + 8] = { 0 };

	(void)state;
	open_psn(PSN_LE64);
	feed_range(1, 2);
	put_number(data, PSN_LE64, 3);
	assert_int_equal(offer(data, sizeof(data), 0, 1), DATAGRAM_STRAY);
	assert_int_equal(offer(data, 5, 0, 1), DATAGRAM_STRAY);
	assert_int_equal(offer(data, 8 + FRAME, 0, 2), DATAGRAM_STRAY);
	feed(3);
	expect("1 2 3");
	assert_int_equal(get(&counts.stray_count), 3);
	assert_int_equal(discarded_bytes, FRAME + 8 + 0 + FRAME);
}

static void from_any_sender_all_are_taken(void **state)
{
	struct datagrams_config config = { .psn = PSN_NONE, .frame_bytes = FRAME, .use_any_sender = true };
	unsigned char data[FRAME] = { [NAME_AT] = 'x' };

	(void)state;
	open_datagrams(&config);
	for (unsigned char from = 1; from < 4; from++)
		assert_int_equal(offer(data, FRAME, 0, from), DATAGRAM_PASSED);
	expect("x x x");
}

static void from_any_sender_each_has_its_own_numbers(void **state)
{
	struct datagrams_config config = { .psn = PSN_LE64, .frame_bytes = FRAME, .use_any_sender = true };
	unsigned char data[8 + FRAME] = { 0 };

	(void)state;
	open_datagrams(&config);
	for (uint64_t i = 0; i < 6; i++) {
		for (unsigned char from = 1; from < 4; from++) {
			put_number(data, PSN_LE64, i + from * UINT64_C(1000));
			snprintf((char *)data + 8 + NAME_AT, 8, "%c%u", 'a' + from, (unsigned)i);
			if (i != 3 || from != 2)
				offer(data, sizeof(data), 0, from);
		}
	}
	expect("b0 c0 d0 b1 c1 d1 b2 c2 d2 b3 d3 b4 d4 b5 d5 -1 c4 c5");
}

static void threads_that_are_too_many_are_stray(void **state)
{
	(void)state;
	open_psn(PSN_VDIF);
	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned thread = 0; thread < DATAGRAMS_STREAM_MAX + 88; thread++)
			assert_int_equal(feed_vdif(thread, 7, turn), thread < DATAGRAMS_STREAM_MAX ?
									     DATAGRAM_PASSED :
									     DATAGRAM_STRAY);
	datagrams_count(d);
	assert_int_equal(get(&counts.stray_count), 2 * 88);
}

static void from_one_sender_only_his_are_taken(void **state)
{
	struct datagrams_config config = { .sender = sender_of(7) };
	unsigned char data[FRAME] = { [NAME_AT] = 'x' };

	(void)state;
	open_datagrams(&config);
	for (int i = 0; i < 3; i++) {
		offer(data, FRAME, 0, 1);
		offer(data, FRAME, 0, 7);
	}
	expect("x x x");
	assert_int_equal(get(&counts.stray_count), 3);
}

static void each_port_has_its_own_numbers_and_sender(void **state)
{
	struct datagrams_config config = { .psn = PSN_LE64, .frame_bytes = FRAME, .port_count = 2 };
	unsigned char data[8 + FRAME] = { 0 };

	(void)state;
	open_datagrams(&config);
	for (uint64_t i = 0; i < 4; i++) {
		for (unsigned port = 0; port < 2; port++) {
			put_number(data, PSN_LE64, i + port * 5000);
			snprintf((char *)data + 8 + NAME_AT, 8, "%c%" PRIu64, 'a' + (int)port, i);
			assert_int_equal(offer(data, sizeof(data), port, (unsigned char)(1 + port)),
					 DATAGRAM_PASSED);
		}
	}
	expect("a0 b0 a1 b1 a2 b2 a3 b3");
}

/* ---- headers of frames ----------------------------------------------------------------------- */

static void each_vdif_thread_is_in_order_by_itself(void **state)
{
	(void)state;
	open_psn(PSN_VDIF);
	feed_vdif(0, 100, 0);
	feed_vdif(1, 100, 0);
	feed_vdif(0, 100, 1);
	feed_vdif(1, 100, 2); /* before 1 */
	feed_vdif(0, 100, 2);
	feed_vdif(1, 100, 1);
	feed_vdif(0, 101, 0); /* the rate is 3 */
	feed_vdif(1, 101, 0);
	feed_vdif(0, 101, 2); /* without 1 */
	feed_vdif(1, 101, 1);
	feed_vdif(0, 102, 1); /* without 0 */
	expect("a0.0 b0.0 a0.1 a0.2 b0.1 b0.2 a1.0 b1.0 b1.1 -1 a1.2 -1 a2.1");
	assert_int_equal(get(&counts.reordered_count), 1);
	assert_int_equal(get(&counts.lost_count), 2);
}

static void a_second_is_crossed_out_of_order(void **state)
{
	(void)state;
	open_psn(PSN_VDIF);
	for (uint32_t frame = 0; frame < 5; frame++)
		feed_vdif(0, 107, frame);
	for (uint32_t frame = 0; frame < 4; frame++)
		feed_vdif(0, 108, frame);
	feed_vdif(0, 109, 1);
	feed_vdif(0, 109, 0);
	feed_vdif(0, 108, 4);
	feed_vdif(0, 109, 2);
	expect("a7.0 a7.1 a7.2 a7.3 a7.4 a8.0 a8.1 a8.2 a8.3 a8.4 a9.0 a9.1 a9.2");
	assert_int_equal(get(&counts.lost_count), 0);
}

static void vdif_frames_of_whole_seconds_are_missing(void **state)
{
	(void)state;
	open_psn(PSN_VDIF);
	for (uint32_t frame = 0; frame < 20; frame++)
		feed_vdif(0, 100, frame);
	handed_out[0] = '\0';
	feed_vdif(0, 103, 2);
	feed_vdif(0, 103, 3);
	end();
	assert_string_equal(handed_out, "-42 a3.2 a3.3");
}

static size_t make_mark5b(unsigned char *data, uint32_t second_digits, uint16_t frame)
{
	memset(data, 0, MARK5B_FRAME_BYTES);
	put_word(data, 0, 0xabaddeed);
	put_word(data, 1, frame);
	put_word(data, 2, 0x821U << 20 | second_digits);
	snprintf((char *)data + NAME_AT, 8, "%x.%u", second_digits & 0xf, frame);
	snprintf((char *)data + MARK5B_HALF_BYTES + NAME_AT, 8, "%x.%uh", second_digits & 0xf, frame);
	return MARK5B_FRAME_BYTES;
}

static void mark5b_frames_count_by_second_and_frame(void **state)
{
	struct datagrams_config config = { .psn = PSN_MARK5B, .frame_bytes = MARK5B_FRAME_BYTES };
	static const unsigned char order[][2] = { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 1 },
						  { 1, 0 }, { 2, 0 }, { 2, 1 } };
	unsigned char data[MARK5B_FRAME_BYTES];

	(void)state;
	open_datagrams(&config);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		offer(data, make_mark5b(data, 0x19801U + order[i][0], order[i][1]), 0, 1);
	expect("1.0 1.1 1.2 2.0 2.1 -1 3.0 3.1");
	assert_int_equal(get(&counts.reordered_count), 1);
}

static void mark5b_frames_may_come_in_halves(void **state)
{
	struct datagrams_config config = { .port_count = 1 };
	unsigned char data[MARK5B_FRAME_BYTES];

	(void)state;
	open_datagrams(&config);
	for (uint16_t frame = 0; frame < 5; frame++) {
		make_mark5b(data, 0x19801, frame);
		if (frame != 3)
			offer(data, MARK5B_HALF_BYTES, 0, 1);
		if (frame != 2)
			offer(data + MARK5B_HALF_BYTES, MARK5B_HALF_BYTES, 0, 1);
	}
	assert_int_equal(datagrams_psn(d), PSN_MARK5B);
	/* whose half without a header is can't be told when another one is missing: it is taken for that of 2 */
	expect("1.0 1.0h 1.1 1.1h 1.2 1.3h -2 1.4 1.4h");
}

/* ---- finding out ----------------------------------------------------------------------------- */

static void expect_found(enum psn_kind kind, size_t frame_bytes)
{
	assert_string_equal(psn_name(datagrams_psn(d)), psn_name(kind));
	assert_int_equal(datagrams_frame_bytes(d), frame_bytes);
	assert_int_equal(datagrams_prefix_bytes(d), psn_prefix_bytes(kind));
}

static void numbers_in_front_of_frames_are_found(void **state)
{
	struct datagrams_config config = { .port_count = 1 };

	(void)state;
	for (size_t kind = 0; kind < sizeof(numbered) / sizeof(numbered[0]); kind++) {
		open_datagrams(&config);
		for (uint64_t number = 0x10200; number < 0x10204; number++) {
			unsigned char data[8 + MARK5B_FRAME_BYTES];
			size_t prefix_bytes = put_number(data, numbered[kind], number);

			make_mark5b(data + prefix_bytes, 0x19801, (uint16_t)number);
			/* halves: only every other one has a header */
			offer(data, prefix_bytes + MARK5B_HALF_BYTES, 0, 1);
		}
		expect_found(numbered[kind], MARK5B_HALF_BYTES);
		end();
		assert_int_equal(get(&counts.stray_count) + get(&counts.lost_count), 0);
		close_datagrams(NULL);
	}
}

static void frames_by_themselves_are_found(void **state)
{
	struct datagrams_config config = { .port_count = 1 };

	(void)state;
	open_datagrams(&config);
	feed_vdif(0, 7, 1);
	assert_int_equal(datagrams_frame_bytes(d), 0);
	feed_vdif(0, 7, 2);
	expect_found(PSN_VDIF, FRAME);
	expect("a7.1 a7.2");
}

static void what_was_lost_before_one_that_was_none_is_not_forgotten(void **state)
{
	struct datagrams_config config = { .port_count = 1 };
	unsigned char data[FRAME] = { [NAME_AT] = 'x' };

	(void)state;
	open_datagrams(&config);
	datagrams_lost(d, 0, 4);
	for (size_t bytes = 1; bytes <= 17; bytes++) /* more than are kept */
		offer(data, bytes, 0, 1);
	offer(data, FRAME, 0, 1);
	offer(data, FRAME, 0, 1);
	expect("-4 x x");
	assert_int_equal(get(&counts.lost_count), 4);
	assert_int_equal(get(&counts.stray_count), 17);
}

static void other_bytes_have_no_numbers(void **state)
{
	struct datagrams_config config = { .port_count = 1 };
	unsigned char data[FRAME] = { [NAME_AT] = 'x' };

	(void)state;
	open_datagrams(&config);
	offer(data, FRAME - 3, 0, 1); /* alone of its length */
	datagrams_lost(d, 0, 2);
	offer(data, FRAME, 0, 1);
	datagrams_lost(d, 0, 1);
	offer(data, FRAME, 0, 1);
	expect_found(PSN_NONE, FRAME);
	expect("-2 x -1 x");
	assert_int_equal(get(&counts.stray_count), 1);
}

static void one_datagram_in_all_is_taken_at_the_end(void **state)
{
	struct datagrams_config config = { .port_count = 1 };

	(void)state;
	open_datagrams(&config);
	feed_vdif(0, 7, 1);
	expect("a7.1");
	expect_found(PSN_VDIF, FRAME);
}

static void what_was_given_is_not_looked_for(void **state)
{
	struct datagrams_config config = { .psn = PSN_LE32, .port_count = 1 };
	unsigned char data[4 + FRAME] = { [4 + NAME_AT] = 'x' };

	(void)state;
	open_datagrams(&config);
	put_number(data, PSN_LE32, 8);
	offer(data, sizeof(data), 0, 1);
	put_number(data, PSN_LE32, 9);
	offer(data, sizeof(data), 0, 1);
	expect_found(PSN_LE32, FRAME);
	expect("x x");
}

static void many_that_agree_in_nothing_are_stray(void **state)
{
	struct datagrams_config config = { .port_count = 1 };
	static const unsigned char data[100];

	(void)state;
	open_datagrams(&config);
	for (size_t bytes = 10; bytes < 60; bytes++)
		offer(data, bytes, 0, 1);
	end();
	assert_int_equal(get(&counts.received_count), 50);
	/* the last ones kept: the first of them is taken for the stream */
	assert_int_equal(get(&counts.stray_count), 49);
}

/* ---- chance ---------------------------------------------------------------------------------- */

static uint64_t chance_state;

static uint64_t chance(uint64_t below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return chance_state % below;
}

/* The numbers that came out rise; those that are missing are as many as were told. */
static void check_rising(uint64_t first, uint64_t last)
{
	uint64_t next = first, out_count = 0, lost_count = 0;

	for (char *word = strtok(handed_out, " "); word; word = strtok(NULL, " ")) {
		uint64_t value = strtoull(*word == '-' ? word + 1 : word, NULL, 10);

		if (*word == '-') {
			lost_count += value;
			next += value;
			continue;
		}
		assert_int_equal(value, next);
		next++;
		out_count++;
	}
	assert_int_equal(next, last + 1);
	assert_int_equal(get(&counts.lost_count), lost_count);
	assert_int_equal(get(&counts.received_count), out_count + get(&counts.late_count) +
							      get(&counts.duplicate_count) +
							      get(&counts.stray_count));
}

/* Numbers that are at most half a window from their place, some of them left out, twice, or far away. */
static void whatever_comes_the_account_is_exact(void **state)
{
	enum { COUNT = 400 };

	(void)state;
	for (uint64_t seed = 1; seed <= 500; seed++) {
		uint64_t numbers[2 * COUNT], number_count = 0;

		chance_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		open_psn(numbered[seed % 4]);
		for (uint64_t i = 1; i < COUNT; i++) {
			if (chance(10) > 0 || i == 1 || i == COUNT - 1)
				numbers[number_count++] = i;
			if (chance(20) == 0)
				numbers[number_count++] = i;
		}
		for (uint64_t i = 2; i + WINDOW / 2 < number_count - 1; i++) {
			uint64_t other = i + chance(WINDOW / 2), kept = numbers[i];

			numbers[i] = numbers[other];
			numbers[other] = kept;
		}
		for (uint64_t i = 0; i < number_count; i++) {
			feed(numbers[i]);
			if (chance(30) == 0 && i + 1 < number_count)
				feed(50000 + chance(1000) * 100);
			if (chance(50) == 0 && i > 0)
				datagrams_give_up(d);
			drain();
		}
		end();
		check_rising(1, COUNT - 1);
		close_datagrams(NULL);
	}
}

static void any_headers_do_no_harm(void **state)
{
	static const enum psn_kind kinds[] = { PSN_VDIF, PSN_AUTO, PSN_LE64, PSN_BE32 };

	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct datagrams_config config = { .psn = kinds[seed % 4],
						   .frame_bytes = seed % 8 < 4 ? FRAME : 0 };

		chance_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		open_datagrams(&config);
		for (int i = 0; i < 300; i++) {
			unsigned char data[8 + FRAME];

			for (size_t at = 0; at < sizeof(data); at++)
				data[at] = (unsigned char)(chance(3) ? 0 : chance(256));
			put_word(data, 2, chance(4) ? FRAME / 8 : (uint32_t)chance(UINT32_MAX));
			offer(data, chance(5) ? FRAME : chance(sizeof(data)), 0,
			      (unsigned char)(1 + chance(2)));
			handed_out[0] = '\0';
		}
		end();
		assert_int_equal(get(&counts.received_count), 300);
		close_datagrams(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_all_pass_without_a_copy),
		cmocka_unit_test(what_is_missing_is_told_before_what_follows),
		cmocka_unit_test_teardown(after_the_window_they_pass_again, close_datagrams),
		cmocka_unit_test_teardown(out_of_order_they_are_put_in_their_place, close_datagrams),
		cmocka_unit_test_teardown(one_that_comes_behind_the_window_is_late, close_datagrams),
		cmocka_unit_test_teardown(each_comes_out_once, close_datagrams),
		cmocka_unit_test(numbers_of_32_bits_go_on_behind_their_end),
		cmocka_unit_test(numbers_of_64_bits_pass_2_to_the_32),
		cmocka_unit_test_teardown(the_other_kind_of_number_wraps_as_well, close_datagrams),
		cmocka_unit_test(what_is_not_to_be_recorded_is_no_loss),
		cmocka_unit_test_teardown(a_jump_is_believed_when_the_next_agrees, close_datagrams),
		cmocka_unit_test_teardown(a_jump_is_no_end_of_reordering, close_datagrams),
		cmocka_unit_test_teardown(a_number_nobody_agrees_with_is_stray, close_datagrams),
		cmocka_unit_test_teardown(a_sender_that_begins_anew_loses_nothing, close_datagrams),
		cmocka_unit_test(the_largest_numbers_do_no_harm),
		cmocka_unit_test_teardown(who_gives_up_gets_what_was_kept, close_datagrams),
		cmocka_unit_test_teardown(drops_at_the_end_are_told_behind_the_last, close_datagrams),
		cmocka_unit_test_teardown(drops_at_the_end_are_told_behind_what_was_kept_until_then,
					  close_datagrams),
		cmocka_unit_test_teardown(without_numbers_the_receiver_tells, close_datagrams),
		cmocka_unit_test_teardown(a_buffer_too_short_gets_a_part, close_datagrams),
		cmocka_unit_test_teardown(other_lengths_and_senders_are_stray, close_datagrams),
		cmocka_unit_test_teardown(from_any_sender_all_are_taken, close_datagrams),
		cmocka_unit_test_teardown(from_any_sender_each_has_its_own_numbers, close_datagrams),
		cmocka_unit_test_teardown(threads_that_are_too_many_are_stray, close_datagrams),
		cmocka_unit_test_teardown(from_one_sender_only_his_are_taken, close_datagrams),
		cmocka_unit_test_teardown(each_port_has_its_own_numbers_and_sender, close_datagrams),
		cmocka_unit_test_teardown(each_vdif_thread_is_in_order_by_itself, close_datagrams),
		cmocka_unit_test_teardown(a_second_is_crossed_out_of_order, close_datagrams),
		cmocka_unit_test_teardown(vdif_frames_of_whole_seconds_are_missing, close_datagrams),
		cmocka_unit_test_teardown(mark5b_frames_count_by_second_and_frame, close_datagrams),
		cmocka_unit_test_teardown(mark5b_frames_may_come_in_halves, close_datagrams),
		cmocka_unit_test(numbers_in_front_of_frames_are_found),
		cmocka_unit_test_teardown(frames_by_themselves_are_found, close_datagrams),
		cmocka_unit_test_teardown(what_was_lost_before_one_that_was_none_is_not_forgotten,
					  close_datagrams),
		cmocka_unit_test_teardown(other_bytes_have_no_numbers, close_datagrams),
		cmocka_unit_test_teardown(one_datagram_in_all_is_taken_at_the_end, close_datagrams),
		cmocka_unit_test_teardown(what_was_given_is_not_looked_for, close_datagrams),
		cmocka_unit_test_teardown(many_that_agree_in_nothing_are_stray, close_datagrams),
		cmocka_unit_test(whatever_comes_the_account_is_exact),
		cmocka_unit_test(any_headers_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
