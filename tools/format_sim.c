/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/format_sim.h"

#include "drivers/bytes.h"
#include "drivers/sim.h"

#define WORD_BYTES 8
#define WORD_MAX (UINT64_C(1) << 61)
#define LOOK_BYTES ((size_t)2 * WORD_BYTES) /* two words that follow each other are enough */

/*
 * Where the pattern goes on: two words, one behind the other, at any byte; and back from there as far as
 * the bytes fit. Return: false: not in these bytes, and *at is where to look next.
 */
static bool find_again(const unsigned char *data, size_t len, uint64_t seed, size_t *at,
		       uint64_t *position)
{
	size_t begin = *at;
	unsigned char before;

	for (; len - *at >= LOOK_BYTES; (*at)++) {
		uint64_t word = sim_position(bytes_le64(data + *at), seed);

		if (word >= WORD_MAX ||
		    sim_position(bytes_le64(data + *at + WORD_BYTES), seed) != word + 1)
			continue;
		*position = word * WORD_BYTES;
		while (*at > begin && *position > 0) {
			sim_fill(&before, 1, *position - 1, seed);
			if (before != data[*at - 1])
				break;
			--*at;
			--*position;
		}
		return true;
	}
	return false;
}

/* The bytes [from, to) are not the pattern's, and behind them it goes on at @position. */
static void note(struct format_stats *stats, size_t wrong, uint64_t offset, uint64_t position)
{
	uint64_t expected = stats->layout.sim_offset + wrong;

	if (wrong)
		format_stats_fault(stats, FORMAT_WRONG_BYTES, offset, wrong);
	if (position > expected)
		format_stats_fault(stats, FORMAT_LOST_BYTES, offset + wrong, position - expected);
	else if (position < expected)
		format_stats_fault(stats, FORMAT_REPEATED_BYTES, offset + wrong, expected - position);
}

size_t format_sim_walk(struct format_stats *stats, const unsigned char *data, size_t len,
		       uint64_t offset, bool is_last)
{
	struct format_layout *layout = &stats->layout;
	size_t done = 0;

	while (done < len) {
		size_t good = sim_verify(data + done, len - done, layout->sim_offset, layout->seed), at;
		uint64_t position;

		done += good;
		layout->sim_offset += good;
		if (done == len || (!is_last && len - done < LOOK_BYTES))
			break;
		at = done;
		if (!find_again(data, len, layout->seed, &at, &position)) {
			/* as if they were wrong bytes; the pattern may go on elsewhere behind them */
			at = is_last ? len : at;
			position = layout->sim_offset + (at - done);
		}
		note(stats, at - done, offset + done, position);
		done = at;
		layout->sim_offset = position;
	}
	return done;
}
