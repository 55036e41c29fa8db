/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * codif.h - the header of a CODIF frame: 64 bytes in little-endian words of 64 bits
 *
 * Like VDIF (drivers/vdif.h), but frames are counted in periods of whole seconds, the length is that of the
 * payload, and there is a sync word.
 *
 * Threads: pure functions.
 */
#ifndef VSIB_DRIVERS_CODIF_H
#define VSIB_DRIVERS_CODIF_H

#include <stdbool.h>
#include <stdint.h>

#define CODIF_HEADER_BYTES 64

struct codif_header {
	bool is_invalid;
	bool is_complex;
	uint8_t epoch; /* half-years since 2000-01-01, as in VDIF */
	uint8_t bits;
	uint8_t version;
	uint8_t representation; /* of the samples */
	uint16_t channels;
	uint16_t thread, group, secondary, station;
	uint16_t period_s;
	uint32_t second; /* since the epoch; of the period's begin */
	uint32_t frame;  /* in the period */
	uint64_t samples_a_period;
	uint64_t frame_bytes; /* this header included */
};

/** codif_read() - @data: CODIF_HEADER_BYTES. Return: true: sync word, period and payload are there. */
bool codif_read(const void *data, struct codif_header *header);

/** codif_is_alike() - can both be of one recording: sync word, length, form of the samples */
bool codif_is_alike(const void *data, const void *other);

/** codif_frames_a_period() - of each thread. Return: 0: no whole number. */
uint32_t codif_frames_a_period(const struct codif_header *header);

#endif
