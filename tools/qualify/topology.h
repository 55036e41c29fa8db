/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topology.h - on what ways the source and the disks hang at the processor: a tree, as nested lists
 *
 * Threads: pure.
 */
#ifndef VSIB_TOOLS_QUALIFY_TOPOLOGY_H
#define VSIB_TOOLS_QUALIFY_TOPOLOGY_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/qualify/judge.h"

/** topology_is_known() - is there a way to at least one disk? */
bool topology_is_known(const struct trial *trial);

/** topology_write() - the device that all disks share, when @judgement names one, stands out */
void topology_write(FILE *out, const struct trial *trial, const struct judgement *judgement);

#endif
