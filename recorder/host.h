/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host.h - the small parent process that the user starts, with the recorder as its child
 *
 *   main(): return host_run(work, context)      work(): ... host_report(status) ... return status
 *
 * A process can't end while a write of its own is stuck in the kernel. So the recorder runs in a
 * child; when its report stands it says its exit status by host_report(), and the parent returns
 * it, even if the child is still held: then it says so. Signals: INT, TERM, HUP, QUIT, USR1 that
 * reach the parent are passed on. The child is in a process group of its own, so that a key on
 * the terminal or a kill of the group reaches it once; if the parent is killed, the child ends
 * its recording in order. After a second INT or TERM the child has 2.5 s to report; then it is
 * killed.
 */
#ifndef VSIB_RECORDER_HOST_H
#define VSIB_RECORDER_HOST_H

#include <signal.h>
#include <stdbool.h>

/* What the child is called, and what to say and return when it was killed. */
struct host_child {
	const char *name;    /* "recorder" */
	const char *remains; /* "what its journal calls durable is on the disks" */
	int killed_status;
};

/**
 * host_run() - run @work in a child
 * @work: its return value is the exit status
 *
 * Return: the exit status: the child's, or what it said by host_report(); killed_status when it died of a signal.
 */
int host_run(int (*work)(void *context), void *context, const struct host_child *about);

/**
 * host_report() - in the child: the report stands, this is the exit status; the parent need not
 * wait for me any longer
 * @is_held: threads of mine are held by the kernel, so don't wait at all
 */
void host_report(int exit_status, bool is_held);

/**
 * host_signals() - the signals that are taken by signalfd, in parent and child: INT, TERM, QUIT,
 * USR1, and HUP unless ignored
 */
void host_signals(sigset_t *set);

/**
 * host_pid() - the process the user started: our parent in the child of host_run(), else ourselves
 */
int host_pid(void);

#endif
