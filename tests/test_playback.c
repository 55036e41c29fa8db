/* SPDX-License-Identifier: BSD-2-Clause */
/* test_playback.c - how a playback ends, and with which exit status, whatever the player and the feed have met */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tools/replay/playback.h"

#define BLOCK 4096

/* What the player that stands in for the real one does. */
static struct script {
	int create_result, result, feed_result;
	bool is_started, waits; /* waits: until it is stopped */
	uint64_t sent_bytes, gap_count, underrun_count, rest_bytes, unsent_bytes;
	int signals; /* so many come while it plays */
	const char *error;
} script;
static struct playback *playing;
static bool is_stopped;

static void set(_Atomic uint64_t *counter, uint64_t value)
{
	atomic_store(counter, value);
}

int player_create(struct player **out, const struct player_config *config)
{
	struct player *player = calloc(1, sizeof(*player));

	is_stopped = false;
	player->config = *config;
	*out = player;
	snprintf(player->error, sizeof(player->error), "%s", script.error ? script.error : "");
	return script.create_result;
}

int player_start(struct player *player)
{
	int64_t now = units_monotonic_ns();

	atomic_store(&player->stats.started_ns, script.is_started ? now : 0);
	atomic_store(&player->stats.start_utc_ns, script.is_started ? units_realtime_ns() : 0);
	return 0;
}

void player_stop(struct player *player)
{
	(void)player;
	is_stopped = true;
}

bool player_wait(struct player *player, int64_t deadline_ns)
{
	(void)deadline_ns;
	while (!atomic_load(&playing->feed->is_ended))
		;
	if (script.signals > 0 && script.signals-- > 0)
		(is_stopped ? playing->signals.abort : playing->signals.end)(playing);
	if (script.waits && !is_stopped)
		return false;
	player->result = script.waits && script.result == 0 ? -EINTR : script.result;
	player->feed_result = script.feed_result;
	set(&player->stats.sent_bytes, script.sent_bytes);
	set(&player->stats.underrun_count, script.underrun_count);
	set(&player->stats.rest_bytes, script.rest_bytes);
	set(&player->stats.unsent_bytes, script.unsent_bytes);
	atomic_store(&player->stats.ended_ns, units_monotonic_ns());
	if (script.signals) /* what it was is held by the second signal alone */
		return false;
	atomic_store(&player->is_ended, true);
	return true;
}

void player_drain(struct player *player)
{
	(void)player;
}

void player_free(struct player *player)
{
	free(player);
}

const char *player_starved_name(enum player_starved cause)
{
	return cause == PLAYER_STARVED_RING ? "ring" : "device";
}

const char *schedule_name(enum schedule_kind kind)
{
	return kind == SCHEDULE_NONE ? "none" : "rate";
}

static int feed_some(struct feed *feed)
{
	uint32_t block = feed_take(feed);

	feed_count(&feed->stats.gap_count, script.gap_count);
	if (script.sent_bytes && block != RING_NONE)
		feed_put_bytes(feed, block, 0, 0, 1);
	return script.feed_result;
}

/* ---- */

struct result {
	int status; /* of playback_run(), or exit_status */
	enum playback_outcome outcome;
	enum playback_reason reason;
	char error[PLAYBACK_ERROR_LEN];
	char *json;
};

static struct result play_as(const struct script *wanted, bool is_endless, int64_t limit_ns)
{
	static const struct feed_ops ops = { .run = feed_some };
	static struct schedule schedule;
	const struct destination_config destination_config = { 0 };
	struct playback *p = calloc(1, sizeof(*p));
	struct feed_config feed_config;
	struct result result = { 0 };
	json_t *report = NULL;

	script = *wanted;
	playing = p;
	p->program = "test";
	p->ring_bytes = 8 * BLOCK;
	p->block_bytes = BLOCK;
	p->live = LIVE_NONE;
	p->log_interval_ns = UNITS_NS_PER_S;
	p->is_endless = is_endless;
	p->limit_ns = limit_ns;
	p->input = "a test";
	p->player_config = (struct player_config){ .schedule = &schedule };
	assert_int_equal(playback_open(p), 0);
	feed_config = playback_feed_config(p);
	assert_int_equal(feed_create(&p->feed, &ops, &feed_config), 0);
	assert_int_equal(destination_open(&p->destination, "null:", &destination_config), 0);
	result.status = playback_run(p);
	if (result.status == 0) {
		report = playback_json(p, "test/1");
		assert_non_null(report);
		result.json = json_dumps(report, JSON_COMPACT);
		result.status = p->exit_status;
		result.outcome = p->outcome;
		result.reason = p->reason;
	}
	memcpy(result.error, p->error, sizeof(result.error));
	assert_int_equal(playback_close(p, report, result.status), result.status);
	free(p);
	return result;
}

static void expect(struct script script_of, bool is_endless, int status,
		   enum playback_outcome outcome, enum playback_reason reason)
{
	struct result result;

	script_of.is_started = true;
	if (script_of.sent_bytes == 0)
		script_of.sent_bytes = 1000;
	result = play_as(&script_of, is_endless, 0);
	assert_int_equal(result.status, status);
	assert_int_equal(result.outcome, outcome);
	assert_int_equal(result.reason, reason);
	assert_true(result.json && strstr(result.json, playback_outcome_name(outcome)));
	free(result.json);
}

static void all_played_is_complete(void **state)
{
	(void)state;
	expect((struct script){ 0 }, false, 0, PLAYBACK_COMPLETE, PLAYBACK_END);
}

static void gaps_underruns_and_rests_are_loss(void **state)
{
	(void)state;
	expect((struct script){ .gap_count = 1 }, false, 1, PLAYBACK_LOSS, PLAYBACK_END);
	expect((struct script){ .underrun_count = 1 }, false, 1, PLAYBACK_LOSS, PLAYBACK_END);
	expect((struct script){ .rest_bytes = 1 }, false, 1, PLAYBACK_LOSS, PLAYBACK_END);
	expect((struct script){ .feed_result = -EBADMSG }, false, 1, PLAYBACK_LOSS, PLAYBACK_END);
}

static void what_breaks_off_is_stopped(void **state)
{
	(void)state;
	expect((struct script){ .result = -EPIPE, .unsent_bytes = 5 }, false, 2, PLAYBACK_STOPPED,
	       PLAYBACK_DESTINATION);
	expect((struct script){ .feed_result = -EIO }, false, 2, PLAYBACK_STOPPED, PLAYBACK_INPUT);
}

/* What is still in the ring of an endless stream was never to be sent. */
static void a_signal_is_the_end_of_what_has_no_other(void **state)
{
	const struct script stopped = { .waits = true, .signals = 1, .unsent_bytes = 5 };

	(void)state;
	expect(stopped, true, 0, PLAYBACK_COMPLETE, PLAYBACK_SIGNAL);
	expect(stopped, false, 2, PLAYBACK_STOPPED, PLAYBACK_SIGNAL);
}

static void a_limit_by_the_clock_is_a_normal_end(void **state)
{
	const struct script waiting = { .waits = true, .is_started = true, .sent_bytes = 10 };
	struct result result = play_as(&waiting, false, 20000000);

	(void)state;
	assert_int_equal(result.status, 0);
	assert_int_equal(result.reason, PLAYBACK_DURATION);
	free(result.json);
}

static void nothing_from_the_input_is_no_input(void **state)
{
	const struct script empty = { .is_started = true };
	struct result result = play_as(&empty, false, 0);

	(void)state;
	assert_int_equal(result.status, EX_NOINPUT);
	free(result.json);
}

static void what_did_not_start_has_no_report(void **state)
{
	struct script refused = { .result = -ENXIO, .error = "nobody is there" };
	struct result result = play_as(&refused, false, 0);

	(void)state;
	assert_null(result.json);
	assert_int_equal(result.status, EX_CANTCREAT);
	assert_string_equal(result.error, "nobody is there");
	refused = (struct script){ .result = -EACCES, .error = "not allowed" };
	assert_int_equal(play_as(&refused, false, 0).status, EX_NOPERM);
	refused = (struct script){ .waits = true, .signals = 1 };
	result = play_as(&refused, true, 0);
	assert_int_equal(result.status, PLAYBACK_STOPPED_STATUS);
	assert_non_null(strstr(result.error, "before the start"));
	refused = (struct script){ .create_result = -EINVAL, .error = "doesn't fit" };
	result = play_as(&refused, false, 0);
	assert_int_equal(result.status, EX_USAGE);
	assert_string_equal(result.error, "doesn't fit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_played_is_complete),
		cmocka_unit_test(gaps_underruns_and_rests_are_loss),
		cmocka_unit_test(what_breaks_off_is_stopped),
		cmocka_unit_test(a_signal_is_the_end_of_what_has_no_other),
		cmocka_unit_test(a_limit_by_the_clock_is_a_normal_end),
		cmocka_unit_test(nothing_from_the_input_is_no_input),
		cmocka_unit_test(what_did_not_start_has_no_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
