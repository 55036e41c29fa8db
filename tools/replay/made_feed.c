/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/made_feed.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/mark5b.h"
#include "drivers/sim.h"
#include "drivers/units.h"

#define THREADS_MAX 1024
#define VDIF_FRAMES_A_SECOND_MAX (UINT32_C(1) << 24)
#define MARK5B_NUMBERS 0x8000
#define VDIF_VERSION 1

/* ---- the layout ---- */

static __attribute__((format(printf, 2, 3))) int refuse(char *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, MADE_ERROR_LEN, format, args);
	va_end(args);
	return -EINVAL;
}

static int check_frame(const struct made_layout *layout, char *error)
{
	if (layout->frame_bytes == 0 || layout->frame_bytes > MADE_FRAME_BYTES_MAX)
		return refuse(error, "a frame has 1 to %" PRIu32 " bytes, and not %" PRIu32,
			      MADE_FRAME_BYTES_MAX, layout->frame_bytes);
	if (layout->format == MADE_MARK5B && layout->frame_bytes != MARK5B_FRAME_BYTES)
		return refuse(error, "a Mark5B frame has %d bytes, and not %" PRIu32,
			      MARK5B_FRAME_BYTES, layout->frame_bytes);
	if (layout->format == MADE_VDIF &&
	    (layout->frame_bytes % 8 != 0 || layout->frame_bytes < VDIF_HEADER_BYTES + 8))
		return refuse(error,
			      "a VDIF frame has a multiple of 8 bytes, %d at least with its header of %d; %" PRIu32
			      " is not one",
			      VDIF_HEADER_BYTES + 8, VDIF_HEADER_BYTES, layout->frame_bytes);
	if (layout->thread_count < 1 || layout->thread_count > THREADS_MAX)
		return refuse(error, "VDIF has 1 to %d threads, and not %u", THREADS_MAX,
			      layout->thread_count);
	if (layout->format != MADE_VDIF && layout->thread_count != 1)
		return refuse(error, "only VDIF has threads");
	return 0;
}

/* The rates around the one that was asked for that give whole frames. */
static int refuse_rate(const struct made_layout *layout, uint64_t step_bps, char *error)
{
	uint64_t below = layout->rate_bps / step_bps * step_bps;
	char threads[64] = "", lower[64] = "";

	if (layout->thread_count > 1)
		snprintf(threads, sizeof(threads), " of %u threads", layout->thread_count);
	if (below)
		snprintf(lower, sizeof(lower), "%.12g or ", (double)below / 1e6);
	return refuse(error,
		      "%.12g Mbit/s are no whole number of frames a second: each carries %" PRIu32
		      " bytes of samples; %s%.12g Mbit/s%s would do, or another --frame",
		      (double)layout->rate_bps / 1e6, layout->payload_bytes, lower,
		      (double)(below + step_bps) / 1e6, threads);
}

static int find_frame_rate(struct made_layout *layout, char *error)
{
	uint64_t step_bps = (uint64_t)layout->payload_bytes * 8 * layout->thread_count;

	assert(step_bps > 0); /* check_frame() */
	if (layout->rate_bps == 0)
		return refuse(error, "time codes need a rate: -r RATE, such as -r 512");
	if (layout->rate_bps % step_bps != 0)
		return refuse_rate(layout, step_bps, error);
	if (layout->rate_bps / step_bps > VDIF_FRAMES_A_SECOND_MAX)
		return refuse(error,
			      "%.12g Mbit/s are more than %" PRIu32
			      " frames a second; larger frames are fewer",
			      (double)layout->rate_bps / 1e6, VDIF_FRAMES_A_SECOND_MAX);
	layout->frame_rate = (uint32_t)(layout->rate_bps / step_bps);
	layout->stream_bps =
		(uint64_t)layout->frame_bytes * 8 * layout->thread_count * layout->frame_rate;
	return 0;
}

static void find_start(struct made_layout *layout)
{
	int64_t second = layout->start_utc_ns / UNITS_NS_PER_S;
	uint64_t rest_ns = (uint64_t)(layout->start_utc_ns % UNITS_NS_PER_S);

	layout->first_frame = (uint32_t)(rest_ns * layout->frame_rate / UNITS_NS_PER_S);
	layout->start_utc_ns =
		second * UNITS_NS_PER_S +
		(int64_t)((uint64_t)layout->first_frame * UNITS_NS_PER_S / layout->frame_rate);
}

/* Whole samples of all channels, so that each has a rate. */
static int find_samples(struct made_layout *layout, char *error)
{
	struct vdif_header *vdif = &layout->vdif;
	uint64_t values = (uint64_t)layout->payload_bytes / 4 * (32 / (vdif->bits ? vdif->bits : 1));

	if (vdif->bits < 1 || vdif->bits > 32)
		return refuse(error, "a VDIF sample has 1 to 32 bits, and not %u", vdif->bits);
	if (values % (UINT64_C(1) << vdif->channels_log2) != 0)
		return refuse(error,
			      "%" PRIu32
			      " bytes of %u-bit samples are no whole number of samples of %" PRIu64
			      " channels",
			      layout->payload_bytes, vdif->bits, UINT64_C(1) << vdif->channels_log2);
	vdif->header_bytes = VDIF_HEADER_BYTES;
	vdif->frame_bytes = layout->frame_bytes;
	vdif->sample_rate_hz = (uint64_t)vdif_samples(vdif) * layout->frame_rate;
	return 0;
}

static int complete_vdif(struct made_layout *layout, char *error)
{
	struct vdif_header *vdif = &layout->vdif;
	unsigned char bytes[VDIF_HEADER_BYTES];
	int64_t start_s = layout->start_utc_ns / UNITS_NS_PER_S;
	int ret = find_samples(layout, error);

	if (ret < 0)
		return ret;
	vdif->version = VDIF_VERSION;
	vdif->epoch = (uint8_t)vdif_epoch_of(start_s);
	if (start_s < vdif_epoch_utc_s(0) || start_s - vdif_epoch_utc_s(vdif->epoch) >= INT64_C(1) << 30)
		return refuse(error, "VDIF tells times from 2000 to 2065; --start lies outside");
	if (layout->is_edv_free)
		vdif->edv = VDIF_EDV_NICT;
	if (vdif_put_header(bytes, vdif))
		return 0;
	if (layout->is_edv_free) {
		vdif->edv = VDIF_EDV_NONE;
		vdif->sample_rate_hz = 0;
		return 0;
	}
	return refuse(error,
		      "extended data version %u does not fit: its sample rate is whole kHz, 2 kHz for real samples, and this one %" PRIu64
		      " Hz%s",
		      vdif->edv, vdif->sample_rate_hz,
		      vdif->edv == VDIF_EDV_VLBA ? "; its frames have 5032 or 1032 bytes" : "");
}

int made_layout_complete(struct made_layout *layout, char *error)
{
	int ret = check_frame(layout, error);

	if (ret < 0)
		return ret;
	layout->header_bytes = layout->format == MADE_VDIF   ? VDIF_HEADER_BYTES :
			       layout->format == MADE_MARK5B ? MARK5B_HEADER_BYTES :
							       0;
	layout->payload_bytes = layout->frame_bytes - layout->header_bytes;
	if (layout->format == MADE_RAW) {
		layout->stream_bps = layout->rate_bps;
		return 0;
	}
	if (layout->start_utc_ns < 0)
		return refuse(error, "time codes before 1970 can't be made");
	ret = find_frame_rate(layout, error);
	if (ret < 0)
		return ret;
	find_start(layout);
	return layout->format == MADE_VDIF ? complete_vdif(layout, error) : 0;
}

/* ---- its frames ---- */

/* floor(frame / rate) seconds and the rest in ns, without overflow. */
static int64_t time_at(uint64_t frame, uint64_t rate)
{
	return (int64_t)(frame / rate) * UNITS_NS_PER_S +
	       (int64_t)(frame % rate * (uint64_t)UNITS_NS_PER_S / rate);
}

int64_t made_layout_utc_ns(const struct made_layout *layout, uint64_t frame)
{
	if (layout->format != MADE_RAW)
		return layout->start_utc_ns / UNITS_NS_PER_S * UNITS_NS_PER_S +
		       time_at((uint64_t)layout->first_frame * layout->thread_count + frame,
			       (uint64_t)layout->frame_rate * layout->thread_count);
	return layout->rate_bps ? layout->start_utc_ns + units_time_for(frame * layout->frame_bytes,
									layout->rate_bps) :
				  0;
}

static void put_vdif(const struct made_layout *layout, int64_t second, uint32_t number,
		     unsigned thread, void *data)
{
	struct vdif_header header = layout->vdif;

	header.second = (uint32_t)(second - vdif_epoch_utc_s(header.epoch));
	header.frame = number;
	header.thread = (uint16_t)thread;
	vdif_put_header(data, &header);
}

static void put_mark5b(const struct made_layout *layout, int64_t second, uint32_t number, void *data)
{
	struct mark5b_header header = { .frame = (uint16_t)(number % MARK5B_NUMBERS), .has_crc = true };

	vlba_time_of(second * UNITS_NS_PER_S + time_at(number, layout->frame_rate), &header.time);
	mark5b_put_header(data, &header);
}

void made_layout_put(const struct made_layout *layout, uint64_t frame, uint64_t seed, void *data)
{
	if (layout->format != MADE_RAW) {
		uint64_t number = layout->first_frame + frame / layout->thread_count;
		int64_t second = layout->start_utc_ns / UNITS_NS_PER_S +
				 (int64_t)(number / layout->frame_rate);
		uint32_t rest = (uint32_t)(number % layout->frame_rate);

		if (layout->format == MADE_VDIF)
			put_vdif(layout, second, rest, (unsigned)(frame % layout->thread_count), data);
		else
			put_mark5b(layout, second, rest, data);
	}
	sim_fill((unsigned char *)data + layout->header_bytes, layout->payload_bytes,
		 frame * layout->payload_bytes, seed);
}

/* ---- the feed ---- */

struct made {
	struct made_feed_config config;
	unsigned char *frame; /* one that goes out in several units */
	uint64_t frame_count; /* UINT64_MAX = without end */
	uint64_t next;        /* frame to be made */
};

static uint64_t frames_left(const struct made *made)
{
	return made->frame_count - made->next;
}

/* Return: bytes used. */
static size_t fill_bytes(struct made *made, unsigned char *data, size_t room)
{
	const struct made_layout *layout = made->config.layout;
	size_t used = 0;

	for (; frames_left(made) && room - used >= layout->frame_bytes; used += layout->frame_bytes)
		made_layout_put(layout, made->next++, made->config.seed, data + used);
	return used;
}

static void put_packet(void *data, int64_t utc_ns, uint32_t bytes)
{
	const struct block_packet packet = { utc_ns, bytes, bytes };

	memcpy(data, &packet, sizeof(packet));
}

/* A frame in several units: they share its time. */
static size_t fill_parts(struct made *made, unsigned char *data)
{
	const struct made_layout *layout = made->config.layout;
	uint32_t unit_bytes = made->config.unit_bytes;
	int64_t begin = made_layout_utc_ns(layout, made->next);
	int64_t end = made_layout_utc_ns(layout, made->next + 1);
	size_t used = 0;

	made_layout_put(layout, made->next++, made->config.seed, made->frame);
	for (uint32_t at = 0; at < layout->frame_bytes; at += unit_bytes) {
		put_packet(data + used, begin + (end - begin) * at / layout->frame_bytes, unit_bytes);
		memcpy(data + used + sizeof(struct block_packet), made->frame + at, unit_bytes);
		used += block_packet_size(unit_bytes);
	}
	return used;
}

static size_t fill_whole(struct made *made, unsigned char *data)
{
	const struct made_layout *layout = made->config.layout;

	put_packet(data, made_layout_utc_ns(layout, made->next), layout->frame_bytes);
	made_layout_put(layout, made->next++, made->config.seed, data + sizeof(struct block_packet));
	return block_packet_size(layout->frame_bytes);
}

/* What one frame takes of a block. */
static size_t frame_room(const struct made_feed_config *config)
{
	uint32_t frame_bytes = config->layout->frame_bytes;

	if (!config->is_units)
		return frame_bytes;
	if (!config->unit_bytes)
		return block_packet_size(frame_bytes);
	return frame_bytes / config->unit_bytes * block_packet_size(config->unit_bytes);
}

static size_t fill_units(struct made *made, unsigned char *data, size_t room)
{
	size_t used = 0, need = frame_room(&made->config);

	while (frames_left(made) && room - used >= need)
		used += made->config.unit_bytes ? fill_parts(made, data + used) :
						  fill_whole(made, data + used);
	return used;
}

/* Of a stream that is cut anywhere: what makes no whole frame any more. */
static int put_rest(struct feed *feed)
{
	const struct made *made = feed->state;
	uint64_t offset = made->next * made->config.layout->frame_bytes;
	size_t rest = made->config.stream_bytes % made->config.layout->frame_bytes;
	uint32_t block = rest ? feed_take(feed) : RING_NONE;

	if (block == RING_NONE)
		return rest ? -EINTR : 0;
	sim_fill(ring_data(feed->config.ring, block), rest, offset, made->config.seed);
	feed_put_bytes(feed, block, offset, 0, rest);
	return 0;
}

static int made_run(struct feed *feed)
{
	struct made *made = feed->state;
	const struct ring *ring = feed->config.ring;

	while (frames_left(made)) {
		uint64_t offset = made->next * made->config.layout->frame_bytes;
		uint32_t block = feed_take(feed);

		if (block == RING_NONE)
			return -EINTR;
		if (made->config.is_units)
			feed_put_packets(
				feed, block, offset,
				fill_units(made, ring_data(ring, block), ring_block_bytes(ring)));
		else
			feed_put_bytes(
				feed, block, offset, 0,
				fill_bytes(made, ring_data(ring, block), ring_block_bytes(ring)));
	}
	return put_rest(feed);
}

static void made_free(struct feed *feed)
{
	struct made *made = feed->state;

	if (made)
		free(made->frame);
	free(made);
}

static int check_sizes(struct feed *feed)
{
	const struct made_feed_config *config = &((struct made *)feed->state)->config;
	uint32_t frame_bytes = config->layout->frame_bytes;

	if (config->unit_bytes && frame_bytes % config->unit_bytes)
		return feed_fail(feed, -EINVAL,
				 "frames are no whole number of units of %" PRIu32 " bytes",
				 config->unit_bytes);
	if ((config->is_units || config->layout->format != MADE_RAW) &&
	    config->stream_bytes % frame_bytes)
		return feed_fail(feed, -EINVAL, "the stream is no whole number of frames");
	if (frame_room(config) > ring_block_bytes(feed->config.ring))
		return feed_fail(feed, -EINVAL, "a block of the ring has no room for a frame");
	return 0;
}

int made_feed_create(struct feed **out, const struct feed_config *config,
		     const struct made_feed_config *made_config)
{
	static const struct feed_ops ops = { .run = made_run, .free = made_free };
	struct made *made;
	int ret = feed_create(out, &ops, config);

	if (ret < 0)
		return ret;
	made = calloc(1, sizeof(*made));
	(*out)->state = made;
	if (!made)
		return -ENOMEM;
	made->config = *made_config;
	made->frame_count = made_config->stream_bytes ?
				    made_config->stream_bytes / made_config->layout->frame_bytes :
				    UINT64_MAX;
	if (made_config->unit_bytes == made_config->layout->frame_bytes)
		made->config.unit_bytes = 0;
	ret = check_sizes(*out);
	if (ret < 0)
		return ret;
	if (made->config.unit_bytes) {
		made->frame = malloc(made_config->layout->frame_bytes);
		if (!made->frame)
			return -ENOMEM;
	}
	feed_count(&(*out)->stats.planned_bytes, made_config->stream_bytes);
	return 0;
}
