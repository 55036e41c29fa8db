/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/fragments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of a fragment as it came: of IPv4 they may overlap. */
struct piece {
	uint16_t offset;
	uint16_t len;
};

struct set {
	struct fragment_key key;
	uint64_t order; /* the lower, the older; 0 = not in use */
	int64_t began_utc_ns;
	uint64_t began_count; /* fragments that had come until then */
	bool is_refused; /* remembered only, so that what else comes of it is refused as well */
	uint8_t protocol;
	uint32_t total_bytes; /* 0: the last fragment has not come */
	uint32_t held_bytes;
	unsigned piece_count;
	struct piece pieces[FRAGMENTS_PIECES]; /* by offset */
	unsigned char data[FRAGMENTS_BYTES_MAX + 1];
};

struct fragments {
	struct fragments_counts counts;
	uint64_t last_order;
	uint64_t taken_count; /* possible fragments so far */
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
static bool is_expired(const struct fragments *fragments, const struct set *set, int64_t utc_ns)
{
	uint64_t age_ns = (uint64_t)utc_ns - (uint64_t)set->began_utc_ns;

	if (fragments->taken_count - set->began_count > FRAGMENTS_SPAN)
		return true;
	return age_ns > (uint64_t)FRAGMENTS_TIMEOUT_NS && -age_ns > (uint64_t)FRAGMENTS_TIMEOUT_NS;
}

static struct set *find(struct fragments *fragments, const struct fragment *fragment)
{
	struct set *found = NULL;

	for (int i = 0; i < FRAGMENTS_SETS; i++) {
		struct set *set = &fragments->sets[i];

		if (set->order && is_expired(fragments, set, fragment->utc_ns))
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
	set->began_count = fragments->taken_count;
	set->is_refused = false;
	set->total_bytes = 0;
	set->held_bytes = 0;
	set->piece_count = 0;
	return set;
}

/* ---- fragments ----------------------------------------------------------------------------------- */

enum verdict { FITS, OVERLAPS, IS_THERE, IS_OF_ANOTHER, CONTRADICTS };

/* Where the next one begins is told in units of 8 bytes. In IPv4 the odd bytes may still be there: kept. */
static bool is_possible(const struct fragment *fragment)
{
	return fragment->len > 0 && fragment->len <= FRAGMENTS_BYTES_MAX &&
	       fragment->offset <= FRAGMENTS_BYTES_MAX - fragment->len && fragment->offset % 8 == 0 &&
	       (fragment->is_last || fragment->len % 8 == 0 || fragment->key.version == 4);
}

static size_t piece_end(const struct piece *piece)
{
	return (size_t)piece->offset + piece->len;
}

/* RFC 791 says what to do with them, RFC 5722 forbids them. */
static bool may_overlap(const struct fragment *fragment)
{
	return fragment->key.version == 4;
}

static enum verdict compare(const struct set *set, const struct piece *piece,
			    const struct fragment *fragment)
{
	size_t end = fragment->offset + fragment->len;

	if (fragment->offset >= piece_end(piece) || end <= piece->offset)
		return FITS;
	if (fragment->offset != piece->offset || fragment->len != piece->len)
		return may_overlap(fragment) ? OVERLAPS : CONTRADICTS;
	if (fragment->is_last != (end == set->total_bytes))
		return CONTRADICTS;
	if (memcmp(set->data + piece->offset, fragment->data, piece->len) == 0)
		return IS_THERE;
	/* who numbers all datagrams 0 doesn't number them */
	return may_overlap(fragment) && fragment->key.id != 0 ? OVERLAPS : IS_OF_ANOTHER;
}

/* Two ends, an end in the middle of what is there, or bytes that begin behind the end. */
static bool contradicts_end(const struct set *set, const struct fragment *fragment)
{
	size_t end = fragment->offset + fragment->len;

	if (set->total_bytes && may_overlap(fragment))
		return fragment->offset >= set->total_bytes ||
		       (fragment->is_last && end != set->total_bytes);
	if (set->total_bytes)
		return fragment->is_last || end > set->total_bytes;
	for (unsigned i = 0; fragment->is_last && i < set->piece_count; i++)
		if (piece_end(&set->pieces[i]) > end)
			return true;
	return false;
}

static enum verdict judge(const struct set *set, const struct fragment *fragment)
{
	enum verdict verdict = FITS;

	for (unsigned i = 0; i < set->piece_count; i++) {
		enum verdict next = compare(set, &set->pieces[i], fragment);

		if (next > OVERLAPS)
			return next;
		if (next == OVERLAPS)
			verdict = OVERLAPS;
	}
	if (set->piece_count == FRAGMENTS_PIECES || contradicts_end(set, fragment))
		return CONTRADICTS;
	return verdict;
}

/* Copies what no earlier fragment has brought, up to the end if that is known. Return: how many bytes. */
static size_t fill_holes(struct set *set, const struct fragment *fragment)
{
	size_t at = fragment->offset, end = at + fragment->len, filled = 0;

	if (set->total_bytes && end > set->total_bytes)
		end = set->total_bytes;
	for (unsigned i = 0; i <= set->piece_count && at < end; i++) {
		const struct piece *piece = i < set->piece_count ? &set->pieces[i] : NULL;
		size_t stop = piece && piece->offset < end ? piece->offset : end;

		if (stop > at) {
			memcpy(set->data + at, fragment->data + (at - fragment->offset), stop - at);
			filled += stop - at;
			at = stop;
		}
		if (piece && piece_end(piece) > at)
			at = piece_end(piece);
	}
	set->held_bytes += (uint32_t)filled;
	return filled;
}

static void add_piece(struct set *set, const struct fragment *fragment)
{
	unsigned at = set->piece_count++;

	for (; at > 0 && set->pieces[at - 1].offset > fragment->offset; at--)
		set->pieces[at] = set->pieces[at - 1];
	set->pieces[at] = (struct piece){
		.offset = (uint16_t)fragment->offset,
		.len = (uint16_t)fragment->len,
	};
}

/* Return: false: all its bytes were there, and only where the datagram ends may be new. */
static bool keep(struct set *set, const struct fragment *fragment)
{
	bool is_first = set->piece_count == 0 || set->pieces[0].offset > 0;

	if (fragment->is_last)
		set->total_bytes = (uint32_t)(fragment->offset + fragment->len);
	if (fragment->offset == 0 && is_first)
		set->protocol = fragment->protocol;
	if (fill_holes(set, fragment) == 0)
		return false;
	add_piece(set, fragment);
	return true;
}

/* No byte is counted twice: as many as the total are all of them. */
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
	fragments->taken_count++;
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
	fragments->counts.overlapping_fragments += verdict == OVERLAPS;
	fragments->counts.duplicate_fragments += !keep(set, fragment);
	return finish(fragments, set, whole);
}

void fragments_end(struct fragments *fragments)
{
	for (int i = 0; i < FRAGMENTS_SETS; i++)
		give_up(fragments, &fragments->sets[i]);
}
