/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qualify_text.h - a qualification in words: one screen for one disk, the worst first
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_QUALIFY_QUALIFY_TEXT_H
#define VSIB_TOOLS_QUALIFY_QUALIFY_TEXT_H

#include <stdio.h>

#include "tools/qualify/figures.h"

/** qualify_text() - lines of up to 96 characters; no character of a name controls the terminal */
void qualify_text(FILE *out, const struct figures *figures);

#endif
