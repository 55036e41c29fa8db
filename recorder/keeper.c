/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/keeper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/disk.h"
#include "recorder/state.h"

/* Everything that was closed before the sync is durable after it. */
static void sync_written(struct disk *disk)
{
	uint32_t count = segmenter_pending(disk->segmenter);
	int ret;

	if (count == 0)
		return;
	ret = sink_sync(disk->sink);
	pthread_mutex_lock(&disk->settle_lock);
	if (disk->is_written_off) {
		/* it took for ever, and the supervisor has given these bytes up already */
	} else if (ret == 0) {
		disk_settle(disk, count);
	} else {
		disk_fail(disk, ret, sink_error(disk->sink));
		disk_forfeit(disk);
	}
	pthread_mutex_unlock(&disk->settle_lock);
	ring_wake(disk->session->ring, disk->number); /* a writer may wait for room among the segments */
}

/* A journal that fails is closed for good: told once. The others go on, and say so too. */
static void keep_journal(struct disk *disk)
{
	int ret = disk->session->journal ? journal_flush(disk->session->journal, disk->number) : 0;

	if (ret < 0 && ret != -EBADF)
		session_warn(disk->session, "the journal on %s can't be written any more: %s",
			     disk->target.path, strerror(-ret));
}

static void look_at_room(struct disk *disk)
{
	uint64_t free_bytes, total_bytes;

	if (target_room(&disk->target, &free_bytes, &total_bytes) == 0 &&
	    disk->target.kind == TARGET_DIRECTORY)
		atomic_store_explicit(&disk->free_bytes, free_bytes, memory_order_relaxed);
}

void *keeper_main(void *arg)
{
	struct disk *disk = arg;
	struct session *session = disk->session;
	char name[16];
	bool has_ended, has_end_line;

	snprintf(name, sizeof(name), "keeper%u", disk->number);
	pthread_setname_np(pthread_self(), name);
	do {
		uint32_t ticket = bell_listen(&disk->keeper_bell);

		has_ended = atomic_load_explicit(&disk->has_ended, memory_order_acquire);
		has_end_line = atomic_load_explicit(&session->has_end_line, memory_order_acquire);
		if (!session->plan.is_held)
			sync_written(disk);
		if (has_ended) { /* release: the counters are final, however long the journal may take */
			atomic_store_explicit(&disk->has_settled, true, memory_order_release);
			session_poke(session);
		}
		keep_journal(disk);
		look_at_room(disk);
		if (!has_end_line)
			bell_sleep(&disk->keeper_bell, ticket, units_monotonic_ns() + KEEPER_NS);
	} while (!has_end_line);
	return NULL;
}
