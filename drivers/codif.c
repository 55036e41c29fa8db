/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/codif.h"

#include <string.h>

#include "drivers/bytes.h"

#define SYNC_WORD UINT32_C(0xfeedcafe)

static uint64_t word_of(const void *data, int index)
{
	return bytes_le64((const unsigned char *)data + (size_t)index * 8);
}

bool codif_read(const void *data, struct codif_header *header)
{
	uint64_t word0 = word_of(data, 0), word1 = word_of(data, 1), word2 = word_of(data, 2),
		 word3 = word_of(data, 3);

	*header = (struct codif_header){
		.frame = (uint32_t)word0,
		.second = (uint32_t)(word0 >> 32),
		.epoch = (uint8_t)word1,
		.bits = (uint8_t)(word1 >> 8),
		.is_invalid = word1 >> 17 & 1,
		.is_complex = word1 >> 18 & 1,
		.representation = word1 >> 20 & 0xf,
		.version = word1 >> 24 & 0x1f,
		.period_s = (uint16_t)(word1 >> 48),
		.thread = (uint16_t)word2,
		.group = (uint16_t)(word2 >> 16),
		.secondary = (uint16_t)(word2 >> 32),
		.station = (uint16_t)(word2 >> 48),
		.channels = (uint16_t)word3,
		.frame_bytes = CODIF_HEADER_BYTES + (word3 >> 32) * 8,
		.samples_a_period = word_of(data, 4),
	};
	return (uint32_t)word_of(data, 5) == SYNC_WORD && header->period_s > 0 &&
	       header->frame_bytes > CODIF_HEADER_BYTES;
}

/* In word 1: bits, complex, representation, version and protocol, period. In word 3 all. */
bool codif_is_alike(const void *data, const void *other)
{
	const uint64_t form = UINT64_C(0xffff0000fff4ff00);

	return (uint32_t)word_of(data, 5) == SYNC_WORD && (uint32_t)word_of(other, 5) == SYNC_WORD &&
	       ((word_of(data, 1) ^ word_of(other, 1)) & form) == 0 &&
	       word_of(data, 3) == word_of(other, 3);
}

uint32_t codif_frames_a_period(const struct codif_header *header)
{
	uint64_t sample_bits =
		(uint64_t)header->channels * header->bits * (header->is_complex ? 2 : 1);
	uint64_t payload_bits = (header->frame_bytes - CODIF_HEADER_BYTES) * 8, samples, frames;

	if (sample_bits == 0 || payload_bits % sample_bits != 0)
		return 0;
	samples = payload_bits / sample_bits;
	if (header->samples_a_period % samples != 0)
		return 0;
	frames = header->samples_a_period / samples;
	return frames <= UINT32_MAX ? (uint32_t)frames : 0;
}
