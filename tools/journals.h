/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journals.h - the journals of one recording beside each other
 *
 * A recorder writes the same lines to every target, so each journal is the beginning of the longest
 * one. After a crash one may lack the last lines, or end in half a line; a recovery that knew only
 * some of them may have put its own end behind. Anything else means that one of them is damaged, or
 * that they contradict each other.
 *
 * Threads: one caller at a time for each recording.
 */
#ifndef VSIB_TOOLS_JOURNALS_H
#define VSIB_TOOLS_JOURNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/recording.h"

enum journals_state {
	JOURNALS_SAME,
	JOURNALS_SHORTER,     /* lacks lines that others have */
	JOURNALS_DAMAGED,     /* goes on with something that is no journal line */
	JOURNALS_CONTRADICTS, /* goes on with another line than the one that is believed */
	JOURNALS_UNREADABLE,
};

struct journals_found {
	enum journals_state state;
	int error;             /* of JOURNALS_UNREADABLE: -errno */
	uint64_t bytes;        /* of the file */
	uint64_t common_bytes; /* whole lines that it shares with the believed one */
	bool is_torn;          /* half a line at its end */
	bool is_recovered; /* it ends with what a recovery has put there, which is not in the other */
	bool is_believed; /* it is the one */
};

/**
 * journals_compare() - one journal with the one that is believed
 * @index: of recording_journal()
 *
 * Return: 0; -ENOMEM.
 */
int journals_compare(const struct recording *recording, size_t index, struct journals_found *found);

/** journals_state_name() - "same", "shorter" ...: the word for reports */
const char *journals_state_name(enum journals_state state);

/** journals_believed() - index of the one that is believed; SIZE_MAX: none */
size_t journals_believed(const struct recording *recording);

#endif
