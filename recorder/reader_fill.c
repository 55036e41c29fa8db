/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drivers/bytes.h"
#include "drivers/units.h"
#include "recorder/reader_parts.h"
#include "recorder/room.h"

#define FILL_SHARE 4 /* of the ring: so much of it stays free of fill, for what comes meanwhile */
#define FILL_RUNS 2  /* may begin before what was read in front of the fill has its block */

/* The time @bytes behind one that is told, as well as the rate tells. */
static int64_t later(const struct reader *r, int64_t utc_ns, uint64_t bytes)
{
	uint64_t rate_bps = r->session->source->rate_bps;

	return rate_bps ? utc_ns + units_time_for(bytes, rate_bps) : utc_ns;
}

static int64_t earlier(const struct reader *r, int64_t utc_ns, uint64_t bytes)
{
	uint64_t rate_bps = r->session->source->rate_bps;
	int64_t ns = rate_bps ? units_time_for(bytes, rate_bps) : 0;

	return ns < utc_ns ? utc_ns - ns : utc_ns;
}

/*
 * Fill must not cost what really comes. A source that can't wait has a share of the ring for itself, and
 * what was read already must find room behind the fill, in the ring and on the disks.
 */
static bool may_fill(const struct reader *r)
{
	const struct session *session = r->session;
	uint32_t copies = session->plan.has_second ? 2 : 1;

	if (session->can_drop &&
	    ring_free_count(session->ring) <= session->plan.block_count / FILL_SHARE + FILL_RUNS)
		return false;
	return room_is_left(session, lanes_unput_runs(r->lanes) + FILL_RUNS * copies);
}

/*
 * Where the next piece of fill goes, and how long it may be. In a block that has been begun there is always room,
 * if what was read, @behind bytes, fits in behind it. 0: no more of it.
 */
static size_t fill_room(struct reader *r, size_t behind, uint64_t wanted, void **to)
{
	for (;;) {
		uint32_t ticket = ring_listen(r->session->ring, RING_PRODUCER);
		bool is_new = lanes_is_between_blocks(r->lanes);
		size_t room, len;

		if (is_new && !may_fill(r))
			return 0;
		room = lanes_room(r->lanes, to);
		len = wanted < room ? (size_t)wanted : room;
		if (len > 0)
			return is_new || len + behind <= room || may_fill(r) ? len : 0;
		if (r->session->can_drop || !reader_may_go_on(r))
			return 0;
		reader_wait_for_room(r, ticket);
	}
}

static void put_fill(struct reader *r, const struct source_mark *mark, void *to, size_t len,
		     int64_t utc_ns)
{
	struct session *session = r->session;

	if (session->config.fill == FILL_VDIF_INVALID)
		source_fill(session->source, to, len);
	else
		bytes_put_fill(to, len, r->position);
	/* before the bytes: no journal says that they are there, and not what they are */
	session_gap(session, (struct gap){ .stream_offset = r->position,
					   .bytes = len,
					   .cause = GAP_SOURCE,
					   .is_estimated = mark->is_estimated,
					   .is_filled = true });
	account_add(&session->account.filled_bytes, len);
	lanes_filled(r->lanes, len, r->position, utc_ns);
	r->position += len;
}

/* As much as there is room for. Return: how many bytes. */
static uint64_t fill(struct reader *r, const struct source_mark *mark, size_t behind, int64_t utc_ns)
{
	uint64_t wanted = reader_within_limit(r, mark->lost_bytes), done = 0;
	size_t len;
	void *to;

	while (done < wanted && (len = fill_room(r, behind, wanted - done, &to)) > 0) {
		put_fill(r, mark, to, len, later(r, utc_ns, done));
		done += len;
	}
	return done;
}

/*
 * Bytes the source lost before the data just read: the stream goes on behind them.
 * @behind: so many of those data wait until the fill has its place; they are not where it goes
 */
void reader_note_source_loss(struct reader *r, const struct source_mark *mark, bool is_filled,
			     size_t behind)
{
	struct session *session = r->session;
	uint64_t from = r->position, filled = 0;
	char words[64] = "";
	int64_t utc_ns;

	if (mark->lost_bytes == 0)
		return;
	utc_ns = mark->utc_ns ? mark->utc_ns : session_utc(session, units_monotonic_ns());
	account_add(&session->account.source_lost_bytes, mark->lost_bytes);
	if (mark->is_estimated)
		account_add(&session->account.estimated_bytes, mark->lost_bytes);
	if (is_filled)
		filled = fill(r, mark, behind, earlier(r, utc_ns, mark->lost_bytes));
	session_gap(session, (struct gap){ .stream_offset = r->position,
					   .bytes = mark->lost_bytes - filled,
					   .cause = GAP_SOURCE,
					   .is_estimated = mark->is_estimated });
	if (filled)
		snprintf(words, sizeof(words), ", %" PRIu64 " of them filled", filled);
	session_notice(session, "the source lost %s%" PRIu64 " bytes at stream offset %" PRIu64 "%s",
		       mark->is_estimated ? "about " : "", mark->lost_bytes, from, words);
	r->position = from + mark->lost_bytes;
}

bool reader_is_to_be_filled(const struct reader *r, const struct source_mark *mark)
{
	return mark->lost_bytes > 0 && r->session->config.fill != FILL_NONE;
}

/*
 * The ring is full, and @left bytes wait aside: they get their place, unless their source can't wait, or the stream
 * is to end. Then a disk has @until to give a block back. False: they are lost, and counted.
 */
static bool wait_aside(struct reader *r, size_t left, uint32_t ticket, int64_t *until)
{
	struct session *session = r->session;
	int64_t now = units_monotonic_ns();

	if (atomic_load_explicit(&session->is_aborting, memory_order_relaxed)) {
		/* the stream ends before these: nobody gives blocks back any more */
		account_add(&session->account.discarded_bytes, left);
		return false;
	}
	if (*until == INT64_MAX && !reader_may_go_on(r))
		*until = now + READER_DEVICE_NS;
	if (session->can_drop || now >= *until) {
		reader_note_overflow(r, left);
		return false;
	}
	reader_wait_for_room(r, ticket);
	return true;
}

/* What waits aside while fill takes its place goes behind it. There is room for it, unless the ring has very few blocks. */
void reader_put_aside(struct reader *r, size_t bytes, int64_t utc_ns)
{
	const char *from = r->session->scrap;
	int64_t until = INT64_MAX;
	size_t done = 0;

	while (done < bytes) {
		uint32_t ticket = ring_listen(r->session->ring, RING_PRODUCER);
		void *to;
		size_t room = lanes_room(r->lanes, &to);
		size_t len = bytes - done < room ? bytes - done : room;

		if (len == 0 && !wait_aside(r, bytes - done, ticket, &until))
			return;
		if (len == 0)
			continue;
		memcpy(to, from + done, len);
		reader_note_fill(r, to, len, room, units_monotonic_ns());
		lanes_filled(r->lanes, len, r->position, later(r, utc_ns, done));
		r->position += len;
		done += len;
	}
}
