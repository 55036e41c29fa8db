/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/journal_text.h"

#define BETWEEN 0x1e
#define FILE_BYTES_MAX 8192
#define LENGTHS (TARGETS * JOURNAL_TEXT_FILES * sizeof(uint16_t))

static void make_target(unsigned target, const char *text, struct input *lengths)
{
	static const unsigned char samples[FILE_BYTES_MAX] = { 0x66, 0x66, 0xed, 0xfe };
	char path[TARGETS_PATH_LEN], *journal;
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

void targets_make(struct targets *targets, struct input *input)
{
	size_t lengths_len = input->len < LENGTHS ? input->len : LENGTHS;
	struct input lengths = input_begin(input->data + input->len - lengths_len, lengths_len);
	const char *folder = input_folder();

	for (unsigned i = 0; i < TARGETS; i++) {
		char *text = input_take_text(input, BETWEEN);

		snprintf(targets->paths[i], sizeof(targets->paths[i]), "%.100s/d%u", folder, i);
		targets->list[i] = targets->paths[i];
		make_target(i, text, &lengths);
		free(text);
	}
}
