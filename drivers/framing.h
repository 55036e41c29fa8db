/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * framing.h - from a unit to what goes out: the details that several destinations have, and the headers in front of datagrams
 *
 *   framing_init() -> framing_detail() for each detail -> framing_begin() -> framing_put() for each unit
 *
 *   psn=none|le64|be64|le32|be32   number in front of each datagram
 *   frame=SIZE           payload of each, without the number
 *   to=ADDR:PORT from=ADDR[:PORT]  of the datagrams, in numbers
 *   mac=MAC from-mac=MAC           of the frames of Ethernet round them
 *   buffer=SIZE          of a socket
 *
 * Whole packets have all that already: for them none of these details is taken, and nothing stands in front.
 * Threads: the destination's.
 * Errors:  -errno, and the sentence in destination->error.
 */
#ifndef VSIB_DRIVERS_FRAMING_H
#define VSIB_DRIVERS_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "drivers/destination.h"
#include "drivers/headers.h"

#define FRAMING_KEYS "psn frame to from mac from-mac"
#define FRAMING_PARTS_MAX 3 /* of a unit: number and two parts */
#define FRAMING_PORT 46227
#define FRAMING_BUFFER_DEFAULT (UINT64_C(4) << 20)

struct framing {
	bool is_whole; /* the units are packets */
	bool has_to, has_from, has_mac, has_from_mac;
	struct headers_config config; /* what was given; the rest is for the destination to fill in before framing_begin() */
	struct headers headers;
};

/** framing_init() - sets what the destination takes: packets, or datagrams */
void framing_init(struct destination *destination, struct framing *framing,
		  const struct destination_config *config);

/** framing_detail() - one of FRAMING_KEYS. Return: 0; -EINVAL; -ERANGE. */
int framing_detail(struct destination *destination, struct framing *framing, const char *key,
		   const char *value);

/** framing_detail_psn(), framing_detail_frame() - these two alone, into the destination. Return: as framing_detail() */
int framing_detail_psn(struct destination *destination, const char *value);
int framing_detail_frame(struct destination *destination, const char *key, const char *value);

/** framing_detail_buffer() - a socket's. Return: as framing_detail() */
int framing_detail_buffer(struct destination *destination, const char *value, uint64_t *bytes);

/** framing_set_buffer() - of that size, if the kernel gives it; less than what was asked for is told */
void framing_set_buffer(struct destination *destination, int fd, uint64_t bytes);

/**
 * framing_begin() - with all addresses in framing->config; where the sender's port wasn't given it becomes that of the receiver
 * Return: 0; -EINVAL: one is of IPv4 and the other of IPv6, or there is no port.
 */
int framing_begin(struct destination *destination, struct framing *framing);

/**
 * framing_put() - what goes out for a unit
 * @headers: HEADERS_BYTES_MAX of room
 * @pieces:  FRAMING_PARTS_MAX + 1 of them; they point to @headers, and into the unit
 * @bytes:   of the pieces together
 *
 * Return: how many pieces; -EMSGSIZE: a datagram can't be as long.
 */
int framing_put(struct destination *destination, struct framing *framing,
		const struct destination_unit *unit, unsigned char *headers, struct iovec *pieces,
		size_t *bytes);

/** framing_unit_parts() - number and parts of a unit, without headers. Return: how many pieces. */
unsigned framing_unit_parts(const struct destination_unit *unit, struct iovec *pieces);

#endif
