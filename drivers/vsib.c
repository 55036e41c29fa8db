/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vsib.c - the source `vsib:`, the VSIB board under its historical kernel driver
 *
 *   vsib:/dev/vsib,mode=1,skip=2,clock=50M
 *   vsib:-             the board is descriptor 0
 *   vsib:fake[:...]    a stand-in, see board_fake.c
 *
 *   mode=0..15     which bits of the VSI word are recorded
 *   skip=N         one sample of N + 1 is recorded
 *   clock=HZ       the VSI clock; with the mode it gives the rate, with the rate losses are found
 *   embed=0|1      the board puts ones over the first sample of each second; they are checked
 *   giga=0|1       the gigabit flag of the command word
 *   bigbuf=SIZE    the driver's ring, where the driver cannot tell
 *
 * The driver doesn't know a loss: a reader that comes too late finds an almost empty ring, and
 * whole rings have been overwritten. What tells is the clock. Between two looks at the ring so many
 * bytes must have come as the time makes at the known rate; when about k rings are missing, exactly
 * k rings were lost. Looks are compared with each other and not with the start, so that two clocks
 * that drift apart, and a VSI clock that stops, are not mistaken for a loss.
 */
#include "drivers/vsib.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/board.h"
#include "drivers/fake.h"
#include "drivers/source.h"
#include "drivers/units.h"
#include "drivers/vsi_board.h"

#define MS INT64_C(1000000)
#define SECOND UNITS_NS_PER_S
#define NEVER INT64_MAX
#define NO_SAMPLES_NS (2 * SECOND)
#define NOTE_PAUSE_NS (10 * SECOND)
#define SEARCH_BYTES ((size_t)1 << 20)
#define LOOK_TRIES 3

/* The 1PPS markers in the stream. */
struct marks {
	uint64_t second_bytes; /* from one marker to the next; 0 = not checked */
	size_t sample_bytes;
	uint64_t next;      /* stream offset where the next one belongs */
	uint64_t seen_to;   /* looked at up to here */
	uint64_t shift;     /* last one was found so much too early; 0 = no suspicion */
	bool is_good;       /* the bytes of the next one seen so far are ones ... */
	bool is_shift_good; /* ... and so are those at next - shift */
};

struct vsib {
	struct vsi_board board;
	bool has_fill;    /* the driver tells the fill, and it makes sense */
	bool has_samples; /* the first ones have been seen */
	bool has_told_silence;
	int64_t start_ns;   /* first sample, by the board's monotonic clock */
	int64_t stopped_ns; /* no new samples from then on; NEVER */

	uint64_t position;     /* stream offset of the next byte: delivered + lost */
	uint64_t untold_bytes; /* lost, not yet said in a mark */
	uint64_t fill_bytes;   /* at the last look ... */
	int64_t look_ns;       /* ... which was then */
	int64_t deficit_bytes; /* what the clock promised by then and hadn't come */
	struct marks marks;
	int64_t noted_ns; /* last note of a kind that may come again and again */
};

/* True at most once in ten seconds. */
static bool may_note(struct vsib *vsib)
{
	if (vsi_board_now(&vsib->board) - vsib->noted_ns < NOTE_PAUSE_NS)
		return false;
	vsib->noted_ns = vsi_board_now(&vsib->board);
	return true;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int set_rate(struct source *source, struct vsi_board *board, uint64_t given_bps)
{
	unsigned bits = board_mode_bits((unsigned)board->mode);
	int ret = vsi_board_set_rate(board, given_bps);

	source->word_bytes = bits >= 8 ? bits / 8 : bits ? 1 : 4;
	source->checks_clock = true;
	if (ret)
		return ret;
	source->rate_bps = vsi_board_rate(board);
	if (!source->rate_bps)
		source_note(source,
			    "the rate isn't known (give clock= or -r): a driver ring that overflows cannot be found out");
	return 0;
}

static void set_marks(struct source *source, struct vsib *vsib)
{
	struct marks *marks = &vsib->marks;

	if (!vsib->board.embed)
		return;
	marks->sample_bytes = source->word_bytes;
	marks->is_good = marks->is_shift_good = true;
	if (vsib->board.clocked_bps && vsib->board.clocked_bps % (8 * vsib->board.divisor) == 0)
		marks->second_bytes = vsib->board.clocked_bps / (8 * vsib->board.divisor);
	if (!marks->second_bytes || marks->second_bytes % marks->sample_bytes) {
		marks->second_bytes = 0;
		source_note(source, "the 1PPS markers are not checked: %s",
			    vsib->board.clocked_bps ?
				    "a second is no whole number of samples at this rate" :
				    "the rate isn't known");
	}
}

int vsib_open_board(struct source *source, const struct source_config *config,
		    const struct board_ops *ops)
{
	struct vsib *vsib = calloc(1, sizeof(*vsib));
	char buf[SOURCE_DETAIL_LEN];
	struct source_detail detail;
	const char *cursor = NULL;
	int ret = 0;

	if (!vsib)
		return source_fail(source, ENOMEM, "out of memory");
	source->state = vsib;
	vsib->board = (struct vsi_board){
		.ops = ops,
		.voice = source_voice(source),
		.is_interrupted = &source->is_interrupted,
		.wanted_start_utc_ns = config->start_utc_ns,
	};
	vsib->has_fill = true;
	vsib->stopped_ns = NEVER;
	vsib->noted_ns = -NOTE_PAUSE_NS;
	while (!ret && source_next_detail(source, &cursor, buf, sizeof(buf), &detail))
		ret = vsi_board_take_detail(&vsib->board, detail.key, detail.value);
	if (!ret)
		ret = set_rate(source, &vsib->board, config->rate_bps);
	if (!ret)
		ret = vsi_board_open(&vsib->board, source->path);
	if (ret)
		return ret;
	set_marks(source, vsib);
	vsi_board_find_ring(&vsib->board);
	/* relaxed: a figure by itself */
	atomic_store_explicit(&source->stats.device_ring_bytes, vsib->board.ring_bytes,
			      memory_order_relaxed);
	if (ops == &board_kernel)
		source->device = vsi_board_device(&vsib->board, source->path);
	return 0;
}

static int vsib_open(struct source *source, const struct source_config *config)
{
	return vsib_open_board(source, config,
			       fake_is_meant(source->path) ? &board_fake : &board_kernel);
}

static void vsib_close(struct source *source)
{
	struct vsib *vsib = source->state;

	vsi_board_close(&vsib->board);
	free(vsib);
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static int vsib_start(struct source *source)
{
	struct vsib *vsib = source->state;
	struct vsi_board_begin begin;
	int ret = vsi_board_start(&vsib->board, NEVER, &begin);

	if (ret)
		return ret;
	vsib->start_ns = begin.monotonic_ns;
	vsib->look_ns = vsi_board_now(&vsib->board);
	source->start_utc_ns = begin.utc_ns;
	return 0;
}

static void vsib_stop(struct source *source)
{
	struct vsib *vsib = source->state;

	vsi_board_stop(&vsib->board);
	vsib->stopped_ns = vsi_board_now(&vsib->board);
}

/* ---- the driver's ring ----------------------------------------------------------------------- */

static void lose(struct vsib *vsib, uint64_t bytes)
{
	vsib->position += bytes;
	vsib->untold_bytes += bytes;
}

/* Bytes against clock since the last look: are whole rings missing? */
static void judge(struct source *source, struct vsib *vsib, int64_t now, uint64_t fill)
{
	int64_t ring = (int64_t)vsib->board.ring_bytes, deficit, change, ring_count, rest;

	if (!vsib->board.clocked_bps)
		return;
	if (now > vsib->stopped_ns)
		now = vsib->stopped_ns;
	deficit = (int64_t)(vsi_board_bytes_in(&vsib->board, now - vsib->start_ns) -
			    vsib->position - fill);
	change = deficit - vsib->deficit_bytes;
	ring_count = change > 0 ? (change + ring / 2) / ring : 0;
	rest = change - ring_count * ring;
	if (change > ring / 4 && (rest > ring / 4 || rest < -ring / 4)) {
		if (may_note(vsib))
			source_note(source,
				    "%lld bytes fewer than the clock makes, and no whole number of rings: was the VSI clock away?",
				    (long long)change);
		ring_count = 0;
	}
	if (ring_count)
		lose(vsib, (uint64_t)ring_count * vsib->board.ring_bytes);
	vsib->deficit_bytes = deficit - ring_count * ring;
}

/*
 * The fill, and the moment at which it was true. When something held us up between the two the pair
 * says nothing, so it is taken again.
 */
static int measure(const struct vsib *vsib, unsigned long *free_bytes, int64_t *when_ns)
{
	int64_t allowed = vsib->board.clocked_bps ?
				  vsi_board_time_of(&vsib->board, vsib->board.ring_bytes / 16) :
				  NEVER;
	int ret = 0;

	for (int try = 0; !ret && try < LOOK_TRIES; try++) {
		int64_t before = vsi_board_now(&vsib->board);

		ret = vsi_board_ask(&vsib->board, BOARD_GET_BIGBUF_BYTES, free_bytes);
		*when_ns = vsi_board_now(&vsib->board);
		if (*when_ns - before <= allowed)
			break;
	}
	return ret;
}

static void look_at_ring(struct source *source, struct vsib *vsib)
{
	unsigned long free_bytes = 0;
	int64_t when = 0;
	uint64_t fill;
	int ret;

	if (!vsib->has_fill) {
		vsib->look_ns = vsi_board_now(&vsib->board);
		return;
	}
	ret = measure(vsib, &free_bytes, &when);
	if (ret || free_bytes > vsib->board.ring_bytes) {
		vsib->has_fill = false;
		vsib->look_ns = vsi_board_now(&vsib->board);
		if (ret)
			source_note(source,
				    "the driver doesn't tell its ring's fill (%s): losses cannot be found out",
				    strerror(-ret));
		else
			source_note(source,
				    "%lu bytes free in a ring of %llu: its size is wrong (give bigbuf=); losses cannot be found out",
				    free_bytes, (unsigned long long)vsib->board.ring_bytes);
		return;
	}
	/* 0 is empty or full, and a full ring reads as empty too: its content is lost to us */
	fill = free_bytes ? vsib->board.ring_bytes - free_bytes : 0;
	judge(source, vsib, when, fill);
	vsib->fill_bytes = fill;
	vsib->look_ns = when;
	source_tell_fill(source, fill);
}

/* Could the ring have gone round between the look and now? */
static bool may_have_wrapped(const struct vsib *vsib)
{
	uint64_t since = vsi_board_bytes_in(&vsib->board, vsi_board_now(&vsib->board) - vsib->look_ns);
	uint64_t lumps = vsib->board.ring_bytes / 500;

	return vsib->has_fill && vsib->board.clocked_bps &&
	       vsib->fill_bytes + since + lumps >= vsib->board.ring_bytes;
}

/* ---- 1PPS markers ---------------------------------------------------------------------------- */

/* The part of the sample at @place that lies in this piece of the stream: is it all ones? */
static bool is_marked(const struct marks *marks, uint64_t place, const unsigned char *data,
		      size_t len, uint64_t position)
{
	for (uint64_t at = place; at < place + marks->sample_bytes; at++)
		if (at >= position && at - position < len && data[at - position] != 0xff)
			return false;
	return true;
}

/*
 * Where the marker stands instead: samples that are missing make it come early, by whole samples.
 * Only a place that is the only one counts; noise makes ones by chance too. Returns how much too
 * early; 0 = not found.
 */
static uint64_t find_marker(const struct marks *marks, const unsigned char *data, uint64_t position)
{
	uint64_t found = 0, back = marks->next > position ? marks->next - position : 0;

	if (back > SEARCH_BYTES)
		back = SEARCH_BYTES;
	if (back >= marks->second_bytes) /* there stands the marker of the second before */
		back = marks->second_bytes - 1;
	for (uint64_t shift = marks->sample_bytes; shift <= back; shift += marks->sample_bytes) {
		size_t at = (size_t)(marks->next - shift - position);
		size_t byte = 0;

		while (byte < marks->sample_bytes && data[at + byte] == 0xff)
			byte++;
		if (byte < marks->sample_bytes)
			continue;
		if (found)
			return 0;
		found = shift;
	}
	return found;
}

static void note_missing_marker(struct source *source, struct vsib *vsib)
{
	struct marks *marks = &vsib->marks;
	char where[80] = "not found nearby";

	if (!may_note(vsib))
		return;
	if (marks->shift)
		snprintf(where, sizeof(where), "found %llu samples too early",
			 (unsigned long long)(marks->shift / marks->sample_bytes));
	/* relaxed: our own */
	source_note(source, "1PPS marker absent at second %llu, %s (%llu absent so far)",
		    (unsigned long long)(marks->next / marks->second_bytes), where,
		    (unsigned long long)atomic_load_explicit(&source->stats.marker_missing_count,
							     memory_order_relaxed));
}

/* All bytes of the next marker have been seen. Returns the bytes found missing before it. */
static uint64_t judge_marker(struct source *source, struct vsib *vsib, const unsigned char *data,
			     uint64_t position)
{
	struct marks *marks = &vsib->marks;
	uint64_t missing = 0;

	if (marks->is_good) {
		source_count(&source->stats.marker_count, 1);
		marks->shift = 0;
		return 0;
	}
	source_count(&source->stats.marker_missing_count, 1);
	if (marks->shift && marks->is_shift_good) {
		/* twice at the same wrong place is no chance any more */
		missing = marks->shift;
		marks->shift = 0;
		source_note(source,
			    "1PPS markers come %llu samples early: so many were lost, noticed at second %llu",
			    (unsigned long long)(missing / marks->sample_bytes),
			    (unsigned long long)(marks->next / marks->second_bytes));
		lose(vsib, missing);
		return missing;
	}
	marks->shift = find_marker(marks, data, position);
	note_missing_marker(source, vsib);
	return 0;
}

static void check_markers(struct source *source, struct vsib *vsib, const unsigned char *data,
			  size_t len, uint64_t position)
{
	struct marks *marks = &vsib->marks;

	if (!marks->second_bytes)
		return;
	if (position != marks->seen_to) {
		/* after a loss begin afresh, at the next marker that is whole */
		if (position > marks->next)
			marks->next = (position + marks->second_bytes - 1) / marks->second_bytes *
				      marks->second_bytes;
		marks->is_good = true;
		marks->shift = 0;
	}
	for (;;) {
		marks->is_good &= is_marked(marks, marks->next, data, len, position);
		if (marks->shift)
			marks->is_shift_good &=
				is_marked(marks, marks->next - marks->shift, data, len, position);
		if (position + len < marks->next + marks->sample_bytes)
			break;
		position += judge_marker(source, vsib, data, position);
		marks->next += marks->second_bytes;
		marks->is_good = marks->is_shift_good = true;
	}
	marks->seen_to = position + len;
}

/* ---- reading --------------------------------------------------------------------------------- */

/*
 * The first samples: did they come at the second that was planned? The 1PPS decides, the wall clock
 * only names the second, so whole seconds are corrected and the rest is left.
 */
static void check_first(struct source *source, struct vsib *vsib, int64_t last_look_ns)
{
	int64_t late, second_count;

	vsib->has_samples = true;
	/* not watched closely, or already lost some: nothing can be said */
	if (vsib->look_ns - last_look_ns > SECOND / 4 || vsib->untold_bytes)
		return;
	late = vsib->look_ns - vsi_board_time_of(&vsib->board, vsib->fill_bytes) - vsib->start_ns;
	second_count = (late + (late < 0 ? -SECOND / 2 : SECOND / 2)) / SECOND;
	if (!second_count)
		return;
	vsib->start_ns += second_count * SECOND;
	source->start_utc_ns += second_count * SECOND;
	vsib->deficit_bytes = 0;
	source_note(source,
		    "the first sample came %lld s %s than planned: start time corrected; are 1PPS and wall clock right?",
		    (long long)(second_count < 0 ? -second_count : second_count),
		    second_count < 0 ? "earlier" : "later");
}

static void note_silence(struct source *source, struct vsib *vsib)
{
	if (vsib->has_samples || vsib->has_told_silence ||
	    vsi_board_now(&vsib->board) - vsib->start_ns < NO_SAMPLES_NS)
		return;
	vsib->has_told_silence = true;
	source_note(source, "no sample since the start second; are 1PPS and VSI clock connected?");
}

/* About one lump of the ring, so that a turn is worth its price; never beyond the deadline. */
static void wait_for_lump(struct vsib *vsib, int64_t deadline_ns)
{
	int64_t now = vsi_board_now(&vsib->board), ns = MS,
		lump_ns = vsi_board_time_of(&vsib->board, vsib->board.ring_bytes / 1000);

	if (vsib->board.clocked_bps && lump_ns > MS)
		ns = lump_ns < 5 * MS ? lump_ns : 5 * MS;
	if (vsib->board.clocked_bps && ns > lump_ns * 100) /* a tenth of a very small ring */
		ns = lump_ns * 100;
	if (now < vsib->start_ns)
		ns = vsib->start_ns - now < 10 * MS ? vsib->start_ns - now : 10 * MS;
	if (ns > deadline_ns - now)
		ns = deadline_ns - now;
	vsib->board.ops->wait(vsib->board.handle, ns);
}

static void tell_loss(struct vsib *vsib, struct source_mark *mark)
{
	mark->lost_bytes = vsib->untold_bytes;
	mark->is_estimated = vsib->untold_bytes > 0;
	vsib->untold_bytes = 0;
}

static void take(struct source *source, struct vsib *vsib, const void *buf, size_t got,
		 struct source_mark *mark)
{
	vsib->position += got;
	/* A wrap between the look and the read: the data are already those behind the loss. */
	if (may_have_wrapped(vsib))
		look_at_ring(source, vsib);
	check_markers(source, vsib, buf, got, vsib->position - got);
	tell_loss(vsib, mark);
	if (vsib->board.clocked_bps)
		mark->utc_ns =
			source->start_utc_ns + vsi_board_time_of(&vsib->board, vsib->position - got);
}

static ssize_t vsib_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			 struct source_mark *mark)
{
	struct vsib *vsib = source->state;

	for (;;) {
		int64_t last_look_ns = vsib->look_ns;
		ssize_t got;

		look_at_ring(source, vsib);
		got = vsib->board.ops->read(vsib->board.handle, buf, len);
		if (got > 0) {
			if ((size_t)got > len) /* refused by source_read(); don't look at what isn't there */
				return got;
			if (!vsib->has_samples)
				check_first(source, vsib, last_look_ns);
			take(source, vsib, buf, (size_t)got, mark);
			return got;
		}
		if (got < 0 && got != -EINTR && got != -EAGAIN) {
			tell_loss(vsib, mark);
			if (got < -4095) /* no errno at all: source_read() names it */
				return got;
			return source_fail(source, (int)-got, "cannot read the board: %s",
					   strerror((int)-got));
		}
		if (!got && vsib->stopped_ns != NEVER) {
			tell_loss(vsib, mark);
			return SOURCE_END;
		}
		if (source_is_interrupted(source) || vsi_board_now(&vsib->board) >= deadline_ns)
			return SOURCE_NOT_YET;
		if (got == -EINTR)
			continue;
		source_count(&source->stats.wait_count, 1);
		wait_for_lump(vsib, deadline_ns);
		note_silence(source, vsib);
	}
}

const struct source_ops source_vsib = {
	.prefix = "vsib:",
	.summary = "vsib:PATH[,mode=M,skip=N,clock=HZ,embed=1,...]  the VSIB board; - for PATH: descriptor 0",
	.keys = VSI_BOARD_KEYS,
	.takes_path = true,
	.open = vsib_open,
	.start = vsib_start,
	.read = vsib_read,
	.stop = vsib_stop,
	.close = vsib_close,
};
