/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_all.h - bytes to a descriptor, all of them
 */
#ifndef VSIB_RECORDER_WRITE_ALL_H
#define VSIB_RECORDER_WRITE_ALL_H

#include <stddef.h>

/**
 * write_all() - goes on after short writes and signals; the descriptor is a blocking one
 * Return: 0; -errno: some of it may have been written.
 */
int write_all(int fd, const void *data, size_t len);

#endif
