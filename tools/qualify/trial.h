/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial.h - what a qualification is asked, and what its phases have measured
 *
 * Plain data. The phases fill it in (environment.h, run.h, sweeps.h, read_sweep.h, rollover.h, read_back.h),
 * judge.h makes the verdict of it, the reports show it. So each can be tested without the others, and without a disk.
 * Units:   bytes; nanoseconds, of a run since its first sample was due; rates in bit/s (double, as measured);
 *          shares 0..1. A value that could not be measured is -1 (signed), or its has_/is_ flag says so.
 * Threads: one: the program's main thread.
 */
#ifndef VSIB_TOOLS_QUALIFY_TRIAL_H
#define VSIB_TOOLS_QUALIFY_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/state.h"
#include "recorder/target.h"
#include "recorder/trace.h"

#define TRIAL_TEXT_LEN 512
#define TRIAL_POINTS_MAX 32 /* of a sweep, and positions of a disk that is read */
#define TRIAL_PATH_MAX 16   /* devices from a disk up to the root */

/* The phases in the order in which they run; trial_phase_name() and _text() for people. */
enum trial_phase {
	PHASE_IDENTIFY,    /* what the targets are, and whether they may be tried */
	PHASE_ENVIRONMENT, /* links, buses, file systems, memory, what others do */
	PHASE_BLOCKS,      /* write rate and CPU by block size, 4 KiB to 16 MiB: the knee */
	PHASE_DEPTH,       /* by writes in flight, 1 to 32 */
	PHASE_FULL,        /* as fast as it goes: rate against bytes written */
	PHASE_READ,        /* sequential read, the link's ceiling; a device: 0 to 100 % of it */
	PHASE_ALONE,       /* several disks: each alone */
	PHASE_TOGETHER,    /* and all at once */
	PHASE_PACED, /* at the rate, for the time: what the verdict rests on; then the sync tail */
	PHASE_READ_BACK, /* what was written is there */
	PHASE_SOURCE,    /* --source: the real source runs */
	PHASE_INTERFERE, /* --interfere: 5 % of somebody else's random I/O beside it */
	PHASE_ROLLOVER,  /* what a new file costs */
	PHASE_REPLAY,    /* the times replayed at other rates */
	PHASE_VERDICT,
	PHASE_COUNT,
};

enum trial_length { TRIAL_QUICK, TRIAL_NORMAL, TRIAL_SOAK, TRIAL_WHOLE_DISK };

/* What the user wants to know. */
struct trial_asked {
	uint64_t rate_bps; /* 0 = --rate auto */
	bool is_rate_auto;
	int64_t horizon_ns;   /* -H: so long is the recording to be */
	uint64_t ring_bytes;  /* of that recording */
	uint64_t block_bytes; /* 0 = as the recorder would choose, or the knee */
	unsigned depth;       /* 0 = as the recorder would choose */
	enum stripe_policy stripe;
	bool use_direct; /* false: --io buffered, judged with its sync tail */
	enum trial_length length;
	int64_t paced_ns;          /* of the paced run; 0 = by length */
	const char *source;        /* --source; NULL = sim: */
	bool has_interference;     /* --interfere */
	double rho_pass, rho_fail; /* 0.80 and 0.95 unless the user says otherwise */
	uint64_t scratch_bytes;    /* most of a disk at a time; 0 = all but the reserve */
};

/* A device on the way from the disk to the processor. */
struct trial_node {
	char name[64];             /* as sysfs calls it: "0000:00:1d.7", "2-1" */
	char kind[16];             /* "pci", "usb", "ata", "nvme", "virtio" ... */
	char text[TRIAL_TEXT_LEN]; /* for people: vendor and product, speed */
	double link_bps;           /* negotiated, raw signalling less coding; -1 = not known */
	double capable_bps;        /* what device and port both could do; -1 = not known */
	bool may_be_faster;        /* but nobody can tell whether the device could */
};

/* What a disk is and lies on, at the time of the trial. */
struct trial_environment {
	char disk_name[64]; /* "sda" */
	char model[TARGET_TEXT_LEN], serial[TARGET_TEXT_LEN], firmware[64], transport[16];
	int is_rotational; /* 1, 0; -1 = not known */
	uint64_t size_bytes;
	char fs[32], mount_point[TRIAL_TEXT_LEN], mount_options[TRIAL_TEXT_LEN];
	char scheduler[32], write_cache[32];             /* "write back", "write through" */
	uint64_t free_bytes, total_bytes, reserve_bytes; /* f_bavail; what is left free */
	uint64_t max_io_bytes;                           /* max_sectors_kb */
	unsigned queue_depth;                            /* 0 = not known */
	struct trial_node path[TRIAL_PATH_MAX];          /* from the disk upwards */
	unsigned path_count;
	char memory[64];              /* what makes it no disk at all: "tmpfs"; "" = it is one */
	double link_bps, capable_bps; /* the narrowest on the way; -1 = not known */
	char link_node[64];           /* its name */
	double temperature_limit_c;   /* where the disk slows itself down or stops; 0 = not known */
	char notes[8][TRIAL_TEXT_LEN]; /* what will bite: RAID5, compression, USB autosuspend, network ... */
	unsigned note_count;
};

struct trial_host {
	char name[128], kernel[128];
	unsigned cpu_count;
	uint64_t memory_bytes, dirty_bytes, dirty_background_bytes; /* limits as they work out now */
};

/* What others did meanwhile. Shares of the time, or of the sectors. */
struct trial_pressure {
	double foreign_share; /* of the disk's sectors; -1 = not known */
	double io_full_share; /* PSI io full; -1 = not known */
	double cpu_some_share, memory_some_share;
};

struct trial_sample {
	int64_t at_ns;
	uint64_t received_bytes;
	uint64_t ring_bytes;
	uint64_t written_bytes; /* writes that came back, all disks */
	double temperature_c;   /* of the hottest disk; -1000 = not known */
};

struct trial_series {
	struct trial_sample *samples;
	size_t count, capacity;
};

/* One disk's part of a run. */
struct trial_part {
	unsigned disk; /* index of trial.disks */
	struct trace *trace;
	uint64_t written_bytes, durable_bytes;
	int64_t worst_ns, worst_at_ns;
	uint64_t worst_offset;
	int state; /* enum disk_state */
	char error[TRIAL_TEXT_LEN];
	uint64_t histogram[SESSION_HISTOGRAM], mark5_bins[SESSION_MARK5_BINS];
	struct trial_pressure pressure;
	uint64_t random_due_count,
		random_done_count; /* of interfere.h: operations beside it; both 0 = none asked for */
};

/* One recording through ring and writers. */
struct trial_run {
	bool was_run, is_interrupted;
	enum trial_phase phase;
	char source[TRIAL_TEXT_LEN];
	uint64_t rate_bps;                /* asked for; 0 = as fast as it goes */
	uint64_t ring_bytes, block_bytes; /* as they were */
	unsigned depth;
	char io[16], engine[16];
	int64_t start_ns;    /* CLOCK_MONOTONIC: subtract it from the trace's times */
	int64_t duration_ns; /* of the stream */
	int64_t written_ns;  /* when the last write had come back */
	int64_t synced_ns;   /* when all was durable: from written_ns on is the tail */
	uint64_t stream_bytes, written_bytes, overflow_bytes, overflow_count, lost_bytes;
	uint64_t source_lost_bytes; /* of stream_bytes: the source said that it lost them */
	int64_t first_overflow_ns;  /* -1 = none */
	uint64_t high_water_bytes;
	int64_t high_water_at_ns;
	double cpu_s; /* of this process */
	struct trial_part *parts;
	unsigned part_count;
	struct trial_series series;
	char error[TRIAL_TEXT_LEN]; /* why it did not run, or ended before its time; "" */
	char warnings[8][TRIAL_TEXT_LEN];
	unsigned warning_count;
};

struct trial_point {
	uint64_t block_bytes;
	unsigned depth;
	uint64_t bytes;
	double rate_bps;
	double cpu_share;            /* of one processor */
	int64_t median_ns, worst_ns; /* of a write */
};

struct trial_sweep {
	struct trial_point points[TRIAL_POINTS_MAX];
	unsigned count;
	int knee;                   /* index: the smallest within 5 % of the best; -1 = none */
	char note[TRIAL_TEXT_LEN];  /* what was left out, or done in another way, and why; "" */
	char error[TRIAL_TEXT_LEN]; /* why it ended before its time; "" */
};

struct trial_read {
	bool was_run;
	double sequential_bps; /* of the scratch file, or the device's beginning */
	double repeated_bps;   /* the same MiB again and again: the link's ceiling */
	struct {
		double position; /* 0 .. 1 of the device */
		double rate_bps;
	} points[TRIAL_POINTS_MAX]; /* only of a device that may be read */
	unsigned count;
	double inner_ratio;        /* slowest zone / fastest; -1 = not known */
	char note[TRIAL_TEXT_LEN]; /* what makes it doubtful; "" */
	char error[TRIAL_TEXT_LEN];
};

/* What is done to a file, in this order. */
enum trial_file_step {
	FILE_CREATE,
	FILE_ALLOCATE,
	FILE_WRITE,
	FILE_CUT,
	FILE_SYNC,
	FILE_COMMIT, /* what its final name costs, see rollover.h */
	FILE_CLOSE,
	FILE_STEP_COUNT,
};

/* Files of one size. */
struct trial_file_cost {
	uint64_t file_bytes;
	unsigned count;
	int64_t median_ns, worst_ns; /* a whole file */
	int64_t worst_step_ns[FILE_STEP_COUNT];
};

struct trial_rollover {
	bool was_run;
	unsigned count;              /* files created, written, synced, closed */
	uint64_t file_bytes;         /* each of this size */
	int64_t median_ns, worst_ns; /* a whole file */
	int64_t worst_create_ns, worst_sync_ns, worst_close_ns;
	int64_t median_change_ns,
		worst_change_ns; /* all but writing it: the change from one file to the next */
	struct trial_file_cost recorded;                /* of these files, step by step */
	struct trial_file_cost sizes[TRIAL_POINTS_MAX]; /* small files, 2 KiB to 8 MiB */
	unsigned size_count;
	char note[TRIAL_TEXT_LEN];  /* what is not in it; "" */
	char error[TRIAL_TEXT_LEN]; /* why it ended before its time; "" */
};

struct trial_read_back {
	bool was_run;
	bool has_failed;      /* not all of it could be read: text says why */
	uint64_t bytes;       /* read again */
	uint64_t wrong_bytes; /* not what was written */
	uint64_t wrong_offset,
		wrong_position; /* the first: in the stream; what the bytes there tell to be. UINT64_MAX = noise */
	double rate_bps;
	char text[TRIAL_TEXT_LEN]; /* what is wrong, for people */
};

struct trial_disk {
	struct target target;
	struct trial_environment environment;
	struct trial_sweep blocks, depths;
	struct trial_run full, alone;
	struct trial_read read;
	struct trial_rollover rollover;
	struct trial_read_back read_back;
	char failure[TRIAL_TEXT_LEN]; /* an error of the disk outside of the runs; "" = none */
};

struct trial {
	struct trial_asked asked;
	struct trial_host host;
	struct trial_disk *disks;
	unsigned disk_count;
	struct trial_run together, paced, source, interfered;
	struct trial_run *repeats; /* further paced runs, of --repeat */
	unsigned repeat_count;
	int64_t begin_utc_ns, end_utc_ns;
	bool is_interrupted;
	char only_part[TRIAL_TEXT_LEN]; /* what was left out, and why; "" = nothing */
};

/** trial_phase_name() - "blocks": for --phase and the reports */
const char *trial_phase_name(enum trial_phase phase);

/** trial_phase_text() - what it does, one line */
const char *trial_phase_text(enum trial_phase phase);

/** trial_fs_text() - "ext4"; of a device that nothing is mounted from, that */
const char *trial_fs_text(const struct trial_disk *disk);

/** trial_written_text() - what has become of what was written to it, as the end of a sentence */
const char *trial_written_text(const struct trial_disk *disk, uint64_t bytes);

/** trial_run_free() - its traces and series; a zeroed one is fine */
void trial_run_free(struct trial_run *run);

/** trial_series_add() - grows it. Return: 0; -ENOMEM. */
int trial_series_add(struct trial_series *series, const struct trial_sample *sample);

#endif
