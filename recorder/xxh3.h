/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xxh3.h - XXH3-64, by the widest vector instructions that this processor has
 *
 * On x86 the library's plain functions use SSE2 alone; its dispatching ones, which have the same names
 * from here on, look at the processor first and are three times as fast with AVX2.
 */
#ifndef VSIB_RECORDER_XXH3_H
#define VSIB_RECORDER_XXH3_H

#include <xxhash.h>

#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif
#endif

#endif
