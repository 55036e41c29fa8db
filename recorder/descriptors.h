/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descriptors.h - are there file descriptors enough for a recording?
 *
 * Found out before anything is made: a recording that runs out of them in its middle loses a disk at the
 * next file. The soft limit is raised to the hard one by host_run() already.
 * Threads: set-up.
 */
#ifndef VSIB_RECORDER_DESCRIPTORS_H
#define VSIB_RECORDER_DESCRIPTORS_H

#include <stddef.h>

/**
 * descriptors_check() - do what is open now and what a recording to so many targets opens fit into the limit?
 * @error: a sentence with the numbers when they don't, @error_len bytes
 * Return: 0; -EMFILE.
 */
int descriptors_check(unsigned target_count, char *error, size_t error_len);

#endif
