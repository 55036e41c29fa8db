/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * program.h - what the programs that record have in common: from a configuration to the exit status
 *
 *   main(): fill in struct program; return program_run()
 */
#ifndef VSIB_RECORDER_PROGRAM_H
#define VSIB_RECORDER_PROGRAM_H

#include <stdint.h>

#include "recorder/options.h"
#include "recorder/session.h"

struct program {
	const char *name; /* in front of its messages */
	const struct session_config *config;
	const char *json; /* report: file, "-" or NULL */
	enum live_mode live;
	int64_t log_interval_ns;
	void (*report)(const struct program *program, const struct session *session); /* in words, to stderr */
	const char *if_it_exists; /* what the user can do when a recording of that name exists */
	void *context;            /* of report() */
};

/**
 * program_run() - record in a child process (host.h), report, and clean up
 * Return: the exit status.
 */
int program_run(const struct program *program);

/** program_say() - one line to stderr. Return: @exit_status */
int program_say(const char *name, int exit_status, const char *text);

#endif
