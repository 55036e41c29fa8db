/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_disk.h - a disk that is slow, full, short-writing, failing, stuck or forgetful, on demand
 *
 *   fake_disk_init() -> set the faults -> sink_config.io or session_config.io = &disk->io -> ... -> fake_disk_free()
 *
 * The files are real, in a real directory; only the calls of struct sink_io go through here. A sync does not really sync: the tests
 * would take minutes, and no power is cut. Instead a forgetful disk loses what was not synced at the moment a sync fails:
 * it overwrites it with garbage, so that whoever takes it for durable is found out by the content.
 * Threads: faults are set before the disk is used; the counters and fake_disk_release() by any thread.
 */
#ifndef VSIB_TESTS_FAKE_DISK_H
#define VSIB_TESTS_FAKE_DISK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/sink.h"

#define FAKE_RANGES 1024 /* more are forgotten: kept, whatever happens */

enum fake_call {
	FAKE_OPEN,
	FAKE_WRITE,
	FAKE_SYNC,
	FAKE_SYNC_DIRECTORY,
	FAKE_ALLOCATE,
	FAKE_CUT,
	FAKE_RENAME,
	FAKE_CALL_COUNT
};

struct fake_fault {
	uint64_t at;    /* the call that fails first, from 1 on; 0 = none */
	uint64_t count; /* how many fail; 0 = all from there on */
	int error;      /* errno */
};

struct fake_range {
	int fd;
	off_t offset;
	size_t bytes;
};

struct fake_disk {
	struct sink_io io; /* the first member: what the sink gets */
	struct fake_fault faults[FAKE_CALL_COUNT];
	uint64_t stuck_at[FAKE_CALL_COUNT]; /* the call that doesn't return until fake_disk_release(); 0 = none */
	int64_t delay_ns[FAKE_CALL_COUNT];
	size_t write_max;    /* a write takes at most so many bytes; 0 = all */
	uint64_t room_bytes; /* then ENOSPC; 0 = endless */
	uint64_t allocate_max; /* to allocate more in one go is ENOSPC, and as ext4 does it so much stays; 0 = endless */
	bool tells_alignment;
	struct sink_alignment alignment;
	bool is_forgetful;

	_Atomic uint64_t calls[FAKE_CALL_COUNT];
	_Atomic uint64_t written_bytes;
	_Atomic uint64_t synced_inode; /* of the directory synced last */
	_Atomic bool is_released;
	_Atomic bool is_stuck;                 /* somebody is in there */
	pthread_mutex_t lock;                  /* guards the ranges */
	struct fake_range ranges[FAKE_RANGES]; /* written since the last sync that succeeded */
	unsigned range_count;
};

/** fake_disk_init() - a good disk */
void fake_disk_init(struct fake_disk *disk);

void fake_disk_free(struct fake_disk *disk);

/** fake_disk_fail() - @count calls of this kind fail with @error, beginning with the @at-th; @count 0: all that follow too */
void fake_disk_fail(struct fake_disk *disk, enum fake_call call, uint64_t at, uint64_t count,
		    int error);

/** fake_disk_release() - calls that are stuck go on, and none is any more */
void fake_disk_release(struct fake_disk *disk);

#endif
