/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_files.h - how large the files of a run are, and what is kept of them; for run.c
 *
 * Threads: the run's supervisor.
 */
#ifndef VSIB_TOOLS_QUALIFY_RUN_FILES_H
#define VSIB_TOOLS_QUALIFY_RUN_FILES_H

#include "tools/qualify/run.h"

struct run_files {
	struct scratch_io *scratches[TARGET_MAX];
	unsigned count;
	uint64_t ring_bytes; /* asked for */
	bool is_one;         /* nothing is let go before the end */
	uint64_t file_bytes; /* 0 = one without end */
	bool has_seed;
	uint64_t seed;
	uint64_t stream_bytes;
};

/**
 * run_files_create() - by the room there is
 * @wanted_bytes: of the stream; 0 = not known
 * @error: TRIAL_TEXT_LEN
 * Return: 0; -ENOSPC, -EINVAL, -ENOMEM with the sentence in @error.
 */
int run_files_create(struct run_files **out, const struct run_config *config, uint64_t wanted_bytes,
		     char *error);

#endif
