/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of Mark6 (tools/mark6_file.h) with any bytes, up to three of them, and their blocks put in order
 * (tools/mark6_set.h).
 */
#include "tests/fuzz/input.h"

#include "tools/mark6_file.h"
#include "tools/mark6_set.h"

#define FILES_MAX 3

struct visiting {
	struct mark6_set set;
	uint32_t file;
	uint64_t bytes; /* of the file */
	uint64_t end;   /* of the block before */
	uint64_t whole_end;
};

static int visit(void *context, const struct mark6_file_block *block)
{
	struct visiting *visiting = context;
	uint64_t end = block->payload_offset + block->payload_bytes;

	input_expect(block->payload_offset > visiting->end);
	input_expect(end + block->broken_bytes <= visiting->bytes);
	input_expect(block->lacking_bytes >= block->broken_bytes);
	visiting->end = end - (block->payload_bytes == 0);
	if (block->lacking_bytes == 0)
		visiting->whole_end = end;
	return mark6_set_add(&visiting->set, visiting->file, block);
}

static void walk(struct visiting *visiting, const uint8_t *data, size_t len, uint64_t place)
{
	int fd = input_file(visiting->file, data, len), ret;
	struct mark6_file_survey survey;
	uint64_t before = visiting->set.count, end;

	visiting->bytes = len;
	visiting->end = visiting->whole_end = 0;
	input_expect(mark6_file_identify(fd) >= 0 && mark6_file_is_blank(fd, len) >= 0);
	ret = mark6_file_walk(fd, len, &survey, visit, visiting);
	input_expect(survey.is_complete == (ret == 0));
	input_expect(survey.block_count == visiting->set.count - before);
	input_expect(survey.whole_end <= len && survey.whole_end >= visiting->whole_end);
	place %= len + 1;
	end = mark6_file_block_end(fd, len, place);
	input_expect(end >= place && end <= (len > place ? len : place));
}

/* Any two blocks are the same in an input whose length is even. */
static int compare(void *context, const struct mark6_set_block *a, const struct mark6_set_block *b)
{
	const struct visiting *visiting = context;

	input_expect(a->number == b->number && a->bytes == b->bytes);
	return visiting->bytes % 2 == 0;
}

static void go_through(const struct mark6_set *set)
{
	struct mark6_set_cursor cursor = { 0 };
	struct mark6_set_step step;
	uint64_t blocks = 0, next = 0;

	while (mark6_set_next(set, &cursor, &step)) {
		input_expect(step.first_number == next || step.kind == MARK6_SET_LACKING);
		if (step.kind == MARK6_SET_LACKING)
			continue;
		blocks += step.kind == MARK6_SET_BLOCK;
		next = step.first_number + step.count;
	}
	input_expect(blocks == set->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	struct visiting visiting = { 0 };
	uint32_t count = 1 + input_take_below(&input, FILES_MAX);
	uint64_t place = input_take_number(&input, 4);
	size_t each = input.len / count;

	for (; visiting.file < count; visiting.file++)
		walk(&visiting, input.data + visiting.file * each, each, place);
	if (mark6_set_settle(&visiting.set, place & 1 ? 1 : MARK6_VERSION, compare, &visiting) == 0)
		go_through(&visiting.set);
	mark6_set_free(&visiting.set);
	return 0;
}
