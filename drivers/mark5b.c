/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/mark5b.h"

#include "drivers/bytes.h"
#include "drivers/units.h"

#define SYNC_WORD UINT32_C(0xabaddeed)
#define POLYNOMIAL UINT32_C(0x8005)
#define MJD_OF_1970 40587
#define DAYS_AROUND 1000
#define SECONDS_A_DAY 86400
#define FRACTION_NS UINT32_C(100000)

static int64_t modulo(int64_t value, int64_t divisor)
{
	int64_t rest = value % divisor;

	return rest < 0 ? rest + divisor : rest;
}

uint16_t mark5b_crc16(uint64_t bits, int count)
{
	uint32_t crc = 0;

	for (int i = count - 1; i >= 0; i--) {
		uint32_t feedback = (crc >> 15 ^ (uint32_t)(bits >> i)) & 1;

		crc = (crc << 1 & 0xffff) ^ (feedback ? POLYNOMIAL : 0);
	}
	return (uint16_t)crc;
}

/* Return: false: one of the digits is beyond 9. */
static bool read_digits(uint64_t digits, int from, int count, uint32_t *value)
{
	bool is_decimal = true;

	*value = 0;
	for (int i = from + (count - 1) * 4; i >= from; i -= 4) {
		uint32_t digit = digits >> i & 0xf;

		is_decimal &= digit <= 9;
		*value = *value * 10 + digit;
	}
	return is_decimal;
}

bool vlba_time_read(uint64_t digits, struct vlba_time *time)
{
	uint32_t day, second, fraction;
	bool is_decimal = read_digits(digits, 36, 3, &day);

	is_decimal &= read_digits(digits, 16, 5, &second);
	is_decimal &= read_digits(digits, 0, 4, &fraction);
	*time = (struct vlba_time){
		.day = (uint16_t)day,
		.second = second,
		.fraction = (uint16_t)fraction,
	};
	return is_decimal && second <= SECONDS_A_DAY; /* 86400: a leap second */
}

static uint64_t make_digits(uint32_t value, int from, int count)
{
	uint64_t digits = 0;

	for (int i = 0; i < count; i++, value /= 10)
		digits |= (uint64_t)(value % 10) << (from + i * 4);
	return digits;
}

uint64_t vlba_time_digits(const struct vlba_time *time)
{
	return make_digits(time->day, 36, 3) | make_digits(time->second, 16, 5) |
	       make_digits(time->fraction, 0, 4);
}

void vlba_time_of(int64_t utc_ns, struct vlba_time *time)
{
	int64_t seconds = utc_ns / UNITS_NS_PER_S;

	*time = (struct vlba_time){
		.day = (uint16_t)((seconds / SECONDS_A_DAY + MJD_OF_1970) % DAYS_AROUND),
		.second = (uint32_t)(seconds % SECONDS_A_DAY),
		.fraction = (uint16_t)(utc_ns % UNITS_NS_PER_S / FRACTION_NS),
	};
}

bool mark5b_is_sync(const void *data)
{
	return bytes_le32(data) == SYNC_WORD;
}

bool mark5b_read(const void *data, struct mark5b_header *header)
{
	const unsigned char *bytes = data;
	uint32_t word1 = bytes_le32(bytes + 4), word3 = bytes_le32(bytes + 12);
	uint64_t digits = (uint64_t)bytes_le32(bytes + 8) << 16 | word3 >> 16;

	*header = (struct mark5b_header){
		.user = (uint16_t)(word1 >> 16),
		.is_test = word1 >> 15 & 1,
		.frame = (uint16_t)(word1 & 0x7fff),
		.has_crc = (word3 & 0xffff) != 0,
		.is_crc_right = mark5b_crc16(digits, 48) == (word3 & 0xffff),
	};
	return vlba_time_read(digits, &header->time) && mark5b_is_sync(data);
}

bool mark5b_put_header(void *data, const struct mark5b_header *header)
{
	uint64_t digits = vlba_time_digits(&header->time);
	unsigned char *bytes = data;
	uint32_t crc = header->has_crc ? mark5b_crc16(digits, 48) : 0;

	if (header->frame > 0x7fff || header->time.day >= DAYS_AROUND ||
	    header->time.second > SECONDS_A_DAY || header->time.fraction > 9999)
		return false;
	bytes_put_le32(bytes, SYNC_WORD);
	bytes_put_le32(bytes + 4, (uint32_t)header->user << 16 | (uint32_t)header->is_test << 15 |
					  header->frame);
	bytes_put_le32(bytes + 8, (uint32_t)(digits >> 16));
	bytes_put_le32(bytes + 12, (uint32_t)(digits & 0xffff) << 16 | crc);
	return true;
}

bool mark5b_is_fill(const void *data)
{
	return bytes_le32((const unsigned char *)data + MARK5B_HEADER_BYTES) == BYTES_FILL_WORD;
}

uint32_t vlba_fraction_ns(const struct vlba_time *time, uint32_t step_ns)
{
	return (time->fraction * FRACTION_NS + step_ns - 1) / step_ns * step_ns;
}

int64_t vlba_day_before(unsigned int day, int64_t not_after_s)
{
	int64_t last = (not_after_s - modulo(not_after_s, SECONDS_A_DAY)) / SECONDS_A_DAY;

	return last - modulo(last + MJD_OF_1970 - day, DAYS_AROUND);
}

int64_t vlba_day_near(unsigned int day, int64_t near_days)
{
	int64_t latest = near_days + DAYS_AROUND / 2;

	return latest - modulo(latest + MJD_OF_1970 - day, DAYS_AROUND);
}
