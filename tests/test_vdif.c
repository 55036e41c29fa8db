/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vdif.c - headers of real files, of each extended data version, and what is no header */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/bytes.h"
#include "drivers/vdif.h"
#include "tests/sample.h"

static void put_word(unsigned char *header, int index, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		header[index * 4 + i] = (unsigned char)(word >> i * 8);
}

struct expected {
	const char *name;
	uint32_t frame_bytes;
	int edv, version, channels_log2, bits, is_complex;
	uint16_t station;
	int64_t utc_s;
	uint32_t frame, samples, rate;
};

/* Times as seconds since 1970: 2014-06-16T05:56:07, 2015-10-03T20:49:45, 2018-09-24T13:11:21, 2015-04-16T09:41:02. */
static const struct expected samples[] = {
	{ "radio/sample.vdif", 5032, 3, 1, 0, 2, 0, 0xfffc, 1402898167, 0, 20000, 1600 },
	{ "radio/sample_mwa.vdif", 544, 0, 0, 1, 8, 1, 0x6d77, 1443905385, 0, 128, 0 },
	{ "radio/sample_bps1.vdif", 8032, 0, 0, 4, 1, 0, 0x777a, 1537794681, 1135, 4000, 0 },
	{ "radio/vdifio_1.vdif", 8224, 0, 0, 2, 2, 0, 0x4b54, 1429177262, 59866, 8192, 0 },
};

static void real_headers_say_what_they_should(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct expected *e = &samples[i];
		struct vdif_header header;
		size_t len;
		unsigned char *bytes = sample_read(e->name, &len);

		assert_true(vdif_read(bytes, &header));
		assert_int_equal(header.frame_bytes, e->frame_bytes);
		assert_int_equal(header.edv, e->edv);
		assert_int_equal(header.version, e->version);
		assert_int_equal(header.channels_log2, e->channels_log2);
		assert_int_equal(header.bits, e->bits);
		assert_int_equal(header.is_complex, e->is_complex);
		assert_int_equal(header.station, e->station);
		assert_int_equal(vdif_utc_s(&header), e->utc_s);
		assert_int_equal(header.frame, e->frame);
		assert_int_equal(vdif_samples(&header), e->samples);
		assert_int_equal(vdif_frame_rate(&header), e->rate);
		assert_true(vdif_is_alike(bytes, bytes + e->frame_bytes));
		assert_false(vdif_is_alike(bytes, bytes + 4));
		assert_false(vdif_is_fill(bytes, &header));
		free(bytes);
	}
}

/* An epoch's seconds are counted on as they stand, leap seconds or not. */
static void time_is_epoch_and_seconds(void **state)
{
	struct vdif_header header = { .epoch = 0, .second = 514629935 };

	(void)state;
	assert_int_equal(vdif_utc_s(&header), 1461314735); /* 2016-04-22T08:45:35 */
	header = (struct vdif_header){ .epoch = 28, .second = 11383 };
	assert_int_equal(vdif_utc_s(&header), 1388545783); /* 2014-01-01T03:09:43 */
	assert_int_equal(vdif_epoch_utc_s(0), 946684800);
	assert_int_equal(vdif_epoch_utc_s(1), 962409600);   /* 2000-07-01: a leap year */
	assert_int_equal(vdif_epoch_utc_s(3), 993945600);   /* 2001-07-01 */
	assert_int_equal(vdif_epoch_utc_s(63), 1940630400); /* 2031-07-01 */
}

static void fill_header(unsigned char *header, uint32_t frame_bytes, uint32_t edv)
{
	memset(header, 0, VDIF_HEADER_BYTES);
	put_word(header, 0, 5);
	put_word(header, 1, UINT32_C(42) << 24 | 7);
	put_word(header, 2, UINT32_C(1) << 29 | frame_bytes / 8);
	put_word(header, 3, UINT32_C(1) << 26 | 3 << 16 | 0x4566);
	put_word(header, 4, edv << 24);
}

static void extended_versions_are_told_apart(void **state)
{
	unsigned char bytes[VDIF_HEADER_BYTES];
	struct vdif_header header;

	(void)state;
	fill_header(bytes, 8032, VDIF_EDV_NICT);
	assert_false(vdif_read(bytes, &header));
	put_word(bytes, 4, UINT32_C(1) << 24 | 64000); /* kHz */
	put_word(bytes, 5, 0xacabfeed);
	assert_true(vdif_read(bytes, &header));
	assert_int_equal(header.sample_rate_hz, 128000000);
	assert_int_equal(vdif_frame_rate(&header), 4000);

	fill_header(bytes, 8032, VDIF_EDV_ALMA);
	put_word(bytes, 6, 9);
	put_word(bytes, 7, 2);
	assert_true(vdif_read(bytes, &header));
	assert_int_equal(header.packet_number, UINT64_C(0x200000009));

	fill_header(bytes, 5032, VDIF_EDV_VLBA);
	put_word(bytes, 5, 0xacabfeed);
	assert_true(vdif_read(bytes, &header));
	put_word(bytes, 2, 5040 / 8);
	assert_false(vdif_read(bytes, &header));

	fill_header(bytes, 8032, VDIF_EDV_MULTIPLEXED);
	put_word(bytes, 4, UINT32_C(4) << 24 | 8 << 16);
	put_word(bytes, 5, 0xacabfeed);
	put_word(bytes, 6, 0x7f);
	assert_true(vdif_read(bytes, &header));
	assert_int_equal(header.valid_mask, 0x7f);
	assert_int_equal(header.valid_mask_len, 8);

	fill_header(bytes, 10032, VDIF_EDV_MARK5B);
	assert_false(vdif_read(bytes, &header));
	put_word(bytes, 4, 0xabaddeed);
	assert_true(vdif_read(bytes, &header));
	assert_int_equal(header.edv, VDIF_EDV_MARK5B);

	fill_header(bytes, 8032, 0x77); /* unknown ones are taken as they are */
	assert_true(vdif_read(bytes, &header));
	assert_int_equal(header.edv, 0x77);
}

static void a_legacy_header_is_four_words(void **state)
{
	unsigned char bytes[VDIF_HEADER_BYTES];
	struct vdif_header header;

	(void)state;
	fill_header(bytes, 24, VDIF_EDV_VLBA);
	assert_false(vdif_read(bytes, &header)); /* no room for eight words and payload */
	put_word(bytes, 0, UINT32_C(3) << 30 | 5);
	assert_true(vdif_read(bytes, &header));
	assert_true(header.is_legacy);
	assert_true(header.is_invalid);
	assert_int_equal(header.header_bytes, 16);
	assert_int_equal(header.edv, 0);
	assert_int_equal(header.thread, 3);
	put_word(bytes, 2, 2);
	assert_false(vdif_read(bytes, &header));
}

static void fill_is_seen_at_its_two_words(void **state)
{
	static unsigned char frame[8032];
	struct vdif_header header;

	(void)state;
	fill_header(frame, sizeof(frame), 0);
	assert_true(vdif_read(frame, &header));
	assert_int_equal(vdif_fill_bytes(&header), 7204);
	assert_false(vdif_is_fill(frame, &header));
	put_word(frame, 1800, 0x11223344);
	assert_true(vdif_is_fill(frame, &header));
	put_word(frame, 1800, 0);
	put_word(frame, 8, 0x11223344);
	assert_true(vdif_is_fill(frame, &header));
}

/* Any bits at all: no field makes a division by zero, or a length beyond what the field holds. */
static void any_bits_are_read(void **state)
{
	unsigned char bytes[VDIF_HEADER_BYTES];
	struct vdif_header header;
	char name[VDIF_STATION_LEN];

	(void)state;
	srand(1);
	for (int round = 0; round < 200000; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)(rand() >> 7);
		vdif_read(bytes, &header);
		assert_in_range(header.bits, 1, 32);
		assert_true(header.frame_bytes < 1U << 27);
		vdif_frame_rate(&header);
		assert_true(strlen(vdif_station_name(name, header.station)) < sizeof(name));
	}
}

static void stations_are_letters_or_numbers(void **state)
{
	char name[VDIF_STATION_LEN];

	(void)state;
	assert_string_equal(vdif_station_name(name, 0x4b54), "KT");
	assert_string_equal(vdif_station_name(name, 0xfffc), "0xfffc");
	assert_string_equal(vdif_station_name(name, 0x0001), "0x0001");
	assert_string_equal(vdif_station_name(name, 0x4b00), "0x4b00");
}

/* The frame number and thread are new, all else but the mark is the model's; the length of any form. */
static void an_invalid_frame_is_like_its_model(void **state)
{
	const struct vdif_place place = { .second = 1234567, .frame = 0xabcdef, .thread = 0x2a5 };
	unsigned char model[VDIF_HEADER_BYTES], *frame = malloc(5032);
	struct vdif_header header, old;

	(void)state;
	for (int is_legacy = 0; is_legacy < 2; is_legacy++) {
		uint32_t first = is_legacy ? VDIF_LEGACY_HEADER_BYTES : VDIF_HEADER_BYTES;

		fill_header(model, 5032, is_legacy ? 0 : VDIF_EDV_VLBA);
		put_word(model, 0, UINT32_C(5) | (is_legacy ? UINT32_C(1) << 30 : 0));
		put_word(model, 4, UINT32_C(3) << 24 | 16000);
		put_word(model, 5, 0xacabfeed);
		put_word(model, 7, 0x12345678);
		vdif_put_invalid(frame, model, &place);
		assert_true(vdif_read(model, &old));
		assert_true(vdif_read(frame, &header));
		assert_true(vdif_is_alike(model, frame));
		assert_true(header.is_invalid);
		assert_int_equal(header.second, place.second);
		assert_int_equal(header.frame, place.frame);
		assert_int_equal(header.thread, place.thread);
		assert_int_equal(header.epoch, old.epoch);
		assert_int_equal(header.station, old.station);
		assert_int_equal(header.sample_rate_hz, old.sample_rate_hz);
		assert_memory_equal(frame + 16,
				    is_legacy ? (unsigned char *)"\x44\x33\x22\x11" : model + 16,
				    is_legacy ? 4 : 16);
		assert_true(bytes_are_fill(frame + first, 5032 - first));
		assert_memory_equal(frame + first, "\x44\x33\x22\x11", 4);
		assert_true(vdif_is_fill(frame, &header));
	}
	free(frame);
}

static void an_invalid_frame_has_no_valid_channel(void **state)
{
	const struct vdif_place place = { .second = 1 };
	unsigned char frame[8032];
	struct vdif_header header;

	(void)state;
	fill_header(frame, sizeof(frame), VDIF_EDV_MULTIPLEXED);
	put_word(frame, 4, UINT32_C(4) << 24 | 8 << 16);
	put_word(frame, 5, 0xacabfeed);
	put_word(frame, 6, 0x7f);
	vdif_put_invalid(frame, frame, &place);
	assert_true(vdif_read(frame, &header));
	assert_int_equal(header.valid_mask_len, 8);
	assert_int_equal(header.valid_mask, 0);
}

static void the_fill_pattern_goes_on_from_any_offset(void **state)
{
	static const char pattern[] = "\x44\x33\x22\x11\x44\x33\x22\x11\x44\x33\x22\x11";
	char bytes[9];

	(void)state;
	for (uint64_t offset = 0; offset < 4; offset++)
		for (size_t len = 0; len < sizeof(bytes); len++) {
			memset(bytes, 0, sizeof(bytes));
			bytes_put_fill(bytes, len, offset + 400);
			assert_memory_equal(bytes, pattern + offset, len);
			assert_int_equal(bytes[len], 0);
		}
}

static bool is_same(const struct vdif_header *a, const struct vdif_header *b)
{
	return a->is_invalid == b->is_invalid && a->is_legacy == b->is_legacy &&
	       a->is_complex == b->is_complex && a->epoch == b->epoch && a->version == b->version &&
	       a->channels_log2 == b->channels_log2 && a->bits == b->bits && a->edv == b->edv &&
	       a->thread == b->thread && a->station == b->station && a->second == b->second &&
	       a->frame == b->frame && a->frame_bytes == b->frame_bytes &&
	       a->sample_rate_hz == b->sample_rate_hz && a->packet_number == b->packet_number &&
	       a->valid_mask == b->valid_mask && a->valid_mask_len == b->valid_mask_len;
}

static void what_is_put_is_read_again(void **state)
{
	static const struct vdif_header headers[] = {
		{ .frame_bytes = 8032, .bits = 2, .channels_log2 = 4, .epoch = 53, .second = 13046400 },
		{ .frame_bytes = 24, .bits = 8, .is_legacy = true, .thread = 1023, .station = 0xffff },
		{ .frame_bytes = (UINT32_C(1) << 27) - 8,
		  .bits = 32,
		  .channels_log2 = 31,
		  .is_invalid = true,
		  .is_complex = true,
		  .epoch = 63,
		  .version = 7,
		  .second = (UINT32_C(1) << 30) - 1,
		  .frame = (UINT32_C(1) << 24) - 1 },
		{ .frame_bytes = 8032, .bits = 2, .edv = VDIF_EDV_NICT, .sample_rate_hz = 64000000 },
		{ .frame_bytes = 5032, .bits = 2, .edv = VDIF_EDV_VLBA, .sample_rate_hz = 250000 },
		{ .frame_bytes = 8032,
		  .bits = 8,
		  .is_complex = true,
		  .edv = VDIF_EDV_NICT,
		  .sample_rate_hz = 1001000 },
		{ .frame_bytes = 8224,
		  .bits = 2,
		  .edv = VDIF_EDV_ALMA,
		  .packet_number = UINT64_C(0x123456789abcdef0) },
		{ .frame_bytes = 8224,
		  .bits = 2,
		  .edv = VDIF_EDV_MULTIPLEXED,
		  .valid_mask_len = 40,
		  .valid_mask = UINT64_C(0xff00ff00ff) },
		{ .frame_bytes = 10032, .bits = 2, .edv = VDIF_EDV_MARK5B },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		unsigned char bytes[VDIF_HEADER_BYTES + 1];
		struct vdif_header header;

		memset(bytes, 0xee, sizeof(bytes));
		assert_true(vdif_put_header(bytes, &headers[i]));
		assert_int_equal(bytes[headers[i].is_legacy ? 16 : 32], 0xee);
		assert_true(vdif_read(bytes, &header));
		assert_true(is_same(&header, &headers[i]));
	}
}

/* All but the words of an extension that have no field here. */
static void real_headers_are_put_as_they_were(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		unsigned char made[VDIF_HEADER_BYTES];
		struct vdif_header header;
		size_t len;
		unsigned char *bytes = sample_read(samples[i].name, &len);

		assert_true(vdif_read(bytes, &header));
		assert_true(vdif_put_header(made, &header));
		assert_memory_equal(made, bytes, samples[i].edv ? 24 : 16);
		free(bytes);
	}
}

static void what_has_no_room_is_not_put(void **state)
{
	const struct vdif_header good = { .frame_bytes = 8032, .bits = 2 };
	struct vdif_header bad[] = { good, good, good, good, good, good, good, good, good };
	unsigned char bytes[VDIF_HEADER_BYTES] = { 0 };

	(void)state;
	bad[0].frame_bytes = 8033;
	bad[1].frame_bytes = 32;
	bad[2].bits = 33;
	bad[3].bits = 0;
	bad[4].thread = 1024;
	bad[5].frame = UINT32_C(1) << 24;
	bad[6].edv = VDIF_EDV_NICT;
	bad[6].sample_rate_hz = 64000001;
	bad[7].edv = VDIF_EDV_VLBA; /* frames of 5032 or 1032 bytes only */
	bad[8].is_legacy = true;
	bad[8].edv = VDIF_EDV_NICT;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(vdif_put_header(bytes, &bad[i]));
		assert_int_equal(bytes_le64(bytes + 8), 0);
	}
	assert_true(vdif_put_header(bytes, &good));
}

static void the_epoch_is_the_latest_half_year(void **state)
{
	(void)state;
	assert_int_equal(vdif_epoch_of(946684800), 0);
	assert_int_equal(vdif_epoch_of(962409599), 0);
	assert_int_equal(vdif_epoch_of(962409600), 1);
	assert_int_equal(vdif_epoch_of(1796083200), 53); /* 2026-12-01 */
	assert_int_equal(vdif_epoch_of(INT64_C(2000000000)), 63);
}

static void a_station_has_two_letters_or_a_number(void **state)
{
	char name[VDIF_STATION_LEN];
	uint16_t station;

	(void)state;
	assert_true(vdif_station_of("Ef", &station));
	assert_string_equal(vdif_station_name(name, station), "Ef");
	assert_true(vdif_station_of("0xfffc", &station));
	assert_int_equal(station, 0xfffc);
	assert_false(vdif_station_of("E", &station));
	assert_false(vdif_station_of("Eff", &station));
	assert_false(vdif_station_of("65536", &station));
	assert_false(vdif_station_of("", &station));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_headers_say_what_they_should),
		cmocka_unit_test(time_is_epoch_and_seconds),
		cmocka_unit_test(extended_versions_are_told_apart),
		cmocka_unit_test(a_legacy_header_is_four_words),
		cmocka_unit_test(fill_is_seen_at_its_two_words),
		cmocka_unit_test(any_bits_are_read),
		cmocka_unit_test(stations_are_letters_or_numbers),
		cmocka_unit_test(an_invalid_frame_is_like_its_model),
		cmocka_unit_test(an_invalid_frame_has_no_valid_channel),
		cmocka_unit_test(what_is_put_is_read_again),
		cmocka_unit_test(real_headers_are_put_as_they_were),
		cmocka_unit_test(what_has_no_room_is_not_put),
		cmocka_unit_test(the_epoch_is_the_latest_half_year),
		cmocka_unit_test(a_station_has_two_letters_or_a_number),
		cmocka_unit_test(the_fill_pattern_goes_on_from_any_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
