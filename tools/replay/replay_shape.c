/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/replay_shape.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/savefile.h"
#include "drivers/units.h"

#define PAGE_BYTES 4096
#define BLOCK_USUAL ((size_t)4 << 20)
#define BLOCK_LEAST ((size_t)64 << 10)
#define BLOCKS_LEAST 8                  /* in the ring */
#define FRAME_USUAL 8192                /* of data without frames of their own */
#define DATAGRAM_MAX 65507              /* of UDP over IPv4 */
#define LUMP_NS 1000000                 /* of a paced stream */
#define LUMP_UNPACED ((size_t)64 << 10) /* where times come from the data */

/* ---- before the destination ---------------------------------------------------------------------- */

static bool begins(const char *text, const char *prefix)
{
	return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Of the first savefile: that of stdin isn't known before it is read, and Ethernet is what most are. */
static int read_link_type(struct replay_shape *shape, const char *path)
{
	struct savefile *file = NULL;
	int fd, ret;

	shape->link_type = 1; /* DLT_EN10MB */
	if (strcmp(path, "-") == 0)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -errno : savefile_create(&file, fd, NULL);
	if (ret == 0)
		ret = savefile_begin(file, NULL);
	if (ret == 0)
		shape->link_type = savefile_link_type(file);
	else
		snprintf(shape->error, sizeof(shape->error), "%s: %s", path,
			 file ? savefile_error(file) : strerror(-ret));
	savefile_free(file);
	if (fd >= 0)
		close(fd);
	return ret == 0 ? 0 : ret == -EACCES ? EX_NOPERM : EX_NOINPUT;
}

static void describe(struct replay_shape *shape, const struct replay_input *input)
{
	char bytes[UNITS_TEXT_LEN];
	const char *format =
		input->layout.format == FORMAT_UNKNOWN ? "" : format_name(input->layout.format);

	if (input->kind == REPLAY_RECORDING)
		snprintf(shape->text, sizeof(shape->text), "recording %s, %s%s%s",
			 recording_info(input->recording)->name[0] ?
				 recording_info(input->recording)->name :
				 "in turn",
			 units_format_bytes(bytes, input->stream_bytes), format[0] ? ", " : "",
			 format);
	else if (input->kind == REPLAY_STREAM)
		snprintf(shape->text, sizeof(shape->text), "%s", input->source->name);
	else
		snprintf(shape->text, sizeof(shape->text), "%s%s%s%s", input->files[0],
			 input->file_count > 1 ? " and others" : "", format[0] ? ", " : "", format);
}

int replay_shape_begin(struct replay_shape *shape, const struct replay_input *input,
		       const struct replay_options *options)
{
	bool is_packets =
		begins(options->destination, "pcap:") || begins(options->destination, "pcapfile:");

	*shape = (struct replay_shape){ .is_whole = input->kind == REPLAY_SAVEFILES && is_packets };
	describe(shape, input);
	return shape->is_whole ? read_link_type(shape, input->files[0]) : 0;
}

/* ---- behind it ----------------------------------------------------------------------------------- */

static size_t largest_power(size_t most)
{
	size_t bytes = FRAME_USUAL;

	while (bytes > most && bytes > 1)
		bytes /= 2;
	return bytes;
}

/* What the user says, else the frames that there are, else what needs no fragments. */
static int choose_frame(struct replay_shape *shape, const struct replay_input *input,
			const struct destination *destination)
{
	const struct format_layout *layout = &input->layout;

	if (destination->takes == DESTINATION_BYTES || input->kind == REPLAY_SAVEFILES)
		return 0;
	if (destination->frame_bytes)
		shape->frame_bytes = destination->frame_bytes;
	else if (layout->format != FORMAT_UNKNOWN && layout->stride_bytes <= DATAGRAM_MAX - 8)
		shape->frame_bytes = layout->stride_bytes;
	else
		shape->frame_bytes = largest_power(
			destination->frame_bytes_max ? destination->frame_bytes_max : FRAME_USUAL);
	return 0;
}

static size_t common_multiple(size_t frame_bytes)
{
	size_t a = frame_bytes, b = PAGE_BYTES;

	while (b) {
		size_t rest = a % b;

		a = b;
		b = rest;
	}
	return frame_bytes / a * PAGE_BYTES;
}

/* Whole datagrams and whole pages, if that isn't too much: then no datagram crosses from one block into the next. */
static int choose_block(struct replay_shape *shape, const struct replay_options *options)
{
	size_t unit = shape->frame_bytes ? common_multiple(shape->frame_bytes) : PAGE_BYTES;
	uint64_t most = options->ring_bytes / BLOCKS_LEAST;
	uint64_t wanted = options->block_bytes ? options->block_bytes : BLOCK_USUAL;

	if (options->block_bytes && options->block_bytes > options->ring_bytes / 2) {
		snprintf(shape->error, sizeof(shape->error),
			 "--block is more than half the ring: --ring, or a smaller one");
		return EX_USAGE;
	}
	if (!options->block_bytes && wanted > most)
		wanted = most;
	if (wanted < BLOCK_LEAST)
		wanted = BLOCK_LEAST;
	if (unit > wanted)
		unit = PAGE_BYTES;
	shape->block_bytes = (size_t)(wanted / unit * unit);
	return 0;
}

static void choose_lump(struct replay_shape *shape, const struct replay_options *options)
{
	uint64_t lump = options->lump_bytes;

	if (!lump && options->rate_bps)
		lump = units_bytes_at(options->rate_bps, LUMP_NS);
	else if (!lump)
		lump = options->is_as_recorded ? LUMP_UNPACED : shape->block_bytes;
	if (lump > shape->block_bytes)
		lump = shape->block_bytes;
	shape->lump_bytes = lump ? (size_t)lump : 1;
}

int replay_shape_finish(struct replay_shape *shape, const struct replay_input *input,
			const struct replay_options *options, const struct destination *destination)
{
	int status = choose_frame(shape, input, destination);

	if (!status)
		status = choose_block(shape, options);
	if (!status)
		choose_lump(shape, options);
	return status;
}
