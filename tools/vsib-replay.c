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
#include "tools/json_file.h"
#include "tools/replay/dry_run.h"
#include "tools/replay/feed_report.h"
#include "tools/replay/play_report.h"
#include "tools/replay/playback.h"
#include "tools/replay/replay_input.h"
#include "tools/replay/replay_options.h"
#include "tools/replay/replay_shape.h"

#define NAME "vsib-replay"

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
		.grain_ns = o->grain_ns,
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
	feed_report_json(report, program->playback.feed);
	if (program->options.is_dry_run)
		json_object_set_new(report, "dry_run", json_dry_run(program));
	return report;
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
		feed_report_text(stderr, program->playback.feed);
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
