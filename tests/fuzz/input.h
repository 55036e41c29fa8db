/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.h - what a fuzz target is given: bytes taken apart into numbers, texts and files
 *
 *   LLVMFuzzerTestOneInput() -> input_begin() -> input_take_...() -> the parser -> input_expect()
 *
 * A target is one file, fuzz_NAME.c, with that one function. `make fuzz` links each with libFuzzer; `make check` links
 * it with replay.c, which runs it over its seeds. Seeds are what seeds_NAME in seeds.sh makes.
 *
 * Numbers are taken from the end of the input and texts from its begin, so that a file as it lies on a disk is a seed
 * as it is. An input that is used up gives zeros and empty texts.
 *
 * Threads: one caller.
 */
#ifndef VSIB_TESTS_FUZZ_INPUT_H
#define VSIB_TESTS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input {
	const uint8_t *data; /* what is left */
	size_t len;
};

/** LLVMFuzzerTestOneInput() - the target, under the name that libFuzzer calls. Return: 0; -1: not worth keeping. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static inline struct input input_begin(const uint8_t *data, size_t len)
{
	return (struct input){ data, len };
}

/** input_take_number() - from the end; @bytes: 1 to 8 of them, little-endian */
uint64_t input_take_number(struct input *input, size_t bytes);

/** input_take_below() - a number from 0 to @limit - 1; @limit: 1 to 2^32 */
uint32_t input_take_below(struct input *input, uint64_t limit);

/**
 * input_take_text() - from the begin, up to a byte that is @end, which goes too, or all of it
 *
 * Return: it ends with the first NUL in it; free() it.
 */
char *input_take_text(struct input *input, char end) __attribute__((returns_nonnull));

/**
 * input_copy() - the same bytes in memory of exactly that length: what is read behind them is found
 *
 * Return: free() it.
 */
unsigned char *input_copy(const void *data, size_t len) __attribute__((returns_nonnull));

/**
 * input_file() - a file without a name that holds these bytes
 * @slot: 0 to INPUT_FILES - 1; the same one is used over and over
 *
 * Return: the descriptor, at the file's begin; it stays open.
 */
#define INPUT_FILES 4
int input_file(unsigned slot, const void *data, size_t len);

/**
 * input_folder() - a directory that is empty again for each input; it goes at the end of the program
 *
 * It is made in the environment's TMPDIR, which should lie in memory.
 * Return: its path.
 */
const char *input_folder(void);

/** input_write() - a file below input_folder(). Return: false: it can't have that name. */
bool input_write(const char *name, const void *data, size_t len);

/** input_make_folder() - the same for a directory */
bool input_make_folder(const char *name);

/** input_expect() - ends the program unless what must always be true is: that is a find as a crash is */
#define input_expect(is_true) ((is_true) ? (void)0 : input_fail(#is_true, __FILE__, __LINE__))
_Noreturn void input_fail(const char *what, const char *file, int line);

#endif
