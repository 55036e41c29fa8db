/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options_parts.h - what options.c and options_table.c share; not for others
 *
 *   options.c        the command line, the configuration file and --help, all by the table
 *   options_table.c  the table: each option's names, words and value
 *
 * Threads: main thread.
 */
#ifndef VSIB_RECORDER_OPTIONS_PARTS_H
#define VSIB_RECORDER_OPTIONS_PARTS_H

#include "recorder/options.h"

/* Of those without a letter. */
enum {
	KEY_NAME = 256,
	KEY_EXPERIMENT,
	KEY_STATION,
	KEY_SCAN,
	KEY_UNIT,
	KEY_LAYOUT,
	KEY_TEMPLATE,
	KEY_FILE_SIZE,
	KEY_FILE_TIME,
	KEY_CHUNK,
	KEY_PACKET_FORMAT,
	KEY_PACKET_SIZE,
	KEY_STRIPE,
	KEY_COPIES,
	KEY_PARITY,
	KEY_RING,
	KEY_BLOCK,
	KEY_IO,
	KEY_ENGINE,
	KEY_DEPTH,
	KEY_DISK_TIMEOUT,
	KEY_ON_OVERFLOW,
	KEY_FILL,
	KEY_CHECKSUM,
	KEY_JOURNAL,
	KEY_SIGMF,
	KEY_SAMPLE_FORMAT,
	KEY_CHANNELS,
	KEY_FREQUENCY,
	KEY_AUTHOR,
	KEY_DESCRIPTION,
	KEY_HARDWARE,
	KEY_DADA,
	KEY_VBS_CFG,
	KEY_SAME_DEVICE,
	KEY_FORCE,
	KEY_START,
	KEY_AS_RECORDED,
	KEY_LOCK,
	KEY_HUGE,
	KEY_NODE,
	KEY_SILENCE,
	KEY_JSON,
	KEY_LIVE,
	KEY_LOG_INTERVAL,
	KEY_CONFIG,
	KEY_END,
};

#define OPTION_LETTERS 5 /* options with one */
#define OPTION_COUNT (KEY_END - KEY_NAME + OPTION_LETTERS)

/* A value of an option that lives as long as the options. */
struct option_text {
	struct option_text *next;
	char text[];
};

struct option_row {
	const char *name; /* long option and configuration key */
	int key;          /* short option letter, or one of these numbers */
	const char *arg;  /* NULL = none: on the command line the option alone means "yes" */
	const char *help;
	/* 0, -EINVAL, -ERANGE; -E2BIG: a target too many */
	int (*set)(struct options *options, const char *value);
	bool is_list;
};

/* The last one is --config: a configuration file does not name another one. */
extern const struct option_row option_rows[OPTION_COUNT];

#endif
