/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/sigmf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/version.h"

#define BYTES_TYPE "ru8" /* of what is described byte by byte */
#define EXTENSION_VERSION "1.0.0"

static bool ends_with(const char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);

	return len > suffix_len && strcmp(text + len - suffix_len, suffix) == 0;
}

int sigmf_parse_format(struct sigmf_format *format, const char *word)
{
	static const char *const types[] = { "f32", "f64", "i32", "i16", "u32", "u16", "i8", "u8" };
	const char *rest;
	uint32_t bits;

	memset(format, 0, sizeof(*format));
	if (strcmp(word, SIGMF_RAW) == 0) {
		*format = (struct sigmf_format){ SIGMF_RAW, 1, true };
		return 0;
	}
	if (*word != 'c' && *word != 'r')
		return -EINVAL;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strncmp(word + 1, types[i], strlen(types[i])) != 0)
			continue;
		rest = word + 1 + strlen(types[i]);
		bits = (uint32_t)strtoul(types[i] + 1, NULL, 10);
		if (bits == 8 ? *rest : strcmp(rest, "_le") != 0 && strcmp(rest, "_be") != 0)
			return -EINVAL;
		strcpy(format->word, word);
		format->sample_bytes = bits / 8 * (*word == 'c' ? 2 : 1);
		return 0;
	}
	return -EINVAL;
}

bool sigmf_is_conforming(const char *data_file)
{
	return ends_with(data_file, SIGMF_DATA_SUFFIX);
}

bool sigmf_meta_name(char *buf, size_t len, const char *data_file)
{
	size_t kept = strlen(data_file);

	if (sigmf_is_conforming(data_file))
		kept -= strlen(SIGMF_DATA_SUFFIX);
	return (size_t)snprintf(buf, len, "%.*s" SIGMF_META_SUFFIX, (int)kept, data_file) < len;
}

/* ---- one file ---- */

static unsigned channels(const struct sigmf_words *words)
{
	return words->channels ? words->channels : 1;
}

static uint64_t asked_bytes(const struct sigmf_words *words)
{
	return (uint64_t)words->format.sample_bytes * channels(words);
}

/* Bytes of a sample, all channels of it; 1: the bytes themselves are described. */
static uint64_t sample_bytes(const struct sigmf_words *words, const struct sigmf_file *file)
{
	uint64_t bytes = asked_bytes(words);

	if (words->format.is_raw ||
	    /* a conforming dataset has nothing but samples */
	    (sigmf_is_conforming(file->name) && file->data_bytes % bytes))
		return 1;
	for (size_t i = 0; i < file->capture_count; i++)
		if (file->captures[i].at % bytes || file->captures[i].stream_offset % bytes)
			return 1;
	return bytes;
}

static bool is_described_whole(const struct sigmf_words *words, const struct sigmf_file *file)
{
	return !words->format.is_raw && sample_bytes(words, file) == asked_bytes(words);
}

static void put_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

static void put_number(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* A whole number is said as one. */
static void put_rate(json_t *object, uint64_t rate_bps, uint64_t bytes)
{
	uint64_t bits = bytes * 8;

	if (rate_bps % bits == 0)
		put_number(object, "core:sample_rate", rate_bps / bits);
	else
		json_object_set_new(object, "core:sample_rate",
				    json_real((double)rate_bps / (double)bits));
}

/* Behind the last sample of the last capture; the rest of the file is not of the recording. */
static uint64_t trailing_bytes(const struct sigmf_file *file, uint64_t bytes)
{
	const struct sigmf_capture *last = &file->captures[file->capture_count - 1];

	return file->data_bytes - (last->at + last->bytes / bytes * bytes);
}

static json_t *make_global(const struct sigmf_words *words, const struct sigmf_file *file)
{
	uint64_t bytes = sample_bytes(words, file), trailing = trailing_bytes(file, bytes);
	bool is_whole = is_described_whole(words, file);
	json_t *global = json_object();

	put_text(global, "core:datatype", is_whole ? words->format.word : BYTES_TYPE);
	put_text(global, "core:version", SIGMF_VERSION);
	if (file->rate_bps)
		put_rate(global, file->rate_bps, bytes);
	put_number(global, "core:num_channels", is_whole ? channels(words) : 1);
	put_text(global, "core:recorder", "vsib-record " VSIB_VERSION);
	put_text(global, "core:author", words->author);
	put_text(global, "core:description", words->description);
	put_text(global, "core:hw", words->hardware);
	if (!sigmf_is_conforming(file->name))
		put_text(global, "core:dataset", file->name);
	if (trailing)
		put_number(global, "core:trailing_bytes", trailing);
	json_object_set_new(global, "core:extensions",
			    json_pack("[{ss ss sb}]", "name", "vsib", "version", EXTENSION_VERSION,
				      "optional", 1));
	put_text(global, "vsib:recording", file->recording);
	put_text(global, "vsib:sample_format", words->format.word);
	put_number(global, "vsib:channels", channels(words));
	return global;
}

static json_t *make_capture(const struct sigmf_words *words, const struct sigmf_capture *capture,
			    uint64_t bytes, uint64_t head_bytes)
{
	char utc[UNITS_UTC_LEN];
	json_t *o = json_object();

	put_number(o, "core:sample_start", capture->at / bytes);
	put_number(o, "core:global_index", capture->stream_offset / bytes);
	put_text(o, "core:datetime", units_format_utc(utc, capture->utc_ns));
	if (words->frequency_hz)
		put_number(o, "core:frequency", words->frequency_hz);
	if (head_bytes)
		put_number(o, "core:header_bytes", head_bytes);
	put_number(o, "vsib:stream_offset", capture->stream_offset);
	return o;
}

json_t *sigmf_meta(const struct sigmf_words *words, const struct sigmf_file *file)
{
	uint64_t bytes = sample_bytes(words, file);
	json_t *captures = json_array();

	for (size_t i = 0; i < file->capture_count; i++)
		json_array_append_new(captures, make_capture(words, &file->captures[i], bytes,
							     i == 0 ? file->head_bytes : 0));
	return json_pack("{so so s[]}", "global", make_global(words, file), "captures", captures,
			 "annotations");
}
