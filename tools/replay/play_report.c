/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/play_report.h"

#include <inttypes.h>

#include "drivers/units.h"
#include "recorder/report_objects.h"

#define TEXT_UNDERRUNS 20 /* listed in the text report */

static uint64_t get(const _Atomic uint64_t *counter)
{
	/* relaxed: exact when the player has ended */
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static int64_t get_ns(const _Atomic int64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static double mean_error_s(const struct player_stats *stats)
{
	uint64_t count = get(&stats->error.count);

	return count ? (double)get_ns(&stats->error_sum_ns) / 1e9 / (double)count : 0;
}

static double quantile_s(const struct spread *spread, double share)
{
	return (double)spread_quantile_ns(spread, share) / 1e9;
}

static double rate_bps(const struct player *player)
{
	int64_t started = get_ns(&player->stats.started_ns), ended = get_ns(&player->stats.ended_ns);

	return started && ended > started ?
		       (double)get(&player->stats.sent_bytes) * 8e9 / (double)(ended - started) :
		       0;
}

/* One that is held may still be writing them. */
static uint64_t underruns_kept(const struct player *player)
{
	uint64_t count = get(&player->stats.underrun_count);

	if (!atomic_load_explicit(&player->is_ended, memory_order_acquire))
		return 0;
	return count < PLAYER_UNDERRUNS_MAX ? count : PLAYER_UNDERRUNS_MAX;
}

/* ---- words ---- */

static const char *reason_words(enum playback_reason reason)
{
	static const char *const words[] = {
		"all was played",         "by a signal",
		"its time was over",      "the destination took no more",
		"the input gave no more", "aborted by a second signal",
	};

	return words[reason];
}

static void text_sent(FILE *out, const struct playback *playback)
{
	const struct player_stats *stats = &playback->player->stats;
	double rate = rate_bps(playback->player);

	fprintf(out, "  %.3f s, of which %.3f s to finish; %.3f Mbit/s (%.2f MiB/s)\n",
		(double)playback_duration_ns(playback) / 1e9,
		(double)get_ns(&stats->finish_ns) / 1e9, rate / 1e6, rate / 8 / 1048576);
	fprintf(out, "  sent     %" PRIu64 " bytes in %" PRIu64 " %s", get(&stats->sent_bytes),
		get(&stats->sent_count),
		playback->destination->takes == DESTINATION_BYTES     ? "writes" :
		playback->destination->takes == DESTINATION_DATAGRAMS ? "datagrams" :
									"packets");
	if (get(&stats->gap_count))
		fprintf(out, "; %" PRIu64 " bytes in %" PRIu64 " gaps passed over",
			get(&stats->gap_bytes), get(&stats->gap_count));
	if (get(&stats->rest_bytes))
		fprintf(out, "; %" PRIu64 " bytes of less than a frame not sent",
			get(&stats->rest_bytes));
	if (get(&stats->unsent_bytes))
		fprintf(out, "; %" PRIu64 " bytes in the ring not sent", get(&stats->unsent_bytes));
	fputc('\n', out);
}

static void text_schedule(FILE *out, const struct player *player)
{
	const struct player_stats *stats = &player->stats;
	const struct schedule *schedule = player->config.schedule;

	fprintf(out, "  schedule %s", schedule_name(schedule->kind));
	if (schedule->kind != SCHEDULE_NONE)
		fprintf(out,
			"; error mean %.1f us, 99.9 %% below %.1f us, max %.1f us; %" PRIu64
			" late by more than 1 ms; %" PRIu64
			" bursts at their limit, the longest %" PRIu64,
			mean_error_s(stats) * 1e6, quantile_s(&stats->error, 0.999) * 1e6,
			(double)get_ns(&stats->error_max_ns) / 1e3, get(&stats->late_count),
			get(&stats->burst_count), get(&stats->burst_longest));
	if (schedule->backward_count)
		fprintf(out, "; %" PRIu64 " times that went back", schedule->backward_count);
	if (schedule->timeless_count)
		fprintf(out, "; %" PRIu64 " units without a time", schedule->timeless_count);
	fputc('\n', out);
	if (get(&stats->spacing.count))
		fprintf(out,
			"  spacing  median %.1f us, 1 %% below %.1f us, 99 %% below %.1f us, max %.1f us\n",
			quantile_s(&stats->spacing, 0.5) * 1e6, quantile_s(&stats->spacing, 0.01) * 1e6,
			quantile_s(&stats->spacing, 0.99) * 1e6,
			(double)get_ns(&stats->spacing.max_ns) / 1e3);
}

static void text_destination(FILE *out, const struct destination *destination)
{
	const struct destination_stats *stats = &destination->stats;

	fprintf(out, "  to       %s", destination->name);
	if (get(&stats->busy_count))
		fprintf(out, "; full %" PRIu64 " times", get(&stats->busy_count));
	if (get(&stats->refused_count))
		fprintf(out, "; refused %" PRIu64 " times: nobody listened",
			get(&stats->refused_count));
	if (get(&stats->down_count))
		fprintf(out, "; down or unreachable %" PRIu64 " times", get(&stats->down_count));
	if (get(&stats->starved_count))
		fprintf(out, "; the device was empty %" PRIu64 " times", get(&stats->starved_count));
	fputc('\n', out);
}

static void text_underruns(FILE *out, const struct player *player)
{
	uint64_t kept = underruns_kept(player), count = get(&player->stats.underrun_count);
	char utc[UNITS_UTC_LEN];

	if (count)
		fprintf(out, "  underruns %" PRIu64 ", %.6f s in all\n", count,
			(double)get_ns(&player->stats.underrun_ns) / 1e9);
	for (uint64_t i = 0; i < kept && i < TEXT_UNDERRUNS; i++) {
		const struct player_underrun *underrun = &player->underruns[i];

		fprintf(out, "  underrun: %.6f s at stream offset %" PRIu64 ", %s empty, %s\n",
			(double)underrun->length_ns / 1e9, underrun->stream_offset,
			player_starved_name(underrun->cause), units_format_utc(utc, underrun->utc_ns));
	}
	if (count > TEXT_UNDERRUNS)
		fprintf(out, "  ... the JSON report has %" PRIu64 " of them\n", kept);
}

static void text_ring(FILE *out, const struct playback *playback)
{
	struct ring_level level = ring_level(playback->ring);

	fprintf(out, "  ring     at most %" PRIu64 " bytes of %" PRIu64 "\n",
		level.high_water_bytes, playback->ring_bytes);
}

void play_report_text(FILE *out, const struct playback *playback)
{
	const struct player *player = playback->player;

	fprintf(out, "%s: %s (%s)\n", playback->program, playback_outcome_name(playback->outcome),
		reason_words(playback->reason));
	if (playback->reason == PLAYBACK_DESTINATION)
		fprintf(out, "  %s\n", player->error);
	else if (player->feed_result < 0 && playback->feed->error[0])
		fprintf(out, "  %s\n", playback->feed->error);
	if (get(&playback->feed->stats.data_bytes) == 0)
		fprintf(out, "  not one byte came from %s\n", playback->input);
	text_sent(out, playback);
	text_schedule(out, player);
	text_destination(out, playback->destination);
	text_ring(out, playback);
	text_underruns(out, player);
}

/* ---- JSON ---- */

static void set(json_t *o, const char *key, const _Atomic uint64_t *counter)
{
	json_object_set_new(o, key, report_object_number(get(counter)));
}

json_t *play_report_spread(const struct spread *spread)
{
	json_t *edges = json_array(), *counts = json_array();
	unsigned first = 0, last = SPREAD_BUCKETS;

	while (first < last && get(&spread->counts[first]) == 0)
		first++;
	while (last > first && get(&spread->counts[last - 1]) == 0)
		last--;
	for (unsigned i = first; i < last; i++) {
		json_array_append_new(counts, report_object_number(get(&spread->counts[i])));
		if (i + 1 < last)
			json_array_append_new(edges, json_real((double)spread_edge_ns(i) / 1e9));
	}
	return json_pack("{so so}", "edges_s", edges, "counts", counts);
}

static json_t *json_schedule(const struct player *player)
{
	const struct player_stats *stats = &player->stats;
	const struct schedule *schedule = player->config.schedule;
	json_t *o = json_pack("{ss sf sf sf}", "kind", schedule_name(schedule->kind), "mean_error_s",
			      mean_error_s(stats), "p999_error_s", quantile_s(&stats->error, 0.999),
			      "max_error_s", (double)get_ns(&stats->error_max_ns) / 1e9);

	if (!o)
		return NULL;
	json_object_set_new(o, "rate_bps",
			    schedule->kind == SCHEDULE_RATE ? report_object_number(schedule->rate_bps) :
							      json_null());
	json_object_set_new(o, "speed", json_real(schedule->speed));
	set(o, "late_count", &stats->late_count);
	set(o, "burst_count", &stats->burst_count);
	set(o, "burst_longest", &stats->burst_longest);
	json_object_set_new(o, "backward_count", report_object_number(schedule->backward_count));
	json_object_set_new(o, "timeless_count", report_object_number(schedule->timeless_count));
	return o;
}

static json_t *json_underruns(const struct player *player)
{
	json_t *array = json_array();
	uint64_t kept = underruns_kept(player);
	char utc[UNITS_UTC_LEN];

	for (uint64_t i = 0; i < kept; i++) {
		const struct player_underrun *underrun = &player->underruns[i];

		json_array_append_new(array,
				      json_pack("{ss sI sf ss}", "utc",
						units_format_utc(utc, underrun->utc_ns),
						"stream_offset", (json_int_t)underrun->stream_offset,
						"length_s", (double)underrun->length_ns / 1e9,
						"cause", player_starved_name(underrun->cause)));
	}
	return array;
}

void play_report_player(json_t *object, const struct player *player)
{
	const struct player_stats *stats = &player->stats;

	set(object, "stream_bytes", &stats->stream_offset);
	set(object, "sent_bytes", &stats->sent_bytes);
	set(object, "sent_count", &stats->sent_count);
	json_object_set_new(object, "rate_bps", json_real(rate_bps(player)));
	json_object_set_new(object, "finish_s", json_real((double)get_ns(&stats->finish_ns) / 1e9));
	set(object, "gap_bytes", &stats->gap_bytes);
	set(object, "gap_count", &stats->gap_count);
	set(object, "rest_bytes", &stats->rest_bytes);
	set(object, "unsent_bytes", &stats->unsent_bytes);
	json_object_set_new(object, "schedule", json_schedule(player));
	json_object_set_new(object, "error_hist", play_report_spread(&stats->error));
	json_object_set_new(object, "spacing", play_report_spread(&stats->spacing));
	set(object, "underrun_count", &stats->underrun_count);
	json_object_set_new(object, "underrun_s", json_real((double)get_ns(&stats->underrun_ns) / 1e9));
	json_object_set_new(object, "underruns", json_underruns(player));
}

json_t *play_report_destination(const struct destination *destination)
{
	const struct destination_stats *stats = &destination->stats;
	json_t *o = json_object();
	uint64_t least = get(&stats->device_fill_min_bytes);

	json_object_set_new(o, "name", report_object_text(destination->name));
	json_object_set_new(
		o, "note", destination->note[0] ? report_object_text(destination->note) : json_null());
	set(o, "sent_bytes", &stats->sent_bytes);
	set(o, "sent_count", &stats->sent_count);
	set(o, "busy_count", &stats->busy_count);
	set(o, "refused_count", &stats->refused_count);
	set(o, "down_count", &stats->down_count);
	set(o, "starved_count", &stats->starved_count);
	set(o, "device_ring_bytes", &stats->device_ring_bytes);
	json_object_set_new(o, "device_fill_min_bytes",
			    least == UINT64_MAX ? json_null() : report_object_number(least));
	return o;
}
