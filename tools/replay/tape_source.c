/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/tape_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/sink.h"

#define ALIGN_USUAL 4096

/* ---- pieces -------------------------------------------------------------------------------------- */

/* Of the files: the rest of one. Return: 1; 0. */
static int next_of_files(struct tape *tape, struct recording_piece *piece)
{
	for (size_t i = 0; i < tape->config.file_count; i++) {
		uint64_t begin = i ? tape->file_ends[i - 1] : 0;

		if (tape->source_offset >= tape->file_ends[i])
			continue;
		*piece = (struct recording_piece){
			.kind = RECORDING_DATA,
			.stream_offset = tape->source_offset,
			.bytes = tape->file_ends[i] - tape->source_offset,
			.fd = -1,
			.target = "",
			.file = tape->config.files[i],
			.file_offset = tape->source_offset - begin,
			.is_length_known = true,
			.file_index = (uint32_t)i,
		};
		return 1;
	}
	return 0;
}

static int next_of_round(struct tape *tape, struct recording_piece *piece)
{
	uint64_t stop = tape->config.stop_offset;
	int ret;

	if (tape->source_offset >= stop)
		return 0;
	ret = tape->config.recording ? recording_next(tape->config.recording, piece) :
				       next_of_files(tape, piece);
	if (ret != 1)
		return ret;
	if (piece->bytes > stop - piece->stream_offset)
		piece->bytes = stop - piece->stream_offset;
	tape->source_offset = piece->stream_offset + piece->bytes;
	tape->round_bytes += piece->bytes;
	return 1;
}

/* Return: false: this was the last round, or there was nothing in it. */
static bool begin_round(struct tape *tape)
{
	tape->loop++;
	if (tape->round_bytes == 0 ||
	    (tape->config.loop_count && tape->loop >= tape->config.loop_count))
		return false;
	tape->base += tape->source_offset - tape->config.start_offset;
	tape->source_offset = tape->config.start_offset;
	tape->round_bytes = 0;
	if (tape->config.recording)
		recording_seek(tape->config.recording, tape->source_offset);
	return true;
}

int tape_next(struct tape *tape, struct recording_piece *piece, bool *is_anew)
{
	int ret = next_of_round(tape, piece);

	*is_anew = false;
	if (ret == 0 && begin_round(tape)) {
		*is_anew = true;
		ret = next_of_round(tape, piece);
	}
	return ret;
}

/* ---- descriptors --------------------------------------------------------------------------------- */

static void close_file(struct tape_file *file)
{
	if (file->fd < 0)
		return;
	if (file->direct_fd >= 0)
		close(file->direct_fd);
	close(file->fd);
	file->fd = file->direct_fd = -1;
}

/* A place for one more: a free one, or that of the one which has not been used for longest. NULL: all are in use. */
static struct tape_file *find_place(struct tape *tape)
{
	struct tape_file *oldest = NULL;

	for (size_t i = 0; i < TAPE_FILES_MAX; i++) {
		struct tape_file *file = &tape->files[i];

		if (file->fd < 0)
			return file;
		if (file->use_count == 0 && (!oldest || file->last_use < oldest->last_use))
			oldest = file;
	}
	if (oldest)
		close_file(oldest);
	return oldest;
}

static void open_direct(struct tape_file *file)
{
	struct sink_alignment alignment = { ALIGN_USUAL, ALIGN_USUAL };
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	file->direct_fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	if (file->direct_fd < 0)
		return;
	if (sink_system_io.align(&sink_system_io, file->direct_fd, &alignment) < 0)
		alignment = (struct sink_alignment){ ALIGN_USUAL, ALIGN_USUAL };
	/* the ring's blocks begin at pages */
	if (alignment.offset_bytes == 0 || alignment.offset_bytes > ALIGN_USUAL ||
	    alignment.memory_bytes > ALIGN_USUAL) {
		close(file->direct_fd);
		file->direct_fd = -1;
	}
	file->align = ALIGN_USUAL;
}

static int open_descriptor(const struct tape *tape, const struct recording_piece *piece)
{
	int fd;

	if (tape->config.recording && piece->fd < 0)
		return piece->fd;
	fd = tape->config.recording ? fcntl(piece->fd, F_DUPFD_CLOEXEC, 0) :
				      open(piece->file, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static struct tape_file *find_open(struct tape *tape, const struct stat *st)
{
	for (size_t i = 0; i < TAPE_FILES_MAX; i++) {
		struct tape_file *file = &tape->files[i];

		if (file->fd >= 0 && file->device == st->st_dev && file->inode == st->st_ino)
			return file;
	}
	return NULL;
}

/* Block devices are told apart by what they are, not by where their nodes lie. */
static void identify(struct stat *st)
{
	if (S_ISBLK(st->st_mode))
		st->st_dev = st->st_rdev;
}

struct tape_file *tape_open(struct tape *tape, const struct recording_piece *piece, int *error)
{
	struct tape_file *file = NULL;
	struct stat st;
	int fd;

	*error = 0;
	fd = open_descriptor(tape, piece);
	if (fd < 0 || fstat(fd, &st) < 0) {
		*error = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	identify(&st);
	file = find_open(tape, &st);
	if (file) {
		close(fd);
	} else {
		file = find_place(tape);
		if (!file) {
			close(fd);
			return NULL;
		}
		*file = (struct tape_file){
			.device = st.st_dev, .inode = st.st_ino, .fd = fd, .direct_fd = -1
		};
		if (tape->config.is_direct)
			open_direct(file);
		else
			posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	}
	file->use_count++;
	file->last_use = ++tape->use_count;
	return file;
}

void tape_done(struct tape_file *file)
{
	file->use_count--;
}

void tape_close_files(struct tape *tape)
{
	for (size_t i = 0; i < TAPE_FILES_MAX; i++)
		close_file(&tape->files[i]);
}
