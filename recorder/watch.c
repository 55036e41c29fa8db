/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STRETCH 64     /* words looked at in a row */
#define WORDS_MIN 4096 /* fewer words prove nothing: a slow stream is watched for longer */

void watch_init(struct watch *watch, uint32_t word_bytes)
{
	memset(watch, 0, sizeof(*watch));
	watch->word_bits = word_bytes == 1 || word_bytes == 2 ? word_bytes * 8 : 32;
	watch->seed = 1;
}

/*
 * Folds the halves of a 32-bit word into its low word_bits, once with or (a 1 somewhere), once
 * for the zeros.
 */
static uint32_t fold(uint32_t bits, uint32_t word_bits)
{
	for (uint32_t half = 16; half >= word_bits; half /= 2)
		bits = (bits | bits >> half) & (UINT32_C(0xffffffff) >> (32 - half));
	return bits;
}

static void close_second(struct watch *watch)
{
	uint32_t mask = UINT32_C(0xffffffff) >> (32 - watch->word_bits);
	uint32_t ones = fold(watch->ones, watch->word_bits),
		 zeros = fold(watch->zeros, watch->word_bits);
	uint64_t stuck = (uint64_t)(ones & ~zeros & mask) << 32 | (zeros & ~ones & mask);

	atomic_store_explicit(&watch->stuck, stuck, memory_order_relaxed);
	watch->ones = watch->zeros = 0;
	watch->word_count = 0;
}

void watch_look(struct watch *watch, const void *data, size_t bytes, int64_t now_ns)
{
	size_t words = bytes / sizeof(uint32_t);
	uint32_t ones = watch->ones, zeros = watch->zeros;

	if (watch->since_ns == 0)
		watch->since_ns = now_ns;
	if (now_ns - watch->since_ns >= WATCH_NS && watch->word_count >= WORDS_MIN) {
		close_second(watch);
		ones = zeros = 0;
		watch->since_ns = now_ns;
	}
	if (words < STRETCH || (watch->looked_ns && now_ns - watch->looked_ns < WATCH_PAUSE_NS))
		return;
	watch->looked_ns = now_ns;
	for (unsigned looked = 0; looked < WATCH_WORDS && looked + STRETCH <= words; looked += STRETCH) {
		const char *at;
		size_t first;

		watch->seed = watch->seed * UINT32_C(1664525) + UINT32_C(1013904223);
		first = (size_t)((uint64_t)watch->seed * (words - STRETCH + 1) >> 32);
		at = (const char *)data + first * sizeof(uint32_t);
		for (unsigned i = 0; i < STRETCH; i++) {
			uint32_t word;

			memcpy(&word, at + i * sizeof(word), sizeof(word));
			ones |= word;
			zeros |= ~word;
		}
		watch->word_count += STRETCH;
	}
	watch->ones = ones;
	watch->zeros = zeros;
}

bool watch_verdict(const struct watch *watch, char *text)
{
	uint64_t stuck = atomic_load_explicit(&watch->stuck, memory_order_relaxed);
	uint32_t at_one = (uint32_t)(stuck >> 32), at_zero = (uint32_t)stuck;
	uint32_t mask = UINT32_C(0xffffffff) >> (32 - watch->word_bits);

	if (stuck == 0)
		return false;
	if ((at_one | at_zero) == mask)
		snprintf(text, WATCH_TEXT_LEN,
			 "the data are constant (0x%0*" PRIx32 " for a second): is the sampler alive?",
			 (int)watch->word_bits / 4, at_one);
	else
		snprintf(text, WATCH_TEXT_LEN,
			 "bits of the %" PRIu32 "-bit sample word never change: mask 0x%0*" PRIx32
			 " at 1, mask 0x%0*" PRIx32 " at 0",
			 watch->word_bits, (int)watch->word_bits / 4, at_one,
			 (int)watch->word_bits / 4, at_zero);
	return true;
}
