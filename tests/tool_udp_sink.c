/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_udp_sink - the bare loop that any receiver of datagrams has in it: recvmmsg() into the same memory, again and again
 *
 *   tool_udp_sink -n COUNT [-f BYTES] [-b RCVBUF] ADDR PORT
 *
 * Ends after COUNT datagrams, or when nothing has come for a second since the last one, and prints
 *   received=100000 dropped=0
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/units.h"

#define EXIT_USAGE 64
#define BATCH 64
#define BYTES_MAX 65536
#define PATIENCE_MS 1000
#define FIRST_PATIENCE_MS 20000

static unsigned char memory[BATCH][BYTES_MAX];
static struct mmsghdr messages[BATCH];
static struct iovec pieces[BATCH];

static void fail(const char *what)
{
	fprintf(stderr, "tool_udp_sink: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static uint64_t number_of(const char *text)
{
	uint64_t value;

	if (units_parse_bytes(text, &value))
		exit(EXIT_USAGE);
	return value;
}

static int open_socket(const char *address, const char *port, int rcvbuf)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST }, *at;
	int fd;

	if (getaddrinfo(address, port, &hints, &at))
		exit(EXIT_USAGE);
	fd = socket(at->ai_family, SOCK_DGRAM, 0);
	if (fd < 0)
		fail("socket");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	if (bind(fd, at->ai_addr, at->ai_addrlen))
		fail("bind");
	freeaddrinfo(at);
	return fd;
}

static uint64_t receive(int fd, uint64_t count)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	uint64_t received = 0;

	while (received < count && poll(&poller, 1, received ? PATIENCE_MS : FIRST_PATIENCE_MS) > 0) {
		int got = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);

		if (got < 0 && errno != EAGAIN && errno != EINTR)
			fail("recvmmsg");
		received += got > 0 ? (uint64_t)got : 0;
	}
	return received;
}

int main(int argc, char **argv)
{
	uint64_t count = 0, frame_bytes = BYTES_MAX, rcvbuf = 0;
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);
	uint64_t received;
	int option, fd;

	while ((option = getopt(argc, argv, "n:f:b:")) != -1) {
		switch (option) {
		case 'n':
			count = number_of(optarg);
			break;
		case 'f':
			frame_bytes = number_of(optarg);
			break;
		case 'b':
			rcvbuf = number_of(optarg);
			break;
		default:
			return EXIT_USAGE;
		}
	}
	if (argc - optind != 2 || frame_bytes > BYTES_MAX)
		return EXIT_USAGE;
	for (int i = 0; i < BATCH; i++) {
		pieces[i] = (struct iovec){ memory[0] + (size_t)i * frame_bytes, frame_bytes };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &pieces[i], .msg_iovlen = 1 };
	}
	fd = open_socket(argv[optind], argv[optind + 1], (int)rcvbuf);
	received = receive(fd, count);
	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len);
	printf("received=%" PRIu64 " dropped=%u\n", received, info[SK_MEMINFO_DROPS]);
	return EXIT_SUCCESS;
}
