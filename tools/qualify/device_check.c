/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/device_check.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/qualify/block_device.h"

static int refuse(char *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(char *error, int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(error, TARGET_ERROR_LEN, format, ap);
	va_end(ap);
	return -code;
}

/* ---- opening ---- */

static int refuse_open(const char *path, int code, char *error)
{
	if (code == EBUSY)
		return refuse(error, EBUSY,
			      "%s is in use: somebody has it open for himself alone (a mount, swap, md, a mapping or another program)",
			      path);
	if (code == EACCES || code == EPERM)
		return refuse(error, code,
			      "%s can't be opened: %s; it takes root, or the group that ls -l shows for it",
			      path, strerror(code));
	return refuse(error, code, "%s can't be opened: %s", path, strerror(code));
}

/* Return: the descriptor of a block device, which is never waited for; -errno with the sentence. */
static int open_device(const char *path, int flags, char *error)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0)
		return refuse_open(path, errno, error);
	if (!S_ISBLK(st.st_mode)) /* seen before it is opened: to open some devices already does something */
		return refuse(error, ENOTBLK,
			      "%s is not a block device; give a disk such as /dev/sdb", path);
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? refuse_open(path, errno, error) : fd;
}

int device_open_to_read(const char *path, char *error)
{
	return open_device(path, O_RDONLY, error);
}

/* ---- who uses it ---- */

struct use_search {
	const struct sysfs *sysfs;
	const char *directory;
	bool is_for_holders; /* of partitions; else for any partition */
	char name[64];       /* what was found */
};

static int visit_any(void *context, const char *name)
{
	struct use_search *search = context;

	snprintf(search->name, sizeof(search->name), "%.63s", name);
	return 1;
}

static int scan_holders(struct use_search *search, const char *directory)
{
	char path[SYSFS_PATH_LEN + 16];

	snprintf(path, sizeof(path), "%s/holders", directory);
	return sysfs_scan(search->sysfs, path, visit_any, search);
}

static int visit_partition(void *context, const char *name)
{
	struct use_search *search = context;
	char path[SYSFS_PATH_LEN];

	if (snprintf(path, sizeof(path), "%s/%s", search->directory, name) >= (int)sizeof(path) ||
	    !block_is_partition(search->sysfs, path))
		return 0;
	return search->is_for_holders ? scan_holders(search, path) : visit_any(search, name);
}

static int check_holders(const struct sysfs *sysfs, const char *directory, char *error)
{
	struct use_search search = { .sysfs = sysfs, .directory = directory, .is_for_holders = true };

	if (scan_holders(&search, directory) == 0 &&
	    sysfs_scan(sysfs, directory, visit_partition, &search) == 0)
		return 0;
	return refuse(error, EBUSY, "%s is in use: %s lies on it; stop that first",
		      block_name(directory), search.name);
}

static int check_partitions(const struct sysfs *sysfs, const char *directory, char *error)
{
	struct use_search search = { .sysfs = sysfs, .directory = directory };

	if (sysfs_scan(sysfs, directory, visit_partition, &search) == 0)
		return 0;
	return refuse(error, EEXIST,
		      "%s has a partition (%s); --force to overwrite it with all that is on it",
		      block_name(directory), search.name);
}

/* Does @device (a disk or a partition) lie on the disk @directory, however many devices are between? */
static bool lies_on(const struct sysfs *sysfs, char *device, const char *directory)
{
	struct block_list stack;

	block_whole(sysfs, device);
	block_stack(sysfs, device, &stack);
	for (unsigned i = 0; i < stack.count; i++)
		if (strcmp(stack.directories[i], directory) == 0)
			return true;
	return false;
}

static bool find_mounted(const struct sysfs *sysfs, struct libmnt_fs *fs, char *device)
{
	const char *source = mnt_fs_get_srcpath(fs);

	return block_find(sysfs, mnt_fs_get_devno(fs), device) ||
	       (source && block_find_source(sysfs, source, device));
}

static int check_mounts(const struct sysfs *sysfs, const char *directory, char *error)
{
	struct libmnt_iter *iterator = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_table *table = NULL;
	char path[PATH_MAX], device[SYSFS_PATH_LEN];
	struct libmnt_fs *fs;
	int ret = 0;

	if (sysfs_path(sysfs, "proc/self/mountinfo", path) == 0)
		table = mnt_new_table_from_file(path);
	if (!table || !iterator)
		ret = refuse(error, EBUSY, "%s: what is mounted can't be read, so it may be in use",
			     block_name(directory));
	while (ret == 0 && mnt_table_next_fs(table, iterator, &fs) == 0) {
		const char *point = mnt_fs_get_target(fs);

		if (!find_mounted(sysfs, fs, device) || !lies_on(sysfs, device, directory))
			continue;
		ret = refuse(error, EBUSY, "%s is in use: what is mounted at %.300s lies on it%s",
			     block_name(directory), point ? point : "?",
			     point && strcmp(point, "/") == 0 ? ", the running system" :
								"; unmount it first");
	}
	mnt_free_iter(iterator);
	mnt_unref_table(table);
	return ret;
}

static int check_swap(const struct sysfs *sysfs, const char *directory, char *error)
{
	FILE *f = sysfs_open(sysfs, "proc/swaps");
	char line[PATH_MAX + 128], file[PATH_MAX], device[SYSFS_PATH_LEN];
	int ret = 0;

	while (f && ret == 0 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%4095s", file) != 1 || file[0] != '/')
			continue;
		if (!block_find_source(sysfs, file, device) && !block_find_file(sysfs, file, device))
			continue;
		if (lies_on(sysfs, device, directory))
			ret = refuse(error, EBUSY,
				     "%s is in use: %.300s on it is swap; swapoff it first",
				     block_name(directory), file);
	}
	if (f)
		fclose(f);
	return ret;
}

int device_check_use(const struct sysfs *sysfs, const char *directory, bool force, char *error)
{
	int ret = check_mounts(sysfs, directory, error);

	if (ret == 0)
		ret = check_swap(sysfs, directory, error);
	if (ret == 0)
		ret = check_holders(sysfs, directory, error);
	if (ret == 0 && !force)
		ret = check_partitions(sysfs, directory, error);
	return ret;
}

/* ---- what it is, and what is on it ---- */

static int check_identity(const struct sysfs *sysfs, const char *path, const char *directory,
			  const char *serial, char *error)
{
	char found[TARGET_TEXT_LEN], disk[SYSFS_PATH_LEN];

	if (block_is_partition(sysfs, directory)) {
		snprintf(disk, sizeof(disk), "%s", directory);
		block_whole(sysfs, disk);
		return refuse(error, ENOTBLK, "%s is a partition of %s: only a whole disk is tried so",
			      path, block_name(disk));
	}
	if (!block_serial(sysfs, directory, found, sizeof(found)))
		return refuse(error, EINVAL,
			      "%s has no serial number that the system knows, so nothing tells it from another disk: it is not overwritten",
			      path);
	if (strcmp(found, serial ? serial : "") != 0)
		return refuse(error, EINVAL,
			      "%s is not the disk that was meant: its serial number is '%s', and --device-serial says '%.200s'",
			      path, found, serial ? serial : "");
	if (sysfs_number(sysfs, directory, "ro", 0) != 0) /* to open it would say EACCES */
		return refuse(error, EROFS,
			      "%s is read-only: look for a switch on it, and at blockdev --setrw",
			      path);
	return 0;
}

/* Return: 0 nothing; -EEXIST; -EIO: can't be told. */
static int check_signature(const char *path, int fd, char *error)
{
	blkid_probe probe = blkid_new_probe();
	const char *type = NULL;
	int found = -1, ret = 0;

	if (probe && blkid_probe_set_device(probe, fd, 0, 0) == 0) {
		blkid_probe_enable_superblocks(probe, 1);
		blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_BADCSUM);
		blkid_probe_enable_partitions(probe, 1);
		found = blkid_do_safeprobe(probe);
	}
	/* 1 nothing, 0 one thing, -2 several that contradict each other */
	if (found == 0 && blkid_probe_lookup_value(probe, "TYPE", &type, NULL) < 0)
		blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL);
	if (found == 0 || found == -2)
		ret = refuse(error, EEXIST,
			     "%s is not empty: it has the signature of %s; --force to overwrite it with all that is on it",
			     path, type ? type : "more than one file system");
	else if (found != 1)
		ret = refuse(error, EIO,
			     "%s can't be searched for file systems on it: it is not overwritten",
			     path);
	blkid_free_probe(probe);
	return ret;
}

/* Held for ourselves alone, it can't come into use meanwhile. Return: the descriptor; -errno. */
static int hold_alone(const char *path, dev_t device, bool force, char *error)
{
	int fd = open_device(path, O_RDWR | O_EXCL, error), ret = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || st.st_rdev != device)
		ret = refuse(error, EBUSY, "%s has become another device meanwhile", path);
	else if (!force)
		ret = check_signature(path, fd, error);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

int device_open_to_destroy(const char *path, const char *serial, bool force, char *error)
{
	char directory[SYSFS_PATH_LEN];
	struct sysfs sysfs;
	struct stat st;
	int ret;

	if (stat(path, &st) < 0)
		return refuse_open(path, errno, error);
	if (!S_ISBLK(st.st_mode))
		return refuse(error, ENOTBLK,
			      "%s is not a block device; give a disk such as /dev/sdb", path);
	if (sysfs_init(&sysfs, "/") < 0 || !block_find(&sysfs, st.st_rdev, directory))
		return refuse(error, ENOTBLK,
			      "%s is not a device that sysfs knows, so it can't be checked", path);
	ret = check_identity(&sysfs, path, directory, serial, error);
	if (ret == 0)
		ret = device_check_use(&sysfs, directory, force, error);
	return ret < 0 ? ret : hold_alone(path, st.st_rdev, force, error);
}
