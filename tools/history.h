/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * history.h - what a journal says, read back
 *
 *   history_read() -> look at the fields -> history_free()
 *
 * A journal (recorder/journal.h) is believed as far as it is whole: a last line without its newline
 * is torn and ignored; reading stops at the first line that isn't valid JSON, or is longer than
 * HISTORY_LINE_MAX, and the rest is not used. A line that is JSON but says something impossible (an
 * offset below 0, a file outside its target) is left out and counted. Lines of types that are not
 * known here are skipped. What a recovery has put behind the recorder's own lines (from an event
 * "recovered" on) is told apart.
 *
 * The contents are input from outside: nothing in them makes this crash, hang or allocate more than
 * some times the size of the file.
 *
 * Threads: none shared; one caller at a time.
 */
#ifndef VSIB_TOOLS_HISTORY_H
#define VSIB_TOOLS_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_LINE_MAX ((size_t)1 << 20)
#define HISTORY_TEXT_LEN 512
#define HISTORY_TARGET_MAX 4096

struct history_target {
	const char *path;      /* where it was mounted then; never NULL */
	const char *fs_uuid;   /* "" = not known */
	bool has_lost_journal; /* the recorder had to give its journal up: others know all it knew */
	bool was_unknown;      /* the recovery that wrote the end didn't have its whole journal */
};

struct history_file {
	const char *name; /* relative to the target; no "..", no leading '/' */
	unsigned target;  /* index into targets */
	uint32_t index;   /* its own place in files */
};

struct history_segment {
	uint64_t stream_offset; /* of parity 0 */
	uint64_t file_offset;
	uint64_t bytes; /* never 0 */
	uint64_t row_at; /* place in the rows that parity is made of: row x block_bytes + row_offset */
	uint64_t xxh3;
	uint32_t file; /* index into files */
	bool has_xxh3;
	bool has_row;
};

struct history_gap {
	uint64_t stream_offset;
	uint64_t bytes; /* never 0 */
	uint8_t cause;  /* enum history_cause */
	bool is_estimated;
	bool is_filled; /* fill stands in its place: in segments, or in other gaps if that is lost */
};

enum history_cause {
	HISTORY_OVERFLOW,
	HISTORY_SOURCE,
	HISTORY_DISK,
	HISTORY_ABORTED,
	HISTORY_DISCARDED,
	HISTORY_OTHER, /* a word that is not known here */
};

/* A moment of the recording: what `clock` lines say. */
struct history_clock {
	uint64_t stream_offset;
	int64_t utc_ns;
	int64_t monotonic_ns;
};

struct history {
	char *path;    /* of the journal, as given */
	char *name;    /* of the recording; a single file name */
	json_t *start; /* the first line */
	json_t *end;   /* the last line, NULL when there is none: cut short, or still running */
	uint64_t end_bytes; /* stream_bytes of the end line, without what was discarded behind the recording's end */

	uint64_t valid_bytes; /* length of the part that is believed */
	uint64_t valid_count; /* its lines */
	uint64_t told_bytes;  /* of them the recorder's own: what follows a recovery has written */
	bool is_recovered;    /* there is such a rest */
	uint64_t unknown_count;         /* lines of types that are not known here */
	uint64_t invalid_count;         /* lines left out because they say something impossible */
	char invalid[HISTORY_TEXT_LEN]; /* the first of them, as a sentence */
	char stop[HISTORY_TEXT_LEN]; /* why reading stopped before the end of the file; "" = it did not */
	bool is_torn;                /* a last line without newline was ignored */

	struct history_target *targets;
	size_t target_count;
	struct history_file **files;
	size_t file_count;
	struct history_segment *segments; /* as in the journal; recording_open() sorts them */
	size_t segment_count;
	struct history_segment *parity; /* as in the journal */
	size_t parity_count;            /* with segment_count below 2^32 - 1 */
	struct history_gap *gaps;
	size_t gap_count;
	struct history_clock *clocks;
	size_t clock_count;
};

enum history_depth {
	HISTORY_START, /* the first line only: which recording is it? */
	HISTORY_ALL,
};

/**
 * history_read() - read a journal
 * @fd:   of a regular file, at its beginning; stays the caller's
 * @path: for people
 *
 * Return: 0; -EBADMSG: no valid `start` line, the reason in @error (HISTORY_TEXT_LEN); -ENOMEM;
 *         -EIO and others from the file, said in @error too.
 */
int history_read(struct history **out, int fd, const char *path, enum history_depth depth, char *error);

/** history_free() - NULL and a half-read one are fine */
void history_free(struct history *history);

/** history_layout() - "raw", "vbs", "mark6", "pcap"; "" = the start line doesn't say */
const char *history_layout(const struct history *history);

/** history_has_folder() - do the recording's files lie in a folder of its own, TARGET/NAME? */
bool history_has_folder(const struct history *history);

/**
 * history_stored() - what lies in files: the segments, and behind them the parity
 * @index: below segment_count + parity_count
 */
const struct history_segment *history_stored(const struct history *history, size_t index);

/** history_stored_count() - segment_count + parity_count */
size_t history_stored_count(const struct history *history);

/**
 * history_promises() - up to where there are segments or parity, for each of its files
 * @last_stored: history_stored() index of what ends last, for each of the files; NULL is fine
 *
 * Return: array of offsets, free() it; NULL: no memory.
 */
uint64_t *history_promises(const struct history *history, uint32_t *last_stored);

/**
 * history_is_same() - are both journals of the same run (moment, host and process of the start)?
 */
bool history_is_same(const struct history *a, const struct history *b);

/** history_has_second() - was all of it written twice? Then there are files of NAME-copy, too */
bool history_has_second(const struct history *history);

/** history_is_journal() - is a journal meant? Then the name ends in .jsonl. */
bool history_is_journal(const char *path);

/**
 * history_file_is_safe() - a relative path that stays below where it starts, without control
 * characters
 */
bool history_file_is_safe(const char *file);

/**
 * history_name_is_safe() - one name, not a path: neither empty, "." nor "..", without '/' and
 * control characters
 */
bool history_name_is_safe(const char *name);

#endif
