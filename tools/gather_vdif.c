/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/gather_vdif.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX ((size_t)1024)
#define RECENT (2 * THREADS_MAX) /* two turns of all threads tell their order */
#define FRAMES_LEAST 2           /* alike, before anything is taken for VDIF */

struct gather_vdif {
	/* what has passed */
	unsigned char head[VDIF_HEADER_BYTES];  /* of the frame that passes now */
	uint64_t at;                            /* bytes of it that have passed */
	unsigned char first[VDIF_HEADER_BYTES]; /* header of the first one, ... */
	struct vdif_header header;              /* ... and what it says; frame_bytes 0: none yet */
	unsigned char models[THREADS_MAX][VDIF_HEADER_BYTES]; /* of the last frame of each thread */
	bool is_other; /* the stream doesn't begin with a frame */
	struct vdif_place recent[RECENT];
	uint64_t count;        /* frames passed since something was none */
	uint32_t second, most; /* the last one's second, and the highest frame number in it */
	uint32_t frame_rate;   /* as a second's end told; 0 = none yet */
	/* the gap that is being filled */
	struct vdif_place order[THREADS_MAX]; /* the last turn before it */
	uint32_t thread_count;
	uint64_t gap_rate; /* frames a second; UINT64_MAX = no second ends in it */
	uint64_t next;     /* frame of the gap that is filled next, or being filled */
	unsigned char *frame;
};

int gather_vdif_create(struct gather_vdif **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void gather_vdif_free(struct gather_vdif *vdif)
{
	if (!vdif)
		return;
	free(vdif->frame);
	free(vdif);
}

/* ---- what has passed ---- */

/* @back: 1 = the last one */
static const struct vdif_place *recent(const struct gather_vdif *vdif, uint64_t back)
{
	return &vdif->recent[(vdif->count - back) % RECENT];
}

static void note_second(struct gather_vdif *vdif, const struct vdif_place *place)
{
	if (vdif->count && place->second == vdif->second) {
		vdif->most = place->frame > vdif->most ? place->frame : vdif->most;
		return;
	}
	if (vdif->count && place->second == vdif->second + 1 && vdif->most >= vdif->frame_rate)
		vdif->frame_rate = vdif->most + 1;
	vdif->second = place->second;
	vdif->most = place->frame;
}

static void note_frame(struct gather_vdif *vdif, const struct vdif_place *place)
{
	note_second(vdif, place);
	vdif->recent[vdif->count++ % RECENT] = *place;
}

static void read_head(struct gather_vdif *vdif)
{
	struct vdif_header header;
	bool is_frame = vdif_read(vdif->head, &header);

	if (vdif->header.frame_bytes == 0) {
		vdif->is_other = !is_frame || header.frame_bytes <= VDIF_HEADER_BYTES;
		if (vdif->is_other)
			return;
		vdif->header = header;
		memcpy(vdif->first, vdif->head, sizeof(vdif->first));
	}
	if (!is_frame || !vdif_is_alike(vdif->head, vdif->first)) {
		vdif->count = 0;
		return;
	}
	memcpy(vdif->models[header.thread], vdif->head, sizeof(vdif->head));
	note_frame(vdif, &(struct vdif_place){ header.second, header.frame, header.thread });
}

void gather_vdif_pass(struct gather_vdif *vdif, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	while (len > 0 && !vdif->is_other) {
		bool is_head = vdif->at < sizeof(vdif->head);
		uint64_t end = is_head ? sizeof(vdif->head) : vdif->header.frame_bytes;
		size_t take = end - vdif->at < len ? (size_t)(end - vdif->at) : len;

		if (is_head)
			memcpy(vdif->head + vdif->at, bytes, take);
		vdif->at += take;
		bytes += take;
		len -= take;
		if (is_head && vdif->at == end)
			read_head(vdif);
		else if (!is_head && vdif->at == end)
			vdif->at = 0;
	}
}

void gather_vdif_pass_pattern(struct gather_vdif *vdif, const void *data, size_t len)
{
	if (vdif->header.frame_bytes > 0 || vdif->at > 0) /* else the first frame is still to come */
		gather_vdif_pass(vdif, data, len);
}

/* ---- which frames are missing ---- */

/* Is each thread there once in a turn, and was the turn before, as far as it was seen, like the last one? */
static bool is_regular(const struct gather_vdif *vdif, uint32_t thread_count)
{
	bool has_thread[THREADS_MAX] = { false };
	uint64_t seen = vdif->count < RECENT ? vdif->count : RECENT;

	for (uint32_t back = 1; back <= thread_count; back++) {
		uint16_t thread = recent(vdif, back)->thread;

		if (has_thread[thread] || (back + thread_count <= seen &&
					   recent(vdif, back + thread_count)->thread != thread))
			return false;
		has_thread[thread] = true;
	}
	return true;
}

/* How many threads take turns; 0: the order can't be told. */
static uint32_t count_threads(const struct gather_vdif *vdif)
{
	uint64_t seen = vdif->count < RECENT ? vdif->count : RECENT;

	for (uint32_t count = 1; count <= THREADS_MAX && count + 1 <= seen; count++)
		if (recent(vdif, count + 1)->thread == recent(vdif, 1)->thread)
			return is_regular(vdif, count) ? count : 0;
	return 0;
}

/* Of frame @index of the gap. */
static struct vdif_place place_of(const struct gather_vdif *vdif, uint64_t index)
{
	struct vdif_place place = vdif->order[index % vdif->thread_count];
	uint64_t frame = place.frame + 1 + index / vdif->thread_count;

	place.second += (uint32_t)(frame / vdif->gap_rate);
	place.frame = (uint32_t)(frame % vdif->gap_rate);
	return place;
}

/* By the frame behind the gap. False: it is not the one that follows. */
static bool find_rate(struct gather_vdif *vdif, uint64_t index, const struct vdif_header *ahead)
{
	const struct vdif_place *last = &vdif->order[index % vdif->thread_count];
	uint64_t frame = last->frame + 1 + index / vdif->thread_count;
	uint32_t told = vdif_frame_rate(&vdif->header);

	vdif->gap_rate = UINT64_MAX;
	if (ahead->thread != last->thread || ahead->second < last->second || frame < ahead->frame)
		return false;
	if (ahead->second == last->second)
		return frame == ahead->frame;
	if (frame == ahead->frame || (frame - ahead->frame) % (ahead->second - last->second) != 0)
		return false;
	vdif->gap_rate = (frame - ahead->frame) / (ahead->second - last->second);
	return vdif->gap_rate > last->frame && vdif->gap_rate > ahead->frame &&
	       (told == 0 || told == vdif->gap_rate);
}

static int refuse(char *why, const char *reason)
{
	snprintf(why, GATHER_VDIF_WHY_LEN, "%s", reason);
	return -EINVAL;
}

static int set_rate(struct gather_vdif *vdif, const struct gather_vdif_ahead *ahead, char *why)
{
	uint32_t told = vdif_frame_rate(&vdif->header);
	struct vdif_header header;

	if (ahead->is_known && ahead->distance_bytes % vdif->header.frame_bytes == 0 &&
	    vdif_read(ahead->header, &header) && vdif_is_alike(ahead->header, vdif->first)) {
		if (find_rate(vdif, ahead->distance_bytes / vdif->header.frame_bytes, &header))
			return 0;
		return refuse(
			why,
			"the frame behind it is not the one that follows on those that are missing");
	}
	vdif->gap_rate = told ? told : vdif->frame_rate;
	if (vdif->gap_rate == 0)
		return refuse(
			why,
			"neither a frame behind it nor anything before it tells how many frames a second has");
	return 0;
}

int gather_vdif_begin(struct gather_vdif *vdif, uint64_t bytes,
		      const struct gather_vdif_ahead *ahead, char *why)
{
	if (vdif->is_other || vdif->count < FRAMES_LEAST)
		return refuse(why, "no VDIF frames come before it");
	if (vdif->at != 0 || bytes % vdif->header.frame_bytes != 0) {
		snprintf(why, GATHER_VDIF_WHY_LEN,
			 "it is no whole number of frames of %" PRIu32 " bytes",
			 vdif->header.frame_bytes);
		return -EINVAL;
	}
	vdif->thread_count = count_threads(vdif);
	if (vdif->thread_count == 0)
		return refuse(why,
			      "the frames before it don't tell in which order its threads take turns");
	for (uint32_t i = 0; i < vdif->thread_count; i++)
		vdif->order[i] = *recent(vdif, vdif->thread_count - i);
	vdif->next = 0;
	if (!vdif->frame)
		vdif->frame = malloc(vdif->header.frame_bytes);
	return vdif->frame ? set_rate(vdif, ahead, why) : -ENOMEM;
}

void gather_vdif_fill(struct gather_vdif *vdif, void *buf, size_t len)
{
	unsigned char *bytes = buf;

	while (len > 0) {
		uint64_t left = vdif->header.frame_bytes - vdif->at;
		size_t take = left < len ? (size_t)left : len;
		struct vdif_place place = place_of(vdif, vdif->next);

		if (vdif->at == 0) {
			vdif_put_invalid(vdif->frame, vdif->models[place.thread], &place);
			note_frame(vdif, &place);
		}
		memcpy(bytes, vdif->frame + vdif->at, take);
		vdif->at += take;
		if (vdif->at == vdif->header.frame_bytes) {
			vdif->at = 0;
			vdif->next++;
		}
		bytes += take;
		len -= take;
	}
}
