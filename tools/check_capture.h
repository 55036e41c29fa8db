/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_capture.h - a plain file that is a capture: its packets, and what its datagrams carry as a stream
 *
 *   check_capture_open() -> check_capture_read(), check_capture_note() ... -> check_capture_judge(),
 *   check_capture_report() -> source_close()
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_CHECK_CAPTURE_H
#define VSIB_TOOLS_CHECK_CAPTURE_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "drivers/source.h"
#include "tools/findings.h"

/**
 * check_capture_open() - is it a capture?
 * @source: started; NULL: it is none. Also set when it can't be read, so that its error can be shown.
 * @fd:     of the file, to look at
 * @utc_ns: of the first datagram; 0 = not known
 * @stop:   becomes true when it is not to be looked for any more
 *
 * Return: 0; -EBADMSG: it begins like a capture, and can't be read; -ENOMEM (@source may be NULL); -errno.
 */
int check_capture_open(struct source **source, const char *path, int fd, int64_t *utc_ns,
		       const atomic_int *stop);

/**
 * check_capture_read() - source_read() without a deadline, however many packets are left out before the next datagram
 * Return: as source_read(), but for SOURCE_NOT_YET; -EINTR: stopped.
 */
ssize_t check_capture_read(struct source *source, void *buf, size_t len, struct source_mark *mark,
			   const atomic_int *stop);

/** check_capture_note() - says what the source had to say after a read */
void check_capture_note(struct source *source, struct findings *findings);

/** check_capture_judge() - says what became of the packets; all of it must have been read. Return: is there a datagram? */
bool check_capture_judge(const struct source *source, struct findings *findings);

/** check_capture_report() - for json_decref(); NULL: no memory */
json_t *check_capture_report(const struct source *source);

#endif
