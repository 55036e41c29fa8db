/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A journal (tools/history.h) with any lines, also in their short form (journal_text.h), what a recovery writes behind them, and what it does to a file
 * (tools/recover_plan.h).
 */
#include "tests/fuzz/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/journal_text.h"
#include "tools/check.h"
#include "tools/history.h"
#include "tools/recover_plan.h"

#define NOW_UTC_NS INT64_C(1780000000000000000)

static struct history *read_journal(unsigned slot, const void *data, size_t len, enum history_depth depth)
{
	char error[HISTORY_TEXT_LEN];
	struct history *history = NULL;
	int ret = history_read(&history, input_file(slot, data, len), "journal", depth, error);

	input_expect(ret == 0 ? history != NULL : ret == -EBADMSG && !history && error[0]);
	return history;
}

static void check_stored(const struct history *history)
{
	for (size_t i = 0; i < history_stored_count(history); i++) {
		const struct history_segment *stored = history_stored(history, i);

		input_expect(stored->bytes > 0 && stored->file < history->file_count);
		input_expect(stored->file_offset + stored->bytes <= INT64_MAX);
		input_expect(stored->stream_offset + stored->bytes <= INT64_MAX);
		input_expect(stored->row_at + stored->bytes <= INT64_MAX);
	}
	for (size_t i = 0; i < history->file_count; i++) {
		const struct history_file *file = history->files[i];

		input_expect(file->index == i && file->target < history->target_count);
		input_expect(history_file_is_safe(file->name));
	}
	for (size_t i = 0; i < history->gap_count; i++)
		input_expect(history->gaps[i].bytes > 0 &&
			     history->gaps[i].stream_offset + history->gaps[i].bytes <= INT64_MAX);
}

static void check_history(const struct history *history, size_t len)
{
	uint64_t *promised;

	input_expect(history_name_is_safe(history->name) && history_is_same(history, history));
	input_expect(history->valid_bytes <= len && history->told_bytes <= history->valid_bytes);
	check_stored(history);
	promised = history_promises(history, NULL);
	input_expect(promised != NULL);
	for (size_t i = 0; i < history->file_count; i++)
		input_expect(promised[i] > 0);
	free(promised);
	input_expect(check_account(history, NULL, NULL) >= 0);
}

/* With the lines of a recovery behind its own, a journal has an end, and nothing impossible that it hadn't before. */
static void check_recovery(const struct history *history, const char *text)
{
	char *tail;
	int64_t tail_len = recover_tail(history, NOW_UTC_NS, NULL, &tail);
	size_t len = (size_t)history->valid_bytes;
	unsigned char *whole;
	struct history *again;

	input_expect(tail_len > 0);
	whole = malloc(len + (size_t)tail_len);
	input_expect(whole != NULL);
	memcpy(whole, text, len);
	memcpy(whole + len, tail, (size_t)tail_len);
	again = read_journal(1, whole, len + (size_t)tail_len, HISTORY_ALL);
	input_expect(again && again->end && again->is_recovered);
	input_expect(again->invalid_count <= history->invalid_count && !again->is_torn);
	input_expect(again->segment_count <= history->segment_count);
	history_free(again);
	free(whole);
	free(tail);
}

/* Nothing that a journal promises is touched, and what is left alone has its reason. */
static void check_plan(struct input *input)
{
	uint64_t bits = input_take_number(input, 2);
	struct recover_file file = {
		.is_listed = bits & 1,
		.is_part = bits >> 1 & 1,
		.is_endless = bits >> 2 & 1,
		.is_of_name = bits >> 3 & 1,
		.is_meant = bits >> 4 & 1,
		.is_proven = bits >> 5 & 1,
		.has_final = bits >> 6 & 1,
		.doubt = bits >> 7 & 1 ? "a doubt" : NULL,
		.link_count = 1 + (bits >> 8 & 1),
		.bytes = input_take_number(input, 1),
		.promised_bytes = bits & 1 ? input_take_number(input, 1) : 0,
	};
	bool is_complete = bits >> 9 & 1;
	struct recover_plan plan;

	recover_plan_file(&plan, &file, is_complete);
	input_expect(!plan.is_removed || (!file.is_listed && !plan.is_cut && !plan.is_renamed));
	input_expect(!plan.is_cut || (file.is_listed && file.bytes > file.promised_bytes &&
				      file.is_proven && !file.doubt && file.link_count == 1));
	input_expect(!plan.is_renamed || (file.is_part && !file.has_final));
	input_expect(is_complete || !(plan.is_cut || plan.is_renamed || plan.is_removed));
	input_expect(file.is_listed || plan.is_removed || plan.kept);
}

static void try_journal(const char *text, size_t len)
{
	struct history *history = read_journal(0, text, len, HISTORY_ALL);

	if (!history)
		return;
	check_history(history, len);
	if (!history->end)
		check_recovery(history, text);
	history_free(history);
	history = read_journal(0, text, len, HISTORY_START);
	input_expect(history && history->valid_count == 1);
	history_free(history);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	char *text, *expanded;
	size_t expanded_len;

	check_plan(&input);
	text = input_take_text(&input, '\0');
	expanded = journal_text_expand(text, &expanded_len);
	try_journal(expanded, expanded_len);
	free(expanded);
	free(text);
	return 0;
}
