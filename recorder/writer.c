/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/writer.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/disk.h"
#include "recorder/room.h"
#include "recorder/writer_parts.h"

/* an open segment is closed at this age: the journal follows */
#define SEGMENT_AGE_NS INT64_C(2000000000)
#define SYNC_NS INT64_C(2000000000) /* one target: the open file is synced so often */
#define IDLE_NS INT64_C(200000000)  /* a sleeping writer looks round this often */

bool writer_is_aborting(const struct writer *w)
{
	return atomic_load_explicit(&w->session->is_aborting, memory_order_relaxed);
}

bool writer_is_all_written(const struct writer *w)
{
	const struct session *session = w->session;

	if (atomic_load_explicit(&session->is_over, memory_order_acquire))
		return true;
	return atomic_load_explicit(&session->has_stream_ended, memory_order_acquire) &&
	       atomic_load_explicit(&session->run_count, memory_order_acquire) == 0;
}

/* ---- runs ---- */

void writer_push_run(struct writer *w, uint32_t run)
{
	assert(w->run_count < WRITER_RUNS_MAX);
	w->runs[(w->run_first + w->run_count++) % WRITER_RUNS_MAX] = run;
}

uint32_t writer_pop_run(struct writer *w)
{
	uint32_t run = w->runs[w->run_first];

	assert(w->run_count > 0);
	w->run_first = (w->run_first + 1) % WRITER_RUNS_MAX;
	w->run_count--;
	return run;
}

void writer_end_run(struct writer *w, bool is_with_others)
{
	disk_subtract_units(w->disk, 1);
	if (!is_with_others) /* release: who sees all runs through sees what became of them */
		atomic_fetch_sub_explicit(&w->session->run_count, 1, memory_order_release);
}

void writer_release(struct writer *w, uint32_t run, uint32_t end)
{
	uint32_t block = ring_first(run);

	while (block != end && block != RING_END && block != RING_NONE) {
		uint32_t next = ring_next(w->ring, block);

		ring_give_back(w->ring, block);
		block = next;
	}
}

void writer_advance(struct writer *w)
{
	uint32_t next;

	if (w->block != RING_NONE || w->last == RING_NONE)
		return;
	next = ring_next(w->ring, w->last);
	if (next == RING_END)
		w->last = RING_NONE;
	else
		w->block = next; /* or RING_NONE: not there yet */
}

/* ---- whose runs ---- */

static _Atomic uint32_t *holder_of(const struct writer *w, uint32_t run, bool is_second)
{
	struct block_label *label = ring_label(w->ring, ring_first(run));

	return &label->holders[is_second];
}

/* relaxed: the one that counts here we have written ourselves, or it was there before the put */
static bool has_other_copy(const struct writer *w, uint32_t run)
{
	return w->session->copies && atomic_load_explicit(holder_of(w, run, !ring_is_second(run)),
							  memory_order_relaxed) == w->disk->number;
}

static bool is_complete(const struct writer *w, uint32_t run)
{
	uint32_t block = ring_first(run), next;

	while ((next = ring_next(w->ring, block)) != RING_END) {
		if (next == RING_NONE)
			return false;
		block = next;
	}
	return true;
}

/* No other disk is left for this copy. */
static void give_copy_up(struct writer *w, uint32_t run)
{
	uint32_t block = ring_first(run);

	while (block != RING_END) {
		uint32_t next = ring_next(w->ring, block);

		session_lose_block(w->session, &w->disk->lost_bytes, block, GAP_DISK,
				   ring_is_second(run));
		ring_give_back(w->ring, block);
		block = next;
	}
	/* release: see writer_end_run() */
	atomic_fetch_sub_explicit(&w->session->run_count, 1, memory_order_release);
}

/* A run that was not put to our queue becomes ours; those that were the reader has counted. */
static void take_over(struct writer *w, uint32_t run)
{
	if (w->session->copies)
		atomic_store_explicit(holder_of(w, run, ring_is_second(run)), w->disk->number,
				      memory_order_relaxed);
	if (w->session->plan.run_bytes)
		atomic_fetch_add_explicit(&w->disk->open_units, 1, memory_order_relaxed);
}

uint32_t writer_claim_rescued(struct writer *w)
{
	uint32_t passed_count = 0, run = RING_NONE;

	for (uint32_t left = ring_queue_length(w->ring, RING_RESCUE); left > 0; left--) {
		run = ring_claim(w->ring, RING_RESCUE);
		if (run == RING_NONE || !has_other_copy(w, run))
			break;
		if (atomic_load_explicit(&w->session->usable_count, memory_order_acquire) <= 1 &&
		    is_complete(w, run)) {
			give_copy_up(w, run);
		} else {
			ring_put_back(w->ring, w->disk->number, run);
			passed_count++;
		}
		run = RING_NONE;
	}
	/* relaxed: a hint for the reader, see has_work() in lanes.c */
	atomic_store_explicit(&w->disk->passed_count, passed_count, memory_order_relaxed);
	if (run != RING_NONE)
		take_over(w, run);
	return run;
}

/*
 * Would we be through with a run that waits for another disk before that disk is? On average it has half
 * a run to write before. The disks have worked for the same time, so what they have written says how fast
 * they are; of one that has not begun nobody knows: its thread may only wait for a processor.
 */
static bool is_faster(const struct disk *disk, const struct disk *other)
{
	/* relaxed: figures that may be a little old */
	if (account_get(&other->accepted_bytes) == 0 &&
	    atomic_load_explicit(&other->write_started_ns, memory_order_relaxed) == 0)
		return false;
	return 3 * account_get(&disk->accepted_bytes) > 2 * account_get(&other->accepted_bytes);
}

/*
 * The stream is over and nothing is left for us, while slower disks have runs waiting that they have not
 * begun: we take one from the slowest. Room for it and as much again, because the keeper's figure is old.
 */
static uint32_t claim_from_others(struct writer *w)
{
	const struct layout_plan *plan = &w->session->plan;
	struct disk *slowest = NULL;
	uint32_t run;

	/* acquire: nothing is put or appended any more, and what was put is counted in open_units */
	if (w->run_count > 0 || plan->stripe != STRIPE_ANY || !plan->is_held || !plan->is_run_a_file ||
	    !atomic_load_explicit(&w->session->has_stream_ended, memory_order_acquire) ||
	    atomic_load_explicit(&w->disk->free_bytes, memory_order_relaxed) < 2 * plan->run_bytes)
		return RING_NONE;
	for (unsigned i = 0; i < w->session->disk_count; i++) {
		struct disk *disk = &w->session->disks[i];

		if (disk == w->disk || ring_queue_length(w->ring, i) == 0 || !is_faster(w->disk, disk))
			continue;
		if (!slowest ||
		    account_get(&disk->accepted_bytes) < account_get(&slowest->accepted_bytes))
			slowest = disk;
	}
	run = slowest ? ring_claim(w->ring, slowest->number) : RING_NONE;
	if (run == RING_NONE)
		return RING_NONE;
	disk_subtract_units(slowest, 1);
	if (has_other_copy(w, run)) { /* but not for us */
		ring_put_back(w->ring, w->disk->number, run);
		return RING_NONE;
	}
	take_over(w, run);
	return run;
}

/*
 * Rescued runs first: they are the oldest. But who has as much waiting as a disk may have leaves
 * them to others who are free; when there are none, the ring fills, our own queue gets no more
 * and shrinks, and we come to them.
 */
static bool claim(struct writer *w)
{
	struct disk *disk = w->disk;
	uint32_t run = RING_NONE;

	if (w->session->plan.is_held && w->run_count + w->promise_count >= WRITER_RUNS_HELD)
		return false;
	if (ring_queue_length(w->ring, disk->number) < STRIPE_UNITS_MAX)
		run = writer_claim_rescued(w);
	if (run == RING_NONE)
		run = ring_claim(w->ring, disk->number);
	if (run == RING_NONE)
		run = claim_from_others(w);
	if (run == RING_NONE)
		return false;
	writer_push_run(w, run);
	w->block = ring_first(run);
	w->is_second = ring_is_second(run);
	return true;
}

/* ---- promises ---- */

void writer_promise(struct writer *w, struct outbox_file *file, bool is_finish, uint32_t run)
{
	struct promise *promise;

	assert(w->promise_count < WRITER_PROMISES_MAX);
	/* a mere sync in between takes what is closed: a sum that is broken off would have to be made anew */
	if (is_finish || run != RING_NONE)
		segmenter_close(w->disk->segmenter);
	promise = &w->promises[(w->promise_first + w->promise_count++) % WRITER_PROMISES_MAX];
	*promise = (struct promise){
		.file = file,
		.bytes = outbox_file_bytes(file),
		.segment_end = w->settled_count + segmenter_pending(w->disk->segmenter),
		.run = run,
		.is_finish = is_finish,
	};
	if (is_finish)
		outbox_end(file);
	if (is_finish && w->accepted_file == file)
		w->accepted_file = NULL;
	w->synced_ns = w->now_ns;
}

struct promise writer_pop_promise(struct writer *w)
{
	struct promise promise = w->promises[w->promise_first];

	assert(w->promise_count > 0);
	w->promise_first = (w->promise_first + 1) % WRITER_PROMISES_MAX;
	w->promise_count--;
	return promise;
}

static void settle(struct writer *w, uint64_t segment_end)
{
	disk_settle(w->disk, (uint32_t)(segment_end - w->settled_count));
	w->settled_count = segment_end;
}

static bool is_kept(const struct promise *promise)
{
	return promise->is_asked && outbox_finished_count(promise->file) >= promise->awaited &&
	       outbox_result(promise->file) == 0;
}

/* One thing at a time is done with a file: the older promise first. */
static void ask(struct writer *w)
{
	for (unsigned i = 0; i < w->promise_count; i++) {
		struct promise *promise = &w->promises[(w->promise_first + i) % WRITER_PROMISES_MAX];

		if (promise->is_asked)
			continue;
		if (!(promise->is_finish ? outbox_finish(promise->file) :
					   outbox_sync(promise->file, promise->bytes)))
			return;
		promise->is_asked = true;
		promise->awaited = outbox_finished_count(promise->file) + 1;
	}
}

bool writer_keep_promises(struct writer *w)
{
	bool has_kept = false;

	while (w->promise_count > 0 && is_kept(&w->promises[w->promise_first])) {
		struct promise promise = writer_pop_promise(w);

		settle(w, promise.segment_end);
		if (!w->session->plan.is_held) /* the journal soon after the sync */
			bell_ring(&w->disk->keeper_bell);
		if (promise.run != RING_NONE) {
			writer_release(w, promise.run, RING_END);
			writer_end_run(w, false);
		}
		has_kept = true;
	}
	/* after a failure it is retreat.c that decides what is still worth it */
	if (!outbox_error(w->outbox) || w->mode != WRITER_WORKS)
		ask(w);
	return has_kept;
}

/* ---- what has been written ---- */

void writer_note_write(struct writer *w, const struct flight *flight, int64_t now_ns)
{
	disk_note_write(w->disk, flight->started_ns, now_ns, flight->bytes, flight->file_offset);
}

/* Notes where the block's extents went, behind the headers that went with them, and their checksums. */
static void note_extents(struct writer *w, const struct flight *flight)
{
	struct disk *disk = w->disk;
	const struct block_label *label = ring_label(w->ring, flight->block);
	const char *data = session_block_data(w->session, flight->block);
	uint64_t file_offset = outbox_file_head(flight->file) + flight->file_offset +
			       flight->bytes - ring_bytes(w->ring, flight->block);

	for (uint32_t i = 0; i < label->extent_count; i++) {
		const struct extent *extent = &label->extents[i];
		struct segment at = {
			.file_number = outbox_file_number(flight->file),
			.file_base = outbox_file_base(flight->file),
			.file_offset = file_offset + extent->at,
			.bytes = extent->bytes,
			.stream_offset = extent->stream_offset,
			.utc_ns = extent->utc_ns,
			.row_at = label->row_at + extent->at,
			.sum = extent->sum,
			.xxh3 = extent->xxh3,
		};
		int ret = segmenter_add(disk->segmenter, &at, data + extent->at, flight->ended_ns);

		/*
		 * one target: is_crowded() sees to it; several: a run has fewer extents, see
		 * lanes.c
		 */
		assert(ret == 0);
		(void)ret;
	}
}

/* One target: so many segments wait for a sync that a block might find no room for its own. */
static bool is_crowded(const struct writer *w)
{
	return !w->session->plan.is_held &&
	       segmenter_pending(w->disk->segmenter) > SEGMENT_PENDING_MAX / 2;
}

/* False: not now. */
static bool count_write(struct writer *w, struct flight *flight)
{
	struct disk *disk = w->disk;
	size_t bytes = ring_bytes(w->ring, flight->block); /* of the stream */

	if (flight->is_counted)
		return true;
	if (is_crowded(w))
		return false;
	writer_note_write(w, flight, flight->ended_ns);
	account_add(&disk->accepted_bytes, bytes);
	outbox_accept(flight);
	w->accepted_file = flight->file;
	if (flight->file)
		note_extents(w, flight);
	else
		atomic_fetch_add_explicit(&disk->durable_bytes, bytes, memory_order_relaxed);
	flight->is_counted = true;
	return true;
}

/* The last block of a run is written. */
static void end_written_run(struct writer *w, struct outbox_file *file, bool is_file_end)
{
	const struct layout_plan *plan = &w->session->plan;
	uint32_t run = writer_pop_run(w);
	bool is_finish = file && (is_file_end || plan->is_run_a_file);

	if (plan->is_held) {
		writer_promise(w, file, is_finish, run);
		return;
	}
	writer_end_run(w, false);
	if (is_finish)
		writer_promise(w, file, true, RING_NONE);
}

bool writer_retire(struct writer *w)
{
	struct flight *flight = outbox_first(w->outbox);
	const struct block_label *label;
	struct outbox_file *file;
	bool is_file_end;
	uint32_t block, next;

	if (!flight || !flight->is_back || flight->error ||
	    w->promise_count >= WRITER_PROMISES_MAX - 1 || !count_write(w, flight))
		return false;
	block = flight->block;
	file = flight->file;
	label = ring_label(w->ring, block);
	is_file_end = label->is_file_end;
	next = ring_next(w->ring, block);
	if (next == RING_NONE)
		return false; /* it is needed to find what follows */
	if (block == w->last) {
		writer_advance(w);
		if (w->block != RING_NONE)
			w->last = RING_NONE; /* the next block's turn to be that */
	}
	outbox_pop(w->outbox);
	if (next == RING_END)
		end_written_run(w, file, is_file_end);
	if (!w->session->plan.is_held)
		ring_give_back(w->ring, block);
	return true;
}

/* ---- writing ---- */

/* Where in its file the block goes: as the reader has it, or to the end of whatever this disk has. */
static uint64_t place_of(const struct writer *w, const struct block_label *label)
{
	const struct outbox_file *open = outbox_open_file(w->outbox);

	if (!w->session->plan.is_appended)
		return label->file_offset;
	return open ? outbox_file_given(open) : 0;
}

/* How much of what stands in front of a block's data is written with them. */
static size_t head_of(const struct writer *w, const struct outbox_file *file)
{
	if (!file || w->session->plan.head_bytes == 0)
		return 0;
	return MARK6_BLOCK_HEADER_BYTES + (outbox_file_given(file) == 0 ? MARK6_FILE_HEADER_BYTES : 0);
}

/* A piece of another file was rescued to us in between: the one that is open ends here. */
static bool end_other_file(struct writer *w, uint64_t number, uint64_t offset)
{
	struct outbox_file *open = outbox_open_file(w->outbox);

	if (!open || outbox_goes_on(open, number, offset))
		return true;
	if (w->promise_count >= WRITER_PROMISES_MAX - 1 || outbox_count(w->outbox) > 0)
		return false; /* what is in flight to it belongs to it */
	writer_promise(w, open, true, RING_NONE);
	writer_keep_promises(w);
	return true;
}

static bool write_block(struct writer *w)
{
	uint32_t block = w->block;
	const struct block_label *label = ring_label(w->ring, block);
	uint64_t number = label->file_number | (w->is_second ? LAYOUT_SECOND : 0);
	char *data = session_block_data(w->session, block);
	struct outbox_file *file = NULL;
	struct flight *flight;
	size_t head;

	if (target_has_files(&w->disk->target)) {
		uint64_t offset = place_of(w, label);

		if (!end_other_file(w, number, offset))
			return false;
		file = outbox_file(w->outbox, number, offset, label->extents[0].stream_offset);
		if (!file)
			return false;
	}
	head = head_of(w, file);
	flight = outbox_write(w->outbox, file, block, data - head,
			      head + ring_bytes(w->ring, block), head + w->session->plan.data_bytes);
	if (!flight)
		return false;
	if (file && flight->file_offset == 0)
		account_add(&w->disk->file_count, 1);
	if (file && label->is_file_end)
		outbox_end(file); /* the next one can be begun while this one is on its way */
	w->last = block;
	w->block = RING_NONE;
	return true;
}

static bool write_some(struct writer *w)
{
	bool has_written = false;

	while (outbox_has_room(w->outbox)) {
		writer_advance(w);
		if (w->block == RING_NONE && (w->last != RING_NONE || !claim(w)))
			break;
		if (!write_block(w))
			break;
		has_written = true;
	}
	return has_written; /* they get on their way when we wait */
}

/* ---- in between ---- */

/*
 * One target: what is written becomes durable every few seconds. A run is not waited for, nor a
 * file's end.
 */
static void sync_now_and_then(struct writer *w)
{
	struct disk *disk = w->disk;

	if (w->session->plan.is_held || !w->accepted_file)
		return;
	if (segmenter_age_ns(disk->segmenter, w->now_ns) > SEGMENT_AGE_NS)
		segmenter_close(disk->segmenter);
	if (w->promise_count > 0 || segmenter_pending(disk->segmenter) == 0 ||
	    w->now_ns - w->synced_ns < SYNC_NS)
		return;
	writer_promise(w, w->accepted_file, false, RING_NONE);
	writer_keep_promises(w);
}

void writer_sync_if_crowded(struct writer *w)
{
	if (!is_crowded(w) || w->promise_count > 0 || !w->accepted_file)
		return;
	writer_promise(w, w->accepted_file, false, RING_NONE);
	writer_keep_promises(w);
}

/* True: nothing is left to do at all. A file without an end of its own ends with the stream. */
static bool is_through(struct writer *w)
{
	struct outbox_file *file = outbox_open_file(w->outbox);

	if (outbox_count(w->outbox) > 0 || w->run_count > 0 || !writer_is_all_written(w))
		return false;
	if (file && w->promise_count == 0) {
		writer_promise(w, file, true, RING_NONE);
		writer_keep_promises(w);
	}
	return w->promise_count == 0 && outbox_is_idle(w->outbox);
}

/* What a reader that finds the ring full wants to know; see lanes.c. relaxed: a hint. */
static uint32_t waiting_behind(const struct writer *w)
{
	if (!outbox_is_idle(w->outbox))
		return RING_END; /* it will go on by itself */
	if (w->last != RING_NONE)
		return w->last;
	return outbox_count(w->outbox) > 0 || w->promise_count > 0 ? RING_END : RING_NONE;
}

static void wait_for_news(struct writer *w, uint32_t ticket)
{
	struct disk *disk = w->disk;
	int64_t until = w->now_ns + IDLE_NS;

	atomic_store_explicit(&disk->waits_behind, waiting_behind(w), memory_order_relaxed);
	outbox_wait(w->outbox, ticket, until);
	atomic_store_explicit(&disk->waits_behind, RING_END, memory_order_relaxed);
}

/* True when something was done. */
static bool do_turn(struct writer *w)
{
	bool is_busy = outbox_take(w->outbox);

	w->now_ns = units_monotonic_ns();
	if (w->mode == WRITER_WORKS) {
		is_busy = writer_keep_promises(w) || is_busy; /* what has come good stays good */
		retreat_look(w);
		if (w->mode != WRITER_WORKS)
			return true;
		while (writer_retire(w))
			is_busy = true;
		is_busy = writer_keep_promises(w) || is_busy;
		is_busy = write_some(w) || is_busy;
		sync_now_and_then(w);
		writer_sync_if_crowded(w);
	} else {
		is_busy = retreat_turn(w) || is_busy;
	}
	atomic_store_explicit(&w->disk->write_started_ns, outbox_writing_since_ns(w->outbox),
			      memory_order_relaxed);
	return is_busy;
}

static bool turn(struct writer *w)
{
	bool is_busy;

	room_begin(w->disk);
	is_busy = do_turn(w);
	room_note(w->disk);
	return is_busy;
}

static void work(struct writer *w)
{
	for (;;) {
		uint32_t ticket = ring_listen(w->ring, w->disk->number);

		if (turn(w))
			continue;
		if (w->mode == WRITER_WORKS ? is_through(w) : retreat_is_through(w))
			return;
		if (atomic_load_explicit(&w->session->is_given_up, memory_order_acquire)) {
			retreat_give_up(w);
			return;
		}
		wait_for_news(w, ticket);
	}
}

/* What the kernel still holds has been taking so long at least. */
static void note_unreturned(struct writer *w)
{
	int64_t now = units_monotonic_ns();

	for (unsigned i = 0; i < outbox_count(w->outbox); i++)
		if (!outbox_flight(w->outbox, i)->is_back)
			writer_note_write(w, outbox_flight(w->outbox, i), now);
}

void *writer_main(void *arg)
{
	struct disk *disk = arg;
	struct session *session = disk->session;
	struct writer w = {
		.disk = disk,
		.session = session,
		.ring = session->ring,
		.outbox = disk->outbox,
		.block = RING_NONE,
		.last = RING_NONE,
	};
	char name[16], text[128];
	int ret;

	snprintf(name, sizeof(name), "writer%u", disk->number);
	pthread_setname_np(pthread_self(), name);
	ret = outbox_start(w.outbox);
	if (ret < 0) {
		snprintf(text, sizeof(text), "io_uring can't be used: %s", strerror(-ret));
		disk_fail(disk, ret, text);
	}
	work(&w);
	note_unreturned(&w);
	segmenter_close(disk->segmenter);
	atomic_store_explicit(&disk->writer_cpu, sched_getcpu(), memory_order_relaxed);
	atomic_store_explicit(&disk->writer_policy, sched_getscheduler(0), memory_order_relaxed);
	atomic_store_explicit(&disk->has_ended, true, memory_order_release);
	bell_ring(&disk->keeper_bell);
	ring_wake_all(w.ring);
	session_poke(session);
	return NULL;
}
