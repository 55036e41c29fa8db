/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/qualify_json.h"

#include <math.h>

#include "drivers/units.h"
#include "recorder/report_objects.h"
#include "recorder/version.h"
#include "tools/qualify/curve.h"
#include "tools/json_file.h"

#define STALLS_MAX 32
#define STALL_LEAST_NS INT64_C(10000000)

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* A measure that is below 0 where it is not known. */
static json_t *known(double value)
{
	return value >= 0 ? real(value) : json_null();
}

/* One that is 0 where it is not known. */
static json_t *positive(double value)
{
	return value > 0 ? real(value) : json_null();
}

static json_t *rate_or_null(uint64_t rate_bps)
{
	return rate_bps ? report_object_number(rate_bps) : json_null();
}

static json_t *seconds(int64_t ns)
{
	return json_real((double)ns / 1e9);
}

static json_t *text(const char *string)
{
	return json_file_text(string);
}

static json_t *text_or_null(const char *string)
{
	return string[0] ? text(string) : json_null();
}

static json_t *disk_index(int disk)
{
	return disk < 0 ? json_null() : json_integer(disk);
}

static json_t *texts(const char (*list)[TRIAL_TEXT_LEN], unsigned count)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(array, text(list[i]));
	return array;
}

/* ---- what was asked, and where ---- */

static const char *length_name(enum trial_length length)
{
	static const char *const names[] = { "quick", "normal", "soak", "whole-disk" };

	return names[length];
}

static json_t *config_of(const struct trial_asked *asked)
{
	json_t *o = json_object();

	set(o, "rate_bps", rate_or_null(asked->rate_bps));
	set(o, "rate_auto", json_boolean(asked->is_rate_auto));
	set(o, "horizon_s", seconds(asked->horizon_ns));
	set(o, "ring_bytes", report_object_number(asked->ring_bytes));
	set(o, "block_bytes",
	    asked->block_bytes ? report_object_number(asked->block_bytes) : json_null());
	set(o, "depth", asked->depth ? report_object_number(asked->depth) : json_null());
	set(o, "io", json_string(asked->use_direct ? "direct" : "buffered"));
	set(o, "length", json_string(length_name(asked->length)));
	set(o, "paced_s", asked->paced_ns ? seconds(asked->paced_ns) : json_null());
	set(o, "source", text(asked->source ? asked->source : "sim:"));
	set(o, "interfere", json_boolean(asked->has_interference));
	set(o, "rho_pass", real(asked->rho_pass));
	set(o, "rho_fail", real(asked->rho_fail));
	return o;
}

static json_t *host_of(const struct trial_host *host)
{
	json_t *o = json_object();

	set(o, "name", text(host->name));
	set(o, "kernel", text(host->kernel));
	set(o, "cpu_count", report_object_number(host->cpu_count));
	set(o, "memory_bytes", report_object_number(host->memory_bytes));
	set(o, "dirty_bytes", report_object_number(host->dirty_bytes));
	set(o, "dirty_background_bytes", report_object_number(host->dirty_background_bytes));
	return o;
}

static json_t *link_of(const struct trial_environment *environment)
{
	json_t *o = json_object();

	set(o, "node", text_or_null(environment->link_node));
	set(o, "link_bps", known(environment->link_bps));
	set(o, "capable_bps", known(environment->capable_bps));
	return o;
}

static json_t *topology_of(const struct trial_environment *environment)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < environment->path_count; i++) {
		const struct trial_node *node = &environment->path[i];
		json_t *o = json_object();

		set(o, "name", text(node->name));
		set(o, "kind", text(node->kind));
		set(o, "text", text(node->text));
		set(o, "link_bps", known(node->link_bps));
		set(o, "capable_bps", known(node->capable_bps));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *environment_of(const struct trial_environment *environment)
{
	json_t *o = json_object();

	set(o, "disk", text(environment->disk_name));
	set(o, "model", text(environment->model));
	set(o, "serial", text(environment->serial));
	set(o, "firmware", text(environment->firmware));
	set(o, "transport", text(environment->transport));
	set(o, "rotational",
	    environment->is_rotational < 0 ? json_null() : json_boolean(environment->is_rotational));
	set(o, "size_bytes", report_object_number(environment->size_bytes));
	set(o, "fs", text(environment->fs));
	set(o, "memory", environment->memory[0] ? text(environment->memory) : json_null());
	set(o, "mount_point", text(environment->mount_point));
	set(o, "mount_options", text(environment->mount_options));
	set(o, "scheduler", text(environment->scheduler));
	set(o, "write_cache", text(environment->write_cache));
	set(o, "free_bytes", report_object_number(environment->free_bytes));
	set(o, "total_bytes", report_object_number(environment->total_bytes));
	set(o, "reserve_bytes", report_object_number(environment->reserve_bytes));
	set(o, "max_io_bytes", report_object_number(environment->max_io_bytes));
	set(o, "queue_depth",
	    environment->queue_depth ? report_object_number(environment->queue_depth) : json_null());
	set(o, "temperature_limit_c",
	    environment->temperature_limit_c > 0 ? real(environment->temperature_limit_c) :
						   json_null());
	set(o, "notes", texts(environment->notes, environment->note_count));
	return o;
}

/* ---- runs ---- */

static json_t *series_of(const struct trial_series *series)
{
	size_t kept[CURVE_POINTS_MAX], count = curve_thin(series, kept, CURVE_POINTS_MAX);
	json_t *o = json_object(), *t = json_array(), *in = json_array(), *ring = json_array(),
	       *out = json_array(), *heat = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct trial_sample *sample = &series->samples[kept[i]];

		json_array_append_new(t, seconds(sample->at_ns));
		json_array_append_new(in, report_object_number(sample->received_bytes));
		json_array_append_new(ring, report_object_number(sample->ring_bytes));
		json_array_append_new(out, report_object_number(sample->written_bytes));
		json_array_append_new(heat, sample->temperature_c > -1000 ?
						    real(sample->temperature_c) :
						    json_null());
	}
	set(o, "t_s", t);
	set(o, "in_bytes", in);
	set(o, "ring_bytes", ring);
	set(o, "written_bytes", out);
	set(o, "temperature_c", heat);
	return o;
}

static json_t *pressure_of(const struct trial_pressure *pressure)
{
	json_t *o = json_object();

	set(o, "foreign_share", known(pressure->foreign_share));
	set(o, "io_full_share", known(pressure->io_full_share));
	set(o, "cpu_some_share", known(pressure->cpu_some_share));
	set(o, "memory_some_share", known(pressure->memory_some_share));
	return o;
}

static double run_rate(const struct trial_run *run, uint64_t bytes)
{
	return run->synced_ns > 0 ? (double)bytes * 8e9 / (double)run->synced_ns : 0;
}

static json_t *disk_of(const struct trial *trial, const struct trial_run *run,
		       const struct trial_part *part)
{
	struct report_disk object = {
		.target = &trial->disks[part->disk].target,
		.written_bytes = part->durable_bytes,
		.file_count = 1,
		.state = (enum disk_state)part->state,
		.error = part->error,
		.io = run->io,
		.engine = run->engine,
		.depth = run->depth,
		.rate_bps = run_rate(run, part->durable_bytes),
		.worst_write_s = (double)part->worst_ns / 1e9,
		.worst_write_offset = part->worst_offset,
		.worst_write_at_s = (double)part->worst_at_ns / 1e9,
	};
	json_t *o;

	for (unsigned i = 0; i < SESSION_HISTOGRAM; i++)
		object.histogram[i] = part->histogram[i];
	for (unsigned i = 0; i < SESSION_MARK5_BINS; i++)
		object.mark5_bins[i] = part->mark5_bins[i];
	o = report_object_disk(&object);
	set(o, "pressure", pressure_of(&part->pressure));
	return o;
}

static json_t *rate_curve(const struct trial_part *part)
{
	struct curve curve = { 0 };
	json_t *bytes = json_array(), *rates = json_array();

	curve_rate(&curve, part); /* without memory it is as short as it is */
	for (size_t i = 0; i < curve.count; i++) {
		json_array_append_new(bytes, json_integer((json_int_t)curve.points[i].x));
		json_array_append_new(rates, real(curve.points[i].y));
	}
	curve_free(&curve);
	return json_pack("{so so}", "bytes", bytes, "rate_bps", rates);
}

static json_t *ring_of(const struct trial *trial, const struct trial_run *run)
{
	struct report_ring object = {
		.capacity_bytes = run->ring_bytes,
		.asked_bytes = trial->asked.ring_bytes,
		.block_bytes = run->block_bytes,
		.high_water_bytes = run->high_water_bytes,
		.high_water_s = (double)run->high_water_at_ns / 1e9,
		.overflow_count = run->overflow_count,
		.overflow_bytes = run->overflow_bytes,
	};

	return report_object_ring(&object);
}

static json_t *run_of(const struct trial *trial, const struct trial_run *run)
{
	json_t *o, *disks = json_array();

	if (!run->was_run && !run->error[0]) {
		json_decref(disks);
		return json_null();
	}
	o = json_object();
	set(o, "was_run", json_boolean(run->was_run));
	set(o, "interrupted", json_boolean(run->is_interrupted));
	set(o, "phase", json_string(trial_phase_name(run->phase)));
	set(o, "source", text(run->source));
	set(o, "asked_bps", rate_or_null(run->rate_bps));
	set(o, "rate_bps", real(run_rate(run, run->written_bytes)));
	set(o, "io", text_or_null(run->io));
	set(o, "engine", text_or_null(run->engine));
	set(o, "depth", report_object_number(run->depth));
	set(o, "block_bytes", report_object_number(run->block_bytes));
	set(o, "duration_s", seconds(run->duration_ns));
	set(o, "written_s", seconds(run->written_ns));
	set(o, "synced_s", seconds(run->synced_ns));
	set(o, "stream_bytes", report_object_number(run->stream_bytes));
	set(o, "written_bytes", report_object_number(run->written_bytes));
	set(o, "lost_bytes", report_object_number(run->lost_bytes));
	set(o, "first_overflow_s",
	    run->first_overflow_ns < 0 ? json_null() : seconds(run->first_overflow_ns));
	set(o, "cpu_s", real(run->cpu_s));
	set(o, "ring", ring_of(trial, run));
	for (unsigned i = 0; i < run->part_count; i++) {
		json_t *disk = disk_of(trial, run, &run->parts[i]);

		set(disk, "rate_curve", rate_curve(&run->parts[i]));
		json_array_append_new(disks, disk);
	}
	set(o, "disks", disks);
	set(o, "series", series_of(&run->series));
	set(o, "warnings", texts(run->warnings, run->warning_count));
	set(o, "error", text_or_null(run->error));
	return o;
}

static json_t *repeats_of(const struct trial *trial)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < trial->repeat_count; i++)
		json_array_append_new(array, run_of(trial, &trial->repeats[i]));
	return array;
}

/* The longest writes of the paced run. */
static json_t *stalls_of(const struct trial_run *run)
{
	struct worst_write worst[STALLS_MAX];
	size_t count = curve_worst_writes(run, STALL_LEAST_NS, worst, STALLS_MAX);
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *o = json_object();

		set(o, "disk", report_object_number(worst[i].disk));
		set(o, "at_s", seconds(worst[i].write.started_ns - run->start_ns));
		set(o, "duration_s", seconds(worst[i].write.ended_ns - worst[i].write.started_ns));
		set(o, "file_offset", report_object_number(worst[i].write.file_offset));
		set(o, "bytes", report_object_number(worst[i].write.bytes));
		json_array_append_new(array, o);
	}
	return array;
}

/* ---- sweeps, read, roll-over ---- */

static json_t *sweep_of(const struct trial_sweep *sweep)
{
	json_t *o = json_object(), *points = json_array();

	for (unsigned i = 0; i < sweep->count; i++) {
		const struct trial_point *point = &sweep->points[i];
		json_t *p = json_object();

		set(p, "block_bytes", report_object_number(point->block_bytes));
		set(p, "depth", report_object_number(point->depth));
		set(p, "bytes", report_object_number(point->bytes));
		set(p, "rate_bps", real(point->rate_bps));
		set(p, "cpu_share", known(point->cpu_share));
		set(p, "median_s", seconds(point->median_ns));
		set(p, "worst_s", seconds(point->worst_ns));
		json_array_append_new(points, p);
	}
	set(o, "points", points);
	set(o, "note", text_or_null(sweep->note));
	set(o, "knee", sweep->knee < 0 ? json_null() : json_integer(sweep->knee));
	set(o, "error", text_or_null(sweep->error));
	return o;
}

static json_t *read_of(const struct trial_read *read)
{
	json_t *o, *points = json_array();

	if (!read->was_run && !read->error[0]) {
		json_decref(points);
		return json_null();
	}
	o = json_object();
	set(o, "sequential_bps", known(read->sequential_bps));
	set(o, "repeated_bps", known(read->repeated_bps));
	for (unsigned i = 0; i < read->count; i++)
		json_array_append_new(points, json_pack("{so so}", "position",
							real(read->points[i].position), "rate_bps",
							real(read->points[i].rate_bps)));
	set(o, "points", points);
	set(o, "inner_ratio", known(read->inner_ratio));
	set(o, "note", text_or_null(read->note));
	set(o, "error", text_or_null(read->error));
	return o;
}

static json_t *file_cost_of(const struct trial_file_cost *cost)
{
	static const char *const steps[FILE_STEP_COUNT] = {
		[FILE_CREATE] = "create", [FILE_ALLOCATE] = "allocate", [FILE_WRITE] = "write",
		[FILE_CUT] = "cut",       [FILE_SYNC] = "sync",         [FILE_COMMIT] = "commit",
		[FILE_CLOSE] = "close",
	};
	json_t *o = json_object(), *worst = json_object();

	set(o, "file_bytes", report_object_number(cost->file_bytes));
	set(o, "count", report_object_number(cost->count));
	set(o, "median_s", seconds(cost->median_ns));
	set(o, "worst_s", seconds(cost->worst_ns));
	for (unsigned i = 0; i < FILE_STEP_COUNT; i++)
		set(worst, steps[i], seconds(cost->worst_step_ns[i]));
	set(o, "worst_step_s", worst);
	return o;
}

static json_t *rollover_of(const struct trial_rollover *rollover)
{
	json_t *o, *sizes;

	if (!rollover->was_run && !rollover->error[0])
		return json_null();
	o = json_object();
	sizes = json_array();
	set(o, "count", report_object_number(rollover->count));
	set(o, "file_bytes", report_object_number(rollover->file_bytes));
	set(o, "median_s", seconds(rollover->median_ns));
	set(o, "worst_s", seconds(rollover->worst_ns));
	set(o, "worst_create_s", seconds(rollover->worst_create_ns));
	set(o, "worst_sync_s", seconds(rollover->worst_sync_ns));
	set(o, "worst_close_s", seconds(rollover->worst_close_ns));
	set(o, "median_change_s", seconds(rollover->median_change_ns));
	set(o, "worst_change_s", seconds(rollover->worst_change_ns));
	set(o, "recorded", file_cost_of(&rollover->recorded));
	for (unsigned i = 0; i < rollover->size_count; i++)
		json_array_append_new(sizes, file_cost_of(&rollover->sizes[i]));
	set(o, "sizes", sizes);
	set(o, "note", text_or_null(rollover->note));
	set(o, "error", text_or_null(rollover->error));
	return o;
}

static json_t *read_back_of(const struct trial_read_back *back)
{
	json_t *o;

	if (!back->was_run)
		return json_null();
	o = json_object();
	set(o, "bytes", report_object_number(back->bytes));
	set(o, "wrong_bytes", report_object_number(back->wrong_bytes));
	set(o, "wrong_offset",
	    back->wrong_bytes ? report_object_number(back->wrong_offset) : json_null());
	set(o, "rate_bps", known(back->rate_bps));
	set(o, "text", text_or_null(back->text));
	return o;
}

static const struct trial_part *part_of(const struct trial_run *run, unsigned disk)
{
	for (unsigned i = 0; i < run->part_count; i++)
		if (run->parts[i].disk == disk)
			return &run->parts[i];
	return NULL;
}

static json_t *disks_of(const struct trial *trial)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < trial->disk_count; i++) {
		const struct trial_disk *disk = &trial->disks[i];
		const struct trial_part *part = part_of(&trial->paced, i), none = { .disk = i };
		json_t *o = disk_of(trial, &trial->paced, part ? part : &none);

		set(o, "serial",
		    text(disk->environment.serial[0] ? disk->environment.serial : disk->target.serial));
		set(o, "model",
		    text(disk->environment.model[0] ? disk->environment.model : disk->target.model));
		set(o, "link", link_of(&disk->environment));
		set(o, "topology", topology_of(&disk->environment));
		set(o, "environment", environment_of(&disk->environment));
		set(o, "blocks", sweep_of(&disk->blocks));
		set(o, "depths", sweep_of(&disk->depths));
		set(o, "full", run_of(trial, &disk->full));
		set(o, "alone", run_of(trial, &disk->alone));
		set(o, "read", read_of(&disk->read));
		set(o, "rollover", rollover_of(&disk->rollover));
		set(o, "read_back", read_back_of(&disk->read_back));
		json_array_append_new(array, o);
	}
	return array;
}

/* ---- what was written ---- */

static uint64_t run_bytes(const struct trial_run *run, unsigned disk)
{
	const struct trial_part *part = part_of(run, disk);

	return part ? part->written_bytes : 0;
}

uint64_t qualify_written_bytes(const struct trial *trial, unsigned disk)
{
	const struct trial_disk *d = &trial->disks[disk];
	const struct trial_run *runs[] = { &d->full,      &d->alone,      &trial->together,
					   &trial->paced, &trial->source, &trial->interfered };
	uint64_t bytes = d->rollover.count * d->rollover.file_bytes;

	for (unsigned i = 0; i < d->rollover.size_count; i++)
		bytes += d->rollover.sizes[i].count * d->rollover.sizes[i].file_bytes;
	for (unsigned i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		bytes += run_bytes(runs[i], disk);
	for (unsigned i = 0; i < trial->repeat_count; i++)
		bytes += run_bytes(&trial->repeats[i], disk);
	for (unsigned i = 0; i < d->blocks.count; i++)
		bytes += d->blocks.points[i].bytes;
	for (unsigned i = 0; i < d->depths.count; i++)
		bytes += d->depths.points[i].bytes;
	return bytes;
}

static json_t *scratch_of(const struct trial *trial)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < trial->disk_count; i++) {
		const struct trial_disk *disk = &trial->disks[i];
		uint64_t bytes = qualify_written_bytes(trial, i);
		bool is_device = disk->target.kind == TARGET_DEVICE;

		json_array_append_new(
			array, json_pack("{so so ss sb}", "target", text(disk->target.path),
					 "written_bytes", report_object_number(bytes), "as",
					 is_device ? "the device itself" : "files without a name",
					 "removed", !is_device || bytes == 0));
	}
	return array;
}

/* ---- verdict ---- */

static json_t *reasons_of(const struct judgement *judgement)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < judgement->reason_count; i++) {
		const struct judgement_reason *reason = &judgement->reasons[i];
		json_t *o = json_object();

		set(o, "code", text(reason->code));
		set(o, "weight", json_string(verdict_name(reason->weight)));
		set(o, "value", real(reason->value));
		set(o, "limit", real(reason->limit));
		set(o, "unit", text(reason->unit));
		set(o, "disk", disk_index(reason->disk));
		set(o, "text", text(reason->text));
		set(o, "advice", text(reason->advice));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *cliffs_of(const struct judgement *judgement)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < judgement->cliff_count; i++) {
		const struct judgement_cliff *cliff = &judgement->cliffs[i];
		json_t *o = json_object();

		set(o, "code", text(cliff->code));
		set(o, "disk", disk_index(cliff->disk));
		set(o, "at_s", real(cliff->at_s));
		set(o, "at_bytes", real(cliff->at_bytes));
		set(o, "before_bps", real(cliff->before_bps));
		set(o, "after_bps", real(cliff->after_bps));
		set(o, "phase", json_string(trial_phase_name(cliff->phase)));
		set(o, "has_recovered", json_boolean(cliff->has_recovered));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *stall_sum_of(const struct judgement_stalls *stalls)
{
	json_t *o = json_object();

	set(o, "count", report_object_number(stalls->count));
	set(o, "total_s", real(stalls->total_s));
	set(o, "share", real(stalls->share));
	set(o, "worst_s", real(stalls->worst_s));
	set(o, "worst_at_s", real(stalls->worst_at_s));
	set(o, "worst_disk", disk_index(stalls->worst_disk));
	set(o, "longest_cluster_s", real(stalls->longest_cluster_s));
	set(o, "mean_interval_s", real(stalls->mean_interval_s));
	set(o, "ring_need_bytes", real(stalls->ring_need_bytes));
	return o;
}

static json_t *rows_of(const struct judgement *judgement)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < judgement->row_count; i++) {
		const struct judgement_row *row = &judgement->rows[i];
		json_t *o = json_object();

		set(o, "rate_bps", report_object_number(row->rate_bps));
		set(o, "result", json_string(verdict_name(row->result)));
		set(o, "measured", json_boolean(row->is_measured));
		set(o, "has_room", json_boolean(row->has_room));
		set(o, "rho", real(row->rho));
		set(o, "ring_bytes", real(row->ring_bytes));
		set(o, "h_max_s", real(row->h_max_s));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *replay_of(const struct judgement *judgement)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < judgement->curve_count; i++)
		json_array_append_new(
			array, json_pack("{so so}", "rate_bps", real(judgement->curve[i].rate_bps),
					 "ring_bytes", real(judgement->curve[i].ring_bytes)));
	return array;
}

static json_t *verdict_of(const struct judgement *judgement)
{
	json_t *o = json_object();

	set(o, "result", json_string(verdict_name(judgement->result)));
	set(o, "headline", text(judgement->headline));
	set(o, "evidence", text(judgement->evidence));
	set(o, "reasons", reasons_of(judgement));
	set(o, "rate_bps", rate_or_null(judgement->rate_bps));
	set(o, "best_rate_bps", rate_or_null(judgement->best_rate_bps));
	set(o, "best_rate_is_by_room", json_boolean(judgement->is_best_by_room));
	set(o, "capability_bps", positive(judgement->capability_bps));
	set(o, "capability_low_bps", positive(judgement->capability_low_bps));
	set(o, "capability_paced_bps", positive(judgement->capability_paced_bps));
	set(o, "capability_full_bps", positive(judgement->capability_full_bps));
	set(o, "tested_s", real(judgement->tested_s));
	set(o, "base_bytes", real(judgement->base_bytes));
	set(o, "rho", known(judgement->rho));
	set(o, "q_bytes", known(judgement->q_bytes));
	set(o, "q95_bytes", known(judgement->q95_bytes));
	set(o, "h_max_s", known(judgement->h_max_s));
	set(o, "test_needed_s", known(judgement->test_needed_s));
	set(o, "ring_needed_bytes", known(judgement->ring_needed_bytes));
	set(o, "slope_bps", real(judgement->slope_bps));
	set(o, "full_in_s", known(judgement->full_in_s));
	set(o, "eta", known(judgement->eta));
	set(o, "shared_node", text_or_null(judgement->shared_node));
	set(o, "stalls", stall_sum_of(&judgement->stalls));
	set(o, "cliffs", cliffs_of(judgement));
	set(o, "rates", rows_of(judgement));
	return o;
}

json_t *qualify_json(const struct trial *trial, const struct judgement *judgement)
{
	json_t *o = json_object();
	char utc[UNITS_UTC_LEN];

	if (!o)
		return NULL;
	set(o, "schema", json_string(QUALIFY_SCHEMA));
	set(o, "program", json_string("vsib-qualify"));
	set(o, "version", json_string(VSIB_VERSION));
	set(o, "exit_status", json_integer(judgement->result));
	set(o, "utc", json_string(units_format_utc(utc, trial->begin_utc_ns)));
	set(o, "end_utc", json_string(units_format_utc(utc, trial->end_utc_ns)));
	set(o, "interrupted", json_boolean(trial->is_interrupted));
	set(o, "only_part", text_or_null(trial->only_part));
	set(o, "verdict", verdict_of(judgement));
	set(o, "config", config_of(&trial->asked));
	set(o, "host", host_of(&trial->host));
	set(o, "ring", ring_of(trial, &trial->paced));
	set(o, "disks", disks_of(trial));
	set(o, "series", series_of(&trial->paced.series));
	set(o, "stalls", stalls_of(&trial->paced));
	set(o, "replay", replay_of(judgement));
	set(o, "runs",
	    json_pack("{so so so so so}", "paced", run_of(trial, &trial->paced), "together",
		      run_of(trial, &trial->together), "source", run_of(trial, &trial->source),
		      "interfered", run_of(trial, &trial->interfered), "repeats", repeats_of(trial)));
	set(o, "scratch", scratch_of(trial));
	return o;
}
