/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/tape_parts.h"

#include <errno.h>
#include <inttypes.h>

#include "tools/piece.h"
#include "tools/read_at.h"

/* ---- what was read ------------------------------------------------------------------------------- */

static int error_of(const struct tape *tape, const struct tape_stretch *stretch)
{
	const struct tape_block *block = &tape->blocks[stretch->block];

	if (!stretch->piece->file)
		return stretch->piece->piece.fd < 0 ? stretch->piece->piece.fd : -ENOENT;
	return block->shares[stretch->reader].stretches[stretch->index].error;
}

/* Takes what is through, in the order of the piece. Return: all of it is. */
static bool take_read(struct tape *tape, struct tape_piece *piece)
{
	struct tape_stretch *stretch;

	while ((stretch = piece->next_read) != NULL &&
	       tape_block_is_through(&tape->blocks[stretch->block])) {
		stretch->error = error_of(tape, stretch);
		stretch->is_through = true;
		if (stretch->error)
			piece->is_wrong = true;
		else if (piece->hash)
			XXH3_64bits_update(piece->hash, stretch->data, stretch->bytes);
		piece->read_bytes += stretch->bytes;
		piece->next_read = stretch->next;
	}
	return piece->read_bytes == piece->piece.bytes;
}

bool tape_is_good(const struct tape_stretch *stretch)
{
	return !stretch->error && !stretch->piece->is_bad;
}

/* ---- mending ------------------------------------------------------------------------------------- */

static struct tape_stretch *first_stretch(const struct tape *tape, const struct tape_piece *piece)
{
	for (uint32_t i = 0; i < tape->item_count; i++) {
		const struct tape_item *item =
			&tape->items[(tape->item_first + i) % tape->item_places];
		const struct tape_block *block =
			item->block == RING_NONE ? NULL : &tape->blocks[item->block];

		for (unsigned k = 0; block && k < block->count; k++)
			if (block->stretches[k]->piece == piece)
				return block->stretches[k];
	}
	return NULL;
}

/* The bytes of @other in the place of those that were read. Return: 0; -EBADMSG its checksum is wrong; -errno. */
static int read_other(struct tape_stretch *first, const struct recording_piece *other,
		      XXH3_state_t *hash)
{
	if (other->fd < 0)
		return other->fd;
	if (hash)
		XXH3_64bits_reset(hash);
	for (struct tape_stretch *stretch = first; stretch; stretch = stretch->next) {
		int ret = read_whole_at(other->fd, stretch->data, stretch->bytes,
					other->file_offset + stretch->offset);

		if (ret < 0)
			return ret;
		if (hash)
			XXH3_64bits_update(hash, stretch->data, stretch->bytes);
	}
	return hash && XXH3_64bits_digest(hash) != other->xxh3 ? -EBADMSG : 0;
}

static void say_wrong(struct tape *tape, const struct recording_piece *piece, int error)
{
	char words[PIECE_WORDS_LEN];

	feed_say(tape->feed, "%s",
		 error == -EBADMSG ? piece_say_bad_sum(words, piece) :
				     piece_say_unreadable(words, piece, error));
}

/* Another copy, or what the parity makes. Return: 0 it is there; -ENOENT there is none that is good; -ENOMEM. */
static int replace(struct tape *tape, struct tape_piece *piece, struct tape_stretch *first)
{
	struct recording *recording = tape->config.recording;
	struct recording_piece other = piece->piece;
	char words[PIECE_WORDS_LEN];
	XXH3_state_t *hash;
	bool is_rebuilt;
	int ret;

	if (!recording)
		return -ENOENT;
	for (;;) {
		ret = piece_replace(recording, &other, &is_rebuilt);
		if (ret == -ENOMEM || ret == -ENOENT)
			return ret;
		if (ret < 0) {
			feed_say(tape->feed, "%s", piece_say_not_made(words, recording, &other));
			return -ENOENT;
		}
		hash = piece_has_own_sum(&other) ? piece->hash : NULL;
		if (!is_rebuilt && tape->config.is_verified && other.has_xxh3 && !hash)
			ret = recording_verify(&other);
		if (ret == 0)
			ret = read_other(first, &other, is_rebuilt ? NULL : hash);
		if (ret == 0)
			break;
		if (is_rebuilt) /* what was made can't be read: there is nothing behind it */
			return -ENOENT;
		say_wrong(tape, &other, ret);
	}
	feed_count(is_rebuilt ? &tape->feed->stats.rebuilt_bytes : &tape->feed->stats.copied_bytes,
		   piece->piece.bytes);
	if (!piece->piece.is_lost)
		feed_say(tape->feed, "%s",
			 is_rebuilt ? piece_say_rebuilt(words, &other) : piece_say_copy(words, &other));
	return 0;
}

static void give_up(struct tape *tape, struct tape_piece *piece, bool is_sum)
{
	struct feed_stats *stats = &tape->feed->stats;

	feed_count(is_sum ? &stats->bad_sum_count : &stats->unreadable_count, 1);
	feed_count(is_sum ? &stats->bad_sum_bytes : &stats->unreadable_bytes, piece->piece.bytes);
	piece->is_bad = piece->is_held;
	if (!piece->is_held)
		feed_say(tape->feed, "%s/%s: the ring is too small to keep that back%s: --ring",
			 piece->piece.target, piece->piece.file,
			 is_sum ? " until it is compared, and it was sent" :
				  " and to look for another copy");
}

/* The first thing that is wrong with it: -EBADMSG its checksum. */
static int find_error(const struct tape_stretch *first)
{
	for (const struct tape_stretch *stretch = first; stretch; stretch = stretch->next)
		if (stretch->error)
			return stretch->error;
	return -EBADMSG;
}

/* Return: 0; -ENOMEM. */
static int mend(struct tape *tape, struct tape_piece *piece)
{
	struct tape_stretch *first = first_stretch(tape, piece);
	int error = find_error(first), ret = -ENOENT;

	if (!piece->piece.is_lost)
		say_wrong(tape, &piece->piece, error);
	if (piece->is_held)
		ret = replace(tape, piece, first);
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0) {
		give_up(tape, piece, error == -EBADMSG);
		return 0;
	}
	for (struct tape_stretch *stretch = first; stretch; stretch = stretch->next)
		stretch->error = 0;
	return 0;
}

int tape_settle(struct tape *tape)
{
	while (tape->unsettled && take_read(tape, tape->unsettled)) {
		struct tape_piece *piece = tape->unsettled;
		bool is_right = !piece->hash || piece->is_wrong ||
				XXH3_64bits_digest(piece->hash) == piece->piece.xxh3;
		int ret = piece->is_wrong || !is_right ? mend(tape, piece) : 0;

		if (ret < 0)
			return ret;
		piece->is_settled = true;
		tape->unsettled = piece->next;
		if (piece->given_bytes == piece->piece.bytes)
			tape_drop_piece(tape);
	}
	return 0;
}
