/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "drivers/units.h"
#include "recorder/reader_parts.h"

/* The ring's blocks are the source's: those that came back from the disks go back to it. */
static void give_blocks(struct reader *r)
{
	uint32_t block;

	while ((block = ring_take(r->session->ring)) != RING_NONE) {
		source_give(r->session->source, block);
		r->given_count++;
	}
}

/* The ring has its own: there is one that is free. Return: that, with what was in the source's. */
static uint32_t copy_block(struct session *session, uint32_t from, size_t bytes)
{
	uint32_t block = ring_take(session->ring);

	memcpy(ring_data(session->ring, block),
	       (char *)session->lent + from * session->plan.block_bytes, bytes);
	source_give(session->source, from);
	return block;
}

/* A block that comes back meanwhile is wanted at once when few are left to be filled. */
static int64_t next_block_turn(const struct reader *r, int64_t turn_ns, int64_t now)
{
	const struct layout_plan *plan = &r->session->plan;
	int64_t soon = now + READER_TURN_NS / 50;

	return plan->is_borrowed && r->given_count < plan->block_count / 2 && soon < turn_ns ?
		       soon :
		       turn_ns;
}

/* Without a block nothing can come: that is the disk's silence, not the source's. */
static void excuse_silence(const struct reader *r)
{
	struct session *session = r->session;

	if (session->plan.is_borrowed && r->given_count == 0)
		atomic_store_explicit(&session->last_data_ns, units_monotonic_ns(),
				      memory_order_relaxed);
}

/* One block, whole: a limit that lies within it comes behind it. False when the stream is over. */
static bool take_block(struct reader *r, int64_t turn_ns)
{
	struct session *session = r->session;
	struct source_mark mark;
	int64_t deadline;
	uint32_t block;
	ssize_t n;

	if (session->plan.is_borrowed)
		give_blocks(r);
	deadline = next_block_turn(r, turn_ns, units_monotonic_ns());
	reader_into_device(session);
	n = source_take(session->source, &block, deadline, &mark);
	reader_out_of_device(session);
	if (n == SOURCE_NOT_YET)
		excuse_silence(r);
	if (n <= 0)
		return !reader_end_of_source(r, n, &mark);
	reader_note_packets(r, &mark); /* of nothing else it knows that it is missing */
	if (mark.lost_packets && session->config.on_overflow == OVERFLOW_STOP)
		session_stop(session, STOP_OVERFLOW);
	account_add(&session->account.received_bytes, (uint64_t)n);
	reader_note_data(r, units_monotonic_ns());
	reader_note_words(r);
	if (session->plan.is_borrowed)
		r->given_count--;
	else
		block = copy_block(session, block, (size_t)n);
	lanes_put(r->lanes, block, (size_t)n, r->position, mark.utc_ns);
	r->position += (uint64_t)n;
	return true;
}

/* While a ring of its own is full the source's fills up. */
static bool has_room(struct reader *r)
{
	struct session *session = r->session;
	uint32_t ticket = ring_listen(session->ring, RING_PRODUCER);

	if (session->plan.is_borrowed || lanes_has_block(r->lanes))
		return true;
	reader_wait_for_room(r, ticket);
	return false;
}

void reader_take_stream(struct reader *r)
{
	bool is_going = true;

	while (is_going && reader_may_go_on(r))
		if (has_room(r))
			is_going = take_block(r, reader_next_turn(r, units_monotonic_ns()));
}

/* What a source that lends its memory had when it was stopped; it had come when the ring was full, too. */
void reader_take_rest(struct reader *r)
{
	bool is_going = reader_has_leftover(r->session) ||
			atomic_load_explicit(&r->session->stop_reason, memory_order_acquire) ==
				STOP_OVERFLOW;

	while (is_going && reader_may_take_more(r))
		if (has_room(r))
			is_going = take_block(r, units_monotonic_ns() + READER_TURN_NS);
}
