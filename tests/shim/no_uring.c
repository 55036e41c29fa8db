/* SPDX-License-Identifier: BSD-2-Clause */
/* no_uring.c - to be preloaded: io_uring is refused, as seccomp or kernel.io_uring_disabled do it */
#include <errno.h>
#include <liburing.h>

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	(void)entries;
	(void)ring;
	(void)flags;
	return -EPERM;
}
