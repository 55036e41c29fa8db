/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feed_kit.h - a ring for a feed under test, and all that the feed puts into it
 *
 *   feed_kit_open() -> a feed's create function with feed_kit_config() -> feed_kit_drain() -> feed_kit_close()
 *
 * Threads: the test's; it plays the player's part.
 */
#ifndef VSIB_TESTS_FEED_KIT_H
#define VSIB_TESTS_FEED_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "tools/replay/feed.h"

struct feed_kit_gap {
	uint64_t stream_offset, bytes, at; /* at: bytes that came before it */
	enum recording_cause cause;
};

#define FEED_KIT_GAPS_MAX 64
#define FEED_KIT_PACKETS_MAX 4096
#define FEED_KIT_WORDS_LEN 4096

struct feed_kit {
	struct ring *ring;
	void *memory;
	unsigned char *data; /* of all blocks, one behind the other; of packets, their bytes */
	size_t bytes;
	struct feed_kit_gap gaps[FEED_KIT_GAPS_MAX];
	size_t gap_count;
	struct block_packet packets[FEED_KIT_PACKETS_MAX];
	size_t packet_count;
	int result;                     /* of BLOCK_END */
	char words[FEED_KIT_WORDS_LEN]; /* what it said, a line each */
};

/** feed_kit_open() - a ring of @block_count blocks; the test fails without */
void feed_kit_open(struct feed_kit *kit, size_t block_bytes, uint32_t block_count);

struct feed_config feed_kit_config(struct feed_kit *kit);

/**
 * feed_kit_drain() - all blocks up to BLOCK_END; checks that their offsets follow one another
 * @limit: stop the feed once so many bytes have come; SIZE_MAX = never
 */
void feed_kit_drain(struct feed_kit *kit, struct feed *feed, size_t limit);

void feed_kit_close(struct feed_kit *kit);

#endif
