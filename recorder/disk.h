/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disk.h - what writer and keeper of one disk share: making segments known, and failing once
 *
 * Threads: the disk's writer and keeper, as said at each function.
 */
#ifndef VSIB_RECORDER_DISK_H
#define VSIB_RECORDER_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/state.h"

/** disk_is_usable() - any thread */
bool disk_is_usable(const struct disk *disk);

/**
 * disk_fail() - this disk takes nothing more; the first call decides state and sentence
 * @error: -errno; ENOSPC and EDQUOT mean full, EROFS read-only, anything else failed
 * @why:   the sentence
 */
void disk_fail(struct disk *disk, int error, const char *why);

/**
 * disk_settle() - the @count oldest pending segments are durable: count them and tell the journal
 *
 * Thread: whoever takes from this disk's segmenter (see segment.h).
 */
void disk_settle(struct disk *disk, uint32_t count);

/**
 * disk_forfeit() - all pending segments are lost with the disk: count them, note the gaps.
 * Thread: as above.
 */
void disk_forfeit(struct disk *disk);

#endif
