/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vsi_board.h - a VSIB board in use: what recording from one and playing to one have in common
 *
 *   vsi_board_take_detail() ... -> vsi_board_set_rate() -> vsi_board_open() -> vsi_board_find_ring() -> vsi_board_start() ->
 *   vsi_board_stop() -> vsi_board_close()
 *
 * All times are those of the board's own clocks, board->ops: the machine's, or a stand-in's.
 * Threads: one at a time.
 * Errors:  -errno, and the sentence in board->voice.
 */
#ifndef VSIB_DRIVERS_VSI_BOARD_H
#define VSIB_DRIVERS_VSI_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "drivers/board.h"
#include "drivers/device_name.h"

#define VSI_BOARD_KEYS "mode skip clock embed giga bigbuf"

struct vsi_board {
	const struct board_ops *ops;
	void *handle; /* of ops->open or ops->adopt; NULL = not open */
	struct device_voice voice;
	const _Atomic bool *is_interrupted;
	bool is_playback;
	bool is_running;             /* RUN has been set, and not yet taken back */
	int64_t wanted_start_utc_ns; /* 0 = the next full second */

	/* the command word's parts, and the rate: clocked_bps / divisor exactly; 0 = unknown */
	uint64_t mode, skip, embed, giga;
	uint64_t clock_hz;
	uint64_t clocked_bps, divisor;

	uint64_t ring_bytes; /* the driver's; before vsi_board_find_ring() as the user gave it */
};

/** vsi_board_take_detail() - one of VSI_BOARD_KEYS. Return: 0; -EINVAL; -ERANGE. */
int vsi_board_take_detail(struct vsi_board *board, const char *key, const char *value);

/** vsi_board_set_rate() - from mode and clock when both are known, else as given, 0 = not. Return: 0; -EINVAL; -ERANGE. */
int vsi_board_set_rate(struct vsi_board *board, uint64_t given_bps);

/** vsi_board_rate() - in bit/s, rounded; 0 = not known */
uint64_t vsi_board_rate(const struct vsi_board *board);

/** vsi_board_bytes_in() - so many in @ns; 0 when the rate isn't known */
uint64_t vsi_board_bytes_in(const struct vsi_board *board, int64_t ns);

/** vsi_board_time_of() - that @bytes take; 0 when the rate isn't known */
int64_t vsi_board_time_of(const struct vsi_board *board, uint64_t bytes);

/**
 * vsi_board_open() - for recording, or with is_playback for playing; and stop it
 * @path: "-": descriptor 0, or 1
 *
 * Return: 0; -ENOTTY: it is no VSIB board; -EBADF: the descriptor is open for the other direction; -ENOENT, -EACCES ...
 */
int vsi_board_open(struct vsi_board *board, const char *path);

/** vsi_board_close() - stops it: an adopted descriptor stays open behind us, so closing alone wouldn't. Not open is fine. */
void vsi_board_close(struct vsi_board *board);

/** vsi_board_device() - of what vsi_board_open() opens by @path: st_rdev, which leads to its NUMA node; 0 = none */
dev_t vsi_board_device(const struct vsi_board *board, const char *path);

/** vsi_board_find_ring() - how large is the driver's ring? What is not as the user thinks is noted. */
void vsi_board_find_ring(struct vsi_board *board);

/* When the first sample comes, or goes. */
struct vsi_board_begin {
	int64_t utc_ns;       /* the full second */
	int64_t monotonic_ns; /* the same by the other clock */
};

/**
 * vsi_board_start() - RUN, at the right moment in front of the second
 * @deadline_ns: waits no longer for that moment; it can be called again
 *
 * Playing, what is in the ring already is what goes out first.
 * Return: 0; -EAGAIN: not until the deadline; -EINTR: interrupted; what the board said.
 */
int vsi_board_start(struct vsi_board *board, int64_t deadline_ns, struct vsi_board_begin *begin);

/** vsi_board_is_start_near() - would vsi_board_start() set RUN at once, because of the wanted start? */
bool vsi_board_is_start_near(const struct vsi_board *board);

/** vsi_board_stop() - let the DMA end with the descriptor it is in, and stop the board */
void vsi_board_stop(struct vsi_board *board);

static inline int64_t vsi_board_now(const struct vsi_board *board)
{
	return board->ops->monotonic_ns(board->handle);
}

static inline int vsi_board_control(const struct vsi_board *board, enum board_request request,
				    unsigned long value)
{
	return board->ops->control(board->handle, request, value, NULL);
}

/** vsi_board_ask() - @result is 0 where the driver didn't answer */
int vsi_board_ask(const struct vsi_board *board, enum board_request request, unsigned long *result);

#endif
