/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * to_vsib.c - the destination `vsib:`, the VSIB board as a player, under its historical kernel driver
 *
 *   vsib:/dev/vsib,mode=1,skip=2,clock=50M
 *   vsib:-             the board is descriptor 1
 *   vsib:fake[:...]    a stand-in, see board_fake.c
 *
 * The details are those of the source, see vsib.c; embed and giga go into the command word as they are.
 *
 * The driver's ring is filled first: until it takes no more, until all has been given, or until the wanted second
 * comes. Then the board is started, and sends from the next full second on at the rate of its clock. The DMA
 * doesn't know where the data end. A ring that was found empty is one from which something else went out, and what comes
 * behind it comes late: that is counted, with the least that was seen in the ring. At the end the ring is sent out before the
 * board is stopped.
 */
#include "drivers/to_vsib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/board.h"
#include "drivers/destination.h"
#include "drivers/fake.h"
#include "drivers/units.h"
#include "drivers/vsi_board.h"

#define MS INT64_C(1000000)
#define WAIT_MIN_NS (1 * MS)
#define WAIT_MAX_NS (20 * MS) /* so that an interruption is seen soon */

struct to_vsib {
	struct vsi_board board;
	bool has_fill; /* the driver tells the fill, and it makes sense */
	bool is_full;  /* the last write() before the start took nothing */
	bool is_empty; /* at the last look */
	bool is_over;  /* finished: nothing more is done */
	uint64_t written_bytes;
	uint64_t fill_bytes; /* at the last look, and what was written since ... */
	int64_t look_ns;     /* ... which was then */
	int64_t first_ns;    /* first sample, by the board's monotonic clock; once it is running */
};

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- opening --------------------------------------------------------------------------------- */

int to_vsib_open_board(struct destination *destination, const struct destination_config *config,
		       const struct board_ops *ops, const char *path)
{
	struct to_vsib *vsib = calloc(1, sizeof(*vsib));
	char buf[DESTINATION_DETAIL_LEN];
	struct destination_detail detail;
	const char *cursor = NULL;
	int ret = 0;

	if (!vsib)
		return destination_fail(destination, ENOMEM, "out of memory");
	destination->state = vsib;
	destination->takes = DESTINATION_BYTES;
	destination->is_paced_by_device = true;
	vsib->has_fill = true;
	vsib->board = (struct vsi_board){
		.ops = ops,
		.voice = destination_voice(destination),
		.is_interrupted = &destination->is_interrupted,
		.is_playback = true,
		.wanted_start_utc_ns = config->start_utc_ns,
	};
	while (!ret && destination_next_detail(destination, &cursor, buf, sizeof(buf), &detail))
		ret = vsi_board_take_detail(&vsib->board, detail.key, detail.value);
	if (!ret)
		ret = vsi_board_set_rate(&vsib->board, config->rate_bps);
	if (!ret)
		ret = vsi_board_open(&vsib->board, path);
	if (ret)
		return ret;
	vsi_board_find_ring(&vsib->board);
	destination_count(&destination->stats.device_ring_bytes, vsib->board.ring_bytes);
	if (ops == &board_kernel)
		destination->device = vsi_board_device(&vsib->board, path);
	return 0;
}

static int vsib_open(struct destination *destination, const struct destination_config *config)
{
	return to_vsib_open_board(destination, config,
				  fake_is_meant(destination->path) ? &board_fake : &board_kernel,
				  destination->path);
}

static void vsib_close(struct destination *destination)
{
	struct to_vsib *vsib = destination->state;

	vsi_board_close(&vsib->board);
	free(vsib);
}

/* ---- the driver's ring ----------------------------------------------------------------------- */

static void distrust_fill(struct destination *destination, struct to_vsib *vsib, int ret,
			  unsigned long told)
{
	vsib->has_fill = false;
	if (ret)
		destination_note(
			destination,
			"the driver doesn't tell its ring's fill (%s): a ring that runs empty cannot be found out",
			strerror(-ret));
	else
		destination_note(
			destination,
			"%lu bytes in a ring of %llu: its size is wrong (give bigbuf=); a ring that runs empty cannot be found out",
			told, (unsigned long long)vsib->board.ring_bytes);
}

static void tell_fill(struct destination *destination, uint64_t fill)
{
	/* relaxed: a figure for display */
	atomic_store_explicit(&destination->stats.device_fill_bytes, fill, memory_order_relaxed);
}

/*
 * The fill is told modulo the ring. Where it rises though nothing was written, or where about a ring less than
 * the clock makes has gone out since the last look, the DMA is past the end and sends the ring once more.
 */
static bool has_gone_round(const struct to_vsib *vsib, uint64_t told, int64_t now)
{
	const struct vsi_board *board = &vsib->board;
	int64_t since = vsib->look_ns > vsib->first_ns ? vsib->look_ns : vsib->first_ns;
	uint64_t due = vsi_board_bytes_in(board, now - since);

	return told > vsib->fill_bytes + board->ring_bytes / 8 ||
	       due + told > vsib->fill_bytes + board->ring_bytes / 4 * 3;
}

static void look_at_ring(struct destination *destination, struct to_vsib *vsib)
{
	unsigned long told = 0;
	int64_t now = vsi_board_now(&vsib->board);
	int ret;

	if (!vsib->has_fill)
		return;
	ret = vsi_board_ask(&vsib->board, BOARD_GET_BIGBUF_BYTES, &told);
	if (ret || told > vsib->board.ring_bytes) {
		distrust_fill(destination, vsib, ret, told);
		return;
	}
	vsib->is_empty = now >= vsib->first_ns && (!told || has_gone_round(vsib, told, now));
	vsib->fill_bytes = told;
	vsib->look_ns = now;
	tell_fill(destination, vsib->is_empty ? 0 : told);
}

/* While there is more to come. Once it has run empty, it is the same hole until something is written. */
static void watch_ring(struct destination *destination, struct to_vsib *vsib)
{
	_Atomic uint64_t *least = &destination->stats.device_fill_min_bytes;
	uint64_t fill;
	bool was_empty = vsib->is_empty;

	look_at_ring(destination, vsib);
	if (!vsib->has_fill || vsi_board_now(&vsib->board) < vsib->first_ns)
		return;
	if (vsib->is_empty && !was_empty)
		destination_count(&destination->stats.starved_count, 1);
	fill = vsib->is_empty ? 0 : vsib->fill_bytes;
	/* relaxed: a figure for display, written by this thread only */
	if (fill < atomic_load_explicit(least, memory_order_relaxed))
		atomic_store_explicit(least, fill, memory_order_relaxed);
}

/* One turn of a wait of @ns: not past the deadline, and short enough to see the ring going round. */
static void wait_a_turn(const struct to_vsib *vsib, int64_t ns, int64_t deadline_ns)
{
	const struct vsi_board *board = &vsib->board;

	ns = smaller(ns, WAIT_MAX_NS);
	if (board->clocked_bps)
		ns = smaller(ns, vsi_board_time_of(board, board->ring_bytes / 4));
	board->ops->wait(board->handle, smaller(ns, deadline_ns - vsi_board_now(board)));
}

/* ---- playing --------------------------------------------------------------------------------- */

static int start(struct to_vsib *vsib, int64_t deadline_ns)
{
	struct vsi_board_begin begin;
	int ret = vsi_board_start(&vsib->board, deadline_ns, &begin);

	if (ret == 0)
		vsib->first_ns = begin.monotonic_ns;
	return ret;
}

/*
 * Until there is room worth a turn: for all that is to be written, but for no more than a sixteenth of the ring, so that what is
 * left in it stays far from empty.
 */
static void wait_for_room(const struct to_vsib *vsib, size_t bytes, int64_t deadline_ns)
{
	const struct vsi_board *board = &vsib->board;
	int64_t now = vsi_board_now(board), ns;
	uint64_t room = board->ring_bytes / 16;

	ns = vsi_board_time_of(board, bytes < room ? bytes : room);
	if (ns < WAIT_MIN_NS)
		ns = WAIT_MIN_NS;
	if (now < vsib->first_ns)
		ns = vsib->first_ns - now;
	wait_a_turn(vsib, ns, deadline_ns);
}

static ssize_t vsib_write(struct destination *destination, const void *data, size_t bytes,
			  int64_t deadline_ns)
{
	struct to_vsib *vsib = destination->state;
	struct vsi_board *board = &vsib->board;

	for (;;) {
		ssize_t taken;

		if (!board->is_running && vsib->written_bytes &&
		    (vsib->is_full || vsi_board_is_start_near(board))) {
			int ret = start(vsib, deadline_ns);

			if (ret)
				return ret;
		}
		if (board->is_running)
			watch_ring(destination, vsib);
		taken = board->ops->write(board->handle, data, bytes);
		if (taken > 0) {
			vsib->written_bytes += (uint64_t)taken;
			vsib->fill_bytes += (uint64_t)taken;
			vsib->is_empty = false;
			tell_fill(destination, vsib->fill_bytes);
			return taken;
		}
		if (taken < -4095) /* no errno at all: destination_write() names it */
			return taken;
		if (taken < 0 && taken != -EINTR && taken != -EAGAIN)
			return destination_fail(destination, (int)-taken,
						"cannot write to the board: %s",
						strerror((int)-taken));
		if (destination_is_interrupted(destination) || vsi_board_now(board) >= deadline_ns)
			return 0;
		if (taken == -EINTR)
			continue;
		destination_count(&destination->stats.busy_count, 1);
		if (!board->is_running && vsib->written_bytes)
			vsib->is_full = true;
		else
			wait_for_room(vsib, bytes, deadline_ns);
	}
}

/* ---- the end --------------------------------------------------------------------------------- */

/* How long until the ring may be empty; 0 = it is. By the clock where the driver doesn't tell. */
static int64_t time_left(const struct to_vsib *vsib)
{
	const struct vsi_board *board = &vsib->board;
	int64_t now = vsi_board_now(board), ns;

	if (now < vsib->first_ns)
		return vsib->first_ns - now;
	if (vsib->has_fill)
		ns = vsib->is_empty ? 0 : vsi_board_time_of(board, vsib->fill_bytes) + WAIT_MIN_NS;
	else if (board->clocked_bps)
		ns = vsib->first_ns + vsi_board_time_of(board, vsib->written_bytes) - now;
	else
		ns = WAIT_MAX_NS;
	return ns > 0 ? ns : 0;
}

static int fail_drain(struct destination *destination, const struct to_vsib *vsib, int error,
		      const char *what)
{
	if (vsib->has_fill)
		return destination_fail(destination, error,
					"%s; %llu bytes were left in the board's ring", what,
					(unsigned long long)vsib->fill_bytes);
	return destination_fail(destination, error,
				"%s; how much was left in the board's ring isn't known%s", what,
				vsib->board.clocked_bps ? "" : ", nor is the rate (give clock=)");
}

static int drain(struct destination *destination, struct to_vsib *vsib, int64_t deadline_ns)
{
	for (;;) {
		int64_t left;

		look_at_ring(destination, vsib);
		left = time_left(vsib);
		if (left == 0)
			return 0;
		if (destination_is_interrupted(destination))
			return fail_drain(destination, vsib, EINTR, "interrupted");
		if (vsi_board_now(&vsib->board) >= deadline_ns)
			return fail_drain(
				destination, vsib, ETIMEDOUT,
				"its ring was not sent out in time (are 1PPS and VSI clock there?)");
		wait_a_turn(vsib, left, deadline_ns);
	}
}

static int vsib_finish(struct destination *destination, int64_t deadline_ns)
{
	struct to_vsib *vsib = destination->state;
	int ret = 0;

	if (vsib->is_over || !vsib->written_bytes)
		return 0;
	vsib->is_over = true;
	if (!vsib->board.is_running && destination_is_interrupted(destination))
		return destination_fail(destination, EINTR, "interrupted before the board was started");
	if (!vsib->board.is_running)
		ret = start(vsib, deadline_ns);
	if (ret == -EAGAIN)
		return destination_fail(destination, ETIMEDOUT,
					"its start second didn't come in time: nothing was sent");
	if (ret)
		return ret;
	ret = drain(destination, vsib, deadline_ns);
	vsi_board_stop(&vsib->board);
	return ret;
}

const struct destination_ops destination_vsib = {
	.prefix = "vsib:",
	.summary = "vsib:PATH[,mode=M,skip=N,clock=HZ,embed=1,...]  the VSIB board; - for PATH: descriptor 1",
	.keys = VSI_BOARD_KEYS,
	.takes_path = true,
	.open = vsib_open,
	.write = vsib_write,
	.finish = vsib_finish,
	.close = vsib_close,
};
