/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recover_journal.h - each target of a recording gets the same journal, whole
 *
 * What the recorder itself has told stays as it is, byte for byte; an end is added when there is
 * none. A journal is written under another name, synced, and renamed over the old one; a damaged one
 * is kept beside it.
 *
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_RECOVER_JOURNAL_H
#define VSIB_TOOLS_RECOVER_JOURNAL_H

#include "tools/recover.h"

#define RECOVER_JOURNAL_SUFFIX ".recovery" /* of the name under which it is written */
#define RECOVER_DAMAGED_SUFFIX ".damaged"  /* under which the damaged one is kept; then .1, .2 */

struct recover_journal_config {
	bool is_dry;
	const bool *known; /* see recover_tail() */
	void (*say)(void *context, const struct recover_step *step);
	void *context;
};

/**
 * recover_journals() - in every place that has a journal of the recording, or is one of its targets
 *
 * What can't be written is said as RECOVER_FAILED, and the next place is tried.
 * Return: 0; -ENOMEM; -errno from the journal that is believed.
 */
int recover_journals(const struct recording *recording, const struct recover_journal_config *config);

#endif
