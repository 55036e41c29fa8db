/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/check_packets.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/write_all.h"
#include "tools/history.h"
#include "tools/read_at.h"

#define PIPE_BYTES (1 << 20)
#define READ_BYTES ((size_t)256 << 10) /* at a time: it stays in the cache */
#define NAME_LEN 64

struct check_packets {
	struct recording *recording;
	struct source *source;
	int in, out; /* of the pipe; -1 = closed */
	pthread_t thread;
	bool has_thread;
	char buf[READ_BYTES]; /* the thread's */
};

bool check_packets_is_one(const struct recording *recording)
{
	const struct history *history = recording_info(recording)->history;

	return history && strcmp(history_layout(history), "pcap") == 0;
}

/* What can't be read is left out: the checksums tell. Return: false: nobody reads any more. */
static bool pour(struct check_packets *packets, const struct recording_piece *piece)
{
	for (uint64_t done = 0; done < piece->bytes;) {
		uint64_t left = piece->bytes - done;
		ssize_t n = read_at(piece->fd, packets->buf,
				    left < sizeof(packets->buf) ? (size_t)left : sizeof(packets->buf),
				    piece->file_offset + done);

		if (n <= 0)
			return true;
		if (write_all(packets->in, packets->buf, (size_t)n) < 0)
			return false;
		done += (uint64_t)n;
	}
	return true;
}

static void *pour_all(void *arg)
{
	struct check_packets *packets = arg;
	struct recording_piece piece;
	bool is_going = true;
	sigset_t signals;

	/* a reader who has gone is no reason to end the program */
	sigfillset(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	recording_seek(packets->recording, 0);
	while (is_going && recording_next(packets->recording, &piece) == 1)
		if (piece.kind == RECORDING_DATA && piece.fd >= 0)
			is_going = pour(packets, &piece);
	close(packets->in);
	return NULL;
}

/* What the source has to say is of the recording, and not of a pipe that nobody knows. */
static int rename_source(const struct check_packets *packets)
{
	char *name = strdup(recording_info(packets->recording)->name);

	if (!name)
		return -ENOMEM;
	free(packets->source->name);
	packets->source->name = name;
	return 0;
}

static int start(struct check_packets *packets)
{
	char name[NAME_LEN];
	int ret;

	snprintf(name, sizeof(name), "%s/proc/self/fd/%d", source_pcapfile.prefix, packets->out);
	ret = -pthread_create(&packets->thread, NULL, pour_all, packets);
	if (ret < 0)
		return ret;
	packets->has_thread = true;
	ret = source_open_with(&packets->source, &source_pcapfile, name, NULL);
	/* it has its own: when that is closed, the thread ends */
	close(packets->out);
	packets->out = -1;
	if (ret == 0)
		ret = rename_source(packets);
	return ret ? ret : source_start(packets->source);
}

int check_packets_open(struct check_packets **out, struct recording *recording, struct source **source)
{
	struct check_packets *packets = calloc(1, sizeof(*packets));
	int fds[2], ret;

	*out = packets;
	*source = NULL;
	if (!packets)
		return -ENOMEM;
	packets->recording = recording;
	packets->in = packets->out = -1;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	packets->out = fds[0];
	packets->in = fds[1];
	fcntl(packets->in, F_SETPIPE_SZ, PIPE_BYTES); /* less will do */
	ret = start(packets);
	*source = packets->source;
	return ret;
}

void check_packets_close(struct check_packets *packets)
{
	if (!packets)
		return;
	source_close(packets->source);
	if (packets->out >= 0)
		close(packets->out);
	if (packets->has_thread)
		pthread_join(packets->thread, NULL);
	else if (packets->in >= 0)
		close(packets->in);
	free(packets);
}
