/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segment.h - which bytes of the stream stand where in which file, with their checksum
 *
 *   writer: segmenter_add() an extent written ... segmenter_close() -> the pending segments grow
 *   whoever synced: n = segmenter_pending(); sync; n times segmenter_take(); tell the journal
 *
 * Shape:    a segment is contiguous in file and stream and at most JOURNAL_SEGMENT_MAX bytes.
 *           Segments that are closed but not known to be durable wait in a fixed queue of
 *           SEGMENT_PENDING_MAX.
 * Threads:  the disk's writer adds and closes; takes are by the writer (several targets) or its
 * keeper (one), never by both. Ordering: closing releases the segment, segmenter_pending()
 * acquires it.
 */
#ifndef VSIB_RECORDER_SEGMENT_H
#define VSIB_RECORDER_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_PENDING_MAX UINT32_C(65536)

struct segmenter;

/* Who sums up bytes that are added. */
enum segment_sum {
	SUM_OURS,    /* segmenter_add() reads them once more */
	SUM_STARTS,  /* xxh3 is of these bytes alone; a segment begins with them */
	SUM_GOES_ON, /* xxh3 is of all bytes since those that started, and of these */
};

struct segment {
	uint64_t file_number;
	uint64_t file_base;   /* see layout_file_name() */
	uint64_t file_offset; /* in this file */
	uint64_t bytes;
	uint64_t stream_offset;
	uint64_t xxh3;   /* 0 without checksums */
	int64_t utc_ns;  /* of the first byte */
	uint64_t row_at; /* see struct block_label; goes on as the stream does */
	enum segment_sum sum;
};

/**
 * segmenter_create() - nothing is open
 * @rate_bps: of the stream: the time of a segment that begins within bytes added at once follows
 * from it; 0 = theirs counts Return: 0; -ENOMEM.
 */
int segmenter_create(struct segmenter **out, bool has_checksums, uint64_t rate_bps);

/** segmenter_bytes() - memory that one takes */
size_t segmenter_bytes(void);

void segmenter_free(struct segmenter *segmenter);

/**
 * segmenter_add() - bytes that have been written
 * @at: where: file_number, file_base, file_offset, stream_offset, utc_ns, bytes (> 0), and sum with
 *      xxh3. From a start on at most JOURNAL_SEGMENT_MAX bytes may go on
 * @data: the bytes; read only where there is no sum of them
 * @now_ns: CLOCK_MONOTONIC, for segmenter_age_ns()
 *
 * Joined to the open segment when it goes on there, else that one is closed first. What goes on in a
 * sum whose start is no longer open (the segment was closed in between) is summed up here. Return: 0;
 * -ENOBUFS when there may be no room: let somebody sync and take first (nothing was added).
 */
int segmenter_add(struct segmenter *segmenter, const struct segment *at, const void *data,
		  int64_t now_ns);

/** segmenter_close() - the open segment, if any, becomes pending. Return: 0 or -ENOBUFS. */
int segmenter_close(struct segmenter *segmenter);

/** segmenter_age_ns() - how long the open segment has been open; 0 when none is */
int64_t segmenter_age_ns(const struct segmenter *segmenter, int64_t now_ns);

/** segmenter_open_offset() - stream offset of the open segment; 0 when none is. Writer only. */
uint64_t segmenter_open_offset(const struct segmenter *segmenter);

/** segmenter_pending() - closed segments not taken yet */
uint32_t segmenter_pending(const struct segmenter *segmenter);

/** segmenter_take() - the oldest pending segment; there must be one */
struct segment segmenter_take(struct segmenter *segmenter);

/**
 * segmenter_drop() - forget the open one and all pending ones: they will be written elsewhere.
 * Writer only, several targets.
 */
void segmenter_drop(struct segmenter *segmenter);

#endif
