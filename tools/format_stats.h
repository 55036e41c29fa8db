/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format_stats.h - what the frames of a stream add up to
 *
 *   format_stats_create() -> format_stats_begin() -> format_stats_take() for each frame
 *   -> format_stats_end() -> read the fields -> format_stats_free()
 *
 * Memory is bounded: FORMAT_STREAMS_MAX streams and FORMAT_FAULTS_MAX places of faults are kept; what goes
 * beyond is counted.
 *
 * Threads: one caller at a time.
 */
#ifndef VSIB_TOOLS_FORMAT_STATS_H
#define VSIB_TOOLS_FORMAT_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/succession.h"
#include "tools/format.h"

#define FORMAT_STREAMS_MAX 4096
#define FORMAT_FAULTS_MAX 100

struct format_instant {
	uint64_t interval;
	uint32_t number; /* in the interval */
};

/* Frames of one thread of one station (CODIF: and its group and secondary number). */
struct format_stream {
	uint16_t station, thread, group, secondary;
	struct succession order;
	uint64_t invalid_count;
	uint64_t fill_count;
	uint64_t missing_count; /* of format_stats_end() */
	struct format_instant first, newest;
	uint64_t newest_offset, previous_offset; /* of the newest frame, and of the newest before it */
	bool is_late_start; /* another thread had gone on in time before this one's first frame */
	uint32_t first_second; /* as in the header, since the epoch */
	uint8_t first_epoch;
};

enum format_fault_kind {
	FORMAT_MISSING,     /* frames, before this place */
	FORMAT_DUPLICATE,   /* a frame that was there already */
	FORMAT_LATE,        /* a frame behind younger ones of its thread */
	FORMAT_BACK,        /* a thread's time goes back, and on from there */
	FORMAT_DISORDER,    /* a frame older than those of another thread before it */
	FORMAT_DAMAGED,     /* a header that can't be read */
	FORMAT_CRC,         /* a wrong CRC in a header */
	FORMAT_SKIPPED,     /* bytes that are no frame */
	FORMAT_TORN,        /* a frame that a gap of the recording has cut */
	FORMAT_OVERWRITTEN, /* fill where a frame should be */
	FORMAT_PACKETS,     /* packet numbers that are missing */
	/* of the simulator's pattern; bytes */
	FORMAT_WRONG_BYTES,
	FORMAT_LOST_BYTES,
	FORMAT_REPEATED_BYTES,
};
#define FORMAT_FAULT_KINDS 14

struct format_fault {
	enum format_fault_kind kind;
	uint64_t offset; /* in the stream */
	uint64_t count;  /* frames, packets or bytes */
	bool has_stream;
	uint16_t station, thread;
	struct succession_loss loss; /* FORMAT_MISSING: count, once the rate is known */
};

enum format_rate_source {
	FORMAT_RATE_UNKNOWN,
	FORMAT_RATE_HEADER, /* the headers say it, or their time codes */
	FORMAT_RATE_GIVEN,
	FORMAT_RATE_COUNTED, /* the highest number before a new second */
};

struct format_stats {
	struct format_layout layout;
	struct format_stream *streams;
	size_t stream_count;
	struct format_fault faults[FORMAT_FAULTS_MAX];
	size_t fault_count;                 /* of those kept */
	uint64_t count[FORMAT_FAULT_KINDS]; /* of each kind: frames, packets or bytes */
	uint64_t frame_count;
	uint64_t invalid_count;
	uint64_t fill_count;
	uint64_t stray_count;     /* frames whose time agrees with no other */
	uint64_t untracked_count; /* of streams beyond FORMAT_STREAMS_MAX */
	uint64_t bad_track_count; /* Mark4, VLBA: headers of single tracks with a wrong CRC */
	struct succession packets;

	/* bytes of the stream; the caller's */
	uint64_t scanned_bytes;
	uint64_t leading_bytes;  /* before the first frame */
	uint64_t trailing_bytes; /* behind the last whole one */

	/* of format_stats_end() */
	uint32_t rate; /* frames an interval, of each stream; 0 = unknown */
	enum format_rate_source rate_source;
	uint64_t payload_bps;    /* of all streams; 0 = unknown */
	int64_t start_utc_ns;    /* of the first frame; a whole second if the rate is unknown */
	int64_t end_utc_ns;      /* behind the newest frame; the same */
	int64_t length_ns;       /* by time; 0 = unknown */
	int64_t bytes_length_ns; /* by bytes; 0 = unknown */

	/* private */
	uint16_t *slots;
	uint32_t counted_rate, highest_number;
	uint32_t rate_above, rate_most; /* Mark5B: what the fractions leave */
	bool has_first;
	struct format_frame first;
	struct format_instant newest;
	bool has_gone_on;       /* a thread had its second frame */
	uint64_t longest_count; /* frames of the thread that has most */
};

/** format_stats_create() - Return: 0; -ENOMEM. */
int format_stats_create(struct format_stats **out);

/** format_stats_free() - NULL is fine */
void format_stats_free(struct format_stats *stats);

/**
 * format_stats_begin() - the format is known
 * @rate: frames a second of each thread, if the user says so; 0: not
 */
void format_stats_begin(struct format_stats *stats, const struct format_layout *layout, uint32_t rate);

/** format_stats_take() - a whole frame, as they come; @offset: in the stream */
void format_stats_take(struct format_stats *stats, const struct format_frame *frame, uint64_t offset);

/** format_stats_fault() - what is no frame; @count: frames or bytes */
void format_stats_fault(struct format_stats *stats, enum format_fault_kind kind, uint64_t offset,
			uint64_t count);

/** format_stats_end() - all was taken: rate, times, and what is missing */
void format_stats_end(struct format_stats *stats);

/**
 * format_stats_are_good() - is nothing to be said against the frames?
 * @is_cut_fine: the stream may begin and end anywhere; Mark4 and VLBA always may
 */
bool format_stats_are_good(const struct format_stats *stats, bool is_cut_fine);

/** format_utc_ns() - when a frame begins; without @rate when its interval does */
int64_t format_utc_ns(const struct format_layout *layout, uint64_t interval, uint32_t number,
		      uint32_t rate);

#endif
