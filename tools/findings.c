/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct findings {
	const char *program;
	bool is_quiet;
	bool has_line; /* a passing line stands there now */
	enum findings_status status;
	uint64_t count[FINDING_COUNT];
	json_t *items[FINDING_COUNT];
};

static const char *const names[] = {
	[FINDING_BAD] = "bad checksums", [FINDING_UNREADABLE] = "unreadable pieces",
	[FINDING_GAP] = "gaps",          [FINDING_MISSING] = "missing pieces",
	[FINDING_TAIL] = "tails",        [FINDING_UNUSED] = "unused files",
	[FINDING_JOURNAL] = "journals",  [FINDING_ACCOUNT] = "wrong totals",
	[FINDING_WARNING] = "warnings",  [FINDING_STEP] = "steps",
};

int findings_create(struct findings **out, const char *program, bool is_quiet)
{
	struct findings *findings = calloc(1, sizeof(*findings));

	*out = findings;
	if (!findings)
		return -ENOMEM;
	findings->program = program;
	findings->is_quiet = is_quiet;
	for (int i = 0; i < FINDING_COUNT; i++) {
		findings->items[i] = json_array();
		if (!findings->items[i]) {
			findings_free(findings);
			*out = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

void findings_free(struct findings *findings)
{
	if (!findings)
		return;
	for (int i = 0; i < FINDING_COUNT; i++)
		json_decref(findings->items[i]);
	free(findings);
}

/* Names come from journals and directories: nothing in them may move the cursor. */
static void print_clean(const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, stderr);
	fputc('\n', stderr);
}

static void print(struct findings *findings, const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	findings_show(findings, "");
	fprintf(stderr, "%s: ", findings->program);
	print_clean(text ? text : "out of memory");
	free(text);
}

void findings_add(struct findings *findings, enum finding kind, enum findings_status status,
		  json_t *item, const char *format, ...)
{
	va_list args;

	findings_worsen(findings, status);
	findings->count[kind]++;
	if (json_array_size(findings->items[kind]) < FINDINGS_ITEMS)
		json_array_append_new(findings->items[kind], item);
	else
		json_decref(item);
	if (findings->is_quiet || findings->count[kind] > FINDINGS_LINES + 1)
		return;
	if (findings->count[kind] == FINDINGS_LINES + 1) {
		findings_say(findings, "more %s follow and are only counted", names[kind]);
		return;
	}
	va_start(args, format);
	print(findings, format, args);
	va_end(args);
}

void findings_say(struct findings *findings, const char *format, ...)
{
	va_list args;

	if (findings->is_quiet)
		return;
	va_start(args, format);
	print(findings, format, args);
	va_end(args);
}

void findings_insist(struct findings *findings, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(findings, format, args);
	va_end(args);
}

void findings_show(struct findings *findings, const char *line)
{
	if (findings->has_line)
		fputs("\r\033[K", stderr);
	fputs(line, stderr);
	findings->has_line = line[0] != '\0';
}

void findings_worsen(struct findings *findings, enum findings_status status)
{
	if (status > findings->status)
		findings->status = status;
}

enum findings_status findings_status(const struct findings *findings)
{
	return findings->status;
}

uint64_t findings_count(const struct findings *findings, enum finding kind)
{
	return findings->count[kind];
}

json_t *findings_items(const struct findings *findings, enum finding kind)
{
	return findings->items[kind];
}
