/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * array.h - an array that grows by doubling
 */
#ifndef VSIB_TOOLS_ARRAY_H
#define VSIB_TOOLS_ARRAY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/**
 * array_room() - make room for one more item behind @count
 * @array: pointer to the array, NULL at first; free() it in the end
 *
 * The array is full whenever @count is 0 or a power of two: no capacity needs to be kept.
 * Return: the new item's memory, not cleared; NULL: no memory, the array is as it was.
 */
static inline void *array_room(void *array, size_t count, size_t item_bytes)
{
	void *items;

	memcpy(&items, array, sizeof(items));
	if ((count & (count - 1)) == 0) {
		size_t bytes;
		void *grown;

		if (__builtin_mul_overflow(count ? count * 2 : 1, item_bytes, &bytes))
			return NULL;
		grown = realloc(items, bytes);
		if (!grown)
			return NULL;
		memcpy(array, &grown, sizeof(grown));
		items = grown;
	}
	return (char *)items + count * item_bytes;
}

#endif
