/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal_text.h - journals in a short form, in which small changes of an input make other journals and not bad JSON
 *
 * A line that begins with one of these letters, with numbers behind it, becomes a journal's line; what is not given is 0.
 * All others stay as they are.
 *
 *   b LAYOUT BLOCK RATE COPIES          start of scan on two targets; LAYOUT: 0 raw, 1 vbs, 2 mark6
 *   s TARGET FILE AT BYTES STREAM ROW+1 ROW_OFFSET     segment
 *   p TARGET FILE AT BYTES ROW ROW_OFFSET              parity
 *   g STREAM BYTES CAUSE                gap
 *   c STREAM MONOTONIC                  clock
 *   e STREAM DISCARDED                  end
 *   r                                   event "recovered"
 *
 * FILE is an index into the names that journal_text_file() gives.
 */
#ifndef VSIB_TESTS_FUZZ_JOURNAL_TEXT_H
#define VSIB_TESTS_FUZZ_JOURNAL_TEXT_H

#include <stddef.h>

#define JOURNAL_TEXT_FILES 6

/** journal_text_file() - relative to a target; @index: any */
const char *journal_text_file(unsigned long long index);

/**
 * journal_text_expand() - @text: lines; @len: what comes of them
 *
 * Return: with a NUL behind it; free() it.
 */
char *journal_text_expand(const char *text, size_t *len) __attribute__((returns_nonnull));

#endif
