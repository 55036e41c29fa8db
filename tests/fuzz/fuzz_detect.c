/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Headers of frames (drivers/vdif.h, mark5b.h, mark4.h, codif.h, vtp.h) in any bytes, and the format of any bytes
 * (tools/format.h).
 */
#include "tests/fuzz/input.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/bytes.h"
#include "drivers/vtp.h"
#include "tools/format.h"

#define FRAMES_MAX 64 /* read where they should be */

static void read_vdif(const unsigned char *data, size_t len)
{
	struct vdif_header header;
	char name[VDIF_STATION_LEN];
	bool is_frame;

	if (len < VDIF_HEADER_BYTES)
		return;
	is_frame = vdif_read(data, &header);
	input_expect(vdif_frame_bytes(data) == header.frame_bytes && vdif_is_alike(data, data));
	input_expect(!is_frame || header.frame_bytes >= header.header_bytes + 8);
	vdif_samples(&header);
	vdif_frame_rate(&header);
	input_expect(vdif_utc_s(&header) >= vdif_epoch_utc_s(header.epoch));
	if (is_frame && len >= vdif_fill_bytes(&header))
		vdif_is_fill(data, &header);
	vdif_edv_name(header.edv);
	input_expect(strlen(vdif_station_name(name, header.station)) < sizeof(name));
}

static void read_codif(const unsigned char *data, size_t len)
{
	struct codif_header header;

	if (len < CODIF_HEADER_BYTES || !codif_read(data, &header))
		return;
	input_expect(codif_is_alike(data, data) && header.period_s > 0);
	codif_frames_a_period(&header);
}

static void read_mark5b(const unsigned char *data, size_t len)
{
	struct mark5b_header header;

	if (len < MARK5B_HEADER_BYTES || !mark5b_read(data, &header))
		return;
	input_expect(mark5b_is_sync(data) && header.time.day < 1000 && header.time.second <= 86400);
	input_expect(vlba_fraction_ns(&header.time, 156250) < 1000000000);
	if (len >= MARK5B_HEADER_BYTES + 4)
		mark5b_is_fill(data);
}

static void read_tracks(const unsigned char *data, size_t len)
{
	struct mark4_header header;

	for (int is_vlba = 0; is_vlba < 2; is_vlba++)
		for (int tracks = 8; tracks <= MARK4_TRACKS_MAX; tracks *= 2) {
			size_t bits = is_vlba ? VLBA_HEADER_BITS : MARK4_HEADER_BITS;

			if (len < bits / 8 * (size_t)tracks ||
			    !mark4_read(data, tracks, is_vlba, &header))
				continue;
			input_expect(mark4_has_sync(data, tracks, is_vlba) && header.second <= 86400 &&
				     header.ns < 1000000000 && header.bad_tracks < (uint32_t)tracks);
			mark4_utc_s(&header, mark4_year_near(header.year, 2026));
		}
}

static void read_header(const void *data, size_t len)
{
	unsigned char *copy = input_copy(data, len);

	read_vdif(copy, len);
	read_codif(copy, len);
	read_mark5b(copy, len);
	read_tracks(copy, len);
	if (len >= VTP_BYTES)
		vtp_number(copy);
	if (len >= 4)
		bytes_are_fill(copy, len);
	free(copy);
}

static void detect(const unsigned char *data, size_t len, bool is_whole, int64_t not_after_s)
{
	struct format_layout layout;
	size_t at = format_detect(data, len, is_whole, not_after_s, &layout);

	input_expect(strlen(format_name(layout.format)) > 0);
	if (layout.format == FORMAT_UNKNOWN || layout.format == FORMAT_SIM)
		return;
	input_expect(layout.stride_bytes >= layout.frame_bytes + layout.prefix_bytes);
	input_expect(layout.interval_s > 0);
	input_expect(at <= len && len - at >= layout.need_bytes);
	input_expect(format_is_alike(&layout, data + at));
	for (int i = 0; i < FRAMES_MAX && len - at >= layout.need_bytes; i++) {
		struct format_frame frame;

		if (format_is_alike(&layout, data + at))
			format_read_frame(&layout, data + at, &frame);
		if (len - at < layout.stride_bytes)
			break;
		at += layout.stride_bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	bool is_whole;
	unsigned char *copy;

	read_header(data, len);
	is_whole = !(input_take_number(&input, 1) & 1);
	copy = input_copy(input.data, input.len);
	detect(copy, input.len, is_whole, INT64_C(1780000000));
	free(copy);
	return 0;
}
