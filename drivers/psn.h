/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * psn.h - where a datagram says which one of its stream it is
 *
 * Either a number stands in front of the payload (4 or 8 bytes, not recorded), or the payload is a frame
 * that has its own: VDIF or Mark5B. What came twice in the same way tells which it is (psn_detect()).
 *
 * Threads: pure functions.
 */
#ifndef VSIB_DRIVERS_PSN_H
#define VSIB_DRIVERS_PSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum psn_kind {
	PSN_AUTO, /* not known yet */
	PSN_NONE,
	PSN_LE64, /* VTP */
	PSN_BE64,
	PSN_LE32,
	PSN_BE32,
	PSN_VDIF,
	PSN_MARK5B,
	PSN_KIND_COUNT
};

#define PSN_NAMES "auto, none, le64, be64, le32, be32, vdif or mark5b"

/* A datagram's place in its stream: a number, or a number in an interval. */
struct psn {
	uint32_t thread;   /* a stream of its own: station and thread of VDIF; else 0 */
	uint64_t interval; /* VDIF, Mark5B: a second; else 0 */
	uint64_t number;
	uint32_t rate;      /* numbers an interval has, when the header says it; 0 = not known */
	bool is_32_bit;     /* the number wraps after 2^32 */
	bool is_upper_half; /* PSN_LE64: nothing but its upper half, see psn_take_half() */
	bool is_unwanted;   /* not to be recorded, says its sender: bit 63 */
};

/** psn_kind_of() - by its name. Return: false: there is none of that name. */
bool psn_kind_of(const char *name, enum psn_kind *kind);

const char *psn_name(enum psn_kind kind);

/** psn_prefix_bytes() - what stands in front of the payload: 0, 4 or 8 */
size_t psn_prefix_bytes(enum psn_kind kind);

/**
 * psn_read() - @kind: any but PSN_AUTO and PSN_NONE
 * @prefix:  psn_prefix_bytes() of them
 * @payload: @len bytes
 *
 * With PSN_MARK5B a frame may come in two halves, which count by two; the first has a header.
 * Return: false: it has no number. The second half of a Mark5B frame is such a one; so is what has a VDIF
 *         header whose length isn't that of the datagram.
 */
bool psn_read(enum psn_kind kind, const void *prefix, const void *payload, size_t len, struct psn *psn);

#define PSN_PUT_NAMES "none, le64, be64, le32 or be32"

/** psn_can_put() - is it a number that stands in front of the payload, or none? */
bool psn_can_put(enum psn_kind kind);

/** psn_put() - @prefix: psn_prefix_bytes() of them; of 32 bits the lower half of the number. @kind: as psn_can_put() says */
void psn_put(enum psn_kind kind, uint64_t number, void *prefix);

/**
 * psn_take_half() - the number is one of 32 bits that stands in the upper half of 64
 *
 * Some senders do so. A number of 64 bits looks like that once in 2^32, and its neighbours don't.
 */
void psn_take_half(struct psn *psn);

/**
 * psn_detect() - what two datagrams of one sender have
 * @earlier: @len bytes
 * @later:   as many; the same datagram when there is no other
 *
 * A header at 0 whose length is that of the datagram comes before one behind a number; of the two orders
 * of bytes the one in which the numbers are nearer to each other is taken.
 * Return: the kind; PSN_NONE when nothing is known.
 */
enum psn_kind psn_detect(const void *earlier, const void *later, size_t len);

#endif
