/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * succession.h - do the frames of one stream follow each other: which are missing, there twice, late?
 *
 *   struct succession s = { 0 };  succession_take() for each frame  ->  succession_end()
 *   -> succession_missing()
 *
 * A frame says its interval (a second, mostly) and its number in the interval, from 0. How many frames an
 * interval has may be known only in the end: what was lost where the interval changes is kept as a sum
 * that succession_missing() works out.
 *
 * A frame whose time lies far from its neighbours is not believed before the next one agrees with it: one
 * wrong bit in a header must not make a million frames missing. Memory is constant: of the frames behind the
 * newest one SUCCESSION_WINDOW are remembered.
 *
 * Threads: one caller at a time for each succession; nothing is shared.
 */
#ifndef VSIB_DRIVERS_SUCCESSION_H
#define VSIB_DRIVERS_SUCCESSION_H

#include <stdbool.h>
#include <stdint.h>

#define SUCCESSION_WINDOW 64

struct succession {
	uint64_t frame_count;     /* taken, whatever they were */
	uint64_t duplicate_count; /* were there already */
	uint64_t late_count;  /* came after younger ones, into a place that had been left free */
	uint64_t back_count;  /* times the stream went back, and went on from there */
	uint64_t stray_count; /* frames whose time agrees with no neighbour */

	/* private */
	uint64_t interval; /* of the newest frame */
	uint32_t number;
	uint64_t seen; /* bit i: the frame i before the newest one was there */
	bool has_newest;
	uint64_t first_interval; /* of the first one, or of the one the stream went back to */
	uint32_t first_number;
	uint64_t filled_count; /* of the late ones: not before that one */
	bool has_jump;         /* a frame far away that is not believed yet */
	uint64_t jump_interval;
	uint32_t jump_number;
	uint64_t lost_intervals; /* missing = lost_intervals * rate + lost_frames */
	int64_t lost_frames;
};

enum succession_step {
	SUCCESSION_NEXT, /* the one that was expected, or the first */
	SUCCESSION_LOST, /* frames are missing before it */
	SUCCESSION_DUPLICATE,
	SUCCESSION_LATE,
	SUCCESSION_BACK,
	SUCCESSION_FAR, /* not believed yet; later frames tell */
};

/* Missing before a frame: intervals * rate + frames, with the rate that is known in the end. */
struct succession_loss {
	uint64_t intervals;
	int64_t frames;
};

/**
 * succession_take() - the next frame as it comes
 * @rate: frames an interval, as far as known: at least the highest number seen + 1, of all streams
 * @loss: set in every case; zeros when nothing is missing before it
 */
enum succession_step succession_take(struct succession *s, uint64_t interval, uint32_t number,
				     uint32_t rate, struct succession_loss *loss);

/** succession_end() - no more frames: the last one, if it is not believed, is a stray */
void succession_end(struct succession *s);

/** succession_lost() - a loss in frames; 0 if the rate makes it less */
uint64_t succession_lost(const struct succession_loss *loss, uint32_t rate);

/** succession_missing() - frames that are missing between the first one and the newest one */
uint64_t succession_missing(const struct succession *s, uint32_t rate);

#endif
