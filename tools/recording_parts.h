/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording_parts.h - what the files behind recording.h share; not for others
 *
 *   recording_find.c      places, journals: which recording is it, and which journal is believed
 *   recording_resolve.c   the journal's files: where is each of them now
 *   recording_parity.c    what is lost of them, from the parity and all else that it is of
 *   recording_names.c     without a journal: names in number order
 *   recording_mark6.c     without a journal: the blocks of a Mark6 set
 *   recording_files.c     the files, journals and places themselves, for those who repair them
 *   recording_filled.c    gaps in whose place fill was recorded
 *   recording_lists.c     sentences, and what is missing or not used
 *   recording_round.c     files that take units in turn (wr)
 *   recording.c           the plan of the stream, and the calls of recording.h
 */
#ifndef VSIB_TOOLS_RECORDING_PARTS_H
#define VSIB_TOOLS_RECORDING_PARTS_H

#include "tools/history.h"
#include "tools/place.h"
#include "tools/recording.h"

#define PART_GAP UINT32_MAX
#define STREAM_MAX INT64_MAX

/* A file that pieces lie in. */
struct data_file {
	char *name;          /* relative to its place, as found; as wanted while it isn't found */
	int place;           /* -1: not found */
	int fd;              /* -1: not open now */
	uint64_t bytes;      /* its length when it was found */
	uint64_t head_bytes; /* without a journal: in front of its data */
	dev_t device;
	ino_t inode;
	uint64_t last_use;
	int64_t missing; /* index into missing; -1 */
};

/* A stretch of the stream as it will be given. */
struct part {
	uint64_t stream_offset;
	uint64_t bytes;
	uint32_t segment; /* PART_GAP, or index into segments */
	uint8_t cause;    /* enum recording_cause, of a gap */
	bool is_estimated;
	bool is_length_known;
};

/* A file that was given as a target. */
struct given_file {
	int place;
	char *name;
};

struct round;
struct mark6;
struct parity;

struct recording {
	char error[RECORDING_ERROR_LEN];
	struct recording_info info;
	char *name;

	struct place *places;
	size_t place_count;
	const char **journals;
	size_t journal_count;
	struct {
		dev_t device;
		ino_t inode;
		int place;  /* -1: not known */
		char *file; /* relative to it; NULL: not known */
	} * journal_files;
	struct history *history;

	struct data_file *files; /* with a journal: one for each of history->files */
	size_t file_count;
	size_t open_count;
	uint64_t use_count;
	struct history_segment *segments; /* the history's own, or ours without one; by stream_offset */
	size_t segment_count;
	bool has_own_segments;

	struct part *parts;
	size_t part_count;
	size_t next_part;
	uint64_t skip_bytes; /* of the next part, after a seek */
	struct round *round; /* instead of parts */
	struct mark6 *mark6; /* the same, if info.mark6 is set */

	struct parity *parity; /* NULL: there is none */

	struct given_file *given_files;
	size_t given_count;

	struct recording_missing *missing; /* and behind these the covered ones */
	size_t missing_count, covered_count;
	struct recording_missing *rebuilt;
	size_t rebuilt_count;
	struct recording_filled *filled;
	size_t filled_count;
	struct recording_unused *unused;
	size_t unused_count;
	struct recording_note *notes;
	size_t note_count;
};

/* recording_lists.c */

/** recording_fail() - keep the sentence. Return: @ret. */
int recording_fail(struct recording *recording, int ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** The lists: 0 or -ENOMEM. Texts are copied. */
int recording_add_note(struct recording *recording, bool is_trouble, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int recording_add_unused(struct recording *recording, const char *target, const char *file,
			 const char *reason);
int recording_add_missing(struct recording *recording, const struct recording_missing *missing);
int recording_add_rebuilt(struct recording *recording, const struct recording_missing *missing);

/** recording_settle_missing(), recording_settle_rebuilt() - those without any bytes go */
void recording_settle_missing(struct recording *recording);
void recording_settle_rebuilt(struct recording *recording);

/** Their undoing. */
void recording_drop_unused(struct recording *recording);
void recording_free_lists(struct recording *recording);

/* recording.c */

/** recording_add_file() - a data file that is there. Return: its index, or -ENOMEM. */
int64_t recording_add_file(struct recording *recording, int place, const char *name,
			   const struct stat *st);

/**
 * recording_add_part() - the next stretch of the stream; gaps of one kind are joined. Return: 0;
 * -ENOMEM.
 */
int recording_add_part(struct recording *recording, const struct part *part);

/** recording_file_fd() - open it if it isn't; few stay open. Return: descriptor or -errno. */
int recording_file_fd(struct recording *recording, uint32_t file);

/** recording_usable() - bytes of a segment that its file really has */
uint64_t recording_usable(const struct recording *recording, const struct history_segment *segment);

/** recording_describe_data() - fill in a data piece: @bytes of a file from @file_offset */
void recording_describe_data(struct recording *recording, struct recording_piece *piece,
			     uint32_t file, uint64_t file_offset, uint64_t bytes);

/* recording_find.c */

/**
 * recording_find() - places, journals and the one that is believed. Return: 0, without a journal
 * too; -errno.
 */
int recording_find(struct recording *recording, const struct recording_query *query);

/** recording_add_place() - Return: its index, of the same directory if it is known; -errno. */
int recording_add_place(struct recording *recording, const char *path, bool is_asked_for);

/* recording_resolve.c */

/**
 * recording_resolve() - find the journal's files, name those that are missing or in the way.
 * Return: 0; -errno.
 */
int recording_resolve(struct recording *recording);

/**
 * recording_scan_unused() - name data files that lie there and are not used. Return: 0; -ENOMEM.
 */
int recording_scan_unused(struct recording *recording);

/* recording_parity.c */

/**
 * recording_plan_parity() - which of the segments that aren't there will be rebuilt? Return: 0, without
 * parity too; -ENOMEM.
 */
int recording_plan_parity(struct recording *recording);

/** recording_is_rebuilt() - is it one of them? */
bool recording_is_rebuilt(const struct recording *recording, uint32_t segment);

/**
 * recording_list_rebuilt() - name the files they are of, and those of parity, of all that are in the list
 * of the missing. Return: 0; -ENOMEM.
 */
int recording_list_rebuilt(struct recording *recording);

void recording_free_parity(struct recording *recording);

/* recording_filled.c */

/** recording_list_filled() - by the journal, of the parts that are data. Return: 0; -ENOMEM. */
int recording_list_filled(struct recording *recording);

/* recording_names.c */

/**
 * recording_read_names() - files, segments and parts by name. Return: 0; -ENOENT, -EBADMSG, -errno.
 */
int recording_read_names(struct recording *recording);

/** recording_has_names() - are there such files? Return: 1 yes; 0 no; -errno. */
int recording_has_names(struct recording *recording);

/* recording_mark6.c */

/**
 * recording_give_file() - take a file, and its folder for the journals only
 * Return: the folder's place; -ENOTDIR not a file; -errno.
 */
int recording_give_file(struct recording *recording, const char *path);

/**
 * recording_read_mark6() - files that begin with Mark6's sync word, and their blocks
 * Return: 1; 0 there are none; -EBADMSG; -ENOTDIR a target is another kind of file; -errno.
 */
int recording_read_mark6(struct recording *recording);

int mark6_next(struct recording *recording, struct recording_piece *piece);
void mark6_seek(struct recording *recording, uint64_t stream_offset);
void mark6_free(struct mark6 *mark6);

/* recording_round.c */

int round_next(struct recording *recording, struct recording_piece *piece);
void round_seek(struct recording *recording, uint64_t stream_offset);
void round_free(struct round *round);

#endif
