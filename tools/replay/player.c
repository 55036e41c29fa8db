/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/player.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/pace.h"
#include "drivers/units.h"
#include "tools/replay/player_parts.h"

#define QUIET_NS \
	(3 * UNITS_NS_PER_S) /* nothing more comes into a ring that isn't full: it is begun */
#define FINISH_NS \
	(600 * UNITS_NS_PER_S)    /* for a device to empty itself, a disk to take what it has */
#define LEAD_NS INT64_C(50000000) /* so long before its time the wall clock is left for the other */

const char *player_starved_name(enum player_starved cause)
{
	return cause == PLAYER_STARVED_RING ? "ring" : "device";
}

/* ---- sentences ---- */

int player_fail(struct player *player, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(player->error, sizeof(player->error), format, args);
	va_end(args);
	return ret;
}

void player_say(struct player *player, const char *format, ...)
{
	char sentence[PLAYER_ERROR_LEN];
	va_list args;

	if (!player->config.say)
		return;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	player->config.say(player->config.context, sentence);
}

void player_say_notes(struct player *player)
{
	char notes[DESTINATION_ERROR_LEN], *rest = notes, *line;

	if (!player->config.destination->note[0])
		return;
	memcpy(notes, player->config.destination->note, sizeof(notes));
	while ((line = strsep(&rest, "\n")) != NULL)
		player_say(player, "%s", line);
}

/* ---- making one ---- */

static int check_config(struct player *player)
{
	const struct player_config *config = &player->config;

	if (config->burst == 0)
		return player_fail(player, -EINVAL, "a burst has one unit at least");
	if (config->destination->takes == DESTINATION_BYTES && config->disturbance)
		return player_fail(player, -EINVAL,
				   "%s takes a stream: only datagrams and packets can be disturbed",
				   config->destination->name);
	return 0;
}

int player_create(struct player **out, const struct player_config *config)
{
	struct player *player = calloc(1, sizeof(*player));
	struct player_state *s = calloc(1, sizeof(*s));

	*out = player;
	if (!player || !s) {
		free(s);
		return -ENOMEM;
	}
	player->state = s;
	player->config = *config;
	s->block = RING_NONE;
	s->is_paced = config->schedule->kind != SCHEDULE_NONE;
	bell_init(&s->bell);
	s->waiting = calloc(ring_block_count(config->ring), sizeof(*s->waiting));
	s->carry = malloc(config->frame_bytes ? config->frame_bytes : 1);
	if (!s->waiting || !s->carry)
		return -ENOMEM;
	return check_config(player);
}

/* ---- before the first unit ---- */

static bool is_kind(const struct player *player, uint32_t block, enum play_kind kind)
{
	const struct play_label *label = ring_label(player->config.ring, block);

	return label->kind == kind;
}

/*
 * Where nothing has a pace the first block may go out at once. One is the feed's own, for the end, and one may be kept
 * free for a gap; it may keep some more back, no more than half.
 */
static bool is_filled(const struct player *player, int64_t news_ns)
{
	const struct player_state *s = player->state;
	struct ring *ring = player->config.ring;
	uint32_t most = ring_block_count(ring) - 1 - PLAY_RESERVE;
	bool has_pace = s->is_paced || player->config.destination->is_paced_by_device;

	if (s->waiting_count == 0)
		return false;
	if (!has_pace || s->waiting_count >= most)
		return true;
	if (ring_free_count(ring) == 0 && s->waiting_count >= most / 2)
		return true;
	return units_monotonic_ns() - news_ns >= QUIET_NS;
}

/* Return: 0; -EINTR. */
static int wait_until_filled(struct player *player)
{
	struct player_state *s = player->state;
	struct ring *ring = player->config.ring;
	int64_t news_ns = units_monotonic_ns();

	while (!player_is_stopping(player)) {
		uint32_t ticket = ring_listen(ring, 0), block;

		while ((block = ring_claim(ring, 0)) != RING_NONE) {
			s->waiting[s->waiting_count++] = block;
			news_ns = units_monotonic_ns();
			if (is_kind(player, block, BLOCK_END))
				return 0;
		}
		if (is_filled(player, news_ns))
			return 0;
		ring_sleep(ring, 0, ticket, units_monotonic_ns() + PLAYER_SLICE_NS);
	}
	return -EINTR;
}

/* Who stops us meanwhile interrupts it: nothing is in the device yet. */
static int start_destination(struct player *player)
{
	struct player_state *s = player->state;
	struct destination *destination = player->config.destination;
	int ret = -EINTR;

	/* seq_cst against player_stop(): one of both sees the other */
	atomic_store_explicit(&s->is_starting, true, memory_order_seq_cst);
	if (!atomic_load_explicit(&s->is_stopping, memory_order_seq_cst))
		ret = destination_start(destination);
	atomic_store_explicit(&s->is_starting, false, memory_order_seq_cst);
	player_say_notes(player);
	if (ret < 0 && player_is_stopping(player))
		return -EINTR;
	return ret < 0 ? player_fail(player, ret, "%s", destination->error) : 0;
}

static void set_start(struct player *player, int64_t start_ns, int64_t utc_ns)
{
	struct player_stats *stats = &player->stats;

	player->state->start_ns = start_ns;
	player->state->is_running = true;
	player->state->empty_ns = 0;
	/* relaxed: the moment itself is released behind it */
	atomic_store_explicit(&stats->start_utc_ns, utc_ns, memory_order_relaxed);
	atomic_store_explicit(&stats->started_ns, start_ns, memory_order_release);
}

/* Return: 0; -EINTR; -errno of the destination. */
static int begin(struct player *player)
{
	struct player_state *s = player->state;
	int64_t wanted = player->config.start_utc_ns, utc;
	int ret = start_destination(player);

	if (ret < 0)
		return ret;
	if (wanted && wanted < units_realtime_ns())
		player_say(player, "the start time is past; started at once");
	if (wanted && !pace_wait_utc(wanted - LEAD_NS, &s->is_stopping))
		return -EINTR;
	utc = units_realtime_ns();
	if (wanted > utc)
		set_start(player, units_monotonic_ns() + (wanted - utc), wanted);
	else
		set_start(player, units_monotonic_ns(), utc);
	return 0;
}

/* ---- playing ---- */

/* All that has to be looked at, into the row. Return: enum player_cut; -EINVAL. */
static int fill_row(struct player *player, int64_t now)
{
	int ret = PLAYER_CUT;

	while (ret == PLAYER_CUT && player_wants_more(player, now))
		ret = player_cut(player);
	return ret;
}

/* Return: 1 go on; 0 all is out; -errno. */
static int turn(struct player *player)
{
	struct player_state *s = player->state;
	int64_t now = units_monotonic_ns();
	unsigned ready;
	int ret = fill_row(player, now);

	if (ret < 0)
		return ret;
	if (s->count == 0) {
		if (ret == PLAYER_CUT_END)
			return 0;
		player_wait_block(player);
		return 1;
	}
	if (!s->is_running) {
		ret = begin(player);
		return ret < 0 ? ret : 1;
	}
	if (s->empty_ns)
		player_note_filled(player, now);
	ready = player_ready(player, now);
	if (ready == 0) {
		player_sleep(player);
		return 1;
	}
	ret = player_send(player, ready, now);
	return ret < 0 ? ret : 1;
}

static int play(struct player *player)
{
	int ret = wait_until_filled(player);

	/* relaxed: a figure to look at */
	atomic_store_explicit(&player->stats.armed_ns, units_monotonic_ns(), memory_order_relaxed);
	for (ret = ret < 0 ? ret : 1; ret == 1;)
		ret = player_is_stopping(player) ? -EINTR : turn(player);
	return ret;
}

/* ---- the end ---- */

/* Each byte that was given has become exactly one thing. */
static void check_account(const struct player *player)
{
	const struct player_state *s = player->state;
	const struct player_stats *stats = &player->stats;
	uint64_t sent = atomic_load_explicit(&stats->sent_bytes, memory_order_relaxed);
	uint64_t rest = atomic_load_explicit(&stats->rest_bytes, memory_order_relaxed);
	uint64_t unsent = atomic_load_explicit(&stats->unsent_bytes, memory_order_relaxed);

	assert(s->given_bytes == sent - s->doubled_bytes + s->lost_bytes + rest + unsent);
	(void)s, (void)sent, (void)rest, (void)unsent;
}

/* Return: what became of it: the first error counts. */
static int finish(struct player *player, int result)
{
	struct destination *destination = player->config.destination;
	int64_t begin_ns = units_monotonic_ns();
	int ret;

	/* relaxed: who sees it late wakes in vain */
	atomic_store_explicit(&player->state->is_finishing, true, memory_order_relaxed);
	if (!player->state->is_running)
		return result;
	ret = destination_finish(destination, begin_ns + FINISH_NS);
	player_say_notes(player);
	player_note_device(player, units_monotonic_ns());
	/* relaxed: a figure to look at */
	atomic_store_explicit(&player->stats.finish_ns, units_monotonic_ns() - begin_ns,
			      memory_order_relaxed);
	if (ret == 0 || (result < 0 && result != -EINTR))
		return result;
	return player_fail(player, ret, "%s", destination->error);
}

static void *player_main(void *arg)
{
	struct player *player = arg;
	int result;

	pthread_setname_np(pthread_self(), "player");
	player_begin_pace(player);
	result = play(player);
	player_count_unsent(player);
	check_account(player);
	player->result = finish(player, result);
	atomic_store_explicit(&player->stats.ended_ns, units_monotonic_ns(), memory_order_relaxed);
	/* release: who sees it sees result, error and counters as they are in the end */
	atomic_store_explicit(&player->is_ended, true, memory_order_release);
	bell_ring(&player->state->bell);
	return NULL;
}

/* ---- from outside ---- */

static void ignore_signal(int signal)
{
	(void)signal; /* its only work is to end a call of the player's that waits */
}

int player_start(struct player *player)
{
	struct sigaction action = { .sa_handler = ignore_signal };
	int ret;

	sigaction(SIGUSR2, &action, NULL); /* no SA_RESTART */
	ret = pthread_create(&player->state->thread, NULL, player_main, player);
	if (ret)
		return player_fail(player, -ret, "cannot start a thread: %s", strerror(ret));
	/* release: who sees it may use the thread's name */
	atomic_store_explicit(&player->state->is_started, true, memory_order_release);
	return 0;
}

/* Out of whatever call it waits in. One that was entered right behind the signal waits on: so it comes again. */
static void nudge(const struct player *player)
{
	const struct player_state *s = player->state;

	if (atomic_load_explicit(&s->is_started, memory_order_acquire) &&
	    !atomic_load_explicit(&s->is_finishing, memory_order_relaxed))
		pthread_kill(s->thread, SIGUSR2);
}

void player_stop(struct player *player)
{
	struct player_state *s = player->state;

	/* seq_cst: see start_destination() */
	atomic_store_explicit(&s->is_stopping, true, memory_order_seq_cst);
	if (atomic_load_explicit(&s->is_starting, memory_order_seq_cst))
		destination_interrupt(player->config.destination);
	ring_wake(player->config.ring, 0);
	nudge(player);
}

bool player_wait(struct player *player, int64_t deadline_ns)
{
	for (;;) {
		uint32_t ticket = bell_listen(&player->state->bell);
		int64_t now = units_monotonic_ns();
		int64_t slice = now + PLAYER_SLICE_NS;

		if (atomic_load_explicit(&player->is_ended, memory_order_acquire))
			return true;
		if (now >= deadline_ns)
			return false;
		if (player_is_stopping(player))
			nudge(player);
		bell_sleep(&player->state->bell, ticket, slice < deadline_ns ? slice : deadline_ns);
	}
}

void player_free(struct player *player)
{
	if (!player)
		return;
	if (player->state && atomic_load_explicit(&player->state->is_started, memory_order_acquire)) {
		player_stop(player);
		player_wait(player, INT64_MAX);
		pthread_join(player->state->thread, NULL);
	}
	if (player->state) {
		player_drop_row(player, player->state->count);
		for (unsigned i = 0; i < player->state->held_count; i++)
			free(player->state->held_pieces[i].copy);
		free(player->state->waiting);
		free(player->state->carry);
		free(player->state);
	}
	free(player);
}
