/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format_scan.h - finds the format of a stream, and walks it frame by frame
 *
 *   format_scan_create() -> format_scan_room(), read into it, format_scan_feed(); again while
 *   format_scan_wants_more() -> format_scan_end() -> format_scan_stats() -> format_scan_free()
 *
 * The stream may have gaps: format_scan_feed() is told where the bytes lie. Frames are expected at multiples
 * of their length from the first one, also behind a gap; where none is, the next place is searched where two
 * follow each other. Only headers are looked at (but each byte of the simulator's pattern).
 *
 * Threads: one caller at a time. Memory is constant; nothing in the bytes can make it grow.
 */
#ifndef VSIB_TOOLS_FORMAT_SCAN_H
#define VSIB_TOOLS_FORMAT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/format_stats.h"

struct format_scan;

struct format_scan_config {
	int64_t not_after_s; /* see format_detect() */
	uint32_t rate; /* frames a second of each thread, where headers don't say it; 0: not known */
};

/** format_scan_create() - Return: 0; -ENOMEM. */
int format_scan_create(struct format_scan **out, const struct format_scan_config *config);

/** format_scan_free() - NULL is fine */
void format_scan_free(struct format_scan *scan);

/**
 * format_scan_room() - where the next bytes of the stream are to be put
 * @len: how many at most; 1 MiB
 *
 * Return: the memory, until the next call of format_scan_feed().
 */
void *format_scan_room(struct format_scan *scan, size_t *len);

/** format_scan_feed() - @len bytes have been put there; they lie at @offset of the stream, never before others */
void format_scan_feed(struct format_scan *scan, uint64_t offset, size_t len);

/** format_scan_wants_more() - false: there is no known format */
bool format_scan_wants_more(const struct format_scan *scan);

/** format_scan_end() - there are no more bytes */
void format_scan_end(struct format_scan *scan);

/** format_scan_stats() - whole after format_scan_end() */
const struct format_stats *format_scan_stats(const struct format_scan *scan);

#endif
