/* SPDX-License-Identifier: BSD-2-Clause */
/* vsib-replay: what was recorded goes out again, at its own time */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/host.h"
#include "recorder/report_objects.h"
#include "tools/json_file.h"
#include "tools/replay/dry_run.h"
#include "tools/replay/play_report.h"
#include "tools/replay/playback.h"
#include "tools/replay/replay_input.h"
#include "tools/replay/replay_options.h"
#include "tools/replay/replay_shape.h"

#define NAME "vsib-replay"
#define GAPS_SHOWN 10

struct program {
	struct replay_options options;
	struct replay_input input;
	struct schedule schedule;
	struct replay_shape shape;
	struct playback playback;
	struct dry_run dry_run;
	int64_t begin_ns; /* of reading */
};

/* Return: @status */
static int say(int status, const char *text)
{
	fprintf(stderr, NAME ": %s\n", text);
	return status;
}

/* ---- set-up -------------------------------------------------------------------------------------- */

/* What the recording lacks is said before anything is sent. */
static void tell_recording(const struct program *program)
{
	const struct recording *recording = program->input.recording;
	const struct recording_missing *missing;
	const struct recording_note *notes;
	size_t count;

	if (!recording)
		return;
	notes = recording_notes(recording, &count);
	for (size_t i = 0; i < count; i++)
		if (notes[i].is_trouble || !program->options.is_quiet)
			fprintf(stderr, "%s\n", notes[i].text);
	missing = recording_missing(recording, &count);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr,
			"%s/%s %s: %" PRIu64 " bytes from byte %" PRIu64
			" of the stream on are missing\n",
			missing[i].target, missing[i].file, missing[i].reason, missing[i].bytes,
			missing[i].stream_offset);
	missing = recording_rebuilt(recording, &count);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "%s/%s %s: what was in it is rebuilt\n", missing[i].target,
			missing[i].file, missing[i].reason);
}

static int open_destination(struct program *program)
{
	const struct replay_options *o = &program->options;
	const struct destination_config config = {
		.rate_bps = o->rate_bps,
		.gives_packets = program->shape.is_whole,
		.link_type = program->shape.link_type,
		.is_force = o->is_forced,
		.start_utc_ns = o->at_utc_ns,
	};
	struct destination **destination = &program->playback.destination;
	int ret;

	if (o->is_dry_run)
		ret = dry_run_destination(destination, &program->dry_run);
	else
		ret = destination_open(destination, o->destination, &config);
	if (ret == 0)
		return 0;
	return say(playback_destination_status(ret),
		   *destination ? (*destination)->error : "out of memory");
}

static void configure(struct program *program)
{
	const struct replay_options *o = &program->options;
	struct playback *playback = &program->playback;

	playback->program = NAME;
	playback->json = o->json;
	playback->ring_bytes = o->ring_bytes;
	playback->block_bytes = program->shape.block_bytes;
	playback->live = o->is_quiet ? LIVE_NONE : o->live;
	playback->log_interval_ns = 10 * UNITS_NS_PER_S;
	playback->input = program->shape.text;
	playback->is_endless = o->loop_count == 0;
	playback->limit_ns = o->is_dry_run && !o->duration_ns ? DRY_RUN_NS : o->duration_ns;
	playback->player_config = (struct player_config){
		.schedule = &program->schedule,
		.gaps = o->gaps == REPLAY_GAPS_SKIP || o->is_dry_run ? PLAYER_GAPS_SKIP :
								       PLAYER_GAPS_TIME,
		.lump_bytes = program->shape.lump_bytes,
		.frame_bytes = program->shape.frame_bytes,
		.burst = o->burst,
		.is_precise = o->is_precise,
		.patience_ns = o->patience_ns,
		.start_utc_ns = o->at_utc_ns,
	};
}

static int make_feed(struct program *program)
{
	struct playback *playback = &program->playback;
	const struct feed_config config = playback_feed_config(playback);
	int status = replay_input_feed(&program->input, &program->options, &config,
				       program->shape.is_whole, playback->memory.base,
				       playback->memory.bytes, &playback->feed);

	return status ? say(status, program->input.error) : 0;
}

/* Return: 0; the exit status, and the sentence was said. */
static int prepare(struct program *program)
{
	struct replay_options *o = &program->options;
	int status = replay_input_open(&program->input, o);

	if (!status) {
		tell_recording(program);
		replay_input_look(&program->input);
		status = replay_input_plan(&program->input, o, &program->schedule);
	}
	if (status)
		return say(status, program->input.error);
	status = replay_shape_begin(&program->shape, &program->input, o);
	if (status)
		return say(status, program->shape.error);
	status = open_destination(program);
	if (status)
		return status;
	status = replay_shape_finish(&program->shape, &program->input, o,
				     program->playback.destination);
	if (status)
		return say(status, program->shape.error);
	configure(program);
	status = playback_open(&program->playback);
	return status ? say(status, program->playback.error) : make_feed(program);
}

/* ---- the reports --------------------------------------------------------------------------------- */

static void text_packets(const struct program *program)
{
	char left_out[PACKET_TEXT_LEN];
	struct packet_counts counts;

	if (program->input.kind != REPLAY_SAVEFILES)
		return;
	packet_feed_counts(program->playback.feed, &counts);
	fprintf(stderr, "  read            %" PRIu64 " packets", packet_count(&counts));
	if (packet_tell_left_out(&counts, left_out, sizeof(left_out)))
		fprintf(stderr, ", of them left out: %s", left_out);
	fputc('\n', stderr);
}

static void text_feed(const struct program *program)
{
	const struct feed *feed = program->playback.feed;
	uint64_t count = atomic_load_explicit(&feed->stats.gap_count, memory_order_relaxed);
	char bytes[UNITS_TEXT_LEN];

	for (uint64_t i = 0; i < count && i < GAPS_SHOWN; i++)
		fprintf(stderr,
			"  gap             %" PRIu64 " bytes at byte %" PRIu64 " of the stream: %s\n",
			feed->gaps[i].bytes, feed->gaps[i].stream_offset,
			recording_cause_name(feed->gaps[i].cause));
	if (count > GAPS_SHOWN)
		fprintf(stderr, "  gaps            %" PRIu64 " in all; --json lists more of them\n",
			count);
	for (unsigned i = 0; i < feed->disk_count; i++) {
		const struct feed_disk *disk = &feed->disks[i];
		int64_t busy_ns = atomic_load_explicit(&disk->busy_ns, memory_order_relaxed);
		uint64_t read = atomic_load_explicit(&disk->read_bytes, memory_order_relaxed);

		fprintf(stderr,
			"  disk            %s: %s, %.1f Mbit/s while it was read, slowest read %.1f ms, %s, %s\n",
			disk->path, units_format_bytes(bytes, read),
			busy_ns > 0 ? (double)read * 8e3 / (double)busy_ns : 0,
			(double)atomic_load_explicit(&disk->worst_read_ns, memory_order_relaxed) / 1e6,
			disk->io ? disk->io : "", disk->engine ? disk->engine : "");
	}
}

static void text_dry_run(const struct program *program)
{
	const struct dry_run *dry_run = &program->dry_run;

	fprintf(stderr, "  can be read     %.1f Mbit/s", dry_run->read_bps / 1e6);
	if (dry_run->slowest_bps > 0)
		fprintf(stderr, ", in its slowest second (at %.0f s) %.1f Mbit/s",
			dry_run->slowest_at_s, dry_run->slowest_bps / 1e6);
	fputc('\n', stderr);
	if (dry_run->wanted_bps)
		fprintf(stderr,
			"%s: %.1f Mbit/s can %sbe played from here (a quarter more is wanted of the disks)\n",
			dry_run->is_enough ? "ENOUGH" : "NOT ENOUGH",
			(double)dry_run->wanted_bps / 1e6, dry_run->is_enough ? "" : "not safely ");
}

static json_t *json_dry_run(const struct program *program)
{
	const struct dry_run *dry_run = &program->dry_run;

	return json_pack("{s:f, s:f, s:f, s:I, s:b}", "read_bps", dry_run->read_bps,
			 "slowest_second_bps", dry_run->slowest_bps, "slowest_second_s",
			 dry_run->slowest_at_s, "wanted_bps", (json_int_t)dry_run->wanted_bps,
			 "is_enough", dry_run->is_enough);
}

static json_t *json_input(const struct program *program)
{
	const struct replay_input *input = &program->input;
	const struct recording_info *info = input->recording ? recording_info(input->recording) : NULL;
	json_t *object = json_pack("{s:s, s:o}", "kind", replay_kind_name(input->kind), "name",
				   json_file_text(program->shape.text));

	if (!object)
		return NULL;
	if (info && info->journal)
		json_object_set_new(object, "journal", json_file_text(info->journal));
	if (input->layout.format != FORMAT_UNKNOWN)
		json_object_set_new(object, "format", json_string(format_name(input->layout.format)));
	json_object_set_new(object, "start_offset", json_integer((json_int_t)input->start_offset));
	if (input->stop_offset != UINT64_MAX)
		json_object_set_new(object, "stop_offset",
				    json_integer((json_int_t)input->stop_offset));
	return object;
}

static json_t *make_json(const struct program *program)
{
	json_t *report = playback_json(&program->playback, "vsib-replay/1");

	if (!report)
		return NULL;
	json_object_set_new(report, "input", json_input(program));
	json_object_set_new(report, "feed", json_feed(program->playback.feed));
	json_object_set_new(report, "gaps", json_gaps(program->playback.feed));
	json_object_set_new(report, "gap_count",
			    report_object_number(atomic_load_explicit(
				    &program->playback.feed->stats.gap_count, memory_order_relaxed)));
	json_object_set_new(report, "disks", json_disks(program->playback.feed));
	if (program->options.is_dry_run)
		json_object_set_new(report, "dry_run", json_dry_run(program));
	return report;
}

static json_t *json_gaps(const struct feed *feed)
{
	uint64_t count = atomic_load_explicit(&feed->stats.gap_count, memory_order_relaxed);
	json_t *list = json_array();

	for (uint64_t i = 0; i < count && i < FEED_GAPS_MAX; i++)
		json_array_append_new(list, json_pack("{s:I, s:I, s:s}", "stream_offset",
						      (json_int_t)feed->gaps[i].stream_offset, "bytes",
						      (json_int_t)feed->gaps[i].bytes, "cause",
						      recording_cause_name(feed->gaps[i].cause)));
	return list;
}

/* What came from the disks, and what was wrong with it. */
static json_t *json_feed(const struct feed *feed)
{
	const struct feed_stats *stats = &feed->stats;
	const struct {
		const char *name;
		const _Atomic uint64_t *value;
	} figures[] = {
		{ "planned_bytes", &stats->planned_bytes },
		{ "data_bytes", &stats->data_bytes },
		{ "filled_bytes", &stats->filled_bytes },
		{ "rebuilt_bytes", &stats->rebuilt_bytes },
		{ "copied_bytes", &stats->copied_bytes },
		{ "bad_sum_count", &stats->bad_sum_count },
		{ "bad_sum_bytes", &stats->bad_sum_bytes },
		{ "unreadable_count", &stats->unreadable_count },
		{ "unreadable_bytes", &stats->unreadable_bytes },
		{ "unverified_bytes", &stats->unverified_bytes },
	};
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		json_object_set_new(object, figures[i].name,
				    report_object_number(atomic_load_explicit(figures[i].value,
									      memory_order_relaxed)));
	return object;
}

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

static json_t *json_disks(const struct feed *feed)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < feed->disk_count; i++) {
		const struct feed_disk *disk = &feed->disks[i];
		int64_t busy_ns = atomic_load_explicit(&disk->busy_ns, memory_order_relaxed);
		uint64_t bytes = atomic_load_explicit(&disk->read_bytes, memory_order_relaxed);
		json_t *object = json_pack(
			"{s:o, s:o, s:o, s:o, s:f, s:f, s:f}", "path", json_file_text(disk->path),
			"read_bytes", report_object_number(bytes), "read_count",
			report_object_number(
				atomic_load_explicit(&disk->read_count, memory_order_relaxed)),
			"error_count",
			report_object_number(
				atomic_load_explicit(&disk->error_count, memory_order_relaxed)),
			"busy_s", seconds(busy_ns), "rate_bps",
			busy_ns > 0 ? (double)bytes * 8e9 / (double)busy_ns : 0, "worst_read_s",
			seconds(atomic_load_explicit(&disk->worst_read_ns, memory_order_relaxed)));

		json_object_set_new(object, "io", json_string(disk->io ? disk->io : ""));
		json_object_set_new(object, "engine", json_string(disk->engine ? disk->engine : ""));
		json_object_set_new(object, "read_times", play_report_spread(&disk->read_times));
		json_array_append_new(list, object);
	}
	return list;
}

/* Return: the exit status, which is 1 for a dry run that isn't enough. */
static int report(struct program *program)
{
	struct playback *playback = &program->playback;
	int status = playback->exit_status;

	if (program->options.is_dry_run) {
		dry_run_judge(&program->dry_run, playback->feed,
			      units_monotonic_ns() - program->begin_ns, playback->ring_bytes);
		if (status == 0 && program->dry_run.wanted_bps && !program->dry_run.is_enough)
			status = 1;
	}
	if (!program->options.is_quiet || status != 0) {
		play_report_text(stderr, playback);
		text_packets(program);
		text_feed(program);
		if (program->options.is_dry_run)
			text_dry_run(program);
	}
	return status;
}

static int replay(void *context)
{
	struct program *program = context;
	json_t *json = NULL;
	int status;

	program->dry_run.wanted_bps = program->options.is_dry_run ? program->options.rate_bps : 0;
	status = prepare(program);
	if (!status) {
		program->begin_ns = units_monotonic_ns();
		status = playback_run(&program->playback);
		if (status) {
			say(status, program->playback.error);
		} else {
			status = report(program);
			json = make_json(program);
		}
	}
	status = playback_close(&program->playback, json, status);
	replay_input_close(&program->input);
	schedule_free(&program->schedule);
	return status;
}

int main(int argc, char **argv)
{
	static const struct host_child player = {
		.name = "player",
		.remains = "what was sent before is sent",
		.killed_status = PLAYBACK_STOPPED_STATUS,
	};
	struct program *program = calloc(1, sizeof(*program));
	char error[OPTIONS_ERROR_LEN];
	int status;

	if (!program)
		return say(EX_OSERR, "no memory");
	status = replay_options_parse(&program->options, argc, argv, error);
	status = status ? say(status, error) : host_run(replay, program, &player);
	replay_options_free(&program->options);
	free(program);
	return status;
}
