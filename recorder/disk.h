/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disk.h - what becomes of a disk: durable segments made known; failed, stuck, back
 *
 * Threads: the disk's writer.
 */
#ifndef VSIB_RECORDER_DISK_H
#define VSIB_RECORDER_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/state.h"

/** disk_is_usable() - any thread */
bool disk_is_usable(const struct disk *disk);

/** disk_subtract_units() - so many runs are not this disk's any more; any thread */
void disk_subtract_units(struct disk *disk, uint32_t count);

/**
 * disk_fail() - this disk takes nothing more; the first call decides state and sentence
 * @error: -errno; ENOSPC and EDQUOT mean full, EROFS read-only, anything else failed
 * @why:   the sentence
 */
void disk_fail(struct disk *disk, int error, const char *why);

/**
 * disk_stick() - this disk has not moved for too long; not the last one that works
 * Return: false: it is the last.
 */
bool disk_stick(struct disk *disk, const char *why);

/** disk_revive() - a stuck disk works again */
void disk_revive(struct disk *disk);

/** disk_turn_failed() - a stuck disk has come back with an error */
void disk_turn_failed(struct disk *disk, int error, const char *why);

/** disk_hold() - as disk_fail(), of a disk that is stuck at the end, even if it is the last */
void disk_hold(struct disk *disk, const char *why);

/**
 * disk_note_write() - how long a write took, or has been taking up to @ended_ns when it is not back
 * @file_offset: where it went in its file
 */
void disk_note_write(struct disk *disk, int64_t started_ns, int64_t ended_ns, size_t bytes,
		     uint64_t file_offset);

/**
 * disk_drop() - null: what is in its queue is counted and goes back to the ring
 *
 * There is nothing to wait for, so it takes no thread: whoever puts a block calls this.
 */
void disk_drop(struct disk *disk);

/**
 * disk_settle() - the @count oldest pending segments are durable: count them and tell the journal
 */
void disk_settle(struct disk *disk, uint32_t count);

/**
 * disk_forfeit() - all pending segments are lost: count them, note the gaps
 * @cause: GAP_DISK or GAP_ABORTED
 */
void disk_forfeit(struct disk *disk, enum gap_cause cause);

#endif
