/* SPDX-License-Identifier: BSD-2-Clause */
/* recover_collect.c - what lies there of a recording, and the plan for each of its files */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/journal.h"
#include "recorder/layout.h"
#include "recorder/metadata.h"
#include "tools/array.h"
#include "tools/mark6_file.h"
#include "tools/recover_parts.h"

static int survey_promises(struct recovery *recovery)
{
	const struct history *history = recovery->info->history;

	recovery->last_segment = calloc(history->file_count + 1, sizeof(recovery->last_segment[0]));
	if (!recovery->last_segment)
		return -ENOMEM;
	recovery->promised = history_promises(history, recovery->last_segment);
	return recovery->promised ? 0 : -ENOMEM;
}

/* Bytes from @from on that are more than allocated space. */
static uint64_t count_written(int fd, uint64_t from, uint64_t end)
{
	uint64_t written = 0;

	while (from < end) {
		off_t data = lseek(fd, (off_t)from, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

		if (data < 0 || hole <= data || (uint64_t)data >= end)
			break;
		written += ((uint64_t)hole < end ? (uint64_t)hole : end) - (uint64_t)data;
		from = (uint64_t)hole;
	}
	return written;
}

/* Takes over nothing; @fd tells what the file is. Return: the new item; NULL: no memory. */
static struct recover_item *add_item(struct recovery *recovery, int place, const char *file,
				     const char *final_file, int fd, const struct recover_file *facts)
{
	struct recover_item *item = array_room(&recovery->items, recovery->item_count, sizeof(*item));
	struct stat st;

	if (!item || fstat(fd, &st) < 0)
		return NULL;
	*item = (struct recover_item){ .facts = *facts, .place = place };
	item->file = strdup(file);
	item->final_file = strdup(final_file);
	if (!item->file || !item->final_file) {
		free(item->file);
		free(item->final_file);
		return NULL;
	}
	item->facts.bytes = (uint64_t)st.st_size;
	item->facts.link_count = (uint64_t)st.st_nlink;
	item->device = st.st_dev;
	item->inode = st.st_ino;
	item->written_bytes = count_written(fd, item->facts.promised_bytes, item->facts.bytes);
	recovery->item_count++;
	return item;
}

static bool is_right(const struct recovery *recovery, uint32_t index, int fd)
{
	const struct history_segment *segment = history_stored(recovery->info->history, index);
	struct recording_piece piece = { .fd = fd,
					 .has_xxh3 = true,
					 .xxh3 = segment->xxh3,
					 .sum_offset = segment->file_offset,
					 .sum_bytes = segment->bytes };

	return segment->has_xxh3 && recording_verify(&piece) == 0;
}

/*
 * In layout mark6 a block is written as one, and may have several segments. When not all of their lines
 * came to be, the block stays whole nevertheless: other programs read no half ones.
 */
static uint64_t promised_end(const struct recovery *recovery, size_t index, int fd, uint64_t bytes)
{
	uint64_t promised = recovery->promised[index];

	return promised < bytes && strcmp(history_layout(recovery->info->history), "mark6") == 0 ?
		       mark6_file_block_end(fd, bytes, promised) :
		       promised;
}

static int add_listed(struct recovery *recovery, size_t index)
{
	struct recover_file facts = { .is_listed = true };
	struct recording_file file;
	struct place place;
	int fd;

	if (!recording_file(recovery->recording, index, &file) || file.place < 0 ||
	    recovery->promised[index] == 0)
		return 0;
	place = recover_place(recovery, file.place);
	fd = recording_open_file(recovery->recording, index);
	if (fd < 0) {
		recover_tell_failed(recovery, place.path, file.file, "opened", fd);
		return 0;
	}
	facts.promised_bytes = promised_end(recovery, index, fd, file.bytes);
	facts.is_part = strcmp(file.file, file.final_file) != 0;
	facts.is_proven = place.target == file.target ||
			  is_right(recovery, recovery->last_segment[index], fd);
	facts.has_final = facts.is_part && recover_has_entry(recovery, file.place, file.final_file);
	if (!add_item(recovery, file.place, file.file, file.final_file, fd, &facts)) {
		close(fd);
		return -ENOMEM;
	}
	close(fd);
	return 0;
}

static int find_place(const struct recovery *recovery, const char *path)
{
	struct recording_place place;

	for (size_t i = 0; recording_place(recovery->recording, i, &place); i++)
		if (strcmp(place.path, path) == 0)
			return (int)i;
	return -1;
}

/* NAME/NAME.xxx or NAME.xxx */
static bool is_of_name(const char *file, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(file, name, len) == 0 && file[len] == '/')
		file += len + 1;
	return strncmp(file, name, len) == 0 && file[len] == '.';
}

static bool is_of_target(const struct history_file *file, int target)
{
	return target < 0 || file->target == (unsigned)target;
}

/* What the metadata of one of its files are called while they are written: with a template that may be anything. */
static bool is_metadata_part(const struct recovery *recovery, int target, const char *file)
{
	const struct history *history = recovery->info->history;
	char name[PATH_MAX];

	for (size_t i = 0; i < history->file_count; i++)
		if (is_of_target(history->files[i], target) &&
		    sigmf_meta_name(name, sizeof(name), history->files[i]->name) &&
		    strncmp(file, name, strlen(name)) == 0 &&
		    strcmp(file + strlen(name), JOURNAL_PART_SUFFIX) == 0)
			return true;
	return false;
}

/* One of the recording's, or of its second copy's. @target: it lies on; -1: nobody knows */
static bool is_own(const struct recovery *recovery, int target, const char *file)
{
	char second[NAME_MAX + sizeof(LAYOUT_COPY_SUFFIX)];

	if (is_of_name(file, recovery->info->name))
		return true;
	snprintf(second, sizeof(second), "%.*s" LAYOUT_COPY_SUFFIX, NAME_MAX, recovery->info->name);
	if (history_has_second(recovery->info->history) && is_of_name(file, second))
		return true;
	return is_metadata_part(recovery, target, file);
}

/*
 * Layout raw without a file size: one file, which has its final name from the beginning. With
 * segments in other files it would not be the only one. Layout mark6: one such file a target.
 */
static bool is_endless(const struct recovery *recovery, const char *file)
{
	const json_t *start = recovery->info->history->start;
	const char *layout = history_layout(recovery->info->history);
	const char *name_template = json_string_value(json_object_get(start, "template"));
	const json_t *file_bytes = json_object_get(start, "file_bytes");

	if (strcmp(layout, "mark6") == 0)
		return mark6_file_is_name(recovery->info->name, file);
	return recovery->info->history->segment_count == 0 &&
	       (strcmp(layout, "raw") == 0 || strcmp(layout, "pcap") == 0) &&
	       json_is_integer(file_bytes) && json_integer_value(file_bytes) == 0 &&
	       name_template && strcmp(name_template, file) == 0;
}

/* Does the journal name such a file of this target (or of any, when nobody knows which it is)? */
static bool is_meant(const struct recovery *recovery, int target, const char *final_file)
{
	const struct history *history = recovery->info->history;

	for (size_t i = 0; i < history->file_count; i++)
		if (is_of_target(history->files[i], target) &&
		    strcmp(history->files[i]->name, final_file) == 0)
			return true;
	return false;
}

static int add_left_over(struct recovery *recovery, const struct recording_unused *unused)
{
	size_t len = strlen(unused->file), suffix_len = strlen(JOURNAL_PART_SUFFIX);
	struct recover_file facts = { 0 };
	int place_index = find_place(recovery, unused->target), fd, ret = 0;
	struct place place = recover_place(recovery, place_index);
	char *final_file;
	struct stat st;

	fd = place_index < 0 ? -ENOENT : place_open_file(&place, unused->file, &st);
	if (fd < 0) { /* no file, or not ours to open: it stays, and is named by the check */
		return fd == -ENOMEM ? fd : 0;
	}
	facts.is_part = len > suffix_len &&
			strcmp(unused->file + len - suffix_len, JOURNAL_PART_SUFFIX) == 0;
	final_file = strndup(unused->file, facts.is_part ? len - suffix_len : len);
	if (final_file) {
		facts.is_endless = is_endless(recovery, unused->file);
		facts.is_of_name = is_own(recovery, place.target, unused->file);
		facts.is_meant = is_meant(recovery, place.target, final_file);
	}
	if (!final_file || !add_item(recovery, place_index, unused->file, final_file, fd, &facts))
		ret = -ENOMEM;
	free(final_file);
	close(fd);
	return ret;
}

/* Why the blocks of a file don't tell where it may be cut; NULL: they do. */
static const char *reason_to_doubt_blocks(const struct mark6_file_survey *survey)
{
	if (survey->whole_end == 0 && survey->damage_words[0])
		return "its file header makes no sense";
	if (!survey->is_complete)
		return "it can't be read to its end";
	if (survey->tail == MARK6_FILE_DAMAGED)
		return "more bytes than a block follow its last whole block, and no header in them";
	return NULL;
}

/* What stands behind the last whole block of a file, if anything does. */
static int add_blocks(struct recovery *recovery, size_t index, const struct mark6_file_survey *survey)
{
	struct recover_file facts = { .is_listed = true,
				      .is_proven = true,
				      .promised_bytes = survey->whole_end,
				      .doubt = reason_to_doubt_blocks(survey) };
	struct recording_file file;
	struct recover_item *item;
	int fd;

	if (!recording_file(recovery->recording, index, &file))
		return 0;
	fd = recording_open_file(recovery->recording, index);
	if (fd < 0) {
		recover_tell_failed(recovery, recover_place(recovery, file.place).path, file.file,
				    "opened", fd);
		return 0;
	}
	item = add_item(recovery, file.place, file.file, file.file, fd, &facts);
	close(fd);
	return item ? 0 : -ENOMEM;
}

static int collect_blocks(struct recovery *recovery)
{
	const struct mark6_file_survey *survey;
	int ret = 0;

	for (size_t i = 0; ret == 0 && (survey = recording_mark6_file(recovery->recording, i)); i++)
		ret = add_blocks(recovery, i, survey);
	return ret;
}

struct folder {
	struct recovery *recovery;
	const struct place *place;
	const char *name; /* below it; "": the place itself */
};

/* Metadata that were being written are no pieces of the recording: no listing of those has them. */
static int visit_metadata(void *context, const char *name)
{
	const struct folder *folder = context;
	const char *suffix = folder->name[0] ? METADATA_CFG_SUFFIX JOURNAL_PART_SUFFIX :
					       SIGMF_META_SUFFIX JOURNAL_PART_SUFFIX;
	size_t len = strlen(name), suffix_len = strlen(suffix);
	char file[2 * NAME_MAX + 2];
	const struct recording_unused unused = { .target = folder->place->path, .file = file };

	if (len < suffix_len || strcmp(name + len - suffix_len, suffix) != 0)
		return 0;
	snprintf(file, sizeof(file), "%.*s%s%.*s", NAME_MAX, folder->name,
		 folder->name[0] ? "/" : "", NAME_MAX, name);
	return is_own(folder->recovery, folder->place->target, file) ?
		       add_left_over(folder->recovery, &unused) :
		       0;
}

static int add_metadata(struct recovery *recovery)
{
	char second[NAME_MAX + sizeof(LAYOUT_COPY_SUFFIX)];
	const char *const names[] = { "", recovery->info->name, second };
	struct recording_place place;

	snprintf(second, sizeof(second), "%.*s" LAYOUT_COPY_SUFFIX, NAME_MAX, recovery->info->name);
	for (size_t i = 0; recording_place(recovery->recording, i, &place); i++) {
		const struct place at = recover_place(recovery, (int)i);

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
			struct folder folder = { recovery, &at, names[k] };

			/* what can't be listed has been told */
			if (place_scan(&at, names[k], visit_metadata, &folder) == -ENOMEM)
				return -ENOMEM;
		}
	}
	return 0;
}

static int collect_promised(struct recovery *recovery)
{
	const struct recording_unused *unused;
	int ret = survey_promises(recovery);
	size_t count;

	for (size_t i = 0; ret == 0 && i < recovery->info->history->file_count; i++)
		ret = add_listed(recovery, i);
	unused = recording_unused(recovery->recording, &count);
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = add_left_over(recovery, &unused[i]);
	return ret == 0 ? add_metadata(recovery) : ret;
}

int recover_collect(struct recovery *recovery)
{
	int ret = recovery->info->journal ? collect_promised(recovery) : collect_blocks(recovery);

	for (size_t i = 0; ret == 0 && i < recovery->item_count; i++)
		recover_plan_file(&recovery->items[i].plan, &recovery->items[i].facts,
				  recovery->is_complete);
	return ret == 0 ? 0 : recover_fail(recovery->result, ret, "%s", strerror(-ret));
}
