/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_check.h - may a block device be read, and may all that is on it be destroyed?
 *
 *   device_open_to_read(), or device_open_to_destroy() -> close() at the end
 *
 * What decides about destroying is this machine, never a tree that VSIB_SYSROOT names. Between a check and
 * another open others may take the device: so what was checked is given away open, with O_EXCL.
 * Threads: any.
 */
#ifndef VSIB_TOOLS_QUALIFY_DEVICE_CHECK_H
#define VSIB_TOOLS_QUALIFY_DEVICE_CHECK_H

#include <stdbool.h>
#include <sys/types.h>

#include "recorder/target.h"
#include "tools/sysfs.h"

/**
 * device_open_to_read() - a whole block device or a partition
 * @error: TARGET_ERROR_LEN: path, reason, what to do
 * Return: the descriptor; -ENOTBLK: something else; -EACCES, -EPERM, -ENOENT, -ENOMEDIUM, -errno: it can't be opened.
 */
int device_open_to_read(const char *path, char *error);

/**
 * device_open_to_destroy() - for writing, if it may be overwritten from end to end
 * @serial: what the user says that its serial number is; must be what the system says, to the letter
 * @force:  partitions and signatures of file systems, RAID, volumes on it don't matter
 * @error:  TARGET_ERROR_LEN
 *
 * Refused whatever @force says: a partition; a disk without a serial number, or with another; one that is read-only,
 * mounted, used for swap, part of an md or of a mapping, opened exclusively by somebody; one that the running
 * system's own file system lies on, through any number of mappings; a loop device whose file is such a disk.
 * Return: the descriptor, which keeps all others away as long as it is open; -ENOTBLK: not a whole block device; -EINVAL: the serial number; -EBUSY: in use; -EEXIST: there is
 * something on it; -EROFS; -errno as device_open_to_read().
 */
int device_open_to_destroy(const char *path, const char *serial, bool force, char *error);

/**
 * device_check_use() - what sysfs and the mounts say: who uses the disk, and what is on it
 * @directory: of a whole disk, see block_device.h
 *
 * The part of device_open_to_destroy() that opens nothing. Return: 0; -EBUSY; -EEXIST: partitions, without @force.
 */
int device_check_use(const struct sysfs *sysfs, const char *directory, bool force, char *error);

#endif
