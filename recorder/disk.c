/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/disk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool disk_is_usable(const struct disk *disk)
{
	return atomic_load_explicit(&disk->state, memory_order_acquire) == DISK_OK;
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

void disk_fail(struct disk *disk, int error, const char *why)
{
	struct session *session = disk->session;
	enum disk_state state = state_for(error);

	if (atomic_exchange_explicit(&disk->is_failing, true, memory_order_acq_rel))
		return;
	snprintf(disk->error, sizeof(disk->error), "%s", why);
	/* release: the sentence is whole before anybody sees the state */
	atomic_store_explicit(&disk->state, state, memory_order_release);
	session_event(session, state == DISK_FULL ? "disk-full" : "disk-failed", (int)disk->number,
		      "%s: %s", session_disk_state_name(state), why);
	/*
	 * where nothing is held for them (wr), the others can't take over what this disk should
	 * have got
	 */
	if (atomic_fetch_sub_explicit(&session->usable_count, 1, memory_order_acq_rel) == 1 ||
	    !session->plan.is_held)
		session_stop(session, STOP_LAST_DISK);
	ring_wake_all(session->ring);
}

void disk_settle(struct disk *disk, uint32_t count)
{
	struct session *session = disk->session;
	char name[LAYOUT_NAME_LEN];

	while (count-- > 0) {
		struct segment segment = segmenter_take(disk->segmenter);

		/*
		 * relaxed: a counter; an addition, because writer and keeper both settle one
		 * after the other
		 */
		atomic_fetch_add_explicit(&disk->durable_bytes, segment.bytes, memory_order_relaxed);
		if (!session->journal)
			continue;
		layout_file_name(name, disk->name_template, segment.file_number, segment.file_base);
		journal_say_segment(session->journal, &(struct journal_segment){
							      .target = disk->number,
							      .file = name,
							      .file_offset = segment.file_offset,
							      .bytes = segment.bytes,
							      .stream_offset = segment.stream_offset,
							      .xxh3 = segment.xxh3,
							      .has_xxh3 = session->config.use_checksums,
							      .utc_ns = segment.utc_ns,
						      });
	}
}

void disk_forfeit(struct disk *disk)
{
	while (segmenter_pending(disk->segmenter) > 0) {
		struct segment segment = segmenter_take(disk->segmenter);

		account_add(&disk->forfeited_bytes, segment.bytes);
		session_gap(disk->session, segment.stream_offset, segment.bytes, GAP_DISK, false);
	}
}
