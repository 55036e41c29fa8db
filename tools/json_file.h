/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_file.h - a JSON report, written whole or not at all
 */
#ifndef VSIB_TOOLS_JSON_FILE_H
#define VSIB_TOOLS_JSON_FILE_H

#include <jansson.h>

/** json_file_write() - an object, as output_file_write() does it. Return: 0; -errno. */
int json_file_write(const json_t *object, const char *path);

/** json_file_exit_status() - of a program whose report can't be written; @ret: of json_file_write(), < 0 */
int json_file_exit_status(int ret);

/**
 * json_file_text() - a string for a report: JSON wants UTF-8, and paths are bytes; what is not UTF-8
 * is shown with '?'
 *
 * Return: NULL: no memory, or @text is NULL.
 */
json_t *json_file_text(const char *text);

#endif
