/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial_kit.h - a run of a trial on directories of a test's own, on disks that do what the test says
 *
 *   trial_kit_open() -> set config, lower tables -> run_execute() -> trial_kit_close()
 *
 * Threads: one; the write of a spoiled disk is called by those of the session.
 */
#ifndef VSIB_TESTS_TRIAL_KIT_H
#define VSIB_TESTS_TRIAL_KIT_H

#include <stdatomic.h>
#include <stdint.h>

#include "tools/qualify/run.h"

#define TRIAL_KIT_DISKS 2
#define TRIAL_KIT_BLOCK UINT64_C(65536)
#define TRIAL_KIT_BUDGET (UINT64_C(32) << 20)

/* A disk that says it has written what it was told, and has not. */
struct spoiled_disk {
	struct sink_io io; /* the first member */
	_Atomic uint64_t write_count;
	uint64_t lost_offset; /* this write is not made; UINT64_MAX = none */
	uint64_t wrap_bytes;  /* from here on it begins anew; 0 = never */
	uint64_t swap_offset; /* this block and the one behind it change places; UINT64_MAX = none */
	uint64_t stall_at;    /* the write that takes stall_ns longer; 0 = none */
	int64_t stall_ns;
};

struct trial_kit {
	char root[64];
	char paths[TRIAL_KIT_DISKS][80];
	struct target targets[TRIAL_KIT_DISKS];
	struct run_disk disks[TRIAL_KIT_DISKS];
	struct run_config config;
	struct trial_run run;
	struct run_files *files;
};

/** trial_kit_open() - so many directories; config: 8 MB as fast as they go. Aborts when it can't. */
void trial_kit_open(struct trial_kit *kit, unsigned disk_count);

/** trial_kit_is_empty() - no file has a name in its directories */
int trial_kit_is_empty(const struct trial_kit *kit);

void trial_kit_close(struct trial_kit *kit);

/** spoiled_disk_init() - a good one, as yet */
void spoiled_disk_init(struct spoiled_disk *disk);

#endif
