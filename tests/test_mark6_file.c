/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of a Mark6 set, walked: what whole, cut, preallocated and damaged ones come to, and that a walk
 * ends and stays within its file whatever stands in it. The files are made here, byte by byte.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/mark6_file.h"

#define PACKET 100
#define PAYLOAD (3 * PACKET)
#define BLOCK (PAYLOAD + 8) /* of version 2 */
#define FILE_MAX 8192
#define VISITS_MAX (FILE_MAX / 4)

struct made {
	unsigned char bytes[FILE_MAX];
	size_t len;
};

struct visits {
	struct mark6_file_block blocks[VISITS_MAX];
	size_t count;
};

static void put32(struct made *made, size_t at, int64_t value)
{
	for (unsigned i = 0; i < 4; i++)
		made->bytes[at + i] = (unsigned char)((uint64_t)value >> (8 * i));
}

static void add32(struct made *made, int64_t value)
{
	put32(made, made->len, value);
	made->len += 4;
}

static void add_payload(struct made *made, size_t bytes)
{
	memset(made->bytes + made->len, 0x55, bytes);
	made->len += bytes;
}

static void begin(struct made *made, int64_t version, int64_t block, int64_t format, int64_t packet)
{
	memset(made, 0, sizeof(*made));
	add32(made, 0xfeed6666);
	add32(made, version);
	add32(made, block);
	add32(made, format);
	add32(made, packet);
}

/* Version 2. */
static void add_block(struct made *made, uint32_t number, size_t bytes)
{
	add32(made, number);
	add32(made, (int64_t)bytes + 8);
	add_payload(made, bytes);
}

/* Three whole blocks: 4, 7, 9. */
static void make_whole(struct made *made)
{
	begin(made, 2, BLOCK, 0, PACKET);
	add_block(made, 4, PAYLOAD);
	add_block(made, 7, PAYLOAD);
	add_block(made, 9, PAYLOAD);
}

static int keep(void *context, const struct mark6_file_block *block)
{
	struct visits *visits = context;

	if (visits->count == VISITS_MAX)
		return -E2BIG;
	visits->blocks[visits->count++] = *block;
	return 0;
}

static int walk(const struct made *made, size_t len, struct mark6_file_survey *survey,
		struct visits *visits)
{
	int fd = memfd_create("mark6", MFD_CLOEXEC), ret;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, made->bytes, len), (ssize_t)len);
	visits->count = 0;
	ret = mark6_file_walk(fd, len, survey, keep, visits);
	close(fd);
	return ret;
}

static struct made made;
static struct visits visits;
static struct mark6_file_survey survey;

static void the_blocks_of_a_whole_file_are_visited_as_they_lie_there(void **state)
{
	static const uint32_t numbers[] = { 4, 7, 9 };

	(void)state;
	make_whole(&made);
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(visits.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(visits.blocks[i].number, numbers[i]);
		assert_int_equal(visits.blocks[i].payload_offset, 28 + i * BLOCK);
		assert_int_equal(visits.blocks[i].payload_bytes, PAYLOAD);
		assert_int_equal(visits.blocks[i].lacking_bytes, 0);
	}
	assert_int_equal(survey.tail, MARK6_FILE_ENDS);
	assert_int_equal(survey.whole_end, made.len);
	assert_int_equal(survey.block_count, 3);
	assert_int_equal(survey.header.packet_bytes, PACKET);
}

static void blocks_of_version_1_are_as_long_as_the_file_says(void **state)
{
	(void)state;
	begin(&made, 1, PAYLOAD + 4, 0, PACKET);
	add32(&made, 0);
	add_payload(&made, PAYLOAD);
	add32(&made, 2);
	add_payload(&made, PAYLOAD - 1);
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(visits.count, 2);
	assert_int_equal(visits.blocks[0].payload_offset, 24);
	assert_int_equal(visits.blocks[0].payload_bytes, PAYLOAD);
	assert_int_equal(visits.blocks[1].number, 2);
	assert_int_equal(visits.blocks[1].payload_bytes, 2 * PACKET);
	assert_int_equal(visits.blocks[1].lacking_bytes, PACKET);
	assert_int_equal(visits.blocks[1].broken_bytes, PACKET - 1);
	assert_int_equal(survey.tail, MARK6_FILE_TORN);
}

static void a_file_header_that_makes_no_sense_is_refused_with_the_reason(void **state)
{
	static const int64_t bad[][4] = {
		{ 0, BLOCK, 0, PACKET },
		{ 3, BLOCK, 0, PACKET },
		{ -1, BLOCK, 0, PACKET },
		{ 2, 0, 0, PACKET },
		{ 2, 8, 0, 0 },
		{ 2, -1, 0, PACKET },
		{ 2, INT32_MIN, 0, PACKET },
		{ 2, BLOCK, 0, -1 },
		{ 2, BLOCK, 0, PAYLOAD + 1 },
		{ 1, 4, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(&made, bad[i][0], bad[i][1], bad[i][2], bad[i][3]);
		assert_int_equal(walk(&made, made.len, &survey, &visits), -EBADMSG);
		assert_non_null(strstr(survey.damage_words, "makes no sense"));
	}
	make_whole(&made);
	for (size_t len = 0; len < 20; len++)
		assert_int_equal(walk(&made, len, &survey, &visits), -EBADMSG);
}

static void a_format_that_is_not_known_is_unknown(void **state)
{
	(void)state;
	begin(&made, 2, BLOCK, 77, 0);
	add_block(&made, 0, 5);
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(survey.header.format, MARK6_UNKNOWN);
	assert_int_equal(visits.count, 1);
	assert_int_equal(visits.blocks[0].payload_bytes, 5);
}

static void wherever_a_file_is_cut_its_whole_packets_are_given(void **state)
{
	(void)state;
	make_whole(&made);
	for (size_t len = 20; len < made.len; len++) {
		size_t blocks = (len - 20) / BLOCK, rest = (len - 20) % BLOCK;

		assert_int_equal(walk(&made, len, &survey, &visits), 0);
		assert_int_equal(visits.count, blocks + (rest >= 8));
		assert_int_equal(survey.whole_end, 20 + blocks * BLOCK);
		assert_int_equal(survey.tail, rest ? MARK6_FILE_TORN : MARK6_FILE_ENDS);
		if (rest >= 8) {
			const struct mark6_file_block *cut = &visits.blocks[blocks];

			assert_int_equal(cut->payload_bytes, (rest - 8) / PACKET * PACKET);
			assert_int_equal(cut->payload_bytes + cut->lacking_bytes, PAYLOAD);
			assert_int_equal(cut->broken_bytes, (rest - 8) % PACKET);
		}
	}
}

static void zeros_behind_the_last_block_are_the_end(void **state)
{
	(void)state;
	for (size_t zeros = 8; zeros < 3000; zeros += 271) {
		make_whole(&made);
		assert_int_equal(walk(&made, made.len + zeros, &survey, &visits), 0);
		assert_int_equal(visits.count, 3);
		assert_int_equal(survey.tail, MARK6_FILE_ZEROS);
		assert_int_equal(survey.whole_end, made.len);
		assert_int_equal(survey.damage_count, 0);
	}
	begin(&made, 1, PAYLOAD + 4, 0, PACKET);
	add32(&made, 1);
	add_payload(&made, PAYLOAD);
	assert_int_equal(walk(&made, made.len + 2000, &survey, &visits), 0);
	assert_int_equal(visits.count, 1);
	assert_int_equal(survey.tail, MARK6_FILE_ZEROS);
}

static void block_0_of_version_1_may_come_late(void **state)
{
	(void)state;
	begin(&made, 1, PAYLOAD + 4, 0, PACKET);
	for (int number = 2; number >= 0; number--) {
		add32(&made, number);
		add_payload(&made, PAYLOAD);
	}
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(visits.count, 3);
	assert_int_equal(visits.blocks[2].number, 0);
	assert_int_equal(survey.tail, MARK6_FILE_ENDS);
}

/* The header came to the disk, and not all packets. */
static void packets_that_were_not_written_are_cut_off(void **state)
{
	(void)state;
	make_whole(&made);
	memset(made.bytes + made.len - PACKET - 10, 0, PACKET + 10);
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(visits.count, 3);
	assert_int_equal(visits.blocks[2].payload_bytes, 2 * PACKET);
	assert_int_equal(visits.blocks[2].lacking_bytes, PACKET);
	assert_int_equal(survey.whole_end, made.len - BLOCK);
	assert_int_equal(survey.tail, MARK6_FILE_TORN);

	/* half of a packet is none, and samples may be zero */
	make_whole(&made);
	memset(made.bytes + made.len - PACKET - 70, 0, PACKET + 70);
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(visits.blocks[2].payload_bytes, PACKET);
	make_whole(&made);
	memset(made.bytes + made.len - PACKET + 1, 0, PACKET - 1);
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(survey.tail, MARK6_FILE_TORN);
	make_whole(&made);
	memset(made.bytes + made.len - 60, 0, 60);
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(survey.tail, MARK6_FILE_ENDS);

	/* of an unknown format zeros may be all there is */
	begin(&made, 2, BLOCK, 2, PACKET);
	add_block(&made, 3, PAYLOAD);
	memset(made.bytes + 28, 0, PAYLOAD);
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(survey.tail, MARK6_FILE_ENDS);
}

static void a_damaged_header_costs_its_own_block(void **state)
{
	static const int64_t bad[][2] = {
		{ -1, BLOCK },    { INT32_MIN, BLOCK }, { 7, 7 }, { 7, 0 },  { 7, -1 },
		{ 7, BLOCK + 1 }, { 7, INT32_MAX },     { 0, 0 }, { -1, -1 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make_whole(&made);
		put32(&made, 20 + BLOCK, bad[i][0]);
		put32(&made, 20 + BLOCK + 4, bad[i][1]);
		assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
		assert_int_equal(visits.count, 2);
		assert_int_equal(visits.blocks[1].number, 9);
		assert_int_equal(survey.damage_count, 1);
		assert_int_equal(survey.tail, MARK6_FILE_ENDS);
		assert_int_equal(survey.whole_end, made.len);
	}
}

static void a_size_that_is_too_small_costs_nothing(void **state)
{
	(void)state;
	for (uint32_t size = 8; size < BLOCK; size += 3) {
		make_whole(&made);
		put32(&made, 20 + BLOCK + 4, size);
		assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
		assert_int_equal(visits.count, 3);
		assert_int_equal(visits.blocks[1].payload_bytes, PAYLOAD);
		assert_int_equal(survey.damage_count, 1);
		assert_int_equal(survey.tail, MARK6_FILE_ENDS);
	}
}

static void rubbish_behind_the_last_block_is_told_from_a_torn_one(void **state)
{
	(void)state;
	make_whole(&made);
	add_payload(&made, BLOCK - 1);
	made.bytes[made.len - BLOCK + 4] = 0xff; /* a number below 0 */
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(visits.count, 3);
	assert_int_equal(survey.tail, MARK6_FILE_TORN);
	assert_int_equal(survey.whole_end, 20 + 3 * BLOCK);
	add_payload(&made, 2);
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(survey.tail, MARK6_FILE_DAMAGED);
	assert_int_equal(survey.whole_end, 20 + 3 * BLOCK);
}

static void blocks_without_whole_packets_are_counted(void **state)
{
	(void)state;
	begin(&made, 2, BLOCK, 0, PACKET);
	add_block(&made, 0, PAYLOAD);
	add_block(&made, 1, PACKET + 1);
	add_block(&made, 2, 0);
	assert_int_equal(walk(&made, made.len, &survey, &visits), 0);
	assert_int_equal(visits.count, 3);
	assert_int_equal(survey.uneven_count, 1);
	assert_int_equal(survey.uneven_offset, 20 + BLOCK);
}

static void a_walk_that_was_broken_off_is_not_complete(void **state)
{
	int fd = memfd_create("mark6", MFD_CLOEXEC);
	struct visits full = { .count = VISITS_MAX };

	(void)state;
	make_whole(&made);
	assert_int_equal(write(fd, made.bytes, made.len), (ssize_t)made.len);
	assert_int_equal(mark6_file_walk(fd, made.len, &survey, keep, &full), -E2BIG);
	assert_false(survey.is_complete);
	assert_int_equal(mark6_file_walk(fd, made.len, &survey, NULL, NULL), 0);
	assert_true(survey.is_complete);
	close(fd);
	assert_int_equal(mark6_file_walk(-1, made.len, &survey, NULL, NULL), -EBADF);
	assert_false(survey.is_complete);
	assert_int_equal(survey.whole_end, 0);
}

/*
 * ---- whatever stands there
 * -----------------------------------------------------------------------
 */

static uint64_t random_state = 1;

static uint64_t any(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

static int64_t any_word(void)
{
	static const int64_t likely[] = { 0,         1,          -1,    4,         7,
					  8,         9,          BLOCK, BLOCK + 1, INT32_MAX,
					  INT32_MIN, 0xfeed6666, 1000 };
	uint64_t i = any(2 * sizeof(likely) / sizeof(likely[0]));

	return i < sizeof(likely) / sizeof(likely[0]) ? likely[i] : (int64_t)any(UINT32_MAX);
}

/* A file that may have been a good one. */
static size_t make_any(void)
{
	size_t len;

	begin(&made, 1 + (int64_t)any(2), any(4) ? BLOCK : 5 + (int64_t)any(300), (int64_t)any(4),
	      any(3) ? PACKET : (int64_t)any(3));
	while (made.len < FILE_MAX - 2000 && any(12))
		add_block(&made, (uint32_t)any(30), any(4) ? PAYLOAD : any(PAYLOAD));
	for (uint64_t i = any(8); i > 0; i--)
		put32(&made, any(made.len - 4), any_word());
	for (uint64_t i = any(4); i > 0; i--) {
		size_t from = any(made.len), bytes = any(made.len - from);

		memset(made.bytes + from, any(2) ? 0 : 0xa5, any(3) ? bytes % 64 : bytes);
	}
	put32(&made, 0, 0xfeed6666);
	len = any(3) ? made.len + any(900) : any(made.len);
	return len;
}

static void a_walk_ends_and_stays_within_its_file_whatever_stands_there(void **state)
{
	(void)state;
	for (int round = 0; round < 30000; round++) {
		size_t len = make_any();
		uint64_t position = 20;
		int ret = walk(&made, len, &survey, &visits);

		if (ret == -EBADMSG) {
			assert_int_not_equal(survey.damage_words[0], '\0');
			continue;
		}
		assert_int_equal(ret, 0);
		assert_int_equal(survey.block_count, visits.count);
		for (size_t i = 0; i < visits.count; i++) {
			const struct mark6_file_block *block = &visits.blocks[i];

			assert_true(block->payload_offset > position);
			position = block->payload_offset + block->payload_bytes + block->broken_bytes;
			assert_true(position <= len);
			assert_true(block->number <= INT32_MAX);
			assert_true(block->lacking_bytes == 0 || i + 1 == visits.count);
		}
		assert_in_range(survey.whole_end, 20, len);
		if (survey.tail == MARK6_FILE_ENDS)
			assert_int_equal(survey.whole_end, len);
		else
			assert_int_not_equal(survey.tail_words[0], '\0');
	}
}

static void names_are_those_that_the_writers_of_sets_give(void **state)
{
	(void)state;
	assert_true(mark6_file_is_name("scan", "scan"));
	assert_true(mark6_file_is_name("scan", "scan.vdif"));
	assert_true(mark6_file_is_name("scan", "scan.m5b"));
	assert_true(mark6_file_is_name("scan", "scan.mark6"));
	assert_false(mark6_file_is_name("scan", "scan2"));
	assert_false(mark6_file_is_name("scan", "scan.vdif2"));
	assert_false(mark6_file_is_name("scan", "sca"));
}

static void the_sync_word_tells_a_file_of_a_set(void **state)
{
	int fd = memfd_create("mark6", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(mark6_file_identify(fd), 0);
	assert_int_equal(mark6_file_is_blank(fd, 0), 1);
	assert_int_equal(write(fd, "\x66\x66\xed", 3), 3);
	assert_int_equal(mark6_file_identify(fd), 0);
	assert_int_equal(write(fd, "\xfe", 1), 1);
	assert_int_equal(mark6_file_identify(fd), 1);
	assert_int_equal(mark6_file_is_blank(fd, 4), 0);
	assert_int_equal(mark6_file_identify(-1), -EBADF);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_blocks_of_a_whole_file_are_visited_as_they_lie_there),
		cmocka_unit_test(blocks_of_version_1_are_as_long_as_the_file_says),
		cmocka_unit_test(a_file_header_that_makes_no_sense_is_refused_with_the_reason),
		cmocka_unit_test(a_format_that_is_not_known_is_unknown),
		cmocka_unit_test(wherever_a_file_is_cut_its_whole_packets_are_given),
		cmocka_unit_test(zeros_behind_the_last_block_are_the_end),
		cmocka_unit_test(block_0_of_version_1_may_come_late),
		cmocka_unit_test(packets_that_were_not_written_are_cut_off),
		cmocka_unit_test(a_damaged_header_costs_its_own_block),
		cmocka_unit_test(a_size_that_is_too_small_costs_nothing),
		cmocka_unit_test(rubbish_behind_the_last_block_is_told_from_a_torn_one),
		cmocka_unit_test(blocks_without_whole_packets_are_counted),
		cmocka_unit_test(a_walk_that_was_broken_off_is_not_complete),
		cmocka_unit_test(a_walk_ends_and_stays_within_its_file_whatever_stands_there),
		cmocka_unit_test(names_are_those_that_the_writers_of_sets_give),
		cmocka_unit_test(the_sync_word_tells_a_file_of_a_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
