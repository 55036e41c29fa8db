/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.h - when each byte of a stream is due
 *
 *   schedule_init_...() -> schedule_due() for each unit, in their order -> schedule_free()
 *
 * All times count from the schedule's begin, so that nothing drifts: the player adds its start. Moments of one schedule
 * never go back: a time code or stamp that does is taken for the latest before it, and counted. Where it stays behind, or
 * is far ahead without bytes that are missing, the next one must bear it out: one wrong bit neither stops the stream nor
 * lets it run away, and a clock that was set back (also by a leap second) is followed from there on.
 *
 * Threads: one caller at a time.
 */
#ifndef VSIB_TOOLS_REPLAY_SCHEDULE_H
#define VSIB_TOOLS_REPLAY_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/format.h"
#include "tools/history.h"

#define SCHEDULE_NOW INT64_MIN /* due at once: as fast as possible */

enum schedule_kind {
	SCHEDULE_NONE,   /* as fast as possible */
	SCHEDULE_RATE,   /* stream_offset x 8 / rate */
	SCHEDULE_CLOCK,  /* the journal's clock lines, straight lines between them */
	SCHEDULE_FRAMES, /* the time code in each frame (drivers/vdif.h, mark5b.h ...) */
	SCHEDULE_STAMPS, /* the time stamps of packets */
};

/* What is to be sent next. */
struct schedule_unit {
	uint64_t stream_offset; /* of its first byte */
	const void *data;       /* that byte ... */
	size_t bytes; /* ... and how many lie there in one piece; SCHEDULE_FRAMES needs all of the unit */
	int64_t utc_ns; /* time stamp of a packet; 0 = none */
};

struct schedule {
	enum schedule_kind kind;
	uint64_t rate_bps;
	double speed; /* of SCHEDULE_CLOCK, _FRAMES, _STAMPS: 2 = twice as fast; and of _RATE, 1 + ppm / 10^6 */
	uint64_t first_offset; /* due at 0 */
	int64_t first_utc_ns;  /* the same in UTC, once it is known */
	bool has_first;
	struct history_clock *clocks; /* SCHEDULE_CLOCK: our copy, in order */
	size_t clock_count, clock_at;
	struct format_layout layout; /* SCHEDULE_FRAMES */
	uint64_t format_offset;      /* of a frame's first stride in the stream */
	int64_t last_due_ns;
	uint64_t backward_count; /* times that went back */
	uint64_t timeless_count; /* units without a time that could be read: where they are expected */
	/* the schedule's own: */
	uint64_t speed_nano; /* 10^9 x speed: what is reckoned with */
	uint64_t origin; /* RATE: the byte due at 0, had there been no gaps; CLOCK: ahead of the recording's offsets */
	bool has_anchor; /* this moment of the stream's own time is due then: */
	int64_t anchor_ns, anchor_due_ns;
	int64_t last_ns;                /* of the stream's own time, of the unit before */
	uint64_t last_offset, last_end; /* where it lay */
	uint64_t unit_count;            /* since the anchor */
	bool has_leap;                  /* the unit before was far off, at this moment: */
	int64_t leap_ns;
	bool is_closing; /* a gap was closed up, and no unit came since */
	bool is_shared;  /* frames of several threads have the same moment */
};

/** schedule_init_none(), _rate() - @rate_bps > 0, @speed > 0; the stream begins at @first_offset */
void schedule_init_none(struct schedule *schedule);
void schedule_init_rate(struct schedule *schedule, uint64_t rate_bps, double speed,
			uint64_t first_offset);

/**
 * schedule_init_clock() - by what the journal says: its clock lines, or where it has fewer than two, its rate or its length
 * Return: 0; -ENODATA: it has none of these; -ENOMEM.
 */
int schedule_init_clock(struct schedule *schedule, const struct history *history, double speed,
			uint64_t first_offset);

/**
 * schedule_init_frames() - by the frames' own time codes
 * @layout:       of format_detect(), with a known rate of frames
 * @frame_offset: of any frame's stride in the stream
 *
 * Return: 0; -ENOTSUP: frames of this format tell no time, or no rate is known.
 */
int schedule_init_frames(struct schedule *schedule, const struct format_layout *layout,
			 uint64_t frame_offset, double speed, uint64_t first_offset);
void schedule_init_stamps(struct schedule *schedule, double speed);

/** schedule_free() - a zeroed one is fine */
void schedule_free(struct schedule *schedule);

/** schedule_due() - Return: ns since the begin; SCHEDULE_NOW. */
int64_t schedule_due(struct schedule *schedule, const struct schedule_unit *unit);

/**
 * schedule_close_gap() - bytes that are not there take no time: what follows them is due at once behind what was before
 *
 * Before the schedule_due() of the first unit behind the gap.
 */
void schedule_close_gap(struct schedule *schedule, uint64_t bytes);

/** schedule_loop() - the stream begins anew at @first_offset: its first unit is due when the one behind the last would be */
void schedule_loop(struct schedule *schedule, uint64_t first_offset);

/** schedule_offset_at() - byte of the stream that is due @ns after the begin; for --start and --stop of RATE and CLOCK */
uint64_t schedule_offset_at(const struct schedule *schedule, int64_t ns);

/** schedule_frame_utc_ns() - the moment a frame's header tells; @data: layout->need_bytes. Return: 0: none. */
int64_t schedule_frame_utc_ns(const struct format_layout *layout, const void *data);

/** schedule_name() - "rate", "clock" ... for the report */
const char *schedule_name(enum schedule_kind kind);

#endif
