/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * settle.h - the end of a session: who is through, who is held, where every byte is, and what to
 * call it
 *
 *   session_end() -> session_outcome(), session_duration_ns()
 *
 * Threads: supervisor.
 */
#ifndef VSIB_RECORDER_SETTLE_H
#define VSIB_RECORDER_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/state.h"

/**
 * session_is_settled() - reader and writers are through and everything is durable or lost; any
 * thread
 */
bool session_is_settled(const struct session *session);

/** session_has_threads() - after session_end(): is any of them still there? */
bool session_has_threads(const struct session *session);

/**
 * session_end() - join what can be joined, account for what is left, write the journal's last line
 * @patience_ns: how long to wait for threads that a disk holds
 * Return: true: all threads are gone; false: some are held by the kernel: don't session_free().
 */
bool session_end(struct session *session, int64_t patience_ns);

enum session_outcome { OUTCOME_COMPLETE, OUTCOME_LOSS, OUTCOME_DEGRADED, OUTCOME_STOPPED };

/** session_outcome() - after session_end(): the outcome, and the program's exit status */
enum session_outcome session_outcome(const struct session *session, int *exit_status);

/**
 * session_reason_name() - why the stream ended: "duration", "source-end" ... see struct session;
 * "abort"
 */
const char *session_reason_name(const struct session *session);

const char *session_outcome_name(enum session_outcome outcome);
/**
 * session_duration_ns() - from the first sample's moment (else from armed) until all was durable;
 * after session_end()
 */
int64_t session_duration_ns(const struct session *session);

#endif
