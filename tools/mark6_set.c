/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/mark6_set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "tools/array.h"

_Static_assert(sizeof(struct mark6_set_block) == 16, "sets are large");

int mark6_set_add(struct mark6_set *set, uint32_t file, const struct mark6_file_block *block)
{
	struct mark6_set_block *room = array_room(&set->blocks, set->count, sizeof(*room));
	struct mark6_set_cut *cut;

	assert(file < MARK6_SET_FILES_MAX && block->payload_offset < MARK6_FILE_BYTES_MAX);
	if (!room)
		return -ENOMEM;
	*room = (struct mark6_set_block){
		.where = (uint64_t)file << 48 | block->payload_offset,
		.number = block->number,
		.bytes = block->payload_bytes & INT32_MAX,
		.is_cut = block->lacking_bytes > 0,
	};
	if (room->is_cut) {
		cut = array_room(&set->cuts, set->cut_count, sizeof(*cut));
		if (!cut)
			return -ENOMEM;
		*cut = (struct mark6_set_cut){ .where = room->where,
					       .lacking_bytes = block->lacking_bytes,
					       .broken_bytes = block->broken_bytes };
		set->cut_count++;
	}
	set->count++;
	return 0;
}

int mark6_set_join(struct mark6_set *set, struct mark6_set *part)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < part->count; i++) {
		struct mark6_set_block *room = array_room(&set->blocks, set->count, sizeof(*room));

		if (room)
			set->blocks[set->count++] = part->blocks[i];
		ret = room ? 0 : -ENOMEM;
	}
	for (size_t i = 0; ret == 0 && i < part->cut_count; i++) {
		struct mark6_set_cut *room = array_room(&set->cuts, set->cut_count, sizeof(*room));

		if (room)
			set->cuts[set->cut_count++] = part->cuts[i];
		ret = room ? 0 : -ENOMEM;
	}
	mark6_set_free(part);
	return ret;
}

static const struct mark6_set_cut *find_cut(const struct mark6_set *set,
					    const struct mark6_set_block *block)
{
	for (size_t i = 0; i < set->cut_count; i++)
		if (set->cuts[i].where == block->where)
			return &set->cuts[i];
	return NULL;
}

static uint32_t lacking_bytes(const struct mark6_set *set, const struct mark6_set_block *block)
{
	const struct mark6_set_cut *cut = block->is_cut ? find_cut(set, block) : NULL;

	return cut ? cut->lacking_bytes : 0;
}

/* Of one number: whole before cut, long before short. */
static int compare_blocks(const void *a, const void *b)
{
	const struct mark6_set_block *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->is_cut != y->is_cut)
		return x->is_cut ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->where < y->where ? -1 : x->where > y->where;
}

static int drop_doubled(struct mark6_set *set,
			int (*compare)(void *context, const struct mark6_set_block *a,
				       const struct mark6_set_block *b),
			void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++) {
		const struct mark6_set_block *block = &set->blocks[i];
		int ret = 0;

		if (kept == 0 || set->blocks[kept - 1].number != block->number) {
			set->blocks[kept++] = *block;
			continue;
		}
		if (block->is_cut) {
			if (set->replaced_count++ == 0)
				set->replaced = *block;
			continue;
		}
		if (block->bytes == set->blocks[kept - 1].bytes)
			ret = compare(context, &set->blocks[kept - 1], block);
		if (ret < 0)
			return ret;
		if (ret == 0 || set->doubled_count == 0) {
			set->doubled[0] = set->blocks[kept - 1];
			set->doubled[1] = *block;
		}
		if (ret == 0)
			return -EBADMSG;
		set->doubled_count++;
	}
	set->count = kept;
	return 0;
}

/* Version 1 has no lengths: the last block of all may well be shorter than the others. */
static void judge_last(struct mark6_set *set)
{
	struct mark6_set_block *last = set->count ? &set->blocks[set->count - 1] : NULL;
	const struct mark6_set_cut *cut = last && last->is_cut ? find_cut(set, last) : NULL;

	if (!cut || cut->broken_bytes || last->bytes == 0)
		return;
	last->is_cut = 0;
	set->is_last_short = true;
}

int mark6_set_settle(struct mark6_set *set, uint32_t version,
		     int (*compare)(void *context, const struct mark6_set_block *a,
				    const struct mark6_set_block *b),
		     void *context)
{
	int ret;

	if (set->count)
		qsort(set->blocks, set->count, sizeof(set->blocks[0]), compare_blocks);
	ret = drop_doubled(set, compare, context);
	for (size_t i = 0; ret == 0 && i < set->count; i++) {
		uint32_t bytes = set->blocks[i].bytes + lacking_bytes(set, &set->blocks[i]);

		if (bytes > set->nominal_bytes)
			set->nominal_bytes = bytes;
	}
	if (ret == 0 && version != MARK6_VERSION)
		judge_last(set);
	return ret;
}

bool mark6_set_next(const struct mark6_set *set, struct mark6_set_cursor *cursor,
		    struct mark6_set_step *step)
{
	const struct mark6_set_block *block;

	if (cursor->owes_rest) {
		block = &set->blocks[cursor->next - 1];
		cursor->owes_rest = false;
		*step = (struct mark6_set_step){ MARK6_SET_LACKING, block,
						 lacking_bytes(set, block), block->number, 1 };
		return true;
	}
	if (cursor->next >= set->count)
		return false;
	block = &set->blocks[cursor->next];
	if (block->number > cursor->expected_number) {
		uint64_t count = block->number - cursor->expected_number;

		*step = (struct mark6_set_step){ MARK6_SET_MISSING, NULL, count * set->nominal_bytes,
						 cursor->expected_number, count };
		cursor->expected_number = block->number;
		return true;
	}
	*step = (struct mark6_set_step){ MARK6_SET_BLOCK, block, block->bytes, block->number, 1 };
	cursor->next++;
	cursor->expected_number = (uint64_t)block->number + 1;
	cursor->owes_rest = block->is_cut;
	return true;
}

void mark6_set_free(struct mark6_set *set)
{
	free(set->blocks);
	free(set->cuts);
	*set = (struct mark6_set){ 0 };
}
