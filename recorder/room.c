/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/room.h"

#include <inttypes.h>
#include <stdio.h>

#include "recorder/disk.h"
#include "recorder/outbox.h"

#define RESERVE_BYTES (UINT64_C(1) << 20)
#define FILE_OVERHEAD_BYTES UINT64_C(4608) /* a journal line, and the rest of a file's last page */
#define AHEAD_BLOCKS 2                     /* being filled in a lane, and being read */
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

/* By what all files on this file system have got now. */
static void widen(struct outbox_space *sum, const struct disk *first)
{
	const struct session *session = first->session;
	struct outbox_space all = { 0 };

	for (unsigned i = first->number; i < session->disk_count; i++) {
		const struct disk *disk = &session->disks[i];

		if (!is_on_one(disk, first))
			continue;
		all.least += atomic_load_explicit(&disk->space_bytes, memory_order_relaxed);
		all.most += atomic_load_explicit(&disk->space_most_bytes, memory_order_relaxed);
		all.is_changing = all.is_changing || atomic_load_explicit(&disk->is_space_changing,
									  memory_order_relaxed);
	}
	sum->least = all.least < sum->least ? all.least : sum->least;
	sum->most = all.most > sum->most ? all.most : sum->most;
	sum->is_changing = sum->is_changing || all.is_changing;
}

/* ---- what the file system has ---- */

/*
 * The least that it can be; but while a file gets its space, which may be much, what we knew before, unless
 * others have taken some of it for certain.
 */
void room_look(struct disk *disk)
{
	struct outbox_space space = { .least = UINT64_MAX };
	uint64_t free_bytes, total_bytes, capacity, taken, last = disk->looked_bytes;

	widen(&space, disk);
	if (disk->target.kind != TARGET_DIRECTORY ||
	    target_room(&disk->target, &free_bytes, &total_bytes) < 0)
		return;
	atomic_store_explicit(&disk->free_bytes, free_bytes, memory_order_relaxed);
	if (!is_first(disk))
		return;
	widen(&space, disk); /* before and after: our own writes may come in between */
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

static uint64_t reserve_bytes(const struct session *session)
{
	const struct layout_plan *plan = &session->plan;
	uint64_t file_bytes = session->disks[0].file_bytes;
	uint64_t unit = plan->run_bytes ? plan->run_bytes :
			file_bytes      ? file_bytes :
					  JOURNAL_SEGMENT_MAX;

	return RESERVE_BYTES + plan->ring_bytes / unit * FILE_OVERHEAD_BYTES;
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
