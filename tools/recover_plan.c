/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/recover_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/units.h"
#include "recorder/journal.h"
#include "tools/check.h"

/*
 * ---- files
 * ---------------------------------------------------------------------------------------
 */

static const char maybe_promised[] =
	"a journal, or a line of one, that is missing or can't be understood may promise what is in it; --give-up-missing says that none does";

static void plan_left_over(struct recover_plan *plan, const struct recover_file *file, bool is_complete)
{
	if (!file->is_part && !file->is_endless)
		plan->kept = "not in the journal, but it was finished";
	else if (!file->is_of_name)
		plan->kept = "not in the journal, but it may belong to another recording";
	else if (file->is_meant)
		plan->kept = "the journal means another file of this name";
	else if (file->link_count > 1)
		plan->kept = "it has another name, too (a hard link)";
	else if (!is_complete)
		plan->kept = maybe_promised;
	else
		plan->is_removed = true;
}

/* Why what stands behind the promised bytes has to stay; NULL: it hasn't. */
static const char *reason_to_keep_tail(const struct recover_file *file, bool is_complete)
{
	if (file->doubt)
		return file->doubt;
	if (!file->is_proven)
		return "it may be another recording's file: not in its own target's directory, and no checksum tells";
	if (file->link_count > 1)
		return "it has another name, too (a hard link)";
	return is_complete ? NULL : maybe_promised;
}

void recover_plan_file(struct recover_plan *plan, const struct recover_file *file, bool is_complete)
{
	*plan = (struct recover_plan){ 0 };
	if (!file->is_listed) {
		plan_left_over(plan, file, is_complete);
		return;
	}
	if (file->bytes < file->promised_bytes) {
		plan->kept = "shorter than the journal says";
		return;
	}
	if (file->bytes > file->promised_bytes) {
		plan->kept = reason_to_keep_tail(file, is_complete);
		plan->is_cut = !plan->kept;
	}
	if (!file->is_part || plan->kept)
		return;
	if (file->has_final)
		plan->kept = "there is a file with its final name";
	else if (!is_complete)
		plan->kept = maybe_promised;
	else
		plan->is_renamed = true;
}

/*
 * ---- journals
 * ------------------------------------------------------------------------------------
 */

struct tail {
	const struct history *history;
	char *text;
	size_t len;
	FILE *stream;
	int64_t start_utc_ns;
	uint64_t rate_bps;
	const bool *known; /* NULL: all */
};

static int add_line(struct tail *tail, json_t *line)
{
	int ret = line ? json_dumpf(line, tail->stream, JSON_COMPACT | JSON_PRESERVE_ORDER) : -1;

	json_decref(line);
	return ret == 0 && fputc('\n', tail->stream) != EOF ? 0 : -ENOMEM;
}

/* When the stream was there, as well as the rate tells. */
static int64_t time_of(const struct tail *tail, uint64_t stream_offset)
{
	int64_t ns = tail->rate_bps ? units_time_for(stream_offset, tail->rate_bps) : 0;

	return ns < INT64_MAX - tail->start_utc_ns ? tail->start_utc_ns + ns : tail->start_utc_ns;
}

static int add_hole(void *context, uint64_t offset, uint64_t bytes)
{
	struct tail *tail = context;
	char utc[UNITS_UTC_LEN];

	return add_line(tail,
			json_pack("{ss sI sI ss ss}", "type", "gap", "stream_offset",
				  (json_int_t)offset, "bytes", (json_int_t)bytes, "cause",
				  "aborted", "utc", units_format_utc(utc, time_of(tail, offset))));
}

static int64_t duration_ns(const struct tail *tail, uint64_t stream_bytes)
{
	const struct history *history = tail->history;
	int64_t ns = time_of(tail, stream_bytes) - tail->start_utc_ns;
	int64_t start = json_integer_value(json_object_get(history->start, "monotonic_ns"));

	if (history->clock_count) {
		int64_t last = history->clocks[history->clock_count - 1].monotonic_ns, clock_ns;

		/* a journal may say anything: the end's moment must be one */
		if (!__builtin_sub_overflow(last, start, &clock_ns) && clock_ns > ns &&
		    clock_ns < INT64_MAX - tail->start_utc_ns)
			ns = clock_ns;
	}
	return ns;
}

static int add_end(struct tail *tail, const struct check_sums *sums)
{
	uint64_t aborted = sums->gap_bytes[HISTORY_ABORTED] + sums->hole_bytes;
	uint64_t put = sums->written_bytes + sums->gap_bytes[HISTORY_OVERFLOW] +
		       sums->gap_bytes[HISTORY_DISK] + sums->gap_bytes[HISTORY_DISCARDED] + aborted;
	uint64_t received = put > sums->filled_bytes ? put - sums->filled_bytes : 0;
	uint64_t stream = received + sums->gap_bytes[HISTORY_SOURCE];
	int64_t ns = duration_ns(tail, sums->stream_bytes);
	char utc[UNITS_UTC_LEN];

	return add_line(
		tail, json_pack("{ss ss ss si sI sI sI sI sI sI sI sI sI sf ss}", "type", "end",
				"outcome", "stopped", "reason", JOURNAL_RECOVERED, "exit_status", 2,
				"stream_bytes", (json_int_t)stream, "received_bytes",
				(json_int_t)received, "written_bytes", (json_int_t)sums->written_bytes,
				"overflow_bytes", (json_int_t)sums->gap_bytes[HISTORY_OVERFLOW],
				"disk_lost_bytes", (json_int_t)sums->gap_bytes[HISTORY_DISK],
				"source_lost_bytes", (json_int_t)sums->gap_bytes[HISTORY_SOURCE],
				"discarded_bytes", (json_int_t)sums->gap_bytes[HISTORY_DISCARDED],
				"aborted_bytes", (json_int_t)aborted, "filled_bytes",
				(json_int_t)sums->filled_bytes, "duration_s", (double)ns / 1e9,
				"utc", units_format_utc(utc, tail->start_utc_ns + ns)));
}

/* The event that begins a recovery's lines. */
static int add_event(struct tail *tail, int64_t now_utc_ns)
{
	static const char sentence[] =
		"the recorder was cut short; what follows is what vsib-check concluded from the lines before";
	char utc[UNITS_UTC_LEN];
	json_t *unknown = json_array();
	int ret = unknown ? 0 : -ENOMEM;

	for (size_t i = 0; ret == 0 && tail->known && i < tail->history->target_count; i++)
		if (!tail->known[i] && json_array_append_new(unknown, json_integer((json_int_t)i)) < 0)
			ret = -ENOMEM;
	if (ret == 0)
		ret = add_line(tail, json_pack("{ss ss ss ss so*}", "type", "event", "event",
					       JOURNAL_RECOVERED, "text", sentence, "utc",
					       units_format_utc(utc, now_utc_ns), "unknown_targets",
					       json_array_size(unknown) ? json_incref(unknown) : NULL));
	json_decref(unknown);
	return ret;
}

static int add_lines(struct tail *tail, int64_t now_utc_ns)
{
	struct check_sums sums;
	int ret = add_event(tail, now_utc_ns);

	if (ret == 0)
		ret = check_sum_up(tail->history, &sums, add_hole, tail);
	return ret == 0 ? add_end(tail, &sums) : ret;
}

int64_t recover_tail(const struct history *history, int64_t now_utc_ns, const bool *known, char **text)
{
	const char *utc = json_string_value(json_object_get(history->start, "utc"));
	json_int_t rate = json_integer_value(json_object_get(history->start, "rate_bps"));
	struct tail tail = { .history = history,
			     .rate_bps = rate > 0 ? (uint64_t)rate : 0,
			     .known = known };
	int ret = -ENOMEM;

	*text = NULL;
	if (!utc || units_parse_utc(utc, &tail.start_utc_ns) < 0 || tail.start_utc_ns < 0)
		tail.start_utc_ns = now_utc_ns;
	tail.stream = open_memstream(&tail.text, &tail.len);
	if (tail.stream) {
		ret = add_lines(&tail, now_utc_ns);
		if (fclose(tail.stream) != 0 && ret == 0)
			ret = -ENOMEM;
	}
	if (ret < 0) {
		free(tail.text);
		return ret;
	}
	*text = tail.text;
	return (int64_t)tail.len;
}
