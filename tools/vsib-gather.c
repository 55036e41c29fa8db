/* SPDX-License-Identifier: BSD-2-Clause */
/* vsib-gather: the pieces of a recording, joined into one stream */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/units.h"
#include "tools/gather.h"
#include "tools/gather_options.h"
#include "tools/gather_report.h"
#include "tools/history.h"
#include "tools/json_file.h"
#include "tools/output_file.h"
#include "tools/piece.h"
#include "tools/recording.h"
#include "tools/stop_signal.h"

#define EXIT_GAPS 1
#define EXIT_TROUBLE 2

#define LINES_MAX 20 /* of one kind on stderr; then only their count */
#define PROGRESS_NS (UNITS_NS_PER_S / 4)

struct program {
	struct gather_options options;
	struct recording *recording;
	const struct recording_info *info;
	struct gather_result result;
	int status; /* the worst so far; a trouble outweighs gaps */

	bool is_terminal; /* stderr: a progress line is shown */
	bool has_line;    /* it stands there now */
	int64_t start_ns;
	int64_t line_ns;

	uint64_t gap_lines;
	uint64_t bad_lines;
	uint64_t rebuilt_lines;
	uint64_t unframed_lines;
	bool *is_named; /* files of which something bad was rebuilt, and that was said */
	struct gather_report report;
};

/*
 * ---- words for people
 * ----------------------------------------------------------------------------
 */

static void clear_line(struct program *program)
{
	if (program->has_line)
		fputs("\r\033[K", stderr);
	program->has_line = false;
}

/* Names come from journals and directories: nothing in them may move the cursor. */
static void print_clean(const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, stderr);
	fputc('\n', stderr);
}

static __attribute__((format(printf, 2, 3))) void say(struct program *program, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	clear_line(program);
	fputs("vsib-gather: ", stderr);
	print_clean(text ? text : "out of memory");
	free(text);
}

static void worsen(struct program *program, int status)
{
	if (status > program->status)
		program->status = status;
}

static bool is_line_left(struct program *program, uint64_t *lines, const char *what)
{
	if (++*lines == LINES_MAX + 1)
		say(program, "more %s follow and are only counted", what);
	return *lines <= LINES_MAX;
}

static void show_progress(struct program *program)
{
	const struct gather_result *result = &program->result;
	int64_t now = units_monotonic_ns(), spent = now - program->start_ns;
	char done[UNITS_TEXT_LEN], all[UNITS_TEXT_LEN], left[UNITS_TEXT_LEN];
	double per_s;

	if (!program->is_terminal || now - program->line_ns < PROGRESS_NS ||
	    result->bytes_out == 0 || spent <= 0)
		return;
	program->line_ns = now;
	program->has_line = true;
	per_s = (double)result->bytes_out / ((double)spent / 1e9);
	fprintf(stderr, "\r\033[K%s of %s, %.0f %%, %.1f Mbit/s (%.1f MiB/s), %s left",
		units_format_bytes(done, result->bytes_out),
		units_format_bytes(all, result->expected_bytes),
		100.0 * (double)result->bytes_out / (double)result->expected_bytes, per_s * 8 / 1e6,
		per_s / 1048576,
		units_format_time(
			left, (int64_t)((double)(result->expected_bytes - result->bytes_out) / per_s) *
				      UNITS_NS_PER_S));
}

/*
 * ---- what happens while copying
 * ------------------------------------------------------------------
 */

static void keep_gap(struct program *program, const struct recording_piece *piece, const char *cause)
{
	if (program->options.json)
		gather_report_gap(&program->report, piece, cause);
}

static void on_gap(struct program *program, const struct recording_piece *piece)
{
	const char *cause = recording_cause_name(piece->cause);

	worsen(program, EXIT_GAPS);
	keep_gap(program, piece, cause);
	if (!is_line_left(program, &program->gap_lines, "gaps"))
		return;
	if (piece->is_length_known)
		say(program, "gap at stream offset %" PRIu64 ": %" PRIu64 " bytes, %s%s%s",
		    piece->stream_offset, piece->bytes, cause, piece->is_estimated ? ", estimated" : "",
		    program->options.fill == GATHER_CLOSE_UP ? "" : "; filled");
	else
		say(program, "gap at stream offset %" PRIu64 ": length not known, %s%s",
		    piece->stream_offset, cause,
		    program->options.fill == GATHER_CLOSE_UP ? "" : "; can't be filled");
}

static void on_bad_sum(struct program *program, const struct recording_piece *piece)
{
	char words[PIECE_WORDS_LEN];

	if (is_line_left(program, &program->bad_lines, "bad checksums"))
		say(program, "%s", piece_say_bad_sum(words, piece));
	if (program->options.json)
		gather_report_bad_sum(&program->report, piece);
}

static void on_unreadable(struct program *program, const struct recording_piece *piece, int error)
{
	char words[PIECE_WORDS_LEN];

	if (is_line_left(program, &program->bad_lines, "unreadable pieces"))
		say(program, "%s", piece_say_unreadable(words, piece, error));
}

static void on_rebuilt(struct program *program, const struct recording_piece *piece)
{
	char words[PIECE_WORDS_LEN];

	if (!program->is_named)
		program->is_named = calloc(program->info->history->file_count, sizeof(bool));
	if (program->is_named && program->is_named[piece->file_index])
		return;
	if (is_line_left(program, &program->rebuilt_lines, "files with rebuilt pieces"))
		say(program, "%s", piece_say_rebuilt(words, piece));
	if (program->is_named)
		program->is_named[piece->file_index] = true;
}

static void on_not_made(struct program *program, const struct recording_piece *piece)
{
	char words[PIECE_WORDS_LEN];

	if (is_line_left(program, &program->bad_lines, "unreadable pieces"))
		say(program, "%s", piece_say_not_made(words, program->recording, piece));
}

static void on_no_frames(struct program *program, const struct gather_event *event)
{
	if (is_line_left(program, &program->unframed_lines, "gaps without frames"))
		say(program,
		    "gap at stream offset %" PRIu64 ": %" PRIu64
		    " bytes get the pattern instead of invalid VDIF frames: %s",
		    event->stream_offset, event->bytes, event->why);
}

static void on_event(void *context, const struct gather_event *event)
{
	struct program *program = context;
	char words[PIECE_WORDS_LEN];

	switch (event->what) {
	case GATHER_PROGRESS:
		show_progress(program);
		break;
	case GATHER_GAP:
		on_gap(program, event->piece);
		break;
	case GATHER_BAD_SUM:
		on_bad_sum(program, event->piece);
		break;
	case GATHER_UNREADABLE:
		on_unreadable(program, event->piece, event->error);
		break;
	case GATHER_LEFT_OUT:
		keep_gap(program, event->piece, "checksum");
		break;
	case GATHER_GIVEN_UP:
		keep_gap(program, event->piece, "unreadable");
		break;
	case GATHER_COPY:
		say(program, "%s", piece_say_copy(words, event->piece));
		break;
	case GATHER_REBUILT:
		on_rebuilt(program, event->piece);
		break;
	case GATHER_NOT_MADE:
		on_not_made(program, event->piece);
		break;
	case GATHER_NO_FRAMES:
		on_no_frames(program, event);
		break;
	}
}

/*
 * ---- what was found
 * ------------------------------------------------------------------------------
 */

static int open_recording(struct program *program)
{
	const struct gather_options *options = &program->options;
	struct recording_query query = {
		.recording = options->arguments.recording,
		.name = options->arguments.name,
		.targets = options->arguments.targets,
		.target_count = options->arguments.target_count,
	};
	int ret;

	ret = options->round_bytes ? recording_open_round(&program->recording, options->round_bytes,
							  options->arguments.targets,
							  options->arguments.target_count) :
				     recording_open(&program->recording, &query);
	if (ret == 0) {
		program->info = recording_info(program->recording);
		return 0;
	}
	say(program, "%s", recording_error(program->recording));
	return recording_exit_status(ret);
}

static void say_missing(struct program *program)
{
	const struct recording_missing *missing;
	uint64_t lines = 0;
	size_t count;

	missing = recording_missing(program->recording, &count);
	for (size_t i = 0; i < count && is_line_left(program, &lines, "missing pieces"); i++) {
		const struct recording_missing *m = &missing[i];

		if (m->bytes)
			say(program,
			    "missing: %s%s%s %s: %" PRIu64 " bytes of the stream from %" PRIu64
			    " to %" PRIu64,
			    m->target, m->target[0] ? "/" : "", m->file, m->reason, m->bytes,
			    m->stream_offset, m->stream_end);
		else
			say(program,
			    "missing: %s%s%s %s: at stream offset %" PRIu64 ", length not known",
			    m->target, m->target[0] ? "/" : "", m->file, m->reason, m->stream_offset);
	}
	if (count && program->info->journal)
		say(program,
		    "a target that is somewhere else now, or has lost its journal, can be named with --target DIR");
	missing = recording_covered(program->recording, &count);
	if (count)
		say(program, "copies make up for all bytes of %zu missing files; the first: %s/%s %s",
		    count, missing[0].target, missing[0].file, missing[0].reason);
}

static void say_rebuilt(struct program *program)
{
	const struct recording_missing *rebuilt;
	uint64_t lines = 0;
	size_t count;

	rebuilt = recording_rebuilt(program->recording, &count);
	for (size_t i = 0; i < count && is_line_left(program, &lines, "files that are rebuilt"); i++) {
		const struct recording_missing *r = &rebuilt[i];

		if (r->bytes)
			say(program,
			    "%s/%s %s: %" PRIu64 " bytes of the stream from %" PRIu64 " to %" PRIu64
			    " are rebuilt from the parity",
			    r->target, r->file, r->reason, r->bytes, r->stream_offset, r->stream_end);
		else
			say(program, "%s/%s %s: it is parity, nothing of the stream", r->target,
			    r->file, r->reason);
	}
}

static void say_filled(struct program *program)
{
	const struct recording_filled *filled;
	uint64_t lines = 0;
	size_t count;

	filled = recording_filled(program->recording, &count);
	for (size_t i = 0;
	     i < count && is_line_left(program, &lines, "gaps that the recorder has filled"); i++)
		say(program,
		    "gap at stream offset %" PRIu64 ": %" PRIu64 " bytes, %s%s; filled by the recorder",
		    filled[i].stream_offset, filled[i].bytes, recording_cause_name(filled[i].cause),
		    filled[i].is_estimated ? ", estimated" : "");
	if (count && program->options.fill == GATHER_CLOSE_UP && !program->options.is_list)
		say(program, "what the recorder has filled is written as it is, and not closed up");
}

static void say_found(struct program *program)
{
	const struct recording_unused *unused;
	const struct recording_note *notes;
	uint64_t lines = 0;
	size_t count;

	notes = recording_notes(program->recording, &count);
	for (size_t i = 0; i < count; i++)
		say(program, "%s", notes[i].text);
	say_missing(program);
	say_rebuilt(program);
	say_filled(program);
	unused = recording_unused(program->recording, &count);
	for (size_t i = 0; i < count && is_line_left(program, &lines, "unused files"); i++)
		say(program, "%s/%s: %s, not used", unused[i].target, unused[i].file, unused[i].reason);
	if (program->info->journal && !program->info->has_end)
		say(program,
		    "the journal has no end line: the recording is still running, or was cut short");
}

static void judge(struct program *program)
{
	const struct recording_info *info = program->info;
	size_t missing_count;

	recording_missing(program->recording, &missing_count);
	if (missing_count || info->gap_count || info->gap_bytes || info->filled_bytes ||
	    info->is_incomplete || (info->journal && !info->has_end))
		worsen(program, EXIT_GAPS);
	if (info->has_trouble || program->result.bad_sum_count || program->result.unreadable_count)
		worsen(program, EXIT_TROUBLE);
}

/*
 * ---- --list
 * --------------------------------------------------------------------------------------
 */

static void list_piece(const struct recording_piece *piece)
{
	const char *kind = piece->is_lost ? "rebuilt" : "data";
	char sum[17] = "-";

	if (piece->kind == RECORDING_GAP) {
		printf("gap\t%" PRIu64 "\t", piece->stream_offset);
		if (piece->is_length_known)
			printf("%" PRIu64 "\t%s\n", piece->bytes, recording_cause_name(piece->cause));
		else
			printf("-\t%s\n", recording_cause_name(piece->cause));
		return;
	}
	if (piece->has_xxh3 && piece->sum_bytes == piece->bytes)
		snprintf(sum, sizeof(sum), "%016" PRIx64, piece->xxh3);
	printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s/%s\n", kind, piece->stream_offset,
	       piece->bytes, piece->file_offset, sum, piece->target, piece->file);
}

/* What the recorder has filled is part of a piece: it stands behind the one in which it begins. */
static int list_pieces(struct program *program)
{
	size_t count, i = 0;
	const struct recording_filled *filled = recording_filled(program->recording, &count);
	struct recording_piece piece;

	while (recording_next(program->recording, &piece) == 1) {
		list_piece(&piece);
		for (; i < count && filled[i].stream_offset < piece.stream_offset + piece.bytes; i++)
			printf("filled\t%" PRIu64 "\t%" PRIu64 "\t%s\n", filled[i].stream_offset,
			       filled[i].bytes, recording_cause_name(filled[i].cause));
	}
	judge(program);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return program->status;
	say(program, "standard output: %s", strerror(errno));
	return EXIT_TROUBLE;
}

/*
 * ---- the output
 * ----------------------------------------------------------------------------------
 */

static int refuse(struct program *program, int status, const char *why)
{
	say(program, "%s: %s", program->options.output, why);
	return status;
}

/* Return: an exit status, 0 and *fd when it may be written to. */
static int take_existing(struct program *program, int *fd)
{
	const char *path = program->options.output;
	struct stat st;

	if (stat(path, &st) < 0)
		return refuse(program, EX_CANTCREAT, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return refuse(program, EX_CANTCREAT, "is a directory");
	if (S_ISBLK(st.st_mode))
		return refuse(program, EX_CANTCREAT, "is a block device, a file is needed");
	if (recording_uses(program->recording, st.st_dev, st.st_ino))
		return refuse(program, EX_CANTCREAT, "is a piece of the recording itself");
	if (S_ISREG(st.st_mode) && !program->options.is_forced)
		return refuse(program, EX_CANTCREAT, "exists and is not overwritten without --force");
	*fd = open(path, O_WRONLY | O_CLOEXEC);
	if (*fd < 0 || (S_ISREG(st.st_mode) && ftruncate(*fd, 0) < 0))
		return refuse(program, errno == EACCES || errno == EPERM ? EX_NOPERM : EX_CANTCREAT,
			      strerror(errno));
	return 0;
}

static int open_output(struct program *program, int *fd, bool *is_new)
{
	struct stat st;

	*is_new = false;
	*fd = STDOUT_FILENO;
	if (strcmp(program->options.output, "-") == 0) {
		if (!program->options.is_output_given && isatty(STDOUT_FILENO))
			return refuse(
				program, EX_USAGE,
				"samples are not written to a terminal; -o FILE, or -o - if it is meant so");
		if (fstat(STDOUT_FILENO, &st) == 0 &&
		    recording_uses(program->recording, st.st_dev, st.st_ino))
			return refuse(program, EX_CANTCREAT,
				      "standard output is a piece of the recording itself");
		return 0;
	}
	*fd = open(program->options.output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	*is_new = *fd >= 0;
	if (*is_new)
		return 0;
	if (errno == EEXIST)
		return take_existing(program, fd);
	return refuse(program, errno == EACCES || errno == EPERM ? EX_NOPERM : EX_CANTCREAT,
		      strerror(errno));
}

/* The copy ended early: say how far it came, and that the file is not what was asked for. */
static void say_partial(struct program *program, int ret, bool is_new)
{
	const char *path = program->options.output;
	bool is_stdout = strcmp(path, "-") == 0;
	const struct gather_result *result = &program->result;

	if (ret == -EINTR)
		say(program, "stopped by a signal");
	else
		say(program, "%s: %s", is_stdout ? "standard output" : path, strerror(-ret));
	if (is_new && result->bytes_out == 0 && unlink(path) == 0)
		say(program, "%" PRIu64 " bytes are needed; nothing was written and %s is removed",
		    result->expected_bytes, path);
	else
		say(program, "%s is partial: %" PRIu64 " of %" PRIu64 " bytes were written",
		    is_stdout ? "the stream" : path, result->bytes_out, result->expected_bytes);
}

static void say_summary(struct program *program)
{
	const struct gather_result *result = &program->result;
	double spent = (double)(units_monotonic_ns() - program->start_ns) / 1e9;
	char bytes[UNITS_TEXT_LEN], rebuilt[64] = "", filled[96] = "";

	if (result->rebuilt_bytes)
		snprintf(rebuilt, sizeof(rebuilt), ", %" PRIu64 " bytes rebuilt",
			 result->rebuilt_bytes);
	if (program->info->filled_bytes)
		snprintf(filled, sizeof(filled), ", %" PRIu64 " bytes filled by the recorder",
			 program->info->filled_bytes);
	say(program,
	    "%" PRIu64 " bytes (%s) from %" PRIu64 " pieces in %.1f s%s; %" PRIu64 " gaps, %" PRIu64
	    " bytes filled%s, %" PRIu64 " bad checksums, %" PRIu64 " unreadable%s",
	    result->bytes_out, units_format_bytes(bytes, result->bytes_out), result->piece_count,
	    spent, program->status == 0 ? ": whole" : "", result->gap_count, result->filled_bytes,
	    filled, result->bad_sum_count, result->unreadable_count, rebuilt);
}

/*
 * ---- all of it
 * -----------------------------------------------------------------------------------
 */

static int write_report(struct program *program)
{
	json_t *report = gather_report_json(&program->report, program->recording, &program->options,
					    &program->result, program->status);
	int ret = report ? json_file_write(report, program->options.json) : -ENOMEM;

	json_decref(report);
	if (ret == 0)
		return 0;
	say(program, "report %s: %s", program->options.json, output_file_error(ret));
	return json_file_exit_status(ret);
}

static int copy_stream(struct program *program)
{
	struct gather_config config = {
		.fill = program->options.fill,
		.is_strict = program->options.is_strict,
		.stop = stop_signal(),
		.say = on_event,
		.context = program,
	};
	bool is_new;
	int ret, status;

	status = open_output(program, &config.fd, &is_new);
	if (status)
		return status;
	stop_signal_catch();
	signal(SIGPIPE, SIG_IGN);
	program->start_ns = program->line_ns = units_monotonic_ns();
	ret = gather_copy(program->recording, &config, &program->result);
	if (config.fd != STDOUT_FILENO && close(config.fd) < 0 && ret == 0)
		ret = -errno;
	judge(program);
	if (ret < 0) {
		worsen(program, EXIT_TROUBLE);
		say_partial(program, ret, is_new);
	}
	if (program->result.unfilled_count && config.fill != GATHER_CLOSE_UP)
		say(program,
		    "gaps of unknown length are closed up: behind the first of them the time is not true");
	say_summary(program);
	status = program->options.json ? write_report(program) : 0;
	return program->status == EXIT_TROUBLE || status == 0 ? program->status : status;
}

int main(int argc, char **argv)
{
	struct program program = { .is_terminal = isatty(STDERR_FILENO) };
	int status;

	gather_options_parse(&program.options, argc, argv);
	gather_report_begin(&program.report);
	status = open_recording(&program);
	if (status == 0) {
		say_found(&program);
		status = program.options.is_list ? list_pieces(&program) : copy_stream(&program);
	}
	recording_free(program.recording);
	gather_report_end(&program.report);
	free(program.is_named);
	arguments_free(&program.options.arguments);
	return status;
}
