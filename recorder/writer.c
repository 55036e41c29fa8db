/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/writer.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/disk.h"
#include "recorder/state.h"

#define SEGMENT_AGE_NS \
	INT64_C(2000000000)        /* an open segment is closed at this age: the journal follows */
#define IDLE_NS INT64_C(200000000) /* a sleeping writer looks round this often */

/* ---- calls that may never return ---- */

/*
 * A disk can hold us in a call for ever. The supervisor then takes the account of this disk over,
 * and when the call does return one day we must not touch it any more: the thread ends on the
 * spot. It holds no lock there.
 */
static void into_disk(struct disk *disk)
{
	int grip = GRIP_WRITER;

	/* release: whoever takes over sees all that we have counted */
	if (atomic_compare_exchange_strong_explicit(&disk->grip, &grip, GRIP_DISK,
						    memory_order_release, memory_order_relaxed))
		return;
	assert(grip == GRIP_SUPERVISOR);
	pthread_exit(NULL);
}

static void out_of_disk(struct disk *disk)
{
	int grip = GRIP_DISK;

	if (!atomic_compare_exchange_strong_explicit(&disk->grip, &grip, GRIP_WRITER,
						     memory_order_acquire, memory_order_relaxed))
		pthread_exit(NULL);
}

/* release: whoever accounts for us when we never come back sees the blocks whole */
static void hold(struct disk *disk, uint32_t block)
{
	atomic_store_explicit(&disk->held_block, block, memory_order_release);
}

/*
 * With no disk to wait for, all we do is give blocks back: on the reader's own processor, where waking
 * us costs no interrupt to another one and what it fills next is still in the cache. It moves as it
 * likes, we go after it. Where that is not allowed we stay.
 */
static void follow_reader(const struct disk *disk)
{
	int cpu = atomic_load_explicit(&disk->session->reader_cpu, memory_order_relaxed);
	cpu_set_t set;

	if (disk->target.kind != TARGET_NULL || cpu < 0 || cpu >= CPU_SETSIZE ||
	    cpu == sched_getcpu())
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Sleeps until the ring has news for us: what follows @block, or for RING_NONE anything. relaxed:
 * only a hint, see lanes.c
 */
static void wait_for_reader(struct disk *disk, uint32_t block, uint32_t ticket)
{
	atomic_store_explicit(&disk->waits_behind, block, memory_order_relaxed);
	ring_sleep(disk->session->ring, disk->number, ticket, units_monotonic_ns() + IDLE_NS);
	atomic_store_explicit(&disk->waits_behind, RING_END, memory_order_relaxed);
	follow_reader(disk);
}

/*
 * The block behind @block, or RING_END; waits for it: the reader ends every run, also when it has
 * to stop.
 */
static uint32_t next_block(struct disk *disk, uint32_t block)
{
	struct ring *ring = disk->session->ring;

	for (;;) {
		uint32_t ticket = ring_listen(ring, disk->number);
		uint32_t next = ring_next(ring, block);

		if (next != RING_NONE)
			return next;
		into_disk(disk); /* not the disk's, but a reader that is held may hold us as well */
		wait_for_reader(disk, block, ticket);
		out_of_disk(disk);
	}
}

/* ---- one block ---- */

static void note_write(struct disk *disk, int64_t started, int64_t ended, uint64_t file_offset)
{
	int64_t took = ended - started,
		last = atomic_load_explicit(&disk->last_write_ns, memory_order_relaxed);
	unsigned class = 0;

	if (last == 0) /* the first turn is counted from the start, as wr did it */
		last = atomic_load_explicit(&disk->session->running_ns, memory_order_relaxed);

	while (class < SESSION_HISTOGRAM - 1 && took > session_edges_ns[class])
		class ++;
	account_add(&disk->write_hist[class], 1);
	if (took > atomic_load_explicit(&disk->worst_write_ns, memory_order_relaxed)) {
		atomic_store_explicit(&disk->worst_write_ns, took, memory_order_relaxed);
		atomic_store_explicit(&disk->worst_offset, file_offset, memory_order_relaxed);
	}
	if (ended - last > atomic_load_explicit(&disk->longest_turn_ns, memory_order_relaxed))
		atomic_store_explicit(&disk->longest_turn_ns, ended - last, memory_order_relaxed);
	atomic_store_explicit(&disk->last_write_ns, ended, memory_order_relaxed);
}

/*
 * With one target the keeper syncs and takes; it may be late. Waits until a block's segments have
 * room (a block has at most half as many extents as may be pending, see layout_plan()); false:
 * the disk has failed.
 */
static bool wait_for_keeper(struct disk *disk)
{
	while (segmenter_pending(disk->segmenter) > SEGMENT_PENDING_MAX / 2) {
		if (!disk_is_usable(disk))
			return false;
		bell_ring(&disk->keeper_bell);
		ring_sleep(disk->session->ring, disk->number,
			   ring_listen(disk->session->ring, disk->number),
			   units_monotonic_ns() + IDLE_NS / 10);
	}
	return true;
}

/* Notes where the block's extents went, with their checksums. */
static void note_extents(struct disk *disk, uint32_t block, uint64_t file_offset, int64_t now)
{
	struct session *session = disk->session;
	const struct block_label *label = ring_label(session->ring, block);
	const char *data = ring_data(session->ring, block);

	for (uint32_t i = 0; i < label->extent_count; i++) {
		const struct extent *extent = &label->extents[i];
		struct segment at = {
			.file_number = sink_file_number(disk->sink),
			.file_base = sink_file_base(disk->sink),
			.file_offset = file_offset + extent->at,
			.bytes = extent->bytes,
			.stream_offset = extent->stream_offset,
			.utc_ns = extent->utc_ns,
			.sum = extent->sum,
			.xxh3 = extent->xxh3,
		};
		int ret = segmenter_add(disk->segmenter, &at, data + extent->at, now);

		/*
		 * one target: wait_for_keeper() made room; several: a run has fewer extents, see
		 * lanes.c
		 */
		assert(ret == 0);
		(void)ret;
	}
}

/* Does the open file go on with this block? */
static bool is_continued(const struct disk *disk, const struct block_label *label)
{
	return sink_is_file_open(disk->sink) && sink_file_number(disk->sink) == label->file_number &&
	       sink_file_base(disk->sink) + sink_file_bytes(disk->sink) == label->file_offset;
}

/* Opens the file the block belongs to, unless it is open. */
static int want_file(struct disk *disk, const struct block_label *label)
{
	int ret;

	if (is_continued(disk, label))
		return 0;
	/* a piece of another file was rescued to us in between: the one that is open ends here */
	ret = sink_finish_file(disk->sink);
	if (ret < 0)
		sink_leave_file(disk->sink); /* what is durable of it is in the journal: not the new run's to abandon */
	else
		ret = sink_begin_file(disk->sink, label->file_number, label->file_offset);
	if (ret == 0)
		account_add(&disk->file_count, 1);
	return ret;
}

static int write_block(struct disk *disk, uint32_t block)
{
	struct ring *ring = disk->session->ring;
	const struct block_label *label = ring_label(ring, block);
	size_t bytes = ring_bytes(ring, block);
	int64_t started, ended;
	uint64_t file_offset;
	int ret = 0;

	into_disk(disk);
	if (!disk->session->plan.is_held && !wait_for_keeper(disk))
		ret = -EIO;
	started = units_monotonic_ns();
	atomic_store_explicit(&disk->write_started_ns, started, memory_order_relaxed);
	if (ret == 0 && sink_has_files(disk->sink))
		ret = want_file(disk, label);
	file_offset = sink_file_bytes(disk->sink);
	if (ret == 0)
		ret = sink_write(disk->sink, ring_data(ring, block), bytes, ring_block_bytes(ring));
	atomic_store_explicit(&disk->write_started_ns, 0, memory_order_relaxed);
	out_of_disk(disk);
	if (ret < 0)
		return ret;
	ended = units_monotonic_ns();
	note_write(disk, started, ended, file_offset);
	account_add(&disk->accepted_bytes, bytes);
	if (!sink_has_files(disk->sink)) {
		atomic_fetch_add_explicit(&disk->durable_bytes, bytes, memory_order_relaxed);
		return 0;
	}
	note_extents(disk, block, file_offset, ended);
	atomic_store_explicit(&disk->open_offset, segmenter_open_offset(disk->segmenter),
			      memory_order_relaxed);
	return 0;
}

/* ---- the end of runs and files ---- */

static bool is_aborting(const struct disk *disk)
{
	return atomic_load_explicit(&disk->session->is_aborting, memory_order_relaxed);
}

static int finish_in_sink(struct disk *disk)
{
	int ret;

	into_disk(disk);
	ret = sink_finish_file(disk->sink);
	out_of_disk(disk);
	return ret;
}

/*
 * Finishes the open file; all that was written to it is durable afterwards. Not while the keeper
 * may take: see segment.h.
 */
static int finish_file(struct disk *disk)
{
	int ret = finish_in_sink(disk);

	segmenter_close(disk->segmenter);
	if (ret == 0 && disk->session->plan.is_held)
		disk_settle(disk, segmenter_pending(disk->segmenter));
	return ret;
}

/* Gives all blocks of a run back, from @first on, as far as it has come. */
static void release_run(struct disk *disk, uint32_t first)
{
	struct ring *ring = disk->session->ring;
	uint32_t block = first;

	while (block != RING_END) {
		uint32_t next = ring_next(ring, block);

		ring_give_back(ring, block);
		block = next;
	}
}

/*
 * A run that nobody can or shall write any more: count it block by block and give it back, to its
 * end.
 */
static void lose_run(struct disk *disk, uint32_t block, enum gap_cause cause)
{
	struct session *session = disk->session;
	struct ring *ring = session->ring;

	while (block != RING_END) {
		uint32_t next;

		hold(disk, block);
		next = next_block(disk, block);
		session_lose_block(session, block, cause);
		account_add(cause == GAP_DISK ? &disk->lost_bytes : &disk->aborted_bytes,
			    ring_bytes(ring, block));
		ring_give_back(ring, block);
		block = next;
	}
	hold(disk, RING_NONE);
}

static void subtract_unit(struct disk *disk)
{
	if (disk->session->plan.run_bytes) /* else blocks go one by one and no units are counted */
		atomic_fetch_sub_explicit(&disk->open_units, 1, memory_order_relaxed);
}

/* The file begun for a run that goes elsewhere, or nowhere, is none of ours. */
static void abandon_file(struct disk *disk)
{
	if (sink_is_file_open(disk->sink))
		account_subtract(&disk->file_count, 1);
	sink_abandon_file(disk->sink);
}

/*
 * The others get the run and all that waits for this disk, before it is touched again: it may
 * hold us for ever. What is durable was taken from the segmenter already, and to bring the file
 * into order takes no block: so from here on nothing is ours.
 */
static void leave_to_others(struct disk *disk, uint32_t first)
{
	struct ring *ring = disk->session->ring;

	segmenter_drop(disk->segmenter);
	hold(disk, RING_NONE);
	ring_hand_over(ring, first);
	/* seq_cst: the reader looks at it after each put, see ring_rescue() */
	atomic_store_explicit(&disk->is_left, true, memory_order_seq_cst);
	ring_rescue(ring, disk->number);
}

/*
 * A write or sync has failed in the run that starts with @first. With other disks left, what is
 * not durable goes to them whole; else what was written is kept as far as it can be made durable,
 * and the rest is lost.
 */
static void fail_run(struct disk *disk, uint32_t first, uint32_t failed,
		     uint64_t durable_file_bytes, int error)
{
	struct session *session = disk->session;

	disk_fail(disk, error, sink_error(disk->sink));
	if (session->plan.is_held &&
	    atomic_load_explicit(&session->usable_count, memory_order_acquire) > 0) {
		leave_to_others(disk, first);
		into_disk(disk);
		if (durable_file_bytes == 0) {
			abandon_file(disk);
		} else { /* its beginning is durable and in the journal: it stays, as .part */
			sink_cut_file(disk->sink, durable_file_bytes);
			sink_leave_file(disk->sink);
		}
		out_of_disk(disk);
		return;
	}
	/* the file's size counts whole blocks only: the one that failed is not in it */
	if (finish_in_sink(disk) == 0) {
		segmenter_close(disk->segmenter);
		if (session->plan.is_held)
			disk_settle(disk, segmenter_pending(disk->segmenter));
	} else {
		segmenter_close(disk->segmenter);
		if (session->plan.is_held)
			disk_forfeit(disk);
	}
	hold(disk, failed);
	while (session->plan.is_held && first != failed) {
		uint32_t next = ring_next(session->ring, first);

		ring_give_back(session->ring, first);
		first = next;
	}
	lose_run(disk, failed, GAP_DISK);
}

/* ---- runs ---- */

/* The run is written; make it durable (several targets) and let its blocks go. */
static int complete_run(struct disk *disk, bool is_file_end)
{
	int ret;

	if (is_file_end && sink_is_file_open(disk->sink))
		return finish_file(disk);
	if (!disk->session->plan.is_held)
		return 0;
	into_disk(disk);
	ret = sink_sync(disk->sink);
	out_of_disk(disk);
	segmenter_close(disk->segmenter);
	if (ret == 0)
		disk_settle(disk, segmenter_pending(disk->segmenter));
	return ret;
}

/* The operator wants out: nothing of a run that is not durable yet is kept. */
static void abort_run(struct disk *disk, uint32_t first, uint32_t block, uint64_t durable)
{
	if (disk->session->plan.is_held && block != first) {
		segmenter_drop(disk->segmenter);
		into_disk(disk);
		if (durable == 0)
			abandon_file(disk);
		else
			sink_cut_file(disk->sink, durable);
		out_of_disk(disk);
		block = first;
	}
	lose_run(disk, block, GAP_ABORTED);
}

static void write_run(struct disk *disk, uint32_t first)
{
	struct session *session = disk->session;
	bool is_held = session->plan.is_held, is_file_end = false;
	/* what the file has before this run, all of it durable; of a file of its own nothing */
	uint64_t durable = is_continued(disk, ring_label(session->ring, first)) ?
				   sink_file_bytes(disk->sink) :
				   0;
	uint32_t block = first;
	int ret;

	do {
		const struct block_label *label = ring_label(session->ring, block);
		uint32_t next;

		hold(disk, is_held ? first : block);
		if (is_aborting(disk)) {
			abort_run(disk, first, block, durable);
			return;
		}
		ret = write_block(disk, block);
		if (ret < 0) {
			fail_run(disk, first, block, durable, ret);
			return;
		}
		is_file_end = label->is_file_end;
		if (!is_held)
			hold(disk, RING_NONE); /* it is the disk's now */
		next = next_block(disk, block);
		if (!is_held)
			ring_give_back(session->ring, block);
		block = next;
	} while (block != RING_END);
	ret = complete_run(disk, is_file_end || session->plan.is_run_a_file);
	if (ret < 0)
		fail_run(disk, first, RING_END, durable, ret);
	else if (is_held)
		release_run(disk, first);
}

/*
 * Rescued runs first: they are the oldest. But who has as much waiting as a disk may have leaves
 * them to others who are free; when there are none, the ring fills, our own queue gets no more
 * and shrinks, and we come to them.
 */
static uint32_t claim(struct disk *disk)
{
	struct ring *ring = disk->session->ring;
	uint32_t first = RING_NONE;

	if (ring_queue_length(ring, disk->number) < STRIPE_UNITS_MAX)
		first = ring_claim(ring, RING_RESCUE);
	if (first == RING_NONE)
		return ring_claim(ring, disk->number);
	if (disk->session->plan.run_bytes)
		/* nobody's unit becomes ours; those in our queue were counted by the reader */
		atomic_fetch_add_explicit(&disk->open_units, 1, memory_order_relaxed);
	return first;
}

/*
 * The stream is over and every block is back: nobody can hand anything to us any more. Or nobody
 * waits for those who could.
 */
static bool is_all_written(const struct session *session)
{
	if (atomic_load_explicit(&session->is_over, memory_order_acquire))
		return true;
	return atomic_load_explicit(&session->has_stream_ended, memory_order_acquire) &&
	       ring_free_count(session->ring) == ring_block_count(session->ring);
}

static void close_old_segment(struct disk *disk)
{
	if (!disk->session->plan.is_held &&
	    segmenter_age_ns(disk->segmenter, units_monotonic_ns()) > SEGMENT_AGE_NS)
		segmenter_close(disk->segmenter);
}

/*
 * The disk is out: what still comes to its queue goes to the others, or is lost when there are
 * none.
 */
static void forward(struct disk *disk)
{
	struct session *session = disk->session;

	while (!is_all_written(session) && !is_aborting(disk)) {
		uint32_t ticket = ring_listen(session->ring, disk->number);
		bool is_last = !session->plan.is_held ||
			       atomic_load_explicit(&session->usable_count, memory_order_acquire) == 0;
		uint32_t first = ring_claim(session->ring, disk->number);

		if (first == RING_NONE && is_last)
			first = ring_claim(session->ring, RING_RESCUE);
		if (first == RING_NONE)
			ring_sleep(session->ring, disk->number, ticket, units_monotonic_ns() + IDLE_NS);
		else if (is_last)
			lose_run(disk, first, GAP_DISK);
		else
			ring_hand_over(session->ring, first);
	}
}

static void write_all_runs(struct disk *disk)
{
	struct session *session = disk->session;

	while (disk_is_usable(disk) && !is_aborting(disk)) {
		uint32_t ticket = ring_listen(session->ring, disk->number);
		uint32_t first = claim(disk);

		if (first != RING_NONE) {
			write_run(disk, first);
			hold(disk, RING_NONE);
			subtract_unit(disk);
			close_old_segment(disk);
			continue;
		}
		if (is_all_written(session))
			return;
		close_old_segment(disk);
		wait_for_reader(disk, RING_NONE, ticket);
	}
}

void *writer_main(void *arg)
{
	struct disk *disk = arg;
	struct session *session = disk->session;
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "writer%u", disk->number);
	pthread_setname_np(pthread_self(), name);
	write_all_runs(disk);
	if (!disk_is_usable(disk))
		forward(disk);
	/* a file without an end of its own ends with the stream */
	if (disk_is_usable(disk) && sink_is_file_open(disk->sink)) {
		ret = finish_file(disk);
		if (ret < 0)
			disk_fail(disk, ret, sink_error(disk->sink));
	}
	segmenter_close(disk->segmenter);
	atomic_store_explicit(&disk->writer_cpu, sched_getcpu(), memory_order_relaxed);
	atomic_store_explicit(&disk->writer_policy, sched_getscheduler(0), memory_order_relaxed);
	atomic_store_explicit(&disk->has_ended, true, memory_order_release);
	bell_ring(&disk->keeper_bell);
	ring_wake_all(session->ring);
	session_poke(session);
	return NULL;
}
