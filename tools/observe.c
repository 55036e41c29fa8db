/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/runtime.h"
#include "tools/array.h"

#define READ_BYTES 65536

/* Waits until @fd can be used. Return: 0; -ETIMEDOUT. */
static int wait_for(int fd, short events, int64_t deadline_ns)
{
	for (;;) {
		struct pollfd pollfd = { .fd = fd, .events = events };
		int64_t left_ns = deadline_ns - units_monotonic_ns();
		int n;

		if (left_ns <= 0)
			return -ETIMEDOUT;
		n = poll(&pollfd, 1, (int)(left_ns / 1000000) + 1);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/*
 * A full backlog says EAGAIN and can't be waited for by poll(): whoever doesn't accept doesn't
 * answer.
 */
static int connect_socket(const char *dir, const struct observed *one)
{
	struct sockaddr_un address;
	int ret = runtime_address(&address, dir, one->name, one->pid);
	int fd;

	if (ret < 0)
		return ret;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	ret = errno == EAGAIN || errno == EINPROGRESS ? -ETIMEDOUT : -errno;
	close(fd);
	return ret;
}

/* Return: bytes of the answer in *text (with a NUL behind); -errno. */
static ssize_t read_answer(int fd, char **text, int64_t deadline_ns)
{
	size_t used = 0, size = 0;

	for (;;) {
		ssize_t n;
		int ret;

		if (size - used < READ_BYTES + 1) {
			char *grown = realloc(*text, size + 2 * (size_t)READ_BYTES);

			if (!grown)
				return -ENOMEM;
			*text = grown;
			size += 2 * (size_t)READ_BYTES;
		}
		ret = wait_for(fd, POLLIN, deadline_ns);
		if (ret < 0)
			return ret;
		n = read(fd, *text + used, READ_BYTES);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
		if (used > OBSERVE_ANSWER_MAX)
			return -EMSGSIZE;
	}
	(*text)[used] = '\0';
	return (ssize_t)used;
}

/* One line: outside of strings JSON may have newlines, inside it has none. */
static int understand(struct observed *one, size_t len)
{
	one->object = json_loadb(one->text, len, 0, NULL);
	if (!json_is_object(one->object))
		return -EBADMSG;
	while (len > 0 && strchr(" \t\r\n", one->text[len - 1]))
		one->text[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (one->text[i] == '\n' || one->text[i] == '\r')
			one->text[i] = ' ';
	return 0;
}

static void ask(const char *dir, struct observed *one)
{
	int64_t deadline_ns = units_monotonic_ns() + OBSERVE_WAIT_MS * INT64_C(1000000);
	int fd = connect_socket(dir, one);
	ssize_t ret = fd;

	if (fd >= 0) {
		ret = read_answer(fd, &one->text, deadline_ns);
		close(fd);
	}
	if (ret >= 0)
		ret = understand(one, (size_t)ret);
	one->error = (int)ret;
	if (ret == 0)
		return;
	free(one->text);
	json_decref(one->object);
	one->text = NULL;
	one->object = NULL;
}

static int is_selected(const char *select, const char *name, long pid)
{
	char number[24];

	if (!select)
		return 1;
	snprintf(number, sizeof(number), "%ld", pid);
	return strcmp(select, name) == 0 || strcmp(select, number) == 0;
}

static int add(struct observed **list, size_t *count, const char *file, const char *name, long pid)
{
	struct observed *room = array_room(list, *count, sizeof(*room));
	char *file_copy = strdup(file), *name_copy = strdup(name);

	if (!room || !file_copy || !name_copy) {
		free(file_copy);
		free(name_copy);
		return -ENOMEM;
	}
	*room = (struct observed){ .file = file_copy, .name = name_copy, .pid = pid };
	(*count)++;
	return 0;
}

static int list_sockets(const char *dir, const char *select, struct observed **list, size_t *count)
{
	const struct dirent *entry;
	DIR *handle = opendir(dir);
	int ret = 0;

	if (!handle)
		return -errno;
	while (ret == 0) {
		char name[NAME_MAX + 1];
		long pid;

		errno = 0;
		entry = readdir(handle);
		if (!entry) {
			ret = -errno;
			break;
		}
		if (runtime_parse(entry->d_name, name, &pid) && is_selected(select, name, pid))
			ret = add(list, count, entry->d_name, name, pid);
	}
	closedir(handle);
	return ret;
}

static int compare_observed(const void *a, const void *b)
{
	const struct observed *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void free_one(struct observed *one)
{
	free(one->file);
	free(one->name);
	free(one->text);
	json_decref(one->object);
}

int observe_all(const char *dir, const char *select, struct observed **list, size_t *count)
{
	size_t kept = 0;
	int ret;

	*list = NULL;
	*count = 0;
	ret = list_sockets(dir, select, list, count);
	if (ret < 0) {
		observe_free(*list, *count);
		*list = NULL;
		*count = 0;
		return ret;
	}
	if (*count)
		qsort(*list, *count, sizeof((*list)[0]), compare_observed);
	for (size_t i = 0; i < *count; i++) {
		struct observed *one = &(*list)[i];

		ask(dir, one);
		if (one->error == -ENOENT)
			free_one(one);
		else
			(*list)[kept++] = *one;
	}
	*count = kept;
	return 0;
}

void observe_free(struct observed *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free_one(&list[i]);
	free(list);
}
