/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader_parts.h - what reader.c, reader_fill.c and reader_lent.c share; not for others
 *
 *   reader.c       the stream from the source into the ring: limits, a full ring, the end
 *   reader_fill.c  what the source lost, and fill in its place
 *   reader_lent.c  a source that lends its memory: whole blocks instead of reads
 *
 * Threads: the reader alone.
 */
#ifndef VSIB_RECORDER_READER_PARTS_H
#define VSIB_RECORDER_READER_PARTS_H

#include "recorder/lanes.h"
#include "recorder/state.h"

#define READER_TURN_NS \
	INT64_C(100000000) /* the reader looks round at least this often: limits, stop, silence */
#define READER_DEVICE_NS \
	INT64_C(3000000000) /* to take what a device still holds after its stop; of packets: until the next ones */

struct reader {
	struct session *session;
	struct lanes *lanes;
	uint64_t position;      /* in the stream: of the next byte */
	int64_t deadline_ns;    /* -d; INT64_MAX = none */
	uint64_t limit_bytes;   /* -n, or -d at the rate of a source we pace; UINT64_MAX = none */
	bool is_limit_duration; /* limit_bytes stands for -d */
	bool is_overflowing;    /* since overflow_from, nothing fits into the ring */
	uint64_t overflow_from;
	uint64_t overflow_bytes;
	int64_t overflow_ns;
	int64_t last_fill_ns; /* end of the last full block */
	bool is_silent;
	int64_t first_data_ns; /* 0 = nothing came yet */
	int64_t checked_ns;    /* when bytes were compared with the clock last */
	bool has_told_rate, has_told_fast;
	uint32_t given_count; /* of the ring's blocks, those that the source has whose memory they are */
	int64_t near_until_ns; /* the source is faster than the disk: until then we keep near it */
};

/* ---- reader.c ---- */

/** reader_into_device(), reader_out_of_device() - around calls that may never return */
void reader_into_device(struct session *session);
void reader_out_of_device(struct session *session);

/** reader_may_go_on() - false when the stream is to end now; says why to the session */
bool reader_may_go_on(struct reader *r);

/** reader_within_limit() - of @len bytes, so many as belong to the recording */
size_t reader_within_limit(const struct reader *r, size_t len);

/** reader_next_turn() - when the reader has to look round again, at the latest */
int64_t reader_next_turn(const struct reader *r, int64_t now);

/** reader_wait_for_room() - until a block comes back, or the next turn. @ticket: of ring_listen() */
void reader_wait_for_room(struct reader *r, uint32_t ticket);

/** reader_note_packets() - what has no place in the stream: what the source threw away, and packets of unknown length */
void reader_note_packets(struct reader *r, const struct source_mark *mark);

/** reader_note_data() - something came; reader_note_words() - and what the source has to say of it */
void reader_note_data(struct reader *r, int64_t now);
void reader_note_words(struct reader *r);

/** reader_note_fill() - @bytes of data are at their place, where there was @room */
void reader_note_fill(struct reader *r, const void *data, size_t bytes, size_t room, int64_t now);

/** reader_note_overflow() - bytes that were received and have no place */
void reader_note_overflow(struct reader *r, uint64_t bytes);

/** reader_end_of_source() - what source_read() returned is no data. Return: is the stream over? */
bool reader_end_of_source(struct reader *r, ssize_t result, const struct source_mark *mark);

/** reader_has_leftover() - does the source that was stopped still hold what is of the stream? */
bool reader_has_leftover(const struct session *session);

/** reader_may_take_more() - of that: is it wanted, and have the disks room for it? */
bool reader_may_take_more(struct reader *r);

/* ---- reader_fill.c ---- */

/** reader_is_to_be_filled() - was anything lost, and is it to be filled? Then what was read is to wait in session->scrap. */
bool reader_is_to_be_filled(const struct reader *r, const struct source_mark *mark);

/**
 * reader_note_source_loss() - bytes the source lost before the data just read: the stream goes on behind them
 * @behind: so many of those data wait until the fill has its place; they are not where it goes
 */
void reader_note_source_loss(struct reader *r, const struct source_mark *mark, bool is_filled,
			     size_t behind);

/** reader_put_aside() - what waits aside goes behind the fill; there is room for it, unless the ring has very few blocks */
void reader_put_aside(struct reader *r, size_t bytes, int64_t utc_ns);

/* ---- reader_lent.c ---- */

/** reader_take_stream() - until the stream is to end */
void reader_take_stream(struct reader *r);

/** reader_take_rest() - what the source had when it was stopped */
void reader_take_rest(struct reader *r);

#endif
