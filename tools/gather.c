/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "tools/piece.h"

#define BUFFER_BYTES ((size_t)4 << 20)
#define BUFFER_ALIGN 4096

struct gather {
	struct recording *recording;
	const struct gather_config *config;
	struct gather_result *result;
	unsigned char *buf; /* BUFFER_BYTES */
	size_t used;        /* of buf, not written yet */
	bool is_file;
	XXH3_state_t *hash;
	struct gap_fill fill;
};

static void tell(struct gather *gather, struct gather_event event)
{
	event.result = gather->result;
	if (gather->config->say)
		gather->config->say(gather->config->context, &event);
}

static void say(struct gather *gather, enum gather_what what, const struct recording_piece *piece,
		int error)
{
	tell(gather, (struct gather_event){ .what = what, .piece = piece, .error = error });
}

static bool is_stopped(const struct gather *gather)
{
	return gather->config->stop && *gather->config->stop;
}

static int flush(struct gather *gather)
{
	size_t done = 0;

	while (done < gather->used) {
		ssize_t n;

		if (is_stopped(gather))
			return -EINTR;
		n = write(gather->config->fd, gather->buf + done, gather->used - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
		gather->result->bytes_out += (uint64_t)n;
	}
	gather->used = 0;
	say(gather, GATHER_PROGRESS, NULL, 0);
	return 0;
}

/* ---- gaps ---- */

static int begin_fill(struct gather *gather, uint64_t stream_offset, uint64_t bytes)
{
	char why[GATHER_VDIF_WHY_LEN];
	int ret = gap_fill_begin(&gather->fill, gather->recording, stream_offset, bytes, why);

	if (ret <= 0)
		return ret;
	gather->result->unframed_count++;
	tell(gather, (struct gather_event){ .what = GATHER_NO_FRAMES,
					    .stream_offset = stream_offset,
					    .bytes = bytes,
					    .why = why });
	return 0;
}

static int fill(struct gather *gather, uint64_t stream_offset, uint64_t bytes)
{
	int ret = begin_fill(gather, stream_offset, bytes);

	while (ret == 0 && bytes > 0) {
		size_t room = BUFFER_BYTES - gather->used;
		size_t len = bytes < room ? (size_t)bytes : room;

		gap_fill_put(&gather->fill, stream_offset, gather->buf + gather->used, len);
		gather->used += len;
		gather->result->filled_bytes += len;
		gather->result->invalid_bytes += gather->fill.has_frames ? len : 0;
		stream_offset += len;
		bytes -= len;
		ret = gather->used == BUFFER_BYTES ? flush(gather) : 0;
	}
	return ret;
}

static int add_gap(struct gather *gather, uint64_t stream_offset, uint64_t bytes)
{
	gather->result->gap_count++;
	return gather->config->fill == GATHER_CLOSE_UP ? 0 : fill(gather, stream_offset, bytes);
}

static int copy_gap(struct gather *gather, const struct recording_piece *piece)
{
	say(gather, GATHER_GAP, piece, 0);
	if (!piece->is_length_known)
		gather->result->unfilled_count++;
	return add_gap(gather, piece->stream_offset, piece->bytes);
}

/* ---- data ---- */

/*
 * Moves @piece's begin along with what was copied.
 * Return: 0 all copied; 1 the file can't be read on, *error says why; -errno of the output.
 */
static int copy_bytes(struct gather *gather, struct recording_piece *piece, bool is_hashed, int *error)
{
	*error = piece->fd < 0 ? piece->fd : 0;
	while (piece->bytes > 0) {
		size_t room = BUFFER_BYTES - gather->used;
		ssize_t n;
		int ret;

		if (*error)
			return 1;
		if (is_stopped(gather))
			return -EINTR;
		n = pread(piece->fd, gather->buf + gather->used,
			  piece->bytes < room ? (size_t)piece->bytes : room,
			  (off_t)piece->file_offset);
		if (n <= 0) {
			if (n == 0)
				*error = -ENODATA;
			else if (errno != EINTR)
				*error = -errno;
			continue;
		}
		if (is_hashed)
			XXH3_64bits_update(gather->hash, gather->buf + gather->used, (size_t)n);
		gap_fill_pass(&gather->fill, gather->buf + gather->used, (size_t)n);
		gather->used += (size_t)n;
		piece->stream_offset += (uint64_t)n;
		piece->file_offset += (uint64_t)n;
		piece->bytes -= (uint64_t)n;
		ret = gather->used == BUFFER_BYTES ? flush(gather) : 0;
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int give_up(struct gather *gather, const struct recording_piece *piece)
{
	gather->result->unreadable_count++;
	say(gather, GATHER_GIVEN_UP, piece, 0);
	return add_gap(gather, piece->stream_offset, piece->bytes);
}

/*
 * Another copy of the piece, or its bytes rebuilt; @what is to be said of it then.
 * Return: 0; -ENOMEM; below 0: neither.
 */
static int replace(struct gather *gather, struct recording_piece *piece, enum gather_what *what)
{
	bool is_rebuilt;
	int ret = piece_replace(gather->recording, piece, &is_rebuilt);

	*what = is_rebuilt ? GATHER_REBUILT : GATHER_COPY;
	if (ret == 0 && is_rebuilt)
		gather->result->rebuilt_bytes += piece->bytes;
	else if (is_rebuilt && ret < 0 && ret != -ENOENT && ret != -ENOMEM)
		say(gather, GATHER_NOT_MADE, piece, ret);
	return ret;
}

/* Copies what can be read, from other copies if need be; the rest becomes a gap. */
static int copy_piece(struct gather *gather, struct recording_piece *piece, bool is_hashed)
{
	const struct recording_piece whole = *piece;
	enum gather_what what;
	int error, ret;

	if (is_hashed)
		XXH3_64bits_reset(gather->hash);
	for (;;) {
		ret = copy_bytes(gather, piece, is_hashed, &error);
		if (ret <= 0)
			break;
		is_hashed = false;
		if (!piece->is_lost)
			say(gather, GATHER_UNREADABLE, piece, error);
		ret = replace(gather, piece, &what);
		if (ret == -ENOMEM)
			return ret;
		if (ret < 0)
			return give_up(gather, piece);
		if (!whole.is_lost)
			say(gather, what, piece, 0);
	}
	if (ret < 0)
		return ret;
	gather->result->piece_count++;
	if (is_hashed && XXH3_64bits_digest(gather->hash) != whole.xxh3) {
		gather->result->bad_sum_count++;
		say(gather, GATHER_BAD_SUM, &whole, 0);
	}
	return 0;
}

/*
 * No copy has a right checksum: @readable is the first with a wrong one, or a gap when none can be
 * read to its end.
 */
static int copy_doubtful(struct gather *gather, struct recording_piece *readable,
			 struct recording_piece *last, int error)
{
	if (readable->kind == RECORDING_DATA) {
		gather->result->bad_sum_count++;
		if (gather->config->is_strict) {
			say(gather, GATHER_LEFT_OUT, readable, 0);
			return add_gap(gather, readable->stream_offset, readable->bytes);
		}
		recording_refresh(gather->recording, readable);
		return copy_piece(gather, readable, false);
	}
	last->has_copy = false; /* all of them were tried */
	if (!gather->config->is_strict)
		return copy_piece(gather, last, false);
	say(gather, GATHER_UNREADABLE, last, error);
	return give_up(gather, last);
}

/* Read first, copied afterwards: the first copy whose checksum is right. */
static int choose_and_copy(struct gather *gather, struct recording_piece *piece)
{
	struct recording_piece readable = { .kind = RECORDING_GAP }, tried;
	enum gather_what what;
	int ret, replaced;

	for (;;) {
		ret = recording_verify(piece);
		if (ret == -ENOMEM)
			return ret;
		if (ret == 0)
			return copy_piece(gather, piece, false);
		tried = *piece;
		if (ret == -EBADMSG) {
			say(gather, GATHER_BAD_SUM, piece, 0);
			if (readable.kind == RECORDING_GAP)
				readable = *piece;
		}
		replaced = replace(gather, piece, &what);
		if (replaced == -ENOMEM)
			return replaced;
		if (replaced < 0)
			return copy_doubtful(gather, &readable, &tried, ret);
		if (ret != -EBADMSG)
			say(gather, GATHER_UNREADABLE, &tried, ret);
		say(gather, what, piece, 0);
	}
}

static int copy_data(struct gather *gather, struct recording_piece *piece)
{
	bool is_choice = gather->config->is_strict || piece->has_copy || !piece_has_own_sum(piece);

	if (piece->has_xxh3 && is_choice && !piece->is_lost)
		return choose_and_copy(gather, piece);
	return copy_piece(gather, piece, piece->has_xxh3 && !piece->is_lost);
}

/* ---- all of it ---- */

/* A full disk is found out now, not after hours; the length stays what is really written. */
static int allocate(const struct gather *gather)
{
	off_t from = lseek(gather->config->fd, 0, SEEK_CUR);
	uint64_t bytes = gather->result->expected_bytes;

	if (from < 0 || bytes == 0)
		return 0;
	if (fallocate(gather->config->fd, FALLOC_FL_KEEP_SIZE, from, (off_t)bytes) == 0)
		return 0;
	return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? -errno : 0;
}

static int copy_all(struct gather *gather)
{
	struct recording_piece piece;
	int ret = gather->is_file ? allocate(gather) : 0;

	while (ret == 0 && recording_next(gather->recording, &piece) == 1) {
		if (is_stopped(gather))
			return -EINTR;
		ret = piece.kind == RECORDING_GAP ? copy_gap(gather, &piece) :
						    copy_data(gather, &piece);
	}
	if (ret == 0)
		ret = flush(gather);
	if (ret == 0 && gather->is_file && fsync(gather->config->fd) < 0)
		ret = -errno;
	return ret;
}

/* Allocated space behind the end of a file that was not finished is given back. */
static void trim(const struct gather *gather)
{
	off_t end = lseek(gather->config->fd, 0, SEEK_CUR);

	if (end >= 0 && ftruncate(gather->config->fd, end) < 0)
		return; /* the file is right, it only takes more room than it needs */
}

int gather_copy(struct recording *recording, const struct gather_config *config,
		struct gather_result *result)
{
	const struct recording_info *info = recording_info(recording);
	struct gather gather = { .recording = recording, .config = config, .result = result };
	struct stat st;
	int ret;

	memset(result, 0, sizeof(*result));
	result->expected_bytes =
		config->fill == GATHER_CLOSE_UP ? info->data_bytes : info->stream_bytes;
	gather.is_file = fstat(config->fd, &st) == 0 && S_ISREG(st.st_mode);
	gather.buf = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);
	gather.hash = XXH3_createState();
	ret = gap_fill_init(&gather.fill, config->fill);
	if (ret == 0)
		ret = gather.buf && gather.hash ? copy_all(&gather) : -ENOMEM;
	if (gather.is_file && result->bytes_out < result->expected_bytes)
		trim(&gather);
	gap_fill_end(&gather.fill);
	XXH3_freeState(gather.hash);
	free(gather.buf);
	return ret;
}
