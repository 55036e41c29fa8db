/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_kind.h - what a path names: is it what a driver can use, and can it be waited for?
 *
 * Kinds are judged before something is opened, and again afterwards: opening a FIFO waits, and opening a board resets it.
 * Errors: -errno, and the sentence in voice->error.
 */
#ifndef VSIB_DRIVERS_DEVICE_KIND_H
#define VSIB_DRIVERS_DEVICE_KIND_H

#include <stdbool.h>
#include <sys/stat.h>

#include "drivers/device_name.h"

/**
 * device_kind_check_file() - it must be a regular file
 * @instead: what to do with a device or FIFO; the path is put behind it: "use dev:"
 *
 * Return: 0; -EINVAL; -EISDIR.
 */
int device_kind_check_file(const struct device_voice *voice, const char *path,
			   const struct stat *status, const char *instead);

/** device_kind_check_node() - it must be a character device or a FIFO. Return: 0; -EINVAL; -EISDIR. */
int device_kind_check_node(const struct device_voice *voice, const char *path,
			   const struct stat *status);

/** device_kind_can_poll() - does its driver support poll()? */
bool device_kind_can_poll(int fd);

#endif
