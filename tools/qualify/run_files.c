/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/run_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/layout.h"
#include "tools/qualify/scratch.h"

#define FILE_MOST \
	(UINT64_C(1) << 30) /* one disk: a large file rolls seldom, a small one goes quickly */
#define STEP_BYTES \
	(UINT64_C(256) << 20) /* a file without end gets as much again as it has, and so much at least: see sink.c */

static unsigned sharers(const struct run_config *config, unsigned index)
{
	const struct target *target = config->disks[index].target;
	unsigned count = 0;

	for (unsigned i = 0; i < config->disk_count; i++)
		count += config->disks[i].target->fs_device == target->fs_device;
	return count;
}

static uint64_t budget_of(const struct run_config *config, unsigned index)
{
	const struct run_disk *disk = &config->disks[index];
	uint64_t room = disk->target->kind == TARGET_DEVICE ?
				disk->target->total_bytes :
				scratch_room_bytes(disk->target, 0) / sharers(config, index);

	return disk->budget_bytes && disk->budget_bytes < room ? disk->budget_bytes : room;
}

static uint64_t file_most_of(const struct run_config *config)
{
	uint64_t most = UINT64_MAX;

	for (unsigned i = 0; i < config->disk_count; i++) {
		uint64_t here = scratch_file_most(config->disks[i].target);

		most = here < most ? here : most;
	}
	return most;
}

/* What the recorder would make of it. Frames of a real source change a block a little, and the last of a file is shorter. */
static struct layout_plan plan_of(const struct run_config *config, uint64_t ring_bytes)
{
	struct layout_request request = {
		.kind = LAYOUT_VBS,
		.disk_count = config->disk_count,
		.ring_bytes = ring_bytes,
		.block_bytes = config->block_bytes,
	};
	char error[LAYOUT_ERROR_LEN];
	struct layout_plan plan;

	if (layout_plan(&plan, &request, error) < 0) /* the session will refuse it, with the sentence */
		plan = (struct layout_plan){ .block_bytes = LAYOUT_ALIGN, .chunk_bytes = LAYOUT_ALIGN };
	return plan;
}

/*
 * One disk, and all of the stream has room there: one file without end, as the recorder has it, where the steps in
 * which that gets its space have room as well, or else one of the right size.
 * @budget_bytes: or the longest file that may be, if that is less
 */
static bool choose_one_file(struct run_files *files, const struct run_config *config,
			    uint64_t budget_bytes, uint64_t wanted_bytes)
{
	/* what a device sends of itself may come to more than rate and time say */
	bool is_known = wanted_bytes > 0 && (!config->source || config->limit_bytes > 0);
	uint64_t block_bytes = plan_of(config, files->ring_bytes).block_bytes;

	if (config->disk_count > 1 || !is_known || wanted_bytes >= budget_bytes ||
	    budget_bytes - wanted_bytes < 2 * block_bytes)
		return false;
	files->is_one = true;
	if (budget_bytes - wanted_bytes < wanted_bytes + STEP_BYTES)
		files->file_bytes = (wanted_bytes / block_bytes + 1) * block_bytes;
	return true;
}

/*
 * Chunks as the recorder cuts them, of one disk large files; or what the smallest budget or the largest file allows.
 * Return: 0: nothing.
 */
static uint64_t choose_file_bytes(const struct run_config *config, uint64_t ring_bytes,
				  uint64_t budget_bytes)
{
	struct layout_plan plan = plan_of(config, ring_bytes);
	uint64_t chunk = config->disk_count == 1 ? FILE_MOST : plan.chunk_bytes;
	uint64_t share = budget_bytes / SCRATCH_IO_FILES_LEAST, most = file_most_of(config);

	chunk = chunk < share ? chunk : share;
	return (chunk < most ? chunk : most) / plan.block_bytes * plan.block_bytes;
}

static int refuse(char *error, int code, const char *path, uint64_t budget_bytes)
{
	snprintf(error, TRIAL_TEXT_LEN,
		 "%.300s: %" PRIu64
		 " bytes may be taken there, which hold no files to write one behind the other: free some space, or a smaller block",
		 path, budget_bytes);
	return code;
}

int run_files_create(struct run_files **out, const struct run_config *config, uint64_t wanted_bytes,
		     char *error)
{
	struct run_files *files = calloc(1, sizeof(*files));
	uint64_t budgets[TARGET_MAX], least = UINT64_MAX, most;
	unsigned smallest = 0;
	int ret = 0;

	*out = files;
	if (!files) {
		snprintf(error, TRIAL_TEXT_LEN, "no memory for the run");
		return -ENOMEM;
	}
	files->count = config->disk_count;
	files->ring_bytes = config->ring_bytes ? config->ring_bytes : RUN_RING_DEFAULT;
	for (unsigned i = 0; i < files->count; i++) {
		budgets[i] = budget_of(config, i);
		smallest = budgets[i] < least ? i : smallest;
		least = budgets[smallest];
	}
	most = file_most_of(config);
	if (!choose_one_file(files, config, least < most ? least : most, wanted_bytes)) {
		files->file_bytes = choose_file_bytes(config, files->ring_bytes, least);
		if (files->file_bytes == 0)
			return refuse(error, -ENOSPC, config->disks[smallest].target->path, least);
	}
	for (unsigned i = 0; i < files->count && ret == 0; i++)
		ret = scratch_io_create(&files->scratches[i],
					&(struct scratch_io_config){
						.target = config->disks[i].target,
						.budget_bytes = files->is_one ? 0 : budgets[i],
						.file_bytes = files->file_bytes,
						.lower = config->disks[i].lower,
					});
	if (ret < 0)
		snprintf(error, TRIAL_TEXT_LEN, "no memory for the run");
	return ret;
}

void run_files_free(struct run_files *files)
{
	if (!files)
		return;
	for (unsigned i = 0; i < files->count; i++)
		scratch_io_free(files->scratches[i]);
	free(files);
}

const struct scratch_io *run_files_of(const struct run_files *files, unsigned index)
{
	return files->scratches[index];
}

bool run_files_seed(const struct run_files *files, uint64_t *seed)
{
	*seed = files->seed;
	return files->has_seed;
}

uint64_t run_files_stream_bytes(const struct run_files *files)
{
	return files->stream_bytes;
}
