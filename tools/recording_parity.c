/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/exclusive_or.h"
#include "recorder/journal.h"
#include "recorder/xxh3.h"
#include "tools/array.h"
#include "tools/read_at.h"
#include "tools/recording_parts.h"

#define BUFFER_BYTES ((size_t)256 << 10) /* stays in the cache between reading and adding */

/* One that has rows; sorted by their begin. */
struct entry {
	uint64_t at;
	uint64_t reach; /* the furthest end of this one and those before it */
	uint32_t index; /* of history_stored() */
};

struct entries {
	struct entry *items;
	size_t count;
};

/* What there is at some places of the rows, cut to them. */
struct source {
	uint64_t key; /* its place in the stream less that in the rows: equal for copies only */
	uint64_t at;
	uint64_t end;
	uint32_t index;
};

enum {
	MARK_PLANNED = 1, /* lost, and will be rebuilt */
	MARK_GOOD = 2,    /* its checksum was found right */
	MARK_BAD = 4,     /* ... or wrong: somewhere, since it may have many rows */
};

struct parity {
	struct entries data, sums;
	bool is_all_known;      /* nothing else was ever in the rows */
	uint8_t *marks;         /* of each history_stored() */
	struct source *sources; /* of one walk */
	size_t source_count;
	char *buf;  /* BUFFER_BYTES */
	int fd;     /* of the memory that holds what was rebuilt last */
	char *made; /* mapped */
	uint64_t made_bytes;
};

/*
 * Called for each that is needed, with its range of the rows. Return: 0 taken; 1 can't be used, a copy
 * may do; -errno ends the walk.
 */
typedef int (*visit_source)(void *context, uint32_t index, uint64_t at, uint64_t bytes);

/*
 * ---- what is where in the rows
 * -------------------------------------------------------------------
 */

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int add_entries(struct entries *entries, const struct history *history, size_t from, size_t to)
{
	uint64_t reach = 0;

	entries->items = calloc(to - from + 1, sizeof(entries->items[0]));
	if (!entries->items)
		return -ENOMEM;
	for (size_t i = from; i < to; i++)
		if (history_stored(history, i)->has_row)
			entries->items[entries->count++] =
				(struct entry){ .at = history_stored(history, i)->row_at,
						.index = (uint32_t)i };
	qsort(entries->items, entries->count, sizeof(entries->items[0]), compare_entries);
	for (size_t i = 0; i < entries->count; i++) {
		struct entry *entry = &entries->items[i];
		uint64_t end = entry->at + history_stored(history, entry->index)->bytes;

		reach = end > reach ? end : reach;
		entry->reach = reach;
	}
	return 0;
}

static size_t count_before(const struct entries *entries, uint64_t at)
{
	size_t low = 0, high = entries->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (entries->items[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* All that have some of @of's places, but for its own copies. */
static int collect(struct recording *recording, const struct entries *entries,
		   const struct history_segment *of)
{
	struct parity *parity = recording->parity;
	uint64_t end = of->row_at + of->bytes, key = of->stream_offset - of->row_at;
	size_t i = count_before(entries, end);

	parity->source_count = 0;
	for (; i > 0 && entries->items[i - 1].reach > of->row_at; i--) {
		uint32_t index = entries->items[i - 1].index;
		const struct history_segment *stored = history_stored(recording->history, index);
		uint64_t stored_end = stored->row_at + stored->bytes;
		bool is_sum = index >= recording->segment_count;
		struct source source = { .key = is_sum ? 0 : stored->stream_offset - stored->row_at,
					 .at = stored->row_at > of->row_at ? stored->row_at : of->row_at,
					 .end = stored_end < end ? stored_end : end,
					 .index = index };
		struct source *room;

		if (source.end <= source.at || (!is_sum && source.key == key))
			continue;
		room = array_room(&parity->sources, parity->source_count, sizeof(*room));
		if (!room)
			return -ENOMEM;
		*room = source;
		parity->source_count++;
	}
	return 0;
}

static int compare_sources(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Visits what gives each place of one kind once, and needs all that there ever was of it, and all up to
 * @needed. Return: 0; -ENODATA; what @visit returned below 0.
 */
static int cover(const struct source *sources, size_t count, uint64_t position, uint64_t needed,
		 visit_source visit, void *context)
{
	for (size_t i = 0; i < count; i++) {
		const struct source *source = &sources[i];
		int ret;

		if (source->end <= position)
			continue;
		if (source->at > position && needed > position)
			return -ENODATA;
		if (source->at > position)
			position = source->at;
		ret = visit(context, source->index, position, source->end - position);
		if (ret < 0)
			return ret;
		if (ret == 0)
			position = source->end;
		else if (source->end > needed)
			needed = source->end;
	}
	return position < needed ? -ENODATA : 0;
}

/* First the parity, which has to be there for all of it, then what else was in its rows. */
static int walk(struct recording *recording, uint32_t index, visit_source visit, void *context)
{
	struct parity *parity = recording->parity;
	const struct history_segment *of = history_stored(recording->history, index);
	int ret = collect(recording, &parity->sums, of);

	if (ret == 0 && parity->source_count) {
		qsort(parity->sources, parity->source_count, sizeof(parity->sources[0]),
		      compare_sources);
		ret = cover(parity->sources, parity->source_count, of->row_at,
			    of->row_at + of->bytes, visit, context);
	} else if (ret == 0) {
		ret = -ENODATA;
	}
	if (ret == 0)
		ret = collect(recording, &parity->data, of);
	if (ret < 0 || parity->source_count == 0)
		return ret;
	qsort(parity->sources, parity->source_count, sizeof(parity->sources[0]), compare_sources);
	for (size_t begin = 0, end; ret == 0 && begin < parity->source_count; begin = end) {
		const struct source *first = &parity->sources[begin];

		for (end = begin; end < parity->source_count && parity->sources[end].key == first->key;)
			end++;
		ret = cover(first, end - begin, first->at, first->at, visit, context);
	}
	return ret;
}

/*
 * ---- what can be rebuilt
 * -------------------------------------------------------------------------
 */

struct asking {
	const struct history *history;
	bool (*is_good)(void *context, uint32_t index, uint64_t bytes);
	void *context;
};

static int ask(void *context, uint32_t index, uint64_t at, uint64_t bytes)
{
	const struct asking *asking = context;
	uint64_t before = at - history_stored(asking->history, index)->row_at;

	return asking->is_good(asking->context, index, before + bytes) ? 0 : 1;
}

/* Why not whatever else is there; NULL: no reason. */
static const char *reason_against(const struct recording *recording, uint32_t index)
{
	const struct history_segment *of = history_stored(recording->history, index);

	if (!of->has_row)
		return "it has no place in the rows of the parity";
	if (of->bytes > JOURNAL_SEGMENT_MAX)
		return "it is longer than a recorder makes a segment";
	if (!of->has_xxh3 && !recording->parity->is_all_known)
		return "it has no checksum, and not all that was in its rows is known";
	return NULL;
}

int recording_can_rebuild(struct recording *recording, uint32_t index,
			  bool (*is_good)(void *context, uint32_t index, uint64_t bytes), void *context)
{
	struct asking asking = { .history = recording->history, .is_good = is_good, .context = context };
	int ret;

	if (!recording->parity || index >= recording->segment_count || reason_against(recording, index))
		return 0;
	ret = walk(recording, index, ask, &asking);
	return ret == -ENODATA ? 0 : ret < 0 ? ret : 1;
}

static bool is_there(void *context, uint32_t index, uint64_t bytes)
{
	const struct recording *recording = context;

	return recording_usable(recording, history_stored(recording->history, index)) >= bytes;
}

/* Without a checksum it is only right if no part of the row was lost before there was a line of it. */
static bool knows_all_rows(const struct history *history)
{
	if (!history->end || history->is_recovered || history->invalid_count || history->unknown_count)
		return false;
	for (size_t i = 0; i < history->segment_count; i++)
		if (!history->segments[i].has_row)
			return false;
	for (size_t i = 0; i < history->gap_count; i++)
		if (history->gaps[i].cause != HISTORY_OVERFLOW &&
		    history->gaps[i].cause != HISTORY_SOURCE)
			return false;
	return true;
}

int recording_plan_parity(struct recording *recording)
{
	const struct history *history = recording->history;
	struct parity *parity;
	int ret;

	if (history->parity_count == 0)
		return 0;
	parity = calloc(1, sizeof(*parity));
	if (!parity)
		return -ENOMEM;
	recording->parity = parity;
	parity->fd = -1;
	parity->is_all_known = knows_all_rows(history);
	parity->marks = calloc(history_stored_count(history), sizeof(parity->marks[0]));
	ret = parity->marks ? add_entries(&parity->data, history, 0, history->segment_count) : -ENOMEM;
	if (ret == 0)
		ret = add_entries(&parity->sums, history, history->segment_count,
				  history_stored_count(history));
	for (size_t i = 0; ret == 0 && i < history->segment_count; i++) {
		if (is_there(recording, (uint32_t)i, history->segments[i].bytes))
			continue;
		ret = recording_can_rebuild(recording, (uint32_t)i, is_there, recording);
		if (ret > 0)
			parity->marks[i] = MARK_PLANNED;
		ret = ret < 0 ? ret : 0;
	}
	return ret;
}

bool recording_is_rebuilt(const struct recording *recording, uint32_t segment)
{
	return recording->parity && (recording->parity->marks[segment] & MARK_PLANNED);
}

void recording_free_parity(struct recording *recording)
{
	struct parity *parity = recording->parity;

	if (!parity)
		return;
	if (parity->made)
		munmap(parity->made, parity->made_bytes);
	if (parity->fd >= 0)
		close(parity->fd);
	free(parity->data.items);
	free(parity->sums.items);
	free(parity->sources);
	free(parity->marks);
	free(parity->buf);
	free(parity);
}

/* For each file that is not whole: what of it is rebuilt, and what of it was parity. */
int recording_list_rebuilt(struct recording *recording)
{
	int ret = 0;

	for (size_t i = 0; recording->parity && ret == 0 && i < recording->missing_count; i++)
		ret = recording_add_rebuilt(recording, &recording->missing[i]);
	if (!recording->parity || ret < 0)
		return ret;
	for (size_t i = 0; i < recording->part_count; i++) {
		const struct part *part = &recording->parts[i];
		struct recording_missing *rebuilt;

		if (part->segment == PART_GAP || !recording_is_rebuilt(recording, part->segment))
			continue;
		rebuilt =
			&recording
				 ->rebuilt[recording->files[recording->segments[part->segment].file].missing];
		if (rebuilt->bytes == 0)
			rebuilt->stream_offset = part->stream_offset;
		rebuilt->stream_end = part->stream_offset + part->bytes;
		rebuilt->bytes += part->bytes;
	}
	for (size_t i = 0; i < recording->history->parity_count; i++) {
		const struct history_segment *parity = &recording->history->parity[i];
		uint64_t usable = recording_usable(recording, parity);

		if (usable < parity->bytes)
			recording->rebuilt[recording->files[parity->file].missing].parity_bytes +=
				parity->bytes - usable;
	}
	recording_settle_rebuilt(recording);
	return 0;
}

/*
 * ---- rebuilding
 * ----------------------------------------------------------------------------------
 */

struct rebuilding {
	struct recording *recording;
	const struct history_segment *of;
	bool is_careful;   /* what has a checksum is compared with it before it is used */
	uint32_t *skipped; /* what could not be read */
	size_t skipped_count;
	bool has_culprit; /* something that is needed ... */
	uint32_t culprit;
	int error; /* ... and this is why it can't be had */
};

/* Return: 1: a copy may do. */
static int blame(struct rebuilding *rebuilding, uint32_t index, int error)
{
	rebuilding->has_culprit = true;
	rebuilding->culprit = index;
	rebuilding->error = error;
	return 1;
}

static int skip(struct rebuilding *rebuilding, uint32_t index)
{
	uint32_t *room = array_room(&rebuilding->skipped, rebuilding->skipped_count, sizeof(*room));

	if (!room)
		return -ENOMEM;
	*room = index;
	rebuilding->skipped_count++;
	return 0;
}

static bool is_skipped(const struct rebuilding *rebuilding, uint32_t index)
{
	for (size_t i = 0; i < rebuilding->skipped_count; i++)
		if (rebuilding->skipped[i] == index)
			return true;
	return false;
}

static int verify_source(struct rebuilding *rebuilding, uint32_t index)
{
	struct recording *recording = rebuilding->recording;
	const struct history_segment *stored = history_stored(recording->history, index);
	struct recording_piece piece = { .fd = recording_file_fd(recording, stored->file),
					 .has_xxh3 = stored->has_xxh3,
					 .xxh3 = stored->xxh3,
					 .sum_offset = stored->file_offset,
					 .sum_bytes = stored->bytes };
	int ret;

	if (recording->parity->marks[index] & MARK_GOOD)
		return 0;
	ret = recording->parity->marks[index] & MARK_BAD ? -EBADMSG : recording_verify(&piece);
	if (ret == -ENOMEM)
		return ret;
	if (ret == 0 || ret == -EBADMSG)
		recording->parity->marks[index] |= ret == 0 ? MARK_GOOD : MARK_BAD;
	return ret == 0 ? 0 : blame(rebuilding, index, ret);
}

/* The parity is where it starts from; all else is added. Return: 0; -errno of reading. */
static int add_range(struct rebuilding *rebuilding, uint32_t index, uint64_t at, uint64_t bytes)
{
	struct recording *recording = rebuilding->recording;
	struct parity *parity = recording->parity;
	const struct history_segment *stored = history_stored(recording->history, index);
	uint64_t from = stored->file_offset + (at - stored->row_at);
	char *to = parity->made + (at - rebuilding->of->row_at);
	bool is_sum = index >= recording->segment_count;
	int fd = recording_file_fd(recording, stored->file);

	if (fd < 0)
		return fd;
	for (uint64_t done = 0; done < bytes;) {
		uint64_t left = bytes - done;
		size_t len = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
		int ret = read_whole_at(fd, is_sum ? to + done : parity->buf, len, from + done);

		if (ret < 0)
			return ret;
		if (!is_sum)
			exclusive_or(to + done, parity->buf, len);
		done += len;
	}
	return 0;
}

static int reason_not_there(const struct recording *recording, uint32_t index)
{
	const struct history_segment *stored = history_stored(recording->history, index);

	return recording->files[stored->file].place < 0 ? -ENOENT : -ENODATA;
}

/* -EAGAIN: half of it is added; now that it is known that this one can't be read, begin anew. */
static int add_source(void *context, uint32_t index, uint64_t at, uint64_t bytes)
{
	struct rebuilding *rebuilding = context;
	uint64_t before = at - history_stored(rebuilding->recording->history, index)->row_at;
	int ret;

	if (!is_there(rebuilding->recording, index, before + bytes))
		return blame(rebuilding, index, reason_not_there(rebuilding->recording, index));
	if (is_skipped(rebuilding, index))
		return blame(rebuilding, index, -EIO);
	ret = rebuilding->is_careful ? verify_source(rebuilding, index) : 0;
	if (ret)
		return ret;
	if (add_range(rebuilding, index, at, bytes) == 0)
		return 0;
	ret = skip(rebuilding, index);
	return ret < 0 ? ret : -EAGAIN;
}

/* The disks find it while the first of them is read. */
static int ask_for_source(void *context, uint32_t index, uint64_t at, uint64_t bytes)
{
	struct recording *recording = context;
	const struct history_segment *stored = history_stored(recording->history, index);
	int fd = recording->files[stored->file].place < 0 ?
			 -1 :
			 recording_file_fd(recording, stored->file);

	if (fd >= 0)
		posix_fadvise(fd, (off_t)(stored->file_offset + (at - stored->row_at)),
			      (off_t)bytes, POSIX_FADV_WILLNEED);
	return 0;
}

/* Return: 0 it is made; -ENODATA something is lacking; -EBADMSG it is made, and wrong; -errno. */
static int make(struct rebuilding *rebuilding, uint32_t index)
{
	const struct history_segment *of = rebuilding->of;
	int ret;

	do {
		ret = walk(rebuilding->recording, index, add_source, rebuilding);
	} while (ret == -EAGAIN);
	if (ret < 0 || !of->has_xxh3)
		return ret;
	return XXH3_64bits(rebuilding->recording->parity->made, of->bytes) == of->xxh3 ? 0 : -EBADMSG;
}

static int make_room(struct parity *parity, uint64_t bytes)
{
	if (!parity->buf)
		parity->buf = malloc(BUFFER_BYTES);
	if (parity->fd < 0)
		parity->fd = memfd_create("rebuilt", MFD_CLOEXEC);
	if (!parity->buf || parity->fd < 0)
		return -ENOMEM;
	if (bytes <= parity->made_bytes)
		return 0;
	if (parity->made)
		munmap(parity->made, parity->made_bytes);
	parity->made = NULL;
	parity->made_bytes = 0;
	if (ftruncate(parity->fd, (off_t)bytes) < 0)
		return -ENOMEM;
	parity->made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, parity->fd, 0);
	if (parity->made == MAP_FAILED) {
		parity->made = NULL;
		return -ENOMEM;
	}
	parity->made_bytes = bytes;
	return 0;
}

static const char *describe(int error)
{
	switch (error) {
	case -EBADMSG:
		return "has other bytes than were recorded";
	case -ENODATA:
		return "is too short";
	case -ENOENT:
		return "is not there";
	default:
		return "can't be read";
	}
}

static int say_why_not(const struct rebuilding *rebuilding, int ret)
{
	struct recording *recording = rebuilding->recording;
	const struct history_segment *culprit;
	const struct data_file *file;

	if (!rebuilding->has_culprit || ret == -EBADMSG)
		return recording_fail(
			recording, ret, "%s",
			ret == -EBADMSG ?
				"with all that is there of its rows its checksum doesn't come out" :
				"not all of its rows has parity");
	culprit = history_stored(recording->history, rebuilding->culprit);
	file = &recording->files[culprit->file];
	return recording_fail(
		recording, ret, "%s/%s %s",
		file->place >= 0 ?
			recording->places[file->place].path :
			recording->history->targets[recording->history->files[culprit->file]->target]
				.path,
		file->name, describe(rebuilding->error));
}

/* Its own checksum tells whether it is right. Only if it isn't it pays to look which of the others is wrong. */
static int make_right(struct rebuilding *rebuilding, uint32_t index)
{
	int ret;

	rebuilding->is_careful = !rebuilding->of->has_xxh3;
	ret = make(rebuilding, index);
	if (ret != -EBADMSG || rebuilding->is_careful)
		return ret;
	rebuilding->is_careful = true;
	return make(rebuilding, index);
}

int recording_rebuild(struct recording *recording, struct recording_piece *piece)
{
	struct rebuilding rebuilding = { .recording = recording };
	const char *why;
	int ret;

	if (!recording->parity || piece->kind != RECORDING_DATA || piece->segment == PART_GAP)
		return -ENOENT;
	rebuilding.of = &recording->segments[piece->segment];
	why = reason_against(recording, piece->segment);
	if (why)
		return recording_fail(recording, -ENODATA, "%s", why);
	ret = make_room(recording->parity, rebuilding.of->bytes);
	if (ret < 0)
		return ret;
	walk(recording, piece->segment, ask_for_source, recording);
	ret = make_right(&rebuilding, piece->segment);
	free(rebuilding.skipped);
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0)
		return say_why_not(&rebuilding, ret);
	piece->fd = recording->parity->fd;
	piece->file_offset = piece->stream_offset - rebuilding.of->stream_offset;
	piece->has_xxh3 = piece->has_copy = piece->is_lost = false;
	return 0;
}
