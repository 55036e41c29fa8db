/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/mark6.h"

/* What another recorder has written: 8032-byte VDIF, 1305 packets a block, and a last block of 903. */
static const unsigned char file_bytes[] = {
	0x66, 0x66, 0xed, 0xfe, 0x02, 0x00, 0x00, 0x00, 0x68, 0xf0,
	0x9f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x60, 0x1f, 0x00, 0x00,
};
static const unsigned char block_bytes[] = { 0x17, 0x00, 0x00, 0x00, 0xa8, 0xab, 0x6e, 0x00 };
static const struct mark6_file_header file_header = {
	.version = MARK6_VERSION,
	.block_bytes = 1305 * 8032 + 8,
	.format = MARK6_VDIF,
	.packet_bytes = 8032,
};

static void headers_are_written_byte_for_byte_at_any_address(void **state)
{
	unsigned char buf[1 + MARK6_FILE_HEADER_BYTES + MARK6_BLOCK_HEADER_BYTES + 1];
	struct mark6_block_header block = { .number = 23, .bytes = 903 * 8032 + 8 };

	(void)state;
	memset(buf, 0xaa, sizeof(buf));
	mark6_put_file_header(buf + 1, &file_header);
	mark6_put_block_header(buf + 1 + MARK6_FILE_HEADER_BYTES, &block);
	assert_int_equal(buf[0], 0xaa);
	assert_memory_equal(buf + 1, file_bytes, sizeof(file_bytes));
	assert_memory_equal(buf + 1 + sizeof(file_bytes), block_bytes, sizeof(block_bytes));
	assert_int_equal(buf[sizeof(buf) - 1], 0xaa);
}

static void headers_come_back_as_they_were(void **state)
{
	struct mark6_file_header file;
	struct mark6_block_header block;

	(void)state;
	assert_true(mark6_get_file_header(file_bytes, &file));
	assert_memory_equal(&file, &file_header, sizeof(file));
	assert_true(mark6_get_block_header(block_bytes, &file, &block));
	assert_int_equal(block.number, 23);
	assert_int_equal(block.bytes, 903 * 8032 + 8);
}

static void an_impossible_file_header_is_refused_and_told(void **state)
{
	static const struct mark6_file_header wrong[] = {
		{ 1, 10000000, MARK6_VDIF, 8032 },
		{ 3, 10000000, MARK6_VDIF, 8032 },
		{ 2, 10000000, 3, 8032 },
		{ 2, 10000000, MARK6_VDIF, 0 },
		{ 2, 8039, MARK6_VDIF, 8032 },
		{ 2, 7, MARK6_VDIF, 8032 },
		{ 2, 0x80000000, MARK6_VDIF, 8032 },
		{ 2, 10000000, MARK6_VDIF, 0xffffffff },
	};
	struct mark6_file_header file, none = { 0 };
	unsigned char buf[MARK6_FILE_HEADER_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		mark6_put_file_header(buf, &wrong[i]);
		assert_false(mark6_get_file_header(buf, &file));
		assert_memory_equal(&file, &wrong[i], sizeof(file));
	}
	memcpy(buf, file_bytes, sizeof(buf));
	buf[3] ^= 1;
	assert_false(mark6_get_file_header(buf, &file));
	assert_memory_equal(&file, &none, sizeof(file));
}

static void an_impossible_block_header_is_refused_and_told(void **state)
{
	static const struct mark6_block_header wrong[] = {
		{ 0, 0 },
		{ 0, 8 },
		{ 0, 7 },
		{ 0, 8032 },
		{ 0, 8032 + 9 },
		{ 0, 1306 * 8032 + 8 },
		{ 0x80000000, 8040 },
		{ 0, 0xffffffff },
	};
	struct mark6_block_header block;
	unsigned char buf[MARK6_BLOCK_HEADER_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		mark6_put_block_header(buf, &wrong[i]);
		assert_false(mark6_get_block_header(buf, &file_header, &block));
		assert_memory_equal(&block, &wrong[i], sizeof(block));
	}
	mark6_put_block_header(buf, &(struct mark6_block_header){ MARK6_NUMBER_MAX, 8040 });
	assert_true(mark6_get_block_header(buf, &file_header, &block));
}

static void packets_are_told_from_what_is_none(void **state)
{
	unsigned char vdif[32] = { [8] = 0xec, [9] = 0x03, [11] = 0x44 },
		      mark5b[16] = { 0xed, 0xde, 0xad, 0xab };

	(void)state;
	assert_true(mark6_is_packet(vdif, MARK6_VDIF, 8032));
	assert_false(mark6_is_packet(vdif, MARK6_VDIF, 8024));
	assert_false(mark6_is_packet(vdif, MARK6_VDIF, 8));
	assert_false(mark6_is_packet(vdif, MARK6_MARK5B, 10016));
	assert_true(mark6_is_packet(mark5b, MARK6_MARK5B, 10016));
	assert_false(mark6_is_packet(mark5b, MARK6_VDIF, 10016));
	assert_true(mark6_is_packet(mark5b, MARK6_UNKNOWN, 1));
}

static void each_format_has_its_name_and_suffix(void **state)
{
	(void)state;
	assert_string_equal(mark6_format_name(MARK6_VDIF), "vdif");
	assert_string_equal(mark6_format_name(MARK6_MARK5B), "mark5b");
	assert_string_equal(mark6_format_name(MARK6_UNKNOWN), "unknown");
	assert_string_equal(mark6_format_suffix(MARK6_VDIF), ".vdif");
	assert_string_equal(mark6_format_suffix(MARK6_MARK5B), ".m5b");
	assert_string_equal(mark6_format_suffix(MARK6_UNKNOWN), ".mark6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_written_byte_for_byte_at_any_address),
		cmocka_unit_test(headers_come_back_as_they_were),
		cmocka_unit_test(an_impossible_file_header_is_refused_and_told),
		cmocka_unit_test(an_impossible_block_header_is_refused_and_told),
		cmocka_unit_test(packets_are_told_from_what_is_none),
		cmocka_unit_test(each_format_has_its_name_and_suffix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
