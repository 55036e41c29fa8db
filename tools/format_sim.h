/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format_sim.h - the simulator's pattern as a format: every byte is looked at
 *
 * Threads: pure functions.
 */
#ifndef VSIB_TOOLS_FORMAT_SIM_H
#define VSIB_TOOLS_FORMAT_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/format_stats.h"

/**
 * format_sim_walk() - compare bytes with the pattern; where they don't fit, find where it goes on
 * @stats:   its layout says where the pattern is, and is moved on
 * @offset:  of @data in the stream
 * @is_last: nothing follows these bytes
 *
 * Return: bytes that are done; the rest wants more behind it.
 */
size_t format_sim_walk(struct format_stats *stats, const unsigned char *data, size_t len,
		       uint64_t offset, bool is_last);

#endif
