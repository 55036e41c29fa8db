/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_packet_walk - the least that a capture of UDP payloads costs: the kernel's packet ring, walked through, with one copy
 *
 *   tool_packet_walk INTERFACE BUFFER_BYTES
 *
 * Ends with SIGINT or SIGTERM, or when nothing has come for a second behind the first hundred packets. Takes all packets for
 * UDP over IPv4 without options. Prints what came: packets=N bytes=N dropped=N
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define BLOCK_BYTES (256 << 10)
#define RETIRE_MS 20
#define HEADERS_BYTES (ETH_HLEN + 20 + 8)
#define SILENCE_TURNS (1000 / RETIRE_MS)
#define FIRST_PACKETS 100
#define COPY_BYTES ((size_t)1 << 20)
#define PACKET_MAX 65536

struct walk {
	int fd;
	char *memory;
	uint32_t block_count, next;
	char *copy;
	size_t copy_at;
	uint64_t packet_count, byte_count;
};

static volatile sig_atomic_t is_over;

static void end(int number)
{
	(void)number;
	is_over = 1;
}

static void fail(const char *what)
{
	fprintf(stderr, "tool_packet_walk: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void open_ring(struct walk *walk, const char *interface, unsigned long bytes)
{
	const int version = TPACKET_V3;
	struct tpacket_req3 request = {
		.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = (unsigned)(bytes / BLOCK_BYTES),
		.tp_frame_size = BLOCK_BYTES,
		.tp_frame_nr = (unsigned)(bytes / BLOCK_BYTES),
		.tp_retire_blk_tov = RETIRE_MS,
	};
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface),
	};

	walk->block_count = request.tp_block_nr;
	walk->fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (walk->fd < 0 ||
	    setsockopt(walk->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0 ||
	    setsockopt(walk->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) < 0)
		fail("packet ring");
	walk->memory = mmap(NULL, (size_t)BLOCK_BYTES * walk->block_count, PROT_READ | PROT_WRITE,
			    MAP_SHARED, walk->fd, 0);
	walk->copy = calloc(1, COPY_BYTES + PACKET_MAX);
	if (walk->memory == MAP_FAILED || !walk->copy)
		fail("memory");
	if (bind(walk->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		fail(interface);
}

static struct tpacket_hdr_v1 *header_of(const struct walk *walk)
{
	char *block = walk->memory + (size_t)BLOCK_BYTES * walk->next;

	return &((struct tpacket_block_desc *)(void *)block)->hdr.bh1;
}

static void walk_block(struct walk *walk, struct tpacket_hdr_v1 *header)
{
	char *frame = walk->memory + (size_t)BLOCK_BYTES * walk->next + header->offset_to_first_pkt;

	for (uint32_t i = 0; i < header->num_pkts; i++) {
		const struct tpacket3_hdr *head = (const void *)frame;

		if (head->tp_snaplen > HEADERS_BYTES && head->tp_snaplen < PACKET_MAX) {
			size_t bytes = head->tp_snaplen - HEADERS_BYTES;

			memcpy(walk->copy + walk->copy_at, frame + head->tp_mac + HEADERS_BYTES, bytes);
			walk->copy_at = (walk->copy_at + bytes) % COPY_BYTES;
			walk->byte_count += bytes;
		}
		walk->packet_count++;
		frame += head->tp_next_offset;
	}
	__atomic_store_n(&header->block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	walk->next = (walk->next + 1) % walk->block_count;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = end };
	struct tpacket_stats_v3 stats = { 0 };
	socklen_t len = sizeof(stats);
	struct walk walk = { 0 };
	unsigned silent_turns = 0;

	if (argc != 3)
		return 64;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	open_ring(&walk, argv[1], strtoul(argv[2], NULL, 10));
	while (!is_over && (silent_turns < SILENCE_TURNS || walk.packet_count < FIRST_PACKETS)) {
		struct tpacket_hdr_v1 *header = header_of(&walk);
		struct pollfd descriptor = { .fd = walk.fd, .events = POLLIN };

		if (__atomic_load_n(&header->block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) {
			walk_block(&walk, header);
			silent_turns = 0;
		} else if (poll(&descriptor, 1, RETIRE_MS) == 0) {
			silent_turns++;
		}
	}
	getsockopt(walk.fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len);
	printf("packets=%" PRIu64 " bytes=%" PRIu64 " dropped=%u\n", walk.packet_count,
	       walk.byte_count, stats.tp_drops);
	free(walk.copy);
	return EXIT_SUCCESS;
}
