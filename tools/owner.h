/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner.h - which recording does a data file belong to?
 *
 * TARGET/NAME.xxx belongs to TARGET/NAME, and so does TARGET/NAME/NAME.xxx, if a journal of that name
 * there knows it.
 *
 * Threads: any.
 */
#ifndef VSIB_TOOLS_OWNER_H
#define VSIB_TOOLS_OWNER_H

#include <sys/stat.h>

/**
 * owner_find() - @st: of the file
 * Return: TARGET/NAME, free() it; NULL: to none, or no memory.
 */
char *owner_find(const char *path, const struct stat *st);

#endif
