/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qualify_signals.h - INT, TERM, HUP, QUIT end a qualification, USR1 asks how it is
 *
 * The first that ends cancels the running phase; the second, at least SUPERVISE_DEBOUNCE_NS later, ends the process,
 * whatever holds its main thread. Threads: one of its own, from qualify_signals_start() to the end of the process.
 */
#ifndef VSIB_TOOLS_QUALIFY_QUALIFY_SIGNALS_H
#define VSIB_TOOLS_QUALIFY_QUALIFY_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>

struct qualify_signals {
	_Atomic bool *is_cancelled; /* ours to set: trial_control's */
	_Atomic bool is_asked;      /* USR1 has come; whoever answers clears it */
	int exit_status;            /* of the second signal */
	int fd;                     /* of the thread */
};

/**
 * qualify_signals_start() - from now on they are taken, by a thread
 * @signals: is_cancelled and exit_status are set; lives until the process ends
 * Return: 0; -errno.
 */
int qualify_signals_start(struct qualify_signals *signals);

#endif
