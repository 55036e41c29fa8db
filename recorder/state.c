/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/state.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/units.h"

const int64_t session_edges_ns[SESSION_HISTOGRAM - 1] = {
	1000000,   2000000,   5000000,    10000000,   20000000,   50000000,    100000000,
	200000000, 500000000, 1000000000, 2000000000, 5000000000, 10000000000,
};

static const char *const state_names[] = { "ok", "full", "failed", "stuck", "readonly" };

char *session_block_data(const struct session *session, uint32_t block)
{
	return (char *)ring_data(session->ring, block) + session->plan.head_bytes;
}

void session_stop(struct session *session, enum stop_reason reason)
{
	int none = STOP_NONE;

	atomic_compare_exchange_strong_explicit(&session->stop_reason, &none, (int)reason,
						memory_order_acq_rel, memory_order_relaxed);
	atomic_store_explicit(&session->is_stopping, true, memory_order_release);
	source_interrupt(session->source);
	ring_wake(session->ring, RING_PRODUCER);
}

void session_abort(struct session *session)
{
	atomic_store_explicit(&session->is_aborting, true, memory_order_release);
	session_stop(session, STOP_SIGNAL);
	ring_wake_all(session->ring);
}

void session_nudge(struct session *session)
{
	if (session->has_reader &&
	    !atomic_load_explicit(&session->has_stream_ended, memory_order_acquire)) {
		source_interrupt(session->source);
		pthread_kill(session->reader, SIGUSR2);
	}
}

void session_poke(struct session *session)
{
	uint64_t one = 1;

	if (write(session->wake_fd, &one, sizeof(one)) < 0)
		return; /* full of wake-ups: it will wake all the same */
}

bool session_has_ended(const struct session *session)
{
	bool has_ended = atomic_load_explicit(&session->has_stream_ended, memory_order_acquire);

	for (unsigned i = 0; i < session->disk_count; i++)
		has_ended = has_ended &&
			    atomic_load_explicit(&session->disks[i].has_ended, memory_order_acquire);
	return has_ended;
}

const char *session_disk_state_name(enum disk_state state)
{
	return state_names[state];
}

uint64_t session_written_bytes(const struct session *session)
{
	uint64_t written = 0;

	for (unsigned i = 0; i < session->disk_count; i++)
		written +=
			atomic_load_explicit(&session->disks[i].durable_bytes, memory_order_relaxed) -
			account_get(&session->disks[i].other_bytes);
	if (session->copies) {
		struct copies_sum sum = copies_sum(session->copies);

		written += sum.lost_bytes[0] - copies_gone_bytes(&sum);
	}
	return written;
}

uint64_t session_placed_bytes(const struct session *session)
{
	return account_stream_bytes(&session->account) -
	       account_get(&session->source->stats.discarded_bytes);
}

uint64_t session_single_bytes(const struct session *session)
{
	struct copies_sum sum = { 0 };

	if (session->copies)
		sum = copies_sum(session->copies);
	return sum.lost_bytes[0] + sum.lost_bytes[1] - 2 * copies_gone_bytes(&sum);
}

uint64_t session_unprotected_bytes(const struct session *session)
{
	return account_get(&session->unprotected_bytes) +
	       atomic_load_explicit(&session->parity_lost_bytes, memory_order_relaxed) +
	       atomic_load_explicit(&session->displaced_bytes, memory_order_relaxed);
}

struct account_sum session_sum(const struct session *session)
{
	struct account_sum sum = {
		.written_bytes = session_written_bytes(session),
		.disk_bytes = account_get(&session->account.unclaimed_disk_bytes),
		.aborted_bytes = account_get(&session->account.unclaimed_aborted_bytes),
	};

	if (session->copies) {
		struct copies_sum copies = copies_sum(session->copies);

		sum.disk_bytes = copies.gone_bytes[GAP_DISK];
		sum.aborted_bytes = copies.gone_bytes[GAP_ABORTED];
		return sum;
	}
	for (unsigned i = 0; i < session->disk_count; i++) {
		sum.disk_bytes += account_get(&session->disks[i].lost_bytes) +
				  account_get(&session->disks[i].forfeited_bytes);
		sum.aborted_bytes += account_get(&session->disks[i].aborted_bytes);
	}
	return sum;
}

/* ---- what happens is told ---- */

int64_t session_utc(const struct session *session, int64_t monotonic_ns)
{
	return session->armed_utc_ns + (monotonic_ns - session->armed_ns);
}

static void tell(struct session *session, const char *text, bool is_kept)
{
	char *copy = strdup(text);

	pthread_mutex_lock(&session->lock);
	if (copy && session->event_count < SESSION_EVENT_MAX) {
		session->events[session->event_count++] = copy;
	} else {
		session->hidden_count++;
		free(copy);
	}
	for (unsigned i = 0; i < session->warning_count && is_kept; i++)
		is_kept = strcmp(session->warnings[i], text) != 0;
	if (is_kept && session->warning_count < SESSION_WARNING_MAX) {
		copy = strdup(text);
		if (copy)
			session->warnings[session->warning_count++] = copy;
	}
	pthread_mutex_unlock(&session->lock);
	session_poke(session);
}

char *session_take_event(struct session *session, uint64_t *hidden_count)
{
	char *text = NULL;

	pthread_mutex_lock(&session->lock);
	*hidden_count = session->hidden_count;
	session->hidden_count = 0;
	if (session->event_count > 0) {
		text = session->events[0];
		session->event_count--;
		memmove(session->events, session->events + 1,
			session->event_count * sizeof(session->events[0]));
	}
	pthread_mutex_unlock(&session->lock);
	return text;
}

void session_warn(struct session *session, const char *format, ...)
{
	char text[SESSION_ERROR_LEN];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	tell(session, text, true);
}

void session_notice(struct session *session, const char *format, ...)
{
	char text[SESSION_ERROR_LEN];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	tell(session, text, false);
}

void session_event(struct session *session, const char *event, int target, const char *format, ...)
{
	char text[SESSION_ERROR_LEN];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (session->journal)
		journal_say_event(session->journal, event, text, target,
				  session_utc(session, units_monotonic_ns()));
	tell(session, text, true);
}

void session_gap(struct session *session, struct gap gap)
{
	struct journal_gap line;

	if (gap.bytes == 0)
		return;
	gap.utc_ns = session_utc(session, units_monotonic_ns());
	account_gap(&session->account, &gap);
	line = (struct journal_gap){
		.stream_offset = gap.stream_offset,
		.bytes = gap.bytes,
		.cause = account_cause_name(gap.cause),
		.utc_ns = gap.utc_ns,
		.is_estimated = gap.is_estimated,
		.is_filled = gap.is_filled,
	};
	if (session->journal)
		journal_say_gap(session->journal, &line);
}

struct gone {
	struct session *session;
	enum gap_cause cause;
};

static void tell_gone(void *context, uint64_t stream_offset, uint64_t bytes)
{
	const struct gone *gone = context;

	session_gap(gone->session, (struct gap){ .stream_offset = stream_offset,
						 .bytes = bytes,
						 .cause = gone->cause });
}

void session_lose(struct session *session, account_counter *counter, uint64_t stream_offset,
		  uint64_t bytes, enum gap_cause cause, uint64_t number)
{
	struct gone gone = { session, cause };

	if (number & LAYOUT_PARITY) { /* relaxed: a counter */
		atomic_fetch_add_explicit(&session->parity_lost_bytes, bytes, memory_order_relaxed);
		return;
	}
	if (counter)
		account_add(counter, bytes);
	if (!session->copies)
		tell_gone(&gone, stream_offset, bytes);
	else if (copies_lose(session->copies, number & LAYOUT_SECOND, stream_offset, bytes, cause,
			     tell_gone, &gone) < 0)
		session_warn(session,
			     "no memory to account for %" PRIu64
			     " bytes lost at stream offset %" PRIu64,
			     bytes, stream_offset);
}

void session_lose_block(struct session *session, account_counter *counter, uint32_t block,
			enum gap_cause cause, bool is_second)
{
	const struct block_label *label = ring_label(session->ring, block);
	uint64_t number = label->file_number | (is_second ? LAYOUT_SECOND : 0);

	for (uint32_t i = 0; i < label->extent_count; i++)
		session_lose(session, counter, label->extents[i].stream_offset,
			     label->extents[i].bytes, cause, number);
}
