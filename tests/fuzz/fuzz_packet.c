/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets (drivers/packet.h) of any bytes and any link type, one behind the other, so that fragments meet.
 */
#include "tests/fuzz/input.h"

#include <pcap/pcap.h>
#include <stdlib.h>

#include "drivers/packet.h"

#define LINKS (sizeof(links) / sizeof(links[0]))

static const int links[] = { DLT_EN10MB, DLT_LINUX_SLL, DLT_LINUX_SLL2,
			     DLT_RAW,    DLT_NULL,      DLT_LOOP,
			     228,        229,           9999 };

/* Made once each: one has megabytes for fragments. What an input leaves behind is ended, and no more than that. */
static struct packet_finder *finder_of(size_t link)
{
	static struct packet_finder *finders[LINKS];
	const struct packet_finder_config config = { .link_type = links[link] };

	if (!finders[link])
		input_expect(packet_finder_create(&finders[link], &config) == 0);
	return finders[link];
}

static void find(struct packet_finder *finder, const unsigned char *data, size_t len, size_t more,
		 int64_t utc_ns)
{
	unsigned char *copy = input_copy(data, len);
	const struct packet packet = { .data = copy, .caplen = len, .len = len + more, .utc_ns = utc_ns };
	struct packet_udp udp;
	unsigned sum = 0;

	if (packet_find(finder, &packet, &udp) == PACKET_DATAGRAM)
		for (size_t i = 0; i < udp.len; i++)
			sum += udp.payload[i];
	input_expect(sum < UINT32_MAX);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	struct packet_finder *finder = finder_of(input_take_below(&input, LINKS));
	struct packet_counts before, after;
	uint64_t count = 0;
	char text[PACKET_TEXT_LEN];

	packet_finder_counts(finder, &before);
	while (input.len > 0) {
		size_t part = 1 + input_take_below(&input, 256);
		int64_t utc_ns = (int64_t)input_take_number(&input, 1) * 1000000000;

		part = part < input.len ? part : input.len;
		find(finder, input.data, part, input.len % 3, utc_ns);
		input.data += part;
		input.len -= part;
		count++;
	}
	packet_finder_end(finder);
	packet_finder_counts(finder, &after);
	input_expect(packet_count(&after) - packet_count(&before) == count);
	packet_tell_left_out(&after, text, sizeof(text));
	return 0;
}
