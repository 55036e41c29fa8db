/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/format.h"

#include <string.h>

#include "drivers/bytes.h"
#include "drivers/vtp.h"

#define SECONDS_A_DAY 86400
#define PACKET_NUMBER_MASK (UINT64_MAX >> 1) /* the highest bit: not meant to be recorded */

static bool is_vlba(const struct format_layout *layout)
{
	return layout->format == FORMAT_VLBA;
}

bool format_is_alike(const struct format_layout *layout, const unsigned char *data)
{
	const unsigned char *header = data + layout->prefix_bytes;

	switch (layout->format) {
	case FORMAT_VDIF:
		return vdif_is_alike(header, layout->header);
	case FORMAT_CODIF:
		return codif_is_alike(header, layout->header);
	case FORMAT_MARK5B:
		return mark5b_is_sync(header);
	case FORMAT_MARK4:
	case FORMAT_VLBA:
		return mark4_has_sync(header, layout->track_count, is_vlba(layout));
	default:
		return false;
	}
}

static bool read_vdif(const unsigned char *header, struct format_frame *frame)
{
	struct vdif_header vdif;

	if (!vdif_read(header, &vdif))
		return false;
	frame->station = vdif.station;
	frame->thread = vdif.thread;
	frame->interval = (uint64_t)vdif_utc_s(&vdif);
	frame->number = vdif.frame;
	frame->is_invalid = vdif.is_invalid;
	frame->is_fill = vdif_is_fill(header, &vdif);
	frame->second = vdif.second;
	frame->epoch = vdif.epoch;
	return true;
}

static bool read_codif(const struct format_layout *layout, const unsigned char *header,
		       struct format_frame *frame)
{
	struct codif_header codif;

	if (!codif_read(header, &codif))
		return false;
	frame->station = codif.station;
	frame->thread = codif.thread;
	frame->group = codif.group;
	frame->secondary = codif.secondary;
	frame->interval = (codif.second + layout->phase_s) / layout->interval_s;
	frame->number = codif.frame;
	frame->is_ordered = codif.frame < UINT32_MAX; /* so that there is always a number behind it */
	frame->is_invalid = codif.is_invalid;
	frame->is_fill = bytes_le32(header + CODIF_HEADER_BYTES) == BYTES_FILL_WORD;
	frame->second = codif.second;
	frame->epoch = codif.epoch;
	return true;
}

static bool read_mark5b(const struct format_layout *layout, const unsigned char *header,
			struct format_frame *frame)
{
	struct mark5b_header mark5b;

	if (!mark5b_read(header, &mark5b))
		return false;
	frame->is_crc_wrong = mark5b.has_crc && !mark5b.is_crc_right;
	frame->interval = (uint64_t)vlba_day_near(mark5b.time.day, layout->near) * SECONDS_A_DAY +
			  mark5b.time.second;
	frame->number = mark5b.frame;
	frame->is_ordered = !frame->is_crc_wrong;
	frame->second = mark5b.time.second;
	frame->fraction = mark5b.time.fraction;
	frame->is_fill = mark5b_is_fill(header);
	return true;
}

static bool read_tracks(const struct format_layout *layout, const unsigned char *header,
			struct format_frame *frame)
{
	struct mark4_header mark4;

	if (!mark4_read(header, layout->track_count, is_vlba(layout), &mark4))
		return false;
	if (is_vlba(layout))
		frame->interval =
			(uint64_t)vlba_day_near(mark4.vlba.day, layout->near) * SECONDS_A_DAY +
			mark4.second;
	else
		frame->interval =
			(uint64_t)mark4_utc_s(&mark4, mark4_year_near(mark4.year, (int)layout->near));
	frame->bad_tracks = mark4.bad_tracks;
	frame->is_crc_wrong = mark4.bad_tracks > 0;
	frame->is_ordered = layout->step_ns > 0;
	frame->number = frame->is_ordered ? mark4.ns / layout->step_ns : 0;
	frame->second = mark4.second;
	return true;
}

bool format_read_frame(const struct format_layout *layout, const unsigned char *data,
		       struct format_frame *frame)
{
	const unsigned char *header = data + layout->prefix_bytes;

	memset(frame, 0, sizeof(*frame));
	frame->is_ordered = true;
	for (int i = 0; i < layout->number_count; i++)
		frame->packet_number[i] = vtp_number(data + (size_t)i * (layout->stride_bytes / 2)) &
					  PACKET_NUMBER_MASK;
	switch (layout->format) {
	case FORMAT_VDIF:
		return read_vdif(header, frame);
	case FORMAT_CODIF:
		return read_codif(layout, header, frame);
	case FORMAT_MARK5B:
		return read_mark5b(layout, header, frame);
	case FORMAT_MARK4:
	case FORMAT_VLBA:
		return read_tracks(layout, header, frame);
	default:
		return false;
	}
}

const char *format_name(enum format format)
{
	static const char *const names[FORMAT_COUNT] = { "unknown", "vdif",  "mark5b", "mark4",
							 "vlba",    "codif", "sim" };

	return names[format];
}
