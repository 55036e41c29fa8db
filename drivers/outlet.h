/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outlet.h - writing to what may be full: a pipe, a FIFO, a terminal, a socket, a device
 *
 *   outlet_share() or outlet_own() -> outlet_write() ... -> outlet_close()
 *
 * Shape:   A descriptor that is ours alone doesn't block: it is written to, and polled when it is full. One that others
 *          share, the standard output, must keep its flags: where O_NONBLOCK were set the shell and who else has it would
 *          find it so. A pipe and a terminal are therefore opened once more, through /proc, which gives a description of
 *          our own; a socket is asked not to wait for each piece. Of what is left, a device or a pipe where /proc
 *          is missing, room is waited for first, and then so little written that a pipe takes it without waiting.
 *          A device without poll() is written to as it is: only a signal gets us out of such a write().
 * Threads: one at a time. SIGPIPE must be ignored, or blocked, by the program.
 * Errors:  -errno, and the sentence in destination->error.
 */
#ifndef VSIB_DRIVERS_OUTLET_H
#define VSIB_DRIVERS_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct destination;

struct outlet {
	int fd;              /* -1 = none */
	bool is_ours;        /* to be closed by outlet_close() */
	bool is_socket;      /* each piece says itself that it must not wait */
	bool is_blocking;    /* a write() may wait for as long as it likes ... */
	bool is_asked_first; /* ... unless there is room, and no more than PIPE_BUF is written */
};

/** outlet_share() - of a descriptor that others have, too, and that stays open */
void outlet_share(struct outlet *outlet, int fd);

/** outlet_own() - of one that was opened with O_NONBLOCK, which is taken back if the device can't be polled. Return: 0; -errno. */
int outlet_own(struct outlet *outlet, int fd);

/**
 * outlet_write() - what it takes of @bytes without waiting; if that is nothing, waits for room
 *
 * A device may say that it is full with EAGAIN, or by taking 0 bytes.
 * Return: bytes; 0: none until the deadline, or interrupted; -EPIPE: nobody reads any more; another -errno.
 */
ssize_t outlet_write(struct destination *destination, const struct outlet *outlet, const void *data,
		     size_t bytes, int64_t deadline_ns);

/** outlet_close() - only what is ours */
void outlet_close(struct outlet *outlet);

#endif
