/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * player_send.c - see player_parts.h
 */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "drivers/units.h"
#include "tools/replay/player_parts.h"

/* Between two trials of a destination that takes nothing; twice as long each time. */
#define PAUSE_FIRST_NS INT64_C(20000)
#define PAUSE_BUSY_NS INT64_C(10000000)
#define PAUSE_DOWN_NS INT64_C(100000000)

/* relaxed throughout: one thread writes, and each counter stands for itself */
static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- patience ---- */

static void forgive(struct player_state *s)
{
	s->refused_ns = 0;
}

static void begin_patience(struct player *player, int64_t now)
{
	struct player_state *s = player->state;

	s->refused_ns = now;
	s->pause_ns = PAUSE_FIRST_NS;
	s->refused_down = get(&player->config.destination->stats.down_count);
}

/*
 * A device that takes bytes at a rate of its own is waited for as long as it likes, where nobody else sets the pace.
 * Return: 0; -ETIMEDOUT.
 */
static int lose_patience(struct player *player, int64_t now)
{
	const struct player_state *s = player->state;
	const struct destination *destination = player->config.destination;
	bool is_down = get(&destination->stats.down_count) > s->refused_down;

	if (!s->is_paced && destination->is_paced_by_device)
		return 0;
	if (now - s->refused_ns < player->config.patience_ns)
		return 0;
	return player_fail(player, -ETIMEDOUT, "%s has taken nothing for %.1f s: %s%s%s",
			   destination->name, (double)(now - s->refused_ns) / 1e9,
			   is_down ? "it cannot be reached" : "it is full",
			   destination->error[0] ? ": " : "", destination->error);
}

/* @has_waited: the call did so itself. Return: 0: try again; -ETIMEDOUT. */
static int be_patient(struct player *player, bool has_waited)
{
	struct player_state *s = player->state;
	int64_t now = units_monotonic_ns();
	struct timespec pause = { 0 };
	bool is_down;
	int ret;

	if (s->refused_ns == 0)
		begin_patience(player, now);
	ret = lose_patience(player, now);
	if (ret < 0 || has_waited)
		return ret;
	is_down = get(&player->config.destination->stats.down_count) > s->refused_down;
	pause.tv_nsec = s->pause_ns;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL); /* a stop cuts it short */
	s->pause_ns *= 2;
	if (s->pause_ns > (is_down ? PAUSE_DOWN_NS : PAUSE_BUSY_NS))
		s->pause_ns = is_down ? PAUSE_DOWN_NS : PAUSE_BUSY_NS;
	return 0;
}

/* ---- sending ---- */

static int fail_to_send(struct player *player, ssize_t ret)
{
	return player_fail(player, (int)ret, "%s", player->config.destination->error);
}

static void count_sent(struct player *player, const struct player_piece *piece, size_t bytes)
{
	destination_count(&player->stats.sent_bytes, bytes);
	if (piece->is_double)
		player->state->doubled_bytes += bytes;
}

static void count_units(struct player *player, unsigned count)
{
	struct player_state *s = player->state;
	const struct player_piece *last = &s->pieces[count - 1];

	for (unsigned i = 0; i < count; i++)
		count_sent(player, &s->pieces[i], s->units[i].bytes);
	destination_count(&player->stats.sent_count, count);
	/* relaxed: a figure to look at */
	atomic_store_explicit(&player->stats.stream_offset,
			      last->stream_offset + s->units[count - 1].bytes, memory_order_relaxed);
}

/* What has no time stamp of its own gets the moment that it stands for, or that it goes out. */
static void stamp(struct player *player, unsigned count, int64_t now)
{
	struct player_state *s = player->state;
	const struct schedule *schedule = player->config.schedule;
	int64_t start_utc_ns = atomic_load_explicit(&player->stats.start_utc_ns, memory_order_relaxed);

	for (unsigned i = 0; i < count; i++) {
		int64_t due_ns = s->pieces[i].due_ns;

		if (s->units[i].utc_ns)
			continue;
		if (due_ns == SCHEDULE_NOW)
			s->units[i].utc_ns = start_utc_ns + (now - s->start_ns);
		else
			s->units[i].utc_ns =
				(schedule->has_first ? schedule->first_utc_ns : start_utc_ns) + due_ns;
	}
}

static int send_units(struct player *player, unsigned count, int64_t now)
{
	struct player_state *s = player->state;
	ssize_t sent;

	stamp(player, count, now);
	sent = destination_send(player->config.destination, s->units, count);
	if (sent < 0)
		return fail_to_send(player, sent);
	if (sent == 0)
		return be_patient(player, false);
	forgive(s);
	player_note_sent(player, (unsigned)sent, now);
	count_units(player, (unsigned)sent);
	player_drop_row(player, (unsigned)sent);
	return 0;
}

/* The first of the row, or the rest of it. */
static int send_bytes(struct player *player, int64_t now)
{
	struct player_state *s = player->state;
	const struct destination_unit *unit = &s->units[0];
	const char *data = unit->parts[0].iov_base;
	ssize_t sent = destination_write(player->config.destination, data + s->first_sent,
					 unit->bytes - s->first_sent, now + PLAYER_SLICE_NS);

	if (sent < 0)
		return fail_to_send(player, sent);
	if (sent == 0)
		return be_patient(player, units_monotonic_ns() - now >= PLAYER_SLICE_NS / 2);
	forgive(s);
	if (s->first_sent == 0)
		player_note_sent(player, 1, now);
	count_sent(player, &s->pieces[0], (size_t)sent);
	s->first_sent += (size_t)sent;
	atomic_store_explicit(&player->stats.stream_offset,
			      s->pieces[0].stream_offset + s->first_sent, memory_order_relaxed);
	if (s->first_sent < unit->bytes)
		return 0;
	destination_count(&player->stats.sent_count, 1);
	player_drop_row(player, 1);
	return 0;
}

int player_send(struct player *player, unsigned count, int64_t now)
{
	int ret;

	if (player->config.destination->takes == DESTINATION_BYTES)
		ret = send_bytes(player, now);
	else
		ret = send_units(player, count, now);
	player_say_notes(player);
	player_note_device(player, now);
	return ret;
}
