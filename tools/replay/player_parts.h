/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * player_parts.h - what the sources of the player share; not for others
 *
 *   player.c       thread, start, end, account
 *   player_cut.c   blocks into units, which wait in a row
 *   player_pace.c  when the next ones may go out; sleeping; underruns
 *   player_send.c  out with them
 *
 * Threads: the player's alone, but the atomic ones and bell.
 */
#ifndef VSIB_TOOLS_REPLAY_PLAYER_PARTS_H
#define VSIB_TOOLS_REPLAY_PLAYER_PARTS_H

#include "ringbuf/bell.h"
#include "tools/replay/disturbance.h"
#include "tools/replay/player.h"

#define PLAYER_SLICE_NS INT64_C(40000000) /* longest wait without a look at is_stopping */
#define PLAYER_LATE_NS INT64_C(1000000)
/* A unit that is cut may be doubled, and those that were held for it may follow. */
#define PLAYER_ROW (DESTINATION_BATCH + 2 + DISTURBANCE_DISTANCE_MAX)

/* Beside each unit of the row. */
struct player_piece {
	uint64_t stream_offset;
	int64_t due_ns;   /* behind the start; SCHEDULE_NOW */
	uint32_t block;   /* to be given back when it is out; RING_NONE */
	bool is_carried;  /* lies in carry */
	bool is_double;   /* of the unit before: its bytes have been counted */
	void *copy;       /* where it lies, to be freed; NULL = elsewhere */
	uint64_t release; /* a held one goes behind the unit of this number */
};

struct player_state {
	pthread_t thread;
	_Atomic bool is_started; /* thread is there */
	_Atomic bool is_stopping;
	_Atomic bool is_starting;  /* in destination_start() */
	_Atomic bool is_finishing; /* what waits now waits for the device: it is not to be woken */
	struct bell bell;          /* rings when the player has ended */

	/* blocks that were claimed ahead, while the ring was filled */
	uint32_t *waiting;
	uint32_t waiting_at, waiting_count;
	/* the block that is being cut */
	uint32_t block; /* RING_NONE */
	struct play_label label;
	unsigned char *data;
	size_t at, end;     /* what is left of it */
	uint64_t offset;    /* in the stream, of what is at @at */
	bool is_in_row;     /* a unit of the row lies in it ... */
	uint64_t row_place; /* ... this is the last one */
	bool is_at_end;     /* nothing more is to be cut */

	/* frames of a stream */
	bool has_phase;
	uint64_t phase;        /* where one of them begins */
	uint64_t frame_offset; /* of the next one, or of what is in carry */
	unsigned char *carry;  /* one that lies in several blocks */
	size_t carry_bytes;    /* that are there */
	bool is_carry_in_row;  /* not to be touched until that is out */
	uint64_t number;       /* of the next unit */

	/* cut, and not out: in their order */
	struct destination_unit units[PLAYER_ROW];
	struct player_piece pieces[PLAYER_ROW];
	unsigned count;
	uint64_t row_begin; /* place of the first one, of all that ever were in the row */
	size_t first_sent;  /* bytes of the first one that are out already */
	struct destination_unit held[DISTURBANCE_DISTANCE_MAX]; /* behind later ones */
	struct player_piece held_pieces[DISTURBANCE_DISTANCE_MAX];
	unsigned held_count;

	/* pace */
	bool is_paced, is_running;
	bool may_spin;
	int64_t start_ns; /* what dues are added to */
	int64_t last_ns;  /* when a unit went out */
	int64_t last_due_ns;
	unsigned run;     /* went out since there was time to sleep */
	bool is_catching; /* at twice the rate, from this moment and this due on: */
	int64_t catch_ns, catch_due_ns;
	int64_t empty_ns;      /* since when the ring was found empty; 0 = it is not */
	bool is_behind;        /* since this underrun nothing was in time */
	uint64_t underrun;     /* which one */
	int64_t told_ns;       /* when an underrun was told last */
	uint64_t told_starved; /* starved_count of the destination that is known */

	/* patience */
	int64_t refused_ns, pause_ns; /* since when it takes nothing; 0 = it does */
	uint64_t refused_down;        /* its down_count then */

	/* account, in bytes: given = sent - doubled + lost + rest + unsent */
	uint64_t given_bytes, doubled_bytes, lost_bytes;
};

static inline bool player_is_stopping(const struct player *player)
{
	/* relaxed: nothing travels with the flag, and every wait ends soon */
	return atomic_load_explicit(&player->state->is_stopping, memory_order_relaxed);
}

/* ---- player.c ---- */

/** player_fail() - keep the sentence. Return: @ret. */
int player_fail(struct player *player, int ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** player_say(), player_say_notes() - a sentence; what the destination's last call noted */
void player_say(struct player *player, const char *format, ...) __attribute__((format(printf, 2, 3)));
void player_say_notes(struct player *player);

/* ---- player_cut.c ---- */

enum player_cut {
	PLAYER_CUT,       /* there may be more in the row */
	PLAYER_CUT_EMPTY, /* nothing is in the ring now */
	PLAYER_CUT_FULL,  /* something of the row must go out first */
	PLAYER_CUT_END,   /* all is in the row that ever will be */
};

/** player_cut() - the next unit into the row. Return: enum player_cut; -EINVAL: it can't be cut. */
int player_cut(struct player *player);

/** player_drop_row() - the first @count are out: their blocks go round */
void player_drop_row(struct player *player, unsigned count);

/** player_count_unsent() - what was given and has not gone out; its blocks stay with the player, and no more come */
void player_count_unsent(struct player *player);

/* ---- player_pace.c ---- */

/** player_begin_pace() - in its thread: timers, CPUs */
void player_begin_pace(struct player *player);

/** player_ready() - how many of the row may go out at this moment */
unsigned player_ready(struct player *player, int64_t now);

/** player_wants_more() - must another unit be cut before anything can be said? */
bool player_wants_more(const struct player *player, int64_t now);

/** player_sleep() - until the first of the row may go, with those that go with it, or a slice is over */
void player_sleep(struct player *player);

/** player_wait_block() - until something comes into the ring, or a slice is over */
void player_wait_block(struct player *player);

/** player_note_filled() - the first of the row is there: has it been missed? */
void player_note_filled(struct player *player, int64_t now);

/** player_note_device() - was the device found empty? */
void player_note_device(struct player *player, int64_t now);

/** player_note_sent() - the first @count of the row went out at this moment */
void player_note_sent(struct player *player, unsigned count, int64_t now);

/* ---- player_send.c ---- */

/** player_send() - the first @count of the row, of which it may take fewer. Return: 0; -EINTR; -errno. */
int player_send(struct player *player, unsigned count, int64_t now);

#endif
