/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/room.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "recorder/disk.h"
#include "recorder/outbox.h"

#define RESERVE_BYTES (UINT64_C(1) << 20)
#define FILE_OVERHEAD_BYTES UINT64_C(4608) /* a journal line, and the rest of a file's last page */
#define AHEAD_BLOCKS 2                     /* being filled in a lane, and being read */
#define LOOKS 20 /* until the writers are calm for one, with pauses in between */
#define PAUSE_NS 1000000
#define OTHERS_LOOKS 2 /* what others took since the last look they will take so many times more */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* ---- what our files have ---- */

/* What the ring has let go, because this disk has it. */
static uint64_t written_bytes(const struct disk *disk)
{
	return disk->session->plan.is_held ?
		       atomic_load_explicit(&disk->durable_bytes, memory_order_relaxed) :
		       account_get(&disk->accepted_bytes);
}

void room_begin(struct disk *disk)
{
	/* acq_rel: neither what follows may come before this, nor what the last note said behind it */
	atomic_fetch_add_explicit(&disk->space_turn, 1, memory_order_acq_rel);
}

void room_note(struct disk *disk)
{
	bool is_held = disk->session->plan.is_held;
	struct outbox_space sum = { .least = written_bytes(disk), .most = written_bytes(disk) };

	for (unsigned i = 0; i < OUTBOX_FILES && disk->target.kind == TARGET_DIRECTORY; i++) {
		const struct outbox_file *file = outbox_file_at(disk->outbox, i);
		uint64_t counted = is_held ? outbox_file_durable(file) : outbox_file_bytes(file);
		struct outbox_space space = outbox_file_space(file);

		if (outbox_is_free(file))
			continue;
		sum.least += less(space.least, counted);
		sum.most += less(space.most, counted);
		sum.is_changing = sum.is_changing || space.is_changing;
	}
	atomic_store_explicit(&disk->space_bytes, sum.least, memory_order_relaxed);
	atomic_store_explicit(&disk->space_most_bytes, sum.most, memory_order_relaxed);
	atomic_store_explicit(&disk->is_space_changing, sum.is_changing, memory_order_relaxed);
	/* release: who sees this sees the note */
	atomic_fetch_add_explicit(&disk->space_turn, 1, memory_order_release);
}

static bool is_on_one(const struct disk *a, const struct disk *b)
{
	return a->target.fs_device == b->target.fs_device;
}

/* Directories on one file system share its room: the first of them stands for all. */
static bool is_first(const struct disk *disk)
{
	const struct disk *disks = disk->session->disks;
	unsigned i = 0;

	while (!is_on_one(&disks[i], disk))
		i++;
	return i == disk->number;
}

/* What all files on this file system have got. False: it is being changed. @turns: to be compared with a later call's. */
static bool sum_space(const struct disk *first, struct outbox_space *sum, uint64_t *turns)
{
	const struct session *session = first->session;

	*sum = (struct outbox_space){ 0 };
	*turns = 0;
	for (unsigned i = first->number; i < session->disk_count; i++) {
		const struct disk *disk = &session->disks[i];
		/* acquire: pairs with room_note() */
		uint32_t turn = atomic_load_explicit(&disk->space_turn, memory_order_acquire);

		if (!is_on_one(disk, first))
			continue;
		if (turn % 2)
			return false;
		*turns += turn;
		sum->least += atomic_load_explicit(&disk->space_bytes, memory_order_relaxed);
		sum->most += atomic_load_explicit(&disk->space_most_bytes, memory_order_relaxed);
		sum->is_changing = sum->is_changing || atomic_load_explicit(&disk->is_space_changing,
									    memory_order_relaxed);
	}
	return true;
}

/* ---- what the file system has ---- */

/* What is free, and what our files had just then. False: they were changing. */
static bool look_once(struct disk *disk, struct outbox_space *space, uint64_t *free_bytes)
{
	struct outbox_space after;
	uint64_t turns, turns_after, total_bytes;
	bool is_calm = sum_space(disk, space, &turns);

	if (target_room(&disk->target, free_bytes, &total_bytes) < 0)
		return false;
	atomic_store_explicit(&disk->free_bytes, *free_bytes, memory_order_relaxed);
	return is_calm && sum_space(disk, &after, &turns_after) && turns == turns_after;
}

/*
 * The least that it can be; but while a file gets its space, which may be much, what we knew before, unless
 * others have taken some of it for certain. A writer that is never calm leaves us with what we knew.
 */
void room_look(struct disk *disk)
{
	uint64_t free_bytes, capacity, taken, last = disk->looked_bytes;
	struct outbox_space space;
	unsigned left = LOOKS;

	if (disk->target.kind != TARGET_DIRECTORY)
		return;
	while (!look_once(disk, &space, &free_bytes)) {
		if (--left == 0)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	if (!is_first(disk) || disk->session->config.is_room_kept)
		return; /* stays unknown: no limit */
	capacity = free_bytes + space.least;
	taken = less(last, free_bytes + space.most);
	if (space.is_changing && taken == 0 && last > capacity)
		capacity = last;
	disk->looked_bytes = capacity;
	atomic_store_explicit(&disk->capacity_bytes, less(capacity, OTHERS_LOOKS * taken),
			      memory_order_relaxed);
}

/* ---- is it enough? ---- */

uint64_t room_run_bytes(const struct session *session)
{
	const struct layout_plan *plan = &session->plan;
	uint64_t bytes = plan->run_bytes, limit = session->config.limit_bytes;

	if (!plan->is_held)
		return 0;
	if (limit && limit < bytes) /* this one is shorter than a run */
		bytes = limit;
	return bytes % LAYOUT_ALIGN ? bytes + LAYOUT_ALIGN - bytes % LAYOUT_ALIGN : bytes;
}

/* With what stands in front of its data, and beside it. */
static uint64_t file_overhead_bytes(const struct session *session)
{
	const struct sink_head *head = metadata_head(session->metadata);

	return FILE_OVERHEAD_BYTES + (head ? head->bytes : 0) +
	       (session->config.metadata.use_sigmf ? LAYOUT_ALIGN : 0);
}

static uint64_t reserve_bytes(const struct session *session)
{
	const struct layout_plan *plan = &session->plan;
	uint64_t file_bytes = session->disks[0].file_bytes;
	uint64_t unit = plan->run_bytes ? plan->run_bytes :
			file_bytes      ? file_bytes :
					  JOURNAL_SEGMENT_MAX;

	return RESERVE_BYTES + plan->ring_bytes / unit * file_overhead_bytes(session);
}

/* Sums over the disks of one file system. */
struct use {
	uint64_t written_bytes;  /* what is there and no longer in the ring */
	uint64_t assigned_bytes; /* and what the ring has for it, with nothing held for others */
	unsigned disk_count;
	bool is_usable; /* a disk there still takes part */
};

static struct use sum_use(const struct disk *first)
{
	const struct session *session = first->session;
	struct use use = { 0 };

	for (unsigned i = first->number; i < session->disk_count; i++) {
		const struct disk *disk = &session->disks[i];

		if (!is_on_one(disk, first))
			continue;
		use.written_bytes += written_bytes(disk);
		use.assigned_bytes += account_get(&disk->assigned_bytes);
		use.disk_count++;
		use.is_usable = use.is_usable || disk_is_usable(disk);
	}
	return use;
}

/* One disk, and it has all that is asked for: whatever is left then. */
static bool is_wish_met(const struct session *session, uint64_t capacity)
{
	uint64_t wanted = session->config.limit_bytes;

	return session->disk_count == 1 && wanted && capacity >= wanted;
}

bool room_is_left(const struct session *session, uint32_t unput_run_count)
{
	uint64_t run_bytes = room_run_bytes(session), reserve = reserve_bytes(session);
	/*
	 * acquire, and first: what a run no longer counts for is counted as durable below. One that becomes
	 * durable just now may count twice: the end comes a run early then.
	 */
	uint64_t wanted_runs = atomic_load_explicit(&session->run_count, memory_order_acquire) +
			       (uint64_t)unput_run_count;
	uint64_t runs = 0;
	bool is_any_usable = false;

	for (unsigned i = 0; i < session->disk_count; i++) {
		const struct disk *disk = &session->disks[i];
		uint64_t capacity = atomic_load_explicit(&disk->capacity_bytes, memory_order_relaxed);
		struct use use;
		uint64_t left;

		if (disk->target.kind != TARGET_DIRECTORY)
			return true;
		if (!is_first(disk))
			continue;
		use = sum_use(disk);
		if (!use.is_usable)
			continue;
		is_any_usable = true;
		if (capacity == ROOM_UNKNOWN || is_wish_met(session, capacity))
			return true;
		left = less(capacity, reserve + (run_bytes ? use.written_bytes : use.assigned_bytes));
		if (run_bytes)
			runs += left / run_bytes;
		else if (left < session->plan.block_bytes * AHEAD_BLOCKS * use.disk_count)
			return false;
	}
	return !run_bytes || !is_any_usable || runs >= wanted_runs;
}

void room_tell(struct session *session)
{
	char list[SESSION_ERROR_LEN / 2] = "";
	size_t len = 0;

	for (unsigned i = 0; i < session->disk_count && len < sizeof(list); i++) {
		const struct disk *disk = &session->disks[i];
		uint64_t capacity = atomic_load_explicit(&disk->capacity_bytes, memory_order_relaxed);

		if (is_first(disk) && sum_use(disk).is_usable)
			len += (size_t)snprintf(list + len, sizeof(list) - len,
						"%s%.200s (%.100s) has %" PRIu64 " bytes left",
						len ? ", " : "", disk->target.path, disk->target.device,
						less(capacity, sum_use(disk).written_bytes));
	}
	session_event(session, "disks-full", -1,
		      "the stream ends before the disks are full: %s, and the ring holds %" PRIu64
		      " bytes for them; to go on, give targets with more room, or remove what is not needed any more",
		      list, ring_level(session->ring).held_bytes);
}
