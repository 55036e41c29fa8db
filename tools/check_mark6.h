/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_mark6.h - what vsib-check looks at in the files of a Mark6 set
 *
 * Without a journal: are the headers true, the numbers complete and each there once, the blocks whole
 * packets, and does each file end behind its last block? Nothing tells what the packets' bytes should be.
 * With one, whose checksums cover the packets: are the headers between them right? They are what other
 * programs go by.
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_CHECK_MARK6_H
#define VSIB_TOOLS_CHECK_MARK6_H

#include <jansson.h>
#include <stdbool.h>

#include "tools/findings.h"
#include "tools/recording.h"

/** check_mark6_is_file() - does the file begin as those of a set? No, too, when it can't be read. */
bool check_mark6_is_file(const char *path);

/** check_mark6_set() - of a set without a journal */
void check_mark6_set(const struct recording *recording, struct findings *findings);

/**
 * check_mark6_end() - up to where a file of a recording with a journal has to be
 * @index:    of recording_file()
 * @promised: where its last segment ends
 *
 * A block may have several segments, of which a crash lost the last ones' lines; it stays whole all the
 * same. Return: @promised; in layout mark6 the end of the block that it is in.
 */
uint64_t check_mark6_end(const struct recording *recording, size_t index, uint64_t promised);

/**
 * check_mark6_headers() - of a recording with a journal and that layout; nothing to do with another one
 *
 * Files are looked at as far as the journal has segments of them.
 * Return: 0; -ENOMEM.
 */
int check_mark6_headers(const struct recording *recording, struct findings *findings);

/** check_mark6_report() - what the report says of a set without a journal; NULL: no memory */
json_t *check_mark6_report(const struct recording_mark6 *mark6);

#endif
