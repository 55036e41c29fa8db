/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * supervise.h - runs a session from start to account: signals, ticks, status, the drain and its
 * limits
 *
 * INT or TERM: the first ends the stream and drains, as long as any disk makes progress; a
 * second, at least SUPERVISE_DEBOUNCE_NS later (a signal sent to a process and its group comes
 * twice), gives up what is not written. USR1: a line now. Threads: the recorder's main thread,
 * which is the supervisor.
 */
#ifndef VSIB_RECORDER_SUPERVISE_H
#define VSIB_RECORDER_SUPERVISE_H

#include <stdbool.h>

#include "recorder/options.h"
#include "recorder/session.h"

#define SUPERVISE_DEBOUNCE_NS INT64_C(200000000)

/**
 * supervise_signals() - block INT, TERM, HUP, QUIT, USR1 for this and all later threads. Return:
 * their signalfd or -errno
 */
int supervise_signals(void);

/**
 * supervise_is_cancelled() - has INT, TERM, HUP or QUIT come? Takes the signal. For the time
 * before supervise()
 */
bool supervise_is_cancelled(int signal_fd);

/**
 * supervise() - start an armed session and stay with it to its end
 * @signal_fd: from supervise_signals()
 * @refusal:   filled in when its threads could not be started
 *
 * Return: 1: over, all threads gone; 0: over, but threads are held by the kernel: leave by
 *         _exit(); -errno: not started.
 */
int supervise(struct session *session, int signal_fd, enum live_mode mode, int64_t log_interval_ns,
	      struct refusal *refusal);

#endif
