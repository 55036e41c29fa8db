/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/journal.h"
#include "tools/array.h"
#include "tools/recording_parts.h"
#include "tools/sequence.h"

#define NO_SEGMENT UINT32_MAX

/* What the journal says about one file, while it is looked for. */
struct wanted {
	uint64_t bytes; /* up to its last segment's end */
	uint32_t first; /* history_stored() with the lowest and the highest offset in the file */
	uint32_t last;
	bool is_shared;   /* another target has a file of this name */
	int worst;        /* -errno of the places where it could not be opened */
	bool is_unproven; /* a file of this name was there, but may be another target's */
};

struct resolving {
	struct recording *recording;
	struct wanted *wanted;
	const struct history_file **by_name;
};

static int compare_names(const void *a, const void *b)
{
	const struct history_file *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void survey_segments(struct resolving *resolving)
{
	const struct history *history = resolving->recording->history;

	for (size_t i = 0; i < history->file_count; i++)
		resolving->wanted[i].first = resolving->wanted[i].last = NO_SEGMENT;
	for (size_t i = 0; i < history_stored_count(history); i++) {
		const struct history_segment *segment = history_stored(history, i);
		struct wanted *wanted = &resolving->wanted[segment->file];

		if (wanted->first == NO_SEGMENT ||
		    segment->file_offset < history_stored(history, wanted->first)->file_offset)
			wanted->first = (uint32_t)i;
		if (segment->file_offset + segment->bytes > wanted->bytes) {
			wanted->bytes = segment->file_offset + segment->bytes;
			wanted->last = (uint32_t)i;
		}
	}
}

static void survey_names(struct resolving *resolving)
{
	size_t count = resolving->recording->history->file_count;

	for (size_t i = 0; i < count; i++)
		resolving->by_name[i] = resolving->recording->history->files[i];
	qsort(resolving->by_name, count, sizeof(resolving->by_name[0]), compare_names);
	for (size_t i = 1; i < count; i++)
		if (compare_names(&resolving->by_name[i - 1], &resolving->by_name[i]) == 0)
			resolving->wanted[resolving->by_name[i - 1]->index].is_shared =
				resolving->wanted[resolving->by_name[i]->index].is_shared = true;
}

static int verify_segment(const struct resolving *resolving, uint32_t index, int fd)
{
	const struct history_segment *segment = history_stored(resolving->recording->history, index);
	struct recording_piece piece = {
		.fd = fd,
		.has_xxh3 = true,
		.xxh3 = segment->xxh3,
		.sum_offset = segment->file_offset,
		.sum_bytes = segment->bytes,
	};

	return segment->has_xxh3 ? recording_verify(&piece) : -EBADMSG;
}

/* Is it this target's file? Its first and its last segment tell. */
static bool is_proven(const struct resolving *resolving, const struct wanted *wanted, int fd)
{
	return verify_segment(resolving, wanted->first, fd) == 0 &&
	       (wanted->last == wanted->first || verify_segment(resolving, wanted->last, fd) == 0);
}

/*
 * In the target's own directory the name is enough. Elsewhere it is enough if it is unique and
 * final: a chunk that broke off leaves a .part of the same name as the whole chunk on another
 * target.
 */
static bool is_accepted(struct resolving *resolving, uint32_t file, int place_index, bool is_part,
			int fd)
{
	struct place *place = &resolving->recording->places[place_index];
	int target = (int)resolving->recording->history->files[file]->target;
	struct wanted *wanted = &resolving->wanted[file];

	if (place->target == target || (!wanted->is_shared && !is_part))
		return true;
	if (!is_proven(resolving, wanted, fd)) {
		wanted->is_unproven = true;
		return false;
	}
	if (place->target < 0 && wanted->is_shared)
		place->target = target;
	return true;
}

static int keep_file(struct data_file *found, const char *name, int place, const struct stat *st)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(found->name);
	found->name = copy;
	found->place = place;
	found->bytes = (uint64_t)st->st_size;
	found->device = st->st_dev;
	found->inode = st->st_ino;
	return 0;
}

/* Return: 1 found, long enough; 0 not, or too short (kept if nothing longer is known); -ENOMEM. */
static int try_file(struct resolving *resolving, uint32_t file, int place, bool is_part)
{
	struct recording *recording = resolving->recording;
	struct data_file *found = &recording->files[file];
	struct wanted *wanted = &resolving->wanted[file];
	char name[PATH_MAX];
	struct stat st;
	int fd, ret = 0;

	if ((size_t)snprintf(name, sizeof(name), "%s%s", recording->history->files[file]->name,
			     is_part ? JOURNAL_PART_SUFFIX : "") >= sizeof(name))
		return 0;
	fd = place_open_file(&recording->places[place], name, &st);
	if (fd < 0) {
		if (fd != -ENOENT && fd != -ENOTDIR)
			wanted->worst = fd;
		return fd == -ENOMEM ? fd : 0;
	}
	if ((found->place < 0 || (uint64_t)st.st_size > found->bytes) &&
	    is_accepted(resolving, file, place, is_part, fd)) {
		ret = keep_file(found, name, place, &st);
		if (ret == 0)
			ret = found->bytes >= wanted->bytes;
	}
	close(fd);
	return ret;
}

static int find_file(struct resolving *resolving, uint32_t file)
{
	struct recording *recording = resolving->recording;
	int target = (int)recording->history->files[file]->target;
	int ret = 0;

	for (int is_part = 0; is_part < 2; is_part++)
		for (int is_elsewhere = 0; is_elsewhere < 2; is_elsewhere++)
			for (size_t i = 0; i < recording->place_count; i++) {
				if ((recording->places[i].target != target) == is_elsewhere)
					ret = try_file(resolving, file, (int)i, is_part);
				if (ret != 0)
					return ret < 0 ? ret : 0;
			}
	return 0;
}

static void describe_reason(const struct resolving *resolving, uint32_t file, char *buf, size_t len)
{
	const struct data_file *found = &resolving->recording->files[file];
	const struct wanted *wanted = &resolving->wanted[file];

	if (found->place >= 0)
		snprintf(buf, len, "is %" PRIu64 " bytes long, the journal says %" PRIu64,
			 found->bytes, wanted->bytes);
	else if (wanted->worst)
		snprintf(buf, len, "%s", place_reason(wanted->worst));
	else if (wanted->is_unproven)
		snprintf(buf, len,
			 "is not there; a file of this name in another directory has other contents or no checksum");
	else
		snprintf(buf, len, "is not there");
}

/* The stretches of the stream are added with the plan: copies may make up for them. */
static int add_missing_file(struct resolving *resolving, uint32_t file)
{
	struct recording *recording = resolving->recording;
	struct data_file *found = &recording->files[file];
	const char *target = recording->history->targets[recording->history->files[file]->target].path;
	char reason[HISTORY_TEXT_LEN];
	struct recording_missing missing = {
		.target = found->place >= 0 ? recording->places[found->place].path : target,
		.file = found->name,
		.reason = reason,
	};

	if (found->place >= 0 && found->bytes >= resolving->wanted[file].bytes)
		return 0;
	describe_reason(resolving, file, reason, sizeof(reason));
	found->missing = (int64_t)recording->missing_count;
	return recording_add_missing(recording, &missing);
}

static int prepare(struct resolving *resolving)
{
	struct recording *recording = resolving->recording;
	size_t count = recording->history->file_count;

	recording->files = calloc(count ? count : 1, sizeof(recording->files[0]));
	resolving->wanted = calloc(count ? count : 1, sizeof(resolving->wanted[0]));
	resolving->by_name = calloc(count ? count : 1, sizeof(resolving->by_name[0]));
	if (!recording->files || !resolving->wanted || !resolving->by_name)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		recording->files[i].place = -1;
		recording->files[i].fd = -1;
		recording->files[i].missing = -1;
	}
	recording->file_count = count;
	for (size_t i = 0; i < count; i++) {
		recording->files[i].name = strdup(recording->history->files[i]->name);
		if (!recording->files[i].name)
			return -ENOMEM;
	}
	survey_segments(resolving);
	survey_names(resolving);
	return 0;
}

int recording_resolve(struct recording *recording)
{
	struct resolving resolving = { .recording = recording };
	int ret = prepare(&resolving);

	for (size_t i = 0; ret == 0 && i < recording->file_count; i++) {
		if (resolving.wanted[i].first == NO_SEGMENT)
			continue;
		ret = find_file(&resolving, (uint32_t)i);
		if (ret == 0)
			ret = add_missing_file(&resolving, (uint32_t)i);
	}
	free(resolving.wanted);
	free(resolving.by_name);
	return ret;
}
