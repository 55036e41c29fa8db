/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/existing.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/journal.h"
#include "recorder/layout.h"
#include "recorder/metadata.h"

/*
 * ".part", "@OFFSET", both, or nothing: what may stand behind a data file's name; and behind that, whatever
 * its metadata have.
 */
static bool is_piece_suffix(const char *rest)
{
	if (*rest == '@') {
		rest++;
		if (!isdigit((unsigned char)*rest))
			return false;
		while (isdigit((unsigned char)*rest))
			rest++;
	}
	if (strncmp(rest, SIGMF_META_SUFFIX, strlen(SIGMF_META_SUFFIX)) == 0)
		rest += strlen(SIGMF_META_SUFFIX);
	return *rest == '\0' || strcmp(rest, JOURNAL_PART_SUFFIX) == 0;
}

/* X.sigmf-meta, of the data file X.sigmf-data, or its .part. @data_file: NAME_MAX + 1 */
static bool is_conforming_meta(const char *file, char *data_file)
{
	const char *suffix = strstr(file, SIGMF_META_SUFFIX);

	if (!suffix || !is_piece_suffix(suffix))
		return false;
	return snprintf(data_file, NAME_MAX + 1, "%.*s" SIGMF_DATA_SUFFIX, (int)(suffix - file),
			file) <= NAME_MAX;
}

/*
 * Does the file's name come from the template? The number is any run of digits; the text behind
 * it may begin with some too.
 */
static bool is_data_file(const char *file, const char *name_template)
{
	for (; *name_template; name_template++) {
		if (name_template[0] == '%' && name_template[1] != '%') {
			const char *rest = strchr(name_template, 'd') + 1;

			while (isdigit((unsigned char)*file))
				if (is_data_file(++file, rest))
					return true;
			return false;
		}
		if (*name_template == '%')
			name_template++;
		if (*file++ != *name_template)
			return false;
	}
	return is_piece_suffix(file);
}

static bool matches_template(const char *file, const char *name_template)
{
	char data_file[NAME_MAX + 1];

	return is_data_file(file, name_template) ||
	       (is_conforming_meta(file, data_file) && is_data_file(data_file, name_template));
}

/*
 * "<name>.raw", "<name>.NNN", "<name>.vdif", "<name>.pcapng", "<name>.vsib.jsonl": the names of every layout,
 * whatever the template is now.
 */
static bool is_of_name(const char *file, const char *name)
{
	size_t len = strlen(name);
	const char *rest;

	if (strncmp(file, name, len) != 0 || file[len] != '.')
		return false;
	rest = file + len;
	if (strcmp(rest, JOURNAL_SUFFIX) == 0)
		return true;
	if (strncmp(rest, ".raw", 4) == 0)
		return is_piece_suffix(rest + 4);
	if (strncmp(rest, LAYOUT_PCAP_SUFFIX, strlen(LAYOUT_PCAP_SUFFIX)) == 0)
		return is_piece_suffix(rest + strlen(LAYOUT_PCAP_SUFFIX));
	for (enum mark6_format format = 0; format < MARK6_FORMAT_COUNT; format++)
		if (strcmp(rest, mark6_format_suffix(format)) == 0)
			return true;
	if (strncmp(rest, LAYOUT_PARITY_SUFFIX ".", strlen(LAYOUT_PARITY_SUFFIX ".")) == 0)
		rest += strlen(LAYOUT_PARITY_SUFFIX);
	rest++;
	if (!isdigit((unsigned char)*rest))
		return false;
	while (isdigit((unsigned char)*rest))
		rest++;
	if (strncmp(rest, LAYOUT_PCAP_SUFFIX, strlen(LAYOUT_PCAP_SUFFIX)) == 0)
		rest += strlen(LAYOUT_PCAP_SUFFIX);
	return is_piece_suffix(rest);
}

static DIR *open_dir(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

int existing_find(const struct target *target, const char *name, const char *name_template,
		  char *found, size_t len)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int ret = 0;

	if (fstatat(target->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		snprintf(found, len, "%s", name);
		return 1;
	}
	dir = open_dir(target->dir_fd, ".");
	if (!dir)
		return -errno;
	while (ret == 0 && (entry = readdir(dir)) != NULL) {
		if (is_of_name(entry->d_name, name) || matches_template(entry->d_name, name_template)) {
			snprintf(found, len, "%s", entry->d_name);
			ret = 1;
		}
	}
	closedir(dir);
	return ret;
}

/* ---- what the recording's own journal says ---- */

/*
 * Which of the start line's targets is this one: by its path; a disk that is mounted elsewhere
 * now, by its file system. -1: none, or nobody can tell.
 */
static json_int_t find_index(const json_t *start, const struct target *target)
{
	char *path = realpath(target->path, NULL);
	json_int_t by_uuid = -1;
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(start, "targets"), i, entry)
	{
		const char *its_path = json_string_value(json_object_get(entry, "path"));
		const char *uuid = json_string_value(json_object_get(entry, "fs_uuid"));

		if (path && its_path && strcmp(path, its_path) == 0) {
			free(path);
			return (json_int_t)i;
		}
		if (uuid && uuid[0] && strcmp(uuid, target->fs_uuid) == 0)
			by_uuid = by_uuid == -1 ? (json_int_t)i : -2;
	}
	free(path);
	return by_uuid < 0 ? -1 : by_uuid;
}

/* Notes the file of a segment line, when it lies on this target. */
static int note_line(json_t *files, json_int_t *index, const json_t *line, const struct target *target)
{
	const char *type = json_string_value(json_object_get(line, "type"));
	const char *file = json_string_value(json_object_get(line, "file"));

	if (type && strcmp(type, "start") == 0)
		*index = find_index(line, target);
	if (!type || strcmp(type, "segment") != 0 || !file || *index < 0 ||
	    json_integer_value(json_object_get(line, "target")) != *index)
		return 0;
	return json_object_set_new(files, file, json_true()) < 0 ? -ENOMEM : 0;
}

/* NULL: it isn't there, or no file. */
static FILE *open_journal(const struct target *target, const char *journal)
{
	int fd = openat(target->dir_fd, journal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* The names of the files that the recording has on this target by its journal there, as keys. */
static int read_files(json_t **out, const struct target *target, const char *journal)
{
	FILE *f = open_journal(target, journal);
	json_t *files = json_object();
	json_int_t index = -1;
	char *text = NULL;
	size_t room = 0;
	ssize_t len;
	int ret = files ? 0 : -ENOMEM;

	while (f && ret == 0 && (len = getline(&text, &room, f)) > 0) {
		json_t *line = json_loadb(text, (size_t)len, 0, NULL); /* NULL: torn */

		ret = line ? note_line(files, &index, line, target) : 0;
		json_decref(line);
	}
	free(text);
	if (f)
		fclose(f);
	*out = files;
	return ret;
}

/* Beside the recording's files, or with layout vbs among them. */
static void journal_path(char *path, size_t len, const char *name, bool is_inside)
{
	snprintf(path, len, "%.200s%s%.200s" JOURNAL_SUFFIX, is_inside ? name : "",
		 is_inside ? "/" : "", name);
}

unsigned existing_copies(const struct target *target, const char *name)
{
	char journal[2 * (NAME_MAX + 1)];
	unsigned copies = 0;

	for (int is_inside = 0; is_inside < 2 && copies == 0; is_inside++) {
		json_t *start;
		FILE *f;

		journal_path(journal, sizeof(journal), name, is_inside);
		f = open_journal(target, journal);
		start = f ? json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
		if (start)
			copies = json_integer_value(json_object_get(start, "copies")) > 1 ? 2 : 1;
		json_decref(start);
		if (f)
			fclose(f);
	}
	return copies;
}

static bool is_listed(const json_t *files, const char *file)
{
	static const char *const suffixes[] = { JOURNAL_PART_SUFFIX, SIGMF_META_SUFFIX,
						SIGMF_META_SUFFIX JOURNAL_PART_SUFFIX };
	char whole[NAME_MAX + 1];

	if (json_object_get(files, file) ||
	    (is_conforming_meta(file, whole) && json_object_get(files, whole)))
		return true;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t len = strlen(file), suffix = strlen(suffixes[i]);

		if (len <= suffix || len > NAME_MAX || strcmp(file + len - suffix, suffixes[i]) != 0)
			continue;
		snprintf(whole, sizeof(whole), "%.*s", (int)(len - suffix), file);
		if (json_object_get(files, whole))
			return true;
	}
	return false;
}

/* In the directory of layout vbs alone: beside other files it may be anybody's configuration. */
static bool is_cfg(const char *file, const char *name)
{
	size_t len = strlen(name);

	return strncmp(file, name, len) == 0 &&
	       strncmp(file + len, METADATA_CFG_SUFFIX, strlen(METADATA_CFG_SUFFIX)) == 0 &&
	       is_piece_suffix(file + len + strlen(METADATA_CFG_SUFFIX));
}

/* ---- removing ---- */

/* @files: NULL: in the recording's own directory */
static bool is_own(const char *file, const char *name, const json_t *files)
{
	return is_of_name(file, name) || is_listed(files, file) || (!files && is_cfg(file, name));
}

/*
 * What has to be out of the way, and isn't the recording's: beside its files, what the template
 * makes; in its directory, all.
 */
static int find_foreign(DIR *dir, const char *name, const char *name_template, const json_t *files,
			char *found, size_t len)
{
	struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		const char *file = entry->d_name;

		if (is_own(file, name, files) || strcmp(file, ".") == 0 || strcmp(file, "..") == 0 ||
		    (name_template && !matches_template(file, name_template)))
			continue;
		snprintf(found, len, "%s%s%s", name_template ? "" : name, name_template ? "" : "/",
			 file);
		return 1;
	}
	return 0;
}

int existing_check(const struct target *target, const char *name, const char *name_template,
		   char *found, size_t len)
{
	char journal[NAME_MAX + 1];
	json_t *files = NULL;
	bool is_file; /* by its template a file may be named as the recording is */
	struct stat st;
	DIR *dir;
	int ret;

	snprintf(journal, sizeof(journal), "%.200s" JOURNAL_SUFFIX, name);
	ret = read_files(&files, target, journal);
	dir = ret == 0 ? open_dir(target->dir_fd, ".") : NULL;
	if (ret == 0)
		ret = dir ? find_foreign(dir, name, name_template, files, found, len) : -errno;
	if (dir)
		closedir(dir);
	is_file = ret == 0 && is_listed(files, name);
	json_decref(files);
	if (ret != 0 || is_file || fstatat(target->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ret;
	dir = open_dir(target->dir_fd, name);
	if (!dir && S_ISDIR(st.st_mode))
		return -errno;
	if (!dir) { /* a link or a file: none of ours */
		snprintf(found, len, "%s", name);
		return 1;
	}
	ret = find_foreign(dir, name, NULL, NULL, found, len);
	closedir(dir);
	return ret;
}

bool existing_has_journal(const struct target *target, const char *name)
{
	char path[2 * (NAME_MAX + 1)];
	bool is_there = false;

	for (int is_inside = 0; is_inside < 2 && !is_there; is_inside++) {
		journal_path(path, sizeof(path), name, is_inside);
		is_there = faccessat(target->dir_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	return is_there;
}

/* The journal goes last: as long as it is there, it can be done once more. */
static int remove_files(DIR *dir, const char *name, const json_t *files, const char *journal)
{
	struct dirent *entry;

	while ((entry = readdir(dir)) != NULL)
		if (is_own(entry->d_name, name, files) && strcmp(entry->d_name, journal) != 0 &&
		    unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			return -errno;
	return unlinkat(dirfd(dir), journal, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int existing_remove(const struct target *target, const char *name)
{
	char journal[NAME_MAX + 1];
	json_t *files = NULL;
	DIR *dir = NULL;
	int ret;

	snprintf(journal, sizeof(journal), "%.200s" JOURNAL_SUFFIX, name);
	ret = read_files(&files, target, journal);
	if (ret == 0)
		dir = open_dir(target->dir_fd, ".");
	if (ret == 0)
		ret = dir ? remove_files(dir, name, files, journal) : -errno;
	if (dir)
		closedir(dir);
	json_decref(files);
	dir = ret == 0 ? open_dir(target->dir_fd, name) : NULL;
	if (!dir)
		return ret;
	ret = remove_files(dir, name, NULL, journal);
	closedir(dir);
	if (ret == 0 && unlinkat(target->dir_fd, name, AT_REMOVEDIR) < 0)
		ret = -errno;
	return ret;
}
