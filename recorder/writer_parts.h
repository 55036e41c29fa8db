/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * writer_parts.h - what writer.c and retreat.c share; not for others
 *
 *   writer.c   as long as all is well: claim, write, let go
 *   retreat.c  when it isn't: hand over to others, save what can be saved, count what is lost
 *
 * Threads: the disk's writer alone.
 */
#ifndef VSIB_RECORDER_WRITER_PARTS_H
#define VSIB_RECORDER_WRITER_PARTS_H

#include "recorder/outbox.h"
#include "recorder/state.h"

#define WRITER_RUNS_HELD 2 /* runs a disk may have that are not durable yet */
#define WRITER_RUNS_MAX (ENGINE_DEPTH_MAX + 2)
#define WRITER_PROMISES_MAX 8

enum writer_mode {
	WRITER_WORKS,
	WRITER_LEAVES, /* the disk has failed or is stuck, the others take over; it may come back */
	WRITER_STANDS, /* nobody takes over: what was written is saved, the rest is lost */
};

/* What is to become durable, in the order of the segments. */
struct promise {
	struct outbox_file *file;
	uint64_t bytes;       /* accepted of it when it was made */
	uint64_t segment_end; /* so many segments are settled when it is kept */
	uint32_t run;         /* to be let go then; RING_NONE = none */
	bool is_finish;       /* of the file; else a sync */
	bool is_asked;
	uint64_t awaited; /* outbox_finished_count() when it is done */
};

struct writer {
	struct disk *disk;
	struct session *session;
	struct ring *ring;
	struct outbox *outbox;
	enum writer_mode mode;
	int64_t now_ns; /* CLOCK_MONOTONIC of this turn, read behind what had come back by then */
	/* the chain of blocks: what was written last and what comes next */
	uint32_t block; /* next to be written; RING_NONE = not known yet, or no run is open */
	uint32_t last;  /* written last of the open run; RING_NONE = no run is open */
	bool is_second; /* the open run is a second copy */
	/* the runs that are not written yet, oldest first, as ring_claim() gave them */
	uint32_t runs[WRITER_RUNS_MAX];
	unsigned run_first, run_count;
	struct promise promises[WRITER_PROMISES_MAX];
	unsigned promise_first, promise_count;
	uint64_t settled_count;            /* segments */
	struct outbox_file *accepted_file; /* the segments that are not promised are of this file */
	int64_t synced_ns;                 /* when a sync was asked for last */
	/* leaving, standing */
	enum gap_cause cause; /* of what is lost */
	bool is_losing;       /* all that could be saved is; from block on all is lost */
	bool has_given_up_files;
	int64_t through_ns; /* since when nothing is left to do but to wait for the disk; 0 = not yet */
};

/* writer.c */

bool writer_is_aborting(const struct writer *w);

/**
 * writer_is_all_written() - the stream is over and every run is through: nobody can hand anything to us
 *                           any more. Or nobody waits for those who could
 */
bool writer_is_all_written(const struct writer *w);

/** writer_advance() - learns what follows in the open run, as far as the reader has come */
void writer_advance(struct writer *w);

/** writer_sync_if_crowded() - one target: so many segments wait that no more can be accepted */
void writer_sync_if_crowded(struct writer *w);

/** writer_retire() - looks at the oldest write. Return: true when it was good and is done with. */
bool writer_retire(struct writer *w);

/**
 * writer_promise() - all that was accepted of the file up to now shall be durable, and the segments that
 *                    are closed by then are told: all of them at the end of a run or file
 */
void writer_promise(struct writer *w, struct outbox_file *file, bool is_finish, uint32_t run);

/** writer_keep_promises() - asks for what is promised and lets go of what is kept. Return: true when something was kept. */
bool writer_keep_promises(struct writer *w);

/** writer_pop_promise() - the oldest one; there must be one */
struct promise writer_pop_promise(struct writer *w);

/** writer_end_run() - a run is through: durable, or lost, or others have it */
void writer_end_run(struct writer *w, bool is_with_others);

/** writer_note_write() - how long it took, or has been taking, up to @now_ns */
void writer_note_write(struct writer *w, const struct flight *flight, int64_t now_ns);

/** writer_release() - gives back the blocks of a run from its first one on, up to but not @end */
void writer_release(struct writer *w, uint32_t run, uint32_t end);

/**
 * writer_claim_rescued() - the oldest run in the rescue queue that this disk may take
 *
 * With two copies of each it may not take the one whose other it has: that is left to others, or if there are
 * none, and it is complete, given up: from there on there is one copy. Return: the run, or RING_NONE.
 */
uint32_t writer_claim_rescued(struct writer *w);

void writer_push_run(struct writer *w, uint32_t run);
uint32_t writer_pop_run(struct writer *w);

/* retreat.c */

/** retreat_look() - has something failed, is the disk stuck, does the operator want out? */
void retreat_look(struct writer *w);

/** retreat_turn() - one turn of a writer that doesn't work any more. Return: true when something was done. */
bool retreat_turn(struct writer *w);

/** retreat_is_through() - nothing is left to do; is called when a turn did nothing */
bool retreat_is_through(struct writer *w);

/** retreat_give_up() - the session doesn't wait any longer: counts whatever is left as lost */
void retreat_give_up(struct writer *w);

#endif
