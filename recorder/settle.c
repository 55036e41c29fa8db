/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/settle.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "drivers/units.h"
#include "recorder/disk.h"
#include "recorder/lanes.h"
#include "recorder/outbox.h"

#define JOURNAL_NS (INT64_C(20) * UNITS_NS_PER_S)
#define OUT_NS (UNITS_NS_PER_S / 2) /* what the threads of a failed or stuck disk get at the end */
#define GIVE_UP_NS \
	(INT64_C(10) * UNITS_NS_PER_S) /* takes a moment, unless this machine stands still */

static const char *const outcome_names[] = { "complete", "loss", "degraded", "stopped" };

const char *session_reason_name(const struct session *session)
{
	static const char *const names[] = { "none",      "signal",     "duration",
					     "bytes",     "source-end", "source-error",
					     "last-disk", "overflow",   "disks-full" };

	if (atomic_load_explicit(&session->is_aborting, memory_order_relaxed))
		return "abort";
	return names[atomic_load_explicit(&session->stop_reason, memory_order_acquire)];
}

const char *session_outcome_name(enum session_outcome outcome)
{
	return outcome_names[outcome];
}

int64_t session_duration_ns(const struct session *session)
{
	int64_t started = atomic_load_explicit(&session->started_ns, memory_order_relaxed);

	if (started < session->armed_ns || started > session->ended_ns)
		started = session->armed_ns;
	return session->ended_ns - started;
}

/* Waits until @is_done says so for the session, at most until the deadline. */
static bool wait_until(struct session *session, bool (*is_done)(const struct session *),
		       int64_t deadline_ns)
{
	while (!is_done(session)) {
		struct timespec pause = { .tv_nsec = 2000000 };

		if (units_monotonic_ns() >= deadline_ns)
			return false;
		session_nudge(session);
		nanosleep(&pause, NULL);
	}
	return true;
}

bool session_is_settled(const struct session *session)
{
	return session_has_ended(session);
}

static bool join_before(pthread_t thread, int64_t deadline_ns)
{
	int64_t left = deadline_ns - units_monotonic_ns();
	/*
	 * pthread_timedjoin_np() knows CLOCK_REALTIME only; a stepped clock makes this wait
	 * shorter or longer, once
	 */
	int64_t until = units_realtime_ns() + (left > 0 ? left : 0);
	struct timespec ts = { .tv_sec = until / UNITS_NS_PER_S, .tv_nsec = until % UNITS_NS_PER_S };

	return pthread_timedjoin_np(thread, NULL, &ts) == 0;
}

static void lose_unclaimed_run(struct session *session, uint32_t run, enum gap_cause cause)
{
	account_counter *counter = cause == GAP_DISK ? &session->account.unclaimed_disk_bytes :
						       &session->account.unclaimed_aborted_bytes;
	uint32_t block = ring_first(run);

	while (block != RING_END && block != RING_NONE) {
		uint32_t next = ring_next(session->ring, block);

		session_lose_block(session, counter, block, cause, ring_is_second(run));
		block = next;
	}
}

static enum gap_cause cause_of_rest(const struct session *session)
{
	return atomic_load_explicit(&session->is_aborting, memory_order_relaxed) ? GAP_ABORTED :
										   GAP_DISK;
}

/* Runs that nobody took: the last disk is gone, or the operator did not want to wait. */
static void write_off_queues(struct session *session)
{
	for (unsigned i = 0; i <= session->disk_count; i++) {
		uint32_t queue = i == session->disk_count ? RING_RESCUE : i, first;

		while ((first = ring_claim(session->ring, queue)) != RING_NONE)
			lose_unclaimed_run(session, first, cause_of_rest(session));
	}
}

static void pause_a_moment(void)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	nanosleep(&pause, NULL);
}

/*
 * A reader that a device holds, deaf to signals: its stream ends here, with what came before that
 * call. Its open runs end too, so that healthy disks can finish. If it ever comes back it ends on
 * the spot (reader.c).
 */
static void take_reader_over(struct session *session)
{
	int grip = GRIP_DEVICE;

	while (!atomic_load_explicit(&session->has_stream_ended, memory_order_acquire)) {
		if (!session->has_reader)
			return;
		/* acquire: pairs with into_device(): lanes and counters are ours now */
		if (atomic_compare_exchange_strong_explicit(&session->reader_grip, &grip,
							    GRIP_TAKEN, memory_order_acq_rel,
							    memory_order_relaxed)) {
			session_event(session, "reader-held", -1,
				      "the reader is held by %s; the stream ends here",
				      session->source->name);
			lanes_finish(session->lanes);
			atomic_store_explicit(&session->stream_ended_ns, units_monotonic_ns(),
					      memory_order_relaxed);
			atomic_store_explicit(&session->has_stream_ended, true, memory_order_release);
			ring_wake_all(session->ring);
			return;
		}
		grip = GRIP_DEVICE;
		session_nudge(session);
		pause_a_moment();
	}
}

static void say_end(struct session *session)
{
	struct account *account = &session->account;
	struct account_sum sum = session_sum(session);
	enum session_outcome outcome;
	char utc[UNITS_UTC_LEN];
	int status;

	if (!session->journal)
		return;
	outcome = session_outcome(session, &status);
	journal_end(session->journal,
		    json_pack("{ss ss ss si sI sI sI sI sI sI sI sI sI sf ss}", "type", "end",
			      "outcome", session_outcome_name(outcome), "reason",
			      session_reason_name(session), "exit_status", status, "stream_bytes",
			      (json_int_t)account_stream_bytes(account), "received_bytes",
			      (json_int_t)account_get(&account->received_bytes), "written_bytes",
			      (json_int_t)sum.written_bytes, "overflow_bytes",
			      (json_int_t)account_get(&account->overflow_bytes), "disk_lost_bytes",
			      (json_int_t)sum.disk_bytes, "source_lost_bytes",
			      (json_int_t)account_get(&account->source_lost_bytes),
			      "discarded_bytes", (json_int_t)account_get(&account->discarded_bytes),
			      "aborted_bytes", (json_int_t)sum.aborted_bytes, "filled_bytes",
			      (json_int_t)account_get(&account->filled_bytes), "duration_s",
			      (double)session_duration_ns(session) / 1e9, "utc",
			      units_format_utc(utc, session_utc(session, session->ended_ns))));
}

static bool is_out(const struct disk *disk)
{
	int state = atomic_load_explicit(&disk->state, memory_order_acquire);

	return state == DISK_STUCK || state == DISK_FAILED;
}

static bool has_metadata(const struct disk *disk)
{
	return !disk->has_keeper || metadata_is_through(disk->session->metadata, disk);
}

static bool has_all_metadata(const struct session *session)
{
	for (unsigned i = 0; i < session->disk_count; i++)
		if (!has_metadata(&session->disks[i]))
			return false;
	return true;
}

/* A disk that is out is not waited for. */
static bool has_metadata_of_healthy(const struct session *session)
{
	for (unsigned i = 0; i < session->disk_count; i++)
		if (!is_out(&session->disks[i]) && !has_metadata(&session->disks[i]))
			return false;
	return true;
}

/* Before the outcome is told: it depends on them. */
static void finish_metadata(struct session *session, int64_t deadline_ns)
{
	int64_t out_ns = units_monotonic_ns() + OUT_NS;

	if (!session->metadata)
		return;
	metadata_end(session->metadata);
	for (unsigned i = 0; i < session->disk_count; i++)
		bell_ring(&session->disks[i].keeper_bell);
	if (wait_until(session, has_all_metadata, out_ns < deadline_ns ? out_ns : deadline_ns))
		return;
	wait_until(session, has_metadata_of_healthy, deadline_ns);
	for (unsigned i = 0; i < session->disk_count; i++)
		if (!has_metadata(&session->disks[i]))
			metadata_give_up(session->metadata, &session->disks[i]);
}

/* Both copies must come to the same. */
static bool do_copies_agree(const struct session *session, char *error, size_t len)
{
	uint64_t written = session_written_bytes(session), second = 0;
	struct copies_sum sum;

	if (!session->copies)
		return true;
	sum = copies_sum(session->copies);
	for (unsigned i = 0; i < session->disk_count; i++)
		second += account_get(&session->disks[i].other_bytes);
	second += sum.lost_bytes[1] - copies_gone_bytes(&sum);
	if (second == written)
		return true;
	snprintf(error, len,
		 "the account doesn't close: by the first copies %" PRIu64
		 " bytes are written, by the second %" PRIu64 "; this is a fault of the recorder",
		 written, second);
	return false;
}

static void check_account(struct session *session)
{
	struct account_sum sum = session_sum(session);
	char error[512];

	if (account_check(&session->account, &sum, error, sizeof(error)) &&
	    do_copies_agree(session, error, sizeof(error)))
		return;
	pthread_mutex_lock(&session->lock);
	snprintf(session->error, sizeof(session->error), "%s", error);
	pthread_mutex_unlock(&session->lock);
	session_warn(session, "%s", error);
}

static void take_times(struct session *session)
{
	/* what comes after the stream's end and the last write is the sync */
	int64_t last = atomic_load_explicit(&session->stream_ended_ns, memory_order_relaxed);

	session->ended_ns = units_monotonic_ns();
	for (unsigned i = 0; i < session->disk_count; i++) {
		int64_t written =
			atomic_load_explicit(&session->disks[i].last_write_ns, memory_order_relaxed);

		last = written > last ? written : last;
	}
	session->sync_ns = last ? session->ended_ns - last : 0;
}

/* Joins what has ended; false when a thread has not come back by the deadline. */
static bool join_all(struct session *session, int64_t deadline_ns)
{
	int64_t out_ns = units_monotonic_ns() + OUT_NS;
	bool is_clean = true;

	atomic_store_explicit(&session->has_end_line, true, memory_order_release);
	for (unsigned i = 0; i < session->disk_count; i++) {
		struct disk *disk = &session->disks[i];
		int64_t until_ns = deadline_ns;

		bell_ring(&disk->keeper_bell);
		/* its threads may be held by the same disk */
		if (is_out(disk) && out_ns < deadline_ns)
			until_ns = out_ns;
		if (disk->has_writer)
			disk->has_writer = !join_before(disk->writer, until_ns);
		if (disk->has_keeper)
			disk->has_keeper = !join_before(disk->keeper, until_ns);
		disk->is_held = !disk->has_writer && outbox_stop(disk->outbox) < 0;
		is_clean = is_clean && !disk->has_writer && !disk->has_keeper && !disk->is_held;
	}
	if (session->has_reader)
		session->has_reader = !join_before(session->reader, deadline_ns);
	return is_clean && !session->has_reader;
}

bool session_has_threads(const struct session *session)
{
	bool has_threads = session->has_reader;

	for (unsigned i = 0; i < session->disk_count; i++)
		has_threads = has_threads || session->disks[i].has_writer ||
			      session->disks[i].has_keeper || session->disks[i].is_held;
	return has_threads;
}

bool session_end(struct session *session, int64_t patience_ns)
{
	int64_t deadline = units_monotonic_ns() + patience_ns, least;
	bool has_ended = wait_until(session, session_is_settled, deadline - patience_ns / 2);

	if (!has_ended) { /* who only waits for a device or a disk that is held can finish */
		take_reader_over(session);
		atomic_store_explicit(&session->is_over, true, memory_order_release);
		ring_wake_all(session->ring);
		has_ended = wait_until(session, session_is_settled, deadline);
	}
	if (!has_ended) { /* no disk holds a writer: it counts as lost what it can't get rid of */
		atomic_store_explicit(&session->is_given_up, true, memory_order_release);
		ring_wake_all(session->ring);
		wait_until(session, session_is_settled, units_monotonic_ns() + GIVE_UP_NS);
	}
	take_times(session);
	write_off_queues(session);
	check_account(session);
	/*
	 * metadata and the journal's last line: a slow disk gets time for them, one that is held has
	 * had its own
	 */
	deadline = units_monotonic_ns() + (has_ended ? JOURNAL_NS : patience_ns / 4);
	finish_metadata(session, deadline);
	say_end(session);
	least = units_monotonic_ns() + (has_ended ? OUT_NS : patience_ns / 4);
	return join_all(session, deadline > least ? deadline : least);
}

static bool was_limit_missed(const struct session *session)
{
	const struct session_config *config = &session->config;
	int reason = atomic_load_explicit(&session->stop_reason, memory_order_acquire);

	if (config->limit_bytes && session_placed_bytes(session) < config->limit_bytes)
		return !(config->duration_ns && reason == STOP_DURATION);
	if (config->duration_ns)
		return reason != STOP_DURATION && reason != STOP_BYTES;
	return false;
}

enum session_outcome session_outcome(const struct session *session, int *exit_status)
{
	const struct account *account = &session->account;
	int reason = atomic_load_explicit(&session->stop_reason, memory_order_acquire);
	uint64_t written = session_written_bytes(session);
	bool has_nothing = session_placed_bytes(session) == 0;
	enum session_outcome outcome = OUTCOME_COMPLETE;

	for (unsigned i = 0; i < session->disk_count; i++)
		if (!disk_is_usable(&session->disks[i]))
			outcome = OUTCOME_DEGRADED;
	if (session_single_bytes(session) > 0 || session_unprotected_bytes(session) > 0 ||
	    metadata_failures(session->metadata) > 0)
		outcome = OUTCOME_DEGRADED;
	/* fill is written, but what it stands for is lost all the same */
	if (account_stream_bytes(account) + account_get(&account->filled_bytes) >
	    written + account_get(&account->discarded_bytes))
		outcome = OUTCOME_LOSS;
	if (atomic_load_explicit(&session->source->stats.packets.lost_count, memory_order_relaxed))
		outcome = OUTCOME_LOSS; /* of whole packets nobody knows how long they were */
	/* relaxed: the stream has ended, or the last word is not spoken yet */
	if (atomic_load_explicit(&session->source->is_incomplete, memory_order_relaxed))
		outcome = OUTCOME_LOSS;
	/* lost by the clock, position unknown; a source that can wait is only slow */
	if (atomic_load_explicit(&session->missing_bytes, memory_order_relaxed) &&
	    !session->source->can_wait)
		outcome = OUTCOME_LOSS;
	/* the last disk may also fail when the stream is over, in its final sync */
	if (session->error[0] ||
	    atomic_load_explicit(&session->usable_count, memory_order_acquire) == 0 ||
	    reason == STOP_SOURCE_ERROR || reason == STOP_LAST_DISK || reason == STOP_OVERFLOW ||
	    reason == STOP_DISKS_FULL ||
	    atomic_load_explicit(&session->is_aborting, memory_order_relaxed) ||
	    was_limit_missed(session))
		outcome = OUTCOME_STOPPED;
	if (has_nothing)
		outcome = OUTCOME_STOPPED;
	*exit_status = outcome == OUTCOME_COMPLETE ? 0 : outcome == OUTCOME_STOPPED ? 2 : 1;
	if (has_nothing && reason != STOP_LAST_DISK && reason != STOP_DISKS_FULL)
		*exit_status = EX_NOINPUT;
	return outcome;
}
