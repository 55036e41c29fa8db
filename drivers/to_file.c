/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * to_file.c - `null:`, which only counts; `file:PATH`, a regular file; `-`, the standard output
 *
 * The standard output may be a file, pipe, socket, terminal or device; a VSIB board is recognised, and played to as
 * vsib: does.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "drivers/board.h"
#include "drivers/destination.h"
#include "drivers/out_file.h"
#include "drivers/outlet.h"
#include "drivers/to_vsib.h"
#include "drivers/vsi_board.h"

struct to_file {
	struct out_file file;
	struct outlet outlet; /* of what is no file */
};

/* ---- null: ----------------------------------------------------------------------------------- */

static int null_open(struct destination *destination, const struct destination_config *config)
{
	destination->takes = config->gives_packets ? DESTINATION_PACKETS : DESTINATION_BYTES;
	return 0;
}

static ssize_t null_write(struct destination *destination, const void *data, size_t bytes,
			  int64_t deadline_ns)
{
	(void)destination;
	(void)data;
	(void)deadline_ns;
	return (ssize_t)bytes;
}

static ssize_t null_send(struct destination *destination, const struct destination_unit *units,
			 size_t count)
{
	(void)destination;
	(void)units;
	return (ssize_t)count;
}

const struct destination_ops destination_null = {
	.prefix = "null:",
	.summary = "null:  nowhere: what would be sent is only counted",
	.open = null_open,
	.write = null_write,
	.send = null_send,
};

/* ---- files ----------------------------------------------------------------------------------- */

static struct to_file *to_file_new(struct destination *destination)
{
	struct to_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	out_file_init(&file->file);
	file->outlet.fd = -1;
	destination->state = file;
	destination->takes = DESTINATION_BYTES;
	return file;
}

static void file_close(struct destination *destination)
{
	struct to_file *file = destination->state;

	outlet_close(&file->outlet);
	out_file_close(&file->file);
	free(file);
}

static ssize_t file_write(struct destination *destination, const void *data, size_t bytes,
			  int64_t deadline_ns)
{
	struct to_file *file = destination->state;

	(void)deadline_ns; /* a disk never keeps a writer waiting for a reader */
	return out_file_write(destination, &file->file, data, bytes);
}

static int file_finish(struct destination *destination, int64_t deadline_ns)
{
	struct to_file *file = destination->state;

	(void)deadline_ns; /* nothing gets us out of an fdatasync() */
	return out_file_sync(destination, &file->file);
}

/* ---- file: ----------------------------------------------------------------------------------- */

static int file_open(struct destination *destination, const struct destination_config *config)
{
	struct to_file *file = to_file_new(destination);

	if (!file)
		return destination_fail(destination, ENOMEM, "out of memory");
	return out_file_create(destination, &file->file, config->is_force, "use dev:");
}

const struct destination_ops destination_file = {
	.prefix = "file:",
	.summary = "file:PATH  a file, which must not be there yet (--force: it is replaced)",
	.takes_path = true,
	.open = file_open,
	.write = file_write,
	.finish = file_finish,
	.close = file_close,
};

/* ---- the standard output --------------------------------------------------------------------- */

/* From here on the destination is the board's. */
static int become_board(struct destination *destination, const struct destination_config *config)
{
	destination->ops = &destination_vsib;
	return to_vsib_open_board(destination, config, &board_kernel, "-");
}

static int stdout_open(struct destination *destination, const struct destination_config *config)
{
	struct to_file *file;

	if (board_is_behind(STDOUT_FILENO))
		return become_board(destination, config);
	if (destination->details[0])
		return destination_fail(destination, EINVAL,
					"details are for a VSIB board, and the standard output is none");
	file = to_file_new(destination);
	if (!file)
		return destination_fail(destination, ENOMEM, "out of memory");
	return out_file_take_stdout(destination, &file->file, &file->outlet);
}

static ssize_t stdout_write(struct destination *destination, const void *data, size_t bytes,
			    int64_t deadline_ns)
{
	struct to_file *file = destination->state;

	if (file->file.fd >= 0)
		return out_file_write(destination, &file->file, data, bytes);
	return outlet_write(destination, &file->outlet, data, bytes, deadline_ns);
}

static int stdout_finish(struct destination *destination, int64_t deadline_ns)
{
	struct to_file *file = destination->state;

	(void)deadline_ns;
	return file->file.fd >= 0 ? out_file_sync(destination, &file->file) : 0;
}

const struct destination_ops destination_stdout = {
	.prefix = "-",
	.summary = "-  the standard output: a file, pipe, socket, terminal; or a VSIB board, with its details behind a comma",
	.keys = VSI_BOARD_KEYS,
	.open = stdout_open,
	.write = stdout_write,
	.finish = stdout_finish,
	.close = file_close,
};
