/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * status.h - lets vsib-status look at this recorder: a socket that gives one JSON object to
 * whoever connects
 *
 *   status_open() -> poll status_fd() -> status_answer() -> status_close()
 *
 * Read-only: nothing that comes in is read. Never blocks: who doesn't take the answer at once
 * doesn't get it. Threads: supervisor.
 */
#ifndef VSIB_RECORDER_STATUS_H
#define VSIB_RECORDER_STATUS_H

#include <jansson.h>

struct status;

/**
 * status_open() - @why: 256 bytes, the reason when it can't. Return: 0; -errno: the recording
 * goes on without it
 */
int status_open(struct status **out, const char *name, char *why);

/** status_fd() - readable when somebody wants to know; -1 for NULL */
int status_fd(const struct status *status);

/** status_answer() - accept one and send @snapshot (its reference is taken over) */
void status_answer(struct status *status, json_t *snapshot);

/** status_close() - NULL is fine */
void status_close(struct status *status);

#endif
