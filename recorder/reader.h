/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.h - one thread: the source's bytes into the ring
 *
 * Starts the source and fills blocks straight from it, or takes blocks that it has filled. It cuts the stream: which block belongs to
 * which run, file and disk (lanes.h), and what is lost: by the source (marks), by a full ring
 * (overflow). A source that can't wait is kept drained. Ends the stream at a limit, a stop, the
 * source's end or error, and then ends every run.
 */
#ifndef VSIB_RECORDER_READER_H
#define VSIB_RECORDER_READER_H

/** reader_main() - thread main; @arg: struct session */
void *reader_main(void *arg);

#endif
