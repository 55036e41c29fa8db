/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * targets.h - a recording called scan on two targets, whose journals say anything
 *
 * Threads: one caller.
 */
#ifndef VSIB_TESTS_FUZZ_TARGETS_H
#define VSIB_TESTS_FUZZ_TARGETS_H

#include "tests/fuzz/input.h"

#define TARGETS 2
#define TARGETS_PATH_LEN 128

struct targets {
	char paths[TARGETS][TARGETS_PATH_LEN];
	const char *list[TARGETS]; /* the same, for struct recording_query */
};

/**
 * targets_make() - in input_folder(): the input's journals, and files of all names that one in short form can tell
 *
 * A byte of 0x1e stands between the two journals, each in short form or not (journal_text.h). The last bytes of the input
 * are the files' lengths, too.
 */
void targets_make(struct targets *targets, struct input *input);

#endif
