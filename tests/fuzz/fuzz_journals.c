/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings whose journals say anything (tools/recording.h, tools/journals.h).
 */
#include "tests/fuzz/input.h"

#include <errno.h>
#include <string.h>

#include "tests/fuzz/targets.h"
#include "tools/journals.h"
#include "tools/recording.h"

#define PIECES_MAX 100000

/* Each byte of the stream is in exactly one piece. */
static uint64_t read_pieces(struct recording *recording, uint64_t position)
{
	const struct recording_info *info = recording_info(recording);
	struct recording_piece piece;

	for (int i = 0; i < PIECES_MAX && recording_next(recording, &piece); i++) {
		input_expect(piece.stream_offset == position);
		input_expect(piece.bytes > 0 ||
			     (piece.kind == RECORDING_GAP && !piece.is_length_known));
		position += piece.bytes;
		if (piece.kind == RECORDING_GAP)
			continue;
		if (piece.fd >= 0 && i < 16)
			recording_verify(&piece);
		if (piece.has_copy && i < 16)
			recording_other_copy(recording, &piece);
		if (piece.is_lost && i < 16)
			recording_rebuild(recording, &piece);
	}
	input_expect(position <= info->stream_bytes);
	return position;
}

static void check_recording(struct recording *recording, uint64_t place)
{
	const struct recording_info *info = recording_info(recording);
	struct journals_found found;
	size_t count;

	input_expect(info->data_bytes + info->gap_bytes == info->stream_bytes);
	input_expect(read_pieces(recording, 0) == info->stream_bytes);
	if (place < info->stream_bytes) {
		recording_seek(recording, place);
		read_pieces(recording, place);
	}
	for (size_t i = 0; i < info->journal_count; i++) {
		input_expect(journals_compare(recording, i, &found) == 0);
		input_expect(strlen(journals_state_name(found.state)) > 0);
		input_expect(found.common_bytes <= found.bytes);
	}
	recording_missing(recording, &count);
	recording_unused(recording, &count);
	recording_notes(recording, &count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	uint64_t place = input_take_number(&input, 2);
	struct targets targets;
	const struct recording_query query = { .name = "scan",
					       .targets = targets.list,
					       .target_count = TARGETS };
	struct recording *recording = NULL;
	int ret;

	targets_make(&targets, &input);
	ret = recording_open(&recording, &query);
	if (ret == 0)
		check_recording(recording, place);
	else
		input_expect(recording_error(recording)[0] != '\0');
	recording_free(recording);
	return 0;
}
