/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_journal - does a journal tell the truth? Written apart from the recorder and from the tools that read journals.
 *
 *   tool_journal [-c] JOURNAL [TARGET...]
 *
 * TARGET... stand for the targets in the start line, in their order; none: as they are written there. What is checked:
 *   every line is an object, the first one is `start`; at most the last line is torn
 *   every segment's bytes are in its file (or FILE.part) and have its checksum
 *   a gap that is filled is of cause source, and its bytes are in segments, or in other gaps
 *   segments and gaps, but for the filled ones, lie side by side in the stream from its first byte on: nothing twice, and nothing left out
 *   second copies are in files of NAME-copy; each copy has nothing twice, and the two of a byte are on different targets
 *   the `end` line's totals are the sums of the lines
 * -c: the recorder crashed: there is no end, and parts of the stream may be neither there nor known as lost.
 *
 * Prints what scripts go on with, in the order of the stream:
 *   gap OFFSET BYTES CAUSE
 *   filled OFFSET BYTES
 *   hole OFFSET BYTES                      only with -c
 *   total STREAM_BYTES DATA_BYTES GAP_BYTES LINES TWICE_BYTES
 * DATA_BYTES are bytes of the stream, TWICE_BYTES of them are there in two copies; LINES of segments and gaps.
 * Status: 0 it does; 1 it doesn't (the reason on stderr); 2 can't be read; 64 usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define SEGMENT_MAX (UINT64_C(64) << 20)
#define EXIT_TROUBLE 2
#define EXIT_USAGE 64
#define COPIES 2

struct stretch {
	uint64_t offset;
	uint64_t bytes;
	const char *cause; /* NULL = data */
	int64_t target;    /* of data */
	unsigned copy;     /* of data: 0 or 1 */
	bool is_filled;    /* a gap that is none */
};

struct audit {
	const char *path;
	char **targets;
	size_t target_count;
	bool has_crashed;
	bool is_false;
	json_t *lines; /* array of all */
	json_t *end;   /* borrowed; NULL = none */
	struct stretch *stretches;
	size_t count;
	uint64_t twice_bytes;
};

static void wrong(struct audit *audit, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void wrong(struct audit *audit, const char *format, ...)
{
	va_list ap;

	audit->is_false = true;
	fprintf(stderr, "%s: ", audit->path);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static const char *text_of(const json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text ? text : "";
}

/* -1 when it is not there or no whole number, which no field of a journal can be. */
static int64_t number_of(const json_t *line, const char *key)
{
	const json_t *number = json_object_get(line, key);

	return json_is_integer(number) ? json_integer_value(number) : -1;
}

static int load(struct audit *audit)
{
	FILE *file = fopen(audit->path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!file) {
		perror(audit->path);
		return EXIT_TROUBLE;
	}
	while ((len = getline(&line, &room, file)) > 0) {
		json_error_t error;
		json_t *json;

		if (line[len - 1] != '\n') {
			if (!audit->has_crashed)
				wrong(audit, "the last line is torn");
			break;
		}
		json = json_loadb(line, (size_t)len, JSON_REJECT_DUPLICATES, &error);
		if (!json_is_object(json))
			wrong(audit, "line %zu is no JSON object: %s",
			      json_array_size(audit->lines) + 1, error.text);
		json_array_append_new(audit->lines, json ? json : json_object());
	}
	free(line);
	fclose(file);
	return 0;
}

/* ---- segments ------------------------------------------------------------------------------------ */

static int open_file(struct audit *audit, const json_t *segment)
{
	const json_t *targets = json_object_get(json_array_get(audit->lines, 0), "targets");
	int64_t target = number_of(segment, "target");
	const char *dir;
	char path[8192];
	int fd;

	if (target < 0 || (size_t)target >= json_array_size(targets)) {
		wrong(audit, "a segment on target %" PRId64 ", which the start line doesn't have",
		      target);
		return -1;
	}
	dir = (size_t)target < audit->target_count ?
		      audit->targets[target] :
		      text_of(json_array_get(targets, (size_t)target), "path");
	snprintf(path, sizeof(path), "%s/%s", dir, text_of(segment, "file"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		snprintf(path, sizeof(path), "%s/%s.part", dir, text_of(segment, "file"));
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		wrong(audit, "%s: %s", path, strerror(errno));
	return fd;
}

static void check_bytes(struct audit *audit, const json_t *segment)
{
	size_t bytes = (size_t)number_of(segment, "bytes"), done = 0;
	off_t at = (off_t)number_of(segment, "file_offset");
	const char *sum = text_of(segment, "xxh3");
	char *buf = malloc(bytes), right[17];
	int fd = open_file(audit, segment);

	while (fd >= 0 && buf && done < bytes) {
		ssize_t n = pread(fd, buf + done, bytes - done, at + (off_t)done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (fd >= 0 && done < bytes) {
		wrong(audit, "%s: only %zu of the %zu bytes from %jd on can be read",
		      text_of(segment, "file"), done, bytes, (intmax_t)at);
	} else if (fd >= 0 && *sum) {
		snprintf(right, sizeof(right), "%016" PRIx64, (uint64_t)XXH3_64bits(buf, bytes));
		if (strcmp(sum, right) != 0)
			wrong(audit, "%s: the %zu bytes from %jd on have the checksum %s, not %s",
			      text_of(segment, "file"), bytes, (intmax_t)at, right, sum);
	}
	if (fd >= 0)
		close(fd);
	free(buf);
}

/* Layout raw has its files beside each other, vbs each copy's in a directory: the name begins with the recording's. */
static void check_name(struct audit *audit, const json_t *segment, bool is_second)
{
	const char *name = text_of(json_array_get(audit->lines, 0), "name");
	const char *file = text_of(segment, "file"), suffix[] = "-copy";
	size_t len = strlen(name);

	if (strncmp(file, name, len) == 0 &&
	    (strncmp(file + len, suffix, sizeof(suffix) - 1) == 0) != is_second)
		wrong(audit, "%s: a file of the %s copy", file, is_second ? "first" : "second");
}

static void check_segment(struct audit *audit, const json_t *segment)
{
	int64_t bytes = number_of(segment, "bytes");
	bool is_second = json_object_get(segment, "copy") != NULL;

	if (bytes <= 0 || (uint64_t)bytes > SEGMENT_MAX || number_of(segment, "file_offset") < 0 ||
	    number_of(segment, "stream_offset") < 0 || !*text_of(segment, "utc")) {
		wrong(audit,
		      "a segment with impossible figures: %" PRId64 " bytes at stream offset %" PRId64,
		      bytes, number_of(segment, "stream_offset"));
		return;
	}
	if (is_second && (number_of(segment, "copy") != 1 ||
			  number_of(json_array_get(audit->lines, 0), "copies") != COPIES))
		wrong(audit, "%s: copy %" PRId64 " of %" PRId64, text_of(segment, "file"),
		      number_of(segment, "copy"),
		      number_of(json_array_get(audit->lines, 0), "copies"));
	check_name(audit, segment, is_second);
	check_bytes(audit, segment);
	audit->stretches[audit->count++] = (struct stretch){
		.offset = (uint64_t)number_of(segment, "stream_offset"),
		.bytes = (uint64_t)bytes,
		.target = number_of(segment, "target"),
		.copy = is_second,
	};
}

/* ---- gaps ---------------------------------------------------------------------------------------- */

static void check_gap(struct audit *audit, const json_t *gap)
{
	static const char *const causes[] = { "overflow", "source", "disk", "aborted", "discarded" };
	const char *cause = NULL;

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (strcmp(causes[i], text_of(gap, "cause")) == 0)
			cause = causes[i];
	if (!cause || number_of(gap, "bytes") <= 0 || number_of(gap, "stream_offset") < 0 ||
	    (json_object_get(gap, "filled") && strcmp(cause, "source") != 0)) {
		wrong(audit, "a gap of %" PRId64 " bytes, cause '%s'", number_of(gap, "bytes"),
		      text_of(gap, "cause"));
		return;
	}
	audit->stretches[audit->count++] = (struct stretch){
		.offset = (uint64_t)number_of(gap, "stream_offset"),
		.bytes = (uint64_t)number_of(gap, "bytes"),
		.cause = cause,
		.is_filled = json_object_get(gap, "filled") != NULL,
	};
}

/* ---- all together -------------------------------------------------------------------------------- */

static void check_lines(struct audit *audit)
{
	json_t *line;
	size_t i;

	if (strcmp(text_of(json_array_get(audit->lines, 0), "type"), "start") != 0 ||
	    strcmp(text_of(json_array_get(audit->lines, 0), "schema"), "vsib-journal/1") != 0)
		wrong(audit, "the first line is no start of a vsib-journal/1");
	json_array_foreach(audit->lines, i, line)
	{
		const char *type = text_of(line, "type");

		if (audit->end)
			wrong(audit, "a line behind the end");
		if (strcmp(type, "segment") == 0)
			check_segment(audit, line);
		else if (strcmp(type, "gap") == 0)
			check_gap(audit, line);
		else if (strcmp(type, "end") == 0)
			audit->end = line;
		else if (strcmp(type, "start") == 0 && i > 0)
			wrong(audit, "a second start");
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct stretch *left = a, *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

static uint64_t end_of(const struct stretch *at)
{
	return at ? at->offset + at->bytes : 0;
}

/* The last of the other copy, which begins before @at: what both have is on two disks. */
static void check_pair(struct audit *audit, const struct stretch *at, const struct stretch *other)
{
	uint64_t end = end_of(other) < end_of(at) ? end_of(other) : end_of(at);

	if (end <= at->offset)
		return;
	audit->twice_bytes += end - at->offset;
	if (at->target == other->target)
		wrong(audit,
		      "both copies of the stream's bytes from %" PRIu64 " on are on target %" PRId64,
		      at->offset, at->target);
}

/*
 * Side by side from 0 on? A gap is one of both copies. Prints the gaps (joined where one goes on with the other's
 * cause). Returns the stream's end.
 */
static uint64_t check_order(struct audit *audit)
{
	const struct stretch *last[COPIES] = { NULL };
	uint64_t position = 0, filled_end = 0;

	if (audit->count)
		qsort(audit->stretches, audit->count, sizeof(audit->stretches[0]), by_offset);
	for (size_t i = 0; i < audit->count; i++) {
		const struct stretch *at = &audit->stretches[i];

		if (at->is_filled) {
			printf("filled %" PRIu64 " %" PRIu64 "\n", at->offset, at->bytes);
			filled_end = end_of(at) > filled_end ? end_of(at) : filled_end;
			continue;
		}
		for (unsigned copy = 0; copy < COPIES; copy++) {
			if (!at->cause && at->copy != copy)
				continue;
			if (at->offset < end_of(last[copy]))
				wrong(audit,
				      "the stream's bytes from %" PRIu64
				      " on are there twice (%" PRIu64 " of them)",
				      at->offset, end_of(last[copy]) - at->offset);
			last[copy] = at;
		}
		if (!at->cause && last[!at->copy] && !last[!at->copy]->cause)
			check_pair(audit, at, last[!at->copy]);
		if (at->offset > position && audit->has_crashed)
			printf("hole %" PRIu64 " %" PRIu64 "\n", position, at->offset - position);
		else if (at->offset > position)
			wrong(audit,
			      "the stream's bytes from %" PRIu64 " to %" PRIu64
			      " are neither there nor lost",
			      position, at->offset);
		if (at->cause)
			printf("gap %" PRIu64 " %" PRIu64 " %s\n", at->offset, at->bytes, at->cause);
		if (end_of(at) > position)
			position = end_of(at);
	}
	/* what is discarded behind the recording's end is no gap */
	if (filled_end > position && !audit->has_crashed &&
	    filled_end - position > (uint64_t)number_of(audit->end, "discarded_bytes"))
		wrong(audit, "of the fill up to %" PRIu64 " there is nothing from %" PRIu64 " on",
		      filled_end, position);
	return position;
}

/* NULL: data, each byte once. */
static uint64_t sum_of(const struct audit *audit, const char *cause)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < audit->count; i++) {
		const struct stretch *at = &audit->stretches[i];

		if (cause ? at->cause && strcmp(at->cause, cause) == 0 : !at->cause)
			sum += at->bytes;
	}
	return cause ? sum : sum - audit->twice_bytes;
}

static uint64_t filled_bytes(const struct audit *audit)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < audit->count; i++)
		sum += audit->stretches[i].is_filled ? audit->stretches[i].bytes : 0;
	return sum;
}

static void check_total(struct audit *audit, const char *key, uint64_t sum)
{
	if (number_of(audit->end, key) != (int64_t)sum)
		wrong(audit, "the end line has %s %" PRId64 ", the lines above come to %" PRIu64,
		      key, number_of(audit->end, key), sum);
}

static void check_end(struct audit *audit, uint64_t position)
{
	static const char *const ends[] = { "written_bytes", "overflow_bytes", "disk_lost_bytes",
					    "discarded_bytes", "aborted_bytes" };
	int64_t put = 0;

	if (!audit->end) {
		if (!audit->has_crashed)
			wrong(audit, "there is no end line");
		return;
	}
	check_total(audit, "written_bytes", sum_of(audit, NULL));
	check_total(audit, "overflow_bytes", sum_of(audit, "overflow"));
	check_total(audit, "disk_lost_bytes", sum_of(audit, "disk"));
	check_total(audit, "source_lost_bytes", sum_of(audit, "source"));
	check_total(audit, "aborted_bytes", sum_of(audit, "aborted"));
	check_total(audit, "stream_bytes",
		    position + (uint64_t)number_of(audit->end, "discarded_bytes") -
			    sum_of(audit, "discarded"));
	if (number_of(audit->end, "stream_bytes") !=
	    number_of(audit->end, "received_bytes") + number_of(audit->end, "source_lost_bytes"))
		wrong(audit, "the end line: stream is not received + lost by the source");
	check_total(audit, "filled_bytes", filled_bytes(audit));
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		put += number_of(audit->end, ends[i]);
	if (number_of(audit->end, "received_bytes") + number_of(audit->end, "filled_bytes") != put)
		wrong(audit, "the end line: received + filled is not what became of it");
}

static int run(struct audit *audit)
{
	uint64_t position, data;
	int status = load(audit);

	audit->stretches = calloc(json_array_size(audit->lines) + 1, sizeof(audit->stretches[0]));
	if (status || !audit->stretches)
		return EXIT_TROUBLE;
	check_lines(audit);
	position = check_order(audit);
	check_end(audit, position);
	data = sum_of(audit, NULL);
	printf("total %" PRIu64 " %" PRIu64 " %" PRIu64 " %zu %" PRIu64 "\n", position, data,
	       sum_of(audit, "overflow") + sum_of(audit, "disk") + sum_of(audit, "source") +
		       sum_of(audit, "aborted") + sum_of(audit, "discarded") - filled_bytes(audit),
	       audit->count, audit->twice_bytes);
	return audit->is_false ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct audit audit = { .lines = json_array() };
	int option, status;

	while ((option = getopt(argc, argv, "c")) != -1) {
		if (option != 'c')
			return EXIT_USAGE;
		audit.has_crashed = true;
	}
	if (optind == argc)
		return EXIT_USAGE;
	audit.path = argv[optind];
	audit.targets = argv + optind + 1;
	audit.target_count = (size_t)(argc - optind - 1);
	status = run(&audit);
	free(audit.stretches);
	json_decref(audit.lines);
	return status;
}
