/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/read_back.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/sim.h"
#include "drivers/units.h"
#include "recorder/layout.h"
#include "recorder/xxh3.h"
#include "tools/qualify/errands.h"

#define PIECE_BYTES (UINT64_C(4) << 20)
#define WORD_BYTES 8
#define ZEROS_BYTES 16 /* so many in a row are no coincidence */

/* What a disk is asked for; it may never answer. */
struct piece {
	struct engine_op op; /* the first member */
	const struct scratch_file *file;
	int fd;
	char *data;
	size_t bytes, least; /* to be asked for; and to be had */
	uint64_t offset, done;
	bool has_ended; /* the file, before all was had */
};

/* On the heap: a disk that has been given up may still write to it. */
struct reading {
	struct trial_read_back *out;
	struct teller teller;
	struct errands errands;
	struct piece piece;
	uint64_t seed, stream_bytes;
	bool is_sim;
	char *data;  /* PIECE_BYTES and a page: what is read begins within the first */
	char *right; /* PIECE_BYTES: what it should be */
	XXH3_state_t *sum;
	int64_t end_ns, took_ns;
	uint64_t whole_bytes;         /* to be read */
	bool is_zero;                 /* the first wrong bytes are zeros */
	uint64_t wrong_segment_bytes; /* of the first wrong one, where only sums are compared */
};

/* ---- reading ---- */

static void run_open(struct engine_op *op)
{
	struct piece *piece = (struct piece *)op;

	piece->fd = scratch_io_reopen(piece->file, O_DIRECT);
	if (piece->fd == -EINVAL) {
		piece->fd = scratch_io_reopen(piece->file, 0);
		if (piece->fd >= 0)
			posix_fadvise(piece->fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	op->result = piece->fd < 0 ? piece->fd : 0;
}

static void run_read(struct engine_op *op)
{
	struct piece *piece = (struct piece *)op;

	op->result = 0;
	while (piece->done < piece->least && op->result == 0 && !piece->has_ended) {
		ssize_t n = pread(piece->fd, piece->data + piece->done, piece->bytes - piece->done,
				  (off_t)(piece->offset + piece->done));

		if (n > 0)
			piece->done += (size_t)n;
		else if (n == 0)
			piece->has_ended = true;
		else if (errno != EINTR)
			op->result = -errno;
	}
}

/* Return: 0; -ECANCELED; -ETIMEDOUT: it is still with the disk; -errno. */
static int ask(struct reading *r, void (*run)(struct engine_op *op))
{
	int ret;

	r->piece.op.run = run;
	ret = errands_run(&r->errands, &r->piece.op, false);
	if (ret == 0)
		ret = r->piece.has_ended ? -EIO : (int)r->piece.op.result;
	return ret;
}

static const char *why(const struct reading *r, int error)
{
	return error == -ETIMEDOUT ? "the disk has not answered for 30 s" :
	       r->piece.has_ended  ? "the file ends there" :
				     strerror(-error);
}

/* Whole pages round what is wanted. Return: where the wanted bytes begin; NULL with @ret set. */
static const char *read_piece(struct reading *r, int fd, uint64_t offset, size_t bytes, int *ret)
{
	uint64_t begin = offset / LAYOUT_ALIGN * LAYOUT_ALIGN;
	size_t lead = (size_t)(offset - begin);
	int64_t from_ns = units_monotonic_ns();

	r->piece = (struct piece){
		.fd = fd,
		.data = r->data,
		.bytes = (lead + bytes + LAYOUT_ALIGN - 1) / LAYOUT_ALIGN * LAYOUT_ALIGN,
		.least = lead + bytes,
		.offset = begin,
	};
	*ret = ask(r, run_read);
	if (*ret < 0) {
		if (*ret != -ECANCELED)
			snprintf(r->out->text, sizeof(r->out->text),
				 "what was written can't be read again, at offset %" PRIu64 ": %s",
				 begin + r->piece.done, why(r, *ret));
		return NULL;
	}
	r->took_ns += units_monotonic_ns() - from_ns;
	r->out->bytes += bytes;
	return r->data + lead;
}

/* ---- comparing ---- */

static bool is_all_zero(const char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (data[i])
			return false;
	return true;
}

/*
 * Where the bytes say that they belong: any word says some place, so two that follow each other must agree, and that
 * must be within the stream.
 */
static uint64_t position_of(const struct reading *r, const char *data, size_t bytes,
			    uint64_t stream_offset)
{
	size_t lead = (size_t)((WORD_BYTES - stream_offset % WORD_BYTES) % WORD_BYTES);
	uint64_t words[2], first;

	if (bytes < lead + sizeof(words))
		return UINT64_MAX;
	memcpy(words, data + lead, sizeof(words));
	first = sim_position(le64toh(words[0]), r->seed);
	if (sim_position(le64toh(words[1]), r->seed) != first + 1 ||
	    first >= r->stream_bytes / WORD_BYTES)
		return UINT64_MAX;
	return first * WORD_BYTES - lead;
}

static void note_first(struct reading *r, uint64_t stream_offset, uint64_t position)
{
	if (r->out->wrong_bytes > 0)
		return;
	r->out->wrong_offset = stream_offset;
	r->out->wrong_position = position;
}

static void compare_words(struct reading *r, const char *data, size_t bytes, uint64_t stream_offset)
{
	size_t at = sim_verify(data, bytes, stream_offset, r->seed);
	size_t into = (size_t)((stream_offset + at) % WORD_BYTES), left;

	if (at == bytes)
		return;
	at -= into < at ? into : at; /* the word that it is in */
	left = bytes - at;
	if (r->out->wrong_bytes == 0)
		r->is_zero = is_all_zero(data + at, left < ZEROS_BYTES ? left : ZEROS_BYTES);
	note_first(r, stream_offset + at, position_of(r, data + at, left, stream_offset + at));
	sim_fill(r->right, left, stream_offset + at, r->seed);
	for (size_t i = at; i < bytes; i += WORD_BYTES) {
		size_t part = bytes - i < WORD_BYTES ? bytes - i : WORD_BYTES;

		if (memcmp(data + i, r->right + (i - at), part) != 0)
			r->out->wrong_bytes += part;
	}
}

static void compare_sum(struct reading *r, const struct segment *segment)
{
	if (XXH3_64bits_digest(r->sum) == segment->xxh3)
		return;
	if (r->out->wrong_bytes == 0)
		r->wrong_segment_bytes = segment->bytes;
	note_first(r, segment->stream_offset, UINT64_MAX);
	r->out->wrong_bytes += segment->bytes;
}

/* ---- the whole ---- */

static void tell(struct reading *r)
{
	r->teller.from = (double)r->out->bytes / fmax((double)r->whole_bytes, 1);
	if (r->took_ns > 0)
		r->teller.progress.rate_bps = (double)r->out->bytes * 8e9 / (double)r->took_ns;
	teller_turn(&r->teller, units_monotonic_ns());
}

static int read_segment(struct reading *r, int fd, uint64_t origin, const struct segment *segment)
{
	uint64_t done = 0;
	int ret = 0;

	XXH3_64bits_reset(r->sum);
	while (done < segment->bytes) {
		uint64_t left = segment->bytes - done;
		size_t bytes = (size_t)(left < PIECE_BYTES ? left : PIECE_BYTES);
		const char *data;

		tell(r);
		if (units_monotonic_ns() > r->end_ns)
			return -ECANCELED;
		data = read_piece(r, fd, origin + segment->file_offset + done, bytes, &ret);
		if (!data)
			return ret;
		if (r->is_sim)
			compare_words(r, data, bytes, segment->stream_offset + done);
		else
			XXH3_64bits_update(r->sum, data, bytes);
		done += bytes;
	}
	if (!r->is_sim)
		compare_sum(r, segment);
	return 0;
}

static int read_file(struct reading *r, const struct scratch_file *file)
{
	int ret, fd;

	r->piece = (struct piece){ .file = file, .fd = -1 };
	ret = ask(r, run_open);
	fd = r->piece.fd;
	if (ret < 0) {
		if (ret != -ECANCELED)
			snprintf(r->out->text, sizeof(r->out->text),
				 "what was written can't be opened again: %s", why(r, ret));
		return ret;
	}
	for (size_t i = 0; i < file->segment_count && ret == 0; i++)
		ret = read_segment(r, fd, file->origin, &file->segments[i]);
	if (r->errands.out == 0) /* else it is still being read */
		close(fd);
	return ret;
}

static const char *what_is_there(const struct reading *r, char *buf, size_t len)
{
	const struct trial_read_back *out = r->out;

	if (r->is_zero)
		return "zeros are there: the write never came to the disk";
	if (out->wrong_position == UINT64_MAX)
		return "noise is there: nothing of this stream";
	snprintf(buf, len,
		 out->wrong_position < out->wrong_offset ?
			 "what belongs at %" PRIu64
			 " is there, an older piece: the later write was lost" :
			 "what belongs at %" PRIu64
			 " is there, a later piece: it was written over, as by a disk that has less room than it says",
		 out->wrong_position);
	return buf;
}

static void describe(struct reading *r)
{
	struct trial_read_back *out = r->out;
	char bytes[UNITS_TEXT_LEN], there[256];

	units_format_bytes(bytes, out->bytes);
	if (out->bytes == 0)
		snprintf(out->text, sizeof(out->text), "nothing was left to be read again");
	else if (out->wrong_bytes == 0)
		snprintf(out->text, sizeof(out->text), "%s read again, all of it as it was written",
			 bytes);
	else if (r->is_sim)
		snprintf(out->text, sizeof(out->text),
			 "%" PRIu64 " of %" PRIu64
			 " bytes are not what was written; the first at offset %" PRIu64
			 " of the stream: %s",
			 out->wrong_bytes, out->bytes, out->wrong_offset,
			 what_is_there(r, there, sizeof(there)));
	else
		snprintf(out->text, sizeof(out->text),
			 "pieces of together %" PRIu64 " of %" PRIu64
			 " bytes are not what was written, by their sums; the first of %" PRIu64
			 " bytes at offset %" PRIu64 " of the stream",
			 out->wrong_bytes, out->bytes, r->wrong_segment_bytes, out->wrong_offset);
}

static uint64_t bytes_left(const struct scratch_io *scratch)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < scratch_io_count(scratch); i++) {
		struct scratch_file file = scratch_io_file(scratch, i);

		for (size_t k = 0; k < file.segment_count; k++)
			bytes += file.segments[k].bytes;
	}
	return bytes;
}

static void release(struct reading *r)
{
	if (errands_close(&r->errands) < 0)
		return;
	XXH3_freeState(r->sum);
	free(r->right);
	free(r->data);
	free(r);
}

/* Return: NULL, with the sentence. */
static struct reading *set_up(struct trial_read_back *out, const struct read_back_config *config)
{
	const struct engine_config engine = { .kind = ENGINE_PWRITE, .depth = 1, .io = &sink_system_io };
	struct reading *r = calloc(1, sizeof(*r));

	snprintf(out->text, sizeof(out->text), "no memory to read with");
	if (!r)
		return NULL;
	r->out = out;
	r->end_ns = config->end_ns;
	r->stream_bytes = run_files_stream_bytes(config->files);
	r->is_sim = run_files_seed(config->files, &r->seed);
	r->data = aligned_alloc(LAYOUT_ALIGN, PIECE_BYTES + 2 * LAYOUT_ALIGN);
	r->right = malloc(PIECE_BYTES);
	r->sum = XXH3_createState();
	teller_init(&r->teller, config->control, PHASE_READ_BACK, (int)config->number);
	if (r->data && r->right && r->sum && errands_open(&r->errands, &engine, &r->teller) == 0) {
		out->text[0] = '\0';
		return r;
	}
	release(r);
	return NULL;
}

int read_back(struct trial_read_back *out, const struct read_back_config *config)
{
	const struct scratch_io *scratch = run_files_of(config->files, config->index);
	struct reading *r;
	int ret = 0;

	*out = (struct trial_read_back){ .wrong_position = UINT64_MAX };
	r = set_up(out, config);
	if (!r) {
		out->has_failed = true;
		return -ENOMEM;
	}
	r->whole_bytes = bytes_left(scratch);
	for (size_t i = 0; i < scratch_io_count(scratch) && ret == 0; i++) {
		struct scratch_file file = scratch_io_file(scratch, i);

		ret = read_file(r, &file);
	}
	out->was_run = out->bytes > 0 || ret == -EIO;
	if (r->took_ns > 0)
		out->rate_bps = (double)out->bytes * 8e9 / (double)r->took_ns;
	if (ret == 0 || ret == -ECANCELED)
		describe(r);
	out->has_failed = (ret < 0 && ret != -ECANCELED) || out->bytes == 0;
	release(r);
	return ret;
}
