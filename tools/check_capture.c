/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/check_capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/savefile.h"
#include "drivers/units.h"
#include "recorder/capture.h"
#include "tools/read_at.h"

#define LOOK_ROUND_NS (UNITS_NS_PER_S / 10)

/* "pcapfile:PATH", with the commas of the path doubled, so that they don't begin details. For free(). */
static char *source_name(const char *path)
{
	const char *prefix = source_pcapfile.prefix;
	char *name = malloc(strlen(prefix) + 2 * strlen(path) + 1), *to;

	if (!name)
		return NULL;
	to = stpcpy(name, prefix);
	for (; *path; path++) {
		if (*path == ',')
			*to++ = ',';
		*to++ = *path;
	}
	*to = '\0';
	return name;
}

static int open_started(struct source **source, const char *name)
{
	int ret = source_open_with(source, &source_pcapfile, name, NULL);

	return ret ? ret : source_start(*source);
}

ssize_t check_capture_read(struct source *source, void *buf, size_t len, struct source_mark *mark,
			   const atomic_int *stop)
{
	ssize_t n = SOURCE_NOT_YET;

	while (n == SOURCE_NOT_YET) {
		/* relaxed: nothing travels with the flag */
		if (atomic_load_explicit(stop, memory_order_relaxed))
			return -EINTR;
		n = source_read(source, buf, len, units_monotonic_ns() + LOOK_ROUND_NS, mark);
	}
	return n;
}

/* Of the first datagram; 0 = not known. Nothing can be put back into a source, so it is one of its own. */
static int64_t first_time(const char *name, const atomic_int *stop)
{
	struct source_mark mark = { 0 };
	struct source *source;
	char byte;

	if (open_started(&source, name) == 0)
		check_capture_read(source, &byte, 1, &mark, stop);
	source_close(source);
	return mark.utc_ns;
}

int check_capture_open(struct source **source, const char *path, int fd, int64_t *utc_ns,
		       const atomic_int *stop)
{
	unsigned char magic[SAVEFILE_MAGIC_BYTES];
	char *name;
	int ret;

	*source = NULL;
	*utc_ns = 0;
	if (read_whole_at(fd, magic, sizeof(magic), 0) < 0 || !savefile_is_one(magic))
		return 0; /* what can't be read is told where all of it is read */
	name = source_name(path);
	if (!name)
		return -ENOMEM;
	ret = open_started(source, name);
	if (ret == 0)
		*utc_ns = first_time(name, stop);
	free(name);
	return ret;
}

void check_capture_note(struct source *source, struct findings *findings)
{
	char words[SOURCE_ERROR_LEN], *rest = words, *line;

	if (!source->note[0])
		return;
	memcpy(words, source->note, sizeof(words));
	while ((line = strsep(&rest, "\n")) != NULL)
		findings_insist(findings, "%s", line);
}

static void say_times(const struct packet_counts *counts, struct findings *findings)
{
	char first[UNITS_UTC_LEN], last[UNITS_UTC_LEN];

	if (counts->first_utc_ns)
		findings_say(findings, "captured from %s to %s",
			     units_format_utc(first, counts->first_utc_ns),
			     units_format_utc(last, counts->last_utc_ns));
}

bool check_capture_judge(const struct source *source, struct findings *findings)
{
	char left_out[PACKET_TEXT_LEN], overlaps[PACKET_TEXT_LEN];
	struct packet_counts counts;

	source_capture(source, &counts);
	findings_say(findings, "%" PRIu64 " packets with %" PRIu64 " UDP datagrams: %" PRIu64 " bytes",
		     packet_count(&counts), counts.packets[PACKET_DATAGRAM], counts.payload_bytes);
	if (packet_tell_left_out(&counts, left_out, sizeof(left_out)))
		findings_say(findings, "left out: %s", left_out);
	if (packet_tell_overlaps(&counts, overlaps, sizeof(overlaps)))
		findings_say(findings, "%s", overlaps);
	say_times(&counts, findings);
	/* relaxed: this thread has read it */
	if (atomic_load_explicit(&source->is_incomplete, memory_order_relaxed))
		findings_worsen(findings, FINDINGS_DIFFERENCES);
	return counts.packets[PACKET_DATAGRAM] > 0;
}

json_t *check_capture_report(const struct source *source)
{
	struct packet_counts counts;
	json_t *report;

	source_capture(source, &counts);
	report = capture_json(&counts);
	if (report)
		json_object_set_new(report, "complete",
				    json_boolean(!atomic_load_explicit(&source->is_incomplete,
								       memory_order_relaxed)));
	return report;
}
