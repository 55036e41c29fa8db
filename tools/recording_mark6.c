/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/array.h"
#include "tools/mark6_set.h"
#include "tools/read_at.h"
#include "tools/recording_parts.h"

#define MISSING_RANGES_MAX 1000 /* that are said one by one; more of them become one */
#define RANGE_WORDS_LEN 128
#define WALK_THREADS_MAX 32

struct mark6 {
	struct mark6_set set;
	struct mark6_file_survey *surveys; /* one for each of recording->files */
	size_t survey_count;
	struct recording_mark6 facts;
	bool has_unreadable; /* a file of such a name */
	struct mark6_set_cursor cursor;
	uint64_t position;
	uint64_t skip_bytes; /* of the next step, after a seek */
};

/* A file that is being walked. */
struct walk {
	struct mark6_set blocks;
	struct mark6_file_survey survey;
	int ret;
};

/* All files; each is taken by one of the threads. */
struct walks {
	const struct recording *recording;
	struct walk *walks;
	size_t count;
	_Atomic size_t next;
};

/*
 * ---- files
 * ---------------------------------------------------------------------------------------
 */

int recording_give_file(struct recording *recording, const char *path)
{
	struct given_file *room;
	char *copy = strdup(path), *dir_copy = strdup(path), *base = NULL;
	struct stat st;
	int place = -ENOMEM;

	if (copy && dir_copy)
		place = stat(path, &st) < 0  ? -errno :
			!S_ISREG(st.st_mode) ? -ENOTDIR :
					       recording_add_place(recording, dirname(dir_copy), false);
	if (place >= 0)
		base = strdup(basename(copy));
	free(copy);
	free(dir_copy);
	room = base ? array_room(&recording->given_files, recording->given_count, sizeof(*room)) : NULL;
	if (!room) {
		free(base);
		return place < 0 ? place : -ENOMEM;
	}
	*room = (struct given_file){ .place = place, .name = base };
	recording->given_count++;
	return place;
}

static const char *place_path(const struct recording *recording, uint32_t file)
{
	return recording->places[recording->files[file].place].path;
}

static bool is_known(const struct recording *recording, const struct stat *st)
{
	for (size_t i = 0; i < recording->file_count; i++)
		if (recording->files[i].device == st->st_dev && recording->files[i].inode == st->st_ino)
			return true;
	return false;
}

/* It may be one of the set, or not. */
static int pass_unreadable(struct recording *recording, int place, const char *name, const char *reason)
{
	recording->mark6->has_unreadable = true;
	return recording_add_unused(recording, recording->places[place].path, name, reason);
}

/* Not one of the set: what is it? */
static int pass_over(struct recording *recording, int place, const char *name, int fd,
		     const struct stat *st, bool is_given)
{
	const char *path = recording->places[place].path;
	int ret;

	if (is_given)
		return recording_fail(
			recording, -ENOTDIR,
			"%s/%s is neither a directory nor a file of a Mark6 set, which begins with the bytes 66 66 ed fe",
			path, name);
	ret = mark6_file_is_blank(fd, (uint64_t)st->st_size);
	if (ret < 0)
		return pass_unreadable(recording, place, name, strerror(-ret));
	return recording_add_unused(recording, path, name,
				    ret ? "nothing was written to it" :
					  "no Mark6 file: it doesn't begin with the bytes 66 66 ed fe");
}

static int take_file(struct recording *recording, int place, const char *name, int fd,
		     const struct stat *st, bool is_given)
{
	int ret = mark6_file_identify(fd);
	int64_t file;

	if (ret < 0)
		return pass_unreadable(recording, place, name, strerror(-ret));
	if (ret == 0)
		return pass_over(recording, place, name, fd, st, is_given);
	if (is_known(recording, st))
		return 0;
	if (recording->file_count >= MARK6_SET_FILES_MAX)
		return recording_fail(recording, -EBADMSG, "more than %" PRIu32 " files of one set",
				      MARK6_SET_FILES_MAX);
	file = recording_add_file(recording, place, name, st);
	return file < 0 ? (int)file : 0;
}

static int try_file(struct recording *recording, int place, const char *name, bool is_given)
{
	struct stat st;
	int fd = place_open_file(&recording->places[place], name, &st), ret;

	if (fd == -ENOMEM)
		return fd;
	if (fd < 0 && is_given)
		return recording_fail(recording, fd, "%s/%s %s", recording->places[place].path,
				      name, place_reason(fd));
	if (fd < 0)
		return fd == -ENOENT || fd == -EISDIR || fd == -EINVAL ?
			       0 :
			       pass_unreadable(recording, place, name, place_reason(fd));
	ret = take_file(recording, place, name, fd, &st, is_given);
	close(fd);
	return ret;
}

static int try_names(struct recording *recording, int place)
{
	char name[NAME_MAX + 16];
	int ret = try_file(recording, place, recording->name, false);

	for (int i = 0; ret == 0 && i < MARK6_FORMAT_COUNT; i++) {
		snprintf(name, sizeof(name), "%s%s", recording->name,
			 mark6_format_suffix((enum mark6_format)i));
		ret = try_file(recording, place, name, false);
	}
	return ret;
}

static int collect(struct recording *recording)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < recording->place_count; i++)
		if (recording->places[i].is_asked_for)
			ret = try_names(recording, (int)i);
	for (size_t i = 0; ret == 0 && i < recording->given_count; i++)
		ret = try_file(recording, recording->given_files[i].place,
			       recording->given_files[i].name, true);
	return ret;
}

/*
 * ---- walking them
 * --------------------------------------------------------------------------------
 */

/* The file whose blocks are being added. */
struct adding {
	struct mark6_set *set;
	uint32_t file;
};

static int visit_block(void *context, const struct mark6_file_block *block)
{
	const struct adding *adding = context;

	return mark6_set_add(adding->set, adding->file, block);
}

static void walk_file(const struct recording *recording, uint32_t file, struct walk *walk)
{
	struct adding adding = { .set = &walk->blocks, .file = file };
	int fd = recording_open_file(recording, file);

	walk->ret = fd;
	if (fd < 0)
		return;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* one header a block: reading ahead is in vain */
	walk->ret = mark6_file_walk(fd, recording->files[file].bytes, &walk->survey, visit_block,
				    &adding);
	close(fd);
}

/* relaxed: only each index once; the files were there before the threads, and are looked at behind their end */
static void *walk_some(void *arg)
{
	struct walks *walks = arg;
	size_t i;

	while ((i = atomic_fetch_add_explicit(&walks->next, 1, memory_order_relaxed)) < walks->count)
		walk_file(walks->recording, (uint32_t)i, &walks->walks[i]);
	return NULL;
}

/*
 * A header is a few bytes for each block, so what counts is how often the disks' heads move: all disks at
 * the same time. A thread that can't be had is done without.
 */
static void walk_files(struct walks *walks)
{
	pthread_t threads[WALK_THREADS_MAX];
	size_t started = 0;

	while (started < WALK_THREADS_MAX && started + 1 < walks->count &&
	       pthread_create(&threads[started], NULL, walk_some, walks) == 0)
		started++;
	walk_some(walks);
	while (started > 0)
		pthread_join(threads[--started], NULL);
}

/* What a walk has found beyond blocks. */
static int note_survey(struct recording *recording, uint32_t file,
		       const struct mark6_file_survey *survey, bool has_cut)
{
	const char *path = place_path(recording, file), *name = recording->files[file].name;
	bool is_damaged = survey->tail == MARK6_FILE_DAMAGED;
	int ret = 0;

	if (survey->damage_count)
		ret = recording_add_note(recording, true, "%s/%s: %s; %" PRIu64 " such in this file",
					 path, name, survey->damage_words, survey->damage_count);
	if (ret == 0 && survey->uneven_count)
		ret = recording_add_note(recording, false,
					 "%s/%s: %" PRIu64 " blocks are not whole packets of %" PRIu32
					 " bytes, the first at offset %" PRIu64,
					 path, name, survey->uneven_count,
					 survey->header.packet_bytes, survey->uneven_offset);
	/* of a block that is cut it depends on the others whether it is missed */
	recording->info.is_incomplete |= survey->tail == MARK6_FILE_TORN && !has_cut;
	if (ret == 0 && survey->tail_words[0])
		ret = recording_add_note(recording, is_damaged, "%s/%s: %s", path, name,
					 survey->tail_words);
	return ret;
}

/* Blocks that were read before an error are used. */
static int take_walk(struct recording *recording, uint32_t file, struct walk *walk)
{
	bool has_cut = walk->blocks.cut_count > 0;

	recording->mark6->surveys[file] = walk->survey;
	if (walk->ret == -ENOMEM || mark6_set_join(&recording->mark6->set, &walk->blocks) < 0)
		return -ENOMEM;
	if (walk->ret == -EBADMSG)
		return recording_add_note(recording, true, "%s/%s is not used: %s",
					  place_path(recording, file), recording->files[file].name,
					  walk->survey.damage_words);
	if (walk->ret < 0)
		return recording_add_note(recording, true, "%s/%s can't be read: %s",
					  place_path(recording, file), recording->files[file].name,
					  strerror(-walk->ret));
	return note_survey(recording, file, &walk->survey, has_cut);
}

static int read_blocks(struct recording *recording)
{
	struct mark6 *mark6 = recording->mark6;
	struct walks walks = { .recording = recording, .count = recording->file_count };
	int ret = 0;

	mark6->survey_count = walks.count;
	mark6->surveys = calloc(walks.count, sizeof(mark6->surveys[0]));
	walks.walks = calloc(walks.count, sizeof(walks.walks[0]));
	if (!mark6->surveys || !walks.walks) {
		free(walks.walks);
		mark6->survey_count = 0;
		return -ENOMEM;
	}
	walk_files(&walks);
	for (size_t i = 0; i < walks.count; i++) {
		if (ret == 0)
			ret = take_walk(recording, (uint32_t)i, &walks.walks[i]);
		mark6_set_free(&walks.walks[i].blocks);
	}
	free(walks.walks);
	return ret;
}

/*
 * ---- the set
 * -------------------------------------------------------------------------------------
 */

static bool is_usable(const struct mark6_file_survey *survey)
{
	return survey->whole_end > 0; /* at least the file header's length, when it makes sense */
}

/* All files of one set have the same header. */
static int check_headers(struct recording *recording)
{
	const struct mark6 *mark6 = recording->mark6;
	size_t first = 0;

	while (first < mark6->survey_count && !is_usable(&mark6->surveys[first]))
		first++;
	for (size_t i = first + 1; i < mark6->survey_count; i++) {
		const struct mark6_file_header *a = &mark6->surveys[first].header,
					       *b = &mark6->surveys[i].header;

		if (is_usable(&mark6->surveys[i]) && memcmp(a, b, sizeof(*a)) != 0)
			return recording_fail(
				recording, -EBADMSG,
				"%s/%s and %s/%s are of different sets: version %" PRIu32
				", blocks of %" PRIu32 ", packets (%s) of %" PRIu32
				" bytes, and version %" PRIu32 ", blocks of %" PRIu32
				", packets (%s) of %" PRIu32 " bytes",
				place_path(recording, (uint32_t)first),
				recording->files[first].name, place_path(recording, (uint32_t)i),
				recording->files[i].name, a->version, a->block_bytes,
				mark6_format_name(a->format), a->packet_bytes, b->version,
				b->block_bytes, mark6_format_name(b->format), b->packet_bytes);
	}
	if (first == mark6->survey_count)
		return recording_fail(recording, -EBADMSG, "%s",
				      recording->notes[recording->note_count - 1].text);
	recording->mark6->facts.header = mark6->surveys[first].header;
	return 0;
}

static int compare_blocks(void *context, const struct mark6_set_block *a,
			  const struct mark6_set_block *b)
{
	struct recording *recording = context;
	const uint64_t at[2] = { mark6_set_offset(a), mark6_set_offset(b) };
	int fds[2];

	fds[0] = recording_file_fd(recording, mark6_set_file(a));
	fds[1] = recording_file_fd(recording, mark6_set_file(b));
	if (fds[0] < 0 || fds[1] < 0)
		return fds[0] < 0 ? fds[0] : fds[1];
	return compare_at(fds, at, a->bytes, NULL);
}

static int settle(struct recording *recording)
{
	struct mark6_set *set = &recording->mark6->set;
	const struct mark6_set_block *pair = set->doubled;
	uint32_t header_bytes = mark6_file_block_header_bytes(&recording->mark6->facts.header);
	int ret = mark6_set_settle(set, recording->mark6->facts.header.version, compare_blocks,
				   recording);

	if (ret == -EBADMSG)
		return recording_fail(recording, ret,
				      "block %" PRIu32
				      " is there twice with different bytes: in %s/%s at offset %" PRIu64
				      " and in %s/%s at offset %" PRIu64,
				      pair[0].number, place_path(recording, mark6_set_file(&pair[0])),
				      recording->files[mark6_set_file(&pair[0])].name,
				      mark6_set_offset(&pair[0]) - header_bytes,
				      place_path(recording, mark6_set_file(&pair[1])),
				      recording->files[mark6_set_file(&pair[1])].name,
				      mark6_set_offset(&pair[1]) - header_bytes);
	if (ret < 0)
		return recording_fail(recording, ret, "blocks of one number can't be compared: %s",
				      strerror(-ret));
	if (set->doubled_count)
		ret = recording_add_note(
			recording, false,
			"%" PRIu64
			" blocks are there more than once, with the same bytes, and are used once; the first is block %" PRIu32
			", in %s/%s and %s/%s",
			set->doubled_count, pair[0].number,
			place_path(recording, mark6_set_file(&pair[0])),
			recording->files[mark6_set_file(&pair[0])].name,
			place_path(recording, mark6_set_file(&pair[1])),
			recording->files[mark6_set_file(&pair[1])].name);
	if (ret == 0 && set->replaced_count)
		ret = recording_add_note(
			recording, false,
			"%" PRIu64
			" blocks that are cut are there a second time, with more bytes, which are used; the first is block %" PRIu32
			" in %s/%s",
			set->replaced_count, set->replaced.number,
			place_path(recording, mark6_set_file(&set->replaced)),
			recording->files[mark6_set_file(&set->replaced)].name);
	if (ret == 0 && set->is_last_short)
		ret = recording_add_note(
			recording, false,
			"the last block is short: version 1 doesn't tell whether it was longer");
	return ret;
}

/*
 * ---- what is missing
 * -------------------------------------------------------------------------------
 */

static int add_lacking(struct recording *recording, const struct mark6_set_step *step, uint64_t position)
{
	uint32_t file = mark6_set_file(step->block);
	char reason[RANGE_WORDS_LEN];

	snprintf(reason, sizeof(reason), "ends within block %" PRIu32 " at offset %" PRIu64,
		 step->block->number,
		 mark6_set_offset(step->block) -
			 mark6_file_block_header_bytes(&recording->mark6->facts.header));
	return recording_add_missing(recording, &(struct recording_missing){
							.target = place_path(recording, file),
							.file = recording->files[file].name,
							.reason = reason,
							.stream_offset = position,
							.stream_end = position + step->bytes,
							.bytes = step->bytes,
						});
}

static int add_range(struct recording *recording, const struct mark6_set_step *step, uint64_t position)
{
	uint64_t last = step->first_number + step->count - 1;
	char words[RANGE_WORDS_LEN], reason[RANGE_WORDS_LEN] = "is in no file";

	snprintf(words, sizeof(words), "block %" PRIu64, step->first_number);
	if (step->count > 1) {
		snprintf(words, sizeof(words), "blocks %" PRIu64 " to %" PRIu64, step->first_number,
			 last);
		snprintf(reason, sizeof(reason), "(%" PRIu64 " blocks) are in no file", step->count);
	}
	return recording_add_missing(recording, &(struct recording_missing){
							.target = "",
							.file = words,
							.reason = reason,
							.stream_offset = position,
							.stream_end = position + step->bytes,
							.bytes = step->bytes,
						});
}

/* Ranges that are too many to be said one by one. */
struct rest {
	struct recording_missing missing;
	uint64_t block_count;
	uint64_t first_number;
	uint64_t last_number;
};

static int add_missing_blocks(struct recording *recording, struct rest *rest,
			      const struct mark6_set_step *step, uint64_t position)
{
	recording->mark6->facts.missing_count += step->count;
	if (recording->missing_count < MISSING_RANGES_MAX)
		return add_range(recording, step, position);
	if (rest->block_count == 0) {
		rest->first_number = step->first_number;
		rest->missing.stream_offset = position;
	}
	rest->block_count += step->count;
	rest->last_number = step->first_number + step->count - 1;
	rest->missing.stream_end = position + step->bytes;
	rest->missing.bytes += step->bytes;
	return 0;
}

static int add_rest(struct recording *recording, const struct rest *rest)
{
	struct recording_missing missing = rest->missing;
	char words[RANGE_WORDS_LEN];

	if (rest->block_count == 0)
		return 0;
	snprintf(words, sizeof(words), "%" PRIu64 " more blocks from %" PRIu64 " to %" PRIu64,
		 rest->block_count, rest->first_number, rest->last_number);
	missing.target = "";
	missing.file = words;
	missing.reason = "are in no file";
	return recording_add_missing(recording, &missing);
}

static int measure_step(struct recording *recording, struct rest *rest,
			const struct mark6_set_step *step)
{
	struct recording_info *info = &recording->info;
	uint64_t position = info->stream_bytes;
	bool is_data = step->kind == MARK6_SET_BLOCK;

	if (step->bytes > STREAM_MAX - position)
		return recording_fail(recording, -EBADMSG,
				      "the blocks are longer than 2^63 bytes together");
	info->stream_bytes += step->bytes;
	*(is_data ? &info->data_bytes : &info->gap_bytes) += step->bytes;
	if (step->bytes)
		(*(is_data ? &info->segment_count : &info->gap_count))++;
	if (is_data)
		return 0;
	return step->kind == MARK6_SET_LACKING ? add_lacking(recording, step, position) :
						 add_missing_blocks(recording, rest, step, position);
}

/* One walk through the stream: what it comes to, and what isn't there. */
static int measure(struct recording *recording)
{
	struct mark6 *mark6 = recording->mark6;
	struct mark6_set_cursor cursor = { 0 };
	struct mark6_set_step step;
	struct rest rest = { 0 };
	int ret = 0;

	while (ret == 0 && mark6_set_next(&mark6->set, &cursor, &step))
		ret = measure_step(recording, &rest, &step);
	if (ret == 0)
		ret = add_rest(recording, &rest);
	if (ret == 0 && mark6->facts.missing_count)
		ret = recording_add_note(
			recording, false,
			"%" PRIu64 " blocks are missing; each is taken to have %" PRIu32
			" bytes, like the longest of the others. Is the file of a disk not there?",
			mark6->facts.missing_count, mark6->set.nominal_bytes);
	return ret;
}

/*
 * ---- opening and reading
 * -------------------------------------------------------------------------
 */

static void sum_up(struct recording *recording)
{
	const struct mark6 *mark6 = recording->mark6;
	struct recording_mark6 *facts = &recording->mark6->facts;

	facts->file_count = mark6->survey_count;
	facts->block_count = mark6->set.count;
	facts->doubled_count = mark6->set.doubled_count;
	for (size_t i = 0; i < mark6->survey_count; i++)
		facts->uneven_count += mark6->surveys[i].uneven_count;
	recording->info.mark6 = facts;
}

int recording_read_mark6(struct recording *recording)
{
	int ret;

	recording->mark6 = calloc(1, sizeof(*recording->mark6));
	if (!recording->mark6)
		return -ENOMEM;
	ret = collect(recording);
	if (ret < 0 || recording->file_count == 0)
		return ret;
	recording->info.is_incomplete |= recording->mark6->has_unreadable;
	ret = recording_has_names(recording);
	if (ret > 0)
		ret = recording_fail(
			recording, -EBADMSG,
			"several recordings are called %s: files of a Mark6 set such as %s/%s, and chunks or raw files",
			recording->name, place_path(recording, 0), recording->files[0].name);
	if (ret == 0)
		ret = read_blocks(recording);
	if (ret == 0)
		ret = check_headers(recording);
	if (ret == 0)
		ret = settle(recording);
	if (ret == 0)
		ret = measure(recording);
	if (ret < 0)
		return ret;
	sum_up(recording);
	return 1;
}

int mark6_next(struct recording *recording, struct recording_piece *piece)
{
	struct mark6 *mark6 = recording->mark6;
	struct mark6_set_step step;
	uint64_t skip = mark6->skip_bytes;

	do
		if (!mark6_set_next(&mark6->set, &mark6->cursor, &step))
			return 0;
	while (step.bytes == 0);
	memset(piece, 0, sizeof(*piece));
	piece->stream_offset = mark6->position + skip;
	if (step.kind == MARK6_SET_BLOCK) {
		recording_describe_data(recording, piece, mark6_set_file(step.block),
					mark6_set_offset(step.block) + skip, step.bytes - skip);
	} else {
		piece->kind = RECORDING_GAP;
		piece->fd = -1;
		piece->bytes = step.bytes - skip;
		piece->cause = RECORDING_MISSING;
		piece->is_length_known = true;
	}
	mark6->position += step.bytes;
	mark6->skip_bytes = 0;
	return 1;
}

void mark6_seek(struct recording *recording, uint64_t stream_offset)
{
	struct mark6 *mark6 = recording->mark6;
	struct mark6_set_cursor before = { 0 }, after = { 0 };
	struct mark6_set_step step;
	uint64_t position = 0;

	while (mark6_set_next(&mark6->set, &after, &step) && position + step.bytes <= stream_offset) {
		position += step.bytes;
		before = after;
	}
	mark6->cursor = before;
	mark6->position = position;
	mark6->skip_bytes = stream_offset - position;
}

const struct mark6_file_survey *recording_mark6_file(const struct recording *recording, size_t index)
{
	return recording->info.mark6 && index < recording->mark6->survey_count ?
		       &recording->mark6->surveys[index] :
		       NULL;
}

void mark6_free(struct mark6 *mark6)
{
	if (!mark6)
		return;
	mark6_set_free(&mark6->set);
	free(mark6->surveys);
	free(mark6);
}
