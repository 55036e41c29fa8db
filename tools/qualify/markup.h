/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * markup.h - text from outside (paths, models, sentences) inside of HTML and SVG, and on a screen
 *
 * Nothing in it becomes markup, and nothing breaks a page that is read as XML: what is not UTF-8, and characters
 * that control a terminal, a parser or the direction of writing, are shown as '?'.
 * Threads: pure.
 */
#ifndef VSIB_TOOLS_QUALIFY_MARKUP_H
#define VSIB_TOOLS_QUALIFY_MARKUP_H

#include <stdio.h>

/** markup_text() - into an element or an attribute in quotes */
void markup_text(FILE *out, const char *text);

/** markup_format() - the same of a formatted text, up to 4095 bytes */
void markup_format(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** markup_plain() - for a terminal: the same characters are '?', but nothing is escaped */
void markup_plain(FILE *out, const char *text);

#endif
