/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/journals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/journal.h"
#include "tools/history.h"
#include "tools/read_at.h"

#define COMPARE_BYTES ((size_t)256 << 10)

const char *journals_state_name(enum journals_state state)
{
	static const char *const names[] = {
		[JOURNALS_SAME] = "same",
		[JOURNALS_SHORTER] = "shorter",
		[JOURNALS_DAMAGED] = "damaged",
		[JOURNALS_CONTRADICTS] = "contradicts",
		[JOURNALS_UNREADABLE] = "unreadable",
	};

	return names[state];
}

size_t journals_believed(const struct recording *recording)
{
	const struct recording_info *info = recording_info(recording);

	for (size_t i = 0; info->journal && i < info->journal_count; i++)
		if (strcmp(info->journals[i], info->journal) == 0)
			return i;
	return SIZE_MAX;
}

/*
 * How many bytes are equal from the beginning on, and where the last whole line in them ends; at most
 * @limit bytes of the first file are looked at.
 */
static int compare_text(const int fds[2], uint64_t limit, uint64_t *equal, uint64_t *lines)
{
	char *buf = malloc(2 * COMPARE_BYTES);
	int ret = buf ? 0 : -ENOMEM;

	*equal = *lines = 0;
	while (ret == 0 && *equal < limit) {
		size_t want = limit - *equal < COMPARE_BYTES ? (size_t)(limit - *equal) : COMPARE_BYTES;
		ssize_t a = read_at(fds[0], buf, want, *equal);
		ssize_t b = read_at(fds[1], buf + COMPARE_BYTES, want, *equal);
		size_t shorter, i;

		if (a < 0 || b < 0) {
			ret = a < 0 ? (int)a : (int)b;
			break;
		}
		shorter = (size_t)(a < b ? a : b);
		for (i = 0; i < shorter && buf[i] == buf[COMPARE_BYTES + i]; i++)
			if (buf[i] == '\n')
				*lines = *equal + i + 1;
		*equal += i;
		if (i < want)
			break;
	}
	free(buf);
	return ret;
}

enum next_line { LINE_NONE, LINE_TORN, LINE_FOREIGN, LINE_RECOVERED, LINE_OBJECT };

/* What stands at @offset? */
static int look_at_line(int fd, uint64_t offset, enum next_line *kind)
{
	char *buf = malloc(HISTORY_LINE_MAX);
	ssize_t n = buf ? read_at(fd, buf, HISTORY_LINE_MAX, offset) : -ENOMEM;
	const char *end, *event;
	json_t *line;

	if (n <= 0) {
		free(buf);
		*kind = LINE_NONE;
		return (int)n;
	}
	end = memchr(buf, '\n', (size_t)n);
	line = end ? json_loadb(buf, (size_t)(end - buf), 0, NULL) : NULL;
	event = json_string_value(json_object_get(line, "event"));
	if (!end)
		*kind = (size_t)n < HISTORY_LINE_MAX ? LINE_TORN : LINE_FOREIGN;
	else if (!json_is_object(line))
		*kind = LINE_FOREIGN;
	else
		*kind = event && strcmp(event, JOURNAL_RECOVERED) == 0 ? LINE_RECOVERED : LINE_OBJECT;
	json_decref(line);
	free(buf);
	return 0;
}

static void judge(struct journals_found *found, enum next_line kind, uint64_t valid_bytes)
{
	bool is_whole = found->common_bytes == valid_bytes;

	found->is_torn = kind == LINE_TORN;
	found->is_recovered = kind == LINE_RECOVERED;
	switch (kind) {
	case LINE_NONE:
	case LINE_TORN:
		found->state = is_whole ? JOURNALS_SAME : JOURNALS_SHORTER;
		break;
	case LINE_RECOVERED:
		found->state = JOURNALS_SHORTER;
		break;
	case LINE_FOREIGN:
		found->state = JOURNALS_DAMAGED;
		break;
	case LINE_OBJECT: /* behind the believed one's last valid line: there that one is damaged */
		found->state = is_whole ? JOURNALS_DAMAGED : JOURNALS_CONTRADICTS;
		break;
	}
}

int journals_compare(const struct recording *recording, size_t index, struct journals_found *found)
{
	const struct history *history = recording_info(recording)->history;
	size_t believed = journals_believed(recording);
	int fds[2] = { recording_open_journal(recording, index),
		       recording_open_journal(recording, believed) };
	int ret = fds[0] < 0 ? fds[0] : fds[1] < 0 ? fds[1] : 0;
	enum next_line kind = LINE_NONE;
	struct stat st;
	uint64_t equal;

	memset(found, 0, sizeof(*found));
	found->is_believed = index == believed;
	if (ret == 0 && fstat(fds[0], &st) < 0)
		ret = -errno;
	if (ret == 0) {
		found->bytes = (uint64_t)st.st_size;
		ret = compare_text(fds, history->valid_bytes, &equal, &found->common_bytes);
	}
	if (ret == 0)
		ret = look_at_line(fds[0], found->common_bytes, &kind);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (ret == -ENOMEM)
		return ret;
	if (ret == 0)
		judge(found, kind, history->valid_bytes);
	else
		*found = (struct journals_found){ .state = JOURNALS_UNREADABLE,
						  .error = ret,
						  .is_believed = found->is_believed };
	return 0;
}
