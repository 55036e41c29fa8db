/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_block.h - what a block of the ring is when a stream is played: the contract between those who feed and the player
 *
 * A feed (feed.h) is the ring's producer, the player (player.h) its only consumer, on queue 0. Blocks come in the order of
 * the stream, each a run of its own, with a struct play_label for label. The last one is BLOCK_END.
 *
 * Threads: the label is the feed's until ring_put(), the player's until ring_give_back(), as the ring's memory is.
 */
#ifndef VSIB_TOOLS_REPLAY_PLAY_BLOCK_H
#define VSIB_TOOLS_REPLAY_PLAY_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tools/recording.h"

#define PLAY_RESERVE 1 /* blocks that a feed may leave free: a gap needs one, when all others wait for it */

enum play_kind {
	BLOCK_BYTES, /* of the stream, ring_bytes() - lead_bytes of them, from lead_bytes on */
	BLOCK_PACKETS, /* struct block_packet one after the other, from lead_bytes on to ring_bytes() */
	BLOCK_GAP,     /* gap_bytes of the stream are not there; ring_bytes() means nothing */
	BLOCK_END,     /* nothing comes any more: result says why */
};

struct play_label {
	enum play_kind kind;
	uint32_t lead_bytes; /* in front of the data, so that direct reads can be aligned */
	uint64_t stream_offset; /* of the first byte, or of the gap's; BLOCK_PACKETS: payload or packet bytes before it */
	uint64_t gap_bytes;
	enum recording_cause cause; /* of a gap */
	bool is_anew; /* the stream begins again with this block (--loop): feed_begin_anew() */
	int result; /* BLOCK_END: 0 it is all; -EINTR stopped by feed_stop(); -errno broken off, feed->error says it */
};

/* A packet: the header, its data, and nothing up to the next multiple of BLOCK_PACKET_ALIGN. */
#define BLOCK_PACKET_ALIGN 8

struct block_packet {
	int64_t utc_ns;      /* its time stamp; 0 = not known */
	uint32_t bytes;      /* that follow this header */
	uint32_t wire_bytes; /* what it was on the wire; more than bytes if it was cut short */
};

/** block_packet_size() - of header, data and padding */
static inline size_t block_packet_size(size_t bytes)
{
	return (sizeof(struct block_packet) + bytes + BLOCK_PACKET_ALIGN - 1) / BLOCK_PACKET_ALIGN *
	       BLOCK_PACKET_ALIGN;
}

/** block_packets_bytes() - of the packets in a block, of which @used bytes are used: without headers and padding */
static inline uint64_t block_packets_bytes(const void *data, size_t used)
{
	uint64_t sum = 0;

	for (size_t at = 0; at < used;) {
		struct block_packet packet;

		memcpy(&packet, (const char *)data + at, sizeof(packet));
		sum += packet.bytes;
		at += block_packet_size(packet.bytes);
	}
	return sum;
}

#endif
