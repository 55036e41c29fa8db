/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * state.h - what the threads of a session share
 *
 * Who writes what:
 *   reader     source -> ring (reader.c): cuts the stream into blocks, runs and files
 *   writer     one a disk: decides what is written, synced and let go (writer.c, retreat.c); no disk
 *              holds it, because what may block is done by the engine's threads (outbox.h, engine.h)
 *   keeper     one a disk: keeps the journal there (keeper.c)
 *   supervisor the thread that sets up, watches and ends (session.c, supervise.c, settle.c)
 * Each field names its writer. Whatever isn't atomic is constant from session_start() on, or
 * belongs to the thread named. The functions here may be called by any of the four.
 */
#ifndef VSIB_RECORDER_STATE_H
#define VSIB_RECORDER_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "drivers/source.h"
#include "recorder/account.h"
#include "recorder/copies.h"
#include "recorder/engine.h"
#include "recorder/journal.h"
#include "recorder/layout.h"
#include "recorder/metadata.h"
#include "recorder/names.h"
#include "recorder/segment.h"
#include "recorder/sink.h"
#include "recorder/stripe.h"
#include "recorder/target.h"
#include "recorder/trace.h"
#include "recorder/watch.h"
#include "ringbuf/bell.h"
#include "ringbuf/memory.h"
#include "ringbuf/ring.h"

#define SESSION_ERROR_LEN 2048
#define SESSION_WARNING_MAX 64
#define SESSION_EVENT_MAX 64
#define SESSION_HISTOGRAM 14
#define SESSION_MARK5_BINS 8

enum overflow_policy { OVERFLOW_AUTO, OVERFLOW_DROP, OVERFLOW_WAIT, OVERFLOW_STOP };

/* What is recorded in place of what the source lost. */
enum fill_policy {
	FILL_NONE,         /* nothing: files are closed up */
	FILL_PATTERN,      /* bytes_put_fill() at the stream's offset */
	FILL_VDIF_INVALID, /* source_fill() */
};

/* Why the stream ended; the first reason stays. */
enum stop_reason {
	STOP_NONE,
	STOP_SIGNAL,     /* first INT or TERM */
	STOP_DURATION,   /* -d reached */
	STOP_BYTES,      /* -n reached */
	STOP_SOURCE_END, /* the source has no more */
	STOP_SOURCE_ERROR,
	STOP_LAST_DISK,  /* no disk left that can be written to */
	STOP_OVERFLOW,   /* --on-overflow stop */
	STOP_DISKS_FULL, /* what is in the ring needs the room that is left, see room.h */
};

struct session_config {
	const char *program; /* for journal and report */
	const char *source_name;
	const struct source_ops *source_ops; /* NULL = found by the name */
	const char *const *targets;
	const char *const *templates; /* per target, or NULL: by layout and name; wr */
	unsigned target_count;
	struct metadata_config metadata;
	const char *name;
	bool is_scan; /* the name is a scan's: where a recording has it already, a letter is put behind it */
	uint64_t rate_bps;
	int64_t duration_ns;  /* 0 = without end */
	uint64_t limit_bytes; /* 0 = without end */
	int64_t start_utc_ns;
	bool is_as_recorded; /* the source's data at their own time stamps */
	enum layout_kind layout;
	enum stripe_policy stripe;
	const char *name_template; /* NULL = by layout and name */
	uint64_t ring_bytes, block_bytes, chunk_bytes, file_bytes, unit_bytes;
	int64_t file_ns;       /* a file ends after so long; 0 = never */
	uint64_t packet_bytes; /* layout mark6, --vbs-cfg; 0 = the source's frames */
	enum mark6_format packet_format;
	unsigned copies; /* 0, 1: each byte once; 2: on two disks */
	bool use_parity; /* of all other disks, on the last */
	bool is_ring_default; /* nobody asked for this ring: a smaller one will do where it doesn't fit */
	enum overflow_policy on_overflow;
	enum fill_policy fill;
	enum engine_kind engine;
	unsigned depth; /* writes in flight a disk; 0 = by the block's size */
	int64_t disk_timeout_ns; /* a disk that has not moved for so long is stuck, while others can take over; 0 = never */
	bool use_direct, use_checksums, use_journal, allow_same_device, use_force;
	bool use_huge_pages, require_huge_pages, use_lock;
	bool is_index_per_target; /* wr: each directory counts its own files */
	bool is_index_global;     /* wr: by the number of the file's first block among all blocks */
	const uint64_t *target_file_bytes; /* wr: file size per target, 0 = one file; NULL: file_bytes for all */
	int numa_node;                     /* MEMORY_ANY_NODE = the source device's */
	int64_t silence_ns;                /* say so when nothing came for that long */
	const struct sink_io *const *io; /* per target; NULL = the system's calls for all */
	const struct target *const *opened_targets; /* per target: opened by the caller, who closes it; NULL = found by its name */
	struct trace *const *traces; /* per target: gets each write to it; either may be NULL */
	/* told of each segment that has become durable, as the journal is, by the disk's writer: must not block; NULL = nobody */
	void (*settled)(void *context, unsigned target, const char *file,
			const struct segment *segment);
	void *settled_context;
	bool is_room_kept; /* io lets old files go as new ones come: no stream ends because a disk would fill up */
};

/* Who may change the reader's counters: it; nobody, while a device holds it; who took them over. */
enum reader_grip { GRIP_READER, GRIP_DEVICE, GRIP_TAKEN };

enum disk_state { DISK_OK, DISK_FULL, DISK_FAILED, DISK_STUCK, DISK_READONLY };

struct session;
struct lanes;
struct outbox;

struct disk {
	struct session *session;
	unsigned number;
	struct target target;
	char name_template[LAYOUT_NAME_LEN];
	char other_template[LAYOUT_NAME_LEN]; /* of the second copy's files, or the parity's */
	uint64_t file_bytes;                  /* a file is rolled at this size; 0 = never */
	bool has_directory, has_second_directory, has_journal; /* made by session_arm() */
	struct outbox *outbox;
	struct segmenter *segmenter;
	pthread_t writer, keeper;
	bool has_writer, has_keeper; /* supervisor */
	bool is_held; /* supervisor, at the end: the kernel has not given back all it was given */
	struct bell keeper_bell;

	/* writer writes */
	account_counter accepted_bytes; /* given to the disk */
	account_counter lost_bytes; /* never given to the disk, because it had failed: cause disk */
	account_counter aborted_bytes;
	account_counter file_count;
	account_counter worst_offset; /* file offset of the worst write */
	account_counter write_hist[SESSION_HISTOGRAM];
	account_counter mark5_bins[SESSION_MARK5_BINS];
	_Atomic int64_t worst_write_at_ns; /* CLOCK_MONOTONIC of the worst write's end */
	_Atomic int64_t worst_write_ns;
	_Atomic int64_t longest_turn_ns; /* longest time from the end of one write to the end of the next */
	_Atomic int64_t last_write_ns; /* CLOCK_MONOTONIC of the last write's end */
	_Atomic int64_t write_started_ns; /* since when no write has come back though some are in flight; 0 = none is */
	_Atomic bool has_ended; /* the writer is through: all is durable or lost */
	_Atomic int writer_cpu,
		writer_policy; /* where and how it ran: sched_getcpu(), sched_getscheduler() */
	_Atomic uint64_t durable_bytes;
	account_counter other_bytes; /* part of durable_bytes: second copies, parity */
	/* what its files have got of the disk, see room.h */
	_Atomic uint64_t space_bytes, space_most_bytes;
	_Atomic bool is_space_changing;
	_Atomic uint32_t space_turn;     /* writer: odd while this may be out of date */
	account_counter forfeited_bytes; /* accepted, but lost before they were durable: cause disk */
	/* reader adds, writer subtracts */
	_Atomic uint32_t open_units;
	account_counter assigned_bytes; /* reader writes */
	/* keeper writes */
	_Atomic uint64_t free_bytes;
	_Atomic uint64_t capacity_bytes; /* of its file system for the recording, see room.h; ROOM_UNKNOWN = not looked yet */
	uint64_t looked_bytes; /* keeper alone: the same as it was at the last look, whatever others take */
	uint64_t total_bytes; /* constant */
	_Atomic int state;    /* writer; error is whole before it is released */
	_Atomic uint32_t waits_behind; /* writer sleeps for want of what follows this block; RING_NONE = of any; RING_END = it has work */
	_Atomic uint32_t passed_count; /* writer: so many runs it found in the rescue queue and may not take */
	_Atomic bool is_left; /* writer: its queue is not served any more, see ring_rescue() */
	char error[SESSION_ERROR_LEN]; /* guarded by session->lock while writers run */
};

/* What the reader says about a block; the writer that owns the block reads it. */
struct extent {
	uint64_t stream_offset;
	int64_t utc_ns; /* of its first byte */
	uint32_t at;    /* in the block's data */
	uint32_t bytes;
	uint64_t xxh3; /* see enum segment_sum */
	enum segment_sum sum;
};

struct block_label {
	uint64_t file_number;
	uint64_t file_offset; /* of the block in its file; plan.is_appended: not known here */
	bool is_file_end;     /* nothing follows in this file */
	uint64_t row_at; /* with parity: number of the row x block_bytes + place in it, of the first byte */
	uint32_t extent_count;
	/*
	 * Of a run's first block: who has its copies; RING_RESCUE = nobody yet. Who has one may not take the
	 * other. The reader writes before the put, then whoever takes one from the rescue queue.
	 */
	_Atomic uint32_t holders[COPIES_MAX];
	struct extent extents[]; /* layout_plan.extent_max */
};

struct session {
	struct session_config config;
	char scan_name[NAMES_LABEL_LEN]; /* of a repeated scan: config.name is this */
	struct layout_plan plan;
	struct source *source;
	struct memory memory;
	struct ring *ring;
	void *scrap; /* reader: one block, for an overflow's bytes, and for those read that are to go behind fill */
	void *lent;              /* the blocks of a source that fills its own; NULL = it doesn't */
	struct journal *journal; /* NULL = none is kept */
	struct metadata *metadata; /* NULL = none is asked for */
	struct account account;
	struct copies *copies; /* what is lost of each of two; NULL = there is one copy */
	struct lanes *lanes;   /* reader */
	struct watch watch;    /* reader */
	struct disk *disks;
	unsigned disk_count;
	bool has_sums; /* the reader sums up what it reads, while it is in the cache */
	bool can_drop; /* full ring: drop (true) or wait (false) */

	pthread_t reader;
	bool has_reader;    /* supervisor */
	int64_t created_ns; /* CLOCK_MONOTONIC, for the start-up time */
	int64_t armed_ns;   /* CLOCK_MONOTONIC */
	int64_t armed_utc_ns;
	_Atomic int64_t running_ns; /* reader: CLOCK_MONOTONIC when source_start() was through */
	_Atomic int64_t started_ns; /* reader: CLOCK_MONOTONIC of the first sample's moment; 0 = not yet */
	_Atomic int64_t start_utc_ns; /* reader: of the first sample */
	_Atomic int64_t last_data_ns; /* reader: when something came last */
	_Atomic int64_t deadline_ns; /* reader: CLOCK_MONOTONIC when -d ends the stream; 0 = never */
	_Atomic int64_t stream_ended_ns; /* reader */
	_Atomic int64_t longest_fill_ns; /* reader: longest time from one full block to the next */
	account_counter unprotected_bytes; /* reader: of the stream, in rows for which there was no parity */
	_Atomic uint64_t parity_lost_bytes; /* writers: parity that is not durable */
	_Atomic uint64_t displaced_bytes; /* writers: of rows, on a disk that may have another block of the row */
	_Atomic uint64_t missing_bytes; /* reader: by the rate and the clock, of a device that loses silently */
	_Atomic int64_t waited_ns; /* reader: time a source that can wait had to */
	_Atomic int reader_grip; /* enum reader_grip: who may touch lanes and the reader's counters */
	_Atomic bool has_stream_ended;         /* reader: released after the last put */
	_Atomic int reader_cpu, reader_policy; /* reader: where it ran last, and how */
	_Atomic int stop_reason;               /* first one wins */
	_Atomic bool is_stopping;              /* anybody: the reader is to end the stream */
	_Atomic bool is_aborting; /* supervisor: writers drop what they have not written */
	_Atomic bool is_over; /* supervisor: a writer with nothing to do need not wait for the others any more */
	_Atomic bool is_given_up; /* supervisor: nor for its disk */
	_Atomic uint32_t run_count; /* runs put, each copy counted, and neither durable nor lost: reader adds, writers subtract */
	_Atomic bool has_end_line; /* supervisor: the journal is complete, keepers may flush it and end */
	_Atomic uint32_t usable_count; /* disks that can still be written to */

	int wake_fd;      /* eventfd: reader and writers say that they have ended */
	int64_t ended_ns; /* supervisor: all durable */
	int64_t sync_ns;  /* supervisor: from the last write to that */

	pthread_mutex_t lock;          /* guards what follows; held for memory work only */
	char error[SESSION_ERROR_LEN]; /* why it ended badly; "" */
	char *warnings[SESSION_WARNING_MAX];
	unsigned warning_count;
	char *events[SESSION_EVENT_MAX]; /* to be shown: session_take_event() */
	unsigned event_count;
	uint64_t hidden_count; /* events there was no room for */
};

/** session_block_data() - the stream's bytes in a block, plan.head_bytes behind its beginning */
char *session_block_data(const struct session *session, uint32_t block);

/** session_stop() - end the stream now, write what is in the ring; idempotent, any thread */
void session_stop(struct session *session, enum stop_reason reason);

/** session_abort() - give up what is not written yet; implies session_stop() */
void session_abort(struct session *session);

/**
 * session_nudge() - interrupt a reader that the kernel holds in a read; repeat until it has ended
 */
void session_nudge(struct session *session);

/**
 * session_poke() - wakes the supervisor, who polls wake_fd: a thread has ended, or there is
 * something to show
 */
void session_poke(struct session *session);

/** session_has_ended() - all threads but the keepers are through */
bool session_has_ended(const struct session *session);

/**
 * session_written_bytes() - of the stream, durable once at least; with two copies this is exact at the end, and
 *                           before it may be ahead by what is lost of the one and not yet safe of the other
 */
uint64_t session_written_bytes(const struct session *session);

/** session_placed_bytes() - the stream without what the source threw away, which has no place in it */
uint64_t session_placed_bytes(const struct session *session);

/** session_sum() - the sums for account_check() */
struct account_sum session_sum(const struct session *session);

/**
 * session_utc() - UTC now, from the monotonic clock since the start: a stepped wall clock changes
 * nothing
 */
int64_t session_utc(const struct session *session, int64_t monotonic_ns);

/**
 * session_warn() - a sentence for the user at once, and for the report (each text once); any
 *                  thread. Only the supervisor prints: a terminal that is stopped must not stop a
 *                  reader or a writer.
 * session_event() - the same and a journal line; @target < 0: the whole recording
 * session_notice() - only show it: what is told elsewhere in the report, a gap for instance
 */
void session_notice(struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void session_warn(struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void session_event(struct session *session, const char *event, int target, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * session_take_event() - the oldest sentence to be shown, to be freed by the caller; NULL when
 * there is none
 * @hidden_count: how many there was no room for since the last call
 */
char *session_take_event(struct session *session, uint64_t *hidden_count);

/** session_gap() - note a loss in account and journal, of no bytes too; utc_ns is set here; any thread */
void session_gap(struct session *session, struct gap gap);

/**
 * session_lose() - bytes that were put into the ring will not be durable: counted, and a gap; of one of two
 *                  copies only if the other is lost as well; any thread
 * @counter: the caller's own; NULL = a second copy that isn't made, which nobody counts
 * @number: of the file they were for: LAYOUT_SECOND in it: of the second copy; LAYOUT_PARITY: not of the
 *          stream, counted apart
 */
void session_lose(struct session *session, account_counter *counter, uint64_t stream_offset,
		  uint64_t bytes, enum gap_cause cause, uint64_t number);

/** session_lose_block() - every extent of a block */
void session_lose_block(struct session *session, account_counter *counter, uint32_t block,
			enum gap_cause cause, bool is_second);

/**
 * session_single_bytes() - durable in one copy only, where there should be two
 * session_unprotected_bytes() - parity that could not be made, or is lost; and what one disk has taken over
 *                               from another, so that its own loss may take two blocks of a row
 */
uint64_t session_single_bytes(const struct session *session);
uint64_t session_unprotected_bytes(const struct session *session);

/** session_edges_ns - upper limits of write_hist's classes but the last */
extern const int64_t session_edges_ns[SESSION_HISTOGRAM - 1];

const char *session_disk_state_name(enum disk_state state);

#endif
