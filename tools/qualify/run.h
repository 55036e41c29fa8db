/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.h - one recording through reader, ring, writers and sinks, of which nothing stays
 *
 *   run_execute() -> read_back() of what it left, see read_back.h -> run_files_free(), trial_run_free()
 *
 * Shape:   the very session that records (recorder/session.h), with files of scratch_io.h and without a
 *          journal; what costs a processor there, the sums of what is read, costs it here. Of several disks
 *          each gets whole files of the size of a chunk, as layout vbs has them. How long a disk may be written
 *          to is not bounded by its room: files are let go as others come.
 * Series:  every RUN_SAMPLE_NS; when there are RUN_SAMPLES_MAX, of each two the one with the fuller ring stays,
 *          and they come half as often: the highest levels of the longest run are there. The ring's own
 *          high-water mark is exact.
 * Threads: whoever calls is the session's supervisor, to the end. Signals are not looked at: trial_control is.
 * Errors:  in words in out->error: why it did not run, or ended before its time. out is filled as far as it
 *          came, and always to be freed.
 */
#ifndef VSIB_TOOLS_QUALIFY_RUN_H
#define VSIB_TOOLS_QUALIFY_RUN_H

#include "tools/qualify/interfere.h"
#include "tools/qualify/scratch_io.h"
#include "tools/qualify/trial.h"
#include "tools/qualify/trial_control.h"

#define RUN_SAMPLE_NS INT64_C(20000000)
#define RUN_SAMPLES_MAX 131072

/* A disk that takes part. */
struct run_disk {
	unsigned number; /* index of trial.disks */
	const struct target *target; /* a directory, or a device that may be written over; stays open, after a return of 1 for ever */
	uint64_t budget_bytes; /* most of it at a time; 0 = all but the reserve, shared by those on one file system */
	const struct sink_io *lower; /* for tests: see scratch_io.h; NULL = the system */
};

struct run_config {
	enum trial_phase phase;
	const struct run_disk *disks;
	unsigned disk_count; /* 1 .. TARGET_MAX */
	const char *source; /* NULL = sim:, incompressible, each word tells its place, and each run is another stream */
	uint64_t rate_bps;    /* 0 = as fast as it goes */
	int64_t duration_ns;  /* 0 = by bytes */
	uint64_t limit_bytes; /* 0 = by time; both: whichever comes first */
	uint64_t ring_bytes;  /* 0 = RUN_RING_DEFAULT */
	uint64_t block_bytes; /* 0 = as the recorder would choose */
	unsigned depth;       /* 0 = as the recorder would choose */
	enum engine_kind engine;
	enum stripe_policy stripe; /* of several: whole files, the next free one or in strict turn */
	bool use_direct;
	bool allow_same_device; /* two directories of one disk, or one of the root file system: the user says so */
	bool has_interference; /* 5 % of somebody else's random I/O beside it, on each disk: interfere.h */
	int64_t patience_ns; /* a disk that takes nothing for so long behind the stream's end is given up; 0 = 60 s */
	double (*temperature)(void *context); /* of the hottest disk, in degrees; may wait for it; NULL = not known */
	void *temperature_context;
	const struct trial_control *control; /* NULL = nobody listens, nobody cancels */
};

#define RUN_RING_DEFAULT (UINT64_C(256) << 20)

/* What the run has left to be read again. */
struct run_files;

/**
 * run_execute() - one run, to its end
 * @files: set to what is left; NULL = nothing is to be left. To be freed, whatever was returned
 *
 * A cancelled run ends within 2 s: what is in the ring is given up, out->is_interrupted set.
 * Return: 0: over, all threads gone; 1: over and out is filled, but the kernel holds threads or writes of it:
 *         what they use is never freed, so no other run can be made on these disks, and the process can only
 *         leave by host_report(status, true) and _exit(), see recorder/host.h; -errno: it did not begin.
 */
int run_execute(struct trial_run *out, const struct run_config *config, struct run_files **files);

/** run_files_free() - nothing stays on the disks; NULL is fine */
void run_files_free(struct run_files *files);

/** run_files_of() - what is left on one disk, by its place in run_config.disks */
const struct scratch_io *run_files_of(const struct run_files *files, unsigned index);

/** run_files_seed() - of the simulator's stream. Return: false: it was another source. */
bool run_files_seed(const struct run_files *files, uint64_t *seed);

/** run_files_stream_bytes() - so long the stream was */
uint64_t run_files_stream_bytes(const struct run_files *files);

#endif
