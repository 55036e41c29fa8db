/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sequence.h - numbered file names: "t%06d" and its likes, told apart from other names
 *
 *   sequence_parse() or sequence_make() -> sequence_match() each name of a directory;
 *   sequence_name()
 *
 * Threads: pure functions over a struct of the caller's.
 */
#ifndef VSIB_TOOLS_SEQUENCE_H
#define VSIB_TOOLS_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEQUENCE_TEXT_LEN 256
#define SEQUENCE_DIGITS_MAX 18 /* numbers stay far below 2^63 */

struct sequence {
	char prefix[SEQUENCE_TEXT_LEN];
	char suffix[SEQUENCE_TEXT_LEN];
	unsigned min_digits;
	unsigned max_digits;
	bool has_number; /* false: the one file named prefix */
};

/**
 * sequence_parse() - understand a template: %d, %u, %i with l's and a width like 06; %% is a
 * percent sign
 * @text: one file name, without '/'
 *
 * Return: 0; -EINVAL: another conversion, two of them, blanks as padding, or too long.
 */
int sequence_parse(struct sequence *sequence, const char *text);

/**
 * sequence_make() - "PREFIX.NNNN" from a name that may hold percent signs
 * Return: 0; -EINVAL: @name is too long.
 */
int sequence_make(struct sequence *sequence, const char *name, unsigned min_digits,
		  unsigned max_digits);

/**
 * sequence_match() - is @file one of them, and which? @number is set only then (0 for a plain
 * name).
 */
bool sequence_match(const struct sequence *sequence, const char *file, uint64_t *number);

/** sequence_name() - the name with this number; @buf: 2 * SEQUENCE_TEXT_LEN + 24. Return: buf. */
#define SEQUENCE_NAME_LEN (2 * SEQUENCE_TEXT_LEN + 24)
char *sequence_name(const struct sequence *sequence, uint64_t number, char *buf);

#endif
