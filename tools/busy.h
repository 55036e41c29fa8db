/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * busy.h - is a recording still being written?
 *
 * The kernel knows who has a file open for writing: it grants a read lease only while nobody on this
 * machine has. So the journals and data files themselves are asked, not a number in a journal that
 * another process may have by now. Where the file system has no leases (network, some FUSE), the
 * recorder of the start line, the status sockets and the age of the journal are asked instead, and
 * in doubt it is busy.
 *
 * Threads: one caller at a time. The program must ignore SIGIO: whoever opens a file for writing at
 * the very moment it is asked about makes the kernel send one.
 */
#ifndef VSIB_TOOLS_BUSY_H
#define VSIB_TOOLS_BUSY_H

#include <stddef.h>

#include "tools/recording.h"

/**
 * busy_file() - does somebody on this machine have this file open for writing?
 * @fd: a regular file, opened for reading only
 * Return: 1 yes; 0 no; -errno: can't be told here.
 */
int busy_file(int fd);

/**
 * busy_recording() - is any of its files still being written?
 * @why: @len bytes, a sentence without its end when it is
 *
 * A recorder that has just died on this machine is given some seconds to let go of its files.
 * Return: 1 yes, or it can't be ruled out; 0 no.
 */
int busy_recording(const struct recording *recording, char *why, size_t len);

#endif
