/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark4.h - the headers of Mark4 and VLBA tape frames, as they lie on disk
 *
 * 8, 16, 32 or 64 tracks side by side: bit k of a little-endian word is track k. On each track a frame has
 *
 *   Mark4   64 auxiliary bits, 32 ones, 13 decimal digits of time, CRC-12; 19840 data bits: 20000 in all
 *   VLBA    32 ones, 12 decimal digits of time, CRC-16; 20000 data bits, 64 auxiliary bits: 20160 in all
 *
 * Threads: pure functions.
 */
#ifndef VSIB_DRIVERS_MARK4_H
#define VSIB_DRIVERS_MARK4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/mark5b.h"

#define MARK4_TRACKS_MAX 64
#define MARK4_HEADER_BITS 160 /* of a track */
#define VLBA_HEADER_BITS 96
#define MARK4_HEADER_BYTES_MAX (MARK4_HEADER_BITS / 8 * MARK4_TRACKS_MAX)
#define MARK4_SYNC_BITS 32

/* Bytes of a track, to be multiplied by the number of tracks. */
#define MARK4_TRACK_BYTES 2500
#define VLBA_TRACK_BYTES 2520

struct mark4_header {
	uint32_t bad_tracks; /* whose CRC is wrong */
	/* of the first track whose CRC is right */
	uint8_t year;    /* its last digit; Mark4 only */
	uint16_t day;    /* of the year, from 1; Mark4 only */
	uint32_t second; /* of that day */
	uint32_t ns;
	struct vlba_time vlba; /* VLBA only */
};

/** mark4_has_sync() - are the ones of Mark4 where they have to be? @data: a header of so many tracks */
bool mark4_has_sync(const void *data, int track_count, bool is_vlba);

/**
 * mark4_read() - @data: the header bits of all tracks, at any address
 *
 * Return: true: the sync is there, and at least one track has a right CRC and a time that can be true.
 */
bool mark4_read(const void *data, int track_count, bool is_vlba, struct mark4_header *header);

/**
 * mark4_year_before() - the year that ends in a digit
 * @not_after_s: seconds since 1970; the latest year whose day @day does not begin after this
 */
int mark4_year_before(unsigned int digit, unsigned int day, int64_t not_after_s);

/** mark4_year_near() - the one nearest to a year */
int mark4_year_near(unsigned int digit, int near_year);

/** mark4_utc_s() - when the header's second begins, in seconds since 1970; @year: all of it */
int64_t mark4_utc_s(const struct mark4_header *header, int year);

#endif
