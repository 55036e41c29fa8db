/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datagrams.h - a stream of bytes out of numbered datagrams: in order, each once, and what is missing
 *
 *   datagrams_detail() for each detail -> datagrams_create()
 *   -> datagrams_get() while datagrams_has_ready(), else datagrams_take() with the next datagram ...
 *   -> datagrams_end() -> datagrams_get() until there is nothing ready;  datagrams_tell() with each mark
 *
 * Knows no sockets and no files: who receives datagrams offers each with datagrams_take(), from wherever it
 * lies. As long as they come in order each is passed (DATAGRAM_PASSED): the caller has it in place already, or
 * copies it there, and nothing else happens. Behind a hole they are copied and kept, and handed out in their
 * place by datagrams_get(): when the hole is filled, when a window's number of datagrams came behind it, or
 * when the caller gives up waiting (datagrams_give_up()); what is still missing then is lost, and comes late
 * when it comes. So an order that was mended costs a copy, and one that was kept costs none.
 *
 * A number far from its neighbours is kept, and not believed before the next one agrees. Then it is a loss, if it
 * leaves out at most ORDER_LOSS_MAX; a stream that goes back, or farther on, has begun anew (restart), and nothing
 * is missing. With VDIF each thread of each port is a stream; frames lost where a second ends are counted by
 * the highest number seen, or by the rate in the header.
 *
 * All payloads of a stream are of one length, given (frame=) or found: it is that of the first two datagrams of
 * equal length that come from one sender to one port. What is of another length is a stray. So is what comes from
 * another address than the first that was taken at this port, unless from=any: then each sender is a stream.
 *
 * Threads:  one at a time; the counters in @counts may be read by any.
 */
#ifndef VSIB_DRIVERS_DATAGRAMS_H
#define VSIB_DRIVERS_DATAGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/order.h"
#include "drivers/psn.h"
#include "drivers/source.h"

#define DATAGRAMS_KEYS "psn frame window from"
#define DATAGRAMS_BYTES_MAX 65536 /* no datagram is longer */
#define DATAGRAMS_PORT_MAX 64
#define DATAGRAMS_STREAM_MAX 512  /* threads of all ports; what is of more is stray */
#define DATAGRAMS_WINDOW_MAX 4096 /* powers of two only; others are rounded up */
#define DATAGRAMS_WINDOW_DEFAULT 64
#define DATAGRAMS_SENDER_LEN 16
/* So long is waited for what is missing, when nothing else comes; then datagrams_give_up() is called for. */
#define DATAGRAMS_HOLD_NS INT64_C(100000000)

/* An address without its port; of IPv4 the first 4 bytes. */
struct datagram_sender {
	uint8_t bytes[DATAGRAMS_SENDER_LEN];
	uint8_t len; /* 4, 16, or 0: not known */
};

struct datagrams_config {
	enum psn_kind psn;
	size_t frame_bytes; /* payload of a datagram; 0 = to be found */
	unsigned window;    /* datagrams; 0 = DATAGRAMS_WINDOW_DEFAULT */
	unsigned port_count;
	bool use_any_sender;
	struct datagram_sender sender; /* the only one; len 0 = the first one of each port */
};

/* One datagram as it came. Where prefix_bytes aren't known yet it is in one piece, at both pointers. */
struct datagram {
	const void *prefix;                   /* datagrams_prefix_bytes() of it */
	const void *payload;                  /* the rest, up to datagrams_frame_bytes() of it */
	size_t bytes;                         /* of the whole as it was sent */
	unsigned port;                        /* 0 .. port_count - 1 */
	const struct datagram_sender *sender; /* NULL = not told: is that of all others */
};

struct datagrams;

/**
 * datagrams_detail() - takes psn=, frame=, window= and from= out of a source's details
 * @is_mine: false: the detail is another one, and nothing was done
 * Return: 0; -EINVAL or -ERANGE with source->error set.
 */
int datagrams_detail(struct source *source, const struct source_detail *detail,
		     struct datagrams_config *config, bool *is_mine);

/**
 * datagrams_create() - @counts: where the packets are counted, but those that were dropped; must outlive it
 *
 * Keeps nothing of @config. datagrams_free() it also after an error.
 * Return: 0 or -ENOMEM.
 */
int datagrams_create(struct datagrams **out, const struct datagrams_config *config,
		     struct source_packets *counts);

/** datagrams_free() - NULL is fine */
void datagrams_free(struct datagrams *datagrams);

/** datagrams_frame_bytes() - of a payload; 0 = not known yet: datagrams are offered in one piece */
size_t datagrams_frame_bytes(const struct datagrams *datagrams);

/** datagrams_prefix_bytes() - in front of it; 0 while the frame isn't known */
size_t datagrams_prefix_bytes(const struct datagrams *datagrams);

/** datagrams_psn() - given or found; PSN_AUTO = not known yet */
enum psn_kind datagrams_psn(const struct datagrams *datagrams);

/** datagrams_note() - tells once, as a note, what was found out and had not been given: psn= and frame= */
void datagrams_note(struct datagrams *datagrams, struct source *source);

/** datagram_split() - one that lies in one piece, into what is before the payload and the payload */
void datagram_split(const struct datagrams *datagrams, struct datagram *datagram, const void *data);

/**
 * datagrams_take() - the next datagram as it comes; only while nothing is ready
 * @may_pass: the caller has room for a whole payload behind those passed before; false: never DATAGRAM_PASSED
 */
enum datagram_step datagrams_take(struct datagrams *datagrams, const struct datagram *datagram,
				  bool may_pass);

/**
 * datagrams_lost() - so many were lost before the next one of this port, as its receiver counts
 *
 * Where there are numbers these say it better, and it counts only when no other one comes any more.
 */
void datagrams_lost(struct datagrams *datagrams, unsigned port, uint64_t count);

/** datagrams_lost_somewhere() - so many were lost, nobody knows of which port or where: they are counted, no more */
void datagrams_lost_somewhere(struct datagrams *datagrams, uint64_t count);

bool datagrams_has_ready(const struct datagrams *datagrams);

/** datagrams_is_waiting() - something is kept behind a hole */
bool datagrams_is_waiting(const struct datagrams *datagrams);

/**
 * datagrams_get() - hands out what is ready, whole payloads or a part of one where @len ends
 * @mark: what was lost before and discarded is added; what is handed out ends where the next loss is
 * Return: bytes; 0 = nothing was ready.
 */
size_t datagrams_get(struct datagrams *datagrams, void *buf, size_t len, struct source_mark *mark);

/** datagrams_count() - brings the counters up to date; once a read is enough */
void datagrams_count(struct datagrams *datagrams);

/**
 * datagrams_tell() - adds to the mark what was discarded since it was told last, and what was lost at the end
 * @has_data: the mark goes with data: what is lost behind them is told with the next one
 */
void datagrams_tell(struct datagrams *datagrams, struct source_mark *mark, bool has_data);

/** datagrams_give_fill() - can it be told which frames are lost, so that datagrams_fill() can be used? */
bool datagrams_give_fill(const struct datagrams_config *config);

/**
 * datagrams_fill() - see source_fill(): the frames that are missing before what datagrams_get() gave last, or behind all
 *
 * What is missing behind the last datagram is taken to be of the thread that came last.
 */
void datagrams_fill(struct datagrams *datagrams, void *buf, size_t len);

/** datagrams_give_up() - nothing has come for a while: what is missing is lost, what was kept becomes ready */
void datagrams_give_up(struct datagrams *datagrams);

/**
 * datagrams_end() - nothing more comes: what was kept becomes ready, what nobody agreed with is a stray
 *
 * What is lost behind the last datagram is told by datagrams_tell() when nothing is ready any more.
 */
void datagrams_end(struct datagrams *datagrams);

#endif
