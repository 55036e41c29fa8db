/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metadata.h - what other programs read beside a recording's data, and in front of them
 *
 *   metadata_create() -> metadata_head() -> { metadata_note() a durable segment, metadata_write() now and then }
 *   ... -> metadata_end() -> metadata_write() once more on each disk -> metadata_failures() -> metadata_free()
 *
 * Shape:   --sigmf: beside each raw file, as soon as it is complete and the next one has begun, and at the end of
 *          the recording. --vbs-cfg: one file a disk, at the end. --dada-header: see sink.h.
 * Threads: metadata_note() by the disk's writer (memory work under a short lock); metadata_write() by its keeper,
 *          which may block on the disk; the others by the supervisor.
 * Errors:  a file that can't be written is an event (metadata-failed) and makes the recording degraded. The data
 *          are never touched by that.
 */
#ifndef VSIB_RECORDER_METADATA_H
#define VSIB_RECORDER_METADATA_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/segment.h"
#include "recorder/sigmf.h"

#define METADATA_CFG_SUFFIX ".cfg" /* NAME/NAME.cfg, of --vbs-cfg */

struct disk;
struct metadata;
struct refusal;
struct session;
struct sink_head;

struct metadata_config {
	bool use_sigmf, use_vbs_cfg, use_dada;
	const char *dada_file; /* keys for the header; NULL = none */
	struct sigmf_words words;
};

/** metadata_is_wanted() - any of it? */
bool metadata_is_wanted(const struct metadata_config *config);

/** metadata_warn_unused() - when something was said for metadata that nobody has asked for */
void metadata_warn_unused(struct session *session);

/**
 * metadata_create() - looks at what was asked; the layout is planned and the files are named
 * Return: 0; -errno with the refusal filled in.
 */
int metadata_create(struct metadata **out, struct session *session, struct refusal *refusal);

/** metadata_free() - NULL is fine */
void metadata_free(struct metadata *metadata);

/** metadata_head() - of each data file; NULL = there is none, or @metadata is NULL */
const struct sink_head *metadata_head(const struct metadata *metadata);

/**
 * metadata_note() - a segment is durable
 * @file: relative to the target. Segments of one file come one behind the other, those of the next file only when it
 *        is finished.
 */
void metadata_note(struct metadata *metadata, const struct disk *disk,
		   const struct segment *segment, const char *file);

/** metadata_write() - writes one file of what is complete and not written yet. Return: true: there may be more. */
bool metadata_write(struct metadata *metadata, struct disk *disk);

/** metadata_end() - all that is durable has been noted: what is still open is complete */
void metadata_end(struct metadata *metadata);

/** metadata_is_through() - behind metadata_end(): all of a disk's is written, or has failed */
bool metadata_is_through(const struct metadata *metadata, const struct disk *disk);

/** metadata_give_up() - its disk holds the keeper: what is not written counts as failed */
void metadata_give_up(struct metadata *metadata, struct disk *disk);

/** metadata_written(), metadata_failures() - files so far; 0 if @metadata is NULL */
uint64_t metadata_written(const struct metadata *metadata);
uint64_t metadata_failures(const struct metadata *metadata);

#endif
