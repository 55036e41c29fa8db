/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vtp.h - the number in front of a packet: 8 bytes, then a frame or a half of one
 *
 * Little-endian. Senders of Mark5B frames that leave half of it unused have a number of 32 bits in bytes 4
 * to 7 and zeros before it.
 *
 * Threads: pure functions.
 */
#ifndef VSIB_DRIVERS_VTP_H
#define VSIB_DRIVERS_VTP_H

#include <stdint.h>

#define VTP_BYTES 8

/**
 * vtp_number() - @data: VTP_BYTES, at any address
 *
 * A number that is 0 in its lower half is taken for one of 32 bits in the upper half: the other kind is
 * seen once in 2^32 packets.
 */
uint64_t vtp_number(const void *data);

#endif
