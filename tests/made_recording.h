/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_recording.h - recordings made by hand, journal line by journal line, for tests
 *
 *   made_set_up() -> made_start(), made_segment() ... -> made_tear_down()
 *
 * Byte o of every stream is made_sample(o). Paths are below a folder of the test's own.
 */
#ifndef VSIB_TESTS_MADE_RECORDING_H
#define VSIB_TESTS_MADE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** made_set_up(), made_tear_down() - as cmocka wants them */
int made_set_up(void **state);
int made_tear_down(void **state);

/** made_path() - below the test's folder; lives until the end of the test */
const char *made_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

unsigned char made_sample(uint64_t o);

void made_make_dir(const char *path);
void made_write(const char *path, const void *bytes, size_t len);
void made_append(const char *path, const char *text);
void made_append_bytes(const char *path, const void *bytes, size_t len);
/** made_write_samples() - a file with the stream's bytes from @from on, and @zeros behind them */
void made_write_samples(const char *path, uint64_t from, size_t bytes, size_t zeros);
void made_copy(const char *from, const char *to);
/** made_read() - the whole file, with a NUL behind; free() it. NULL: not there */
char *made_read(const char *path);
/** made_length() - -1: not there */
int64_t made_length(const char *path);

/** made_start() - start line of recording "scan" on d1 ... d@count */
void made_start(const char *journal, const char *layout, uint64_t file_bytes,
		const char *name_template, unsigned count);
/** made_say_copies() - changes the start line: all is written twice */
void made_say_copies(const char *journal);
void made_segment(const char *journal, unsigned target, const char *file, uint64_t file_offset,
		  uint64_t stream_offset, size_t bytes);
void made_gap(const char *journal, uint64_t stream_offset, uint64_t bytes, const char *cause);
void made_filled_gap(const char *journal, uint64_t stream_offset, uint64_t bytes);
/** made_end() - with all totals, of a stream without any loss */
void made_end(const char *journal, uint64_t stream_bytes);

#endif
