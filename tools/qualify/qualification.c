/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/qualification.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/layout.h"
#include "tools/qualify/judge.h"
#include "tools/qualify/pressure.h"
#include "tools/qualify/read_back.h"
#include "tools/qualify/read_sweep.h"
#include "tools/qualify/rollover.h"
#include "tools/qualify/run.h"
#include "tools/qualify/sweeps.h"
#include "tools/qualify/temperature.h"

#define BLOCK_POINTS 13 /* of sweep_blocks(): 4 KiB to 16 MiB */
#define DEPTH_POINTS 6  /* of sweep_depths(): 1 to 32 */
#define ROLLOVER_FILES 200
#define UNPACED_RING_BYTES (UINT64_C(32) << 20)
#define UNPACED_BLOCKS 16

/* What is measured around a run, and what it leaves to be read again. */
struct running {
	struct qualification *qualification;
	struct run_disk disks[TARGET_MAX];
	unsigned disk_count;
	struct pressure pressures[TARGET_MAX];
	struct temperature temperatures[TARGET_MAX];
	struct run_files *files; /* of the paced run, or of a whole disk */
	int files_disk;          /* the one disk that they are on; -1 = all */
};

static bool is_cancelled(const struct qualification *q)
{
	/* relaxed: nothing else is seen by it */
	return atomic_load_explicit(&q->control->is_cancelled, memory_order_relaxed);
}

static void tell(const struct trial_control *control, const struct trial_progress *told)
{
	struct qualification *q = control->context;
	bool is_asked = atomic_exchange_explicit(&q->signals->is_asked, false, memory_order_relaxed);

	qualify_progress_tell(&q->progress, told, is_asked);
}

/* ---- runs ---- */

/* What a recording would be made of, as far as nobody has asked for something else. */
static uint64_t usual_block(const struct qualification *q, uint64_t *file_bytes)
{
	const struct trial_asked *asked = &q->trial->asked;
	const struct layout_request request = {
		.kind = LAYOUT_VBS,
		.stripe = asked->stripe,
		.disk_count = q->trial->disk_count,
		.ring_bytes = asked->ring_bytes,
		.block_bytes = asked->block_bytes,
	};
	char error[LAYOUT_ERROR_LEN];
	struct layout_plan plan;

	if (layout_plan(&plan, &request, error) < 0)
		return *file_bytes = LAYOUT_ALIGN; /* the runs will say why it is impossible */
	*file_bytes = plan.chunk_bytes;
	return plan.block_bytes;
}

/*
 * As much as one file can have: what has its room is kept until it is read again. Some is left for what the file
 * system itself needs for it.
 */
static uint64_t whole_disk_bytes(const struct qualification *q, uint64_t room_bytes)
{
	uint64_t file_bytes, block_bytes = usual_block(q, &file_bytes);
	uint64_t spare = room_bytes / 1000 + 4 * block_bytes;

	return room_bytes > spare ? (room_bytes - spare) / block_bytes * block_bytes : room_bytes;
}

/*
 * A run as fast as it goes leaves a full ring behind, and a slow disk would be at it for longer than the run took: it
 * gets no more of a ring than it needs. Several disks hold their chunks there, and need all of it.
 */
static void shrink_ring(const struct qualification *q, struct run_config *config)
{
	uint64_t file_bytes, block_bytes = usual_block(q, &file_bytes);
	uint64_t enough = UNPACED_BLOCKS * block_bytes;

	if (enough < UNPACED_RING_BYTES)
		enough = UNPACED_RING_BYTES;
	if (config->rate_bps || config->disk_count > 1 || config->ring_bytes <= enough)
		return;
	config->ring_bytes = enough;
	config->block_bytes = block_bytes;
}

static void choose_disks(struct running *running, const struct plan_step *step)
{
	const struct trial *trial = running->qualification->trial;

	running->disk_count = 0;
	for (unsigned i = 0; i < trial->disk_count; i++) {
		if (step->disk >= 0 && (unsigned)step->disk != i)
			continue;
		running->disks[running->disk_count++] = (struct run_disk){
			.number = i,
			.target = &trial->disks[i].target,
			.budget_bytes = running->qualification->disks[i].room_bytes,
		};
	}
}

static double hottest(void *context)
{
	const struct running *running = context;
	double most = TEMPERATURE_UNKNOWN;

	for (unsigned i = 0; i < running->disk_count; i++) {
		double celsius =
			temperature_read(&running->temperatures[i], running->qualification->sysfs);

		if (celsius > most)
			most = celsius;
	}
	return most;
}

static void look_before(struct running *running)
{
	const struct sysfs *sysfs = running->qualification->sysfs;

	for (unsigned i = 0; i < running->disk_count; i++) {
		dev_t disk = running->disks[i].target->disk_device;

		temperature_find(&running->temperatures[i], sysfs, disk);
		pressure_begin(&running->pressures[i], sysfs, disk);
	}
}

/* Directories on one disk: what the other one was given is not somebody else's. */
static uint64_t own_bytes(const struct running *running, const struct trial_run *run, dev_t disk)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < run->part_count && i < running->disk_count; i++)
		if (running->disks[i].target->disk_device == disk)
			bytes += run->parts[i].written_bytes;
	return bytes;
}

static void look_behind(const struct running *running, struct trial_run *run)
{
	for (unsigned i = 0; i < run->part_count && i < running->disk_count; i++)
		pressure_end(&running->pressures[i], running->qualification->sysfs,
			     own_bytes(running, run, running->disks[i].target->disk_device),
			     &run->parts[i].pressure);
}

/* Return: 0; 1: held, see run_execute(); -errno. */
static int execute(struct running *running, const struct plan_step *step, struct trial_run *run,
		   uint64_t rate_bps, bool is_kept)
{
	struct qualification *q = running->qualification;
	const struct trial_asked *asked = &q->trial->asked;
	struct run_config config = {
		.phase = step->phase,
		.disks = running->disks,
		.source = step->phase == PHASE_SOURCE ? asked->source : NULL,
		.rate_bps = rate_bps,
		.duration_ns = step->duration_ns,
		.ring_bytes = asked->ring_bytes,
		.block_bytes = asked->block_bytes,
		.depth = asked->depth,
		.engine = q->options->engine,
		.stripe = asked->stripe,
		.use_direct = asked->use_direct,
		.allow_same_device = q->options->allow_same_device,
		.has_interference = step->phase == PHASE_INTERFERE,
		.temperature = hottest,
		.temperature_context = running,
		.control = q->control,
	};
	int ret;

	run_files_free(running->files);
	running->files = NULL;
	trial_run_free(run);
	choose_disks(running, step);
	config.disk_count = running->disk_count;
	shrink_ring(q, &config);
	if (step->duration_ns == INT64_MAX) { /* all of the disk */
		config.duration_ns = 0;
		config.limit_bytes = whole_disk_bytes(q, step->room_bytes);
	}
	look_before(running);
	ret = run_execute(run, &config, is_kept ? &running->files : NULL);
	running->files_disk = step->disk;
	if (run->was_run && step->phase != PHASE_INTERFERE)
		look_behind(running, run);
	return ret;
}

/* An error counts, whatever was tried when it came. */
static bool has_error(const struct trial_run *run)
{
	bool is_bad = run->error[0] != '\0';

	for (unsigned i = 0; i < run->part_count; i++)
		is_bad = is_bad || run->parts[i].error[0];
	return is_bad;
}

/* Of --rate auto: what passed, and what did not. */
struct rate_search {
	struct running *running;
	const struct plan_step *step;
	struct trial_run passed; /* put aside while another rate is tried */
	struct judgement *judgement;
	uint64_t good_bps, bad_bps; /* 0 = none */
};

static uint64_t next_rate(const struct rate_search *search)
{
	uint64_t best_bps;

	if (judge_best_rate(search->running->qualification->trial, &best_bps) < 0)
		best_bps = 0;
	return plan_next_rate(search->good_bps, search->bad_bps, best_bps);
}

/* Return: as execute(). @is_over: nothing else is to be tried. */
static int try_rate(struct rate_search *search, uint64_t rate_bps, bool *is_over)
{
	struct qualification *q = search->running->qualification;
	struct trial *trial = q->trial;
	int ret;

	search->passed = trial->paced;
	memset(&trial->paced, 0, sizeof(trial->paced));
	if (!search->good_bps)
		trial_run_free(&search->passed);
	ret = execute(search->running, search->step, &trial->paced, rate_bps, true);
	*is_over = ret != 0 || is_cancelled(q) || has_error(&trial->paced);
	if (*is_over)
		return ret;
	ret = judge(trial, search->judgement);
	if (ret == 0 && search->judgement->result == VERDICT_PASS) {
		search->good_bps = rate_bps;
		return 0;
	}
	*is_over = ret < 0 || search->judgement->result == VERDICT_INCONCLUSIVE;
	search->bad_bps = rate_bps;
	return ret;
}

/* The highest that passed is what the verdict is about. */
static void keep_passed(struct rate_search *search)
{
	struct trial *trial = search->running->qualification->trial;

	if (search->good_bps && search->good_bps != trial->paced.rate_bps && !has_error(&trial->paced)) {
		trial_run_free(&trial->paced);
		trial->paced = search->passed;
	} else {
		trial_run_free(&search->passed);
	}
	memset(&search->passed, 0, sizeof(search->passed));
}

static int run_at_best_rate(struct running *running, const struct plan_step *step)
{
	struct trial *trial = running->qualification->trial;
	struct rate_search search = {
		.running = running,
		.step = step,
		.judgement = malloc(sizeof(*search.judgement)),
	};
	uint64_t rate_bps = next_rate(&search);
	int ret = search.judgement ? 0 : -ENOMEM;
	bool is_over = false;

	if (ret == 0 && rate_bps == 0)
		snprintf(trial->paced.error, sizeof(trial->paced.error),
			 "no rate would pass, by what the run at full speed has shown");
	for (unsigned try = 0; ret == 0 && !is_over && rate_bps > 0 && try < PLAN_TRIES; try++) {
		ret = try_rate(&search, rate_bps, &is_over);
		keep_passed(&search);
		rate_bps = next_rate(&search);
	}
	free(search.judgement);
	return ret;
}

static int run_paced(struct running *running, const struct plan_step *step)
{
	struct trial *trial = running->qualification->trial;

	if (step->turn == 0 && trial->asked.is_rate_auto)
		return run_at_best_rate(running, step);
	if (step->turn == 0)
		return execute(running, step, &trial->paced, trial->asked.rate_bps, true);
	if (trial->repeat_count < step->turn)
		trial->repeat_count = step->turn;
	return execute(running, step, &trial->repeats[step->turn - 1], trial->paced.rate_bps, true);
}

static int run_full(struct running *running, const struct plan_step *step)
{
	struct trial *trial = running->qualification->trial;

	return execute(running, step, &trial->disks[step->disk].full, 0,
		       trial->asked.length == TRIAL_WHOLE_DISK);
}

static int run_alone(struct running *running, const struct plan_step *step)
{
	return execute(running, step, &running->qualification->trial->disks[step->disk].alone, 0,
		       false);
}

static int run_together(struct running *running, const struct plan_step *step)
{
	return execute(running, step, &running->qualification->trial->together, 0, false);
}

static int run_source(struct running *running, const struct plan_step *step)
{
	struct trial *trial = running->qualification->trial;

	return execute(running, step, &trial->source, trial->paced.rate_bps, false);
}

static int run_interfered(struct running *running, const struct plan_step *step)
{
	struct trial *trial = running->qualification->trial;

	return execute(running, step, &trial->interfered, trial->paced.rate_bps, false);
}

/* ---- disk by disk ---- */

/*
 * Its own fault, and not that it is full, that we may not do it, or have too little of something ourselves. The kernel
 * has many names for what happens to disks: ENODATA for a bad sector, EREMOTEIO, ENOLINK, EILSEQ, EUCLEAN.
 */
static bool is_of_disk(int ret)
{
	static const int others[] = {
		0,      ECANCELED, ENOMEM, ENOSPC, EDQUOT, EFBIG,  EINVAL, EOPNOTSUPP,
		ENOSYS, EACCES,    EPERM,  EMFILE, ENFILE, EAGAIN, EBUSY,  ENOTBLK,
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (ret == -others[i])
			return false;
	return true;
}

/*
 * Of what is done to one disk: what is its own fault counts as that. One that doesn't answer any more holds what it
 * was asked, and nothing else can be asked of it. Return: as run_execute().
 */
static int settle_disk(struct qualification *q, const struct plan_step *step, int ret, const char *error)
{
	struct trial_disk *disk = &q->trial->disks[step->disk];

	if (!is_of_disk(ret))
		return 0;
	if (!disk->failure[0])
		snprintf(disk->failure, sizeof(disk->failure), "%s: %.400s",
			 trial_phase_name(step->phase), error);
	return ret == -ETIMEDOUT;
}

static struct sweep_config sweep_config(const struct qualification *q, const struct plan_step *step,
					unsigned points)
{
	const struct trial_disk *disk = &q->trial->disks[step->disk];
	const struct trial_asked *asked = &q->trial->asked;
	uint64_t file_bytes;

	return (struct sweep_config){
		.target = &disk->target,
		.disk = step->disk,
		.control = q->control,
		.point_ns = step->duration_ns / points,
		.most_bytes = step->room_bytes,
		.use_direct = asked->use_direct,
		.engine = q->options->engine,
		.depth = asked->depth,
		.block_bytes = usual_block(q, &file_bytes),
	};
}

static int run_blocks(struct running *running, const struct plan_step *step)
{
	struct qualification *q = running->qualification;
	struct sweep_config config = sweep_config(q, step, BLOCK_POINTS);

	struct trial_sweep *sweep = &q->trial->disks[step->disk].blocks;

	return settle_disk(q, step, sweep_blocks(&config, sweep), sweep->error);
}

static int run_depth(struct running *running, const struct plan_step *step)
{
	struct qualification *q = running->qualification;
	struct sweep_config config = sweep_config(q, step, DEPTH_POINTS);

	struct trial_sweep *sweep = &q->trial->disks[step->disk].depths;

	return settle_disk(q, step, sweep_depths(&config, sweep), sweep->error);
}

static int run_read(struct running *running, const struct plan_step *step)
{
	struct qualification *q = running->qualification;
	struct trial_disk *disk = &q->trial->disks[step->disk];
	const struct plan_disk *plan = &q->disks[step->disk];
	struct read_sweep_config config = {
		.target = plan->is_device ? NULL : &disk->target,
		.device = plan->device_bytes ? disk->target.device : NULL,
		.disk = step->disk,
		.control = q->control,
		.time_ns = step->duration_ns / 4,
		.position_ns = step->duration_ns / 4 / READ_SWEEP_POSITIONS,
		.most_bytes = plan->room_bytes,
		.engine = q->options->engine,
	};

	return settle_disk(q, step, read_sweep(&config, &disk->read), disk->read.error);
}

static int run_rollover(struct running *running, const struct plan_step *step)
{
	struct qualification *q = running->qualification;
	const struct trial_asked *asked = &q->trial->asked;
	struct trial_disk *disk = &q->trial->disks[step->disk];
	struct rollover_config config = {
		.target = &disk->target,
		.disk = step->disk,
		.control = q->control,
		.depth = asked->depth,
		.count = ROLLOVER_FILES,
		.time_ns = step->duration_ns,
		.use_direct = asked->use_direct,
		.engine = q->options->engine,
		.most_bytes = step->room_bytes,
	};

	config.block_bytes = usual_block(q, &config.file_bytes);
	return settle_disk(q, step, rollover_measure(&config, &disk->rollover), disk->rollover.error);
}

/* What is read is as much as there is time for. */
static int run_read_back(struct running *running, const struct plan_step *step)
{
	struct qualification *q = running->qualification;
	unsigned number = (unsigned)step->disk;
	const struct read_back_config config = {
		.files = running->files,
		.index = running->files_disk < 0 ? number : 0,
		.number = number,
		.control = q->control,
		.end_ns = step->duration_ns == INT64_MAX ? INT64_MAX :
							   units_monotonic_ns() + step->duration_ns,
	};
	struct trial_read_back *back = &q->trial->disks[number].read_back;

	if (!running->files)
		return 0;
	return settle_disk(q, step, read_back(back, &config), back->text);
}

/* ---- one after the other ---- */

typedef int (*phase_function)(struct running *running, const struct plan_step *step);

static const phase_function functions[PHASE_COUNT] = {
	[PHASE_BLOCKS] = run_blocks,     [PHASE_DEPTH] = run_depth,
	[PHASE_FULL] = run_full,         [PHASE_READ] = run_read,
	[PHASE_ALONE] = run_alone,       [PHASE_TOGETHER] = run_together,
	[PHASE_PACED] = run_paced,       [PHASE_READ_BACK] = run_read_back,
	[PHASE_SOURCE] = run_source,     [PHASE_INTERFERE] = run_interfered,
	[PHASE_ROLLOVER] = run_rollover,
};

/* Return: 0; 1: the kernel holds something of it; -errno. */
static int run_steps(struct running *running)
{
	struct qualification *q = running->qualification;
	int ret = 0;

	for (unsigned i = 0; i < q->plan->count && !is_cancelled(q); i++) {
		const struct plan_step *step = &q->plan->steps[i];

		qualify_progress_step(&q->progress, i);
		if (functions[step->phase])
			ret = functions[step->phase](running, step);
		/* a run that did not begin has said why, and others may */
		if (ret == -ENOMEM || ret == 1)
			return ret;
	}
	return 0;
}

int qualification_run(struct qualification *qualification)
{
	struct running *running = calloc(1, sizeof(*running));
	struct trial *trial = qualification->trial;
	int ret;

	if (!running)
		return -ENOMEM;
	running->qualification = qualification;
	qualification->control->tell = tell;
	qualification->control->context = qualification;
	trial->repeats = calloc(qualification->options->paced_count, sizeof(trial->repeats[0]));
	ret = trial->repeats ? run_steps(running) : -ENOMEM;
	qualify_progress_end(&qualification->progress);
	trial->is_interrupted = is_cancelled(qualification);
	if (ret == 1)
		return 1; /* what is held looks at all of this for ever */
	run_files_free(running->files);
	free(running);
	return ret;
}
