/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/datagrams.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/mark5b.h"
#include "drivers/vdif.h"
#include "drivers/vdif_fill.h"

#define PROBE_MAX 16 /* datagrams that are kept until two agree */
#define TABLE_LEN (DATAGRAMS_STREAM_MAX * 2)

/* One that came before it was known what a datagram of this stream is. */
struct probe {
	unsigned char *data;
	size_t bytes;
	unsigned port;
	uint64_t lost_count; /* before it, told by the receiver */
	struct datagram_sender sender;
};

struct stream {
	unsigned port;
	uint32_t thread;
	struct datagram_sender sender; /* from=any: each has numbers of its own; else len 0 */
	struct order *order;           /* NULL = this place in the table is free */
};

struct port {
	struct datagram_sender sender; /* the only one; len 0 = none yet */
	uint64_t lost_count;           /* told by the receiver, not yet put before a datagram */
	struct stream *last;           /* found last */
	struct psn half;               /* of the Mark5B frame whose first half came last */
	bool has_half;
	bool had_full; /* a number of 64 bits came last */
};

struct datagrams {
	enum psn_kind psn;
	size_t asked_bytes; /* frame= */
	bool is_told;       /* psn and frame were given, or what was found out has been told */
	bool use_any_sender;
	struct datagram_sender sender; /* from=, else len 0 */
	struct order_room room;        /* frame_bytes 0 = not known yet */
	struct source_packets *counts;
	uint64_t received_count, told_discarded_bytes, lost_at_end;
	struct vdif_fill *fill; /* NULL = there is none, see datagrams_give_fill() */
	unsigned char newest[VDIF_HEADER_BYTES]; /* header that came last; zeros before the first */
	unsigned port_count, probe_count, stream_count;
	struct probe probes[PROBE_MAX];
	struct port ports[DATAGRAMS_PORT_MAX];
	struct stream table[TABLE_LEN];
};

/* ---- details --------------------------------------------------------------------------------- */

static int take_frame(struct source *source, const struct source_detail *detail,
		      struct datagrams_config *config)
{
	uint64_t bytes;
	int ret = source_detail_bytes(source, detail, &bytes);

	if (ret)
		return ret;
	if (bytes < 1 || bytes > DATAGRAMS_BYTES_MAX)
		return source_fail(source, EINVAL,
				   "frame=%s: the payload of a datagram has 1 to %d bytes",
				   detail->value, DATAGRAMS_BYTES_MAX);
	config->frame_bytes = (size_t)bytes;
	return 0;
}

static int take_window(struct source *source, const struct source_detail *detail,
		       struct datagrams_config *config)
{
	uint64_t count;
	int ret = source_detail_count(source, detail, &count, DATAGRAMS_WINDOW_MAX);

	if (ret)
		return ret;
	if (count < 1)
		return source_fail(source, EINVAL, "window=%s: at least 1 is needed", detail->value);
	config->window = (unsigned)count;
	return 0;
}

static int take_sender(struct source *source, const struct source_detail *detail,
		       struct datagrams_config *config)
{
	struct datagram_sender *sender = &config->sender;

	config->use_any_sender = strcmp(detail->value, "any") == 0;
	*sender = (struct datagram_sender){ 0 };
	if (config->use_any_sender || strcmp(detail->value, "first") == 0)
		return 0;
	if (inet_pton(AF_INET, detail->value, sender->bytes) == 1)
		sender->len = 4;
	else if (inet_pton(AF_INET6, detail->value, sender->bytes) == 1)
		sender->len = 16;
	else
		return source_fail(source, EINVAL,
				   "from=%s: expected an IPv4 or IPv6 address, first or any",
				   detail->value);
	return 0;
}

int datagrams_detail(struct source *source, const struct source_detail *detail,
		     struct datagrams_config *config, bool *is_mine)
{
	*is_mine = true;
	if (strcmp(detail->key, "frame") == 0)
		return take_frame(source, detail, config);
	if (strcmp(detail->key, "window") == 0)
		return take_window(source, detail, config);
	if (strcmp(detail->key, "from") == 0)
		return take_sender(source, detail, config);
	*is_mine = strcmp(detail->key, "psn") == 0;
	if (*is_mine && !psn_kind_of(detail->value, &config->psn))
		return source_fail(source, EINVAL, "psn=%s: expected %s", detail->value, PSN_NAMES);
	return 0;
}

/* ---- making ---------------------------------------------------------------------------------- */

static uint32_t window_of(const struct datagrams_config *config)
{
	uint32_t window = 1;

	while (window < (config->window ? config->window : DATAGRAMS_WINDOW_DEFAULT))
		window *= 2;
	return window;
}

int datagrams_create(struct datagrams **out, const struct datagrams_config *config,
		     struct source_packets *counts)
{
	struct datagrams *d = calloc(1, sizeof(*d));
	bool is_known = config->psn != PSN_AUTO && config->frame_bytes > 0;

	assert(config->port_count <= DATAGRAMS_PORT_MAX);
	*out = d;
	if (!d)
		return -ENOMEM;
	d->psn = config->psn;
	d->asked_bytes = config->frame_bytes;
	d->is_told = is_known;
	d->use_any_sender = config->use_any_sender;
	d->sender = config->sender;
	d->port_count = config->port_count;
	d->counts = counts;
	d->room.window = window_of(config);
	d->room.frame_bytes = is_known ? config->frame_bytes : 0;
	for (unsigned i = 0; i < config->port_count; i++)
		d->ports[i].sender = config->sender;
	if (datagrams_give_fill(config) && vdif_fill_create(&d->fill, DATAGRAMS_BYTES_MAX) < 0)
		return -ENOMEM;
	/* held, one at hand, one far away in each stream, and those of the beginning */
	return staging_create(&d->room.staging, d->room.window + 2 + DATAGRAMS_STREAM_MAX + PROBE_MAX,
			      config->frame_bytes ? config->frame_bytes : DATAGRAMS_BYTES_MAX);
}

void datagrams_free(struct datagrams *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < d->probe_count; i++)
		free(d->probes[i].data);
	for (unsigned i = 0; i < TABLE_LEN; i++)
		order_free(d->table[i].order);
	staging_free(d->room.staging);
	vdif_fill_free(d->fill);
	free(d);
}

size_t datagrams_frame_bytes(const struct datagrams *d)
{
	return d->room.frame_bytes;
}

size_t datagrams_prefix_bytes(const struct datagrams *d)
{
	return d->room.frame_bytes ? psn_prefix_bytes(d->psn) : 0;
}

enum psn_kind datagrams_psn(const struct datagrams *d)
{
	return d->psn;
}

void datagrams_note(struct datagrams *d, struct source *source)
{
	if (d->is_told || d->room.frame_bytes == 0)
		return;
	d->is_told = true;
	source_note(source, "datagrams are taken as psn=%s,frame=%zu", psn_name(d->psn),
		    d->room.frame_bytes);
}

void datagram_split(const struct datagrams *d, struct datagram *datagram, const void *data)
{
	datagram->prefix = data;
	datagram->payload = (const unsigned char *)data + datagrams_prefix_bytes(d);
}

/* ---- streams --------------------------------------------------------------------------------- */

static bool is_same_sender(const struct datagram_sender *a, const struct datagram_sender *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static bool is_stream(const struct stream *stream, unsigned port, uint32_t thread,
		      const struct datagram_sender *sender)
{
	return stream->port == port && stream->thread == thread &&
	       is_same_sender(&stream->sender, sender);
}

static uint32_t place_in_table(unsigned port, uint32_t thread, const struct datagram_sender *sender)
{
	uint32_t sum = thread * UINT32_C(2654435761) ^ port * UINT32_C(40503);

	for (unsigned i = 0; i < sender->len; i++)
		sum = sum * 31 + sender->bytes[i];
	return sum % TABLE_LEN;
}

/* Return: NULL when there are too many, or no memory for one more. */
static struct order *order_of(struct datagrams *d, unsigned port, uint32_t thread,
			      const struct datagram_sender *sender)
{
	struct stream *stream = d->ports[port].last;
	uint32_t at;

	if (stream && is_stream(stream, port, thread, sender))
		return stream->order;
	at = place_in_table(port, thread, sender);
	/* at most half of the table is in use: the search ends */
	for (stream = &d->table[at]; stream->order; stream = &d->table[at]) {
		if (is_stream(stream, port, thread, sender))
			break;
		at = (at + 1) % TABLE_LEN;
	}
	if (!stream->order) {
		if (d->stream_count == DATAGRAMS_STREAM_MAX)
			return NULL;
		stream->order = order_create(&d->room);
		if (!stream->order)
			return NULL;
		d->stream_count++;
		stream->port = port;
		stream->thread = thread;
		stream->sender = *sender;
	}
	d->ports[port].last = stream;
	return stream->order;
}

static bool is_expected_sender(const struct datagrams *d, unsigned port,
			       const struct datagram_sender *sender)
{
	const struct datagram_sender *expected = &d->ports[port].sender;

	return !sender || d->use_any_sender || expected->len == 0 || is_same_sender(expected, sender);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The second half of a Mark5B frame has no header; it belongs to the half that came last. */
static bool read_half(struct port *port, bool has_header, struct psn *psn)
{
	if (has_header) {
		port->half = *psn;
		port->has_half = true;
		return true;
	}
	if (!port->has_half)
		return false;
	*psn = port->half;
	psn->number++;
	return true;
}

static bool read_number(struct datagrams *d, const struct datagram *datagram, struct psn *psn)
{
	struct port *port = &d->ports[datagram->port];
	bool has_number =
		psn_read(d->psn, datagram->prefix, datagram->payload, d->room.frame_bytes, psn);

	if (psn->is_upper_half && !port->had_full)
		psn_take_half(psn);
	port->had_full = !psn->is_upper_half;
	if (d->psn == PSN_MARK5B && d->room.frame_bytes == MARK5B_HALF_BYTES)
		return read_half(port, has_number, psn);
	return has_number;
}

static enum datagram_step skip(struct datagrams *d, size_t bytes, size_t prefix_bytes)
{
	d->room.stray_count++;
	d->room.discarded_bytes += bytes > prefix_bytes ? bytes - prefix_bytes : 0;
	return DATAGRAM_STRAY;
}

static enum datagram_step sort(struct datagrams *d, const struct datagram *datagram, bool may_pass)
{
	static const struct datagram_sender nobody;
	size_t prefix_bytes = psn_prefix_bytes(d->psn);
	struct port *port = &d->ports[datagram->port];
	struct order *order;
	struct psn psn = { 0 };
	enum datagram_step step;

	if (datagram->bytes != d->room.frame_bytes + prefix_bytes ||
	    !is_expected_sender(d, datagram->port, datagram->sender) ||
	    (d->psn != PSN_NONE && !read_number(d, datagram, &psn)))
		return skip(d, datagram->bytes, prefix_bytes);
	if (port->sender.len == 0 && datagram->sender)
		port->sender = *datagram->sender;
	order = order_of(d, datagram->port, psn.thread,
			 d->use_any_sender && datagram->sender ? datagram->sender : &nobody);
	if (!order)
		return skip(d, datagram->bytes, prefix_bytes);
	if (d->psn == PSN_NONE)
		order_lose(order, &d->room, port->lost_count);
	port->lost_count = 0;
	if (d->fill)
		memcpy(d->newest, datagram->payload, sizeof(d->newest));
	if (d->psn == PSN_NONE)
		return order_take_next(order, &d->room, datagram->payload, may_pass);
	step = order_take(order, &d->room, &psn, datagram->payload, may_pass);
	if (d->room.held_count > d->room.window)
		datagrams_give_up(d);
	return step;
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* Could this be a datagram of the stream, as far as it was told what those are? */
static bool is_candidate(const struct datagrams *d, const struct probe *probe)
{
	size_t rest = probe->bytes - d->asked_bytes;

	if (d->psn != PSN_AUTO)
		return probe->bytes > psn_prefix_bytes(d->psn);
	if (d->asked_bytes == 0)
		return probe->bytes > 0;
	return probe->bytes >= d->asked_bytes && (rest == 0 || rest == 4 || rest == 8);
}

/* The earlier one of the same kind; NULL: there is none. */
static const struct probe *find_twin(const struct datagrams *d, const struct probe *probe)
{
	if (!is_candidate(d, probe))
		return NULL;
	for (unsigned i = 0; i < d->probe_count; i++) {
		const struct probe *other = &d->probes[i];

		if (other != probe && other->bytes == probe->bytes && other->port == probe->port &&
		    is_same_sender(&other->sender, &probe->sender))
			return other;
	}
	return NULL;
}

static bool decide(struct datagrams *d, const struct probe *earlier, const struct probe *later)
{
	enum psn_kind kind = d->psn;

	if (kind == PSN_AUTO)
		kind = psn_detect(earlier->data, later->data, later->bytes);
	/* a number whose order of bytes can't be seen is none */
	if (d->asked_bytes && later->bytes != d->asked_bytes + psn_prefix_bytes(kind))
		return false;
	d->psn = kind;
	d->room.frame_bytes = later->bytes - psn_prefix_bytes(kind);
	d->ports[later->port].sender = later->sender;
	for (unsigned i = 0; i < d->probe_count; i++) {
		struct probe *probe = &d->probes[i];
		struct datagram datagram = {
			.bytes = probe->bytes,
			.port = probe->port,
			.sender = probe->sender.len ? &probe->sender : NULL,
		};

		d->ports[probe->port].lost_count += probe->lost_count;
		datagram_split(d, &datagram, probe->data);
		sort(d, &datagram, false);
		free(probe->data);
	}
	d->probe_count = 0;
	return true;
}

static void drop_first_probe(struct datagrams *d)
{
	struct probe *first = &d->probes[0];

	/* is lost before another one now */
	d->ports[first->port].lost_count += first->lost_count;
	skip(d, first->bytes, 0);
	free(first->data);
	d->probe_count--;
	memmove(first, first + 1, d->probe_count * sizeof(*first));
}

static enum datagram_step take_probe(struct datagrams *d, const struct datagram *datagram)
{
	struct probe *probe;
	const struct probe *twin;

	if (!is_expected_sender(d, datagram->port, datagram->sender) ||
	    datagram->bytes > DATAGRAMS_BYTES_MAX)
		return skip(d, datagram->bytes, 0);
	if (d->probe_count == PROBE_MAX)
		drop_first_probe(d);
	probe = &d->probes[d->probe_count];
	*probe = (struct probe){ .bytes = datagram->bytes, .port = datagram->port };
	probe->lost_count = d->ports[probe->port].lost_count;
	if (datagram->sender)
		probe->sender = *datagram->sender;
	probe->data = malloc(probe->bytes + 1);
	if (!probe->data)
		return skip(d, datagram->bytes, 0);
	memcpy(probe->data, datagram->payload, probe->bytes);
	d->ports[probe->port].lost_count = 0;
	d->probe_count++;
	twin = find_twin(d, probe);
	if (twin)
		decide(d, twin, probe);
	return DATAGRAM_KEPT;
}

/* ---- taking and giving ----------------------------------------------------------------------- */

enum datagram_step datagrams_take(struct datagrams *d, const struct datagram *datagram, bool may_pass)
{
	assert(!datagrams_has_ready(d) && datagram->port < d->port_count);
	d->received_count++;
	return d->room.frame_bytes ? sort(d, datagram, may_pass) : take_probe(d, datagram);
}

void datagrams_lost(struct datagrams *d, unsigned port, uint64_t count)
{
	d->ports[port].lost_count += count;
}

void datagrams_lost_somewhere(struct datagrams *d, uint64_t count)
{
	d->room.lost_count += count;
}

bool datagrams_has_ready(const struct datagrams *d)
{
	return staging_has_ready(d->room.staging);
}

bool datagrams_is_waiting(const struct datagrams *d)
{
	return d->room.waiting_count > 0;
}

/* ---- fill ------------------------------------------------------------------------------------ */

bool datagrams_give_fill(const struct datagrams_config *config)
{
	return config->psn == PSN_VDIF;
}

/* Frames a second of a thread: more than its number, and than any that was seen. */
static uint64_t rate_of(const struct datagrams *d, const struct psn *psn)
{
	uint64_t rate = psn->rate > psn->number ? psn->rate : psn->number + 1;

	for (unsigned i = 0; i < TABLE_LEN; i++)
		if (d->table[i].order && order_rate(d->table[i].order) > rate)
			rate = order_rate(d->table[i].order);
	return rate;
}

/* @header: of the frame behind the @count that are lost */
static void begin_fill(struct datagrams *d, const void *header, uint64_t count)
{
	struct psn psn;

	if (psn_read(PSN_VDIF, NULL, header, d->room.frame_bytes, &psn))
		vdif_fill_before(d->fill, header, count, rate_of(d, &psn));
}

static void begin_last_fill(struct datagrams *d)
{
	struct psn psn;

	if (psn_read(PSN_VDIF, NULL, d->newest, d->room.frame_bytes, &psn))
		vdif_fill_behind(d->fill, d->newest, rate_of(d, &psn));
}

void datagrams_fill(struct datagrams *d, void *buf, size_t len)
{
	vdif_fill_put(d->fill, buf, len);
}

/* ---- giving ---------------------------------------------------------------------------------- */

size_t datagrams_get(struct datagrams *d, void *buf, size_t len, struct source_mark *mark)
{
	unsigned char header[VDIF_HEADER_BYTES];
	uint64_t lost_count;
	size_t bytes;

	if (d->fill)
		memcpy(header, staging_front(d->room.staging), sizeof(header));
	bytes = staging_get(d->room.staging, buf, len, &lost_count);
	if (d->fill && lost_count)
		begin_fill(d, header, lost_count);
	mark->lost_bytes += lost_count * d->room.frame_bytes;
	return bytes;
}

/* relaxed: counters, each exact by itself; one writer */
static void put(_Atomic uint64_t *counter, uint64_t value)
{
	atomic_store_explicit(counter, value, memory_order_relaxed);
}

void datagrams_tell(struct datagrams *d, struct source_mark *mark, bool has_data)
{
	const struct order_room *room = &d->room;

	mark->discarded_bytes += room->discarded_bytes - d->told_discarded_bytes;
	d->told_discarded_bytes = room->discarded_bytes;
	if (!has_data && !datagrams_has_ready(d)) {
		mark->lost_bytes += d->lost_at_end * room->frame_bytes;
		if (d->fill && d->lost_at_end)
			begin_last_fill(d);
		d->lost_at_end = 0;
	}
}

void datagrams_count(struct datagrams *d)
{
	const struct order_room *room = &d->room;

	put(&d->counts->received_count, d->received_count);
	put(&d->counts->lost_count, room->lost_count);
	put(&d->counts->late_count, room->late_count);
	put(&d->counts->duplicate_count, room->duplicate_count);
	put(&d->counts->reordered_count, room->reordered_count);
	put(&d->counts->stray_count, room->stray_count);
	put(&d->counts->unwanted_count, room->unwanted_count);
	put(&d->counts->restart_count, room->restart_count);
}

void datagrams_give_up(struct datagrams *d)
{
	for (unsigned i = 0; i < TABLE_LEN; i++)
		if (d->table[i].order)
			order_give_up(d->table[i].order, &d->room);
}

/* The first that could be one is one, when no second came. */
static void end_probing(struct datagrams *d)
{
	bool is_decided = false;

	for (unsigned i = 0; i < d->probe_count && !is_decided; i++)
		is_decided = is_candidate(d, &d->probes[i]) && decide(d, &d->probes[i], &d->probes[i]);
	while (d->probe_count > 0)
		drop_first_probe(d);
}

void datagrams_end(struct datagrams *d)
{
	if (d->room.frame_bytes == 0)
		end_probing(d);
	for (unsigned i = 0; i < TABLE_LEN; i++)
		if (d->table[i].order)
			d->lost_at_end += order_end(d->table[i].order, &d->room);
	for (unsigned i = 0; i < d->port_count; i++) {
		d->lost_at_end += d->ports[i].lost_count;
		d->room.lost_count += d->ports[i].lost_count;
		d->ports[i].lost_count = 0;
	}
}
