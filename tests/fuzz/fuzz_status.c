/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recorder says of itself (tools/observe.h), as vsib-status reads and shows it (tools/status_screen.h): a thread
 * gives any bytes to whoever connects to its socket. And the names of such sockets (recorder/runtime.h).
 */
#include "tests/fuzz/input.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "recorder/runtime.h"
#include "recorder/write_all.h"
#include "tools/observe.h"
#include "tools/status_screen.h"

#define NAME "scan"
#define PID 1

/* Set before somebody connects, and read behind accept(): the socket keeps the two apart. */
static struct {
	int fd; /* that listens */
	const uint8_t *data;
	size_t len;
} server;

static void *serve(void *unused)
{
	(void)unused;
	for (;;) {
		int fd = accept(server.fd, NULL, NULL);

		if (fd < 0)
			return NULL;
		write_all(fd, server.data, server.len);
		close(fd);
	}
}

/* One for all inputs. Return: the directory with its socket. */
static const char *start_server(void)
{
	static const char *folder;
	struct sockaddr_un address;
	pthread_t thread;

	if (folder)
		return folder;
	folder = input_folder();
	server.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server.fd < 0 || runtime_address(&address, folder, NAME, PID) < 0 ||
	    bind(server.fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(server.fd, 1) < 0 || pthread_create(&thread, NULL, serve, NULL) != 0) {
		perror("a socket");
		exit(EXIT_FAILURE);
	}
	pthread_detach(thread);
	return folder;
}

static void show(const struct observed *one)
{
	char *screen = NULL;
	size_t len = 0;
	FILE *out;

	input_expect(!strpbrk(one->text, "\r\n") && json_is_object(one->object));
	out = open_memstream(&screen, &len);
	input_expect(out != NULL);
	status_screen_print(out, one->object);
	input_expect(fclose(out) == 0);
	for (size_t i = 0; i < len; i++)
		input_expect((unsigned char)screen[i] >= ' ' || screen[i] == '\n');
	free(screen);
}

static void check_name(struct input *input)
{
	char *text = input_take_text(input, '\n'), *name = malloc(strlen(text) + 1);
	struct sockaddr_un address;
	long pid;

	input_expect(name != NULL);
	if (runtime_parse(text, name, &pid)) {
		input_expect(name[0] && pid > 0 && strlen(name) < strlen(text));
		if (runtime_address(&address, "", name, pid) == 0)
			input_expect(strcmp(address.sun_path + 1, text) == 0);
	}
	free(name);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	const char *folder = start_server();
	struct observed *list;
	size_t count;

	server.data = data;
	server.len = len;
	input_expect(observe_all(folder, NULL, &list, &count) == 0 && count == 1);
	input_expect(list[0].error == 0 || list[0].error == -EBADMSG ||
		     list[0].error == -EMSGSIZE || list[0].error == -ETIMEDOUT);
	if (list[0].error == 0)
		show(&list[0]);
	observe_free(list, count);
	check_name(&input);
	return 0;
}
