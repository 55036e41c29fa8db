/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int add_root(struct sysfs *sysfs, const char *root, size_t len)
{
	char path[PATH_MAX];
	char *out = sysfs->roots[sysfs->root_count];

	if (sysfs->root_count == SYSFS_ROOTS_MAX)
		return -E2BIG;
	if (len >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, root, len);
	path[len] = '\0';
	if (!realpath(path, out))
		return -errno;
	if (strcmp(out, "/") == 0)
		out[0] = '\0';
	sysfs->root_count++;
	return 0;
}

int sysfs_init(struct sysfs *sysfs, const char *roots)
{
	int ret = 0;

	sysfs->root_count = 0;
	if (!roots || !roots[0])
		roots = "/";
	while (*roots && ret == 0) {
		size_t len = strcspn(roots, ":");

		ret = add_root(sysfs, roots, len);
		roots += len + (roots[len] == ':');
	}
	return ret;
}

int sysfs_init_from_environment(struct sysfs *sysfs)
{
	return sysfs_init(sysfs, secure_getenv("VSIB_SYSROOT"));
}

/* A tree of somebody else's may have a pipe for a file, and nobody is to wait for what writes to it. */
static bool may_hold(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode));
}

/* The canonical name of what @root has at @path. */
static int find_in(const char *root, const char *path, char *out)
{
	char joined[PATH_MAX];
	size_t len = strlen(root);

	if (snprintf(joined, sizeof(joined), "%s/%s", root, path) >= (int)sizeof(joined))
		return -ENAMETOOLONG;
	if (!realpath(joined, out))
		return -errno;
	if (may_hold(out))
		return -ENOENT;
	return strncmp(out, root, len) == 0 && (out[len] == '/' || !out[len]) ? 0 : -ENOENT;
}

/* Return: the root that has it; -errno. */
static int find(const struct sysfs *sysfs, const char *path, char *out)
{
	int ret = -ENOENT;

	for (unsigned i = 0; i < sysfs->root_count; i++) {
		ret = find_in(sysfs->roots[i], path, out);
		if (ret == 0)
			return (int)i;
	}
	return ret == -ENAMETOOLONG ? ret : -ENOENT;
}

int sysfs_path(const struct sysfs *sysfs, const char *path, char *out)
{
	int ret = find(sysfs, path, out);

	return ret < 0 ? ret : 0;
}

int sysfs_resolve(const struct sysfs *sysfs, const char *path, char *out)
{
	char real[PATH_MAX];
	int root = find(sysfs, path, real);
	const char *below;

	if (root < 0)
		return root;
	below = real + strlen(sysfs->roots[root]);
	below += *below == '/';
	if (strlen(below) >= SYSFS_PATH_LEN)
		return -ENAMETOOLONG;
	memmove(out, below, strlen(below) + 1);
	return 0;
}

bool sysfs_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return false;
	*slash = '\0';
	return strcmp(path, "sys/devices") != 0 && strcmp(path, "sys") != 0;
}

static int find_attribute(const struct sysfs *sysfs, const char *directory, const char *name, char *out)
{
	char path[SYSFS_PATH_LEN];

	if (snprintf(path, sizeof(path), "%s%s%s", directory, name[0] ? "/" : "", name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	return sysfs_path(sysfs, path, out);
}

bool sysfs_has(const struct sysfs *sysfs, const char *directory, const char *name)
{
	char path[PATH_MAX];

	return find_attribute(sysfs, directory, name, path) == 0;
}

int sysfs_read(const struct sysfs *sysfs, const char *directory, const char *name, void *buf, size_t len)
{
	char path[PATH_MAX];
	int ret = find_attribute(sysfs, directory, name, path), fd;
	ssize_t got;

	if (ret < 0)
		return ret;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	got = read(fd, buf, len);
	ret = got < 0 ? -errno : (int)got;
	close(fd);
	return ret;
}

bool sysfs_line(const struct sysfs *sysfs, const char *directory, const char *name, char *text,
		size_t len)
{
	int got = sysfs_read(sysfs, directory, name, text, len - 1);
	size_t begin;

	text[got < 0 ? 0 : got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	begin = strspn(text, " \t");
	memmove(text, text + begin, strlen(text + begin) + 1);
	for (size_t end = strlen(text); end && isspace((unsigned char)text[end - 1]); end--)
		text[end - 1] = '\0';
	return got >= 0;
}

static int64_t number(const struct sysfs *sysfs, const char *directory, const char *name, int base,
		      int64_t otherwise)
{
	char text[64], *end;
	int64_t value;

	if (!sysfs_line(sysfs, directory, name, text, sizeof(text)))
		return otherwise;
	errno = 0;
	value = strtoll(text, &end, base);
	return end == text || errno ? otherwise : value;
}

int64_t sysfs_number(const struct sysfs *sysfs, const char *directory, const char *name,
		     int64_t otherwise)
{
	return number(sysfs, directory, name, 10, otherwise);
}

int64_t sysfs_hexadecimal(const struct sysfs *sysfs, const char *directory, const char *name,
			  int64_t otherwise)
{
	return number(sysfs, directory, name, 16, otherwise);
}

bool sysfs_link_name(const struct sysfs *sysfs, const char *directory, const char *name, char *text,
		     size_t len)
{
	char path[PATH_MAX];

	text[0] = '\0';
	if (find_attribute(sysfs, directory, name, path) < 0)
		return false;
	snprintf(text, len, "%s", strrchr(path, '/') + 1);
	return true;
}

FILE *sysfs_open(const struct sysfs *sysfs, const char *path)
{
	char real[PATH_MAX];

	return sysfs_path(sysfs, path, real) < 0 ? NULL : fopen(real, "re");
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int sysfs_scan(const struct sysfs *sysfs, const char *directory,
	       int (*visit)(void *context, const char *name), void *context)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count, ret = 0;

	if (sysfs_path(sysfs, directory, path) < 0)
		return 0;
	count = scandir(path, &entries, is_shown, versionsort);
	if (count < 0)
		return errno == ENOMEM ? -ENOMEM : 0;
	for (int i = 0; i < count; i++) {
		if (ret == 0)
			ret = visit(context, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return ret;
}
