/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qualify_html.h - a qualification as one page, for output_file_write()
 *
 * Everything is in it: no script, no network. It is XML as well as HTML. The verdict comes first, then the reasons,
 * then the figures. Threads: one caller.
 */
#ifndef VSIB_TOOLS_QUALIFY_QUALIFY_HTML_H
#define VSIB_TOOLS_QUALIFY_QUALIFY_HTML_H

#include "tools/qualify/figures.h"

/**
 * qualify_html() - the page
 * @text: free() it
 *
 * Return: 0; -ENOMEM.
 */
int qualify_html(char **text, const struct figures *figures);

#endif
