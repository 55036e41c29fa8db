/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copies.h - of a recording that is written twice: what is lost of each copy, and what of both
 *
 *   copies_create() -> copies_lose() ... -> copies_sum() -> copies_free()
 *
 * Every byte put into the ring is to be written as copy 0 and as copy 1, and each of the two comes to one
 * of two ends: it is durable, or it is lost. Only what is lost of both is missing in the recording.
 *   durable once at least = durable of copy 0 + lost of copy 0 - lost of both
 *                         = durable of copy 1 + lost of copy 1 - lost of both
 * Threads: any; a short lock, for losses only.
 */
#ifndef VSIB_RECORDER_COPIES_H
#define VSIB_RECORDER_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/account.h"

#define COPIES_MAX 2

struct copies;

struct copies_sum {
	uint64_t lost_bytes[COPIES_MAX];
	uint64_t gone_bytes[GAP_CAUSE_COUNT]; /* lost of both, by the cause of the later loss */
};

/** copies_create() - Return: 0; -ENOMEM */
int copies_create(struct copies **out);

/** copies_free() - NULL is fine */
void copies_free(struct copies *copies);

/** copies_tell - [@stream_offset, @stream_offset + @bytes) is lost of both; must not call copies_lose() */
typedef void copies_tell(void *context, uint64_t stream_offset, uint64_t bytes);

/**
 * copies_lose() - these bytes of one copy will never be durable; each is lost once at most
 * @is_second: of copy 1
 * @tell: is called for each stretch of them that was lost of the other copy already, in order
 * Return: 0; -ENOMEM: not noted: the account won't close.
 */
int copies_lose(struct copies *copies, bool is_second, uint64_t stream_offset, uint64_t bytes,
		enum gap_cause cause, copies_tell *tell, void *context);

struct copies_sum copies_sum(struct copies *copies);

/** copies_gone_bytes() - lost of both, whatever the cause */
uint64_t copies_gone_bytes(const struct copies_sum *sum);

#endif
