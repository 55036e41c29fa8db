/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vbs_cfg.h - NAME/NAME.cfg, by which vlbi-streamer and its vbs_fs know a recording of layout vbs
 *
 * Threads: pure functions.
 */
#ifndef VSIB_RECORDER_VBS_CFG_H
#define VSIB_RECORDER_VBS_CFG_H

#include <stddef.h>
#include <stdint.h>

struct vbs_cfg {
	uint64_t packet_bytes; /* > 0 */
	uint64_t chunk_bytes;  /* of a full chunk file */
	uint64_t chunk_count;  /* files of the recording on all disks, each counted once */
	uint64_t data_bytes;   /* in them */
};

/**
 * vbs_cfg_mib() - the chunk's size as those readers know it
 *
 * They take whole MiB, rounded down to whole packets. Return: the MiB that come out as @chunk_bytes; 0: none do.
 */
uint64_t vbs_cfg_mib(uint64_t chunk_bytes, uint64_t packet_bytes);

/** vbs_cfg_text() - in libconfig's syntax. Return: its length, below @len. */
size_t vbs_cfg_text(char *buf, size_t len, const struct vbs_cfg *cfg);

#endif
