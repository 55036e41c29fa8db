/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - one recording: source, ring and disks joined and run
 *
 *   session_create() -> session_arm() -> session_start() ... session_stop() -> session_end() ->
 *   session_free()
 *
 * "Armed" means: every file system looked at, journals begun, ring mapped, touched and locked.
 * Only then do the threads and, in the reader, the source start. What the threads share stands in
 * state.h, how it ends in settle.h. Threads: supervisor.
 */
#ifndef VSIB_RECORDER_SESSION_H
#define VSIB_RECORDER_SESSION_H

#include "recorder/settle.h"
#include "recorder/state.h"

/* Why a recording is refused before its first byte. */
struct refusal {
	int exit_status;              /* for the program: <sysexits.h> */
	bool is_name_taken;           /* by an existing recording */
	char text[SESSION_ERROR_LEN]; /* what was asked, what is wrong, what to do */
};

/**
 * session_create() - look at source and targets, plan, refuse what can't work; nothing is created
 * or started Return: 0; -errno and @refusal filled in.
 */
int session_create(struct session **out, const struct session_config *config, struct refusal *refusal);

/**
 * session_arm() - ring, journals, directories: all that is needed before the first byte. Return
 * as above.
 */
int session_arm(struct session *session, struct refusal *refusal);

/**
 * session_discard() - take back what session_arm() made on the targets: nothing has been recorded
 */
void session_discard(struct session *session);

/** session_start() - start the threads; the source starts in the reader. Return as above. */
int session_start(struct session *session, struct refusal *refusal);

/** session_free() - NULL and half-made ones are fine; removes nothing from disk */
void session_free(struct session *session);

#endif
