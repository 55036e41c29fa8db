/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/piece.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool piece_has_own_sum(const struct recording_piece *piece)
{
	return piece->has_xxh3 && piece->sum_offset == piece->file_offset &&
	       piece->sum_bytes == piece->bytes;
}

int piece_replace(struct recording *recording, struct recording_piece *piece, bool *is_rebuilt)
{
	int ret = piece->has_copy ? recording_other_copy(recording, piece) : -ENOENT;

	*is_rebuilt = false;
	if (ret == 0 || !(piece->has_copy || piece->is_lost))
		return ret;
	*is_rebuilt = true;
	return recording_rebuild(recording, piece);
}

const char *piece_say_bad_sum(char *words, const struct recording_piece *piece)
{
	snprintf(words, PIECE_WORDS_LEN,
		 "bad checksum: %s/%s from file offset %" PRIu64 ", %" PRIu64
		 " bytes, stream offset %" PRIu64,
		 piece->target, piece->file, piece->sum_offset, piece->sum_bytes,
		 piece->stream_offset - (piece->file_offset - piece->sum_offset));
	return words;
}

const char *piece_say_unreadable(char *words, const struct recording_piece *piece, int error)
{
	snprintf(words, PIECE_WORDS_LEN,
		 "can't read %s/%s from file offset %" PRIu64 " (stream offset %" PRIu64
		 ", %" PRIu64 " bytes): %s",
		 piece->target, piece->file, piece->file_offset, piece->stream_offset, piece->bytes,
		 error == -ENODATA ? "the file has become shorter" : strerror(-error));
	return words;
}

const char *piece_say_copy(char *words, const struct recording_piece *piece)
{
	snprintf(words, PIECE_WORDS_LEN, "%s/%s is used instead", piece->target, piece->file);
	return words;
}

const char *piece_say_rebuilt(char *words, const struct recording_piece *piece)
{
	snprintf(words, PIECE_WORDS_LEN, "%s/%s: what is wrong with it is rebuilt from the parity",
		 piece->target, piece->file);
	return words;
}

const char *piece_say_not_made(char *words, const struct recording *recording,
			       const struct recording_piece *piece)
{
	snprintf(words, PIECE_WORDS_LEN,
		 "can't rebuild %s/%s from file offset %" PRIu64 " (stream offset %" PRIu64
		 ", %" PRIu64 " bytes): %s",
		 piece->target, piece->file, piece->file_offset, piece->stream_offset, piece->bytes,
		 recording_error(recording));
	return words;
}
