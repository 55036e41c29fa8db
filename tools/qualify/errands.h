/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errands.h - what is asked of a disk that may never answer
 *
 *   errands_open() -> { errands_run() a call | errands_write() ... errands_next() ... } -> errands_close()
 *
 * Shape:   the recorder's engine, and a wait that ends. Who has been cancelled waits another 40 ms
 *          for what is out, and who gets nothing back for ERRANDS_GIVE_UP_NS gives up. What is out
 *          then stays with the disk until the process ends: its memory must never be freed, nor its
 *          file closed.
 * Threads: one.
 */
#ifndef VSIB_TOOLS_QUALIFY_ERRANDS_H
#define VSIB_TOOLS_QUALIFY_ERRANDS_H

#include "drivers/units.h"
#include "recorder/engine.h"
#include "tools/qualify/teller.h"

#define ERRANDS_GIVE_UP_NS (30 * UNITS_NS_PER_S)

struct errands {
	struct engine *engine;
	struct bell bell;
	struct teller *teller;
	int64_t moved_ns; /* when something came back last, or went out to a disk that had nothing to do */
	int64_t cancelled_ns; /* noticed then; 0 = not */
	unsigned out;         /* with the disk */
};

/** errands_open() - @config: its bell is ours. Return: 0; -errno. */
int errands_open(struct errands *errands, const struct engine_config *config, struct teller *teller);

/** errands_close() - a zeroed one is fine. Return: 0; -EBUSY: something is out, all of it stays. */
int errands_close(struct errands *errands);

/** errands_write() - see engine_write() */
void errands_write(struct errands *errands, struct engine_op *op);

/**
 * errands_next() - wait for something to come back
 * @op: set on success
 * Return: 0; -ECANCELED; -ETIMEDOUT: the disk gave nothing back for too long.
 */
int errands_next(struct errands *errands, struct engine_op **op);

/**
 * errands_run() - op->run, in another thread; nothing else is out
 * @is_last: also of who is cancelled: what has to be cleared up
 * Return: 0: op->result says what came of it; -ECANCELED, -ETIMEDOUT as above: op is still out, or was
 *         never begun.
 */
int errands_run(struct errands *errands, struct engine_op *op, bool is_last);

#endif
