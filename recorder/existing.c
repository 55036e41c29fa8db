/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/existing.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/journal.h"

/* ".part", "@OFFSET", both, or nothing: what may stand behind a data file's name. */
static bool is_piece_suffix(const char *rest)
{
	if (*rest == '@') {
		rest++;
		if (!isdigit((unsigned char)*rest))
			return false;
		while (isdigit((unsigned char)*rest))
			rest++;
	}
	return *rest == '\0' || strcmp(rest, JOURNAL_PART_SUFFIX) == 0;
}

/* Does the file's name come from the template? The number is any run of digits. */
static bool matches_template(const char *file, const char *name_template)
{
	for (; *name_template; name_template++) {
		if (name_template[0] == '%' && name_template[1] != '%') {
			if (!isdigit((unsigned char)*file))
				return false;
			while (isdigit((unsigned char)*file))
				file++;
			name_template = strchr(name_template, 'd');
			continue;
		}
		if (*name_template == '%')
			name_template++;
		if (*file++ != *name_template)
			return false;
	}
	return is_piece_suffix(file);
}

/* "<name>.raw", "<name>.NNN", "<name>.vsib.jsonl": the names of every layout, whatever the template is now. */
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
	rest++;
	if (!isdigit((unsigned char)*rest))
		return false;
	while (isdigit((unsigned char)*rest))
		rest++;
	return is_piece_suffix(rest);
}

static bool belongs(const char *file, const char *name, const char *name_template)
{
	return is_of_name(file, name) || (name_template && matches_template(file, name_template));
}

static DIR *open_dir(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

int existing_find(const struct target *target, const char *name, const char *name_template, char *found,
		  size_t len)
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
		if (belongs(entry->d_name, name, name_template)) {
			snprintf(found, len, "%s", entry->d_name);
			ret = 1;
		}
	}
	closedir(dir);
	return ret;
}

static int remove_files(DIR *dir, const char *name, const char *name_template)
{
	struct dirent *entry;

	while ((entry = readdir(dir)) != NULL)
		if (belongs(entry->d_name, name, name_template) &&
		    unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			return -errno;
	return 0;
}

int existing_remove(const struct target *target, const char *name, const char *name_template)
{
	DIR *dir = open_dir(target->dir_fd, ".");
	int ret;

	if (!dir)
		return -errno;
	ret = remove_files(dir, name, name_template);
	closedir(dir);
	dir = open_dir(target->dir_fd, name);
	if (ret < 0 || !dir)
		goto out;
	ret = remove_files(dir, name, NULL); /* what lies in its directory has its name, whatever the template */
	if (ret == 0 && unlinkat(target->dir_fd, name, AT_REMOVEDIR) < 0)
		ret = -errno;
out:
	if (dir)
		closedir(dir);
	return ret;
}
