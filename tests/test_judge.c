/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_judge.c - the verdict: each reason by itself, which of them decides, and what is said of other rates
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/virtual_disk.h"
#include "tools/qualify/judge.h"

#define MB 1e6
#define MIB 1048576.
#define GIB (1024 * MIB)
#define NS 1000000000
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct virtual_disk good = { .rate_bps = 600e6 };
static struct judgement judgement;

static struct virtual_setup setup_of(const struct virtual_disk *disks, unsigned disk_count)
{
	return (struct virtual_setup){
		.disks = disks,
		.disk_count = disk_count,
		.rate_bps = 256e6,
		.ring_bytes = 512 * MIB,
		.block_bytes = MIB,
		.depth = 4,
		.duration_s = 120,
	};
}

static const struct judgement_reason *reason_of(const char *code)
{
	for (unsigned i = 0; i < judgement.reason_count; i++)
		if (strcmp(judgement.reasons[i].code, code) == 0)
			return &judgement.reasons[i];
	return NULL;
}

static void judge_it(const struct trial *trial)
{
	assert_int_equal(judge(trial, &judgement), 0);
	for (unsigned i = 0; i < judgement.reason_count; i++) {
		const struct judgement_reason *reason = &judgement.reasons[i];

		assert_true(strlen(reason->text) > 10);
		assert_int_equal(reason->text[strlen(reason->text) - 1], '.');
		if (i > 0)
			assert_int_equal(verdict_worse(judgement.reasons[i - 1].weight, reason->weight),
					 judgement.reasons[i - 1].weight);
	}
	assert_int_equal(judgement.result,
			 judgement.reason_count ? judgement.reasons[0].weight : VERDICT_PASS);
	assert_memory_equal(judgement.headline, verdict_name(judgement.result),
			    strlen(verdict_name(judgement.result)));
	assert_true(strlen(judgement.evidence) > 10);
}

/* The verdict must be this one, for this reason. */
static void expect(const struct trial *trial, enum verdict verdict, const char *code)
{
	judge_it(trial);
	if (judgement.result != verdict || (code && !reason_of(code)))
		fail_msg("%s expected for %s: %s", verdict_name(verdict), code ? code : "no reason",
			 judgement.headline);
	if (code)
		assert_int_equal(reason_of(code)->weight, verdict);
}

static void make(struct trial *trial, const struct virtual_setup *setup)
{
	virtual_trial_make(trial, setup, 3600);
	virtual_record(&trial->paced, setup, PHASE_PACED);
}

static void make_good(struct trial *trial)
{
	struct virtual_setup setup = setup_of(&good, 1);

	make(trial, &setup);
}

static void the_worst_verdict_decides(void **state)
{
	(void)state;
	assert_int_equal(verdict_worse(VERDICT_PASS, VERDICT_MARGINAL), VERDICT_MARGINAL);
	assert_int_equal(verdict_worse(VERDICT_INCONCLUSIVE, VERDICT_MARGINAL), VERDICT_INCONCLUSIVE);
	assert_int_equal(verdict_worse(VERDICT_INCONCLUSIVE, VERDICT_FAIL), VERDICT_FAIL);
	assert_string_equal(verdict_name(VERDICT_INCONCLUSIVE), "INCONCLUSIVE");
}

static void a_good_disk_passes(void **state)
{
	struct trial trial;

	(void)state;
	make_good(&trial);
	expect(&trial, VERDICT_PASS, NULL);
	assert_int_equal(judgement.reason_count, 0);
	assert_true(fabs(judgement.rho - 256. / 600) < 0.01);
	assert_true(fabs(judgement.capability_bps / 600e6 - 1) < 0.01);
	assert_true(judgement.q95_bytes < 8 * MIB);
	assert_true(judgement.h_max_s > 3600);
	assert_true(judgement.eta == -1);
	assert_non_null(strstr(judgement.headline,
			       "256 Mbit/s for 60 min on /media/disk0: rate margin +13"));
	assert_string_equal(judgement.evidence,
			    "No overflow in 2 min: with 95 % confidence fewer than one in 40 s.");
	virtual_trial_free(&trial);
}

/* A run of 160 s at 128 Mbit/s with 6.144 MB in a ring of 143.2 MB, of a disk that does 228 Mbit/s. */
static void make_run_of_2007(struct trial *trial, double horizon_s)
{
	struct virtual_disk disk = { .rate_bps = 228e6 };
	struct virtual_setup setup = setup_of(&disk, 1);

	setup.rate_bps = 128e6;
	setup.ring_bytes = 143.2 * MB;
	setup.block_bytes = 16000;
	virtual_trial_make(trial, &setup, horizon_s);
	trial->paced = (struct trial_run){
		.was_run = true,
		.phase = PHASE_PACED,
		.rate_bps = 128000000,
		.ring_bytes = 143200000,
		.block_bytes = 16000,
		.duration_ns = INT64_C(160) * NS,
		.written_ns = INT64_C(160) * NS,
		.synced_ns = INT64_C(160) * NS,
		.stream_bytes = 2560000000,
		.written_bytes = 2560000000,
		.first_overflow_ns = -1,
		.high_water_bytes = 6144000,
	};
	trial->disks[0].full = (struct trial_run){
		.was_run = true,
		.phase = PHASE_FULL,
		.block_bytes = 16000,
		.written_ns = INT64_C(100) * NS,
		.written_bytes = 2850000000,
	};
}

static void the_run_of_2007_is_good_for_76_minutes(void **state)
{
	struct trial trial;

	(void)state;
	make_run_of_2007(&trial, 3600);
	expect(&trial, VERDICT_PASS, NULL);
	assert_true(fabs(judgement.h_max_s / 60 - 76) < 0.5);
	assert_true(fabs(judgement.rho - 0.56) < 0.005);
	virtual_trial_free(&trial);

	make_run_of_2007(&trial, 8 * 3600);
	expect(&trial, VERDICT_MARGINAL, "SHORT_TEST");
	assert_true(fabs(judgement.test_needed_s / 60 - 17) < 0.5);
	assert_true(fabs(judgement.ring_needed_bytes / (6.144 * MB * sqrt(19 * 8 * 3600 / 160.)) - 1) <
		    0.001);
	assert_non_null(strstr(judgement.headline,
			       "MARGINAL  128 Mbit/s for 8 h on /media/disk0: rate margin +78 % (ok)"));
	assert_non_null(strstr(judgement.headline, "good for 76"));
	assert_non_null(strstr(judgement.headline, "test 17 min or use a ring of 343 MiB"));
	virtual_trial_free(&trial);
}

static void what_has_gone_wrong_fails(void **state)
{
	struct trial trial;

	(void)state;
	make_good(&trial);
	trial.paced.overflow_bytes = 5000000;
	trial.paced.overflow_count = 2;
	trial.paced.first_overflow_ns = INT64_C(30) * NS;
	expect(&trial, VERDICT_FAIL, "OVERFLOW");
	trial.paced.overflow_bytes = trial.paced.overflow_count = 0;

	trial.paced.parts[0].state = DISK_FAILED;
	expect(&trial, VERDICT_FAIL, "IO_ERROR");
	assert_int_equal(reason_of("IO_ERROR")->disk, 0);
	trial.paced.parts[0].state = DISK_OK;
	snprintf(trial.paced.parts[0].error, TRIAL_TEXT_LEN, "Input/output error");
	expect(&trial, VERDICT_FAIL, "IO_ERROR");
	trial.paced.parts[0].error[0] = '\0';

	trial.disks[0].read_back = (struct trial_read_back){ .was_run = true,
							     .wrong_bytes = 4096,
							     .text = "Bytes are zero." };
	expect(&trial, VERDICT_FAIL, "VERIFY");
	trial.disks[0].read_back.wrong_bytes = 0;

	trial.paced.synced_ns += INT64_C(3) * NS;
	expect(&trial, VERDICT_FAIL, "LAZY_TAIL");
	trial.paced.synced_ns -= INT64_C(2) * NS; /* once 1 s */
	expect(&trial, VERDICT_PASS, NULL);

	trial.disks[0].environment.free_bytes = 100000000000;
	expect(&trial, VERDICT_FAIL, "SPACE");
	trial.disks[0].environment.free_bytes = 120000000000;
	expect(&trial, VERDICT_PASS, NULL);

	trial.source = (struct trial_run){ .was_run = true, .overflow_bytes = 1 };
	expect(&trial, VERDICT_FAIL, "SOURCE");
	virtual_trial_free(&trial);
}

static void what_spoils_the_evidence_is_inconclusive(void **state)
{
	struct trial trial;

	(void)state;
	make_good(&trial);
	trial.is_interrupted = true;
	expect(&trial, VERDICT_INCONCLUSIVE, "INTERRUPTED");
	trial.is_interrupted = false;

	trial.paced.parts[0].pressure.foreign_share = 0.03;
	expect(&trial, VERDICT_INCONCLUSIVE, "FOREIGN_IO");
	/* pressure is our own as long as the sectors are */
	trial.paced.parts[0].pressure =
		(struct trial_pressure){ .foreign_share = 0.001, .io_full_share = 0.5 };
	expect(&trial, VERDICT_PASS, NULL);
	trial.paced.parts[0].pressure.foreign_share = -1;
	expect(&trial, VERDICT_INCONCLUSIVE, "FOREIGN_IO");
	trial.paced.parts[0].pressure.io_full_share = 0;

	trial.disks[0].environment.link_bps = trial.disks[0].environment.capable_bps = 480e6;
	expect(&trial, VERDICT_INCONCLUSIVE, "CACHED");
	trial.disks[0].environment.link_bps = trial.disks[0].environment.capable_bps = -1;

	snprintf(trial.paced.io, sizeof(trial.paced.io), "buffered");
	expect(&trial, VERDICT_INCONCLUSIVE, "BUFFERED_SHORT");
	trial.host.memory_bytes = 1000000000;
	expect(&trial, VERDICT_PASS, NULL);

	/* but what fails, fails */
	trial.is_interrupted = true;
	trial.paced.overflow_bytes = trial.paced.overflow_count = 1;
	expect(&trial, VERDICT_FAIL, "OVERFLOW");
	assert_non_null(reason_of("INTERRUPTED"));
	virtual_trial_free(&trial);
}

static void a_pass_needs_all_that_was_asked_for(void **state)
{
	struct trial_run repeat = { .error = "sim: can't be opened" };
	struct trial trial;

	(void)state;
	make_good(&trial);
	snprintf(trial.source.error, TRIAL_TEXT_LEN, "udp:5000 gave nothing");
	expect(&trial, VERDICT_INCONCLUSIVE, "NOT_RUN");
	trial.source.error[0] = '\0';
	snprintf(trial.interfered.error, TRIAL_TEXT_LEN, "no random I/O");
	expect(&trial, VERDICT_INCONCLUSIVE, "NOT_RUN");
	trial.interfered.error[0] = '\0';
	trial.repeats = &repeat;
	trial.repeat_count = 1;
	expect(&trial, VERDICT_INCONCLUSIVE, "NOT_RUN");
	trial.repeats = NULL;
	trial.repeat_count = 0;

	trial.paced.duration_ns *= 2; /* half the rate */
	expect(&trial, VERDICT_INCONCLUSIVE, "SLOW_STREAM");
	trial.paced.duration_ns /= 2;

	trial.disks[0].read_back =
		(struct trial_read_back){ .has_failed = true, .text = "Too many open files" };
	expect(&trial, VERDICT_INCONCLUSIVE, "NOT_READ_BACK");
	trial.disks[0].read_back.has_failed = false;

	snprintf(trial.disks[0].environment.memory, sizeof(trial.disks[0].environment.memory), "tmpfs");
	expect(&trial, VERDICT_INCONCLUSIVE, "CACHED");
	trial.disks[0].environment.memory[0] = '\0';

	atomic_store(&trial.paced.parts[0].trace->untraced_count, 1000);
	expect(&trial, VERDICT_MARGINAL, "UNTRACED");
	atomic_store(&trial.paced.parts[0].trace->untraced_count, 0);
	expect(&trial, VERDICT_PASS, NULL);
	virtual_trial_free(&trial);
}

/* Chunks of two disks are held until they are durable: in a short run that is all that is seen of the level. */
static void what_is_held_until_it_is_durable_is_no_deficit(void **state)
{
	static const struct virtual_disk two[] = { { .rate_bps = 600e6 }, { .rate_bps = 600e6 } };
	struct virtual_setup setup = setup_of(two, 2);
	struct trial_series *series;
	struct trial trial;

	(void)state;
	make(&trial, &setup);
	series = &trial.paced.series;
	for (size_t i = 0; i < series->count; i++) {
		series->samples[i].written_bytes = series->samples[i].received_bytes;
		series->samples[i].ring_bytes =
			(uint64_t)(20 * MIB * (double)i / (double)series->count);
	}
	judge_it(&trial);
	assert_null(reason_of("DEFICIT"));
	virtual_trial_free(&trial);
}

static void random_io_that_was_hardly_done_tells_nothing(void **state)
{
	struct trial_part part = { .state = DISK_OK, .random_due_count = 1000, .random_done_count = 300 };
	struct trial trial;

	(void)state;
	make_good(&trial);
	trial.interfered = (struct trial_run){ .was_run = true, .parts = &part, .part_count = 1 };
	expect(&trial, VERDICT_INCONCLUSIVE, "NOT_INTERFERED");
	assert_non_null(strstr(reason_of("NOT_INTERFERED")->text, "only 30 %"));
	part.random_done_count = 995;
	expect(&trial, VERDICT_PASS, NULL);
	part = (struct trial_part){ .random_due_count = 5 }; /* too few to say anything */
	expect(&trial, VERDICT_PASS, NULL);
	trial.interfered = (struct trial_run){ .was_run = false };
	virtual_trial_free(&trial);
}

static void a_disk_that_others_filled_is_not_called_slow_or_broken(void **state)
{
	struct trial trial;

	(void)state;
	make_good(&trial);
	trial.paced.parts[0].state = DISK_FULL;
	snprintf(trial.paced.parts[0].error, TRIAL_TEXT_LEN, "No space left on device");
	snprintf(trial.paced.error, TRIAL_TEXT_LEN, "No space left on device");
	trial.paced.overflow_bytes = trial.paced.overflow_count = 1;
	expect(&trial, VERDICT_INCONCLUSIVE, "FULL");
	assert_null(reason_of("IO_ERROR"));
	assert_null(reason_of("OVERFLOW"));
	virtual_trial_free(&trial);
}

static void a_run_without_a_write_says_nothing_unless_it_had_some(void **state)
{
	struct virtual_setup setup = setup_of(&good, 1);
	struct trial trial;

	(void)state;
	virtual_trial_make(&trial, &setup, 3600);
	trial.paced = (struct trial_run){ .was_run = true,
					  .rate_bps = 256000000,
					  .first_overflow_ns = -1,
					  .is_interrupted = true,
					  .stream_bytes = 100000,
					  .error = "interrupted" };
	expect(&trial, VERDICT_INCONCLUSIVE, "INTERRUPTED");
	trial.paced.is_interrupted = false;
	expect(&trial, VERDICT_FAIL, "RHO");
	trial.paced.stream_bytes = 0;
	expect(&trial, VERDICT_INCONCLUSIVE, "NOT_RUN");
	virtual_trial_free(&trial);
}

static void what_nobody_counted_is_lost(void **state)
{
	struct trial_run repeat = { .was_run = true, .overflow_bytes = 1, .overflow_count = 1 };
	struct trial trial;

	(void)state;
	make_good(&trial);
	trial.paced.written_bytes -= 4096;
	expect(&trial, VERDICT_FAIL, "OVERFLOW");
	assert_true(reason_of("OVERFLOW")->value == 4096);
	trial.paced.written_bytes += 4096;
	trial.source = (struct trial_run){ .was_run = true, .source_lost_bytes = 1 };
	expect(&trial, VERDICT_FAIL, "SOURCE");
	trial.source = (struct trial_run){ .was_run = false };
	trial.repeats = &repeat;
	trial.repeat_count = 1;
	expect(&trial, VERDICT_FAIL, "OVERFLOW");
	trial.repeats = NULL;
	trial.repeat_count = 0;
	virtual_trial_free(&trial);
}

static void a_test_must_be_as_long_as_a_minute_or_the_recording(void **state)
{
	struct virtual_setup setup = setup_of(&good, 1);
	struct trial trial;

	(void)state;
	setup.duration_s = 30;
	make(&trial, &setup);
	expect(&trial, VERDICT_INCONCLUSIVE, "SHORT_TEST");
	trial.asked.horizon_ns = INT64_C(30) * NS;
	expect(&trial, VERDICT_PASS, NULL);
	virtual_trial_free(&trial);
}

static void without_a_paced_run_nothing_is_decided(void **state)
{
	struct virtual_setup setup = setup_of(&good, 1);
	struct trial trial;

	(void)state;
	virtual_trial_make(&trial, &setup, 3600);
	expect(&trial, VERDICT_INCONCLUSIVE, "NOT_RUN");
	assert_int_equal(judgement.row_count, 0);
	/* a full-speed run lets other rates be foretold */
	setup.rate_bps = 0;
	virtual_record(&trial.disks[0].full, &setup, PHASE_FULL);
	expect(&trial, VERDICT_INCONCLUSIVE, "NOT_RUN");
	assert_int_equal(judgement.row_count, 8);
	assert_false(judgement.rows[0].is_measured);
	assert_true(fabs(judgement.capability_bps / 600e6 - 1) < 0.01);
	/* unless the disks gave way before */
	trial.disks[0].full.parts[0].state = DISK_FAILED;
	expect(&trial, VERDICT_FAIL, "IO_ERROR");
	virtual_trial_free(&trial);
}

static void the_rate_margin_has_two_limits(void **state)
{
	static const struct {
		double disk_mbps;
		enum verdict verdict;
		const char *code;
	} cases[] = {
		{ 330, VERDICT_PASS, NULL },
		{ 300, VERDICT_MARGINAL, "RHO" },
		{ 275.7, VERDICT_MARGINAL, "RHO" },
		{ 263, VERDICT_FAIL, "RHO" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct virtual_disk disk = { .rate_bps = cases[i].disk_mbps * 1e6 };
		struct virtual_setup setup = setup_of(&disk, 1);
		struct trial trial;

		make(&trial, &setup);
		expect(&trial, cases[i].verdict, cases[i].code);
		virtual_trial_free(&trial);
	}
}

/* The disk has 64 MiB/s for 5 s, then 8: on the average 22, and the ring hides it. */
static void a_cliff_fails_though_the_average_passes(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 64 * 8 * MIB,
						  .cliff_bps = 8 * 8 * MIB,
						  .cliff_s = 5 };
	struct virtual_setup setup = setup_of(&disk, 1);
	struct trial trial;

	(void)state;
	setup.rate_bps = 128e6;
	setup.duration_s = 20;
	make(&trial, &setup);
	trial.asked.horizon_ns = INT64_C(600) * NS;
	assert_int_equal(trial.paced.overflow_bytes, 0);
	expect(&trial, VERDICT_FAIL, "SLC_CACHE");
	assert_non_null(strstr(reason_of("SLC_CACHE")->text, "at 5"));
	assert_true(fabs(judgement.cliffs[0].at_s - 5) < 0.3);
	assert_int_equal(reason_of("RHO")->weight, VERDICT_FAIL);
	assert_int_equal(reason_of("DEFICIT")->weight, VERDICT_FAIL);
	virtual_trial_free(&trial);

	/* seen at full speed only, while the paced run stopped before */
	virtual_trial_make(&trial, &setup, 3600);
	setup.rate_bps = 0;
	virtual_record(&trial.disks[0].full, &setup, PHASE_FULL);
	setup.rate_bps = 128e6;
	setup.duration_s = 4;
	virtual_record(&trial.paced, &setup, PHASE_PACED);
	expect(&trial, VERDICT_FAIL, "SLC_CACHE");
	virtual_trial_free(&trial);
}

/* A cache that is emptied in the pauses of a paced run is no harm; nor one that the recording does not fill. */
static void a_cliff_that_the_recording_does_not_meet_is_none(void **state)
{
	static const struct virtual_disk falls = { .rate_bps = 800e6,
						   .cliff_bps = 100e6,
						   .cliff_bytes = 2e9 };
	struct virtual_setup setup = setup_of(&good, 1);
	struct trial trial;

	(void)state;
	make(&trial, &setup); /* 3.8 GB, and no cliff */
	setup.disks = &falls;
	setup.rate_bps = 0;
	virtual_record(&trial.disks[0].full, &setup, PHASE_FULL);
	expect(&trial, VERDICT_PASS, NULL);
	assert_int_equal(judgement.cliff_count, 0);

	trial.paced.parts[0].written_bytes = 1500000000; /* it did not get so far */
	expect(&trial, VERDICT_FAIL, "SLC_CACHE");
	trial.asked.horizon_ns = INT64_C(50) * NS; /* 1.6 GB */
	expect(&trial, VERDICT_PASS, NULL);
	virtual_trial_free(&trial);
}

/* What a shingled disk does when its cache region is full; one without a motor that stalls so has something else. */
static void a_shingled_disk_that_tidies_up_is_named(void **state)
{
	static const struct virtual_disk shingled = {
		.rate_bps = 1200e6,
		.cliff_bps = 320e6,
		.cliff_s = 40,
		.stall_s = 1.5,
		.stall_at_s = 45,
		.stall_every_s = 15,
	};
	struct virtual_setup setup = setup_of(&shingled, 1);
	struct trial trial;

	(void)state;
	setup.rate_bps = 0;
	virtual_trial_make(&trial, &setup, 3600);
	virtual_record(&trial.disks[0].full, &setup, PHASE_FULL);
	trial.asked.rate_bps = 256000000;
	trial.disks[0].environment.is_rotational = 1;
	judge_it(&trial);
	assert_non_null(reason_of("SMR_GC"));
	assert_non_null(strstr(reason_of("SMR_GC")->text, "tidying up, as shingled disks do"));
	assert_int_not_equal(reason_of("SMR_GC")->weight, VERDICT_PASS);
	trial.disks[0].environment.is_rotational = 0;
	judge_it(&trial);
	assert_null(reason_of("SMR_GC"));
	assert_non_null(reason_of("SLC_CACHE"));
	virtual_trial_free(&trial);
}

/* A throttle, or a cache, lets the first writes pass; what the disk does at full speed is known, and it never does less. */
static void what_credit_let_pass_is_no_level_to_fall_from(void **state)
{
	static const struct virtual_disk full = { .rate_bps = 420e6 },
					 paced = { .rate_bps = 4e9, .cliff_bps = 420e6, .cliff_s = 30 };
	struct virtual_setup setup = setup_of(&paced, 1);
	struct trial trial;

	(void)state;
	make(&trial, &setup);
	judge_it(&trial);
	assert_non_null(reason_of("SLC_CACHE")); /* nothing else is known */
	setup.disks = &full;
	setup.rate_bps = 0;
	setup.duration_s = 20;
	virtual_record(&trial.disks[0].full, &setup, PHASE_FULL);
	expect(&trial, VERDICT_PASS, NULL);
	assert_int_equal(judgement.cliff_count, 0);
	virtual_trial_free(&trial);
}

static void a_fall_that_leaves_plenty_is_only_told(void **state)
{
	static const struct virtual_disk some = { .rate_bps = 4e9, .cliff_bps = 2e9, .cliff_s = 50 },
					 most = { .rate_bps = 1000e6, .cliff_bps = 400e6, .cliff_s = 50 };
	struct virtual_setup setup = setup_of(&some, 1);
	struct trial trial;

	(void)state;
	make(&trial, &setup);
	expect(&trial, VERDICT_PASS, NULL);
	assert_null(reason_of("SLC_CACHE")); /* a single write's time says little */
	setup.rate_bps = 0;
	setup.duration_s = 100;
	virtual_record(&trial.disks[0].full, &setup, PHASE_FULL);
	trial.paced.parts[0].written_bytes = 1; /* it has not come so far */
	trial.asked.horizon_ns = INT64_C(3600) * NS;
	judge_it(&trial);
	assert_int_equal(judgement.result, VERDICT_PASS);
	assert_int_equal(reason_of("SLC_CACHE")->weight, VERDICT_PASS);
	virtual_trial_free(&trial);
	setup = setup_of(&most, 1);
	make(&trial, &setup);
	expect(&trial, VERDICT_MARGINAL, "SLC_CACHE");
	virtual_trial_free(&trial);
}

/* 3 s at 128 Mbit/s: 48 MB. */
static void a_stall_tells_the_ring_it_needs(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 64 * 8 * MIB,
						  .stall_s = 3,
						  .stall_at_s = 10 };
	struct virtual_setup setup = setup_of(&disk, 1);
	struct trial trial;

	(void)state;
	setup.rate_bps = 128e6;
	setup.duration_s = 60;
	setup.ring_bytes = GIB;
	make(&trial, &setup);
	trial.asked.horizon_ns = INT64_C(60) * NS;
	expect(&trial, VERDICT_PASS, NULL);
	assert_true(fabs(judgement.stalls.worst_s - 3) < 0.2);
	assert_true(fabs(judgement.stalls.ring_need_bytes / (48 * MB) - 1) < 0.1);
	assert_true(fabs(judgement.q_bytes / (48 * MB) - 1) < 0.1);
	assert_null(reason_of("DEFICIT"));

	/* an hour of it may bring worse: 34 times what was seen */
	trial.asked.horizon_ns = INT64_C(3600) * NS;
	expect(&trial, VERDICT_MARGINAL, "SHORT_TEST");
	assert_true(fabs(judgement.ring_needed_bytes / (48 * MB * sqrt(19 * 60)) - 1) < 0.1);
	/* and where a test as long as the recording would not do, the ring is too small */
	trial.asked.ring_bytes = (uint64_t)(100 * MIB);
	expect(&trial, VERDICT_MARGINAL, "Q95");
	trial.asked.ring_bytes = (uint64_t)(60 * MIB);
	expect(&trial, VERDICT_FAIL, "RING");
	virtual_trial_free(&trial);
}

static void a_stall_at_the_end_is_no_deficit(void **state)
{
	(void)state;
	for (int i = 0; i < 12; i++) {
		struct virtual_disk disk = { .rate_bps = 500e6, .stall_s = 3, .stall_at_s = 40 + 1.7 * i };
		struct virtual_setup setup = setup_of(&disk, 1);
		struct trial trial;

		setup.duration_s = 60;
		setup.ring_bytes = 4 * GIB;
		make(&trial, &setup);
		judge_it(&trial);
		assert_null(reason_of("DEFICIT"));
		assert_null(reason_of("LAZY_TAIL"));
		assert_true(isinf(judgement.full_in_s));
		virtual_trial_free(&trial);
	}
}

static void a_deficit_that_begins_late_is_found(void **state)
{
	static const struct virtual_disk disk = { .rate_bps = 300e6, .cliff_bps = 245e6, .cliff_s = 130 };
	struct virtual_setup setup = setup_of(&disk, 1);
	struct trial trial;

	(void)state;
	setup.duration_s = 240;
	setup.ring_bytes = 4 * GIB;
	make(&trial, &setup);
	expect(&trial, VERDICT_FAIL, "DEFICIT");
	/* 11 Mbit/s from 130 s on */
	assert_true(fabs(judgement.full_in_s / (130 + 4 * GIB * 8 / 11e6) - 1) < 0.1);
	virtual_trial_free(&trial);
}

/* The last windows sink by a quarter, and another quarter would be too much. */
static void a_rate_that_goes_on_sinking_is_not_steady(void **state)
{
	static const struct virtual_disk sinks = { .rate_bps = 600e6,
						   .zone_bytes = 2e9,
						   .inner_ratio = 0.1 };
	struct virtual_setup setup = setup_of(&sinks, 1);
	struct trial trial;

	(void)state;
	setup.block_bytes = MIB / 4;
	setup.duration_s = 40;
	virtual_trial_make(&trial, &setup, 3600);
	setup.rate_bps = 0;
	virtual_record(&trial.disks[0].full, &setup, PHASE_FULL);
	setup.disks = &good;
	setup.rate_bps = 128e6;
	setup.duration_s = 120;
	virtual_record(&trial.paced, &setup, PHASE_PACED);
	judge_it(&trial);
	assert_non_null(reason_of("NOT_STEADY"));
	/* where little is asked of it, it may sink */
	trial.paced.rate_bps = trial.asked.rate_bps = 16000000;
	judge_it(&trial);
	assert_null(reason_of("NOT_STEADY"));
	virtual_trial_free(&trial);
}

/* Two stalls, and the ring needs 10.4 s to be empty after one. */
static void stalls_that_come_before_the_ring_has_recovered(void **state)
{
	static const struct {
		double every_s;
		bool is_found;
	} cases[] = { { 8, true }, { 14, false } };

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct virtual_disk disk = { .rate_bps = 330e6,
					     .stall_s = 3,
					     .stall_at_s = 10,
					     .stall_every_s = cases[i].every_s,
					     .stall_until_s = 25 };
		struct virtual_setup setup = setup_of(&disk, 1);
		struct trial trial;

		setup.ring_bytes = 16 * GIB;
		make(&trial, &setup);
		judge_it(&trial);
		assert_int_equal(judgement.stalls.count, 2);
		assert_int_equal(reason_of("RECOVERY") != NULL, cases[i].is_found);
		virtual_trial_free(&trial);
	}
}

static void links_zones_files_and_others(void **state)
{
	struct trial trial;

	(void)state;
	make_good(&trial);
	trial.disks[0].environment.link_bps = 1e9;
	trial.disks[0].environment.capable_bps = 5e9;
	snprintf(trial.disks[0].environment.link_node, 64, "2-1");
	expect(&trial, VERDICT_MARGINAL, "LINK_SLOW");
	assert_non_null(strstr(reason_of("LINK_SLOW")->text, "2-1 runs at 1000 Mbit/s"));
	trial.disks[0].environment.capable_bps = 1e9;

	trial.disks[0].read = (struct trial_read){ .was_run = true, .inner_ratio = 0.6 };
	expect(&trial, VERDICT_PASS, NULL); /* 0.43 / 0.6 */
	trial.disks[0].read.inner_ratio = 0.5;
	expect(&trial, VERDICT_MARGINAL, "UNTESTED_ZONES");
	trial.asked.length = TRIAL_WHOLE_DISK;
	expect(&trial, VERDICT_PASS, NULL);
	trial.disks[0].read.inner_ratio = -1;

	trial.disks[0].rollover =
		(struct trial_rollover){ .was_run = true, .worst_sync_ns = INT64_C(12) * NS };
	expect(&trial, VERDICT_MARGINAL, "ROLLOVER");
	trial.disks[0].rollover.worst_sync_ns = NS;

	trial.interfered = (struct trial_run){ .was_run = true, .overflow_bytes = 1000 };
	expect(&trial, VERDICT_MARGINAL, "INTERFERENCE");
	trial.interfered.overflow_bytes = 0;
	expect(&trial, VERDICT_PASS, NULL);
	virtual_trial_free(&trial);
}

static void repeats_that_differ(void **state)
{
	struct trial trial;

	(void)state;
	make_good(&trial);
	trial.repeats = calloc(1, sizeof(trial.repeats[0]));
	trial.repeat_count = 1;
	trial.repeats[0] = (struct trial_run){ .was_run = true,
					       .duration_ns = INT64_C(120) * NS,
					       .high_water_bytes = 100000000 };
	judge_it(&trial);
	assert_int_equal(reason_of("SPREAD")->weight, VERDICT_MARGINAL);
	/* the worst of them counts, and the time of both */
	assert_true(judgement.q_bytes == 100000000);
	assert_true(judgement.tested_s == 240);
	trial.repeats[0].high_water_bytes = 8000000; /* more than twice, and nothing */
	judge_it(&trial);
	assert_null(reason_of("SPREAD"));
	virtual_trial_free(&trial);
}

static void put_path(struct trial_environment *environment, const char *own, const char *shared)
{
	environment->path_count = 3;
	snprintf(environment->path[0].name, 64, "%s", own);
	snprintf(environment->path[1].name, 64, "%s", shared);
	snprintf(environment->path[2].name, 64, "pci0000:00");
}

static void a_shared_bottleneck_is_named(void **state)
{
	static const struct virtual_disk apart[] = { { .rate_bps = 400e6 }, { .rate_bps = 400e6 } },
					 shared[] = { { .rate_bps = 220e6 }, { .rate_bps = 220e6 } };
	struct virtual_setup setup = setup_of(apart, 2);
	struct trial trial;

	(void)state;
	make(&trial, &setup);
	put_path(&trial.disks[0].environment, "sda", "usb1");
	put_path(&trial.disks[1].environment, "sdb", "usb1");
	setup.rate_bps = 0;
	setup.duration_s = 30;
	for (unsigned d = 0; d < 2; d++) {
		setup.only = d + 1;
		virtual_record(&trial.disks[d].alone, &setup, PHASE_ALONE);
	}
	setup.only = 0;
	virtual_record(&trial.together, &setup, PHASE_TOGETHER);
	expect(&trial, VERDICT_PASS, NULL);
	assert_true(fabs(judgement.eta - 1) < 0.02);
	assert_true(fabs(judgement.capability_bps / 800e6 - 1) < 0.02);
	setup.disks = shared;
	virtual_record(&trial.together, &setup, PHASE_TOGETHER);
	expect(&trial, VERDICT_MARGINAL, "SHARED_BUS");
	assert_true(fabs(judgement.eta - 0.55) < 0.02);
	assert_string_equal(judgement.shared_node, "usb1");
	assert_non_null(strstr(reason_of("SHARED_BUS")->text, "usb1"));
	/* what they do together is what counts */
	assert_true(fabs(judgement.capability_bps / 440e6 - 1) < 0.02);
	assert_true(fabs(judgement.rho - 256. / 440) < 0.02);
	virtual_trial_free(&trial);
}

static void two_disks_carry_what_one_does_not(void **state)
{
	static const struct virtual_disk disks[] = { { .rate_bps = 240e6 }, { .rate_bps = 180e6 } };
	struct virtual_setup setup = setup_of(disks, 2);
	struct trial trial;

	(void)state;
	setup.rate_bps = 320e6;
	make(&trial, &setup);
	expect(&trial, VERDICT_PASS, NULL);
	assert_true(fabs(judgement.rho - 320. / 420) < 0.02);
	virtual_trial_free(&trial);
	/* in turn the slower one is too slow for half of it */
	setup.stripe = STRIPE_ROUND;
	setup.rate_bps = 350e6;
	make(&trial, &setup);
	expect(&trial, VERDICT_FAIL, "RHO");
	virtual_trial_free(&trial);
}

static void other_rates_are_listed_with_the_tested_one(void **state)
{
	struct trial trial;
	double last_bytes = 0;

	(void)state;
	make_good(&trial);
	judge_it(&trial);
	assert_int_equal(judgement.row_count, 8);
	for (unsigned i = 0; i < judgement.row_count; i++) {
		const struct judgement_row *row = &judgement.rows[i];

		assert_int_equal(row->rate_bps, UINT64_C(64000000) << i);
		assert_int_equal(row->is_measured, i == 2);
		assert_int_equal(row->result, i <= 2 ? VERDICT_PASS :
					      i == 3 ? VERDICT_MARGINAL :
						       VERDICT_FAIL);
		assert_int_equal(isinf(row->ring_bytes) != 0, i > 3);
	}
	assert_true(judgement.curve_count > 10);
	for (unsigned i = 0; i < judgement.curve_count; i++) {
		assert_true(judgement.curve[i].ring_bytes >= last_bytes - MIB);
		last_bytes = judgement.curve[i].ring_bytes;
	}
	assert_true(judgement.survival_count > 0);
	virtual_trial_free(&trial);

	/* a rate between the others has its own row */
	make_good(&trial);
	trial.paced.rate_bps = trial.asked.rate_bps = 200000000;
	judge_it(&trial);
	assert_int_equal(judgement.row_count, 9);
	assert_true(judgement.rows[2].is_measured && judgement.rows[2].rate_bps == 200000000);
	virtual_trial_free(&trial);
}

/* 600 Mbit/s, of which 80 % may be used. */
static void the_best_rate_is_found_and_passes(void **state)
{
	struct virtual_setup setup = setup_of(&good, 1);
	struct judgement_row row;
	struct trial trial;
	uint64_t best_bps;

	(void)state;
	virtual_trial_make(&trial, &setup, 3600);
	assert_int_equal(judge_best_rate(&trial, &best_bps), 0); /* nothing was measured */
	assert_int_equal(best_bps, 0);
	assert_int_equal(judge_rate(&trial, 128000000, &row), -ENODATA);
	trial.asked.rate_bps = 0;
	trial.asked.is_rate_auto = true;
	trial.asked.paced_ns = INT64_C(120) * NS;
	setup.rate_bps = 0;
	setup.duration_s = 30;
	virtual_record(&trial.disks[0].full, &setup, PHASE_FULL);
	assert_int_equal(judge_best_rate(&trial, &best_bps), 0);
	assert_in_range(best_bps, 470000000, 480000000);
	assert_int_equal(judge_rate(&trial, best_bps, &row), 0);
	assert_int_equal(row.result, VERDICT_PASS);
	assert_int_equal(judge_rate(&trial, best_bps + 20000000, &row), 0);
	assert_int_equal(row.result, VERDICT_MARGINAL);
	setup.rate_bps = (double)best_bps;
	setup.duration_s = 120;
	virtual_record(&trial.paced, &setup, PHASE_PACED);
	expect(&trial, VERDICT_PASS, NULL);
	assert_int_equal(judgement.rate_bps, best_bps);
	virtual_trial_free(&trial);
}

static void the_ring_limits_the_best_rate(void **state)
{
	static const struct virtual_disk disk = {
		.rate_bps = 1000e6, .stall_s = 0.5, .stall_at_s = 5, .stall_every_s = 30
	};
	struct virtual_setup setup = setup_of(&disk, 1);
	struct trial trial;
	double allowed_bps;

	(void)state;
	make(&trial, &setup);
	judge_it(&trial);
	/*
	 * 0.5 s of it, sqrt(19 x 3600 / T) times, must go into the ring; and T, in which the same is written, becomes
	 * shorter as the rate rises
	 */
	allowed_bps = pow(512 * MIB * 8 / 0.5 * sqrt(120 * 256e6 / (19 * 3600)), 2. / 3);
	assert_true(fabs((double)judgement.best_rate_bps / allowed_bps - 1) < 0.1);
	virtual_trial_free(&trial);
}

/* What was tried many times over must not break anything: nothing measured, nobody there, no ring. */
static void empty_trials_are_judged(void **state)
{
	static struct trial trial;

	(void)state;
	expect(&trial, VERDICT_INCONCLUSIVE, "NOT_RUN");
	trial.paced.was_run = true;
	trial.paced.first_overflow_ns = -1;
	judge_it(&trial);
	trial.asked.rate_bps = 1;
	trial.asked.horizon_ns = 1;
	trial.paced.duration_ns = 1;
	judge_it(&trial);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worst_verdict_decides),
		cmocka_unit_test(a_good_disk_passes),
		cmocka_unit_test(the_run_of_2007_is_good_for_76_minutes),
		cmocka_unit_test(what_has_gone_wrong_fails),
		cmocka_unit_test(what_spoils_the_evidence_is_inconclusive),
		cmocka_unit_test(a_pass_needs_all_that_was_asked_for),
		cmocka_unit_test(what_is_held_until_it_is_durable_is_no_deficit),
		cmocka_unit_test(random_io_that_was_hardly_done_tells_nothing),
		cmocka_unit_test(a_disk_that_others_filled_is_not_called_slow_or_broken),
		cmocka_unit_test(a_run_without_a_write_says_nothing_unless_it_had_some),
		cmocka_unit_test(what_nobody_counted_is_lost),
		cmocka_unit_test(a_test_must_be_as_long_as_a_minute_or_the_recording),
		cmocka_unit_test(without_a_paced_run_nothing_is_decided),
		cmocka_unit_test(the_rate_margin_has_two_limits),
		cmocka_unit_test(a_cliff_fails_though_the_average_passes),
		cmocka_unit_test(a_cliff_that_the_recording_does_not_meet_is_none),
		cmocka_unit_test(what_credit_let_pass_is_no_level_to_fall_from),
		cmocka_unit_test(a_shingled_disk_that_tidies_up_is_named),
		cmocka_unit_test(a_fall_that_leaves_plenty_is_only_told),
		cmocka_unit_test(a_stall_tells_the_ring_it_needs),
		cmocka_unit_test(a_stall_at_the_end_is_no_deficit),
		cmocka_unit_test(a_deficit_that_begins_late_is_found),
		cmocka_unit_test(a_rate_that_goes_on_sinking_is_not_steady),
		cmocka_unit_test(stalls_that_come_before_the_ring_has_recovered),
		cmocka_unit_test(links_zones_files_and_others),
		cmocka_unit_test(repeats_that_differ),
		cmocka_unit_test(a_shared_bottleneck_is_named),
		cmocka_unit_test(two_disks_carry_what_one_does_not),
		cmocka_unit_test(other_rates_are_listed_with_the_tested_one),
		cmocka_unit_test(the_best_rate_is_found_and_passes),
		cmocka_unit_test(the_ring_limits_the_best_rate),
		cmocka_unit_test(empty_trials_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
