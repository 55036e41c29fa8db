/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board_fake.c - a stand-in for the VSIB board, for tests and for trials without hardware
 *
 * It does what the board and its historical driver do, the traps included: samples begin at the
 * first 1PPS after RUN; they become visible in lumps of ring/descrs, one to two lumps late; read()
 * never blocks and 0 means "not yet"; when the reader is late whole rings are overwritten and
 * nobody says so; the fill request gives FREE bytes, 0 for empty and full alike. The samples are
 * the simulator's pattern (sim.h) at their true offset.
 *
 * Opened for playback it takes what write() gives until its ring is full, all but a lump, and sends it from
 * the first 1PPS after RUN on. When its ring is empty it waits, or with round=1 sends what is in the ring once more, as
 * the DMA does that nobody told where the data end: then the fill request shows a ring that is nearly full.
 *
 * The path is a list of settings, "fake:ring=8M:clock=16M":
 *
 *   clock=HZ       VSI clock, 32M; the rate is bits of the mode x clock / (skip + 1)
 *   ring=SIZE      the driver's ring, 144000000
 *   descrs=N       DMA descriptors, 1000; the ring must be divisible by it
 *   size=0|1       whether the request for the ring's size is known, 1
 *   seed=N         of the pattern
 *   read=SIZE      no read() gives, and no write() takes, more than this
 *   error=N@SIZE   after SIZE bytes each read() or write() fails with errno N
 *   stop=TIME      the VSI clock stops so long after the first sample
 *   slip=SIZE@AT   SIZE bytes of samples are missing at stream offset AT, without anybody saying so
 *   pps=TIME       the 1PPS comes so much after the wall clock's full second, 0
 *   done=0|1       whether DMA ever reports its end, 1
 *   fill=0|1       whether the request for the ring's fill is known, 1
 *   round=0|1      what playback does with an empty ring, 0
 *   virtual=0|1    1: time stands still except in wait(), which returns at once; for unit tests
 *   now=TIME       virtual wall clock at the beginning, seconds since 1970
 *
 * Not modelled: samples torn because they are overwritten while a read() copies them.
 */
#include "drivers/board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>

#include "drivers/fake.h"
#include "drivers/sim.h"
#include "drivers/units.h"

#define DEFAULT_CLOCK_HZ UINT64_C(32000000)
#define DEFAULT_RING_BYTES UINT64_C(144000000)
#define DEFAULT_DESCRS UINT64_C(1000)

struct fake {
	/* settings */
	uint64_t clock_hz, ring_bytes, descrs, seed, read_max;
	uint64_t knows_size, knows_fill, reports_done, goes_round;
	uint64_t error, error_at;
	uint64_t slip_bytes, slip_at;
	int64_t stop_ns; /* after the first sample; FAKE_NEVER */
	int64_t pps_ns;

	struct fake_clock clock;

	/* what the board does */
	uint32_t command;
	int64_t first_ns;    /* monotonic moment of the first sample; FAKE_NEVER = not running */
	int64_t halted_ns;   /* DMA ended then; FAKE_NEVER = it goes on */
	uint64_t read_bytes; /* read() gave so many */

	bool is_playback;
	uint64_t written_bytes; /* write() took so many */
	uint64_t sent_bytes;    /* of them the DMA has taken so many out of the ring */
	uint64_t clocked_bytes; /* the clock would have sent since the first sample, at the last look */
};

/* ---- settings -------------------------------------------------------------------------------- */

static int take_settings(struct fake *fake, const char *path)
{
	const struct fake_setting list[] = {
		{ .key = "clock", .parse = units_parse_frequency, .number = &fake->clock_hz },
		{ .key = "ring", .parse = units_parse_bytes, .number = &fake->ring_bytes },
		{ .key = "descrs", .parse = units_parse_count, .number = &fake->descrs },
		{ .key = "size", .parse = units_parse_count, .number = &fake->knows_size },
		{ .key = "seed", .parse = units_parse_count, .number = &fake->seed },
		{ .key = "read", .parse = units_parse_bytes, .number = &fake->read_max },
		{ .key = "fill", .parse = units_parse_count, .number = &fake->knows_fill },
		{ .key = "round", .parse = units_parse_count, .number = &fake->goes_round },
		{ .key = "done", .parse = units_parse_count, .number = &fake->reports_done },
		{ .key = "virtual", .parse = units_parse_count, .number = &fake->clock.is_virtual },
		{ "error", units_parse_count, &fake->error, &fake->error_at, NULL },
		{ "slip", units_parse_bytes, &fake->slip_bytes, &fake->slip_at, NULL },
		{ .key = "stop", .time_ns = &fake->stop_ns },
		{ .key = "pps", .time_ns = &fake->pps_ns },
		{ .key = "now", .time_ns = &fake->clock.realtime_ns },
		{ .key = NULL },
	};
	int ret = fake_take_settings(path, list);

	if (ret)
		return ret;
	if (!fake->descrs || !fake->ring_bytes || fake->ring_bytes % fake->descrs || !fake->read_max)
		return -EINVAL;
	return 0;
}

static int board_open(const char *path, int flags, void **board)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	int ret;

	if (!fake)
		return -ENOMEM;
	*fake = (struct fake){
		.clock_hz = DEFAULT_CLOCK_HZ,
		.ring_bytes = DEFAULT_RING_BYTES,
		.descrs = DEFAULT_DESCRS,
		.read_max = UINT64_MAX,
		.knows_size = 1,
		.knows_fill = 1,
		.reports_done = 1,
		.stop_ns = FAKE_NEVER,
		.first_ns = FAKE_NEVER,
		.halted_ns = FAKE_NEVER,
		.is_playback = (flags & O_ACCMODE) == O_WRONLY,
	};
	fake_clock_init(&fake->clock);
	ret = take_settings(fake, path);
	if (ret) {
		free(fake);
		return ret;
	}
	*board = fake;
	return 0;
}

static int board_adopt(int fd, int flags, void **board)
{
	(void)fd;
	(void)flags;
	(void)board;
	return -ENOTTY;
}

static void board_close(void *board)
{
	free(board);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void board_wait(void *board, int64_t ns)
{
	/* a signal ends it early: the caller looks again */
	fake_wait(&((struct fake *)board)->clock, ns);
}

static int64_t board_monotonic_ns(void *board)
{
	return fake_monotonic_ns(&((struct fake *)board)->clock);
}

static int64_t board_realtime_ns(void *board)
{
	return fake_realtime_ns(&((struct fake *)board)->clock);
}

/* ---- the board ------------------------------------------------------------------------------- */

static unsigned sample_bits(const struct fake *fake)
{
	unsigned bits = board_mode_bits(fake->command >> BOARD_MODE_SHIFT & BOARD_MODE_MAX);

	return bits ? bits : 32;
}

static uint64_t divisor(const struct fake *fake)
{
	return (fake->command & BOARD_SKIP_MAX) + 1;
}

/* Bytes that the DMA has put into the ring since the first sample, missing ones not counted. */
static uint64_t produced_bytes(struct fake *fake)
{
	int64_t now = fake_monotonic_ns(&fake->clock), ns;
	uint64_t bytes;

	if (fake->first_ns == FAKE_NEVER)
		return 0;
	ns = (now < fake->halted_ns ? now : fake->halted_ns) - fake->first_ns;
	if (ns > fake->stop_ns)
		ns = fake->stop_ns;
	bytes = units_bytes_at(sample_bits(fake) * fake->clock_hz, ns) / divisor(fake);
	if (!fake->slip_bytes || bytes <= fake->slip_at)
		return bytes;
	return bytes - fake->slip_at < fake->slip_bytes ? fake->slip_at : bytes - fake->slip_bytes;
}

/* The driver knows the current descriptor only, and backs up one more. */
static uint64_t visible_bytes(struct fake *fake)
{
	uint64_t lump = fake->ring_bytes / fake->descrs;
	uint64_t full_count = produced_bytes(fake) / lump;

	return full_count ? (full_count - 1) * lump : 0;
}

/* Playback: what has gone out since the last look. */
static void play(struct fake *fake)
{
	uint64_t clocked = produced_bytes(fake), beyond;

	fake->sent_bytes += clocked - fake->clocked_bytes;
	fake->clocked_bytes = clocked;
	if (fake->sent_bytes <= fake->written_bytes)
		return;
	beyond = fake->sent_bytes - fake->written_bytes;
	if (fake->goes_round) /* as if the ring had been written once more */
		fake->written_bytes += (beyond / fake->ring_bytes + 1) * fake->ring_bytes;
	else
		fake->sent_bytes = fake->written_bytes;
}

/* The driver knows the current descriptor only: of what it is in nothing has been sent yet. */
static uint64_t unsent_bytes(struct fake *fake)
{
	uint64_t lump = fake->ring_bytes / fake->descrs;

	play(fake);
	if (fake->sent_bytes == fake->written_bytes)
		return 0;
	return fake->written_bytes - fake->sent_bytes / lump * lump;
}

static uint64_t free_bytes(struct fake *fake)
{
	/*
	 * user point - DMA point, modulo: what is free, and 0 for an empty ring as for
	 * a full one
	 */
	return (fake->ring_bytes - (visible_bytes(fake) - fake->read_bytes) % fake->ring_bytes) %
	       fake->ring_bytes;
}

static void run(struct fake *fake)
{
	int64_t now = fake_realtime_ns(&fake->clock);
	int64_t since_pps = (now - fake->pps_ns) % UNITS_NS_PER_S;

	fake->first_ns = fake_monotonic_ns(&fake->clock) + UNITS_NS_PER_S - since_pps;
	fake->halted_ns = FAKE_NEVER;
	fake->read_bytes = 0;
	fake->clocked_bytes = 0;
}

static void halt(struct fake *fake)
{
	int64_t now = fake_monotonic_ns(&fake->clock);

	if (now < fake->halted_ns)
		fake->halted_ns = now;
}

/* DMA goes on to the end of the descriptor it is in; that needs the clock. */
static void halt_at_descriptor(struct fake *fake)
{
	uint64_t lump = fake->ring_bytes / fake->descrs;
	uint64_t end = (produced_bytes(fake) / lump + 1) * lump;
	uint64_t clocked_bps = sample_bits(fake) * fake->clock_hz;

	if (fake->first_ns != FAKE_NEVER && fake->halted_ns == FAKE_NEVER)
		fake->halted_ns = fake->first_ns + units_time_for(end * divisor(fake), clocked_bps);
}

static bool is_done(struct fake *fake)
{
	bool has_clock =
		fake->stop_ns == FAKE_NEVER || fake->halted_ns - fake->first_ns <= fake->stop_ns;

	return fake->reports_done && has_clock && fake->halted_ns <= fake_monotonic_ns(&fake->clock);
}

static int board_control(void *board, enum board_request request, unsigned long value,
			 unsigned long *result)
{
	struct fake *fake = board;

	switch (request) {
	case BOARD_SET_MODE:
		if (value & BOARD_RUN) {
			play(fake);
			fake->command = (uint32_t)value;
			run(fake);
		} else {
			halt(fake);
		}
		return 0;
	case BOARD_GET_STATUS:
	case BOARD_GET_DMA_RETRIES:
		*result = 0;
		return 0;
	case BOARD_GET_BIGBUF_BYTES:
		if (!fake->knows_fill)
			return -EINVAL;
		*result = fake->is_playback ? unsent_bytes(fake) : free_bytes(fake);
		return 0;
	case BOARD_RESET_DMA:
		play(fake);
		fake->first_ns = FAKE_NEVER;
		fake->clocked_bytes = 0;
		if (!value)
			fake->written_bytes = fake->sent_bytes = 0;
		return 0;
	case BOARD_DELAYED_STOP_DMA:
		halt_at_descriptor(fake);
		return 0;
	case BOARD_IS_DMA_DONE:
		*result = is_done(fake);
		return 0;
	case BOARD_GET_BIGBUF_SIZE:
		if (!fake->knows_size)
			return -EINVAL;
		*result = fake->ring_bytes;
		return 0;
	}
	return -EINVAL;
}

/* All ones over the first sample of each second. */
static void put_markers(const struct fake *fake, unsigned char *out, size_t len, uint64_t offset)
{
	uint64_t a_second = sample_bits(fake) * fake->clock_hz / 8 / divisor(fake);
	size_t sample = sample_bits(fake) >= 8 ? sample_bits(fake) / 8 : 1;

	if (!(fake->command & BOARD_EMBED_1PPS) || !a_second)
		return;
	for (uint64_t at = offset / a_second * a_second; at < offset + len; at += a_second)
		for (size_t byte = 0; byte < sample; byte++)
			if (at + byte >= offset && at + byte < offset + len)
				out[at + byte - offset] = 0xff;
}

static void fill(const struct fake *fake, unsigned char *out, size_t len, uint64_t offset)
{
	sim_fill(out, len, offset, fake->seed);
	put_markers(fake, out, len, offset);
}

/* Samples from a place in the driver's stream, in which the slipped ones are missing. */
static void fill_slipped(const struct fake *fake, unsigned char *out, size_t len, uint64_t offset)
{
	size_t before = len;

	if (fake->slip_bytes && offset + len > fake->slip_at)
		before = offset < fake->slip_at ? (size_t)(fake->slip_at - offset) : 0;
	fill(fake, out, before, offset);
	if (before < len)
		fill(fake, out + before, len - before, offset + before + fake->slip_bytes);
}

static ssize_t board_read(void *board, void *buf, size_t len)
{
	struct fake *fake = board;
	uint64_t visible = visible_bytes(fake);
	uint64_t ready = (visible - fake->read_bytes) % fake->ring_bytes;

	if (fake->is_playback)
		return -EINVAL;
	if (fake->error && fake->read_bytes >= fake->error_at)
		return -(ssize_t)fake->error;
	if (len > ready)
		len = (size_t)ready;
	if (len > fake->read_max)
		len = (size_t)fake->read_max;
	if (fake->error && len > fake->error_at - fake->read_bytes)
		len = (size_t)(fake->error_at - fake->read_bytes);
	/*
	 * the oldest that is still there: what was behind it a ring or more ago has been
	 * overwritten
	 */
	fill_slipped(fake, buf, len, visible - ready);
	fake->read_bytes += len;
	return (ssize_t)len;
}

static ssize_t board_write(void *board, const void *data, size_t len)
{
	struct fake *fake = board;
	uint64_t ring = fake->ring_bytes - fake->ring_bytes / fake->descrs;
	uint64_t unsent = unsent_bytes(fake);

	(void)data;
	if (!fake->is_playback)
		return -EINVAL;
	if (fake->error && fake->written_bytes >= fake->error_at)
		return -(ssize_t)fake->error;
	if (len > fake->read_max)
		len = (size_t)fake->read_max;
	if (fake->error && len > fake->error_at - fake->written_bytes)
		len = (size_t)(fake->error_at - fake->written_bytes);
	if (unsent >= ring)
		return 0;
	if (len > ring - unsent)
		len = (size_t)(ring - unsent);
	fake->written_bytes += len;
	return (ssize_t)len;
}

const struct board_ops board_fake = {
	.open = board_open,
	.adopt = board_adopt,
	.read = board_read,
	.write = board_write,
	.control = board_control,
	.wait = board_wait,
	.monotonic_ns = board_monotonic_ns,
	.realtime_ns = board_realtime_ns,
	.close = board_close,
};
