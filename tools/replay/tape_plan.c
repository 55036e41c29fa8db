/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/tape_parts.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/piece.h"

#define NO_DISK UINT32_MAX /* of what can't be opened: nobody reads it */

/* ---- disks --------------------------------------------------------------------------------------- */

static int name_disk(struct tape *tape, struct feed_disk *disk, const struct recording_piece *piece)
{
	disk->path = strdup(tape->config.recording ? piece->target : piece->file);
	disk->io = "";
	return disk->path ? 0 : -ENOMEM;
}

/* The reader of a file's disk, which begins with the first file there. Return: its place; -errno. */
static int find_reader(struct tape *tape, const struct tape_file *file,
		       const struct recording_piece *piece)
{
	struct feed *feed = tape->feed;
	uint32_t block_count = ring_block_count(tape->ring);
	struct disk_reader_config config = {
		.ring = tape->ring,
		.share_count = block_count,
		.engine = tape->config.engine,
		.depth = tape->config.depth ? tape->config.depth :
					      engine_usual_depth(tape->block_bytes),
		.memory = tape->config.memory,
		.memory_bytes = tape->config.memory_bytes,
		.block_bytes = tape->block_bytes,
		.number = tape->reader_count,
	};
	unsigned i;
	int ret;

	for (i = 0; i < tape->reader_count; i++)
		if (tape->devices[i] == file->device)
			return (int)i;
	if (i == FEED_DISKS_MAX) /* more than that share one */
		return FEED_DISKS_MAX - 1;
	config.disk = &feed->disks[i];
	config.other = tape->readers[0];
	ret = name_disk(tape, config.disk, piece);
	if (ret == 0)
		ret = disk_reader_open(&tape->readers[i], &config);
	if (ret < 0)
		return feed_fail(feed, ret, "a thread for the disk of %s can't be started: %s",
				 piece->file, strerror(-ret));
	if (disk_reader_note(tape->readers[i])[0])
		feed_say(feed, "%s", disk_reader_note(tape->readers[i]));
	tape->devices[i] = file->device;
	tape->reader_count++;
	feed->disk_count = tape->reader_count;
	return (int)i;
}

static void note_io(struct feed_disk *disk, bool is_direct)
{
	const char *io = is_direct ? "direct" : "buffered";

	if (!disk->io[0])
		disk->io = io;
	else if (strcmp(disk->io, io) != 0)
		disk->io = "mixed";
}

/* ---- blocks -------------------------------------------------------------------------------------- */

void tape_clear_block(struct tape_block *block)
{
	for (unsigned i = 0; i < block->count; i++)
		free(block->stretches[i]);
	block->count = 0;
	block->used = 0;
	block->is_open = false;
	for (unsigned i = 0; i < FEED_DISKS_MAX; i++)
		block->shares[i].share.count = 0;
}

bool tape_block_is_through(struct tape_block *block)
{
	/* DATA: acquires what the readers have read, see end_stretch() in disk_reader.c */
	return !block->is_open && atomic_load_explicit(&block->left, memory_order_acquire) == 0;
}

static void add_item(struct tape *tape, const struct tape_item *item)
{
	assert(tape->item_count < tape->item_places);
	tape->items[(tape->item_first + tape->item_count++) % tape->item_places] = *item;
}

/* Return: a block; RING_NONE: none is to be had without taking the last one. */
static uint32_t begin_block(struct tape *tape, uint64_t stream_offset)
{
	struct tape_item item = {
		.stream_offset = stream_offset,
		.base = tape->current->base,
		.is_anew = tape->is_current_anew,
	};

	if (tape->item_count == tape->item_places || ring_free_count(tape->ring) <= PLAY_RESERVE)
		return RING_NONE;
	item.block = ring_take(tape->ring);
	if (item.block == RING_NONE)
		return RING_NONE;
	tape_clear_block(&tape->blocks[item.block]);
	tape->blocks[item.block].is_open = true;
	add_item(tape, &item);
	return item.block;
}

/* No more goes into it: the readers get their shares. */
static void end_block(struct tape *tape, uint32_t index)
{
	struct tape_block *block = &tape->blocks[index];
	unsigned left = 0;

	block->is_open = false;
	for (unsigned i = 0; i < tape->reader_count; i++)
		left += block->shares[i].share.count > 0;
	/* relaxed: the readers see it by disk_reader_add() */
	atomic_store_explicit(&block->left, left, memory_order_relaxed);
	for (unsigned i = 0; i < tape->reader_count && left > 0; i++) {
		struct disk_share *share = &block->shares[i].share;

		if (share->count == 0)
			continue;
		left--;
		share->stretches = block->shares[i].stretches;
		share->left = &block->left;
		disk_reader_add(tape->readers[i], share);
	}
}

static void end_open_block(struct tape *tape)
{
	if (tape->open_block != RING_NONE)
		end_block(tape, tape->open_block);
	tape->open_block = RING_NONE;
}

/* ---- stretches ----------------------------------------------------------------------------------- */

/* Room for one more, at an address that may change. NULL: no memory. */
static void *grow(void *array, unsigned count, unsigned *room, size_t item_bytes)
{
	unsigned wanted = *room ? *room * 2 : 4;
	void *grown;

	if (count < *room)
		return array;
	grown = realloc(array, wanted * item_bytes);
	if (grown)
		*room = wanted;
	return grown;
}

static int add_share(struct tape_block *block, unsigned reader, const struct disk_stretch *stretch,
		     unsigned *index)
{
	struct disk_share *share = &block->shares[reader].share;
	struct disk_stretch *room = grow(block->shares[reader].stretches, share->count,
					 &block->shares[reader].room, sizeof(*room));

	if (!room)
		return -ENOMEM;
	block->shares[reader].stretches = room;
	*index = share->count;
	room[share->count++] = *stretch;
	return 0;
}

static struct tape_stretch *new_stretch(struct tape *tape, uint32_t index)
{
	struct tape_block *block = &tape->blocks[index];
	struct tape_stretch **room =
		grow(block->stretches, block->count, &block->room, sizeof(struct tape_stretch *));
	struct tape_stretch *stretch = calloc(1, sizeof(*stretch));

	if (room)
		block->stretches = room;
	if (!room || !stretch) {
		free(stretch);
		return NULL;
	}
	block->stretches[block->count++] = stretch;
	stretch->block = index;
	return stretch;
}

static void append_to_piece(struct tape_piece *piece, struct tape_stretch *stretch)
{
	if (piece->last)
		piece->last->next = stretch;
	if (!piece->next_read)
		piece->next_read = stretch;
	piece->last = stretch;
	piece->planned_bytes += stretch->bytes;
}

/* As much of the piece as goes into the block behind what is there. Return: 0; -ENOMEM; -errno. */
static int put_stretch(struct tape *tape, uint32_t index, size_t bytes, bool is_direct, size_t ahead)
{
	struct tape_block *block = &tape->blocks[index];
	struct tape_piece *piece = tape->current;
	struct tape_stretch *stretch = new_stretch(tape, index);
	struct disk_stretch read = { .bytes = bytes, .is_direct = is_direct, .ahead_bytes = ahead };
	int reader;

	if (!stretch)
		return -ENOMEM;
	block->used += ahead;
	stretch->piece = piece;
	stretch->offset = piece->planned_bytes;
	stretch->bytes = bytes;
	stretch->data = (char *)ring_data(tape->ring, index) + block->used;
	stretch->reader = NO_DISK;
	block->used += bytes;
	append_to_piece(piece, stretch);
	if (!piece->file)
		return 0;
	reader = find_reader(tape, piece->file, &piece->piece);
	if (reader < 0)
		return reader;
	note_io(&tape->feed->disks[reader], is_direct);
	read.fd = is_direct ? piece->file->direct_fd : piece->file->fd;
	read.to = stretch->data;
	read.file_offset = piece->piece.file_offset + stretch->offset;
	if (is_direct)
		read.behind_bytes = (piece->file->align - (ahead + bytes) % piece->file->align) %
				    piece->file->align;
	stretch->reader = (unsigned)reader;
	return add_share(block, stretch->reader, &read, &stretch->index);
}

/* ---- pieces -------------------------------------------------------------------------------------- */

/* What can't be held back until it is verified: more than half the ring. */
static bool can_be_held(const struct tape *tape, uint64_t bytes)
{
	uint64_t blocks = ring_block_count(tape->ring);

	return blocks > PLAY_RESERVE + 1 &&
	       bytes <= (blocks - PLAY_RESERVE - 1) / 2 * (tape->block_bytes - 4096);
}

static void append_piece(struct tape *tape, struct tape_piece *piece)
{
	if (tape->last_piece)
		tape->last_piece->next = piece;
	else
		tape->pieces = piece;
	tape->last_piece = piece;
	if (!tape->unsettled)
		tape->unsettled = piece;
}

void tape_drop_piece(struct tape *tape)
{
	struct tape_piece *piece = tape->pieces;

	tape->pieces = piece->next;
	if (tape->last_piece == piece)
		tape->last_piece = NULL;
	if (tape->unsettled == piece)
		tape->unsettled = piece->next;
	if (piece->file)
		tape_done(piece->file);
	XXH3_freeState(piece->hash);
	free(piece);
}

/* Its checksum is of its bytes, or of more: then all that it is of is read now, by itself. Return: 0; -ENOMEM. */
static int begin_sum(struct tape_piece *piece)
{
	if (!piece_has_own_sum(&piece->piece)) {
		piece->is_wrong = recording_verify(&piece->piece) < 0;
		return 0;
	}
	piece->hash = XXH3_createState();
	if (!piece->hash)
		return -ENOMEM;
	XXH3_64bits_reset(piece->hash);
	return 0;
}

static void count_unverified(struct tape *tape, const struct tape_piece *piece)
{
	bool is_compared = tape->config.is_verified && piece->piece.has_xxh3 &&
			   (piece->is_held || !piece->hash);

	if (tape->config.recording && piece->file && !is_compared)
		feed_count(&tape->feed->stats.unverified_bytes, piece->piece.bytes);
}

/* Return: 0; -EAGAIN: too many files are open now; -ENOMEM. */
static int begin_piece(struct tape *tape, const struct recording_piece *described)
{
	struct tape_piece *piece;
	struct tape_file *file = NULL;
	int error = 0, ret = 0;

	if (!described->is_lost)
		file = tape_open(tape, described, &error);
	if (!file && !described->is_lost && error == 0)
		return -EAGAIN;
	piece = calloc(1, sizeof(*piece));
	if (!piece)
		return -ENOMEM;
	piece->piece = *described;
	piece->piece.fd = error ? error : described->fd;
	piece->base = tape->base;
	piece->file = file;
	piece->is_wrong = !file;
	append_piece(tape, piece);
	if (file && tape->config.is_verified && described->has_xxh3)
		ret = begin_sum(piece);
	piece->is_held = (piece->hash || piece->is_wrong) && can_be_held(tape, described->bytes);
	count_unverified(tape, piece);
	tape->current = piece;
	return ret;
}

static void plan_gap(struct tape *tape, const struct recording_piece *described)
{
	const struct tape_item gap = {
		.block = RING_NONE,
		.stream_offset = described->stream_offset + tape->base,
		.gap_bytes = described->bytes,
		.base = tape->base,
		.cause = described->cause,
		.is_anew = tape->is_next_anew,
	};

	end_open_block(tape);
	if (described->bytes > 0)
		add_item(tape, &gap);
}

/* Return: 1 there is a piece to plan; 0 there is no more; -EAGAIN not now; -errno. */
static int find_piece(struct tape *tape)
{
	int ret;

	while (!tape->current) {
		if (tape->item_count == tape->item_places)
			return -EAGAIN;
		if (!tape->has_next) {
			ret = tape_next(tape, &tape->next, &tape->is_next_anew);
			tape->has_ended = ret == 0;
			if (ret <= 0)
				return ret;
			tape->has_next = true;
		}
		if (tape->next.kind == RECORDING_DATA && tape->next.bytes > 0) {
			if (tape->config.recording && tape->next.fd >= 0)
				recording_refresh(tape->config.recording, &tape->next);
			ret = begin_piece(tape, &tape->next);
			if (ret < 0)
				return ret;
			tape->is_current_anew = tape->is_next_anew;
		} else {
			plan_gap(tape, &tape->next);
		}
		tape->has_next = false;
	}
	return 1;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static size_t least(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

static uint64_t next_offset(const struct tape_piece *piece)
{
	return piece->base + piece->piece.stream_offset + piece->planned_bytes;
}

/* A stretch of a large piece has a block of its own. Return: 1; 0 no block is free; -errno. */
static int plan_large(struct tape *tape, uint64_t left)
{
	const struct tape_piece *piece = tape->current;
	uint64_t file_offset = piece->piece.file_offset + piece->planned_bytes;
	bool is_direct = piece->file && piece->file->direct_fd >= 0;
	size_t ahead = is_direct ? (size_t)(file_offset % piece->file->align) : 0;
	uint32_t block;
	int ret;

	end_open_block(tape);
	block = begin_block(tape, next_offset(piece));
	if (block == RING_NONE)
		return 0;
	ret = put_stretch(tape, block, least(left, tape->block_bytes - ahead), is_direct, ahead);
	end_block(tape, block);
	return ret < 0 ? ret : 1;
}

/* Small ones share a block, as long as they follow each other. Return: 1; 0 no block is free; -errno. */
static int plan_small(struct tape *tape, uint64_t left)
{
	size_t room;
	int ret;

	if (tape->is_current_anew)
		end_open_block(tape);
	if (tape->open_block == RING_NONE)
		tape->open_block = begin_block(tape, next_offset(tape->current));
	if (tape->open_block == RING_NONE)
		return 0;
	room = tape->block_bytes - tape->blocks[tape->open_block].used;
	ret = put_stretch(tape, tape->open_block, least(left, room), false, 0);
	if (ret < 0)
		return ret;
	if (tape->blocks[tape->open_block].used == tape->block_bytes)
		end_open_block(tape);
	return 1;
}

/* Return: 1 something was planned; 0 no block is free, or all is planned; -errno. */
static int plan_one(struct tape *tape)
{
	uint64_t left;
	int ret = find_piece(tape);

	if (ret <= 0)
		return ret == -EAGAIN ? 0 : ret;
	left = tape->current->piece.bytes - tape->current->planned_bytes;
	ret = tape->current->piece.bytes >= DISK_READER_SMALL_BYTES ? plan_large(tape, left) :
								      plan_small(tape, left);
	if (tape->current->planned_bytes > 0)
		tape->is_current_anew = false;
	if (tape->current->planned_bytes == tape->current->piece.bytes)
		tape->current = NULL;
	return ret;
}

int tape_plan(struct tape *tape)
{
	int ret = 1;

	while (ret == 1 && !tape->has_ended)
		ret = plan_one(tape);
	/* nothing will come into it soon: it is read now */
	if (ret >= 0)
		end_open_block(tape);
	return ret < 0 ? ret : 0;
}

void tape_free_plan(struct tape *tape)
{
	for (unsigned i = 0; i < tape->reader_count; i++)
		disk_reader_close(tape->readers[i]);
	for (uint32_t i = 0; tape->blocks && i < ring_block_count(tape->ring); i++) {
		struct tape_block *block = &tape->blocks[i];

		if (!block->shares)
			break;
		tape_clear_block(block);
		for (unsigned k = 0; k < FEED_DISKS_MAX; k++)
			free(block->shares[k].stretches);
		free(block->shares);
		free(block->stretches);
	}
	free(tape->blocks);
	free(tape->items);
	while (tape->pieces)
		tape_drop_piece(tape);
}
