/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/dada.h"
#include "recorder/journal.h"
#include "recorder/layout.h"
#include "tools/array.h"
#include "tools/mark6_file.h"
#include "tools/read_at.h"
#include "tools/recording_parts.h"
#include "tools/sequence.h"

#define RELATIVE_LEN (2 * NAME_MAX + 2)

enum form {
	FORM_VBS,    /* NAME/NAME.NNNNNNNN */
	FORM_RAW,    /* NAME.NNNNNN or the journal's template */
	FORM_PCAP,   /* NAME.NNNNNN.pcapng */
	FORM_SINGLE, /* NAME.raw, NAME.pcapng */
	FORM_PARITY, /* NAME.parity.NNNNNN */
	FORM_COUNT,
};

struct found {
	uint64_t number;
	uint32_t file; /* index into recording->files */
};

struct listing {
	struct recording *recording;
	const char *name; /* of the recording, or of its second copy */
	struct sequence vbs;
	struct sequence raw;
	struct sequence pcap;
	struct sequence parity;
	struct sequence from_template; /* of the journal */
	bool has_template;
	bool is_mark6; /* as the journal says */
	char single[2][NAME_MAX + 8];

	/* the folder that is being read */
	int place;
	bool is_own_folder; /* NAME/ */

	/* without a journal */
	struct found *found;
	size_t count;
	bool has_form[FORM_COUNT];
	uint64_t *strays; /* numbers of .part files and rescued pieces */
	size_t stray_count;

	/* with a journal */
	const struct data_file **used; /* sorted by place and name */
	const char **journal_names;    /* sorted */
};

static int prepare_listing(struct listing *listing, struct recording *recording, const char *name)
{
	const char *text =
		recording->history ?
			json_string_value(json_object_get(recording->history->start, "template")) :
			NULL;
	char parity_name[2 * NAME_MAX];

	*listing = (struct listing){ .recording = recording, .name = name };
	listing->is_mark6 =
		recording->history && strcmp(history_layout(recording->history), "mark6") == 0;
	snprintf(listing->single[0], sizeof(listing->single[0]), "%.*s.raw", NAME_MAX, name);
	snprintf(listing->single[1], sizeof(listing->single[1]), "%.*s" LAYOUT_PCAP_SUFFIX,
		 NAME_MAX, name);
	snprintf(parity_name, sizeof(parity_name), "%.*s" LAYOUT_PARITY_SUFFIX, NAME_MAX, name);
	listing->has_template = text && strcmp(name, recording->name) == 0 &&
				sequence_parse(&listing->from_template, text) == 0;
	if (sequence_make(&listing->vbs, name, 8, 8) < 0 ||
	    sequence_make(&listing->raw, name, 6, SEQUENCE_DIGITS_MAX) < 0 ||
	    sequence_make(&listing->pcap, name, 6, SEQUENCE_DIGITS_MAX) < 0 ||
	    sequence_make(&listing->parity, parity_name, 6, SEQUENCE_DIGITS_MAX) < 0)
		return recording_fail(recording, -EINVAL, "the name %s is too long", name);
	strcpy(listing->pcap.suffix, LAYOUT_PCAP_SUFFIX);
	return 0;
}

/*
 * NAME.part, and NAME@OFFSET for what was rescued to another disk in mid-file, are not final names
 * by themselves.
 */
static void strip_marks(char *name, bool *is_stray)
{
	size_t len = strlen(name), suffix_len = strlen(JOURNAL_PART_SUFFIX);
	char *at;

	*is_stray = false;
	if (len > suffix_len && strcmp(name + len - suffix_len, JOURNAL_PART_SUFFIX) == 0) {
		name[len - suffix_len] = '\0';
		*is_stray = true;
	}
	at = strrchr(name, '@');
	if (at && at != name && at[1] && at[1 + strspn(at + 1, "0123456789")] == '\0') {
		*at = '\0';
		*is_stray = true;
	}
}

/* Is it a data file of this recording? FORM_COUNT: no. */
static enum form match_name(const struct listing *listing, const char *name, uint64_t *number,
			    bool *is_stray)
{
	char stripped[NAME_MAX + 1];

	if (strlen(name) >= sizeof(stripped))
		return FORM_COUNT;
	strcpy(stripped, name);
	strip_marks(stripped, is_stray);
	*number = 0;
	if (listing->is_own_folder)
		return sequence_match(&listing->vbs, stripped, number) ? FORM_VBS : FORM_COUNT;
	if (strcmp(stripped, listing->single[0]) == 0 || strcmp(stripped, listing->single[1]) == 0 ||
	    (listing->is_mark6 && mark6_file_is_name(listing->recording->name, stripped)))
		return FORM_SINGLE;
	if (sequence_match(&listing->raw, stripped, number))
		return FORM_RAW;
	if (sequence_match(&listing->pcap, stripped, number))
		return FORM_PCAP;
	if (sequence_match(&listing->parity, stripped, number))
		return FORM_PARITY;
	return listing->has_template && sequence_match(&listing->from_template, stripped, number) ?
		       FORM_RAW :
		       FORM_COUNT;
}

static void join_name(const struct listing *listing, const char *name, char *buf)
{
	snprintf(buf, RELATIVE_LEN, "%s%s%.*s", listing->is_own_folder ? listing->name : "",
		 listing->is_own_folder ? "/" : "", NAME_MAX, name);
}

static int scan_places(struct listing *listing, int (*visit)(void *context, const char *name))
{
	struct recording *recording = listing->recording;

	for (size_t i = 0; i < recording->place_count; i++)
		for (int is_own = 0; is_own < 2; is_own++) {
			const char *folder = is_own ? listing->name : "";
			int ret;

			listing->place = (int)i;
			listing->is_own_folder = is_own;
			ret = place_scan(&recording->places[i], folder, visit, listing);
			if (ret < 0 && ret != -ENOMEM)
				ret = recording_fail(recording, ret, "%s/%s %s",
						     recording->places[i].path, folder,
						     place_reason(ret));
			if (ret < 0)
				return ret;
		}
	return 0;
}

/*
 * ---- with a journal: what is left over ----------------------------------------------------------
 */

static int compare_used(const void *a, const void *b)
{
	const struct data_file *x = *(const struct data_file *const *)a,
			       *y = *(const struct data_file *const *)b;

	return x->place != y->place ? (x->place < y->place ? -1 : 1) : strcmp(x->name, y->name);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int visit_unused(void *context, const char *name)
{
	struct listing *listing = context;
	struct recording *recording = listing->recording;
	char relative[RELATIVE_LEN];
	const char *text = relative;
	struct data_file key = { .name = relative, .place = listing->place };
	const struct data_file *key_place = &key;
	uint64_t number;
	bool is_stray, is_named;
	size_t len;

	if (match_name(listing, name, &number, &is_stray) == FORM_COUNT)
		return 0;
	join_name(listing, name, relative);
	if (bsearch(&key_place, listing->used, recording->file_count, sizeof(listing->used[0]),
		    compare_used))
		return 0;
	len = strlen(relative);
	if (len > strlen(JOURNAL_PART_SUFFIX) &&
	    strcmp(relative + len - strlen(JOURNAL_PART_SUFFIX), JOURNAL_PART_SUFFIX) == 0)
		len -= strlen(JOURNAL_PART_SUFFIX);
	relative[len] = '\0';
	is_named = bsearch(&text, listing->journal_names, recording->file_count,
			   sizeof(listing->journal_names[0]), compare_texts);
	join_name(listing, name, relative);
	return recording_add_unused(recording, recording->places[listing->place].path, relative,
				    is_named ? "not the file of this name that the journal means" :
					       "not in the journal");
}

static int scan_unused(struct recording *recording, const char *name)
{
	struct listing listing;
	size_t count = recording->file_count;
	int ret = prepare_listing(&listing, recording, name);

	if (ret < 0) {
		recording->error[0] = '\0';
		return 0;
	}
	ret = -ENOMEM;
	listing.used = calloc(count ? count : 1, sizeof(listing.used[0]));
	listing.journal_names = calloc(count ? count : 1, sizeof(listing.journal_names[0]));
	if (!listing.used || !listing.journal_names)
		goto done;
	for (size_t i = 0; i < count; i++) {
		listing.used[i] = &recording->files[i];
		listing.journal_names[i] = recording->history->files[i]->name;
	}
	qsort(listing.used, count, sizeof(listing.used[0]), compare_used);
	qsort(listing.journal_names, count, sizeof(listing.journal_names[0]), compare_texts);
	ret = scan_places(&listing, visit_unused);
	if (ret < 0 && ret != -ENOMEM) {
		/*
		 * The journal has told what is needed; that a directory can't be listed only hides
		 * left-overs.
		 */
		ret = recording_add_note(recording, false, "%s", recording->error);
		recording->error[0] = '\0';
	}
done:
	free(listing.used);
	free(listing.journal_names);
	return ret;
}

int recording_scan_unused(struct recording *recording)
{
	char second[NAME_MAX + sizeof(LAYOUT_COPY_SUFFIX)];
	int ret = scan_unused(recording, recording->name);

	if (ret < 0 || !history_has_second(recording->history))
		return ret;
	snprintf(second, sizeof(second), "%.*s" LAYOUT_COPY_SUFFIX, NAME_MAX, recording->name);
	return scan_unused(recording, second);
}

/*
 * ---- without a journal --------------------------------------------------------------------------
 */

static int add_stray(struct listing *listing, const char *relative, uint64_t number, const char *reason)
{
	struct recording *recording = listing->recording;
	uint64_t *room = array_room(&listing->strays, listing->stray_count, sizeof(*room));

	if (!room)
		return -ENOMEM;
	*room = number;
	listing->stray_count++;
	return recording_add_unused(recording, recording->places[listing->place].path, relative,
				    reason);
}

/* Of vsib-record --dada-header. A stream that began with a header of its own is data as a whole. */
static uint64_t find_head(int fd)
{
	char head[DADA_HEADER_BYTES];
	ssize_t n = read_at(fd, head, sizeof(head), 0);

	return n > 0 && dada_is_ours(head, (size_t)n) ? DADA_HEADER_BYTES : 0;
}

static int visit_found(void *context, const char *name)
{
	struct listing *listing = context;
	struct recording *recording = listing->recording;
	char relative[RELATIVE_LEN];
	struct found *room;
	struct stat st;
	uint64_t number, head_bytes;
	int64_t file;
	bool is_stray;
	enum form form = match_name(listing, name, &number, &is_stray);
	int fd;

	if (form == FORM_COUNT)
		return 0;
	join_name(listing, name, relative);
	if (form == FORM_PARITY)
		return recording_add_unused(recording, recording->places[listing->place].path, relative,
					    "parity, and there is no journal that tells of what");
	if (is_stray)
		return add_stray(listing, relative, number,
				 "not a final name, and there is no journal");
	fd = place_open_file(&recording->places[listing->place], relative, &st);
	if (fd == -ENOMEM)
		return fd;
	if (fd < 0)
		return add_stray(listing, relative, number, place_reason(fd));
	head_bytes = form == FORM_VBS ? 0 : find_head(fd);
	close(fd);
	file = recording_add_file(recording, listing->place, relative, &st);
	room = array_room(&listing->found, listing->count, sizeof(*room));
	if (file < 0 || !room)
		return -ENOMEM;
	recording->files[file].head_bytes = head_bytes;
	*room = (struct found){ .number = number, .file = (uint32_t)file };
	listing->count++;
	listing->has_form[form] = true;
	return 0;
}

static uint64_t data_bytes(const struct data_file *file)
{
	return file->bytes - file->head_bytes;
}

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* Return: 1 the same bytes, 0 not, -errno. */
static int compare_files(struct recording *recording, uint32_t a, uint32_t b)
{
	const struct data_file *x = &recording->files[a], *y = &recording->files[b];
	const uint64_t at[2] = { 0, 0 };
	int fds[2];

	if (x->device == y->device && x->inode == y->inode)
		return 1;
	if (x->bytes != y->bytes)
		return 0;
	fds[0] = recording_file_fd(recording, a);
	fds[1] = recording_file_fd(recording, b);
	if (fds[0] < 0 || fds[1] < 0)
		return fds[0] < 0 ? fds[0] : fds[1];
	return compare_at(fds, at, x->bytes, NULL);
}

/* Of equal numbers one is kept, if their bytes are equal. */
static int drop_duplicates(struct listing *listing)
{
	struct recording *recording = listing->recording;
	size_t kept = 0;

	for (size_t i = 0; i < listing->count; i++) {
		const struct data_file *one, *other = &recording->files[listing->found[i].file];
		int ret;

		if (kept == 0 || listing->found[kept - 1].number != listing->found[i].number) {
			listing->found[kept++] = listing->found[i];
			continue;
		}
		one = &recording->files[listing->found[kept - 1].file];
		ret = compare_files(recording, listing->found[kept - 1].file, listing->found[i].file);
		if (ret < 0)
			return recording_fail(recording, ret, "%s/%s and %s/%s can't be compared: %s",
					      recording->places[one->place].path, one->name,
					      recording->places[other->place].path, other->name,
					      strerror(-ret));
		if (ret == 0)
			return recording_fail(
				recording, -EBADMSG,
				"%s/%s and %s/%s have the same number and different contents, and there is no journal that knows the right one",
				recording->places[one->place].path, one->name,
				recording->places[other->place].path, other->name);
		ret = recording_add_unused(recording, recording->places[other->place].path, other->name,
					   "the same bytes as another file of this number");
		if (ret < 0)
			return ret;
	}
	listing->count = kept;
	return 0;
}

/*
 * The length all files have but the last, which may be shorter; 0: they differ, or one file tells
 * nothing.
 */
static uint64_t common_length(const struct listing *listing)
{
	const struct data_file *files = listing->recording->files;
	uint64_t length = data_bytes(&files[listing->found[0].file]);

	if (listing->count < 2)
		return 0;
	for (size_t i = 1; i < listing->count; i++) {
		uint64_t bytes = data_bytes(&files[listing->found[i].file]);

		if (i + 1 < listing->count ? bytes != length : bytes > length)
			return 0;
	}
	return length;
}

/* Numbers from..to-1 are not there. */
static int add_hole(struct listing *listing, uint64_t from, uint64_t to, uint64_t length,
		    uint64_t *position)
{
	struct recording *recording = listing->recording;
	const struct sequence *sequence = listing->has_form[FORM_VBS]  ? &listing->vbs :
					  listing->has_form[FORM_PCAP] ? &listing->pcap :
									 &listing->raw;
	char first[SEQUENCE_NAME_LEN], last[SEQUENCE_NAME_LEN], name[3 * SEQUENCE_NAME_LEN];
	struct recording_missing missing = { .target = "",
					     .file = name,
					     .reason = "is not there",
					     .stream_offset = *position,
					     .stream_end = *position };
	struct part part = { .stream_offset = *position, .segment = PART_GAP, .cause = RECORDING_MISSING };
	uint64_t bytes;
	int ret;

	sequence_name(sequence, from, first);
	sequence_name(sequence, to - 1, last);
	snprintf(name, sizeof(name), "%s%s%s", first, to - from > 1 ? " to " : "",
		 to - from > 1 ? last : "");
	part.is_length_known = length && !__builtin_mul_overflow(to - from, length, &bytes) &&
			       bytes <= STREAM_MAX - *position;
	if (part.is_length_known) {
		part.bytes = missing.bytes = bytes;
		*position += bytes;
		missing.stream_end = *position;
	}
	ret = recording_add_missing(recording, &missing);
	return ret < 0 ? ret : recording_add_part(recording, &part);
}

static int add_whole_file(struct listing *listing, uint32_t file, uint64_t *position)
{
	struct recording *recording = listing->recording;
	uint64_t bytes = data_bytes(&recording->files[file]);
	struct history_segment *room;
	struct part part = { .stream_offset = *position,
			     .bytes = bytes,
			     .segment = (uint32_t)recording->segment_count };

	if (bytes == 0)
		return 0;
	if (bytes > STREAM_MAX - *position)
		return recording_fail(recording, -EBADMSG,
				      "the files are longer than 2^63 bytes together");
	room = array_room(&recording->segments, recording->segment_count, sizeof(*room));
	if (!room)
		return -ENOMEM;
	*room = (struct history_segment){
		.stream_offset = *position,
		.bytes = bytes,
		.file = file,
		.file_offset = recording->files[file].head_bytes,
	};
	recording->segment_count++;
	*position += bytes;
	return recording_add_part(recording, &part);
}

static int plan_names(struct listing *listing)
{
	struct recording *recording = listing->recording;
	uint64_t length = common_length(listing), expected = 0, position = 0;
	bool has_holes = false, has_heads = false;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < listing->count; i++) {
		const struct found *found = &listing->found[i];

		if (found->number > expected) {
			ret = add_hole(listing, expected, found->number, length, &position);
			has_holes = true;
		}
		if (ret == 0)
			ret = add_whole_file(listing, found->file, &position);
		has_heads = has_heads || recording->files[found->file].head_bytes > 0;
		expected = found->number + 1;
	}
	if (ret == 0 && has_heads)
		ret = recording_add_note(
			recording, false,
			"the DADA headers of vsib-record, 4096 bytes in front of a file's data, are left out");
	if (ret == 0 && has_holes && length)
		ret = recording_add_note(recording, false,
					 "the missing files are taken to be %" PRIu64
					 " bytes long each, like the others",
					 length);
	else if (ret == 0 && has_holes)
		ret = recording_add_note(
			recording, false,
			"the files differ in length: how long the missing ones were is not known");
	return ret;
}

/* A broken-off chunk's .part is no loss when the whole chunk is there, too. */
static void judge_strays(struct listing *listing)
{
	for (size_t i = 0; i < listing->stray_count; i++) {
		size_t low = 0, high = listing->count;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (listing->found[middle].number < listing->strays[i])
				low = middle + 1;
			else
				high = middle;
		}
		if (low == listing->count || listing->found[low].number != listing->strays[i])
			listing->recording->info.is_incomplete = true;
	}
}

static int visit_any(void *context, const char *name)
{
	uint64_t number;
	bool is_stray;
	enum form form = match_name(context, name, &number, &is_stray);

	return form == FORM_COUNT || form == FORM_PARITY || is_stray ? 0 : -EEXIST;
}

int recording_has_names(struct recording *recording)
{
	struct listing listing;
	int ret = prepare_listing(&listing, recording, recording->name);

	if (ret == 0)
		ret = scan_places(&listing, visit_any);
	if (ret != -EEXIST)
		return ret;
	recording->error[0] = '\0';
	return 1;
}

int recording_read_names(struct recording *recording)
{
	struct listing listing;
	int ret = prepare_listing(&listing, recording, recording->name);

	recording->has_own_segments = true;
	if (ret == 0)
		ret = scan_places(&listing, visit_found);
	if (ret == 0 && listing.has_form[FORM_VBS] + listing.has_form[FORM_RAW] +
					listing.has_form[FORM_PCAP] + listing.has_form[FORM_SINGLE] >
				1)
		ret = recording_fail(
			recording, -EBADMSG,
			"several recordings are called %s: of the files %s/%s.NNNNNNNN, %s.NNNNNN, %s.raw, %s.NNNNNN" LAYOUT_PCAP_SUFFIX
			" and so on more than one kind is there, and no journal",
			recording->name, recording->name, recording->name, recording->name,
			recording->name, recording->name);
	if (ret == 0 && listing.count == 0)
		ret = recording_fail(recording, -ENOENT,
				     "no recording %s: neither a journal nor a file of that name in %s%s",
				     recording->name,
				     recording->place_count ? recording->places[0].path : "no target",
				     recording->place_count > 1 ? " and the other targets" : "");
	if (ret == 0) {
		qsort(listing.found, listing.count, sizeof(listing.found[0]), compare_found);
		ret = drop_duplicates(&listing);
	}
	if (ret == 0)
		ret = plan_names(&listing);
	if (ret == 0)
		judge_strays(&listing);
	free(listing.found);
	free(listing.strays);
	return ret;
}
