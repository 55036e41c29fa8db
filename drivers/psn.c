/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/psn.h"

#include <string.h>

#include "drivers/bytes.h"
#include "drivers/mark5b.h"
#include "drivers/vdif.h"
#include "drivers/vtp.h"

#define UNWANTED (UINT64_C(1) << 63)
#define SECONDS_A_DAY UINT64_C(86400)

static const char *const names[PSN_KIND_COUNT] = { "auto", "none", "le64", "be64",
						   "le32", "be32", "vdif", "mark5b" };

bool psn_kind_of(const char *name, enum psn_kind *kind)
{
	for (int i = 0; i < PSN_KIND_COUNT; i++) {
		if (strcmp(names[i], name) == 0) {
			*kind = (enum psn_kind)i;
			return true;
		}
	}
	return false;
}

const char *psn_name(enum psn_kind kind)
{
	return names[kind];
}

size_t psn_prefix_bytes(enum psn_kind kind)
{
	switch (kind) {
	case PSN_LE64:
	case PSN_BE64:
		return VTP_BYTES;
	case PSN_LE32:
	case PSN_BE32:
		return sizeof(uint32_t);
	default:
		return 0;
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_le64(const void *prefix, struct psn *psn)
{
	uint64_t number = bytes_le64(prefix);

	psn->number = number & ~UNWANTED;
	psn->is_unwanted = number & UNWANTED;
	psn->is_upper_half = (uint32_t)number == 0;
	return true;
}

void psn_take_half(struct psn *psn)
{
	psn->number = psn->number >> 32 | (psn->is_unwanted ? UINT64_C(1) << 31 : 0);
	psn->is_unwanted = false;
	psn->is_32_bit = true;
}

static bool read_be64(const void *prefix, struct psn *psn)
{
	uint64_t number = bytes_be64(prefix);

	psn->number = number & ~UNWANTED;
	psn->is_unwanted = number & UNWANTED;
	return true;
}

static bool read_32(uint32_t number, struct psn *psn)
{
	psn->number = number;
	psn->is_32_bit = true;
	return true;
}

static bool read_vdif(const void *payload, size_t len, struct psn *psn)
{
	struct vdif_header header;

	if (len < VDIF_HEADER_BYTES || !vdif_read(payload, &header) || header.frame_bytes != len)
		return false;
	psn->thread = (uint32_t)header.station << 10 | header.thread;
	/* as a date, so that a new epoch is no jump */
	psn->interval = (uint64_t)vdif_utc_s(&header);
	psn->number = header.frame;
	psn->rate = vdif_frame_rate(&header);
	return true;
}

/* A frame that comes in two halves counts by two; only the first of them has a header. */
static bool read_mark5b(const void *payload, size_t len, struct psn *psn)
{
	struct mark5b_header header;

	if (len < MARK5B_HEADER_BYTES || !mark5b_read(payload, &header))
		return false;
	psn->interval = header.time.day * SECONDS_A_DAY + header.time.second;
	psn->number = len == MARK5B_HALF_BYTES ? header.frame * UINT64_C(2) : header.frame;
	return true;
}

bool psn_read(enum psn_kind kind, const void *prefix, const void *payload, size_t len, struct psn *psn)
{
	*psn = (struct psn){ 0 };
	switch (kind) {
	case PSN_LE64:
		return read_le64(prefix, psn);
	case PSN_BE64:
		return read_be64(prefix, psn);
	case PSN_LE32:
		return read_32(bytes_le32(prefix), psn);
	case PSN_BE32:
		return read_32(bytes_be32(prefix), psn);
	case PSN_VDIF:
		return read_vdif(payload, len, psn);
	case PSN_MARK5B:
		return read_mark5b(payload, len, psn);
	default:
		return false;
	}
}

/* ---- detecting ------------------------------------------------------------------------------- */

static bool is_vdif(const unsigned char *data, size_t len)
{
	struct vdif_header header;

	return len >= VDIF_HEADER_BYTES && vdif_read(data, &header) && header.frame_bytes == len;
}

static bool is_mark5b(const unsigned char *data, size_t len)
{
	return (len == MARK5B_FRAME_BYTES || len == MARK5B_HALF_BYTES) && mark5b_is_sync(data);
}

static bool has_frame(const unsigned char *data, size_t len, size_t at)
{
	return len > at && (is_vdif(data + at, len - at) || is_mark5b(data + at, len - at));
}

static uint64_t distance(const struct psn *a, const struct psn *b)
{
	return a->number > b->number ? a->number - b->number : b->number - a->number;
}

/* With one datagram alone the smaller number is the likelier one. */
static enum psn_kind nearer(enum psn_kind little, enum psn_kind big, const void *earlier,
			    const void *later)
{
	struct psn a[2], b[2];
	uint64_t little_step, big_step;

	psn_read(little, earlier, NULL, 0, &a[0]);
	psn_read(little, later, NULL, 0, &a[1]);
	psn_read(big, earlier, NULL, 0, &b[0]);
	psn_read(big, later, NULL, 0, &b[1]);
	if (a[0].is_upper_half && a[1].is_upper_half) {
		psn_take_half(&a[0]);
		psn_take_half(&a[1]);
	}
	little_step = distance(&a[0], &a[1]);
	big_step = distance(&b[0], &b[1]);
	if (little_step != big_step)
		return little_step < big_step ? little : big;
	return a[1].number <= b[1].number ? little : big;
}

enum psn_kind psn_detect(const void *earlier, const void *later, size_t len)
{
	const unsigned char *a = earlier, *b = later;

	if (is_vdif(a, len) || is_vdif(b, len))
		return PSN_VDIF;
	if (is_mark5b(a, len) || is_mark5b(b, len))
		return PSN_MARK5B;
	if (has_frame(a, len, sizeof(uint64_t)) || has_frame(b, len, sizeof(uint64_t)))
		return nearer(PSN_LE64, PSN_BE64, a, b);
	if (has_frame(a, len, sizeof(uint32_t)) || has_frame(b, len, sizeof(uint32_t)))
		return nearer(PSN_LE32, PSN_BE32, a, b);
	return PSN_NONE;
}

bool psn_can_put(enum psn_kind kind)
{
	return kind == PSN_NONE || psn_prefix_bytes(kind) > 0;
}

void psn_put(enum psn_kind kind, uint64_t number, void *prefix)
{
	size_t bytes = psn_prefix_bytes(kind);
	bool is_big = kind == PSN_BE64 || kind == PSN_BE32;
	unsigned char *to = prefix;

	for (size_t i = 0; i < bytes; i++)
		to[is_big ? bytes - 1 - i : i] = (unsigned char)(number >> (8 * i));
}
