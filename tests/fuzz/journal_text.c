/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/journal_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/input.h"

#define NUMBERS_MAX 8

typedef unsigned long long number;

const char *journal_text_file(unsigned long long index)
{
	static const char *const names[JOURNAL_TEXT_FILES] = {
		"scan.raw",           "scan.000000",        "scan.vdif",
		"scan.parity.000000", "scan/scan.00000000", "scan/scan.00000001",
	};

	return names[index % JOURNAL_TEXT_FILES];
}

static void put_start(FILE *out, const number *n)
{
	static const char *const layouts[] = { "raw", "vbs", "mark6" };

	fprintf(out,
		"{\"type\":\"start\",\"schema\":\"vsib-journal/1\",\"name\":\"scan\",\"layout\":\"%s\",\"block_bytes\":%llu,"
		"\"rate_bps\":%llu,\"copies\":%llu,\"targets\":[{\"path\":\"/1\"},{\"path\":\"/2\"}],"
		"\"utc\":\"2026-11-30T08:15:00Z\",\"monotonic_ns\":%llu,\"host\":\"h\",\"pid\":1}\n",
		layouts[n[0] % 3], n[1], n[2], n[3], n[4]);
}

static void put_stored(FILE *out, const char *type, const number *n)
{
	fprintf(out,
		"{\"type\":\"%s\",\"target\":%llu,\"file\":\"%s\",\"file_offset\":%llu,\"bytes\":%llu",
		type, n[0], journal_text_file(n[1]), n[2], n[3]);
}

static void put_segment(FILE *out, const number *n)
{
	put_stored(out, "segment", n);
	fprintf(out, ",\"stream_offset\":%llu", n[4]);
	if (n[5])
		fprintf(out, ",\"row\":%llu,\"row_offset\":%llu", n[5] - 1, n[6]);
	fputs("}\n", out);
}

static void put_gap(FILE *out, const number *n)
{
	static const char *const causes[] = { "overflow", "source",    "disk",
					      "aborted",  "discarded", "else" };

	fprintf(out, "{\"type\":\"gap\",\"stream_offset\":%llu,\"bytes\":%llu,\"cause\":\"%s\"}\n",
		n[0], n[1], causes[n[2] % 6]);
}

static void put_line(FILE *out, const char *line)
{
	number n[NUMBERS_MAX] = { 0 };
	char *end = (char *)line + 1;

	for (int i = 0; line[0] && i < NUMBERS_MAX; i++)
		n[i] = strtoull(end, &end, 10);
	switch (line[0]) {
	case 'b':
		put_start(out, n);
		break;
	case 's':
		put_segment(out, n);
		break;
	case 'p':
		put_stored(out, "parity", n);
		fprintf(out, ",\"row\":%llu,\"row_offset\":%llu}\n", n[4], n[5]);
		break;
	case 'g':
		put_gap(out, n);
		break;
	case 'c':
		fprintf(out,
			"{\"type\":\"clock\",\"stream_offset\":%llu,\"utc\":\"2026-11-30T08:15:00Z\",\"monotonic_ns\":%llu}\n",
			n[0], n[1]);
		break;
	case 'e':
		fprintf(out, "{\"type\":\"end\",\"stream_bytes\":%llu,\"discarded_bytes\":%llu}\n",
			n[0], n[1]);
		break;
	case 'r':
		fputs("{\"type\":\"event\",\"event\":\"recovered\"}\n", out);
		break;
	default:
		fprintf(out, "%s\n", line);
	}
}

char *journal_text_expand(const char *text, size_t *len)
{
	struct input input = input_begin((const uint8_t *)text, strlen(text));
	char *expanded = NULL;
	FILE *out = open_memstream(&expanded, len);

	input_expect(out != NULL);
	while (input.len > 0) {
		bool is_torn = !memchr(input.data, '\n', input.len);
		char *line = input_take_text(&input, '\n');

		if (is_torn)
			fputs(line, out);
		else
			put_line(out, line);
		free(line);
	}
	input_expect(fclose(out) == 0);
	return expanded;
}
