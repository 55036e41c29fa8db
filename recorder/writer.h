/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * writer.h - one thread a disk: takes runs of blocks from the ring and writes them
 *
 * It looks at the rescue queue first, then at its own, unless that is long. Writes are several at a
 * time; what they come to is looked at in their order. With several targets a run's blocks stay in the
 * ring until the run is durable (plan.is_held), so a disk that fails or gets stuck loses nothing: its
 * runs go whole to the others, and the writer stays as a forwarder for what still comes to its queue. With
 * one target a block goes back as soon as its write is complete, and the file is synced every few
 * seconds. A run is durable when the sync that was asked for behind its last write has come back good: a
 * promise; segments are told to the journal when it is kept.
 */
#ifndef VSIB_RECORDER_WRITER_H
#define VSIB_RECORDER_WRITER_H

/** writer_main() - thread main; @arg: struct disk */
void *writer_main(void *arg);

#endif
