/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * existing.h - is there a recording of this name on a target already?
 *
 * A recording's files on a target: <name>/ (vbs), <name>.vsib.jsonl, <name>.raw, <name>.NNNNNN
 * and what else the template makes, each also with ".part" or "@OFFSET" behind it, and with ".sigmf-meta" behind
 * that (or in place of ".sigmf-data"); <name>/<name>.cfg. Templates of
 * several recordings may make the same names: what is removed has the recording's name, or is
 * listed as a file of this target in the recording's own journal there.
 *
 *   existing_find(); or to replace it: existing_check() on every target -> existing_remove() on
 *   every target
 *
 * Threads: set-up thread.
 */
#ifndef VSIB_RECORDER_EXISTING_H
#define VSIB_RECORDER_EXISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/target.h"

/**
 * existing_find() - the first file or directory of recording @name on @target
 * @name_template: of its files, relative to the target
 * @found: the entry's name, @len bytes
 * Return: 1 found; 0 nothing there; -errno.
 */
int existing_find(const struct target *target, const char *name, const char *name_template,
		  char *found, size_t len);

/**
 * existing_check() - may recording @name be replaced?
 *
 * Arguments as above. In the way is a file that the template makes and that isn't this
 * recording's, a foreign one in its directory, or something else of its directory's name. Return:
 * 0; 1 with the one in the way in @found; -errno.
 */
int existing_check(const struct target *target, const char *name, const char *name_template,
		   char *found, size_t len);

/**
 * existing_copies() - how often the recording was written, by its journal on this target
 * Return: 1 or more; 0 no journal of that name is there, or it can't be read.
 */
unsigned existing_copies(const struct target *target, const char *name);

/**
 * existing_has_journal() - a journal of this name makes it a recording of its own, and not the second copies of
 *                          another
 */
bool existing_has_journal(const struct target *target, const char *name);

/**
 * existing_remove() - remove all of it; only files that belong to the recording, and the
 * directory when it is empty then Return: 0; -ENOTEMPTY when foreign files are in its directory;
 * -errno.
 */
int existing_remove(const struct target *target, const char *name);

#endif
