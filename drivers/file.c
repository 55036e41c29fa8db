/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.c - `file:PATH`, a regular file, and `-`, the standard input
 *
 * A file is paced by -r; without it, it is read as fast as it is asked for. The standard input may
 * be a file, pipe, socket or terminal; its flags are left alone, because the descriptor is shared
 * with others.
 */
#include "drivers/source.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/input.h"
#include "drivers/pace.h"
#include "drivers/units.h"

/* One read() of a slow disk must not hold the caller for long past its deadline. */
#define FILE_READ_MAX ((size_t)4 << 20)

struct file {
	struct pace pace;
	int64_t wanted_start_utc_ns;
	uint64_t position;
	int fd;
	bool is_ours;    /* opened here, to be closed here */
	bool is_regular; /* read() never waits for a writer */
};

static struct file *file_new(struct source *source, const struct source_config *config)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->fd = -1;
	file->wanted_start_utc_ns = config->start_utc_ns;
	pace_init(&file->pace, source);
	source->state = file;
	source->rate_bps = config->rate_bps;
	source->can_wait = true;
	return file;
}

static void file_close(struct source *source)
{
	struct file *file = source->state;

	if (file->is_ours && file->fd >= 0)
		close(file->fd);
	free(file);
}

/* ---- file: ----------------------------------------------------------------------------------- */

static int file_open(struct source *source, const struct source_config *config)
{
	struct file *file = file_new(source, config);

	if (!file)
		return source_fail(source, ENOMEM, "out of memory");
	file->is_ours = true;
	file->is_regular = true;
	file->pace.rate_bps = config->rate_bps;
	source->is_paced_by_us = true;
	return input_open_file(source, "use dev:", &file->fd);
}

static int file_start(struct source *source)
{
	struct file *file = source->state;

	return pace_begin(&file->pace, source, file->wanted_start_utc_ns);
}

/* One read(), repeated after a signal that wasn't meant for us. */
static ssize_t read_some(struct source *source, int fd, void *buf, size_t len)
{
	for (;;) {
		ssize_t got = read(fd, buf, len);

		if (got >= 0)
			return got;
		if (errno == EAGAIN || (errno == EINTR && source_is_interrupted(source)))
			return SOURCE_NOT_YET;
		if (errno != EINTR)
			return source_fail(source, errno, "cannot read: %s", strerror(errno));
	}
}

static ssize_t read_regular(struct source *source, void *buf, size_t len, int64_t deadline_ns)
{
	struct file *file = source->state;
	ssize_t got;

	if (len > FILE_READ_MAX)
		len = FILE_READ_MAX;
	len = pace_wait(&file->pace, file->position, len, 0, deadline_ns, &source->stats.wait_count);
	if (!len)
		return SOURCE_NOT_YET;
	got = read_some(source, file->fd, buf, len);
	if (got > 0)
		file->position += (uint64_t)got;
	return got;
}

static ssize_t file_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			 struct source_mark *mark)
{
	(void)mark;
	return read_regular(source, buf, len, deadline_ns);
}

const struct source_ops source_file = {
	.prefix = "file:",
	.summary = "file:PATH  a regular file, at the rate of -r or as fast as it can be read",
	.takes_path = true,
	.open = file_open,
	.start = file_start,
	.read = file_read,
	.close = file_close,
};

/* ---- the standard input ---------------------------------------------------------------------- */

static int stdin_open(struct source *source, const struct source_config *config)
{
	struct file *file = file_new(source, config);

	if (!file)
		return source_fail(source, ENOMEM, "out of memory");
	return input_open_stdin(source, &file->fd, &file->is_regular);
}

static ssize_t stdin_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			  struct source_mark *mark)
{
	struct file *file = source->state;

	(void)mark;
	if (file->is_regular)
		return read_regular(source, buf, len, deadline_ns);
	for (;;) {
		ssize_t got;
		int events = pace_poll(file->fd, 0, &source->is_interrupted);

		if (!events) {
			source_count(&source->stats.wait_count, 1);
			events = pace_poll(file->fd, deadline_ns, &source->is_interrupted);
		}
		if (!events)
			return SOURCE_NOT_YET;
		if (events < 0)
			return source_fail(source, -events, "cannot wait: %s", strerror(-events));
		if (events & POLLNVAL)
			return source_fail(source, EBADF, "the standard input has been closed");
		got = read_some(source, file->fd, buf, len);
		/* another reader of the same pipe was quicker: only the deadline ends the wait */
		if (got != SOURCE_NOT_YET || source_is_interrupted(source) ||
		    units_monotonic_ns() >= deadline_ns)
			return got;
	}
}

const struct source_ops source_stdin = {
	.prefix = "-",
	.summary = "-  the standard input: a file, pipe, socket or terminal",
	.open = stdin_open,
	.start = file_start,
	.read = stdin_read,
	.close = file_close,
};
