/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * payloads.h - the payloads of captured UDP datagrams, by their numbers, as what a read wants
 *
 *   payloads_create()
 *   -> payloads_begin() -> payloads_take() while it says so and payloads_bytes() is 0 -> payloads_tell()    a read
 *   -> payloads_end() when no more packets come, and reads until nothing is left -> payloads_free()
 *
 * datagrams.h puts them in order; here is what a capture adds: each port of the destination is one of its
 * own, in the order in which they come (beyond DATAGRAMS_PORT_MAX all others are one), and what the kernel dropped
 * is known for all packets together. Where datagrams have numbers these tell what is missing; drops are lost
 * packets without a place only where there are no numbers, or when no datagram came behind them.
 *
 * Threads: one at a time.
 */
#ifndef VSIB_DRIVERS_PAYLOADS_H
#define VSIB_DRIVERS_PAYLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/datagrams.h"
#include "drivers/packet.h"
#include "drivers/source.h"

struct payloads;

/**
 * payloads_create() - what a capture's datagrams are to become
 * @config: port_count doesn't matter
 * @counts: where the packets are counted; must outlive it
 *
 * Return: 0; -ENOMEM.
 */
int payloads_create(struct payloads **out, const struct datagrams_config *config,
		    struct source_packets *counts);

/** payloads_free() - NULL is fine */
void payloads_free(struct payloads *payloads);

/** payloads_begin() - a read begins, and wants these bytes. @mark: for what is lost before them, and their time */
void payloads_begin(struct payloads *payloads, void *buf, size_t len, struct source_mark *mark);

/** payloads_bytes() - so many are there; when none came, what was kept and is ready now. 0 = packets are wanted */
size_t payloads_bytes(struct payloads *payloads);

/**
 * payloads_take() - the next datagram, as PACKET_DATAGRAM; only after payloads_bytes() was 0, or this was true
 * @utc_ns: its time stamp
 * Return: another one is welcome; false: payloads_bytes() is to be called, or another read to begin.
 */
bool payloads_take(struct payloads *payloads, const struct packet_udp *udp, int64_t utc_ns);

/** payloads_dropped() - so many more packets of any kind were dropped, before the moment @utc_ns */
void payloads_dropped(struct payloads *payloads, uint64_t count, int64_t utc_ns);

/** payloads_are_waiting() - some are kept behind a hole */
bool payloads_are_waiting(const struct payloads *payloads);

/** payloads_give_up() - nothing has come for a while: what is missing is lost */
void payloads_give_up(struct payloads *payloads);

/** payloads_fill() - see datagrams_fill() */
void payloads_fill(struct payloads *payloads, void *buf, size_t len);

/** payloads_end() - nothing more comes */
void payloads_end(struct payloads *payloads);

/**
 * payloads_tell() - a read is over: the counters, what is to be said, the rest of the mark
 * @has_mark: what is returned has a mark; false: SOURCE_NOT_YET, all that has to be in it comes next time
 */
void payloads_tell(struct payloads *payloads, struct source *source, bool has_mark);

#endif
