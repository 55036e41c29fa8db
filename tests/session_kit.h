/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session_kit.h - a small recording in a temporary directory, and the question whether every byte of it is where it should be
 *
 *   kit_open() -> set config, disks, fake_source_script -> kit_start() -> kit_end() -> kit_check() -> kit_close()
 *
 * Blocks of 4 KiB and chunks of 16 KiB: what takes hours on real disks happens here in milliseconds.
 * Threads: one; nothing in here uses cmocka, so that the stress test can use it too.
 */
#ifndef VSIB_TESTS_SESSION_KIT_H
#define VSIB_TESTS_SESSION_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/session.h"
#include "tests/fake_disk.h"
#include "tests/fake_source.h"

#define KIT_DISKS 4
#define KIT_BLOCK UINT64_C(4096)
#define KIT_CHUNK UINT64_C(16384)
#define KIT_PATIENCE (INT64_C(20) * UNITS_NS_PER_S)

struct kit {
	char root[64];
	char paths[KIT_DISKS][80];
	const char *targets[KIT_DISKS];
	unsigned disk_count;
	struct fake_disk disks[KIT_DISKS];
	const struct sink_io *io[KIT_DISKS];
	struct session_config config;
	struct refusal refusal;
	struct session *session;
	enum session_outcome outcome;
	int exit_status;
	int64_t end_ns;   /* how long session_end() took */
	char error[1024]; /* what kit_check() found */
};

/** kit_open() - directories, good disks, a source that ends after a megabyte, layout vbs (raw for one disk). Aborts when it can't. */
void kit_open(struct kit *kit, unsigned disk_count);

/** kit_start() - create, arm, start. Return: 0 or -errno, with kit->refusal */
int kit_start(struct kit *kit);

/** kit_wait() - until the stream and the writers have ended. Return: false after @ns */
bool kit_wait(struct kit *kit, int64_t ns);

/** kit_end() - kit_wait(), session_end(), outcome. Return: as session_end() */
bool kit_end(struct kit *kit, int64_t wait_ns, int64_t patience_ns);

/**
 * kit_check() - account, journals and files against each other and against the stream
 *
 * Every byte of the stream is in exactly one segment or gap, but for gaps that are filled: their bytes are fill. Each segment's bytes are in its file and are those of the stream, with the
 * right checksum; sums per cause are those of the account; the journals of all good disks hold the same lines; final names carry nothing
 * but what the journal says.
 * Return: NULL when all is right, else a sentence.
 */
const char *kit_check(struct kit *kit);

/** kit_close() - releases stuck disks, joins what is left, frees, removes the directories */
void kit_close(struct kit *kit);

/** kit_count() - files on a target (and in its directory of the recording) whose names end with @suffix */
unsigned kit_count(const struct kit *kit, unsigned disk, const char *suffix);

#endif
