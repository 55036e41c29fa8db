/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcapfile.c - `pcapfile:PATH`: what the UDP datagrams of a captured file carry, one behind the other
 *
 * At the rate of -r, at the packets' own time stamps (as-recorded), or as fast as it is asked for. What the
 * capture cut short is lost, to the byte where the datagram says its length; so is all behind the place where
 * the file can't be read any more, and nobody knows how much that is.
 */
#include "drivers/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/input.h"
#include "drivers/pace.h"
#include "drivers/packet.h"
#include "drivers/payloads.h"
#include "drivers/savefile.h"
#include "drivers/units.h"

#define READ_MAX \
	((size_t)4 << 20)      /* one call must not hold its caller for long past the deadline */
#define LOOK_ROUND_PACKETS 256 /* that are left out, until the clock is looked at */

struct pcapfile {
	struct pace pace;
	int64_t wanted_start_utc_ns;
	uint16_t port;
	char *filter;
	bool is_as_recorded;
	int fd;
	bool is_ours;    /* opened here, to be closed here */
	bool is_regular; /* read() never waits for a writer */
	struct savefile *savefile;
	struct packet_finder *finder;
	int going;         /* 1; 0: the file has ended; -errno: it can't be read any more */
	uint64_t position; /* in the stream: of the next byte */
	/* the datagram that comes next, or the rest of it */
	struct packet_udp udp;
	const unsigned char *payload;
	size_t payload_left;
	int64_t payload_utc_ns;
	int64_t due_ns;       /* CLOCK_MONOTONIC; not before */
	uint64_t lost_bytes;  /* just before it */
	int64_t first_utc_ns; /* of the first datagram; 0 = none has come */
	/* by their numbers: */
	bool is_in_order;
	struct datagrams_config datagrams_config;
	struct payloads *payloads;
	bool has_ended; /* and payloads know it */
};

/* ---- opening ------------------------------------------------------------------------------------- */

static int take_detail(struct source *source, const struct source_detail *detail)
{
	struct pcapfile *file = source->state;
	bool is_done;
	int ret = datagrams_detail(source, detail, &file->datagrams_config, &is_done);

	if (is_done) {
		file->is_in_order = true;
		return ret;
	}
	if (strcmp(detail->key, "as-recorded") == 0) {
		if (detail->value[0])
			return source_fail(source, EINVAL, "as-recorded has no value");
		file->is_as_recorded = true;
		return 0;
	}
	if (strcmp(detail->key, "filter") == 0) {
		free(file->filter);
		file->filter = strdup(detail->value);
		return file->filter ? 0 : source_fail(source, ENOMEM, "out of memory");
	}
	return source_detail_port(source, detail, &file->port);
}

static int take_details(struct source *source)
{
	char buf[SOURCE_DETAIL_LEN];
	struct source_detail detail;
	const char *cursor = NULL;

	while (source_next_detail(source, &cursor, buf, sizeof(buf), &detail)) {
		int ret = take_detail(source, &detail);

		if (ret)
			return ret;
	}
	return 0;
}

/* Reads the file's header; a pipe is waited for. */
static int begin(struct source *source)
{
	struct pcapfile *file = source->state;
	struct packet_finder_config config = { .port = file->port };
	int ret = savefile_create(&file->savefile, file->fd, &source->is_interrupted);

	if (ret)
		return source_fail(source, -ret, "out of memory");
	ret = savefile_begin(file->savefile, file->filter);
	if (ret == -EBADMSG)
		return source_fail(source, EBADMSG, "cannot be read as a capture: %s",
				   savefile_error(file->savefile));
	if (ret)
		return source_fail(source, -ret, "%s", savefile_error(file->savefile));
	config.link_type = savefile_link_type(file->savefile);
	ret = packet_finder_create(&file->finder, &config);
	return ret ? source_fail(source, -ret, "out of memory") : 0;
}

static int open_input(struct source *source)
{
	struct pcapfile *file = source->state;

	if (strcmp(source->path, "-") == 0)
		return input_open_stdin(source, &file->fd, &file->is_regular);
	file->is_ours = true;
	if (input_is_pipe(source))
		return input_open_pipe(source, &file->fd);
	file->is_regular = true;
	return input_open_file(source, "use pcapfile:- < ", &file->fd);
}

static int begin_order(struct source *source)
{
	struct pcapfile *file = source->state;

	if (payloads_create(&file->payloads, &file->datagrams_config, &source->stats.packets) < 0)
		return source_fail(source, ENOMEM, "out of memory");
	source->has_packets = true;
	source->frame_bytes = file->datagrams_config.frame_bytes;
	return 0;
}

static int pcapfile_open(struct source *source, const struct source_config *config)
{
	struct pcapfile *file = calloc(1, sizeof(*file));
	int ret;

	if (!file)
		return source_fail(source, ENOMEM, "out of memory");
	file->fd = -1;
	file->going = 1;
	file->is_as_recorded = config->is_as_recorded;
	file->wanted_start_utc_ns = config->start_utc_ns;
	pace_init(&file->pace, source);
	file->pace.rate_bps = config->rate_bps;
	source->state = file;
	source->rate_bps = config->rate_bps;
	source->can_wait = true;
	source->has_capture = true;
	source->is_paced_by_us = true;
	ret = take_details(source);
	if (ret == 0 && file->is_in_order)
		ret = begin_order(source);
	if (ret == 0 && file->is_as_recorded && config->rate_bps)
		ret = source_fail(source, EINVAL, "as-recorded and a rate exclude each other");
	if (ret == 0)
		ret = open_input(source);
	if (ret == 0 && file->is_regular)
		ret = begin(source);
	return ret;
}

static void pcapfile_close(struct source *source)
{
	struct pcapfile *file = source->state;

	payloads_free(file->payloads);
	packet_finder_free(file->finder);
	savefile_free(file->savefile);
	if (file->is_ours && file->fd >= 0)
		close(file->fd);
	free(file->filter);
	free(file);
}

static int pcapfile_start(struct source *source)
{
	struct pcapfile *file = source->state;
	int ret = file->savefile ? 0 : begin(source);

	return ret ? ret : pace_begin(&file->pace, source, file->wanted_start_utc_ns);
}

/* ---- the end ------------------------------------------------------------------------------------- */

static uint64_t missing_datagrams(const struct packet_counts *counts)
{
	return counts->packets[PACKET_CUT] + counts->packets[PACKET_BAD_HEADER] +
	       counts->fragments.incomplete_count + counts->fragments.refused_count;
}

static void note_end(struct source *source, const struct packet_counts *counts, const char *why)
{
	const struct pcapfile *file = source->state;
	uint64_t count = packet_count(counts);
	char left_out[PACKET_TEXT_LEN];
	bool has_left_out = packet_tell_left_out(counts, left_out, sizeof(left_out));

	if (why && savefile_is_cut(file->savefile))
		source_note(source,
			    "the file is cut at byte %" PRIu64 ", behind packet %" PRIu64 ": %s",
			    savefile_bytes(file->savefile), count, why);
	else if (why)
		source_note(source, "the file cannot be read any further than packet %" PRIu64 ": %s",
			    count, why);
	if (counts->packets[PACKET_DATAGRAM] == 0)
		source_note(source,
			    "no UDP datagram is in it: %" PRIu64 " packets, link type %s%s%s", count,
			    savefile_link_name(file->savefile), has_left_out ? ": " : "", left_out);
	else if (missing_datagrams(counts))
		source_note(source, "not all datagrams could be taken; left out: %s", left_out);
}

/* @ret: of savefile_next(): 0 or -errno */
static void end(struct source *source, int ret)
{
	struct pcapfile *file = source->state;
	struct packet_counts counts;

	packet_finder_end(file->finder);
	packet_finder_counts(file->finder, &counts);
	note_end(source, &counts, ret ? savefile_error(file->savefile) : NULL);
	if (ret || missing_datagrams(&counts))
		/* relaxed: read when the stream has ended, which is released */
		atomic_store_explicit(&source->is_incomplete, true, memory_order_relaxed);
	file->going = 0;
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* When the datagram is due that was captured at @utc_ns. */
static int64_t due_at(struct pcapfile *file, int64_t utc_ns)
{
	int64_t due_ns;

	if (!file->is_as_recorded || utc_ns == 0)
		return 0;
	if (file->first_utc_ns == 0)
		file->first_utc_ns = utc_ns;
	if (__builtin_sub_overflow(utc_ns, file->first_utc_ns, &due_ns) ||
	    __builtin_add_overflow(due_ns, file->pace.start_ns, &due_ns))
		return 0;
	return due_ns;
}

/* Here the payload of a datagram becomes part of the stream, or is lost to it. */
static void take_datagram(struct pcapfile *file, enum packet_fate fate,
			  const struct packet_udp *udp, int64_t utc_ns)
{
	if (fate == PACKET_CUT)
		file->lost_bytes += udp->len;
	if (fate != PACKET_DATAGRAM)
		return;
	file->udp = *udp;
	file->payload = udp->payload;
	file->payload_left = udp->len;
	file->payload_utc_ns = utc_ns;
	file->due_ns = due_at(file, utc_ns);
}

/* One packet, whatever it is; or the end. */
static void take_packet(struct source *source)
{
	struct pcapfile *file = source->state;
	struct packet_udp udp;
	struct packet packet;
	int ret = savefile_next(file->savefile, &packet);

	if (ret == 0 || ret == -EBADMSG)
		end(source, ret);
	else if (ret < 0)
		file->going = ret;
	else if (savefile_passes(file->savefile))
		take_datagram(file, packet_find(file->finder, &packet, &udp), &udp, packet.utc_ns);
	else
		packet_leave_out(file->finder, &packet);
}

static bool is_late(const struct source *source, int64_t deadline_ns)
{
	return source_is_interrupted(source) || units_monotonic_ns() >= deadline_ns;
}

/* Return: 1 = there may be another packet; SOURCE_END; SOURCE_NOT_YET; -errno. */
static int wait_for_packet(struct source *source, int64_t deadline_ns)
{
	struct pcapfile *file = source->state;
	int ret = 1;

	if (file->going == 1)
		ret = savefile_wait(file->savefile, deadline_ns);
	if (ret < 0)
		file->going = ret;
	if (ret == 0 || file->going == -EINTR)
		return SOURCE_NOT_YET;
	if (file->going < 0)
		return source_fail(source, -file->going, "cannot read: %s", strerror(-file->going));
	return file->going == 1 ? 1 : SOURCE_END;
}

/* Up to the next datagram. Return: as wait_for_packet(); 1 = it is there. */
static int fetch(struct source *source, int64_t deadline_ns)
{
	struct pcapfile *file = source->state;

	for (unsigned count = 1; file->payload_left == 0; count++) {
		int ret = wait_for_packet(source, deadline_ns);

		if (ret != 1)
			return ret;
		if (count % LOOK_ROUND_PACKETS == 0 && is_late(source, deadline_ns))
			return SOURCE_NOT_YET;
		take_packet(source);
	}
	return 1;
}

/* Return: is the datagram that was fetched due before the deadline? It has been waited for. */
static bool wait_until_due(struct source *source, int64_t deadline_ns)
{
	struct pcapfile *file = source->state;
	int64_t now = units_monotonic_ns();

	if (file->due_ns <= now)
		return true;
	if (deadline_ns > now) {
		source_count(&source->stats.wait_count, 1);
		pace_sleep_until(file->due_ns < deadline_ns ? file->due_ns : deadline_ns,
				 &source->is_interrupted);
	}
	return file->due_ns <= units_monotonic_ns();
}

static size_t copy_payload(struct pcapfile *file, unsigned char *to, size_t room)
{
	size_t bytes = file->payload_left < room ? file->payload_left : room;

	memcpy(to, file->payload, bytes);
	file->payload += bytes;
	file->payload_left -= bytes;
	file->position += bytes;
	return bytes;
}

/* Return: as wait_for_packet(); 1 = a datagram is there, and due. */
static int fetch_due(struct source *source, int64_t deadline_ns)
{
	struct pcapfile *file = source->state;
	int ret = fetch(source, deadline_ns);

	if (ret == 1 && file->due_ns && !wait_until_due(source, deadline_ns))
		return SOURCE_NOT_YET;
	return ret;
}

/* Datagrams until @len is full, something was lost, or the next one would have to be waited for. */
static ssize_t fill(struct source *source, unsigned char *buf, size_t len, int64_t deadline_ns,
		    struct source_mark *mark)
{
	struct pcapfile *file = source->state;
	size_t done = 0;

	while (done < len) {
		/* once something is there, nothing is waited for */
		int ret = fetch_due(source, done ? 0 : deadline_ns);

		if (done && (ret != 1 || file->lost_bytes))
			break;
		if (ret != SOURCE_NOT_YET) {
			mark->lost_bytes += file->lost_bytes;
			file->lost_bytes = 0;
		}
		if (ret != 1)
			return ret;
		if (!done)
			mark->utc_ns = file->payload_utc_ns;
		done += copy_payload(file, buf + done, len - done);
	}
	return (ssize_t)done;
}

/* The same by their numbers, which also tell what the capture cut short. */
static ssize_t fill_in_order(struct source *source, unsigned char *buf, size_t len,
			     int64_t deadline_ns, struct source_mark *mark)
{
	struct pcapfile *file = source->state;
	struct payloads *payloads = file->payloads;
	bool is_welcome;
	ssize_t ret = 1;
	size_t used;

	payloads_begin(payloads, buf, len, mark);
	is_welcome = payloads_bytes(payloads) == 0;
	while ((used = payloads_bytes(payloads)) == 0 || is_welcome) {
		ret = fetch_due(source, used ? 0 : deadline_ns);
		if (ret == SOURCE_END && !file->has_ended) {
			payloads_end(payloads);
			file->has_ended = true;
			is_welcome = false;
			continue;
		}
		if (ret != 1)
			break;
		is_welcome = payloads_take(payloads, &file->udp, file->payload_utc_ns);
		file->payload_left = 0;
	}
	if (used > 0)
		ret = (ssize_t)used;
	file->position += used;
	payloads_tell(payloads, source, ret != SOURCE_NOT_YET);
	return ret;
}

static ssize_t pcapfile_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			     struct source_mark *mark)
{
	struct pcapfile *file = source->state;
	struct packet_counts counts;
	ssize_t ret;

	if (len > READ_MAX)
		len = READ_MAX;
	if (file->going == 1)
		len = pace_wait(&file->pace, file->position, len, 0, deadline_ns,
				&source->stats.wait_count);
	if (len == 0)
		return SOURCE_NOT_YET;
	ret = file->is_in_order ? fill_in_order(source, buf, len, deadline_ns, mark) :
				  fill(source, buf, len, deadline_ns, mark);
	packet_finder_counts(file->finder, &counts);
	source_tell_capture(source, &counts);
	return ret;
}

const struct source_ops source_pcapfile = {
	.prefix = "pcapfile:",
	.summary = "pcapfile:PATH[,port=..,filter=..,as-recorded]  UDP payloads of a capture (- = standard input)",
	.keys = "port filter as-recorded " DATAGRAMS_KEYS,
	.takes_path = true,
	.open = pcapfile_open,
	.start = pcapfile_start,
	.read = pcapfile_read,
	.close = pcapfile_close,
};
