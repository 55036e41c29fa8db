/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/journal.h"
#include "tools/array.h"
#include "tools/mark6_file.h"
#include "tools/recording_parts.h"

/* A journal that lies somewhere, by its first line. */
struct candidate {
	struct history *start;
	int fd;
	uint64_t bytes;
};

struct search {
	struct recording *recording;
	struct candidate *candidates;
	size_t count;
};

int recording_add_place(struct recording *recording, const char *path, bool is_asked_for)
{
	struct place place, *room;
	int ret = place_open(&place, path);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < recording->place_count; i++) {
		struct place *known = &recording->places[i];

		if (known->device == place.device && known->inode == place.inode) {
			place_close(&place);
			known->is_asked_for |= is_asked_for;
			return (int)i;
		}
	}
	room = recording->place_count < INT_MAX ?
		       array_room(&recording->places, recording->place_count, sizeof(place)) :
		       NULL;
	if (!room) {
		place_close(&place);
		return -ENOMEM;
	}
	place.is_asked_for = is_asked_for;
	*room = place;
	return (int)recording->place_count++;
}

static bool is_known_journal(const struct recording *recording, const struct stat *st)
{
	for (size_t i = 0; i < recording->journal_count; i++)
		if (recording->journal_files[i].device == st->st_dev &&
		    recording->journal_files[i].inode == st->st_ino)
			return true;
	return false;
}

/* @file: relative to @place; NULL: not known yet */
static int keep_journal(struct recording *recording, const char *path, const struct stat *st,
			int place, const char *file)
{
	char *file_copy = file ? strdup(file) : NULL;
	const char **room = array_room(&recording->journals, recording->journal_count, sizeof(*room));
	void *file_room = array_room(&recording->journal_files, recording->journal_count,
				     sizeof(recording->journal_files[0]));

	if (!room || !file_room || (file && !file_copy) || !(*room = strdup(path))) {
		free(file_copy);
		return -ENOMEM;
	}
	recording->journal_files[recording->journal_count].place = place;
	recording->journal_files[recording->journal_count].file = file_copy;
	recording->journal_files[recording->journal_count].device = st->st_dev;
	recording->journal_files[recording->journal_count].inode = st->st_ino;
	recording->journal_count++;
	return 0;
}

/* Takes over fd. Return: 1 added; 0 not a journal, said in a note, or known already; -ENOMEM. */
static int add_candidate(struct search *search, int fd, const char *path, const struct stat *st,
			 int place, const char *file)
{
	struct candidate *room;
	struct history *start = NULL;
	char error[HISTORY_TEXT_LEN];
	int ret = 0;

	if (is_known_journal(search->recording, st))
		goto done;
	ret = history_read(&start, fd, path, HISTORY_START, error);
	if (ret == -ENOMEM)
		goto done;
	if (ret < 0) {
		ret = recording_add_note(search->recording, true, "journal %s is not used: %s",
					 path, error);
		goto done;
	}
	room = array_room(&search->candidates, search->count, sizeof(*room));
	ret = room ? keep_journal(search->recording, path, st, place, file) : -ENOMEM;
	if (ret < 0)
		goto done;
	*room = (struct candidate){ .start = start, .fd = fd, .bytes = (uint64_t)st->st_size };
	search->count++;
	return 1;
done:
	history_free(start);
	close(fd);
	return ret;
}

static void drop_last_candidate(struct search *search)
{
	struct recording *recording = search->recording;
	struct candidate *last = &search->candidates[--search->count];

	history_free(last->start);
	close(last->fd);
	free((char *)recording->journals[--recording->journal_count]);
	free(recording->journal_files[recording->journal_count].file);
}

/* Where journals lie: TARGET/NAME.vsib.jsonl (raw, mark6) and TARGET/NAME/NAME.vsib.jsonl (vbs). */
static int look_in_place(struct search *search, size_t index, const char *name)
{
	const struct place *place = &search->recording->places[index];
	int found = 0;

	for (int is_folder = 0; is_folder < 2; is_folder++) {
		char file[2 * NAME_MAX + 32], path[PATH_MAX + 2 * NAME_MAX + 32];
		struct stat st;
		int fd, ret;

		snprintf(file, sizeof(file), "%s%s%s" JOURNAL_SUFFIX, is_folder ? name : "",
			 is_folder ? "/" : "", name);
		snprintf(path, sizeof(path), "%s/%s", place->path, file);
		fd = place_open_file(place, file, &st);
		if (fd == -ENOENT || fd == -ENOTDIR)
			continue;
		if (fd == -ENOMEM)
			return fd;
		ret = fd < 0 ? recording_add_note(search->recording, true, "journal %s %s", path,
						  place_reason(fd)) :
			       add_candidate(search, fd, path, &st, (int)index, file);
		if (ret < 0)
			return ret;
		found += ret;
	}
	return found;
}

static int check_same(struct search *search)
{
	struct recording *recording = search->recording;

	for (size_t i = 1; i < search->count; i++)
		if (!history_is_same(search->candidates[0].start, search->candidates[i].start))
			return recording_fail(
				recording, -EBADMSG,
				"different recordings are called %s: %s and %s were not started at the same moment by the same program; name the targets of one of them",
				recording->name, search->candidates[0].start->path,
				search->candidates[i].start->path);
	return 0;
}

static bool are_last_same(const struct search *search, size_t count)
{
	for (size_t i = search->count - count; i < search->count; i++)
		if (!history_is_same(search->candidates[0].start, search->candidates[i].start))
			return false;
	return true;
}

/*
 * A directory that the journal names, not the user: used only when a journal of the same recording
 * lies in it.
 * Return: the place's index; -ENOENT; -ENOMEM.
 */
static int try_place(struct search *search, const char *path)
{
	struct recording *recording = search->recording;
	size_t known_count = recording->place_count;
	int index, found;

	index = recording_add_place(recording, path, false);
	if (index < 0)
		return index == -ENOMEM ? index : -ENOENT;
	if ((size_t)index < known_count)
		return index;
	found = look_in_place(search, (size_t)index, recording->name);
	if (found < 0)
		return found;
	if (found > 0 && are_last_same(search, (size_t)found))
		return index;
	for (; found > 0; found--) {
		if (recording_add_note(
			    recording, false,
			    "%s belongs to another recording of that name; its directory is not used",
			    search->candidates[search->count - 1].start->path) < 0)
			return -ENOMEM;
		drop_last_candidate(search);
	}
	place_close(&recording->places[--recording->place_count]);
	return -ENOENT;
}

/* The mount point may have had another name: /mnt/a/vlbi may be /media/x/vlbi or /media/x now. */
static int try_mount(struct search *search, const char *point, const char *path)
{
	for (const char *rest = path;; rest += strcspn(rest, "/")) {
		char joined[PATH_MAX];
		int ret = -ENOENT;

		rest += strspn(rest, "/");
		if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", point, rest) < sizeof(joined))
			ret = try_place(search, joined);
		if (ret != -ENOENT || *rest == '\0')
			return ret;
	}
}

static int try_uuid(struct search *search, const struct history_target *target)
{
	char **points;
	int count = place_find_mounts(target->fs_uuid, &points);
	int ret = count < 0 ? count : -ENOENT;

	for (int i = 0; i < count; i++) {
		if (ret == -ENOENT)
			ret = try_mount(search, points[i], target->path);
		free(points[i]);
	}
	free(points);
	return ret;
}

/* All targets may have been moved together: /mnt/d1, /mnt/d2 to /backup/d1, /backup/d2. */
static int try_sibling(struct search *search, const char *path)
{
	char *copy = strdup(path), *base_copy = strdup(search->recording->places[0].path);
	char joined[PATH_MAX];
	int ret = -ENOMEM;

	if (copy && base_copy) {
		ret = -ENOENT;
		if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", dirname(base_copy),
				     basename(copy)) < sizeof(joined))
			ret = try_place(search, joined);
	}
	free(copy);
	free(base_copy);
	return ret;
}

/*
 * In turn-striped recordings files of one name lie on several targets, and USB disks may have
 * changed their mount points: there the UUID comes first. Else the path is quicker, and doesn't
 * wake up all disks of the machine.
 */
static int find_target(struct search *search, unsigned index)
{
	struct recording *recording = search->recording;
	const struct history *start = search->candidates[0].start;
	const struct history_target target = start->targets[index];
	const char *stripe = json_string_value(json_object_get(start->start, "stripe"));
	bool is_round = stripe && strcmp(stripe, "round") == 0;
	int ret;

	if (target.path[0] == '\0' || strcmp(target.path, "null:") == 0)
		return 0;
	ret = is_round ? try_uuid(search, &target) : try_place(search, target.path);
	if (ret == -ENOENT)
		ret = is_round ? try_place(search, target.path) : try_uuid(search, &target);
	if (ret == -ENOENT)
		ret = try_sibling(search, target.path);
	if (ret < 0)
		return ret == -ENOENT ? 0 : ret;
	if (recording->places[ret].target < 0)
		recording->places[ret].target = (int)index;
	return 0;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/*
 * What the recorder itself has told counts: a recovery that knew less may have put more lines
 * behind.
 */
static bool is_better(const struct history *a, const struct history *b)
{
	if (a->told_bytes != b->told_bytes)
		return a->told_bytes > b->told_bytes;
	return a->valid_bytes > b->valid_bytes;
}

/*
 * The longest valid one; most often that is the longest file, and then the others need not be read.
 */
static int choose_journal(struct search *search)
{
	struct recording *recording = search->recording;

	if (search->count == 0)
		return 0;
	qsort(search->candidates, search->count, sizeof(search->candidates[0]), compare_candidates);
	for (size_t i = 0; i < search->count; i++) {
		struct candidate *candidate = &search->candidates[i];
		struct history *history;
		char error[HISTORY_TEXT_LEN];
		int ret;

		if (recording->history && candidate->bytes <= recording->history->told_bytes)
			break;
		if (lseek(candidate->fd, 0, SEEK_SET) < 0)
			return -errno;
		ret = history_read(&history, candidate->fd, candidate->start->path, HISTORY_ALL, error);
		if (ret == -ENOMEM)
			return ret;
		if (ret == 0 && history->stop[0])
			ret = recording_add_note(recording, false,
						 "journal %s is damaged, what follows is not used: %s",
						 history->path, history->stop);
		else if (ret < 0)
			ret = recording_add_note(recording, true, "journal %s: %s",
						 candidate->start->path, error);
		if (ret < 0)
			return ret;
		if (history && (!recording->history || is_better(history, recording->history))) {
			history_free(recording->history);
			recording->history = history;
		} else {
			history_free(history);
		}
	}
	return 0;
}

static bool are_mark6(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (strcmp(history_layout(search->candidates[i].start), "mark6") != 0)
			return false;
	return search->count > 0;
}

/*
 * A file of a Mark6 recording was named, NAME.vdif: then NAME is meant, if it has a journal.
 * Return: 0; -errno.
 */
static int look_for_owner(struct search *search)
{
	struct recording *recording = search->recording;
	char *name = strdup(recording->name), *dot = name ? strrchr(name, '.') : NULL;
	int ret = name ? 0 : -ENOMEM;

	if (dot)
		*dot = '\0';
	if (dot && history_name_is_safe(name) && mark6_file_is_name(name, recording->name))
		for (size_t i = 0; ret >= 0 && i < recording->place_count; i++)
			ret = look_in_place(search, i, name);
	if (ret >= 0 && are_mark6(search)) {
		free(recording->name);
		recording->name = name;
		return 0;
	}
	while (search->count)
		drop_last_candidate(search);
	free(name);
	return ret < 0 ? ret : 0;
}

static int look_at_all(struct search *search)
{
	struct recording *recording = search->recording;
	int ret;

	for (size_t i = 0; i < recording->place_count; i++) {
		ret = look_in_place(search, i, recording->name);
		if (ret < 0)
			return ret;
	}
	ret = search->count ? 0 : look_for_owner(search);
	if (ret < 0 || search->count == 0)
		return ret;
	ret = check_same(search);
	for (unsigned i = 0; ret == 0 && i < search->candidates[0].start->target_count; i++)
		ret = find_target(search, i);
	if (ret == 0)
		ret = choose_journal(search);
	if (ret == 0 && recording->history && recording->history->invalid_count)
		ret = recording_add_note(recording, true,
					 "journal %s: %" PRIu64 " lines are left out: %s",
					 recording->history->path, recording->history->invalid_count,
					 recording->history->invalid);
	return ret;
}

/* A journal given by its path. Return: 1 it is one; 0 no file of such a name; -errno. */
static int open_given_journal(struct search *search, const char *path)
{
	struct recording *recording = search->recording;
	struct stat st;
	int fd, ret;

	if (!history_is_journal(path))
		return 0;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? -errno : 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return 0;
	}
	ret = add_candidate(search, fd, path, &st, -1, NULL);
	if (ret < 0)
		return ret;
	if (ret == 0)
		return recording_fail(recording, -EBADMSG, "%s",
				      recording->notes[recording->note_count - 1].text);
	assert(search->candidates && search->candidates[0].start);
	recording->name = strdup(search->candidates[0].start->name);
	return recording->name ? 1 : -ENOMEM;
}

/*
 * The target of a journal's path: its directory, or the one above when that is the recording's own.
 */
static int add_place_of_journal(struct search *search, char *dir)
{
	char *copy = strdup(dir);
	bool is_own;

	assert(search->candidates && search->candidates[0].start);
	if (!copy)
		return -ENOMEM;
	is_own = history_has_folder(search->candidates[0].start) &&
		 strcmp(basename(copy), search->recording->name) == 0;
	free(copy);
	return recording_add_place(search->recording, is_own ? dirname(dir) : dir, true);
}

/* A journal given by its path: what is it called in its target? */
static int note_given_place(struct recording *recording, int place, const char *base)
{
	char file[2 * NAME_MAX + 32];
	struct stat st;

	snprintf(file, sizeof(file), "%s", base);
	if (fstatat(recording->places[place].fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_ino != recording->journal_files[0].inode)
		snprintf(file, sizeof(file), "%.*s/%.*s", NAME_MAX, recording->name, NAME_MAX, base);
	recording->journal_files[0].place = place;
	recording->journal_files[0].file = strdup(file);
	return recording->journal_files[0].file ? 0 : -ENOMEM;
}

static int take_name(struct recording *recording, const char *name)
{
	if (!history_name_is_safe(name) || strlen(name) > NAME_MAX)
		return recording_fail(recording, -EINVAL, "\"%s\" is not the name of a recording",
				      name);
	recording->name = strdup(name);
	return recording->name ? 0 : -ENOMEM;
}

/* TARGET/NAME or a journal's path: sets the name and the first place. */
static int take_recording(struct search *search, const char *text)
{
	struct recording *recording = search->recording;
	char *path = strdup(text), *name_copy = NULL;
	int ret = -ENOMEM;

	if (!path)
		return ret;
	for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	name_copy = strdup(path);
	if (!name_copy)
		goto done;
	ret = open_given_journal(search, path);
	if (ret > 0) {
		ret = add_place_of_journal(search, dirname(path));
		if (ret >= 0)
			ret = note_given_place(recording, ret, basename(name_copy));
	} else if (ret == 0) {
		ret = take_name(recording, basename(name_copy));
		if (ret == 0)
			ret = recording_add_place(recording, dirname(path), true);
	}
	if (ret < 0 && !recording->error[0])
		recording_fail(recording, ret, "%s: %s", text, strerror(-ret));
done:
	free(path);
	free(name_copy);
	return ret < 0 ? ret : 0;
}

int recording_find(struct recording *recording, const struct recording_query *query)
{
	struct search search = { .recording = recording };
	int ret;

	ret = query->recording ? take_recording(&search, query->recording) :
				 take_name(recording, query->name);
	for (size_t i = 0; ret == 0 && i < query->target_count; i++) {
		int index = recording_add_place(recording, query->targets[i], true);

		if (index == -ENOTDIR)
			index = recording_give_file(recording, query->targets[i]);
		if (index < 0)
			ret = recording_fail(recording, index, "target %s: %s", query->targets[i],
					     strerror(-index));
	}
	if (ret == 0)
		ret = look_at_all(&search);
	for (size_t i = 0; i < search.count; i++) {
		history_free(search.candidates[i].start);
		close(search.candidates[i].fd);
	}
	free(search.candidates);
	return ret;
}
