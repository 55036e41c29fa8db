/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording.h - the pieces of a recording, found and put into the order of the stream
 *
 *   recording_open() -> recording_next() until 0 -> recording_free()
 *
 * recording_open() looks for the journals (recorder/journal.h) in every place it is told or the
 * journal names, takes the longest valid one, finds the files it names and plans which bytes come
 * from where. Then recording_next() gives the stream from its first byte to its last, piece by
 * piece: data (a range of a file) or a gap. Each byte of the stream is in exactly one piece.
 * Without any journal the blocks of a Mark6 set (tools/mark6_set.h) in number order make the stream, or
 * the files' final names in number order.
 *
 * Of a recording with parity, segments whose files are not there are pieces of data, too, as long as all else
 * that is in their rows is there: recording_rebuild() makes them.
 *
 * Where files are looked for: in the directories the caller names; in the targets of the journal,
 * by their path and by the UUID of their file system, if a journal of the same recording lies
 * there, too (a journal alone must not make a program read what its user didn't mean). Symbolic
 * links below a target are not followed.
 *
 * What is wrong with a recording is not an error of these functions: it is counted in struct
 * recording_info and said in recording_notes, recording_missing and recording_unused; the data that
 * are there are given.
 *
 * Threads: one caller at a time for each recording; nothing is shared between recordings.
 * Errors:  -errno; the sentence for the user in recording_error().
 */
#ifndef VSIB_TOOLS_RECORDING_H
#define VSIB_TOOLS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/mark6.h"

#define RECORDING_ERROR_LEN 1024

struct recording;
struct history;
struct mark6_file_survey;

/* What to open. Either @recording (with or without @targets), or @name with @targets. */
struct recording_query {
	const char *recording; /* TARGET/NAME, or the path of a journal; NULL: by name */
	const char *name;      /* NAME, looked for in the targets only */
	const char *const *targets; /* more directories to look in, in this order; or files of a Mark6 set */
	size_t target_count;
	bool needs_journal; /* without one it isn't looked any further: -ENOENT */
};

enum recording_kind {
	RECORDING_DATA,
	RECORDING_GAP,
};

/* Why bytes of the stream are not there. The first six are what `gap` lines say. */
enum recording_cause {
	RECORDING_OVERFLOW,  /* the ring was full */
	RECORDING_SOURCE,    /* lost by the source */
	RECORDING_DISK,      /* lost with a disk */
	RECORDING_ABORTED,   /* not drained when the recording was aborted */
	RECORDING_DISCARDED, /* the rest of a packet that another loss has torn */
	RECORDING_OTHER,     /* a word this program doesn't know */
	RECORDING_MISSING,   /* recorded, but the file is not there or too short */
	RECORDING_UNKNOWN,   /* nothing says anything about these bytes */
};

struct recording_piece {
	enum recording_kind kind;
	uint64_t stream_offset;
	uint64_t bytes;

	/* of data */
	int fd; /* the recording's, for pread(); until the next call. < 0: -errno, can't be opened */
	bool is_lost;       /* not there, and can be rebuilt; fd is < 0 until then */
	const char *target; /* directory the file was found in, or of what is lost was recorded to */
	const char *file;   /* relative to it, with .part where that was used */
	uint64_t file_offset;
	bool has_xxh3;
	uint64_t xxh3;       /* XXH3-64, seed 0, of sum_bytes of the file from sum_offset on: the */
	uint64_t sum_offset; /* same range as file_offset and bytes, or a longer one when the piece */
	uint64_t sum_bytes; /* is only a part of what the journal's line covers */
	bool has_copy; /* recording_other_copy() may find the same bytes elsewhere, or recording_rebuild() make them */
	uint32_t segment; /* for these two, and recording_refresh() */
	uint32_t file_index;

	/* of a gap */
	enum recording_cause cause;
	bool is_estimated;    /* bytes was concluded from the clock */
	bool is_length_known; /* false: bytes is 0, and later offsets are too small */
};

/* A stretch of the stream that was recorded and can't be read, one line a file. */
struct recording_missing {
	const char *target; /* as the journal or the caller spells it; "" = not known (no journal) */
	const char *file;
	const char *reason;     /* "is not there", "is 5 bytes long ..." */
	uint64_t stream_offset; /* the stretch from its first byte ... */
	uint64_t stream_end;    /* ... to behind its last */
	uint64_t bytes;         /* of it missing; others may lie between; 0 = not known */
	uint64_t parity_bytes;  /* recording_rebuilt() only: of parity, not of the stream */
};

/* A gap of the recording in whose place the recorder has put fill: it lies in pieces of data. */
struct recording_filled {
	uint64_t stream_offset;
	uint64_t bytes;
	enum recording_cause cause;
	bool is_estimated; /* bytes was concluded from the clock */
};

struct recording_unused {
	const char *target;
	const char *file;
	const char *reason; /* "not in the journal" ... */
};

struct recording_note {
	bool is_trouble;  /* something is wrong beyond bytes that are missing */
	const char *text; /* a sentence */
};

/* A Mark6 set that has no journal. */
struct recording_mark6 {
	struct mark6_file_header header; /* of all its files */
	uint64_t file_count;
	uint64_t block_count; /* each number once */
	uint64_t doubled_count;
	uint64_t missing_count; /* numbers below the last one */
	uint64_t uneven_count;  /* blocks with other than whole packets */
};

struct recording_info {
	const char *name;    /* "" for recording_open_round() */
	const char *journal; /* the one that is believed; NULL: none, the files' names tell */
	const char *const *journals; /* all that were found of this recording */
	size_t journal_count;
	const struct history *history;       /* what it says; NULL without a journal */
	const struct recording_mark6 *mark6; /* NULL: no Mark6 set, or one with a journal */
	bool has_end;                        /* false with a journal: still running, or cut short */
	bool has_trouble;                    /* a note says what */
	bool is_incomplete; /* pieces lie there that can't be used and may belong to the stream */
	uint64_t stream_bytes;  /* end of the last piece */
	uint64_t data_bytes;    /* sum over data pieces */
	uint64_t filled_bytes;  /* of them fill: what was lost there is in no gap */
	uint64_t gap_bytes;     /* sum over gaps of known length */
	uint64_t gap_count;     /* not counted by recording_open_round() */
	uint64_t segment_count; /* data pieces; with recording_open_round() files */
};

/**
 * recording_open() - find a recording and plan how to read it
 * @out: set even on failure (except -ENOMEM: maybe NULL), for recording_error(); free it in every
 *       case
 *
 * May read much: files of equal number without a journal are compared; files of equal name on
 * several targets are told apart by their checksum when they were moved.
 * Return: 0; -ENOENT no such recording or directory; -EACCES, -EPERM; -EINVAL no usable name;
 *         -EBADMSG several recordings under this name, or pieces that contradict each other;
 *         -ENOMEM; -EIO and others.
 */
int recording_open(struct recording **out, const struct recording_query *query);

/**
 * recording_open_round() - files that take @unit_bytes in turn, as wr writes them to several
 * directories; no journal
 * @templates: TARGET/TEMPLATE each, TEMPLATE with %d or %06d, or the plain name of one file
 *
 * Numbers that are missing, and directories that end before their turn, give gaps in the right
 * places.
 * Return: as recording_open().
 */
int recording_open_round(struct recording **out, uint64_t unit_bytes, const char *const *templates,
			 size_t count);

/** recording_free() - closes all; NULL is fine */
void recording_free(struct recording *recording);

/** recording_error() - why the last call failed; "" = it did not; NULL recording: out of memory */
const char *recording_error(const struct recording *recording);

/**
 * recording_exit_status() - of a program whose recording can't be opened
 * @ret: what recording_open() and its like returned, < 0
 */
int recording_exit_status(int ret);

#define RECORDING_TROUBLE \
	2 /* exit status: nothing is wrong with the call, but with what is there */

/** recording_info() - what was found; constant after opening */
const struct recording_info *recording_info(const struct recording *recording);

/**
 * recording_next() - the next piece of the stream
 * Return: 1; 0 at the end.
 */
int recording_next(struct recording *recording, struct recording_piece *piece);

/**
 * recording_seek() - let recording_next() go on at a position of the stream
 *
 * The first piece then begins exactly there (past the end there is none).
 */
void recording_seek(struct recording *recording, uint64_t stream_offset);

/**
 * recording_other_copy() - the same bytes from another file
 * @piece: data; replaced only on success
 *
 * Call it again for the next one; each copy comes once.
 * Return: 0; -ENOENT no other (or no more).
 */
int recording_other_copy(struct recording *recording, struct recording_piece *piece);

/**
 * recording_rebuild() - the same bytes, made from the parity and all else that is in their rows
 * @piece: data; on success fd and file_offset lead to the bytes, until the next call: they are right, and are
 *         not to be verified again
 *
 * Holds the whole segment in memory, no more than JOURNAL_SEGMENT_MAX.
 * Return: 0; -ENOENT there is no parity; -ENODATA something that is needed is not there, can't be read or
 *         is wrong itself, and recording_error() says what; -EBADMSG what comes out has not got its checksum;
 *         -ENOMEM.
 */
int recording_rebuild(struct recording *recording, struct recording_piece *piece);

/**
 * recording_can_rebuild() - would it come out, if what is good is as it was recorded?
 * @index:   of a segment
 * @is_good: is this (index for history_stored()) there, and right, so many bytes from its begin?
 *
 * Return: 1; 0; -ENOMEM.
 */
int recording_can_rebuild(struct recording *recording, uint32_t index,
			  bool (*is_good)(void *context, uint32_t index, uint64_t bytes),
			  void *context);

/**
 * recording_refresh() - make fd of an earlier data piece usable again; may be closed when other
 * pieces were given
 */
void recording_refresh(struct recording *recording, struct recording_piece *piece);

/**
 * recording_verify() - read what the piece's checksum covers and compare
 * Return: 0 right, or there is no checksum; -EBADMSG wrong; -ENODATA the file ends before; -EIO and
 *         others; -ENOMEM.
 */
int recording_verify(const struct recording_piece *piece);

/** recording_cause_name() - "overflow", "missing" ...: the word for reports */
const char *recording_cause_name(enum recording_cause cause);

/** Lists, constant after opening; *count is set. */
const struct recording_missing *recording_missing(const struct recording *recording, size_t *count);
/** recording_filled() - in their order, as far as the fill is there */
const struct recording_filled *recording_filled(const struct recording *recording, size_t *count);
/** recording_rebuilt() - files that are not there or too short, but whose part of the stream can be rebuilt */
const struct recording_missing *recording_rebuilt(const struct recording *recording, size_t *count);

/**
 * recording_covered() - files that are missed as well, but whose bytes are all there in others: of these
 * bytes is 0, and the stretch is that of what they lack
 */
const struct recording_missing *recording_covered(const struct recording *recording, size_t *count);
const struct recording_unused *recording_unused(const struct recording *recording, size_t *count);
const struct recording_note *recording_notes(const struct recording *recording, size_t *count);

/*
 * For those who look at, or repair, the files themselves. All three: false when there are no more;
 * what is given lives as long as the recording.
 */

/* A directory that pieces lie in, or may lie in. */
struct recording_place {
	const char *path;
	int fd;     /* of the directory, the recording's */
	int target; /* which of the journal's targets it is; -1 = not known */
};

/* A file that the journal names. With a journal @index is that of history->files. */
struct recording_file {
	const char *file;       /* relative to the place; as found, or as it should be */
	const char *final_file; /* the name without .part */
	int place;              /* index of recording_place(); -1: not found */
	int target;             /* the journal's; -1 without one */
	uint64_t bytes;         /* its length when it was found */
};

struct recording_journal {
	const char *path;
	const char *file; /* relative to the place */
	int place;        /* index of recording_place(); -1: not known */
};

bool recording_place(const struct recording *recording, size_t index, struct recording_place *place);
bool recording_file(const struct recording *recording, size_t index, struct recording_file *file);
bool recording_journal(const struct recording *recording, size_t index,
		       struct recording_journal *journal);

/** recording_mark6_file() - how a file's blocks lie there; NULL: not a Mark6 set without a journal */
const struct mark6_file_survey *recording_mark6_file(const struct recording *recording, size_t index);

/**
 * recording_open_file() - a descriptor of the caller's own, for reading
 * Thread: any, several at a time.
 * Return: the descriptor; -ENOENT not found, or not any more; -errno.
 */
int recording_open_file(const struct recording *recording, size_t index);

/** recording_open_journal() - the same for a journal. -ESTALE: another file has its name now. */
int recording_open_journal(const struct recording *recording, size_t index);

/**
 * recording_uses() - is this file (st_dev, st_ino) one of the pieces or journals, not to be written
 * over?
 */
bool recording_uses(const struct recording *recording, dev_t device, ino_t inode);

#endif
