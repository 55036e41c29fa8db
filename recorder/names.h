/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.h - the name of a scan as VLBI correlators and VEX files spell it: EXP_STN_SCAN
 *
 *   names_label(); when a recording of that name exists: names_repeat() with 0, 1 ...
 *
 * Parts:   experiment and station at most 8 letters and digits each, scan at most 31 of letters, digits, '+'
 *          and '-'; the label is in lower case, at most 50 bytes with the letter of a repeated scan.
 * Threads: pure functions.
 */
#ifndef VSIB_RECORDER_NAMES_H
#define VSIB_RECORDER_NAMES_H

#include <stdbool.h>

#define NAMES_LABEL_LEN 64
#define NAMES_ERROR_LEN 256

/* What was given; NULL = not. */
struct names_scan {
	const char *experiment;
	const char *station;
	const char *scan;
};

/** names_is_given() - is any part of it? */
bool names_is_given(const struct names_scan *scan);

/**
 * names_label() - "gp052d_ar_no0021"; a missing experiment is EXP, a missing station STN
 * @label: NAMES_LABEL_LEN
 * @error: NAMES_ERROR_LEN, the sentence when refused
 *
 * Return: 0; -EINVAL: no scan, or a part that is too long or has other characters.
 */
int names_label(char *label, const struct names_scan *scan, char *error);

/**
 * names_repeat() - the label with the letter @index behind it: a .. z, then A .. Z
 * @repeated: NAMES_LABEL_LEN
 * Return: false: there are no more letters.
 */
bool names_repeat(char *repeated, const char *label, unsigned index);

#endif
