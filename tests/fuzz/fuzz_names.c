/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings without a journal (tools/recording_names.c, recording_mark6.c, recording_round.c): a directory with any
 * names in it, one a line; the first line is the recording's name, or a template for recording_open_round().
 */
#include "tests/fuzz/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/recording.h"

#define FILES_MAX 24
#define FILE_BYTES_MAX 300
#define PATH_LEN 4096

/* "a/b" is a file in a folder; each has the same bytes as others of its length. */
static void make_files(struct input *input)
{
	static const unsigned char bytes[FILE_BYTES_MAX] = { 0x66, 0x66, 0xed, 0xfe, 2, 0,
							     0,    0,    100,  0,    0, 0,
							     2,    0,    0,    0,    9 };

	for (int i = 0; i < FILES_MAX && input->len > 0; i++) {
		size_t len = input_take_below(input, 4) * 100;
		char *name = input_take_text(input, '\n'), *slash = strchr(name, '/');

		if (slash && slash != name) {
			*slash = '\0';
			if (strcmp(name, "..") != 0)
				input_make_folder(name);
			*slash = '/';
		}
		if (!strstr(name, "../"))
			input_write(name, bytes + (len < 200 ? 20 : 0), len);
		free(name);
	}
}

static void read_pieces(struct recording *recording)
{
	const struct recording_info *info = recording_info(recording);
	struct recording_piece piece;
	uint64_t position = 0;

	for (int i = 0; i < 10 * FILES_MAX && recording_next(recording, &piece); i++) {
		input_expect(piece.stream_offset == position);
		position += piece.bytes;
	}
	input_expect(position <= info->stream_bytes);
	recording_seek(recording, position / 2);
	if (position > 1 && recording_next(recording, &piece))
		input_expect(piece.stream_offset == position / 2);
}

static void end(struct recording *recording, int ret)
{
	if (ret == 0)
		read_pieces(recording);
	else
		input_expect(recording_error(recording)[0] != '\0');
	recording_free(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	uint64_t unit_bytes = 1 + input_take_below(&input, 256);
	char *name = input_take_text(&input, '\n'), template_path[PATH_LEN];
	const char *folder = input_folder(), *paths[] = { folder, template_path };
	const struct recording_query query = { .name = name, .targets = paths, .target_count = 1 };
	struct recording *recording = NULL;
	int ret;

	make_files(&input);
	ret = recording_open(&recording, &query);
	end(recording, ret);
	recording = NULL;
	snprintf(template_path, sizeof(template_path), "%.1000s/%.2000s", folder, name);
	ret = recording_open_round(&recording, unit_bytes, paths + 1, 1);
	end(recording, ret);
	free(name);
	return 0;
}
