/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.h - reads a configuration file (libconfuse syntax: key = value, lists in braces, # comments)
 *
 * Keys are the long names of options_key(); values go through the same setters as the command line.
 */
#ifndef VSIB_RECORDER_CONFIG_H
#define VSIB_RECORDER_CONFIG_H

#include "recorder/options.h"

/**
 * config_load() - apply a file to @options
 * @error: OPTIONS_ERROR_LEN: file, line and what is wrong
 * Return: 0; exit status 66 (no such file), 77 or 78.
 */
int config_load(struct options *options, const char *path, char *error);

#endif
