/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scratch.h - files that leave no trace, also after kill -9, and the room that they may take
 *
 * Such a file has no name, from its first moment (O_TMPFILE) or, where the file system can't do that, from
 * the next one on (a name that nobody else can have, created and removed); it is gone with its last descriptor.
 * Threads: any.
 */
#ifndef VSIB_TOOLS_QUALIFY_SCRATCH_H
#define VSIB_TOOLS_QUALIFY_SCRATCH_H

#include <stdint.h>

#include "recorder/target.h"

/**
 * scratch_open() - for reading and writing
 * @dir_fd: the directory
 * @flags:  O_DIRECT, O_DSYNC ... or 0
 * Return: the descriptor; -EINVAL: the file system refuses a flag; -errno.
 */
int scratch_open(int dir_fd, int flags);

/**
 * scratch_reserve_bytes() - what always stays free for others: 2 % of the file system, but not more than 1 GiB
 */
uint64_t scratch_reserve_bytes(uint64_t total_bytes);

/**
 * scratch_room_bytes() - so much may be written at a time: what is free now, less the reserve
 * @most: no more than that; 0 = no limit
 */
uint64_t scratch_room_bytes(const struct target *target, uint64_t most);

/**
 * scratch_file_most() - no file there may be longer: the process's limit (ulimit -f), or FAT's 4 GiB, in whole MiB as
 *                       long as that leaves any
 * Return: bytes; UINT64_MAX = nothing is known that limits it.
 */
uint64_t scratch_file_most(const struct target *target);

#endif
