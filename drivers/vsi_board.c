/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/vsi_board.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/units.h"

#define USUAL_RING_BYTES UINT64_C(144000000)
#define RING_BYTES_MAX UINT64_C(0x7fffffff) /* the driver's own parameter is an int */
#define MS INT64_C(1000000)
#define SECOND UNITS_NS_PER_S

/* When RUN may be set, before the full second at which the samples are to begin. */
#define RUN_EARLIEST_NS (700 * MS)
#define RUN_WANTED_NS (500 * MS) /* with a start time there is no hurry: the middle */
#define RUN_LATEST_NS (200 * MS)
#define RUN_TOO_LATE_NS (100 * MS) /* RUN took so long that the second is in doubt */

#define WAIT_SLICE_NS (40 * MS)
#define STOP_TURN_NS (10 * MS)
#define STOP_LIMIT_NS (2500 * MS)

/* RESET_DMA: */
#define RESET_ALL 0
#define RESET_KEEPS_RING 1

int vsi_board_ask(const struct vsi_board *board, enum board_request request, unsigned long *result)
{
	*result = 0;
	return board->ops->control(board->handle, request, 0, result);
}

/* ---- details --------------------------------------------------------------------------------- */

int vsi_board_take_detail(struct vsi_board *board, const char *key, const char *value)
{
	const struct {
		const char *key;
		uint64_t *number;
		uint64_t max;
	} numbers[] = {
		{ "mode", &board->mode, BOARD_MODE_MAX },
		{ "skip", &board->skip, BOARD_SKIP_MAX },
		{ "embed", &board->embed, 1 },
		{ "giga", &board->giga, 1 },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(key, numbers[i].key))
			return device_detail_count(&board->voice, key, value, numbers[i].number,
						   numbers[i].max);
	if (!strcmp(key, "bigbuf"))
		return device_detail_bytes(&board->voice, key, value, &board->ring_bytes);
	if (device_detail_frequency(&board->voice, key, value, &board->clock_hz))
		return -EINVAL;
	if (board->clock_hz < 1000) /* no VSI clock is that slow; "clock=32" was meant as MHz */
		return device_fail(&board->voice, EINVAL,
				   "clock=%s is in Hz; did you mean clock=%sM?", value, value);
	return 0;
}

/* ---- the rate -------------------------------------------------------------------------------- */

int vsi_board_set_rate(struct vsi_board *board, uint64_t given_bps)
{
	unsigned bits = board_mode_bits((unsigned)board->mode);
	uint64_t by_clock;

	board->divisor = 1;
	board->clocked_bps = given_bps;
	if (board->clock_hz > UINT64_MAX / 32)
		return device_fail(&board->voice, ERANGE, "clock= is too large");
	if (!bits || !board->clock_hz)
		return 0;
	board->clocked_bps = bits * board->clock_hz;
	board->divisor = board->skip + 1;
	by_clock = board->clocked_bps / board->divisor;
	if (given_bps &&
	    (given_bps > by_clock + by_clock / 100 || given_bps < by_clock - by_clock / 100))
		return device_fail(
			&board->voice, EINVAL,
			"mode, clock and skip make %llu bit/s, -r says %llu; leave one out or correct it",
			(unsigned long long)by_clock, (unsigned long long)given_bps);
	return 0;
}

uint64_t vsi_board_rate(const struct vsi_board *board)
{
	return (board->clocked_bps + board->divisor / 2) / board->divisor;
}

uint64_t vsi_board_bytes_in(const struct vsi_board *board, int64_t ns)
{
	return board->clocked_bps ? units_bytes_at(board->clocked_bps, ns) / board->divisor : 0;
}

int64_t vsi_board_time_of(const struct vsi_board *board, uint64_t bytes)
{
	return board->clocked_bps ? units_time_for(bytes * board->divisor, board->clocked_bps) : 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int adopted(const struct vsi_board *board)
{
	return board->is_playback ? STDOUT_FILENO : STDIN_FILENO;
}

int vsi_board_open(struct vsi_board *board, const char *path)
{
	int flags = board->is_playback ? O_WRONLY : O_RDONLY;
	int ret;

	if (!strcmp(path, "-"))
		ret = board->ops->adopt(adopted(board), flags, &board->handle);
	else
		ret = board->ops->open(path, flags, &board->handle);
	/* STOP is harmless to a board, and what is no board doesn't know it */
	if (!ret)
		ret = vsi_board_control(board, BOARD_SET_MODE, 0);
	if (ret == -ENOTTY || (ret == -EINVAL && board->handle))
		return device_fail(
			&board->voice, ENOTTY,
			"this is no VSIB board (it doesn't know the board's requests); use dev: for other devices, file: for files");
	if (ret == -EBADF)
		return device_fail(
			&board->voice, EBADF,
			"the descriptor is not open for %s: record with < and play with >, not with <>",
			board->is_playback ? "writing alone" : "reading");
	if (ret)
		return device_fail(&board->voice, -ret, "cannot open the board: %s", strerror(-ret));
	return 0;
}

void vsi_board_close(struct vsi_board *board)
{
	if (!board->handle)
		return;
	if (board->is_running)
		vsi_board_control(board, BOARD_SET_MODE, 0);
	board->ops->close(board->handle);
}

dev_t vsi_board_device(const struct vsi_board *board, const char *path)
{
	struct stat status;
	int ret = strcmp(path, "-") ? stat(path, &status) : fstat(adopted(board), &status);

	return !ret && S_ISCHR(status.st_mode) ? status.st_rdev : 0;
}

void vsi_board_find_ring(struct vsi_board *board)
{
	uint64_t given = board->ring_bytes;
	unsigned long told;

	if (!vsi_board_ask(board, BOARD_GET_BIGBUF_SIZE, &told) && told && told <= RING_BYTES_MAX) {
		board->ring_bytes = told;
		if (given && given != told)
			device_note(&board->voice,
				    "bigbuf=%llu is not used: the driver says its ring has %lu bytes",
				    (unsigned long long)given, told);
	} else if (!given) {
		board->ring_bytes = USUAL_RING_BYTES;
		device_note(&board->voice,
			    "the driver doesn't tell its ring's size: taken for the usual %llu bytes (give bigbuf=)",
			    (unsigned long long)USUAL_RING_BYTES);
	}
}

/* ---- starting and stopping ------------------------------------------------------------------- */

/*
 * The board begins at the first 1PPS after RUN, and the 1PPS carries no date: RUN must come when it
 * is clear which second is next. Waits for that moment.
 */
static int wait_for_window(struct vsi_board *board, int64_t deadline_ns, int64_t *second_utc_ns)
{
	for (;;) {
		int64_t now = board->ops->realtime_ns(board->handle), left;
		int64_t wanted = board->wanted_start_utc_ns, second = wanted;

		if (wanted && now > wanted - RUN_LATEST_NS) {
			char text[UNITS_UTC_LEN];

			device_note(&board->voice,
				    "it is too late for a start at %s; starting at the next full second",
				    units_format_utc(text, wanted));
			board->wanted_start_utc_ns = 0;
			continue;
		}
		if (!wanted)
			second = (now + RUN_LATEST_NS + SECOND - 1) / SECOND * SECOND;
		left = second - now - (wanted ? RUN_WANTED_NS : RUN_EARLIEST_NS);
		*second_utc_ns = second;
		if (left <= 0)
			return 0;
		if (atomic_load_explicit(board->is_interrupted, memory_order_relaxed))
			return device_fail(&board->voice, EINTR, "interrupted before the start");
		now = vsi_board_now(board);
		if (now >= deadline_ns)
			return -EAGAIN;
		if (left > deadline_ns - now)
			left = deadline_ns - now;
		board->ops->wait(board->handle, left < WAIT_SLICE_NS ? left : WAIT_SLICE_NS);
	}
}

static void round_wanted_start(struct vsi_board *board)
{
	int64_t fraction = board->wanted_start_utc_ns % SECOND;

	if (fraction) {
		board->wanted_start_utc_ns += SECOND - fraction;
		device_note(&board->voice, "the board starts at full seconds: start time rounded up");
	}
}

static uint32_t command(const struct vsi_board *board)
{
	return (uint32_t)(board->mode << BOARD_MODE_SHIFT | board->skip) | BOARD_RUN |
	       (board->embed ? BOARD_EMBED_1PPS : 0) | (board->giga ? BOARD_GIGABIT : 0);
}

static int set_run(struct vsi_board *board)
{
	int ret = 0;

	/* since it was opened the DMA may have fetched what was in the ring then: let it begin anew */
	if (board->is_playback)
		ret = vsi_board_control(board, BOARD_RESET_DMA, RESET_KEEPS_RING);
	if (!ret)
		ret = vsi_board_control(board, BOARD_SET_MODE, command(board));
	if (ret)
		return device_fail(&board->voice, -ret, "cannot start the board: %s", strerror(-ret));
	return 0;
}

int vsi_board_start(struct vsi_board *board, int64_t deadline_ns, struct vsi_board_begin *begin)
{
	int64_t left;
	int ret;

	round_wanted_start(board);
	for (;;) {
		ret = wait_for_window(board, deadline_ns, &begin->utc_ns);
		if (!ret)
			ret = set_run(board);
		if (ret)
			return ret;
		left = begin->utc_ns - board->ops->realtime_ns(board->handle);
		if (left >= RUN_TOO_LATE_NS)
			break;
		/*
		 * We were held up between looking and setting RUN: nobody knows now which
		 * second it will be.
		 */
		vsi_board_control(board, BOARD_SET_MODE, 0);
		if (!board->is_playback)
			vsi_board_control(board, BOARD_RESET_DMA, RESET_ALL);
	}
	board->is_running = true;
	begin->monotonic_ns = vsi_board_now(board) + left;
	return 0;
}

bool vsi_board_is_start_near(const struct vsi_board *board)
{
	return board->wanted_start_utc_ns &&
	       board->ops->realtime_ns(board->handle) >= board->wanted_start_utc_ns - RUN_WANTED_NS;
}

void vsi_board_stop(struct vsi_board *board)
{
	int64_t limit = vsi_board_now(board) + STOP_LIMIT_NS;
	unsigned long is_done = 0;
	int ret = vsi_board_control(board, BOARD_DELAYED_STOP_DMA, 0);

	while (!ret) {
		ret = vsi_board_ask(board, BOARD_IS_DMA_DONE, &is_done);
		if (ret || is_done || vsi_board_now(board) >= limit)
			break;
		board->ops->wait(board->handle, STOP_TURN_NS);
	}
	if (!ret && !is_done)
		device_note(&board->voice,
			    "the DMA didn't end within 2.5 s; has the VSI clock stopped?");
	vsi_board_control(board, BOARD_SET_MODE, 0);
	board->is_running = false;
}
