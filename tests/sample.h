/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample.h - the sample files of real instruments, for tests
 */
#ifndef VSIB_TESTS_SAMPLE_H
#define VSIB_TESTS_SAMPLE_H

#include <stddef.h>

/**
 * sample_read() - all of a file; where it is not there the test is skipped, with a line that says so
 * @name: below the folder in the environment's DATA
 *
 * Return: its bytes, free() them.
 */
unsigned char *sample_read(const char *name, size_t *len) __attribute__((returns_nonnull));

#endif
