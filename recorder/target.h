/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.h - a directory that data go to: what it lies on, what room it has, and whether it may
 * be used
 *
 *   target_open() -> target_check_all() -> ... target_room() ... -> target_close()
 *
 * Kinds: a directory; "null:" (bytes are counted and dropped); "-" (stdout); a block device, which only
 * target_adopt_device() makes: a program that may write over one opens it itself. Threads: set-up
 * thread; target_room() from the disk's keeper thread (it can block on a sick disk).
 */
#ifndef VSIB_RECORDER_TARGET_H
#define VSIB_RECORDER_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TARGET_TEXT_LEN 256
#define TARGET_ERROR_LEN 768
#define TARGET_MAX 64

enum target_kind { TARGET_DIRECTORY, TARGET_NULL, TARGET_STDOUT, TARGET_DEVICE };

struct target {
	enum target_kind kind;
	char path[4096];   /* as given, without trailing slashes; "null:" or "-" */
	int dir_fd;        /* descriptor of the directory, or of the device; -1 else */
	dev_t fs_device;   /* st_dev */
	dev_t disk_device; /* the whole disk below the file system; 0 = none or unknown */
	char device[TARGET_TEXT_LEN]; /* "/dev/sdb1", "" unknown */
	char fs[TARGET_TEXT_LEN];     /* "ext4" */
	char fs_uuid[64];             /* "" unknown */
	char model[TARGET_TEXT_LEN];  /* of the disk, "" unknown */
	char serial[TARGET_TEXT_LEN]; /* of the disk, "" unknown */
	uint64_t free_bytes;          /* for this user, at open */
	uint64_t total_bytes;
	bool is_root_fs; /* same file system as / */
};

/**
 * target_open() - understand and open one target
 * @error: TARGET_ERROR_LEN: path, reason, what to do
 * Return: 0; -ENOENT, -ENOTDIR, -EACCES, -EROFS, -ENOTBLK (a block device), -errno.
 */
int target_open(struct target *target, const char *text, char *error);

/**
 * target_adopt_device() - a block device that the caller may write over, and has opened
 * @path: of the device
 * @fd:   for reading and writing, O_EXCL; is the target's from here on, also when this fails
 * @error: as above
 *
 * Its files are what the sink_io of its session makes of it. Nothing is asked here: what has to be sure before a
 * disk is written over is the caller's.
 * Return: 0; -ENOTBLK, -errno.
 */
int target_adopt_device(struct target *target, const char *path, int fd, char *error);

/** target_copy() - the same target with a descriptor of its own. Return: 0; -errno with the sentence in @error. */
int target_copy(struct target *target, const struct target *from, char *error);

/** target_has_files() - a directory, or a device: something to write to, sync and name */
bool target_has_files(const struct target *target);

/** target_close() - a zeroed or failed one is fine */
void target_close(struct target *target);

/**
 * target_check_all() - may these be used together?
 *
 * Refused: the same directory twice (-EEXIST); null: or - beside another target (-EINVAL); the
 * root file system, or a device that another target lies on, unless @allow_same_device (-EXDEV).
 * Return: 0 or one of these with the sentence in @error (TARGET_ERROR_LEN).
 */
int target_check_all(const struct target *targets, unsigned count, bool allow_same_device, char *error);

/**
 * target_share_room() - directories on one file system have the same room
 * @others: opened before
 *
 * Each was looked at when it was opened; what other programs wrote in between is no difference between them.
 */
void target_share_room(struct target *target, const struct target *others, unsigned count);

/**
 * target_room() - free and total bytes now; may block as long as the disk does. Return: 0 or
 * -errno.
 */
int target_room(const struct target *target, uint64_t *free_bytes, uint64_t *total_bytes);

/** target_exit_status() - of a program that can't use a target; @error: -errno of a function above */
int target_exit_status(int error);

#endif
