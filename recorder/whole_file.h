/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whole_file.h - a small file that is there whole or not at all, and safely on the disk
 *
 * Threads: pure functions over the file system; they may block on it.
 */
#ifndef VSIB_RECORDER_WHOLE_FILE_H
#define VSIB_RECORDER_WHOLE_FILE_H

#include <stddef.h>

/**
 * whole_file_write() - written as PATH.part, synced, renamed, its directory synced
 * @dir_fd: @path is relative to it
 *
 * Return: 0; -EEXIST: there is a file of that name, or its .part; -errno. On an error nothing is left behind.
 */
int whole_file_write(int dir_fd, const char *path, const char *text, size_t len);

#endif
