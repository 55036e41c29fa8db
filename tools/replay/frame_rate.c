/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/frame_rate.h"

#include "tools/format_scan.h"

#define FRACTIONS_BYTES (UINT64_C(4) << 20) /* of Mark5B */
#define BYTES_MAX (UINT64_C(1) << 30)
#define INTERVALS 2 /* that have ended: of the first one the end may be missing */

/* Has it seen enough? */
static bool is_enough(const struct format_scan *scan, uint64_t seen_bytes, uint64_t most)
{
	const struct format_stats *stats = format_scan_stats(scan);

	return seen_bytes >= most || (stats->counted_rate > 0 &&
				      stats->newest.interval >= stats->first.interval + INTERVALS);
}

uint32_t frame_rate_count(const struct format_layout *layout, int64_t not_after_s,
			  ssize_t (*read)(void *context, uint64_t *offset, void *buf, size_t len),
			  void *context)
{
	const struct format_scan_config config = { .not_after_s = not_after_s };
	uint64_t most = layout->format == FORMAT_MARK5B ? FRACTIONS_BYTES : BYTES_MAX;
	uint64_t offset = 0, seen_bytes = 0;
	struct format_scan *scan;
	uint32_t rate = 0;
	ssize_t got = 1;

	if (format_scan_create(&scan, &config) < 0)
		return 0;
	while (got > 0 && format_scan_wants_more(scan) && !is_enough(scan, seen_bytes, most)) {
		size_t len;
		void *room = format_scan_room(scan, &len);

		got = read(context, &offset, room, len);
		if (got <= 0)
			break;
		format_scan_feed(scan, offset, (size_t)got);
		offset += (uint64_t)got;
		seen_bytes += (uint64_t)got;
	}
	format_scan_end(scan);
	if (format_scan_stats(scan)->layout.format == layout->format)
		rate = format_scan_stats(scan)->rate;
	format_scan_free(scan);
	return rate;
}
