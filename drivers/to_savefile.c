/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * to_savefile.c - `pcapfile:PATH`, packets as a savefile that libpcap reads, with nanoseconds; - is the standard output
 *
 *   psn= frame= to= from= mac= from-mac=   framing.h: of datagrams, which get headers; by default
 *                                          from 192.0.2.1 (2001:db8::1) to 192.0.2.2 (2001:db8::2), port 46227
 *
 * Records are gathered in a buffer and written together; into a pipe, whose reader waits for them, at the end of each
 * call. Where a write fails the file is cut behind its last whole packet, and the sentence says how many it has.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/destination.h"
#include "drivers/endpoint.h"
#include "drivers/framing.h"
#include "drivers/out_file.h"
#include "drivers/outlet.h"
#include "drivers/units.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define SNAP_BYTES 262144        /* the longest packet that libpcap reads */
#define PIPE_NS INT64_C(2000000) /* so long a full pipe is waited for */

/* In front of each packet; the file's order of bytes is this machine's. */
struct record {
	uint32_t seconds, nanoseconds;
	uint32_t bytes, wire_bytes;
};

struct to_savefile {
	struct framing framing;
	struct out_file file;
	struct outlet outlet; /* of what is no file */
	unsigned char *buffer;
	size_t first; /* the first packet's record lies there; in front of it the file's header, once */
	size_t from, until; /* bytes there that are to be written */
	uint64_t count;     /* of packets that were given */
};

/* ---- opening --------------------------------------------------------------------------------- */

/* libpcap knows by which number each link type goes in files. */
static int put_file_header(struct destination *destination, struct to_savefile *save, int link_type)
{
	pcap_t *pcap = pcap_open_dead_with_tstamp_precision(link_type, SNAP_BYTES,
							    PCAP_TSTAMP_PRECISION_NANO);
	FILE *stream = fmemopen(save->buffer, BUFFER_BYTES, "w");
	pcap_dumper_t *dumper = pcap && stream ? pcap_dump_fopen(pcap, stream) : NULL;
	int ret = 0;

	if (dumper) {
		save->first = save->until = (size_t)pcap_dump_ftell(dumper);
		pcap_dump_close(dumper);
	} else {
		ret = destination_fail(destination, EINVAL, "packets of this kind: %s",
				       pcap && stream ? pcap_geterr(pcap) : "out of memory");
		if (stream)
			fclose(stream);
	}
	if (pcap)
		pcap_close(pcap);
	return ret;
}

/* From addresses that are kept for documents (RFC 5737, RFC 3849, RFC 7042), so that nobody takes them for somebody's. */
static void choose_addresses(struct framing *framing)
{
	static const unsigned char macs[] = { 0x00, 0x00, 0x5e, 0x00, 0x53 };
	struct headers_config *config = &framing->config;
	bool is_ipv6 = framing->has_to ? config->to.ss_family == AF_INET6 :
					 config->from.ss_family == AF_INET6;

	if (!framing->has_to) {
		endpoint_read(is_ipv6 ? "2001:db8::2" : "192.0.2.2", &config->to);
		endpoint_set_port(&config->to, FRAMING_PORT);
	}
	if (!framing->has_from)
		endpoint_read(is_ipv6 ? "2001:db8::1" : "192.0.2.1", &config->from);
	if (!framing->has_mac && !headers_mac_of(&config->to, config->to_mac)) {
		memcpy(config->to_mac, macs, sizeof(macs));
		config->to_mac[sizeof(macs)] = 2;
	}
	if (!framing->has_from_mac) {
		memcpy(config->from_mac, macs, sizeof(macs));
		config->from_mac[sizeof(macs)] = 1;
	}
}

static int take_details(struct destination *destination, struct framing *framing)
{
	char buf[DESTINATION_DETAIL_LEN];
	struct destination_detail detail;
	const char *cursor = NULL;
	int ret = 0;

	while (!ret && destination_next_detail(destination, &cursor, buf, sizeof(buf), &detail))
		ret = framing_detail(destination, framing, detail.key, detail.value);
	if (ret < 0)
		return ret;
	choose_addresses(framing);
	return framing_begin(destination, framing);
}

static int savefile_open(struct destination *destination, const struct destination_config *config)
{
	struct to_savefile *save = calloc(1, sizeof(*save));
	int ret;

	if (!save)
		return destination_fail(destination, ENOMEM, "out of memory");
	out_file_init(&save->file);
	save->outlet.fd = -1;
	destination->state = save;
	framing_init(destination, &save->framing, config);
	save->buffer = malloc(BUFFER_BYTES);
	if (!save->buffer)
		return destination_fail(destination, ENOMEM, "out of memory");
	ret = take_details(destination, &save->framing);
	if (!ret)
		ret = put_file_header(destination, save,
				      config->gives_packets ? config->link_type : DLT_EN10MB);
	if (ret < 0)
		return ret;
	if (strcmp(destination->path, "-") == 0)
		return out_file_take_stdout(destination, &save->file, &save->outlet);
	return out_file_create(destination, &save->file, config->is_force, "use pcapfile:- with >");
}

static void savefile_close(struct destination *destination)
{
	struct to_savefile *save = destination->state;

	outlet_close(&save->outlet);
	out_file_close(&save->file);
	free(save->buffer);
	free(save);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Of the packets that lie whole in [@at, @until) of the buffer. Return: where the last one ends. */
static size_t count_whole(const struct to_savefile *save, size_t at, size_t until, uint64_t *count)
{
	struct record record;

	for (*count = 0; at + sizeof(record) <= until; ++*count) {
		memcpy(&record, save->buffer + at, sizeof(record));
		if (until - at - sizeof(record) < record.bytes)
			break;
		at += sizeof(record) + record.bytes;
	}
	return at;
}

/* What can still be read is to be read without an error. Return: @ret. */
static int end_whole(struct destination *destination, struct to_savefile *save, int ret)
{
	size_t used = strlen(destination->error), end;
	uint64_t written, given;

	/* where the disk has lost something, nobody knows what */
	if (save->file.fd < 0 || save->file.error)
		return ret;
	end = count_whole(save, save->first, save->from, &written);
	count_whole(save, save->first, save->until, &given);
	if (end < save->from)
		out_file_cut(&save->file, save->file.end - (save->from - end));
	snprintf(destination->error + used, sizeof(destination->error) - used,
		 "; the file has %" PRIu64 " whole packets", save->count - given + written);
	return ret;
}

/* Return: 0: all is written, or, until the deadline, not all; -errno. */
static int flush(struct destination *destination, struct to_savefile *save, int64_t deadline_ns)
{
	while (save->from < save->until) {
		const unsigned char *data = save->buffer + save->from;
		size_t bytes = save->until - save->from;
		ssize_t taken =
			save->file.fd >= 0 ?
				out_file_write(destination, &save->file, data, bytes) :
				outlet_write(destination, &save->outlet, data, bytes, deadline_ns);

		if (taken < 0)
			return end_whole(destination, save, (int)taken);
		if (taken == 0)
			return 0;
		save->from += (size_t)taken;
	}
	save->first = save->from = save->until = 0;
	return 0;
}

/*
 * Datagrams cut from a stream without times get the moment they are given at; a packet whose time nobody knows, or none that 32
 * bits of seconds can say, gets 0, as in the file it comes from.
 */
static int64_t stamp_of(const struct to_savefile *save, const struct destination_unit *unit)
{
	int64_t ns = unit->utc_ns;

	if (ns == 0 && !save->framing.is_whole)
		ns = units_realtime_ns();
	return ns < 0 || ns / UNITS_NS_PER_S > UINT32_MAX ? 0 : ns;
}

static void put_bytes(struct to_savefile *save, const void *data, size_t bytes)
{
	memcpy(save->buffer + save->until, data, bytes);
	save->until += bytes;
}

/* Return: 1; 0: there is no room for it now; -EMSGSIZE. */
static int put_unit(struct destination *destination, struct to_savefile *save,
		    const struct destination_unit *unit)
{
	unsigned char headers[HEADERS_BYTES_MAX];
	struct iovec pieces[FRAMING_PARTS_MAX + 1];
	int64_t stamp_ns = stamp_of(save, unit);
	struct record record;
	size_t bytes;
	int count = framing_put(destination, &save->framing, unit, headers, pieces, &bytes);

	if (count < 0)
		return count;
	if (bytes > SNAP_BYTES)
		return destination_fail(destination, EMSGSIZE,
					"a packet of %zu bytes is longer than a savefile's may be: %d",
					bytes, SNAP_BYTES);
	if (BUFFER_BYTES - save->until < sizeof(record) + bytes)
		return 0;
	record = (struct record){
		.seconds = (uint32_t)(stamp_ns / UNITS_NS_PER_S),
		.nanoseconds = (uint32_t)(stamp_ns % UNITS_NS_PER_S),
		.bytes = (uint32_t)bytes,
		.wire_bytes = (uint32_t)(bytes + (unit->wire_bytes > unit->bytes ?
							  unit->wire_bytes - unit->bytes :
							  0)),
	};
	put_bytes(save, &record, sizeof(record));
	for (int i = 0; i < count; i++)
		put_bytes(save, pieces[i].iov_base, pieces[i].iov_len);
	save->count++;
	return 1;
}

static ssize_t savefile_send(struct destination *destination, const struct destination_unit *units,
			     size_t count)
{
	struct to_savefile *save = destination->state;
	ssize_t done = 0;
	int ret = 1;

	for (; done < (ssize_t)count; done++) {
		ret = put_unit(destination, save, &units[done]);
		if (ret == 0)
			ret = flush(destination, save, units_monotonic_ns() + PIPE_NS);
		if (ret == 0 && save->until == 0)
			ret = put_unit(destination, save, &units[done]);
		if (ret <= 0)
			break;
	}
	/* comes again, as that of the first unit */
	if (ret == -EMSGSIZE && done > 0)
		ret = 0;
	/* who reads a pipe waits for each packet */
	if (ret >= 0 && save->file.fd < 0)
		ret = flush(destination, save, units_monotonic_ns());
	return ret < 0 ? ret : done;
}

static int savefile_finish(struct destination *destination, int64_t deadline_ns)
{
	struct to_savefile *save = destination->state;
	int ret = flush(destination, save, deadline_ns);

	if (ret < 0)
		return ret;
	if (save->from < save->until)
		return destination_fail(destination, ETIMEDOUT,
					"%zu bytes were not taken in time by who reads it",
					save->until - save->from);
	return save->file.fd >= 0 ? out_file_sync(destination, &save->file) : 0;
}

const struct destination_ops destination_savefile = {
	.prefix = "pcapfile:",
	.summary = "pcapfile:PATH[,psn=..,frame=SIZE,to=ADDR:PORT,from=ADDR:PORT]  a savefile (- = standard output)",
	.keys = FRAMING_KEYS,
	.takes_path = true,
	.open = savefile_open,
	.send = savefile_send,
	.finish = savefile_finish,
	.close = savefile_close,
};
