/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tape_parts.h - what the files behind tape_feed.h share; not for others
 *
 *   tape_source.c   the pieces of the stream, of a recording or of files, and descriptors for them
 *   tape_plan.c     which stretches of which pieces go into which block, and who reads them
 *   tape_mend.c     checksums; and what is wrong, from another copy or from parity
 *   tape_feed.c     the thread: plans ahead, and gives the player what is through, in order
 *
 * Threads: all of it is the feed's thread's, but for what disk_reader.h says.
 */
#ifndef VSIB_TOOLS_REPLAY_TAPE_PARTS_H
#define VSIB_TOOLS_REPLAY_TAPE_PARTS_H

#include <xxhash.h>

#include "tools/gap_fill.h"
#include "tools/replay/disk_reader.h"
#include "tools/replay/tape_feed.h"

#define TAPE_FILES_MAX 256 /* open at a time */

/* A file that is read from. */
struct tape_file {
	dev_t device;
	ino_t inode;
	int fd;             /* buffered; -1 = this place is free */
	int direct_fd;      /* -1: O_DIRECT can't be */
	uint32_t align;     /* of direct reads */
	unsigned use_count; /* pieces that are planned and not through */
	uint64_t last_use;
};

/* A piece of the stream that is planned, until its last byte has been given to the player. */
struct tape_piece {
	struct tape_piece *next;
	struct recording_piece piece; /* as recording_next() gave it; its texts live as long as the recording */
	struct tape_file *file; /* NULL: it can't be read */
	uint64_t base; /* stream offset of the player - that of the piece: more with each loop */
	uint64_t planned_bytes, read_bytes, given_bytes; /* of it, from its begin on */
	struct tape_stretch *last;                       /* of its stretches */
	struct tape_stretch *next_read; /* the first that is not known to be through; NULL = all that are planned are */
	XXH3_state_t *hash; /* of what is through; NULL: not compared here */
	bool is_held;       /* nothing of it is given before it is settled */
	bool is_wrong; /* something of it could not be read, or was found to be wrong beforehand */
	bool is_settled; /* all was read, compared, and mended where that could be */
	bool is_bad;     /* settled, and is not to be given: a gap */
};

/* What of a piece lies in a block. */
struct tape_stretch {
	struct tape_piece *piece;
	struct tape_stretch *next; /* of the piece */
	uint32_t block;
	char *data;
	size_t bytes;
	uint64_t offset;        /* in the piece */
	unsigned reader, index; /* which of the shares of its block, and which stretch there */
	int error;              /* taken from there when it is through */
	bool is_through;
};

/* What stands behind a block of the ring that is being read. */
struct tape_block {
	struct tape_stretch **stretches; /* in the order of the stream */
	unsigned count, room;
	size_t used; /* of the block, from its begin on */
	struct {
		struct disk_share share;
		struct disk_stretch *stretches;
		unsigned room;
	} * shares; /* one for each reader */
	_Atomic unsigned left;
	bool is_open; /* more may be put into it */
};

/* In the order of the stream: a block, or a gap of the recording. */
struct tape_item {
	uint32_t block;                    /* RING_NONE: a gap */
	uint64_t stream_offset, gap_bytes; /* the player's offset */
	uint64_t base;                     /* of its round */
	enum recording_cause cause;
	bool is_anew;
};

struct tape {
	struct tape_feed_config config;
	struct feed *feed;
	struct ring *ring;
	size_t block_bytes;

	/* tape_source.c */
	uint64_t *file_ends;    /* of files */
	uint64_t source_offset; /* of the next piece, in the recording's own stream */
	uint64_t base;          /* of this round */
	uint64_t round_bytes;   /* given in this round */
	uint64_t loop;
	struct tape_file files[TAPE_FILES_MAX];
	uint64_t use_count;

	/* tape_plan.c */
	struct disk_reader *readers[FEED_DISKS_MAX];
	dev_t devices[FEED_DISKS_MAX];
	unsigned reader_count;
	struct tape_block *blocks; /* of the ring */
	struct tape_item *items;   /* ring of item_places */
	uint32_t item_places, item_first, item_count;
	struct tape_piece *pieces, *last_piece; /* not given as a whole, oldest first */
	struct tape_piece *unsettled; /* the oldest of these that isn't settled; NULL = none */
	struct tape_piece *current;   /* is being planned */
	bool is_current_anew; /* nothing of it is planned yet, and it begins the stream again */
	struct recording_piece next; /* has_next: the one behind it */
	bool has_next, is_next_anew;
	uint32_t open_block; /* small pieces are put into it; RING_NONE */
	bool has_ended;      /* nothing more is to be planned */

	/* tape_feed.c */
	struct gap_fill fill;
	/* not given yet: what follows it may belong to it */
	struct {
		uint64_t stream_offset, bytes; /* 0 = there is none */
		uint64_t base;
		enum recording_cause cause;
	} gap;
};

/* ---- tape_source.c ---- */

/**
 * tape_next() - the next piece, of this round or the next
 * Return: 1; 0 there is none any more; -errno, and feed->error says it.
 */
int tape_next(struct tape *tape, struct recording_piece *piece, bool *is_anew);

/** tape_open() - descriptors for a piece; NULL: too many are open, or it can't be opened (*error) */
struct tape_file *tape_open(struct tape *tape, const struct recording_piece *piece, int *error);

/** tape_done() - a piece is through with its file */
void tape_done(struct tape_file *file);

void tape_close_files(struct tape *tape);

/* ---- tape_plan.c ---- */

/** tape_plan() - as far ahead as there is room. Return: 0; -errno, and feed->error says it. */
int tape_plan(struct tape *tape);

/** tape_block_is_through() - all of it was read, or tried. Acquires what the readers have put there. */
bool tape_block_is_through(struct tape_block *block);

/** tape_clear_block() - the ring's block is another's now */
void tape_clear_block(struct tape_block *block);

/** tape_drop_piece() - the oldest one has been given as a whole */
void tape_drop_piece(struct tape *tape);

/** tape_free_plan() - ends the readers first: waits for what they have in flight */
void tape_free_plan(struct tape *tape);

/* ---- tape_mend.c ---- */

/** tape_settle() - what is read of the oldest pieces is compared, and mended where it is wrong. Return: 0; -ENOMEM. */
int tape_settle(struct tape *tape);

/** tape_is_good() - may it be given to the player? Of one that is through. */
bool tape_is_good(const struct tape_stretch *stretch);

#endif
