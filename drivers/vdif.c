/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/vdif.h"

#include <stdio.h>

#include "drivers/bytes.h"
#include "drivers/units.h"

#define SYNC_WORD UINT32_C(0xacabfeed)        /* of EDV 1, 3 and 4, in word 5 */
#define MARK5B_SYNC_WORD UINT32_C(0xabaddeed) /* of EDV 0xAB, in word 4 */
#define EDV3_FRAME_BYTES 5032
#define EDV3_SHORT_FRAME_BYTES 1032
#define EDV_MARK5B_FRAME_BYTES 10032
#define SECONDS_A_DAY INT64_C(86400)
#define DAYS_OF_HALF_YEAR 181 /* January to June, without the 29th of February */
#define FILL_WORD_FAR 1800

static uint32_t bits_of(uint32_t word, int from, int count)
{
	return word >> from & ((UINT32_C(1) << count) - 1);
}

static uint32_t word_of(const void *data, int index)
{
	return bytes_le32((const unsigned char *)data + (size_t)index * 4);
}

static void put_word(void *data, int index, uint32_t word)
{
	bytes_put_le32((unsigned char *)data + (size_t)index * 4, word);
}

/* The rate in the header is that of complex samples; real ones come twice as fast. */
static uint64_t read_sample_rate(uint32_t word4, bool is_complex)
{
	uint64_t unit_hz = bits_of(word4, 23, 1) ? 1000000 : 1000;

	return bits_of(word4, 0, 23) * unit_hz * (is_complex ? 1 : 2);
}

/* Words 4 to 7. Return: is the sync word there, and the frame as long as that version wants it? */
static bool read_extension(const void *data, struct vdif_header *header)
{
	uint32_t word4 = word_of(data, 4);
	bool has_sync = word_of(data, 5) == SYNC_WORD;

	header->edv = (uint8_t)bits_of(word4, 24, 8);
	switch (header->edv) {
	case VDIF_EDV_NICT:
		header->sample_rate_hz = read_sample_rate(word4, header->is_complex);
		return has_sync;
	case VDIF_EDV_ALMA:
		header->packet_number = bytes_le64((const unsigned char *)data + 24);
		return true;
	case VDIF_EDV_VLBA:
		header->sample_rate_hz = read_sample_rate(word4, header->is_complex);
		return has_sync && (header->frame_bytes == EDV3_FRAME_BYTES ||
				    header->frame_bytes == EDV3_SHORT_FRAME_BYTES);
	case VDIF_EDV_MULTIPLEXED:
		header->valid_mask_len = (uint8_t)bits_of(word4, 16, 8);
		header->valid_mask = bytes_le64((const unsigned char *)data + 24);
		return has_sync;
	case VDIF_EDV_MARK5B:
		return word4 == MARK5B_SYNC_WORD && header->frame_bytes == EDV_MARK5B_FRAME_BYTES;
	default:
		return true;
	}
}

/* read_sample_rate() turned round. Return: false: it can't be said. */
static bool make_sample_rate(const struct vdif_header *header, uint32_t *word4)
{
	uint64_t rate = header->sample_rate_hz;
	bool is_mhz;

	if (!header->is_complex && rate % 2)
		return false;
	rate /= header->is_complex ? 1 : 2;
	is_mhz = rate % 1000000 == 0;
	if (rate % 1000 != 0 || rate / (is_mhz ? 1000000 : 1000) >= UINT32_C(1) << 23)
		return false;
	*word4 |= (uint32_t)is_mhz << 23 | (uint32_t)(rate / (is_mhz ? 1000000 : 1000));
	return true;
}

/* read_extension() turned round, as far as struct vdif_header knows it. */
static bool make_extension(const struct vdif_header *header, uint32_t words[8])
{
	uint64_t last = 0;

	words[4] = (uint32_t)header->edv << 24;
	switch (header->edv) {
	case VDIF_EDV_NICT:
	case VDIF_EDV_VLBA:
		words[5] = SYNC_WORD;
		return make_sample_rate(header, &words[4]);
	case VDIF_EDV_ALMA:
		last = header->packet_number;
		break;
	case VDIF_EDV_MULTIPLEXED:
		words[4] |= (uint32_t)header->valid_mask_len << 16;
		words[5] = SYNC_WORD;
		last = header->valid_mask;
		break;
	case VDIF_EDV_MARK5B:
		words[4] = MARK5B_SYNC_WORD;
		break;
	default:
		break;
	}
	words[6] = (uint32_t)last;
	words[7] = (uint32_t)(last >> 32);
	return true;
}

static bool has_room(const struct vdif_header *header)
{
	return header->second < UINT32_C(1) << 30 && header->frame < UINT32_C(1) << 24 &&
	       header->epoch < 64 && header->version < 8 && header->channels_log2 < 32 &&
	       header->bits >= 1 && header->bits <= 32 && header->thread < 1024 &&
	       header->frame_bytes % 8 == 0 && header->frame_bytes / 8 < UINT32_C(1) << 24 &&
	       !(header->is_legacy && header->edv != VDIF_EDV_NONE);
}

bool vdif_put_header(void *data, const struct vdif_header *header)
{
	uint32_t words[8] = {
		[0] = (uint32_t)header->is_invalid << 31 | (uint32_t)header->is_legacy << 30 |
		      header->second,
		[1] = (uint32_t)header->epoch << 24 | header->frame,
		[2] = (uint32_t)header->version << 29 | (uint32_t)header->channels_log2 << 24 |
		      header->frame_bytes / 8,
		[3] = (uint32_t)header->is_complex << 31 | (uint32_t)(header->bits - 1) << 26 |
		      (uint32_t)header->thread << 16 | header->station,
	};
	unsigned char bytes[VDIF_HEADER_BYTES];
	struct vdif_header reread;

	if (!has_room(header) || !make_extension(header, words))
		return false;
	for (int i = 0; i < 8; i++)
		put_word(bytes, i, words[i]);
	if (!vdif_read(bytes, &reread))
		return false;
	memcpy(data, bytes, reread.header_bytes);
	return true;
}

uint32_t vdif_frame_bytes(const void *data)
{
	return bits_of(word_of(data, 2), 0, 24) * 8;
}

bool vdif_read(const void *data, struct vdif_header *header)
{
	uint32_t word0 = word_of(data, 0), word1 = word_of(data, 1), word2 = word_of(data, 2),
		 word3 = word_of(data, 3);
	bool is_right = true;

	*header = (struct vdif_header){
		.is_invalid = bits_of(word0, 31, 1),
		.is_legacy = bits_of(word0, 30, 1),
		.second = bits_of(word0, 0, 30),
		.epoch = (uint8_t)bits_of(word1, 24, 6),
		.frame = bits_of(word1, 0, 24),
		.version = (uint8_t)bits_of(word2, 29, 3),
		.channels_log2 = (uint8_t)bits_of(word2, 24, 5),
		.frame_bytes = vdif_frame_bytes(data),
		.is_complex = bits_of(word3, 31, 1),
		.bits = (uint8_t)(bits_of(word3, 26, 5) + 1),
		.thread = (uint16_t)bits_of(word3, 16, 10),
		.station = (uint16_t)bits_of(word3, 0, 16),
	};
	header->header_bytes = header->is_legacy ? VDIF_LEGACY_HEADER_BYTES : VDIF_HEADER_BYTES;
	if (!header->is_legacy)
		is_right = read_extension(data, header);
	return is_right && header->frame_bytes >= header->header_bytes + 8;
}

bool vdif_is_alike(const void *data, const void *other)
{
	const uint32_t form = UINT32_C(1) << 30, kind = UINT32_C(0xfc000000);

	return word_of(data, 2) == word_of(other, 2) &&
	       ((word_of(data, 0) ^ word_of(other, 0)) & form) == 0 &&
	       ((word_of(data, 3) ^ word_of(other, 3)) & kind) == 0;
}

uint32_t vdif_samples(const struct vdif_header *header)
{
	uint64_t words = header->frame_bytes > header->header_bytes ?
				 (header->frame_bytes - header->header_bytes) / 4 :
				 0;
	uint64_t samples = words * (32 / header->bits) / (header->is_complex ? 2 : 1);

	return (uint32_t)(samples >> header->channels_log2);
}

uint32_t vdif_frame_rate(const struct vdif_header *header)
{
	uint32_t samples = vdif_samples(header);
	uint64_t rate;

	if (samples == 0 || header->sample_rate_hz % samples != 0)
		return 0;
	rate = header->sample_rate_hz / samples;
	return rate <= UINT32_MAX ? (uint32_t)rate : 0;
}

int64_t vdif_epoch_utc_s(unsigned int epoch)
{
	int year = 2000 + (int)(epoch / 2);
	int64_t days = units_days_before_year(year);

	if (epoch % 2)
		days += units_days_before_year(year + 1) - days - 365 + DAYS_OF_HALF_YEAR;
	return days * SECONDS_A_DAY;
}

unsigned int vdif_epoch_of(int64_t utc_s)
{
	unsigned int epoch = 0;

	while (epoch < 63 && vdif_epoch_utc_s(epoch + 1) <= utc_s)
		epoch++;
	return epoch;
}

int64_t vdif_utc_s(const struct vdif_header *header)
{
	return vdif_epoch_utc_s(header->epoch) + header->second;
}

uint32_t vdif_fill_bytes(const struct vdif_header *header)
{
	const uint32_t most = (FILL_WORD_FAR + 1) * 4, near = VDIF_HEADER_BYTES + 4;

	return header->frame_bytes >= most ? most : header->frame_bytes >= near ? near : 0;
}

bool vdif_is_fill(const void *data, const struct vdif_header *header)
{
	uint32_t len = vdif_fill_bytes(header);

	return len && (word_of(data, VDIF_HEADER_BYTES / 4) == BYTES_FILL_WORD ||
		       word_of(data, (int)(len / 4) - 1) == BYTES_FILL_WORD);
}

void vdif_put_invalid(void *frame, const void *model, const struct vdif_place *place)
{
	const uint32_t invalid = UINT32_C(1) << 31, form = UINT32_C(1) << 30;
	struct vdif_header header;

	vdif_read(model, &header);
	memmove(frame, model, header.header_bytes);
	put_word(frame, 0, invalid | (word_of(frame, 0) & form) | bits_of(place->second, 0, 30));
	put_word(frame, 1, (word_of(frame, 1) & UINT32_C(0xff000000)) | bits_of(place->frame, 0, 24));
	put_word(frame, 3,
		 (word_of(frame, 3) & UINT32_C(0xfc00ffff)) | bits_of(place->thread, 0, 10) << 16);
	if (header.edv == VDIF_EDV_MULTIPLEXED) {
		put_word(frame, 6, 0);
		put_word(frame, 7, 0);
	}
	bytes_put_fill((unsigned char *)frame + header.header_bytes,
		       header.frame_bytes - header.header_bytes, 0);
}

const char *vdif_edv_name(unsigned int edv)
{
	switch (edv) {
	case VDIF_EDV_NICT:
		return "NICT";
	case VDIF_EDV_ALMA:
		return "ALMA or R2DBE";
	case VDIF_EDV_VLBA:
		return "VLBA, RDBE";
	case VDIF_EDV_MULTIPLEXED:
		return "multiplexed";
	case VDIF_EDV_MARK5B:
		return "Mark5B";
	default:
		return NULL;
	}
}

static bool is_printable(unsigned int letter)
{
	return letter > 0x20 && letter < 0x7f && letter != '"' && letter != '\\';
}

char *vdif_station_name(char *buf, uint16_t station)
{
	unsigned int low = station & 0xff, high = station >> 8;

	if (high >= 48 && high < 128 && is_printable(high) && is_printable(low))
		snprintf(buf, VDIF_STATION_LEN, "%c%c", (int)high, (int)low);
	else
		snprintf(buf, VDIF_STATION_LEN, "0x%04x", station);
	return buf;
}

bool vdif_station_of(const char *name, uint16_t *station)
{
	uint64_t number;

	if (strlen(name) == 2 && name[0] >= 48 && is_printable((unsigned char)name[0]) &&
	    is_printable((unsigned char)name[1])) {
		*station = (uint16_t)((unsigned char)name[0] << 8 | (unsigned char)name[1]);
		return true;
	}
	if (units_parse_count(name, &number) < 0 || number > UINT16_MAX)
		return false;
	*station = (uint16_t)number;
	return true;
}
