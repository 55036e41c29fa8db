/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packet_ring.c - `pcap:INTERFACE` as whole packets, out of the kernel's packet ring without a copy
 *
 * The ring of an AF_PACKET socket (TPACKET_V3, linux/if_packet.h) lends its memory to the recorder: the kernel fills a
 * block with packets, what it has put round them is overwritten by headers of pcapng where it stands
 * (pcapng.h), and the block goes to the disks as a piece of a savefile. Each block begins with a section header.
 *
 * The kernel fills blocks strictly in turn and stops at one it has not been given back: blocks that come
 * back out of order wait for that one. What finds no room it drops, and counts.
 *
 * A block is handed out when it is full, or RETIRE_MS after its first packet: so a reader of the growing file
 * sees packets soon, and a silent network costs nothing.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/interface.h"
#include "drivers/pace.h"
#include "drivers/pcapng.h"
#include "drivers/source.h"
#include "drivers/units.h"

#define RETIRE_MS 100
#define FRAME_BYTES 2048 /* only has to divide a block: with V3 packets lie one behind the other */
#define LAST_NS \
	(INT64_C(3) * RETIRE_MS * 1000000) /* by then it is, whatever the kernel's timer was about */
#define MOMENT_NS INT64_C(1000000)
#define WRITE_ALIGN ((size_t)4096)
#define VLAN_BYTES 4
#define ADDRESSES_BYTES 12 /* in front of an Ethernet type */
#define PROGRAM "VSIB recorder"

struct packet_ring {
	int fd;
	struct interface interface;
	int link_type;
	int64_t wanted_start_utc_ns;
	struct bpf_program program; /* of the filter; for sock_fprog, which is the same */
	char *memory;
	size_t block_bytes;
	uint32_t block_count;
	uint32_t next;         /* the block the kernel fills, or will have filled, next */
	bool *is_given;        /* blocks the kernel has */
	uint64_t untold_count; /* of what it dropped */
	bool is_stopped;
	bool is_gone; /* the interface */
	bool has_cut; /* packets that came are longer than what was kept of them */
	bool has_told_cut;
};

/* Where the bytes of a packet lie, once what the kernel says of it has been read. */
struct place {
	char *data;
	struct pcapng_packet packet;
};

/* ---- opening --------------------------------------------------------------------------------- */

static int take_details(struct source *source, struct packet_ring *ring)
{
	char buf[SOURCE_DETAIL_LEN];
	struct source_detail detail;
	const char *cursor = NULL;
	bool is_done;
	int ret = 0;

	while (!ret && source_next_detail(source, &cursor, buf, sizeof(buf), &detail))
		ret = interface_detail(source, &detail, &ring->interface, &is_done);
	return ret;
}

/*
 * libpcap knows the interface's kind of packets and translates the expression for it; a tag of a VLAN that the kernel
 * has taken off is looked for where it is then.
 */
static int ask_pcap(struct source *source, struct packet_ring *ring)
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_create(source->path, error);
	int ret;

	if (!pcap)
		return source_fail(source, ENODEV, "cannot open: %s", error);
	pcap_set_snaplen(pcap, INTERFACE_SNAP_BYTES);
	pcap_set_timeout(pcap, RETIRE_MS);
	ret = interface_activate(source, pcap);
	if (ret == 0) {
		ring->link_type = pcap_datalink(pcap);
		ret = interface_compile(source, &ring->interface, pcap, &ring->program);
	}
	pcap_close(pcap);
	return ret;
}

static int open_socket(struct source *source, struct packet_ring *ring)
{
	struct sock_fprog program = { (unsigned short)ring->program.bf_len,
				      (struct sock_filter *)ring->program.bf_insns };
	static const int version = TPACKET_V3;

	/* bound to no protocol it receives nothing yet */
	ring->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ring->fd < 0)
		return source_fail(source, errno, "no packet socket: %s; it needs root or CAP_NET_RAW",
				   strerror(errno));
	if (setsockopt(ring->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0)
		return source_fail(source, errno, "the kernel has no TPACKET_V3: %s", strerror(errno));
	if (setsockopt(ring->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0)
		return source_fail(source, errno, "the kernel refuses the filter: %s", strerror(errno));
	interface_take_once(source, ring->fd);
	return 0;
}

static int ring_open(struct source *source, const struct source_config *config)
{
	struct packet_ring *ring = calloc(1, sizeof(*ring));
	int ret;

	if (!ring)
		return source_fail(source, ENOMEM, "out of memory");
	ring->fd = -1;
	ring->memory = MAP_FAILED;
	source->state = ring;
	ring->wanted_start_utc_ns = config->start_utc_ns;
	source->rate_bps = config->rate_bps;
	source->has_packets = true;
	ret = take_details(source, ring);
	if (ret < 0)
		return ret;
	if (strcmp(source->path, "any") == 0)
		return source_fail(source, EINVAL,
				   "packets of all interfaces can't be kept whole: one is wanted");
	ret = interface_find(source, &ring->interface);
	if (ret == 0)
		ret = ask_pcap(source, ring);
	if (ret < 0)
		return ret;
	if (ring->link_type != DLT_EN10MB && ring->link_type != DLT_RAW)
		return source_fail(source, EPFNOSUPPORT,
				   "packets of kind %s can't be kept whole: Ethernet and raw IP can",
				   pcap_datalink_val_to_name(ring->link_type));
	return open_socket(source, ring);
}

static void ring_close(struct source *source)
{
	struct packet_ring *ring = source->state;

	if (ring->memory != MAP_FAILED)
		munmap(ring->memory, ring->block_bytes * ring->block_count);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring->is_given);
	pcap_freecode(&ring->program);
	free(ring);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int ring_lend(struct source *source, size_t block_bytes, uint32_t block_count, void **memory)
{
	struct packet_ring *ring = source->state;
	/* so that a packet begins at a multiple of PCAPNG_ALIGN: its network header is aligned */
	const unsigned int reserve = ring->link_type == DLT_EN10MB ? ETH_HLEN % PCAPNG_ALIGN : 0;
	struct tpacket_req3 request = {
		.tp_block_size = (unsigned int)block_bytes,
		.tp_block_nr = block_count,
		.tp_frame_size = FRAME_BYTES,
		.tp_frame_nr = (unsigned int)(block_bytes / FRAME_BYTES * block_count),
		.tp_retire_blk_tov = RETIRE_MS,
		.tp_sizeof_priv = PCAPNG_BEGIN_BYTES,
	};

	if (block_bytes > UINT32_MAX / 2 || block_bytes / FRAME_BYTES * block_count > UINT32_MAX)
		return source_fail(source, EINVAL,
				   "a packet ring of %" PRIu32 " blocks of %zu bytes is too large",
				   block_count, block_bytes);
	ring->is_given = calloc(block_count, sizeof(*ring->is_given));
	if (!ring->is_given)
		return source_fail(source, ENOMEM, "out of memory");
	if (setsockopt(ring->fd, SOL_PACKET, PACKET_RESERVE, &reserve, sizeof(reserve)) < 0 ||
	    setsockopt(ring->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) < 0)
		return source_fail(source, errno,
				   "the kernel has no packet ring of %" PRIu32
				   " blocks of %zu bytes for us: %s; a smaller --ring",
				   block_count, block_bytes, strerror(errno));
	ring->memory = mmap(NULL, block_bytes * block_count, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE, ring->fd, 0);
	if (ring->memory == MAP_FAILED)
		return source_fail(source, errno, "the packet ring can't be mapped: %s",
				   strerror(errno));
	ring->block_bytes = block_bytes;
	ring->block_count = block_count;
	*memory = ring->memory;
	return 0;
}

static struct tpacket_hdr_v1 *header_of(const struct packet_ring *ring, uint32_t block)
{
	char *at = ring->memory + ring->block_bytes * block;

	return &((struct tpacket_block_desc *)(void *)at)->hdr.bh1;
}

static void ring_give(struct source *source, uint32_t block)
{
	struct packet_ring *ring = source->state;

	ring->is_given[block] = true;
	/* release: the disks have read all of it */
	__atomic_store_n(&header_of(ring, block)->block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

/* ---- a block --------------------------------------------------------------------------------- */

/* Into the place where it was before the kernel took it off. */
static void put_vlan_tag(struct place *place, const struct tpacket3_hdr *head)
{
	uint16_t type =
		head->tp_status & TP_STATUS_VLAN_TPID_VALID ? head->hv1.tp_vlan_tpid : ETH_P_8021Q;
	const uint16_t tag[2] = { htons(type), htons((uint16_t)head->hv1.tp_vlan_tci) };

	memmove(place->data - VLAN_BYTES, place->data, ADDRESSES_BYTES);
	place->data -= VLAN_BYTES;
	memcpy(place->data + ADDRESSES_BYTES, tag, VLAN_BYTES);
	place->packet.captured_bytes += VLAN_BYTES;
	place->packet.wire_bytes += VLAN_BYTES;
}

/* The room that was reserved is for a header of 14 bytes: one of another length is moved to where it may begin. */
static void align(struct place *place)
{
	size_t rest = (uintptr_t)place->data % PCAPNG_ALIGN;

	if (rest == 0)
		return;
	memmove(place->data - rest, place->data, place->packet.captured_bytes);
	place->data -= rest;
}

/* Return: how far it is to the next one. */
static uint32_t read_place(struct packet_ring *ring, char *frame, struct place *place)
{
	const struct tpacket3_hdr *head = (const void *)frame;
	uint32_t step = head->tp_next_offset;

	ring->has_cut = ring->has_cut || head->tp_snaplen < head->tp_len;
	place->data = frame + head->tp_mac;
	place->packet = (struct pcapng_packet){
		.utc_ns = (int64_t)head->tp_sec * UNITS_NS_PER_S + head->tp_nsec,
		.captured_bytes = head->tp_snaplen,
		.wire_bytes = head->tp_len,
	};
	if (ring->link_type == DLT_EN10MB && (head->tp_status & TP_STATUS_VLAN_VALID) &&
	    head->tp_snaplen >= ADDRESSES_BYTES)
		put_vlan_tag(place, head);
	align(place);
	return step;
}

/* A packet that the kernel has cut to a block's length reaches to its last byte. */
static void leave_tail(struct packet_ring *ring, const char *block_end, struct place *place)
{
	uint32_t room = (uint32_t)(block_end - place->data) - PCAPNG_TAIL_BYTES;

	if (place->packet.captured_bytes <= room)
		return;
	place->packet.captured_bytes = room;
	ring->has_cut = true;
}

/* From what the kernel has made of a block to what goes to a file. Return: its length. */
static size_t convert(const struct source *source, uint32_t block, int64_t *utc_ns)
{
	struct packet_ring *ring = source->state;
	struct pcapng_interface interface = {
		.link_type = ring->link_type == DLT_EN10MB ? 1 : 101,
		.name = source->path,
		.filter = ring->interface.filter,
		.program = PROGRAM,
	};
	char *begin = ring->memory + ring->block_bytes * block;
	const struct tpacket_hdr_v1 *header = header_of(ring, block);
	char *frame = begin + header->offset_to_first_pkt;
	uint32_t count = header->num_pkts;
	struct place place, next;
	size_t bytes;

	frame += read_place(ring, frame, &place);
	*utc_ns = place.packet.utc_ns;
	pcapng_begin(begin, (size_t)(place.data - PCAPNG_HEAD_BYTES - begin), &interface);
	for (uint32_t i = 1; i < count; i++) {
		frame += read_place(ring, frame, &next);
		pcapng_packet(place.data, next.data - PCAPNG_HEAD_BYTES, &place.packet);
		place = next;
	}
	leave_tail(ring, begin + ring->block_bytes, &place);
	bytes = (size_t)(place.data - begin) + pcapng_tail(place.packet.captured_bytes);
	bytes = (bytes + WRITE_ALIGN - 1) / WRITE_ALIGN * WRITE_ALIGN;
	assert(bytes <= ring->block_bytes);
	pcapng_packet(place.data, begin + bytes, &place.packet);
	return bytes;
}

/* ---- running --------------------------------------------------------------------------------- */

static int bind_to(const struct packet_ring *ring, uint16_t protocol)
{
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = ring->interface.index,
	};

	return bind(ring->fd, (const struct sockaddr *)&address, sizeof(address));
}

static int ring_start(struct source *source)
{
	struct packet_ring *ring = source->state;
	const struct packet_mreq promiscuous = { .mr_ifindex = ring->interface.index,
						 .mr_type = PACKET_MR_PROMISC };
	int ret = pace_start(source, ring->wanted_start_utc_ns);

	if (ret < 0)
		return ret;
	if (ring->interface.is_promiscuous && setsockopt(ring->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP,
							 &promiscuous, sizeof(promiscuous)) < 0)
		return source_fail(source, errno, "it can't be made promiscuous: %s", strerror(errno));
	if (bind_to(ring, ETH_P_ALL) < 0)
		return source_fail(source, errno, "cannot start: %s", strerror(errno));
	return 0;
}

/* No packet comes in any more, and those that did are handed out by the kernel. */
static void shut_out(struct packet_ring *ring)
{
	static const _Atomic bool never = false;

	if (ring->is_stopped)
		return;
	bind_to(ring, 0);
	pace_sleep_until(units_monotonic_ns() + LAST_NS, &never);
	ring->is_stopped = true;
}

static void ring_stop(struct source *source)
{
	shut_out(source->state);
}

/* Also while no block comes: the kernel's counter has 32 bits, and who looks at ours wants to know. */
static void count_dropped(struct source *source, struct packet_ring *ring)
{
	uint64_t count = interface_dropped(ring->fd);

	ring->untold_count += count;
	source_count(&source->stats.packets.dropped_count, count);
	source_count(&source->stats.packets.lost_count, count);
}

/* A recording of whole packets in which not all are whole says so. */
static void tell_cut(struct source *source, struct packet_ring *ring)
{
	if (!ring->has_cut || ring->has_told_cut)
		return;
	ring->has_told_cut = true;
	/* relaxed: a flag by itself */
	atomic_store_explicit(&source->is_incomplete, true, memory_order_relaxed);
	source_note(source,
		    "a packet was cut: no more fits into a block of %zu bytes, nor are more than %d kept; a larger --block",
		    ring->block_bytes, INTERFACE_SNAP_BYTES);
}

static bool is_filled(const struct packet_ring *ring)
{
	/* what the disks have of a block looks to be filled as well; acquire: the kernel's packets */
	return ring->is_given[ring->next] &&
	       (__atomic_load_n(&header_of(ring, ring->next)->block_status, __ATOMIC_ACQUIRE) &
		TP_STATUS_USER);
}

/* An interface that is gone is an error, once all has been taken that came before. Return: 0; -errno. */
static int look(struct source *source, struct packet_ring *ring)
{
	int ret = interface_look(source, &ring->interface, ring->fd);

	if (ret != -ENODEV)
		return ret;
	ring->is_gone = true;
	shut_out(ring);
	return 0;
}

/*
 * Waits a little. To poll() also a block can be read that is with the disks; then only time is left to
 * go by, and a moment is short for a block.
 * Return: 0; SOURCE_NOT_YET: the deadline has come; -errno.
 */
static int wait_a_little(struct source *source, struct packet_ring *ring, int64_t deadline_ns)
{
	int64_t now = units_monotonic_ns();
	int events, ret;

	if (now >= deadline_ns || source_is_interrupted(source)) {
		ret = look(source, ring);
		return ret < 0 || ring->is_stopped ? ret : SOURCE_NOT_YET;
	}
	source_count(&source->stats.wait_count, 1);
	events = pace_poll(ring->fd, deadline_ns, &source->is_interrupted);
	if (events < 0)
		return source_fail(source, -events, "cannot wait: %s", strerror(-events));
	if (events & POLLERR)
		return look(source, ring);
	if (events && !is_filled(ring))
		pace_sleep_until(deadline_ns < now + MOMENT_NS ? deadline_ns : now + MOMENT_NS,
				 &source->is_interrupted);
	return 0;
}

/* Return: the block that was the next one. */
static uint32_t move_on(struct packet_ring *ring)
{
	uint32_t block = ring->next;

	ring->is_given[block] = false;
	ring->next = (block + 1) % ring->block_count;
	return block;
}

/* For a packet that needs a whole block the kernel leaves the one it is at, also when nothing is in that. */
static bool has_packets(struct source *source, struct packet_ring *ring)
{
	while (is_filled(ring) && header_of(ring, ring->next)->num_pkts == 0)
		ring_give(source, move_on(ring));
	return is_filled(ring);
}

/* Return: 1: a block is there; SOURCE_END; SOURCE_NOT_YET; -errno. */
static int wait_for_block(struct source *source, struct packet_ring *ring, int64_t deadline_ns)
{
	while (!has_packets(source, ring)) {
		int ret;

		if (ring->is_stopped)
			return ring->is_gone ? source_fail(source, ENODEV, "the interface is gone") :
					       SOURCE_END;
		ret = wait_a_little(source, ring, deadline_ns);
		if (ret < 0)
			return ret;
	}
	return 1;
}

static ssize_t ring_take(struct source *source, uint32_t *block, int64_t deadline_ns,
			 struct source_mark *mark)
{
	struct packet_ring *ring = source->state;
	size_t bytes;
	int ret = wait_for_block(source, ring, deadline_ns);

	count_dropped(source, ring);
	if (ret == SOURCE_NOT_YET)
		return ret;
	mark->lost_packets = ring->untold_count;
	ring->untold_count = 0;
	if (ret != 1)
		return ret;
	source_count(&source->stats.packets.received_count, header_of(ring, ring->next)->num_pkts);
	bytes = convert(source, ring->next, &mark->utc_ns);
	tell_cut(source, ring);
	*block = move_on(ring);
	return (ssize_t)bytes;
}

const struct source_ops source_packet_ring = {
	.prefix = "pcap:",
	.keys = INTERFACE_KEYS,
	.takes_path = true,
	.open = ring_open,
	.start = ring_start,
	.lend = ring_lend,
	.give = ring_give,
	.take = ring_take,
	.stop = ring_stop,
	.close = ring_close,
};
