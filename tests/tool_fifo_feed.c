/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_fifo_feed - feeds a file into a FIFO as no reader would like it: in pieces of 1 to MAX bytes, with pauses
 *
 *   tool_fifo_feed [-s SEED] [-m MAX] [-p MILLISECONDS] FILE FIFO        MAX 70000, no pause longer than 10 ms
 *
 * Every eighth piece or so is followed by a pause. The same seed makes the same pieces.
 * Status: 0; 1 the reader went away; 2 other trouble; 64 usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recorder/write_all.h"

#define PIECE_MAX 70000
#define PAUSE_MAX_MS 10
#define EXIT_TROUBLE 2
#define EXIT_USAGE 64

struct feed {
	uint64_t random;
	size_t piece_max;
	unsigned pause_max_ms;
};

/* xorshift: even enough, and the same everywhere */
static uint64_t next_random(struct feed *feed)
{
	feed->random ^= feed->random << 13;
	feed->random ^= feed->random >> 7;
	feed->random ^= feed->random << 17;
	return feed->random;
}

static void rest(struct feed *feed)
{
	struct timespec pause = { .tv_nsec = 0 };

	if (feed->pause_max_ms == 0 || next_random(feed) % 8 != 0)
		return;
	pause.tv_nsec = (long)(next_random(feed) % (feed->pause_max_ms * UINT64_C(1000000)));
	nanosleep(&pause, NULL);
}

static int feed_all(struct feed *feed, int in, int out)
{
	char *buf = malloc(feed->piece_max);
	ssize_t got = 1;
	int ret = buf ? 0 : -ENOMEM;

	while (ret == 0 && got > 0) {
		got = read(in, buf, (size_t)(next_random(feed) % feed->piece_max) + 1);
		if (got < 0)
			ret = -errno;
		if (got > 0)
			ret = write_all(out, buf, (size_t)got);
		rest(feed);
	}
	free(buf);
	return ret;
}

int main(int argc, char **argv)
{
	struct feed feed = { .random = 1, .piece_max = PIECE_MAX, .pause_max_ms = PAUSE_MAX_MS };
	int option, in, out, ret;

	while ((option = getopt(argc, argv, "s:m:p:")) != -1) {
		if (option == 's')
			feed.random = strtoull(optarg, NULL, 0) | 1;
		else if (option == 'm')
			feed.piece_max = strtoul(optarg, NULL, 0);
		else if (option == 'p')
			feed.pause_max_ms = (unsigned)strtoul(optarg, NULL, 0);
		else
			return EXIT_USAGE;
	}
	if (argc - optind != 2 || feed.piece_max == 0 || feed.pause_max_ms > 900)
		return EXIT_USAGE;
	signal(SIGPIPE, SIG_IGN);
	in = open(argv[optind], O_RDONLY | O_CLOEXEC);
	out = in < 0 ? -1 : open(argv[optind + 1], O_WRONLY | O_CLOEXEC);
	ret = out < 0 ? -errno : feed_all(&feed, in, out);
	if (ret < 0)
		fprintf(stderr, "tool_fifo_feed: %s\n", strerror(-ret));
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return ret == 0 ? EXIT_SUCCESS : ret == -EPIPE ? EXIT_FAILURE : EXIT_TROUBLE;
}
