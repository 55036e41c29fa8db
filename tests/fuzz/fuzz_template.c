/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and templates of files (recorder/layout.h) and the command line of wr (recorder/wr_args.h): what the recorder
 * names a file by a template, the tools (tools/sequence.h) must know again.
 */
#include "tests/fuzz/input.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/layout.h"
#include "recorder/wr_args.h"
#include "tools/sequence.h"

#define ARGUMENTS_MAX 64
#define NUMBER_MAX UINT64_C(1000000000000000000) /* SEQUENCE_DIGITS_MAX digits */

static void check_file(const char *name_template, uint64_t number, uint64_t base)
{
	char name[LAYOUT_NAME_LEN];
	struct sequence sequence;
	uint64_t again = 0;

	layout_file_name(name, name_template, number, base);
	input_expect(name[0] && strlen(name) + strlen(".part") <= NAME_MAX && !strchr(name, '/'));
	layout_file_name(name, name_template, number, 0);
	if (sequence_parse(&sequence, name_template) == 0 && number < NUMBER_MAX)
		input_expect(sequence_match(&sequence, name, &again) &&
			     again == (sequence.has_number ? number : 0));
}

static void check_sequence(const char *text, const char *file, uint64_t number)
{
	char name[SEQUENCE_NAME_LEN];
	struct sequence sequence;
	uint64_t again = 0;

	number %= NUMBER_MAX;
	if (sequence_parse(&sequence, text) < 0)
		return;
	sequence_match(&sequence, file, &again);
	sequence_name(&sequence, number, name);
	input_expect(sequence_match(&sequence, name, &again) &&
		     again == (sequence.has_number ? number : 0));
}

static void check_name(const char *name, uint64_t number)
{
	static const struct layout_plan plans[] = {
		{ .kind = LAYOUT_RAW },
		{ .kind = LAYOUT_RAW, .file_bytes = 1 },
		{ .kind = LAYOUT_VBS },
		{ .kind = LAYOUT_MARK6, .is_appended = true, .packet_format = MARK6_VDIF },
	};
	char error[LAYOUT_ERROR_LEN], text[LAYOUT_NAME_LEN], file[LAYOUT_NAME_LEN];

	if (layout_check_name(name, error) < 0)
		return;
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		const char *name_template;

		layout_default_template(text, &plans[i], name);
		name_template = strchr(text, '/') ? strchr(text, '/') + 1 : text;
		input_expect(layout_check_template(name_template, false, error) == 0);
		layout_file_name(file, name_template, number, 0);
		input_expect(strncmp(file, name, strlen(name)) == 0);
	}
	layout_parity_template(text, name);
	input_expect(layout_check_template(text, true, error) == 0);
}

static void try_wr(struct input *input)
{
	static struct wr_args args;
	char *arguments[ARGUMENTS_MAX], error[WR_ERROR_LEN];
	uint64_t sum = 0;
	int count = 0;

	while (count < ARGUMENTS_MAX && input->len > 0)
		arguments[count++] = input_take_text(input, '\n');
	if (wr_args_parse(&args, count, arguments, error) == 0) {
		for (unsigned i = 0; i < args.dir_count; i++) {
			uint64_t blocks = wr_dir_bytes(&args, i) / args.block_bytes;

			sum += wr_dir_bytes(&args, i);
			check_file(args.dirs[i].name_template,
				   blocks ? (blocks - 1) / args.dirs[i].blocks_per_file : 0, 0);
		}
		input_expect(sum == args.total_bytes);
	}
	while (count > 0)
		free(arguments[--count]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	char error[LAYOUT_ERROR_LEN], *text, *file;
	uint64_t number, base;

	if (input.len > 0 && input.data[0] >= '0' && input.data[0] <= '9') {
		try_wr(&input);
		return 0;
	}
	number = input_take_number(&input, 8);
	base = input_take_number(&input, 8);
	text = input_take_text(&input, '\n');
	file = input_take_text(&input, '\n');
	if (layout_check_template(text, number & 1, error) == 0)
		check_file(text, number & ~LAYOUT_OTHER, base);
	check_name(text, number);
	check_sequence(text, file, number);
	free(text);
	free(file);
	return 0;
}
