/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.c - see schedule.h
 *
 * The stream's own time (of clock, frames or stamps) is one scale, what is due the other; an anchor joins them, and is
 * moved where the stream's own time must not be followed: at a loop, a gap that is closed up, a clock that was set back.
 * All is reckoned from the anchor in whole numbers of 128 bits.
 */
#include "tools/replay/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"
#include "tools/format_stats.h"

#define SPEED_ONE UINT64_C(1000000000)
#define LEAP_NS \
	INT64_C(500000000) /* farther off, a moment must be borne out; less than a leap second */
#define MARK5B_FRAMES_MAX 32768
#define FRACTIONS_A_SECOND 10000

static int64_t clamp(__int128 ns)
{
	return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN + 1 ? INT64_MIN + 1 : (int64_t)ns;
}

static int64_t sum(int64_t a, int64_t b)
{
	return clamp((__int128)a + b);
}

static int64_t difference(int64_t a, int64_t b)
{
	return clamp((__int128)a - b);
}

/* ---- making one ------------------------------------------------------------------------------------ */

static void begin(struct schedule *schedule, enum schedule_kind kind, double speed, uint64_t first_offset)
{
	double nano = round(speed * (double)SPEED_ONE);

	*schedule = (struct schedule){
		.kind = kind,
		.speed = speed,
		.first_offset = first_offset,
		.last_end = first_offset,
		.speed_nano = nano < 1    ? 1 :
			      nano < 1e15 ? (uint64_t)nano :
					    UINT64_C(1000000000000000),
	};
}

void schedule_init_none(struct schedule *schedule)
{
	begin(schedule, SCHEDULE_NONE, 1, 0);
}

void schedule_init_rate(struct schedule *schedule, uint64_t rate_bps, double speed, uint64_t first_offset)
{
	begin(schedule, SCHEDULE_RATE, speed, first_offset);
	schedule->rate_bps = rate_bps;
	schedule->origin = first_offset;
}

void schedule_init_stamps(struct schedule *schedule, double speed)
{
	begin(schedule, SCHEDULE_STAMPS, speed, 0);
}

int schedule_init_frames(struct schedule *schedule, const struct format_layout *layout,
			 uint64_t frame_offset, double speed, uint64_t first_offset)
{
	if (layout->format == FORMAT_UNKNOWN || layout->format == FORMAT_SIM || layout->rate == 0 ||
	    layout->interval_s == 0)
		return -ENOTSUP;
	begin(schedule, SCHEDULE_FRAMES, speed, first_offset);
	schedule->layout = *layout;
	schedule->format_offset = frame_offset;
	return 0;
}

void schedule_free(struct schedule *schedule)
{
	free(schedule->clocks);
	schedule->clocks = NULL;
	schedule->clock_count = 0;
}

const char *schedule_name(enum schedule_kind kind)
{
	static const char *const names[] = { "none", "rate", "clock", "frames", "stamps" };

	return names[kind];
}

/* ---- by the rate ----------------------------------------------------------------------------------- */

/* Rounded up, as units_time_for() is: at that moment the whole of the bytes before it is due. */
static int64_t rate_due(const struct schedule *schedule, uint64_t stream_offset)
{
	unsigned __int128 bytes = stream_offset - schedule->origin;
	unsigned __int128 a_second = (unsigned __int128)schedule->rate_bps * schedule->speed_nano;
	unsigned __int128 ns = (bytes * 8 * UNITS_NS_PER_S * SPEED_ONE + a_second - 1) / a_second;

	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static uint64_t rate_offset_at(const struct schedule *schedule, int64_t ns)
{
	unsigned __int128 bits = (unsigned __int128)schedule->rate_bps * schedule->speed_nano / 8;
	unsigned __int128 whole = bits / SPEED_ONE, rest = bits % SPEED_ONE;
	unsigned __int128 bytes = (whole * (uint64_t)ns + rest * (uint64_t)ns / SPEED_ONE) /
				  (unsigned __int128)UNITS_NS_PER_S;
	uint64_t left = UINT64_MAX - schedule->first_offset;

	return schedule->first_offset + (bytes > left ? left : (uint64_t)bytes);
}

/* ---- by the journal's clock ------------------------------------------------------------------------ */

static int compare_clocks(const void *a, const void *b)
{
	const struct history_clock *x = a, *y = b;

	if (x->monotonic_ns != y->monotonic_ns)
		return x->monotonic_ns < y->monotonic_ns ? -1 : 1;
	return x->stream_offset < y->stream_offset ? -1 : x->stream_offset > y->stream_offset;
}

/* Moments in whose order the stream goes back are none of one stream. */
static size_t keep_rising(struct history_clock *clocks, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (kept == 0 || (clocks[i].stream_offset >= clocks[kept - 1].stream_offset &&
				  clocks[i].monotonic_ns > clocks[kept - 1].monotonic_ns))
			clocks[kept++] = clocks[i];
	return kept;
}

/*
 * The points of the line that a byte lies on: the last one that is not behind it, and the next. Where the stream
 * stood still a byte comes after that. Outside, the first and the last line that rise go on.
 */
static size_t line_of(const struct history_clock *clocks, size_t count, uint64_t offset, size_t *next)
{
	size_t low = 0, high = count, at;

	while (low < high) { /* the first point behind the byte */
		size_t middle = low + (high - low) / 2;

		if (clocks[middle].stream_offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	*next = low;
	at = low > 0 ? low - 1 : 0;
	if (low == 0)
		for (*next = 1; clocks[*next].stream_offset == clocks[at].stream_offset;)
			at = (*next)++;
	if (low == count) {
		at = count - 2;
		*next = count - 1;
		while (clocks[at].stream_offset == clocks[*next].stream_offset)
			*next = at--;
	}
	return at;
}

/* CLOCK_MONOTONIC of the recording when this byte of it came. */
static int64_t clock_ns(const struct schedule *schedule, uint64_t offset)
{
	const struct history_clock *clocks = schedule->clocks;
	const struct history_clock *last = &clocks[schedule->clock_count - 1];
	size_t next, at = line_of(clocks, schedule->clock_count, offset, &next);
	/* outside from the first and the last point on: at them the stream may have stood still */
	const struct history_clock *from = offset >= last->stream_offset  ? last :
					   offset < clocks->stream_offset ? clocks :
									    &clocks[at];
	uint64_t bytes = clocks[next].stream_offset - clocks[at].stream_offset;
	int64_t ns = difference(clocks[next].monotonic_ns, clocks[at].monotonic_ns);
	__int128 behind = (__int128)offset - from->stream_offset;

	return clamp(from->monotonic_ns + behind * ns / (__int128)bytes);
}

/*
 * A recording of some seconds has one clock line or none: then its rate, which the journal's first line has if it was known,
 * or else its length in the last line, makes two of the moment it began. Return: false: neither is there.
 */
static bool make_up_clocks(const struct history *history, struct history_clock *clocks)
{
	uint64_t rate_bps = (uint64_t)json_integer_value(json_object_get(history->start, "rate_bps"));
	uint64_t bytes = history->end_bytes ? history->end_bytes : UINT64_C(1) << 40;
	double duration_s = json_number_value(json_object_get(history->end, "duration_s"));
	const char *utc = json_string_value(json_object_get(history->start, "utc"));
	double ns = rate_bps ? (double)bytes * 8e9 / (double)rate_bps : duration_s * 1e9;

	clocks[0] = clocks[1] = (struct history_clock){ 0 };
	if (!utc || units_parse_utc(utc, &clocks[0].utc_ns) < 0 || !(ns >= 1 && ns < 1e18) ||
	    (!rate_bps && history->end_bytes == 0))
		return false;
	clocks[0].monotonic_ns = json_integer_value(json_object_get(history->start, "monotonic_ns"));
	clocks[1].stream_offset = bytes;
	clocks[1].utc_ns = sum(clocks[0].utc_ns, (int64_t)ns);
	clocks[1].monotonic_ns = sum(clocks[0].monotonic_ns, (int64_t)ns);
	return true;
}

int schedule_init_clock(struct schedule *schedule, const struct history *history, double speed,
			uint64_t first_offset)
{
	struct history_clock *clocks = calloc(history->clock_count + 2, sizeof(*clocks));
	size_t count = history->clock_count;

	begin(schedule, SCHEDULE_CLOCK, speed, first_offset);
	if (!clocks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		clocks[i] = history->clocks[i];
	qsort(clocks, count, sizeof(*clocks), compare_clocks);
	count = keep_rising(clocks, count);
	if (count < 2 || clocks[0].stream_offset == clocks[count - 1].stream_offset) {
		count = 2;
		if (!make_up_clocks(history, clocks)) {
			free(clocks);
			return -ENODATA;
		}
	}
	schedule->clocks = clocks;
	schedule->clock_count = count;
	schedule->has_anchor = true;
	schedule->anchor_ns = clock_ns(schedule, first_offset);
	schedule->has_first = true;
	schedule->first_utc_ns =
		sum(clocks[0].utc_ns, difference(schedule->anchor_ns, clocks[0].monotonic_ns));
	return 0;
}

static uint64_t clock_offset_at(const struct schedule *schedule, int64_t ns)
{
	int64_t wanted =
		sum(schedule->anchor_ns, clamp((__int128)ns * schedule->speed_nano / SPEED_ONE));
	uint64_t low = schedule->first_offset, high = INT64_MAX;

	while (low < high) { /* the first byte that came later than that, or then */
		uint64_t middle = low + (high - low) / 2;

		if (clock_ns(schedule, middle) < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- by the frames --------------------------------------------------------------------------------- */

/* Mark5B counts modulo 32768, which above 2.6 Gbit/s is less than a second: the fraction tells the turn. */
static uint32_t whole_number(const struct format_layout *layout, const struct format_frame *frame)
{
	uint64_t by_fraction = (uint64_t)frame->fraction * layout->rate / FRACTIONS_A_SECOND;

	if (layout->format != FORMAT_MARK5B || by_fraction + MARK5B_FRAMES_MAX / 2 <= frame->number)
		return frame->number;
	return frame->number + (uint32_t)((by_fraction - frame->number + MARK5B_FRAMES_MAX / 2) /
					  MARK5B_FRAMES_MAX * MARK5B_FRAMES_MAX);
}

int64_t schedule_frame_utc_ns(const struct format_layout *layout, const void *data)
{
	struct format_frame frame;

	/* fill has headers, too, which say nothing */
	if (!format_is_alike(layout, data) || !format_read_frame(layout, data, &frame) ||
	    !frame.is_ordered)
		return 0;
	return format_utc_ns(layout, frame.interval, whole_number(layout, &frame), layout->rate);
}

/* How long so many bytes take, if there is one thread. */
static int64_t strides_ns(const struct schedule *schedule, uint64_t bytes)
{
	const struct format_layout *layout = &schedule->layout;
	unsigned __int128 ns = (unsigned __int128)bytes * layout->interval_s * UNITS_NS_PER_S;

	return clamp((__int128)(ns / ((unsigned __int128)layout->stride_bytes * layout->rate)));
}

/* How far behind an offset is the next place where a frame begins? The known one may lie either way. */
static uint64_t bytes_to_frame(const struct schedule *schedule, uint64_t offset)
{
	uint64_t stride = schedule->layout.stride_bytes;

	if (offset <= schedule->format_offset)
		return (schedule->format_offset - offset) % stride;
	return (stride - (offset - schedule->format_offset) % stride) % stride;
}

/* ---- the stream's own time -------------------------------------------------------------------------- */

struct moment {
	int64_t ns;
	bool is_told; /* by the unit itself: a stamp, or a header with which it begins */
};

/* By its place behind the unit before. */
static int64_t expected_ns(const struct schedule *schedule, const struct schedule_unit *unit)
{
	if (schedule->kind != SCHEDULE_FRAMES || schedule->is_shared)
		return schedule->last_ns;
	return sum(schedule->last_ns,
		   strides_ns(schedule, unit->stream_offset - schedule->last_offset));
}

/*
 * A unit is a frame, mostly. In one that begins amidst a frame the first header that follows tells; where there is
 * none, its place does.
 */
static struct moment frame_moment(struct schedule *schedule, const struct schedule_unit *unit)
{
	uint64_t lead = bytes_to_frame(schedule, unit->stream_offset);
	bool has_header = lead <= unit->bytes && unit->bytes - lead >= schedule->layout.need_bytes;
	int64_t ns = 0;

	if (has_header)
		ns = schedule_frame_utc_ns(&schedule->layout, (const unsigned char *)unit->data + lead);
	schedule->timeless_count += has_header && ns == 0;
	if (ns == 0)
		return (struct moment){ expected_ns(schedule, unit), false };
	if (!schedule->is_shared)
		ns = difference(ns, strides_ns(schedule, lead));
	return (struct moment){ ns, lead == 0 };
}

static struct moment stamp_moment(struct schedule *schedule, const struct schedule_unit *unit)
{
	schedule->timeless_count += unit->utc_ns == 0;
	return unit->utc_ns ? (struct moment){ unit->utc_ns, true } :
			      (struct moment){ schedule->last_ns, false };
}

/* From a unit to the next, as far as that is known. */
static int64_t step_ns(const struct schedule *schedule)
{
	if (schedule->kind == SCHEDULE_FRAMES)
		return strides_ns(schedule, schedule->layout.stride_bytes);
	if (schedule->unit_count > 1)
		return difference(schedule->last_ns, schedule->anchor_ns) /
		       (int64_t)(schedule->unit_count - 1);
	return 0;
}

static int64_t due_at(const struct schedule *schedule, int64_t ns)
{
	__int128 behind = (__int128)ns - schedule->anchor_ns;

	return clamp(schedule->anchor_due_ns + behind * SPEED_ONE / schedule->speed_nano);
}

/* What would be due behind the unit before. */
static int64_t next_due(const struct schedule *schedule)
{
	if (!schedule->has_anchor)
		return schedule->anchor_due_ns;
	return sum(schedule->last_due_ns,
		   clamp((__int128)step_ns(schedule) * SPEED_ONE / schedule->speed_nano));
}

static void set_anchor(struct schedule *schedule, int64_t ns, int64_t due_ns)
{
	schedule->has_anchor = true;
	schedule->anchor_ns = ns;
	schedule->anchor_due_ns = due_ns;
	schedule->unit_count = 0;
	schedule->has_leap = false;
}

/* Does a moment fit what came before? Packets may pause; frames only where bytes are missing. */
static bool is_near(const struct schedule *schedule, const struct schedule_unit *unit, int64_t ns)
{
	int64_t off = difference(ns, schedule->last_ns);

	if (off < -LEAP_NS)
		return false;
	return off <= LEAP_NS || schedule->kind == SCHEDULE_STAMPS ||
	       off - LEAP_NS <= strides_ns(schedule, unit->stream_offset - schedule->last_offset);
}

/* Far off, but the one before was as well, and this one comes soon behind it. */
static bool is_borne_out(const struct schedule *schedule, int64_t ns)
{
	return schedule->has_leap && ns > schedule->leap_ns &&
	       difference(ns, schedule->leap_ns) <= LEAP_NS;
}

/* Return: what the unit's moment is taken for. */
static int64_t settle(struct schedule *schedule, const struct schedule_unit *unit, int64_t ns)
{
	bool is_back = ns < schedule->last_ns;

	schedule->backward_count += is_back;
	if (is_near(schedule, unit, ns)) {
		schedule->has_leap = false;
		return is_back ? schedule->last_ns : ns;
	}
	if (is_borne_out(schedule, ns)) {
		schedule->has_leap = false;
		if (is_back)
			set_anchor(schedule, ns, next_due(schedule));
		return ns;
	}
	schedule->timeless_count += !is_back;
	schedule->has_leap = true;
	schedule->leap_ns = ns;
	return expected_ns(schedule, unit);
}

/* Behind a gap that was closed up: no later than if nothing had been there. */
static void close_up(struct schedule *schedule, int64_t ns)
{
	int64_t due_ns = next_due(schedule);

	schedule->is_closing = false;
	if (due_at(schedule, ns) > due_ns)
		set_anchor(schedule, ns, due_ns);
}

static int64_t moment_due(struct schedule *schedule, const struct schedule_unit *unit,
			  struct moment moment)
{
	int64_t ns = moment.ns;

	if (!schedule->has_anchor && !moment.is_told)
		return schedule->anchor_due_ns;
	if (!schedule->has_first)
		schedule->first_utc_ns = ns;
	schedule->has_first = true;
	if (!schedule->has_anchor)
		set_anchor(schedule, ns, schedule->anchor_due_ns);
	else if (schedule->is_closing)
		close_up(schedule, ns);
	else if (moment.is_told)
		ns = settle(schedule, unit, ns);
	schedule->is_shared |= schedule->kind == SCHEDULE_FRAMES && moment.is_told &&
			       schedule->unit_count > 0 && moment.ns == schedule->last_ns;
	schedule->last_ns = ns;
	schedule->unit_count++;
	return due_at(schedule, ns);
}

/* ---- all of them ------------------------------------------------------------------------------------ */

int64_t schedule_due(struct schedule *schedule, const struct schedule_unit *unit)
{
	int64_t due_ns = SCHEDULE_NOW;

	switch (schedule->kind) {
	case SCHEDULE_NONE:
		break;
	case SCHEDULE_RATE:
		due_ns = rate_due(schedule, unit->stream_offset);
		break;
	case SCHEDULE_CLOCK:
		due_ns = due_at(schedule, clock_ns(schedule, unit->stream_offset - schedule->origin));
		break;
	case SCHEDULE_FRAMES:
		due_ns = moment_due(schedule, unit, frame_moment(schedule, unit));
		break;
	case SCHEDULE_STAMPS:
		due_ns = moment_due(schedule, unit, stamp_moment(schedule, unit));
		break;
	}
	schedule->last_offset = unit->stream_offset;
	schedule->last_end = unit->stream_offset + unit->bytes;
	if (schedule->kind == SCHEDULE_NONE)
		return SCHEDULE_NOW;
	if (due_ns > schedule->last_due_ns)
		schedule->last_due_ns = due_ns;
	return schedule->last_due_ns;
}

void schedule_close_gap(struct schedule *schedule, uint64_t bytes)
{
	uint64_t at = schedule->last_end - schedule->origin;

	if (schedule->kind == SCHEDULE_RATE)
		schedule->origin += bytes;
	else if (schedule->kind == SCHEDULE_CLOCK)
		schedule->anchor_ns =
			sum(schedule->anchor_ns,
			    difference(clock_ns(schedule, at + bytes), clock_ns(schedule, at)));
	else
		schedule->is_closing = true;
	schedule->last_offset += bytes;
	schedule->last_end += bytes;
}

void schedule_loop(struct schedule *schedule, uint64_t first_offset)
{
	/* where the stream ended, with what may be missing at its end */
	uint64_t end = first_offset > schedule->last_end ? first_offset : schedule->last_end;

	if (schedule->kind == SCHEDULE_RATE) {
		schedule->origin = first_offset - (end - schedule->origin);
	} else if (schedule->kind == SCHEDULE_CLOCK) {
		schedule->anchor_due_ns = due_at(schedule, clock_ns(schedule, end - schedule->origin));
		schedule->anchor_ns = clock_ns(schedule, schedule->first_offset);
		schedule->origin = first_offset - schedule->first_offset;
	} else {
		schedule->anchor_due_ns = next_due(schedule);
		schedule->has_anchor = false;
		schedule->is_closing = false;
	}
	schedule->last_offset = schedule->last_end = first_offset;
}

uint64_t schedule_offset_at(const struct schedule *schedule, int64_t ns)
{
	if (ns > 0 && schedule->kind == SCHEDULE_RATE)
		return rate_offset_at(schedule, ns);
	if (ns > 0 && schedule->kind == SCHEDULE_CLOCK)
		return clock_offset_at(schedule, ns);
	return schedule->first_offset;
}
