/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/sweeps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"
#include "tools/qualify/scratch_writer.h"

#define BLOCK_LEAST (UINT64_C(4) << 10)
#define BLOCK_MOST (UINT64_C(16) << 20)
#define DEPTH_MOST 32
#define LEAST_WRITES 3
#define LONGEST_NS (8 * UNITS_NS_PER_S) /* of a point in one pass, */
#define LONGEST_SHARE 10                /* and so many times what it is to take */
#define LATE_SHARE 1.5                  /* of the time, */
#define LATE_LEAST_NS \
	(2 * UNITS_NS_PER_S) /* and so much more: from then on every other point is left out */
#define WARM_UP_SHARE 4      /* of a point's time in one pass, before the first */
#define LEAST_BYTES (UINT64_C(32) << 20) /* in one pass, */
#define LEAST_MOST_NS UNITS_NS_PER_S     /* unless they take so long, */
#define LEAST_MOST_SHARE 4               /* or so many times a point's time */
#define STEP_BYTES (UINT64_C(16) << 20)  /* preallocated at least */
#define PIECE_BYTES (UINT64_C(4) << 20)  /* buffered: written before the first sync */
#define KNEE_SHARE 0.95
#define TIMES_MAX ((size_t)1 << 19)

struct sweep {
	const struct sweep_config *config;
	struct trial_sweep *result;
	struct teller teller;
	struct scratch_writer *writer;
	struct trial_point *points; /* all that were planned */
	unsigned count;
	uint64_t expected_bytes; /* of the next point: what the last one came to */
	double best_bps;
	int64_t began_ns;
	char too_long[160], no_room[160]; /* points that were left out */
	int64_t *took_ns;
};

/* ---- notes ---- */

static void note(struct trial_sweep *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Each once: a point comes up twice. */
static void note(struct trial_sweep *result, const char *format, ...)
{
	size_t used = strlen(result->note);
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (!strstr(result->note, text))
		snprintf(result->note + used, sizeof(result->note) - used, "%s%s", used ? "; " : "",
			 text);
}

/* "64 KiB" or "64 KiB, 8 in flight" */
static const char *describe(char *buf, size_t len, const struct trial_point *point)
{
	char size[UNITS_TEXT_LEN];

	snprintf(buf, len, "%s, %u in flight", units_format_size(size, point->block_bytes),
		 point->depth);
	return buf;
}

/* Into a list of points, each once. */
static void leave_out(char *list, size_t len, const struct trial_point *point)
{
	size_t used = strlen(list);
	char text[64];

	describe(text, sizeof(text), point);
	if (!strstr(list, text))
		snprintf(list + used, len - used, "%s%s", used ? ", " : "", text);
}

/* ---- a point ---- */

/* The file begins again, with room for as much as is expected. */
static int begin_file(struct sweep *s, const struct trial_point *point)
{
	uint64_t bytes = s->expected_bytes + s->expected_bytes / 4;
	int ret = scratch_writer_do(s->writer, SCRATCH_CUT, 0, NULL);

	if (bytes < STEP_BYTES)
		bytes = STEP_BYTES;
	if (bytes < LEAST_WRITES * point->block_bytes)
		bytes = LEAST_WRITES * point->block_bytes;
	return ret < 0 ? ret : scratch_writer_do(s->writer, SCRATCH_GROW, bytes, NULL);
}

/* Room for a block at *@offset, or else from the file's beginning on. Return: 0; -ENOSPC; -errno. */
static int make_room(struct sweep *s, const struct trial_point *point, uint64_t *offset)
{
	uint64_t end = scratch_writer_allocated_bytes(s->writer);
	int ret = 0;

	if (*offset + point->block_bytes <= end)
		return 0;
	ret = scratch_writer_do(s->writer, SCRATCH_GROW, end > STEP_BYTES ? end : STEP_BYTES, NULL);
	if (ret < 0 || *offset + point->block_bytes <= scratch_writer_allocated_bytes(s->writer))
		return ret;
	if (*offset == 0)
		return -ENOSPC;
	*offset = 0;
	s->expected_bytes = end;
	ret = begin_file(s, point);
	if (ret == 0 && scratch_writer_allocated_bytes(s->writer) < point->block_bytes)
		ret = -ENOSPC;
	return ret;
}

/* Through the page cache: it is on the disk before it counts, and the memory it takes is bounded. */
static int sync_piece(struct sweep *s, int64_t time_ns, int64_t before_ns,
		      struct scratch_tally *tally, uint64_t *piece_bytes)
{
	int64_t took_ns = 0;
	int ret = scratch_writer_do(s->writer, SCRATCH_SYNC, 0, &took_ns);

	tally->elapsed_ns += took_ns;
	if (*piece_bytes < SINK_DIRTY_BYTES && (tally->elapsed_ns - before_ns) * 4 < time_ns)
		*piece_bytes *= 2;
	return ret;
}

/*
 * For so long at most. What slows a disk down may do it in lumps of a tenth of a second, of which a few say
 * little: so one that hasn't come far gets more time.
 */
static int64_t time_for(const struct scratch_tally *tally, int64_t time_ns)
{
	int64_t more_ns = LEAST_MOST_SHARE * time_ns < LEAST_MOST_NS ? LEAST_MOST_SHARE * time_ns :
								       LEAST_MOST_NS;

	return tally->bytes < LEAST_BYTES && time_ns < more_ns ? more_ns : time_ns;
}

/* Writes for so long. */
static int measure(struct sweep *s, const struct trial_point *point, int64_t time_ns,
		   uint64_t least, struct scratch_tally *tally)
{
	uint64_t offset = 0, piece_bytes = PIECE_BYTES;
	int ret = begin_file(s, point);

	while (ret == 0 && (tally->count < least || tally->elapsed_ns < time_for(tally, time_ns))) {
		int64_t before_ns = tally->elapsed_ns;
		uint64_t before_bytes = tally->bytes;
		struct scratch_span span = {
			.block_bytes = point->block_bytes,
			.depth = point->depth,
			.time_ns = (tally->elapsed_ns < time_ns ? time_ns : time_for(tally, time_ns)) -
				   tally->elapsed_ns,
			.least = tally->count < least ? least - tally->count : 0,
		};

		ret = make_room(s, point, &offset);
		if (ret < 0)
			break;
		span.offset = offset;
		span.bytes = scratch_writer_allocated_bytes(s->writer) - offset;
		if (!scratch_writer_is_direct(s->writer) && span.bytes > piece_bytes)
			span.bytes = piece_bytes > span.block_bytes ? piece_bytes : span.block_bytes;
		ret = scratch_writer_write(s->writer, &span, tally);
		offset += tally->bytes - before_bytes;
		if (ret == 0 && !scratch_writer_is_direct(s->writer))
			ret = sync_piece(s, time_ns, before_ns, tally, &piece_bytes);
		if (tally->elapsed_ns > 0)
			s->teller.progress.rate_bps =
				(double)tally->bytes * 8e9 / (double)tally->elapsed_ns;
	}
	s->expected_bytes = tally->bytes;
	return ret;
}

/* The slower of two passes stays, with the worst write of both. */
static void keep(struct sweep *s, struct trial_point *point, struct scratch_tally *tally)
{
	double elapsed_s = (double)tally->elapsed_ns / 1e9;
	double rate_bps = (double)tally->bytes * 8 / elapsed_s;

	if (tally->count == 0)
		return;
	if (point->bytes == 0 || rate_bps < point->rate_bps) {
		point->rate_bps = rate_bps;
		point->cpu_share = tally->cpu_s / elapsed_s;
		point->median_ns = scratch_tally_median_ns(tally);
	}
	point->bytes += tally->bytes;
	if (tally->worst_ns > point->worst_ns)
		point->worst_ns = tally->worst_ns;
	if (rate_bps > s->best_bps)
		s->best_bps = rate_bps;
}

/* On a slow disk every other point has to do, and one pass. */
static bool is_late(const struct sweep *s, unsigned turn)
{
	int64_t planned_ns = s->config->point_ns / 2 * (turn + 1),
		late_ns = units_monotonic_ns() - s->began_ns - LATE_LEAST_NS;

	return (double)late_ns > LATE_SHARE * (double)planned_ns &&
	       (turn >= s->count || turn % 2 == 1);
}

/* Would it take too long? Then it is no point, and the note says so. */
static bool is_left_out(struct sweep *s, const struct trial_point *point, unsigned turn)
{
	uint64_t writes = point->depth > LEAST_WRITES ? point->depth : LEAST_WRITES;
	double needed_s = (double)(writes * point->block_bytes) * 8 / s->best_bps;
	int64_t longest_ns = LONGEST_SHARE * s->config->point_ns / 2;

	longest_ns = longest_ns < LATE_LEAST_NS ? LATE_LEAST_NS : longest_ns;
	if (longest_ns > LONGEST_NS)
		longest_ns = LONGEST_NS;
	if (s->best_bps <= 0 || (needed_s * 1e9 <= (double)longest_ns && !is_late(s, turn)))
		return false;
	if (point->bytes == 0)
		leave_out(s->too_long, sizeof(s->too_long), point);
	return true;
}

static int try_point(struct sweep *s, struct trial_point *point, int64_t time_ns)
{
	struct scratch_tally tally = { .took_ns = s->took_ns,
				       .took_capacity = s->took_ns ? TIMES_MAX : 0 };
	int ret = measure(s, point, time_ns, LEAST_WRITES, &tally);

	keep(s, point, &tally);
	if (ret == -ENOSPC && scratch_writer_allocated_bytes(s->writer) < point->block_bytes) {
		leave_out(s->no_room, sizeof(s->no_room), point);
		return 0;
	}
	return ret;
}

/* ---- a sweep ---- */

static int sweep_up_and_down(struct sweep *s)
{
	int64_t time_ns = s->config->point_ns / 2;
	double share = 0.5 / s->count;
	struct scratch_tally warm_up = { 0 };
	int ret;

	ret = measure(s, &s->points[0], time_ns / WARM_UP_SHARE, 1, &warm_up);
	if (ret == -ENOSPC) /* each point will say so itself */
		ret = 0;
	for (unsigned turn = 0; turn < 2 * s->count && ret == 0; turn++) {
		struct trial_point *point =
			&s->points[turn < s->count ? turn : 2 * s->count - 1 - turn];
		char text[64];

		if (is_left_out(s, point, turn))
			continue;
		teller_begin(&s->teller, turn * share, share, time_ns,
			     describe(text, sizeof(text), point));
		ret = try_point(s, point, time_ns);
	}
	return ret;
}

int sweep_knee(const struct trial_sweep *sweep)
{
	double best_bps = 0;

	for (unsigned i = 0; i < sweep->count; i++)
		if (sweep->points[i].rate_bps > best_bps)
			best_bps = sweep->points[i].rate_bps;
	for (unsigned i = 0; i < sweep->count; i++)
		if (sweep->points[i].rate_bps >= KNEE_SHARE * best_bps)
			return (int)i;
	return -1;
}

static void take_points(struct sweep *s)
{
	if (s->too_long[0])
		note(s->result, "left out, since they take too long: %s", s->too_long);
	if (s->no_room[0])
		note(s->result, "left out for want of room: %s", s->no_room);
	for (unsigned i = 0; i < s->count; i++)
		if (s->points[i].bytes > 0)
			s->result->points[s->result->count++] = s->points[i];
	s->result->knee = sweep_knee(s->result);
}

static int open_writer(struct sweep *s)
{
	struct scratch_writer_config config = {
		.target = s->config->target,
		.teller = &s->teller,
		.io = s->config->io,
		.engine = s->config->engine,
		.use_direct = s->config->use_direct,
		.most_bytes = s->config->most_bytes,
	};
	char error[SCRATCH_ERROR_LEN];
	int ret;

	for (unsigned i = 0; i < s->count; i++) {
		const struct trial_point *point = &s->points[i];

		if (point->depth > config.depth)
			config.depth = point->depth;
		if (point->block_bytes > config.block_bytes)
			config.block_bytes = point->block_bytes;
		if (point->block_bytes * point->depth > config.memory_bytes)
			config.memory_bytes = point->block_bytes * point->depth;
	}
	ret = scratch_writer_open(&s->writer, &config, error);
	if (ret < 0)
		snprintf(s->result->error, sizeof(s->result->error), "%s", error);
	return ret;
}

/* Return: @ret, or why there is no point at all. */
static int explain(struct sweep *s, int ret)
{
	char *error = s->result->error;

	if (ret == -ECANCELED)
		return ret;
	if (ret < 0) {
		snprintf(error, sizeof(s->result->error), "%s", scratch_writer_error(s->writer));
	} else if (s->result->count == 0) {
		ret = -ENOSPC;
		snprintf(error, sizeof(s->result->error),
			 "%.250s: no write was possible: what is free, less what is kept free, is too little (%.120s)",
			 s->config->target->path, s->result->note);
	}
	return ret;
}

static int run(struct sweep *s)
{
	int ret = open_writer(s);

	if (ret < 0)
		return ret;
	s->took_ns = malloc(TIMES_MAX * sizeof(s->took_ns[0])); /* without it there are no medians */
	s->began_ns = units_monotonic_ns();
	teller_begin(&s->teller, 0, 0, 0, "warming up");
	ret = scratch_writer_do(s->writer, SCRATCH_CREATE, 0, NULL);
	if (ret == 0)
		ret = sweep_up_and_down(s);
	take_points(s);
	if (s->config->use_direct && s->result->count > 0 && !scratch_writer_is_direct(s->writer))
		note(s->result, "the file system refuses direct I/O: buffered writes, synced");
	ret = explain(s, ret);
	scratch_writer_close(s->writer);
	free(s->took_ns);
	return ret;
}

/* More in flight than we have memory for is no point. */
static void plan(struct sweep *s, uint64_t block_bytes, unsigned depth)
{
	struct trial_point *point = &s->points[s->count];
	char text[64];

	*point = (struct trial_point){ .block_bytes = block_bytes, .depth = depth };
	if (block_bytes * depth > SCRATCH_MEMORY_MAX)
		note(s->result, "left out: %s: more than 256 MiB", describe(text, sizeof(text), point));
	else
		s->count++;
}

int sweep_blocks(const struct sweep_config *config, struct trial_sweep *result)
{
	struct trial_point points[TRIAL_POINTS_MAX];
	struct sweep s = { .config = config, .result = result, .points = points };

	*result = (struct trial_sweep){ .knee = -1 };
	teller_init(&s.teller, config->control, PHASE_BLOCKS, config->disk);
	for (uint64_t block = BLOCK_LEAST; block <= BLOCK_MOST; block *= 2)
		plan(&s, block, config->depth ? config->depth : engine_usual_depth(block));
	return run(&s);
}

int sweep_depths(const struct sweep_config *config, struct trial_sweep *result)
{
	struct trial_point points[TRIAL_POINTS_MAX];
	struct sweep s = { .config = config, .result = result, .points = points };

	*result = (struct trial_sweep){ .knee = -1 };
	teller_init(&s.teller, config->control, PHASE_DEPTH, config->disk);
	for (unsigned depth = 1; depth <= DEPTH_MOST; depth *= 2)
		plan(&s, config->block_bytes, depth);
	return run(&s);
}
