/* SPDX-License-Identifier: BSD-2-Clause */
/* vsib-sim: the simulator as a program: a pattern or frames with time codes, paced, with faults on demand */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "drivers/units.h"
#include "recorder/host.h"
#include "tools/replay/playback.h"
#include "tools/replay/play_report.h"
#include "tools/replay/sim_options.h"
#include "tools/replay/sim_plan.h"
#include "tools/replay/sim_report.h"

#define NAME "vsib-sim"
#define RING_BYTES (UINT64_C(64) << 20)
#define PATIENCE_NS (10 * UNITS_NS_PER_S)

/* What a player that is held by the kernel still looks at; so it is freed by the end of the process alone. */
struct program {
	struct sim_options options;
	struct sim_plan plan;
	struct schedule schedule;
	struct disturbance *disturbance;
	struct playback playback;
};

static int list_destinations(void)
{
	for (const struct destination_ops *const *ops = destination_table(); *ops; ops++)
		printf("%s\n", (*ops)->summary);
	return fflush(stdout) == 0 ? 0 : EX_IOERR;
}

static int open_destination(struct program *program)
{
	const struct sim_options *options = &program->options;
	const struct destination_config config = {
		.rate_bps = options->rate_bps,
		.is_force = options->use_force,
		.start_utc_ns = options->start_utc_ns,
	};
	struct playback *playback = &program->playback;
	char error[MADE_ERROR_LEN];
	int ret = sim_plan_check(options, units_realtime_ns(), error);

	if (ret < 0)
		return playback_refuse(playback, EX_USAGE, "%s", error);
	ret = destination_open(&playback->destination, options->destination, &config);
	if (ret == 0)
		return 0;
	return playback_refuse(playback, playback_destination_status(ret), "%s",
			       playback->destination ? playback->destination->error : "no memory");
}

static int make_plan(struct program *program)
{
	char error[MADE_ERROR_LEN];
	int ret = sim_plan_make(&program->plan, &program->options, program->playback.destination,
				units_realtime_ns(), error);

	return ret < 0 ? playback_refuse(&program->playback, EX_USAGE, "%s", error) : 0;
}

static int make_feed(struct program *program)
{
	struct playback *playback = &program->playback;
	const struct feed_config config = playback_feed_config(playback);
	const struct made_feed_config made = {
		.layout = &program->plan.layout,
		.stream_bytes = program->plan.stream_bytes,
		.seed = program->options.seed,
		.is_units = program->plan.is_units,
		.unit_bytes = program->plan.unit_bytes,
	};
	int ret = made_feed_create(&playback->feed, &config, &made);

	if (ret == 0)
		return 0;
	return playback_refuse(playback, ret == -EINVAL ? EX_USAGE : EX_OSERR, "%s",
			       ret == -EINVAL ? playback->feed->error : "no memory");
}

static int make_disturbance(struct program *program)
{
	const struct sim_plan *plan = &program->plan;
	struct disturbance_config config = program->options.faults;

	if (!sim_options_has_faults(&program->options))
		return 0;
	config.seed = program->options.seed;
	config.unit_count = (plan->stream_bytes + plan->unit_bytes - 1) / plan->unit_bytes;
	return disturbance_create(&program->disturbance, &config) < 0 ?
		       playback_refuse(&program->playback, EX_OSERR, "no memory") :
		       0;
}

static void configure_player(struct program *program)
{
	const struct sim_options *options = &program->options;
	const struct sim_plan *plan = &program->plan;

	if (plan->is_paced)
		schedule_init_rate(&program->schedule, plan->layout.stream_bps,
				   1 + options->ppm / 1e6, 0);
	else
		schedule_init_none(&program->schedule);
	program->playback.player_config = (struct player_config){
		.schedule = &program->schedule,
		.gaps = PLAYER_GAPS_TIME,
		.lump_bytes = plan->lump_bytes,
		.frame_bytes = plan->unit_bytes,
		.burst = options->burst,
		.is_precise = options->pace == SIM_PACE_PRECISE,
		.patience_ns = PATIENCE_NS,
		.start_utc_ns = plan->start_utc_ns,
		.disturbance = program->disturbance,
	};
	program->playback.input = plan->text;
	program->playback.limit_ns = plan->limit_ns;
	program->playback.is_endless = !options->duration_ns && !options->bytes;
}

/* Return: 0, or the exit status of what can't be done. */
static int prepare(struct program *program)
{
	int status = playback_open(&program->playback);

	if (!status)
		status = open_destination(program);
	if (!status)
		status = make_plan(program);
	if (!status)
		status = make_feed(program);
	if (!status)
		status = make_disturbance(program);
	if (!status)
		configure_player(program);
	return status;
}

static json_t *make_report(const struct program *program)
{
	json_t *report = playback_json(&program->playback, NAME "/1");

	if (report)
		sim_report_json(report, &program->options, &program->plan, program->disturbance);
	return report;
}

static int simulate(void *context)
{
	struct program *program = context;
	struct playback *playback = &program->playback;
	json_t *report = NULL;
	int status = prepare(program);

	if (!status)
		status = playback_run(playback);
	if (status) {
		fprintf(stderr, NAME ": %s\n", playback->error);
	} else {
		play_report_text(stderr, playback);
		sim_report_text(stderr, program->disturbance);
		report = make_report(program);
		status = playback->exit_status;
	}
	status = playback_close(playback, report, status);
	disturbance_free(program->disturbance);
	schedule_free(&program->schedule);
	return status;
}

static int run(struct program *program)
{
	static const struct host_child simulator = {
		.name = "simulator",
		.remains = "what it had sent is sent",
		.killed_status = PLAYBACK_STOPPED_STATUS,
	};
	const struct sim_options *options = &program->options;
	struct playback *playback = &program->playback;

	playback->program = NAME;
	playback->json = options->json;
	playback->ring_bytes = options->ring_bytes ? options->ring_bytes : RING_BYTES;
	playback->is_ring_default = !options->ring_bytes;
	playback->block_bytes = sim_plan_block_bytes(options);
	playback->live = options->live;
	playback->log_interval_ns = options->log_interval_ns;
	return host_run(simulate, program, &simulator);
}

int main(int argc, char **argv)
{
	struct program *program = calloc(1, sizeof(*program));
	char error[OPTIONS_ERROR_LEN];
	int status;

	if (!program) {
		fprintf(stderr, NAME ": no memory\n");
		return EX_OSERR;
	}
	sim_options_defaults(&program->options);
	status = sim_options_parse(&program->options, argc, argv, error);
	if (status)
		fprintf(stderr, NAME ": %s\n", error);
	else if (program->options.is_list)
		status = list_destinations();
	else
		status = run(program);
	free(program);
	return status;
}
