/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/payloads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct payloads {
	struct datagrams *datagrams;
	struct source_packets *counts;
	bool has_ended;

	uint16_t ports[DATAGRAMS_PORT_MAX];
	unsigned port_count, last_port;

	uint64_t pending_count; /* dropped, and told to be lost neither by numbers nor as packets */
	int64_t pending_utc_ns; /* they were dropped before this moment */

	/* the read */
	unsigned char *buf;
	size_t len, used;
	struct source_mark *mark;
};

int payloads_create(struct payloads **out, const struct datagrams_config *config,
		    struct source_packets *counts)
{
	struct datagrams_config own = *config;
	struct payloads *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return -ENOMEM;
	own.port_count = DATAGRAMS_PORT_MAX;
	p->counts = counts;
	if (datagrams_create(&p->datagrams, &own, counts) < 0) {
		payloads_free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void payloads_free(struct payloads *p)
{
	if (!p)
		return;
	datagrams_free(p->datagrams);
	free(p);
}

void payloads_begin(struct payloads *p, void *buf, size_t len, struct source_mark *mark)
{
	p->buf = buf;
	p->len = len;
	p->used = 0;
	p->mark = mark;
}

size_t payloads_bytes(struct payloads *p)
{
	if (p->used == 0 && datagrams_has_ready(p->datagrams))
		p->used = datagrams_get(p->datagrams, p->buf, p->len, p->mark);
	return p->used;
}

/* Return: which one it is here. */
static unsigned place_port(struct payloads *p, uint16_t port)
{
	if (p->last_port < p->port_count && p->ports[p->last_port] == port)
		return p->last_port;
	for (p->last_port = 0; p->last_port < p->port_count; p->last_port++)
		if (p->ports[p->last_port] == port)
			return p->last_port;
	if (p->port_count == DATAGRAMS_PORT_MAX)
		return --p->last_port;
	p->ports[p->port_count++] = port;
	return p->last_port;
}

static bool has_numbers(const struct payloads *p)
{
	enum psn_kind psn = datagrams_psn(p->datagrams);

	return psn != PSN_AUTO && psn != PSN_NONE;
}

bool payloads_take(struct payloads *p, const struct packet_udp *udp, int64_t utc_ns)
{
	size_t frame_bytes = datagrams_frame_bytes(p->datagrams);
	struct datagram_sender sender = { .len = (uint8_t)udp->sender_bytes };
	struct datagram datagram = {
		.bytes = udp->len,
		.port = place_port(p, udp->destination_port),
		.sender = &sender,
	};

	memcpy(sender.bytes, udp->sender, sizeof(sender.bytes));
	datagram_split(p->datagrams, &datagram, udp->payload);
	if (datagrams_take(p->datagrams, &datagram,
			   frame_bytes > 0 && p->len - p->used >= frame_bytes) == DATAGRAM_PASSED) {
		if (p->used == 0)
			p->mark->utc_ns = utc_ns;
		memcpy(p->buf + p->used, datagram.payload, frame_bytes);
		p->used += frame_bytes;
	}
	if (p->pending_count && utc_ns >= p->pending_utc_ns && has_numbers(p))
		p->pending_count = 0;
	if (datagrams_has_ready(p->datagrams))
		return false;
	return p->used == 0 || p->len - p->used >= frame_bytes;
}

void payloads_dropped(struct payloads *p, uint64_t count, int64_t utc_ns)
{
	source_count(&p->counts->dropped_count, count);
	p->pending_count += count;
	p->pending_utc_ns = utc_ns;
}

bool payloads_are_waiting(const struct payloads *p)
{
	return datagrams_is_waiting(p->datagrams);
}

void payloads_give_up(struct payloads *p)
{
	datagrams_give_up(p->datagrams);
}

void payloads_fill(struct payloads *p, void *buf, size_t len)
{
	datagrams_fill(p->datagrams, buf, len);
}

void payloads_end(struct payloads *p)
{
	datagrams_end(p->datagrams);
	p->has_ended = true;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void tell_pending(struct payloads *p)
{
	if (datagrams_psn(p->datagrams) != PSN_NONE && !p->has_ended)
		return;
	p->mark->lost_packets += p->pending_count;
	datagrams_lost_somewhere(p->datagrams, p->pending_count);
	p->pending_count = 0;
}

void payloads_tell(struct payloads *p, struct source *source, bool has_mark)
{
	if (has_mark) {
		datagrams_tell(p->datagrams, p->mark, p->used > 0);
		tell_pending(p);
	}
	datagrams_count(p->datagrams);
	datagrams_note(p->datagrams, source);
}
