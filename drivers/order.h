/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.h - the datagrams of one stream, each in its place: what passes, what is kept, what is lost
 *
 *   order_create() -> order_take() for each datagram -> order_end()
 *
 * What has its number is passed at once as long as nothing is missing. Behind a hole it is copied into the
 * staging memory, and becomes ready there when its turn has come, with what is missing before it. The rules
 * stand in datagrams.h; drivers/succession.h has the same ones for frames that lie in a file, where nothing
 * has to be put in its place.
 *
 * Threads: one at a time for all that share an order_room.
 */
#ifndef VSIB_DRIVERS_ORDER_H
#define VSIB_DRIVERS_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/psn.h"
#include "drivers/staging.h"

#define ORDER_LOSS_MAX (INT64_C(1) << 24) /* a jump farther than this is no loss but a restart */

enum datagram_step {
	DATAGRAM_PASSED,    /* the payload is what comes next */
	DATAGRAM_KEPT,      /* a copy was made */
	DATAGRAM_DISCARDED, /* late, unwanted or there already */
	DATAGRAM_STRAY,     /* discarded: of another length or sender, or without a number */
};

/* What the streams of one source share. */
struct order_room {
	struct staging *staging; /* room for window payloads, two more, and one of each stream */
	uint32_t window;         /* datagrams, a power of two */
	size_t frame_bytes;
	uint64_t waiting_count; /* behind holes, of all streams */
	uint64_t held_count;    /* those of them that have a payload */
	uint64_t lost_count, late_count, duplicate_count, reordered_count;
	uint64_t stray_count, unwanted_count, restart_count;
	uint64_t discarded_bytes;
};

struct order;

/** order_create() - Return: NULL without memory */
struct order *order_create(const struct order_room *room);

/** order_free() - NULL is fine */
void order_free(struct order *order);

/**
 * order_take() - the next datagram as it comes
 * @may_pass: false: never DATAGRAM_PASSED
 */
enum datagram_step order_take(struct order *order, struct order_room *room, const struct psn *psn,
			      const void *payload, bool may_pass);

/** order_take_next() - one that has no number: it is the next one */
enum datagram_step order_take_next(struct order *order, struct order_room *room,
				   const void *payload, bool may_pass);

/** order_lose() - so many that have no number were lost before the next one */
void order_lose(struct order *order, struct order_room *room, uint64_t count);

/** order_rate() - numbers an interval has, as far as is known: more than any that was seen */
uint64_t order_rate(const struct order *order);

/** order_give_up() - what is missing is lost, what was kept becomes ready */
void order_give_up(struct order *order, struct order_room *room);

/**
 * order_end() - nothing more comes: the same, and what nobody agreed with is a stray
 * Return: how many are missing behind the last one.
 */
uint64_t order_end(struct order *order, struct order_room *room);

#endif
