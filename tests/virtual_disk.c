/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/virtual_disk.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_NS INT64_C(1000000000000) /* the machine has been up for a while */
#define SYNC_S 0.05
#define SAMPLES_MOST 4096
#define SAMPLE_LEAST_S 0.05
#define DEPTH_MAX 32

/* A disk at work. */
struct worker {
	const struct virtual_disk *disk;
	struct trial_part *part;
	double free_s;            /* it has served all it was given */
	double back_s[DEPTH_MAX]; /* of the last writes: when they came back */
	uint64_t write_count;
	double bytes;
};

struct recording {
	const struct virtual_setup *setup;
	struct trial_run *run;
	struct worker workers[TARGET_MAX];
	unsigned worker_count;
	double *back_s; /* of the blocks in the ring, earliest first */
	size_t back_count, back_first, back_capacity;
	double now_s, sample_s, next_sample_s;
	double received, lost, written; /* bytes */
	double begun_s;                 /* when the block that is being filled was begun */
	bool is_filling;
	uint64_t block_count;
};

/* ---- the disk ---- */

static double rate_of(const struct worker *worker, double at_s)
{
	const struct virtual_disk *disk = worker->disk;
	double rate_bps = disk->rate_bps;

	if (disk->cliff_bps > 0 && ((disk->cliff_bytes > 0 && worker->bytes >= disk->cliff_bytes) ||
				    (disk->cliff_s > 0 && at_s >= disk->cliff_s)))
		rate_bps = disk->cliff_bps;
	if (disk->zone_bytes > 0)
		rate_bps *= 1 - (1 - disk->inner_ratio) * fmin(worker->bytes / disk->zone_bytes, 1);
	return rate_bps;
}

/* The first stall that is not over at @at_s begins; infinite = none does. */
static double next_stall(const struct virtual_disk *disk, double at_s)
{
	double begin_s = disk->stall_at_s;

	if (disk->stall_s <= 0)
		return INFINITY;
	if (disk->stall_every_s > 0 && at_s >= begin_s + disk->stall_s)
		begin_s += ceil((at_s - disk->stall_s - begin_s) / disk->stall_every_s) *
			   disk->stall_every_s;
	if (disk->stall_until_s > 0 && begin_s >= disk->stall_until_s)
		return INFINITY;
	return begin_s + disk->stall_s > at_s ? begin_s : INFINITY;
}

/* When a write that was submitted then comes back. */
static double serve(struct worker *worker, double submitted_s, double bytes)
{
	const struct virtual_disk *disk = worker->disk;
	double at_s = fmax(submitted_s + disk->latency_s, worker->free_s), left = bytes;

	for (;;) {
		double stall_s = next_stall(disk, at_s), rate_bps = rate_of(worker, at_s), end_s;

		if (stall_s <= at_s) {
			at_s = stall_s + disk->stall_s;
			continue;
		}
		end_s = at_s + left * 8 / rate_bps;
		if (end_s <= stall_s) {
			at_s = end_s;
			break;
		}
		left -= (stall_s - at_s) * rate_bps / 8;
		at_s = stall_s;
	}
	worker->free_s = at_s;
	worker->bytes += bytes;
	return disk->bunch_s > 0 ? ceil(at_s / disk->bunch_s) * disk->bunch_s : at_s;
}

static double slot_free(const struct recording *r, const struct worker *worker)
{
	if (worker->write_count < r->setup->depth)
		return 0;
	return worker->back_s[worker->write_count % r->setup->depth];
}

static int64_t to_ns(double s)
{
	return (int64_t)llround(s * 1e9);
}

/* Return: when it is back. */
static double submit(struct recording *r, struct worker *worker, double whole_s, double bytes)
{
	double submitted_s = fmax(whole_s, slot_free(r, worker)),
	       back_s = serve(worker, submitted_s, bytes);
	struct trial_part *part = worker->part;
	int64_t took_ns = to_ns(back_s) - to_ns(submitted_s);

	worker->back_s[worker->write_count++ % r->setup->depth] = back_s;
	trace_add(part->trace, &(struct trace_write){
				       .started_ns = START_NS + to_ns(submitted_s),
				       .ended_ns = START_NS + to_ns(back_s),
				       .file_offset = part->written_bytes,
				       .bytes = (uint64_t)bytes,
			       });
	if (took_ns > part->worst_ns) {
		part->worst_ns = took_ns;
		part->worst_at_ns = to_ns(back_s);
		part->worst_offset = part->written_bytes;
	}
	part->written_bytes += (uint64_t)bytes;
	part->durable_bytes = part->written_bytes;
	if (to_ns(back_s) > r->run->written_ns)
		r->run->written_ns = to_ns(back_s);
	r->block_count++;
	return back_s;
}

static struct worker *choose(struct recording *r, double whole_s)
{
	struct worker *best = &r->workers[0];

	assert(r->worker_count > 0);
	if (r->setup->stripe == STRIPE_ROUND)
		return &r->workers[r->block_count % r->worker_count];
	for (unsigned i = 1; i < r->worker_count; i++) {
		struct worker *worker = &r->workers[i];
		double best_s = fmax(whole_s, slot_free(r, best)),
		       begin_s = fmax(whole_s, slot_free(r, worker));

		if (begin_s < best_s || (begin_s == best_s && worker->free_s < best->free_s))
			best = worker;
	}
	return best;
}

/* ---- the ring ---- */

static size_t held_blocks(const struct recording *r)
{
	return r->back_count - r->back_first;
}

static double level(const struct recording *r, double at_s)
{
	double filling = r->is_filling ? (at_s - r->begun_s) * r->setup->rate_bps / 8 : 0;

	return (double)held_blocks(r) * r->setup->block_bytes + filling;
}

static void note_level(struct recording *r, double at_s)
{
	uint64_t bytes = (uint64_t)level(r, at_s);

	if (bytes > r->run->high_water_bytes) {
		r->run->high_water_bytes = bytes;
		r->run->high_water_at_ns = to_ns(at_s);
	}
}

static void sample(struct recording *r, double at_s)
{
	struct trial_sample sample = {
		.at_ns = to_ns(at_s),
		.received_bytes = (uint64_t)(at_s * r->setup->rate_bps / 8),
		.ring_bytes = (uint64_t)level(r, at_s),
		.written_bytes = (uint64_t)r->written,
		.temperature_c = -1000,
	};
	int ret = trial_series_add(&r->run->series, &sample);

	assert(ret == 0);
	(void)ret;
}

/* Lets time go on: blocks come back, the level is looked at. */
static void advance(struct recording *r, double to_s)
{
	for (;;) {
		double back_s = held_blocks(r) ? r->back_s[r->back_first] : INFINITY;

		if (r->next_sample_s <= to_s && r->next_sample_s <= back_s) {
			sample(r, r->next_sample_s);
			r->next_sample_s += r->sample_s;
		} else if (back_s <= to_s) {
			note_level(r, back_s);
			r->back_first++;
			r->written += r->setup->block_bytes;
		} else {
			break;
		}
	}
	note_level(r, to_s);
	r->now_s = to_s;
}

static void hold(struct recording *r, double back_s)
{
	size_t at;

	if (r->back_count == r->back_capacity) {
		memmove(r->back_s, r->back_s + r->back_first, held_blocks(r) * sizeof(r->back_s[0]));
		r->back_count -= r->back_first;
		r->back_first = 0;
	}
	for (at = r->back_count++; at > r->back_first && r->back_s[at - 1] > back_s; at--)
		r->back_s[at] = r->back_s[at - 1];
	r->back_s[at] = back_s;
}

/* ---- recordings ---- */

static void record_paced(struct recording *r)
{
	const struct virtual_setup *setup = r->setup;
	struct trial_run *run = r->run;
	size_t blocks = (size_t)(setup->ring_bytes / setup->block_bytes);
	double fill_s = setup->block_bytes * 8 / setup->rate_bps;

	run->first_overflow_ns = -1;
	while (r->now_s + fill_s <= setup->duration_s) {
		if (held_blocks(r) >= blocks) {
			double room_s = fmin(r->back_s[r->back_first], setup->duration_s);

			if (run->overflow_count++ == 0)
				run->first_overflow_ns = to_ns(r->now_s);
			r->lost += (room_s - r->now_s) * setup->rate_bps / 8;
			advance(r, room_s);
			continue;
		}
		r->begun_s = r->now_s;
		r->is_filling = true;
		advance(r, r->now_s + fill_s);
		r->is_filling = false;
		hold(r, submit(r, choose(r, r->now_s), r->now_s, setup->block_bytes));
	}
	run->overflow_bytes = (uint64_t)r->lost;
	/* it ends with a whole block */
	run->stream_bytes =
		(uint64_t)((double)r->block_count * setup->block_bytes) + run->overflow_bytes;
}

static void record_full(struct recording *r)
{
	const struct virtual_setup *setup = r->setup;

	for (unsigned i = 0; i < r->worker_count; i++)
		while (slot_free(r, &r->workers[i]) < setup->duration_s)
			submit(r, &r->workers[i], 0, setup->block_bytes);
	r->run->stream_bytes = (uint64_t)((double)r->block_count * setup->block_bytes);
	r->run->first_overflow_ns = -1;
}

static double bytes_at_most(const struct virtual_setup *setup, const struct virtual_disk *disk)
{
	double rate_bps = fmax(disk->rate_bps, disk->cliff_bps);

	if (setup->rate_bps > 0)
		rate_bps = setup->rate_bps;
	return rate_bps / 8 * setup->duration_s;
}

static void add_worker(struct recording *r, unsigned number)
{
	const struct virtual_setup *setup = r->setup;
	struct trial_part *part = &r->run->parts[r->worker_count];
	size_t most = (size_t)(bytes_at_most(setup, &setup->disks[number]) / setup->block_bytes) + 64;
	int ret = trace_create(&part->trace, most);

	assert(ret == 0);
	(void)ret;
	part->disk = number;
	r->workers[r->worker_count++] = (struct worker){ .disk = &setup->disks[number], .part = part };
}

void virtual_record(struct trial_run *run, const struct virtual_setup *setup, enum trial_phase phase)
{
	struct recording r = { .setup = setup, .run = run };

	assert(setup->depth >= 1 && setup->depth <= DEPTH_MAX);
	trial_run_free(run);
	run->was_run = true;
	run->phase = phase;
	run->rate_bps = (uint64_t)setup->rate_bps;
	run->ring_bytes = (uint64_t)setup->ring_bytes;
	run->block_bytes = (uint64_t)setup->block_bytes;
	run->depth = setup->depth;
	run->start_ns = START_NS;
	run->duration_ns = to_ns(setup->duration_s);
	snprintf(run->source, sizeof(run->source), "sim:");
	snprintf(run->io, sizeof(run->io), "direct");
	run->parts = calloc(setup->disk_count, sizeof(run->parts[0]));
	assert(run->parts);
	for (unsigned d = 0; d < setup->disk_count; d++)
		if (setup->only == 0 || setup->only == d + 1)
			add_worker(&r, d);
	assert(r.worker_count > 0);
	run->part_count = r.worker_count;
	r.sample_s = fmax(setup->duration_s / SAMPLES_MOST, SAMPLE_LEAST_S);
	r.back_capacity = 2 * (size_t)(setup->ring_bytes / setup->block_bytes) + 16;
	r.back_s = calloc(r.back_capacity, sizeof(r.back_s[0]));
	assert(r.back_s);
	if (setup->rate_bps > 0)
		record_paced(&r);
	else
		record_full(&r);
	free(r.back_s);
	for (unsigned i = 0; i < run->part_count; i++)
		run->written_bytes += run->parts[i].written_bytes;
	run->synced_ns = run->written_ns + to_ns(SYNC_S);
	if (run->synced_ns < run->duration_ns)
		run->synced_ns = run->duration_ns + to_ns(SYNC_S);
}

void virtual_trial_make(struct trial *trial, const struct virtual_setup *setup, double horizon_s)
{
	memset(trial, 0, sizeof(*trial));
	trial->asked = (struct trial_asked){
		.rate_bps = (uint64_t)setup->rate_bps,
		.horizon_ns = to_ns(horizon_s),
		.ring_bytes = (uint64_t)setup->ring_bytes,
		.stripe = setup->stripe,
		.use_direct = true,
		.length = TRIAL_NORMAL,
		.rho_pass = 0.80,
		.rho_fail = 0.95,
	};
	trial->host.memory_bytes = UINT64_C(8) << 30;
	trial->disk_count = setup->disk_count;
	trial->disks = calloc(setup->disk_count, sizeof(trial->disks[0]));
	assert(trial->disks);
	for (unsigned d = 0; d < setup->disk_count; d++) {
		struct trial_disk *disk = &trial->disks[d];

		snprintf(disk->target.path, sizeof(disk->target.path), "/media/disk%u", d);
		disk->target.fs_device = d + 1;
		disk->environment.is_rotational = setup->disks[d].zone_bytes > 0;
		disk->environment.link_bps = disk->environment.capable_bps = -1;
		disk->environment.free_bytes = UINT64_C(1) << 50;
		disk->environment.total_bytes = UINT64_C(1) << 51;
		disk->read.inner_ratio = -1;
	}
}

void virtual_trial_free(struct trial *trial)
{
	for (unsigned d = 0; d < trial->disk_count; d++) {
		trial_run_free(&trial->disks[d].full);
		trial_run_free(&trial->disks[d].alone);
	}
	free(trial->disks);
	trial_run_free(&trial->together);
	trial_run_free(&trial->paced);
	trial_run_free(&trial->source);
	trial_run_free(&trial->interfered);
	for (unsigned i = 0; i < trial->repeat_count; i++)
		trial_run_free(&trial->repeats[i]);
	free(trial->repeats);
	memset(trial, 0, sizeof(*trial));
}
