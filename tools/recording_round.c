/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/array.h"
#include "tools/recording_parts.h"
#include "tools/sequence.h"

#define MISSING_MAX 10000 /* files in a row: their gaps are given unit by unit */

/* A stretch of what one directory holds: a file, or numbers that are not there. */
struct stretch {
	uint64_t offset; /* in the bytes of this directory */
	uint64_t bytes;
	uint64_t number;
	uint32_t file; /* PART_GAP: missing */
};

struct round_dir {
	const char *given; /* TARGET/TEMPLATE as the user wrote it */
	int place;
	struct sequence sequence;
	struct stretch *stretches;
	size_t count;
	size_t current; /* where the last look was; the next is mostly there, too */
	uint64_t bytes;
};

struct round {
	struct round_dir *dirs;
	size_t count;
	uint64_t unit_bytes;
	uint64_t stream_bytes;
	uint64_t position;
};

struct round_scan {
	struct recording *recording;
	struct round_dir *dir;
};

void round_free(struct round *round)
{
	if (!round)
		return;
	for (size_t i = 0; i < round->count; i++)
		free(round->dirs[i].stretches);
	free(round->dirs);
	free(round);
}

static int visit_file(void *context, const char *name)
{
	struct round_scan *scan = context;
	struct recording *recording = scan->recording;
	struct stretch *room;
	struct stat st;
	uint64_t number;
	int64_t file;
	int fd;

	if (!sequence_match(&scan->dir->sequence, name, &number))
		return 0;
	fd = place_open_file(&recording->places[scan->dir->place], name, &st);
	if (fd == -ENOMEM)
		return fd;
	if (fd < 0) {
		recording->info.is_incomplete = true;
		return recording_add_unused(recording, recording->places[scan->dir->place].path,
					    name, place_reason(fd));
	}
	close(fd);
	file = recording_add_file(recording, scan->dir->place, name, &st);
	room = array_room(&scan->dir->stretches, scan->dir->count, sizeof(*room));
	if (file < 0 || !room)
		return -ENOMEM;
	*room = (struct stretch){ .bytes = (uint64_t)st.st_size,
				  .number = number,
				  .file = (uint32_t)file };
	scan->dir->count++;
	return 0;
}

static int compare_stretches(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int check_numbers(struct recording *recording, const struct round_dir *dir)
{
	for (size_t i = 1; i < dir->count; i++)
		if (dir->stretches[i].number == dir->stretches[i - 1].number)
			return recording_fail(recording, -EBADMSG,
					      "%s and %s in %s have the same number",
					      recording->files[dir->stretches[i - 1].file].name,
					      recording->files[dir->stretches[i].file].name,
					      recording->places[dir->place].path);
	return 0;
}

static int list_dir(struct recording *recording, struct round_dir *dir)
{
	struct round_scan scan = { .recording = recording, .dir = dir };
	char *path = strdup(dir->given), *copy = strdup(dir->given);
	int ret = -ENOMEM;

	if (!path || !copy)
		goto done;
	ret = sequence_parse(&dir->sequence, basename(copy));
	if (ret < 0) {
		recording_fail(recording, ret,
			       "%s: a template has one %%d or %%06d and no other conversion (%%%% is a percent sign)",
			       dir->given);
		goto done;
	}
	ret = dir->place = recording_add_place(recording, dirname(path), true);
	if (ret >= 0)
		ret = place_scan(&recording->places[dir->place], "", visit_file, &scan);
	if (ret < 0)
		recording_fail(recording, ret, "%s: %s", dir->given, strerror(-ret));
	else if (dir->count == 0)
		ret = recording_fail(recording, -ENOENT, "%s: no such file", dir->given);
	if (ret == 0) {
		qsort(dir->stretches, dir->count, sizeof(dir->stretches[0]), compare_stretches);
		ret = check_numbers(recording, dir);
	}
done:
	free(path);
	free(copy);
	return ret;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * Numbers go up by one, or by more when they count the blocks of all directories: then alike in
 * each of them.
 */
static uint64_t number_step(const struct round *round)
{
	uint64_t step = 0;

	for (size_t k = 0; k < round->count; k++)
		for (size_t i = 1; i < round->dirs[k].count; i++)
			step = gcd(step, round->dirs[k].stretches[i].number -
						 round->dirs[k].stretches[i - 1].number);
	return step ? step : round->count;
}

static uint64_t file_length(const struct round_dir *dir)
{
	if (dir->count < 2)
		return 0;
	for (size_t i = 1; i < dir->count; i++)
		if (i + 1 < dir->count ? dir->stretches[i].bytes != dir->stretches[0].bytes :
					 dir->stretches[i].bytes > dir->stretches[0].bytes)
			return 0;
	return dir->stretches[0].bytes;
}

static int add_stretch(struct round_dir *placed, struct stretch stretch)
{
	struct stretch *room = array_room(&placed->stretches, placed->count, sizeof(*room));

	if (!room || stretch.bytes > STREAM_MAX - placed->bytes)
		return room ? -EBADMSG : -ENOMEM;
	stretch.offset = placed->bytes;
	placed->bytes += stretch.bytes;
	*room = stretch;
	placed->count++;
	return 0;
}

static int add_missing_numbers(struct recording *recording, struct round_dir *placed, uint64_t from,
			       uint64_t count, uint64_t step, uint64_t length)
{
	struct stretch hole = { .number = from, .file = PART_GAP };
	char first[SEQUENCE_NAME_LEN], last[SEQUENCE_NAME_LEN], name[3 * SEQUENCE_NAME_LEN];
	struct recording_missing missing = {
		.target = recording->places[placed->place].path,
		.file = name,
		.reason = "is not there",
	};
	int ret;

	sequence_name(&placed->sequence, from, first);
	sequence_name(&placed->sequence, from + (count - 1) * step, last);
	snprintf(name, sizeof(name), "%s%s%s", first, count > 1 ? " to " : "", count > 1 ? last : "");
	if (!length)
		return recording_fail(
			recording, -EBADMSG,
			"%s: %s is not there, and the other files differ in length: how long it was is not known, and without that nothing behind it can be put in order",
			placed->given, name);
	if (count > MISSING_MAX || __builtin_mul_overflow(count, length, &hole.bytes) ||
	    hole.bytes > STREAM_MAX)
		return recording_fail(
			recording, -EBADMSG,
			"%s: %s are not there: so many that these files are hardly one sequence",
			placed->given, name);
	missing.bytes = hole.bytes;
	ret = recording_add_missing(recording, &missing);
	return ret < 0 ? ret : add_stretch(placed, hole);
}

/*
 * Gives each file its offset in the directory's bytes, with stretches for numbers that are not
 * there.
 */
static int place_files(struct recording *recording, struct round_dir *dir, uint64_t step)
{
	struct round_dir placed = *dir;
	uint64_t length = file_length(dir);
	uint64_t expected = 0;
	int ret = 0;

	assert(step > 0);
	placed.stretches = NULL;
	placed.count = 0;
	if (dir->sequence.has_number)
		expected = dir->stretches[0].number % step;
	for (size_t i = 0; ret == 0 && i < dir->count; i++) {
		uint64_t number = dir->stretches[i].number;

		if (number > expected)
			ret = add_missing_numbers(recording, &placed, expected,
						  (number - expected) / step, step, length);
		if (ret == 0)
			ret = add_stretch(&placed, dir->stretches[i]);
		expected = number + step;
	}
	free(dir->stretches);
	*dir = placed;
	return ret;
}

/* Where in the stream the last byte of directory k lies, plus one. */
static int measure_stream(struct recording *recording)
{
	struct round *round = recording->round;

	for (size_t k = 0; k < round->count; k++) {
		uint64_t last, turn, end;

		if (round->dirs[k].bytes == 0)
			continue;
		last = round->dirs[k].bytes - 1;
		turn = last / round->unit_bytes;
		if (__builtin_mul_overflow(turn, round->count, &turn) ||
		    __builtin_mul_overflow(turn + k, round->unit_bytes, &end) ||
		    end > STREAM_MAX - round->unit_bytes)
			return recording_fail(recording, -EBADMSG,
					      "the files are longer than 2^63 bytes together");
		end += last % round->unit_bytes + 1;
		if (end > round->stream_bytes)
			round->stream_bytes = end;
	}
	return 0;
}

/* Bytes that directory k has when the stream ends at @stream_bytes. */
static uint64_t share_of(const struct round *round, size_t k, uint64_t stream_bytes)
{
	uint64_t turn_bytes = round->unit_bytes * round->count;
	uint64_t rest = stream_bytes % turn_bytes, begin = k * round->unit_bytes;
	uint64_t part = rest > begin ? rest - begin : 0;

	return stream_bytes / turn_bytes * round->unit_bytes +
	       (part < round->unit_bytes ? part : round->unit_bytes);
}

static int check_ends(struct recording *recording)
{
	const struct round *round = recording->round;

	for (size_t k = 0; k < round->count; k++) {
		const struct round_dir *dir = &round->dirs[k];
		uint64_t share = share_of(round, k, round->stream_bytes);

		if (dir->bytes < share &&
		    recording_add_note(recording, false,
				       "%s ends %" PRIu64
				       " bytes before its turn: the directories don't end together",
				       dir->given, share - dir->bytes) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int open_round(struct recording *recording, uint64_t unit_bytes,
		      const char *const *templates, size_t count)
{
	struct round *round = calloc(1, sizeof(*round));
	uint64_t step, turn_bytes;
	int ret = 0;

	recording->round = round;
	if (!round)
		return -ENOMEM;
	if (unit_bytes == 0 || count == 0 ||
	    __builtin_mul_overflow(unit_bytes, count, &turn_bytes) || turn_bytes > STREAM_MAX)
		return recording_fail(recording, -EINVAL,
				      "units of %" PRIu64 " bytes in %zu directories make no sense",
				      unit_bytes, count);
	round->dirs = calloc(count, sizeof(round->dirs[0]));
	if (!round->dirs)
		return -ENOMEM;
	round->count = count;
	round->unit_bytes = unit_bytes;
	for (size_t k = 0; ret == 0 && k < count; k++) {
		round->dirs[k].given = templates[k];
		ret = list_dir(recording, &round->dirs[k]);
	}
	step = ret == 0 ? number_step(round) : 1;
	for (size_t k = 0; ret == 0 && k < count; k++)
		ret = place_files(recording, &round->dirs[k], step);
	if (ret == 0)
		ret = measure_stream(recording);
	return ret == 0 ? check_ends(recording) : ret;
}

/* The stretch of a directory that has this byte; NULL behind its end. */
static const struct stretch *find_stretch(struct round_dir *dir, uint64_t offset)
{
	size_t low = 0, high = dir->count;

	if (offset >= dir->bytes)
		return NULL;
	for (size_t i = dir->current; i < dir->count && i < dir->current + 2; i++)
		if (offset >= dir->stretches[i].offset &&
		    offset - dir->stretches[i].offset < dir->stretches[i].bytes) {
			dir->current = i;
			return &dir->stretches[i];
		}
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (dir->stretches[middle].offset + dir->stretches[middle].bytes <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	dir->current = low;
	return &dir->stretches[low];
}

/* Up to the end of a unit, a file or the stream, whichever comes first. */
static void describe_position(struct recording *recording, struct recording_piece *piece,
			      uint64_t position)
{
	struct round *round = recording->round;
	uint64_t turn = position / round->unit_bytes, within = position % round->unit_bytes;
	struct round_dir *dir = &round->dirs[turn % round->count];
	uint64_t offset = turn / round->count * round->unit_bytes + within;
	const struct stretch *stretch = find_stretch(dir, offset);
	uint64_t bytes = round->unit_bytes - within;

	if (bytes > round->stream_bytes - position)
		bytes = round->stream_bytes - position;
	if (stretch && bytes > stretch->offset + stretch->bytes - offset)
		bytes = stretch->offset + stretch->bytes - offset;
	memset(piece, 0, sizeof(*piece));
	piece->stream_offset = position;
	piece->bytes = bytes;
	piece->is_length_known = true;
	if (stretch && stretch->file != PART_GAP) {
		recording_describe_data(recording, piece, stretch->file, offset - stretch->offset,
					bytes);
		return;
	}
	piece->kind = RECORDING_GAP;
	piece->fd = -1;
	piece->cause = RECORDING_MISSING;
}

int round_next(struct recording *recording, struct recording_piece *piece)
{
	struct round *round = recording->round;

	if (round->position >= round->stream_bytes)
		return 0;
	describe_position(recording, piece, round->position);
	round->position += piece->bytes;
	return 1;
}

void round_seek(struct recording *recording, uint64_t stream_offset)
{
	recording->round->position = stream_offset;
}

static void count_round(struct recording *recording)
{
	const struct round *round = recording->round;
	struct recording_info *info = &recording->info;

	info->stream_bytes = round->stream_bytes;
	info->segment_count = recording->file_count;
	for (size_t k = 0; k < round->count; k++)
		for (size_t i = 0; i < round->dirs[k].count; i++)
			if (round->dirs[k].stretches[i].file != PART_GAP)
				info->data_bytes += round->dirs[k].stretches[i].bytes;
	info->gap_bytes = round->stream_bytes - info->data_bytes;
}

/* Where in the stream the files that are not there would have been. */
static void place_missing(struct recording *recording)
{
	const struct round *round = recording->round;
	size_t next = 0;

	for (size_t k = 0; k < round->count; k++)
		for (size_t i = 0; i < round->dirs[k].count && next < recording->missing_count; i++) {
			const struct stretch *stretch = &round->dirs[k].stretches[i];
			uint64_t first = stretch->offset, last = stretch->offset + stretch->bytes - 1;
			struct recording_missing *missing = &recording->missing[next];

			if (stretch->file != PART_GAP)
				continue;
			missing->stream_offset =
				(first / round->unit_bytes * round->count + k) * round->unit_bytes +
				first % round->unit_bytes;
			missing->stream_end =
				(last / round->unit_bytes * round->count + k) * round->unit_bytes +
				last % round->unit_bytes + 1;
			next++;
		}
}

int recording_open_round(struct recording **out, uint64_t unit_bytes, const char *const *templates,
			 size_t count)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	int ret;

	*out = recording;
	if (!recording)
		return -ENOMEM;
	recording->info.name = "";
	ret = open_round(recording, unit_bytes, templates, count);
	if (ret < 0 && !recording->error[0])
		recording_fail(recording, ret, "%s", strerror(-ret));
	if (ret == 0) {
		place_missing(recording);
		count_round(recording);
	}
	return ret;
}
