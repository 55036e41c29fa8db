/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/feed_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_BYTES 4096

static void say(void *context, const char *sentence)
{
	struct feed_kit *kit = context;
	size_t used = strlen(kit->words);

	snprintf(kit->words + used, sizeof(kit->words) - used, "%s\n", sentence);
}

void feed_kit_open(struct feed_kit *kit, size_t block_bytes, uint32_t block_count)
{
	struct ring_config config = {
		.block_bytes = block_bytes,
		.block_count = block_count,
		.queue_count = 1,
		.label_bytes = sizeof(struct play_label),
	};

	*kit = (struct feed_kit){ .memory = aligned_alloc(PAGE_BYTES, block_bytes * block_count) };
	assert_non_null(kit->memory);
	config.memory = kit->memory;
	assert_int_equal(ring_create(&kit->ring, &config), 0);
}

struct feed_config feed_kit_config(struct feed_kit *kit)
{
	return (struct feed_config){ .ring = kit->ring, .say = say, .context = kit };
}

static uint32_t claim(struct feed_kit *kit)
{
	for (;;) {
		uint32_t ticket = ring_listen(kit->ring, 0), block = ring_claim(kit->ring, 0);

		if (block != RING_NONE)
			return block;
		ring_sleep(kit->ring, 0, ticket, INT64_MAX);
	}
}

static void add(struct feed_kit *kit, const void *data, size_t bytes)
{
	kit->data = realloc(kit->data, kit->bytes + bytes);
	assert_non_null(kit->data);
	memcpy(kit->data + kit->bytes, data, bytes);
	kit->bytes += bytes;
}

static void add_packets(struct feed_kit *kit, const unsigned char *data, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		struct block_packet *packet = &kit->packets[kit->packet_count++];

		assert_true(kit->packet_count <= FEED_KIT_PACKETS_MAX);
		memcpy(packet, data + at, sizeof(*packet));
		add(kit, data + at + sizeof(*packet), packet->bytes);
		at += block_packet_size(packet->bytes);
	}
}

/* Return: false at the end. */
static bool take(struct feed_kit *kit, uint32_t block, uint64_t *offset)
{
	const struct play_label *label = ring_label(kit->ring, block);
	const unsigned char *data =
		(const unsigned char *)ring_data(kit->ring, block) + label->lead_bytes;
	size_t bytes = ring_bytes(kit->ring, block) - label->lead_bytes;

	switch (label->kind) {
	case BLOCK_BYTES:
		if (*offset != UINT64_MAX)
			assert_int_equal(label->stream_offset, *offset);
		*offset = label->stream_offset + bytes;
		add(kit, data, bytes);
		return true;
	case BLOCK_PACKETS:
		assert_int_equal(label->stream_offset, kit->bytes);
		add_packets(kit, data, bytes);
		return true;
	case BLOCK_GAP:
		assert_true(kit->gap_count < FEED_KIT_GAPS_MAX);
		if (*offset != UINT64_MAX)
			assert_int_equal(label->stream_offset, *offset);
		*offset = label->stream_offset + label->gap_bytes;
		kit->gaps[kit->gap_count++] =
			(struct feed_kit_gap){ label->stream_offset, label->gap_bytes, kit->bytes,
					       label->cause };
		return true;
	default:
		kit->result = label->result;
		return false;
	}
}

void feed_kit_drain(struct feed_kit *kit, struct feed *feed, size_t limit)
{
	uint64_t offset = UINT64_MAX;
	bool is_more = true;

	assert_int_equal(feed_start(feed), 0);
	while (is_more) {
		uint32_t block = claim(kit);

		is_more = take(kit, block, &offset);
		ring_give_back(kit->ring, block);
		if (kit->bytes >= limit)
			feed_stop(feed);
	}
}

void feed_kit_close(struct feed_kit *kit)
{
	ring_free(kit->ring);
	free(kit->memory);
	free(kit->data);
}
