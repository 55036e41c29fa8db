/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/playback.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/host.h"
#include "recorder/report_objects.h"
#include "recorder/version.h"
#include "tools/json_file.h"
#include "tools/output_file.h"
#include "tools/replay/play_progress.h"
#include "tools/replay/play_report.h"

#define LOOK_NS INT64_C(50000000)    /* between looks at events and signals */
#define ABORT_NS UNITS_NS_PER_S      /* for threads to end after the second signal */
#define FEED_NS (2 * UNITS_NS_PER_S) /* for the feed to end when the player has */
#define BLOCKS_LEAST 4
#define TABLE_BYTES ((size_t)192) /* of the ring's own for each block, about */

int playback_refuse(struct playback *playback, int exit_status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(playback->error, sizeof(playback->error), format, args);
	va_end(args);
	return exit_status;
}

void playback_say(void *playback, const char *sentence)
{
	struct playback *p = playback;

	play_events_add(&p->events, sentence);
}

struct feed_config playback_feed_config(struct playback *playback)
{
	return (struct feed_config){
		.ring = playback->ring,
		.say = playback_say,
		.context = playback,
	};
}

/* ---- signals ---- */

/* Of the signals' thread, as leave() is. Set first, then looked at by who publishes the player: one of both stops it. */
static void end(void *context)
{
	struct playback *p = context;
	struct player *player;

	atomic_store_explicit(&p->is_ending, true, memory_order_seq_cst);
	player = atomic_load_explicit(&p->running, memory_order_seq_cst);
	if (!player)
		return;
	player_stop(player);
	playback_say(p, "stopping: what the destination has goes out; a second signal waits for nothing");
}

static void leave(void *context)
{
	struct playback *p = context;

	atomic_store_explicit(&p->is_aborting, true, memory_order_seq_cst);
	if (atomic_load_explicit(&p->running, memory_order_seq_cst))
		destination_interrupt(p->destination);
}

/* ---- open ---- */

static int check_json(struct playback *p)
{
	int ret = p->json ? output_file_check(p->json) : 0;

	if (ret == 0)
		return 0;
	return playback_refuse(p, json_file_exit_status(ret),
			       "can't write the JSON report to %s: %s", p->json, strerror(-ret));
}

/* What the ring's tables take for each block: its label, its places in the queues. */
static size_t table_bytes(uint64_t block_count)
{
	return block_count * (sizeof(struct play_label) + TABLE_BYTES);
}

static int map_memory(struct playback *p)
{
	uint64_t count = p->ring_bytes / p->block_bytes;
	struct memory_config config = {
		.bytes = (count < BLOCKS_LEAST ? BLOCKS_LEAST : count) * p->block_bytes,
		.table_bytes = table_bytes(count),
		.numa_node = MEMORY_ANY_NODE,
		.use_huge_pages = true,
		.use_lock = p->use_lock,
	};
	int ret = memory_allow(&p->memory, &config);

	if (ret < 0 && p->is_ring_default) {
		uint64_t fits = memory_largest(&config) / 2 / p->block_bytes;

		playback_say(p, p->memory.error); /* and the plan says how large it is instead */
		config.bytes = (fits < BLOCKS_LEAST ? BLOCKS_LEAST : fits) * p->block_bytes;
		ret = memory_allow(&p->memory, &config);
	}
	if (ret == 0)
		ret = memory_map(&p->memory, &config);
	p->ring_bytes = config.bytes;
	return ret < 0 ? playback_refuse(p, EX_CONFIG, "%s", p->memory.error) : 0;
}

static int make_ring(struct playback *p)
{
	const struct ring_config config = {
		.memory = p->memory.base,
		.block_bytes = p->block_bytes,
		.block_count = (uint32_t)(p->ring_bytes / p->block_bytes),
		.queue_count = 1,
		.label_bytes = sizeof(struct play_label),
	};

	if (p->ring_bytes / p->block_bytes > RING_BLOCK_COUNT_MAX)
		return playback_refuse(p, EX_USAGE,
				       "a ring of %" PRIu64 " blocks is too many; a smaller --ring",
				       p->ring_bytes / p->block_bytes);
	return ring_create(&p->ring, &config) < 0 ?
		       playback_refuse(p, EX_OSERR, "no memory for the ring") :
		       0;
}

int playback_open(struct playback *playback)
{
	int status = check_json(playback);

	play_events_init(&playback->events);
	playback->memory.numa_node = MEMORY_ANY_NODE;
	playback->signals.end = end;
	playback->signals.abort = leave;
	playback->signals.context = playback;
	if (!status && end_signals_start(&playback->signals) < 0)
		status = playback_refuse(playback, EX_OSERR, "can't take signals");
	if (!status)
		status = map_memory(playback);
	if (!status)
		status = make_ring(playback);
	if (!status && playback->memory.note[0])
		playback_say(playback, playback->memory.note);
	return status;
}

/* ---- run ---- */

int playback_destination_status(int error)
{
	switch (-error) {
	case EINVAL:
	case ERANGE:
		return EX_USAGE;
	case EACCES:
	case EPERM:
		return EX_NOPERM;
	case ENOMEM:
		return EX_OSERR;
	case EIO:
		return EX_IOERR;
	default:
		return EX_CANTCREAT;
	}
}

static int make_player(struct playback *p)
{
	int ret;

	p->player_config.ring = p->ring;
	p->player_config.destination = p->destination;
	p->player_config.say = playback_say;
	p->player_config.context = p;
	ret = player_create(&p->player, &p->player_config);
	if (ret < 0)
		return playback_refuse(p, ret == -EINVAL ? EX_USAGE : EX_OSERR, "%s",
				       p->player && p->player->error[0] ? p->player->error :
				       ret == -EINVAL ? "what is played does not fit the destination" :
							"no memory for the player");
	atomic_store_explicit(&p->running, p->player, memory_order_seq_cst);
	return 0;
}

static bool is_ending(const struct playback *p)
{
	return atomic_load_explicit(&p->is_ending, memory_order_seq_cst);
}

static bool is_aborting(const struct playback *p)
{
	return atomic_load_explicit(&p->is_aborting, memory_order_seq_cst);
}

static int start(struct playback *p)
{
	int ret;

	if (is_ending(p))
		return playback_refuse(p, PLAYBACK_STOPPED_STATUS,
				       "ended by a signal before the start: nothing was played");
	ret = feed_start(p->feed);
	if (ret == 0)
		ret = player_start(p->player);
	return ret < 0 ? playback_refuse(p, EX_OSERR, "can't start a thread: %s", strerror(-ret)) : 0;
}

/* A limit by the clock counts from the first unit. */
static void keep_limit(struct playback *p, int64_t now)
{
	int64_t started = atomic_load_explicit(&p->player->stats.started_ns, memory_order_acquire);

	if (p->limit_ns == 0 || p->is_limit_over || started == 0 || now - started < p->limit_ns)
		return;
	p->is_limit_over = true;
	player_stop(p->player);
}

/* The wait is cut so that what is said meanwhile, and -d, do not come late. */
static int64_t next_look(const struct playback *p, int64_t now, int64_t tick_ns)
{
	int64_t look = now + LOOK_NS < tick_ns ? now + LOOK_NS : tick_ns;
	int64_t started = atomic_load_explicit(&p->player->stats.started_ns, memory_order_acquire);
	int64_t limit = p->limit_ns && started && !p->is_limit_over ? started + p->limit_ns : look;

	return limit < look ? limit : look;
}

static void stay(struct playback *p, struct play_progress *progress)
{
	int64_t now = units_monotonic_ns(), tick_ns = now + UNITS_NS_PER_S, aborted_ns = 0;

	while (!player_wait(p->player, next_look(p, now, tick_ns))) {
		now = units_monotonic_ns();
		keep_limit(p, now);
		play_progress_events(progress);
		if (atomic_exchange_explicit(&p->signals.is_asked, false, memory_order_relaxed))
			play_progress_now(progress);
		if (now >= tick_ns) {
			play_progress_tick(progress);
			tick_ns += UNITS_NS_PER_S;
			if (tick_ns < now) /* this machine slept */
				tick_ns = now + UNITS_NS_PER_S;
		}
		if (!is_aborting(p))
			continue;
		if (aborted_ns == 0)
			aborted_ns = now;
		if (now - aborted_ns > ABORT_NS)
			break;
	}
}

/* Return: false: the feed's threads are held. */
static bool end_feed(struct playback *p)
{
	const struct timespec moment = { .tv_nsec = 2000000 };
	int64_t deadline = units_monotonic_ns() + (is_aborting(p) ? ABORT_NS / 2 : FEED_NS);

	feed_stop(p->feed);
	while (!atomic_load_explicit(&p->feed->is_ended, memory_order_acquire)) {
		if (units_monotonic_ns() > deadline)
			return false;
		nanosleep(&moment, NULL);
	}
	return true;
}

/* ---- what became of it ---- */

/* A savefile that is cut has been played as far as it goes: what is missing is loss, not a stop. */
static bool is_input_broken(const struct player *player)
{
	return player->feed_result < 0 && player->feed_result != -EBADMSG &&
	       player->feed_result != -EINTR;
}

static enum playback_reason find_reason(const struct playback *p)
{
	if (is_aborting(p))
		return PLAYBACK_ABORT;
	if (p->player->result == -EINTR)
		return p->is_limit_over ? PLAYBACK_DURATION : PLAYBACK_SIGNAL;
	if (p->player->result < 0)
		return PLAYBACK_DESTINATION;
	return is_input_broken(p->player) ? PLAYBACK_INPUT : PLAYBACK_END;
}

static bool is_stopped_early(const struct playback *p)
{
	return p->reason == PLAYBACK_ABORT || p->reason == PLAYBACK_DESTINATION ||
	       p->reason == PLAYBACK_INPUT || (p->reason == PLAYBACK_SIGNAL && !p->is_endless);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
	/* relaxed: exact when the player has ended, a figure to look at before */
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/*
 * What is in the ring when an endless stream is ended was never to be played. Each refusal is of a datagram that went out
 * before, to a machine on which nobody listened.
 */
static bool has_loss(const struct playback *p)
{
	const struct player_stats *stats = &p->player->stats;

	return get(&p->feed->stats.gap_count) || get(&stats->underrun_count) ||
	       get(&stats->rest_bytes) || get(&p->destination->stats.refused_count) ||
	       p->player->feed_result == -EBADMSG;
}

static void judge(struct playback *p)
{
	p->reason = find_reason(p);
	p->outcome = is_stopped_early(p) ? PLAYBACK_STOPPED :
		     has_loss(p)         ? PLAYBACK_LOSS :
					   PLAYBACK_COMPLETE;
	p->exit_status = (int)p->outcome;
	if (p->outcome != PLAYBACK_STOPPED && get(&p->feed->stats.data_bytes) == 0)
		p->exit_status = EX_NOINPUT;
}

/* Return: 0; the exit status of a destination that did not start, or of an input that gave nothing. */
static int find_refusal(struct playback *p)
{
	const struct player *player = p->player;

	if (is_aborting(p) || atomic_load_explicit(&player->stats.started_ns, memory_order_acquire))
		return 0;
	if (player->result == -EINTR)
		return playback_refuse(p, PLAYBACK_STOPPED_STATUS,
				       "ended by a signal before the start: nothing was played");
	if (player->result < 0)
		return playback_refuse(p, playback_destination_status(player->result), "%s",
				       player->error);
	if (player->feed_result < 0)
		return playback_refuse(p, EX_NOINPUT, "%s", p->feed->error);
	return 0;
}

int playback_run(struct playback *playback)
{
	struct play_progress progress;
	int status = make_player(playback);

	if (!status)
		status = start(playback);
	if (status)
		return status;
	play_progress_begin(&progress, playback);
	stay(playback, &progress);
	playback->is_held = !atomic_load_explicit(&playback->player->is_ended, memory_order_acquire);
	if (!end_feed(playback))
		playback->is_held = true;
	if (!playback->is_held)
		player_drain(playback->player);
	play_progress_end(&progress);
	status = find_refusal(playback);
	if (!status)
		judge(playback);
	return status;
}

/* ---- the end ---- */

const char *playback_outcome_name(enum playback_outcome outcome)
{
	static const char *const names[] = { "complete", "loss", "stopped" };

	return names[outcome];
}

const char *playback_reason_name(enum playback_reason reason)
{
	static const char *const names[] = { "end",         "signal", "duration",
					     "destination", "input",  "abort" };

	return names[reason];
}

int64_t playback_duration_ns(const struct playback *playback)
{
	const struct player_stats *stats = &playback->player->stats;
	int64_t started = atomic_load_explicit(&stats->started_ns, memory_order_relaxed);
	int64_t ended = atomic_load_explicit(&stats->ended_ns, memory_order_relaxed);

	return started ? (ended ? ended : units_monotonic_ns()) - started : 0;
}

static json_t *json_ring(const struct playback *p)
{
	struct ring_level level = ring_level(p->ring);
	int64_t started = atomic_load_explicit(&p->player->stats.started_ns, memory_order_relaxed);
	const struct report_ring ring = {
		.capacity_bytes = p->ring_bytes,
		.asked_bytes = p->ring_bytes,
		.block_bytes = p->block_bytes,
		.high_water_bytes = level.high_water_bytes,
		.high_water_s = started && level.high_water_ns > started ?
					(double)(level.high_water_ns - started) / 1e9 :
					0,
	};
	json_t *o = report_object_ring(&ring);

	json_object_set_new(o, "pages", json_string(memory_pages_name(p->memory.pages)));
	json_object_set_new(o, "numa_node",
			    p->memory.numa_node == MEMORY_ANY_NODE ?
				    json_null() :
				    json_integer(p->memory.numa_node));
	json_object_set_new(o, "locked", json_boolean(p->memory.is_locked));
	return o;
}

json_t *playback_json(const struct playback *playback, const char *schema)
{
	const struct player *player = playback->player;
	const char *error = playback->reason == PLAYBACK_DESTINATION ? player->error :
			    playback->reason == PLAYBACK_INPUT       ? playback->feed->error :
								       NULL;
	char utc[UNITS_UTC_LEN];
	int64_t start = atomic_load_explicit(&player->stats.start_utc_ns, memory_order_relaxed);
	json_t *o = json_pack(
		"{ss ss ss ss ss si}", "schema", schema, "program", playback->program, "version",
		VSIB_VERSION, "outcome", playback_outcome_name(playback->outcome), "reason",
		playback_reason_name(playback->reason), "exit_status", playback->exit_status);

	if (!o)
		return NULL;
	json_object_set_new(o, "error", error ? report_object_text(error) : json_null());
	json_object_set_new(o, "input", report_object_text(playback->input));
	json_object_set_new(o, "start_utc",
			    start ? json_string(units_format_utc(utc, start)) : json_null());
	json_object_set_new(o, "duration_s", json_real((double)playback_duration_ns(playback) / 1e9));
	play_report_player(o, player);
	json_object_set_new(o, "destination", play_report_destination(playback->destination));
	json_object_set_new(o, "ring", json_ring(playback));
	return o;
}

static int write_report(struct playback *p, json_t *report, int status)
{
	int ret;

	if (!p->json || !report)
		return status;
	ret = json_file_write(report, p->json);
	if (ret == 0)
		return status;
	fprintf(stderr, "%s: the JSON report %s could not be written: %s\n", p->program, p->json,
		strerror(-ret));
	return status ? status : json_file_exit_status(ret);
}

int playback_close(struct playback *playback, json_t *report, int status)
{
	status = write_report(playback, report, status);
	json_decref(report);
	fflush(NULL);
	host_report(status, playback->is_held);
	if (playback->is_held) /* nothing that its threads use may be freed */
		_exit(status);
	/* a signal may still come: from here on it finds nobody to stop */
	atomic_store_explicit(&playback->running, NULL, memory_order_seq_cst);
	player_free(playback->player);
	feed_free(playback->feed);
	destination_close(playback->destination);
	ring_free(playback->ring);
	memory_unmap(&playback->memory);
	return status;
}
