/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * room.h - how much the disks can still take: the stream ends before the last of them is full
 *
 *   room_begin(), room_note() by each writer, room_look() by each keeper -> room_is_left() by the reader
 *
 * Shape:   A file system's capacity for the recording is what is free on it and what our files there have
 *          got. It stays the same while we write, so that the keeper's look every few seconds is enough at
 *          any rate: what has been put meanwhile the reader knows to the byte. What others write there shows
 *          in the next look, and is taken to go on.
 * Counted: Blocks that the file system keeps for root are not free. A reserve stays for the journal's last
 *          lines and the file system's own needs. With several disks that write for each other a disk takes
 *          whole runs: what is left behind its last one is not counted. Quotas are not known: there, and
 *          where others are quicker than our looks, a disk fails by ENOSPC or EDQUOT as it always did.
 * Threads: as each function says.
 */
#ifndef VSIB_RECORDER_ROOM_H
#define VSIB_RECORDER_ROOM_H

#include "recorder/state.h"

#define ROOM_UNKNOWN UINT64_MAX

/**
 * room_begin() - what this disk's files have got of the file system may change from here on,
 * room_note() - and this is what it is, as far as is known
 *
 * In between no look counts. Thread: the disk's writer.
 */
void room_begin(struct disk *disk);
void room_note(struct disk *disk);

/** room_look() - what is free, hence the capacity. Thread: the disk's keeper, before that who sets up; may block on a sick disk. */
void room_look(struct disk *disk);

/**
 * room_is_left() - can one more block be put, so that all of the ring still fits on the disks?
 * @unput_run_count: runs that are begun without a block put, see lanes_unput_runs()
 *
 * True as long as any usable disk, or with nothing held for others each of them, has room; and always
 * where there is no limit, or no disk left: what ends the stream then is not want of room.
 * Thread: reader.
 */
bool room_is_left(const struct session *session, uint32_t unput_run_count);

/** room_run_bytes() - what one more run takes of a disk, 0 where nothing is held. Any thread. */
uint64_t room_run_bytes(const struct session *session);

/** room_tell() - the sentence for the user: which file systems, what is left, what to do. Any thread. */
void room_tell(struct session *session);

#endif
