/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format_detect.c - finds the format and the first frame
 *
 * First as if the stream began with a frame, then anywhere. A header that nothing marks (VDIF) is one if
 * others like it follow at the distance it says, and they are not all the same: bytes that repeat are no
 * headers. In mid-stream each must be the very next one in time, too: tables in other data have much that looks
 * like frames.
 */
#include <string.h>

#include "drivers/bytes.h"
#include "drivers/sim.h"
#include "drivers/vtp.h"
#include "tools/format.h"

#define CHAIN_AT_BEGIN 2 /* frames that are enough where the stream begins */
#define CHAIN_STEPS 4    /* of time that are enough elsewhere */
#define CHAIN_MAX 8192   /* frames of any threads to find them in */
/* frames of all chains that are tried: those of any honest stream are few */
#define CHAINS_MAX ((size_t)1 << 24)
#define MIDSTREAM_BYTES_MIN 256 /* of a frame that is not at the begin */
#define MIDSTREAM_BYTES_MAX 65536
#define TIMED_FRAMES_MAX 8   /* to find the step of Mark4 in */
#define NUMBER_STEP_MAX 1000 /* packets that may be missing between two with numbers */
#define SECONDS_A_DAY 86400
#define SIM_SEEDS 16 /* tried where the stream doesn't begin with word 0 */
#define SIM_LOOK_BYTES ((size_t)64)
#define SIM_WORD_MAX (UINT64_C(1) << 61)

struct window {
	const unsigned char *data;
	size_t len;
	bool is_whole;
	int64_t not_after_s;
	size_t *chains_left; /* of CHAINS_MAX */
};

/* Is there @bytes from @at on? */
static bool has(const struct window *window, size_t at, size_t bytes)
{
	return at <= window->len && window->len - at >= bytes;
}

/* ---- VDIF and CODIF: frames that say their length ---------------------------------------------- */

static bool begin_vdif(const unsigned char *header, uint32_t prefix_bytes, struct format_layout *layout)
{
	struct vdif_header *vdif = &layout->vdif;

	if (vdif_frame_bytes(header) > FORMAT_FRAME_BYTES_MAX || !vdif_read(header, vdif) ||
	    vdif_samples(vdif) == 0)
		return false;
	layout->format = FORMAT_VDIF;
	layout->frame_bytes = vdif->frame_bytes;
	layout->payload_bytes = vdif->frame_bytes - vdif->header_bytes;
	layout->need_bytes = prefix_bytes + vdif_fill_bytes(vdif);
	if (layout->need_bytes < prefix_bytes + VDIF_HEADER_BYTES)
		layout->need_bytes = prefix_bytes + VDIF_HEADER_BYTES;
	layout->rate = vdif_frame_rate(vdif);
	layout->interval_s = 1;
	memcpy(layout->header, header, VDIF_HEADER_BYTES);
	return true;
}

static bool begin_codif(const unsigned char *header, uint32_t prefix_bytes, struct format_layout *layout)
{
	struct codif_header *codif = &layout->codif;

	if (!codif_read(header, codif) || codif->frame_bytes > FORMAT_FRAME_BYTES_MAX)
		return false;
	layout->format = FORMAT_CODIF;
	layout->frame_bytes = (uint32_t)codif->frame_bytes;
	layout->payload_bytes = layout->frame_bytes - CODIF_HEADER_BYTES;
	layout->need_bytes = prefix_bytes + CODIF_HEADER_BYTES + 4;
	layout->rate = codif_frames_a_period(codif);
	layout->interval_s = codif->period_s;
	layout->phase_s = codif->period_s - codif->second % codif->period_s;
	layout->base_utc_s = vdif_epoch_utc_s(codif->epoch) - (int64_t)layout->phase_s;
	memcpy(layout->header, header, CODIF_HEADER_BYTES);
	return true;
}

/*
 * How many strides follow each other, at most CHAIN_AT_BEGIN; 0 if they are all the same. One that is all there
 * is counts.
 */
static int count_alike(const struct window *window, const struct format_layout *layout)
{
	const unsigned char *first = window->data + layout->prefix_bytes;
	bool moves = false;
	size_t at = 0;
	int count = 0;

	while (count < CHAIN_AT_BEGIN && has(window, at, layout->need_bytes) &&
	       format_is_alike(layout, window->data + at)) {
		moves |= memcmp(window->data + at + layout->prefix_bytes, first,
				VDIF_LEGACY_HEADER_BYTES) != 0;
		at += layout->stride_bytes;
		count++;
	}
	if (count == 1 && window->is_whole && at == window->len)
		return CHAIN_AT_BEGIN;
	return moves ? count : 0;
}

/* Return: 1: one frame later; 0: another thread's at the same time; -1: neither. */
static int compare_times(const struct format_frame *frame, const struct format_frame *next)
{
	if (next->interval == frame->interval && next->number == frame->number)
		return next->thread != frame->thread || next->station != frame->station ? 0 : -1;
	if (next->interval == frame->interval)
		return next->number == frame->number + 1 ? 1 : -1;
	return next->interval == frame->interval + 1 && next->number == 0 ? 1 : -1;
}

/* In mid-stream: do frames follow until time has gone on CHAIN_STEPS times, or once and the stream is at its end? */
static bool goes_on(const struct window *window, size_t at, const struct format_layout *layout)
{
	struct format_frame frame, next;
	int steps = 0;

	if (!has(window, at, layout->need_bytes) ||
	    !format_read_frame(layout, window->data + at, &frame) || frame.second == 0)
		return false;
	for (int count = 0; count < CHAIN_MAX && steps < CHAIN_STEPS; count++) {
		int step;

		if (*window->chains_left == 0)
			return false;
		--*window->chains_left;
		at += layout->stride_bytes;
		if (!has(window, at, layout->need_bytes))
			return window->is_whole && steps > 0;
		if (!format_is_alike(layout, window->data + at) ||
		    !format_read_frame(layout, window->data + at, &next))
			return false;
		step = compare_times(&frame, &next);
		if (step < 0)
			return false;
		steps += step;
		frame = next;
	}
	return steps == CHAIN_STEPS;
}

/* What VDIF without a sync word is in practice. */
static bool is_usual(const struct format_layout *layout)
{
	const struct vdif_header *vdif = &layout->vdif;

	return layout->format != FORMAT_VDIF ||
	       (vdif->version <= 1 && (vdif->bits & (vdif->bits - 1)) == 0 &&
		layout->frame_bytes >= MIDSTREAM_BYTES_MIN &&
		layout->frame_bytes <= MIDSTREAM_BYTES_MAX);
}

static void take_numbers(const struct window *window, size_t at, struct format_layout *layout)
{
	uint64_t step;

	if (layout->prefix_bytes == 0 || !has(window, at + layout->stride_bytes, VTP_BYTES))
		return;
	step = vtp_number(window->data + at + layout->stride_bytes) - vtp_number(window->data + at);
	layout->number_count = step > 0 && step <= NUMBER_STEP_MAX;
}

/* Most bytes are none: told before anything is written. */
static bool can_begin(const unsigned char *header)
{
	uint32_t bytes = vdif_frame_bytes(header);

	return (bytes >= VDIF_FRAME_BYTES_MIN && bytes <= FORMAT_FRAME_BYTES_MAX) ||
	       codif_is_alike(header, header);
}

/* Return: do frames with so much in front of them begin at @at? */
static bool try_length(const struct window *window, size_t at, uint32_t prefix_bytes,
		       struct format_layout *layout)
{
	const unsigned char *header = window->data + at + prefix_bytes;

	if (!has(window, at, prefix_bytes + CODIF_HEADER_BYTES + 4) || !can_begin(header))
		return false;
	*layout = (struct format_layout){ .prefix_bytes = prefix_bytes };
	if (!begin_codif(header, prefix_bytes, layout) && !begin_vdif(header, prefix_bytes, layout))
		return false;
	layout->stride_bytes = prefix_bytes + layout->frame_bytes;
	if (at == 0 ? count_alike(window, layout) < CHAIN_AT_BEGIN :
		      !is_usual(layout) || !goes_on(window, at, layout))
		return false;
	take_numbers(window, at, layout);
	return true;
}

static bool find_length(const struct window *window, size_t *at, struct format_layout *layout)
{
	for (*at = 1; *at < window->len; (*at)++)
		if (try_length(window, *at, 0, layout) || try_length(window, *at, VTP_BYTES, layout))
			return true;
	return false;
}

/* ---- Mark5B ------------------------------------------------------------------------------------ */

/*
 * Frames one behind the other, or in two halves with a number in front of each. Return: is the sync at @at
 * the begin of one of those?
 */
static bool try_mark5b(const struct window *window, size_t at, uint32_t prefix_bytes,
		       struct format_layout *layout)
{
	uint32_t stride = MARK5B_FRAME_BYTES + 2 * prefix_bytes;
	struct mark5b_header header, next;

	if (at < prefix_bytes || !has(window, at, MARK5B_HEADER_BYTES + 4) ||
	    !mark5b_read(window->data + at, &header))
		return false;
	if (has(window, at + stride, MARK5B_HEADER_BYTES)) {
		if (!mark5b_read(window->data + at + stride, &next))
			return false;
	} else if (!window->is_whole || !header.is_crc_right || prefix_bytes) {
		return false;
	}
	*layout = (struct format_layout){
		.format = FORMAT_MARK5B,
		.stride_bytes = stride,
		.frame_bytes = MARK5B_FRAME_BYTES,
		.payload_bytes = MARK5B_FRAME_BYTES - MARK5B_HEADER_BYTES,
		.prefix_bytes = prefix_bytes,
		.number_count = prefix_bytes ? 2 : 0,
		.need_bytes = prefix_bytes ? prefix_bytes + MARK5B_HALF_BYTES + VTP_BYTES :
					     MARK5B_HEADER_BYTES + 4,
		.interval_s = 1,
		.near = vlba_day_before(header.time.day, window->not_after_s),
		.mark5b = header,
	};
	return true;
}

static bool find_mark5b(const struct window *window, size_t *at, struct format_layout *layout)
{
	for (size_t sync = 0; has(window, sync, 4); sync++) {
		if (!mark5b_is_sync(window->data + sync))
			continue;
		if (try_mark5b(window, sync, 0, layout) || try_mark5b(window, sync, VTP_BYTES, layout)) {
			*at = sync - layout->prefix_bytes;
			return true;
		}
	}
	return false;
}

/* ---- Mark4 and VLBA: bits side by side ---------------------------------------------------------- */

static int64_t ns_between(const struct mark4_header *a, const struct mark4_header *b)
{
	int64_t seconds = (int64_t)b->second - a->second;

	if (seconds < 0)
		seconds += SECONDS_A_DAY;
	return seconds * 1000000000 + b->ns - a->ns;
}

/* The time from frame to frame, by the next one that can be read; it must divide a second. */
static uint32_t find_step(const struct window *window, size_t at,
			  const struct format_layout *layout, const struct mark4_header *first)
{
	struct mark4_header next;

	for (int i = 1; i < TIMED_FRAMES_MAX; i++) {
		size_t there = at + (size_t)i * layout->stride_bytes;
		int64_t step;

		if (!has(window, there, layout->need_bytes))
			break;
		if (!mark4_read(window->data + there, layout->track_count,
				layout->format == FORMAT_VLBA, &next))
			continue;
		step = ns_between(first, &next) / i;
		if (step > 0 && step <= 1000000000 && 1000000000 % step == 0)
			return (uint32_t)step;
	}
	return 0;
}

/*
 * Half of the tracks at least must have a right CRC, or else more tracks could pass for fewer. Where the
 * stream goes on, so must the headers.
 */
static bool try_tracks(const struct window *window, size_t at, int track_count, bool is_vlba,
		       struct format_layout *layout)
{
	uint32_t track_bytes = is_vlba ? VLBA_TRACK_BYTES : MARK4_TRACK_BYTES;
	uint32_t header_bits = is_vlba ? VLBA_HEADER_BITS : MARK4_HEADER_BITS;
	uint32_t frame_bytes = track_bytes * (uint32_t)track_count;
	uint32_t need = header_bits / 8 * (uint32_t)track_count;
	struct mark4_header header, next;

	if (!has(window, at, need) || !mark4_read(window->data + at, track_count, is_vlba, &header) ||
	    header.bad_tracks * 2 > (uint32_t)track_count)
		return false;
	if (has(window, at + frame_bytes, need)) {
		if (!mark4_read(window->data + at + frame_bytes, track_count, is_vlba, &next))
			return false;
	} else if (is_vlba && header.vlba.day == 0 && header.second == 0) {
		return false; /* ones and then zeros: that is in many files */
	}
	*layout = (struct format_layout){
		.format = is_vlba ? FORMAT_VLBA : FORMAT_MARK4,
		.stride_bytes = frame_bytes,
		.frame_bytes = frame_bytes,
		.payload_bytes = MARK4_TRACK_BYTES * (uint32_t)track_count,
		.need_bytes = need,
		.track_count = track_count,
		.interval_s = 1,
		.near = is_vlba ? vlba_day_before(header.vlba.day, window->not_after_s) :
				  mark4_year_before(header.year, header.day, window->not_after_s),
	};
	layout->step_ns = find_step(window, at, layout, &header);
	layout->rate = layout->step_ns ? 1000000000 / layout->step_ns : 0;
	return true;
}

/* A run of ones ends behind the sync, or with the first bit of the time behind it when that is a one, too. */
static bool try_run(const struct window *window, size_t end, size_t run, size_t *at,
		    struct format_layout *layout)
{
	for (int tracks = MARK4_TRACKS_MAX; tracks >= 8; tracks /= 2) {
		size_t bit = (size_t)tracks / 8, sync = bit * MARK4_SYNC_BITS;

		for (size_t behind = 0; behind <= bit && sync + behind <= run; behind += bit) {
			size_t begin = end - behind - sync, aux = 64 * bit;

			*at = begin;
			if (try_tracks(window, begin, tracks, true, layout))
				return true;
			if (begin < aux)
				continue;
			*at = begin - aux;
			if (try_tracks(window, begin - aux, tracks, false, layout))
				return true;
		}
	}
	return false;
}

static bool find_tracks(const struct window *window, size_t *at, struct format_layout *layout)
{
	size_t run = 0;

	for (size_t i = 0; i < window->len; i++) {
		if (window->data[i] == 0xff) {
			run++;
			continue;
		}
		if (run >= MARK4_SYNC_BITS && try_run(window, i, run, at, layout))
			return true;
		run = 0;
	}
	return false;
}

/* ---- the simulator ------------------------------------------------------------------------------ */

static bool try_sim(const struct window *window, size_t shift, uint64_t offset, uint64_t seed,
		    struct format_layout *layout)
{
	if (offset < shift ||
	    sim_verify(window->data + shift, SIM_LOOK_BYTES, offset, seed) != SIM_LOOK_BYTES)
		return false;
	*layout = (struct format_layout){
		.format = FORMAT_SIM,
		.seed = seed,
		.sim_offset = offset - shift,
	};
	return true;
}

/* With any seed if the stream begins as the simulator's does, else with one of the first seeds. */
static bool find_sim(const struct window *window, struct format_layout *layout)
{
	if (window->len < SIM_LOOK_BYTES + 8)
		return false;
	if (try_sim(window, 0, 0, sim_seed(bytes_le64(window->data)), layout))
		return true;
	for (size_t shift = 0; shift < 8; shift++) {
		uint64_t word = bytes_le64(window->data + shift);

		for (uint64_t seed = 0; seed < SIM_SEEDS; seed++) {
			uint64_t position = sim_position(word, seed);

			if (position < SIM_WORD_MAX &&
			    try_sim(window, shift, position * 8, seed, layout))
				return true;
		}
	}
	return false;
}

size_t format_detect(const unsigned char *data, size_t len, bool is_whole, int64_t not_after_s,
		     struct format_layout *layout)
{
	size_t at = 0, chains_left = CHAINS_MAX;
	const struct window window = { data, len, is_whole, not_after_s, &chains_left };

	if (try_length(&window, 0, 0, layout) || try_length(&window, 0, VTP_BYTES, layout))
		return 0;
	if (try_mark5b(&window, 0, 0, layout) || try_mark5b(&window, VTP_BYTES, VTP_BYTES, layout))
		return 0;
	if (find_sim(&window, layout))
		return 0;
	if (find_length(&window, &at, layout) || find_mark5b(&window, &at, layout) ||
	    find_tracks(&window, &at, layout))
		return at;
	*layout = (struct format_layout){ 0 };
	return 0;
}
