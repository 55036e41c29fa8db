/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/reader_parts.h"
#include "recorder/room.h"

#define NEAR_BYTES (UINT64_C(8) << 20) /* stays in a core's share of the last cache */
#define NEAR_BLOCKS 4 /* at least: being written, and ready behind them, whatever their size */
#define NEAR_NS INT64_C(100000000)
#define SUM_PIECE ((size_t)256 << 10)
#define GRACE_NS INT64_C(250000000) /* a source we pace may deliver what was due by the deadline */

/* ---- calls that may never return ---- */

/*
 * A device can hold us in a call for ever, deaf to signals. The supervisor then ends the stream
 * for us, and when the call does return one day we must not touch anything any more: the thread
 * ends on the spot. It holds no lock there.
 */
void reader_into_device(struct session *session)
{
	int grip = GRIP_READER;

	/* release: whoever takes over sees lanes and counters as we left them */
	if (!atomic_compare_exchange_strong_explicit(&session->reader_grip, &grip, GRIP_DEVICE,
						     memory_order_release, memory_order_relaxed))
		pthread_exit(NULL);
}

void reader_out_of_device(struct session *session)
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

	reader_into_device(session);
	n = source_read(session->source, data, len, deadline_ns, mark);
	reader_out_of_device(session);
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
bool reader_may_go_on(struct reader *r)
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

size_t reader_within_limit(const struct reader *r, size_t len)
{
	uint64_t left = r->limit_bytes > r->position ? r->limit_bytes - r->position : 0;

	return left < len ? (size_t)left : len;
}

/* What is summed up is read in pieces that are still in the cache then. */
static size_t read_length(const struct reader *r, size_t room)
{
	return reader_within_limit(r, r->session->has_sums && room > SUM_PIECE ? SUM_PIECE : room);
}

int64_t reader_next_turn(const struct reader *r, int64_t now)
{
	return r->deadline_ns < now + READER_TURN_NS ? r->deadline_ns : now + READER_TURN_NS;
}

/* ---- what the source says ---- */

/* What has no place in the stream: what the source threw away, and packets of unknown length. */
void reader_note_packets(struct reader *r, const struct source_mark *mark)
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

void reader_note_data(struct reader *r, int64_t now)
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
void reader_note_words(struct reader *r)
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
void reader_note_overflow(struct reader *r, uint64_t bytes)
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
void reader_wait_for_room(struct reader *r, uint32_t ticket)
{
	struct session *session = r->session;
	int64_t now = units_monotonic_ns(), until = reader_next_turn(r, now), waited;

	/* what must be put even when the time is over */
	ring_sleep(session->ring, RING_PRODUCER, ticket, until > now ? until : now + READER_TURN_NS);
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

bool reader_end_of_source(struct reader *r, ssize_t result, const struct source_mark *mark)
{
	struct session *session = r->session;

	reader_note_packets(r, mark);
	/* lost at the very end: nothing comes behind it */
	reader_note_source_loss(r, mark, reader_is_to_be_filled(r, mark), 0);
	reader_note_words(r);
	if (result == SOURCE_NOT_YET) {
		note_silence(r, units_monotonic_ns());
		return false;
	}
	if (result == SOURCE_END) {
		session_stop(session, STOP_SOURCE_END);
		return true;
	}
	if (result == -EINTR)
		return false; /* told to look round: reader_may_go_on() decides */
	session_event(session, "source-failed", -1, "%s", session->source->error);
	session_stop(session, STOP_SOURCE_ERROR);
	return true;
}

/* The source can't wait: its bytes are read, counted and dropped. False when it has ended. */
static bool drop_some(struct reader *r)
{
	struct session *session = r->session;
	struct source_mark mark;
	size_t len = reader_within_limit(r, session->plan.block_bytes), taken;
	/* short turns: room may come any time, and this is no time to sleep */
	ssize_t n = read_device(session, session->scrap, len,
				units_monotonic_ns() + READER_TURN_NS / 20, &mark);

	if (n <= 0)
		return !reader_end_of_source(r, n, &mark);
	if (mark.lost_bytes)
		end_overflow(r); /* two causes, two gaps */
	reader_note_packets(r, &mark);
	reader_note_source_loss(r, &mark, false, 0);
	taken = reader_within_limit(r, (size_t)n);
	account_add(&session->account.received_bytes, (uint64_t)n);
	account_add(&session->account.discarded_bytes, (uint64_t)n - taken);
	reader_note_overflow(r, taken);
	reader_note_data(r, units_monotonic_ns());
	return true;
}

/* ---- the loop ---- */

void reader_note_fill(struct reader *r, const void *data, size_t bytes, size_t room, int64_t now)
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

/* One read into the ring. False when the stream is over. */
static bool read_some(struct reader *r, void *data, size_t room)
{
	struct session *session = r->session;
	struct source_mark mark;
	bool is_aside;
	int64_t utc_ns;
	size_t len = read_length(r, room), taken;
	int64_t now = units_monotonic_ns();
	ssize_t n = read_device(session, data, len, reader_next_turn(r, now), &mark);

	if (n <= 0)
		return !reader_end_of_source(r, n, &mark);
	now = units_monotonic_ns();
	utc_ns = mark.utc_ns ? mark.utc_ns : session_utc(session, now);
	is_aside = reader_is_to_be_filled(r, &mark);
	if (is_aside)
		memcpy(session->scrap, data, (size_t)n);
	reader_note_packets(r, &mark);
	reader_note_source_loss(r, &mark, is_aside, (size_t)n);
	account_add(&session->account.received_bytes, (uint64_t)n);
	taken = reader_within_limit(r, (size_t)n);
	/* what the source lost counts as stream: the last bytes may lie behind the limit */
	account_add(&session->account.discarded_bytes, (uint64_t)n - taken);
	reader_note_data(r, now);
	reader_note_words(r);
	if (taken == 0)
		return true;
	if (is_aside) {
		reader_put_aside(r, taken, utc_ns);
		return true;
	}
	reader_note_fill(r, data, taken, room, now);
	lanes_filled(r->lanes, taken, r->position, utc_ns);
	r->position += taken;
	return true;
}

static void read_stream(struct reader *r)
{
	struct session *session = r->session;
	bool is_going = true;

	while (is_going && reader_may_go_on(r)) {
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
			reader_wait_for_room(r, ticket);
		}
	}
	end_overflow(r);
}

/* Does the source still hold what is of the stream? Packets have come in time also when the time is over. */
bool reader_has_leftover(const struct session *session)
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
bool reader_may_take_more(struct reader *r)
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

/*
 * A board has a ring of its own, a socket its buffer; what they hold when the operator ends the stream still
 * belongs to it.
 */
static void empty_device(struct reader *r)
{
	struct session *session = r->session;
	int64_t deadline = units_monotonic_ns() + READER_DEVICE_NS;

	if (!reader_has_leftover(session))
		return;
	while (units_monotonic_ns() < deadline && reader_may_take_more(r)) {
		uint32_t ticket = ring_listen(session->ring, RING_PRODUCER);
		uint64_t before = r->position;
		void *data;
		size_t room = lanes_room(r->lanes, &data);

		if (room == 0) /* it has been stopped: now it can wait */
			reader_wait_for_room(r, ticket);
		else if (!read_some(r, data, room) || r->position == before)
			break;
		else if (session->source->has_packets) /* a buffer of any size, but it has an end */
			deadline = units_monotonic_ns() + READER_DEVICE_NS;
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

	reader_into_device(session);
	ret = source_start(session->source);
	reader_out_of_device(session);
	now = units_monotonic_ns();

	reader_note_words(r);
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
			reader_take_stream(&r);
		else
			read_stream(&r);
		reader_into_device(session);
		source_stop(session->source);
		reader_out_of_device(session);
		if (session->plan.is_lent)
			reader_take_rest(&r);
		else
			empty_device(&r);
		reader_note_words(&r);
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
