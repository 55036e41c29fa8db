/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/rollover.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"
#include "tools/qualify/scratch_writer.h"

#define SMALLEST_BYTES (UINT64_C(2) << 10)
#define LARGEST_BYTES (UINT64_C(8) << 20)
#define SIZE_COUNT 13
#define COUNT_MOST 1024

struct rollover {
	const struct rollover_config *config;
	struct trial_rollover *result;
	struct teller teller;
	struct scratch_writer *writer;
	unsigned depth;
	int64_t whole_ns[COUNT_MOST], change_ns[COUNT_MOST]; /* of each file of a size */
	unsigned count;
};

/* ---- one file ---- */

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + LAYOUT_ALIGN - 1) / LAYOUT_ALIGN * LAYOUT_ALIGN;
}

/* Blocks, and what is left of it in one more write, padded. */
static int write_file(struct rollover *r, uint64_t bytes, int64_t *took_ns)
{
	uint64_t padded = whole_pages(bytes), block = r->config->block_bytes;
	struct scratch_tally tally = { 0 };
	struct scratch_span span = { .bytes = padded / block * block,
				     .block_bytes = block,
				     .depth = r->depth };
	int ret = 0;

	if (scratch_writer_allocated_bytes(r->writer) < padded)
		return -ENOSPC;
	span.least = span.bytes / block;
	if (span.bytes > 0)
		ret = scratch_writer_write(r->writer, &span, &tally);
	if (ret == 0 && padded > span.bytes) {
		span.offset = span.bytes;
		span.bytes = span.block_bytes = padded - span.offset;
		span.depth = span.least = 1;
		ret = scratch_writer_write(r->writer, &span, &tally);
	}
	*took_ns = tally.elapsed_ns;
	return ret;
}

static int do_file(struct rollover *r, uint64_t bytes, int64_t *took_ns)
{
	static const struct {
		enum scratch_step step;
		enum trial_file_step as;
	} after[] = {
		{ SCRATCH_CUT, FILE_CUT },
		{ SCRATCH_SYNC, FILE_SYNC },
		{ SCRATCH_COMMIT, FILE_COMMIT },
		{ SCRATCH_CLOSE, FILE_CLOSE },
	};
	int ret = scratch_writer_do(r->writer, SCRATCH_CREATE, 0, &took_ns[FILE_CREATE]);

	if (ret < 0)
		return ret;
	ret = scratch_writer_do(r->writer, SCRATCH_GROW, whole_pages(bytes), &took_ns[FILE_ALLOCATE]);
	if (ret == 0)
		ret = write_file(r, bytes, &took_ns[FILE_WRITE]);
	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]) && ret == 0; i++)
		ret = scratch_writer_do(r->writer, after[i].step, bytes, &took_ns[after[i].as]);
	if (ret < 0 && scratch_writer_fd(r->writer) >= 0)
		scratch_writer_do(r->writer, SCRATCH_CLOSE, 0, NULL);
	return ret;
}

/* ---- files of one size ---- */

static void count_file(struct rollover *r, struct trial_file_cost *cost, const int64_t *took_ns)
{
	int64_t whole_ns = 0;

	for (unsigned i = 0; i < FILE_STEP_COUNT; i++) {
		whole_ns += took_ns[i];
		if (took_ns[i] > cost->worst_step_ns[i])
			cost->worst_step_ns[i] = took_ns[i];
	}
	r->whole_ns[r->count] = whole_ns;
	r->change_ns[r->count++] = whole_ns - took_ns[FILE_WRITE];
	if (whole_ns > cost->worst_ns)
		cost->worst_ns = whole_ns;
	if (whole_ns > r->teller.progress.worst_ns)
		r->teller.progress.worst_ns = whole_ns;
	cost->count++;
}

static int64_t median_ns(int64_t *took_ns, unsigned count)
{
	struct scratch_tally tally = { .took_ns = took_ns, .took_count = count };

	return scratch_tally_median_ns(&tally);
}

/* Return: 0, also with none when there is no room for it; -errno. */
static int measure_size(struct rollover *r, uint64_t bytes, int64_t time_ns,
			struct trial_file_cost *cost)
{
	int64_t until_ns = units_monotonic_ns() + time_ns;
	unsigned most = r->config->count < COUNT_MOST ? r->config->count : COUNT_MOST;
	int ret = 0;

	*cost = (struct trial_file_cost){ .file_bytes = bytes };
	r->count = 0;
	while (ret == 0 && r->count < most && (r->count == 0 || units_monotonic_ns() < until_ns)) {
		int64_t took_ns[FILE_STEP_COUNT] = { 0 };

		ret = do_file(r, bytes, took_ns);
		if (ret == 0)
			count_file(r, cost, took_ns);
	}
	cost->median_ns = median_ns(r->whole_ns, r->count);
	if (ret == -ENOSPC && !scratch_writer_error(r->writer)[0]) {
		char size[UNITS_TEXT_LEN];
		size_t used = strlen(r->result->note);

		snprintf(r->result->note + used, sizeof(r->result->note) - used,
			 "%sno room for a file of %s", used ? "; " : "",
			 units_format_size(size, bytes));
		return 0;
	}
	return ret;
}

/* ---- all of it ---- */

static int measure_recorded(struct rollover *r)
{
	struct trial_rollover *result = r->result;
	struct trial_file_cost *cost = &result->recorded;
	int64_t time_ns = r->config->time_ns / 2;
	int ret;

	teller_begin(&r->teller, 0, 0.5, time_ns, "a recording's files");
	ret = measure_size(r, r->config->file_bytes, time_ns, cost);
	result->count = cost->count;
	result->file_bytes = cost->file_bytes;
	result->median_ns = cost->median_ns;
	result->worst_ns = cost->worst_ns;
	result->worst_create_ns = cost->worst_step_ns[FILE_CREATE];
	result->worst_sync_ns = cost->worst_step_ns[FILE_SYNC];
	result->worst_close_ns = cost->worst_step_ns[FILE_CLOSE];
	result->median_change_ns = median_ns(r->change_ns, r->count); /* now in order */
	result->worst_change_ns = r->count ? r->change_ns[r->count - 1] : 0;
	return ret;
}

static int measure_table(struct rollover *r)
{
	double from = r->config->file_bytes ? 0.5 : 0, share = (1 - from) / SIZE_COUNT;
	int64_t time_ns = r->config->time_ns / (r->config->file_bytes ? 2 : 1) / SIZE_COUNT;
	int ret = 0;

	for (uint64_t bytes = SMALLEST_BYTES; bytes <= LARGEST_BYTES && ret == 0; bytes *= 2) {
		struct trial_file_cost *cost = &r->result->sizes[r->result->size_count];
		char size[UNITS_TEXT_LEN], detail[64];

		snprintf(detail, sizeof(detail), "files of %s", units_format_size(size, bytes));
		teller_begin(&r->teller, from, share, time_ns, detail);
		from += share;
		ret = measure_size(r, bytes, time_ns, cost);
		if (cost->count > 0)
			r->result->size_count++;
	}
	return ret;
}

static int open_writer(struct rollover *r)
{
	const struct rollover_config *config = r->config;
	uint64_t most = SCRATCH_MEMORY_MAX / config->block_bytes;
	struct scratch_writer_config ours = {
		.target = config->target,
		.teller = &r->teller,
		.io = config->io,
		.engine = config->engine,
		.use_direct = config->use_direct,
		.block_bytes = config->block_bytes,
		.most_bytes = config->most_bytes,
	};
	char error[SCRATCH_ERROR_LEN];
	int ret;

	r->depth = config->depth ? config->depth : engine_usual_depth(config->block_bytes);
	if (r->depth > most)
		r->depth = (unsigned)most;
	ours.depth = r->depth;
	ours.memory_bytes = r->depth * config->block_bytes;
	ret = scratch_writer_open(&r->writer, &ours, error);
	if (ret < 0)
		snprintf(r->result->error, sizeof(r->result->error), "%s", error);
	return ret;
}

int rollover_measure(const struct rollover_config *config, struct trial_rollover *result)
{
	struct rollover r = { .config = config, .result = result };
	int ret;

	assert(config->block_bytes % LAYOUT_ALIGN == 0 && config->block_bytes <= SCRATCH_MEMORY_MAX);
	memset(result, 0, sizeof(*result));
	teller_init(&r.teller, config->control, PHASE_ROLLOVER, config->disk);
	ret = open_writer(&r);
	if (ret < 0)
		return ret;
	if (config->file_bytes)
		ret = measure_recorded(&r);
	if (ret == 0)
		ret = measure_table(&r);
	result->was_run = result->count > 0 || result->size_count > 0;
	if (ret == 0 && !result->was_run)
		ret = -ENOSPC;
	if (ret < 0 && ret != -ECANCELED)
		snprintf(result->error, sizeof(result->error), "%s",
			 result->was_run || scratch_writer_error(r.writer)[0] ?
				 scratch_writer_error(r.writer) :
				 result->note);
	scratch_writer_close(r.writer);
	return ret;
}
