/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * player.h - takes blocks from the ring, cuts them into units, and lets each go out when it is due
 *
 *   player_create() -> player_start() -> ... player_stop() -> player_wait() -> look at player->stats -> player_free()
 *
 * Account: all bytes of BLOCK_BYTES and BLOCK_PACKETS are sent_bytes + rest_bytes + unsent_bytes, but for those that a
 *          disturbance loses or doubles.
 * Shape:   one thread. Units are cut where they lie: a stream into writes of @lump_bytes, or into datagrams of
 *          @frame_bytes, each whole and with a number that counts what is in gaps, too; or they are the packets of
 *          BLOCK_PACKETS. Only a unit that crosses from one block into the next is copied.
 * Pace:    a unit is due at the start + schedule_due(), whatever became of those before it: no drift. It sleeps until
 *          then, and with is_precise spins for the last PLAYER_SPIN_NS, if the process may use more than one CPU. Who
 *          is late sends what is due at once, but of datagrams and packets no more than @burst back to back; then it
 *          goes on at twice the rate until it has caught up. Each such catching-up is counted. A wake-up may cost more
 *          than all the rest: with grain_ns there are fewer of them, and none of a unit before its time.
 * Underrun: a unit is due and the ring is empty, or the device was found empty. As long as it has not caught up again it
 *          is one, however often the ring is empty. The first PLAYER_UNDERRUNS_MAX are kept with time, place, length
 *          and cause, all are counted.
 * Errors:  of the destination: what may pass is tried again for @patience_ns, then it ends (-ETIMEDOUT); all others
 *          end it at once. player->result and player->error say it.
 * Threads: the player's own; the counters are relaxed atomics that any thread reads. player_stop() by any.
 */
#ifndef VSIB_TOOLS_REPLAY_PLAYER_H
#define VSIB_TOOLS_REPLAY_PLAYER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "drivers/destination.h"
#include "ringbuf/ring.h"
#include "tools/replay/play_block.h"
#include "tools/replay/schedule.h"
#include "tools/replay/spread.h"

#define PLAYER_SPIN_NS INT64_C(50000)
#define PLAYER_UNDERRUNS_MAX 1000
#define PLAYER_ERROR_LEN 1024
#define PLAYER_BURST 32

enum player_gaps {
	PLAYER_GAPS_TIME, /* nothing is sent for as long as they last; numbers count them */
	PLAYER_GAPS_SKIP, /* closed up: no time, no numbers */
};

struct disturbance; /* disturbance.h: faults on demand */

struct player_config {
	struct ring *ring;
	struct destination *destination; /* opened, not started */
	struct schedule *schedule;
	enum player_gaps gaps;
	size_t lump_bytes; /* of a stream: at most so many in a write, and, paced, at a time */
	size_t frame_bytes; /* of a datagram, cut from a stream; not 0 if the destination takes units and BLOCK_BYTES come */
	unsigned burst; /* > 0 */
	bool is_precise;
	int64_t grain_ns; /* of units: those due so shortly behind one go out together, when the last of them is due; 0 = each by itself */
	int64_t patience_ns;
	int64_t start_utc_ns; /* the first unit is to go out then; 0 = at once */
	int64_t duration_ns;  /* no unit that is due later than this behind the start; 0 = all */
	struct disturbance *disturbance; /* between cutting and sending; NULL = none */
	void (*say)(void *context, const char *sentence); /* at once, from the player's thread; NULL is fine */
	void *context;
};

enum player_starved {
	PLAYER_STARVED_RING,   /* the feed was too slow */
	PLAYER_STARVED_DEVICE, /* the device was found empty */
};

struct player_underrun {
	int64_t utc_ns;
	uint64_t stream_offset;
	int64_t length_ns;
	enum player_starved cause;
};

struct player_stats {
	_Atomic int64_t armed_ns, started_ns,
		ended_ns;               /* CLOCK_MONOTONIC; 0 = not yet. ended: finish included */
	_Atomic int64_t start_utc_ns;   /* of started_ns */
	_Atomic int64_t finish_ns;      /* how long destination_finish() took */
	_Atomic uint64_t stream_offset; /* behind what was sent last, or passed over */
	_Atomic uint64_t sent_bytes, sent_count;
	_Atomic uint64_t gap_bytes, gap_count; /* passed over */
	_Atomic uint64_t rest_bytes; /* at the end, or in front of a gap, of less than a frame: not sent */
	_Atomic uint64_t unsent_bytes; /* in the ring when it was broken off */
	_Atomic uint64_t underrun_count;
	_Atomic int64_t underrun_ns;
	_Atomic uint64_t late_count;    /* units sent more than 1 ms behind their time */
	_Atomic uint64_t burst_count;   /* times that a burst reached its limit */
	_Atomic uint64_t burst_longest; /* units sent back to back because they were late */
	_Atomic int64_t error_sum_ns; /* of all paced units, when they went out - when they were due */
	_Atomic int64_t error_max_ns;
	struct spread error;   /* spread.h: schedule errors */
	struct spread spacing; /* from unit to unit */
};

struct player {
	struct player_config config;
	struct player_stats stats;
	struct player_underrun underruns[PLAYER_UNDERRUNS_MAX]; /* whole when the player has ended */
	char error[PLAYER_ERROR_LEN];
	int result;      /* when it has ended: 0 all was played; -EINTR player_stop(); -errno */
	int feed_result; /* BLOCK_END's */
	_Atomic bool is_ended;
	/* more, the player's own */
	struct player_state *state;
};

/** player_create() - Return: 0; -ENOMEM; -EINVAL: destination and configuration don't fit. */
int player_create(struct player **out, const struct player_config *config);

/** player_start() - its thread: waits for the ring to be filled (or the feed to end), then plays. Return: 0; -errno. */
int player_start(struct player *player);

/** player_stop() - no further unit; what the device has goes out. Any thread, idempotent, async-signal-safe. */
void player_stop(struct player *player);

/** player_wait() - for its end. Return: true; false: not until the deadline. */
bool player_wait(struct player *player, int64_t deadline_ns);

/**
 * player_drain() - what is left in the ring is counted as unsent; its blocks stay with the player
 *
 * When the player and the feed have ended: nobody puts or claims any more. Thread: any.
 */
void player_drain(struct player *player);

/** player_free() - stops it and waits for its thread; NULL is fine */
void player_free(struct player *player);

/** player_starved_name() - "ring", "device" */
const char *player_starved_name(enum player_starved cause);

#endif
