/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/vdif_fill.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bytes.h"
#include "drivers/vdif.h"

struct vdif_fill {
	unsigned char model[VDIF_HEADER_BYTES];
	struct vdif_place next; /* behind the one in frame */
	uint64_t rate;
	size_t frame_bytes, room;
	size_t done; /* of frame */
	unsigned char frame[];
};

int vdif_fill_create(struct vdif_fill **out, size_t frame_bytes_max)
{
	struct vdif_fill *fill = calloc(1, sizeof(*fill) + frame_bytes_max);

	*out = fill;
	if (!fill)
		return -ENOMEM;
	fill->room = frame_bytes_max;
	return 0;
}

void vdif_fill_free(struct vdif_fill *fill)
{
	free(fill);
}

static void begin(struct vdif_fill *fill, const void *model, uint64_t rate)
{
	struct vdif_header header;
	bool is_one;

	memcpy(fill->model, model, sizeof(fill->model));
	is_one = vdif_read(fill->model, &header);
	assert(is_one && header.frame_bytes <= fill->room && rate > header.frame);
	(void)is_one;
	fill->next = (struct vdif_place){ header.second, header.frame, header.thread };
	fill->rate = rate;
	fill->done = fill->frame_bytes = header.frame_bytes;
}

void vdif_fill_before(struct vdif_fill *fill, const void *header, uint64_t count, uint64_t rate)
{
	uint64_t seconds;

	begin(fill, header, rate);
	if (count <= fill->next.frame) {
		fill->next.frame -= (uint32_t)count;
		return;
	}
	count -= fill->next.frame;
	seconds = (count + rate - 1) / rate;
	fill->next.second -= (uint32_t)seconds; /* modulo: a stream that lost its first second */
	fill->next.frame = (uint32_t)(seconds * rate - count);
}

static void step(struct vdif_fill *fill)
{
	if (++fill->next.frame < fill->rate)
		return;
	fill->next.frame = 0;
	fill->next.second++;
}

void vdif_fill_behind(struct vdif_fill *fill, const void *header, uint64_t rate)
{
	begin(fill, header, rate);
	step(fill);
}

void vdif_fill_put(struct vdif_fill *fill, void *buf, size_t len)
{
	unsigned char *to = buf;

	if (fill->frame_bytes == 0)
		bytes_put_fill(buf, len, 0);
	while (len > 0 && fill->frame_bytes > 0) {
		size_t part;

		if (fill->done == fill->frame_bytes) {
			vdif_put_invalid(fill->frame, fill->model, &fill->next);
			step(fill);
			fill->done = 0;
		}
		part = fill->frame_bytes - fill->done < len ? fill->frame_bytes - fill->done : len;
		memcpy(to, fill->frame + fill->done, part);
		fill->done += part;
		to += part;
		len -= part;
	}
}
