/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/succession.h"

#define FAR INT64_MAX

/*
 * How many frames later than (interval, number) the other one is; FAR if that can't be told, or if it is
 * more than the window either way.
 */
static int64_t distance(uint64_t interval, uint32_t number, uint64_t other_interval,
			uint32_t other_number, uint32_t rate)
{
	int64_t difference = (int64_t)other_number - number;

	if (other_interval == interval + 1)
		difference += rate;
	else if (other_interval + 1 == interval)
		difference -= rate;
	else if (other_interval != interval)
		return FAR;
	return difference >= -SUCCESSION_WINDOW && difference <= SUCCESSION_WINDOW ? difference : FAR;
}

static void set_newest(struct succession *s, uint64_t interval, uint32_t number, uint64_t seen)
{
	s->interval = interval;
	s->number = number;
	s->seen = seen | 1;
	s->has_newest = true;
}

/* What is older than this one was not expected: it is no loss, and makes up for none. */
static void set_first(struct succession *s, uint64_t interval, uint32_t number)
{
	s->first_interval = interval;
	s->first_number = number;
	set_newest(s, interval, number, 0);
}

static void lose(struct succession *s, uint64_t interval, uint32_t number, struct succession_loss *loss)
{
	struct succession_loss more = { .intervals = interval - s->interval,
					.frames = (int64_t)number - s->number - 1 };

	s->lost_intervals += more.intervals;
	s->lost_frames += more.frames;
	loss->intervals += more.intervals;
	loss->frames += more.frames;
}

static bool is_later(uint64_t interval, uint32_t number, uint64_t other_interval, uint32_t other_number)
{
	return interval > other_interval || (interval == other_interval && number > other_number);
}

/* Two neighbours agree on a time far from the newest frame's: the stream goes on from there. */
static enum succession_step take_jump(struct succession *s, struct succession_loss *loss)
{
	s->has_jump = false;
	if (is_later(s->jump_interval, s->jump_number, s->interval, s->number)) {
		lose(s, s->jump_interval, s->jump_number, loss);
		set_newest(s, s->jump_interval, s->jump_number, 0);
		return SUCCESSION_LOST;
	}
	s->back_count++;
	set_first(s, s->jump_interval, s->jump_number);
	return SUCCESSION_BACK;
}

static enum succession_step take_near(struct succession *s, uint64_t interval, uint32_t number,
				      int64_t later, struct succession_loss *loss)
{
	if (later > 0) {
		lose(s, interval, number, loss);
		set_newest(s, interval, number, later < SUCCESSION_WINDOW ? s->seen << later : 0);
		return later == 1 ? SUCCESSION_NEXT : SUCCESSION_LOST;
	}
	if (later == -SUCCESSION_WINDOW || s->seen >> -later & 1) {
		s->duplicate_count++;
		return SUCCESSION_DUPLICATE;
	}
	s->seen |= UINT64_C(1) << -later;
	s->late_count++;
	s->filled_count += is_later(interval, number, s->first_interval, s->first_number);
	return SUCCESSION_LATE;
}

enum succession_step succession_take(struct succession *s, uint64_t interval, uint32_t number,
				     uint32_t rate, struct succession_loss *loss)
{
	int64_t later;

	*loss = (struct succession_loss){ 0 };
	s->frame_count++;
	if (!s->has_newest) {
		set_first(s, interval, number);
		return SUCCESSION_NEXT;
	}
	later = distance(s->interval, s->number, interval, number, rate);
	if (later != FAR) {
		s->stray_count += s->has_jump;
		s->has_jump = false;
		return take_near(s, interval, number, later, loss);
	}
	if (s->has_jump) {
		later = distance(s->jump_interval, s->jump_number, interval, number, rate);
		if (later != FAR && later > 0) {
			enum succession_step step = take_jump(s, loss);

			take_near(s, interval, number, later, loss);
			return step;
		}
		s->stray_count++;
	}
	s->has_jump = true;
	s->jump_interval = interval;
	s->jump_number = number;
	return SUCCESSION_FAR;
}

void succession_end(struct succession *s)
{
	s->stray_count += s->has_jump;
	s->has_jump = false;
}

/* 128 bits: a hostile file's intervals and rate are anything. */
static uint64_t work_out(uint64_t intervals, int64_t frames, uint64_t found, uint32_t rate)
{
	__int128 missing = (__int128)intervals * rate + frames - (__int128)found;

	return missing < 0 ? 0 : missing > INT64_MAX ? INT64_MAX : (uint64_t)missing;
}

uint64_t succession_lost(const struct succession_loss *loss, uint32_t rate)
{
	return work_out(loss->intervals, loss->frames, 0, rate);
}

uint64_t succession_missing(const struct succession *s, uint32_t rate)
{
	return work_out(s->lost_intervals, s->lost_frames, s->filled_count, rate);
}
