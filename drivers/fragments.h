/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fragments.h - puts the fragments of IP datagrams together again, in fixed memory
 *
 *   fragments_create() -> fragments_take() for each fragment, as they come -> fragments_end()
 *   -> fragments_counts() -> fragments_free()
 *
 * Fragments may come in any order, those of FRAGMENTS_SETS datagrams mixed. A datagram that does not become
 * whole within FRAGMENTS_TIMEOUT_NS, by the time of its packets and not by any clock, is given up; so is the
 * oldest one when there are too many at a time, and one since whose begin FRAGMENTS_SPAN fragments came: at
 * 10 Gbit/s the 65536 numbers of IPv4 come round in less than a second, and what is left of a datagram must not
 * meet the next one of its number.
 *
 * The same fragment twice does no harm. Fragments of IPv4 may overlap (RFC 791): each byte is the one that came
 * first, also of senders that use a number again too soon, and what lies behind a known end is left away; it is
 * counted. Of IPv6 they may not (RFC 5722): such a datagram is refused, and what else comes of it; so is one of
 * which two ends are told. Where a number tells nothing (IPv4: 0, as some instruments number all of theirs), or
 * is not used again soon (IPv6), other bytes in the very place of a fragment belong to a new datagram: the older
 * one is given up.
 *
 * Threads: one caller at a time. No allocation after fragments_create(); nothing that comes can make it grow.
 */
#ifndef VSIB_DRIVERS_FRAGMENTS_H
#define VSIB_DRIVERS_FRAGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAGMENTS_SETS 64
#define FRAGMENTS_BYTES_MAX 65535 /* of a datagram */
#define FRAGMENTS_PIECES 128      /* of a datagram: enough for the longest one over the least MTU */
#define FRAGMENTS_TIMEOUT_NS INT64_C(120000000000) /* the longest that RFC 1122 allows */
/* Fragments: no more can be held, so none is waited for longer. */
#define FRAGMENTS_SPAN ((uint64_t)FRAGMENTS_SETS * FRAGMENTS_PIECES)

/* Which datagram. IPv4 addresses are in the first 4 bytes, the others are 0. */
struct fragment_key {
	unsigned char source[16];
	unsigned char destination[16];
	uint32_t id;
	uint32_t version; /* of IP */
};

struct fragment {
	struct fragment_key key;
	const unsigned char *data;
	size_t len;
	size_t offset;    /* in the datagram */
	bool is_last;     /* it ends the datagram; others are multiples of 8 bytes, those of IPv6 */
	uint8_t protocol; /* of what the datagram holds; that of the first fragment counts */
	int64_t utc_ns;   /* of the packet */
};

enum fragments_step {
	FRAGMENTS_HELD,  /* more has to come; or it was there already */
	FRAGMENTS_WHOLE, /* this was the last one that was missing */
	FRAGMENTS_REFUSED,
	FRAGMENTS_IMPOSSIBLE, /* no fragment lies so */
};

struct fragments_whole {
	const unsigned char *data; /* until the next fragments_take() */
	size_t len;
	uint8_t protocol;
};

/* Each fragment that was possible is in one of them, or still held. */
struct fragments_counts {
	uint64_t whole_count; /* datagrams */
	uint64_t whole_fragments;
	uint64_t incomplete_count; /* datagrams that were given up */
	uint64_t incomplete_fragments;
	uint64_t refused_count; /* datagrams of IPv6 whose fragments overlapped; with two ends; of too many */
	uint64_t refused_fragments;
	uint64_t duplicate_fragments; /* all of whose bytes were there already */
	uint64_t overlapping_fragments; /* of all these: some of whose bytes were, or others in their place */
};

struct fragments;

/** fragments_create() - some 4 MiB, of which only what is used is touched. Return: 0; -ENOMEM. */
int fragments_create(struct fragments **out);

/** fragments_free() - NULL is fine */
void fragments_free(struct fragments *fragments);

/** fragments_take() - the next fragment. @whole: set with FRAGMENTS_WHOLE */
enum fragments_step fragments_take(struct fragments *fragments, const struct fragment *fragment,
				   struct fragments_whole *whole);

/** fragments_end() - no more will come: what is held is incomplete */
void fragments_end(struct fragments *fragments);

const struct fragments_counts *fragments_counts(const struct fragments *fragments);

#endif
