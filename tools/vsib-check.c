/* SPDX-License-Identifier: BSD-2-Clause */
/* vsib-check: is a recording what its journal and its data's format say, and can what was cut short be used again? */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/layout.h"
#include "tools/busy.h"
#include "tools/check.h"
#include "tools/check_format.h"
#include "tools/check_mark6.h"
#include "tools/check_options.h"
#include "tools/check_report.h"
#include "tools/findings.h"
#include "tools/history.h"
#include "tools/journals.h"
#include "tools/json_file.h"
#include "tools/owner.h"
#include "tools/recording.h"
#include "tools/recover.h"
#include "tools/stop_signal.h"

struct program {
	struct check_options options;
	struct recording_query query;
	char *owner; /* of the query: TARGET/NAME that a piece belongs to */
	struct recording *recording;
	const struct recording_info *info;
	struct findings *findings;
	struct check_result result;
	bool is_plain;                     /* a file of no recording */
	struct check_format_report format; /* of the data */
	bool is_running;
	bool is_shown; /* a progress line, on a terminal */
};

/*
 * ---- which recording
 * -----------------------------------------------------------------------------
 */

/*
 * A data file was named: its recording is meant. Without a journal that knows it, it may be one of a Mark6
 * set; of another one only the format is checked.
 */
static int take_file(struct program *program)
{
	const char *path = program->options.arguments.recording;
	struct stat st;

	if (!path || history_is_journal(path) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	program->owner = owner_find(path, &st);
	if (!program->owner && check_mark6_is_file(path))
		return 0;
	if (!program->owner) {
		program->is_plain = true;
		if (!program->options.is_recovery)
			return 0;
		findings_insist(program->findings,
				"%s belongs to no recording with a journal: nothing to recover it by",
				path);
		return EX_USAGE;
	}
	findings_say(program->findings, "%s is a piece of %s, which is checked", path, program->owner);
	program->query.recording = program->owner;
	return 0;
}

static int open_recording(struct program *program)
{
	int ret = recording_open(&program->recording, &program->query);

	if (ret == 0) {
		program->info = recording_info(program->recording);
		return 0;
	}
	findings_insist(program->findings, "%s", recording_error(program->recording));
	return recording_exit_status(ret);
}

/*
 * ---- recovery
 * ------------------------------------------------------------------------------------
 */

static void keep_step(struct program *program, const struct recover_step *step, const char *words)
{
	enum findings_status status = step->what == RECOVER_FAILED ? FINDINGS_TROUBLE : FINDINGS_GOOD;
	json_t *item = json_pack(
		"{s:s, s:o, s:o, s:I, s:I, s:I}", "action", recover_what_name(step->what), "target",
		json_file_text(step->target), "file", json_file_text(step->file), "from_bytes",
		(json_int_t)step->from_bytes, "to_bytes", (json_int_t)step->to_bytes,
		"written_bytes", (json_int_t)step->written_bytes);

	if (item && step->other)
		json_object_set_new(item, "new_file", json_file_text(step->other));
	if (item && step->reason)
		json_object_set_new(item, "reason", json_string(step->reason));
	findings_add(program->findings, FINDING_STEP, status, item, "%s/%s: %s%s%s", step->target,
		     step->file, words, step->reason ? ": " : "", step->reason ? step->reason : "");
}

static void on_step(void *context, const struct recover_step *step)
{
	struct program *program = context;
	const char *would = program->options.is_dry ? "would be " : "";
	char words[512 + NAME_MAX];

	switch (step->what) {
	case RECOVER_CUT:
		snprintf(words, sizeof(words),
			 "%scut from %" PRIu64 " to %" PRIu64 " bytes: %" PRIu64 " %s, %" PRIu64
			 " of them written",
			 would, step->from_bytes, step->to_bytes, step->from_bytes - step->to_bytes,
			 step->is_by_blocks ? "behind the last whole block" : "beyond the journal's word",
			 step->written_bytes);
		break;
	case RECOVER_RENAME:
		snprintf(words, sizeof(words), "%srenamed to %.300s", would, step->other);
		break;
	case RECOVER_REMOVE:
		snprintf(words, sizeof(words),
			 "%sremoved: %" PRIu64 " bytes, nothing of it promised, %" PRIu64
			 " of them written",
			 would, step->from_bytes, step->written_bytes);
		break;
	case RECOVER_JOURNAL:
		snprintf(words, sizeof(words),
			 "%swritten: %" PRIu64 " bytes instead of %" PRIu64 "%s%s", would,
			 step->to_bytes, step->from_bytes,
			 step->other ? "; the damaged one is now " : "",
			 step->other ? step->other : "");
		break;
	case RECOVER_KEPT:
		snprintf(words, sizeof(words), "left as it is, %" PRIu64 " bytes", step->from_bytes);
		break;
	case RECOVER_FAILED:
		snprintf(words, sizeof(words), "failed");
		break;
	}
	keep_step(program, step, words);
}

static int recover(struct program *program)
{
	struct recover_config config = {
		.is_dry = program->options.is_dry,
		.is_missing_lost = program->options.is_missing_lost,
		.stop = stop_signal(),
		.say = on_step,
		.context = program,
	};
	struct recover_result result;
	int ret = recover_run(&program->query, &config, &result);

	if (ret < 0) {
		findings_insist(program->findings, "%s", result.error);
		return recording_exit_status(ret);
	}
	if (result.step_count == 0 && result.failed_count == 0)
		findings_say(program->findings, "nothing to recover");
	return 0;
}

/*
 * ---- what the journals and directories tell
 * ------------------------------------------------------
 */

static void look_at_notes(struct program *program)
{
	const struct recording_note *notes;
	size_t count;

	notes = recording_notes(program->recording, &count);
	for (size_t i = 0; i < count; i++)
		findings_add(program->findings, FINDING_WARNING,
			     notes[i].is_trouble ? FINDINGS_TROUBLE : FINDINGS_GOOD,
			     json_file_text(notes[i].text), "%s", notes[i].text);
}

static const char *describe_journal(const struct journals_found *found, enum findings_status *status)
{
	*status = FINDINGS_GOOD;
	switch (found->state) {
	case JOURNALS_SAME:
		return found->is_torn ? "ends in a torn line, which is ignored" : NULL;
	case JOURNALS_SHORTER:
		if (found->is_recovered)
			return "was recovered when less was known";
		return found->is_torn ?
			       "is shorter, and ends in a torn line: all right after a crash" :
			       "is shorter: all right after a crash, or when its disk was lost";
	case JOURNALS_DAMAGED:
		*status = FINDINGS_DIFFERENCES;
		return "is damaged: what stands behind its valid lines is not used";
	case JOURNALS_CONTRADICTS:
		*status = FINDINGS_TROUBLE;
		return "contradicts the one that is believed";
	case JOURNALS_UNREADABLE:
		*status = FINDINGS_TROUBLE;
		return strerror(-found->error);
	}
	return NULL;
}

static int look_at_journals(struct program *program)
{
	for (size_t i = 0; i < program->info->journal_count; i++) {
		const char *path = program->info->journals[i], *words;
		enum findings_status status;
		struct journals_found found;
		json_t *item;
		int ret = journals_compare(program->recording, i, &found);

		if (ret < 0)
			return ret;
		words = describe_journal(&found, &status);
		item = json_pack("{s:o, s:s, s:b, s:b, s:I, s:I}", "path", json_file_text(path),
				 "state", journals_state_name(found.state), "believed",
				 found.is_believed, "torn", found.is_torn, "bytes",
				 (json_int_t)found.bytes, "common_bytes",
				 (json_int_t)found.common_bytes);
		if (words)
			findings_add(program->findings, FINDING_JOURNAL, status, item,
				     "journal %s %s (%" PRIu64 " of its %" PRIu64
				     " bytes are lines of %s)",
				     path, words, found.common_bytes, found.bytes,
				     program->info->journal);
		else
			json_array_append_new(findings_items(program->findings, FINDING_JOURNAL), item);
	}
	return 0;
}

static void look_at_end(struct program *program)
{
	char why[PATH_MAX + 256];

	if (program->info->mark6) {
		check_mark6_set(program->recording, program->findings);
		return;
	}
	if (!program->info->journal) {
		findings_add(program->findings, FINDING_WARNING, FINDINGS_DIFFERENCES,
			     json_string("there is no journal"),
			     "%s has no journal: nothing tells what its bytes should be",
			     program->info->name);
		return;
	}
	if (program->info->has_end)
		return;
	program->is_running = busy_recording(program->recording, why, sizeof(why));
	findings_worsen(program->findings, FINDINGS_DIFFERENCES);
	if (program->is_running)
		findings_say(program->findings,
			     "the journal has no end line: still being recorded; %s", why);
	else
		findings_say(
			program->findings,
			"the journal has no end line: the recording was cut short; --recover brings it into order");
}

static json_t *missing_item(const struct recording_missing *missing)
{
	return json_pack("{s:o, s:o, s:s, s:I, s:I, s:I}", "target", json_file_text(missing->target),
			 "file", json_file_text(missing->file), "reason", missing->reason,
			 "stream_offset", (json_int_t)missing->stream_offset, "stream_end",
			 (json_int_t)missing->stream_end, "bytes", (json_int_t)missing->bytes);
}

static void tell_missing(struct program *program, const struct recording_missing *m, bool is_rebuilt)
{
	json_t *item = missing_item(m);

	if (is_rebuilt) {
		json_object_set_new(item, "rebuilt", json_true());
		json_object_set_new(item, "parity_bytes", json_integer((json_int_t)m->parity_bytes));
	}
	if (m->bytes == 0 && m->parity_bytes)
		findings_add(program->findings, FINDING_MISSING, FINDINGS_DIFFERENCES, item,
			     "missing: %s/%s %s: %" PRIu64 " bytes of parity", m->target, m->file,
			     m->reason, m->parity_bytes);
	else if (m->bytes == 0)
		findings_add(program->findings, FINDING_MISSING, FINDINGS_DIFFERENCES, item,
			     "missing: %s%s%s %s: at stream offset %" PRIu64 ", length not known",
			     m->target, m->target[0] ? "/" : "", m->file, m->reason, m->stream_offset);
	else
		findings_add(program->findings, FINDING_MISSING, FINDINGS_DIFFERENCES, item,
			     "missing: %s%s%s %s: %" PRIu64 " bytes of the stream from %" PRIu64
			     " to %" PRIu64 "%s",
			     m->target, m->target[0] ? "/" : "", m->file, m->reason, m->bytes,
			     m->stream_offset, m->stream_end,
			     is_rebuilt ? ", which the parity makes up for" : "");
}

static void look_at_missing(struct program *program)
{
	const struct recording_missing *missing;
	const struct recording_unused *unused;
	size_t count;

	missing = recording_missing(program->recording, &count);
	for (size_t i = 0; i < count; i++)
		tell_missing(program, &missing[i], false);
	missing = recording_rebuilt(program->recording, &count);
	for (size_t i = 0; i < count; i++)
		tell_missing(program, &missing[i], true);
	missing = recording_covered(program->recording, &count);
	for (size_t i = 0; i < count; i++)
		findings_add(program->findings, FINDING_MISSING, FINDINGS_DIFFERENCES,
			     missing_item(&missing[i]),
			     "missing: %s/%s %s; its bytes are all there in other files",
			     missing[i].target, missing[i].file, missing[i].reason);
	if (program->info->is_incomplete)
		findings_worsen(program->findings, FINDINGS_DIFFERENCES);
	unused = recording_unused(program->recording, &count);
	for (size_t i = 0; i < count; i++)
		findings_add(
			program->findings, FINDING_UNUSED, FINDINGS_GOOD,
			json_pack("{s:o, s:o, s:s}", "target", json_file_text(unused[i].target),
				  "file", json_file_text(unused[i].file), "reason", unused[i].reason),
			"%s/%s: %s, not used", unused[i].target, unused[i].file, unused[i].reason);
}

static void tell_gap(struct program *program, const struct recording_filled *gap, bool is_filled)
{
	const char *cause = recording_cause_name(gap->cause);
	json_t *item = json_pack("{s:I, s:I, s:s}", "stream_offset", (json_int_t)gap->stream_offset,
				 "bytes", (json_int_t)gap->bytes, "cause", cause);

	if (item && gap->is_estimated)
		json_object_set_new(item, "estimated", json_true());
	if (item && is_filled)
		json_object_set_new(item, "filled", json_true());
	findings_add(program->findings, FINDING_GAP, FINDINGS_DIFFERENCES, item,
		     "gap at stream offset %" PRIu64 ": %" PRIu64 " bytes, %s%s%s",
		     gap->stream_offset, gap->bytes, cause, gap->is_estimated ? ", estimated" : "",
		     is_filled ? "; filled by the recorder" : "");
}

static void look_at_gaps(struct program *program)
{
	const struct recording_filled *filled;
	struct recording_piece piece;
	size_t count;

	while (recording_next(program->recording, &piece) == 1) {
		const struct recording_filled gap = {
			.stream_offset = piece.stream_offset,
			.bytes = piece.bytes,
			.cause = piece.cause,
			.is_estimated = piece.is_estimated,
		};

		if (piece.kind == RECORDING_GAP && piece.cause != RECORDING_MISSING)
			tell_gap(program, &gap, false);
	}
	filled = recording_filled(program->recording, &count);
	for (size_t i = 0; i < count; i++)
		tell_gap(program, &filled[i], true);
}

/* What recovery would bring into order: names and lengths. While it is recorded they are as they should be. */
static int look_at_files(struct program *program)
{
	uint64_t *promised =
		program->is_running ? NULL : history_promises(program->info->history, NULL);
	struct recording_place place;
	struct recording_file file;

	if (!promised)
		return program->is_running ? 0 : -ENOMEM;
	for (size_t i = 0; recording_file(program->recording, i, &file); i++) {
		if (file.place < 0 || promised[i] == 0 ||
		    !recording_place(program->recording, (size_t)file.place, &place))
			continue;
		if (file.bytes > promised[i])
			promised[i] = check_mark6_end(program->recording, i, promised[i]);
		if (file.bytes > promised[i])
			findings_add(program->findings, FINDING_TAIL, FINDINGS_DIFFERENCES,
				     json_pack("{s:o, s:o, s:I, s:I}", "target",
					       json_file_text(place.path), "file",
					       json_file_text(file.file), "bytes", (json_int_t)file.bytes,
					       "promised_bytes", (json_int_t)promised[i]),
				     "%s/%s is %" PRIu64 " bytes long, the journal says %" PRIu64
				     ": the rest is not used",
				     place.path, file.file, file.bytes, promised[i]);
		if (strcmp(file.file, file.final_file) != 0)
			findings_add(program->findings, FINDING_WARNING, FINDINGS_GOOD,
				     json_file_text(file.file), "%s/%s has not got its final name",
				     place.path, file.file);
	}
	free(promised);
	return 0;
}

static void on_account(void *context, const char *sentence)
{
	struct program *program = context;

	findings_add(program->findings, FINDING_ACCOUNT, FINDINGS_DIFFERENCES,
		     json_string(sentence), "%s", sentence);
}

/*
 * ---- every byte
 * ----------------------------------------------------------------------------------
 */

static void on_progress(void *context, const struct check_result *result)
{
	struct program *program = context;
	uint64_t bytes = atomic_load_explicit(&result->read_bytes, memory_order_relaxed);

	if (program->is_shown)
		check_show_progress(program->findings, bytes, result->total_bytes);
}

/* Where it is, and what can be done about it. */
struct place_words {
	struct recording_place place;
	struct recording_file file;
	char where[64];   /* in the stream */
	const char *cure; /* "" = none */
	json_t *item;
};

static bool describe_place(struct program *program, size_t index, struct place_words *words)
{
	const struct history_segment *segment = history_stored(program->info->history, index);
	bool is_parity = index >= program->result.segment_count;

	if (!recording_file(program->recording, segment->file, &words->file) ||
	    !recording_place(program->recording, (size_t)words->file.place, &words->place))
		return false;
	words->cure = "";
	words->item = json_pack("{s:o, s:o, s:I, s:I}", "target", json_file_text(words->place.path),
				"file", json_file_text(words->file.file), "file_offset",
				(json_int_t)segment->file_offset, "bytes", (json_int_t)segment->bytes);
	if (is_parity) {
		snprintf(words->where, sizeof(words->where), "parity");
		json_object_set_new(words->item, "parity", json_true());
		return true;
	}
	snprintf(words->where, sizeof(words->where), "stream offset %" PRIu64, segment->stream_offset);
	json_object_set_new(words->item, "stream_offset",
			    json_integer((json_int_t)segment->stream_offset));
	if (program->result.parity_count && program->result.wrong_bytes) { /* found out */
		bool is_rebuildable = program->result.segments[index].is_rebuildable;

		words->cure = is_rebuildable ? "; it can be rebuilt" : "; it can't be rebuilt";
		json_object_set_new(words->item, "rebuildable", json_boolean(is_rebuildable));
	}
	return true;
}

static void tell_bad(struct program *program, size_t index, const struct place_words *words)
{
	const struct history_segment *segment = history_stored(program->info->history, index);
	char narrow[128] = "";
	uint64_t difference;

	if (index < program->result.segment_count &&
	    check_difference(program->recording, &program->result, index, &difference) == 0) {
		difference += segment->file_offset;
		snprintf(narrow, sizeof(narrow),
			 "; the first byte that differs from a good copy is at file offset %" PRIu64,
			 difference);
		json_object_set_new(words->item, "first_difference",
				    json_integer((json_int_t)difference));
	}
	findings_add(program->findings, FINDING_BAD, FINDINGS_DIFFERENCES, words->item,
		     "bad checksum: %s/%s from file offset %" PRIu64 ", %" PRIu64 " bytes, %s%s%s",
		     words->place.path, words->file.file, segment->file_offset, segment->bytes,
		     words->where, narrow, words->cure);
}

static const char *describe_error(int error)
{
	switch (error) {
	case -ENODATA:
		return "the file has become shorter";
	case -ESTALE:
	case -ENOENT:
		return "the file has gone, or another one has its name";
	default:
		return strerror(-error);
	}
}

static void tell_segments(struct program *program)
{
	for (size_t i = 0; i < program->result.segment_count + program->result.parity_count; i++) {
		const struct history_segment *segment = history_stored(program->info->history, i);
		const struct check_segment *found = &program->result.segments[i];
		struct place_words words;

		if ((found->state != CHECK_BAD && found->state != CHECK_UNREADABLE) ||
		    !describe_place(program, i, &words))
			continue;
		if (found->state == CHECK_BAD) {
			tell_bad(program, i, &words);
			continue;
		}
		json_object_set_new(words.item, "error", json_string(describe_error(found->error)));
		findings_add(program->findings, FINDING_UNREADABLE, FINDINGS_TROUBLE, words.item,
			     "can't read %s/%s from file offset %" PRIu64 ", %" PRIu64
			     " bytes, %s: %s%s",
			     words.place.path, words.file.file, segment->file_offset,
			     segment->bytes, words.where, describe_error(found->error), words.cure);
	}
}

static void tell_failure(struct program *program, int ret)
{
	if (ret == -EINTR)
		findings_insist(program->findings, "stopped by a signal: not everything was read");
	else
		findings_insist(program->findings, "%s", strerror(-ret));
	findings_worsen(program->findings, FINDINGS_TROUBLE);
}

static int verify(struct program *program)
{
	struct check_config config = { .stop = stop_signal(),
				       .progress = on_progress,
				       .context = program };
	int ret = check_run(program->recording, &config, &program->result);

	if (ret == 0)
		ret = check_rebuilding(program->recording, &program->result);
	tell_segments(program);
	if (program->result.count[CHECK_UNSUMMED])
		findings_say(program->findings,
			     "%" PRIu64
			     " segments have no checksum: they can be read, no more is known",
			     program->result.count[CHECK_UNSUMMED]);
	if (ret < 0)
		tell_failure(program, ret);
	return ret;
}

static void look_at_format(struct program *program)
{
	const struct check_format_config config = {
		.options = &program->options,
		.stop = stop_signal(),
		.is_shown = program->is_shown,
	};
	int ret = check_format_recording(program->recording, &config, program->findings,
					 &program->format);

	if (ret < 0)
		tell_failure(program, ret);
}

/*
 * ---- the end
 * -------------------------------------------------------------------------------------
 */

static void say_totals(struct program *program)
{
	const struct check_result *result = &program->result;
	char bytes[UNITS_TEXT_LEN], parity[64] = "", rebuildable[96] = "";

	if (result->parity_count)
		snprintf(parity, sizeof(parity), "; %" PRIu64 " of %" PRIu64 " pieces of parity",
			 result->parity_states[CHECK_GOOD], result->parity_count);
	if (result->parity_count && result->wrong_bytes)
		snprintf(rebuildable, sizeof(rebuildable),
			 "; %" PRIu64 " of %" PRIu64 " wrong bytes can be rebuilt",
			 result->rebuildable_bytes, result->wrong_bytes);
	findings_say(program->findings,
		     "%s: %s: %" PRIu64 " bytes (%s) verified in %" PRIu64 " of %" PRIu64
		     " segments%s; %" PRIu64 " gaps, %" PRIu64 " bad, %" PRIu64
		     " unreadable, %" PRIu64 " missing%s; %.1f s, %.2f GB/s",
		     program->info->name, check_outcome(program->findings), result->verified_bytes,
		     units_format_bytes(bytes, result->verified_bytes), result->count[CHECK_GOOD],
		     result->segment_count, parity, findings_count(program->findings, FINDING_GAP),
		     result->count[CHECK_BAD], result->count[CHECK_UNREADABLE],
		     result->count[CHECK_MISSING], rebuildable, (double)result->duration_ns / 1e9,
		     check_bytes_per_s(result) / 1e9);
}

static int write_report(struct program *program)
{
	const struct check_report report = {
		.options = &program->options,
		.info = program->info,
		.result = &program->result,
		.format = &program->format,
		.findings = program->findings,
		.is_running = program->is_running,
	};

	return check_report_write(program->options.json ? check_report_recording(&report) : NULL,
				  program->options.json, program->findings);
}

/* Return: an exit status. */
static int check(struct program *program)
{
	int ret;

	look_at_notes(program);
	look_at_end(program);
	look_at_missing(program);
	look_at_gaps(program);
	ret = program->info->journal ? look_at_journals(program) : 0;
	if (ret == 0 && program->info->journal)
		ret = look_at_files(program);
	if (ret == 0 && program->info->journal && !program->is_running)
		ret = check_mark6_headers(program->recording, program->findings);
	if (ret == 0 && program->info->journal)
		ret = check_account(program->info->history, on_account, program);
	if (ret < 0) {
		findings_insist(program->findings, "%s", strerror(-ret));
		return recording_exit_status(ret);
	}
	if (verify(program) == 0 && !program->options.is_format_left_out)
		look_at_format(program);
	say_totals(program);
	return write_report(program);
}

static int run(struct program *program)
{
	const struct check_options *options = &program->options;
	int status;

	program->query = (struct recording_query){
		.recording = options->arguments.recording,
		.name = options->arguments.name,
		.targets = options->arguments.targets,
		.target_count = options->arguments.target_count,
	};
	status = take_file(program);
	if (status == 0 && program->is_plain) {
		const struct check_format_config config = {
			.options = options,
			.stop = stop_signal(),
			.is_shown = program->is_shown,
		};

		return check_format_file(options->arguments.recording, &config, program->findings);
	}
	if (status == 0 && options->is_recovery)
		status = recover(program);
	if (status == 0)
		status = open_recording(program);
	return status == 0 ? check(program) : status;
}

int main(int argc, char **argv)
{
	struct program program = { 0 };
	int status;

	check_options_parse(&program.options, argc, argv);
	program.is_shown = isatty(STDERR_FILENO) && !program.options.is_quiet;
	stop_signal_catch();
	signal(SIGIO, SIG_IGN); /* see busy.h */
	if (findings_create(&program.findings, "vsib-check", program.options.is_quiet) < 0)
		return EX_OSERR;
	status = run(&program);
	check_free(&program.result);
	json_decref(program.format.format);
	json_decref(program.format.capture);
	recording_free(program.recording);
	findings_free(program.findings);
	free(program.owner);
	arguments_free(&program.options.arguments);
	return status;
}
