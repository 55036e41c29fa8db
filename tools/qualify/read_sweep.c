/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/read_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/layout.h"
#include "tools/qualify/errands.h"
#include "tools/qualify/scratch_writer.h"

#define PIECE_BYTES ((size_t)4 << 20)
#define FIRST_BYTES \
	((size_t)1 << 20) /* at a position, not counted; and what is read again and again */
#define LEAST_BYTES (UINT64_C(8) << 20)     /* at a position, counted */
#define STRETCH_BYTES (UINT64_C(256) << 20) /* of a device, for one position */
#define POSITION_NS (UNITS_NS_PER_S / 10)
#define LEAST_MOST_NS UNITS_NS_PER_S
#define TURN_NS (UNITS_NS_PER_S / 20) /* between two looks at whether it is cancelled */
#define WRITE_BYTES (UINT64_C(2) << 20)
#define STEP_BYTES (UINT64_C(64) << 20)
#define END_POINTS 3

/* A stretch that is read over and over until the time is over. */
struct reading {
	struct engine_op op; /* the first member */
	ssize_t (*read)(int fd, void *buf, size_t bytes, off_t offset);
	int fd;
	char *buf;
	uint64_t from, end; /* the stretch */
	size_t piece_bytes;
	int64_t time_ns; /* of elapsed_ns, in this and former turns */
	uint64_t least;  /* bytes, all the same, unless they take a second */
	/* so far */
	uint64_t at, bytes;
	int64_t elapsed_ns;
	bool has_ended; /* the file or device, before its time */
};

struct read_sweep;

struct opening {
	struct engine_op op; /* the first member */
	struct read_sweep *sweep;
};

/* On the heap: a disk that has been given up may still write to it. */
struct read_sweep {
	const struct read_sweep_config *config;
	struct trial_read *result;
	struct teller teller;
	struct errands errands;
	struct reading reading;
	struct opening opening;
	char *buf;
	int device_fd; /* -1 = none */
	uint64_t device_bytes;
};

/* The first sentence stays. */
static int fail(struct read_sweep *s, int code, const char *path, const char *asked)
{
	if (code == -ECANCELED || s->result->error[0])
		return code;
	snprintf(s->result->error, sizeof(s->result->error), "%.300s: %s: %s", path, asked,
		 code == -ETIMEDOUT   ? "the disk has not answered for 30 s" :
		 s->reading.has_ended ? "it ends there" :
					strerror(-code));
	return code;
}

/* ---- reading ---- */

static bool goes_on(const struct reading *reading)
{
	return reading->elapsed_ns < reading->time_ns ||
	       (reading->bytes < reading->least && reading->elapsed_ns < LEAST_MOST_NS);
}

/* One turn of it, by the hand. */
static void run_reading(struct engine_op *op)
{
	struct reading *reading = (struct reading *)op;
	int64_t from_ns = units_monotonic_ns(), before_ns = reading->elapsed_ns;

	op->result = 0;
	while (goes_on(reading) && reading->elapsed_ns - before_ns < TURN_NS) {
		size_t bytes = reading->piece_bytes;
		ssize_t n;

		if (reading->at >= reading->end)
			reading->at = reading->from;
		if (bytes > reading->end - reading->at)
			bytes = reading->end - reading->at;
		n = reading->read(reading->fd, reading->buf, bytes, (off_t)reading->at);
		if (n <= 0 && !(n < 0 && errno == EINTR)) {
			reading->has_ended = n == 0;
			op->result = n < 0 ? -errno : -EIO;
			return;
		}
		reading->at += n > 0 ? (uint64_t)n : 0;
		reading->bytes += n > 0 ? (uint64_t)n : 0;
		reading->elapsed_ns = before_ns + units_monotonic_ns() - from_ns;
	}
}

/* Return: 0: bytes and elapsed_ns tell; -errno: at @reading->at. */
static int do_reading(struct read_sweep *s, struct reading *reading)
{
	int ret = 0;

	if (s->errands.out > 0)
		return -ETIMEDOUT;
	reading->op.run = run_reading;
	reading->read = s->config->read ? s->config->read : pread;
	reading->buf = s->buf;
	reading->at = reading->from;
	while (ret == 0 && goes_on(reading)) {
		ret = errands_run(&s->errands, &reading->op, false);
		if (ret == 0)
			ret = (int)reading->op.result;
		if (reading->elapsed_ns > 0)
			s->teller.progress.rate_bps =
				(double)reading->bytes * 8e9 / (double)reading->elapsed_ns;
	}
	return ret;
}

static int fail_reading(struct read_sweep *s, int code, const char *path)
{
	char asked[64];

	snprintf(asked, sizeof(asked), "reading at byte %" PRIu64, s->reading.at);
	return fail(s, code, path, asked);
}

static double rate_bps(const struct reading *reading)
{
	return reading->elapsed_ns > 0 ? (double)reading->bytes * 8e9 / (double)reading->elapsed_ns :
					 -1;
}

/* From the beginning of what is @bytes long. */
static int read_sequence(struct read_sweep *s, int fd, uint64_t bytes, const char *path)
{
	int64_t time_ns = s->config->time_ns;
	struct reading *reading = &s->reading;
	int ret;

	*reading = (struct reading){
		.fd = fd, .end = bytes, .piece_bytes = PIECE_BYTES, .time_ns = time_ns
	};
	teller_begin(&s->teller, 0.2, 0.2, time_ns, "one byte after the other");
	ret = do_reading(s, reading);
	if (reading->bytes > 0)
		s->result->sequential_bps = rate_bps(reading);
	return ret < 0 ? fail_reading(s, ret, path) : 0;
}

static int read_again_and_again(struct read_sweep *s, int fd, uint64_t bytes, const char *path)
{
	int64_t time_ns = s->config->time_ns / 4;
	struct reading *reading = &s->reading;
	int ret;

	*reading = (struct reading){ .fd = fd,
				     .end = bytes < FIRST_BYTES ? bytes : FIRST_BYTES,
				     .piece_bytes = FIRST_BYTES,
				     .time_ns = time_ns };
	teller_begin(&s->teller, 0.4, 0.1, time_ns, "the same MiB again and again");
	ret = do_reading(s, reading);
	if (reading->bytes > 0)
		s->result->repeated_bps = rate_bps(reading);
	return ret < 0 ? fail_reading(s, ret, path) : 0;
}

/* ---- a target: in a scratch file ---- */

/* As long as there is time and room. Return: 0 and *@bytes; -errno. */
static int fill_file(struct read_sweep *s, struct scratch_writer *writer, uint64_t *bytes)
{
	struct scratch_tally tally = { 0 };
	int ret = scratch_writer_do(writer, SCRATCH_CREATE, 0, NULL);

	teller_begin(&s->teller, 0, 0.2, s->config->time_ns, "writing what is read");
	while (ret == 0 && tally.elapsed_ns < s->config->time_ns) {
		uint64_t step = tally.bytes > STEP_BYTES ? tally.bytes : STEP_BYTES;
		struct scratch_span span = {
			.offset = tally.bytes,
			.block_bytes = WRITE_BYTES,
			.depth = engine_usual_depth(WRITE_BYTES),
			.time_ns = s->config->time_ns - tally.elapsed_ns,
			.least = 1,
		};

		ret = scratch_writer_do(writer, SCRATCH_GROW, step, NULL);
		span.bytes = scratch_writer_allocated_bytes(writer) - span.offset;
		if (ret < 0 || span.bytes < WRITE_BYTES)
			break;
		if (!scratch_writer_is_direct(writer) && span.bytes > SINK_DIRTY_BYTES)
			span.bytes = SINK_DIRTY_BYTES;
		ret = scratch_writer_write(writer, &span, &tally);
		if (ret == 0 && !scratch_writer_is_direct(writer))
			ret = scratch_writer_do(writer, SCRATCH_SYNC, 0, NULL);
	}
	*bytes = tally.bytes;
	if (ret == 0 && tally.bytes == 0)
		return -ENOSPC;
	return ret == 0 ? scratch_writer_do(writer, SCRATCH_SYNC, 0, NULL) : ret;
}

static int read_file(struct read_sweep *s, struct scratch_writer *writer)
{
	const char *path = s->config->target->path;
	int fd, ret;
	uint64_t bytes;

	ret = fill_file(s, writer, &bytes);
	if (ret < 0) {
		if (scratch_writer_error(writer)[0])
			snprintf(s->result->error, sizeof(s->result->error), "%s",
				 scratch_writer_error(writer));
		return fail(s, ret, path, "writing what is to be read");
	}
	fd = scratch_writer_fd(writer);
	if (bytes < STRETCH_BYTES)
		snprintf(s->result->note, sizeof(s->result->note),
			 "only %" PRIu64
			 " MiB were read: they may have come from the disk's own memory",
			 bytes >> 20);
	if (scratch_writer_is_direct(writer)) {
		ret = read_sequence(s, fd, bytes, path);
		return ret < 0 ? ret : read_again_and_again(s, fd, bytes, path);
	}
	snprintf(s->result->note, sizeof(s->result->note),
		 "the file system refuses direct I/O: what was read again came from memory and is not told");
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return read_sequence(s, fd, bytes, path);
}

static int read_target(struct read_sweep *s)
{
	struct scratch_writer_config config = {
		.target = s->config->target,
		.teller = &s->teller,
		.engine = s->config->engine,
		.use_direct = true,
		.depth = engine_usual_depth(WRITE_BYTES),
		.block_bytes = WRITE_BYTES,
		.memory_bytes = engine_usual_depth(WRITE_BYTES) * WRITE_BYTES,
		.most_bytes = s->config->most_bytes,
	};
	struct scratch_writer *writer;
	int ret = scratch_writer_open(&writer, &config, s->result->error);

	if (ret < 0)
		return ret;
	ret = read_file(s, writer);
	if (s->errands.out == 0) /* else the file is still being read */
		scratch_writer_close(writer);
	return ret;
}

/* ---- a device ---- */

static void run_open(struct engine_op *op)
{
	struct read_sweep *s = ((struct opening *)op)->sweep;
	int fd = open(s->config->device, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	off_t end;

	op->result = -errno;
	if (fd < 0)
		return;
	end = lseek(fd, 0, SEEK_END);
	if (end <= 0 || fstat(fd, &st) < 0 || !(S_ISBLK(st.st_mode) || S_ISREG(st.st_mode))) {
		op->result = end < 0 ? -errno : -ENOTBLK;
		close(fd);
		return;
	}
	op->result = 0;
	s->device_fd = fd;
	s->device_bytes = (uint64_t)end;
}

static int open_device(struct read_sweep *s)
{
	int ret;

	if (s->errands.out > 0)
		return -ETIMEDOUT;
	s->opening = (struct opening){ .op.run = run_open, .sweep = s };
	ret = errands_run(&s->errands, &s->opening.op, false);
	if (ret == 0)
		ret = (int)s->opening.op.result;
	return ret < 0 ? fail(s, ret, s->config->device, "it can't be opened for reading") : 0;
}

/* Return: 0: *@rate; -errno: at s->reading.at. */
static int read_position(struct read_sweep *s, double position, double *rate)
{
	uint64_t part = s->device_bytes / READ_SWEEP_POSITIONS;
	uint64_t stretch = (part < STRETCH_BYTES ? part : STRETCH_BYTES) / LAYOUT_ALIGN * LAYOUT_ALIGN;
	uint64_t from = (uint64_t)(position * (double)(s->device_bytes - stretch)) / LAYOUT_ALIGN *
			LAYOUT_ALIGN;
	uint64_t first = stretch > 2 * FIRST_BYTES ? FIRST_BYTES : 0;
	struct reading *reading = &s->reading;
	int ret = 0;

	*reading = (struct reading){ .fd = s->device_fd,
				     .from = from,
				     .end = from + first,
				     .piece_bytes = FIRST_BYTES,
				     .least = first };
	ret = do_reading(s, reading);
	if (ret < 0)
		return ret;
	*reading = (struct reading){ .fd = s->device_fd,
				     .from = from + first,
				     .end = from + stretch,
				     .piece_bytes = PIECE_BYTES,
				     .time_ns = s->config->position_ns ? s->config->position_ns :
									 POSITION_NS,
				     .least = LEAST_BYTES };
	ret = do_reading(s, reading);
	*rate = rate_bps(reading);
	return ret;
}

/* What could be read becomes a point, in the order of the places. */
static void take_points(struct read_sweep *s, const double *rates)
{
	struct trial_read *result = s->result;

	for (unsigned i = 0; i < READ_SWEEP_POSITIONS; i++) {
		if (rates[i] < 0)
			continue;
		result->points[result->count].position = (double)i / (READ_SWEEP_POSITIONS - 1);
		result->points[result->count++].rate_bps = rates[i];
	}
	result->inner_ratio = read_sweep_inner_ratio(result);
}

static int read_positions(struct read_sweep *s)
{
	const unsigned last = READ_SWEEP_POSITIONS - 1;
	double rates[READ_SWEEP_POSITIONS], share = 0.5 / READ_SWEEP_POSITIONS;
	unsigned bad_count = 0;
	int ret = 0;

	for (unsigned i = 0; i <= last; i++)
		rates[i] = -1;
	for (unsigned turn = 0; turn <= last && ret != -ECANCELED && ret != -ETIMEDOUT; turn++) {
		unsigned i = 2 * turn <= last ? 2 * turn : 2 * (last - turn) + 1;
		char detail[32];

		snprintf(detail, sizeof(detail), "at %u %%", 100 * i / last);
		teller_begin(&s->teller, 0.5 + turn * share, share, POSITION_NS, detail);
		ret = read_position(s, (double)i / last, &rates[i]);
		if (ret == 0)
			continue;
		rates[i] = -1;
		bad_count++;
		fail_reading(s, ret, s->config->device);
	}
	take_points(s, rates);
	if (ret == -ECANCELED || ret == -ETIMEDOUT)
		return ret;
	if (bad_count > 1) {
		size_t used = strlen(s->result->error);

		snprintf(s->result->error + used, sizeof(s->result->error) - used,
			 "; and %u more of %u places can't be read", bad_count - 1,
			 READ_SWEEP_POSITIONS);
	}
	return bad_count > 0 ? -EIO : 0;
}

static int read_device(struct read_sweep *s)
{
	const char *path = s->config->device;
	int ret = open_device(s), other;

	if (ret < 0)
		return ret;
	if (!s->config->target)
		ret = read_sequence(s, s->device_fd, s->device_bytes, path);
	if (ret != -ECANCELED && ret != -ETIMEDOUT && s->result->repeated_bps < 0)
		ret = read_again_and_again(s, s->device_fd, s->device_bytes, path);
	if (ret == -ECANCELED || ret == -ETIMEDOUT)
		return ret;
	other = read_positions(s);
	return other < 0 ? other : ret;
}

/* ---- all of it ---- */

static int by_rate(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median_from(const struct trial_read *read, unsigned first)
{
	double rates[END_POINTS];

	for (unsigned i = 0; i < END_POINTS; i++)
		rates[i] = read->points[first + i].rate_bps;
	qsort(rates, END_POINTS, sizeof(rates[0]), by_rate);
	return rates[END_POINTS / 2];
}

double read_sweep_inner_ratio(const struct trial_read *read)
{
	double begin, end;

	if (read->count < 2 * END_POINTS)
		return -1;
	begin = median_from(read, 0);
	end = median_from(read, read->count - END_POINTS);
	return begin < end ? begin / end : end / begin;
}

static int read_both(struct read_sweep *s)
{
	int ret = s->config->target ? read_target(s) : 0, other;

	if (!s->config->device || ret == -ECANCELED || ret == -ETIMEDOUT)
		return ret;
	other = read_device(s);
	return ret < 0 ? ret : other;
}

/* Unless a disk still has some of it. */
static void release(struct read_sweep *s)
{
	if (errands_close(&s->errands) < 0)
		return;
	if (s->device_fd >= 0)
		close(s->device_fd);
	free(s->buf);
	free(s);
}

int read_sweep(const struct read_sweep_config *config, struct trial_read *result)
{
	struct read_sweep *s = calloc(1, sizeof(*s));
	char *buf = aligned_alloc(LAYOUT_ALIGN, PIECE_BYTES);
	int ret = -ENOMEM;

	*result = (struct trial_read){ .sequential_bps = -1, .repeated_bps = -1, .inner_ratio = -1 };
	if (s && buf) {
		*s = (struct read_sweep){
			.config = config, .result = result, .buf = buf, .device_fd = -1
		};
		teller_init(&s->teller, config->control, PHASE_READ, config->disk);
		ret = errands_open(&s->errands,
				   &(struct engine_config){
					   .kind = ENGINE_PWRITE, .depth = 1, .io = &sink_system_io },
				   &s->teller);
	}
	if (ret < 0) {
		snprintf(result->error, sizeof(result->error), "reading can't be set up: %s",
			 strerror(-ret));
		free(buf);
		free(s);
		return ret;
	}
	ret = read_both(s);
	result->was_run = ret != -ECANCELED || result->sequential_bps >= 0;
	release(s);
	return ret;
}
