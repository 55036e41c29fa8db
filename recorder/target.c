/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/target.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libmount/libmount.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sysexits.h>
#include <unistd.h>

static int fail(char *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int fail(char *error, int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(error, TARGET_ERROR_LEN, format, ap);
	va_end(ap);
	return -code;
}

/* One line of text from sysfs, without its newline; "" when there is none. */
static void read_line(char *buf, size_t len, const char *path)
{
	FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (!f)
		return;
	if (fgets(buf, (int)len, f))
		buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
}

/* The whole disk behind a partition, by sysfs: a partition's directory lies in its disk's. */
static dev_t whole_disk(dev_t device)
{
	char path[PATH_MAX], real[PATH_MAX], text[32];
	unsigned major_number, minor_number;
	char *slash;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", major(device), minor(device));
	if (access(path, F_OK) < 0)
		return device;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(device), minor(device));
	if (!realpath(path, real))
		return device;
	slash = strrchr(real, '/');
	if (!slash || (size_t)(slash - real) + 5 >= sizeof(path))
		return device;
	snprintf(path, sizeof(path), "%.*s/dev", (int)(slash - real), real);
	read_line(text, sizeof(text), path);
	if (sscanf(text, "%u:%u", &major_number, &minor_number) != 2)
		return device;
	return makedev(major_number, minor_number);
}

/* What the kernel knows of a disk, by the name of the file that says it. */
static void read_disk_line(char *text, size_t len, dev_t disk, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(disk), minor(disk), name);
	read_line(text, len, path);
}

static void identify_disk(struct target *target, dev_t device)
{
	target->disk_device = whole_disk(device);
	read_disk_line(target->model, sizeof(target->model), target->disk_device, "device/model");
	read_disk_line(target->serial, sizeof(target->serial), target->disk_device, "device/serial");
	if (!target->serial[0])
		read_disk_line(target->serial, sizeof(target->serial), target->disk_device, "serial");
}

/*
 * Fills in what lies below the directory: file system type, device, UUID, model, serial. All of it
 * may stay unknown.
 */
static void identify(struct target *target)
{
	struct libmnt_table *table = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_fs *fs = NULL;
	char real[PATH_MAX];
	struct stat st;

	if (table)
		fs = mnt_table_find_devno(table, target->fs_device, MNT_ITER_BACKWARD);
	if (table && !fs && realpath(target->path, real)) /* btrfs: st_dev is not the mount's number */
		fs = mnt_table_find_mountpoint(table, real, MNT_ITER_BACKWARD);
	if (fs) {
		snprintf(target->fs, sizeof(target->fs), "%s",
			 mnt_fs_get_fstype(fs) ? mnt_fs_get_fstype(fs) : "");
		snprintf(target->device, sizeof(target->device), "%s",
			 mnt_fs_get_srcpath(fs) ? mnt_fs_get_srcpath(fs) : "");
	}
	mnt_unref_table(table);
	if (target->device[0] != '/' || stat(target->device, &st) < 0 || !S_ISBLK(st.st_mode))
		return;
	identify_disk(target, st.st_rdev);
}

static void find_uuid(struct target *target)
{
	blkid_probe probe;
	const char *uuid;

	if (target->device[0] != '/')
		return;
	probe = blkid_new_probe_from_filename(target->device); /* NULL without the right to read it */
	if (!probe)
		return;
	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_UUID);
	if (blkid_do_safeprobe(probe) == 0 && blkid_probe_lookup_value(probe, "UUID", &uuid, NULL) == 0)
		snprintf(target->fs_uuid, sizeof(target->fs_uuid), "%s", uuid);
	blkid_free_probe(probe);
}

static int open_directory(struct target *target, char *error)
{
	const char *path = target->path;
	struct stat st, root;

	if (stat(path, &st) < 0) {
		int code = errno;

		return fail(error, code,
			    "target %s: %s; it must be a directory that exists (is the disk mounted?)",
			    path, strerror(code));
	}
	if (S_ISBLK(st.st_mode))
		return fail(error, ENOTBLK,
			    "target %s is a block device: recording over a disk's file system is refused; mount it and give a directory on it",
			    path);
	if (!S_ISDIR(st.st_mode))
		return fail(error, ENOTDIR, "target %s is not a directory", path);
	target->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target->dir_fd < 0) {
		int code = errno;

		return fail(error, code, "target %s can't be opened: %s", path, strerror(code));
	}
	/* faccessat() knows what the mode bits don't: read-only file systems and root's rights */
	if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) < 0) {
		int code = errno;

		return fail(error, code, "target %s can't be written to: %s", path, strerror(code));
	}
	target->fs_device = st.st_dev;
	target->is_root_fs = stat("/", &root) == 0 && root.st_dev == st.st_dev;
	return 0;
}

int target_open(struct target *target, const char *text, char *error)
{
	size_t len = strlen(text);
	int ret;

	memset(target, 0, sizeof(*target));
	target->dir_fd = -1;
	while (len > 1 && text[len - 1] == '/')
		len--;
	if (len == 0 || len >= sizeof(target->path))
		return fail(error, len ? ENAMETOOLONG : ENOENT, "target '%.80s': %s", text,
			    len ? "the path is too long" : "the path is empty");
	memcpy(target->path, text, len);
	target->kind = strcmp(text, "null:") == 0 ? TARGET_NULL :
		       strcmp(text, "-") == 0     ? TARGET_STDOUT :
						    TARGET_DIRECTORY;
	if (target->kind != TARGET_DIRECTORY) {
		target->free_bytes = target->total_bytes = UINT64_MAX;
		return 0;
	}
	ret = open_directory(target, error);
	if (ret < 0) {
		target_close(target);
		return ret;
	}
	ret = target_room(target, &target->free_bytes, &target->total_bytes);
	if (ret < 0) {
		target_close(target);
		return fail(error, -ret, "target %s: can't find its free space: %s", target->path,
			    strerror(-ret));
	}
	identify(target);
	find_uuid(target);
	return 0;
}

int target_adopt_device(struct target *target, const char *path, int fd, char *error)
{
	struct stat st;

	memset(target, 0, sizeof(*target));
	target->kind = TARGET_DEVICE;
	target->dir_fd = fd;
	snprintf(target->path, sizeof(target->path), "%s", path);
	snprintf(target->device, sizeof(target->device), "%.255s", path);
	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) &&
	    ioctl(fd, BLKGETSIZE64, &target->total_bytes) == 0) {
		target->fs_device = st.st_rdev;
		target->free_bytes = target->total_bytes;
		identify_disk(target, st.st_rdev);
		return 0;
	}
	target_close(target);
	return fail(error, ENOTBLK, "target %s is no block device, or doesn't tell its size", path);
}

int target_copy(struct target *target, const struct target *from, char *error)
{
	*target = *from;
	target->dir_fd = -1;
	if (!target_has_files(from))
		return 0;
	target->dir_fd = fcntl(from->dir_fd, F_DUPFD_CLOEXEC, 0);
	if (target->dir_fd < 0) {
		int code = errno;

		return fail(error, code, "target %s can't be opened once more: %s", from->path,
			    strerror(code));
	}
	return 0;
}

bool target_has_files(const struct target *target)
{
	return target->kind == TARGET_DIRECTORY || target->kind == TARGET_DEVICE;
}

void target_close(struct target *target)
{
	if (target_has_files(target) && target->dir_fd > 0)
		close(target->dir_fd);
	target->dir_fd = -1;
}

static int check_alone(const struct target *targets, unsigned count, char *error)
{
	for (unsigned i = 0; i < count && count > 1; i++) {
		if (targets[i].kind == TARGET_NULL)
			return fail(error, EINVAL,
				    "null: beside other targets would drop a part of the recording; give it alone");
		if (targets[i].kind == TARGET_STDOUT)
			return fail(error, EINVAL,
				    "'-o -' writes the stream to stdout and must be the only target");
	}
	return 0;
}

static int check_pair(const struct target *a, const struct target *b, bool allow_same_device, char *error)
{
	struct stat sa, sb;

	if (fstat(a->dir_fd, &sa) == 0 && fstat(b->dir_fd, &sb) == 0 && sa.st_dev == sb.st_dev &&
	    sa.st_ino == sb.st_ino)
		return fail(error, EEXIST, "targets %.300s and %.300s are the same directory",
			    a->path, b->path);
	if (allow_same_device)
		return 0;
	if (a->fs_device != b->fs_device && (a->disk_device == 0 || a->disk_device != b->disk_device))
		return 0;
	return fail(error, EXDEV,
		    "targets %.300s and %.300s lie on the same device (%s): striping over one disk gains nothing; --allow-same-device to do it all the same",
		    a->path, b->path, a->device[0] ? a->device : "unknown");
}

int target_check_all(const struct target *targets, unsigned count, bool allow_same_device, char *error)
{
	int ret = check_alone(targets, count, error);

	for (unsigned i = 0; i < count && ret == 0; i++) {
		if (targets[i].kind != TARGET_DIRECTORY)
			continue;
		if (targets[i].is_root_fs && !allow_same_device)
			return fail(error, EXDEV,
				    "target %.300s lies on the root file system (is its disk mounted?): a recording could fill it; --allow-same-device to do it all the same",
				    targets[i].path);
		for (unsigned k = 0; k < i && ret == 0; k++)
			ret = check_pair(&targets[k], &targets[i], allow_same_device, error);
	}
	return ret;
}

void target_share_room(struct target *target, const struct target *others, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (others[i].fs_device == target->fs_device)
			target->free_bytes = others[i].free_bytes;
}

int target_room(const struct target *target, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct statvfs vfs;

	if (target->kind != TARGET_DIRECTORY)
		return 0;
	if (fstatvfs(target->dir_fd, &vfs) < 0)
		return -errno;
	*free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	*total_bytes = (uint64_t)vfs.f_blocks * vfs.f_frsize;
	return 0;
}

int target_exit_status(int error)
{
	switch (-error) {
	case EINVAL:
		return EX_USAGE;
	case EACCES:
	case EPERM:
		return EX_NOPERM;
	default:
		return EX_CANTCREAT;
	}
}
