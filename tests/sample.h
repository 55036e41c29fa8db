/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample.h - the sample files of real instruments, for tests
 */
#ifndef VSIB_TESTS_SAMPLE_H
#define VSIB_TESTS_SAMPLE_H

#include <stddef.h>

/**
 * sample_read() - all of a file
 * @name: below the folder in the environment's DATA
 *
 * Return: its bytes, free() them; NULL: it is not there, and a line says so.
 */
unsigned char *sample_read(const char *name, size_t *len);

#endif
