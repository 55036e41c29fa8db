/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/made_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "tests/scratch.h"

#define UTC "2026-11-30T08:15:00.000000000Z"

struct kept {
	struct kept *next;
	char text[512];
};

static char top[256];
static struct kept *all_kept;

int made_set_up(void **state)
{
	(void)state;
	return scratch_make(top, sizeof(top), NULL);
}

int made_tear_down(void **state)
{
	(void)state;
	while (all_kept) {
		struct kept *next = all_kept->next;

		free(all_kept);
		all_kept = next;
	}
	return scratch_remove(top);
}

const char *made_path(const char *format, ...)
{
	struct kept *kept = malloc(sizeof(*kept));
	int len;
	va_list args;

	assert_non_null(kept);
	len = snprintf(kept->text, sizeof(kept->text), "%s/", top);
	va_start(args, format);
	vsnprintf(kept->text + len, sizeof(kept->text) - (size_t)len, format, args);
	va_end(args);
	kept->next = all_kept;
	all_kept = kept;
	return kept->text;
}

unsigned char made_sample(uint64_t o)
{
	return (unsigned char)((o * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

static unsigned char *samples(uint64_t from, size_t bytes, size_t zeros)
{
	unsigned char *buf = calloc(bytes + zeros + 1, 1);

	assert_non_null(buf);
	for (size_t i = 0; i < bytes; i++)
		buf[i] = made_sample(from + i);
	return buf;
}

void made_make_dir(const char *path)
{
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
}

static void write_bytes(const char *path, const void *bytes, size_t len, int flags)
{
	int fd = open(path, O_WRONLY | O_CREAT | flags, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

void made_write(const char *path, const void *bytes, size_t len)
{
	write_bytes(path, bytes, len, O_TRUNC);
}

void made_append(const char *path, const char *text)
{
	made_append_bytes(path, text, strlen(text));
}

void made_append_bytes(const char *path, const void *bytes, size_t len)
{
	write_bytes(path, bytes, len, O_APPEND);
}

void made_write_samples(const char *path, uint64_t from, size_t bytes, size_t zeros)
{
	unsigned char *buf = samples(from, bytes, zeros);

	made_write(path, buf, bytes + zeros);
	free(buf);
}

char *made_read(const char *path)
{
	int64_t len = made_length(path);
	char *text = len < 0 ? NULL : calloc((size_t)len + 1, 1);
	int fd = text ? open(path, O_RDONLY) : -1;

	if (fd < 0) {
		free(text);
		return NULL;
	}
	assert_int_equal(read(fd, text, (size_t)len), len);
	close(fd);
	return text;
}

void made_copy(const char *from, const char *to)
{
	char *text = made_read(from);

	assert_non_null(text);
	made_write(to, text, (size_t)made_length(from));
	free(text);
}

int64_t made_length(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

static void append_line(const char *journal, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append_line(const char *journal, const char *format, ...)
{
	char line[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	made_append(journal, line);
	made_append(journal, "\n");
}

void made_start(const char *journal, const char *layout, uint64_t file_bytes,
		const char *name_template, unsigned count)
{
	char targets[2048] = "";
	size_t len = 0;

	for (unsigned i = 1; i <= count; i++)
		len += (size_t)snprintf(targets + len, sizeof(targets) - len,
					"%s{\"path\":\"%s\",\"fs_uuid\":\"\"}", i > 1 ? "," : "",
					made_path("d%u", i));
	append_line(journal,
		    "{\"type\":\"start\",\"schema\":\"vsib-journal/1\",\"name\":\"scan\",\"program\":\"vsib-record\",\"layout\":\"%s\",\"stripe\":\"any\",\"file_bytes\":%" PRIu64
		    ",\"template\":\"%s\",\"targets\":[%s],\"rate_bps\":8000,\"utc\":\"" UTC
		    "\",\"monotonic_ns\":0,\"host\":\"vlbi1\",\"pid\":1}",
		    layout, file_bytes, name_template, targets);
}

void made_say_copies(const char *journal)
{
	char *text = made_read(journal), *rest = strchr(text, '{') + 1;

	made_write(journal, "", 0);
	made_append(journal, "{\"copies\":2,");
	made_append(journal, rest);
	free(text);
}

void made_segment(const char *journal, unsigned target, const char *file, uint64_t file_offset,
		  uint64_t stream_offset, size_t bytes)
{
	unsigned char *buf = samples(stream_offset, bytes, 0);

	append_line(journal,
		    "{\"type\":\"segment\",\"target\":%u,\"file\":\"%s\",\"file_offset\":%" PRIu64
		    ",\"bytes\":%zu,\"stream_offset\":%" PRIu64 ",\"xxh3\":\"%016" PRIx64
		    "\",\"utc\":\"" UTC "\"}",
		    target, file, file_offset, bytes, stream_offset,
		    (uint64_t)XXH3_64bits(buf, bytes));
	free(buf);
}

void made_gap(const char *journal, uint64_t stream_offset, uint64_t bytes, const char *cause)
{
	append_line(journal,
		    "{\"type\":\"gap\",\"stream_offset\":%" PRIu64 ",\"bytes\":%" PRIu64
		    ",\"cause\":\"%s\",\"utc\":\"" UTC "\"}",
		    stream_offset, bytes, cause);
}

void made_filled_gap(const char *journal, uint64_t stream_offset, uint64_t bytes)
{
	append_line(journal,
		    "{\"type\":\"gap\",\"stream_offset\":%" PRIu64 ",\"bytes\":%" PRIu64
		    ",\"cause\":\"source\",\"utc\":\"" UTC "\",\"filled\":true}",
		    stream_offset, bytes);
}

void made_end(const char *journal, uint64_t stream_bytes)
{
	append_line(journal,
		    "{\"type\":\"end\",\"outcome\":\"complete\",\"exit_status\":0,\"stream_bytes\":%" PRIu64
		    ",\"received_bytes\":%" PRIu64 ",\"written_bytes\":%" PRIu64
		    ",\"overflow_bytes\":0,\"disk_lost_bytes\":0,\"source_lost_bytes\":0,\"discarded_bytes\":0,\"aborted_bytes\":0,\"filled_bytes\":0,\"duration_s\":1.0,\"utc\":\"" UTC
		    "\"}",
		    stream_bytes, stream_bytes, stream_bytes);
}
