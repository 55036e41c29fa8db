/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session_parts.h - what session.c and session_files.c share; not for others
 *
 *   session.c        plans, arms and starts a recording
 *   session_files.c  names its files, looks for old ones, makes directories and journals
 *
 * Threads: supervisor. Return values: 0, or -errno with the refusal filled in.
 */
#ifndef VSIB_RECORDER_SESSION_PARTS_H
#define VSIB_RECORDER_SESSION_PARTS_H

#include "recorder/session.h"

/** session_refuse() - fills in the refusal. Return: @error, so that it can be returned on. */
int session_refuse(struct refusal *refusal, int exit_status, int error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/** session_name_files() - of every disk; refuses names that can't be, and recordings that are there already */
int session_name_files(struct session *session, struct refusal *refusal);

/** session_has_numbers() - the disk's files have numbers: several of them, or one that may end up on any disk */
bool session_has_numbers(const struct session *session, const struct disk *disk);

/** session_second_name() - what the recording of the second copies is called */
void session_second_name(char *buf, size_t len, const struct session *session);

/** session_packet_bytes() - of the stream's packets, with their headers; 0 = not known */
uint64_t session_packet_bytes(const struct session *session);

/** session_say_start() - the journal's first line */
int session_say_start(struct session *session, struct refusal *refusal);

/**
 * session_remove_existing() - --force: looked at again on every target before anything is removed on one
 */
int session_remove_existing(struct session *session, struct refusal *refusal);

/** session_make_journal() - directories and journal of one target: of two recorders with one name the second fails here */
int session_make_journal(struct session *session, struct disk *disk, struct refusal *refusal);

#endif
