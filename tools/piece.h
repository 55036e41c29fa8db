/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * piece.h - a piece of a recording that is wrong or can't be read: where else its bytes are, and the words for the user
 *
 * Threads: the recording's.
 */
#ifndef VSIB_TOOLS_PIECE_H
#define VSIB_TOOLS_PIECE_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/recording.h"

#define PIECE_WORDS_LEN 1280 /* a sentence; longer names are cut */

/** piece_has_own_sum() - its checksum is that of its bytes, no more and no less */
bool piece_has_own_sum(const struct recording_piece *piece);

/**
 * piece_replace() - another copy of it, or, when there is no more, its bytes made from the parity
 * @piece: data; replaced only on success
 * @is_rebuilt: which of the two it is, or what was tried last
 *
 * Return: 0; -ENOENT neither; -ENOMEM; else it can't be rebuilt, and piece_say_not_made() says why.
 */
int piece_replace(struct recording *recording, struct recording_piece *piece, bool *is_rebuilt);

/** piece_say_...() - Return: @words, PIECE_WORDS_LEN of them */
const char *piece_say_bad_sum(char *words, const struct recording_piece *piece);
/** @error: -errno, -ENODATA the file became shorter */
const char *piece_say_unreadable(char *words, const struct recording_piece *piece, int error);
const char *piece_say_copy(char *words, const struct recording_piece *piece);
const char *piece_say_rebuilt(char *words, const struct recording_piece *piece);
const char *piece_say_not_made(char *words, const struct recording *recording,
			       const struct recording_piece *piece);

#endif
