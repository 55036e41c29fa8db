/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.h - opening what a driver reads from: a regular file, a pipe that is there already, or the standard input
 *
 * Errors: -errno, and the sentence in source->error.
 */
#ifndef VSIB_DRIVERS_INPUT_H
#define VSIB_DRIVERS_INPUT_H

#include <stdbool.h>

#include "drivers/source.h"

/**
 * input_open_file() - opens the regular file source->path
 * @instead: what to do with a device or FIFO; the path is put behind it: "use dev:"
 * @fd:      set when it could be opened, also if it is no regular file then; the caller closes it
 */
int input_open_file(struct source *source, const char *instead, int *fd);

/** input_is_pipe() - is source->path a pipe that this process has open, as a shell's <(...) gives it: /dev/fd/63? */
bool input_is_pipe(const struct source *source);

/** input_open_pipe() - opens that */
int input_open_pipe(struct source *source, int *fd);

/**
 * input_open_stdin() - a file, pipe, socket or terminal; its flags are left alone, others share it
 * @is_regular: a read never waits for a writer
 */
int input_open_stdin(struct source *source, int *fd, bool *is_regular);

#endif
