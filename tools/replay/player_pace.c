/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * player_pace.c - see player_parts.h
 *
 * Who is late sends what is due at once; of units no more than a burst, then at twice the rate from that moment on: each
 * further one half as long behind the one before as it should be, until that is no later than it is due.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "drivers/units.h"
#include "tools/replay/player_parts.h"

#define TELL_NS UNITS_NS_PER_S /* between two sentences on underruns */

/* relaxed throughout: one thread writes, and each counter stands for itself */
static void set_ns(_Atomic int64_t *to, int64_t ns)
{
	atomic_store_explicit(to, ns, memory_order_relaxed);
}

static int64_t get_ns(const _Atomic int64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

void player_begin_pace(struct player *player)
{
	cpu_set_t cpus;

	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	CPU_ZERO(&cpus);
	player->state->may_spin = player->config.is_precise &&
				  sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
				  CPU_COUNT(&cpus) > 1;
}

/* ---- when ---- */

/* CLOCK_MONOTONIC; INT64_MIN: at once. */
static int64_t moment_of(const struct player_state *s, unsigned index)
{
	int64_t due_ns = s->pieces[index].due_ns, due, catching;

	if (due_ns == SCHEDULE_NOW)
		return INT64_MIN;
	if (__builtin_add_overflow(s->start_ns, due_ns, &due))
		return INT64_MAX;
	if (!s->is_catching)
		return due;
	catching = s->catch_ns + (due_ns - s->catch_due_ns) / 2;
	return catching > due ? catching : due;
}

/* Bytes are taken as they come: how many at once is whoever reads them's affair. */
static bool has_bursts(const struct player *player)
{
	return player->state->is_paced && player->config.destination->takes != DESTINATION_BYTES;
}

/* No more than these go out together. */
static unsigned batch_most(const struct player *player)
{
	if (player->config.destination->takes == DESTINATION_BYTES)
		return 1;
	return has_bursts(player) && player->config.burst < DESTINATION_BATCH ? player->config.burst :
										DESTINATION_BATCH;
}

/* Up to when units go out together with the first of the row. */
static int64_t group_end(const struct player *player)
{
	int64_t first = moment_of(player->state, 0), end;

	if (__builtin_add_overflow(first, player->config.grain_ns, &end))
		return INT64_MAX;
	return end;
}

bool player_wants_more(const struct player *player, int64_t now)
{
	const struct player_state *s = player->state;
	int64_t last, end;

	if (s->count == 0)
		return true;
	last = moment_of(s, s->count - 1);
	end = group_end(player);
	return s->count < batch_most(player) && last <= (now > end ? now : end);
}

/* The last moment of those that are to go out together. */
static int64_t group_moment(const struct player *player)
{
	const struct player_state *s = player->state;
	unsigned most = batch_most(player), last = 0;
	int64_t end = group_end(player);

	while (last + 1 < s->count && last + 1 < most && moment_of(s, last + 1) <= end)
		last++;
	return moment_of(s, last);
}

static void begin_catching(struct player *player, int64_t now)
{
	struct player_state *s = player->state;

	destination_count(&player->stats.burst_count, 1);
	s->is_catching = true;
	s->catch_ns = now;
	s->catch_due_ns = s->last_due_ns;
	s->run = 0;
}

unsigned player_ready(struct player *player, int64_t now)
{
	struct player_state *s = player->state;
	unsigned most = DESTINATION_BATCH, ready = 0;

	if (has_bursts(player)) {
		if (s->run >= player->config.burst && moment_of(s, 0) <= now)
			begin_catching(player, now);
		if (player->config.burst - s->run < most)
			most = player->config.burst - s->run;
	}
	if (most > s->count)
		most = s->count;
	if (player->config.grain_ns && group_moment(player) > now)
		return 0;
	while (ready < most && moment_of(s, ready) <= now)
		ready++;
	return ready;
}

/* ---- sleeping ---- */

static void sleep_until(int64_t when_ns)
{
	const struct timespec at = { when_ns / UNITS_NS_PER_S, when_ns % UNITS_NS_PER_S };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

void player_sleep(struct player *player)
{
	struct player_state *s = player->state;
	int64_t when = group_moment(player), now = units_monotonic_ns();
	int64_t slice = now + PLAYER_SLICE_NS;

	s->run = 0;
	s->is_behind = false;
	if (when > slice) {
		sleep_until(slice);
		return;
	}
	if (when - now > (s->may_spin ? PLAYER_SPIN_NS : 0))
		sleep_until(s->may_spin ? when - PLAYER_SPIN_NS : when);
	while (s->may_spin && units_monotonic_ns() < when && !player_is_stopping(player))
		;
}

void player_wait_block(struct player *player)
{
	struct player_state *s = player->state;
	struct ring *ring = player->config.ring;
	uint32_t ticket = ring_listen(ring, 0);
	int64_t now;

	if (ring_queue_length(ring, 0) > 0 || player_is_stopping(player))
		return;
	now = units_monotonic_ns();
	if (s->empty_ns == 0)
		s->empty_ns = now;
	s->run = 0;
	ring_sleep(ring, 0, ticket, now + PLAYER_SLICE_NS);
}

/* ---- underruns ---- */

static void tell_underrun(struct player *player, const struct player_underrun *underrun, int64_t now)
{
	struct player_state *s = player->state;
	uint64_t count = atomic_load_explicit(&player->stats.underrun_count, memory_order_relaxed);

	if (s->told_ns && now - s->told_ns < TELL_NS)
		return;
	s->told_ns = now;
	if (underrun->cause == PLAYER_STARVED_RING)
		player_say(player,
			   "the ring was empty for %.6f s: nothing to send at stream offset %" PRIu64
			   " (underruns so far: %" PRIu64 ")",
			   (double)underrun->length_ns / 1e9, underrun->stream_offset, count);
	else
		player_say(player,
			   "%s was found empty at stream offset %" PRIu64
			   " (underruns so far: %" PRIu64 ")",
			   player->config.destination->name, underrun->stream_offset, count);
}

static void note_underrun(struct player *player, enum player_starved cause, int64_t from_ns,
			  int64_t length_ns, uint64_t stream_offset)
{
	struct player_stats *stats = &player->stats;
	uint64_t count = atomic_load_explicit(&stats->underrun_count, memory_order_relaxed);
	struct player_underrun underrun = {
		.utc_ns = get_ns(&stats->start_utc_ns) + (from_ns - player->state->start_ns),
		.stream_offset = stream_offset,
		.length_ns = length_ns,
		.cause = cause,
	};

	if (count < PLAYER_UNDERRUNS_MAX)
		player->underruns[count] = underrun;
	destination_count(&stats->underrun_count, 1);
	set_ns(&stats->underrun_ns, get_ns(&stats->underrun_ns) + length_ns);
	tell_underrun(player, &underrun, from_ns + length_ns);
}

/* Who has not caught up yet has not got over the one before. */
static void lengthen_underrun(struct player *player, int64_t length_ns)
{
	uint64_t which = player->state->underrun;

	if (which < PLAYER_UNDERRUNS_MAX)
		player->underruns[which].length_ns += length_ns;
	set_ns(&player->stats.underrun_ns, get_ns(&player->stats.underrun_ns) + length_ns);
}

void player_note_filled(struct player *player, int64_t now)
{
	struct player_state *s = player->state;
	int64_t due = moment_of(s, 0), from = s->empty_ns;

	s->empty_ns = 0;
	if (from == 0 || !s->is_running || due == INT64_MIN)
		return;
	if (from < due)
		from = due;
	if (now <= from)
		return;
	if (s->is_behind) {
		lengthen_underrun(player, now - from);
		return;
	}
	s->is_behind = true;
	s->underrun = atomic_load_explicit(&player->stats.underrun_count, memory_order_relaxed);
	note_underrun(player, PLAYER_STARVED_RING, from, now - from, s->pieces[0].stream_offset);
}

void player_note_device(struct player *player, int64_t now)
{
	struct player_state *s = player->state;
	const struct destination_stats *device = &player->config.destination->stats;
	uint64_t starved = atomic_load_explicit(&device->starved_count, memory_order_relaxed);
	uint64_t offset = atomic_load_explicit(&player->stats.stream_offset, memory_order_relaxed);

	for (; s->told_starved < starved; s->told_starved++)
		note_underrun(player, PLAYER_STARVED_DEVICE, now, 0, offset);
}

/* ---- what went out ---- */

static void note_error(struct player *player, int64_t error_ns)
{
	struct player_stats *stats = &player->stats;

	set_ns(&stats->error_sum_ns, get_ns(&stats->error_sum_ns) + error_ns);
	if (error_ns > get_ns(&stats->error_max_ns))
		set_ns(&stats->error_max_ns, error_ns);
	spread_add(&stats->error, error_ns);
	if (error_ns > PLAYER_LATE_NS)
		destination_count(&stats->late_count, 1);
}

static void note_run(struct player *player, unsigned count)
{
	struct player_state *s = player->state;

	s->run += count;
	if (s->run > 1 &&
	    s->run > atomic_load_explicit(&player->stats.burst_longest, memory_order_relaxed))
		atomic_store_explicit(&player->stats.burst_longest, s->run, memory_order_relaxed);
}

void player_note_sent(struct player *player, unsigned count, int64_t now)
{
	struct player_state *s = player->state;

	for (unsigned i = 0; i < count; i++) {
		int64_t due_ns = s->pieces[i].due_ns;

		if (s->last_ns)
			spread_add(&player->stats.spacing, now - s->last_ns);
		s->last_ns = now;
		if (due_ns == SCHEDULE_NOW)
			continue;
		note_error(player, now - s->start_ns - due_ns);
		s->last_due_ns = due_ns;
		if (s->is_catching && moment_of(s, i) <= s->start_ns + due_ns)
			s->is_catching = false;
	}
	if (has_bursts(player))
		note_run(player, count);
}
