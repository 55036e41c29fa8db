/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/check_mark6.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/history.h"
#include "tools/json_file.h"
#include "tools/mark6_file.h"

bool check_mark6_is_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool is_one = fd >= 0 && mark6_file_identify(fd) == 1;

	if (fd >= 0)
		close(fd);
	return is_one;
}

/*
 * ---- without a journal
 * ---------------------------------------------------------------------------
 */

/* What stands behind the last whole block. That headers are wrong the recording's notes have said. */
static void look_at_tail(const struct recording *recording, size_t index,
			 const struct mark6_file_survey *survey, struct findings *findings)
{
	struct recording_file file;
	struct recording_place place;

	if (survey->tail == MARK6_FILE_ENDS || !survey->is_complete ||
	    !recording_file(recording, index, &file) ||
	    !recording_place(recording, (size_t)file.place, &place))
		return;
	findings_add(findings, FINDING_TAIL, FINDINGS_DIFFERENCES,
		     json_pack("{s:o, s:o, s:I, s:I}", "target", json_file_text(place.path), "file",
			       json_file_text(file.file), "bytes", (json_int_t)file.bytes,
			       "promised_bytes", (json_int_t)survey->whole_end),
		     "%s/%s is %" PRIu64 " bytes long, its last whole block ends at %" PRIu64,
		     place.path, file.file, file.bytes, survey->whole_end);
}

void check_mark6_set(const struct recording *recording, struct findings *findings)
{
	const struct recording_mark6 *mark6 = recording_info(recording)->mark6;
	const struct mark6_file_survey *survey;

	findings_say(findings,
		     "a Mark6 set of version %" PRIu32 ": %" PRIu64 " blocks in %" PRIu64
		     " files, packets (%s) of %" PRIu32 " bytes; %" PRIu64 " blocks missing, %" PRIu64
		     " there more than once, %" PRIu64 " of other than whole packets",
		     mark6->header.version, mark6->block_count, mark6->file_count,
		     mark6_format_name(mark6->header.format), mark6->header.packet_bytes,
		     mark6->missing_count, mark6->doubled_count, mark6->uneven_count);
	findings_say(
		findings,
		"there is no journal: the headers are compared, nothing tells what the packets' bytes should be");
	if (mark6->uneven_count || mark6->doubled_count)
		findings_worsen(findings, FINDINGS_DIFFERENCES);
	for (size_t i = 0; (survey = recording_mark6_file(recording, i)); i++)
		look_at_tail(recording, i, survey, findings);
}

json_t *check_mark6_report(const struct recording_mark6 *mark6)
{
	return json_pack("{s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "version",
			 (json_int_t)mark6->header.version, "block_bytes",
			 (json_int_t)mark6->header.block_bytes, "packet_format",
			 mark6_format_name(mark6->header.format), "packet_bytes",
			 (json_int_t)mark6->header.packet_bytes, "file_count",
			 (json_int_t)mark6->file_count, "block_count", (json_int_t)mark6->block_count,
			 "doubled_count", (json_int_t)mark6->doubled_count, "missing_count",
			 (json_int_t)mark6->missing_count, "uneven_count",
			 (json_int_t)mark6->uneven_count);
}

/*
 * ---- with a journal
 * ------------------------------------------------------------------------------
 */

static void tell_header(const struct recording *recording, const struct recording_file *file,
			const char *words, struct findings *findings)
{
	struct recording_place place = { .path = "" };

	recording_place(recording, (size_t)file->place, &place);
	findings_add(findings, FINDING_WARNING, FINDINGS_DIFFERENCES, json_string(words),
		     "%s/%s: %s: programs that go by the headers won't read it", place.path,
		     file->file, words);
}

/* Return: as mark6_file_walk(), what is wrong in survey's words. */
static int walk_file(int fd, uint64_t bytes, struct mark6_file_survey *survey)
{
	int ret = mark6_file_identify(fd);

	memset(survey, 0, sizeof(*survey));
	if (ret < 0)
		return ret;
	if (ret == 0) {
		snprintf(survey->damage_words, sizeof(survey->damage_words),
			 "it doesn't begin as a file of a Mark6 set");
		return -EBADMSG;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return mark6_file_walk(fd, bytes, survey, NULL, NULL);
}

static bool is_mark6(const struct history *history)
{
	return strcmp(history_layout(history), "mark6") == 0;
}

uint64_t check_mark6_end(const struct recording *recording, size_t index, uint64_t promised)
{
	struct recording_file file;
	uint64_t end;
	int fd;

	if (!is_mark6(recording_info(recording)->history) ||
	    !recording_file(recording, index, &file) || file.bytes <= promised)
		return promised;
	fd = recording_open_file(recording, index);
	if (fd < 0)
		return promised;
	end = mark6_file_block_end(fd, file.bytes, promised);
	close(fd);
	return end;
}

static int look_at_headers(const struct recording *recording, size_t index, uint64_t promised,
			   struct findings *findings)
{
	uint64_t bytes = check_mark6_end(recording, index, promised);
	struct mark6_file_survey survey;
	struct recording_file file;
	int fd = recording_open_file(recording, index), ret;

	if (fd < 0 || !recording_file(recording, index, &file) || file.bytes < bytes) {
		if (fd >= 0)
			close(fd);
		return 0; /* that it is not there, or too short, is said elsewhere */
	}
	ret = walk_file(fd, bytes, &survey);
	close(fd);
	if (survey.damage_words[0])
		tell_header(recording, &file, survey.damage_words, findings);
	if (survey.tail_words[0])
		tell_header(recording, &file, survey.tail_words, findings);
	return ret == -ENOMEM ? ret : 0;
}

int check_mark6_headers(const struct recording *recording, struct findings *findings)
{
	const struct history *history = recording_info(recording)->history;
	uint64_t *promised;
	int ret = 0;

	if (!is_mark6(history))
		return 0;
	promised = history_promises(history, NULL);
	if (!promised)
		return -ENOMEM;
	for (size_t i = 0; ret == 0 && i < history->file_count; i++)
		ret = promised[i] ? look_at_headers(recording, i, promised[i], findings) : 0;
	free(promised);
	return ret;
}
