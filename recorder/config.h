/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.h - reads a configuration file (libconfuse syntax: key = value, lists in braces, #
 * comments)
 *
 * To libconfuse every key is text; what it means is decided by the caller, for the command line
 * and the file alike. Threads: main thread.
 */
#ifndef VSIB_RECORDER_CONFIG_H
#define VSIB_RECORDER_CONFIG_H

#include <stdbool.h>

#define CONFIG_ERROR_LEN 1024

struct config_reader {
	/*
	 * the key with this number, or NULL behind the last one; @is_list: several values in braces
	 */
	const char *(*key)(unsigned index, bool *is_list);
	/* one value; 0, or anything else with the sentence in @error (CONFIG_ERROR_LEN) */
	int (*set)(void *context, const char *key, const char *value, char *error);
	void *context;
};

/**
 * config_load() - read a file, set its values in the order of the keys
 * @error: CONFIG_ERROR_LEN: file, line and what is wrong Return: 0; exit status 66 (no such
 * file), 71 (no memory), 77 (no permission) or 78 (not understood).
 */
int config_load(const struct config_reader *reader, const char *path, char *error);

#endif
