/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams (drivers/datagrams.h) of any lengths, numbers and senders: the bytes that come out are those that went in,
 * less what was discarded, whatever was lost between them.
 */
#include "tests/fuzz/input.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/datagrams.h"

#define BUF_BYTES 4096
#define PORTS 2

struct sums {
	uint64_t in, out, discarded;
};

static void get_all(struct datagrams *datagrams, struct sums *sums, size_t room)
{
	static unsigned char buf[BUF_BYTES];
	struct source_mark mark = { 0 };
	size_t got;

	while ((got = datagrams_get(datagrams, buf, room, &mark)) > 0) {
		input_expect(got <= room);
		sums->out += got;
	}
	datagrams_tell(datagrams, &mark, false);
	sums->discarded += mark.discarded_bytes;
	if (mark.lost_bytes > 0 && datagrams_psn(datagrams) == PSN_VDIF)
		input_expect(mark.lost_bytes % datagrams_frame_bytes(datagrams) == 0);
}

static void take(struct datagrams *datagrams, struct input *input, struct sums *sums)
{
	static const struct datagram_sender senders[2] = { { { 1, 2, 3, 4 }, 4 },
							   { { 5, 6, 7, 8 }, 4 } };
	uint32_t word = (uint32_t)input_take_number(input, 2);
	size_t len = 1 + word % 200;
	struct datagram datagram = { .port = word >> 14 & 1, .sender = &senders[word >> 15 & 1] };
	unsigned char *copy;

	len = len < input->len ? len : input->len;
	copy = input_copy(input->data, len);
	input->data += len;
	input->len -= len;
	datagram.bytes = len;
	datagram_split(datagrams, &datagram, copy);
	if (word >> 13 & 1)
		datagrams_lost(datagrams, datagram.port, word >> 8 & 31);
	sums->in += len;
	/* of one that is too short nothing is passed */
	if (datagrams_take(datagrams, &datagram, word >> 12 & 1) == DATAGRAM_PASSED)
		sums->out += datagrams_frame_bytes(datagrams);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	struct source_packets counts = { 0 };
	struct datagrams_config config = { .port_count = PORTS };
	struct datagrams *datagrams;
	struct sums sums = { 0 };
	size_t room;

	config.psn = (enum psn_kind)input_take_below(&input, PSN_KIND_COUNT);
	config.frame_bytes = input_take_number(&input, 1);
	config.window = 1 + input_take_below(&input, 16);
	config.use_any_sender = input_take_number(&input, 1) & 1;
	room = 1 + input_take_below(&input, BUF_BYTES);
	input_expect(datagrams_create(&datagrams, &config, &counts) == 0);
	while (input.len > 0) {
		take(datagrams, &input, &sums);
		get_all(datagrams, &sums, room);
		if (input.len % 61 == 0)
			datagrams_give_up(datagrams);
	}
	get_all(datagrams, &sums, room);
	datagrams_end(datagrams);
	get_all(datagrams, &sums, room);
	input_expect(sums.out + sums.discarded <= sums.in);
	datagrams_count(datagrams);
	datagrams_free(datagrams);
	return 0;
}
