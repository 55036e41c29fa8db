/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_objects.h - the objects that the JSON reports of several programs have in common: a ring and a disk
 *
 * vsib-report/1 and vsib-qualify/1 say them in the same words, so that one program reads both.
 * Threads: pure.
 */
#ifndef VSIB_RECORDER_REPORT_OBJECTS_H
#define VSIB_RECORDER_REPORT_OBJECTS_H

#include <jansson.h>

#include "recorder/state.h"

struct report_ring {
	uint64_t capacity_bytes, asked_bytes, block_bytes, chunk_bytes;
	uint64_t high_water_bytes;
	double high_water_s; /* since the start */
	uint64_t overflow_count, overflow_bytes;
};

struct report_disk {
	const struct target *target;
	uint64_t written_bytes; /* durable */
	uint64_t file_count;
	enum disk_state state;
	const char *error; /* when it is not DISK_OK */
	const char *io, *engine;
	unsigned depth;
	double rate_bps, worst_write_s;
	uint64_t worst_write_offset; /* in its file */
	double worst_write_at_s;
	uint64_t histogram[SESSION_HISTOGRAM], mark5_bins[SESSION_MARK5_BINS];
};

/** report_object_text() - a string; what is not UTF-8 (a path may be so) must not take the report down */
json_t *report_object_text(const char *string);

/** report_object_number() - bytes and counts */
json_t *report_object_number(uint64_t value);

/** report_object_ring() - may be added to. Return: for json_decref(); NULL: no memory. */
json_t *report_object_ring(const struct report_ring *ring);

/** report_object_disk() - may be added to. Return: for json_decref(); NULL: no memory. */
json_t *report_object_disk(const struct report_disk *disk);

#endif
