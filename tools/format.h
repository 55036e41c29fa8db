/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.h - the formats of data: how frames lie in the bytes of a stream, and what one says
 *
 *   format_detect() -> format_is_alike(), format_read_frame() at each place where a frame should begin
 *
 * A frame lies in a stride: what a packet has in front of it (a number of 8 bytes, if that was recorded),
 * and the frame. All frames of a stream have the same stride.
 *
 * Threads: pure functions.
 */
#ifndef VSIB_TOOLS_FORMAT_H
#define VSIB_TOOLS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/codif.h"
#include "drivers/mark4.h"
#include "drivers/mark5b.h"
#include "drivers/vdif.h"

enum format {
	FORMAT_UNKNOWN,
	FORMAT_VDIF,
	FORMAT_MARK5B,
	FORMAT_MARK4,
	FORMAT_VLBA,
	FORMAT_CODIF,
	FORMAT_SIM, /* the simulator's pattern: no frames (tools/format_sim.h) */
};
#define FORMAT_COUNT 7

#define FORMAT_FRAME_BYTES_MAX ((uint32_t)1 << 20) /* longer ones are not looked for */
#define FORMAT_WINDOW_BYTES ((size_t)4 << 20)      /* what format_detect() wants to see */

/* How the frames of a stream lie, and what they have in common. */
struct format_layout {
	enum format format;
	uint32_t stride_bytes;
	uint32_t frame_bytes;
	uint32_t payload_bytes;
	uint32_t prefix_bytes; /* in front of a frame */
	int number_count; /* packet numbers in a stride: 0; 1; 2 where a frame came in two halves */
	uint32_t need_bytes; /* at the begin of a stride, for format_read_frame() */
	int track_count;     /* Mark4, VLBA */
	uint32_t step_ns;    /* from frame to frame, Mark4 and VLBA; 0 = unknown */
	uint32_t rate;       /* frames an interval of each thread, as headers tell; 0 = unknown */
	uint32_t interval_s;
	int64_t base_utc_s; /* of interval 0, in seconds since 1970 */
	uint64_t phase_s;   /* CODIF: what makes seconds whole intervals */
	int64_t near;  /* Mark4: the year, VLBA and Mark5B: the day since 1970 of the first frame */
	uint64_t seed; /* FORMAT_SIM */
	uint64_t sim_offset;
	/* the first frame's */
	unsigned char header[CODIF_HEADER_BYTES];
	struct vdif_header vdif;
	struct codif_header codif;
	struct mark5b_header mark5b;
};

struct format_frame {
	uint16_t station, thread, group, secondary;
	uint64_t interval; /* a second, mostly; CODIF: a period */
	uint32_t number;   /* in the interval */
	bool is_ordered;   /* interval and number can be relied on */
	bool is_invalid;   /* the header says so */
	bool is_fill;
	bool is_crc_wrong;
	uint32_t bad_tracks; /* Mark4, VLBA: of them with a wrong CRC */
	uint32_t second;     /* as it stands in the header, since the epoch */
	uint8_t epoch;       /* VDIF, CODIF */
	uint16_t fraction;   /* Mark5B, in 0.1 ms */
	uint64_t packet_number[2];
};

/**
 * format_detect() - which format is it, and where does the first frame begin?
 * @data:        the begin of a stream
 * @len:         FORMAT_WINDOW_BYTES, or all of it
 * @is_whole:    it is all
 * @not_after_s: Mark4, VLBA and Mark5B don't say the whole date: the latest that is not after this moment is
 *               meant, in seconds since 1970
 * @layout:      format FORMAT_UNKNOWN: nothing was found
 *
 * Return: offset of the first stride.
 */
size_t format_detect(const unsigned char *data, size_t len, bool is_whole, int64_t not_after_s,
		     struct format_layout *layout);

/** format_is_alike() - can a stride begin here? @data: need_bytes. Cheap: for searching. */
bool format_is_alike(const struct format_layout *layout, const unsigned char *data);

/** format_read_frame() - @data: need_bytes. Return: false: the header is damaged. */
bool format_read_frame(const struct format_layout *layout, const unsigned char *data,
		       struct format_frame *frame);

/** format_name() - "vdif", "mark5b", "mark4", "vlba", "codif", "sim", "unknown" */
const char *format_name(enum format format);

#endif
