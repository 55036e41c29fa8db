/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/array.h"
#include "tools/recording_parts.h"

int recording_fail(struct recording *recording, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(recording->error, sizeof(recording->error), format, args);
	va_end(args);
	return ret;
}

int recording_add_note(struct recording *recording, bool is_trouble, const char *format, ...)
{
	struct recording_note *room =
		array_room(&recording->notes, recording->note_count, sizeof(*room));
	char *text = NULL;
	va_list args;

	if (!room)
		return -ENOMEM;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return -ENOMEM;
	*room = (struct recording_note){ .is_trouble = is_trouble, .text = text };
	recording->note_count++;
	recording->info.has_trouble |= is_trouble;
	return 0;
}

/* @texts: three strings to copy. All of them or none. */
static int copy_texts(const char *texts[3])
{
	char *copies[3] = { strdup(texts[0]), strdup(texts[1]), strdup(texts[2]) };

	for (int i = 0; i < 3; i++)
		if (!copies[i]) {
			free(copies[0]);
			free(copies[1]);
			free(copies[2]);
			return -ENOMEM;
		}
	memcpy(texts, copies, sizeof(copies));
	return 0;
}

int recording_add_unused(struct recording *recording, const char *target, const char *file,
			 const char *reason)
{
	struct recording_unused *room =
		array_room(&recording->unused, recording->unused_count, sizeof(*room));
	const char *texts[3] = { target, file, reason };

	if (!room || copy_texts(texts) < 0)
		return -ENOMEM;
	*room = (struct recording_unused){ .target = texts[0], .file = texts[1], .reason = texts[2] };
	recording->unused_count++;
	return 0;
}

static int add_file(struct recording_missing **list, size_t *count,
		    const struct recording_missing *missing)
{
	struct recording_missing *room = array_room(list, *count, sizeof(*room));
	const char *texts[3] = { missing->target, missing->file, missing->reason };

	if (!room || copy_texts(texts) < 0)
		return -ENOMEM;
	*room = *missing;
	room->target = texts[0];
	room->file = texts[1];
	room->reason = texts[2];
	++*count;
	return 0;
}

int recording_add_missing(struct recording *recording, const struct recording_missing *missing)
{
	return add_file(&recording->missing, &recording->missing_count, missing);
}

int recording_add_rebuilt(struct recording *recording, const struct recording_missing *missing)
{
	return add_file(&recording->rebuilt, &recording->rebuilt_count, missing);
}

static void free_file(struct recording_missing *missing)
{
	free((char *)missing->target);
	free((char *)missing->file);
	free((char *)missing->reason);
}

static void settle(struct recording_missing *list, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		if (list[i].bytes || list[i].parity_bytes)
			list[kept++] = list[i];
		else
			free_file(&list[i]);
	*count = kept;
}

/* Files whose bytes are all there in others are set apart, behind the others. */
void recording_settle_missing(struct recording *recording)
{
	struct recording_missing *list = recording->missing;
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < recording->missing_count; i++)
		if (list[i].bytes || list[i].parity_bytes || list[i].stream_end)
			list[count++] = list[i];
		else
			free_file(&list[i]);
	for (size_t i = 0; i < count; i++) {
		struct recording_missing missing = list[i];

		if (missing.bytes == 0 && missing.parity_bytes == 0)
			continue;
		list[i] = list[kept];
		list[kept++] = missing;
	}
	recording->covered_count = count - kept;
	recording->missing_count = kept;
}

void recording_settle_rebuilt(struct recording *recording)
{
	settle(recording->rebuilt, &recording->rebuilt_count);
}

const struct recording_missing *recording_missing(const struct recording *recording, size_t *count)
{
	*count = recording->missing_count;
	return recording->missing;
}

const struct recording_missing *recording_covered(const struct recording *recording, size_t *count)
{
	*count = recording->covered_count;
	return *count ? recording->missing + recording->missing_count : NULL;
}

const struct recording_missing *recording_rebuilt(const struct recording *recording, size_t *count)
{
	*count = recording->rebuilt_count;
	return recording->rebuilt;
}

const struct recording_unused *recording_unused(const struct recording *recording, size_t *count)
{
	*count = recording->unused_count;
	return recording->unused;
}

const struct recording_note *recording_notes(const struct recording *recording, size_t *count)
{
	*count = recording->note_count;
	return recording->notes;
}

void recording_drop_unused(struct recording *recording)
{
	for (size_t i = 0; i < recording->unused_count; i++) {
		free((char *)recording->unused[i].target);
		free((char *)recording->unused[i].file);
		free((char *)recording->unused[i].reason);
	}
	recording->unused_count = 0;
	free(recording->unused);
	recording->unused = NULL;
}

void recording_free_lists(struct recording *recording)
{
	for (size_t i = 0; i < recording->missing_count + recording->covered_count; i++)
		free_file(&recording->missing[i]);
	for (size_t i = 0; i < recording->rebuilt_count; i++)
		free_file(&recording->rebuilt[i]);
	for (size_t i = 0; i < recording->note_count; i++)
		free((char *)recording->notes[i].text);
	recording_drop_unused(recording);
	free(recording->missing);
	free(recording->rebuilt);
	free(recording->filled);
	free(recording->notes);
}
