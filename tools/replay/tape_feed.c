/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/tape_feed.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/replay/tape_parts.h"

#define GAPS_AHEAD 1024 /* that may wait between blocks */

/* ---- giving -------------------------------------------------------------------------------------- */

/* A run of stretches that are good, from one place in a block on. */
struct run {
	const char *data;
	uint64_t stream_offset;
	size_t bytes;
};

static struct tape_item *first_item(struct tape *tape)
{
	return tape->item_count ? &tape->items[tape->item_first] : NULL;
}

static void drop_item(struct tape *tape)
{
	tape->item_first = (tape->item_first + 1) % tape->item_places;
	tape->item_count--;
}

static int put_fill(struct tape *tape, uint64_t stream_offset, uint64_t bytes)
{
	while (bytes > 0) {
		size_t len = bytes < tape->block_bytes ? (size_t)bytes : tape->block_bytes;
		uint32_t block = feed_take(tape->feed);

		if (block == RING_NONE)
			return -EINTR;
		gap_fill_put(&tape->fill, stream_offset, ring_data(tape->ring, block), len);
		feed_put_bytes(tape->feed, block, stream_offset, 0, len);
		feed_count(&tape->feed->stats.filled_bytes, len);
		stream_offset += len;
		bytes -= len;
	}
	return 0;
}

/* The gap that has come together so far, if there is one. Return: 0; -EINTR; -ENOMEM. */
static int give_gap(struct tape *tape)
{
	uint64_t stream_offset = tape->gap.stream_offset, bytes = tape->gap.bytes;
	uint64_t base = tape->gap.base;
	char why[GATHER_VDIF_WHY_LEN];
	int ret;

	tape->gap.bytes = 0;
	if (bytes == 0)
		return 0;
	if (tape->config.fill == GATHER_CLOSE_UP)
		return feed_put_gap(tape->feed, stream_offset, bytes, tape->gap.cause);
	feed_note_gap(tape->feed, stream_offset, bytes, tape->gap.cause);
	ret = gap_fill_begin(&tape->fill, tape->config.recording, stream_offset - base, bytes, why);
	if (ret < 0)
		return ret;
	if (ret > 0)
		feed_say(tape->feed, "a gap gets the pattern and no frames: %s", why);
	if (tape->config.recording) /* it has looked ahead */
		recording_seek(tape->config.recording, tape->source_offset);
	return put_fill(tape, stream_offset, bytes);
}

/* What is lost for one reason is one gap, in how many blocks it may have been planned. Return: as give_gap(). */
static int add_gap(struct tape *tape, uint64_t stream_offset, uint64_t base, uint64_t bytes,
		   enum recording_cause cause)
{
	int ret;

	if (tape->gap.bytes && tape->gap.cause == cause && tape->gap.base == base &&
	    tape->gap.stream_offset + tape->gap.bytes == stream_offset) {
		tape->gap.bytes += bytes;
		return 0;
	}
	ret = give_gap(tape);
	tape->gap.stream_offset = stream_offset;
	tape->gap.bytes = bytes;
	tape->gap.base = base;
	tape->gap.cause = cause;
	return ret;
}

/* The first run goes in the block itself; the others, behind what is bad, in blocks of their own. Return: 0; -EINTR. */
static int give_run(struct tape *tape, uint32_t *block, const struct run *run)
{
	const char *begin;
	int ret = give_gap(tape);

	if (ret < 0)
		return ret;
	gap_fill_pass(&tape->fill, run->data, run->bytes);
	if (*block != RING_NONE) {
		begin = ring_data(tape->ring, *block);
		feed_put_bytes(tape->feed, *block, run->stream_offset, (size_t)(run->data - begin),
			       run->bytes);
		*block = RING_NONE;
		return 0;
	}
	*block = feed_take(tape->feed);
	if (*block == RING_NONE)
		return -EINTR;
	/*
	 * The player only reads what it has, and nobody but us takes blocks: even if it is the same one again, what came to
	 * stand at its begin since is no longer than what lay in front of these bytes.
	 */
	memmove(ring_data(tape->ring, *block), run->data, run->bytes);
	feed_put_bytes(tape->feed, *block, run->stream_offset, 0, run->bytes);
	*block = RING_NONE;
	return 0;
}

static void count_given(struct tape *tape, struct tape_stretch *stretch)
{
	struct tape_piece *piece = stretch->piece;

	piece->given_bytes += stretch->bytes;
	if (piece->last == stretch) /* it is freed, and more may be planned */
		piece->last = NULL;
	/* what is not settled yet will be looked at once more */
	if (piece == tape->pieces && piece->given_bytes == piece->piece.bytes && piece->is_settled)
		tape_drop_piece(tape);
}

static enum recording_cause cause_of(const struct tape_stretch *stretch)
{
	const struct recording_piece *piece = &stretch->piece->piece;

	return piece->is_lost || piece->fd < 0 ? RECORDING_MISSING : RECORDING_DISK;
}

/* What is bad becomes a gap as long as its neighbours of the same kind. Return: 0; -EINTR; -ENOMEM. */
static int give_block(struct tape *tape, const struct tape_item *item)
{
	struct tape_block *block = &tape->blocks[item->block];
	uint32_t index = item->block;
	uint64_t offset = item->stream_offset;
	int ret = 0;

	for (unsigned i = 0; i < block->count && ret == 0;) {
		const struct tape_stretch *first = block->stretches[i];
		bool is_good = tape_is_good(first);
		enum recording_cause cause = cause_of(first);
		struct run run = { .data = first->data, .stream_offset = offset };

		while (i < block->count && tape_is_good(block->stretches[i]) == is_good &&
		       (is_good || cause_of(block->stretches[i]) == cause))
			run.bytes += block->stretches[i++]->bytes;
		ret = is_good ? give_run(tape, &index, &run) :
				add_gap(tape, offset, item->base, run.bytes, cause);
		offset += run.bytes;
	}
	if (index != RING_NONE)
		ring_give_back(tape->ring, index);
	if (ret < 0)
		return ret;
	for (unsigned i = 0; i < block->count; i++)
		count_given(tape, block->stretches[i]);
	tape_clear_block(block);
	return 0;
}

static bool can_be_given(struct tape *tape, const struct tape_item *item)
{
	struct tape_block *block = &tape->blocks[item->block];

	if (!tape_block_is_through(block))
		return false;
	for (unsigned i = 0; i < block->count; i++) {
		const struct tape_stretch *stretch = block->stretches[i];

		if (!stretch->is_through || (stretch->piece->is_held && !stretch->piece->is_settled))
			return false;
	}
	return true;
}

/* Return: how many items the player got; -EINTR; -ENOMEM. */
static int give(struct tape *tape)
{
	struct tape_item *next;
	int count = 0;

	while ((next = first_item(tape)) != NULL) {
		struct tape_item item = *next;
		int ret;

		if (item.block != RING_NONE && !can_be_given(tape, &item))
			break;
		drop_item(tape);
		if (item.is_anew) {
			ret = give_gap(tape);
			if (ret < 0)
				return ret;
			feed_begin_anew(tape->feed);
		}
		ret = item.block == RING_NONE ? add_gap(tape, item.stream_offset, item.base,
							item.gap_bytes, item.cause) :
						give_block(tape, &item);
		if (ret < 0)
			return ret;
		count++;
	}
	return count;
}

/* ---- the thread ---------------------------------------------------------------------------------- */

/* Return: 1 go on; 0 it is all; -errno. */
static int turn(struct tape *tape)
{
	uint32_t ticket = ring_listen(tape->ring, RING_PRODUCER);
	int ret = feed_is_stopped(tape->feed) ? -EINTR : tape_plan(tape), given;

	if (ret == 0)
		ret = tape_settle(tape);
	given = ret == 0 ? give(tape) : ret;
	if (given < 0)
		return given;
	if (tape->has_ended && tape->item_count == 0)
		return give_gap(tape);
	if (given == 0)
		ring_sleep(tape->ring, RING_PRODUCER, ticket, INT64_MAX);
	return 1;
}

static void end_readers(struct tape *tape)
{
	for (unsigned i = 0; i < tape->reader_count; i++) {
		disk_reader_close(tape->readers[i]);
		tape->readers[i] = NULL;
	}
}

static int run(struct feed *feed)
{
	struct tape *tape = feed->state;
	int ret;

	if (tape->config.recording)
		recording_seek(tape->config.recording, tape->config.start_offset);
	while ((ret = turn(tape)) == 1)
		;
	end_readers(tape);
	if (ret == -ENOMEM)
		return feed_fail(feed, ret, "out of memory");
	return ret;
}

/* ---- making one ---------------------------------------------------------------------------------- */

static int file_bytes(const char *path, uint64_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		ret = -errno;
	else if (S_ISBLK(st.st_mode))
		ret = ioctl(fd, BLKGETSIZE64, bytes) < 0 ? -errno : 0;
	else
		*bytes = (uint64_t)st.st_size;
	close(fd);
	return ret;
}

static int measure_files(struct tape *tape)
{
	uint64_t end = 0;

	tape->file_ends = calloc(tape->config.file_count, sizeof(tape->file_ends[0]));
	if (!tape->file_ends)
		return -ENOMEM;
	for (size_t i = 0; i < tape->config.file_count; i++) {
		uint64_t bytes = 0;
		int ret = file_bytes(tape->config.files[i], &bytes);

		if (ret < 0)
			return feed_fail(tape->feed, ret, "%s can't be read: %s",
					 tape->config.files[i], strerror(-ret));
		end += bytes;
		tape->file_ends[i] = end;
	}
	return 0;
}

static void tell_planned(struct tape *tape)
{
	const struct tape_feed_config *config = &tape->config;
	uint64_t end = config->recording ? recording_info(config->recording)->stream_bytes :
					   tape->file_ends[config->file_count - 1];

	if (end > config->stop_offset)
		end = config->stop_offset;
	if (end > config->start_offset && config->loop_count)
		atomic_store_explicit(&tape->feed->stats.planned_bytes,
				      (end - config->start_offset) * config->loop_count,
				      memory_order_relaxed);
}

static int make_tables(struct tape *tape)
{
	uint32_t block_count = ring_block_count(tape->ring);

	tape->item_places = block_count + GAPS_AHEAD;
	tape->items = calloc(tape->item_places, sizeof(tape->items[0]));
	tape->blocks = calloc(block_count, sizeof(tape->blocks[0]));
	tape->feed->disks = calloc(FEED_DISKS_MAX, sizeof(tape->feed->disks[0]));
	if (!tape->items || !tape->blocks || !tape->feed->disks)
		return -ENOMEM;
	for (uint32_t i = 0; i < block_count; i++) {
		tape->blocks[i].shares = calloc(FEED_DISKS_MAX, sizeof(tape->blocks[i].shares[0]));
		if (!tape->blocks[i].shares)
			return -ENOMEM;
	}
	return gap_fill_init(&tape->fill, tape->config.fill);
}

static void release(struct feed *feed)
{
	struct tape *tape = feed->state;

	if (!tape)
		return;
	tape_free_plan(tape);
	tape_close_files(tape);
	gap_fill_end(&tape->fill);
	free(tape->file_ends);
	free(tape);
	for (unsigned i = 0; i < feed->disk_count; i++)
		free(feed->disks[i].path);
	free(feed->disks);
}

static const struct feed_ops ops = {
	.run = run,
	.free = release,
};

int tape_feed_create(struct feed **out, const struct feed_config *config,
		     const struct tape_feed_config *given)
{
	struct tape *tape;
	int ret = feed_create(out, &ops, config);

	if (ret < 0)
		return ret;
	tape = calloc(1, sizeof(*tape));
	if (!tape)
		return feed_fail(*out, -ENOMEM, "out of memory");
	(*out)->state = tape;
	tape->feed = *out;
	tape->config = *given;
	tape->ring = config->ring;
	tape->block_bytes = ring_block_bytes(config->ring);
	tape->open_block = RING_NONE;
	tape->source_offset = given->start_offset;
	for (size_t i = 0; i < TAPE_FILES_MAX; i++)
		tape->files[i].fd = tape->files[i].direct_fd = -1;
	ret = make_tables(tape);
	if (ret == 0 && !given->recording)
		ret = measure_files(tape);
	if (ret == -ENOMEM)
		return feed_fail(*out, ret, "out of memory");
	if (ret == 0)
		tell_planned(tape);
	return ret;
}
