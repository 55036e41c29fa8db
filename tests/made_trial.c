/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/made_trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define BLOCK_BYTES (4 * MIB)
#define S INT64_C(1000000000)
#define SAMPLE_NS (S / 10)
#define DISKS_MAX 3

/* How a disk behaves. */
struct model {
	double rate_bps, after_bps; /* the second behind the cliff */
	double cliff_bytes;         /* 0 = none */
	double stall_s; /* the worst, near the middle of the run; smaller ones before and behind */
};

static uint64_t random_state;

/* 0 .. 1 */
static double chance(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(random_state >> 40) / (double)(1 << 24);
}

static void *need(void *memory)
{
	if (!memory) {
		fprintf(stderr, "made_trial: no memory\n");
		exit(EXIT_FAILURE);
	}
	return memory;
}

__attribute__((format(printf, 2, 3))) static void say(char *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, TRIAL_TEXT_LEN, format, arguments);
	va_end(arguments);
}

/* ---- a run ---- */

static int64_t service_ns(const struct model *model, uint64_t done_bytes, uint64_t number, uint64_t count)
{
	double rate = model->cliff_bytes > 0 && (double)done_bytes > model->cliff_bytes ?
			      model->after_bps :
			      model->rate_bps;
	double took = (double)BLOCK_BYTES * 8 / rate * (0.9 + 0.15 * chance());

	if (chance() < 0.004)
		took += model->stall_s * 0.5 * chance() * chance();
	if (number == count / 2)
		took += model->stall_s;
	return (int64_t)(took * 1e9);
}

static void begin_run(struct trial_run *run, enum trial_phase phase, uint64_t rate_bps, unsigned disks)
{
	*run = (struct trial_run){ .was_run = true,
				   .phase = phase,
				   .rate_bps = rate_bps,
				   .ring_bytes = 1024 * MIB,
				   .block_bytes = BLOCK_BYTES,
				   .depth = 4,
				   .start_ns = 77 * S,
				   .first_overflow_ns = -1,
				   .part_count = disks,
				   .cpu_s = 3.2 };
	snprintf(run->source, sizeof(run->source), "sim:");
	snprintf(run->io, sizeof(run->io), "direct");
	snprintf(run->engine, sizeof(run->engine), "io_uring");
	run->parts = need(calloc(disks, sizeof(run->parts[0])));
	for (unsigned i = 0; i < disks; i++) {
		run->parts[i].disk = i;
		run->parts[i].pressure = (struct trial_pressure){ 0.003, 0.01, 0.02, 0 };
		if (trace_create(&run->parts[i].trace, 65536) < 0)
			need(NULL);
	}
}

static void note_write(struct trial_run *run, struct trial_part *part, int64_t from_ns, int64_t to_ns)
{
	struct trace_write write = { run->start_ns + from_ns, run->start_ns + to_ns,
				     part->written_bytes, BLOCK_BYTES };
	int64_t took = to_ns - from_ns;
	unsigned bin = 0, class = 0;

	trace_add(part->trace, &write);
	if (took > part->worst_ns) {
		part->worst_ns = took;
		part->worst_at_ns = to_ns;
		part->worst_offset = part->written_bytes;
	}
	while (bin < SESSION_MARK5_BINS - 1 && took / 64 > INT64_C(1125000) << bin)
		bin++;
	while (class < SESSION_HISTOGRAM - 1 && took > session_edges_ns[class])
		class ++;
	part->mark5_bins[bin]++;
	part->histogram[class]++;
	part->written_bytes += BLOCK_BYTES;
	run->written_bytes += BLOCK_BYTES;
}

/* Blocks are due one after the other (rate 0: as soon as the disk is free) and go to the disks in turn. */
static void make_run(struct trial_run *run, enum trial_phase phase, uint64_t rate_bps,
		     uint64_t count, const struct model *models, unsigned disks)
{
	int64_t free_ns[DISKS_MAX] = { 0 }, sampled_ns = -SAMPLE_NS;

	begin_run(run, phase, rate_bps, disks);
	for (uint64_t i = 0; i < count; i++) {
		struct trial_part *part = &run->parts[i % disks];
		int64_t due =
			rate_bps ? (int64_t)((double)(i + 1) * BLOCK_BYTES * 8e9 / (double)rate_bps) :
				   0;
		int64_t from = due > free_ns[i % disks] ? due : free_ns[i % disks];
		int64_t to = from + service_ns(&models[i % disks], part->written_bytes, i, count);
		uint64_t received = rate_bps ? (uint64_t)((double)rate_bps * (double)to / 8e9) :
					       run->written_bytes;
		uint64_t level = received > run->written_bytes ? received - run->written_bytes : 0;

		if (received > count * BLOCK_BYTES)
			level = count * BLOCK_BYTES - run->written_bytes;
		if (level > run->ring_bytes) {
			run->overflow_bytes += level - run->ring_bytes > BLOCK_BYTES ?
						       BLOCK_BYTES :
						       level - run->ring_bytes;
			run->overflow_count = 1;
			run->first_overflow_ns =
				run->first_overflow_ns < 0 ? to : run->first_overflow_ns;
			level = run->ring_bytes;
		}
		free_ns[i % disks] = to;
		note_write(run, part, from, to);
		if (level > run->high_water_bytes) {
			run->high_water_bytes = level;
			run->high_water_at_ns = to;
		}
		if (to >= sampled_ns + SAMPLE_NS) {
			struct trial_sample sample = { to, received, level, run->written_bytes, -1000 };

			trial_series_add(&run->series, &sample);
			sampled_ns = to;
		}
		run->written_ns = to > run->written_ns ? to : run->written_ns;
	}
	run->stream_bytes = count * BLOCK_BYTES;
	run->duration_ns = rate_bps ? (int64_t)((double)run->stream_bytes * 8e9 / (double)rate_bps) :
				      run->written_ns;
	run->synced_ns = run->written_ns + S / 5;
	for (unsigned i = 0; i < disks; i++)
		run->parts[i].durable_bytes = run->parts[i].written_bytes;
}

static void warm(struct trial_run *run)
{
	for (size_t i = 0; i < run->series.count; i++)
		run->series.samples[i].temperature_c =
			31 + 17 * (1 - exp(-(double)run->series.samples[i].at_ns / 60e9)) + chance();
}

/* ---- a disk ---- */

static void make_sweeps(struct trial_disk *disk, double rate_bps)
{
	disk->blocks.count = 13;
	for (unsigned i = 0; i < 13; i++) {
		uint64_t bytes = UINT64_C(4096) << i;
		double rate = rate_bps * (double)bytes / ((double)bytes + 120e3);

		disk->blocks.points[i] = (struct trial_point){ bytes,
							       4,
							       64 * MIB,
							       rate,
							       0.9 / (1 + (double)i * 0.8) + 0.02,
							       (int64_t)((double)bytes * 8e9 / rate),
							       S / 20 };
	}
	disk->blocks.knee = 10;
	disk->depths.count = 6;
	for (unsigned i = 0; i < 6; i++)
		disk->depths.points[i] = (struct trial_point){
			4 * MIB,         1u << i,     256 * MIB, rate_bps * (1 - 0.4 / (1 << i)),
			0.04 + 0.01 * i, S / 30 << i, S / 8
		};
	disk->depths.knee = 3;
}

static void add_node(struct trial_environment *environment, const char *name, const char *kind,
		     const char *words, double link_bps, double capable_bps)
{
	struct trial_node *node = &environment->path[environment->path_count++];

	snprintf(node->name, sizeof(node->name), "%s", name);
	snprintf(node->kind, sizeof(node->kind), "%s", kind);
	say(node->text, "%s", words);
	node->link_bps = link_bps;
	node->capable_bps = capable_bps;
}

static void make_disk(struct trial_disk *disk, unsigned number, double rate_bps)
{
	struct trial_environment *e = &disk->environment;
	char name[64];

	disk->target.kind = TARGET_DIRECTORY;
	disk->target.dir_fd = -1;
	snprintf(disk->target.path, sizeof(disk->target.path), "/media/usb%u", number + 1);
	snprintf(disk->target.device, sizeof(disk->target.device), "/dev/sd%c1", 'b' + number);
	snprintf(disk->target.fs, sizeof(disk->target.fs), "ext4");
	snprintf(disk->target.fs_uuid, sizeof(disk->target.fs_uuid),
		 "6e5c3f1a-0000-4000-8000-00000000000%u", number);
	snprintf(e->disk_name, sizeof(e->disk_name), "sd%c", 'b' + number);
	snprintf(e->model, sizeof(e->model), "Example Drive 4T");
	snprintf(e->serial, sizeof(e->serial), "EX4T-%04u", 1001 + number);
	snprintf(e->firmware, sizeof(e->firmware), "0107");
	snprintf(e->transport, sizeof(e->transport), "usb");
	snprintf(e->fs, sizeof(e->fs), "ext4");
	say(e->mount_point, "/media/usb%u", number + 1);
	say(e->mount_options, "rw,noatime");
	snprintf(e->scheduler, sizeof(e->scheduler), "mq-deadline");
	snprintf(e->write_cache, sizeof(e->write_cache), "write back");
	e->size_bytes = UINT64_C(4000787030016);
	e->total_bytes = UINT64_C(3936818806784);
	e->free_bytes = UINT64_C(3700000000000);
	e->reserve_bytes = 1024 * MIB;
	e->max_io_bytes = MIB;
	e->queue_depth = 30;
	e->is_rotational = 0;
	e->link_bps = 4e9;
	e->capable_bps = 4e9;
	snprintf(e->link_node, sizeof(e->link_node), "2-1");
	snprintf(name, sizeof(name), "sd%c", 'b' + number);
	add_node(e, name, "usb", "Example Drive 4T, UAS", -1, -1);
	snprintf(name, sizeof(name), "2-1.%u", number + 1);
	add_node(e, name, "usb", "Example Storage, 5 Gbit/s", 4e9, 4e9);
	add_node(e, "2-1", "usb", "Example Hub, 5 Gbit/s", 4e9, 8e9);
	add_node(e, "usb2", "usb", "xHCI root hub", 8e9, 8e9);
	add_node(e, "0000:00:14.0", "pci", "xHCI host controller", 32e9, 32e9);
	make_sweeps(disk, rate_bps);
	disk->read = (struct trial_read){ .was_run = true,
					  .sequential_bps = rate_bps * 1.2,
					  .repeated_bps = 3.4e9,
					  .inner_ratio = -1 };
	disk->rollover = (struct trial_rollover){ .was_run = true,
						  .count = 100,
						  .file_bytes = 64 * MIB,
						  .median_ns = S / 5,
						  .worst_ns = S / 2,
						  .worst_create_ns = S / 90,
						  .worst_sync_ns = S / 3,
						  .worst_close_ns = S / 200,
						  .median_change_ns = S / 40,
						  .worst_change_ns = S / 3,
						  .size_count = 7 };
	for (unsigned i = 0; i < disk->rollover.size_count; i++)
		disk->rollover.sizes[i] =
			(struct trial_file_cost){ .file_bytes = UINT64_C(2048) << (2 * i),
						  .count = 20,
						  .median_ns = S / 100 << i,
						  .worst_ns = S / 20 << i };
	disk->read_back =
		(struct trial_read_back){ .was_run = true, .bytes = 2048 * MIB, .rate_bps = rate_bps };
}

static void make_positions(struct trial_disk *disk)
{
	disk->read.count = 21;
	for (unsigned i = 0; i < 21; i++) {
		double x = i / 20.0;

		disk->read.points[i].position = x;
		disk->read.points[i].rate_bps =
			1.6e9 * (1 - 0.5 * x * x) - (i == 13 ? 3e8 : 0) + 2e7 * chance();
	}
	disk->read.inner_ratio = 0.5;
	disk->environment.is_rotational = 1;
}

/* ---- a judgement ---- */

static void add_reason(struct judgement *j, const char *code, enum verdict weight,
		       const char *words, const char *advice)
{
	struct judgement_reason *reason = &j->reasons[j->reason_count++];

	snprintf(reason->code, sizeof(reason->code), "%s", code);
	reason->weight = weight;
	reason->disk = -1;
	reason->value = 0.87;
	reason->limit = 0.8;
	say(reason->text, "%s", words);
	say(reason->advice, "%s", advice);
}

static void make_rows(struct judgement *j, const struct trial *trial)
{
	for (unsigned i = 0; i < 8; i++) {
		struct judgement_row *row = &j->rows[j->row_count++];
		double rho;

		row->rate_bps = UINT64_C(64000000) << i;
		rho = (double)row->rate_bps / j->capability_low_bps;
		row->is_measured = row->rate_bps == j->rate_bps;
		row->ring_bytes = rho >= 1 ? INFINITY :
					     j->q_bytes * (double)row->rate_bps /
						     (double)j->rate_bps / (1.02 - rho);
		row->h_max_s =
			rho >= 1 ?
				0 :
				300 * pow((double)trial->asked.ring_bytes / row->ring_bytes, 2) / 19;
		row->result = rho > 0.95 ? VERDICT_FAIL :
			      rho > 0.8  ? VERDICT_MARGINAL :
					   VERDICT_PASS;
		if (row->is_measured)
			row->result = j->result;
	}
	for (unsigned i = 0; i < 120; i++) {
		double rate = 64e6 * pow(2, i / 17.0), rho = rate / j->capability_low_bps;

		if (rho >= 1)
			break;
		j->curve[j->curve_count].rate_bps = rate;
		j->curve[j->curve_count++].ring_bytes =
			j->q_bytes * rate / (double)j->rate_bps / (1.02 - rho);
	}
}

static void make_judgement(struct made_trial *made, enum verdict result, double capability_bps)
{
	struct judgement *j = &made->judgement;
	const struct trial_run *paced = &made->trial.paced;
	double rate = (double)made->trial.asked.rate_bps;

	j->result = result;
	j->rate_bps = made->trial.asked.rate_bps;
	j->capability_bps = capability_bps;
	j->capability_low_bps = capability_bps * 0.94;
	j->rho = rate / j->capability_low_bps;
	j->q_bytes = (double)paced->high_water_bytes;
	j->q95_bytes = j->q_bytes * 15.1;
	j->h_max_s = 300 * pow(1024.0 * (double)MIB / fmax(j->q_bytes, 1), 2) / 19;
	j->test_needed_s = 912;
	j->ring_needed_bytes = j->q95_bytes;
	j->slope_bps = rate > capability_bps ? rate - capability_bps : 0;
	j->full_in_s =
		rate > capability_bps ? 1024 * (double)MIB * 8 / (rate - capability_bps) : INFINITY;
	j->eta = -1;
	j->stalls = (struct judgement_stalls){ .count = 7,
					       .total_s = 1.9,
					       .worst_s = 0.412,
					       .worst_at_s = 151.2,
					       .longest_cluster_s = 0.9,
					       .mean_interval_s = 41,
					       .ring_need_bytes = rate / 8 * 0.412 };
	j->best_rate_bps = (uint64_t)(j->capability_low_bps * 0.8);
	say(j->headline, "%s  %.0f Mbit/s for 1 h on %s", verdict_name(result), rate / 1e6,
	    made->trial.disks[0].target.path);
	say(j->evidence, "%s in %.0f s: with 95 %% confidence fewer than one in %.0f s.",
	    paced->overflow_count ? "Overflow" : "No overflow", (double)paced->duration_ns / 1e9,
	    (double)paced->duration_ns / 3e9);
	make_rows(j, &made->trial);
}

/* ---- kinds ---- */

static void make_trial(struct made_trial *made, unsigned disks, uint64_t rate_bps)
{
	struct trial *trial = &made->trial;

	random_state = 7;
	trial->asked = (struct trial_asked){ .rate_bps = rate_bps,
					     .horizon_ns = 3600 * S,
					     .ring_bytes = 1024 * MIB,
					     .use_direct = true,
					     .length = TRIAL_NORMAL,
					     .rho_pass = 0.8,
					     .rho_fail = 0.95 };
	snprintf(trial->host.name, sizeof(trial->host.name), "recorder1");
	snprintf(trial->host.kernel, sizeof(trial->host.kernel), "6.1.0-example");
	trial->host.cpu_count = 4;
	trial->host.memory_bytes = UINT64_C(16) << 30;
	trial->host.dirty_bytes = UINT64_C(3) << 30;
	trial->begin_utc_ns = INT64_C(1767225600) * S;
	trial->end_utc_ns = trial->begin_utc_ns + 725 * S;
	trial->disk_count = disks;
	trial->disks = need(calloc(disks, sizeof(trial->disks[0])));
}

static void make_one(struct made_trial *made, uint64_t rate_bps, struct model model, enum verdict result)
{
	uint64_t count = rate_bps * 300 / 8 / BLOCK_BYTES;

	make_trial(made, 1, rate_bps);
	make_disk(&made->trial.disks[0], 0, model.rate_bps);
	make_run(&made->trial.disks[0].full, PHASE_FULL, 0, 1500, &model, 1);
	make_run(&made->trial.paced, PHASE_PACED, rate_bps, count, &model, 1);
	make_judgement(made, result, model.cliff_bytes > 0 ? model.after_bps : model.rate_bps);
}

static void make_cliff(struct made_trial *made)
{
	struct judgement *j = &made->judgement;

	make_one(made, 256000000, (struct model){ 900e6, 300e6, 3e9, 0.8 }, VERDICT_MARGINAL);
	j->cliffs[j->cliff_count++] = (struct judgement_cliff){ .phase = PHASE_FULL,
								.at_s = 26.9,
								.at_bytes = 3e9,
								.before_bps = 900e6,
								.after_bps = 300e6,
								.code = "SLC_CACHE" };
	add_reason(j, "SLC_CACHE", VERDICT_MARGINAL,
		   "/media/usb1 falls from 900 to 300 Mbit/s after 3.0 GB: a cache that is full.",
		   "Leave the disk idle for a minute before a recording, or count on 300 Mbit/s.");
	add_reason(j, "RHO", VERDICT_MARGINAL,
		   "The rate is 0.91 of what the disk carries at its worst; 0.80 is the limit.",
		   "Use two disks, or stay below 225 Mbit/s.");
	add_reason(j, "SHORT_TEST", VERDICT_MARGINAL,
		   "300 s of test are evidence for 18 min with this ring, and 1 h was asked for.",
		   "Test for 16 min, or use a ring of 1.9 GiB.");
}

static void make_overflow(struct made_trial *made)
{
	make_one(made, 512000000, (struct model){ 380e6, 0, 0, 0.6 }, VERDICT_FAIL);
	add_reason(&made->judgement, "OVERFLOW", VERDICT_FAIL,
		   "The ring was full after 65 s and 4.1 GB were lost.",
		   "Use two such disks, or a faster one.");
	add_reason(&made->judgement, "DEFICIT", VERDICT_FAIL,
		   "The disk carries 380 of 512 Mbit/s: the ring fills at 132 Mbit/s, whatever its size.",
		   "");
}

static void make_shared(struct made_trial *made)
{
	struct model models[DISKS_MAX] = { { 420e6, 0, 0, 0.3 },
					   { 400e6, 0, 0, 0.2 },
					   { 360e6, 0, 0, 0.5 } };
	struct trial *trial = &made->trial;

	make_trial(made, 3, 512000000);
	for (unsigned i = 0; i < 3; i++) {
		struct model alone = models[i];

		alone.rate_bps *= 2.3;
		make_disk(&trial->disks[i], i, alone.rate_bps);
		make_run(&trial->disks[i].full, PHASE_FULL, 0, 700, &alone, 1);
		make_run(&trial->disks[i].alone, PHASE_ALONE, 0, 300, &alone, 1);
		trial->disks[i].full.parts[0].disk = trial->disks[i].alone.parts[0].disk = i;
	}
	make_run(&trial->together, PHASE_TOGETHER, 0, 900, models, 3);
	make_run(&trial->paced, PHASE_PACED, 512000000, 4500, models, 3);
	make_judgement(made, VERDICT_MARGINAL, 1180e6);
	made->judgement.eta = 0.43;
	snprintf(made->judgement.shared_node, sizeof(made->judgement.shared_node), "2-1");
	add_reason(&made->judgement, "SHARED_BUS", VERDICT_MARGINAL,
		   "All together the disks carry 0.43 of what each carries alone: they share 2-1.",
		   "Connect one of them to another root port.");
}

static void make_device(struct made_trial *made)
{
	make_one(made, 128000000, (struct model){ 900e6, 0, 0, 0.3 }, VERDICT_PASS);
	make_positions(&made->trial.disks[0]);
	warm(&made->trial.paced);
	made->trial.disks[0].environment.temperature_limit_c = 60;
}

static void make_interrupted(struct made_trial *made)
{
	struct judgement *j = &made->judgement;

	make_trial(made, 1, 256000000);
	make_disk(&made->trial.disks[0], 0, 900e6);
	made->trial.disks[0].read =
		(struct trial_read){ .sequential_bps = -1, .repeated_bps = -1, .inner_ratio = -1 };
	made->trial.disks[0].rollover = (struct trial_rollover){ 0 };
	made->trial.disks[0].read_back = (struct trial_read_back){ 0 };
	made->trial.is_interrupted = true;
	*j = (struct judgement){ .result = VERDICT_INCONCLUSIVE,
				 .rate_bps = 256000000,
				 .capability_bps = 0,
				 .capability_low_bps = 0,
				 .rho = INFINITY,
				 .q_bytes = -1,
				 .q95_bytes = -1,
				 .h_max_s = -1,
				 .test_needed_s = -1,
				 .ring_needed_bytes = -1,
				 .full_in_s = INFINITY,
				 .eta = NAN };
	j->stalls.mean_interval_s = INFINITY;
	say(j->headline,
	    "INCONCLUSIVE  256 Mbit/s for 1 h on /media/usb1: interrupted before the run at the rate");
	say(j->evidence, "No run at the rate: nothing is known of overflows.");
	add_reason(j, "INTERRUPTED", VERDICT_INCONCLUSIVE,
		   "The trial was interrupted in the depth sweep.", "Let it run to its end.");
}

static void make_hostile(struct made_trial *made)
{
	/* NOLINTNEXTLINE(misc-misleading-bidirectional): it is meant to mislead */
	static const char evil[] = "\"'><script>alert(1)</script>&amp;<!--]]>\x1b[31m\xff\xe2\x80\xae";
	struct trial *trial = &made->trial;

	make_shared(made);
	for (unsigned i = 0; i < trial->disk_count; i++) {
		struct trial_environment *e = &trial->disks[i].environment;

		snprintf(trial->disks[i].target.path, sizeof(trial->disks[i].target.path),
			 "/media/%s", evil);
		snprintf(e->model, sizeof(e->model), "%s", evil);
		snprintf(e->serial, sizeof(e->serial), "%u%s", i, evil);
		say(e->path[1].text, "%s", evil);
		snprintf(e->path[1].name, sizeof(e->path[1].name), "%.40s", evil);
		say(e->mount_options, "%s", evil);
		say(e->notes[e->note_count++], "%s", evil);
	}
	snprintf(trial->host.name, sizeof(trial->host.name), "%s", evil);
	say(made->judgement.headline, "MARGINAL  %s", evil);
	say(made->judgement.reasons[0].text, "%s", evil);
	say(made->judgement.reasons[0].advice, "%s", evil);
	snprintf(made->judgement.reasons[0].code, sizeof(made->judgement.reasons[0].code), "%.20s",
		 evil);
	say(trial->paced.error, "%s", evil);
	say(trial->paced.warnings[trial->paced.warning_count++], "%s", evil);
}

struct made_trial *made_trial(enum made_kind kind)
{
	struct made_trial *made = need(calloc(1, sizeof(*made)));

	switch (kind) {
	case MADE_CLIFF:
		make_cliff(made);
		break;
	case MADE_OVERFLOW:
		make_overflow(made);
		break;
	case MADE_SHARED:
		make_shared(made);
		break;
	case MADE_DEVICE:
		make_device(made);
		break;
	case MADE_INTERRUPTED:
		make_interrupted(made);
		break;
	case MADE_HOSTILE:
		make_hostile(made);
		break;
	default:
		make_one(made, 256000000, (struct model){ 900e6, 0, 0, 0.4 }, VERDICT_PASS);
	}
	return made;
}

void made_trial_free(struct made_trial *made)
{
	struct trial *trial = &made->trial;

	for (unsigned i = 0; i < trial->disk_count; i++) {
		trial_run_free(&trial->disks[i].full);
		trial_run_free(&trial->disks[i].alone);
	}
	free(trial->disks);
	trial_run_free(&trial->together);
	trial_run_free(&trial->paced);
	free(made);
}

const char *made_kind_name(unsigned kind)
{
	static const char *const names[MADE_KINDS] = { "pass",   "cliff",  "overflow",
						       "shared", "device", "interrupted",
						       "hostile" };

	return kind < MADE_KINDS ? names[kind] : NULL;
}
