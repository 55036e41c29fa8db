/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * writer.h - one thread a disk: takes runs of blocks from the ring and writes them
 *
 * It looks at the rescue queue first, then at its own, unless that is long. With several targets
 * a run's blocks stay in the ring until the run is durable (plan.is_held), so a disk that fails
 * loses nothing: the run goes whole to another. With one target a block goes back as soon as its
 * write is complete, and the keeper makes it durable every few seconds. After a failure the
 * thread stays as a forwarder: what still comes to its queue goes on to the others.
 */
#ifndef VSIB_RECORDER_WRITER_H
#define VSIB_RECORDER_WRITER_H

/** writer_main() - thread main; @arg: struct disk */
void *writer_main(void *arg);

#endif
