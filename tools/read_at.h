/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_at.h - all of a stretch of a file
 */
#ifndef VSIB_TOOLS_READ_AT_H
#define VSIB_TOOLS_READ_AT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** read_at() - Return: bytes read, less than @len only at the end of the file; -errno. */
ssize_t read_at(int fd, void *buf, size_t len, uint64_t offset);

#endif
