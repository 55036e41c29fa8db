/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * player_parts.h - what player.c and player_cut.c share; not for others
 *
 *   player_cut.c   blocks of the ring into units that lie in a row, each with its moment
 *   player.c       the thread: waits for moments, sends, counts
 *
 * Threads: the player's alone, but for is_stopped and ended.
 */
#ifndef VSIB_TOOLS_REPLAY_PLAYER_PARTS_H
#define VSIB_TOOLS_REPLAY_PLAYER_PARTS_H

#include "ringbuf/bell.h"
#include "tools/replay/disturbance.h"
#include "tools/replay/player.h"

/* A batch, all that a disturbance holds back, and their doubles. */
#define CUT_MAX (2 * (DESTINATION_BATCH + DISTURBANCE_DISTANCE_MAX + 1))

/* A unit that waits for its moment. */
struct cut_unit {
	struct destination_unit unit;
	uint64_t stream_offset, stream_end; /* from its first byte to behind its last */
	int64_t due_ns;                     /* since the start; SCHEDULE_NOW */
	uint32_t done_block; /* goes back to the feed when it is out; RING_NONE = another unit's concern */
	void *copy;          /* where its bytes lie if not in a block: freed when it is out */
};

/* A unit that a disturbance holds back. */
struct cut_held {
	struct cut_unit unit;
	unsigned behind; /* to go out behind so many others */
};

struct player_state {
	struct player *player;
	pthread_t thread;
	bool is_started;
	_Atomic bool is_stopped;  /* by player_stop() */
	_Atomic bool is_starting; /* in destination_start(), which waits for others */
	struct bell ended;

	/* blocks that were claimed, in their order */
	uint32_t *blocks;
	uint32_t block_first, block_count; /* of ring_block_count() places, used round and round */
	size_t block_at;                   /* consumed of the first one */
	bool is_begun;                     /* the first one's label was looked at */
	bool has_end;                      /* BLOCK_END was claimed */

	/* cutting */
	uint64_t first_offset; /* of the stream that is played */
	bool has_first;
	uint64_t next_offset; /* of the stream, behind what was cut */
	uint64_t number;      /* of the next datagram or packet */
	unsigned char *carry; /* a frame of several blocks: frame_bytes */
	size_t carry_used;
	uint64_t unit_number;  /* for the disturbance */
	bool is_over;          /* the duration is: nothing more is cut */
	struct cut_held *held; /* DISTURBANCE_DISTANCE_MAX + 1 of them */
	unsigned held_count;

	/* units that wait, in the order in which they go out */
	struct cut_unit units[CUT_MAX];
	unsigned unit_first, unit_count;

	/* sending */
	int64_t start_ns;
	int64_t sent_ns;       /* when the last call began */
	int64_t not_before_ns; /* a burst has reached its limit */
	unsigned burst;        /* units sent since something was waited for */
	int64_t burst_due_ns;  /* of the first of them */
	int64_t empty_since_ns; /* the ring is empty, and there is nothing to send; 0 = it isn't so */
	uint64_t starved_count; /* of the device, as it was seen last */
	int64_t said_ns;        /* an underrun was said then */
	uint64_t unsaid_count;  /* that have not been since */
};

/** player_count() - so many more, in a counter of player->stats */
static inline void player_count(_Atomic uint64_t *counter, uint64_t more)
{
	/* one writer: no read-modify-write is needed, and nothing travels with it */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

static inline bool player_is_stopped(const struct player_state *state)
{
	/* relaxed: nothing travels with the flag; who sleeps is woken after it */
	return atomic_load_explicit(&state->is_stopped, memory_order_relaxed);
}

/** player_cut_create() - Return: 0; -ENOMEM; player_cut_free() in every case */
int player_cut_create(struct player_state *state);
void player_cut_free(struct player_state *state);

/** player_claim() - takes all blocks that are there. Return: are there any that are not cut yet? */
bool player_claim(struct player_state *state);

/**
 * player_cut() - units from what was claimed, when few wait; never blocks
 *
 * Gaps are passed over on the way. Return: how many wait now.
 */
unsigned player_cut(struct player_state *state);

/** player_cut_is_done() - the stream is over, and nothing waits */
bool player_cut_is_done(const struct player_state *state);

/** player_unit_done() - the first unit has gone out, or never will */
void player_unit_done(struct player_state *state);

/** player_leave() - all that waits or was claimed is not sent any more: counted, and the blocks go back */
void player_leave(struct player_state *state);

#endif
