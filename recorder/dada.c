/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/dada.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "drivers/units.h"
#include "recorder/version.h"

#define OWN_BYTES 1024 /* of a header are for the recorder's keys */
#define KEY_MAX 64
#define VALUE_MAX 1024
#define BLANKS " \t"
#define KEY_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define MARK "HEADER DADA\nHDR_VERSION 1.0\nHDR_SIZE 4096\nRECORDER vsib-record "

#define PS_PER_NS 1000

/* ---- what the user gave ---- */

static const char *const own_keys[] = { "HEADER",    "HDR_VERSION", "HDR_SIZE",    "RECORDER",
					"UTC_START", "PICOSECONDS", "OBS_OFFSET",  "OBS_OVERLAP",
					"FILE_NAME", "FILE_SIZE",   "FILE_NUMBER", "MJD_START",
					NULL };

static bool is_own(const char *key)
{
	for (const char *const *own = own_keys; *own; own++)
		if (strcmp(*own, key) == 0)
			return true;
	return false;
}

static bool is_ascii(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			return false;
	return true;
}

/* Without comment, and blanks at its end. */
static void strip(char *line)
{
	size_t len = strcspn(line, "#\r");

	while (len > 0 && strchr(BLANKS, line[len - 1]))
		len--;
	line[len] = '\0';
}

static int refuse(char *error, int ret, unsigned number, const char *why, const char *what)
{
	snprintf(error, DADA_ERROR_LEN, "line %u: %s%s%.60s%s", number, why, what ? " '" : "",
		 what ? what : "", what ? "'" : "");
	return ret;
}

static int add_line(struct dada_fields *fields, char *line, unsigned number, char *error)
{
	char *key, *value, known[VALUE_MAX];

	strip(line);
	key = line + strspn(line, BLANKS);
	if (!*key)
		return 0;
	value = key + strcspn(key, BLANKS);
	if (*value)
		*value++ = '\0';
	value += strspn(value, BLANKS);
	if (strspn(key, KEY_CHARACTERS) != strlen(key) || strlen(key) > KEY_MAX)
		return refuse(error, -EINVAL, number,
			      "a key is of capitals, digits and '_'; there is", key);
	if (is_own(key))
		return refuse(error, -EINVAL, number, "the recorder itself says what is true of", key);
	if (!*value)
		return refuse(error, -EINVAL, number, "there is no value behind", key);
	if (!is_ascii(value) || strlen(value) >= VALUE_MAX)
		return refuse(error, -EINVAL, number,
			      "not printable ASCII, or too long, is the value of", key);
	if (dada_get(fields, key, known, sizeof(known)))
		return refuse(error, -EINVAL, number, "a second time there is", key);
	if (fields->len + strlen(key) + strlen(value) + 2 > DADA_HEADER_BYTES - OWN_BYTES)
		return refuse(error, -E2BIG, number,
			      "more than the header of 4096 bytes has room for, from here on:", key);
	fields->len += (size_t)snprintf(fields->text + fields->len,
					sizeof(fields->text) - fields->len, "%s %s\n", key, value);
	return 0;
}

int dada_parse(struct dada_fields *fields, const char *text, size_t len, char *error)
{
	char line[2 * VALUE_MAX];
	unsigned number = 0;

	fields->len = 0;
	fields->text[0] = '\0';
	for (const char *end = text + len; text < end;) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = (size_t)((newline ? newline : end) - text);
		int ret;

		number++;
		if (bytes >= sizeof(line) || memchr(text, '\0', bytes))
			return refuse(error, -EINVAL, number, "this is no line of text", NULL);
		memcpy(line, text, bytes);
		line[bytes] = '\0';
		ret = add_line(fields, line, number, error);
		if (ret < 0)
			return ret;
		text += bytes + (newline != NULL);
	}
	return 0;
}

bool dada_get(const struct dada_fields *fields, const char *key, char *value, size_t len)
{
	size_t key_len = strlen(key);

	for (const char *line = fields->text; *line; line = strchr(line, '\n') + 1) {
		size_t bytes;

		if (strncmp(line, key, key_len) != 0 || line[key_len] != ' ')
			continue;
		line += key_len + 1;
		bytes = strcspn(line, "\n");
		if (bytes >= len)
			return false;
		memcpy(value, line, bytes);
		value[bytes] = '\0';
		return true;
	}
	return false;
}

static bool has(const struct dada_fields *fields, const char *key)
{
	char value[VALUE_MAX];

	return dada_get(fields, key, value, sizeof(value));
}

/* Microseconds from one sample to the next; 0 = nobody can tell. */
static double sample_us(const struct dada_fields *fields, uint64_t rate_bps)
{
	static const char *const factors[] = { "NBIT", "NDIM", "NPOL", "NCHAN" };
	double bits = 1;

	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
		char value[VALUE_MAX];
		uint64_t count;

		if (!dada_get(fields, factors[i], value, sizeof(value)) ||
		    units_parse_count(value, &count) < 0 || count == 0)
			return 0;
		bits *= (double)count;
	}
	return rate_bps ? bits * 1e6 / (double)rate_bps : 0;
}

void dada_missing(char *keys, const struct dada_fields *fields, uint64_t rate_bps)
{
	static const char *const wanted[] = { "INSTRUMENT", "TELESCOPE", "SOURCE", "FREQ",
					      "BW",         "NPOL",      "NBIT",   "TSAMP" };
	char *end = keys;

	keys[0] = '\0';
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		bool is_known = strcmp(wanted[i], "TSAMP") == 0 && sample_us(fields, rate_bps) > 0;

		if (!is_known && !has(fields, wanted[i]))
			end += sprintf(end, "%s%s", end == keys ? "" : " ", wanted[i]);
	}
}

/* ---- a file's header ---- */

struct header {
	char *text;
	size_t len;
};

static void put(struct header *header, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* dada_parse() has kept room for all of it. */
static void put(struct header *header, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(header->text + header->len, DADA_HEADER_BYTES - header->len, format, ap);
	va_end(ap);
	header->len += (size_t)n;
}

/* What would end the value, or is no ASCII, becomes '_'. */
static void put_file_name(struct header *header, const char *file)
{
	char name[256];
	size_t n = 0;

	for (; file[n] && n + 1 < sizeof(name); n++)
		name[n] = file[n] > 0x20 && file[n] < 0x7f && file[n] != '#' ? file[n] : '_';
	name[n] = '\0';
	put(header, "FILE_NAME %s\n", name);
}

static void put_start(struct header *header, int64_t utc_ns)
{
	time_t seconds = (time_t)(utc_ns / UNITS_NS_PER_S);
	char text[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d-%H:%M:%S", &tm);
	put(header, "UTC_START %s\nPICOSECONDS %" PRId64 "\n", text,
	    utc_ns % UNITS_NS_PER_S * PS_PER_NS);
}

void dada_compose(char *text, const struct dada_fields *fields, const struct dada_facts *facts)
{
	struct header header = { .text = text };
	double us = sample_us(fields, facts->rate_bps);

	memset(text, 0, DADA_HEADER_BYTES);
	put(&header, MARK VSIB_VERSION "\n");
	put_start(&header, facts->start_utc_ns);
	put(&header, "OBS_OFFSET %" PRIu64 "\nOBS_OVERLAP 0\n", facts->stream_offset);
	put_file_name(&header, facts->file);
	put(&header, "FILE_NUMBER %" PRIu64 "\n", facts->file_number);
	if (facts->file_bytes)
		put(&header, "FILE_SIZE %" PRIu64 "\n", facts->file_bytes);
	if (facts->rate_bps && facts->rate_bps % 8 == 0 && !has(fields, "BYTES_PER_SECOND"))
		put(&header, "BYTES_PER_SECOND %" PRIu64 "\n", facts->rate_bps / 8);
	if (us > 0 && !has(fields, "TSAMP"))
		put(&header, "TSAMP %.12g\n", us);
	put(&header, "%s", fields->text);
}

bool dada_is_ours(const void *data, size_t len)
{
	return len >= DADA_HEADER_BYTES && memcmp(data, MARK, sizeof(MARK) - 1) == 0;
}
