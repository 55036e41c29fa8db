/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * line.h - words for stderr that never hold up whoever says them
 *
 *   line_begin() -> line_add() ... -> line_put()
 *
 * A line is put together first and written at once, so that it can be left out when it would block: a
 * terminal stopped by ^S, or a pipe that nobody reads. Threads: one a line.
 */
#ifndef VSIB_RECORDER_LINE_H
#define VSIB_RECORDER_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct line {
	size_t len;
	char text[4096]; /* PIPE_BUF: a pipe that can take anything takes this */
};

/** line_begin() - an empty one; @is_shown: a live line stands on the terminal and is to go */
void line_begin(struct line *line, bool is_shown);

/** line_add() - what doesn't fit any more is cut */
void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** line_put() - to stderr. Return: false when it can't take it now. */
bool line_put(const struct line *line);

#endif
