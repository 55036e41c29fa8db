/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sysfs.h - what the kernel says below sys/ and proc/: of this machine, or of one that was captured
 *
 *   sysfs_init_from_environment(), or sysfs_init() -> sysfs_line(), sysfs_number(), sysfs_resolve() ...
 *
 * All reading goes by a list of roots; in each is a sys/ and a proc/. A file is taken from the first root that has it.
 * Normally the list is "/". The environment variable VSIB_SYSROOT names another one, for tests: "DIR" is a whole machine
 * that was copied to DIR; "DIR:/" is this machine but for the files that DIR has, say only proc/diskstats and
 * proc/pressure. A link that leads out of its root is not followed. A setuid program ignores the variable, and what
 * allows a disk to be overwritten never goes by it: see device_check.h.
 *
 * Paths:   without a slash in front: "sys/block/sda"; they and names of files are joined here.
 * Threads: any; nothing is ever written, and nothing kept but the list.
 * Errors:  attributes come and go with their devices: one that can't be read is as good as none.
 */
#ifndef VSIB_TOOLS_SYSFS_H
#define VSIB_TOOLS_SYSFS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SYSFS_ROOTS_MAX 4
#define SYSFS_PATH_LEN 1024 /* longest path below a root */

struct sysfs {
	char roots[SYSFS_ROOTS_MAX][PATH_MAX]; /* canonical; "" = "/" */
	unsigned root_count;
};

/**
 * sysfs_init() - read below these roots
 * @roots: "/", "DIR", "DIR:/"; NULL and "" = "/"
 * Return: 0; -E2BIG: more than SYSFS_ROOTS_MAX; -ENOENT, -errno: a root is not there.
 */
int sysfs_init(struct sysfs *sysfs, const char *roots);

/** sysfs_init_from_environment() - as VSIB_SYSROOT says. Return: as sysfs_init(). */
int sysfs_init_from_environment(struct sysfs *sysfs);

/**
 * sysfs_path() - where the file really is, for a library that wants a name
 * @out: PATH_MAX
 * Return: 0; -ENOENT: no root has it; -ENAMETOOLONG.
 */
int sysfs_path(const struct sysfs *sysfs, const char *path, char *out);

/**
 * sysfs_resolve() - a path with all links followed: "sys/block/sda" becomes "sys/devices/..."
 * @out: SYSFS_PATH_LEN; may be @path
 * Return: as sysfs_path()
 */
int sysfs_resolve(const struct sysfs *sysfs, const char *path, char *out);

/** sysfs_up() - cuts the last name off. Return: false: nothing is left, or no more than "sys/devices". */
bool sysfs_up(char *path);

/** sysfs_has() - is there such a file, link or directory? @name: "" = @directory itself */
bool sysfs_has(const struct sysfs *sysfs, const char *directory, const char *name);

/**
 * sysfs_line() - the first line of a file, without blanks at its ends
 * Return: true; false: it can't be read, and @text is "".
 */
bool sysfs_line(const struct sysfs *sysfs, const char *directory, const char *name, char *text,
		size_t len);

/** sysfs_number() - the decimal number that a file begins with; @otherwise: there is none */
int64_t sysfs_number(const struct sysfs *sysfs, const char *directory, const char *name,
		     int64_t otherwise);

/** sysfs_hexadecimal() - the same, of "0x0c0310" */
int64_t sysfs_hexadecimal(const struct sysfs *sysfs, const char *directory, const char *name,
			  int64_t otherwise);

/** sysfs_read() - a file's beginning as it is. Return: the bytes read; -errno. */
int sysfs_read(const struct sysfs *sysfs, const char *directory, const char *name, void *buf,
	       size_t len);

/**
 * sysfs_link_name() - the last name of what a link leads to: "usb" for the link "subsystem"
 * Return: true; false: there is none, and @text is "".
 */
bool sysfs_link_name(const struct sysfs *sysfs, const char *directory, const char *name, char *text,
		     size_t len);

/** sysfs_open() - a file of many lines, for fclose(). Return: NULL: it can't be read. */
FILE *sysfs_open(const struct sysfs *sysfs, const char *path);

/**
 * sysfs_scan() - the names in a directory, but those that begin with a dot, "sda2" before "sda10"
 * @visit: another value than 0 ends the scan
 *
 * Only of the first root that has the directory.
 * Return: the last value of @visit; 0: no such directory; -ENOMEM.
 */
int sysfs_scan(const struct sysfs *sysfs, const char *directory,
	       int (*visit)(void *context, const char *name), void *context);

#endif
