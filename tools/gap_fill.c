/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/gap_fill.h"

#include <errno.h>

#include "drivers/bytes.h"
#include "tools/read_at.h"
#include "tools/recording.h"

int gap_fill_init(struct gap_fill *fill, enum gather_fill kind)
{
	*fill = (struct gap_fill){ .vdif = NULL };
	return kind == GATHER_VDIF ? gather_vdif_create(&fill->vdif) : 0;
}

void gap_fill_end(struct gap_fill *fill)
{
	gather_vdif_free(fill->vdif);
	fill->vdif = NULL;
}

/* What comes behind a gap that ends there; the recording then goes on at its end. */
static void look_ahead(struct recording *recording, uint64_t from, uint64_t bytes,
		       struct gather_vdif_ahead *ahead)
{
	struct recording_piece piece = { .kind = RECORDING_GAP };

	*ahead = (struct gather_vdif_ahead){ 0 };
	if (!recording)
		return;
	recording_seek(recording, from + bytes);
	while (recording_next(recording, &piece) == 1 && piece.kind == RECORDING_GAP &&
	       piece.is_length_known)
		;
	if (piece.kind == RECORDING_DATA && piece.fd >= 0 && piece.bytes >= sizeof(ahead->header) &&
	    read_whole_at(piece.fd, ahead->header, sizeof(ahead->header), piece.file_offset) == 0) {
		ahead->is_known = true;
		ahead->distance_bytes = piece.stream_offset - from;
	}
	recording_seek(recording, from + bytes);
}

int gap_fill_begin(struct gap_fill *fill, struct recording *recording, uint64_t stream_offset,
		   uint64_t bytes, char *why)
{
	struct gather_vdif_ahead ahead;
	int ret;

	fill->has_frames = false;
	if (!fill->vdif || bytes == 0)
		return 0;
	look_ahead(recording, stream_offset, bytes, &ahead);
	ret = gather_vdif_begin(fill->vdif, bytes, &ahead, why);
	fill->has_frames = ret == 0;
	return ret == -EINVAL ? 1 : ret;
}

void gap_fill_put(struct gap_fill *fill, uint64_t stream_offset, void *to, size_t len)
{
	if (fill->has_frames) {
		gather_vdif_fill(fill->vdif, to, len);
		return;
	}
	bytes_put_fill(to, len, stream_offset);
	if (fill->vdif)
		gather_vdif_pass_pattern(fill->vdif, to, len);
}
