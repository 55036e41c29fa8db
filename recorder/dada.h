/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dada.h - the ASCII header in front of a file's data, as PSRDADA and dspsr read it
 *
 *   recorder: dada_parse() the user's keys once -> dada_compose() a file
 *   reader:   dada_is_ours()
 *
 * A header has 4096 bytes: lines "KEY VALUE", NULs behind them. What the recorder knows better than anybody is
 * its own (UTC_START, OBS_OFFSET, FILE_NAME ...), all else is the user's. UTC_START is a whole second, as its
 * readers want it; PICOSECONDS says what is missing to the first sample.
 * Threads: pure functions.
 */
#ifndef VSIB_RECORDER_DADA_H
#define VSIB_RECORDER_DADA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DADA_HEADER_BYTES 4096
#define DADA_ERROR_LEN 512

/* The user's keys, a line each. */
struct dada_fields {
	char text[DADA_HEADER_BYTES];
	size_t len;
};

/* What the recorder says about one file. */
struct dada_facts {
	const char *file; /* its name, without directories */
	uint64_t file_number;
	uint64_t stream_offset; /* of its first byte of data */
	uint64_t file_bytes;    /* of data; 0 = not known yet: the key is left out */
	uint64_t rate_bps;      /* 0 = unknown */
	int64_t start_utc_ns;   /* of the stream's first byte */
};

/**
 * dada_parse() - lines "KEY VALUE", '#' begins a comment, empty lines are ignored
 * @error: DADA_ERROR_LEN, with the number of the line
 *
 * Return: 0; -EINVAL: no key, no value, a key twice, one of the recorder's own, or other than ASCII;
 *         -E2BIG: more than a header has room for.
 */
int dada_parse(struct dada_fields *fields, const char *text, size_t len, char *error);

/** dada_get() - a key's value, as the user gave it. Return: false: it is not there, or longer than @value. */
bool dada_get(const struct dada_fields *fields, const char *key, char *value, size_t len);

/** dada_missing() - the keys that dspsr wants and nobody gave, with blanks between; "" = none. @keys: DADA_ERROR_LEN */
void dada_missing(char *keys, const struct dada_fields *fields, uint64_t rate_bps);

/** dada_compose() - a whole header; @header: DADA_HEADER_BYTES */
void dada_compose(char *header, const struct dada_fields *fields, const struct dada_facts *facts);

/** dada_is_ours() - do these bytes begin a header that dada_compose() made? A stream may begin with one of others. */
bool dada_is_ours(const void *data, size_t len);

#endif
