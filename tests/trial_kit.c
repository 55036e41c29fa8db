/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/trial_kit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "drivers/units.h"
#include "tests/scratch.h"

static void die(const char *what)
{
	perror(what);
	abort();
}

void trial_kit_open(struct trial_kit *kit, unsigned disk_count)
{
	char error[TARGET_ERROR_LEN];

	memset(kit, 0, sizeof(*kit));
	if (scratch_make(kit->root, sizeof(kit->root), NULL) < 0)
		die("no directory for the trial");
	for (unsigned i = 0; i < disk_count; i++) {
		snprintf(kit->paths[i], sizeof(kit->paths[i]), "%s/d%u", kit->root, i);
		if (mkdir(kit->paths[i], 0755) < 0)
			die(kit->paths[i]);
		if (target_open(&kit->targets[i], kit->paths[i], error) < 0)
			die(error);
		kit->disks[i] = (struct run_disk){
			.number = i + 3,
			.target = &kit->targets[i],
			.budget_bytes = TRIAL_KIT_BUDGET,
		};
	}
	kit->config = (struct run_config){
		.phase = PHASE_PACED,
		.disks = kit->disks,
		.disk_count = disk_count,
		.limit_bytes = 8000000,
		.ring_bytes = UINT64_C(4) << 20,
		.block_bytes = TRIAL_KIT_BLOCK,
		.use_direct = true,
		.allow_same_device = true,
	};
}

int trial_kit_is_empty(const struct trial_kit *kit)
{
	for (unsigned i = 0; i < kit->config.disk_count; i++) {
		DIR *dir = opendir(kit->paths[i]);
		const struct dirent *entry;
		int count = 0;

		if (!dir)
			die(kit->paths[i]);
		while ((entry = readdir(dir)) != NULL)
			count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
		closedir(dir);
		if (count > 0)
			return 0;
	}
	return 1;
}

void trial_kit_close(struct trial_kit *kit)
{
	run_files_free(kit->files);
	trial_run_free(&kit->run);
	for (unsigned i = 0; i < kit->config.disk_count; i++)
		target_close(&kit->targets[i]);
	scratch_remove(kit->root);
}

static ssize_t spoiled_write(const struct sink_io *io, int fd, const void *data, size_t bytes,
			     off_t offset)
{
	struct spoiled_disk *disk = (struct spoiled_disk *)io;
	uint64_t number = atomic_fetch_add(&disk->write_count, 1) + 1, at = (uint64_t)offset;

	if (disk->stall_at == number)
		nanosleep(&(struct timespec){ .tv_sec = disk->stall_ns / UNITS_NS_PER_S,
					      .tv_nsec = disk->stall_ns % UNITS_NS_PER_S },
			  NULL);
	if (at == disk->lost_offset)
		return (ssize_t)bytes;
	if (at == disk->swap_offset)
		at += TRIAL_KIT_BLOCK;
	else if (disk->swap_offset != UINT64_MAX && at == disk->swap_offset + TRIAL_KIT_BLOCK)
		at -= TRIAL_KIT_BLOCK;
	if (disk->wrap_bytes)
		at %= disk->wrap_bytes;
	return sink_system_io.write(&sink_system_io, fd, data, bytes, (off_t)at);
}

void spoiled_disk_init(struct spoiled_disk *disk)
{
	memset(disk, 0, sizeof(*disk));
	disk->io = sink_system_io;
	disk->io.write = spoiled_write;
	disk->lost_offset = disk->swap_offset = UINT64_MAX;
}
