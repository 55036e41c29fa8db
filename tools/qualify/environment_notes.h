/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * environment_notes.h - what of a disk's surroundings will bite, in sentences
 *
 * A part of environment.c. Threads: any.
 */
#ifndef VSIB_TOOLS_QUALIFY_ENVIRONMENT_NOTES_H
#define VSIB_TOOLS_QUALIFY_ENVIRONMENT_NOTES_H

#include "tools/sysfs.h"
#include "tools/qualify/trial.h"

/**
 * environment_add_notes() - to @environment, whose file system and mount options are known
 * @directory: of the disk, resolved; "" = there is none
 *
 * The worst come first; what does not fit is left out.
 */
void environment_add_notes(const struct sysfs *sysfs, const struct target *target,
			   const char *directory, struct trial_environment *environment);

#endif
