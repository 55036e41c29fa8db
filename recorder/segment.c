/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/segment.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/journal.h"
#include "recorder/xxh3.h"

struct segmenter {
	bool has_checksums;  /* constant */
	uint64_t rate_bps;   /* constant */
	bool is_open;        /* writer */
	bool is_summed;      /* writer: the open one's checksum comes with what is added */
	int64_t opened_ns;   /* writer */
	struct segment open; /* writer */
	XXH3_state_t *state; /* writer */
	alignas(64) _Atomic uint64_t put_count;  /* writer writes */
	alignas(64) _Atomic uint64_t take_count; /* the taker writes */
	struct segment pending[SEGMENT_PENDING_MAX];
};

int segmenter_create(struct segmenter **out, bool has_checksums, uint64_t rate_bps)
{
	struct segmenter *s = aligned_alloc(64, (sizeof(*s) + 63) / 64 * 64);

	*out = s;
	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof(*s)); /* also touches the queue's memory, before the recording starts */
	s->has_checksums = has_checksums;
	s->rate_bps = rate_bps;
	s->state = XXH3_createState();
	if (!s->state) {
		segmenter_free(s);
		*out = NULL;
		return -ENOMEM;
	}
	return 0;
}

size_t segmenter_bytes(void)
{
	return sizeof(struct segmenter);
}

void segmenter_free(struct segmenter *segmenter)
{
	if (!segmenter)
		return;
	XXH3_freeState(segmenter->state);
	free(segmenter);
}

static bool goes_on(const struct segmenter *segmenter, const struct segment *at)
{
	const struct segment *open = &segmenter->open;

	if (at->sum == SUM_STARTS || (segmenter->is_summed && at->sum == SUM_OURS))
		return false;
	return at->file_number == open->file_number && at->file_base == open->file_base &&
	       at->file_offset == open->file_offset + open->bytes &&
	       at->stream_offset == open->stream_offset + open->bytes &&
	       open->bytes < JOURNAL_SEGMENT_MAX;
}

int segmenter_close(struct segmenter *segmenter)
{
	/* relaxed: we are its only writer */
	uint64_t put = atomic_load_explicit(&segmenter->put_count, memory_order_relaxed);

	if (!segmenter->is_open)
		return 0;
	/* acquire: the slot's last reader is through with it */
	if (put - atomic_load_explicit(&segmenter->take_count, memory_order_acquire) >=
	    SEGMENT_PENDING_MAX)
		return -ENOBUFS;
	if (segmenter->has_checksums && !segmenter->is_summed)
		segmenter->open.xxh3 = XXH3_64bits_digest(segmenter->state);
	segmenter->pending[put % SEGMENT_PENDING_MAX] = segmenter->open;
	segmenter->is_open = false;
	/* release: the segment is whole before it is counted */
	atomic_store_explicit(&segmenter->put_count, put + 1, memory_order_release);
	return 0;
}

static void open_segment(struct segmenter *segmenter, const struct segment *at, int64_t now_ns)
{
	segmenter->open = *at;
	segmenter->open.bytes = 0;
	segmenter->open.xxh3 = 0;
	segmenter->opened_ns = now_ns;
	segmenter->is_open = true;
	segmenter->is_summed = segmenter->has_checksums && at->sum == SUM_STARTS;
	if (segmenter->has_checksums && !segmenter->is_summed)
		XXH3_64bits_reset(segmenter->state);
}

int segmenter_add(struct segmenter *segmenter, const struct segment *at, const void *data, int64_t now_ns)
{
	const char *bytes = data;
	struct segment rest = *at;
	/*
	 * how many segments this may close; blocks are smaller than 2 GiB, so it is a small number
	 */
	uint64_t closes = 2 + rest.bytes / JOURNAL_SEGMENT_MAX;

	if (segmenter_pending(segmenter) + closes > SEGMENT_PENDING_MAX)
		return -ENOBUFS;
	while (rest.bytes > 0) {
		uint64_t take;

		if (segmenter->is_open && !goes_on(segmenter, &rest))
			segmenter_close(segmenter);
		if (!segmenter->is_open)
			open_segment(segmenter, &rest, now_ns);
		take = JOURNAL_SEGMENT_MAX - segmenter->open.bytes;
		take = take < rest.bytes ? take : rest.bytes;
		assert(!segmenter->is_summed || take == at->bytes);
		if (segmenter->is_summed)
			segmenter->open.xxh3 = at->xxh3;
		else if (segmenter->has_checksums)
			XXH3_64bits_update(segmenter->state, bytes, take);
		segmenter->open.bytes += take;
		bytes += take;
		rest.bytes -= take;
		rest.file_offset += take;
		rest.stream_offset += take;
		rest.row_at += take;
		if (segmenter->rate_bps)
			rest.utc_ns = at->utc_ns +
				      units_time_for(at->bytes - rest.bytes, segmenter->rate_bps);
	}
	return 0;
}

int64_t segmenter_age_ns(const struct segmenter *segmenter, int64_t now_ns)
{
	return segmenter->is_open ? now_ns - segmenter->opened_ns : 0;
}

uint64_t segmenter_open_offset(const struct segmenter *segmenter)
{
	return segmenter->is_open ? segmenter->open.stream_offset : 0;
}

uint32_t segmenter_pending(const struct segmenter *segmenter)
{
	uint64_t taken = atomic_load_explicit(&segmenter->take_count, memory_order_acquire);

	/* acquire: the segments counted are whole */
	return (uint32_t)(atomic_load_explicit(&segmenter->put_count, memory_order_acquire) - taken);
}

struct segment segmenter_take(struct segmenter *segmenter)
{
	/* relaxed: we are its only writer */
	uint64_t taken = atomic_load_explicit(&segmenter->take_count, memory_order_relaxed);
	struct segment segment = segmenter->pending[taken % SEGMENT_PENDING_MAX];

	assert(segmenter_pending(segmenter) > 0);
	/* release: we have read the slot before it may be used again */
	atomic_store_explicit(&segmenter->take_count, taken + 1, memory_order_release);
	return segment;
}

void segmenter_drop(struct segmenter *segmenter)
{
	segmenter->is_open = false;
	while (segmenter_pending(segmenter) > 0)
		segmenter_take(segmenter);
}
