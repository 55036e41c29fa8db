/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scratch.h - a test's own directory, which goes however the test ends: also by a failed assertion, or by INT, TERM or HUP
 *
 *   scratch_make() -> scratch_remove()
 */
#ifndef VSIB_TESTS_SCRATCH_H
#define VSIB_TESTS_SCRATCH_H

#include <stddef.h>

/**
 * scratch_make() - an empty directory
 * @path: gets its name, in @size bytes
 * @parent: where it is made; NULL: in the environment's TMPDIR, or in /tmp
 *
 * Thread: one at a time.
 * Return: 0 or -errno
 */
int scratch_make(char *path, size_t size, const char *parent);

/** scratch_remove() - the directory that was made as @path, and all in it. Return: 0 or -errno */
int scratch_remove(const char *path);

#endif
