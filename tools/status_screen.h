/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * status_screen.h - a recorder's status (schema vsib-status/1) as text for people
 *
 * Threads: pure.
 */
#ifndef VSIB_TOOLS_STATUS_SCREEN_H
#define VSIB_TOOLS_STATUS_SCREEN_H

#include <jansson.h>
#include <stdio.h>

/**
 * status_screen_print() - what is missing in @object is shown as "?"; control characters in it as
 * '?'
 */
void status_screen_print(FILE *out, const json_t *object);

#endif
