/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal.h - the record of what is where: <name>.vsib.jsonl beside the data on every target
 *
 *   journal_create() -> journal_open() a target -> journal_say_...() -> journal_flush() a target
 *   ... -> journal_free()
 *
 * Format: schema vsib-journal/1. JSON lines, one object each, appended, synced every few seconds;
 * a last line without its newline is torn and to be ignored. Every journal of a recording holds
 * every line. All byte counts and offsets are decimal integers below 2^63; "utc" is RFC 3339 with
 * nine digits and Z. Lines, by "type":
 *
 *   start    schema, name, program, version, source, rate_bps (0 = unknown), layout ("raw",
 *            "vbs", "mark6", "pcap"), stripe ("any", "round"), block_bytes, chunk_bytes (0 = none), file_bytes
 *            (0 = any), file_ns (a file's time; absent: any), copies (absent: one), parity_target (only with parity), template, targets
 *            [{path, fs_uuid, device, serial}], utc, monotonic_ns, host, pid; mark6: packet_format
 *            ("vdif", "mark5b", "unknown"), packet_bytes; always the first line
 *   segment  target (index into start.targets), file (relative to the target's path, final name:
 *            while a recording runs, or after a crash, the file may still carry ".part" behind
 *            it), file_offset, bytes, stream_offset, xxh3 (XXH3-64, seed 0, of these bytes, 16
 *            hex digits; absent without checksums), utc; contiguous in file and in stream, at
 *            most 64 MiB, never over a header of layout mark6; written only after the data's fdatasync;
 *            copy (1: of the second copy; absent otherwise); with parity: row, row_offset
 *   parity   target, file, file_offset, bytes, row, row_offset, xxh3, utc, as in a segment, of parity. A row is
 *            block_bytes on each disk: the segments and the parity of a row hold its bytes from
 *            row_offset (absent: 0) on, going on into the rows that follow; the XOR of all of a row, short ones
 *            filled up with zeros, is zero
 *   gap      stream_offset, bytes, cause ("overflow", "source", "disk", "aborted", "discarded": the
 *            rest of a packet that another loss has torn), utc, estimated (only when true), filled (only
 *            when true: cause "source", and fill stands in the place of all these bytes. They are in segments,
 *            or in other gaps if the fill was lost in turn. The line comes before any segment with the fill; a
 *            long gap has several that go on with each other, one that was filled in part one more for the rest)
 *   clock    stream_offset, utc, monotonic_ns, synchronized (true/false), offset_s; every 10 s
 *   event    event (a word: "disk-failed", "disk-full", "disk-stuck", "disk-back", "disk-space",
 *            "disks-full", "source-silent", "source-back", "source-slow", "source-fast",
 *            "source-note", "source-failed", "reader-held", "packet-odd", "packet-torn",
 *            "data-constant", "clock-step", "metadata-failed"), text, utc, target (optional)
 *   end      outcome, reason (of the stream's end), exit_status, stream_bytes, received_bytes,
 *            written_bytes, overflow_bytes, disk_lost_bytes, source_lost_bytes, discarded_bytes,
 *            aborted_bytes, filled_bytes, duration_s, utc; absent after a crash
 *
 * Behind the last whole line that a recorder cut short has left, vsib-check --recover puts an
 * event "recovered" (unknown_targets: those whose journals it didn't have, absent when it had all), a gap
 * "aborted" for each stretch that was neither safe nor known as lost, and an end with outcome "stopped"
 * and reason "recovered".
 *
 * Threads:  journal_say_...() from any thread (a short lock; never on the data path: a line is a
 *           chunk, a file or up to 64 MiB of it). journal_flush(target) only by that target's
 *           keeper thread.
 * Errors:   -errno from the file; the journal of one target that fails becomes an event in the
 *           others.
 */
#ifndef VSIB_RECORDER_JOURNAL_H
#define VSIB_RECORDER_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_SCHEMA "vsib-journal/1"
#define JOURNAL_SUFFIX ".vsib.jsonl"
#define JOURNAL_PART_SUFFIX ".part"
#define JOURNAL_RECOVERED "recovered" /* the event that begins a recovery's lines */
#define JOURNAL_SEGMENT_MAX (UINT64_C(64) << 20)

struct journal;

struct journal_segment {
	unsigned target;
	const char *file; /* relative to the target */
	uint64_t file_offset;
	uint64_t bytes;
	uint64_t stream_offset;
	uint64_t xxh3;
	bool has_xxh3;
	bool is_second; /* of the second copy */
	bool is_parity; /* not of the stream: stream_offset is not said */
	bool has_row;
	uint64_t row, row_offset;
	int64_t utc_ns; /* of the segment's first byte */
};

struct journal_gap {
	uint64_t stream_offset;
	uint64_t bytes;
	const char *cause;
	int64_t utc_ns;
	bool is_estimated, is_filled;
};

/**
 * journal_create() - no file yet
 * @target_count: journals that will be kept
 * Return: 0; -ENOMEM.
 */
int journal_create(struct journal **out, unsigned target_count);

/** journal_free() - closes what is open, without a flush; NULL is fine */
void journal_free(struct journal *journal);

/**
 * journal_open() - make the file of one target
 * @dir_fd: directory it goes into; stays the caller's and open for the journal's life
 * @file:   its name; must not exist
 * Return: 0; -EEXIST and others from the file system.
 */
int journal_open(struct journal *journal, unsigned target, int dir_fd, const char *file);

/**
 * journal_end() - the last line; what is said later is not written: nothing stands behind the
 * end. Takes over the reference
 */
void journal_end(struct journal *journal, json_t *line);

/**
 * journal_say() - append any object as a line; takes over the reference; NULL is ignored (no
 * memory)
 */
void journal_say(struct journal *journal, json_t *line);

void journal_say_segment(struct journal *journal, const struct journal_segment *segment);
void journal_say_gap(struct journal *journal, const struct journal_gap *gap);
/** journal_say_event() - @target < 0: of the recording as a whole */
void journal_say_event(struct journal *journal, const char *event, const char *text, int target,
		       int64_t utc_ns);

/**
 * journal_flush() - write and sync what one target's journal does not have yet
 *
 * Return: 0; -errno: this journal is closed for good (an event in the others says so); -EBADF:
 *         was closed before.
 */
int journal_flush(struct journal *journal, unsigned target);

#endif
