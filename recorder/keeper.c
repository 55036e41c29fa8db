/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/keeper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/disk.h"
#include "recorder/room.h"
#include "recorder/state.h"

/* A journal that fails is closed for good: told once. The others go on, and say so too. */
static void keep_journal(struct disk *disk)
{
	int ret = disk->session->journal ? journal_flush(disk->session->journal, disk->number) : 0;

	if (ret < 0 && ret != -EBADF)
		session_warn(disk->session, "the journal on %s can't be written any more: %s",
			     disk->target.path, strerror(-ret));
}

void *keeper_main(void *arg)
{
	struct disk *disk = arg;
	struct session *session = disk->session;
	char name[16];
	bool has_end_line;

	snprintf(name, sizeof(name), "keeper%u", disk->number);
	pthread_setname_np(pthread_self(), name);
	do {
		uint32_t ticket = bell_listen(&disk->keeper_bell);

		has_end_line = atomic_load_explicit(&session->has_end_line, memory_order_acquire);
		room_look(disk);
		keep_journal(disk);
		while (session->metadata && metadata_write(session->metadata, disk))
			keep_journal(disk); /* which is the more important one */
		if (!has_end_line)
			bell_sleep(&disk->keeper_bell, ticket, units_monotonic_ns() + KEEPER_NS);
	} while (!has_end_line);
	return NULL;
}
