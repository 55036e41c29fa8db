/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "drivers/bytes.h"
#include "drivers/units.h"
#include "recorder/lanes.h"
#include "recorder/room.h"
#include "recorder/state.h"

#define TURN_NS \
	INT64_C(100000000) /* the reader looks round at least this often: limits, stop, silence */
#define DEVICE_NS \
	INT64_C(3000000000) /* to take what a device still holds after its stop; of packets: until the next ones */
#define NEAR_BYTES (UINT64_C(8) << 20) /* stays in a core's share of the last cache */
#define NEAR_BLOCKS 4 /* at least: being written, and ready behind them, whatever their size */
#define NEAR_NS INT64_C(100000000)
#define SUM_PIECE ((size_t)256 << 10)
#define GRACE_NS INT64_C(250000000) /* a source we pace may deliver what was due by the deadline */
#define FILL_SHARE 4 /* of the ring: so much of it stays free of fill, for what comes meanwhile */
#define FILL_RUNS 2  /* may begin before what was read in front of the fill has its block */

struct reader {
	struct session *session;
	struct lanes *lanes;
	uint64_t position;      /* in the stream: of the next byte */
	int64_t deadline_ns;    /* -d; INT64_MAX = none */
	uint64_t limit_bytes;   /* -n, or -d at the rate of a source we pace; UINT64_MAX = none */
	bool is_limit_duration; /* limit_bytes stands for -d */
	bool is_overflowing;    /* since overflow_from, nothing fits into the ring */
	uint64_t overflow_from;
	uint64_t overflow_bytes;
	int64_t overflow_ns;
	int64_t last_fill_ns; /* end of the last full block */
	bool is_silent;
	int64_t first_data_ns; /* 0 = nothing came yet */
	int64_t checked_ns;    /* when bytes were compared with the clock last */
	bool has_told_rate, has_told_fast;
	uint32_t given_count; /* of the ring's blocks, those that the source has whose memory they are */
	int64_t near_until_ns; /* the source is faster than the disk: until then we keep near it */
};

/* ---- calls that may never return ---- */

/*
 * A device can hold us in a call for ever, deaf to signals. The supervisor then ends the stream
 * for us, and when the call does return one day we must not touch anything any more: the thread
 * ends on the spot. It holds no lock there.
 */
static void into_device(struct session *session)
{
	int grip = GRIP_READER;

	/* release: whoever takes over sees lanes and counters as we left them */
	if (!atomic_compare_exchange_strong_explicit(&session->reader_grip, &grip, GRIP_DEVICE,
						     memory_order_release, memory_order_relaxed))
		pthread_exit(NULL);
}

static void out_of_device(struct session *session)
{
	int grip = GRIP_DEVICE;

	if (!atomic_compare_exchange_strong_explicit(&session->reader_grip, &grip, GRIP_READER,
						     memory_order_acquire, memory_order_relaxed))
		pthread_exit(NULL);
}

static ssize_t read_device(struct session *session, void *data, size_t len, int64_t deadline_ns,
			   struct source_mark *mark)
{
	ssize_t n;

	into_device(session);
	n = source_read(session->source, data, len, deadline_ns, mark);
	out_of_device(session);
	return n;
}

/* ---- limits ---- */

static void set_limits(struct reader *r)
{
	struct session *session = r->session;
	const struct session_config *config = &session->config;
	int64_t started = atomic_load_explicit(&session->started_ns, memory_order_relaxed);
	int64_t from = session->armed_ns;

	r->deadline_ns = INT64_MAX;
	r->limit_bytes = config->limit_bytes ? config->limit_bytes : UINT64_MAX;
	if (config->duration_ns == 0)
		return;
	/* a board, or a recording that was told when to start, runs from that moment */
	if (config->start_utc_ns || session->source->start_utc_ns)
		from = started;
	if (__builtin_add_overflow(from, config->duration_ns, &r->deadline_ns))
		r->deadline_ns = INT64_MAX;
	if (session->source->is_paced_by_us && session->source->rate_bps) {
		uint64_t due = units_bytes_at(session->source->rate_bps, config->duration_ns);

		if (__builtin_add_overflow(r->deadline_ns, GRACE_NS + (started - from), &r->deadline_ns))
			r->deadline_ns = INT64_MAX;
		if (due < r->limit_bytes) {
			r->limit_bytes = due;
			r->is_limit_duration = true;
		}
	}
	atomic_store_explicit(&session->deadline_ns, r->deadline_ns, memory_order_relaxed);
}

/* Is there for one more block? One that has been begun has its room. */
static bool is_room_left(const struct reader *r)
{
	return !lanes_is_between_blocks(r->lanes) ||
	       room_is_left(r->session, lanes_unput_runs(r->lanes));
}

/* False when the stream is to end now; says why to the session. */
static bool may_go_on(struct reader *r)
{
	struct session *session = r->session;

	if (atomic_load_explicit(&session->is_stopping, memory_order_acquire))
		return false;
	if (r->position >= r->limit_bytes) {
		session_stop(session, r->is_limit_duration ? STOP_DURATION : STOP_BYTES);
		return false;
	}
	if (units_monotonic_ns() >= r->deadline_ns) {
		session_stop(session, STOP_DURATION);
		return false;
	}
	if (!is_room_left(r)) {
		room_tell(session);
		session_stop(session, STOP_DISKS_FULL);
		return false;
	}
	return true;
}

static size_t within_limit(const struct reader *r, size_t len)
{
	uint64_t left = r->limit_bytes > r->position ? r->limit_bytes - r->position : 0;

	return left < len ? (size_t)left : len;
}

/* What is summed up is read in pieces that are still in the cache then. */
static size_t read_length(const struct reader *r, size_t room)
{
	return within_limit(r, r->session->has_sums && room > SUM_PIECE ? SUM_PIECE : room);
}

static int64_t next_turn(const struct reader *r, int64_t now)
{
	return r->deadline_ns < now + TURN_NS ? r->deadline_ns : now + TURN_NS;
}

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

/* ---- what the source says ---- */

/* What has no place in the stream: what the source threw away, and packets of unknown length. */
static void note_packets(struct reader *r, const struct source_mark *mark)
{
	struct session *session = r->session;

	account_add(&session->account.received_bytes, mark->discarded_bytes);
	account_add(&session->account.discarded_bytes, mark->discarded_bytes);
	if (mark->lost_packets)
		session_event(
			session, "packets-lost", -1,
			"%s dropped %" PRIu64
			" packets for want of room in its buffer; they are missing near stream offset %" PRIu64,
			session->source->name, mark->lost_packets, r->position);
}

static void note_silence(struct reader *r, int64_t now)
{
	struct session *session = r->session;
	int64_t since = now - atomic_load_explicit(&session->last_data_ns, memory_order_relaxed);

	if (r->is_silent || since < session->config.silence_ns || session->config.silence_ns == 0)
		return;
	r->is_silent = true;
	session_event(session, "source-silent", -1, "nothing has come from %s for %.1f s",
		      session->source->name, (double)since / 1e9);
}

static void note_data(struct reader *r, int64_t now)
{
	struct session *session = r->session;

	atomic_store_explicit(&session->last_data_ns, now, memory_order_relaxed);
	if (r->first_data_ns == 0)
		r->first_data_ns = now;
	if (!r->is_silent)
		return;
	r->is_silent = false;
	session_event(session, "source-back", -1, "data come from %s again", session->source->name);
}

/* What the source has to say in words, line by line. */
static void note_words(struct reader *r)
{
	struct session *session = r->session;
	char words[SOURCE_ERROR_LEN], *rest = words, *line;

	if (!session->source->note[0])
		return;
	memcpy(words, session->source->note, sizeof(words));
	session->source->note[0] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL)
		session_event(session, "source-note", -1, "%s", line);
}

/* ---- bytes against clock ---- */

/*
 * A device that loses silently delivers less than its rate. Told once, when a quarter of a
 * second's worth and a thousandth of what should have come is missing; what is too much is told
 * as well. What a board lost its own source tells better (vsib.c), and what we pace ourselves
 * needs no check.
 */
static void check_rate(struct reader *r, int64_t now)
{
	struct session *session = r->session;
	const struct source *source = session->source;
	uint64_t expected, tolerance;

	if (source->rate_bps == 0 || source->is_paced_by_us || r->first_data_ns == 0 ||
	    now - r->first_data_ns < UNITS_NS_PER_S / 2)
		return;
	expected = units_bytes_at(source->rate_bps, now - r->first_data_ns);
	tolerance = units_bytes_at(source->rate_bps, UNITS_NS_PER_S / 4);
	if (expected / 1000 > tolerance)
		tolerance = expected / 1000;
	if (r->position > expected + tolerance + session->plan.block_bytes && !r->has_told_fast) {
		r->has_told_fast = true;
		session_event(session, "source-fast", -1,
			      "%s comes at %.2f %% of the rate given: is the rate, clock or mode right? Losses can't be told by a wrong one",
			      source->name, (double)r->position * 100 / (double)expected);
	}
	if (source->checks_clock)
		return;
	if (r->position + tolerance >= expected) {
		atomic_store_explicit(&session->missing_bytes, 0, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(&session->missing_bytes, expected - r->position, memory_order_relaxed);
	if (r->has_told_rate)
		return;
	r->has_told_rate = true;
	session_event(session, "source-slow", -1,
		      "%s came at %.2f %% of the rate given: about %" PRIu64 " bytes are missing %s",
		      source->name, (double)r->position * 100 / (double)expected,
		      expected - r->position, source->can_wait ? "or late" : "by the clock");
}

/* ---- a full ring ---- */

static void end_overflow(struct reader *r)
{
	struct session *session = r->session;

	if (!r->is_overflowing)
		return;
	r->is_overflowing = false;
	session_gap(session, (struct gap){ .stream_offset = r->overflow_from,
					   .bytes = r->overflow_bytes,
					   .cause = GAP_OVERFLOW });
	session_notice(session,
		       "the ring was full for %.3f s: %" PRIu64 " bytes lost at stream offset %" PRIu64,
		       (double)(units_monotonic_ns() - r->overflow_ns) / 1e9, r->overflow_bytes,
		       r->overflow_from);
}

/* Bytes that were received and have no place. */
static void note_overflow(struct reader *r, uint64_t bytes)
{
	struct session *session = r->session;

	if (!r->is_overflowing) {
		r->is_overflowing = true;
		r->overflow_from = r->position;
		r->overflow_bytes = 0;
		r->overflow_ns = units_monotonic_ns();
		account_add(&session->account.overflow_count, 1);
		if (session->config.on_overflow == OVERFLOW_STOP)
			session_stop(session, STOP_OVERFLOW);
	}
	account_add(&session->account.overflow_bytes, bytes);
	r->overflow_bytes += bytes;
	r->position += bytes;
}

/* The source can wait: so do we, until a block comes back. */
static void wait_for_room(struct reader *r, uint32_t ticket)
{
	struct session *session = r->session;
	int64_t now = units_monotonic_ns(), until = next_turn(r, now), waited;

	/* what must be put even when the time is over */
	ring_sleep(session->ring, RING_PRODUCER, ticket, until > now ? until : now + TURN_NS);
	waited = units_monotonic_ns() - now;
	/* relaxed: ours alone to write */
	atomic_store_explicit(&session->waited_ns,
			      atomic_load_explicit(&session->waited_ns, memory_order_relaxed) + waited,
			      memory_order_relaxed);
	r->near_until_ns = waited < NEAR_NS ? now + waited + NEAR_NS : 0;
	/* silence is the source's, not ours */
	atomic_store_explicit(&session->last_data_ns, now + waited, memory_order_relaxed);
}

/*
 * A source that can wait and has filled the whole ring is faster than the disk. Being so far ahead gains
 * nothing then, but what goes through a large ring is in no cache any more when it is written, nor
 * when it is filled again. So from then on we keep near the writer, as long as we have to wait for it time
 * and again, but not for long: when the source gets slower, or the disk stalls, the whole ring counts
 * again. Where runs are held until they are durable they must fit.
 */
static bool is_far_ahead(const struct reader *r, int64_t now)
{
	const struct session *session = r->session;
	uint64_t held_bytes;

	if (now >= r->near_until_ns || session->disk_count > 1)
		return false;
	held_bytes = ring_level(session->ring).held_bytes;
	return held_bytes >= NEAR_BYTES && held_bytes >= NEAR_BLOCKS * session->plan.block_bytes;
}

/* ---- what the source lost, and fill in its place ---- */

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
		if (r->session->can_drop || !may_go_on(r))
			return 0;
		wait_for_room(r, ticket);
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
	uint64_t wanted = within_limit(r, mark->lost_bytes), done = 0;
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
static void note_source_loss(struct reader *r, const struct source_mark *mark, bool is_filled,
			     size_t behind)
{
	struct session *session = r->session;
	int64_t utc_ns = mark->utc_ns ? mark->utc_ns : session_utc(session, units_monotonic_ns());
	uint64_t from = r->position, filled = 0;
	char words[64] = "";

	if (mark->lost_bytes == 0)
		return;
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

static bool is_to_be_filled(const struct reader *r, const struct source_mark *mark)
{
	return mark->lost_bytes > 0 && r->session->config.fill != FILL_NONE;
}

static bool end_of_source(struct reader *r, ssize_t result, const struct source_mark *mark)
{
	struct session *session = r->session;

	note_packets(r, mark);
	/* lost at the very end: nothing comes behind it */
	note_source_loss(r, mark, is_to_be_filled(r, mark), 0);
	note_words(r);
	if (result == SOURCE_NOT_YET) {
		note_silence(r, units_monotonic_ns());
		return false;
	}
	if (result == SOURCE_END) {
		session_stop(session, STOP_SOURCE_END);
		return true;
	}
	if (result == -EINTR)
		return false; /* told to look round: may_go_on() decides */
	session_event(session, "source-failed", -1, "%s", session->source->error);
	session_stop(session, STOP_SOURCE_ERROR);
	return true;
}

/* The source can't wait: its bytes are read, counted and dropped. False when it has ended. */
static bool drop_some(struct reader *r)
{
	struct session *session = r->session;
	struct source_mark mark;
	size_t len = within_limit(r, session->plan.block_bytes), taken;
	/* short turns: room may come any time, and this is no time to sleep */
	ssize_t n =
		read_device(session, session->scrap, len, units_monotonic_ns() + TURN_NS / 20, &mark);

	if (n <= 0)
		return !end_of_source(r, n, &mark);
	if (mark.lost_bytes)
		end_overflow(r); /* two causes, two gaps */
	note_packets(r, &mark);
	note_source_loss(r, &mark, false, 0);
	taken = within_limit(r, (size_t)n);
	account_add(&session->account.received_bytes, (uint64_t)n);
	account_add(&session->account.discarded_bytes, (uint64_t)n - taken);
	note_overflow(r, taken);
	note_data(r, units_monotonic_ns());
	return true;
}

/* ---- the loop ---- */

static void note_fill(struct reader *r, const void *data, size_t bytes, size_t room, int64_t now)
{
	struct session *session = r->session;
	/*
	 * a read may begin in the middle of a sample word: where words begin, the stream offset
	 * tells
	 */
	size_t skip = (size_t)(-r->position % sizeof(uint32_t));

	if (bytes > skip)
		watch_look(&session->watch, (const char *)data + skip, bytes - skip, now);
	if (bytes < room)
		return;
	if (r->last_fill_ns && now - r->last_fill_ns > atomic_load_explicit(&session->longest_fill_ns,
									    memory_order_relaxed))
		atomic_store_explicit(&session->longest_fill_ns, now - r->last_fill_ns,
				      memory_order_relaxed);
	r->last_fill_ns = now;
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
	if (*until == INT64_MAX && !may_go_on(r))
		*until = now + DEVICE_NS;
	if (session->can_drop || now >= *until) {
		note_overflow(r, left);
		return false;
	}
	wait_for_room(r, ticket);
	return true;
}

/* What waits aside while fill takes its place goes behind it. There is room for it, unless the ring has very few blocks. */
static void put_aside(struct reader *r, size_t bytes, int64_t utc_ns)
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
		note_fill(r, to, len, room, units_monotonic_ns());
		lanes_filled(r->lanes, len, r->position, later(r, utc_ns, done));
		r->position += len;
		done += len;
	}
}

/* One read into the ring. False when the stream is over. */
static bool read_some(struct reader *r, void *data, size_t room)
{
	struct session *session = r->session;
	struct source_mark mark;
	bool is_aside;
	int64_t utc_ns;
	size_t len = read_length(r, room), taken;
	int64_t now = units_monotonic_ns();
	ssize_t n = read_device(session, data, len, next_turn(r, now), &mark);

	if (n <= 0)
		return !end_of_source(r, n, &mark);
	now = units_monotonic_ns();
	utc_ns = mark.utc_ns ? mark.utc_ns : session_utc(session, now);
	is_aside = is_to_be_filled(r, &mark);
	if (is_aside)
		memcpy(session->scrap, data, (size_t)n);
	note_packets(r, &mark);
	note_source_loss(r, &mark, is_aside, (size_t)n);
	account_add(&session->account.received_bytes, (uint64_t)n);
	taken = within_limit(r, (size_t)n);
	/* what the source lost counts as stream: the last bytes may lie behind the limit */
	account_add(&session->account.discarded_bytes, (uint64_t)n - taken);
	note_data(r, now);
	note_words(r);
	if (taken == 0)
		return true;
	if (is_aside) {
		put_aside(r, taken, utc_ns);
		return true;
	}
	note_fill(r, data, taken, room, now);
	lanes_filled(r->lanes, taken, r->position, utc_ns);
	r->position += taken;
	return true;
}

static void read_stream(struct reader *r)
{
	struct session *session = r->session;
	bool is_going = true;

	while (is_going && may_go_on(r)) {
		uint32_t ticket = ring_listen(session->ring, RING_PRODUCER);
		void *data;
		size_t room = lanes_room(r->lanes, &data);
		int64_t now = units_monotonic_ns();

		if (now - r->checked_ns > UNITS_NS_PER_S) {
			r->checked_ns = now;
			check_rate(r, now);
		}
		if (room > 0 && !is_far_ahead(r, now)) {
			end_overflow(r);
			is_going = read_some(r, data, room);
		} else if (room == 0 && session->can_drop) {
			is_going = drop_some(r);
		} else {
			wait_for_room(r, ticket);
		}
	}
	end_overflow(r);
}

/* ---- a source that lends its memory ---- */

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
	int64_t soon = now + TURN_NS / 50;

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
	into_device(session);
	n = source_take(session->source, &block, deadline, &mark);
	out_of_device(session);
	if (n == SOURCE_NOT_YET)
		excuse_silence(r);
	if (n <= 0)
		return !end_of_source(r, n, &mark);
	note_packets(r, &mark); /* of nothing else it knows that it is missing */
	if (mark.lost_packets && session->config.on_overflow == OVERFLOW_STOP)
		session_stop(session, STOP_OVERFLOW);
	account_add(&session->account.received_bytes, (uint64_t)n);
	note_data(r, units_monotonic_ns());
	note_words(r);
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
	wait_for_room(r, ticket);
	return false;
}

static void take_stream(struct reader *r)
{
	bool is_going = true;

	while (is_going && may_go_on(r))
		if (has_room(r))
			is_going = take_block(r, next_turn(r, units_monotonic_ns()));
}

/* Does the source still hold what is of the stream? Packets have come in time also when the time is over. */
static bool has_leftover(const struct session *session)
{
	int reason = atomic_load_explicit(&session->stop_reason, memory_order_acquire);

	if (session->source->has_packets && !session->source->can_wait)
		return reason == STOP_SIGNAL || reason == STOP_DURATION;
	return reason == STOP_SIGNAL && account_get(&session->source->stats.device_ring_bytes) > 0;
}

/*
 * What it holds is wanted, unless there is enough of it already; where the disks have no room for it, it is missing
 * at the end.
 */
static bool may_take_more(struct reader *r)
{
	struct session *session = r->session;

	if (r->position >= r->limit_bytes ||
	    atomic_load_explicit(&session->is_aborting, memory_order_relaxed))
		return false;
	if (is_room_left(r))
		return true;
	room_tell(session);
	/* relaxed: a flag by itself */
	atomic_store_explicit(&session->source->is_incomplete, true, memory_order_relaxed);
	return false;
}

/* What a source that lends its memory had when it was stopped; it had come when the ring was full, too. */
static void take_rest(struct reader *r)
{
	bool is_going = has_leftover(r->session) ||
			atomic_load_explicit(&r->session->stop_reason, memory_order_acquire) ==
				STOP_OVERFLOW;

	while (is_going && may_take_more(r))
		if (has_room(r))
			is_going = take_block(r, units_monotonic_ns() + TURN_NS);
}

/*
 * A board has a ring of its own, a socket its buffer; what they hold when the operator ends the stream still
 * belongs to it.
 */
static void empty_device(struct reader *r)
{
	struct session *session = r->session;
	int64_t deadline = units_monotonic_ns() + DEVICE_NS;

	if (!has_leftover(session))
		return;
	while (units_monotonic_ns() < deadline && may_take_more(r)) {
		uint32_t ticket = ring_listen(session->ring, RING_PRODUCER);
		uint64_t before = r->position;
		void *data;
		size_t room = lanes_room(r->lanes, &data);

		if (room == 0) /* it has been stopped: now it can wait */
			wait_for_room(r, ticket);
		else if (!read_some(r, data, room) || r->position == before)
			break;
		else if (session->source->has_packets) /* a buffer of any size, but it has an end */
			deadline = units_monotonic_ns() + DEVICE_NS;
	}
	/* what there was no room for in that time is an overflow like any other */
	while (session->source->has_packets && session->can_drop && r->position < r->limit_bytes &&
	       !atomic_load_explicit(&session->is_aborting, memory_order_relaxed) && drop_some(r))
		;
	end_overflow(r);
}

static int start_source(struct reader *r)
{
	struct session *session = r->session;
	int64_t now, utc, first_utc;
	int ret;

	into_device(session);
	ret = source_start(session->source);
	out_of_device(session);
	now = units_monotonic_ns();

	note_words(r);
	if (ret < 0) {
		if (ret != -EINTR) {
			session_event(session, "source-failed", -1, "%s", session->source->error);
			session_stop(session, STOP_SOURCE_ERROR);
		}
		return ret;
	}
	atomic_store_explicit(&session->running_ns, now, memory_order_relaxed);
	/* a board is started up to a second before its first sample */
	utc = session_utc(session, now);
	first_utc = session->source->start_utc_ns ? session->source->start_utc_ns : utc;
	if (first_utc > utc && first_utc - utc < 2 * UNITS_NS_PER_S)
		now += first_utc - utc;
	atomic_store_explicit(&session->start_utc_ns, first_utc, memory_order_relaxed);
	atomic_store_explicit(&session->last_data_ns, now, memory_order_relaxed);
	atomic_store_explicit(&session->started_ns, now, memory_order_release);
	return 0;
}

void *reader_main(void *arg)
{
	struct session *session = arg;
	struct reader r = { .session = session, .lanes = session->lanes };

	pthread_setname_np(pthread_self(), "reader");
	if (start_source(&r) == 0) {
		set_limits(&r);
		if (session->plan.is_lent)
			take_stream(&r);
		else
			read_stream(&r);
		into_device(session);
		source_stop(session->source);
		out_of_device(session);
		if (session->plan.is_lent)
			take_rest(&r);
		else
			empty_device(&r);
		note_words(&r);
	}
	lanes_finish(r.lanes);
	atomic_store_explicit(&session->reader_cpu, sched_getcpu(), memory_order_relaxed);
	atomic_store_explicit(&session->reader_policy, sched_getscheduler(0), memory_order_relaxed);
	atomic_store_explicit(&session->stream_ended_ns, units_monotonic_ns(), memory_order_relaxed);
	/*
	 * release: every put comes before this; a writer that sees it and an empty ring is through
	 */
	atomic_store_explicit(&session->has_stream_ended, true, memory_order_release);
	ring_wake_all(session->ring);
	session_poke(session);
	return NULL;
}
