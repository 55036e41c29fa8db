/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/player.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "drivers/units.h"
#include "tools/replay/player_parts.h"

#define QUEUE 0
#define PREFILL_NS (2 * UNITS_NS_PER_S) /* a ring that fills slowly is not waited for any longer */
#define SLICE_NS INT64_C(50000000)      /* of a wait that a stop can't end */
#define LATE_NS INT64_C(1000000)
#define RETRY_LEAST_NS INT64_C(100000)
#define RETRY_BUSY_NS INT64_C(10000000)
#define RETRY_DOWN_NS INT64_C(100000000)
#define FINISH_NS (60 * UNITS_NS_PER_S)
#define SAY_NS UNITS_NS_PER_S /* not more than one sentence about underruns in this time */

const char *player_starved_name(enum player_starved cause)
{
	return cause == PLAYER_STARVED_RING ? "ring" : "device";
}

/* ---- words --------------------------------------------------------------------------------------- */

static int fail(struct player *player, int ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct player *player, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(player->error, sizeof(player->error), format, args);
	va_end(args);
	return ret;
}

static int fail_destination(struct player *player, int ret)
{
	const struct destination *destination = player->config.destination;

	return fail(player, ret, "%s", destination->error[0] ? destination->error : strerror(-ret));
}

static void say(struct player *player, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct player *player, const char *format, ...)
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

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed); /* our own, or a figure to look at */
}

static void set_time(_Atomic int64_t *time, int64_t ns)
{
	/* release: who sees the moment sees what was before it */
	atomic_store_explicit(time, ns, memory_order_release);
}

/* ---- underruns ----------------------------------------------------------------------------------- */

static void add_underrun(struct player_state *state, uint64_t stream_offset, int64_t length_ns,
			 int64_t now, enum player_starved cause)
{
	struct player *player = state->player;
	struct player_stats *stats = &player->stats;
	uint64_t count = get(&stats->underrun_count);

	if (count < PLAYER_UNDERRUNS_MAX)
		player->underruns[count] = (struct player_underrun){
			.utc_ns = units_realtime_ns() - length_ns,
			.stream_offset = stream_offset,
			.length_ns = length_ns,
			.cause = cause,
		};
	player_count(&stats->underrun_count, 1);
	atomic_store_explicit(&stats->underrun_ns,
			      atomic_load_explicit(&stats->underrun_ns, memory_order_relaxed) + length_ns,
			      memory_order_relaxed);
	if (state->said_ns && now - state->said_ns < SAY_NS) {
		state->unsaid_count++;
		return;
	}
	if (cause == PLAYER_STARVED_RING)
		say(player,
		    "underrun: at byte %" PRIu64
		    " of the stream there was nothing to send for %.1f ms: it is read too slowly",
		    stream_offset, (double)length_ns / 1e6);
	else
		say(player, "underrun: at byte %" PRIu64 " of the stream the device was found empty",
		    stream_offset);
	if (state->unsaid_count)
		say(player, "underrun: %" PRIu64 " more before that", state->unsaid_count);
	state->said_ns = now;
	state->unsaid_count = 0;
}

/* Something has come again: was it due while there was nothing? */
static void end_emptiness(struct player_state *state, int64_t now)
{
	const struct cut_unit *first = &state->units[state->unit_first];
	int64_t due_ns = first->due_ns, since_ns = state->empty_since_ns;

	state->empty_since_ns = 0;
	if (!since_ns || due_ns == SCHEDULE_NOW)
		return;
	due_ns += state->start_ns;
	if (due_ns > since_ns)
		since_ns = due_ns;
	if (now - since_ns > LATE_NS)
		add_underrun(state, first->stream_offset, now - since_ns, now, PLAYER_STARVED_RING);
}

static void look_at_device(struct player_state *state, uint64_t stream_offset, int64_t now)
{
	uint64_t count = get(&state->player->config.destination->stats.starved_count);

	if (count == state->starved_count)
		return;
	state->starved_count = count;
	add_underrun(state, stream_offset, 0, now, PLAYER_STARVED_DEVICE);
}

/* ---- waiting ------------------------------------------------------------------------------------- */

/* Also ended by what the feed puts, and by player_stop(). */
static void sleep_until(struct player_state *state, int64_t when_ns)
{
	struct ring *ring = state->player->config.ring;

	for (;;) {
		uint32_t ticket = ring_listen(ring, QUEUE);

		if (player_is_stopped(state) || units_monotonic_ns() >= when_ns)
			return;
		ring_sleep(ring, QUEUE, ticket, when_ns);
	}
}

/* For the other thread of this core. */
static void relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

static void wait_until(struct player_state *state, int64_t when_ns)
{
	if (!state->player->config.is_precise) {
		sleep_until(state, when_ns);
		return;
	}
	sleep_until(state, when_ns - PLAYER_SPIN_NS);
	while (units_monotonic_ns() < when_ns && !player_is_stopped(state))
		relax();
}

/* For blocks. Return: false: stopped. */
static bool wait_for_blocks(struct player_state *state, int64_t deadline_ns)
{
	struct ring *ring = state->player->config.ring;
	uint32_t before = state->block_count, ticket = ring_listen(ring, QUEUE);

	player_claim(state);
	if (state->block_count == before && !state->has_end && !player_is_stopped(state))
		ring_sleep(ring, QUEUE, ticket, deadline_ns);
	return !player_is_stopped(state);
}

/* ---- the start ----------------------------------------------------------------------------------- */

/* Until the ring is full, or the feed has ended, or it takes too long. */
static void fill_ring(struct player_state *state)
{
	struct ring *ring = state->player->config.ring;
	int64_t deadline = units_monotonic_ns() + PREFILL_NS;

	while (wait_for_blocks(state, deadline) && !state->has_end) {
		bool is_full = ring_free_count(ring) == 0 &&
			       state->block_count + 1 >= ring_block_count(ring);

		if (is_full || (state->block_count > 0 && units_monotonic_ns() >= deadline))
			return;
		if (units_monotonic_ns() >= deadline)
			deadline = INT64_MAX; /* nothing at all has come yet */
	}
}

/* The moment wanted, by the clock that doesn't step; looked at again, for the other one may. */
static void wait_for_moment(struct player_state *state)
{
	const struct player_config *config = &state->player->config;
	int64_t left;

	if (!config->start_utc_ns || config->destination->is_paced_by_device)
		return;
	left = config->start_utc_ns - units_realtime_ns();
	if (left < 0)
		say(state->player, "the moment wanted is over since %.3f s: it starts now",
		    (double)-left / 1e9);
	while ((left = config->start_utc_ns - units_realtime_ns()) > 0 && !player_is_stopped(state))
		wait_until(state,
			   units_monotonic_ns() + (left < UNITS_NS_PER_S ? left : UNITS_NS_PER_S));
}

static int start_destination(struct player_state *state)
{
	struct destination *destination = state->player->config.destination;
	int ret;

	/* seq_cst on both sides: player_stop() sees that we wait, or we see that it was called */
	atomic_store_explicit(&state->is_starting, true, memory_order_seq_cst);
	if (atomic_load_explicit(&state->is_stopped, memory_order_seq_cst))
		return -EINTR;
	ret = destination_start(destination);
	atomic_store_explicit(&state->is_starting, false, memory_order_seq_cst);
	if (ret < 0)
		return player_is_stopped(state) ? -EINTR : fail_destination(state->player, ret);
	return 0;
}

/* ---- sending ------------------------------------------------------------------------------------- */

static void count_sent(struct player_state *state, const struct cut_unit *cut, int64_t sent_ns,
		       bool is_first)
{
	struct player_stats *stats = &state->player->stats;

	player_count(&stats->sent_bytes, cut->unit.bytes);
	player_count(&stats->sent_count, 1);
	atomic_store_explicit(&stats->stream_offset, cut->stream_end, memory_order_relaxed);
	if (state->sent_ns)
		spread_add(&stats->spacing, is_first ? sent_ns - state->sent_ns : 0);
	if (cut->due_ns != SCHEDULE_NOW) {
		int64_t error = sent_ns - (state->start_ns + cut->due_ns);

		spread_add(&stats->error, error);
		atomic_store_explicit(
			&stats->error_sum_ns,
			atomic_load_explicit(&stats->error_sum_ns, memory_order_relaxed) + error,
			memory_order_relaxed);
		if (error > atomic_load_explicit(&stats->error_max_ns, memory_order_relaxed))
			atomic_store_explicit(&stats->error_max_ns, error, memory_order_relaxed);
		if (error > LATE_NS)
			player_count(&stats->late_count, 1);
	}
}

/* How many of those that wait are due, up to what the destination takes at once. */
static unsigned count_due(const struct player_state *state, int64_t now)
{
	unsigned due = 0;

	while (due < state->unit_count && due < DESTINATION_BATCH) {
		int64_t due_ns = state->units[state->unit_first + due].due_ns;

		if (due_ns != SCHEDULE_NOW && state->start_ns + due_ns > now)
			break;
		due++;
	}
	return due;
}

/* Back to back only so many: how many may go now. */
static unsigned limit_burst(const struct player_state *state, unsigned due)
{
	const struct player_config *config = &state->player->config;

	if (config->schedule->kind == SCHEDULE_NONE || due <= config->burst - state->burst)
		return due;
	return config->burst - state->burst;
}

/* When that was all of a burst, and more is due, half the time that they stand for must pass before it. */
static void rest_after_burst(struct player_state *state, unsigned sent, int64_t sent_ns)
{
	const struct player_config *config = &state->player->config;
	struct player_stats *stats = &state->player->stats;
	const struct cut_unit *next = &state->units[state->unit_first];

	if (config->schedule->kind == SCHEDULE_NONE)
		return;
	state->burst += sent;
	if (state->burst > 1 && state->burst > get(&stats->burst_longest))
		atomic_store_explicit(&stats->burst_longest, state->burst, memory_order_relaxed);
	if (state->burst < config->burst)
		return;
	state->burst = 0;
	if (state->unit_count == 0 || next->due_ns == SCHEDULE_NOW ||
	    state->start_ns + next->due_ns > sent_ns)
		return;
	player_count(&stats->burst_count, 1);
	state->not_before_ns = sent_ns + (next->due_ns - state->burst_due_ns) / 2;
}

/* Tries again what the destination doesn't take now. Return: how many it took, 0 = stopped; -errno. */
static ssize_t send_patiently(struct player_state *state, unsigned count, int64_t *sent_ns)
{
	struct player *player = state->player;
	struct destination *destination = player->config.destination;
	int64_t since_ns = 0, pause_ns = RETRY_LEAST_NS;
	struct destination_unit units[DESTINATION_BATCH];

	for (unsigned i = 0; i < count; i++)
		units[i] = state->units[state->unit_first + i].unit;
	for (;;) {
		uint64_t down = get(&destination->stats.down_count);
		int64_t most_ns, now = units_monotonic_ns();
		ssize_t sent = destination_send(destination, units, count);

		*sent_ns = now;
		if (sent != 0)
			return sent < 0 ? fail_destination(player, (int)sent) : sent;
		if (player_is_stopped(state))
			return 0;
		if (since_ns == 0)
			since_ns = now;
		most_ns = get(&destination->stats.down_count) > down ? RETRY_DOWN_NS : RETRY_BUSY_NS;
		if (now - since_ns > player->config.patience_ns)
			return fail(player, -ETIMEDOUT, "%s has taken nothing for %.1f s: %s",
				    destination->name, (double)(now - since_ns) / 1e9,
				    most_ns == RETRY_DOWN_NS ?
					    "the network is down, or can't be reached" :
					    "it is full");
		sleep_until(state, now + (pause_ns < most_ns ? pause_ns : most_ns));
		pause_ns *= 2;
	}
}

/* Return: 0; -errno. */
static int send_units(struct player_state *state, int64_t now)
{
	unsigned due = limit_burst(state, count_due(state, now));
	int64_t sent_ns = now;
	ssize_t sent;

	if (state->burst == 0)
		state->burst_due_ns = state->units[state->unit_first].due_ns;
	sent = send_patiently(state, due, &sent_ns);

	if (sent < 0)
		return (int)sent;
	for (ssize_t i = 0; i < sent; i++) {
		count_sent(state, &state->units[state->unit_first], sent_ns, i == 0);
		player_unit_done(state);
	}
	if (sent > 0) {
		state->sent_ns = sent_ns;
		rest_after_burst(state, (unsigned)sent, sent_ns);
	}
	return 0;
}

/* Of a stream; a part that went out before a stop counts as sent. Return: 0; -errno. */
static int write_unit(struct player_state *state, int64_t now)
{
	struct player *player = state->player;
	struct cut_unit *cut = &state->units[state->unit_first];
	const char *data = cut->unit.parts[0].iov_base;
	size_t done = 0;

	while (done < cut->unit.bytes && !player_is_stopped(state)) {
		ssize_t n = destination_write(player->config.destination, data + done,
					      cut->unit.bytes - done, units_monotonic_ns() + SLICE_NS);

		if (n < 0) {
			player_count(&player->stats.sent_bytes, done);
			player_count(&player->stats.unsent_bytes, cut->unit.bytes - done);
			player_unit_done(state);
			return fail_destination(player, (int)n);
		}
		done += (size_t)n;
	}
	player_count(&player->stats.unsent_bytes, cut->unit.bytes - done);
	cut->stream_end -= cut->unit.bytes - done;
	cut->unit.bytes = done;
	if (done > 0) {
		count_sent(state, cut, now, true);
		state->sent_ns = now;
	}
	look_at_device(state, cut->stream_offset, now);
	player_unit_done(state);
	return 0;
}

/* ---- the thread ---------------------------------------------------------------------------------- */

/* Return: 1 go on; 0 the end; -errno. */
static int turn(struct player_state *state)
{
	int64_t now = units_monotonic_ns(), when_ns;
	int ret;

	if (player_is_stopped(state))
		return -EINTR;
	player_claim(state);
	if (player_cut(state) == 0) {
		if (player_cut_is_done(state))
			return 0;
		if (!state->empty_since_ns)
			state->empty_since_ns = now;
		wait_for_blocks(state, now + SLICE_NS);
		return 1;
	}
	if (state->empty_since_ns)
		end_emptiness(state, now);
	when_ns = state->units[state->unit_first].due_ns;
	when_ns = when_ns == SCHEDULE_NOW ? now : state->start_ns + when_ns;
	if (when_ns < state->not_before_ns)
		when_ns = state->not_before_ns;
	if (when_ns > now) {
		state->burst = 0;
		wait_until(state, when_ns);
		return 1;
	}
	ret = state->player->config.destination->takes == DESTINATION_BYTES ? write_unit(state, now) :
									      send_units(state, now);
	return ret < 0 ? ret : 1;
}

static int finish(struct player_state *state, int result)
{
	struct player *player = state->player;
	int64_t began = units_monotonic_ns();
	int ret = destination_finish(player->config.destination, began + FINISH_NS);

	atomic_store_explicit(&player->stats.finish_ns, units_monotonic_ns() - began,
			      memory_order_relaxed);
	if (ret < 0 && (result == 0 || result == -EINTR))
		return fail_destination(player, ret);
	return result;
}

static int play(struct player_state *state)
{
	struct player *player = state->player;
	int ret;

	fill_ring(state);
	set_time(&player->stats.armed_ns, units_monotonic_ns());
	ret = player_is_stopped(state) ? -EINTR : start_destination(state);
	if (ret < 0)
		return ret;
	wait_for_moment(state);
	if (player_is_stopped(state))
		return -EINTR;
	state->start_ns = units_monotonic_ns();
	atomic_store_explicit(&player->stats.start_utc_ns, units_realtime_ns(), memory_order_relaxed);
	set_time(&player->stats.started_ns, state->start_ns);
	while ((ret = turn(state)) == 1)
		;
	return finish(state, ret);
}

static void *player_main(void *arg)
{
	struct player_state *state = arg;
	struct player *player = state->player;

	pthread_setname_np(pthread_self(), "player");
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	player->result = play(state);
	player_claim(state);
	player_leave(state);
	set_time(&player->stats.ended_ns, units_monotonic_ns());
	/* release: who sees it sees the result, the sentence and the figures */
	atomic_store_explicit(&player->is_ended, true, memory_order_release);
	bell_ring(&state->ended);
	return NULL;
}

/* ---- from outside -------------------------------------------------------------------------------- */

/* A spin without another CPU would only keep away those whom it waits for. */
static bool may_spin(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1;
}

int player_create(struct player **out, const struct player_config *config)
{
	struct player *player = calloc(1, sizeof(*player));
	struct player_state *state = calloc(1, sizeof(*state));

	*out = player;
	if (!player || !state) {
		free(player);
		free(state);
		*out = NULL;
		return -ENOMEM;
	}
	player->config = *config;
	player->config.is_precise = config->is_precise && may_spin();
	player->state = state;
	state->player = player;
	bell_init(&state->ended);
	if (config->lump_bytes == 0 && config->destination->takes == DESTINATION_BYTES)
		return fail(player, -EINVAL, "no length is given for what is written at a time");
	if (config->burst == 0)
		return fail(player, -EINVAL, "a burst of none sends nothing");
	return player_cut_create(state);
}

int player_start(struct player *player)
{
	int ret = pthread_create(&player->state->thread, NULL, player_main, player->state);

	if (ret)
		return fail(player, -ret, "cannot start a thread: %s", strerror(ret));
	player->state->is_started = true;
	return 0;
}

void player_stop(struct player *player)
{
	struct player_state *state = player->state;

	atomic_store_explicit(&state->is_stopped, true, memory_order_seq_cst);
	if (atomic_load_explicit(&state->is_starting, memory_order_seq_cst))
		destination_interrupt(player->config.destination);
	ring_wake(player->config.ring, QUEUE);
}

bool player_wait(struct player *player, int64_t deadline_ns)
{
	struct player_state *state = player->state;

	for (;;) {
		uint32_t ticket = bell_listen(&state->ended);

		if (atomic_load_explicit(&player->is_ended, memory_order_acquire))
			return true;
		if (units_monotonic_ns() >= deadline_ns)
			return false;
		bell_sleep(&state->ended, ticket, deadline_ns);
	}
}

void player_drain(struct player *player)
{
	player_claim(player->state);
	player_leave(player->state);
}

void player_free(struct player *player)
{
	if (!player)
		return;
	if (player->state->is_started) {
		player_stop(player);
		pthread_join(player->state->thread, NULL);
	}
	player_cut_free(player->state);
	free(player->state);
	free(player);
}
