/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exclusive_or.h - the sum that parity is made of, and rebuilt from
 */
#ifndef VSIB_RECORDER_EXCLUSIVE_OR_H
#define VSIB_RECORDER_EXCLUSIVE_OR_H

#include <stddef.h>
#include <stdint.h>

/** exclusive_or() - add @bytes of @from to @to; of any alignment, not overlapping */
static inline void exclusive_or(char *to, const char *from, size_t bytes)
{
	typedef uint64_t words __attribute__((vector_size(32), aligned(1), may_alias));
	size_t i = 0;

	for (; i + sizeof(words) <= bytes; i += sizeof(words))
		*(words *)(to + i) ^= *(const words *)(from + i);
	for (; i < bytes; i++)
		to[i] ^= from[i];
}

#endif
