/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * end_signals.h - INT, TERM, HUP, QUIT end what a program does, USR1 asks how it is
 *
 * The first that ends asks for an end in order; the second, at least SUPERVISE_DEBOUNCE_NS later, for one at once,
 * whatever holds the main thread. Threads: one of its own, from end_signals_start() to the end of the process.
 */
#ifndef VSIB_TOOLS_END_SIGNALS_H
#define VSIB_TOOLS_END_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>

struct end_signals {
	void (*end)(void *context);   /* the first signal; from the thread */
	void (*abort)(void *context); /* the second, once; from the thread, and need not return */
	void *context;
	_Atomic bool is_asked; /* USR1 has come; whoever answers clears it */
	int fd;                /* of the thread */
};

/**
 * end_signals_start() - from now on they are taken, by a thread
 * @signals: end, abort and context are set; lives until the process ends
 *
 * To be called before any other thread is started: these leave the signals alone.
 * Return: 0; -errno.
 */
int end_signals_start(struct end_signals *signals);

/** end_signals_say() - a line to stderr that holds up nobody; a live line on the terminal goes away for it */
void end_signals_say(const char *program, const char *text);

#endif
