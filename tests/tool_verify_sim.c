/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_verify_sim - is this the simulator's stream, and where is it not?
 *
 *   tool_verify_sim [-s SEED] [-o OFFSET] [-n BYTES] [-g OFFSET:BYTES]... [-G FILE] [-f] [FILE]
 *
 *   -o OFFSET        the data begin at this position of the stream
 *   -n BYTES         there must be so many bytes of data (with -f: of data and filling)
 *   -g OFFSET:BYTES  the stream has a gap there; the data behind it are of behind it. -G FILE: one a line
 *   -f               gaps are filled with the fill pattern
 *
 * Each break is a line: where in the data it is, which position of the stream was expected there, and which
 * position the data themselves tell to have. After a break the data are believed and it goes on from there.
 * Status: 0 all right; 1 breaks, or a wrong length; 2 can't read; 64 usage.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/sim.h"

#define CHUNK_BYTES (1 << 20)
#define WORD_BYTES 8
#define SEARCH_BYTES \
	65536 /* how far behind a break words that tell their position are looked for */
#define BREAKS_SHOWN 20
#define EXIT_TROUBLE 2
#define EXIT_USAGE 64

struct gap {
	uint64_t offset;
	uint64_t bytes;
};

struct verify {
	uint64_t seed;
	uint64_t position; /* in the stream: of the next byte */
	uint64_t bytes;    /* of the data, looked at so far */
	struct gap *gaps;  /* by offset */
	size_t gap_count;
	size_t gap; /* the next one */
	bool is_filled;
	uint64_t breaks;
};

static int by_offset(const void *a, const void *b)
{
	const struct gap *left = a, *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

static bool add_gap(struct verify *v, const char *text)
{
	struct gap gap = { 0 };
	struct gap *more = realloc(v->gaps, (v->gap_count + 1) * sizeof(*more));

	if (!more)
		return false;
	v->gaps = more;
	if (sscanf(text, "%" SCNu64 "%*1[: ]%" SCNu64, &gap.offset, &gap.bytes) != 2)
		return false;
	v->gaps[v->gap_count++] = gap;
	return true;
}

static bool add_gaps(struct verify *v, const char *path)
{
	char line[128];
	bool is_good = true;
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while (is_good && fgets(line, sizeof(line), file))
		is_good = add_gap(v, line);
	fclose(file);
	return is_good;
}

/* The position that the data from @buf on tell; also how many bytes behind @buf the first word that tells is. */
static bool find_position(const struct verify *v, const unsigned char *buf, size_t len,
			  uint64_t *position, size_t *behind)
{
	for (size_t i = 0; i + 2 * WORD_BYTES <= len && i < SEARCH_BYTES; i++) {
		uint64_t index[2];

		for (int k = 0; k < 2; k++) {
			uint64_t word = 0;

			for (int b = WORD_BYTES - 1; b >= 0; b--)
				word = word << 8 | buf[i + (size_t)(k * WORD_BYTES + b)];
			index[k] = sim_position(word, v->seed);
		}
		if (index[1] != index[0] + 1 || index[0] > UINT64_MAX / WORD_BYTES - 2)
			continue;
		*position = index[0] * WORD_BYTES;
		*behind = i;
		return true;
	}
	return false;
}

static size_t verify_filling(struct verify *v, const unsigned char *buf, size_t len)
{
	static const unsigned char pattern[] = { 0x44, 0x33, 0x22, 0x11 };
	const struct gap *gap = &v->gaps[v->gap];
	uint64_t left = gap->offset + gap->bytes - v->position;
	size_t part = left < len ? (size_t)left : len;

	for (size_t i = 0; i < part; i++) {
		if (buf[i] == pattern[(v->position + i) % sizeof(pattern)])
			continue;
		if (v->breaks++ < BREAKS_SHOWN)
			printf("data byte %" PRIu64 ": stream offset %" PRIu64
			       " lies in a gap, but is not filled as such\n",
			       v->bytes + i, v->position + i);
		break;
	}
	v->position += part;
	return part;
}

/* Says what is wrong with buf[0], and goes on where the data can be believed again. Returns the bytes passed over. */
static size_t report_break(struct verify *v, const unsigned char *buf, size_t len)
{
	uint64_t found;
	size_t behind;

	v->breaks++;
	if (!find_position(v, buf, len, &found, &behind)) {
		if (v->breaks <= BREAKS_SHOWN)
			printf("data byte %" PRIu64 ": expected stream offset %" PRIu64
			       "; %zu bytes are not of this stream\n",
			       v->bytes, v->position, len);
		v->position += len;
		return len;
	}
	if (v->breaks <= BREAKS_SHOWN)
		printf("data byte %" PRIu64 ": expected stream offset %" PRIu64
		       "; %zu bytes further on it is offset %" PRIu64 " (%+" PRId64 " bytes)\n",
		       v->bytes, v->position, behind, found, (int64_t)(found - behind - v->position));
	v->position = found;
	while (v->gap < v->gap_count && v->gaps[v->gap].offset + v->gaps[v->gap].bytes <= found)
		v->gap++;
	return behind;
}

static size_t verify_data(struct verify *v, const unsigned char *buf, size_t len)
{
	size_t part = len, right;

	if (v->gap < v->gap_count && v->gaps[v->gap].offset - v->position < part)
		part = (size_t)(v->gaps[v->gap].offset - v->position);
	right = sim_verify(buf, part, v->position, v->seed);
	v->position += right;
	if (right == part)
		return part;
	v->bytes += right;
	part = report_break(v, buf + right, len - right);
	v->bytes -= right;
	return right + part;
}

static void verify(struct verify *v, const unsigned char *buf, size_t len)
{
	while (len > 0) {
		size_t done;

		while (v->gap < v->gap_count && v->position >= v->gaps[v->gap].offset &&
		       (!v->is_filled || v->position >= v->gaps[v->gap].offset + v->gaps[v->gap].bytes)) {
			if (v->position < v->gaps[v->gap].offset + v->gaps[v->gap].bytes)
				v->position = v->gaps[v->gap].offset + v->gaps[v->gap].bytes;
			v->gap++;
		}
		if (v->gap < v->gap_count && v->position >= v->gaps[v->gap].offset)
			done = verify_filling(v, buf, len);
		else
			done = verify_data(v, buf, len);
		buf += done;
		len -= done;
		v->bytes += done;
	}
}

static int verify_stream(struct verify *v, FILE *in)
{
	static unsigned char buf[CHUNK_BYTES];
	size_t len;

	while ((len = fread(buf, 1, sizeof(buf), in)) > 0)
		verify(v, buf, len);
	if (!ferror(in))
		return 0;
	perror("tool_verify_sim");
	return EXIT_TROUBLE;
}

int main(int argc, char **argv)
{
	struct verify v = { .seed = 0 };
	uint64_t wanted = UINT64_MAX;
	FILE *in = stdin;
	int option, status;
	bool is_good = true;

	while (is_good && (option = getopt(argc, argv, "s:o:n:g:G:f")) != -1) {
		if (option == 's')
			v.seed = strtoull(optarg, NULL, 0);
		else if (option == 'o')
			v.position = strtoull(optarg, NULL, 0);
		else if (option == 'n')
			wanted = strtoull(optarg, NULL, 0);
		else if (option == 'g')
			is_good = add_gap(&v, optarg);
		else if (option == 'G')
			is_good = add_gaps(&v, optarg);
		else if (option == 'f')
			v.is_filled = true;
		else
			is_good = false;
	}
	if (!is_good || argc - optind > 1) {
		free(v.gaps);
		fprintf(stderr,
			"usage: tool_verify_sim [-s SEED] [-o OFFSET] [-n BYTES] [-g OFFSET:BYTES]... [-G FILE] [-f] [FILE]\n");
		return EXIT_USAGE;
	}
	if (argc > optind && !(in = fopen(argv[optind], "re"))) {
		perror(argv[optind]);
		free(v.gaps);
		return EXIT_TROUBLE;
	}
	if (v.gap_count)
		qsort(v.gaps, v.gap_count, sizeof(v.gaps[0]), by_offset);
	status = verify_stream(&v, in);
	if (v.breaks > BREAKS_SHOWN)
		printf("%" PRIu64 " breaks in all\n", v.breaks);
	if (wanted != UINT64_MAX && v.bytes != wanted) {
		printf("%" PRIu64 " bytes; %" PRIu64 " were expected\n", v.bytes, wanted);
		v.breaks++;
	}
	free(v.gaps);
	if (in != stdin)
		fclose(in);
	return status ? status : v.breaks ? EXIT_FAILURE : EXIT_SUCCESS;
}
