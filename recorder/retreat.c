/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "recorder/disk.h"
#include "recorder/writer_parts.h"

#define GRACE_NS INT64_C(1000000000)   /* for what a disk still has to do when all else is over */
#define PRESSED_NS INT64_C(2000000000) /* with the ring nearly full a disk gets so long to move */
#define PRESSED_SHARE 8                /* nearly full: less than this part of it is free */

static bool has_others(const struct writer *w)
{
	return w->session->plan.is_held && !writer_is_aborting(w) &&
	       atomic_load_explicit(&w->session->usable_count, memory_order_acquire) > 0;
}

/* ---- the others take over ---- */

/* What becomes of it from here on is not ours; without a promise it will be gone. */
static void disown(struct writer *w, struct outbox_file *file)
{
	if (!outbox_is_free(file) && outbox_file_given(file) > 0 && outbox_file_durable(file) == 0)
		account_subtract(&w->disk->file_count, 1);
	outbox_disown(file);
}

/*
 * What is not durable goes to the others whole, at once: they write it from the ring, where it still
 * is. What the kernel has not given back yet it may read for a while: such blocks are held until it
 * does, whatever becomes of their runs.
 */
static void leave(struct writer *w)
{
	struct disk *disk = w->disk;

	w->mode = WRITER_LEAVES;
	w->through_ns = 0;
	for (unsigned i = 0; i < outbox_count(w->outbox); i++) {
		struct flight *flight = outbox_flight(w->outbox, i);

		flight->is_kept = !flight->is_back;
		if (flight->is_kept)
			ring_hold(w->ring, flight->block);
	}
	segmenter_drop(disk->segmenter);
	while (w->promise_count > 0) {
		uint32_t run = writer_pop_promise(w).run;

		if (run == RING_NONE)
			continue;
		ring_hand_over(w->ring, run);
		writer_end_run(w, true);
	}
	while (w->run_count > 0) {
		ring_hand_over(w->ring, writer_pop_run(w));
		writer_end_run(w, true);
	}
	w->block = w->last = RING_NONE;
	for (unsigned i = 0; i < OUTBOX_FILES; i++)
		disown(w, outbox_file_at(w->outbox, i));
	/* seq_cst: the reader looks at it after each put, see ring_rescue() */
	atomic_store_explicit(&disk->is_left, true, memory_order_seq_cst);
	disk_subtract_units(disk, ring_rescue(w->ring, disk->number));
}

static bool take_back_kept(struct writer *w)
{
	struct flight *flight;
	bool is_busy = false;

	while ((flight = outbox_first(w->outbox)) != NULL && flight->is_back) {
		if (flight->is_kept) {
			writer_note_write(w, flight, flight->ended_ns);
			ring_give_back(w->ring, flight->block);
		}
		outbox_pop(w->outbox);
		is_busy = true;
	}
	return is_busy;
}

/* The one file that a disk may have, some of it safe: it goes on with it, should it come back. */
static bool is_to_go_on(const struct writer *w, const struct outbox_file *file)
{
	return w->session->plan.is_appended && outbox_file_durable(file) > 0 &&
	       !outbox_error(w->outbox) &&
	       atomic_load_explicit(&w->disk->state, memory_order_relaxed) == DISK_STUCK;
}

/* What was begun here for runs that others have now. True when all is in order. */
static bool drop_files(struct writer *w)
{
	bool is_clean = true;

	for (unsigned i = 0; i < OUTBOX_FILES; i++) {
		struct outbox_file *file = outbox_file_at(w->outbox, i);

		if (outbox_is_free(file) || (is_to_go_on(w, file) && outbox_cut(file)))
			continue;
		is_clean = false;
		if (!is_to_go_on(w, file))
			outbox_drop(file); /* or later */
	}
	return is_clean;
}

/* A stuck disk that has done all it was asked, if late, may take part again. */
static void come_back(struct writer *w)
{
	struct disk *disk = w->disk;

	if (atomic_load_explicit(&disk->state, memory_order_relaxed) != DISK_STUCK)
		return;
	if (outbox_error(w->outbox)) {
		disk_turn_failed(disk, outbox_error(w->outbox), outbox_text(w->outbox));
		return;
	}
	w->mode = WRITER_WORKS;
	/* seq_cst: see leave() */
	atomic_store_explicit(&disk->is_left, false, memory_order_seq_cst);
	disk_revive(disk);
}

static void lose_from_now_on(struct writer *w)
{
	w->mode = WRITER_STANDS;
	w->cause = GAP_DISK;
	w->is_losing = true;
}

static bool leaving_turn(struct writer *w)
{
	bool is_busy = take_back_kept(w);
	bool is_clean = drop_files(w) && outbox_is_idle(w->outbox);
	uint32_t first;

	if (is_clean)
		come_back(w);
	if (w->mode != WRITER_LEAVES)
		return true;
	if (!has_others(w) && !writer_is_aborting(w)) {
		lose_from_now_on(w);
		return true;
	}
	while (!writer_is_aborting(w) && (first = ring_claim(w->ring, w->disk->number)) != RING_NONE) {
		ring_hand_over(w->ring, first);
		disk_subtract_units(w->disk, 1);
		is_busy = true;
	}
	return is_busy;
}

/* ---- nobody takes over ---- */

static void stand(struct writer *w, enum gap_cause cause)
{
	w->mode = WRITER_STANDS;
	w->cause = cause;
	w->is_losing = false;
	w->through_ns = 0;
}

static bool has_broken_promise(const struct writer *w)
{
	const struct promise *promise = &w->promises[w->promise_first];

	return w->promise_count > 0 && promise->is_asked &&
	       outbox_finished_count(promise->file) >= promise->awaited &&
	       outbox_result(promise->file) < 0;
}

/* What was written is not safe, and never will be. */
static void forfeit(struct writer *w)
{
	w->has_given_up_files = true;
	segmenter_close(w->disk->segmenter);
	disk_forfeit(w->disk, GAP_DISK);
	while (w->promise_count > 0) {
		uint32_t run = writer_pop_promise(w).run;

		if (run == RING_NONE)
			continue;
		writer_release(w, run, RING_END);
		writer_end_run(w, false);
	}
}

static bool is_promised(const struct writer *w, const struct outbox_file *file)
{
	for (unsigned i = 0; i < w->promise_count; i++)
		if (w->promises[(w->promise_first + i) % WRITER_PROMISES_MAX].file == file)
			return true;
	return false;
}

/* False: it can't be dropped yet. One that a job has in hand, or that is not safe, is left alone. */
static bool save_file(struct writer *w, struct outbox_file *file)
{
	if (outbox_is_free(file) || is_promised(w, file) || w->has_given_up_files)
		return true;
	if (outbox_file_bytes(file) > 0) {
		writer_promise(w, file, true, RING_NONE);
		return true;
	}
	if (!outbox_drop(file))
		return false;
	if (outbox_file_given(file) > 0)
		account_subtract(&w->disk->file_count, 1);
	return true;
}

/* True when there is nothing to be saved any more. */
static bool save_files(struct writer *w)
{
	bool is_saved = true;

	for (unsigned i = 0; i < OUTBOX_FILES; i++)
		is_saved = save_file(w, outbox_file_at(w->outbox, i)) && is_saved;
	writer_keep_promises(w);
	return is_saved && w->promise_count == 0;
}

/* All that was good has been retired: from the first bad write on, or from what comes next. */
static void begin_losing(struct writer *w)
{
	struct flight *bad = outbox_first(w->outbox);

	if (bad) {
		w->block = bad->block;
		w->last = RING_NONE;
		while (outbox_count(w->outbox) > 0)
			outbox_pop(w->outbox);
	}
	if (w->session->plan.is_held && w->run_count > 0 && w->block != RING_NONE)
		writer_release(w, w->runs[w->run_first], w->block);
	/* written after a sync had failed */
	segmenter_close(w->disk->segmenter);
	disk_forfeit(w->disk, w->cause);
	w->is_losing = true;
}

static void lose_block(struct writer *w, uint32_t block, bool is_second)
{
	session_lose_block(w->session,
			   w->cause == GAP_DISK ? &w->disk->lost_bytes : &w->disk->aborted_bytes,
			   block, w->cause, is_second);
}

static bool claim_to_lose(struct writer *w)
{
	uint32_t run;

	if (writer_is_aborting(w)) /* the supervisor counts what is in the queues */
		return false;
	run = ring_claim(w->ring, w->disk->number);
	if (run == RING_NONE)
		run = writer_claim_rescued(w);
	if (run == RING_NONE)
		return false;
	writer_push_run(w, run);
	return true;
}

/* Goes on losing as far as the reader has come. */
static bool lose_some(struct writer *w)
{
	bool is_busy = false;

	for (;;) {
		uint32_t block, next;

		if (w->block == RING_NONE && w->run_count == 0 && !claim_to_lose(w))
			return is_busy;
		if (w->block == RING_NONE)
			w->block = ring_first(w->runs[w->run_first]);
		block = w->block;
		next = ring_next(w->ring, block);
		if (next == RING_NONE)
			return is_busy;
		lose_block(w, block, ring_is_second(w->runs[w->run_first]));
		w->block = next == RING_END ? RING_NONE : next;
		if (next == RING_END) {
			writer_pop_run(w);
			writer_end_run(w, false);
		}
		ring_give_back(w->ring, block);
		is_busy = true;
	}
}

static bool is_everything_back(struct writer *w)
{
	for (unsigned i = 0; i < outbox_count(w->outbox); i++)
		if (!outbox_flight(w->outbox, i)->is_back)
			return false;
	return true;
}

static bool standing_turn(struct writer *w)
{
	struct flight *first;
	bool is_busy = false;

	if (outbox_error(w->outbox)) /* also of what was saved after an abort */
		disk_fail(w->disk, outbox_error(w->outbox), outbox_text(w->outbox));
	if (w->is_losing)
		return take_back_kept(w) || lose_some(w);
	while (writer_retire(w))
		is_busy = true;
	writer_sync_if_crowded(w);
	is_busy = writer_keep_promises(w) || is_busy;
	if (has_broken_promise(w)) {
		forfeit(w);
		return true;
	}
	first = outbox_first(w->outbox);
	if (!is_everything_back(w) || (first && !first->error))
		return is_busy; /* a good one waits for what follows it */
	writer_advance(w);
	if (!save_files(w))
		return is_busy;
	begin_losing(w);
	return true;
}

/* ---- when ---- */

static bool is_stuck(const struct writer *w)
{
	const struct session *session = w->session;
	int64_t since = outbox_since_ns(w->outbox), still;

	if (since == 0 || !session->plan.is_held || session->config.disk_timeout_ns == 0)
		return false;
	still = w->now_ns - since;
	return still > session->config.disk_timeout_ns ||
	       (still > PRESSED_NS && session->can_drop &&
		ring_free_count(w->ring) < ring_block_count(w->ring) / PRESSED_SHARE);
}

void retreat_look(struct writer *w)
{
	char text[160];
	int error = outbox_error(w->outbox);

	if (error)
		disk_fail(w->disk, error, outbox_text(w->outbox));
	if (writer_is_aborting(w)) {
		stand(w, GAP_ABORTED);
	} else if (error || !disk_is_usable(w->disk)) {
		if (has_others(w))
			leave(w);
		else
			stand(w, GAP_DISK);
	} else if (is_stuck(w)) {
		snprintf(text, sizeof(text), "%.80s has not moved for %.1f s", w->disk->target.path,
			 (double)(w->now_ns - outbox_since_ns(w->outbox)) / 1e9);
		if (disk_stick(w->disk, text))
			leave(w);
	}
}

bool retreat_turn(struct writer *w)
{
	return w->mode == WRITER_LEAVES ? leaving_turn(w) : standing_turn(w);
}

bool retreat_is_through(struct writer *w)
{
	bool is_over = writer_is_aborting(w) || writer_is_all_written(w);

	if (!is_over || w->run_count > 0 || w->promise_count > 0 ||
	    (w->mode == WRITER_STANDS && !w->is_losing))
		return false;
	if (outbox_is_idle(w->outbox))
		return true;
	if (w->through_ns == 0)
		w->through_ns = w->now_ns;
	return w->now_ns - w->through_ns > GRACE_NS;
}

/* ---- given up ---- */

/* As far as it has come; its blocks are never used again. */
static void lose_chain(struct writer *w, uint32_t block, bool is_second)
{
	while (block != RING_END && block != RING_NONE) {
		lose_block(w, block, is_second);
		block = ring_next(w->ring, block);
	}
}

static void lose_run(struct writer *w, uint32_t run)
{
	lose_chain(w, ring_first(run), ring_is_second(run));
}

/* Runs of which nothing was let go: they are lost whole. */
static void lose_whole_runs(struct writer *w)
{
	segmenter_drop(w->disk->segmenter);
	for (unsigned i = 0; i < w->promise_count; i++)
		lose_run(w, w->promises[(w->promise_first + i) % WRITER_PROMISES_MAX].run);
	while (w->run_count > 0)
		lose_run(w, writer_pop_run(w));
}

/* What was written and is not durable; what is in flight; what was to come. */
static void lose_the_rest(struct writer *w)
{
	for (unsigned i = 0; i < outbox_count(w->outbox); i++) {
		struct flight *flight = outbox_flight(w->outbox, i);

		/* who is losing has popped all of its own: those that are left others have */
		if (!flight->is_counted && !w->is_losing)
			lose_block(w, flight->block,
				   flight->file && outbox_file_number(flight->file) & LAYOUT_SECOND);
	}
	writer_advance(w);
	if (w->is_losing && w->run_count > 0) { /* block is of the first */
		lose_chain(w, w->block, ring_is_second(writer_pop_run(w)));
		while (w->run_count > 0)
			lose_run(w, writer_pop_run(w));
	} else {
		lose_chain(w, w->block, w->is_second);
	}
	segmenter_close(w->disk->segmenter);
	disk_forfeit(w->disk, w->cause);
}

void retreat_give_up(struct writer *w)
{
	char text[128];
	int64_t still;

	if (w->mode == WRITER_LEAVES)
		return; /* the others have all of it */
	w->cause = writer_is_aborting(w) ? GAP_ABORTED : GAP_DISK;
	still = outbox_is_idle(w->outbox) ? 0 : w->now_ns - outbox_since_ns(w->outbox);
	/* who is aborted need not be stuck to be in the middle of something */
	if (!outbox_is_idle(w->outbox) && (w->cause == GAP_DISK || still > GRACE_NS)) {
		snprintf(text, sizeof(text), "what it was asked last is held by the kernel for %.1f s",
			 (double)still / 1e9);
		disk_hold(w->disk, text);
	}
	if (w->session->plan.is_held && w->mode == WRITER_WORKS)
		lose_whole_runs(w);
	else
		lose_the_rest(w);
}
