/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/write_all.h"

/* Lines are kept in pieces of this size until every journal has them. */
#define PIECE_BYTES ((size_t)64 << 10)
/* Room on the disk that a journal has ahead of what it says. */
#define RESERVE_BYTES (UINT64_C(1) << 20)

struct piece {
	struct piece *next;
	uint64_t offset; /* of the first byte, counted from the journal's beginning */
	size_t used;
	char text[PIECE_BYTES];
};

struct copy {
	int fd;            /* -1 = not open, or given up */
	uint64_t written;  /* bytes of the journal this copy has */
	uint64_t reserved; /* bytes of its file that have their room on the disk */
};

struct journal {
	pthread_mutex_t lock; /* guards all below; held for memory work only, never for I/O */
	struct piece *first, *last;
	uint64_t length;
	bool has_end; /* the last line has been said */
	unsigned count;
	struct copy copies[];
};

int journal_create(struct journal **out, unsigned target_count)
{
	struct journal *j = calloc(1, sizeof(*j) + target_count * sizeof(j->copies[0]));

	*out = j;
	if (!j)
		return -ENOMEM;
	pthread_mutex_init(&j->lock, NULL);
	j->count = target_count;
	for (unsigned i = 0; i < target_count; i++)
		j->copies[i].fd = -1;
	return 0;
}

static void free_pieces(struct piece *piece)
{
	while (piece) {
		struct piece *next = piece->next;

		free(piece);
		piece = next;
	}
}

/*
 * The data may fill the disk, and the sink allocates ahead of them: what the journal has to say
 * then, above all that the disk is full, needs room that is its own. Best effort: where this
 * doesn't work, the journal has what is left.
 */
static void reserve(struct copy *copy)
{
	uint64_t bytes = RESERVE_BYTES;

	if (copy->reserved >= copy->written + RESERVE_BYTES / 2)
		return;
	while (fallocate(copy->fd, FALLOC_FL_KEEP_SIZE, (off_t)copy->reserved, (off_t)bytes) < 0) {
		bytes /= 2;
		if (errno != ENOSPC || bytes < RESERVE_BYTES / 16)
			return;
	}
	copy->reserved += bytes;
}

/* Gives the room back that was not used. */
static void close_copy(struct copy *copy)
{
	if (ftruncate(copy->fd, (off_t)copy->written) == 0)
		fdatasync(copy->fd);
	close(copy->fd);
}

void journal_free(struct journal *journal)
{
	if (!journal)
		return;
	for (unsigned i = 0; i < journal->count; i++)
		if (journal->copies[i].fd >= 0)
			close_copy(&journal->copies[i]);
	free_pieces(journal->first);
	pthread_mutex_destroy(&journal->lock);
	free(journal);
}

int journal_open(struct journal *journal, unsigned target, int dir_fd, const char *file)
{
	int fd = openat(dir_fd, file, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	fsync(dir_fd); /* best effort: the first data sync does it again */
	pthread_mutex_lock(&journal->lock);
	journal->copies[target].fd = fd;
	pthread_mutex_unlock(&journal->lock);
	reserve(&journal->copies[target]);
	return 0;
}

/* As many new pieces as @len more bytes need, or none at all. */
static int get_pieces(const struct journal *journal, size_t len, struct piece **fresh)
{
	size_t room = journal->last ? PIECE_BYTES - journal->last->used : 0;

	*fresh = NULL;
	for (; room < len; room += PIECE_BYTES) {
		struct piece *piece = malloc(sizeof(*piece));

		if (!piece) {
			free_pieces(*fresh);
			return -ENOMEM;
		}
		piece->used = 0;
		piece->next = *fresh;
		*fresh = piece;
	}
	return 0;
}

/* The whole text or nothing: half a line would make all that follows unreadable. */
static int append(struct journal *journal, const char *text, size_t len)
{
	struct piece *fresh;
	int ret = get_pieces(journal, len, &fresh);

	if (ret < 0)
		return ret;
	while (len > 0) {
		struct piece *piece = journal->last;
		size_t take;

		if (!piece || piece->used == PIECE_BYTES) {
			piece = fresh;
			assert(piece); /* get_pieces() counted them */
			fresh = fresh->next;
			piece->next = NULL;
			piece->offset = journal->length;
			if (journal->last)
				journal->last->next = piece;
			else
				journal->first = piece;
			journal->last = piece;
		}
		take = PIECE_BYTES - piece->used < len ? PIECE_BYTES - piece->used : len;
		memcpy(piece->text + piece->used, text, take);
		piece->used += take;
		journal->length += take;
		text += take;
		len -= take;
	}
	assert(!fresh);
	return 0;
}

/* Lets go of pieces that every open journal has written. Called with the lock held. */
static void trim(struct journal *journal)
{
	uint64_t needed = journal->length;

	for (unsigned i = 0; i < journal->count; i++)
		if (journal->copies[i].fd >= 0 && journal->copies[i].written < needed)
			needed = journal->copies[i].written;
	while (journal->first && journal->first != journal->last &&
	       journal->first->offset + journal->first->used <= needed) {
		struct piece *next = journal->first->next;

		free(journal->first);
		journal->first = next;
	}
}

static void say(struct journal *journal, json_t *line, bool is_end)
{
	size_t len = line ? json_dumpb(line, NULL, 0, JSON_COMPACT | JSON_PRESERVE_ORDER) : 0;
	char *text = len ? malloc(len + 1) : NULL;

	if (text) {
		json_dumpb(line, text, len, JSON_COMPACT | JSON_PRESERVE_ORDER);
		text[len] = '\n';
		pthread_mutex_lock(&journal->lock);
		if (!journal->has_end)
			append(journal, text, len + 1);
		journal->has_end = journal->has_end || is_end;
		pthread_mutex_unlock(&journal->lock);
	}
	free(text);
	json_decref(line);
}

void journal_say(struct journal *journal, json_t *line)
{
	say(journal, line, false);
}

void journal_end(struct journal *journal, json_t *line)
{
	say(journal, line, true);
}

void journal_say_segment(struct journal *journal, const struct journal_segment *segment)
{
	char utc[UNITS_UTC_LEN], sum[17];
	json_t *line =
		json_pack("{ss si ss sI sI}", "type", segment->is_parity ? "parity" : "segment",
			  "target", (int)segment->target, "file", segment->file, "file_offset",
			  (json_int_t)segment->file_offset, "bytes", (json_int_t)segment->bytes);

	if (line && !segment->is_parity)
		json_object_set_new(line, "stream_offset",
				    json_integer((json_int_t)segment->stream_offset));
	if (line && segment->has_row)
		json_object_set_new(line, "row", json_integer((json_int_t)segment->row));
	if (line && segment->has_row && segment->row_offset)
		json_object_set_new(line, "row_offset", json_integer((json_int_t)segment->row_offset));
	if (line && segment->has_xxh3) {
		snprintf(sum, sizeof(sum), "%016" PRIx64, segment->xxh3);
		json_object_set_new(line, "xxh3", json_string(sum));
	}
	if (line && segment->is_second)
		json_object_set_new(line, "copy", json_integer(1));
	if (line)
		json_object_set_new(line, "utc", json_string(units_format_utc(utc, segment->utc_ns)));
	journal_say(journal, line);
}

void journal_say_gap(struct journal *journal, const struct journal_gap *gap)
{
	char utc[UNITS_UTC_LEN];
	json_t *line = json_pack("{ss sI sI ss ss}", "type", "gap", "stream_offset",
				 (json_int_t)gap->stream_offset, "bytes", (json_int_t)gap->bytes,
				 "cause", gap->cause, "utc", units_format_utc(utc, gap->utc_ns));

	if (line && gap->is_estimated)
		json_object_set_new(line, "estimated", json_true());
	if (line && gap->is_filled)
		json_object_set_new(line, "filled", json_true());
	journal_say(journal, line);
}

/* JSON wants UTF-8; a path in the sentence, or the system's language, may be something else. */
static json_t *make_text(const char *text)
{
	json_t *string = json_string(text);
	char *copy = string ? NULL : strdup(text);

	if (!copy)
		return string;
	for (char *p = copy; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	string = json_string(copy);
	free(copy);
	return string;
}

void journal_say_event(struct journal *journal, const char *event, const char *text, int target,
		       int64_t utc_ns)
{
	char utc[UNITS_UTC_LEN];
	json_t *line = json_pack("{ss ss so ss}", "type", "event", "event", event, "text",
				 make_text(text), "utc", units_format_utc(utc, utc_ns));

	if (line && target >= 0)
		json_object_set_new(line, "target", json_integer(target));
	journal_say(journal, line);
}

/*
 * The next bytes this copy lacks. The piece can't be freed meanwhile: trim() keeps what this
 * copy, whose only flusher we are, has not written.
 */
static size_t next_bytes(struct journal *journal, const struct copy *copy, const char **text)
{
	struct piece *piece;
	size_t len = 0;

	pthread_mutex_lock(&journal->lock);
	for (piece = journal->first; piece; piece = piece->next)
		if (copy->written >= piece->offset && copy->written < piece->offset + piece->used)
			break;
	if (piece) {
		*text = piece->text + (copy->written - piece->offset);
		len = piece->used - (size_t)(copy->written - piece->offset);
	}
	pthread_mutex_unlock(&journal->lock);
	return len;
}

static int give_up(struct journal *journal, unsigned target, int error)
{
	char text[128];
	struct copy *copy = &journal->copies[target];
	int fd;

	pthread_mutex_lock(&journal->lock);
	fd = copy->fd;
	copy->fd = -1;
	pthread_mutex_unlock(&journal->lock);
	close(fd); /* a sick disk may hold us here; not with the lock */
	snprintf(text, sizeof(text), "the journal on target %u can't be written: %s", target,
		 strerror(-error));
	journal_say_event(journal, "journal-failed", text, (int)target, units_realtime_ns());
	return error;
}

int journal_flush(struct journal *journal, unsigned target)
{
	struct copy *copy = &journal->copies[target];
	bool is_changed = false;
	const char *text;
	size_t len;

	if (copy->fd < 0)
		return -EBADF;
	reserve(copy);
	while ((len = next_bytes(journal, copy, &text)) > 0) {
		int ret = write_all(copy->fd, text, len);

		if (ret < 0)
			return give_up(journal, target, ret);
		is_changed = true;
		pthread_mutex_lock(&journal->lock);
		copy->written += len;
		trim(journal);
		pthread_mutex_unlock(&journal->lock);
	}
	if (is_changed && fdatasync(copy->fd) < 0)
		return give_up(journal, target, -errno);
	return 0;
}
