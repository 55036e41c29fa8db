/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame_rate.h - how many frames there are in a second, where headers don't say it: they are counted
 *
 * Threads: no state.
 */
#ifndef VSIB_TOOLS_REPLAY_FRAME_RATE_H
#define VSIB_TOOLS_REPLAY_FRAME_RATE_H

#include <stdint.h>
#include <sys/types.h>

#include "tools/format.h"

/**
 * frame_rate_count() - from the stream's first frames on, until two seconds have ended, or after a gigabyte
 * @layout:     of these frames; of Mark5B a few are enough: they have fractions
 * @not_after_s: see format_detect()
 * @read:       bytes from *@offset on, which it may put behind a gap; 0 = there are no more; or -errno
 *
 * Return: frames an interval of each thread; 0: that can't be known.
 */
uint32_t frame_rate_count(const struct format_layout *layout, int64_t not_after_s,
			  ssize_t (*read)(void *context, uint64_t *offset, void *buf, size_t len),
			  void *context);

#endif
