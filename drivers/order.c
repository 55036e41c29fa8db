/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/order.h"

#include <stdlib.h>
#include <string.h>

#define HISTORY_MIN 256 /* of those handed out so many are remembered at least */
#define NOTHING UINT32_MAX
#define UNWANTED (UINT32_MAX - 1) /* has its number, and no payload */

/*
 * Positions are numbers that go on where an interval ends or 32 bits are over. They are compared by their
 * difference, so that none is too large.
 */
struct order {
	bool has_begun;
	uint64_t head;           /* the next one to hand out */
	uint64_t newest;         /* of those believed; head - 1 when nothing is held */
	uint64_t interval, base; /* base: the position of number 0 in this interval */
	uint64_t rate;           /* numbers an interval has: as far as known */
	uint64_t lost;           /* before the next that becomes ready */
	uint64_t *was_there;     /* bit position % history: was handed out; of those before head */
	uint64_t history;        /* a power of two */
	uint32_t *held;          /* position % window: its place in the staging memory */
	uint32_t held_count;     /* with the unwanted */
	bool has_jump;           /* a datagram far away, that is not believed yet */
	uint64_t jump;
	struct psn jump_psn;
	uint32_t jump_place;
};

struct order *order_create(const struct order_room *room)
{
	struct order *order = calloc(1, sizeof(*order));

	if (!order)
		return NULL;
	order->history = room->window > HISTORY_MIN ? room->window : HISTORY_MIN;
	order->was_there = calloc(order->history / 64, sizeof(order->was_there[0]));
	order->held = malloc(room->window * sizeof(order->held[0]));
	if (!order->was_there || !order->held) {
		order_free(order);
		return NULL;
	}
	for (uint32_t i = 0; i < room->window; i++)
		order->held[i] = NOTHING;
	return order;
}

void order_free(struct order *order)
{
	if (!order)
		return;
	free(order->held);
	free(order->was_there);
	free(order);
}

/* How far one position is ahead of another. */
static int64_t ahead(uint64_t position, uint64_t other)
{
	return (int64_t)(position - other);
}

/* ---- what has been handed out ---------------------------------------------------------------- */

static void remember(struct order *order, uint64_t position, bool was_there)
{
	uint64_t *word = &order->was_there[position % order->history / 64];
	uint64_t bit = UINT64_C(1) << position % 64;

	*word = was_there ? *word | bit : *word & ~bit;
}

static bool was_there(const struct order *order, uint64_t position)
{
	return order->was_there[position % order->history / 64] >> position % 64 & 1;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static enum datagram_step discard(struct order_room *room, uint64_t *count)
{
	(*count)++;
	room->discarded_bytes += room->frame_bytes;
	return DATAGRAM_DISCARDED;
}

static uint32_t keep(struct order_room *room, const struct psn *psn, const void *payload)
{
	if (!psn->is_unwanted)
		return staging_keep(room->staging, payload, room->frame_bytes);
	discard(room, &room->unwanted_count);
	return UNWANTED;
}

static void lose(struct order *order, struct order_room *room, uint64_t count)
{
	order->lost += count;
	room->lost_count += count;
}

/* The head moves on by one: it is there, or it is lost. */
static void step(struct order *order, struct order_room *room)
{
	uint32_t *held = &order->held[order->head & (room->window - 1)];

	remember(order, order->head, *held != NOTHING);
	if (*held == NOTHING) {
		lose(order, room, 1);
	} else {
		order->held_count--;
		room->waiting_count--;
		if (*held != UNWANTED) {
			room->held_count--;
			staging_push(room->staging, *held, order->lost);
			order->lost = 0;
		}
		*held = NOTHING;
	}
	order->head++;
}

static void release(struct order *order, struct order_room *room)
{
	while (order->held_count > 0 && order->held[order->head & (room->window - 1)] != NOTHING)
		step(order, room);
}

void order_give_up(struct order *order, struct order_room *room)
{
	while (order->held_count > 0)
		step(order, room);
}

/* Near the others and not there yet. */
static void insert(struct order *order, struct order_room *room, uint64_t position, uint32_t place)
{
	while (ahead(position, order->head) >= room->window)
		step(order, room);
	order->held[position & (room->window - 1)] = place;
	order->held_count++;
	room->waiting_count++;
	room->held_count += place != UNWANTED;
	if (ahead(position, order->newest) > 0)
		order->newest = position;
	release(order, room);
}

/* ---- positions ------------------------------------------------------------------------------- */

static void raise_rate(struct order *order, const struct psn *psn)
{
	if (psn->number >= order->rate)
		order->rate = psn->number + 1;
	if (psn->rate > order->rate)
		order->rate = psn->rate;
}

static uint64_t position_of(const struct order *order, const struct psn *psn)
{
	if (psn->is_32_bit)
		return order->newest +
		       (uint64_t)(int64_t)(int32_t)((uint32_t)psn->number - (uint32_t)order->newest);
	return order->base + (psn->interval - order->interval) * order->rate + psn->number;
}

/* From here on positions count from this datagram's interval. */
static void accept(struct order *order, const struct psn *psn, uint64_t position)
{
	if (ahead(position, order->newest) > 0 && psn->interval != order->interval) {
		order->base = position - psn->number;
		order->interval = psn->interval;
	}
	raise_rate(order, psn);
}

static void begin(struct order *order, const struct psn *psn)
{
	order->has_begun = true;
	order->interval = psn->interval;
	order->base = 0;
	order->head = psn->number;
	order->newest = order->head - 1;
	raise_rate(order, psn);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static void drop_jump(struct order *order, struct order_room *room)
{
	if (!order->has_jump)
		return;
	order->has_jump = false;
	if (order->jump_place == UNWANTED)
		return;
	staging_drop(room->staging, order->jump_place);
	discard(room, &room->stray_count);
}

/* Two neighbours agree on a place far away: the stream goes on from there. */
static enum datagram_step believe(struct order *order, struct order_room *room,
				  const struct psn *psn, uint64_t position, const void *payload)
{
	uint32_t place = keep(room, psn, payload);
	uint64_t from = ahead(position, order->jump) < 0 ? position : order->jump;
	int64_t missing;

	order_give_up(order, room);
	missing = ahead(from, order->head);
	if (missing >= 0 && missing <= ORDER_LOSS_MAX)
		lose(order, room, (uint64_t)missing);
	else
		room->restart_count++;
	memset(order->was_there, 0, order->history / 8);
	order->head = from;
	order->newest = from - 1;
	order->has_jump = false;
	accept(order, &order->jump_psn, order->jump);
	insert(order, room, order->jump, order->jump_place);
	room->reordered_count += from == position;
	accept(order, psn, position);
	insert(order, room, position, place);
	return place == UNWANTED ? DATAGRAM_DISCARDED : DATAGRAM_KEPT;
}

static enum datagram_step take_far(struct order *order, struct order_room *room,
				   const struct psn *psn, uint64_t position, const void *payload)
{
	if (order->has_jump && position == order->jump)
		return discard(room, &room->duplicate_count);
	if (order->has_jump && llabs(ahead(position, order->jump)) < room->window)
		return believe(order, room, psn, position, payload);
	drop_jump(order, room);
	order->has_jump = true;
	order->jump = position;
	order->jump_psn = *psn;
	order->jump_place = keep(room, psn, payload);
	return DATAGRAM_KEPT;
}

static enum datagram_step take_near(struct order *order, struct order_room *room, const struct psn *psn,
				    uint64_t position, const void *payload, bool may_pass)
{
	uint32_t place;

	if (ahead(position, order->head) < 0)
		return discard(room, was_there(order, position) ? &room->duplicate_count :
								  &room->late_count);
	if (ahead(position, order->head) < room->window &&
	    order->held[position & (room->window - 1)] != NOTHING)
		return discard(room, &room->duplicate_count);
	room->reordered_count += ahead(position, order->newest) < 0;
	accept(order, psn, position);
	if (position == order->head && order->held_count == 0 && order->lost == 0 && may_pass &&
	    !psn->is_unwanted) {
		remember(order, order->head++, true);
		order->newest = position;
		return DATAGRAM_PASSED;
	}
	place = keep(room, psn, payload);
	insert(order, room, position, place);
	return place == UNWANTED ? DATAGRAM_DISCARDED : DATAGRAM_KEPT;
}

enum datagram_step order_take(struct order *order, struct order_room *room, const struct psn *psn,
			      const void *payload, bool may_pass)
{
	int64_t later;
	uint64_t position;

	if (!order->has_begun)
		begin(order, psn);
	position = position_of(order, psn);
	later = ahead(position, order->newest);
	if (later > room->window || ahead(position, order->head) < -(int64_t)order->history)
		return take_far(order, room, psn, position, payload);
	drop_jump(order, room);
	return take_near(order, room, psn, position, payload, may_pass);
}

enum datagram_step order_take_next(struct order *order, struct order_room *room,
				   const void *payload, bool may_pass)
{
	if (order->lost == 0 && may_pass)
		return DATAGRAM_PASSED;
	staging_push(room->staging, staging_keep(room->staging, payload, room->frame_bytes),
		     order->lost);
	order->lost = 0;
	return DATAGRAM_KEPT;
}

void order_lose(struct order *order, struct order_room *room, uint64_t count)
{
	lose(order, room, count);
}

uint64_t order_rate(const struct order *order)
{
	return order->rate;
}

uint64_t order_end(struct order *order, struct order_room *room)
{
	order_give_up(order, room);
	drop_jump(order, room);
	return order->lost;
}
