/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output_file.h - a report in any language, written whole or not at all
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_OUTPUT_FILE_H
#define VSIB_TOOLS_OUTPUT_FILE_H

/**
 * output_file_write() - a text and a newline
 * @path: "-" for stdout; a file is written beside, synced and renamed over an older report; anything else that exists
 *        (a pipe, /dev/stderr) is written to
 *
 * Return: 0; -errno.
 */
int output_file_write(const char *text, const char *path);

/**
 * output_file_check() - could one be written to this place? To be asked before hours of work
 *
 * Nothing is left there. Return: 0; -errno.
 */
int output_file_check(const char *path);

#endif
