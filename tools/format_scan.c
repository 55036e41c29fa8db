/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/format_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bytes.h"
#include "tools/format_sim.h"

#define ROOM_BYTES ((size_t)1 << 20)
#define BUFFER_BYTES (FORMAT_WINDOW_BYTES + ROOM_BYTES)
#define FILL_LOOK_BYTES 16 /* of a header that are fill when a frame was overwritten */

/*
 * The buffer holds the stream from @base on. Of what was walked only the bytes from the next stride on stay:
 * less than a stride and a header.
 */
struct format_scan {
	struct format_scan_config config;
	struct format_stats *stats;
	unsigned char *buffer;
	size_t len;
	uint64_t base;
	bool has_bytes;   /* base is set */
	bool is_detected; /* or is known to be unknown */
	uint64_t next;    /* where a stride is expected, or the search goes on */
	bool is_lost;
	uint64_t lost_from;
	/* the frame before @next, not counted before its last byte was there */
	bool has_pending;
	bool is_pending_damaged;
	struct format_frame pending;
	uint64_t pending_offset;
};

int format_scan_create(struct format_scan **out, const struct format_scan_config *config)
{
	struct format_scan *scan = calloc(1, sizeof(*scan));

	*out = NULL;
	if (!scan)
		return -ENOMEM;
	scan->config = *config;
	scan->buffer = malloc(BUFFER_BYTES);
	if (!scan->buffer || format_stats_create(&scan->stats) < 0) {
		format_scan_free(scan);
		return -ENOMEM;
	}
	*out = scan;
	return 0;
}

void format_scan_free(struct format_scan *scan)
{
	if (!scan)
		return;
	format_stats_free(scan->stats);
	free(scan->buffer);
	free(scan);
}

/* ---- walking ------------------------------------------------------------------------------------- */

static const struct format_layout *layout_of(const struct format_scan *scan)
{
	return &scan->stats->layout;
}

static uint64_t end_of(const struct format_scan *scan)
{
	return scan->base + scan->len;
}

/* A stride's header at @offset; NULL: not all of it is in the buffer. */
static const unsigned char *header_at(const struct format_scan *scan, uint64_t offset)
{
	if (offset < scan->base || offset > end_of(scan) ||
	    end_of(scan) - offset < layout_of(scan)->need_bytes)
		return NULL;
	return scan->buffer + (offset - scan->base);
}

static void settle_pending(struct format_scan *scan)
{
	if (!scan->has_pending || end_of(scan) < scan->next)
		return;
	if (scan->is_pending_damaged)
		format_stats_fault(scan->stats, FORMAT_DAMAGED, scan->pending_offset, 1);
	else
		format_stats_take(scan->stats, &scan->pending, scan->pending_offset);
	scan->has_pending = false;
}

/* There is a stride at @next; its header may be damaged all the same. */
static void take(struct format_scan *scan, const unsigned char *header)
{
	scan->is_pending_damaged = !format_read_frame(layout_of(scan), header, &scan->pending);
	scan->has_pending = true;
	scan->pending_offset = scan->next;
	scan->next += layout_of(scan)->stride_bytes;
}

/*
 * Is a stride at the place of the search? One that can be read, and behind it another one or the end.
 * Return: 1; 0; -EAGAIN: bytes that follow must tell.
 */
static int is_found(const struct format_scan *scan, const unsigned char *header, bool is_last)
{
	uint64_t after = scan->next + layout_of(scan)->stride_bytes;
	const unsigned char *next_header = header_at(scan, after);
	struct format_frame frame;

	if (!format_is_alike(layout_of(scan), header) ||
	    !format_read_frame(layout_of(scan), header, &frame))
		return 0;
	if (next_header)
		return format_is_alike(layout_of(scan), next_header);
	return is_last ? after <= end_of(scan) : -EAGAIN;
}

/* Return: true: it goes on at @next; false: more bytes must come. */
static bool search(struct format_scan *scan, bool is_last)
{
	const unsigned char *header;

	while ((header = header_at(scan, scan->next))) {
		int ret = is_found(scan, header, is_last);

		if (ret < 0)
			return false;
		if (ret == 1) {
			format_stats_fault(scan->stats, FORMAT_SKIPPED, scan->lost_from,
					   scan->next - scan->lost_from);
			scan->is_lost = false;
			return true;
		}
		scan->next++;
	}
	return false;
}

/*
 * At @next is no stride: is it only one that was damaged or overwritten, with another one behind it, or are
 * the frames somewhere else? Return: false: more bytes must come.
 */
static bool miss(struct format_scan *scan, const unsigned char *header, bool is_last)
{
	uint64_t after = scan->next + layout_of(scan)->stride_bytes;
	const unsigned char *next_header = header_at(scan, after);
	bool is_fill = bytes_are_fill(header + layout_of(scan)->prefix_bytes, FILL_LOOK_BYTES);

	if (!next_header && !is_last)
		return false;
	if (is_fill && after <= end_of(scan)) {
		format_stats_fault(scan->stats, FORMAT_OVERWRITTEN, scan->next, 1);
		scan->next = after;
	} else if (next_header && format_is_alike(layout_of(scan), next_header)) {
		format_stats_fault(scan->stats, FORMAT_DAMAGED, scan->next, 1);
		scan->next = after;
	} else {
		scan->is_lost = true;
		scan->lost_from = scan->next;
	}
	return true;
}

static void walk_frames(struct format_scan *scan, bool is_last)
{
	const unsigned char *header;
	bool goes_on = true;

	settle_pending(scan);
	while (goes_on && (header = header_at(scan, scan->next))) {
		settle_pending(scan);
		if (scan->is_lost)
			goes_on = search(scan, is_last);
		else if (format_is_alike(layout_of(scan), header))
			take(scan, header);
		else
			goes_on = miss(scan, header, is_last);
	}
	settle_pending(scan);
}

static void walk(struct format_scan *scan, bool is_last)
{
	if (layout_of(scan)->format == FORMAT_SIM)
		scan->next += format_sim_walk(scan->stats, scan->buffer + (scan->next - scan->base),
					      end_of(scan) - scan->next, scan->next, is_last);
	else if (layout_of(scan)->format != FORMAT_UNKNOWN)
		walk_frames(scan, is_last);
}

static void detect(struct format_scan *scan, bool is_whole)
{
	struct format_layout layout;
	size_t at =
		format_detect(scan->buffer, scan->len, is_whole, scan->config.not_after_s, &layout);

	format_stats_begin(scan->stats, &layout, scan->config.rate);
	scan->is_detected = true;
	scan->next = scan->base + at;
	scan->stats->leading_bytes = at;
}

/* ---- bytes come ---------------------------------------------------------------------------------- */

/* Nothing follows the bytes in the buffer: the end, or a gap. */
static void end_stretch(struct format_scan *scan)
{
	if (!scan->is_detected)
		detect(scan, true);
	walk(scan, true);
}

/* Behind a gap, where frames are expected as if it were none. */
static void jump(struct format_scan *scan, uint64_t offset)
{
	uint32_t stride;

	end_stretch(scan);
	stride = layout_of(scan)->stride_bytes;
	if (layout_of(scan)->format == FORMAT_UNKNOWN) {
		/* too little to tell: what follows may do */
		scan->is_detected = false;
		scan->next = offset;
	} else if (layout_of(scan)->format == FORMAT_SIM) {
		scan->stats->layout.sim_offset += offset - scan->next;
		scan->next = offset;
	} else {
		if (scan->is_lost)
			format_stats_fault(scan->stats, FORMAT_SKIPPED, scan->lost_from,
					   end_of(scan) - scan->lost_from);
		else if (end_of(scan) != scan->next)
			format_stats_fault(scan->stats, FORMAT_TORN, end_of(scan), 1);
		scan->is_lost = false;
		if (scan->next < offset)
			scan->next += (offset - scan->next + stride - 1) / stride * stride;
	}
	scan->has_pending = false;
	scan->base = offset;
	scan->len = 0;
}

void *format_scan_room(struct format_scan *scan, size_t *len)
{
	size_t done = 0;

	if (scan->is_detected)
		done = scan->next < end_of(scan) ? (size_t)(scan->next - scan->base) : scan->len;
	if (BUFFER_BYTES - scan->len < ROOM_BYTES || done == scan->len || done > ROOM_BYTES / 2) {
		memmove(scan->buffer, scan->buffer + done, scan->len - done);
		scan->base += done;
		scan->len -= done;
	}
	*len = ROOM_BYTES;
	return scan->buffer + scan->len;
}

void format_scan_feed(struct format_scan *scan, uint64_t offset, size_t len)
{
	void *from = scan->buffer + scan->len;

	if (len == 0)
		return;
	if (!scan->has_bytes) {
		scan->base = offset;
		scan->next = offset;
		scan->has_bytes = true;
	} else if (offset != end_of(scan)) {
		jump(scan, offset);
		memmove(scan->buffer, from, len);
	}
	scan->len += len;
	scan->stats->scanned_bytes += len;
	if (!scan->is_detected && scan->len >= FORMAT_WINDOW_BYTES)
		detect(scan, false);
	if (scan->is_detected)
		walk(scan, false);
}

bool format_scan_wants_more(const struct format_scan *scan)
{
	return !scan->is_detected || layout_of(scan)->format != FORMAT_UNKNOWN;
}

/* What is behind the last whole frame begins here. */
static uint64_t begin_of_rest(const struct format_scan *scan)
{
	if (scan->is_lost)
		return scan->lost_from;
	return scan->has_pending ? scan->pending_offset : scan->next;
}

void format_scan_end(struct format_scan *scan)
{
	if (!scan->has_bytes)
		return;
	end_stretch(scan);
	if (layout_of(scan)->format == FORMAT_UNKNOWN)
		return;
	if (begin_of_rest(scan) < end_of(scan))
		scan->stats->trailing_bytes = end_of(scan) - begin_of_rest(scan);
	format_stats_end(scan->stats);
}

const struct format_stats *format_scan_stats(const struct format_scan *scan)
{
	return scan->stats;
}
