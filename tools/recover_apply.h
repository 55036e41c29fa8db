/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recover_apply.h - what a recovery's plan does to one file
 *
 * The file must be the one that the plan was made for, as long as it was then, and nobody may write to
 * it. Each step is made durable before the next.
 *
 * Threads: one caller a file.
 */
#ifndef VSIB_TOOLS_RECOVER_APPLY_H
#define VSIB_TOOLS_RECOVER_APPLY_H

#include <stdint.h>
#include <sys/types.h>

#include "tools/recover_plan.h"

struct recover_item {
	struct recover_file facts;
	struct recover_plan plan;
	int place;              /* index of recording_place() */
	char *file;             /* relative to it */
	char *final_file;       /* the same without .part */
	uint64_t written_bytes; /* of what the plan takes away */
	dev_t device;
	ino_t inode;
};

/**
 * recover_apply() - all steps of the plan
 * @dir_fd: the directory that holds the file as @base
 * @what:   set to the step that failed: "opened", "cut", "renamed", "removed"
 *
 * Return: 0; -ESTALE it is another file, or has another length; -EBUSY somebody has it open for writing;
 *         -EEXIST there is a file with the final name; -errno.
 */
int recover_apply(const struct recover_item *item, int dir_fd, const char *base, const char **what);

#endif
