/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stop_signal.h - INT, TERM and HUP ask a program that only reads to end soon
 *
 * The first one is a request; another, at least SUPERVISE_DEBOUNCE_NS later, ends the process as
 * if nobody had asked: one signal can come twice, to a process and to its group, as timeout(1) sends it.
 * Threads: any; the handler runs in whichever thread the kernel takes.
 */
#ifndef VSIB_TOOLS_STOP_SIGNAL_H
#define VSIB_TOOLS_STOP_SIGNAL_H

#include <stdatomic.h>

/** stop_signal_catch() - from now on */
void stop_signal_catch(void);

/** stop_signal() - Return: where the number of the first that comes will stand; 0 = none has come. */
const atomic_int *stop_signal(void);

#endif
