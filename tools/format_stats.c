/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/format_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"

#define SLOT_BITS 13 /* twice as many slots as streams */
#define SLOT_COUNT ((size_t)1 << SLOT_BITS)
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define THREAD_FRAMES_MIN 3            /* a thread with less may be a damaged header */
#define SHORT_FRAMES 7                 /* of a thread: a stream so short has no damaged threads */
#define PACKET_BITS 24                 /* of a packet number that count as number in an interval */
#define MARK5B_FRAMES_MAX 32768        /* that a number can tell */
#define MARK5B_RATE_FIRST UINT64_C(25) /* frames a second at 2 Mbit/s; other rates are doublings */
#define FRACTIONS_A_SECOND UINT64_C(10000)

int format_stats_create(struct format_stats **out)
{
	struct format_stats *stats = calloc(1, sizeof(*stats));

	*out = NULL;
	if (!stats)
		return -ENOMEM;
	stats->streams = calloc(FORMAT_STREAMS_MAX, sizeof(stats->streams[0]));
	stats->slots = calloc(SLOT_COUNT, sizeof(stats->slots[0]));
	if (!stats->streams || !stats->slots) {
		format_stats_free(stats);
		return -ENOMEM;
	}
	stats->rate_most = UINT32_MAX;
	*out = stats;
	return 0;
}

void format_stats_free(struct format_stats *stats)
{
	if (!stats)
		return;
	free(stats->streams);
	free(stats->slots);
	free(stats);
}

void format_stats_begin(struct format_stats *stats, const struct format_layout *layout, uint32_t rate)
{
	stats->layout = *layout;
	stats->rate = layout->rate ? layout->rate : rate;
	stats->rate_source = layout->rate ? FORMAT_RATE_HEADER :
			     rate         ? FORMAT_RATE_GIVEN :
					    FORMAT_RATE_UNKNOWN;
}

static bool is_before(const struct format_instant *a, const struct format_instant *b)
{
	return a->interval < b->interval || (a->interval == b->interval && a->number < b->number);
}

/* ---- streams ------------------------------------------------------------------------------------ */

static bool is_of(const struct format_stream *stream, const struct format_frame *frame)
{
	return stream->thread == frame->thread && stream->station == frame->station &&
	       stream->group == frame->group && stream->secondary == frame->secondary;
}

/* Return: NULL: there are too many. */
static struct format_stream *find_stream(struct format_stats *stats,
					 const struct format_frame *frame, uint64_t offset)
{
	uint64_t key = (uint64_t)frame->secondary << 48 | (uint64_t)frame->group << 32 |
		       (uint64_t)frame->station << 16 | frame->thread;
	size_t slot = key * HASH_FACTOR >> (64 - SLOT_BITS);
	struct format_stream *stream;

	for (; stats->slots[slot]; slot = (slot + 1) % SLOT_COUNT) {
		stream = &stats->streams[stats->slots[slot] - 1];
		if (is_of(stream, frame))
			return stream;
	}
	if (stats->stream_count == FORMAT_STREAMS_MAX)
		return NULL;
	stream = &stats->streams[stats->stream_count++];
	stats->slots[slot] = (uint16_t)stats->stream_count;
	*stream = (struct format_stream){
		.station = frame->station,
		.thread = frame->thread,
		.group = frame->group,
		.secondary = frame->secondary,
		.first = { frame->interval, frame->number },
		.newest = { frame->interval, frame->number },
		.newest_offset = offset,
		.is_late_start = stats->has_gone_on,
		.first_second = frame->second,
		.first_epoch = frame->epoch,
	};
	return stream;
}

/* ---- faults -------------------------------------------------------------------------------------- */

/* Reports have integers of 63 bits, and a hostile file's counts are anything. */
static uint64_t add_capped(uint64_t a, uint64_t b)
{
	return a > INT64_MAX || b > INT64_MAX - a ? INT64_MAX : a + b;
}

static struct format_fault *keep_fault(struct format_stats *stats, enum format_fault_kind kind,
				       uint64_t offset, uint64_t count)
{
	struct format_fault *fault;

	if (stats->fault_count == FORMAT_FAULTS_MAX)
		return NULL;
	fault = &stats->faults[stats->fault_count++];
	*fault = (struct format_fault){ .kind = kind, .offset = offset, .count = count };
	return fault;
}

void format_stats_fault(struct format_stats *stats, enum format_fault_kind kind, uint64_t offset,
			uint64_t count)
{
	stats->count[kind] = add_capped(stats->count[kind], count);
	keep_fault(stats, kind, offset, add_capped(count, 0));
}

static void stream_fault(struct format_stats *stats, const struct format_stream *stream,
			 enum format_fault_kind kind, uint64_t offset,
			 const struct succession_loss *loss)
{
	struct format_fault *fault = keep_fault(stats, kind, offset, 1);

	if (!fault)
		return;
	fault->has_stream = true;
	fault->station = stream->station;
	fault->thread = stream->thread;
	if (loss)
		fault->loss = *loss;
}

static void count_fault(struct format_stats *stats, const struct format_stream *stream,
			enum format_fault_kind kind, uint64_t offset)
{
	stats->count[kind]++;
	stream_fault(stats, stream, kind, offset, NULL);
}

/* What is missing is counted in the end, when the rate is known; where nothing seems to be, no place is kept. */
static void note_step(struct format_stats *stats, const struct format_stream *stream,
		      enum succession_step step, const struct succession_loss *loss, uint32_t rate,
		      uint64_t offset)
{
	if (succession_lost(loss, rate) > 0)
		stream_fault(stats, stream, FORMAT_MISSING, offset, loss);
	if (step == SUCCESSION_DUPLICATE)
		count_fault(stats, stream, FORMAT_DUPLICATE, offset);
	else if (step == SUCCESSION_LATE)
		count_fault(stats, stream, FORMAT_LATE, offset);
	else if (step == SUCCESSION_BACK)
		count_fault(stats, stream, FORMAT_BACK, offset);
}

/* ---- frames -------------------------------------------------------------------------------------- */

/* A Mark5B frame's number has 15 bits: within a second it may begin again at 0. */
static uint32_t unwrap(const struct format_stats *stats, const struct format_stream *stream,
		       const struct format_frame *frame)
{
	bool is_wrapped = stats->layout.format == FORMAT_MARK5B &&
			  frame->interval == stream->newest.interval &&
			  frame->number + MARK5B_FRAMES_MAX / 2 < stream->newest.number;

	return frame->number + (is_wrapped ? MARK5B_FRAMES_MAX : 0);
}

/* The number is the fraction of the second times the rate; the fraction is cut to 0.1 ms. */
static void narrow_rate(struct format_stats *stats, const struct format_frame *frame, uint32_t number)
{
	uint32_t above, most;

	if (stats->layout.format != FORMAT_MARK5B || frame->fraction == 0 || number == 0)
		return;
	above = (uint32_t)(number * FRACTIONS_A_SECOND / (frame->fraction + 1U));
	most = (uint32_t)(number * FRACTIONS_A_SECOND / frame->fraction);
	if (above > stats->rate_above)
		stats->rate_above = above;
	if (most < stats->rate_most)
		stats->rate_most = most;
}

static uint32_t rate_of_fractions(const struct format_stats *stats)
{
	uint64_t rate = MARK5B_RATE_FIRST;

	if (stats->rate_above == 0)
		return 0;
	while (rate <= stats->rate_above)
		rate *= 2;
	return rate <= stats->rate_most ? (uint32_t)rate : 0;
}

/* The best word on the rate so far, and never less than the numbers that came. */
static uint32_t rate_so_far(const struct format_stats *stats)
{
	uint32_t rate = stats->rate ? stats->rate : stats->counted_rate;

	return rate > stats->highest_number ? rate : stats->highest_number + 1;
}

/* Frames that are believed: the highest number before a new interval tells the rate. */
static void follow(struct format_stats *stats, struct format_stream *stream, uint64_t interval,
		   uint32_t number, uint64_t offset)
{
	if (interval == stream->newest.interval + 1 && number == 0 &&
	    stream->newest.number >= stats->counted_rate)
		stats->counted_rate = stream->newest.number + 1;
	if (number > stats->highest_number)
		stats->highest_number = number;
	if (!is_before(&stream->newest, &(struct format_instant){ interval, number }))
		return;
	stream->newest = (struct format_instant){ interval, number };
	stream->previous_offset = stream->newest_offset;
	stream->newest_offset = offset;
	stats->has_gone_on = true;
}

/* Threads come one beside the other, a frame apart at most. */
static void compare_threads(struct format_stats *stats, const struct format_stream *stream,
			    uint64_t interval, uint32_t number, uint64_t offset)
{
	uint64_t ahead = stats->newest.interval - interval;

	if (stats->newest.interval < interval || (ahead == 0 && stats->newest.number <= number)) {
		stats->newest.interval = interval;
		stats->newest.number = number;
		return;
	}
	if (stream->newest.interval != interval || stream->newest.number != number)
		return; /* not even the newest of its thread: that is told */
	if (ahead > 1 || ahead * rate_so_far(stats) + stats->newest.number > (uint64_t)number + 1)
		count_fault(stats, stream, FORMAT_DISORDER, offset);
}

static void take_time(struct format_stats *stats, struct format_stream *stream,
		      const struct format_frame *frame, uint64_t offset)
{
	uint32_t number = unwrap(stats, stream, frame), rate;
	struct succession_loss loss;
	enum succession_step step;

	if (stream->order.frame_count == 0)
		follow(stats, stream, frame->interval, number, offset);
	rate = rate_so_far(stats);
	step = succession_take(&stream->order, frame->interval, number, rate, &loss);
	if (step == SUCCESSION_FAR)
		return;
	if (step == SUCCESSION_BACK) {
		stream->newest.interval = frame->interval;
		stream->newest.number = number;
	}
	follow(stats, stream, frame->interval, number, offset);
	narrow_rate(stats, frame, number);
	note_step(stats, stream, step, &loss, rate_so_far(stats), offset);
	compare_threads(stats, stream, frame->interval, number, offset);
}

static void take_packets(struct format_stats *stats, const struct format_frame *frame, uint64_t offset)
{
	for (int i = 0; i < stats->layout.number_count; i++) {
		uint64_t number = frame->packet_number[i];
		struct succession_loss loss;
		uint64_t lost;

		succession_take(&stats->packets, number >> PACKET_BITS,
				(uint32_t)number & ((UINT32_C(1) << PACKET_BITS) - 1),
				UINT32_C(1) << PACKET_BITS, &loss);
		lost = succession_lost(&loss, UINT32_C(1) << PACKET_BITS);
		if (lost)
			keep_fault(stats, FORMAT_PACKETS, offset, lost);
	}
}

void format_stats_take(struct format_stats *stats, const struct format_frame *frame, uint64_t offset)
{
	struct format_stream *stream = find_stream(stats, frame, offset);

	if (!stats->has_first && frame->is_ordered) {
		stats->first = *frame;
		stats->has_first = true;
	}
	stats->frame_count++;
	stats->invalid_count += frame->is_invalid;
	stats->fill_count += frame->is_fill;
	stats->bad_track_count += frame->bad_tracks;
	if (frame->is_crc_wrong)
		format_stats_fault(stats, FORMAT_CRC, offset, 1);
	take_packets(stats, frame, offset);
	if (!stream) {
		stats->untracked_count++;
		return;
	}
	stream->invalid_count += frame->is_invalid;
	stream->fill_count += frame->is_fill;
	if (frame->is_ordered)
		take_time(stats, stream, frame, offset);
}

/* ---- the end -------------------------------------------------------------------------------------- */

int64_t format_utc_ns(const struct format_layout *layout, uint64_t interval, uint32_t number,
		      uint32_t rate)
{
	__int128 ns = ((__int128)interval * layout->interval_s + layout->base_utc_s) * UNITS_NS_PER_S;

	if (rate)
		ns += (__int128)number * layout->interval_s * UNITS_NS_PER_S / rate;
	return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

static void settle_rate(struct format_stats *stats)
{
	if (stats->rate == 0) {
		stats->rate = rate_of_fractions(stats);
		stats->rate_source = stats->rate ? FORMAT_RATE_HEADER : FORMAT_RATE_UNKNOWN;
	}
	if (stats->rate == 0) {
		stats->rate = stats->counted_rate;
		stats->rate_source = stats->rate ? FORMAT_RATE_COUNTED : FORMAT_RATE_UNKNOWN;
	}
}

/* @to - @from in frames; what is less than 0 or too much to believe is 0. */
static uint64_t frames_between(const struct format_instant *from, const struct format_instant *to,
			       uint32_t rate, uint64_t most)
{
	__int128 frames = ((__int128)to->interval - from->interval) * rate + to->number - from->number;

	return frames < 0 || frames > (__int128)most ? 0 : (uint64_t)frames;
}

/* One wrong bit makes a frame one of a thread that isn't there; in a very short stream nothing tells. */
static bool is_thread(const struct format_stats *stats, const struct format_stream *stream)
{
	return stream->order.frame_count >= THREAD_FRAMES_MIN || stats->longest_count < SHORT_FRAMES;
}

static void find_longest(struct format_stats *stats)
{
	for (size_t i = 0; i < stats->stream_count; i++)
		if (stats->streams[i].order.frame_count > stats->longest_count)
			stats->longest_count = stats->streams[i].order.frame_count;
}

/* The begin of the first of all threads, and the newest frame's time. */
static void find_span(const struct format_stats *stats, struct format_instant *begin,
		      struct format_instant *end)
{
	*begin = (struct format_instant){ UINT64_MAX, UINT32_MAX };
	*end = (struct format_instant){ 0, 0 };
	for (size_t i = 0; i < stats->stream_count; i++) {
		const struct format_stream *stream = &stats->streams[i];

		if (!is_thread(stats, stream))
			continue;
		if (is_before(&stream->first, begin))
			*begin = stream->first;
		if (is_before(end, &stream->newest))
			*end = stream->newest;
	}
}

/* Did a thread that came after this one in the round before the last one come in the last one, too? */
static bool was_overtaken(const struct format_stats *stats, const struct format_stream *stream,
			  const struct format_instant *end)
{
	for (size_t i = 0; i < stats->stream_count; i++) {
		const struct format_stream *other = &stats->streams[i];

		if (!is_before(&other->newest, end) && other->order.frame_count > 1 &&
		    other->previous_offset > stream->newest_offset)
			return true;
	}
	return false;
}

/*
 * A thread that begins later than the others, or ends earlier, lacks frames there. One may be none: a stream can
 * begin and end between the threads; the order in which they come tells. More than the longest thread has is no
 * loss: its clock is another one.
 */
static void settle_ends(struct format_stats *stats, uint32_t rate)
{
	struct format_instant begin, end;

	find_span(stats, &begin, &end);
	for (size_t i = 0; i < stats->stream_count; i++) {
		struct format_stream *stream = &stats->streams[i];
		uint64_t before = frames_between(&begin, &stream->first, rate, stats->longest_count);
		uint64_t behind = frames_between(&stream->newest, &end, rate, stats->longest_count);

		if (!is_thread(stats, stream))
			continue;
		if (before > 1 || (before == 1 && stream->is_late_start))
			stream->missing_count = add_capped(stream->missing_count, before);
		if (behind > 1 || (behind == 1 && was_overtaken(stats, stream, &end)))
			stream->missing_count = add_capped(stream->missing_count, behind);
	}
}

static void settle_missing(struct format_stats *stats, uint32_t rate)
{
	for (size_t i = 0; i < stats->stream_count; i++) {
		struct format_stream *stream = &stats->streams[i];

		succession_end(&stream->order);
		stream->missing_count = succession_missing(&stream->order, rate);
		stats->stray_count += stream->order.stray_count;
	}
	find_longest(stats);
	settle_ends(stats, rate);
	for (size_t i = 0; i < stats->stream_count; i++)
		stats->count[FORMAT_MISSING] =
			add_capped(stats->count[FORMAT_MISSING], stats->streams[i].missing_count);
	for (size_t i = 0; i < stats->fault_count; i++)
		if (stats->faults[i].kind == FORMAT_MISSING)
			stats->faults[i].count = succession_lost(&stats->faults[i].loss, rate);
	succession_end(&stats->packets);
	stats->count[FORMAT_PACKETS] = succession_missing(&stats->packets, UINT32_C(1) << PACKET_BITS);
}

/* That the rate counts for; in a very short stream all. */
static int count_threads(const struct format_stats *stats)
{
	int count = 0;

	for (size_t i = 0; i < stats->stream_count; i++)
		count += is_thread(stats, &stats->streams[i]);
	return count ? count : (int)stats->stream_count;
}

/* By its bytes the stream is as long as its strides, shared by the threads, at their rate. */
static int64_t length_of_bytes(const struct format_stats *stats)
{
	uint64_t bytes = stats->scanned_bytes - stats->leading_bytes - stats->trailing_bytes;
	__int128 ns = (__int128)bytes * stats->layout.interval_s * UNITS_NS_PER_S;
	__int128 interval_bytes =
		(__int128)stats->layout.stride_bytes * stats->rate * count_threads(stats);

	if (interval_bytes == 0)
		return 0;
	ns /= interval_bytes;
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

void format_stats_end(struct format_stats *stats)
{
	const struct format_layout *layout = &stats->layout;
	unsigned __int128 bps;

	if (!stats->has_first)
		return;
	settle_rate(stats);
	settle_missing(stats, rate_so_far(stats));
	stats->start_utc_ns =
		format_utc_ns(layout, stats->first.interval, stats->first.number, stats->rate);
	stats->end_utc_ns =
		format_utc_ns(layout, stats->newest.interval, stats->newest.number + 1, stats->rate);
	if (stats->rate == 0)
		return;
	stats->length_ns = stats->end_utc_ns - stats->start_utc_ns;
	stats->bytes_length_ns = length_of_bytes(stats);
	bps = (unsigned __int128)layout->payload_bytes * 8 * stats->rate *
	      (unsigned int)count_threads(stats) / layout->interval_s;
	stats->payload_bps = bps > INT64_MAX ? INT64_MAX : (uint64_t)bps;
}

bool format_stats_are_good(const struct format_stats *stats, bool is_cut_fine)
{
	bool is_cut = stats->leading_bytes > 0 || stats->trailing_bytes > 0;

	if (stats->layout.format == FORMAT_MARK4 || stats->layout.format == FORMAT_VLBA)
		is_cut_fine = true;
	for (int kind = 0; kind < FORMAT_FAULT_KINDS; kind++)
		if (stats->count[kind])
			return false;
	return stats->invalid_count + stats->fill_count + stats->stray_count + stats->untracked_count ==
		       0 &&
	       stats->packets.duplicate_count + stats->packets.late_count +
			       stats->packets.back_count + stats->packets.stray_count ==
		       0 &&
	       (is_cut_fine || !is_cut);
}
