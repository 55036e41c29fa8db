/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/fragments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct piece {
	uint16_t offset;
	uint16_t len;
};

struct set {
	struct fragment_key key;
	uint64_t order; /* the lower, the older; 0 = not in use */
	int64_t began_utc_ns;
	bool is_refused; /* remembered only, so that what else comes of it is refused as well */
	uint8_t protocol;
	uint32_t total_bytes; /* 0: the last fragment has not come */
	uint32_t held_bytes;
	unsigned piece_count;
	struct piece pieces[FRAGMENTS_PIECES];
	unsigned char data[FRAGMENTS_BYTES_MAX + 1];
};

struct fragments {
	struct fragments_counts counts;
	uint64_t last_order;
	struct set sets[FRAGMENTS_SETS];
};

_Static_assert(sizeof(struct fragment_key) == 40, "keys are compared byte by byte: no holes");

int fragments_create(struct fragments **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void fragments_free(struct fragments *fragments)
{
	free(fragments);
}

const struct fragments_counts *fragments_counts(const struct fragments *fragments)
{
	return &fragments->counts;
}

/* ---- sets ---------------------------------------------------------------------------------------- */

static void give_up(struct fragments *fragments, struct set *set)
{
	if (set->order && !set->is_refused) {
		fragments->counts.incomplete_count++;
		fragments->counts.incomplete_fragments += set->piece_count;
	}
	set->order = 0;
}

static void refuse(struct fragments *fragments, struct set *set)
{
	fragments->counts.refused_count++;
	fragments->counts.refused_fragments += set->piece_count;
	set->is_refused = true;
}

/* A time that lies far before the set's is as good a reason as one far behind it. */
static bool is_expired(const struct set *set, int64_t utc_ns)
{
	uint64_t age_ns = (uint64_t)utc_ns - (uint64_t)set->began_utc_ns;

	return age_ns > (uint64_t)FRAGMENTS_TIMEOUT_NS && -age_ns > (uint64_t)FRAGMENTS_TIMEOUT_NS;
}

static struct set *find(struct fragments *fragments, const struct fragment *fragment)
{
	struct set *found = NULL;

	for (int i = 0; i < FRAGMENTS_SETS; i++) {
		struct set *set = &fragments->sets[i];

		if (set->order && is_expired(set, fragment->utc_ns))
			give_up(fragments, set);
		if (set->order && memcmp(&set->key, &fragment->key, sizeof(set->key)) == 0)
			found = set;
	}
	return found;
}

/* In a place that is free, or else in that of the oldest set. */
static struct set *begin(struct fragments *fragments, const struct fragment *fragment)
{
	struct set *set = &fragments->sets[0];

	for (int i = 1; i < FRAGMENTS_SETS; i++)
		if (fragments->sets[i].order < set->order)
			set = &fragments->sets[i];
	give_up(fragments, set);
	set->key = fragment->key;
	set->order = ++fragments->last_order;
	set->began_utc_ns = fragment->utc_ns;
	set->is_refused = false;
	set->total_bytes = 0;
	set->held_bytes = 0;
	set->piece_count = 0;
	return set;
}

/* ---- fragments ----------------------------------------------------------------------------------- */

enum verdict { FITS, IS_THERE, IS_OF_ANOTHER, CONTRADICTS };

static bool is_possible(const struct fragment *fragment)
{
	return fragment->len > 0 && fragment->len <= FRAGMENTS_BYTES_MAX &&
	       fragment->offset <= FRAGMENTS_BYTES_MAX - fragment->len &&
	       fragment->offset % 8 == 0 && (fragment->is_last || fragment->len % 8 == 0);
}

static enum verdict compare(const struct set *set, const struct piece *piece,
			    const struct fragment *fragment)
{
	size_t end = fragment->offset + fragment->len;

	if (fragment->offset >= (size_t)piece->offset + piece->len || end <= piece->offset)
		return FITS;
	if (fragment->offset != piece->offset || fragment->len != piece->len ||
	    fragment->is_last != (end == set->total_bytes))
		return CONTRADICTS;
	return memcmp(set->data + piece->offset, fragment->data, piece->len) ? IS_OF_ANOTHER : IS_THERE;
}

static enum verdict judge(const struct set *set, const struct fragment *fragment)
{
	size_t end = fragment->offset + fragment->len;

	for (unsigned i = 0; i < set->piece_count; i++) {
		enum verdict verdict = compare(set, &set->pieces[i], fragment);

		if (verdict != FITS)
			return verdict;
		/* pieces behind the end, or two ends */
		if (fragment->is_last && set->pieces[i].offset >= end)
			return CONTRADICTS;
	}
	if (set->total_bytes && (fragment->is_last || end > set->total_bytes))
		return CONTRADICTS;
	return set->piece_count < FRAGMENTS_PIECES ? FITS : CONTRADICTS;
}

static void keep(struct set *set, const struct fragment *fragment)
{
	set->pieces[set->piece_count++] = (struct piece){
		.offset = (uint16_t)fragment->offset,
		.len = (uint16_t)fragment->len,
	};
	memcpy(set->data + fragment->offset, fragment->data, fragment->len);
	set->held_bytes += (uint32_t)fragment->len;
	if (fragment->is_last)
		set->total_bytes = (uint32_t)(fragment->offset + fragment->len);
	if (fragment->offset == 0)
		set->protocol = fragment->protocol;
}

/* Pieces never overlap: as many bytes as the total are all of them. */
static enum fragments_step finish(struct fragments *fragments, struct set *set,
				  struct fragments_whole *whole)
{
	if (!set->total_bytes || set->held_bytes < set->total_bytes)
		return FRAGMENTS_HELD;
	fragments->counts.whole_count++;
	fragments->counts.whole_fragments += set->piece_count;
	set->order = 0;
	*whole = (struct fragments_whole){ set->data, set->total_bytes, set->protocol };
	return FRAGMENTS_WHOLE;
}

enum fragments_step fragments_take(struct fragments *fragments, const struct fragment *fragment,
				   struct fragments_whole *whole)
{
	struct set *set;
	enum verdict verdict = FITS;

	if (!is_possible(fragment))
		return FRAGMENTS_IMPOSSIBLE;
	set = find(fragments, fragment);
	if (set && !set->is_refused)
		verdict = judge(set, fragment);
	if (verdict == IS_THERE) {
		fragments->counts.duplicate_fragments++;
		return FRAGMENTS_HELD;
	}
	if (verdict == CONTRADICTS)
		refuse(fragments, set);
	if (set && set->is_refused) {
		fragments->counts.refused_fragments++;
		return FRAGMENTS_REFUSED;
	}
	if (verdict == IS_OF_ANOTHER) {
		give_up(fragments, set);
		set = NULL;
	}
	if (!set)
		set = begin(fragments, fragment);
	keep(set, fragment);
	return finish(fragments, set, whole);
}

void fragments_end(struct fragments *fragments)
{
	for (int i = 0; i < FRAGMENTS_SETS; i++)
		give_up(fragments, &fragments->sets[i]);
}
