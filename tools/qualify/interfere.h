/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interfere.h - somebody else's random I/O on a disk that is being recorded to: 5 % of the operations
 *
 *   interfere_start() -> { interfere_tell() } ... -> interfere_stop()
 *
 * What 5 %: The figures there are to compare with (IOMeter, sequential writes of 64 KiB, DQL 2 to 36: with 95 %
 * of them sequential SCSI lost 13 %, SATA II 22, SAS 63 and SATA I 66 % of the rate) count operations, all of
 * one size. So does this: one random operation for each 19 x 64 KiB of the stream. By bytes that is less than
 * 5 %, and it is the seeks that cost.
 * Shape:   one thread a disk, one operation at a time, reads and writes in turn, of 4 to 64 KiB, at random
 *          places of a scratch file, with direct I/O where there is any. The disk that can't do as many falls
 *          behind, and that is counted.
 * Threads: start, tell and stop: one.
 */
#ifndef VSIB_TOOLS_QUALIFY_INTERFERE_H
#define VSIB_TOOLS_QUALIFY_INTERFERE_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/target.h"
#include "tools/qualify/trial_control.h"

#define INTERFERE_EVERY_BYTES (UINT64_C(19) * 65536)
#define INTERFERE_FILE_BYTES \
	(UINT64_C(256) << 20) /* and not more than is written in INTERFERE_FILL_NS */
#define INTERFERE_FILL_NS INT64_C(1500000000)

struct interfere;

struct interfere_counts {
	uint64_t due_count; /* so many there should have been */
	uint64_t read_count, write_count, read_bytes, write_bytes;
	uint64_t error_count;
	int error; /* the first, -errno; 0 = none */
};

/**
 * interfere_start() - makes the file and fills it, then waits for interfere_tell()
 * @target: a directory
 * @most_bytes: of the file; 0 = INTERFERE_FILE_BYTES
 * @control: NULL = nobody cancels it
 * Return: 0; -EINVAL: no directory; -ENOSPC; -ECANCELED; -ETIMEDOUT: the disk does not answer; -errno.
 */
int interfere_start(struct interfere **out, const struct target *target, uint64_t most_bytes,
		    const struct trial_control *control);

/** interfere_tell() - so many bytes of the stream have gone to this disk by now */
void interfere_tell(struct interfere *interfere, uint64_t stream_bytes);

/**
 * interfere_stop() - ends it, and the file is gone; NULL is fine
 * @counts: what was done; NULL is fine
 * Return: true; false: the kernel holds its thread, and what that uses is not freed.
 */
bool interfere_stop(struct interfere *interfere, struct interfere_counts *counts);

#endif
