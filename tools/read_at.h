/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_at.h - all of a stretch of a file, or of two beside each other
 */
#ifndef VSIB_TOOLS_READ_AT_H
#define VSIB_TOOLS_READ_AT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** read_at() - Return: bytes read, less than @len only at the end of the file; -errno. */
ssize_t read_at(int fd, void *buf, size_t len, uint64_t offset);

/** read_whole_at() - Return: 0: all of it; -ENODATA: the file ends before; -errno. */
int read_whole_at(int fd, void *buf, size_t len, uint64_t offset);

/**
 * compare_at() - do two files have the same bytes, each from its place on?
 * @offset: where they differ, from these places; NULL is fine
 *
 * Return: 1 they have; 0 they differ; -ENODATA one of them ends before; -ENOMEM; -errno.
 */
int compare_at(const int fds[2], const uint64_t at[2], uint64_t bytes, uint64_t *offset);

#endif
