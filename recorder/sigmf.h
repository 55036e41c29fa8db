/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sigmf.h - what a data file holds, as SigMF 1.2.5 says it
 *
 *   sigmf_parse_format() once -> sigmf_meta_name(), sigmf_meta() a file
 *
 * A data file keeps its name. X.sigmf-data and X.sigmf-meta are a conforming pair; any other file Y is a
 * non-conforming dataset, which Y.sigmf-meta names in core:dataset. A sample is one of each channel. A capture
 * begins where the file does, and after each gap of the stream: core:global_index is its first sample's number in
 * the stream. Where pieces don't begin with whole samples, or SigMF has no name for them, the bytes are
 * described (ru8): a datatype is never a false one. What is ours alone stands in the namespace "vsib".
 * Threads: pure functions.
 */
#ifndef VSIB_RECORDER_SIGMF_H
#define VSIB_RECORDER_SIGMF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGMF_VERSION "1.2.5"
#define SIGMF_META_SUFFIX ".sigmf-meta" /* behind a data file's name */
#define SIGMF_DATA_SUFFIX ".sigmf-data"
#define SIGMF_RAW "raw" /* no datatype of SigMF: the bytes are described */

/* What a sample of one channel is. */
struct sigmf_format {
	char word[16]; /* "ci16_le", or "raw" */
	uint32_t sample_bytes;
	bool is_raw;
};

/* What the user says about all of the stream; NULL, 0 = nothing. */
struct sigmf_words {
	struct sigmf_format format;
	unsigned channels;
	uint64_t frequency_hz;
	const char *author, *description, *hardware;
};

/* Contiguous in file and stream. */
struct sigmf_capture {
	uint64_t at; /* in the file's data */
	uint64_t bytes;
	uint64_t stream_offset;
	int64_t utc_ns; /* of its first byte */
};

/* One data file. */
struct sigmf_file {
	const char *name;                     /* without directories */
	const char *recording;                /* whose file it is */
	uint64_t head_bytes;                  /* in front of its data */
	uint64_t data_bytes;                  /* behind that, also those of no capture */
	uint64_t rate_bps;                    /* of the stream; 0 = unknown */
	const struct sigmf_capture *captures; /* in the file's order; one at least */
	size_t capture_count;
};

/**
 * sigmf_parse_format() - "ci8", "rf32_le" ..., or "raw"
 *
 * Those of more than a byte need _le or _be, those of one byte have none. Return: 0; -EINVAL.
 */
int sigmf_parse_format(struct sigmf_format *format, const char *word);

/** sigmf_is_conforming() - the data file's name ends with .sigmf-data */
bool sigmf_is_conforming(const char *data_file);

/** sigmf_meta_name() - of a data file. Return: false: longer than @len. */
bool sigmf_meta_name(char *buf, size_t len, const char *data_file);

/** sigmf_meta() - the metadata. Return: a new object; NULL: no memory, or a text that is not UTF-8. */
json_t *sigmf_meta(const struct sigmf_words *words, const struct sigmf_file *file);

#endif
