/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/mark4.h"

#include <string.h>

#include "drivers/bytes.h"
#include "drivers/units.h"

#define SECONDS_A_DAY 86400
#define TIME_FROM 96 /* of Mark4: the first bit of the time */
#define TIME_DIGITS 13
#define CRC12_BITS 12
#define CRC12_POLYNOMIAL 0x80f
#define CRC16_BITS 16
#define CRC16_POLYNOMIAL 0x8005
#define NS_A_MS UINT32_C(1000000)
#define QUARTER_MS_NS UINT32_C(250000)
#define VLBA_STEP_NS UINT32_C(625000) /* that frames come at multiples of */

/* Bit @index of all tracks. */
static uint64_t slice(const void *data, int track_count, int index)
{
	size_t len = (size_t)track_count / 8;
	uint64_t word = 0;

	memcpy(&word, (const unsigned char *)data + (size_t)index * len, len);
	return le64toh(word);
}

/* The bits [from, from + count) of one track, the first one highest; at most 64. */
static uint64_t track_bits(const void *data, int track_count, int track, int from, int count)
{
	uint64_t bits = 0;

	for (int i = from; i < from + count; i++)
		bits = bits << 1 | (slice(data, track_count, i) >> track & 1);
	return bits;
}

/*
 * All tracks' CRCs at once, a word for each bit of the register: with the CRC itself behind what it covers
 * the rest is 0. Return: the tracks where it isn't.
 */
static uint64_t wrong_tracks(const void *data, int track_count, int from, int count, int width,
			     unsigned int polynomial)
{
	uint64_t rest[CRC16_BITS] = { 0 }, wrong = 0;

	for (int i = from; i < from + count; i++) {
		uint64_t feedback = rest[width - 1] ^ slice(data, track_count, i);

		for (int bit = width - 1; bit > 0; bit--)
			rest[bit] = rest[bit - 1] ^ (polynomial >> bit & 1 ? feedback : 0);
		rest[0] = feedback;
	}
	for (int bit = 0; bit < width; bit++)
		wrong |= rest[bit];
	return wrong;
}

bool mark4_has_sync(const void *data, int track_count, bool is_vlba)
{
	size_t len = (size_t)track_count * MARK4_SYNC_BITS / 8;
	const unsigned char *sync =
		(const unsigned char *)data + (is_vlba ? 0 : (size_t)track_count * 64 / 8);

	return sync[0] == 0xff && memcmp(sync, sync + 1, len - 1) == 0;
}

/* YDDDHHMMSSsss. The last digit stands for quarters of a millisecond, too: 4 and 9 are none. */
static bool read_time(uint64_t bits, struct mark4_header *header)
{
	unsigned int digit[TIME_DIGITS], hour, minute, second;

	for (int i = 0; i < TIME_DIGITS; i++) {
		digit[i] = bits >> (TIME_DIGITS - 1 - i) * 4 & 0xf;
		if (digit[i] > 9)
			return false;
	}
	hour = digit[4] * 10 + digit[5];
	minute = digit[6] * 10 + digit[7];
	second = digit[8] * 10 + digit[9];
	header->year = (uint8_t)digit[0];
	header->day = (uint16_t)(digit[1] * 100 + digit[2] * 10 + digit[3]);
	header->second = (hour * 60 + minute) * 60 + second;
	header->ns = (digit[10] * 100 + digit[11] * 10 + digit[12]) * NS_A_MS +
		     digit[12] % 5 * QUARTER_MS_NS;
	return header->day >= 1 && header->day <= 366 && hour < 24 && minute < 60 && second <= 60 &&
	       digit[12] % 5 != 4;
}

static bool read_vlba_time(uint64_t bits, struct mark4_header *header)
{
	bool is_time = vlba_time_read(bits, &header->vlba);

	header->second = header->vlba.second;
	header->ns = vlba_fraction_ns(&header->vlba, VLBA_STEP_NS);
	return is_time;
}

bool mark4_read(const void *data, int track_count, bool is_vlba, struct mark4_header *header)
{
	uint64_t all = track_count == 64 ? UINT64_MAX : (UINT64_C(1) << track_count) - 1, wrong;
	int track;

	memset(header, 0, sizeof(*header));
	if (!mark4_has_sync(data, track_count, is_vlba))
		return false;
	wrong = is_vlba ? wrong_tracks(data, track_count, MARK4_SYNC_BITS,
				       VLBA_HEADER_BITS - MARK4_SYNC_BITS, CRC16_BITS,
				       CRC16_POLYNOMIAL) :
			  wrong_tracks(data, track_count, 0, MARK4_HEADER_BITS, CRC12_BITS,
				       CRC12_POLYNOMIAL);
	header->bad_tracks = (uint32_t)__builtin_popcountll(wrong & all);
	if ((wrong & all) == all)
		return false;
	track = __builtin_ctzll(~wrong);
	return is_vlba ? read_vlba_time(track_bits(data, track_count, track, MARK4_SYNC_BITS, 48),
					header) :
			 read_time(track_bits(data, track_count, track, TIME_FROM, TIME_DIGITS * 4),
				   header);
}

int64_t mark4_utc_s(const struct mark4_header *header, int year)
{
	return (units_days_before_year(year) + header->day - 1) * SECONDS_A_DAY + header->second;
}

int mark4_year_near(unsigned int digit, int near_year)
{
	int latest = near_year + 4;

	return latest - (latest + 10 - (int)digit) % 10;
}

int mark4_year_before(unsigned int digit, unsigned int day, int64_t not_after_s)
{
	const struct mark4_header begin = { .day = (uint16_t)day };
	int latest = 1970 + (int)(not_after_s / SECONDS_A_DAY / 365), year;

	year = latest - (latest + 10 - (int)digit) % 10;
	while (mark4_utc_s(&begin, year) > not_after_s)
		year -= 10;
	return year;
}
