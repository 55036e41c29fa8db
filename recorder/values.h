/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * values.h - what options of several programs take for a value, beyond plain units
 *
 * Threads: pure functions.
 */
#ifndef VSIB_RECORDER_VALUES_H
#define VSIB_RECORDER_VALUES_H

#include <stdint.h>

/**
 * values_pick() - one of some words
 * @words: "any|round"
 *
 * Return: its place, 0, 1 ...; -EINVAL when the value is none of them.
 */
int values_pick(const char *value, const char *words);

/** values_time() - a time that is not zero. Return: 0; -EINVAL; -ERANGE. */
int values_time(const char *value, int64_t *ns);

/** values_bytes() - a size that is not zero. Return: 0; -EINVAL; -ERANGE. */
int values_bytes(const char *value, uint64_t *bytes);

/** values_count() - a whole number from @least to @most. Return: 0; -EINVAL; -ERANGE. */
int values_count(const char *value, unsigned least, unsigned most, unsigned *count);

/** values_share() - "0.8": more than 0, at most 1, in steps of a millionth. Return: 0; -EINVAL; -ERANGE. */
int values_share(const char *value, double *share);

/**
 * values_describe() - what is meant by the word that stands for an option's value in --help
 * Return: ", such as 4096, 64Ki or 1.5G" for SIZE; "" for a word that says so itself.
 */
const char *values_describe(const char *arg);

#endif
