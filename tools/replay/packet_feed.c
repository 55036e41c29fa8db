/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/packet_feed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/savefile.h"
#include "drivers/units.h"

#define HOLD_NS \
	INT64_C(100000000) /* a block that isn't full is given to the player after this time */

struct packet_feed {
	struct packet_feed_config config;
	struct savefile *savefile; /* of the first file until the thread runs */
	int fd;
	int link_type;
	struct packet_finder *finder;
	uint64_t whole_count, filtered_count; /* is_whole: packets that were given, and that didn't pass */
	uint64_t empty_count;              /* datagrams without payload: there is nothing to send */
	int64_t first_utc_ns, last_utc_ns; /* of all packets that were read */
	struct packet_counts counts;       /* in the end */

	uint32_t block; /* being filled; RING_NONE */
	size_t used;
	int64_t since_ns;      /* when its first packet came */
	uint64_t block_offset; /* bytes given before it */
	uint64_t offset;       /* bytes given so far */
	uint64_t position;     /* of this turn's packets, those before the start, too */
};

/* ---- files --------------------------------------------------------------------------------------- */

static void close_file(struct packet_feed *own)
{
	savefile_free(own->savefile);
	own->savefile = NULL;
	if (own->fd > STDIN_FILENO)
		close(own->fd);
	own->fd = -1;
}

static int open_file(struct feed *feed, const char *path)
{
	struct packet_feed *own = feed->state;
	int ret;

	own->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (own->fd < 0)
		return feed_fail(feed, -errno, "%s can't be read: %s", path, strerror(errno));
	ret = savefile_create(&own->savefile, own->fd, &feed->is_stopped);
	if (ret == 0)
		ret = savefile_begin(own->savefile, own->config.filter);
	if (ret == 0)
		return 0;
	return feed_fail(feed, ret, "%s: %s", path,
			 own->savefile && savefile_error(own->savefile)[0] ?
				 savefile_error(own->savefile) :
				 strerror(-ret));
}

static int open_next(struct feed *feed, const char *path)
{
	struct packet_feed *own = feed->state;
	int ret = open_file(feed, path);

	if (ret == 0 && savefile_link_type(own->savefile) != own->link_type)
		ret = feed_fail(feed, -EBADMSG,
				"%s has packets of another kind (%s) than the file before it", path,
				savefile_link_name(own->savefile));
	return ret;
}

/* ---- blocks -------------------------------------------------------------------------------------- */

static void hand_over(struct feed *feed, struct packet_feed *own)
{
	if (own->used > 0) {
		feed_put_packets(feed, own->block, own->block_offset, own->used);
		own->block = RING_NONE;
	}
	own->used = 0;
}

/* Return: 0; -EINTR; -EMSGSIZE. */
static int put_packet(struct feed *feed, struct packet_feed *own, const struct block_packet *head,
		      const void *data)
{
	size_t size = block_packet_size(head->bytes);
	char *to;

	if (size > ring_block_bytes(feed->config.ring))
		return feed_fail(feed, -EMSGSIZE,
				 "a packet of %" PRIu32
				 " bytes is longer than a block of the ring: a larger --block",
				 head->bytes);
	if (own->block != RING_NONE && own->used + size > ring_block_bytes(feed->config.ring))
		hand_over(feed, own);
	if (own->block == RING_NONE) {
		own->block = feed_take(feed);
		if (own->block == RING_NONE)
			return -EINTR;
	}
	if (own->used == 0) {
		own->since_ns = units_monotonic_ns();
		own->block_offset = own->offset;
	}
	to = (char *)ring_data(feed->config.ring, own->block) + own->used;
	memcpy(to, head, sizeof(*head));
	memcpy(to + sizeof(*head), data, head->bytes);
	own->used += size;
	return 0;
}

/* ---- packets ------------------------------------------------------------------------------------- */

/* Return: 1 wanted; 0 before the start; -ENODATA behind the stop. */
static int look_at_time(struct packet_feed *own, int64_t utc_ns)
{
	const struct packet_feed_config *config = &own->config;
	int64_t since_ns;

	if (utc_ns == 0)
		return 1;
	if (own->first_utc_ns == 0)
		own->first_utc_ns = utc_ns;
	own->last_utc_ns = utc_ns;
	since_ns = utc_ns - own->first_utc_ns;
	if ((config->stop_utc_ns && utc_ns >= config->stop_utc_ns) ||
	    (config->stop_ns && since_ns >= config->stop_ns))
		return -ENODATA;
	return utc_ns >= config->start_utc_ns && since_ns >= config->start_ns;
}

/* Return: 1; 0 it has been passed over; -ENODATA behind the stop; -errno. */
static int give(struct feed *feed, struct packet_feed *own, const struct block_packet *head,
		const void *data)
{
	bool is_before = own->position < own->config.start_offset;
	int ret;

	if (own->position >= own->config.stop_offset)
		return -ENODATA;
	own->position += head->bytes;
	if (is_before)
		return 0;
	ret = put_packet(feed, own, head, data);
	own->offset += head->bytes;
	return ret < 0 ? ret : 1;
}

static int take_whole(struct feed *feed, struct packet_feed *own, const struct packet *packet)
{
	const struct block_packet head = {
		.utc_ns = packet->utc_ns,
		.bytes = (uint32_t)packet->caplen,
		.wire_bytes = (uint32_t)packet->len,
	};
	int ret;

	if (!savefile_passes(own->savefile)) {
		own->filtered_count++;
		return 0;
	}
	if (packet->caplen == 0) {
		own->empty_count++;
		return 0;
	}
	ret = give(feed, own, &head, packet->data);
	own->whole_count += ret == 1;
	return ret < 0 ? ret : 0;
}

static int take_payload(struct feed *feed, struct packet_feed *own, const struct packet *packet)
{
	struct packet_udp udp;
	struct block_packet head = { .utc_ns = packet->utc_ns };
	int ret;

	if (!savefile_passes(own->savefile)) {
		packet_leave_out(own->finder, packet);
		return 0;
	}
	if (packet_find(own->finder, packet, &udp) != PACKET_DATAGRAM)
		return 0;
	if (udp.len == 0) {
		own->empty_count++;
		return 0;
	}
	head.bytes = head.wire_bytes = (uint32_t)udp.len;
	ret = give(feed, own, &head, udp.payload);
	return ret < 0 ? ret : 0;
}

/* Of a pipe a whole packet is waited for; meanwhile what is there already goes to the player. Return: 1; -errno. */
static int wait_for_packet(struct feed *feed, struct packet_feed *own)
{
	for (;;) {
		int64_t now = units_monotonic_ns();
		int ret = savefile_wait(own->savefile, now + HOLD_NS);

		if (feed_is_stopped(feed))
			return -EINTR;
		if (own->used > 0 && now - own->since_ns >= HOLD_NS)
			hand_over(feed, own);
		if (ret != 0)
			return ret < 0 ? feed_fail(feed, ret, "%s", strerror(-ret)) : 1;
	}
}

static int read_error(struct feed *feed, const struct packet_feed *own, const char *path, int ret)
{
	return feed_fail(
		feed, ret, "%s: %s%s", path, savefile_error(own->savefile),
		savefile_is_cut(own->savefile) ? ": all whole packets before that are played" : "");
}

/* Return: 0; -ENODATA: behind the stop; -errno. */
static int read_file(struct feed *feed, struct packet_feed *own, const char *path)
{
	struct packet packet;
	int ret;

	for (;;) {
		if (feed_is_stopped(feed))
			return -EINTR;
		ret = own->fd == STDIN_FILENO ? wait_for_packet(feed, own) : 1;
		if (ret < 0)
			return ret;
		ret = savefile_next(own->savefile, &packet);
		if (ret == 0)
			return 0;
		if (ret < 0)
			return ret == -EINTR ? ret : read_error(feed, own, path, ret);
		ret = look_at_time(own, packet.utc_ns);
		if (ret == 1)
			ret = own->config.is_whole ? take_whole(feed, own, &packet) :
						     take_payload(feed, own, &packet);
		if (ret < 0)
			return ret;
	}
}

/* ---- the thread ---------------------------------------------------------------------------------- */

static int read_all(struct feed *feed, struct packet_feed *own)
{
	const struct packet_feed_config *config = &own->config;
	int ret = 0;

	for (size_t i = 0; i < config->file_count && ret == 0; i++) {
		if (!own->savefile) /* the first one was opened at once */
			ret = open_next(feed, config->files[i]);
		if (ret == 0)
			ret = read_file(feed, own, config->files[i]);
		close_file(own);
	}
	return ret == -ENODATA ? 0 : ret;
}

static void count(struct packet_feed *own)
{
	packet_finder_end(own->finder);
	packet_finder_counts(own->finder, &own->counts);
	if (!own->config.is_whole)
		return;
	own->counts.packets[PACKET_DATAGRAM] = own->whole_count;
	own->counts.packets[PACKET_FILTERED] = own->filtered_count;
	own->counts.first_utc_ns = own->first_utc_ns;
	own->counts.last_utc_ns = own->last_utc_ns;
}

static int run(struct feed *feed)
{
	struct packet_feed *own = feed->state;
	int ret = 0;

	for (uint64_t loop = 0;
	     ret == 0 && (own->config.loop_count == 0 || loop < own->config.loop_count); loop++) {
		uint64_t before = own->offset;

		hand_over(feed, own);
		if (loop > 0)
			feed_begin_anew(feed);
		own->position = 0;
		own->first_utc_ns = 0;
		ret = read_all(feed, own);
		hand_over(feed, own);
		feed_begin_anew(feed);
		if (own->offset == before) /* nothing in it: again would be nothing, for ever */
			break;
	}
	if (own->block != RING_NONE)
		ring_give_back(feed->config.ring, own->block);
	own->block = RING_NONE;
	count(own);
	if (own->empty_count)
		feed_say(feed, "%" PRIu64 " packets have nothing in them, and are not sent",
			 own->empty_count);
	return ret;
}

static void release(struct feed *feed)
{
	struct packet_feed *own = feed->state;

	if (!own)
		return;
	close_file(own);
	packet_finder_free(own->finder);
	free(own);
}

static const struct feed_ops ops = {
	.run = run,
	.free = release,
};

int packet_feed_create(struct feed **out, const struct feed_config *config,
		       const struct packet_feed_config *packets)
{
	struct packet_finder_config finder = { .port = packets->port };
	struct packet_feed *own;
	int ret = feed_create(out, &ops, config);

	if (ret < 0)
		return ret;
	own = calloc(1, sizeof(*own));
	if (!own)
		return feed_fail(*out, -ENOMEM, "out of memory");
	(*out)->state = own;
	own->config = *packets;
	own->fd = -1;
	own->block = RING_NONE;
	ret = open_file(*out, packets->files[0]);
	if (ret < 0)
		return ret;
	own->link_type = finder.link_type = savefile_link_type(own->savefile);
	if (!packets->is_whole && !packet_knows_link(own->link_type))
		return feed_fail(*out, -EBADMSG,
				 "%s: its packets are of kind %s, in which no UDP datagrams are known",
				 packets->files[0], savefile_link_name(own->savefile));
	if (packet_finder_create(&own->finder, &finder) < 0)
		return feed_fail(*out, -ENOMEM, "out of memory");
	return 0;
}

int packet_feed_link_type(const struct feed *feed)
{
	const struct packet_feed *own = feed->state;

	return own->link_type;
}

void packet_feed_counts(const struct feed *feed, struct packet_counts *counts)
{
	const struct packet_feed *own = feed->state;

	*counts = own->counts;
}
