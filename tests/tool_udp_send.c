/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_udp_send - a file as datagrams, with all that can happen to them on the way
 *
 *   tool_udp_send -f BYTES [OPTION]... FILE ADDR PORT
 *
 *   -f BYTES   payload of a datagram; the file's last ones that make no whole frame are left out
 *   -p KIND    number in front: none (default), le64, be64, le32, be32, fila (32 bits at bytes 4 to 7)
 *   -s N       the first one's number (0)
 *   -c N       so many frames; the file begins anew when it is over
 *   -x LIST    frames that are left out, by index: 3,7,10-20
 *   -w LIST    frames that change places with the next one
 *   -2 LIST    frames that are sent twice
 *   -l LIST    frames that are sent last of all
 *   -u LIST    frames that are not to be recorded: bit 63 of the number
 *   -t LIST    a datagram of -T BYTES (100) is sent before these
 *   -r N       datagrams a second (0: as fast as it goes), in bursts of -b N (1)
 *   -a ADDR    source address;  -P PORT  source port;  -i IFACE  interface of a multicast group
 *
 * Prints how many datagrams were sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "drivers/units.h"

#define EXIT_USAGE 64
#define BATCH 32
#define PREFIX_MAX 8
#define UNWANTED (UINT64_C(1) << 63)

struct sender {
	const unsigned char *data;
	uint64_t frame_count; /* of the file */
	uint64_t frame_bytes, stray_bytes, count, first_number, rate, burst;
	const char *kind, *left_out, *swapped, *twice, *last, *unwanted, *strays;
	const char *source_address, *source_port, *interface;
	int fd;
	uint64_t sent_count;
	int64_t start_ns;

	struct mmsghdr messages[BATCH];
	struct iovec pieces[BATCH][2];
	unsigned char prefixes[BATCH][PREFIX_MAX];
	unsigned batch_count;
};

static void fail(const char *what)
{
	fprintf(stderr, "tool_udp_send: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static uint64_t number_of(const char *text)
{
	uint64_t value;

	if (units_parse_count(text, &value)) {
		fprintf(stderr, "tool_udp_send: %s is no number\n", text);
		exit(EXIT_USAGE);
	}
	return value;
}

/* "3,7,10-20" */
static bool is_in(const char *list, uint64_t index)
{
	while (list && *list) {
		char *end;
		uint64_t first = strtoull(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoull(end + 1, &end, 10);
		if (index >= first && index <= last)
			return true;
		list = *end == ',' ? end + 1 : end;
	}
	return false;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void flush(struct sender *s)
{
	unsigned done = 0;

	while (done < s->batch_count) {
		int put = sendmmsg(s->fd, s->messages + done, s->batch_count - done, 0);

		if (put > 0)
			done += (unsigned)put;
		else if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED)
			fail("cannot send");
	}
	s->batch_count = 0;
}

static void wait_for_turn(struct sender *s)
{
	int64_t when_ns;
	struct timespec when;

	if (s->rate == 0 || s->sent_count % s->burst != 0)
		return;
	flush(s);
	when_ns = s->start_ns + (int64_t)((double)s->sent_count / (double)s->rate * 1e9);
	when = (struct timespec){ .tv_sec = when_ns / UNITS_NS_PER_S,
				  .tv_nsec = when_ns % UNITS_NS_PER_S };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
		;
}

static void put(struct sender *s, const void *prefix, size_t prefix_bytes, const void *data, size_t len)
{
	unsigned i;

	wait_for_turn(s);
	i = s->batch_count++;
	memcpy(s->prefixes[i], prefix, prefix_bytes);
	s->pieces[i][0] = (struct iovec){ s->prefixes[i], prefix_bytes };
	s->pieces[i][1] = (struct iovec){ (void *)data, len };
	s->messages[i].msg_hdr = (struct msghdr){ .msg_iov = s->pieces[i], .msg_iovlen = 2 };
	s->sent_count++;
	if (s->batch_count == BATCH)
		flush(s);
}

static size_t make_prefix(const struct sender *s, uint64_t number, unsigned char *prefix)
{
	uint64_t value64 = htole64(number);
	uint32_t value32 = htole32((uint32_t)number);

	if (strcmp(s->kind, "none") == 0)
		return 0;
	if (strcmp(s->kind, "be64") == 0)
		value64 = htobe64(number);
	else if (strcmp(s->kind, "fila") == 0)
		value64 = htole64(number << 32);
	else if (strcmp(s->kind, "be32") == 0)
		value32 = htobe32((uint32_t)number);
	if (strstr(s->kind, "32")) {
		memcpy(prefix, &value32, sizeof(value32));
		return sizeof(value32);
	}
	memcpy(prefix, &value64, sizeof(value64));
	return sizeof(value64);
}

static void put_frame(struct sender *s, uint64_t index)
{
	unsigned char prefix[PREFIX_MAX];
	uint64_t number = s->first_number + index;
	size_t prefix_bytes =
		make_prefix(s, is_in(s->unwanted, index) ? number | UNWANTED : number, prefix);

	if (is_in(s->strays, index))
		put(s, prefix, 0, s->data, s->stray_bytes);
	put(s, prefix, prefix_bytes, s->data + index % s->frame_count * s->frame_bytes, s->frame_bytes);
	if (is_in(s->twice, index))
		put(s, prefix, prefix_bytes, s->data + index % s->frame_count * s->frame_bytes,
		    s->frame_bytes);
}

static void put_all(struct sender *s)
{
	for (uint64_t i = 0; i < s->count; i++) {
		if (is_in(s->left_out, i) || is_in(s->last, i))
			continue;
		if (is_in(s->swapped, i) && i + 1 < s->count) {
			put_frame(s, i + 1);
			put_frame(s, i);
			i++;
			continue;
		}
		put_frame(s, i);
	}
	for (uint64_t i = 0; s->last && i < s->count; i++)
		if (is_in(s->last, i))
			put_frame(s, i);
	flush(s);
}

/* ---- setting up ------------------------------------------------------------------------------ */

static struct addrinfo *find(const char *address, const char *port, int family)
{
	struct addrinfo hints = { .ai_family = family,
				  .ai_socktype = SOCK_DGRAM,
				  .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found;

	if (!address)
		hints.ai_flags = AI_PASSIVE;
	if (getaddrinfo(address, port, &hints, &found)) {
		fprintf(stderr, "tool_udp_send: %s: no address\n", address);
		exit(EXIT_USAGE);
	}
	return found;
}

static void set_interface(struct sender *s, int family)
{
	int index = (int)if_nametoindex(s->interface);
	struct ip_mreqn request = { .imr_ifindex = index };

	if (family == AF_INET ?
		    setsockopt(s->fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request)) :
		    setsockopt(s->fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof(index)))
		fail(s->interface);
}

static void open_socket(struct sender *s, const char *address, const char *port)
{
	struct addrinfo *to = find(address, port, AF_UNSPEC), *from;

	s->fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		fail("socket");
	if (s->interface)
		set_interface(s, to->ai_family);
	if (s->source_address || s->source_port) {
		from = find(s->source_address, s->source_port, to->ai_family);
		if (bind(s->fd, from->ai_addr, from->ai_addrlen))
			fail("cannot bind");
		freeaddrinfo(from);
	}
	if (connect(s->fd, to->ai_addr, to->ai_addrlen))
		fail(address);
	freeaddrinfo(to);
}

static void map_file(struct sender *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *data;

	if (fd < 0 || fstat(fd, &status))
		fail(path);
	s->frame_count = (uint64_t)status.st_size / s->frame_bytes;
	data = s->frame_count ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0) :
				MAP_FAILED;
	if (data == MAP_FAILED) {
		fprintf(stderr, "tool_udp_send: %s has no whole frame\n", path);
		exit(EXIT_USAGE);
	}
	s->data = data;
	close(fd);
}

static void take_option(struct sender *s, int option)
{
	switch (option) {
	case 'f':
		s->frame_bytes = number_of(optarg);
		break;
	case 'p':
		s->kind = optarg;
		break;
	case 's':
		s->first_number = number_of(optarg);
		break;
	case 'c':
		s->count = number_of(optarg);
		break;
	case 'x':
		s->left_out = optarg;
		break;
	case 'w':
		s->swapped = optarg;
		break;
	case '2':
		s->twice = optarg;
		break;
	case 'l':
		s->last = optarg;
		break;
	case 'u':
		s->unwanted = optarg;
		break;
	case 't':
		s->strays = optarg;
		break;
	case 'T':
		s->stray_bytes = number_of(optarg);
		break;
	case 'r':
		s->rate = number_of(optarg);
		break;
	case 'b':
		s->burst = number_of(optarg);
		break;
	case 'a':
		s->source_address = optarg;
		break;
	case 'P':
		s->source_port = optarg;
		break;
	case 'i':
		s->interface = optarg;
		break;
	default:
		exit(EXIT_USAGE);
	}
}

int main(int argc, char **argv)
{
	static struct sender s = { .kind = "none", .burst = 1, .stray_bytes = 100 };
	int option;

	while ((option = getopt(argc, argv, "f:p:s:c:x:w:2:l:u:t:T:r:b:a:P:i:")) != -1)
		take_option(&s, option);
	if (argc - optind != 3 || s.frame_bytes == 0 || s.burst == 0) {
		fprintf(stderr, "usage: tool_udp_send -f BYTES [OPTION]... FILE ADDR PORT\n");
		return EXIT_USAGE;
	}
	map_file(&s, argv[optind]);
	if (s.count == 0)
		s.count = s.frame_count;
	open_socket(&s, argv[optind + 1], argv[optind + 2]);
	s.start_ns = units_monotonic_ns();
	put_all(&s);
	printf("%" PRIu64 "\n", s.sent_count);
	return EXIT_SUCCESS;
}
