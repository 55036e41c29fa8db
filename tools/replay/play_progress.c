/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/play_progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/line.h"

#define BAR 10
#define TICK_SLACK_NS INT64_C(400000000) /* ticks come each second, about */

static uint64_t get(const _Atomic uint64_t *counter)
{
	/* relaxed: figures to look at */
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static int64_t get_ns(const _Atomic int64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void begin(struct play_progress *p, struct line *line)
{
	line_begin(line, p->is_line_shown);
	p->is_line_shown = false;
}

static void show(struct play_progress *p, const char *text)
{
	struct line line;

	begin(p, &line);
	line_add(&line, "%s: %s\n", p->playback->program, text);
	if (!line_put(&line))
		p->hidden_count++;
}

static void mention_hidden(struct play_progress *p)
{
	struct line line;

	p->hidden_count += play_events_take_hidden(&p->playback->events);
	if (p->hidden_count == 0)
		return;
	begin(p, &line);
	line_add(&line, "%s: (%" PRIu64 " more events not shown)\n", p->playback->program,
		 p->hidden_count);
	if (line_put(&line))
		p->hidden_count = 0;
}

void play_progress_events(struct play_progress *progress)
{
	int64_t second = units_monotonic_ns() / UNITS_NS_PER_S;
	char text[PLAY_EVENT_LEN];

	if (second != progress->event_second) {
		mention_hidden(progress);
		progress->event_second = second;
		progress->event_count = 0;
	}
	while (play_events_take(&progress->playback->events, text)) {
		if (progress->event_count++ < PLAY_PROGRESS_EVENTS)
			show(progress, text);
		else
			progress->hidden_count++;
	}
}

static void tell_plan(struct play_progress *p)
{
	const struct playback *playback = p->playback;
	const struct schedule *schedule = playback->player_config.schedule;
	char ring[UNITS_TEXT_LEN], block[UNITS_TEXT_LEN];
	struct line line;

	line_begin(&line, false);
	line_add(&line, "%s: PLAYING %s to %s, ", playback->program, playback->input,
		 playback->destination->name);
	if (schedule->kind == SCHEDULE_RATE)
		line_add(&line, "%.3f Mbit/s", (double)schedule->rate_bps * schedule->speed / 1e6);
	else
		line_add(&line, "%s",
			 schedule->kind == SCHEDULE_NONE ? "as fast as possible" :
							   schedule_name(schedule->kind));
	line_add(&line, "\n  ring %s = %" PRIu32 " blocks of %s, pages %s%s\n",
		 units_format_size(ring, playback->ring_bytes), ring_block_count(playback->ring),
		 units_format_size(block, playback->block_bytes),
		 memory_pages_name(playback->memory.pages),
		 playback->memory.is_locked ? ", locked" : ", not locked");
	line_put(&line);
}

void play_progress_begin(struct play_progress *progress, struct playback *playback)
{
	memset(progress, 0, sizeof(*progress));
	progress->playback = playback;
	progress->is_line = playback->live == LIVE_LINE ||
			    (playback->live == LIVE_AUTO && isatty(STDERR_FILENO));
	progress->is_log =
		playback->live == LIVE_LOG || (playback->live == LIVE_AUTO && !progress->is_line);
	progress->begin_ns = progress->last_ns = progress->last_log_ns = units_monotonic_ns();
	if (playback->live != LIVE_NONE)
		tell_plan(progress);
	if (playback->destination->note[0])
		show(progress, playback->destination->note);
}

static void measure(struct play_progress *p, int64_t now)
{
	const struct player_stats *stats = &p->playback->player->stats;
	double seconds = (double)(now - p->last_ns) / 1e9;
	uint64_t bytes = get(&stats->sent_bytes), count = get(&stats->error.count);
	int64_t error_ns = get_ns(&stats->error_sum_ns);

	if (seconds < 0.05)
		return;
	p->rate_bps = (double)(bytes - p->last_bytes) * 8 / seconds;
	p->error_s = count > p->last_count ? (double)(error_ns - p->last_error_ns) / 1e9 /
						     (double)(count - p->last_count) :
					     0;
	p->last_bytes = bytes;
	p->last_count = count;
	p->last_error_ns = error_ns;
	p->last_ns = now;
}

/* Return: seconds until all is played, at the present rate; < 0: not known. */
static double left_s(const struct play_progress *p)
{
	const struct playback *playback = p->playback;
	uint64_t planned = get(&playback->feed->stats.planned_bytes);
	uint64_t done = get(&playback->player->stats.stream_offset);
	int64_t started = get_ns(&playback->player->stats.started_ns);
	double left = -1;

	if (planned && p->rate_bps > 0)
		left = planned > done ? (double)(planned - done) * 8 / p->rate_bps : 0;
	if (playback->limit_ns && started) {
		double limit = (double)(started + playback->limit_ns - units_monotonic_ns()) / 1e9;

		limit = limit < 0 ? 0 : limit;
		left = left < 0 || limit < left ? limit : left;
	}
	return left;
}

static void live_line(struct play_progress *p, int64_t now)
{
	const struct playback *playback = p->playback;
	const struct player_stats *stats = &playback->player->stats;
	struct ring_level level = ring_level(playback->ring);
	unsigned bar = (unsigned)((double)level.held_bytes / (double)playback->ring_bytes * BAR + 0.5);
	int64_t elapsed = (now - p->begin_ns) / UNITS_NS_PER_S;
	uint64_t device = get(&playback->destination->stats.device_ring_bytes);
	double left = left_s(p);
	char text[UNITS_TEXT_LEN];
	struct line line;

	line_begin(&line, true);
	line_add(&line, "%02" PRId64 ":%02" PRId64, elapsed / 60, elapsed % 60);
	if (get_ns(&stats->started_ns) == 0)
		line_add(&line, " waiting");
	line_add(&line, " out %.1f Mbit/s sent %s ring [%.*s%.*s]", p->rate_bps / 1e6,
		 units_format_bytes(text, get(&stats->sent_bytes)), (int)bar, "##########",
		 (int)(BAR - bar), "..........");
	if (device)
		line_add(&line, " device %.0f%%",
			 (double)get(&playback->destination->stats.device_fill_bytes) /
				 (double)device * 100);
	if (get(&stats->error.count))
		line_add(&line, " error %.0f us max %.0f us", p->error_s * 1e6,
			 (double)get_ns(&stats->error_max_ns) / 1e3);
	if (get(&stats->gap_bytes))
		line_add(&line, " gaps %s", units_format_bytes(text, get(&stats->gap_bytes)));
	if (get(&stats->underrun_count))
		line_add(&line, " UNDERRUNS %" PRIu64, get(&stats->underrun_count));
	if (left >= 0)
		line_add(&line, " left %s", units_format_time(text, (int64_t)left * UNITS_NS_PER_S));
	if (line_put(&line))
		p->is_line_shown = true;
}

static void log_line(struct play_progress *p, int64_t now)
{
	const struct playback *playback = p->playback;
	const struct player_stats *stats = &playback->player->stats;
	struct ring_level level = ring_level(playback->ring);
	double left = left_s(p);
	struct line line;

	begin(p, &line);
	line_add(&line,
		 "t=%.1f state=%s out_mbps=%.3f sent_bytes=%" PRIu64 " sent_count=%" PRIu64
		 " stream_bytes=%" PRIu64 " ring_bytes=%" PRIu64 " ring_max_bytes=%" PRIu64
		 " gap_bytes=%" PRIu64 " underruns=%" PRIu64
		 " error_s=%.6f error_max_s=%.6f late=%" PRIu64,
		 (double)(now - p->begin_ns) / 1e9,
		 get_ns(&stats->started_ns) == 0 ? "waiting" : "playing", p->rate_bps / 1e6,
		 get(&stats->sent_bytes), get(&stats->sent_count), get(&stats->stream_offset),
		 level.held_bytes, level.high_water_bytes, get(&stats->gap_bytes),
		 get(&stats->underrun_count), p->error_s,
		 (double)get_ns(&stats->error_max_ns) / 1e9, get(&stats->late_count));
	if (left >= 0)
		line_add(&line, " left_s=%.0f", left);
	line_add(&line, "\n");
	line_put(&line);
}

void play_progress_tick(struct play_progress *progress)
{
	int64_t now = units_monotonic_ns(), interval = progress->playback->log_interval_ns;

	measure(progress, now);
	if (progress->is_line) {
		live_line(progress, now);
	} else if (progress->is_log && now - progress->last_log_ns >= interval - TICK_SLACK_NS) {
		/* on its own grid: a tick that is a hair early must not cost a second */
		progress->last_log_ns +=
			(now + TICK_SLACK_NS - progress->last_log_ns) / interval * interval;
		log_line(progress, now);
	}
}

void play_progress_now(struct play_progress *progress)
{
	int64_t now = units_monotonic_ns();

	measure(progress, now);
	log_line(progress, now);
}

void play_progress_end(struct play_progress *progress)
{
	struct line line;

	progress->event_second = 0; /* the last ones are told in any case */
	play_progress_events(progress);
	mention_hidden(progress);
	begin(progress, &line);
	if (line.len)
		line_put(&line);
}
