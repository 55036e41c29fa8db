/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp.c - `udp:[ADDR]:PORT`, datagrams of instruments
 *
 *   psn= frame= window= from=    datagrams.h
 *   iface=NAME     listen, or join the group, on this interface
 *   rcvbuf=256Mi   buffer asked of the kernel, for each port
 *
 * Many datagrams come with each call, their payloads straight into the caller's memory, where they stay as long as
 * they are in order; the number in front goes elsewhere. When one is not in order, what came behind it in the
 * same call is moved out of the way (the backlog) and offered again one by one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "drivers/datagrams.h"
#include "drivers/pace.h"
#include "drivers/source.h"
#include "drivers/udp_socket.h"
#include "drivers/units.h"

#define BATCH 64 /* datagrams a call */
#define AGAIN 1  /* besides what source_read() returns: look again */
#define PREFIX_MAX 8
#define RCVBUF_DEFAULT (UINT64_C(256) << 20)
#define RCVBUF_MAX (UINT64_C(1) << 30) /* the kernel counts twice as much in an int */
/*
 * When all were emptied they aren't looked at again at once: so one call gets more, and a processor is woken less often.
 * A buffer must not fill meanwhile: at the rate at which it fills now that would take REST_SHARE rests; half of what
 * is granted may be the kernel's own part of each datagram. A rest that is too short to gain anything isn't taken.
 */
#define REST_MOST_NS INT64_C(4000000)
#define REST_LEAST_NS INT64_C(200000)
#define REST_SHARE 8

struct udp_socket {
	int fd;
	uint32_t dropped; /* its counter, as the last datagram told it */
	uint32_t dropped_at_stop;
};

/* What recvmmsg() says of one. */
struct arrival {
	size_t bytes; /* as it was sent */
	uint32_t dropped;
	struct datagram_sender sender;
};

struct udp {
	struct udp_address address;
	struct datagrams_config config;
	struct datagrams *datagrams;
	uint64_t rcvbuf_bytes;
	uint64_t granted_bytes;
	int64_t wanted_start_utc_ns;
	struct udp_socket sockets[UDP_PORT_MAX];
	unsigned socket_count;
	unsigned turn;          /* the socket that was read last */
	unsigned emptied_count; /* of sockets running that had less than was asked for */
	int epoll;
	int64_t came_ns; /* when something came last */
	int64_t rest_until_ns;
	int64_t rested_ns; /* since when came_bytes are counted; 0 = not yet */
	uint64_t came_bytes;
	bool is_stopped, has_ended;
	bool has_told_stray, has_told_drops, has_told_restart;
	bool has_stray;
	struct arrival stray; /* the first one */

	struct mmsghdr messages[BATCH];
	struct iovec pieces[BATCH][2];
	struct sockaddr_storage names[BATCH];
	union {
		char bytes[CMSG_SPACE(sizeof(uint32_t))];
		struct cmsghdr align;
	} controls[BATCH];
	unsigned char prefixes[BATCH][PREFIX_MAX];
	struct arrival arrivals[BATCH];
	unsigned char *backlog;                /* BATCH datagrams, each with room for the longest */
	unsigned backlog_first, backlog_count; /* of arrivals */
};

/* ---- opening --------------------------------------------------------------------------------- */

static int take_rcvbuf(struct source *source, const struct source_detail *detail, struct udp *udp)
{
	int ret = source_detail_bytes(source, detail, &udp->rcvbuf_bytes);

	if (!ret && udp->rcvbuf_bytes > RCVBUF_MAX)
		ret = source_fail(source, ERANGE, "rcvbuf=%s: no kernel gives more than 1 GiB",
				  detail->value);
	return ret;
}

static int take_details(struct source *source, struct udp *udp)
{
	char buf[SOURCE_DETAIL_LEN];
	struct source_detail detail;
	const char *cursor = NULL;
	bool is_done;
	int ret = 0;

	while (!ret && source_next_detail(source, &cursor, buf, sizeof(buf), &detail)) {
		ret = datagrams_detail(source, &detail, &udp->config, &is_done);
		if (is_done)
			continue;
		if (strcmp(detail.key, "iface") == 0)
			ret = udp_interface_read(source, detail.value, &udp->address);
		else
			ret = take_rcvbuf(source, &detail, udp);
	}
	return ret;
}

static int open_sockets(struct source *source, struct udp *udp)
{
	udp->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (udp->epoll < 0)
		return source_fail(source, errno, "cannot wait for sockets: %s", strerror(errno));
	udp->granted_bytes = UINT64_MAX;
	for (unsigned i = 0; i < udp->address.port_count; i++) {
		struct epoll_event event = { .events = EPOLLIN };
		int fd = udp_socket_open(source, &udp->address, udp->address.ports[i],
					 udp->rcvbuf_bytes);
		uint64_t granted;

		if (fd < 0)
			return fd;
		udp->sockets[udp->socket_count++].fd = fd;
		if (epoll_ctl(udp->epoll, EPOLL_CTL_ADD, fd, &event))
			return source_fail(source, errno, "cannot wait for a socket: %s",
					   strerror(errno));
		granted = udp_socket_rcvbuf(fd);
		if (granted < udp->granted_bytes)
			udp->granted_bytes = granted;
	}
	return 0;
}

static void judge_rcvbuf(struct source *source, const struct udp *udp)
{
	char granted[UNITS_TEXT_LEN], asked[UNITS_TEXT_LEN];

	units_format_size(granted, udp->granted_bytes);
	units_format_size(asked, udp->rcvbuf_bytes);
	if (udp->granted_bytes >= udp->rcvbuf_bytes - udp->rcvbuf_bytes / 8)
		return;
	source_note(source,
		    "the kernel gave a receive buffer of %s instead of %s; as root: sysctl -w net.core.rmem_max=%" PRIu64,
		    granted, asked, udp->rcvbuf_bytes);
}

static int udp_open(struct source *source, const struct source_config *config)
{
	struct udp *udp = calloc(1, sizeof(*udp));
	int ret;

	if (!udp)
		return source_fail(source, ENOMEM, "out of memory");
	udp->epoll = -1;
	udp->rcvbuf_bytes = RCVBUF_DEFAULT;
	source->state = udp;
	ret = udp_address_read(source, &udp->address);
	if (!ret)
		ret = take_details(source, udp);
	if (!ret)
		ret = open_sockets(source, udp);
	if (ret)
		return ret;
	udp->config.port_count = udp->socket_count;
	udp->backlog = malloc((size_t)BATCH * DATAGRAMS_BYTES_MAX);
	if (!udp->backlog || datagrams_create(&udp->datagrams, &udp->config, &source->stats.packets))
		return source_fail(source, ENOMEM, "out of memory");
	judge_rcvbuf(source, udp);
	atomic_store_explicit(&source->stats.packets.buffer_bytes, udp->granted_bytes,
			      memory_order_relaxed);
	udp->wanted_start_utc_ns = config->start_utc_ns;
	source->rate_bps = config->rate_bps;
	source->frame_bytes = udp->config.frame_bytes;
	source->has_packets = true;
	source->gives_vdif_fill = datagrams_give_fill(&udp->config);
	return 0;
}

static void udp_close(struct source *source)
{
	struct udp *udp = source->state;

	for (unsigned i = 0; i < udp->socket_count; i++)
		close(udp->sockets[i].fd);
	if (udp->epoll >= 0)
		close(udp->epoll);
	datagrams_free(udp->datagrams);
	free(udp->backlog);
	free(udp);
}

static int udp_start(struct source *source)
{
	struct udp *udp = source->state;
	int ret = pace_start(source, udp->wanted_start_utc_ns);

	if (ret)
		return ret;
	for (unsigned i = 0; i < udp->socket_count; i++) {
		ret = udp_socket_let_in(udp->sockets[i].fd);
		if (ret)
			return source_fail(source, -ret, "cannot let datagrams in: %s", strerror(-ret));
		/* what was not let in is counted there, too */
		udp->sockets[i].dropped = udp_socket_dropped(udp->sockets[i].fd);
	}
	return 0;
}

static void udp_stop(struct source *source)
{
	struct udp *udp = source->state;

	for (unsigned i = 0; i < udp->socket_count; i++) {
		udp->sockets[i].dropped_at_stop = udp_socket_dropped(udp->sockets[i].fd);
		udp_socket_shut_out(udp->sockets[i].fd);
	}
	udp->is_stopped = true;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void prepare(struct udp *udp, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		udp->messages[i].msg_hdr = (struct msghdr){
			.msg_iov = udp->pieces[i],
			.msg_iovlen = 1,
			.msg_control = udp->controls[i].bytes,
			.msg_controllen = sizeof(udp->controls[i].bytes),
			.msg_name = &udp->names[i],
			.msg_namelen = sizeof(udp->names[i]),
		};
	}
}

/* Payloads to @buf, one behind the other. */
static void aim_at(struct udp *udp, unsigned char *buf, unsigned count)
{
	size_t prefix_bytes = datagrams_prefix_bytes(udp->datagrams);
	size_t frame_bytes = datagrams_frame_bytes(udp->datagrams);

	prepare(udp, count);
	for (unsigned i = 0; i < count; i++) {
		struct iovec *piece = udp->pieces[i];

		if (prefix_bytes > 0)
			*piece++ = (struct iovec){ udp->prefixes[i], prefix_bytes };
		*piece = (struct iovec){ buf + i * frame_bytes, frame_bytes };
		udp->messages[i].msg_hdr.msg_iovlen = prefix_bytes > 0 ? 2 : 1;
	}
}

static unsigned char *backlog_at(const struct udp *udp, unsigned i)
{
	return udp->backlog + (size_t)i * DATAGRAMS_BYTES_MAX;
}

/* One whole datagram to the backlog. */
static void aim_at_backlog(struct udp *udp)
{
	prepare(udp, 1);
	udp->pieces[0][0] = (struct iovec){ backlog_at(udp, 0), DATAGRAMS_BYTES_MAX };
}

/* The counter comes with a datagram only when there is something to tell. */
static uint32_t dropped_of(struct msghdr *header, uint32_t before)
{
	struct cmsghdr *item;

	if (header->msg_controllen == 0)
		return before;
	for (item = CMSG_FIRSTHDR(header); item; item = CMSG_NXTHDR(header, item))
		if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SO_RXQ_OVFL)
			memcpy(&before, CMSG_DATA(item), sizeof(before));
	return before;
}

static void read_arrivals(struct udp *udp, unsigned count)
{
	uint32_t dropped = udp->sockets[udp->turn].dropped;

	for (unsigned i = 0; i < count; i++) {
		dropped = dropped_of(&udp->messages[i].msg_hdr, dropped);
		udp->arrivals[i].bytes = udp->messages[i].msg_len;
		udp->arrivals[i].dropped = dropped;
		udp->arrivals[i].sender = udp_sender_of(&udp->names[i]);
	}
}

/* What a network that goes away for a while leaves in a socket; more may come when it is back. */
static bool is_passing(int error)
{
	return error == EAGAIN || error == EINTR || error == ENOBUFS || error == ENOMEM ||
	       error == ECONNREFUSED || error == ENETDOWN || error == ENETUNREACH ||
	       error == EHOSTUNREACH || error == EHOSTDOWN;
}

/*
 * From the next socket that has something.
 * Return: how many; 0 = none has anything; -errno.
 */
static int receive(struct source *source, struct udp *udp, unsigned count)
{
	for (unsigned i = 0; i < udp->socket_count; i++) {
		int got;

		udp->turn = (udp->turn + 1) % udp->socket_count;
		/* MSG_TRUNC: the length as it was sent */
		got = recvmmsg(udp->sockets[udp->turn].fd, udp->messages, count,
			       MSG_DONTWAIT | MSG_TRUNC, NULL);
		if (got > 0) {
			read_arrivals(udp, (unsigned)got);
			return got;
		}
		if (got < 0 && !is_passing(errno))
			return source_fail(source, errno, "cannot receive: %s", strerror(errno));
	}
	return 0;
}

/* ---- sorting --------------------------------------------------------------------------------- */

/*
 * What a socket has dropped so far, as a datagram or the kernel tells it. The counter goes back where less is told than
 * is known already: by a datagram that was let in while another one was still shut out, and by the last look when
 * one came behind it.
 */
static void take_dropped(struct source *source, struct udp *udp, unsigned port, uint32_t counter)
{
	struct udp_socket *from = &udp->sockets[port];
	int32_t dropped = (int32_t)(counter - from->dropped);

	if (dropped <= 0)
		return;
	from->dropped = counter;
	source_count(&source->stats.packets.dropped_count, (uint64_t)dropped);
	datagrams_lost(udp->datagrams, port, (uint64_t)dropped);
}

static enum datagram_step take(struct source *source, struct udp *udp, unsigned i,
			       struct datagram *datagram, bool may_pass)
{
	const struct arrival *arrival = &udp->arrivals[i];
	enum datagram_step step;

	datagram->bytes = arrival->bytes;
	datagram->port = udp->turn;
	datagram->sender = &arrival->sender;
	take_dropped(source, udp, udp->turn, arrival->dropped);
	step = datagrams_take(udp->datagrams, datagram, may_pass);
	if (step == DATAGRAM_STRAY && !udp->has_stray) {
		udp->has_stray = true;
		udp->stray = *arrival;
	}
	return step;
}

/* Those from @first on, which lie in the caller's memory, are offered again later. */
static void put_back(struct udp *udp, const unsigned char *buf, unsigned first, unsigned count)
{
	size_t prefix_bytes = datagrams_prefix_bytes(udp->datagrams);
	size_t frame_bytes = datagrams_frame_bytes(udp->datagrams);

	for (unsigned i = first; i < count; i++) {
		memcpy(backlog_at(udp, i), udp->prefixes[i], prefix_bytes);
		memcpy(backlog_at(udp, i) + prefix_bytes, buf + i * frame_bytes, frame_bytes);
	}
	udp->backlog_first = first;
	udp->backlog_count = count;
}

/* Those that were received in place. Return: bytes that may stay there. */
static size_t sort_in_place(struct source *source, struct udp *udp, unsigned char *buf, unsigned count)
{
	size_t frame_bytes = datagrams_frame_bytes(udp->datagrams), used = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned char *at = buf + i * frame_bytes;
		struct datagram datagram = { .prefix = udp->prefixes[i], .payload = at };

		if (take(source, udp, i, &datagram, true) == DATAGRAM_PASSED) {
			if (at != buf + used)
				memmove(buf + used, at, frame_bytes);
			used += frame_bytes;
		}
		if (datagrams_has_ready(udp->datagrams)) {
			put_back(udp, buf, i + 1, count);
			break;
		}
	}
	return used;
}

/* Return: bytes; ends when something is ready, or the backlog is over, or @buf is full. */
static size_t sort_backlog(struct source *source, struct udp *udp, unsigned char *buf, size_t len)
{
	size_t used = 0;

	while (udp->backlog_first < udp->backlog_count && !datagrams_has_ready(udp->datagrams)) {
		size_t frame_bytes = datagrams_frame_bytes(udp->datagrams);
		bool has_room = frame_bytes > 0 && len - used >= frame_bytes;
		unsigned i = udp->backlog_first;
		struct datagram datagram = { 0 };

		if (used > 0 && !has_room)
			break;
		udp->backlog_first++;
		datagram_split(udp->datagrams, &datagram, backlog_at(udp, i));
		if (take(source, udp, i, &datagram, has_room) == DATAGRAM_PASSED) {
			memcpy(buf + used, datagram.payload, frame_bytes);
			used += frame_bytes;
		}
	}
	return used;
}

/* By how fast they came since the last rest. */
static void plan_rest(struct udp *udp)
{
	int64_t took_ns = udp->came_ns - udp->rested_ns, rest_ns = REST_MOST_NS;
	double full_ns;

	if (udp->rested_ns && udp->came_bytes) {
		full_ns = (double)udp->granted_bytes * (double)took_ns / (double)udp->came_bytes;
		if (full_ns < (double)REST_MOST_NS * REST_SHARE)
			rest_ns = (int64_t)(full_ns / REST_SHARE);
		if (rest_ns >= REST_LEAST_NS)
			udp->rest_until_ns = udp->came_ns + rest_ns;
	}
	udp->emptied_count = 0;
	udp->rested_ns = udp->came_ns;
	udp->came_bytes = 0;
}

/*
 * One call of the kernel. Return: 1: something came, and *@used bytes of it are in order in @buf; 0: nothing;
 * -errno.
 */
static int take_batch(struct source *source, struct udp *udp, unsigned char *buf, size_t len,
		      size_t *used)
{
	size_t frame_bytes = datagrams_frame_bytes(udp->datagrams);
	bool is_in_place = frame_bytes > 0 && len >= frame_bytes;
	size_t count = is_in_place ? len / frame_bytes : 1;
	int got;

	if (count > BATCH)
		count = BATCH;
	if (is_in_place)
		aim_at(udp, buf, (unsigned)count);
	else
		aim_at_backlog(udp);
	got = receive(source, udp, (unsigned)count);
	if (got <= 0)
		return got;
	udp->came_ns = units_monotonic_ns();
	udp->came_bytes += (uint64_t)got * frame_bytes;
	udp->emptied_count = (size_t)got < count ? udp->emptied_count + 1 : 0;
	if (udp->emptied_count >= udp->socket_count)
		plan_rest(udp);
	if (is_in_place) {
		*used = sort_in_place(source, udp, buf, (unsigned)got);
		return 1;
	}
	udp->backlog_first = 0;
	udp->backlog_count = (unsigned)got;
	return 1;
}

/* ---- waiting and ending ---------------------------------------------------------------------- */

/* Drops that no datagram came behind. */
static void count_last_drops(struct source *source, struct udp *udp)
{
	for (unsigned i = 0; i < udp->socket_count; i++)
		take_dropped(source, udp, i, udp->sockets[i].dropped_at_stop);
}

/* Nothing is there. Return: AGAIN, or what source_read() returns. */
static int wait_for_more(struct source *source, struct udp *udp, int64_t deadline_ns)
{
	int64_t now = units_monotonic_ns(), until = deadline_ns;
	bool is_waiting = datagrams_is_waiting(udp->datagrams);
	int events;

	if (udp->is_stopped) {
		if (udp->has_ended)
			return SOURCE_END;
		count_last_drops(source, udp);
		datagrams_end(udp->datagrams);
		udp->has_ended = true;
		return datagrams_has_ready(udp->datagrams) ? AGAIN : SOURCE_END;
	}
	if (is_waiting && now - udp->came_ns >= DATAGRAMS_HOLD_NS) {
		datagrams_give_up(udp->datagrams);
		return AGAIN;
	}
	if (now >= deadline_ns || source_is_interrupted(source))
		return SOURCE_NOT_YET;
	if (is_waiting && until > udp->came_ns + DATAGRAMS_HOLD_NS)
		until = udp->came_ns + DATAGRAMS_HOLD_NS;
	source_count(&source->stats.wait_count, 1);
	events = pace_poll(udp->epoll, until, &source->is_interrupted);
	return events < 0 ? source_fail(source, -events, "cannot wait: %s", strerror(-events)) : AGAIN;
}

static void rest(const struct source *source, struct udp *udp, int64_t deadline_ns)
{
	int64_t until = udp->rest_until_ns < deadline_ns ? udp->rest_until_ns : deadline_ns;

	udp->rest_until_ns = 0;
	if (until > units_monotonic_ns() && !udp->is_stopped)
		pace_sleep_until(until, &source->is_interrupted);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void tell_stray(struct source *source, struct udp *udp)
{
	const struct arrival *stray = &udp->stray;
	char name[INET6_ADDRSTRLEN] = "anywhere";

	udp->has_told_stray = true;
	if (stray->sender.len)
		inet_ntop(stray->sender.len == 4 ? AF_INET : AF_INET6, stray->sender.bytes, name,
			  sizeof(name));
	source_note(source,
		    "a datagram of %zu bytes from %s is not of the stream (psn=%s,frame=%zu): skipped, as others like it will be",
		    stray->bytes, name, psn_name(datagrams_psn(udp->datagrams)),
		    datagrams_frame_bytes(udp->datagrams));
}

/* What happened for the first time. */
static void tell_words(struct source *source, struct udp *udp)
{
	struct source_packets *packets = &source->stats.packets;
	uint64_t dropped = atomic_load_explicit(&packets->dropped_count, memory_order_relaxed);

	datagrams_note(udp->datagrams, source);
	if (udp->has_stray && !udp->has_told_stray)
		tell_stray(source, udp);
	if (!udp->has_told_drops && dropped) {
		udp->has_told_drops = true;
		source_note(source,
			    "the kernel dropped %" PRIu64
			    " datagrams, because its receive buffer was full; see rcvbuf=",
			    dropped);
	}
	if (!udp->has_told_restart &&
	    atomic_load_explicit(&packets->restart_count, memory_order_relaxed)) {
		udp->has_told_restart = true;
		source_note(source, "the sender's numbers began anew");
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Return: bytes, AGAIN, or what source_read() returns. */
static ssize_t read_some(struct source *source, struct udp *udp, unsigned char *buf, size_t len,
			 int64_t deadline_ns, size_t *used)
{
	int ret;

	if (udp->backlog_first < udp->backlog_count) {
		*used = sort_backlog(source, udp, buf, len);
		return AGAIN;
	}
	if (udp->rest_until_ns)
		rest(source, udp, deadline_ns);
	ret = take_batch(source, udp, buf, len, used);
	if (ret < 0)
		return ret;
	if (ret == 0)
		return wait_for_more(source, udp, deadline_ns);
	/* what comes may all be stray; behind the stop it has an end */
	if (*used > 0 || datagrams_has_ready(udp->datagrams) || udp->is_stopped)
		return AGAIN;
	return units_monotonic_ns() < deadline_ns ? AGAIN : SOURCE_NOT_YET;
}

static ssize_t udp_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			struct source_mark *mark)
{
	struct udp *udp = source->state;
	size_t used = 0;
	ssize_t got = AGAIN;

	while (got == AGAIN && used == 0) {
		if (datagrams_has_ready(udp->datagrams))
			used = datagrams_get(udp->datagrams, buf, len, mark);
		else
			got = read_some(source, udp, buf, len, deadline_ns, &used);
	}
	if (used > 0)
		got = (ssize_t)used;
	datagrams_count(udp->datagrams);
	/* of a read without data the mark doesn't count */
	if (got != SOURCE_NOT_YET)
		datagrams_tell(udp->datagrams, mark, used > 0);
	tell_words(source, udp);
	return got;
}

static void udp_fill(struct source *source, void *buf, size_t len)
{
	struct udp *udp = source->state;

	datagrams_fill(udp->datagrams, buf, len);
}

const struct source_ops source_udp = {
	.prefix = "udp:",
	.summary = "udp:[ADDR]:PORT[,psn=..][,frame=..][,window=..][,from=..][,iface=..][,rcvbuf=..]  datagrams, numbered or not",
	.keys = DATAGRAMS_KEYS " iface rcvbuf",
	.takes_path = true,
	.open = udp_open,
	.start = udp_start,
	.read = udp_read,
	.fill = udp_fill,
	.stop = udp_stop,
	.close = udp_close,
};
