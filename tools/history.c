/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/history.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/journal.h"
#include "tools/array.h"

#define POSITION_MAX INT64_MAX /* offsets and counts of a journal are below 2^63 */

/* Lines of a file, one after the other, through a buffer that holds one of the longest. */
struct lines {
	int fd;
	char *buf;    /* HISTORY_LINE_MAX + 1 */
	size_t begin; /* unread bytes are buf[begin..end) */
	size_t end;
	bool is_at_end; /* of the file */
};

struct reading {
	struct history *history;
	struct lines lines;
	void *tree; /* of struct history_file, by name and target */
	struct history_file *last_file;
	uint64_t discarded_bytes; /* of the gaps so far; POSITION_MAX stands for more, too */
};

static int fill_lines(struct lines *lines)
{
	ssize_t n;

	memmove(lines->buf, lines->buf + lines->begin, lines->end - lines->begin);
	lines->end -= lines->begin;
	lines->begin = 0;
	do {
		n = read(lines->fd, lines->buf + lines->end, HISTORY_LINE_MAX + 1 - lines->end);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	lines->end += (size_t)n;
	lines->is_at_end = n == 0;
	return 0;
}

/* Return: 1 and the line without its newline; 0 end of file; -EMSGSIZE too long; -errno. */
static int next_line(struct lines *lines, const char **line, size_t *len)
{
	size_t searched = 0;

	for (;;) {
		const char *from = lines->buf + lines->begin;
		const char *newline =
			memchr(from + searched, '\n', lines->end - lines->begin - searched);
		int ret;

		if (newline) {
			*line = from;
			*len = (size_t)(newline - from);
			lines->begin += *len + 1;
			return 1;
		}
		searched = lines->end - lines->begin;
		if (lines->is_at_end)
			return 0;
		if (searched > HISTORY_LINE_MAX)
			return -EMSGSIZE;
		ret = fill_lines(lines);
		if (ret < 0)
			return ret;
	}
}

bool history_name_is_safe(const char *name)
{
	return name[0] != '\0' && !strchr(name, '/') && history_file_is_safe(name);
}

bool history_is_journal(const char *path)
{
	size_t len = strlen(path), suffix_len = strlen(".jsonl");

	return len >= suffix_len && strcmp(path + len - suffix_len, ".jsonl") == 0;
}

bool history_has_second(const struct history *history)
{
	return json_integer_value(json_object_get(history->start, "copies")) > 1;
}

bool history_file_is_safe(const char *file)
{
	const char *part = file;

	for (const char *c = file; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	for (;;) {
		size_t len = strcspn(part, "/");

		if (len == 0 || (len == 1 && part[0] == '.') ||
		    (len == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		if (part[len] == '\0')
			return true;
		part += len + 1;
	}
}

static bool get_position(const json_t *line, const char *key, uint64_t *value)
{
	const json_t *number = json_object_get(line, key);

	if (!json_is_integer(number) || json_integer_value(number) < 0)
		return false;
	*value = (uint64_t)json_integer_value(number);
	return true;
}

static const char *get_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool get_xxh3(const json_t *line, struct history_segment *segment)
{
	const json_t *sum = json_object_get(line, "xxh3");
	const char *text;

	segment->xxh3 = 0;
	segment->has_xxh3 = false;
	if (!sum || json_is_null(sum))
		return true;
	text = json_string_value(sum);
	if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdefABCDEF") != 16)
		return false;
	segment->xxh3 = strtoull(text, NULL, 16);
	segment->has_xxh3 = true;
	return true;
}

static int compare_files(const void *a, const void *b)
{
	const struct history_file *x = a, *y = b;

	if (x->target != y->target)
		return x->target < y->target ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int add_file(struct reading *reading, const struct history_file *wanted, uint32_t *index)
{
	struct history *history = reading->history;
	struct history_file *file, **room, **node;

	if (history->file_count >= UINT32_MAX)
		return -ENOMEM;
	file = malloc(sizeof(*file));
	room = array_room(&history->files, history->file_count, sizeof(struct history_file *));
	if (!file || !room)
		goto fail;
	*file = *wanted;
	file->index = (uint32_t)history->file_count;
	file->name = strdup(wanted->name);
	if (!file->name)
		goto fail;
	node = tsearch(file, &reading->tree, compare_files);
	if (!node) {
		free((char *)file->name);
		goto fail;
	}
	*room = file;
	history->file_count++;
	reading->last_file = file;
	*index = file->index;
	return 0;
fail:
	free(file);
	return -ENOMEM;
}

static int find_file(struct reading *reading, const struct history_file *wanted, uint32_t *index)
{
	struct history_file **node;

	if (reading->last_file && compare_files(reading->last_file, wanted) == 0) {
		*index = reading->last_file->index;
		return 0;
	}
	node = tfind(wanted, &reading->tree, compare_files);
	if (!node)
		return add_file(reading, wanted, index);
	reading->last_file = *node;
	*index = (*node)->index;
	return 0;
}

/* Readers of one line return 0, -EBADMSG for an impossible one, or -ENOMEM. */

/* Where something lies, and what its checksum is: common to segments and parity. */
static bool get_stored(const struct history *history, const json_t *line,
		       struct history_segment *stored, struct history_file *file)
{
	uint64_t target;

	file->name = get_text(line, "file");
	if (!get_position(line, "target", &target) || target >= history->target_count ||
	    !history_file_is_safe(file->name) ||
	    !get_position(line, "file_offset", &stored->file_offset) ||
	    !get_position(line, "bytes", &stored->bytes) || !get_xxh3(line, stored) ||
	    stored->file_offset > POSITION_MAX - stored->bytes)
		return false;
	file->target = (unsigned)target;
	return true;
}

/* Return: 0, stored->has_row says if there is one; -EBADMSG. */
static int read_row(const struct history *history, const json_t *line, struct history_segment *stored)
{
	uint64_t block_bytes, row, offset = 0;

	stored->has_row = false;
	stored->row_at = 0;
	if (!json_object_get(line, "row"))
		return 0;
	if (!get_position(history->start, "block_bytes", &block_bytes) || block_bytes == 0 ||
	    !get_position(line, "row", &row) ||
	    (json_object_get(line, "row_offset") && !get_position(line, "row_offset", &offset)) ||
	    offset >= block_bytes || row >= POSITION_MAX / block_bytes ||
	    row * block_bytes + offset > POSITION_MAX - stored->bytes)
		return -EBADMSG;
	stored->row_at = row * block_bytes + offset;
	stored->has_row = true;
	return 0;
}

static int add_stored(struct reading *reading, struct history_segment **array, size_t *count,
		      struct history_segment *stored, const struct history_file *file)
{
	struct history_segment *room;
	int ret = find_file(reading, file, &stored->file);

	if (ret < 0)
		return ret;
	room = history_stored_count(reading->history) < UINT32_MAX - 1 ?
		       array_room(array, *count, sizeof(*room)) :
		       NULL;
	if (!room)
		return -ENOMEM;
	*room = *stored;
	++*count;
	return 0;
}

/* One whose row is impossible is used without it, and the line counts as invalid all the same. */
static int read_segment(struct reading *reading, const json_t *line)
{
	struct history *history = reading->history;
	struct history_segment segment;
	struct history_file file;
	int ret, row;

	if (!get_stored(history, line, &segment, &file) ||
	    !get_position(line, "stream_offset", &segment.stream_offset) ||
	    segment.stream_offset > POSITION_MAX - segment.bytes)
		return -EBADMSG;
	if (segment.bytes == 0)
		return 0;
	row = read_row(history, line, &segment);
	ret = add_stored(reading, &history->segments, &history->segment_count, &segment, &file);
	return ret < 0 ? ret : row;
}

static int read_parity(struct reading *reading, const json_t *line)
{
	struct history *history = reading->history;
	struct history_segment parity = { 0 };
	struct history_file file;

	if (!get_stored(history, line, &parity, &file) || read_row(history, line, &parity) < 0 ||
	    !parity.has_row)
		return -EBADMSG;
	return parity.bytes == 0 ?
		       0 :
		       add_stored(reading, &history->parity, &history->parity_count, &parity, &file);
}

static uint8_t cause_of(const char *word)
{
	static const char *const words[] = {
		[HISTORY_OVERFLOW] = "overflow",   [HISTORY_SOURCE] = "source",
		[HISTORY_DISK] = "disk",           [HISTORY_ABORTED] = "aborted",
		[HISTORY_DISCARDED] = "discarded",
	};

	for (unsigned i = 0; i < HISTORY_OTHER; i++)
		if (strcmp(word, words[i]) == 0)
			return (uint8_t)i;
	return HISTORY_OTHER;
}

static int read_gap(struct reading *reading, const json_t *line)
{
	struct history *history = reading->history;
	struct history_gap gap, *room;

	if (!get_position(line, "stream_offset", &gap.stream_offset) ||
	    !get_position(line, "bytes", &gap.bytes) || gap.stream_offset > POSITION_MAX - gap.bytes)
		return -EBADMSG;
	if (gap.bytes == 0)
		return 0;
	gap.cause = cause_of(get_text(line, "cause"));
	gap.is_estimated = json_is_true(json_object_get(line, "estimated"));
	if (gap.cause == HISTORY_DISCARDED)
		reading->discarded_bytes = gap.bytes < POSITION_MAX - reading->discarded_bytes ?
						   reading->discarded_bytes + gap.bytes :
						   POSITION_MAX;
	gap.is_filled = json_is_true(json_object_get(line, "filled"));
	room = array_room(&history->gaps, history->gap_count, sizeof(*room));
	if (!room)
		return -ENOMEM;
	*room = gap;
	history->gap_count++;
	return 0;
}

static int read_clock(struct reading *reading, const json_t *line)
{
	struct history *history = reading->history;
	struct history_clock clock, *room;

	if (!get_position(line, "stream_offset", &clock.stream_offset) ||
	    units_parse_utc(get_text(line, "utc"), &clock.utc_ns) < 0)
		return -EBADMSG;
	clock.monotonic_ns = json_integer_value(json_object_get(line, "monotonic_ns"));
	room = array_room(&history->clocks, history->clock_count, sizeof(*room));
	if (!room)
		return -ENOMEM;
	*room = clock;
	history->clock_count++;
	return 0;
}

static void read_recovered(struct history *history, const json_t *line)
{
	const json_t *targets = json_object_get(line, "unknown_targets");

	history->is_recovered = true;
	for (size_t i = 0; i < json_array_size(targets); i++) {
		json_int_t target = json_integer_value(json_array_get(targets, i));

		if (target >= 0 && (uint64_t)target < history->target_count)
			history->targets[target].was_unknown = true;
	}
}

static void read_event(struct history *history, const json_t *line)
{
	const char *event = get_text(line, "event");
	uint64_t target;

	if (strcmp(event, JOURNAL_RECOVERED) == 0)
		read_recovered(history, line);
	else if (strcmp(event, "journal-failed") == 0 && get_position(line, "target", &target) &&
		 target < history->target_count)
		history->targets[target].has_lost_journal = true;
}

/* Of what was discarded only what lies within the recording has gaps; the rest came behind it. */
static uint64_t discarded_behind(const struct reading *reading, const json_t *end)
{
	uint64_t bytes, within = reading->discarded_bytes;

	if (!get_position(end, "discarded_bytes", &bytes))
		return 0;
	return within < bytes ? bytes - within : 0;
}

static int read_end(struct reading *reading, json_t *line)
{
	struct history *history = reading->history;
	uint64_t bytes, behind = discarded_behind(reading, line);

	if (!get_position(line, "stream_bytes", &bytes))
		return -EBADMSG;
	bytes -= behind < bytes ? behind : bytes;
	json_decref(history->end);
	history->end = json_incref(line);
	history->end_bytes = bytes;
	return 0;
}

/* The strings stay the start line's. */
static int read_targets(struct history *history, const json_t *targets)
{
	size_t count = json_array_size(targets);

	if (count > HISTORY_TARGET_MAX)
		return -EBADMSG;
	history->targets = calloc(count ? count : 1, sizeof(history->targets[0]));
	if (!history->targets)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const json_t *target = json_array_get(targets, i);

		history->targets[i].path = get_text(target, "path");
		history->targets[i].fs_uuid = get_text(target, "fs_uuid");
	}
	history->target_count = count;
	return 0;
}

static int read_start(struct reading *reading, json_t *line, char *error)
{
	struct history *history = reading->history;
	const char *schema = get_text(line, "schema");
	int ret;

	if (strcmp(get_text(line, "type"), "start") != 0) {
		snprintf(error, HISTORY_TEXT_LEN, "its first line is not a start line");
		return -EBADMSG;
	}
	if (strcmp(schema, JOURNAL_SCHEMA) != 0) {
		snprintf(error, HISTORY_TEXT_LEN, "its schema is \"%.64s\", this program reads \"%s\"",
			 schema, JOURNAL_SCHEMA);
		return -EBADMSG;
	}
	if (!history_name_is_safe(get_text(line, "name"))) {
		snprintf(error, HISTORY_TEXT_LEN, "its start line has no usable name");
		return -EBADMSG;
	}
	history->start = json_incref(line);
	history->name = strdup(get_text(line, "name"));
	ret = history->name ? read_targets(history, json_object_get(line, "targets")) : -ENOMEM;
	if (ret == -EBADMSG)
		snprintf(error, HISTORY_TEXT_LEN, "its start line names more than %d targets",
			 HISTORY_TARGET_MAX);
	return ret;
}

static int read_known(struct reading *reading, json_t *line)
{
	const char *type = get_text(line, "type");

	if (strcmp(type, "segment") == 0)
		return read_segment(reading, line);
	if (strcmp(type, "parity") == 0)
		return read_parity(reading, line);
	if (strcmp(type, "gap") == 0)
		return read_gap(reading, line);
	if (strcmp(type, "clock") == 0)
		return read_clock(reading, line);
	if (strcmp(type, "end") == 0)
		return read_end(reading, line);
	if (strcmp(type, "event") == 0)
		read_event(reading->history, line);
	else
		reading->history->unknown_count++;
	return 0;
}

/* Return: 0; 1: the journal is believed up to before this line; -errno. */
static int read_line(struct reading *reading, const char *text, size_t len, char *error)
{
	struct history *history = reading->history;
	uint64_t number = history->valid_count + 1;
	json_error_t reason;
	json_t *line;
	int ret;

	line = json_loadb(text, len, 0, &reason);
	if (!json_is_object(line)) {
		snprintf(history->stop, sizeof(history->stop),
			 "line %" PRIu64 " is not a JSON object%s%s", number, line ? "" : ": ",
			 line ? "" : reason.text);
		json_decref(line);
		return 1;
	}
	ret = number == 1 ? read_start(reading, line, error) : read_known(reading, line);
	if (ret == -EBADMSG && number > 1) {
		if (history->invalid_count++ == 0)
			snprintf(history->invalid, sizeof(history->invalid),
				 "line %" PRIu64 " (%.32s) says something impossible", number,
				 get_text(line, "type"));
		ret = 0;
	}
	json_decref(line);
	if (ret < 0)
		return ret;
	history->valid_count++;
	history->valid_bytes += len + 1;
	if (!history->is_recovered)
		history->told_bytes = history->valid_bytes;
	return 0;
}

static int read_lines(struct reading *reading, enum history_depth depth, char *error)
{
	struct history *history = reading->history;
	const char *text;
	size_t len;
	int ret;

	do {
		ret = next_line(&reading->lines, &text, &len);
		if (ret == -EMSGSIZE) {
			snprintf(history->stop, sizeof(history->stop),
				 "line %" PRIu64 " is longer than %zu bytes",
				 history->valid_count + 1, HISTORY_LINE_MAX);
			return 0;
		}
		if (ret < 0 && history->start) {
			snprintf(history->stop, sizeof(history->stop),
				 "line %" PRIu64 " can't be read: %s", history->valid_count + 1,
				 strerror(-ret));
			return 0;
		}
		if (ret < 0) {
			snprintf(error, HISTORY_TEXT_LEN, "it can't be read: %s", strerror(-ret));
			return ret;
		}
		if (ret == 0) {
			history->is_torn = reading->lines.end > reading->lines.begin;
			return 0;
		}
		ret = read_line(reading, text, len, error);
	} while (ret == 0 && depth == HISTORY_ALL);
	return ret < 0 ? ret : 0;
}

static void keep_node(void *node)
{
	(void)node;
}

int history_read(struct history **out, int fd, const char *path, enum history_depth depth, char *error)
{
	struct reading reading = { .lines.fd = fd };
	struct history *history;
	int ret = -ENOMEM;

	*out = NULL;
	snprintf(error, HISTORY_TEXT_LEN, "out of memory");
	history = calloc(1, sizeof(*history));
	reading.history = history;
	reading.lines.buf = malloc(HISTORY_LINE_MAX + 1);
	if (!history || !reading.lines.buf)
		goto fail;
	history->path = strdup(path);
	if (!history->path)
		goto fail;
	ret = read_lines(&reading, depth, error);
	if (ret == 0 && !history->start) {
		snprintf(error, HISTORY_TEXT_LEN, "it has no start line%s%.400s",
			 history->stop[0] ? ": " : "", history->stop);
		ret = -EBADMSG;
	}
	if (ret < 0)
		goto fail;
	tdestroy(reading.tree, keep_node);
	free(reading.lines.buf);
	*out = history;
	return 0;
fail:
	tdestroy(reading.tree, keep_node);
	free(reading.lines.buf);
	history_free(history);
	return ret;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < history->file_count; i++) {
		free((char *)history->files[i]->name);
		free(history->files[i]);
	}
	free(history->files);
	free(history->targets);
	free(history->segments);
	free(history->parity);
	free(history->gaps);
	free(history->clocks);
	json_decref(history->start);
	json_decref(history->end);
	free(history->name);
	free(history->path);
	free(history);
}

static bool is_same_field(const struct history *a, const struct history *b, const char *key)
{
	const json_t *x = json_object_get(a->start, key), *y = json_object_get(b->start, key);

	return (!x && !y) || json_equal(x, y);
}

const char *history_layout(const struct history *history)
{
	const char *layout = json_string_value(json_object_get(history->start, "layout"));

	return layout ? layout : "";
}

bool history_has_folder(const struct history *history)
{
	const char *layout = history_layout(history);

	return strcmp(layout, "raw") != 0 && strcmp(layout, "mark6") != 0 &&
	       strcmp(layout, "pcap") != 0;
}

const struct history_segment *history_stored(const struct history *history, size_t index)
{
	return index < history->segment_count ? &history->segments[index] :
						&history->parity[index - history->segment_count];
}

size_t history_stored_count(const struct history *history)
{
	return history->segment_count + history->parity_count;
}

uint64_t *history_promises(const struct history *history, uint32_t *last_stored)
{
	uint64_t *promised = calloc(history->file_count + 1, sizeof(*promised));

	for (size_t i = 0; promised && i < history_stored_count(history); i++) {
		const struct history_segment *stored = history_stored(history, i);
		uint64_t end = stored->file_offset + stored->bytes;

		if (end <= promised[stored->file])
			continue;
		promised[stored->file] = end;
		if (last_stored)
			last_stored[stored->file] = (uint32_t)i;
	}
	return promised;
}

bool history_is_same(const struct history *a, const struct history *b)
{
	return strcmp(a->name, b->name) == 0 && is_same_field(a, b, "utc") &&
	       is_same_field(a, b, "pid") && is_same_field(a, b, "host");
}
