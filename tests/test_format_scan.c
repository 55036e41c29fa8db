/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_format_scan.c - streams of each format, whole and damaged, in pieces of any size
 *
 * Whatever the bytes are, each is counted once: before the first frame, in a frame, damaged, skipped, or
 * behind the last whole one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/sim.h"
#include "tests/sample.h"
#include "tools/format_report.h"
#include "tools/format_scan.h"

#define NOT_AFTER_S 1577836800 /* 2020-01-01 */
#define FUZZ_ROUNDS 400

static const char *const names[] = {
	"radio/sample.vdif",       "radio/sample_mwa.vdif", "radio/sample_bps1.vdif",
	"radio/vdifio_1.vdif",     "radio/sample.m5b",      "radio/sample_16track.m4",
	"radio/sample_32track.m4",
};
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

/* The same on every machine. */
static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((random_state >> 33) % limit);
}

static struct format_scan *begin_scan(void)
{
	const struct format_scan_config config = { .not_after_s = NOT_AFTER_S };
	struct format_scan *scan;

	assert_int_equal(format_scan_create(&scan, &config), 0);
	return scan;
}

/* @piece_max: 0: as much as goes */
static void feed(struct format_scan *scan, const unsigned char *bytes, size_t len, uint64_t offset,
		 uint32_t piece_max)
{
	for (size_t done = 0; done < len && format_scan_wants_more(scan);) {
		size_t room, piece;
		void *to = format_scan_room(scan, &room);

		piece = piece_max ? 1 + random_below(piece_max) : room;
		if (piece > room)
			piece = room;
		if (piece > len - done)
			piece = len - done;
		memcpy(to, bytes + done, piece);
		format_scan_feed(scan, offset + done, piece);
		done += piece;
	}
}

static const struct format_stats *end_scan(struct format_scan *scan)
{
	format_scan_end(scan);
	return format_scan_stats(scan);
}

static uint64_t counted_bytes(const struct format_stats *stats)
{
	return stats->leading_bytes + stats->trailing_bytes + stats->count[FORMAT_SKIPPED] +
	       stats->layout.stride_bytes * (stats->frame_count + stats->count[FORMAT_DAMAGED] +
					     stats->count[FORMAT_OVERWRITTEN]);
}

static void pieces_of_any_size_give_the_same(void **state)
{
	(void)state;
	random_state = 1;
	for (size_t i = 0; i < NAME_COUNT; i++) {
		size_t len;
		unsigned char *bytes = sample_read(names[i], &len);
		struct format_scan *whole = begin_scan();
		const struct format_stats *stats;

		feed(whole, bytes, len, 0, 0);
		stats = end_scan(whole);
		assert_true(format_stats_are_good(stats, false));
		assert_int_equal(counted_bytes(stats), len);
		for (uint32_t piece_max = 7; piece_max < 100000; piece_max *= 11) {
			struct format_scan *parts = begin_scan();
			const struct format_stats *same;

			feed(parts, bytes, len, 0, piece_max);
			same = end_scan(parts);
			assert_int_equal(same->frame_count, stats->frame_count);
			assert_int_equal(same->leading_bytes, stats->leading_bytes);
			assert_int_equal(same->trailing_bytes, stats->trailing_bytes);
			assert_int_equal(same->start_utc_ns, stats->start_utc_ns);
			assert_int_equal(same->end_utc_ns, stats->end_utc_ns);
			assert_true(format_stats_are_good(same, false));
			format_scan_free(parts);
		}
		format_scan_free(whole);
		free(bytes);
	}
}

/* ---- streams made here ------------------------------------------------------------------------- */

static void put_word(unsigned char *to, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(word >> i * 8);
}

/* Of VDIF without a rate in its headers; the payload is noise. */
struct made {
	uint32_t frame_bytes, prefix_bytes, frames_a_second, thread_count;
};

static void put_vdif(unsigned char *to, const struct made *made, uint32_t position, uint32_t thread)
{
	for (uint32_t i = 0; i < made->frame_bytes; i++)
		to[i] = (unsigned char)(random_below(255));
	put_word(to, 1000 + position / made->frames_a_second);
	put_word(to + 4, UINT32_C(40) << 24 | position % made->frames_a_second);
	put_word(to + 8, made->frame_bytes / 8);
	put_word(to + 12, UINT32_C(1) << 26 | thread << 16 | 0x4566);
	put_word(to + 16, 0);
}

/* Positions [0, count) of all threads, one beside the other. Return: free() it. */
static unsigned char *make_vdif(const struct made *made, uint32_t count, size_t *len)
{
	size_t stride = made->prefix_bytes + made->frame_bytes;
	unsigned char *bytes, *to;

	*len = stride * count * made->thread_count;
	bytes = calloc(1, *len);
	assert_non_null(bytes);
	to = bytes;
	for (uint32_t position = 0; position < count; position++)
		for (uint32_t thread = 0; thread < made->thread_count; thread++, to += stride) {
			if (made->prefix_bytes)
				put_word(to, 500 + position * made->thread_count + thread);
			put_vdif(to + made->prefix_bytes, made, position, thread);
		}
	return bytes;
}

static void a_rate_is_counted_over_a_second(void **state)
{
	static const struct made made = { 1032, 0, 50, 3 };
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;
	size_t len;
	unsigned char *bytes = make_vdif(&made, 120, &len);

	(void)state;
	/* position 49 of thread 1 (the last of its second), and 70 to 72 of all */
	memmove(bytes + 148 * 1032, bytes + 149 * 1032, len - 149 * 1032);
	memmove(bytes + 209 * 1032, bytes + 218 * 1032, len - 218 * 1032);
	feed(scan, bytes, len - 10 * 1032, 0, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->layout.format, FORMAT_VDIF);
	assert_int_equal(stats->rate, 50);
	assert_int_equal(stats->rate_source, FORMAT_RATE_COUNTED);
	assert_int_equal(stats->stream_count, 3);
	assert_int_equal(stats->count[FORMAT_MISSING], 10);
	assert_int_equal(stats->streams[1].missing_count, 4);
	assert_int_equal(stats->frame_count, 350);
	assert_int_equal(stats->length_ns, 2400000000);
	assert_int_equal(stats->payload_bps, 1000 * 8 * 50 * 3);
	format_scan_free(scan);
	free(bytes);
}

/* Thread 2 ends after 40 frames, thread 1 begins with the 20th; one bit makes a frame one of a thread 513. */
static void a_thread_that_ends_early_lacks_frames(void **state)
{
	static const struct made made = { 1032, 0, 50, 3 };
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;
	size_t len, kept = 0;
	unsigned char *bytes = make_vdif(&made, 120, &len);

	(void)state;
	for (size_t i = 0; i < 360; i++) {
		size_t position = i / 3, thread = i % 3;

		if ((thread == 2 && position >= 40) || (thread == 1 && position < 20))
			continue;
		memmove(bytes + kept * 1032, bytes + i * 1032, 1032);
		kept++;
	}
	bytes[200 * 1032 + 15] |= 2;
	feed(scan, bytes, kept * 1032, 0, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->stream_count, 4);
	assert_int_equal(stats->count[FORMAT_MISSING], 20 + 80 + 1);
	assert_int_equal(stats->payload_bps, 1000 * 8 * 50 * 3);
	format_scan_free(scan);
	free(bytes);
}

/* Any one frame of the sixteen, but for the first and the last: a stream may begin and end between threads. */
static void each_frame_of_a_short_stream_is_missed(void **state)
{
	size_t len;
	unsigned char *whole = sample_read("radio/sample.vdif", &len), *bytes = malloc(len);

	(void)state;
	assert_non_null(bytes);
	for (size_t gone = 0; gone < 16; gone++) {
		struct format_scan *scan = begin_scan();
		const struct format_stats *stats;
		size_t at = gone * 5032;

		memcpy(bytes, whole, at);
		memcpy(bytes + at, whole + at + 5032, len - at - 5032);
		feed(scan, bytes, len - 5032, 0, 0);
		stats = end_scan(scan);
		assert_int_equal(stats->frame_count, 15);
		assert_int_equal(stats->count[FORMAT_MISSING], gone > 0 && gone < 15);
		format_scan_free(scan);
	}
	free(bytes);
	free(whole);
}

static void packets_with_numbers_are_counted_too(void **state)
{
	static const struct made made = { 8032, 8, 50, 1 };
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;
	size_t len, stride = 8040;
	unsigned char *bytes = make_vdif(&made, 30, &len);

	(void)state;
	memmove(bytes + 10 * stride, bytes + 13 * stride, len - 13 * stride);
	feed(scan, bytes, len - 3 * stride, 0, 5000);
	stats = end_scan(scan);
	assert_int_equal(stats->layout.prefix_bytes, 8);
	assert_int_equal(stats->layout.number_count, 1);
	assert_int_equal(stats->frame_count, 27);
	assert_int_equal(stats->count[FORMAT_MISSING], 3);
	assert_int_equal(stats->count[FORMAT_PACKETS], 3);
	assert_false(format_stats_are_good(stats, true));
	format_scan_free(scan);
	free(bytes);
}

/* Frames without a fault, and a sender whose numbers begin again: what counts against it is reported. */
static void packet_numbers_that_begin_again_are_told(void **state)
{
	static const struct made made = { 8032, 8, 50, 1 };
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;
	size_t len, stride = 8040;
	unsigned char *bytes = make_vdif(&made, 30, &len);
	json_t *report;

	(void)state;
	for (uint32_t i = 0; i < 30; i++)
		put_word(bytes + i * stride, i < 20 ? 5000 + i : 1 + i - 20);
	feed(scan, bytes, len, 0, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->frame_count, 30);
	for (int kind = 0; kind < FORMAT_FAULT_KINDS; kind++)
		assert_int_equal(stats->count[kind], 0);
	assert_int_equal(stats->packets.back_count, 1);
	assert_false(format_stats_are_good(stats, true));
	report = format_report_json(stats);
	assert_int_equal(json_integer_value(json_object_get(report, "packets_back_count")), 1);
	assert_int_equal(json_integer_value(json_object_get(report, "packets_stray_count")), 0);
	json_decref(report);
	format_scan_free(scan);
	free(bytes);
}

/* As they travel: each half of a frame with a number in front, and one half is lost. */
static void halves_of_mark5b_frames_are_put_together(void **state)
{
	size_t len;
	unsigned char *frames = sample_read("radio/sample.m5b", &len), bytes[8 * 5016];
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	for (int i = 0; i < 8; i++) {
		put_word(bytes + i * 5016, 1000 + (uint32_t)i);
		memcpy(bytes + i * 5016 + 8, frames + i * 5008, 5008);
	}
	feed(scan, bytes, sizeof(bytes), 0, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->layout.format, FORMAT_MARK5B);
	assert_int_equal(stats->layout.number_count, 2);
	assert_int_equal(stats->frame_count, 4);
	assert_int_equal(stats->rate, 6400);
	assert_true(format_stats_are_good(stats, false));
	format_scan_free(scan);

	scan = begin_scan();
	memmove(bytes + 3 * 5016, bytes + 4 * 5016, 4 * 5016);
	feed(scan, bytes, 7 * 5016, 0, 0);
	stats = end_scan(scan);
	assert_false(format_stats_are_good(stats, true));
	assert_int_equal(counted_bytes(stats), 7 * 5016);
	format_scan_free(scan);
	free(frames);
}

static void vlba_tracks_are_found_in_mid_frame(void **state)
{
	static const unsigned char header[] = { 0xff, 0xff, 0xff, 0xff, 0x82, 0x11,
						0x98, 0x01, 0x00, 0x00, 0x97, 0x5d };
	enum { TRACKS = 16, FRAME = VLBA_TRACK_BYTES * TRACKS, SKIPPED = 12345 };
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;
	unsigned char *bytes = malloc(3 * FRAME);

	(void)state;
	assert_non_null(bytes);
	for (int frame = 0; frame < 3; frame++) {
		unsigned char bits[12], *to = bytes + (size_t)frame * FRAME;
		uint64_t digits = UINT64_C(0x821198010000) + (frame == 1 ? 0x25 :
							      frame == 2 ? 0x50 :
									   0);
		uint16_t crc = mark5b_crc16(digits, 48);

		memcpy(bits, header, 4);
		for (int i = 0; i < 6; i++)
			bits[4 + i] = (unsigned char)(digits >> (40 - 8 * i));
		bits[10] = (unsigned char)(crc >> 8);
		bits[11] = (unsigned char)crc;
		for (int i = 0; i < FRAME; i++)
			to[i] = (unsigned char)random_below(256);
		for (int i = 0; i < VLBA_HEADER_BITS; i++)
			memset(to + i * TRACKS / 8, bits[i / 8] >> (7 - i % 8) & 1 ? 0xff : 0,
			       TRACKS / 8);
	}
	feed(scan, bytes + FRAME - SKIPPED, 2 * FRAME + SKIPPED, 0, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->layout.format, FORMAT_VLBA);
	assert_int_equal(stats->layout.track_count, TRACKS);
	assert_int_equal(stats->leading_bytes, SKIPPED);
	assert_int_equal(stats->frame_count, 2);
	assert_int_equal(stats->rate, 400);
	assert_int_equal(stats->payload_bps, 128000000);
	assert_int_equal(stats->start_utc_ns % 1000000000, 2500000);
	assert_true(format_stats_are_good(stats, false));
	format_scan_free(scan);
	free(bytes);
}

static void codif_counts_in_periods(void **state)
{
	enum { FRAME = 64 + 800, A_PERIOD = 10, PERIOD_S = 2, FRAMES = 35 };
	static unsigned char bytes[FRAMES * FRAME];
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;

	(void)state;
	for (uint32_t i = 0; i < FRAMES; i++) {
		unsigned char *to = bytes + (size_t)i * FRAME;
		uint32_t position = i < 20 ? i : i + 1; /* 20, the first of a period, is missing */

		put_word(to, position % A_PERIOD);
		put_word(to + 4, 101 + position / A_PERIOD * PERIOD_S);
		put_word(to + 8, UINT32_C(1) << 24 | 8 << 8 | 40);
		put_word(to + 12, PERIOD_S << 16);
		put_word(to + 24, 1 | 1 << 16);
		put_word(to + 28, 800 / 8);
		put_word(to + 32, A_PERIOD * 800);
		put_word(to + 40, 0xfeedcafe);
	}
	feed(scan, bytes, sizeof(bytes), 0, 500);
	stats = end_scan(scan);
	assert_int_equal(stats->layout.format, FORMAT_CODIF);
	assert_int_equal(stats->frame_count, FRAMES);
	assert_int_equal(stats->count[FORMAT_MISSING], 1);
	assert_int_equal(stats->rate, A_PERIOD);
	assert_int_equal(stats->length_ns, 7200000000);
	assert_int_equal(stats->payload_bps, 800 * 8 * 5);
	assert_int_equal(stats->start_utc_ns / 1000000000, vdif_epoch_utc_s(40) + 101);
	format_scan_free(scan);
}

/* Frames of a broken station: threads at random, times that go back, words where zeros should be. */
static void disorder_is_told(void **state)
{
	static const struct made made = { 5032, 0, 390625, 1 };
	static const uint32_t threads[] = { 162, 87, 80, 80, 133, 134, 134, 50, 50, 245 };
	static const uint32_t numbers[] = { 363, 354, 355, 355, 349, 349, 349, 352, 352, 362 };
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;
	static unsigned char bytes[10 * 5032];

	(void)state;
	for (int i = 0; i < 10; i++) {
		put_vdif(bytes + i * 5032, &made, numbers[i] + (i == 9 ? 6 * 390625 : 0), threads[i]);
		put_word(bytes + i * 5032 + 20, 0x27c53344);
		bytes[i * 5032 + 12] = i % 2;
		bytes[i * 5032 + 13] = 0;
	}
	feed(scan, bytes, sizeof(bytes), 0, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->layout.format, FORMAT_VDIF);
	assert_int_equal(stats->frame_count, 10);
	assert_true(stats->count[FORMAT_DISORDER] > 0);
	assert_false(format_stats_are_good(stats, true));
	format_scan_free(scan);
}

static void threads_beyond_the_bound_are_counted(void **state)
{
	static const struct made made = { 40, 0, 50, 1 };
	struct format_scan *scan = begin_scan();
	unsigned char *bytes = malloc(40 * 6000);
	const struct format_stats *stats;

	(void)state;
	assert_non_null(bytes);
	for (uint32_t i = 0; i < 6000; i++) {
		put_vdif(bytes + i * 40, &made, 7, i % 1024);
		bytes[i * 40 + 12] = (unsigned char)(i / 1024);
	}
	feed(scan, bytes, 40 * 6000, 0, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->frame_count, 6000);
	assert_int_equal(stats->stream_count, FORMAT_STREAMS_MAX);
	assert_int_equal(stats->untracked_count, 6000 - FORMAT_STREAMS_MAX);
	format_scan_free(scan);
	free(bytes);
}

static void fill_is_told_from_frames(void **state)
{
	static const struct made made = { 5032, 0, 50, 1 };
	static const unsigned char pattern[] = { 0x44, 0x33, 0x22, 0x11 };
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;
	size_t len;
	unsigned char *bytes = make_vdif(&made, 12, &len);

	(void)state;
	for (size_t i = 5 * 5032; i < 7 * 5032; i++)
		bytes[i] = pattern[i % 4];
	for (size_t i = 8 * 5032 + 32; i < 9 * 5032; i++)
		bytes[i] = pattern[i % 4];
	bytes[8 * 5032 + 3] |= 0x80; /* invalid */
	feed(scan, bytes, len, 0, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->count[FORMAT_OVERWRITTEN], 2);
	assert_int_equal(stats->count[FORMAT_MISSING], 2);
	assert_int_equal(stats->invalid_count, 1);
	assert_int_equal(stats->fill_count, 1);
	format_scan_free(scan);
	free(bytes);
}

/* A recording's gap that cuts two frames, and is no multiple of them. */
static void frames_are_expected_behind_a_gap_where_they_belong(void **state)
{
	static const struct made made = { 5032, 0, 50, 1 };
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;
	const size_t from = 5 * 5032 + 1000, to = 8 * 5032 + 3000;
	size_t len;
	unsigned char *bytes = make_vdif(&made, 20, &len);

	(void)state;
	feed(scan, bytes, from, 0, 0);
	feed(scan, bytes + to, len - to, to, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->frame_count, 16);
	assert_int_equal(stats->count[FORMAT_MISSING], 4);
	assert_int_equal(stats->count[FORMAT_TORN], 1);
	assert_int_equal(stats->count[FORMAT_SKIPPED], 0);
	assert_int_equal(stats->trailing_bytes, 0);
	format_scan_free(scan);
	free(bytes);
}

static void the_pattern_of_the_simulator_is_compared(void **state)
{
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;
	static unsigned char bytes[300000];

	(void)state;
	sim_fill(bytes, sizeof(bytes), 0, 4711);
	bytes[1003] ^= 4;
	sim_fill(bytes + 100001, 100000, 150001, 4711);        /* 50000 are missing */
	sim_fill(bytes + 200001, 99999, 150001 + 99990, 4711); /* 10 come again */
	feed(scan, bytes, sizeof(bytes), 0, 3000);
	stats = end_scan(scan);
	assert_int_equal(stats->layout.format, FORMAT_SIM);
	assert_int_equal(stats->layout.seed, 4711);
	assert_int_equal(stats->count[FORMAT_WRONG_BYTES], 1);
	assert_int_equal(stats->count[FORMAT_LOST_BYTES], 50000);
	assert_int_equal(stats->count[FORMAT_REPEATED_BYTES], 10);
	assert_int_equal(stats->fault_count, 3);
	assert_int_equal(stats->faults[0].offset, 1003);
	assert_int_equal(stats->faults[1].offset, 100001);
	format_scan_free(scan);

	/* in mid-word, with a gap that the offsets tell */
	scan = begin_scan();
	sim_fill(bytes, 5000, 77777, 3);
	sim_fill(bytes + 5000, 5000, 77777 + 9000, 3);
	feed(scan, bytes, 5000, 0, 0);
	feed(scan, bytes + 5000, 5000, 9000, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->layout.format, FORMAT_SIM);
	assert_true(format_stats_are_good(stats, false));
	format_scan_free(scan);
}

/* It goes on near its begin, 2^63 bytes before: reports have no number for that. */
static void no_count_of_the_pattern_is_beyond_63_bits(void **state)
{
	unsigned char bytes[3 * 512];
	struct format_scan *scan = begin_scan();
	const struct format_stats *stats;

	(void)state;
	sim_fill(bytes, 512, (UINT64_C(1) << 63) + 4096, 1);
	sim_fill(bytes + 512, 512, 4096, 1);
	sim_fill(bytes + 1024, 512, (UINT64_C(1) << 63) + 8192, 1);
	feed(scan, bytes, sizeof(bytes), 0, 0);
	stats = end_scan(scan);
	assert_int_equal(stats->layout.format, FORMAT_SIM);
	assert_int_equal(stats->fault_count, 2);
	assert_int_equal(stats->count[FORMAT_REPEATED_BYTES], INT64_MAX);
	assert_int_equal(stats->count[FORMAT_LOST_BYTES], INT64_MAX);
	assert_int_equal(stats->faults[0].count, INT64_MAX);
	format_scan_free(scan);
}

static void what_is_nothing_is_unknown(void **state)
{
	unsigned char *bytes = calloc(1, FORMAT_WINDOW_BYTES + 5);
	static const size_t lengths[] = { 0, 1, 31, 5032, 100000, FORMAT_WINDOW_BYTES + 5 };
	static const uint32_t words[] = { 0,          UINT32_MAX, 0x11223344,
					  0x20202020, 0x00000400, 0xabaddeed };

	(void)state;
	assert_non_null(bytes);
	for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
		for (size_t i = 0; i < FORMAT_WINDOW_BYTES + 5; i++)
			bytes[i] = (unsigned char)(words[w] >> i % 4 * 8);
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			struct format_scan *scan = begin_scan();

			feed(scan, bytes, lengths[i], 0, 0);
			assert_int_equal(end_scan(scan)->layout.format, FORMAT_UNKNOWN);
			format_scan_free(scan);
		}
	}
	free(bytes);
}

/* Short headers one behind the other, as tables of numbers have them. */
static void tables_are_no_frames(void **state)
{
	static unsigned char bytes[1 << 20];
	static const size_t row_bytes[] = { 16, 24, 32, 64, 512 };

	(void)state;
	random_state = 7;
	for (size_t i = 0; i < sizeof(row_bytes) / sizeof(row_bytes[0]); i++) {
		struct format_scan *scan = begin_scan();

		for (size_t at = 0; at + row_bytes[i] <= sizeof(bytes); at += row_bytes[i]) {
			put_word(bytes + at, 0);
			put_word(bytes + at + 4, 1 + random_below(100));
			put_word(bytes + at + 8, 64);
			put_word(bytes + at + 12, random_below(300) << 16);
		}
		feed(scan, bytes + 4, sizeof(bytes) - 4, 0, 0);
		assert_int_equal(end_scan(scan)->layout.format, FORMAT_UNKNOWN);
		format_scan_free(scan);
	}
}

/* ---- anything at all ----------------------------------------------------------------------------- */

/* One change of a stream of at most @max bytes. Return: its new length. */
static size_t corrupt(unsigned char *bytes, size_t len, size_t max)
{
	size_t at = len ? random_below((uint32_t)len) : 0, rest = len - at;
	size_t count = 1 + random_below(random_below(2) ? 64 : 20000);

	if (count > rest)
		count = rest;
	switch (random_below(6)) {
	case 0:
		if (len)
			bytes[at] ^= 1 << random_below(8);
		return len;
	case 1: /* a header is more likely to be met */
		at -= at % 5032;
		for (size_t i = 0; i < 40 && at + i < len; i++)
			bytes[at + i] = (unsigned char)random_below(256);
		return len;
	case 2:
		memset(bytes + at, random_below(2) ? 0xff : 0, count);
		return len;
	case 3:
		memmove(bytes + at, bytes + at + count, rest - count);
		return len - count;
	case 4:
		if (len + count > max)
			count = max - len;
		memmove(bytes + at + count, bytes + at, rest);
		return len + count;
	default:
		return random_below(8) ? len : len - count;
	}
}

static void any_corruption_is_survived_and_each_byte_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < NAME_COUNT; i++) {
		size_t whole_len, max;
		unsigned char *whole = sample_read(names[i], &whole_len), *bytes;

		max = whole_len + 50000;
		bytes = malloc(max);
		assert_non_null(bytes);
		for (int round = 0; round < FUZZ_ROUNDS; round++) {
			struct format_scan *scan = begin_scan();
			const struct format_stats *stats;
			size_t len = whole_len;

			random_state = (uint64_t)round << 8 | i;
			memcpy(bytes, whole, whole_len);
			for (uint32_t changes = 1 + random_below(8); changes > 0; changes--)
				len = corrupt(bytes, len, max);
			feed(scan, bytes, len, 0, round % 2 ? 30000 : 0);
			stats = end_scan(scan);
			if (stats->layout.format != FORMAT_UNKNOWN && stats->layout.format != FORMAT_SIM)
				assert_int_equal(counted_bytes(stats), len);
			format_scan_free(scan);
		}
		free(bytes);
		free(whole);
	}
}

/* Frames that are alike, and everything else in their headers is anything: no sum overflows, no loop is long. */
static void hostile_headers_do_no_harm(void **state)
{
	enum { FRAME = 1032, FRAMES = 300 };
	static unsigned char bytes[FRAMES * FRAME];

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct format_scan *scan = begin_scan();
		const struct format_stats *stats;
		bool is_codif = round % 2;

		random_state = (uint64_t)round;
		for (uint32_t i = 0; i < FRAMES; i++) {
			unsigned char *to = bytes + (size_t)i * FRAME;

			for (int at = 0; at < 64; at++)
				to[at] = random_below(4) ? (unsigned char)random_below(256) : 0xff;
			if (is_codif) {
				put_word(to + 8, UINT32_C(1) << 24 | 8 << 8 | random_below(256));
				put_word(to + 12, (1U + (uint32_t)round * 300) << 16);
				put_word(to + 24, 1 | 1 << 16);
				put_word(to + 28, (FRAME - 64) / 8);
				put_word(to + 40, 0xfeedcafe);
			} else {
				to[3] &= 0xbf; /* not legacy */
				put_word(to + 8, FRAME / 8);
				to[15] = (unsigned char)(to[15] & 3) | 4;
				put_word(to + 16, UINT32_C(3) << 24 | random_below(1 << 24));
				put_word(to + 20, 0xacabfeed);
			}
		}
		feed(scan, bytes, sizeof(bytes), 0, 0);
		stats = end_scan(scan);
		assert_int_equal(stats->layout.format, is_codif ? FORMAT_CODIF : FORMAT_VDIF);
		assert_int_equal(counted_bytes(stats), sizeof(bytes));
		assert_true(stats->count[FORMAT_MISSING] <= INT64_MAX);
		format_scan_free(scan);
	}
}

/* A header at each place, and each goes on with the other thread's at the same time, for ever: the search has an end. */
static void chains_that_lead_nowhere_are_given_up(void **state)
{
	enum { HEADER = 16, FRAME = 256 };
	struct format_layout layout;
	unsigned char *bytes = malloc(FORMAT_WINDOW_BYTES);

	(void)state;
	assert_non_null(bytes);
	for (size_t at = 0; at < FORMAT_WINDOW_BYTES; at += HEADER) {
		put_word(bytes + at, UINT32_C(1) << 30 | 1); /* legacy */
		put_word(bytes + at + 4, 0);
		put_word(bytes + at + 8, FRAME / 8);
		put_word(bytes + at + 12, UINT32_C(1) << 26 | (uint32_t)(at / FRAME % 2) << 16);
	}
	memset(bytes, 0xee, HEADER);
	format_detect(bytes, FORMAT_WINDOW_BYTES, false, NOT_AFTER_S, &layout);
	assert_int_equal(layout.format, FORMAT_UNKNOWN);
	free(bytes);
}

/* In mid-stream, and the bytes end before the place where fill would show: nothing behind them is read. */
static void a_header_at_the_end_of_the_bytes_is_not_read_beyond_them(void **state)
{
	enum { LEN = 101, FRAME = 8032 };
	struct format_layout layout;
	unsigned char *bytes = malloc(LEN); /* of exactly this length, for the address sanitizer */

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 0, LEN);
	put_word(bytes + 1, 1);
	put_word(bytes + 9, FRAME / 8);
	put_word(bytes + 13, 1 << 26);
	assert_int_equal(format_detect(bytes, LEN, true, NOT_AFTER_S, &layout), 0);
	assert_int_equal(layout.format, FORMAT_UNKNOWN);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_of_any_size_give_the_same),
		cmocka_unit_test(a_rate_is_counted_over_a_second),
		cmocka_unit_test(a_thread_that_ends_early_lacks_frames),
		cmocka_unit_test(each_frame_of_a_short_stream_is_missed),
		cmocka_unit_test(packets_with_numbers_are_counted_too),
		cmocka_unit_test(packet_numbers_that_begin_again_are_told),
		cmocka_unit_test(halves_of_mark5b_frames_are_put_together),
		cmocka_unit_test(vlba_tracks_are_found_in_mid_frame),
		cmocka_unit_test(codif_counts_in_periods),
		cmocka_unit_test(disorder_is_told),
		cmocka_unit_test(threads_beyond_the_bound_are_counted),
		cmocka_unit_test(fill_is_told_from_frames),
		cmocka_unit_test(frames_are_expected_behind_a_gap_where_they_belong),
		cmocka_unit_test(the_pattern_of_the_simulator_is_compared),
		cmocka_unit_test(no_count_of_the_pattern_is_beyond_63_bits),
		cmocka_unit_test(what_is_nothing_is_unknown),
		cmocka_unit_test(tables_are_no_frames),
		cmocka_unit_test(any_corruption_is_survived_and_each_byte_counted),
		cmocka_unit_test(hostile_headers_do_no_harm),
		cmocka_unit_test(chains_that_lead_nowhere_are_given_up),
		cmocka_unit_test(a_header_at_the_end_of_the_bytes_is_not_read_beyond_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
