/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings whose journals say anything (tools/recording.h, tools/journals.h): up to two journals, also in their short
 * form (journal_text.h), with a byte of 0x1e between them, and beside each the files that recordings called scan have.
 */
#include "tests/fuzz/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/journal_text.h"
#include "tools/journals.h"
#include "tools/recording.h"

#define BETWEEN 0x1e
#define TARGETS 2
#define PATH_LEN 128
#define PIECES_MAX 100000
#define FILE_BYTES_MAX 8192

static void make_target(unsigned target, const char *text, struct input *lengths)
{
	static const unsigned char samples[FILE_BYTES_MAX] = { 0x66, 0x66, 0xed, 0xfe };
	char path[PATH_LEN], *journal;
	size_t len;

	snprintf(path, sizeof(path), "d%u", target);
	input_make_folder(path);
	snprintf(path, sizeof(path), "d%u/scan", target);
	input_make_folder(path);
	for (unsigned i = 0; i < JOURNAL_TEXT_FILES; i++) {
		uint32_t bytes = input_take_below(lengths, FILE_BYTES_MAX + 1);

		snprintf(path, sizeof(path), "d%u/%s%s", target, journal_text_file(i),
			 bytes % 8 == 1 ? ".part" : "");
		if (bytes % 8)
			input_write(path, samples, bytes);
	}
	journal = journal_text_expand(text, &len);
	snprintf(path, sizeof(path), "d%u/%sscan.vsib.jsonl", target,
		 strstr(journal, "\"vbs\"") ? "scan/" : "");
	input_write(path, journal, len);
	free(journal);
}

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
	struct input lengths = input_begin(data + (input.len > 24 ? input.len - 24 : 0),
					   input.len > 24 ? 24 : input.len);
	char paths[TARGETS][PATH_LEN];
	const char *const targets[TARGETS] = { paths[0], paths[1] };
	const struct recording_query query = { .name = "scan",
					       .targets = targets,
					       .target_count = TARGETS };
	struct recording *recording = NULL;
	const char *folder = input_folder();
	int ret;

	for (unsigned i = 0; i < TARGETS; i++) {
		char *journal = input_take_text(&input, BETWEEN);

		snprintf(paths[i], sizeof(paths[i]), "%.100s/d%u", folder, i);
		make_target(i, journal, &lengths);
		free(journal);
	}
	ret = recording_open(&recording, &query);
	if (ret == 0)
		check_recording(recording, place);
	else
		input_expect(recording_error(recording)[0] != '\0');
	recording_free(recording);
	return 0;
}
