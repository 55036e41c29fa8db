/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/line.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void line_begin(struct line *line, bool is_shown)
{
	line->len = 0;
	if (is_shown)
		line_add(line, "\r\033[K");
}

void line_add(struct line *line, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line->text + line->len, sizeof(line->text) - line->len, format, ap);
	va_end(ap);
	if (n > 0)
		line->len = line->len + (size_t)n < sizeof(line->text) ? line->len + (size_t)n :
									 sizeof(line->text) - 1;
}

bool line_put(const struct line *line)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) &&
	       write(STDERR_FILENO, line->text, line->len) == (ssize_t)line->len;
}
