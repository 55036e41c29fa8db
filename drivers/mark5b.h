/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark5b.h - the header of a Mark5B disk frame: 16 bytes, then 10000 of payload
 *
 * Little-endian words: a sync word; user bits and the number of the frame in the second; the time as the VLBA
 * writes it, in decimal digits: three of the Modified Julian Day, five of the second of the day, four of
 * the fraction, and a CRC. The year in the user bits is not to be relied on; which thousand days the day
 * lies in, somebody has to know (vlba_day_before()).
 *
 * Threads: pure functions.
 */
#ifndef VSIB_DRIVERS_MARK5B_H
#define VSIB_DRIVERS_MARK5B_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MARK5B_HEADER_BYTES 16
#define MARK5B_FRAME_BYTES 10016
#define MARK5B_HALF_BYTES 5008 /* of a frame, as it travels in two packets */

/* The time code of VLBA and Mark5B. */
struct vlba_time {
	uint16_t day;      /* of the Modified Julian Date, modulo 1000 */
	uint32_t second;   /* of the day */
	uint16_t fraction; /* of the second, in 0.1 ms, cut off */
};

struct mark5b_header {
	uint16_t user;
	bool is_test;   /* from a test vector generator */
	uint16_t frame; /* in the second, modulo 32768 */
	struct vlba_time time;
	bool has_crc; /* some senders leave it 0 */
	bool is_crc_right;
};

/**
 * mark5b_read() - @data: MARK5B_HEADER_BYTES, at any address
 *
 * Return: true: the sync word is there and the time is made of decimal digits; a wrong CRC is only told.
 */
bool mark5b_read(const void *data, struct mark5b_header *header);

/**
 * mark5b_put_header() - the header that mark5b_read() reads so
 * @data:   MARK5B_HEADER_BYTES
 * @header: with has_crc the CRC is put, and it is right; is_crc_right is not looked at
 *
 * Return: false, and nothing was put: a field has no room for its value.
 */
bool mark5b_put_header(void *data, const struct mark5b_header *header);

/** mark5b_is_sync() - do four bytes begin a frame? */
bool mark5b_is_sync(const void *data);

/** mark5b_is_fill() - is the payload's first word fill? @data: the header and 4 bytes more */
bool mark5b_is_fill(const void *data);

/**
 * mark5b_crc16() - x^16 + x^15 + x^2 + 1, from 0, highest bit first
 * @bits: the lowest @count of them, at most 48
 */
uint16_t mark5b_crc16(uint64_t bits, int count);

/** vlba_time_read() - 12 decimal digits in the lowest 48 bits. Return: false: they are not, or no time of day. */
bool vlba_time_read(uint64_t digits, struct vlba_time *time);

/** vlba_time_digits() - vlba_time_read() turned round; the fields are in their ranges */
uint64_t vlba_time_digits(const struct vlba_time *time);

/** vlba_time_of() - the code of a moment, from 1970 on; what is less than 0.1 ms is cut off */
void vlba_time_of(int64_t utc_ns, struct vlba_time *time);

/**
 * vlba_fraction_ns() - what was cut off is put back
 * @step_ns: frames come at multiples of this; 156250 for Mark5B up to 512 Mbit/s
 *
 * Above that several frames share a fraction, and the frame's number is the better word.
 */
uint32_t vlba_fraction_ns(const struct vlba_time *time, uint32_t step_ns);

/**
 * vlba_day_before() - which day of all those with these three digits
 * @not_after_s: seconds since 1970; the latest one that does not begin after this is meant
 * Return: days since 1970.
 */
int64_t vlba_day_before(unsigned int day, int64_t not_after_s);

/** vlba_day_near() - the one nearest to a day. Return: days since 1970. */
int64_t vlba_day_near(unsigned int day, int64_t near_days);

#endif
