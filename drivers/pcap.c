/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcap.c - `pcap:INTERFACE`, what the UDP datagrams carry that come to an interface
 *
 *   psn= frame= window= from=    datagrams.h
 *   filter=EXPRESSION promiscuous    interface.h
 *   port=N           only datagrams to this port
 *   buffer=256Mi     asked of the kernel
 *   snaplen=BYTES    of a packet; longer ones are cut, and left out
 *
 * libpcap's buffer is a ring of blocks that the kernel fills; each payload is copied once, from there to where the
 * caller wants it. Immediate mode would take a slot of the longest length for each packet: of no use here.
 *
 * With --layout pcap it is packet_ring.c that has this name.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "drivers/interface.h"
#include "drivers/pace.h"
#include "drivers/packet.h"
#include "drivers/payloads.h"
#include "drivers/source.h"
#include "drivers/units.h"

#define AGAIN 1           /* besides what source_read() returns: look again */
#define TURN_PACKETS 4096 /* that may be of no interest, until the clock is looked at */
#define RETIRE_MS 20      /* a block that isn't full is handed out after this time */
#define LAST_NS \
	(INT64_C(4) * RETIRE_MS * 1000000) /* by then it is, whatever the kernel's timer was about */
/* behind what came, until more is looked for: several blocks for one wake-up, at rates where they come fast */
#define PAUSE_NS_MAX INT64_C(4000000)
#define PAUSE_FILL_BPNS \
	8 /* a buffer is made half full in it by 32 Gbit/s, 4 bytes a nanosecond, at most */
#define BUFFER_DEFAULT (UINT64_C(256) << 20)
#define BUFFER_MIN (UINT64_C(512) << 10) /* two blocks */
#define BUFFER_MAX INT32_MAX
#define SNAP_MIN 64
#define MAPS_LINE 512
#define LINE_BYTES 64 /* of the cache */
/* around the begin of a packet's data: what the kernel and the packet's headers say */
#define HEAD_BEHIND 96
#define HEAD_BEFORE 64
#define STEP_MAX (128 << 10)

struct live {
	pcap_t *pcap;
	struct interface interface;
	struct bpf_program program; /* of the filter */
	struct packet_finder_config finder_config;
	struct packet_finder *finder;
	struct datagrams_config datagrams_config;
	struct payloads *payloads;
	uint64_t buffer_bytes, snap_bytes; /* asked for */
	int64_t wanted_start_utc_ns;
	int64_t from_utc_ns; /* packets before this moment are not of the stream; 0 = that is over */
	int64_t started_ns; /* it is over soon behind this, also when the clock is stepped back meanwhile */
	int64_t came_ns;         /* when something came last */
	int64_t pause_ns;        /* behind that */
	bool is_pausing;         /* it is due */
	const u_char *last_data; /* of a packet; only to be subtracted from */
	bool is_stopped, has_ended;
	bool is_gone; /* the interface: an error, once all is out that came before */
};

/* ---- details --------------------------------------------------------------------------------- */

static int take_size(struct source *source, const struct source_detail *detail, uint64_t least,
		     uint64_t most, uint64_t *bytes)
{
	int ret = source_detail_bytes(source, detail, bytes);

	if (ret == 0 && (*bytes < least || *bytes > most))
		ret = source_fail(source, ERANGE, "%s=%s: expected %" PRIu64 " to %" PRIu64 " bytes",
				  detail->key, detail->value, least, most);
	return ret;
}

static int take_detail(struct source *source, const struct source_detail *detail, struct live *live)
{
	bool is_done;
	int ret = datagrams_detail(source, detail, &live->datagrams_config, &is_done);

	if (!is_done)
		ret = interface_detail(source, detail, &live->interface, &is_done);
	if (is_done)
		return ret;
	if (strcmp(detail->key, "port") == 0)
		return source_detail_port(source, detail, &live->finder_config.port);
	if (strcmp(detail->key, "buffer") == 0)
		return take_size(source, detail, BUFFER_MIN, BUFFER_MAX, &live->buffer_bytes);
	return take_size(source, detail, SNAP_MIN, INTERFACE_SNAP_BYTES, &live->snap_bytes);
}

static int take_details(struct source *source, struct live *live)
{
	char buf[SOURCE_DETAIL_LEN];
	struct source_detail detail;
	const char *cursor = NULL;
	int ret = 0;

	live->buffer_bytes = BUFFER_DEFAULT;
	live->snap_bytes = INTERFACE_SNAP_BYTES;
	while (!ret && source_next_detail(source, &cursor, buf, sizeof(buf), &detail))
		ret = take_detail(source, &detail, live);
	return ret;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The link type: cooked headers of the kind that says the interface, where all are listened to. */
static int choose_link(struct source *source, struct live *live)
{
	int link_type = pcap_datalink(live->pcap);

	if (link_type == DLT_LINUX_SLL && pcap_set_datalink(live->pcap, DLT_LINUX_SLL2) == 0)
		link_type = DLT_LINUX_SLL2;
	live->finder_config.link_type = link_type;
	if (packet_knows_link(link_type))
		return 0;
	return source_fail(source, EPFNOSUPPORT,
			   "its packets are of kind %s, in which no UDP datagrams are known",
			   pcap_datalink_val_to_name(link_type));
}

/* Until the stream is wanted nothing is let in; as libpcap's own filter, for it will be replaced. */
static int let_nothing_in(struct source *source, struct live *live)
{
	struct bpf_insn reject = { .code = BPF_RET | BPF_K, .k = 0 };
	struct bpf_program program = { .bf_len = 1, .bf_insns = &reject };

	if (pcap_setfilter(live->pcap, &program) == 0)
		return 0;
	return source_fail(source, EIO, "cannot set a filter: %s", pcap_geterr(live->pcap));
}

static int open_capture(struct source *source, struct live *live)
{
	char error[PCAP_ERRBUF_SIZE];
	int ret;

	live->pcap = pcap_create(source->path, error);
	if (!live->pcap)
		return source_fail(source, ENODEV, "cannot open: %s", error);
	pcap_set_snaplen(live->pcap, (int)live->snap_bytes);
	pcap_set_buffer_size(live->pcap, (int)live->buffer_bytes);
	pcap_set_timeout(live->pcap, RETIRE_MS);
	pcap_set_tstamp_precision(live->pcap, PCAP_TSTAMP_PRECISION_NANO);
	pcap_set_promisc(live->pcap, live->interface.is_promiscuous);
	ret = interface_activate(source, live->pcap);
	if (ret == 0)
		ret = choose_link(source, live);
	if (ret == 0)
		ret = let_nothing_in(source, live);
	if (ret == 0)
		ret = interface_compile(source, &live->interface, live->pcap, &live->program);
	if (ret == 0 && pcap_setnonblock(live->pcap, 1, error) < 0)
		ret = source_fail(source, EIO, "cannot be read without waiting: %s", error);
	if (ret == 0)
		interface_take_once(source, pcap_fileno(live->pcap));
	return ret;
}

/* libpcap takes less than it was asked for without a word: the kernel says what is mapped. Return: 0 = not known. */
static uint64_t granted_bytes(const struct live *live)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[MAPS_LINE];
	struct stat stat;
	uint64_t sum = 0;

	if (maps && fstat(pcap_fileno(live->pcap), &stat) == 0) {
		uint64_t begin, end, inode;

		while (fgets(line, sizeof(line), maps))
			if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %" SCNu64, &begin,
				   &end, &inode) == 3 &&
			    inode == stat.st_ino && strstr(line, "socket:"))
				sum += end - begin;
	}
	if (maps)
		fclose(maps);
	return sum;
}

/* By far less than the buffer holds. */
static int64_t pause_of(uint64_t buffer_bytes)
{
	int64_t ns = (int64_t)(buffer_bytes / PAUSE_FILL_BPNS);

	return ns < PAUSE_NS_MAX ? ns : PAUSE_NS_MAX;
}

static int live_open(struct source *source, const struct source_config *config)
{
	struct live *live = calloc(1, sizeof(*live));
	uint64_t granted;
	int ret;

	if (!live)
		return source_fail(source, ENOMEM, "out of memory");
	source->state = live;
	ret = take_details(source, live);
	if (ret == 0 && strcmp(source->path, "any") != 0)
		ret = interface_find(source, &live->interface);
	if (ret == 0)
		ret = open_capture(source, live);
	if (ret < 0)
		return ret;
	if (packet_finder_create(&live->finder, &live->finder_config) < 0 ||
	    payloads_create(&live->payloads, &live->datagrams_config, &source->stats.packets) < 0)
		return source_fail(source, ENOMEM, "out of memory");
	live->wanted_start_utc_ns = config->start_utc_ns;
	source->rate_bps = config->rate_bps;
	source->frame_bytes = live->datagrams_config.frame_bytes;
	source->has_packets = true;
	source->gives_vdif_fill = datagrams_give_fill(&live->datagrams_config);
	source->has_capture = true;
	granted = granted_bytes(live);
	live->pause_ns = pause_of(granted);
	/* relaxed: nobody else looks yet */
	atomic_store_explicit(&source->stats.packets.buffer_bytes, granted, memory_order_relaxed);
	return 0;
}

static void live_close(struct source *source)
{
	struct live *live = source->state;

	payloads_free(live->payloads);
	packet_finder_free(live->finder);
	pcap_freecode(&live->program);
	if (live->pcap)
		pcap_close(live->pcap);
	free(live);
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void tell_buffer(struct source *source, const struct live *live)
{
	/* relaxed: our own */
	uint64_t granted =
		atomic_load_explicit(&source->stats.packets.buffer_bytes, memory_order_relaxed);
	char got[UNITS_TEXT_LEN], asked[UNITS_TEXT_LEN];

	units_format_size(got, granted);
	units_format_size(asked, live->buffer_bytes);
	if (granted == 0)
		source_note(source, "listening");
	else if (granted + granted / 8 < live->buffer_bytes)
		source_note(source, "listening with a buffer of %s: the kernel had no %s", got, asked);
	else
		source_note(source, "listening with a buffer of %s", got);
}

static int live_start(struct source *source)
{
	struct live *live = source->state;
	int ret = pace_start(source, live->wanted_start_utc_ns);

	if (ret < 0)
		return ret;
	live->from_utc_ns = units_realtime_ns();
	live->started_ns = units_monotonic_ns();
	if (pcap_setfilter(live->pcap, &live->program) < 0)
		return source_fail(source, EIO, "filter \"%s\": %s", live->interface.filter,
				   pcap_geterr(live->pcap));
	tell_buffer(source, live);
	return 0;
}

/*
 * Nothing more comes in, and what did is handed out by the kernel. Behind libpcap's back: with its
 * own call it would also throw away what is in the buffer already.
 */
static void shut_out(struct live *live)
{
	static const _Atomic bool never = false;
	struct sock_filter reject = { .code = BPF_RET | BPF_K, .k = 0 };
	const struct sock_fprog program = { .len = 1, .filter = &reject };

	setsockopt(pcap_fileno(live->pcap), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	pace_sleep_until(units_monotonic_ns() + LAST_NS, &never);
	live->is_stopped = true;
}

static void live_stop(struct source *source)
{
	struct live *live = source->state;

	if (!live->is_stopped)
		shut_out(live);
}

/* ---- packets --------------------------------------------------------------------------------- */

/*
 * Packets of one length lie at equal distances in the kernel's ring, and the kernel has filled it on another CPU: the next
 * one's headers are on their way here while this one is copied. Wherever that is, it is only a hint.
 */
static void expect_next(struct live *live, const u_char *data)
{
	uintptr_t here = (uintptr_t)data, step = here - (uintptr_t)live->last_data;

	live->last_data = data;
	if (step == 0 || step > STEP_MAX)
		return;
	for (const u_char *at = data + step - HEAD_BEHIND; at < data + step + HEAD_BEFORE;
	     at += LINE_BYTES)
		__builtin_prefetch(at);
}

static void take_packet(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
	struct live *live = (struct live *)(void *)user;
	const struct packet packet = {
		.data = data,
		.caplen = header->caplen,
		.len = header->len,
		/* nanoseconds, as they were asked for */
		.utc_ns = (int64_t)header->ts.tv_sec * UNITS_NS_PER_S + header->ts.tv_usec,
	};
	struct packet_udp udp;

	expect_next(live, data);
	if (packet.utc_ns < live->from_utc_ns)
		return;
	live->from_utc_ns = 0;
	if (packet_find(live->finder, &packet, &udp) == PACKET_DATAGRAM &&
	    !payloads_take(live->payloads, &udp, packet.utc_ns))
		pcap_breakloop(live->pcap);
}

/* pcap_stats() would count with 32 bits, and open files of the interface each time. */
static void look_at_drops(struct live *live)
{
	uint64_t count = interface_dropped(pcap_fileno(live->pcap));

	if (count)
		payloads_dropped(live->payloads, count, units_realtime_ns());
}

static int end(struct source *source, struct live *live)
{
	if (!live->has_ended) {
		packet_finder_end(live->finder);
		payloads_end(live->payloads);
		live->has_ended = true;
		return AGAIN; /* there may be something ready */
	}
	return live->is_gone ? source_fail(source, ENODEV, "the interface is gone") : SOURCE_END;
}

/* Return: AGAIN; -errno. */
static int look(struct source *source, struct live *live)
{
	int ret = interface_look(source, &live->interface, pcap_fileno(live->pcap));

	if (ret != -ENODEV)
		return ret < 0 ? ret : AGAIN;
	live->is_gone = true;
	shut_out(live);
	return AGAIN;
}

/* Nothing is there. Return: AGAIN, or what source_read() returns. */
static int wait_for_more(struct source *source, struct live *live, int64_t deadline_ns)
{
	int64_t now = units_monotonic_ns(), until_ns = deadline_ns;
	bool is_waiting = payloads_are_waiting(live->payloads);
	int events;

	if (live->is_stopped)
		return end(source, live);
	if (is_waiting && now - live->came_ns >= DATAGRAMS_HOLD_NS) {
		payloads_give_up(live->payloads);
		return AGAIN;
	}
	if (now >= deadline_ns || source_is_interrupted(source)) {
		int ret = look(source, live);

		return ret == AGAIN && !live->is_stopped ? SOURCE_NOT_YET : ret;
	}
	if (is_waiting && until_ns > live->came_ns + DATAGRAMS_HOLD_NS)
		until_ns = live->came_ns + DATAGRAMS_HOLD_NS;
	if (live->is_pausing) {
		live->is_pausing = false;
		if (until_ns > now + live->pause_ns)
			until_ns = now + live->pause_ns;
		pace_sleep_until(until_ns, &source->is_interrupted);
		return AGAIN;
	}
	source_count(&source->stats.wait_count, 1);
	events = pace_poll(pcap_fileno(live->pcap), until_ns, &source->is_interrupted);
	if (events < 0)
		return source_fail(source, -events, "cannot wait: %s", strerror(-events));
	return events & POLLERR ? look(source, live) : AGAIN;
}

/* Return: AGAIN, or what source_read() returns. */
static int take_packets(struct source *source, struct live *live, int64_t deadline_ns)
{
	int count = live->has_ended ?
			    0 :
			    pcap_dispatch(live->pcap, TURN_PACKETS, take_packet, (u_char *)live);

	if (count == 0)
		return wait_for_more(source, live, deadline_ns);
	if (count < 0 && count != PCAP_ERROR_BREAK) {
		int ret = live->is_gone ? AGAIN : look(source, live);

		if (ret != AGAIN || live->is_stopped)
			return ret == AGAIN ? end(source, live) : ret;
		return source_fail(source, EIO, "cannot receive: %s", pcap_geterr(live->pcap));
	}
	live->came_ns = units_monotonic_ns();
	live->is_pausing = true;
	if (live->came_ns > live->started_ns + LAST_NS)
		live->from_utc_ns = 0;
	/* what comes may all be of no interest */
	return live->is_stopped || live->came_ns < deadline_ns ? AGAIN : SOURCE_NOT_YET;
}

static ssize_t live_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			 struct source_mark *mark)
{
	struct live *live = source->state;
	struct packet_counts counts;
	ssize_t got = AGAIN;
	size_t used;

	look_at_drops(live);
	payloads_begin(live->payloads, buf, len, mark);
	while ((used = payloads_bytes(live->payloads)) == 0 && got == AGAIN)
		got = take_packets(source, live, deadline_ns);
	if (used > 0)
		got = (ssize_t)used;
	payloads_tell(live->payloads, source, got != SOURCE_NOT_YET);
	packet_finder_counts(live->finder, &counts);
	source_tell_capture(source, &counts);
	return got;
}

static void live_fill(struct source *source, void *buf, size_t len)
{
	struct live *live = source->state;

	payloads_fill(live->payloads, buf, len);
}

const struct source_ops source_pcap = {
	.prefix = "pcap:",
	.summary = "pcap:INTERFACE[,filter=..,psn=..,frame=..]  datagrams captured there; --layout pcap: whole packets",
	.keys = "port buffer snaplen " INTERFACE_KEYS " " DATAGRAMS_KEYS,
	.takes_path = true,
	.open = live_open,
	.start = live_start,
	.read = live_read,
	.fill = live_fill,
	.stop = live_stop,
	.close = live_close,
};
