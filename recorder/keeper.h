/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keeper.h - one thread a disk: makes written data durable, keeps the journal there, looks at the
 * free space
 *
 * With one target the keeper syncs the open file every KEEPER_NS while the writer goes on
 * writing; what was written before the sync is durable after it and goes into the journal. With
 * several targets the writer syncs each run itself. Everything that can block on a sick disk and
 * need not be done by its writer is done here.
 */
#ifndef VSIB_RECORDER_KEEPER_H
#define VSIB_RECORDER_KEEPER_H

#include <stdint.h>

#define KEEPER_NS INT64_C(2000000000)

/**
 * keeper_main() - thread main; @arg: struct disk. Ends after the writer has, when all is durable
 * and in the journal.
 */
void *keeper_main(void *arg);

#endif
