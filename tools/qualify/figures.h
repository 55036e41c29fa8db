/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * figures.h - the figures of a qualification's page
 *
 * Each is a figure element with a caption that says what to look for, and is there when it has data; else one line says
 * why it is not there. Threads: one caller.
 */
#ifndef VSIB_TOOLS_QUALIFY_FIGURES_H
#define VSIB_TOOLS_QUALIFY_FIGURES_H

#include <stdio.h>

#include "tools/qualify/baseline.h"
#include "tools/qualify/judge.h"

#define FIGURES_DISKS_MAX 8 /* more are only in the JSON report */

struct figures {
	const struct trial *trial;
	const struct judgement *judgement;
	const struct baseline *baseline; /* NULL = none */
};

/** figures_write() - all of them. Return: 0; -ENOMEM. */
int figures_write(FILE *out, const struct figures *figures);

#endif
