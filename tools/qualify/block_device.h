/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * block_device.h - block devices as sysfs knows them: which disk, what lies below it, what it calls itself
 *
 *   block_find(), block_find_source() or block_find_file() -> block_whole() -> block_lower(), block_serial() ...
 *
 * A device is named by its directory, resolved: "sys/devices/.../block/sda/sda1". Threads: any.
 */
#ifndef VSIB_TOOLS_QUALIFY_BLOCK_DEVICE_H
#define VSIB_TOOLS_QUALIFY_BLOCK_DEVICE_H

#include <sys/types.h>

#include "tools/sysfs.h"

#define BLOCK_LIST_MAX 32

enum block_kind {
	BLOCK_DISK,
	BLOCK_LOOP,   /* lies in a file */
	BLOCK_MD,     /* of several */
	BLOCK_DM,     /* device mapper: LVM, encryption ... */
	BLOCK_MEMORY, /* ram, zram */
};

struct libmnt_fs;
struct libmnt_table;

/* Directories of several devices, each once. */
struct block_list {
	char directories[BLOCK_LIST_MAX][SYSFS_PATH_LEN];
	unsigned count;
};

/** block_find() - by number. @directory: SYSFS_PATH_LEN. Return: false: there is none. */
bool block_find(const struct sysfs *sysfs, dev_t device, char *directory);

/** block_find_source() - by what is mounted: "/dev/sdb1", "/dev/mapper/vg-data". Return: false: no block device. */
bool block_find_source(const struct sysfs *sysfs, const char *source, char *directory);

/** block_find_mount() - the mount that @path lies on, by the names alone; NULL. @table: of libmount. */
struct libmnt_fs *block_find_mount(struct libmnt_table *table, const char *path);

/** block_find_file() - the device that the file @path lies on, by the mounts. Return: false: on none. */
bool block_find_file(const struct sysfs *sysfs, const char *path, char *directory);

/** block_is_partition() */
bool block_is_partition(const struct sysfs *sysfs, const char *directory);

/** block_whole() - of a partition, its disk; of anything else, itself */
void block_whole(const struct sysfs *sysfs, char *directory);

/** block_name() - "sda1": the kernel's name */
const char *block_name(const char *directory);

/** block_number() - 0 = not known */
dev_t block_number(const struct sysfs *sysfs, const char *directory);

enum block_kind block_kind(const struct sysfs *sysfs, const char *directory);

/**
 * block_lower() - the whole disks that a device lies on directly: members of an md, what is below a dm, the disk
 * with a loop's file; none below a disk
 */
void block_lower(const struct sysfs *sysfs, const char *directory, struct block_list *lower);

/** block_stack() - @directory and all that it lies on */
void block_stack(const struct sysfs *sysfs, const char *directory, struct block_list *stack);

/** block_lowest() - of these the disks themselves, with nothing below them */
void block_lowest(const struct sysfs *sysfs, const char *directory, struct block_list *lowest);

/** block_mapped() - changes a dm that lies on one disk alone (encryption, a volume) into that disk */
void block_mapped(const struct sysfs *sysfs, char *directory);

/**
 * block_serial() - what tells this device from all others of its model
 *
 * A disk's serial number; an md's or dm's UUID; of a loop device, the path of its file.
 * Return: false: none is known, and @text is "".
 */
bool block_serial(const struct sysfs *sysfs, const char *directory, char *text, size_t len);

/** block_fs_is_memory() - of its type: "tmpfs" and its like */
bool block_fs_is_memory(const char *fs);

/**
 * block_memory() - does @directory, or anything that it lies on, lie in memory?
 * @text: what does, for people: "zram0", "loop0, a file on tmpfs"; as it was when nothing does
 */
bool block_memory(const struct sysfs *sysfs, const char *directory, char *text, size_t len);

/** block_model() - vendor and model of a disk; "raid5 of sda, sdb" of an md; "" */
void block_model(const struct sysfs *sysfs, const char *directory, char *text, size_t len);

#endif
