/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output_file.h - a report in any language, written whole or not at all
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_OUTPUT_FILE_H
#define VSIB_TOOLS_OUTPUT_FILE_H

#include <stdint.h>

#define OUTPUT_FILE_PATIENCE_NS INT64_C(10000000000) /* with a pipe that nobody reads */

/**
 * output_file_write() - a text and a newline
 * @path: "-" for stdout; a file is written beside, synced and renamed over an older report; anything else that exists
 *        (a pipe, /dev/stderr) is written to
 *
 * Return: 0; -ETIMEDOUT: it is a pipe, and nobody has read from it for OUTPUT_FILE_PATIENCE_NS; -errno.
 */
int output_file_write(const char *text, const char *path);

/** output_file_write_within() - the same with another patience */
int output_file_write_within(const char *text, const char *path, int64_t patience_ns);

/** output_file_error() - what output_file_write() returned, for people */
const char *output_file_error(int error);

/**
 * output_file_check() - could one be written to this place? To be asked before hours of work
 *
 * Nothing is left there. Return: 0; -errno.
 */
int output_file_check(const char *path);

#endif
