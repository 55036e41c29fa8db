/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.h - a directory that may hold pieces of a recording, and files opened safely below it
 *
 *   place_open() or place_find_mounts() + place_open() -> place_open_file(), place_scan() ->
 *   place_close()
 *
 * Names of files come from journals and from directories, so from outside: below a place no
 * symbolic link is followed, nothing but a regular file is opened, and no open hangs.
 *
 * Threads: one caller a place.
 */
#ifndef VSIB_TOOLS_PLACE_H
#define VSIB_TOOLS_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct place {
	char *path;
	int fd; /* of the directory */
	dev_t device;
	ino_t inode;
	int target;        /* which target of the journal it is; -1 = not known */
	bool is_asked_for; /* the user named it */
};

/**
 * place_open() - Return: 0; -ENOENT, -ENOTDIR, -EACCES and others from the file system; -ENOMEM.
 */
int place_open(struct place *place, const char *path);

/** place_close() - a zeroed or failed one is fine */
void place_close(struct place *place);

/**
 * place_open_file() - open a file below a place for reading
 * @file: relative path, checked again here
 * @st:   what the opened file is
 *
 * Return: the descriptor; -ENOENT; -ELOOP a symbolic link; -EISDIR a directory; -ESPIPE another
 *         thing that isn't a file; -EINVAL an unsafe path; -EACCES, -EIO and others from the file
 *         system.
 */
int place_open_file(const struct place *place, const char *file, struct stat *st);

/**
 * place_open_parent() - the directory that holds the last part of @file
 * @base: set to that part, within @file
 *
 * Return: its descriptor, the caller's; -errno as above.
 */
int place_open_parent(const struct place *place, const char *file, const char **base);

/** place_reason() - the sentence for what place_open_file() returned */
const char *place_reason(int ret);

/**
 * place_scan() - call @visit for each entry of a directory
 * @folder: below the place; "" = the place itself
 * @visit:  an entry's name; its result below 0 ends the scan
 *
 * Return: 0, also when there is no such folder; -ELOOP it is a symbolic link; -errno of the
 *         directory; what @visit returned.
 */
int place_scan(const struct place *place, const char *folder,
	       int (*visit)(void *context, const char *name), void *context);

/**
 * place_find_mounts() - where the file system with this UUID is mounted now
 * @points: array of strings; free each and the array
 *
 * Return: their count, 0 when it isn't mounted or can't be found out; -ENOMEM.
 */
int place_find_mounts(const char *fs_uuid, char ***points);

#endif
