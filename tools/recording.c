/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>
#include <xxhash.h>

#include "tools/array.h"
#include "tools/read_at.h"
#include "tools/recording_parts.h"

#define OPEN_FILES_MAX 64
#define VERIFY_BYTES ((size_t)1 << 20)

/*
 * ---- files
 * ---------------------------------------------------------------------------------------
 */

int64_t recording_add_file(struct recording *recording, int place, const char *name,
			   const struct stat *st)
{
	struct data_file *room =
		recording->file_count < PART_GAP ?
			array_room(&recording->files, recording->file_count, sizeof(*room)) :
			NULL;
	char *copy = strdup(name);

	if (!room || !copy) {
		free(copy);
		return -ENOMEM;
	}
	*room = (struct data_file){
		.name = copy,
		.place = place,
		.fd = -1,
		.bytes = (uint64_t)st->st_size,
		.device = st->st_dev,
		.inode = st->st_ino,
		.missing = -1,
	};
	return (int64_t)recording->file_count++;
}

static void close_oldest_file(struct recording *recording)
{
	struct data_file *oldest = NULL;

	for (size_t i = 0; i < recording->file_count; i++) {
		struct data_file *file = &recording->files[i];

		if (file->fd >= 0 && (!oldest || file->last_use < oldest->last_use))
			oldest = file;
	}
	if (!oldest)
		return;
	close(oldest->fd);
	oldest->fd = -1;
	recording->open_count--;
}

int recording_file_fd(struct recording *recording, uint32_t index)
{
	struct data_file *file = &recording->files[index];
	struct stat st;

	file->last_use = ++recording->use_count;
	if (file->fd >= 0)
		return file->fd;
	if (recording->open_count >= OPEN_FILES_MAX)
		close_oldest_file(recording);
	file->fd = place_open_file(&recording->places[file->place], file->name, &st);
	if (file->fd < 0)
		return file->fd;
	recording->open_count++;
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return file->fd;
}

uint64_t recording_usable(const struct recording *recording, const struct history_segment *segment)
{
	const struct data_file *file = &recording->files[segment->file];

	if (file->place < 0 || file->bytes <= segment->file_offset)
		return 0;
	return file->bytes - segment->file_offset < segment->bytes ?
		       file->bytes - segment->file_offset :
		       segment->bytes;
}

void recording_describe_data(struct recording *recording, struct recording_piece *piece,
			     uint32_t file, uint64_t file_offset, uint64_t bytes)
{
	piece->kind = RECORDING_DATA;
	piece->bytes = bytes;
	piece->is_length_known = true;
	piece->fd = recording_file_fd(recording, file);
	piece->target = recording->places[recording->files[file].place].path;
	piece->file = recording->files[file].name;
	piece->file_offset = file_offset;
	piece->sum_offset = file_offset;
	piece->sum_bytes = bytes;
	piece->segment = PART_GAP;
	piece->file_index = file;
}

/*
 * ---- the plan
 * ------------------------------------------------------------------------------------
 */

int recording_add_part(struct recording *recording, const struct part *part)
{
	struct part *room,
		*last = recording->part_count ? &recording->parts[recording->part_count - 1] : NULL;

	if (last && part->segment == PART_GAP && last->segment == PART_GAP &&
	    last->is_length_known && part->is_length_known && last->cause == part->cause &&
	    last->is_estimated == part->is_estimated) {
		last->bytes += part->bytes;
		return 0;
	}
	room = array_room(&recording->parts, recording->part_count, sizeof(*room));
	if (!room)
		return -ENOMEM;
	*room = *part;
	recording->part_count++;
	return 0;
}

/* Stretches of the stream that are not there, in order and not overlapping. */
struct layer {
	struct part *holes;
	size_t count;
	size_t next;
};

enum { LAYER_MISSING, LAYER_GAPS, LAYER_COUNT };

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->stream_offset != y->stream_offset)
		return x->stream_offset < y->stream_offset ? -1 : 1;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Of what overlaps, the first keeps the common bytes. */
static void flatten_layer(struct layer *layer)
{
	uint64_t position = 0;
	size_t kept = 0;

	if (layer->count)
		qsort(layer->holes, layer->count, sizeof(layer->holes[0]), compare_parts);
	for (size_t i = 0; i < layer->count; i++) {
		struct part hole = layer->holes[i];
		uint64_t end = hole.stream_offset + hole.bytes;

		if (end <= position)
			continue;
		if (hole.stream_offset < position)
			hole.stream_offset = position;
		hole.bytes = end - hole.stream_offset;
		layer->holes[kept++] = hole;
		position = end;
	}
	layer->count = kept;
}

static int add_hole(struct layer *layer, uint64_t stream_offset, uint64_t bytes, uint8_t cause,
		    bool is_estimated)
{
	struct part *room = array_room(&layer->holes, layer->count, sizeof(*room));

	if (!room)
		return -ENOMEM;
	*room = (struct part){
		.stream_offset = stream_offset,
		.bytes = bytes,
		.segment = PART_GAP,
		.cause = cause,
		.is_estimated = is_estimated,
		.is_length_known = true,
	};
	layer->count++;
	return 0;
}

/* What can be given of a segment, which may have to be rebuilt first. */
static uint64_t available(const struct recording *recording, size_t index)
{
	const struct history_segment *segment = &recording->segments[index];

	return recording_is_rebuilt(recording, (uint32_t)index) ?
		       segment->bytes :
		       recording_usable(recording, segment);
}

static int build_layers(const struct recording *recording, struct layer *layers)
{
	const struct history *history = recording->history;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < recording->segment_count; i++) {
		const struct history_segment *segment = &recording->segments[i];
		uint64_t usable = available(recording, i);

		if (usable < segment->bytes)
			ret = add_hole(&layers[LAYER_MISSING], segment->stream_offset + usable,
				       segment->bytes - usable, RECORDING_MISSING, false);
	}
	for (size_t i = 0; ret == 0 && i < history->gap_count; i++)
		ret = add_hole(&layers[LAYER_GAPS], history->gaps[i].stream_offset,
			       history->gaps[i].bytes, history->gaps[i].cause,
			       history->gaps[i].is_estimated);
	for (int i = 0; ret == 0 && i < LAYER_COUNT; i++)
		flatten_layer(&layers[i]);
	return ret;
}

/* No data from..to: what does the first layer say about it, and the next one about the rest? */
static int plan_gap(struct recording *recording, struct layer *layers, int depth, uint64_t from,
		    uint64_t to)
{
	struct layer *layer = &layers[depth];
	int ret = 0;

	if (depth == LAYER_COUNT)
		return recording_add_part(recording, &(struct part){ .stream_offset = from,
								     .bytes = to - from,
								     .segment = PART_GAP,
								     .cause = RECORDING_UNKNOWN,
								     .is_length_known = true });
	while (ret == 0 && from < to) {
		struct part hole;

		while (layer->next < layer->count &&
		       layer->holes[layer->next].stream_offset + layer->holes[layer->next].bytes <= from)
			layer->next++;
		if (layer->next == layer->count || layer->holes[layer->next].stream_offset >= to)
			return plan_gap(recording, layers, depth + 1, from, to);
		hole = layer->holes[layer->next];
		if (hole.stream_offset > from) {
			ret = plan_gap(recording, layers, depth + 1, from, hole.stream_offset);
			from = hole.stream_offset;
			continue;
		}
		hole.bytes = hole.stream_offset + hole.bytes < to ?
				     hole.stream_offset + hole.bytes - from :
				     to - from;
		hole.stream_offset = from;
		ret = recording_add_part(recording, &hole);
		from += hole.bytes;
	}
	return ret;
}

/* Whole segments first, so that what a broken-off copy lacks doesn't cut the whole one in two. */
static int compare_segments(const void *a, const void *b, void *context)
{
	const struct history_segment *x = a, *y = b;
	uint64_t x_bytes, y_bytes;

	if (x->stream_offset != y->stream_offset)
		return x->stream_offset < y->stream_offset ? -1 : 1;
	x_bytes = recording_usable(context, x);
	y_bytes = recording_usable(context, y);
	if (x_bytes != y_bytes)
		return x_bytes > y_bytes ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->file_offset < y->file_offset ? -1 : x->file_offset > y->file_offset;
}

static uint64_t stream_end(const struct recording *recording)
{
	const struct history *history = recording->history;
	uint64_t end = history->end_bytes;

	for (size_t i = 0; i < history->gap_count; i++) {
		uint64_t gap_end = history->gaps[i].stream_offset + history->gaps[i].bytes;

		end = gap_end > end ? gap_end : end;
	}
	for (size_t i = 0; i < recording->segment_count; i++) {
		uint64_t segment_end =
			recording->segments[i].stream_offset + recording->segments[i].bytes;

		end = segment_end > end ? segment_end : end;
	}
	return end;
}

static int plan_segments(struct recording *recording, struct layer *layers)
{
	uint64_t position = 0, end = stream_end(recording);
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < recording->segment_count; i++) {
		const struct history_segment *segment = &recording->segments[i];
		uint64_t segment_end = segment->stream_offset + available(recording, i);

		if (segment_end <= position || segment_end == segment->stream_offset)
			continue;
		if (segment->stream_offset > position) {
			ret = plan_gap(recording, layers, 0, position, segment->stream_offset);
			position = segment->stream_offset;
		}
		if (ret == 0)
			ret = recording_add_part(recording,
						 &(struct part){ .stream_offset = position,
								 .bytes = segment_end - position,
								 .segment = (uint32_t)i });
		position = segment_end;
	}
	if (ret == 0 && position < end)
		ret = plan_gap(recording, layers, 0, position, end);
	return ret;
}

static size_t find_part(const struct recording *recording, uint64_t stream_offset)
{
	size_t low = 0, high = recording->part_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (recording->parts[middle].stream_offset + recording->parts[middle].bytes <=
		    stream_offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Gaps of missing files that @from..@to has in the plan are charged to @missing. */
static void charge_missing(const struct recording *recording, struct recording_missing *missing,
			   uint64_t from, uint64_t to)
{
	for (size_t i = find_part(recording, from); i < recording->part_count; i++) {
		const struct part *part = &recording->parts[i];
		uint64_t begin = part->stream_offset > from ? part->stream_offset : from;
		uint64_t end = part->stream_offset + part->bytes < to ?
				       part->stream_offset + part->bytes :
				       to;

		if (part->stream_offset >= to)
			return;
		if (part->segment != PART_GAP || part->cause != RECORDING_MISSING)
			continue;
		if (missing->bytes == 0)
			missing->stream_offset = begin;
		missing->stream_end = end;
		missing->bytes += end - begin;
	}
}

/* The stretch of a file of which nothing is missing in the stream, so far; segments come in order. */
static void widen_covered(struct recording_missing *missing, uint64_t from, uint64_t to)
{
	if (missing->bytes)
		return;
	if (missing->stream_end == 0)
		missing->stream_offset = from;
	missing->stream_end = to;
}

/* Files whose bytes are all there in copies are set apart. */
static void settle_missing(struct recording *recording)
{
	for (size_t i = 0; i < recording->segment_count; i++) {
		const struct history_segment *segment = &recording->segments[i];
		uint64_t from = segment->stream_offset + available(recording, i);
		uint64_t to = segment->stream_offset + segment->bytes;
		struct recording_missing *missing;

		if (from == to || recording->files[segment->file].missing < 0)
			continue;
		missing = &recording->missing[recording->files[segment->file].missing];
		widen_covered(missing, from, to);
		charge_missing(recording, missing, from, to);
	}
	recording_settle_missing(recording);
	for (size_t i = 0; i < recording->file_count; i++)
		recording->files[i].missing = -1;
}

static int plan_journal(struct recording *recording)
{
	struct layer layers[LAYER_COUNT] = { 0 };
	int ret;

	recording->segments = recording->history->segments;
	recording->segment_count = recording->history->segment_count;
	if (recording->segment_count)
		qsort_r(recording->segments, recording->segment_count,
			sizeof(recording->segments[0]), compare_segments, recording);
	ret = recording_plan_parity(recording);
	if (ret == 0)
		ret = build_layers(recording, layers);
	if (ret == 0)
		ret = plan_segments(recording, layers);
	for (int i = 0; i < LAYER_COUNT; i++)
		free(layers[i].holes);
	if (ret == 0)
		ret = recording_list_rebuilt(recording);
	if (ret == 0)
		ret = recording_list_filled(recording);
	if (ret == 0)
		settle_missing(recording);
	return ret;
}

/*
 * ---- opening
 * -------------------------------------------------------------------------------------
 */

static void count_parts(struct recording *recording)
{
	struct recording_info *info = &recording->info;

	for (size_t i = 0; i < recording->part_count; i++) {
		const struct part *part = &recording->parts[i];
		bool is_gap = part->segment == PART_GAP;

		info->stream_bytes = part->stream_offset + part->bytes;
		*(is_gap ? &info->gap_bytes : &info->data_bytes) += part->bytes;
		(*(is_gap ? &info->gap_count : &info->segment_count))++;
	}
}

/* Files that could have been a Mark6 set's are told only when nothing else is found. */
static int open_without_journal(struct recording *recording)
{
	char words[RECORDING_ERROR_LEN - 64 - NAME_MAX] = "";
	int ret = recording_read_mark6(recording);

	if (ret)
		return ret;
	if (recording->unused_count)
		snprintf(words, sizeof(words), "%s/%s: %s", recording->unused[0].target,
			 recording->unused[0].file, recording->unused[0].reason);
	recording_drop_unused(recording);
	ret = recording_read_names(recording);
	if (ret == -ENOENT && words[0])
		recording_fail(recording, ret, "no recording %s, and no journal; %s",
			       recording->name, words);
	return ret;
}

static int open_recording(struct recording *recording, const struct recording_query *query)
{
	int ret = recording_find(recording, query);

	if (ret < 0)
		return ret;
	if (!recording->history)
		return query->needs_journal ? -ENOENT : open_without_journal(recording);
	ret = recording_resolve(recording);
	if (ret == 0)
		ret = plan_journal(recording);
	if (ret == 0)
		ret = recording_scan_unused(recording);
	return ret;
}

static int compare_unused(const void *a, const void *b)
{
	const struct recording_unused *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	return order ? order : strcmp(x->target, y->target);
}

int recording_open(struct recording **out, const struct recording_query *query)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	struct recording_info *info;
	int ret;

	*out = recording;
	if (!recording)
		return -ENOMEM;
	info = &recording->info;
	info->name = "";
	ret = open_recording(recording, query);
	if (ret < 0 && !recording->error[0])
		recording_fail(recording, ret, "%s", strerror(-ret));
	if (recording->unused_count)
		qsort(recording->unused, recording->unused_count, sizeof(recording->unused[0]),
		      compare_unused);
	info->name = recording->name ? recording->name : "";
	info->history = recording->history;
	info->journal = recording->history ? recording->history->path : NULL;
	info->journals = recording->journals;
	info->journal_count = recording->journal_count;
	info->has_end = recording->history && recording->history->end;
	count_parts(recording);
	return ret < 0 ? ret : 0;
}

void recording_free(struct recording *recording)
{
	if (!recording)
		return;
	for (size_t i = 0; i < recording->file_count; i++) {
		if (recording->files[i].fd >= 0)
			close(recording->files[i].fd);
		free(recording->files[i].name);
	}
	for (size_t i = 0; i < recording->place_count; i++)
		place_close(&recording->places[i]);
	for (size_t i = 0; i < recording->journal_count; i++) {
		free((char *)recording->journals[i]);
		free(recording->journal_files[i].file);
	}
	recording_free_lists(recording);
	if (recording->has_own_segments)
		free(recording->segments);
	for (size_t i = 0; i < recording->given_count; i++)
		free(recording->given_files[i].name);
	round_free(recording->round);
	mark6_free(recording->mark6);
	recording_free_parity(recording);
	history_free(recording->history);
	free(recording->files);
	free(recording->places);
	free(recording->journals);
	free(recording->journal_files);
	free(recording->parts);
	free(recording->given_files);
	free(recording->name);
	free(recording);
}

const char *recording_error(const struct recording *recording)
{
	return recording ? recording->error : "out of memory";
}

int recording_exit_status(int ret)
{
	switch (ret) {
	case -ENOENT:
	case -ENOTDIR:
		return EX_NOINPUT;
	case -EACCES:
	case -EPERM:
		return EX_NOPERM;
	case -EINVAL:
		return EX_USAGE;
	case -EBADMSG:
	case -EBUSY:
	case -EINTR:
	case -ENODATA:
	case -ENOMEM:
		return RECORDING_TROUBLE;
	default:
		return EX_IOERR;
	}
}

const struct recording_info *recording_info(const struct recording *recording)
{
	return &recording->info;
}

/*
 * ---- reading
 * -------------------------------------------------------------------------------------
 */

/* A piece of what the segment has at @stream_offset. */
static void describe_segment(struct recording *recording, struct recording_piece *piece,
			     uint32_t index, uint64_t stream_offset, uint64_t bytes)
{
	const struct history_segment *segment = &recording->segments[index];

	memset(piece, 0, sizeof(*piece));
	piece->stream_offset = stream_offset;
	recording_describe_data(recording, piece, segment->file,
				segment->file_offset + (stream_offset - segment->stream_offset),
				bytes);
	piece->segment = index;
	if (segment->has_xxh3 && recording_usable(recording, segment) == segment->bytes) {
		piece->has_xxh3 = true;
		piece->xxh3 = segment->xxh3;
		piece->sum_offset = segment->file_offset;
		piece->sum_bytes = segment->bytes;
	}
}

/* The same of one that has to be rebuilt. */
static void describe_lost(const struct recording *recording, struct recording_piece *piece,
			  const struct part *part)
{
	const struct history_segment *segment = &recording->segments[part->segment];
	const struct data_file *file = &recording->files[segment->file];
	unsigned target = recording->history->files[segment->file]->target;

	*piece = (struct recording_piece){
		.kind = RECORDING_DATA,
		.stream_offset = part->stream_offset + recording->skip_bytes,
		.bytes = part->bytes - recording->skip_bytes,
		.is_length_known = true,
		.fd = -ENOENT,
		.is_lost = true,
		.target = file->place >= 0 ? recording->places[file->place].path :
					     recording->history->targets[target].path,
		.file = file->name,
		.has_xxh3 = segment->has_xxh3,
		.xxh3 = segment->xxh3,
		.sum_offset = segment->file_offset,
		.sum_bytes = segment->bytes,
		.segment = part->segment,
		.file_index = segment->file,
	};
	piece->file_offset = segment->file_offset + (piece->stream_offset - segment->stream_offset);
}

/*
 * Does another segment have the bytes of this piece? Only of those that begin at the same place in
 * the stream.
 */
static bool is_copy(const struct recording *recording, uint32_t a, uint32_t b,
		    const struct recording_piece *piece)
{
	const struct history_segment *x = &recording->segments[a], *y = &recording->segments[b];

	return x->stream_offset == y->stream_offset &&
	       y->stream_offset + recording_usable(recording, y) >= piece->stream_offset + piece->bytes;
}

static bool has_copy(const struct recording *recording, const struct recording_piece *piece)
{
	return recording->parity || (piece->segment + (size_t)1 < recording->segment_count &&
				     is_copy(recording, piece->segment, piece->segment + 1, piece));
}

int recording_next(struct recording *recording, struct recording_piece *piece)
{
	const struct part *part;

	if (recording->round)
		return round_next(recording, piece);
	if (recording->info.mark6)
		return mark6_next(recording, piece);
	if (recording->next_part >= recording->part_count)
		return 0;
	part = &recording->parts[recording->next_part++];
	if (part->segment == PART_GAP) {
		memset(piece, 0, sizeof(*piece));
		piece->kind = RECORDING_GAP;
		piece->fd = -1;
		piece->stream_offset = part->stream_offset + recording->skip_bytes;
		piece->bytes = part->bytes - recording->skip_bytes;
		piece->cause = part->cause;
		piece->is_estimated = part->is_estimated;
		piece->is_length_known = part->is_length_known;
	} else if (recording_is_rebuilt(recording, part->segment)) {
		describe_lost(recording, piece, part);
	} else {
		describe_segment(recording, piece, part->segment,
				 part->stream_offset + recording->skip_bytes,
				 part->bytes - recording->skip_bytes);
		piece->has_copy = has_copy(recording, piece);
	}
	recording->skip_bytes = 0;
	return 1;
}

void recording_seek(struct recording *recording, uint64_t stream_offset)
{
	size_t index;

	if (recording->round) {
		round_seek(recording, stream_offset);
		return;
	}
	if (recording->info.mark6) {
		mark6_seek(recording, stream_offset);
		return;
	}
	index = find_part(recording, stream_offset);
	recording->next_part = index;
	recording->skip_bytes = 0;
	if (index < recording->part_count && recording->parts[index].stream_offset < stream_offset)
		recording->skip_bytes = stream_offset - recording->parts[index].stream_offset;
}

/*
 * Copies lie behind the one that is given first: longest first, and of equal ones in a fixed order.
 */
int recording_other_copy(struct recording *recording, struct recording_piece *piece)
{
	uint32_t next = piece->segment + 1;

	if (piece->kind != RECORDING_DATA || piece->segment == PART_GAP ||
	    next >= recording->segment_count || !is_copy(recording, piece->segment, next, piece))
		return -ENOENT;
	describe_segment(recording, piece, next, piece->stream_offset, piece->bytes);
	piece->has_copy = has_copy(recording, piece);
	return 0;
}

void recording_refresh(struct recording *recording, struct recording_piece *piece)
{
	if (piece->kind == RECORDING_DATA)
		piece->fd = recording_file_fd(recording, piece->file_index);
}

static int hash_range(const struct recording_piece *piece, char *buf, XXH3_state_t *state)
{
	uint64_t done = 0;

	while (done < piece->sum_bytes) {
		uint64_t left = piece->sum_bytes - done;
		size_t len = left < VERIFY_BYTES ? (size_t)left : VERIFY_BYTES;
		int ret = read_whole_at(piece->fd, buf, len, piece->sum_offset + done);

		if (ret < 0)
			return ret;
		XXH3_64bits_update(state, buf, len);
		done += len;
	}
	return XXH3_64bits_digest(state) == piece->xxh3 ? 0 : -EBADMSG;
}

int recording_verify(const struct recording_piece *piece)
{
	XXH3_state_t *state;
	char *buf;
	int ret = -ENOMEM;

	if (!piece->has_xxh3)
		return 0;
	if (piece->fd < 0)
		return piece->fd;
	state = XXH3_createState();
	buf = malloc(VERIFY_BYTES);
	if (state && buf) {
		XXH3_64bits_reset(state);
		ret = hash_range(piece, buf, state);
	}
	XXH3_freeState(state);
	free(buf);
	return ret;
}

const char *recording_cause_name(enum recording_cause cause)
{
	static const char *const names[] = {
		[RECORDING_OVERFLOW] = "overflow",   [RECORDING_SOURCE] = "source",
		[RECORDING_DISK] = "disk",           [RECORDING_ABORTED] = "aborted",
		[RECORDING_DISCARDED] = "discarded", [RECORDING_OTHER] = "other",
		[RECORDING_MISSING] = "missing",     [RECORDING_UNKNOWN] = "unknown",
	};

	return names[cause];
}

bool recording_uses(const struct recording *recording, dev_t device, ino_t inode)
{
	for (size_t i = 0; i < recording->file_count; i++)
		if (recording->files[i].place >= 0 && recording->files[i].device == device &&
		    recording->files[i].inode == inode)
			return true;
	for (size_t i = 0; i < recording->journal_count; i++)
		if (recording->journal_files[i].device == device &&
		    recording->journal_files[i].inode == inode)
			return true;
	return false;
}
