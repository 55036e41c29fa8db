/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_check.h - may a block device be read, and may all that is on it be destroyed?
 *
 *   device_check_read(), or device_check_destroy() just before it is opened for writing
 *
 * What decides about destroying is this machine, never a tree that VSIB_SYSROOT names. Between the check and the
 * open others may take the device: so it is to be opened with O_EXCL and kept open until the end.
 * Threads: any.
 */
#ifndef VSIB_TOOLS_QUALIFY_DEVICE_CHECK_H
#define VSIB_TOOLS_QUALIFY_DEVICE_CHECK_H

#include <stdbool.h>
#include <sys/types.h>

#include "recorder/target.h"
#include "tools/sysfs.h"

/**
 * device_check_read() - is it a whole block device or a partition, and may we read it?
 * @error: TARGET_ERROR_LEN: path, reason, what to do
 * Return: 0; -ENOTBLK: something else; -EACCES, -EPERM, -ENOENT, -ENOMEDIUM, -errno: it can't be opened.
 */
int device_check_read(const char *path, char *error);

/**
 * device_check_destroy() - may it be overwritten from end to end?
 * @serial: what the user says that its serial number is; must be what the system says, to the letter
 * @force:  partitions and signatures of file systems, RAID, volumes on it don't matter
 * @error:  TARGET_ERROR_LEN
 *
 * Refused whatever @force says: a partition; a disk without a serial number, or with another; one that is read-only,
 * mounted, used for swap, part of an md or of a mapping, opened exclusively by somebody; one that the running
 * system's own file system lies on, through any number of mappings; a loop device whose file is such a disk.
 * Return: 0; -ENOTBLK: not a whole block device; -EINVAL: the serial number; -EBUSY: in use; -EEXIST: there is
 * something on it; -EROFS; -errno as device_check_read().
 */
int device_check_destroy(const char *path, const char *serial, bool force, char *error);

/**
 * device_check_use() - what sysfs and the mounts say: who uses the disk, and what is on it
 * @directory: of a whole disk, see block_device.h
 *
 * The part of device_check_destroy() that opens nothing. Return: 0; -EBUSY; -EEXIST: partitions, without @force.
 */
int device_check_use(const struct sysfs *sysfs, const char *directory, bool force, char *error);

#endif
