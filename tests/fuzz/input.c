/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/write_all.h"
#include "tests/scratch.h"

static char folder[PATH_MAX];

/* What the machine refuses is no find: the program ends in another way than by a signal. */
static _Noreturn void give_up(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

uint64_t input_take_number(struct input *input, size_t bytes)
{
	uint64_t number = 0;

	for (; bytes > 0 && input->len > 0; bytes--)
		number = number << 8 | input->data[--input->len];
	return number;
}

uint32_t input_take_below(struct input *input, uint64_t limit)
{
	size_t bytes = limit <= 1 << 8 ? 1 : limit <= 1 << 16 ? 2 : 4;

	return (uint32_t)(input_take_number(input, bytes) % limit);
}

char *input_take_text(struct input *input, char end)
{
	const uint8_t *found = input->len ? memchr(input->data, end, input->len) : NULL;
	size_t len = found ? (size_t)(found - input->data) : input->len;
	char *text = strndup(len ? (const char *)input->data : "", len);

	if (!text)
		give_up("a text");
	input->data += len + (found != NULL);
	input->len -= len + (found != NULL);
	return text;
}

unsigned char *input_copy(const void *data, size_t len)
{
	unsigned char *copy = malloc(len ? len : 1);

	if (!copy)
		give_up("a copy");
	if (len)
		memcpy(copy, data, len);
	return copy;
}

int input_file(unsigned slot, const void *data, size_t len)
{
	static int fds[INPUT_FILES]; /* descriptor + 1 */
	int fd;

	if (!fds[slot])
		fds[slot] = memfd_create("fuzz", MFD_CLOEXEC) + 1;
	fd = fds[slot] - 1;
	if (fd < 0 || ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    write_all(fd, data, len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		give_up("a file in memory");
	return fd;
}

/* Faster than a new one: most inputs leave two or three files. */
static void empty_folder(const char *path)
{
	DIR *handle = opendir(path);
	const struct dirent *entry;

	if (!handle)
		give_up(path);
	while ((entry = readdir(handle))) {
		char inside[PATH_MAX];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(inside, sizeof(inside), "%.*s/%s", PATH_MAX - NAME_MAX - 2, path,
			 entry->d_name);
		if (unlink(inside) == 0)
			continue;
		if (errno != EISDIR)
			give_up(inside);
		empty_folder(inside);
		rmdir(inside);
	}
	closedir(handle);
}

const char *input_folder(void)
{
	if (folder[0]) {
		empty_folder(folder);
		return folder;
	}
	if (scratch_make(folder, sizeof(folder), NULL) < 0)
		give_up("a folder");
	return folder;
}

static bool path_of(const char *name, char *path)
{
	int len = snprintf(path, PATH_MAX, "%s/%s", folder, name);

	return len > 0 && len < PATH_MAX;
}

bool input_write(const char *name, const void *data, size_t len)
{
	char path[PATH_MAX];
	int fd = path_of(name, path) ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return false;
	if (write_all(fd, data, len) < 0)
		give_up(path);
	close(fd);
	return true;
}

bool input_make_folder(const char *name)
{
	char path[PATH_MAX];

	return path_of(name, path) && mkdir(path, 0700) == 0;
}

_Noreturn void input_fail(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
	abort();
}
