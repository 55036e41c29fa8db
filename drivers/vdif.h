/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vdif.h - the header of a VDIF frame
 *
 * Little-endian words of 32 bits: 8 of them, or 4 in the legacy form. Nothing in them marks a frame; whether
 * bytes are one shows in the next frame, which must be alike (vdif_is_alike()).
 *
 * Time is a count of seconds from a reference epoch, and is taken as it stands: with an epoch that is years
 * old, leap seconds since then are in the count or not as the sender had it, and nothing is corrected.
 *
 * Threads: pure functions.
 */
#ifndef VSIB_DRIVERS_VDIF_H
#define VSIB_DRIVERS_VDIF_H

#include <stdbool.h>
#include <stdint.h>

#define VDIF_HEADER_BYTES 32
#define VDIF_LEGACY_HEADER_BYTES 16
#define VDIF_FRAME_BYTES_MIN (VDIF_LEGACY_HEADER_BYTES + 8)

/* Extended data versions: what words 4 to 7 are. */
#define VDIF_EDV_NONE 0
#define VDIF_EDV_NICT 1
#define VDIF_EDV_ALMA 2 /* also R2DBE */
#define VDIF_EDV_VLBA 3
#define VDIF_EDV_MULTIPLEXED 4
#define VDIF_EDV_MARK5B 0xab

struct vdif_header {
	bool is_invalid;
	bool is_legacy;
	bool is_complex;
	uint8_t epoch;         /* half-years since 2000-01-01 */
	uint8_t version;       /* of VDIF */
	uint8_t channels_log2; /* 0 to 31 */
	uint8_t bits;          /* of a sample, or of each part of a complex one: 1 to 32 */
	uint8_t edv;           /* extended data version; 0 in a legacy header */
	uint16_t thread;
	uint16_t station;     /* two letters, or a number */
	uint32_t second;      /* since the epoch */
	uint32_t frame;       /* in this second */
	uint32_t frame_bytes; /* this header included; 0 to 2^27 - 8 */
	uint32_t header_bytes;
	uint64_t sample_rate_hz; /* of each channel, from EDV 1 or 3; 0 = not in the header */
	uint64_t packet_number;  /* of EDV 2 */
	uint64_t valid_mask;     /* of EDV 4: which channels are valid */
	uint8_t valid_mask_len;  /* its bits that count; 0 = no mask */
};

/**
 * vdif_read() - @data: VDIF_HEADER_BYTES, at any address
 *
 * Return: true: the length it says is that of a frame with at least 8 bytes of payload, and EDV 1, 3, 4
 *         and 0xAB have their sync word; false: not so, and @header says what is there.
 */
bool vdif_read(const void *data, struct vdif_header *header);

/**
 * vdif_put_header() - the header that vdif_read() reads so
 * @data:   VDIF_HEADER_BYTES, or VDIF_LEGACY_HEADER_BYTES if header->is_legacy
 * @header: header_bytes is not looked at; what an extension has beside the fields here is 0
 *
 * Of EDV 0xAB only the sync word is put: behind it a Mark5B header goes on (mark5b_put_header()).
 * Return: false, and nothing was put: a field has no room for its value, the sample rate is no whole kHz (real samples:
 *         2 kHz), or vdif_read() would not take it for a header.
 */
bool vdif_put_header(void *data, const struct vdif_header *header);

/** vdif_frame_bytes() - @data: 12 bytes of a header. Return: the length they say, whatever it is. */
uint32_t vdif_frame_bytes(const void *data);

/** vdif_is_alike() - can both be of one recording: the same length, version, channels, bits and form? */
bool vdif_is_alike(const void *data, const void *other);

/** vdif_samples() - of each channel in a frame; 0 if the fields make no whole sample */
uint32_t vdif_samples(const struct vdif_header *header);

/** vdif_frame_rate() - frames a second of each thread, from EDV 1 or 3. Return: 0: unknown, or no whole number. */
uint32_t vdif_frame_rate(const struct vdif_header *header);

/** vdif_epoch_of() - the latest epoch that is not after a moment, as senders take it; 0 to 63 */
unsigned int vdif_epoch_of(int64_t utc_s);

/** vdif_utc_s() - epoch + second, in seconds since 1970 */
int64_t vdif_utc_s(const struct vdif_header *header);

/** vdif_epoch_utc_s() - @epoch: half-years since 2000. Return: seconds since 1970. */
int64_t vdif_epoch_utc_s(unsigned int epoch);

/**
 * vdif_is_fill() - is the payload fill, as programs of Mark6 judge: by words 8 and 1800 of the frame
 * @data: vdif_fill_bytes() of the frame
 */
bool vdif_is_fill(const void *data, const struct vdif_header *header);

/** vdif_fill_bytes() - how much of a frame vdif_is_fill() looks at */
uint32_t vdif_fill_bytes(const struct vdif_header *header);

/* Which frame: the fields that differ from one frame of a recording to the next. */
struct vdif_place {
	uint32_t second; /* since the epoch; 30 bits */
	uint32_t frame;  /* in this second; 24 bits */
	uint16_t thread; /* 10 bits */
};

/**
 * vdif_put_invalid() - a frame that stands for one that was lost: marked invalid, its payload the fill word
 * @frame: as many bytes as the model's header says
 * @model: header of a frame of the same recording that vdif_read() takes for one; may be where @frame is
 *
 * All fields but those of @place are the model's. Of its extension the mask of valid channels (EDV 4) is
 * cleared, and what counts packets (EDV 2) or tells a time of its own (EDV 0xAB) stays the model's.
 */
void vdif_put_invalid(void *frame, const void *model, const struct vdif_place *place);

/** vdif_edv_name() - who uses it; NULL: unknown */
const char *vdif_edv_name(unsigned int edv);

/**
 * vdif_station_name() - two letters if it is those, else the number in hexadecimal
 * @buf: VDIF_STATION_LEN
 */
#define VDIF_STATION_LEN 8
char *vdif_station_name(char *buf, uint16_t station);

/** vdif_station_of() - from two letters or digits, or a number (0x0000 to 0xffff). Return: false: it is neither. */
bool vdif_station_of(const char *name, uint16_t *station);

#endif
