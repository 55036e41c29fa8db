/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keeper.h - one thread a disk: keeps the journal and the metadata there, looks at the free space
 *
 * What can block on a sick disk and is not the data's own business is done here.
 */
#ifndef VSIB_RECORDER_KEEPER_H
#define VSIB_RECORDER_KEEPER_H

#include <stdint.h>

#define KEEPER_NS INT64_C(2000000000)

/**
 * keeper_main() - thread main; @arg: struct disk. Ends when the journal's last line is written and
 * synced.
 */
void *keeper_main(void *arg);

#endif
