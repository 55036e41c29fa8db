/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcapng.h - packets as pcapng, written round the packets where they lie
 *
 *   pcapng_begin() -> pcapng_packet() for each packet -> a section that is complete in itself
 *
 * A kernel's packet ring has headers of its own in front of each packet. They are overwritten by those of
 * pcapng, what is left between two packets is taken up by an option nobody has to know, and the memory of the
 * ring is a part of a savefile as it stands: no packet is copied. Each part begins with a section
 * header, so that parts can stand behind one another in any order and in any file.
 *
 * Format: draft-ietf-opsawg-pcapng (section header, interface description and enhanced packet blocks), in
 * the byte order of the host. Custom options have the enterprise number 32473, which RFC 5612 keeps for
 * examples.
 *
 * Threads: pure functions.
 */
#ifndef VSIB_DRIVERS_PCAPNG_H
#define VSIB_DRIVERS_PCAPNG_H

#include <stddef.h>
#include <stdint.h>

#define PCAPNG_ALIGN 4         /* of all that stands in a file */
#define PCAPNG_HEAD_BYTES 28   /* of a packet, in front of its bytes */
#define PCAPNG_TAIL_BYTES 4    /* behind them, after padding */
#define PCAPNG_BEGIN_BYTES 512 /* at most, of what pcapng_begin() has to say */

struct pcapng_interface {
	uint16_t link_type;  /* LINKTYPE_... */
	uint32_t snap_len;   /* 0 = whole packets */
	const char *name;    /* of the interface; up to 63 bytes count */
	const char *filter;  /* the expression; "" = none; up to 127 bytes count */
	const char *program; /* name and version of who writes; up to 63 bytes count */
};

struct pcapng_packet {
	int64_t utc_ns;
	uint32_t captured_bytes;
	uint32_t wire_bytes;
};

/**
 * pcapng_begin() - section header and interface description, exactly @bytes of them
 * @to:    PCAPNG_ALIGN
 * @bytes: at least PCAPNG_BEGIN_BYTES, a multiple of PCAPNG_ALIGN
 */
void pcapng_begin(void *to, size_t bytes, const struct pcapng_interface *interface);

/**
 * pcapng_packet() - what belongs round a packet's bytes
 * @data:  they lie there; PCAPNG_ALIGN; PCAPNG_HEAD_BYTES in front of them are overwritten
 * @until: the next packet's head, or the end of the part: all from the packet's end to there is
 *         overwritten; at least pcapng_tail() behind @data, PCAPNG_ALIGN
 */
void pcapng_packet(void *data, void *until, const struct pcapng_packet *packet);

/** pcapng_tail() - the least from a packet's begin to the next one's head */
static inline size_t pcapng_tail(uint32_t captured_bytes)
{
	return ((size_t)captured_bytes + PCAPNG_ALIGN - 1) / PCAPNG_ALIGN * PCAPNG_ALIGN +
	       PCAPNG_TAIL_BYTES;
}

#endif
