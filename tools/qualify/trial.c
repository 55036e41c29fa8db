/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_FIRST 1024

static const struct {
	const char *name, *text;
} phases[PHASE_COUNT] = {
	[PHASE_IDENTIFY] = { "identify", "what the targets are, and whether they may be tried" },
	[PHASE_ENVIRONMENT] = { "environment", "links, buses, file systems, memory, and what others do" },
	[PHASE_BLOCKS] = { "blocks", "write rate and CPU by block size, 4 KiB to 16 MiB" },
	[PHASE_DEPTH] = { "depth", "write rate by writes in flight, 1 to 32" },
	[PHASE_FULL] = { "full", "writing as fast as it goes: rate against bytes written" },
	[PHASE_READ] = { "read", "sequential read, and of a device over its whole length" },
	[PHASE_ALONE] = { "alone", "several disks: each alone" },
	[PHASE_TOGETHER] = { "together", "several disks: all at once" },
	[PHASE_PACED] = { "paced", "a recording at the rate, with its sync at the end" },
	[PHASE_READ_BACK] = { "read-back", "what was written is read again and compared" },
	[PHASE_SOURCE] = { "source", "a recording from the real source" },
	[PHASE_INTERFERE] = { "interfere", "a recording beside 5 % of random I/O by another" },
	[PHASE_ROLLOVER] = { "rollover", "what it costs to begin and end a file" },
	[PHASE_REPLAY] = { "replay", "the measured times at other rates: the ring they would need" },
	[PHASE_VERDICT] = { "verdict", "PASS, MARGINAL, FAIL or INCONCLUSIVE, with reasons" },
};

const char *trial_phase_name(enum trial_phase phase)
{
	return phases[phase].name;
}

const char *trial_phase_text(enum trial_phase phase)
{
	return phases[phase].text;
}

const char *trial_fs_text(const struct trial_disk *disk)
{
	if (disk->environment.fs[0])
		return disk->environment.fs;
	return disk->target.kind == TARGET_DEVICE ? "not mounted" : "file system not known";
}

const char *trial_written_text(const struct trial_disk *disk, uint64_t bytes)
{
	if (disk->target.kind != TARGET_DEVICE)
		return "in files without a name: nothing of it is left";
	return bytes ? "to the device itself: what was there is gone" : "for it was only read";
}

void trial_run_free(struct trial_run *run)
{
	for (unsigned i = 0; i < run->part_count; i++)
		trace_free(run->parts[i].trace);
	free(run->parts);
	free(run->series.samples);
	memset(run, 0, sizeof(*run));
}

int trial_series_add(struct trial_series *series, const struct trial_sample *sample)
{
	if (series->count == series->capacity) {
		size_t capacity = series->capacity ? series->capacity * 2 : SERIES_FIRST;
		struct trial_sample *samples = realloc(series->samples, capacity * sizeof(samples[0]));

		if (!samples)
			return -ENOMEM;
		series->samples = samples;
		series->capacity = capacity;
	}
	series->samples[series->count++] = *sample;
	return 0;
}
