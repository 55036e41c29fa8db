/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/disk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"

#define MARK5_BYTES 65528
#define MARK5_EDGE_NS INT64_C(1125000)

bool disk_is_usable(const struct disk *disk)
{
	return atomic_load_explicit(&disk->state, memory_order_acquire) == DISK_OK;
}

void disk_subtract_units(struct disk *disk, uint32_t count)
{
	/* blocks that go one by one are not counted; relaxed: see look_at_disks() in lanes.c */
	if (disk->session->plan.run_bytes)
		atomic_fetch_sub_explicit(&disk->open_units, count, memory_order_relaxed);
}

static enum disk_state state_for(int error)
{
	switch (-error) {
	case ENOSPC:
	case EDQUOT:
		return DISK_FULL;
	case EROFS:
		return DISK_READONLY;
	default:
		return DISK_FAILED;
	}
}

/* The sentence is whole before anybody sees the state (release). */
static void set_state(struct disk *disk, enum disk_state state, const char *event, const char *why)
{
	struct session *session = disk->session;

	pthread_mutex_lock(&session->lock);
	snprintf(disk->error, sizeof(disk->error), "%s", why);
	pthread_mutex_unlock(&session->lock);
	atomic_store_explicit(&disk->state, state, memory_order_release);
	session_event(session, event, (int)disk->number, "%s: %s", session_disk_state_name(state), why);
}

static void go_out(struct disk *disk)
{
	struct session *session = disk->session;

	/*
	 * where nothing is held for them (wr), the others can't take over what this disk should
	 * have got
	 */
	if (atomic_fetch_sub_explicit(&session->usable_count, 1, memory_order_acq_rel) == 1 ||
	    !session->plan.is_held)
		session_stop(session, STOP_LAST_DISK);
	ring_wake_all(session->ring);
}

void disk_fail(struct disk *disk, int error, const char *why)
{
	enum disk_state state = state_for(error);

	if (!disk_is_usable(disk))
		return;
	set_state(disk, state, state == DISK_FULL ? "disk-full" : "disk-failed", why);
	go_out(disk);
}

void disk_hold(struct disk *disk, const char *why)
{
	if (!disk_is_usable(disk))
		return;
	set_state(disk, DISK_STUCK, "disk-stuck", why);
	go_out(disk);
}

bool disk_stick(struct disk *disk, const char *why)
{
	struct session *session = disk->session;
	uint32_t usable = atomic_load_explicit(&session->usable_count, memory_order_acquire);

	do
		if (usable <= 1) /* never given up for slowness */
			return false;
	while (!atomic_compare_exchange_weak_explicit(&session->usable_count, &usable, usable - 1,
						      memory_order_acq_rel, memory_order_acquire));
	set_state(disk, DISK_STUCK, "disk-stuck", why);
	ring_wake_all(session->ring);
	return true;
}

void disk_revive(struct disk *disk)
{
	struct session *session = disk->session;

	atomic_fetch_add_explicit(&session->usable_count, 1, memory_order_acq_rel);
	atomic_store_explicit(&disk->state, DISK_OK, memory_order_release);
	session_event(session, "disk-back", (int)disk->number, "%s takes part again",
		      disk->target.path);
}

void disk_turn_failed(struct disk *disk, int error, const char *why)
{
	enum disk_state state = state_for(error);

	set_state(disk, state, state == DISK_FULL ? "disk-full" : "disk-failed", why);
}

/*
 * As Mark5's get_stats counts: eight bins with edges 1.125 ms x 2^k, of the time that 65528 bytes take.
 */
static unsigned mark5_bin(int64_t took_ns, size_t bytes)
{
	int64_t scaled_ns = bytes ? (int64_t)((double)took_ns * MARK5_BYTES / (double)bytes) : 0;
	unsigned bin = 0;

	while (bin < SESSION_MARK5_BINS - 1 && scaled_ns > MARK5_EDGE_NS << bin)
		bin++;
	return bin;
}

void disk_note_write(struct disk *disk, int64_t started_ns, int64_t ended_ns, size_t bytes,
		     uint64_t file_offset)
{
	struct trace *const *traces = disk->session->config.traces;
	int64_t took = ended_ns - started_ns,
		last = atomic_load_explicit(&disk->last_write_ns, memory_order_relaxed);
	unsigned class = 0;

	if (last == 0) /* the first turn is counted from the start, as wr did it */
		last = atomic_load_explicit(&disk->session->running_ns, memory_order_relaxed);

	while (class < SESSION_HISTOGRAM - 1 && took > session_edges_ns[class])
		class ++;
	if (traces && traces[disk->number])
		trace_add(traces[disk->number], &(struct trace_write){ .started_ns = started_ns,
								       .ended_ns = ended_ns,
								       .file_offset = file_offset,
								       .bytes = bytes });
	account_add(&disk->write_hist[class], 1);
	account_add(&disk->mark5_bins[mark5_bin(took, bytes)], 1);
	if (took > atomic_load_explicit(&disk->worst_write_ns, memory_order_relaxed)) {
		atomic_store_explicit(&disk->worst_write_ns, took, memory_order_relaxed);
		atomic_store_explicit(&disk->worst_offset, file_offset, memory_order_relaxed);
		atomic_store_explicit(&disk->worst_write_at_ns, ended_ns, memory_order_relaxed);
	}
	if (ended_ns - last > atomic_load_explicit(&disk->longest_turn_ns, memory_order_relaxed))
		atomic_store_explicit(&disk->longest_turn_ns, ended_ns - last, memory_order_relaxed);
	atomic_store_explicit(&disk->last_write_ns, ended_ns > last ? ended_ns : last,
			      memory_order_relaxed);
}

void disk_drop(struct disk *disk)
{
	struct session *session = disk->session;
	uint32_t block;

	while ((block = ring_claim(session->ring, disk->number)) != RING_NONE) {
		size_t bytes = ring_bytes(session->ring, block);
		int64_t now = units_monotonic_ns();

		disk_note_write(disk, now, now, bytes, 0);
		account_add(&disk->accepted_bytes, bytes);
		atomic_fetch_add_explicit(&disk->durable_bytes, bytes, memory_order_relaxed);
		atomic_fetch_sub_explicit(&session->run_count, 1, memory_order_release);
		ring_give_back(session->ring, block);
	}
}

/* With parity each disk has files of its own, by their numbers: see next_file_number() in lanes.c. */
static bool is_displaced(const struct disk *disk, uint64_t file_number)
{
	const struct session *session = disk->session;
	unsigned parity = session->disk_count - 1;

	if (!session->plan.has_parity)
		return false;
	return disk->number != (file_number & LAYOUT_PARITY ? parity : file_number % parity);
}

static void say_segment(const struct disk *disk, const struct segment *segment, const char *file)
{
	const struct session *session = disk->session;

	journal_say_segment(session->journal,
			    &(struct journal_segment){
				    .target = disk->number,
				    .file = file,
				    .file_offset = segment->file_offset,
				    .bytes = segment->bytes,
				    .stream_offset = segment->stream_offset,
				    .xxh3 = segment->xxh3,
				    .has_xxh3 = session->config.use_checksums,
				    .is_second = segment->file_number & LAYOUT_SECOND,
				    .is_parity = segment->file_number & LAYOUT_PARITY,
				    .has_row = session->plan.has_parity,
				    .row = segment->row_at / session->plan.block_bytes,
				    .row_offset = segment->row_at % session->plan.block_bytes,
				    .utc_ns = segment->utc_ns,
			    });
}

void disk_settle(struct disk *disk, uint32_t count)
{
	struct session *session = disk->session;
	char name[LAYOUT_NAME_LEN];

	while (count-- > 0) {
		struct segment segment = segmenter_take(disk->segmenter);
		bool is_other = segment.file_number & LAYOUT_OTHER;

		/* relaxed: a counter */
		atomic_fetch_add_explicit(&disk->durable_bytes, segment.bytes, memory_order_relaxed);
		if (is_other)
			account_add(&disk->other_bytes, segment.bytes);
		if (is_displaced(disk, segment.file_number)) /* relaxed: a counter */
			atomic_fetch_add_explicit(&session->displaced_bytes, segment.bytes,
						  memory_order_relaxed);
		if (!session->journal && !session->metadata && !session->config.settled)
			continue;
		layout_file_name(name, is_other ? disk->other_template : disk->name_template,
				 segment.file_number, segment.file_base);
		if (session->metadata)
			metadata_note(session->metadata, disk, &segment, name);
		if (session->journal)
			say_segment(disk, &segment, name);
		if (session->config.settled)
			session->config.settled(session->config.settled_context, disk->number, name,
						&segment);
	}
}

void disk_forfeit(struct disk *disk, enum gap_cause cause)
{
	while (segmenter_pending(disk->segmenter) > 0) {
		struct segment segment = segmenter_take(disk->segmenter);

		session_lose(disk->session,
			     cause == GAP_DISK ? &disk->forfeited_bytes : &disk->aborted_bytes,
			     segment.stream_offset, segment.bytes, cause, segment.file_number);
	}
}
